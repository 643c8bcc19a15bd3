import json

import pytest

from shared.auditing_hidden_items import (
    audited,
    folder,  # noqa: F401 (fixtures)
    found,
)


def test_the_audit_attacks_the_belief(folder):
    release = found(folder, "hidden")["release"]
    hidden = release["hidden_items"]
    assert hidden["catalogue_is_half_of_users"]
    assert set(hidden["named"]) == {"10", "50", "100", "all"}
    assert len(hidden["attacks"]) == len(release["attacks"])
    assert any("Hidden items are re-identified" in sentence for sentence in release["verdict"])


def test_users_are_found_as_in_a_release_with_names(folder):
    """The rates are those of an adversary who knows the names: hiding must not look safer."""
    hidden, named = (found(folder, release)["release"] for release in ("hidden", "named"))
    assert named["hidden_items"] is None
    for one, other in zip(hidden["attacks"], named["attacks"], strict=True):
        assert one["reidentified"]["rate"] == pytest.approx(other["reidentified"]["rate"], abs=0.1)


def test_the_page_and_the_json_can_hold_it(folder):
    hidden = audited(folder, "hidden")
    assert json.dumps(hidden.to_dict(), allow_nan=False)
    assert "re-identified" in hidden.to_html()


def test_two_releases_with_hidden_items_reveal_as_much_as_with_names(folder):
    """Each has pseudonyms of its own, which must not be taken for the same items."""
    both = found(folder, "hidden", second_release=folder / "again")["release"]["linkage"]
    one = found(folder, "named", second_release=folder / "again")["release"]["linkage"]
    assert both["hides_items"] == ["hidden", "again"]
    assert one["hides_items"] == ["again"]
    # Groups differ a little, as items are read in another order.
    assert both["unique"] == pytest.approx(one["unique"], abs=0.15)
    assert both["links"]["both"]["mean"] == pytest.approx(one["links"]["both"]["mean"], abs=0.15)
    for result in (both, one):
        assert max(attack["both"]["low"] for attack in result["attacks"]) > 1 / 16
    assert any("pseudonyms in “hidden” and “again”" in sentence for sentence in both["verdict"])


def test_rows_that_were_not_searched_are_reported(folder, monkeypatch):
    whole = found(folder, "hidden")["release"]["hidden_items"]["sampled"]
    assert whole["release"]["rows"] == whole["release"]["of_rows"]
    monkeypatch.setattr("recveil.attacks.reidentification.hidden_items._MOST_ROWS", 12)
    release = found(folder, "hidden")["release"]
    drawn = release["hidden_items"]["sampled"]["release"]
    assert drawn["rows"] == 12 < drawn["of_rows"]
    assert any("a random sample of 12 was used" in said for said in release["verdict"])
