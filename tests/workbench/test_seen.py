"""A table that changed since it was looked at is not taken for what it was."""

import os

import pytest

from recveil.workbench.seen import state_of


@pytest.fixture
def named(browser, quick, small_table, tmp_path):
    file = tmp_path / "shop.csv"
    file.write_bytes(small_table)
    browser.send("/data/name", place=str(file))
    browser.wait("data", "risk")
    return browser, file


def test_every_room_says_so_and_begins_nothing(named, small_table):
    browser, file = named
    assert "has changed" not in browser.get("/risk").text
    file.write_bytes(small_table + b"new,1,3\n")
    for room in ("data", "risk", "choose", "release", "check", "log"):
        assert "The table has changed since it was looked at" in browser.get(f"/{room}").text
    n_jobs = len(browser.bench.project.jobs())
    make = {"method": "padded", "k": "4", "name": "first", "file_format": "csv"}
    compare = {"method-padded": "on", "ks": "5"}
    for place, form in (("risk/start", {}), ("choose/start", compare), ("release/make", make)):
        answer = browser.send(f"/{place}", **form)
        assert answer.status_code == 400
        assert "look at it again" in answer.text
    assert len(browser.bench.project.jobs()) == n_jobs


def test_when_it_is_looked_at_again_nothing_old_is_told(named, small_table):
    browser, file = named
    browser.send("/release/make", method="padded", k="4", name="first", file_format="csv")
    browser.wait("release")
    (before,) = (browser.bench.project.last_job("risk"),)
    file.write_bytes(small_table + b"new,1,3\n")
    browser.send("/data/again")
    browser.wait("data", "risk")
    assert "<dd>81</dd>" in browser.get("/data").text
    assert browser.bench.project.last_job("risk").id > before.id
    assert "has changed since it was" not in browser.get("/risk").text
    assert "was made of the table as it was then" in browser.get("/release").text


def test_a_file_that_is_gone_is_told(named):
    browser, file = named
    file.unlink()
    assert "or gone" in browser.get("/risk").text


def test_the_state_is_that_of_all_parts_and_of_logs(tmp_path):
    for part in ("a.csv", "b.csv"):
        (tmp_path / part).write_text("1,2,3")
    places = [str(tmp_path), str(tmp_path / "*.csv"), f"sqlite:///{tmp_path}/a.csv"]
    before = list(map(state_of, places))
    assert all(before)
    assert before == list(map(state_of, places))
    os.utime(tmp_path / "b.csv", (1, 1))
    (tmp_path / "a.csv-wal").write_text("x")
    assert all(old != new for old, new in zip(before, map(state_of, places), strict=True))
