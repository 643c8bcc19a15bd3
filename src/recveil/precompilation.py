"""Compile kernels ahead, so that verbs need not at their first call on a machine."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

import numpy as np
from scipy import sparse

from recveil.auditing import audit
from recveil.clustering import MDAV, MHM, BisectingOneKGather, KMember, UnionSplit
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.evaluation.rating_predictors import multiply_rows
from recveil.inspection import inspect
from recveil.io import write_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer, anonymize
from recveil.predict import FunkSVD, TrustKNN, UserKNN
from recveil.ratings import Ratings
from recveil.runtime.compiled import count_bits, is_kept
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.progress import track
from recveil.verification import verify


def precompile() -> float:
    """Compile the kernels of usual calls for this machine, and return the seconds it took.

    Raises a `RecveilError` if numba has no folder to keep them in, code ``machine.kernels``.
    """
    _check_named_folder()
    if not is_kept(count_bits):
        raise RecveilError(
            "compiled kernels: this user may write neither to the folder of recveil nor to a cache "
            "folder; set NUMBA_CACHE_DIR to a folder that only this user can write to",
            code="machine.kernels",
        )
    start = time.monotonic()
    running: list[subprocess.Popen[bytes]] = []
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(partial(_run, running), _WORK)
        try:
            list(track(done, "Compiling, once on this machine", len(_WORK)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.kill()
            raise
    return time.monotonic() - start


def _check_named_folder() -> None:
    """Raise for a folder of NUMBA_CACHE_DIR in place of which numba would take another."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        try:
            Path(named).mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=named):
                pass
        except OSError as error:
            raise RecveilError(
                f"NUMBA_CACHE_DIR {quoted(named, 80)}: expected a folder for compiled kernels, got "
                f"{error.strerror or error}; name one that only this user can write to",
                code="machine.kernels",
            ) from None


def _run(running: "list[subprocess.Popen[bytes]]", part: str) -> None:
    command = [sys.executable, "-m", "recveil.precompilation", part]
    with subprocess.Popen(  # noqa: S603  # our own
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        running.append(process)
        _, problem = process.communicate()
    if process.returncode:
        reason = problem.decode(errors="replace").strip().rpartition("\n")[2][:150]
        raise RecveilError(f"compiling for {part} failed: {reason}", code="machine.killed")


def _ratings() -> Ratings:
    return make_ratings(n_users=60, n_items=30, n_ratings=900, seed=1)


def _levels(_: Path) -> None:
    PredictiveAnonymizer(4, privacy_levels="activity>=20:6,else:4", seed=1).anonymize(_ratings())


def _groupings(folder: Path) -> None:
    for grouping in ("k-gather", "bisecting", "predictive", "bounded-t-means"):
        made = PredictiveAnonymizer(4, "simple", grouping=grouping, seed=1).anonymize(_ratings())
    made.write(folder / "out")
    diverse = PredictiveAnonymizer(4, "simple", b=2, l=2, seed=1).anonymize(_ratings())
    diverse.write(folder / "diverse")
    X = np.random.default_rng(1).random((60, 5))
    for clusterer in (BisectingOneKGather(4), MDAV(4), MHM(4), KMember(4), UnionSplit(4)):
        clusterer.fit(X)


def _predictors(_: Path) -> None:
    for predictor in (FunkSVD(n_epochs=2), FunkSVD(n_epochs=2, sequential=True), UserKNN()):
        PredictiveAnonymizer(4, predictor=predictor, seed=1).anonymize(_ratings())
    UserKNN(neighbours="global", centre="biases").fit(_ratings())
    TrustKNN().fit(_ratings())
    rows = sparse.eye_array(50, format="csr")  # the tables above are not sparse
    for numbers in (rows, rows.toarray()):
        multiply_rows(rows, numbers)


def _verbs(folder: Path) -> None:
    # So large that no kernel runs as plain Python.
    ratings = make_ratings(n_users=600, n_items=100, n_ratings=30_000, seed=1)
    write_ratings(ratings, folder / "ratings.csv")
    inspect(folder / "ratings.csv")
    anonymize(ratings, k=5, output=folder / "out", seed=1)
    dated = folder / "verbs" / "dated"  # away from the release before
    dated.parent.mkdir()
    anonymize(folder / "ratings.csv", k=5, output=dated, dates="month", seed=1)
    evaluate(folder / "ratings.csv", split=0.2, release=dated, targets=9)


def _rows(folder: Path) -> None:
    for protect in ("none", "mean"):
        made = KCoRater(4, "similarity", protect=protect, seed=1).anonymize(_ratings())
        made.write(folder / protect)
    made = KCoRater(4, "random", grouping="supports", seed=1).anonymize(_ratings())
    made.write(folder / "supports")
    write_ratings(_ratings(), folder / "ratings.csv")
    verify(folder / "ratings.csv", k=4)


def _synthetic(_: Path) -> None:
    for ratings in (_ratings(), _ratings().as_likes()):
        for epsilon in (None, 50.0):
            Synthesizer(epsilon, item_catalog="as-rated", ledger="none", seed=1).anonymize(ratings)


def _audits(folder: Path) -> None:
    SparseRows(4, seed=1).anonymize(_ratings()).write(folder / "sparse")
    audit(_ratings(), release=folder / "sparse", targets=9)


def _comparison(folder: Path) -> None:
    compare(_ratings(), folder / "out", methods=["padded", "sparse"], k=[4], targets=9)


# The longest first; those next to each other share few kernels.
_WORK: dict[str, Callable[[Path], object]] = {
    "verbs": _verbs,
    "levels": _levels,
    "audits": _audits,
    "comparison": _comparison,
    "groupings": _groupings,
    "synthetic": _synthetic,
    "rows": _rows,
    "predictors": _predictors,
}

if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        _WORK[sys.argv[1]](Path(folder))
