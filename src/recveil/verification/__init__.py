"""Checks that read published data only, and know nothing of the anonymizers."""

from recveil.verification._verify import verify
from recveil.verification.results import Verification, Violation

__all__ = ["Verification", "Violation", "verify"]
