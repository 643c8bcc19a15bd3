"""Gain of raw data over averages, and the share of it that a release retains."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.evaluation.bootstrap import Measured, measured_by, resample, share_interval
from recveil.evaluation.recipient import AVERAGES, POPULARITY, PerUserUtility, Served
from recveil.runtime.errors import RecveilError, describe_count


class Kept(NamedTuple):
    """Which share of what the raw data are good for is left: 1 is as good as raw.

    Attributes
    ----------
    ratings : Measured
        `gain_kept` with `gain_interval`.
    lists : Measured
        `lists_kept` with `lists_interval`.
    lists_gain : Measured
        `lists_gain_kept` with its interval: the same from popularity on, which takes no release.
    """

    ratings: Measured
    lists: Measured
    lists_gain: Measured = Measured(np.nan, np.nan, np.nan)


def kept(raw: Served, release: Served, *, best: bool = False, seed: int = 0) -> Kept:
    """Return the retained shares of the gain and of the lists, with their intervals.

    Parameters
    ----------
    raw, release : Served
        Both of the same users.
    best : bool
        Use the best recommender on the release, which a recipient cannot know in advance, in place
        of the one that a recipient would choose; for ratings, on the raw data as well. Lists are
        always compared with the best on the raw data.
    seed : int
        Draws the users; the same seed gives the same users for every release.
    """
    of_ratings = gain_kept(raw, release, best=best)
    of_lists = lists_kept(raw, release, best=best)
    people = raw.people
    n_judged = 0 if people is None else people.cells.size
    n_ranked = 0 if people is None else _n_ranked(people.ndcg.get(raw.best_ranker))
    ratings_low, ratings_high = gain_interval(raw, release, best=best, seed=seed)
    lists_low, lists_high = lists_interval(raw, release, best=best, seed=seed)
    return Kept(
        ratings=Measured(of_ratings, ratings_low, ratings_high, n_judged),
        lists=Measured(of_lists, lists_low, lists_high, n_ranked),
        lists_gain=Measured(
            lists_gain_kept(raw, release, best=best),
            *lists_interval(raw, release, best=best, seed=seed, above_popularity=True),
            n_ranked,
        ),
    )


def raw_gain(raw: Served, *, seed: int = 0, draws: int = 1_000) -> Measured:
    """Return the RMSE of averages minus that of the raw data, in rating points.

    The recommender is the one that a recipient would choose; the parameters and the interval are
    those of `gain_interval`.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluation import TrainingTable, UserRows, fit_all, serve, split_ratings
    >>> train, test = split_ratings(make_ratings(200, 60, 5000, seed=5, taste=1.0, noise=0.4))
    >>> fitted = fit_all(TrainingTable.from_ratings(train))
    >>> gain = raw_gain(serve(fitted, UserRows.from_ratings(train), test))
    >>> bool(gain.low < gain.value < gain.high), gain.is_told
    (True, True)
    """
    return release_gain(raw, raw, seed=seed, draws=draws)


def release_gain(raw: Served, release: Served, *, seed: int = 0, draws: int = 1_000) -> Measured:
    """Return the RMSE of averages of the raw data minus that of the release.

    If its interval is below 0, the release is worse than averages, whatever the gain of the raw
    data. The parameters are those of `gain_interval`.
    """
    gain = raw.of_averages.rmse - release.of_chosen.rmse
    sides = _same_users(raw, release)
    if sides is None or np.isnan(gain):
        return Measured(gain, np.nan, np.nan)
    one, other = sides
    columns = one.cells, one.squares[AVERAGES], other.squares[release.chosen]
    sums = resample(np.column_stack(columns), seed, draws)
    averages, served = np.sqrt(sums[:, 1:] / sums[:, :1]).T
    return measured_by(gain, averages - served, one.cells.size)


def raw_lists(raw: Served, *, seed: int = 0, draws: int = 1_000) -> Measured:
    """Return the nDCG of the best lists that the raw data give, with its interval."""
    ndcg = raw.utilities[raw.best_ranker].ndcg
    if raw.people is None or np.isnan(ndcg):
        return Measured(ndcg, np.nan, np.nan)
    gained = raw.people.ndcg[raw.best_ranker]
    judged = gained[~np.isnan(gained)]
    sums = resample(np.column_stack([np.ones(judged.size), judged]), seed, draws)
    return measured_by(ndcg, sums[:, 1] / sums[:, 0], judged.size)


def gain_kept(raw: Served, release: Served, *, best: bool = False) -> float:
    """Return the share of the collaborative gain that a release retains.

    The gain is the RMSE of averages learned from the raw data minus that of the chosen recommender.
    1 means that the release is as good as the raw data; 0, no better than averages of the raw data;
    below 0, worse. nan if the raw data give no gain.

    Parameters
    ----------
    raw, release : Served
    best : bool
        Use the best recommender of either side, not the chosen one.

    Examples
    --------
    >>> from recveil.evaluation import Utility
    >>> def served(averages, best):
    ...     rest = (0.0, 0.0, 0.0, 0.0, 10, 1, 1, 0, (), 0.0)
    ...     return Served({AVERAGES: Utility(averages, *rest), "kNN": Utility(best, *rest)}, "kNN")
    >>> round(gain_kept(raw=served(0.94, 0.90), release=served(0.95, 0.91)), 6)
    0.75
    """
    averages = raw.of_averages.rmse
    of_raw, of_release = (side.utilities[_predictor(side, best)].rmse for side in (raw, release))
    gain = averages - of_raw
    return (averages - of_release) / gain if gain > 0 else np.nan


def lists_kept(raw: Served, release: Served, *, best: bool = False) -> float:
    """Return the release's nDCG as a share of the best that the raw data give; nan if that is 0.

    The raw data's lists are those of the recommender that turned out best: what a release costs is
    counted from what could be had. The release's are those of the recommender that a recipient
    would take to make lists, or with `best` those that turned out best there.
    """
    of_raw = raw.utilities[raw.best_ranker].ndcg
    of_release = release.utilities[_ranker(release, best)].ndcg
    return of_release / of_raw if of_raw > 0 else np.nan


def lists_gain_kept(raw: Served, release: Served, *, best: bool = False) -> float:
    """Return the share that is left of what the best lists are better than popular items.

    1 is as good as the best lists of the raw data; 0 is what popularity in the raw data gets;
    below 0, worse. nan if nothing is better than it, or it was not run.

    Examples
    --------
    >>> from recveil.evaluation import Utility
    >>> def served(popularity, best):
    ...     lists = {POPULARITY: popularity, "kNN": best}
    ...     told = {n: Utility(0, 0, g, 0, 0, 10, 1, 1, 0, (), 0) for n, g in lists.items()}
    ...     return Served(told, "kNN", "kNN")
    >>> round(lists_gain_kept(raw=served(0.2, 0.4), release=served(0.1, 0.3)), 6)
    0.5
    """
    if POPULARITY not in raw.utilities:
        return np.nan
    popular = raw.utilities[POPULARITY].ndcg
    whole = raw.utilities[raw.best_ranker].ndcg - popular
    of_release = release.utilities[_ranker(release, best)].ndcg
    return (of_release - popular) / whole if whole > 0 else np.nan


def gain_interval(
    raw: Served, release: Served, *, best: bool = False, seed: int = 0, draws: int = 1_000
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of `gain_kept` over users.

    Users are resampled with replacement; each draw takes the errors of the raw data, the release
    and the averages for the same users, since these are correlated.

    Parameters
    ----------
    raw, release : Served
        Both of the same users.
    best : bool
        As in `gain_kept`.
    seed : int
        Draws the users; the same seed gives the same users for every release.
    draws : int

    Returns
    -------
    low, high : float
        nan if the raw data may give no gain, so that a share of it is meaningless.

    Raises
    ------
    RecveilError
        If the two served different users.

    Notes
    -----
    Source: the percentile bootstrap of Efron 1979, over users, since one user's errors are
    correlated. It covers the choice of the users and of their held-out ratings, as far as they are
    independent; neither other settings that another split would choose, nor the randomness of the
    release itself.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluation import TrainingTable, UserRows, fit_all, serve, split_ratings
    >>> train, test = split_ratings(make_ratings(100, 50, 1500, seed=1, taste=1.0, noise=0.4))
    >>> fitted = fit_all(TrainingTable.from_ratings(train))
    >>> raw = serve(fitted, UserRows.from_ratings(train), test)
    >>> gain_interval(raw, raw)
    (1.0, 1.0)
    """
    value = gain_kept(raw, release, best=best)
    sides = _same_users(raw, release)
    if np.isnan(value) or sides is None:
        return np.nan, np.nan
    one, other = sides
    of_raw = one.squares[AVERAGES], one.squares[_predictor(raw, best)]
    columns = one.cells, *of_raw, other.squares[_predictor(release, best)]
    sums = resample(np.column_stack(columns), seed, draws)
    averages, served, released = np.sqrt(sums[:, 1:] / sums[:, :1]).T
    return share_interval(value, averages - released, averages - served)


def lists_interval(
    raw: Served,
    release: Served,
    *,
    best: bool = False,
    seed: int = 0,
    draws: int = 1_000,
    above_popularity: bool = False,
) -> tuple[float, float]:
    """Return the 95 % interval of `lists_kept`, with the parameters of `gain_interval`.

    With `above_popularity`, it is that of `lists_gain_kept`.
    """
    share = lists_gain_kept if above_popularity else lists_kept
    value = share(raw, release, best=best)
    sides = _same_users(raw, release)
    if np.isnan(value) or sides is None:
        return np.nan, np.nan
    one, other = sides
    floor = one.ndcg[POPULARITY] if above_popularity else np.zeros(one.cells.size)
    lists = one.ndcg[raw.best_ranker], other.ndcg[_ranker(release, best)]
    columns = np.column_stack([column - floor for column in lists])
    sums = resample(columns[~np.isnan(columns).any(axis=1)], seed, draws)
    return share_interval(value, sums[:, 1], sums[:, 0])


def _predictor(served: Served, best: bool) -> str:
    return served.best if best else served.chosen


def _ranker(served: Served, best: bool) -> str:
    return served.best_ranker if best else served.ranker or served.chosen


def _same_users(raw: Served, release: Served) -> tuple[PerUserUtility, PerUserUtility] | None:
    """Return both sides' results by user; they must have the same users."""
    one, other = raw.people, release.people
    if one is None or other is None:
        return None
    if not np.array_equal(one.cells, other.cells):
        raise RecveilError(
            f"the raw data served {describe_count(one.cells.size, 'user')}, the release "
            f"{other.cells.size} or others; expected the same users with the same held-out ratings",
            code="argument.value",
        )
    return one, other


def _n_ranked(gained: NDArray[np.float64] | None) -> int:
    return 0 if gained is None else int(np.count_nonzero(~np.isnan(gained)))
