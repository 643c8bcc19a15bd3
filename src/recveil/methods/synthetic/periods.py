"""Dates of synthetic users: one more query, of ratings by period, and what is drawn from it."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.methods.synthetic.bounded_sums import SURELY_BOUNDED, sum_grid
from recveil.methods.synthetic.sum_queries import (
    ChoiceSums,
    Public,
    QueriedItems,
    UserRatings,
    added_up,
)
from recveil.ratings import Ratings
from recveil.release.records import Records
from recveil.release.synthetic_form import QUERY_OF_DATES, n_span_bins
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

# The parts of a user's vector, as shares of its squared length: their items by period, their first
# period, their span, and their ratings in the first period, between, and in the last one.
ITEM_PART, FIRST_PART, SPAN_PART, AGE_PART = 0.8, 0.1, 0.06, 0.04
# Items are counted by period from this many noise deviations of popularity per period; if these are
# fewer than the number, so are the next most popular ones.
_MIN_SIGNAL, _FEWEST = 1.5, 50
# Bins of users count from this many noise deviations.
_MIN_USERS = 2.0
# Usual shares of ratings in the first period, between, and in the last one, on MovieLens; they
# count as many users as the noise's deviation.
_USUAL_AGES = np.array([0.65, 0.2, 0.15])
# Least variance of popularity over time, rounds of its estimate, and least relative popularity.
_LEAST_VARIANCE, _ROUNDS, _LEAST_ODDS = 1e-5, 10, 0.02
# Multiples of the covariance of that course, and rounds of the fit of their shares.
_SCALES, _MIXED = np.array([0.25, 1.0, 4.0, 16.0, 64.0]), 100
# Rounds of the fit of both margins, and cells that are dated at a time.
_FITS, _CELLS = 100, 1 << 18
# Rounds of the fit of pulls.
_TURNS = 200


def span_bins(n_periods: int) -> Whole:
    """Return the bin of each span in periods: 0, 1, 2 to 3, 4 to 7, and so on."""
    return np.array([span.bit_length() for span in range(n_periods)], np.int64)


def places_of(days: NDArray[np.int32], firsts: NDArray[np.int32]) -> Whole:
    """Return the period of each day by the periods' first days; the nearest one of other days."""
    return np.maximum(np.searchsorted(firsts, days, side="right") - 1, 0)


def date_sums(
    ratings: Ratings, dated: NDArray[np.int64], firsts: NDArray[np.int32], grid: float
) -> Whole:
    """Sum users' ratings by period, in steps of a grid, in one vector."""
    # A user with n ratings on the `dated` items contributes ``sqrt(ITEM_PART / n)`` to each of them
    # in the period of the rating; the roots of `FIRST_PART` and `SPAN_PART` to their first period
    # and their span; and, if that is above 0, the root of `AGE_PART` times their shares of ratings
    # in the first period, between, and in the last one. Squares sum to at most 1, as shares do.
    if ratings.days is None:
        raise RecveilError(
            "dates (--dates): the ratings have no times; name their column (--time), or drop dates",
            code="time.missing",
        )
    n_periods, n_users = firsts.size, ratings.n_users
    users, period = ratings.user_positions(), places_of(ratings.days, firsts)
    place_of = np.full(ratings.n_items, -1, np.int64)
    place_of[dated] = np.arange(dated.size)
    is_dated = place_of[ratings.indices] >= 0
    counts = np.bincount(users[is_dated], minlength=n_users)
    items = np.zeros((dated.size, n_periods), np.int64)
    steps = _steps(np.sqrt(ITEM_PART / np.maximum(counts, 1)), grid)
    cells = place_of[ratings.indices[is_dated]], period[is_dated]
    np.add.at(items, cells, steps[users[is_dated]])
    rating = ratings.activity > 0
    first, last = np.full(n_users, n_periods - 1), np.zeros(n_users, np.int64)
    np.minimum.at(first, users, period)
    np.maximum.at(last, users, period)
    span = np.where(rating, last - first, 0)
    of_first = np.bincount(first[rating], minlength=n_periods)
    of_span = np.bincount(span_bins(n_periods)[span[rating]], minlength=n_span_bins(n_periods))
    age = 1 + (period == last[users]).astype(np.int64) - (period == first[users])
    of_age = np.bincount(3 * users + age, minlength=3 * n_users).reshape(-1, 3)[span > 0]
    shares = of_age / np.maximum(ratings.activity[span > 0], 1)[:, None]
    return np.concatenate(
        [
            items.ravel(),
            of_first * _steps(math.sqrt(FIRST_PART), grid),
            of_span * _steps(math.sqrt(SPAN_PART), grid),
            _steps(math.sqrt(AGE_PART) * shares, grid).sum(axis=0),
        ]
    ).astype(np.int64)


def _steps(numbers: NDArray[Any] | float, grid: float) -> Whole:
    return np.trunc(np.asarray(numbers) * SURELY_BOUNDED / grid).astype(np.int64)


def choose_dated(popularity: Numbers, noise: float, n_periods: int) -> int:
    """Return how many of the items with moments, the most popular first, are counted by period."""
    n_sure = int((popularity > _MIN_SIGNAL * n_periods * noise).sum())
    return max(n_sure, min(_FEWEST, popularity.size))


@brief
class DatedUsers(NamedTuple):
    """When synthetic users join, leave and rate; derived from noisy sums."""

    # The first day of each period
    firsts: NDArray[np.int32]
    # Popularity of each item in each period, relative to its own over all, shape (n_periods,
    # n_items)
    odds: Numbers
    # What each item adds to the log-odds that its user is there in a period, of that shape
    pulls: Numbers
    # The first and the last period of each kind of life, and its probability, shape (n_lives, 2)
    # and (n_lives,)
    ends: Whole
    shares: Numbers
    # The logarithm of that of users without any item
    base: Numbers
    # A user's shares of ratings in the first period, between, and in the last one
    ages: Numbers

    @classmethod
    def of(
        cls,
        noisy: Numbers,
        sigma: float,
        firsts: NDArray[np.int32],
        dated: NDArray[np.int64],
        popularity: Numbers,
    ) -> Self:
        """Learn from the noisy answer to `date_sums`."""
        # `popularity` is that of all released items, of which `dated` are positions.
        n_periods, n_cells = firsts.size, dated.size * firsts.size
        items, of_first, of_span, ages = np.split(
            noisy, np.cumsum([n_cells, n_periods, n_span_bins(n_periods)])
        )
        # All in the unit of the noise
        lives = fit_lives(sure_shares(of_first, sigma), sure_shares(of_span, sigma))
        ages = np.maximum(ages, 0) + _USUAL_AGES * sigma
        odds = np.ones((n_periods, popularity.size))
        answer = items.reshape(dated.size, n_periods) / math.sqrt(ITEM_PART)
        odds[:, dated] = relative_popularity(
            answer, sigma / math.sqrt(ITEM_PART), popularity[dated]
        ).T
        ends = np.argwhere(lives > 0)
        shares = lives[ends[:, 0], ends[:, 1]]
        none = np.zeros(odds.shape)
        return cls(firsts, odds, none, ends, shares, np.log(shares), ages / ages.sum())

    def of_items(self, order: NDArray[np.int64]) -> Self:
        """Return the same with items in another order."""
        return self._replace(odds=self.odds[:, order], pulls=self.pulls[:, order])

    @property
    def weights(self) -> Numbers:
        """The usual share of ratings in each period by life, shape (n_lives, n_periods)."""
        return weights_of(self.ends[:, 0], self.ends[:, 1], self.firsts.size, self.ages)

    def fitted(self, block: Records) -> Self:
        """Return the same with pulls that give the users of a block the popularity over time."""
        rated = sparse.csr_array((np.ones(block.indices.size), block.indices, block.indptr))
        dated = np.flatnonzero(
            (self.odds != 1).any(axis=0) & (np.arange(self.odds.shape[1]) < rated.shape[1])
        )
        chosen, odds, weights = rated[:, dated].toarray(), self.odds[:, dated], self.weights
        wanted = (self.shares @ weights)[:, None] * odds
        wanted *= chosen.sum(axis=0) / np.maximum(wanted.sum(axis=0), _LEAST_ODDS)
        # A user's items move together: steps are smaller, the more each user has.
        step = 1 / (1 + chosen.sum(axis=1).mean())
        counts = chosen.sum(axis=0) / max(chosen.sum(), 1)
        is_long = self.ends[:, 0] < self.ends[:, 1]
        pulls, base = np.zeros(odds.shape), self.base
        with one_thread():
            for _ in range(_TURNS):
                lives = _softmax(chosen @ pulls.T @ weights.T + base)
                short, long = (lives[:, of] @ weights[of] for of in (~is_long, is_long))
                # Within a life, items are rated when they are popular.
                scaled = lives[:, is_long].sum(axis=1)[:, None] / np.maximum(long @ odds, 1e-12)
                found = short.T @ chosen + odds * (long.T @ (chosen * scaled))
                ratios = np.log((wanted + 1) / (found + 1))
                pulls += step * (ratios - (ratios @ counts)[:, None])
                base = base + np.log((self.shares + 1e-6) / (lives.mean(axis=0) + 1e-6)) / 2
        all_pulls = np.zeros(self.odds.shape)
        all_pulls[:, dated] = pulls
        return self._replace(pulls=all_pulls, base=base)

    def date(self, block: Records, rng: np.random.Generator) -> Records:
        """Date each item of each user; the first and the last period have one."""
        indptr, indices, weights = block.indptr, block.indices, self.weights
        lengths = np.diff(indptr)
        users, drawn = np.repeat(np.arange(lengths.size), lengths), rng.random(indices.size)
        sums = np.stack([np.bincount(users, of[indices], lengths.size) for of in self.pulls])
        with one_thread():
            reached = np.cumsum(_softmax(sums.T @ weights.T + self.base), axis=1)
        below = reached <= rng.random(lengths.size)[:, None] * reached[:, -1:]
        life = below.sum(axis=1)
        first, last = self.ends[life].T
        period = np.empty(indices.size, np.int64)
        for start in range(0, indices.size, _CELLS):
            some = slice(start, start + _CELLS)
            reached = np.cumsum(weights[life[users[some]]] * self.odds.T[indices[some]], axis=1)
            below = reached <= drawn[some, None] * reached[:, -1:]
            period[some] = np.minimum(below.sum(axis=1), last[users[some]])
        order = np.lexsort((drawn, users))
        period[order[indptr[1:] - 1]] = last
        period[order[indptr[:-1]]] = first
        return replace(block, days=self.firsts[period])


def _softmax(logs: Numbers) -> Numbers:
    found = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def ask_dates(
    ratings: UserRatings,
    mechanism: QueriedItems,
    choices: ChoiceSums,
    public: Public,
    sigmas: Mapping[str, float],
) -> DatedUsers | None:
    """Query ratings by period; None if ratings are not dated."""
    if public.firsts is None:
        return None
    name, what = QUERY_OF_DATES.name, QUERY_OF_DATES.what
    sigma, popularity = sigmas[name], choices.popularity
    noise, chosen = choices.popularity_noise, choices.chosen
    dated = chosen[: choose_dated(popularity[chosen], noise, public.firsts.size)]
    grid = sum_grid(sigma)
    exact = added_up(ratings, date_sums, dated, public.firsts, grid)
    noisy = mechanism.measure(name, what, exact, grid)
    places = np.searchsorted(choices.released, dated)
    return DatedUsers.of(noisy, sigma, public.firsts, places, popularity[choices.released])


def sure_shares(noisy: Numbers, noise: float) -> Numbers:
    """Return counts without those that may be noise; the largest if all may be."""
    counts = np.where(noisy > _MIN_USERS * noise, noisy, 0.0)
    if not counts.any():
        counts[np.argmax(noisy)] = 1.0
    return np.asarray(counts / counts.sum())


def fit_lives(of_first: Numbers, of_span: Numbers) -> Numbers:
    """Return the probability of each first and last period, with given shares of first periods."""
    # First periods are exact, and spans as near as possible: late users cannot have long ones.
    # Without either, both are independent (iterative proportional fitting).
    n_periods = of_first.size
    spans = np.subtract.outer(np.arange(n_periods), np.arange(n_periods)).T
    bins = span_bins(n_periods)
    bin_of = bins[np.maximum(spans, 0)]
    lives = np.where(spans >= 0, 1 / np.bincount(bins)[bin_of], 0.0)
    for _ in range(_FITS):
        by_span = np.bincount(bin_of.ravel(), lives.ravel(), of_span.size)
        lives = (
            lives
            * np.divide(of_span, by_span, out=np.ones_like(of_span), where=by_span > 0)[bin_of]
        )
        by_first = lives.sum(axis=1)
        # Late users whose spans noise hides have one period.
        lives[np.diag_indices(n_periods)] += (by_first <= 0) & (of_first > 0)
        by_first = np.maximum(lives.sum(axis=1), 1e-300)
        lives = lives * (of_first / by_first)[:, None]
    return np.asarray(lives / lives.sum())


def weights_of(first: Whole, last: Whole, n_periods: int, ages: Numbers) -> Numbers:
    """Return the usual share of users' ratings in each period, shape (n_users, n_periods)."""
    at = np.arange(n_periods)
    between = (at > first[:, None]) & (at < last[:, None])
    weights = between * (ages[1] / np.maximum(last - first - 1, 1))[:, None]
    weights = weights + ages[0] * (at == first[:, None])
    weights += ages[2] * ((at == last[:, None]) & (at != first[:, None]))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def relative_popularity(noisy: Numbers, noise: float, popularity: Numbers) -> Numbers:
    """Return the relative popularity of items in each period, shape (n_items, n_periods)."""
    # Deviations from the usual course have a prior, whose covariance of periods follows from the
    # noisy sums, less the noise: they are shrunk by the less, the more an item is rated.
    n_periods = noisy.shape[1]
    by_period = np.maximum(noisy.sum(axis=0), 0)
    # A period that noise hides has the usual popularity.
    hidden = by_period <= _MIN_USERS * noise * math.sqrt(len(noisy))
    if hidden.all() or not popularity.sum() > 0:
        return np.ones(noisy.shape)
    by_period = by_period / by_period.sum()
    totals = np.maximum(popularity * (noisy.sum() / popularity.sum()), noise / 8)
    off = noisy / totals[:, None] - by_period
    variances = (noise / totals) ** 2
    covariance, unit = 0.01 * np.eye(n_periods), np.eye(n_periods)
    with one_thread():
        for _ in range(_ROUNDS):
            weights = (np.trace(covariance) / n_periods + variances) ** -2
            found = (off * weights[:, None]).T @ off - (weights @ variances) * unit
            values, vectors = np.linalg.eigh(found / weights.sum())
            covariance = (vectors * np.maximum(values, _LEAST_VARIANCE)) @ vectors.T
        at, values = off @ vectors, np.maximum(values, _LEAST_VARIANCE)
        believed = at * _kept_shares(at, values, variances) @ vectors.T
    odds = 1 + believed / np.where(hidden, np.inf, by_period)
    return np.asarray(np.maximum(odds, _LEAST_ODDS))


def _kept_shares(at: Numbers, values: Numbers, variances: Numbers) -> Numbers:
    """Return what is kept of deviations along directions of given variance, with noise."""
    # The prior is a mixture of multiples of the covariance: few items come or go.
    found = _SCALES[:, None, None] * values + variances[:, None]
    fits = -(np.log(found) + at**2 / found).sum(axis=2) / 2
    fits = np.exp(fits - fits.max(axis=0))
    shares = np.full(_SCALES.size, 1 / _SCALES.size)
    for _ in range(_MIXED):
        parts = fits * shares[:, None]
        parts /= parts.sum(axis=0)
        shares = parts.mean(axis=1)
    return np.asarray((parts[:, :, None] * (1 - variances[:, None] / found)).sum(axis=0))
