import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import PRESETS, Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.reidentification.on_release import attack_release
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.components import GROUPINGS

# Who knows sixteen exact ratings knows more of most of these users than is left.
STRONG = Adversary(known=16)


@pytest.mark.parametrize("grouping", sorted(GROUPINGS))
@pytest.mark.parametrize("homogenize", ["padded", "simple"])
@pytest.mark.parametrize("k", [2, 5])
def test_what_every_adversary_gets_of_every_release(homogenize, grouping, k, invented):
    release = PredictiveAnonymizer(k, homogenize, grouping=grouping, seed=k).anonymize(invented)
    released = AttackTarget.from_release(release, invented)
    targets = np.arange(invented.n_users)
    for adversary in (STRONG, *PRESETS.values()):
        result = attack_release(invented, released, adversary, targets, seed=1)
        # No user finds more than one in k.
        assert result.bound == 1 / k
        if not result.attacked:
            assert result.reidentified.trials == result.class_reidentified.trials == 0
            continue
        assert 0 <= result.reidentified.rate <= result.bound
        assert result.class_reidentified.trials == result.reidentified.trials == invented.n_users
        found = round(result.class_reidentified.rate * invented.n_users)
        assert result.exact.trials <= found
        if adversary is STRONG:
            assert found > 30
            errors = result.rating_errors
            assert 0 < errors.with_value <= errors.ratings
            assert errors.mae <= errors.rmse <= 4
            assert 1 / k <= result.link_precision.mean <= 1 or homogenize == "padded"
            assert 0 < result.link_baseline.mean <= 1


@settings(deadline=None, max_examples=25)
@given(
    n_users=st.integers(4, 40),
    k=st.integers(2, 4),
    known=st.integers(1, 6),
    homogenize=st.sampled_from(["padded", "simple"]),
    rounding=st.sampled_from(["tenth", "scale", "none"]),
    seed=st.integers(0, 1000),
)
def test_no_release_gives_more_than_one_in_k(n_users, k, known, homogenize, rounding, seed):
    ratings = make_ratings(n_users, 12, 5 * n_users, seed=seed)
    anonymizer = PredictiveAnonymizer(k, homogenize, "item-mean", round_values=rounding, seed=seed)
    released = AttackTarget.from_release(anonymizer.anonymize(ratings), ratings)
    for user in range(n_users):
        one = attack_release(ratings, released, Adversary(known=known), np.array([user]), seed)
        assert one.attacked == one.reidentified.trials
        assert not one.reidentified.rate > 1 / k
