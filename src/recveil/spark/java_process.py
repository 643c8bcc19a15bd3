"""Java process: where a session of ours works, begun for it alone, and ended with it.

What Java says by itself (of modules, of log settings, of Hadoop) goes to a file without a name,
which nobody else can open. It is looked at where Java cannot be begun, or ends in the middle.
"""

import logging
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from recveil.errors import RecveilError, shortened
from recveil.spark.scratch import DISKS

# Set where Java began Python, as spark-submit does.
_BEGAN_US = "PYSPARK_GATEWAY_PORT"
# Java ends soon when nobody speaks to it any more; it is not waited for longer.
_SECONDS, _A_MOMENT = 20, 2
# What went wrong stands at the end.
_BYTES = 1 << 16
_LONGEST = 120
_NOT_TELLING = ("WARNING:", "Picked up ", "\tat ")
_ENDED = "Spark: its Java process ended in the middle of the work"
WHY_UNKNOWN = (
    f"{_ENDED}, perhaps for want of memory, the machine's or its own (spark.driver.memory); run it "
    f"again with more"
)
_NO_MEMORY = ("OutOfMemoryError", "insufficient memory")


class JavaProcess:
    """Java that we began, and what it said.

    Parameters
    ----------
    process : Popen
    words : file
        Where it says it.
    """

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

    Raises
    ------
    RecveilError
        If it cannot be begun.
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
            f"Spark: its Java process could not be begun ({_telling(_read(words))}); install Java "
            f"17 or newer, or mend Spark's settings (spark-defaults.conf, PYSPARK_SUBMIT_ARGS)",
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


def _telling(said: str) -> str:
    r"""Return the first line that tells what is wrong.

    Examples
    --------
    >>> _telling("WARNING: Using incubator modules\nUnrecognized VM option 'X'\nError: no Java")
    "Unrecognized VM option 'X'"
    """
    lines = [line for line in said.splitlines() if line and not line.startswith(_NOT_TELLING)]
    return shortened(lines[0].strip(), _LONGEST) if lines else "it said nothing"


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
