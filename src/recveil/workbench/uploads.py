"""Uploads: files that somebody drops on a page, streamed into the project's folder."""

import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from recveil.brief import brief
from recveil.errors import RecveilError, shortened
from recveil.folders import make_folder
from recveil.locks import FOR_OWNER, NOT_FOLLOWED
from recveil.memory import in_words
from recveil.workbench.own_folder import within

# Folders of a project into which files come.
UPLOADS = INPUTS, CHECKED = "inputs", "checked"
# No file is larger, whatever the disk holds.
MOST_BYTES = 64 * 10**9
# So much of the disk stays free: a full one would break what others write.
_FREE = 10**9
# Of a name that somebody gives, so much is kept.
LONGEST_NAME = 200
_AT_ONCE = 1 << 20
_MOST_CHARACTERS = 100
_HALF = ".part"


@brief
class Uploaded(NamedTuple):
    """A file that came whole.

    Attributes
    ----------
    name : str
        What its owner calls it.
    path : Path
        Where it lies in the project.
    digest : str
        Its SHA-256.
    """

    name: str
    path: Path
    digest: str


async def receive(
    chunks: AsyncIterator[bytes], name: str, folder: Path, *, most: int = MOST_BYTES
) -> Uploaded:
    """Write what comes into a folder of its own, named by its digest.

    Parameters
    ----------
    chunks : async iterator of bytes
    name : str
        What the sender calls the file; of that, letters, digits and a few marks are kept.
    folder : Path
        Of the project's uploads.
    most : int
        More bytes are refused.

    Raises
    ------
    RecveilError
        If more comes, or the disk has no room; then nothing stays.
    """
    from starlette.concurrency import run_in_threadpool

    half = folder / f"{secrets.token_hex(8)}{_HALF}"
    digest, size, waiting = hashlib.sha256(), 0, bytearray()
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | NOT_FOLLOWED
    try:
        with os.fdopen(os.open(half, flags, FOR_OWNER), "wb") as file:

            def write(block: bytes) -> None:
                digest.update(block)
                file.write(block)

            async for chunk in chunks:
                size += len(chunk)
                _refuse_too_much(name, size, most, folder)
                waiting += chunk
                if len(waiting) >= _AT_ONCE:
                    # Not in the thread that answers: a slow disk must not freeze the pages.
                    await run_in_threadpool(write, bytes(waiting))
                    waiting.clear()
            await run_in_threadpool(write, bytes(waiting))
        return Uploaded(name, _place(half, folder, name, digest.hexdigest()), digest.hexdigest())
    except OSError as error:
        raise RecveilError(
            f"{shortened(name)}: cannot be kept in the project ({error.strerror}); make room on "
            f"its disk, or name the file instead",
            code="output.not-writable",
        ) from None
    finally:
        with suppress(OSError):
            half.unlink()


def forget_halves(folder: Path) -> None:
    """Remove what came half, while a workbench was killed."""
    for half in folder.glob(f"*{_HALF}"):
        with suppress(OSError):
            half.unlink()


def folder_name(digest: str) -> str:
    """Return the name of the folder for a file of a digest.

    Examples
    --------
    >>> len(folder_name("0" * 64))
    24
    """
    return digest[:24]


def file_name(name: str) -> str:
    r"""Return a name for a file that is called so elsewhere: it leads nowhere, and hides nothing.

    Examples
    --------
    >>> file_name("../../etc/pass wd.csv"), file_name(".bashrc"), file_name("a\u202eb\\c:d.csv.gz")
    ('pass_wd.csv', 'bashrc', 'c_d.csv.gz')
    >>> file_name("..")
    'table'
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(
        each if each.isascii() and (each.isalnum() or each in "._-") else "_" for each in last
    )
    return kept.lstrip("._-")[-_MOST_CHARACTERS:].lstrip("._-") or "table"


def _refuse_too_much(name: str, size: int, most: int, folder: Path) -> None:
    if size > most:
        raise RecveilError(
            f"{shortened(name)}: is larger than {in_words(most)}, the most that is taken; name the "
            f"file instead, which copies nothing",
            code="input.too-large",
        )
    if size % _AT_ONCE < _AT_ONCE // 8 and shutil.disk_usage(folder).free < _FREE:
        raise RecveilError(
            f"{shortened(name)}: the project's disk has less than {in_words(_FREE)} left; make "
            f"room, or name the file instead, which copies nothing",
            code="machine.disk",
        )


def _place(half: Path, folder: Path, name: str, digest: str) -> Path:
    """Give a file its place; one of the same bytes and name is the same."""
    own = within(folder, folder_name(digest))
    make_folder(own, exist_ok=True)
    place = own / file_name(name)
    half.replace(place)
    return place
