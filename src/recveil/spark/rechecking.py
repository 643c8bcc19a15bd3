"""Rechecking: what a verdict takes when no one machine reads a whole release."""

import json
from collections.abc import Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from recveil.errors import RecveilError
from recveil.release.form import read_manifest
from recveil.release.manifest import (
    ALL_PARTS,
    MANIFEST,
    PRIVATE_MANIFEST,
    FileEntry,
    Manifest,
    is_part,
)
from recveil.release.who_is_who import assignment_files, read_assignment
from recveil.spark.part_checking import FOUND, check_parts, put_together
from recveil.spark.spark_session import spark_session
from recveil.verify import Verification
from recveil.verify.ids_in_items import IdsInItems
from recveil.verify.private_side import PrivateSide
from recveil.verify.private_values import PublishedNames, found_values, not_looked_for
from recveil.verify.release_folder import check_published
from recveil.verify.verification import Found, Violation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Ids of so many people, about, are looked for at once.
_PEOPLE_AT_ONCE = 1 << 20
_SCANNED = "violations string, untold long, met long, people long"


def verify(
    path: str | PathLike[str],
    *,
    private: str | PathLike[str] | None = None,
    master: str | None = None,
) -> Verification:
    """Check a release in many parts by Spark, each part by an executor.

    Parameters
    ----------
    path : path
        The published folder; all machines see it at the same path.
    private : path, optional
        Its private folder: whether something of it stands in the release is looked for, too.
    master : str, optional
        Where Spark runs; see `recveil.spark.anonymize`.

    Returns
    -------
    Verification
        The verdict that `recveil.verify.verify` gives, with the same words.

    Raises
    ------
    RecveilError
        If it is no release in parts, cannot be read, or Spark cannot be begun.

    Examples
    --------
    >>> verify("ratings.csv")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: ratings.csv: no release (it has no release.json), and Spark ...
    """
    folder = Path(path)
    if not (folder / MANIFEST).is_file():
        raise RecveilError(
            f"{folder}: no release (it has no release.json), and Spark checks releases alone; "
            f"leave engine (--engine) out"
        )
    manifest, _ = read_manifest(folder / MANIFEST)
    if manifest.ratings_file != ALL_PARTS or manifest.holds_people:
        raise RecveilError(
            f"{folder}: Spark checks releases of drawn people in many parts, such as it writes; "
            f"leave engine (--engine) out to check this one"
        )
    with spark_session(master) as spark:
        side = None if private is None else Path(private).resolve()
        return check_by_executors(spark, folder.resolve(), private=side)


def check_by_executors(
    spark: "SparkSession", folder: Path, *, private: Path | None = None
) -> Verification:
    """Check a release of drawn people, and whether something private stands there."""
    names = PublishedNames([], [], [])
    result = check_published(folder, names, readers=_Executors(spark))
    if private is None:
        return result
    return result.with_private(*_private_values(spark, folder, private, names.items))


class _Executors:
    """Executors as readers of a release: one job tells all."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._rows: list[dict[str, Any]] = []

    def checksums(self, folder: Path, manifest: Manifest) -> dict[str, bool]:
        """Say of each file whether it is the one that was written."""
        n = len(manifest.ratings_files)
        work = partial(check_parts, folder=str(folder))
        found = self._spark.range(0, n, 1, n).mapInArrow(work, FOUND).toArrow().to_pylist()
        self._rows = sorted(found, key=lambda row: row["part"])
        right = {manifest.ratings_files[row["part"]]: row["right"] for row in self._rows}
        return {
            name: right[name] if is_part(name) else entry.is_right(folder / name)
            for name, entry in manifest.files.items()
        }

    def drawn(
        self, folder: Path, manifest: Manifest, violations: Found
    ) -> tuple[dict[str, int], list[Any]]:
        """Note what is wrong with rows; return counts, and the ids of items."""
        del folder  # it was looked at for the checksums
        return put_together(self._rows, manifest, violations)


def _private_values(
    spark: "SparkSession", folder: Path, private: Path, items: list[Any]
) -> tuple[list[Violation], list[str]]:
    """Look for what is private, many people at a time."""
    told = _told(private)
    if told["release"]["sha256"] != FileEntry.of(folder / MANIFEST).sha256:
        raise RecveilError(
            f"{private}: the private folder belongs to another release (SHA-256 of {MANIFEST}); "
            f"name the one that was written with {folder.name}"
        )
    files = assignment_files(told)
    n_people = spark.read.parquet(*[(private / name).as_uri() for name in files]).count()
    n_pieces = min(len(files), -(-n_people // _PEOPLE_AT_ONCE) or 1)
    work = partial(
        _scan, n_pieces=n_pieces, folder=str(folder), private=str(private), items=items, told=told
    )
    rows = spark.range(0, n_pieces, 1, n_pieces).mapInArrow(work, _SCANNED).toArrow().to_pylist()
    found = {tuple(each): None for row in rows for each in json.loads(row["violations"])}
    met = IdsInItems("", sum(row["untold"] for row in rows), sum(row["met"] for row in rows))
    untold = not_looked_for(sum(row["people"] for row in rows), met)
    if n_pieces > 1:
        untold.append(
            f"Ids of people were looked for in {n_pieces:,} pieces, each by itself: what shows "
            f"only in all of them together was not found."
        )
    return [Violation(*each) for each in found], untold


def _told(private: Path) -> dict[str, Any]:
    try:
        told = json.loads((private / PRIVATE_MANIFEST).read_text("utf-8"))
        told["release"]["sha256"]
        return dict(told)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecveilError(
            f"{private}: cannot be read as the private folder of a release; expected the one that "
            f"recveil wrote with it"
        ) from error


def _scan(
    batches: Iterator[pa.RecordBatch],
    n_pieces: int,
    folder: str,
    private: str,
    items: list[Any],
    told: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    names = assignment_files(told)
    for batch in batches:
        for piece in batch.column(0).to_pylist():
            table = read_assignment(Path(private), names[piece::n_pieces], ["user_id"])
            users = table["user_id"].to_pylist()
            seed = told.get("seed")
            side = PrivateSide(
                users, [None] * len(users), [], [], seed if type(seed) is int else None
            )
            published = PublishedNames([], [], items)
            violations, in_items = found_values(Path(folder), published, side)
            row = {
                "violations": json.dumps([list(each) for each in violations]),
                "untold": in_items.n_untold,
                "met": in_items.n_met,
                "people": len(users),
            }
            yield pa.RecordBatch.from_pylist([row])
