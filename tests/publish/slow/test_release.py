"""A release read again: its published side, as a table of whatever kind."""

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import Release, Synthesizer
from recveil.publish import convert
from recveil.ratings import RatingScale

RATINGS = make_ratings(n_users=40, n_items=20, n_ratings=400, seed=2, scale=RatingScale(1, 5, 1))


class TestWhatIsRefused:
    def test_a_model(self, tmp_path):
        Synthesizer(20.0, item_catalog="as-rated").anonymize(RATINGS).write(
            tmp_path / "model", layout="model"
        )
        release = Release.read(tmp_path / "model")
        for use in (release.to_arrow, release.to_csr, release.ids):
            with raises("release.kind"):
                use()
        with raises("release.kind"):
            convert(tmp_path / "model", tmp_path / "x.csv")
