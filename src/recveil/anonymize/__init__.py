"""Floor 2: from ratings to a release."""

from recveil.anonymize.homogenize import Groups, homogenize_padded, homogenize_simple
from recveil.anonymize.predictive import PredictiveAnonymizer
from recveil.anonymize.release import Claim, Private, Published, Release

__all__ = [
    "Claim",
    "Groups",
    "PredictiveAnonymizer",
    "Private",
    "Published",
    "Release",
    "homogenize_padded",
    "homogenize_simple",
]
