"""Documents, sentences and tables of verdicts."""

from recveil.report.verification.text import (
    describe_formulas,
    describe_limit,
    describe_singletons,
    facts,
)

__all__ = ["describe_formulas", "describe_limit", "describe_singletons", "facts"]
