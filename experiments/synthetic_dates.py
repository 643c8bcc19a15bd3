"""What do dates of synthetic users retain, and what do they cost?

    python experiments/synthetic_dates.py u.data [--epsilons 10 3] [--seeds 5]

Makes releases of the ratings before a cut in time, with and without dates by month, and prints the
nDCG@10 of lists of next items as a share of that of the raw data's best recommender: of the best
one, and of the one that a recipient would choose. Then the same of lists of later ratings, and of
lists with a random split. Means over seeds, with 95% intervals.
"""

import numpy as np
from arguments import parser_of, ratings_file
from scipy.stats import t as student

from recveil.evaluation.evaluator import Evaluator
from recveil.evaluation.results import Evaluation
from recveil.evaluation.split import split_by_time, split_ratings
from recveil.io import read_ratings
from recveil.methods import Synthesizer
from recveil.ratings import Ratings

SCALE = "1:5:1"


def main() -> None:
    """Print a row per epsilon, with dates and without."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[10.0, 3.0])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    ratings = read_ratings(options.ratings, scale=SCALE, times=True)
    found = split_by_time(ratings)
    settings = {"n_targets": 10, "with_membership": False}
    evaluators = (
        Evaluator(found.split, next_cells=found.next_cells, **settings),
        Evaluator(split_ratings(ratings), **settings),
    )
    print("| epsilon | dates | next items, best | chosen | later lists, best | chosen | random |")
    print("|---|---|---|---|---|---|---|")
    for epsilon in options.epsilons:
        for dates in ("month", None):
            rows = [measure(evaluators, epsilon, dates, seed) for seed in range(options.seeds)]
            cells = " | ".join(interval(np.array(column)) for column in zip(*rows, strict=True))
            print(f"| {epsilon:g} | {dates or 'none'} | {cells} |", flush=True)


def measure(
    evaluators: tuple[Evaluator, Evaluator], epsilon: float, dates: str | None, seed: int
) -> list[float]:
    """Return the shares of one seed."""
    by_time, at_random = (
        each.evaluate(released(each.split.train, epsilon, dates, seed)) for each in evaluators
    )
    return [*of_next_items(by_time), *of_lists(by_time), of_lists(at_random)[1]]


def released(train: Ratings, epsilon: float, dates: str | None, seed: int) -> object:
    """Return a release of the training ratings; its range is that of the table."""
    first, last = (np.datetime64(int(day), "D") for day in (train.days.min(), train.days.max()))
    date_range = None if dates is None else f"{first}:{last}"
    synthesizer = Synthesizer(
        epsilon, item_catalog="as-rated", dates=dates, date_range=date_range, seed=seed
    )
    return synthesizer.anonymize(train)


def of_next_items(evaluation: Evaluation) -> tuple[float, float]:
    """Return the shares of the best recommender of next items, and of the chosen one."""
    lists = evaluation.next_items
    best = max(each.ndcg.value for each in lists.release.values())
    return best / lists.raw[lists.best_raw].ndcg.value, lists.retained.value


def of_lists(evaluation: Evaluation) -> tuple[float, float]:
    """Return the shares of the best recommender, and of the chosen one."""
    return evaluation.best_retained.lists.value, evaluation.retained.lists.value


def interval(shares: np.ndarray) -> str:
    """Return a mean with its 95% interval."""
    if shares.size < 2:
        return f"{shares.mean():.1%}"
    half = student.ppf(0.975, shares.size - 1) * shares.std(ddof=1) / np.sqrt(shares.size)
    return f"{shares.mean():.1%}±{half:.1%}"


if __name__ == "__main__":
    main()
