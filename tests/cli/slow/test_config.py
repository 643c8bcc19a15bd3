"""Options from a file: what it may hold, what wins, and that it is said."""

import json

from shared.cli_config import (
    put,
    run,  # noqa: F401 (fixtures)
)


class TestTaken:
    def test_what_is_typed_wins_and_is_not_said(self, run, tmp_path):
        put(tmp_path, '[anonymize]\nk = 4\nlayout = "users"\n')
        code, _, err = run(
            *("anonymize", "ratings.csv", "-o", "out", "--k", 6, "--config", "recveil.toml")
        )
        assert code == 0
        assert (
            err.splitlines()[0]
            == 'recveil.toml sets layout = "users"; typed options take precedence.'
        )
        assert json.loads((tmp_path / "out/release.json").read_text())["k"] == 6
