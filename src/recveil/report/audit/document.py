"""JSON documents and facts of audits."""

import dataclasses
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from recveil.attacks import Adversary, Membership, ReleaseAttack
from recveil.attacks.membership.inference import describe_outside_knowledge
from recveil.auditing import Audit, Check, Figure, Outcome, Point, Risk, Suspects
from recveil.auditing.curves import guarantees
from recveil.auditing.linkage import Linkage
from recveil.auditing.release_attacks import AttackedRelease, AttackedSynthetic, Content
from recveil.auditing.shadow_releases import ShadowMembership
from recveil.ratings.ratings import in_likes
from recveil.release.claim import bounds_of
from recveil.report import data_to_dict
from recveil.report.audit import disclosure, text
from recveil.runtime.safe_repr import Grid, share_in_words

# Keys of documents that are not named as the fields of the results.
_KEYS = {
    "alone": "unique",
    "alone_in_one": "unique_in_one",
    "can_stand": "possible",
    "class_found": "class_inferred",
    "cluster_found": "cluster_inferred",
    "mean_people": "mean_users",
    "people": "users",
    "person_found": "reidentified",
    "person_in_both": "reidentified_by_both",
    "person_in_one": "reidentified_by_one",
    "right": "correct",
    "stranger": "control",
    "strangers": "nonmembers",
    "told": "inferred",
    "way": "attack",
}


def plain(value: Any) -> Any:
    """Return plain data: results become mappings with the keys of documents, and nan None.

    Examples
    --------
    >>> from recveil.attacks import Interval
    >>> plain({"strangers": Interval(float("nan"), 0.0, 1.0, 0)})
    {'nonmembers': {'rate': None, 'low': 0.0, 'high': 1.0, 'trials': 0}}
    """
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_KEYS.get(key, key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


@singledispatch
def to_dict(result: object) -> dict[str, Any]:
    """Return a result as plain data for JSON and the page."""
    document: dict[str, Any] = plain(result)
    return document


@to_dict.register
def _(audit: Audit) -> dict[str, Any]:
    ratings, is_unary = audit.ratings, audit.ratings.is_unary
    # The release comes first; the attacks on the table without names are the "before".
    released = {} if audit.published is None else {"release": to_dict(audit.published)}
    return {
        **released,
        "data": {
            "source": audit.reading.name,
            **data_to_dict(ratings, audit.reading),
            "times": ratings.days is not None,
        },
        "verdict": text.verdict_of(audit),
        "warnings": text.warnings_of(audit),
        "attacks": [to_dict(outcome) for outcome in audit.attacks],
        "graph_attacks": plain(audit.graphs),
        "deanonymized": plain(audit.deanonymized),
        "figures": [_in_likes(to_dict(figure), is_unary) for figure in audit.figures],
        "checks": [check_to_dict(check) for check in audit.checks],
        "sufficient": plain(audit.sufficient),
        "risk": audit.risk and to_dict(audit.risk),
        "release": released.get("release"),
        "suspects": plain(audit.suspects),
        "theory": [
            {**plain(each), "text": text.describe_theorem(each.epsilon, each.delta)}
            for each in guarantees(ratings.n_users)
        ],
    }


@to_dict.register
def _(outcome: Outcome) -> dict[str, Any]:
    rates = ("success", "top1", "wrong_match", "no_match", "control", "likeliest", "reidentified")
    entropy, is_attacked = outcome.entropy_bits, outcome.attacked > 0
    return {
        "attack": "scoreboard-rh",
        "name": outcome.adversary.name,
        "description": outcome.adversary.description,
        "notes": list(outcome.adversary.notes),
        **outcome.adversary.settings(),
        "targets_requested": outcome.requested,
        "targets_attacked": outcome.attacked,
        "targets_skipped": outcome.skipped,
        **{name: plain(getattr(outcome, name)) for name in rates},
        "entropy_bits": entropy.mean if is_attacked else None,
        # A single target has no interval.
        "entropy_bits_interval": plain(entropy) if outcome.attacked > 1 else None,
        "likelihood_bits": outcome.likelihood_bits.mean if is_attacked else None,
        "baseline": outcome.baseline,
        "by_attack": plain(outcome.by_attack),
    }


@to_dict.register
def _(point: Point) -> dict[str, Any]:
    return {name: value for name, value in vars(point).items() if value is not None}


@to_dict.register
def _(figure: Figure) -> dict[str, Any]:
    return vars(figure) | {"points": [to_dict(point) for point in figure.points]}


def _in_likes(part: Any, is_unary: bool) -> Any:
    """Reword the texts of a figure for likes."""
    if isinstance(part, dict):
        return {name: _in_likes(value, is_unary) for name, value in part.items()}
    if isinstance(part, list):
        return [_in_likes(value, is_unary) for value in part]
    return in_likes(part, is_unary) if isinstance(part, str) else part


@to_dict.register
def _(risk: Risk) -> dict[str, Any]:
    """Count the users by tenths of risk and by adversary."""
    rates = risk.rates[~np.isnan(risk.rates)]
    tenths = np.minimum(np.floor(rates * 10 + 1e-9), 9).astype(int)
    users = np.bincount(tenths, minlength=10)
    names = [name for name in risk.adversary.tolist() if name is not None]
    return {
        "draws": risk.draws,
        "bins": [
            {"low": tenth / 10, "high": (tenth + 1) / 10, "users": int(users[tenth])}
            for tenth in range(10)
        ],
        "users_by_adversary": {name: names.count(name) for name in dict.fromkeys(names)},
        "users_not_attacked": len(risk.rates) - len(names),
    }


def check_to_dict(check: Check) -> dict[str, Any]:
    """Return a check of the attack itself as plain data."""
    return {
        "code": check.code,
        "name": text.name_check(check),
        "holds": check.holds,
        "measured": text.describe_check(check),
        "figures": plain(check.figures),
    }


@to_dict.register
def _(shadows: ShadowMembership) -> dict[str, Any]:
    by_known = {
        known: {"users": each.n_users, "skipped": each.skipped}
        | plain(each.inferred)
        | {"null_auc": plain(each.null_auc), "counts_auc": plain(each.counts_auc)}
        for known, each in shadows.by_known.items()
    }
    return {"n": shadows.n, "users": shadows.users, **by_known}


@to_dict.register
def _(linkage: Linkage) -> dict[str, Any]:
    shared = linkage.shared
    return {
        "name": linkage.name,
        "k": linkage.k,
        "users": shared.people,
        "unique": shared.alone.rate,
        "unique_interval": plain(shared.alone),
        "unique_in_one": shared.alone_in_one,
        "below_k": shared.below_k.rate,
        "below_k_interval": plain(shared.below_k),
        "mean_users": shared.mean_people.mean,
        "mean_users_interval": plain(shared.mean_people),
        "attacks": [
            {
                "name": name,
                "targets_requested": both.requested,
                "targets_skipped": both.skipped,
                **plain(
                    {
                        rate: getattr(both, rate)
                        for rate in (
                            "first",
                            "second",
                            "both",
                            "person_in_one",
                            "person_in_both",
                            "stranger",
                        )
                    }
                ),
            }
            for name, both in linkage.attacks
        ],
        "hides_items": list(linkage.hides_items),
        "links": linkage.links
        and plain(
            {
                name: getattr(linkage.links, name)
                for name in ("one", "both", "stranger", "popularity")
            }
        ),
        "verdict": text.verdict_of_linkage(linkage),
        "warnings": text.warnings_of_linkage(linkage),
    }


@to_dict.register
def _(content: Content) -> dict[str, Any]:
    return {
        "fills": [
            {
                "known_share": fills.known_share,
                "users_known": fills.people_known,
                "base_rate": fills.base_rate,
                "precision": {f"{at:g}": plain(rate) for at, rate in fills.precision.items()},
                "popularity_precision": {
                    f"{at:g}": plain(rate) for at, rate in fills.by_popularity.items()
                },
                "reidentified": plain(fills.found) if fills.found.trials else None,
                "reidentified_by_items_alone": plain(fills.by_items)
                if fills.found.trials
                else None,
            }
            for fills in content.fills
        ]
        or None,
        "companions": content.companions and plain(content.companions.to_dict()),
        "values": content.possible and plain(content.possible.to_dict()),
        "graph_attacks": plain(content.graphs),
    }


def attack_to_dict(adversary: Adversary, attack: ReleaseAttack) -> dict[str, Any]:
    """Return one adversary's results on a release as plain data."""
    errors, links = attack.rating_errors, plain(attack.link_precision)
    return {
        "name": adversary.name,
        "description": adversary.description,
        "notes": list(adversary.notes),
        "attack": attack.attack,
        "targets_requested": attack.requested,
        "targets_attacked": attack.requested - attack.skipped,
        "targets_skipped": attack.skipped,
        "class_reidentified": plain(attack.group_found),
        "reidentified": plain(attack.person_found),
        "baseline": attack.baseline,
        "class_baseline": attack.group_baseline,
        "bound": attack.bound,
        "link_precision": links["mean"],
        "link_baseline": plain(attack.link_baseline.mean),
        "links": {"rate": links.pop("mean"), **links},
        "rating_rmse": plain(errors.rmse),
        "item_mean_rmse": plain(errors.item_mean_rmse),
        "exact_share": plain(attack.exact.rate),
        "by_attack": plain(attack.by_attack),
        "not_run": list(attack.not_run),
    }


def _membership(
    strongest: Membership, by_known: dict[str, Membership], *, is_unary: bool
) -> dict[str, Any]:
    """Return the best AUC, and the AUC by number of known ratings."""

    def figures(membership: Membership) -> dict[str, Any]:
        return {
            "auc": plain(membership.auc),
            "tpr_at_5": plain(membership.tpr_at_5),
            "null_auc": plain(membership.null_auc),
            "members": membership.members,
            "nonmembers": membership.outsiders,
            "skipped": membership.skipped,
            "scorer": membership.scorer,
            "auxiliary_information": describe_outside_knowledge(
                membership.scorer, is_unary=is_unary
            ),
            "is_measured": membership.is_told,
        }

    known, best = disclosure.best_membership(strongest, by_known)
    of_best = figures(best)
    del of_best["tpr_at_5"], of_best["skipped"]
    by_number = {number: figures(membership) for number, membership in by_known.items()}
    return {**of_best, "known": known, **by_number}


def _hidden_items(document: dict[str, Any]) -> dict[str, Any]:
    """Return the attack on hidden items with the keys of documents."""
    attacks = [
        {("reidentified" if key == "found" else key): value for key, value in each.items()}
        for each in document.pop("people")
    ]
    renamed = {
        "catalogue_is_half_of_users": document.pop("catalogue_is_own"),
        "sampled": document.pop("looked_at"),
        "attacks": attacks,
    }
    return document | renamed


@to_dict.register
def _(release: AttackedRelease) -> dict[str, Any]:
    manifest, exact = release.manifest, release.exact_ratings
    statements = text.statements_of(release)
    by_all = Adversary(known=1, name="all ratings")
    return {
        "name": release.name,
        "claim": manifest.claim.kind,
        "k": manifest.claim.k,
        "levels": manifest.claim.levels,
        "layout": manifest.layout,
        "settings": dict(manifest.settings),
        "sha256": manifest.sha256,
        "same_ratings": release.same_ratings,
        "unprotected": release.unprotected,
        "lowest_level": release.lowest_level,
        "columns": text.columns_of(release),
        "attacks": [attack_to_dict(*each) for each in release.attacks],
        "membership": release.membership
        and _membership(release.membership, release.by_known, is_unary=manifest.scale.unary),
        "attributes": release.attributes and plain(release.attributes.to_dict()),
        "all_known": release.all_known and attack_to_dict(by_all, release.all_known),
        "clusters": release.clusters and plain(release.clusters),
        "residual": release.residual and release.residual.to_dict(),
        "lone_ratings": release.lone_share,
        "ratings_exact": exact and exact.exact_share,
        "values_exact": exact and exact.label_share,
        "rounding": exact and exact.within,
        "ratings_near": exact and exact.near_share,
        "values_near": exact and exact.near_label_share,
        **to_dict(release.content or Content()),
        "linkage": release.linkage and to_dict(release.linkage),
        "hidden_items": release.hidden_items and _hidden_items(release.hidden_items.to_dict()),
        "shadows": release.shadows and to_dict(release.shadows),
        "headline": text.headline_of(release),
        "verdict": [each.sentence for each in statements],
        "rows": [row._asdict() for each in statements for row in each.rows],
        "remarks": disclosure.remarks_of(statements),
        "warnings": text.warnings_of_release(release),
    }


@to_dict.register
def _(release: AttackedSynthetic) -> dict[str, Any]:
    claim, bounds = release.manifest.claim, bounds_of(release.manifest.claim)
    return {
        **to_dict.dispatch(AttackedRelease)(release),
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "does_not_apply": text.inapplicable_to(release),
        "synthetic": {
            "nearest": release.nearest and plain(release.nearest.to_dict()),
            "inference": release.inference and plain(release.inference.to_dict()),
        },
        "membership_bound": {
            "auc": bounds.get("most_auc"),
            "tpr_at_5": bounds.get("most_recognized"),
            "accuracy_of_two": bounds.get("most_accuracy_of_two"),
        },
    }


@singledispatch
def facts(result: object) -> dict[str, object]:
    """Return the facts that represent a result in a line, without data about single users."""
    return {"": type(result).__name__}


@facts.register
def _(audit: Audit) -> dict[str, object]:
    rate = max((outcome.reidentified.rate for outcome in audit.attacks), default=None)
    return {
        "users": audit.ratings.n_users,
        "ratings": audit.ratings.n_ratings,
        "adversaries": len(audit.attacks),
        "re-identified by the strongest": None if rate is None else f"{rate:.1%}",
        "release attacked": None if audit.published is None else True,
    }


@facts.register
def _(outcome: Outcome) -> dict[str, object]:
    return {
        "": outcome.adversary.name,
        "targets": outcome.requested,
        "skipped": outcome.skipped,
        "re-identified": f"{outcome.reidentified.rate:.1%}",
        "with eccentricity ≥ 1.5": f"{outcome.success.rate:.1%}",
        "control": f"{outcome.control.rate:.1%}",
    }


@facts.register
def _(figure: Figure) -> dict[str, object]:
    return {"": f"Fig. {figure.number}", "points": len(figure.points)}


@facts.register
def _(risk: Risk) -> dict[str, object]:
    return {"users": risk.rates.size, "draws": risk.draws}


@facts.register
def _(suspects: Suspects) -> dict[str, object]:
    return {
        "known": suspects.known,
        "matched": suspects.matched,
        "suspects": len(suspects.users),
    }


@facts.register
def _(shadows: ShadowMembership) -> dict[str, object]:
    return {"n": shadows.n, "users": shadows.users, "by_known": len(shadows.by_known)}


@facts.register
def _(content: Content) -> dict[str, object]:
    return {
        "fills": len(content.fills),
        "companions": content.companions is not None,
        "values": content.possible is not None,
    }


@facts.register
def _(linkage: Linkage) -> dict[str, object]:
    return {
        "": linkage.name,
        "users": linkage.shared.people,
        "unique": f"{linkage.shared.alone.rate:.1%}",
        "below k": f"{linkage.shared.below_k.rate:.1%}",
    }


@facts.register
def _(release: AttackedRelease) -> dict[str, object]:
    attacks = [*(attack for _, attack in release.attacks), release.all_known, release.clusters]
    rate = max((each.person_found.rate for each in attacks if each), default=None)
    return {
        "claim": release.manifest.claim.kind,
        "k": release.manifest.claim.k,
        "adversaries": len(release.attacks),
        "re-identified by the strongest": None if rate is None else f"{rate:.1%}",
    }


@facts.register
def _(release: AttackedSynthetic) -> dict[str, object]:
    claim = release.manifest.claim
    return {
        "claim": claim.kind,
        "epsilon": claim.epsilon,
        "targets": "none: no record belongs to a user",
    }


def tables(result: object) -> list[Grid]:
    """Return the tables of a notebook: re-identification by each adversary of an audit."""
    if not isinstance(result, Audit):
        return []
    of_release = [] if result.published is None else result.published.attacks
    in_release = {adversary.name: attack.person_found for adversary, attack in of_release}
    header: tuple[str, ...] = ("adversary", "re-identified", "control")
    rows: list[tuple[str, ...]] = [
        (
            outcome.adversary.name,
            share_in_words(outcome.reidentified) if outcome.attacked else "no user attacked",
            share_in_words(outcome.control),
        )
        for outcome in result.attacks
    ]
    if in_release:
        header = (*header, "in the release")
        rows = [
            (*row, share_in_words(rate) if (rate := in_release.get(row[0])) else "–")
            for row in rows
        ]
    chance = 1 / max(1, result.ratings.n_users)
    return [Grid(f"re-identified users; a random guess gives {chance:.2%}", header, rows)]
