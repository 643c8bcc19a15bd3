"""Asked: which methods somebody wants compared."""

from collections.abc import Iterable

from recveil.errors import RecveilError
from recveil.release.registry import all_variants


def usual_methods() -> list[str]:
    """Return what "all" stands for: one of each kind, and what needs to stand beside it.

    Examples
    --------
    >>> usual_methods()[:4]
    ['padded', 'padded-bisecting', 'simple', 'simple-bisecting']
    """
    return [name for name, (_, variant) in all_variants().items() if variant.in_all]


def choose_methods(names: Iterable[str]) -> list[str]:
    """Return the names of methods, "all" spelled out, each once.

    Raises
    ------
    RecveilError
        If a name is unknown, or there is none.

    Examples
    --------
    >>> choose_methods(["simple", "raw", "simple"])
    ['simple', 'raw']
    >>> choose_methods(["all"])[:3]
    ['padded', 'padded-bisecting', 'simple']
    """
    known = ", ".join(all_variants())
    chosen: dict[str, None] = {}
    for name in names:
        if name != "all" and name not in all_variants():
            raise RecveilError(f"method {name!r}: expected all, or some of {known}")
        chosen |= dict.fromkeys(usual_methods() if name == "all" else [name])
    if not chosen:
        raise RecveilError(f"no method given; expected all, or some of {known}")
    return list(chosen)
