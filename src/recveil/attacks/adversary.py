"""The auxiliary information of an adversary about a target."""

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from recveil.runtime.errors import RecveilError, option_named, quoted, unknown

WrongKind = Literal["value", "item"]
Algorithm = Literal["scoreboard-rh", "scoreboard"]

# Narayanan & Shmatikov's decision parameters: φ, ρ0 in points and d0 in days.
ECCENTRICITY, RATING_WIDTH, DAY_WIDTH = 1.5, 1.5, 30.0

# Lower and upper limit of each option, its description, and whether it must be whole. No table
# exceeds these counts of ratings, items or days.
_MOST = 1_000_000_000
_MOST_DAYS = 10_000_000
_DAYS = "a whole number of days, at least 0"
_LIMITS = {
    "known": (1, _MOST, "a whole number, at least 1", True),
    "right": (0, _MOST, "a whole number from 0 to known", True),
    "rating_error": (
        0,
        1e30,
        "a number of points, at least 0, or None (as text: any)",
        False,
    ),
    "date_error": (0, _MOST_DAYS, f"{_DAYS}, or None (as text: none)", True),
    "outside_top": (0, _MOST, "a whole number of items, at least 0", True),
    "activity_error": (0, 1e30, "a share, at least 0; None if it is left out", False),
    "first_date_error": (0, _MOST_DAYS, f"{_DAYS}, or None (as text: none)", True),
    "eccentricity": (0, 1e30, "a number, at least 0, or 'auto'", False),
    "rating_width": (1e-9, 1e30, "a number of points above 0", False),
    "day_width": (1e-9, 1e30, "a number of days above 0", False),
    "threshold": (1e-9, 1, "a similarity above 0, at most 1", False),
}


@dataclass(frozen=True)
class Adversary:
    """Knows some ratings of each target, within given errors and partly wrong.

    Parameters
    ----------
    known : int
        Number m of the target's ratings that they claim to know.
    right : int, optional
        Number of correct ones (within the errors); all, if not given.
    wrong_kind : {"value", "item"}
        A wrong entry has a wrong value of an item that the target rated, or is an item that they
        did not rate.
    rating_error : float or None
        Largest error of a rating in points, uniform over the scale's values within; None: they know
        which items were rated, but no ratings.
    date_error : int or None
        Largest error of a date in days, uniform; None: they know no dates.
    outside_top : int
        They know only items outside this many most rated ones.
    activity_error : float or None
        Relative error of the target's number of ratings (0.5 for ±50%); None: unknown.
    first_date_error : int or None
        Largest error of the date of the target's first rating in days, uniform; None: unknown.
    likes_only : bool
        They know only whether the target liked the item, which is any rating above the middle of
        the scale. `rating_error` is then half of the range that this leaves open: `with_likes` sets
        it for a scale.
    algorithm : {"scoreboard-rh", "scoreboard"}
        The paper's attack whose matches are reported next to the strongest attack: Scoreboard-RH
        (`eccentricity`) or the plain Scoreboard (`threshold`).
    eccentricity : float or "auto"
        φ of Scoreboard-RH: a best guess whose score leads by fewer standard deviations is no match.
        "auto": the value at which false accepts and false rejects are equally frequent.
    rating_width, day_width : float
        ρ0 in points and d0 in days, over which the similarity of an entry falls by a factor e.
    threshold : float
        Alpha of Scoreboard: the matching set are the records whose least similar known entry
        reaches it; 1 requires agreement within the errors.
    name, description : str
        Display name, and one sentence about them.
    notes : tuple of str
        Sentences on what a table changed about them, which end the description, too.

    Raises
    ------
    RecveilError
        If a number is out of range.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 5, where "n of m" means `right` of `known`, and section 4
    for the parameters of the decision.

    Examples
    --------
    >>> Adversary(known=8, right=6, rating_error=0, date_error=14).right
    6
    >>> Adversary(known=4).right
    4
    """

    known: int = 8
    right: int | None = None
    wrong_kind: WrongKind = "value"
    rating_error: float | None = 0
    date_error: int | None = None
    outside_top: int = 0
    activity_error: float | None = None
    likes_only: bool = False
    name: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()
    algorithm: Algorithm = "scoreboard-rh"
    eccentricity: float | Literal["auto"] = ECCENTRICITY
    rating_width: float = RATING_WIDTH
    day_width: float = DAY_WIDTH
    threshold: float = 1.0
    first_date_error: int | None = None

    def __post_init__(self) -> None:
        if self.right is None:
            object.__setattr__(self, "right", self.known)
        self._check_limits()
        if self.n_right > self.known:
            raise RecveilError(
                f"right (--right) is {self.right}; expected from 0 to known (--known), "
                f"{self.known}",
                code="option.value",
            )
        if self.likes_only and self.rating_error is None:
            raise RecveilError(
                "likes_only needs ratings, but rating_error is None; expected a "
                "number of points, or an adversary who knows items alone",
                code="option.conflict",
            )
        for name, kind in (("wrong_kind", WrongKind), ("algorithm", Algorithm)):
            if getattr(self, name) not in get_args(kind):
                choices = " or ".join(map(repr, get_args(kind)))
                raise RecveilError(
                    f"{option_named(name)} is {getattr(self, name)!r}; expected {choices}",
                    code="option.value",
                )
        self._check_algorithm()

    def _check_limits(self) -> None:
        for name, (least, most, expected, whole) in _LIMITS.items():
            value = getattr(self, name)
            if value in (None, "auto") and str(value) in expected:
                continue
            is_number = isinstance(value, numbers.Integral if whole else numbers.Real)
            # Written so that nan fails as well.
            if not (is_number and least <= value <= most):
                at_most = f", at most {most:,}" if is_number and whole and value > most else ""
                raise RecveilError(
                    f"{option_named(name)} is {quoted(value)}; expected {expected}{at_most}",
                    code="option.value",
                )

    def _check_algorithm(self) -> None:
        """Raise for a parameter that the algorithm does not use."""
        is_plain = self.algorithm == "scoreboard"
        unused, default = ("eccentricity", ECCENTRICITY) if is_plain else ("threshold", 1.0)
        if getattr(self, unused) != default:
            raise RecveilError(
                f"{option_named(unused)} is {getattr(self, unused)}, but the algorithm "
                f"{self.algorithm} does not use it; leave it out, or choose the other algorithm "
                f"(--algorithm)",
                code="option.conflict",
            )

    @property
    def n_right(self) -> int:
        """Number of right entries, never None."""
        return self.known if self.right is None else self.right

    def without_dates(self) -> "Adversary":
        """Return the same adversary without dates."""
        return replace(self, date_error=None, first_date_error=None)

    def noted(self, note: str) -> "Adversary":
        """Return the same adversary with one more note, also at the end of the description."""
        description = f"{self.description} {note}".strip()
        return replace(self, description=description, notes=(*self.notes, note))

    def settings(self) -> dict[str, object]:
        """Return the options for a report."""
        return {
            "known": self.known,
            "right": self.n_right,
            "wrong_kind": self.wrong_kind,
            "rating_error": self.rating_error,
            "date_error": self.date_error,
            "pool": "all" if not self.outside_top else f"outside the top {self.outside_top}",
            "activity_error": self.activity_error,
            "first_date_error": self.first_date_error,
            "likes_only": self.likes_only,
            "algorithm": self.algorithm,
            "eccentricity": self.eccentricity,
            "rating_width": self.rating_width,
            "day_width": self.day_width,
            "threshold": self.threshold,
        }


PRESETS = {
    "colleague": Adversary(
        known=4,
        rating_error=1,
        date_error=14,
        name="colleague",
        description="A colleague who talked with the user about four items, and knows to within "
        "two weeks when the user rated them, and roughly how.",
    ),
    "public-profile": Adversary(
        known=8,
        name="public-profile",
        description="An adversary who reads eight of the user's ratings, exact but undated, from a "
        "public profile elsewhere.",
    ),
    "paper": Adversary(
        known=8,
        right=6,
        date_error=14,
        name="paper",
        description="The adversary who re-identified 99% of the users in the Netflix Prize data: "
        "eight ratings with dates within 14 days, two of them wrong.",
    ),
    "film-buff": Adversary(
        known=8,
        right=6,
        outside_top=500,
        name="film-buff",
        description="An adversary who knows eight items that the user rated outside the 500 most "
        "rated ones, two of them wrongly, and no dates.",
    ),
    "bystander": Adversary(
        known=8,
        rating_error=None,
        name="bystander",
        description="An adversary who knows eight items that the user rated, but not how.",
    ),
    "likes": Adversary(
        known=8,
        rating_error=1,
        likes_only=True,
        name="likes",
        description="An adversary who knows of eight items whether the user liked them, and no "
        "more.",
    ),
    "likes-16": Adversary(
        known=16,
        rating_error=1,
        likes_only=True,
        name="likes-16",
        description="An adversary who knows of sixteen items whether the user liked them, and no "
        "more.",
    ),
    "insider": Adversary(
        known=16,
        date_error=0,
        activity_error=0.0,
        name="insider",
        description="An adversary who once saw sixteen of the user's ratings with their exact "
        "dates, and how many there were.",
    ),
}


def choose_adversaries(given: Iterable[Adversary | str] | None) -> list[Adversary]:
    """Return adversaries, presets by their names; all presets if none is given.

    >>> [each.known for each in choose_adversaries(["paper", Adversary(known=3)])]
    [8, 3]
    """
    if isinstance(given, Adversary | str):
        given = [given]
    chosen = []
    for each in given or ():
        if isinstance(each, str):
            if each not in PRESETS:
                raise unknown("adversary", each, PRESETS)
            each = PRESETS[each]
        if not isinstance(each, Adversary):
            raise RecveilError(
                f"adversaries: expected an Adversary or the name of a preset, got {quoted(each)}; "
                f"choose from {', '.join(PRESETS)}",
                code="argument.type",
            )
        chosen.append(each)
    return chosen or [*PRESETS.values()]
