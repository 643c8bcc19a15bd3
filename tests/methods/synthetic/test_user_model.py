"""People who are drawn in crowds are the same, whoever draws which."""

import numpy as np
import pytest

from recveil.datasets import make_ratings
from recveil.methods import Synthesizer
from recveil.methods.synthetic.user_model import LikesModel, SampledBatches, SampledUsers

RULE = LikesModel(np.zeros(9, np.float32), np.zeros((9, 2), np.float32), np.full(4, 3.0))
PEOPLE = SampledUsers(RULE, 250, 7, whole=False)


def rows(blocks):
    return [
        block.indices[first:last].tolist()
        for block in blocks
        for first, last in zip(block.indptr, block.indptr[1:], strict=False)
    ]


def test_crowds_in_any_order_are_all_people():
    crowds = SampledBatches(PEOPLE, 100)
    drawn = {number: rows(crowds.block(number)) for number in (2, 0, 1)}
    assert [len(drawn[number]) for number in range(3)] == [100, 100, 50]
    assert drawn[0] + drawn[1] + drawn[2] == rows(crowds.blocks())
    assert [crowds.first_of(number) for number in range(4)] == [0, 100, 200, 250]


def test_no_two_crowds_are_alike():
    crowds = SampledBatches(PEOPLE, 100)
    assert rows(crowds.block(0)) != rows(crowds.block(1))


@pytest.mark.parametrize(("n_users", "n_crowds"), [(1, 1), (16_384, 1), (10**9, 4_096)])
def test_there_are_never_too_many_crowds(n_users, n_crowds):
    crowds = SampledBatches.of(PEOPLE._replace(n_users=n_users))
    assert crowds.n_blocks == n_crowds
    assert crowds.first_of(crowds.n_blocks) == n_users


def test_a_release_in_crowds_is_of_the_same_rule():
    ratings = make_ratings(200, 30, 2_000, seed=2)
    maker = Synthesizer(None, item_catalog="as-rated", seed=3)
    public, items, _ = maker.public_items(ratings.items)
    learnt = maker.learn(ratings, public, items, ratings.n_users)
    published = maker.published(learnt, SampledBatches(maker.drawn(learnt), 64))
    here = maker.anonymize(ratings).published
    assert published.settings == here.settings
    assert published.model().equals(here.model())
    assert len(rows(published.blocks())) == len(rows(here.blocks())) == 200
