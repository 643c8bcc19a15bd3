"""Do two successive releases reveal who left in between?

    python experiments/who_left.py RATINGS [--k 5] [--users 150] [--dates month] [--seeds 24]

Makes sparse rows OLD of some users, and NEW, which follows OLD (`--previous`), in three cases: one
user leaves and nothing else changes; 12 leave while the table grows (OLD has the ratings before
1998-02-15, NEW also later ones and newcomers); and nobody leaves, which is the control of both. The
adversary has both releases, and the ratings of OLD's users. A user's score is a sum over the rated
items: of how far the published item count fell; of how far the mean published value moved away from
the user's rating; of how many published dates the item lost. Prints the AUC of users who left
against the others, and of the same users in the control, with 95 % intervals over seeds. Then, of
the items of OLD with exactly k raters, one of whom left: the share that NEW lacks. And of all items
that NEW lacks: the share that a user who left had rated (in the control: the same users).
"""

import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from arguments import parser_of, ratings_file
from monthly_releases import half_width, result
from numpy.typing import NDArray

from recveil.attacks.membership.inference import only
from recveil.io import read_ratings
from recveil.methods import anonymize
from recveil.publish import Release
from recveil.ratings import Ratings
from recveil.release.dates import PERIODS
from recveil.runtime.errors import ReadingWarning

END = np.datetime64("1998-02-15").astype(int)
N_LEAVING, N_ALONE = 12, 4
# More than the number of a day
MANY = 100_000


class Pair(NamedTuple):
    """A table, users who left it, and the releases OLD, NEW, and NEW if these users had stayed."""

    table: Ratings
    left: NDArray[np.int64]
    old: Release
    new: Release
    control: Release


class Shown(NamedTuple):
    """What a release shows of each item: its count, mean value, and dates (item and day)."""

    counts: NDArray[np.float64]
    means: NDArray[np.float64]
    dates: NDArray[np.int64]


def before(ratings: Ratings, end: int) -> Ratings:
    """Return the ratings before a day."""
    some = ratings.days < end
    counts = np.bincount(ratings.user_positions()[some], minlength=ratings.n_users)
    return Ratings(
        *(ratings.users, ratings.items, np.concatenate([[0], np.cumsum(counts)])),
        *(ratings.indices[some], ratings.values[some], ratings.days[some], ratings.scale),
    )


def pairs_of(
    ratings: Ratings, n_users: int, k: int, dates: str | None, seed: int
) -> Iterator[tuple[str, Pair]]:
    """Yield both cases with their releases; several users leave alone, each from the same OLD."""
    rng = np.random.default_rng(seed)
    seeds = iter(range(100 * seed, 100 * seed + 100))

    def release(table: Ratings, users: NDArray[np.int64], previous: Path | None) -> Release:
        some = only(table, np.sort(users))
        return anonymize(some, k=k, seed=next(seeds), dates=dates, previous=previous)

    def first(table: Ratings, folder: str) -> tuple[Release, Path]:
        output = Path(folder, "old")
        made = anonymize(table, output, k=k, seed=next(seeds), dates=dates)
        return made.release, output.with_suffix(".private")

    with TemporaryDirectory() as folder:
        users = np.sort(rng.choice(ratings.n_users, n_users, replace=False))
        table = only(ratings, users)
        old, private = first(table, folder)
        control = release(ratings, users, private)
        for left in rng.choice(n_users, (N_ALONE, 1), replace=False):
            new = release(ratings, np.delete(users, left), private)
            yield "one leaves, nothing else changes", Pair(table, left, old, new, control)
    earlier = before(ratings, END)
    is_early = earlier.activity >= 10
    early, late = np.flatnonzero(is_early), np.flatnonzero(~is_early)
    users = np.sort(rng.choice(early, n_users, replace=False))
    newcomers = rng.choice(late, round(n_users * late.size / early.size), replace=False)
    left = rng.choice(n_users, N_LEAVING, replace=False)
    with TemporaryDirectory() as folder:
        table = only(earlier, users)
        old, private = first(table, folder)
        stay = np.delete(users, left)
        both = [release(ratings, np.append(some, newcomers), private) for some in (stay, users)]
        yield f"{N_LEAVING} leave, the table grows", Pair(table, left, old, *both)


def shown_of(release: Release) -> Shown:
    """Read counts, means and dates of all items from the published rows."""
    n_items = release.published.items.size
    counts, sums, dates = np.zeros(n_items), np.zeros(n_items), [np.zeros(0, np.int64)]
    for block in release.published.blocks():
        sizes = np.repeat(block.sizes, np.diff(block.indptr))
        counts += np.bincount(block.indices, sizes, n_items)
        sums += np.bincount(block.indices, sizes * block.values, n_items)
        if block.days is not None:
            dates.append(block.indices.astype(np.int64) * MANY + block.days)
    return Shown(counts, sums / np.maximum(counts, 1), np.concatenate(dates))


def unlike(change: NDArray[np.float64], old: Shown, some: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return by how much changes differ from the mean change of items with similar counts."""
    bins = (2 * np.log2(np.maximum(old.counts, 1))).astype(int)
    sums, sizes = (np.bincount(bins, some * each) for each in (change, np.ones(some.size)))
    return np.where(some, change - (sums / np.maximum(sizes, 1))[bins], 0)


def scores(table: Ratings, old: Shown, new: Shown) -> dict[str, NDArray[np.float64]]:
    """Score how far the releases differ as if each user had left."""
    has, both = old.counts > 0, (old.counts > 0) & (new.counts > 0)
    away = (table.values - old.means[table.indices]) * both[table.indices]
    lost = np.bincount(np.setdiff1d(old.dates, new.dates) // MANY, minlength=has.size)
    parts = {
        "counts": (unlike((old.counts - new.counts) / np.sqrt(old.counts + 1), old, has), 1),
        "values": (unlike(old.means - new.means, old, both), away),
        "dates": (unlike(lost, old, has), 1),
    }
    if not old.dates.size:
        del parts["dates"]
    found = {}
    for name, (change, weights) in parts.items():
        weighted = (change[table.indices] * weights, np.square(weights) + np.zeros(away.size))
        total, squares = (np.add.reduceat(each, table.indptr[:-1]) for each in weighted)
        found[name] = total / np.sqrt(np.maximum(squares, 1e-9))
    return found


def auc(score: NDArray[np.float64], left: NDArray[np.int64]) -> float:
    """Return the probability that one who left has a higher score than one who stayed."""
    positive, negative = score[left][:, None], np.delete(score, left)
    return float((positive > negative).mean() + (positive == negative).mean() / 2)


def vanished(pair: Pair, old: Shown, new: Shown, k: int) -> NDArray[np.int64]:
    """Count items of those who left with k raters, those that vanish, all that do, and theirs."""
    is_gone = (old.counts > 0) & (new.counts == 0)
    of_left = only(pair.table, np.sort(pair.left)).support > 0
    has_k = of_left & (pair.table.support == k) & (old.counts > 0)
    return np.array([each.sum() for each in (has_k & is_gone, has_k, of_left & is_gone, is_gone)])


def main() -> None:
    """Make all releases, and print both tables."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--users", type=int, default=150)
    parser.add_argument("--dates", choices=tuple(PERIODS))
    parser.add_argument("--seeds", type=int, default=24)
    given = parser.parse_args()
    warnings.simplefilter("ignore", ReadingWarning)  # times are left out without --dates
    ratings = read_ratings(given.ratings, duplicates="last")
    areas = defaultdict(lambda: defaultdict(list))
    counts = defaultdict(int)
    for seed in range(given.seeds):
        of_seed = defaultdict(list)
        for case, pair in pairs_of(ratings, given.users, given.k, given.dates, seed):
            old = shown_of(pair.old)
            for is_control, release in enumerate((pair.new, pair.control)):
                new = shown_of(release)
                for score, each in scores(pair.table, old, new).items():
                    of_seed[case, score, is_control].append(auc(each, pair.left))
                counts[case, is_control] += vanished(pair, old, new, given.k)
        for (case, score, is_control), found in of_seed.items():
            areas[case, score][is_control].append(np.mean(found))
    print(f"| {given.users} users, {given.seeds} seeds | score | AUC | nobody leaves |")
    print("|---|---|---|---|")
    for (case, score), found in areas.items():
        means = (f"{np.mean(found[at]):.3f} ± {half_width(found[at]):.3f}" for at in (0, 1))
        print(f"| {case} | {score} | {' | '.join(means)} |")
    print(f"\n| case | items with {given.k} raters, one of whom left, that vanish | ", end="")
    print("items that vanish, rated by one who left |\n|---|---|---|")
    for (case, is_control), each in counts.items():
        pairs = each.reshape(2, 2).tolist()
        cells = (f"{n} of {total}{f': {result(n, total)}' * (total > 0)}" for n, total in pairs)
        print(f"| {case}{' (nobody leaves)' * is_control} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
