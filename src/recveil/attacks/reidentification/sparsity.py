"""Sparsity of a table, and the number of known items that re-identifies a user."""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.attacks.candidates import Candidates
from recveil.attacks.knowledge import choose_targets
from recveil.attacks.reidentification.scoreboard import check_errors, rating_slack, run_in_chunks
from recveil.ratings import Ratings
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief


def items_needed(n_records: int, epsilon: float, delta: float) -> int:
    """Return how many known attributes leave no false match, with probability 1 - epsilon.

    A false match is a record that agrees with less than a share 1 - delta of the target's
    attributes. It agrees with m random ones of them with probability below (1 - delta)^m, so

        ``m >= (log N - log epsilon) / -log(1 - delta)``

    makes the expected number of false matches in the candidate set of `Scoreboard` at most epsilon.

    Parameters
    ----------
    n_records : int
        N, the number of records.
    epsilon : float
        Probability of failure, and largest error (1 - similarity) of a known attribute.
    delta : float
        Share of a target's attributes in which a record must disagree to be a false match.

    Returns
    -------
    int
        m, rounded up: entries known correctly (within the errors), drawn at random from those of
        the target, who needs to have as many.

    Raises
    ------
    RecveilError
        If `n_records` is below 1, or `epsilon` or `delta` are not between 0 and 1.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 4. What it guarantees:

    - Theorem 1, for any database: it can be (1 - epsilon - delta, 1 - epsilon)-deanonymized. With
      probability 1 - epsilon, every record of the candidate set is at least 1 - epsilon - delta
      similar to the target's. There may be many, with the same content.
    - Theorem 2, only if the database is (1 - epsilon - delta, epsilon)-sparse (at most a share
      epsilon of its records have another one more similar than 1 - epsilon - delta): it can be (1,
      1 - epsilon)-deanonymized; the candidate set is the target's record alone. The proof uses
      epsilon twice, for targets with a similar neighbour and for false matches, so that it shows 1
      - 2 epsilon.

    Both rest on Lemma 1, whose proof counts agreement as a share of the *target's* attributes. The
    similarity of Definition 1 divides by the union of both supports instead. A record with all of
    the target's attributes and many more is dissimilar by that measure, and still matches for every
    m: sparsity as `nearest_similarity` measures it does not rule it out.

    Examples
    --------
    >>> items_needed(480_189, epsilon=0.05, delta=0.5)
    24
    >>> items_needed(480_189, epsilon=0.05, delta=0.85)
    9
    """
    _check_records(n_records)
    _check_share("epsilon", epsilon)
    return _round_up((math.log(n_records) - math.log(epsilon)) / _information(delta))


def items_needed_for_candidate_set(n_records: int, delta: float, k: int) -> int:
    """Return the number m of known attributes that leave k records, in expectation.

        ``m = log(N / (k - 1)) / log(1 / (1 - delta))``

    makes the expected number of false matches at most k - 1. It does not depend on epsilon.

    Parameters
    ----------
    n_records : int
        N, the number of records.
    delta : float
        Share of a target's attributes in which a record must disagree to be a false match.
    k : int
        Size of the candidate set (the paper's lineup), including the target; at least 2.

    Returns
    -------
    int
        m, rounded up; 0 if all records together are no more than k - 1.

    Raises
    ------
    RecveilError
        If `n_records` is below 1, `delta` is not between 0 and 1, or `k` is below 2.

    Notes
    -----
    Source: Narayanan & Shmatikov, Theorem 3. Only if the database is (1 - epsilon - delta,
    epsilon)-sparse, it can be (1, 1/k)-deanonymized (a random pick from the lineup is the target
    with probability at least 1/k) and (1, log2 k)-deanonymized entropically (the expected entropy
    of the lineup is at most log2 k bits). Both are means over targets without a neighbour more
    similar than 1 - epsilon - delta; sparsity lets a share epsilon of targets have one. The limits
    of `items_needed` apply here, too.

    Examples
    --------
    >>> items_needed_for_candidate_set(480_189, delta=0.5, k=10)
    16
    """
    _check_records(n_records)
    if not k >= 2:
        raise RecveilError(
            f"k is {k}; expected at least 2; for a candidate set of 1 use items_needed",
            code="argument.value",
        )
    return max(0, _round_up(math.log(n_records / (k - 1)) / _information(delta)))


class SampleItems(NamedTuple):
    """Numbers of known attributes for a released sample."""

    # By the theorem, for the records of the whole database
    stated: int
    # By its proof, whose union bound runs over the released records alone
    proven: int


def items_needed_in_sample(
    n_records: int, n_released: int, epsilon: float, delta: float
) -> SampleItems:
    """Return how many known attributes suffice if only a sample of the database is released.

    With as many, the adversary outputs a record at least 1 - epsilon - delta similar to the
    target's with probability 1 - epsilon if it is in the sample; and none with the same probability
    if it is not.

    Parameters
    ----------
    n_records, n_released : int
        Number of records of the database, and of its released sample.
    epsilon, delta : float
        As for `items_needed`.

    Raises
    ------
    RecveilError
        If a number is out of range, or the sample is larger than the database.

    Notes
    -----
    Source: Narayanan & Shmatikov, Theorem 4, which takes Theorem 1's number for the whole database.
    Its proof needs no more than the number for the sample. Theorems 2 and 3 hold if the database,
    not only the sample, is sparse; see `sparsity_of_sample`.

    Examples
    --------
    >>> items_needed_in_sample(5_000_000, 480_189, epsilon=0.05, delta=0.5)
    SampleItems(stated=27, proven=24)
    """
    _check_sample(n_records, n_released)
    return SampleItems(
        items_needed(n_records, epsilon, delta), items_needed(n_released, epsilon, delta)
    )


class SampleSparsity(NamedTuple):
    """Bound on the sparsity of a random sample of a database that is not sparse."""

    # The sample is not (epsilon, share)-sparse: more than this share of its records has another one
    # that is more similar than epsilon
    share: float
    # Probability of that by the theorem, and the one that its expectation proves
    stated: float
    proven: float


def sparsity_of_sample(
    n_records: int, n_released: int, delta: float, gamma: float
) -> SampleSparsity:
    """Return how little sparse a sample of a database is that is not (epsilon, delta)-sparse.

    Conversely, if a random sample is sparser than that, then the database is (epsilon,
    delta)-sparse, or the sample is an unlikely one.

    Parameters
    ----------
    n_records, n_released : int
        Number of records of the database, and of its released sample; their ratio is lambda.
    delta : float
        Share of the database's records that have a similar neighbour.
    gamma : float
        Probability of error.

    Raises
    ------
    RecveilError
        If a number is out of range, or the sample is larger than the database.

    Notes
    -----
    Source: Narayanan & Shmatikov, Theorem 5: a random sample of n of N records is not (epsilon,
    delta gamma n / N)-sparse with probability 1 - gamma (`stated`). Its proof bounds the
    probability of a small share by Markov's inequality, which bounds that of large values only: of
    two equal records of which one is released, the sample is always sparse. What holds for every
    database (`proven`) follows from the expected number of records with their neighbour in the
    sample, ``e = delta n (n - 1) / (N - 1)``, and the most there can be, ``m = min(n, delta N)``:
    more than ``a = delta gamma n^2 / N`` are there with probability ``(e - a) / (m - a)`` at least.
    The stated probability is nearly right where many records have neighbours, independently.

    Examples
    --------
    >>> sparsity_of_sample(1_000, 500, delta=0.5, gamma=0.2)
    SampleSparsity(share=0.05, stated=0.8, proven=0.21026289447342078)
    """
    _check_sample(n_records, n_released)
    _check_share("delta", delta)
    _check_share("gamma", gamma)
    expected = delta * n_released * (n_released - 1) / max(n_records - 1, 1)
    share = delta * gamma * n_released / n_records
    least, most = share * n_released, min(n_released, delta * n_records)
    return SampleSparsity(share, 1 - gamma, max(0.0, (expected - least) / (most - least)))


def _check_sample(n_records: int, n_released: int) -> None:
    _check_records(n_released, "n_released")
    if n_released > n_records:
        raise RecveilError(
            f"n_released is {n_released}; expected at most n_records = {n_records}",
            code="argument.value",
        )


def _information(delta: float) -> float:
    """Return the information of one known attribute, in nats: log(1 / (1 - delta))."""
    _check_share("delta", delta)
    return -math.log1p(-delta)


def _check_records(n: int, name: str = "n_records") -> None:
    if not n >= 1:
        raise RecveilError(f"{name} is {n}; expected at least 1 record", code="argument.value")


def _check_share(name: str, share: float) -> None:
    if not 0 < share < 1:
        raise RecveilError(
            f"{name} is {share}; expected a number between 0 and 1, ends excluded",
            code="argument.value",
        )


def _round_up(number: float) -> int:
    """Round up to whole items, tolerating the rounding error of a whole number."""
    return math.ceil(number - 1e-9)


# Targets per task of a thread.
_CHUNK = 64

# Ratings per batch; an item's ratings stay together.
_RATINGS_AT_A_TIME = 1 << 22


@brief
class ItemInformation(NamedTuple):
    """Information of a known rating of each item about its user; shape (n_rated_items,) each.

    Attributes
    ----------
    items : ndarray of int64
        Positions of the rated items, by descending item count; ties by position.
    support : ndarray of int64
        Item counts.
    bits : ndarray of float64
        Mean over the raters of log2(all users / users whose rating of the item agrees).
    """

    items: NDArray[np.int64]
    support: NDArray[np.int64]
    bits: NDArray[np.float64]


def nearest_similarity(
    ratings: Ratings,
    n_targets: int | None = None,
    rating_error: float | None = None,
    date_error: int | None = None,
    seed: int = 0,
    threads: int = 2,
) -> NDArray[np.float64]:
    """Return the similarity of the most similar other record, for a sample of users.

    The similarity of two records is the number of items on which they agree over the number of
    items that at least one of them has.

    Parameters
    ----------
    ratings : Ratings
    n_targets : int, optional
        Number of users, drawn at random; all, if not given.
    rating_error : float or None
        Largest difference of agreeing ratings, in points; None: ratings are not compared.
    date_error : int or None
        Largest difference of agreeing dates, in days; None: dates are not compared.
    seed : int
        Fixes the draw.
    threads : int
        Does not change the result.

    Returns
    -------
    ndarray of float64, shape (n_targets,)
        From 0 (no item in common with any user) to 1 (an identical record), in the order of the
        users' positions. 0 for a user without ratings.

    Raises
    ------
    RecveilError
        If an error is negative, or dates are to be compared and the ratings have none.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 3, Definition 1 and Figure 1. A table is
    (ε, δ)-sparse if a share of at most δ of these numbers is above ε.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3], list("ababa"), [5, 3, 5, 4, 5])
    >>> nearest_similarity(ratings)
    array([1. , 1. , 0.5])
    >>> nearest_similarity(ratings, rating_error=0)
    array([0.5, 0.5, 0.5])
    """
    _check(ratings, rating_error, date_error)
    found = Candidates.from_ratings(ratings)
    targets = choose_targets(ratings.n_users, n_targets, seed)
    nearest = np.zeros(targets.size)
    days, rater_days = ratings.days, found.days
    if date_error is None or days is None or rater_days is None:
        days = rater_days = np.empty(0, np.int32)
    within = np.inf if rating_error is None else rating_error + rating_slack(found.levels)

    def run(first: int, end: int) -> None:
        _find_nearest(
            targets=targets[first:end],
            indptr=ratings.indptr,
            indices=ratings.indices,
            values=ratings.values,
            days=days,
            item_indptr=found.indptr,
            raters=found.records,
            codes=found.codes,
            levels=found.levels,
            rater_days=rater_days,
            rating_error=within,
            date_error=date_error or 0,
            nearest=nearest[first:end],
        )

    run_in_chunks(run, targets.size, _CHUNK, threads, "Comparing")
    return nearest


def share_at_least(similarities: ArrayLike, grid: ArrayLike) -> NDArray[np.float64]:
    """Return the share of the similarities that are at least each number of the grid.

    Parameters
    ----------
    similarities : array-like of float, shape (n_targets,)
        From `nearest_similarity`.
    grid : array-like of float, shape (n_points,)

    Returns
    -------
    ndarray of float64, shape (n_points,)
        nan if there are no similarities.

    Notes
    -----
    Source: Narayanan & Shmatikov, Figure 1 (the y-axis).

    Examples
    --------
    >>> share_at_least([0.1, 0.2, 0.2, 0.4, 1.0], [0.0, 0.2, 0.5])
    array([1. , 0.8, 0.2])
    """
    ascending, points = np.sort(np.asarray(similarities, float)), np.asarray(grid, float)
    if not ascending.size:
        return np.full(points.shape, np.nan)
    return (ascending.size - np.searchsorted(ascending, points)) / ascending.size


def information_by_rank(
    ratings: Ratings, rating_error: float | None = None, date_error: int | None = None
) -> ItemInformation:
    """Return the bits of information of a known rating of each item, by the item's rank.

    Parameters
    ----------
    ratings : Ratings
    rating_error : float or None
        Largest error of the known rating, in points; None: unknown.
    date_error : int or None
        Largest error of the known date, in days; None: unknown.

    Raises
    ------
    RecveilError
        If an error is negative, or dates are to be compared and the ratings have none.

    Notes
    -----
    Source: Narayanan & Shmatikov, Figure 7. Without rating and date, the information is log2(users
    / item count). Items are correlated, so the bits of several do not add up.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3, 4], list("ababbc"), [5, 3, 5, 4, 4, 1])
    >>> information_by_rank(ratings).bits.round(2)
    array([0.42, 1.  , 2.  ])
    >>> information_by_rank(ratings, rating_error=0).bits.round(2)
    array([1.33, 1.  , 2.  ])
    """
    _check(ratings, rating_error, date_error)
    found = Candidates.from_ratings(ratings)
    bits = np.zeros(ratings.n_items)
    cuts = np.arange(0, ratings.n_ratings, _RATINGS_AT_A_TIME)
    starts = np.unique(np.searchsorted(found.indptr, cuts, "right") - 1)
    for first, last in itertools.pairwise([*starts.tolist(), ratings.n_items]):
        some = slice(found.indptr[first], found.indptr[last])
        items = np.repeat(np.arange(last - first), np.diff(found.indptr[first : last + 1]))
        agreeing = _count_agreeing(
            items=items,
            codes=found.codes[some],
            levels=found.levels,
            rating_error=rating_error,
            days=None if found.days is None else found.days[some],
            date_error=date_error,
        )
        bits_of_rating = np.log2(ratings.n_users / agreeing)
        bits[first:last] = np.bincount(items, weights=bits_of_rating, minlength=last - first)
    by_rank = np.argsort(-ratings.support, kind="stable")[: np.count_nonzero(ratings.support)]
    support = ratings.support[by_rank]
    return ItemInformation(by_rank, support, bits[by_rank] / support)


def _check(ratings: Ratings, rating_error: float | None, date_error: int | None) -> None:
    check_errors(rating_error=rating_error, date_error=date_error)
    if date_error is not None and ratings.days is None:
        raise RecveilError(
            f"date_error is {describe_count(date_error, 'day')}, but the ratings have no times; "
            f"set date_error to None (--date-error none)",
            code="time.missing",
        )


def _count_agreeing(
    items: NDArray[np.int64],
    codes: NDArray[np.int16],
    levels: NDArray[np.float64],
    rating_error: float | None,
    days: NDArray[np.int32] | None,
    date_error: int | None,
) -> NDArray[np.int64]:
    """Count the ratings of the same item that agree with each rating, including itself."""
    if rating_error is None:
        codes, levels, rating_error = np.zeros_like(codes), np.zeros(1), 0.0
    within = rating_error + rating_slack(levels)
    lowest = np.searchsorted(levels, levels - within)[codes]
    highest = np.searchsorted(levels, levels + within, "right")[codes] - 1
    rows = items * levels.size
    if days is None or date_error is None:
        order = np.sort(rows + codes)
        below = np.searchsorted(order, rows + lowest)
        return np.searchsorted(order, rows + highest, "right") - below
    since = days.astype(np.int64) - days.min()
    width = int(since.max()) + 1
    order = np.sort((rows + codes) * width + since)
    earliest, latest = np.maximum(since - date_error, 0), np.minimum(since + date_error, width - 1)
    agreeing = np.zeros(items.size, np.int64)
    # One level at a time: in `order`, the days of a level are contiguous.
    for step in range(int((highest - lowest).max()) + 1):
        starts = (rows + np.minimum(lowest + step, highest)) * width
        below = np.searchsorted(order, starts + earliest)
        counts = np.searchsorted(order, starts + latest, "right") - below
        agreeing += np.where(lowest + step <= highest, counts, 0)
    return agreeing


@compiled()
def _find_nearest(
    targets: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    days: NDArray[Any],
    item_indptr: NDArray[Any],
    raters: NDArray[Any],
    codes: NDArray[Any],
    levels: NDArray[Any],
    rater_days: NDArray[Any],
    rating_error: float,
    date_error: float,
    nearest: NDArray[Any],
) -> None:
    """Iterate over the raters of each of a target's items, counting the agreements."""
    n_users = indptr.size - 1
    shared, agreeing = np.zeros(n_users, np.int32), np.zeros(n_users, np.int32)
    touched = np.empty(n_users, np.int32)
    for t in range(targets.size):
        start, end = indptr[targets[t]], indptr[targets[t] + 1]
        n_touched = 0
        for at in range(start, end):
            for place in range(item_indptr[indices[at]], item_indptr[indices[at] + 1]):
                other = raters[place]
                if shared[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                shared[other] += 1
                agree = abs(values[at] - levels[codes[place]]) <= rating_error
                if days.size:
                    agree &= abs(days[at] - rater_days[place]) <= date_error
                agreeing[other] += agree
        for other in touched[:n_touched]:
            union = end - start + indptr[other + 1] - indptr[other] - shared[other]
            if other != targets[t]:
                nearest[t] = max(nearest[t], agreeing[other] / union)
            shared[other] = agreeing[other] = 0
