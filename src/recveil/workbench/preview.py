"""Published rows and verdicts in the words of the pages."""

import itertools
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from recveil.release.claim import ClaimKind
from recveil.release.manifest import CLASSES, Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.reader import read_blocks, read_rows
from recveil.release.records import Records, item_keys
from recveil.runtime.errors import RecveilError

ROWS = 20
_CELLS = 6
# Rows among which different ones are searched.
_MOST_RECORDS = 20_000


class PublishedRow(NamedTuple):
    """A row of a release, as far as a page shows it."""

    # The number of users who share it; None for a synthetic user
    size: int | None
    # The first items with their values
    cells: list[tuple[str, str]]
    # The number of cells in the whole row
    n_cells: int
    # What an adversary learns from it, in a sentence
    description: str


def preview(folder: Path) -> list[PublishedRow]:
    """Return the first different rows of a release, as recipients read them.

    The size of an equivalence class is read from classes.csv, which verification has compared with
    the rows.
    """
    manifest = known_manifest(folder)
    if manifest.layout == "model":
        return []
    rows = next(read_rows(folder, manifest), None)
    if rows is None or not rows.num_rows:
        return []
    items = np.unique(np.asarray(rows["item_id"].to_numpy()))
    records = _first_records(next(read_blocks(folder, manifest, items)).records, _MOST_RECORDS)
    sizes = _class_sizes(folder, manifest)
    about, shown = manifest.claim.about, []
    ends = list(itertools.pairwise(records.indptr.tolist()))
    for at, digest in _different(about.digests(records, item_keys(items))):
        start, end = ends[at]
        part = rows.slice(start, min(end - start, _CELLS))
        size = sizes.get(digest.hex()) if about.contains_users else None
        shown.append(
            PublishedRow(
                size=size,
                cells=[
                    (str(item), f"{value:g}" if isinstance(value, float) else str(value))
                    for item, value in zip(
                        part["item_id"].to_pylist(), part["rating"].to_pylist(), strict=True
                    )
                ],
                n_cells=end - start,
                description=describe_visible(about, size),
            )
        )
    return shown


def _different(digests: Iterable[bytes]) -> list[tuple[int, bytes]]:
    """Return the places and digests of the first rows that differ from all before them."""
    places: dict[bytes, int] = {}
    for at, digest in enumerate(digests):
        if len(places) == ROWS:
            break
        places.setdefault(digest, at)
    return [(at, digest) for digest, at in places.items()]


def describe_visible(about: ClaimKind, size: int | None) -> str:
    """Describe what an adversary learns from a row of an equivalence class of this size."""
    if not about.contains_users:
        return f"A synthetic user: {about.unpromised}."
    if size is None:
        raise RecveilError(
            f"a row is not in {CLASSES}, which lists the equivalence classes; verify the release",
            code="release.damaged",
        )
    if size == 1:
        return "One user alone: an adversary who matches this row has re-identified the user."
    if not about.is_bound:
        return f"The same {about.shared_parts} for {size:,} users, but {about.unpromised}."
    return (
        f"The same row for {size:,} users: an adversary who matches it re-identifies one of them "
        f"with probability 1 in {size:,}."
    )


def _first_records(records: Records, n: int) -> Records:
    n = min(n, len(records))
    end = int(records.indptr[n])
    promised = None if records.promised is None else records.promised[:n]
    indices, values = records.indices[:end], records.values[:end]
    days = None if records.days is None else records.days[:end]
    return Records(records.sizes[:n], records.indptr[: n + 1], indices, values, promised, days)


def _class_sizes(folder: Path, manifest: Manifest) -> dict[str, int]:
    """Return the sizes of the equivalence classes by digest; none for synthetic users."""
    if not manifest.claim.about.contains_users:
        return {}
    lines = (folder / CLASSES).read_text(encoding="ascii").splitlines()[1:]
    sizes: Counter[str] = Counter()
    for line in lines:
        digest, n_users, *_ = line.split(",")
        sizes[digest] += int(n_users)
    return sizes
