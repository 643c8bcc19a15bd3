"""Recipient: how well people are served by somebody who has the release and their own ratings.

Recommenders learn their item side from the table alone. Each person is then served from his own
training ratings, whether he is in the table or not, and judged by ratings that were held out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.evaluate.deviations import mae, rmse
from recveil.evaluate.factors import RidgeFactors
from recveil.evaluate.means import GlobalMean, ItemMeans, ItemMeansAndBias, Popularity
from recveil.evaluate.neighbours import ItemNeighbours
from recveil.evaluate.ranking import (
    Ranking,
    list_items,
    ranking,
    relevance_threshold,
    relevant_items,
)
from recveil.evaluate.recommender import Recommender, Setting
from recveil.evaluate.split import HeldOut
from recveil.evaluate.training import TrainingTable, UserRows, inner_split
from recveil.ratings import RatingScale

# What averages alone can do; collaborative gain is counted from here.
AVERAGES = ItemMeansAndBias.name
# Cells of a tile of scores: 32 MiB.
_TILE_CELLS = 1 << 22


class Utility(NamedTuple):
    """How well one recommender serves.

    Attributes
    ----------
    rmse, mae : float
        Of the predictions, clipped to the scale, over all held-out cells; nan if the recommender
        predicts no ratings.
    ndcg, recall : float
        Means over the people with something relevant held out; nan if there are none, or if the
        recommender tells no items apart, so that its lists are in the order of the items' ids.
    coverage : float
        Share of the catalogue in anybody's list; nan for such a recommender.
    n : int
        Length of the lists.
    n_cells : int
        Held-out cells.
    n_ranked, n_unranked : int
        People who were ranked for, and people without relevant held-out items, who were not.
    setting : tuple of float
        What the recommender chose on its own table.
    inner_rmse : float
        Its RMSE on the table's inner hold-out.
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
@dataclass(frozen=True, eq=False)
class PersonErrors:
    """What each person's held-out ratings add to the errors.

    Parameters
    ----------
    cells : ndarray of int64, shape (n_served,)
        How many they are.
    squares : mapping of str to ndarray of float64, shape (n_served,)
        The sum of the squared errors, by each recommender that predicts ratings.
    """

    cells: NDArray[np.int64]
    squares: Mapping[str, NDArray[np.float64]]

    def __eq__(self, other: object) -> bool:
        """Tell whether all numbers are equal."""
        return (
            isinstance(other, PersonErrors)
            and np.array_equal(self.cells, other.cells)
            and self.squares.keys() == other.squares.keys()
            and all(
                np.array_equal(self.squares[name], other.squares[name]) for name in self.squares
            )
        )

    __hash__ = None  # type: ignore[assignment]


@brief
class Served(NamedTuple):
    """How well all recommenders that learnt from one table serve.

    Attributes
    ----------
    utilities : dict of str to Utility
    chosen : str
        The recommender with the lowest RMSE on the table's inner hold-out, which is the one that
        a recipient would take to predict ratings: he has no test cells.
    ranker : str
        The one with the highest nDCG@10 there, which he would take to make lists; `chosen` if that
        tells nothing, and if not given.
    errors : PersonErrors or None
        Of the people who were served, in the order of their positions.
    """

    utilities: dict[str, Utility]
    chosen: str
    ranker: str = ""
    errors: PersonErrors | None = None

    @property
    def best(self) -> Utility:
        """The utility of the chosen recommender."""
        return self.utilities[self.chosen]

    @property
    def best_lists(self) -> Utility:
        """The utility of the recommender that would make the lists."""
        return self.utilities[self.ranker or self.chosen]


def default_recommenders() -> tuple[Recommender, ...]:
    """Return the recommenders that a recipient would try, none of them fitted.

    Where a table tells no two of them apart, the first is chosen.
    """
    return (
        *(ItemMeansAndBias(), ItemMeans(), GlobalMean(), Popularity()),
        *(ItemNeighbours(), RidgeFactors(rank=10), RidgeFactors(rank=50)),
    )


def fit_all(
    table: TrainingTable, recommenders: Sequence[Recommender] | None = None, seed: int = 0
) -> tuple[Recommender, ...]:
    """Let recommenders learn from a table, all settings chosen on one inner hold-out.

    Parameters
    ----------
    table : TrainingTable
    recommenders : sequence of Recommender, optional
        `default_recommenders` if not given.
    seed : int
        Draws the inner hold-out.
    """
    inner = inner_split(table, seed)
    chosen = default_recommenders() if recommenders is None else recommenders
    return tuple(recommender.fit(table, inner) for recommender in chosen)


def serve(
    fitted: Sequence[Recommender],
    people: UserRows,
    test: HeldOut,
    *,
    n: int = 10,
    relevant_from: float | None = None,
) -> Served:
    """Serve people with recommenders that learnt from a table, and judge by held-out ratings.

    Parameters
    ----------
    fitted : sequence of Recommender
        From `fit_all`.
    people : UserRows
        The training ratings of everybody, also of people who are not in the table. Only those
        with held-out cells are served.
    test : HeldOut
        Original ratings; `HeldOut.of_users` takes those of some of the people.
    n : int
        Length of the lists. All items are ranked but those that the person rated in training.
        Items with equal scores come in a random order that is always the same.
    relevant_from : float, optional
        A held-out item is relevant if it was rated at least so high; three quarters up the scale
        (4 of 1 to 5) if not given.

    Raises
    ------
    RecveilError
        If nothing is held out, or a position is unknown.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluate.split import split_ratings
    >>> train, test = split_ratings(make_ratings(100, 50, 1500, seed=1))
    >>> fitted = fit_all(TrainingTable.from_ratings(train), (GlobalMean(), ItemMeansAndBias()))
    >>> served = serve(fitted, UserRows.from_ratings(train), test)
    >>> served.chosen
    'item mean + user bias'
    """
    if not test.users.size or test.users.max() >= people.n_users:
        raise RecveilError(
            f"{test.users.size} test cells for {people.n_users} people; expected at least one, "
            f"and only of people whose training ratings are given"
        )
    users, row_of = np.unique(test.users, return_inverse=True)
    own = people.take(users)
    utilities, squares = {}, dict[str, NDArray[np.float64]]()
    for recommender in fitted:
        scale = recommender.scale_
        threshold = relevance_threshold(scale) if relevant_from is None else relevant_from
        scores, top = _score(recommender, own, row_of, test.items, n)
        lists = ranking(top, relevant_items(test, users, threshold), recommender.n_items_)
        utilities[recommender.name] = _utility(recommender, scores, test, scale, lists)
        if recommender.rates:
            errors = np.clip(scores, scale.low, scale.high) - test.values
            squares[recommender.name] = np.bincount(row_of, weights=errors**2).astype(np.float64)
    inner = {r.name: round(r.inner_rmse_, 9) for r in fitted if not np.isnan(r.inner_rmse_)}
    chosen = min(inner, key=inner.__getitem__) if inner else fitted[0].name
    ranks = {r.name: round(r.inner_ndcg_, 9) for r in fitted if not np.isnan(r.inner_ndcg_)}
    ranker = max(ranks, key=ranks.__getitem__) if ranks else chosen
    return Served(utilities, chosen, ranker, PersonErrors(np.bincount(row_of), squares))


def gain_kept(raw: Served, release: Served) -> float:
    """Return the share of the collaborative gain that a release keeps.

    The gain is how far the chosen recommender's RMSE lies below that of averages learnt from the
    raw data. 1 means that the release serves as well as the raw data; 0, no better than averages
    of the raw data; below 0, worse. nan if the raw data give no gain.

    Examples
    --------
    >>> def served(averages, best):
    ...     rest = (0.0, 0.0, 0.0, 0.0, 10, 1, 1, 0, (), 0.0)
    ...     return Served({AVERAGES: Utility(averages, *rest), "kNN": Utility(best, *rest)}, "kNN")
    >>> round(gain_kept(raw=served(0.94, 0.90), release=served(0.95, 0.91)), 6)
    0.75
    """
    averages = raw.utilities[AVERAGES].rmse
    gain = averages - raw.best.rmse
    return (averages - release.best.rmse) / gain if gain > 0 else np.nan


def gain_interval(
    raw: Served, release: Served, *, seed: int = 0, draws: int = 1_000
) -> tuple[float, float]:
    """Return the 95 % interval of `gain_kept`: what it would be, had others been judged.

    The people who are judged are drawn anew, with replacement; each draw takes the errors of the
    raw data, the release and the averages of the same people, since these go together.

    Parameters
    ----------
    raw, release : Served
        Both of the same people.
    seed : int
        Draws the people; with the same seed they are the same for every release.
    draws : int

    Returns
    -------
    low, high : float
        nan if the raw data may give no gain at all, so that a share of it means nothing.

    Raises
    ------
    RecveilError
        If the two served different people.

    Notes
    -----
    Source: the percentile bootstrap of Efron 1979, over people, since the errors of one person
    hang together. It covers the choice of the people and of their held-out ratings, as far as they
    are independent; neither other settings that another split would choose, nor the chance in the
    release itself.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluate.split import split_ratings
    >>> train, test = split_ratings(make_ratings(100, 50, 1500, seed=1, taste=1.0, noise=0.4))
    >>> fitted = fit_all(TrainingTable.from_ratings(train))
    >>> raw = serve(fitted, UserRows.from_ratings(train), test)
    >>> gain_interval(raw, raw)
    (1.0, 1.0)
    """
    kept = gain_kept(raw, release)
    one, other = raw.errors, release.errors
    if np.isnan(kept) or one is None or other is None:
        return np.nan, np.nan
    if not np.array_equal(one.cells, other.cells):
        raise RecveilError(
            f"the raw data served {one.cells.size} people, the release {other.cells.size} or "
            f"others; expected the same people with the same held-out ratings"
        )
    of_raw = one.squares[AVERAGES], one.squares[raw.chosen]
    sums = np.column_stack([one.cells, *of_raw, other.squares[release.chosen]])
    rng, n = np.random.default_rng(seed), one.cells.size
    drawn = np.array(
        [np.bincount(rng.integers(n, size=n), minlength=n) @ sums for _ in range(draws)]
    )
    averages, best, released = np.sqrt(drawn[:, 1:] / drawn[:, :1]).T
    gain, left = averages - best, averages - released
    # A draw without a gain says nothing, which counts against both ends.
    shares = np.divide(left, gain, out=np.full(draws, np.nan), where=gain > 0)
    low = np.quantile(np.where(gain > 0, shares, -np.inf), 0.025, method="lower")
    high = np.quantile(np.where(gain > 0, shares, np.inf), 0.975, method="higher")
    if not np.isfinite([low, high]).all():
        return np.nan, np.nan
    return min(float(low), kept), max(float(high), kept)


def _score(
    recommender: Recommender,
    own: UserRows,
    row_of: NDArray[np.int64],
    items: NDArray[np.int64],
    n: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the scores of the cells, and everybody's list, a tile of people at a time."""
    step = max(1, _TILE_CELLS // recommender.n_items_)
    scores, lists = [], []
    for start in range(0, own.n_users, step):
        end = min(start + step, own.n_users)
        tile = own.take(np.arange(start, end))
        all_scores = recommender.predict(tile)
        cells = slice(*np.searchsorted(row_of, [start, end]))
        scores.append(all_scores[row_of[cells] - start, items[cells]])
        lists.append(list_items(all_scores, tile, n))
    return np.concatenate(scores), np.concatenate(lists)


def _utility(
    recommender: Recommender,
    scores: NDArray[np.float64],
    test: HeldOut,
    scale: RatingScale,
    lists: Ranking,
) -> Utility:
    errors = np.nan, np.nan
    if recommender.rates:
        ratings = np.clip(scores, scale.low, scale.high)
        errors = rmse(ratings, test.values), mae(ratings, test.values)
    if not recommender.ranks:
        lists = lists._replace(ndcg=np.nan, recall=np.nan, coverage=np.nan)
    return Utility(
        *(*errors, lists.ndcg, lists.recall, lists.coverage, lists.n, test.values.size),
        *(lists.n_users, lists.n_without, recommender.setting_, recommender.inner_rmse_),
        recommender.inner_ndcg_,
    )
