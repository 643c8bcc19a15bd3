"""A dry run says what the run would do, and does nothing."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import Synthesizer, anonymize, dry_run
from recveil.methods.base import measure_coverage
from recveil.methods.registry import method_names
from recveil.methods.synthetic.gaussian_mechanism import Mechanism
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.ratings import Ratings, RatingScale
from recveil.release.coverage import CoverageWarning
from recveil.runtime.locks import LOCK, hold_lock

pytestmark = pytest.mark.usefixtures("rough_fit")

RUNS = {
    "padded": {"k": 4, "method": "predictive"},
    "padded for each": {"k": 4, "method": "predictive", "layout": "users", "file_format": "csv"},
    "simple": {"k": 4, "method": "predictive", "homogenize": "simple"},
    "diverse": {"k": 4, "method": "predictive", "homogenize": "simple", "l": 2},
    "levels": {"k": 4, "method": "predictive", "privacy_levels": "activity<10:8,else:4"},
    "hidden items": {"k": 4, "method": "predictive", "hide_items": True},
    "k-corating": {"k": 4, "method": "k-corating"},
    "similarity": {"k": 4, "method": "k-corating", "fill": "similarity", "protect": "mean"},
    "sparse": {"k": 4, "method": "sparse"},
    "exact": {"epsilon": "none", "item_catalog": "as-rated"},
    "words": {"k": 4, "method": "nominal"},
    # The noise is drawn in secret: so large an epsilon hardly moves 120 users.
    "drawn": {"epsilon": 500.0, "item_catalog": "as-rated"},
    "chosen items": {"epsilon": 500.0, "n_users": 70},
    "a model": {"epsilon": 500.0, "item_catalog": "as-rated", "layout": "model"},
}


@pytest.fixture(scope="module")
def ratings():
    made = make_ratings(n_users=120, n_items=40, n_ratings=1_500, seed=2)
    return made.with_scale(RatingScale(1, 5, 1))


def fitting(ratings, options):
    """The same ratings, as words without an order where a method takes nothing else."""
    if options.get("method") != "nominal":
        return ratings
    return ratings.with_scale(RatingScale.of_labels("a,b,c,d,e", ordered=False))


@pytest.mark.parametrize("name", RUNS)
def test_it_agrees_with_the_run_and_writes_nothing(ratings, tmp_path, name):
    ratings = fitting(ratings, RUNS[name])
    dry = dry_run(ratings, tmp_path / "out", **RUNS[name])
    assert list(tmp_path.iterdir()) == []
    made = anonymize(ratings, tmp_path / "out", **RUNS[name])
    foreseen, expected = dry.foreseen, dry.foreseen.expected
    assert dry.reading.ratings == made.ratings
    if foreseen.groups is not None:
        assert made.verification.classes <= foreseen.groups
        assert foreseen.groups <= 120 / 4
        assert foreseen.n_users == 120
    else:
        drawn = made.release.published.n_users
        assert foreseen.n_users == pytest.approx(drawn, rel=0.3)
    layout, file_format = RUNS[name].get("layout", "auto"), RUNS[name].get("file_format", "parquet")
    really = made.release.published.expect(layout, file_format)
    assert (expected is None) == (really is None)
    if expected is not None:
        assert really.n_values == pytest.approx(expected.n_values, rel=0.5)
        assert really.kind == expected.kind
        if really.kind != "synthetic":  # what it says of real users is as noisy as all else
            assert really.ratings == expected.ratings
    assert dry.sentences()
    assert dry.to_dict()["method"] == dry.method.name


def test_every_method_can_estimate(ratings, tmp_path):
    tested = {
        dry_run(fitting(ratings, options), tmp_path / "out", **options).method.name
        for options in RUNS.values()
    }
    assert tested == set(method_names())


def test_a_nearly_empty_release_is_foreseen(ratings, tmp_path):
    """Five items have at least k raters, and the run keeps at most these."""
    options = {"k": int(np.sort(ratings.support)[-5]), "method": "sparse"}
    dry = dry_run(ratings, tmp_path / "out", **options)
    assert dry.foreseen.coverage.n_items_kept == 5
    assert "--allow-sparse-coverage" in dry.rejection
    assert "at most 5 of" in dry.rejection
    assert f"at least {dry.foreseen.coverage.n_short_users:,} of" in dry.rejection
    with raises("release.nearly-empty"):
        anonymize(ratings, tmp_path / "out", **options)
    options["allow_sparse_coverage"] = True
    dry = dry_run(ratings, tmp_path / "out", **options)
    assert dry.rejection == ""
    with pytest.warns(CoverageWarning):
        made = anonymize(ratings, tmp_path / "out", **options)
    foreseen, coverage = dry.foreseen.coverage, made.summary.coverage
    assert coverage.n_short_users >= 0.9 * foreseen.n_short_users
    assert 4 <= coverage.n_items_kept <= foreseen.n_items_kept
    assert coverage.rating_share <= foreseen.rating_share


def test_no_epsilon_is_spent(ratings, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("asked for noise")

    monkeypatch.setattr(NoiseSource, "secret", refuse)
    monkeypatch.setattr(Mechanism, "__init__", refuse)
    dry = dry_run(ratings, tmp_path / "out", epsilon=1.0)
    assert "no epsilon is spent" in dry.sentences()[0]


def test_of_drawn_users_it_reveals_no_more_than_the_size_of_the_table(ratings, tmp_path):
    """Who rated what does not change a word of it: only numbers that every verb says first."""
    others = make_ratings(n_users=120, n_items=40, n_ratings=1_500, seed=9)
    other = others.with_scale(RatingScale(1, 5, 1))
    options = {"epsilon": 1.0, "item_catalog": "as-rated"}
    result = [dry_run(each, tmp_path / "out", **options).to_dict() for each in (ratings, other)]
    assert result[0] == result[1]


@pytest.mark.parametrize(
    ("options", "code", "name"),
    [
        ({"k": 500}, "table.too-few-users", "k = 500"),
        ({"k": 1}, "option.value", "k is 1"),
        ({}, "option.required", "--epsilon"),
        ({"k": 4, "method": "sparse", "cluster_size": 5}, "option.value", "--cluster-size"),
        ({"k": 4, "epsilon": 3.0}, "option.conflict", "--epsilon"),
        ({"epsilon": 3.0, "seed": 1}, "option.conflict", "--seed"),
        ({"k": 4, "method": "predictive", "homogenize": "nonsense"}, "option.value", "'nonsense'"),
    ],
)
def test_it_refuses_what_the_run_would(ratings, tmp_path, options, code, name):
    for function in (dry_run, anonymize):
        with raises(code, name):
            function(ratings, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


def test_it_takes_no_option_that_the_run_does_not_know(ratings, tmp_path):
    for function in (dry_run, anonymize):
        with pytest.raises(TypeError, match="'colour'"):
            function(ratings, tmp_path / "out", k=4, colour="red")
    assert list(tmp_path.iterdir()) == []


def test_a_catalogue_that_lacks_items_is_refused(ratings, tmp_path):
    (tmp_path / "items.txt").write_text("1\n2\n")
    with raises("id.unknown"):
        dry_run(ratings, tmp_path / "out", epsilon=1.0, item_catalog=str(tmp_path / "items.txt"))


@pytest.mark.parametrize("options", [{}, {"item_catalog": "as-rated"}, {"likes": True}], ids=str)
def test_the_coverage_of_synthetic_users_is_foreseen(tmp_path, options):
    table = make_ratings(400, 150, 8_000, seed=1).with_scale(RatingScale(1, 5, 1))
    how = dict(options)
    table = table.as_likes() if how.pop("likes", False) else table
    foreseen = dry_run(table, tmp_path / "out", epsilon=10.0, **how).foreseen
    made = Synthesizer(10.0, seed=1, **how).anonymize(table)
    coverage = measure_coverage(table, made)
    assert foreseen.coverage.n_items == coverage.n_items
    assert foreseen.coverage.n_items_kept == pytest.approx(coverage.n_items_kept, rel=0.2)
    assert foreseen.coverage.rating_share == pytest.approx(coverage.rating_share, abs=0.05)
    assert foreseen.coverage.n_short_users == pytest.approx(coverage.n_short_users, abs=20)
    noisy = made.published.noisy_coverage
    assert foreseen.noisy_coverage.n_items == pytest.approx(noisy.n_items, rel=0.2)
    assert noisy.n_items <= coverage.n_items
    assert noisy.n_short_users == pytest.approx(coverage.n_short_users, abs=20)


@pytest.mark.parametrize(("epsilon", "words"), [(0.01, "number of users"), (0.7, "the noise")])
def test_noise_that_would_leave_nothing_is_foreseen(ratings, tmp_path, epsilon, words):
    dry = dry_run(ratings, tmp_path / "out", epsilon=epsilon)
    assert words in dry.rejection
    assert dry.foreseen.coverage is None
    assert dry.foreseen.expected is None
    assert "the run would fail" in dry.sentences()[-1]


def test_an_older_release_at_the_output_is_reported(ratings, tmp_path):
    anonymize(ratings, tmp_path / "march", k=4, method="predictive")
    with raises("output.exists", "march"):
        dry_run(ratings, tmp_path / "march", k=4, method="predictive")
    dry = dry_run(ratings, tmp_path / "april", k=4, method="predictive")
    assert [earlier.n_users for earlier in dry.earlier] == [120]
    before = sorted((tmp_path / "march").iterdir())
    dry_run(ratings, tmp_path / "march", k=4, method="predictive", force=True)
    assert sorted((tmp_path / "march").iterdir()) == before


@pytest.fixture
def left_by_a_killed_run(tmp_path):
    """A staging folder with its lock, which no process holds."""
    left = tmp_path / ".out.partial-0123abcd"
    left.mkdir(mode=0o700)
    with hold_lock(left / LOCK):
        pass
    return left


def test_what_a_killed_run_left_is_reported_and_stays(ratings, tmp_path, left_by_a_killed_run):
    found = dry_run(ratings, tmp_path / "out", k=5, method="predictive")
    assert found.leftovers == (left_by_a_killed_run.name,)
    assert found.to_dict()["leftovers"] == [left_by_a_killed_run.name]
    assert left_by_a_killed_run.name in found.sentences()[1]
    assert list(tmp_path.iterdir()) == [left_by_a_killed_run]


def test_half_a_release_is_not_taken_for_one(ratings, tmp_path, left_by_a_killed_run):
    (tmp_path / "out.private").mkdir()
    with raises("output.leftovers", left_by_a_killed_run.name):
        dry_run(ratings, tmp_path / "out", k=5, method="predictive")
    left_by_a_killed_run.rename(tmp_path / "elsewhere")
    with raises("output.exists", "out.private"):
        dry_run(ratings, tmp_path / "out", k=5, method="predictive")


def test_what_a_process_works_on_is_no_leftover(ratings, tmp_path):
    working = tmp_path / ".out.partial-0123abcd"
    working.mkdir(mode=0o700)
    with hold_lock(working / LOCK):
        assert dry_run(ratings, tmp_path / "out", k=5, method="predictive").leftovers == ()


def test_what_might_be_too_large_is_said(tmp_path):
    """Each item has one rater, and each user in a group gets a label for all items of the group."""
    users = np.arange(150)
    wide = Ratings.from_columns(users, users, users % 5 + 1, scale=RatingScale(1, 5, 1))
    dry = dry_run(wide, tmp_path / "out", k=149, method="predictive", homogenize="simple")
    assert "more than 100 values per rating" in dry.rejection
    assert "the run would fail" in dry.sentences()[-1]
    options = {"method": "predictive", "homogenize": "simple", "allow_sparse_coverage": True}
    allowed = dry_run(wide, tmp_path / "out", k=149, allow_large=True, **options)
    assert allowed.rejection == ""


def test_nothing_private_is_shown(ratings, tmp_path):
    dry = dry_run(ratings, tmp_path / "out", k=4, method="predictive", seed=987654321987)
    assert "987654321987" not in repr(dry) + str(dry.to_dict()) + " ".join(dry.sentences())
    assert repr(dry) == "DryRun(predictive, k: 4, users: 120)"
