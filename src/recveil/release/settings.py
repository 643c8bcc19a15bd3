"""Validation of the public settings of a release."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from recveil.io.columns.feedback import COUNT_SCALE
from recveil.release.claim import NEIGHBOURS_SINCE, claim_kind, stated_kind
from recveil.release.dates import DATED_FORMAT, is_cohort, period_of
from recveil.release.earlier_formats import RENAMED_SINCE
from recveil.release.method import (
    CUSTOM_SUFFIX,
    OF_COUNTS,
    Method,
    PublicSetting,
    Settings,
    publishes_likes,
)
from recveil.release.records import hides_items
from recveil.release.registry import all_methods, find_method

_LARGEST_STEP = 1e12
# The format that is written, but for releases with dates. Before, differentially private releases
# had a format of their own since `NEIGHBOURS_SINCE`, and so had others of implicit feedback and of
# labels.
NEWEST = RENAMED_SINCE
_OF_LIKES, _OF_LABELS = 6, 7
SHA256 = re.compile(r"[0-9a-f]{64}")
_CLASS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")


def problems_of_settings(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Report settings that the method does not publish, or not with such a value."""
    settings = manifest["settings"]
    method = find_method(settings)
    if method is None or not method.card:
        named = repr_start(settings.get("method"))
        titles = " or ".join(repr(known.title) for known in all_methods() if known.card)
        yield f"settings: the method {named} is unknown; expected {titles}"
        return
    yield from _problems_of_likes(manifest)
    yield from _problems_of_labels(manifest)
    yield from _problems_of_counts(manifest)
    yield from _problems_of_dates(manifest)
    if _format_of(manifest) < method.first_format:
        named = repr_start(settings.get("method"))
        yield f"settings: the method {named} is unknown to releases of this format"
        return
    known = [one for one in method.expected(settings) if one.first_format <= _format_of(manifest)]
    expected = {setting.name: setting for setting in known}
    for name in settings:
        if name not in expected:
            yield f"settings have {repr_start(name)}, which this method does not publish"
    for name, setting in expected.items():
        if name not in settings:
            yield f"settings lack {name!r}"
        elif not _is_allowed(settings[name], setting, manifest["scale"]):
            yield f"settings: {name} is {repr_start(settings[name])}, which is not an allowed value"
    if set(settings) == set(expected) and list(settings) != list(expected):
        yield "the keys of settings are not in the order of recveil"
    if _format_of(manifest) >= RENAMED_SINCE and method.made_before(settings):
        yield "settings do not state how rare items were treated, which this format requires"
    yield from _contradictions(method, manifest)
    yield from method.problems(manifest, _format_of(manifest))


def _problems_of_likes(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Report contradictions in a release of implicit feedback."""
    likes = publishes_likes(manifest["settings"])
    number = _format_of(manifest)
    if number < NEIGHBOURS_SINCE and likes != (number == _OF_LIKES):
        yield (
            f"settings: before format {NEIGHBOURS_SINCE}, the format of implicit feedback is "
            f"{_OF_LIKES}, and of nothing else"
        )
    scale = manifest["scale"]
    if likes and [scale["low"], scale["high"], scale["step"]] != [1, 1, 1]:
        yield "scale: implicit feedback has the value 1 alone; expected 1.0, 1.0 and 1.0"
    if not likes and number >= RENAMED_SINCE and scale["low"] == scale["high"]:
        yield "scale: it has one value, which only implicit feedback has; settings lack 'feedback'"


def _problems_of_labels(manifest: Mapping[str, Any]) -> Iterator[str]:
    settings, labelled = manifest["settings"], "labels" in manifest["scale"]
    number = _format_of(manifest)
    if number < NEIGHBOURS_SINCE and labelled != (number == _OF_LABELS):
        yield (
            f"scale: before format {NEIGHBOURS_SINCE}, the format of labels is "
            f"{_OF_LABELS}, and of nothing else"
        )
    method = find_method(settings)
    if not labelled:
        if method is not None and method.takes_unordered:
            yield "scale: this method publishes labels, but the scale has none"
        return
    if settings.get("value_step", 1.0) != 1.0:
        yield "settings: value_step is not 1, but there is no value between two labels"
    if method is not None and method.takes_unordered == (manifest["scale"]["ordered"] is True):
        yield "scale: this method needs labels with another order, or without one"
    if settings.get("round_fills", True) is not True:
        yield "settings: round_fills is not true, but values are labels"


def _problems_of_counts(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Report values that are declared levels of counts but are on another scale."""
    if publishes_counts(manifest["settings"]) and manifest["scale"] != COUNT_SCALE.to_json():
        yield f"scale: expected that of levels of counts, {COUNT_SCALE}"


def _problems_of_dates(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Report dates that contradict the format, or other parts of a release."""
    settings = manifest["settings"]
    if period_of(settings) is None:
        if _format_of(manifest) == DATED_FORMAT:
            yield f"settings lack 'dates', which every release of format {DATED_FORMAT} has"
    elif hides_items(settings):
        yield "values have dates, which no release of hidden items has"


def publishes_counts(settings: Settings) -> bool:
    """Return whether the values of a release are levels of counts.

    >>> publishes_counts({"method": "sparse rows", "counts": "log"})
    True
    """
    return OF_COUNTS.name in settings


def foreign_names(settings: Settings) -> list[tuple[str, str]]:
    """Return the settings that name a custom class, with that name."""
    method = find_method(settings)
    expected = [] if method is None else method.expected(settings)
    return [
        (setting.name, str(settings[setting.name]))
        for setting in expected
        if setting.any_class
        and setting.name in settings
        and str(settings[setting.name]).removesuffix(CUSTOM_SUFFIX) not in setting.allowed
    ]


def value_grid(settings: Settings, scale_step: float | None) -> float | None:
    """Return the step of the grid of all published values; None if there is no grid.

    >>> value_grid({"method": "predictive anonymization", "value_step": 0.1}, 1.0)
    0.1
    """
    method = find_method(settings)
    step = None if method is None else method.value_grid(settings, scale_step)
    return step if type(step) is float and 0 < step < math.inf else None


def _format_of(manifest: Mapping[str, Any]) -> int:
    """Return the number of a format; the newest if it has none."""
    number = str(manifest.get("format", "")).rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else NEWEST


def _is_allowed(value: Any, setting: PublicSetting, scale: Mapping[str, Any]) -> bool:
    if type(value) is float:
        largest: float = scale["high"] - scale["low"] or _LARGEST_STEP
        is_share = setting.any_share and 0 <= value <= 1
        return is_share or (setting.any_step and 0 < value <= largest)
    if isinstance(value, list):
        return setting.any_numbers and all(
            type(number) is float and math.isfinite(number) for number in value
        )
    if setting.any_cohort:
        return is_cohort(value)
    if isinstance(value, str):
        if setting.any_sha256:
            return SHA256.fullmatch(value) is not None
        if not setting.any_class:
            return value in setting.allowed
        name = value.removesuffix(CUSTOM_SUFFIX)
        return name in setting.allowed or bool(_CLASS_NAME.fullmatch(value))
    if type(value) is int and value in setting.within:
        return True
    # True equals 1 but is another value.
    return any(type(value) is type(one) and value == one for one in setting.allowed)


def _contradictions(method: Method, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Report a claim that does not follow from the settings."""
    kind = stated_kind(manifest["claim"])
    if kind != method.claim_of(manifest["settings"]):
        yield f"the claim {kind!r:.60} is not the one of a release with such settings"
    if hides_items(manifest["settings"]):
        if not claim_kind(kind).contains_users:
            yield "items have pseudonyms, which synthetic releases do not have"
        if manifest["item_type"] != "text":
            yield "item_type is not 'text', although items have pseudonyms"
        if manifest["format"] == "recveil-release-1":
            yield "items have pseudonyms, which this format does not have"
    if "previous" in manifest and not method.takes_previous:
        yield f"previous is given, but a release by {method.title} follows no other one"
    if "previous" in manifest and not SHA256.fullmatch(manifest["previous"]):
        yield "previous is no SHA-256 of 64 digits"
    if manifest["levels"] and not method.takes_levels:
        yield f"{method.title} has no privacy levels"
    if manifest["diversity"] != {"b": 1, "l": 1} and not method.takes_diversity:
        yield f"{method.title} has no diversity"


def repr_start(value: Any) -> str:
    """Return the beginning of a value as Python writes it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
