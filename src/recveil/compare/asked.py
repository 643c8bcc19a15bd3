"""Asked: which methods somebody wants compared."""

from collections.abc import Iterable

from recveil.errors import RecveilError
from recveil.release.registry import all_variants


def usual_methods(*, likes: bool = False) -> list[str]:
    """Return what "all" stands for: one of each kind, and what needs to stand beside it.

    Parameters
    ----------
    likes : bool
        Of likes, rather than ratings.

    Examples
    --------
    >>> usual_methods()[:4]
    ['padded', 'padded-bisecting', 'simple', 'simple-bisecting']
    >>> usual_methods(likes=True)
    ['k-corating-likes', 'sparse', 'synthetic-10', 'synthetic-3', 'synthetic-1', 'raw']
    """
    known = variants_of(likes=likes)
    return [
        name for name, (_, variant) in all_variants().items() if variant.in_all and name in known
    ]


def variants_of(*, likes: bool) -> list[str]:
    """Return the names of those that can be made of likes, or of ratings."""
    fitting = ("both", "likes" if likes else "ratings")
    return [name for name, (_, variant) in all_variants().items() if variant.of in fitting]


def choose_methods(names: Iterable[str], *, likes: bool = False) -> list[str]:
    """Return the names of methods, "all" spelled out, each once.

    Parameters
    ----------
    names : iterable of str
    likes : bool
        Whether releases are to be made of likes, rather than ratings.

    Raises
    ------
    RecveilError
        If a name is unknown, or not of such a table, or there is none.

    Examples
    --------
    >>> choose_methods(["simple", "raw", "simple"])
    ['simple', 'raw']
    >>> choose_methods(["all"])[:3]
    ['padded', 'padded-bisecting', 'simple']
    """
    known = ", ".join(all_variants())
    fitting = variants_of(likes=likes)
    chosen: dict[str, None] = {}
    for name in names:
        if name != "all" and name not in all_variants():
            raise RecveilError(f"method {name!r}: expected all, or some of {known}")
        if name != "all" and name not in fitting:
            raise RecveilError(
                f"method {name!r}: not of {'likes' if likes else 'ratings'}; expected all, or some "
                f"of {', '.join(fitting)}"
            )
        chosen |= dict.fromkeys(usual_methods(likes=likes) if name == "all" else [name])
    if not chosen:
        raise RecveilError(f"no method given; expected all, or some of {known}")
    return list(chosen)
