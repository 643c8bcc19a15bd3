"""Utility that a release retains of the raw data's, with bootstrap intervals over users."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.evaluation.recipient import AVERAGES, POPULARITY, PerUserUtility, Served
from recveil.runtime.errors import RecveilError, describe_count

# Why no share of a figure is reported.
Unreliable = Literal["too-few-users", "no-variation", "imprecise", "no-liked-labels"]

# Minimum number of users for a bootstrap: over a single user, it has no width.
MIN_USERS = 20
# A share with an interval wider than from averages to raw is not reported.
_WIDEST = 1.0
# Differences below this share of a figure come from the order of summing.
_NOISE = 1e-9


class Measured(NamedTuple):
    """A figure with its 95% interval over users.

    Attributes
    ----------
    value, low, high : float
        nan where nothing can be measured.
    n_users : int
        Number of evaluated users; for lists, of users with a relevant held-out item.

    Examples
    --------
    >>> Measured(0.03, 0.02, 0.04, 99).unreliable_reason
    >>> Measured(0.03, 0.01, 0.05, 99).unreliable_reason
    'imprecise'
    >>> Measured(1.0, 1.0, 1.0, 50).unreliable_reason, Measured(0.3, 0.3, 0.3, 1).unreliable_reason
    ('no-variation', 'too-few-users')
    """

    value: float
    low: float
    high: float
    n_users: int = 0

    @property
    def unreliable_reason(self) -> Unreliable | None:
        """Why a share of the figure is meaningless; None if it is meaningful.

        At least `MIN_USERS` users are required, and the interval must have a width, be above 0, and
        be at most as wide as the figure: otherwise the choice of users alone could double or halve
        a share.
        """
        if self.n_users < MIN_USERS:
            return "too-few-users"
        if self.low == self.high:
            return "no-variation"
        is_precise = self.low > 0 and self.high - self.low <= self.value
        return None if is_precise else "imprecise"

    def has_share(self, share: "Measured") -> bool:
        """Return whether a share of the figure is precise enough to report."""
        return self.unreliable_reason is None and is_share_reliable(*share[:3])


def is_share_reliable(value: float | None, low: float | None, high: float | None) -> bool:
    """Return whether a share of a reported figure is precise enough to report.

    Its interval, as measured, must not be wider than 100 points, the distance from averages to raw.
    A zero-width interval counts as none, unless all is exactly as with raw.

    Parameters
    ----------
    value, low, high : float or None
        Not cut off at 1. Without an interval, only the value is checked.

    Examples
    --------
    >>> [is_share_reliable(*of) for of in ((0.9, 0.7, 1.2), (1.33, 0.02, 2.66), (0.5, 0.5, 0.5))]
    [True, False, False]
    >>> is_share_reliable(1.0, 1.0, 1.0), is_share_reliable(None, None, None)
    (True, False)
    """
    if value is None or np.isnan(value):
        return False
    if low is None or high is None:
        return True
    return bool(high - low <= _WIDEST and (low < high or value == 1))


def resample(columns: NDArray[np.float64], seed: int, draws: int) -> NDArray[np.float64]:
    """Return the columns' sums over resampled users, shape (draws, n_columns).

    >>> resample(np.ones((3, 1)), seed=0, draws=2).tolist()
    [[3.0], [3.0]]
    """
    rng, n = np.random.default_rng(seed), len(columns)
    return np.array(
        [np.bincount(rng.integers(n, size=n), minlength=n) @ columns for _ in range(draws)]
    )


def with_interval(value: float, drawn: NDArray[np.float64], n_users: int) -> Measured:
    """Return a figure with its interval over resampled users.

    >>> with_interval(0.5, np.array([0.4, 0.6]), 99)
    Measured(value=0.5, low=0.4, high=0.6, n_users=99)
    """
    low = float(np.quantile(drawn, 0.025, method="lower"))
    high = float(np.quantile(drawn, 0.975, method="higher"))
    low, high = _around(value, low, high)
    return Measured(value, low, high, n_users)


def share_interval(
    value: float, part: NDArray[np.float64], whole: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the interval of a share, by a part and a whole that were drawn together.

    nan where a draw has no whole, so that a share of it means nothing.

    >>> share_interval(0.5, np.array([1.0, 3.0]), np.array([2.0, 4.0]))
    (0.5, 0.75)
    """
    # A draw without a gain is undefined, which counts against both ends.
    shares = np.divide(part, whole, out=np.full(part.size, np.nan), where=whole > 0)
    low = np.quantile(np.where(whole > 0, shares, -np.inf), 0.025, method="lower")
    high = np.quantile(np.where(whole > 0, shares, np.inf), 0.975, method="higher")
    if not np.isfinite([low, high]).all():
        return np.nan, np.nan
    return _around(value, float(low), float(high))


def _around(value: float, low: float, high: float) -> tuple[float, float]:
    """Return an interval that holds the value; without width if only the order of sums made one."""
    low, high = min(low, value), max(high, value)
    return (value, value) if high - low <= _NOISE * abs(value) else (low, high)


class RetainedUtility(NamedTuple):
    """Shares of the raw data's utility that a release retains: 1 is as good as raw.

    Attributes
    ----------
    ratings : Measured
        `gain_retained` with `gain_interval`.
    lists : Measured
        `lists_retained` with `lists_interval`.
    lists_gain : Measured
        `lists_gain_retained` with its interval: the same above popularity, which needs no release.
    """

    ratings: Measured
    lists: Measured
    lists_gain: Measured = Measured(np.nan, np.nan, np.nan)


def utility_retained(
    raw: Served, release: Served, *, best: bool = False, seed: int = 0
) -> RetainedUtility:
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
    of_ratings = gain_retained(raw, release, best=best)
    of_lists = lists_retained(raw, release, best=best)
    per_user = raw.per_user
    n_judged = 0 if per_user is None else per_user.cells.size
    ndcg = None if per_user is None else per_user.ndcg.get(raw.best_ranker)
    n_ranked = 0 if ndcg is None else int(np.count_nonzero(~np.isnan(ndcg)))
    ratings_low, ratings_high = gain_interval(raw, release, best=best, seed=seed)
    lists_low, lists_high = lists_interval(raw, release, best=best, seed=seed)
    return RetainedUtility(
        ratings=Measured(of_ratings, ratings_low, ratings_high, n_judged),
        lists=Measured(of_lists, lists_low, lists_high, n_ranked),
        lists_gain=Measured(
            lists_gain_retained(raw, release, best=best),
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
    >>> train, test = split_ratings(make_ratings(200, 60, 5000, seed=5, preference=1.0, noise=0.4))
    >>> fitted = fit_all(TrainingTable.from_ratings(train))
    >>> gain = raw_gain(serve(fitted, UserRows.from_ratings(train), test))
    >>> bool(gain.low < gain.value < gain.high), gain.unreliable_reason
    (True, None)
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
    return with_interval(gain, averages - served, one.cells.size)


def raw_lists(raw: Served, *, seed: int = 0, draws: int = 1_000) -> Measured:
    """Return the nDCG of the best lists that the raw data give, with its interval."""
    ndcg = raw.utilities[raw.best_ranker].ndcg
    if raw.per_user is None or np.isnan(ndcg):
        return Measured(ndcg, np.nan, np.nan)
    gained = raw.per_user.ndcg[raw.best_ranker]
    judged = gained[~np.isnan(gained)]
    sums = resample(np.column_stack([np.ones(judged.size), judged]), seed, draws)
    return with_interval(ndcg, sums[:, 1] / sums[:, 0], judged.size)


def gain_retained(raw: Served, release: Served, *, best: bool = False) -> float:
    """Return the share of the collaborative gain that a release retains.

    The gain is the RMSE of averages learned from the raw data minus that of the chosen recommender.
    1: the release is as good as the raw data; 0, no better than averages of the raw data;
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
    >>> round(gain_retained(raw=served(0.94, 0.90), release=served(0.95, 0.91)), 6)
    0.75
    """
    averages = raw.of_averages.rmse
    of_raw, of_release = (side.utilities[_predictor(side, best)].rmse for side in (raw, release))
    gain = averages - of_raw
    return (averages - of_release) / gain if gain > 0 else np.nan


def lists_retained(raw: Served, release: Served, *, best: bool = False) -> float:
    """Return the release's nDCG as a share of the best that the raw data give; nan if that is 0.

    The raw data's lists are those of the best recommender on the test ratings. The release's are
    those of the recommender that a recipient would choose, or with `best` the best ones.
    """
    of_raw = raw.utilities[raw.best_ranker].ndcg
    of_release = release.utilities[_ranker(release, best)].ndcg
    return of_release / of_raw if of_raw > 0 else np.nan


def lists_gain_retained(raw: Served, release: Served, *, best: bool = False) -> float:
    """Return the share that is left of what the best lists are better than popular items.

    1 is as good as the best lists of the raw data; 0 is what popularity in the raw data gets;
    below 0, worse. nan if nothing is better than it, or it was not run.

    Examples
    --------
    >>> from recveil.evaluation import Utility
    >>> def served(popularity, best):
    ...     lists = {POPULARITY: popularity, "kNN": best}
    ...     served = {n: Utility(0, 0, g, 0, 0, 10, 1, 1, 0, (), 0) for n, g in lists.items()}
    ...     return Served(served, "kNN", "kNN")
    >>> round(lists_gain_retained(raw=served(0.2, 0.4), release=served(0.1, 0.3)), 6)
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
    """Return the 95% bootstrap interval of `gain_retained` over users.

    Users are resampled with replacement; each draw takes the errors of the raw data, the release
    and the averages for the same users, since these are correlated.

    Parameters
    ----------
    raw, release : Served
        Both of the same users.
    best : bool
        As in `gain_retained`.
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
    >>> train, test = split_ratings(make_ratings(100, 50, 1500, seed=1, preference=1.0, noise=0.4))
    >>> fitted = fit_all(TrainingTable.from_ratings(train))
    >>> raw = serve(fitted, UserRows.from_ratings(train), test)
    >>> gain_interval(raw, raw)
    (1.0, 1.0)
    """
    value = gain_retained(raw, release, best=best)
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
    """Return the 95% interval of `lists_retained`, with the parameters of `gain_interval`.

    With `above_popularity`, it is that of `lists_gain_retained`.
    """
    share = lists_gain_retained if above_popularity else lists_retained
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
    one, other = raw.per_user, release.per_user
    if one is None or other is None:
        return None
    if not np.array_equal(one.cells, other.cells):
        raise RecveilError(
            f"the raw data served {describe_count(one.cells.size, 'user')}, the release "
            f"{other.cells.size} or others; expected the same users with the same held-out ratings",
            code="argument.value",
        )
    return one, other
