"""Verification of published files, independent of the anonymizers."""

from recveil.verification._verify import verify
from recveil.verification.results import Verification, Violation

__all__ = ["Verification", "Violation", "verify"]
