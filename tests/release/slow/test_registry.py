"""What is registered is checked, and nothing unknown inherits the words of something else."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.registry import Maker, forget, register
from recveil.release.registry import variant_of
from recveil.release.specs.predictive import PREDICTIVE

pytestmark = pytest.mark.usefixtures("few_recommenders")

RATINGS = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=5)

TOY = replace(PREDICTIVE, name="toy", title="toy", first_format=2, options=(), variants=())


@contextmanager
def registered(maker):
    register(maker)
    try:
        yield maker
    finally:
        forget(maker)


def test_a_variant_that_means_something_else_is_computed_anew(tmp_path):
    def run(**options):
        variant = replace(variant_of("simple"), name="mine", options=options)
        with registered(Maker(replace(TOY, variants=(variant,)), PredictiveAnonymizer)):
            ask = {"methods": ["mine"], "k": [4], "targets": 5}
            return compare(RATINGS, tmp_path / "c", **ask).computed

    assert run(homogenize="simple") == 1
    assert run(homogenize="simple") == 0
    assert run(homogenize="simple", round_values="scale") == 1
