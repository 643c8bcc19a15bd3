"""Estimates of the size of a release and of the time to make it."""

import math
import shutil
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.ratings import Ratings, RatingScale
from recveil.release.specs.sparse import MOST_COMMON
from recveil.runtime.errors import MachineError, RecveilError
from recveil.runtime.number_format import format_bytes, format_duration, format_large

Kind = Literal["padded", "simple", "co-rated", "sparse", "synthetic"]
# Maximum number of values per rating, unless `allow_large`.
_MOST_FOR_A_RATING = 100
# From which the estimate says how many there are per rating.
_MORE_THAN_RATINGS = 1.5
# A Parquet column stores each value as an index into its distinct values, and zstd compresses it.
# Measured on MovieLens (100K, latest-small), also with text item ids, and on synthetic tables
# (docs/explanation/performance.md has the large ones). About this share remains:
_LEFT_OF_VALUES = {"groups": 0.95, "users": 0.75}
_LEFT_OF_ITEMS = {"padded": 0.5, "simple": 0.8, "co-rated": 0.7, "sparse": 0.8, "synthetic": 0.8}
# Unrounded values are all distinct: dictionary encoding fails, and they are stored plainly; in
# copies of a row they repeat.
_BYTES_UNROUNDED = 10.5
_LEFT_OF_UNROUNDED = {"groups": 0.6, "users": 0.3}
# Parquet gives up a dictionary of texts that is larger.
_LARGEST_DICTIONARY = 1 << 20
# How many steps between items are written with the same number of bits; beyond an even spread.
_STEPS_TOGETHER, _BITS_MORE = 32, 2
# Parquet's overhead: headers, indices of users and sizes.
_DOUBT = 1.3
# Per user in the private folder, in addition to the id; per group digest in classes.csv.
_BYTES_PER_USER, _BYTES_PER_GROUP = 16, 70
# Seconds on two cores: to start; to read and learn from a rating; to predict a cell; to write,
# digest and verify a value; to sample whether a user rates an item; to compute how likely a class
# is to hold one.
_START, _LEARN, _PREDICT = 4.0, 1.1e-6, 1e-9
_DRAW, _CHOOSE = 2.5e-8, 7e-8
_WRITE = {"parquet": 1.2e-7, "csv": 6e-7}
# Remedies for synthetic releases.
FEWER_USERS = "a lower n_users (--n-users)"


class Expected(NamedTuple):
    """Estimated size and time of a release."""

    # Rows of the published file. With padded homogenizing and before grouping, as if all groups had
    # the minimum size.
    n_values: int
    # Number of ratings in the input
    ratings: int
    # Approximate size of the published and the private folder
    bytes: int
    # Required free disk space
    most_bytes: int
    # Approximate total time on two cores
    seconds: float
    # Kind of the rows
    kind: Kind
    # What they are made of, one of it
    what: Literal["rating", "like"] = "rating"

    def sentence(self, *, timed: bool = True) -> str:
        """Format the estimate; omit the time, which is that of one machine, where others work."""
        each = self.n_values / max(1, self.ratings)
        noun, of = ("likes", "like read") if self.what == "like" else ("values", "rating")
        noun = noun[:-1] if self.n_values == 1 else noun
        values = f"about {format_large(self.n_values)} {noun}"
        if each >= _MORE_THAN_RATINGS:
            values += f" ({each:,.{each < 10:d}f} per {of})"
        time = f", {format_duration(self.seconds)}" if timed else ""
        return f"{values}, {format_bytes(self.bytes)}{time}"


def expect_padded(
    ratings: Ratings,
    k: int,
    levels: NDArray[np.int64] | None,
    layout: str,
    file_format: str,
    step: float | None = None,
) -> Expected:
    """Estimate the size of a padded release before grouping; `step` is None without rounding."""
    # A group has as many users as its highest level requires.
    shares = 1 / k if levels is None else 1 / levels
    n_groups = max(1, math.floor(float(np.broadcast_to(shares, ratings.n_users).sum()) + 1e-6))
    rated = np.full(n_groups, (ratings.support > 0).sum())
    sizes = np.full(n_groups, ratings.n_users / n_groups)
    return expect(ratings, "padded", rated, sizes, layout, file_format, step)


# Of a published date; of users with equal rows, Parquet compresses all but one.
_BYTES_OF_DATE = {"csv": len(",2026-01-01"), "parquet": 0.4}


def expect_sparse(
    ratings: Ratings,
    k: int,
    layout: str,
    file_format: str,
    step: float | None,
    *,
    has_dates: bool = False,
) -> Expected:
    """Estimate the size of sparse rows before grouping; the parameters are `expect_padded`'s."""
    n_classes = max(1, ratings.n_users // k)
    kept = ratings.support[ratings.support >= k].sum()
    widths = np.full(n_classes, max(1.0, kept / ratings.n_users))  # no row is empty
    sizes = np.full(n_classes, ratings.n_users / n_classes)
    return expect(ratings, "sparse", widths, sizes, layout, file_format, step, has_dates=has_dates)


def expect(
    ratings: Ratings,
    kind: Kind,
    widths: NDArray[Any],
    sizes: NDArray[Any],
    layout: str,
    file_format: str,
    step: float | None = None,
    *,
    has_dates: bool = False,
) -> Expected:
    """Estimate the size of groups' rows of some widths in values, and sizes in users."""
    # Users with co-rated rows have their own values in any layout.
    each = (
        layout == "users"
        or kind == "co-rated"
        or (layout == "auto" and kind in ("simple", "sparse"))
    )
    values = round(float((widths * sizes if each else widths).sum()))
    if file_format == "csv":
        per_value = _bytes_of_line(ratings.n_users, ratings.items, ratings.scale, kind, step)
        most_per_value = 1.1 * per_value
    else:
        per_value, most_per_value = _bytes_in_parquet(ratings, kind, widths, sizes, step, each=each)
    if has_dates:
        of_date = _BYTES_OF_DATE[file_format]
        per_value, most_per_value = per_value + of_date, most_per_value + 4 * of_date
    around = ratings.n_users * (_BYTES_PER_USER + _mean_length(ratings.users))
    around += widths.size * _BYTES_PER_GROUP
    if each:
        around += ratings.n_users * _BYTES_PER_USER  # their pseudonyms
    predicted = ratings.n_users * ratings.n_items if kind == "padded" else 0
    seconds = _START + _LEARN * ratings.n_ratings + _PREDICT * predicted
    if kind == "sparse":
        seconds += _CHOOSE * widths.size * min(ratings.n_items, MOST_COMMON)
    return Expected(
        n_values=values,
        ratings=ratings.n_ratings,
        bytes=round(values * per_value + around),
        most_bytes=round(values * most_per_value + 1.5 * around),
        seconds=seconds + _WRITE[file_format] * values,
        kind=kind,
        what="like" if ratings.is_unary else "rating",
    )


def expect_synthetic(
    items: NDArray[Any],
    scale: RatingScale,
    n_users: int,
    activity: float,
    ratings: float,
    file_format: str,
    step: float,
) -> Expected:
    """Estimate the size of a synthetic release from its model.

    `activity` is the mean number of ratings per synthetic user; `ratings`, the number of real ones.

    >>> scale = RatingScale(1, 5, 1)
    >>> expect_synthetic(np.arange(30), scale, 10_000, 8.0, 400.0, "csv", 0.1).sentence()
    'about 80,000 values (200 per rating), 1.97 MB, 4 s'
    """
    values = round(n_users * activity)
    if file_format == "csv":
        per_value = _bytes_of_line(n_users, items, scale, "synthetic", step)
        most_per_value = 1.1 * per_value
    else:
        of_value = math.log2(scale.range / step + 2) / 8
        of_item = _bytes_of_item(items, activity)
        per_value = _LEFT_OF_VALUES["users"] * of_value + _LEFT_OF_ITEMS["synthetic"] * of_item
        most_per_value = _DOUBT * (of_value + of_item)
    around = n_users * _BYTES_PER_USER
    return Expected(
        n_values=values,
        ratings=round(ratings),
        bytes=round(values * per_value + around),
        most_bytes=round(values * most_per_value + 1.5 * around),
        seconds=_START + _DRAW * n_users * items.size + _WRITE[file_format] * values,
        kind="synthetic",
        what="like" if scale.unary else "rating",
    )


def reject_too_large(expected: Expected, parent: Path, layout: str, *, allow_large: bool) -> None:
    """Raise a RecveilError if a release will not fit the disk, or is far larger than its input."""
    remedy = _remedy(expected.kind, layout)
    is_large = (
        expected.kind != "synthetic" and expected.n_values > _MOST_FOR_A_RATING * expected.ratings
    )
    if is_large and not allow_large:
        raise RecveilError(
            f"expected {expected.sentence()}: more than {_MOST_FOR_A_RATING} values per "
            f"{expected.what}; choose {remedy}, or give allow_large (--allow-large)",
            code="release.too-large",
        )
    reject_beyond_disk(expected, parent, remedy)


def reject_beyond_disk(expected: Expected, parent: Path, remedy: str) -> None:
    """Raise a RecveilError if a release will not fit the disk."""
    free = shutil.disk_usage(parent).free
    if expected.most_bytes > free:
        raise MachineError(
            f"{parent.name or parent}: up to {format_bytes(expected.most_bytes)} would be written, "
            f"but {format_bytes(free)} are free; free some, choose another output, or "
            f"choose {remedy}",
            code="machine.disk",
        )


def _remedy(kind: Kind, layout: str) -> str:
    groups = "layout groups (--layout groups)"
    if kind == "synthetic":
        return FEWER_USERS
    if kind == "padded":
        smaller = (
            "homogenize simple (--homogenize simple; it reveals lone ratings), fewer items, or a "
            "larger k (--k)"
        )
        return f"{groups}, {smaller}" if layout == "users" else smaller
    if kind == "simple":
        return groups if layout != "groups" else "a smaller k (--k)"
    if kind == "sparse":
        return groups if layout != "groups" else "a larger k (--k)"
    return "grouping supports (--grouping supports), or a smaller k (--k)"


def _bytes_in_parquet(
    ratings: Ratings,
    kind: Kind,
    widths: NDArray[Any],
    sizes: NDArray[Any],
    step: float | None,
    *,
    each: bool,
) -> tuple[float, float]:
    """Return how many bytes a label and its item take, about and at most."""
    layout = "users" if each else "groups"
    values = _n_distinct_values(ratings, kind, sizes, step)
    if math.isinf(values):
        of_value, left = _BYTES_UNROUNDED, _LEFT_OF_UNROUNDED[layout]
    else:
        of_value, left = math.log2(values + 1) / 8, _LEFT_OF_VALUES[layout]
    of_item = _bytes_of_item(ratings.items, float(widths.mean()) if widths.size else 1.0)
    about = left * of_value + _LEFT_OF_ITEMS[kind] * of_item
    return about, _DOUBT * (of_value + of_item)


def _n_distinct_values(
    ratings: Ratings, kind: Kind, sizes: NDArray[Any], step: float | None
) -> float:
    """Return how many different labels there may be."""
    scale = ratings.scale
    if step is not None:
        return scale.range / step + 1
    if kind != "simple" or scale.step is None:
        return math.inf
    # Means of up to so many ratings, each a step of the scale.
    largest = float(sizes.max()) if sizes.size else 1.0
    return (scale.range / scale.step + 1) * max(1.0, largest**2 / 2)


def _bytes_of_item(items: NDArray[Any], width: float) -> float:
    if items.dtype == object:
        of_text = _mean_length(items) + 4
        if items.size * of_text > _LARGEST_DICTIONARY:
            return of_text
        return math.log2(items.size + 1) / 8 + of_text / 100
    some = np.sort(items)[:: max(1, int(items.size // max(width, 1.0)))].astype(float)
    steps = np.diff(some)
    if not steps.size:
        return 8.0
    widest = np.maximum.reduceat(steps, np.arange(0, steps.size, _STEPS_TOGETHER))
    return min(8.0, float(np.log2(widest + 1).mean() + _BITS_MORE) / 8)


def _bytes_of_line(
    n_users: int, items: NDArray[Any], scale: RatingScale, kind: Kind, step: float | None
) -> float:
    """Return the length of a line of CSV: a pseudonym and an item in quotes, a label, a size."""
    pseudonym = len("p0000-") + len(str(n_users)) + 2
    item = _mean_length(items) + (2 if items.dtype == object else 0)
    before_point = len(f"{scale.high:.0f}")
    # Means of few ratings are often short.
    after_point = len(f"{step % 1:.6g}") - 1 if step else (16 if kind == "padded" else 8)
    return pseudonym + item + before_point + after_point + len(",,,5\n")


def _mean_length(labels: NDArray[Any]) -> float:
    return sum(len(str(label)) for label in labels.tolist()) / max(1, labels.size)
