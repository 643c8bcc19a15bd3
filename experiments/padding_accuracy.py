"""How well does the padding predict? RMSE on the five folds of MovieLens 100K.

    python experiments/padding_accuracy.py path/to/ml-100k

Items that a fold's training part lacks are predicted with its mean rating.
"""

from pathlib import Path

import numpy as np
from arguments import folder_with, parser_of

from recveil.io import read_ratings
from recveil.predict import FunkSVD, ItemMean, Predictor
from recveil.ratings import Ratings


def rmse(predictor: Predictor, train: Ratings, test: Ratings) -> float:
    """Root mean squared error of a predictor on the test ratings."""
    items = test.items[test.indices]
    known = np.isin(items, train.items)
    users = np.searchsorted(train.users, test.users[test.user_positions()])
    positions = np.searchsorted(train.items, np.where(known, items, train.items[0]))
    predicted = predictor.fit(train).predict(users, positions)
    error = np.where(known, predicted, train.values.mean()) - test.values
    return float(np.sqrt(np.mean(error**2)))


def main(folder: Path) -> None:
    """Print a line a fold."""
    print("fold  item means  one by one  together")
    for fold in range(1, 6):
        train = read_ratings(folder / f"u{fold}.base")
        test = read_ratings(folder / f"u{fold}.test", scale=train.scale)
        predictors = (ItemMean(), FunkSVD(sequential=True), FunkSVD())
        errors = [rmse(predictor, train, test) for predictor in predictors]
        print(f"u{fold}    {errors[0]:10.4f}  {errors[1]:10.4f}  {errors[2]:8.4f}")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=folder_with("u1.base"))
    main(parser.parse_args().folder)
