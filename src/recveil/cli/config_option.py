"""The option --config of all verbs: what is not typed may come from a file, and that is said."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from recveil.cli.options import Verb, tell
from recveil.cli.settings_file import (
    FILE,
    Known,
    read_settings,
    reject_options_of_others,
    reject_unnamed,
    taken_in_words,
)
from recveil.runtime.errors import printable
from recveil.runtime.safe_repr import brief

# Of each of these only one can be given: the one that is typed.
_ONE_OF = (("scale", "order", "words", "likes", "counts"), ("query", "table"))


@brief
class Settings(NamedTuple):
    """What a file says of the options of a verb."""

    path: Path
    # By what the verb calls its parameters
    values: dict[str, Any]
    # How each is typed
    names: dict[str, str]
    # Of the run, which knows what was typed
    context: typer.Context

    def tell(self) -> None:
        """Say on standard error which options of this run came from the file."""
        taken = {
            self.names[parameter]: value
            for parameter, value in self.values.items()
            if _came_from_file(self.context, parameter) and parameter not in self.beaten()
        }
        if taken:
            tell(printable(f"{taken_in_words(self.path, taken)}."), err=True)

    def beaten(self) -> set[str]:
        """Return which parameters do not count, as another one of their kind was typed."""
        return {
            parameter
            for kind in _ONE_OF
            if any(_source(self.context, each) == "COMMANDLINE" for each in kind)
            for parameter in kind
            if _came_from_file(self.context, parameter)
        }


def _came_from_file(context: typer.Context, parameter: str) -> bool:
    return _source(context, parameter) == "DEFAULT_MAP"


def _source(context: typer.Context, parameter: str) -> str:
    """Return the name of where the value of a parameter came from; nothing if it has none."""
    source: Any = context.get_parameter_source(parameter)
    return "" if source is None else str(source.name)


def with_config_option(verb: Verb, known: Callable[[], Known]) -> Verb:
    """Let a verb take options that are not typed from a file."""

    def read(context: typer.Context, named: str | None) -> Settings | None:
        """Put what a file says below what is typed; this runs before other options are read."""
        if context.resilient_parsing:  # a shell completes a word
            return None
        path = Path(FILE if named is None else named)
        if named is None and not path.is_file():
            return None
        if named is None:
            reject_options_of_others(path)
        options = known()
        values = read_settings(path, options).get(verb.__name__, {})
        if named is None:
            reject_unnamed(path, verb.__name__, values, options[verb.__name__])
        context.default_map = {**values}
        names = {option.parameter: option.name for option in options[verb.__name__]}
        return Settings(path, values, names, context)

    option = typer.Option(
        "--config",
        metavar="FILE",
        is_eager=True,
        callback=read,
        help=f"A file of options, for those that are not typed (recveil config writes one). If not "
        f"given, {FILE} in this folder says how values are written (scale, decimal mark, dates), "
        f"and nothing else.",
    )
    signature = inspect.signature(verb)

    @functools.wraps(verb)
    def run(*own: Any, config: Settings | None = None, **given: Any) -> None:
        if config is not None:
            config.tell()
            given |= {each: signature.parameters[each].default for each in config.beaten()}
        verb(*own, **given)

    added = inspect.Parameter(
        "config",
        inspect.Parameter.KEYWORD_ONLY,
        # Text, though it names a file: typer would make a path of what the callback returns, too.
        annotation=Annotated[str | None, option],
        default=None,
    )
    parameters = [*signature.parameters.values(), added]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
