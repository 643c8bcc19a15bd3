"""Words without an order are looked for as pairs of an item and a word: equal, or not."""

import numpy as np
import pytest

from recveil.attacks import AttackTarget
from recveil.attacks.attack_target import PairAnonymizer, pairs_of, released_pairs
from recveil.datasets import make_ratings
from recveil.methods.nominal import NominalAnonymizer
from recveil.ratings import Ratings, RatingScale

SCALE = RatingScale.of_labels("up,down,none", ordered=False)


@pytest.fixture(scope="module")
def words():
    return make_ratings(60, 20, 600, seed=2, scale=RatingScale(1, 3, 1)).with_scale(SCALE)


def test_by_hand():
    ratings = Ratings.from_columns([1, 1, 2], [7, 9, 9], ["none", "up", "down"], scale=SCALE)
    pairs = pairs_of(ratings)
    assert pairs.indices.tolist() == [2, 3, 4]  # 7 none; 9 up; 9 down
    assert pairs.is_unary
    assert len(set(pairs.items.tolist())) == 6


def test_equal_pairs_are_equal_items_with_equal_words(words):
    pairs = pairs_of(words)
    assert np.array_equal(pairs.activity, words.activity)
    assert np.array_equal(pairs.indices // 3, words.indices)
    assert np.array_equal(pairs.indices % 3 + 1, words.values)


@pytest.mark.parametrize("homogenize", ["commonest", "shares"])
def test_a_release_of_words_is_one_of_pairs(words, homogenize):
    release = NominalAnonymizer(5, homogenize, seed=1).anonymize(words)
    table = AttackTarget.from_release(release, words)
    pairs = released_pairs(table, words)
    assert np.array_equal(pairs.record_of, table.record_of)
    for record in range(len(table.indptr) - 1):
        items, values = table.row(record)
        assert pairs.row(record)[0].tolist() == (items * 3 + values - 1).tolist()
    assert (pairs.values == 1).all()


def test_a_maker_of_pairs_makes_the_same_release(words):
    made = PairAnonymizer(NominalAnonymizer(5, seed=1), words).anonymize(pairs_of(words))
    expected = NominalAnonymizer(5, seed=1).anonymize(words)
    for ours, theirs in zip(made.published.blocks(), expected.published.blocks(), strict=True):
        assert np.array_equal(ours.indices, theirs.indices * 3 + theirs.values - 1)
        assert np.array_equal(ours.sizes, theirs.sizes)
    assert made.published.scale.unary


def test_how_words_are_numbered_changes_nothing(words):
    """Distances do not matter: other numbers for the same words find as many users."""
    from recveil.auditing import audit

    turned = RatingScale.of_labels(["none", "up", "down"], ordered=False)
    other = Ratings.from_columns(
        words.users[words.user_positions()],
        words.items[words.indices],
        words.to_arrow()["rating"].to_pylist(),
        scale=turned,
    )
    rates = []
    for each in (words, other):
        found = audit(each, targets=60, curves=False, seed=1)
        rates.append(
            {outcome.adversary.name: outcome.reidentified.rate for outcome in found.attacks}
        )
    assert rates[0]["public-profile"] == pytest.approx(rates[1]["public-profile"], abs=0.1)
