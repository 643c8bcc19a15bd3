"""A change of several steps is there whole, or not at all."""

import sqlite3
from contextlib import closing

import pytest

from error_assertions import raises
from recveil.workbench.project import Store


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "project.sqlite")
    yield store
    store.close()


def keep(run, key):
    run("INSERT INTO kept (key, value) VALUES (?, '')", (key,))


def keep_both(store, *keys):
    with store.changing() as run:
        keep(run, keys[0])
        with store.changing() as within:
            keep(within, keys[1])


def fail_after(store, *keys):
    with store.changing():
        keep_both(store, *keys)
        raise ZeroDivisionError


def kept_in(store):
    return [key for (key,) in store.rows("SELECT key FROM kept ORDER BY key")]


def test_all_steps_or_none(store):
    keep_both(store, "a", "b")
    with pytest.raises(ZeroDivisionError):
        fail_after(store, "c", "d")
    assert kept_in(store) == ["a", "b"]
    keep_both(store, "e", "f")
    assert kept_in(store) == ["a", "b", "e", "f"]


def test_what_cannot_be_written_is_reported_and_undone(store):
    with raises("output.not-writable"):
        keep_both(store, "a", "a")
    assert kept_in(store) == []


def test_it_says_whether_it_is_new(store, tmp_path):
    assert store.is_new
    again = Store(tmp_path / "project.sqlite")
    assert not again.is_new
    again.close()


def test_no_other_process_sees_half_of_it(store, tmp_path):
    with store.changing() as run, closing(sqlite3.connect(tmp_path / "project.sqlite")) as other:
        keep(run, "a")
        assert other.execute("SELECT key FROM kept").fetchall() == []
