"""Continue the classes of a previous release: users keep theirs, and newcomers form others."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.clustering import KGather
from recveil.methods.previous_release import PreviousRelease
from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.sparse.classes import Dealt, deal_lengths, deal_strata
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
    # Their attributes, if they are published
    attributes: DeclaredAttributes | None
    # The group of each; a class whose users have several attributes is several groups
    group_of: NDArray[np.int64]
    predecessor: Predecessor
    continuation: Continuation

    def _facts(self) -> dict[str, object]:
        return {"users": self.users.size}


@brief
class Continued(NamedTuple):
    """The classes of a release that follows another one."""

    seats: Seats
    classes: Dealt
    # The digest of each class in the previous release; empty for a class of newcomers
    digests: tuple[bytes, ...]
    # Of users in the table, and then of those who left
    group_of: NDArray[np.int64]
    class_of_group: NDArray[np.int64]
    attributes: DeclaredAttributes | None

    def _facts(self) -> dict[str, object]:
        return {"": self.seats}

    def rows(
        self, ids: NDArray[Any], order: NDArray[np.int64], k: int, rng: np.random.Generator
    ) -> Rows:
        """Return the rows of users of the table (`ids`) and of users who left.

        `order` is that of the published groups. Within a group, users are in a random order, so
        that the place of a row in its group does not reveal that in the previous release.
        """
        previous, left = self.seats.previous, self.seats.left
        both = [ids, previous.users[left]]
        if both[0].dtype != both[1].dtype:
            both = [np.array(list(map(str, each.tolist())), object) for each in both]
        shuffled = rng.permutation(ids.size + left.size)
        n_users = np.bincount(self.group_of[: ids.size], minlength=order.size)
        digests = tuple(self.digests[at] for at in self.class_of_group[order].tolist())
        return Rows(
            np.concatenate(both)[shuffled],
            None if self.attributes is None else self.attributes.take(shuffled),
            self.group_of[shuffled],
            Predecessor(previous.releases[-1], digests),
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
    attributes: DeclaredAttributes | None = None,
) -> Continued:
    """Let users keep their class, form classes of newcomers, and cluster all classes anew.

    Clusters are of whole classes, by the mean embedding of their users in the table, so that rows
    are sampled from at least `least` users (k or more) who are there, and dealt at random.
    `attributes` are of users of the table and then of those who left, as they are published.
    """
    previous, class_of = seats.previous, seats.class_of.copy()
    sizes, digests = previous.sizes, list(previous.digests)
    stratum_of = np.zeros(class_of.size + seats.left.size, np.int64)
    if attributes is not None:
        stratum_of = attributes.strata(1)[1]
    new = np.flatnonzero(class_of < 0)
    if new.size:
        newcomers = None if attributes is None else attributes.take(new)
        _, strata = np.unique(stratum_of[new], return_inverse=True)
        # From a larger cluster, classes of different sensitive values can be dealt.
        has_sensitive = newcomers is not None and newcomers.about.sensitive
        of_new = (embeddings[new], activity[new], k, least if has_sensitive else k)
        dealt = deal_strata(strata, *of_new, seed, rng, newcomers)
        class_of[new] = sizes.size + dealt.class_of
        sizes = np.concatenate([sizes, dealt.sizes])
        digests += [b""] * dealt.sizes.size
    class_of_all = np.concatenate([class_of, previous.class_of[seats.left]])
    stratum_of_class = np.empty(sizes.size, np.int64)
    stratum_of_class[class_of_all] = stratum_of
    of_class = cluster_strata(embeddings, class_of, stratum_of_class, least, seed, rng)
    # Cluster after cluster, and in a random order within each.
    order = np.lexsort([rng.random(sizes.size), of_class])
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    lengths = deal_lengths(of_class[class_of], of_class[order], activity)
    # A class of equal rows may be one of several attributes by chance.
    pairs, group_of = np.unique(
        np.stack([number[class_of_all], stratum_of]), axis=1, return_inverse=True
    )
    return Continued(
        seats,
        Dealt(number[class_of], of_class[order], sizes[order], lengths),
        tuple(digests[each] for each in order.tolist()),
        np.asarray(group_of, np.int64).ravel(),
        pairs[0],
        attributes,
    )


def cluster_strata(
    embeddings: NDArray[np.float32],
    class_of: NDArray[np.int64],
    stratum_of_class: NDArray[np.int64],
    least: int,
    seed: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the cluster of each class, of one stratum of attributes if that has enough users.

    The other strata are clustered together, with the largest one if they need it.
    """
    n_users = np.bincount(stratum_of_class[class_of], minlength=int(stratum_of_class.max()) + 1)
    is_small = n_users < least
    pool = np.where(is_small, -1, np.arange(n_users.size))
    if is_small.sum() > 0 and n_users[is_small].sum() < least:
        pool[n_users.argmax()] = -1
    cluster_of, n_before = np.empty(stratum_of_class.size, np.int64), 0
    for each in np.unique(pool[stratum_of_class]):
        classes = np.flatnonzero(pool[stratum_of_class] == each)
        users = np.flatnonzero(np.isin(class_of, classes))
        within = np.searchsorted(classes, class_of[users])
        found = cluster_classes(embeddings[users], within, classes.size, least, seed, rng)
        cluster_of[classes] = found + n_before
        n_before += int(found.max()) + 1
    return cluster_of


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
