"""Release: the published side and the private side of anonymized ratings, kept apart."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.as_given import AsGiven
from recveil.anonymize.cost import DiversityCost
from recveil.anonymize.expected import Expected
from recveil.anonymize.homogenize import Groups
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.ratings import RatingScale
from recveil.records import Records
from recveil.release.pseudonyms import pseudonyms

if TYPE_CHECKING:
    from recveil.verify import Verification

Layout = Literal["auto", "users", "groups"]
FileFormat = Literal["parquet", "csv"]


@dataclass(frozen=True)
class Claim:
    """What a release promises about its published rows.

    Parameters
    ----------
    kind : str
        "identical-rows": every record is shared, item for item and label for label, by at least
        `k` people. "co-rated": at least `k` people have the same items in their records, whatever
        the labels. "nothing": a baseline, to be compared with; `k` is 1, and it is never written.
    k : int
        If people have levels of their own, the lowest of them.
    levels : bool
        Whether each record says how many people share it at least: the highest level of them.
    b, l : int
        Every set of b items that stands in a record stands in at least l different ones; 1 and 1
        say nothing.
    """

    kind: str
    k: int
    levels: bool = False
    b: int = 1
    l: int = 1  # noqa: E741


@brief
@dataclass(frozen=True, eq=False)
class Published:
    """All that the world will see.

    Parameters
    ----------
    claim : Claim
    items : ndarray, shape (n_items,)
        Item labels, ascending.
    scale : RatingScale
        Labels lie between its ends, but those of baselines that add noise or rotate.
    settings : dict
        How the release was made, in words and numbers that everybody may know.
    n_users : int
        Number of people behind the records.
    prefix : str
        What pseudonyms begin with; chosen so that no pseudonym equals an original id.
    blocks : callable
        Returns a fresh iterator over blocks of records each time it is called.
    default_layout : {"users", "groups"}
        One row of labels a user, or one a group with its size.
    expect : callable, optional
        Takes a layout and a file format, and tells what writing them will take; baselines, which
        are never written, cannot tell.
    duplicates_dropped : int
        Rows of the input that were left out, as their user had rated the item more than once.
    """

    claim: Claim
    items: NDArray[Any]
    scale: RatingScale
    settings: dict[str, Any]
    n_users: int
    prefix: str
    blocks: Callable[[], Iterator[Records]]
    default_layout: Literal["users", "groups"]
    expect: Callable[[Layout, FileFormat], Expected] | None = None
    duplicates_dropped: int = 0

    def pseudonyms(self, first: int, last: int) -> list[str]:
        """Return the user ids of the published rows `first` to `last - 1`."""
        return pseudonyms(self.prefix, self.n_users, first, last)

    def _facts(self) -> dict[str, object]:
        return {
            "": self.settings.get("method"),
            "claim": self.claim.kind,
            "k": self.claim.k,
            "people": self.n_users,
            "items": self.items.size,
            "scale": str(self.scale),
        }


@brief
@dataclass(frozen=True, eq=False)
class Private:
    """What only the owner may see; it undoes the release.

    Parameters
    ----------
    users : ndarray, shape (n_users,)
        Original user ids.
    groups : Groups
        Who is in which group, in published order.
    seed : int
        Fixes everything random about the release.
    settings : dict
        The full settings of predictor and grouping.
    lone_ratings : AsGiven or None
        With simple homogenizing, the ratings that are published as they are: because nobody else
        in the group rated the item, and for whatever reason.
    levels : ndarray of int64, shape (n_users,), or None
        Each user's own privacy level.
    diversity_cost : DiversityCost or None
        What diversity cost.
    """

    users: NDArray[Any]
    groups: Groups
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)
    lone_ratings: AsGiven | None = None
    levels: NDArray[np.int64] | None = None
    diversity_cost: DiversityCost | None = None

    def _facts(self) -> dict[str, object]:
        return {"": "for its owner alone", "people": self.users.size}


@brief
@dataclass(frozen=True, eq=False)
class Release:
    """Anonymized ratings: `published` for the world, `private` for the owner alone."""

    published: Published
    private: Private

    def write(
        self,
        folder: str | PathLike[str],
        *,
        layout: Layout = "auto",
        file_format: FileFormat = "parquet",
        force: bool = False,
        allow_large: bool = False,
    ) -> "Verification":
        """Write the release to `folder` and its private twin to `folder` + ".private".

        Both are written beside their targets, verified, and then renamed, so that a killed run
        leaves no release or a whole one.

        Parameters
        ----------
        folder : path
            Must not exist, unless `force`.
        layout : {"auto", "users", "groups"}
            One row of labels a user, or one a group with its size. "auto" takes what suits the
            method: groups for padded rows, users for the rest.
        file_format : {"parquet", "csv"}
        force : bool
            Replace an older release at the same place; nothing else is ever replaced.
        allow_large : bool
            Write more than 100 labels for each rating, too, as padded rows of many items that few
            people rated may take.

        Returns
        -------
        Verification
            What the checker says of the written files; it always holds.

        Raises
        ------
        RecveilError
            If the release promises nothing, is too large, the folder exists or cannot be written,
            or the written release does not verify; then nothing is left behind.
        """
        from recveil.anonymize.folder import write_release

        return write_release(
            self, Path(folder), layout, file_format, force=force, allow_large=allow_large
        )

    def _facts(self) -> dict[str, object]:
        return self.published._facts()


def check_seed(seed: int | None) -> None:
    """Raise a RecveilError unless the seed is a whole number of at least 0, or not given."""
    if seed is not None and not (isinstance(seed, int) and seed >= 0):
        raise RecveilError(f"seed is {seed!r}; expected a whole number of at least 0")


def fresh_prefix(users: NDArray[Any], rng: np.random.Generator) -> str:
    """Draw a prefix for this release alone, under which no pseudonym can equal an original id.

    Another release of the same people gets another prefix, so that nobody joins the two by
    accident.

    Examples
    --------
    >>> fresh_prefix(np.array([1, 2, 3]), np.random.default_rng(0))
    'pd9c2-'
    """
    while True:
        prefix = f"p{rng.integers(16**4):04x}-"
        if users.dtype != object or not any(label.startswith(prefix) for label in users):
            return prefix
