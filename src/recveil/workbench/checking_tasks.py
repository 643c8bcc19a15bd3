"""Checking: what a worker does for the room Check."""

import os
from pathlib import Path
from typing import Any

from recveil.errors import RecveilError
from recveil.workbench.assignment import Assignment
from recveil.workbench.looking_tasks import AUDIT_PAGE
from recveil.workbench.said import keywords_of
from recveil.workbench.unpacking import holds_release, unpack_release

# The folder of a job into which a zip is unpacked.
UNPACKED = "unpacked"
_VERIFYING, _ATTACKING = "Verifying", "Attacking"


def check_published(asked: Assignment) -> dict[str, Any]:
    """Check what anybody published: `verify`, and, with the table behind it, `audit --release`.

    Parameters
    ----------
    asked : Assignment
        Its settings are the `place`; whether it was `dropped`, and may be a zip; `options` of
        `verify`; and `source` and `reading` of the table, if it is to be attacked.
    """
    from recveil.progress import parts
    from recveil.release.claim import claim_kind
    from recveil.release.manifest import MANIFEST
    from recveil.verify import verify

    settings = asked.settings
    place = Path(settings["place"])
    unpacked = None
    if settings["dropped"] and holds_release(place):
        folder = asked.folder / UNPACKED / place.stem
        unpacked = unpack_release(place, folder)
        place = folder
    is_release = (place / MANIFEST).is_file()
    with parts("Checking", {_VERIFYING: 1, _ATTACKING: 9 if settings["source"] else 0}) as begin:
        begin(_VERIFYING)
        found = verify(place, **settings["options"])
        begin(_ATTACKING)
        attacked = _attack(asked, place) if settings["source"] and is_release else {}
    why_not = attacked.get("error", "")
    if unpacked is not None:  # a folder of ours, which is gone at the next check
        why_not = why_not.replace(f"{place.parent}{os.sep}", "")
    return {
        "is_release": is_release,
        "place": str(place),
        "unpacked": None if unpacked is None else unpacked._asdict(),
        "verification": found.to_dict(),
        "caution": claim_kind(found.claim).caution,
        "release": attacked.get("release"),
        "warnings": attacked.get("warnings", []),
        "not_attacked": why_not,
    }


def _attack(asked: Assignment, release: Path) -> dict[str, Any]:
    """Attack a release with what the table tells; the checker's verdict stands in any case."""
    from recveil.audit import audit
    from recveil.report import write_audit_page

    settings = asked.settings
    try:
        found = audit(
            settings["source"],
            release=release,
            curves=False,
            **keywords_of(settings["reading"]),
        )
    except RecveilError as error:
        return {"error": str(error)}
    plain = found.to_dict()
    write_audit_page(plain, asked.folder / AUDIT_PAGE)
    return plain
