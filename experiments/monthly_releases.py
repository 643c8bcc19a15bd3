"""What do ten releases of a growing table reveal together, and what does following cost?

    python experiments/monthly_releases.py RATINGS [--k 5] [--months 10] [--leaving 0.02]

Cuts the time of a table into equal months. The table of a month has all ratings until its end,
except those of users who left: a share of the users each month. Sparse rows of each month are made
twice: afresh, and following the release of the month before (`--previous`). Prints for both which
share of the users is alone, or has fewer than k candidates, in the intersection of all releases,
and how good lists are that recommenders learn from the release, as a share of lists from the raw
ratings of the month (nDCG@10 on a fifth of the ratings, which is held out; the best of all
recommenders of either), with a 95 % interval over the series of several seeds. All but the lists
are of the first seed. `who_left.py` measures what two successive releases reveal about who left.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from arguments import parser_of, ratings_file
from numpy.typing import NDArray
from scipy.stats import t
from sparse_rows import table_of
from synthetic_users import judge

from recveil.attacks.membership.inference import only
from recveil.attacks.statistics import wilson_interval
from recveil.evaluation.split import HeldOut, TrainingTable, split_ratings
from recveil.io import read_ratings
from recveil.methods import anonymize
from recveil.publish import Release
from recveil.ratings import Ratings


def months_of(ratings: Ratings, n: int, leaving: float, seed: int = 0) -> Iterator[Ratings]:
    """Yield the table of each month; users who left do not come back."""
    rng = np.random.default_rng(seed)
    users = ratings.user_positions()
    ends = np.linspace(ratings.days.min(), ratings.days.max(), n + 1)[1:]
    has_left = np.zeros(ratings.n_users, bool)
    for number, end in enumerate(ends):
        is_in = (ratings.days <= end) & ~has_left[users]
        counts = np.bincount(users[is_in], minlength=ratings.n_users)
        if number:
            has_left |= (counts > 0) & (rng.random(ratings.n_users) < leaving)
            is_in &= ~has_left[users]
            counts = np.bincount(users[is_in], minlength=ratings.n_users)
        table = Ratings(
            *(ratings.users, ratings.items, np.concatenate([[0], np.cumsum(counts)])),
            *(ratings.indices[is_in], ratings.values[is_in], None, ratings.scale),
        )
        yield only(table, np.flatnonzero(counts))


def groups_of(release: Release) -> dict[object, int]:
    """Return the group of each user who has a row."""
    private = release.private
    labels = np.repeat(np.arange(private.groups.sizes.size), private.groups.sizes)
    users = private.users[private.groups.members].tolist()
    return dict(zip(users, labels.tolist(), strict=True))


def candidates(releases: list[Release], present: set[object] | None = None) -> NDArray[np.int64]:
    """Count the users with the same groups in all releases as each user, and with none elsewhere.

    If `present` is given, only these users are candidates, as for one who knows who left.
    """
    groups = [groups_of(release) for release in releases]
    users = set().union(*groups) if present is None else present & set().union(*groups)
    paths = [tuple(each.get(user) for each in groups) for user in users]
    counts = Counter(paths)
    return np.array([counts[path] for path in paths])


def best_list(table: TrainingTable, train: Ratings, test: HeldOut) -> float:
    """Return the best nDCG@10 of all recommenders."""
    utilities = judge(table, train, test).utilities.values()
    return float(np.nanmax([each.ndcg for each in utilities]))


def held_out_of(table: Ratings, train: Ratings, test: HeldOut) -> HeldOut:
    """Return the test ratings of the users of a month."""
    place = np.full(train.n_users, -1)
    place[np.searchsorted(train.users, table.users)] = np.arange(table.n_users)
    users = place[test.users]
    return HeldOut(users[users >= 0], test.items[users >= 0], test.values[users >= 0])


def result(n: int, total: int) -> str:
    """Write a share with its interval."""
    share = wilson_interval(n, total)
    return f"{share.rate:.1%} ({share.low:.1%} to {share.high:.1%})"


def main() -> None:
    """Make all releases, and print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--months", type=int, default=10)
    parser.add_argument("--leaving", type=float, default=0.02)
    parser.add_argument("--judged", type=int, nargs="*", default=[1, 4, 7, 10])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    train, test = split_ratings(read_ratings(options.ratings, duplicates="last"), 0.2, seed=0)
    tables = list(months_of(train, options.months, options.leaving))
    print("| month | users | rows kept | waiting | classes below k | raw | following | afresh |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    with TemporaryDirectory() as folder:
        places = [Path(folder, str(seed)) for seed in range(options.seeds)]
        series = [
            make_series(tables, options.k, 100 * seed, place) for seed, place in enumerate(places)
        ]
        made = series[0]
        for month, table in enumerate(tables, 1):
            follows = made["following"][month - 1].private.continuation
            figures = [f"{table.n_users:,}", "0", "0", "0", "", "", ""]
            if follows is not None:
                figures[1:4] = map(
                    str, (follows.n_left, follows.n_waiting, follows.n_short_classes)
                )
            if month in options.judged:
                ours = held_out_of(table, train, test)
                raw = best_list(TrainingTable.from_ratings(table), table, ours)
                figures[4:] = [f"{raw:.3f}"]
                for name in made:
                    released = [table_of(each[name][month - 1], table) for each in series]
                    shares = [best_list(each, table, ours) / raw for each in released]
                    figures.append(f"{np.mean(shares):.1%} ± {half_width(shares):.1%}")
            print(f"| {month} | {' | '.join(figures)} |", flush=True)
        print_intersections(made, tables, options.k)


def make_series(tables: list[Ratings], k: int, seed: int, folder: Path) -> dict[str, list[Release]]:
    """Return the releases of all months, following and afresh."""
    made: dict[str, list[Release]] = {"following": [], "afresh": []}
    folder.mkdir()
    private = None
    for month, table in enumerate(tables, 1):
        output, same = folder / str(month), {"k": k, "seed": seed + month}
        made["following"].append(anonymize(table, output, previous=private, **same).release)
        private = folder / f"{month}.private"
        made["afresh"].append(anonymize(table, **same))
    return made


def half_width(shares: Sequence[float]) -> float:
    """Return half of the width of a 95 % interval."""
    n = len(shares)
    return float(t.ppf(0.975, n - 1) * np.std(shares, ddof=1) / math.sqrt(n)) if n > 1 else math.nan


def print_intersections(made: dict[str, list[Release]], tables: list[Ratings], k: int) -> None:
    """Print how many candidates users have in the intersection of the releases."""
    print("\n| releases | alone in the intersection | fewer than k candidates |\n|---|---|---|")
    present = set(tables[-1].users.tolist())
    for name, releases in made.items():
        of_parts = {
            f"{name}, last two": candidates(releases[-2:]),
            f"{name}, all": candidates(releases),
            f"{name}, all, by an adversary who knows who left": candidates(releases, present),
        }
        for what, found in of_parts.items():
            alone, few = (result(int((found < n).sum()), found.size) for n in (2, k))
            print(f"| {what} | {alone} | {few} |")


if __name__ == "__main__":
    main()
