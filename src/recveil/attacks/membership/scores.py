"""Infer membership from item statistics: item counts and mean values, against all other users."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from recveil.attacks.adversary import Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.knowledge import Knowledge, World
from recveil.ratings import RatingScale


def score_by_presence(
    candidates: Candidates, adversary: Adversary, known: Knowledge, _scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return how much of what is known stands anywhere in the release, in several ways.

    No row is looked at by itself. A rare item that stands somewhere speaks for each of the few who
    rated it, and one that is missing speaks against them.

    Parameters
    ----------
    candidates : Candidates
    adversary : Adversary
    known : Knowledge
        With a `world`; without one, only the share is returned, which takes no outside knowledge.

    Returns
    -------
    list of ndarray of float64, shape (n_targets,) each
        The share of the known items that stand anywhere. Then the same, where an item counts by the
        logarithm of how rare it is among the others. And how much likelier it is that exactly these
        stand, if the target is in the release, than if not: as a sum of natural logarithms, and for
        each known item.

    Notes
    -----
    How likely an item stands if so many people rated it is learned from the release itself
    (`chance_to_stand`). Nothing here is of the size of rows times targets.
    """
    stands = (np.diff(candidates.indptr) > 0)[known.items]
    n_known = np.diff(known.indptr)
    share = _sums(known, stands) / n_known
    if known.world is None:
        return [share]
    raters, people = known.world.raters, known.world.people
    others = np.maximum(raters[known.items] - 1.0, 0.0)
    rarity = np.log((people + 1) / (others + 1))
    weighted = _sums(known, stands * rarity) / np.maximum(_sums(known, rarity), 1e-12)
    told = _sums(known, _tell(candidates, known.world, others, stands, _certainty(adversary)))
    return [share, weighted, told, told / n_known]


def chance_to_stand(
    candidates: Candidates, world: World
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Learn how likely an item stands in a release that so many people in the world rated.

    Parameters
    ----------
    candidates : Candidates
    world : World

    Returns
    -------
    raters : ndarray of int64
        Ascending numbers of people, from 0 on.
    chance : ndarray of float64
        The share of the items with so many raters that stand, made to rise with their number
        (isotonic least squares); never quite 0 or 1.

    Examples
    --------
    >>> from recveil.ratings import Ratings
    >>> ratings = Ratings.from_columns([1, 2, 2, 3], ["a", "a", "b", "c"])
    >>> some = Candidates.from_ratings(ratings)
    >>> for raters, chance in zip(*chance_to_stand(some, World.of(ratings)), strict=True):
    ...     print(raters, round(float(chance), 2))
    0 0.12
    1 0.88
    2 0.88
    """
    stands = np.diff(candidates.indptr) > 0
    # An item that nobody rated is not published; were it there, all of them would tell little.
    counts = np.append(world.raters, 0)
    raters, place = np.unique(counts, return_inverse=True)
    n_items = np.bincount(place).astype(np.float64)
    standing = np.bincount(place, weights=np.append(stands, False).astype(np.float64))
    least = 1 / (2 * counts.size)
    fitted = isotonic_regression(standing / n_items, weights=n_items).x
    return raters, np.clip(fitted, least, 1 - least)


def _tell(
    candidates: Candidates,
    world: World,
    others: NDArray[np.float64],
    stands: NDArray[np.bool_],
    certain: float,
) -> NDArray[np.float64]:
    """Return for each known item how much likelier it is to stand, or not to, with the target."""
    raters, chance = chance_to_stand(candidates, world)
    # One more person in a release of four fifths counts as much as 5/4 more in the world.
    in_release = min(candidates.n_people / world.people, 1.0)
    without = np.interp(others, raters, chance)
    with_target = np.interp(others + 1 / max(in_release, 1e-12), raters, chance)
    ratio = np.where(stands, with_target / without, (1 - with_target) / (1 - without))
    return np.log(certain * ratio + 1 - certain)


def _certainty(adversary: Adversary) -> float:
    """Return which share of the known items the target did rate."""
    return adversary.n_right / adversary.known if adversary.wrong_kind == "item" else 1.0


def _sums(known: Knowledge, of_entry: NDArray[np.generic]) -> NDArray[np.float64]:
    return np.add.reduceat(of_entry.astype(np.float64), known.indptr[:-1])


# What is added to the variance of an item's share of users, so that no rare item decides alone.
_DAMPING = (0.0, 0.003)
# An item mean of few other users is drawn to the mean of all items, as by so many more users.
_PRIOR = 2.0


def score_by_counts(
    candidates: Candidates, _adversary: Adversary, known: Knowledge, _scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Score how much more often the known items occur in the release than among all other users.

    Parameters
    ----------
    candidates : Candidates
    known : Knowledge
        With a `world`; without one there is nothing to compare with, and no score.

    Returns
    -------
    list of ndarray of float64, shape (n_targets,) each
        The excess of the share of users who carry an item, over the variance of that share: the
        sum and the mean over the known items, each with two dampings of rare items.

    Notes
    -----
    Source: Dwork et al. 2015 (tracing from aggregates). The target's own ratings are taken out of
    the outside counts, of members and of outsiders alike.
    """
    if known.world is None:
        return []
    people = max(known.world.people - 1, 1)
    share = np.maximum(known.world.raters[known.items] - 1.0, 0.0) / people
    carried, _ = _released_sums(candidates)
    excess = carried[known.items] / candidates.n_people - share
    scores = []
    for damping in _DAMPING:
        by_item = excess / (share * (1 - share) + damping + 1 / (2 * people))
        scores += _sum_and_mean(known, by_item)
    return scores


def score_by_values(
    candidates: Candidates, _adversary: Adversary, known: Knowledge, scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Score how far the release's mean values lean to where the known ratings lean.

    Parameters
    ----------
    candidates : Candidates
    known : Knowledge
        With ratings and a `world`; without them there are no scores.
    scale : RatingScale
        Implicit feedback has no values, and no scores.

    Returns
    -------
    list of ndarray of float64, shape (n_targets,) each
        The product of both deviations from the item's mean among all other users, summed and
        averaged over the known items: weighted by the number of values, then with the mean shift
        of all items and of the target's ratings removed.
    """
    world = known.world
    if world is None or world.totals is None or known.values is None or scale.unary:
        return []
    values = known.values.astype(np.float64)
    raters = np.maximum(world.raters[known.items] - 1.0, 0.0)
    overall = float(world.totals.sum() / max(world.raters.sum(), 1))
    others = world.totals[known.items] - values
    means = np.where(raters > 0, others + _PRIOR * overall, _PRIOR * overall) / (raters + _PRIOR)
    carried, totals = (of_items[known.items] for of_items in _released_sums(candidates))
    own_lean, lean = values - means, totals - carried * means
    weighted = lean * own_lean / (raters + 1)
    shift = float(lean.sum() / max(carried.sum(), 1.0))
    n_known = np.diff(known.indptr)
    own_shift = np.repeat(np.add.reduceat(own_lean, known.indptr[:-1]) / n_known, n_known)
    of_mean = np.divide(lean, carried, out=np.full(lean.size, shift), where=carried > 0) - shift
    return [
        *_sum_and_mean(known, weighted),
        *_sum_and_mean(known, of_mean * (own_lean - own_shift)),
    ]


def _released_sums(candidates: Candidates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for each item how many users of the release carry it, and the sum of their values."""
    n_items = candidates.indptr.size - 1
    items = np.repeat(np.arange(n_items), np.diff(candidates.indptr))
    people = candidates.sizes[candidates.records].astype(np.float64)
    values = people * candidates.levels[candidates.codes]
    carried, totals = (np.bincount(items, each, n_items) for each in (people, values))
    return carried.astype(np.float64), totals.astype(np.float64)


def _sum_and_mean(known: Knowledge, by_entry: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    sums = np.add.reduceat(by_entry, known.indptr[:-1])
    return [sums, sums / np.diff(known.indptr)]
