"""Attacks on a release of the same users, and their results."""

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import (
    Adversary,
    Anonymizer,
    AttackTarget,
    Membership,
    ReleaseAttack,
    attack_release,
    choose_targets,
    hold_out,
    infer_attributes,
    infer_cells,
    infer_memberships,
)
from recveil.attacks.attack_target import PairAnonymizer, pairs_of, released_pairs
from recveil.attacks.inference.attributes import (
    Attributes,
    infer_embeddings,
    score_nearest,
)
from recveil.attacks.inference.companions import (
    Companions,
    PossibleRatings,
    measure_companions,
    measure_possible_ratings,
)
from recveil.attacks.inference.fill_detection import left_untried
from recveil.attacks.inference.fills import (
    KNOWN_SHARES,
    Cells,
    InferredFills,
    Numbers,
    infer_fills_by_shadow,
    judge_fills,
    measure_fills,
    too_large,
)
from recveil.attacks.inference.rated_cells import InferredCells
from recveil.attacks.knowledge import know_everything
from recveil.attacks.linkage import (
    InferredLinks,
    Intersection,
    JointReidentification,
    infer_links,
    intersect,
    reidentify_in_both,
    users_of_both,
)
from recveil.attacks.membership.inference import HOLDOUT, KNOWN
from recveil.attacks.reidentification.clusters import (
    ClusterAttack,
    attack_clusters,
    find_clusters,
    forget_mixture,
    has_sparse_classes,
    most_targets,
    too_many_to_compare,
)
from recveil.attacks.reidentification.hidden_items import (
    Catalogue,
    HiddenItems,
    attack_hidden_items,
)
from recveil.attacks.reidentification.on_release import find_co_rated_strikes, without_unpublished
from recveil.attacks.reidentification.residuals import Unfitted, find_residuals, why_unfitted
from recveil.attacks.statistics import GroupRate
from recveil.auditing import work_estimates
from recveil.auditing.opened_release import OpenedRelease, open_release, select_released
from recveil.auditing.shadow_releases import ShadowMembership, of_model
from recveil.auditing.table_attacks import GraphAttack, attack_graphs
from recveil.methods.registry import same_again
from recveil.ratings import Ratings, RatingScale
from recveil.release.exact_ratings import ExactRatings, count_exact_ratings
from recveil.release.manifest import Manifest
from recveil.release.records import Groups, Records, hides_items
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import parts, track
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

    @property
    def is_exceeding(self) -> bool:
        """Whether users share both their classes with fewer than either release promises."""
        return self.shared.below_k.rate > 0


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
    promised = np.full(table.record_of.size, manifest.claim.k, np.int64)
    if manifest.claim.levels:
        inside = table.record_of >= 0
        promised[inside] = table.promised[table.record_of[inside]]
    return promised


# The strongest adversary of an audit, in addition to those who know a number of ratings.
_STRONGEST = "strongest"
# Number of targets attacked with all of their ratings, which cost far more than a few ratings.
_BY_ALL = 300
# Share of the remaining progress that adversaries who know some users' ratings take.
_BY_KNOWN = 0.9
# The adversary of synthetic users knows eight exact ratings.
_KNOWS_8 = Adversary(known=8, name="adversary with 8 exact ratings")
# A low rate may reassure only if this share of the targets was attacked.
COVERAGE = 0.95


@brief
@dataclass(frozen=True)
class Content(Reportable):
    """What the cells of a release reveal beyond re-identification."""

    fills: tuple[InferredFills, ...] = ()
    companions: Companions | None = None
    possible: PossibleRatings | None = None
    graphs: tuple[GraphAttack, ...] = ()
    # Why fills were not inferred, or not by an adversary who knows no user
    unmeasured: str = ""
    # Whether possible ratings were not counted, because hardly two ratings are the same
    is_too_fine: bool = False


@brief
@dataclass(frozen=True)
class AttackedRelease(Reportable):
    """Results of attacks on a release."""

    name: str
    manifest: Manifest
    attacks: list[tuple[Adversary, ReleaseAttack]]
    membership: Membership | None
    # Share of the ratings whose value comes from a single rater of the class
    lone_share: float | None
    # Why membership inference was not measured
    unmeasured: str = ""
    # With privacy levels: users without a guarantee, and the lowest level of the others
    unprotected: int | None = None
    lowest_level: int | None = None
    # Fills that were too many to strike out
    untried: str = ""
    exact_ratings: ExactRatings | None = None
    by_known: dict[str, Membership] = field(default_factory=dict)
    residual: InferredCells | None = None
    attributes: Attributes | None = None
    content: Content | None = None
    linkage: Linkage | None = None
    hidden_items: HiddenItems | None = None
    shadows: ShadowMembership | None = None
    # Why no smooth fit of the rows was made
    unfitted: Unfitted | None = None
    same_ratings: bool | None = None
    all_known: ReleaseAttack | None = None
    clusters: ClusterAttack | None = None
    # Whether the release has too many distinct rows to infer clusters
    uncompared: bool = False
    # The published attributes that the adversaries know of their targets
    known_attributes: tuple[str, ...] = ()
    # Whether an evaluation made it, with the settings of the given release
    is_remade: bool = False

    @property
    def by_user_count(self) -> dict[str, tuple[GroupRate, ...]]:
        """The risks of the strongest adversaries by users' number of ratings, where measured."""
        members = [self.membership, *self.by_known.values()]
        measured = [each for each in members if each is not None and each.is_measured]
        best = max(measured, key=lambda each: each.auc.rate, default=None)
        shadowed = None if self.shadows is None else self.shadows.by_known.values()
        most = max(shadowed or (), key=lambda each: each.inferred.auc.rate, default=None)
        found = {
            "reidentification": self.strongest[1].by_user_count if self.attacks else (),
            "membership": () if best is None else best.by_user_count,
            "shadows": () if most is None else most.by_user_count,
        }
        return {risk: groups for risk, groups in found.items() if groups}

    @property
    def knows_attributes(self) -> bool:
        """Whether the adversaries know all attributes that may identify a user."""
        about = self.manifest.user_columns
        return about is not None and {*(about.shared or about.names)} <= {*self.known_attributes}

    @property
    def strongest(self) -> tuple[Adversary, ReleaseAttack]:
        """The adversary who re-identifies most users."""
        return max(self.attacks, key=lambda pair: pair[1].reidentified.ranked)


@brief
@dataclass(frozen=True)
class AttackedSynthetic(AttackedRelease):
    """Results of attacks on a release of synthetic users.

    No record belongs to a user, so `attacks` is empty. Measured instead are membership inference,
    and attribute inference about members beyond that about nonmembers.
    """

    nearest: Attributes | None = None
    inference: Attributes | None = None


@brief
class FillPredictions(NamedTuple):
    """What an adversary who knows no user infers about the values of a co-rated release."""

    # The release's values
    cells: Cells
    # Probability that each value is a real rating; None if it could not be learned
    likely: Numbers | None
    # Why learning failed, if it was tried
    problem: str

    def _facts(self) -> dict[str, object]:
        return {"learned": self.likely is not None}


def measure_content(
    ratings: Ratings,
    table: AttackTarget,
    manifest: Manifest,
    targets: NDArray[np.int64],
    seed: int = 0,
    predicted: FillPredictions | None = None,
) -> Content:
    """Measure what applies to a release, by its method and its claim about values."""
    targets = targets[table.record_of[targets] >= 0]
    graphs = tuple(attack_graphs(ratings, table, targets, seed))
    if predicted is not None:
        fills, problem = _infer_fills(ratings, table, targets, seed, predicted)
        return Content(tuple(fills), graphs=graphs, unmeasured=problem)
    if ratings.is_unary:  # values that are all 1 reveal nothing beyond the items
        return Content(graphs=graphs)
    method, grid = manifest.known_method, manifest.value_grid
    # For diversity, rows gain items that no user of the class rated.
    are_means = (
        method is not None
        and method.averages_raters(manifest.settings)
        and manifest.claim.l == 1
        and targets.size > 0
    )
    companions = measure_companions(ratings, table, targets, grid, seed) if are_means else None
    possible = measure_possible_ratings(ratings, table, are_means=are_means, grid=grid)
    return Content((), companions, possible, graphs, is_too_fine=possible is None)


def predict_fills(
    table: AttackTarget, scale: RatingScale, seed: int, anonymizer: Anonymizer | None
) -> FillPredictions:
    """Predict which values are fills, by an adversary who knows no user, from a shadow release."""
    cells = Cells(table.candidates, scale)
    if anonymizer is None or too_large(cells.candidates):
        return FillPredictions(cells, None, "")
    try:
        return FillPredictions(cells, infer_fills_by_shadow(cells, anonymizer, seed), "")
    except RecveilError as error:  # a part of the values may be too few for k
        problem = f"no such release can be made of the published values: {error}"
        return FillPredictions(cells, None, problem)


def _infer_fills(
    ratings: Ratings,
    table: AttackTarget,
    targets: NDArray[np.int64],
    seed: int,
    predicted: FillPredictions,
) -> tuple[list[InferredFills], str]:
    """Return what is inferred about fills, or why nothing is."""
    cells, none = predicted.cells, np.empty(0, np.int64)
    try:
        fills = [
            measure_fills(ratings, table, targets, share, seed, cells=cells)
            for share in track(KNOWN_SHARES, "Inferring fills", share=_BY_KNOWN)
        ]
    except RecveilError as error:  # too large, or the few known users have no fills
        return [], str(error)
    if predicted.likely is None:
        return fills, predicted.problem
    return [judge_fills(ratings, table, targets, cells, predicted.likely, none, seed), *fills], ""


def attack_published(
    ratings: Ratings,
    folder: str | PathLike[str],
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    second_release: str | PathLike[str] | None = None,
    catalogue: Catalogue | None = None,
) -> AttackedRelease:
    """Attack a release with every adversary; its private folder is the ground truth."""
    opened = open_release(
        ratings, folder, second_release=second_release, has_catalogue=catalogue is not None
    )
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
    name, manifest, table, lone_share, other, words, same, attributes = opened
    if table is None or not table.contains_users:
        ratings = select_released(ratings, manifest, keeps_items=True)
        n_inside = ratings.n_users - round(HOLDOUT * ratings.n_users)
        like = of_model(manifest, n_inside) if table is None else manifest
        synthetic = attack_synthetic(
            ratings, table, manifest, seed, name=name, anonymizer=same_again(like, seed)
        )
        return replace(synthetic, same_ratings=same)
    again = same_again(manifest, seed, attributes)
    if words is not None and again is not None:
        again = PairAnonymizer(again, words.ratings)
    linkage = None
    if other is not None:
        source = (ratings, table) if words is None else words
        linkage = link_releases(
            *(*source, manifest, other, adversaries, targets, seed), own_name=name
        )
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
        has_content=True,
        catalogue=catalogue,
    )
    return replace(attacked, linkage=linkage, same_ratings=same)


def attack_table(
    ratings: Ratings,
    table: AttackTarget,
    manifest: Manifest,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    name: str = "release",
    anonymizer: Anonymizer | None = None,
    lone_share: float | None = None,
    has_content: bool = False,
    catalogue: Catalogue | None = None,
) -> AttackedRelease:
    """Attack a release that was already read with every adversary."""
    if not table.contains_users:
        return attack_synthetic(ratings, table, manifest, seed, name=name, anonymizer=anonymizer)
    _require_times(table, ratings, name)
    # Users who are not in the release cannot be re-identified in it, and must not lower the rates.
    released = np.flatnonzero(table.record_of >= 0)
    inside = targets[np.isin(targets, released)]
    if inside.size < min(targets.size, released.size):
        inside = released[choose_targets(released.size, targets.size, seed)]
    adversaries = [without_unpublished(ratings, adversary, table) for adversary in adversaries]
    costs = work_estimates.of_attack(
        *(ratings, table, manifest, len(adversaries), inside.size), has_content=has_content
    )
    with parts("Attacking the release", costs) as begin:
        begin(work_estimates.STRIKES)
        strikes = find_co_rated_strikes(table, ratings.scale)  # the same for all adversaries
        predicted = None
        if has_content and table.co_rated:
            begin(work_estimates.FILLS)
            predicted = predict_fills(table, ratings.scale, seed, anonymizer)
        likely = None if predicted is None else predicted.likely
        # This runs first, since all later parts use its cached fit.
        begin(work_estimates.CELLS)
        residual, unfitted = _fit_of_rows(ratings, table)
        begin(work_estimates.TARGETS)
        attacks = []
        for adversary in track(adversaries, "Adversaries", share=1):
            attack = attack_release(
                ratings, table, adversary, inside, seed, strikes=strikes, likely=likely
            )
            attacks.append((adversary, attack))
        begin(work_estimates.ALL_KNOWN)
        by_all = has_sparse_classes(table)
        all_known, clusters = (
            _attack_by_all_ratings(ratings, table, inside) if by_all else (None, None)
        )
        forget_mixture(table.candidates)
        strongest, _ = max(attacks, key=lambda pair: pair[1].reidentified.ranked)
        begin(work_estimates.HELD_OUT)
        memberships, attributes, unmeasured = {}, None, ""
        if anonymizer is not None:
            try:
                held_out = hold_out(ratings, anonymizer, seed=seed)
                begin(work_estimates.HELD_OUT_CELLS)
                find_residuals(held_out.table.candidates, ratings.scale)  # cached
                begin(work_estimates.MEMBERS)
                memberships = infer_memberships(
                    ratings, held_out, {_STRONGEST: strongest, **KNOWN}, seed
                )
                if not ratings.is_unary:  # likes have no order of preference to infer
                    attributes = infer_attributes(ratings, held_out, strongest, seed)
                del held_out  # as large as the release
            except RecveilError as error:  # four fifths of the users may be fewer than k
                unmeasured = str(error)
        begin(work_estimates.CONTENT)
        content = None
        if has_content:
            content = measure_content(ratings, table, manifest, inside, seed, predicted)
        begin(work_estimates.HIDDEN)
        hidden = None
        if has_content and hides_items(manifest.settings):
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
        membership=memberships.pop(_STRONGEST, None),
        by_known=memberships,
        residual=residual,
        unfitted=unfitted,
        attributes=attributes,
        lone_share=lone_share,
        unmeasured=unmeasured,
        unprotected=unprotected,
        lowest_level=lowest,
        untried=left_untried(table.candidates, strikes) if table.co_rated else "",
        exact_ratings=_count_exact_ratings(ratings, table, manifest.value_grid),
        content=content,
        hidden_items=hidden,
        all_known=all_known,
        clusters=clusters,
        uncompared=by_all and too_many_to_compare(table.candidates),
        known_attributes=tuple(each for each in table.known_attributes if each in table.attributes),
    )


def _require_times(table: AttackTarget, ratings: Ratings, name: str) -> None:
    """Raise a RecveilError if a release has dates that no adversary could compare."""
    if table.days is not None and ratings.days is None:
        raise RecveilError(
            f"{name} has dates, but the ratings have no times, so that no adversary could compare "
            f"them and the release would look safer than it is; name the column of times (--time)",
            code="time.missing",
        )


def _attack_by_all_ratings(
    ratings: Ratings, table: AttackTarget, inside: NDArray[np.int64]
) -> tuple[ReleaseAttack, ClusterAttack | None]:
    """Infer equivalence classes, and clusters of them, from all ratings of the targets."""
    few = inside[choose_targets(inside.size, _BY_ALL, 0)]
    has_dates = table.days is not None
    everything = Adversary(known=1, name="all ratings", date_error=0 if has_dates else None)
    known = know_everything(ratings, few, has_dates=has_dates)
    attack = attack_release(ratings, table, everything, few, known=known)
    clusters = find_clusters(table.candidates)
    if clusters is None:
        return attack, None
    scored = inside[choose_targets(inside.size, most_targets(table), 0)]
    return attack, attack_clusters(table, know_everything(ratings, scored), clusters)


def _fit_of_rows(
    ratings: Ratings, table: AttackTarget
) -> tuple[InferredCells | None, Unfitted | None]:
    """Return what a smooth fit of all rows reveals, or why there is none; none for likes."""
    if ratings.is_unary:
        return None, None
    residual = infer_cells(ratings, table)
    if residual is not None:
        return residual, None
    return None, why_unfitted(table.candidates, ratings.scale)


def _count_exact_ratings(
    ratings: Ratings, table: AttackTarget, grid: float | None
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


def _levels(table: AttackTarget) -> tuple[int, int | None]:
    """Return the number of users without a guarantee, and the lowest level of the others."""
    is_unprotected = table.promised <= 1
    levels = table.promised[~is_unprotected]
    lowest = int(levels.min()) if levels.size else None
    return int(table.candidates.sizes[is_unprotected].sum()), lowest


def attack_synthetic(
    ratings: Ratings,
    table: AttackTarget | None,
    manifest: Manifest,
    seed: int = 0,
    *,
    name: str = "release",
    anonymizer: Anonymizer | None = None,
) -> AttackedSynthetic:
    """Measure membership and attribute inference on a release of synthetic users."""
    if manifest.contains_users if table is None else table.contains_users:
        raise RecveilError(
            "the records of this release belong to users; attack it with attack_table",
            code="release.unsupported",
        )
    memberships: dict[str, Membership] = {}
    attributes, nearest, inference, unmeasured = None, None, None, ""
    if anonymizer is not None:
        try:
            costs = work_estimates.of_synthetic(ratings)
            with parts("Attacking the release", costs) as begin:
                begin(work_estimates.HELD_OUT)
                held_out = hold_out(ratings, anonymizer, seed=seed)
                begin(work_estimates.MEMBERS)
                memberships = infer_memberships(
                    ratings, held_out, {_STRONGEST: _KNOWS_8, **KNOWN}, seed
                )
                nearest = score_nearest(ratings, held_out, _KNOWS_8, seed)
                if not ratings.is_unary:  # likes have no order of preference to infer
                    attributes = infer_attributes(ratings, held_out, _KNOWS_8, seed)
                    inference = infer_embeddings(ratings, held_out, _KNOWS_8, seed)
        except RecveilError as error:  # four fifths of the users may be too few
            unmeasured = str(error)
    return AttackedSynthetic(
        name=name,
        manifest=manifest,
        attacks=[],
        membership=memberships.pop(_STRONGEST, None),
        lone_share=None,
        unmeasured=unmeasured,
        by_known=memberships,
        attributes=attributes,
        nearest=nearest,
        inference=inference,
    )
