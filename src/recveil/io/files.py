"""The bytes of a file, gzipped or not; whatever goes wrong is told in words that name the file."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import pyarrow as pa

from recveil.errors import RecveilError, first_line_of, shortened

_GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what Python and pyarrow raise while a file is read into a RecveilError with its name.

    Examples
    --------
    >>> with naming(Path("folder/ratings.csv")):
    ...     Path("no such folder/ratings.csv").read_bytes()
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: ratings.csv: no such file in folder; check the path
    """
    try:
        yield
    except (RecveilError, MemoryError):  # too little memory says nothing of the file
        raise
    except FileNotFoundError:
        raise RecveilError(
            f"{path.name}: no such file in {shortened(str(path.parent))}; check the path"
        ) from None
    except PermissionError:
        raise RecveilError(
            f"{path.name}: you may not read it; change its permissions or take a copy"
        ) from None
    except IsADirectoryError:
        raise RecveilError(
            f"{path.name}: a folder, where a file was expected; name the file in it"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise RecveilError(_cut_short(path, error)) from None
    except (OSError, pa.ArrowException) as error:
        # pyarrow has no class of its own for gzip's errors.
        if "compress" in str(error) or "zlib" in str(error):
            raise RecveilError(_cut_short(path, error)) from None
        raise RecveilError(
            f"{path.name}: cannot be read ({first_line_of(error)}); check that the file is complete"
        ) from None


def is_gzipped(path: Path) -> bool:
    """Say whether a file is gzipped, by its first bytes and not by its name."""
    with path.open("rb") as file:
        return file.read(2) == _GZIP_MAGIC


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for Python to read, gunzipped if need be."""
    return cast(IO[bytes], gzip.open(path)) if is_gzipped(path) else path.open("rb")


def _cut_short(path: Path, error: Exception) -> str:
    return (
        f"{path.name}: its gzip data is cut short or damaged ({first_line_of(error)}); "
        f"fetch the file again"
    )
