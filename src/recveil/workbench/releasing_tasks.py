"""Releasing: what a worker does for the room Release."""

from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.workbench.assignment import Assignment
from recveil.workbench.said import keywords_of

ATTACKED = "audit.html"


def make_release(asked: Assignment) -> dict[str, Any]:
    """Make a release, and have the checker look at what was written: `anonymize`, then `verify`.

    Parameters
    ----------
    asked : Assignment
        Its settings are the `source`, the `reading`, the `output`, `k` and the `options`.
    """
    from recveil.anonymize import anonymize
    from recveil.anonymize.methods import tell_owner
    from recveil.release.claim import claim_kind
    from recveil.release.manifest import CARD, MANIFEST, FileEntry, private_twin
    from recveil.verify import verify
    from recveil.verify.item_formulas import formulas_told
    from recveil.workbench.preview import preview

    settings = asked.settings
    output = Path(settings["output"])
    made = anonymize(
        settings["source"],
        output,
        k=settings["k"],
        **settings["options"],
        **keywords_of(settings["reading"]),
    )
    found = verify(output)
    released = made.release
    return {
        "name": output.name,
        "private": str(private_twin(output)),
        "verification": found.to_dict(),
        "caution": claim_kind(found.claim).caution,
        "sha256": FileEntry.of(output / MANIFEST).sha256,
        "card": (output / CARD).read_text(encoding="utf-8"),
        "preview": [row._asdict() for row in preview(output)],
        "told": [*tell_owner(released, made.ratings), *formulas_told(released.published.items)],
        "earlier": list(dict.fromkeys(made.warnings(output))),
    }


def attack_release(asked: Assignment) -> dict[str, Any]:
    """Attack a release with what the table of its people tells: `recveil.audit.audit`.

    Parameters
    ----------
    asked : Assignment
        Its settings are the `source`, the `reading`, the `release`, and the `sha256` of its
        release.json when it was verified.
    """
    from recveil.audit import audit
    from recveil.report import write_audit_page

    settings = asked.settings
    _refuse_another(settings)
    found = audit(
        settings["source"],
        release=settings["release"],
        curves=False,
        **keywords_of(settings["reading"]),
    )
    _refuse_another(settings)
    plain = found.to_dict()
    write_audit_page(plain, asked.folder / ATTACKED)
    return {"release": plain["release"], "warnings": plain["warnings"]}


def describe_release(asked: Assignment) -> dict[str, Any]:
    """Describe a release for data portals, with the publisher's words: `recveil.publish.describe`.

    Parameters
    ----------
    asked : Assignment
        Its settings are the `release`, the `sha256` of its release.json when it was verified, the
        `output` and the `card`.
    """
    from recveil.publish import describe
    from recveil.release.manifest import FileEntry

    settings = asked.settings
    output = Path(settings["output"])
    _refuse_another(settings)
    describe(settings["release"], output, card=settings["card"], force=True)
    _refuse_another(settings)
    return {
        "text": output.read_text(encoding="utf-8"),
        "sha256": FileEntry.of(output).sha256,
    }


def _refuse_another(settings: dict[str, Any]) -> None:
    """Refuse a release that took the place of the one that was verified."""
    from recveil.release.manifest import MANIFEST, FileEntry

    release = Path(settings["release"])
    if FileEntry.of(release / MANIFEST).sha256 != settings["sha256"]:
        raise RecveilError(
            f"{release.name}: is another release than the one that was verified here; make it "
            f"again",
            code="release.changed",
        )
