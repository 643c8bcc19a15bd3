"""Continue the classes of a previous release: users keep theirs, and newcomers form others."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.clustering import KGather
from recveil.methods.previous_release import PreviousRelease
from recveil.methods.sparse.classes import Dealt, deal_classes, deal_lengths
from recveil.ratings import Ratings
from recveil.release.sides import Continuation, Predecessor
from recveil.runtime.safe_repr import brief


@brief
class Seats(NamedTuple):
    """Which users of a table have a class of the previous release, are new, or left it."""

    previous: PreviousRelease
    # Positions in the table of the users of the release
    users: NDArray[np.int64]
    # The class of each of them in the previous release; -1 for newcomers
    class_of: NDArray[np.int64]
    # Positions in the previous release of users whom the table lacks
    left: NDArray[np.int64]
    n_waiting: int

    @classmethod
    def of(cls, previous: PreviousRelease, ratings: Ratings, k: int) -> "Seats":
        """Seat the users of a table; fewer than k newcomers wait."""
        places = previous.check(ratings)
        is_new = places < 0
        n_new = int(is_new.sum())
        n_waiting = n_new if n_new < k else 0
        users = np.flatnonzero(~is_new) if n_waiting else np.arange(ratings.n_users)
        places = places[users]
        left = np.setdiff1d(np.arange(previous.users.size), places)
        class_of = np.where(places < 0, -1, previous.class_of[places])
        return cls(previous, users, class_of, left, n_waiting)

    def _facts(self) -> dict[str, object]:
        return {"users": self.users.size, "left": self.left.size, "waiting": self.n_waiting}


@brief
class Rows(NamedTuple):
    """The users of all rows, in a random order, and what a release states of the one it follows."""

    users: NDArray[Any]
    class_of: NDArray[np.int64]
    predecessor: Predecessor
    continuation: Continuation

    def _facts(self) -> dict[str, object]:
        return {"users": self.users.size}


@brief
class Continued(NamedTuple):
    """The classes of a release that follows another one."""

    seats: Seats
    classes: Dealt
    # The class of each user who left
    class_of_left: NDArray[np.int64]
    # The digest of each class in the previous release; empty for a class of newcomers
    digests: tuple[bytes, ...]

    def _facts(self) -> dict[str, object]:
        return {"": self.seats}

    def rows(
        self, ids: NDArray[Any], order: NDArray[np.int64], k: int, rng: np.random.Generator
    ) -> Rows:
        """Return the rows of users of the table (`ids`) and of users who left.

        `order` is that of the published classes. Within a class, users are in a random order, so
        that the place of a row in its class does not reveal that in the previous release.
        """
        previous, left = self.seats.previous, self.seats.left
        both = [ids, previous.users[left]]
        if both[0].dtype != both[1].dtype:
            both = [np.array(list(map(str, each.tolist())), object) for each in both]
        shuffled = rng.permutation(ids.size + left.size)
        n_users = np.bincount(self.classes.class_of, minlength=self.classes.sizes.size)
        return Rows(
            np.concatenate(both)[shuffled],
            np.concatenate([self.classes.class_of, self.class_of_left])[shuffled],
            Predecessor(previous.releases[-1], tuple(self.digests[at] for at in order.tolist())),
            Continuation(
                folder=previous.folder,
                releases=previous.releases,
                in_table=shuffled < ids.size,
                n_new=int((self.seats.class_of < 0).sum()),
                n_waiting=self.seats.n_waiting,
                n_short_classes=int((n_users < k).sum()),
            ),
        )


def continue_classes(
    seats: Seats,
    embeddings: NDArray[np.float32],
    activity: NDArray[Any],
    k: int,
    least: int,
    seed: int,
    rng: np.random.Generator,
) -> Continued:
    """Let users keep their class, form classes of newcomers, and cluster all classes anew.

    Clusters are of whole classes, by the mean embedding of their users in the table, so that rows
    are sampled from at least `least` users (k or more) who are there, and dealt at random.
    """
    previous, class_of = seats.previous, seats.class_of.copy()
    sizes, digests = previous.sizes, list(previous.digests)
    new = np.flatnonzero(class_of < 0)
    if new.size:
        gathering = KGather(min_size=k, random_state=seed).fit(embeddings[new])
        dealt = deal_classes(gathering.labels_, activity[new], k, rng)
        class_of[new] = sizes.size + dealt.class_of
        sizes = np.concatenate([sizes, dealt.sizes])
        digests += [b""] * dealt.sizes.size
    of_class = cluster_classes(embeddings, class_of, sizes.size, least, seed, rng)
    # Cluster after cluster, and in a random order within each.
    order = np.lexsort([rng.random(sizes.size), of_class])
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    lengths = deal_lengths(of_class[class_of], of_class[order], activity)
    return Continued(
        seats,
        Dealt(number[class_of], of_class[order], sizes[order], lengths),
        number[previous.class_of[seats.left]],
        tuple(digests[each] for each in order.tolist()),
    )


def cluster_classes(
    embeddings: NDArray[np.float32],
    class_of: NDArray[np.int64],
    n_classes: int,
    least: int,
    seed: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the cluster of each class; each cluster has at least `least` users, if all have.

    A class whose users all left has no embedding, and is in a random cluster.
    """
    n_users = np.bincount(class_of, minlength=n_classes)
    sums = np.array([np.bincount(class_of, one, n_classes) for one in embeddings.T]).T
    there = np.flatnonzero(n_users)
    # A cluster of so many classes has enough users on average.
    at_least = min(there.size, int(np.ceil(least / n_users[there].mean())))
    means = (sums[there] / n_users[there, None]).astype(np.float32)
    gathering = KGather(min_size=at_least, random_state=seed).fit(means)
    cluster_of = np.full(n_classes, -1)
    cluster_of[there] = _merge_small(gathering.labels_, n_users[there], sums[there], least)
    empty = cluster_of < 0
    cluster_of[empty] = rng.integers(cluster_of.max() + 1, size=int(empty.sum()))
    return cluster_of


def _merge_small(
    cluster_of: NDArray[np.int64], n_users: NDArray[np.int64], sums: NDArray[np.float64], least: int
) -> NDArray[np.int64]:
    """Merge each cluster of too few users with the nearest one, the smallest first."""
    counts = np.bincount(cluster_of, n_users)
    totals = np.array([np.bincount(cluster_of, one) for one in sums.T]).T
    into = np.arange(counts.size)
    left = counts.copy()  # infinite for a cluster that is part of another one
    while np.isfinite(left).sum() > 1 and left.min() < least:
        small = int(left.argmin())
        apart = ((totals / counts[:, None] - totals[small] / counts[small]) ** 2).sum(axis=1)
        apart[~np.isfinite(left)] = np.inf
        apart[small] = np.inf
        nearest = int(apart.argmin())
        into[into == small] = nearest
        counts[nearest] += counts[small]
        totals[nearest] += totals[small]
        left[nearest], left[small] = counts[nearest], np.inf
    _, merged = np.unique(into[cluster_of], return_inverse=True)
    return np.asarray(merged, np.int64)
