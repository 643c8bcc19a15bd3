"""A release of drawn users is an ordinary table of ratings: others read it as it is.

What is not installed is skipped; the extra `bench` brings surprise, cornac and implicit. LensKit
0.14, the last without torch, needs an older numba and so an environment of its own:
pip install lenskit==0.14.4 "pyarrow<22", and recveil without its dependencies.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from recveil.datasets import make_ratings
from recveil.io import understand
from recveil.methods import Synthesizer
from recveil.publish import convert
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


def test_recveil_itself(drawn):
    file, table = drawn
    read = understand(file, scale=RatingScale(1, 5)).ratings
    assert read.n_ratings == len(table)
    assert read.n_users == table["user_id"].nunique()


def test_the_atomic_file_of_recbole(drawn, tmp_path):
    """Typed columns between tabs, as RecBole's documents say; it reads them with pandas."""
    file, table = drawn
    convert(file, tmp_path / "drawn.inter", scale=RatingScale(1, 5))
    lines = (tmp_path / "drawn.inter").read_text().splitlines()
    assert lines[0] == "user_id:token\titem_id:token\trating:float"
    assert len(lines) == len(table) + 1
    back = pd.read_csv(tmp_path / "drawn.inter", sep="\t", names=table.columns, skiprows=1)
    order = ["user_id", "item_id"]
    back, table = (of.astype({"user_id": str}).sort_values(order) for of in (back, table))
    assert (back[order].to_numpy() == table[order].to_numpy()).all()
    assert np.allclose(back["rating"], table["rating"])


def test_surprise(drawn):
    surprise = pytest.importorskip("surprise", reason="scikit-surprise is not installed")
    data = surprise.Dataset.load_from_df(drawn[1], surprise.Reader(rating_scale=(1, 5)))
    trained = surprise.SVD(n_epochs=2, random_state=0).fit(data.build_full_trainset())
    user, item, _ = drawn[1].iloc[0]
    assert not trained.predict(user, item).details["was_impossible"]


def test_cornac(drawn):
    data = pytest.importorskip("cornac.data", reason="cornac is not installed")
    table = data.Dataset.from_uir(list(drawn[1].itertuples(index=False, name=None)))
    assert (table.num_users, table.num_items) == tuple(drawn[1].iloc[:, :2].nunique())
    from cornac.models import MF

    assert np.isfinite(MF(k=4, max_iter=2, seed=1, verbose=False).fit(table).score(0)).all()


def test_implicit(drawn):
    als = pytest.importorskip("implicit.als", reason="implicit is not installed")
    users, items = (pd.factorize(drawn[1][name])[0] for name in ("user_id", "item_id"))
    table = sparse.csr_matrix((drawn[1]["rating"].astype(np.float32), (users, items)))
    model = als.AlternatingLeastSquares(factors=4, iterations=2, random_state=1)
    model.fit(table, show_progress=False)
    assert len(model.recommend(0, table[0], N=5)[0]) == 5


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_lenskit(drawn):
    als = pytest.importorskip("lenskit.algorithms.als", reason="LensKit is not installed")
    table = drawn[1].rename(columns={"user_id": "user", "item_id": "item"})
    model = als.BiasedMF(4, iterations=2, rng_spec=1).fit(table)
    result = model.predict_for_user(table["user"][0], table["item"].unique()[:5])
    assert np.isfinite(result).all()
