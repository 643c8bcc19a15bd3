"""What is asked of users in pieces is what is asked of all of them together."""

import itertools

import numpy as np

from recveil.datasets import make_ratings
from recveil.methods.synthetic.gaussian_mechanism import WithoutNoise
from recveil.methods.synthetic.sum_queries import (
    SHARES_OF_LIKES,
    Public,
    measure_likes,
)
from recveil.ratings import Ratings

RATINGS = make_ratings(300, 40, 5_000, seed=3)


class InPieces:
    """Users in some pieces, each of which is asked by itself."""

    def __init__(self, ratings, n_pieces):
        self.scale, self.n_items = ratings.scale, ratings.n_items
        self.asked = []
        cuts = np.linspace(0, ratings.n_users, n_pieces + 1).astype(int)
        self._pieces = [
            Ratings(
                *(ratings.users[first:last], ratings.items),
                ratings.indptr[first : last + 1] - ratings.indptr[first],
                ratings.indices[ratings.indptr[first] : ratings.indptr[last]],
                ratings.values[ratings.indptr[first] : ratings.indptr[last]],
                *(None, ratings.scale),
            )
            for first, last in itertools.pairwise(cuts)
        ]

    def add_up(self, sums, *known):
        self.asked.append(sums.__name__)
        return sum(sums(piece, *known) for piece in self._pieces)


def same(one, other):
    """Compare tuples of numbers and arrays, some of which hold tuples again."""
    if isinstance(one, tuple | list):
        return all(same(a, b) for a, b in zip(one, other, strict=True))
    return np.array_equal(one, other)


def test_all_queries_of_likes():
    public, sigmas = Public(True, 40), dict.fromkeys(SHARES_OF_LIKES, 0.0)
    pieces = InPieces(RATINGS.as_likes(), 5)
    here = measure_likes(RATINGS.as_likes(), WithoutNoise(), public, sigmas)
    there = measure_likes(pieces, WithoutNoise(), public, sigmas)
    assert same(here, there)
    assert len(pieces.asked) == len(SHARES_OF_LIKES)
