"""No query is repeated, and what is published afterwards depends on the answers alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods.synthetic.learning import QUERY, learn_users
from recveil.methods.synthetic.sum_queries import (
    SHARES,
    Public,
    expected_popularity,
    measure,
    pick_released,
)
from shared.methods_synthetic_sum_queries import CATALOGUE, CHOSEN, RATINGS, STARS, asked, measured


def same(one, other) -> bool:
    return all(
        same(*parts) if isinstance(parts[0], tuple) else np.array_equal(*parts)
        for parts in zip(one, other, strict=True)
    )


class TestWhatIsAsked:
    @pytest.mark.parametrize("public", [CATALOGUE, CHOSEN], ids=["catalogue", "chosen"])
    def test_each_query_once_and_all_in_the_ledger(self, public):
        mechanism, sigmas = asked(public=public)
        found = measure(RATINGS, mechanism, public, sigmas)
        ledger = mechanism.ledger()
        assert [query.name for query in ledger.queries] == [
            *("users by user count", "rating levels", "user means", "item sums"),
            *("item kinds", "moments"),
        ]
        assert sigmas.pop(QUERY) > 0  # queried last, with embeddings that are learnt from these
        assert {query.name: query.sigma for query in ledger.queries} == sigmas
        assert all(query.sensitivity == 1 for query in ledger.queries)
        n = found.chosen.size
        assert ledger.queries[-1].values == n * (n + 1) // 2
        assert ledger.threshold_delta == public.threshold_delta
        assert ledger.epsilon(1e-6) <= 20

    def test_the_budget_is_spent_whole(self):
        assert sum(SHARES.values()) == pytest.approx(1)
        mechanism, sigmas = asked()
        measure(RATINGS, mechanism, CATALOGUE, sigmas)
        mechanism.measure(QUERY, "asked last", np.zeros((2, 64), np.int64), 1.0)
        assert mechanism.ledger().epsilon(1e-6) == pytest.approx(20, rel=1e-6)

    @pytest.mark.parametrize(
        ("epsilon", "planned", "count_share"),
        [(3.0, False, 0.6), (3.0, True, 0.3), (5.0, False, 0.6), (20.0, False, 0.3)],
    )
    def test_vectors_of_few_users_are_not_centred(self, epsilon, planned, count_share):
        """300 users: their number times mu is 194, 306 and 971."""
        mechanism, sigmas = asked(epsilon)
        found = measure(RATINGS, mechanism, CATALOGUE._replace(is_planned=planned), sigmas)
        assert found.is_centred == found.choices.is_centred == (count_share == 0.3)
        assert found.items.popularity_noise == pytest.approx(sigmas["item sums"] / count_share**0.5)
        assert found.items.off_noise == pytest.approx(
            sigmas["item sums"] * found.spread / (1 - count_share) ** 0.5
        )
        what = "for each pair of items, the product of users' vectors"
        assert (
            mechanism.ledger().queries[-1].what
            == what + ", centred by popularity" * found.is_centred
        )
        # Vectors of length 1 on items that nearly all users rated; the noise is smaller.
        total = found.moments.sum() / found.moments.shape[0]
        assert (total > 0.2 * 300) == (not found.is_centred)

    def test_again_is_refused(self):
        mechanism, sigmas = asked()
        measure(RATINGS, mechanism, CATALOGUE, sigmas)
        with raises("budget.spent"):
            measure(RATINGS, mechanism, CATALOGUE, sigmas)


class TestAnswersAlone:
    def test_other_ratings_with_the_same_answers_are_measured_the_same(
        self, heard_by, stated_again
    ):
        """All that depends on users is what the mechanism returned."""
        _, sigmas = asked()
        heard = heard_by(1, sigmas)
        first = measure(RATINGS, heard, CATALOGUE, sigmas)
        others = make_ratings(37, 40, 300, seed=99, scale=STARS)
        assert others.n_items == 40
        assert same(first, measure(others, stated_again(heard.answers), CATALOGUE, sigmas))

    def test_without_a_catalogue_as_well(self, heard_by, stated_again):
        _, sigmas = asked(40.0, public=CHOSEN)
        heard = heard_by(1, sigmas)
        first = measure(RATINGS, heard, CHOSEN, sigmas)
        others = make_ratings(37, 40, 300, seed=99, scale=STARS)
        assert same(first, measure(others, stated_again(heard.answers), CHOSEN, sigmas))

    def test_the_rule_is_learnt_from_what_was_measured_alone(self):
        found = measured()
        first, second = (learn_users(found, STARS, np.random.default_rng(3)) for _ in range(2))
        assert same(first[:-1], second[:-1])

    def test_a_user_more_changes_only_exact_answers(self, heard_by, stated_again):
        _, sigmas = asked()
        heard = heard_by(1, sigmas)
        measure(RATINGS, heard, CATALOGUE, sigmas)
        exact = []
        for ratings in (RATINGS, make_ratings(301, 40, 5_020, seed=4, scale=STARS)):
            result = stated_again(heard.answers)
            measure(ratings, result, CATALOGUE, sigmas)
            exact.append(result.exact)
        assert exact[0].keys() == exact[1].keys() == SHARES.keys() - {QUERY}
        assert all(exact[0][name].shape == exact[1][name].shape for name in exact[0])


class TestWithoutNoise:
    def test_users_in_rare_bins_are_counted_too(self):
        """Bins that noise hides would be missed: then users were too few on average."""
        found = [measured(epsilon=8.0, seed=seed).n_users for seed in range(30)]
        assert np.mean(found) == pytest.approx(300, abs=4 * np.std(found) / np.sqrt(30))
        assert np.std(found) > 2

    def test_users_and_popularity(self):
        found = measured(epsilon=None)
        assert found.n_users == 300
        roots = np.sqrt(RATINGS.activity)
        of = RATINGS.user_positions()
        popularity = np.bincount(RATINGS.indices, 1 / roots[of], RATINGS.n_items)
        assert found.items.popularity == pytest.approx(popularity, abs=300 * 2e-6)
        assert found.released.size == 40
        assert found.share_as_json == pytest.approx(1, abs=0.03)

    def test_activities_are_those_of_users(self):
        found = measured(epsilon=None)
        places = [0.1, 0.5, 0.9]
        result, true = (np.quantile(of, places) for of in (found.activity, RATINGS.activity))
        assert result == pytest.approx(true, rel=0.1)
        assert (np.diff(found.activity) >= 0).all()

    def test_a_bin_far_from_all_others_is_noise(self):
        """Else some users were drawn who rate nearly everything, in every fifth release."""
        most = []
        for seed in range(40):
            mechanism, sigmas = asked(seed=seed, public=CHOSEN)
            most.append(measure(RATINGS, mechanism, CHOSEN, sigmas).activity.max())
        assert RATINGS.activity.max() <= 40
        assert np.mean(np.array(most) > 200) < 0.1

    def test_how_users_differ(self):
        means = np.array([np.mean(RATINGS.row(user)[1]) for user in range(300)]) / 2 - 1.5
        assert measured(epsilon=None).spread_of_users == pytest.approx(means.var(), rel=1e-3)

    def test_moments_symmetric_of_the_most_popular_first(self):
        found = measured(epsilon=None)
        assert (found.moments == found.moments.T).all()
        assert (np.diff(found.items.popularity[found.chosen]) <= 0).all()
        assert np.trace(found.moments) == pytest.approx(300, rel=0.01)


class TestChosenItems:
    def test_selected_items_exceed_their_noise(self):
        found = measured(epsilon=8.0, public=CHOSEN)
        noise = found.items.popularity_noise
        assert found.items.popularity[found.released].min() > 2 * noise
        assert set(found.chosen) <= set(found.released)

    def test_a_catalogue_is_released_as_it_is(self):
        found = measured(epsilon=8.0)
        noise = found.items.popularity_noise
        assert found.released.tolist() == list(range(40))
        assert found.items.popularity[found.chosen].min() > noise
        assert noise == pytest.approx(asked(8.0)[1]["item sums"] / math.sqrt(0.3))


class TestExpectedPopularity:
    """The posterior mean under the prior that makes noisy sums most likely."""

    def test_of_one_level_it_is_that_level(self):
        noisy = 5.0 + np.random.default_rng(1).normal(size=2_000)
        assert np.mean((expected_popularity(noisy, 1.0) - 5) ** 2) < 0.05

    def test_of_two_levels_it_is_the_rule_of_bayes(self):
        """A quarter of the items has popularity 4, the others none."""
        rng = np.random.default_rng(2)
        true = np.where(np.arange(8_000) < 2_000, 4.0, 0.0)
        noisy = true + rng.normal(size=true.size)
        odds = 0.25 / 0.75 * np.exp(4 * noisy - 8)
        found = expected_popularity(2.5 * noisy, 2.5) / 2.5
        assert np.mean((found - 4 * odds / (1 + odds)) ** 2) < 0.02
        assert np.mean((found - true) ** 2) < 0.5 * np.mean((np.maximum(noisy, 0) - true) ** 2)

    @given(st.lists(st.floats(-50, 1e6), min_size=1, max_size=30), st.floats(1e-3, 1e3))
    def test_rises_with_the_sum_and_is_above_zero(self, noisy, noise):
        found = expected_popularity(np.sort(noisy), noise)
        assert np.isfinite(found).all()
        assert (found >= 0).all()
        assert (np.diff(found) >= -1e-9 * noise).all()

    def test_without_noise_it_is_the_sum(self):
        assert expected_popularity(np.array([3.0, 0.0, 7.0]), 0.0).tolist() == [3, 0, 7]


class TestRefused:
    def test_more_noise_than_users(self):
        with raises("budget.too-small"):
            measured(epsilon=0.01)

    def test_more_noise_than_items(self, heard_by, stated_again):
        _, sigmas = asked()
        heard = heard_by(1, sigmas)
        measure(RATINGS, heard, CATALOGUE, sigmas)
        answers = heard.answers | {"item sums": np.zeros((40, 2))}
        with raises("budget.too-small") as caught:
            measure(RATINGS, stated_again(answers), CATALOGUE, sigmas)
        assert "only 0 items" in str(caught.value)
        assert "--item-catalog" not in str(caught.value)  # which is given

    def test_one_item_is_no_plural_and_a_catalogue_is_advised_to_others(self):
        sums = np.array([50.0, 0, 0])
        for is_catalogue in (True, False):
            with raises("budget.too-small", "1 item for 1 user") as caught:
                pick_released(sums, 1.0, 1.2, is_catalogue=is_catalogue)
            assert ("--item-catalog" in str(caught.value)) is not is_catalogue

    def test_too_few_users_end_before_the_query_on_items(self):
        few = make_ratings(12, 20, 100, seed=3, scale=STARS)
        mechanism, sigmas = asked(3.0, public=Public(False, 1_000, 1e-7))
        with raises("budget.too-small"):
            measure(few, mechanism, Public(False, 1_000, 1e-7), sigmas)
        assert [query.name for query in mechanism.ledger().queries] == ["users by user count"]


def test_a_small_epsilon_is_one_for_many_users():
    """So much noise has coarser grids, and no query is refused."""
    cluster = make_ratings(60_000, 6, 180_000, seed=1, scale=STARS)
    found = measured(cluster, 0.01, public=Public(True, 6))
    assert found.n_users == pytest.approx(60_000, rel=0.4)
    assert found.released.size == 6
