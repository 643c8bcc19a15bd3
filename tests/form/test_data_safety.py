"""No data become code, no private field is shown, and one place decodes what may be damaged."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import typing

import recveil
from recveil.runtime.safe_repr import brief
from repository import MODULES, SOURCE, name_of, nodes_of, text_of

# What runs what it reads, or hands words to a shell.
UNSAFE = {
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
# Those that write to a given place; and the one that asks what this machine is called.
MAY_USE_NETWORK = {
    "runtime/threads.py": {"ctypes"},  # asks the library that is loaded for its working space
    "datasets.py": {"pooch"},
    "verification/private_data.py": {"socket"},
    "io/databases/postgresql.py": {"adbc_driver_postgresql"},
    "workbench/guard.py": {"socket"},  # writes addresses as the system's list does
    "workbench/serving.py": {"socket"},  # listens, on this machine alone
    "io/remote.py": {"pa.fs.FileSystem.from_uri"},
}
# It takes addresses apart, without a request.
ASKS_NOBODY = {"urllib.parse"}
# The card is Markdown, and all that stands in it is a number or a name of an exact form.
NO_PAGE = "release/data_card.py"


def modules_of(nodes):
    for node in nodes:
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        yield from (name.partition(".")[0] for name in names if name not in ASKS_NOBODY)


def problems_of(nodes, own_network=frozenset(), *, is_page=True):
    """Name what turns data into code, or leads out of the machine."""
    found = set(modules_of(nodes)) & (UNSAFE | (NETWORK - own_network))
    for call in (node for node in nodes if isinstance(node, ast.Call)):
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


CAUGHT = [
    "import pickle",
    "from pickle import loads",
    "import urllib.request",
    "eval(text)",
    "import os\nos.system(text)",
    "import subprocess\nsubprocess.run(text, shell=True)",
    "import numpy as np\nnp.load(file, allow_pickle=True)",
    "from jinja2 import Environment\nEnvironment()",
    "from jinja2 import Environment\nEnvironment(autoescape=False)",
]
# A file of ours, and nothing within the page.
OUR_SCRIPT = re.compile(r'<script src="/static/[^"<>]*"( defer)?></script>')


def test_no_module_turns_data_into_code():
    assert [text for text in CAUGHT if not problems_of([*ast.walk(ast.parse(text))])] == []
    found = []
    for file in MODULES:
        name = file.relative_to(SOURCE).as_posix()
        own = MAY_USE_NETWORK.get(name, set())
        problems = problems_of(nodes_of(file), own, is_page=name != NO_PAGE)
        found += [f"{name}: {problem}" for problem in sorted(problems)]
    assert found == []


def test_templates_trust_our_own_drawings_alone():
    found = [
        f"{name_of(template)}: {line}"
        for template in SOURCE.rglob("*.jinja")
        for line in text_of(template).splitlines()
        if not all(trusted.rstrip().endswith(".svg") for trusted in line.split("| safe")[:-1])
        or "autoescape false" in line
        or ("<script" in line and not OUR_SCRIPT.fullmatch(line))
    ]
    assert found == []


def test_one_place_reads_what_may_be_damaged_or_large():
    """A damaged file would end the run without a word; a mapped one may shrink meanwhile."""
    places = {
        r"pq\.(read_|Parquet(File|Dataset)\()": {"child.py"},
        # The second reads what the first wrote.
        r"(parquet|ipc|feather|dataset|orc)\.(read_|open_|dataset)": {"child.py", "decoder.py"},
        r"memory_map": set(),
        r"dictionary_decode\(": {"arrow_columns.py"},  # else one long value is written out often
    }
    found = {pattern: set() for pattern in places}
    for file in MODULES:
        for pattern in places:
            if re.search(pattern, text_of(file)):
                found[pattern].add(file.name)
    assert found == places


# Their fields say nothing about users: parameters, shapes of a chart, words for the docs.
HARMLESS_WITH_COLLECTIONS = {
    *("_Family", "GroupSizes", "Selection", "Look", "Chart", "Panel"),
}
# They say in their own words what they show; tests/runtime/test_safe_repr.py looks at them.
OWN_WORDS = {"Reading", "ReadColumn"}
# Fields with private content, even as mere words and numbers.
PRIVATE = {"seed", "users", "user_ids", "target", "examples", "values"}


def classes():
    """Yield every dataclass and named tuple of recveil."""
    for module in pkgutil.walk_packages(recveil.__path__, "recveil."):
        if not module.name.endswith("__main__"):
            for cls in vars(importlib.import_module(module.name)).values():
                is_own = inspect.isclass(cls) and cls.__module__ == module.name
                if is_own and (dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")):
                    yield cls


def leaves(hint) -> list:
    """Return the classes that an annotation is made of."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal or "Callable" in str(origin):
        return []
    if origin in (dict,):
        return [dict]
    if arguments:
        return [leaf for argument in arguments if argument is not ... for leaf in leaves(argument)]
    return [hint]


def test_what_could_hold_something_private_is_brief():
    """A new class that holds more than numbers and words must be brief, or be named above."""
    every = [*classes()]
    briefs = {cls.__name__ for cls in every if cls.__repr__.__module__ == brief.__module__}
    assert {"Private", "Release", "Anonymized", "Audit", "Evaluated", "Suspects"} <= briefs
    assert len(every) > 90
    harmless = {str, int, float, bool, type(None), *every}
    found = [
        f"{cls.__module__}.{cls.__name__}.{name} holds {hint}: make it @brief"
        for cls in every
        if cls.__name__ not in briefs | HARMLESS_WITH_COLLECTIONS | OWN_WORDS
        for name, hint in typing.get_type_hints(cls).items()
        if name in PRIVATE or not harmless.issuperset(leaves(hint))
    ]
    assert found == []
