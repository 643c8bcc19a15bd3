"""What the fast and the slow tests of `test_sources.py` share."""

import duckdb
import polars as pl
import pytest
from scipy import sparse

from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale

STARS = RatingScale(1, 5, 1)

GENERATED = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=4)

# Labels are places, from 0 on, as those of a matrix are.
MADE = Ratings.from_columns(
    GENERATED.user_positions(), GENERATED.indices, GENERATED.values, scale=STARS
)


class OnlyTheInterchangeProtocol:
    """What some libraries have that do not speak Arrow."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, **options):
        return self.table.__dataframe__(**options)


class OnlyTheArray:
    """One batch of Arrow's, as its C interface hands it over."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


def of_surprise(table):
    surprise = pytest.importorskip("surprise", reason="scikit-surprise is not installed")
    frame = table.to_pandas()
    return surprise.Dataset.load_from_df(frame, surprise.Reader(rating_scale=(1, 5)))


def of_cornac(table):
    data = pytest.importorskip("cornac.data", reason="cornac is not installed")
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return data.Dataset.from_uir(rows)


def matrix_of(table, kind=sparse.csr_array):
    users, items, ratings = (column.to_numpy() for column in table.columns)
    return kind(sparse.coo_array((ratings, (users, items))))


# What holds the same ratings: each made of an Arrow table, in a folder that it may use.
KINDS = {
    "path": lambda table, folder: folder / "ratings.csv",
    "text": lambda table, folder: str(folder / "ratings.csv"),
    "ratings": lambda table, folder: MADE,
    "pandas": lambda table, folder: table.to_pandas(),
    "pyarrow table": lambda table, folder: table,
    "pyarrow batch": lambda table, folder: table.combine_chunks().to_batches()[0],
    "pyarrow reader": lambda table, folder: table.to_reader(),
    "arrow array": lambda table, folder: OnlyTheArray(table.combine_chunks().to_batches()[0]),
    "interchange": lambda table, folder: OnlyTheInterchangeProtocol(table),
    "polars": lambda table, folder: pl.from_arrow(table),
    "polars, lazy": lambda table, folder: pl.scan_csv(folder / "ratings.csv"),
    "duckdb": lambda table, folder: duckdb.from_arrow(table),
    "csr array": lambda table, folder: matrix_of(table),
    "csc matrix": lambda table, folder: matrix_of(table, sparse.csc_matrix),
    "coo matrix": lambda table, folder: matrix_of(table, sparse.coo_matrix),
    "dok array": lambda table, folder: matrix_of(table, sparse.dok_array),
    "surprise data set": lambda table, folder: of_surprise(table),
    "surprise training set": lambda table, folder: of_surprise(table).build_full_trainset(),
    "cornac data set": lambda table, folder: of_cornac(table),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A folder with the CSV, and with a release of it."""
    folder = tmp_path_factory.mktemp("plain")
    write_ratings(MADE, folder / "ratings.csv")
    anonymize(folder / "ratings.csv", folder / "out", k=4, method="predictive", seed=1, scale=STARS)
    return folder


def reading_of(kind):
    """Return what has to be said of a source: which way a matrix is to be taken, too."""
    if kind == "ratings":
        return {}
    is_matrix = kind.endswith(("array", "matrix")) and "arrow" not in kind
    return {"scale": STARS} | ({"user": "row", "item": "column"} if is_matrix else {})
