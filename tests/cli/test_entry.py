"""The app is built when the command line is called."""

import pytest

from recveil.cli import entry
from recveil.cli.entry import Verb
from recveil.datasets import make_ratings
from recveil.io import write_ratings


def test_what_is_registered_after_the_import_can_be_called(monkeypatch, capsys):
    def wave(name: str) -> None:
        """Wave."""
        print(f"waves at {name}")

    monkeypatch.setattr(entry, "VERBS", (*entry.VERBS, Verb(wave, reads_tables=False)))
    with pytest.raises(SystemExit) as stop:
        entry.main(["wave", "Ann"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == "waves at Ann\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "{table}", "copy.csv"),
        ("anonymize", "{table}", "-o", "out", "--k", "3"),
        ("generate", "new.csv"),
        ("config", "new.toml"),
        ("audit", "{table}", "--json", "found.json"),
    ],
)
def test_a_current_folder_that_is_gone_is_said(tmp_path, monkeypatch, capsys, arguments):
    write_ratings(make_ratings(n_users=20, n_items=10, n_ratings=100, seed=1), tmp_path / "t.csv")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    with pytest.raises(SystemExit) as stop:
        entry.main([each.format(table=tmp_path / "t.csv") for each in arguments])
    result = capsys.readouterr().err
    assert stop.value.code == 2
    assert result.startswith("error: the current folder was removed")
