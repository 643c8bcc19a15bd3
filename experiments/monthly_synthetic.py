"""Which synthetic releases of a growing table retain most for the same privacy of each user?

    python experiments/monthly_synthetic.py RATINGS [--epsilon 10] [--periods 6] [--judged 2 4 6]

Cuts the time of a table into equal periods, at whose ends releases are made in three ways: all
users each time with the whole epsilon, which adds up; all users with an equal part of it
(`--releases`); and the users who joined in the period (`--cohort`), whose tables are joined. Prints
what the most exposed user has spent, and how good lists are that recommenders learn from what was
published, as a share of lists from the raw ratings until then (nDCG@10 on a fifth of the ratings,
which is held out; the best of all recommenders of either). The last column is the standard
deviation over seeds.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from arguments import parser_of, ratings_file
from monthly_releases import best_list, held_out_of
from synthetic_users import drawn_rows

from recveil.attacks.membership.inference import only
from recveil.evaluation.split import TrainingTable, UserRows, split_ratings
from recveil.io import read_ratings
from recveil.methods import Synthesizer
from recveil.ratings import Ratings
from recveil.release.dates import Cohort
from recveil.release.ledger import epsilon_of

DELTA = 1e-6


def until(ratings: Ratings, day: int) -> Ratings:
    """Return the ratings until a day, with dates."""
    users, is_in = ratings.user_positions(), ratings.days <= day
    counts = np.bincount(users[is_in], minlength=ratings.n_users)
    table = Ratings(
        *(ratings.users, ratings.items, np.concatenate([[0], np.cumsum(counts)])),
        *(ratings.indices[is_in], ratings.values[is_in], ratings.days[is_in], ratings.scale),
    )
    return only(table, np.flatnonzero(counts))


def joined(parts: Sequence[UserRows], table: Ratings) -> TrainingTable:
    """Append the users of several releases."""
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    rows = UserRows(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
    )
    return TrainingTable.from_rows(
        rows, np.ones(rows.n_users, np.int64), table.n_items, table.scale
    )


def main() -> None:
    """Make all releases, and print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("ratings", type=ratings_file)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--periods", type=int, default=6)
    parser.add_argument("--judged", type=int, nargs="*", default=[2, 4, 6])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    ratings = read_ratings(Path(options.ratings), scale="1:5:1", duplicates="last")
    train, test = split_ratings(ratings, 0.2, seed=0)
    ends = np.linspace(train.days.min(), train.days.max(), options.periods + 1).astype(int)
    starts = [None, *(ends[1:-1] + 1).tolist()]
    cohorts = [Cohort(first, last) for first, last in zip(starts, ends[1:].tolist(), strict=True)]
    tables = [until(train, cohort.last) for cohort in cohorts]
    raw = {
        at: best_list(TrainingTable.from_ratings(table), table, held_out_of(table, train, test))
        for at, table in enumerate(tables, 1)
        if at in options.judged
    }
    mu = Synthesizer(options.epsilon, item_catalog="as-rated", ledger="none").planned().mu
    of_plan = Synthesizer(
        options.epsilon, item_catalog="as-rated", releases=options.periods
    ).planned()
    print("| period | users | way | epsilon of the most exposed user | lists | ± |")
    print("|---:|---:|---|---:|---:|---:|")
    for at, (table, ours) in enumerate(
        ((table, held_out_of(table, train, test)) for table in tables), 1
    ):
        if at not in options.judged:
            continue
        spent = {
            "whole epsilon each time": epsilon_of(mu * math.sqrt(at), DELTA),
            "a plan": epsilon_of(of_plan.mu * math.sqrt(at), DELTA),
            "cohorts, joined": options.epsilon,
        }
        for way, epsilon in spent.items():
            shares = [
                best_list(published(way, at, tables, cohorts, options, seed), table, ours) / raw[at]
                for seed in range(options.seeds)
            ]
            print(
                f"| {at} | {table.n_users} | {way} | {epsilon:.3g} | {np.mean(shares):.1%} | "
                f"{np.std(shares, ddof=1) if len(shares) > 1 else 0:.1%} |",
                flush=True,
            )


def published(way, at, tables, cohorts, options, seed) -> TrainingTable:
    """Return what recipients have after so many periods, the newest release or all cohorts."""
    plain = {"item_catalog": "as-rated", "seed": 100 * seed + at}
    if way == "cohorts, joined":
        makers = [
            (Synthesizer(options.epsilon, cohort=str(cohort), **plain), table)
            for cohort, table in zip(cohorts[:at], tables, strict=False)
        ]
    else:
        releases = options.periods if way == "a plan" else None
        makers = [(Synthesizer(options.epsilon, releases=releases, **plain), tables[at - 1])]
    return joined([drawn_rows(maker, table) for maker, table in makers], tables[at - 1])


if __name__ == "__main__":
    main()
