"""K-gather clusterers in scikit-learn's manner, each group with at least k members."""

from recveil.clustering.base import Grouping, GroupSizes, armse, group_sizes, sse, sse_ratio
from recveil.clustering.bisecting_k_gather import BisectingKGather
from recveil.clustering.bounded_k_means import BoundedTMeans, PredictiveGrouping
from recveil.clustering.k_gather import KGather
from recveil.clustering.level_gather import BisectingOneKGather, LevelGather
from recveil.clustering.microaggregation import MDAV, KMember
from recveil.clustering.union_split import UnionSplit

__all__ = [
    "MDAV",
    "BisectingKGather",
    "BisectingOneKGather",
    "BoundedTMeans",
    "GroupSizes",
    "Grouping",
    "KGather",
    "KMember",
    "LevelGather",
    "PredictiveGrouping",
    "UnionSplit",
    "armse",
    "group_sizes",
    "sse",
    "sse_ratio",
]
