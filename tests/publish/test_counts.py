"""A release of levels of counts says so, and which count each level is from."""

import json

import pytest

from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.publish import describe
from recveil.verification import verify

LEVELS = "1 from 1, 2 from 3, 3 from 10, 4 from 30, 5 from 100, 6 from 300, 7 from 1,000"


@pytest.fixture(scope="module")
def plays(tmp_path_factory):
    made = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=2)
    path = tmp_path_factory.mktemp("plays") / "plays.csv"
    rows = zip(made.user_positions(), made.indices, made.values, strict=True)
    lines = [f"u{user},{item},{int(4**value)}" for user, item, value in rows]
    path.write_text("\n".join(["user,item,plays", *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    "options",
    [
        {"method": "predictive", "homogenize": "simple"},
        {"method": "k-corating"},
        {"method": "sparse"},
    ],
    ids=["predictive", "k-corating", "sparse"],
)
@pytest.mark.parametrize("hide_items", [False, True])
def test_its_card_and_settings_name_the_levels(plays, tmp_path, options, hide_items):
    anonymize(plays, tmp_path / "out", k=3, seed=1, counts="log", hide_items=hide_items, **options)
    assert verify(tmp_path / "out").holds
    result = json.loads((tmp_path / "out" / "release.json").read_text())
    assert list(result["settings"].items())[-1] == ("counts", "log")
    assert f"a level of a count ({LEVELS})" in (tmp_path / "out" / "README.md").read_text()
    describe(tmp_path / "out", tmp_path / "card.md")
    assert LEVELS in (tmp_path / "card.md").read_text()


def test_ratings_name_none_and_what_is_on_another_scale_is_refused(plays, tmp_path):
    anonymize(
        plays,
        tmp_path / "out",
        k=3,
        method="predictive",
        seed=1,
        rating="plays",
        homogenize="simple",
        allow_large=True,
    )
    file = tmp_path / "out" / "release.json"
    result = json.loads(file.read_text())
    assert "counts" not in result["settings"]
    assert "level of a count" not in (tmp_path / "out" / "README.md").read_text()
    result["settings"]["counts"] = "log"
    file.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    found = verify(tmp_path / "out")
    assert any("levels of counts" in each.problem for each in found.violations)
