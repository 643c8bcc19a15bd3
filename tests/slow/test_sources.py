"""Every verb that reads a table takes a path, Ratings, or any table in memory."""

import duckdb
import polars as pl
import pytest
from scipy import sparse

from recveil.auditing import audit, selftest
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.io import understand, write_ratings
from recveil.methods import anonymize
from recveil.publish import convert
from recveil.ratings import Ratings, RatingScale
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("few_recommenders")

STARS = RatingScale(1, 5, 1)

GENERATED = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=4)
# Labels are places, from 0 on, as those of a matrix are.
MADE = Ratings.from_columns(
    GENERATED.user_positions(), GENERATED.indices, GENERATED.values, scale=STARS
)

QUICK = {"targets": 5, "with_membership": False}


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
    anonymize(folder / "ratings.csv", folder / "out", k=4, seed=1, scale=STARS)
    return folder


def reading_of(kind):
    """Return what has to be said of a source: which way a matrix is to be taken, too."""
    if kind == "ratings":
        return {}
    is_matrix = kind.endswith(("array", "matrix")) and "arrow" not in kind
    return {"scale": STARS} | ({"user": "row", "item": "column"} if is_matrix else {})


def results(kind, source, plain, folder):
    """Return what each verb makes of a source; it is made anew for each, as a reader is used up."""
    scale = reading_of(kind)
    made = anonymize(source(), folder / "out", k=4, seed=1, **scale)
    found = audit(source(), targets=5, curves=False, release=plain / "out", **scale).to_dict()
    judged = evaluate(plain / "out", source(), split=0.3, **QUICK, **scale).to_json()
    compared = compare(source(), folder / "all", methods=["raw"], targets=5, **scale).to_dict()
    understood = understand(source(), **scale)
    convert(source(), folder / "other.csv", **scale)
    told = verify(source(), k=1, **{name: scale[name] for name in scale if name != "scale"})
    return {
        "understand": understood.ratings,
        "anonymize": [
            (folder / "out" / name).read_bytes() for name in ("classes.csv", "README.md")
        ],
        "anonymized": made.verification.to_dict(),
        "audit": {name: part for name, part in found.items() if name not in ("data", "reading")},
        "selftest": [str(check) for check in selftest(source(), **scale)],
        "evaluate": {name: part for name, part in judged.items() if name != "readings"},
        "compare": [row | {"seconds": None} for row in compared["rows"]],
        "convert": (folder / "other.csv").read_bytes(),
        "verify": (told.holds, told.k_achieved, told.users, told.records, told.classes),
    }


@pytest.fixture(scope="module")
def expected(plain, tmp_path_factory):
    return results("path", lambda: plain / "ratings.csv", plain, tmp_path_factory.mktemp("path"))


# Other ways to give what another kind gives, which need not go through every verb again.
SPELLINGS = (
    *("text", "csc matrix", "coo matrix", "dok array", "surprise training set"),
    *("pyarrow table", "pyarrow batch", "arrow array", "interchange", "polars"),
)


class TestEveryKind:
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SPELLINGS])
    def test_goes_through_every_verb_as_the_csv_does(self, kind, plain, expected, tmp_path):
        def source():
            return KINDS[kind](MADE.to_arrow(), plain)

        found = results(kind, source, plain, tmp_path)
        for verb, result in expected.items():
            assert found[verb] == result, verb
