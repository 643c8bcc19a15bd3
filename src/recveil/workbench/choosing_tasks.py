"""Choosing: what a worker does for the room Choose."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from recveil.beside import write_beside
from recveil.compare import Comparison
from recveil.compare.asked import Of, usual_methods, variants_of
from recveil.release.registry import variant_of
from recveil.workbench.assignment import Assignment
from recveil.workbench.said import keywords_of

# What is finished of a comparison that still runs, or was stopped.
SO_FAR, PAGE = "so_far.json", "comparison.html"
# The kinds of methods by what a setting takes, about: those of few labels come first. Measured on
# MovieLens 100K, a setting of the first takes 6 seconds, of the last 25.
_QUICK = ("sparse", "synthetic", "simple", "k-corating, averaged", "k-corating, likes", "padded")


def kind_of_table(found: dict[str, Any] | None) -> Of:
    """Return what a table was found to hold, as `inspect` told it; ratings if nothing is known.

    Examples
    --------
    >>> kind_of_table({"data": {"scale": "likes"}, "scale": None})
    'likes'
    >>> kind_of_table({"data": {"scale": "1:2:1"}, "scale": {"ordered": False, "words": []}})
    'words'
    """
    if found is None:
        return "ratings"
    if found["data"]["scale"] == "likes":
        return "likes"
    return "ratings" if (found["scale"] or {}).get("ordered", True) else "words"


def methods_to_choose(*, of: Of) -> dict[str, bool]:
    """Return the names of the methods that can be compared, and whether each is usual.

    Examples
    --------
    >>> list(methods_to_choose(of="likes"))[:3]
    ['raw', 'sparse', 'synthetic-exact']
    """
    usual = [
        name
        for name in usual_methods(of=of)
        if variant_of(name).is_control or variant_of(name).about_claim.is_published
    ]
    names = variants_of(of)
    return {name: name in usual for name in sorted(names, key=_order)}


def _order(name: str) -> tuple[bool, int]:
    """Put the control first, without which no risk says anything, and then what is quick."""
    variant = variant_of(name)
    place = _QUICK.index(variant.kind) if variant.kind in _QUICK else len(_QUICK)
    return not variant.is_control, place


def compare_input(assignment: Assignment) -> dict[str, Any]:
    """Compare settings on a table, and show each as soon as it is finished.

    Parameters
    ----------
    assignment : Assignment
        Its settings are the `source`, the `reading`, the `methods`, `ks` and `shadows`, and the
        folder `out` in which finished settings are kept.
    """
    from recveil.compare import compare
    from recveil.report import write_compare_page

    asked, folder = assignment.settings, assignment.folder

    def show(comparison: Comparison) -> None:
        text = json.dumps(_told(comparison))
        write_beside(folder / SO_FAR, lambda beside: beside.write_text(text, encoding="utf-8"))
        assignment.tell("settings", len(comparison.rows))

    found = compare(
        asked["source"],
        Path(asked["out"]),
        methods=asked["methods"],
        ks=asked["ks"],
        shadows=asked["shadows"],
        so_far=show,
        **keywords_of(asked["reading"]),
    )
    write_compare_page(found.to_dict(), folder / PAGE)
    return _told(found)


def _told(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data; that some is still to come is no warning here."""
    return {
        "comparison": replace(comparison, unfinished=0).to_dict(),
        "unfinished": comparison.unfinished,
    }
