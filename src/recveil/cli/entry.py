"""The command line. Each verb is a thin call of the library function of its name."""

import os
import shlex
import sys
import traceback
from typing import NoReturn

import typer

from recveil.cli.anonymize import anonymize
from recveil.cli.audit import audit
from recveil.cli.compare import compare
from recveil.cli.config import config
from recveil.cli.config_option import with_config_option
from recveil.cli.convert import convert
from recveil.cli.demo import demo
from recveil.cli.describe import describe
from recveil.cli.endings import code_of, interruptible, orderly_signals, patient_streams
from recveil.cli.evaluate import evaluate
from recveil.cli.generate import generate
from recveil.cli.inspect import inspect
from recveil.cli.option_groups import with_memory_option, with_method_options
from recveil.cli.options import Verb, add_options, tell
from recveil.cli.outputs import with_checked_outputs
from recveil.cli.sample import sample
from recveil.cli.selftest import selftest
from recveil.cli.settings_file import KnownOption, options_by_verb
from recveil.cli.verify import verify
from recveil.cli.workbench import workbench
from recveil.runtime.errors import (
    RecveilError,
    UnknownOrderError,
    first_line_of,
    lacks_files,
    printable,
    too_few_files,
    within_limit,
)
from recveil.runtime.memory import MemoryLimitError, lacks_memory, not_enough

VERBS = (
    *(demo, inspect, audit, anonymize, sample, verify, describe, evaluate, compare, selftest),
    *(convert, generate, config, workbench),
)

# What a checker's install may leave out, by the names of the modules.
_LEFT_OUT = {
    "altair": "altair",
    "numba": "numba",
    "pooch": "pooch",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
}
_READ_NOTHING = (demo, selftest, generate, config, workbench)


def make_app() -> typer.Typer:
    """Build the command line from its verbs, with the options that they have at this moment.

    Examples
    --------
    >>> [verb.callback.__name__ for verb in make_app().registered_commands][:3]
    ['demo', 'inspect', 'audit']
    """
    made = typer.Typer(
        name="recveil",
        help="Publish rating data without giving its people away.",
        epilog="Exit codes: 0 it holds, 1 it does not hold, 2 wrong usage or bad input, "
        "130 interrupted, 143 terminated.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for verb in VERBS:
        if verb is config:
            whole = add_options({}, lambda _: {"known": known_options()})(verb)
        else:
            whole = with_config_option(_whole(verb), known_options)
        made.command()(interruptible(with_checked_outputs(whole)))
    made.callback(invoke_without_command=True)(about)
    return made


def _whole(verb: Verb) -> Verb:
    """Return a verb with the options that it shares with others."""
    whole = with_method_options(verb) if verb is anonymize else verb
    return whole if verb in _READ_NOTHING else with_memory_option(whole)


def known_options() -> dict[str, list[KnownOption]]:
    """Return the options that each verb has at this moment, and that a file may hold.

    Examples
    --------
    >>> [option.name for option in known_options()["generate"]][:3]
    ['users', 'items', 'ratings']
    """
    return options_by_verb(_whole(verb) for verb in VERBS if verb is not config)


def about(version: bool = typer.Option(False, "--version", help="Show the version.")) -> None:
    """Publish rating data without giving its people away."""
    if version:
        from importlib import metadata

        print(metadata.version("recveil"))
        raise typer.Exit


# For tools that look for an app, as typer's own do; `main` builds one when it is called.
app = make_app()


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; bad input ends with a message on standard error and code 2."""
    with patient_streams(), orderly_signals():
        _run(arguments)


def _run(arguments: list[str] | None) -> NoReturn:
    ways = ""
    try:
        _run_to_the_end(arguments)
    except KeyboardInterrupt as stop:
        sys.exit(code_of(stop))
    except SystemExit as stop:
        # Before a verb begins, typer makes a 130 of every signal, and once made a 1 of Ctrl-C,
        # which would say that a claim fails.
        ended = stop.__context__
        if isinstance(ended, typer.Abort | typer.Exit) and _is_interruption(ended.__cause__):
            sys.exit(code_of(ended.__cause__))
        raise
    except UnknownOrderError as error:
        message = str(error)
        ways = _ways(error, sys.argv[1:] if arguments is None else arguments)
    except Exception as error:
        message = _told(error)
    # A message may quote ids, which may hold what a terminal would obey.
    told = f"error: {within_limit(message)}{ways}".split("\n")
    tell("\n".join(map(printable, told)), err=True)
    sys.exit(2)


def _is_interruption(cause: BaseException | None) -> bool:
    return isinstance(cause, KeyboardInterrupt | EOFError)


def _told(error: Exception) -> str:
    """Say what went wrong."""
    if lacks_files(error):
        return too_few_files()
    if lacks_memory(error) and not isinstance(error, MemoryLimitError):
        return not_enough()
    if any(isinstance(each, FileNotFoundError) for each in (error, error.__context__)) and (
        _is_nowhere()
    ):
        return (
            "the folder in which this runs was removed; go to one that is there, such as with cd, "
            "and run it again"
        )
    if isinstance(error, RecveilError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, ModuleNotFoundError) and error.name in _LEFT_OUT:
        lacking = _LEFT_OUT[error.name]
        return (
            f"{lacking} is not installed; verify can do without it, this cannot; install it, such "
            f"as with pip install {lacking}"
        )
    # Code 1 says that a claim does not hold, so a fault of ours must not end with it.
    if "RECVEIL_TRACEBACK" in os.environ:
        traceback.print_exception(error)
    return (
        f"{type(error).__name__}: {first_line_of(error)}; this is a fault in recveil, please "
        f"report it (set RECVEIL_TRACEBACK=1 to see where)"
    )


def _is_nowhere() -> bool:
    """Say whether the folder in which we run is gone, so that no name leads anywhere from it."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return True
    return False


def _run_to_the_end(arguments: list[str] | None) -> None:
    """Run a verb, and let what it has shown arrive while an error can still be told."""
    try:
        make_app()(arguments)
    except SystemExit:
        sys.stdout.flush()
        raise


def _ways(error: UnknownOrderError, arguments: list[str]) -> str:
    """Return what there is to see in the columns, and the commands to choose from."""
    facts = [f"  {fact}" for fact in error.facts]
    commands = [
        "  " + shlex.join(["recveil", *arguments, *_missing(choice, arguments)])
        for choice in error.choices
    ]
    return "\n".join(["", *facts, "type" if len(commands) == 1 else "type one of", *commands])


def _missing(choice: dict[str, str], arguments: list[str]) -> list[str]:
    """Return the options of a choice that were not typed already."""
    typed = {argument.partition("=")[0] for argument in arguments}
    words = [(f"--{role}", place) for role, place in choice.items()]
    return [word for option, place in words if option not in typed for word in (option, place)]
