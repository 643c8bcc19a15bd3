"""What version 2.0 offers, every later 2.x offers, too: docs/reference/stability.md.

tests/stable_2.json says what that is. Nothing may vanish from what is offered; new things may come,
if no caller has to pass anything new. `python tests/test_stability.py` prints what is offered now.
"""

import contextlib
import importlib
import inspect
import io
import json
import os
import sys
import tempfile
from pathlib import Path

from shared.stability import LINES, PACKAGES, keys_of, names_offered, options_offered, prepare, run

ROOT = Path(__file__).parents[1]

STABLE = json.loads((ROOT / "tests" / "stable_2.json").read_text("utf-8"))


def test_every_verb_and_option_is_still_there():
    offered = options_offered()
    gone = [
        f"{verb} {name}"
        for verb, names in STABLE["options"].items()
        for name in names
        if name not in offered.get(verb, ())
    ]
    assert gone == []
    assert set(STABLE["options"]) - set(offered) == set()


def test_every_name_is_still_there_and_takes_what_it_took():
    found, offered = [], names_offered()
    for package, names in STABLE["names"].items():
        module = importlib.import_module(package)
        for name, parameters in names.items():
            now = offered[package].get(name)
            if now is None or set(parameters) - set(now):
                found.append(f"{package}.{name}: gone, or does not take what it took")
                continue
            thing = getattr(module, name)
            # Users do not construct results.
            is_result = isinstance(thing, type) and issubclass(thing, tuple)
            for new in set(now) - set(parameters) if not is_result else ():
                each = inspect.signature(thing).parameters.get(new)  # None among **reading
                if each is not None and each.default is each.empty:
                    found.append(f"{package}.{name} asks for {new}, which nobody gives")
    assert found == []


def test_the_page_names_what_is_kept():
    page = (ROOT / "docs" / "reference" / "stability.md").read_text("utf-8")
    for package in PACKAGES:
        assert f"`{package}`" in page
    for verb in STABLE["options"]:
        assert f"`{verb}`" in page or verb == "workbench"


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    os.environ["RECVEIL_LEDGER"] = "ledger.sqlite3"
    with contextlib.redirect_stderr(io.StringIO()):
        prepare()
        result = {verb: keys_of(json.loads(run(line))) for verb, line in LINES.items()}
    offered = {"options": options_offered(), "names": names_offered(), "json": result}
    json.dump(offered, sys.stdout, indent=1)
