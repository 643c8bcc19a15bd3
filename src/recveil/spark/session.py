"""Spark session: begun for one verb and ended after it, or the user's own; and its errors."""

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
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from recveil.runtime.errors import RecveilError, quoted, shortened
from recveil.runtime.locks import LOCK, abandoned, hold_lock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# What Spark takes its disks from, before all else.
DISKS = "SPARK_LOCAL_DIRS"
_NAME = "recveil-spark-"


@contextmanager
def private_scratch() -> Iterator[str]:
    """Make a folder on each of Spark's disks, for its owner alone, and remove it afterwards.

    Spark itself makes folders there that everybody can open, with rows of people in them, and
    leaves them behind if it is killed. What killed runs of ours left there is removed, too.

    Notes
    -----
    The disks are those that Spark would take: of the environment's ``SPARK_LOCAL_DIRS``, of the
    setting ``spark.local.dir``, or where temporary files go. Java runs already: it knows the
    settings of Spark's own files.
    """
    with ExitStack() as stack:
        folders = [stack.enter_context(_folder(disk)) for disk in _disks()]
        yield ",".join(map(str, folders))


def _disks() -> list[Path]:
    from pyspark import SparkConf

    named = os.environ.get(DISKS) or SparkConf().get("spark.local.dir")
    said = named or tempfile.gettempdir()
    return [Path(disk.strip()).absolute() for disk in said.split(",") if disk.strip()]


@contextmanager
def _folder(disk: Path) -> Iterator[Path]:
    try:
        disk.mkdir(parents=True, exist_ok=True)
        for left in disk.glob(f"{_NAME}*"):
            with abandoned(left) as is_abandoned:
                if is_abandoned:
                    shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=_NAME, dir=disk))  # its owner's alone
    except OSError as error:
        raise RecveilError(
            f"{disk}: Spark is to put down rows there, and cannot ({error.strerror}); name another "
            f"folder in SPARK_LOCAL_DIRS",
            code="machine.disk",
        ) from error
    try:
        with hold_lock(folder / LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# Set where Java began Python, as spark-submit does.
_BEGAN_US = "PYSPARK_GATEWAY_PORT"
# Java ends soon when nobody speaks to it any more; it is not waited for longer.
_SECONDS, _A_MOMENT = 20, 2
# What went wrong stands at the end.
_BYTES = 1 << 16
_LONGEST_START = 120
_NOT_TELLING = ("WARNING:", "Picked up ", "\tat ")
_ENDED = "Spark: its Java process ended in the middle of the work"
WHY_UNKNOWN = (
    f"{_ENDED}, perhaps for want of memory, the machine's or its own (spark.driver.memory); run it "
    f"again with more"
)
_NO_MEMORY = ("OutOfMemoryError", "insufficient memory")


class JavaProcess:
    """Java that we began, and what it said."""

    def __init__(self, process: "subprocess.Popen[bytes]", words: IO[bytes]) -> None:
        self._process = process
        self._words = words

    def why_it_ended(self) -> str | None:
        """Say why it ended before the work did; None if it lives."""
        return _why(_read(self._words)) if self._ends_within(_A_MOMENT) else None

    def end(self) -> None:
        """End it, so that the next session of this Python begins its own, with its own settings."""
        from pyspark import SparkContext

        gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
        if gateway is not None:
            gateway.shutdown()
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        if not self._ends_within(_SECONDS):
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
    """Begin Java, give it, and end it afterwards.

    One that runs already is taken as it is, with all that it says: whoever began it goes on. Then
    nothing is given.
    """
    from pyspark import SparkContext

    if SparkContext._gateway is not None or _BEGAN_US in os.environ:
        SparkContext._ensure_initialized()
        yield None
        return
    with TemporaryFile() as words, _silent_py4j():
        java = JavaProcess(_begin(words), words)
        try:
            yield java
        finally:
            java.end()


def ended() -> tuple[type[Exception], ...]:
    """Return what is raised where Java has ended."""
    from py4j.protocol import Py4JNetworkError

    return Py4JNetworkError, ConnectionError


def _begin(words: IO[bytes]) -> "subprocess.Popen[bytes]":
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    disks = os.environ.pop(DISKS, None)  # Java would take these before the folders that we make
    try:
        gateway: Any = launch_gateway(popen_kwargs={"stdout": words, "stderr": words})
    except PySparkRuntimeError as error:
        raise RecveilError(
            f"Spark: its Java process could not be begun ({_reporting(_read(words))}); install "
            f"Java 17 or newer, or mend Spark's settings (spark-defaults.conf, "
            f"PYSPARK_SUBMIT_ARGS)",
            code="spark.start",
        ) from error
    finally:
        if disks is not None:
            os.environ[DISKS] = disks
    SparkContext._ensure_initialized(gateway=gateway)
    process: subprocess.Popen[bytes] = gateway.proc
    return process


def _why(said: str) -> str:
    """Say why Java ended in the middle, as far as it said so.

    Examples
    --------
    >>> _why("ERROR Executor: java.lang.OutOfMemoryError: Java heap space")[:71]
    'Spark: its Java process ended in the middle of the work, as it had no m'
    """
    if any(sign in said for sign in _NO_MEMORY):
        return (
            f"{_ENDED}, as it had no memory left; give it more (spark.driver.memory in "
            f"spark-defaults.conf), and run it again"
        )
    return WHY_UNKNOWN


def _read(words: IO[bytes]) -> str:
    size = words.seek(0, os.SEEK_END)
    words.seek(max(0, size - _BYTES))
    return words.read().decode(errors="replace")


def _reporting(said: str) -> str:
    r"""Return the first line that tells what is wrong.

    Examples
    --------
    >>> _reporting("WARNING: Using incubator modules\nUnrecognized VM option 'X'\nError: no Java")
    "Unrecognized VM option 'X'"
    """
    lines = [line for line in said.splitlines() if line and not line.startswith(_NOT_TELLING)]
    return shortened(lines[0].strip(), _LONGEST_START) if lines else "it said nothing"


@contextmanager
def _silent_py4j() -> Iterator[None]:
    """Keep py4j's log off the terminal: what it raises is told anyway, and in one line."""
    root, own = logging.getLogger(), logging.getLogger("py4j")
    level = own.level
    root.addFilter(_is_not_of_py4j)
    own.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        own.setLevel(level)
        root.removeFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


# What a session of ours is like. Executors work one thread a task: Spark shares out the cores.
_SETTINGS = {
    "spark.app.name": "recveil",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.executorEnv.NUMBA_NUM_THREADS": "1",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    "spark.executorEnv.OMP_NUM_THREADS": "1",
}
# In a Java process of ours, whose words are looked at if it ends; another one keeps its own.
_OF_OUR_JAVA = {"spark.log.level": "ERROR"}
# Where no other machine takes part, none can ask for rows of people, nor can other users of this.
_ALONE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
}
_ON_THIS_MACHINE = re.compile(r"local(\[.*\])?")
# What our executors count on in a session, whosever it is: their columns are not of the large kind,
# and tables come in batches.
_COUNTED_ON = {"spark.sql.execution.arrow.useLargeVarTypes": "false"}
_BATCH, _ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch", 10_000
_OURS = re.compile(r"\brecveil(?:\.\w+)*\.\w*Error: (.+)")
_LONGEST = 160
_OF_PYTHON = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)", re.M)
_COLUMN = re.compile(r"reading Parquet column `?\[?([^\]`]+?)[\]`]")
_FILE = re.compile(r"error while reading file \S*?([^/\s]+?)\.?\s")
# What is wrong with one part of a table; Spark would quote a row.
_OF_PARTS = {
    "CSV header does not conform": "its header is not that of the other parts; give all parts the "
    "same columns, in the same order, and a header each",
    "SchemaColumnConvertNotSupported": "a column is of another type than in other parts, such as "
    "text in place of whole numbers; write all parts with the same types",
    "CANNOT_MERGE_SCHEMA": "a column is of another type in some parts than in others, such as "
    "text in place of whole numbers; write all parts with the same types",
    "MALFORMED_CSV_RECORD": "a line has more or fewer columns than the header, or an id goes on in "
    "the next line; mend or drop that line",
}
# What Spark's words come to; all else, and what an executor raised, is a task that failed.
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
    """Give the session that there is, or begin one, which ends afterwards."""
    from_pyspark = needed()
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
    # What Java knows of an error it is asked for while it lives.
    with (
        spark_errors_translated(),
        java_process() as java,
        spark_errors_translated(java),
        private_scratch() as scratch,
    ):
        settings = _SETTINGS | _alone(master) | (_OF_OUR_JAVA if java else {})
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.config("spark.local.dir", scratch).getOrCreate()
        try:
            with _as_counted_on(session):
                yield session
        finally:
            with if_it_lives():
                session.stop()


@contextmanager
def session_of(session: "SparkSession") -> Iterator[None]:
    """Work in somebody's own session, which afterwards is as it was."""
    with spark_errors_translated(), _as_counted_on(session):
        yield


@contextmanager
def _as_counted_on(session: "SparkSession") -> Iterator[None]:
    """Set what executors count on, and put back afterwards what stood there."""
    needed = dict(_COUNTED_ON)
    if int(session.conf.get(_BATCH, str(_ROWS)) or _ROWS) <= 0:  # no limit, Spark says
        needed[_BATCH] = str(_ROWS)
    before = {name: session.conf.get(name, None) for name in needed}
    for name, value in needed.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        with if_it_lives():
            for name, old in before.items():
                if old is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, old)


def _running(from_pyspark: Any) -> "SparkSession | None":
    """Return the session that there is, whichever thread began it."""
    from pyspark.errors import PySparkRuntimeError

    try:
        session: SparkSession = from_pyspark.active()
    except PySparkRuntimeError:
        return None
    # Of a context that was stopped alone, a session is left that does nothing.
    return None if session.sparkContext._jsc is None else session


def _alone(master: str | None) -> dict[str, str]:
    """Return what keeps others out of a session on this machine; a cluster has its own ways."""
    from pyspark import SparkConf

    where = master or SparkConf().get("spark.master") or "local"
    return _ALONE if _ON_THIS_MACHINE.fullmatch(where) else {}


@contextmanager
def if_it_lives() -> Iterator[None]:
    """Tidy up in Spark, unless it has ended: then nothing is left there, and why has been told."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, ConnectionError), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # that it has ended
        yield


def needed() -> Any:
    """Return pyspark's SparkSession, or raise a RecveilError that says how to get it."""
    try:
        with warnings.catch_warnings():
            # Nothing here goes through pandas; what pyspark says of its versions is not about us.
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
    """Raise as RecveilError what goes wrong in Spark: in our words, if executors said it so."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    except (Py4JError, PySparkException, ConnectionError) as error:
        why = java.why_it_ended() if java else None
        if why is None and isinstance(error, ended()):
            why = WHY_UNKNOWN
        if why is not None:
            raise RecveilError(why, code="spark.ended") from error
        text = str(error)
        code = next((code for sign, code in _CODES.items() if sign in text), None)
        raise RecveilError(
            _in_our_words(text), code="spark.task" if code is None else code
        ) from error


def _in_our_words(text: str) -> str:
    r"""Return what an executor said, or the first thing that Spark says."""
    if ours := _OURS.findall(text):
        return str(ours[-1])
    if "No module named 'recveil'" in text:
        return (
            "Spark: recveil is not installed for the Python of the executors; install the same "
            "version there, or name that Python in PYSPARK_PYTHON"
        )
    if "FetchFailed" in text and "No space left" not in text:
        return (
            "Spark: what executors pass to each other was lost again and again; see that their "
            "machines stay up, and that nobody tidies their disks (SPARK_LOCAL_DIRS); run it again"
        )
    if "UNABLE_TO_INFER_SCHEMA" in text:
        return (
            "Spark finds no ratings right in that folder; name the one that its files lie in, and "
            "where they lie in several ones, move them into one"
        )
    if "TaskResultLost" in text:
        return (
            "Spark: what executors found did not reach the driver; if Spark runs on this machine "
            "alone, set spark.driver.host and spark.driver.bindAddress both to 127.0.0.1"
        )
    if problem := next((what for sign, what in _OF_PARTS.items() if sign in text), ""):
        file, column = _FILE.search(text), _COLUMN.search(text)
        where = shortened(file[1]) if file else "a part of the table"
        which = f", column {quoted(column[1])}" if column else ""
        return f"{where}{which}: {problem}"
    if raised := _OF_PYTHON.findall(text):
        return f"Spark: {shortened(raised[-1].rstrip(' .'), _LONGEST)}; mend that, and run it again"
    said = [line.strip() for line in text.splitlines() if line.strip()] or ["it failed"]
    # The last cause tells more than which task of which stage it was, or what was called.
    causes = [line.removeprefix("Caused by: ") for line in said if line.startswith("Caused by: ")]
    causes = causes or [line.removeprefix(": ") for line in said if line.startswith(": ")]
    first = shortened((causes or said)[-1 if causes else 0].rstrip(" ."), _LONGEST)
    return f"Spark: {first}; mend that, and run it again"
