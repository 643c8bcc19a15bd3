"""Spark sessions, the Java process behind them, and the translation of Spark's errors."""

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from recveil.runtime.errors import RecveilError, quoted, shortened
from recveil.runtime.locks import LOCK, abandoned, hold_lock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# The environment variable of Spark's disks.
DISKS = "SPARK_LOCAL_DIRS"
_NAME = "recveil-spark-"


@contextmanager
def private_scratch() -> Iterator[str]:
    """Create a private folder on each of Spark's disks, and remove it and those of killed runs.

    Spark's own folders are readable for all users, contain rows of users, and stay if it is killed.
    Java must run already, as it reads Spark's settings files.
    """
    with ExitStack() as stack:
        folders = [stack.enter_context(_folder(disk)) for disk in _disks()]
        yield ",".join(map(str, folders))


def _disks() -> list[Path]:
    from pyspark import SparkConf

    named = os.environ.get(DISKS) or SparkConf().get("spark.local.dir")
    disks = named or tempfile.gettempdir()
    return [Path(disk.strip()).absolute() for disk in disks.split(",") if disk.strip()]


@contextmanager
def _folder(disk: Path) -> Iterator[Path]:
    try:
        disk.mkdir(parents=True, exist_ok=True)
        for abandoned_folder in disk.glob(f"{_NAME}*"):
            with abandoned(abandoned_folder) as is_abandoned:
                if is_abandoned:
                    shutil.rmtree(abandoned_folder, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=_NAME, dir=disk))  # readable for its owner only
    except OSError as error:
        raise RecveilError(
            f"{disk}: Spark cannot write rows there ({error.strerror}); name another "
            f"folder in SPARK_LOCAL_DIRS",
            code="machine.disk",
        ) from error
    try:
        with hold_lock(folder / LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Set where Java started Python, as by spark-submit.
_STARTED_BY_JAVA = "PYSPARK_GATEWAY_PORT"
# Timeouts for the end of Java, in seconds.
_END_SECONDS, _MOMENT_SECONDS = 20, 2
# The last bytes of its output are read.
_BYTES = 1 << 16
_LONGEST_START = 120
_NOISE = ("WARNING:", "Picked up ", "\tat ")
_ENDED = "Spark: its Java process ended in the middle of the work"
WHY_UNKNOWN = (
    f"{_ENDED}, perhaps for want of memory, the machine's or its own (spark.driver.memory); run it "
    f"again with more"
)
_NO_MEMORY = ("OutOfMemoryError", "insufficient memory")


class JavaProcess:
    """A Java process that this process started, with its output."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: IO[bytes]) -> None:
        self._process = process
        self._output = output

    def why_it_ended(self) -> str | None:
        """Explain why it ended before the work did; None if it is running."""
        return _explain_end(_read(self._output)) if self._ends_within(_MOMENT_SECONDS) else None

    def end(self) -> None:
        """End it, so that the next session starts its own with its own settings."""
        from pyspark import SparkContext

        gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
        if gateway is not None:
            gateway.shutdown()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        if not self._ends_within(_END_SECONDS):
            self._process.kill()
            self._process.wait()

    def _ends_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def __repr__(self) -> str:
        return f"JavaProcess({self._process.pid})"


@contextmanager
def java_process() -> Iterator[JavaProcess | None]:
    """Start Java, and end it afterwards; None, and no end, if Java is running already."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None or _STARTED_BY_JAVA in os.environ:
        SparkContext._ensure_initialized()
        yield None
        return
    with TemporaryFile() as output, _silent_py4j():
        java = JavaProcess(_start_java(output), output)
        try:
            yield java
        finally:
            java.end()


def end_errors() -> tuple[type[Exception], ...]:
    """Return the errors that are raised when Java has ended."""
    from py4j.protocol import Py4JNetworkError

    return Py4JNetworkError, ConnectionError


def _start_java(output: IO[bytes]) -> "subprocess.Popen[bytes]":
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    disks = os.environ.pop(DISKS, None)  # Java would prefer these to our folders
    try:
        gateway: Any = launch_gateway(popen_kwargs={"stdout": output, "stderr": output})
    except PySparkRuntimeError as error:
        raise RecveilError(
            f"Spark: its Java process could not start ({_first_problem(_read(output))}); install "
            f"Java 17 or newer, or fix Spark's settings (spark-defaults.conf, "
            f"PYSPARK_SUBMIT_ARGS)",
            code="spark.start",
        ) from error
    finally:
        if disks is not None:
            os.environ[DISKS] = disks
    SparkContext._ensure_initialized(gateway=gateway)
    process: subprocess.Popen[bytes] = gateway.proc
    return process


def _explain_end(text: str) -> str:
    """Explain from its output why Java ended.

    >>> _explain_end("ERROR Executor: java.lang.OutOfMemoryError: Java heap space")[:71]
    'Spark: its Java process ended in the middle of the work, as it had no m'
    """
    if any(sign in text for sign in _NO_MEMORY):
        return (
            f"{_ENDED}, as it had no memory left; give it more (spark.driver.memory in "
            f"spark-defaults.conf), and run it again"
        )
    return WHY_UNKNOWN


def _read(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _BYTES))
    return output.read().decode(errors="replace")


def _first_problem(text: str) -> str:
    r"""Return the first line of Java's output that reports a problem.

    >>> _first_problem("WARNING: Using modules\nUnrecognized VM option 'X'\nError: no Java")
    "Unrecognized VM option 'X'"
    """
    lines = [line for line in text.splitlines() if line and not line.startswith(_NOISE)]
    return shortened(lines[0].strip(), _LONGEST_START) if lines else "it printed nothing"


@contextmanager
def _silent_py4j() -> Iterator[None]:
    """Keep py4j's log off the terminal, as its errors are raised anyway."""
    root, logger = logging.getLogger(), logging.getLogger("py4j")
    level = logger.level
    root.addFilter(_is_not_of_py4j)
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
        root.removeFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


# Settings of a new session. Executors use one thread per task, as Spark assigns the cores.
_SETTINGS = {
    "spark.app.name": "recveil",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.executorEnv.NUMBA_NUM_THREADS": "1",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    "spark.executorEnv.OMP_NUM_THREADS": "1",
}
# Settings for our own Java process, whose output explains its end.
_OF_OUR_JAVA = {"spark.log.level": "ERROR"}
# Settings of a local session, so that no other machine or user can read rows of users.
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
}
_ON_THIS_MACHINE = re.compile(r"local(\[.*\])?")
# Settings that executors require in any session: no large column types, and batches.
_REQUIRED = {"spark.sql.execution.arrow.useLargeVarTypes": "false"}
_BATCH, _ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch", 10_000
_OURS = re.compile(r"\brecveil(?:\.\w+)*\.\w*Error: (.+)")
_LONGEST = 160
_OF_PYTHON = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)", re.M)
_COLUMN = re.compile(r"reading Parquet column `?\[?([^\]`]+?)[\]`]")
_FILE = re.compile(r"error while reading file \S*?([^/\s]+?)\.?\s")
# Problems of one part of a table; Spark's message would quote a row.
_OF_PARTS = {
    "CSV header does not conform": "its header is not that of the other parts; give all parts the "
    "same columns, in the same order, and a header each",
    "SchemaColumnConvertNotSupported": "a column is of another type than in other parts, such as "
    "text in place of whole numbers; write all parts with the same types",
    "CANNOT_MERGE_SCHEMA": "a column is of another type in some parts than in others, such as "
    "text in place of whole numbers; write all parts with the same types",
    "MALFORMED_CSV_RECORD": "a line has more or fewer columns than the header, or an id goes on in "
    "the next line; fix or drop that line",
}
# Codes of Spark's errors; others, and those of executors, are failed tasks.
_CODES = {
    "recveil.runtime.errors.": "spark.task",
    "No module named 'recveil'": "dependency.missing",
    "UNABLE_TO_INFER_SCHEMA": "table.no-ratings",
    "PATH_NOT_FOUND": "input.not-found",
    **dict.fromkeys(_OF_PARTS, "input.parts"),
    "MALFORMED_CSV_RECORD": "input.line",
}


@contextmanager
def spark_session(master: str | None = None) -> Iterator["SparkSession"]:
    """Yield the running session, or a new one that ends afterwards."""
    from_pyspark = import_pyspark()
    with spark_errors_translated():
        active = _running(from_pyspark)
    if active is not None:
        if master is not None:
            raise RecveilError(
                f"master (--master) is {master!r}, but a session of Spark runs already; leave it "
                f"out, or stop that session",
                code="option.conflict",
            )
        with session_of(active):
            yield active
        return
    _require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = from_pyspark.builder
    if master is not None:
        builder = builder.master(master)
    # Java is asked about an error while it is running.
    with (
        spark_errors_translated(),
        java_process() as java,
        spark_errors_translated(java),
        private_scratch() as scratch,
    ):
        settings = _SETTINGS | _local_settings(master) | (_OF_OUR_JAVA if java else {})
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.config("spark.local.dir", scratch).getOrCreate()
        try:
            with _required_settings(session):
                yield session
        finally:
            with if_running():
                session.stop()


@contextmanager
def session_of(session: "SparkSession") -> Iterator[None]:
    """Work in the caller's session, and restore its settings afterwards."""
    with spark_errors_translated(), _required_settings(session):
        yield


@contextmanager
def session_for(source: Any, master: str | None, package: str) -> Iterator["SparkSession"]:
    """Yield the session of a DataFrame; for a path, the running session or a new one."""
    if isinstance(source, str | PathLike):
        with spark_session(master) as spark:
            yield spark
        return
    if not hasattr(source, "mapInArrow"):
        raise RecveilError(
            f"source: expected a DataFrame of Spark's or a path, got {type(source).__name__}; "
            f"give that to {package}",
            code="argument.type",
        )
    if master is not None:
        raise RecveilError(
            "master: a DataFrame has a session already; leave it out", code="option.conflict"
        )
    with session_of(source.sparkSession):
        yield source.sparkSession


@contextmanager
def _required_settings(session: "SparkSession") -> Iterator[None]:
    """Set what executors require, and restore the settings afterwards."""
    required = dict(_REQUIRED)
    if int(session.conf.get(_BATCH, str(_ROWS)) or _ROWS) <= 0:  # no limit
        required[_BATCH] = str(_ROWS)
    before = {name: session.conf.get(name, None) for name in required}
    for name, value in required.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        with if_running():
            for name, old in before.items():
                if old is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, old)


def _running(from_pyspark: Any) -> "SparkSession | None":
    """Return the running session of any thread; None if there is none."""
    from pyspark.errors import PySparkRuntimeError

    try:
        session: SparkSession = from_pyspark.active()
    except PySparkRuntimeError:
        return None
    # A stopped context leaves a session that does nothing.
    return None if session.sparkContext._jsc is None else session


def _local_settings(master: str | None) -> dict[str, str]:
    """Return settings that isolate a local session from other machines and users."""
    from pyspark import SparkConf

    where = master or SparkConf().get("spark.master") or "local"
    return _LOCAL if _ON_THIS_MACHINE.fullmatch(where) else {}


@contextmanager
def if_running() -> Iterator[None]:
    """Clean up in Spark; do nothing if it has ended, which was reported already."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, ConnectionError), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # about the end of Spark
        yield


def import_pyspark() -> Any:
    """Return pyspark's SparkSession; raise if pyspark is not installed."""
    try:
        with warnings.catch_warnings():
            # Pandas is not used here, so that warnings about its version do not apply.
            warnings.simplefilter("ignore", FutureWarning)
            from pyspark.sql import SparkSession
    except ImportError as error:
        raise RecveilError(
            "engine (--engine) spark: pyspark is not installed; install recveil with the extra "
            "spark (pip install 'recveil[spark]')",
            code="dependency.missing",
        ) from error
    return SparkSession


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and os.access(f"{home}/bin/java", os.X_OK)):
        raise RecveilError(
            "engine (--engine) spark: no java is found; install Java 17 or newer, or set JAVA_HOME",
            code="dependency.missing",
        )


@contextmanager
def spark_errors_translated(java: JavaProcess | None = None) -> Iterator[None]:
    """Raise Spark's errors as `RecveilError`, with the message of an executor's own error."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    except (Py4JError, PySparkException, ConnectionError) as error:
        why = java.why_it_ended() if java else None
        if why is None and isinstance(error, end_errors()):
            why = WHY_UNKNOWN
        if why is not None:
            raise RecveilError(why, code="spark.ended") from error
        text = str(error)
        code = next((code for sign, code in _CODES.items() if sign in text), None)
        raise RecveilError(_translate(text), code="spark.task" if code is None else code) from error


def _translate(text: str) -> str:
    """Return the message of an executor's own error, or the first one of Spark."""
    if ours := _OURS.findall(text):
        return str(ours[-1])
    if "No module named 'recveil'" in text:
        return (
            "Spark: recveil is not installed for the Python of the executors; install the same "
            "version there, or name that Python in PYSPARK_PYTHON"
        )
    if "FetchFailed" in text and "No space left" not in text:
        return (
            "Spark: data between executors was lost repeatedly; keep their machines running and "
            "their disks (SPARK_LOCAL_DIRS) untouched, and run it again"
        )
    if "UNABLE_TO_INFER_SCHEMA" in text:
        return (
            "Spark finds no ratings directly in that folder; name the folder of the files, and "
            "if there are several, move the files into one"
        )
    if "TaskResultLost" in text:
        return (
            "Spark: the results of executors did not reach the driver; on a single machine, set "
            "spark.driver.host and spark.driver.bindAddress both to 127.0.0.1"
        )
    if problem := next((what for sign, what in _OF_PARTS.items() if sign in text), ""):
        file, column = _FILE.search(text), _COLUMN.search(text)
        where = shortened(file[1]) if file else "a part of the table"
        which = f", column {quoted(column[1])}" if column else ""
        return f"{where}{which}: {problem}"
    if raised := _OF_PYTHON.findall(text):
        return f"Spark: {shortened(raised[-1].rstrip(' .'), _LONGEST)}; fix that, and run it again"
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it failed"]
    # The last cause is the most specific.
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    causes = causes or [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    first = shortened((causes or lines)[-1 if causes else 0].rstrip(" ."), _LONGEST)
    return f"Spark: {first}; fix that, and run it again"
