"""Floor 3: what a release is still worth, side by side with the original."""

from recveil.evaluate.similarity import (
    RatingHistogram,
    SimilarityDistributions,
    closeness,
    rating_histogram,
    similarity_distributions,
    weighted,
    weighted_squared,
)

__all__ = [
    "RatingHistogram",
    "SimilarityDistributions",
    "closeness",
    "rating_histogram",
    "similarity_distributions",
    "weighted",
    "weighted_squared",
]
