"""What one gives to have people drawn: epsilon, delta, how many, and the public list of items."""

import math
from collections import Counter
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from recveil.anonymize.synthetic.public_items import as_ids
from recveil.errors import RecveilError, quoted
from recveil.io import spooled
from recveil.io.watched import watched_text
from recveil.release.synthetic_form import MOST_DELTA

NO_NOISE = "none"
# More are not drawn at once.
MOST_PEOPLE = 2**31 - 1
# More are drawn only with allow_large. The limit is public: no answered query decides it.
_MANY_PEOPLE = 1_000_000
# The catalogue of whoever lets everybody know which items were rated at all.
AS_RATED = "as-rated"
# An id, as Python keeps it.
_A_ROW = 100


def epsilon_given(given: Any) -> float | None:
    """Return epsilon as a number; None for "none": exact sums, and nothing promised.

    Raises
    ------
    RecveilError
        If it is neither that nor a number above 0.

    Examples
    --------
    >>> epsilon_given("20"), epsilon_given(0.5), epsilon_given("none")
    (20.0, 0.5, None)
    """
    if given == NO_NOISE:
        return None
    try:
        epsilon = float(given)
    except (TypeError, ValueError):
        epsilon = math.nan
    if isinstance(given, bool) or not 0 < epsilon < math.inf:
        raise RecveilError(
            f"epsilon (--epsilon) is {quoted(given)}; expected a number above 0, the less the "
            f"safer, such as 3; or none, for exact sums that promise nothing",
            code="option.value",
        )
    return epsilon


def check_drawing(options: Mapping[str, Any]) -> None:
    """Refuse what makes no sense before anything is read.

    Raises
    ------
    RecveilError
        If epsilon, delta or the number of people is none.

    Examples
    --------
    >>> check_drawing({"epsilon": "none", "delta": 1e-6})
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: delta (--delta): epsilon is none, so that nothing is promised \
that delta could leave over; leave it out
    """
    epsilon, delta, people = (options.get(name) for name in ("epsilon", "delta", "people"))
    is_exact = epsilon_given(epsilon) is None
    if delta is not None and is_exact:
        raise RecveilError(
            "delta (--delta): epsilon is none, so that nothing is promised that delta could leave "
            "over; leave it out",
            code="option.conflict",
        )
    if delta is not None and not (isinstance(delta, float) and 0 < delta <= MOST_DELTA):
        raise RecveilError(
            f"delta (--delta) is {quoted(delta)}, but with that probability nothing at all is "
            f"promised; expected at most {MOST_DELTA:g}, and far below one over the number of "
            f"people, such as 1e-6",
            code="option.value",
        )
    if people is not None and not (type(people) is int and 1 <= people <= MOST_PEOPLE):
        raise RecveilError(
            f"people (--people) is {quoted(people)}; expected how many to draw, from 1 to "
            f"{MOST_PEOPLE:,}",
            code="option.value",
        )


def check_many_drawn(options: Mapping[str, Any], layout: str, *, allow_large: bool) -> None:
    """Refuse to draw very many synthetic users, before anything is read or asked.

    Raises
    ------
    RecveilError
        If more than a million are asked for, without `allow_large`.

    Examples
    --------
    >>> check_many_drawn({"people": 2_000_000}, "users", allow_large=True)
    >>> check_many_drawn({"people": 2_000_000}, "users", allow_large=False)
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: people (--people) is 2,000,000, more than 1,000,000; take fewer \
people (--people), or say allow_large (--allow-large)
    """
    people = options.get("people")
    if people is not None and people > _MANY_PEOPLE and layout != "model" and not allow_large:
        raise RecveilError(
            f"people (--people) is {people:,}, more than {_MANY_PEOPLE:,}; take fewer people "
            f"(--people), or say allow_large (--allow-large)",
            code="release.too-large",
        )


def draws_in_secret(options: Mapping[str, Any]) -> bool:
    """Say whether noise is drawn, that nobody must be able to draw again.

    Examples
    --------
    >>> draws_in_secret({"epsilon": 3.0}), draws_in_secret({"epsilon": "none"})
    (True, False)
    """
    return epsilon_given(options.get("epsilon")) is not None


def catalogue_given(given: Any) -> NDArray[Any] | str:
    """Return the public list of items, ascending; or "as-rated".

    Ids are whole numbers if all in the list are written so, and text otherwise, whatever the
    ratings' are: what is published must not follow from these.

    Parameters
    ----------
    given : path or sequence
        A text file with an id a line, without a header; or the ids themselves.

    Raises
    ------
    RecveilError
        If the file cannot be read, is empty, has a header, or names an item twice.

    Examples
    --------
    >>> catalogue_given(["9", "7", "8"])
    array([7, 8, 9])
    """
    if isinstance(given, str) and given == AS_RATED:
        return AS_RATED
    names, where = _names(given)
    if not names or "" in names:
        raise RecveilError(
            f"catalogue (--catalogue): {where} {'has an empty line' if names else 'is empty'}; "
            f"expected the id of an item a line, without a header",
            code="input.line" if names else "input.empty",
        )
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise RecveilError(
            f"catalogue (--catalogue): {where} names {quoted(twice)} twice; name each item once",
            code="id.duplicate",
        )
    ids, others = as_ids(names), as_ids(names[1:])
    if ids.dtype == object and others.dtype != object and others.size:
        raise RecveilError(
            f"catalogue (--catalogue): {where} begins with {quoted(names[0])}, and all other ids "
            f"are whole numbers; leave a header out, or put that id elsewhere",
            code="input.header",
        )
    return ids


def _names(given: Any) -> tuple[list[str], str]:
    """Return the ids as texts, and what to call where they come from."""
    if not isinstance(given, str | PathLike):
        return [str(name) for name in given], "the list"
    try:
        with spooled(given) as path, watched_text(path, keeps_text=True, a_row=_A_ROW) as raw:
            text = raw.read().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RecveilError(
            f"catalogue (--catalogue): {quoted(str(given))} cannot be read as text; expected a "
            f"file with the id of an item a line",
            code="input.unreadable" if isinstance(error, OSError) else "input.encoding",
        ) from error
    return [line.strip() for line in text.splitlines()], Path(given).name
