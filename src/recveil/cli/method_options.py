"""The options of all methods, as their entries in the registry declare them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from recveil.cli.completing import one_of
from recveil.cli.declare import Declared, Verb, add_options
from recveil.cli.options import reading_options
from recveil.release.method import Method, Option
from recveil.release.registry import all_methods


def with_method_options(verb: Verb) -> Verb:
    """Let a verb take the options of all methods that are registered at this moment.

    It gets them as keywords for the library function, with the method's name, and those about the
    input after them.
    """
    return reading_options(add_options(declared_options(), dict, after="k")(verb))


def _method_help() -> str:
    usual = next((method for method in _writing() if not method.asked_by), None)
    told = [
        f"{method.name}{_taken_by(method, usual)}: {method.description}" for method in _writing()
    ]
    return f"How people are hidden. {'; '.join(told)}."


def _taken_by(method: Method, usual: Method | None) -> str:
    """Say by which option a method is taken if nobody names one."""
    if method.asked_by:
        return f" (with --{method.asked_by})"
    return " (default with --k)" if method is usual else ""


def declared_options() -> Declared:
    """Return the choice of a method, and the options of all that write releases, each name once.

    Examples
    --------
    >>> list(declared_options())[:3]
    ['method', 'homogenize', 'grouping']
    """
    described = typer.Option(
        metavar="NAME",
        autocompletion=one_of(lambda: [method.name for method in _writing()]),
        rich_help_panel="Method",
        help=_method_help(),
    )
    choice = {"method": (Annotated[str | None, described], None)}
    owners: dict[str, list[tuple[Method, Option]]] = {}
    for method in _writing():
        for option in method.options:
            owners.setdefault(option.name, []).append((method, option))
    return choice | {name: _declared(of_name) for name, of_name in owners.items()}


def _writing() -> list[Method]:
    return [method for method in all_methods() if method.card]


def _declared(owners: list[tuple[Method, Option]]) -> tuple[Any, Any]:
    """Return the annotation and the default of an option that one method has, or several."""
    _, option = owners[0]
    choices = [*dict.fromkeys(choice for _, other in owners for choice in other.choices)]
    words = [option.help] + [f"for {method.name}, {other.help}" for method, other in owners[1:]]
    *before, last = words
    described = typer.Option(
        option.spelled,
        metavar=option.metavar,
        autocompletion=one_of(lambda: choices) if choices else None,
        rich_help_panel=option.panel,
        help="; ".join([*(word.removesuffix(".") for word in before), last]),
    )
    kind: Any = option.kind if option.kind in (bool, int, float, Path) else str
    defaults = {other.default for _, other in owners}
    default = option.default if len(defaults) == 1 else None  # each method decides for itself
    if default is None:
        kind = kind | None
    return Annotated[kind, described], default
