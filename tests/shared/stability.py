"""What the fast and the slow tests of `test_stability.py` share."""

import contextlib
import importlib
import inspect
import io
import typing

import typer

from recveil.cli import app, main
from recveil.datasets import generate

# What docs/api.md names, and whose every exported name is meant to stay.
PACKAGES = (
    *("recveil", "recveil.ratings", "recveil.io", "recveil.inspection", "recveil.publish"),
    *("recveil.datasets", "recveil.predict", "recveil.clustering", "recveil.methods"),
    *("recveil.attacks", "recveil.auditing", "recveil.verification", "recveil.evaluation"),
    *("recveil.comparison", "recveil.runtime.progress"),
)

LINES = {
    "demo": "demo --json -",
    "inspect": "inspect ratings.csv --json -",
    "audit": "audit ratings.csv --release out --targets 10 --no-curves --json -",
    "audit-lists": "audit-lists ratings.csv --recommender popular --shadows 8 --json -",
    "anonymize": "anonymize ratings.csv -o again --k 4 --method predictive --json -",
    "sample": "sample model -o drawn --n-users 9 --json -",
    "verify": "verify out --json -",
    "forget": "forget out --user 1 --json -",
    "describe": "describe out croissant.json --json -",
    "evaluate": "evaluate ratings.csv --release out --split 0.2 --targets 10 --no-membership "
    "--json -",
    "compare": "compare ratings.csv -o both --methods simple,raw --k 4 --targets 10 --json -",
    "selftest": "selftest ratings.csv --json -",
    "convert": "convert ratings.csv table.parquet --json -",
    "generate": "generate more.csv --users 30 --items 20 --ratings 200 --json -",
}


def options_offered() -> dict[str, list[str]]:
    """Return all names of the options and arguments of each verb."""
    return {
        name: sorted(
            spelled
            for option in command.params
            for spelled in (*option.opts, *option.secondary_opts)
        )
        for name, command in typer.main.get_command(app).commands.items()
    }


def parameters_of(found: object) -> list[str]:
    """Return the names of what a function takes, or what makes an object of a class."""
    if not callable(found):
        return []
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):  # of kinds of values and of errors nothing is known
        return []
    several = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    names = [each.name for each in parameters if each.kind not in several]
    # Each `Unpack` of a dictionary of keywords is spelled out.
    unpacked = [key for each in parameters for key in keywords_unpacked(each.annotation)]
    return [*names, *unpacked]


def keywords_unpacked(annotation: object) -> list[str]:
    """Return the keywords of ``**options: Unpack[Options]``."""
    (options, *_) = typing.get_args(annotation) or (None,)
    return [*getattr(options, "__annotations__", ())] if typing.is_typeddict(options) else []


def names_offered() -> dict[str, dict[str, list[str]]]:
    """Return the exported names of each public package, with their parameters."""
    packages = {name: importlib.import_module(name) for name in PACKAGES}
    return {
        name: {each: parameters_of(getattr(package, each)) for each in sorted(package.__all__)}
        for name, package in packages.items()
    }


def keys_of(result: dict[str, object]) -> list[str]:
    """Return the keys of a JSON object, and of the objects just below."""
    keys = list(result)
    for key, value in result.items():
        if key in ("checksums", "methods"):  # whose keys are names of files and of methods
            continue
        inner = value[0] if isinstance(value, list) and value else value
        keys += [f"{key}.{below}" for below in inner] if isinstance(inner, dict) else []
    return sorted(keys)


def run(line: str) -> str:
    """Run a verb, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main(line.split())
    return printed.getvalue()


def prepare() -> None:
    """Make in the current folder what `LINES` ask about."""
    generate("ratings.csv", users=60, items=40, ratings=900)
    run("anonymize ratings.csv -o out --k 4 --method predictive --homogenize simple")
    run(
        "anonymize ratings.csv -o model --epsilon 100 --scale 1:5:1 --item-catalog as-rated "
        "--layout model"
    )
