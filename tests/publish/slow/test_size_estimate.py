"""What a release will take, said before the work: checked against what is written."""

import json
import shutil
from collections import namedtuple

import numpy as np
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import PredictiveAnonymizer, anonymize, sample
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings, RatingScale
from recveil.runtime.errors import RecveilError
from shared.publish_size_estimate import METHODS, PARTS, STARS, long_tail, ratings  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("rough_fit")


@pytest.mark.parametrize("name", METHODS)
class TestWhatIsExpectedComes:
    @pytest.mark.parametrize("layout", ["auto", "users", "groups"])
    @pytest.mark.parametrize("file_format", ["parquet", "csv"])
    def test_labels_exactly_and_bytes_about(self, name, layout, file_format, ratings, tmp_path):
        release = METHODS[name]().anonymize(ratings)
        expected = release.published.expect(layout, file_format)
        release.write(tmp_path / "out", layout=layout, file_format=file_format)
        manifest = json.loads((tmp_path / "out" / "release.json").read_text())
        assert expected.n_values == manifest["counts"]["values"]
        assert expected.ratings == ratings.n_ratings
        folders = tmp_path / "out", tmp_path / "out.private"
        written = sum(file.stat().st_size for folder in folders for file in folder.iterdir())
        off = 1.25 if file_format == "csv" else 4
        assert written / off < expected.bytes < written * off
        assert written < expected.most_bytes + 20_000  # the card, and what is about the files


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

    def test_the_long_tail_is_refused_with_what_to_do_instead(self, long_tail, tmp_path):
        message = self.refused(long_tail, tmp_path / "out", k=5)
        assert message.startswith("expected about 1.31 billion values (1,4")
        assert "--homogenize simple" in message
        assert "allow_large (--allow-large)" in message
        assert not list(tmp_path.iterdir())

    def test_the_command_says_the_same(self, long_tail, tmp_path, monkeypatch, capsys):
        write_ratings(long_tail, tmp_path / "ratings.parquet")
        command = [
            *("anonymize", str(tmp_path / "ratings.parquet"), "--k", "5", "--method=predictive"),
            *("--scale", "1:5:1"),
        ]
        with pytest.raises(SystemExit) as stop:
            main([*command, "-o", str(tmp_path / "out")])
        assert stop.value.code == 2
        assert "1.31 billion values" in capsys.readouterr().err


class TestDrawnUsers:
    """Their number is an option, and is checked before they are drawn."""

    @pytest.mark.parametrize("file_format", ["parquet", "csv"])
    def test_labels_and_bytes_about(self, ratings, file_format, tmp_path):
        release = Synthesizer(None, n_users=3_000, seed=1).anonymize(ratings)
        expected = release.published.expect("users", file_format)
        release.write(tmp_path / "out", file_format=file_format)
        manifest = json.loads((tmp_path / "out" / "release.json").read_text())
        assert manifest["counts"]["values"] == pytest.approx(expected.n_values, rel=0.05)
        assert expected.ratings == pytest.approx(ratings.n_ratings, rel=0.1)
        written = sum(file.stat().st_size for file in (tmp_path / "out").iterdir())
        assert written / 2 < expected.bytes < written * 2
        assert written < expected.most_bytes + 20_000

    def test_a_model_is_small(self, ratings):
        assert Synthesizer(None, seed=1).anonymize(ratings).published.expect("model", "csv") is None

    def test_no_user_draws_more_than_the_disk_holds(self, ratings, tmp_path, monkeypatch):
        named = Ratings(**{part: getattr(ratings, part) for part in PARTS}, scale=STARS)
        anonymize(named, tmp_path / "model", epsilon="none", layout="model")
        usage = namedtuple("usage", "free")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**6))
        with raises("machine.disk") as error:
            sample(tmp_path / "model", tmp_path / "drawn", n_users=100_000)
        assert "1 MB" in str(error.value)
        assert sample(tmp_path / "model", tmp_path / "drawn", n_users=100).users == 100


class TestLabelsThatDifferTakeMore:
    """A label takes as many bits as distinguish it: 5 values take less than 91, or than all."""

    @pytest.fixture
    def halves(self):
        """A scale of half steps, and labels that an attacker of the estimate would choose."""
        made = make_ratings(n_users=300, n_items=700, n_ratings=20_000, seed=2)
        users = np.repeat(np.arange(made.n_users), made.activity)
        values = np.random.default_rng(1).integers(1, 11, users.size) / 2
        return Ratings.from_columns(
            users, made.indices * 37, values, scale=RatingScale(0.5, 5, 0.5)
        )

    @pytest.mark.parametrize("round_values", ["none", "tenth", "scale"])
    @pytest.mark.parametrize("layout", ["users", "groups"])
    @pytest.mark.parametrize("homogenize", ["padded", "simple"])
    @pytest.mark.parametrize("file_format", ["parquet", "csv"])
    def test_the_most_is_never_exceeded(
        self, halves, homogenize, layout, round_values, file_format, tmp_path
    ):
        anonymizer = PredictiveAnonymizer(5, homogenize, round_values=round_values, seed=1)
        release = anonymizer.anonymize(halves)
        expected = release.published.expect(layout, file_format)
        release.write(tmp_path / "out", layout=layout, file_format=file_format, allow_large=True)
        folders = tmp_path / "out", tmp_path / "out.private"
        written = sum(file.stat().st_size for folder in folders for file in folder.iterdir())
        assert written - 20_000 < 1.4 * expected.bytes
        assert written < expected.most_bytes + 20_000
