"""How much utility do releases of few and of many users retain?

    python experiments/how_many_users.py [--users 1000 10000 100000] [--tables path/to/u.data]

Generates tables of 1,000 items with 100 ratings per user, or reads tables with the scale 1:5:1.
Makes a release with epsilon 1 and one of sparse rows with k = 5, and compares the lists that
recommenders learn from them, and from the raw ratings, for the same users: nDCG@10 on a held-out
fifth of the ratings. Popular items alone are the baseline. Intervals (95 %) are over the served
users, of one release.
"""

import numpy as np
from arguments import parser_of
from synthetic_netflix import hold_out, judge, on_places, print_kept, print_served, task_of

from recveil.datasets import make_ratings
from recveil.evaluation.split import UserRows
from recveil.io import read_ratings
from recveil.methods import SparseRows, Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records

ITEMS, RATINGS_PER_USER, SEED = 1_000, 100, 1
METHODS: dict[str, Synthesizer | SparseRows] = {
    "epsilon 1": Synthesizer(1.0, item_catalog="as-rated", seed=SEED),
    "sparse, k = 5": SparseRows(k=5, seed=SEED),
}


def measure(ratings: Ratings, n_served: int) -> None:
    """Print what recommenders learn from the raw ratings and from each release."""
    train, held = hold_out(ratings, n_served, SEED)
    task = task_of(ratings, train, held, ratings.n_items)
    records = Records(np.ones(train.n_users, np.int64), *UserRows.from_ratings(train))
    raw = judge(on_places([records], task.place_of), task, train)
    print(f"\n{ratings}\nlearned from | recommender | nDCG@10 | RMSE | settings")
    print_served("raw", raw)
    for name, method in METHODS.items():
        release = method.anonymize(train).published
        place_of = task.place_of[np.searchsorted(train.items, release.items)]
        learned = judge(on_places(release.blocks(), place_of), task, train)
        print_served(name, learned)
        print_kept(raw, learned)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--users", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--served", type=int, default=5_000, help="users with held-out ratings")
    parser.add_argument("--tables", nargs="*", help="files to read instead")
    options = parser.parse_args()
    for path in options.tables or ():
        measure(read_ratings(path, scale=RatingScale(1, 5, 1)), options.served)
    for n_users in () if options.tables else options.users:
        n_ratings = n_users * RATINGS_PER_USER
        measure(make_ratings(n_users, ITEMS, n_ratings, seed=SEED), options.served)
