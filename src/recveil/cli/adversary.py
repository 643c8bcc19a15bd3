"""The adversary of an audit, as options describe it."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from recveil.cli.completing import one_of, presets
from recveil.cli.declare import add_options

if TYPE_CHECKING:
    from recveil.attack import Adversary

_ADVERSARY = "Adversary (all presets, if nothing here is given)"
# What is typed for knowing none at all.
_NONE = {"rating_error": "any", "date_error": "none"}

Preset = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        autocompletion=one_of(presets),
        rich_help_panel=_ADVERSARY,
        help="A ready-made adversary: colleague, public-profile, paper, film-buff, bystander,"
        " likes, likes-16 or insider (--explain says what each knows). Can be given "
        "several times.",
    ),
]
Known = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=_ADVERSARY,
        help="How many of a person's ratings the adversary thinks they know.",
    ),
]
Right = Annotated[
    int | None,
    typer.Option(rich_help_panel=_ADVERSARY, help="How many of these ratings are right."),
]
WrongKind = Annotated[
    Literal["value", "item"] | None,
    typer.Option(
        metavar="KIND",
        rich_help_panel=_ADVERSARY,
        help="What is wrong about the others: value, the rating of an item that was rated; "
        "item, the item, which was not rated.",
    ),
]
RatingError = Annotated[
    str | None,
    typer.Option(
        metavar="POINTS|any",
        rich_help_panel=_ADVERSARY,
        help="By how many points a known rating may be off; any: only the items are known, no"
        " ratings.",
    ),
]
DateError = Annotated[
    str | None,
    typer.Option(
        metavar="DAYS|none",
        rich_help_panel=_ADVERSARY,
        help="By how many days a known date may be off; none: no dates are known.",
    ),
]
OutsideTop = Annotated[
    int | None,
    typer.Option(
        rich_help_panel=_ADVERSARY, help="The adversary knows none of this many most rated items."
    ),
]
ActivityError = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=_ADVERSARY,
        help="The adversary knows how many ratings the person gave, to within this share "
        "(0.5: 50 %).",
    ),
]


def read_number(text: str, option: str, none: str) -> int | float | None:
    """Read a number, or the word that stands for there being none.

    Raises
    ------
    typer.BadParameter
        If it is neither, or not finite.

    Examples
    --------
    >>> [read_number(text, "--date-error", "none") for text in ("14", "0.5", "none")]
    [14, 0.5, None]
    """
    if text == none:
        return None
    try:
        number = int(text) if text.lstrip("-").isdigit() else float(text)
        if number - number != 0:
            raise ValueError(text)  # nan, or infinity
        return number
    except ValueError:
        raise refused_number(text, option, none) from None


def refused_number(text: str, option: str, none: str) -> typer.BadParameter:
    """Return the error that says what an option takes."""
    return typer.BadParameter(f"{option} {text!r}: expected a number or {none}")


def _as_adversaries(typed: dict[str, Any]) -> dict[str, Any]:
    """Return the adversaries that options describe, as `recveil.audit.audit` takes them."""
    presets = typed.pop("preset") or []
    given = {name: value for name, value in typed.items() if value is not None}
    told = ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())
    for name, none in _NONE.items():
        if name in given:
            given[name] = read_number(given[name], f"--{name.replace('_', '-')}", none)
    return {"adversaries": _choose(presets, given, told) if presets or given else None}


def _choose(presets: list[str], given: dict[str, Any], told: str) -> "list[Adversary]":
    """Take presets, and change in them what was given; one adversary of one's own without any."""
    from dataclasses import replace

    from recveil.attack import PRESETS, Adversary

    for name in presets:
        if name not in PRESETS:
            raise typer.BadParameter(f"--preset {name!r}: expected one of {', '.join(PRESETS)}")
    if not presets:
        return [
            Adversary(name="given", description=f"As given on the command line: {told}.", **given)
        ]
    # A preset's number of right entries belongs to its number of known ones.
    if "known" in given and "right" not in given:
        given = {**given, "right": given["known"]}
    # Whoever says how far off they are about ratings speaks of more than likes.
    if "rating_error" in given:
        given = {**given, "likes_only": False}
    # What describes a preset is not true of one that was changed.
    return [
        replace(PRESETS[name], **given, description=f"Like “{name}”, but for {told}.")
        if given
        else PRESETS[name]
        for name in presets
    ]


# Gives a verb the options about the adversary; it gets the keyword `adversaries`.
adversary_options = add_options(
    {
        "preset": (Preset, None),
        "known": (Known, None),
        "right": (Right, None),
        "wrong_kind": (WrongKind, None),
        "rating_error": (RatingError, None),
        "date_error": (DateError, None),
        "outside_top": (OutsideTop, None),
        "activity_error": (ActivityError, None),
    },
    _as_adversaries,
)
