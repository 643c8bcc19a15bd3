"""Utility of a table for a recipient who trains recommenders on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from recveil.evaluation.fidelity_metrics import mae, rmse
from recveil.evaluation.rankers import (
    Ease,
    EaseOnBoth,
    EaseOnLikely,
    ItemCosine,
    PureSVD,
    Ranker,
)
from recveil.evaluation.ranking_metrics import (
    Ranking,
    gains_of_cells,
    list_items,
    ndcg,
    ranking,
    relevance_threshold,
    relevant_items,
)
from recveil.evaluation.rating_predictors import (
    GlobalMean,
    ItemMeans,
    ItemMeansAndBias,
    ItemNeighbours,
    Popularity,
    Recommender,
    RidgeFactors,
    Setting,
)
from recveil.evaluation.split import (
    HeldOut,
    TrainingTable,
    UserRows,
    inner_splits,
    n_inner_splits,
)
from recveil.ratings import RatingScale
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import in_second_thread, one_thread

# The baseline of the collaborative gain in predicted ratings.
AVERAGES = ItemMeansAndBias.name
# The baseline of the gain in lists; it needs no release.
POPULARITY = Popularity.name
# Rankers for tables that cannot choose one: the first applicable.
USUAL_LISTS = (EaseOnLikely.name, Ease("values").name)
# Cells of a tile of scores: 32 MiB.
_TILE_CELLS = 1 << 22
# Shares of what is left that the bar gives to learning, and then to serving.
_FITTING, _SERVING = 0.8, 0.9
# Minimum number of differences for a standard error.
_MIN_DIFFERENCES = 3


class Utility(NamedTuple):
    """Quality of one recommender.

    Attributes
    ----------
    rmse, mae : float
        Of the predictions, clipped to the scale, over all held-out cells; nan if the recommender
        predicts no ratings.
    ndcg, recall : float
        Means over the users with a relevant held-out item; nan if there are none, or if the
        recommender does not distinguish items, so that its lists are in the order of the items'
        ids.
    coverage : float
        Share of the catalogue in any list; nan for such a recommender.
    n : int
        Length of the lists.
    n_cells : int
        Held-out cells.
    n_ranked, n_unranked : int
        Users with relevant held-out items, and users without, who are left out.
    setting : tuple of float
        The setting chosen on the recommender's own table.
    inner_rmse : float
        Its RMSE on the table's inner hold-outs.
    inner_ndcg : float
        Its nDCG@10 there.
    """

    rmse: float
    mae: float
    ndcg: float
    recall: float
    coverage: float
    n: int
    n_cells: int
    n_ranked: int
    n_unranked: int
    setting: Setting
    inner_rmse: float
    inner_ndcg: float = np.nan


@brief
class ByPopularity(NamedTuple):
    """Quality for each user and third of the held-out ratings, by the item's number of raters.

    All arrays have shape (n_served, 3): rare, middle and popular items, cut so that each third has
    about as many held-out ratings.
    """

    cuts: tuple[float, float]  # highest number of raters of the first two thirds
    cells: NDArray[np.int64]
    relevant: NDArray[np.int64]  # relevant held-out ratings
    squares: Mapping[str, NDArray[np.float64]]
    gains: Mapping[str, NDArray[np.float64]]  # sum over relevant ratings of 1 / log2(place + 1)


@brief
@dataclass(frozen=True, eq=False)
class PerUserUtility:
    """Quality for each user; all arrays have shape (n_served,)."""

    cells: NDArray[np.int64]  # held-out ratings
    squares: Mapping[str, NDArray[np.float64]]  # sum of the squared errors, by rating predictor
    # nDCG of the lists, by ranker; nan without relevant held-out items
    ndcg: Mapping[str, NDArray[np.float64]]
    by_popularity: ByPopularity | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether all numbers are equal."""
        if not isinstance(other, PerUserUtility) or not np.array_equal(self.cells, other.cells):
            return False
        pairs = (self.squares, other.squares), (self.ndcg, other.ndcg)
        return all(
            mine.keys() == theirs.keys()
            and all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in mine)
            for mine, theirs in pairs
        )

    __hash__ = None  # type: ignore[assignment]


@brief
class Served(NamedTuple):
    """Quality of all recommenders trained on one table.

    Attributes
    ----------
    utilities : dict of str to Utility
    chosen : str
        The recommender with the lowest RMSE on the table's inner hold-outs, which a recipient
        without test cells would choose to predict ratings.
    ranker : str
        The one with the highest nDCG@10 there, which a recipient would choose to make lists; of
        those not significantly worse, the one with the lowest RMSE; EASE on likely ratings, or on
        values, for a full table, whose hold-outs are uninformative; `chosen` if there are no lists,
        and by default.
    per_user : PerUserUtility or None
        Quality for each served user, in the order of their positions.
    """

    utilities: dict[str, Utility]
    chosen: str
    ranker: str = ""
    per_user: PerUserUtility | None = None

    @property
    def of_chosen(self) -> Utility:
        """The utility of the recommender that would be chosen to predict ratings."""
        return self.utilities[self.chosen]

    @property
    def of_averages(self) -> Utility:
        """The utility of averages alone; all nan for implicit feedback."""
        if AVERAGES in self.utilities:
            return self.utilities[AVERAGES]
        n, n_cells = next((utility.n, utility.n_cells) for utility in self.utilities.values())
        none = np.nan
        return Utility(none, none, none, none, none, n, n_cells, 0, 0, (), none)

    @property
    def of_ranker(self) -> Utility:
        """The utility of the recommender that would be chosen to make the lists."""
        return self.utilities[self.ranker or self.chosen]

    @property
    def best(self) -> str:
        """The recommender with the lowest RMSE on the test cells, which no recipient can know."""
        errors = {name: u.rmse for name, u in self.utilities.items() if not np.isnan(u.rmse)}
        return min(errors, key=errors.__getitem__) if errors else self.chosen

    @property
    def best_ranker(self) -> str:
        """The recommender with the highest nDCG on the test cells, which no recipient can know."""
        gains = {name: u.ndcg for name, u in self.utilities.items() if not np.isnan(u.ndcg)}
        return max(gains, key=gains.__getitem__) if gains else self.ranker or self.chosen


def default_recommenders() -> tuple[Recommender, ...]:
    """Return the recommenders that a recipient would try, none of them fitted.

    If a table does not distinguish two of them, the first is chosen.
    """
    return (
        ItemMeansAndBias(),
        ItemMeans(),
        GlobalMean(),
        Popularity(),
        ItemNeighbours(),
        RidgeFactors(rank=10),
        RidgeFactors(rank=50),
        Ease("liked"),
        Ease("values"),
        EaseOnBoth(),
        ItemCosine(),
        PureSVD(),
        EaseOnLikely(),
    )


def recommenders_of_likes() -> tuple[Recommender, ...]:
    """Return those that make lists of likes; none of them predicts a rating."""
    return (Popularity(), Ease("liked"), ItemCosine(), PureSVD())


def fit_all(
    table: TrainingTable, recommenders: Sequence[Recommender] | None = None, seed: int = 0
) -> tuple[Recommender, ...]:
    """Let recommenders learn from a table, all settings chosen on the same inner hold-outs.

    Parameters
    ----------
    table : TrainingTable
    recommenders : sequence of Recommender, optional
        `default_recommenders` if not given, or of likes, `recommenders_of_likes`.
    seed : int
        Draws the inner hold-outs; see `recveil.evaluation.inner_splits`.
    """
    inner = inner_splits(table, seed)
    usual = recommenders_of_likes if table.scale.unary else default_recommenders
    chosen = usual() if recommenders is None else recommenders
    rankers = [each for each in chosen if isinstance(each, Ranker)]
    # It ranks by the two others as well.
    rankers.sort(key=lambda each: not isinstance(each, EaseOnBoth))

    def fit_others() -> None:
        for each in chosen:
            if not isinstance(each, Ranker):
                each.fit(table, inner)

    # Steps of the rankers count as those of the longer thread.
    total = _effort(chosen, table, len(inner))
    longer = total / (_effort(rankers, table, len(inner)) or 1.0)
    steps = track(
        rankers,
        "Learning",
        weigh=lambda each: longer * each.effort(table, len(inner)),
        share=_FITTING,
        total=total,
    )
    # Rankers share what they take apart, and the others nothing with them.
    with one_thread(), in_second_thread(fit_others):
        for ranker in steps:
            ranker.fit(table, inner)
    return tuple(chosen)


def effort_of_fits(table: TrainingTable) -> float:
    """Return about how many operations `fit_all` takes by default, for the bar."""
    usual = recommenders_of_likes if table.scale.unary else default_recommenders
    return _effort(usual(), table, n_inner_splits(table))


def _effort(recommenders: Sequence[Recommender], table: TrainingTable, n_inner: int) -> float:
    """Return the operations of the longer one of the two threads of `fit_all`."""
    by_thread = [0.0, 0.0]
    for each in recommenders:
        by_thread[isinstance(each, Ranker)] += each.effort(table, n_inner)
    return max(by_thread)


def serve(
    fitted: Sequence[Recommender],
    user_rows: UserRows,
    test: HeldOut,
    *,
    n: int = 10,
    relevant_from: float | None = None,
) -> Served:
    """Serve users with fitted recommenders, and evaluate on held-out ratings.

    Parameters
    ----------
    fitted : sequence of Recommender
        From `fit_all`.
    user_rows : UserRows
        The training ratings of all users, including those who are not in the table. Only those with
        held-out cells are served.
    test : HeldOut
        Original ratings; `HeldOut.of_users` selects users.
    n : int
        Length of the lists. All items are ranked except those that the user rated in training. Ties
        are in a fixed random order.
    relevant_from : float, optional
        Lowest rating of a relevant held-out item; by default three quarters up the scale (4 of 1 to
        5).

    Raises
    ------
    RecveilError
        If nothing is held out, or a position is unknown.


    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluation.split import split_ratings
    >>> train, test = split_ratings(make_ratings(100, 50, 1500, seed=1))
    >>> fitted = fit_all(TrainingTable.from_ratings(train), (GlobalMean(), ItemMeansAndBias()))
    >>> served = serve(fitted, UserRows.from_ratings(train), test)
    >>> served.chosen
    'item mean + user bias'
    """
    if not test.users.size or test.users.max() >= user_rows.n_users:
        raise RecveilError(
            f"{test.users.size} test cells for "
            f"{describe_count(user_rows.n_users, 'user')}; expected at least one, "
            f"and only of users whose training ratings are given",
            code="argument.value",
        )
    users, row_of = np.unique(test.users, return_inverse=True)
    own = user_rows.take(users)
    utilities: dict[str, Utility] = {}
    squares, gains = dict[str, NDArray[np.float64]](), dict[str, NDArray[np.float64]]()
    thirds = _Thirds(user_rows, test, row_of, users.size)
    for recommender, (scores, top) in zip(
        fitted, _score_all(fitted, own, row_of, test.items, n), strict=True
    ):
        scale = recommender.scale_
        threshold = relevance_threshold(scale) if relevant_from is None else relevant_from
        relevant = relevant_items(test, users, threshold)
        lists = ranking(top, relevant, recommender.n_items_)
        utilities[recommender.name] = _utility(recommender, scores, test, scale, lists)
        if recommender.rates:
            errors = np.clip(scores, scale.low, scale.high) - test.values
            squares[recommender.name] = np.bincount(row_of, weights=errors**2).astype(np.float64)
            thirds.squares[recommender.name] = thirds.sum(errors**2)
        if recommender.ranks:
            gains[recommender.name] = ndcg(top, relevant)
            is_relevant = test.values >= threshold
            thirds.add_gains(recommender.name, gains_of_cells(top, row_of, test.items), is_relevant)
    inner = {r.name: round(r.inner_rmse_, 9) for r in fitted if not np.isnan(r.inner_rmse_)}
    chosen = min(inner, key=inner.__getitem__) if inner else fitted[0].name
    ranker = _choose_ranker(fitted, inner) or chosen
    per_user = PerUserUtility(np.bincount(row_of), squares, gains, thirds.collected())
    return Served(utilities, chosen, ranker, per_user)


class _Thirds:
    """Collects `ByPopularity`, recommender by recommender."""

    def __init__(
        self, user_rows: UserRows, test: HeldOut, row_of: NDArray[np.int64], n_users: int
    ) -> None:
        n_items = int(max(user_rows.indices.max(initial=0), test.items.max(initial=0))) + 1
        counts = np.bincount(user_rows.indices, minlength=n_items)[test.items]
        cuts = np.quantile(counts, (1 / 3, 2 / 3))
        self.cuts = float(cuts[0]), float(cuts[1])
        self._cell = 3 * row_of + np.searchsorted(cuts, counts)
        self._shape = n_users, 3
        self.squares: dict[str, NDArray[np.float64]] = {}
        self.gains: dict[str, NDArray[np.float64]] = {}
        self._relevant = self._count(np.zeros(row_of.size, np.bool_))

    def sum(self, of_cells: NDArray[np.float64]) -> NDArray[np.float64]:
        n_users, n_thirds = self._shape
        sums = np.bincount(self._cell, of_cells, minlength=n_users * n_thirds)
        return np.asarray(sums, np.float64).reshape(self._shape)

    def add_gains(
        self, name: str, of_cells: NDArray[np.float64], relevant: NDArray[np.bool_]
    ) -> None:
        self.gains[name] = self.sum(of_cells * relevant)
        self._relevant = self._count(relevant)

    def collected(self) -> ByPopularity:
        cells = self._count(np.ones(self._cell.size, np.bool_))
        return ByPopularity(self.cuts, cells, self._relevant, self.squares, self.gains)

    def _count(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        return self.sum(chosen.astype(np.float64)).astype(np.int64)


def _choose_ranker(fitted: Sequence[Recommender], inner: Mapping[str, float]) -> str:
    """Return the recommender with the best inner lists; "" if there are no lists."""
    # Among those less than two standard errors worse, the lowest inner RMSE decides. For a full
    # table, where nearly every inner list is right, the choice is fixed: EASE on likely ratings
    # where rows belong to groups, otherwise EASE on values.
    if any(r.is_full_ for r in fitted):
        able = {r.name for r in fitted if r.ranks}
        for name in USUAL_LISTS:
            if name in able:
                return name
    lists = {r.name: r.inner_lists_ for r in fitted if not np.isnan(r.inner_ndcg_)}
    means = {r.name: round(r.inner_ndcg_, 9) for r in fitted if r.name in lists}
    if not means:
        return ""
    best = max(means, key=means.__getitem__)
    alike = [name for name in lists if not _is_worse(lists[name], lists[best])]
    # Of those without an RMSE, the first is the best of them.
    return min(sorted(alike, key=means.__getitem__, reverse=True), key=lambda n: inner.get(n, 9e9))


def _is_worse(lists: NDArray[np.float64], best: NDArray[np.float64]) -> bool:
    """Return whether lists are significantly worse than others of the same first rows."""
    n = min(best.size, lists.size)
    apart = best[:n] - lists[:n]
    apart = apart[~np.isnan(apart)]
    if apart.size < _MIN_DIFFERENCES:
        return False
    return bool(apart.mean() > 2 * apart.std(ddof=1) / np.sqrt(apart.size))


# Scores of cells, and lists, in tiles of users
_Scored: TypeAlias = tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]


def _score_all(
    fitted: Sequence[Recommender],
    user_rows: UserRows,
    row_of: NDArray[np.int64],
    items: NDArray[np.int64],
    n: int,
) -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    step = max(1, _TILE_CELLS // max(each.n_items_ for each in fitted))
    starts = range(0, user_rows.n_users, step)
    found: list[_Scored] = [([], []) for _ in fitted]

    def score(start: int, *, rankers: bool) -> None:
        end = min(start + step, user_rows.n_users)
        # Rankers that share scores get the same tile one after another.
        tile = user_rows.take(np.arange(start, end))
        cells = slice(*np.searchsorted(row_of, [start, end]))
        for recommender, (scores, lists) in zip(fitted, found, strict=True):
            if isinstance(recommender, Ranker) == rankers:
                predicted = recommender.predict(tile)
                scores.append(predicted[row_of[cells] - start, items[cells]])
                lists.append(list_items(predicted, tile, n))

    def score_others() -> None:
        for start in starts:
            score(start, rankers=False)

    with one_thread(), in_second_thread(score_others):
        for start in track(starts, "Serving", share=_SERVING):
            score(start, rankers=True)
    return [(np.concatenate(scores), np.concatenate(lists)) for scores, lists in found]


def _utility(
    recommender: Recommender,
    scores: NDArray[np.float64],
    test: HeldOut,
    scale: RatingScale,
    lists: Ranking,
) -> Utility:
    ratings = np.clip(scores, scale.low, scale.high)
    if not recommender.ranks:
        lists = lists._replace(ndcg=np.nan, recall=np.nan, coverage=np.nan)
    return Utility(
        rmse=rmse(ratings, test.values) if recommender.rates else np.nan,
        mae=mae(ratings, test.values) if recommender.rates else np.nan,
        ndcg=lists.ndcg,
        recall=lists.recall,
        coverage=lists.coverage,
        n=lists.n,
        n_cells=test.values.size,
        n_ranked=lists.n_users,
        n_unranked=lists.n_without,
        setting=recommender.setting_,
        inner_rmse=recommender.inner_rmse_,
        inner_ndcg=recommender.inner_ndcg_,
    )


class CarryOver(NamedTuple):
    """How alike the recommenders are ordered by what they learn from raw data and from a release.

    Attributes
    ----------
    by_rmse, by_ndcg : tuple of str
        Names of the recommenders that were ordered; by RMSE only those that predict ratings.
    tau_rmse, tau_ndcg : float
        Kendall's tau-b of the two orders: 1 for the same, -1 for the opposite; nan if all are
        equally good on one side.
    """

    by_rmse: tuple[str, ...]
    by_ndcg: tuple[str, ...]
    tau_rmse: float
    tau_ndcg: float


def carry_over(raw: Mapping[str, Utility], release: Mapping[str, Utility]) -> CarryOver:
    """Compare the order of recommenders, each learning from raw data and from a release.

    Parameters
    ----------
    raw, release : mapping of str to Utility
        The same recommenders' utilities on the same held-out ratings.

    Raises
    ------
    RecveilError
        If the recommenders are not the same.

    Examples
    --------
    >>> def utility(rmse, ndcg):
    ...     return Utility(rmse, rmse, ndcg, ndcg, 1.0, 10, 5, 5, 0, (), rmse)
    >>> raw = {"a": utility(0.9, 0.3), "b": utility(1.0, 0.2), "c": utility(1.1, 0.1)}
    >>> release = {"a": utility(0.9, 0.3), "b": utility(1.2, 0.2), "c": utility(1.1, 0.1)}
    >>> carry_over(raw, release).tau_ndcg
    1.0
    """
    if set(raw) != set(release):
        raise RecveilError(
            f"recommenders {sorted(raw)} on the raw data, but {sorted(release)} on the release; "
            f"expected the same ones",
            code="argument.value",
        )
    by_rmse = tuple(n for n in raw if not np.isnan([raw[n].rmse, release[n].rmse]).any())
    by_ndcg = tuple(n for n in raw if not np.isnan([raw[n].ndcg, release[n].ndcg]).any())
    errors = [[table[name].rmse for name in by_rmse] for table in (raw, release)]
    gains = [[table[name].ndcg for name in by_ndcg] for table in (raw, release)]
    return CarryOver(by_rmse, by_ndcg, kendall_tau(*errors), kendall_tau(*gains))


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float:
    """Return Kendall's tau-b of two lists of scores; nan if all scores of a list are equal.

    Scores that differ by less than 1e-9 are equal, so that rounding errors have no effect.

    Examples
    --------
    >>> kendall_tau([1, 2, 3], [1, 3, 2])  # two pairs agree, one does not
    0.33333333333333337
    """
    x, y = (_grid(scores) for scores in (first, second))
    if x.size < 2 or (x == x[0]).all() or (y == y[0]).all():
        return np.nan
    return float(stats.kendalltau(x, y).statistic)


def _grid(scores: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(np.round(np.asarray(scores, np.float64), 9), np.float64)
