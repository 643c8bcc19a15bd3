"""The stages of the main job, one by one, and what a user would take instead of each.

`benchmarks/pipeline.py` calls every contender in a process of its own. A contender gets the folder
with the invented data and returns the seconds that the stage took; what it needs from the stages
before is loaded first and not counted, and its kernels are compiled on a few rows.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from scipy import sparse

from recveil.clustering.k_gather import KGather
from recveil.datasets import make_ratings
from recveil.evaluation.rankers import Ease
from recveil.evaluation.ranking_metrics import relevance_threshold
from recveil.evaluation.split import TrainingTable
from recveil.io import read_ratings, write_ratings
from recveil.methods.predictive.homogenize import homogenize_padded, homogenize_simple
from recveil.predict import FunkSVD, Padding
from recveil.ratings import Ratings
from recveil.release.records import Groups
from recveil.runtime.threads import one_thread
from recveil.verification import verify

RANK = 50
TILE_USERS = 944  # 64 MiB of predictions, as the padded stage takes them
Work = Callable[[Path], float]


class Stage(NamedTuple):
    """A stage, who can do it, and for how many millions of ratings each of them can be asked."""

    contenders: dict[str, Work]
    most: dict[str, int]


def prepare(folder: Path, n_users: int, n_items: int, n_ratings: int) -> None:
    """Invent the data and run the main job once by its parts, so that every stage has its input."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "done").exists():
        return
    ratings = make_ratings(n_users, n_items, n_ratings, seed=1)
    write_ratings(ratings, folder / "ratings.parquet")
    write_ratings(ratings, folder / "ratings.csv")
    np.savez(
        folder / "ratings.npz",
        users=ratings.users,
        items=ratings.items,
        indptr=ratings.indptr,
        indices=ratings.indices,
        values=ratings.values,
    )
    # Ten passes: after fewer, users differ in their biases alone, and are grouped on a line.
    padding = FunkSVD(rank=RANK, n_epochs=10, seed=1).fit(ratings).padding()
    np.savez(
        folder / "padding.npz",
        user_factors=padding.user_factors,
        item_factors=padding.item_factors,
        item_offset=padding.item_offset,
    )
    for k in (5, 50):
        labels = KGather(k, n_rounds=1, random_state=1).fit(padding.coordinates()).labels_
        np.save(folder / f"labels-{k}.npy", labels)
    (folder / "done").touch()


def load_ratings(folder: Path) -> Ratings:
    """Load the invented ratings without reading a file of a user's."""
    with np.load(folder / "ratings.npz") as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    for array in parts.values():
        array.flags.writeable = False
    return Ratings(**parts, days=None, scale=make_ratings(2, 9, 5).scale)


def load_padding(folder: Path) -> Padding:
    """Load the factors that `prepare` learned."""
    with np.load(folder / "padding.npz") as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    return Padding(**parts, scale=make_ratings(2, 9, 5).scale)


def load_groups(folder: Path, k: int) -> Groups:
    """Load the groups that `prepare` formed."""
    return Groups.from_labels(np.load(folder / f"labels-{k}.npy"))


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds that some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def small() -> Ratings:
    """Return ratings to compile the kernels with."""
    return make_ratings(200, 50, 2_000, seed=0)


def warm(path: Path) -> Path:
    """Bring a file into the system's cache, so that no contender waits for the disk."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
    return path


# Reading ------------------------------------------------------------------------------------------


def read(name: str) -> Work:
    """Read a file into `Ratings`."""

    def work(folder: Path) -> float:
        write_ratings(small(), folder / f"small-{os.getpid()}-{name}")
        read_ratings(folder / f"small-{os.getpid()}-{name}")
        (folder / f"small-{os.getpid()}-{name}").unlink()
        path = warm(folder / name)
        return timed(lambda: read_ratings(path))

    return work


def read_bare(name: str) -> Work:
    """Read the same file by pyarrow alone, users and items as dictionaries."""

    def parse(path: Path) -> Any:
        is_parquet = path.suffix == ".parquet"
        table = pq.read_table(path) if is_parquet else pa_csv.read_csv(path)
        return [table[column].dictionary_encode() for column in ("user_id", "item_id")]

    def work(folder: Path) -> float:
        path = warm(folder / name)
        return timed(lambda: parse(path))

    return work


def read_pandas(name: str) -> Work:
    """Read the same file by pandas into scipy's compressed rows."""

    def parse(path: Path) -> sparse.csr_array:
        import pandas as pd

        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
        users, _ = pd.factorize(frame["user_id"], sort=True)
        items, _ = pd.factorize(frame["item_id"], sort=True)
        return sparse.coo_array((frame["rating"].astype(np.float32), (users, items))).tocsr()

    def work(folder: Path) -> float:
        path = warm(folder / name)
        return timed(lambda: parse(path))

    return work


# Learning -----------------------------------------------------------------------------------------


def learn_one_epoch(folder: Path) -> float:
    """Pass once over all ratings with 50 factors: what each of five more passes adds to one."""
    ratings = load_ratings(folder)
    FunkSVD(rank=RANK, n_epochs=1).fit(small())
    one = timed(lambda: FunkSVD(rank=RANK, n_epochs=1).fit(ratings))
    return (timed(lambda: FunkSVD(rank=RANK, n_epochs=6).fit(ratings)) - one) / 5


def surprise_one_epoch(folder: Path) -> float:
    """Pass once with scikit-surprise's SVD, whose loop is compiled too."""
    from surprise import SVD, Dataset, Reader

    table = pq.read_table(folder / "ratings.parquet", columns=["user_id", "item_id", "rating"])
    trainset = Dataset.load_from_df(table.to_pandas(), Reader()).build_full_trainset()
    one = timed(lambda: SVD(n_factors=RANK, n_epochs=1, random_state=1).fit(trainset))
    return (timed(lambda: SVD(n_factors=RANK, n_epochs=6, random_state=1).fit(trainset)) - one) / 5


# Grouping -----------------------------------------------------------------------------------------


def group(k: int) -> Work:
    """Form groups of at least k in the 51 dimensions of the padded rows."""

    def work(folder: Path) -> float:
        rows = load_padding(folder).coordinates()
        KGather(k, random_state=1).fit(rows[:2_000])
        return timed(lambda: KGather(k, random_state=1).fit(rows))

    return work


def group_by_sklearn(k: int) -> Work:
    """Form as many clusters by scikit-learn's bisecting k-means; nothing keeps them at k."""

    def work(folder: Path) -> float:
        from sklearn.cluster import BisectingKMeans

        rows = load_padding(folder).coordinates()
        return timed(lambda: BisectingKMeans(len(rows) // k, random_state=1).fit(rows))

    return work


def group_constrained(k: int) -> Work:
    """Form clusters of k to 2k - 1 by minimum-cost flow, one start."""

    def work(folder: Path) -> float:
        from k_means_constrained import KMeansConstrained

        rows = load_padding(folder).coordinates()
        clusters = KMeansConstrained(
            len(rows) // k, size_min=k, size_max=2 * k - 1, n_init=1, random_state=1, n_jobs=2
        )
        return timed(lambda: clusters.fit(rows))

    return work


# Homogenizing -------------------------------------------------------------------------------------


def drain(blocks: Iterator[Any]) -> None:
    """Take everything from an iterator and keep nothing."""
    for _ in blocks:
        pass


def homogenize(k: int) -> Work:
    """Average the padded rows of each group."""

    def work(folder: Path) -> float:
        few = small()
        of_few = FunkSVD(rank=2, n_epochs=1).fit(few).padding()
        drain(homogenize_padded(few, of_few, Groups.from_labels(np.arange(few.n_users) // 5)))
        ratings, padding, groups = (
            load_ratings(folder),
            load_padding(folder),
            load_groups(folder, k),
        )
        return timed(lambda: drain(homogenize_padded(ratings, padding, groups)))

    return work


def bare_product(folder: Path) -> float:
    """Multiply the same factors tile by tile and do nothing with the predictions."""
    padding = load_padding(folder)
    items = np.ascontiguousarray(padding.item_factors.T)

    def multiply() -> None:
        tile = np.empty((TILE_USERS, items.shape[1]), np.float32)
        for start in range(0, padding.n_users, TILE_USERS):
            users = padding.user_factors[start : start + TILE_USERS]
            np.matmul(users, items, out=tile[: len(users)])

    return timed(multiply)


def homogenize_by_numpy(k: int) -> Work:
    """Build the whole padded matrix, then average its rows group by group."""

    def work(folder: Path) -> float:
        ratings, padding, groups = (
            load_ratings(folder),
            load_padding(folder),
            load_groups(folder, k),
        )

        def average() -> None:
            rows = padding.user_factors @ padding.item_factors.T + padding.item_offset
            np.clip(rows, padding.scale.low, padding.scale.high, out=rows)
            rows[ratings.user_positions(), ratings.indices] = ratings.values
            sums = np.add.reduceat(rows[groups.members], groups.starts[:-1], dtype=np.float64)
            sums /= groups.sizes[:, None]

        return timed(average)

    return work


def homogenize_raters(folder: Path) -> float:
    """Average the ratings of each group of 5, where a user rated."""
    few = small()
    drain(homogenize_simple(few, Groups.from_labels(np.arange(few.n_users) // 5)))
    ratings, groups = load_ratings(folder), load_groups(folder, 5)
    return timed(lambda: drain(homogenize_simple(ratings, groups)))


def homogenize_by_scipy(folder: Path) -> float:
    """Average by two sparse products: sums over groups, and counts."""
    ratings = load_ratings(folder)
    labels = np.load(folder / "labels-5.npy")

    def work() -> None:
        members = sparse.csr_array((np.ones(labels.size), (labels, np.arange(labels.size))))
        rated = ratings.csr.astype(bool).astype(np.float64)
        sums, counts = members @ ratings.csr.astype(np.float64), members @ rated
        sums.data /= counts.data

    return timed(work)


# Verifying, and the whole job ---------------------------------------------------------------------


def whole_job(name: str, *promise: str) -> Work:
    """Run `recveil anonymize`, from a Parquet file to a verified release on disk."""

    def work(folder: Path) -> float:
        command = ["anonymize", str(folder / "ratings.parquet"), "-o", str(folder / name)]
        run = [sys.executable, "-m", "recveil", *command, *promise, "--force"]
        return timed(lambda: subprocess.run(run, check=True, stdout=subprocess.DEVNULL))  # noqa: S603

    return work


def predictive(homogenizing: str, k: int) -> Work:
    """Run the whole job for groups of k who share one row."""
    promise = ["--method", "predictive", "--k", str(k), "--homogenize", homogenizing]
    promise += ["--seed", "1"]
    return whole_job(f"{homogenizing}-{k}", *promise)


def check(folder: Path) -> float:
    """Verify the padded release of k = 50 from its files alone."""
    if not (folder / "padded-50").exists():
        predictive("padded", 50)(folder)

    def work() -> None:
        if not verify(folder / "padded-50").holds:
            raise SystemExit("the release does not verify")

    return timed(work)


def check_by_pandas(folder: Path) -> float:
    """Do the core of it by pandas: one text a published row, and how many users share it."""
    import pandas as pd

    def work() -> None:
        frame = pd.read_parquet(folder / "padded-50" / "ratings.parquet")
        hashes = pd.util.hash_pandas_object(frame[["item_id", "rating"]], index=False)
        rows = hashes.groupby(frame["user_id"], sort=False).sum()
        all_users = frame.groupby("user_id", sort=False)["group_size"].first()
        if all_users.groupby(rows).sum().min() < 50:
            raise SystemExit("the release does not verify")

    return timed(work)


def verb(*command: str, of_release: bool = False) -> Work:
    """Run a verb on the raw table, and on the release of sparse rows if it needs one."""

    def work(folder: Path) -> float:
        run = [sys.executable, "-m", "recveil", command[0], str(folder / "ratings.parquet")]
        if of_release:
            if not (folder / "sparse-5").exists():
                SPARSE(folder)
            run += ["--release", str(folder / "sparse-5")]
        with tempfile.TemporaryDirectory(dir=folder) as place:
            run += [part.replace("FOLDER", place) for part in command[1:]]
            return timed(lambda: subprocess.run(run, check=True, stdout=subprocess.DEVNULL))  # noqa: S603

    return work


def sample(folder: Path) -> float:
    """Sample as many synthetic users as the table has from a published model."""
    if not (folder / "model-3").exists():
        whole_job("model-3", "--epsilon", "3", *SYNTHETIC, "--layout", "model")(folder)
    n_users = str(load_ratings(folder).n_users)
    run = [sys.executable, "-m", "recveil", "sample", str(folder / "model-3"), "--force"]
    run += ["-o", str(folder / "sampled"), "--n-users", n_users]
    return timed(lambda: subprocess.run(run, check=True, stdout=subprocess.DEVNULL))  # noqa: S603


STRENGTH = 500.0


class EaseOfOneStrength(Ease):
    """EASE without a choice of its strength."""

    serving_settings = ((STRENGTH,),)


def like_movielens() -> Ratings:
    """Return a table as large as MovieLens 1M: EASE inverts a matrix of its items."""
    return make_ratings(6_040, 3_706, 1_000_209, seed=1)


def ease(_folder: Path) -> float:
    """Learn EASE of one strength."""
    few, table = (TrainingTable.from_ratings(each) for each in (small(), like_movielens()))
    with one_thread():
        EaseOfOneStrength().fit(few, ())
        return timed(lambda: EaseOfOneStrength().fit(table, ()))


def ease_by_numpy(_folder: Path) -> float:
    """Learn the same weights as the paper does: a sparse product, an inverse, a division."""
    ratings = like_movielens()
    likes = ratings.csr.astype(np.float64)
    likes.data = (likes.data >= relevance_threshold(ratings.scale)).astype(np.float64)

    def learn() -> None:
        products = (likes.T @ likes).toarray()
        products.flat[:: len(products) + 1] += STRENGTH
        inverse = np.linalg.inv(products)
        weights = inverse / -np.diag(inverse)
        np.fill_diagonal(weights, 0)

    with one_thread():
        return timed(learn)


def file_size(folder: Path, name: str) -> float:
    """Return a file's size in MB."""
    return (folder / name).stat().st_size / 1e6


ANY = 1_000
STAGES: dict[str, Stage] = {
    f"read {kind}": Stage(
        {
            "recveil": read(f"ratings.{kind}"),
            "bare pyarrow": read_bare(f"ratings.{kind}"),
            "pandas + scipy": read_pandas(f"ratings.{kind}"),
        },
        {"pandas + scipy": ANY},
    )
    for kind in ("parquet", "csv")
}
STAGES["learn, an epoch"] = Stage(
    {"recveil": learn_one_epoch, "scikit-surprise": surprise_one_epoch}, {"scikit-surprise": 10}
)
for size in (5, 50):
    STAGES[f"group, k = {size}"] = Stage(
        {
            "recveil": group(size),
            "sklearn BisectingKMeans": group_by_sklearn(size),
            "k-means-constrained": group_constrained(size),
        },
        {"sklearn BisectingKMeans": ANY if size == 50 else 10, "k-means-constrained": 1},
    )
for size in (5, 50):
    STAGES[f"homogenize padded, k = {size}"] = Stage(
        {
            "recveil": homogenize(size),
            "bare product": bare_product,
            "numpy, full matrix": homogenize_by_numpy(size),
        },
        {"numpy, full matrix": 1},
    )
STAGES["homogenize simple, k = 5"] = Stage(
    {"recveil": homogenize_raters, "scipy": homogenize_by_scipy}, {}
)
STAGES["anonymize padded, k = 50"] = Stage({"recveil": predictive("padded", 50)}, {})
STAGES["anonymize padded, k = 5"] = Stage({"recveil": predictive("padded", 5)}, {})
STAGES["anonymize simple, k = 5"] = Stage({"recveil": predictive("simple", 5)}, {})
SPARSE = whole_job("sparse-5", "--method", "sparse", "--k", "5", "--seed", "1")
STAGES["anonymize sparse, k = 5"] = Stage({"recveil": SPARSE}, {})
# Noise by a seed is never written.
SYNTHETIC = "--scale", "1:5:1", "--item-catalog", "as-rated", "--ledger", "none"
for epsilon in ("1", "10"):
    STAGES[f"anonymize, epsilon {epsilon}"] = Stage(
        {"recveil": whole_job(f"epsilon-{epsilon}", "--epsilon", epsilon, *SYNTHETIC)}, {}
    )
CO_RATING = "--method", "k-corating", "--k", "9", "--seed", "1"
STAGES["anonymize k-corating, similarity"] = Stage(
    {"recveil": whole_job("k-corating-9", *CO_RATING, "--fill", "similarity")}, {"recveil": 10}
)
DIVERSE = "--method", "predictive", "--k", "5", "--homogenize", "simple", "--seed", "1"
STAGES["anonymize simple, b = 2, l = 3"] = Stage(
    {"recveil": whole_job("diverse-5", *DIVERSE, "--b", "2", "--l", "3")}, {"recveil": 10}
)
STAGES["verify padded, k = 50"] = Stage({"recveil": check, "pandas": check_by_pandas}, {})
STAGES["EASE, one strength"] = Stage(
    {"recveil": ease, "numpy": ease_by_numpy}, {"recveil": 1, "numpy": 1}
)
STAGES["inspect"] = Stage({"recveil": verb("inspect")}, {})
STAGES["sample as many users"] = Stage({"recveil": sample}, {})
STAGES["audit"] = Stage({"recveil": verb("audit")}, {})
STAGES["audit --release, sparse, k = 5"] = Stage({"recveil": verb("audit", of_release=True)}, {})
STAGES["evaluate, sparse, k = 5"] = Stage(
    {"recveil": verb("evaluate", "--split", "0.2", of_release=True)}, {}
)
STAGES["compare"] = Stage({"recveil": verb("compare", "-o", "FOLDER/compared")}, {})
