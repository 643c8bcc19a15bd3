"""Output is no wider than the terminal, or 80 columns; an error of a program has one line."""

import io
import sys

from recveil.report.terminal import echo


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_program_gets_a_sentence_a_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    sentence = "A sentence that has a few more words than a line of this terminal holds."
    echo(sentence, err=True)
    assert len(capsys.readouterr().err.splitlines()) == 1
    echo(sentence)
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_without_a_terminal_it_is_eighty_columns_wide(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr(sys, "__stdout__", io.StringIO())
    echo("word " * 40)
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), max(map(len, lines))) == (3, 79)


def test_names_and_commands_stay_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys, "stderr", Terminal())
    command = "  recveil anonymize ratings.csv --user who"
    echo(f"Wrote a-name-of-twenty-six-letters to it.\n{command}", err=True)
    result = sys.stderr.getvalue().splitlines()
    assert result == ["Wrote", "a-name-of-twenty-six-letters", "to it.", command]
