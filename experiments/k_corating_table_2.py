"""k-coRating, Table 2: how sparse the data sets are.

    python experiments/k_corating_table_2.py path/to/ml-100k

Prints the share of empty cells that follows from each data set's printed counts, and the printed
share. One of the four does not follow: MovieLens 100K's.
"""

from pathlib import Path

from page import Row, main

from recveil.io import read_ratings

TITLE = "k-coRating, Table 2: general description of the data"
READING = (
    "Sparsity is the share of cells (person, item) without a rating. MovieLens 100K is counted;"
    " the other rows follow from the counts that the paper prints. A row holds if it agrees "
    "with the printed share in all printed digits but the last."
)
AXES = None
# Ratings, users, items, and the share of empty cells.
PAPER = {
    "Movielens 1 (MovieLens 100K)": (100_000, 943, 1_682, 0.999403),
    "Movielens 2 (MovieLens 1M)": (1_000_209, 6_040, 3_706, 0.955316),
    "Epinions": (664_824, 40_163, 139_738, 0.999882),
    "Netflix": (100_480_507, 480_189, 17_770, 0.988224),
}
CLOSE = 1e-5


def run(folder: Path) -> list[Row]:
    """Return the counts of MovieLens 100K, and all four shares."""
    ratings = read_ratings(folder / "u.data", times=False)
    ours = ratings.n_ratings, ratings.n_users, ratings.n_items
    printed = PAPER["Movielens 1 (MovieLens 100K)"]
    what = "ratings", "users", "items"
    rows = [
        Row(f"{name} of MovieLens 100K", count, paper, count == paper, form=",")
        for name, count, paper in zip(what, ours, printed, strict=False)
    ]
    for name, (n_ratings, n_users, n_items, paper) in PAPER.items():
        share = 1 - n_ratings / (n_users * n_items)
        rows.append(
            Row(
                f"sparsity of {name}",
                *(share, paper, abs(share - paper) < CLOSE),
                f"{name}: {n_ratings:,} ratings of {n_users:,} users and {n_items:,} items leave "
                f"{share:.2%} of the cells empty, not {paper:.2%}.",
                ".4%",
            )
        )
    return rows


if __name__ == "__main__":
    main(run, __doc__)
