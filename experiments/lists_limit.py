"""How much of the best lists can be read from second moments with the noise of an epsilon?

    python experiments/lists_limit.py path/to/ml-100k [--folds 5] [--epsilons 10 3 1]

Adds the noise of recveil's budget to item counts and to second moments of users' uncentred
vectors, on the most popular items by noisy counts. EASE and eigenvectors rank by the moments
directly, without synthetic users, with eigenvalues of three kinds:

- shrunk: by the known noise (Gavish & Donoho 2017).
- oracle: of the noisy eigenvectors, those of the smallest squared error from the real data, and
  for EASE the real diagonal. It looks at the real data, so it is a bound and no method: another
  choice of eigenvalues has a larger error, though its lists may differ.
- exact: moments without noise.

Prints the nDCG@10 as a share of the best on raw ratings, with 95 % intervals over the folds. The
best reading on the test ratings of each fold counts.
"""

import sys
from pathlib import Path

import numpy as np
from arguments import folder_with, parser_of
from synthetic_users import folds_of_100k, interval_text, judge

from recveil.evaluation.split import TrainingTable
from recveil.methods.synthetic.sum_queries import SHARES
from recveil.methods.synthetic.synthesizer import Budget
from recveil.release.synthetic_form import COUNT_SHARE_OF_FEW

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import private_peers as peers

KINDS = ("shrunk", "oracle", "exact")
N_ITEMS = (100, 200, 400)
PULLS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
RANKS = (1, 2, 4, 8, 16, 32)


def read_moments(job: peers.Job) -> list[peers.Scores]:
    """Return rankers that read the moments with eigenvalues of one kind."""
    known, budget, choice, rng = job
    of_counts, of_moments = SHARES["item sums"] * COUNT_SHARE_OF_FEW, SHARES["moments"]
    counts = peers.noisy(peers.like_counts(known), budget.mu * of_counts**0.5, rng)
    selected = np.argsort(-counts)[: int(choice["items"])]
    exact = peers.products(known.likes[:, selected])
    mu = budget.mu * of_moments**0.5
    sums = peers.noisy_symmetric(exact, mu, rng)
    kind = KINDS[int(choice["kind"])]
    if kind == "shrunk":
        values, vectors = peers.signal_directions(sums, mu)
    else:
        vectors = np.linalg.eigh(exact if kind == "exact" else sums)[1][:, ::-1]
        values = np.einsum("ij,ij->j", vectors, exact @ vectors)
    low = (vectors * values) @ vectors.T
    rest = np.maximum(np.diag((sums if kind == "shrunk" else exact) - low), 0)
    pulled = [low + np.diag(of_rest + pull) for of_rest in (0 * rest, rest) for pull in PULLS]
    weights = [peers.ease_weights(each) for each in pulled]
    weights += [vectors[:, :rank] @ vectors[:, :rank].T for rank in RANKS]
    return [peers.item_item_ranker(each, selected, counts) for each in weights]


READER = peers.Peer(read_moments, True, {"kind": (0, 1, 2), "items": N_ITEMS})


def main() -> None:
    """Print a row for each kind of eigenvalues and number of items."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=folder_with("u1.base"))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[10.0, 3.0, 1.0])
    options = parser.parse_args()
    budgets = [Budget.of(epsilon, peers.DELTA) for epsilon in options.epsilons]
    rows = [(kind, items) for kind in range(len(KINDS)) for items in N_ITEMS]
    found: dict[tuple[int, int, float], list[float]] = {}
    for seed, (train, test) in enumerate(folds_of_100k(options.folder, options.folds)):
        raw, _ = peers.best_of(judge(TrainingTable.from_ratings(train), train, test))
        for row in rows:
            for budget in budgets:
                best = READER.best(train, test, budget, row, seed)
                found.setdefault((*row, budget.epsilon), []).append(best / raw)
    heads = (f"epsilon {each.epsilon:g}" for each in budgets)
    print("| eigenvalues | items", *heads, sep=" | ", end=" |\n")
    print("|---|---:|" + "---:|" * len(budgets))
    for kind, items in rows:
        cells = (interval_text(found[kind, items, each.epsilon], ".1%") for each in budgets)
        print(f"| {KINDS[kind]} | {items}", *cells, sep=" | ", end=" |\n")


if __name__ == "__main__":
    main()
