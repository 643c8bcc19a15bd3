"""The figures of docs/differential-privacy.md are those of the code."""

import math
import re
from pathlib import Path

import pytest
from scipy.special import ndtr, ndtri

from recveil.anonymize.synthetic.budget import Budget
from recveil.anonymize.synthetic.choice_sums import SHARES_OF_LIKES
from recveil.anonymize.synthetic.noisy_sums import SHARES
from recveil.release.ledger import Ledger, Query, epsilon_of

PAGE = (Path(__file__).parents[3] / "docs" / "differential-privacy.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([\d.]+) \| (any|[\d.,]+)(?: : 1)? \| ([\d.]+) \| ([\d.]+) % \|$", re.M)
ROWS = [row.groups() for row in ROW.finditer(PAGE)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"epsilon {row[0]}")
def test_what_an_epsilon_means(row):
    epsilon, odds, area, found = row
    mu = Budget.of(float(epsilon), 1e-6).mu
    assert f"{ndtr(mu / math.sqrt(2)):.3f}" == area
    assert f"{100 * ndtr(mu + ndtri(0.01)):.1f}" == found
    if odds != "any":
        assert float(odds.replace(",", "")) == pytest.approx(math.exp(float(epsilon)), rel=0.05)


def test_the_table_is_there():
    assert [row[0] for row in ROWS] == ["0.5", "1", "3", "5", "10", "20", "50"]


def test_what_canaries_were_promised():
    promised = Ledger((Query("moments", "which items", 1.0, 1.0, 1),)).epsilon(0.05)
    assert f"epsilon {promised:.2f} at delta 0.05" in " ".join(PAGE.split())


def test_what_canaries_of_all_queries_were_promised():
    assert f"mu 2, epsilon {epsilon_of(2.0, 0.05):.2f} at delta 0.05" in " ".join(PAGE.split())


def test_the_shares_of_the_budget_of_likes():
    rows = re.findall(r"^\| likes: `([a-z ]+)` \| ([\d.]+) % \|", PAGE, re.M)
    assert {name: float(share) for name, share in rows} == pytest.approx(
        {name: 100 * share for name, share in SHARES_OF_LIKES.items()}
    )


def test_the_shares_of_the_budget():
    rows = re.findall(r"^\| `([a-z ]+)` \| ([\d.]+) % \|", PAGE, re.M)
    assert {name: float(share) for name, share in rows} == pytest.approx(
        {name: 100 * share for name, share in SHARES.items()}
    )
