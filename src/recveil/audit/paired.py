"""Paired: audits of words without an order, which are of who gave which word to which item.

A known word equals the one in a row, or it does not: there is no distance between two, and nobody
is taken to know a word roughly.
"""

from collections.abc import Iterable
from dataclasses import replace

from recveil.attack import Adversary
from recveil.attack.word_pairs import released_pairs
from recveil.audit.opening import OpenedRelease
from recveil.errors import RecveilError
from recveil.ratings import Ratings
from recveil.ratings.scale import LIKES

OF_PAIRS = (
    "These are words without an order: people were looked for by items with the very words that "
    "they gave, which are equal or are not. Where likes are spoken of, an item with its word is "
    "meant; a wrong entry is an item with a word that the target never gave to it. Nobody was "
    "looked for by items alone: leave the column of words out for that."
)
_NOTE = "Here words are known as they are: two of them are equal, or they are not."


def who_know_words(
    adversaries: Iterable[Adversary] | None, presets: Iterable[Adversary]
) -> list[Adversary]:
    """Return adversaries for a table of words: those of the presets who know words.

    Parameters
    ----------
    adversaries : iterable of Adversary, or None
        Those that somebody asked for.
    presets : iterable of Adversary
        Taken where nobody did.

    Raises
    ------
    RecveilError
        If somebody asked for one who knows items alone, or whether they were liked.

    Examples
    --------
    >>> (found,) = who_know_words(None, [Adversary(rating_error=1), Adversary(rating_error=None)])
    >>> found.rating_error, found.description
    (None, 'Here words are known as they are: two of them are equal, or they are not.')
    """
    asked = None if adversaries is None else list(adversaries)
    for each in asked or ():
        if not _knows_words(each):
            raise RecveilError(
                f"adversary {each.name or 'of your own'!r}: they know items alone, or what was "
                f"liked, and words without an order tell neither; leave the column of words "
                f"out to ask what they find"
            )
    chosen = asked or [each for each in presets if _knows_words(each)]
    return [
        replace(each, rating_error=None, description=f"{each.description} {_NOTE}".strip())
        for each in chosen
    ]


def refuse_beside_pairs(**given: object) -> None:
    """Refuse what an audit of words without an order does not do yet.

    Examples
    --------
    >>> refuse_beside_pairs(aux=None)
    """
    for name, value in given.items():
        if value is not None:
            raise RecveilError(
                f"{name} (--{name}): not of words without an order yet; leave it out, or name an "
                f"order with order (--order)"
            )


def _knows_words(adversary: Adversary) -> bool:
    return adversary.rating_error is not None and not adversary.likes_only


def opened_pairs(opened: OpenedRelease, words: Ratings) -> OpenedRelease:
    """Return a release of words as one of pairs.

    Parameters
    ----------
    opened : OpenedRelease
        Of words without an order.
    words : Ratings
        What it was made from.
    """
    table = None if opened.table is None else released_pairs(opened.table, words)
    manifest = replace(opened.manifest, scale=LIKES)
    return opened._replace(manifest=manifest, table=table, words=words)
