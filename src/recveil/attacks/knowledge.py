"""What an adversary knows about each target, and its limits on a given table."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.adversary import Adversary
from recveil.attacks.statistics import Interval, wilson_interval
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.ratings import in_likes
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief


@brief
class UserRowsOnly(NamedTuple):
    """The rows of some users: item and position in the table of each rating, in compressed rows."""

    indptr: NDArray[np.int64]
    places: NDArray[np.int64]
    items: NDArray[np.int32]


def target_rows(ratings: Ratings, users: NDArray[np.int64]) -> UserRowsOnly:
    """Return the rows of some users; a remote table is read once."""
    lengths = ratings.activity[users]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.repeat(ratings.indptr[users] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return UserRowsOnly(indptr, places, ratings.indices[places])


# Largest distance, in steps, of a stored float32 from its level of the scale.
_TOLERANCE = 1e-3


@brief
class World(NamedTuple):
    """Item counts and rating totals of all users, as a site publishes them."""

    # Number of users anywhere who rated each item, including the target
    raters: NDArray[np.int64]
    # Number of users anywhere
    n_users: int
    # Sum of the ratings of each item, including the target's; None with Spark, which infers no
    # membership
    totals: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, ratings: Ratings) -> Self:
        """Count a table of all users, whether they are in a release or not."""
        is_local = isinstance(ratings.values, np.ndarray)
        return cls(ratings.support, ratings.n_users, ratings.totals if is_local else None)


@brief
@dataclass(frozen=True, eq=False)
class Knowledge:
    """Known entries about each target, in compressed rows.

    Parameters
    ----------
    targets : ndarray of int64, shape (n_targets,)
        Positions of the targeted users; a target may be repeated.
    indptr : ndarray of int64, shape (n_targets + 1,)
        Target t has the entries ``indptr[t]:indptr[t + 1]``.
    items : ndarray of int32, shape (n_entries,)
        Positions of items.
    values : ndarray of float32, shape (n_entries,), or None
        Ratings as the adversary knows them; None if they know none.
    days : ndarray of int32, shape (n_entries,), or None
        Days since 1970-01-01; None if they know none.
    activity : ndarray of float64, shape (n_targets, 2), or None
        Bounds on the target's number of ratings.
    first_days : ndarray of int64, shape (n_targets, 2), or None
        Bounds on the day of the target's first rating.
    skipped : int
        Requested targets with too few ratings in the pool. They count as not re-identified.
    world : World or None
        Statistics of all users; None if unknown.
    """

    targets: NDArray[np.int64]
    indptr: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float32] | None
    days: NDArray[np.int32] | None
    activity: NDArray[np.float64] | None
    skipped: int
    world: World | None = None
    first_days: NDArray[np.int64] | None = None

    @property
    def requested(self) -> int:
        """Number of requested targets: the denominator of every rate."""
        return self.targets.size + self.skipped

    def only(self, places: NDArray[np.int64]) -> "Knowledge":
        """Return what is known of some of the targets; no skipped ones."""
        lengths = np.diff(self.indptr)[places]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(self.indptr[places] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return replace(
            self,
            targets=self.targets[places],
            indptr=indptr,
            items=self.items[entries],
            values=None if self.values is None else self.values[entries],
            days=None if self.days is None else self.days[entries],
            activity=None if self.activity is None else self.activity[places],
            first_days=None if self.first_days is None else self.first_days[places],
            skipped=0,
        )

    def rate(self, successes: float) -> Interval:
        """Return a share of the requested targets; nan if none of them could be attacked.

        A share of 0 with a narrow interval would look like safety, where nothing was tried.
        """
        return wilson_interval(successes, self.requested if self.targets.size else 0)


def choose_targets(n_users: int, n_targets: int | None, seed: int) -> NDArray[np.int64]:
    """Draw target users: all if `n_targets` is None or not below `n_users`.

    Raises
    ------
    RecveilError
        If `n_targets` is negative.

    Examples
    --------
    >>> choose_targets(5, 3, seed=0)
    array([2, 3, 4])
    """
    if n_targets is not None and n_targets < 0:
        raise RecveilError(
            f"n_targets is {n_targets}; expected at least 0, or None for all users",
            code="option.value",
        )
    if n_targets is None or n_targets >= n_users:
        return np.arange(n_users)
    return np.sort(np.random.default_rng(seed).choice(n_users, n_targets, replace=False))


def draw_knowledge(
    ratings: Ratings, adversary: Adversary, targets: NDArray[np.int64], seed: int = 0
) -> Knowledge:
    """Draw what the adversary knows about each target.

    The known items are drawn uniformly from the target's items in the pool. Of `known` entries, the
    last ones are wrong if fewer are `right`: with `wrong_kind` "value", both their rating and their
    date are beyond the errors; with "item", the target did not rate the item, and rating and date
    are those of a random rating.

    Parameters
    ----------
    ratings : Ratings
        The truth about the targets.
    adversary : Adversary
        An adversary who knows dates needs a table with times.
    targets : ndarray of int64
        User positions. Those with too few items in the pool are skipped and counted.
    seed : int
        Fixes all draws.

    Raises
    ------
    RecveilError
        If the adversary knows dates and the ratings have none, or no known value can be wrong.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=20, n_items=30, n_ratings=200, seed=1)
    >>> knowledge = draw_knowledge(ratings, Adversary(known=3), np.array([4, 7]), seed=2)
    >>> knowledge.indptr, knowledge.requested
    (array([0, 3, 6]), 2)
    """
    _check(ratings, adversary)
    rng = np.random.default_rng(seed)
    in_pool = _pool(ratings, adversary.outside_top)
    n_true = adversary.known if adversary.wrong_kind == "value" else adversary.n_right
    n_false = adversary.known - n_true
    rows = target_rows(ratings, targets)
    n_rated = np.add.reduceat(
        np.append(in_pool[rows.items], False), rows.indptr[:-1], dtype=np.int64
    ) * (np.diff(rows.indptr) > 0)
    able = (n_rated >= n_true) & (in_pool.sum() - n_rated >= n_false)
    # Even an adversary with only wrong entries draws their values from ratings.
    able &= ratings.n_ratings > 0
    attacked = targets[able]
    shape = (attacked.size, adversary.known)
    items, places = _draw_items(
        rng, np.flatnonzero(able), in_pool, rows.indptr, rows.items, n_true, n_false
    )
    places[places >= 0] = rows.places[places[places >= 0]]
    # An item that the target did not rate gets the rating and date of a random rating.
    invented = places < 0
    places[invented] = rng.integers(ratings.n_ratings, size=int(invented.sum()))
    wrong = np.zeros(shape, bool)
    wrong[:, adversary.n_right : n_true] = True
    values = _know_ratings(rng, ratings, adversary, places, wrong)
    days = _know_days(rng, ratings, adversary, places, wrong)
    return Knowledge(
        targets=attacked,
        indptr=np.arange(attacked.size + 1, dtype=np.int64) * adversary.known,
        items=items.ravel(),
        values=None if values is None else values.ravel().astype(np.float32),
        days=None if days is None else days.ravel().astype(np.int32),
        activity=_know_activity(rng, ratings, adversary, attacked),
        skipped=int(targets.size - attacked.size),
        world=World.of(ratings),
        first_days=_know_first_days(rng, ratings, adversary, attacked),
    )


def know_everything(
    ratings: Ratings, targets: NDArray[np.int64], *, has_dates: bool = False
) -> Knowledge:
    """Return all exact ratings of each target that has ratings, and their days with `has_dates`."""
    able = targets[ratings.activity[targets] > 0]
    rows = target_rows(ratings, able)
    return Knowledge(
        targets=able,
        indptr=rows.indptr,
        items=rows.items,
        values=ratings.values[rows.places],
        days=ratings.days[rows.places] if has_dates and ratings.days is not None else None,
        activity=None,
        skipped=int(targets.size - able.size),
        world=World.of(ratings),
    )


def _check(ratings: Ratings, adversary: Adversary) -> None:
    for name in ("date_error", "first_date_error"):
        error = getattr(adversary, name)
        if error is not None and ratings.days is None:
            raise RecveilError(
                f"the adversary knows dates (within {describe_count(error, 'day')}), but no times "
                f"are known of the ratings; set {name} to None (--{name.replace('_', '-')} none)",
                code="time.missing",
            )
    knows_values = adversary.rating_error is not None or adversary.date_error is not None
    if adversary.n_right < adversary.known and adversary.wrong_kind == "value" and not knows_values:
        raise RecveilError(
            "the adversary knows neither ratings nor dates, so no known value can be wrong; "
            "set wrong_kind to 'item' (--wrong-kind item)",
            code="option.conflict",
        )


def _pool(ratings: Ratings, outside_top: int) -> NDArray[np.bool_]:
    """Mark the items that the adversary may know about."""
    in_pool = np.ones(ratings.n_items, bool)
    in_pool[np.argsort(-ratings.support, kind="stable")[:outside_top]] = False
    return in_pool


@compiled()
def _draw_items(
    rng: np.random.Generator,
    able: NDArray[Any],
    in_pool: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    n_true: int,
    n_false: int,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw rated items of each able row, with their places in the rows, then unrated ones: -1."""
    n_known = n_true + n_false
    items = np.empty((able.size, n_known), np.int32)
    places = np.full((able.size, n_known), -1, np.int64)
    taken = np.full(in_pool.size, -1, np.int64)
    pool = np.flatnonzero(in_pool)
    for t in range(able.size):
        start, end = indptr[able[t]], indptr[able[t] + 1]
        rated = np.empty(end - start, np.int64)
        n_rated = 0
        for at in range(start, end):
            taken[indices[at]] = t
            if in_pool[indices[at]]:
                rated[n_rated] = at
                n_rated += 1
        for drawn in range(n_true):
            other = drawn + int(rng.random() * (n_rated - drawn))
            rated[drawn], rated[other] = rated[other], rated[drawn]
            items[t, drawn], places[t, drawn] = indices[rated[drawn]], rated[drawn]
        drawn = n_true
        while drawn < n_known:
            item = pool[int(rng.random() * pool.size)]
            if taken[item] != t:
                taken[item] = t
                items[t, drawn] = item
                drawn += 1
    return items, places


def steps_within(
    scale: RatingScale, truth: NDArray[np.float64], error: float
) -> tuple[float, int, NDArray[np.int64], NDArray[np.int64]]:
    """Return the range of scale steps within an error of each rating.

    >>> steps_within(RatingScale(1, 5, 1), np.array([1.0, 3.0]), 2)
    (1.0, 4, array([0, 0]), array([2, 4]))
    """
    step = scale.step or scale.range / 1000 or 1.0
    top = round(scale.range / step)
    first = np.ceil(np.maximum((truth - error - scale.low) / step - _TOLERANCE, 0))
    last = np.floor(np.minimum((truth + error - scale.low) / step + _TOLERANCE, top))
    return step, top, first.astype(np.int64), last.astype(np.int64)


def _know_ratings(
    rng: np.random.Generator,
    ratings: Ratings,
    adversary: Adversary,
    places: NDArray[np.int64],
    wrong: NDArray[np.bool_],
) -> NDArray[np.float64] | None:
    """Draw ratings uniformly within the error of the true ones, wrong ones from beyond it."""
    if adversary.rating_error is None:
        return None
    scale, truth = ratings.scale, ratings.values[places].astype(np.float64)
    error = adversary.rating_error
    if adversary.likes_only:
        return _know_likes(scale, truth, wrong)
    if error == 0 and not wrong.any():
        return truth
    step, top, first, last = steps_within(scale, truth, error)
    # On a continuous scale, a small error may include no step: the rating is then exact.
    known = rng.integers(first, np.maximum(first, last) + 1)
    exact = (error == 0) | (last < first)
    n_beyond = top + 1 - (last - first + 1)
    if (n_beyond[wrong] == 0).any() and adversary.date_error is None:
        raise RecveilError(
            f"every rating of the scale {scale} is within {error:g} of some true one, so it "
            f"cannot be wrong; lower rating_error, or set wrong_kind to 'item' (--wrong-kind item)",
            code="option.conflict",
        )
    beyond = rng.integers(0, np.maximum(n_beyond, 1))
    beyond += np.where(beyond >= first, last - first + 1, 0)
    known = np.where(wrong & (n_beyond > 0), beyond, known)
    drawn = scale.round(scale.low + step * known, step)
    return np.where(exact & ~wrong, truth, drawn)


def like_levels(scale: RatingScale) -> tuple[float, float, float, float]:
    """Return the numbers for "liked" and "not liked" on a scale."""
    middle = (scale.low + scale.high) / 2
    last, first = middle, middle
    if scale.step is not None and scale.range:
        levels = scale.levels
        last, first = float(levels[levels <= middle].max()), float(levels[levels > middle].min())
    not_liked, liked = (scale.low + last) / 2, (first + scale.high) / 2
    return middle, not_liked, liked, max(last - scale.low, scale.high - first) / 2


def _know_likes(
    scale: RatingScale, truth: NDArray[np.float64], wrong: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the "liked" or "not liked" value of each rating; of a wrong entry, the other one."""
    middle, not_liked, liked, _ = like_levels(scale)
    return np.where((truth > middle) ^ wrong, liked, not_liked)


def _know_days(
    rng: np.random.Generator,
    ratings: Ratings,
    adversary: Adversary,
    places: NDArray[np.int64],
    wrong: NDArray[np.bool_],
) -> NDArray[np.int64] | None:
    """Draw days uniformly within the error of the true ones, wrong ones from beyond it."""
    if adversary.date_error is None or ratings.days is None:
        return None
    truth = ratings.days[places].astype(np.int64)
    error = adversary.date_error
    known = truth + rng.integers(-error, error, size=truth.shape, endpoint=True)
    # A wrong date is a random day of the table, moved away if it is within the error.
    other = ratings.days[rng.integers(ratings.n_ratings, size=truth.shape)].astype(np.int64)
    too_near = np.abs(other - truth) <= error
    other = np.where(too_near, truth + error + 1 + np.abs(other - truth), other)
    return np.where(wrong, other, known)


def _know_activity(
    rng: np.random.Generator, ratings: Ratings, adversary: Adversary, targets: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Draw a number of ratings within the error, and return the bounds on the true one."""
    if adversary.activity_error is None:
        return None
    error = adversary.activity_error
    reported = ratings.activity[targets] * rng.uniform(1 - min(error, 1), 1 + error, targets.size)
    low = reported / (1 + error)
    high = reported / (1 - error) if error < 1 else np.full_like(reported, np.inf)
    # Widened slightly, so that rounding never excludes the truth.
    return np.stack([low * (1 - 1e-9), high * (1 + 1e-9)], axis=1)


def _know_first_days(
    rng: np.random.Generator, ratings: Ratings, adversary: Adversary, targets: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Draw a first day within the error, and return the bounds on the true one."""
    if adversary.first_date_error is None or ratings.days is None:
        return None
    rows = target_rows(ratings, targets)
    first = np.full(targets.size, np.iinfo(np.int32).max, np.int64)
    owner = np.repeat(np.arange(targets.size), np.diff(rows.indptr))
    np.minimum.at(first, owner, ratings.days[rows.places])
    error = adversary.first_date_error
    reported = first + rng.integers(-error, error, size=first.shape, endpoint=True)
    return np.stack([reported - error, reported + error], axis=1)


@brief
class Query(NamedTuple):
    """Inputs of one search, which can be split by target without changing results."""

    knowledge: Knowledge
    # The record of each target, to evaluate guesses; -1 if they have none
    target_records: NDArray[np.int64]
    # Weight of each known entry, where a search uses one
    weights: NDArray[np.float32] | None = None

    def part(self, first: int, end: int) -> Self:
        """Return the targets from `first` to before `end`."""
        known = self.knowledge
        start, stop = known.indptr[first], known.indptr[min(end, self.target_records.size)]
        entries, targets = slice(start, stop), slice(first, end)
        knowledge = replace(
            known,
            targets=known.targets[targets],
            indptr=known.indptr[first : end + 1] - start,
            items=known.items[entries],
            values=None if known.values is None else known.values[entries],
            days=None if known.days is None else known.days[entries],
            activity=None if known.activity is None else known.activity[targets],
            first_days=None if known.first_days is None else known.first_days[targets],
            skipped=0,
            world=None,
        )
        weights = None if self.weights is None else self.weights[entries]
        return self._replace(
            knowledge=knowledge, target_records=self.target_records[targets], weights=weights
        )


def why_never_wrong(ratings: Ratings, adversary: Adversary) -> str | None:
    """Return why an adversary's wrong values cannot be wrong in this table."""
    is_right = adversary.n_right == adversary.known or adversary.wrong_kind == "item"
    if is_right or adversary.date_error is not None:
        return None
    if adversary.rating_error is None:
        return "they know neither ratings nor dates"
    scale, error = ratings.scale, adversary.rating_error
    if scale.range == 0 and ratings.is_unary:
        return "likes have no values that could be wrong"
    if scale.range == 0:
        return "the table has one rating value only"
    # An error clearly below half of the scale covers all of it for no rating.
    if adversary.likes_only or 2.1 * error < scale.range:
        return None
    _, top, first, last = steps_within(scale, np.unique(ratings.values).astype(np.float64), error)
    if ((first > 0) | (last < top)).all():
        return None
    return f"every rating of the scale {scale} is within {error:g} of some true one"


def with_wrong_items(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Return the adversary with unrated items as wrong entries, if no value can be wrong."""
    reason = why_never_wrong(ratings, adversary)
    if reason is None:
        return adversary
    needed = describe_count(adversary.n_right, "rating")
    note = (
        f"Here the wrong entries are items that the target never rated: {reason}. So {needed} of a "
        f"target, not {adversary.known}, must be known."
    )
    note = in_likes(note, ratings.is_unary)
    return replace(adversary.noted(note), wrong_kind="item")


def without_dates(ratings: Ratings, adversary: Adversary, where: str) -> Adversary:
    """Return the adversary without dates, and without what only dates made possible."""
    if adversary == adversary.without_dates():
        return adversary
    blunted = adversary.without_dates().noted(f"Here no dates are known: {where}.")
    return with_wrong_items(ratings, blunted)


def without_ratings(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Return the adversary without ratings, if the feedback is implicit."""
    if not ratings.is_unary:
        return adversary
    notes = tuple(map(in_likes, adversary.notes))
    adversary = replace(adversary, description=in_likes(adversary.description), notes=notes)
    if adversary.rating_error is None:
        return adversary
    noted = adversary.noted("Here no ratings are known: the table holds likes.")
    return replace(noted, rating_error=None, likes_only=False)


def with_likes(ratings: Ratings, adversary: Adversary) -> Adversary:
    """Set the rating error of an adversary who knows likes only to suit a table's scale."""
    if not adversary.likes_only:
        return adversary
    return replace(adversary, rating_error=like_levels(ratings.scale)[-1])
