import io
import re

import pytest

from recveil.progress import busy, track


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


def test_nothing_is_shown_elsewhere(capsys):
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


def test_busy_ends_with_the_work(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError), busy("Dividing"):
        1 / 0  # noqa: B018
    assert "Dividing" in shown(terminal)
