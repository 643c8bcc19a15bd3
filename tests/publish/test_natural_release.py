"""A release in memory shows, converts and pickles nothing of its private side."""

import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import recveil as rv
from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods.base import anonymize_hidden
from recveil.release.data_card import data_cards
from recveil.release.manifest_reader import known_manifest
from recveil.runtime.errors import ReadingWarning

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
        rv.read(np.tile(np.nan_to_num(matrix), 2))
    with raises("argument.shape"):
        rv.read(matrix[:, :3])
    with raises("argument.shape"):
        rv.read(np.nan_to_num(matrix, nan=1))


def test_a_wrong_scale_says_how_to_give_one():
    for scale in ((1,), "one to five", 5, ("low", "high")):
        with raises("scale.invalid" if isinstance(scale, str) else "argument.type"):
            rv.read(NAMED.to_arrow(), scale=scale)


def test_a_line_has_the_losses_of_shared_rows_and_no_exact_share_of_others():
    release = rv.SparseRows(k=5, seed=1).anonymize(RATINGS)
    kept = release.to_csr().shape[1]
    rated = np.unique(RATINGS.indices).size
    assert f"items: {kept} of {rated} (" in repr(release)
    assert "ratings kept: " in repr(release)
    assert "warning: less than half" not in repr(release)
    few = rv.SparseRows(k=29, seed=1).anonymize(RATINGS)
    low = few._coverage.is_low
    assert low
    assert ("warning: less than half" in repr(few)) is low
    drawn = rv.Synthesizer(30, seed=7, item_catalog="as-rated").anonymize(RATINGS)
    assert "warning" not in repr(drawn)
    assert "differentially-private, but seeded: no guarantee" in repr(drawn)
    assert f" of {RATINGS.n_items}, scale" in repr(drawn)  # the list of rated items is public
    assert "kept" not in repr(drawn)


def test_a_line_of_a_remade_release_says_so():
    release = rv.SparseRows(k=5, seed=1).anonymize(RATINGS)
    options = {"with_membership": False, "targets": 5}
    found = rv.evaluate(RATINGS, release, **options)
    assert "release: another one with these settings" in repr(found)
    assert " Of another release with these settings: " in found.to_dict()["headline"]
    assert " of 30 (" in repr(found)
    with pytest.warns(ReadingWarning, match="was not made from these ratings"):
        rv.evaluate(make_ratings(60, 30, 700, seed=2), release, **options)


def test_a_line_of_an_audit_has_the_rates_of_the_table_and_of_the_release():
    release = rv.SparseRows(k=5, seed=1).anonymize(RATINGS)
    line = repr(rv.audit(RATINGS, release=release, targets=20, curves=False))
    raw, released = re.findall(r"re-identified in the (?:raw table|release): ([\d.]+)%", line)
    assert float(released) < float(raw)


def test_an_error_about_a_release_in_memory_names_no_temporary_folder(release):
    rows = (NAMED.indptr, NAMED.indices, NAMED.values, None, NAMED.scale)
    films = rv.Ratings(NAMED.users, "other " + NAMED.items, *rows)
    for table in (films, rv.Ratings("eve " + NAMED.users, NAMED.items, *rows)):
        with raises("release.mismatch") as caught:
            rv.audit(table, release=release, targets=5)
        assert str(caught.value).startswith("release")


def test_a_release_of_synthetic_users_has_no_k(release):
    drawn = rv.Synthesizer(30, item_catalog="as-rated").anonymize(RATINGS)
    assert (drawn.k, rv.verify(drawn).k) == (0, 0)
    assert (release.k, rv.verify(release).k >= 5) == (5, True)


def test_results_without_a_page_offer_none():
    found = rv.inspect(RATINGS)
    assert not {"to_html", "chart"} & {*dir(found), *dir(rv.Release)}
    with pytest.raises(AttributeError):
        found.to_html()
    assert {"to_html", "chart"} <= {*dir(rv.audit(RATINGS, targets=5, curves=False))}


def test_tables_in_memory_name_what_is_left_out_and_no_index():
    table = RATINGS.to_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rv.read(table[table.rating > 2]).n_ratings == (table.rating > 2).sum()
    matrix = RATINGS.csr.tolil()
    matrix[3] = 0
    rows = sparse.csr_matrix(matrix)
    rows.eliminate_zeros()
    for given in ({}, {"user": "row", "item": "column"}):
        with pytest.warns(ReadingWarning, match="1 row and 0 columns of the matrix have no rating"):
            rv.read(rows, **given)


@pytest.mark.parametrize("given", [{"predictor": "x"}, {"grouping": "kmeans"}])
def test_unknown_parts_are_rejected_at_construction(given):
    with raises("option.value"):
        rv.PredictiveAnonymizer(5, **given)
    with raises("option.value"):
        rv.anonymize(RATINGS, epsilon=0)


def test_a_card_counts_repeated_rows_alone_and_older_words_stay_valid(release, tmp_path):
    published = replace(release.published, duplicates_dropped=3)
    replace(release, published=published).write(tmp_path / "out")
    card = tmp_path / "out" / "README.md"
    words, others = card.read_text(), " Rows dropped for other reasons, such as a missing rating,"
    assert "3 input rows were dropped, because the user had rated the item more" in words
    assert f"{others} are not in this count." in words
    cards = data_cards(known_manifest(tmp_path / "out"), "ratings.parquet")
    assert cards == [words, words.replace(f"{others} are not in this count.", "")]
    assert rv.verify(tmp_path / "out").holds


def test_evaluate_with_k_says_what_to_type():
    with pytest.raises(TypeError, match="anonymize"):
        rv.evaluate(RATINGS, k=5)


def test_times_of_ratings_are_not_lost_without_a_word():
    dated = rv.Ratings.from_columns(
        *(RATINGS.user_positions(), RATINGS.indices, RATINGS.values),
        days=np.arange(RATINGS.n_ratings),
        scale=RATINGS.scale,
    )
    with pytest.warns(
        UserWarning, match=r"has no dates: times are left out; .* set dates \(--dates\)"
    ):
        rv.anonymize(dated, k=5, seed=1)
