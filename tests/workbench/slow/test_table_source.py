"""A table that changed since it was looked at is not taken for what it was."""

from pathlib import Path

import pytest

from recveil.workbench import table_source


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
        assert "The table has changed since it was inspected" in browser.get(f"/{room}").text
    n_jobs = len(browser.bench.project.jobs())
    make = {"method": "padded", "k": "4", "name": "first", "file_format": "csv"}
    compare = {"method-padded": "on", "ks": "5"}
    for place, form in (("risk/start", {}), ("choose/start", compare), ("release/make", make)):
        answer = browser.send(f"/{place}", **form)
        assert answer.status_code == 400
        assert "inspect it again" in answer.text
    assert len(browser.bench.project.jobs()) == n_jobs


def test_after_another_inspection_nothing_old_is_reported(named, small_table):
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
    assert "made from another state or reading of the table" in browser.get("/release").text


def test_a_file_that_is_gone_is_reported(named):
    browser, file = named
    file.unlink()
    assert "or is gone" in browser.get("/risk").text


def test_a_table_to_which_too_much_came_has_changed(named, monkeypatch, tmp_path, small_table):
    browser, _ = named
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.csv").write_bytes(small_table)
    browser.send("/data/name", place=str(tmp_path / "parts"))
    browser.wait("data", "risk")
    assert "has changed since" not in browser.get("/risk").text
    monkeypatch.setattr(table_source, "_MOST_ENTRIES", 0)
    assert "has changed since" in browser.get("/risk").text


def test_the_same_bytes_dropped_again_are_the_same_table(browser, quick, small_table):
    browser.drop("t.csv", small_table)
    browser.wait("data", "risk")
    (table,) = browser.bench.project.inputs()
    before = table_source.state_of_table(table)
    made = browser.bench.project.begin_job("release", "release", {"state": before}, "", table.id)
    browser.drop("t.csv", small_table)
    browser.wait("data", "risk")
    assert browser.bench.project.inputs() == [table]
    assert table_source.is_current(browser.bench.project, table, made)
    assert "has changed since" not in browser.get("/data").text
    browser.bench.project.end_job(made.id, "done")
    copy = Path(table.place)
    copy.write_bytes(small_table + b"new,1,3\n")
    assert "has changed since" in browser.get("/data").text, "somebody changed the copy"
    copy.unlink()
    assert "has changed since" in browser.get("/data").text
