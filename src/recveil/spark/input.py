"""Tables of many files, of which each is read completely, or none.

By default Spark skips parts in nested folders, parts whose names start with an underscore or a dot,
and columns that only some parts have.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.columns import (
    LARGE,
    LIKED,
    NOISE,
    NOT_SAID,
    describe_lost_digits,
    describe_merged,
    describe_rounded_floats,
    find_columns,
    find_merged_whole,
    require_different,
)
from recveil.io.columns.ids import NOT_IN_IDS, encode_ids
from recveil.io.columns.original_rows import require_no_original_rows
from recveil.io.columns.rows_within_ids import require_no_rows_within
from recveil.io.columns.times import is_plausible
from recveil.ratings import RatingScale
from recveil.ratings.rating_scale import LIKES, ScaleLike, scale_of
from recveil.ratings.sorted_rows import Rows, find_order
from recveil.runtime.errors import RecveilError, describe_count, listed, quoted, shortened
from recveil.runtime.safe_repr import brief

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


# Numbers of this size, of which two may be one in a double, are compared as decimals.
_DECIMAL, _WRITTEN = "decimal(38,6)", "written"
_FLOATS: dict[str, type[np.floating[Any]]] = {"float": np.float32, "double": np.float64}
# The largest number of distinct ratings; of more, only the ends are read.
_MOST_VALUES = 1_000
# Integers from here to now are seconds since 1970.
_FIRST_SECOND = 100_000_000
_NO_TEXT, _LINE_BREAK, _PART, _EXACT = "no text", "line break", "part", "exact"
# Numbers in text, as one machine reads them; Java also reads 5d and 0x1p2.
_A_NUMBER = r"\A[\s\pZ]*([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)[\s\pZ]*\z"
_TEXT = ("string", "varchar", "char")
_WHOLE = ("byte", "short", "integer", "long")
# All users never come to the driver; so many show what their ids look like.
_USERS_LOOKED_AT = 2_000
# So many ratings come to the driver, to be compared with item ids; of more, those of some users.
_MOST_COMPARED, _HASHES = 1_000_000, 1 << 20
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@brief
class Lake(NamedTuple):
    """A table of ratings in Spark, which is not copied."""

    # The columns `user` (text), `item` (text or whole numbers) and `rating` (float)
    rows: Any
    scale: RatingScale
    n_ratings: int
    # The distinct ratings; the lowest and the highest, if there are very many
    values: NDArray[np.float64]
    # The ids of all items, ascending, as in `Ratings`
    items: NDArray[Any]
    # The same as in the column
    raw: pa.ChunkedArray
    # The position of each raw one among `items`
    codes: NDArray[np.int32]
    # Remarks on how the table was read
    notes: tuple[str, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {"ratings": self.n_ratings, "items": self.items.size, "scale": str(self.scale)}


def lake_of(
    frame: "DataFrame",
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    scale: ScaleLike | None = None,
    likes: bool = False,
    time: str | None = None,
    times: bool = False,
) -> Lake:
    """Inspect a table: its columns, its items, and its scale."""
    from pyspark.sql import functions as sql

    scale = scale_of(scale)
    columns_named = {"user": user, "item": item, "rating": rating, "time": time}
    feedback = LIKED if likes else NOT_SAID
    found = find_columns(frame.columns, "the table", feedback=feedback, **columns_named)
    _reject_other_spellings(frame, (str(found.user), str(found.item)))
    read = {role: name for role, name in found.by_role().items() if times or role != "time"}
    unread = [name for name in frame.columns if name not in read.values()]
    frame = _rename_columns(frame)
    is_likes = likes or found.rating is None
    written = sql.lit(1.0) if is_likes else _number(frame, str(found.rating))
    rating_column = written.try_cast("double")
    columns = [
        _id(frame, found.user, "user").cast("string").alias("user"),
        _id(frame, found.item, "item").alias("item"),
        rating_column.cast("float").alias("rating"),
        *([_time(frame, found.time).alias("time")] if times and found.time else []),
    ]
    rows = frame.select(*columns)
    with_parts = frame.select(*columns, sql.input_file_name().alias(_PART))
    if is_likes:
        if scale is not None:
            raise RecveilError(
                "scale (--scale): likes have none; leave it out, or name the rating",
                code="option.conflict",
            )
        # With times, duplicate likes are rejected when users are gathered.
        rows = rows if "time" in rows.columns else rows.distinct()
    both = rating_column.alias(_EXACT), written.alias(_WRITTEN)
    exact = rows if is_likes else frame.select(*columns, *both)
    n_ratings, lost_digits = _reject_gaps(exact, with_parts)
    values = _values(rows, None if is_likes else scale)
    scale = LIKES if is_likes else _scale(values, scale)
    raw = rows.select("item").distinct().toArrow()["item"]
    items, codes = encode_ids(raw, "item", lambda at: f"item {int(at) + 1}")
    if np.unique(codes).size < codes.size:
        raise RecveilError(
            "the items: one id is written in two ways, such as 7 and 7.0; write each in one way",
            code="id.duplicate",
        )
    if items.dtype == object:
        both = _sample_of_users(rows), items
        require_no_rows_within(items, codes, "item", both, _locate_in_items, is_unrated=is_likes)
        if any(not str(item).isalnum() for item in items):
            some = _sample_of_rows(rows, n_ratings)
            _require_no_original_rows(some.toArrow(), items, (raw, codes), scale)
    named = ", ".join(f"{role}: {name!r:.60}" for role, name in read.items())
    named += f"; not read: {listed(unread)}" if unread else ""
    notes = f"Columns: {named}.", *lost_digits
    return Lake(rows, scale, n_ratings, values, items, raw, codes, notes)


def _sample_of_users(rows: "DataFrame") -> list[str]:
    """Return some user ids, chosen by their hashes, which show what the others look like."""
    from pyspark.sql import functions as sql

    distinct = rows.select("user").distinct()
    chosen = distinct.orderBy(sql.xxhash64("user"), "user").limit(_USERS_LOOKED_AT)
    users: list[str] = chosen.toArrow()["user"].to_pylist()
    return users


def _sample_of_rows(rows: "DataFrame", n_ratings: int) -> "DataFrame":
    """Return all rows of users whose hashes choose them, so that these are a table of its own."""
    from pyspark.sql import functions as sql

    rows = rows.select("user", "item", "rating")
    share = int(min(1.0, _MOST_COMPARED / n_ratings) * _HASHES)
    is_chosen = sql.pmod(sql.xxhash64("user"), sql.lit(_HASHES)) < share
    return rows if share == _HASHES else rows.filter(is_chosen).limit(2 * _MOST_COMPARED)


def _require_no_original_rows(
    table: pa.Table,
    items: NDArray[Any],
    codes: tuple[pa.ChunkedArray, NDArray[np.int32]],
    scale: RatingScale,
) -> None:
    """Raise for an item id that contains rows of these users."""
    if not table.num_rows:
        return
    users, user_of = encode_ids(table["user"], "user", _locate_in_items)
    at = pc.index_in(table["item"], codes[0].combine_chunks()).to_numpy()
    item_of = codes[1][at]
    order = find_order(user_of, item_of, users.size)
    values = table["rating"].to_numpy().astype(np.float32)
    rows = Rows(order.indptr, order.apply(item_of), order.apply(values), None)
    require_no_original_rows((users, items), rows, scale, (_locate_in_items, _locate_in_items))


def _locate_in_items(_: int) -> str:
    return "the items"


def _reject_other_spellings(frame: "DataFrame", names: tuple[str, ...]) -> None:
    """Raise for ids in folder names that Spark reads as other numbers, as 007 and 7."""
    whole = {
        field.name
        for field in frame.schema
        if field.name in names and field.dataType.typeName() in _WHOLE
    }
    for path in frame.inputFiles() if whole else ():
        for part in path.split("/")[:-1]:
            name, _, value = unquote(part).partition("=")
            if name in whole and value != _HIVE_NULL and value != str(int(value)):
                raise RecveilError(
                    f"the folders of column {quoted(name)}: Spark reads {quoted(value)} as "
                    f"{int(value)}, so that two ids would become one; write that column into the "
                    f"files, as text",
                    code="id.type",
                )


def _rename_columns(frame: "DataFrame") -> "DataFrame":
    """Rename columns to names without special meaning in Spark."""
    return frame.toDF(*map(_encode_name, frame.columns))


def _encode_name(name: str) -> str:
    """Return the name that `_rename_columns` gives a column.

    >>> _encode_name("user.ID")
    'c757365722e4944'
    """
    return f"c{name.encode().hex()}"


def _id(frame: "DataFrame", name: str, role: str) -> "Column":
    """Return a column of ids, which must be whole numbers or text."""
    column = frame[_encode_name(name)]
    kind = frame.schema[_encode_name(name)].dataType.typeName()
    if kind in _WHOLE:
        return column.cast("long")
    if kind in _TEXT:
        return column.cast("string")  # compared byte by byte, with any collation
    raise RecveilError(
        f"the {role} column {quoted(name)} holds {kind}; expected text or whole numbers; cast it",
        code="column.type",
    )


def _number(frame: "DataFrame", name: str) -> "Column":
    """Return a column of numbers as they are, or of their text."""
    from pyspark.sql import functions as sql

    kind = frame.schema[_encode_name(name)].dataType.typeName()
    if kind in ("boolean", "date", "timestamp", "array", "map", "struct", "binary"):
        raise RecveilError(
            f"the rating column {quoted(name)} holds {kind}; expected numbers", code="column.type"
        )
    column = frame[_encode_name(name)]
    if kind in _TEXT:
        text = column.cast("string")
        column = sql.when(text.rlike(_A_NUMBER), sql.regexp_extract(text, _A_NUMBER, 1))
    return column


def _time(frame: "DataFrame", name: str) -> "Column":
    """Return a column of dates or instants, or of unambiguous Unix times in seconds."""
    from pyspark.sql import functions as sql

    encoded = _encode_name(name)
    kind, column = frame.schema[encoded].dataType.typeName(), frame[encoded]
    if kind in ("integer", "long"):
        ends = frame.agg(sql.min(encoded), sql.max(encoded)).first()
        if (
            ends is not None
            and ends[0] is not None
            and ends[0] > _FIRST_SECOND
            and is_plausible(ends[1])
        ):
            return column.cast("long")
    elif kind in ("date", "timestamp", "timestamp_ntz"):
        return column
    raise RecveilError(
        f"the time column {quoted(name)} holds {kind}; expected dates, timestamps, or Unix times "
        f"in seconds, the latest between 1996 and now; cast it, or drop the column if it is "
        f"something else",
        code="column.type",
    )


def _reject_gaps(rows: "DataFrame", with_parts: "DataFrame") -> tuple[int, list[str]]:
    """Raise for rows without a user, an item, or a number; count rows, and report lost digits."""
    from pyspark.sql import functions as sql

    finite = (
        sql.col("rating").isNotNull() & ~sql.isnan("rating") & (sql.abs("rating") < float("inf"))
    )
    gaps = {
        "user": sql.col("user").isNull() | (sql.col("user") == ""),
        "item": sql.col("item").isNull() | (sql.col("item").cast("string") == ""),
        "rating": ~finite,
        **({"time": sql.col("time").isNull()} if "time" in rows.columns else {}),
    }
    has_break = [sql.col(role).cast("string").rlike(NOT_IN_IDS) for role in ("user", "item")]
    counts = {**gaps, _NO_TEXT: _is_no_text("user") | _is_no_text("item")}
    counts[_LINE_BREAK] = has_break[0] | has_break[1]
    aggregates = [sql.sum(which.cast("long")).alias(name) for name, which in counts.items()]
    if _EXACT in rows.columns:
        aggregates += [
            sql.min(_EXACT).alias("low"),
            sql.max(_EXACT).alias("high"),
            sql.min(sql.when(_loses_digits(), sql.col(_EXACT))).alias("changed"),
        ]
    row = rows.agg(sql.count(sql.lit(1)).alias("n"), *aggregates).first()
    if row is None or not row["n"]:
        raise RecveilError(
            "the table has no rows; give one that holds ratings", code="table.no-ratings"
        )
    for name, which in gaps.items():
        if row[name]:
            what = "a number" if name == "rating" else f"a {name}"
            raise RecveilError(
                f"the {name} column: {row[name]:,} of "
                f"{describe_count(row['n'], 'row')} are without {what}"
                f"{_of_which_part(with_parts, which)}",
                code="rating.missing"
                if name == "rating"
                else "time.missing"
                if name == "time"
                else "id.missing",
            )
    if row[_NO_TEXT]:
        raise RecveilError(
            f"{row[_NO_TEXT]:,} of "
            f"{describe_count(row['n'], 'row')} hold an id that is not UTF-8 text, or was "
            f"not before it was read, so that two ids may have become one; save the table as UTF-8",
            code="input.encoding",
        )
    if row[_LINE_BREAK]:
        raise RecveilError(
            f"{row[_LINE_BREAK]:,} of {row['n']:,} rows hold an id with a line break or a "
            f"NUL{_of_which_part(with_parts, counts[_LINE_BREAK])}",
            code="id.line-break",
        )
    return int(row["n"]), _describe_digits(rows, *row[-3:]) if _EXACT in rows.columns else []


def _describe_digits(
    rows: "DataFrame", low: float, high: float, changed: float | None
) -> list[str]:
    """Describe which ratings, from low to high, lose digits or may have before."""
    notes = []
    if merged := _find_merged(rows, low, high):
        notes.append(describe_merged(*merged))
    elif changed is not None:
        require_different(low, high)
        notes.append(describe_lost_digits(changed))
    kind = _FLOATS.get(rows.schema[_WRITTEN].dataType.typeName())
    rounded = "" if kind is None else describe_rounded_floats(low, high, kind)
    return [*notes, *filter(None, [rounded])]


def _find_merged(rows: "DataFrame", low: float, high: float) -> tuple[str, str] | None:
    """Return two whole numbers that become equal; raise a RecveilError if all ratings do."""
    from pyspark.sql import functions as sql

    if max(abs(low), abs(high)) < LARGE:
        return None
    numbers = rows.select("rating", sql.col(_WRITTEN).try_cast(_DECIMAL).alias(_EXACT))
    is_whole = sql.col(_EXACT).isNotNull() & (sql.col(_EXACT) % 1 == 0)
    whole = numbers.where(is_whole)
    if rows.schema[_WRITTEN].dataType.typeName() in _FLOATS:
        if not numbers.where(~is_whole).isEmpty():  # they may differ by rounding alone
            return None
        whole = whole.where(sql.abs(_EXACT) < 2**53)
    ends = whole.groupBy("rating").agg(sql.min(_EXACT).alias("low"), sql.max(_EXACT).alias("high"))
    first = ends.where("low < high").orderBy("rating").first()
    if first is None:
        return None
    return find_merged_whole(pa.chunked_array([[str(first["low"]), str(first["high"])]]), low, high)


def _loses_digits() -> "Column":
    """Return which ratings change in single precision."""
    from pyspark.sql import functions as sql

    exact, kept = sql.col(_EXACT), sql.col(_EXACT).cast("float")
    differs = sql.abs(exact - kept.cast("string").cast("double")) > NOISE * sql.abs(exact)
    return differs & (exact != kept.cast("double"))


def _of_which_part(with_parts: "DataFrame", which: "Column") -> str:
    """Name a part of the table with such a row, and the remedy."""
    first = with_parts.filter(which).select(_PART).first()
    part = unquote(first[0]).rsplit("/", 1)[-1] if first is not None and first[0] else ""
    if not part:
        return "; leave these rows out"
    return (
        f", such as in {shortened(part)}; leave these rows out, or, if that part has other column "
        f"names than the others, write it again"
    )


def _is_no_text(name: str) -> "Column":
    """Return which ids are not text, or contain Spark's replacement character."""
    from pyspark.sql import functions as sql

    ids = sql.col(name).cast("string")
    return ids.contains("\N{REPLACEMENT CHARACTER}") | ~sql.is_valid_utf8(ids)


def _values(rows: "DataFrame", scale: RatingScale | None) -> NDArray[np.float64]:
    """Return the distinct ratings; if there are very many, the lowest and the highest."""
    # A scale with steps has few levels, so one of very many ratings is off it.
    from pyspark.sql import functions as sql

    ratings = rows.select("rating").distinct().limit(_MOST_VALUES + 1).toArrow()["rating"]
    some = np.sort(ratings.to_numpy().astype(np.float64))
    if scale is not None:
        _reject_off_scale(some, scale)
    if some.size <= _MOST_VALUES:
        return some
    ends = rows.agg(sql.min("rating").alias("low"), sql.max("rating").alias("high")).first()
    return np.array([ends["low"], ends["high"]], np.float64)


def _scale(values: NDArray[np.float64], scale: RatingScale | None) -> RatingScale:
    if scale is None:
        return RatingScale.infer(values)
    _reject_off_scale(values, scale)
    return scale


def _reject_off_scale(values: NDArray[np.float64], scale: RatingScale) -> None:
    if not (right := scale.contains(values)).all():
        raise RecveilError(
            f"rating {values[~right][0]:g} outside the scale {scale}; give another scale "
            f"(--scale), or leave such rows out",
            code="rating.off-scale",
        )


# Addresses that Spark reads.
_SCHEMES = ("s3a://", "hdfs://", "gs://", "abfss://", "file://", "dbfs:/")
# CSV options that reject malformed parts. By default Spark takes the columns of the first part for
# all parts, drops extra fields of a line, and ignores doubled quotes.
_AS_WRITTEN = {
    "header": "true",
    "enforceSchema": "false",
    "columnPruning": "false",
    "mode": "FAILFAST",
    "escape": '"',
}
_ENDINGS = ("parquet", "csv")
_SIGNS_OF_PATTERNS = re.compile(r"[\[\]{}*?\\]")
# Logs of tables that keep dropped parts.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}


def is_for_spark(source: str) -> bool:
    """Check whether Spark reads an input itself: Parquet, folders of parts, and addresses."""
    if source.startswith(_SCHEMES):
        return True
    path = Path(source)
    return path.suffix == ".parquet" or (path.is_dir() and _format_of(path) != "")


def _format_of(folder: Path) -> str:
    """Return the format of a folder of parts, as Spark writes them; empty if it is none."""
    for ending in _ENDINGS:
        if any(folder.glob(f"*.{ending}")) or any(folder.glob(f"*=*/**/*.{ending}")):
            return ending
    return ""


def read_frame(spark: "SparkSession", source: str) -> "DataFrame":
    """Return the table at a path or address: Parquet, or CSV with a header."""
    is_near = not source.startswith(_SCHEMES)
    path = Path(source)
    is_text = _format_of(path) == "csv" if is_near and path.is_dir() else source.endswith(".csv")
    place = f"file://{path.absolute()}" if is_near else source
    _reject_logs(spark, place)
    where = address_of(path) if is_near else source
    if is_text:
        frame = spark.read.options(**_AS_WRITTEN).csv(where)
    else:  # with the columns of all parts; missing ones are gaps
        frame = spark.read.option("mergeSchema", "true").parquet(where)
    read = set(frame.inputFiles())
    below = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(where)
    if skipped := sorted({*below.inputFiles()} - read):
        raise _skipped_error(skipped[0], "is in a folder below other parts")
    if is_near and path.is_dir() and (hidden := _hidden_in(path)):
        raise _skipped_error(hidden, "has a name that starts with _ or a dot")
    return frame


def address_of(path: Path) -> str:
    r"""Return the address of a local path for Spark.

    Spark reads names as patterns, but does not decode percent escapes of blanks.

    >>> address_of(Path("/shop/my ratings[1]"))
    'file:///shop/my ratings\\[1\\]'
    """
    return "file://" + _SIGNS_OF_PATTERNS.sub(r"\\\g<0>", str(path.absolute()))


def _reject_logs(spark: "SparkSession", where: str) -> None:
    """Raise for tables with a log of valid parts, as dropped parts may contain removed users."""
    java = spark._jvm.org.apache.hadoop.fs
    folder = java.Path(where)
    files = folder.getFileSystem(spark._jsc.hadoopConfiguration())
    for log, kind in _LOGS.items():
        if files.exists(java.Path(folder, log)):
            raise RecveilError(
                f"{_name_of(where)}: this is a {kind} table ({log}), in which dropped parts "
                f"remain; read it in a session of your own as {kind}, and give the "
                f"DataFrame to recveil.spark",
                code="input.unknown-format",
            )


def _hidden_in(folder: Path) -> str:
    """Return the name of a part that Spark ignores as hidden; empty if there is none."""
    # Names that start with an underscore and contain an equals sign are columns.
    parts = (part for ending in _ENDINGS for part in folder.rglob(f"*.{ending}"))
    for part in sorted(parts):
        names = part.relative_to(folder).parts
        if any(name[0] == "." or (name[0] == "_" and "=" not in name) for name in names):
            return "/".join(names)
    return ""


def _skipped_error(name: str, why: str) -> RecveilError:
    return RecveilError(
        f"{quoted(_name_of(name))} {why}, which Spark skips, so that its ratings would be "
        f"left out; move it to the other parts, or out of the table's folder",
        code="input.parts",
    )


def _name_of(where: str) -> str:
    """Return the last name of an address.

    >>> _name_of("file:///shop/my%20ratings/")
    'my ratings'
    """
    return shortened(unquote(where).rstrip("/").rsplit("/", 1)[-1])
