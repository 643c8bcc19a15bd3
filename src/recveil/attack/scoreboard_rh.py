"""Scoreboard-RH: the robust attack, which forgives wrong entries and favours rare items."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.knowledge import Knowledge
from recveil.progress import track

# Targets that one thread takes at a time.
_CHUNK = 256


class Guesses(NamedTuple):
    """What the attack says about each target; arrays of shape (n_targets,).

    Attributes
    ----------
    best : ndarray of int64
        The record with the highest score; -1 if several share it.
    tied_people : ndarray of int64
        People behind all records that share the highest score.
    eccentricity : ndarray of float64
        (highest - second highest score) / σ; 0 if the top score ties or σ is 0.
    own_is_top : ndarray of bool
        Whether the target's own record has the highest score, alone or with others.
    bits : ndarray of float64
        What the adversary still needs to name the target: -log2 of the probability that he gives
        to each person behind the target's record. nan for a target without a record.
    eccentricity_without : ndarray of float64
        The eccentricity after the target's own record was taken out.
    """

    best: NDArray[np.int64]
    tied_people: NDArray[np.int64]
    eccentricity: NDArray[np.float64]
    own_is_top: NDArray[np.bool_]
    bits: NDArray[np.float64]
    eccentricity_without: NDArray[np.float64]


@dataclass(frozen=True)
class ScoreboardRH:
    """Scores each record by how well it fits what is known, rare items counting more.

    The score of a record is the sum over the known items that it carries of
    ``wt(i) * (exp(-|rating difference| / rating_width) + exp(-|day difference| / day_width))``
    with ``wt(i) = 1 / log(support)``. What the adversary does not know (ratings or dates) is left
    out of the sum; if he knows neither, an item counts its weight.

    Parameters
    ----------
    rating_width : float
        ρ0, in rating points.
    day_width : float
        d0, in days.
    threads : int
        The result does not depend on it.

    Notes
    -----
    Source: Narayanan & Shmatikov, sections 4 and 5. Readings: supports below 2 count as 2, σ is
    the population standard deviation over the records of all people, those with score 0
    included, and a record of s people counts s times in it. Identical records score bit-equal.
    """

    rating_width: float = 1.5
    day_width: float = 30.0
    threads: int = 2

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Look for every target among the candidates.

        Parameters
        ----------
        candidates : Candidates
        knowledge : Knowledge
            Its items are positions in the candidates' list of items.
        record_of : ndarray of int64, shape (n_users,)
            The record of each user, which tells whether a guess is right; -1 if he has none.

        Examples
        --------
        >>> from recveil.attack import Adversary, choose_targets, draw_knowledge
        >>> from recveil.datasets import make_ratings
        >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
        >>> known = draw_knowledge(ratings, Adversary(known=4), choose_targets(50, 5, seed=0))
        >>> guesses = ScoreboardRH().attack(
        ...     Candidates.from_ratings(ratings), known, np.arange(50)
        ... )
        >>> guesses.best == known.targets  # one of the five has too few ratings
        array([ True,  True,  True,  True])
        """
        search = _Search(candidates, knowledge, self.rating_width, self.day_width)
        own = record_of[knowledge.targets]
        starts = range(0, own.size, _CHUNK)
        with ThreadPoolExecutor(self.threads) as pool:
            chunks = pool.map(lambda first: search.run(own, first, first + _CHUNK), starts)
            rows = [row for chunk in track(chunks, "Attacking", len(starts)) for row in chunk]
        dtypes = (np.int64, np.int64, np.float64, np.bool_, np.float64, np.float64)
        columns = zip(*rows, strict=True) if rows else [()] * len(dtypes)
        return Guesses(*(np.array(c, dtype=d) for c, d in zip(columns, dtypes, strict=True)))


class _Others(NamedTuple):
    """The scores of all records but the target's own."""

    top: float
    second: float
    record: int  # one with the top score
    people_at_top: int
    total: float
    squares: float
    untouched: int  # people with score 0, not listed


class _Search:
    """Looks for targets, each thread with a scoreboard of its own."""

    def __init__(
        self, candidates: Candidates, knowledge: Knowledge, rating_width: float, day_width: float
    ) -> None:
        self.candidates, self.knowledge = candidates, knowledge
        self.n_people = candidates.n_people
        self.weights = 1 / np.log(np.maximum(candidates.support, 2))
        self.rating_width = rating_width
        self.day_points = _tabulate_days(candidates, knowledge, day_width)

    def run(self, own: NDArray[np.int64], first: int, last: int) -> list[tuple[Any, ...]]:
        """Look for some targets; a row of `Guesses` for each."""
        scores = np.zeros(self.candidates.n_records, np.float32)
        touched = np.empty(self.candidates.n_records + 1, np.int32)  # one more to write ahead
        rows = []
        for target in range(first, min(last, own.size)):
            n_touched = self._add_up(target, scores, touched)
            rows.append(self._guess(int(own[target]), scores, touched[:n_touched]))
            scores[touched[:n_touched]] = 0
        return rows

    def _add_up(self, target: int, scores: NDArray[Any], touched: NDArray[Any]) -> int:
        """Score the records that carry a known item; return how many there are."""
        known, found = self.knowledge, self.candidates
        entries = slice(known.indptr[target], known.indptr[target + 1])
        items = known.items[entries]
        weights = self.weights[items]
        points = np.zeros((items.size, found.levels.size), np.float32)
        if known.values is not None:
            apart = np.abs(known.values[entries, None] - found.levels)
            points += weights[:, None] * np.exp(-apart / self.rating_width)
        elif not self.day_points.size:
            points += weights[:, None]
        nothing = np.empty(0, np.int32)
        n_touched = _add_up(
            *(items, points, weights.astype(np.float32), scores, touched),
            *(found.indptr, found.records, found.codes),
            nothing if found.days is None else found.days,
            nothing if known.days is None else known.days[entries],
            self.day_points,
        )
        if known.activity is not None:
            counts = found.activity[touched[:n_touched]]
            low, high = known.activity[target]
            scores[touched[:n_touched][(counts < low) | (counts > high)]] = 0
        return int(n_touched)

    def _guess(self, own: int, scores: NDArray[Any], touched: NDArray[Any]) -> tuple[Any, ...]:
        """Turn one target's scores into a row of `Guesses`."""
        sizes = self.candidates.sizes
        others = _Others(*_look_at_others(scores, touched, sizes, own, self.n_people))
        own_size = int(sizes[own]) if own >= 0 else 0
        sigma_without = _deviation(others.total, others.squares, self.n_people - own_size)
        without = _ratio(others.top - others.second, sigma_without) if others.second >= 0 else 0.0
        if own < 0:
            best = others.record if others.top > others.second else -1
            return best, others.people_at_top, without, False, np.nan, without
        score = float(scores[own])
        sigma = _deviation(
            others.total + own_size * score, others.squares + own_size * score**2, self.n_people
        )
        top = max(score, others.top)
        second = others.top if score >= others.top else max(others.second, score)
        if score > others.top:
            best = own
        else:
            best = others.record if others.top > max(others.second, score) else -1
        tied = others.people_at_top * (others.top == top) + own_size * (score == top)
        eccentricity = _ratio(top - second, sigma) if second >= 0 else 0.0
        bits = float(np.log2(self.n_people))
        if sigma > 0:
            near = np.exp((scores[touched] - np.float32(top)) / np.float32(sigma))
            mass = float(np.dot(near.astype(np.float64), sizes[touched]))
            # The target's own record is listed, or else stands among the untouched ones.
            unlisted = others.untouched + own_size * (not np.any(touched == own))
            mass += unlisted * np.exp(-top / sigma)
            bits = np.log2(mass) + (top - score) / sigma / np.log(2.0)
        return best, tied, eccentricity, score == top, bits, without


def _tabulate_days(
    candidates: Candidates, knowledge: Knowledge, day_width: float
) -> NDArray[np.float32]:
    """Tabulate exp(-days / d0) for all differences there can be; empty if dates are unknown."""
    days = [known for known in (candidates.days, knowledge.days) if known is not None]
    if len(days) < 2 or not all(known.size for known in days):
        return np.empty(0, np.float32)
    span = max(known.max() for known in days) - min(known.min() for known in days)
    return np.exp(-np.arange(int(span) + 1) / day_width).astype(np.float32)


def _ratio(distance: float, sigma: float) -> float:
    return distance / sigma if sigma > 0 else 0.0


def _deviation(total: float, squares: float, n: int) -> float:
    """Return the population standard deviation; the rounding left of equal scores counts as 0."""
    variance = squares / n - (total / n) ** 2 if n else 0.0
    return float(np.sqrt(variance)) if variance > 1e-12 * squares / max(n, 1) else 0.0


@njit(cache=True, nogil=True)
def _add_up(
    items: NDArray[Any],
    points: NDArray[Any],
    weights: NDArray[Any],
    scores: NDArray[Any],
    touched: NDArray[Any],
    indptr: NDArray[Any],
    records: NDArray[Any],
    codes: NDArray[Any],
    days: NDArray[Any],
    known_days: NDArray[Any],
    day_points: NDArray[Any],
) -> int:
    """Add the points of each known item to the records that carry it, listing new ones."""
    n_touched = 0
    for entry in range(items.size):
        item = items[entry]
        for at in range(indptr[item], indptr[item + 1]):
            record = records[at]
            gained = points[entry, codes[at]]
            if day_points.size:
                gained += weights[entry] * day_points[abs(days[at] - known_days[entry])]
            touched[n_touched] = record
            n_touched += scores[record] == 0
            scores[record] += gained
    return n_touched


@njit(cache=True, nogil=True)
def _look_at_others(
    scores: NDArray[Any], touched: NDArray[Any], sizes: NDArray[Any], own: int, n_people: int
) -> tuple[float, float, int, int, float, float, int]:
    """Summarize the scores of all records but the target's own, untouched ones included."""
    top, second, best, n_top = -1.0, -1.0, -1, 0
    total, squares, n_untouched, n_untouched_records = 0.0, 0.0, n_people, sizes.size
    if own >= 0:
        n_untouched -= sizes[own]
        n_untouched_records -= 1
    for record in touched:
        if record == own:
            continue
        score, size = float(scores[record]), sizes[record]
        n_untouched -= size
        n_untouched_records -= 1
        total += size * score
        squares += size * score * score
        if score > second:
            if score > top:
                top, second, best, n_top = score, top, record, size
            elif score == top:
                second, n_top = score, n_top + size
            else:
                second = score
        elif score == top:
            n_top += size
    for _ in range(min(2, n_untouched_records)):  # they have score 0, and may still win or tie
        if top < 0.0:
            top = 0.0
        elif second < 0.0:
            second = 0.0
    if top == 0.0:
        n_top = n_untouched + n_top
    return top, second, best, n_top, total, squares, n_untouched
