"""Next items after a cut in time: recommenders that use the order of ratings, and their hit rates.

Times are days. Within a day, the order of ratings is unknown, so days are the steps of a sequence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from recveil.attacks.statistics import share_interval as mean_interval
from recveil.attacks.statistics import wilson_interval
from recveil.evaluation.rankers import ItemCosine, Ranker, valued
from recveil.evaluation.ranking_metrics import list_items, ndcg, relevant_items
from recveil.evaluation.rating_predictors import (
    MOST_COMPARED,
    Recommender,
    Setting,
    most_carried,
)
from recveil.evaluation.retained import Measured, resample, share_interval
from recveil.evaluation.split import (
    DatedRows,
    HeldOut,
    InnerSplit,
    TrainingTable,
    UserRows,
    is_first_day,
)
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import sorted_unique
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief

# The share of a table's last ratings by which settings are chosen.
_INNER_SHARE = 0.2
# Days of recent popularity.
_RECENT = 30
# Cells of a tile of scores: 32 MiB.
_TILE_CELLS = 1 << 22


class OrderedRanker(Ranker):
    """A ranker whose setting has the best lists of next items after an inner cut in time.

    The inner cut is that of the table's own last fifth. Without days, the first setting is used.
    """

    # Whether it learns from the days of a table; serving always needs those of the served users.
    needs_days: ClassVar[bool] = True

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Choose the setting on an inner cut in time, then learn from the whole table."""
        del inner  # no cut in time
        if self.needs_days:
            _days_of(table.rows)
        self.of_full = self.serving_settings[0]
        return super().fit(table, _inner_cut(table))


def _days_of(rows: UserRows) -> NDArray[np.int32]:
    if not isinstance(rows, DatedRows):
        raise RecveilError(
            "these rows have no days, and this recommender uses the order of ratings; expected "
            "DatedRows, or a TrainingTable of them (with_days=True)",
            code="time.missing",
        )
    return rows.days


def _inner_cut(table: TrainingTable) -> tuple[InnerSplit, ...]:
    """Hold out the next items after the first four fifths of a table's ratings."""
    rows = table.rows
    if not isinstance(rows, DatedRows):
        return ()
    days = rows.days
    cut = np.sort(days)[int((1 - _INNER_SHARE) * days.size)]
    known, row_of = rows.where(days < cut), rows.row_of()
    is_tested = (days >= cut) & (np.diff(known.indptr) > 0)[row_of]
    if not is_tested.any():
        return ()
    users, items = row_of[is_tested], rows.indices[is_tested].astype(np.int64)
    # Every next item is relevant, whatever its rating.
    cells = HeldOut(users, items, np.full(users.size, table.scale.high))
    cells = cells.where(is_first_day(users, days[is_tested]))
    inner = TrainingTable.from_rows(known, table.sizes, table.n_items, table.scale)
    return (InnerSplit(inner, known, cells),)


class RecentPopularity(OrderedRanker):
    """The item count of the last 30 days of the table: a baseline without personal lists."""

    name = f"popularity of the last {_RECENT} days"

    def _learn(self, table: TrainingTable, _setting: Setting) -> NDArray[np.float64]:
        days = _days_of(table.rows)
        return table.where(days > days.max() - _RECENT).support

    def _serve(self, learnt: Any, user_rows: UserRows, _setting: Setting) -> NDArray[np.float64]:
        return np.tile(learnt, (user_rows.n_users, 1))


def count_transitions(table: TrainingTable) -> sparse.csr_array:
    """Return how often an item follows another on a user's next day, shape (n_items, n_items).

    Each item that follows counts 1, shared equally by the items of the day before. If there are
    more than 5,000 items, only those of most users are counted.
    """
    compared = most_carried(table.support, MOST_COMPARED)
    rows = table.rows.where(np.isin(table.rows.indices, compared))
    days, row_of = _days_of(rows), rows.row_of()
    order = np.lexsort((rows.indices, days, row_of))
    row_of, days = row_of[order], days[order]
    is_start = (np.diff(row_of, prepend=-1) != 0) | (np.diff(days, prepend=days[:1]) != 0)
    starts = np.flatnonzero(is_start)
    sessions = sparse.csr_array(
        (np.ones(order.size), rows.indices[order], np.append(starts, order.size)),
        shape=(starts.size, table.n_items),
    )
    earlier = np.flatnonzero(row_of[starts][1:] == row_of[starts][:-1])
    sizes = np.diff(sessions.indptr)[earlier]
    shares = sparse.diags_array(table.sizes[row_of[starts][earlier]] / sizes)
    return sparse.csr_array((shares @ sessions[earlier]).T @ sessions[earlier + 1])


def _last_days(user_rows: UserRows, n_items: int) -> sparse.csr_array:
    """Return each user's items of the last day, which share a weight of 1."""
    days, row_of = _days_of(user_rows), user_rows.row_of()
    last = is_first_day(row_of, -days).astype(np.float64)
    sizes = np.bincount(row_of, weights=last, minlength=user_rows.n_users)
    return user_rows.matrix(n_items, last / sizes[row_of])


class MarkovChain(OrderedRanker):
    """First-order Markov chain: the probability that an item follows those of the user's last day.

    With n transitions from an item, m of them to another one (see `count_transitions`), the
    probability is ``(m + smoothing p) / (n + smoothing)``, where p is the other item's share of all
    ratings. It is averaged over the items of the user's last day.

    Examples
    --------
    >>> items, days = ["a", "b", "a", "b", "a"], [1, 2, 1, 3, 1]
    >>> raw = Ratings.from_columns([1, 1, 2, 2, 3], items, days=days)
    >>> chain = MarkovChain().fit(TrainingTable.from_ratings(raw, with_days=True))
    >>> chain.setting_, chain.predict(DatedRows.from_ratings(raw))[2, 1].round(4)
    ((20.0,), np.float64(0.4545))
    """

    name = "Markov chain"
    serving_settings: ClassVar[tuple[Setting, ...]] = ((20.0,), (200.0,), (2_000.0,))

    def _learn(
        self, table: TrainingTable, _setting: Setting
    ) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        return count_transitions(table), table.support / table.support.sum()

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> NDArray[np.float64]:
        counts, popularity = learnt
        (smoothing,) = setting
        last_items = _last_days(user_rows, popularity.size)
        last_items.data /= (counts.sum(axis=1) + smoothing)[last_items.indices]
        scores = np.asarray((last_items @ counts).toarray(), np.float64)
        scores += smoothing * last_items.sum(axis=1)[:, None] * popularity
        return scores


@brief
class _Factors(NamedTuple):
    """Transition counts of low rank, ``left @ right.T``, and the rows' sums."""

    sums: NDArray[np.float64]
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    popularity: NDArray[np.float64]


class FactorizedMarkov(OrderedRanker):
    """A Markov chain of low rank: truncated SVD of the transition counts.

    As `MarkovChain`, but of the counts N, with row and column sums r and c, ``N / sqrt(r cᵀ)`` is
    approximated by its first singular directions.

    Notes
    -----
    Source: Rendle, Freudenthaler and Schmidt-Thieme, "Factorizing personalized Markov chains for
    next-basket recommendation", WWW 2010, here for all users alike and in closed form.
    """

    name = "factorized Markov chain"
    # Smoothing and rank.
    serving_settings: ClassVar[tuple[Setting, ...]] = tuple(
        (smoothing, rank) for smoothing in (20.0, 200.0, 2_000.0) for rank in (10.0, 50.0)
    )

    def _learn(self, table: TrainingTable, _setting: Setting) -> _Factors:
        counts = count_transitions(table)
        earlier, following = (np.asarray(counts.sum(axis=axis), np.float64) for axis in (1, 0))
        by_row, by_column = (
            np.divide(1.0, np.sqrt(sums), out=np.zeros(sums.size), where=sums > 0)
            for sums in (earlier, following)
        )
        scaled = sparse.diags_array(by_row) @ counts @ sparse.diags_array(by_column)
        rank = min(int(max(self.serving_settings)[1]), table.n_items)
        vectors = randomized_svd(sparse.csr_array(scaled), rank, random_state=0)[2].T
        left = np.sqrt(earlier)[:, None] * (scaled @ vectors)
        right = np.sqrt(following)[:, None] * vectors
        return _Factors(earlier, left, right, table.support / table.support.sum())

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> NDArray[np.float64]:
        smoothing, rank = setting[0], int(setting[1])
        last_items = _last_days(user_rows, learnt.popularity.size)
        last_items.data /= (learnt.sums + smoothing)[last_items.indices]
        scores = (last_items @ learnt.left[:, :rank]) @ learnt.right[:, :rank].T
        scores += smoothing * last_items.sum(axis=1)[:, None] * learnt.popularity
        return np.asarray(scores, np.float64)


class RecentItemCosine(OrderedRanker):
    """Item cosine (see `ItemCosine`) in which a user's recent ratings weigh more.

    A rating weighs ``2 ** (-age / half_life)``, with its age before the user's last one in days,
    times its value as a share of the highest. The similarities need no days.

    Notes
    -----
    Source: Ding and Li, "Time weight collaborative filtering", CIKM 2005.
    """

    name = "item cosine with time decay"
    needs_days: ClassVar[bool] = False
    serving_settings: ClassVar[tuple[Setting, ...]] = ((30.0,), (7.0,), (180.0,), (10_000.0,))

    def _learn(self, table: TrainingTable, setting: Setting) -> Any:
        return ItemCosine()._learn(table, setting)

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> NDArray[np.float64]:
        spectrum, by_some, similar = learnt
        days, row_of = _days_of(user_rows), user_rows.row_of()
        last = np.zeros(user_rows.n_users, np.int64)
        last[row_of] = np.iinfo(np.int32).min
        np.maximum.at(last, row_of, days)
        weights = valued(user_rows, spectrum.scale) * 0.5 ** ((last[row_of] - days) / setting[0])
        weighted = user_rows.matrix(spectrum.n_items, weights)[:, spectrum.modelled]
        scores = np.zeros(weighted.shape)
        scores[:, by_some] = (weighted[:, by_some] @ similar).toarray()
        return np.asarray(spectrum.spread(scores), np.float64)


def ordered_rankers() -> tuple[OrderedRanker, ...]:
    """Return the recommenders of next items, none of them fitted; the first is a baseline."""
    return RecentPopularity(), MarkovChain(), FactorizedMarkov(), RecentItemCosine()


def _fit_ordered(table: TrainingTable) -> list[Recommender]:
    """Fit the recommenders that a table without days does not exclude."""
    has_days = isinstance(table.rows, DatedRows)
    return [r.fit(table) for r in ordered_rankers() if has_days or not r.needs_days]


@brief
class NextItem(NamedTuple):
    """Quality of one recommender's lists of next items, with 95% intervals over users."""

    hit_rate: Measured  # the share of users with a next item in their list
    ndcg: Measured


@brief
@dataclass(frozen=True, eq=False)
class NextItems:
    """Quality of lists of next items: those of each user's first day after the cut.

    Parameters
    ----------
    n_users, n_cells : int
        Users with ratings before and after the cut, and their next items.
    n : int
        Length of the lists.
    raw, release : dict of str to NextItem
        By recommender, learned from either.
    without_days : tuple of str
        Recommenders that need days, which the release does not have.
    best_raw, chosen : str
        The best one from the raw ratings, and the one that a recipient would choose; with days, it
        is the ordered ranker with the best lists after the inner cut.
    retained : Measured
        The nDCG of the chosen one as a share of that of the best.
    """

    n_users: int
    n_cells: int
    n: int
    raw: Mapping[str, NextItem]
    release: Mapping[str, NextItem]
    without_days: tuple[str, ...]
    best_raw: str
    chosen: str
    retained: Measured


def judge_next_items(
    train: Ratings,
    cells: HeldOut,
    raw: Sequence[Recommender],
    release: Sequence[Recommender],
    table: TrainingTable,
    chosen: str,
    *,
    n: int = 10,
    seed: int = 0,
) -> NextItems:
    """Evaluate lists of next items by fitted recommenders, and by those that use the order."""
    users = sorted_unique(cells.users)
    user_rows = DatedRows.from_ratings(train).take(users)
    relevant = relevant_items(cells, users, -np.inf)
    dated = TrainingTable.from_ratings(train, with_days=True)
    ordered = [_fit_ordered(each) for each in (dated, table)]
    if isinstance(table.rows, DatedRows):
        judged = {r.name: r.inner_ndcg_ for r in ordered[1] if not np.isnan(r.inner_ndcg_)}
        chosen = max(judged, key=lambda name: judged[name], default=chosen)
    sides = [
        _lists_of([*fitted, *others], user_rows, relevant, n)
        for fitted, others in zip((raw, release), ordered, strict=True)
    ]
    of_raw, of_release = ({name: lists.measure() for name, lists in side.items()} for side in sides)
    best = max(of_raw, key=lambda name: of_raw[name].ndcg.value)
    return NextItems(
        n_users=users.size,
        n_cells=cells.users.size,
        n=n,
        raw=of_raw,
        release=of_release,
        without_days=tuple(r.name for r in ordered_rankers() if r.name not in of_release),
        best_raw=best,
        chosen=chosen,
        retained=_retained(sides[0][best].ndcg, sides[1].get(chosen), seed),
    )


@brief
class _Lists(NamedTuple):
    """Quality of each user's list."""

    is_hit: NDArray[np.bool_]
    ndcg: NDArray[np.float64]

    def measure(self) -> NextItem:
        n_users = self.is_hit.size
        mean, low, high, _ = mean_interval(self.ndcg)
        return NextItem(
            Measured(*wilson_interval(int(self.is_hit.sum()), n_users)),
            Measured(mean, max(0.0, low), min(1.0, high), n_users),
        )


def _lists_of(
    fitted: Sequence[Recommender], user_rows: UserRows, relevant: UserRows, n: int
) -> dict[str, _Lists]:
    """Make lists for users with each recommender that ranks, in tiles of users."""
    result = {}
    for recommender in track([each for each in fitted if each.ranks], "Serving", share=1):
        step = max(1, _TILE_CELLS // recommender.n_items_)
        tiles = [
            user_rows.take(np.arange(start, min(start + step, user_rows.n_users)))
            for start in range(0, user_rows.n_users, step)
        ]
        top = np.concatenate([list_items(recommender.predict(tile), tile, n) for tile in tiles])
        gained = ndcg(top, relevant)
        result[recommender.name] = _Lists(gained > 0, gained)
    return result


def _retained(whole: NDArray[np.float64], part: _Lists | None, seed: int) -> Measured:
    """Return the share of the raw lists' nDCG that the release's lists have."""
    if part is None or not whole.any():
        return Measured(np.nan, np.nan, np.nan)
    share = float(part.ndcg.mean() / whole.mean())
    sums = resample(np.column_stack([part.ndcg, whole]), seed, 1_000)
    return Measured(share, *share_interval(share, *sums.T), whole.size)
