"""Scoreboard: the simple attack, which keeps only the records that agree with all that is known."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.guesses import Guesses
from recveil.attack.knowledge import Knowledge
from recveil.attack.sought import Sought
from recveil.brief import brief
from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.progress import track
from recveil.threads import pool

# Targets that one thread takes at a time.
_CHUNK = 256


@brief
@dataclass(frozen=True, kw_only=True, eq=False)
class Lineups(Guesses):
    """Who is left of the people when all records that disagree are gone; shape (n_targets,) each.

    All matching records fit equally well: `tied_people` are the people behind them, and
    `own_is_top` tells whether the target's own record is among them.

    Parameters
    ----------
    best, tied_people, own_is_top
        See `Guesses`.
    bits : ndarray of float64
        What the adversary still needs to name the target: log2(people), or log2 of all people
        if the target is not in the lineup.
    records : ndarray of int64
        Number of matching records.
    """

    bits: NDArray[np.float64]
    records: NDArray[np.int64]

    @property
    def people(self) -> NDArray[np.int64]:
        """People behind all matching records."""
        return self.tied_people

    @property
    def own_matches(self) -> NDArray[np.bool_]:
        """Whether the target's own record is among them."""
        return self.own_is_top

    @property
    def probability(self) -> NDArray[np.float64]:
        """Chance that a random pick from the lineup is the target: 1 / people, or 0."""
        return self.chance


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

    name: ClassVar[str] = "scoreboard"

    rating_error: float | None = 0
    date_error: int | None = None
    threads: int = 2

    def __post_init__(self) -> None:
        for name in ("rating_error", "date_error"):
            error = getattr(self, name)
            # The comparison is written so that nan fails it, too.
            if error is not None and not error >= 0:
                raise RecveilError(
                    f"{name} is {error}; expected at least 0, or None", code="argument.value"
                )

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
            The record of each user, which tells who is in the lineup; -1 if they have none.

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
        n_items = candidates.indptr.size - 1
        strange = knowledge.items[(knowledge.items < 0) | (knowledge.items >= n_items)]
        if strange.size:
            raise RecveilError(
                f"known item {strange[0]}: expected positions below {n_items}",
                code="argument.value",
            )
        sought = Sought(knowledge, record_of[knowledge.targets])
        tally = _Tally(*candidates.look(self._line_up, sought, self.threads))
        lineup = np.where(tally.own_matches, tally.people, max(candidates.n_people, 1))
        return Lineups(
            best=tally.best,
            tied_people=tally.people,
            own_is_top=tally.own_matches,
            bits=np.log2(lineup),
            records=tally.records,
        )

    def _line_up(self, candidates: Candidates, sought: Sought, threads: int) -> "_Tally":
        """Line up some of the targets."""
        n_targets = sought.own.size
        hunt = self._gather(candidates, sought)
        tally = _Tally(
            best=np.full(n_targets, -1),
            records=np.zeros(n_targets, np.int64),
            people=np.zeros(n_targets, np.int64),
            own_matches=np.zeros(n_targets, bool),
        )

        def run(first: int) -> None:
            _line_up(hunt, first, min(first + _CHUNK, n_targets), tally)

        starts = range(0, n_targets, _CHUNK)
        with pool(threads) as workers:
            for _ in track(workers.map(run, starts), "Attacking", len(starts)):
                pass
        return tally

    def _gather(self, found: Candidates, sought: Sought) -> "_Hunt":
        """Lay out what the search reads; what is not compared becomes an empty array."""
        known = sought.knowledge
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
        return _Hunt(
            known_indptr=known.indptr,
            known_items=known.items[order],
            known_values=values[order] if values.size else values,
            known_days=days[order] if days.size else days,
            known_activity=n_labels,
            own=sought.own,
            indptr=found.indptr,
            records=found.records,
            codes=found.codes,
            levels=found.levels,
            days=found_days,
            sizes=found.sizes,
            activity=found.activity,
            rating_error=(self.rating_error or 0) + rating_slack(found.levels),
            date_error=self.date_error or 0,
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


@brief
class _Hunt(NamedTuple):
    """All that the compiled functions read; what is not compared is empty."""

    known_indptr: NDArray[np.int64]
    known_items: NDArray[np.int32]
    known_values: NDArray[np.float32]
    known_days: NDArray[np.int32]
    known_activity: NDArray[np.float64]
    own: NDArray[np.int64]
    indptr: NDArray[np.int64]
    records: NDArray[np.int32]
    codes: NDArray[Any]
    levels: NDArray[np.float64]
    days: NDArray[np.int32]
    sizes: NDArray[np.int64]
    activity: NDArray[np.int64]
    rating_error: float
    date_error: float


@brief
class _Tally(NamedTuple):
    """What the compiled functions write, for each target."""

    best: NDArray[np.int64]
    records: NDArray[np.int64]
    people: NDArray[np.int64]
    own_matches: NDArray[np.bool_]


@compiled()
def _line_up(hunt: _Hunt, first: int, last: int, tally: _Tally) -> None:
    """Intersect the lists of each target's known items, and count who is left."""
    room = np.empty(hunt.sizes.size, np.int32)
    for target in range(first, last):
        start, end = hunt.known_indptr[target], hunt.known_indptr[target + 1]
        matching = room[: _list_carriers(hunt, start, end, room)]
        _count(hunt, target, matching[: _keep_agreeing(hunt, start, end, matching)], tally)


@compiled()
def _list_carriers(hunt: _Hunt, start: int, end: int, room: NDArray[Any]) -> int:
    """List the records that carry the first known item, all if none is known; return how many."""
    if start == end:
        for record in range(room.size):
            room[record] = record
        return room.size
    item = hunt.known_items[start]
    carriers = hunt.records[hunt.indptr[item] : hunt.indptr[item + 1]]
    room[: carriers.size] = carriers
    return carriers.size


@compiled()
def _keep_agreeing(hunt: _Hunt, start: int, end: int, matching: NDArray[Any]) -> int:
    """Move the records that agree with all entries to the front; return how many they are."""
    n_matching = matching.size
    for entry in range(start, end):
        item = hunt.known_items[entry]
        at, until = hunt.indptr[item], hunt.indptr[item + 1]
        n_kept = 0
        for place in range(n_matching):
            record = matching[place]
            # Both lists ascend, so the search goes on where it last stopped.
            at = _find(hunt.records, at, until, record)
            if at == until:
                break
            if hunt.records[at] == record and _agrees(hunt, entry, at):
                matching[n_kept] = record
                n_kept += 1
        n_matching = n_kept
    return n_matching


@compiled()
def _agrees(hunt: _Hunt, entry: int, at: int) -> bool:
    """Tell whether a label of the known item has the rating and the date, within the errors."""
    if hunt.known_values.size:
        apart = abs(hunt.known_values[entry] - hunt.levels[hunt.codes[at]])
        if apart > hunt.rating_error:
            return False
    if hunt.known_days.size:
        return abs(hunt.known_days[entry] - hunt.days[at]) <= hunt.date_error
    return True


@compiled()
def _count(hunt: _Hunt, target: int, matching: NDArray[Any], tally: _Tally) -> None:
    """Count the matching records that are as long as the adversary heard, and their people."""
    fewest, most = hunt.known_activity[target]
    for record in matching:
        if fewest <= hunt.activity[record] <= most:
            tally.records[target] += 1
            tally.people[target] += hunt.sizes[record]
            tally.own_matches[target] |= record == hunt.own[target]
            tally.best[target] = record if tally.records[target] == 1 else -1


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
