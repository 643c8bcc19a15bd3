"""Rechecking: what a verdict takes when no one machine reads a whole release."""

import json
from collections.abc import Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from recveil.errors import RecveilError
from recveil.ratings.people_ids import people_told
from recveil.release.form import read_manifest
from recveil.release.manifest import (
    MANIFEST,
    PRIVATE_MANIFEST,
    RATINGS,
    FileEntry,
    Manifest,
)
from recveil.release.who_is_who import assignment_files, read_assignment
from recveil.spark.class_checking import (
    ClassesCounted,
    class_frame,
    count_classes,
    note_list,
    note_small,
)
from recveil.spark.part_checking import FOUND, check_parts, content_paths, put_together
from recveil.spark.part_reading import address_of
from recveil.spark.spark_session import spark_session
from recveil.verify import Verification
from recveil.verify.ids_in_items import IdsInItems, line_breaks_in_items
from recveil.verify.item_formulas import formulas_told, wrong_formulas
from recveil.verify.not_covered import not_covered_of_release
from recveil.verify.other_files import (
    foreign_files,
    has_crowds,
    wrong_card,
    wrong_counts,
    wrong_files,
    wrong_items,
    wrong_settings,
)
from recveil.verify.private_side import PrivateSide
from recveil.verify.private_values import PublishedNames, found_values, not_looked_for
from recveil.verify.published_file import PublishedFile
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
    k: int | None = None,
    private: str | PathLike[str] | None = None,
    master: str | None = None,
) -> Verification:
    """Check a release by Spark, each of its files by an executor.

    Parameters
    ----------
    path : path
        The published folder; all machines see it at the same path.
    k : int, optional
        People that must share each row; a release brings its own.
    private : path, optional
        The private folder of a release of drawn people: whether something of it stands in the
        release is looked for, too.
    master : str, optional
        Where Spark runs; see `recveil.spark.anonymize`.

    Returns
    -------
    Verification
        The verdict of `recveil.verify.verify`, in the same words; but of a class that too few
        people share, one record is named.

    Raises
    ------
    RecveilError
        If it is no release, holds what Spark does not check, cannot be read, or Spark cannot be
        begun.

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
            f"leave engine (--engine) out",
            code="release.not-found",
        )
    manifest, _ = read_manifest(folder / MANIFEST)
    _refuse_not_offered(manifest, k, is_private=private is not None)
    with spark_session(master) as spark:
        side = None if private is None else Path(private).resolve()
        return check_by_executors(spark, folder.resolve(), k=k, private=side)


def _refuse_not_offered(manifest: Manifest, k: int | None, *, is_private: bool) -> None:
    people = manifest.holds_people
    refused = {
        "layout (--layout) model": manifest.layout == "model",
        f"l (--l) of {manifest.claim.l}, diversity": people and manifest.claim.l > 1,
        "private (--private), of a release of people's rows": people and is_private,
        "k (--k), of drawn people": not people and k is not None,
        "k (--k) below 1": k is not None and k < 1,
    }
    for what, is_so in refused.items():
        if is_so:
            raise RecveilError(
                f"{what}: not checked by Spark; leave it out, or leave engine (--engine) out",
                code="option.unsupported",
            )


def check_by_executors(
    spark: "SparkSession", folder: Path, *, k: int | None = None, private: Path | None = None
) -> Verification:
    """Check a release, and whether something private stands there."""
    names, readers = PublishedNames([], [], []), _Executors(spark)
    manifest, _ = read_manifest(folder / MANIFEST)
    if manifest.holds_people:
        result = check_shared(folder, readers, k)
        if private is None or not readers.all_read:
            return result
        return result.with_private(*_of_people(spark, folder, private, readers.items))
    result = check_published(folder, names, readers=readers)
    if private is None:
        return result
    return result.with_private(*_private_values(spark, folder, private, names.items))


def check_shared(folder: Path, readers: "_Executors", k: int | None) -> Verification:
    """Check a release whose rows are shared by people.

    What is asked is what `recveil.verify` asks, by its own functions; rows and classes are looked
    at by executors.
    """
    manifest, problems = read_manifest(folder / MANIFEST)
    claim, ratings_name = manifest.claim, str(manifest.ratings_file)
    required = claim.k if k is None else k
    for name in manifest.ratings_files or (RATINGS[0],):
        if not (folder / name).is_file():
            raise RecveilError(
                f"{folder}: no {name}; fetch or write the release again", code="release.damaged"
            )
    checksums = readers.checksums(folder, manifest)
    violations = Found()
    violations += (Violation(MANIFEST, None, None, problem) for problem in problems)
    violations += wrong_files(folder, manifest, checksums)
    violations += foreign_files(folder, manifest)
    if not problems:  # else the card cannot be right
        violations += wrong_card(folder, manifest, ratings_name)
    counts, items = readers.drawn(folder, manifest, violations)
    counted = ClassesCounted(0, 0, 0, 0)
    if readers.all_read:
        frame = class_frame(readers.spark, folder, len(manifest.ratings_files)).persist()
        try:
            counted = count_classes(frame)
            note_small(frame, required, manifest, claim.about.shared_parts, violations)
            note_list(readers.spark, frame, folder, violations)
        finally:
            frame.unpersist()
        counts |= {"users": counted.users, "classes": counted.classes, "alone": counted.alone}
        violations += wrong_counts(manifest, counts)
        values = _most_values(readers.spark, folder, manifest) if has_crowds(manifest) else 0
        violations += wrong_settings(manifest, {**counts, "values": values})
        violations += wrong_items(manifest, items, ratings_name)
        violations += wrong_formulas(manifest, items)
        violations += line_breaks_in_items(items, ratings_name)
    return Verification(
        claim=claim.kind,
        k_required=required,
        k_achieved=counted.smallest,
        users=counted.users,
        records=counts["records"] if readers.all_read else 0,
        classes=counted.classes,
        layout=manifest.layout,
        compared=[*claim.about.compared, *(["k"] * claim.levels)] if readers.all_read else [],
        violations=violations.told(),
        checksums=checksums,
        alone=counted.alone,
        has_levels=claim.levels,
        not_covered=[
            *not_covered_of_release(manifest, ratings_name),
            *([*formulas_told(items), *people_told(items)] if readers.all_read else []),
        ],
    )


def _most_values(spark: "SparkSession", folder: Path, manifest: Manifest) -> int:
    """Return the most distinct values that one item has."""
    paths = [address_of(path) for path in content_paths(folder, manifest)]
    pairs = spark.read.parquet(*paths).select("item_id", "rating").distinct()
    largest = pairs.groupBy("item_id").count().agg({"count": "max"}).first()
    return int(largest[0] or 0) if largest else 0


class _Executors:
    """Executors as readers of a release: one job tells all."""

    def __init__(self, spark: "SparkSession") -> None:
        self.spark = spark
        self.items: list[Any] = []
        self._rows: list[dict[str, Any]] = []

    @property
    def all_read(self) -> bool:
        """Whether each part could be read."""
        return not any(row["unread"] for row in self._rows)

    def checksums(self, folder: Path, manifest: Manifest) -> dict[str, bool]:
        """Say of each file whether it is the one that was written."""
        n = len(manifest.ratings_files)
        work = partial(check_parts, folder=str(folder))
        found = self.spark.range(0, n, 1, n).mapInArrow(work, FOUND).toArrow().to_pylist()
        self._rows = sorted(found, key=lambda row: row["part"])
        right = {manifest.ratings_files[row["part"]]: row["right"] for row in self._rows}
        return {
            name: right[name] if name in right else entry.is_right(folder / name)
            for name, entry in manifest.files.items()
        }

    def drawn(
        self, folder: Path, manifest: Manifest, violations: Found
    ) -> tuple[dict[str, int], list[Any]]:
        """Note what is wrong with rows; return counts, and the ids of items."""
        del folder  # it was looked at for the checksums
        counts, self.items = put_together(self._rows, manifest, violations)
        return {**counts, "users": counts["records"]}, self.items


def _private_values(
    spark: "SparkSession", folder: Path, private: Path, items: list[Any]
) -> tuple[list[Violation], list[str]]:
    """Look for what is private, many people at a time."""
    told = _told(folder, private)
    files = assignment_files(told)
    n_people = spark.read.parquet(*[address_of(private / name) for name in files]).count()
    n_pieces = min(len(files), -(-n_people // _PEOPLE_AT_ONCE) or 1)
    work = partial(
        _scan, n_pieces=n_pieces, folder=str(folder), private=str(private), items=items, told=told
    )
    rows = spark.range(0, n_pieces, 1, n_pieces).mapInArrow(work, _SCANNED).toArrow().to_pylist()
    return _all_found(rows)


def _all_found(rows: list[dict[str, Any]]) -> tuple[list[Violation], list[str]]:
    """Put together what was found in some pieces of the people, and what cannot be told."""
    found = {tuple(each): None for row in rows for each in json.loads(row["violations"])}
    met = IdsInItems("", sum(row["untold"] for row in rows), sum(row["met"] for row in rows))
    untold = not_looked_for(sum(row["people"] for row in rows), met)
    if len(rows) > 1:
        untold.append(
            f"Ids of people were looked for in {len(rows):,} pieces, each by itself: what shows "
            f"only in all of them together was not found."
        )
    return [Violation(*each) for each in found], untold


def _of_people(
    spark: "SparkSession", folder: Path, private: Path, items: list[Any]
) -> tuple[list[Violation], list[str]]:
    """Look for what is private beside rows of people: for each part, of those who are in it."""
    told = _told(folder, private)
    n = len(assignment_files(told))
    work = partial(_scan_part, folder=str(folder), private=str(private), items=items, told=told)
    rows = spark.range(0, n, 1, n).mapInArrow(work, _SCANNED).toArrow().to_pylist()
    return _all_found(rows)


def _told(folder: Path, private: Path) -> dict[str, Any]:
    """Return what private.json says, or refuse that of another release."""
    try:
        told = dict(json.loads((private / PRIVATE_MANIFEST).read_text("utf-8")))
        digest = told["release"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecveilError(
            f"{private}: cannot be read as the private folder of a release; expected the one that "
            f"recveil wrote with it",
            code="private.damaged",
        ) from error
    if digest != FileEntry.of(folder / MANIFEST).sha256:
        raise RecveilError(
            f"{private}: the private folder belongs to another release (SHA-256 of {MANIFEST}); "
            f"name the one that was written with {folder.name}",
            code="private.mismatch",
        )
    return told


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
            side = _side(users, [None] * len(users), told)
            published = PublishedNames([], [], items)
            yield _as_row(*found_values(Path(folder), published, side), len(users))


def _scan_part(
    batches: Iterator[pa.RecordBatch],
    folder: str,
    private: str,
    items: list[Any],
    told: dict[str, Any],
) -> Iterator[pa.RecordBatch]:
    """Look for private values of the people of each part, and for their order in its records."""
    manifest, _ = read_manifest(Path(folder, MANIFEST))
    names, paths = assignment_files(told), content_paths(Path(folder), manifest)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            table = read_assignment(Path(private), names[number : number + 1])
            users, records = (table[name].to_pylist() for name in table.column_names)
            published = PublishedNames([], [], items)
            file = PublishedFile(paths[number], manifest, manifest.claim.about)
            for block in file.blocks(Found()):
                published.user_ids.extend(block.user_ids)
                published.shared.extend(block.digests)
            if set(records) != set(published.user_ids):
                raise RecveilError(
                    f"{names[number]} is not of the people of {paths[number].name}; this is a "
                    f"fault in recveil, please report it",
                    code="internal.fault",
                )
            side = _side(users, records, told)
            yield _as_row(*found_values(Path(folder), published, side), len(users))


def _side(users: list[Any], records: list[str | None], told: dict[str, Any]) -> PrivateSide:
    seed = told.get("seed")
    return PrivateSide(users, records, [], [], seed if type(seed) is int else None)


def _as_row(violations: list[Violation], in_items: IdsInItems, n_people: int) -> pa.RecordBatch:
    row = {
        "violations": json.dumps([list(each) for each in violations]),
        "untold": in_items.n_untold,
        "met": in_items.n_met,
        "people": n_people,
    }
    return pa.RecordBatch.from_pylist([row])
