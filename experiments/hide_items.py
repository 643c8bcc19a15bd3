r"""What is left of hidden items? Releases with pseudonyms for items, against public tables.

    python experiments/hide_items.py RATINGS [--k 5] [--seed 0] [--users N] [--methods sparse ...]
    python experiments/hide_items.py RATINGS --own [--methods sparse ...]
    python experiments/hide_items.py u.data --titles u.item --public ratings.csv \
        --public-titles movies.csv

Narayanan & Shmatikov (2008), section 6, ask whether it helps to publish no names of columns. Here
the hidden table is a release of half of the users, and the public one holds the ratings of the
other half, who share no user: items are matched without names, then users are looked for. With
`--users`, the hidden half has so many, and the public table all others; next to it, the hidden
users's own half stands in for a public table, as in `recveil audit` without a catalogue. With
`--own`, all users are hidden, and the adversary knows the ratings of half of them. With
`--public`, the public table is from another source, and titles tell which items are the same; with
`--shop`, the adversary knows which titles the hidden table has, and leaves out all others.

For each kind of release: the share of items that are named right among the 10, 50 and 100 that most
users rated, and among all; the same by rank of popularity alone, and with 16 known items; and
users found by two adversaries, with the control (the same names dealt to other items) and what
would be found if items were not hidden.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from arguments import parser_of, ratings_file

from recveil.attacks import PRESETS, AttackTarget, choose_targets
from recveil.attacks.knowledge import without_dates
from recveil.attacks.membership.inference import only
from recveil.attacks.reidentification.hidden_items import (
    Catalogue,
    HiddenItems,
    attack_hidden_items,
)
from recveil.io import read_ratings
from recveil.methods.registry import make_variant
from recveil.ratings import Ratings

VARIANTS = ("raw", "simple", "padded", "k-corating-item-mean", "sparse")
ADVERSARIES = ("public-profile", "insider")


def main() -> None:
    """Make releases, name their items, and print how many are right."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--users", type=int)
    parser.add_argument("--methods", nargs="+", default=VARIANTS)
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--titles", type=Path)
    parser.add_argument("--public", type=Path)
    parser.add_argument("--public-titles", type=Path)
    parser.add_argument("--shop", action="store_true")
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, times=False, duplicates="last")
    if options.public is not None:
        catalogue = from_another_source(options.public, options.public_titles, options.titles)
        if options.shop:
            catalogue = only_of_shop(catalogue)
        describe(ratings, Catalogue(catalogue, "another source"), options)
        return
    if options.own:
        describe(ratings, None, options)
        return
    order = np.random.default_rng(options.seed).permutation(ratings.n_users)
    size = options.users or ratings.n_users // 2
    hidden, public = (only(ratings, np.sort(part)) for part in (order[:size], order[size:]))
    describe(hidden, Catalogue(public, "others"), options)
    if options.users:
        describe(hidden, None, options)


def from_another_source(public: Path, public_titles: Path, titles: Path) -> Ratings:
    """Read public ratings whose items have the ids of the hidden table where titles are the same.

    Titles are those of MovieLens: lines of ``id|title|...`` here, and of ``id,title,...`` there.
    """
    with titles.open(encoding="latin-1", newline="") as lines:
        id_of = {row[1].strip().casefold(): row[0] for row in csv.reader(lines, delimiter="|")}
    with public_titles.open(encoding="utf-8", newline="") as lines:
        title_of = {row[0]: row[1].strip().casefold() for row in csv.reader(lines)}
    found = read_ratings(public, times=False)
    names = np.array(
        [id_of.get(title_of.get(str(item), ""), f"other {item}") for item in found.items], object
    )
    # Two public items of one title would be one: the second keeps its own id.
    _, first = np.unique(names, return_index=True)
    again = np.setdiff1d(np.arange(names.size), first)
    names[again] = [f"other {found.items[place]}" for place in again]
    shared = sum(not str(name).startswith("other ") for name in names)
    print(f"{shared} items have the same title.")
    return Ratings.from_columns(
        found.users[found.user_positions()], names[found.indices], found.values, scale=found.scale
    )


def only_of_shop(catalogue: Ratings) -> Ratings:
    """Leave out items of other titles, as a user can who knows what the hidden shop sells."""
    kept = np.array([not str(name).startswith("other ") for name in catalogue.items])
    kept = kept[catalogue.indices]
    users = catalogue.users[catalogue.user_positions()[kept]]
    items = catalogue.items[catalogue.indices[kept]]
    return Ratings.from_columns(users, items, catalogue.values[kept], scale=catalogue.scale)


def describe(ratings: Ratings, catalogue: Catalogue | None, options: argparse.Namespace) -> None:
    """Print a line for each kind of release and each adversary."""
    against = "their own half" if catalogue is None else f"{catalogue.ratings.n_users} others"
    print(f"\n{ratings.n_users} users hidden, {ratings.n_items} items, against {against}:\n")
    print("| release | named right: 10, 50, 100, all | by rank alone | with 16 known | users |")
    print("|---|---|---|---|---|")
    adversaries = [without_dates(ratings, PRESETS[name], "none") for name in ADVERSARIES]
    seed = options.seed
    targets = choose_targets(ratings.n_users, 1000, seed)
    for variant in options.methods:
        anonymizer = make_variant(variant, None if variant == "raw" else options.k, seed)
        table = AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)
        found = attack_hidden_items(
            *(ratings, table, adversaries, targets, seed),
            catalogue=catalogue,
            anonymizer=anonymizer,
        )
        print_line(variant, found)


def print_line(variant: str, found: HiddenItems) -> None:
    """Print what was named, and who was found."""
    named = (
        " / ".join(f"{tier.rate:.0%}" for tier in result.values())
        for result in (found.named, found.by_rank, found.with_known)
    )
    all_users = "; ".join(
        f"{one.adversary} {one.reidentified.rate:.1%} ({one.reidentified.low:.1%} to "
        f"{one.reidentified.high:.1%}; by rank {one.by_rank.rate:.1%}, control "
        f"{one.control.rate:.1%}, names known {one.names_known.rate:.1%})"
        for one in found.attacks
    )
    print(f"| {variant} | {' | '.join(named)} | {all_users} |", flush=True)


if __name__ == "__main__":
    main()
