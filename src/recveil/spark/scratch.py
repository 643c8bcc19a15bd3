"""Scratch: where a session of ours puts down rows on their way, which nobody else may read."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from recveil.errors import RecveilError
from recveil.locks import LOCK, abandoned, held

# What Spark takes its disks from, before all else.
DISKS = "SPARK_LOCAL_DIRS"
_NAME = "recveil-spark-"


@contextmanager
def private_scratch() -> Iterator[str]:
    """Make a folder on each of Spark's disks, for its owner alone, and remove it afterwards.

    Spark itself makes folders there that everybody can open, with rows of people in them, and
    leaves them behind if it is killed. What killed runs of ours left there is removed, too.

    Yields
    ------
    str
        What ``spark.local.dir`` is to be.

    Raises
    ------
    RecveilError
        If a folder cannot be made.

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
        with held(folder / LOCK):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
