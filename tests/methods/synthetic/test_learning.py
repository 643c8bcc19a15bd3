"""How far ratings follow item_embeddings is found where it was planted, and not where it is not."""

import numpy as np
import pytest

from recveil.methods.synthetic.learning import (
    QUERY,
    believed,
)
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings
from shared.methods_synthetic_learning import N_ITEMS, PLANTED, STARS, found, moves, planted


class TestPlanted:
    def test_both_at_once(self):
        by_choice, by_liking = moves(found(planted([0.3] * 2, [0.25] * 2)))
        assert by_choice == pytest.approx(0.3 * PLANTED, abs=0.1)
        assert by_liking == pytest.approx(0.25 * PLANTED, abs=0.1)

    def test_never_more_than_leaves_something_to_chance(self):
        """Planted is more than may be: then it is as much as may be."""
        model = found(planted([1.5] * 2, [0.5] * 2))
        assert model._explained(np.arange(N_ITEMS)[None]) == pytest.approx(0.8 * model.chance**2)

    def test_each_direction_on_its_own(self):
        """The longer direction decides how people rate; the other one does not."""
        (shorter, longer), _ = moves(found(planted([0.6, 0.0], [0.0] * 2)))
        assert longer > shorter + 0.35


def test_it_is_asked_once_and_paid(heard_by):
    ratings = planted([0.5] * 2, [0.2] * 2)
    release = Synthesizer(20.0, item_catalog="as-rated", seed=1).anonymize(ratings)
    query = release.published.claim.ledger.queries[-1]
    assert (query.name, query.sensitivity, query.values) == (QUERY, 1.0, 128)
    assert release.published.claim.ledger.epsilon(1e-6) == pytest.approx(20, rel=1e-6)
    settings = release.published.settings
    assert len(settings["slopes"]) == len(settings["slope_spreads"])


def test_without_a_direction_nothing_follows():
    ratings = planted([0.5] * 2, [0.2] * 2)
    few = Ratings(
        *(ratings.users[:20], ratings.items, ratings.indptr[:21]),
        *(ratings.indices[: ratings.indptr[20]], ratings.values[: ratings.indptr[20]]),
        *(None, STARS),
    )
    release = Synthesizer(90.0, item_catalog="as-rated", seed=1).anonymize(few)
    assert release.published.settings["slopes"] == []
    assert release.published.claim.ledger.queries[-1].values == 128


class TestBelieved:
    def test_unsure_ones_are_pulled_to_what_the_sure_ones_are(self):
        """Nine sure ones about 0.6, and one that is unsure."""
        sure = np.linspace(0.58, 0.62, 9)
        pulled = believed(np.r_[sure, 5.0], np.r_[np.full(9, 1e-6), 4.0], 0.2, 0.04)
        assert pulled[:9] == pytest.approx(sure, abs=0.005)
        assert pulled[9] == pytest.approx(0.6, abs=0.02)

    def test_halfway(self):
        """As unsure as tables differ: half of what is usual, half of what was found."""
        assert believed(np.array([0.6]), np.array([0.04]), 0.2, 0.04) == pytest.approx(
            0.4, abs=0.01
        )
