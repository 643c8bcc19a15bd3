"""Writing a release: its two folders, written beside their targets, verified, then renamed."""

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recveil.anonymize.data_card import data_card
from recveil.anonymize.release import FileFormat, Layout, Private, Published, Release
from recveil.anonymize.tables import rating_writer, tables
from recveil.errors import RecveilError
from recveil.progress import track
from recveil.records import Records, item_keys
from recveil.verify import Verification, verify

# What stands in the folders; docs/release-format.md describes each file.
MANIFEST, CLASSES, CARD = "release.json", "classes.csv", "README.md"
PRIVATE_MANIFEST, ASSIGNMENT = "private.json", "assignment.parquet"


def write_release(
    release: Release, folder: Path, layout: Layout, file_format: FileFormat, *, force: bool
) -> Verification:
    """Write, verify and put into place; see `Release.write`."""
    if layout not in get_args(Layout):
        raise RecveilError(f"layout {layout!r}: expected one of {', '.join(get_args(Layout))}")
    if file_format not in get_args(FileFormat):
        raise RecveilError(
            f"file format {file_format!r}: expected one of {', '.join(get_args(FileFormat))}"
        )
    published = release.published
    in_groups = (published.default_layout if layout == "auto" else layout) == "groups"
    with _staging(folder, force=force) as (public_folder, private_folder):
        _write_published(published, public_folder, file_format, in_groups=in_groups)
        _write_private(release, private_folder, public_folder / MANIFEST, in_groups=in_groups)
        result = verify(public_folder)
        if not result.holds:
            raise RecveilError(
                f"the release does not keep its own claim and was not written: "
                f"{result.violations[0].problem}; this is a fault in recveil, please report it"
            )
    return result


def _write_published(
    published: Published, folder: Path, file_format: FileFormat, *, in_groups: bool
) -> None:
    ratings_file = folder / f"ratings.{file_format}"
    people_of: Counter[str] = Counter()
    counts = {"users": published.n_users, "records": 0, "labels": 0}
    keys = item_keys(published.items)
    item_seen = np.zeros(published.items.size, bool)

    def counted() -> Iterator[Records]:
        for block in track(published.blocks(), "Writing records"):
            for digest, people in zip(block.digests(keys), block.sizes.tolist(), strict=True):
                people_of[digest.hex()] += people
            item_seen[block.indices] = True
            yield block

    with rating_writer(ratings_file, file_format, published, in_groups=in_groups) as writer:
        for table, n_records in tables(published, counted(), in_groups=in_groups):
            counts["records"] += n_records
            counts["labels"] += table.num_rows
            writer.write_table(table)
    counts |= {"items": int(item_seen.sum()), "classes": len(people_of)}
    lines = [f"{digest},{people}\n" for digest, people in sorted(people_of.items())]
    (folder / CLASSES).write_text("digest,people\n" + "".join(lines))
    manifest = _manifest(published, counts, in_groups=in_groups)
    (folder / CARD).write_text(data_card(manifest, ratings_file.name))
    manifest["files"] = {
        name: _fingerprint(folder / name) for name in (ratings_file.name, CLASSES, CARD)
    }
    _write_json(folder / MANIFEST, manifest)


def _manifest(published: Published, counts: dict[str, int], *, in_groups: bool) -> dict[str, Any]:
    scale = published.scale
    return {
        "format": "recveil-release-1",
        "recveil": version("recveil"),
        "claim": published.claim.kind,
        "k": published.claim.k,
        "layout": "groups" if in_groups else "users",
        "item_type": "text" if published.items.dtype == object else "integer",
        "scale": {"low": scale.low, "high": scale.high, "step": scale.step},
        "settings": published.settings,
        "counts": counts,
    }


def _write_private(release: Release, folder: Path, manifest: Path, *, in_groups: bool) -> None:
    private: Private = release.private
    groups = private.groups
    if in_groups:
        pseudonyms = release.published.pseudonyms(0, groups.sizes.size)
        of_member = np.repeat(np.array(pseudonyms, dtype=object), groups.sizes)
    else:
        of_member = np.array(release.published.pseudonyms(0, groups.members.size), dtype=object)
    columns = {"user_id": pa.array(private.users[groups.members]), "published_id": of_member}
    pq.write_table(pa.table(columns), folder / ASSIGNMENT)
    about = {
        "note": "Keep this folder secret: it tells who is behind every published row.",
        "release": _fingerprint(manifest),
        "seed": private.seed,
        "settings": private.settings,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    _write_json(folder / PRIVATE_MANIFEST, about)
    for file in folder.iterdir():
        file.chmod(0o600)


def _fingerprint(file: Path) -> dict[str, Any]:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"sha256": digest, "bytes": file.stat().st_size}


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n")


@contextmanager
def _staging(folder: Path, *, force: bool) -> Iterator[tuple[Path, Path]]:
    """Give two folders to write to; rename them into place if all went well.

    An old release goes before its twin and a new one comes after, so that at any moment there is
    either no release, or a release with the twin that belongs to it.
    """
    folder, private = _targets(folder)
    check_target(folder, force=force)
    _sweep(folder)
    try:
        # mkdtemp's folder is readable by its owner alone; the private side never leaves that.
        prefix = f".{folder.name}.partial-{os.getpid()}-"
        staging = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    except OSError as error:
        raise RecveilError(
            f"{folder.parent}: cannot write here ({error.strerror}); choose another output"
        ) from error
    try:
        (staging / "published").mkdir()
        (staging / "private").mkdir(mode=0o700)
        yield staging / "published", staging / "private"
        _rename_all(
            (folder, staging / "old-published"),
            (private, staging / "old-private"),
            (staging / "private", private),
            (staging / "published", folder),
        )
    except OSError as error:
        raise RecveilError(
            f"{folder}: writing failed ({error.strerror or error}); nothing was left behind"
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _rename_all(*moves: tuple[Path, Path]) -> None:
    """Rename what exists, one after the other; undo all if one fails."""
    done = []
    try:
        for source, target in moves:
            if source.exists():
                source.rename(target)
                done.append((source, target))
    except OSError:
        for source, target in reversed(done):
            target.rename(source)
        raise


def check_target(folder: str | PathLike[str], *, force: bool) -> None:
    """Raise a RecveilError unless a release could be written to `folder`.

    Asked before the long work begins, and again before writing.
    """
    published, private = _targets(folder)
    if not published.parent.is_dir():
        raise RecveilError(f"{folder}: {published.parent} is not a folder; create it first")
    for target, sign in ((published, MANIFEST), (private, PRIVATE_MANIFEST)):
        if not target.exists() and not target.is_symlink():
            continue
        if not force:
            raise RecveilError(
                f"{target} exists; choose another output, or replace the release with --force"
            )
        if target.is_symlink() or not (target / sign).is_file():
            raise RecveilError(
                f"{target} exists and is not a release of recveil's (no {sign}); "
                f"--force replaces releases only; choose another output"
            )


def _targets(folder: str | PathLike[str]) -> tuple[Path, Path]:
    published = Path(folder).absolute()
    if not published.name:
        raise RecveilError(f"{folder}: expected a folder to be made, got the root; name one")
    return published, published.with_name(f"{published.name}.private")


def _sweep(folder: Path) -> None:
    """Remove what killed runs left behind, which holds private data."""
    for leftover in folder.parent.glob(f".{folder.name}.partial-*-*"):
        owner = int(leftover.name.split("-")[-2])
        moved_away = any(leftover.glob("old-*"))
        if not moved_away and not _is_running(owner):
            shutil.rmtree(leftover, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
