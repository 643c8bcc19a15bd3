"""The ends and the step of a scale that nobody named: how many people they come from."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError, quoted
from recveil.ratings.ratings import Ratings
from recveil.ratings.scale import RatingScale, distinct

# What tables out there write where there is no rating.
_SENTINELS_BELOW = (-999.0, -99.0, -9.0, -1.0, 0.0)
_SENTINELS_ABOVE = (99.0, 999.0, 9999.0)
# Of a continuous scale: the outer part of its range that counts as its end.
_OUTER = 0.1
# With more levels than these, a scale is as good as continuous.
_MOST_LEVELS = 200


class Doubt(NamedTuple):
    """An end or step of an inferred scale that may be one person's, or no rating at all.

    Attributes
    ----------
    side : {"low", "high", "step", "word"}
    value : float
        The end; or a rating without which the step would be another one.
    people : int
        How many people used it; of a continuous scale, its outer tenth; of a step, how many gave
        any rating that asks for it.
    is_sentinel : bool
        Whether it looks like a mark for something else than a rating.
    word : str
        Of words that nobody named, one that few people gave.
    """

    side: str
    value: float
    people: int
    is_sentinel: bool
    word: str = ""

    def describe(self, k: int) -> str:
        """Say what is doubtful about it, in words."""
        used = f"{self.people:,} {'person' if self.people == 1 else 'people'} used it"
        if self.side == "word":
            who = "1 person" if self.people == 1 else f"{self.people:,} people"
            return f"its word {quoted(self.word, 40)} was given by {who}, fewer than {k}"
        if self.side == "step":
            whose = "1 person" if self.people == 1 else f"{self.people:,} people"
            return f"its step comes from ratings such as {self.value:g} of {whose}, fewer than {k}"
        if self.is_sentinel:
            return f"its {self.side} end {self.value:g} looks like a mark for no rating ({used})"
        return f"its {self.side} end is {self.value:g}, and {used}, fewer than {k}"


def doubts_of(ratings: Ratings, k: int) -> list[Doubt]:
    """Find ends and steps of an inferred scale that come from fewer than k people, or no ratings.

    An end that is one person's would publish their rating with the scale, and stretch everybody's
    predictions. Something looks like a mark for no rating if it is one of the usual ones (0, -1,
    99, ...) and lies more than a step away from all other ratings; or if it is 0 or -1, one step
    away, and more frequent than the rating beside it.

    Parameters
    ----------
    ratings : Ratings
    k : int
        Smallest group.

    Returns
    -------
    list of Doubt
        Empty if the scale was given. A step is told only where both ends are in order.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2, 3, 4], [7, 7, 7, 7], [1, 1, 5, 11.5])
    >>> doubts_of(ratings, 2)
    [Doubt(side='high', value=11.5, people=1, is_sentinel=False, word='')]
    """
    if not ratings.scale.inferred:
        return []
    if ratings.scale.words:
        return _doubtful_words(ratings, k)
    levels = distinct(ratings.values)
    found = []
    for side in ("low", "high"):
        people = count_people(ratings, side)
        marks = _is_sentinel(ratings.values, levels, side)
        if people < k or marks:
            end = ratings.scale.low if side == "low" else ratings.scale.high
            found.append(Doubt(side, end, people, marks))
    return found or _doubtful_step(ratings, levels, k)


def _doubtful_words(ratings: Ratings, k: int) -> list[Doubt]:
    """Find words that fewer than k people gave: published, they would tell of them."""
    users = ratings.user_positions()
    people = [
        int(np.unique(users[ratings.values == at]).size)
        for at in range(1, len(ratings.scale.words) + 1)
    ]
    named = enumerate(zip(ratings.scale.words, people, strict=True), 1)
    return [Doubt("word", float(at), n, False, word) for at, (word, n) in named if n < k]


def _doubtful_step(ratings: Ratings, levels: NDArray[np.float64], k: int) -> list[Doubt]:
    """Find out whether the scale would have another step without what fewer than k people gave."""
    common = _common(ratings, levels, k)
    if common.size < 2 or common.size == levels.size:
        return []
    wish = RatingScale.infer(common)
    if wish.step is None or wish.step == ratings.scale.step:
        return []
    steps = (levels - wish.low) / wish.step
    odd = levels[np.abs(steps - np.rint(steps)) > 1e-3]
    at_odd = np.flatnonzero(np.isin(ratings.values, odd.astype(np.float32)))
    people = np.unique(np.searchsorted(ratings.indptr, at_odd, side="right")).size
    return [Doubt("step", float(odd[0]), int(people), False)] if odd.size and people < k else []


def _common(ratings: Ratings, levels: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the levels that at least k people used; none, where there are too many to look."""
    if levels.size > _MOST_LEVELS:
        return levels[:0]
    is_common = [_used_by(ratings, np.float32(level), k) for level in levels]
    return levels[is_common]


def _used_by(ratings: Ratings, level: np.float32, k: int) -> bool:
    """Say whether at least k people gave a rating; of many, a part is enough to see it."""
    places = np.flatnonzero(ratings.values == level)
    for part in (places[:: max(1, places.size // (64 * k))], places):
        if np.unique(np.searchsorted(ratings.indptr, part, side="right")).size >= k:
            return True
    return False


def refuse_doubts(ratings: Ratings, k: int) -> None:
    """Raise a RecveilError for an end of an inferred scale that fewer than k people used.

    Examples
    --------
    >>> refuse_doubts(Ratings.from_columns([1, 2], [7, 7], [1, 5]), 2)
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: nobody named the scale, so that 1:5:4 comes from the ratings: ...
    """
    doubtful = doubts_of(ratings, k)
    if not doubtful:
        return
    if ratings.scale.words:
        raise RecveilError(
            f"nobody named the words, so that they come from the ratings: "
            f"{doubtful[0].describe(k)}; name those that may be told with words (--words), and "
            f"leave others out with drop_off_scale (--drop-off-scale)",
            code="scale.inferred",
        )
    wish = _suggest(ratings, k)
    raise RecveilError(
        f"nobody named the scale, so that {ratings.scale} comes from the ratings: "
        f"{doubtful[0].describe(k)}; name it with scale (--scale {wish}), and leave out what is "
        f"not on it, if that is no rating, with drop_off_scale (--drop-off-scale)",
        code="scale.inferred",
    )


def count_people(ratings: Ratings, side: str) -> int:
    """Count the people who used an end of the scale; of a continuous one, its outer tenth."""
    scale, values = ratings.scale, ratings.values
    width = (scale.step or 0.0) / 2 if scale.step else _OUTER * scale.range
    # The ends of a named scale may be beyond what ratings can be.
    low, high = np.float64(scale.low + width), np.float64(scale.high - width)
    at_end = values <= low if side == "low" else values >= high
    users = np.searchsorted(ratings.indptr, np.flatnonzero(at_end), side="right")
    return int(np.unique(users).size)


def _is_sentinel(values: NDArray[np.float32], levels: NDArray[np.float64], side: str) -> bool:
    if levels.size < 3:
        return False
    end, beside = levels[[0, 1]] if side == "low" else levels[[-1, -2]]
    if end not in (_SENTINELS_BELOW if side == "low" else _SENTINELS_ABOVE):
        return False
    rest = levels[1:] if side == "low" else levels[:-1]
    step = np.diff(rest).min()
    if abs(end - beside) > 1.5 * step:
        return True
    in_step = side == "low" and abs(abs(end - beside) - step) < 0.5 * step
    return bool(in_step and (values == end).sum() > (values == beside).sum())


def _suggest(ratings: Ratings, k: int) -> str:
    """Return the scale of those ratings that enough people gave; what to write if there is none."""
    levels = distinct(ratings.values)
    common = _common(ratings, levels, k)
    for side, at in (("low", 0), ("high", -1)):
        if common.size and common[at] == levels[at] and _is_sentinel(ratings.values, levels, side):
            common = np.delete(common, at)
    if common.size < 2:
        return "LOW:HIGH:STEP" if levels.size <= _MOST_LEVELS else "LOW:HIGH"
    return str(RatingScale.infer(common))
