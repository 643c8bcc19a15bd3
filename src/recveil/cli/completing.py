"""Completing: what a shell may offer in the stand of a value, for those that have names.

Nothing is offered where a file stands, so that the shell offers its own.
"""

from collections.abc import Callable, Iterable

Names = Callable[[], Iterable[str]]
Complete = Callable[[str], list[str]]


def one_of(names: Names) -> Complete:
    """Return what offers the names that begin like what was typed.

    Parameters
    ----------
    names : callable
        Returns all names; it is called when somebody presses the key, not before.

    Examples
    --------
    >>> one_of(lambda: ["padded", "simple"])("pa")
    ['padded']
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def some_of(names: Names) -> Complete:
    """Return what offers names for the last of several between commas.

    The parameter is that of `one_of`.

    Examples
    --------
    >>> some_of(lambda: ["padded", "simple", "sparse"])("padded,s")
    ['padded,simple', 'padded,sparse']
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        typed = before.split(",")
        return [
            f"{before}{comma}{name}"
            for name in names()
            if name.startswith(last) and name not in typed
        ]

    return complete


def formats() -> Iterable[str]:
    """Return the names of the formats that can be read."""
    from recveil.io.formats import FORMATS

    return [*FORMATS]


def target_formats() -> Iterable[str]:
    """Return the names of the formats that can be written."""
    return "parquet", "csv", "inter", "surprise", "recbole", "lenskit"


def presets() -> Iterable[str]:
    """Return the names of adversaries."""
    from recveil.attack import PRESETS

    return [*PRESETS]


def compared_methods() -> Iterable[str]:
    """Return the names of what can be compared."""
    from recveil.release.registry import all_variants

    return ["all", *all_variants()]


def claims() -> Iterable[str]:
    """Return the names of claims that can be checked."""
    from recveil.release.claim import published_claims

    return published_claims()
