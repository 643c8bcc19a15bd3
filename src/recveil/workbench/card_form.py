"""The publisher's words, from a form to the card of TOML that `describe` reads."""

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from recveil.locks import FOR_OWNER
from recveil.publish.publisher_card import PublisherCard

# What each word is, as the form asks for it; the first ones are what a portal needs.
LABELS = {
    "title": "Title",
    "publisher": "Publisher",
    "contact": "Contact: an address that people may write to",
    "licence": "Licence, best by its address",
    "date": "Date of publication, as 2026-01-31",
    "description": "Description",
    "collection": "How the ratings came about",
    "citation": "How to cite it",
    "version": "Version",
    "url": "Where the folder will be published, if that is known",
    "keywords": "Keywords, with commas between them",
}
LONG = ("description", "collection", "citation")


def words_in(form: Mapping[str, str]) -> dict[str, str]:
    """Return what a form says of a release; what was left empty is left out.

    Examples
    --------
    >>> words_in({"publisher": " Public Library ", "licence": "", "change": "x"})
    {'publisher': 'Public Library'}
    """
    told = {
        name: form.get(name, "").replace("\r\n", "\n").strip()
        for name in LABELS
        if name in {field.name for field in fields(PublisherCard)}
    }
    return {name: text for name, text in told.items() if text}


def write_card(words: Mapping[str, str], file: Path) -> PublisherCard:
    """Write a card, and read it as everybody does who checks one.

    Parameters
    ----------
    words : mapping
        From `words_in`.
    file : Path

    Raises
    ------
    RecveilError
        If a word is too long, hides something, or is none that a card can have; the file is not
        there then.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     card = write_card({"publisher": 'The "Library"', "keywords": "films, stars"},
    ...                       Path(folder, "card.toml"))
    >>> card.publisher, card.keywords
    ('The "Library"', ('films', 'stars'))
    """
    lines = [f"{name} = {_as_toml(name, text)}\n" for name, text in words.items()]
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FOR_OWNER)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as opened:
        opened.write("".join(lines))
    try:
        return PublisherCard.read(file)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _as_toml(name: str, text: str) -> str:
    """Write a text between quotes; TOML's are those of JSON, where all letters stay as they are."""
    if name != "keywords":
        return json.dumps(text, ensure_ascii=False)
    return json.dumps(
        [word.strip() for word in text.split(",") if word.strip()], ensure_ascii=False
    )
