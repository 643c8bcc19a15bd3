"""JSON documents of new releases, and of their estimates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recveil.methods import Anonymized, DryRun, Released
from recveil.methods.earlier_releases import Earlier
from recveil.publish.privacy_ledger import PrivacyTotal
from recveil.publish.size_estimate import Expected
from recveil.release.coverage import Coverage
from recveil.release.manifest import private_name
from recveil.report.document import fields_of, parts_of
from recveil.report.release.text import describe_basis, linkage_warnings


@parts_of.register
def _(made: Anonymized) -> dict[str, object]:
    private = made.release.private
    suppressed = private.settings.get("suppressed")
    return {
        "settings": made.release.published.settings,
        "filled_cells": private.settings.get("filled_cells"),
        **({} if suppressed is None else {"suppressed": suppressed}),
        "lone_ratings": _figures(private.lone_ratings),
        "diversity_cost": _figures(private.diversity_cost),
        "coverage": made.summary.coverage,
        **_verdict_and_folders(made),
    }


@parts_of.register
def _(made: Released) -> dict[str, object]:
    return {
        "engine": "spark",
        "data": {
            "users": made.n_users,
            "items": made.n_items,
            "ratings": made.n_ratings,
            "density": made.n_ratings / (made.n_users * made.n_items),
            "scale": str(made.scale),
            "notes": list(made.notes),
        },
        "settings": made.release.published.settings,
        **_verdict_and_folders(made),
    }


@parts_of.register
def _(total: PrivacyTotal) -> dict[str, object]:
    return {
        **fields_of(total),
        "ledger": total.ledger and str(total.ledger),
        "runs": [
            {**run._asdict(), "loss": run.loss._asdict(), "epsilon": run.epsilon}
            for run in total.runs
        ],
    }


@parts_of.register
def _(coverage: Coverage) -> dict[str, object]:
    return {"item_share": coverage.item_share, **fields_of(coverage)}


def _verdict_and_folders(made: Anonymized | Released) -> dict[str, object]:
    claim, digest = made.release.published.claim, made.release.private.ratings_sha256
    warned = linkage_warnings(made.earlier, made.output, claim, digest, made.total)
    return {
        "verification": made.verification.to_dict(),
        "earlier": earlier_to_dict(made.earlier, warned),
        **({} if made.total is None else {"privacy_total": made.total.to_dict()}),
        **folders_to_dict(made.output),
    }


@parts_of.register
def _(dry: DryRun) -> dict[str, object]:
    foreseen = dry.foreseen
    return {
        "dry_run": True,
        "method": dry.method.name,
        "k": dry.k,
        "groups": foreseen and foreseen.groups,
        "users": foreseen and foreseen.n_users,
        "expected": foreseen and estimate_to_dict(foreseen.expected),
        "memory": foreseen and foreseen.memory,
        "coverage": foreseen and foreseen.coverage,
        "estimated_from": describe_basis(foreseen) if foreseen else [],
        "rejection": dry.rejection,
        "leftovers": list(dry.leftovers),
        "earlier": earlier_to_dict(dry.earlier),
        **({} if dry.total is None else {"privacy_total": dry.total.to_dict()}),
        **folders_to_dict(dry.output),
    }


def folders_to_dict(output: Path) -> dict[str, str]:
    """Return the published and the private folder of a release."""
    return {"output": str(output), "private": private_name(str(output))}


def estimate_to_dict(expected: Expected | None) -> dict[str, object] | None:
    """Return the estimated size and time of a release."""
    if expected is None:
        return None
    figures = {name: value for name, value in expected._asdict().items() if name != "what"}
    return {"values": figures.pop("n_values"), **figures}


def earlier_to_dict(
    earlier: Sequence[Earlier], warnings: Sequence[str] | None = None
) -> list[dict[str, object]]:
    """Return earlier releases with the number of these users in each."""
    found: list[dict[str, object]] = [
        {"release": str(each.folder), "users": each.n_users} for each in earlier
    ]
    for each, warning in zip(found, warnings or (), strict=False):
        each["warning"] = warning
    return found


def _figures(figures: Any) -> dict[str, object] | None:
    """Return figures whose stored names say label for a published value."""
    if figures is None:
        return None
    return {name.replace("label", "value"): value for name, value in figures._asdict().items()}
