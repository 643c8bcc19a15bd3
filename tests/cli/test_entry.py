"""The app is built when the command line is called."""

import pytest

from recveil.cli import entry


def test_what_is_registered_after_the_import_can_be_called(monkeypatch, capsys):
    def wave(name: str) -> None:
        """Wave."""
        print(f"waves at {name}")

    monkeypatch.setattr(entry, "VERBS", (*entry.VERBS, wave))
    with pytest.raises(SystemExit) as stop:
        entry.main(["wave", "Ann"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == "waves at Ann\n"
