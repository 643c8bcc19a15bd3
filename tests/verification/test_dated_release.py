"""Forged dates, which recveil and the second checker both find."""

import hashlib
import json
import shutil
import struct
from datetime import date

import forging
import independent
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.verification import verify

DATE = 3


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dated") / "out"
    ratings = make_ratings(n_users=60, n_items=24, n_ratings=700, seed=2)
    anonymize(ratings, folder, k=3, seed=1, dates="quarter", file_format="csv")
    return folder


@pytest.fixture
def copied(release, tmp_path):
    shutil.copytree(release, tmp_path / "out")
    return tmp_path / "out"


def problems(folder):
    """Return what recveil finds, after both checkers found something."""
    found = verify(folder)
    assert not found.holds
    assert list(independent.problems(folder))
    return [violation.problem for violation in found.violations]


def test_both_checkers_accept_it(release):
    assert verify(release).holds
    assert list(independent.problems(release)) == []


def move(rows, day):
    """Give the first value of one user another date."""
    assert rows[0][DATE] != day
    rows[0][DATE] = day


def test_one_users_date_is_another_quarter(copied):
    """All else is made to fit: the classes, counts and digests."""
    forging.forge_rows(copied, lambda rows: move(rows, "1990-04-01"))
    forging.complete(copied, "ratings.csv")
    assert len(problems(copied)) == 3
    assert verify(copied).k_achieved == 1


def test_a_date_within_a_quarter_for_all(copied):
    """A secret in the day of all rows separates no users, but is not of the precision."""

    def change(rows):
        day = rows[0][DATE]
        for row in rows:
            if row[DATE] == day:
                row[DATE] = f"{day[:-1]}2"

    forging.forge_rows(copied, change)
    forging.complete(copied, "ratings.csv")
    assert {problem for problem in problems(copied) if "date" in problem} == {
        "its date is not the first day of a quarter"
    }


@pytest.mark.parametrize("text", ["2004-1-01", "20040101", "2004-01-01 ", "2004"])
def test_a_date_in_another_notation(copied, text):
    forging.forge_rows(copied, lambda rows: move(rows, text))
    assert list(independent.problems(copied))
    with raises("release.damaged", "ratings.csv"):
        verify(copied)


def test_a_date_in_quotes(copied):
    forging.forge_rows(copied, lambda rows: move(rows, f'"{rows[0][DATE]}"'))
    assert problems(copied)


@pytest.mark.parametrize("change", [lambda at: at + 1, lambda at: 2 * at])
def test_an_order_that_does_not_count_from_the_first_day(tmp_path, change):
    """A date in 1970 is a position, so that a gap may hide one that was not published."""
    folder = tmp_path / "out"
    ratings = make_ratings(n_users=60, n_items=24, n_ratings=700, seed=2)
    anonymize(ratings, folder, k=3, seed=1, dates="order", file_format="csv")
    assert list(independent.problems(folder)) == []

    def changed(rows):
        for row in rows:
            at = date.fromisoformat(row[DATE]).toordinal() - date(1970, 1, 1).toordinal()
            row[DATE] = date.fromordinal(date(1970, 1, 1).toordinal() + change(at)).isoformat()

    forging.forge_rows(folder, changed)
    forging.complete(folder, "ratings.csv")
    assert "its date is not the next position of its record, from 1970-01-01 on" in problems(folder)


def change_settings(copied, change):
    def changed(result):
        change(result["settings"], result)

    forging.forge(copied, changed)


@pytest.mark.parametrize("period", ["month", "week", "year", "day", 7, None])
def test_another_period(copied, period):
    """Quarters begin with months, so that only the card of another release could say months."""
    change_settings(copied, lambda settings, _: settings.update(dates=period))
    if period == "month":
        assert verify(copied).holds
        assert list(independent.problems(copied)) == []
    else:
        assert problems(copied)


def test_dates_that_the_settings_do_not_state(copied):
    change_settings(copied, lambda settings, _: settings.pop("dates"))
    assert problems(copied)
    change_settings(copied, lambda _, result: result.update(format="recveil-release-9"))
    assert problems(copied)


def test_dates_in_an_earlier_format(copied):
    change_settings(copied, lambda _, result: result.update(format="recveil-release-9"))
    assert problems(copied)


def test_the_digest_of_a_record_with_dates(release):
    """As docs/reference/release-format.md says."""

    def blake(content):
        return hashlib.blake2b(content, digest_size=16)

    rows = [line.split(",") for line in (release / "ratings.csv").read_text().splitlines()[1:]]
    own = [row for row in rows if row[0] == rows[0][0]]
    content = blake(b"".join(blake(row[1].encode()).digest() for row in own)).digest()
    content += b"".join(struct.pack("<d", float(row[2])) for row in own)
    days = [(date.fromisoformat(row[DATE]) - date(1970, 1, 1)).days for row in own]
    content += struct.pack(f"<{len(days)}i", *days)
    assert blake(content).hexdigest() in (release / "classes.csv").read_text()
    assert json.loads((release / "release.json").read_text())["settings"]["dates"] == "quarter"
