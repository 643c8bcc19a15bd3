"""What the fast and the slow tests of `test_hidden_items.py` share."""

import pytest

from recveil.auditing import audit
from recveil.datasets import generate
from recveil.methods import anonymize


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ratings, a release of them with hidden items, one with names, and ratings of others."""
    folder = tmp_path_factory.mktemp("hidden")
    for name, seed in (("ratings", 1), ("others", 2)):
        generate(folder / f"{name}.csv", users=80, items=30, ratings=900, seed=seed)
    for name, k, hide in (("hidden", 4, True), ("named", 4, False), ("again", 5, True)):
        anonymize(
            folder / "ratings.csv",
            folder / name,
            k=k,
            method="predictive",
            homogenize="simple",
            seed=k,
            hide_items=hide,
        )
    return folder


def audited(folder, release, **more):
    source = folder / "ratings.csv"
    return audit(source, release=folder / release, targets=40, curves=False, **more)


def found(folder, release, **more):
    return audited(folder, release, **more).to_dict()
