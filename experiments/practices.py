"""What publishers do today, under the attacks of a comparison, and dates shifted per user.

    python experiments/practices.py path/to/u.data [--days 365]

The first table compares releases of 80 % of each user's ratings, as `recveil compare` does: which
share of the released users an adversary re-identifies who knows eight ratings, two of them wrong
(baseline: one over the released users), membership inference by the best adversary (control:
membership at random), and lists as a share of the best on the raw ratings.

The second table attacks the whole table by two presets who know dates within 14 days: with its true
dates, without dates, and with all dates of a user shifted by one random offset, by the strongest
attack and by the differences between dates, which an offset does not change.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from arguments import parser_of, ratings_file

from recveil.attacks import PRESETS, AttackTarget, Candidates, Interval, attack_release
from recveil.auditing.table_attacks import run_attack
from recveil.comparison import compare
from recveil.comparison.cells import CELLS
from recveil.io import read_ratings
from recveil.methods import DateShift, Pseudonymizer

PRACTICES = ("raw", "user-sample", "netflix-perturbation", "k-core", "date-shift")
PAPER = PRESETS["paper"]


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


def attack_dates(file: Path, most: int) -> None:
    """Print the table of dates."""
    ratings = read_ratings(file)
    targets = np.arange(ratings.n_users)
    shifted, undated = (
        AttackTarget.from_release(method.anonymize(ratings), ratings)
        for method in (DateShift(most, seed=1), Pseudonymizer(seed=1))
    )
    print("\n| adversary | true dates | no dates | shifted dates | by differences |")
    print("|---|---|---|---|---|")
    for name in ("paper", "colleague"):
        by_true = run_attack(ratings, Candidates.from_ratings(ratings), PRESETS[name], targets)
        found = attack_release(ratings, shifted, PRESETS[name], targets)
        rates = [
            max(by_true.by_attack.values()),
            attack_release(ratings, undated, PRESETS[name], targets).reidentified,
            found.reidentified,
            found.by_attack["date-differences"],
        ]
        print(f"| {name} | {' | '.join(map(shown, rates))} |")
    print(f"\nBaseline of re-identification: {1 / ratings.n_users:.1%}.")


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("file", type=ratings_file)
    parser.add_argument("--days", type=int, default=365)
    given = parser.parse_args()
    compare_practices(given.file)
    attack_dates(given.file, given.days)
