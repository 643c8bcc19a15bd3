"""Residuals: what a smooth fit of all published rows leaves over, and what that tells."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.low_rank import LowRank, choose_rank, fit_robustly, refit
from recveil.attack.rater_model import Explained, FullCells, RaterModel, explain, weigh_ratings
from recveil.brief import brief
from recveil.errors import describe_count
from recveil.progress import track
from recveil.ratings import RatingScale

Matrix = NDArray[np.float64]
# Rows beyond so many cells are left out; so many are fitted in some minutes.
MOST_CELLS = 1 << 23
# Fewer rows than this hold nothing that could be called smooth.
_LEAST_ROWS = 3
# Ratings are told apart by so many values; a finer scale is looked at by these.
_MOST_LEVELS = 11
_ROUNDS = 6
# One factor for so many rows, and so many at most; and the pull on them where rows are many.
_ROWS_PER_FACTOR, _MOST_FACTORS = 9, 20
_RIDGE, _ENOUGH_ROWS = 0.3, 200
# A fit is not believed to be nearer than this share of the labels' grid, or of the scale.
_MISFIT_OF_GRID, _MISFIT_OF_SCALE = 0.4, 0.01
# All scales are moved to this one, so that the same labels in other units tell the same.
STARS = RatingScale(1, 5, None)
# A member's prediction is not so near to the group's, or so far from it, as shares of the scale.
_MEMBER_SPREADS = (0.025, 0.0625)
# Misfits of a row or an item are drawn towards that of all by so many cells.
_DRAWN = 5.0
_ROW_MISFITS = (0.3, 5.0)
# The misfit's variance may be so much larger; and far is so many times the usual residual.
_DOUBT, _FAR, _STEEP = 4.0, 2.0, 3.0
# Share of a fit that its robust start takes.
_START = 0.35
# Factors of the plain fits.
_FEW = (0, 1, 2)
# Nothing is surer than this.
_CERTAIN = 1e-15
_FIRST = RaterModel(shrink=0.1, member_spread=0.05, lean=0.0, spread=0.225, half=0.0)


@brief
class Pull(NamedTuple):
    """How a fit is held down.

    Attributes
    ----------
    ridge : float
        Pull of the factors towards zero; see `fit_robustly`.
    least : float
        No fit is believed to be nearer to the labels than this.
    half : float
        Half of the labels' grid.
    most : int
        Factors of the fit.
    """

    ridge: float
    least: float
    half: float
    most: int


@brief
@dataclass(frozen=True, eq=False)
class Residuals:
    """What the fit makes of a release whose rows are all full.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_rows,)
        Which of the records were looked at.
    items : ndarray of int64, shape (n_items,)
        Which items the rows hold.
    levels : ndarray of float64, shape (n_levels,)
        The ratings that are told apart.
    cells : FullCells
        Labels, fit, and what is known of rows and items; labels on a scale from 1 to 5.
    model : RaterModel
        On the same scale.
    found : Explained
        Who rated, by cell.
    pull : Pull
        How the fit was held down.
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
        """Return how far labels lie off fits of few factors, on average: one number a cell."""
        labels = self.cells.labels
        few = [fit_robustly(labels, rank, self.pull.ridge, self.pull.least) for rank in _FEW]
        off = [np.abs(labels - fit.product(STARS.low, STARS.high)) for fit in few]
        return np.asarray(np.mean(off, axis=0))

    @cached_property
    def fewer(self) -> tuple[FullCells, RaterModel] | None:
        """Return cells and model by as many factors as `choose_rank` says, if they are fewer."""
        labels, pull = self.cells.labels, self.pull
        fewest = choose_rank(labels, pull.most, pull.ridge, pull.least)
        if fewest >= pull.most:
            return None
        return _learn(labels, self.cells.people, _in_stars(self.levels), pull, fewest)

    def told_with(self, popularity: NDArray[np.float64]) -> tuple[Matrix, Matrix]:
        """Weigh each cell by its residual and by how many people rate the item, which is public.

        Parameters
        ----------
        popularity : ndarray of float64, shape (n_items,)
            Share of the people who rated each of `items`.

        Returns
        -------
        score : ndarray of float64, shape (n_rows, n_items)
            How surely somebody behind the row rated the item.
        alone : ndarray of float64, of the same shape
            The likeliest rating, if one member alone rated.

        Notes
        -----
        The score is the logarithm of the odds, by the public rates, the rows' rates as learned, and
        the residual together; plus log(1 + z²), which is what `fit_robustly` takes off the weight
        of a cell z times the usual residual away. Without it the model, whose misfits are normal,
        takes too many near residuals for as sure as far ones. Where residuals are noise, the public
        rates are left, and the order is that of popularity.
        """
        return _tell(self.cells, self.model, self.levels, popularity)

    def scores_with(self, popularity: NDArray[np.float64]) -> list[tuple[Matrix, Matrix]]:
        """Weigh each cell in several ways, of which one or another is best for a release.

        By `told_with`, of the fit and of one of fewer factors, with the misfit as it was learned
        and with twice its deviation, since what a fit has taken up of ratings makes it look nearer
        than it is. And by how far a label lies off the fits, and off several of very few factors,
        with popularity: where nearly every cell is somebody's, no model of the misfit is right.

        Parameters
        ----------
        popularity : ndarray of float64, shape (n_items,)
            As in `told_with`.

        Returns
        -------
        list of (ndarray of float64, ndarray of float64)
            `score` and `alone` of `told_with`, for each way.
        """
        fits = [(self.cells, self.model), *([] if self.fewer is None else [self.fewer])]
        popular = np.log(np.maximum(popularity, _CERTAIN))
        told = []
        for cells, model in fits:
            score, alone = _tell(cells, model, self.levels, popularity)
            doubted, _ = _tell(cells, model, self.levels, popularity, _DOUBT)
            far = _how_far(cells.labels - cells.fitted) + popular
            told += [(score, alone), (doubted, alone), (far, alone)]
        return [*told, (_how_far(self.plain) + popular, told[-1][1])]

    @cached_property
    def weighed(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return `weigh_ratings` of the cells, worked out once."""
        return weigh_ratings(self.cells, self.model, _in_stars(self.levels))

    def _facts(self) -> dict[str, object]:
        return {"rows": self.rows.size, "items": self.items.size}


def _tell(
    cells: FullCells,
    model: RaterModel,
    levels: NDArray[np.float64],
    popularity: NDArray[np.float64],
    doubt: float = 1.0,
) -> tuple[Matrix, Matrix]:
    """Do what `Residuals.told_with` says, for misfits whose variance is so many times as large."""
    cells = cells._replace(
        row_rate=cells.row_rate * cells.people.sum() / cells.row_rate.sum(),
        item_rate=popularity,
        item_misfit=cells.item_misfit * doubt,
    )
    found = explain(cells, model, _in_stars(levels))
    nobody = np.clip(found.nobody, _CERTAIN, 1 - _CERTAIN)
    usual = np.outer(cells.row_misfit, cells.item_misfit) + model.half**2 / 3
    squares = (cells.labels - cells.fitted) ** 2 / usual
    return np.log1p(-nobody) - np.log(nobody) + np.log1p(squares), levels[found.level]


def _how_far(off: Matrix) -> Matrix:
    """Return how far labels are off, as a logarithm that can be added to one of popularity."""
    usual = max(_FAR * float(np.median(np.abs(off))), _CERTAIN)
    return np.asarray(_STEEP * np.log1p((off / usual) ** 2))


def find_residuals(candidates: Candidates, scale: RatingScale) -> Residuals | None:
    """Fit all rows of a release, and explain what is left over by ratings.

    Parameters
    ----------
    candidates : Candidates
    scale : RatingScale

    Returns
    -------
    Residuals or None
        None if it does not apply: if rows do not all hold the same items, stand for one person
        each, are fewer than three, or there is one rating only.

    Notes
    -----
    A label of a padded row is a mean of predictions, which are smooth over rows and items, and of
    ratings, which are not. A robust fit of low rank is the start; then, in turn, each cell is
    explained by none, one or more raters, and the fit is moved to what that leaves (expectation
    and maximization). Nothing private is used. Beyond `MOST_CELLS` cells, some rows are drawn, the
    same for the same number: what is found is then a lower bound.

    A release is fitted once, and remembered as long as it is there.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.attack.released import ReleasedTable
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    >>> table = ReleasedTable.from_release(release, ratings)
    >>> find_residuals(table.candidates, ratings.scale)
    Residuals(rows: 12, items: 40)
    """
    if candidates not in _REMEMBERED:
        _REMEMBERED[candidates] = _find(candidates, scale) if _applies(candidates, scale) else None
    return _REMEMBERED[candidates]


_REMEMBERED: WeakKeyDictionary[Candidates, Residuals | None] = WeakKeyDictionary()


def _applies(candidates: Candidates, scale: RatingScale) -> bool:
    return _is_full(candidates) and not why_unfitted(candidates, scale)


def _is_full(candidates: Candidates) -> bool:
    carrying = np.count_nonzero(np.diff(candidates.indptr))
    return bool((candidates.activity == carrying).all())


def n_fitted_cells(candidates: Candidates, scale: RatingScale) -> int:
    """Return how many cells `find_residuals` fits; 0 if it does not apply."""
    if not _applies(candidates, scale):
        return 0
    n_items = int(np.count_nonzero(np.diff(candidates.indptr)))
    return min(candidates.n_records * n_items, max(MOST_CELLS, _LEAST_ROWS * n_items))


def why_unfitted(candidates: Candidates, scale: RatingScale) -> str:
    """Say why full rows are not fitted; nothing if they are, or if rows are not full.

    Parameters
    ----------
    candidates : Candidates
    scale : RatingScale

    Examples
    --------
    >>> from recveil.release.records import Records
    >>> everybody = Records(np.array([30]), np.array([0, 2]), np.array([0, 1]), np.array([3.0, 4]))
    >>> scale = RatingScale(1, 5, 1)
    >>> why_unfitted(Candidates.from_records([everybody], 2, scale), scale)[-59:]
    '1 row for 30 people, and a fit needs 3. That shows nothing.'
    """
    if not _is_full(candidates):
        return ""
    n_rows, n_people = candidates.n_records, candidates.n_people
    if n_rows < _LEAST_ROWS:
        rows = "1 row" if n_rows == 1 else f"{n_rows:,} rows"
        people = describe_count(n_people, "person", "people")
        why = f"{rows} for {people}, and a fit needs {_LEAST_ROWS}"
    elif n_people <= n_rows:
        why = "each row is one person's"
    elif scale.range <= 0:
        why = "there is one rating only"
    else:
        return ""
    return f"A fit of all rows, to tell who rated what, was not tried: {why}. That shows nothing."


def _find(candidates: Candidates, scale: RatingScale) -> Residuals:
    items = np.flatnonzero(np.diff(candidates.indptr))
    rows = _draw_rows(candidates.n_records, items.size)
    # Rows are full, so that each item lists them all, in order.
    codes = candidates.codes.reshape(items.size, -1).T[rows]
    per_point = STARS.range / scale.range
    labels = (candidates.levels[codes] - scale.low) * per_point + STARS.low
    grid = _grid_of(candidates.levels) * per_point
    least = max(_MISFIT_OF_GRID * grid, _MISFIT_OF_SCALE * STARS.range * (grid == 0))
    most = int(np.clip(rows.size // _ROWS_PER_FACTOR, 1, _MOST_FACTORS))
    ridge = _RIDGE * min(1.0, rows.size / _ENOUGH_ROWS) ** 2
    levels = levels_of(scale)
    stars, people = _in_stars(levels), candidates.sizes[rows].astype(np.float64)
    pull = Pull(ridge, least, grid / 2, most)
    cells, model = _learn(labels, people, stars, pull, most)
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
    """Return the ratings that are told apart on the scale of the fit; they are equally far apart.

    Examples
    --------
    >>> _in_stars(np.array([0.0, 50.0, 100.0]))
    array([1., 3., 5.])
    """
    return np.linspace(STARS.low, STARS.high, levels.size)


def _learn(
    labels: Matrix,
    people: NDArray[np.float64],
    levels: NDArray[np.float64],
    pull: Pull,
    rank: int,
) -> tuple[FullCells, RaterModel]:
    """Explain the cells, and move a fit of so many factors to what that leaves, in turn."""
    ridge, least = pull.ridge, pull.least
    fit = fit_robustly(labels, rank, ridge, least, share=_START)
    cells = FullCells(
        labels=labels,
        fitted=fit.product(STARS.low, STARS.high),
        people=people,
        row_misfit=np.ones(people.size),
        item_misfit=np.full(labels.shape[1], least**2),
        row_rate=np.ones(people.size),
        item_rate=np.full(labels.shape[1], 0.3),
    )
    model = RaterModel(
        shrink=_FIRST.shrink,
        member_spread=_FIRST.member_spread * STARS.range,
        lean=_FIRST.lean,
        spread=_FIRST.spread * STARS.range,
        half=pull.half,
    )
    for _ in track(range(_ROUNDS), "Fitting all rows", share=1):
        found = explain(cells, model, levels)
        usual = float(np.median(cells.item_misfit)) + model.half**2 / 3
        fit = refit(fit, found.weights * usual, found.targets, ridge)
        cells = _learn_cells(cells, found, fit, STARS, model.half, least)
        model = _learn_model(model, found.sums, STARS)
    return cells, model


def _draw_rows(n_rows: int, n_items: int) -> NDArray[np.int64]:
    n_drawn = max(_LEAST_ROWS, MOST_CELLS // n_items)
    if n_rows <= n_drawn:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, n_drawn, replace=False))


def levels_of(scale: RatingScale) -> NDArray[np.float64]:
    """Return the ratings that are told apart: those of the scale, or fewer if it is a fine one.

    Examples
    --------
    >>> levels_of(RatingScale(1, 5, 1)), levels_of(RatingScale(0, 1, 0.01)).size
    (array([1., 2., 3., 4., 5.]), 11)
    """
    n_steps = round(scale.range / scale.step) if scale.step else _MOST_LEVELS
    return np.linspace(scale.low, scale.high, min(n_steps + 1, _MOST_LEVELS))


def _grid_of(labels: NDArray[np.float64]) -> float:
    """Return how far apart rounded labels are; 0 if they lie on no grid.

    Examples
    --------
    >>> round(_grid_of(np.array([1.0, 1.1, 1.3])), 6), _grid_of(np.array([1.0, 1.1, 1.2503]))
    (0.1, 0.0)
    """
    apart = np.diff(labels)
    if not apart.size:
        return 0.0
    steps = apart / apart.min()
    return float(apart.min()) if np.allclose(steps, np.rint(steps), atol=1e-3) else 0.0


def _learn_cells(
    cells: FullCells, found: Explained, fit: LowRank, scale: RatingScale, half: float, least: float
) -> FullCells:
    """Learn how often each item and row is rated, and how well it is fitted."""
    fitted = fit.product(scale.low, scale.high)
    item_rate = (found.raters.sum(axis=0) + 0.3) / cells.row_rate.sum()
    squares = (cells.labels - fitted) ** 2 * found.nobody
    usual = squares.sum() / found.nobody.sum()
    of_items = (squares.sum(axis=0) + _DRAWN * usual) / (found.nobody.sum(axis=0) + _DRAWN)
    of_rows = (squares.sum(axis=1) + _DRAWN * usual) / (found.nobody.sum(axis=1) + _DRAWN)
    return cells._replace(
        fitted=fitted,
        row_misfit=np.clip(of_rows / usual, *_ROW_MISFITS),
        item_misfit=np.maximum(of_items - half**2 / 3, least**2),
        row_rate=(found.raters.sum(axis=1) + 0.3) / item_rate.sum(),
        item_rate=item_rate,
    )


def _learn_model(model: RaterModel, sums: NDArray[np.float64], scale: RatingScale) -> RaterModel:
    """Learn from the cells that one member alone rated how ratings move a label."""
    n, x, xx, xy, yy, noise = sums.tolist()
    if xx <= 0 or n <= 0:
        return model
    shrink = min(max(1 - xy / xx, 0.0), 0.8)
    left = (yy - 2 * (1 - shrink) * xy + (1 - shrink) ** 2 * xx - noise) / n
    nearest, farthest = (share * scale.range for share in _MEMBER_SPREADS)
    lean = x / n
    spread = math.sqrt(max(xx / n - lean**2, (scale.range / 18) ** 2))
    member = min(max(math.sqrt(max(left, 0.0)), nearest), farthest)
    return RaterModel(shrink, member, lean, spread, model.half)
