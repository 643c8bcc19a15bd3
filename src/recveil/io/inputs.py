"""The files behind an input, including database logs, for opening and for checks of outputs."""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path

from recveil.io.databases import Address, address_of, is_given_as_path, kind_of_file, scheme_of
from recveil.io.databases.address import NAMES
from recveil.io.files import naming
from recveil.io.part_files import is_pattern, parts_of
from recveil.io.pipes import STANDARD, spooled
from recveil.io.remote import SERVICES, fetched, local_path
from recveil.runtime.devices import is_device
from recveil.runtime.errors import RecveilError, option_named, shortened


@contextmanager
def open_input(source: str | PathLike[str]) -> Iterator[Path | Address]:
    """Yield a path that can be opened repeatedly, or the address of a database server."""
    scheme = scheme_of(source)
    if scheme is None:
        _reject_lost_slash(source)
        with spooled(source) as path:
            yield path
    elif scheme in SERVICES:
        with fetched(str(source)) as path:
            yield path
    elif scheme == "file":
        with spooled(local_path(str(source))) as path:
            yield path
    elif (address := address_of(source)) is None:
        raise RecveilError(
            f"{shortened(scheme, 20)}://: such addresses are not read; expected a file, "
            f"{', '.join(f'{name}://' for name in (*NAMES, *SERVICES, 'file'))}; copy it to a "
            f"file",
            code="input.address",
        )
    else:
        yield address if address.is_server else _database_file(address)


@contextmanager
def file_next_to_table(name: str, source: str | PathLike[str]) -> Iterator[Path]:
    """Yield the path of a second input file, given by path or address.

    >>> with file_next_to_table("trust", "file:///data/trust.txt") as path:
    ...     path.name
    'trust.txt'
    """
    scheme = scheme_of(source)
    is_database = scheme not in (None, "file", *SERVICES) and address_of(source) is not None
    if not is_database:
        with open_input(source) as found:
            if isinstance(found, Path):
                yield found
                return
    raise RecveilError(
        f"{option_named(name)}: the address of a database, from which only the "
        f"ratings are read; write the rows to a file, such as CSV, and name that",
        code="input.unknown-format",
    )


def file_at(source: object) -> Path | None:
    """Return the path of a source that is a local file or folder, existing or not.

    Parameters
    ----------
    source : object
        What `open_input` takes, or any other object.

    Returns
    -------
    Path or None
        None for a remote or invalid address, or an object that is not a path.

    Examples
    --------
    >>> file_at("sqlite:///shop.db"), file_at("file:///data/r.csv"), file_at("s3://bucket/r.csv")
    (PosixPath('shop.db'), PosixPath('/data/r.csv'), None)
    """
    if not isinstance(source, str | PathLike) or source == STANDARD:
        return None
    scheme = scheme_of(source)
    if scheme is None:
        return Path(source)
    try:
        if scheme == "file":
            return local_path(str(source))
        address = address_of(source)
    except RecveilError:
        return None  # reported by the reader
    return None if address is None or address.is_server else Path(address.place)


def path_of(source: str | PathLike[str]) -> Path:
    """Return the path of a release or a file, which its address may give, for verification.

    >>> path_of("out"), path_of("file:///data/out")
    (PosixPath('out'), PosixPath('/data/out'))
    """
    _reject_lost_slash(source)
    scheme = scheme_of(source)
    if scheme is None:
        return Path(source)
    if scheme == "file":
        return local_path(str(source))
    is_read = scheme in (*NAMES, *SERVICES)
    remedy = ", or write its table to a file: recveil convert ADDRESS TABLE.parquet" * is_read
    raise RecveilError(
        f"{source}: verify reads a release folder or a file of this machine, and no address; copy "
        f"it to this machine{remedy}",
        code="input.address",
    )


def _database_file(address: Address) -> Path:
    path = Path(address.place)
    if is_device(path):  # may block forever, and databases need random access
        raise RecveilError(
            f"{path.name}: is a pipe or a device; expected the file of a {address.name} database; "
            f"copy it to a file",
            code="input.pipe",
        )
    with naming(path):
        if kind_of_file(path) != address.kind:
            raise RecveilError(
                f"{path.name}: no {address.name} database; give its path alone, and its format is "
                f"detected",
                code="input.unknown-format",
            )
    return path


def _reject_lost_slash(source: str | PathLike[str]) -> None:
    if is_given_as_path(source):
        raise RecveilError(
            "an address such as sqlite:///shop.db was given as a path, which loses one of its "
            "slashes; give it as text",
            code="input.address",
        )


# Logs of SQLite and DuckDB next to a file, which may be the only place of committed rows.
_LOGS = ("-wal", "-shm", "-journal", ".wal")


def files_at(path: Path) -> list[Path]:
    """List the files of an input (itself, its parts, or the files in its folder).

    >>> files_at(Path("ratings.csv"))
    [PosixPath('ratings.csv')]
    """
    with suppress(RecveilError, OSError, ValueError):
        if parts := parts_of(path):
            return [part.path for part in parts]
    with suppress(OSError, ValueError):
        if path.is_dir():
            return [path, *(each for each in path.iterdir() if each.is_file())]
    return [path]


def is_log_of(output: Path, path: Path) -> bool:
    """Return whether an output is, or would be, the log of a database.

    >>> is_log_of(Path("shop.db-wal"), Path("shop.db")), is_log_of(Path("x.csv"), Path("shop.db"))
    (True, False)
    """
    with suppress(OSError, ValueError):
        if path.is_dir():
            return False
    same, real = identity(output), os.path.realpath(output)
    bases = {os.fspath(path), os.path.realpath(path)}
    logs = [Path(base + ending) for base in bases for ending in _LOGS]
    return any(real == os.path.realpath(log) or (same and same == identity(log)) for log in logs)


def would_be_read(output: Path, path: Path) -> bool:
    """Return whether the next run would read an output as a part of the same input."""
    real = Path(os.path.realpath(output))
    with suppress(OSError, ValueError):
        if path.is_dir():
            return Path(os.path.realpath(path)) in real.parents
        if path.exists():
            return False
    if not is_pattern(path):
        return False
    at = next(at for at, name in enumerate(path.parts) if is_pattern(Path(name)))
    base = os.path.realpath(Path(*path.parts[:at]))
    return _matches(Path(os.path.relpath(real, base)).parts, path.parts[at:])


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a path match those of a pattern, of which ** matches any number.

    >>> _matches(["a", "b", "0.csv"], ["**", "*.csv"]), _matches(["a", "0.csv"], ["*.csv"])
    (True, False)
    """
    if not pattern:
        return not names
    first, *rest = pattern
    if first == "**":
        return any(_matches(names[at:], rest) for at in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], first) and _matches(names[1:], rest)


def identity(path: Path) -> tuple[int, int] | None:
    """Return the device and number that identify a file or folder across links; None without one.

    >>> identity(Path("nowhere")) is None
    True
    """
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def standard_input_file() -> Path | None:
    """Return a path of standard input if it is redirected from a file, which can be overwritten.

    >>> standard_input_file() in (None, Path("/dev/stdin"))
    True
    """
    try:
        found = os.fstat(0)
    except OSError:  # standard input is closed
        return None
    return Path("/dev/stdin") if stat.S_ISREG(found.st_mode) else None
