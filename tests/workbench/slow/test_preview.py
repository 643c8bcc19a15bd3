from collections import Counter

import pytest

from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, anonymize
from recveil.publish import ReleaseFolder
from recveil.workbench.preview import preview

RATINGS = make_ratings(60, 20, 600, seed=2)


@pytest.mark.parametrize("layout", ["users", "groups"])
@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("homogenize", ["padded", "simple"])
def test_the_cluster_is_counted_in_what_is_written(tmp_path, layout, file_format, homogenize):
    release = PredictiveAnonymizer(4, seed=1, homogenize=homogenize).anonymize(RATINGS)
    release.write(tmp_path / "out", layout=layout, file_format=file_format)
    rows = preview(tmp_path / "out")
    sizes = _class_sizes(tmp_path / "out")
    assert min(20, len(sizes) - 1) <= len(rows) <= 20
    assert {row.size for row in rows} <= {*sizes.values()}
    for row in rows:
        assert row.size >= 4
        assert f"for {row.size} users" in row.description
        assert f"1 in {row.size}." in row.description
        assert len(row.cells) == min(6, row.n_cells)


def _class_sizes(folder):
    """Count the users of each different row, by the rows alone."""
    rows = {}
    for line in ReleaseFolder(folder).to_arrow(per_user=True).to_pylist():
        rows.setdefault(line["user_id"], []).append((line["item_id"], line["rating"]))
    return Counter(map(tuple, rows.values()))


def test_of_co_rated_rows_nothing_is_promised_against_who_knows_ratings(tmp_path):
    KCoRater(3, seed=1).anonymize(RATINGS).write(tmp_path / "out")
    for row in preview(tmp_path / "out"):
        assert row.description.startswith("The same items for ")
        assert "there is no guarantee against adversaries who know ratings" in row.description


def test_drawn_rows_are_nobodys(tmp_path):
    made = {"epsilon": "50", "item_catalog": "as-rated"}
    anonymize(RATINGS, tmp_path / "out", **made)
    assert {row.description.partition(":")[0] for row in preview(tmp_path / "out")} == {
        "A synthetic user"
    }


def test_a_model_has_no_rows(tmp_path):
    made = {"epsilon": "none", "item_catalog": "as-rated", "layout": "model"}
    anonymize(RATINGS, tmp_path / "out", **made)
    assert preview(tmp_path / "out") == []
