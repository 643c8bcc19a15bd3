"""What releases by Spark are worth next to those of the local engine, made by the same rule.

python benchmarks/spark_worth.py ml-100k/u.data                           drawn users
python benchmarks/spark_worth.py ml-100k/u.data --release simple --seeds 3
python benchmarks/spark_worth.py --millions 1 --release simple            of invented ratings
python benchmarks/spark_worth.py ml-100k/u.data --cluster                 two workers, here

Needs pip install "recveil[spark]" and Java. A fifth of the ratings is held out; recipients learn
from each release, and predict them. Drawn users are those of exact sums.
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from recveil.evaluation import split_ratings
from recveil.evaluation.disclosure import Opened
from recveil.evaluation.rankers import PureSVD
from recveil.evaluation.rating_predictors import ItemMeansAndBias, RidgeFactors
from recveil.evaluation.recipient import Served, fit_all, serve
from recveil.evaluation.split import UserRows
from recveil.io import read_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer
from recveil.ratings import Ratings
from spark import RELEASES, STARS, cluster_of, invent

ENGINES = "local", "spark"
DRAWN = {"epsilon": "none", "item_catalog": "as-rated"}
FEW = ItemMeansAndBias(), RidgeFactors(rank=10), PureSVD()


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
    parser.add_argument("--cluster", action="store_true", help="begin two workers, of a core each")
    parser.add_argument("--memory", default="2g", help="of Spark's driver, and of each worker")
    parser.add_argument("--few", action="store_true", help="three recommenders, of large tables")
    parser.add_argument("--seeds", type=int, default=5, help="releases of it by each engine")
    parser.add_argument("--folder", type=Path, help="keep releases here; take those that are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, cluster_of(options, Path(temporary)):
        folder = options.folder or Path(temporary)
        file = options.file
        if file is None:
            file = folder / f"ratings-{options.millions}.parquet"
            if not file.exists():
                invent(file, options.millions, options.items)
        compare(read_ratings(file, scale=STARS), folder, options)


def compare(ratings: Ratings, folder: Path, options: argparse.Namespace) -> None:
    """Make a release for each seed by each engine, and compare what recipients get from them."""
    split = split_ratings(ratings, share=0.2, seed=1)
    users = UserRows.from_ratings(split.train)
    found: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
    for seed, engine, release in made(split.train, folder, options):
        table = Opened.open(release, split.train).table
        served = serve(fit_all(table, FEW if options.few else None), users, split.test)
        found[engine].append(utility_of(served))
        names = served.chosen, served.ranker, served.best, served.best_ranker
        print(engine, seed, *names, *list(found[engine][-1].values())[:4], flush=True)
    for name in found["local"][0]:
        if any(name not in worth for engine in found for worth in found[engine]):
            continue  # some releases say nothing of it
        local, spark = (np.array([worth[name] for worth in found[engine]]) for engine in found)
        differs = spark.mean() / local.mean() - 1
        result = f"{name}: local {local.mean():.4f}, Spark {spark.mean():.4f} ({differs:+.2%})"
        if options.seeds > 1:
            both = (local.var(ddof=1) + spark.var(ddof=1)) / options.seeds
            result += f", standard error {np.sqrt(both) / local.mean():.2%}"
        print(result)


def utility_of(served: Served) -> dict[str, float]:
    """Return what the recommenders that would be chosen are worth, the best ones, and each."""
    worth = {
        "RMSE, as a recipient would choose": served.of_chosen.rmse,
        "nDCG@10, as a recipient would choose": served.of_ranker.ndcg,
        "RMSE of the best, which no recipient can know": served.utilities[served.best].rmse,
        "nDCG@10 of the best": served.utilities[served.best_ranker].ndcg,
    }
    for name, utility in served.utilities.items():
        worth |= {f"RMSE, {name}": utility.rmse, f"nDCG@10, {name}": utility.ndcg}
    return {name: round(number, 4) for name, number in worth.items() if not np.isnan(number)}


def made(
    ratings: Ratings, folder: Path, options: argparse.Namespace
) -> Iterator[tuple[int, str, Path]]:
    """Yield seeds, engines and the releases that they make, one after the other."""
    from recveil.spark import anonymize
    from recveil.spark.session import spark_session

    table = folder / "train.parquet"
    pq.write_table(ratings.to_arrow().select(["user_id", "item_id", "rating"]), table)
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-memory {options.memory} pyspark-shell"
    given = DRAWN if options.release == "drawn" else RELEASES[options.release]
    with spark_session(options.master) as session:
        frame = session.read.parquet(str(table))
        for seed in range(options.seeds):
            here, there = (folder / f"{options.release}-{engine}-{seed}" for engine in ENGINES)
            if not here.exists():
                maker(options.release, seed).anonymize(ratings).write(here, allow_large=True)
            yield seed, "local", here
            if not there.exists():
                anonymize(frame, there, seed=seed, scale=STARS, allow_large=True, **given)
            yield seed, "spark", there


def maker(kind: str, seed: int) -> Any:
    """Return what makes a release of a kind here."""
    if kind == "drawn":
        return Synthesizer(None, item_catalog="as-rated", seed=seed)
    if kind in ("k-corating", "sparse"):
        return {"k-corating": KCoRater, "sparse": SparseRows}[kind](RELEASES[kind]["k"], seed=seed)
    return PredictiveAnonymizer(
        RELEASES[kind]["k"], RELEASES[kind].get("homogenize", "padded"), seed=seed
    )


if __name__ == "__main__":
    main()
