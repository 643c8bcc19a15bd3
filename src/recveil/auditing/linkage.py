"""Linkage of two releases of the same users."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Adversary, ReleasedTable
from recveil.attacks.linkage import (
    InferredLinks,
    Intersection,
    JointReidentification,
    groups_of,
    infer_links,
    intersect,
    reidentify_in_both,
)
from recveil.attacks.release_target import pairs_of, released_pairs
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.records import hides_items
from recveil.runtime.errors import RecveilError, quoted
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


@brief
class OtherRelease(NamedTuple):
    """Another release of the same users."""

    name: str
    table: ReleasedTable
    manifest: Manifest
    # Positions of the users who are in both releases
    common: NDArray[np.int64]


def read_other(ratings: Ratings, table: ReleasedTable, other: str | PathLike[str]) -> OtherRelease:
    """Read another release of the same users."""
    folder = Path(other).resolve()
    manifest = known_manifest(folder)
    if not manifest.contains_users:
        raise RecveilError(
            f"second_release (--second-release) is {quoted(folder.name)}: no record of it belongs "
            f"to a user, so no user can be re-identified in both; the privacy losses of the two "
            f"add up. Leave it out",
            code="option.unsupported",
        )
    second = ReleasedTable.from_folder(folder, ratings)
    common = np.flatnonzero((groups_of(table) >= 0) & (groups_of(second) >= 0))
    if common.size < 2:
        raise RecveilError(
            f"second_release (--second-release) is {quoted(folder.name)}: {common.size} of its "
            f"users are in the audited release, too; expected another release of the same users",
            code="release.mismatch",
        )
    return OtherRelease(folder.name, second, manifest, common)


def link_releases(
    ratings: Ratings,
    table: ReleasedTable,
    manifest: Manifest,
    other: OtherRelease,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    own_name: str = "this release",
) -> Linkage:
    """Attack two releases of the same users together; both private folders are the ground truth."""
    name, second, again, common = other
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
    ratings: Ratings, first: ReleasedTable, second: ReleasedTable
) -> tuple[Ratings, ReleasedTable, ReleasedTable]:
    """Return the tables to attack; nominal labels become pairs of item and word."""
    if ratings.scale.ordered:
        return ratings, first, second
    return pairs_of(ratings), released_pairs(first, ratings), released_pairs(second, ratings)


def _promised(table: ReleasedTable, manifest: Manifest) -> NDArray[np.int64]:
    """Return the guaranteed minimum group size of each user."""
    promised = np.full(table.record_of.size, manifest.claim.k, np.int64)
    if manifest.claim.levels:
        inside = table.record_of >= 0
        promised[inside] = table.promised[table.record_of[inside]]
    return promised
