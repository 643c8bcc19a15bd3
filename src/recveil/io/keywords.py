"""Keywords: what the verbs pass on to `understand`, and whose error it is if there is none such."""

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from recveil.io.intake import understand


def refuse_unknown_keywords(verb: str, given: Mapping[str, Any], *own: str) -> None:
    """Raise a TypeError that names the verb, for keywords that no table is read with.

    Parameters
    ----------
    verb : str
    given : mapping
        What the verb would pass on.
    *own : str
        Keywords that the verb gives itself.

    Examples
    --------
    >>> refuse_unknown_keywords("audit", {"user": "2", "colour": 7})
    Traceback (most recent call last):
    ...
    TypeError: audit() got an unexpected keyword argument 'colour'
    """
    known = {
        name
        for name, parameter in signature(understand).parameters.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
    }
    for name in given:
        if name not in known or name in own:
            raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}")


def was_given(value: object) -> bool:
    """Say whether an option was given: 0 and empty words are a choice, too.

    Examples
    --------
    >>> was_given(None), was_given(False), was_given(0), was_given("")
    (False, False, True, True)
    """
    return value is not None and value is not False
