"""Re-identification of hidden items, and of users through them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from recveil.attacks.adversary import Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.candidates import Candidates
from recveil.attacks.knowledge import choose_targets
from recveil.attacks.membership.inference import only
from recveil.attacks.reidentification.on_release import attack_release, find_co_rated_strikes
from recveil.attacks.statistics import Interval, wilson_interval
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.records import Records
from recveil.release.sides import Anonymizer
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.number_format import percent
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

# With more rows, a random sample is used; with more items, those with the most values.
_MOST_ROWS, _MOST_ITEMS = 20_000, 3_000
# In full rows, values count as ratings if their residual from a fit of this rank exceeds this many
# median residuals: predictions are smooth, and ratings are not.
_FACTORS, _OUTLYING = 10, 3.0
# Share of cells with values above which a table counts as full.
_FULL = 0.95


@brief
@dataclass(frozen=True, eq=False)
class ItemSide:
    """Statistics of at most 3,000 items, those with most values, that do not need their names."""

    items: NDArray[np.int64]  # positions in the table, shape (n_kept,) as of all vectors
    # Users whose rows hold the item; in full rows, the rows whose value is far from a smooth fit,
    # as ratings are.
    counts: NDArray[np.float64]
    n_rows: int
    n_counted: float  # denominator of `counts`: users, or full rows
    means: NDArray[np.float64]  # in quarters of the scale
    # Standard deviation about the mean of their row, in quarters of the scale.
    spreads: NDArray[np.float64]
    # Co-occurrence beyond chance: a correlation, shape (n_kept, n_kept). None for full rows.
    together: NDArray[np.float32] | None
    alike: NDArray[np.float32]  # correlation of the values of two items, shape (n_kept, n_kept)
    n_left_out: int = 0  # items that are not described
    of_rows: int = 0  # rows of the table; of more than 20,000, a random sample of 20,000 is used

    @classmethod
    def of_ratings(cls, ratings: Ratings, seed: int = 0) -> "ItemSide":
        """Describe the items of raw ratings."""
        sizes = np.ones(ratings.n_users)
        rows = ratings.indptr, ratings.indices, ratings.values
        return _describe(*rows, sizes, ratings.n_items, ratings.scale, seed)

    @classmethod
    def of_release(cls, table: AttackTarget, scale: RatingScale, seed: int = 0) -> "ItemSide":
        """Describe the items of a release; rows are weighted by their users."""
        sizes = table.candidates.sizes.astype(np.float64)
        n_items = table.n_items
        rows = table.indptr, table.indices, table.values
        return _describe(*rows, sizes, n_items, scale, seed)

    @property
    def is_full(self) -> bool:
        """Whether the rows hold nearly all items, so that holding one reveals nothing."""
        return self.together is None

    def top(self, n_items: int) -> "ItemSide":
        """Return the description of the items with the highest counts."""
        if n_items >= self.items.size:
            return self
        kept = np.sort(np.argsort(-self.counts, kind="stable")[:n_items])
        pairs = np.ix_(kept, kept)
        return replace(
            self,
            items=self.items[kept],
            counts=self.counts[kept],
            means=self.means[kept],
            spreads=self.spreads[kept],
            together=None if self.together is None else self.together[pairs],
            alike=self.alike[pairs],
            n_left_out=self.n_left_out + self.items.size - n_items,
        )

    def _facts(self) -> dict[str, object]:
        return {"items": self.items.size, "rows": self.n_rows}


def _describe(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    sizes: NDArray[np.float64],
    n_items: int,
    scale: RatingScale,
    seed: int,
) -> ItemSide:
    support = np.bincount(indices, minlength=n_items)
    n_released = int((support > 0).sum())
    kept = np.sort(np.argsort(-support, kind="stable")[: min(n_released, _MOST_ITEMS)])
    rows = choose_targets(sizes.size, _MOST_ROWS, seed)
    values, is_rated = _dense(
        indptr, indices, (values - scale.low) / (scale.range / 4 or 1.0), rows, kept
    )
    shares = np.sqrt(sizes[rows] / sizes[rows].sum()).astype(np.float32)[:, None]
    weights = sizes[rows, None].astype(np.float32)
    counts, n_counted = (weights * is_rated).sum(0), float(sizes[rows].sum())
    means = (weights * values).sum(0) / np.maximum((weights * is_rated).sum(0), 1e-9)
    off = (values - means) * is_rated
    centred = off - is_rated * _mean_of_rows(off, is_rated)
    spreads = np.sqrt((weights * centred**2).sum(0) / np.maximum((weights * is_rated).sum(0), 1e-9))
    is_full = bool(is_rated.mean() > _FULL)
    with one_thread():  # the last bit of a sum can change the assignment
        if is_full:
            counts, n_counted = _outlying(off), float(rows.size)
        alike = _correlation(centred * shares)
        together = None if is_full else _correlation(_beyond_chance(is_rated) * shares)
    return ItemSide(
        items=kept,
        counts=counts.astype(np.float64),
        n_rows=rows.size,
        n_counted=n_counted,
        means=means.astype(np.float64),
        spreads=spreads.astype(np.float64),
        together=together,
        alike=alike,
        n_left_out=n_released - kept.size,
        of_rows=sizes.size,
    )


def _dense(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    rows: NDArray[np.int64],
    kept: NDArray[np.int64],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the values of some rows and items, and a mask of them; shape (rows, items)."""
    column_of = np.full(int(max(indices.max(initial=0), kept.max(initial=0))) + 1, -1)
    column_of[kept] = np.arange(kept.size)
    dense = np.zeros((rows.size, kept.size), np.float32)
    is_rated = np.zeros_like(dense)
    for at, row in enumerate(rows.tolist()):
        cells = slice(indptr[row], indptr[row + 1])
        columns = column_of[indices[cells]]
        is_kept = columns >= 0
        dense[at, columns[is_kept]] = values[cells][is_kept]
        is_rated[at, columns[is_kept]] = 1
    return dense, is_rated


def _mean_of_rows(off: NDArray[np.float32], is_rated: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each row's mean deviation from the items' means, shape (n_rows, 1)."""
    mean = off.sum(1) / np.maximum(is_rated.sum(1), 1)
    return np.asarray(mean[:, None], np.float32)


def _beyond_chance(is_rated: NDArray[np.float32]) -> NDArray[np.float32]:
    """Subtract the occurrence expected from the row's length and the item's popularity."""
    share, length = is_rated.mean(0), is_rated.sum(1)
    chance = np.minimum(length[:, None] / max(float(length.mean()), 1e-9) * share, 1)
    return np.asarray(is_rated - chance, np.float32)


def _correlation(columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of each pair of columns; 0 on the diagonal and for empty ones."""
    lengths = np.linalg.norm(columns, axis=0)
    unit = np.divide(columns, lengths, out=np.zeros_like(columns), where=lengths > 1e-6)
    found = unit.T @ unit
    np.fill_diagonal(found, 0)
    return np.asarray(found, np.float32)


def _outlying(off: NDArray[np.float32]) -> NDArray[np.float64]:
    """Count, for each item of full rows, the values far from a smooth fit."""
    left, strengths, right = np.linalg.svd(off, full_matrices=False)
    # With few rows, as many factors would leave no residuals.
    factors = min(_FACTORS, strengths.size // 4)
    residuals = np.abs(off - (left[:, :factors] * strengths[:factors]) @ right[:factors])
    return np.asarray((residuals > _OUTLYING * np.median(residuals)).sum(0), np.float64)


# Number of items, those with most values, that the first round relies on; its growth; rounds.
_FIRST_BELIEVED, _MORE_BELIEVED, _ROUNDS = 100, 1.6, 9
# Weights of the agreement of an item's correlations, against its own statistics.
_WEIGHT_OF_COMPANY, _WEIGHT_OF_ALIKE = 40.0, 0.5
_WEIGHT_IN_FULL_ROWS = 20.0
# Number of values at which an item has half of the full weight.
_HALF_BELIEVED = 20
# The items with the highest counts are matched first, of which the public table may lack some; they
# are relied on when all are matched.
FIRST_HIDDEN, FIRST_PUBLIC = 1000, 1500
_LEAST_SPREAD = 0.01
# If the public users are among the hidden ones, chance is at least this share of the usual.
_LEAST_NESTED = 0.3
# Number of quantiles of an item's correlations, and of popular items for them; a quantile has this
# share of one correlation's variance.
_QUANTILES, _SHAPED_BY, _QUANTILE_NOISE = 16, 200, 0.1
_NEVER = 1e6


@brief
class Differences(NamedTuple):
    """Variation of the same item between two tables beyond chance."""

    # Variances: of the logarithm of the count, and of the statistics of its values
    counts: float
    means: float
    spreads: float
    # Whether the quantiles of an item's correlations are comparable
    shapes: bool
    # Whether the public users are among the hidden ones: a sample without replacement varies less
    # by chance than two samples
    is_nested: bool = False
    # Largest number of matched items, those with the most values, that help to match the others
    most_believed: int = FIRST_HIDDEN


# Tables of other users, and a table of some of the same users.
OTHER_USERS = Differences(0.1, 0.03, 0.02, shapes=True)
SAME_USERS = Differences(0.0005, 0.003, 0.02, shapes=False, is_nested=True, most_believed=400)


@brief
class ItemNames(NamedTuple):
    """Public item guessed for each hidden item (-1 if none is left), and its lead over the next."""

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

    After Narayanan & Shmatikov (2008), section 6, and their propagation from `known` nodes (2009):
    minimum-cost assignment by counts, means and spreads; each further round adds the correlations
    with the most reliable items, first for the highest counts, then for all.
    """
    known = known or {}
    few = hidden.top(FIRST_HIDDEN), public.top(FIRST_PUBLIC)
    with one_thread():  # the last bit of a sum can change the assignment
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
    costs = _cost_of_record(hidden, public, differ)
    _fix(costs, hidden, public, known)
    if start is None:
        cost, matched, rounds = costs, _assign(costs), _rounds(hidden, known, differ.most_believed)
    else:
        cost, matched = costs, start
        rounds = [np.argsort(-hidden.counts, kind="stable")[: differ.most_believed]]
    for believed in rounds:
        sure = believed[matched[believed] >= 0]
        cost = costs - _company(hidden, public, matched, sure)
        matched = _assign(cost)
    return matched, cost


def match_by_rank(hidden: ItemSide, public: ItemSide, n_hidden: int) -> ItemNames:
    """Match the items of equal popularity rank: the baseline.

    Full rows all hold every item, so that their items are ranked by mean value.
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


def _cost_of_record(hidden: ItemSide, public: ItemSide, differ: Differences) -> NDArray[np.float64]:
    """Return each pair's squared differences over chance, shape (hidden, public)."""
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
    """Return the distance of the quantiles of each two items' correlations with popular items."""
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
    """Return the differences of a statistic, standardized on the popular items."""
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
    place_here = {item: place for place, item in enumerate(hidden.items.tolist())}
    place_there = {item: place for place, item in enumerate(public.items.tolist())}
    for item, name in known.items():
        if item in place_here and name in place_there:
            here, there = place_here[item], place_there[name]
            cost[here, :] = _NEVER
            cost[:, there] = _NEVER
            cost[here, there] = -_NEVER


def _rounds(hidden: ItemSide, known: dict[int, int], most: int) -> list[NDArray[np.int64]]:
    """Return the items that each round relies on: first the known, then those of most values."""
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
    """Return the agreement of each pair's correlations with sure items; shape (hidden, public)."""
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
    """Return the public item of each hidden one at minimum total cost; -1 if none is left."""
    here, there = linear_sum_assignment(cost)
    matched = np.full(cost.shape[0], -1)
    matched[here] = there
    return matched


def _leads(cost: NDArray[np.float64], matched: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the lead of each item's match over its best other one."""
    if cost.shape[1] < 2:
        return np.zeros(matched.size)
    places = np.arange(matched.size)
    costs = np.where(matched >= 0, cost[places, matched], np.inf)
    lowest = np.partition(cost, 1, axis=1)[:, :2]
    other = np.where(costs <= lowest[:, 0], lowest[:, 1], lowest[:, 0])
    return np.where(matched >= 0, other - costs, 0.0)


# Results are reported for the 10, 50 and 100 most rated items, and for all.
TIERS = (10, 50, 100)
# Number of items that the adversary knows in a second attempt, drawn from the 200 most rated.
KNOWN_ITEMS, _KNOWN_AMONG = 16, 200


@brief
class Catalogue(NamedTuple):
    """A public table of other users' ratings, with named items."""

    ratings: Ratings
    # Display name
    name: str
    # Whether it is half of the released users themselves, if no other is given
    is_half_of_users: bool = False


class HiddenItemRates(NamedTuple):
    """Re-identification rates of one adversary where items are hidden."""

    adversary: str
    reidentified: Interval  # names by the matching
    by_rank: Interval  # names by popularity rank
    control: Interval  # names shuffled over the items
    names_known: Interval


@brief
@dataclass(frozen=True)
class HiddenItems:
    """Results of the attack on hidden items."""

    items: int
    catalogue: Catalogue
    shadow: bool
    named: dict[str, Interval]
    by_rank: dict[str, Interval]
    with_known: dict[str, Interval]
    attacks: list[HiddenItemRates]
    left_out: int = 0
    sampled: dict[str, tuple[int, int]] = field(default_factory=dict)

    def _facts(self) -> dict[str, object]:
        return {"items": self.items, "named": percent(self.named["all"].rate)}


def attack_hidden_items(
    ratings: Ratings,
    table: AttackTarget,
    adversaries: Sequence[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    catalogue: Catalogue | None = None,
    anonymizer: Anonymizer | None = None,
) -> HiddenItems:
    """Match the hidden items of a release with a public table, then re-identify users.

    If half of the users is the public table, they are in the release as well. Two disjoint halves
    give lower rates; `experiments/hide_items.py` has both. Other public tables must be measured by
    passing them as the catalogue.
    """
    if catalogue is None:
        catalogue, targets = _known_half(ratings, table, targets, seed)
    names = _positions_of(catalogue.ratings, ratings)
    publics = _public_sides(catalogue.ratings, anonymizer, seed)
    raw = publics[0]
    # The adversary sees the columns in random order.
    order = np.random.default_rng([seed, 7]).permutation(ratings.n_items)
    shuffled = _with_item_ids(table, np.argsort(order), ratings)
    hidden = ItemSide.of_release(shuffled, ratings.scale, seed)
    known = _some_known(ratings, table, order, names, seed)
    known_to_adversary = order[np.array(list(known), np.int64)]
    released = sorted_unique(table.indices).astype(np.int64)

    def named_by(found: ItemNames) -> NDArray[np.int64]:
        """Return the guessed identity of each item of the ratings; -1 for none."""
        taken_for = np.full(order.size, -1)
        taken_for[order] = np.where(found.guess >= 0, names[found.guess], -1)
        return taken_for

    few, right = hidden.top(FIRST_HIDDEN), []
    choices = _choices(hidden, publics, catalogue)
    for side, apart in choices if len(choices) > 1 else []:
        found = match_items(few, side.top(FIRST_PUBLIC), ratings.n_items, differ=apart)
        named = _named(named_by(found), ratings, released)
        right.append(named["100"].rate + named["all"].rate)
    public, differ = choices[int(np.argmax(right)) if right else 0]
    guesses = [
        named_by(found)
        for found in (
            match_items(hidden, public, ratings.n_items, differ=differ),
            match_by_rank(hidden, publics[-1], ratings.n_items),
            match_items(hidden, public, ratings.n_items, known, differ),
        )
    ]
    return HiddenItems(
        items=released.size,
        catalogue=catalogue,
        shadow=public is not raw,
        named=_named(guesses[0], ratings, released),
        by_rank=_named(guesses[1], ratings, released),
        with_known=_named(guesses[2], ratings, np.setdiff1d(released, known_to_adversary)),
        attacks=_reidentify(ratings, table, adversaries, targets, guesses, seed),
        left_out=hidden.n_left_out,
        sampled={
            "release": (hidden.n_rows, hidden.of_rows),
            "catalogue": (public.n_rows, public.of_rows),
        },
    )


def _known_half(
    ratings: Ratings, table: AttackTarget, targets: NDArray[np.int64], seed: int
) -> tuple[Catalogue, NDArray[np.int64]]:
    """Return half of the released users as a public table, and the targets of the other half."""
    users = np.random.default_rng([seed, 8]).permutation(np.flatnonzero(table.record_of >= 0))
    public = np.sort(users[: users.size // 2])
    others = targets[~np.isin(targets, public)]
    half = Catalogue(only(ratings, public), "half of the users", is_half_of_users=True)
    return half, others


def _positions_of(catalogue: Ratings, ratings: Ratings) -> NDArray[np.int64]:
    """Return the catalogue items' positions in the ratings, by name; -1 for others."""
    place_of = {str(item): place for place, item in enumerate(ratings.items.tolist())}
    names = np.array([place_of.get(str(item), -1) for item in catalogue.items.tolist()], np.int64)
    if (names < 0).all():
        raise RecveilError(
            f"item_catalog (--item-catalog): none of its {describe_count(names.size, 'item')} is "
            f"in the ratings; it must use their item ids, such as {str(ratings.items[0])[:40]!r}",
            code="id.unknown",
        )
    return names


def _public_sides(catalogue: Ratings, anonymizer: Anonymizer | None, seed: int) -> list[ItemSide]:
    """Describe the public items from raw ratings and, last, from a shadow release."""
    sides = [ItemSide.of_ratings(catalogue, seed)]
    if anonymizer is not None:
        try:
            release = anonymizer.anonymize(catalogue)
        except RecveilError:  # such as too few users: only the raw ratings are used
            pass
        else:
            table = AttackTarget.from_release(release, catalogue)
            sides.append(ItemSide.of_release(table, catalogue.scale, seed))
    return sides


def _choices(
    hidden: ItemSide, publics: list[ItemSide], catalogue: Catalogue
) -> list[tuple[ItemSide, Differences]]:
    """Return the comparisons to try: raw ratings differ less if they are of the same users."""
    raw, release = publics[0], publics[-1]
    if hidden.is_full:  # full rows are unlike raw ratings
        return [(release, OTHER_USERS)]
    choices = [(raw, SAME_USERS), (release, OTHER_USERS)]
    return choices if catalogue.is_half_of_users else [*choices, (raw, OTHER_USERS)]


def _with_item_ids(table: AttackTarget, names: NDArray[np.int64], ratings: Ratings) -> AttackTarget:
    """Return the release with item i renamed to ``names[i]``; -1 is left out."""
    row_of = np.repeat(np.arange(table.indptr.size - 1), np.diff(table.indptr))
    items = names[table.indices]
    kept = np.flatnonzero(items >= 0)
    sorted_ = kept[np.lexsort((items[kept], row_of[kept]))]
    lengths = np.bincount(row_of[sorted_], minlength=table.indptr.size - 1)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices, values = items[sorted_].astype(np.int32), table.values[sorted_]
    records = Records(table.candidates.sizes, indptr, indices, values)
    candidates = Candidates.from_records([records], ratings.n_items, ratings.scale)
    return replace(table, candidates=candidates, indptr=indptr, indices=indices, values=values)


def _some_known(
    ratings: Ratings,
    table: AttackTarget,
    order: NDArray[np.int64],
    names: NDArray[np.int64],
    seed: int,
) -> dict[int, int]:
    """Draw the items that the adversary knows: hidden columns, and the catalogue's positions."""
    both = np.intersect1d(sorted_unique(table.indices), names[names >= 0])
    popular = both[np.argsort(-ratings.support[both], kind="stable")][:_KNOWN_AMONG]
    rng = np.random.default_rng([seed, 9])
    drawn = rng.choice(popular, min(KNOWN_ITEMS, popular.size // 2), replace=False)
    column_of, named_by = np.argsort(order), {name: at for at, name in enumerate(names.tolist())}
    return {int(column_of[item]): named_by[int(item)] for item in drawn}


def _named(
    taken_for: NDArray[np.int64], ratings: Ratings, items: NDArray[np.int64]
) -> dict[str, Interval]:
    """Count the correctly named items, by popularity tier."""
    by_rank = items[np.argsort(-ratings.support[items], kind="stable")]
    right = taken_for[by_rank] == by_rank
    sizes = {str(size): min(size, right.size) for size in TIERS} | {"all": right.size}
    return {tier: wilson_interval(int(right[:size].sum()), size) for tier, size in sizes.items()}


def _reidentify(
    ratings: Ratings,
    table: AttackTarget,
    adversaries: Sequence[Adversary],
    targets: NDArray[np.int64],
    guesses: Sequence[NDArray[np.int64]],
    seed: int,
) -> list[HiddenItemRates]:
    matched, by_rank, _ = guesses
    shuffled = np.random.default_rng([seed, 10]).permutation(matched)
    rates: list[list[Interval]] = []
    for names in (matched, by_rank, shuffled, np.arange(ratings.n_items)):
        read = _with_item_ids(table, names, ratings)
        strikes = find_co_rated_strikes(read, ratings.scale)
        attacks = (
            attack_release(ratings, read, adversary, targets, seed, strikes=strikes)
            for adversary in adversaries
        )
        rates.append([attack.reidentified for attack in attacks])
    return [
        HiddenItemRates(adversary.name, *found)
        for adversary, *found in zip(adversaries, *rates, strict=True)
    ]
