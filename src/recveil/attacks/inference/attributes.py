"""Attribute inference from releases of synthetic users.

No record of such a release belongs to a user. The adversary can take the synthetic record nearest
to what they know of a target, or learn from the whole release which items are liked together. Both
also work for users outside the data, who are the control: the risk is the difference.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks.adversary import Adversary
from recveil.attacks.knowledge import Knowledge, draw_knowledge
from recveil.attacks.membership.held_out import PartialRelease
from recveil.attacks.registry import Attack, attacks_on_release
from recveil.attacks.reidentification.on_release import without_unpublished
from recveil.attacks.release_target import ReleasedTable
from recveil.attacks.statistics import (
    FEWEST,
    NO_ATTACK,
    Mean,
    difference_of_means,
    mean_interval,
)
from recveil.ratings import Ratings
from recveil.runtime.errors import describe_count

# A target of whom the record reveals nothing counts one half.
_COIN = 0.5


class Attributes(NamedTuple):
    """Share of ratings correctly inferred to be above or below the item's mean.

    Attributes
    ----------
    members, strangers : Mean
        Share of a user's unknown ratings whose side of the item's mean is inferred correctly; mean
        over users. Strangers are not in the release: the control.
    excess : Mean
        Members minus strangers: what being in the data reveals.
    attack : str
        Registered attack that chose the record.
    has_guessed : bool
        Whether any attack made a guess. If not, the shares are no measurement.
    """

    members: Mean
    strangers: Mean
    excess: Mean
    attack: str
    has_guessed: bool = True


def infer_attributes(
    ratings: Ratings, held_out: PartialRelease, adversary: Adversary, seed: int = 0
) -> Attributes | None:
    """Infer unknown ratings of members and non-members from the best-fitting record.

    Every other user selects the strongest attack; the rest give the figures.

    Parameters
    ----------
    ratings : Ratings
    held_out : PartialRelease
        A release without some of the users.
    adversary : Adversary
    seed : int
        Fixes what the adversary knows.

    Returns
    -------
    Attributes or None
        None if too few users have enough ratings to be known.

    Notes
    -----
    Source: Giomi et al. 2023 (Anonymeter). What is also inferred of users outside the release
    follows from the population; the risk is the excess of members. Ratings equal to the item's
    mean, and users of whom the record reveals nothing, count one half.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.attacks.membership.held_out import hold_out
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=200, n_items=60, n_ratings=4000, seed=1)
    >>> held_out = hold_out(ratings, PredictiveAnonymizer(k=3, seed=1))
    >>> told = infer_attributes(ratings, held_out, Adversary(known=8))
    >>> told.members.mean - told.strangers.mean == told.excess.mean
    True
    """
    adversary = without_unpublished(ratings, adversary)
    known = [
        draw_knowledge(ratings, adversary, users, seed)
        for users in (held_out.inside, held_out.outside)
    ]
    if min(about.targets.size for about in known) < 4:
        return None
    means = held_out.table.item_means()
    tried = [
        (name, [_guess(ratings, held_out.table, attack, about, means) for about in known])
        for name, attack in attacks_on_release(adversary, ratings.scale)
    ]
    # An attack that does not apply to the release guesses nothing, and must not be the strongest.
    applied = [way for way in tried if not all(np.isnan(side).all() for side in way[1])]
    filled = [
        (name, [np.nan_to_num(side, nan=_COIN) for side in sides])
        for name, sides in applied or tried
    ]
    name, (inside, outside) = max(filled, key=lambda way: _lead_of_members(*way[1]))
    members, strangers = mean_interval(inside[1::2]), mean_interval(outside[1::2])
    excess = difference_of_means(members, strangers)
    return Attributes(members, strangers, excess, name, has_guessed=bool(applied))


def describe_attributes(result: Attributes) -> str:
    """Describe the attribute inference of members and of the control.

    Examples
    --------
    >>> some = Mean(0.6, 0.55, 0.65, 90)
    >>> describe_attributes(Attributes(some, some, Mean(0.0, -0.07, 0.07, 180), "nearest"))[-69:]
    '(-7.0 to 7.0), which is no evidence that the release reveals nothing.'
    """
    excess, (members, strangers) = result.excess, (result.members, result.strangers)
    if min(members.trials, strangers.trials) < FEWEST:
        return (
            f"Attribute inference was not measured: too few users ({members.trials:,} members "
            f"and {strangers.trials:,} strangers; it takes {FEWEST} of each), which is no evidence "
            f"that the release reveals nothing."
        )
    if not result.has_guessed:
        return (
            f"Whether a user liked another item more than most did: {NO_ATTACK}, as no record "
            f"revealed it for {describe_count(members.trials, 'member')} or "
            f"{describe_count(strangers.trials, 'user')} outside the data, which is no evidence "
            f"that the release reveals nothing."
        )
    sentence = (
        f"Whether a user liked another item more than most did is inferred correctly in "
        f"{members.mean:.1%} of cases for {describe_count(members.trials, 'member')}, and in "
        f"{strangers.mean:.1%} for {describe_count(strangers.trials, 'user')} outside the data: "
        f"being in the data adds {100 * excess.mean:.1f} points "
        f"({100 * excess.low:.1f} to {100 * excess.high:.1f})"
    )
    return (
        f"{sentence}."
        if excess.low > 0
        else f"{sentence}, which is no evidence that the release reveals nothing."
    )


def _lead_of_members(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Return the lead of members among the users who select the attack."""
    return float(inside[::2].mean() - outside[::2].mean())


def _guess(
    ratings: Ratings,
    table: ReleasedTable,
    attack: Attack,
    known: Knowledge,
    means: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each target's share of correct guesses, nan where the record reveals nothing."""
    nobodys = np.full(ratings.n_users, -1)  # the guesses must not depend on whose record it is
    best = attack.attack(table.candidates, known, nobodys).best
    right = np.full(best.size, np.nan)
    for place in np.flatnonzero(best >= 0).tolist():
        entries = slice(known.indptr[place], known.indptr[place + 1])
        rated, values = ratings.row(int(known.targets[place]))
        unknown = ~np.isin(rated, known.items[entries])
        items, labels = table.row(int(best[place]))
        common, in_row, in_rated = np.intersect1d(
            items, rated[unknown], assume_unique=True, return_indices=True
        )
        guessed = np.sign(labels[in_row] - means[common])
        if guessed.any():
            truth = np.sign(values[unknown][in_rated] - means[common])
            right[place] = float(((guessed * truth) / 2 + 0.5).mean())
    return right


# Most users on either side; each needs a regression.
_MOST = 300
# Ridge penalties, in units of one user's mean squared deviation.
_DAMPING = (3.0, 30.0)

_Shares = NDArray[np.float64]


class Resemblance(NamedTuple):
    """Share of correct inferences for members and non-members."""

    # Mean correct share over users. Strangers are not in the data: the control.
    members: Mean
    strangers: Mean
    # Members minus strangers: what being in the data reveals
    excess: Mean
    # The strongest variant; every other user selects it, the rest give the figures
    way: str
    # Whether any variant made a guess. If not, the shares are no measurement.
    has_guessed: bool = True


def score_nearest(
    ratings: Ratings, held_out: PartialRelease, adversary: Adversary, seed: int = 0
) -> Resemblance | None:
    """Measure how many items of the best-fitting synthetic record the target rated."""
    known = _known(ratings, held_out, adversary, seed)
    if known is None:
        return None
    ways = {
        f"{name}-{place}": [_rated(ratings, held_out.table, attack, about) for about in known]
        for place, (name, attack) in enumerate(attacks_on_release(adversary, ratings.scale))
    }
    has_guessed, ways = _filled(ways, 0.0)
    best = {name.rpartition("-")[0]: ways[name] for name in _best_of_name(ways)}
    return _most_informative(best, has_guessed=has_guessed)


def infer_embeddings(
    ratings: Ratings, held_out: PartialRelease, adversary: Adversary, seed: int = 0
) -> Resemblance | None:
    """Infer unknown ratings from the correlations of items in the whole release.

    Notes
    -----
    A ridge regression on the known items, with each value's deviation from its item's mean in all
    records, as in an item-based recommender. At most 300 users on either side.
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
    return _most_informative(ways, has_guessed=has_guessed)


def _filled(ways: dict[str, list[_Shares]], blank: float) -> tuple[bool, dict[str, list[_Shares]]]:
    """Return whether any variant made a guess, and those that did (all if none), nan as `blank`."""
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
    """Return what is known of members and of non-members; None if too few can be known."""
    blunted = without_unpublished(ratings, adversary)
    sides = (held_out.inside[:_MOST], held_out.outside[:_MOST])
    known = [draw_knowledge(ratings, blunted, users, seed) for users in sides]
    return known if min(about.targets.size for about in known) >= 4 else None


def _best_of_name(ways: dict[str, list[_Shares]]) -> list[str]:
    """Return the variant of each attack in which members lead most."""
    best: dict[str, str] = {}
    for name in ways:
        attack = name.rpartition("-")[0]
        if attack not in best or _lead(ways[name]) > _lead(ways[best[attack]]):
            best[attack] = name
    return list(best.values())


def _lead(sides: list[_Shares]) -> float:
    """Return the lead of members among the users who select the variant."""
    inside, outside = sides
    return float(inside[::2].mean() - outside[::2].mean())


def _most_informative(ways: dict[str, list[_Shares]], *, has_guessed: bool) -> Resemblance:
    name = max(ways, key=lambda way: _lead(ways[way]))
    members, strangers = (mean_interval(side[1::2]) for side in ways[name])
    excess = difference_of_means(members, strangers)
    return Resemblance(members, strangers, excess, name, has_guessed)


def _rated(ratings: Ratings, table: ReleasedTable, attack: Attack, known: Knowledge) -> _Shares:
    """Return the rated share of the nearest record's other items per target, nan on a tie."""
    nobodys = np.full(ratings.n_users, -1)  # the guesses must not depend on whose record it is
    best = attack.attack(table.candidates, known, nobodys).best
    shares = np.full(best.size, np.nan)
    for place in np.flatnonzero(best >= 0).tolist():
        entries = slice(known.indptr[place], known.indptr[place + 1])
        rated, _ = ratings.row(int(known.targets[place]))
        items, _ = table.row(int(best[place]))
        others = items[~np.isin(items, known.items[entries])]
        shares[place] = np.isin(others, rated).mean() if others.size else 0.0
    return shares


def _distances(table: ReleasedTable) -> sparse.csc_array:
    """Return each value's deviation from its item's mean, weighted by the record's users."""
    n_items = table.candidates.indptr.size - 1
    weights = np.sqrt(np.repeat(table.candidates.sizes, np.diff(table.indptr)))
    values = (table.values - table.item_means()[table.indices]) * weights
    shape = (table.indptr.size - 1, n_items)
    return sparse.csr_array((values, table.indices, table.indptr), shape=shape).tocsc()


def _guessed(
    ratings: Ratings, apart: sparse.csc_array, means: _Shares, known: Knowledge, damping: float
) -> _Shares:
    """Return each target's share of ratings whose side is correct, nan without a guess."""
    spread = float((apart.data**2).mean() or 1.0) if apart.nnz else 1.0
    right = np.full(known.targets.size, np.nan)
    for place, target in enumerate(known.targets.tolist()):
        entries = slice(known.indptr[place], known.indptr[place + 1])
        items = known.items[entries][np.isfinite(means[known.items[entries]])]
        rated, values = ratings.row(target)
        unknown = ~np.isin(rated, known.items[entries]) & np.isfinite(means[rated])
        if not items.size or not unknown.any() or known.values is None:
            continue
        deviations = known.values[entries][np.isfinite(means[known.items[entries]])] - means[items]
        columns = apart[:, items]
        gram = (columns.T @ columns).toarray() + damping * spread * np.eye(items.size)
        guesses = apart[:, rated[unknown]].T @ (columns @ np.linalg.solve(gram, deviations))
        if not guesses.any():
            continue
        truth = np.sign(values[unknown] - means[rated[unknown]])
        right[place] = float((np.sign(guesses) * truth / 2 + 0.5).mean())
    return right
