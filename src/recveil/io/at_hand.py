"""At hand: from the address of a table to something that can be opened, whatever it names."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from recveil.databases import Address, address_of, is_given_as_path, kind_of_file, scheme_of
from recveil.databases.address import NAMES
from recveil.devices import is_device
from recveil.errors import RecveilError, shortened
from recveil.io.files import naming
from recveil.io.pipes import STANDARD, spooled
from recveil.io.remote import SERVICES, fetched, local_path


@contextmanager
def at_hand(source: str | PathLike[str]) -> Iterator[Path | Address]:
    """Give a path that can be opened again and again, or the address of a database server.

    Parameters
    ----------
    source : str or path
        What `spooled` takes, or an address: of a database (``sqlite:///shop.db``,
        ``postgresql://ann@host/shop``), of a file (``file:///data/ratings.csv``), or of what lies
        with a service (``s3://bucket/ratings/``), which is copied for as long as it is read.

    Raises
    ------
    RecveilError
        For an address that leads nowhere, or is of another kind.

    Examples
    --------
    >>> with at_hand("file:///data/ratings.csv") as path:
    ...     path.name
    'ratings.csv'
    """
    scheme = scheme_of(source)
    if scheme is None:
        _refuse_lost_slash(source)
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
            f"{', '.join(f'{name}://' for name in (*NAMES, *SERVICES, 'file'))}, or a copy of "
            f"what lies there",
            code="input.address",
        )
    else:
        yield address if address.is_server else _database_file(address)


@contextmanager
def beside_table(name: str, source: str | PathLike[str]) -> Iterator[Path]:
    """Give the path of a file that stands beside the table; its address may be given, too.

    Parameters
    ----------
    name : str
        The parameter that it is given as.
    source : str or path
        What `at_hand` takes, but no database, of which nothing says what to read there.

    Examples
    --------
    >>> with beside_table("trust", "file:///data/trust.txt") as path:
    ...     path.name
    'trust.txt'
    """
    scheme = scheme_of(source)
    is_database = scheme not in (None, "file", *SERVICES) and address_of(source) is not None
    if not is_database:
        with at_hand(source) as found:
            if isinstance(found, Path):
                yield found
                return
    raise RecveilError(
        f"{name} (--{name.replace('_', '-')}): the address of a database, of which only the table "
        f"itself is read; write what is meant to a file, such as CSV, and name that",
        code="input.unknown-format",
    )


def file_at(source: object) -> Path | None:
    """Return the path of the file or folder that a source is, whether it exists or not.

    Parameters
    ----------
    source : object
        What `at_hand` takes, or anything else.

    Returns
    -------
    Path or None
        None for what lies elsewhere, is no path, or leads nowhere.

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
        return None  # whoever reads it will say what is wrong
    return None if address is None or address.is_server else Path(address.place)


def _database_file(address: Address) -> Path:
    """Return the path of a database's file, if it is one of that kind."""
    path = Path(address.place)
    if is_device(path):  # it may be waited for without end, and databases are read in any order
        raise RecveilError(
            f"{path.name}: is a pipe or a device; expected the file of a {address.name} database; "
            f"copy it to a file",
            code="input.pipe",
        )
    with naming(path):
        if kind_of_file(path) != address.kind:
            raise RecveilError(
                f"{path.name}: no {address.name} database; give its path alone, and what it is "
                f"will be found by looking",
                code="input.unknown-format",
            )
    return path


def _refuse_lost_slash(source: str | PathLike[str]) -> None:
    if is_given_as_path(source):
        raise RecveilError(
            "an address such as sqlite:///shop.db was given as a path, which loses one of its "
            "slashes; give it as text",
            code="input.address",
        )
