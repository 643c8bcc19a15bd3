"""Checks that the JSON of an audit is as it was written: what is derived is computed again."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from recveil.attacks import Interval, Mean, wilson_interval
from recveil.attacks.inference.similar_items import InferredItems
from recveil.attacks.membership.recommenders import RecommenderInference
from recveil.attacks.membership.shadow_models import InferredMembers
from recveil.auditing import RiskFigure, RiskLine, Risks
from recveil.auditing.three_risks import AND_ATTRIBUTES
from recveil.evaluation.audited_recommender import AuditedRecommender
from recveil.ratings.ratings import as_nominal
from recveil.release.claim import Claim, bounds_of
from recveil.report.audit.document import map_texts
from recveil.report.audit.risks import FIGURES
from recveil.report.document import plain
from recveil.runtime.errors import RecveilError

RISKS = ("singling_out", "linkability", "inference")
_COUNTED = ("n_users", "n_items", "n_targets", "n_members", "length", "shadows")


@contextmanager
def rejecting_changes(name: str, what: str) -> Iterator[None]:
    """Turn what is missing in a file, or does not follow from its figures, into an error."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise RecveilError(
            f"{name} is not as it was written; audit {what} again", code="input.damaged"
        ) from None


def check_risks(
    document: Mapping[str, Any], claim: Claim | None, *, is_unary: bool, is_nominal: bool
) -> Mapping[str, Any]:
    """Return three risks, ranked anew; raise a ValueError if a part was changed."""
    original = {}
    if is_nominal:
        original = {as_nominal(text): text for text in (*FIGURES, *sum(AND_ATTRIBUTES.items(), ()))}
    lines = []
    for name in RISKS:
        line = document[name]
        figures = tuple(_figure(each, original) for each in line["figures"])
        bound = None if figures else line["bound"]
        reason = "" if figures else line["unmeasured"] or ""
        lines.append(RiskLine(name.replace("_", " "), figures, reason, bound))
        _check_bounds(lines[-1], claim)

    def document_of(lines: list[RiskLine]) -> Mapping[str, Any]:
        out, linked, learned = lines
        again = plain(Risks(document["where"], out, linked, learned, is_unary, is_nominal))
        return map_texts(again, as_nominal) if is_nominal else again

    if document != document_of(lines):
        raise ValueError("not what follows from the figures")
    # Earlier versions ranked figures of few trials first.
    ranked = [sorted(line.figures, key=lambda each: each.order) for line in lines]
    return document_of(
        [replace(line, figures=tuple(each)) for line, each in zip(lines, ranked, strict=True)]
    )


def _figure(part: Mapping[str, Any], original: Mapping[str, str]) -> RiskFigure:
    values = {name: value for name, value in part.items() if name != "excess"}
    for name in ("name", "adversary"):
        values[name] = original.get(values[name], values[name])
    for name, kind in (("rate", Interval), ("control", Interval), ("difference", Mean)):
        values[name] = None if values[name] is None else _interval(values[name], kind)
    figure = RiskFigure(**values)
    if not figure.rate.low <= figure.rate.rate <= figure.rate.high:
        raise ValueError("a rate outside its interval")
    return figure


def _interval(part: Mapping[str, Any], kind: type = Interval) -> Any:
    return kind(**{name: math.nan if each is None else each for name, each in part.items()})


def _check_bounds(line: RiskLine, claim: Claim | None) -> None:
    found = {} if claim is None else bounds_of(claim)
    of_one = None if claim is None or claim.levels else claim.bound
    stated = [
        (each.bound, found.get("most_auc") if each.is_area else of_one) for each in line.figures
    ]
    if not line.figures:
        stated = [(line.bound, found.get("most_accuracy_of_two"))]
    for bound, expected in stated:
        if bound is not None and (expected is None or not math.isclose(bound, expected)):
            raise ValueError("a bound that the claim does not give")


def check_recommender(document: Mapping[str, Any]) -> AuditedRecommender:
    """Return an audited recommender; raise a ValueError if its JSON does not follow from it."""
    values = {
        name: part
        for name, part in document.items()
        if name not in ("schema_version", "risks", "n_table", "headline", "exposed", "notes")
    }
    for name in _COUNTED:
        if type(values[name]) is not int or values[name] < 0:
            raise ValueError(f"{name}: no count")
    values["by_newcomers"] = {
        name: _inference(each) for name, each in values["by_newcomers"].items()
    }
    if (items := values["new_items"]) is not None:
        values["new_items"] = InferredItems(
            **{
                name: _interval(each) if isinstance(each, dict) else each
                for name, each in items.items()
            }
        )
    again = AuditedRecommender(**values, users=np.zeros(document["n_table"], object))
    n_table, exposed = document["n_table"], document["exposed"]
    if again.is_observed:
        is_whole = n_table <= again.n_users and exposed is None
    else:
        is_whole = n_table == again.n_users >= again.n_targets and _is_share(again, exposed)
    written = {**plain(again), "exposed": exposed}
    if not is_whole or any(document[name] != part for name, part in written.items()):
        raise ValueError("not what follows from the figures")
    return again


def _inference(part: Mapping[str, Any]) -> RecommenderInference:
    games: dict[str, Any] = {
        name: part[name]
        if name in ("attack", "attack_at_1") or part[name] is None
        else InferredMembers(*(_interval(part[name][each]) for each in InferredMembers._fields))
        for name in RecommenderInference._fields
        if name != "of_users"
    }
    return RecommenderInference(of_users=None, **games)


def _is_share(audited: AuditedRecommender, exposed: Mapping[str, Any]) -> bool:
    n = audited.n_targets
    found = [exposed[name] for name in ("share", "control")]
    return exposed["users"] == n == sum(each["users"] for each in exposed["bins"]) and all(
        0 <= each["rate"] <= 1 and each == plain(wilson_interval(round(each["rate"] * n), n))
        for each in found
    )
