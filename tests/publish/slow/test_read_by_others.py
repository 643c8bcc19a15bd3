"""A release of drawn users is an ordinary table of ratings: others read it as it is.

What is not installed is skipped; the extra `bench` brings surprise, cornac and implicit. LensKit
0.14, the last without torch, needs an older numba and so an environment of its own:
pip install lenskit==0.14.4 "pyarrow<22", and recveil without its dependencies.
"""

import pandas as pd
import pytest

from recveil.datasets import make_ratings
from recveil.methods import Synthesizer
from recveil.ratings import RatingScale


@pytest.fixture(scope="module", params=["parquet", "csv"])
def drawn(request, tmp_path_factory):
    """The file of a written release, and what stands in it."""
    ratings = make_ratings(300, 40, 5_000, seed=3, scale=RatingScale(1, 5, 1))
    folder = tmp_path_factory.mktemp("others") / "release"
    Synthesizer(40.0, item_catalog="as-rated").anonymize(ratings).write(
        folder, file_format=request.param
    )
    file = folder / f"ratings.{request.param}"
    return file, pd.read_parquet(file) if request.param == "parquet" else pd.read_csv(file)


def test_three_columns_and_no_pair_twice(drawn):
    table = drawn[1]
    assert list(table.columns) == ["user_id", "item_id", "rating"]
    assert not table.duplicated(["user_id", "item_id"]).any()
    assert table["rating"].between(1, 5).all()
