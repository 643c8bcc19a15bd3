import io
import re
import time

import pytest

from recveil import progress
from recveil.progress import busy, stages, track


class Terminal(io.StringIO):
    def isatty(self):
        return True


def open_terminal(monkeypatch):
    # Not a fixture: between set-up and test pytest puts its own stream in place.
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def shown(terminal):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def test_what_takes_less_than_a_minute_is_silent_elsewhere(capsys):
    assert list(track([1, 2], "Adding")) == [1, 2]
    with busy("Adding"):
        pass
    assert capsys.readouterr() == ("", "")


def test_how_much_of_how_much(monkeypatch):
    terminal = open_terminal(monkeypatch)
    assert list(track(iter([2_000, 3_000]), "Adding", 5_000, weigh=float)) == [2_000, 3_000]
    assert "Adding" in shown(terminal)
    assert "5,000 of 5,000" in shown(terminal)


def test_a_list_knows_its_length_and_bars_may_be_nested(monkeypatch):
    terminal = open_terminal(monkeypatch)
    pairs = [(a, b) for a in track("ab", "Outer") for b in track([1, 2, 3], "Inner")]
    assert len(pairs) == 6
    assert "3 of 3" in shown(terminal)
    assert "2 of 2" in shown(terminal)


def test_stages_of_a_work_are_shown(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with stages("Auditing", 2) as done:
        done()
        done()
    assert "2 of 2" in shown(terminal)


def test_busy_ends_with_the_work(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError), busy("Dividing"):
        1 / 0  # noqa: B018
    assert "Dividing" in shown(terminal)


class TestWithoutTerminal:
    """Lines come every tenth of a second here instead of every minute."""

    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch):
        monkeypatch.setattr(progress, "_EVERY", 0.1)

    def test_a_line_says_how_much_is_done_and_left(self, capsys):
        for _ in track(range(4), "Comparing settings"):
            time.sleep(0.15)
        first, *_, last = capsys.readouterr().err.splitlines()
        assert first.startswith("Comparing settings: less than a minute so far, nothing of 4")
        assert last.startswith("Comparing settings: 3 of 4 in less than a minute, about ")

    def test_a_long_step_does_not_keep_it_silent(self, capsys):
        with busy("Reading"):
            time.sleep(0.35)
        assert capsys.readouterr().err.splitlines() == ["Reading: less than a minute so far"] * 3

    def test_stages_of_a_work_are_counted(self, capsys):
        with stages("Auditing", 3) as done:
            for _ in track(range(2), "Attacking"):
                done()
            time.sleep(0.15)
        assert capsys.readouterr().err.startswith("Auditing: 2 of 3 in less than a minute, about ")

    def test_the_rest_of_unequal_stages_is_not_estimated_from_the_first(self, capsys):
        with stages("Auditing", 30) as done:
            done()
            time.sleep(0.15)
        assert capsys.readouterr().err == "Auditing: 1 of 30 in less than a minute\n"

    def test_only_the_outermost_loop_speaks(self, capsys):
        for _ in track(range(2), "Outer"):
            for _ in track(range(2), "Inner"):
                time.sleep(0.1)
        assert "Inner" not in capsys.readouterr().err

    def test_it_falls_silent_when_the_work_fails(self, capsys):
        with pytest.raises(ZeroDivisionError), busy("Dividing"):
            1 / 0  # noqa: B018
        time.sleep(0.15)
        assert capsys.readouterr().err == ""

    def test_a_loop_that_is_left_makes_room_for_the_next(self, capsys):
        for _ in track(range(9), "Left"):
            break
        with busy("Next"):
            time.sleep(0.15)
        assert "Next" in capsys.readouterr().err
