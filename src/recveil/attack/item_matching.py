"""Match the items of one table with those of another without their names.

An adversary has a release whose items have pseudonyms, and a table of ratings whose items have
names. Counts and means match a few items; co-occurrence with these matches others, again and again.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from recveil.attack.item_side import ItemSide
from recveil.blas import one_thread
from recveil.brief import brief

# The first round believes so many items, those with the most labels; each next one more.
_FIRST_BELIEVED, _MORE_BELIEVED, _ROUNDS = 100, 1.6, 9
# How much it weighs that an item goes together with the same others, beside its own numbers.
_WEIGHT_OF_COMPANY, _WEIGHT_OF_ALIKE = 40.0, 0.5
_WEIGHT_IN_FULL_ROWS = 20.0
# An item with so many labels is believed half as much as one with countless.
_HALF_BELIEVED = 20
# The most counted items are matched first, of which the public table may miss some; they are
# believed when all are matched.
FIRST_HIDDEN, FIRST_PUBLIC = 1000, 1500
_LEAST_SPREAD = 0.01
# Of users who are among the hidden ones, chance is at least this share of what it is of others.
_LEAST_NESTED = 0.3
# The shape of an item's correlations: so many quantiles, with so many popular items; chance moves a
# quantile less than one correlation, by this share of its variance.
_QUANTILES, _SHAPED_BY, _QUANTILE_NOISE = 16, 200, 0.1
_NEVER = 1e6


@brief
class Differences(NamedTuple):
    """By how much the same item differs in two tables beyond chance.

    Attributes
    ----------
    counts, means, spreads : float
        Variances: of the logarithm of the count, and of the numbers of its labels.
    shapes : bool
        Whether the quantiles of an item's correlations are comparable.
    is_nested : bool
        Whether the public users are among the hidden ones: a sample without replacement differs
        less by chance than two samples.
    most_believed : int
        So many matched items decide along at most, those with the most labels.
    """

    counts: float
    means: float
    spreads: float
    shapes: bool
    is_nested: bool = False
    most_believed: int = FIRST_HIDDEN


# Tables of other users, and a table of some of the same users.
OTHER_USERS = Differences(0.1, 0.03, 0.02, shapes=True)
SAME_USERS = Differences(0.0005, 0.003, 0.02, shapes=False, is_nested=True, most_believed=400)


@brief
class ItemNames(NamedTuple):
    """What an adversary takes each hidden item for.

    Attributes
    ----------
    guess : ndarray of int64, shape (n_hidden,)
        The position in the public table; -1 if none is left for it.
    lead : ndarray of float64, shape (n_hidden,)
        By how much it fits better than the next best one; larger is surer.
    """

    guess: NDArray[np.int64]
    lead: NDArray[np.float64]


def match_items(
    hidden: ItemSide,
    public: ItemSide,
    n_hidden: int,
    known: dict[int, int] | None = None,
    differ: Differences = OTHER_USERS,
) -> ItemNames:
    """Match hidden items with public ones by counts and means, then by co-occurrence.

    Parameters
    ----------
    hidden, public : ItemSide
        Best made in the same way, or of some of the same users.
    n_hidden : int
        Items of the hidden table.
    known : dict of int to int, optional
        Positions of hidden items that the adversary knows, and of the public ones that they are.
    differ : Differences
        How the tables differ.

    Notes
    -----
    After Narayanan & Shmatikov (2008), section 6, who ask what is left when columns are hidden,
    and their propagation from known nodes (2009): a first matching by counts, means and spreads
    (the assignment of least cost); then, round by round, each item's correlations with those that
    are believed most, here and there, decide along. The most counted items are matched first, then
    all. Seedless if nothing is known.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=300, n_items=20, n_ratings=2000, seed=1)
    >>> side = ItemSide.of_ratings(ratings)
    >>> found = match_items(side, side, ratings.n_items)
    >>> bool((found.guess[side.items] == side.items).all())  # a table is like itself
    True
    """
    known = known or {}
    few = hidden.top(FIRST_HIDDEN), public.top(FIRST_PUBLIC)
    with one_thread():  # the last bit of a sum can change which item is whose
        matched, cost = _match(*few, known, differ)
        if few[0] is not hidden or few[1] is not public:
            start = np.full(hidden.items.size, -1)
            found = np.where(matched >= 0, few[1].items[matched], -1)
            places = np.searchsorted(public.items, found)
            start[np.searchsorted(hidden.items, few[0].items)] = np.where(found >= 0, places, -1)
            matched, cost = _match(hidden, public, known, differ, start)
    guess, lead = np.full(n_hidden, -1), np.zeros(n_hidden)
    guess[hidden.items] = np.where(matched >= 0, public.items[matched], -1)
    lead[hidden.items] = _leads(cost, matched)
    return ItemNames(guess, lead)


def _match(
    hidden: ItemSide,
    public: ItemSide,
    known: dict[int, int],
    differ: Differences,
    start: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the public place of each hidden item, -1 for none, and the cost of each pair."""
    own = _own_cost(hidden, public, differ)
    _fix(own, hidden, public, known)
    if start is None:
        cost, matched, rounds = own, _assign(own), _rounds(hidden, known, differ.most_believed)
    else:
        cost, matched = own, start
        rounds = [np.argsort(-hidden.counts, kind="stable")[: differ.most_believed]]
    for believed in rounds:
        sure = believed[matched[believed] >= 0]
        cost = own - _company(hidden, public, matched, sure)
        matched = _assign(cost)
    return matched, cost


def match_by_rank(hidden: ItemSide, public: ItemSide, n_hidden: int) -> ItemNames:
    """Take the item of the n-th most labels for the public one of the n-th most: the baseline.

    In full rows, where all have as many, those of the n-th highest mean are taken for each other.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> side = ItemSide.of_ratings(make_ratings(n_users=300, n_items=20, n_ratings=2000, seed=1))
    >>> bool((match_by_rank(side, side, 20).guess[side.items] == side.items).all())
    True
    """
    by_mean = hidden.is_full
    here, there = (
        np.argsort(-(side.means if by_mean else side.counts), kind="stable")
        for side in (hidden, public)
    )
    both = min(here.size, there.size)
    guess = np.full(n_hidden, -1)
    guess[hidden.items[here[:both]]] = public.items[there[:both]]
    return ItemNames(guess, np.zeros(n_hidden))


def _own_cost(hidden: ItemSide, public: ItemSide, differ: Differences) -> NDArray[np.float64]:
    """Return how badly each pair of items fits, by their own numbers; shape (hidden, public).

    Each difference is squared and divided by what chance makes of it.
    """
    few_here, few_there = 1 / (hidden.counts + 1), 1 / (public.counts + 1)
    chance = few_here[:, None] + few_there
    if differ.is_nested:
        chance = np.maximum(few_there - few_here[:, None], _LEAST_NESTED * few_there)
    here, there = (np.log((side.counts + 0.5) / side.n_counted) for side in (hidden, public))
    cost = _apart(here, there, hidden, public) ** 2 / (chance + differ.counts)
    cost += _apart(hidden.means, public.means, hidden, public) ** 2 / (chance + differ.means)
    if hidden.is_full:  # spreads of predictions differ by factors, which chance hardly touches
        here, there = (np.log(side.spreads + _LEAST_SPREAD) for side in (hidden, public))
        noise = np.full_like(chance, max(float(here.std()) / 2, _LEAST_SPREAD) ** 2)
    else:
        here, there, noise = hidden.spreads, public.spreads, chance / 2 + differ.spreads
    cost += _apart(here, there, hidden, public) ** 2 / noise
    if differ.shapes and hidden.together is not None and public.together is not None:
        cost += _shapes_apart(hidden, public, hidden.together, public.together)
        cost += _shapes_apart(hidden, public, hidden.alike, public.alike)
    return np.asarray(cost)


def _shapes_apart(
    hidden: ItemSide, public: ItemSide, here: NDArray[np.float32], there: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return how far the shapes of two correlation tables lie apart, item by item.

    Whatever the other items are called: an item that goes with some few, and with these closely,
    does so under any names. So the quantiles of its correlations with popular items are compared.
    """
    both = min(_SHAPED_BY, hidden.items.size, public.items.size)
    levels = np.linspace(0, 1, _QUANTILES + 2)[1:-1]
    shapes = [
        np.quantile(
            table[:, np.argsort(-side.counts, kind="stable")[:both]].astype(np.float64),
            levels,
            axis=1,
        ).T
        for table, side in ((here, hidden), (there, public))
    ]
    squares = [(shape**2).sum(1) for shape in shapes]
    apart = squares[0][:, None] + squares[1] - 2 * shapes[0] @ shapes[1].T
    noise = _QUANTILE_NOISE * (1 / hidden.n_rows + 1 / public.n_rows)
    return np.asarray(np.maximum(apart, 0) / _QUANTILES / noise)


def _apart(
    here: NDArray[np.float64], there: NDArray[np.float64], hidden: ItemSide, public: ItemSide
) -> NDArray[np.float64]:
    """Return the differences of a number, brought to one place and width by the popular items.

    People of another time or place may use a scale differently, or rate more.
    """
    both = min(here.size, there.size)
    tops = (
        number[np.argsort(-side.counts, kind="stable")[:both]]
        for number, side in ((here, hidden), (there, public))
    )
    of_here, of_there = tops
    width = of_here.std() / max(float(of_there.std()), 1e-9)
    moved = (there - of_there.mean()) * width + of_here.mean()
    return np.asarray(here[:, None] - moved)


def _fix(
    cost: NDArray[np.float64], hidden: ItemSide, public: ItemSide, known: dict[int, int]
) -> None:
    """Let known items be matched with what they are, and with nothing else."""
    place_here = {item: place for place, item in enumerate(hidden.items.tolist())}
    place_there = {item: place for place, item in enumerate(public.items.tolist())}
    for item, name in known.items():
        if item in place_here and name in place_there:
            here, there = place_here[item], place_there[name]
            cost[here, :] = _NEVER
            cost[:, there] = _NEVER
            cost[here, there] = -_NEVER


def _rounds(hidden: ItemSide, known: dict[int, int], most: int) -> list[NDArray[np.int64]]:
    """Return which items each round believes: first the known, then those of most labels."""
    is_known = np.isin(hidden.items, list(known))
    order = np.lexsort((-hidden.counts, ~is_known))
    sizes = [_FIRST_BELIEVED * _MORE_BELIEVED**number for number in range(_ROUNDS)]
    sizes = [min(int(size), most) for size in sizes]
    if is_known.any():
        sizes = [int(is_known.sum()), *sizes]
    return [order[: min(size, order.size)] for size in sizes]


def _company(
    hidden: ItemSide, public: ItemSide, matched: NDArray[np.int64], sure: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how well each pair of items fits by the company it keeps; shape (hidden, public)."""
    weights = (hidden.counts[sure] / (hidden.counts[sure] + _HALF_BELIEVED)).astype(np.float32)
    names = matched[sure]
    alike = _agreement(hidden.alike[:, sure], public.alike[:, names], weights)
    if hidden.together is None or public.together is None:
        return _WEIGHT_IN_FULL_ROWS * alike
    together = _agreement(hidden.together[:, sure], public.together[:, names], weights)
    return _WEIGHT_OF_COMPANY * (together + _WEIGHT_OF_ALIKE * alike)


def _agreement(
    here: NDArray[np.float32], there: NDArray[np.float32], weights: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the weighted correlation of each row of one table with each of the other."""

    def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
        centred = weights * (rows - (rows @ weights / max(float(weights.sum()), 1e-9))[:, None])
        lengths = np.linalg.norm(centred, axis=1, keepdims=True)
        return np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 1e-9)

    return np.asarray(unit(here) @ unit(there).T, np.float64)


def _assign(cost: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the public item of each hidden one so that all together fit best; -1 for none left."""
    here, there = linear_sum_assignment(cost)
    matched = np.full(cost.shape[0], -1)
    matched[here] = there
    return matched


def _leads(cost: NDArray[np.float64], matched: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return by how much each item's match fits better than the best of its others."""
    if cost.shape[1] < 2:
        return np.zeros(matched.size)
    places = np.arange(matched.size)
    own = np.where(matched >= 0, cost[places, matched], np.inf)
    lowest = np.partition(cost, 1, axis=1)[:, :2]
    other = np.where(own <= lowest[:, 0], lowest[:, 1], lowest[:, 0])
    return np.where(matched >= 0, other - own, 0.0)
