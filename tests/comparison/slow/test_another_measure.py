"""Another measure is one entry. docs/how-to/extending.md shows the code that follows."""

import pyarrow.parquet as pq
import pytest

from recveil.comparison import MEASURES, Line, Measure, Panel, compare, register_measure
from recveil.datasets import make_ratings


# docs/how-to/extending.md: from here
def rise(cell):
    """Return the release's RMSE minus that of the raw data."""
    release, raw = (cell.figure("recipient", table, "rmse") for table in ("release", "raw"))
    return None if release is None or raw is None else release - raw


RMSE_RISE = Measure(
    name="rmse_rise",
    description="The RMSE above that of the raw data",
    kind=float,
    take=rise,
    format=".4f",
    better="down",
    panel=Panel("RMSE above raw", ".3f", lines=(Line("raw data", 0.0),)),
)


# docs/how-to/extending.md: to here


@pytest.fixture
def another_measure():
    register_measure(RMSE_RISE)
    yield RMSE_RISE.name
    del MEASURES[RMSE_RISE.name]


def test_rows_json_table_and_page_have_it(another_measure, tmp_path):
    ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    out = tmp_path / "comparison"
    found = compare(ratings, out, methods=["simple", "raw"], k=[5, 99], targets=20)
    result = [row._asdict()[another_measure] for row in found.rows]
    simple, refused, raw = found.rows
    assert result == [simple.rmse - raw.rmse, None, 0]
    assert refused.problem == "60 users cannot form a group of k = 99; lower k, or add users"
    plain = found.to_dict()
    assert [row[another_measure] for row in plain["rows"]] == result
    table = pq.read_table(out / "comparison.parquet")
    assert table[another_measure].to_pylist() == result
    assert "<h3>RMSE above raw <small>↓ better</small></h3>" in found.to_html()
