"""Reader of the published side of a release, for its recipients."""

import operator
import warnings
from collections.abc import Iterator
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from recveil.io.pipes import require_path
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.pseudonyms import PREFIX, pseudonyms
from recveil.release.reader import as_numbers, read_rows, reading_release, record_starts
from recveil.runtime.errors import RecveilError, shortened
from recveil.runtime.memory import reject_beyond_limit
from recveil.runtime.safe_repr import brief

# Copies of the rows in memory: as read, and as returned.
_COPIES = 2


@brief
class WrittenRelease:
    """The published side of a release, read from its folder.

    It implements the Arrow interface, so any library that reads Arrow accepts it. The private
    folder is never read.

    Parameters
    ----------
    folder : path
        The published folder.

    Raises
    ------
    RecveilError
        If it is no release, or one unknown to this version of recveil.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.ratings import Ratings, RatingScale
    >>> scale = RatingScale(1, 5, 1)
    >>> ratings = Ratings.from_columns([1, 2, 3, 4], [7, 7, 7, 7], [4, 2, 5, 1], scale=scale)
    >>> release = PredictiveAnonymizer(2, seed=1).anonymize(ratings)
    >>> with TemporaryDirectory() as folder:
    ...     _ = release.write(Path(folder, "out"))
    ...     written = WrittenRelease(Path(folder, "out"))
    ...     table, rows = written.to_arrow(), written.to_csr(people=True)
    >>> table.column_names, rows.shape
    (['user_id', 'item_id', 'rating', 'group_size'], (4, 1))
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        require_path("a release folder", folder=folder)
        self._folder = Path(folder).resolve()  # its name is needed, and "." has none
        self.manifest: Manifest = known_manifest(self._folder)

    @property
    def name(self) -> str:
        """What the folder is called."""
        return self._folder.name

    def to_arrow(self, *, people: bool = False) -> pa.Table:
        """Return the published rows: user_id, item_id, rating, and further columns of the layout.

        Parameters
        ----------
        people : bool
            Whether to repeat the rows of a group for each of its users, with an id for each,
            as in the layout "users". Otherwise they are returned as published.

        Raises
        ------
        RecveilError
            If the release holds a model, its checksums do not match, or the rows would take
            too much memory.
        """
        pieces = list(self._rows(people=people))
        types = self.manifest.columns
        if people and self.manifest.in_groups:
            types = types.remove(types.get_field_index("group_size"))
        return pa.concat_tables(pieces) if pieces else types.empty_table()

    def to_pandas(self, *, people: bool = False) -> Any:
        """Return the same as a frame of pandas, which must be installed."""
        _import("pandas")
        return self.to_arrow(people=people).to_pandas()

    def to_polars(self, *, people: bool = False) -> Any:
        """Return the same as a frame of polars, which must be installed."""
        return _import("polars").from_arrow(self.to_arrow(people=people))

    def to_csr(self, *, people: bool = False) -> sparse.csr_array:
        """Return the labels as a scipy matrix, float64, a row for each of `ids`.

        Its columns are `items`. Words are numbered as in release.json, from 1 on. A label of 0 is
        stored like any other; do not call ``eliminate_zeros`` on it.

        Warns
        -----
        UserWarning
            For words without an order, whose numbers are names, and no ratings.
        """
        if not self.manifest.scale.ordered:
            meanings = ", ".join(
                f"{at} is {word}" for at, word in enumerate(self.manifest.scale.words, 1)
            )
            warnings.warn(
                f"words without an order have arbitrary numbers ({shortened(meanings)}): do not "
                f"calculate with them",
                stacklevel=2,
            )
        table = as_numbers(self.to_arrow(people=people), self.manifest)
        items = _distinct(table["item_id"])
        columns = np.searchsorted(items, _values(table["item_id"]))
        starts = record_starts(table) if table.num_rows else np.zeros(1, np.int64)
        shape = (starts.size - 1, items.size)
        matrix = sparse.csr_array((table["rating"].to_numpy(), columns, starts), shape=shape)
        matrix.sort_indices()
        return matrix

    def ids(self, *, people: bool = False) -> list[str]:
        """Return the published ids: the rows of `to_csr`, in their order."""
        table = self.to_arrow(people=people).select(["user_id"])
        if not table.num_rows:
            return []
        found: list[str] = table["user_id"].take(pa.array(record_starts(table)[:-1])).to_pylist()
        return found

    @property
    def items(self) -> NDArray[Any]:
        """The published ids of items, ascending: the columns of `to_csr`."""
        return _distinct(self.to_arrow()["item_id"])

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _rows(self, *, people: bool) -> Iterator[pa.Table]:
        """Yield the rows, and raise before any are made that would not fit into memory."""
        repeated = people and self.manifest.in_groups
        first, n_bytes = 0, 0
        for table in read_rows(self._folder, self.manifest):
            with reading_release(self._folder):
                starts = record_starts(table)
                sizes = np.ones(starts.size - 1, np.int64)
                if repeated:
                    sizes = table["group_size"].take(pa.array(starts[:-1])).to_numpy()
                    self._check_sizes(sizes, first)
                # Python's numbers do not overflow, whatever a file says.
                n_rows = sum(map(operator.mul, sizes.tolist(), np.diff(starts).tolist()))
                n_bytes += n_rows * -(-table.nbytes // table.num_rows)
                what = f"{self.name}: {'a row for each person' if repeated else 'its rows'}"
                reject_beyond_limit(what, _COPIES * n_bytes)
                yield self._repeated(table, starts, sizes, first) if repeated else table
                first += int(sizes.sum())
        if repeated and first != self.manifest.counts["users"]:
            self._reject_count()

    def _check_sizes(self, sizes: NDArray[np.int64], before: int) -> None:
        """Raise if groups have more users than the release, before they are expanded."""
        n_users = self.manifest.counts["users"]
        if (sizes < 1).any() or (sizes > n_users).any() or before + sizes.sum() > n_users:
            self._reject_count()

    def _reject_count(self) -> None:
        raise RecveilError(
            f"{self.name}: its groups have not as many users as it states; ask recveil verify "
            f"what is wrong with it",
            code="release.damaged",
        )

    def _repeated(
        self, table: pa.Table, starts: NDArray[np.int64], sizes: NDArray[np.int64], first: int
    ) -> pa.Table:
        """Return the rows of each record once per user."""
        record_of = np.repeat(np.arange(sizes.size), sizes)
        lengths = np.diff(starts)[record_of]
        # Table position of each row: one contiguous run per user.
        places = np.repeat(starts[record_of] - np.cumsum(lengths) + lengths, lengths)
        places += np.arange(lengths.sum())
        prefix = PREFIX.match(table["user_id"][0].as_py())
        if prefix is None:
            raise RecveilError(
                f"{self.name}: its ids are no pseudonyms; ask recveil verify what is wrong with it",
                code="release.damaged",
            )
        names = pseudonyms(prefix[0], self.manifest.counts["users"], first, first + record_of.size)
        row_of = np.repeat(np.arange(record_of.size, dtype=np.int32), lengths)
        ids = pa.DictionaryArray.from_arrays(pa.array(row_of), pa.array(names)).cast(pa.string())
        rows = table.drop_columns(["user_id", "group_size"]).take(pa.array(places))
        return rows.add_column(0, "user_id", ids)

    def _facts(self) -> dict[str, object]:
        counts, claim = self.manifest.counts, self.manifest.claim
        return {
            "": self.manifest.settings.get("method"),
            "claim": claim.kind,
            "k": claim.k,
            "people": counts.get("users"),
            "rows": counts.get("records"),
            "labels": counts.get("values"),
            "items": counts.get("items"),
            "scale": str(self.manifest.scale),
            "layout": self.manifest.layout,
        }


def _import(package: str) -> Any:
    """Import an optional dependency."""
    try:
        return import_module(package)
    except ImportError:
        raise RecveilError(
            f"{package} is not installed; install it (pip install {package}), or take to_arrow(), "
            f"which needs nothing more",
            code="dependency.missing",
        ) from None


def _values(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.asarray(column.to_numpy())


def _distinct(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.asarray(np.sort(_values(pa.chunked_array([column.unique()]))))
