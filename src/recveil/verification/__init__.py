"""Verification of published files, independent of the anonymizers."""

from recveil.verification._verify import verify
from recveil.verification.results import Limit, Verification, Violation

__all__ = ["Limit", "Verification", "Violation", "verify"]
