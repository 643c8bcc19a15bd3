"""Drawn people: what records that are nobody's tell of somebody because they were in the data.

Nobody can be found in such a release. What is left to try: to take the drawn record that is nearest
to what one knows of somebody for a picture of that person, and to learn from the whole release what
goes with what. Both work on strangers, too; what being in the data tells is the difference.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attack.adversary import Adversary
from recveil.attack.attacks import attacks_on_release
from recveil.attack.held_out import PartialRelease
from recveil.attack.knowledge import Knowledge, draw_knowledge
from recveil.attack.on_release import without_unpublished
from recveil.attack.protocol import Attack
from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import (
    NO_ATTACK,
    Mean,
    difference_of_means,
    mean_interval,
    plain_means,
)
from recveil.ratings import Ratings

# At most so many people on either side; each asks for a regression of its own.
_MOST = 300
# How many people's worth of nothing a weight must outdo.
_DAMPING = (3.0, 30.0)

_Shares = NDArray[np.float64]


class Resemblance(NamedTuple):
    """How right it is what a release says of people, in the data and not.

    Attributes
    ----------
    members, strangers : Mean
        The mean share that is right, over people. Strangers are not in the data: the control.
    excess : Mean
        Members less strangers: what is told because somebody is in the data.
    way : str
        Which way of looking told most; every other person decided it, the rest were counted.
    has_guessed : bool
        Whether any way guessed anything of anybody; if not, the shares are no measurement.
    """

    members: Mean
    strangers: Mean
    excess: Mean
    way: str
    has_guessed: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        plain = plain_means(self.members, self.strangers, self.excess, guessed=self.has_guessed)
        return {**plain, "way": self.way if self.has_guessed else NO_ATTACK}


def tell_nearest(
    ratings: Ratings, held_out: PartialRelease, adversary: Adversary, seed: int = 0
) -> Resemblance | None:
    """Take the drawn record that fits somebody best, and see how many of its items they rated.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    held_out : PartialRelease
        A release that was drawn without some of the people.
    adversary : Adversary
    seed : int
        Fixes what is known.

    Returns
    -------
    Resemblance or None
        Of the share of the record's other items that the person rated; None if too few people on
        either side can be known. Whoever is left with a tie counts with nothing told.

    Examples
    --------
    >>> from recveil.attack.held_out import hold_out
    >>> from recveil.anonymize import RawRelease  # where records are people's, it is told
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=200, n_items=60, n_ratings=4000, seed=1)
    >>> told = tell_nearest(ratings, hold_out(ratings, RawRelease(seed=1)), Adversary(known=8))
    >>> told.excess.low > 0.3
    True
    """
    known = _known(ratings, held_out, adversary, seed)
    if known is None:
        return None
    ways = {
        f"{name}-{place}": [_rated(ratings, held_out.table, attack, about) for about in known]
        for place, (name, attack) in enumerate(attacks_on_release(adversary, ratings.scale))
    }
    has_guessed, ways = _filled(ways, 0.0)
    best = {name.rpartition("-")[0]: ways[name] for name in _best_of_name(ways)}
    return _most_telling(best, has_guessed=has_guessed)


def infer_tastes(
    ratings: Ratings, held_out: PartialRelease, adversary: Adversary, seed: int = 0
) -> Resemblance | None:
    """Learn from the whole release what goes with what, and guess what else somebody liked.

    Parameters
    ----------
    ratings, held_out, adversary, seed
        As in `tell_nearest`.

    Returns
    -------
    Resemblance or None
        Of the share of a person's unknown ratings that are guessed rightly to be above, or below,
        the item's mean in the release; one half is a coin.

    Notes
    -----
    A ridge regression on the items that are known, with the labels' distances from the items' means
    in all records, as an item-based recommender would. At most 300 people on either side.

    Examples
    --------
    >>> from recveil.attack.held_out import hold_out
    >>> from recveil.anonymize import RawRelease
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=200, n_items=60, n_ratings=4000, seed=1)
    >>> told = infer_tastes(ratings, hold_out(ratings, RawRelease(seed=1)), Adversary(known=8))
    >>> told.members.mean > 0.5
    True
    """
    known = _known(ratings, held_out, adversary, seed)
    if known is None:
        return None
    table = held_out.table
    means, apart = table.item_means(), _distances(table)
    ways = {
        f"regression, damped by {damping:g}": [
            _guessed(ratings, apart, means, about, damping) for about in known
        ]
        for damping in _DAMPING
    }
    has_guessed, ways = _filled(ways, 0.5)
    return _most_telling(ways, has_guessed=has_guessed)


def _filled(ways: dict[str, list[_Shares]], blank: float) -> tuple[bool, dict[str, list[_Shares]]]:
    """Return whether any way guessed anything, and the ways that did; all if none did.

    Whoever nothing was guessed of counts as `blank`.
    """
    applied = {
        name: sides
        for name, sides in ways.items()
        if not all(np.isnan(side).all() for side in sides)
    }
    return bool(applied), {
        name: [np.nan_to_num(side, nan=blank) for side in sides]
        for name, sides in (applied or ways).items()
    }


def _known(
    ratings: Ratings, held_out: PartialRelease, adversary: Adversary, seed: int
) -> list[Knowledge] | None:
    """Return what is known of members and of strangers; None if too few can be known."""
    blunted = without_unpublished(ratings, adversary)
    sides = (held_out.inside[:_MOST], held_out.outside[:_MOST])
    known = [draw_knowledge(ratings, blunted, users, seed) for users in sides]
    return known if min(about.targets.size for about in known) >= 4 else None


def _best_of_name(ways: dict[str, list[_Shares]]) -> list[str]:
    """Return for each attack that of its variants by which members are ahead most."""
    best: dict[str, str] = {}
    for name in ways:
        attack = name.rpartition("-")[0]
        if attack not in best or _lead(ways[name]) > _lead(ways[best[attack]]):
            best[attack] = name
    return list(best.values())


def _lead(sides: list[_Shares]) -> float:
    """Return by how much members are ahead, among the people who decide."""
    inside, outside = sides
    return float(inside[::2].mean() - outside[::2].mean())


def _most_telling(ways: dict[str, list[_Shares]], *, has_guessed: bool) -> Resemblance:
    name = max(ways, key=lambda way: _lead(ways[way]))
    members, strangers = (mean_interval(side[1::2]) for side in ways[name])
    excess = difference_of_means(members, strangers)
    return Resemblance(members, strangers, excess, name, has_guessed)


def _rated(ratings: Ratings, table: ReleasedTable, attack: Attack, known: Knowledge) -> _Shares:
    """Return for each target the share of the nearest record's other items that they rated.

    It is nan for whoever is left with a tie.
    """
    nobodys = np.full(ratings.n_users, -1)  # the guesses must not depend on whose a record is
    best = attack.attack(table.candidates, known, nobodys).best
    shares = np.full(best.size, np.nan)
    for place in np.flatnonzero(best >= 0).tolist():
        own = slice(known.indptr[place], known.indptr[place + 1])
        rated, _ = ratings.row(int(known.targets[place]))
        items, _ = table.row(int(best[place]))
        others = items[~np.isin(items, known.items[own])]
        shares[place] = np.isin(others, rated).mean() if others.size else 0.0
    return shares


def _distances(table: ReleasedTable) -> sparse.csc_array:
    """Return how far each label lies from its item's mean, a record of s people s times."""
    n_items = table.candidates.indptr.size - 1
    weights = np.sqrt(np.repeat(table.candidates.sizes, np.diff(table.indptr)))
    values = (table.values - table.item_means()[table.indices]) * weights
    shape = (table.indptr.size - 1, n_items)
    return sparse.csr_array((values, table.indices, table.indptr), shape=shape).tocsc()


def _guessed(
    ratings: Ratings, apart: sparse.csc_array, means: _Shares, known: Knowledge, damping: float
) -> _Shares:
    """Return for each target the share of the unknown ratings whose side is guessed rightly.

    It is nan where there is nothing to guess from, or to guess.
    """
    spread = float((apart.data**2).mean() or 1.0) if apart.nnz else 1.0
    right = np.full(known.targets.size, np.nan)
    for place, target in enumerate(known.targets.tolist()):
        own = slice(known.indptr[place], known.indptr[place + 1])
        items = known.items[own][np.isfinite(means[known.items[own]])]
        rated, values = ratings.row(target)
        unknown = ~np.isin(rated, known.items[own]) & np.isfinite(means[rated])
        if not items.size or not unknown.any() or known.values is None:
            continue
        told = known.values[own][np.isfinite(means[known.items[own]])] - means[items]
        columns = apart[:, items]
        gram = (columns.T @ columns).toarray() + damping * spread * np.eye(items.size)
        guesses = apart[:, rated[unknown]].T @ (columns @ np.linalg.solve(gram, told))
        if not guesses.any():
            continue
        truth = np.sign(values[unknown] - means[rated[unknown]])
        right[place] = float((np.sign(guesses) * truth / 2 + 0.5).mean())
    return right
