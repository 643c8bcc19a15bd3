"""Floor 2: checks that read published data only, and share no code with the anonymizers."""

from recveil.verify.verification import Verification, Violation
from recveil.verify.verify import verify

__all__ = ["Verification", "Violation", "verify"]
