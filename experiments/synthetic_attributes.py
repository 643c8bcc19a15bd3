"""What do attributes of synthetic users retain of the differences between groups?

    python experiments/synthetic_attributes.py u.data [--epsilons 10 3] [--seeds 5]

Invents an attribute of 30% of the users, by their preferences (the logit is linear in factors of
the ratings), and, as a control, permutes it. Prints the AUC of a logistic regression that infers it
from all ratings of real users, trained on real ones (in five folds) and on synthetic ones, and, of
the 200 most popular items, the slope and correlation of log ratios of popularity in both groups of
synthetic users with those of real ones. Means over seeds, with 95% intervals.
"""

import numpy as np
from arguments import parser_of, ratings_file
from scipy import optimize, sparse
from scipy.special import expit
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from recveil.io import read_ratings
from recveil.methods import Synthesizer
from recveil.methods.published_users import DeclaredAttributes, public_columns
from recveil.ratings import Ratings

ABOUT = public_columns(["group=A,B"])
# Share of the group, slope of its logit by a factor of variance 1, factors, and compared items.
SHARE, SLOPE, N_FACTORS, N_ITEMS = 0.3, 2.0, 5, 200


def main() -> None:
    """Print a row per attribute and epsilon."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[10.0, 3.0])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, scale="1:5:1")
    print("| attribute | epsilon | AUC, real | AUC, synthetic | slope | correlation |")
    print("|---|---|---|---|---|---|")
    for kind in ("invented", "permuted"):
        for epsilon in options.epsilons:
            rows = [measure(ratings, kind, epsilon, seed) for seed in range(options.seeds)]
            cells = " | ".join(interval(np.array(column)) for column in zip(*rows, strict=True))
            print(f"| {kind} | {epsilon:g} | {cells} |", flush=True)


def measure(ratings: Ratings, kind: str, epsilon: float, seed: int) -> list[float]:
    """Return the figures of one seed."""
    group = invent(ratings, np.random.default_rng(seed), is_null=kind == "permuted")
    texts = np.where(group, "B", "A").tolist()
    known = DeclaredAttributes(ratings.users, {"group": texts}, ABOUT, 1)
    made = Synthesizer(epsilon, item_catalog="as-rated", attributes=known, seed=seed)
    published = made.anonymize(ratings).published
    blocks = [*published.blocks()]
    lengths = np.concatenate([np.diff(block.indptr) for block in blocks])
    items = np.concatenate([block.indices for block in blocks])
    values = np.concatenate([block.values for block in blocks])
    found = np.array(published.user_table.columns["group"])
    real = rows_of(ratings, ratings.activity, ratings.indices, ratings.values)
    synthetic = rows_of(ratings, lengths, items, values)
    learner, is_known = LogisticRegression(max_iter=500), found != "*"
    by_real = cross_val_predict(learner, real, group, cv=5, method="decision_function")
    learner.fit(synthetic[is_known], found[is_known] == "B")
    gaps = [
        log_ratios(ratings, *each)
        for each in (
            (ratings.activity, ratings.indices, np.where(group, "B", "A")),
            (lengths, items, found),
        )
    ]
    return [
        roc_auc_score(group, by_real),
        roc_auc_score(group, learner.decision_function(real)),
        float(np.polyfit(*gaps, 1)[0]),
        float(np.corrcoef(*gaps)[0, 1]),
    ]


def invent(ratings: Ratings, rng: np.random.Generator, *, is_null: bool) -> np.ndarray:
    """Return who is in a group that depends on preferences, or a permutation of it."""
    rows = rows_of(ratings, ratings.activity, ratings.indices, ratings.values).toarray()
    left = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[0]
    factor = left[:, :N_FACTORS] @ rng.normal(size=N_FACTORS)
    logit = SLOPE * (factor - factor.mean()) / factor.std()
    offset = optimize.brentq(lambda at: expit(at + logit).mean() - SHARE, -20, 20)
    group = rng.random(logit.size) < expit(offset + logit)
    return rng.permutation(group) if is_null else group


def rows_of(
    ratings: Ratings, lengths: np.ndarray, items: np.ndarray, values: np.ndarray
) -> sparse.csr_array:
    """Return rows of items, and of deviations from their means, of length 1 about."""
    totals = np.bincount(ratings.indices, ratings.values, ratings.n_items)
    apart = values - (totals / np.maximum(ratings.support, 1))[items]
    scale = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)
    indptr, shape = np.concatenate([[0], np.cumsum(lengths)]), (lengths.size, ratings.n_items)
    parts = [
        sparse.csr_array((each, items, indptr), shape=shape) for each in (scale, apart * scale)
    ]
    return sparse.hstack(parts, format="csr")


def log_ratios(
    ratings: Ratings, lengths: np.ndarray, items: np.ndarray, texts: np.ndarray
) -> np.ndarray:
    """Return log ratios of the shares of both groups who rated each popular item."""
    popular = np.argsort(-ratings.support, kind="stable")[:N_ITEMS]
    of_rating, shares = np.repeat(texts, lengths), []
    for text in "BA":
        counts = np.bincount(items[of_rating == text], minlength=ratings.n_items)
        shares.append((counts[popular] + 1) / ((texts == text).sum() + 2))
    return np.log(shares[0] / shares[1])


def interval(figures: np.ndarray) -> str:
    """Return a mean with its 95% interval."""
    if figures.size < 2:
        return f"{figures.mean():.2f}"
    half = student.ppf(0.975, figures.size - 1) * figures.std(ddof=1) / np.sqrt(figures.size)
    return f"{figures.mean():.2f}±{half:.2f}"


if __name__ == "__main__":
    main()
