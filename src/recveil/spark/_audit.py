"""Table audit: how easily the people in a table are found again, by executors who look for them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from recveil.attacks import PRESETS, Adversary, Candidates, choose_targets
from recveil.auditing import Audit, work_estimates
from recveil.auditing._audit import attack_table, fit_adversary
from recveil.io import Reading, understand
from recveil.io.ingestion import reject_unknown_keywords
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import THE_REST, parts
from recveil.spark.input import is_for_spark, read_frame
from recveil.spark.search import Searchers, SpreadCandidates, far_table
from recveil.spark.session import session_of, spark_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What a rating takes on its way here, about.
_BYTES_OF_A_RATING = 32
# What an audit by one machine takes, too.
_NOT_OFFERED = ("release", "against", "aux", "catalogue", "shadows")


def audit(
    source: "DataFrame | str | PathLike[str]",
    *,
    adversaries: Iterable[Adversary] | None = None,
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
        One rating a row. What is no DataFrame of Spark's is read by Spark, if it is a folder of
        parts or an address; any other file is read here, as `recveil.auditing.audit` reads it.
    adversaries, targets, draws, seed, curves
        As for `recveil.auditing.audit`, whose figures these are, to the last digit.
    master : str, optional
        Where Spark runs, such as ``local[4]`` or ``spark://host:7077``. Not with a DataFrame, whose
        session is taken.
    **reading
        Passed to `understand`.

    Returns
    -------
    Audit

    Raises
    ------
    RecveilError
        If something makes no sense, is not offered, cannot be read, or Spark cannot be begun.

    Examples
    --------
    >>> audit("ratings.csv", release="out", master="local[1]")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: release (--release): not by Spark; leave it out, or leave ...
    """
    reject_not_offered(reading)
    for name, number in (("targets", targets), ("draws", draws)):
        if number is not None and number < 1:
            raise RecveilError(f"{name} is {number}; expected at least 1", code="option.value")
    reject_unknown_keywords("audit", reading, "k", "people_in")
    with (
        parts("Auditing", {work_estimates.READING: 1, THE_REST: 8}) as begin,
        _session(source, master) as spark,
    ):
        begin(work_estimates.READING)
        with _table(spark, source, reading, is_whole=curves or targets is None) as (
            read,
            candidates,
        ):
            ratings = read.ratings
            chosen = [
                fit_adversary(ratings, adversary) for adversary in adversaries or PRESETS.values()
            ]
            users = choose_targets(ratings.n_users, targets, seed)
            begin(THE_REST)
            costs = work_estimates.of_audit(ratings, len(chosen), draws, curves=curves)
            with parts("Auditing", costs) as begin_part:
                attacked = attack_table(
                    *(ratings, candidates, chosen, users, begin_part),
                    draws=draws,
                    seed=seed,
                    curves=curves,
                )
            return Audit(
                ratings=ratings, reading=read, suspects=[], published=None, **attacked._asdict()
            )


def reject_not_offered(given: dict[str, Any]) -> None:
    """Refuse by name what an audit by one machine takes, and one by Spark does not."""
    for name in _NOT_OFFERED:
        if given.pop(name, None) is not None:
            raise RecveilError(
                f"{name} (--{name}): not by Spark; leave it out, or leave engine (--engine) out",
                code="option.unsupported",
            )


@contextmanager
def _session(
    source: "DataFrame | str | PathLike[str]", master: str | None
) -> Iterator["SparkSession"]:
    """Give the session of a DataFrame, the one that there is, or a new one."""
    if isinstance(source, str | PathLike):
        with spark_session(master) as spark:
            yield spark
        return
    if not hasattr(source, "mapInArrow"):
        raise RecveilError(
            f"source: expected a DataFrame of Spark's or a path, got {type(source).__name__}; "
            f"give that to recveil.auditing",
            code="argument.type",
        )
    if master is not None:
        raise RecveilError(
            "master: a DataFrame has a session already; leave it out", code="option.conflict"
        )
    with session_of(source.sparkSession):
        yield source.sparkSession


@contextmanager
def _table(
    spark: "SparkSession",
    source: "DataFrame | str | PathLike[str]",
    reading: dict[str, Any],
    *,
    is_whole: bool,
) -> Iterator[tuple[Reading, Candidates]]:
    """Give a table and its lists by item, wherever there is room for them."""
    frame = _frame(spark, source)
    if frame is None or (size := _BYTES_OF_A_RATING * frame.count()) <= _room(spark):
        with _here(spark, source if frame is None else frame.toArrow(), reading) as (read, near):
            yield (read if frame is None else replace(read, name=_name_of(source))), near
        return
    if is_whole:
        raise RecveilError(
            f"curves, and targets (--targets) all: of {size:,} bytes of ratings, which do not fit "
            f"here, they would need all; give --no-curves and a number of targets, or raise "
            f"spark.driver.maxResultSize",
            code="table.too-large",
        )
    with far_table(frame, _name_of(source), reading) as (read, candidates):
        yield read, candidates


@contextmanager
def _here(
    spark: "SparkSession", source: Any, reading: dict[str, Any]
) -> Iterator[tuple[Reading, Candidates]]:
    """Read a table here, and let executors hold its lists by item, each a copy."""
    read = understand(source, **reading).settled()
    if not read.ratings.scale.ordered:
        raise RecveilError(
            "words (--words), of words without an order: not by Spark; leave engine (--engine) out",
            code="table.kind",
        )
    searchers = Searchers(spark)
    try:
        yield read, SpreadCandidates.of(Candidates.from_ratings(read.ratings), searchers)
    finally:
        searchers.close()


def _frame(spark: "SparkSession", source: "DataFrame | str | PathLike[str]") -> "DataFrame | None":
    """Return what Spark reads; None of a file that is read here."""
    if not isinstance(source, str | PathLike):
        return source
    return read_frame(spark, str(source)) if is_for_spark(str(source)) else None


def _name_of(source: "DataFrame | str | PathLike[str]") -> str:
    return str(source) if isinstance(source, str | PathLike) else "the data frame"


def _room(spark: "SparkSession") -> float:
    """Return how many bytes Spark lets this machine have at once."""
    context = spark.sparkContext
    said = context.getConf().get("spark.driver.maxResultSize", "1g")
    utils = context._jvm.org.apache.spark.network.util.JavaUtils
    return float(utils.byteStringAsBytes(said)) or float("inf")
