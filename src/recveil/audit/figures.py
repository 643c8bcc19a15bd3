"""The curves of Narayanan & Shmatikov's figures, for the data at hand."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.attack import (
    Adversary,
    Candidates,
    information_by_rank,
    nearest_similarity,
    share_at_least,
)
from recveil.audit.outcome import Outcome, run_attack
from recveil.progress import track
from recveil.ratings import Ratings

# "n of m": m known entries, n of them right, as on the paper's axes.
RIGHT_OF_KNOWN = ((2, 2), (3, 3), (4, 4), (3, 4), (6, 6), (4, 6), (8, 8), (6, 8))
EXACT_OF_KNOWN = ((2, 2), (4, 4), (6, 6), (8, 8))


@dataclass(frozen=True)
class Figure:
    """One curve sheet: points of several series.

    Parameters
    ----------
    number : str
        The paper's figure.
    title : str
        What it shows, as a plain sentence.
    x, y : str
        What the axes count.
    points : list of dict
        Each with ``series``, ``x``, ``y`` and, where it is a rate or a mean, ``low`` and ``high``.
    """

    number: str
    title: str
    x: str
    y: str
    points: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain data, for JSON."""
        return {key: getattr(self, key) for key in ("number", "title", "x", "y", "points")}


@dataclass(frozen=True)
class _Family:
    """Attacks that differ in one thing, over growing knowledge."""

    series: dict[str, Adversary]
    mixtures: tuple[tuple[int, int], ...]

    def members(self) -> Iterator[tuple[str, str, Adversary]]:
        for name, adversary in self.series.items():
            for right, known in self.mixtures:
                yield name, f"{right} of {known}", replace(adversary, known=known, right=right)


def draw_figures(
    ratings: Ratings, candidates: Candidates, targets: NDArray[np.int64], seed: int = 0
) -> list[Figure]:
    """Compute the curves of Figs. 1 and 4 to 12; those with dates only if there are dates.

    Parameters
    ----------
    ratings : Ratings
    candidates : Candidates
        The same ratings, listed by item.
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
        for name, family in track(_families(ratings).items(), "Drawing curves")
    }
    by_dates = outcomes["dates"]
    dated = ratings.days is not None
    error = "±1, dates ±14 days" if dated else "±1"
    return [
        _sparsity(ratings, targets.size, seed),
        _rates("4", "How many people are found by exact ratings", by_dates),
        Figure(
            "5",
            "The same attack must also notice that somebody is not in the data",
            *("right entries of known ones", "share of targets handled rightly"),
            _points(by_dates, lambda o: o.success, " (in the data)")
            + _points(by_dates, _noticed, " (not in the data)"),
        ),
        _bits("6", "Bits that the adversary still needs, exact ratings", by_dates),
        _information(ratings),
        _rates("8", "Exact ratings, no dates: rarer items tell more", outcomes["pools"]),
        _rates("9", f"Ratings {error}: rarer items tell more", outcomes["blurred pools"]),
        _rates("10", f"Errors: ratings {error}, and items never rated", outcomes["wrong items"]),
        _bits("11", f"Bits still needed, ratings {error}", outcomes["blurred pools"]),
        _rates("12", "Knowing how many items somebody rated, within 50 %", outcomes["activity"]),
    ]


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
    wrong = {
        "wrong value": blurred,
        "item never rated": replace(blurred, wrong_kind="item"),
    }
    activity = {
        "unknown": blurred,
        "known within 50 %": replace(blurred, activity_error=0.5),
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
) -> list[tuple[str, str, Outcome]]:
    return [
        (series, x, run_attack(ratings, candidates, adversary, targets, seed=seed))
        for series, x, adversary in family.members()
    ]


def _rates(number: str, title: str, outcomes: list[tuple[str, str, Outcome]]) -> Figure:
    points = _points(outcomes, lambda outcome: outcome.success, ", stands out")
    points += _points(outcomes, lambda outcome: outcome.top1, ", best guess")
    return Figure(number, title, "right entries of known ones", "share of targets found", points)


def _bits(number: str, title: str, outcomes: list[tuple[str, str, Outcome]]) -> Figure:
    points = _points(outcomes, lambda outcome: outcome.entropy_bits, "")
    return Figure(number, title, "right entries of known ones", "bits still needed", points)


def _points(outcomes: list[tuple[str, str, Outcome]], measure: Any, suffix: str) -> list[Any]:
    points = []
    for series, x, outcome in outcomes:
        value, low, high, _ = measure(outcome)
        if np.isfinite(value):
            points.append({"series": series + suffix, "x": x, "y": value, "low": low, "high": high})
    return points


def _noticed(outcome: Outcome) -> tuple[float, float, float, int]:
    rate, low, high, trials = outcome.control
    return 1 - rate, 1 - high, 1 - low, trials


def _sparsity(ratings: Ratings, n_targets: int, seed: int) -> Figure:
    grid = np.linspace(0, 1, 41)
    kinds: dict[str, tuple[float | None, int | None]] = {
        "items": (None, None),
        "items and ratings": (0, None),
    }
    if ratings.days is not None:
        kinds["items, ratings and dates ±14 days"] = (0, 14)
    points = []
    for series, (rating_error, date_error) in kinds.items():
        nearest = nearest_similarity(ratings, n_targets, rating_error, date_error, seed)
        shares = share_at_least(nearest, grid)
        points += [
            {"series": series, "x": float(x), "y": float(y)}
            for x, y in zip(grid, shares, strict=True)
        ]
    title = "How similar is everybody to his most similar neighbour"
    return Figure("1", title, "similarity", "share of people with at least that", points)


def _information(ratings: Ratings) -> Figure:
    kinds: dict[str, tuple[float | None, int | None]] = {
        "item alone": (None, None),
        "and the rating ±1": (_one_step(ratings), None),
    }
    if ratings.days is not None:
        kinds["and the date ±14 days"] = (None, 14)
    points = []
    for series, errors in kinds.items():
        information = information_by_rank(ratings, *errors)
        n = information.bits.size
        # Evenly on the logarithmic axis; each rank at most once.
        ranks = np.unique(np.geomspace(1, n, min(n, 80)).astype(int))
        points += [
            {"series": series, "x": int(rank), "y": float(information.bits[rank - 1])}
            for rank in ranks
        ]
    title = "What one known item tells, by its rank in popularity"
    return Figure("7", title, "rank (1 is the most rated item)", "bits learned", points)
