"""What a release will take, said before the work: checked against what is written."""

import json
import shutil
from collections import namedtuple

import numpy as np
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.io import write_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, anonymize
from recveil.publish.size_estimate import Expected, expect_padded
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError
from shared.publish_size_estimate import METHODS, PARTS, STARS, long_tail, ratings  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("rough_fit")


def test_padded_rows_are_expected_before_any_user_is_grouped(ratings):
    for layout in ("auto", "users"):
        before = expect_padded(ratings, 5, None, layout, "parquet")
        after = METHODS["padded"]().anonymize(ratings).published.expect(layout, "parquet")
        assert after.n_values <= before.n_values < 1.3 * after.n_values
    levels = np.where(ratings.activity < 40, 9, 3)
    before = expect_padded(ratings, 3, levels, "auto", "parquet")
    after = METHODS["padded of levels"]().anonymize(ratings).published.expect("auto", "parquet")
    assert after.n_values / 1.3 < before.n_values < 1.3 * after.n_values


class TestTooLarge:
    """The table of a shop, as padded rows: 1.3 billion labels of 922,267 ratings."""

    def refused(self, *arguments, **options):
        with pytest.raises(RecveilError) as caught:
            anonymize(*arguments, method="predictive", **options)
        assert len(str(caught.value)) < 300
        return str(caught.value)

    @pytest.fixture(autouse=True)
    def no_work(self, monkeypatch):
        """What is too large is refused before the work begins."""

        def begun(*_):
            raise AssertionError("the work began")

        monkeypatch.setattr(PredictiveAnonymizer, "anonymize", begun)

    def test_who_wants_it_gets_it_but_not_more_than_the_disk_holds(
        self, long_tail, tmp_path, monkeypatch
    ):
        usage = namedtuple("usage", "free")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12))
        with pytest.raises(AssertionError, match="the work began"):
            anonymize(long_tail, tmp_path / "out", k=5, method="predictive", allow_large=True)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(5 * 10**8))
        message = self.refused(long_tail, tmp_path / "out", k=5, allow_large=True)
        assert "would be written, but 500 MB are free" in message
        assert "--homogenize simple" in message

    def test_layout_groups_is_advised_for_layout_users(self, tmp_path):
        rng = np.random.default_rng(2)
        items = np.concatenate([np.arange(2_000), rng.integers(2_000, size=200)])
        users = np.concatenate([np.arange(2_000) % 600, rng.integers(600, size=200)])
        cells = np.unique(users * 2_000 + items)
        values = rng.integers(1, 6, cells.size)
        thin = Ratings.from_columns(*np.divmod(cells, 2_000), values, scale=RatingScale(1, 5, 1))
        message = self.refused(thin, tmp_path / "out", k=20, layout="users")
        assert "choose layout groups (--layout groups), homogenize simple" in message


def test_simple_and_co_rated_rows_are_refused_before_they_are_written(ratings, tmp_path):
    """Their labels are known once users are grouped."""
    thin = Ratings.from_columns(
        range(300), range(1_000, 1_300), [1, 5] * 150, scale=RatingScale(1, 5, 1)
    )
    for make, remedy in (
        (lambda: KCoRater(150, seed=1), "grouping supports"),
        (lambda: PredictiveAnonymizer(150, "simple", seed=1), "layout groups"),
    ):
        release = make().anonymize(thin)
        with raises("release.too-large") as error:
            release.write(tmp_path / "out")
        assert remedy in str(error.value)
        assert not list(tmp_path.iterdir())
        options = {"allow_large": True, "allow_sparse_coverage": True}
        assert release.write(tmp_path / "out", **options).holds
        shutil.rmtree(tmp_path / "out")
        shutil.rmtree(tmp_path / "out.private")


class TestDrawnUsers:
    """Their number is an option, and is checked before they are drawn."""

    @pytest.mark.parametrize("epsilon", ["none", 50.0])
    def test_far_more_than_were_counted_are_refused(self, ratings, epsilon, tmp_path):
        options = {"epsilon": epsilon, "item_catalog": "as-rated", "n_users": 10_000_000}
        named = Ratings(**{part: getattr(ratings, part) for part in PARTS}, scale=STARS)
        with raises("release.too-large", "10,000,000", "--n-users") as caught:
            anonymize(named, tmp_path / "out", **options)
        assert len(str(caught.value)) < 300
        assert not list(tmp_path.iterdir())


class TestSaying:
    @pytest.mark.parametrize(
        "options",
        [(), ("--method=predictive", "--homogenize", "simple"), ("--method", "k-corating")],
    )
    def test_it_is_said_before_the_work_and_stands_in_the_json(
        self, ratings, tmp_path, options, capsys
    ):
        write_ratings(ratings, tmp_path / "ratings.csv")
        command = ["anonymize", str(tmp_path / "ratings.csv"), "-o", str(tmp_path / "out")]
        command += ["--k", "5", "--seed", "1", "--scale", "1:5:1", "--json", "-", *options]
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert stop.value.code in (0, None)
        streams = capsys.readouterr()
        expected = json.loads(streams.out)["expected"]
        assert expected["values"] > 0
        assert expected["seconds"] > 0
        assert streams.err.startswith("Expected: about ")

    def test_the_library_calls_back_with_the_estimate(self, ratings, tmp_path):
        result = []
        anonymize(
            ratings, tmp_path / "out", k=5, method="predictive", seed=1, on_estimate=result.append
        )
        (expected,) = result
        assert (expected.kind, expected.ratings) == ("padded", 30_000)
        assert expected.sentence().startswith("about 60,000 values (2.0 per rating), ")

    def test_a_mistyped_form_costs_no_work(self, ratings, tmp_path):
        with raises("option.value") as error:
            anonymize(ratings, tmp_path / "out", k=5, file_format="xlsx")
        assert "'xlsx'" in str(error.value)


def test_of_likes_no_labels_are_spoken_of():
    expected = Expected(52_119, 12_000, 53_000, 60_000, 4.0, "co-rated", "like")
    assert expected.sentence() == "about 52,119 likes (4.3 per like read), 53 kB, 4 s"
