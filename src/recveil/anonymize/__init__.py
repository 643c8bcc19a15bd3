"""Floor 2: from ratings to a release."""

from recveil.anonymize.anonymize import Anonymized, anonymize
from recveil.anonymize.homogenize import Groups, homogenize_padded, homogenize_simple
from recveil.anonymize.k_corating import KCoRater
from recveil.anonymize.predictive import PredictiveAnonymizer
from recveil.anonymize.release import Claim, Private, Published, Release

__all__ = [
    "Anonymized",
    "Claim",
    "Groups",
    "KCoRater",
    "PredictiveAnonymizer",
    "Private",
    "Published",
    "Release",
    "anonymize",
    "homogenize_padded",
    "homogenize_simple",
]
