"""Part names: what the names of files say of rows that nothing else tells apart."""

import re
from collections.abc import Sequence

from recveil.errors import RecveilError, listed, quoted, shortened
from recveil.io.part_files import Part

_BETWEEN = re.compile(r"[^a-z0-9]+|(?<=[a-z])(?=[0-9])")
_OF_RUN = re.compile(r"[0-9a-f]+")
# What somebody calls a file of what people did not like, or passed over.
_NOT_LIKED = frozenset(
    (
        *("dislike", "dislikes", "disliked", "unlike", "unlikes", "unliked", "skip", "skips"),
        *("skipped", "down", "downs", "downvote", "downvotes", "downvoted", "thumbsdown", "hate"),
        *("hates", "hated", "negative", "negatives", "bans", "banned", "blocked", "reject"),
        *("rejects", "rejected", "dismiss", "dismissed", "ignored", "unseen"),
    )
)


def refuse_not_liked(parts: Sequence[Part], where: str) -> None:
    """Refuse parts without ratings of which one is called as what people did not like.

    Parameters
    ----------
    parts : sequence of Part
    where : str
        What to call the table.

    Raises
    ------
    RecveilError
        By the part's name.

    Examples
    --------
    >>> from pathlib import Path
    >>> refuse_not_liked([Part(Path("dislikes.csv"), "h/dislikes.csv", {})], "h")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: h: no rating column, and its part 'h/dislikes.csv' may hold what...
    """
    for part in parts:
        if _NOT_LIKED & set(_words_in(part)):
            raise RecveilError(
                f"{shortened(where, 60)}: no rating column, and its part {quoted(part.label, 60)} "
                f"may hold what was not liked; put ratings into a column, name a pattern that "
                f"leaves it out, or say that each row is a like with likes (--likes)",
                code="column.missing",
            )


def tell_names(parts: Sequence[Part]) -> list[str]:
    """Say how parts without ratings are called, if not all alike: their names may mean something.

    Examples
    --------
    >>> from pathlib import Path
    >>> of = [Part(Path(name), name, {}) for name in ("likes.csv", "clicks.csv")]
    >>> print(*tell_names(of))
    Parts have different names ('clicks.csv', 'likes.csv'), and all their rows were read as likes.
    """
    names = {_words_in(part): part for part in reversed(parts)}
    if len(names) < 2:
        return []
    told = listed(sorted(part.label for part in names.values()), 120)
    return [f"Parts have different names ({told}), and all their rows were read as likes."]


def _words_in(part: Part) -> tuple[str, ...]:
    """Return the words in the names of a part and of its folders, but not what a run counts."""
    names = [name for name in part.label.lower().split("/") if "=" not in name]
    words = [word for name in names for word in _BETWEEN.split(name)]
    return tuple(word for word in words if word and not _OF_RUN.fullmatch(word))
