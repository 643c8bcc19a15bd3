"""Scores of membership: how well a target fits a release, by rows, item counts or mean values."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from recveil.attacks.adversary import Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.knowledge import Knowledge, World
from recveil.attacks.reidentification.likelihood import likelihoods_for_means
from recveil.attacks.reidentification.residuals import score_by_residuals
from recveil.attacks.reidentification.scoreboard import ScoreboardRH
from recveil.ratings import RatingScale

# Scores every known target, shape (n_targets,) per variant; higher fits better. No variants if it
# does not apply to the release.
Scorer: TypeAlias = Callable[
    [Candidates, Adversary, Knowledge, RatingScale], Sequence[NDArray[np.float64]]
]


def score_by_presence(
    candidates: Candidates, adversary: Adversary, known: Knowledge, _scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return how much of what is known occurs anywhere in the release.

    Four scores: the share of the known items in the release; the same weighted by rarity among the
    others; the log-likelihood ratio of exactly these items with and without the target, in total
    and per known item. Without a `world` in `known`, only the share is returned.
    """
    is_released = (np.diff(candidates.indptr) > 0)[known.items]
    n_known = np.diff(known.indptr)
    share = _sum_by_target(known, is_released) / n_known
    if known.world is None:
        return [share]
    raters, n_users = known.world.raters, known.world.n_users
    others = np.maximum(raters[known.items] - 1.0, 0.0)
    rarity = np.log((n_users + 1) / (others + 1))
    weighted = _sum_by_target(known, is_released * rarity) / np.maximum(
        _sum_by_target(known, rarity), 1e-12
    )
    log_ratio = _sum_by_target(
        known, _log_ratios(candidates, known.world, others, is_released, _certainty(adversary))
    )
    return [share, weighted, log_ratio, log_ratio / n_known]


def chance_in_row(
    candidates: Candidates, world: World
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the probability that an item is released, by its number of raters in the world."""
    is_released = np.diff(candidates.indptr) > 0
    # An unrated item is not published, so that 0 raters serve as an anchor.
    counts = np.append(world.raters, 0)
    raters, place = np.unique(counts, return_inverse=True)
    n_items = np.bincount(place).astype(np.float64)
    n_released = np.bincount(place, weights=np.append(is_released, False).astype(np.float64))
    least = 1 / (2 * counts.size)
    fitted = isotonic_regression(n_released / n_items, weights=n_items).x
    return raters, np.clip(fitted, least, 1 - least)


def _log_ratios(
    candidates: Candidates,
    world: World,
    others: NDArray[np.float64],
    is_released: NDArray[np.bool_],
    certain: float,
) -> NDArray[np.float64]:
    """Return the log-likelihood ratio of each known item, with and without the target."""
    raters, chance = chance_in_row(candidates, world)
    # In a release of four fifths of the users, one more user counts as 5/4 users in the world.
    in_release = min(candidates.n_users / world.n_users, 1.0)
    without = np.interp(others, raters, chance)
    with_target = np.interp(others + 1 / max(in_release, 1e-12), raters, chance)
    ratio = np.where(is_released, with_target / without, (1 - with_target) / (1 - without))
    return np.log(certain * ratio + 1 - certain)


def _certainty(adversary: Adversary) -> float:
    """Return the share of the known items that the target did rate."""
    return adversary.n_right / adversary.known if adversary.wrong_kind == "item" else 1.0


# Added to the variance of an item's share of users, so that no rare item decides alone.
_DAMPING = (0.0, 0.003)
# Item means are shrunk to the mean of all items, with the weight of this many users.
_PRIOR = 2.0


def score_by_counts(
    candidates: Candidates, _adversary: Adversary, known: Knowledge, _scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Score the excess of the known items' counts in the release over those of all other users.

    Dwork et al. 2015 (tracing from aggregates): sum and mean of the excess share over its variance,
    each with two dampings of rare items. Without a `world` there is no score.
    """
    if known.world is None:
        return []
    n_others = max(known.world.n_users - 1, 1)
    share = np.maximum(known.world.raters[known.items] - 1.0, 0.0) / n_others
    carried, _ = _released_sums(candidates)
    excess = carried[known.items] / candidates.n_users - share
    scores = []
    for damping in _DAMPING:
        by_item = excess / (share * (1 - share) + damping + 1 / (2 * n_others))
        scores += _sum_and_mean(known, by_item)
    return scores


def score_by_values(
    candidates: Candidates, _adversary: Adversary, known: Knowledge, scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Score how far the release's mean values deviate in the direction of the known ratings.

    The product of both deviations from the item's mean among all other users, summed and averaged
    over the known items: first weighted by the number of values, then with the mean shift of all
    items and of the target's ratings removed. No scores without ratings, or without a `world`.
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
    deviations, lean = values - means, totals - carried * means
    weighted = lean * deviations / (raters + 1)
    shift = float(lean.sum() / max(carried.sum(), 1.0))
    n_known = np.diff(known.indptr)
    target_shift = np.repeat(np.add.reduceat(deviations, known.indptr[:-1]) / n_known, n_known)
    of_mean = np.divide(lean, carried, out=np.full(lean.size, shift), where=carried > 0) - shift
    return [
        *_sum_and_mean(known, weighted),
        *_sum_and_mean(known, of_mean * (deviations - target_shift)),
    ]


def _released_sums(candidates: Candidates) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each item's number of users in the release, and the sum of their values."""
    users = candidates.sizes[candidates.records].astype(np.float64)
    values, items = users * candidates.values, candidates.items
    carried, totals = (np.bincount(items, each, candidates.n_items) for each in (users, values))
    return carried.astype(np.float64), totals.astype(np.float64)


def _sum_and_mean(known: Knowledge, by_entry: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    sums = _sum_by_target(known, by_entry)
    return [sums, sums / np.diff(known.indptr)]


def score_by_scoreboard_rh(
    candidates: Candidates, adversary: Adversary, known: Knowledge, _scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return the highest score of a record, as a share of the largest possible score."""
    support = np.maximum(candidates.support, 1)
    most = _sum_by_target(known, 1 / np.log(np.maximum(support, 2))[known.items])
    return [ScoreboardRH.of(adversary).attack(candidates, known, _no_records(known)).score / most]


def score_by_likelihood(
    candidates: Candidates, adversary: Adversary, known: Knowledge, scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return the target's likelihood under the best record, for several spreads of values.

    The second half of the list adds the rarity of the known items: with rare items, a high score is
    less likely by chance.
    """
    odds = [
        attack.attack(candidates, known, _no_records(known)).score
        for attack in likelihoods_for_means(adversary, scale.range)
    ]
    rarity = np.log(candidates.n_users / np.maximum(candidates.support, 1))
    rare = _sum_by_target(known, rarity[known.items])
    return [*odds, *(odd + rare for odd in odds)]


def score_by_narrowest(
    candidates: Candidates, _adversary: Adversary, known: Knowledge, scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return how narrow the narrowest row with the known items is, for implicit feedback.

    In padded releases a member's items are all in the row of their group, which is little wider; a
    nonmember's are only in wide rows, or in none. A missing item makes a row wider by the number
    of items. The scores are the negative width per known item, and as it is.
    """
    if not scale.unary:
        return []
    widths = np.bincount(candidates.records, minlength=candidates.n_records)
    narrowest, n_known = np.empty(known.targets.size), np.diff(known.indptr)
    for target in range(known.targets.size):
        items = known.items[known.indptr[target] : known.indptr[target + 1]]
        spans = zip(candidates.indptr[items], candidates.indptr[items + 1], strict=True)
        records = np.concatenate([candidates.records[start:end] for start, end in spans])
        missing = items.size - np.bincount(records, minlength=candidates.n_records)
        narrowest[target] = (widths + candidates.indptr.size * missing).min()
    return [-narrowest / n_known, -narrowest]


def score_by_dates(
    candidates: Candidates, adversary: Adversary, known: Knowledge, _scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return how near the published dates of the known items are to the known days, two scores.

    They are the mean over the known items of ``exp(-days / day_width)``, of the nearest date and
    averaged over dates, and the same weighted by rarity; an item without a date counts as far off.
    """
    if candidates.days is None or known.days is None:
        return []
    near, mean = np.zeros(known.items.size), np.zeros(known.items.size)
    starts = candidates.indptr
    for entry, (item, day) in enumerate(
        zip(known.items.tolist(), known.days.tolist(), strict=True)
    ):
        dates = candidates.days[starts[item] : starts[item + 1]]
        if dates.size:
            alike = np.exp(-np.abs(dates - day) / adversary.day_width)
            near[entry], mean[entry] = alike.max(), alike.mean()
    rarity = 1 / np.log(np.maximum(candidates.support, 2))[known.items]
    weights = (np.ones(near.size), rarity)
    return [
        _sum_by_target(known, weight * of_dates) / _sum_by_target(known, weight)
        for of_dates in (near, mean)
        for weight in weights
    ]


# Scores by name; entries may be added.
SCORERS: dict[str, Scorer] = {
    "scoreboard-rh": score_by_scoreboard_rh,
    "likelihood": score_by_likelihood,
    "residual": score_by_residuals,
    "narrowest": score_by_narrowest,
    "presence": score_by_presence,
    "counts": score_by_counts,
    "values": score_by_values,
    "dates": score_by_dates,
}
# Those that compare dates, where a release has some.
OF_DATES = ("scoreboard-rh", "likelihood", "dates")


def _no_records(known: Knowledge) -> NDArray[np.int64]:
    """Return -1 for every user: the score must not depend on true records."""
    return np.full(int(known.targets.max(initial=0)) + 1, -1)


def _sum_by_target(known: Knowledge, by_entry: NDArray[Any]) -> NDArray[np.float64]:
    return np.add.reduceat(by_entry.astype(np.float64), known.indptr[:-1])
