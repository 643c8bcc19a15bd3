"""What sparse rows keep: lists, predictions, and how often items are counted.

    python experiments/sparse_rows.py path/to/ml-100k [--labels-model] [--k 5] [--folds 5]

Makes sparse rows of the training ratings of each fold, lets recveil's recommenders learn from them
as from the raw ratings, and serves the same users from their own ratings. Prints means with their
standard errors over folds. With --labels-model the same of padded rows of predictions.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from arguments import folder_with, parser_of
from synthetic_users import folds_of_100k, judge

from recveil.evaluation.recipient import Served
from recveil.evaluation.split import TrainingTable, UserRows
from recveil.methods import PredictiveAnonymizer, SparseRows
from recveil.publish import Release
from recveil.ratings import Ratings


class Figures(NamedTuple):
    """What one release keeps, in the order in which it is printed."""

    lists: float
    chosen: float
    best: float
    off: float
    most_off: float
    left_out: float


NAMES = (
    "lists, share of raw's best",
    "RMSE, chosen recommenders of both: raw +",
    "RMSE, best of both: raw +",
    "items counted too often or too rarely, people on average",
    "the same, at most",
    "share of ratings of items that fewer than k people rated",
)


def table_of(release: Release, train: Ratings) -> TrainingTable:
    """Write out all users' row, as a recipient reads it."""
    indptr, indices, values = [np.zeros(1, np.int64)], [], []
    for block in release.published.blocks():
        for size, start, end in zip(block.sizes, block.indptr, block.indptr[1:], strict=False):
            indptr += [np.full(size, end - start)]
            indices += [block.indices[start:end]] * size
            values += [block.values[start:end]] * size
    rows = UserRows(
        np.cumsum(np.concatenate(indptr)), np.concatenate(indices), np.concatenate(values)
    )
    return TrainingTable.from_rows(
        rows, np.ones(rows.n_users, np.int64), train.n_items, train.scale
    )


def figures(raw: Served, made: Served, release: Release, train: Ratings) -> Figures:
    """Print the utility that a release retains of the raw ratings."""
    lists = [np.nanmax([one.ndcg for one in of.utilities.values()]) for of in (raw, made)]
    rmse = [np.nanmin([one.rmse for one in of.utilities.values()]) for of in (raw, made)]
    users = np.zeros(train.n_items)
    for block in release.published.blocks():
        behind = np.repeat(block.sizes, np.diff(block.indptr))
        users += np.bincount(block.indices, weights=behind, minlength=train.n_items)
    off = np.abs(users - train.support)[train.support > 0]
    rare = train.support < release.published.claim.k
    return Figures(
        lists=lists[1] / lists[0],
        chosen=made.of_chosen.rmse - raw.of_chosen.rmse,
        best=rmse[1] - rmse[0],
        off=off.mean(),
        most_off=off.max(),
        left_out=train.support[rare].sum() / train.support.sum(),
    )


def main(folder: Path, k: int, folds: int, seeds: int, labels_model: bool) -> None:
    """Print the table."""
    found = []
    for train, test in folds_of_100k(folder, folds):
        raw = judge(TrainingTable.from_ratings(train), train, test)
        of_seeds = []
        for seed in range(seeds):
            model = PredictiveAnonymizer(k, values="predicted", seed=seed) if labels_model else None
            release = (model or SparseRows(k, seed=seed)).anonymize(train)
            made = judge(table_of(release, train), train, test)
            of_seeds.append(figures(raw, made, release, train))
        found.append(np.mean(of_seeds, axis=0))
    means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(folds)
    print(f"| MovieLens 100K, k = {k} | {'padded, model' if labels_model else 'sparse'} |")
    print("|---|---|")
    for name, mean, error in zip(NAMES, means, errors, strict=True):
        print(f"| {name} | {mean:.4f} ({error:.4f}) |")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=folder_with("u1.base"))
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--labels-model", action="store_true")
    given = parser.parse_args()
    main(given.folder, given.k, given.folds, given.seeds, given.labels_model)
