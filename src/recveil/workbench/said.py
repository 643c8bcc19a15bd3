"""Said: what somebody said of how their table is to be read, from a form to the library."""

from collections.abc import Mapping
from typing import Any

from recveil.errors import RecveilError, quoted
from recveil.ratings import RatingScale

COLUMNS = ("user", "item", "rating", "time")
_TEXTS = (
    *COLUMNS,
    *("scale", "format", "time_format", "delimiter", "decimal", "null", "query", "table", "sheet"),
    *("order", "words"),
)
_MARKS = ("drop_off_scale", "wide", "likes")
# Words of which one is said, and the one that is meant if none is.
_CHOICES = {"duplicates": ("error", "last", "mean"), "counts": ("", "log", "likes")}
_MOST_CHARACTERS = 4_000


def said_in(form: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form says, by the names of options; what is usual is left out.

    Raises
    ------
    RecveilError
        For a choice that there is not, and for very long texts.

    Examples
    --------
    >>> said_in({"user": "2", "item": "", "likes": "on", "duplicates": "error"})
    {'user': '2', 'likes': True}
    """
    said: dict[str, Any] = {}
    for name in _TEXTS:
        text = form.get(name, "").strip()
        if len(text) > _MOST_CHARACTERS:
            raise RecveilError(
                f"{name}: is longer than {_MOST_CHARACTERS:,} characters; shorten it",
                code="option.value",
            )
        if text:
            said[name] = text
    said |= {name: True for name in _MARKS if form.get(name)}
    for name, choices in _CHOICES.items():
        chosen = form.get(name, choices[0])
        if chosen not in choices:
            raise RecveilError(
                f"{name}: {quoted(chosen)} is not among {', '.join(choices)}", code="option.value"
            )
        if chosen != choices[0]:
            said[name] = chosen
    return said


def keywords_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same as keywords for `recveil.io.understand`, and for every verb.

    Examples
    --------
    >>> keywords_of({"user": "2", "scale": "1:5:1"})["scale"].step
    1.0
    """
    if "scale" not in said:
        return dict(said)
    return {**said, "scale": RatingScale.parse(said["scale"])}
