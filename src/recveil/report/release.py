"""A release that was made, as plain data and as text for its publisher."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from recveil.methods.earlier_releases import Earlier
from recveil.release.manifest import twin_name
from recveil.release.sides import Sides
from recveil.report.glossary import explain
from recveil.report.terminal import echo
from recveil.report.verification import describe_formulas
from recveil.report.verification.terminal import (
    describe_singletons,
    show_verification,
    terms_of,
)
from recveil.verification import Verification


def release_to_dict(
    release: Sides,
    verification: Verification,
    output: Path,
    *,
    data: dict[str, Any],
    earlier: Sequence[Earlier],
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Return a release as plain data for JSON; `data` describes the table."""
    return {
        "output": str(output),
        "private": twin_name(str(output)),
        "data": data,
        "settings": release.published.settings,
        "verification": verification.to_dict(),
        "earlier": [
            {"release": str(each.folder), "people": each.people, "warning": warning}
            for each, warning in zip(earlier, warnings, strict=True)
        ],
    }


def show_release(
    release: Sides,
    verification: Verification,
    output: Path,
    *,
    statements: Iterable[str],
    earlier: Sequence[Earlier],
    is_explained: bool = False,
) -> None:
    """Print the verdict, what the release still reveals, and which folder to publish."""
    published = release.published
    show_verification(verification, str(output))
    for sentence in (*statements, *describe_formulas(published.items)):
        echo(sentence)
    if verification.has_levels:
        echo(
            f"{describe_singletons(verification.singletons)}, with privacy level 1; their ratings "
            f"are published unchanged."
        )
    what = "likes" if published.scale.unary else "ratings"
    secret = (
        "it maps rows to users"
        if verification.contains_users
        else f"it names the users whose {what} were used"
    )
    others = ", and none of the earlier releases of these users" if earlier else ""
    echo(f"Publish {output}{others}; keep {twin_name(str(output))} secret: {secret}.")
    if is_explained:
        explain(terms_of(verification))
