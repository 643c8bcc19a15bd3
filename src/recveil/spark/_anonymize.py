"""Verified releases of large tables, made and written in parts by Spark."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from recveil.io import understand
from recveil.io.columns.ids import reject_personal_ids
from recveil.io.ingestion import (
    has_value,
    reject_unknown_keywords,
    warn_of_notes,
    without_dates,
)
from recveil.methods._anonymize import (
    AnonymizeOptions,
    AnonymizeRequest,
    Released,
    check_layout,
    check_ledger,
    check_options,
    choose_method,
    reject_within,
    warn_of_coverage,
    warn_of_linkage,
)
from recveil.methods.earlier_releases import find_earlier, history_of, others
from recveil.methods.synthetic.options import check_n_users
from recveil.publish.folder import Written, naming_spending, write_release
from recveil.publish.privacy_ledger import PrivacyTotal, warn_of_total
from recveil.publish.size_estimate import Expected
from recveil.publish.staging import check_target
from recveil.release.coverage import FEWEST_RATINGS, Coverage
from recveil.release.method import Method
from recveil.release.registry import all_methods
from recveil.release.sides import FileFormat, Published
from recveil.release.specs.k_corating import K_CORATING
from recveil.release.specs.predictive import PREDICTIVE
from recveil.release.specs.sparse import SPARSE
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.runtime.errors import RecveilError
from recveil.spark.group_making import CoRatedMaking, GroupMaking
from recveil.spark.input import Lake, address_of, is_for_spark, lake_of, read_frame
from recveil.spark.session import session_for, spark_errors_translated, spark_session
from recveil.spark.sparse import SparseMaking
from recveil.spark.synthetic import SyntheticMaking
from recveil.spark.users import DistributedUsers, DistributedWriting, Making

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Reading options that Spark supports.
_OF_FILES = ("user", "item", "rating", "likes", "scale")


def anonymize(
    source: "DataFrame | str | PathLike[str]",
    output: str | PathLike[str],
    *,
    on_estimate: Callable[[Expected], object] | None = None,
    on_total: Callable[[PrivacyTotal], object] | None = None,
    master: str | None = None,
    **options: Unpack[AnonymizeOptions],
) -> Released:
    """Make a verified release of a table in Spark, without a copy of it on any one machine.

    Parameters
    ----------
    source : DataFrame, path or address
        One rating a row. Spark reads Parquet, folders of parts, and addresses such as ``s3a://…``;
        any other file is read here, as `recveil.methods.anonymize` reads it, and sent to Spark.
    output : path
        The published folder, which all machines see at the same path; the private folder is
        `output` + ".private".
    on_estimate, on_total : callable, optional
        See `recveil.anonymize`.
    master : str, optional
        Where Spark runs, such as ``local[4]`` or ``spark://host:7077``. Not with a DataFrame, whose
        session is used.
    **options
        Keywords of `recveil.anonymize`; unsupported ones are rejected. For tables that Spark reads,
        of the options of reading only user, item, rating, likes and scale.

    Raises
    ------
    RecveilError
        If an option is wrong or unsupported, or Spark fails. Nothing is written then.

    Warns
    -----
    CoverageWarning, LinkageWarning
        See `recveil.anonymize`.

    Examples
    --------
    >>> anonymize("ratings.parquet", "out", k=5, method="nominal", master="local[1]")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: method 'nominal': not by Spark yet, which makes releases by ...
    """
    request = AnonymizeRequest.of(source, output, **options)
    chosen = _method(choose_method(request.method, request.k, request.options))
    unsupported = {
        "hide_items (--hide-items)": request.hide_items,
        "previous (--previous)": request.previous is not None,
        "protect_riskiest (--protect-riskiest)": request.protect_riskiest is not None,
        "truncate_to (--truncate-to)": request.truncate_to is not None,
        "risk (--risk)": request.risk is not None,
        "item_table (--item-table)": request.item_table is not None,
        "users (--users)": request.users is not None,
        "dates (--dates)": request.options.get("dates") is not None,
        "reuse (--reuse)": request.options.get("reuse") is not None,
        "cohort (--cohort)": request.options.get("cohort") is not None,
        f"file format {request.file_format!r}": request.file_format != "parquet",
    }
    if what := next((name for name, is_set in unsupported.items() if is_set), None):
        raise RecveilError(
            f"{what}: not by Spark yet; leave it out, or leave engine (--engine) out",
            code="option.unsupported",
        )
    method_options = check_options(chosen, request.options)
    check_layout(chosen, request.layout)
    check_n_users(method_options, request.layout, allow_large=request.allow_large)
    making = _MAKINGS[chosen.name](request.k, method_options, request.seed)
    reject_unknown_keywords(anonymize, request.reading, "k", "user_files", "times")
    check_target(output, force=request.force)
    reject_within(source, output)
    target, total = Path(output).absolute(), None
    with naming_spending(), _table(source, master, {**request.reading}) as lake:
        warn_of_notes(lake.notes)
        if chosen.name != SYNTHETIC.name:  # it publishes public ids alone
            reject_personal_ids(lake.items, can_hide=False)
        users, make = making.gather(lake)
        try:
            earlier = tuple(find_earlier(_count_by_spark(users), target, request.earlier_release))
            if isinstance(making, SyntheticMaking):
                check_ledger(method_options, target)
                total = making.privacy_total(users, history_of(earlier))
                if total is not None:
                    (on_total or warn_of_total)(total)
            planned = make()
            published = planned.release.published
            if on_estimate is not None and published.expect is not None:
                expected = published.expect(request.layout, request.file_format)
                if expected is not None:
                    on_estimate(expected)
            by = _CoverageWriting(planned.by, lake)
            verification = write_release(
                planned.release,
                target,
                request.layout,
                request.file_format,
                force=request.force,
                allow_large=request.allow_large,
                allow_sparse_coverage=request.allow_sparse_coverage,
                by=by,
            )
        finally:
            users.let_go()
        summary = planned.summary()._replace(coverage=by.coverage)
        warn_of_coverage(summary)
        released = Released(
            output=Path(output),
            n_users=users.n_users,
            n_items=lake.items.size,
            n_ratings=lake.n_ratings,
            scale=lake.scale,
            release=planned.release,
            verification=verification,
            summary=summary,
            earlier=tuple(others(list(earlier), target)),
            notes=lake.notes,
            total=total,
        )
        warn_of_linkage(released)
        return released


class _CoverageWriting:
    """Measures what is written."""

    def __init__(self, by: DistributedWriting, lake: Lake) -> None:
        self._by, self._lake = by, lake
        self.coverage: Coverage | None = None
        self.write_users = by.write_users
        self.verify = by.verify

    def write_ratings(
        self, published: Published, folder: Path, file_format: FileFormat, *, in_groups: bool
    ) -> Written:
        """Write the records, and compare them with the table."""
        from pyspark.sql import functions as sql

        written = self._by.write_ratings(published, folder, file_format, in_groups=in_groups)
        lake, n_users = self._lake, written.counts["users"]
        with spark_errors_translated():
            counted = lake.rows.groupBy("item").count().toArrow()
            lengths = lake.rows.groupBy("user").count()
            n_short_raw = lengths.where(sql.col("count") < FEWEST_RATINGS).count()
        # Items as in the column may be written differently.
        place_of = dict(zip(lake.raw.to_pylist(), lake.codes.tolist(), strict=True))
        counts = np.zeros(lake.items.size, np.int64)
        np.add.at(
            counts,
            [place_of[item] for item in counted["item"].to_pylist()],
            counted["count"].to_numpy(),
        )
        is_kept = np.isin(lake.items, np.asarray(written.items, dtype=lake.items.dtype))
        coverage = Coverage.of(counts, is_kept, [FEWEST_RATINGS], [self._by.n_long], n_users)
        n_short = coverage.n_short_users
        if published.claim.about.contains_users:  # other values are imputed
            n_short = max(n_short, n_short_raw)
        coverage = coverage._replace(n_short_users=n_short, n_short_raw_users=n_short_raw)
        self.coverage = coverage.for_k(published.claim.k, counts)
        return written._replace(coverage=self.coverage)


# Constructors of the methods: k, options, seed.
_MAKINGS: dict[str, Callable[[int | None, Mapping[str, Any], int | None], Making]] = {
    SYNTHETIC.name: SyntheticMaking,
    PREDICTIVE.name: GroupMaking,
    K_CORATING.name: CoRatedMaking,
    SPARSE.name: SparseMaking,
}


def _method(name: str) -> Method:
    """Return a method that Spark supports; raise for others."""
    method = next((known for known in all_methods() if known.name == name), None)
    if method is None or name not in _MAKINGS:
        raise RecveilError(
            f"method {name!r}: not by Spark yet, which makes releases by {', '.join(_MAKINGS)}; "
            f"leave engine (--engine) out",
            code="method.unsupported",
        )
    return method


@contextmanager
def _table(
    source: "DataFrame | str | PathLike[str]", master: str | None, reading: Mapping[str, Any]
) -> Iterator[Lake]:
    is_frame = not isinstance(source, str | PathLike)
    if is_frame or is_for_spark(str(source)):
        options = _for_spark(reading)  # raises before Java starts
        with session_for(source, master, "recveil.methods") as spark:
            frame = source if is_frame else read_frame(spark, str(source))
            yield lake_of(frame, **options)
    else:
        read = understand(source, times=False, k=1, **reading)  # nothing is guessed
        read = without_dates(read, reading.get("time"))
        ratings = read.ratings
        if ratings.scale.labels:
            raise RecveilError(
                "words (--words) and order (--order): not by Spark yet; leave engine (--engine) "
                "out",
                code="table.kind",
            )
        with spark_session(master) as spark:
            frame = spark.createDataFrame(
                ratings.to_arrow().drop_columns([] if ratings.days is None else ["timestamp"])
            )
            lake = lake_of(
                frame, scale=None if ratings.is_unary else ratings.scale, likes=ratings.is_unary
            )
            # The scale of `ratings` records whether it was named.
            columns = (f"{read.name}: {read.mapping(examples=False)}.",) if read.columns else ()
            yield lake._replace(scale=ratings.scale, notes=(*columns, *read.notes))


def _for_spark(reading: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return column options; raise for options that Spark does not read."""
    options = {name: value for name, value in reading.items() if has_value(value)}
    if options.get("duplicates") == "error":
        del options["duplicates"]
    if strange := [name for name in options if name not in _OF_FILES]:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in strange)
        raise RecveilError(
            f"{flags}: not for a table that Spark reads; leave that out, or give a file "
            f"that recveil reads",
            code="option.unsupported",
        )
    return options


def _count_by_spark(users: DistributedUsers) -> Callable[[Path, list[str]], int]:
    """Return a function that counts these users in a private folder."""

    def count(private: Path, files: list[str]) -> int:
        spark = users.frame.sparkSession
        try:
            with spark_errors_translated():
                assignment = spark.read.parquet(*[address_of(private / name) for name in files])
                known = assignment.selectExpr("cast(user_id as string) as user").distinct()
                return users.frame.select("user").join(known, "user").count()
        except RecveilError as error:
            raise OSError("Spark cannot read the private folder") from error

    return count
