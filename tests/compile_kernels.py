"""Compile the kernels that many tests run, in two processes, before two workers do so twice.

`make test` begins with it: numba stores compiled code next to the modules, and a worker that needs
a kernel compiles it unless it is kept already. Nothing depends on it: what is missing here is
compiled when a test needs it.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from recveil.auditing import audit
from recveil.clustering import MDAV, MHM, BisectingOneKGather, KMember, UnionSplit
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer
from recveil.predict import FunkSVD, TrustKNN, UserKNN
from recveil.verification import verify

RATINGS = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=1)


def by_levels(_: Path) -> None:
    PredictiveAnonymizer(4, privacy_levels="activity>=20:6,else:4", seed=1).anonymize(RATINGS)


def by_grouping(folder: Path) -> None:
    for grouping in ("k-gather", "bisecting", "predictive", "bounded-t-means"):
        made = PredictiveAnonymizer(4, "simple", grouping=grouping, seed=1).anonymize(RATINGS)
    made.write(folder / "out")
    diverse = PredictiveAnonymizer(4, "simple", b=2, l=2, seed=1).anonymize(RATINGS)
    diverse.write(folder / "diverse")
    X = np.random.default_rng(1).random((60, 5))
    for grouping in (BisectingOneKGather, MDAV, MHM, KMember, UnionSplit):
        grouping(4).fit(X)


def by_prediction(_: Path) -> None:
    for predictor in (FunkSVD(n_epochs=2), FunkSVD(n_epochs=2, sequential=True), UserKNN()):
        PredictiveAnonymizer(4, predictor=predictor, seed=1).anonymize(RATINGS)
    UserKNN(neighbours="global", centre="biases").fit(RATINGS)
    TrustKNN().fit(RATINGS)


def by_rows(folder: Path) -> None:
    SparseRows(4, seed=1).anonymize(RATINGS).write(folder / "out")
    for protect in ("none", "mean"):
        made = KCoRater(4, "similarity", protect=protect, seed=1).anonymize(RATINGS)
        made.write(folder / protect)
    KCoRater(4, "random", grouping="supports", seed=1).anonymize(RATINGS).write(folder / "supports")
    write_ratings(RATINGS, folder / "ratings.csv")
    verify(folder / "ratings.csv", k=4)


def drawn(_: Path) -> None:
    for ratings in (RATINGS, RATINGS.as_likes()):
        for epsilon in (None, 50.0):
            Synthesizer(epsilon, item_catalog="as-rated", seed=1).anonymize(ratings)


def audited(folder: Path) -> None:
    SparseRows(4, seed=1).anonymize(RATINGS).write(folder / "sparse")
    audit(RATINGS, release=folder / "sparse", targets=9)


def compared(folder: Path) -> None:
    compare(RATINGS, folder / "out", methods=["padded", "sparse"], k=[4], targets=9)


# The longest first; those that stand next to each other share few kernels.
WORK = (by_levels, audited, compared, by_grouping, drawn, by_rows, by_prediction)


def do(work: Callable[[Path], None]) -> None:
    with TemporaryDirectory() as folder:
        work(Path(folder))


if __name__ == "__main__":
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        list(processes.map(do, WORK))
    sys.exit()
