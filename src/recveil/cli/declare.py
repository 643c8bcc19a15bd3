"""Declaring options once: a decorator adds them to every verb that takes them."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

Verb = Callable[..., None]
# The names of options, with the annotation that typer reads and the default.
Declared = Mapping[str, tuple[Any, Any]]
Prepare = Callable[[dict[str, Any]], dict[str, Any]]


def add_options(
    declared: Declared, prepare: Prepare, after: str | None = None
) -> Callable[[Verb], Verb]:
    """Make a decorator that adds options to a verb and hands it what they mean.

    typer reads options from a signature. The verb's own ends with ``**keywords``; in its place
    all options in the one that typer sees, after the verb's own.

    Parameters
    ----------
    declared : mapping of str to (annotation, default)
        As they would stand in a signature.
    prepare : callable
        Takes what was typed for them, by name, and returns the keywords for the verb.
    after : str, optional
        The verb's own option that they follow in the help; all, if not given.

    Returns
    -------
    callable
        The decorator. Several can stand above one another; the lowest comes first in the help.

    Raises
    ------
    ValueError
        When it decorates, if the verb has an option of one of these names already.

    Examples
    --------
    >>> @add_options({"loud": (bool, False)}, lambda given: {"ending": "!" * given["loud"]})
    ... def greet(name: str, **more: str) -> None:
    ...     print(f"Hello {name}{more['ending']}")
    >>> print(inspect.signature(greet))
    (name: str, *, loud: bool = False) -> None
    >>> greet("Ann", loud=True)
    Hello Ann!
    """

    def decorate(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def run(*own: Any, **given: Any) -> None:
            added = {name: given.pop(name, default) for name, (_, default) in declared.items()}
            verb(*own, **given, **prepare(added))

        run.__signature__ = _with(inspect.signature(verb), declared, after)  # type: ignore[attr-defined]
        return run

    return decorate


def _with(signature: inspect.Signature, declared: Declared, after: str | None) -> inspect.Signature:
    """Put options in the place of a signature's ``**keywords``."""
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    if twice := [each.name for each in own if each.name in declared]:
        raise ValueError(f"options declared twice: {', '.join(twice)}; drop the verb's own")
    added = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
        )
        for name, (annotation, default) in declared.items()
    ]
    if after is None:
        return signature.replace(parameters=[*own, *added])
    place = [each.name for each in own].index(after) + 1
    # Only typer reads this, and it names all: so all that follow can be keywords.
    last = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own[place:]]
    return signature.replace(parameters=[*own[:place], *added, *last])
