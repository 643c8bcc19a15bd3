"""What do padded rows tell of who rated what? A residual attack, by the published rows alone.

    python experiments/residual.py RATINGS [--k 5] [--rank 12] [--seed 0]

A padded row is a mean of predictions, which are smooth, and of ratings, which are not. Whoever
fits a matrix of low rank to all published rows, so robustly that cells with real ratings hardly
count, sees the ratings in what is left over: the residuals. Nothing private is used, but to judge.
Prints:

1. of the cells (row, item) that somebody in the group really rated, the share that is marked by the
   largest residuals, when 95 % of the marked ones are right; beside it, by the items' popularity;
2. of the ratings that nobody else in the group gave, the share that is marked so and worked out
   exactly: the fit plus the residual times the people in the group, moved to the scale; beside it,
   by popularity and the item's most frequent rating;
3. how often eight items of a person, without ratings, lead to the right group; beside it, a blind
   guess;
4. how well somebody who knows 16, or all, of a person's ratings tells people in the data from
   others (AUC, with its 95 % interval); for that, a fifth of the people is left out of the release.

Where groups are few, as many rows as the fit has factors, it fits everything and tells nothing.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize import PredictiveAnonymizer
from recveil.attack import ReleasedTable, area_under_curve, wilson_interval
from recveil.io import read_ratings
from recveil.ratings import Ratings

Matrix = NDArray[np.float64]
PRECISION = 0.95
# Of a label's residual where nobody rated, in points; and the most that one item can say.
NOISE, MOST = 0.12, 3.0


def main() -> None:
    """Make releases, and print what their residuals tell."""
    parser = argparse.ArgumentParser()
    parser.add_argument("ratings")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--rank", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, times=False, duplicates="last")
    tell_cells(ratings, options.k, options.rank, options.seed)
    tell_members(ratings, options.k, options.rank, options.seed)


def publish(ratings: Ratings, k: int, seed: int) -> tuple[ReleasedTable, Matrix, Matrix]:
    """Return a padded release, its rows (nan where they have no label), and their people."""
    release = PredictiveAnonymizer(k, "padded", seed=seed).anonymize(ratings)
    table = ReleasedTable.from_release(release, ratings)
    rows = np.full((table.indptr.size - 1, ratings.n_items), np.nan)
    rows[np.repeat(np.arange(len(rows)), np.diff(table.indptr)), table.indices] = table.values
    return table, rows, table.candidates.sizes[:, None].astype(np.float64)


def residuals(rows: Matrix, rank: int, n_rounds: int = 30) -> Matrix:
    """Return what a robust fit leaves over, by iteratively reweighted least squares."""
    shown = np.isfinite(rows)
    labels = np.where(shown, rows, 0.0)
    weights = shown.astype(np.float64)
    noise = np.random.default_rng(0).normal(scale=0.1, size=(len(rows), rank))
    of_rows = np.column_stack([np.ones(len(rows)), noise])
    for step in range(n_rounds):
        of_items = regress(weights.T, labels.T, of_rows)
        of_rows = regress(weights, labels, of_items)
        off = labels - of_rows @ of_items.T
        # Cauchy's weights, and a scale that narrows: what stands out counts less and less.
        scale = max(1.5 * float(np.median(np.abs(off[shown]))), 0.03) * (1 + 2 * 0.7**step)
        weights = shown / (1 + (off / scale) ** 2)
    return np.where(shown, off, 0.0)


def regress(weights: Matrix, targets: Matrix, factors: Matrix) -> Matrix:
    """Solve a weighted ridge regression for each row of the targets."""
    found = np.empty((len(targets), factors.shape[1]))
    ridge = 1e-2 * np.eye(factors.shape[1])
    for row, (weight, target) in enumerate(zip(weights, targets, strict=True)):
        weighted = factors * weight[:, None]
        found[row] = np.linalg.solve(weighted.T @ factors + ridge, weighted.T @ target)
    return found


def mark(score: Matrix, truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark as many of the highest scores as leave so many of the marked ones true."""
    order = np.argsort(-score, axis=None, kind="stable")
    precision = np.cumsum(truth.ravel()[order]) / np.arange(1, order.size + 1)
    enough = np.flatnonzero(precision >= PRECISION)
    marked = np.zeros(truth.size, bool)
    marked[order[: enough[-1] + 1 if enough.size else 0]] = True
    return marked.reshape(truth.shape)


def tell_cells(ratings: Ratings, k: int, rank: int, seed: int) -> None:
    """Print what is told of a release of everybody."""
    table, rows, sizes = publish(ratings, k, seed)
    raters, total = np.zeros_like(rows), np.zeros_like(rows)
    cells = np.repeat(table.record_of, ratings.activity), ratings.indices
    np.add.at(raters, cells, 1)
    np.add.at(total, cells, ratings.values)
    off = residuals(rows, rank)
    by_residual = mark(np.abs(off) * sizes, raters > 0)
    popularity = np.broadcast_to(ratings.support.astype(np.float64), rows.shape)
    by_popularity = mark(popularity, raters > 0)
    guesses = ratings.scale.round(rows - off + sizes * off, ratings.scale.step or 1e-9)
    usual = np.broadcast_to(modes(ratings), rows.shape)
    print("| what | by residuals | beside it |\n|---|---|---|")
    shares = [
        (marked & (raters > 0)).sum() / (raters > 0).sum()
        for marked in (by_residual, by_popularity)
    ]
    print(f"| cells really rated, {PRECISION:.0%} right | {shares[0]:.1%} | {shares[1]:.1%} |")
    shares = [
        (marked & (np.abs(guess - total) < 1e-6))[raters == 1].mean()
        for marked, guess in ((by_residual, guesses), (by_popularity, usual))
    ]
    print(f"| lone ratings, exactly | {shares[0]:.1%} | {shares[1]:.1%} |")
    rng = np.random.default_rng(seed)
    people = np.flatnonzero(ratings.activity >= 8)
    found = 0
    for person in people:
        items = rng.choice(ratings.row(int(person))[0], 8, replace=False)
        score = np.minimum(np.abs(off[:, items]) / NOISE, MOST).sum(axis=1)
        found += score.argmax() == table.record_of[person]
    told = wilson_interval(int(found), people.size)
    interval = f"{told.rate:.1%} ({told.low:.1%} to {told.high:.1%})"
    print(f"| right group, eight items | {interval} | {1 / len(rows):.1%} |")


def modes(ratings: Ratings) -> NDArray[np.float64]:
    """Return each item's most frequent rating."""
    values, codes = np.unique(ratings.values, return_inverse=True)
    counts = np.zeros((ratings.n_items, values.size))
    np.add.at(counts, (ratings.indices, codes), 1)
    return values[counts.argmax(axis=1)].astype(np.float64)


def tell_members(ratings: Ratings, k: int, rank: int, seed: int) -> None:
    """Print how well members are told from people who were left out."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(ratings.n_users)
    outside, inside = np.split(order, [ratings.n_users // 5])
    rest = ratings.csr[np.sort(inside)]
    _, rows, sizes = publish(
        Ratings(
            ratings.users[np.sort(inside)],
            ratings.items,
            rest.indptr,
            rest.indices,
            rest.data,
            None,
            ratings.scale,
        ),
        *(k, seed),
    )
    off = residuals(rows, rank)
    fit = rows - off
    for known in (16, None):
        scores: list[list[float]] = [[], []]
        for told, people in zip(scores, (inside, outside), strict=True):
            for person in people:
                items, values = ratings.row(int(person))
                if items.size < (known or 1):
                    continue
                drawn = rng.choice(items.size, known or items.size, replace=False)
                items, values = items[drawn], values[drawn]
                # Had this person rated the item in the row's group, so much would be left over.
                expected = (values - fit[:, items]) / sizes
                gain = (off[:, items] ** 2 - (off[:, items] - expected) ** 2) / (2 * NOISE**2)
                gain = np.clip(np.nan_to_num(gain), -MOST, MOST)
                told.append(float(gain.sum(axis=1).max()) / items.size**0.5)
        area = area_under_curve(scores[0], scores[1])
        interval = f"{area.rate:.3f} ({area.low:.3f} to {area.high:.3f})"
        print(f"| in the data? AUC, {known or 'all'} ratings known | {interval} | 0.5 |")


if __name__ == "__main__":
    main()
