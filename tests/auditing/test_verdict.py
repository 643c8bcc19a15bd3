"""The headline says when there are too few targets, in place of a rate."""

from typing import ClassVar

import numpy as np
import pytest

from recveil.attacks import PRESETS, Interval
from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings
from recveil.report.audit.page import to_html
from recveil.report.audit.risks import lines_of
from recveil.report.audit.text import Coverage, describe_uncovered, rates_of, uncovered_in
from recveil.report.audit.text import verdict_of as verdict_of_audit


def verdict_of(folder, users, items):
    rows = [f"u{user},i{item},{1 + item % 5}" for user in range(users) for item in range(items)]
    (folder / "ratings.csv").write_text("\n".join(["user,item,rating", *rows, ""]))
    return audit(folder / "ratings.csv", curves=False).to_dict()["verdict"]


@pytest.mark.parametrize(("users", "chance"), [(1, "100%"), (60, "1.7%")])
def test_without_targets_the_headline_is_of_those_who_know_all_ratings(tmp_path, users, chance):
    """All users have the same two ratings, so that a match is a random pick of them."""
    (only,) = verdict_of(tmp_path, users, 2)
    assert only.startswith("Of this audit's adversaries who know some ratings, none")
    assert f" of {users} target" in only
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
    (one,), (two,) = (describe_uncovered([Coverage(PRESETS["paper"], n, n, 0.0)]) for n in (1, 2))
    assert "all 1 " not in one
    assert "all 2 " in two


def test_who_knows_rare_items_alone_is_named_with_what_is_missing():
    skipped = [Coverage(PRESETS[name], 10, 10, 0.0) for name in ("insider", "film-buff")]
    of_all, of_rare = describe_uncovered(skipped)
    assert "have too few ratings." in of_all
    assert "have too few ratings outside the 500 most rated items." in of_rare


def test_a_sentence_has_the_leading_adversary_of_those_with_too_few_targets():
    skipped = [Coverage(PRESETS["paper"], 6, 10, 0.1), Coverage(PRESETS["insider"], 7, 10, 0.3)]
    (sentence,) = describe_uncovered([*skipped, Coverage(PRESETS["likes"], 5, 10, 0.1)])
    assert "100%" in sentence
    assert "“insider” attacked 3 of 10" in sentence
    assert "up to" not in sentence  # it is no maximum of all adversaries
    assert len(sentence.split()) < 30


class TestCoverage:
    # Of 1,000 targets, the leading adversary attacked most.
    ATTACKS: ClassVar = [
        Coverage(PRESETS["colleague"], 288, 1_000, 0.0024),
        Coverage(PRESETS["film-buff"], 895, 1_000, 0.0006),
    ]

    def test_the_leading_adversary_is_named_and_none_with_few_targets(self):
        (sentence,) = describe_uncovered(self.ATTACKS)
        assert "“colleague” attacked 712 of 1,000" in sentence
        assert "film-buff" not in sentence
        assert "attacked more" not in sentence  # nobody did

    def test_who_re_identified_more_without_a_minimum_is_named(self):
        by_all = Interval(0.007, 0.002, 0.025, 300), "an adversary who knows all"
        (sentence,) = describe_uncovered(self.ATTACKS, by_all=by_all)
        assert sentence.endswith("; 0.7% of 300 are re-identified by an adversary who knows all.")
        (sentence,) = describe_uncovered(self.ATTACKS, by_all=(Interval(0, 0, 0.01, 300), "who"))
        assert "300" not in sentence

    def test_an_adversary_who_attacked_all_targets_is_named_where_it_leads(self):
        paper = Coverage(PRESETS["paper"], 0, 1_000, 0.5)
        (sentence,) = describe_uncovered([paper, *self.ATTACKS])
        assert "“colleague” attacked 712" in sentence
        assert sentence.endswith("; 50% of 1,000 are re-identified by “paper”.")
        assert describe_uncovered([paper]) == []


def test_the_figures_of_the_raw_table_name_it_next_to_a_release(tmp_path):
    ratings = make_ratings(n_users=80, n_items=60, n_ratings=1_000, seed=4)
    anonymize(ratings, tmp_path / "out", k=5, method="sparse")
    for release, start in (
        (None, "Users with"),
        (tmp_path / "out", "In the raw table, users with"),
    ):
        warnings = audit(ratings, release=release, curves=False).to_dict()["warnings"]
        (note,) = [each for each in warnings if "count as not" in each]
        assert note.startswith(f"{start} too few ratings")


def test_without_an_attack_that_applies_no_rate_is_shown():
    """The release has none of the rare items that the adversary knows."""
    ratings = make_ratings(n_users=300, n_items=1_536, n_ratings=20_000, seed=0)
    published = anonymize(ratings, k=20, method="sparse", seed=1)
    audited = audit(
        ratings, release=published, adversaries=["film-buff"], targets=300, curves=False
    )
    ((_, found),) = audited.published.attacks
    assert found.attacked > 100
    assert found.is_blind
    assert [each.attacked for each in rates_of(audited.published)][-1] == 0
    assert "no attack applies" in to_html(audited)
    (sentence,) = uncovered_in(audited.published)
    assert "no attack applies" in sentence
    assert "attacked" not in sentence
