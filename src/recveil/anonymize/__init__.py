"""Floor 2: from ratings to a release."""

from recveil.anonymize.anonymize import Anonymized, anonymize
from recveil.anonymize.baselines import BASELINE_DESCRIPTIONS, BASELINES, NOT_ATTACKED
from recveil.anonymize.homogenize import Groups, homogenize_padded, homogenize_simple
from recveil.anonymize.k_corating import KCoRater
from recveil.anonymize.noise import AdditiveNoise, Noise
from recveil.anonymize.perturbation import Baseline, GlobalItemMeans, RandomValues, RawRelease
from recveil.anonymize.predictive import PredictiveAnonymizer
from recveil.anonymize.reconstruction import (
    HistogramRecovery,
    histogram_recovery,
    reconstruct_distribution,
)
from recveil.anonymize.release import Claim, Private, Published, Release
from recveil.anonymize.rotation import GeometricPerturbation, RotationPerturbation

__all__ = [
    "BASELINES",
    "BASELINE_DESCRIPTIONS",
    "NOT_ATTACKED",
    "AdditiveNoise",
    "Anonymized",
    "Baseline",
    "Claim",
    "GeometricPerturbation",
    "GlobalItemMeans",
    "Groups",
    "HistogramRecovery",
    "KCoRater",
    "Noise",
    "PredictiveAnonymizer",
    "Private",
    "Published",
    "RandomValues",
    "RawRelease",
    "Release",
    "RotationPerturbation",
    "anonymize",
    "histogram_recovery",
    "homogenize_padded",
    "homogenize_simple",
    "reconstruct_distribution",
]
