"""Floor 2: checks that read published data only, and know nothing of the anonymizers."""

from recveil.verify.verification import Verification, Violation
from recveil.verify.verify import verify

__all__ = ["Verification", "Violation", "verify"]
