"""The command line. Each verb is a thin call of the library function of its name."""

import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

from recveil.cli.anonymize import anonymize
from recveil.cli.audit import audit
from recveil.cli.audit_lists import audit_lists
from recveil.cli.budget import budget
from recveil.cli.compare import compare
from recveil.cli.config import config
from recveil.cli.convert import convert
from recveil.cli.demo import demo
from recveil.cli.describe import describe
from recveil.cli.evaluate import evaluate
from recveil.cli.forget import forget
from recveil.cli.generate import generate
from recveil.cli.inspect import inspect
from recveil.cli.interruptions import (
    code_of,
    describe_written,
    orderly_signals,
    patient_streams,
    report_interruptions,
)
from recveil.cli.options import (
    ADVERSARY,
    METHOD,
    READING,
    READING_TODAY,
    Declared,
    OptionGroup,
    rename_options,
)
from recveil.cli.outputs import check_outputs
from recveil.cli.precompile import precompile
from recveil.cli.report import report
from recveil.cli.sample import sample
from recveil.cli.selftest import selftest
from recveil.cli.settings_file import Known, KnownOption, Settings, config_option, options_of
from recveil.cli.verify import verify
from recveil.cli.workbench import workbench
from recveil.report.terminal import echo
from recveil.runtime.atomic_writes import placed_since
from recveil.runtime.errors import (
    WARNING,
    ReadingWarning,
    RecveilError,
    UnknownOrderError,
    first_line_of,
    lacks_files,
    notes_of,
    printable,
    too_few_files,
    within_limit,
)
from recveil.runtime.memory import MemoryLimitError, lacks_memory, memory_limited, not_enough

MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        rich_help_panel="Input",
        help="Memory limit for reading a file, such as 4GB. Default: half of the machine's.",
    ),
]


class _Command(TyperCommand):
    """A command that rejects a list given twice, of which the last one alone would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        lists = [each for each in given if str(getattr(each, "metavar", "")).endswith("...")]
        for option in lists:
            if not option.multiple and lists.count(option) > 1:
                name = max(option.opts, key=len)
                raise RecveilError(
                    f"{name} is given {lists.count(option)} times; expected one list; join the "
                    f"values with commas ({name} {option.metavar})",
                    code="option.conflict",
                )
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class Verb:
    """A function of the command line with the option groups that it takes."""

    function: Callable[..., None]
    groups: tuple[OptionGroup, ...] = ()
    reads_tables: bool = True

    @property
    def name(self) -> str:
        """The function's name as it is typed."""
        return self.function.__name__.replace("_", "-")

    @property
    def options(self) -> Signature:
        """The function's own options and those of its groups, as typer reads them."""
        signature = Signature.from_callable(self.function)
        for group in self.groups:
            signature = _insert(signature, group.declared(), group.after)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        if self.reads_tables:
            own.append(_keyword("max_memory", MaxMemory, None))
        return signature.replace(parameters=own)

    def command(self, known: Callable[[], Known] | None) -> Callable[..., None]:
        """Return the function that typer calls."""
        options = self.options

        def run(config: Settings | None = None, **values: Any) -> None:
            with report_interruptions():
                check_outputs(self.name, {**values, "config": config})
                if config is not None:
                    config.report()
                    values |= {name: options.parameters[name].default for name in config.beaten()}
                self.run(**values)

        run.__name__, run.__doc__ = self.name, self.function.__doc__
        parameters = [*options.parameters.values()]
        if known is not None:
            parameters.append(_keyword("config", config_option(self.name, known), None))
        run.__signature__ = options.replace(parameters=parameters)  # type: ignore[attr-defined]
        return run

    def run(self, max_memory: str | None = None, **values: Any) -> None:
        """Call the function with its own values and the keywords that its groups make."""
        keywords: dict[str, object] = {}
        for group in self.groups:
            shared = {
                name: values.pop(name, default) for name, (_, default) in group.declared().items()
            }
            keywords |= group.to_keywords(shared)
        with memory_limited(max_memory):
            self.function(**values, **keywords)


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _insert(signature: Signature, declared: Declared, after: str | None) -> Signature:
    """Insert options before ``**keywords``, or after one of the verb's own."""
    own = list(signature.parameters.values())
    if twice := [each.name for each in own if each.name in declared]:
        raise ValueError(f"options declared twice: {', '.join(twice)}; drop the verb's own")
    added = [_keyword(name, *described) for name, described in declared.items()]
    names = [each.name for each in own]
    place = len(own) - 1 if after is None else names.index(after) + 1
    # Options after inserted ones can only be keywords; typer names all of them anyway.
    rest = [
        each if each.kind is each.VAR_KEYWORD else each.replace(kind=each.KEYWORD_ONLY)
        for each in own[place:]
    ]
    return signature.replace(parameters=[*own[:place], *added, *rest])


def known_options() -> dict[str, list[KnownOption]]:
    """Return the current options of each verb that a settings file may hold.

    >>> [option.name for option in known_options()["generate"]][:3]
    ['users', 'items', 'ratings']
    """
    verbs = (verb for verb in VERBS if verb.function is not config)
    return {verb.name: list(options_of(verb.name, verb.options)) for verb in verbs}


# Not options: what `config` writes.
_KNOWN = OptionGroup(dict, lambda _: dict(known_options()))
VERBS = (
    Verb(demo, reads_tables=False),
    Verb(inspect, (READING,)),
    Verb(audit, (ADVERSARY, READING)),
    Verb(audit_lists, (READING,)),
    Verb(anonymize, (METHOD, READING)),
    Verb(sample),
    Verb(verify),
    Verb(budget, (READING,)),
    Verb(forget, (READING_TODAY,)),
    Verb(describe),
    Verb(report, (READING,)),
    Verb(evaluate, (READING,)),
    Verb(compare, (READING,)),
    Verb(selftest, (READING,)),
    Verb(convert, (READING,)),
    Verb(generate, reads_tables=False),
    Verb(config, (_KNOWN,), reads_tables=False),
    Verb(precompile, reads_tables=False),
    Verb(workbench, reads_tables=False),
)

# Modules that an install for verification alone may lack, with the names of their packages.
_OPTIONAL = {
    "altair": "altair",
    "numba": "numba",
    "pooch": "pooch",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
}


def make_app() -> typer.Typer:
    """Build the command line with the options of all methods that are registered now.

    >>> [verb.callback.__name__ for verb in make_app().registered_commands][:3]
    ['demo', 'inspect', 'audit']
    """
    made = typer.Typer(
        name="recveil",
        help=_SUMMARY,
        epilog="Exit codes: 0 the claim holds, 1 it does not, 2 usage error or bad input, 130 "
        "interrupted, 143 terminated.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for verb in VERBS:
        made.command(cls=_Command)(verb.command(None if verb.function is config else known_options))
    made.callback(invoke_without_command=True, help=_SUMMARY)(about)
    return made


_SUMMARY = "Audit, anonymize and publish tables of ratings without exposing their users."


def about(version: bool = typer.Option(False, "--version", help="Show the version.")) -> None:
    """Print the version."""
    if version:
        from importlib import metadata

        print(metadata.version("recveil"))
        raise typer.Exit


# For tools that need an app, such as typer's own; `main` builds a new one.
app = make_app()


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; bad input exits with code 2 and a message on standard error."""
    with patient_streams(), orderly_signals():
        _run(arguments)


def _run(arguments: list[str] | None) -> NoReturn:
    choices, before = "", len(placed_since())
    try:
        _run_verb(arguments)
    except KeyboardInterrupt as stop:
        sys.exit(code_of(stop))
    except SystemExit as stop:
        # Before a verb begins, typer exits with 130 for every signal, and some versions with 1 for
        # Ctrl-C, which would mean that a claim does not hold.
        ended = stop.__context__
        if isinstance(ended, typer.Abort | typer.Exit) and _is_interruption(ended.__cause__):
            sys.exit(code_of(ended.__cause__))
        raise
    except UnknownOrderError as error:
        message = str(error)
        choices = _choices(error, sys.argv[1:] if arguments is None else arguments)
    except Exception as error:
        message = "; ".join([_message(error), *notes_of(error)])
        if getattr(error, "code", "") == "output.not-writable" and (placed := placed_since(before)):
            choices = f"\n{describe_written(placed)}."
        for problem in getattr(error, "also", ()):
            choices += f"\nalso: {within_limit(problem)}"
    # A message may quote ids, which may contain control sequences of a terminal.
    lines = f"error: {within_limit(message)}{choices}".split("\n")
    echo("\n".join(map(printable, lines)), err=True)
    sys.exit(2)


def _is_interruption(cause: BaseException | None) -> bool:
    return isinstance(cause, KeyboardInterrupt | EOFError)


def _message(error: Exception) -> str:
    if lacks_files(error):
        return too_few_files()
    if lacks_memory(error) and not isinstance(error, MemoryLimitError):
        return not_enough()
    if any(isinstance(each, FileNotFoundError) for each in (error, error.__context__)) and (
        _lacks_folder()
    ):
        return (
            "the current folder was removed; change to an existing one, such as with cd, and run "
            "this again"
        )
    if isinstance(error, RecveilError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, ModuleNotFoundError) and error.name in _OPTIONAL:
        lacking = _OPTIONAL[error.name]
        return (
            f"{lacking} is not installed; only verify works without it; install it, such as with "
            f"pip install {lacking}"
        )
    # Code 1 means that a claim does not hold, so a bug must not exit with it.
    if "RECVEIL_TRACEBACK" in os.environ:
        traceback.print_exception(error)
    return (
        f"{type(error).__name__}: {first_line_of(error)}; this is a bug in recveil, please report "
        f"it (RECVEIL_TRACEBACK=1 shows the traceback)"
    )


def _lacks_folder() -> bool:
    """Return whether the current folder was removed."""
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:
        return True
    return False


# Verbs that read a table without a report of how it was read
_SILENT_READERS = ("budget", "forget", "verify")


def _run_verb(arguments: list[str] | None) -> None:
    """Run a verb and flush its output while an error can still be reported."""
    words = sys.argv[1:] if arguments is None else arguments
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        # The others print the notes with the table.
        named = words and words[0] in _SILENT_READERS
        warnings.simplefilter("always" if named else "ignore", ReadingWarning)
        try:
            make_app()(rename_options(words))
        except SystemExit:
            sys.stdout.flush()
            raise


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning, or a note on a table, without the line of code that raised it."""
    kind = "note: " if issubclass(category, ReadingWarning) else WARNING
    echo(f"{kind}{printable(str(message))}", err=True)


def _choices(error: UnknownOrderError, arguments: list[str]) -> str:
    """Return facts about the columns, and the commands to choose from."""
    facts = [f"  {fact}" for fact in error.facts]
    commands = [
        "  " + shlex.join(["recveil", *arguments, *_missing(choice, arguments)])
        for choice in error.choices
    ]
    return "\n".join(["", *facts, "type" if len(commands) == 1 else "type one of", *commands])


def _missing(choice: dict[str, str], arguments: list[str]) -> list[str]:
    """Return the options of a choice that were not typed yet."""
    typed = {argument.partition("=")[0] for argument in arguments}
    words = [(f"--{role}", place) for role, place in choice.items()]
    return [word for option, place in words if option not in typed for word in (option, place)]
