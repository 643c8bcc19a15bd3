"""Who only checks releases needs few libraries, and gets the same verdicts, to the byte."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize
from shared.verify_alone import LEFT_OUT, PROGRAM

STORED = Path(__file__).parent / "verification"

ROOT = Path(__file__).parents[1]


def run(lines, hidden=()):
    command = [sys.executable, "-c", PROGRAM, json.dumps([list(hidden), lines])]
    surroundings = os.environ | {"COLUMNS": "80", "PYTHONWARNINGS": "error"}
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def declared():
    """Return the names of the modules that an install brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[\w-]+", entry).group() for entry in project["dependencies"]}
    other = {"scikit-learn": "sklearn", "vl-convert-python": "vl_convert"}
    return {other.get(name, name) for name in names}


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Releases of every kind, some of them forged, and files of other programs."""
    folder = tmp_path_factory.mktemp("alone")
    releases = [STORED / "arrow_18", *sorted(STORED.glob("format_[14]/*"))]
    for number, path in enumerate(releases[::3]):
        forged = shutil.copytree(path, folder / f"forged-{number}")
        for file in forged.glob("ratings.*"):
            content = file.read_bytes()
            file.write_bytes(content[:-200] + bytes([content[-200] ^ 1]) + content[-199:])
        releases.append(forged)
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=1)
    likes = ratings.to_arrow().select(["user_id", "item_id"])
    diverse = {"k": 3, "method": "predictive", "b": 2, "l": 2, "homogenize": "simple"}
    anonymize(likes, folder / "likes", method="k-corating", k=3, seed=1)
    anonymize(ratings, folder / "diverse", **diverse, seed=1)
    releases += [folder / "likes", folder / "diverse"]
    write_ratings(ratings, folder / "plain.csv")
    write_ratings(ratings, folder / "plain.parquet")
    (folder / "odd.csv").write_bytes(b'user,item,rating\n1,7,"4"\r\n\n2,7,4\n3,"7",4\n3,8,1\n')
    plain = [
        ["verify", str(folder / "plain.csv"), "--k", "2", "--b", "3", "--l", "2"],
        ["verify", str(folder / "plain.parquet"), "--k", "2", "--claim", "co-rated"],
        ["verify", str(folder / "odd.csv"), "--k", "2"],
        ["verify", str(folder / "nothing.csv"), "--k", "2"],
        ["verify", str(folder / "diverse"), "--links"],
    ]
    return [["verify", str(path)] for path in releases] + plain


@pytest.fixture(scope="module")
def alone(lines):
    return run(lines, LEFT_OUT)


def test_what_it_takes_is_what_the_page_of_installing_names(alone):
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    (named,) = re.findall(r"pip install (numpy [a-z0-9 ]+)\n", page)
    # The last is asked where memory is limited (ulimit), before a verb begins.
    assert declared() & set(alone[1]) == set(named.split()) - {"threadpoolctl"}
    assert declared() - set(named.split()) <= set(LEFT_OUT)


def test_a_broken_compiler_is_no_missing_one():
    """Kernels would run for hours in its stead, without an explanation."""
    program = (
        "import sys\n"
        "class Broken:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'llvmlite':\n"
        "            raise ModuleNotFoundError('No module named llvmlite', name='llvmlite')\n"
        "sys.meta_path.insert(0, Broken())\n"
        "import numpy as np\n"
        "from recveil.runtime.compiled import pack_rows\n"
        "pack_rows(np.array([0, 1]), np.array([0]), 1)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "No module named llvmlite" in done.stderr
