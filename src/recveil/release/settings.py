"""How a release was made: which settings each method publishes, and what their values can be."""

import math
import re
from collections.abc import Iterator
from typing import Any

PREDICTIVE, K_CORATING = "predictive anonymization", "k-coRating"

# The names of recveil's own; another predictor, grouping or fill is somebody's own class.
PREDICTORS = ("FunkSVD", "ItemMean", "UserKNN", "TrustKNN")
GROUPINGS = (
    *("KGather", "BisectingKGather", "PredictiveGrouping", "BoundedTMeans", "MDAV", "KMember"),
    *("UnionSplit", "LevelGather", "BisectingOneKGather"),
)
FILLS = ("item-mean", "random", "funk-svd", "similarity", "trust")
# k-coRating takes no groupings but these, and calls them by these names.
CO_RATED_GROUPINGS = (
    *("gecom", "supports", "k-gather", "bisecting", "predictive", "bounded-t-means", "mdav"),
    *("k-member", "union-split"),
)
# What stands behind the name of one of recveil's own whose parameters are not the usual ones.
OF_ITS_OWN = ", with parameters of its own"
# Stand in a list of values for any name of a class, and for any step in rating points.
_CLASS, _STEP = object(), object()
_LARGEST_STEP = 1e12
_CLASS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")


def problems_of_settings(manifest: dict[str, Any]) -> Iterator[str]:
    """Say which settings of a release no such method publishes, or not with such a value.

    Parameters
    ----------
    manifest : dict
        The content of release.json; claim, levels, diversity and scale make sense.
    """
    settings = manifest["settings"]
    expected = _expected(manifest)
    if expected is None:
        method = _quoted(settings.get("method"))
        yield f"settings: the method {method} is unknown; expected {PREDICTIVE!r} or {K_CORATING!r}"
        return
    for name in settings:
        if name not in expected:
            yield f"settings carry {_quoted(name)}, which this method does not publish"
    for name, allowed in expected.items():
        if name not in settings:
            yield f"settings lack {name!r}"
        elif not _is_allowed(settings[name], allowed, manifest["scale"]):
            yield f"settings: {name} is {_quoted(settings[name])}, which is none of its values"
    if set(settings) == set(expected) and list(settings) != list(expected):
        yield "settings have their keys in another order than recveil writes them"
    yield from _contradictions(manifest)


def foreign_names(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Return which settings bear the name of somebody's own class, and that name.

    Examples
    --------
    >>> foreign_names({"method": PREDICTIVE, "predictor": "MyModel", "grouping": "KGather"})
    [('predictor', 'MyModel')]
    """
    own: dict[str, tuple[str, ...]] = {
        "predictor": PREDICTORS,
        "fill": FILLS,
        "grouping": GROUPINGS + CO_RATED_GROUPINGS,
    }
    return [
        (name, str(settings[name]))
        for name, names in own.items()
        if name in settings and str(settings[name]).removesuffix(OF_ITS_OWN) not in names
    ]


def label_grid(manifest: dict[str, Any]) -> float | None:
    """Return the step on which, by its settings, all labels of a release lie; None if on none.

    Examples
    --------
    >>> settings = {"method": PREDICTIVE, "label_step": 0.1}
    >>> label_grid({"settings": settings, "scale": {"low": 1.0, "high": 5.0, "step": 1.0}})
    0.1
    """
    settings, scale = manifest["settings"], manifest["scale"]
    step = settings.get("label_step")
    if settings.get("method") == K_CORATING and settings.get("protect") in ("none", "shuffle"):
        step = scale["step"] if settings.get("round_fills") is True else None
    return step if type(step) is float and 0 < step < math.inf else None


def _expected(manifest: dict[str, Any]) -> dict[str, Any] | None:
    """Return the settings of the method in their order, each with its values; None if unknown."""
    settings = manifest["settings"]
    if settings.get("method") == PREDICTIVE:
        return {
            "method": (PREDICTIVE,),
            "homogenize": ("padded", "simple"),
            "predictor": (*PREDICTORS, _CLASS),
            "grouping": (*GROUPINGS, _CLASS),
            "label_step": (None, _STEP),
        }
    if settings.get("method") == K_CORATING:
        expected: dict[str, Any] = {
            "method": (K_CORATING,),
            "fill": (*FILLS, _CLASS),
            "grouping": CO_RATED_GROUPINGS,
            "round_fills": (True, False),
            "protect": ("none", "shuffle", "mean"),
        }
        if settings.get("fill") == "trust":
            expected["trust"] = ("worked out", "stated")
        if settings.get("protect") == "mean":
            expected["label_step"] = (_STEP,)
        return expected
    return None


def _is_allowed(value: Any, allowed: tuple[Any, ...], scale: dict[str, Any]) -> bool:
    if type(value) is float:
        largest: float = scale["high"] - scale["low"] or _LARGEST_STEP
        return _STEP in allowed and 0 < value <= largest
    if isinstance(value, str):
        if _CLASS not in allowed:
            return value in allowed
        name = value.removesuffix(OF_ITS_OWN)
        return name in allowed or bool(_CLASS_NAME.fullmatch(value))
    return any(value is one for one in allowed)  # True equals 1, and is another thing


def _contradictions(manifest: dict[str, Any]) -> Iterator[str]:
    """Say where the claim is not the one that such settings lead to."""
    settings, claim = manifest["settings"], manifest["claim"]
    co_rates = settings["method"] == K_CORATING and settings.get("protect") != "mean"
    if claim != ("co-rated" if co_rates else "identical-rows"):
        yield f"the claim {claim!r} is not the one of a release with such settings"
    if settings["method"] == K_CORATING and manifest["levels"]:
        yield "levels are no part of k-coRating"
    if settings["method"] == K_CORATING and manifest["diversity"] != {"b": 1, "l": 1}:
        yield "diversity is no part of k-coRating"


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
