"""Floor 1: predictors, which fill the cells that nobody rated."""

from recveil.predict.funk_svd import FunkSVD
from recveil.predict.item_mean import ItemMean
from recveil.predict.padding import Padding
from recveil.predict.predictor import Predictor

__all__ = ["FunkSVD", "ItemMean", "Padding", "Predictor"]
