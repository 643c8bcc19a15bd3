"""Audits of tables by Spark, whose executors run the attacks."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from recveil.attacks import Adversary, Candidates, choose_targets
from recveil.attacks.adversary import choose_adversaries
from recveil.auditing import Audit, work_estimates
from recveil.auditing._audit import attack_table, costs_of, fit_adversary
from recveil.auditing.request import AuditRequest
from recveil.io import Reading, understand
from recveil.io.ingestion import reject_unknown_keywords
from recveil.io.options import ReadingOptions
from recveil.runtime.errors import RecveilError, option_named
from recveil.runtime.progress import THE_REST, parts
from recveil.spark.input import is_for_spark, read_frame
from recveil.spark.search import DistributedCandidates, Searchers, remote_table
from recveil.spark.session import session_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Bytes per collected rating, about.
_BYTES_OF_A_RATING = 32


def audit(
    source: "DataFrame | str | PathLike[str]",
    *,
    adversaries: Iterable[Adversary | str] | None = None,
    targets: int | None = 1_000,
    draws: int = 1,
    seed: int = 0,
    curves: bool = True,
    master: str | None = None,
    **reading: Any,
) -> Audit:
    """Attack a table as if it had been published with the names removed, by Spark.

    Parameters
    ----------
    source : DataFrame, path or address
        One rating a row. Spark reads folders of parts and addresses; any other file is read here,
        as `recveil.auditing.audit` reads it.
    adversaries, targets, draws, seed, curves
        As for `recveil.auditing.audit`, with the same results to the last digit.
    master : str, optional
        Where Spark runs, such as ``local[4]`` or ``spark://host:7077``. Not with a DataFrame, whose
        session is used.
    **reading
        Passed to `understand`.

    Raises
    ------
    RecveilError
        If an option is wrong or unsupported, the table cannot be read, or Spark fails.

    Examples
    --------
    >>> audit("ratings.csv", release="out", master="local[1]")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: release (--release): not by Spark; leave it out, or leave ...
    """
    for name in AuditRequest.unsupported_by_spark():
        value = reading.pop(name, None)
        if value is not None and value is not False:
            raise RecveilError(
                f"{option_named(name)}: not by Spark; leave it out, or leave engine (--engine) out",
                code="option.unsupported",
            )
    reject_unknown_keywords(audit, reading, "k", "user_files")
    request = AuditRequest(
        source=source,
        adversaries=choose_adversaries(adversaries),
        targets=targets,
        draws=draws,
        seed=seed,
        curves=curves,
        reading=ReadingOptions(**reading),  # type: ignore[typeddict-item]
    )
    with (
        parts("Auditing", {work_estimates.READING: 1, THE_REST: 8}) as begin,
        session_for(source, master, "recveil.auditing") as spark,
    ):
        begin(work_estimates.READING)
        with _table(spark, request) as (read, candidates):
            ratings = read.ratings
            chosen = [fit_adversary(ratings, adversary) for adversary in request.adversaries]
            users = choose_targets(ratings.n_users, targets, seed)
            begin(THE_REST)
            with parts("Auditing", costs_of(request, ratings, len(chosen), users.size)) as begin:
                attacked = attack_table(request, ratings, candidates, chosen, users, begin)
            return Audit(
                ratings=ratings,
                reading=read,
                suspects=[],
                published=None,
                options=request.repeated_by(),
                **attacked._asdict(),
            )


@contextmanager
def _table(spark: "SparkSession", request: AuditRequest) -> Iterator[tuple[Reading, Candidates]]:
    """Yield a table and its candidates, here if they fit, else among executors."""
    source, reading = request.source, request.reading
    frame = _frame(spark, source)
    if frame is None or (size := _BYTES_OF_A_RATING * frame.count()) <= _room(spark):
        with _here(spark, source if frame is None else frame.toArrow(), reading) as (read, near):
            yield (read if frame is None else replace(read, name=_name_of(source))), near
        return
    if request.curves or request.targets is None:
        raise RecveilError(
            f"curves, and targets (--targets) all: of {size:,} bytes of ratings, which do not fit "
            f"here, they need all; give --no-curves and a number of targets, or raise "
            f"spark.driver.maxResultSize",
            code="table.too-large",
        )
    with remote_table(frame, _name_of(source), reading) as (read, candidates):
        yield read, candidates


@contextmanager
def _here(
    spark: "SparkSession", source: Any, reading: ReadingOptions
) -> Iterator[tuple[Reading, Candidates]]:
    """Read a table here, and send executors copies of its candidates."""
    read = understand(source, **reading).settled()
    if not read.ratings.scale.ordered:
        raise RecveilError(
            "words (--words), of words without an order: not by Spark; leave engine (--engine) out",
            code="table.kind",
        )
    searchers = Searchers(spark)
    try:
        yield read, DistributedCandidates.of(Candidates.from_ratings(read.ratings), searchers)
    finally:
        searchers.close()


def _frame(spark: "SparkSession", source: "DataFrame | str | PathLike[str]") -> "DataFrame | None":
    """Return the frame that Spark reads; None for a file that is read here."""
    if not isinstance(source, str | PathLike):
        return source
    return read_frame(spark, str(source)) if is_for_spark(str(source)) else None


def _name_of(source: "DataFrame | str | PathLike[str]") -> str:
    return str(source) if isinstance(source, str | PathLike) else "the data frame"


def _room(spark: "SparkSession") -> float:
    """Return the limit of Spark's results on this machine, in bytes."""
    context = spark.sparkContext
    limit = context.getConf().get("spark.driver.maxResultSize", "1g")
    utils = context._jvm.org.apache.spark.network.util.JavaUtils
    return float(utils.byteStringAsBytes(limit)) or float("inf")
