"""K-gather clusterers in scikit-learn's manner, each group with at least k members."""

from recveil.group.bisecting import BisectingKGather
from recveil.group.bounded import BoundedTMeans
from recveil.group.clusterer import Grouping
from recveil.group.k_gather import KGather
from recveil.group.k_member import KMember
from recveil.group.level_gather import LevelGather
from recveil.group.mdav import MDAV
from recveil.group.measures import GroupSizes, armse, group_sizes, sse, sse_ratio
from recveil.group.one_k_gather import BisectingOneKGather
from recveil.group.predictive_grouping import PredictiveGrouping
from recveil.group.union_split import UnionSplit

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
