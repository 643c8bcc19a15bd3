"""Places: where a table lies that somebody names, checked before anything is opened."""

import os
import re
from glob import has_magic
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from recveil.brief import brief
from recveil.databases import address_of, scheme_of
from recveil.databases.address import quoted_path
from recveil.errors import RecveilError, shortened
from recveil.io.remote import local_path

# Names of what is secret among the settings behind an address, as sslpassword and X-Amz-Signature.
_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|pwd|secret|token|credential|signature|^sig$|key$", re.I
)
_MOST_CHARACTERS = 4_000


@brief
class NamedPlace(NamedTuple):
    """Where a table lies.

    Attributes
    ----------
    name : str
        What to call it.
    path : str
        Its path from the root on, or its address.
    """

    name: str
    path: str


def place_of(text: str, *, is_release: bool = False) -> NamedPlace:
    """Return the place that somebody names: a path, a pattern of part files, or an address.

    Parameters
    ----------
    text : str
    is_release : bool
        Whether it is to be checked: what was published is a folder or a file.

    Raises
    ------
    RecveilError
        If nothing is there, it is no file or folder, an address of a release, or one that holds a
        password, which would be kept in the project.

    Examples
    --------
    >>> place_of("postgresql://ann@host/shop").path
    'postgresql://ann@host/shop'
    >>> place_of("nowhere.csv")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: nowhere.csv: no such file or folder; name one from the root on
    """
    text = text.strip()
    if not text or len(text) > _MOST_CHARACTERS or "\0" in text or text == "-":
        raise RecveilError(
            "expected the path of a file or folder, or the address of a database",
            code="option.value",
        )
    if "://" in text and holds_password(text):
        raise RecveilError(
            "the address holds a password, which would be kept in the project; leave it out, and "
            "give it in the environment (PGPASSWORD) or in the service's own file",
            code="settings.secret",
        )
    scheme = scheme_of(text)
    if scheme is not None and is_release:
        raise RecveilError(
            f"{shortened(text)}: is an address ({shortened(scheme, 20)}), where the folder of a "
            f"release or a file was expected; copy it to this machine, and name the copy",
            code="input.remote",
        )
    if scheme == "file":  # so that it is seen when it changes
        return _path(str(local_path(text)))
    return _path(text) if scheme is None else _address(text)


def holds_password(address: str) -> bool:
    """Say whether an address holds something secret, or may: rather once too often.

    Examples
    --------
    >>> holds_password("postgresql://ann:se/cret@host/shop"), holds_password("s3://bucket/a.csv")
    (True, False)
    >>> holds_password("postgresql://host/shop?sslpassword=abc&user=ann")
    True
    """
    behind = unquote(address.partition("://")[2])
    # A password may hold slashes and question marks: all before an @ may be one.
    if ":" in behind.rpartition("@")[0]:
        return True
    settings = re.split(r"[?&;#]", behind)[1:]
    names = (each.partition("=")[0].strip() for each in settings if "=" in each)
    return any(_SECRET.search(name) for name in names)


def _address(text: str) -> NamedPlace:
    found = address_of(text)
    if found is not None and not found.is_server:
        path = Path(found.place).absolute()
        return NamedPlace(path.name, f"{found.kind}:///{quoted_path(path)}")
    return NamedPlace(shortened(text), text)


def _path(text: str) -> NamedPlace:
    where = shortened(text)
    try:
        path = Path(text).expanduser().absolute()
        if has_magic(text) and not path.exists():
            return NamedPlace(path.name, str(path))
        if not path.exists():
            raise RecveilError(
                f"{where}: no such file or folder; name one from the root on",
                code="input.not-found",
            )
        if not (path.is_file() or path.is_dir()):
            raise RecveilError(
                f"{where}: is neither a file nor a folder; name one", code="input.unreadable"
            )
        if not os.access(path, os.R_OK):
            raise RecveilError(
                f"{where}: may not be read; ask its owner, or name another", code="input.unreadable"
            )
    except RuntimeError:  # ~ of somebody who is not here
        raise RecveilError(
            f"{where}: no such user's folder; name a path from the root on", code="input.not-found"
        ) from None
    except OSError as error:
        raise RecveilError(
            f"{where}: cannot be looked at ({error.strerror}); name another",
            code="input.unreadable",
        ) from None
    return NamedPlace(path.name or str(path), str(path))
