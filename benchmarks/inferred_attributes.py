"""Measures attribute inference next to Weinsberg et al. 2012 (BlurMe) and anonymeter.

    python -m venv other && other/bin/pip install anonymeter
    python benchmarks/inferred_attributes.py ml-100k/u.data --anonymeter other/bin/python

MovieLens 100K has no attributes here: each attribute is whether a user rated one of the films
whose number of raters is nearest to 40% of the users, and the film's ratings are left out.
BlurMe's attack is a logistic regression on the row of ratings, 0 where there is none, with ten
folds. anonymeter infers the attribute from the nearest of the other users, given the ratings of
the 300 most rated films, and states how often it is right.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

N_ATTRIBUTES, N_ITEMS, SEED, SHARE = 8, 300, 0, 0.4


def by_anonymeter(folder: Path) -> float:
    """Return how often anonymeter infers the attribute of a fifth of the users from the others."""
    from anonymeter.evaluators import InferenceEvaluator  # type: ignore[import-not-found]

    np.random.seed(SEED)  # noqa: NPY002 (anonymeter takes no generator)
    others, targets = (pd.read_csv(folder / f"{name}.csv") for name in ("others", "targets"))
    *known, secret = targets.columns
    attack = InferenceEvaluator(
        ori=targets, syn=others, aux_cols=known, secret=secret, n_attacks=len(targets)
    )
    attack.evaluate(n_jobs=1)
    return float(attack._n_success / len(targets))


def main(file: Path, python: str) -> None:
    """Print the figures of each attribute."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    from recveil import read
    from recveil.auditing import audit

    ratings = read(file)
    matrix = pd.DataFrame(ratings.to_csr().toarray(), ratings.users, ratings.items)
    raters = (matrix > 0).mean()
    films = (raters - SHARE).abs().sort_values(kind="stable").index[:N_ATTRIBUTES]
    frame = ratings.to_arrow().to_pandas()
    rows = []
    with TemporaryDirectory() as place:
        folder = Path(place)
        for film in films:
            has = (matrix[film] > 0).astype(int)
            rest = matrix.drop(columns=film)
            rest = rest[rest.sum(axis=1) > 0]
            has = has[rest.index]
            pd.DataFrame({"user": rest.index, "has": has.map({0: "no", 1: "yes"})}).to_csv(
                folder / "users.csv", index=False
            )
            found = audit(
                frame[frame["item_id"] != film],
                scale="1:5:1",
                users=folder / "users.csv",
                attribute=["has"],
                curves=False,
                targets=20,
                seed=SEED,
            ).attribute_inference[0]
            folds = StratifiedKFold(10, shuffle=True, random_state=SEED)
            scores = cross_val_predict(
                LogisticRegression(max_iter=2_000), rest, has, cv=folds, method="decision_function"
            )
            popular = rest[rest.columns[np.argsort(-(rest > 0).sum(), kind="stable")[:N_ITEMS]]]
            popular = popular.copy().assign(has=has).sample(frac=1, random_state=SEED)
            cut = len(popular) // 5
            popular[:cut].to_csv(folder / "targets.csv", index=False)
            popular[cut:].to_csv(folder / "others.csv", index=False)
            command = [python, __file__, "--attack", place]
            run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
            best = found.strongest
            rows.append(
                {
                    "film": film,
                    "recveil AUC": best.auc.rate,
                    "low": best.auc.low,
                    "high": best.auc.high,
                    "BlurMe AUC": roc_auc_score(has, scores),
                    "recveil right": max(each.accuracy.rate for each in found.predictions),
                    "anonymeter right": json.loads(run.stdout.splitlines()[-1]),
                    "majority": max(has.mean(), 1 - has.mean()),
                }
            )
            print(rows[-1], flush=True)
    print(pd.DataFrame(rows).drop(columns="film").mean().round(3).to_string())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        print(json.dumps(by_anonymeter(Path(sys.argv[2]))))
    else:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("ratings", type=Path)
        parser.add_argument("--anonymeter", default=sys.executable, help="Python with anonymeter")
        given = parser.parse_args()
        main(given.ratings, given.anonymeter)
