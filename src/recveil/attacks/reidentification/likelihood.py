"""Re-identification by distance and by likelihood."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import Adversary, WrongKind
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses, ScoredGuesses, guesses_of_best
from recveil.attacks.knowledge import Knowledge
from recveil.attacks.reidentification.scoreboard import (
    BELL,
    WITHIN,
    Points,
    longest_span,
    search,
)
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief


@dataclass(frozen=True)
class Nearest:
    """Picks the record closest to what is known; see `find_nearest`."""

    name: ClassVar[str] = "nearest"

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Score every target against the candidates; see `find_nearest`."""
        return find_nearest(candidates, knowledge, record_of)


def find_nearest(
    candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
) -> Guesses:
    """Pick the record with the least sum of squared differences over the known items.

    A known item that a record lacks counts as the largest difference between two values. Without
    known ratings, only the missing items count.

    Parameters
    ----------
    candidates : Candidates
    knowledge : Knowledge
    record_of : ndarray of int64, shape (n_users,)
        The record of each user; -1 if they have none.

    Notes
    -----
    Each target takes a pass over all records, so this is meant for releases with one record per
    group.

    Examples
    --------
    >>> from recveil.ratings import Ratings
    >>> ratings = Ratings.from_columns([1, 1, 2, 2], [7, 8, 7, 8], [5, 1, 3, 2])
    >>> table = Candidates.from_ratings(ratings)
    >>> known = Knowledge(
    ...     np.array([1]), np.array([0, 1]), np.array([1]), np.array([2.5]), None, None, 0
    ... )
    >>> found = find_nearest(table, known, np.arange(2))
    >>> found.best, found.tied_users, found.target_is_top
    (array([1]), array([1]), array([ True]))
    """
    nearest = _find_nearest(candidates, knowledge)
    return guesses_of_best(nearest, candidates.sizes, record_of[knowledge.targets])


def _find_nearest(candidates: Candidates, knowledge: Knowledge) -> Iterator[NDArray[np.int64]]:
    missing = float(np.ptp(candidates.levels)) ** 2 or 1.0
    for target in range(knowledge.targets.size):
        distance = np.zeros(candidates.n_records)
        for entry in range(knowledge.indptr[target], knowledge.indptr[target + 1]):
            item = knowledge.items[entry]
            carrying = slice(candidates.indptr[item], candidates.indptr[item + 1])
            apart = np.zeros(carrying.stop - carrying.start)
            if knowledge.values is not None:
                apart = candidates.levels[candidates.codes[carrying]] - knowledge.values[entry]
            # Relative to "missing", so that only the records with the item are updated.
            distance[candidates.records[carrying]] += apart**2 - missing
        # Equality is up to rounding: the order of additions must not break ties.
        yield np.flatnonzero(distance <= distance.min() + 1e-9 * missing)


# Probability of what the adversary takes to be impossible: their knowledge may be worse than they
# think, and some record must still be the likeliest.
_SURPRISE = 1e-3
# Spreads of the ratings around a released value, as shares of the scale.
_SPREADS = (0, 1 / 8, 1 / 4)
# Ratings are in single precision.
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Likelihood:
    """Scores each record by the log-likelihood of the knowledge if it is the target's.

    If a record with n values is the target's, each known item is one of the n, and its rating and
    date are within the adversary's errors, except for the share of wrong entries. So a record that
    agrees with more entries is likelier, and of two with equal agreement the shorter one.
    Scoreboard-RH uses neither the bounds of the errors nor the lengths.

    Parameters
    ----------
    right : float
        Share of the entries that are right, from 0 to 1.
    wrong_kind : {"value", "item"}
        A wrong entry has a wrong value, or is an item that the target did not rate.
    rating_error : float or None
        Largest error of a right rating, in points; None: ratings are not compared.
    date_error : int or None
        Largest error of a right date, in days; None: dates are not compared.
    value_spread : float
        Standard deviation of the ratings around a published value, in points: 0 for records of true
        ratings; above 0 for means of groups, whose values then count by their distance.
    outside_top : int
        Known items are drawn from outside this many most rated ones, so that a record's length
        counts these only.
    threads : int
        Does not change the result.

    Raises
    ------
    RecveilError
        If a number is out of range.

    Notes
    -----
    With `right` n of m, levels L of the scale and days D of the table, an entry gives a record that
    has the item ``log(q R / n)`` if it agrees, where R is one in the number of values within the
    errors, and ``log((1 - q) / (L D n))`` if not; q is (n + 1/2) / (m + 1) of m = 8, because no
    adversary is sure that all is right. Scores are relative to a record without the item.
    Eccentricity is the log-odds of the two best records, `bits` is from the posterior with a
    uniform prior over users.

    Under the adversary's own model of their knowledge, no attack re-identifies more users than the
    likeliest record (up to the approximations above: errors at the ends of the scale, and an
    unknown instead of a given number of wrong entries). This holds for tables of true ratings. For
    published means the model is rough and ignores how predictions were mixed in: on padded rows,
    attacks that use all rows together are known to be stronger.
    """

    name: ClassVar[str] = "likelihood"

    right: float = 1.0
    wrong_kind: WrongKind = "value"
    rating_error: float | None = 0
    date_error: int | None = None
    value_spread: float = 0.0
    outside_top: int = 0
    threads: int = 2

    def __post_init__(self) -> None:
        for name in ("rating_error", "date_error", "value_spread", "outside_top"):
            value = getattr(self, name)
            # Written so that nan fails as well.
            if value is not None and not value >= 0:
                raise RecveilError(f"{name} is {value}; expected at least 0", code="argument.value")
        if not 0 <= self.right <= 1:
            raise RecveilError(
                f"right is {self.right}; expected a share from 0 to 1", code="argument.value"
            )

    @classmethod
    def of(cls, adversary: Adversary, value_spread: float = 0.0) -> Self:
        """Return the attack that suits an adversary's knowledge.

        Examples
        --------
        >>> Likelihood.of(Adversary(known=8, right=6, rating_error=1)).right
        0.75
        """
        return cls(
            right=adversary.n_right / adversary.known,
            wrong_kind=adversary.wrong_kind,
            rating_error=adversary.rating_error,
            date_error=adversary.date_error,
            value_spread=value_spread,
            outside_top=adversary.outside_top,
        )

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> ScoredGuesses:
        """Score every target against the candidates; see `ScoreboardRH.attack`.

        Examples
        --------
        Both records have both items; the shorter one is likelier.

        >>> from recveil.attacks import draw_knowledge
        >>> from recveil.ratings import Ratings
        >>> ratings = Ratings.from_columns([1, 1, 1, 2, 2], list("abcab"), [5, 3, 4, 5, 3])
        >>> known = draw_knowledge(ratings, Adversary(known=2), np.array([1]))
        >>> guesses = Likelihood().attack(Candidates.from_ratings(ratings), known, np.arange(2))
        >>> guesses.best
        array([1])
        """
        points = self._points(candidates, knowledge)
        return search(candidates, knowledge, record_of, points, self.threads)

    def _points(self, candidates: Candidates, knowledge: Knowledge) -> Points:
        q = (8 * self.right + 0.5) / 9
        # Relative to a record without the item, where the entry is either wrong or a surprise.
        if self.wrong_kind == "item":
            absent, beyond = 1 - q, (1 - q) * _SURPRISE
        else:
            absent, beyond = _SURPRISE, 1 - q
        days = self._days(longest_span(candidates, knowledge))
        certainty = self._rating_certainty(candidates, knowledge) * self._date_certainty(days)
        spread = math.hypot(self.value_spread, (self.rating_error or 0) / math.sqrt(3))
        return Points(
            rule=BELL if self.value_spread else WITHIN,
            weights=np.ones(knowledge.items.size, np.float32),
            width=spread if self.value_spread else (self.rating_error or 0) + _TOLERANCE,
            agree=math.log(q * certainty / absent),
            floor=math.log(beyond / absent),
            days=np.where(days, np.float32(0), np.float32(-1e30)),
            bonus=self._room(candidates),
            sigma=1.0,
        )

    def _rating_certainty(self, candidates: Candidates, knowledge: Knowledge) -> float:
        """Return the likelihood ratio of a known rating near the record's value."""
        if knowledge.values is None or candidates.levels.size < 2:
            return 1.0
        step = float(np.diff(candidates.levels).min())
        span = float(np.ptp(candidates.levels))
        if self.value_spread:
            width = math.hypot(self.value_spread, (self.rating_error or 0) / math.sqrt(3))
            return max(1.0, span / (width * math.sqrt(2 * math.pi)))
        within = 2 * math.floor((self.rating_error or 0) / step + _TOLERANCE) + 1
        return max(1.0, (round(span / step) + 1) / within)

    def _days(self, span: int) -> NDArray[np.bool_]:
        """Mark the day differences that agree; empty if dates are not compared."""
        if self.date_error is None:
            return np.empty(0, np.bool_)
        return np.arange(span + 1) <= self.date_error

    def _date_certainty(self, days: NDArray[np.bool_]) -> float:
        return max(1.0, days.size / (2 * (self.date_error or 0) + 1)) if days.size else 1.0

    def _room(self, candidates: Candidates) -> NDArray[np.float32]:
        """Return the log-likelihood ratio of drawing an item from the record and from all items."""
        n_items = max(0, candidates.n_items - self.outside_top)
        lengths = candidates.lengths_outside(self.outside_top).astype(np.float64)
        return np.log(max(n_items, 1) / np.maximum(lengths, 1)).astype(np.float32)


def likelihoods_for_means(adversary: Adversary, scale_range: float) -> list[Likelihood]:
    """Return the attack with spreads of ratings around a value of 0, 1/8 and 1/4 of the scale.

    >>> [attack.value_spread for attack in likelihoods_for_means(Adversary(known=4), 4.0)]
    [0.0, 0.5, 1.0]
    """
    return [Likelihood.of(adversary, share * scale_range) for share in _SPREADS]


@dataclass(frozen=True)
class DateDifferences:
    """Scores each record by the most entries that agree after one shift of all its dates.

    Scores are those of `Likelihood`, with the likeliest of the shifts up to `most_days`.
    """

    name: ClassVar[str] = "date-differences"

    likelihood: Likelihood
    most_days: int

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Score every target against the candidates; see `ScoreboardRH.attack`."""
        likeliest = self._find_likeliest(candidates, knowledge)
        return guesses_of_best(likeliest, candidates.sizes, record_of[knowledge.targets])

    def _find_likeliest(
        self, candidates: Candidates, knowledge: Knowledge
    ) -> Iterator[NDArray[np.int64]]:
        undated = replace(self.likelihood, date_error=None)
        points = undated._points(candidates, knowledge)
        error = self.likelihood.date_error or 0
        first, last = candidates.day_ends or (0, 0)
        n_days = last - first + 1
        gain = points.agree + math.log(max(1.0, n_days / (2 * error + 1))) - points.floor
        most = self.most_days + error
        for target in range(knowledge.targets.size):
            records, places = _shifts(candidates, knowledge, target, most, points.width)
            n_carried = np.bincount(records, minlength=candidates.n_records)
            n_near = np.searchsorted(places, places + 2 * error, "right") - np.arange(places.size)
            n_agreeing = np.zeros(candidates.n_records)
            np.maximum.at(n_agreeing, places // (4 * most + 1), n_near)
            score = n_carried * (points.floor + points.bonus) + n_agreeing * gain
            # Equality is up to rounding: the order of additions must not break ties.
            yield np.flatnonzero(score >= score.max() - 1e-9)


def _shifts(
    candidates: Candidates, knowledge: Knowledge, target: int, most: int, width: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the record of each value of a known item, and the sorted shifts of those that agree.

    A shift by d days of record r is r (4 most + 1) + most + d: records are apart.
    """
    records, shifts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    if knowledge.days is None or candidates.days is None:
        raise RecveilError(
            "no dates are known, so their differences cannot be compared; choose another attack",
            code="time.missing",
        )
    for entry in range(knowledge.indptr[target], knowledge.indptr[target + 1]):
        item = knowledge.items[entry]
        carrying = slice(candidates.indptr[item], candidates.indptr[item + 1])
        records.append(candidates.records[carrying].astype(np.int64))
        shift = candidates.days[carrying] - np.int64(knowledge.days[entry])
        agrees = np.abs(shift) <= most
        if knowledge.values is not None:
            values = candidates.levels[candidates.codes[carrying]]
            agrees &= np.abs(values - knowledge.values[entry]) <= width
        shifts.append(records[-1][agrees] * (4 * most + 1) + most + shift[agrees])
    return np.concatenate(records), np.sort(np.concatenate(shifts))


@brief
@dataclass(frozen=True, eq=False)
class LikelyRated:
    """Scores each record by the probability that its user rated the known items; ignores ratings.

    An item counts ``log(likely + 0.001) - log(n)``, with n the expected real ratings of the record:
    likely fills count against it, and of equal records the one with fewer ratings leads.
    """

    name: ClassVar[str] = "likely-rated"

    likely: NDArray[np.float64]

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Score every target against the candidates; see `ScoreboardRH.attack`."""
        if self.likely.shape != candidates.records.shape:
            raise RecveilError(
                f"likely has shape {self.likely.shape}; expected one probability for each of "
                f"{candidates.records.size} values",
                code="argument.shape",
            )
        likeliest = self._find_likeliest(candidates, knowledge)
        return guesses_of_best(likeliest, candidates.sizes, record_of[knowledge.targets])

    def _find_likeliest(
        self, candidates: Candidates, knowledge: Knowledge
    ) -> Iterator[NDArray[np.int64]]:
        expected = np.bincount(candidates.records, self.likely, minlength=candidates.n_records)
        room = np.log(np.maximum(expected, 1.0))
        gains = np.log(self.likely + _SURPRISE) - np.log(_SURPRISE)
        for target in range(knowledge.targets.size):
            known_items = knowledge.items[knowledge.indptr[target] : knowledge.indptr[target + 1]]
            score = -known_items.size * room
            for item in known_items:
                carrying = slice(candidates.indptr[item], candidates.indptr[item + 1])
                score[candidates.records[carrying]] += gains[carrying]
            # Equality is up to rounding: the order of additions must not break ties.
            yield np.flatnonzero(score >= score.max() - 1e-9)
