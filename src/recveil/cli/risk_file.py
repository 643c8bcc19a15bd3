"""Everybody's risk as a file, for its owner alone."""

import csv
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from recveil.cli.options import is_stdout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recveil.audit import Risk


def place_of_risk(risk: Path | None, release: Path | None) -> Path | None:
    """Return where the risk goes: where somebody said, or into the private twin of a release.

    Nowhere, if nobody said, and there is no such twin, as of people drawn from a model.
    """
    if risk is not None or release is None:
        return risk
    from recveil.release.manifest import RISK, private_twin

    twin = private_twin(release)
    return twin / RISK if twin.is_dir() and os.access(twin, os.W_OK) else None


def write_risk(users: "NDArray[Any]", risk: "Risk", path: Path) -> None:
    """Write who is found how often, readable by the owner alone."""
    if is_stdout(path):
        _write_rows(sys.stdout, users, risk)
        return
    path.unlink(missing_ok=True)  # an older file may be readable by others
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        _write_rows(file, users, risk)


def _write_rows(file: TextIO, users: "NDArray[Any]", risk: "Risk") -> None:
    writer = csv.writer(file)
    writer.writerow(["user_id", "found", "adversary"])
    found = ["" if share != share else share for share in risk.found.tolist()]
    writer.writerows(zip(users, found, risk.adversary, strict=True))
