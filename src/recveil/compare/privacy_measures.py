"""Privacy measures: what a setting promises, and what it gives away."""

from collections.abc import Callable
from typing import Any

from recveil.compare.cell import Cell, dig
from recveil.compare.measure import Line, Measure, Panel


def _strongest(*path: str) -> Callable[[Cell], Any]:
    """Take what is said of the adversary who finds most people."""
    return lambda cell: dig(cell.strongest, *path)


def _membership(key: str) -> Callable[[Cell], Any]:
    return lambda cell: dig(cell.membership, key)


def _own_row(key: str) -> Callable[[Cell], Any]:
    """Take how far the labels of one's own row lie from one's held-out ratings."""
    return lambda cell: cell.told("target_deviation", key)


def _risk_high(cell: Cell) -> float | None:
    """Take the upper end of the risk's interval; it does not reach above what is proven."""
    person = dig(cell.strongest, "person_found")
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
        _strongest("person_found", "rate"),
        "%",
        "down",
        Panel("People found", ".0%"),
    ),
    Measure(
        "risk_low",
        "The lower end of its 95 % interval",
        float,
        _strongest("person_found", "low"),
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
        _strongest("group_found", "rate"),
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
        _membership("rate"),
        ".2f",
        "down",
        Panel("Who is in the data? (AUC)", ".2f", (Line("a coin", 0.5),)),
    ),
    Measure(
        "membership_low", "The lower end of its 95 % interval", float, _membership("low"), ".2f"
    ),
    Measure("membership_high", "The upper end", float, _membership("high"), ".2f", "down"),
    Measure(
        "target_rmse",
        "Target deviation of Chang et al.: how far the labels of one's own row lie from one's "
        "held-out ratings, a label that is absent counted as 0",
        float,
        _own_row("rmse"),
        ".2f",
        "down",
    ),
    Measure(
        "target_rmse_present",
        "The same of the labels that are present alone",
        float,
        _own_row("rmse_present"),
        ".2f",
        "down",
        Panel("RMSE of one’s own labels", ".2f"),
    ),
    Measure(
        "target_absent",
        "The share of the held-out ratings for which one's own row has no label",
        float,
        _own_row("null_share"),
        "%",
        "down",
        Panel("Own ratings without a label", ".0%"),
    ),
)
