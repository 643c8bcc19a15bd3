"""How far people rate by taste is told by one vector each, of length 1 at most."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.methods.synthetic.embedding_sums import (
    EmbeddingMap,
    embedding_vectors,
)
from shared.methods_synthetic_embedding_sums import PERSON, some_map, table


def by_hand(person, items: EmbeddingMap):
    """The vector of somebody, as `embedding_moments` says it in words."""
    rated = [place for place in sorted(person) if items.half[place] >= 0]
    vector = np.zeros((2, items.damping.size))
    if len(rated) < 2:
        return vector
    b = items.directions[rated]
    e = np.array([(person[place] - 3) / 2 - items.means[place] for place in rated])
    leans = b.sum(axis=0) / (1 + len(rated) * items.damping)
    off, beside = e - e.mean(), b - b.mean(axis=0)
    length = math.sqrt(off @ off * (leans**2 @ (beside**2).sum(axis=0)))
    if length > 1e-9:
        vector[0] = leans * (off @ beside) / length * len(rated) / (len(rated) + 20)
    halves = [np.flatnonzero(items.half[rated] == side) for side in (0, 1)]
    if min(half.size for half in halves) > 1:
        y, z = ((e[half] - e[half].mean()) @ b[half] for half in halves)
        fewer = 2 * min(half.size for half in halves)
        length = np.linalg.norm(y) * np.linalg.norm(z)
        if length > 1e-9:
            vector[1] = y * z / length * fewer / (fewer + 20)
    return vector * math.sqrt(0.5)


class TestOneVector:
    @given(st.lists(PERSON, min_size=1, max_size=4), st.integers(0, 50))
    def test_as_it_is_said_in_words(self, people, seed):
        items = some_map(seed=seed)
        ratings = table(people)
        at = (ratings.values.astype(float) - 3) / 2
        found = embedding_vectors(ratings.indptr, ratings.indices, at, items)
        for vector, person in zip(found, people, strict=True):
            assert vector == pytest.approx(by_hand(person, items), abs=1e-5)
