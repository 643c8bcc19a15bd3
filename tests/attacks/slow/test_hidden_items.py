import numpy as np
import pytest

from recveil.attacks.membership.inference import only
from recveil.attacks.reidentification.hidden_items import (
    Catalogue,
)
from recveil.methods import PredictiveAnonymizer
from recveil.methods.registry import make_variant
from recveil.ratings import Ratings
from recveil.report.document import plain
from shared.attacks_hidden_items import (
    FIRST,
    SECOND,
    attacked,
    raw,  # noqa: F401 (fixtures)
)


def test_planted_names_are_found(raw):
    """Items of the invented table differ in embedding, so that ratings of others identify them."""
    named, by_rank = raw.named["all"], raw.by_rank["all"]
    assert named.low > by_rank.high


@pytest.mark.parametrize("homogenize", ["simple", "padded"])
def test_a_release_of_one_group_beats_no_baseline(homogenize):
    """All users in one row: no items are correlated, and no user is distinguished."""
    all_users = PredictiveAnonymizer(FIRST.n_users, homogenize, seed=1)
    result = attacked(all_users, catalogue=Catalogue(SECOND, "the others"))
    (found,) = result.attacks
    assert found.reidentified.low <= 1 / FIRST.n_users <= found.reidentified.high
    assert result.named["all"].low <= result.by_rank["all"].high


def test_the_same_seed_names_the_same():
    one, other = (plain(attacked(make_variant("simple", 5, 1), seed=3)) for _ in range(2))
    assert one == other


def test_too_few_public_users_are_taken_as_they_are():
    few = Catalogue(only(SECOND, np.arange(4)), "four people")
    assert not attacked(make_variant("simple", 5, 1), catalogue=few).shadow


def test_names_are_compared_as_text():
    users = SECOND.users[SECOND.user_positions()]
    items = np.array([str(item) for item in SECOND.items], object)[SECOND.indices]
    text = Ratings.from_columns(users, items, SECOND.values, scale=SECOND.scale)
    anonymizer = make_variant("raw", None, 1)
    result = attacked(anonymizer, catalogue=Catalogue(text, "the others"))
    assert result.named["10"].rate > 0.5
