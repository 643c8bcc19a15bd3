"""JSON documents and facts of audits."""

import math
from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from recveil.attacks import Adversary, Interval, Mean, Membership, ReleaseAttack
from recveil.attacks.inference.attributes import Attributes
from recveil.attacks.inference.companions import Companions, PossibleRatings
from recveil.attacks.inference.fills import InferredFills
from recveil.attacks.inference.rated_cells import InferredCells
from recveil.attacks.reidentification.hidden_items import KNOWN_ITEMS, HiddenItems
from recveil.auditing import (
    AttributeInference,
    Audit,
    Check,
    Figure,
    ItemMatches,
    Outcome,
    Point,
    Risk,
    RiskFigure,
    RiskLine,
    Risks,
    Suspects,
)
from recveil.auditing.curves import guarantees
from recveil.auditing.release_attacks import AttackedRelease, AttackedSynthetic, Content, Linkage
from recveil.auditing.shadow_releases import ShadowMembership
from recveil.ratings.ratings import as_nominal, in_likes
from recveil.release.claim import bounds_of
from recveil.report import data_to_dict
from recveil.report.audit import disclosure, risks, text
from recveil.report.audit.attributes import attribute_table
from recveil.report.document import fields_of, parts_of, plain
from recveil.runtime.number_format import estimate, percent
from recveil.runtime.safe_repr import Grid

if TYPE_CHECKING:
    from recveil.charts import Curves


@parts_of.register
def _(audit: Audit) -> Mapping[str, object]:
    ratings = audit.ratings
    # The release comes first; the attacks on the table without names are the "before".
    released = {} if audit.published is None else {"release": audit.published}
    matched = {} if audit.item_matches is None else {"item_matches": audit.item_matches}
    inferred = audit.attribute_inference
    declared: dict[str, object] = {"attribute_inference": inferred} if inferred else {}
    if audit.identifying_attributes:
        declared["identifying_attributes"] = audit.identifying_attributes
    before = {} if audit.published is None else {"risks_before": audit.risks_before}
    parts = {
        "risks": audit.risks,
        **before,
        **released,
        "data": {
            "source": audit.reading.name,
            **data_to_dict(ratings, audit.reading),
            "times": ratings.days is not None,
        },
        "options": audit.options,
        "verdict": text.verdict_of(audit),
        "warnings": text.warnings_of(audit),
        "dangers": text.dangers_of(audit),
        "attacks": audit.attacks,
        "graph_attacks": audit.graphs,
        "deanonymized": audit.deanonymized,
        "tunings": audit.tunings,
        "decisions": text.describe_decisions(audit),
        "figures": figures_of(audit),
        "checks": audit.checks,
        "sufficient": audit.sufficient,
        "risk": audit.risk,
        "release": audit.published,
        "suspects": audit.suspects,
        "suspects_in_release": audit.suspects_in_release,
        "sensitive": audit.sensitive,
        **matched,
        **declared,
        "theory": [
            {**fields_of(each), "text": text.describe_theorem(each.epsilon, each.delta)}
            for each in guarantees(ratings.n_users)
        ],
    }
    if ratings.scale.ordered:
        return parts
    # Names of the table and its ids stay as they are.
    named = ("data", "suspects", "suspects_in_release", "item_matches")
    return {
        key: value if key in named else map_texts(plain(value), as_nominal)
        for key, value in parts.items()
    }


@parts_of.register
def _(found: Risks) -> Mapping[str, object]:
    lines = {
        each.risk.replace(" ", "_"): _line_document(each, sentence)
        for each, sentence in zip(found.lines, risks.lines_of(found), strict=True)
    }
    highest = found.highest
    return {
        "where": found.where,
        **lines,
        "highest": None if highest is None else highest.risk,
        "headline": risks.describe_highest(found),
    }


def _line_document(line: RiskLine, sentence: str) -> dict[str, object]:
    found = line.strongest
    names = (
        "name",
        "adversary",
        "rate",
        "control",
        "baseline",
        "attacked",
        "bound",
        "excess",
        "is_area",
    )
    values = dict.fromkeys(names) if found is None else {n: getattr(found, n) for n in names}
    return {
        "sentence": sentence,
        **values,
        **({"bound": line.bound} if found is None else {}),
        "unmeasured": line.unmeasured or None,
        "figures": line.figures,
    }


@parts_of.register
def _(figure: RiskFigure) -> Mapping[str, object]:
    return {**fields_of(figure), "excess": figure.excess}


@parts_of.register
def _(outcome: Outcome) -> Mapping[str, object]:
    rates = ("success", "top1", "wrong_match", "no_match", "control", "likeliest", "reidentified")
    entropy, is_attacked = outcome.entropy_bits, outcome.attacked > 0
    return {
        "attack": outcome.adversary.algorithm,
        "name": outcome.adversary.name,
        "description": outcome.adversary.description,
        "notes": outcome.adversary.notes,
        **outcome.adversary.settings(),
        "targets_requested": outcome.requested,
        "targets_attacked": outcome.attacked,
        "targets_skipped": outcome.skipped,
        **{name: getattr(outcome, name) for name in rates},
        "entropy_bits": entropy.mean if is_attacked else None,
        # A single target has no interval.
        "entropy_bits_interval": entropy if outcome.attacked > 1 else None,
        "likelihood_bits": outcome.likelihood_bits.mean if is_attacked else None,
        "baseline": outcome.baseline,
        **({} if outcome.by_attributes is None else {"by_attributes": outcome.by_attributes}),
        "by_attack": outcome.by_attack,
        "calibration": outcome.calibration,
    }


@parts_of.register
def _(matches: ItemMatches) -> Mapping[str, object]:
    return {
        "certainty": None if matches.is_from_file else matches.least,
        "used": len(matches.used),
        "ambiguous": None if matches.is_from_file else matches.n_ambiguous,
        "uncertain": None if matches.is_from_file else matches.n_uncertain,
        "matches": matches.matches,
    }


@parts_of.register
def _(point: Point) -> Mapping[str, object]:
    return {name: value for name, value in fields_of(point).items() if value is not None}


def figures_of(audit: Audit) -> "list[Curves]":
    """Return the figures of an audit as plain data, with the texts reworded for likes."""
    figures = [plain(figure) for figure in audit.figures]
    if not audit.ratings.scale.ordered:
        return cast("list[Curves]", map_texts(figures, as_nominal))
    return cast("list[Curves]", map_texts(figures, in_likes) if audit.ratings.is_unary else figures)


def map_texts(part: Any, reword: Callable[[str], str]) -> Any:
    """Reword all texts of plain data or of a table."""
    if isinstance(part, Grid):
        return part._replace(rows=[tuple(map(reword, row)) for row in part.rows])
    if isinstance(part, Mapping):
        return {name: map_texts(value, reword) for name, value in part.items()}
    if isinstance(part, list | tuple):
        return [map_texts(value, reword) for value in part]
    return reword(part) if isinstance(part, str) else part


@parts_of.register
def _(risk: Risk) -> Mapping[str, object]:
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


@parts_of.register
def _(check: Check) -> Mapping[str, object]:
    return {
        "code": check.code,
        "name": text.name_check(check),
        "holds": check.holds,
        "measured": text.describe_check(check),
        "figures": check.figures,
    }


@parts_of.register
def _(shadows: ShadowMembership) -> Mapping[str, object]:
    by_known = {
        known: {
            "users": each.n_users,
            "skipped": each.skipped,
            **fields_of(each.inferred),
            "null_auc": each.null_auc,
            "counts_auc": each.counts_auc,
        }
        for known, each in shadows.by_known.items()
    }
    more = {"answers": shadows.has_answers, "attributes": shadows.has_attributes}
    compared = {name: True for name, is_compared in more.items() if is_compared}
    return {"n": shadows.n, "users": shadows.users, **compared, **by_known}


@parts_of.register
def _(linkage: Linkage) -> Mapping[str, object]:
    shared, links = linkage.shared, linkage.links
    rates = ("first", "second", "both", "reidentified_by_one", "reidentified_by_both", "control")
    return {
        "name": linkage.name,
        "k": linkage.k,
        "users": shared.n_users,
        "unique": shared.unique.rate,
        "unique_interval": shared.unique,
        "unique_in_one": shared.unique_in_one,
        "below_k": shared.below_k.rate,
        "below_k_interval": shared.below_k,
        "mean_users": shared.mean_users.mean,
        "mean_users_interval": shared.mean_users,
        "attacks": [
            {
                "name": name,
                "targets_requested": both.requested,
                "targets_skipped": both.skipped,
                **fields_of(both, *rates),
            }
            for name, both in linkage.attacks
        ],
        "hides_items": linkage.hides_items,
        "links": links and fields_of(links, "one", "both", "control", "popularity"),
        "verdict": disclosure.verdict_of_linkage(linkage),
        "warnings": disclosure.warnings_of_linkage(linkage),
    }


@parts_of.register
def _(content: Content) -> Mapping[str, object]:
    return {
        "fills": content.fills or None,
        "companions": content.companions,
        "values": content.possible,
        "graph_attacks": content.graphs,
    }


@parts_of.register
def _(fills: InferredFills) -> Mapping[str, object]:
    has_targets = fills.reidentified.trials > 0
    return {
        "known_share": fills.known_share,
        "users_known": fills.users_known,
        "base_rate": fills.base_rate,
        "precision": {f"{at:g}": rate for at, rate in fills.precision.items()},
        "popularity_precision": {f"{at:g}": rate for at, rate in fills.by_popularity.items()},
        "reidentified": fills.reidentified if has_targets else None,
        "reidentified_by_items_alone": fills.reidentified_by_items if has_targets else None,
    }


@parts_of.register(Companions)
@parts_of.register(PossibleRatings)
def _(figures: Companions | PossibleRatings) -> Mapping[str, object]:
    least = 2 if isinstance(figures, PossibleRatings) else 1
    return {
        name: None if isinstance(value, Interval | Mean) and value.trials < least else value
        for name, value in fields_of(figures).items()
    }


@parts_of.register
def _(inferred: Attributes) -> Mapping[str, object]:
    means = {
        "members": inferred.members,
        "nonmembers": inferred.nonmembers,
        "excess": inferred.excess,
    }
    if inferred.has_guessed:
        return {
            **{name: Interval(*mean) for name, mean in means.items()},
            "attack": inferred.attack,
        }
    no_rate = (math.nan, math.nan, math.nan)
    rates = {name: Interval(*no_rate, mean.trials) for name, mean in means.items()}
    return {**rates, "attack": disclosure.NO_ATTACK}


@parts_of.register
def _(cells: InferredCells) -> Mapping[str, object]:
    names = ("auc", "recall_at_95", "lone_exact", "lone_known")
    intervals = fields_of(cells, *names)
    rates = {name: getattr(cells, name).rate for name in names}
    return {**fields_of(cells), **rates, "intervals": intervals}


@parts_of.register
def _(items: HiddenItems) -> Mapping[str, object]:
    return {
        "items": items.items,
        "catalogue": items.catalogue.name,
        "shadow": items.shadow,
        "left_out": items.left_out,
        "known_items": KNOWN_ITEMS,
        "named": items.named,
        "named_by_rank": items.by_rank,
        "named_with_known": items.with_known,
        "catalogue_is_half_of_users": items.catalogue.is_half_of_users,
        "sampled": {
            table: {"rows": rows, "of_rows": of_rows}
            for table, (rows, of_rows) in items.sampled.items()
        },
        "attacks": items.attacks,
    }


def _parts_of_attack(adversary: Adversary, attack: ReleaseAttack) -> Mapping[str, object]:
    return {
        "name": adversary.name,
        "description": adversary.description,
        "notes": adversary.notes,
        "attack": attack.attack,
        "targets_requested": attack.requested,
        "targets_attacked": attack.attacked,
        "targets_skipped": attack.skipped,
        "class_reidentified": attack.class_reidentified,
        "reidentified": attack.reidentified,
        "baseline": attack.baseline,
        "class_baseline": attack.class_baseline,
        "bound": attack.bound,
        "link_precision": attack.link_precision.mean,
        "link_baseline": attack.link_baseline.mean,
        "links": Interval(*attack.link_precision),
        "rating_rmse": attack.rating_errors.rmse,
        "item_mean_rmse": attack.rating_errors.item_mean_rmse,
        "exact_share": attack.exact.rate,
        "by_attack": attack.by_attack,
        "not_run": attack.not_run,
    }


def _membership(
    strongest: Membership, by_known: dict[str, Membership], *, is_unary: bool
) -> Mapping[str, object]:
    """Return the best AUC, and the AUC by number of known ratings."""

    def figures(membership: Membership) -> dict[str, object]:
        return {
            "auc": membership.auc,
            "tpr_at_5": membership.tpr_at_5,
            "null_auc": membership.null_auc,
            "members": membership.members,
            "nonmembers": membership.nonmembers,
            "skipped": membership.skipped,
            "scorer": membership.scorer,
            "auxiliary_information": disclosure.describe_auxiliary(
                membership.scorer, is_unary=is_unary
            ),
            "is_measured": membership.is_measured,
        }

    known, best = disclosure.best_membership(strongest, by_known)
    of_best = figures(best)
    del of_best["tpr_at_5"], of_best["skipped"]
    by_number = {number: figures(membership) for number, membership in by_known.items()}
    return {**of_best, "known": known, **by_number}


@parts_of.register
def _(release: AttackedRelease) -> Mapping[str, object]:
    manifest, exact = release.manifest, release.exact_ratings
    statements = text.statements_of(release)
    by_all = Adversary(known=1, name="all ratings")
    return {
        "name": release.name,
        "claim": manifest.claim.kind,
        "k": manifest.claim.k,
        "levels": manifest.claim.levels,
        "layout": manifest.layout,
        "settings": manifest.settings,
        "sha256": manifest.sha256,
        "same_ratings": release.same_ratings,
        "unprotected": release.unprotected,
        "lowest_level": release.lowest_level,
        "columns": text.columns_of(release),
        "attacks": [_parts_of_attack(*each) for each in release.attacks],
        "rates": [
            {
                "name": each.name,
                "targets_requested": each.requested,
                "targets_attacked": each.attacked,
                "class_reidentified": each.class_reidentified,
                "reidentified": each.reidentified,
            }
            for each in text.rates_of(release)
        ],
        "membership": release.membership
        and _membership(release.membership, release.by_known, is_unary=manifest.scale.unary),
        "attributes": release.attributes,
        "all_known": release.all_known and _parts_of_attack(by_all, release.all_known),
        "clusters": release.clusters,
        "residual": release.residual,
        "lone_ratings": release.lone_share,
        "ratings_exact": exact and exact.exact_share,
        "values_exact": exact and exact.label_share,
        "rounding": exact and exact.within,
        "ratings_near": exact and exact.near_share,
        "values_near": exact and exact.near_label_share,
        **parts_of(release.content or Content()),
        "linkage": release.linkage,
        "hidden_items": release.hidden_items,
        "shadows": release.shadows,
        "by_user_count": release.by_user_count,
        "headline": text.headline_of(release),
        "verdict": [each.sentence for each in statements],
        "rows": [row for each in statements for row in each.rows],
        "remarks": text.remarks_in_short(release, statements),
        "warnings": text.warnings_of_release(release),
    }


@parts_of.register
def _(release: AttackedSynthetic) -> Mapping[str, object]:
    claim, bounds = release.manifest.claim, bounds_of(release.manifest.claim)
    return {
        **parts_of.dispatch(AttackedRelease)(release),
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "does_not_apply": text.inapplicable_to(release),
        "synthetic": {"nearest": release.nearest, "inference": release.inference},
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
    rates = [outcome.reidentified.rate for outcome in audit.attacks if outcome.attacked]
    return {
        "users": audit.ratings.n_users,
        "ratings": audit.ratings.n_ratings,
        "adversaries": len(audit.attacks),
        "re-identified in the raw table": percent(max(rates)) if rates else None,
        "re-identified in the release": _of_release(audit),
    }


def _of_release(audit: Audit) -> str | None:
    """Return the rate of the strongest adversary, as the summary does."""
    release = audit.published
    if release is None:
        return None
    found = audit.risks.singling_out.figures
    rates = [each.rate.rate for each in found if each.name.startswith("user re-identified")]
    unattacked = "no user attacked" if release.attacks else "no record is a user's"
    return percent(max(rates)) if rates else unattacked


@facts.register
def _(outcome: Outcome) -> dict[str, object]:
    return {
        "": outcome.adversary.name,
        "targets": outcome.requested,
        "skipped": outcome.skipped,
        "re-identified": estimate(outcome.reidentified),
        f"with {text.match_of([outcome])}": estimate(outcome.success),
        "control": estimate(outcome.control),
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
def _(inferred: AttributeInference) -> dict[str, object]:
    best = inferred.strongest
    return {
        "": inferred.attribute,
        "users": inferred.n_users,
        "AUC": estimate(best.auc, 2),
        "control": estimate(best.control, 2),
    }


@facts.register
def _(matches: ItemMatches) -> dict[str, object]:
    return {"items": len(matches.matches), "used": len(matches.used)}


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
        "users": linkage.shared.n_users,
        "unique": percent(linkage.shared.unique.rate),
        "below k": percent(linkage.shared.below_k.rate),
    }


@facts.register
def _(release: AttackedRelease) -> dict[str, object]:
    attacks = [*(attack for _, attack in release.attacks), release.all_known, release.clusters]
    rates = [each.reidentified.rate for each in attacks if each and each.reidentified.trials]
    return {
        "claim": release.manifest.claim.kind,
        "k": release.manifest.claim.k,
        "adversaries": len(release.attacks),
        "re-identified by the strongest": percent(max(rates)) if rates else None,
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
    in_release = {adversary.name: attack.reidentified for adversary, attack in of_release}
    header: tuple[str, ...] = ("adversary", "re-identified", "control")
    rows: list[tuple[str, ...]] = [
        (
            outcome.adversary.name,
            estimate(outcome.reidentified) if outcome.attacked else "no user attacked",
            estimate(outcome.control),
        )
        for outcome in result.attacks
    ]
    if in_release:
        header = (*header, "in the release")
        rows = [(*row, estimate(rate) if (rate := in_release.get(row[0])) else "–") for row in rows]
    chance = 1 / max(1, result.ratings.n_users)
    grid = Grid(f"re-identified users; a random guess gives {percent(chance)}", header, rows)
    declared = attribute_table(result)
    return [grid] if declared is None else [grid, declared]
