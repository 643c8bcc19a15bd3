"""Where everybody's risk goes, which is for its owner alone."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recveil.cli.outputs import is_stdout
from recveil.errors import RecveilError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recveil.audit import Risk


def place_of_risk(risk: Path | None, release: Path | None) -> Path | None:
    """Return where the risk goes: where somebody said, or into the private twin of a release.

    Nowhere, if nobody said, and there is no such twin, as of people drawn from a model.

    Raises
    ------
    RecveilError
        If nobody said, and a link stands there: whoever made the folder would say what is replaced.
    """
    if risk is not None or release is None:
        return risk
    from recveil.release.manifest import RISK, private_twin

    twin = private_twin(release)
    if (twin / RISK).is_symlink():
        raise RecveilError(
            f"{twin / RISK} is a link, and nobody named it as an output; remove it, or name a file "
            f"for everybody's risk (--risk FILE)",
            code="output.not-writable",
        )
    return twin / RISK if twin.is_dir() and os.access(twin, os.W_OK) else None


def hand_out_risk(users: "NDArray[Any]", risk: "Risk", path: Path) -> None:
    """Write who is found how often to a file of its owner alone, or to standard output."""
    from recveil.audit.risk_table import risk_table, write_risk

    if is_stdout(path):
        sys.stdout.write(risk_table(users, risk))
    else:
        write_risk(users, risk, path)
