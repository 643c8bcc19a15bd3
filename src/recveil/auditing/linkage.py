"""Linkage of two releases of the same users."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Adversary, AttackTarget
from recveil.attacks.attack_target import pairs_of, released_pairs
from recveil.attacks.linkage import (
    InferredLinks,
    Intersection,
    JointReidentification,
    infer_links,
    intersect,
    reidentify_in_both,
    users_of_both,
)
from recveil.auditing.opened_release import OpenedRelease
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.release.records import hides_items
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True)
class Linkage(Reportable):
    """What two releases of the same users reveal together."""

    name: str
    k: int
    shared: Intersection
    attacks: list[tuple[str, JointReidentification]]
    links: InferredLinks | None
    # Names of the releases that hide their items
    hides_items: tuple[str, ...] = ()
    is_unary: bool = False

    @property
    def strongest(self) -> tuple[str, JointReidentification]:
        """The adversary who re-identifies most users with both releases."""
        return max(self.attacks, key=lambda pair: pair[1].reidentified_by_both.ranked)


def link_releases(
    ratings: Ratings,
    table: AttackTarget,
    manifest: Manifest,
    other: OpenedRelease,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    own_name: str = "this release",
) -> Linkage:
    """Attack two releases of the same users together; both private folders are the ground truth."""
    name, again, second = other.name, other.manifest, other.rows
    common = users_of_both(table, second)
    hidden = [
        called
        for called, of_release in ((own_name, manifest), (name, again))
        if hides_items(of_release.settings)
    ]
    attacked = _attacked(ratings, table, second)
    promised = np.minimum(_promised(table, manifest), _promised(second, again))
    inside = targets[np.isin(targets, common)]
    if inside.size < 2:
        inside = common
    return Linkage(
        name=name,
        k=int(promised[common].min()),
        shared=intersect(table, second, promised),
        attacks=[
            (
                adversary.name,
                reidentify_in_both(*attacked, adversary, inside, seed),
            )
            for adversary in adversaries
        ],
        links=infer_links(ratings, table, second, inside, seed),
        hides_items=tuple(hidden),
        is_unary=ratings.is_unary,
    )


def _attacked(
    ratings: Ratings, first: AttackTarget, second: AttackTarget
) -> tuple[Ratings, AttackTarget, AttackTarget]:
    """Return the tables to attack; nominal labels become pairs of item and word."""
    if ratings.scale.ordered:
        return ratings, first, second
    return pairs_of(ratings), released_pairs(first, ratings), released_pairs(second, ratings)


def _promised(table: AttackTarget, manifest: Manifest) -> NDArray[np.int64]:
    """Return the guaranteed minimum group size of each user."""
    promised = np.full(table.record_of.size, manifest.claim.k, np.int64)
    if manifest.claim.levels:
        inside = table.record_of >= 0
        promised[inside] = table.promised[table.record_of[inside]]
    return promised
