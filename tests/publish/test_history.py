"""A private twin remembers what stood at its place before, and what that promised."""

import json

import pytest

from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.publish.history import Promised, describe_history, each_run


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=40, n_items=20, n_ratings=400, seed=2)


def write(ratings, folder, seed, *, force=True):
    PredictiveAnonymizer(4, "simple", seed=seed).anonymize(ratings).write(folder, force=force)


def remembered(folder):
    twin = folder.with_name(f"{folder.name}.private")
    return describe_history(json.loads((twin / "private.json").read_text()), folder)


def test_the_newest_comes_first_and_each_once(ratings, tmp_path):
    own = []
    for seed in (1, 2, 1):
        write(ratings, tmp_path / "r", seed)
        own.append(remembered(tmp_path / "r")[0].sha256)
    found = remembered(tmp_path / "r")
    assert own[0] == own[2]
    assert [each.sha256 for each in found] == [own[0], own[1]]
    assert {each.kind for each in found} == {"identical-rows"}


@pytest.mark.parametrize("broken", ["{", "[]", '{"release": {"sha256": "9c"}, "history": 3}'])
def test_what_stood_under_a_broken_twin_is_not_known(ratings, tmp_path, broken):
    write(ratings, tmp_path / "r", 1)
    (tmp_path / "r.private" / "private.json").write_text(broken)
    write(ratings, tmp_path / "r", 2)
    found = remembered(tmp_path / "r")
    assert [each.kind for each in found] == ["identical-rows", "identical-rows", None]


def test_a_release_whose_twin_is_gone_counts(ratings, tmp_path):
    write(ratings, tmp_path / "r", 1)
    (tmp_path / "r.private").rename(tmp_path / "elsewhere")
    write(ratings, tmp_path / "r", 2)
    assert len(remembered(tmp_path / "r")) == 2


@pytest.mark.parametrize(
    "changed",
    [
        *({"kind": "safe"}, {"kind": ["x"]}, {"mu": -1.0}, {"mu": "1"}, {"delta": None}),
        *({"threshold_delta": 2.0}, {"threshold_delta": None}, {"more": 1}),
        *({"earlier": ["9c"]}, {"earlier": 1}),
    ],
)
def test_no_sense_is_refused(changed, tmp_path):
    entry = {"sha256": "9c", "kind": "differentially-private", "mu": 1.0, "delta": 1e-6}
    entry |= {"threshold_delta": 0.0}
    result = {"release": {"sha256": "9c"}, "history": [entry]}
    assert describe_history(result, tmp_path) == (Promised(**entry),)
    with pytest.raises((TypeError, ValueError)):
        describe_history({**result, "history": [entry | changed]}, tmp_path)


def test_of_losses_that_disagree_the_largest_counts():
    high = Promised("a", "differentially-private", 2.0, 1e-6, 0.0)
    low = Promised("b", "differentially-private", 1.0, 8e-6, 0.0, ("a", "c", "d"))
    for some in ((high, low), (low, high)):
        found = {each.sha256: each.loss for each in each_run(some)}
        assert found["a"] == (2.0, 2e-6, 0.0)
        assert found["b"] == found["c"] == found["d"] == (0.5, 2e-6, 0.0)
