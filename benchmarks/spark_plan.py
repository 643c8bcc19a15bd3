"""What a release of drawn people will take by Spark, from what a smaller one took.

Each phase has a measure that its work grows with; what it took at one size, over that measure, is
what a unit takes. Nothing is fitted: `benchmarks/spark.py` prints what was foretold beside what was
measured.
"""

from typing import Any, NamedTuple

PHASES = ("look", "gather", "sums", "learn", "draw", "twin", "check")
# Of two cores, each works so many seconds a second.
_CORES = 2
# Bytes of a number in a sum.
_NUMBER = 8


class Size(NamedTuple):
    """How large a table is, and how it is asked.

    Attributes
    ----------
    people, items, ratings : int
    pairs : int
        Items that are asked about in pairs.
    tasks : int
        How many whole sums are made.
    """

    people: int
    items: int
    ratings: int
    pairs: int
    tasks: int


class Cost(NamedTuple):
    """What a phase takes.

    Attributes
    ----------
    seconds : float
    bytes : float
        What it shuffles.
    """

    seconds: float
    bytes: float


def work(size: Size) -> dict[str, float]:
    """Return the measure that each phase grows with.

    A person with n ratings adds n² products to the moments at most, but for the items that are not
    asked about; half of the pairs of n are counted. People are drawn by a chance for each item.
    """
    each = size.ratings / size.people
    return {
        "look": size.ratings,
        "gather": size.ratings,
        "sums": 7 * size.ratings + size.people * each**2 / 2,
        "learn": size.pairs,  # few directions are fitted to a matrix of pairs, in a few turns
        "draw": size.people * size.items,
        "twin": size.people,
        "check": size.ratings,
    }


def shuffled(size: Size) -> dict[str, float]:
    """Return what the bytes of each phase grow with."""
    cells = size.pairs**2 + 2 * size.items
    return {
        "look": size.items,  # the ids of a partition, each once
        "gather": size.ratings,
        "sums": size.tasks * cells * _NUMBER,
        "learn": 0,
        "draw": 0,
        "twin": 0,
        "check": 0,
    }


def foretold(
    known: Size, found: dict[str, Any], size: Size, *, cores: int = _CORES
) -> dict[str, Cost]:
    """Return what each phase takes at another size, from what was found at a known one.

    The driver learns alone, however many cores there are.
    """
    more, wider = (
        {phase: of(size)[phase] / (of(known)[phase] or 1) for phase in PHASES}
        for of in (work, shuffled)
    )
    costs = {}
    for phase in PHASES:
        took = found["phases"].get(phase, {"seconds": 0.0, "bytes": 0.0})
        faster = 1 if phase == "learn" else cores / _CORES
        costs[phase] = Cost(took["seconds"] * more[phase] / faster, took["bytes"] * wider[phase])
    return costs
