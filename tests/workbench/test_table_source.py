"""A table that changed since it was looked at is not taken for what it was."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recveil.workbench import table_source as seen
from recveil.workbench.table_source import state_of


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


def test_what_would_take_minutes_on_each_page_is_refused(browser, quick, tmp_path, monkeypatch):
    """A home folder of 238,440 files once froze the workbench for all who asked."""
    monkeypatch.setattr(seen, "_MOST_SEEN", 10)
    for number in range(6):
        (tmp_path / "big" / f"{number}").mkdir(parents=True)
        (tmp_path / "big" / f"{number}" / "a.csv").write_text("1,2,3")
    (tmp_path / "big" / "loop").symlink_to(tmp_path / "big")
    for place in ("", "**/*.csv", "*/*.csv", "*/*/*/*/*"):
        answer = browser.send("/data/name", place=str(tmp_path / "big" / place))
        assert answer.status_code == 400, place
        assert "more than 10 files and folders lie there" in answer.text
    assert browser.bench.project.inputs() == []
    assert state_of(str(tmp_path / "big" / "*" / "a.csv")), "one level is looked at"


def test_a_table_to_which_too_much_came_has_changed(named, monkeypatch, tmp_path, small_table):
    browser, _ = named
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.csv").write_bytes(small_table)
    browser.send("/data/name", place=str(tmp_path / "parts"))
    browser.wait("data", "risk")
    assert "has changed since" not in browser.get("/risk").text
    monkeypatch.setattr(seen, "_MOST_SEEN", 0)
    assert "has changed since" in browser.get("/risk").text


def test_others_are_answered_while_a_disk_is_slow(named, monkeypatch):
    browser, _ = named
    is_asked, go_on = threading.Event(), threading.Event()

    def slow(_):
        is_asked.set()
        assert go_on.wait(60)
        return ""

    monkeypatch.setattr(seen, "state_of", slow)
    job = browser.bench.project.jobs()[0].id
    with browser.client, ThreadPoolExecutor(1) as others:
        page = others.submit(browser.get, "/risk")
        assert is_asked.wait(60)
        assert browser.get(f"/jobs/{job}/progress").status_code in (200, 286)
        assert not page.done()
        go_on.set()
        assert page.result().status_code == 200


def test_patterns_that_name_no_files(tmp_path):
    for place in ("a**b", "nothing/*.csv", "[a"):
        assert state_of(str(tmp_path / place)) == ""


def test_the_same_bytes_dropped_again_are_the_same_table(browser, quick, small_table):
    browser.drop("t.csv", small_table)
    browser.wait("data", "risk")
    (table,) = browser.bench.project.inputs()
    before = seen.state_of_table(table)
    made = browser.bench.project.begin_job("release", "release", {"seen": before}, "", table.id)
    browser.drop("t.csv", small_table)
    browser.wait("data", "risk")
    assert browser.bench.project.inputs() == [table]
    assert seen.is_of_it(browser.bench.project, table, made)
    assert "has changed since" not in browser.get("/data").text
    browser.bench.project.end_job(made.id, "done")
    copy = Path(table.place)
    copy.write_bytes(small_table + b"new,1,3\n")
    assert "has changed since" in browser.get("/data").text, "somebody changed the copy"
    copy.unlink()
    assert "has changed since" in browser.get("/data").text
