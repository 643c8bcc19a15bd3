"""How much utility do releases of few and of many users retain?

    python experiments/how_many_users.py [--users 1000 10000 100000] [--tables path/to/u.data]
        [--epsilons 1] [--chart utility.svg]

Generates tables of 1,000 items with 100 ratings per user, or reads tables with the scale 1:5:1.
Makes a release with each epsilon and one of sparse rows with k = 5, and compares the lists that
recommenders learn from them, and from the raw ratings, for the same users: nDCG@10 on a held-out
fifth of the ratings. Popular items alone are the baseline. Intervals (95 %) are over the served
users, of one release. The chart draws the lists retained against epsilon.
"""

from collections.abc import Iterator

import altair as alt
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


def measure(
    ratings: Ratings, n_served: int, epsilons: list[float], kind: str
) -> Iterator[dict[str, object]]:
    """Print what recommenders learn from each release; yield the lists retained by epsilon."""
    train, held = hold_out(ratings, n_served, SEED)
    task = task_of(ratings, train, held, ratings.n_items)
    records = Records(np.ones(train.n_users, np.int64), *UserRows.from_ratings(train))
    raw = judge(on_places([records], task.place_of), task, train)
    print(f"\n{ratings}\nlearned from | recommender | nDCG@10 | RMSE | settings")
    print_served("raw", raw)
    methods: dict[float | None, Synthesizer | SparseRows] = {
        epsilon: Synthesizer(epsilon, item_catalog="as-rated", seed=SEED) for epsilon in epsilons
    }
    for epsilon, method in {**methods, None: SparseRows(k=5, seed=SEED)}.items():
        release = method.anonymize(train).published
        place_of = task.place_of[np.searchsorted(train.items, release.items)]
        learned = judge(on_places(release.blocks(), place_of), task, train)
        print_served(f"epsilon {epsilon:g}" if epsilon else "sparse, k = 5", learned)
        kept, low, high = print_kept(raw, learned)
        if epsilon:
            users = f"{ratings.n_users:,} {kind} users"
            yield {"users": users, "epsilon": epsilon, "kept": kept, "low": low, "high": high}


def draw(rows: list[dict[str, object]], path: str) -> None:
    """Draw the lists retained against epsilon, a line per table."""
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("epsilon:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[0.5, 1, 3, 10])),
        color=alt.Color("users:N", title=None, sort=[str(row["users"]) for row in rows]),
    )
    share = alt.Axis(format="%")
    lists = alt.Y("kept:Q", title="lists retained", axis=share, scale=alt.Scale(domain=[0, 1]))
    lines = base.mark_line(point=True).encode(y=lists)
    bars = base.mark_rule().encode(y="low:Q", y2="high:Q")
    (lines + bars).properties(width=420, height=260).save(path)


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--users", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--served", type=int, default=5_000, help="users with held-out ratings")
    parser.add_argument("--tables", nargs="*", default=[], help="files to read instead")
    parser.add_argument("--epsilons", type=float, nargs="*", default=[1.0])
    parser.add_argument("--chart", help="a file to draw: .svg, .png or .html")
    options = parser.parse_args()
    drawn = []
    for path in options.tables:
        read = read_ratings(path, scale=RatingScale(1, 5, 1))
        drawn += measure(read, options.served, options.epsilons, "real")
    for n_users in () if options.tables and not options.chart else options.users:
        made = make_ratings(n_users, ITEMS, n_users * RATINGS_PER_USER, seed=SEED)
        drawn += measure(made, options.served, options.epsilons, "generated")
    if options.chart:
        draw(drawn, options.chart)
