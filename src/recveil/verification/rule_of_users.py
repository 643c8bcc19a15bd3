"""Comparison of synthetic users with the rule by which they are sampled."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import RatingScale
from recveil.release.earlier_formats import RENAMED_SINCE
from recveil.release.manifest import Manifest
from recveil.release.noisy_answers import FACTORS, ITEMS, OFFSETS, Arrays
from recveil.release.reader import read_rows
from recveil.release.synthetic_form import MOST_SAMPLED, rating_levels
from recveil.runtime.compiled import compiled

Numbers = NDArray[np.float64]
# Records with this many values between levels have some that are no level, if tenths are sampled.
_SURELY_BETWEEN = 20
# Times that two levels must occur, so that a user's latent numbers were on either side.
_OFTEN = 3
# Samples of the model with which that of the release is compared, and their cells in all.
_SAMPLES, _CELLS = 16, 60_000_000
# Items whose pairs are compared, the most popular first, and item orders per sample.
_PAIRED, _ORDERS = 200, 64
# Shares are compared where this many users are expected.
_EXPECTED = 5.0
# What no sample of the model reaches: so many times the mean, and deviations above that.
_TIMES, _DEVIATIONS = 1.1, 8.0


def samples_tenths(manifest: Manifest) -> bool:
    """Return whether sampled ratings are mostly between the levels of the scale."""
    step, scale = manifest.settings.get("value_step"), manifest.scale
    is_sampled = not manifest.contains_users and manifest.number >= RENAMED_SINCE
    return is_sampled and not scale.labels and scale.step not in (None, step) and not scale.unary


def copied_records(indptr: NDArray[Any], values: Numbers, scale: RatingScale) -> NDArray[np.int64]:
    """Return the records whose values are all levels, although tenths are sampled."""
    # A sampled value is an expected one among the liked levels, or among the others, and is between
    # two of them for nearly all users.
    levels, liked = rating_levels(scale), values >= scale.liked_from
    sides = {True: levels[levels >= scale.liked_from], False: levels[levels < scale.liked_from]}
    varies = np.where(liked, sides[True].size > 1, sides[False].size > 1)
    is_whole = scale.round(values) == values
    counts = np.add.reduceat(varies, indptr[:-1])
    whole = np.add.reduceat(varies & is_whole, indptr[:-1])
    found = np.flatnonzero((counts == whole) & (counts >= _SURELY_BETWEEN))
    return np.array(
        [at for at in found if _has_two(values[indptr[at] : indptr[at + 1]], sides)], int
    )


def _has_two(values: Numbers, sides: dict[bool, Numbers]) -> bool:
    return any(
        sum((values == level).sum() >= _OFTEN for level in side) > 1 for side in sides.values()
    )


def wrong_shares(folder: Path, manifest: Manifest, answers: Arrays) -> Iterator[str]:
    """Compare the shares of users with each item and pair of items with those of the model."""
    n_items, n_users = answers[ITEMS].size, manifest.counts["users"]
    n_compared = min(n_users, max(1, _CELLS // (_SAMPLES * n_items)))
    rng = np.random.default_rng(int(manifest.digest[:16], 16))
    chosen = np.sort(rng.choice(n_users, n_compared, replace=False))
    found = _chosen_users(folder, manifest, answers[ITEMS], chosen)
    samples = [_sample(answers, manifest, n_compared, rng) for _ in range(_SAMPLES)]
    whole = np.sum([each.sum(axis=0) for each in samples], axis=0)
    paired = np.argsort(-whole, kind="stable")[:_PAIRED]
    for what, shares in (
        ("items", _of_items),
        ("pairs of items", lambda x: _of_pairs(x[:, paired])),
    ):
        each = np.array([shares(sample) for sample in samples])
        total = each.sum(axis=0)
        usual = [_distance(one, total - one, n_compared, _SAMPLES - 1) for one in each]
        distance = _distance(shares(found), total, n_compared, _SAMPLES)
        limit = np.mean(usual) * _TIMES + _DEVIATIONS * np.std(usual, ddof=1)
        if distance > limit:
            yield (
                f"the users are not those of the published model: their shares of {what} differ "
                f"from it by {distance:.3g} times chance, where its samples reach {max(usual):.3g}"
            )


def _of_items(users: NDArray[np.bool_]) -> Numbers:
    return users.sum(axis=0).astype(np.float64)


def _of_pairs(users: NDArray[np.bool_]) -> Numbers:
    of_users = users.astype(np.float32)
    return (of_users.T @ of_users)[np.triu_indices(users.shape[1], 1)].astype(np.float64)


def _distance(found: Numbers, others: Numbers, n_users: int, n_samples: int) -> float:
    """Return the mean squared deviation of counts, in units of chance."""
    expected = others / n_samples
    often = expected >= _EXPECTED
    if not often.any():
        return 0.0
    share = np.clip(expected[often] / n_users, 0, 1 - 1 / n_users)
    variance = n_users * share * (1 - share) * (1 + 1 / n_samples)
    return float(((found[often] - expected[often]) ** 2 / variance).mean())


def _chosen_users(
    folder: Path, manifest: Manifest, items: NDArray[Any], chosen: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which items some users have, by their numbers in the order of the file."""
    users, n_before = np.zeros((chosen.size, items.size), np.bool_), 0
    for table in read_rows(folder, manifest):
        ids = table["user_id"].combine_chunks().dictionary_encode().indices.to_numpy() + n_before
        n_before = int(ids[-1]) + 1
        row = np.minimum(np.searchsorted(chosen, ids), chosen.size - 1)
        here = chosen[row] == ids
        of_table = table["item_id"].filter(here).to_numpy().astype(items.dtype)
        users[row[here], np.searchsorted(items, of_table)] = True
    return users


def _sample(
    answers: Arrays, manifest: Manifest, n_users: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which items users of the model have, as docs/explanation defines it."""
    activity = np.asarray(manifest.settings["user_counts"], np.float64)
    factors, logs = answers[FACTORS].astype(np.float64), np.log(activity)
    counts = np.quantile(activity, rng.random(n_users))
    users = rng.normal(size=(n_users, factors.shape[1]))
    users[:, 0] = (np.log(counts) - logs.mean()) / (logs.std() or 1.0)
    orders = np.array([rng.permutation(len(factors)) for _ in range(_ORDERS)])
    order_of, starts = rng.integers(_ORDERS, size=n_users), rng.random(n_users)
    odds = np.exp(np.clip(users @ factors.T + answers[OFFSETS], -60, 60))
    picked = np.zeros(odds.shape, np.bool_)
    most = np.minimum(counts, MOST_SAMPLED * len(factors))
    _pick(odds, most, orders[order_of], starts, picked)
    return picked


@compiled()
def _pick(odds, counts, orders, starts, picked):  # type: ignore[no-untyped-def]
    """Mark each user's items: systematic sampling with the expected number of items."""
    for user in range(len(odds)):
        low, high = -60.0, 60.0  # bisection of the offset
        for _ in range(30):
            middle, total = (low + high) / 2, 0.0
            factor = math.exp(middle)
            for item in range(odds.shape[1]):
                total += odds[user, item] * factor / (1 + odds[user, item] * factor)
            if total < counts[user]:
                low = middle
            else:
                high = middle
        factor = math.exp(high)
        passed, following, likeliest = 0.0, starts[user], 0
        for item in orders[user]:
            passed += odds[user, item] * factor / (1 + odds[user, item] * factor)
            if odds[user, item] > odds[user, likeliest]:
                likeliest = item
            if passed > following:
                picked[user, item] = True
                following += 1
        if following < 1:
            picked[user, likeliest] = True
