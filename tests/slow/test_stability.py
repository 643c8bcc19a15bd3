"""What version 2.0 offers, every later 2.x offers, too: docs/reference/stability.md.

tests/stable_2.json says what that is. Nothing may vanish from what is offered; new things may come,
if no caller has to pass anything new. `python tests/test_stability.py` prints what is offered now.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from shared.stability import LINES, keys_of, names_offered, options_offered, prepare, run

ROOT = Path(__file__).parents[2]

STABLE = json.loads((ROOT / "tests" / "stable_2.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    with contextlib.chdir(tmp_path_factory.mktemp("stability")):
        prepare()
        yield


@pytest.mark.usefixtures("here", "few_recommenders")
@pytest.mark.parametrize("verb", STABLE["json"])
def test_every_key_of_the_json_is_still_there(verb):
    assert set(STABLE["json"][verb]) <= set(keys_of(json.loads(run(LINES[verb]))))


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    os.environ["RECVEIL_LEDGER"] = "ledger.sqlite3"
    with contextlib.redirect_stderr(io.StringIO()):
        prepare()
        result = {verb: keys_of(json.loads(run(line))) for verb, line in LINES.items()}
    offered = {"options": options_offered(), "names": names_offered(), "json": result}
    json.dump(offered, sys.stdout, indent=1)
