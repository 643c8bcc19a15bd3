"""Preview: some published rows as everybody will read them, and what an adversary sees there."""

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from recveil.release.claim import ClaimKind
from recveil.release.manifest import CLASSES, Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.reader import read_blocks, read_rows
from recveil.release.records import Records, item_keys
from recveil.runtime.errors import RecveilError

ROWS = 20
_LABELS = 6


class PublishedRow(NamedTuple):
    """A row of a release, as far as it is shown."""

    # The published id
    user_id: str
    # The first items with their labels
    labels: list[tuple[str, str]]
    # How many there are in all
    n_labels: int
    # What an adversary sees who looks at it, in a sentence
    sees: str


def preview(folder: Path, n_rows: int = ROWS) -> list[PublishedRow]:
    """Return the first rows of a release, as everybody reads them.

    How many people share a row is looked up in the release's own list of classes, which the checker
    has compared with the rows.
    """
    manifest = known_manifest(folder)
    if manifest.layout == "model":
        return []
    rows = next(read_rows(folder, manifest), None)
    if rows is None or not rows.num_rows:
        return []
    items = np.unique(np.asarray(rows["item_id"].to_numpy()))
    block = next(read_blocks(folder, manifest, items))
    shown = _first(block.records, n_rows)
    texts = _texts(rows, int(shown.indptr[-1]))
    crowds = _crowds(folder, manifest, shown, items)
    starts = shown.indptr.tolist()
    return [
        PublishedRow(
            user_id=str(block.ids[at]),
            labels=texts[start : min(end, start + _LABELS)],
            n_labels=end - start,
            sees=describe_visible(manifest.claim.about, crowds[at]),
        )
        for at, (start, end) in enumerate(itertools.pairwise(starts))
    ]


def describe_visible(about: ClaimKind, crowd: int | None) -> str:
    """Say what an adversary sees in a row."""
    if not about.contains_users:
        return f"Nobody’s row: {about.unpromised}."
    if crowd is None:
        raise RecveilError(
            f"a row is not in {CLASSES}, which lists what people share; verify the release",
            code="release.damaged",
        )
    if crowd == 1:
        return "One person alone: whoever finds this row has found them."
    if not about.is_bound:
        return f"The same {about.shared_parts} for {crowd:,} people, but {about.unpromised}."
    return (
        f"The same row for {crowd:,} people: whoever finds it is right about one of them with a "
        f"chance of 1 in {crowd:,}."
    )


def _first(records: Records, n: int) -> Records:
    """Return the first records."""
    n = min(n, len(records))
    end = int(records.indptr[n])
    promised = None if records.promised is None else records.promised[:n]
    labels = records.indices[:end], records.values[:end]
    return Records(records.sizes[:n], records.indptr[: n + 1], *labels, promised)


def _texts(rows: pa.Table, n: int) -> list[tuple[str, str]]:
    """Return items and labels as they stand in the file."""
    part = rows.slice(0, n)
    names = [str(item) for item in part["item_id"].to_pylist()]
    return list(zip(names, map(_label, part["rating"].to_pylist()), strict=True))


def _label(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _crowds(folder: Path, manifest: Manifest, records: Records, items: Any) -> list[int | None]:
    """Return how many people share each record; None where nobody does."""
    about = manifest.claim.about
    if not about.contains_users:
        return [None] * len(records)
    lines = (folder / CLASSES).read_text(encoding="ascii").splitlines()[1:]
    people = {digest: int(n) for digest, _, n in (line.partition(",") for line in lines)}
    return [people.get(digest.hex()) for digest in about.digests(records, item_keys(items))]
