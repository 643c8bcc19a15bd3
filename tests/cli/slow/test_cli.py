"""The command line as its user meets it: arguments in, exit code and two streams out."""

import json
from pathlib import Path

from shared.cli_cli import run  # noqa: F401 (fixtures)


def test_demo_leaves_a_release(run):
    code, out, _ = run("demo", "--json", "demo.json")
    assert code == 0
    assert "2,000" in out
    for folder in ("recveil-demo", "recveil-demo-synthetic"):
        assert run("verify", folder)[0] == 0
    code, _, err = run("demo")
    assert code == 2
    assert "--force" in err
    result = json.loads(Path("demo.json").read_text())
    assert 0.9 < result["unique_before"] < 1
    assert result["targets"] == 2000
    assert result["verification"]["k_achieved"] == 5
    assert result["synthetic"]["verification"]["epsilon"] == 3
    assert result["membership"]["auc"]["rate"] > 0.75 > result["synthetic"]["auc_bound"]
