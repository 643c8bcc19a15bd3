"""What the checker found, told on a page: one sentence, whatever is claimed."""

from collections.abc import Mapping
from typing import Any

from recveil.release.claim import claim_kind


def describe_verdict(found: Mapping[str, Any]) -> str:
    """Say whether a release keeps its promise, and which."""
    about = claim_kind(found["claim"])
    if not found["holds"]:
        return f"It does not keep its promise: {_first_problem(found)}."
    if about.is_differential:
        return (
            f"Epsilon {found['epsilon']:g} with delta {found['delta']:g} follows from its ledger "
            f"({found['ledger_epsilon']:.6g}); it says that no row is anybody’s."
        )
    if not about.contains_users:
        return "It says that no row is anybody’s, and promises nothing about who is in the data."
    if found["levels"]:
        return (
            f"Each {about.shared} is shared by at least as many people as it says "
            f"({found['k_achieved']} or more); {found['alone']:,} stand alone, of whom nothing is "
            f"promised."
        )
    return (
        f"Each {about.shared} is shared by at least {found['k_achieved']} people; "
        f"{found['k_required']} are promised."
    )


def _first_problem(found: Mapping[str, Any]) -> str:
    if not found["violations"]:
        return f"{found['k_achieved']} people share a row, and {found['k_required']} are promised"
    first = found["violations"][0]
    return f"{first['where']}: {first['problem']}".rstrip(".")
