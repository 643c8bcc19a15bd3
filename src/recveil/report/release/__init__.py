"""Sentences and documents of new releases, of their estimates, and of earlier releases."""

from recveil.report.release.document import (
    earlier_to_dict,
    estimate_to_dict,
    folders_to_dict,
)
from recveil.report.release.text import (
    describe_coverage,
    describe_estimate,
    describe_summary,
    describe_total,
    linkage_warnings,
    sentences,
    total_warning,
    warnings,
)

__all__ = [
    "describe_coverage",
    "describe_estimate",
    "describe_summary",
    "describe_total",
    "earlier_to_dict",
    "estimate_to_dict",
    "folders_to_dict",
    "linkage_warnings",
    "sentences",
    "total_warning",
    "warnings",
]
