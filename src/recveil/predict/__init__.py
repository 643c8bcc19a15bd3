"""Predictors, which fill the cells that nobody rated."""

from recveil.predict.funk_svd import FunkSVD
from recveil.predict.item_mean import ItemMean
from recveil.predict.padding import Padding
from recveil.predict.predicted_rows import Padded, PredictedRows, padded_by
from recveil.predict.predictor import Padder, Predictor
from recveil.predict.trust_knn import TrustKNN
from recveil.predict.user_knn import UserKNN

__all__ = [
    "FunkSVD",
    "ItemMean",
    "Padded",
    "Padder",
    "Padding",
    "PredictedRows",
    "Predictor",
    "TrustKNN",
    "UserKNN",
    "padded_by",
]
