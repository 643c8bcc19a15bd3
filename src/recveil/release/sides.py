"""Published and private sides of a release."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.io.item_features import ItemTable
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.coverage import Coverage
from recveil.release.exact_ratings import ExactRatings
from recveil.release.method import Settings
from recveil.release.records import Groups, Records, pseudonyms
from recveil.release.user_table import UserTable
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

Layout = Literal["auto", "users", "groups", "model"]
FileFormat = Literal["parquet", "csv"]


@brief
class Predecessor(NamedTuple):
    """The release that another one follows, and which of its classes each record was."""

    # Of its release.json
    sha256: str
    # Per record, the digest of its class in that release; empty for a class of newcomers
    digests: tuple[bytes, ...]

    def _facts(self) -> dict[str, object]:
        return {"": self.sha256[:8], "records": len(self.digests)}


@brief
class Continuation(NamedTuple):
    """What became of the users of the releases before; for the publisher only."""

    # The published folder of the previous release
    folder: Path
    # The SHA-256 of the release.json of each release before, the first one first
    releases: tuple[str, ...]
    # For each user, whether the table has them; a row is kept for each of the others
    in_table: NDArray[np.bool_]
    n_new: int
    # Newcomers who are fewer than k, and in no row
    n_waiting: int
    # Classes of which fewer than k users are in the table
    n_short_classes: int

    @property
    def n_left(self) -> int:
        """Number of users of releases before whom the table lacks."""
        return int((~self.in_table).sum())

    @property
    def n_stayed(self) -> int:
        """Number of users who keep their class."""
        return self.in_table.size - self.n_left - self.n_new

    def to_json(self) -> dict[str, object]:
        """Return the figures for private.json."""
        return {
            "releases": list(self.releases),
            "stayed": self.n_stayed,
            "new": self.n_new,
            "waiting": self.n_waiting,
            "left": self.n_left,
            "short_classes": self.n_short_classes,
        }

    def _facts(self) -> dict[str, object]:
        return {"": self.folder.name, "stayed": self.n_stayed, "new": self.n_new}


@brief
class Protection(NamedTuple):
    """The users of the highest risk, who were left out or truncated; for the publisher only."""

    share: float
    # The ratings that each of them keeps at most; None if they were left out
    truncate_to: int | None
    users: NDArray[Any]
    n_left_out: NDArray[np.int64]
    # Items without any other rating
    n_items: int

    @property
    def settings(self) -> dict[str, object]:
        """The rule, without its outcome, for the published settings."""
        truncated = {} if self.truncate_to is None else {"truncate_to": self.truncate_to}
        return {"protect_riskiest": self.share, **truncated}

    def table(self) -> pa.Table:
        """Return the users, for the private folder."""
        return pa.table({"user_id": pa.array(self.users), "left_out": self.n_left_out})

    def to_json(self) -> dict[str, object]:
        """Return the rule and its cost for private.json, without users."""
        cost = {"users": self.users.size, "ratings": int(self.n_left_out.sum())}
        return {**self.settings, **cost, "items": self.n_items}

    def _facts(self) -> dict[str, object]:
        return {"": "for the publisher alone", "users": self.users.size}


@brief
@dataclass(frozen=True, eq=False)
class Published:
    """All public content of a release."""

    claim: Claim
    # Item ids, ascending
    items: NDArray[Any]
    # Values are within its ends, except for baselines that add noise or rotate
    scale: RatingScale
    # Public description of how the release was made
    settings: Settings
    # Users in the records, or synthetic users
    n_users: int
    # Chosen so that no pseudonym equals an original id
    prefix: str
    # Returns a fresh iterator over blocks of records each time it is called
    blocks: Callable[[], Iterator[Records]]
    # One row per user, or one per group with its size
    default_layout: Literal["users", "groups"]
    # Takes a layout and a file format, and returns the size estimate, or None if it is small;
    # baselines, which are never written, have none
    expect: Callable[[Layout, FileFormat], Any] | None = None
    # Omitted input rows whose user had rated the item more than once
    duplicates_dropped: int = 0
    # Returns the model for synthetic users: one row per item, its id in the first column, numbers
    # in the others; only if no record belongs to a user
    model: Callable[[], pa.Table] | None = None
    # For an older model; the newest by default
    format_number: int | None = None
    # The release that it follows, if users keep the classes that they have there
    predecessor: Predecessor | None = None
    # Public columns of items, of which the rows of the published items are written
    item_table: ItemTable | None = None
    # The published attributes of users
    user_table: UserTable | None = None
    # The noisy answers and the model, by name, if they are published; see `release.noisy_answers`
    answers: Mapping[str, NDArray[Any]] | None = None
    # By noisy answers: the ratings must not decide whether a release with epsilon is published
    noisy_coverage: Coverage | None = None

    def pseudonyms(self, first: int, last: int) -> list[str]:
        """Return the user ids of the published rows `first` to `last - 1`."""
        return pseudonyms(self.prefix, self.n_users, first, last)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle, without what makes rows of the private ratings."""
        return {**vars(self), "blocks": _no_blocks, "model": None, "expect": None}

    def _facts(self) -> dict[str, object]:
        return {
            "": self.settings.get("method"),
            "claim": self.claim.kind,
            **(
                {"k": self.claim.k}
                if self.claim.epsilon is None
                else {"epsilon": self.claim.epsilon}
            ),
            "users": self.n_users,
            "items": self.items.size,
            "scale": str(self.scale),
        }


def _no_blocks() -> Iterator[Records]:
    raise RecveilError(
        "a pickle has no rows, since they are made of private ratings; write the release, and read "
        "its folder with Release.read",
        code="release.not-in-memory",
    )


class Unpicklable:
    """A mixin of what holds private data: a pickle of it may reach a recipient."""

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} is not pickled, since it says who is in which row; write the "
            f"release with .write(folder), and pass on that folder"
        )


@brief
@dataclass(frozen=True, eq=False)
class Private(Unpicklable):
    """The private content of a release, which reverses it; for the publisher only."""

    # Original ids
    users: NDArray[Any]
    # The users of each group, in published order; empty if no record belongs to a user
    groups: Groups
    # Fixes all randomness of the release; None if its noise must not be reproducible
    seed: int | None
    # The full settings of predictor and grouping
    settings: Settings = field(default_factory=dict)
    # With simple homogenizing, the ratings that are published unchanged: because no other group
    # member rated the item, and for any reason
    lone_ratings: ExactRatings | None = None
    # Each user's own privacy level
    levels: NDArray[np.int64] | None = None
    # See `recveil.methods.predictive.diversity.DiversityCost`
    diversity_cost: Any = None
    # The original id of each published item, if items have pseudonyms
    items: NDArray[Any] | None = None
    # Of the original ratings; see `recveil.release.private_folder`
    ratings_sha256: str | None = None
    # The items and ratings of the table that the release has; private, since recipients do not
    # know the size of the table
    coverage: Coverage | None = None
    # Numbers of rows of the table that were dropped, by reason
    dropped: dict[str, int] = field(default_factory=dict)
    # Sentences on the rows that were dropped, and on the coverage
    summary: tuple[str, ...] = ()
    # Takes the release, and returns its coverage, which is measured when it is written
    measure_coverage: Callable[["Sides"], Coverage] | None = None
    # Takes the ids of the published items, and reports that they contain ids of users who rated
    # them; "" if not. Only if the ratings are in memory and items have no pseudonyms
    search_items: Callable[[NDArray[Any]], str] | None = None
    # Records the folder of the written release in the publisher's ledger
    record_output: Callable[[Path], None] | None = None
    # Takes the release and its folder before it is written, and raises if it may not be there.
    # What it returns, called afterwards, returns warnings about other releases of the users
    find_linkage: Callable[["Sides", Path], Callable[[], list[str]]] | None = None
    # What became of the users of the releases before, if it follows one
    continuation: Continuation | None = None
    protection: Protection | None = None
    # The noisy sums that the next release of a plan may reuse
    noisy_sums: Any = None

    def _facts(self) -> dict[str, object]:
        return {"": "for the publisher alone", "users": self.users.size}


@brief
@dataclass(frozen=True, eq=False)
class Sides(Unpicklable):
    """Anonymized ratings: `published` for recipients, `private` for the publisher."""

    published: Published
    private: Private

    @property
    def original_items(self) -> NDArray[Any]:
        """Original ids of the published items, in order; private if items are hidden."""
        return self.published.items if self.private.items is None else self.private.items

    def _facts(self) -> dict[str, object]:
        return self.published._facts()


class Anonymizer(Protocol):
    """An object that makes a release of ratings."""

    def anonymize(self, ratings: Ratings) -> Sides:
        """Anonymize ratings and return both sides of the release."""
