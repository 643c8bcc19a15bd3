"""Measured results of an audit of a release."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Adversary, Anonymizer, Membership, ReleaseAttack, ReleasedTable
from recveil.attacks.inference.attributes import Attributes
from recveil.attacks.inference.companions import (
    Companions,
    PossibleRatings,
    measure_companions,
    measure_possible_ratings,
)
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
from recveil.attacks.reidentification.clusters import ClusterAttack
from recveil.attacks.reidentification.hidden_items import HiddenItems
from recveil.attacks.statistics import format_share, no_better, percent
from recveil.auditing.linkage import Against
from recveil.auditing.paper_measures import GraphAttack, attack_graphs
from recveil.auditing.shadow_releases import ShadowMembership
from recveil.auditing.statements import FigureRow, Statement, in_short, sentences_of
from recveil.ratings import Ratings, RatingScale
from recveil.release.exact_ratings import ExactRatings
from recveil.release.manifest import Manifest
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True)
class Content:
    """What the cells of a release reveal beyond re-identification."""

    fills: list[InferredFills]
    companions: Companions | None
    behind: PossibleRatings | None
    graphs: tuple[GraphAttack, ...] = ()
    untold: str = ""
    has_too_fine_labels: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for JSON and the HTML page."""
        return {
            "fills": [told.to_dict() for told in self.fills] or None,
            "companions": self.companions and self.companions.to_dict(),
            "labels": self.behind and self.behind.to_dict(),
            "graph_attacks": [attack.to_dict() for attack in self.graphs],
        }

    def warnings(self) -> list[str]:
        """Return what was not measured."""
        if self.has_too_fine_labels:
            return [
                "How many different ratings stand behind a label was not measured, because on a "
                "continuous scale, or one of very many steps, hardly two ratings are the same."
            ]
        if not self.untold:
            return []
        by_whom = " by somebody who knows nobody" if self.fills else ""
        return [f"Whether fills can be told from ratings{by_whom} was not measured: {self.untold}."]

    def sentences(self) -> list[str]:
        """Return the findings as sentences."""
        return sentences_of(self.told())

    def told(self) -> list[Statement]:
        """Return the findings as sentences and as table rows."""
        # Report only the adversaries who know least and most.
        ends = dict.fromkeys((0, len(self.fills) - 1)) if self.fills else {}
        told = [Statement(_of_fills(self.fills[end])) for end in ends]
        if self.companions is not None and self.companions.told.trials:
            told.append(_of_companions(self.companions))
        if self.behind is not None and self.behind.one_rating.trials:
            told.append(_of_labels(self.behind))
        return told

    def _facts(self) -> dict[str, object]:
        return {
            "fills": len(self.fills),
            "companions": self.companions is not None,
            "labels": self.behind is not None,
        }


@brief
class LookedFor(NamedTuple):
    """What an adversary who knows no user infers about the values of a co-rated release."""

    # The release's values
    cells: Cells
    # Probability that each value is a real rating; None if it could not be learned
    likely: Numbers | None
    # Why learning failed, if it was tried
    why_not: str

    def _facts(self) -> dict[str, object]:
        return {"learned": self.likely is not None}


def measure_content(
    ratings: Ratings,
    table: ReleasedTable,
    manifest: Manifest,
    targets: NDArray[np.int64],
    seed: int = 0,
    looked: LookedFor | None = None,
) -> Content:
    """Measure what applies to a release, by its method and its claim about values."""
    targets = targets[table.record_of[targets] >= 0]
    graphs = tuple(attack_graphs(ratings, table, targets, seed))
    if looked is not None:
        fills, untold = _describe_fills(ratings, table, targets, seed, looked)
        return Content(fills, None, None, graphs, untold)
    if ratings.is_unary:  # values that are all 1 reveal nothing beyond the items
        return Content([], None, None, graphs)
    method, grid = manifest.known_method, manifest.value_grid
    # For diversity, rows gain items that no user of the class rated.
    are_means = (
        method is not None
        and method.averages_raters(manifest.settings)
        and manifest.claim.l == 1
        and targets.size > 0
    )
    companions = measure_companions(ratings, table, targets, grid, seed) if are_means else None
    behind = measure_possible_ratings(ratings, table, are_means=are_means, grid=grid)
    return Content([], companions, behind, graphs, has_too_fine_labels=behind is None)


def look_for_fills(
    table: ReleasedTable, scale: RatingScale, seed: int, anonymizer: Anonymizer | None
) -> LookedFor:
    """Predict which values are fills, by an adversary who knows no user, from a shadow release."""
    cells = Cells.of(table.candidates, scale)
    if anonymizer is None or too_large(cells):
        return LookedFor(cells, None, "")
    try:
        return LookedFor(cells, infer_fills_by_shadow(cells, anonymizer, seed), "")
    except RecveilError as error:  # a part of the values may be too few for k
        why = f"no such release can be made of the published labels: {error}"
        return LookedFor(cells, None, why)


def _describe_fills(
    ratings: Ratings,
    table: ReleasedTable,
    targets: NDArray[np.int64],
    seed: int,
    looked: LookedFor,
) -> tuple[list[InferredFills], str]:
    """Return what is inferred about fills, or why nothing is."""
    cells, nobody = looked.cells, np.empty(0, np.int64)
    try:
        told = [
            measure_fills(ratings, table, targets, share, seed, cells=cells)
            for share in KNOWN_SHARES
        ]
    except RecveilError as error:  # too large, or the few known users have no fills
        return [], str(error)
    if looked.likely is None:
        return told, looked.why_not
    return [judge_fills(ratings, table, targets, cells, looked.likely, nobody, seed), *told], ""


def _of_fills(told: InferredFills) -> str:
    found, alone, marked = told.found, told.by_items, told.precision.get(0.5)
    who = f"Somebody who knows {told.people_known:,} of the people ({told.known_share:.0%})"
    if not told.people_known:
        who = "Somebody who knows nobody, and makes such a release of the published labels,"
    if marked is None or not found.trials:
        return f"{who} could not be tried: nothing is left to be judged."
    beside = f"; by the items alone, {alone.rate:.1%}"
    precision = (
        f"half of the others' real ratings are marked with {marked.rate:.1%} of the marks right "
        f"({marked.low:.1%} to {marked.high:.1%}; a blind guess: {format_share(told.base_rate)})"
    )
    if marked.low <= told.base_rate:
        precision = (
            f"real ratings were not told from fills by this attack ({marked.rate:.1%} of the marks "
            f"right, a blind guess {format_share(told.base_rate)}); better ones may"
        )
    return (
        f"{who} learns what fills look like: {precision}. By eight items without "
        f"ratings they find {found.rate:.1%} ({found.low:.1%} to {found.high:.1%}) of the others"
        f"{no_better(found, alone.rate, 'the items alone give') or beside}."
    )


def _of_companions(companions: Companions) -> Statement:
    told, right, stranger = companions.told, companions.right, companions.stranger
    surely = f", and {percent(right)} of what is told so is right" if right.trials else ""
    by_chance = f", and of a stranger {percent(stranger)} are told so by chance"
    near = f" to within {companions.within:g}" if companions.within else ""
    sentence = (
        f"Whoever knows the ratings of all others in a person's group is told "
        f"{percent(told)} of the person's ratings for sure{near}"
        f"{surely}{no_better(told, stranger.rate, 'is told of a stranger')}; who takes the row's "
        f"labels for the ratings is right for {percent(companions.by_row)}"
        f"{by_chance if stranger.trials else ''}."
    )
    by_chance = f"strangers {in_short(stranger)}" if stranger.trials else ""
    rows = [FigureRow(f"told for sure by the others{near}", in_short(told), by_chance)]
    rows += [FigureRow("- right of what is told so", in_short(right))] if right.trials else []
    rows.append(FigureRow("- right if labels are believed", in_short(companions.by_row)))
    return Statement(sentence, tuple(rows), "")


def _of_labels(behind: PossibleRatings) -> Statement:
    one, distinct = behind.one_rating, behind.distinct
    can = ""
    if behind.can_stand is not None:
        can = f"; as far as the label shows, {behind.can_stand.mean:.1f} can"
    sampled = ""
    if behind.records < behind.of_records:
        sampled = (
            f"a random sample of {behind.records:,} of "
            f"{describe_count(behind.of_records, 'record')}."
        )
    sentence = (
        f"Behind a label stand the ratings of those in the group who rated the item: on average "
        f"{distinct.mean:.1f} different ones ({distinct.low:.1f} to {distinct.high:.1f}), and in "
        f"{percent(one)} of the labels one only{can}."
        f"{sampled and f' This was measured on {sampled}'}"
    )
    could = "" if behind.can_stand is None else f"as it shows, {behind.can_stand.mean:.1f}"
    rows = (
        FigureRow("different ones behind a label", in_short(distinct, 1, 1), could),
        FigureRow("- labels with one behind them", in_short(one)),
    )
    remark = f"Ratings behind labels were measured on {sampled}"
    return Statement(sentence, rows, remark if sampled else "")


@brief
@dataclass(frozen=True)
class FoundInRelease:
    """Measured results of attacks on a release."""

    name: str
    manifest: Manifest
    attacks: list[tuple[Adversary, ReleaseAttack]]
    membership: Membership | None
    lone_share: float | None
    unmeasured: str = ""
    unprotected: int | None = None
    lowest_level: int | None = None
    untried: str = ""
    as_given: ExactRatings | None = None
    by_known: dict[str, Membership] = field(default_factory=dict)
    residual: InferredCells | None = None
    attributes: Attributes | None = None
    content: Content | None = None
    against: Against | None = None
    hidden_items: HiddenItems | None = None
    shadows: ShadowMembership | None = None
    unfitted: str = ""
    same_ratings: bool | None = None
    all_known: ReleaseAttack | None = None
    clusters: ClusterAttack | None = None
    uncompared: bool = False

    def _facts(self) -> dict[str, object]:
        attacks = [*(attack for _, attack in self.attacks), self.all_known, self.clusters]
        found = max((each.person_found.rate for each in attacks if each), default=None)
        return {
            "claim": self.manifest.claim.kind,
            "k": self.manifest.claim.k,
            "adversaries": len(self.attacks),
            "found by the strongest": None if found is None else f"{found:.1%}",
        }
