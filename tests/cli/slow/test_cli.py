"""The command line as its user meets it: arguments in, exit code and two streams out."""

import json
from pathlib import Path

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


def test_demo_leaves_a_release(run):
    code, out, _ = run("demo", "--json", "demo.json")
    assert code == 0
    assert "2,000" in out
    # The README shows what the command prints.
    readme = (Path(__file__).parents[3] / "README.md").read_text()
    for line in out.splitlines():
        if line.startswith(("│", "143")):
            assert line.rstrip() in readme
    for folder in ("recveil-demo", "recveil-demo-drawn"):
        assert run("verify", folder)[0] == 0
    code, _, err = run("demo")
    assert code == 2
    assert "--force" in err
    result = json.loads(Path("demo.json").read_text())
    assert 0.9 < result["unique_before"] < 1
    assert result["targets"] == 2000
    assert result["verification"]["k_achieved"] == 5
    assert result["drawn"]["verification"]["epsilon"] == 3
    assert result["membership"]["auc"]["rate"] > 0.9 > result["drawn"]["most_auc"]
