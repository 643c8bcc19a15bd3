"""What do dates in a release of sparse rows reveal, and what do they show?

    python experiments/release_dates.py RATINGS [--k 5] [--dates week]

Makes releases without dates and with them, and with dates as they may be made naively: the lower
median of the days on which the users of the class rated the item. Prints how many users' classes,
and users, are found by two adversaries who know dates, and the AUC of membership inference. Then
how far the popular items of each month are those of the raw ratings: of the 100 most rated items of
a month, the share among the 100 of the release in that month, and, without dates, in all months.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from arguments import parser_of, ratings_file
from numpy.typing import NDArray
from two_releases import result

from recveil.attacks import PRESETS, Adversary, AttackTarget, attack_release
from recveil.attacks.membership.inference import hold_out, infer_memberships
from recveil.io import read_ratings
from recveil.methods import SparseRows
from recveil.publish import Release
from recveil.ratings import Ratings
from recveil.release.dates import first_days
from recveil.release.records import Records

ADVERSARIES = {
    "8 ratings, 2 wrong, dates within 14 days": PRESETS["paper"],
    "8 exact ratings and days": Adversary(known=8, date_error=0),
}
MONTH, N_POPULAR = 30, 100


def main() -> None:
    """Print both tables."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--dates", default="week")
    given = parser.parse_args()
    ratings = read_ratings(given.ratings)
    undated = SparseRows(given.k, seed=0)
    dated = SparseRows(given.k, seed=0, dates=given.dates)
    releases = {"none": undated.anonymize(ratings), given.dates: dated.anonymize(ratings)}
    naive = partial(of_members, releases[given.dates], ratings, given.dates)
    published = replace(releases[given.dates].published, blocks=naive)
    releases["of the class"] = replace(releases[given.dates], published=published)
    print("| dates | adversary | class | user |\n|---|---|---|---|")
    for name, release in releases.items():
        table = AttackTarget.from_release(release, ratings)
        for knows, adversary in ADVERSARIES.items():
            found = attack_release(ratings, table, adversary, np.arange(ratings.n_users))
            print(
                f"| {name} | {knows} | {result(found.class_reidentified)} | "
                f"{result(found.reidentified)} |"
            )
    print("\n| dates | ratings known | AUC of membership | control |\n|---|---|---|---|")
    for name, anonymizer in (("none", undated), (given.dates, dated)):
        members = infer_memberships(ratings, hold_out(ratings, anonymizer))
        for known, each in members.items():
            print(f"| {name} | {known} | {result(each.auc)} | {result(each.null_auc)} |")
    print_months(ratings, AttackTarget.from_release(releases[given.dates], ratings))


def of_members(release: Release, ratings: Ratings, period: str) -> Iterator[Records]:
    """Yield the rows with dates of the users of each class; others keep those of the release."""
    groups, rows = release.private.groups, ratings.csr.astype(np.float64)
    rows.data = ratings.days.astype(np.float64)
    place = {user: at for at, user in enumerate(ratings.users.tolist())}
    members = np.array([place[user] for user in release.private.users.tolist()])[groups.members]
    group = 0
    for block in release.published.blocks():
        days = block.days.copy()
        for record in range(len(block)):
            some = members[groups.starts[group] : groups.starts[group + 1]]
            of_class = rows[some].tocsc()
            for at in range(block.indptr[record], block.indptr[record + 1]):
                item = int(block.indices[at])
                of_item = np.sort(of_class.data[of_class.indptr[item] : of_class.indptr[item + 1]])
                if of_item.size:
                    day = of_item[(of_item.size - 1) // 2 : (of_item.size + 1) // 2].astype(int)
                    days[at] = first_days(day, period)[0]
            group += 1
        yield replace(block, days=days)


def print_months(ratings: Ratings, table: AttackTarget) -> None:
    """Print how far the popular items of each month are those of the raw ratings."""
    start = int(ratings.days.min())
    n_months = math.ceil((int(ratings.days.max()) - start + 1) / MONTH)
    sizes = np.repeat(table.candidates.sizes, np.diff(table.indptr)).astype(np.float64)
    shares = []
    for month in range(n_months):
        raw = counts(ratings.indices, ratings.days - start, month, ratings.n_items)
        released = counts(table.indices, table.days - start, month, ratings.n_items, sizes)
        top = popular(raw)
        always = popular(np.bincount(table.indices, sizes, ratings.n_items))
        shares.append([np.isin(top, popular(released)).mean(), np.isin(top, always).mean()])
    with_dates, without = np.mean(shares, axis=0)
    print(f"\nOf the {N_POPULAR} most rated items of each of {n_months} months,")
    print(f"{with_dates:.1%} are so in the release; without dates, {without:.1%} are in all months")


def counts(
    items: NDArray[np.int32],
    days: NDArray[np.int32],
    month: int,
    n_items: int,
    sizes: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Count the ratings of each item in a month."""
    inside = days // MONTH == month
    weights = None if sizes is None else sizes[inside]
    return np.bincount(items[inside], weights, n_items).astype(np.float64)


def popular(of_items: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the most rated items."""
    return np.argsort(-of_items, kind="stable")[:N_POPULAR]


if __name__ == "__main__":
    main()
