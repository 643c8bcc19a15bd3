"""What recommenders keep that learn from synthetic users, at each epsilon.

    python experiments/synthetic_users.py path/to/ml-100k [--ml1m path/to/ml-1m] [--folds 5]
        [--item-features items.csv] [--item-features-1m movies.csv]

Draws synthetic users from the training ratings of each fold, lets recveil's recommenders learn
from them as from the raw ratings, and serves the same users from their own ratings. Prints means
over folds with 95 % intervals: what lists and predictions keep of the best on raw ratings, and how
far both tables put recommenders into the same order (Kendall's tau of their lists).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import folder_with, parser_of
from page import Row
from scipy.stats import kendalltau, t

from recveil.evaluation.recipient import Served, fit_all, serve
from recveil.evaluation.split import HeldOut, TrainingTable, UserRows, split_ratings
from recveil.io import read_ratings
from recveil.io.item_features import ItemFeatures, read_item_features
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.publish import Release
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)


class Setting(NamedTuple):
    """One way to draw users."""

    name: str
    epsilon: float | None
    times: int = 1
    features: ItemFeatures | None = None


SMALL = (
    Setting("no noise", None),
    Setting("no noise, five times the users", None, 5),
    Setting("epsilon 50", 50.0),
    Setting("epsilon 20", 20.0),
    Setting("epsilon 10", 10.0),
    Setting("epsilon 3", 3.0),
    Setting("epsilon 1", 1.0),
)
LARGE = tuple(Setting(f"epsilon {epsilon:g}", epsilon) for epsilon in (20.0, 10.0, 3.0, 1.0))


class Kept(NamedTuple):
    """What one release keeps of what raw ratings give."""

    lists: float
    rmse: float
    order: float


def judge(table: TrainingTable, train: Ratings, test: HeldOut) -> Served:
    """Let all recommenders learn from a table, and serve users from their own ratings."""
    return serve(fit_all(table), UserRows.from_ratings(train), test)


def drawn_table(train: Ratings, setting: Setting, seed: int) -> TrainingTable:
    """Draw users as a setting says."""
    n_users = None if setting.times == 1 else setting.times * train.n_users
    made = Synthesizer(
        setting.epsilon,
        item_catalog="as-rated",
        item_features=setting.features,
        n_users=n_users,
        seed=seed,
    )
    rows = drawn_rows(made, train)
    sizes = np.ones(rows.n_users, np.int64)
    return TrainingTable.from_rows(rows, sizes, train.n_items, train.scale)


def drawn_rows(maker: Synthesizer, train: Ratings) -> UserRows:
    """Draw users, and put them on the items of the training ratings."""
    return rows_of(maker.anonymize(train), train)


def rows_of(release: Release, train: Ratings) -> UserRows:
    """Return the rows of a release on the items of the training ratings."""
    published = release.published
    place = np.searchsorted(train.items, published.items)
    blocks = list(published.blocks())
    indptr = np.concatenate([[0], *(np.diff(block.indptr) for block in blocks)]).cumsum()
    return UserRows(
        indptr,
        place[np.concatenate([block.indices for block in blocks])].astype(np.int32),
        np.concatenate([block.values for block in blocks]),
    )


def kept(raw: Served, drawn: Served) -> Kept:
    """Compare what two tables give."""
    names = [name for name in raw.utilities if not np.isnan(raw.utilities[name].ndcg)]
    lists = [[of.utilities[name].ndcg for name in names] for of in (raw, drawn)]
    lowest = [min(np.nanmin([u.rmse for u in of.utilities.values()]), 9) for of in (raw, drawn)]
    order = kendalltau(*np.nan_to_num(lists)).statistic
    return Kept(np.nanmax(lists[1]) / max(lists[0]), lowest[1] / lowest[0] - 1, float(order))


def folds_of_100k(folder: Path, n: int) -> Iterator[tuple[Ratings, HeldOut]]:
    """Read the folds that come with MovieLens 100K."""
    for fold in range(1, n + 1):
        train = read_ratings(folder / f"u{fold}.base", scale=STARS, times=False)
        test = read_ratings(folder / f"u{fold}.test", scale=STARS, times=False)
        yield train, held_out(train, test)


def held_out(train: Ratings, test: Ratings) -> HeldOut:
    """Put test ratings on the users and items of the training ratings; others cannot be served."""
    users = np.searchsorted(train.users, test.users)[test.user_positions()]
    items = np.searchsorted(train.items, test.items)[test.indices]
    known = np.isin(test.users, train.users)[test.user_positions()]
    known &= np.isin(test.items, train.items)[test.indices]
    return HeldOut(users[known], items[known], test.values[known].astype(np.float64))


def splits_of_1m(folder: Path, n: int) -> Iterator[tuple[Ratings, HeldOut]]:
    """Hold out a fifth of the ratings of MovieLens 1M, another one each time."""
    ratings = read_ratings(folder / "ratings.csv", scale=STARS, times=False)
    for seed in range(n):
        yield split_ratings(ratings, 0.2, seed=seed)


def interval_text(figures: list[float], form: str) -> str:
    """Write a mean with its 95 % interval."""
    mean = float(np.mean(figures))
    if len(figures) < 2:
        return format(mean, form)
    half = float(t.ppf(0.975, len(figures) - 1) * np.std(figures, ddof=1) / np.sqrt(len(figures)))
    return f"{mean:{form}} ({mean - half:{form}} to {mean + half:{form}})"


def with_features(settings: tuple[Setting, ...], path: Path | None) -> tuple[Setting, ...]:
    """Add the small epsilons with public item features, if there is a file of them."""
    if path is None:
        return settings
    features = read_item_features(path)
    return settings + tuple(
        Setting(f"{each.name}, item features", each.epsilon, features=features)
        for each in settings
        if each.epsilon is not None and each.epsilon <= 10
    )


def main(
    name: str, parts: Iterator[tuple[Ratings, HeldOut]], settings: tuple[Setting, ...]
) -> None:
    """Print a table for one data set."""
    found: dict[str, list[Kept]] = {setting.name: [] for setting in settings}
    best = []
    for seed, (train, test) in enumerate(parts):
        raw = judge(TrainingTable.from_ratings(train), train, test)
        best.append(max(np.nan_to_num([u.ndcg for u in raw.utilities.values()])))
        for setting in settings:
            drawn = judge(drawn_table(train, setting, seed), train, test)
            found[setting.name].append(kept(raw, drawn))
    print(f"\n**{name}**, best lists on raw ratings: nDCG@10 {interval_text(best, '.3f')}\n")
    print("| drawn from | lists keep | RMSE above raw's best | same order (tau) |")
    print("|---|---:|---:|---:|")
    for setting in settings:
        parts_of = list(zip(*found[setting.name], strict=True))
        lists, rmse, order = (list(part) for part in parts_of)
        stated_all = (
            interval_text(lists, ".1%"),
            interval_text(rmse, ".1%"),
            interval_text(order, ".2f"),
        )
        print(f"| {setting.name} | {' | '.join(stated_all)} |")


AXES = ()


def run(folder: Path) -> list[Row]:
    """Print the table of one data set; the record has no rows of it."""
    if (folder / "u1.base").is_file():
        main("MovieLens 100K", folds_of_100k(folder, 5), SMALL)
    else:
        main("MovieLens 1M", splits_of_1m(folder, 2), LARGE)
    return []


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=folder_with("u1.base"))
    parser.add_argument("--ml1m", type=folder_with("ratings.csv"))
    parser.add_argument("--folds", type=int, default=5)
    features = "genres of the items of {}, as for --item-features of recveil"
    parser.add_argument("--item-features", type=Path, help=features.format("MovieLens 100K"))
    parser.add_argument("--item-features-1m", type=Path, help=features.format("MovieLens 1M"))
    given = parser.parse_args()
    main(
        "MovieLens 100K",
        folds_of_100k(given.folder, given.folds),
        with_features(SMALL, given.item_features),
    )
    if given.ml1m:
        parts = splits_of_1m(given.ml1m, min(given.folds, 2))
        main("MovieLens 1M", parts, with_features(LARGE, given.item_features_1m))
