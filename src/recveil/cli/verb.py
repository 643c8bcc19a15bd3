"""A verb of the command line: its options, and the one wrapper that runs it."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from recveil.cli.interruptions import report_interruptions
from recveil.cli.options import Declared, OptionGroup
from recveil.cli.outputs import check_outputs
from recveil.cli.settings_file import Known, Settings, config_option
from recveil.runtime.memory import memory_limited

MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        rich_help_panel="Input",
        help="Memory limit for reading a file, such as 4GB. Default: half of the machine's.",
    ),
]


@dataclass(frozen=True)
class Verb:
    """A function of the command line with the option groups that it takes."""

    function: Callable[..., None]
    groups: tuple[OptionGroup, ...] = ()
    reads_tables: bool = True

    @property
    def name(self) -> str:
        """The function's name, which is typed."""
        return self.function.__name__

    @property
    def options(self) -> inspect.Signature:
        """The function's own options and those of its groups, as typer reads them."""
        signature = inspect.signature(self.function)
        for group in self.groups:
            signature = _insert(signature, group.declared(), group.after)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        if self.reads_tables:
            own.append(_keyword("max_memory", MaxMemory, None))
        return signature.replace(parameters=own)

    def command(self, known: Callable[[], Known] | None) -> Callable[..., None]:
        """Return the function that typer calls.

        `known` returns the options of all verbs, for settings files; None for a verb without them.
        """
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


def _keyword(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
    )


def _insert(
    signature: inspect.Signature, declared: Declared, after: str | None
) -> inspect.Signature:
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
