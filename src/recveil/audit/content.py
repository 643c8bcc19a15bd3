"""Content: what a release's cells tell, of fills, of companions, and behind its labels."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack import Anonymizer, ReleasedTable
from recveil.attack.behind_labels import BehindLabels, measure_behind_labels
from recveil.attack.cell_features import Cells, Numbers
from recveil.attack.companions import Companions, measure_companions
from recveil.attack.fill_classifier import too_large
from recveil.attack.fills_told import KNOWN_SHARES, FillsTold, judge_fills, measure_fills
from recveil.attack.shadow import tell_fills_by_shadow
from recveil.attack.statistics import no_better, percent, say_share
from recveil.audit.statement import FigureRow, Statement, in_short, sentences_of
from recveil.audit.theirs import GraphAttack, attack_graphs
from recveil.brief import brief
from recveil.errors import RecveilError, describe_count
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import Manifest


@brief
@dataclass(frozen=True)
class Content:
    """What the cells of a release tell, beyond who is found by the adversaries.

    Parameters
    ----------
    fills : list of FillsTold
        For a co-rated release: who knows nobody, and learns from a shadow release if such a one
        can be made, then who knows 1 % and 5 % of the people. Empty for others.
    companions : Companions or None
        Where labels are the means of those who rated: who knows all of the group but one.
    behind : BehindLabels or None
        Where groups share their labels: how many different ratings stand behind one.
    graphs : tuple of GraphAttack
        What Chang et al.'s attacks achieve against the release.
    untold : str
        Why fills were not looked for, if they could not be; the end of a sentence.
    has_too_fine_labels : bool
        Whether nothing is said of what stands behind labels as the scale is continuous.
    """

    fills: list[FillsTold]
    companions: Companions | None
    behind: BehindLabels | None
    graphs: tuple[GraphAttack, ...] = ()
    untold: str = ""
    has_too_fine_labels: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, for JSON and for the page."""
        return {
            "fills": [told.to_dict() for told in self.fills] or None,
            "companions": self.companions and self.companions.to_dict(),
            "labels": self.behind and self.behind.to_dict(),
            "graph_attacks": [attack.to_dict() for attack in self.graphs],
        }

    def warnings(self) -> list[str]:
        """Say what was not measured."""
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
        """Say in plain words what was found."""
        return sentences_of(self.told())

    def told(self) -> list[Statement]:
        """Return what was found, in plain words and as rows of a table."""
        # Who knows nobody, and who knows most.
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
    """What somebody who knows nobody makes of the labels of a co-rated release.

    Attributes
    ----------
    cells : Cells
        Its labels.
    likely : ndarray of float64, shape (n_labels,), or None
        How probably each is a real rating; None if that could not be learned.
    why_not : str
        Why not, if it was tried.
    """

    cells: Cells
    likely: Numbers | None
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
    """Measure what applies to a release, by what its method and claim say of its labels.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    table : ReleasedTable
    manifest : Manifest
    targets : ndarray of int64
        Who is looked for; those without a record are left out.
    seed : int
    looked : LookedFor, optional
        What `look_for_fills` says of the release, where labels may have been filled in.
    """
    targets = targets[table.record_of[targets] >= 0]
    graphs = tuple(attack_graphs(ratings, table, targets, seed))
    if looked is not None:
        fills, untold = _tell_fills(ratings, table, targets, seed, looked)
        return Content(fills, None, None, graphs, untold)
    if ratings.is_unary:  # labels that are all 1 tell nothing beyond the items
        return Content([], None, None, graphs)
    method, grid = manifest.known_method, manifest.label_grid
    # For diversity, items are added to rows that nobody behind them rated.
    are_means = (
        method is not None
        and method.averages_raters(manifest.settings)
        and manifest.claim.l == 1
        and targets.size > 0
    )
    companions = measure_companions(ratings, table, targets, grid, seed) if are_means else None
    behind = measure_behind_labels(ratings, table, are_means=are_means, grid=grid)
    return Content([], companions, behind, graphs, has_too_fine_labels=behind is None)


def look_for_fills(
    table: ReleasedTable, scale: RatingScale, seed: int, anonymizer: Anonymizer | None
) -> LookedFor:
    """Let somebody who knows nobody learn from a shadow release which labels are fills.

    Parameters
    ----------
    table : ReleasedTable
        A co-rated release.
    scale : RatingScale
    seed : int
        Fixes what the shadow release is made of.
    anonymizer : Anonymizer, optional
        Makes such releases; without it nothing is learned.
    """
    cells = Cells.of(table.candidates, scale)
    if anonymizer is None or too_large(cells):
        return LookedFor(cells, None, "")
    try:
        return LookedFor(cells, tell_fills_by_shadow(cells, anonymizer, seed), "")
    except RecveilError as error:  # a part of the labels may be too few for k
        why = f"no such release can be made of the published labels: {error}"
        return LookedFor(cells, None, why)


def _tell_fills(
    ratings: Ratings,
    table: ReleasedTable,
    targets: NDArray[np.int64],
    seed: int,
    looked: LookedFor,
) -> tuple[list[FillsTold], str]:
    """Return what is told of fills, or why nothing is."""
    cells, nobody = looked.cells, np.empty(0, np.int64)
    try:
        told = [
            measure_fills(ratings, table, targets, share, seed, cells=cells)
            for share in KNOWN_SHARES
        ]
    except RecveilError as error:  # too large, or the few known people have no fills
        return [], str(error)
    if looked.likely is None:
        return told, looked.why_not
    return [judge_fills(ratings, table, targets, cells, looked.likely, nobody, seed), *told], ""


def _of_fills(told: FillsTold) -> str:
    found, alone, marked = told.found, told.by_items, told.precision.get(0.5)
    who = f"Somebody who knows {told.people_known:,} of the people ({told.known_share:.0%})"
    if not told.people_known:
        who = "Somebody who knows nobody, and makes such a release of the published labels,"
    if marked is None or not found.trials:
        return f"{who} could not be tried: nothing is left to be judged."
    beside = f"; by the items alone, {alone.rate:.1%}"
    precision = (
        f"half of the others' real ratings are marked with {marked.rate:.1%} of the marks right "
        f"({marked.low:.1%} to {marked.high:.1%}; a blind guess: {say_share(told.base_rate)})"
    )
    if marked.low <= told.base_rate:
        precision = (
            f"real ratings were not told from fills by this attack ({marked.rate:.1%} of the marks "
            f"right, a blind guess {say_share(told.base_rate)}); better ones may"
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


def _of_labels(behind: BehindLabels) -> Statement:
    one, distinct = behind.one_rating, behind.distinct
    can = ""
    if behind.can_stand is not None:
        can = f"; as far as the label tells, {behind.can_stand.mean:.1f} can"
    sampled = ""
    if behind.records < behind.of_records:
        sampled = (
            f" That is of {behind.records:,} of "
            f"{describe_count(behind.of_records, 'record')}, drawn at random."
        )
    sentence = (
        f"Behind a label stand the ratings of those in the group who rated the item: on average "
        f"{distinct.mean:.1f} different ones ({distinct.low:.1f} to {distinct.high:.1f}), and in "
        f"{percent(one)} of the labels one only{can}."
        f"{sampled}"
    )
    could = "" if behind.can_stand is None else f"as it tells, {behind.can_stand.mean:.1f}"
    rows = (
        FigureRow("different ones behind a label", in_short(distinct, 1, 1), could),
        FigureRow("- labels with one behind them", in_short(one)),
    )
    remark = f"Behind labels was looked for in{sampled.removeprefix(' That is of')}"
    return Statement(sentence, rows, remark if sampled else "")
