"""Anonymizer: whatever makes a release of ratings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recveil.ratings import Ratings, RatingScale
from recveil.release.as_given import ExactRatings
from recveil.release.claim import Claim
from recveil.release.pseudonyms import pseudonyms
from recveil.release.records import Groups, Records
from recveil.runtime.safe_repr import brief

Layout = Literal["auto", "users", "groups", "model"]
FileFormat = Literal["parquet", "csv"]


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
        Number of people behind the records, or of drawn people.
    prefix : str
        What pseudonyms begin with; chosen so that no pseudonym equals an original id.
    blocks : callable
        Returns a fresh iterator over blocks of records each time it is called.
    default_layout : {"users", "groups"}
        One row of labels a user, or one a group with its size.
    expect : callable, optional
        Takes a layout and a file format, and tells what writing them will take, or None for what
        is small; baselines, which are never written, cannot tell.
    duplicates_dropped : int
        Rows of the input that were left out, as their user had rated the item more than once.
    model : callable, optional
        Returns the table that people are drawn from: one row an item, whose id is the first column,
        and numbers in the others. Only of releases in which no record is anybody's.
    format_number : int, optional
        The number of the format to write, of a model that is older; the newest if not given.
    """

    claim: Claim
    items: NDArray[Any]
    scale: RatingScale
    settings: dict[str, Any]
    n_users: int
    prefix: str
    blocks: Callable[[], Iterator[Records]]
    default_layout: Literal["users", "groups"]
    expect: Callable[[Layout, FileFormat], Any] | None = None
    duplicates_dropped: int = 0
    model: Callable[[], pa.Table] | None = None
    format_number: int | None = None

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
        Who is in which group, in published order. Nobody, where no record is anybody's.
    seed : int or None
        Fixes everything random about the release; None if nothing does, as nobody must be able to
        draw its noise again.
    settings : dict
        The full settings of predictor and grouping.
    lone_ratings : ExactRatings or None
        With simple homogenizing, the ratings that are published as they are: because nobody else
        in the group rated the item, and for whatever reason.
    levels : ndarray of int64, shape (n_users,), or None
        Each user's own privacy level.
    diversity_cost : DiversityCost or None
        What diversity cost; see `recveil.methods.predictive.diversity.DiversityCost`.
    items : ndarray, shape (n_items,), or None
        Where the published items are pseudonyms: the original id behind each.
    ratings_sha256 : str or None
        Of what the release was made from; see `recveil.release.private_folder`.
    """

    users: NDArray[Any]
    groups: Groups
    seed: int | None
    settings: dict[str, Any] = field(default_factory=dict)
    lone_ratings: ExactRatings | None = None
    levels: NDArray[np.int64] | None = None
    diversity_cost: Any = None
    items: NDArray[Any] | None = None
    ratings_sha256: str | None = None

    def _facts(self) -> dict[str, object]:
        return {"": "for its owner alone", "people": self.users.size}


@brief
@dataclass(frozen=True, eq=False)
class Sides:
    """Anonymized ratings: `published` for the world, `private` for the owner alone."""

    published: Published
    private: Private

    @property
    def items(self) -> NDArray[Any]:
        """Original ids of the published items, in order; for the owner alone, if hidden."""
        return self.published.items if self.private.items is None else self.private.items

    def _facts(self) -> dict[str, object]:
        return self.published._facts()


class Anonymizer(Protocol):
    """Whatever makes a release of ratings."""

    def anonymize(self, ratings: Ratings) -> Sides:
        """Turn ratings into a release."""
