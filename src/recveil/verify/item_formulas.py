"""Ids of items that a spreadsheet takes for formulas: a release tells of them, and is compared."""

from collections.abc import Iterable, Iterator
from typing import Any

from recveil.io.formulas import is_formula
from recveil.release.form import MOST_OF_EXAMPLE
from recveil.release.manifest import FORMULAS_SINCE, MANIFEST, ItemFormulas, Manifest
from recveil.verify.verification import Violation


def formulas_of(items: Iterable[Any]) -> ItemFormulas | None:
    """Return what release.json is to tell of ids that a spreadsheet runs; None if there are none.

    Parameters
    ----------
    items : iterable of str or int
        The ids of all published items, each once.

    Examples
    --------
    >>> tuple(formulas_of(["Heat", "=1+1", "@ann"]))
    (2, '=1+1')
    >>> formulas_of(["Heat", "-5", -5]) is None
    True
    """
    found = [item for item in items if is_formula(item)]
    return ItemFormulas(len(found), min(found)[:MOST_OF_EXAMPLE]) if found else None


def formulas_told(items: Iterable[Any]) -> list[str]:
    """Say how many ids of items a spreadsheet takes for formulas, which it may run.

    Examples
    --------
    >>> formulas_told(["=1+1", "Heat"])[0].partition(":")[0]
    '1 of the ids of items begins as a formula does (with =, +, - or @)'
    """
    told = formulas_of(items)
    if told is None:
        return []
    begin = "of the ids of items begins" if told.items == 1 else "of the ids of items begin"
    return [
        f"{told.items:,} {begin} as a formula does (with =, +, - or @): a spreadsheet may run "
        f"them, so read the ratings there as text."
    ]


def wrong_formulas(manifest: Manifest, items: Iterable[Any]) -> Iterator[Violation]:
    """Compare what release.json tells of such ids, which the card repeats, with the ids themselves.

    Before the fifth format, releases need not tell of them.

    Parameters
    ----------
    manifest : Manifest
    items : iterable of str or int
        The ids of all published items, each once.

    Examples
    --------
    >>> from recveil.ratings import RatingScale
    >>> from recveil.release.claim import Claim
    >>> told = Manifest(Claim("co-rated", 2), "users", {}, RatingScale(1, 5, 1),
    ...                 formulas=ItemFormulas(2, "=1+1"))
    >>> [violation.problem for violation in wrong_formulas(told, ["=1+1"])]
    ['tells of 2 ids of items that begin as a formula does, but the files hold 1, or another first']
    """
    told, found = manifest.formulas, formulas_of(items)
    if told == found or (told is None and manifest.number < FORMULAS_SINCE):
        return
    of_told, of_found = (formulas.items if formulas else 0 for formulas in (told, found))
    problem = (
        f"tells of {of_told:,} ids of items that begin as a formula does, but the files hold "
        f"{of_found:,}{', or another first' if of_told and of_found else ''}"
    )
    yield Violation(MANIFEST, None, None, problem)
