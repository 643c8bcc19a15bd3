"""Errors are short, whatever they quote."""

import json

import pytest

from recveil.cli import main
from recveil.runtime.errors import MOST_CHARACTERS, RecveilError


def test_the_remedy_stays_at_the_end_of_a_long_message():
    error = RecveilError("ratings.csv: " + "columns of a table, " * 99 + "; rename one with --user")
    assert len(str(error)) == MOST_CHARACTERS
    assert str(error).startswith("ratings.csv: columns")
    assert str(error).endswith("; rename one with --user")


def test_the_command_line_caps_every_error(tmp_path, capsys, monkeypatch):
    (tmp_path / "ratings.json").write_text(
        json.dumps([{"user": n, "item": n, "note": n} for n in range(9**5)])
    )
    with pytest.raises(SystemExit) as stop:
        main(["audit", str(tmp_path / "ratings.json")])
    message = capsys.readouterr().err
    assert stop.value.code == 2
    assert message.startswith("error: ratings.json: no rating column among 'user', 'item'")
    assert len(message) < 310

    def fail(*_, **__):
        raise RuntimeError("data " * 10_000)

    monkeypatch.setattr("recveil.auditing.audit", fail)
    with pytest.raises(SystemExit):
        main(["audit", "ratings.csv"])
    message = capsys.readouterr().err
    assert "this is a bug in recveil, please report it" in message
    assert len(message) < 310
