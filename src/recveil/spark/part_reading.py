"""Part reading: a table of many files, each of which is read whole, or none.

By its own settings Spark passes over what it does not expect: parts in folders below, parts whose
names begin with a line or a point, columns that one part has and another has not.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from recveil.errors import RecveilError, quoted, shortened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What Spark itself finds: folders of files, and what lies with a service.
_SCHEMES = ("s3a://", "hdfs://", "gs://", "abfss://", "file://", "dbfs:/")
# Text is read as it stands, or not at all. By Spark's own settings the columns of all parts are
# those of the first one, whatever they are called; what is too much in a line is dropped; and
# doubled quotes mean nothing.
_AS_WRITTEN = {
    "header": "true",
    "enforceSchema": "false",
    "columnPruning": "false",
    "mode": "FAILFAST",
    "escape": '"',
}
_ENDINGS = ("parquet", "csv")
_SIGNS_OF_PATTERNS = re.compile(r"[\[\]{}*?\\]")
# Tables that keep old parts, too, and a log of which of them count.
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}


def is_for_spark(source: str) -> bool:
    """Say whether Spark reads an input itself: Parquet, folders of files, and far addresses.

    Examples
    --------
    >>> is_for_spark("s3a://shop/ratings"), is_for_spark("ratings.csv")
    (True, False)
    """
    if source.startswith(_SCHEMES):
        return True
    path = Path(source)
    return path.suffix == ".parquet" or (path.is_dir() and _format_of(path) != "")


def _format_of(folder: Path) -> str:
    """Return the format of a folder of parts, as Spark writes them; "" if it is none."""
    for ending in _ENDINGS:
        if any(folder.glob(f"*.{ending}")) or any(folder.glob(f"*=*/**/*.{ending}")):
            return ending
    return ""


def read_frame(spark: "SparkSession", source: str) -> "DataFrame":
    """Return the table at a path or address: Parquet, or text with commas and a header.

    Raises
    ------
    RecveilError
        If Spark would leave out a file there, or take one that no longer counts.
    """
    is_near = not source.startswith(_SCHEMES)
    path = Path(source)
    is_text = _format_of(path) == "csv" if is_near and path.is_dir() else source.endswith(".csv")
    place = f"file://{path.absolute()}" if is_near else source
    _refuse_logs(spark, place)
    where = address_of(path) if is_near else source
    if is_text:
        frame = spark.read.options(**_AS_WRITTEN).csv(where)
    else:  # with the columns of all parts: those that one of them lacks are gaps there
        frame = spark.read.option("mergeSchema", "true").parquet(where)
    read = set(frame.inputFiles())
    below = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(where)
    if left := sorted({*below.inputFiles()} - read):
        raise _left_out(left[0], "lies in a folder below other parts")
    if is_near and path.is_dir() and (hidden := _hidden_in(path)):
        raise _left_out(hidden, "lies under a name that begins with _ or a point")
    return frame


def address_of(path: Path) -> str:
    r"""Return how Spark is told of a file or folder near by.

    To Spark a name can be a pattern. And what other addresses write with per cents, as blanks, it
    takes as it stands.

    Examples
    --------
    >>> address_of(Path("/shop/my ratings[1]"))
    'file:///shop/my ratings\\[1\\]'
    """
    return "file://" + _SIGNS_OF_PATTERNS.sub(r"\\\g<0>", str(path.absolute()))


def _refuse_logs(spark: "SparkSession", where: str) -> None:
    """Refuse tables of which a log says which parts count: dropped ones may hold who has left."""
    java = spark._jvm.org.apache.hadoop.fs
    folder = java.Path(where)
    files = folder.getFileSystem(spark._jsc.hadoopConfiguration())
    for log, kind in _LOGS.items():
        if files.exists(java.Path(folder, log)):
            raise RecveilError(
                f"{_name_of(where)}: this is a {kind} table ({log}), in which parts that were "
                f"dropped still lie; read it in a session of your own as {kind}, and give the "
                f"DataFrame to recveil.spark",
                code="input.unknown-format",
            )


def _hidden_in(folder: Path) -> str:
    """Return the name of a part that Spark takes for its own notes; "" if there is none.

    Of names that begin with a line, those with an equals sign tell a column.
    """
    parts = (part for ending in _ENDINGS for part in folder.rglob(f"*.{ending}"))
    for part in sorted(parts):
        names = part.relative_to(folder).parts
        if any(name[0] == "." or (name[0] == "_" and "=" not in name) for name in names):
            return "/".join(names)
    return ""


def _left_out(name: str, why: str) -> RecveilError:
    return RecveilError(
        f"{quoted(_name_of(name))} {why}, where Spark does not look, so that its ratings would be "
        f"left out; move it beside the others, or out of the table's folder",
        code="input.parts",
    )


def _name_of(where: str) -> str:
    """Return the last name of an address.

    Examples
    --------
    >>> _name_of("file:///shop/my%20ratings/")
    'my ratings'
    """
    return shortened(unquote(where).rstrip("/").rsplit("/", 1)[-1])
