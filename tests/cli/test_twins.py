"""A verb of the command line takes what the library function of its name takes."""

import importlib
import inspect
import os

import pytest

from recveil.cli import main
from recveil.cli.entry import make_app
from recveil.io.options import ReadingOptions
from recveil.release.registry import all_methods

COMMANDS = {each.callback.__name__: each.callback for each in make_app().registered_commands}
# Verb -> the package with the library function, and the least to be typed.
TWINS = {
    "anonymize": ("recveil.methods", ["r.csv", "-o", "out", "--k", "5"]),
    "audit": ("recveil.auditing", ["r.csv"]),
    "audit-lists": ("recveil.evaluation", ["r.csv"]),
    "budget": ("recveil.publish", ["r.csv"]),
    "compare": ("recveil.comparison", ["r.csv", "-o", "out"]),
    "config": ("recveil.cli.settings_file", []),
    "convert": ("recveil.publish", ["r.csv", "r.parquet"]),
    "demo": ("recveil.demo", []),
    "describe": ("recveil.publish", ["out", "croissant.json"]),
    "evaluate": ("recveil.evaluation", ["r.csv", "--split", "0.2", "--release", "out"]),
    "forget": ("recveil.methods", ["out", "--user", "7"]),
    "generate": ("recveil.datasets", ["r.csv"]),
    "inspect": ("recveil.inspection", ["r.csv"]),
    "precompile": ("recveil.precompilation", []),
    "report": ("recveil.report.assessment", ["out", "report.html"]),
    "sample": ("recveil.methods", ["out", "-o", "drawn", "--n-users", "9"]),
    "selftest": ("recveil.auditing", ["r.csv"]),
    "verify": ("recveil.verification", ["r.csv"]),
    "workbench": ("recveil.workbench", []),
}
# They write no result that a program could read.
WITHOUT_JSON = ("config", "precompile", "workbench")
# What no user can type.
OF_THE_LIBRARY_ALONE = {
    (
        "compare",
        "on_estimate",
    ): "a function, which the command gives itself: it prints the estimate",
    ("compare", "on_interrupt"): "a function, which the command gives itself: it writes the page",
    ("compare", "on_progress"): "a function, which the workbench gives: it draws what is finished",
    ("anonymize", "on_estimate"): "a function, which the command gives itself: it prints",
    ("anonymize", "on_total"): "a function, which the command gives itself: it prints",
    ("config", "known"): "objects, which the command makes of its verbs",
    ("audit", "adversaries"): "objects, which the command makes of the options below",
}
MAKES_ADVERSARIES = "describes one of the `adversaries`"
OF_THE_COMMAND_ALONE = {
    **{
        (verb, "json"): "writes what the result holds"
        for verb in COMMANDS
        if verb not in WITHOUT_JSON
    },
    **{
        (verb, "config"): "the library reads no file of options"
        for verb in COMMANDS
        if verb != "config"
    },
    ("anonymize", "dry_run"): "calls recveil.methods.dry_run, which takes the same",
    **{
        (verb, "explain"): "says how much of the result is told"
        for verb in ("anonymize", "audit", "compare", "evaluate", "verify")
    },
    **{
        (verb, name): "recveil.spark has a function of that name, which takes a master"
        for verb in ("anonymize", "audit", "verify")
        for name in ("engine", "master")
    },
    **{
        ("audit", name): "a parameter of Adversary"
        for name in ("algorithm", "eccentricity", "rating_width", "day_width", "threshold")
    },
    ("audit", "first_date_error"): "a parameter of Adversary",
    ("verify", "croissant"): "recveil.publish._describe.check_croissant says what it adds",
    ("inspect", "rows"): "says how much of the result is shown",
    ("evaluate", "whole"): "says how much of the result is told",
    **{
        (verb, "max_memory"): "the library bounds it with memory_limited"
        for verb in (
            *("inspect", "audit", "anonymize", "sample", "verify", "describe", "evaluate"),
            *("compare", "selftest", "convert", "budget", "forget", "report", "audit-lists"),
        )
    },
    ("audit", "html"): "writes what the result holds",
    ("audit", "risk"): "writes what the result holds",
    ("audit-lists", "html"): "writes what the result holds",
    ("audit-lists", "risk"): "writes what the result holds",
    ("audit", "matches_output"): "writes what the result holds",
    **dict.fromkeys(
        [
            *(("audit", name) for name in ("preset", "known", "right", "wrong_kind")),
            *(("audit", name) for name in ("rating_error", "date_error", "outside_top")),
            ("audit", "activity_error"),
        ],
        MAKES_ADVERSARIES,
    ),
}


def function_of(verb):
    return getattr(importlib.import_module(TWINS[verb][0]), verb.replace("-", "_"))


def keywords_of_reading(verb):
    """Return the parameters that replace the ``**reading`` of a library function."""
    kinds = {**ReadingOptions.__annotations__, **({"times": True} if verb == "convert" else {})}
    defaults = {"times": True, "duplicates": "error"}
    return {
        name: inspect.Parameter(
            *(name, inspect.Parameter.KEYWORD_ONLY),
            default=defaults.get(name, False if kind is bool else None),
        )
        for name, kind in kinds.items()
    }


def parameters_of(verb):
    """Return the parameters of a library function, with those that replace its ``**reading``."""
    own = inspect.signature(function_of(verb)).parameters
    named = {name: each for name, each in own.items() if each.kind is not each.VAR_KEYWORD}
    if "options" in own:
        named |= options_of_methods()
    # The user of `forget` is whose data is erased.
    return (keywords_of_reading(verb) if {"reading", "options"} & {*own} else {}) | named


def options_of_methods():
    """Return the parameters that replace the options of methods among the ``**options``."""
    return {
        option.name: inspect.Parameter(
            option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default
        )
        for method in all_methods()
        for option in method.options
    }


def test_every_verb_has_a_twin():
    assert set(TWINS) == set(COMMANDS)


def test_the_parameters_have_the_same_names():
    library = {(verb, name) for verb in TWINS for name in parameters_of(verb)}
    command = {
        (verb, name) for verb in TWINS for name in inspect.signature(COMMANDS[verb]).parameters
    }
    assert library - command == set(OF_THE_LIBRARY_ALONE)
    assert command - library == set(OF_THE_COMMAND_ALONE)


@pytest.mark.parametrize("verb", TWINS)
def test_what_is_not_typed_is_what_the_library_takes_by_itself(verb, monkeypatch, tmp_path):
    """The command hands everything on, and its defaults mean the library's."""
    monkeypatch.chdir(tmp_path)
    package, arguments = TWINS[verb]
    place, function, expected = (
        f"{package}.{verb.replace('-', '_')}",
        function_of(verb),
        parameters_of(verb),
    )
    if verb == "selftest":
        # It reads by itself, to say what was read; the checks get the finished ratings.
        place, function = "recveil.io.understand", importlib.import_module("recveil.io").understand
        expected = keywords_of_reading(verb)
    got = {}

    def record(*given, **named):
        got.update(inspect.signature(function).bind(*given, **named).arguments)
        raise SystemExit  # the command was to call the library, and has

    monkeypatch.setattr(place, record)
    with pytest.raises(SystemExit):
        main([verb, *arguments])
    got |= got.pop("reading", {}) | got.pop("options", {})
    typed = {
        "evaluate": {"source", "release", "split"},
        "anonymize": {"k", "output"},
        "compare": {"output"},
        "budget": {"source"},
    }.get(verb, set())
    optional = {name for name, each in expected.items() if each.default is not each.empty} - typed
    compared = {name for name in optional if (verb, name) not in OF_THE_LIBRARY_ALONE}
    assert len(compared) >= {"config": 1, "precompile": 0}.get(verb, 3)
    assert compared <= set(got)
    for name in compared:
        assert plain(got[name]) == plain(expected[name].default), name


def plain(value):
    """Return a path as text, and a list as a tuple."""
    if isinstance(value, list):
        return tuple(value)
    return os.fspath(value) if isinstance(value, os.PathLike) else value
