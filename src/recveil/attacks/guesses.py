"""Guesses of an attack, from the scores of the records for each target."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.runtime.compiled import compiled
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True, kw_only=True, eq=False)
class Guesses:
    """Guesses of an attack; arrays of shape (n_targets,).

    Every attack fills the first three. What it does not compute is None.

    Parameters
    ----------
    best : ndarray of int64
        The record that fits best; -1 if several fit equally well, or none fits.
    tied_users : ndarray of int64
        Number of users of all records that fit best.
    target_is_top : ndarray of bool
        Whether the target's own record is among them.
    eccentricity : ndarray of float64, or None
        (highest - second highest score) / σ; 0 if the top score ties or σ is 0.
    bits : ndarray of float64, or None
        Remaining entropy to re-identify the target: -log2 of the probability assigned to each user
        of the target's record. nan for a target without a record.
    score : ndarray of float64, or None
        The highest score.

    Examples
    --------
    >>> guesses = Guesses(
    ...     best=np.array([4, -1]),
    ...     tied_users=np.array([1, 2]),
    ...     target_is_top=np.array([True, True]),
    ... )
    >>> guesses.chance
    array([1. , 0.5])
    """

    best: NDArray[np.int64]
    tied_users: NDArray[np.int64]
    target_is_top: NDArray[np.bool_]
    eccentricity: NDArray[np.float64] | None = None
    bits: NDArray[np.float64] | None = None
    score: NDArray[np.float64] | None = None

    @property
    def chance(self) -> NDArray[np.float64]:
        """Probability that a random pick among the best-fitting users is the target."""
        return self.target_is_top / np.maximum(self.tied_users, 1)

    def renumbered(self, records: NDArray[np.int64]) -> "Guesses":
        """Return the guesses among all records, from those among some."""
        best = np.where(self.best >= 0, records[self.best], -1) if records.size else self.best
        return Guesses(best=best, tied_users=self.tied_users, target_is_top=self.target_is_top)

    @classmethod
    def joined(cls, parts: Sequence["Guesses"], order: NDArray[np.int64]) -> "Guesses":
        """Return the guesses of several groups of targets, in an order."""
        names = ("best", "tied_users", "target_is_top")
        arrays = {name: np.concatenate([getattr(each, name) for each in parts]) for name in names}
        return Guesses(**{name: array[order] for name, array in arrays.items()})

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the arrays that are not None, in the order of the fields."""
        values = (getattr(self, field.name) for field in fields(self))
        return (array for array in values if array is not None)

    def _facts(self) -> dict[str, object]:
        return {"targets": self.best.size}


@brief
@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredGuesses(Guesses):
    """Guesses of an attack that scores every record, with all fields set."""

    eccentricity: NDArray[np.float64]
    bits: NDArray[np.float64]
    score: NDArray[np.float64]


@brief
class Sheet(NamedTuple):
    """Arrays of `ScoredGuesses`, for compiled functions to fill."""

    best: NDArray[np.int64]
    tied_users: NDArray[np.int64]
    target_is_top: NDArray[np.bool_]
    eccentricity: NDArray[np.float64]
    bits: NDArray[np.float64]
    score: NDArray[np.float64]

    @classmethod
    def empty(cls, n_targets: int) -> Self:
        """Return uninitialized arrays."""
        return cls(
            best=np.empty(n_targets, np.int64),
            tied_users=np.empty(n_targets, np.int64),
            target_is_top=np.empty(n_targets, np.bool_),
            eccentricity=np.empty(n_targets),
            bits=np.empty(n_targets),
            score=np.empty(n_targets),
        )


def guesses_of_best(
    best_of: Iterable[NDArray[np.int64]],
    sizes: NDArray[np.int64],
    target_records: NDArray[np.int64],
) -> Guesses:
    """Return the guesses from the best-fitting records of each target."""
    n_targets = target_records.size
    best, tied_users = np.full(n_targets, -1), np.zeros(n_targets, np.int64)
    target_is_top = np.zeros(n_targets, bool)
    for target, records in enumerate(best_of):
        best[target] = records[0] if records.size == 1 else -1
        tied_users[target] = sizes[records].sum()
        target_is_top[target] = bool(np.isin(target_records[target], records))
    return Guesses(best=best, tied_users=tied_users, target_is_top=target_is_top)


class _Others(NamedTuple):
    """Summary of the scores of all records but the target's own; sums are over users."""

    top: float  # the two highest scores, -1 if there are none
    second: float
    best: int  # a record with the highest score
    n_top: int  # users of all such records
    total: float
    squares: float
    record_users: int  # users of the target's record
    n_zero: int  # users of the others with score 0


@compiled()
def _sum_up_others(search: Any, listed: NDArray[Any], scores: NDArray[Any], record: int) -> _Others:
    sizes = search.sizes
    record_users = 0 if record < 0 else _count_users(sizes, record)
    total, squares, n_scoring = _sum_up(scores, listed, sizes)
    n_zero = search.n_users - record_users - n_scoring
    top, second, best, n_top = _find_top(scores, listed, sizes)
    for _ in range(min(2, search.n_records - (record >= 0) - listed.size)):
        if top < 0.0:  # records with score 0 may tie; only a sole record can win with it
            top, best, n_top = 0.0, 0, n_zero
        elif second < 0.0:
            second = 0.0
    return _Others(top, second, best, n_top, total, squares, record_users, n_zero)


@compiled()
def lead_of_others(search: Any, listed: NDArray[Any], scores: NDArray[Any], record: int) -> float:
    """Return the eccentricity in a table without the target's own record."""
    others = _sum_up_others(search, listed, scores, record)
    sigma = _deviation(others.total, others.squares, search.n_users - others.record_users)
    return _eccentricity(others.top, others.second, sigma)


@compiled()
def guess(
    search: Any,
    listed: NDArray[Any],
    scores: NDArray[Any],
    record: int,
    record_score: float,
    target: int,
    sheet: Sheet,
) -> None:
    """Turn one target's scores into a row of the sheet."""
    sizes, n_users = search.sizes, search.n_users
    others = _sum_up_others(search, listed, scores, record)
    top, second, best, n_top = others.top, others.second, others.best, others.n_top
    record_users, n_zero = others.record_users, others.n_zero
    score = -1.0 if record < 0 else record_score
    highest, next_highest = max(score, top), min(max(second, score), top)
    sigma = search.sigma
    if sigma == 0.0:
        total = others.total + record_users * record_score
        squares = others.squares + record_users * record_score**2
        sigma = _deviation(total, squares, n_users)
    sheet.best[target] = record if score > top else best if top > max(second, score) else -1
    sheet.tied_users[target] = n_top * (top == highest) + record_users * (score == highest)
    sheet.eccentricity[target] = _eccentricity(highest, next_highest, sigma)
    sheet.score[target] = highest
    sheet.target_is_top[target] = record >= 0 and score == highest
    if record < 0:
        sheet.bits[target] = np.nan
    elif sigma == 0.0:
        sheet.bits[target] = math.log2(n_users)
    else:
        mass = _sum_likelihoods(scores, listed, sizes, highest, sigma)
        mass += record_users * math.exp((score - highest) / sigma) + n_zero * math.exp(
            -highest / sigma
        )
        sheet.bits[target] = math.log2(mass) + (highest - score) / sigma / math.log(2.0)


@compiled()
def _eccentricity(top: float, second: float, sigma: float) -> float:
    """Return the lead of the first score over the second; 0 without two scores or a spread."""
    return (top - second) / sigma if second >= 0.0 and sigma > 0.0 else 0.0


# The following functions use the scores of some records. `sizes` has the number of users per record
# of the whole table, and is empty if it is always one; a record of s users counts s times.


@compiled()
def _count_users(sizes: NDArray[Any], record: int) -> int:
    return sizes[record] if sizes.size else 1


@compiled()
def _find_top(
    scores: NDArray[Any], records: NDArray[Any], sizes: NDArray[Any]
) -> tuple[float, float, int, int]:
    """Return the two highest scores (-1 if missing), a record with the first, and its users."""
    # If several records share the highest score, it is also the second one, and the users of all of
    # them count.
    top, second, best, n_top = -1.0, -1.0, -1, 0
    for at in range(scores.size):
        if scores[at] < second:
            continue
        if scores[at] > top:
            top, second, best, n_top = (
                scores[at],
                top,
                records[at],
                _count_users(sizes, records[at]),
            )
        else:
            second = scores[at]
            n_top += _count_users(sizes, records[at]) if second == top else 0
    return top, second, best, n_top


@compiled()
def _deviation(total: float, squares: float, n: int) -> float:
    """Return the population standard deviation; the rounding left of equal scores counts as 0."""
    if n == 0:
        return 0.0
    variance = squares / n - (total / n) ** 2
    return math.sqrt(variance) if variance > 1e-12 * squares / n else 0.0


# These two may add in any order, so that the compiler can vectorize them.


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _sum_up(
    scores: NDArray[Any], records: NDArray[Any], sizes: NDArray[Any]
) -> tuple[float, float, int]:
    """Return the sum and sum of squares of the users' scores, and the number of users."""
    total, squares, n_users = 0.0, 0.0, 0
    for at in range(scores.size):
        score, n_here = np.float64(scores[at]), _count_users(sizes, records[at])
        total += n_here * score
        squares += n_here * score * score
        n_users += n_here
    return total, squares, n_users


@compiled(fastmath={"reassoc", "contract", "nsz"})
def _sum_likelihoods(
    scores: NDArray[Any], records: NDArray[Any], sizes: NDArray[Any], top: float, sigma: float
) -> float:
    """Return the sum over users of exp((score - top) / σ), for scores up to the top one."""
    mass = 0.0
    for at in range(scores.size):
        # e^x = (1 + x/n + (x/n)²/2)^n for a large n is sixteen products, which the compiler
        # vectorizes. Below x = -1000 the result is 0, and the formula would rise again.
        x = max((scores[at] - top) / sigma, -1000.0) / 65536
        mass += _count_users(sizes, records[at]) * (1 + x * (1 + 0.5 * x)) ** 65536
    return mass
