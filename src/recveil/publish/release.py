"""Both sides of anonymized ratings: how they are written, and how the published one is read."""

import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from recveil.io.columns.ids import reject_personal_ids
from recveil.io.item_features import ItemTable
from recveil.io.pipes import require_path, temporary_folder
from recveil.publish.folder import naming_cost, tables, write_release
from recveil.ratings.arrow_columns import import_optional
from recveil.release.claim import Claim
from recveil.release.coverage import TOO_LITTLE, Coverage, kept_of
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.reader import (
    as_numbers,
    read_attributes,
    read_items,
    read_rows,
    reading_release,
    record_starts,
)
from recveil.release.records import PREFIX, pseudonyms
from recveil.release.sides import FileFormat, Layout, Private, Published, Sides
from recveil.runtime.errors import (
    LinkageWarning,
    RecveilError,
    no_attribute,
    quoted,
    shortened,
    with_known_keywords,
)
from recveil.runtime.memory import reject_beyond_limit
from recveil.runtime.safe_repr import brief
from recveil.verification import Verification, verify

# Copies of the rows in memory: as read, and as returned.
_COPIES = 2


class PublishedRows(ABC):
    """The published rows of a release as a table of any library; see `ReleaseFolder`.

    It implements the Arrow interface, so any library that reads Arrow accepts it.
    """

    manifest: Manifest

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Name the right call for those of other libraries."""
            raise no_attribute(self, name)

        def __getitem__(self, _: object) -> Any:
            """Name the calls that return a table."""
            raise TypeError(f"{type(self).__name__} is no table; call to_pandas() or to_csr()")

    def __len__(self) -> int:
        """Return the number of rows of `to_pandas`."""
        return int(self.to_arrow().num_rows)

    def __bool__(self) -> bool:
        return True

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in messages."""

    @abstractmethod
    def _row_tables(self) -> Iterator[pa.Table]:
        """Yield the published rows; each record is in one table."""

    @abstractmethod
    def open_folder(self) -> AbstractContextManager[Path]:
        """Return a context with its published folder, a temporary one if it is in memory."""

    @property
    def claim(self) -> Claim:
        """What the release promises."""
        return self.manifest.claim

    @property
    def k(self) -> int:
        """The smallest number of users who share a published row, as claimed; 0 if none do."""
        return self.claim.k if self.manifest.contains_users else 0

    @property
    def n_users(self) -> int:
        """The number of published users."""
        return int(self.manifest.counts["users"])

    @property
    def n_items(self) -> int:
        """The number of items that have a value."""
        return len(self.items)

    def to_arrow(self, *, per_user: bool = False) -> pa.Table:
        """Return the published rows: user_id, item_id, rating, and further columns of the layout.

        Parameters
        ----------
        per_user : bool
            Repeat the row of a group for each of its users, with an id each, as in the layout
            "users". Otherwise rows are returned as published.

        Raises
        ------
        RecveilError
            If the release has a model and no rows, its checksums do not match, or the rows would
            take too much memory.
        """
        pieces = list(self._rows(per_user=per_user))
        types = self.manifest.columns
        if per_user and self.manifest.in_groups:
            types = types.remove(types.get_field_index("group_size"))
        return pa.concat_tables(pieces) if pieces else types.empty_table()

    def to_pandas(self, *, per_user: bool = False) -> Any:
        """Return the same as a pandas data frame; pandas must be installed."""
        import_optional("pandas")
        return self.to_arrow(per_user=per_user).to_pandas()

    def to_polars(self, *, per_user: bool = False) -> Any:
        """Return the same as a polars data frame; polars must be installed."""
        return import_optional("polars").from_arrow(self.to_arrow(per_user=per_user))

    def to_csr(self, *, per_user: bool = False) -> sparse.csr_array:
        """Return the values as a scipy matrix, float64, with one row per id of `ids`.

        Its columns are `items`. Ordinal and nominal labels are numbered as in release.json, from 1.
        A value of 0 is stored like any other; do not call ``eliminate_zeros``.

        Warns
        -----
        UserWarning
            For nominal labels, whose numbers have no order.
        """
        if not self.manifest.scale.ordered:
            meanings = ", ".join(
                f"{at} is {label}" for at, label in enumerate(self.manifest.scale.labels, 1)
            )
            warnings.warn(
                f"nominal labels have arbitrary numbers ({shortened(meanings)}): do not calculate "
                f"with them",
                stacklevel=2,
            )
        table = as_numbers(self.to_arrow(per_user=per_user), self.manifest)
        items = _distinct(table["item_id"])
        columns = np.searchsorted(items, _values(table["item_id"]))
        starts = record_starts(table) if table.num_rows else np.zeros(1, np.int64)
        shape = (starts.size - 1, items.size)
        matrix = sparse.csr_array((table["rating"].to_numpy(), columns, starts), shape=shape)
        matrix.sort_indices()
        return matrix

    def ids(self, *, per_user: bool = False) -> list[str]:
        """Return the published ids: the rows of `to_csr`, in their order."""
        table = self.to_arrow(per_user=per_user).select(["user_id"])
        if not table.num_rows:
            return []
        found: list[str] = table["user_id"].take(pa.array(record_starts(table)[:-1])).to_pylist()
        return found

    @property
    def items(self) -> NDArray[Any]:
        """The published ids of items, ascending: the columns of `to_csr`."""
        return _distinct(self.to_arrow()["item_id"])

    @abstractmethod
    def items_table(self) -> ItemTable | None:
        """Return the public columns of its items; None if the publisher gave none."""

    @abstractmethod
    def users_table(self) -> ItemTable | None:
        """Return the published attributes by the ids of `ids(per_user=True)`; None without any."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _rows(self, *, per_user: bool) -> Iterator[pa.Table]:
        """Yield the rows; raise a RecveilError before they exceed the memory limit."""
        repeated = per_user and self.manifest.in_groups
        first, n_bytes = 0, 0
        for table in self._row_tables():
            with reading_release(self.name):
                starts = record_starts(table)
                sizes = np.ones(starts.size - 1, np.int64)
                if repeated:
                    sizes = table["group_size"].take(pa.array(starts[:-1])).to_numpy()
                    self._check_sizes(sizes, first)
                # Python's numbers do not overflow, whatever a file says.
                n_rows = sum(map(operator.mul, sizes.tolist(), np.diff(starts).tolist()))
                n_bytes += n_rows * -(-table.nbytes // table.num_rows)
                what = f"{self.name}: {'one row per user' if repeated else 'its rows'}"
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
            f"{self.name}: its groups have another number of users than it states; run recveil "
            f"verify to see what is wrong",
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
                f"{self.name}: its ids are no pseudonyms; run recveil verify to see what is wrong",
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
            **({"k": claim.k} if claim.epsilon is None else {"epsilon": claim.epsilon}),
            "users": counts.get("users"),
            "rows": counts.get("records"),
            "values": counts.get("values"),
            "items": counts.get("items"),
            "scale": str(self.manifest.scale),
            "layout": self.manifest.layout,
        }


@brief
class ReleaseFolder(PublishedRows):
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
    ...     written = ReleaseFolder(Path(folder, "out"))
    ...     table, rows = written.to_arrow(), written.to_csr(per_user=True)
    >>> table.column_names, rows.shape
    (['user_id', 'item_id', 'rating', 'group_size'], (4, 1))
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        require_path("a release folder", folder=folder)
        self._folder = Path(folder).resolve()  # its name is needed, and "." has none
        self.manifest: Manifest = known_manifest(self._folder)

    @property
    def name(self) -> str:
        """The folder's name."""
        return self._folder.name

    def verify(self) -> Verification:
        """Check whether the folder keeps its claim; see `recveil.verify`."""
        return verify(self._folder)

    def open_folder(self) -> AbstractContextManager[Path]:
        """Return a context with the published folder."""
        return nullcontext(self._folder)

    def items_table(self) -> ItemTable | None:
        """Return the content of items.csv; None if the publisher gave none."""
        return read_items(self._folder, self.manifest)

    def users_table(self) -> ItemTable | None:
        """Return the content of users.csv, one row per user; None if the publisher gave none."""
        attributes = read_attributes(self._folder, self.manifest)
        if self.manifest.user_columns is None:
            return None
        table = self.to_arrow()
        firsts = pa.array(record_starts(table)[:-1])
        sizes = table["group_size"].take(firsts).to_pylist() if self.manifest.in_groups else []
        ids = table["user_id"].take(firsts).to_pylist()
        with reading_release(self.name):
            rows = [attributes[each] for each in ids]
        rows = [rows[at] for at in np.repeat(np.arange(len(rows)), sizes or 1).tolist()]
        return _table_of(self.manifest.user_columns.names, rows, self.ids(per_user=True))

    def _row_tables(self) -> Iterator[pa.Table]:
        return read_rows(self._folder, self.manifest)


def _table_of(names: Sequence[str], rows: Sequence[Sequence[str]], ids: list[str]) -> ItemTable:
    columns = {name: [*(row[at] for row in rows), ""] for at, name in enumerate(names)}
    return ItemTable(columns, {each: at for at, each in enumerate(ids)})


def _values(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.asarray(column.to_numpy())


def _distinct(column: pa.ChunkedArray) -> NDArray[Any]:
    return np.asarray(np.sort(_values(pa.chunked_array([column.unique()]))))


class Release(Sides, PublishedRows):
    """A release in memory: `published` for recipients, `private` for the publisher.

    `to_arrow`, `to_pandas`, `to_polars` and `to_csr` return the rows that `write` would publish in
    its usual layout, and nothing of the private side. Only `write` publishes them: it first
    verifies that they keep the claim. It cannot be pickled, since it holds who is in which row.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.datasets import make_ratings
    >>> from recveil.methods import SparseRows
    >>> release = SparseRows(k=5, seed=1).anonymize(make_ratings(50, 30, 400, seed=1))
    >>> release  # doctest: +NORMALIZE_WHITESPACE
    Release(sparse rows, claim: identical-rows, k: 5, users: 50, items: 24 of 29 (82.8%),
            scale: 1:5:1, ratings kept: 97.2%)
    >>> release.to_arrow().num_rows, release.to_csr().shape, release.verify().holds
    (400, (50, 24), True)
    >>> with TemporaryDirectory() as folder:
    ...     _ = release.write(Path(folder, "out"))
    ...     Release.read(Path(folder, "out")).k
    5
    """

    name = "the release"

    def __init__(self, published: Published, private: Private | None = None) -> None:
        if isinstance(published, str | PathLike):
            raise RecveilError(
                f"Release: takes no path; read it with Release.read({quoted(str(published), 60)})",
                code="argument.value",
            )
        if private is None:
            raise TypeError("Release() missing the argument 'private'")
        super().__init__(published, private)

    @property
    def manifest(self) -> Manifest:  # type: ignore[override]
        """The description that would be published, without the counts of written rows."""
        counts = {"users": self.published.n_users}
        return replace(Manifest.of(self.published), counts=counts)

    def items_table(self) -> ItemTable | None:
        """Return the public columns of items of which `write` publishes rows; None without any."""
        return self.published.item_table

    def users_table(self) -> ItemTable | None:
        """Return the attributes that `write` publishes; None without any."""
        table = self.published.user_table
        if table is None:
            return None
        rows = [*zip(*table.columns.values(), strict=True)]
        return _table_of(table.about.names, rows, self.ids(per_user=True))

    def verify(self) -> Verification:
        """Write the release to a temporary folder and verify it there.

        Raises
        ------
        RecveilError
            If it cannot be published; see `write`.
        """
        with temporary_folder() as folder:
            return self._write_briefly(folder / "release")

    @contextmanager
    def open_folder(self) -> Iterator[Path]:
        """Write both sides to a temporary folder for the time of a block, as `write` does."""
        with temporary_folder() as folder:
            self._write_briefly(folder / "release")
            yield folder / "release"

    def _write_briefly(self, folder: Path) -> Verification:
        """Write a copy that is removed again, which the ledger does not list."""
        hooks: dict[str, Any] = dict.fromkeys(("record_output", "measure_coverage", "find_linkage"))
        copy = replace(self, private=replace(self.private, **hooks))
        return copy.write(folder, allow_large=True, allow_sparse_coverage=True)

    def _row_tables(self) -> Iterator[pa.Table]:
        blocks, in_groups = self.published.blocks(), self.manifest.in_groups
        return (table for table, _ in tables(self.published, blocks, in_groups=in_groups))

    def _facts(self) -> dict[str, object]:
        facts = super()._facts()
        kept = self._coverage
        if kept is None:
            facts["items"] = f"at most {self.published.items.size:,}"
        elif self.published.claim.about.is_differential:  # exact shares are not shown
            low = f"{TOO_LITTLE} of the table's, or of the ratings" * kept.is_low
            has_all = self.published.settings.get("item_catalog") == "rated items"  # so public
            of = f" of {kept.n_items:,}" * has_all
            facts["items"] = f"{kept.n_items_kept:,}{of}{low}"
        else:
            facts |= kept_of(kept, "likes" if self.manifest.scale.unary else "ratings")
        if self.published.claim.about.is_differential and self.private.seed is not None:
            facts["claim"] = f"{facts['claim']}, but seeded: no guarantee"
        return facts

    @cached_property
    def _coverage(self) -> Coverage | None:
        measure = self.private.measure_coverage
        return self.private.coverage or (None if measure is None else measure(self))

    @staticmethod
    def read(folder: str | PathLike[str]) -> ReleaseFolder:
        """Read the published side of a written release, and no private data.

        Parameters
        ----------
        folder : path
            The published folder.

        Returns
        -------
        ReleaseFolder
            `.to_arrow()`, `.to_pandas()`, `.to_polars()` and `.to_csr()` give its rows. Whether it
            keeps its claim is checked by `verify`.

        Raises
        ------
        RecveilError
            If it is no release, or one that this recveil does not know.
        """
        return ReleaseFolder(folder)

    @with_known_keywords
    def write(
        self,
        folder: str | PathLike[str],
        *,
        layout: Layout = "auto",
        file_format: FileFormat = "parquet",
        force: bool = False,
        allow_large: bool = False,
        allow_sparse_coverage: bool = False,
    ) -> Verification:
        """Write the release to `folder` and its private folder to `folder` + ".private".

        Both are staged next to their targets, verified, and renamed, so a killed run leaves either
        no release or a complete one.

        Parameters
        ----------
        folder : path
            Must not exist, unless `force`.
        layout : {"auto", "users", "groups", "model"}
            One row per user, or one per group with its size. "auto" chooses groups for padded
            rows and users otherwise. "model", for synthetic users only, writes the model that
            they are sampled from.
        file_format : {"parquet", "csv"}
        force : bool
            Replace an older release at the same place; nothing else is ever replaced.
        allow_large : bool
            Allow more than 100 values per rating, which padded rows of many rarely rated items
            may need.
        allow_sparse_coverage : bool
            Allow a release that is nearly empty: with fewer than 10 of at least 20 items, or with
            fewer than 3 ratings for 90% of the users. With epsilon it is always written, since the
            queries are spent by then.

        Returns
        -------
        Verification
            The verdict over the written files; it always holds.

        Raises
        ------
        RecveilError
            If the release promises nothing, is too large or nearly empty, the folder exists or
            cannot be written, or the written release does not verify; then nothing is left
            behind. And if its noise follows from a seed, because an adversary who guesses the seed
            can remove the noise; or if ids of items look like those of users.
        """
        claim = self.published.claim
        if claim.about.is_differential and self.private.seed is not None:
            raise RecveilError(
                "seed (--seed): the noise of this release follows from a seed, and an adversary "
                "who guesses it can remove the noise; leave the seed out to publish, and keep "
                "seeds for experiments",
                code="release.refused",
            )
        with naming_cost(claim):
            reject_personal_ids(self.published.items, can_hide=claim.about.contains_users)
        find = self.private.find_linkage
        linkage = None if find is None else find(self, Path(folder))
        verification = write_release(
            *(self, Path(folder), layout, file_format),
            force=force,
            allow_large=allow_large,
            allow_sparse_coverage=allow_sparse_coverage,
        )
        for each in linkage() if linkage else ():
            warnings.warn(each, LinkageWarning, stacklevel=3)
        return verification
