"""No data become code: no pickle, no eval, no shell, and the network where it is asked for."""

import ast
import re
from pathlib import Path

import pytest

import recveil

SOURCE = Path(recveil.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
# What runs what it reads, or hands words to a shell.
MODULES = {
    *("pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "code"),
    *("codeop", "commands", "pty", "xmlrpc", "ctypes"),
}
CALLS = {
    *("eval", "exec", "compile", "__import__", "input", "breakpoint"),
    *(
        "os.system",
        "os.popen",
        "os.startfile",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
    ),
    "pa.fs.FileSystem.from_uri",
    *("tempfile.mktemp", "np.fromregex", "pd.eval", "pd.read_pickle", "pa.deserialize"),
}
NETWORK = {"socket", "urllib", "http", "requests", "httpx", "ftplib", "smtplib", "pooch", "aiohttp"}
NETWORK |= {"adbc_driver_postgresql"}
# Those that go where they are told to; and the one that asks what this machine is called.
MAY_USE_NETWORK = {
    "blas.py": {"ctypes"},  # asks the library that is loaded for its working space
    "datasets/movielens.py": {"pooch"},
    "verify/private_values.py": {"socket"},
    "databases/postgresql.py": {"adbc_driver_postgresql"},
    "workbench/peers.py": {"socket"},  # writes addresses as the system's list does
    "workbench/serving.py": {"socket"},  # listens, on this machine alone
    "io/remote.py": {"pa.fs.FileSystem.from_uri"},
}


# It takes addresses apart, and asks nobody.
ASKS_NOBODY = {"urllib.parse"}


def modules_of(tree):
    for node in ast.walk(tree):
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        yield from (name.partition(".")[0] for name in names if name not in ASKS_NOBODY)


def calls_of(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


# The card is Markdown, and all that stands in it is a number or a name of an exact form.
NO_PAGE = "release/data_card.py"


def problems_of(text, own_network=frozenset(), *, is_page=True):
    """Name what turns data into code, or leads out of the machine."""
    tree = ast.parse(text)
    found = set(modules_of(tree)) & (MODULES | (NETWORK - own_network))
    for call in calls_of(tree):
        name = ast.unparse(call.func)
        found |= {name} & CALLS
        for keyword in call.keywords:
            value = ast.unparse(keyword.value)
            if keyword.arg in ("shell", "allow_pickle") and value != "False":
                found.add(f"{name}({keyword.arg}={value})")
            if is_page and keyword.arg == "autoescape" and value != "True":
                found.add(f"{name}({keyword.arg}={value})")
        if (
            is_page
            and name.endswith("Environment")
            and "autoescape" not in {k.arg for k in call.keywords}
        ):
            found.add(f"{name} without autoescape")
    return found - own_network


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_file_turns_data_into_code(file):
    name = file.relative_to(SOURCE).as_posix()
    own, text = MAY_USE_NETWORK.get(name, set()), file.read_text(encoding="utf-8")
    assert problems_of(text, own, is_page=name != NO_PAGE) == set()


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "import urllib.request",
        "eval(text)",
        "import os\nos.system(text)",
        "import subprocess\nsubprocess.run(text, shell=True)",
        "import numpy as np\nnp.load(file, allow_pickle=True)",
        "from jinja2 import Environment\nEnvironment()",
        "from jinja2 import Environment\nEnvironment(autoescape=False)",
    ],
)
def test_the_search_finds_what_it_looks_for(text):
    assert problems_of(text)


# A file of ours, and nothing within the page.
OUR_SCRIPT = re.compile(r'<script src="/static/[^"<>]*"( defer)?></script>')


def test_templates_trust_our_own_drawings_alone():
    for template in SOURCE.rglob("*.jinja"):
        for line in template.read_text(encoding="utf-8").splitlines():
            for trusted in line.split("| safe")[:-1]:
                assert trusted.rstrip().endswith(".svg"), template.name
            assert "autoescape false" not in line
            assert "<script" not in line or OUR_SCRIPT.fullmatch(line), template.name
