"""How close are the members of a group, and what is their row worth? Groupings on a table.

    python experiments/group_quality.py RATINGS [TRIES]

Prints, as means over the tries (five if not given):

1. the sum of squared distances to the groups' centres as a share of that to the overall centre
   (SSE/SST), on the user factors;
2. of padded and simple releases, the RMSE on a fifth of all ratings, held back before
   padding and grouping: of the label in a user's own row, or the item's mean where it has none
   ("row"), and of `FunkSVD` learned from simple releases, one row a user ("learned").
"""

import numpy as np
from arguments import parser_of, ratings_file

from recveil.clustering import (
    BisectingKGather,
    BoundedTMeans,
    KGather,
    PredictiveGrouping,
    sse_ratio,
)
from recveil.evaluation import split_ratings
from recveil.io import read_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.predict import FunkSVD, ItemMean
from recveil.ratings import Ratings, RatingScale

GROUPINGS = {
    "k-gather": KGather,
    "bisecting": BisectingKGather,
    "predictive": PredictiveGrouping,
    "bounded-t-means": BoundedTMeans,
}


def print_spread(ratings: Ratings, tries: int) -> None:
    """Print a row for each grouping: SSE/SST at each k."""
    points = FunkSVD().fit(ratings).padding().coordinates()
    ks = (3, 5, 10, 50)
    print("| grouping |", " | ".join(f"k = {k}" for k in ks), "|")
    print("|---|" + "---|" * len(ks))
    for grouping in GROUPINGS.values():
        found = [
            [sse_ratio(points, grouping(k, random_state=seed).fit_predict(points)) for k in ks]
            for seed in range(tries)
        ]
        shares = (f"{share:.3f}" for share in np.mean(found, axis=0))
        print(f"| `{grouping.__name__}` |", " | ".join(shares), "|", flush=True)


def rows_of_release(train: Ratings, anonymizer: PredictiveAnonymizer) -> np.ndarray:
    """Return what a release says of each user and item, shape (n_users, n_items); NaN: nothing."""
    release = anonymizer.anonymize(train)
    rows = np.full((train.n_users, train.n_items), np.nan)
    groups, group = release.private.groups, 0
    for block in release.published.blocks():
        for start, end in zip(block.indptr[:-1], block.indptr[1:], strict=True):
            members = groups.members[groups.starts[group] : groups.starts[group + 1]]
            rows[members[:, np.newaxis], block.indices[start:end]] = block.values[start:end]
            group += 1
    return rows


def learned_from(train: Ratings, rows: np.ndarray, seed: int) -> FunkSVD:
    """Fit a recommender to the rows that a release has for each user."""
    users, items = np.nonzero(~np.isnan(rows))
    ends = np.cumsum(np.bincount(users, minlength=train.n_users))
    scale = RatingScale(train.scale.low, train.scale.high, None)
    table = Ratings(
        train.users, train.items, np.append(0, ends), items, rows[users, items], None, scale
    )
    return FunkSVD(seed=seed).fit(table)


def print_errors(ratings: Ratings, tries: int) -> None:
    """Print a row for each k, way to homogenize and grouping: both kinds of RMSE."""
    print("| k | release | grouping | row | learned |\n|---|---|---|---|---|")
    for k in (5, 10):
        for homogenize in ("padded", "simple"):
            for grouping in GROUPINGS:
                errors = []
                for seed in range(tries):
                    train, test = split_ratings(ratings, seed=seed)
                    rows = rows_of_release(
                        train, PredictiveAnonymizer(k, homogenize, grouping=grouping, seed=seed)
                    )
                    labels = rows[test.users, test.items]
                    means = ItemMean().fit(train).predict(test.users, test.items)
                    predicted = [np.where(np.isnan(labels), means, labels)]
                    if homogenize == "simple":
                        recommender = learned_from(train, rows, seed)
                        predicted.append(recommender.predict(test.users, test.items))
                    errors.append([np.sqrt(np.mean((p - test.values) ** 2)) for p in predicted])
                cells = [f"{error:.4f}" for error in np.mean(errors, axis=0)] + [""]
                print(f"| {k} | {homogenize} | {grouping} | {cells[0]} | {cells[1]} |", flush=True)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("tries", type=int, nargs="?", default=5)
    options = parser.parse_args()
    table = read_ratings(options.ratings, times=False, duplicates="last")
    print_spread(table, options.tries)
    print()
    print_errors(table, options.tries)
