"""What publishers do today, in a comparison."""

import pytest

from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.ratings import RatingScale


@pytest.mark.parametrize("of", ["ratings", "likes", "nominal"])
def test_all_are_compared(of):
    table = make_ratings(800, 60, 18_000, seed=4, scale=RatingScale(1, 3, 1))
    if of == "likes":
        table = table.as_likes()
    if of == "nominal":
        scale = RatingScale.of_labels("down,neutral,up", ordered=False)
        table = table.with_scale(scale)
    methods = ["raw", "user-sample", "netflix-perturbation", "k-core", "date-shift"]
    rows = compare(table, methods=methods, targets=50).rows
    assert [row.method for row in rows] == methods
    for row in rows:
        assert row.problem is None
        assert row.risk > 0.5
        assert row.membership_auc > 0.8
