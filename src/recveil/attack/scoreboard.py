"""Scoreboard: the simple attack, which keeps only the records that agree with all that is known."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.knowledge import Knowledge
from recveil.brief import brief
from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.progress import track

# Targets that one thread takes at a time.
_CHUNK = 256


@brief
class Lineups(NamedTuple):
    """Who is left of the people when all records that disagree are gone; shape (n_targets,) each.

    Attributes
    ----------
    people : ndarray of int64
        People behind all matching records.
    records : ndarray of int64
        Matching records.
    own_matches : ndarray of bool
        Whether the target's own record is among them.
    probability : ndarray of float64
        Chance that a random pick from the lineup is the target: 1 / people, or 0 without him.
    bits : ndarray of float64
        What the adversary still needs to name the target: log2(people), or log2 of all people
        if the target is not in the lineup.
    """

    people: NDArray[np.int64]
    records: NDArray[np.int64]
    own_matches: NDArray[np.bool_]
    probability: NDArray[np.float64]
    bits: NDArray[np.float64]


@dataclass(frozen=True)
class Scoreboard:
    """Lines up the records that agree with every entry of what is known.

    A record's score is its worst agreement with an entry: 1 if it carries the item with a rating
    and a date within the errors, else 0. Records that score 1 match.

    Parameters
    ----------
    rating_error : float or None
        Ratings up to so many points apart agree; None: ratings are not compared.
    date_error : int or None
        Dates up to so many days apart agree; None: dates are not compared.
    threads : int
        The result does not depend on it.

    Raises
    ------
    RecveilError
        If an error is negative.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 4, Algorithm Scoreboard with the threshold similarity
    of section 5. One wrong entry is enough for it to lose the target, so the errors must be those
    of the knowledge. Ratings or dates that the adversary or the release lacks are not compared.
    Without any entry, everybody matches. Only records whose number of labels is within the known
    bounds match, if bounds are known.
    """

    rating_error: float | None = 0
    date_error: int | None = None
    threads: int = 2

    def __post_init__(self) -> None:
        for name in ("rating_error", "date_error"):
            error = getattr(self, name)
            # The comparison is written so that nan fails it, too.
            if error is not None and not error >= 0:
                raise RecveilError(f"{name} is {error}; expected at least 0, or None")

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Lineups:
        """Line up the candidates for every target.

        Parameters
        ----------
        candidates : Candidates
        knowledge : Knowledge
            Its items are positions in the candidates' list of items.
        record_of : ndarray of int64, shape (n_users,)
            The record of each user, which tells whether he is in the lineup; -1 if he has none.

        Raises
        ------
        RecveilError
            If a known item is not in the candidates' list of items.

        Examples
        --------
        >>> from recveil.attack import Adversary, draw_knowledge
        >>> from recveil.ratings import Ratings
        >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3], list("ababa"), [5, 3, 5, 4, 5])
        >>> known = draw_knowledge(ratings, Adversary(known=2), np.array([0, 1]))
        >>> found = Candidates.from_ratings(ratings)
        >>> Scoreboard().attack(found, known, np.arange(3)).people
        array([1, 1])
        >>> Scoreboard(rating_error=1).attack(found, known, np.arange(3)).people
        array([2, 2])
        """
        n_targets, n_items = knowledge.targets.size, candidates.indptr.size - 1
        strange = knowledge.items[(knowledge.items < 0) | (knowledge.items >= n_items)]
        if strange.size:
            raise RecveilError(f"known item {strange[0]}: expected positions below {n_items}")
        people, records = np.zeros(n_targets, np.int64), np.zeros(n_targets, np.int64)
        own_matches = np.zeros(n_targets, bool)
        entries = self._entries(candidates, knowledge, record_of)

        def run(first: int) -> None:
            last = min(first + _CHUNK, n_targets)
            _line_up(first, last, *entries, people, records, own_matches)

        starts = range(0, n_targets, _CHUNK)
        with ThreadPoolExecutor(self.threads) as pool:
            for _ in track(pool.map(run, starts), "Attacking", len(starts)):
                pass
        lineup = np.where(own_matches, people, max(candidates.n_people, 1))
        return Lineups(people, records, own_matches, own_matches / lineup, np.log2(lineup))

    def _entries(
        self, found: Candidates, known: Knowledge, record_of: NDArray[np.int64]
    ) -> tuple[Any, ...]:
        """Lay out what the search reads; what is not compared becomes an empty array."""
        values, days, found_days = known.values, known.days, found.days
        if values is None or self.rating_error is None:
            values = np.empty(0, np.float32)
        if days is None or found_days is None or self.date_error is None:
            days = found_days = np.empty(0, np.int32)
        # Rarest item first: its list is short, and the others only make it shorter.
        target = np.repeat(np.arange(known.targets.size), np.diff(known.indptr))
        order = np.lexsort((np.diff(found.indptr)[known.items], target))
        n_labels = known.activity
        if n_labels is None:
            n_labels = np.tile([0.0, np.inf], (known.targets.size, 1))
        return (
            *(known.indptr, known.items[order], values[order] if values.size else values),
            *(days[order] if days.size else days, n_labels, record_of[known.targets]),
            *(found.indptr, found.records, found.codes, found.levels, found_days),
            *(found.sizes, found.activity),
            *((self.rating_error or 0) + rating_slack(found.levels), self.date_error or 0),
        )


def rating_slack(levels: NDArray[np.float64]) -> float:
    """Return how far two labels may lie apart and still be equal.

    Knowledge is kept in single precision, and candidates round their labels where there are very
    many different ones. Neither must make a true label look wrong, which would make the release
    look safe.

    Examples
    --------
    >>> rating_slack(np.array([1.0, 2, 3, 4, 5])) < 0.001
    True
    """
    if not levels.size:
        return 0.0
    precision = 2 * float(np.spacing(np.float32(np.abs(levels).max())))
    # Half a gap is what rounding to evenly spaced levels costs; no coarse scale gets that much.
    half_gap = float(np.diff(levels).min()) / 2 if levels.size > 1 else 0.0
    return precision + min(half_gap, 1e-4 * float(levels[-1] - levels[0]))


@compiled()
def _line_up(
    first: int,
    last: int,
    known_indptr: NDArray[Any],
    items: NDArray[Any],
    values: NDArray[Any],
    days: NDArray[Any],
    known_activity: NDArray[Any],
    own: NDArray[Any],
    indptr: NDArray[Any],
    records: NDArray[Any],
    codes: NDArray[Any],
    levels: NDArray[Any],
    record_days: NDArray[Any],
    sizes: NDArray[Any],
    activity: NDArray[Any],
    rating_error: float,
    date_error: float,
    people: NDArray[Any],
    n_records: NDArray[Any],
    own_matches: NDArray[Any],
) -> None:
    """Intersect the lists of each target's known items, and count who is left."""
    matching = np.empty(sizes.size, np.int32)
    for target in range(first, last):
        start, end = known_indptr[target], known_indptr[target + 1]
        if start == end:
            n_matching = sizes.size
            for record in range(n_matching):
                matching[record] = record
        else:
            n_matching = 0
            for at in range(indptr[items[start]], indptr[items[start] + 1]):
                matching[n_matching] = records[at]
                n_matching += 1
        for entry in range(start, end):
            at, until = indptr[items[entry]], indptr[items[entry] + 1]
            n_kept = 0
            for place in range(n_matching):
                record = matching[place]
                # Both lists ascend, so the search goes on where it last stopped.
                at = _find(records, at, until, record)
                if at == until:
                    break
                if records[at] != record:
                    continue
                if values.size and abs(values[entry] - levels[codes[at]]) > rating_error:
                    continue
                if days.size and abs(days[entry] - record_days[at]) > date_error:
                    continue
                matching[n_kept] = record
                n_kept += 1
            n_matching = n_kept
        fewest, most = known_activity[target]
        for place in range(n_matching):
            record = matching[place]
            if fewest <= activity[record] <= most:
                n_records[target] += 1
                people[target] += sizes[record]
                own_matches[target] |= record == own[target]


@compiled()
def _find(records: NDArray[Any], start: int, end: int, record: int) -> int:
    """Bisect an ascending list for the first place from `start` on that is not before a record."""
    while start < end:
        middle = (start + end) // 2
        if records[middle] < record:
            start = middle + 1
        else:
            end = middle
    return start
