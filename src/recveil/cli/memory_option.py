"""The option --max-memory, of all verbs that read somebody's files."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from recveil.memory import memory_limited

MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        rich_help_panel="Input",
        help="The most memory that reading a file may take, such as 4GB; half of what the "
        "machine has if not given.",
    ),
]


def with_memory_option(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the option to a verb; what is read while it runs takes no more than it says.

    Examples
    --------
    >>> from recveil.memory import memory_limit
    >>> @with_memory_option
    ... def show(name: str) -> None:
    ...     print(f"{name}: {memory_limit():,}")
    >>> show("Limit", max_memory="2GB")
    Limit: 2,000,000,000
    """
    signature = inspect.signature(verb)

    @functools.wraps(verb)
    def run(*own: Any, max_memory: str | None = None, **given: Any) -> None:
        with memory_limited(max_memory):
            verb(*own, **given)

    option = inspect.Parameter(
        "max_memory", inspect.Parameter.KEYWORD_ONLY, annotation=MaxMemory, default=None
    )
    parameters = [*signature.parameters.values(), option]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
