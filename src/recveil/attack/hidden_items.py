"""Hidden items: how many can be named again, and how many people are found with these names."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.adversary import Adversary
from recveil.attack.candidates import Candidates
from recveil.attack.held_out import only
from recveil.attack.item_matching import (
    FIRST_HIDDEN,
    FIRST_PUBLIC,
    OTHER_USERS,
    SAME_USERS,
    Differences,
    ItemNames,
    match_by_rank,
    match_items,
)
from recveil.attack.item_side import ItemSide
from recveil.attack.on_release import attack_release, find_co_rated_strikes
from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import Interval, no_better, wilson_interval
from recveil.brief import brief
from recveil.errors import RecveilError, describe_count
from recveil.ratings import Ratings
from recveil.release.anonymizer import Anonymizer
from recveil.release.records import Records

# Of the items that most people rated, so many are looked at, and all.
TIERS = (10, 50, 100)
# Items that the adversary is told in a second attempt, drawn from the 200 that most people rated.
KNOWN_ITEMS, _KNOWN_AMONG = 16, 200


@brief
class Catalogue(NamedTuple):
    """A public table of other people's ratings, whose items have names.

    Attributes
    ----------
    ratings : Ratings
    name : str
        For people.
    is_own : bool
        Whether it is half of the released people themselves, for want of another.
    """

    ratings: Ratings
    name: str
    is_own: bool = False


class FoundUnnamed(NamedTuple):
    """How many people one adversary finds where items are hidden.

    Attributes
    ----------
    adversary : str
    found : Interval
        With the names that the matching gives.
    by_rank : Interval
        With names by rank of popularity alone.
    control : Interval
        With the same names dealt to other items: what is found without knowing any.
    names_known : Interval
        The same people, if items were not hidden.
    """

    adversary: str
    found: Interval
    by_rank: Interval
    control: Interval
    names_known: Interval


@brief
@dataclass(frozen=True)
class HiddenItems:
    """What is left of the belief that nobody can tell which item is which.

    Parameters
    ----------
    items : int
        Hidden items.
    catalogue : Catalogue
        The public table.
    shadow : bool
        Whether a release of the catalogue like the one under attack was compared; otherwise its raw
        ratings were. Reported is the one that names more items, the top 100 and all alike.
    named, by_rank, with_known : dict of str to Interval
        Share of the items that are named right; "10": of the ten that most people rated; and so on,
        and "all". By the matching; by rank of popularity alone; by the matching if 16 items are
        known, which do not count.
    people : list of FoundUnnamed
        By adversary.
    left_out : int
        Hidden items that were not looked at, because there are too many.
    looked_at : dict of str to (int, int)
        Of how many of its rows the "release" was compared with how many of the "catalogue", and how
        many each has.
    """

    items: int
    catalogue: Catalogue
    shadow: bool
    named: dict[str, Interval]
    by_rank: dict[str, Interval]
    with_known: dict[str, Interval]
    people: list[FoundUnnamed]
    left_out: int = 0
    looked_at: dict[str, tuple[int, int]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "items": self.items,
            "catalogue": self.catalogue.name,
            "catalogue_is_own": self.catalogue.is_own,
            "shadow": self.shadow,
            "left_out": self.left_out,
            "looked_at": {
                table: {"rows": rows[0], "of_rows": rows[1]}
                for table, rows in self.looked_at.items()
            },
            "known_items": KNOWN_ITEMS,
            **{
                name: {tier: found._asdict() for tier, found in named.items()}
                for name, named in (
                    ("named", self.named),
                    ("named_by_rank", self.by_rank),
                    ("named_with_known", self.with_known),
                )
            },
            "people": [
                {
                    name: value._asdict() if isinstance(value, Interval) else value
                    for name, value in found._asdict().items()
                }
                for found in self.people
            ],
        }

    def _facts(self) -> dict[str, object]:
        return {"items": self.items, "named": f"{self.named['all'].rate:.1%}"}


def attack_hidden_items(
    ratings: Ratings,
    table: ReleasedTable,
    adversaries: Sequence[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    catalogue: Catalogue | None = None,
    anonymizer: Anonymizer | None = None,
) -> HiddenItems:
    """Name the hidden items of a release with the help of a public table, then look for people.

    Parameters
    ----------
    ratings : Ratings
        The truth: what the release was made of.
    table : ReleasedTable
        The release, with the items' true positions, which judge and are not looked at.
    adversaries : sequence of Adversary
    targets : ndarray of int64
        User positions; without a catalogue, those in the public half are left out.
    seed : int
    catalogue : Catalogue, optional
        Half of the people themselves, if not given.
    anonymizer : Anonymizer, optional
        Makes such releases, as everybody can whom the settings tell how.

    Raises
    ------
    RecveilError
        If no item of the catalogue is in the ratings, so that no attack can be measured.

    Notes
    -----
    Half of the people as the public table stand in the release, too. Two halves that share nobody
    give less; `experiments/hide_items.py` has both. What another public table gives depends on it,
    and is measured where one is given as the catalogue.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=200, n_items=30, n_ratings=2000, seed=1)
    >>> release = PredictiveAnonymizer(k=2, homogenize="simple", seed=1).anonymize(ratings)
    >>> table = ReleasedTable.from_release(release, ratings)
    >>> found = attack_hidden_items(ratings, table, [Adversary(known=4)], np.arange(200))
    >>> found.items, found.named["10"].trials
    (30, 10)
    """
    if catalogue is None:
        catalogue, targets = _own_half(ratings, table, targets, seed)
    names = _positions_of(catalogue.ratings, ratings)
    publics = _public_sides(catalogue.ratings, anonymizer, seed)
    raw = publics[0]
    # The adversary sees the columns in an order of their own.
    order = np.random.default_rng([seed, 7]).permutation(ratings.n_items)
    hidden = ItemSide.of_release(_moved(table, order, ratings), ratings.scale, seed)
    known = _some_known(ratings, table, order, names, seed)
    told = order[np.array(list(known), np.int64)]
    released = np.unique(table.indices).astype(np.int64)

    def named_by(found: ItemNames) -> NDArray[np.int64]:
        return _as_positions(found, order, names)

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
        with_known=_named(guesses[2], ratings, np.setdiff1d(released, told)),
        people=_look_for(ratings, table, adversaries, targets, guesses, seed),
        left_out=hidden.n_left_out,
        looked_at={
            "release": (hidden.n_rows, hidden.of_rows),
            "catalogue": (public.n_rows, public.of_rows),
        },
    )


def _own_half(
    ratings: Ratings, table: ReleasedTable, targets: NDArray[np.int64], seed: int
) -> tuple[Catalogue, NDArray[np.int64]]:
    """Return half of the released people as a public table, and the targets of the other half."""
    people = np.random.default_rng([seed, 8]).permutation(np.flatnonzero(table.record_of >= 0))
    public = np.sort(people[: people.size // 2])
    others = targets[~np.isin(targets, public)]
    half = Catalogue(only(ratings, public), "half of the people themselves", is_own=True)
    return half, others


def _positions_of(catalogue: Ratings, ratings: Ratings) -> NDArray[np.int64]:
    """Return where the catalogue's items stand in the ratings, by their names; -1 for others."""
    place_of = {str(item): place for place, item in enumerate(ratings.items.tolist())}
    names = np.array([place_of.get(str(item), -1) for item in catalogue.items.tolist()], np.int64)
    if (names < 0).all():
        raise RecveilError(
            f"catalogue: none of its {describe_count(names.size, 'item')} is in the ratings; it "
            f"must use their item ids, such as {str(ratings.items[0])[:40]!r}",
            code="id.unknown",
        )
    return names


def _public_sides(catalogue: Ratings, anonymizer: Anonymizer | None, seed: int) -> list[ItemSide]:
    """Describe the public items from raw ratings and, last, from a release like the hidden one."""
    sides = [ItemSide.of_ratings(catalogue, seed)]
    if anonymizer is not None:
        try:
            release = anonymizer.anonymize(catalogue)
        except RecveilError:  # too few people, say: then they have the ratings as they are
            pass
        else:
            table = ReleasedTable.from_release(release, catalogue)
            sides.append(ItemSide.of_release(table, catalogue.scale, seed))
    return sides


def _choices(
    hidden: ItemSide, publics: list[ItemSide], catalogue: Catalogue
) -> list[tuple[ItemSide, Differences]]:
    """Return what can be compared: raw ratings differ less if they are of the same users."""
    raw, release = publics[0], publics[-1]
    if hidden.is_full:  # rows of all items are like no raw ratings
        return [(release, OTHER_USERS)]
    choices = [(raw, SAME_USERS), (release, OTHER_USERS)]
    return choices if catalogue.is_own else [*choices, (raw, OTHER_USERS)]


def _moved(table: ReleasedTable, order: NDArray[np.int64], ratings: Ratings) -> ReleasedTable:
    """Return the release with item ``order[i]`` in column i."""
    return _relabelled(table, np.argsort(order), ratings)


def _relabelled(table: ReleasedTable, names: NDArray[np.int64], ratings: Ratings) -> ReleasedTable:
    """Return the release as somebody reads it who takes item i for ``names[i]``; -1 is left out."""
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
    table: ReleasedTable,
    order: NDArray[np.int64],
    names: NDArray[np.int64],
    seed: int,
) -> dict[int, int]:
    """Draw items that the adversary is told: hidden columns, and the catalogue's positions."""
    both = np.intersect1d(np.unique(table.indices), names[names >= 0])
    popular = both[np.argsort(-ratings.support[both], kind="stable")][:_KNOWN_AMONG]
    rng = np.random.default_rng([seed, 9])
    drawn = rng.choice(popular, min(KNOWN_ITEMS, popular.size // 2), replace=False)
    column_of, named_by = np.argsort(order), {name: at for at, name in enumerate(names.tolist())}
    return {int(column_of[item]): named_by[int(item)] for item in drawn}


def _as_positions(
    found: ItemNames, order: NDArray[np.int64], names: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each item of the ratings which one it is taken for; -1 for none of them."""
    taken_for = np.full(order.size, -1)
    taken_for[order] = np.where(found.guess >= 0, names[found.guess], -1)
    return taken_for


def _named(
    taken_for: NDArray[np.int64], ratings: Ratings, items: NDArray[np.int64]
) -> dict[str, Interval]:
    """Count the items that are taken for what they are, the ones that most people rated first."""
    by_rank = items[np.argsort(-ratings.support[items], kind="stable")]
    right = taken_for[by_rank] == by_rank
    sizes = {str(size): min(size, right.size) for size in TIERS} | {"all": right.size}
    return {tier: wilson_interval(int(right[:size].sum()), size) for tier, size in sizes.items()}


def _look_for(
    ratings: Ratings,
    table: ReleasedTable,
    adversaries: Sequence[Adversary],
    targets: NDArray[np.int64],
    guesses: Sequence[NDArray[np.int64]],
    seed: int,
) -> list[FoundUnnamed]:
    """Look for people in the release as it reads with each way to name its items."""
    matched, by_rank, _ = guesses
    dealt = np.random.default_rng([seed, 10]).permutation(matched)
    rates: list[list[Interval]] = []
    for names in (matched, by_rank, dealt, np.arange(ratings.n_items)):
        read = _relabelled(table, names, ratings)
        strikes = find_co_rated_strikes(read, ratings.scale)
        attacks = (
            attack_release(ratings, read, adversary, targets, seed, strikes=strikes)
            for adversary in adversaries
        )
        rates.append([attack.person_found for attack in attacks])
    return [
        FoundUnnamed(adversary.name, *found)
        for adversary, *found in zip(adversaries, *rates, strict=True)
    ]


def describe_hidden_items(found: HiddenItems) -> list[str]:
    """Describe how well an adversary names hidden items, and finds users by these names."""
    source = f"with {found.catalogue.name} as the public table"
    if found.catalogue.is_own:
        source = (
            "with half of the release's own users as the public table (a table of other users was "
            "not tried: give one as a catalogue, --catalogue)"
        )
    top, all_, by_rank = found.named["100"], found.named["all"], found.by_rank["100"]
    rank, beside = "their rank alone gives", f" (by rank of popularity alone {by_rank.rate:.1%})"
    said = [
        f"The rates above are those of an adversary who knows which item is which. Hidden items "
        f"are named again, {source}: {_percent(top)} of the {top.trials} that most users rated"
        f"{no_better(top, by_rank.rate, rank) or beside}, and {_percent(all_)} of all "
        f"{found.items:,}; {_percent(found.with_known['all'])} if {KNOWN_ITEMS} are known."
    ]
    if found.left_out:
        said.append(
            f"{found.left_out:,} hidden items with the fewest labels were not attacked, and count "
            f"as not named."
        )
    said += [
        f"Of the {table}'s {describe_count(of_rows, 'row')}, a random sample of {rows:,} was used "
        f"to name the items; an adversary who uses all of them may name more."
        for table, (rows, of_rows) in found.looked_at.items()
        if rows < of_rows
    ]
    if not found.people:
        return said
    worst = max(found.people, key=lambda one: one.found.rate)
    if not worst.found.trials:
        return [*said, "With these names no user could be attacked, which shows nothing."]
    control = "the same names dealt to other items give"
    nothing_new = no_better(worst.found, worst.control.rate, control)
    said.append(
        f"With these names “{worst.adversary}” finds {_percent(worst.found)} of "
        f"{describe_count(worst.found.trials, 'user')}"
        f"{nothing_new}; {worst.control.rate:.1%} with the same names "
        f"dealt to other items, and {worst.names_known.rate:.1%} if items were not hidden. Better "
        f"matchings may name more: do not count on hidden items."
    )
    return said


def _percent(found: Interval) -> str:
    return f"{found.rate:.1%} ({found.low:.1%} to {found.high:.1%})"
