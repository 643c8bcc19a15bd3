"""From ratings to a release."""

from recveil.anonymize.anonymizing import Anonymized, anonymize
from recveil.anonymize.dry_running import DryRun, dry_run
from recveil.anonymize.homogenize import homogenize_padded, homogenize_simple
from recveil.anonymize.k_corating import KCoRater
from recveil.anonymize.methods import BASELINES
from recveil.anonymize.noise import AdditiveNoise, LabelNoise
from recveil.anonymize.perturbation import Baseline, GlobalItemMeans, RandomValues, RawRelease
from recveil.anonymize.predictive import PredictiveAnonymizer
from recveil.anonymize.reconstruction import (
    HistogramRecovery,
    histogram_recovery,
    reconstruct_distribution,
)
from recveil.anonymize.rotation import GeometricPerturbation, RotationPerturbation
from recveil.anonymize.sampling import sample
from recveil.anonymize.sparse_rows import SparseRows
from recveil.anonymize.synthetic.synthesizer import Synthesizer
from recveil.publish.release import Release
from recveil.release.claim import Claim
from recveil.release.groups import Groups
from recveil.release.sides import Private, Published

__all__ = [
    "BASELINES",
    "AdditiveNoise",
    "Anonymized",
    "Baseline",
    "Claim",
    "DryRun",
    "GeometricPerturbation",
    "GlobalItemMeans",
    "Groups",
    "HistogramRecovery",
    "KCoRater",
    "LabelNoise",
    "PredictiveAnonymizer",
    "Private",
    "Published",
    "RandomValues",
    "RawRelease",
    "Release",
    "RotationPerturbation",
    "SparseRows",
    "Synthesizer",
    "anonymize",
    "dry_run",
    "histogram_recovery",
    "homogenize_padded",
    "homogenize_simple",
    "reconstruct_distribution",
    "sample",
]
