"""Words on who is in the data: scores of one release never reassure."""

import re

import pytest

from recveil.attacks import Interval, Membership
from recveil.release.registry import all_variants, undone_of
from recveil.report.audit.disclosure import describe_members, describe_shortage, membership_attacks

REASSURES = re.compile(r"no better than a coin|little better|(did|do|does) not tell|nothing new")


def stated_of(auc):
    found = Membership(auc, members=90, nonmembers=90, skipped=0, tpr_at_5=auc, null_auc=auc)
    return " ".join(
        each.sentence for each in describe_members(found, {"8": found, "all": found}, None)
    )


@pytest.mark.parametrize(
    "auc", [Interval(0.5, 0.45, 0.55, 180), Interval(0.57, 0.51, 0.63, 180)], ids=str
)
def test_a_low_area_is_said_with_what_measured_it_and_with_what_measures_more(auc):
    result = stated_of(auc)
    assert not REASSURES.search(result)
    assert "usually infer more" in result
    assert "“recveil audit FILE --release OUT --shadows 32”" in result
    assert "by scores of one release, too" in result


def test_what_is_measured_elsewhere_of_who_is_in_the_data_is_kept():
    """Whatever a method's words have measured of membership has the sign by which it is chosen."""
    for name in all_variants():
        undone = undone_of(name)
        about_members = [
            words
            for words in undone
            if re.search(
                "in the data|infers? membership|inferred membership|hide membership", words
            )
            and re.search(r"\d\.\d", words)
        ]
        assert membership_attacks(undone) == about_members


@pytest.mark.parametrize(
    ("scorer", "words"),
    [
        ("likelihood", None),
        ("counts", "how many other users rated each item, in the release or not (score “counts”)."),
        ("values", "and their mean rating (score “values”)."),
        ("all scores", "whether they are in the release (score “all scores”)."),
    ],
)
def test_what_the_adversary_of_the_headline_knows_is_said(scorer, words):
    auc = Interval(0.7, 0.6, 0.8, 180)
    found = Membership(auc, 90, 90, 0, scorer, tpr_at_5=auc, null_auc=auc)
    said = [
        each.sentence for each in describe_members(found, {}, None) if "also knows" in each.sentence
    ]
    assert len(said) == (words is not None)
    assert all(each.endswith(words) for each in said)
    liked = " ".join(each.sentence for each in describe_members(found, {}, None, is_unary=True))
    assert "mean rating" not in liked


@pytest.mark.parametrize(
    ("members", "nonmembers", "who"), [(60, 14, "nonmembers"), (9, 30, "members"), (3, 2, "users")]
)
def test_the_group_that_is_too_small_is_named(members, nonmembers, who):
    found = Membership(Interval(0.5, 0.4, 0.6, 9), members, nonmembers, skipped=25)
    assert describe_shortage(found).split()[:3] == ["too", "few", who]
