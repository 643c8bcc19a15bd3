"""Utility by group as sentences and tables."""

from collections.abc import Mapping, Sequence

import numpy as np

from recveil.evaluation.groups import (
    ACTIVITY,
    MIN_JUDGED,
    POPULARITY,
    TASTE,
    Division,
    Gap,
    GroupUtility,
    Kind,
    widest,
)
from recveil.evaluation.retained import Measured
from recveil.ratings.ratings import in_likes
from recveil.runtime.number_format import estimate, format_bounds, percent
from recveil.runtime.safe_repr import Grid

_HIGHEST = {
    ACTIVITY: "up to {:,.0f} ratings",
    TASTE: "items with up to {:,.0f} raters on average",
    POPULARITY: "up to {:,.0f} raters",
}
_GAP_HEAD = ("division", "of", "worst, best", "worse than best by", "from raw", "release adds")
_HEAD = ("users", "nDCG raw", "release", "retained", "RMSE raw", "release")
# Without the columns of RMSE, which implicit feedback and nominal labels do not have.
_OF_LISTS = 5


def describe_widest(divisions: Sequence[Division]) -> str:
    """Describe the gap between groups that a release widens most; empty without any."""
    found = widest(divisions, "lists")
    kind: Kind = "ratings" if found is None else "lists"
    found = found or widest(divisions, "ratings")
    if found is None:
        return (
            f"No gap between groups is reported: fewer than {MIN_JUDGED} users could be judged in "
            f"all but one."
            if divisions
            else ""
        )
    division, gap = found
    is_attribute = division.name not in _HIGHEST
    worst, best = (
        f"{division.name} {name}" * is_attribute or name for name in (gap.worst, gap.best)
    )
    of_lists = "lists' gain per relevant rating" if division.name == POPULARITY else "nDCG of lists"
    what = f"{of_lists} is {{}} lower" if kind == "lists" else "RMSE is {} higher"
    is_wider = gap.adds.low > 0
    which = "The gap that the release widens most" if is_wider else "The largest gap"
    return (
        f"{which} between groups: for {worst}, the {what.format(estimate(gap.release))} than "
        f"for {best}; from the raw ratings, the largest gap by {division.name} is "
        f"{estimate(gap.raw)}, so the release adds {points(gap.adds)}"
        f"{'' if is_wider else ', not clearly above 0'}."
    )


def gaps_by_setting(divisions: Mapping[str, Sequence[Division]]) -> Grid | None:
    """Return a table of the gaps that each setting widens most; None without any."""
    kinds: tuple[tuple[Kind, str], ...] = (("lists", "nDCG"), ("ratings", "RMSE"))
    rows = [
        (title, found[0].name, metric, *_gap_cells(found[1]))
        for title, each in divisions.items()
        for kind, metric in kinds
        if (found := widest(each, kind)) is not None
    ]
    return (
        Grid("the gaps that each setting widens most", ("setting", *_GAP_HEAD), rows)
        if rows
        else None
    )


def points(figure: Measured) -> str:
    """Format a difference of shares.

    >>> points(Measured(0.12, -0.04, 0.2))
    '12 points (-4 to 20)'
    """
    bounds = format_bounds(figure.low, figure.high)
    return f"{percent(figure.value)[:-1]} points" + ("" if bounds == "–" else f" ({bounds})")


def describe_too_few(divisions: Sequence[Division]) -> str:
    """Name the groups without figures; empty if all have some."""
    few = [f"{name} ({one.name})" for one in divisions for name in one.too_few]
    if not few:
        return ""
    return (
        f"Fewer than {MIN_JUDGED} users could be judged, so these have no figure: {', '.join(few)}."
    )


def gap_rows(divisions: Sequence[Division]) -> list[tuple[str, ...]]:
    """Return the largest gaps of each division, of lists and of predicted ratings."""
    kinds: tuple[tuple[Kind, str], ...] = (("lists", "nDCG"), ("ratings", "RMSE"))
    return [
        (one.name, metric, *_gap_cells(gap))
        for one in divisions
        for kind, metric in kinds
        if (gap := getattr(one, kind)) is not None
    ]


def _gap_cells(gap: Gap) -> tuple[str, ...]:
    pair = f"{gap.worst}, {gap.best}"
    return pair, estimate(gap.release), estimate(gap.raw), points(gap.adds)


def group_rows(division: Division) -> list[tuple[str, ...]]:
    """Return the figures of each group of a division."""
    return [
        (
            _title(division.name, group),
            f"{group.n_users:,}",
            *(_value(group.raw_lists), estimate(group.lists, 3), estimate(group.retained)),
            *(_value(group.raw_rmse), estimate(group.rmse, 3)),
        )
        for group in division.groups
    ]


def _value(figure: Measured) -> str:
    return "–" if np.isnan(figure.value) else f"{figure.value:.3f}"


def _title(division: str, group: GroupUtility) -> str:
    if group.highest is None or np.isnan(group.highest) or division not in _HIGHEST:
        return group.name
    return f"{group.name}, {_HIGHEST[division].format(group.highest)}"


def group_grids(divisions: Sequence[Division], *, is_unary: bool = False) -> list[Grid]:
    """Return a table of the gaps, and one of each division's groups; none without rows."""
    grids = [
        Grid("largest gaps between groups", _GAP_HEAD, gap_rows(divisions)),
        *(_groups_of(each, is_unary) for each in divisions),
    ]
    return [grid for grid in grids if grid.rows]


def _groups_of(division: Division, is_unary: bool) -> Grid:
    """Return the groups of a division, without the columns of RMSE where no group has any."""
    header: tuple[str, ...] = (f"by {division.name}", *_HEAD)
    has_rmse = not all(np.isnan(group.raw_rmse.value) for group in division.groups)
    n_shown = None if has_rmse else _OF_LISTS
    rows = [
        (in_likes(name, is_unary and division.name in _HIGHEST), *cells)
        for name, *cells in (row[:n_shown] for row in group_rows(division))
    ]
    return Grid(f"groups by {division.name}", header[:n_shown], rows)
