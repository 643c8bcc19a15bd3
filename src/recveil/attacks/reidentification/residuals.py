"""Residuals of a robust low-rank fit of published rows, explained by ratings, and the attack."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses, guesses_of_best
from recveil.attacks.knowledge import Knowledge, choose_targets
from recveil.ratings import RatingScale
from recveil.runtime.compiled import compiled
from recveil.runtime.progress import parts, track
from recveil.runtime.safe_repr import brief

Matrix = NDArray[np.float64]
# All scales are mapped to this one, so that results do not depend on the unit.
STARS = RatingScale(1, 5, None)
# Rounds of reweighting until convergence; the scale narrows from three times to once.
_FIT_ROUNDS, _NARROWING = 10, 0.7
# Weights fall beyond this many times the median residual.
_USUAL = 1.5
# Ranks to try, the most cells to try them on, and the share of hidden cells.
_RANKS, _MOST_TRIED, _HIDDEN = (0, 1, 2, 3, 5, 10), 1 << 20, 0.1


@brief
class LowRank(NamedTuple):
    """Factors of a low-rank matrix, shapes (n_rows, rank + 1) and (n_items, rank + 1)."""

    of_rows: Matrix
    of_items: Matrix

    def product(self) -> Matrix:
        """Return the fitted values, clipped to the scale, shape (n_rows, n_items)."""
        return np.clip(self.of_rows @ self.of_items.T, STARS.low, STARS.high)


def fit_robustly(
    values: Matrix,
    rank: int,
    ridge: float,
    least: float,
    visible: NDArray[np.bool_] | None = None,
    rounds: int = _FIT_ROUNDS,
    share: float = 0.0,
) -> LowRank:
    """Fit a low-rank matrix in which outlying cells have little weight.

    Iteratively reweighted least squares with Cauchy's weights (Holland & Welsch 1977), whose scale
    narrows from round to round. `rank` counts factors next to one that starts equal for all rows;
    residuals below `least` have nearly full weight; `share` of the progress goes to the rounds.
    """
    start = np.random.default_rng(0).normal(scale=0.1, size=(len(values), rank))
    fit = LowRank(np.column_stack([np.ones(len(values)), start]), np.empty((0, 0)))
    weights = np.ones_like(values) if visible is None else visible.astype(np.float64)
    for step in track(range(rounds), "Fitting all rows", share=share):
        fit = refit(fit, weights, values, ridge)
        off = values - fit.of_rows @ fit.of_items.T
        looked_at = off if visible is None else off[visible]
        usual = max(_USUAL * float(np.median(np.abs(looked_at))), least)
        weights = 1 / (1 + (off / (usual * (1 + 2 * _NARROWING**step))) ** 2)
        if visible is not None:
            weights *= visible
    return fit


def choose_rank(values: Matrix, most: int, ridge: float, least: float) -> int:
    """Choose the rank, up to `most`, that best predicts a hidden tenth of the cells.

    With too few factors the residuals contain smooth structure, and with too many the factors
    absorb ratings. Outlying cells, as ratings are, have little weight in the error; of ranks within
    the standard error, the smallest is chosen. Uses the published values only.
    """
    rng = np.random.default_rng(0)
    n_tried = max(1, _MOST_TRIED // len(values))
    if n_tried < values.shape[1]:
        values = values[:, np.sort(rng.choice(values.shape[1], n_tried, replace=False))]
    visible = rng.random(values.shape) >= _HIDDEN
    ranks = [rank for rank in _RANKS if rank < most] + [most]
    missed = np.array(
        [
            _missed_by(values, rank, ridge, least, visible)
            for rank in track(ranks, "Choosing the rank", share=_CHOICE)
        ]
    )
    more = missed - missed[missed.mean(axis=1).argmin()]
    sure = more.mean(axis=1) > more.std(axis=1) / np.sqrt(max(more.shape[1], 1))
    return ranks[int(np.flatnonzero(~sure)[0])]


def _missed_by(
    values: Matrix, rank: int, ridge: float, least: float, visible: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the error of each hidden cell, on a scale that flattens for outliers."""
    fit = fit_robustly(values, rank, ridge, least, visible, _FIT_ROUNDS // 2)
    off = (values - fit.of_rows @ fit.of_items.T)[~visible]
    return np.asarray(np.log1p((off / least) ** 2))


def refit(fit: LowRank, weights: Matrix, targets: Matrix, ridge: float) -> LowRank:
    """Fit the items' factors to those of the rows, and then the rows' to those of the items."""
    of_items = _regress(weights.T, targets.T, fit.of_rows, ridge)
    return LowRank(_regress(weights, targets, of_items, ridge), of_items)


def _regress(weights: Matrix, targets: Matrix, factors: Matrix, ridge: float) -> Matrix:
    """Solve a weighted ridge regression for each row of the targets.

    >>> _regress(np.ones((1, 2)), np.array([[2.0, 4.0]]), np.array([[1.0], [2.0]]), 0.0)
    array([[2.]])
    """
    n, rank = factors.shape
    squares = (factors[:, :, None] * factors[:, None, :]).reshape(n, rank * rank)
    systems = (weights @ squares).reshape(-1, rank, rank) + ridge * np.eye(rank)
    right = (weights * targets) @ factors
    return np.linalg.solve(systems, right[:, :, None])[:, :, 0].astype(np.float64)


_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)
# A density added to all values, so that no single cell decides alone.
_ANYTHING = 1e-6
# Least number of raters assumed beyond two, and bounds of the rates.
_MANY = 3.0
_RATES = (1e-4, 20.0)


class RaterModel(NamedTuple):
    """Parameters that all cells share."""

    # How far predictions have moved towards the ratings that they were fitted to, 0 to 1
    shrink: float
    # Deviation of a member's prediction from the group's mean one, in rating points
    member_spread: float
    # Mean and deviation of ratings around the fitted value, in rating points
    lean: float
    spread: float
    # Largest rounding of the values; 0 if they are not rounded
    half: float


@brief
class Explained(NamedTuple):
    """Posterior of the cells; arrays of shape (n_rows, n_items) but the last."""

    # Probability that no user of the group rated the item
    unrated: Matrix
    # Index of the likeliest rating, if only one member rated
    level: NDArray[np.int64]
    # Expected number of raters
    raters: Matrix
    # Target of the fit in each cell, and its weight
    weights: Matrix
    targets: Matrix
    # Over cells, by the probability of one rater: 1, x, x², xy, y², and the noise of y; x being the
    # rating minus the fitted value, and y users times (value - fitted value)
    sums: NDArray[np.float64]


@brief
class FullCells(NamedTuple):
    """The published cells and the parameters of each."""

    values: Matrix
    fitted: Matrix
    # Number of users of each row
    n_users: NDArray[np.float64]
    # Their product is the variance of the fit in a cell
    row_misfit: NDArray[np.float64]
    item_misfit: NDArray[np.float64]
    # Their product is the expected number of raters
    row_rate: NDArray[np.float64]
    item_rate: NDArray[np.float64]


class _Cell(NamedTuple):
    """Deviation of one cell's value, and the probabilities of none, one, two and more raters."""

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
    """Buffers of one cell: the ratings' probabilities, and the densities given each state."""

    shares: NDArray[np.float64]  # probability of each level, for one rating
    pairs: NDArray[np.float64]  # probability of each sum of two levels
    ones: NDArray[np.float64]  # density of the value, if only one member rated, per level
    twos: NDArray[np.float64]  # the same for the sum of two members' ratings


def no_chances(n_levels: int) -> _Chances:
    """Return empty buffers."""
    sizes = (n_levels, 2 * n_levels - 1, n_levels, 2 * n_levels - 1)
    return _Chances(*(np.empty(size) for size in sizes))


def explain(cells: FullCells, model: RaterModel, levels: NDArray[np.float64]) -> Explained:
    """Infer each cell's number of raters and their likeliest rating; levels are equally spaced.

    A value of s users is the fit plus, for each rater, (rating - prediction) / s, rounded. The
    number of raters is Poisson; with up to two, the ratings are values of the scale, with more
    their sum is normal. Rounding is uniform, misfit normal.
    """
    unrated, raters, weights, targets = (np.empty(cells.values.shape) for _ in range(4))
    level = np.empty(cells.values.shape, np.int64)
    found = Explained(unrated, level, raters, weights, targets, sums=np.zeros(6))
    _explain_all(cells, model, levels, no_chances(levels.size), found)
    return found


def weigh_ratings(
    cells: FullCells, model: RaterModel, levels: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the likelihood of a member's rating from the fit, and from fit and value together.

    Both have shape (n_items, n_rows, n_levels): the probability of each rating under the row's fit,
    and the same times the likelihood ratio of the value if a member gave this rating.
    """
    n_rows, n_items = cells.values.shape
    by_fit = np.empty((n_items, n_rows, levels.size), np.float32)
    by_value = np.empty_like(by_fit)
    _weigh_all(cells, model, levels, no_chances(levels.size), by_fit, by_value)
    return by_fit, by_value


@compiled()
def _density(off: float, variance: float, half: float) -> float:
    """Return the density of a deviation: normal, with uniform rounding by up to half."""
    sd = math.sqrt(variance)
    if half < 0.1 * sd:
        return math.exp(-0.5 * (off / sd) ** 2) / (sd * _ROOT_2_PI) + _ANYTHING
    upper, lower = math.erf((off + half) / (sd * _ROOT_2)), math.erf((off - half) / (sd * _ROOT_2))
    return (upper - lower) / (4 * half) + _ANYTHING


@compiled()
def _share_levels(
    fitted: float, model: RaterModel, levels: NDArray[Any], chances: Any
) -> tuple[float, float]:
    """Fill in the probability of each rating and of each sum of two; return mean and variance."""
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
    n_users = cells.n_users[row]
    rate = cells.row_rate[row] * cells.item_rate[item]
    rate = min(max(rate, _RATES[0]), _RATES[1])
    none = math.exp(-rate)
    one = rate * none
    two = rate * one / 2
    return _Cell(
        cells.values[row, item] - cells.fitted[row, item],
        cells.fitted[row, item],
        cells.row_misfit[row] * cells.item_misfit[item],
        (model.member_spread / n_users) ** 2,
        (1 - model.shrink) / n_users,
        none,
        one,
        two,
        max(1 - none - one - two, 1e-9),
        _MANY + rate / 3,
    )


@compiled()
def _density_by_raters(cell: Any, half: float, levels: NDArray[Any], chances: Any) -> None:
    """Fill in the density of the value for each rating of one member and each sum of two."""
    step = levels[1] - levels[0]
    for level in range(levels.size):
        moved = cell.gap * (levels[level] - cell.fitted)
        chances.ones[level] = _density(cell.off - moved, cell.misfit + cell.member, half)
    for pair in range(chances.twos.size):
        moved = cell.gap * (2 * levels[0] + pair * step - 2 * cell.fitted)
        chances.twos[pair] = _density(cell.off - moved, cell.misfit + 2 * cell.member, half)


@compiled()
def _many_spread(cell: Any, n: float, variance: float) -> float:
    return float(cell.misfit + n * (cell.member + variance * cell.gap * cell.gap))


@compiled()
def _explain_all(
    cells: Any, model: RaterModel, levels: NDArray[Any], chances: Any, found: Any
) -> None:
    for row in range(cells.values.shape[0]):
        for item in range(cells.values.shape[1]):
            cell = _cell(cells, model, row, item)
            mean, variance = _share_levels(cell.fitted, model, levels, chances)
            _density_by_raters(cell, model.half, levels, chances)
            _explain_one(cell, mean, variance, model.half, levels, chances, found, row, item)
            _sum_up_one(cell, cells.n_users[row], model.half, levels, chances, found.sums)


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
    rounding, value = half * half / 3, cell.fitted + cell.off
    weight = none / total / (cell.misfit + rounding)
    reached = weight * value
    counts = many / total / (spread + rounding)
    weight += counts
    reached += counts * (value - moved)
    for level in range(ones.size):
        counts = ones[level] / (cell.misfit + cell.member + rounding)
        weight += counts
        reached += counts * (value - cell.gap * (levels[level] - cell.fitted))
    for pair in range(twos.size):
        counts = twos[pair] / (cell.misfit + 2 * cell.member + rounding)
        weight += counts
        reached += counts * (value - cell.gap * (2 * levels[0] + pair * step - 2 * cell.fitted))
    found.unrated[row, item] = none / total
    found.level[row, item] = ones.argmax()
    found.raters[row, item] = ones.sum() + 2 * twos.sum() + cell.n_many * many / total
    found.weights[row, item] = weight
    found.targets[row, item] = reached / weight


@compiled()
def _sum_up_one(
    cell: Any, n_users: float, half: float, levels: NDArray[Any], chances: Any, sums: NDArray[Any]
) -> None:
    off = n_users * cell.off
    noise = n_users * n_users * (cell.misfit + half * half / 3)
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
    by_value: NDArray[Any],
) -> None:
    for row in range(cells.values.shape[0]):
        for item in range(cells.values.shape[1]):
            cell = _cell(cells, model, row, item)
            mean, variance = _share_levels(cell.fitted, model, levels, chances)
            _density_by_raters(cell, model.half, levels, chances)
            by_fit[item, row] = chances.shares
            _weigh_one(cell, mean, variance, model.half, levels, chances, by_value[item, row])


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
    """Weigh each rating of a member by the likelihood ratio of the value with it."""
    shares, ones, twos = chances.shares, chances.ones, chances.twos
    moved = cell.gap * (mean - cell.fitted)
    total = cell.none * _density(cell.off, cell.misfit, half)
    total += cell.one * (shares * ones).sum() + cell.two * (chances.pairs * twos).sum()
    spread = _many_spread(cell, cell.n_many, variance)
    total += cell.many * _density(cell.off - cell.n_many * moved, spread, half)
    # Other members may have rated, too: none, one, or more.
    n_more = _MANY - 1
    for level in range(levels.size):
        with_one = 0.0
        for other in range(levels.size):
            with_one += shares[other] * twos[level + other]
        off = cell.off - cell.gap * (levels[level] - cell.fitted) - n_more * moved
        spread = _many_spread(cell, n_more, variance) + cell.member
        with_more = _density(off, spread, half)
        value = cell.none * ones[level] + cell.one * with_one
        value += (cell.two + cell.many) * with_more
        weighed[level] = shares[level] * value / total


# With more cells, a sample of the rows is fitted; this many take some minutes.
MOST_CELLS = 1 << 23
# Fewer rows have no smooth structure.
LEAST_ROWS = 3
# Number of levels on a finer scale.
_MOST_LEVELS = 11
_ROUNDS = 6
# Rows per factor, and the most factors; ridge and the number of rows where it is full.
_ROWS_PER_FACTOR, _MOST_FACTORS = 9, 20
_RIDGE, _ENOUGH_ROWS = 0.3, 200
# Lower bound of the misfit, as a share of the values' grid or of the scale.
_MISFIT_OF_GRID, _MISFIT_OF_SCALE = 0.4, 0.01
# Bounds of the spread of members' predictions, as shares of the scale.
_MEMBER_SPREADS = (0.025, 0.0625)
# Misfits of a row or an item are shrunk to the overall one, with the weight of this many cells.
_DRAWN = 5.0
_ROW_MISFITS = (0.3, 5.0)
# Factor of the misfit's variance in doubt; threshold (in median residuals) and weight of outliers.
_DOUBT, _FAR, _STEEP = 4.0, 2.0, 3.0
# Shares of the progress that the robust start takes, and the choice of a lower rank.
_START, _CHOICE = 0.15, 0.1
# Ranks of the plain fits.
_FEW = (0, 1, 2)
# Steps of `Residuals.scores_with`, and their approximate costs.
_FEWER, _SCORES, _PLAIN = "Fitting with fewer factors", "Scoring cells", "Fitting with few factors"
_SCORING = {_FEWER: 10.0, _SCORES: 5.0, _PLAIN: 2.0}
# Bound of all probabilities.
_CERTAIN = 1e-15
_FIRST = RaterModel(
    shrink=0.1, member_spread=0.05 * STARS.range, lean=0.0, spread=0.225 * STARS.range, half=0.0
)


UnfittedReason = Literal["few-rows", "rows-of-one-user", "one-level"]


class Unfitted(NamedTuple):
    """Why the full rows of a release are not fitted."""

    reason: UnfittedReason
    n_rows: int
    n_users: int


@brief
class Pull(NamedTuple):
    """Regularization of a fit."""

    # Penalty of the factors; see `fit_robustly`
    ridge: float
    # Lower bound of the residuals' scale
    least: float
    # Half of the values' grid
    half: float
    # Factors of the fit
    most: int


@brief
@dataclass(frozen=True, eq=False)
class Residuals:
    """Fit of a release whose rows have all items.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_rows,)
        Positions of the fitted records.
    items : ndarray of int64, shape (n_items,)
        Positions of the items that the rows hold.
    levels : ndarray of float64, shape (n_levels,)
        Distinct rating levels.
    cells : FullCells
        Values, fit and parameters of rows and items; values on a scale from 1 to 5.
    model : RaterModel
        On the same scale.
    found : Explained
        Posterior of the raters, by cell.
    pull : Pull
        Regularization of the fit.
    """

    rows: NDArray[np.int64]
    items: NDArray[np.int64]
    levels: NDArray[np.float64]
    cells: FullCells
    model: RaterModel
    found: Explained
    pull: Pull

    @cached_property
    def plain(self) -> Matrix:
        """Mean absolute residual over fits of few factors, per cell."""
        values = self.cells.values
        few = [
            fit_robustly(values, rank, self.pull.ridge, self.pull.least, share=1)
            for rank in track(_FEW, "Fitting all rows", share=1)
        ]
        off = [np.abs(values - fit.product()) for fit in few]
        return np.asarray(np.mean(off, axis=0))

    @cached_property
    def fewer(self) -> tuple[FullCells, RaterModel] | None:
        """Cells and model with the rank of `choose_rank`, if it is lower."""
        values, pull = self.cells.values, self.pull
        fewest = choose_rank(values, pull.most, pull.ridge, pull.least)
        if fewest >= pull.most:
            return None
        return _learn(values, self.cells.n_users, _in_stars(self.levels), pull, fewest)

    def reported_with(self, popularity: NDArray[np.float64]) -> tuple[Matrix, Matrix]:
        """Return the evidence for each cell that a user of the row rated it, and the rating.

        The rating is the likeliest one if only one member rated. `popularity` is the share of the
        users who rated each item. The score is the log-odds from the public rates, the rows'
        learned rates and the residual; plus log(1 + z²), by which `fit_robustly` reduces the
        weight of a cell z times the usual residual away. Without it the model, whose misfits are
        normal, takes too many small residuals to be as certain as large ones. Where residuals are
        noise, the order is that of popularity.
        """
        return _score_cells(self.cells, self.model, self.levels, popularity)

    def scores_with(self, popularity: NDArray[np.float64]) -> list[tuple[Matrix, Matrix]]:
        """Score each cell in several ways; which one is best depends on the release.

        The ways are `reported_with` for the fit and for one of lower rank, with the learned misfit
        and with twice its deviation, since a fit that absorbed ratings appears closer than it is;
        and the residuals of the fits, and of several fits of very low rank, with popularity: where
        nearly every cell is rated, no model of the misfit is right.
        """
        popular = np.log(np.maximum(popularity, _CERTAIN))
        scores = []
        with parts("Scoring cells", _SCORING) as begin:
            begin(_FEWER)
            fits = [(self.cells, self.model), *([] if self.fewer is None else [self.fewer])]
            begin(_SCORES)
            for cells, model in track(fits, "Scoring cells", share=1):
                score, alone = _score_cells(cells, model, self.levels, popularity)
                doubted, _ = _score_cells(cells, model, self.levels, popularity, _DOUBT)
                far = _how_far(cells.values - cells.fitted) + popular
                scores += [(score, alone), (doubted, alone), (far, alone)]
            begin(_PLAIN)
            return [*scores, (_how_far(self.plain) + popular, scores[-1][1])]

    @cached_property
    def weighed(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Cached `weigh_ratings` of the cells."""
        return weigh_ratings(self.cells, self.model, _in_stars(self.levels))

    def _facts(self) -> dict[str, object]:
        return {"rows": self.rows.size, "items": self.items.size}


def _score_cells(
    cells: FullCells,
    model: RaterModel,
    levels: NDArray[np.float64],
    popularity: NDArray[np.float64],
    doubt: float = 1.0,
) -> tuple[Matrix, Matrix]:
    """Compute `Residuals.reported_with` with the misfit's variance multiplied by `doubt`."""
    cells = cells._replace(
        row_rate=cells.row_rate * cells.n_users.sum() / cells.row_rate.sum(),
        item_rate=popularity,
        item_misfit=cells.item_misfit * doubt,
    )
    found = explain(cells, model, _in_stars(levels))
    unrated = np.clip(found.unrated, _CERTAIN, 1 - _CERTAIN)
    usual = np.outer(cells.row_misfit, cells.item_misfit) + model.half**2 / 3
    squares = (cells.values - cells.fitted) ** 2 / usual
    return np.log1p(-unrated) - np.log(unrated) + np.log1p(squares), levels[found.level]


def _how_far(off: Matrix) -> Matrix:
    """Return the log evidence of large residuals, to be added to log popularity."""
    usual = max(_FAR * float(np.median(np.abs(off))), _CERTAIN)
    return np.asarray(_STEEP * np.log1p((off / usual) ** 2))


def find_residuals(candidates: Candidates, scale: RatingScale) -> Residuals | None:
    """Fit all rows of a release and explain the residuals by ratings.

    Returns
    -------
    Residuals or None
        None if it does not apply: if rows differ in their items, each belong to one user, are fewer
        than three, or there is only one rating level.

    Notes
    -----
    A value of a padded row is a mean of predictions, which are smooth over rows and items, and of
    ratings, which are not. The start is a robust low-rank fit; then, in turn, each cell is
    explained by none, one or more raters, and the fit is updated with the remainder (expectation
    maximization). Uses published data only. Beyond `MOST_CELLS` cells, a fixed random sample of the
    rows is fitted: the results are then lower bounds.

    Results are cached for the lifetime of the candidates.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.attacks.attack_target import AttackTarget
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    >>> table = AttackTarget.from_release(release, ratings)
    >>> find_residuals(table.candidates, ratings.scale)
    Residuals(rows: 12, items: 40)
    """
    if candidates not in _REMEMBERED:
        _REMEMBERED[candidates] = _find(candidates, scale) if _applies(candidates, scale) else None
    return _REMEMBERED[candidates]


_REMEMBERED: WeakKeyDictionary[Candidates, Residuals | None] = WeakKeyDictionary()


def _applies(candidates: Candidates, scale: RatingScale) -> bool:
    return _is_full(candidates) and why_unfitted(candidates, scale) is None


def _is_full(candidates: Candidates) -> bool:
    carrying = np.count_nonzero(np.diff(candidates.indptr))
    return bool((candidates.activity == carrying).all())


def n_fitted_cells(candidates: Candidates, scale: RatingScale) -> int:
    """Return how many cells `find_residuals` fits; 0 if it does not apply."""
    if not _applies(candidates, scale):
        return 0
    n_items = int(np.count_nonzero(np.diff(candidates.indptr)))
    return min(candidates.n_records * n_items, max(MOST_CELLS, LEAST_ROWS * n_items))


def why_unfitted(candidates: Candidates, scale: RatingScale) -> Unfitted | None:
    """Return why full rows are not fitted; None if they are, or if rows are not full."""
    reason: UnfittedReason
    if candidates.n_records < LEAST_ROWS:
        reason = "few-rows"
    elif candidates.n_users <= candidates.n_records:
        reason = "rows-of-one-user"
    elif scale.range <= 0:
        reason = "one-level"
    else:
        return None
    if not _is_full(candidates):
        return None
    return Unfitted(reason, candidates.n_records, candidates.n_users)


def _find(candidates: Candidates, scale: RatingScale) -> Residuals:
    items = np.flatnonzero(np.diff(candidates.indptr))
    n_fitted = max(LEAST_ROWS, MOST_CELLS // items.size)
    rows = choose_targets(candidates.n_records, n_fitted, seed=0)
    # In full rows, each item lists all rows, in order.
    codes = candidates.codes.reshape(items.size, -1).T[rows]
    per_point = STARS.range / scale.range
    values = (candidates.levels[codes] - scale.low) * per_point + STARS.low
    grid = _grid_of(candidates.levels) * per_point
    least = max(_MISFIT_OF_GRID * grid, _MISFIT_OF_SCALE * STARS.range * (grid == 0))
    most = int(np.clip(rows.size // _ROWS_PER_FACTOR, 1, _MOST_FACTORS))
    ridge = _RIDGE * min(1.0, rows.size / _ENOUGH_ROWS) ** 2
    levels = levels_of(scale)
    stars, sizes = _in_stars(levels), candidates.sizes[rows].astype(np.float64)
    pull = Pull(ridge, least, grid / 2, most)
    cells, model = _learn(values, sizes, stars, pull, most)
    return Residuals(
        rows=rows,
        items=items,
        levels=levels,
        cells=cells,
        model=model,
        found=explain(cells, model, stars),
        pull=pull,
    )


def _in_stars(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the levels on the scale of the fit, equally spaced.

    >>> _in_stars(np.array([0.0, 50.0, 100.0]))
    array([1., 3., 5.])
    """
    return np.linspace(STARS.low, STARS.high, levels.size)


def _learn(
    values: Matrix,
    sizes: NDArray[np.float64],
    levels: NDArray[np.float64],
    pull: Pull,
    rank: int,
) -> tuple[FullCells, RaterModel]:
    """Explain the cells and update the fit of that rank, in turn."""
    ridge, least = pull.ridge, pull.least
    fit = fit_robustly(values, rank, ridge, least, share=_START)
    cells = FullCells(
        values=values,
        fitted=fit.product(),
        n_users=sizes,
        row_misfit=np.ones(sizes.size),
        item_misfit=np.full(values.shape[1], least**2),
        row_rate=np.ones(sizes.size),
        item_rate=np.full(values.shape[1], 0.3),
    )
    model = _FIRST._replace(half=pull.half)
    for _ in track(range(_ROUNDS), "Fitting all rows", share=1):
        found = explain(cells, model, levels)
        usual = float(np.median(cells.item_misfit)) + model.half**2 / 3
        fit = refit(fit, found.weights * usual, found.targets, ridge)
        cells = _learn_cells(cells, found, fit.product(), model.half, least)
        model = _learn_model(model, found.sums)
    return cells, model


def levels_of(scale: RatingScale) -> NDArray[np.float64]:
    """Return the distinct rating levels: those of the scale, or fewer on a fine scale."""
    n_steps = round(scale.range / scale.step) if scale.step else _MOST_LEVELS
    return np.linspace(scale.low, scale.high, min(n_steps + 1, _MOST_LEVELS))


def _grid_of(values: NDArray[np.float64]) -> float:
    """Return the spacing of rounded values; 0 if they are on no grid.

    >>> round(_grid_of(np.array([1.0, 1.1, 1.3])), 6), _grid_of(np.array([1.0, 1.1, 1.2503]))
    (0.1, 0.0)
    """
    apart = np.diff(values)
    if not apart.size:
        return 0.0
    steps = apart / apart.min()
    return float(apart.min()) if np.allclose(steps, np.rint(steps), atol=1e-3) else 0.0


def _learn_cells(
    cells: FullCells, found: Explained, fitted: Matrix, half: float, least: float
) -> FullCells:
    """Estimate the rates of each item and row, and their misfits."""
    item_rate = (found.raters.sum(axis=0) + 0.3) / cells.row_rate.sum()
    squares = (cells.values - fitted) ** 2 * found.unrated
    usual = squares.sum() / found.unrated.sum()
    of_items = (squares.sum(axis=0) + _DRAWN * usual) / (found.unrated.sum(axis=0) + _DRAWN)
    of_rows = (squares.sum(axis=1) + _DRAWN * usual) / (found.unrated.sum(axis=1) + _DRAWN)
    return cells._replace(
        fitted=fitted,
        row_misfit=np.clip(of_rows / usual, *_ROW_MISFITS),
        item_misfit=np.maximum(of_items - half**2 / 3, least**2),
        row_rate=(found.raters.sum(axis=1) + 0.3) / item_rate.sum(),
        item_rate=item_rate,
    )


def _learn_model(model: RaterModel, sums: NDArray[np.float64]) -> RaterModel:
    """Estimate from cells with only one rater how a rating moves the value."""
    n, x, xx, xy, yy, noise = sums.tolist()
    if xx <= 0 or n <= 0:
        return model
    shrink = min(max(1 - xy / xx, 0.0), 0.8)
    left = (yy - 2 * (1 - shrink) * xy + (1 - shrink) ** 2 * xx - noise) / n
    nearest, farthest = (share * STARS.range for share in _MEMBER_SPREADS)
    lean = x / n
    spread = math.sqrt(max(xx / n - lean**2, (STARS.range / 18) ** 2))
    member = min(max(math.sqrt(max(left, 0.0)), nearest), farthest)
    return RaterModel(shrink, member, lean, spread, model.half)


# Lower bound of one known rating's evidence in the clipped score.
_LEAST_EVIDENCE = -1.5
# A known rating falls between two levels of a fine scale; otherwise this is for rounding.
_TOLERANCE = 1e-3


@brief
class RowScores(NamedTuple):
    """Log-likelihood of each row given what is known about one target, shape (n_rows,) each.

    `by_fit` is that of the known ratings under the row's fit. `by_value` adds the log-likelihood
    ratio of the known items' values with the target in the row, and `clipped` bounds the evidence
    of one item against a row. `n_items` counts the known items that the rows hold.
    """

    by_fit: NDArray[np.float64]
    by_value: NDArray[np.float64]
    clipped: NDArray[np.float64]
    n_items: int


@dataclass(frozen=True)
class ResidualAttack:
    """Picks the row whose residuals the known ratings explain best.

    Parameters
    ----------
    scale : RatingScale
    right : float
        Share of the known entries that are right.
    wrong_item : bool
        Whether wrong entries are items that the target did not rate, instead of wrong ratings.
    rating_error : float or None
        As in `Adversary`.

    Notes
    -----
    Where `find_residuals` does not apply, all users fit equally well.

    Examples
    --------
    >>> ResidualAttack.of(Adversary(known=8, right=6), RatingScale(1, 5, 1)).right
    0.75
    """

    scale: RatingScale
    right: float = 1.0
    wrong_item: bool = False
    rating_error: float | None = 0
    name: ClassVar[str] = "residual"

    @classmethod
    def of(cls, adversary: Adversary, scale: RatingScale) -> Self:
        """Return the attack of an adversary who knows the error of their knowledge."""
        return cls(
            scale=scale,
            right=adversary.n_right / adversary.known,
            wrong_item=adversary.wrong_kind == "item",
            rating_error=adversary.rating_error,
        )

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Score every target against the candidates."""
        target_records = record_of[knowledge.targets]
        residuals = find_residuals(candidates, self.scale)
        if residuals is None:
            everyone = np.full(target_records.size, candidates.n_users)
            return Guesses(
                best=np.full(target_records.size, -1),
                tied_users=everyone,
                target_is_top=target_records >= 0,
            )
        scores = (each.by_value for each in self.scores(residuals, knowledge))
        likeliest = (
            residuals.rows[score >= score.max() - 1e-9 * (1 + abs(score.max()))] for score in scores
        )
        return guesses_of_best(likeliest, candidates.sizes, target_records)

    def scores(self, residuals: Residuals, knowledge: Knowledge) -> list[RowScores]:
        """Score every row by what is known about each target."""
        by_fit, by_value = residuals.weighed
        column_of = np.full(int(max(residuals.items.max(), knowledge.items.max(initial=0))) + 1, -1)
        column_of[residuals.items] = np.arange(residuals.items.size)
        columns = column_of[knowledge.items]
        likelihoods, certain = self._known_likelihoods(residuals.levels, knowledge)
        found = []
        for target in range(knowledge.targets.size):
            entries = np.arange(knowledge.indptr[target], knowledge.indptr[target + 1])
            entries = entries[columns[entries] >= 0]
            sums = np.zeros((3, residuals.rows.size))
            _score_rows(columns[entries], likelihoods[entries], certain, by_fit, by_value, sums)
            found.append(RowScores(sums[0], sums[1], sums[2], entries.size))
        return found

    def _known_likelihoods(
        self, levels: NDArray[np.float64], knowledge: Knowledge
    ) -> tuple[NDArray[np.float64], float]:
        """Return the likelihood of each known entry per true level, and the rated share."""
        certain = self.right if self.wrong_item else 1.0
        if knowledge.values is None or self.rating_error is None:
            return np.ones((knowledge.items.size, levels.size)), certain
        step = float(levels[1] - levels[0])
        is_coarse = self.scale.step is None or self.scale.step < step * (1 - _TOLERANCE)
        error = self.rating_error + step * (0.5 if is_coarse else _TOLERANCE)
        near = np.abs(knowledge.values[:, None].astype(np.float64) - levels) <= error
        # Levels within the error are equally likely to be observed, and so are those beyond it.
        within = near / np.maximum(near.sum(axis=1, keepdims=True), 1)
        far = ~near / np.maximum((~near).sum(axis=1, keepdims=True), 1)
        right = 1.0 if self.wrong_item else self.right
        return right * within + (1 - right) * far, certain


@compiled()
def _score_rows(
    columns: NDArray[Any],
    likelihoods: NDArray[Any],
    certain: float,
    by_fit: NDArray[Any],
    by_value: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    for entry in range(columns.size):
        fits, values = by_fit[columns[entry]], by_value[columns[entry]]
        for row in range(fits.shape[0]):
            fit, value = 1e-12, 1e-12
            for level in range(likelihoods.shape[1]):
                fit += likelihoods[entry, level] * fits[row, level]
                value += likelihoods[entry, level] * values[row, level]
            evidence = math.log(certain * value / fit + 1 - certain)
            fit = math.log(fit)
            sums[0, row] += fit
            sums[1, row] += fit + evidence
            sums[2, row] += fit + max(evidence, _LEAST_EVIDENCE)


def score_by_residuals(
    candidates: Candidates, adversary: Adversary, known: Knowledge, scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return log-likelihood ratios of membership from residuals; none if there is no fit.

    The ratios compare the rows with the target as a member with the rows' fits alone, which also
    fit nonmembers. The scores are the total, the mean per known item, the mean with the evidence
    of each item bounded, and the maximum over single rows of the evidence of the values alone.
    """
    residuals = find_residuals(candidates, scale)
    if residuals is None:
        return []
    share = np.log(residuals.cells.n_users / residuals.cells.n_users.sum())
    ratios = []
    for scores in ResidualAttack.of(adversary, scale).scores(residuals, known):
        fit_alone = _log_sum(scores.by_fit + share)
        ratio = _log_sum(scores.by_value + share) - fit_alone
        clipped = _log_sum(scores.clipped + share) - fit_alone
        n = max(scores.n_items, 1)
        alone = float((scores.by_value - scores.by_fit).max())
        ratios.append((ratio, ratio / n, clipped / n, alone))
    return list(np.array(ratios).reshape(-1, 4).T)


def _log_sum(logarithms: NDArray[np.float64]) -> float:
    highest = float(logarithms.max())
    return highest + math.log(float(np.exp(logarithms - highest).sum()))
