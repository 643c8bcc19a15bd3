"""The audit's attacks on a release in any form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks import PRESETS, Adversary, Anonymizer, AttackTarget, choose_targets
from recveil.attacks.attack_target import PairAnonymizer, pairs_of, released_pairs
from recveil.attacks.knowledge import with_likes, with_wrong_items, without_ratings
from recveil.attacks.reidentification.on_release import without_unpublished
from recveil.auditing.opened_release import adversaries_of_labels
from recveil.auditing.release_attacks import AttackedRelease, attack_synthetic, attack_table
from recveil.evaluation.split import TrainingTable, UserRows
from recveil.methods.registry import same_again
from recveil.ratings import Ratings
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.claim import Claim
from recveil.release.manifest import Manifest, private_folder
from recveil.release.manifest_reader import known_manifest
from recveil.release.reader import read_private_folder
from recveil.release.sides import Sides
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief
from recveil.verification.link_posterior import LinkPosterior, links_of_rows


def link_disclosure(ratings: Ratings, table: AttackTarget) -> LinkPosterior:
    """Return the posteriors of a release's links, with each item's real share of raters as p.

    Source: Chang et al., Theorems 6.2 and 6.3. `recveil.verification.verify` estimates p from the
    published rows instead. Rows that were padded, or hold items added for diversity, reveal less
    than this.
    """
    shape = (table.indptr.size - 1, ratings.n_items)
    ones = np.ones(table.indices.size, np.int8)
    support = sparse.csr_array((ones, table.indices, table.indptr), shape=shape)
    return links_of_rows(support, table.candidates.sizes, ratings.support / ratings.n_users)


Released: TypeAlias = Sides | AttackTarget | TrainingTable | str | PathLike[str]


@brief
@dataclass(frozen=True, eq=False)
class Opened:
    """A release in the common form for evaluation."""

    name: str
    table: TrainingTable
    released: AttackTarget | None
    manifest: Manifest
    lone_share: float | None = None
    unknown: str = ""
    synthetic: AttackTarget | None = None
    # With the days of the values, if the release has some
    dated: TrainingTable | None = None

    @classmethod
    def open(cls, release: Released, train: Ratings) -> Self:
        """Open a release of some training ratings; see `Evaluator.evaluate`."""
        if isinstance(release, TrainingTable):
            if release.n_items != train.n_items:
                raise RecveilError(
                    f"the table's catalogue has "
                    f"{describe_count(release.n_items, 'item')}, that of the training "
                    f"ratings {train.n_items}; give a table over the same positions",
                    code="argument.shape",
                )
            why = "the table comes without the map of users to rows"
            return cls("table", release, None, _unknown(1, train), unknown=why)
        if isinstance(release, Sides):
            lone = release.private.lone_ratings
            table = AttackTarget.from_release(release, train)
            share = None if lone is None else float(lone.rating_share)
            return cls._of("release", table, train, Manifest.of(release.published), share)
        if isinstance(release, AttackTarget):
            return cls._of("release", release, train, _unknown(release.k, train), None)
        return cls._of_folder(Path(release).resolve(), train)

    def knowing(self, attributes: Mapping[str, Sequence[str | None]]) -> Self:
        """Return it with the attributes of users, which adversaries know."""
        if self.released is None or not attributes:
            return self
        return replace(self, released=replace(self.released, known_attributes=attributes))

    @classmethod
    def _of_folder(cls, folder: Path, train: Ratings) -> Self:
        manifest, private = known_manifest(folder), private_folder(folder)
        if not private.exists():
            table = AttackTarget.from_published(folder, train)
            return cls._of(
                folder.name, table, train, manifest, None, f"{private.name} does not exist"
            )
        table = AttackTarget.from_folder(folder, train)
        if not table.contains_users:
            return cls._of(folder.name, table, train, manifest, None)
        return cls._of(folder.name, table, train, manifest, read_private_folder(folder).lone_share)

    @classmethod
    def _of(
        cls,
        name: str,
        released: AttackTarget,
        train: Ratings,
        manifest: Manifest,
        lone_share: float | None,
        unknown: str = "the table comes without the map of users to rows",
    ) -> Self:
        shape = released.record_of.size, released.candidates.indptr.size - 1
        if shape != (train.n_users, train.n_items):
            raise RecveilError(
                f"the released table is about {describe_count(shape[0], 'user')} "
                f"and {describe_count(shape[1], 'item')}, the training "
                f"ratings have {train.n_users} and {train.n_items}; give the training ratings that "
                f"it was built with",
                code="release.mismatch",
            )
        table = TrainingTable.from_released(released, train.scale)
        dated = (
            None
            if released.days is None
            else TrainingTable.from_released(released, train.scale, with_days=True)
        )
        if not released.contains_users:
            why = "no record belongs to a user"
            return cls(name, table, None, manifest, None, why, released, dated=dated)
        if (released.record_of < 0).all():
            return cls(name, table, None, manifest, lone_share, unknown, dated=dated)
        _check_source(released, train, manifest)
        return cls(name, table, released, manifest, lone_share, dated=dated)


def _unknown(k: int, train: Ratings) -> Manifest:
    """Return what is known of a release that was given as a bare table."""
    return Manifest(
        claim=Claim("unknown", k),
        layout="users",
        settings={"method": "unknown"},
        scale=train.scale,
    )


def disclose(
    train: Ratings,
    opened: Opened,
    n_targets: int,
    seed: int,
    anonymizer: Anonymizer | None,
) -> AttackedRelease | None:
    """Attack a release with every preset adversary; None if the map of users to rows is unknown."""
    if opened.synthetic is not None:
        return attack_synthetic(
            train, opened.synthetic, opened.manifest, seed, name=opened.name, anonymizer=anonymizer
        )
    if opened.released is None:
        return None
    targets = choose_targets(train.n_users, n_targets, seed)
    return attack_table(
        train,
        opened.released,
        opened.manifest,
        fitted_presets(train, table=opened.released),
        targets,
        seed,
        name=opened.name,
        anonymizer=anonymizer,
        lone_share=opened.lone_share,
    )


def disclose_nominal(
    train: Ratings,
    opened: Opened,
    n_targets: int,
    seed: int,
    anonymizer: Anonymizer | None,
) -> AttackedRelease | None:
    """Attack a release of nominal labels by equality; the parameters are those of `disclose`.

    Nominal labels have no distance, so they are attacked as implicit feedback on pairs of item and
    label; see `recveil.attacks.reidentification.nominal_pairs`.
    """
    if opened.released is None:
        return None
    pairs = pairs_of(train)
    return attack_table(
        pairs,
        released_pairs(opened.released, train),
        replace(opened.manifest, scale=pairs.scale),
        fitted_presets(pairs, adversaries_of_labels(None, PRESETS.values())),
        choose_targets(train.n_users, n_targets, seed),
        seed,
        name=opened.name,
        anonymizer=None if anonymizer is None else PairAnonymizer(anonymizer, train),
        lone_share=opened.lone_share,
    )


def anonymizer_of(opened: Opened, seed: int) -> Anonymizer | None:
    """Return an anonymizer with the release's public settings, if they name one of recveil's."""
    manifest = opened.manifest
    return None if manifest.known_method is None else same_again(manifest, seed)


def fitted_presets(
    train: Ratings,
    presets: Iterable[Adversary] | None = None,
    *,
    table: AttackTarget | None = None,
) -> list[Adversary]:
    """Return preset adversaries, limited to what can be known of these ratings and a release."""
    chosen = PRESETS.values() if presets is None else presets
    known = [with_wrong_items(train, with_likes(train, each)) for each in chosen]
    return [without_unpublished(train, without_ratings(train, each), table) for each in known]


def disclose_links(train: Ratings, opened: Opened) -> LinkPosterior | None:
    """Return the posteriors of a release's links; None if the formula does not apply.

    It does not apply if all rows hold the same items, or if a row may hold an item that no user of
    its class rated.
    """
    table, method = opened.released, opened.manifest.known_method
    if table is None or (method is not None and method.no_links):
        return None
    lengths = np.diff(table.indptr)
    if lengths.min() == lengths.max() == sorted_unique(table.indices).size:
        return None
    return link_disclosure(train, table)


def _check_source(table: AttackTarget, train: Ratings, manifest: Manifest) -> None:
    """Reject a release with items that no user of the class rated in training."""
    # Such a release was made from other ratings, probably including the held-out ones. This can be
    # detected only for methods that add no items.
    method, claim = manifest.known_method, manifest.claim
    if method is None or not method.keeps_items(manifest.settings) or claim.l > 1:
        return
    by_items = claim.about.is_of_items
    class_of = _item_sets(table) if by_items else np.arange(table.indptr.size - 1)
    inside = np.flatnonzero(table.record_of >= 0)
    n_classes = int(class_of.max()) + 1
    member = sparse.csr_array(
        (np.ones(inside.size), (class_of[table.record_of[inside]], inside)),
        shape=(n_classes, train.n_users),
    )
    rated = UserRows.from_ratings(train)
    raters = (member @ rated.matrix(train.n_items, np.ones(train.n_ratings))).tocsr()
    rows = UserRows(table.indptr, table.indices, table.values)
    published = sparse.csr_array(
        (np.ones(rows.indices.size), (class_of[rows.row_of()], rows.indices)),
        shape=(n_classes, train.n_items),
    )
    n_foreign = published.nnz - published.multiply(raters).nnz
    if n_foreign:
        raise RecveilError(
            f"the release has {n_foreign:,} values of items that no user of their row rated in the "
            f"training ratings, so it was made from other ratings, perhaps including the test "
            f"ratings; make the release from the training ratings alone",
            code="release.mismatch",
        )


def _item_sets(table: AttackTarget) -> NDArray[np.int64]:
    """Return the number of each record's set of items."""
    sets: dict[bytes, int] = {}
    n_records = table.indptr.size - 1
    items = (table.row(record)[0].tobytes() for record in range(n_records))
    return np.array([sets.setdefault(each, len(sets)) for each in items], np.int64)
