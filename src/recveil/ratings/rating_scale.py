"""The rating scale, which defines the possible values of a rating."""

import csv
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from recveil.ratings.arrow_columns import written_out
from recveil.runtime.errors import RecveilError, listed, quoted, shortened

# Describes where a row is, given its position.
Locate = Callable[[int], str]
# More distinct labels are free text, not a scale.
MOST_LABELS = 100
LONGEST_LABEL = 40
# Text that a spreadsheet runs as a formula, also where it splits a cell; numbers such as -1 are
# safe.
_FORMULA = re.compile(r"(^|[;|])\s*'*[=+\-@＝＋－＠]")  # noqa: RUF001
_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")


def check_labels(labels: Sequence[str]) -> None:
    """Raise a RecveilError unless the labels can be published as ratings."""
    for label in labels:
        if problem := problem_of_label(label):
            raise RecveilError(f"label {quoted(label, 40)}: {problem}", code="scale.invalid")
    if len(labels) < 2:
        raise RecveilError(
            f"labels of ratings: expected two or more, got {len(labels)} ({listed(labels, 60)}); "
            f"name all of them, with commas between",
            code="scale.invalid",
        )
    if len(labels) > MOST_LABELS:
        raise RecveilError(
            f"labels of ratings: {len(labels):,}; expected at most {MOST_LABELS}; is this a column "
            f"of comments? Name another with rating (--rating)",
            code="scale.invalid",
        )
    if len(set(labels)) < len(labels):
        twice = next(label for at, label in enumerate(labels) if label in labels[:at])
        raise RecveilError(
            f"labels of ratings: {quoted(twice, 40)} occurs twice; name each label once",
            code="scale.invalid",
        )


def problem_of_label(label: object) -> str:
    """Return why a label cannot be published, with a remedy; "" if it can."""
    if not isinstance(label, str):
        return f"expected text, got {type(label).__name__}; write it as text"
    if not label:
        return "it is empty, which may mean no rating; leave such rows out"
    if len(label) > LONGEST_LABEL:
        return (
            f"it has {len(label):,} characters, more than {LONGEST_LABEL}; is this a column of "
            f"comments? Name another with rating (--rating)"
        )
    if label != label.strip():
        return "it begins or ends with a space; remove the space"
    if not label.isprintable():
        return "it contains a line break or an invisible character; rename it"
    if _FORMULA.search(label) and not _NUMBER.fullmatch(label):
        return "a spreadsheet would run it as a formula; rename it"
    return ""


def labels_in(text: str) -> tuple[str, ...]:
    """Parse comma-separated labels; a label with a comma must be quoted."""
    try:
        (found,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise RecveilError(
            f"labels {quoted(text)}: expected commas between them, such as hate,like,love; quote a "
            f"label that contains a comma",
            code="scale.invalid",
        ) from None
    return tuple(label.strip() for label in found)


def alike(labels: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of labels that differ only in letter case, spaces or Unicode encoding."""
    first: dict[str, str] = {}
    pairs = []
    for label in labels:
        usual = first.setdefault(_folded(label), label)
        if usual != label:
            pairs.append((usual, label))
    return pairs


def nearest_label(text: str, labels: Iterable[str]) -> str | None:
    """Return the label that differs from a text only in letter case and spaces.

    >>> nearest_label("Like ", ["like", "love"])
    'like'
    """
    return next((label for label in labels if _folded(label) == _folded(text)), None)


def _folded(label: str) -> str:
    return "".join(unicodedata.normalize("NFC", label).casefold().split())


# A finer scale is treated as continuous (step None).
MOST_LEVELS = 10_000

# With more steps, neighbouring levels are the same number.
_MOST_STEPS = 2**53

# Maximum length of a list of labels in a description.
_LONGEST_TEXT = 80
# Whole numbers below this are shown with all digits.
_LARGEST_IN_FULL = 1e15

# Maximum distance, in steps, of a stored float32 from its level.
_TOLERANCE = 1e-3


# A base class, as a signature is that of `__new__` if the class itself has one.
class _TwoEnds:
    __slots__ = ()

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Reject a text or a pair, which verbs take as they are."""
        if len(args) == 1 and "high" not in options:
            raise RecveilError(
                "RatingScale: takes low and high, as in RatingScale(1, 5, 1); give verbs the text "
                "1:5:1 as scale",
                code="argument.value",
            )
        return super().__new__(cls)


@dataclass(frozen=True, slots=True)
class RatingScale(_TwoEnds):
    """The values that a rating can take, from `low` to `high` in steps of `step`.

    Parameters
    ----------
    low, high : float
        The smallest and the largest rating, ``low <= high``.
    step : float or None
        Distance between neighbouring ratings; it divides ``high - low``. None for a continuous
        scale.
    inferred : bool
        Whether the ends come from the ratings, not from the caller. Anonymizers check how many
        users gave such ratings (`recveil.ratings.ratings`). For likes, whether they count as such
        only because all ratings are equal. Ignored when comparing scales.
    unary : bool
        Whether the ratings are likes: the user chose the item, without a rating. Every value is 1;
        all such scales equal `LIKES`.
    labels : tuple of str
        The label of each level, from the lowest, which is 1. Use `of_labels` to build such a scale.
        Only these labels are published, and no values between them.
    ordered : bool
        Whether the labels have an order. If not, they can only be equal or different.

    Raises
    ------
    RecveilError
        If a number is not finite, `low` is above `high`, or `step` does not divide the range; for
        labels that cannot be published.

    Examples
    --------
    >>> stars = RatingScale(1, 5, 1)
    >>> stars.levels
    array([1., 2., 3., 4., 5.])
    >>> stars.round([2.4, 3.6, 9.0])
    array([2., 4., 5.])
    """

    low: float
    high: float
    step: float | None = None
    inferred: bool = field(default=False, compare=False, repr=False)
    unary: bool = field(default=False, repr=False)
    labels: tuple[str, ...] = field(default=(), repr=False)
    ordered: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        numbers = [self.low, self.high] + ([] if self.step is None else [self.step])
        try:
            for name, number in zip(("low", "high", "step"), numbers, strict=False):
                object.__setattr__(self, name, float(number) + 0.0)  # turns -0.0 into 0.0
        except OverflowError:
            raise RecveilError(
                "scale: one of its numbers has hundreds of digits; write LOW:HIGH:STEP, such as "
                "1:5:1",
                code="scale.invalid",
            ) from None
        if not all(math.isfinite(number) for number in numbers):
            raise RecveilError(
                f"scale {self}: expected finite numbers; write LOW:HIGH:STEP", code="scale.invalid"
            )
        if self.labels:
            self._check_labels()
        if self.low > self.high:
            raise RecveilError(
                f"scale {self}: its low end is above its high end; swap them", code="scale.invalid"
            )
        if self.step is None:
            return
        steps = self.range / self.step if self.step > 0 else math.inf
        if steps > _MOST_STEPS or abs(steps - round(steps)) > _TOLERANCE:
            raise RecveilError(
                f"scale {self}: the step must be positive and divide {self.range:g}, "
                f"got {self.step:g}; give another step, or leave it out for a continuous scale",
                code="scale.invalid",
            )
        if _leads_nowhere(self.low, self.high, self.step):
            raise RecveilError(
                f"scale {self}: a step of {self.step:g} leads from no rating to another, since "
                f"numbers have 16 digits; give a larger one, or leave it out",
                code="scale.invalid",
            )

    def _check_labels(self) -> None:
        check_labels(self.labels)
        if (self.low, self.high, self.step) != (1, len(self.labels), 1):
            raise RecveilError(
                f"scale: {len(self.labels)} labels are numbered from 1 to {len(self.labels)}, got "
                f"{self.low:g} to {self.high:g}; take RatingScale.of_labels",
                code="scale.invalid",
            )

    @classmethod
    def of_labels(cls, labels: str | Iterable[str], *, ordered: bool = True) -> Self:
        """Return a scale of labels.

        Parameters
        ----------
        labels : str or iterable of str
            All distinct labels, from the lowest if they have an order. A string separates them with
            commas.
        ordered : bool
            Whether the labels have an order.

        Raises
        ------
        RecveilError
            For a label that cannot be published, and for fewer than two, or too many.

        Examples
        --------
        >>> scale = RatingScale.of_labels("hate, dislike, like, love")
        >>> scale.labels[0], scale.low, scale.high, str(scale)
        ('hate', 1.0, 4.0, 'hate < dislike < like < love')
        """
        given = labels_in(labels) if isinstance(labels, str) else tuple(labels)
        check_labels(given)
        return cls(1, len(given), 1, labels=given, ordered=ordered)

    @classmethod
    def from_json(cls, description: Mapping[str, Any]) -> Self:
        """Return the scale described in a release.

        Examples
        --------
        >>> RatingScale.from_json({"low": 1.0, "high": 5.0, "step": 1.0})
        RatingScale(low=1.0, high=5.0, step=1.0)
        """
        scale = cls(description["low"], description["high"], description["step"])
        if "labels" not in description:
            return scale
        named = cls(
            scale.low,
            scale.high,
            scale.step,
            labels=tuple(description["labels"]),
            ordered=description["ordered"],
        )
        check_labels(named.labels)
        return named

    def to_json(self) -> dict[str, object]:
        """Return its description for a release.

        Examples
        --------
        >>> RatingScale.of_labels("no,yes").to_json()
        {'low': 1.0, 'high': 2.0, 'step': 1.0, 'labels': ['no', 'yes'], 'ordered': True}
        """
        return {"low": self.low, "high": self.high, "step": self.step} | self.labels_to_json()

    def labels_to_json(self) -> dict[str, object]:
        """Return its labels, for JSON, and whether they have an order; empty without labels."""
        return {"labels": list(self.labels), "ordered": self.ordered} if self.labels else {}

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``LOW:HIGH`` or ``LOW:HIGH:STEP``.

        Raises
        ------
        RecveilError
            If the text is not two or three numbers.

        Examples
        --------
        >>> RatingScale.parse("0.5:5:0.5")
        RatingScale(low=0.5, high=5.0, step=0.5)
        """
        try:
            low, high, *step = (float(part) for part in text.split(":"))
            (step_or_none,) = step or (None,)
        except ValueError:
            raise RecveilError(
                f"scale {text!r}: expected LOW:HIGH or LOW:HIGH:STEP, such as 1:5:1",
                code="scale.invalid",
            ) from None
        return cls(low, high, step_or_none)

    @classmethod
    def infer(cls, values: ArrayLike) -> Self:
        """Infer the scale from the range and common step of ratings.

        Without a common step the ends are rounded outwards to about two digits.

        Parameters
        ----------
        values : array-like of float, shape (n,)
            Ratings, at least one, all finite.

        Examples
        --------
        >>> RatingScale.infer([3, 1, 4.5, 2])
        RatingScale(low=1.0, high=4.5, step=0.5)
        """
        levels = distinct(values)
        if levels.size == 0:
            raise RecveilError(
                "there are no ratings to infer a scale from; give scale (--scale)",
                code="table.no-ratings",
            )
        low, high = _shortest(levels[0]), _shortest(levels[-1])
        if n_steps := _count_steps(levels):
            step = float(f"{(high - low) / n_steps:.12g}")
            stepped = cls(low, high, None if _leads_nowhere(low, high, step) else step, True)
            if stepped.step is not None and stepped.contains(levels).all():
                return stepped
        lowest, highest = float(levels[0]), float(levels[-1])
        if lowest == highest:
            end = low if cls(low, low).contains(lowest) else lowest
            return cls(end, end, inferred=True)
        # The ends of a continuous scale would be two users' exact ratings: round them outwards.
        grid = 10.0 ** math.floor(math.log10(highest - lowest)) / 10
        ends = math.floor(lowest / grid) * grid, math.ceil(highest / grid) * grid
        low, high = (float(f"{end:.12g}") for end in ends)
        return cls(low, high, inferred=True)

    @property
    def range(self) -> float:
        """Distance between the ends of the scale, in rating points."""
        return self.high - self.low

    @property
    def is_fine(self) -> bool:
        """Whether the scale is continuous, or has so many levels that ratings rarely repeat."""
        return self.step is None or self.range / self.step > MOST_LEVELS

    @property
    def liked_from(self) -> float:
        """The rating from which an item counts as liked, three quarters up the scale.

        Examples
        --------
        >>> RatingScale(1, 5, 1).liked_from
        4.0
        """
        return self.low + 0.75 * self.range

    @property
    def levels(self) -> NDArray[np.float64]:
        """All ratings on the scale, ascending; raises for a continuous scale."""
        if self.step is None:
            raise RecveilError(
                f"scale {self} is continuous and has no levels; give it a step",
                code="scale.continuous",
            )
        return self.round(self.low + self.step * np.arange(round(self.range / self.step) + 1))

    def contains(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Return for each value whether it is a rating on this scale.

        Examples
        --------
        >>> RatingScale(1, 5, 1).contains([0, 1, 2.5, 5])
        array([False,  True, False,  True])
        """
        numbers = np.asarray(values, dtype=np.float64)
        slack = _TOLERANCE * (self.step or self.range or 1.0)
        inside = (numbers >= self.low - slack) & (numbers <= self.high + slack)
        if self.step is None:
            return inside
        steps = (np.where(inside, numbers, self.low) - self.low) / self.step
        # Ratings are stored in single precision, which moves them by at most this much.
        moved = np.finfo(np.float32).eps * np.where(inside, np.abs(numbers), 0.0) / self.step
        return inside & (np.abs(steps - np.rint(steps)) <= np.maximum(_TOLERANCE, moved))

    def round(self, values: ArrayLike, step: float | None = None) -> NDArray[np.float64]:
        """Round each value to the nearest rating on the scale (halves to the even step).

        Parameters
        ----------
        values : array-like of float
            Any numbers; those outside the scale are clipped to its ends.
        step : float, optional
            A finer or coarser grid, counted from `low`, in place of the scale's own step.
        """
        numbers = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        grid = step or self.step
        if grid is None:
            return numbers
        rounded = self.low + grid * np.rint((numbers - self.low) / grid)
        # Ten digits remove the binary error of decimals such as 0.1; + 0.0 turns -0.0 into 0.0.
        return np.minimum(np.round(rounded, 10), self.high) + 0.0

    @property
    def exact_description(self) -> str:
        """Text representation of the scale, with all of its labels."""
        return f"{self.labels} {self.ordered}" if self.labels else str(self)

    def __str__(self) -> str:
        if self.unary:
            return "likes"
        if self.labels:
            text = (" < " if self.ordered else ", ").join(self.labels)
            return shortened(text, _LONGEST_TEXT)
        numbers = (self.low, self.high) + (() if self.step is None else (self.step,))
        return ":".join(map(format_level, numbers))


def format_level(number: float) -> str:
    """Format a number of a scale, whole ones in full.

    >>> format_level(16_777_216.0), format_level(0.5), format_level(1 / 3)
    ('16777216', '0.5', '0.333333')
    """
    is_whole = float(number).is_integer() and abs(number) < _LARGEST_IN_FULL
    return f"{number:.0f}" if is_whole else f"{number:g}"


def distinct(values: ArrayLike) -> NDArray[np.float64]:
    """Return the distinct values, ascending; hashing is fast if they are few.

    >>> distinct([4, 3.5, 4])
    array([3.5, 4. ])
    """
    numbers = np.ascontiguousarray(values)
    if numbers.dtype.kind != "f":
        numbers = numbers.astype(np.float64)
    return np.unique(pc.unique(pa.array(numbers.ravel())).to_numpy().astype(np.float64))


def scale_of(scale: "ScaleLike | None") -> RatingScale | None:
    """Return a scale that is given as one, as text or as a tuple; None for none.

    >>> scale_of("1:5:1") == scale_of((1, 5, 1)) == RatingScale(1, 5, 1)
    True
    """
    if scale is None or isinstance(scale, RatingScale):
        return scale
    if isinstance(scale, str):
        return RatingScale.parse(scale)
    if isinstance(scale, tuple | list) and len(scale) in (2, 3):
        try:
            return RatingScale(*scale)
        except RecveilError:
            raise
        except (TypeError, ValueError):
            pass
    raise RecveilError(
        f"scale is {quoted(scale)}; expected LOW:HIGH:STEP, such as '1:5:1', the same as a tuple, "
        f"(1, 5, 1), or a RatingScale",
        code="argument.type",
    )


def reject_off_scale(
    values: NDArray[Any], scale: RatingScale, locate: Callable[[int], str]
) -> None:
    """Raise a RecveilError with the place of the first rating that is not on the scale."""
    # There are far fewer distinct ratings than ratings.
    if scale.contains(distinct(values)).all():
        return
    row = int(np.argmin(scale.contains(values)))
    raise RecveilError(
        f"{locate(row)}: rating {values[row]:g} outside the scale {scale}; "
        f"give another scale (--scale), or drop the row",
        code="rating.off-scale",
    )


def _count_steps(levels: NDArray[np.float64]) -> int | None:
    """Count the steps from the lowest to the highest level, for the largest common step."""
    if not 1 < levels.size <= MOST_LEVELS:
        return None
    span, step = float(levels[-1] - levels[0]), float(np.diff(levels).min())
    for offset in levels - levels[0]:
        # Euclid's algorithm; a remainder within the tolerance is rounding error.
        remainder = abs(math.remainder(float(offset), step))
        while remainder > _TOLERANCE * step and span / remainder <= MOST_LEVELS:
            step, remainder = remainder, abs(math.remainder(step, remainder))
        if remainder > _TOLERANCE * step:
            return None
    return round(span / step) if span / step <= MOST_LEVELS else None


def _leads_nowhere(low: float, high: float, step: float) -> bool:
    """Return whether a step is below the precision of one of the ends."""
    return low + step == low or high - step == high


def _shortest(number: float) -> float:
    """Undo the conversion to float32, in which 0.1 becomes 0.10000000149."""
    return float(str(np.float32(number)))


# All ways to give a scale: as one, as LOW:HIGH:STEP, or as a tuple of these numbers.
ScaleLike = RatingScale | str | Sequence[float | None]

# The scale of likes. Code that needs a range must check `unary` first: the range is 0, with one
# level.
LIKES = RatingScale(1, 1, 1, unary=True)


def all_ratings(number: int) -> str:
    """Return the start of a sentence about all ratings.

    >>> all_ratings(1), all_ratings(2)
    ('the only rating is', 'all 2 ratings are')
    """
    return "the only rating is" if number == 1 else f"all {number:,} ratings are"


def published_values(values: NDArray[Any], scale: RatingScale) -> pa.Array:
    """Return ratings as they are published, as labels if their scale has labels."""
    return labels_at(values, scale) if scale.labels else pa.array(values)


def labels_at(values: NDArray[Any], scale: RatingScale, what: str = "rating") -> pa.Array:
    """Return the labels of ratings or values, which must be levels of their scale."""
    places = np.rint(values).astype(np.int32)
    if values.size and (np.abs(places - values).max() > 0 or not scale.contains(places).all()):
        raise RecveilError(
            "a value is between two labels, so that none fits; expected values on the scale",
            code="rating.off-scale",
        )
    column = pa.DictionaryArray.from_arrays(pa.array(places - 1), pa.array(scale.labels))
    return written_out(column, what)
