"""Checks that read published data only, and know nothing of the anonymizers."""

from recveil.verify.verification import Verification, Violation
from recveil.verify.verifying import verify

__all__ = ["Verification", "Violation", "verify"]
