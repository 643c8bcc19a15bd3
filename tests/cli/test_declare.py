"""Options that are declared once reach every verb that takes them."""

import importlib
import inspect
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from recveil.cli.entry import make_app
from recveil.cli.options import add_options, reading_options

Loud = Annotated[bool, typer.Option("--loud", help="Louder.")]
Times = Annotated[int, typer.Option(help="How often.")]

# The options of the input, as a verb has them that has no others.
OF_INPUT = inspect.signature(reading_options(lambda **_: None)).parameters

loud_option = add_options({"loud": (Loud, False)}, lambda given: {"end": "!" * given["loud"]})
times_option = add_options({"times": (Times, 2)}, lambda given: {"words": ["ho"] * given["times"]})


@times_option
@loud_option
def shout(name: Annotated[str, typer.Argument(help="Whom.")], **more) -> None:
    """Shout."""
    print(name, *more["words"], more["end"])


def typed(*arguments):
    app = typer.Typer()
    app.command()(shout)
    return CliRunner().invoke(app, arguments)


def test_a_verb_gets_what_its_options_mean():
    assert typed("Ann").output == "Ann ho ho \n"
    assert typed("Ann", "--times", "1", "--loud").output == "Ann ho !\n"


def test_the_lowest_decorator_comes_first_and_help_is_kept():
    assert list(inspect.signature(shout).parameters) == ["name", "loud", "times"]
    assert "Louder." in typed("--help").output
    assert shout.__doc__ == "Shout."


def test_an_option_is_not_declared_twice():
    with pytest.raises(ValueError, match="declared twice: loud"):
        loud_option(shout)


def test_options_of_the_input_are_those_of_the_library():
    """But for what verbs say themselves: k, files of people, and whether there are times."""
    understand = inspect.signature(importlib.import_module("recveil.io").understand).parameters
    assert {*understand} - {*OF_INPUT} == {"source", "k", "people_in", "times"}
    for name, parameter in OF_INPUT.items():
        assert parameter.default == understand[name].default


def test_each_verb_that_reads_has_all_of_them_and_no_other_has_some():
    for verb in (command.callback for command in make_app().registered_commands):
        found = {*OF_INPUT} & {*inspect.signature(verb).parameters}
        expected = {
            "verify": {
                *("user", "item", "rating", "time"),
                *("format", "delimiter", "wide", "null"),
            },
            "generate": {"scale", "format"},  # of what it writes
            "demo": set(),
            "config": set(),
            "workbench": set(),
            "describe": set(),  # a release has one form
            "sample": set(),
        }.get(verb.__name__, {*OF_INPUT})
        assert found == expected, verb.__name__
