"""Synthetic tables, and public data sets to download."""

from recveil.datasets.movielens import fetch_movielens
from recveil.datasets.synthetic import generate, make_ratings

__all__ = ["fetch_movielens", "generate", "make_ratings"]
