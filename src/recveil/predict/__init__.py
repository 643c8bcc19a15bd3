"""Predictors of the ratings that users did not give."""

from recveil.predict.funk_svd import FunkSVD
from recveil.predict.knn import TrustKNN, UserKNN
from recveil.predict.padding import (
    ItemMean,
    Padded,
    Padder,
    Padding,
    PredictedRows,
    Predictor,
    padded_by,
)

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
