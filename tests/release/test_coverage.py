"""The coverage of a release, counted from its rows."""

import json
from dataclasses import replace

import independent
import numpy as np
import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.evaluation import Evaluator, split_ratings
from recveil.evaluation.split import TrainingTable
from recveil.methods import (
    KCoRater,
    PredictiveAnonymizer,
    SparseRows,
    Synthesizer,
    anonymize,
    dry_run,
)
from recveil.methods.registry import summarize
from recveil.publish.folder import reject_sparse
from recveil.ratings import Ratings, RatingScale
from recveil.release.coverage import Coverage, CoverageWarning
from recveil.release.manifest import to_bytes
from recveil.release.sides import Sides
from recveil.report.evaluation import headline
from recveil.report.release import describe_coverage
from recveil.verification import verify

RATINGS = make_ratings(n_users=80, n_items=60, n_ratings=900, seed=3)
MAKERS = {
    "sparse": SparseRows(5, seed=1),
    "synthetic": Synthesizer(3, seed=1, item_catalog="as-rated"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_coverage_is_that_of_a_count_by_hand(name):
    ratings = RATINGS if name == "sparse" else RATINGS.with_scale(RatingScale(1, 5, 1))
    release = MAKERS[name].anonymize(ratings)
    kept, short = set(), 0
    for block in release.published.blocks():
        for row, size in enumerate(block.sizes):
            items = block.indices[block.indptr[row] : block.indptr[row + 1]]
            kept |= set(release.original_items[items].tolist())
            short += int(size) * (items.size < 3)
    coverage = summarize(release, ratings).coverage
    counts = dict(zip(ratings.items.tolist(), ratings.support.tolist(), strict=True))
    assert coverage.n_items == sum(count > 0 for count in counts.values())
    assert coverage.n_items_kept == sum(counts[item] > 0 for item in kept)
    shared = sum(counts[item] for item in kept) / ratings.n_ratings
    assert coverage.rating_share == pytest.approx(shared)
    assert (coverage.n_short_users, coverage.n_users) == (short, release.published.n_users)
    assert coverage.n_short_raw_users == np.count_nonzero(np.diff(ratings.indptr) < 3)


def test_an_evaluation_has_the_coverage_of_its_training_table():
    split = split_ratings(RATINGS, 0.2, seed=1)
    release = SparseRows(5, seed=1).anonymize(split.train)
    result = Evaluator(split, n_targets=20, seed=1, with_membership=False).evaluate(release)
    expected = summarize(release, split.train).coverage
    assert result.coverage == expected._replace(can_lower_k=False)  # for the refusal alone
    assert describe_coverage(result.coverage) in headline(result)


def test_identical_short_rows_of_the_raw_table_count_for_each_user():
    users = np.arange(40)
    items = np.concatenate([users % 4, 4 + users % 4])  # two ratings each, in four different rows
    ratings = Ratings.from_columns(np.tile(users, 2), items, np.full(80, 3.0), scale=(1, 5, 1))
    table = TrainingTable.from_ratings(ratings)
    assert table.rows.n_users == 4
    coverage = table.coverage_of(table)
    assert (coverage.n_short_users, coverage.n_short_raw_users) == (40, 40)


def test_low_coverage_comes_first():
    split = split_ratings(RATINGS, 0.2, seed=1)
    release = SparseRows(20, seed=1).anonymize(split.train)
    result = Evaluator(split, n_targets=20, seed=1, with_membership=False).evaluate(release)
    assert result.coverage.is_low
    assert headline(result).startswith(describe_coverage(result.coverage))


def test_a_release_that_is_nearly_empty_is_refused_unless_it_is_wanted(tmp_path):
    """A month alone: of the two items of each user, one has fewer than five raters."""
    users = np.arange(60)
    items = np.concatenate([1000 + users % 40, 2000 + users % 6])
    table = Ratings.from_columns(np.tile(users, 2), items, 1 + items % 5)
    dry = dry_run(table, tmp_path / "out", k=5)
    assert dry.rejection or dry.may_be_rejected
    allowed = dry_run(table, tmp_path / "out", k=5, allow_sparse_coverage=True)
    assert (allowed.rejection, allowed.may_be_rejected) == ("", False)
    with raises("release.nearly-empty", "--allow-sparse-coverage", " of 46 items"):
        anonymize(table, tmp_path / "out", k=5, seed=1)
    assert not (tmp_path / "out").exists()
    made = anonymize(table, tmp_path / "out", k=5, seed=1, allow_sparse_coverage=True)
    assert made.verification.holds
    assert made.summary.coverage.is_nearly_empty
    assert "nearly empty" in made.sentences()[0]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "predictive", "homogenize": "simple"},
        {"method": "predictive"},
        {"method": "k-corating"},
    ],
    ids=str,
)
def test_imputed_values_do_not_fill_a_nearly_empty_release(tmp_path, options):
    """Each user has two ratings; the others of a row are of the class, or predicted."""
    users = np.arange(60)
    items = np.concatenate([1000 + users % 40, 2000 + users % 6])
    table = Ratings.from_columns(np.tile(users, 2), items, 1 + items % 5)
    dry = dry_run(table, tmp_path / "out", k=5, **options)
    assert "60 of 60 users" in dry.rejection
    with raises("release.nearly-empty", "60 of 60 users", "noisy item counts"):
        anonymize(table, tmp_path / "out", k=5, seed=1, **options)
    options |= {"allow_sparse_coverage": True}
    made = anonymize(table, tmp_path / "out", k=5, seed=1, **options)
    coverage = made.summary.coverage
    assert (coverage.n_items_kept, coverage.n_short_users, coverage.n_short_raw_users) == (
        *(46, 60, 60),
    )
    assert coverage.is_nearly_empty


def test_a_sample_of_users_counts_its_own_rows_alone():
    counts = [[4, 4, 1], [4, 4, 1], [3, 3], [1, 1], 2]
    assert Coverage.of(*counts, kept_lengths=[1, 1, 5]).n_short_users == 0
    assert Coverage.of(*counts, kept_lengths=[1, 5]).n_short_users == 1
    # All three items are in it, but only 6 values; rows of all users hold other values, too.
    assert Coverage.of(*counts, kept_lengths=[1, 1, 5]).rating_share == 6 / 9
    assert Coverage.of(*counts, kept_lengths=[1, 5]).rating_share == 1


def test_every_way_to_a_folder_refuses_a_nearly_empty_release_with_the_same_words(tmp_path):
    users = np.arange(60)
    items = np.concatenate([1000 + users % 40, 2000 + users % 6])
    table = Ratings.from_columns(np.tile(users, 2), items, 1 + items % 5)
    with raises("release.nearly-empty") as refused:
        anonymize(table, k=5, seed=1)
    with pytest.warns(CoverageWarning):
        in_memory = anonymize(table, k=5, seed=1, allow_sparse_coverage=True)
    made = SparseRows(5, seed=1).anonymize(table)
    messages = {str(refused.value)}
    for release in (in_memory, made):
        assert release.verify().holds  # nothing is published by that
        with raises("release.nearly-empty") as caught:
            release.write(tmp_path / "out")
        messages.add(str(caught.value))
    with raises("release.nearly-empty") as caught:
        anonymize(table, tmp_path / "out", k=5, seed=1)
    assert {str(caught.value)} == messages
    assert not list(tmp_path.iterdir())
    assert made.write(tmp_path / "out", allow_sparse_coverage=True).holds


def test_the_private_folder_has_what_was_dropped_and_kept(tmp_path):
    table = RATINGS.to_arrow().select(["user_id", "item_id", "rating"])
    odd = {"user_id": [None, 1, 1], "item_id": [1, None, 2], "rating": [3.0, 3.0, 99.0]}
    table = pa.concat_tables([table, pa.table(odd, table.schema)])
    how = {"scale": RATINGS.scale, "drop_off_scale": True, "drop_missing_ids": True}
    made = anonymize(table, tmp_path / "out", k=5, seed=1, **how)
    private = json.loads((tmp_path / "out.private" / "private.json").read_text())
    document = json.loads(json.dumps(made.to_dict()))
    assert private["dropped"] == {"off scale": 1, "no id": 2}
    assert made.reading.to_dict()["missing_ids_dropped"] == 2
    coverage = document["coverage"]
    del coverage["item_share"]
    assert private["coverage"] == coverage
    assert coverage["n_items_kept"] == len(set(made.release.to_arrow()["item_id"].to_pylist()))
    assert describe_coverage(made.summary.coverage) in private["summary"]
    assert len(private["summary"]) == 3
    SparseRows(5, seed=1).anonymize(RATINGS).write(tmp_path / "direct")
    direct = json.loads((tmp_path / "direct.private" / "private.json").read_text())
    assert direct["coverage"]["n_items"] == private["coverage"]["n_items"]


@pytest.fixture
def few_above_the_noise():
    """Three items with 1,000 raters are above the noise; 400 with 7 or 8 are not."""
    users = np.arange(3_000)
    return Ratings.from_columns(
        np.tile(users, 2), np.concatenate([users % 400, 1_000 + users % 3]), np.tile([1, 5], 3_000)
    ).with_scale(RatingScale(1, 5, 1))


def test_a_nearly_empty_release_with_epsilon_is_refused(tmp_path, few_above_the_noise):
    dry = dry_run(few_above_the_noise, tmp_path / "out", epsilon=1.0)
    assert dry.foreseen.coverage.n_items_kept == 3
    assert dry.foreseen.coverage.n_items == 403
    assert "--item-catalog" in dry.rejection
    sentences = " ".join(dry.sentences())
    assert "about 3 of 403 items" in sentences
    assert "keep it private" in sentences
    with raises("release.nearly-empty", "--item-catalog", "this run spent epsilon 1,"):
        anonymize(few_above_the_noise, tmp_path / "out", epsilon=1.0)
    assert not (tmp_path / "out").exists()
    with pytest.warns(CoverageWarning):
        made = anonymize(few_above_the_noise, epsilon=1.0, allow_sparse_coverage=True)
    assert made.private.coverage.is_nearly_empty
    few = f"items: {len(made.items)}, warning: less than half of the table's"
    assert few in " ".join(repr(made).split())


def test_noisy_answers_alone_decide_whether_a_release_with_epsilon_is_refused(few_above_the_noise):
    release = Synthesizer(1.0, seed=1).anonymize(few_above_the_noise)
    full = replace(release.private, coverage=Coverage(3, 3, 1.0, 3_000, 0))
    with raises("release.nearly-empty"):
        reject_sparse(Sides(release.published, full))
    # A lower bound on the items, from the popularity of those below the threshold
    assert 20 < release.published.noisy_coverage.n_items < 403
    noisy = release.published.noisy_coverage._replace(n_items_kept=30, n_short_users=0)
    reject_sparse(Sides(replace(release.published, noisy_coverage=noisy), release.private))


def test_what_is_nearly_empty_by_an_estimate_alone():
    """The estimate lacks what the sampling takes from short rows."""
    assert Coverage(181, 14, 0.4, 234, 100).may_be_nearly_empty
    assert Coverage(181, 67, 0.7, 234, 178).may_be_nearly_empty
    assert Coverage(181, 67, 0.7, 234, 132, 183).may_be_nearly_empty
    assert not Coverage(181, 67, 0.7, 234, 100).may_be_nearly_empty
    assert not Coverage(12, 12, 1.0, 234, 100).may_be_nearly_empty


@pytest.mark.parametrize(
    ("coverage", "is_empty"),
    [
        (Coverage(30, 9, 0.9, 50, 0), True),
        (Coverage(3_055, 29, 0.3, 50, 0), True),
        (Coverage(3_055, 30, 0.3, 50, 0), False),
        (Coverage(17_770, 50, 0.3, 50, 0), False),
        (Coverage(1_044, 100, 0.099, 50, 0), True),
        (Coverage(30, 10, 0.9, 50, 45), False),
        (Coverage(30, 10, 0.9, 50, 46), True),
        (Coverage(19, 9, 0.9, 50, 0), False),
        (Coverage(30, 30, 1.0, 50, 45), False),
        (Coverage(30, 30, 1.0, 50, 46), True),
        (Coverage(19, 19, 1.0, 50, 50), False),  # a small table
        (Coverage(30, 5, 0.9, 0, 0), False),  # a model
    ],
)
def test_what_is_nearly_empty(coverage, is_empty):
    assert coverage.is_nearly_empty is is_empty


def test_a_model_publishes_no_users_who_are_short():
    coverage = Coverage(30, 20, 0.9, 50, 25, 5)
    assert "25" in describe_coverage(coverage)
    assert "users" not in describe_coverage(coverage.of_model())


def test_an_estimate_does_not_promise_that_all_items_are_kept(tmp_path):
    """Synthetic users rated 2,912 to 3,032 of 3,055 items of a public catalogue."""
    options = {"epsilon": 10.0, "item_catalog": "as-rated", "allow_sparse_coverage": True}
    dry = dry_run(make_ratings(200, 90, 1000, seed=3), tmp_path / "out", **options)
    coverage = dry.foreseen.coverage
    assert coverage.n_items_kept == coverage.n_items
    texts = [describe_coverage(coverage, is_estimate=each) for each in (True, False)]
    assert ["may get no" in text for text in texts] == [True, False]


def test_every_row_is_counted_by_its_users():
    assert np.isclose(summarize(MAKERS["sparse"].anonymize(RATINGS), RATINGS).coverage.n_users, 80)


# Six users have two ratings, and the others ten.
SHORT = Ratings.from_columns(
    [*np.repeat(np.arange(6), 2), *np.repeat(np.arange(6, 26), 10)],
    [*np.tile([0, 1], 6), *np.tile(np.arange(10), 20)],
    [*np.full(12, 4.0), *np.tile([4, 5, 3, 2, 1, 5, 4, 3, 2, 4], 20)],
    scale=(1, 5, 1),
)


@pytest.mark.parametrize("layout", ["users", "groups"])
def test_the_card_and_release_json_count_users_with_short_rows(tmp_path, layout):
    folder = tmp_path / "out"
    maker = PredictiveAnonymizer(3, "simple", privacy_levels="activity<5:6,else:3", seed=1)
    release = maker.anonymize(SHORT)
    release.write(folder, layout=layout)
    manifest = json.loads((folder / "release.json").read_text())
    assert (
        manifest["counts"]["short_users"] == summarize(release, SHORT).coverage.n_short_users == 6
    )
    assert "\n6 users have fewer than 3 ratings here" in (folder / "README.md").read_text()
    assert verify(folder).holds
    assert list(independent.problems(folder)) == []
    for wrong in (5, 0, None):
        counts = manifest["counts"] | {"short_users": wrong}
        (folder / "release.json").write_bytes(to_bytes(manifest | {"counts": counts}))
        assert not verify(folder).holds
        assert "counts" in list(independent.problems(folder)) or wrong != 5


def test_no_short_users_are_counted_where_there_are_none(tmp_path):
    KCoRater(5, seed=1).anonymize(RATINGS).write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())
    assert "short_users" not in manifest["counts"]
    assert "fewer than 3" not in (tmp_path / "out" / "README.md").read_text()
