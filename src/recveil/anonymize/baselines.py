"""BASELINES: by name, what a release that promises something is to be compared with."""

from collections.abc import Callable

from recveil.anonymize.noise import AdditiveNoise
from recveil.anonymize.perturbation import Baseline, GlobalItemMeans, RandomValues, RawRelease
from recveil.anonymize.rotation import GeometricPerturbation, RotationPerturbation

# How to make each from a seed.
BASELINES: dict[str, Callable[[int], Baseline]] = {
    "raw": lambda seed: RawRelease(seed=seed),
    "item-means": lambda seed: GlobalItemMeans(seed=seed),
    "random-values": lambda seed: RandomValues(seed=seed),
    "gaussian-noise": lambda seed: AdditiveNoise("gaussian", seed=seed),
    "uniform-noise": lambda seed: AdditiveNoise("uniform", seed=seed),
    "rotation": lambda seed: RotationPerturbation(seed=seed),
    "geometric": lambda seed: GeometricPerturbation(seed=seed),
}

# A sentence about each, for people who choose.
BASELINE_DESCRIPTIONS: dict[str, str] = {
    "raw": "Promises nothing: the ratings as they are, only the names (and dates) removed.",
    "item-means": "Promises nothing: everybody gets the mean rating of each item, in one row.",
    "random-values": "Promises nothing: who rated what is real, the ratings are drawn at random.",
    "gaussian-noise": (
        "Promises nothing: each rating plus Gaussian noise of a quarter of the scale's range; who "
        "rated what stays real."
    ),
    "uniform-noise": (
        "Promises nothing: each rating plus uniform noise of a quarter of the scale's range "
        "(standard deviation); who rated what stays real."
    ),
    "rotation": (
        "Promises nothing: padded rows turned by a secret rotation that the attacks do not try to "
        "undo, so that their low rates say nothing; who knows some rows can undo it."
    ),
    "geometric": (
        "Promises nothing: rotation with a shift and a little noise; the attacks do not try to "
        "undo it, so that their low rates say nothing."
    ),
}

# The attacks read labels as ratings and do not try to undo a rotation, so that a low rate of
# theirs says nothing about how safe these are.
NOT_ATTACKED: frozenset[str] = frozenset({"rotation", "geometric"})
