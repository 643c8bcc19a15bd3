"""A release in memory shows, converts and pickles nothing of its private side."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import recveil as rv
from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods.base import anonymize_hidden

RATINGS = make_ratings(n_users=60, n_items=30, n_ratings=700, seed=1)
NAMED = rv.Ratings(
    np.array([f"ann{user:03}" for user in RATINGS.users], object),
    np.array([f"film{item:03}" for item in RATINGS.items], object),
    *(RATINGS.indptr, RATINGS.indices, RATINGS.values, None, RATINGS.scale),
)


@pytest.fixture(scope="module")
def release():
    return rv.SparseRows(k=5, seed=1).anonymize(NAMED)


def test_the_rows_in_memory_are_those_that_are_written(release, tmp_path):
    release.write(tmp_path / "out")
    written = rv.Release.read(tmp_path / "out")
    assert release.to_arrow().equals(written.to_arrow())
    assert (release.to_csr() != written.to_csr()).nnz == 0
    assert release.ids() == written.ids()
    assert (release.k, release.claim) == (written.k, written.claim)


def test_no_conversion_names_a_user(release):
    for text in (repr(release), release._repr_html_(), release.to_pandas().to_csv()):
        assert "ann" not in text
    assert "ann" not in str(release.manifest.to_json())


def test_hidden_items_stay_hidden():
    hidden = anonymize_hidden(NAMED, rv.SparseRows(k=5, seed=1), 1)
    assert not any("film" in item for item in hidden.items)
    assert "film" not in hidden.to_pandas().to_csv()
    assert sorted(hidden.original_items)[0].startswith("film")


def test_a_release_is_not_pickled(release):
    for secret in (release, release.private):
        with pytest.raises(TypeError, match="write"):
            pickle.dumps(secret)


def test_a_pickle_of_the_published_side_has_no_rows(release):
    pickled = pickle.dumps(release.published)
    assert b"ann" not in pickled
    with raises("release.not-in-memory"):
        pickle.loads(pickled).blocks()


def test_a_release_that_breaks_its_claim_is_neither_verified_nor_written(release, tmp_path):
    claim = replace(release.claim, k=40)
    broken = rv.Release(replace(release.published, claim=claim), release.private)
    with raises("claim.false"):
        broken.verify()
    with raises("claim.false"):
        broken.write(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_options_of_writing_need_an_output():
    with raises("option.required"):
        rv.anonymize(NAMED, k=5, layout="users")


def test_a_dense_matrix_is_read_without_its_empty_cells():
    matrix = np.array([[5, np.nan, 1, 2], [np.nan, 4, 3, 2]])
    assert rv.read(matrix, user="row", item="column").shape == (2, 4)
    with raises("rating.zero"):
        rv.read(np.nan_to_num(matrix))
    with raises("argument.shape"):
        rv.read(matrix[:, :3])


def test_a_wrong_scale_says_how_to_give_one():
    for scale in ((1,), "one to five", 5, ("low", "high")):
        with raises("scale.invalid" if isinstance(scale, str) else "argument.type"):
            rv.read(NAMED.to_arrow(), scale=scale)
