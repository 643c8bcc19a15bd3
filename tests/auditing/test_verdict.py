"""The headline says when there are too few targets, in place of a rate."""

import numpy as np
import pytest

from recveil.attacks import PRESETS
from recveil.auditing import audit
from recveil.ratings import Ratings
from recveil.report.audit.risks import lines_of
from recveil.report.audit.text import Uncovered, describe_uncovered
from recveil.report.audit.text import verdict_of as verdict_of_audit


def verdict_of(folder, users, items):
    rows = [f"u{user},i{item},{1 + item % 5}" for user in range(users) for item in range(items)]
    (folder / "ratings.csv").write_text("\n".join(["user,item,rating", *rows, ""]))
    return audit(folder / "ratings.csv", curves=False).to_dict()["verdict"]


@pytest.mark.parametrize(("users", "chance"), [(1, "100%"), (60, "1.7%")])
def test_without_targets_the_headline_is_of_those_who_know_all_ratings(tmp_path, users, chance):
    """All users have the same two ratings, so that a match is a random pick of them."""
    (only,) = verdict_of(tmp_path, users, 2)
    assert only.startswith("Adversaries who know some ratings could attack no user")
    assert f"{chance} (" in only
    assert f"by an adversary who knows all ratings; a random guess: {chance}" in only


def test_the_headline_and_the_risk_agree_if_only_exact_matches_single_users_out():
    """Each user has an item of their own, and no adversary of some ratings has a target."""
    users = np.arange(30)
    table = Ratings.from_columns(users, users, np.ones(30), scale=(1, 5, 1))
    headline, *_ = verdict_of_audit(found := audit(table, curves=False))
    assert "100% (88.6–100) of the users are re-identified" in headline
    assert lines_of(found.risks)[0].partition(": ")[2] in headline


def test_few_users_are_too_few(tmp_path):
    headline, *_ = verdict_of(tmp_path, 5, 30)
    assert headline.startswith("Too few users could be attacked")
    assert "5 of 5" in headline


def test_enough_users_get_a_rate(tmp_path):
    headline, *_ = verdict_of(tmp_path, 60, 30)
    assert "Too few" not in headline
    assert "%" in headline


def test_one_target_is_no_plural():
    (one,), (two,) = (describe_uncovered([Uncovered(PRESETS["paper"], n, n, 0.0)]) for n in (1, 2))
    assert "all 1 " not in one
    assert "all 2 " in two


def test_who_knows_rare_items_alone_is_named_with_what_is_missing():
    skipped = [Uncovered(PRESETS[name], 10, 10, 0.0) for name in ("insider", "film-buff")]
    of_all, of_rare = describe_uncovered(skipped)
    assert "have too few ratings." in of_all
    assert "have too few ratings outside the 500 most rated items." in of_rare


def test_a_sentence_has_the_highest_rate_of_those_who_could_be_attacked():
    skipped = [Uncovered(PRESETS["paper"], 6, 10, 0.1), Uncovered(PRESETS["insider"], 7, 10, 0.3)]
    (sentence,) = describe_uncovered([*skipped, Uncovered(PRESETS["likes"], 5, 10, 0.1)])
    assert "100%" in sentence
    assert "“insider” attacked 3 of 10" in sentence
    assert "up to" not in sentence  # it is no maximum of all adversaries
    assert len(sentence.split()) < 30
