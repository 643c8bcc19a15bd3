"""What a release will take by Spark, from what a smaller one took.

Each phase has a measure that its work grows with; what it took at one size, over that measure, is
what a unit takes. Nothing is fitted: `benchmarks/spark.py` prints what was predicted and what was
measured. Users of a larger table rate as much as those of the smaller one, and so their rows have
as many labels.
"""

import math
from typing import Any, NamedTuple

_BEGIN, _END = ("look", "gather"), ("twin", "check")
_SHARED = (*_BEGIN, "factors", "moves", "groups", "rows", *_END)
# In which order each kind of release is made.
PHASES = {
    "drawn": (*_BEGIN, "sums", "learn", "draw", *_END),
    "simple": _SHARED,
    "padded": _SHARED,
    "k-corating": (*_BEGIN, "groups", "means", "rows", *_END),
    "sparse": (*_BEGIN, "embedding", "factors", "moves", "clusters", "rule", "rows", *_END),
}
# Of two cores, each works so many seconds a second.
_CORES = 2
# What runs on the driver alone, however many cores there are.
_ON_DRIVER = ("learn",)
# Bytes of a number in a sum; and numbers that MLlib sends for each user and item.
_NUMBER, _RANK = 8, 20
_RATINGS_OF_A_PARTITION = 1 << 20
# Users of a bin; and sparse rows are drawn from what is learned of so many items.
_BIN, _COMMON = 8_192, 20_000


class Size(NamedTuple):
    """How large a table is, and how it is asked.

    Attributes
    ----------
    users, items, ratings : int
    pairs : int
        Items that are asked about in pairs; 0 if none are.
    tasks : int
        How many whole sums are made.
    """

    users: int
    items: int
    ratings: int
    pairs: int
    tasks: int

    @property
    def blocks(self) -> int:
        """The number of blocks in which MLlib has users, and as many of items."""
        return math.ceil(2 * math.sqrt(self.ratings // _RATINGS_OF_A_PARTITION + 1))

    @property
    def bins(self) -> int:
        """The number of bins in which users are gathered."""
        return math.ceil(self.users / _BIN)


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


def work(size: Size, kind: str) -> dict[str, float]:
    """Return the measure that each phase grows with.

    A user with n ratings adds n² products to the moments at most, but for the items that are not
    asked about; half of the pairs of n are counted. Users and sparse rows are drawn by a chance
    for each item, and a padded row has a label for each.
    """
    each = size.ratings / size.users
    cells = size.users * size.items
    chances = size.users * min(size.items, _COMMON)
    return {
        "look": size.ratings,
        "gather": size.ratings,
        "sums": 7 * size.ratings + size.users * each**2 / 2,
        "learn": size.pairs,  # few directions are fitted to a matrix of pairs, in a few turns
        "draw": cells,
        "factors": size.ratings,  # a product of 20 x 20 numbers for each, in each round
        "moves": size.ratings,
        "groups": size.ratings if kind == "k-corating" else size.users,
        "means": size.ratings,
        "embedding": size.ratings,
        "clusters": size.ratings,
        "rule": chances,
        "rows": {"padded": cells, "sparse": chances}.get(kind, size.ratings),
        "twin": size.users,
        "check": cells if kind == "padded" else size.ratings,
    }


def shuffled(size: Size, kind: str) -> dict[str, float]:
    """Return what the bytes of each phase grow with."""
    cells = size.pairs**2 + 2 * size.items
    # A user's factors go wherever an item is that they rated, and an item's to all who did.
    of_users = size.users * min(size.blocks, size.ratings / size.users)
    of_items = size.items * min(size.blocks, size.ratings / size.items)
    sent = 4 * _RANK * (of_users + of_items)
    return {
        "look": size.items,  # the ids of a partition, each once
        "gather": size.ratings,
        "sums": size.tasks * cells * _NUMBER,
        "learn": 0,
        "draw": 0,
        "factors": sent,
        "moves": size.tasks * size.items * _NUMBER,
        "groups": size.ratings if kind == "k-corating" else size.users,
        "means": size.tasks * size.items * _NUMBER,
        "embedding": size.tasks * size.items * _NUMBER,
        "clusters": size.ratings,
        "rule": min(size.tasks, size.bins) * min(size.items, _COMMON) * _NUMBER,
        "rows": size.ratings,
        "twin": size.users,
        # Rows of one part are compared where they are: a table of one part shows nothing of this.
        "check": size.users * size.items if kind == "padded" else size.ratings,
    }


def predicted(
    kind: str, known: Size, found: dict[str, Any], size: Size, *, cores: int = _CORES
) -> dict[str, Cost]:
    """Return what each phase takes at another size, from what was found at a known one."""
    more, wider = (
        {phase: of(size, kind)[phase] / (of(known, kind)[phase] or 1) for phase in PHASES[kind]}
        for of in (work, shuffled)
    )
    costs = {}
    for phase in PHASES[kind]:
        took = found["phases"].get(phase, {"seconds": 0.0, "bytes": 0.0})
        faster = 1 if phase in _ON_DRIVER else cores / _CORES
        costs[phase] = Cost(took["seconds"] * more[phase] / faster, took["bytes"] * wider[phase])
    return costs
