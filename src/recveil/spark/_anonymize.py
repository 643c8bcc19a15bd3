"""Releasing: from a table that lies anywhere to a release in many parts, verified, by Spark."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from recveil.io import understand
from recveil.io.ingestion import has_value, reject_unknown_keywords
from recveil.methods._anonymize import (
    check_layout,
    check_options,
    choose_method,
    reject_within,
)
from recveil.methods.earlier_releases import Earlier, find_earlier, others, warnings_of
from recveil.methods.request import AnonymizeOptions, AnonymizeRequest
from recveil.methods.synthetic.options import check_many_drawn
from recveil.publish.folder import write_release
from recveil.publish.size_estimate import Expected
from recveil.publish.staging import check_target
from recveil.ratings import RatingScale
from recveil.ratings.ids import reject_people
from recveil.release.method import Method
from recveil.release.registry import all_methods
from recveil.release.sides import Sides
from recveil.release.specs.k_corating import K_CORATING
from recveil.release.specs.predictive import PREDICTIVE
from recveil.release.specs.sparse import SPARSE
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.spark.group_making import CoRatedMaking, GroupMaking
from recveil.spark.input import Lake, address_of, is_for_spark, lake_of, read_frame
from recveil.spark.maker import Making
from recveil.spark.session import session_of, spark_errors_translated, spark_session
from recveil.spark.sparse import SparseMaking
from recveil.spark.synthetic import DrawnMaking
from recveil.spark.users import DistributedUsers
from recveil.verification import Verification

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What reading a file here takes, and Spark does not.
_OF_FILES = ("user", "item", "rating", "likes", "scale")


@brief
class Released(NamedTuple):
    """What became of a table: its size, what was published, and what the checker says.

    Attributes
    ----------
    n_people, n_items, n_ratings : int
        Of the table.
    scale : RatingScale
    release : Sides
        What was published; the private side names nobody, as all names stand in its parts alone.
    verification : Verification
    told : list of str
        What the owner is told.
    earlier : tuple of Earlier
        Earlier releases of the same people.
    notes : tuple of str
        What is to be said of how the table was read.
    """

    n_people: int
    n_items: int
    n_ratings: int
    scale: RatingScale
    release: Sides
    verification: Verification
    told: list[str]
    earlier: tuple[Earlier, ...]
    notes: tuple[str, ...] = ()

    def warnings(self, output: Path) -> list[str]:
        """Say what the release that was written to `output` tells together with each of these."""
        return warnings_of(self.earlier, output, self.release.published.claim)

    def _facts(self) -> dict[str, object]:
        return self.verification._facts()


def anonymize(
    source: "DataFrame | str | PathLike[str]",
    output: str | PathLike[str],
    *,
    on_estimate: Callable[[Expected], object] | None = None,
    master: str | None = None,
    **options: Unpack[AnonymizeOptions],
) -> Released:
    """Make a verified release of a table in Spark, without a copy of it on any one machine.

    Parameters
    ----------
    source : DataFrame, path or address
        One rating a row. What is no DataFrame of Spark's is read by Spark, if it is Parquet, a
        folder of parts, or an address such as ``s3a://…``; any other file is read here, as
        `recveil.methods.anonymize` reads it, and given to Spark.
    output : path
        The folder to be published, which all machines see at the same path; its private twin is
        `output` + ".private".
    on_estimate : callable, optional
        See `recveil.anonymize`.
    master : str, optional
        Where Spark runs, such as ``local[4]`` or ``spark://host:7077``. Not with a DataFrame, whose
        session is taken.
    **options
        Keywords of `recveil.anonymize`; unsupported ones are rejected. For tables that Spark
        reads, of the options of reading only user, item, rating, likes and scale.

    Returns
    -------
    Released

    Raises
    ------
    RecveilError
        If something makes no sense, is not offered, or fails. Nothing is written then.

    Examples
    --------
    >>> anonymize("ratings.parquet", "out", k=5, method="words", master="local[1]")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: method 'words': not by Spark yet, which makes releases by ...
    """
    request = AnonymizeRequest.of(source, output, **options)
    chosen = _method(choose_method(request.method, request.k, request.options))
    if request.hide_items or request.file_format != "parquet":
        what = f"file format {request.file_format!r}"
        what = "hide_items (--hide-items)" if request.hide_items else what
        raise RecveilError(
            f"{what}: not by Spark yet; leave it out, or leave engine (--engine) out",
            code="option.unsupported",
        )
    given = check_options(chosen, request.options)
    check_layout(chosen, request.layout)
    check_many_drawn(given, request.layout, allow_large=request.allow_large)
    making = _MAKINGS[chosen.name](request.k, given, request.seed)
    reject_unknown_keywords("anonymize", request.reading, "k", "people_in", "times")
    check_target(output, force=request.force)
    reject_within(source, output)
    target = Path(output).absolute()
    with _table(source, master, {**request.reading}) as lake:
        if chosen.name != SYNTHETIC.name:  # which looks at public ids alone
            reject_people(lake.items, can_hide=False)
        people, make = making.gather(lake)
        try:
            earlier = tuple(find_earlier(_count_by_spark(people), target, request.earlier_release))
            made = make()
            published = made.release.published
            if on_estimate is not None and published.expect is not None:
                expected = published.expect(request.layout, request.file_format)
                if expected is not None:
                    on_estimate(expected)
            verification = write_release(
                made.release,
                target,
                request.layout,
                request.file_format,
                force=request.force,
                allow_large=request.allow_large,
                by=made.by,
            )
        finally:
            people.let_go()
        return Released(
            n_people=people.n_people,
            n_items=lake.items.size,
            n_ratings=lake.n_ratings,
            scale=lake.scale,
            release=made.release,
            verification=verification,
            told=made.told(),
            earlier=tuple(others(list(earlier), target)),
            notes=lake.notes,
        )


# How each method is begun: with k, the options that were given, and the seed.
_MAKINGS: dict[str, Callable[[int | None, dict[str, Any], int | None], Making]] = {
    SYNTHETIC.name: DrawnMaking,
    PREDICTIVE.name: GroupMaking,
    K_CORATING.name: CoRatedMaking,
    SPARSE.name: SparseMaking,
}


def _method(name: str) -> Method:
    """Return a method that Spark makes releases by, or refuse another one by its name."""
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
    source: "DataFrame | str | PathLike[str]", master: str | None, reading: dict[str, Any]
) -> Iterator[Lake]:
    """Give the table as it lies, within a session that lasts as long as it is needed."""
    if not isinstance(source, str | PathLike):
        if not hasattr(source, "mapInArrow"):
            raise RecveilError(
                f"source: expected a DataFrame of Spark's or a path, got {type(source).__name__}; "
                f"give that to recveil.methods",
                code="argument.type",
            )
        if master is not None:
            raise RecveilError(
                "master: a DataFrame has a session already; leave it out", code="option.conflict"
            )
        with session_of(source.sparkSession):
            yield lake_of(source, **_for_spark(reading))
    elif is_for_spark(str(source)):
        given = _for_spark(reading)  # what is refused need not wait for Java
        with spark_session(master) as spark:
            yield lake_of(read_frame(spark, str(source)), **given)
    else:
        read = understand(source, times=False, **reading)
        ratings = read.ratings
        if ratings.scale.words:
            raise RecveilError(
                "words (--words) and order (--order): not by Spark yet; leave engine (--engine) "
                "out",
                code="table.kind",
            )
        with spark_session(master) as spark:
            frame = spark.createDataFrame(ratings.to_arrow().drop_columns(_times(ratings)))
            lake = lake_of(
                frame, scale=None if ratings.is_unary else ratings.scale, likes=ratings.is_unary
            )
            # The scale says, too, whether it was named.
            told = (f"{read.name}: {read.mapping(examples=False)}.",) if read.columns else ()
            yield lake._replace(scale=ratings.scale, notes=(*told, *read.notes))


def _times(ratings: Any) -> list[str]:
    return [] if ratings.days is None else ["timestamp"]


def _for_spark(reading: dict[str, Any]) -> dict[str, Any]:
    """Return what is said of a table's columns, and refuse what only files read here take."""
    given = {name: value for name, value in reading.items() if has_value(value)}
    if given.get("duplicates") == "error":
        del given["duplicates"]
    if strange := [name for name in given if name not in _OF_FILES]:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in strange)
        raise RecveilError(
            f"{flags}: not for a table that Spark reads itself; leave that out, or give a file "
            f"that is read here",
            code="option.unsupported",
        )
    return given


def _count_by_spark(people: DistributedUsers) -> Callable[[Path, list[str]], int]:
    """Return what counts how many of these people are in a private twin."""

    def count(twin: Path, files: list[str]) -> int:
        spark = people.frame.sparkSession
        try:
            with spark_errors_translated():
                there = spark.read.parquet(*[address_of(twin / name) for name in files])
                known = there.selectExpr("cast(user_id as string) as user").distinct()
                return people.frame.select("user").join(known, "user").count()
        except RecveilError as error:
            raise OSError("Spark cannot read who is who") from error

    return count
