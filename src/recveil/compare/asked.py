"""Asked: which methods somebody wants compared."""

from collections.abc import Iterable
from typing import Literal

from recveil.errors import RecveilError, listed, meant
from recveil.ratings import Ratings
from recveil.release.registry import all_variants

# What a table holds, as far as methods differ in what they take.
Of = Literal["ratings", "likes", "words"]
_FITTING: dict[Of, tuple[str, ...]] = {
    "ratings": ("ratings", "both", "any"),
    "likes": ("likes", "both", "any"),
    "words": ("words", "any"),
}


def kind_of(ratings: Ratings) -> Of:
    """Return what a table holds: words are those without an order.

    Examples
    --------
    >>> kind_of(Ratings.from_columns([1, 2], [7, 7], [4, 5]))
    'ratings'
    """
    if not ratings.scale.ordered:
        return "words"
    return "likes" if ratings.is_unary else "ratings"


def usual_methods(*, of: Of = "ratings") -> list[str]:
    """Return what "all" stands for: one of each kind, and what needs to stand beside it.

    Parameters
    ----------
    of : {"ratings", "likes", "words"}
        What the table holds.

    Examples
    --------
    >>> usual_methods()[:4]
    ['padded', 'padded-bisecting', 'simple', 'simple-bisecting']
    >>> usual_methods(of="likes")
    ['k-corating-likes', 'sparse', 'synthetic-10', 'synthetic-3', 'synthetic-1', 'raw']
    >>> usual_methods(of="words")
    ['words', 'words-shares', 'raw']
    """
    known = variants_of(of)
    return [
        name for name, (_, variant) in all_variants().items() if variant.in_all and name in known
    ]


def variants_of(of: Of) -> list[str]:
    """Return the names of those that can be made of ratings, of likes, or of words."""
    return [name for name, (_, variant) in all_variants().items() if variant.of in _FITTING[of]]


def choose_methods(names: Iterable[str], *, of: Of = "ratings") -> list[str]:
    """Return the names of methods, "all" spelled out, each once.

    Parameters
    ----------
    names : iterable of str
    of : {"ratings", "likes", "words"}
        What releases are to be made of.

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
    fitting = [*dict.fromkeys([*usual_methods(of=of), *variants_of(of)])]
    expected = f"expected all, or some of {listed(fitting, 150)}"
    chosen: dict[str, None] = {}
    for name in names:
        if name != "all" and name not in all_variants():
            raise RecveilError(
                f"method {name!r}{meant(name, fitting)}: {expected}", code="method.unknown"
            )
        if name != "all" and name not in fitting:
            raise RecveilError(
                f"method {name!r}: not of {_WORDS_OF[of]}; {expected}", code="method.unsupported"
            )
        chosen |= dict.fromkeys(usual_methods(of=of) if name == "all" else [name])
    if not chosen:
        raise RecveilError(f"no method given; {expected}", code="option.required")
    return list(chosen)


def refuse_unknown(names: Iterable[str]) -> list[str]:
    """Return the methods as far as they are known before the table is; refuse unknown names.

    Examples
    --------
    >>> refuse_unknown(["words", "raw"])
    ['words', 'raw']
    """
    chosen: dict[str, None] = {}
    for name in names:
        kinds = (kind for kind in _FITTING if name in variants_of(kind))
        of: Of = next(kinds, "ratings")
        chosen |= dict.fromkeys(choose_methods([name], of=of))
    return list(chosen) or choose_methods([])


_WORDS_OF: dict[Of, str] = {
    "ratings": "ratings",
    "likes": "likes",
    "words": "words without an order",
}
