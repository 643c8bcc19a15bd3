"""Part checking: what an executor finds in one part of a release, and all of it put together."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from recveil.errors import RecveilError
from recveil.memory import MemoryLimitError
from recveil.release.form import read_manifest
from recveil.release.manifest import MANIFEST, Manifest
from recveil.verify.published_file import Pseudonyms, PublishedFile
from recveil.verify.verification import Found, Violation

FOUND = (
    "part long, right boolean, labels long, records long, prefix string, first long, next long, "
    "items string, violations string, left_out long, unread string"
)


def content_paths(folder: Path, manifest: Manifest) -> list[Path]:
    """Return the files that hold the ratings of a release, in their order."""
    return [folder / name for name in manifest.ratings_files]


def check_parts(batches: Iterator[pa.RecordBatch], folder: str) -> Iterator[pa.RecordBatch]:
    """Check the parts whose numbers come; yield a row of `FOUND` for each."""
    manifest, _ = read_manifest(Path(folder, MANIFEST))
    paths = content_paths(Path(folder), manifest)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            found = _check_part(paths[number], manifest)
            yield pa.RecordBatch.from_pylist([{"part": number, **found}])


def _check_part(path: Path, manifest: Manifest) -> dict[str, Any]:
    right = manifest.files[path.name].is_right(path)
    violations = Found()
    file = PublishedFile(path, manifest, manifest.claim.about)
    file.pseudonyms = Pseudonyms(manifest.counts.get("users"), in_part=True)
    records, unread = 0, ""
    try:
        for block in file.blocks(violations):
            records += len(block.user_ids)
    except MemoryLimitError:  # says nothing of the file
        raise
    except RecveilError as error:
        unread = str(error)
    return {
        "right": right,
        "labels": file.n_labels,
        "records": records,
        "prefix": file.pseudonyms.prefix,
        "first": file.pseudonyms.first,
        "next": file.pseudonyms.next,
        "items": json.dumps(file.items),
        "violations": json.dumps([list(violation) for violation in violations]),
        "left_out": violations.left_out,
        "unread": unread,
    }


def put_together(
    rows: Sequence[dict[str, Any]], manifest: Manifest, violations: Found
) -> tuple[dict[str, int], list[Any]]:
    """Note all violations of the parts, and that they follow each other; return counts and items.

    Parameters
    ----------
    rows : sequence of dict
        One a part, in the order of parts.
    manifest : Manifest
    violations : Found

    Raises
    ------
    RecveilError
        If a part cannot be read, though it is the one that was written.
    """
    items: set[Any] = set()
    expected, prefix = 0, rows[0]["prefix"] if rows else ""
    for row, name in zip(rows, manifest.ratings_files, strict=True):
        violations += (Violation(*told) for told in json.loads(row["violations"]))
        violations.left_out += row["left_out"]
        if row["unread"] and row["right"]:
            raise RecveilError(
                f"{row['unread']}; fetch or write the release again", code="release.damaged"
            )
        if row["unread"]:
            what = row["unread"].removeprefix(f"{name}: ")
            violations.append(Violation(name, None, None, f"what stands there now: {what}"))
        elif (row["prefix"], row["first"]) != (prefix, expected):
            problem = "its user ids do not go on where those of the part before end"
            violations.append(Violation(name, 1, None, problem))
        expected = row["next"]
        items.update(json.loads(row["items"]))
    counts = {
        "records": sum(row["records"] for row in rows),
        "labels": sum(row["labels"] for row in rows),
        "items": len(items),
    }
    return counts, sorted(items, key=str)
