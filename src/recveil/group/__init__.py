"""Floor 1: k-gather clusterers in scikit-learn's manner, each group with at least k members."""

from recveil.group.base import Grouping
from recveil.group.bisecting import BisectingKGather
from recveil.group.bounded import BoundedTMeans
from recveil.group.predictive import PredictiveGrouping

__all__ = ["BisectingKGather", "BoundedTMeans", "Grouping", "PredictiveGrouping"]
