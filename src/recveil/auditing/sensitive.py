"""Sensitive items that the record of a re-identified user reveals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    AttackTarget,
    Candidates,
    Guesses,
    Interval,
    Knowledge,
    draw_knowledge,
)
from recveil.attacks.registry import attacks_on_table
from recveil.attacks.reidentification.on_release import best_guesses
from recveil.auditing.opened_release import OpenedRelease
from recveil.auditing.release_attacks import AttackedRelease
from recveil.auditing.table_attacks import Outcome
from recveil.io.side_tables import SensitiveItems
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.records import hides_items
from recveil.runtime.reportable import Reportable

_Rows = Callable[[int], tuple[NDArray[np.int32], NDArray[np.floating]]]


@dataclass(frozen=True)
class Revealed(Reportable):
    """Users of whom a found record reveals an item of one category.

    Parameters
    ----------
    category : str
        "any" for all items of the file.
    items : int
        Number of these items in the table.
    n_raters : int
        Number of users who rated at least one of them.
    revealed : Interval
        Share of the targets who are re-identified, and whose record has at least one of these items
        that they rated and that the adversary did not know.
    control : Interval
        The same with the record of a random other user in place of each target's own.
    """

    category: str
    items: int
    n_raters: int
    revealed: Interval
    control: Interval


@dataclass(frozen=True)
class SensitiveDisclosure(Reportable):
    """Sensitive items that the adversary reveals who re-identifies most users.

    Parameters
    ----------
    where : str
        "table", or the name of the release.
    adversary : str
    n_unknown : int
        Number of items of the file that are not in the table.
    categories : tuple of Revealed
        All items first.
    """

    where: str
    adversary: str
    n_unknown: int
    categories: tuple[Revealed, ...]


def measure_in_table(
    ratings: Ratings,
    candidates: Candidates,
    sensitive: SensitiveItems,
    outcomes: list[Outcome],
    targets: NDArray[np.int64],
    seed: int = 0,
) -> SensitiveDisclosure:
    """Measure what the matched records of a raw table reveal.

    Source: Narayanan & Shmatikov, section 5: a matched record reveals political, religious and
    sexual preferences that the public ratings do not. A tie for the best record reveals nothing, so
    that the share is a lower bound.
    """
    worst = max(outcomes, key=lambda outcome: outcome.reidentified.ranked)
    known = draw_knowledge(ratings, worst.adversary, targets, seed)
    attack = attacks_on_table(worst.adversary, ratings.scale)[worst.strongest]
    record_of = np.arange(ratings.n_users)
    guesses = attack.attack(candidates, known, record_of)
    categories = _measure(ratings, sensitive, known, guesses, record_of, ratings.row, seed)
    return SensitiveDisclosure("table", worst.adversary.name, sensitive.n_unknown, categories)


def measure_in_release(
    ratings: Ratings,
    table: AttackTarget,
    name: str,
    sensitive: SensitiveItems,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> SensitiveDisclosure:
    """Measure what the found rows of a release reveal; a row may belong to several users."""
    inside = targets[table.record_of[targets] >= 0]
    known, guesses = best_guesses(ratings, table, adversary, inside, seed)
    categories = _measure(ratings, sensitive, known, guesses, table.record_of, table.row, seed)
    return SensitiveDisclosure(name, adversary.name, sensitive.n_unknown, categories)


def measure_sensitive(
    ratings: Ratings,
    candidates: Candidates,
    sensitive: SensitiveItems | None,
    outcomes: list[Outcome],
    opened: OpenedRelease | None,
    published: AttackedRelease | None,
    targets: NDArray[np.int64],
    seed: int,
) -> list[SensitiveDisclosure]:
    """Measure the table and its release, unless no record there belongs to a user."""
    if sensitive is None:
        return []
    found = [measure_in_table(ratings, candidates, sensitive, outcomes, targets, seed)]
    if published is None or opened is None or not published.attacks:
        return found
    # An adversary who finds a row with hidden items does not learn which they are.
    if opened.table is None or hides_items(opened.manifest.settings):
        return found
    adversary, _ = published.strongest
    in_release = measure_in_release(
        ratings, opened.table, opened.name, sensitive, adversary, targets, seed
    )
    return [*found, in_release]


def _measure(
    ratings: Ratings,
    sensitive: SensitiveItems,
    known: Knowledge,
    guesses: Guesses,
    record_of: NDArray[np.int64],
    row: _Rows,
    seed: int,
) -> tuple[Revealed, ...]:
    """Count the targets of whom the found record, or a random one in its place, reveals an item."""
    owners = np.flatnonzero(record_of >= 0)
    place = np.searchsorted(owners, known.targets)
    other = (place + np.random.default_rng([seed, 11]).integers(1, max(owners.size, 2))) % max(
        owners.size, 1
    )
    is_found = guesses.target_is_top & (guesses.best >= 0)
    found: dict[str, int] = dict.fromkeys(sensitive.masks, 0)
    by_chance = dict(found)
    for at, target in enumerate(known.targets.tolist()):
        rated, _ = ratings.row(target)
        unknown = np.setdiff1d(rated, known.items[known.indptr[at] : known.indptr[at + 1]])
        guessed = int(guesses.best[at]) if is_found[at] else -1
        random = int(record_of[owners[other[at]]]) if is_found[at] and owners.size > 1 else -1
        for counts, record in ((found, guessed), (by_chance, random)):
            revealed = np.intersect1d(row(record)[0], unknown) if record >= 0 else unknown[:0]
            for category, mask in sensitive.masks.items():
                counts[category] += bool(mask[revealed].any())
    return tuple(
        Revealed(
            category=category,
            items=int(mask.sum()),
            n_raters=int(sorted_unique(ratings.user_positions()[mask[ratings.indices]]).size),
            revealed=known.rate(found[category]),
            control=known.rate(by_chance[category]),
        )
        for category, mask in sensitive.masks.items()
    )
