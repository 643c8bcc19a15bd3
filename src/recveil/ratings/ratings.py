"""Ratings: who rated what, how and when, in compressed rows by user."""

import hashlib
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from recveil.brief import html_line
from recveil.errors import RecveilError, describe_count
from recveil.ratings.assemble import Duplicates, first_fall
from recveil.ratings.build import Built, build, tell_dropped
from recveil.ratings.columns import NOT_SAID, Locate
from recveil.ratings.dates import tell_look
from recveil.ratings.dictionaries import written_out
from recveil.ratings.frame import table_from_columns
from recveil.ratings.framed import frame_columns
from recveil.ratings.scale import LIKES, RatingScale, refuse_off_scale
from recveil.ratings.worded import labels_of

if TYPE_CHECKING:
    from scipy import sparse


class Ratings:
    """An immutable table of ratings, one row of (item, rating, day) for each user.

    Everything in the library that works on ratings takes positions (0, 1, ...), never labels.
    Build one with `from_frame` or `from_columns`; the constructor takes finished compressed rows
    and checks them.

    Parameters
    ----------
    users, items : array-like, shape (n_users,) and (n_items,)
        Distinct labels: int64, or str objects.
    indptr : array-like of int64, shape (n_users + 1,)
        The ratings of user u stand at ``indptr[u]:indptr[u + 1]``.
    indices : array-like of int32, shape (n_ratings,)
        Positions of the rated items, strictly ascending in each row.
    values : array-like of float32, shape (n_ratings,)
        The ratings. A rating of 0 is a rating; what is not rated is not stored.
    days : array-like of int32, shape (n_ratings,), or None
        Days since 1970-01-01, UTC.
    scale : RatingScale
        What a rating can be.

    Raises
    ------
    RecveilError
        If the arrays do not fit together, a pair stands twice, or a rating is off the scale.

    Examples
    --------
    >>> ratings = Ratings.from_columns(["ann", "ben", "ann"], [7, 7, 9], [4, 2, 5])
    >>> ratings
    Ratings(2 users × 2 items, 3 ratings, 75 % filled, scale 2:5:1, times unknown)
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
        items: ArrayLike,
        indptr: ArrayLike,
        indices: ArrayLike,
        values: ArrayLike,
        days: ArrayLike | None,
        scale: RatingScale,
    ) -> None:
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
        scale: RatingScale | None = None,
        duplicates: Duplicates = "error",
    ) -> Self:
        """Build ratings from parallel columns in any order.

        Parameters
        ----------
        users, items : array-like, shape (n_ratings,)
            Labels, whole numbers or text.
        ratings : array-like of float, shape (n_ratings,), optional
            If not given, they are likes: who chose what, and nothing more.
        days : array-like of int, shape (n_ratings,), optional
            Days since 1970-01-01, UTC.
        scale : RatingScale, optional
            Inferred from the ratings if not given.
        duplicates : {"error", "last", "mean"}
            What to do if a user rates an item more than once; likes of one pair are one like.

        Raises
        ------
        RecveilError
            For arrays of different lengths, of more than one dimension, or of mixed kinds, and as
            `from_frame`.
        """
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
        scale: RatingScale | None = None,
        duplicates: Duplicates = "error",
        drop_off_scale: bool = False,
        locate: Locate | None = None,
    ) -> Self:
        """Build ratings from any table in memory: what speaks Arrow, and a few others.

        Parameters
        ----------
        frame : object with ``__arrow_c_stream__``, sparse matrix, or data set
            A pandas, polars, pyarrow or duckdb table, one rating a row (or, without ratings, and
            with no other columns than users, items and times, one like); a lazy frame of polars,
            which is collected; a sparse matrix of scipy, a row for each person and a column for
            each item, whose places are the labels; or a data set of surprise or cornac.
        user, item, rating, time : str, optional
            Names of the columns; found by the usual names if not given. Times that nobody called so
            are taken if one column beyond doubt holds dates. Of a matrix, ``user="column"`` and
            ``item="row"`` take it the other way round.
        time_format : str, optional
            How times are written that are neither ISO dates nor Unix times, in the signs of
            ``datetime.strptime``, such as ``%d/%m/%Y``.
        scale : RatingScale, optional
            Inferred from the ratings if not given.
        duplicates : {"error", "last", "mean"}
            What to do if a user rates an item more than once: raise, keep the latest rating (that
            of the last row, where there are no times), or take the mean (rounded to a given
            scale's step).
        drop_off_scale : bool
            Leave out rows without a rating, or with one off the given `scale`, rather than raise.
        locate : callable, optional
            Turns a row's position into the place that an error names; by its number if not given.

        Raises
        ------
        RecveilError
            For what is none of these, a matrix that stores zeros, of which nobody can tell whether
            they are ratings, missing columns or values, ratings that are not finite or off the
            scale, times that are missing or unreadable in a column that was named with `time`, or
            whose `time_format` was given, duplicates, or no rows at all. The message names the
            first such row.

        Warns
        -----
        UserWarning
            If times were taken from a column that nobody called so, or from none though one looks
            like dates, or is called times, and if times that nobody named were left out because
            some are missing or unreadable. If different ratings became equal in single precision.

        Examples
        --------
        >>> table = pa.table({"userId": [1, 1, 2], "movieId": [5, 6, 5], "rating": [3.5, 4, 1]})
        >>> Ratings.from_frame(table)
        Ratings(2 users × 2 items, 3 ratings, 75 % filled, scale 1:4:0.5, times unknown)
        """
        given: dict[str, Any] = {"user": user, "item": item, "rating": rating, "time": time}
        is_written = time_format is not None
        columns, names, look, _, place, _ = frame_columns(frame, is_written=is_written, **given)
        feedback = NOT_SAID._replace(likes="rating" not in columns)
        are_days = "time" in columns and pa.types.is_date(columns["time"].type)
        built = build(
            columns,
            scale,
            duplicates,
            locate or place,
            drop_off_scale=drop_off_scale,
            time_format=time_format,
            time_is_doubtful=look.name is not None,
            time_is_named=time is not None or is_written,
            feedback=feedback,
        )
        if not built.ratings_merged:
            built = built._replace(rating_note="")  # values are known to be of single precision
        odd = "" if are_days else built.time_note  # days have no unit to be wrong
        notes = tell_look(look, built.time_problem, names.get("time"), odd)
        for note in (*tell_dropped(built, duplicates), *notes):
            warnings.warn(note, stacklevel=2)
        return cls.from_built(built)

    @classmethod
    def from_built(cls, built: Built) -> Self:
        """Take the parts that `build` made over; nobody else may hold them."""
        rows = built.rows
        # Marked as read-only, they need not be copied.
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
        """Return who rated what, whatever the ratings say, as likes.

        Examples
        --------
        >>> Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2]).as_likes()
        Ratings(2 users × 2 items, 3 likes, 75 % filled, times unknown)
        """
        rows = self.users, self.items, self.indptr, self.indices, np.ones_like(self.values)
        return type(self)(*rows, self.days, LIKES)

    @property
    def is_unary(self) -> bool:
        """Whether they are likes: all values are 1."""
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
    def density(self) -> float:
        """Share of the user × item cells that carry a rating, between 0 and 1."""
        return self.n_ratings / max(1, self.n_users * self.n_items)

    @cached_property
    def activity(self) -> NDArray[np.int64]:
        """Number of ratings of each user, shape (n_users,)."""
        return _read_only(np.diff(self.indptr))

    @cached_property
    def support(self) -> NDArray[np.int64]:
        """Number of users who rated each item, shape (n_items,)."""
        return _read_only(np.bincount(self.indices, minlength=self.n_items))

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
        """Return the ratings as a table: user_id, item_id, rating and, if known, timestamp.

        Rows are sorted by user, then item. `timestamp` holds Unix seconds at the start of the day,
        since times are kept to the day.

        Examples
        --------
        >>> Ratings.from_columns(["b", "a"], [1, 1], [4, 2], days=[0, 1]).to_arrow().to_pylist()
        [{'user_id': 'a', 'item_id': 1, 'rating': 2.0, 'timestamp': 86400},
         {'user_id': 'b', 'item_id': 1, 'rating': 4.0, 'timestamp': 0}]
        """
        columns = {
            "user_id": _decode("user_id", self.users, self.user_positions()),
            "item_id": _decode("item_id", self.items, self.indices),
            "rating": labels_of(self.values, self.scale),
        }
        if self.days is not None:
            columns["timestamp"] = pa.array(self.days.astype(np.int64) * 86_400)
        return pa.table(columns)

    def digest(self) -> bytes:
        """Return 32 bytes (SHA-256) that change when anything about the ratings changes."""
        sha = hashlib.sha256(self.scale.told_exactly.encode())
        for labels in (self.users, self.items):
            sha.update(labels.tobytes() if labels.dtype != object else repr(list(labels)).encode())
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
            f"{100 * self.density:.3g} % filled,{scale} {times})"
        )

    _repr_html_ = html_line

    def _check(self) -> None:
        for name in ("users", "items"):
            labels = getattr(self, name)
            if labels.ndim != 1 or np.unique(labels).size != labels.size:
                raise RecveilError(
                    f"{name}: expected one dimension of distinct labels", code="argument.value"
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
        refuse_off_scale(self.values, self.scale, lambda at: f"rating at position {at}")

    def _check_items(self) -> None:
        if self.indices.size and not 0 <= self.indices.min() <= self.indices.max() < self.n_items:
            raise RecveilError(
                f"indices: expected positions from 0 to {self.n_items - 1}", code="argument.value"
            )
        fall = first_fall(self.indptr, self.indices)
        if fall >= 0:
            raise RecveilError(
                f"indices: not strictly ascending in its row at position {fall}; "
                f"a (user, item) pair stands once; use Ratings.from_columns to sort",
                code="argument.value",
            )


def _decode(name: str, labels: NDArray[Any], codes: NDArray[np.int32]) -> pa.Array:
    column = pa.DictionaryArray.from_arrays(codes, pa.array(labels))
    return written_out(column, name)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _frozen(array: ArrayLike, dtype: Any) -> NDArray[Any]:
    """Return the array as read-only: itself if nobody can write to it, else a copy."""
    given = np.asarray(array)
    if dtype is None:
        dtype = np.int64 if given.dtype.kind in "iu" else object
    as_dtype = given.astype(dtype, copy=given.flags.writeable or given.base is not None)
    return _read_only(np.ascontiguousarray(as_dtype))
