"""Measures of each risk axis, by the adversary who is strongest on that axis.

The adversary who re-identifies most users need not find most groups, and knowing many ratings helps
membership inference alone. So each axis selects its own strongest adversary.
"""

from collections.abc import Callable, Iterable
from typing import Any

from recveil.attacks.membership.inference import KNOWN
from recveil.attacks.statistics import FEWEST
from recveil.auditing.shadow_releases import KNOWN_RATINGS
from recveil.comparison.cells import Cell, dig
from recveil.comparison.measure import Line, Measure, Panel
from recveil.release.registry import variant_of


def _strongest(*path: str) -> Callable[[Cell], Any]:
    """Return a getter for the adversary who finds most users."""
    return lambda cell: dig(cell.strongest, *path)


def _membership_measure(key: str) -> Callable[[Cell], Any]:
    return lambda cell: dig(cell.membership, key)


def _row_of_setting(key: str) -> Callable[[Cell], Any]:
    """Return a getter for the distance between a user's row and the user's held-out ratings."""
    return lambda cell: cell.told("target_deviation", key)


def _risk_high(cell: Cell) -> float | None:
    """Return the upper end of the risk's interval, at most the proven bound."""
    person = dig(cell.strongest, "reidentified")
    if person is None or person["high"] is None or cell.bound is None:
        return None if person is None else person["high"]
    return max(person["rate"], min(person["high"], cell.bound))


def _most_attacked(cell: Cell) -> int | None:
    return max((attack["targets_attacked"] for attack in cell.attacks), default=None)


PRIVACY_MEASURES = (
    Measure(
        "verified_k",
        "How many people share each row (or set of items), as counted in the written files",
        int,
        lambda cell: cell.counted_k,
    ),
    Measure(
        "bound",
        "1 / k if the release promises k-anonymity: no attack on it alone can reach more",
        float,
        lambda cell: cell.bound,
        "%",
        "down",
    ),
    Measure("adversary", "Who found most people", str, _strongest("name")),
    Measure("attack", "How they did", str, _strongest("attack")),
    Measure(
        "risk",
        "The share of the people looked for who were found (a pick among the s people of the "
        "found group counts 1/s). None where the attacks do not know what to undo: that they find "
        "few would say nothing",
        float,
        _strongest("reidentified", "rate"),
        "%",
        "down",
        Panel("People found", ".0%"),
    ),
    Measure(
        "risk_low",
        "The lower end of its 95 % interval",
        float,
        _strongest("reidentified", "low"),
        "%",
    ),
    Measure("risk_high", "The upper end, at most the bound", float, _risk_high, "%", "down"),
    Measure(
        "risk_baseline",
        "The same by a blind guess among all people",
        float,
        _strongest("baseline"),
        "%",
    ),
    Measure(
        "looked_for",
        "The people who were to be found",
        int,
        _strongest("targets_requested"),
    ),
    Measure(
        "attacked",
        "Those of them of whom enough could be known; the others count as not found",
        int,
        _strongest("targets_attacked"),
    ),
    Measure(
        "most_attacked", "The same for the adversary who could look for most", int, _most_attacked
    ),
    Measure(
        "group_found",
        "The share of the people whose group was found",
        float,
        _strongest("class_reidentified", "rate"),
        "%",
        "down",
    ),
    Measure(
        "link_precision",
        "The share of the found row's other items that the person rated",
        float,
        _strongest("link_precision"),
        "%",
        "down",
        Panel("Items told rightly", ".0%"),
    ),
    Measure(
        "link_baseline", "The same by popularity alone", float, _strongest("link_baseline"), "%"
    ),
    Measure(
        "exact_share",
        "The share of the found people's other ratings that stand in the row exactly",
        float,
        _strongest("exact_share"),
        "%",
        "down",
    ),
    Measure(
        "lone_share",
        "With simple homogenizing, the share of all ratings that are published as they are, "
        "because nobody else in the group rated the item",
        float,
        lambda cell: cell.lone_share,
        "%",
        "down",
    ),
    Measure(
        "published_share",
        "The share of all ratings that stand in their owner's row exactly, for whatever reason",
        float,
        lambda cell: cell.told("disclosure", "ratings_exact"),
        "%",
        "down",
    ),
    Measure(
        "membership",
        "How well one can tell who was in the data at all: 0.5 is a coin, 1 is certainty",
        float,
        _membership_measure("rate"),
        ".2f",
        "down",
        Panel("Who is in the data? (AUC)", ".2f", (Line("a coin", 0.5),)),
    ),
    Measure(
        "membership_low",
        "The lower end of its 95 % interval",
        float,
        _membership_measure("low"),
        ".2f",
    ),
    Measure("membership_high", "The upper end", float, _membership_measure("high"), ".2f", "down"),
    Measure(
        "target_rmse",
        "Target deviation of Chang et al.: how far the labels of one's own row lie from one's "
        "held-out ratings, a label that is absent counted as 0",
        float,
        _row_of_setting("rmse"),
        ".2f",
        "down",
    ),
    Measure(
        "target_rmse_present",
        "The same of the labels that are present alone",
        float,
        _row_of_setting("rmse_present"),
        ".2f",
        "down",
        Panel("RMSE of one’s own labels", ".2f"),
    ),
    Measure(
        "target_absent",
        "The share of the held-out ratings for which one's own row has no label",
        float,
        _row_of_setting("null_share"),
        "%",
        "down",
        Panel("Own ratings without a label", ".0%"),
    ),
)


# TPR of a random guess at 5 % FPR.
_BLIND = 0.05
# One adversary's result: name, rate with interval, and baseline.
_Told = dict[str, Any]


def _group(cell: Cell) -> _Told | None:
    return _highest(
        {"by": attack["name"], **attack["class_reidentified"], "baseline": attack["class_baseline"]}
        for attack in _attacks_of(cell)
    )


def _membership(cell: Cell) -> _Told | None:
    """Return the best TPR at 5 % FPR, which need not be that of the best AUC.

    Omitted with too few users: 5 % of fewer than 20 non-members is less than one.
    """
    told = cell.told("disclosure", "membership") if _is_attacked(cell) else None
    return _highest(
        {"by": _knowing(known), **told[known]["tpr_at_5"], "baseline": _BLIND}
        for known in KNOWN
        if told is not None and known in told and told[known]["is_measured"]
    )


def _shadows(cell: Cell) -> _Told | None:
    """Return the best TPR at 5 % FPR with shadow releases."""
    return _highest(
        {"by": _knowing(known), **told["tpr_at_5"], "baseline": _BLIND}
        for known, told in _by_shadows(cell).items()
    )


def _shadow_area(cell: Cell) -> _Told | None:
    """Return the best AUC with shadow releases, and that of item counts."""
    return _highest(
        {**told["auc"], "baseline": told["counts_auc"]["rate"]}
        for told in _by_shadows(cell).values()
    )


def _by_shadows(cell: Cell) -> dict[str, Any]:
    """Return the results of shadow releases with at least 20 users in each half."""
    told = (cell.shadows or {}) if _is_attacked(cell) else {}
    return {
        known: told[known]
        for known in KNOWN_RATINGS
        if known in told and told[known]["people"] >= 2 * FEWEST
    }


def _knowing(known: str) -> str:
    return f"adversary with {known} exact ratings"


def _links(cell: Cell) -> _Told | None:
    """Return the links that rows reveal, or that a fit reveals where rows hold all items."""
    ways = [
        {"by": attack["name"], **attack["links"], "baseline": attack["link_baseline"]}
        for attack in _attacks_of(cell)
    ]
    residual = cell.told("disclosure", "residual") if _is_attacked(cell) else None
    if residual is not None:
        fitted = residual["intervals"]["recall_at_95"]
        baseline = residual["popularity_recall_at_95"]
        ways.append({"by": "fit of all rows", **fitted, "baseline": baseline})
    return _highest(ways)


def _link_area(cell: Cell) -> _Told | None:
    """Return the AUC of a fit of all rows over pairs, and that of popularity alone."""
    residual = cell.told("disclosure", "residual") if _is_attacked(cell) else None
    if residual is None:
        return None
    area = residual["intervals"]["auc"]
    return _highest([{**area, "baseline": residual["popularity_auc"]}])


def _is_attacked(cell: Cell) -> bool:
    return variant_of(cell.setting.method).is_attacked


def _attacks_of(cell: Cell) -> list[dict[str, Any]]:
    """Return the adversaries' results; empty where no attack fits the method."""
    return cell.attacks if _is_attacked(cell) else []


def _highest(ways: Iterable[_Told]) -> _Told | None:
    """Return the highest rate; None if none was measured.

    Examples
    --------
    >>> _highest([{"by": "a", "rate": 0.1}, {"by": "b", "rate": 0.4}, {"by": "c", "rate": None}])
    {'by': 'b', 'rate': 0.4}
    >>> _highest([])
    """
    told = [way for way in ways if way["rate"] is not None]
    return max(told, key=lambda way: way["rate"]) if told else None


def _measures(
    name: str, words: str, take: Callable[[Cell], _Told | None], baseline: str
) -> tuple[Measure, ...]:
    """Return measures of the highest rate, its interval, its adversary, and its baseline."""
    return (
        Measure(name, words, float, lambda cell: dig(take(cell), "rate"), "%", "down"),
        Measure(
            f"{name}_low",
            "The lower end of its 95 % interval",
            float,
            lambda cell: dig(take(cell), "low"),
            "%",
        ),
        Measure(
            f"{name}_high",
            "The upper end",
            float,
            lambda cell: dig(take(cell), "high"),
            "%",
            "down",
        ),
        Measure(f"{name}_by", "Who reaches it", str, lambda cell: dig(take(cell), "by")),
        Measure(f"{name}_baseline", baseline, float, lambda cell: dig(take(cell), "baseline"), "%"),
    )


RISK_MEASURES = (
    *_measures(
        "group_risk",
        "The share of the people looked for whose group the adversary finds who finds most groups. "
        "Large groups are few, and easier to find: everybody finds the only one",
        _group,
        "The same by always naming the largest group",
    ),
    *_measures(
        "members_told",
        "The share of the people in the data whom the strongest adversary takes for members, "
        "while 5 % of the people outside are taken for members, too; a blind guess reaches 5 %",
        _membership,
        "The same by a blind guess",
    ),
    *_measures(
        "shadows_told",
        "The share of the people in a release of one half of them who are recognized with shadow "
        "releases, while 5 % of the other half are taken for members, too",
        _shadows,
        "The same by a blind guess",
    ),
    Measure(
        "shadows_auc",
        "How well one can tell with shadow releases who is in a release of one half of the people: "
        "0.5 is a coin, 1 is certainty",
        float,
        lambda cell: dig(_shadow_area(cell), "rate"),
        ".2f",
        "down",
        Panel("Who is in it? Shadow releases (AUC)", ".2f", (Line("a coin", 0.5),)),
    ),
    Measure(
        "shadows_auc_low",
        "The lower end of its 95 % interval",
        float,
        lambda cell: dig(_shadow_area(cell), "low"),
        ".2f",
    ),
    Measure(
        "shadows_auc_high",
        "The upper end",
        float,
        lambda cell: dig(_shadow_area(cell), "high"),
        ".2f",
        "down",
    ),
    Measure(
        "shadows_counts_auc",
        "What exact counts of who rated each item would tell, if nothing else were published",
        float,
        lambda cell: dig(_shadow_area(cell), "baseline"),
        ".2f",
    ),
    *_measures(
        "links_told",
        "Who rated what: the share of the found row's other items that the person rated, by the "
        "adversary for whom it is highest; or, where rows hold all items, the share of the pairs "
        "of a row and an item that somebody behind it rated which a fit of all rows marks, with "
        "95 % of the marks right. The higher of both",
        _links,
        "The same by popularity alone",
    ),
    Measure(
        "links_auc",
        "Where rows hold all items: how often a fit of all rows ranks a pair of a row and an item "
        "that somebody behind it rated above one that nobody there rated. 0.5 is a coin, 1 is "
        "certainty",
        float,
        lambda cell: dig(_link_area(cell), "rate"),
        ".2f",
        "down",
        Panel("Who rated what? A fit of all rows (AUC)", ".2f", (Line("a coin", 0.5),)),
    ),
    Measure(
        "links_auc_low",
        "The lower end of its 95 % interval",
        float,
        lambda cell: dig(_link_area(cell), "low"),
        ".2f",
    ),
    Measure(
        "links_auc_high",
        "The upper end",
        float,
        lambda cell: dig(_link_area(cell), "high"),
        ".2f",
        "down",
    ),
    Measure(
        "links_auc_baseline",
        "The same by popularity alone",
        float,
        lambda cell: dig(_link_area(cell), "baseline"),
        ".2f",
    ),
)
