"""The three risks of releases by recveil's audit, next to those by anonymeter on the same tables.

    python -m venv other && other/bin/pip install anonymeter
    python experiments/three_risks.py path/to/ml-100k/u.data --anonymeter other/bin/python

Releases are made of a third of the users. anonymeter takes one row per user: the ratings of the
most rated items, 0 where there is none. Its control is another third, as a smaller one makes it
report risk where there is none; its risk is (rate - control) / (1 - control), as the excess of
recveil's lines. The null is a release of the last third: what is measured there is chance.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

RELEASES: dict[str, dict[str, Any]] = {
    "simple, k = 5": {"k": 5, "method": "predictive", "homogenize": "simple"},
    "sparse, k = 5": {"k": 5, "method": "sparse"},
    "epsilon 3": {"epsilon": 3.0, "item_catalog": "as-rated"},
}
N_ITEMS, N_ATTACKS, N_KNOWN, SEED = 30, 300, 8, 0
RISKS = ("singling_out", "linkability", "inference")


def by_anonymeter(folder: Path) -> dict[str, list[float]]:
    """Attack the tables of a folder with anonymeter; return risk, low and high."""
    import numpy as np
    import pandas as pd
    from anonymeter.evaluators import (  # type: ignore[import-not-found]
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    np.random.seed(SEED)  # noqa: NPY002 (anonymeter takes no generator)
    tables = {
        name: pd.read_csv(folder / f"{name}.csv") for name in ("members", "release", "others")
    }
    given = {"ori": tables["members"], "syn": tables["release"], "control": tables["others"]}
    items = list(tables["members"].columns)
    n_attacks = min(N_ATTACKS, len(tables["others"]))
    evaluators = {
        "singling_out": SinglingOutEvaluator(**given, n_attacks=n_attacks, n_cols=N_KNOWN),
        "linkability": LinkabilityEvaluator(
            **given,
            n_attacks=n_attacks,
            aux_cols=(items[:N_KNOWN], items[N_KNOWN:]),
            n_neighbors=1,
        ),
        "inference": InferenceEvaluator(
            **given, n_attacks=n_attacks, aux_cols=items[:N_KNOWN], secret=items[-1]
        ),
    }
    found = {}
    for risk, evaluator in evaluators.items():
        mode = {"mode": "multivariate"} if risk == "singling_out" else {"n_jobs": 1}
        measured = evaluator.evaluate(**mode).risk()
        found[risk] = [measured.value, *measured.ci]
    return found


def main(file: Path, python: str) -> None:
    """Make each release, audit it, and print both results."""
    import numpy as np
    import pandas as pd

    from recveil import read
    from recveil.auditing import audit
    from recveil.methods import anonymize
    from recveil.ratings import Ratings

    ratings: Ratings = read(file)
    order = np.random.default_rng(SEED).permutation(ratings.n_users)
    third = (order % 3)[ratings.user_positions()]
    frame = ratings.to_arrow().to_pandas()
    inside, others, null = (frame[third == n].reset_index(drop=True) for n in range(3))
    items = inside["item_id"].value_counts().index[:N_ITEMS]

    def wide(rows: Any) -> Any:
        table = rows.pivot_table(index="user_id", columns="item_id", values="rating", fill_value=0)
        return table.reindex(columns=items, fill_value=0).round()

    with TemporaryDirectory() as place:
        folder = Path(place)
        members, strangers = folder / "members.parquet", folder / "null.parquet"
        inside.to_parquet(members)
        null.to_parquet(strangers)
        wide(inside).to_csv(folder / "members.csv", index=False)
        wide(others).to_csv(folder / "others.csv", index=False)
        made = {"names removed": members, "null": strangers}
        for name, options in RELEASES.items():
            made[name] = folder / name.replace(" ", "")
            anonymize(members, made[name], scale="1:5:1", **options)
        for name, release in made.items():
            is_raw = release.suffix == ".parquet"
            published = release if is_raw else release / "ratings.parquet"
            wide(pd.read_parquet(published)).to_csv(folder / "release.csv", index=False)
            command = [python, __file__, "--attack", place]
            run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
            theirs = json.loads(run.stdout.splitlines()[-1])
            found = audit(members, release=None if is_raw else release, curves=False, seed=SEED)
            for line, risk in zip(found.risks.lines, RISKS, strict=True):
                best = None if release == strangers else line.strongest
                ours = "not measured" if best is None else f"{best.excess:.2f} ({best.name})"
                value, low, high = theirs[risk]
                print(f"{name:16}{risk:14}{value:.2f} ({low:.2f} to {high:.2f})   {ours}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        print(json.dumps(by_anonymeter(Path(sys.argv[2]))))
    else:
        from arguments import parser_of, ratings_file

        parser = parser_of(__doc__)
        parser.add_argument("ratings", type=ratings_file)
        parser.add_argument("--anonymeter", default=sys.executable, help="Python with anonymeter")
        given = parser.parse_args()
        main(given.ratings, given.anonymeter)
