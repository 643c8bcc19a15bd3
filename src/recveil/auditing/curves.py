"""The curves of Narayanan & Shmatikov's figures, for a given table."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Candidates,
    Interval,
    Mean,
    information_by_rank,
    items_needed,
    nearest_similarity,
    share_at_least,
    wilson_interval,
)
from recveil.attacks.knowledge import with_wrong_items
from recveil.auditing.table_attacks import Outcome, run_attack
from recveil.ratings import Ratings
from recveil.runtime.progress import track
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief

_SHARES = (0.5, 0.9)
_MOST_KNOWN = 16


@dataclass(frozen=True)
class Sufficient(Reportable):
    """The smallest number of correct known ratings that re-identifies a share of the users.

    Parameters
    ----------
    adversary : str
        The adversary's name.
    share : float
    known : int or None
        None if sixteen are not enough.
    """

    adversary: str
    share: float
    known: int | None


@dataclass(frozen=True)
class Guarantee:
    """Narayanan & Shmatikov's Theorem 1 for a number of known ratings."""

    epsilon: float
    delta: float
    items: int


def find_sufficient(
    ratings: Ratings,
    candidates: Candidates,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int,
) -> list[Sufficient]:
    """Find the smallest number of correct known ratings that re-identifies enough users."""
    found = []
    for adversary in adversaries:
        rates = {}
        for known in range(1, _MOST_KNOWN + 1):
            more = replace(adversary, known=known, right=known)
            rates[known] = run_attack(
                ratings, candidates, more, targets, seed=seed
            ).reidentified.rate
            if rates[known] >= max(_SHARES):
                break
        for share in _SHARES:
            enough = [known for known, rate in rates.items() if rate >= share]
            found.append(Sufficient(adversary.name, share, min(enough, default=None)))
    return found


def guarantees(n_users: int) -> list[Guarantee]:
    """Return Theorem 1's number of items for several error rates.

    >>> guarantees(480_189)[0]
    Guarantee(epsilon=0.05, delta=0.5, items=24)
    """
    return [
        Guarantee(epsilon, delta, items_needed(n_users, epsilon, delta))
        for epsilon, delta in ((0.05, 0.5), (0.01, 0.5), (0.01, 0.1))
    ]


# "n of m": m known entries, n of them right, as on the paper's axes.
RIGHT_OF_KNOWN = ((2, 2), (3, 3), (4, 4), (3, 4), (6, 6), (4, 6), (8, 8), (6, 8))
EXACT_OF_KNOWN = ((2, 2), (4, 4), (6, 6), (8, 8))
_RIGHT = "right entries of known ones"


@dataclass(frozen=True)
class Point(Reportable):
    """One point of a curve.

    Parameters
    ----------
    series : str
    x : str or float
        Text, such as "3 of 4", keeps its order on the axis.
    y : float
    low, high : float or None
        Ends of the interval, if y is a rate or a mean.
    attacked : int or None
        Number of targets with enough ratings, where it may differ between points.
    """

    series: str
    x: str | float
    y: float
    low: float | None = None
    high: float | None = None
    attacked: int | None = None


class _Place(NamedTuple):
    """The results at one position of the x axis."""

    series: str
    x: str
    outcome: Outcome


@brief
@dataclass(frozen=True)
class Figure(Reportable):
    """One figure: points of several series.

    Parameters
    ----------
    number : str
        The paper's figure.
    title : str
        A plain sentence on what the figure shows.
    x, y : str
        Axis titles.
    points : list of Point
        Positions where no target had enough ratings have no point.
    note : str
        The targets, and how the adversaries were adapted to this table.
    """

    number: str
    title: str
    x: str
    y: str
    points: list[Point]
    note: str = ""


@dataclass(frozen=True)
class _Family:
    """Attacks that differ in one setting, over growing knowledge."""

    series: dict[str, Adversary]
    mixtures: tuple[tuple[int, int], ...]

    def members(self) -> Iterator[tuple[str, str, Adversary]]:
        for name, adversary in self.series.items():
            for right, known in self.mixtures:
                yield name, f"{right} of {known}", replace(adversary, known=known, right=right)


def draw_figures(
    ratings: Ratings, candidates: Candidates, targets: NDArray[np.int64], seed: int = 0
) -> list[Figure]:
    """Compute the curves of Figs. 1 and 4 to 12; those with dates only if the table has dates.

    Parameters
    ----------
    ratings : Ratings
    candidates : Candidates
        The same ratings, indexed by item.
    targets : ndarray of int64
        User positions for each point.
    seed : int

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> figures = draw_figures(ratings, Candidates.from_ratings(ratings), np.arange(5))
    >>> [figure.number for figure in figures]
    ['1', '4', '5', '6', '7', '8', '9', '10', '11', '12']
    """
    outcomes = {
        name: _run(ratings, candidates, targets, family, seed)
        for name, family in track(_families(ratings).items(), "Drawing curves", share=0.7)
    }
    by_dates = outcomes["dates"]
    exact, about = _words(ratings)
    chose = "liked" if ratings.is_unary else "rated"
    return [
        _sparsity(ratings, targets.size, seed),
        _rates("4", f"Re-identification rate by {exact}", by_dates),
        _in_or_out(by_dates),
        _bits("6", f"Remaining uncertainty in bits, {exact}", by_dates),
        _information(ratings),
        _rates(
            "8",
            f"{exact.capitalize()}, no dates: rarer items identify users better",
            outcomes["pools"],
        ),
        _rates(
            "9",
            f"{about.capitalize()}: rarer items identify users better",
            outcomes["blurred pools"],
        ),
        _rates("10", f"Errors: {about}, and items never {chose}", outcomes["wrong items"]),
        _bits("11", f"Remaining uncertainty in bits, {exact}, no dates", outcomes["pools"]),
        _rates(
            "12",
            f"Auxiliary information: the number of items that a user {chose}, within 50%",
            outcomes["activity"],
        ),
    ]


def _words(ratings: Ratings) -> tuple[str, str]:
    """Return the names of exact and of approximate knowledge; likes have no ratings."""
    dates = "" if ratings.days is None else "dates ±14 days"
    if ratings.is_unary:
        return "likes", f"likes, {dates}" if dates else "likes"
    about = f"ratings ±{_one_step(ratings):g}"
    return "exact ratings", f"{about}, {dates}" if dates else about


def _families(ratings: Ratings) -> dict[str, _Family]:
    dates = (3, 14) if ratings.days is not None else (None,)
    top = sorted({0, min(100, ratings.n_items // 10), min(500, ratings.n_items // 3)})
    week = 14 if ratings.days is not None else None

    def pools(adversary: Adversary) -> dict[str, Adversary]:
        return {
            f"outside the top {x}" if x else "any item": replace(adversary, outside_top=x)
            for x in top
        }

    blurred = Adversary(rating_error=_one_step(ratings), date_error=week)
    exact = {
        f"dates ±{d} days" if d else "no dates": Adversary(date_error=d, rating_error=0)
        for d in dates
    }
    able = with_wrong_items(ratings, replace(blurred, right=0))
    wrong = {"item never rated": replace(able, wrong_kind="item")}
    if able.wrong_kind == "value":
        wrong = {"wrong value": blurred, **wrong}
    activity = {
        "unknown": blurred,
        "known within 50%": replace(blurred, activity_error=0.5),
    }
    return {
        "dates": _Family(exact, RIGHT_OF_KNOWN),
        "pools": _Family(pools(Adversary(rating_error=0)), RIGHT_OF_KNOWN),
        "blurred pools": _Family(pools(blurred), EXACT_OF_KNOWN),
        "wrong items": _Family(wrong, RIGHT_OF_KNOWN),
        "activity": _Family(activity, EXACT_OF_KNOWN),
    }


def _one_step(ratings: Ratings) -> float:
    """Return the paper's "±1" on a 1-to-5 scale: a quarter of the scale's range."""
    step = ratings.scale.step or 0.0
    return max(step, ratings.scale.range / 4)


def _run(
    ratings: Ratings,
    candidates: Candidates,
    targets: NDArray[np.int64],
    family: _Family,
    seed: int,
) -> list[_Place]:
    places = []
    for series, x, adversary in family.members():
        able = with_wrong_items(ratings, adversary)
        outcome = run_attack(ratings, candidates, able, targets, seed=seed)
        places.append(_Place(series, x, outcome))
    return places


def _rates(number: str, title: str, places: list[_Place]) -> Figure:
    points = _points(places, lambda outcome: outcome.success, ", eccentricity ≥ 1.5")
    points += _points(places, lambda outcome: outcome.reidentified, ", best attack")
    note = _note(
        places, "the others count as not re-identified, so the rates among these are higher"
    )
    return Figure(number, title, _RIGHT, "share of re-identified targets", points, note)


def _in_or_out(places: list[_Place]) -> Figure:
    """Draw both curves over the attacked targets."""
    # Targets with too few ratings are excluded: detecting that they are absent would prove nothing.
    points = _points(places, lambda o: _of_attacked(o.success, o), " (in the data)")
    points += _points(places, _noticed, " (not in the data)")
    title = "Does the same attack detect that a target is not in the data?"
    note = _note(places, "the shares are of these")
    return Figure(
        "5", title, _RIGHT, "share of attacked targets with a correct answer", points, note
    )


def _bits(number: str, title: str, places: list[_Place]) -> Figure:
    points = _points(places, lambda outcome: outcome.entropy_bits, "")
    note = _note(places, "the means are over these")
    return Figure(number, title, _RIGHT, "remaining bits", points, note)


def _points(
    places: list[_Place], measure: Callable[[Outcome], Interval | Mean], suffix: str
) -> list[Point]:
    points = []
    for series, x, outcome in places:
        value, low, high, _ = measure(outcome)
        # No attacked target is not the same as a rate of zero.
        if outcome.attacked and np.isfinite(value):
            points.append(Point(series + suffix, x, value, low, high, outcome.attacked))
    return points


def _note(places: list[_Place], of_these: str) -> str:
    """Describe the number of attacked targets, and how this table changed the adversaries."""
    outcomes = [place.outcome for place in places]
    attacked = [outcome.attacked for outcome in outcomes]
    requested, least, most = outcomes[0].requested, min(attacked), max(attacked)
    number = f"{most:,}" if least == most else f"{least:,} to {most:,}"
    enough = "had enough ratings to be attacked"
    targets = f"Of {requested:,} requested targets, {number} {enough}; {of_these}."
    if least == requested:
        targets = f"All {requested:,} targets {enough}."
    changed = [outcome.adversary.description for outcome in outcomes]
    return " ".join(filter(None, dict.fromkeys([targets, *changed])))


def _of_attacked(interval: Interval, outcome: Outcome) -> Interval:
    successes = interval.rate * interval.trials if interval.trials else 0.0
    return wilson_interval(min(successes, outcome.attacked), outcome.attacked)


def _noticed(outcome: Outcome) -> Interval:
    rate, low, high, trials = _of_attacked(outcome.control, outcome)
    return Interval(rate=1 - rate, low=1 - high, high=1 - low, trials=trials)


class _Compared(NamedTuple):
    """What two records are compared by in addition to their items; None if not compared."""

    series: str
    rating_error: float | None = None
    date_error: int | None = None


def _sparsity(ratings: Ratings, n_targets: int, seed: int) -> Figure:
    grid = np.linspace(0, 1, 41)
    kinds = [_Compared("items"), _Compared("items and ratings", rating_error=0)]
    if ratings.is_unary:
        dated = [_Compared("items and dates ±14 days", date_error=14)]
        kinds = [_Compared("items"), *(dated if ratings.days is not None else [])]
    elif ratings.days is not None:
        kinds.append(_Compared("items, ratings and dates ±14 days", rating_error=0, date_error=14))
    points = []
    for series, rating_error, date_error in kinds:
        nearest = nearest_similarity(ratings, n_targets, rating_error, date_error, seed)
        shares = share_at_least(nearest, grid)
        points += [Point(series, float(x), float(y)) for x, y in zip(grid, shares, strict=True)]
    title = "Similarity of each user to the most similar other user"
    return Figure("1", title, "similarity", "share of users with at least that similarity", points)


def _information(ratings: Ratings) -> Figure:
    step = _one_step(ratings)
    rated = [_Compared(f"and the rating ±{step:g}", rating_error=step)]
    kinds = [_Compared("item alone"), *([] if ratings.is_unary else rated)]
    if ratings.days is not None:
        kinds.append(_Compared("and the date ±14 days", date_error=14))
    points = []
    for series, rating_error, date_error in kinds:
        information = information_by_rank(ratings, rating_error, date_error)
        n = information.bits.size
        # Evenly on the logarithmic axis; each rank at most once.
        ranks = np.unique(np.geomspace(1, n, min(n, 80)).astype(int))
        points += [Point(series, int(rank), float(information.bits[rank - 1])) for rank in ranks]
    title = "Information of one known item, by its popularity rank"
    return Figure("7", title, "rank (1 is the most rated item)", "bits learned", points)
