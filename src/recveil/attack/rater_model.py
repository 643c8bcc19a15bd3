"""Rater model: how likely a published mean is, if nobody, one, two or more of a group rated."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.compiled import compiled

Matrix = NDArray[np.float64]
_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)
# A density that everything has, so that no single cell decides alone.
_ANYTHING = 1e-6
# Beyond two, this many raters at least; and no rate is beyond these.
_MANY = 3.0
_RATES = (1e-4, 20.0)


class RaterModel(NamedTuple):
    """What the model knows of all cells alike.

    Attributes
    ----------
    shrink : float
        How far predictions have moved towards the ratings that they were learned from, 0 to 1.
    member_spread : float
        How far a member's prediction is off the group's mean one, in rating points.
    lean, spread : float
        Mean and deviation of ratings around the fitted label, in rating points.
    half : float
        Labels are rounded by at most so much; 0 if they are not.
    """

    shrink: float
    member_spread: float
    lean: float
    spread: float
    half: float


@brief
class Explained(NamedTuple):
    """What the model makes of the cells; arrays of shape (n_rows, n_items) but the last.

    Attributes
    ----------
    nobody : ndarray of float64
        Probability that nobody in the group rated the item.
    level : ndarray of int64
        Which of the levels is the likeliest rating, if one member alone rated.
    raters : ndarray of float64
        Expected number of raters.
    weights, targets : ndarray of float64
        What the fit has to reach in each cell, and how much that counts.
    sums : ndarray of float64, shape (6,)
        Over cells, by the probability of one rater: 1, x, x², xy, y², and the noise of y; x being
        the rating less the fitted label, and y people times (label - fitted label).
    """

    nobody: Matrix
    level: NDArray[np.int64]
    raters: Matrix
    weights: Matrix
    targets: Matrix
    sums: NDArray[np.float64]


@brief
class FullCells(NamedTuple):
    """The published cells and what is known of each.

    Attributes
    ----------
    labels, fitted : ndarray of float64, shape (n_rows, n_items)
    people : ndarray of float64, shape (n_rows,)
        Behind each row.
    row_misfit, item_misfit : ndarray of float64
        Their product is the variance of the fit in a cell.
    row_rate, item_rate : ndarray of float64
        Their product is the expected number of raters.
    """

    labels: Matrix
    fitted: Matrix
    people: NDArray[np.float64]
    row_misfit: NDArray[np.float64]
    item_misfit: NDArray[np.float64]
    row_rate: NDArray[np.float64]
    item_rate: NDArray[np.float64]


class _Cell(NamedTuple):
    """One cell: how its label is spread, and the chances of none, one, two and more raters."""

    off: float
    fitted: float
    misfit: float
    member: float
    gap: float
    none: float
    one: float
    two: float
    many: float
    n_many: float


@brief
class _Chances(NamedTuple):
    """Of one cell, filled again and again: ratings' shares, and what each state makes likely."""

    shares: NDArray[np.float64]  # of each level, for one rating
    pairs: NDArray[np.float64]  # of each sum of two levels
    ones: NDArray[np.float64]  # densities of the label, if one member alone gave each level
    twos: NDArray[np.float64]  # if two members' ratings have each sum


def no_chances(n_levels: int) -> _Chances:
    """Return arrays to be filled."""
    sizes = (n_levels, 2 * n_levels - 1, n_levels, 2 * n_levels - 1)
    return _Chances(*(np.empty(size) for size in sizes))


def explain(cells: FullCells, model: RaterModel, levels: NDArray[np.float64]) -> Explained:
    """Say of each cell how likely nobody, somebody, and who with which rating gave it.

    Parameters
    ----------
    cells : FullCells
    model : RaterModel
    levels : ndarray of float64, shape (n_levels,)
        The values of the scale, equally far apart; at least two.

    Notes
    -----
    A label of s people is the fit plus, for each rater, (rating - prediction) / s, rounded. The
    number of raters is Poisson's; of up to two, the ratings are the scale's values, of more the sum
    is normal. Rounding is uniform, misfit normal.

    Examples
    --------
    >>> one = np.ones(1)
    >>> label, smooth = np.array([[3.4]]), np.array([[3.0]])
    >>> cells = FullCells(label, smooth, 5 * one, one, 1e-3 * one, one, one / 5)
    >>> found = explain(cells, RaterModel(0.0, 0.1, 0.0, 1.0, 0.05), np.arange(1.0, 6.0))
    >>> bool(found.nobody[0, 0] < 1e-3), int(found.level[0, 0])  # (5 - 3) / 5 = 0.4
    (True, 4)
    """
    shape = cells.labels.shape
    found = Explained(
        nobody=np.empty(shape),
        level=np.empty(shape, np.int64),
        raters=np.empty(shape),
        weights=np.empty(shape),
        targets=np.empty(shape),
        sums=np.zeros(6),
    )
    _explain_all(cells, model, levels, no_chances(levels.size), found)
    return found


def weigh_ratings(
    cells: FullCells, model: RaterModel, levels: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return how likely a member's rating is by the fit, and by the fit and the label together.

    Returns
    -------
    by_fit : ndarray of float32, shape (n_items, n_rows, n_levels)
        Share of each rating among people as the row fits them.
    by_label : ndarray of float32, of the same shape
        The same times how much likelier the label is if a member gave this rating.
    """
    n_rows, n_items = cells.labels.shape
    by_fit = np.empty((n_items, n_rows, levels.size), np.float32)
    by_label = np.empty_like(by_fit)
    _weigh_all(cells, model, levels, no_chances(levels.size), by_fit, by_label)
    return by_fit, by_label


@compiled()
def _density(off: float, variance: float, half: float) -> float:
    """Return the density of a label that is so far off: normal, and rounded by up to half."""
    sd = math.sqrt(variance)
    if half < 0.1 * sd:
        return math.exp(-0.5 * (off / sd) ** 2) / (sd * _ROOT_2_PI) + _ANYTHING
    upper, lower = math.erf((off + half) / (sd * _ROOT_2)), math.erf((off - half) / (sd * _ROOT_2))
    return (upper - lower) / (4 * half) + _ANYTHING


@compiled()
def _share_levels(
    fitted: float, model: RaterModel, levels: NDArray[Any], chances: Any
) -> tuple[float, float]:
    """Fill in how often each rating, and each sum of two, is given; return mean and variance."""
    shares, pairs = chances.shares, chances.pairs
    for level in range(levels.size):
        apart = (levels[level] - fitted - model.lean) / model.spread
        shares[level] = math.exp(-0.5 * apart * apart) + 1e-4
    shares /= shares.sum()
    pairs[:] = 0.0
    for first in range(levels.size):
        for second in range(levels.size):
            pairs[first + second] += shares[first] * shares[second]
    mean = (shares * levels).sum()
    return mean, (shares * levels * levels).sum() - mean * mean


@compiled()
def _cell(cells: Any, model: RaterModel, row: int, item: int) -> _Cell:
    people = cells.people[row]
    rate = cells.row_rate[row] * cells.item_rate[item]
    rate = min(max(rate, _RATES[0]), _RATES[1])
    none = math.exp(-rate)
    one = rate * none
    two = rate * one / 2
    return _Cell(
        cells.labels[row, item] - cells.fitted[row, item],
        cells.fitted[row, item],
        cells.row_misfit[row] * cells.item_misfit[item],
        (model.member_spread / people) ** 2,
        (1 - model.shrink) / people,
        none,
        one,
        two,
        max(1 - none - one - two, 1e-9),
        _MANY + rate / 3,
    )


@compiled()
def _density_by_raters(cell: Any, half: float, levels: NDArray[Any], chances: Any) -> None:
    """Fill in how likely the label is, if one member, or two, gave each rating, or sum."""
    step = levels[1] - levels[0]
    for level in range(levels.size):
        moved = cell.gap * (levels[level] - cell.fitted)
        chances.ones[level] = _density(cell.off - moved, cell.misfit + cell.member, half)
    for pair in range(chances.twos.size):
        moved = cell.gap * (2 * levels[0] + pair * step - 2 * cell.fitted)
        chances.twos[pair] = _density(cell.off - moved, cell.misfit + 2 * cell.member, half)


@compiled()
def _many_spread(cell: Any, n: float, variance: float) -> float:
    """Return the variance of a label that so many gave."""
    return float(cell.misfit + n * (cell.member + variance * cell.gap * cell.gap))


@compiled()
def _explain_all(
    cells: Any, model: RaterModel, levels: NDArray[Any], chances: Any, found: Any
) -> None:
    for row in range(cells.labels.shape[0]):
        for item in range(cells.labels.shape[1]):
            cell = _cell(cells, model, row, item)
            mean, variance = _share_levels(cell.fitted, model, levels, chances)
            _density_by_raters(cell, model.half, levels, chances)
            _explain_one(cell, mean, variance, model.half, levels, chances, found, row, item)
            _sum_up_one(cell, cells.people[row], model.half, levels, chances, found.sums)


@compiled()
def _explain_one(
    cell: Any,
    mean: float,
    variance: float,
    half: float,
    levels: NDArray[Any],
    chances: Any,
    found: Any,
    row: int,
    item: int,
) -> None:
    """Fill in one cell; leave the probabilities of the states in `ones` and `twos`."""
    ones, twos, step = chances.ones, chances.twos, levels[1] - levels[0]
    moved = cell.n_many * cell.gap * (mean - cell.fitted)
    spread = _many_spread(cell, cell.n_many, variance)
    none = cell.none * _density(cell.off, cell.misfit, half)
    many = cell.many * _density(cell.off - moved, spread, half)
    ones *= cell.one * chances.shares
    twos *= cell.two * chances.pairs
    total = none + many + ones.sum() + twos.sum()
    ones /= total
    twos /= total
    rounding, label = half * half / 3, cell.fitted + cell.off
    weight = none / total / (cell.misfit + rounding)
    reached = weight * label
    counts = many / total / (spread + rounding)
    weight += counts
    reached += counts * (label - moved)
    for level in range(ones.size):
        counts = ones[level] / (cell.misfit + cell.member + rounding)
        weight += counts
        reached += counts * (label - cell.gap * (levels[level] - cell.fitted))
    for pair in range(twos.size):
        counts = twos[pair] / (cell.misfit + 2 * cell.member + rounding)
        weight += counts
        reached += counts * (label - cell.gap * (2 * levels[0] + pair * step - 2 * cell.fitted))
    found.nobody[row, item] = none / total
    found.level[row, item] = ones.argmax()
    found.raters[row, item] = ones.sum() + 2 * twos.sum() + cell.n_many * many / total
    found.weights[row, item] = weight
    found.targets[row, item] = reached / weight


@compiled()
def _sum_up_one(
    cell: Any, people: float, half: float, levels: NDArray[Any], chances: Any, sums: NDArray[Any]
) -> None:
    off = people * cell.off
    noise = people * people * (cell.misfit + half * half / 3)
    for level in range(levels.size):
        chance, apart = chances.ones[level], levels[level] - cell.fitted
        sums[0] += chance
        sums[1] += chance * apart
        sums[2] += chance * apart * apart
        sums[3] += chance * apart * off
        sums[4] += chance * off * off
        sums[5] += chance * noise


@compiled()
def _weigh_all(
    cells: Any,
    model: RaterModel,
    levels: NDArray[Any],
    chances: Any,
    by_fit: NDArray[Any],
    by_label: NDArray[Any],
) -> None:
    for row in range(cells.labels.shape[0]):
        for item in range(cells.labels.shape[1]):
            cell = _cell(cells, model, row, item)
            mean, variance = _share_levels(cell.fitted, model, levels, chances)
            _density_by_raters(cell, model.half, levels, chances)
            by_fit[item, row] = chances.shares
            _weigh_one(cell, mean, variance, model.half, levels, chances, by_label[item, row])


@compiled()
def _weigh_one(
    cell: Any,
    mean: float,
    variance: float,
    half: float,
    levels: NDArray[Any],
    chances: Any,
    weighed: NDArray[Any],
) -> None:
    """Weigh each rating of a member by how much likelier the label is with it than without."""
    shares, ones, twos = chances.shares, chances.ones, chances.twos
    moved = cell.gap * (mean - cell.fitted)
    total = cell.none * _density(cell.off, cell.misfit, half)
    total += cell.one * (shares * ones).sum() + cell.two * (chances.pairs * twos).sum()
    spread = _many_spread(cell, cell.n_many, variance)
    total += cell.many * _density(cell.off - cell.n_many * moved, spread, half)
    # Beside the member, others may have rated: nobody, one, or more.
    n_more = _MANY - 1
    for level in range(levels.size):
        with_one = 0.0
        for other in range(levels.size):
            with_one += shares[other] * twos[level + other]
        off = cell.off - cell.gap * (levels[level] - cell.fitted) - n_more * moved
        spread = _many_spread(cell, n_more, variance) + cell.member
        with_more = _density(off, spread, half)
        label = cell.none * ones[level] + cell.one * with_one
        label += (cell.two + cell.many) * with_more
        weighed[level] = shares[level] * label / total
