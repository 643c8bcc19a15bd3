"""What releases by Spark are worth beside those of the local engine, made by the same rule.

python benchmarks/spark_worth.py ml-100k/u.data                           drawn people
python benchmarks/spark_worth.py ml-100k/u.data --release simple --seeds 3
python benchmarks/spark_worth.py --millions 1 --release simple            of invented ratings

Needs pip install "recveil[spark]" and Java. A fifth of the ratings is held out; recipients learn
from each release, and predict them. Drawn people are those of exact sums.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from recveil.anonymize import KCoRater, PredictiveAnonymizer, Synthesizer
from recveil.evaluate import Evaluator, split_ratings
from recveil.io import read_ratings
from recveil.ratings import Ratings
from spark import RELEASES, STARS, invent

DRAWN = {"epsilon": "none", "catalogue": "as-rated"}


def main() -> None:
    """Read the options, make all releases, and print what each is worth."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?", help="ratings from 1 to 5")
    parser.add_argument("--millions", type=int, default=1, help="of invented ones, without a file")
    parser.add_argument("--items", type=int, default=17_770, help="of the invented table")
    parser.add_argument("--release", default="drawn", choices=RELEASES)
    parser.add_argument("--master", default="local[2]", help="where Spark runs")
    parser.add_argument("--seeds", type=int, default=5, help="releases of it by each engine")
    parser.add_argument("--folder", type=Path, help="keep releases here; temporary if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        file = options.file
        if file is None:
            file = folder / f"ratings-{options.millions}.parquet"
            if not file.exists():
                invent(file, options.millions, options.items)
        compare(read_ratings(file, scale=STARS), folder, options)


def compare(ratings: Ratings, folder: Path, options: argparse.Namespace) -> None:
    """Compare what recipients get from releases of either engine."""
    split = split_ratings(ratings, share=0.2, seed=1)
    evaluator = Evaluator(split, with_membership=False, n_targets=50)
    make(split.train, folder, options)
    found: dict[str, list[tuple[float, float]]] = {"local": [], "spark": []}
    for seed in range(options.seeds):
        for engine, results in found.items():
            best = evaluator.evaluate(folder / f"{engine}-{seed}").to_json()["recipient"]["best"]
            results.append((best["release"]["rmse"], best["release"]["ndcg@10"]))
            print(engine, seed, results[-1], flush=True)
    for at, name in enumerate(("RMSE", "nDCG@10")):
        means = {engine: np.mean([each[at] for each in all_]) for engine, all_ in found.items()}
        differs = means["spark"] / means["local"] - 1
        print(f"{name}: local {means['local']:.4f}, Spark {means['spark']:.4f} ({differs:+.2%})")


def make(ratings: Ratings, folder: Path, options: argparse.Namespace) -> None:
    """Make a release for each seed by each engine."""
    from recveil.spark import anonymize
    from recveil.spark.spark_session import spark_session

    given = DRAWN if options.release == "drawn" else RELEASES[options.release]
    with spark_session(options.master) as session:
        frame = session.createDataFrame(ratings.to_arrow().select(["user_id", "item_id", "rating"]))
        for seed in range(options.seeds):
            here = folder / f"local-{seed}"
            maker(options.release, seed).anonymize(ratings).write(here, allow_large=True)
            there = folder / f"spark-{seed}"
            anonymize(frame, there, seed=seed, scale=STARS, allow_large=True, **given)


def maker(kind: str, seed: int) -> Any:
    """Return what makes a release of a kind here."""
    if kind == "drawn":
        return Synthesizer(None, catalogue="as-rated", seed=seed)
    if kind == "k-corating":
        return KCoRater(RELEASES[kind]["k"], seed=seed)
    return PredictiveAnonymizer(
        RELEASES[kind]["k"], RELEASES[kind].get("homogenize", "padded"), seed=seed
    )


if __name__ == "__main__":
    main()
