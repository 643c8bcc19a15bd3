"""What a publisher says of a release in words of their own: a small file of TOML."""

import re
import tomllib
from dataclasses import dataclass, fields
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any, Self

from recveil.devices import read_whole
from recveil.errors import RecveilError, first_line_of, listed, meant, quoted, reason_of

_MOST_BYTES = 1 << 16
_MOST_LETTERS = {"title": 200, "description": 5_000, "collection": 5_000}
_USUAL_MOST = 500
_MOST_KEYWORDS = 20
# What could hide in a text, or turn the direction of what is read.
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")


@dataclass(frozen=True)
class PublisherCard:
    """Words of the publisher; each may be left out.

    Parameters
    ----------
    title, description, publisher, contact, licence, version, citation : str
        The licence is best given by its address.
    date : str
        When the release is published, as 2026-01-31.
    url : str
        Where the folder of the release is published: http or https.
    collection : str
        How the ratings came about.
    keywords : tuple of str
    """

    title: str = ""
    description: str = ""
    publisher: str = ""
    contact: str = ""
    licence: str = ""
    date: str = ""
    url: str = ""
    version: str = ""
    citation: str = ""
    collection: str = ""
    keywords: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        r"""Read a card.

        Parameters
        ----------
        path : path
            A file of TOML.

        Raises
        ------
        RecveilError
            If it cannot be read, holds a word that no card has, or one that is too long, of another
            type, or not to be seen.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder, "card.toml")
        ...     _ = file.write_text('publisher = "Public Library"\ndate = 2026-01-31\n')
        ...     card = PublisherCard.read(file)
        >>> card.publisher, card.date
        ('Public Library', '2026-01-31')
        """
        file = Path(path)
        try:
            content = read_whole(file)
            if len(content) > _MOST_BYTES:
                raise RecveilError(
                    f"{file.name}: {len(content):,} bytes; expected a card of {_MOST_BYTES:,} at "
                    f"most",
                    code="settings.file",
                )
            told = tomllib.loads(content.decode())
        except (OSError, UnicodeDecodeError) as error:
            raise RecveilError(
                f"{file}: cannot be read ({reason_of(error)}); name a card, a file of TOML",
                code="settings.file",
            ) from error
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise RecveilError(
                f"{file.name}: no TOML ({first_line_of(error)}); expected lines such as "
                f'publisher = "Public Library"',
                code="settings.file",
            ) from error
        return cls(**{name: _checked(file.name, name, value) for name, value in told.items()})


_NAMES = tuple(field.name for field in fields(PublisherCard))


def _checked(file: str, name: str, value: Any) -> Any:
    """Return one value of a card as text, or several; or raise a RecveilError."""
    where = f"{file}: {quoted(name)}"
    if name not in _NAMES:
        asked = meant(name, _NAMES)
        raise RecveilError(
            f"{where} is no word of a card{asked}; expected {listed(_NAMES, 150)}",
            code="settings.value",
        )
    if name == "keywords":
        if not isinstance(value, list) or len(value) > _MOST_KEYWORDS:
            raise RecveilError(
                f"{where}: expected a list of at most {_MOST_KEYWORDS} texts", code="settings.value"
            )
        return tuple(refuse_unseen(where, each, 100) for each in value)
    if name == "date":
        return _date(where, value)
    text = refuse_unseen(where, value, _MOST_LETTERS.get(name, _USUAL_MOST))
    if name == "url" and not _ADDRESS.fullmatch(text):
        raise RecveilError(
            f"{where} is {quoted(text)}; expected an address such as https://example.org/data, "
            f"without user, password or query",
            code="settings.value",
        )
    return text


def refuse_unseen(where: str, value: Any, most: int, *, code: str = "settings.value") -> str:
    """Return a text without the spaces around it; refuse it if it is none, or hides something.

    Parameters
    ----------
    where : str
        Where it stands, for errors.
    value : object
    most : int
        So many letters may it have.

    Examples
    --------
    >>> refuse_unseen("card.toml", " Public Library", 500)
    'Public Library'
    """
    if not isinstance(value, str):
        raise RecveilError(
            f"{where}: expected text between quotes, got {quoted(value, 40)}", code=code
        )
    if len(value) > most:
        raise RecveilError(f"{where}: {len(value):,} letters; expected {most:,} at most", code=code)
    if found := _UNSEEN.search(value):
        raise RecveilError(
            f"{where}: holds U+{ord(found.group()):04X}, which nobody sees; leave it out", code=code
        )
    return value.strip()


def _date(where: str, value: Any) -> str:
    try:
        day = value if type(value) is date else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise RecveilError(
            f"{where} is {quoted(value, 40)}; expected a day, as 2026-01-31", code="settings.value"
        ) from None
    return day.isoformat()
