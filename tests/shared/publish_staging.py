"""What the fast and the slow tests of `test_staging.py` share."""

import os
import stat

import pytest

from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, Synthesizer
from recveil.ratings import RatingScale


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=40, n_items=20, n_ratings=400, seed=2)


@pytest.fixture(scope="module")
def release(ratings):
    return PredictiveAnonymizer(4, seed=3).anonymize(ratings)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A release from which users are drawn."""
    folder = tmp_path_factory.mktemp("model") / "model"
    invented = make_ratings(
        n_users=60, n_items=20, n_ratings=600, seed=2, scale=RatingScale(1, 5, 1)
    )
    release = Synthesizer(epsilon=20.0, item_catalog="as-rated").anonymize(invented)
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
