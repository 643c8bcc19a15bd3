"""What publishers do today, under the attacks of a comparison, and dates moved per user.

    python experiments/practices.py path/to/u.data [--days 365]

The first table compares releases of 80 % of each user's ratings, as `recveil compare` does: which
share of the released users an adversary re-identifies who knows eight ratings, two of them wrong
(baseline: one over the released users), membership inference by the best adversary (control:
membership at random), and lists as a share of the best on the raw ratings.

The second table moves all dates of a user by one random offset, and attacks the whole table by two
presets who know dates within 14 days: as if the dates were true, without dates, and by the
differences between dates, which an offset does not change. Matched: the best record is right and
leads by 1.5 standard deviations; control: how often one leads so far without the target's record.
"""

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from arguments import parser_of, ratings_file

from recveil.attacks import (
    PRESETS,
    Adversary,
    Candidates,
    Interval,
    Knowledge,
    draw_knowledge,
    wilson_interval,
)
from recveil.auditing.table_attacks import run_attack
from recveil.comparison import compare
from recveil.comparison.cells import CELLS
from recveil.io import read_ratings
from recveil.ratings import Ratings

PRACTICES = ("raw", "user-sample", "netflix-perturbation", "k-core")
PAPER = PRESETS["paper"]
# The lead in standard deviations at which Scoreboard-RH accepts a record.
LEAD = 1.5
# How likely a known entry is by a record that contradicts it.
FLOOR = 1e-3


def shown(rate: dict | Interval) -> str:
    """Write a rate with its interval in percent."""
    of = rate if isinstance(rate, dict) else rate._asdict()
    return f"{of['rate']:.1%} ({of['low']:.1%} to {of['high']:.1%})"


def compare_practices(file: Path) -> None:
    """Print the table of releases."""
    print("| release | re-identified | baseline | membership AUC | control | lists |")
    print("|---|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        out = Path(folder, "comparison")
        methods = [*PRACTICES, "sparse", "synthetic-3"]
        result = compare(file, out, methods=methods, k=5, scale="1:5:1")
        for row in result.rows:
            name = f"{row.method}-k{row.k}.json" if row.k else f"{row.method}.json"
            cell = json.loads((out / CELLS / name).read_text())
            print(f"| {row.title} | {' | '.join(figures(cell))} | {row.ndcg_retained:.1%} |")


def figures(cell: dict) -> list[str]:
    """Return the attacks' figures of a setting."""
    disclosure = cell["evaluation"]["disclosure"]
    paper = [one for one in disclosure["attacks"] if one["name"] == PAPER.name]
    found = ["no record is a user's", ""]
    if paper:
        found = [shown(paper[0]["reidentified"]), f"{paper[0]['baseline']:.1%}"]
    known = [disclosure["membership"][name] for name in ("8", "16", "all")]
    best = max(known, key=lambda one: one["auc"]["rate"])
    auc, control = best["auc"], best["null_auc"]
    found.append(f"{auc['rate']:.2f} ({auc['low']:.2f} to {auc['high']:.2f})")
    return [*found, f"{control['rate']:.2f} ({control['low']:.2f} to {control['high']:.2f})"]


def move_dates(ratings: Ratings, most: int, seed: int) -> Ratings:
    """Move all dates of each user by one offset of at most so many days."""
    offsets = np.random.default_rng(seed).integers(-most, most + 1, ratings.n_users)
    return Ratings(
        *(ratings.users, ratings.items, ratings.indptr, ratings.indices, ratings.values),
        days=ratings.days + offsets[ratings.user_positions()],
        scale=ratings.scale,
    )


def by_differences(
    ratings: Ratings, table: Ratings, adversary: Adversary, known: Knowledge
) -> tuple[Interval, Interval, Interval]:
    """Attack by the likelihood ratio of each record, with dates relative to one known entry.

    The entry is the one that makes the record likeliest; its own date counts nothing.
    """
    days, values = np.full(ratings.shape, np.nan), np.full(ratings.shape, np.nan)
    at = table.user_positions(), table.indices
    days[at], values[at] = table.days, table.values
    right, error = adversary.n_right / adversary.known, adversary.rating_error or 0
    # Two dates known within some days differ by at most twice as many; others by up to the span.
    spread, span = 4 * (adversary.date_error or 0) + 1, int(np.ptp(table.days)) + 1
    n_right, n_matched, n_false = 0.0, 0, 0
    for place, target in enumerate(known.targets):
        own = slice(known.indptr[place], known.indptr[place + 1])
        items = known.items[own]
        is_rated = ~np.isnan(days[:, items])
        apart = np.abs(values[:, items] - known.values[own]) <= error
        by_entry = np.log(
            right * apart * ratings.scale.levels.size / (2 * error + 1) + 1 - right + FLOOR
        )
        by_entry -= np.log(table.activity)[:, None]  # each item of a record is as likely known
        by_entry[~is_rated] = np.log(FLOOR / ratings.n_items)
        ahead = days[:, items] - known.days[own]
        scores = []
        for anchor in range(items.size):
            is_near = np.abs(ahead - ahead[:, [anchor]]) <= spread // 2
            by_date = np.log(right * is_near * span / spread + 1 - right + FLOOR)
            by_date[:, anchor] = 0
            scores.append((by_entry + np.where(is_rated, by_date, 0)).sum(axis=1))
        score = np.max(scores, axis=0)
        top = np.flatnonzero(score == score.max())
        n_right += (target in top) / top.size
        n_matched += score.argmax() == target and stands_out(score)
        n_false += stands_out(np.delete(score, target))
    return (
        known.rate(n_right),
        known.rate(n_matched),
        wilson_interval(n_false, known.targets.size),
    )


def stands_out(score: np.ndarray) -> bool:
    """Return whether the highest score leads by enough standard deviations."""
    second, first = np.partition(score, -2)[-2:]
    return bool(first - second >= LEAD * score.std())


def attack_dates(ratings: Ratings, most: int) -> None:
    """Print the table of dates."""
    targets = np.arange(ratings.n_users)
    tables = {"true": ratings, "moved": move_dates(ratings, most, seed=1)}
    print("\n| adversary | dates of the table | they use | re-identified | matched | control |")
    print("|---|---|---|---|---|---|")
    for name in ("paper", "colleague"):
        adversary = PRESETS[name]
        ways = {"dates": adversary, "no dates": replace(adversary, date_error=None)}
        known = draw_knowledge(ratings, adversary, targets, seed=0)
        for dates, table in tables.items():
            # What is known is drawn from the true dates, whatever the table has.
            candidates, found = Candidates.from_ratings(table), {}
            for way, one in ways.items():
                outcome = run_attack(ratings, candidates, one, targets)
                found[way] = outcome.reidentified, outcome.success, outcome.control
            found["differences"] = by_differences(ratings, table, adversary, known)
            for way, rates in found.items():
                print(f"| {name} | {dates} | {way} | {' | '.join(map(shown, rates))} |")
    print(f"\nBaseline of re-identification: {1 / ratings.n_users:.1%}.")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("file", type=ratings_file)
    parser.add_argument("--days", type=int, default=365)
    given = parser.parse_args()
    compare_practices(given.file)
    attack_dates(read_ratings(given.file), given.days)
