"""From ratings to a release."""

from recveil.methods._anonymize import (
    Anonymized,
    AnonymizeRequest,
    Released,
    anonymize,
)
from recveil.methods._dry_run import DryRun, dry_run
from recveil.methods._forget import Erasure, ErasureRequest, Trace, forget
from recveil.methods._sample import sample
from recveil.methods.baselines.perturbation import (
    AdditiveNoise,
    Baseline,
    GlobalItemMeans,
    HistogramRecovery,
    LabelNoise,
    Pseudonymizer,
    RandomizedResponse,
    RandomValues,
    estimate_shares,
    histogram_recovery,
    inherent_privacy,
    privacy_loss,
    reconstruct_distribution,
)
from recveil.methods.baselines.practices import DateShift, KCore, NetflixPerturbation, UserSample
from recveil.methods.baselines.rotation import GeometricPerturbation, RotationPerturbation
from recveil.methods.k_corating.anonymizer import KCoRater
from recveil.methods.predictive.anonymizer import PredictiveAnonymizer
from recveil.methods.predictive.homogenize import homogenize_padded, homogenize_simple
from recveil.methods.registry import BASELINES
from recveil.methods.sparse.anonymizer import SparseRows
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.publish.release import Release
from recveil.release.claim import Claim
from recveil.release.records import Groups
from recveil.release.sides import Private, Published

__all__ = [
    "BASELINES",
    "AdditiveNoise",
    "AnonymizeRequest",
    "Anonymized",
    "Baseline",
    "Claim",
    "DateShift",
    "DryRun",
    "Erasure",
    "ErasureRequest",
    "GeometricPerturbation",
    "GlobalItemMeans",
    "Groups",
    "HistogramRecovery",
    "KCoRater",
    "KCore",
    "LabelNoise",
    "NetflixPerturbation",
    "PredictiveAnonymizer",
    "Private",
    "Pseudonymizer",
    "Published",
    "RandomValues",
    "RandomizedResponse",
    "Release",
    "Released",
    "RotationPerturbation",
    "SparseRows",
    "Synthesizer",
    "Trace",
    "UserSample",
    "anonymize",
    "dry_run",
    "estimate_shares",
    "forget",
    "histogram_recovery",
    "homogenize_padded",
    "homogenize_simple",
    "inherent_privacy",
    "privacy_loss",
    "reconstruct_distribution",
    "sample",
]
