"""Which synthetic releases of a growing table retain most for the same privacy of each user?

    python experiments/monthly_synthetic.py RATINGS [--epsilon 10] [--periods 6] [--judged 2 4 6]

Cuts the time of a table into equal periods, at whose ends releases are made in four ways: all users
each time with the whole epsilon, which adds up; all users with an equal part of it (`--releases`);
the same with the noisy sums of the releases before (`--reuse`); and the users who joined in the
period (`--cohort`), whose tables are joined. Prints what the most exposed user has spent, and how
good lists are that recommenders learn from what was published, as a share of lists from the raw
ratings until then (nDCG@10 on a fifth of the ratings, which is held out; the best of all
recommenders of either), with a 95 % interval over seeds. A release that fails, as noise leaves
nothing of it, is left out.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from arguments import parser_of, ratings_file
from monthly_releases import best_list, half_width, held_out_of
from synthetic_users import rows_of

from recveil.attacks.membership.inference import only
from recveil.evaluation.split import TrainingTable, UserRows, split_ratings
from recveil.io import read_ratings
from recveil.methods import Synthesizer
from recveil.methods.synthetic.earlier_sums import EarlierSums
from recveil.ratings import Ratings
from recveil.release.dates import Cohort
from recveil.release.ledger import epsilon_of
from recveil.runtime.errors import RecveilError

DELTA = 1e-6
WAYS = WHOLE, PLAN, REUSE, COHORTS = "whole", "plan", "reuse", "cohorts"


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
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=WAYS)
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
    parts = {
        seed: reused(tables, options, seed)
        for seed in range(options.seeds)
        if REUSE in options.ways
    }
    print("| period | users | way | epsilon of the most exposed user | lists |")
    print("|---:|---:|---|---:|---:|")
    for at in options.judged:
        table = tables[at - 1]
        ours = held_out_of(table, train, test)
        spent = {
            WHOLE: epsilon_of(mu * math.sqrt(at), DELTA),
            PLAN: epsilon_of(of_plan.mu * math.sqrt(at), DELTA),
            REUSE: epsilon_of(of_plan.mu * math.sqrt(at), DELTA),
            COHORTS: options.epsilon,
        }
        for way in options.ways:
            shares = [
                best_list(joined(rows, table), table, ours) / raw[at]
                for seed in range(options.seeds)
                if (rows := published(way, at, tables, cohorts, options, seed, parts))
            ]
            print(
                f"| {at} | {table.n_users} | {way} | {spent[way]:.3g} | {np.mean(shares):.1%} "
                f"± {half_width(shares):.1%} ({len(shares)} seeds) |",
                flush=True,
            )


def drawn(
    maker: Synthesizer, table: Ratings, on: Ratings
) -> tuple[list[UserRows], EarlierSums | None]:
    """Return the users of a release, and its noisy sums; nothing if noise leaves nothing."""
    try:
        release = maker.anonymize(table)
    except RecveilError as error:
        if error.code != "budget.too-small":
            raise
        return [], None
    return [rows_of(release, on)], release.private.noisy_sums


def reused(tables, options, seed) -> list[list[UserRows]]:
    """Return the users of each release of a plan that reuses noisy sums."""
    found, sums = [], None
    for at, table in enumerate(tables[: max(options.judged)], 1):
        plan = {"releases": options.periods, "reuse": sums}
        maker = Synthesizer(options.epsilon, item_catalog="as-rated", seed=100 * seed + at, **plan)
        rows, new = drawn(maker, table, table)
        found.append(rows)
        sums = new or sums
    return found


def published(way, at, tables, cohorts, options, seed, parts) -> list[UserRows]:
    """Return what recipients have after so many periods, the newest release or all cohorts."""
    plain = {"item_catalog": "as-rated", "seed": 100 * seed + at}
    if way == REUSE:
        return parts[seed][at - 1]
    if way == COHORTS:
        makers = [
            (Synthesizer(options.epsilon, cohort=str(cohort), **plain), table)
            for cohort, table in zip(cohorts[:at], tables, strict=False)
        ]
    else:
        releases = options.periods if way == PLAN else None
        makers = [(Synthesizer(options.epsilon, releases=releases, **plain), tables[at - 1])]
    on = tables[at - 1]
    return [rows for maker, table in makers for rows in drawn(maker, table, on)[0]]


if __name__ == "__main__":
    main()
