"""What the fast and the slow tests of `test_audit_disclosure.py` share."""

import re

import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=400, n_items=40, n_ratings=7_000, seed=6)


def page_of(ratings, maker, folder):
    """Return the page's text, and what it was made of."""
    maker.anonymize(ratings).write(folder / "out")
    found = audit(ratings, release=folder / "out", targets=60, curves=False)
    page = re.sub(r"<style>.*?</style>", "", found.to_html(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", page).split()), found.to_dict()["release"]


@pytest.fixture(scope="module")
def padded(ratings, tmp_path_factory):
    return page_of(ratings, PredictiveAnonymizer(5, seed=1), tmp_path_factory.mktemp("padded"))
