"""Writing, verification and reading of release folders."""

from recveil.publish._convert import convert
from recveil.publish._describe import describe
from recveil.publish.folder import write_release
from recveil.publish.privacy_ledger import PrivacyLossWarning, PrivacyTotal, Run, budget
from recveil.publish.release import Release, ReleaseFolder

__all__ = [
    "PrivacyLossWarning",
    "PrivacyTotal",
    "Release",
    "ReleaseFolder",
    "Run",
    "budget",
    "convert",
    "describe",
    "write_release",
]
