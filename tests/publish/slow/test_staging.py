"""What a run leaves, however it ends, and who may read and write it."""

import os
import stat

import pytest

from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Synthesizer
from recveil.methods._sample import sample
from recveil.ratings import RatingScale


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=40, n_items=20, n_ratings=400, seed=2)


@pytest.fixture(scope="module")
def release(ratings):
    return PredictiveAnonymizer(4, seed=3).anonymize(ratings)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A release from which people are drawn."""
    folder = tmp_path_factory.mktemp("model") / "model"
    invented = make_ratings(
        n_users=60, n_items=20, n_ratings=600, seed=2, scale=RatingScale(1, 5, 1)
    )
    release = Synthesizer(epsilon=20.0, catalogue="as-rated").anonymize(invented)
    release.write(folder, layout="model")
    return folder


def modes(folder):
    """Who may do what with everything in a folder, as octal text."""
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.stat().st_mode))
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def umask():
    """Set the umask of this process, and put it back."""
    before = os.umask(0)
    yield os.umask
    os.umask(before)


class TestModes:
    def test_neither_may_they_write_what_is_drawn(self, model, tmp_path, umask):
        umask(0)
        sample(model, tmp_path / "out", people=10, seed=1)
        found = modes(tmp_path)
        assert found.pop("out") == "0o755"
        assert set(found.values()) == {"0o644"}
