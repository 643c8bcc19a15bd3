"""The setting with the highest utility, on a table small enough to choose from by hand."""

import math
from types import SimpleNamespace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.comparison import AXES, Row, choose_setting, frontier, utility_of
from recveil.comparison.choice import Choice, high_disclosure_of
from recveil.comparison.rows import shares_of
from recveil.release.registry import command_options
from recveil.report.comparison import marks
from recveil.report.comparison import text as sentences
from recveil.report.comparison.marks import (
    describe_revealing,
    explain_larger_epsilons,
    reveals_members,
)
from recveil.report.comparison.text import (
    caveats_of,
    describe_advice,
    describe_answer,
    describe_rest,
    describe_risk,
    describe_uncovered,
    headline_of,
    risk_warnings,
)
from recveil.report.evaluation.text import explain_unreliable
from recveil.workbench.wording import page_words

TARGETS = {"targets": 900, "targets_attacked": 900, "most_targets_attacked": 900}


def made(method, k, promise, high, rmse, **changes):
    """The measured risk is 0.8 of the upper end; the gain falls from 1 at RMSE 0.9 to 0 at 1.0.

    Lists keep half a point more of what they were than ratings do of their gain, up to raw.
    """
    row = Row(method, k, promise, None, **TARGETS)
    bound = 1 / k if promise == "k-anonymity" else None
    measured = {"risk": None, "risk_low": None, "risk_high": None}
    if high is not None:
        measured = {"risk": 0.8 * high, "risk_low": 0.6 * high, "risk_high": high}
    return row._replace(
        **{"bound": bound, "risk_by": "paper", "attack": "nearest", "verified_k": k},
        **measured,
        **{"rmse": rmse, "gain_retained": 10 * (1 - rmse), "is_gain_reliable": True, "ndcg": 0.1},
        **{"ndcg_retained": min(1, 10 * (1 - rmse) + 0.005), "is_ndcg_reliable": True},
        **{"ranker": "kNN", "raw_ranker": "EASE", "recommender": "kNN"},
    )._replace(**changes)


TABLE = [
    made("padded", 2, "k-anonymity", 0.30, 0.91),
    made("padded", 5, "k-anonymity", 0.12, 0.93),
    made("padded", 50, "k-anonymity", 0.02, 0.97),
    made("simple", 5, "k-anonymity", 0.19, 0.92),
    made("k-corating-item-mean", 5, "co-rated", 0.95, 0.905),
    made("raw", None, "nothing", 1.00, 0.90),
    made("item-means", None, "nothing", 0.001, 0.905),
]


@pytest.mark.parametrize(
    ("max_risk", "min_k", "expected"),
    [
        (1.0, None, "k-corating-item-mean, k = 5"),  # the best that is no baseline
        (0.30, None, "padded, k = 2"),  # the end of the interval may be the limit itself
        (0.29, None, "simple, k = 5"),
        (0.15, None, "padded, k = 5"),
        (0.11, None, "padded, k = 50"),
        (0.019, None, None),  # only item-means is as safe, and that promises nothing
        (None, 2, "padded, k = 2"),  # k-coRating shares sets of items, which is no k of users
        (None, 5, "simple, k = 5"),
        (None, 6, "padded, k = 50"),
        (0.15, 5, "padded, k = 5"),
        (None, 51, None),
    ],
)
def test_the_best_of_the_safe_ones(max_risk, min_k, expected):
    choice = choose_setting(TABLE, max_risk, min_k)
    assert (choice.row and choice.row.title) == expected
    assert (expected or "no compared setting qualifies") in describe_answer(choice)


def test_no_answer_names_the_safest():
    (caveat,) = caveats_of(choose_setting(TABLE, 0.01))
    assert "“padded, k = 50”: 1.6% of users re-identified by “paper” (1.2–2, 900 targets)" in caveat
    assert caveats_of(choose_setting(TABLE[5:], 0.5)) == [
        "No setting with a guarantee could be evaluated."
    ]


def test_more_targets_are_advised_where_only_the_interval_exceeds_the_limit():
    row = TABLE[2]._replace(risk_targets=450)
    (caveat,) = caveats_of(choose_setting([row], 0.018))
    assert "450 targets; 900 of adversaries who know fewer ratings" in caveat
    assert caveat.endswith("(--targets), if users are left, may decide it.")
    assert "more targets, if users" in page_words(caveat)
    for limits in ((0.015,), (0.018, 99), (None, 99)):
        assert "--targets" not in caveats_of(choose_setting([row], *limits))[0]


def test_a_measured_risk_is_not_called_proven():
    result = " ".join(caveats_of(choose_setting(TABLE, 0.15)))
    assert "9.6% of users re-identified by “paper” (7.2–12, 900 targets)" in result
    assert "The proven bound is 20%" in result
    assert "k = 7 or more" in result
    proven = " ".join(caveats_of(choose_setting(TABLE, 0.05)))
    assert "no attack on this release alone re-identifies more than 2%, which is proven." in proven
    assert any("not guaranteed" in caveat for caveat in caveats_of(choose_setting(TABLE, 1.0)))


def test_caveats_state_what_else_is_revealed():
    row = made("simple", 5, "k-anonymity", 0.1, 0.92, lone_share=0.433, membership_auc=0.99)
    row = row._replace(published_share=0.63)
    result = " ".join(caveats_of(choose_setting([row._replace(membership_auc_low=0.98)], 0.5)))
    published = "63% of all ratings are published exactly in the user's row; 43.3% because no other"
    assert published in result
    assert "An adversary nearly always infers who is in the data, with AUC 0.99" in result
    row = row._replace(published_share=0.0, lone_share=0.0)
    row = row._replace(membership_auc=0.57, membership_auc_low=0.49, membership_auc_high=0.64)
    unsure = " ".join(caveats_of(choose_setting([row], 0.5)))
    assert "exactly" not in unsure
    assert "only, it is not shown that an adversary infers who is in the data" in unsure
    assert "AUC 0.57 (0.49–0.64)" in unsure
    assert "“recveil compare FILE --shadows 32”" in unsure
    assert "lower bound" in unsure
    shadows = {"shadow_auc": 0.93, "shadow_auc_low": 0.9, "shadow_auc_high": 0.95}
    next_to = " ".join(caveats_of(choose_setting([row._replace(**shadows)], 0.5)))
    assert "AUC 0.93 (0.90–0.95) was reached" in next_to
    row = row._replace(membership_auc=None)
    result = " ".join(caveats_of(choose_setting([row], 0.5)))
    assert "AUC" not in result
    assert (
        "was not measured; shadow releases (“recveil compare FILE --shadows 32”) measure it"
        in result
    )


class TestWorth:
    """Lists and ratings: both are said in one sentence, and the smaller one counts."""

    # The first trials: ratings better than raw, lists fallen to 18 %.
    SMOOTH = made(
        *("padded", 10, "k-anonymity", 0.08, 0.87),
        **{
            "gain_retained": 1.33,
            "gain_retained_low": 0.9,
            "gain_retained_high": 1.7,
            "ndcg_retained": 0.18,
        },
        **{"ndcg_retained_low": 0.15, "ndcg_retained_high": 0.21, "ndcg": 0.03},
    )
    EVEN = made(
        *("simple", 10, "k-anonymity", 0.09, 0.95),
        **{
            "gain_retained": 0.5,
            "gain_retained_low": 0.4,
            "gain_retained_high": 0.6,
            "ndcg_retained": 0.9,
        },
        **{"ndcg_retained_low": 0.8, "ndcg_retained_high": 0.95},
    )
    ROWS = (SMOOTH, EVEN)

    def test_the_smaller_share_counts(self):
        choice = choose_setting(self.ROWS, 0.1)
        assert describe_answer(choice) == (
            "With at most 10% of users re-identified, “simple, k = 10” retains most: lists retain "
            "90% of the raw nDCG, ratings retain 50% of the raw gain."
        )
        assert choice.utility == "both"
        assert any("the smaller of its two shares" in caveat for caveat in caveats_of(choice))

    @pytest.mark.parametrize("worth", ["both", "lists"])
    def test_lists_worse_than_popular_items_are_not_kept(self, worth):
        """Nine tenths of the best lists, and yet nothing that takes a release."""
        worse = {
            "lists_gain_retained": -0.1,
            "lists_gain_retained_low": -0.2,
            "lists_gain_retained_high": -0.05,
        }
        row = self.EVEN._replace(**worse)
        better = self.EVEN._replace(k=5, ndcg_retained=0.4)
        better = better._replace(lists_gain_retained=0.1, lists_gain_retained_low=0.05)
        assert utility_of(row, worth)[:3] == (-0.1, -0.2, -0.05)
        assert utility_of(row, "ratings").value == 0.5
        choice = choose_setting([row, better], 0.1, utility=worth)
        assert choice.row == better
        rule = "Lists that are no better than popular items alone count as retaining nothing."
        assert any(rule in caveat for caveat in caveats_of(choice))
        assert frontier([row, better], worth)[-1] == better
        alone = choose_setting([row], 0.1, utility=worth)
        assert (
            "lists retain 90% of the raw nDCG, which is no better than popular items alone"
            in describe_answer(alone)
        )
        assert "(worse than popular items alone)" in describe_advice(alone)
        assert ("no collaborative gain" in describe_answer(alone)) == (worth == "lists")

    def test_an_answer_about_ratings_states_the_lists_in_the_same_sentence(self):
        choice = choose_setting(self.ROWS, 0.1, utility="ratings")
        assert describe_answer(choice) == (
            "With at most 10% of users re-identified, “padded, k = 10” retains most for ratings: "
            "ratings are as good as from raw data, lists retain only 18% of the raw nDCG."
        )
        assert choose_setting(self.ROWS, 0.1, utility="lists").row == self.EVEN

    @pytest.mark.parametrize("worth", ["both", "ratings", "lists"])
    def test_nothing_is_better_than_raw(self, worth):
        choice = choose_setting([self.SMOOTH], 0.1, utility=worth)
        result = " ".join([describe_answer(choice), *caveats_of(choice)])
        assert "133" not in result
        assert "170" not in result
        assert "ratings are as good as from raw data" in describe_answer(choice)
        assert "ratings 90–100%" in result

    def test_what_is_as_good_as_raw_goes_to_the_safer(self):
        one = self.SMOOTH._replace(
            ndcg_retained=1.0, ndcg_retained_low=None, ndcg_retained_high=None
        )
        safer = one._replace(gain_retained=1.01, risk_high=0.05, k=20)
        assert choose_setting([one, safer], 0.1).row == safer

    def test_a_gain_that_is_too_small_to_state_makes_no_headline(self):
        gain = {"is_gain_reliable": False, "raw_gain": 0.001, "raw_gain_low": -0.002}
        gain |= {"raw_gain_high": 0.004, "raw_rmse": 0.943, "averages_rmse": 0.944}
        rows = [row._replace(**gain) for row in self.ROWS]
        both = choose_setting(rows, 0.1)
        assert (both.row, both.decided_by) == (rows[1], "lists")
        assert "RMSE 0.9500; raw 0.9430, averages 0.9440" in describe_answer(both)
        assert shares_of(both.row).ratings is None
        assert any("is 0.0010 (-0.0020 to 0.0040)" in caveat for caveat in caveats_of(both))
        ratings = choose_setting(rows, 0.1, utility="ratings")
        assert (ratings.row, ratings.reason) == (None, "not-distinguishable")
        assert "averages" in headline_of(ratings)
        assert frontier(rows, "ratings") == []

    def test_shares_that_no_setting_states_decide_nothing(self):
        """What 150 users gave: lists 98.6, 87 and 49 %, ratings 30, 19 and 18 %, all too wide."""
        found = {
            2: (0.986, 0.95, 1.02, 0.301, -0.71, 0.9),
            5: (0.87, 0.8, 0.93, 0.19, -0.55, 0.73),
            10: (0.49, 0.42, 0.56, 0.18, -0.46, 0.65),
        }
        names = (
            "ndcg_retained",
            "ndcg_retained_low",
            "ndcg_retained_high",
            "gain_retained",
            "gain_retained_low",
            "gain_retained_high",
        )
        rows = [
            made("simple", k, "k-anonymity", 0.9 / k, 0.95, **dict(zip(names, kept, strict=True)))
            for k, kept in found.items()
        ]
        choice = choose_setting(rows, 0.5)
        assert choice.row.k == 2
        assert choice.decided_by == "lists"
        assert not shares_of(choice.row).ratings.is_reliable
        assert "(-71 to 90% of the raw gain)" in describe_answer(choice)
        assert "So only lists decide here." in caveats_of(choice)
        # One point narrower, the share of k = 10 is reported: the answer is the same.
        narrow = [*rows[:2], rows[2]._replace(gain_retained_high=0.53)]
        assert choose_setting(narrow, 0.5).row.k == 2
        assert [row.k for row in frontier(narrow)] == [10, 5, 2]
        ratings = choose_setting(rows, 0.5, utility="ratings")
        assert (ratings.decided_by, ratings.row.k) == (None, 10)

    def test_the_widest_interval_is_that_before_it_is_cut_off_at_raw(self):
        wide = self.EVEN._replace(
            gain_retained=1.33, gain_retained_low=0.02, gain_retained_high=2.66
        )
        wide = wide._replace(ndcg_retained=1.0, ndcg_retained_low=0.95, ndcg_retained_high=1.05)
        both = {"gain_retained": 0.95, "gain_retained_low": 0.9, "gain_retained_high": 1.0}
        both |= {"ndcg_retained": 0.95, "ndcg_retained_low": 0.9, "ndcg_retained_high": 1.0}
        even = self.EVEN._replace(k=11, **both)
        assert choose_setting([wide, even], 0.1).row == even
        alone = describe_answer(choose_setting([wide], 0.1))
        assert "(2–100% of" in alone
        assert "ratings are as good" not in alone

    def test_nothing_is_left_only_where_all_judges_agree(self):
        nothing = {"ndcg_retained": 0.0, "ndcg_retained_low": 0.0, "ndcg_retained_high": 0.0}
        row = self.EVEN._replace(
            gain_retained=-0.1, gain_retained_low=-0.3, gain_retained_high=0.1, **nothing
        )
        result = describe_answer(choose_setting([row], 0.5, utility="ratings"))
        assert "no collaborative gain" not in result
        assert "not significantly better than averages (-30 to 10% of the raw gain)" in result
        result = describe_answer(
            choose_setting([row._replace(gain_retained_high=-0.05)], 0.5, utility="ratings")
        )
        assert "retains no collaborative gain: ratings are worse than averages" in result

    def test_worse_than_averages_is_said_where_the_raw_gain_is_too_small(self):
        row = self.EVEN._replace(
            is_gain_reliable=False, gain_retained=-0.73, is_below_averages=True
        )
        assert "ratings are worse than averages; no share is reported for ratings" in (
            describe_answer(choose_setting([row], 0.5))
        )

    def test_the_reason_of_a_missing_share_is_given(self):
        few = "too-few-users"
        row = self.EVEN._replace(is_gain_reliable=False, gain_unreliable_reason=few)
        row = row._replace(is_ndcg_reliable=False, ndcg_unreliable_reason=few)
        result = describe_answer(choose_setting([row], 0.5))
        assert result.count(explain_unreliable(few, 0)) == 2

    def test_the_chosen_recommender_and_the_best_of_all_are_stated(self):
        row = self.EVEN._replace(best_ndcg_retained=0.95, best_gain_retained=1.02)
        result = " ".join(caveats_of(choose_setting([row], 0.5)))
        assert "lists by “kNN” (nDCG 0.100; best on raw data: “EASE”)" in result
        assert "cannot know in advance: lists 95%, ratings 100%." in result

    def test_an_unknown_worth_is_refused(self):
        with raises("option.value") as caught:
            choose_setting(self.ROWS, 0.1, utility="fun")
        assert "'fun'" in str(caught.value)

    def test_the_frontier_is_that_of_the_worth(self):
        assert frontier(self.ROWS) == [self.SMOOTH, self.EVEN]
        assert frontier(self.ROWS, "ratings") == [self.SMOOTH]


def test_what_one_split_cannot_distinguish():
    """Gains 0.9, 0.7 and 0.3; the best reaches down to 0.65, so that only 0.3 is worse for sure."""
    ends = {2: (0.65, 1.1), 5: (0.5, 0.8), 50: (0.2, 0.4)}
    rows = [
        row._replace(
            gain_retained_low=ends[row.k][0],
            gain_retained_high=ends[row.k][1],
            ndcg_retained_low=1,
            ndcg_retained_high=1,
        )
        for row in TABLE[:3]
    ]
    choice = choose_setting(rows, 0.5)
    result = " ".join(caveats_of(choice))
    assert choice.row.title == "padded, k = 2"
    assert [row.title for row in choice.tied] == ["padded, k = 5"]
    assert "on one split: ratings 65–100%;" in result
    assert "not distinguish it from “padded, k = 5”" in result
    touching = rows[1]._replace(gain_retained_high=0.65)
    assert choose_setting([rows[0], touching], 0.5).tied == [touching]
    below = rows[1]._replace(gain_retained_high=0.649)
    assert choose_setting([rows[0], below], 0.5).tied == []
    unsafe = choose_setting(rows, 0.15)  # what is not safe enough is not named
    assert (unsafe.row.k, unsafe.tied) == (5, [])
    assert choose_setting([], 0.5).tied == []


def test_nothing_left_is_said_plainly():
    row = made("padded", 50, "k-anonymity", 0.02, 1.0, ndcg_retained=0.0)
    assert "no collaborative gain" in describe_answer(choose_setting([row], 0.5))


def test_without_any_figure_the_safest_is_named():
    rows = [row._replace(gain_retained=None, ndcg_retained=None) for row in TABLE]
    choice = choose_setting(rows, 0.3)
    assert choice.row.title == "padded, k = 50"
    assert choice.decided_by is None


@pytest.mark.parametrize("looked", [0, 854])
def test_who_was_not_looked_for_is_safe_by_proof_alone(looked):
    """Of 900 users, 95 % are 855. Padded at 2 proves 50 %, at 50 it proves 2 %."""
    rows = [row._replace(most_targets_attacked=looked) for row in TABLE]
    assert choose_setting(rows, 0.51).row.title == "padded, k = 2"
    assert choose_setting(rows, 0.19).row.title == "padded, k = 50"
    assert choose_setting(rows, min_k=5).row.title == "simple, k = 5"
    choice = choose_setting(rows, 0.019)
    assert choice.row is None
    assert choice.safest is not None
    (caveat,) = caveats_of(choice)
    assert describe_uncovered(choice.safest) in caveat
    assert describe_risk(choice.safest, choice.axis, 0.019) in caveat
    assert choose_setting([TABLE[1]._replace(most_targets_attacked=855)], 0.19).row is not None


def test_a_proof_outweighs_the_interval():
    """Measured 9.9 % with an interval up to 11.9 %, but 1/10 is proven."""
    row = made("padded", 10, "k-anonymity", 0.119, 0.95)
    assert choose_setting([row], 0.1).row == row
    assert choose_setting([row._replace(bound=None)], 0.1).row is None


def test_adversaries_without_targets_are_named():
    """The strongest adversary is the strongest of those who could attack a user."""
    rows = [row._replace(adversaries_without_targets="close friend; reviewer") for row in TABLE]
    (warning,) = risk_warnings(rows)
    assert "close friend, reviewer" in warning
    assert risk_warnings(rows, AXES["membership"]) == risk_warnings(TABLE, AXES["membership"])
    (warning,) = risk_warnings([rows[0]._replace(adversaries_without_targets="x"), *TABLE[1:]])
    assert ": x (" in warning


def test_an_adversary_who_knows_rare_items_lacks_ratings_of_them():
    """It was said of users with many ratings that they had too few."""
    names = "film-buff; reviewer"
    rows = [row._replace(adversaries_without_targets=names) for row in TABLE]
    (warning,) = risk_warnings(rows)
    assert (
        "film-buff (all targets have too few ratings outside the 500 most rated items)" in warning
    )


def test_warnings():
    assert risk_warnings(TABLE) == []
    assert risk_warnings([]) == []
    weak = [TABLE[0], TABLE[5]._replace(risk=0.31)]
    assert "only 31% of users re-identified" in risk_warnings(weak)[0]
    dated = [*TABLE, TABLE[5]._replace(method="date-shift")]
    assert ["dates" in each for each in risk_warnings(dated)] == [True]
    assert risk_warnings(dated, AXES["membership"]) == risk_warnings(TABLE, AXES["membership"])
    alone = risk_warnings([TABLE[0]._replace(most_targets_attacked=600)])
    assert "add raw" in alone[0]
    assert "at most 600 of 900 targets" in alone[1]
    by_all = TABLE[0]._replace(most_targets_attacked=0, adversaries_without_targets="colleague")
    warnings = risk_warnings([by_all, TABLE[5]])
    assert [("colleague" in each, "rates" in each) for each in warnings] == [(True, False)]
    assert "rates" not in describe_uncovered(by_all)


def test_unfinished_and_unattacked_rows_are_never_chosen():
    failed = Row("padded", 2, "k-anonymity", "no room")
    unattacked = TABLE[0]._replace(risk=None, risk_low=None, risk_high=None)
    assert choose_setting([failed, unattacked], 1.0).row is None
    assert frontier([failed, unattacked]) == []


def test_equal_settings_go_to_the_safer_then_the_larger_k():
    equal = made("padded", 9, "k-anonymity", 0.1, 0.93)
    safer = equal._replace(method="simple", risk_high=0.09)
    assert choose_setting([equal, safer], 0.5).row == safer
    larger = equal._replace(k=10)
    assert choose_setting([equal, larger], 0.5).row == larger


def test_the_frontier_by_hand():
    """From the safest on, each must be better than all before; baselines are not asked."""
    titles = [row.title for row in frontier(TABLE)]
    assert titles == [
        *("padded, k = 50", "padded, k = 5", "simple, k = 5", "padded, k = 2"),
        "k-corating-item-mean, k = 5",
    ]


shares = st.floats(0.001, 1)
random_rows = st.lists(
    st.builds(
        made,
        st.sampled_from(["padded", "simple"]),
        st.integers(2, 99),
        st.sampled_from(["k-anonymity", "co-rated", "nothing"]),
        shares,
        st.floats(0.85, 1.02),
    ),
    max_size=12,
)


def worth(row):
    """What `made` makes a row worth: the gain is never above the lists, nor above raw."""
    return min(1, 10 * (1 - row.rmse))


@given(random_rows, shares)
def test_no_safe_setting_beats_the_answer(rows, limit):
    able = [row for row in rows if row.promise != "nothing"]
    safe = [row for row in able if min(row.risk_high, row.bound or 1) <= limit]
    choice = choose_setting(rows, limit)
    assert (choice.row is None) == (not safe)
    assert choice.row is None or (choice.row in safe)
    assert choice.row is None or worth(choice.row) == max(worth(row) for row in safe)


@given(random_rows)
def test_the_frontier_is_what_nothing_dominates(rows):
    able = [row for row in rows if row.promise != "nothing"]

    def is_beaten(row):
        return any(
            (other.risk_high <= row.risk_high and worth(other) > worth(row))
            or (other.risk_high < row.risk_high and worth(other) >= worth(row))
            for other in able
        )

    values = {(row.risk_high, worth(row)) for row in frontier(rows)}
    assert values == {(row.risk_high, worth(row)) for row in able if not is_beaten(row)}


@pytest.mark.parametrize("limits", [(0, None), (1.1, None), (math.nan, None), (None, 1)])
def test_limits_that_make_no_sense(limits):
    with raises("option.value"):
        choose_setting(TABLE, *limits)


figures = st.floats(-2, 0.99)
widths = st.floats(0, 0.9)
uncertain_rows = st.lists(
    st.builds(
        lambda k, high, gain, lists, below, above, promise: made(
            *("simple", k, promise, high, 0.95),
            **{
                "gain_retained": gain,
                "gain_retained_low": gain - below,
                "gain_retained_high": gain + above,
            },
            **{
                "ndcg_retained": lists,
                "ndcg_retained_low": lists - above,
                "ndcg_retained_high": lists + below,
            },
        ),
        st.integers(2, 99),
        st.sampled_from([0.1, 0.2, 0.3]),
        *(st.one_of(figures, st.sampled_from([0.1, 0.5])) for _ in range(2)),
        *(widths for _ in range(2)),
        st.sampled_from(["k-anonymity", "co-rated"]),
    ),
    min_size=1,
    max_size=8,
)


def beats(one, other):
    """Whether a setting as safe keeps more of one, and no less of the other, as measured."""
    pairs = (one.gain_retained, other.gain_retained), (one.ndcg_retained, other.ndcg_retained)
    return (
        one.risk_high <= other.risk_high
        and all(mine >= theirs for mine, theirs in pairs)
        and any(mine > theirs for mine, theirs in pairs)
    )


@given(uncertain_rows, st.sampled_from(["both", "lists", "ratings"]))
def test_no_answer_is_dominated_however_wide_the_intervals(rows, worth):
    answer = choose_setting(rows, 0.5, utility=worth).row

    def is_as_clear(row):
        clear = [one.is_clearly_above_baseline("ratings") for one in (row, answer)]
        return worth == "lists" or clear[0] >= clear[1]

    assert not any(beats(row, answer) for row in rows if is_as_clear(row))
    for row in frontier(rows, worth):
        assert not any(beats(other, row) for other in rows)


class TestPassedOver:
    """Settings that keep more than the answer, of which too few users could be looked for."""

    TABLE = (
        made("sparse", 5, "k-anonymity", 0.02, 0.91, most_targets_attacked=700),
        made("sparse", 6, "k-anonymity", 0.02, 0.915, most_targets_attacked=700),
        made("simple", 10, "k-anonymity", 0.09, 0.92, most_targets_attacked=700),
        made("sparse", 10, "k-anonymity", 0.02, 0.95, most_targets_attacked=700),
    )

    def test_what_keeps_more_is_named_and_why_it_is_not_the_answer(self):
        choice = choose_setting(self.TABLE, 0.1)
        assert choice.row.title == "simple, k = 10"
        (result,) = [caveat for caveat in caveats_of(choice) if "is rejected" in caveat]
        assert [row.k for row in choice.rejected] == [5, 6]
        assert "who know some ratings could attack only 700 of 900 targets" in result

    @pytest.mark.parametrize(
        "changes", [{"most_targets_attacked": 900}, {"risk_high": 0.2}, {"gain_retained": 0.1}]
    )
    def test_nothing_is_said_of_others(self, changes):
        """What is safe is the answer; what is found too often, or keeps less, is no loss."""
        first, _, *others = self.TABLE
        choice = choose_setting([first._replace(**changes), *others], 0.1)
        assert not any("is rejected" in caveat for caveat in caveats_of(choice))


def test_an_unreliable_gain_above_popular_items_is_stated():
    row = made("simple", 10, "k-anonymity", 0.09, 0.92)
    wide = row._replace(
        lists_gain_retained=0.5, lists_gain_retained_low=0.1, lists_gain_retained_high=2.3
    )
    text = describe_advice(choose_setting([wide], 0.1))
    assert "(the share of the gain above popular items is not reliable)" in text


def test_lists_of_popular_items_are_no_sign_of_anything_kept():
    popular = made("simple", 10, "k-anonymity", 0.09, 0.92, raw_ranker="popularity")
    choice = choose_setting([popular], 0.1)
    assert "lists retain 80.5% of the raw nDCG, which popular items alone reach" in describe_answer(
        choice
    )
    assert "(which popular items alone reach)" in describe_advice(choice)
    result = " ".join(caveats_of(choice))
    assert "no lists were better than those of popular items alone" in result
    assert "count as retaining nothing" not in result


class TestNoTargets:
    """No target has enough ratings for any adversary, so that nothing is measured."""

    ROW = made("padded", 5, "k-anonymity", None, 0.93, targets_attacked=0, most_targets_attacked=0)
    ONLY_MEASURED = made("simple", 2, "k-anonymity", 0.4, 0.91)

    @pytest.mark.parametrize(
        ("max_risk", "min_k", "is_chosen"),
        [(0.2, None, True), (0.19, None, False), (None, 5, True), (None, 6, False)],
    )
    def test_only_what_is_proven_is_safe(self, max_risk, min_k, is_chosen):
        choice = choose_setting([self.ROW], max_risk, min_k)
        assert (choice.row is self.ROW) == is_chosen

    def test_without_a_limit_what_is_measured_is_chosen(self):
        assert choose_setting([self.ROW, self.ONLY_MEASURED]).row is self.ONLY_MEASURED

    def test_it_is_not_on_the_frontier(self):
        assert frontier([self.ROW, self.ONLY_MEASURED]) == [self.ONLY_MEASURED]

    def test_no_rate_is_stated(self):
        texts = caveats_of(choose_setting([self.ROW], 0.2))
        assert not any("0%" in text.replace("20%", "") for text in texts[-4:])
        assert any("no user could be attacked" in text for text in texts)


class TestNoRecommendation:
    """Where none can be made, none is: the reason is a code, the headline a line."""

    GAIN: ClassVar = {"raw_gain": 0.01, "raw_gain_low": -0.01, "raw_gain_high": 0.03}
    LISTS: ClassVar = {
        "lists_gain_retained": 0.7,
        "ndcg_retained_low": 0.4,
    }  # the gain has no interval

    @pytest.mark.parametrize(
        ("changes", "utility", "unbeaten"),
        [
            ({"raw_ranker": "popularity"}, "lists", ("lists",)),
            (LISTS, "lists", ("lists",)),
            (GAIN, "ratings", ("ratings",)),
            (GAIN | LISTS, "both", ("lists", "ratings")),
        ],
    )
    @pytest.mark.parametrize("limit", [1.0, 0.001])
    def test_nothing_is_recommended_where_raw_beats_no_baseline(
        self, changes, utility, unbeaten, limit
    ):
        choice = choose_setting([row._replace(**changes) for row in TABLE], limit, utility=utility)
        assert (choice.row, choice.reason) == (None, "not-distinguishable")
        assert choice.unbeaten == unbeaten
        assert headline_of(choice) == describe_advice(choice) == describe_answer(choice)
        assert caveats_of(choice)

    @pytest.mark.parametrize(
        ("changes", "decided"), [(LISTS, "ratings"), (GAIN, "lists")], ids=["lists", "ratings"]
    )
    def test_with_both_the_other_share_decides(self, changes, decided):
        choice = choose_setting([row._replace(**changes) for row in TABLE], 0.15)
        assert (choice.row.title, choice.decided_by) == ("padded, k = 5", decided)

    def test_lists_above_popularity_are_distinguishable(self):
        above = self.LISTS | {"lists_gain_retained_low": 0.5}
        choice = choose_setting([row._replace(**above) for row in TABLE], 0.15, utility="lists")
        assert choice.row.title == "padded, k = 5"

    def test_a_share_of_raw_itself_decides_nothing(self):
        wide = {"gain_retained_low": -1.0, "gain_retained_high": 0.5}
        rows = [row._replace(**self.LISTS, **wide) for row in TABLE if row.method != "raw"]
        raw = next(row for row in TABLE if row.method == "raw")._replace(**self.LISTS)
        for limit in (1.0, 0.001):
            assert choose_setting([raw, *rows], limit).reason == "not-distinguishable"

    def test_where_lists_cannot_tell_worse_ratings_can(self):
        """On a book shop, no lists beat popular items, and the shares of ratings are too wide."""
        wide = {"gain_retained": -3.9, "gain_retained_low": -8.0, "gain_retained_high": -2.4}
        raw = next(row for row in TABLE if row.method == "raw")._replace(**self.LISTS)
        rows = [row._replace(**self.LISTS, **wide, averages_rmse=0.88) for row in TABLE[:4]]
        for utility in ("both", "ratings"):
            choice = choose_setting([raw, *rows], 0.2, utility=utility)
            assert (choice.reason, choice.beaten) == ("below-baseline", rows[1:])
            assert headline_of(choice).startswith("No safe setting beats averages (")
            assert "Publish averages instead" in describe_rest(choice)
            has_lists = "beats popularity, so lists do not" in describe_rest(choice)
            assert has_lists == (utility == "both")
        assert choose_setting([raw, *rows], 0.001).reason == "no-safe-setting"
        above = rows[1]._replace(averages_rmse=0.94)
        assert choose_setting([raw, rows[2], above], 0.2).reason == "not-distinguishable"
        few = [row._replace(is_gain_reliable=False) for row in (raw, *rows)]
        assert choose_setting(few, 0.2).reason == "not-distinguishable"
        no_gain = [row._replace(**self.GAIN) for row in (raw, *rows)]
        assert choose_setting(no_gain, 0.2).reason == "not-distinguishable"

    def test_an_unfinished_comparison_recommends_nothing(self):
        choice = choose_setting(TABLE, 0.15, unfinished=2)
        assert (choice.row, choice.reason, choice.n_unfinished) == (None, "unfinished", 2)
        assert not any(row.title in headline_of(choice) for row in TABLE)

    def test_limits_that_none_keeps_have_their_own_reason(self):
        assert choose_setting(TABLE, 0.01).reason == "no-safe-setting"
        assert choose_setting(TABLE, 0.15).reason is None


class TestBelowBaseline:
    """A setting that beats neither popular items nor averages is never recommended."""

    LISTS: ClassVar = {"ndcg": 0.3, "popularity_ndcg": 0.4, "lists_gain_retained": -0.5}
    RATINGS: ClassVar = {"averages_rmse": 0.9, "gain_retained": -0.1}

    @pytest.mark.parametrize(
        ("changes", "utility", "reason"),
        [
            (LISTS, "lists", "below-baseline"),
            (LISTS, "ratings", None),
            (LISTS, "both", None),  # ratings beat averages
            (RATINGS, "ratings", "below-baseline"),
            (RATINGS, "lists", None),
            (LISTS | RATINGS, "both", "below-baseline"),
        ],
    )
    def test_it_is_no_answer(self, changes, utility, reason):
        rows = [row._replace(**changes) for row in TABLE]
        choice = choose_setting(rows, 0.15, utility=utility)
        assert (choice.reason, choice.row is None) == (reason, reason is not None)
        assert [row.title for row in choice.beaten] == (
            ["padded, k = 5", "padded, k = 50"] if reason else []
        )
        if reason:
            for text in (headline_of(choice), describe_answer(choice)):
                assert ("0.300 against 0.400" in text) == (utility != "ratings")
            assert ("0.9300 against 0.9000" in describe_answer(choice)) == (utility != "lists")
            assert len(headline_of(choice)) <= 100

    def test_one_that_beats_it_is_the_answer_whatever_the_others_retain(self):
        beaten = TABLE[1]._replace(**self.LISTS, averages_rmse=0.9, gain_retained=-0.1)
        useful = TABLE[2]._replace(ndcg=0.5, popularity_ndcg=0.4, gain_retained=-0.2)
        assert choose_setting([beaten, useful], 0.15).row == useful
        rejected = useful._replace(most_targets_attacked=700, bound=None)
        choice = choose_setting([beaten, rejected], 0.15)
        assert (choice.reason, choice.rejected) == ("below-baseline", [rejected])

    def test_where_no_lists_beat_popular_items_ratings_alone_decide(self):
        """The lists of the first are less far below popular items, and its ratings are worse."""
        lists = {"ndcg": 0.3, "popularity_ndcg": 0.4}
        nearer = TABLE[1]._replace(**lists, gain_retained=0.5, lists_gain_retained=-0.1)
        better = TABLE[2]._replace(**lists, gain_retained=0.9, lists_gain_retained=-0.9)
        choice = choose_setting([nearer, better], 0.15)
        assert (choice.row, choice.decided_by) == (better, "ratings")
        assert choose_setting([nearer, better], 0.15, utility="ratings").row == better
        texts = headline_of(choice), describe_rest(choice), describe_advice(choice)
        assert "alone" in texts[0]
        assert "lists" not in texts[1]
        assert "no better than popular items alone" in texts[2]

    def test_nominal_labels_are_compared_with_the_most_frequent(self):
        accuracy = {"nominal_accuracy": 0.6, "baseline_nominal_accuracy": 0.61}
        rows = [row._replace(rmse=None, **accuracy) for row in TABLE]
        choice = choose_setting(rows, 0.15, utility="ratings")
        assert choice.reason == "below-baseline"
        assert "60%" in headline_of(choice)
        assert "61%" in headline_of(choice)


def test_settings_are_not_distinguished_only_where_the_intervals_of_all_shares_overlap():
    ends = {"gain_retained_low": 0.4, "gain_retained_high": 0.6}
    one = made("sparse", 10, "k-anonymity", 0.05, 0.95, **ends, ndcg_retained=0.75)
    one = one._replace(ndcg_retained_low=0.7, ndcg_retained_high=0.8)
    other = one._replace(method="simple", gain_retained=0.49, ndcg_retained=0.7)
    for low, high, is_tied in ((0.6, 0.72, True), (0.36, 0.47, False), (0.85, 0.9, False)):
        other = other._replace(ndcg_retained_low=low, ndcg_retained_high=high)
        choice = choose_setting([one, other], 0.1)
        assert (choice.row, choice.tied) == (one, [other] if is_tied else [])


class TestLessDisclosing:
    """An answer that discloses far more than a setting of the same utility names that one."""

    BEST = made(
        *("simple", 5, "k-anonymity", 0.1, 0.92),
        membership_auc=0.9,
        membership_auc_low=0.85,
        membership_auc_high=0.95,
        published_share=0.6,
        gain_retained_low=0.7,
        gain_retained_high=0.9,
        ndcg_retained_low=0.7,
        ndcg_retained_high=0.9,
    )
    OTHER = BEST._replace(method="padded", gain_retained=0.75, ndcg_retained=0.75, risk_high=0.12)

    def named(self, other, **limits):
        """Return the title of a setting that is recommended or named in place of the best."""
        choice = choose_setting([self.BEST, other], **(limits or {"max_risk": 0.2}))
        if choice.row == self.BEST:
            return [row.title for row in choice.less_disclosing]
        # Within the limits, it comes first.
        assert (choice.row, choice.more_disclosing) == (other, [self.BEST])
        assert choice.less_disclosing == []
        return [other.title]

    @pytest.mark.parametrize(
        ("changes", "is_named"),
        [
            ({}, False),
            ({"published_share": 0.49}, True),
            ({"published_share": 0.51}, False),
            ({"membership_auc": 0.7, "membership_auc_high": 0.84}, True),
            ({"membership_auc": 0.7, "membership_auc_high": 0.86}, False),  # intervals overlap
            ({"membership_auc": 0.81, "membership_auc_high": 0.84}, False),
            ({"membership_auc": 0.7, "membership_auc_high": None}, True),
            ({"published_share": 0.1, "risk_high": 0.5, "bound": None}, False),  # not safe enough
            (
                {"published_share": 0.1, "gain_retained": 0.5, "gain_retained_high": 0.6},
                False,  # another utility
            ),
            ({"published_share": 0.1, "problem": "no room"}, False),
        ],
    )
    def test_far_less_at_the_same_utility_is_named(self, changes, is_named):
        other = self.OTHER._replace(**changes)
        assert self.named(other) == ([other.title] if is_named else [])

    def test_it_is_in_the_headline_and_in_the_caveats(self):
        other = self.OTHER._replace(published_share=0.1)
        choice = choose_setting([self.BEST, other], 0.2)
        assert other.title in headline_of(choice)
        assert self.BEST.title in describe_rest(choice)
        assert self.BEST.title in caveats_of(choice)[0]

    def test_one_that_discloses_less_of_one_and_more_of_the_other_is_named_second(self):
        best = self.BEST._replace(membership_auc=0.8, membership_auc_high=0.85)
        other = self.OTHER._replace(published_share=0.1, membership_auc_low=0.87)
        other = other._replace(membership_auc=0.95)
        choice = choose_setting([best, other], 0.2)
        assert (choice.row, choice.more_disclosing) == (best, [])
        assert choice.less_disclosing == [other]
        assert other.title in describe_rest(choice)

    @pytest.mark.parametrize("limit", [0.15, 0.2, 1.0])
    def test_lists_below_popular_items_are_named_at_every_limit(self, limit):
        below = {"ndcg": 0.3, "popularity_ndcg": 0.4, "lists_gain_retained": -0.5}
        rows = [self.BEST, self.OTHER._replace(published_share=0.1)]
        choice = choose_setting([row._replace(**below) for row in rows], limit)
        assert headline_of(choice).endswith(
            "for ratings alone: its lists do not beat popular items."
        )
        assert "ratings 75% retained" in describe_rest(choice)

    def test_synthetic_users_have_no_exact_ratings_and_no_risk_of_re_identification(self):
        unattacked = {"risk": None, "risk_high": None, "bound": None, "published_share": None}
        other = self.OTHER._replace(
            method="synthetic-3", k=None, promise="differential privacy", **unattacked
        )
        assert self.named(other) == ["synthetic-3"]
        assert self.named(other, min_k=5) == []  # it shares no row among users

    def test_shadow_releases_count_where_both_have_them(self):
        shadows = {"shadow_auc": 0.9, "shadow_auc_low": 0.85, "shadow_auc_high": 0.95}
        best, other = self.BEST._replace(**shadows), self.OTHER._replace(**shadows)
        other = other._replace(membership_auc=0.5, membership_auc_high=0.6)
        assert choose_setting([best, other], 0.2).less_disclosing == []

    def test_all_that_disclose_far_more_or_less_are_named(self):
        less = [
            self.OTHER._replace(method=name, published_share=0.1, gain_retained=gain)
            for name, gain in (("padded", 0.75), ("sparse", 0.74))
        ]
        choice = choose_setting([self.BEST, *less], 0.2)
        more = choice._replace(more_disclosing=[self.BEST, less[1]], less_disclosing=less)
        for row in (self.BEST, *less):
            assert row.title in describe_rest(more)
            assert row.title in " ".join(caveats_of(more)[:2])

    def test_each_setting_far_above_the_lowest_auc_is_named_in_the_legend(self):
        low = self.OTHER._replace(method="sparse", membership_auc=0.55, membership_auc_high=0.6)
        rows = [self.BEST, self.OTHER, low, self.BEST._replace(method="raw")]
        assert [reveals_members(row, rows) for row in rows] == [True, True, False, True]
        assert all(f"“{row.title}”" in describe_revealing(rows) for row in (*rows[:2], rows[3]))
        assert describe_revealing(rows[2:3]) == ""

    def test_a_rival_that_is_as_good_is_in_the_headline(self):
        rows = [self.BEST, self.OTHER, self.OTHER._replace(method="sparse", gain_retained=0.74)]
        rows = [row._replace(published_share=0.4) for row in rows]
        for n, shown in ((2, "“padded, k = 5”"), (3, "“padded, k = 5” and 1 more")):
            choice = choose_setting(rows[:n], 0.2)
            assert [row.method for row in choice.tied] == ["padded", "sparse"][: n - 1]
            assert headline_of(choice).endswith(f"; as good: {shown}.")
            assert "intervals overlap" in describe_rest(choice)
        assert "as good" not in headline_of(choose_setting(rows[:1], 0.2))


class TestHighDisclosure:
    """An AUC of at least 0.95, or more than half of the ratings exactly, is stated first."""

    BEST = TestLessDisclosing.BEST._replace(
        **{"membership_auc": 1.0, "membership_auc_low": 0.98, "membership_auc_high": 1.0}
    )
    # Retains far less, so that it is no setting of the same utility.
    LEAST = BEST._replace(
        **{"method": "sparse", "membership_auc": 0.84, "membership_auc_low": 0.8},
        **{"membership_auc_high": 0.88, "published_share": 0.02, "gain_retained": 0.3},
        **{"gain_retained_low": 0.2, "gain_retained_high": 0.4, "ndcg_retained": 0.3},
        **{"ndcg_retained_low": 0.2, "ndcg_retained_high": 0.4},
    )

    def test_the_headline_names_the_setting_with_the_lowest_auc(self):
        middle = self.LEAST._replace(k=2, membership_auc=0.89)
        choice = choose_setting([self.BEST, middle, self.LEAST], 0.2)
        assert (choice.row, choice.least_disclosing) == (self.BEST, [self.LEAST, middle])
        assert headline_of(choice) == (
            "Membership AUC 1.00 in “simple, k = 5”, which retains most; lowest: “sparse, k = 5”, "
            "0.84."
        )
        rest = describe_rest(choice)
        assert "publishes 60% of all ratings exactly" in rest
        assert "“sparse, k = 5” discloses least (2% exact ratings, membership AUC 0.84)" in rest
        assert "“sparse, k = 2” discloses far less (2% exact ratings, membership AUC 0.89)" in rest

    def test_raw_data_are_no_alternative(self):
        raw = self.LEAST._replace(method="raw", k=None, promise="nothing")
        choice = choose_setting([self.BEST, raw], 0.2)
        assert choice.least_disclosing == []
        assert headline_of(choice).endswith("; no compared setting has far less.")

    def test_exact_ratings_count_where_the_auc_is_lower(self):
        best = self.BEST._replace(membership_auc=0.9)
        headline = headline_of(choose_setting([best, self.LEAST], 0.2))
        assert headline.startswith("Exactly published ratings: 60% in “simple, k = 5”")
        assert headline.endswith("“sparse, k = 5”, 2%.")
        assert headline_of(
            choose_setting([best._replace(published_share=0.5), self.LEAST], 0.2)
        ).startswith("Publish “simple, k = 5”")

    def test_a_safer_setting_of_the_same_utility_is_in_the_headline(self):
        equal = self.BEST._replace(method="padded", risk=None, risk_high=None, risk_low=None)
        equal = equal._replace(published_share=0.1, membership_auc=0.96)
        choice = choose_setting([self.BEST, equal], 0.2)
        assert choice.less_disclosing == [equal]
        assert "at no lower utility, “padded, k = 5” has 0.96" in headline_of(choice)
        low = {"membership_auc": 0.7, "membership_auc_low": 0.6, "published_share": 0.4}
        rows = [self.BEST._replace(**low), equal._replace(**low | {"published_share": 0.1})]
        assert headline_of(choose_setting(rows, 0.2)) == (
            "Publish “simple, k = 5”. “padded, k = 5” has far less of one disclosure: see below."
        )

    def test_the_strongest_inference_counts(self):
        row = self.LEAST._replace(shadow_auc=0.97)
        assert (high_disclosure_of(row), high_disclosure_of(self.LEAST)) == ("shadow_auc", "")


class TestLargerEpsilon:
    """Lists of synthetic users that are worse at a larger epsilon are explained."""

    def made(self, epsilon, retained, **changes):
        row = made(f"synthetic-{epsilon}", None, "differential privacy", 0.1, 0.9)
        ends = {"ndcg_retained_low": retained - 0.05, "ndcg_retained_high": retained + 0.05}
        return row._replace(ndcg_retained=retained, ranker="popularity", **ends, **changes)

    def test_nothing_is_said_where_lists_improve(self):
        assert explain_larger_epsilons([self.made(3, 0.8), self.made(1, 0.7), *TABLE]) == []

    def test_a_difference_within_the_interval(self):
        (text,) = explain_larger_epsilons([self.made(3, 0.78), self.made(1, 0.8)])
        assert "the intervals overlap" in text

    def test_a_larger_one_by_the_recommender_that_was_chosen(self):
        worse = self.made(10, 0.5, best_ndcg_retained=0.79)._replace(ranker="EASE")
        (text,) = explain_larger_epsilons([self.made(3, 0.8, best_ndcg_retained=0.8), worse])
        assert "the intervals overlap" not in text
        for name in ("“EASE”", "“popularity”", "79% and 80%"):
            assert name in text


class TestUnclear:
    """A setting that beats a baseline by less than its interval, where another one is clear."""

    CLEAR = TestLessDisclosing.BEST._replace(
        ndcg=0.19, popularity_ndcg=0.17, lists_gain_retained=0.4, lists_gain_retained_low=0.01
    )
    UNCLEAR = CLEAR._replace(
        method="padded", membership_auc=0.6, membership_auc_high=0.65, published_share=0.1
    )

    @pytest.mark.parametrize("gain", [0.2, 0.9])
    def test_it_is_never_the_answer_nor_an_alternative(self, gain):
        other = self.UNCLEAR._replace(lists_gain_retained_low=-0.1, ndcg_retained=gain)
        choice = choose_setting([self.CLEAR, other], 0.2)
        assert choice.row == self.CLEAR
        assert (choice.tied, choice.less_disclosing, choice.more_disclosing) == ([], [], [])
        assert choice.unclear == ([other] if gain > self.CLEAR.ndcg_retained else [])
        assert (other.title in describe_answer(choice)) == bool(choice.unclear)
        assert ("retains most" in headline_of(choice)) != bool(choice.unclear)

    def test_it_is_the_answer_where_no_other_is_clear(self):
        unclear = {"lists_gain_retained_low": -0.1, "gain_retained_low": -0.1}
        other = self.UNCLEAR._replace(**unclear)
        choice = choose_setting([self.CLEAR._replace(**unclear), other], 0.2)
        assert choice.row == other
        assert "popular items" in describe_rest(choice)
        assert "popular items" not in describe_rest(choose_setting([self.CLEAR], 0.2))

    @pytest.mark.parametrize("name", ["items_kept", "ratings_kept"])
    def test_one_that_keeps_far_fewer_items_or_ratings_is_not_equal(self, name):
        best = self.CLEAR._replace(items_kept=0.93, ratings_kept=0.99)
        near, far = (self.UNCLEAR._replace(**{name: share}) for share in (0.9, 0.66))
        rows = [best, near._replace(gain_retained=0.75, ndcg_retained=0.75)]
        assert choose_setting(rows, 0.2).row == rows[1]
        choice = choose_setting([best, far._replace(gain_retained=0.75, ndcg_retained=0.75)], 0.2)
        assert (choice.row, choice.tied, choice.less_disclosing) == (best, [], [])

    def test_shares_that_are_not_reliable_are_left_out_of_the_headline(self):
        kept = {"items_kept": 0.66, "ratings_kept": 0.95, "averages_rmse": 0.9}
        wide = {"gain_retained": -0.4, "gain_retained_low": -1.4, "gain_retained_high": -0.1}
        kept["published_share"] = 0.4
        choice = choose_setting([self.CLEAR._replace(**kept, **wide)], 0.2)
        text = f"{headline_of(choice)} {describe_rest(choice)}"
        assert "reliable" not in text
        assert "averages" in text
        assert "items 66%, ratings 95% kept" in headline_of(choice)

    def test_the_loss_of_one_that_discloses_less_is_in_the_headline(self):
        kept = {"items_kept": 0.93, "ratings_kept": 0.97}
        below = {"ndcg": 0.1, "lists_gain_retained": -0.5, "lists_gain_retained_low": -0.9}
        other = self.UNCLEAR._replace(gain_retained=0.75, ndcg_retained=0.75, **kept)
        for changes in ({}, below):
            rows = [row._replace(**changes) for row in (self.CLEAR, other)]
            choice = choose_setting(rows, 0.2)
            assert choice.more_disclosing == rows[:1]
            assert "items 93%, ratings 97% kept" in headline_of(choice)
            assert "retains most" not in describe_answer(choice)


titles = st.text("abc-", min_size=1, max_size=120)


@given(titles, st.sampled_from([None, "lists"]), st.booleans())
def test_a_headline_is_one_line_of_at_most_100_characters(title, decided, has_other):
    row = TABLE[0]._replace(method="simple")
    with_title = type("Titled", (Row,), {"title": title})
    shown = with_title(**row._asdict())
    choice = choose_setting([row], 0.5)._replace(row=shown, decided_by=decided)
    choice = choice._replace(less_disclosing=[shown] if has_other else [])
    for text in (headline_of(choice), headline_of(choose_setting([], 0.123, 999_999))):
        assert 0 < len(text) <= 100
        assert "\n" not in text


def test_the_warning_counts_all_settings_that_keep_little():
    row = Row("sparse", 20, "k-anonymity", None, items_kept=0.04, ratings_kept=0.467)
    rows = [row, row._replace(k=5, items_kept=0.24)]
    rows.append(row._replace(k=2, items_kept=0.9, ratings_kept=0.9))
    choice = Choice(0.1, None, "both", "reidentification", reason="not-distinguishable")
    assert "; 1 other setting keeps less than half" in sentences.describe_rest(choice, rows)
    assert "other setting" not in sentences.describe_rest(choice, rows[::2])


def test_an_adversary_with_fewer_targets_says_so():
    figures = {"risk": 0.9, "risk_low": 0.8, "risk_high": 1.0, "risk_by": "all", "targets": 100}
    row = Row("raw", None, "nothing", None, risk_baseline=0.01, risk_targets=50, **figures)
    assert ", 50 targets; 100 of adversaries" in sentences.describe_risk(
        row, AXES["reidentification"]
    )
    whole = row._replace(risk_targets=100)
    assert "of adversaries" not in sentences.describe_risk(whole, AXES["reidentification"])


def test_kept_items_name_the_public_list_that_they_assume():
    figures = {"items_kept": 0.94, "ratings_kept": 0.96}
    row = Row("synthetic-1", None, "differential-privacy", None, **figures)
    assert sentences.format_kept(row).endswith("kept if items are public")
    assert "public" not in sentences.format_kept(Row("sparse", 5, "k-anonymity", None, **figures))
    choice = Choice(0.1, None, "both", "membership", row=row)
    sparse = Row("sparse", 5, "k-anonymity", None, **figures)
    comparison = SimpleNamespace(reading=SimpleNamespace(arguments=("r.csv",)))
    both = sentences.commands_of(comparison, choice._replace(less_disclosing=[sparse]))
    condition = ", only if the list of rated items is public"
    assert [making.purpose for making in both] == [
        f"To make “synthetic-1”{condition}:",
        "To make “sparse, k = 5”:",
    ]
    assert sentences.commands_of(comparison, choice._replace(row=None)) == []
    assert "--item-catalog as-rated" in command_options(row.method)
    assert "--item-catalog as-rated" in sentences.item_warnings([row])[0]


def test_lists_that_popularity_reaches_are_marked():
    figures = {"ndcg": 0.19, "popularity_ndcg": 0.196, "is_ndcg_reliable": True}
    row = Row("sparse", 20, "k-anonymity", None, ndcg_retained=1.0, **figures)
    assert marks.reaches_popularity_alone(row)
    assert marks.legend_of_lists([row]).startswith(marks.POPULAR_MARK)
    better = row._replace(ndcg=0.3, lists_gain_retained=0.5, lists_gain_retained_low=0.2)
    assert not marks.reaches_popularity_alone(better)
    assert marks.legend_of_lists([better]) == ""
