"""Public item features lower the noise in embeddings, and cost nothing where they explain none."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io.item_features import ItemFeatures, read_item_features
from recveil.methods import anonymize
from recveil.methods.synthetic import learning
from recveil.methods.synthetic.fitting import FeatureRegression, FitTargets, directions, fit_items
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.verification import verify
from shared.methods_synthetic_fitting import planted

N_ITEMS = 60


@pytest.fixture
def by_genre():
    """Items of three genres whose embeddings follow from the genre, and their noisy moments."""
    rng = np.random.default_rng(3)
    genre = rng.integers(0, 3, N_ITEMS)
    features = genre[:, None] == np.arange(3)
    along = np.array([[1.0, 0.0], [-1.0, 0.6], [0.0, -0.8]])[genre]
    _, targets = planted(N_ITEMS, n_users=700.0, noise=0.0)
    expected = targets.usual
    of_genres = 40.0 * (along @ along.T) / N_ITEMS
    noise = np.triu(rng.normal(size=(N_ITEMS, N_ITEMS)), 1) * 3.0
    moments = targets.n_users * np.outer(expected, expected) + of_genres + noise + noise.T
    return along, targets._replace(moments=moments, moments_noise=3.0), features


def alignment(found, along):
    """Return the share of the planted directions that the found ones span."""
    planted_base = np.linalg.qr(along - along.mean(axis=0))[0]
    base = np.linalg.qr(found)[0] if found.size else np.zeros((len(along), 1))
    return float(np.sum((base.T @ planted_base) ** 2) / planted_base.shape[1])


def test_directions_that_noise_hides_are_found_among_features(by_genre):
    along, targets, features = by_genre
    without = directions(targets)
    found = directions(targets._replace(features=features))
    assert found.squares.size > without.squares.size
    assert alignment(found.vectors, along) > alignment(without.vectors, along) + 0.2


def test_features_of_noise_add_no_direction(by_genre):
    _, targets, _ = by_genre
    rng = np.random.default_rng(8)
    noise = np.triu(rng.normal(size=(N_ITEMS, N_ITEMS)), 1)
    moments = targets.n_users * np.outer(targets.usual, targets.usual) + noise + noise.T
    nothing = targets._replace(
        moments=moments, moments_noise=1.0, features=rng.random((N_ITEMS, 6)) < 0.3
    )
    assert directions(nothing).squares.size <= 1


def test_the_share_explained_by_hand():
    """Of the variance 4 of one column the genre leaves 0; the other column does not follow it."""
    genre = np.array([[1], [1], [0], [0]] * 50, np.bool_)
    values = np.column_stack([np.where(genre[:, 0], 3.0, -1.0), np.tile([1.0, -1.0], 100)])
    share = FeatureRegression.of(genre, np.ones(200)).explained(values)
    assert share[0] == pytest.approx(0.95)  # the most that counts
    assert share[1] == 0.0


def test_chance_is_not_counted_as_explained():
    """Thirty random features of sixty items explain half of anything: beyond chance, nothing."""
    rng = np.random.default_rng(5)
    shares = [
        FeatureRegression.of(rng.random((60, 30)) < 0.5, np.ones(60)).explained(
            rng.normal(size=(60, 8))
        )
        for _ in range(20)
    ]
    assert np.mean(shares) < 0.2


def test_without_features_the_fit_is_the_same(by_genre):
    _, targets, _ = by_genre
    one, other = (fit_items(FitTargets(*targets), np.random.default_rng(1)) for _ in range(2))
    assert (one.item_embeddings == other.item_embeddings).all()


def test_item_means_follow_features_where_noise_hides_them():
    rng = np.random.default_rng(2)
    genre = rng.random((300, 1)) < 0.5
    off = np.where(genre[:, 0], 0.5, -0.5)
    unsure = np.full(300, 0.5)
    noisy = off + rng.normal(size=300) * unsure**0.5
    with_features, _ = learning._usual(noisy, unsure, np.ones(300), genre)
    without, _ = learning._usual(noisy, unsure, np.ones(300))
    errors = [np.sqrt(np.mean((usual - off) ** 2)) for usual in (with_features, without)]
    assert errors[0] < 0.6 * errors[1]


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(400, 60, 8_000, seed=1)


@pytest.fixture(scope="module")
def file(ratings, tmp_path_factory):
    path = tmp_path_factory.mktemp("features") / "items.csv"
    rows = [f"{item},{'war' if item % 2 else 'love|war'},1995" for item in ratings.items]
    path.write_text("\n".join(["item_id,genres,year", *rows]))
    return path


class TestReleases:
    @pytest.mark.parametrize("likes", [False, True])
    def test_the_release_states_them_and_holds(self, ratings, file, tmp_path, likes):
        table = ratings.as_likes() if likes else ratings
        options = {"epsilon": 30.0, "item_catalog": "as-rated", "ledger": "none"}
        anonymize(table, tmp_path / "out", item_features=file, **options)
        settings = json.loads((tmp_path / "out" / "release.json").read_text())["settings"]
        assert settings["item_features"] == "given"
        assert "item features" in (tmp_path / "out" / "README.md").read_text()
        assert verify(tmp_path / "out").holds

    def test_all_items_of_a_category_get_embeddings(self, ratings, file):
        """Items without moments, too, which have none otherwise."""
        embeddings = []
        for features in (None, file):
            made = Synthesizer(5.0, item_catalog="as-rated", item_features=features, seed=1)
            table = made.anonymize(ratings).published.model()
            embeddings.append(np.column_stack([table[name] for name in table.column_names[3:]]))
        n_empty = [int((~each.any(axis=1)).sum()) for each in embeddings]
        assert n_empty[1] <= n_empty[0]
        assert n_empty[1] == 0

    def test_they_need_noise(self, ratings, file):
        with raises("option.conflict"):
            Synthesizer(None, item_features=file)

    def test_features_of_other_items_are_refused(self, ratings):
        others = ItemFeatures(("war",), {"elsewhere": 0}, np.array([[True], [False]]))
        with raises("id.unknown"):
            Synthesizer(5.0, item_catalog="as-rated", item_features=others).anonymize(ratings)

    def test_a_setting_without_noise_is_rejected(self, ratings, tmp_path):
        anonymize(ratings, tmp_path / "out", epsilon="none", item_catalog="as-rated")
        manifest = tmp_path / "out" / "release.json"
        text = manifest.read_text().replace(
            '"item_catalog": "rated items",',
            '"item_catalog": "rated items",\n    "item_features": "given",',
        )
        manifest.write_text(text)
        assert not verify(tmp_path / "out").holds


class TestFile:
    """What a file of features may hold, by hand."""

    def read(self, tmp_path, table):
        path = tmp_path / "items.parquet"
        pq.write_table(pa.table(table), path)
        return read_item_features(path)

    def test_missing_values_are_no_feature_and_zero_is_one(self, tmp_path):
        genres = pa.array([0.0] * 5 + [1.0] * 5 + [float("nan")] * 5 + [None] * 5)
        features = self.read(tmp_path, {"item_id": list(range(20)), "genres": genres})
        assert features.names == ("0", "1")

    def test_ids_of_floats_are_those_of_integers(self, tmp_path):
        ids = pa.array([float(item) for item in range(6)])
        features = self.read(tmp_path, {"item_id": ids, "genres": ["war"] * 6})
        assert features.rows_of(np.arange(7)).ravel().tolist() == [True] * 6 + [False]

    def test_no_genres_listed_is_no_genre(self, tmp_path):
        genres = ["(no genres listed)"] * 6 + ["war|love"] * 6
        features = self.read(tmp_path, {"item_id": list(range(12)), "genres": genres})
        assert features.names == ("love", "war")

    def test_a_file_without_common_features_is_refused(self, tmp_path):
        with raises("input.empty"):
            self.read(tmp_path, {"item_id": [1, 2], "genres": ["war", "love"]})


def test_item_means_do_not_depend_on_threads():
    """A regression on many features has the same last bit for any number of threads."""
    code = (
        "import numpy as np; from recveil.methods.synthetic.learning import item_means;"
        "from types import SimpleNamespace as N; r = np.random.default_rng(1);"
        "s = N(popularity=r.random(3000) * 50, off_centre=r.normal(size=3000), off_noise=2.0);"
        "m = N(items=s, released=np.arange(3000), centre=0.1, features=r.random((3000, 60)) < 0.2);"
        "print(item_means(m).tobytes().hex())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
        ).stdout
        for threads in "12"
    }
    assert len(printed) == 1
