"""What the fast and the slow tests of `test_cli.py` share."""

import pytest

from recveil.cli import main


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder; return exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        streams = capsys.readouterr()
        return stop.value.code or 0, streams.out, streams.err

    return run
