"""The Scoreboard and Scoreboard-RH attacks of Narayanan & Shmatikov."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import DAY_WIDTH, RATING_WIDTH, Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses, ScoredGuesses, Sheet, guess, lead_of_others
from recveil.attacks.knowledge import Knowledge, Query
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import pool

# Targets per task of a thread.
_CHUNK = 256


@brief
@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateSets(Guesses):
    """Candidate sets of the records that agree with what is known; shape (n_targets,) each.

    All matching records fit equally well: `tied_users` counts their users, `target_is_top` is
    whether the target's own record is among them, and `chance` is 1 / users, or 0.

    Parameters
    ----------
    best, tied_users, target_is_top
        See `Guesses`.
    bits : ndarray of float64
        Remaining entropy to re-identify the target: log2 of the users in the set, or of all users
        if the target is not in it.
    records : ndarray of int64
        Number of matching records.
    """

    bits: NDArray[np.float64]
    records: NDArray[np.int64]


@dataclass(frozen=True)
class Scoreboard:
    """Matches the records that agree with every known entry.

    A record's score is its least similarity to a known entry, 0 if it lacks an item. Records whose
    score reaches the threshold match. The similarity is 1 for a rating and a date within the
    errors. Beyond them it is the mean of ``exp(-points / rating_width)`` and ``exp(-days /
    day_width)`` of the excess, over what is compared.

    Parameters
    ----------
    rating_error : float or None
        Largest difference of agreeing ratings, in points; None: ratings are not compared.
    date_error : int or None
        Largest difference of agreeing dates, in days; None: dates are not compared.
    threads : int
        Does not change the result.
    threshold : float
        Alpha, above 0. At 1, a record matches if all entries are within the errors.
    rating_width, day_width : float
        ρ0 in points, and d0 in days.

    Raises
    ------
    RecveilError
        If an error is negative, or the threshold is not above 0 and at most 1.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 4, Algorithm Scoreboard; by default with the threshold
    similarity of section 5. One wrong entry loses the target, so the errors must be those of the
    knowledge. The score must reach alpha rather than exceed it, as Theorem 1 takes alpha = 1 - ε.
    Ratings or dates that the adversary or the release lacks are not compared. Without any entry,
    all users match. If bounds on the number of ratings are known, only records within them match.
    """

    name: ClassVar[str] = "scoreboard"

    rating_error: float | None = 0
    date_error: int | None = None
    threads: int = 2
    threshold: float = 1.0
    rating_width: float = RATING_WIDTH
    day_width: float = DAY_WIDTH

    def __post_init__(self) -> None:
        check_errors(rating_error=self.rating_error, date_error=self.date_error)
        if not 0 < self.threshold <= 1:
            raise RecveilError(
                f"threshold (--threshold) is {self.threshold}; expected a similarity above 0, at "
                f"most 1",
                code="argument.value",
            )

    @classmethod
    def of(cls, adversary: Adversary) -> Self:
        """Return the attack with an adversary's errors and decision parameters."""
        return cls(
            rating_error=adversary.rating_error,
            date_error=adversary.date_error,
            threshold=adversary.threshold,
            rating_width=adversary.rating_width,
            day_width=adversary.day_width,
        )

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> CandidateSets:
        """Find the candidate set of every target.

        Parameters
        ----------
        candidates : Candidates
        knowledge : Knowledge
            Its items are positions in the candidates' list of items.
        record_of : ndarray of int64, shape (n_users,)
            The record of each user, to evaluate the result; -1 if they have none.

        Raises
        ------
        RecveilError
            If a known item is not in the candidates' list of items.

        Examples
        --------
        >>> from recveil.attacks import Adversary, draw_knowledge
        >>> from recveil.ratings import Ratings
        >>> ratings = Ratings.from_columns([1, 1, 2, 2, 3], list("ababa"), [5, 3, 5, 4, 5])
        >>> known = draw_knowledge(ratings, Adversary(known=2), np.array([0, 1]))
        >>> found = Candidates.from_ratings(ratings)
        >>> Scoreboard().attack(found, known, np.arange(3)).tied_users
        array([1, 1])
        >>> Scoreboard(rating_error=1).attack(found, known, np.arange(3)).tied_users
        array([2, 2])
        >>> Scoreboard(threshold=0.5).attack(found, known, np.arange(3)).tied_users  # e^(-1 / 1.5)
        array([2, 2])
        """
        _check_positions("an item", knowledge.items, 0, candidates.n_items)
        query = Query(knowledge, record_of[knowledge.targets])
        tally = _Tally(*candidates.search(self._match, query, self.threads))
        n_users = np.where(tally.includes_target, tally.n_users, max(candidates.n_users, 1))
        return CandidateSets(
            best=tally.best,
            tied_users=tally.n_users,
            target_is_top=tally.includes_target,
            bits=np.log2(n_users),
            records=tally.records,
        )

    def _match(self, candidates: Candidates, query: Query, threads: int) -> "_Tally":
        """Find the candidate sets of some of the targets."""
        n_targets = query.target_records.size
        inputs = self._gather(candidates, query)
        tally = _Tally(
            best=np.full(n_targets, -1),
            records=np.zeros(n_targets, np.int64),
            n_users=np.zeros(n_targets, np.int64),
            includes_target=np.zeros(n_targets, bool),
        )
        work = partial(_match_targets, inputs, tally)
        run_in_chunks(work, n_targets, _CHUNK, threads, "Attacking")
        return tally

    def _gather(self, found: Candidates, query: Query) -> "_MatchInputs":
        """Collect the inputs of the search; what is not compared becomes an empty array."""
        known = query.knowledge
        values, days, found_days = known.values, known.days, found.days
        if values is None or self.rating_error is None:
            values = np.empty(0, np.float32)
        if days is None or found_days is None or self.date_error is None:
            days = found_days = np.empty(0, np.int32)
        # Rarest item first: its list is short, and the others only shorten it.
        target = np.repeat(np.arange(known.targets.size), np.diff(known.indptr))
        order = np.lexsort((np.diff(found.indptr)[known.items], target))
        return _MatchInputs(
            known_indptr=known.indptr,
            known_items=known.items[order],
            known_values=values[order] if values.size else values,
            known_days=days[order] if days.size else days,
            **_bounds(found, known),
            target_records=query.target_records,
            indptr=found.indptr,
            records=found.records,
            codes=found.codes,
            levels=found.levels,
            days=found_days,
            sizes=found.sizes,
            rating_error=(self.rating_error or 0) + rating_slack(found.levels),
            date_error=self.date_error or 0,
            threshold=self.threshold,
            rating_width=self.rating_width,
            day_width=self.day_width,
        )


def run_in_chunks(
    work: Callable[[int, int], object], n: int, chunk: int, n_threads: int, title: str
) -> None:
    """Call ``work(first, end)`` for consecutive chunks of `n` things, and show the progress.

    >>> run_in_chunks(print, 3, 2, 1, "Printing")
    0 2
    2 3
    """
    starts = range(0, n, chunk)
    with pool(n_threads) as workers:
        calls = workers.map(lambda first: work(first, min(first + chunk, n)), starts)
        for _ in track(calls, title, len(starts)):
            pass


def check_errors(**errors: float | None) -> None:
    """Raise for a negative error, or one that is no number."""
    for name, error in errors.items():
        # Written so that nan fails as well.
        if error is not None and not error >= 0:
            raise RecveilError(
                f"{name} is {error}; expected at least 0, or None", code="argument.value"
            )


def rating_slack(levels: NDArray[np.float64]) -> float:
    """Return the largest difference of two values that count as equal in single precision.

    >>> rating_slack(np.array([1.0, 2, 3, 4, 5])) < 0.001
    True
    """
    if not levels.size:
        return 0.0
    precision = 2 * float(np.spacing(np.float32(np.abs(levels).max())))
    # Half a gap is the error of rounding to evenly spaced levels; no coarse scale gets that much.
    half_gap = float(np.diff(levels).min()) / 2 if levels.size > 1 else 0.0
    return precision + min(half_gap, 1e-4 * float(levels[-1] - levels[0]))


@brief
class _MatchInputs(NamedTuple):
    """Inputs of the compiled functions; what is not compared is empty."""

    known_indptr: NDArray[np.int64]
    known_items: NDArray[np.int32]
    known_values: NDArray[np.float32]
    known_days: NDArray[np.int32]
    known_activity: NDArray[np.float64]
    known_first_days: NDArray[np.int64]
    target_records: NDArray[np.int64]
    indptr: NDArray[np.int64]
    records: NDArray[np.int32]
    codes: NDArray[Any]
    levels: NDArray[np.float64]
    days: NDArray[np.int32]
    sizes: NDArray[np.int64]
    activity: NDArray[np.int64]
    first_days: NDArray[np.int32]
    rating_error: float
    date_error: float
    threshold: float
    rating_width: float
    day_width: float


@brief
class _Tally(NamedTuple):
    """Outputs of the compiled functions, per target."""

    best: NDArray[np.int64]
    records: NDArray[np.int64]
    n_users: NDArray[np.int64]
    includes_target: NDArray[np.bool_]


@compiled()
def _match_targets(inputs: _MatchInputs, tally: _Tally, first: int, last: int) -> None:
    """Intersect the lists of each target's known items, and count the matches."""
    room = np.empty(inputs.sizes.size, np.int32)
    for target in range(first, last):
        start, end = inputs.known_indptr[target], inputs.known_indptr[target + 1]
        matching = room[: _list_carriers(inputs, start, end, room)]
        _count(inputs, target, matching[: _keep_agreeing(inputs, start, end, matching)], tally)


@compiled()
def _list_carriers(inputs: _MatchInputs, start: int, end: int, room: NDArray[Any]) -> int:
    """List the records that have the first known item (all if none is known); return how many."""
    if start == end:
        for record in range(room.size):
            room[record] = record
        return room.size
    item = inputs.known_items[start]
    carriers = inputs.records[inputs.indptr[item] : inputs.indptr[item + 1]]
    room[: carriers.size] = carriers
    return carriers.size


@compiled()
def _keep_agreeing(inputs: _MatchInputs, start: int, end: int, matching: NDArray[Any]) -> int:
    """Move the records that agree with all entries to the front; return how many."""
    n_matching = matching.size
    for entry in range(start, end):
        item = inputs.known_items[entry]
        at, until = inputs.indptr[item], inputs.indptr[item + 1]
        n_kept = 0
        for place in range(n_matching):
            record = matching[place]
            # Both lists ascend, so the search continues from its last position.
            at = _find(inputs.records, at, until, record)
            if at == until:
                break
            if inputs.records[at] == record and _agrees(inputs, entry, at):
                matching[n_kept] = record
                n_kept += 1
        n_matching = n_kept
    return n_matching


@compiled()
def _agrees(inputs: _MatchInputs, entry: int, at: int) -> bool:
    """Return whether a value's similarity to the known rating and date reaches the threshold."""
    similarity, n_compared = 0.0, 0
    if inputs.known_values.size:
        apart = abs(inputs.known_values[entry] - inputs.levels[inputs.codes[at]])
        similarity += math.exp(-max(0.0, apart - inputs.rating_error) / inputs.rating_width)
        n_compared += 1
    if inputs.known_days.size:
        n_days = abs(inputs.known_days[entry] - inputs.days[at])
        similarity += math.exp(-max(0.0, n_days - inputs.date_error) / inputs.day_width)
        n_compared += 1
    return similarity >= inputs.threshold * n_compared


@compiled()
def _count(inputs: _MatchInputs, target: int, matching: NDArray[Any], tally: _Tally) -> None:
    """Count the matching records within the known bounds, and their users."""
    for record in matching:
        if _fits(inputs, target, record):
            tally.records[target] += 1
            tally.n_users[target] += inputs.sizes[record]
            tally.includes_target[target] |= record == inputs.target_records[target]
            tally.best[target] = record if tally.records[target] == 1 else -1


@compiled()
def _find(records: NDArray[Any], start: int, end: int, record: int) -> int:
    """Bisect an ascending list from `start` for the first element not below `record`."""
    while start < end:
        middle = (start + end) // 2
        if records[middle] < record:
            start = middle + 1
        else:
            end = middle
    return start


# Records scored at a time: their scores should fit in a core's cache.
_BLOCK = 1 << 15
# With at most this many levels, the points of each are tabulated first.
_FEW_LEVELS = 256
# Lower bound of a known item's points, so that a score of 0 means that the record has none of the
# items, even where exp(-distance) underflows a float32.
_LEAST = float(np.finfo(np.float32).tiny)

# Rules for the points of a value at some distance from the known rating.
DECAY, WITHIN, BELL = 0, 1, 2
# Points of a disagreement, which `floor` replaces; sums with others stay below half of it.
NEVER = -1e30
_LOST = NEVER / 2
_EMPTY = np.empty(0, np.float32)


@brief
class Points(NamedTuple):
    """Points of an attack for a known item that a record has.

    An item of weight w, whose value is `apart` points and `n` days off, gives ``rating points + w *
    days[n] + bonus[record]``, or ``floor + bonus[record]`` if one of them is `NEVER`; and never
    less than the smallest positive number.
    """

    # The rating points. `DECAY`: ``w * exp(-apart / width)``, or w if the adversary knows neither
    # ratings nor dates. `WITHIN`: `agree` up to `width` apart, `NEVER` beyond. `BELL`: ``agree -
    # (apart / width)² / 2``, but not below `floor`. The latter two give `agree` if ratings are
    # unknown.
    rule: int
    # Weight of each known entry
    weights: NDArray[np.float32]
    width: float
    agree: float
    floor: float
    # By the number of days apart; empty if dates are unknown
    days: NDArray[np.float32]
    # Empty for none
    bonus: NDArray[np.float32]
    # The unit of eccentricity and likelihood; 0: the standard deviation of each target's scores
    sigma: float


def search(
    candidates: Candidates,
    knowledge: Knowledge,
    record_of: NDArray[np.int64],
    points: Points,
    threads: int,
) -> ScoredGuesses:
    """Score the candidates for every target; see `ScoreboardRH.attack`."""
    query = Query(knowledge, records_of_target(candidates, knowledge, record_of), points.weights)
    work = partial(_score, points=points._replace(weights=_EMPTY))
    return ScoredGuesses(**Sheet(*candidates.search(work, query, threads))._asdict())


def search_without(
    candidates: Candidates,
    knowledge: Knowledge,
    record_of: NDArray[np.int64],
    points: Points,
    threads: int,
) -> NDArray[np.float64]:
    """Return each target's eccentricity in a table without their own record."""
    query = Query(knowledge, records_of_target(candidates, knowledge, record_of), points.weights)
    work = partial(_find_leads, points=points._replace(weights=_EMPTY))
    (leads,) = candidates.search(work, query, threads)
    return leads


def _score(candidates: Candidates, query: Query, threads: int, points: Points) -> Sheet:
    sheet = Sheet.empty(query.target_records.size)
    work = partial(_score_targets, _gather(candidates, query, points), query.target_records, sheet)
    run_in_chunks(work, query.target_records.size, _CHUNK, threads, "Attacking")
    return sheet


def _find_leads(
    candidates: Candidates, query: Query, threads: int, points: Points
) -> tuple[NDArray[np.float64]]:
    leads = np.empty(query.target_records.size)
    work = partial(_find_leads_of, _gather(candidates, query, points), query.target_records, leads)
    run_in_chunks(work, leads.size, _CHUNK, threads, "Attacking")
    return (leads,)


def records_of_target(
    candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return each target's own record (-1 for none), after checking items and records."""
    target_records = np.asarray(record_of, np.int64)[knowledge.targets]
    _check_positions("an item", knowledge.items, 0, candidates.n_items)
    _check_positions("a record", target_records, -1, candidates.n_records)
    return target_records


def longest_span(candidates: Candidates, knowledge: Knowledge) -> int:
    """Return the most days that a record and the knowledge can be apart; -1 without dates."""
    ends = candidates.day_ends
    if ends is None or knowledge.days is None or not knowledge.days.size:
        return -1
    first, last = ends
    return max(last, int(knowledge.days.max())) - min(first, int(knowledge.days.min()))


def _check_positions(what: str, positions: NDArray[Any], least: int, end: int) -> None:
    if positions.size and not least <= positions.min() <= positions.max() < end:
        raise RecveilError(
            f"{what} has the position {positions.min()} or {positions.max()}; expected {least} to "
            f"{end - 1}; the knowledge must be about the same items and users as the candidates",
            code="argument.value",
        )


@brief
class _ScoreInputs(NamedTuple):
    """Inputs of the compiled functions; what is not known is empty."""

    indptr: NDArray[np.int64]
    records: NDArray[np.int32]
    codes: NDArray[Any]
    levels: NDArray[np.float64]
    days: NDArray[np.int32]
    sizes: NDArray[np.int64]  # empty if each record has one user
    activity: NDArray[np.int64]
    first_days: NDArray[np.int32]
    n_records: int
    n_users: int
    known_indptr: NDArray[np.int64]
    known_items: NDArray[np.int32]
    known_values: NDArray[np.float32]
    known_days: NDArray[np.int32]
    known_activity: NDArray[np.float64]
    known_first_days: NDArray[np.int64]
    # The fields of `Points`; a nested tuple would add reference counting to the threads.
    rule: int
    weights: NDArray[np.float32]
    width: float
    agree: float
    floor: float
    day_points: NDArray[np.float32]
    bonus: NDArray[np.float32]
    sigma: float


def _bounds(found: Candidates, known: Knowledge) -> dict[str, NDArray[Any]]:
    """Return the known bounds on a target's record, and these figures of each record."""
    bounds, first_days = known.first_days, np.empty(0, np.int32)
    if bounds is None or found.days is None:
        bounds = np.empty((0, 2), np.int64)
    else:
        first_days = found.first_days
    return {
        "activity": found.activity,
        "first_days": first_days,
        "known_activity": np.empty((0, 2)) if known.activity is None else known.activity,
        "known_first_days": bounds,
    }


def _gather(found: Candidates, query: Query, points: Points) -> _ScoreInputs:
    known, weights = query.knowledge, query.weights
    return _ScoreInputs(
        indptr=found.indptr,
        records=found.records,
        codes=found.codes,
        levels=found.levels,
        days=np.empty(0, np.int32) if found.days is None else found.days,
        sizes=np.empty(0, np.int64) if (found.sizes == 1).all() else found.sizes,
        n_records=found.n_records,
        n_users=found.n_users,
        known_indptr=known.indptr,
        known_items=known.items,
        known_values=np.empty(0, np.float32) if known.values is None else known.values,
        known_days=np.empty(0, np.int32) if known.days is None else known.days,
        **_bounds(found, known),
        rule=points.rule,
        weights=_EMPTY if weights is None else weights,
        width=points.width,
        agree=points.agree,
        floor=points.floor,
        day_points=points.days,
        bonus=points.bonus,
        sigma=points.sigma,
    )


@brief
class _Board(NamedTuple):
    """Working space of one thread."""

    scores: NDArray[np.float32]  # of one block of records; zero between blocks
    listed: NDArray[np.int32]  # all other records that score; one more, to write ahead
    listed_scores: NDArray[np.float32]


@compiled()
def _score_targets(
    search: _ScoreInputs, record: NDArray[Any], sheet: Sheet, first: int, end: int
) -> None:
    board = _empty_board(search)
    for target in range(first, end):
        n_listed, score = _list_scores(search, target, record[target], board)
        listed, scores = board.listed[:n_listed], board.listed_scores[:n_listed]
        guess(search, listed, scores, record[target], score, target, sheet)


@compiled()
def _find_leads_of(
    search: _ScoreInputs, record: NDArray[Any], leads: NDArray[Any], first: int, end: int
) -> None:
    board = _empty_board(search)
    for target in range(first, end):
        n_listed, _ = _list_scores(search, target, record[target], board)
        listed, scores = board.listed[:n_listed], board.listed_scores[:n_listed]
        leads[target] = lead_of_others(search, listed, scores, record[target])


@compiled()
def _empty_board(search: _ScoreInputs) -> _Board:
    room = search.n_records + 1
    return _Board(
        np.zeros(_BLOCK, np.float32), np.empty(room, np.int32), np.empty(room, np.float32)
    )


@compiled()
def _list_scores(
    search: _ScoreInputs, target: int, record: int, board: _Board
) -> tuple[int, float]:
    """List the positive scores of other records; return how many, and the target's own score."""
    start, stop = search.known_indptr[target], search.known_indptr[target + 1]
    items = search.known_items[start:stop]
    heads, ends = search.indptr[items], search.indptr[items + 1]
    rows = _tabulate_ratings(search, start, stop)
    n_listed, record_score = np.uint64(0), 0.0
    while True:
        base = _lowest_head(search.records, heads, ends)
        if base < 0:
            return int(n_listed), record_score
        firsts = heads.copy()
        for row in range(items.size):
            some = search.records[firsts[row] : ends[row]]
            heads[row] += np.searchsorted(some, base + _BLOCK)
            _add_item(search, start + row, firsts[row], heads[row], base, rows[row], board)
        if base <= record < base + _BLOCK:
            if _fits(search, target, record):
                record_score = float(board.scores[record - base])
            board.scores[record - base] = 0  # so that it is not listed among the others
        n_listed = _list_block(search, target, base, firsts, heads, board, n_listed)


@compiled()
def _lowest_head(records: NDArray[Any], heads: NDArray[Any], ends: NDArray[Any]) -> int:
    """Return the lowest next record of the lists; -1 if all lists are at their ends."""
    lowest = -1
    for row in range(heads.size):
        if heads[row] < ends[row]:
            record = int(records[heads[row]])
            lowest = record if lowest < 0 or record < lowest else lowest
    return lowest


@compiled()
def _rating_points(search: _ScoreInputs, weight: float, known: float, value: float) -> float:
    """Return the points of a value, without dates; `known` is nan if ratings are unknown."""
    if search.rule == DECAY:
        if math.isnan(known):
            return max(0.0 if search.day_points.size else weight, _LEAST)
        return max(weight * math.exp(-abs(known - value) / search.width), _LEAST)
    if math.isnan(known):
        return search.agree
    apart = abs(known - value) / search.width
    if search.rule == WITHIN:
        return search.agree if apart <= 1.0 else NEVER
    return max(search.agree - apart**2 / 2, search.floor)


@compiled()
def _known_value(search: _ScoreInputs, entry: int) -> float:
    return search.known_values[entry] if search.known_values.size else math.nan


@compiled()
def _tabulate_ratings(search: _ScoreInputs, start: int, stop: int) -> NDArray[Any]:
    """Tabulate the points of each level per known item; no columns if there are many levels."""
    n_levels = search.levels.size if search.levels.size <= _FEW_LEVELS else 0
    rows = np.empty((stop - start, n_levels), np.float32)
    for entry in range(start, stop):
        weight, value = search.weights[entry], _known_value(search, entry)
        for level in range(n_levels):
            rows[entry - start, level] = _rating_points(search, weight, value, search.levels[level])
    return rows


@compiled()
def _add_item(
    search: _ScoreInputs,
    entry: int,
    head: int,
    end: int,
    base: int,
    row: NDArray[Any],
    board: _Board,
) -> None:
    """Add the points of one known item to the records of a block that have it."""
    weight, value = search.weights[entry], _known_value(search, entry)
    day = search.known_days[entry] if search.day_points.size else 0
    lost, floor, least = np.float32(_LOST), np.float32(search.floor), np.float32(_LEAST)
    has_days, has_bonus = search.day_points.size > 0, search.bonus.size > 0
    # Unsigned indices spare numba the check for negative ones, which would double the time.
    for at in range(np.uint64(head), np.uint64(end)):
        code = search.codes[at]
        if row.size:
            gained = row[code]
        else:
            gained = np.float32(_rating_points(search, weight, value, search.levels[code]))
        if has_days:
            gained += weight * search.day_points[np.uint64(abs(search.days[at] - day))]
        if has_bonus:
            gained = floor if gained < lost else gained
            gained = max(gained + search.bonus[np.uint64(search.records[at])], least)
        place = np.uint64(search.records[at] - base)
        board.scores[place] += gained


@compiled()
def _list_block(
    search: _ScoreInputs,
    target: int,
    base: int,
    firsts: NDArray[Any],
    ends: NDArray[Any],
    board: _Board,
    n_listed: np.uint64,
) -> np.uint64:
    """Move the scores of a block from the board to the list; return the new length of the list."""
    length = min(_BLOCK, search.n_records - base)
    all_places = 4 * (ends - firsts).sum() > length  # then it is faster to scan all of them
    if all_places:
        firsts, ends = np.zeros(1, np.int64), np.full(1, length)
    for row in range(firsts.size):
        for at in range(np.uint64(firsts[row]), np.uint64(ends[row])):
            place = at if all_places else np.uint64(search.records[at] - base)
            record = base + np.int64(place)
            # Branch-free: if the record does not score, the next one overwrites this entry.
            board.listed[n_listed], board.listed_scores[n_listed] = record, board.scores[place]
            scores = board.scores[place] > 0 and _fits(search, target, record)
            n_listed += np.uint64(scores)
            board.scores[place] = 0
    return n_listed


@compiled()
def _fits(search: Any, target: int, record: int) -> bool:
    """Return whether a record's number of ratings and first day are within the known bounds."""
    if search.known_activity.size:
        fewest, most = search.known_activity[target]
        if not fewest <= search.activity[record] <= most:
            return False
    if search.known_first_days.size:
        earliest, latest = search.known_first_days[target]
        return earliest <= search.first_days[record] <= latest
    return True


@dataclass(frozen=True)
class ScoreboardRH:
    """Scores each record by its fit to what is known, with more weight on rare items.

    The score of a record is the sum over the known items that it has of ``wt(i) * (exp(-|rating
    difference| / rating_width) + exp(-|day difference| / day_width))`` with ``wt(i) = 1 /
    log(support)``. Unknown ratings or dates are left out of the sum; if both are unknown, an item
    counts its weight.

    Parameters
    ----------
    rating_width : float
        ρ0, in rating points.
    day_width : float
        d0, in days.
    threads : int
        Does not change the result.

    Notes
    -----
    Source: Narayanan & Shmatikov, sections 4 and 5. Item counts below 2 count as 2. σ is the
    population standard deviation over all users' records, including those with score 0; a record of
    s users counts s times. Identical records score bit-equal.
    """

    name: ClassVar[str] = "scoreboard-rh"

    rating_width: float = RATING_WIDTH
    day_width: float = DAY_WIDTH
    threads: int = 2

    @classmethod
    def of(cls, adversary: Adversary) -> Self:
        """Return the attack with an adversary's decision parameters."""
        return cls(rating_width=adversary.rating_width, day_width=adversary.day_width)

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> ScoredGuesses:
        """Score every target against the candidates.

        Parameters
        ----------
        candidates : Candidates
        knowledge : Knowledge
            Its items are positions in the candidates' list of items.
        record_of : ndarray of int64, shape (n_users,)
            The record of each user, to evaluate the guesses; -1 if they have none.

        Raises
        ------
        RecveilError
            If an item of the knowledge, or a record of `record_of`, is out of range.

        Examples
        --------
        >>> from recveil.attacks import Adversary, choose_targets, draw_knowledge
        >>> from recveil.datasets import make_ratings
        >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
        >>> known = draw_knowledge(ratings, Adversary(known=4), choose_targets(50, 5, seed=0))
        >>> guesses = ScoreboardRH().attack(
        ...     Candidates.from_ratings(ratings), known, np.arange(50)
        ... )
        >>> guesses.best == known.targets  # one of the five has too few ratings
        array([ True,  True,  True,  True])
        """
        records_of_target(candidates, knowledge, record_of)  # checks the positions
        support = candidates.support[knowledge.items]
        points = self._points(candidates, knowledge, support)
        return search(candidates, knowledge, record_of, points, self.threads)

    def control(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Attack every target in a table without their own record: the control.

        The best record there always belongs to another user. Item counts, and so the weights, are
        those of the table without the record.

        Parameters
        ----------
        candidates, knowledge, record_of
            As in `attack`. Nothing is removed for a target without a record.

        Returns
        -------
        ndarray of float64, shape (n_targets,)
            The eccentricity of the best guess.

        Examples
        --------
        >>> from recveil.attacks import Adversary, draw_knowledge
        >>> from recveil.ratings import Ratings
        >>> ratings = Ratings.from_columns([1, 1, 2, 3], list("abab"), [5, 3, 5, 3])
        >>> known = draw_knowledge(ratings, Adversary(known=2), np.array([0]))
        >>> ScoreboardRH().control(Candidates.from_ratings(ratings), known, np.arange(3))
        array([0.])
        """
        record = records_of_target(candidates, knowledge, record_of)
        of_entry = np.repeat(record, np.diff(knowledge.indptr))
        leaving = candidates.sizes[of_entry] * candidates.carries(knowledge.items, of_entry)
        support = candidates.support[knowledge.items] - leaving
        points = self._points(candidates, knowledge, support)
        return search_without(candidates, knowledge, record_of, points, self.threads)

    def _points(
        self, candidates: Candidates, knowledge: Knowledge, support: NDArray[np.int64]
    ) -> Points:
        """Return the points of each known item; `support` is that of each entry."""
        days = np.arange(longest_span(candidates, knowledge) + 1)
        return Points(
            rule=DECAY,
            weights=(1 / np.log(np.maximum(support, 2))).astype(np.float32),
            width=float(self.rating_width),
            agree=0.0,
            floor=0.0,
            days=np.exp(-days / self.day_width).astype(np.float32),
            bonus=_EMPTY,
            sigma=0.0,
        )
