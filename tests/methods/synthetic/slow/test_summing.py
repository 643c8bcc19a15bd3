"""What is asked of users in pieces is what is asked of all of them together."""

import itertools

import numpy as np

from recveil.datasets import make_ratings
from recveil.methods.synthetic.gaussian_mechanism import WithoutNoise
from recveil.methods.synthetic.learning import QUERY, follow_embeddings, learn_users
from recveil.methods.synthetic.sum_queries import (
    SHARES,
    Public,
    measure,
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


def test_all_queries_of_ratings():
    public, sigmas = Public(True, 40), dict.fromkeys(SHARES, 0.0)
    pieces = InPieces(RATINGS, 7)
    here, there = (measure(of, WithoutNoise(), public, sigmas) for of in (RATINGS, pieces))
    assert here.chosen.size > 2
    assert same(here, there)
    rules = []
    for of, measured in ((RATINGS, here), (pieces, there)):
        rng = np.random.default_rng(1)
        rule = learn_users(measured, RATINGS.scale, rng)
        rules.append(follow_embeddings(of, WithoutNoise(), measured, rule, sigmas[QUERY], rng))
    assert same(
        [rules[0].slopes, rules[0].slope_spreads], [rules[1].slopes, rules[1].slope_spreads]
    )
    assert len(pieces.asked) == len(SHARES)
