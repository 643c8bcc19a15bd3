import pytest

from recveil.datasets import make_ratings
from recveil.evaluation import Evaluator
from recveil.evaluation.split import split_ratings
from recveil.methods import anonymize

RATINGS = make_ratings(n_users=60, n_items=25, n_ratings=500, seed=2)


def test_a_recipient_is_judged_through_the_mapping(tmp_path):
    """Item means do not depend on names, so that a recipient who has them does as well."""
    split = split_ratings(RATINGS)
    evaluator = Evaluator(split, with_membership=False)
    rmse = []
    for name, hide in (("plain", False), ("hidden", True)):
        anonymize(split.train, tmp_path / name, k=4, method="k-corating", seed=1, hide_items=hide)
        found = evaluator.evaluate(tmp_path / name)
        rmse.append(found.release.utilities["item mean"].rmse)
    assert rmse[0] == pytest.approx(rmse[1], rel=0.05)
