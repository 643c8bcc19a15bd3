"""Terminal output is no wider than the terminal; other output has one sentence a line."""

import io
import sys

from recveil.report.terminal import echo


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_program_gets_a_sentence_a_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    echo("A sentence that has a few more words than a line of this terminal holds.")
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_names_and_commands_stay_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys, "stderr", Terminal())
    command = "  recveil anonymize ratings.csv --user who"
    echo(f"Wrote a-name-of-twenty-six-letters to it.\n{command}", err=True)
    result = sys.stderr.getvalue().splitlines()
    assert result == ["Wrote", "a-name-of-twenty-six-letters", "to it.", command]
