"""A table that changed since it was looked at is not taken for what it was."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from recveil.workbench import table_source
from recveil.workbench.table_source import state_of


@pytest.fixture
def named(browser, quick, small_table, tmp_path):
    file = tmp_path / "shop.csv"
    file.write_bytes(small_table)
    browser.send("/data/name", place=str(file))
    browser.wait("data", "risk")
    return browser, file


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
    monkeypatch.setattr(table_source, "_MOST_ENTRIES", 10)
    for number in range(6):
        (tmp_path / "big" / f"{number}").mkdir(parents=True)
        (tmp_path / "big" / f"{number}" / "a.csv").write_text("1,2,3")
    (tmp_path / "big" / "loop").symlink_to(tmp_path / "big")
    for place in ("", "**/*.csv", "*/*.csv", "*/*/*/*/*"):
        answer = browser.send("/data/name", place=str(tmp_path / "big" / place))
        assert answer.status_code == 400, place
        assert "more than 10 files and folders there" in answer.text
    assert browser.bench.project.inputs() == []
    assert state_of(str(tmp_path / "big" / "*" / "a.csv")), "one level is looked at"


def test_others_are_answered_while_a_disk_is_slow(named, monkeypatch):
    browser, _ = named
    is_asked, go_on = threading.Event(), threading.Event()

    def slow(_):
        is_asked.set()
        assert go_on.wait(60)
        return ""

    monkeypatch.setattr(table_source, "state_of", slow)
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
