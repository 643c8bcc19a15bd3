"""The cheapest setting, on a table small enough to choose from by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.compare import Row, cheapest, frontier
from recveil.compare.choice import warnings_of
from recveil.errors import RecveilError

LOOKED_FOR = {"looked_for": 900, "attacked": 900, "most_attacked": 900}


def made(method, k, promise, high, rmse, **changes):
    """The measured risk is 0.8 of the upper end; the gain falls from 1 at RMSE 0.9 to 0 at 1.0."""
    row = Row(method, k, promise, None, **LOOKED_FOR)
    bound = 1 / k if promise == "k-anonymity" else None
    return row._replace(
        **{"bound": bound, "adversary": "paper", "attack": "nearest", "verified_k": k},
        **{"risk": 0.8 * high, "risk_low": 0.6 * high, "risk_high": high},
        **{"rmse": rmse, "gain_kept": 10 * (1 - rmse), **changes},
    )


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
        (None, 2, "padded, k = 2"),  # k-coRating shares sets of items, which is no k of people
        (None, 5, "simple, k = 5"),
        (None, 6, "padded, k = 50"),
        (0.15, 5, "padded, k = 5"),
        (None, 51, None),
    ],
)
def test_the_best_of_the_safe_ones(max_risk, min_k, expected):
    choice = cheapest(TABLE, max_risk, min_k)
    assert (choice.row and choice.row.title) == expected
    assert (expected or "no setting that was tried will do") in choice.sentence


def test_no_answer_names_the_safest():
    (caveat,) = cheapest(TABLE, 0.01).caveats
    assert "“padded, k = 50”: 1.6% of 900 people found (1.2% to 2%)" in caveat
    assert cheapest(TABLE[5:], 0.5).caveats == [
        "No setting that promises anything could be judged."
    ]


def test_a_measured_risk_is_not_called_proven():
    told = " ".join(cheapest(TABLE, 0.15).caveats)
    assert "9.6% of 900 people (7.2% to 12%)" in told
    assert "proven is at most 20%" in told and "k = 7 or more" in told  # 1/7 = 0.143
    proven = " ".join(cheapest(TABLE, 0.05).caveats)
    assert "proven is that no attack on this release alone finds more than 2%." in proven
    assert any("no promise" in caveat for caveat in cheapest(TABLE, 1.0).caveats)


def test_caveats_tell_what_else_is_given_away():
    row = made("simple", 5, "k-anonymity", 0.1, 0.92, lone_share=0.433, membership=0.99)
    row = row._replace(published_share=0.63)
    told = " ".join(cheapest([row._replace(membership_low=0.98)], 0.5).caveats)
    stand = "63% of all ratings stand in it exactly as they were given; 43% because nobody else in"
    assert stand in told
    assert "An adversary can nearly always tell who was in the data at all (AUC 0.99" in told
    row = row._replace(published_share=0.0, lone_share=0.0)
    row = row._replace(membership=0.57, membership_low=0.49, membership_high=0.64)
    unsure = " ".join(cheapest([row], 0.5).caveats)
    assert "exactly" not in unsure
    assert "did not tell who was in the data at all (AUC 0.57, 0.49 to 0.64;" in unsure
    assert "This test is a weak one" in unsure
    row = row._replace(membership=None)
    assert "AUC" not in " ".join(cheapest([row], 0.5).caveats)


def test_lists_are_told_with_who_makes_them():
    lists = {"ndcg": 0.14, "ndcg_kept": 0.77, "ranker": "kNN", "raw_ranker": "popularity"}
    told = " ".join(cheapest([TABLE[1]._replace(**lists)], 0.5).caveats)
    assert (
        "keep 77% of the nDCG that the raw data give (0.140 by “kNN”, raw by “popularity”)" in told
    )


def test_what_one_split_cannot_tell_apart():
    """Gains 0.9, 0.7 and 0.3; the best reaches down to 0.65, so that only 0.3 is worse for sure."""
    ends = {2: (0.65, 1.1), 5: (0.5, 0.8), 50: (0.2, 0.4)}
    rows = [row._replace(gain_low=ends[row.k][0], gain_high=ends[row.k][1]) for row in TABLE[:3]]
    choice = cheapest(rows, 0.5)
    assert choice.row.title == "padded, k = 2"
    assert choice.not_told_apart == ["padded, k = 5"]
    assert "on one split: 65% to 110% (95 %)" in choice.caveats[0]
    assert "Not told apart from it: “padded, k = 5”." in choice.caveats[0]
    touching = rows[1]._replace(gain_high=0.65)
    assert cheapest([rows[0], touching], 0.5).not_told_apart == ["padded, k = 5"]
    below = rows[1]._replace(gain_high=0.649)
    assert cheapest([rows[0], below], 0.5).not_told_apart == []
    unsafe = cheapest(rows, 0.15)  # what is not safe enough is not named
    assert (unsafe.row.k, unsafe.not_told_apart) == (5, [])
    assert cheapest([], 0.5).not_told_apart == []


def test_a_gain_without_an_interval_says_so():
    choice = cheapest(TABLE, 0.5)
    assert "has no interval" in choice.caveats[0] and choice.not_told_apart == []


def test_nothing_left_is_said_plainly():
    row = made("padded", 50, "k-anonymity", 0.02, 1.0)
    assert "nothing collaborative is left" in cheapest([row], 0.5).sentence


def test_without_a_gain_the_error_decides():
    rows = [row._replace(gain_kept=None) for row in TABLE]
    choice = cheapest(rows, 0.3)
    assert choice.row.title == "padded, k = 2"
    assert "RMSE 0.9100 (the raw data give no collaborative gain)" in choice.sentence


@pytest.mark.parametrize("looked", [0, 854])
def test_who_was_not_looked_for_is_safe_by_proof_alone(looked):
    """Of 900 people, 95 % are 855. Padded at 2 proves 50 %, at 50 it proves 2 %."""
    rows = [row._replace(most_attacked=looked) for row in TABLE]
    assert cheapest(rows, 0.51).row.title == "padded, k = 2"
    assert cheapest(rows, 0.19).row.title == "padded, k = 50"
    assert cheapest(rows, min_k=5).row.title == "simple, k = 5"
    choice = cheapest(rows, 0.019)
    assert choice.row is None and "No measured risk can be trusted" in choice.caveats[0]
    assert cheapest([TABLE[1]._replace(most_attacked=855)], 0.19).row is not None


def test_a_proof_outweighs_the_interval():
    """Measured 9.9 % with an interval up to 11.9 %, but 1/10 is proven."""
    row = made("padded", 10, "k-anonymity", 0.119, 0.95)
    assert cheapest([row], 0.1).row == row
    assert cheapest([row._replace(bound=None)], 0.1).row is None


def test_warnings():
    assert warnings_of(TABLE) == []
    assert warnings_of([]) == []
    weak = [TABLE[0], TABLE[5]._replace(risk=0.31)]
    assert "finds 31% of the people only" in warnings_of(weak)[0]
    alone = warnings_of([TABLE[0]._replace(most_attacked=600)])
    assert "add raw" in alone[0] and "more than 600 of 900 people" in alone[1]


def test_unfinished_and_unattacked_rows_are_never_chosen():
    failed = Row("padded", 2, "k-anonymity", "no room")
    unattacked = TABLE[0]._replace(risk=None, risk_low=None, risk_high=None)
    assert cheapest([failed, unattacked], 1.0).row is None
    assert frontier([failed, unattacked]) == []


def test_equal_settings_go_to_the_safer_then_the_larger_k():
    equal = made("padded", 9, "k-anonymity", 0.1, 0.93)
    safer = equal._replace(method="simple", risk_high=0.09)
    assert cheapest([equal, safer], 0.5).row == safer
    larger = equal._replace(k=10)
    assert cheapest([equal, larger], 0.5).row == larger


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
        shares,
    ),
    max_size=12,
)


@given(random_rows, shares)
def test_no_safe_setting_beats_the_answer(rows, limit):
    able = [row for row in rows if row.promise != "nothing"]
    safe = [row for row in able if min(row.risk_high, row.bound or 1) <= limit]
    choice = cheapest(rows, limit)
    assert (choice.row is None) == (not safe)
    assert choice.row is None or (choice.row in safe)
    assert choice.row is None or choice.row.rmse == min(row.rmse for row in safe)


@given(random_rows)
def test_the_frontier_is_what_nobody_dominates(rows):
    able = [row for row in rows if row.promise != "nothing"]

    def is_beaten(row):
        return any(
            (other.risk_high <= row.risk_high and other.rmse < row.rmse)
            or (other.risk_high < row.risk_high and other.rmse <= row.rmse)
            for other in able
        )

    values = {(row.risk_high, row.rmse) for row in frontier(rows)}
    assert values == {(row.risk_high, row.rmse) for row in able if not is_beaten(row)}


@pytest.mark.parametrize("limits", [(0, None), (1.1, None), (math.nan, None), (None, 1)])
def test_limits_that_make_no_sense(limits):
    with pytest.raises(RecveilError, match="expected"):
        cheapest(TABLE, *limits)
