"""Columns without names: who they are is known by their places, or not at all."""

from collections.abc import Mapping

from recveil.errors import RecveilError, describe_count, quoted
from recveil.ratings.columns import WIDE

ROLES = ("user", "item", "rating", "time")


def choose_positions(
    n_columns: int,
    given: Mapping[str, str | None],
    where: str,
    *,
    times: bool = True,
    rates: bool = True,
) -> dict[str, int]:
    """Say which column of a file without a header holds what, by its place from 1 on.

    What the caller does not say is taken from left to right, in the order user, item, rating, time.
    Whoever is going to publish the result must not rely on that: see `Reading.is_guessed`.

    Parameters
    ----------
    n_columns : int
    given : mapping of str to (str or None)
        Places of `user`, `item`, `rating` and `time`, as text, where the caller knows them.
    where : str
        What to call the file in an error.
    times : bool
        Whether times are wanted.
    rates : bool
        Whether there must be ratings. If not, two columns are likes, and so are three of which one
        was named that holds the times, and none that holds ratings.

    Raises
    ------
    RecveilError
        If a place is no number from 1 to `n_columns`, two are the same, or there are more columns
        than anybody could tell apart.

    Examples
    --------
    >>> choose_positions(4, {"user": "2", "item": "1"}, "ratings.csv")
    {'user': 2, 'item': 1, 'rating': 3, 'time': 4}
    """
    chosen = {
        role: _position(role, text, n_columns, where)
        for role in ROLES
        if (text := given.get(role)) is not None
    }
    likes = not rates and "rating" not in chosen and n_columns == 2 + ("time" in chosen)
    needed = [role for role in ROLES[:3] if role not in chosen]
    if (n_columns < 3 and not likes) or (n_columns > 4 and needed):
        wide = " (a wide matrix? Read it with wide, --wide)" if n_columns >= WIDE else ""
        needed = needed or list(ROLES[:3])
        left = [place for place in range(1, 7) if place not in chosen.values()]
        options = " ".join(f"--{each} {at}" for each, at in zip(needed, left, strict=False))
        raise RecveilError(
            f"{where}: {describe_count(n_columns, 'column')} and no header{wide}; expected user, "
            f"item, rating and perhaps time; say which is which by its place: {', '.join(needed)} "
            f"({options})",
            code="column.ambiguous",
        )
    free = [place for place in range(1, n_columns + 1) if place not in chosen.values()]
    wanted = [role for role in ROLES if role not in chosen and (n_columns <= 4 or role != "time")]
    chosen |= dict(zip(wanted, free, strict=False))
    if missing := [role for role in ROLES[: 2 if likes else 3] if role not in chosen]:
        raise RecveilError(
            f"{where}: no column is left for the {missing[0]}; say which one it is with "
            f"{missing[0]} (--{missing[0]})",
            code="column.missing",
        )
    if len(set(chosen.values())) < len(chosen):
        raise RecveilError(
            f"{where}: one column cannot be two of user, item, rating and time; give each another "
            f"place (--user, --item, --rating, --time)",
            code="option.conflict",
        )
    # Without ratings, whether it really holds times says whether they are likes.
    keeps = times or likes
    return {role: chosen[role] for role in ROLES if role in chosen and (keeps or role != "time")}


def as_text(given: Mapping[str, str | int | None]) -> dict[str, str | None]:
    """Let places be given as numbers, too: 2 is "2".

    Examples
    --------
    >>> as_text({"user": 2, "item": "film", "time": None})
    {'user': '2', 'item': 'film', 'time': None}
    """
    return {role: None if name is None else str(name) for role, name in given.items()}


def position_in(text: str, names: list[str]) -> str | None:
    """Return the name of the column at a place from 1 on; None if the text is no such place.

    Examples
    --------
    >>> position_in("2", ["film", "person"]), position_in("person", ["film", "person"])
    ('person', None)
    """
    place = place_of(text, len(names))
    return None if place is None else names[place - 1]


def place_of(text: str, n_columns: int) -> int | None:
    """Return the place from 1 on that a text tells; None if there is no such place.

    A number of thousands of digits, which Python would not read, is none.

    Examples
    --------
    >>> place_of("02", 3), place_of("4", 3), place_of("9" * 5_000, 3), place_of("two", 3)
    (2, None, None, None)
    """
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    place = int(digits) if 0 < len(digits) <= len(str(n_columns)) else 0
    return place if 1 <= place <= n_columns else None


def _position(role: str, text: str, n_columns: int, where: str) -> int:
    if (place := place_of(text, n_columns)) is None:
        raise RecveilError(
            f"{where}: {quoted(text)} for the {role}, but the file has no header; expected the "
            f"place of its column, from 1 to {n_columns} ({role}, --{role})",
            code="column.missing",
        )
    return place
