"""The queries behind published answers: exact sums and the vectors of users."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from recveil.datasets import make_ratings
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.release.synthetic_form import queries_of

RATINGS = make_ratings(300, 60, 6_000, seed=1)
OPTIONS = {"item_catalog": "as-rated", "seed": 1, "publish_answers": True}
KINDS = {
    "ratings": (RATINGS, {}),
    "few users": (RATINGS, {"epsilon": 3.0}),
    "counted ratings": (RATINGS, {"max_ratings": 10}),
    "likes": (RATINGS.as_likes(), {}),
    "dates": (RATINGS, {"dates": "year", "date_range": "1998:2001"}),
    "selected": (make_ratings(1_500, 40, 30_000, seed=1), {"item_catalog": None, "epsilon": 50.0}),
}


@pytest.fixture(scope="module", params=KINDS)
def answered(request):
    ratings, options = KINDS[request.param]
    maker = Synthesizer(**{"epsilon": 20.0, **OPTIONS, **options})
    published = maker.anonymize(ratings).published
    return ratings, maker, published, maker.answered_queries(ratings, published.answers)


def test_all_queries_but_the_last_are_answered(answered):
    *_, published, queries = answered
    names = {query.name for query in published.claim.ledger.queries} - {"ratings by factor"}
    assert len(queries) == len(names)
    left_out = {query.name: query.share for query in queries_of(likes=False)}["ratings by factor"]
    assert left_out == pytest.approx(0.01)
    sigmas = {query.sigma for query in published.claim.ledger.queries if query.name in names}
    assert {query.sigma for query in queries} == sigmas


def test_vectors_of_users_add_up_to_the_exact_sum_and_are_bounded(answered):
    ratings, maker, _, queries = answered
    for query in queries:
        vectors = query.vectors(maker.queried(ratings))
        if query.is_symmetric:
            lengths = (vectors**2).sum(axis=1)
            total = vectors.T @ vectors
        else:
            vectors = vectors.toarray()
            lengths = np.sqrt((vectors**2).sum(axis=1))
            total = vectors.sum(axis=0).reshape(query.total.shape)
        assert_allclose(total * query.sigma, query.total, atol=1e-9)
        assert 0 < lengths.max() * query.sigma <= 1 + 1e-12


def test_answers_differ_from_exact_sums_by_the_noise(answered):
    *_, queries = answered
    off = []
    for query in queries:
        noise = (query.answer - query.total) / query.sigma
        above = np.triu_indices(len(noise), 1)
        off.append(noise[above] * 2**0.5 if query.is_symmetric else noise.ravel())
    assert 0.85 < np.sqrt((np.concatenate(off) ** 2).mean()) < 1.15
