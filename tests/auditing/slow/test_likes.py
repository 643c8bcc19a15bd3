"""Tables in which no value can be wrong: likes, thumbs, and errors as wide as the scale."""

import json

import numpy as np

from recveil.attacks import PRESETS
from recveil.attacks.knowledge import (
    without_ratings,
)
from recveil.auditing import audit
from shared.auditing_likes import NEVER_LIKED, by_name, found, likes, table, write  # noqa: F401 (fixtures)


def test_likes_are_audited_by_all_presets(found):
    adversaries = by_name(found)
    assert list(adversaries) == list(PRESETS)
    for name, adversary in adversaries.items():
        changed = name in ("paper", "film-buff")
        assert adversary.wrong_kind == ("item" if changed else "value")
        expected = f"{NEVER_LIKED}: likes have no values that could be wrong."
        assert (expected in adversary.description) == changed
    # Two of the eight entries still are wrong.
    assert (adversaries["paper"].known, adversaries["paper"].right) == (8, 6)


def test_likes_have_all_figures_and_a_page(found):
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    figures = {figure["number"]: figure for figure in plain["figures"]}
    assert list(figures) == ["1", "4", "5", "6", "7", "8", "9", "10", "11", "12"]
    for number in ("4", "5", "6", "8", "10"):  # those with something wrong
        assert NEVER_LIKED in figures[number]["note"]
    # A wrong value is what cannot be here; the other series of Fig. 10 stays.
    series = {point["series"].partition(",")[0] for point in figures["10"]["points"]}
    assert series == {"item never liked"}
    assert "likes have no values that could be wrong" in found.to_html()


def test_dated_likes_are_wrong_about_dates(tmp_path):
    ratings = table(np.ones_like, dated=True)
    found = audit(write(ratings, tmp_path / "dated.csv", dated=True), targets=20)
    adversaries = by_name(found)
    assert adversaries["paper"] == without_ratings(found.ratings, PRESETS["paper"])
    assert adversaries["paper"].wrong_kind == "value"
    assert "no ratings are known: the table holds likes" in adversaries["paper"].description
    assert adversaries["film-buff"].wrong_kind == "item"  # they know no dates
