"""Search: the engine of the scoring attacks, which adds up points over the lists of known items."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.guesses import ScoredGuesses, Sheet, guess, lead_of_others
from recveil.attack.knowledge import Knowledge
from recveil.attack.sought import Sought
from recveil.brief import brief
from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.progress import track
from recveil.threads import pool

# Targets that one thread takes at a time.
_CHUNK = 256
# Records that are scored at a time: their scores should stay in a core's own cache.
_BLOCK = 1 << 15
# Up to so many labels, what each is worth is tabulated before the records are looked at.
_FEW_LEVELS = 256
# The least that a known item adds to a score. A score of 0 thereby means that no item is there,
# even where exp(-distance) is too small for a float32.
_LEAST = float(np.finfo(np.float32).tiny)

# How a label that lies `apart` from the known rating earns its points.
DECAY, WITHIN, BELL = 0, 1, 2
# Points of what disagrees, which `floor` replaces; sums with others stay below half of it.
NEVER = -1e30
_LOST = NEVER / 2
_NOTHING = np.empty(0, np.float32)


@brief
class Points(NamedTuple):
    """What an attack gives for a known item that a record carries.

    An item of weight w, whose label is `apart` points and `n` days off, gives
    ``rating points + w * days[n] + bonus[record]``, or ``floor + bonus[record]`` if one of them is
    `NEVER`; and never less than the smallest positive number.

    Attributes
    ----------
    rule : int
        The rating points. `DECAY`: ``w * exp(-apart / width)``, or w if the adversary knows
        neither ratings nor dates. `WITHIN`: `agree` up to `width` apart, `NEVER` beyond.
        `BELL`: ``agree - (apart / width)² / 2``, but not below `floor`. The latter two give `agree`
        if ratings are unknown.
    weights : ndarray of float32, shape (n_entries,)
        Of each entry of the knowledge.
    width, agree, floor : float
    days : ndarray of float32, shape (n_days,)
        By the number of days apart; empty if dates are unknown.
    bonus : ndarray of float32, shape (n_records,)
        Empty for none.
    sigma : float
        The unit of eccentricity and likelihood; 0: the standard deviation of each target's scores.
    """

    rule: int
    weights: NDArray[np.float32]
    width: float
    agree: float
    floor: float
    days: NDArray[np.float32]
    bonus: NDArray[np.float32]
    sigma: float


def search(
    candidates: Candidates,
    knowledge: Knowledge,
    record_of: NDArray[np.int64],
    points: Points,
    threads: int,
) -> ScoredGuesses:
    """Score the candidates for every target; see `ScoreboardRH.attack`."""
    own = own_records(candidates, knowledge, record_of)
    work = partial(_sheet, points=points._replace(weights=_NOTHING))
    found = candidates.look(work, Sought(knowledge, own, points.weights), threads)
    return Sheet(*found).guesses()


def search_without(
    candidates: Candidates,
    knowledge: Knowledge,
    record_of: NDArray[np.int64],
    points: Points,
    threads: int,
) -> NDArray[np.float64]:
    """Return each target's eccentricity after their own record was taken out.

    The weights of `points` must be those of a table without it.
    """
    own = own_records(candidates, knowledge, record_of)
    work = partial(_leads, points=points._replace(weights=_NOTHING))
    (leads,) = candidates.look(work, Sought(knowledge, own, points.weights), threads)
    return leads


def _sheet(candidates: Candidates, sought: Sought, threads: int, points: Points) -> Sheet:
    sheet = Sheet.empty(sought.own.size)
    _run(_look_for, _gather(candidates, sought, points), sought.own, sheet, threads)
    return sheet


def _leads(
    candidates: Candidates, sought: Sought, threads: int, points: Points
) -> tuple[NDArray[np.float64]]:
    leads = np.empty(sought.own.size)
    _run(_look_without, _gather(candidates, sought, points), sought.own, leads, threads)
    return (leads,)


def _run(
    look_for: Callable[..., None],
    whole: "_Search",
    own: NDArray[np.int64],
    results: Any,
    threads: int,
) -> None:
    """Look for all targets, some in each thread; each writes its own part of the results."""

    def look_for_some(first: int) -> None:
        look_for(whole, own, first, min(first + _CHUNK, own.size), results)

    starts = range(0, own.size, _CHUNK)
    with pool(threads) as workers:
        for _ in track(workers.map(look_for_some, starts), "Attacking", len(starts)):
            pass


def own_records(
    candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return each target's own record, -1 for none; refuse items and records that are not there."""
    own = np.asarray(record_of, np.int64)[knowledge.targets]
    _check_positions("an item", knowledge.items, 0, candidates.indptr.size - 1)
    _check_positions("a record", own, -1, candidates.n_records)
    return own


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
            f"{end - 1}; the knowledge must be about the same items and people as the candidates",
            code="argument.value",
        )


@brief
class _Search(NamedTuple):
    """All that the compiled functions read; what is not known is empty."""

    indptr: NDArray[np.int64]
    records: NDArray[np.int32]
    codes: NDArray[Any]
    levels: NDArray[np.float64]
    days: NDArray[np.int32]
    sizes: NDArray[np.int64]  # empty if one person stands behind each record
    activity: NDArray[np.int64]
    n_records: int
    n_people: int
    known_indptr: NDArray[np.int64]
    known_items: NDArray[np.int32]
    known_values: NDArray[np.float32]
    known_days: NDArray[np.int32]
    known_activity: NDArray[np.float64]
    # What follows is `Points`; a tuple in a tuple would cost the threads their counting of arrays.
    rule: int
    weights: NDArray[np.float32]
    width: float
    agree: float
    floor: float
    day_points: NDArray[np.float32]
    bonus: NDArray[np.float32]
    sigma: float


def _gather(found: Candidates, sought: Sought, points: Points) -> _Search:
    known, weights = sought.knowledge, sought.weights
    return _Search(
        indptr=found.indptr,
        records=found.records,
        codes=found.codes,
        levels=found.levels,
        days=np.empty(0, np.int32) if found.days is None else found.days,
        sizes=np.empty(0, np.int64) if (found.sizes == 1).all() else found.sizes,
        activity=found.activity,
        n_records=found.n_records,
        n_people=found.n_people,
        known_indptr=known.indptr,
        known_items=known.items,
        known_values=np.empty(0, np.float32) if known.values is None else known.values,
        known_days=np.empty(0, np.int32) if known.days is None else known.days,
        known_activity=np.empty((0, 2)) if known.activity is None else known.activity,
        rule=points.rule,
        weights=_NOTHING if weights is None else weights,
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
    listed: NDArray[np.int32]  # all records of others that score; one more, to write ahead
    listed_scores: NDArray[np.float32]


@compiled()
def _look_for(search: _Search, own: NDArray[Any], first: int, end: int, sheet: Sheet) -> None:
    """Look for the targets from `first` to before `end`."""
    board = _empty_board(search)
    for target in range(first, end):
        n_listed, score = _list_scores(search, target, own[target], board)
        listed, scores = board.listed[:n_listed], board.listed_scores[:n_listed]
        guess(search, listed, scores, own[target], score, target, sheet)


@compiled()
def _look_without(
    search: _Search, own: NDArray[Any], first: int, end: int, leads: NDArray[Any]
) -> None:
    """Look for some targets whose records were taken out, and write who leads by how much."""
    board = _empty_board(search)
    for target in range(first, end):
        n_listed, _ = _list_scores(search, target, own[target], board)
        listed, scores = board.listed[:n_listed], board.listed_scores[:n_listed]
        leads[target] = lead_of_others(search, listed, scores, own[target])


@compiled()
def _empty_board(search: _Search) -> _Board:
    room = search.n_records + 1
    return _Board(
        np.zeros(_BLOCK, np.float32), np.empty(room, np.int32), np.empty(room, np.float32)
    )


@compiled()
def _list_scores(search: _Search, target: int, own: int, board: _Board) -> tuple[int, float]:
    """List the scores of other people's records that are not 0; return how many, and the own."""
    start, stop = search.known_indptr[target], search.known_indptr[target + 1]
    items = search.known_items[start:stop]
    heads, ends = search.indptr[items], search.indptr[items + 1]
    rows = _tabulate_ratings(search, start, stop)
    n_listed, own_score = np.uint64(0), 0.0
    while True:
        base = _lowest_head(search.records, heads, ends)
        if base < 0:
            return int(n_listed), own_score
        firsts = heads.copy()
        for row in range(items.size):
            some = search.records[firsts[row] : ends[row]]
            heads[row] += np.searchsorted(some, base + _BLOCK)
            _add_item(search, start + row, firsts[row], heads[row], base, rows[row], board)
        if base <= own < base + _BLOCK:
            if _fits(search, target, own):
                own_score = float(board.scores[own - base])
            board.scores[own - base] = 0  # so that it is not listed among the others
        n_listed = _list_block(search, target, base, firsts, heads, board, n_listed)


@compiled()
def _lowest_head(records: NDArray[Any], heads: NDArray[Any], ends: NDArray[Any]) -> int:
    """Return the lowest record that stands next in a list; -1 if all lists are at their ends."""
    lowest = -1
    for row in range(heads.size):
        if heads[row] < ends[row]:
            record = int(records[heads[row]])
            lowest = record if lowest < 0 or record < lowest else lowest
    return lowest


@compiled()
def _rating_points(search: _Search, weight: float, known: float, label: float) -> float:
    """Return what a record gains by its label, dates aside; `known` is nan if ratings are not."""
    if search.rule == DECAY:
        if math.isnan(known):
            return max(0.0 if search.day_points.size else weight, _LEAST)
        return max(weight * math.exp(-abs(known - label) / search.width), _LEAST)
    if math.isnan(known):
        return search.agree
    apart = abs(known - label) / search.width
    if search.rule == WITHIN:
        return search.agree if apart <= 1.0 else NEVER
    return max(search.agree - apart**2 / 2, search.floor)


@compiled()
def _known_value(search: _Search, entry: int) -> float:
    return search.known_values[entry] if search.known_values.size else math.nan


@compiled()
def _tabulate_ratings(search: _Search, start: int, stop: int) -> NDArray[Any]:
    """Tabulate what each label gains for each known item; no columns if there are many labels."""
    n_levels = search.levels.size if search.levels.size <= _FEW_LEVELS else 0
    rows = np.empty((stop - start, n_levels), np.float32)
    for entry in range(start, stop):
        weight, value = search.weights[entry], _known_value(search, entry)
        for level in range(n_levels):
            rows[entry - start, level] = _rating_points(search, weight, value, search.levels[level])
    return rows


@compiled()
def _add_item(
    search: _Search,
    entry: int,
    head: int,
    end: int,
    base: int,
    row: NDArray[Any],
    board: _Board,
) -> None:
    """Add the points of one known item to the records of a block that carry it."""
    weight, value = search.weights[entry], _known_value(search, entry)
    day = search.known_days[entry] if search.day_points.size else 0
    lost, floor, least = np.float32(_LOST), np.float32(search.floor), np.float32(_LEAST)
    has_days, has_bonus = search.day_points.size > 0, search.bonus.size > 0
    # Unsigned places spare numba the check for negative ones, which would double the time.
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
    search: _Search,
    target: int,
    base: int,
    firsts: NDArray[Any],
    ends: NDArray[Any],
    board: _Board,
    n_listed: np.uint64,
) -> np.uint64:
    """Move the scores of a block from the board to the list; return the new length of that."""
    length = min(_BLOCK, search.n_records - base)
    all_places = 4 * (ends - firsts).sum() > length  # then it is faster to look at all of them
    if all_places:
        firsts, ends = np.zeros(1, np.int64), np.full(1, length)
    for row in range(firsts.size):
        for at in range(np.uint64(firsts[row]), np.uint64(ends[row])):
            place = at if all_places else np.uint64(search.records[at] - base)
            record = base + np.int64(place)
            # Without a branch: if nobody scores, the next one overwrites what is written here.
            board.listed[n_listed], board.listed_scores[n_listed] = record, board.scores[place]
            scores = board.scores[place] > 0 and _fits(search, target, record)
            n_listed += np.uint64(scores)
            board.scores[place] = 0
    return n_listed


@compiled()
def _fits(search: _Search, target: int, record: int) -> bool:
    """Tell whether a record is as long as the adversary heard, if both are told."""
    if search.known_activity.size == 0:
        return True
    low, high = search.known_activity[target]
    return low <= search.activity[record] <= high
