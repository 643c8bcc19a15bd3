"""What the owner hears of the other rows that promise the same."""

import pytest

from recveil.anonymize import PredictiveAnonymizer, SparseRows
from recveil.anonymize.methods import tell_owner
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.release.predictive_words import SPARSE_KEEPS_MORE


def test_padded_rows_are_told_beside_sparse_ones(invented):
    told = tell_owner(PredictiveAnonymizer(5, seed=1).anonymize(invented), invented)
    assert SPARSE_KEEPS_MORE in told
    assert SparseRows(5, seed=1).anonymize(invented).published.claim.k == 5


@pytest.mark.parametrize(
    "options",
    [{"homogenize": "simple"}, {"labels": "model"}, {"privacy_levels": "activity<40:9,else:5"}],
)
def test_it_is_told_of_nothing_else(options, invented):
    told = tell_owner(PredictiveAnonymizer(5, seed=1, **options).anonymize(invented), invented)
    assert SPARSE_KEEPS_MORE not in told


def test_nor_of_people_whom_sparse_rows_refuse():
    ratings = make_ratings(n_users=19, n_items=20, n_ratings=150, seed=1)
    with pytest.raises(RecveilError, match="cannot form a crowd"):
        SparseRows(5).anonymize(ratings)
    told = tell_owner(PredictiveAnonymizer(5, seed=1).anonymize(ratings), ratings)
    assert SPARSE_KEEPS_MORE not in told
