"""Infer membership from item statistics: item counts and mean values, against all other users."""

import numpy as np
from numpy.typing import NDArray

from recveil.attack.adversary import Adversary
from recveil.attack.candidates import Candidates
from recveil.attack.knowledge import Knowledge
from recveil.ratings import RatingScale

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
