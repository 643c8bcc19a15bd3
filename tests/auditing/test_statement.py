"""What stands in rows leaves no figure of the sentence out, and nothing that warns."""

import math
import re

import pytest

from recveil.attacks import Interval, Mean, Membership
from recveil.attacks.inference.attributes import Attributes
from recveil.attacks.inference.companions import Companions, PossibleRatings
from recveil.attacks.inference.rated_cells import InferredCells
from recveil.auditing.release_attacks import Content
from recveil.comparison.rows import Share
from recveil.release.exact_ratings import ExactRatings
from recveil.report.audit.disclosure import (
    NO_SAFETY,
    describe_exact_ratings,
    describe_members,
    of_fit,
    remarks_of,
    statements_of_content,
)
from recveil.report.comparison.marks import format_share, format_share_ends
from recveil.report.document import plain
from recveil.runtime.number_format import estimate


def rows_of(statements):
    return [row for each in statements for row in each.rows]


FIGURE = re.compile(r"(?<![\w.])\d+\.\d+")


def rate(value, width=0.013):
    return Interval(value, value - width, value + width, 90)


def mean(value, width=0.021, trials=90):
    return Mean(value, value - width, value + width, trials)


NO_USER = Interval(math.nan, 0.0, 1.0, 0)
MEMBERS = Membership(rate(0.91), 344, 86, 0, tpr_at_5=rate(0.63), null_auc=rate(0.48))
BEHIND = PossibleRatings(
    *(rate(0.31), rate(0.22), rate(0.73), mean(1.3), mean(4.1), None, mean(0.2), 90, 200)
)
# Where steps are coarse, shares are of all ratings, and nothing is within anything.
GIVEN = ExactRatings(0.385, 0.9, 0.549, 0.918, 0.0, 0.549, 0.918)
STATED = {
    "given": lambda: describe_exact_ratings(GIVEN, 0.385, BEHIND),
    "given, of all": lambda: describe_exact_ratings(GIVEN, None, None),
    "on a continuous scale": lambda: describe_exact_ratings(
        ExactRatings(0.6, 0.97, 0.0, None, 0.1, 0.63, 0.9), 0.6
    ),
    "companions": lambda: statements_of_content(
        Content((), Companions(rate(0.84), rate(0.99), rate(0.55), rate(0.056)))
    ),
    "companions who are told nothing": lambda: statements_of_content(
        Content((), Companions(rate(0.04), NO_USER, rate(0.55), NO_USER))
    ),
    "to within": lambda: statements_of_content(
        Content((), Companions(rate(0.84), rate(0.99), rate(0.55), rate(0.056), 0.2))
    ),
    "behind labels": lambda: statements_of_content(Content((), None, BEHIND)),
    "members": lambda: describe_members(MEMBERS, {"8": MEMBERS, "all": MEMBERS}, None),
    "few members": lambda: describe_members(
        MEMBERS._replace(members=9), {"8": MEMBERS._replace(members=9)}, None
    ),
    "likings": lambda: describe_members(
        MEMBERS, {}, Attributes(mean(0.84), mean(0.528), mean(0.313), "nearest")
    ),
    "a fit": lambda: [
        of_fit(
            InferredCells(
                *(rate(0.9), rate(0.66), rate(0.33), rate(0.44), 0.5, 0.21, 0.12),
                records=9,
                of_records=90,
            )
        )
    ],
    "a fit that tells nothing": lambda: [
        of_fit(InferredCells(rate(0.9), rate(0.1), rate(0.33), rate(0.44), 0.5, 0.66, 0.12, 9, 9))
    ],
}


@pytest.mark.parametrize("name", STATED)
def test_every_figure_stands_in_rows_or_next_to_them(name):
    result = STATED[name]()
    shown = " ".join([*(" ".join(row) for row in rows_of(result)), *remarks_of(result)])
    for each in result:
        for figure in FIGURE.findall(each.sentence):
            # The lead has the AUC of a random guess.
            assert figure in [*FIGURE.findall(shown), "0.5"], each.sentence


def test_the_judged_users_are_stated():
    areas = [row for row in rows_of(STATED["members"]()) if row.value.startswith("AUC")]
    assert len(areas) == 2  # the strongest adversary is no better than one with 8 ratings
    assert [row.figure for row in areas] == ["membership, 344 + 86", "- by all ratings"]
    few = rows_of(STATED["few members"]())
    assert [(row.figure, row.value) for row in few] == [("membership, 9 + 86", "not measured")]
    assert "which is no evidence" in remarks_of(STATED["few members"]())[0]


def test_the_best_membership_inference_has_one_row():
    better = MEMBERS._replace(auc=MEMBERS.auc._replace(rate=0.99))
    rows = rows_of(describe_members(MEMBERS, {"8": MEMBERS, "16": better}, None))
    assert [row.figure.partition(",")[0] for row in rows] == [
        "membership",
        "- TPR at 5% FPR",
        "- by 8 ratings",
    ]


def test_a_grade_and_what_measures_more_are_never_put_into_a_row():
    grade, *_ = remarks_of(STATED["members"]())
    assert "--shadows 32" in grade


@pytest.mark.parametrize(("low", "is_specified"), [(0.29, False), (-0.01, True)])
def test_where_members_are_hardly_ahead_that_is_no_evidence(low, is_specified):
    excess = Mean(0.313, low, 0.4, 90)
    result = describe_members(MEMBERS, {}, Attributes(mean(0.84), mean(0.528), excess, "nearest"))
    row = rows_of(result)[-1]
    assert row.figure == "- points by membership"
    assert (row.baseline == NO_SAFETY) == is_specified


def test_a_part_of_the_records_is_said_to_be_one():
    assert remarks_of(STATED["behind labels"]()) == [
        "Ratings of values were measured on a random sample of 90 of 200 records."
    ]
    (remark,) = remarks_of(STATED["a fit"]())
    assert "It used a random sample of 9 of 90 records" in remark
    assert remark.endswith("Better fits may reveal more.")


def test_a_rate_that_is_not_above_its_baseline_stays_a_sentence_that_says_so():
    result = STATED["a fit that tells nothing"]()
    assert not rows_of(result)
    assert "less than popularity alone gives" in remarks_of(result)[0]


def test_rows_have_room_on_a_narrow_terminal():
    widths = [max(map(len, cells)) for cells in zip(*rows_of(STATED["members"]()), strict=True)]
    assert sum(widths) + 6 <= 80
    assert estimate(rate(0.5)) == "50% (48.7–51.3)"


def test_without_guesses_there_is_no_rate():
    half = Mean(0.5, 0.5, 0.5, 90)
    nothing = Attributes(half, half, Mean(0.0, 0.0, 0.0, 180), "nearest", has_guessed=False)
    *_, result = describe_members(MEMBERS, {}, nothing)
    (row,) = result.rows
    assert row.value == "no attack applied"
    for text in (result.sentence, result.remark):
        assert "no attack applied" in text
        assert "no evidence that the release reveals nothing" in text
        assert not FIGURE.search(text)
    document = plain(nothing)
    assert document["attack"] == "no attack applied"
    assert document["excess"] == {"rate": None, "low": None, "high": None, "trials": 180}


def test_all_outputs_format_a_share_with_its_interval_alike():
    """Terminal, pages and sentences: one decimal, two digits below 1%, no second percent sign."""
    share, small = Share(0.592, 0.571, 0.613), Interval(0.0044, 0.00091, 0.02, 900)
    assert estimate(share) == f"{format_share(share)} ({format_share_ends(share)})"
    assert estimate(share) == "59.2% (57.1–61.3)"
    assert estimate(small) == "0.44% (0.091–2)"
    assert estimate(Mean(-0.142, -0.3, 0.02, 90)) == "-14.2% (-30 to 2)"
