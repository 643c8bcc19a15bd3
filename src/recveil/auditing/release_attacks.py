"""Attacks of an audit's adversaries on a release of the same users."""

from dataclasses import replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Anonymizer,
    ReleasedTable,
    attack_release,
    choose_targets,
    hold_out,
    infer_attributes,
    infer_cells,
    infer_memberships,
)
from recveil.attacks.inference.rated_cells import InferredCells
from recveil.attacks.inference.strikes import left_untried
from recveil.attacks.knowledge import know_everything
from recveil.attacks.membership.held_out import HOLDOUT
from recveil.attacks.membership.inference import KNOWN
from recveil.attacks.reidentification.clusters import (
    ClusterAttack,
    attack_clusters,
    find_clusters,
    most_targets,
    too_many_to_compare,
)
from recveil.attacks.reidentification.hidden_items import Catalogue, attack_hidden_items
from recveil.attacks.reidentification.nominal_pairs import OfPairs
from recveil.attacks.reidentification.on_release import (
    ReleaseAttack,
    find_co_rated_strikes,
    without_unpublished,
)
from recveil.attacks.reidentification.residuals import find_residuals, why_unfitted
from recveil.auditing import work_estimates
from recveil.auditing.attacked_release import AttackedRelease
from recveil.auditing.attacked_synthetic import attack_drawn
from recveil.auditing.findings import look_for_fills, measure_content
from recveil.auditing.linkage import hold_against
from recveil.auditing.opened_release import OpenedRelease, open_release
from recveil.auditing.shadow_releases import of_model
from recveil.methods.registry import same_again
from recveil.ratings import Ratings
from recveil.release.exact_ratings import ExactRatings, count_exact_ratings
from recveil.release.manifest import Manifest
from recveil.release.pseudonyms import hides_items
from recveil.release.records import Groups, Records
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import parts, track

# The strongest adversary of an audit, in addition to those who know a number of ratings.
_STRONGEST = "strongest"
# Number of targets attacked with all of their ratings, which cost far more than a few ratings.
_BY_ALL = 300


def attack_published(
    ratings: Ratings,
    folder: str | PathLike[str],
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    against: str | PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
) -> AttackedRelease:
    """Attack a release with every adversary; its private folder is the ground truth."""
    opened = open_release(ratings, folder, against=against, has_catalogue=catalogue is not None)
    return attack_opened(ratings, opened, adversaries, targets, seed, catalogue=catalogue)


def attack_opened(
    ratings: Ratings,
    opened: OpenedRelease,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    catalogue: Catalogue | None = None,
) -> AttackedRelease:
    """Attack an opened release with every adversary; see `attack_published`."""
    name, manifest, table, lone_share, other, words, same = opened
    if table is None or not table.contains_users:
        n_inside = ratings.n_users - round(HOLDOUT * ratings.n_users)
        like = of_model(manifest, n_inside) if table is None else manifest
        drawn = same_again(like, seed)
        found = attack_drawn(ratings, table, manifest, seed, name=name, anonymizer=drawn)
        return replace(found, same_ratings=same)
    again = same_again(manifest, seed)
    if words is not None and again is not None:
        again = OfPairs(again, words.ratings)
    both = None
    if other is not None:
        behind = (ratings, table) if words is None else words
        both = hold_against(*(*behind, manifest, other, adversaries, targets, seed), own_name=name)
    attacked = attack_table(
        ratings,
        table,
        manifest,
        adversaries,
        targets,
        seed,
        name=name,
        anonymizer=again,
        lone_share=lone_share,
        tell_content=True,
        catalogue=catalogue,
    )
    return replace(attacked, against=both, same_ratings=same)


def attack_table(
    ratings: Ratings,
    table: ReleasedTable,
    manifest: Manifest,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    name: str = "release",
    anonymizer: Anonymizer | None = None,
    lone_share: float | None = None,
    tell_content: bool = False,
    catalogue: Catalogue | None = None,
) -> AttackedRelease:
    """Attack a release that was already read with every adversary."""
    if not table.contains_users:
        return attack_drawn(ratings, table, manifest, seed, name=name, anonymizer=anonymizer)
    # Users who are not in the release cannot be found in it, and must not lower the rates.
    released = np.flatnonzero(table.record_of >= 0)
    inside = targets[np.isin(targets, released)]
    if inside.size < min(targets.size, released.size):
        inside = released[choose_targets(released.size, targets.size, seed)]
    adversaries = [without_unpublished(ratings, adversary) for adversary in adversaries]
    costs = work_estimates.of_attack(
        ratings, table, manifest, len(adversaries), tell_content=tell_content
    )
    with parts("Attacking the release", costs) as begin:
        begin(work_estimates.FILLS)
        strikes = find_co_rated_strikes(table, ratings.scale)  # the same for all adversaries
        looked = None
        if tell_content and table.co_rated:
            looked = look_for_fills(table, ratings.scale, seed, anonymizer)
        likely = None if looked is None else looked.likely
        # This runs first, since all later parts use its cached fit.
        begin(work_estimates.CELLS)
        residual, unfitted = _fit_of_rows(ratings, table)
        begin(work_estimates.PEOPLE)
        attacks = []
        for adversary in track(adversaries, "Adversaries", share=1):
            attack = attack_release(
                ratings, table, adversary, inside, seed, strikes=strikes, likely=likely
            )
            attacks.append((adversary, attack))
        by_all = tell_content and _has_sparse_classes(table)
        all_known, clusters = (
            _attack_by_all_ratings(ratings, table, inside, manifest) if by_all else (None, None)
        )
        strongest, _ = max(attacks, key=lambda pair: pair[1].person_found.rate)
        begin(work_estimates.HELD_OUT)
        told, attributes, unmeasured = {}, None, ""
        if anonymizer is not None:
            try:
                held_out = hold_out(ratings, anonymizer, seed=seed)
                find_residuals(held_out.table.candidates, ratings.scale)  # cached
                begin(work_estimates.MEMBERS)
                told = infer_memberships(ratings, held_out, {_STRONGEST: strongest, **KNOWN}, seed)
                if not ratings.is_unary:  # likes have no order of preference to infer
                    attributes = infer_attributes(ratings, held_out, strongest, seed)
            except RecveilError as error:  # four fifths of the users may be fewer than k
                unmeasured = str(error)
        begin(work_estimates.CONTENT)
        content = None
        if tell_content:
            content = measure_content(ratings, table, manifest, inside, seed, looked)
        begin(work_estimates.HIDDEN)
        hidden = None
        if tell_content and hides_items(manifest.settings):
            hidden = attack_hidden_items(
                *(ratings, table, adversaries, inside, seed),
                catalogue=catalogue,
                anonymizer=anonymizer,
            )
    unprotected, lowest = _levels(table) if manifest.claim.levels else (None, None)
    return AttackedRelease(
        name=name,
        manifest=manifest,
        attacks=attacks,
        membership=told.pop(_STRONGEST, None),
        by_known=told,
        residual=residual,
        unfitted=unfitted,
        attributes=attributes,
        lone_share=lone_share,
        unmeasured=unmeasured,
        unprotected=unprotected,
        lowest_level=lowest,
        untried=left_untried(table.candidates, strikes) if table.co_rated else "",
        as_given=_count_exact_ratings(ratings, table, manifest.value_grid),
        content=content,
        hidden_items=hidden,
        all_known=all_known,
        clusters=clusters,
        uncompared=by_all and too_many_to_compare(table),
    )


def _has_sparse_classes(table: ReleasedTable) -> bool:
    """Return whether users share rows of few items; rows with all items distinguish no user."""
    n_cells = table.candidates.n_records * (table.candidates.indptr.size - 1)
    return not table.co_rated and 2 * table.indices.size < n_cells


def _attack_by_all_ratings(
    ratings: Ratings, table: ReleasedTable, inside: NDArray[np.int64], manifest: Manifest
) -> tuple[ReleaseAttack, ClusterAttack | None]:
    """Infer equivalence classes, and clusters of them, from all ratings of the targets."""
    few = inside[choose_targets(inside.size, _BY_ALL, 0)]
    everything = Adversary(known=1, name="all ratings")
    known = know_everything(ratings, few)
    found = attack_release(ratings, table, everything, few, known=known)
    crowd = manifest.settings.get("crowd")
    smallest = max(crowd, manifest.claim.k or 0) if type(crowd) is int else None
    clusters = find_clusters(table, smallest)
    if clusters is None:
        return found, None
    scored = inside[choose_targets(inside.size, most_targets(table), 0)]
    return found, attack_clusters(table, know_everything(ratings, scored), clusters)


def _fit_of_rows(ratings: Ratings, table: ReleasedTable) -> tuple[InferredCells | None, str]:
    """Return what a smooth fit of all rows reveals, or why there is none; none for likes."""
    if ratings.is_unary:
        return None, ""
    residual = infer_cells(ratings, table)
    return residual, "" if residual is not None else why_unfitted(table.candidates, ratings.scale)


def _count_exact_ratings(
    ratings: Ratings, table: ReleasedTable, grid: float | None
) -> ExactRatings | None:
    """Compare each user's ratings with the user's record; likes have none."""
    if ratings.is_unary:
        return None
    released = np.flatnonzero(table.record_of >= 0)
    if not released.size:
        return None
    groups = Groups.from_labels(table.record_of[released])
    rows = Records(table.candidates.sizes, table.indptr, table.indices, table.values)
    groups = Groups(released[groups.members], groups.starts)
    return count_exact_ratings(ratings, groups, [rows], grid)


def _levels(table: ReleasedTable) -> tuple[int, int | None]:
    """Return the number of users without a guarantee, and the lowest level of the others."""
    nothing = table.promised <= 1
    lowest = None if nothing.all() else int(table.promised[~nothing].min())
    return int(table.candidates.sizes[nothing].sum()), lowest
