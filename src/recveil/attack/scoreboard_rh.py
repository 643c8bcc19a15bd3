"""Scoreboard-RH: the robust attack, which forgives wrong entries and favours rare items."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.knowledge import Knowledge
from recveil.attack.statistics import (
    count_people,
    deviation,
    find_top,
    sum_likelihoods,
    sum_up,
)
from recveil.compiled import compiled
from recveil.errors import RecveilError
from recveil.progress import track

# Targets that one thread takes at a time.
_CHUNK = 256
# Records that are scored at a time: their scores should stay in a core's own cache.
_BLOCK = 1 << 15
# Up to so many labels, what each is worth is tabulated before the records are looked at.
_FEW_LEVELS = 256
# The least that a known item adds to a score. A score of 0 thereby means that no item is there,
# even where exp(-distance) is too small for a float32.
_LEAST = float(np.finfo(np.float32).tiny)


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

        Raises
        ------
        RecveilError
            If the knowledge names an item, or `record_of` a record, that cannot be there.

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
        own = np.asarray(record_of, np.int64)[knowledge.targets]
        _check_positions("an item", knowledge.items, 0, candidates.indptr.size - 1)
        _check_positions("a record", own, -1, candidates.n_records)
        search = _prepare(candidates, knowledge, self.rating_width, self.day_width)
        guesses = Guesses(
            *(np.empty(own.size, np.int64), np.empty(own.size, np.int64), np.empty(own.size)),
            *(np.empty(own.size, np.bool_), np.empty(own.size), np.empty(own.size)),
        )

        def look_for(first: int) -> None:
            _look_for(search, own, first, min(first + _CHUNK, own.size), guesses)

        starts = range(0, own.size, _CHUNK)
        with ThreadPoolExecutor(self.threads) as pool:
            for _ in track(pool.map(look_for, starts), "Attacking", len(starts)):
                pass
        return guesses


def _check_positions(what: str, positions: NDArray[Any], least: int, end: int) -> None:
    if positions.size and not least <= positions.min() <= positions.max() < end:
        raise RecveilError(
            f"{what} has the position {positions.min()} or {positions.max()}; expected {least} to "
            f"{end - 1}; the knowledge must be about the same items and people as the candidates"
        )


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
    weights: NDArray[np.float32]  # of the items
    rating_width: float
    by_value: bool
    day_points: NDArray[np.float32]  # by the number of days apart; empty if dates are unknown


def _prepare(found: Candidates, known: Knowledge, rating_width: float, day_width: float) -> _Search:
    return _Search(
        *(found.indptr, found.records, found.codes, found.levels),
        np.empty(0, np.int32) if found.days is None else found.days,
        np.empty(0, np.int64) if (found.sizes == 1).all() else found.sizes,
        *(found.activity, found.n_records, found.n_people),
        *(known.indptr, known.items),
        np.empty(0, np.float32) if known.values is None else known.values,
        np.empty(0, np.int32) if known.days is None else known.days,
        np.empty((0, 2)) if known.activity is None else known.activity,
        (1 / np.log(np.maximum(found.support, 2))).astype(np.float32),
        *(float(rating_width), known.values is not None),
        _tabulate_days(found, known, day_width),
    )


def _tabulate_days(
    candidates: Candidates, knowledge: Knowledge, day_width: float
) -> NDArray[np.float32]:
    """Tabulate exp(-days / d0) for all differences there can be; empty if dates are unknown."""
    days = [known for known in (candidates.days, knowledge.days) if known is not None]
    if len(days) < 2 or not all(known.size for known in days):
        return np.empty(0, np.float32)
    span = max(int(known.max()) for known in days) - min(int(known.min()) for known in days)
    return np.exp(-np.arange(span + 1) / day_width).astype(np.float32)


class _Board(NamedTuple):
    """Working space of one thread."""

    scores: NDArray[np.float32]  # of one block of records; zero between blocks
    listed: NDArray[np.int32]  # all records of others that score; one more, to write ahead
    listed_scores: NDArray[np.float32]


@compiled()
def _look_for(search: _Search, own: NDArray[Any], first: int, end: int, guesses: Guesses) -> None:
    """Look for the targets from `first` to before `end`."""
    room = search.n_records + 1
    board = _Board(
        np.zeros(_BLOCK, np.float32),
        np.empty(room, np.int32),
        np.empty(room, np.float32),
    )
    for target in range(first, end):
        n_listed, score = _list_scores(search, target, own[target], board)
        listed, scores = board.listed[:n_listed], board.listed_scores[:n_listed]
        _guess(search, listed, scores, own[target], score, target, guesses)


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
    """Return what a record gains by its label, dates aside."""
    if search.by_value:
        points = weight * math.exp(-abs(known - label) / search.rating_width)
    else:
        points = 0.0 if search.day_points.size else weight
    return max(points, _LEAST)


@compiled()
def _tabulate_ratings(search: _Search, start: int, stop: int) -> NDArray[Any]:
    """Tabulate what each label gains for each known item; no columns if there are many labels."""
    n_levels = search.levels.size if search.levels.size <= _FEW_LEVELS else 0
    rows = np.empty((stop - start, n_levels), np.float32)
    for entry in range(start, stop):
        weight = search.weights[search.known_items[entry]]
        value = search.known_values[entry] if search.by_value else 0.0
        for level in range(n_levels):
            label = search.levels[level]
            rows[entry - start, level] = _rating_points(search, weight, value, label)
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
    weight = search.weights[search.known_items[entry]]
    value = search.known_values[entry] if search.by_value else 0.0
    day = search.known_days[entry] if search.day_points.size else 0
    # Unsigned places spare numba the check for negative ones, which would double the time.
    for at in range(np.uint64(head), np.uint64(end)):
        code = search.codes[at]
        if row.size:
            gained = row[code]
        else:
            gained = np.float32(_rating_points(search, weight, value, search.levels[code]))
        if search.day_points.size:
            gained += weight * search.day_points[np.uint64(abs(search.days[at] - day))]
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
    """Tell whether a record is as long as the adversary heard, if he and the release tell."""
    if search.known_activity.size == 0:
        return True
    low, high = search.known_activity[target]
    return low <= search.activity[record] <= high


@compiled()
def _guess(
    search: _Search,
    listed: NDArray[Any],
    scores: NDArray[Any],
    own: int,
    own_score: float,
    target: int,
    guesses: Guesses,
) -> None:
    """Turn one target's scores into a row of `Guesses`."""
    sizes, n_people = search.sizes, search.n_people
    own_size = 0 if own < 0 else count_people(sizes, own)
    total, squares, n_scoring = sum_up(scores, listed, sizes)
    n_zero = n_people - own_size - n_scoring
    top, second, best, n_top = find_top(scores, listed, sizes)
    for _ in range(min(2, search.n_records - (own >= 0) - listed.size)):
        if top < 0.0:  # records with score 0 may tie; only the one record there is can win with it
            top, best, n_top = 0.0, 0, n_zero
        elif second < 0.0:
            second = 0.0
    sigma = deviation(total, squares, n_people - own_size)
    guesses.eccentricity_without[target] = _eccentricity(top, second, sigma)

    score = -1.0 if own < 0 else own_score
    highest, next_highest = max(score, top), min(max(second, score), top)
    sigma = deviation(total + own_size * own_score, squares + own_size * own_score**2, n_people)
    guesses.best[target] = own if score > top else best if top > max(second, score) else -1
    guesses.tied_people[target] = n_top * (top == highest) + own_size * (score == highest)
    guesses.eccentricity[target] = _eccentricity(highest, next_highest, sigma)
    guesses.own_is_top[target] = own >= 0 and score == highest
    if own < 0:
        guesses.bits[target] = np.nan
    elif sigma == 0.0:
        guesses.bits[target] = math.log2(n_people)
    else:
        mass = sum_likelihoods(scores, listed, sizes, highest, sigma)
        mass += own_size * math.exp((score - highest) / sigma) + n_zero * math.exp(-highest / sigma)
        guesses.bits[target] = math.log2(mass) + (highest - score) / sigma / math.log(2.0)


@compiled()
def _eccentricity(top: float, second: float, sigma: float) -> float:
    """Return how far the first is ahead of the second; 0 if there are no two, or no differences."""
    return (top - second) / sigma if second >= 0.0 and sigma > 0.0 else 0.0
