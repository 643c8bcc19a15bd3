"""The three risks in a report: words and figures of the JSON of an audit."""

from collections.abc import Mapping
from typing import Any

from recveil.attacks import Interval
from recveil.report.audit.risks import reference_of
from recveil.runtime.number_format import estimate

WORDS = {
    "singling_out": (
        "Singling out",
        "Can one user's record be isolated in what is published?",
    ),
    "linkability": (
        "Linkability",
        "Can what is known about a user be linked with their row, or with the data at all?",
    ),
    "inference": (
        "Inference",
        "Can something unknown about a user be deduced, beyond what holds for a stranger?",
    ),
}
# Figures of each risk, the strongest first
MOST_FIGURES = 4


# What attacks on the graph of users and items know, or use
_ON_GRAPH = {
    "structure-based": "{} that the user rated (structure-based)",
    "label-based": "{} and the user’s exact ratings of them (label-based)",
    "homogeneity": "what all matches of {} share (homogeneity)",
}


def describe_adversary(name: str) -> str:
    """Return who attacked, or what an attack on the graph of users and items knows."""
    attack, _, items = name.partition(", ")
    return _ON_GRAPH.get(attack, name or "the release alone").format(items)


def is_area(figure: Mapping[str, Any]) -> bool:
    """Return whether a figure is an area under the curve."""
    return bool(figure["is_area"])


def value_of(figure: Mapping[str, Any]) -> str:
    """Return a figure with its interval."""
    value = Interval(**figure["rate"])
    is_auc = is_area(figure)
    return "AUC " * is_auc + estimate(value, 2 if is_auc else None, counts_few=True)


def reference_in(figure: Mapping[str, Any]) -> str:
    """Return what a figure is compared with."""
    control = figure["control"]
    measured = None if not control or control["rate"] is None else Interval(**control)
    digits = 2 if is_area(figure) else None
    return reference_of(figure["name"], figure["baseline"], measured, digits=digits)[0]
