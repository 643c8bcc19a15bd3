"""Baseline: ratings that are published with their names removed, or labels changed, and no claim.

What is here is meant to be compared with. The release can be held, evaluated and attacked, but it
promises nothing and is never written.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.base import (
    Blocks,
    assemble,
    check_everybody_rated,
    check_seed,
    drawn_seed,
    secret_rng,
)
from recveil.anonymize.homogenize import homogenize_simple
from recveil.anonymize.predictive import label_step
from recveil.errors import RecveilError
from recveil.publish.release import Release
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.groups import Groups
from recveil.release.records import Records

# Ratings of a block.
_BLOCK_RATINGS = 1 << 22


class Baseline(ABC):
    """Ratings published without any promise, to compare promises with.

    A subclass stores its parameters, `seed` among them, and says what it publishes.
    """

    method: ClassVar[str]
    # Whether words without an order can be published so, because no value is worked out.
    takes_unordered: ClassVar[bool] = False
    seed: int | None

    def anonymize(self, ratings: Ratings) -> Release:
        """Turn ratings into a release that promises nothing; `ratings` stay as they are.

        Raises
        ------
        RecveilError
            If there are no users, a user has no rating, or a setting is unknown.
        """
        self._check(ratings)
        seed = drawn_seed(self.seed)
        rng = secret_rng(seed, ratings)
        groups, blocks = self._publish(ratings, rng)
        return assemble(
            ratings,
            rng,
            claim=Claim("nothing", k=1),
            settings={"method": self.method, **self._settings(ratings.scale)},
            groups=groups,
            blocks=blocks,
            default_layout="users",
            seed=seed,
        )

    @abstractmethod
    def _publish(self, ratings: Ratings, rng: np.random.Generator) -> tuple[Groups, Blocks]:
        """Decide who stands behind which record, and what the records say."""

    def _settings(self, _scale: RatingScale) -> dict[str, Any]:
        """Return what everybody may know."""
        return {name: value for name, value in vars(self).items() if name != "seed"}

    def _check(self, ratings: Ratings) -> None:
        check_seed(self.seed)
        if not ratings.n_users:
            raise RecveilError(
                "there are no users; expected at least one", code="table.too-few-users"
            )
        check_everybody_rated(ratings, takes_unordered=self.takes_unordered)


class GlobalItemMeans(Baseline):
    """Publish one row for everybody: the mean rating of each item. It promises nothing.

    Nobody's row can be told from another's, but the mean of an item that one person rated is their
    rating. For a recipient this is the least that a release can be worth: averages, and nothing of
    what goes with what. It equals `PredictiveAnonymizer` with simple homogenizing and one group of
    everybody.

    Parameters
    ----------
    round_labels : {"usual", "tenth", "scale", "none"} or float
        As in `PredictiveAnonymizer`.
    seed : int, optional
        Fixes the order of the people on the private side.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> (block,) = GlobalItemMeans(seed=1).anonymize(ratings).published.blocks()
    >>> block.sizes, block.values
    (array([2]), array([5. , 1.5]))
    """

    method = "global item means"

    def __init__(self, round_labels: str | float = "usual", *, seed: int | None = None) -> None:
        self.round_labels = round_labels
        self.seed = seed

    def _publish(self, ratings: Ratings, _rng: np.random.Generator) -> tuple[Groups, Blocks]:
        step = label_step(self.round_labels, ratings.scale)
        # In order of position: a sum in another order can differ in its last bit.
        groups = Groups.from_labels(np.zeros(ratings.n_users, np.int64))
        continuous = RatingScale(ratings.scale.low, ratings.scale.high)

        def blocks() -> Iterator[Records]:
            for block in homogenize_simple(ratings, groups):
                grid = continuous if step is None else ratings.scale
                labels = grid.round(block.values, step) + 0.0
                yield Records(block.sizes, block.indptr, block.indices, labels)

        return groups, blocks

    def _settings(self, scale: RatingScale) -> dict[str, Any]:
        return {"label_step": label_step(self.round_labels, scale)}


class SameCells(Baseline):
    """A baseline that keeps who rated what, and may change the ratings."""

    def _publish(self, ratings: Ratings, rng: np.random.Generator) -> tuple[Groups, Blocks]:
        groups = everybody_alone(ratings.n_users, rng)
        seed = int(rng.integers(2**62))
        return groups, lambda: self._blocks(ratings, groups, seed)

    def _blocks(self, ratings: Ratings, groups: Groups, seed: int) -> Iterator[Records]:
        users = groups.members
        ends = np.cumsum(ratings.activity[users])
        cuts = np.searchsorted(ends, np.arange(_BLOCK_RATINGS, ends[-1], _BLOCK_RATINGS)) + 1
        first = 0
        for some in np.split(users, np.unique(cuts[cuts < users.size])):
            indptr, at = places_of(ratings, some)
            # The stored ratings are float32, in which 0.1 is not the 0.1 of a label.
            raw = ratings.scale.round(ratings.values[at])
            # Each block has random numbers of its own, so that it can be made anew.
            labels = self._label(raw, ratings.scale, np.random.default_rng([seed, first]))
            # + 0.0 turns -0.0, which equals 0.0 but is written differently, into 0.0.
            yield Records(np.ones(some.size, np.int64), indptr, ratings.indices[at], labels + 0.0)
            first += some.size

    @abstractmethod
    def _label(
        self, raw: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return what is published in place of some ratings."""


class RawRelease(SameCells):
    """Publish the ratings as they are, under pseudonyms. It promises nothing.

    This is what Narayanan & Shmatikov attacked. Dates are left out, as in every release here, so
    that an audit of the raw table with its dates finds more people than an attack on this.

    Parameters
    ----------
    seed : int, optional
        Fixes the order of the records.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 5 (the Netflix Prize data).

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> release = RawRelease(seed=1).anonymize(ratings)
    >>> (block,) = release.published.blocks()
    >>> np.sort(block.values), release.published.claim.kind
    (array([1., 2., 5.]), 'nothing')
    """

    method = "names removed"
    takes_unordered = True

    def __init__(self, *, seed: int | None = None) -> None:
        self.seed = seed

    def _label(
        self, raw: NDArray[np.float64], _scale: RatingScale, _rng: np.random.Generator
    ) -> NDArray[np.float64]:
        return raw


class RandomValues(SameCells):
    """Publish who rated what, with ratings drawn evenly from the scale. It promises nothing.

    Which items somebody rated is enough to find them, if the items are few or rare.

    Parameters
    ----------
    seed : int, optional
        Fixes the order of the records and the ratings.

    Notes
    -----
    On a continuous scale, any number between its ends is equally likely.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> (block,) = RandomValues(seed=1).anonymize(ratings).published.blocks()
    >>> np.sort(block.indices), ratings.scale.contains(block.values)
    (array([0, 1, 1], dtype=int32), array([ True,  True,  True]))
    """

    method = "random values"

    def __init__(self, *, seed: int | None = None) -> None:
        self.seed = seed

    def _label(
        self, raw: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        if scale.step is None:
            return rng.uniform(scale.low, scale.high, raw.size)
        return rng.choice(scale.levels, raw.size)


def everybody_alone(n_users: int, rng: np.random.Generator) -> Groups:
    """Give everybody a record of their own, in a random order.

    Examples
    --------
    >>> everybody_alone(3, np.random.default_rng(0)).sizes
    array([1, 1, 1])
    """
    return Groups(rng.permutation(n_users), np.arange(n_users + 1, dtype=np.int64))


def places_of(
    ratings: Ratings, users: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each user's ratings begin among those of some users, and where all stand.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> places_of(ratings, np.array([1, 0]))
    (array([0, 1, 3]), array([2, 0, 1]))
    """
    lengths = ratings.activity[users]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(ratings.indptr[users] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return indptr, at
