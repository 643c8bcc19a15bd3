"""The figures of docs/explanation/differential-privacy.md are those of the code."""

import math
import re
from pathlib import Path

import pytest
from scipy.special import ndtr, ndtri

from recveil.methods.synthetic.sum_queries import FEW, SHARES, SHARES_OF_LIKES
from recveil.methods.synthetic.synthesizer import Budget
from recveil.release.claim import Claim, bounds_of
from recveil.release.ledger import Ledger, Query, epsilon_of
from recveil.release.synthetic_form import COUNT_SHARE, COUNT_SHARE_OF_FEW

PAGE = (Path(__file__).parents[3] / "docs" / "explanation" / "differential-privacy.md").read_text(
    encoding="utf-8"
)
SENTENCES = " ".join(PAGE.split())
ROW = re.compile(
    r"^\| ([\d.]+) \| (any|[\d.,]+)(?: : 1)? \| ([\d.]+) \| ([\d.]+)% \| ([\d.]+) \|$", re.M
)
ROWS = [row.groups() for row in ROW.finditer(PAGE)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"epsilon {row[0]}")
def test_what_an_epsilon_means(row):
    epsilon, odds, area, found, of_two = row
    mu = Budget.of(float(epsilon), 1e-6).mu
    assert f"{ndtr(mu / math.sqrt(2)):.3f}" == area
    assert f"{100 * ndtr(mu + ndtri(0.01)):.1f}" == found
    assert f"{ndtr(mu):.3f}" == of_two
    if odds != "any":
        assert float(odds.replace(",", "")) == pytest.approx(math.exp(float(epsilon)), rel=0.05)


def test_the_table_is_there():
    assert [row[0] for row in ROWS] == ["0.5", "1", "3", "5", "10", "20", "50"]


def test_what_canaries_were_promised():
    promised = Ledger((Query("moments", "which items", 1.0, 1.0, 1),)).epsilon(0.05)
    assert f"epsilon {promised:.2f} at delta 0.05" in " ".join(PAGE.split())


def test_the_shares_of_the_budget_of_likes():
    rows = re.findall(r"^\| likes: `([a-z ]+)` \| ([\d.]+)% \|", PAGE, re.M)
    assert {name: float(share) for name, share in rows} == pytest.approx(
        {name: 100 * share for name, share in SHARES_OF_LIKES.items()}
    )


def test_the_shares_of_the_budget():
    rows = re.findall(r"^\| `([a-z ]+)` \| ([\d.]+)% \|", PAGE, re.M)
    assert {name: float(share) for name, share in rows} == pytest.approx(
        {name: 100 * share for name, share in SHARES.items()}
    )


def test_the_shares_if_users_are_few():
    assert f"times mu is below {FEW:g}" in SENTENCES
    for share in COUNT_SHARE, COUNT_SHARE_OF_FEW:
        assert f"c² = {share:g}, s² = {1 - share:g}" in SENTENCES


def test_how_likely_odds_move_further():
    likely = {}
    for epsilon in (1.0, 10.0):
        mu = Budget.of(epsilon, 1e-6).mu
        likely[epsilon] = float(ndtr(mu / 2 - epsilon / mu))
        ledger = Ledger((Query("sums", "of items", 1.0, 1 / mu, 9),))
        claim = Claim("differentially-private", 1, False, 1, 1, epsilon, 1e-6, ledger)
        at_most = bounds_of(claim)["odds_exceeded"]
        assert likely[epsilon] < at_most
        assert f"{at_most / 1e-6:.0f} times" in SENTENCES
    assert f"{likely[1.0] / 1e-6:.0f} times delta at epsilon 1 and delta 10<sup>" in SENTENCES
    assert f"</sup>, {likely[10.0] / 1e-6:.1f} times at 10" in SENTENCES


def test_what_four_releases_keep():
    mu = 2 * Budget.of(3.0, 1e-6).mu
    four = f"10<sup>\N{MINUS SIGN}6</sup> have epsilon {epsilon_of(mu, 1e-6):.2f}"
    assert f"four of epsilon 3 with delta {four}" in SENTENCES


def test_what_tries_cost_that_noise_refused():
    before_items = ("users by user count", "rating levels", "user means", "item sums")
    few, items = SHARES["users by user count"], sum(SHARES[name] for name in before_items)
    mu = Budget.of(3.0, 1e-6).mu
    until = [f"{3 + epsilon_of(mu * math.sqrt(share), 1e-6):.2f}" for share in (few, items)]
    assert f"(at epsilon 3: {until[0]} or {until[1]})" in SENTENCES
    assert f"{100 * items:.1f}% (" in SENTENCES
    of_likes = SHARES_OF_LIKES["users by user count"] + SHARES_OF_LIKES["item sums"]
    assert f"({100 * of_likes:.0f}% of likes)" in SENTENCES
