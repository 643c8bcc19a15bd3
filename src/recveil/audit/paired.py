"""Paired: audits of words without an order, which are of who gave which word to which item.

A known word equals the one in a row, or it does not: there is no distance between two, and nobody
is taken to know a word roughly.
"""

from collections.abc import Iterable
from dataclasses import replace

from recveil.attack import Adversary, Candidates
from recveil.attack.word_pairs import pairs_of, released_pairs
from recveil.audit.opening import BehindPairs, OpenedRelease
from recveil.audit.outside import Suspects, look_for, places_in
from recveil.errors import RecveilError
from recveil.io import Reading
from recveil.ratings import Ratings
from recveil.ratings.scale import LIKES

OF_PAIRS = (
    "These are words without an order: people were looked for by items with the very words that "
    "they gave, which are equal or are not. Where likes are spoken of, an item with its word is "
    "meant; a wrong entry is an item with a word that the target never gave to it. No adversary "
    "looked for anybody by items alone: leave the column of words out for that."
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
                f"out to ask what they find",
                code="option.unsupported",
            )
    chosen = asked or [each for each in presets if _knows_words(each)]
    return [replace(each, rating_error=None).noted(_NOTE) for each in chosen]


def refuse_catalogue_of_words(catalogue: object) -> None:
    """Refuse a public table beside words without an order: it names items that a release hides.

    Examples
    --------
    >>> refuse_catalogue_of_words(None)
    """
    if catalogue is not None:
        raise RecveilError(
            "catalogue (--catalogue): it names items that a release hides, and no release of words "
            "without an order hides any; leave it out",
            code="option.unsupported",
        )


def find_suspects(
    table: Ratings, attacked: Ratings, candidates: Candidates, known: Reading
) -> list[Suspects]:
    """Look for the targets of somebody's own file; of words, by items with the very words.

    Parameters
    ----------
    table : Ratings
        What was read.
    attacked : Ratings
        The same; of words without an order, the pairs that stand for it.
    candidates : Candidates
        What is attacked, listed by item.
    known : Reading
        What `read_knowledge` made of the file. Where it tells items alone, people are looked for
        by these, whatever they said of them.

    Raises
    ------
    RecveilError
        If none of its items stands in the table.
    """
    if attacked is table:
        return look_for(table, candidates, known)
    if known.ratings.is_unary:
        return look_for(table, Candidates.from_ratings(table), known)
    places_in(table, known)  # refuses other items by their own names, which pairs have not
    return look_for(attacked, candidates, replace(known, ratings=pairs_of(known.ratings)))


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
    manifest, table = replace(opened.manifest, scale=LIKES), opened.table
    if table is None:
        return opened._replace(manifest=manifest)
    behind = BehindPairs(words, table)
    return opened._replace(manifest=manifest, table=released_pairs(table, words), words=behind)
