"""Detection of fills in co-rated releases.

Without the fills, a release is nearly the table it was made from: they must look like ratings.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.candidates import Candidates
from recveil.predict import UserKNN
from recveil.ratings import Ratings, RatingScale


def predict_values(
    candidates: Candidates, scale: RatingScale, believed: NDArray[np.bool_] | None = None
) -> NDArray[np.float32]:
    """Predict every value from the `believed` ones of other records; shape (n_values,).

    >>> alike = Ratings.from_columns(["a", "a", "b", "b"], [7, 8, 7, 8], [4, 4, 4, 4])
    >>> predict_values(Candidates.from_ratings(alike), RatingScale(1, 5, 1))
    array([4., 4., 4., 4.], dtype=float32)
    """
    items = candidates.items
    values = np.clip(candidates.levels, scale.low, scale.high)[candidates.codes]
    # The candidates are ordered by item; a stable sort orders them by record, items ascending.
    order = np.argsort(candidates.records, kind="stable")
    if believed is not None:
        order = order[believed[order]]
    activity = np.bincount(candidates.records[order], minlength=candidates.n_records)
    rows = Ratings(
        np.arange(candidates.n_records),
        np.arange(candidates.n_items),
        np.concatenate([[0], np.cumsum(activity)]),
        items[order],
        values[order],
        None,
        RatingScale(scale.low, scale.high),
    )
    return UserKNN().fit(rows).predict(candidates.records, items)


# Time in microseconds per pair of records with the same item, and per prediction.
_A_PAIR, _A_PREDICTION = 0.003, 0.8


def effort_of_prediction(candidates: Candidates, believed: float = 1.0) -> float:
    """Return the time of `predict_values` in microseconds; `believed` is the share to train on.

    >>> alike = Ratings.from_columns(["a", "a", "b", "b"], [7, 8, 7, 8], [4, 4, 4, 4])
    >>> round(effort_of_prediction(Candidates.from_ratings(alike)), 3)
    3.224
    """
    pairs = float((np.diff(candidates.indptr).astype(np.float64) ** 2).sum())
    return _A_PAIR * pairs * believed + _A_PREDICTION * candidates.codes.size


# Relative precision of float32 ratings, and of the grid that candidates with very many distinct
# values are rounded to.
_SINGLE, _GRID = 2**-22, 2**-16.9
# A value is rare if it occurs this many times less often than the average.
_RARE = 10
# Prediction compares all pairs of users: with more values it takes too long.
MOST_PREDICTED = 1 << 21

Strike = Callable[[Candidates, RatingScale], NDArray[np.bool_]]


def off_scale(candidates: Candidates, scale: RatingScale) -> NDArray[np.bool_]:
    """Mark the values off the scale, shape (n_values,); on a continuous scale there are none."""
    if scale.step is None:
        return np.zeros(candidates.codes.size, np.bool_)
    off = _read(candidates.levels, scale) != scale.round(candidates.levels)
    return np.asarray(off[candidates.codes])


def _read(levels: NDArray[np.float64], scale: RatingScale) -> NDArray[np.float64]:
    if not levels.size:
        return levels
    nearest = scale.round(levels)
    tolerance = max(_SINGLE * float(np.abs(levels).max()), _GRID * float(np.ptp(levels)))
    return np.where(np.abs(levels - nearest) > tolerance, levels, nearest)


def rare(candidates: Candidates, scale: RatingScale) -> NDArray[np.bool_]:
    """Mark the values that are rare on a continuous scale, shape (n_values,).

    Users give round numbers; computed fills are not round. On a scale with steps, `off_scale`
    detects these fills with certainty, and none are marked here.
    """
    if scale.step is not None:
        return np.zeros(candidates.codes.size, np.bool_)
    counts = np.bincount(candidates.codes, minlength=candidates.levels.size)
    mean = candidates.codes.size / max(candidates.levels.size, 1)
    return np.asarray((counts < min(_RARE * mean, counts.max(initial=0)))[candidates.codes])


def most_frequent(candidates: Candidates, _scale: RatingScale) -> NDArray[np.bool_]:
    """Mark the most frequent value of each item, shape (n_values,).

    The mean of an item, rounded or not, is the same in all rows. Values are counted by user; of
    ties, the lowest is marked.
    """
    struck = np.zeros(candidates.codes.size, np.bool_)
    for start, end in itertools.pairwise(candidates.indptr.tolist()):
        if start < end:
            codes = candidates.codes[start:end]
            n_users = np.bincount(codes, weights=candidates.sizes[candidates.records[start:end]])
            struck[start:end] = codes == n_users.argmax()
    return struck


def predicted(candidates: Candidates, scale: RatingScale) -> NDArray[np.bool_]:
    """Mark the values that `UserKNN` predicts from the other rows, rounded; shape (n_values,).

    None on a continuous scale, where equality is undefined, and none with very many values, because
    it takes too long.
    """
    n_values = candidates.codes.size
    if scale.step is None or n_values > MOST_PREDICTED:
        return np.zeros(n_values, np.bool_)
    values = np.clip(candidates.levels, scale.low, scale.high)[candidates.codes]
    predictions = predict_values(candidates, scale)
    return np.asarray(scale.round(predictions) == scale.round(values))


_PREDICTED = "values that the other rows predict"
# Detectors of fills, by names that follow "without".
STRIKES: dict[str, Strike] = {
    "values off the scale": off_scale,
    "rare values": rare,
    "the most frequent value of each item": most_frequent,
    _PREDICTED: predicted,
}


# These detect nearly all fills, so that prediction is not needed.
_SURE = frozenset({"values off the scale", "rare values"})


def effort_of_strikes(candidates: Candidates, scale: RatingScale) -> float:
    """Return the approximate time of `find_strikes`, in microseconds: that of prediction."""
    if scale.step is None or candidates.codes.size > MOST_PREDICTED:
        return 0.0
    return 0.0 if off_scale(candidates, scale).any() else effort_of_prediction(candidates)


def find_strikes(candidates: Candidates, scale: RatingScale) -> dict[str, NDArray[np.bool_]]:
    """Return, per detector, a mask of the values that an adversary may remove as fills.

    Uses published data only. Detectors that mark nothing, or everything, are left out, and so are
    predictions, which are slow, if fills are off the scale or rare.
    """
    found: dict[str, NDArray[np.bool_]] = {}
    for name, strike in STRIKES.items():
        if name == _PREDICTED and found.keys() & _SURE:
            continue
        struck = strike(candidates, scale)
        if struck.any() and not struck.all():
            found[name] = struck
    return found


def left_untried(candidates: Candidates, found: Iterable[str]) -> str:
    """Return the detector that would have taken too long; "" if none would."""
    too_many = candidates.codes.size > MOST_PREDICTED and not _SURE & set(found)
    return _PREDICTED if too_many else ""


def strike_out(candidates: Candidates, struck: NDArray[np.bool_], scale: RatingScale) -> Candidates:
    """Return the candidates without the marked values.

    Records keep their positions, even if they lose all values. Records that become identical are
    not merged; they have the same score, and share it.
    """
    kept = ~struck
    before = np.concatenate([[0], np.cumsum(kept)])
    records, codes = candidates.records[kept], candidates.codes[kept]
    # The attacks compare distinct levels, so that unused ones must be removed.
    left, codes = np.unique(codes, return_inverse=True)
    levels, place = np.unique(_read(candidates.levels, scale)[left], return_inverse=True)
    return replace(
        candidates,
        indptr=before[candidates.indptr],
        records=records,
        codes=place[codes].astype(candidates.codes.dtype),
        levels=levels,
        days=None if candidates.days is None else candidates.days[kept],
        activity=np.bincount(records, minlength=candidates.n_records),
    )
