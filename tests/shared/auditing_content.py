"""What the fast and the slow tests of `test_content.py` share."""

import json

import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=150, n_items=50, n_ratings=2400, seed=4)


@pytest.fixture(scope="module")
def audited(ratings, tmp_path_factory):
    def run(**settings):
        folder = tmp_path_factory.mktemp("content")
        write_ratings(ratings, folder / "ratings.csv")
        anonymize(folder / "ratings.csv", folder / "out", seed=1, **settings)
        found = audit(folder / "ratings.csv", release=folder / "out", targets=60, curves=False)
        return json.loads(json.dumps(found.to_dict(), allow_nan=False))

    return run
