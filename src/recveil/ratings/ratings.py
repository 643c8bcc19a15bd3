"""The immutable table of ratings, checks of its scale, and privacy levels by rule."""

import hashlib
import re
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from recveil.ratings.arrow_columns import import_optional, written_out
from recveil.ratings.rating_scale import (
    LIKES,
    Locate,
    RatingScale,
    ScaleLike,
    all_ratings,
    distinct,
    published_values,
    reject_off_scale,
    scale_of,
)
from recveil.ratings.sorted_rows import Duplicates, first_fall, sorted_unique
from recveil.runtime.errors import (
    ReadingWarning,
    RecveilError,
    describe_count,
    no_attribute,
    quoted,
)
from recveil.runtime.safe_repr import html_line

if TYPE_CHECKING:
    from scipy import sparse

    from recveil.io.columns.build import Built


class Ratings:
    """An immutable table of ratings, one row of (item, rating, day) for each user.

    All functions that work on ratings use positions (0, 1, ...), not ids. Build a table with
    `from_frame` or `from_columns`; the constructor takes finished compressed rows and checks them.

    Parameters
    ----------
    users, items : array-like, shape (n_users,) and (n_items,)
        Distinct ids: int64, or str objects.
    indptr : array-like of int64, shape (n_users + 1,)
        The ratings of user u are at ``indptr[u]:indptr[u + 1]``.
    indices : array-like of int32, shape (n_ratings,)
        Positions of the rated items, strictly ascending in each row.
    values : array-like of float32, shape (n_ratings,)
        The ratings. A rating of 0 is a rating; unrated cells are not stored.
    days : array-like of int32, shape (n_ratings,), or None
        Days since 1970-01-01, UTC.
    scale : RatingScale
        The possible ratings.

    Raises
    ------
    RecveilError
        If the arrays do not fit together, a pair is repeated, or a rating is off the scale.

    Examples
    --------
    >>> ratings = Ratings.from_columns(["ann", "ben", "ann"], [7, 7, 9], [4, 2, 5])
    >>> ratings
    Ratings(2 users × 2 items, 3 ratings, 75% filled, scale 2:5:1, times unknown)
    >>> ratings.row(0)
    (array([0, 1], dtype=int32), array([4., 5.], dtype=float32))
    """

    users: NDArray[Any]
    items: NDArray[Any]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    days: NDArray[np.int32] | None
    scale: RatingScale

    def __init__(
        self,
        users: ArrayLike,
        items: ArrayLike | None = None,
        indptr: ArrayLike | None = None,
        indices: ArrayLike | None = None,
        values: ArrayLike | None = None,
        days: ArrayLike | None = None,
        scale: RatingScale | None = None,
    ) -> None:
        if items is None or indptr is None or indices is None or values is None or scale is None:
            raise RecveilError(
                "Ratings: expected finished compressed rows and their scale; call "
                "recveil.read(table), or Ratings.from_frame(table)",
                code="argument.type",
            )
        arrays = {
            "users": _frozen(users, None),
            "items": _frozen(items, None),
            "indptr": _frozen(indptr, np.int64),
            "indices": _frozen(indices, np.int32),
            "values": _frozen(values, np.float32),
            "days": None if days is None else _frozen(days, np.int32),
        }
        self.__dict__.update(arrays, scale=scale)
        self._check()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Ratings are immutable; build new ones instead of setting {name!r}")

    @classmethod
    def from_columns(
        cls,
        users: ArrayLike,
        items: ArrayLike,
        ratings: ArrayLike | None = None,
        days: ArrayLike | None = None,
        *,
        scale: ScaleLike | None = None,
        duplicates: Duplicates = "error",
    ) -> Self:
        """Build ratings from parallel columns in any order.

        Parameters
        ----------
        users, items : array-like, shape (n_ratings,)
            Ids, whole numbers or text.
        ratings : array-like of float, shape (n_ratings,), optional
            If not given, each row is a like.
        days : array-like of int, shape (n_ratings,), optional
            Days since 1970-01-01, UTC.
        scale : RatingScale, str or tuple, optional
            Such as "1:5:1"; inferred from the ratings if not given.
        duplicates : {"error", "last", "mean"}
            What to do if a user rates an item more than once; repeated likes count once.

        Raises
        ------
        RecveilError
            For arrays of different lengths, of more than one dimension, or of mixed kinds, and as
            `from_frame`.
        """
        from recveil.io.columns.frames import table_from_columns

        columns = {"users": users, "items": items}
        if ratings is not None:
            columns["ratings"] = ratings
        table = table_from_columns(columns, days)
        return cls.from_frame(table, scale=scale, duplicates=duplicates)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        time: str | None = None,
        time_format: str | None = None,
        scale: ScaleLike | None = None,
        duplicates: Duplicates = "error",
        drop_off_scale: bool = False,
        drop_missing_ids: bool = False,
        locate: Locate | None = None,
    ) -> Self:
        """Build ratings from a data frame, a sparse matrix or a data set.

        Parameters
        ----------
        frame : object with ``__arrow_c_stream__``, sparse matrix, or data set
            A pandas, polars, pyarrow or duckdb table with one rating per row (or one like, if there
            are no columns but users, items and times); a lazy frame of polars, which is collected;
            a sparse matrix of scipy with a row per user and a column per item, whose positions
            become the ids; or a data set of surprise or cornac.
        user, item, rating, time : str, optional
            Names of the columns; found by their usual names if not given. Without a column named as
            times, the only column that certainly holds dates is used. For a matrix,
            ``user="column"`` and ``item="row"`` transpose it.
        time_format : str, optional
            Format of times that are neither ISO dates nor Unix times, with the directives of
            ``datetime.strptime``, such as ``%d/%m/%Y``.
        scale : RatingScale, str or tuple, optional
            Such as "1:5:1" or ``(1, 5, 1)``; inferred from the ratings if not given.
        duplicates : {"error", "last", "mean"}
            What to do if a user rates an item more than once: raise, keep the latest rating (the
            last row, without times), or take the mean (rounded to a given scale's step).
        drop_off_scale : bool
            Drop rows without a rating, or with one off the given `scale`, instead of raising.
        drop_missing_ids : bool
            Drop rows without a user or item id, instead of raising.
        locate : callable, optional
            Returns the place of the row at a position, for an error; its number if not given.

        Raises
        ------
        RecveilError
            For other types, a matrix with stored zeros, which may or may not be ratings, missing
            columns or values, ratings that are not finite or off the scale, missing or invalid
            times if `time` or `time_format` is given, duplicates, or an empty table. The message
            names the first such row.

        Warns
        -----
        ReadingWarning
            If rows are dropped; if times come from a column without a usual name, or are not used
            although a column looks like dates or is named as times; if times of a column that was
            not named with `time` are dropped because some are missing or invalid; if different
            ratings became equal in single precision.

        Examples
        --------
        >>> table = pa.table({"userId": [1, 1, 2], "movieId": [5, 6, 5], "rating": [3.5, 4, 1]})
        >>> Ratings.from_frame(table)
        Ratings(2 users × 2 items, 3 ratings, 75% filled, scale 1:4:0.5, times unknown)
        """
        # The one import of a higher layer: a constructor belongs to its class.
        from recveil.io.columns.build import build, describe_dropped
        from recveil.io.columns.columns import NOT_SAID
        from recveil.io.columns.frames import frame_columns
        from recveil.io.columns.time_columns import describe_time_columns

        given: dict[str, Any] = {"user": user, "item": item, "rating": rating, "time": time}
        is_written = time_format is not None
        columns, names, look, _, place, *_ = frame_columns(frame, is_written=is_written, **given)
        feedback = NOT_SAID._replace(likes="rating" not in columns)
        are_days = "time" in columns and pa.types.is_date(columns["time"].type)
        built = build(
            columns,
            scale_of(scale),
            duplicates,
            locate or place,
            drop_off_scale=drop_off_scale,
            drop_missing_ids=drop_missing_ids,
            time_format=time_format,
            time_is_doubtful=look.name is not None,
            time_is_named=time is not None or is_written,
            feedback=feedback,
        )
        if not built.ratings_merged:
            built = built._replace(rating_note="")  # values are already in single precision
        odd = "" if are_days else built.time_note  # days have no unit that could be wrong
        notes = describe_time_columns(look, built.time_problem, names.get("time"), odd)
        for note in (*describe_dropped(built, duplicates), *notes):
            warnings.warn(note, ReadingWarning, stacklevel=2)
        return cls.from_built(built)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Name the right call for those of other libraries."""
            raise no_attribute(self, name)

        def __getitem__(self, _: object) -> Any:
            """Name the calls that return a table."""
            raise TypeError(f"{type(self).__name__} is no table; call to_pandas() or to_csr()")

    @staticmethod
    def read(source: Any, **options: Any) -> "Ratings":
        """Read ratings from a path or any table; `recveil.read` has the options.

        Examples
        --------
        >>> Ratings.read(pa.table({"user": [1, 2], "item": [7, 7], "rating": [5, 4]})).shape
        (2, 1)
        """
        from recveil.io import read

        return read(source, **options)

    @classmethod
    def from_built(cls, built: "Built") -> Self:
        """Take ownership of the arrays that `build` made; no other code may hold them."""
        rows = built.rows
        # Read-only arrays need not be copied.
        for array in (rows.indptr, rows.indices, rows.values, rows.days):
            if array is not None:
                _read_only(array)
        return cls(built.users, built.items, *rows, built.scale)

    def with_scale(self, scale: RatingScale) -> Self:
        """Return the same ratings on another scale, sharing memory.

        Raises
        ------
        RecveilError
            If a rating is not on it.
        """
        return type(self)(
            self.users, self.items, self.indptr, self.indices, self.values, self.days, scale
        )

    def as_likes(self) -> Self:
        """Return all ratings as likes, whatever their values.

        Examples
        --------
        >>> Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2]).as_likes()
        Ratings(2 users × 2 items, 3 likes, 75% filled, times unknown)
        """
        rows = self.users, self.items, self.indptr, self.indices, np.ones_like(self.values)
        return type(self)(*rows, self.days, LIKES)

    @property
    def is_unary(self) -> bool:
        """Whether the ratings are likes, with all values 1."""
        return self.scale.unary

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.users.size

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.items.size

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return self.values.size

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of users and items."""
        return self.n_users, self.n_items

    def __len__(self) -> int:
        return self.n_ratings

    @property
    def density(self) -> float:
        """Share of the user × item cells with a rating, between 0 and 1."""
        return self.n_ratings / max(1, self.n_users * self.n_items)

    @cached_property
    def activity(self) -> NDArray[np.int64]:
        """Number of ratings of each user, shape (n_users,)."""
        return _read_only(np.diff(self.indptr))

    @cached_property
    def support(self) -> NDArray[np.int64]:
        """Number of users who rated each item, shape (n_items,)."""
        return _read_only(np.bincount(self.indices, minlength=self.n_items))

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """Sum of the ratings of each item, shape (n_items,)."""
        values = self.values.astype(np.float64)
        return _read_only(np.bincount(self.indices, values, self.n_items).astype(np.float64))

    @property
    def csr(self) -> "sparse.csr_array":
        """The ratings as a scipy matrix, users × items, float32, sharing memory.

        A rating of 0 is stored like any other; do not call ``eliminate_zeros`` on it.
        """
        from scipy import sparse

        shape = (self.n_users, self.n_items)
        return sparse.csr_array((self.values, self.indices, self.indptr), shape=shape, copy=False)

    def row(self, user: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return one user's item positions (ascending) and ratings."""
        own = slice(self.indptr[user], self.indptr[user + 1])
        return self.indices[own], self.values[own]

    def user_positions(self) -> NDArray[np.int32]:
        """Return the position of the user of each rating, shape (n_ratings,)."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.activity)

    def to_arrow(self) -> pa.Table:
        """Return a table of user_id, item_id, rating and, if known, timestamp.

        Rows are sorted by user, then item. `timestamp` is the start of the day in Unix seconds.

        Examples
        --------
        >>> Ratings.from_columns(["b", "a"], [1, 1], [4, 2], days=[0, 1]).to_arrow().to_pylist()
        [{'user_id': 'a', 'item_id': 1, 'rating': 2.0, 'timestamp': 86400},
         {'user_id': 'b', 'item_id': 1, 'rating': 4.0, 'timestamp': 0}]
        """
        columns = {
            "user_id": _decode("user_id", self.users, self.user_positions()),
            "item_id": _decode("item_id", self.items, self.indices),
            "rating": published_values(self.values, self.scale),
        }
        if self.days is not None:
            columns["timestamp"] = pa.array(self.days.astype(np.int64) * 86_400)
        return pa.table(columns)

    def to_pandas(self) -> Any:
        """Return `to_arrow` as a pandas data frame; pandas must be installed."""
        import_optional("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return `to_arrow` as a polars data frame; polars must be installed."""
        return import_optional("polars").from_arrow(self.to_arrow())

    def to_csr(self) -> "sparse.csr_array":
        """Return `csr`: the ratings as a scipy matrix, users × items."""
        return self.csr

    def head(self, n: int = 5) -> Any:
        """Return the first n ratings as a pandas data frame, which names users.

        Examples
        --------
        >>> Ratings.from_columns(["ann", "ben"], [7, 7], [5, 4]).head(1)
          user_id  item_id  rating
        0     ann        7     5.0
        """
        import_optional("pandas")
        return self.to_arrow().slice(0, n).to_pandas()

    def describe(self) -> Any:
        """Return statistics of the ratings and of their numbers per user and item, with pandas.

        Labels and likes have no statistics of values. `recveil.inspect` finds problems, too.

        Examples
        --------
        >>> table = Ratings.from_columns(["ann", "ben", "ben"], [7, 7, 8], [5, 4, 3]).describe()
        >>> table.loc["mean"].tolist()
        [4.0, 1.5, 1.5]
        """
        pandas = import_optional("pandas")
        columns: dict[str, NDArray[Any]] = {
            "ratings_per_user": self.activity,
            "ratings_per_item": self.support,
        }
        if not (self.scale.labels or self.is_unary):
            columns = {"rating": self.values, **columns}
        return pandas.DataFrame(
            {name: pandas.Series(of) for name, of in columns.items()}
        ).describe()

    def digest(self) -> bytes:
        """Return 32 bytes (SHA-256) that change when anything about the ratings changes."""
        sha = hashlib.sha256(self.scale.exact_description.encode())
        for ids in (self.users, self.items):
            sha.update(ids.tobytes() if ids.dtype != object else repr(list(ids)).encode())
        for array in (self.indptr, self.indices, self.values, self.days):
            sha.update(b"none" if array is None else array.data)
        return sha.digest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ratings):
            return NotImplemented
        names = ("users", "items", "indptr", "indices", "values", "days")
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        return self.scale == other.scale and all(np.array_equal(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash(self.digest())

    def __repr__(self) -> str:
        times = "times unknown" if self.days is None else "with times"
        what, scale = ("like", "") if self.is_unary else ("rating", f" scale {self.scale},")
        return (
            f"Ratings({describe_count(self.n_users, 'user')} × "
            f"{describe_count(self.n_items, 'item')}, {describe_count(self.n_ratings, what)}, "
            f"{100 * self.density:.3g}% filled,{scale} {times})"
        )

    _repr_html_ = html_line

    def _check(self) -> None:
        for name in ("users", "items"):
            ids = getattr(self, name)
            if ids.ndim != 1 or np.unique(ids).size != ids.size:
                raise RecveilError(
                    f"{name}: expected one dimension of distinct ids", code="argument.value"
                )
        n = self.indices.size
        lengths = {"values": self.values.size, "days": n if self.days is None else self.days.size}
        for name, length in lengths.items():
            if length != n:
                raise RecveilError(
                    f"{name}: expected {n} numbers, one a rating, got {length}",
                    code="argument.shape",
                )
        n_ends = self.n_users + 1
        rises = self.indptr.size == n_ends and (np.diff(self.indptr) >= 0).all()
        if not rises or tuple(self.indptr[[0, -1]]) != (0, n):
            raise RecveilError(
                f"indptr: expected {n_ends} numbers that rise from 0 to {n}", code="argument.value"
            )
        self._check_items()
        reject_off_scale(self.values, self.scale, lambda at: f"rating at position {at}")

    def _check_items(self) -> None:
        if self.indices.size and not 0 <= self.indices.min() <= self.indices.max() < self.n_items:
            raise RecveilError(
                f"indices: expected positions from 0 to {self.n_items - 1}", code="argument.value"
            )
        fall = first_fall(self.indptr, self.indices)
        if fall >= 0:
            raise RecveilError(
                f"indices: not strictly ascending in its row at position {fall}; "
                f"each (user, item) pair occurs once; use Ratings.from_columns to sort",
                code="argument.value",
            )


def _decode(name: str, ids: NDArray[Any], codes: NDArray[np.int32]) -> pa.Array:
    column = pa.DictionaryArray.from_arrays(codes, pa.array(ids))
    return written_out(column, name)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _frozen(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return the array as read-only: itself if it has no writable view, else a copy."""
    given = np.asarray(array)
    if dtype is None:
        dtype = np.int64 if given.dtype.kind in "iu" else object
    as_dtype = given.astype(dtype, copy=given.flags.writeable or given.base is not None)
    return _read_only(np.ascontiguousarray(as_dtype))


# Common marks of a missing rating.
_SENTINELS_BELOW = (-999.0, -99.0, -9.0, -1.0, 0.0)
_SENTINELS_ABOVE = (99.0, 999.0, 9999.0)
# The outer part of a continuous scale that counts as its end.
_OUTER = 0.1
# A scale with more levels is treated as continuous.
_MOST_LEVELS = 200


class Doubt(NamedTuple):
    """An end, step or label of an inferred scale that may identify a user or be a missing value."""

    side: str
    # The end; or a rating without which the step would differ
    value: float
    # How many users gave it; for a continuous scale, a rating in its outer tenth; for a step, any
    # rating that requires the step
    n_users: int
    # Whether it looks like a mark of a missing rating
    is_sentinel: bool
    # A label that few users gave, if the labels were inferred
    label: str = ""

    def describe(self, k: int) -> str:
        """Describe the doubt."""
        who = describe_count(self.n_users, "user")
        if self.side == "label":
            return f"its label {quoted(self.label, 40)} was given by {who}, fewer than {k}"
        if self.side == "step":
            return f"its step comes from ratings such as {self.value:g} of {who}, fewer than {k}"
        if self.is_sentinel:
            return (
                f"its {self.side} end {self.value:g} looks like a mark for no rating ({who} gave "
                f"it)"
            )
        return f"its {self.side} end is {self.value:g}, given by {who}, fewer than {k}"


def doubts_of(ratings: Ratings, k: int) -> list[Doubt]:
    """Find ends and steps of an inferred scale given by fewer than k users, or that are no ratings.

    An end that a single user gave would publish this rating with the scale, and distort all
    predictions. A value looks like a mark of a missing rating if it is a usual one (0, -1, 99, ...)
    and more than a step away from all other ratings; or if it is 0 or -1, one step away, and more
    frequent than the next rating.
    """
    if not ratings.scale.inferred:
        return []
    if ratings.scale.labels:
        return _doubtful_labels(ratings, k)
    levels = distinct(ratings.values)
    found = []
    for side in ("low", "high"):
        n_users = count_users(ratings, side)
        marks = _is_sentinel(ratings.values, levels, side)
        if n_users < k or marks:
            end = ratings.scale.low if side == "low" else ratings.scale.high
            found.append(Doubt(side, end, n_users, marks))
    return found or _doubtful_step(ratings, levels, k)


def _doubtful_labels(ratings: Ratings, k: int) -> list[Doubt]:
    """Find labels given by fewer than k users, whom publication would expose."""
    users = ratings.user_positions()
    user_counts = [
        int(sorted_unique(users[ratings.values == at]).size)
        for at in range(1, len(ratings.scale.labels) + 1)
    ]
    named = enumerate(zip(ratings.scale.labels, user_counts, strict=True), 1)
    return [Doubt("label", float(at), n, False, label) for at, (label, n) in named if n < k]


def _doubtful_step(ratings: Ratings, levels: NDArray[np.float64], k: int) -> list[Doubt]:
    """Check whether the step would differ without the ratings of fewer than k users."""
    common = _common(ratings, levels, k)
    if common.size < 2 or common.size == levels.size:
        return []
    scale = RatingScale.infer(common)
    if scale.step is None or scale.step == ratings.scale.step:
        return []
    steps = (levels - scale.low) / scale.step
    odd = levels[np.abs(steps - np.rint(steps)) > 1e-3]
    at_odd = np.flatnonzero(np.isin(ratings.values, odd.astype(np.float32)))
    n_users = sorted_unique(np.searchsorted(ratings.indptr, at_odd, side="right")).size
    return [Doubt("step", float(odd[0]), int(n_users), False)] if odd.size and n_users < k else []


def _common(ratings: Ratings, levels: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the levels that at least k users gave; empty if there are too many levels to count."""
    if levels.size > _MOST_LEVELS:
        return levels[:0]
    is_common = [_used_by(ratings, np.float32(level), k) for level in levels]
    return levels[is_common]


def _used_by(ratings: Ratings, level: np.float32, k: int) -> bool:
    """Return whether at least k users gave a rating; a part of many ratings is enough to decide."""
    places = np.flatnonzero(ratings.values == level)
    for part in (places[:: max(1, places.size // (64 * k))], places):
        if sorted_unique(np.searchsorted(ratings.indptr, part, side="right")).size >= k:
            return True
    return False


def reject_doubts(ratings: Ratings, k: int) -> None:
    """Raise a RecveilError for an end of an inferred scale that fewer than k users gave."""
    doubtful = doubts_of(ratings, k)
    if not doubtful:
        return
    if ratings.scale.labels:
        raise RecveilError(
            f"the labels come from the ratings, as they were not named: "
            f"{doubtful[0].describe(k)}; name those that may be published with words (--words), "
            f"and leave others out with drop_off_scale (--drop-off-scale)",
            code="scale.inferred",
        )
    suggested = _suggest(ratings, k)
    raise RecveilError(
        f"the scale {ratings.scale} comes from the ratings, as it was not named: "
        f"{doubtful[0].describe(k)}; name it with scale (--scale {suggested}), and leave out what "
        f"is not on it, if that is no rating, with drop_off_scale (--drop-off-scale)",
        code="scale.inferred",
    )


def count_users(ratings: Ratings, side: str) -> int:
    """Count the users who gave an end of the scale; for a continuous one, its outer tenth."""
    scale, values = ratings.scale, ratings.values
    width = (scale.step or 0.0) / 2 if scale.step else _OUTER * scale.range
    # The ends of a given scale may exceed the range of ratings.
    low, high = np.float64(scale.low + width), np.float64(scale.high - width)
    at_end = values <= low if side == "low" else values >= high
    users = np.searchsorted(ratings.indptr, np.flatnonzero(at_end), side="right")
    return int(sorted_unique(users).size)


def _is_sentinel(values: NDArray[np.float32], levels: NDArray[np.float64], side: str) -> bool:
    if levels.size < 3:
        return False
    end, neighbour = levels[[0, 1]] if side == "low" else levels[[-1, -2]]
    if end not in (_SENTINELS_BELOW if side == "low" else _SENTINELS_ABOVE):
        return False
    rest = levels[1:] if side == "low" else levels[:-1]
    step = np.diff(rest).min()
    if abs(end - neighbour) > 1.5 * step:
        return True
    in_step = side == "low" and abs(abs(end - neighbour) - step) < 0.5 * step
    return bool(in_step and (values == end).sum() > (values == neighbour).sum())


def _suggest(ratings: Ratings, k: int) -> str:
    """Return a scale that holds all levels next to those of k users, or a placeholder."""
    levels = distinct(ratings.values)
    marks = [_is_sentinel(ratings.values, levels, side) for side in ("low", "high")]
    known = levels[int(marks[0]) : levels.size - int(marks[1])]
    common = np.intersect1d(_common(ratings, levels, k), known)
    if common.size < 2:
        return "LOW:HIGH:STEP" if levels.size <= _MOST_LEVELS else "LOW:HIGH"
    if not _doubtful_step(ratings, levels, k):
        common = known[(known >= common[0]) & (known <= common[-1])]
    scale = RatingScale.infer(common)
    if scale.step is None:
        return str(scale)
    ends = []
    for end, step in ((scale.low, -scale.step), (scale.high, scale.step)):
        # A level that the next one on the grid connects with the others is a rating.
        while np.isclose(known, end + step, atol=1e-3 * scale.step).any():
            end += step
        ends.append(float(f"{end:.12g}"))
    return str(RatingScale(ends[0], ends[1], scale.step))


# What would go wrong with equal ratings, for `reject_likes`.
PUBLISHED = (
    "padding would be equal to them, so that padded rows would state that every user rated every "
    "item, and other rows that whole classes did"
)
PREDICTED = (
    "any prediction of them is right, so that no error distinguishes a good release from a bad one"
)
# "No ratings are known" holds for likes, too; a rate is a share; options keep names and values.
_OF_RATINGS = re.compile(
    r"(?<![Nn]o )(?<!without )(?<!neither )(?<!--)(?<!as-)(?<!utility )"
    r"\b(unrated|ratings?|rated(?: well)?|raters?|(?<=people )rate)\b"
)
_OF_LIKES = {
    **{"rating": "like", "ratings": "likes", "rated": "liked", "unrated": "not liked"},
    **{"rate": "like", "rated well": "liked", "rater": "user", "raters": "users"},
}


def in_likes(text: str, is_unary: bool = True) -> str:
    """Reword a sentence about ratings for likes."""
    if not is_unary:
        return text
    return _OF_RATINGS.sub(lambda found: _OF_LIKES[found.group()], text)


_OF_PAIRS = {"likes": "labels", "Likes": "Labels", "liked": "labelled", "like": "label"}
_LIKE_WORDS = re.compile(r"\b([Ll]ikes|liked|(?<=1 )like)\b")


def as_nominal(text: str) -> str:
    """Reword a sentence about likes for nominal labels, whose pairs with items are attacked.

    >>> as_nominal("8 likes: such as items that are liked")
    '8 labels: such as items that are labelled'
    """
    return _LIKE_WORDS.sub(lambda found: _OF_PAIRS[found.group()], text)


def reject_unordered(ratings: Ratings, what: str) -> None:
    """Raise for nominal labels: their numbers are codes, without the distances of ranks."""
    if not ratings.scale.ordered:
        raise RecveilError(
            f"nominal labels, given by words (--words), are not supported by {what}; publish "
            f"them by method nominal (--method nominal); if they have an order, name it with order "
            f"(--order); if it matters only who chose what, leave the column of labels out",
            code="table.kind",
        )


def reject_likes(ratings: Ratings, why: str) -> None:
    """Raise a RecveilError for likes and equal ratings, which do not distinguish items."""
    if ratings.is_unary:
        raise RecveilError(
            "these are likes, and this method publishes ratings, which likes have none of; take "
            "method k-corating or sparse (--method k-corating, --method sparse), or sample "
            "synthetic users with epsilon (--epsilon 3)",
            code="table.kind",
        )
    values = ratings.values
    if values.size and values.min() == values.max():
        words = ratings.scale.labels
        given = quoted(words[int(values[0]) - 1], 40) if words else f"{values[0]:g}"
        remedy = (
            "leave the column of labels out"
            if words
            else "read them as likes (--likes), without a scale"
        )
        raise RecveilError(
            f"{all_ratings(values.size)} {given}: likes, not supported yet as "
            f"ratings; {why}; {remedy}",
            code="table.kind",
        )


_CONDITION = re.compile(r"activity\s*(<|>=)\s*([0-9]{1,18})")
_LEVEL = re.compile(r"[0-9]{1,18}")
_EXAMPLE = "such as 'activity<50:10,else:5', or a number for all users"


class _Part(NamedTuple):
    """A condition of a rule, met by users with `low` to `high` - 1 ratings."""

    low: float
    high: float
    level: int


def levels_by_rule(ratings: Ratings, rule: str) -> NDArray[np.int64]:
    """Return the privacy level that a rule assigns to each user, given their number of ratings.

    A rule is a number, the level of all users, or a comma-separated list of ``CONDITION:LEVEL``. A
    condition is ``activity>=N`` (N ratings or more), ``activity<N`` or, last, ``else``. The first
    condition that a user meets applies. Spaces are ignored.

    Parameters
    ----------
    ratings : Ratings
        The users' ratings.
    rule : str
        For example ``activity<50:10,activity>=500:1,else:5``.

    Returns
    -------
    ndarray of int64, shape (n_users,)
        The minimum size of each user's equivalence class, the user included; 1 allows publication
        of their row as it is.

    Raises
    ------
    RecveilError
        If the rule is invalid, assigns no level to a user, or one below 1 or above the number of
        users.

    Notes
    -----
    Source: a level for each user is Chen 2012 (thesis), section 5.1; the rules are recveil's own.
    A known rule reveals that a user in a small group met its condition.

    Examples
    --------
    >>> ratings = Ratings.from_columns(["ann", "ann", "ben"], [7, 8, 7], [4, 2, 5])
    >>> levels_by_rule(ratings, "activity>=2:1, else:2")
    array([1, 2])
    >>> levels_by_rule(ratings, "activity>=2:1")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: rule 'activity>=2:1': no condition holds for 1 of 2 users, first
    'ben' with activity 1; end it with else:LEVEL
    """
    activity = ratings.activity
    levels = np.zeros(ratings.n_users, dtype=np.int64)
    for part in reversed(_parse(rule)):
        if part.level > ratings.n_users:
            raise RecveilError(
                f"rule {rule!r}: level {part.level} is more than there are users "
                f"({ratings.n_users}); lower it",
                code="option.value",
            )
        levels[(activity >= part.low) & (activity < part.high)] = part.level
    without = np.flatnonzero(levels == 0)
    if without.size:
        first = without[0]
        raise RecveilError(
            f"rule {rule!r}: no condition holds for {without.size} of "
            f"{describe_count(ratings.n_users, 'user')}, "
            f"first {ratings.users.tolist()[first]!r} with activity {activity[first]}; "
            f"end it with else:LEVEL",
            code="option.value",
        )
    return levels


def _parse(rule: str) -> list[_Part]:
    if _LEVEL.fullmatch(rule.strip()):
        return [_Part(0, np.inf, _level(rule.strip(), rule))]
    parts = []
    pieces = rule.split(",")
    for number, piece in enumerate(pieces, start=1):
        condition, colon, level = (text.strip() for text in piece.partition(":"))
        if not colon:
            raise RecveilError(
                f"rule {rule!r}: {piece.strip()!r} has no level; expected CONDITION:LEVEL, "
                f"{_EXAMPLE}",
                code="option.value",
            )
        if condition == "else" and number < len(pieces):
            raise RecveilError(
                f"rule {rule!r}: no condition applies after else; put it last", code="option.value"
            )
        parts.append(_Part(*_range(condition, rule), _level(level, rule)))
    return parts


def _range(condition: str, rule: str) -> tuple[float, float]:
    if condition == "else":
        return 0, np.inf
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise RecveilError(
            f"rule {rule!r}: condition {condition!r}; expected activity<N, activity>=N or else, "
            f"{_EXAMPLE}",
            code="option.value",
        )
    bound = int(found[2])
    return (0, bound) if found[1] == "<" else (bound, np.inf)


def _level(text: str, rule: str) -> int:
    if not _LEVEL.fullmatch(text) or int(text) < 1:
        raise RecveilError(
            f"rule {rule!r}: level {text!r}; expected a whole number, 1 or more, {_EXAMPLE}",
            code="option.value",
        )
    return int(text)
