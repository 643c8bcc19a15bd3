"""Planted users are found again from their exact moments, with correct gradients."""

import numpy as np
import pytest

from recveil.methods.synthetic import fitting
from recveil.methods.synthetic.bounded_sums import centred_length, direction_of
from recveil.methods.synthetic.fitting import (
    FitTargets,
    FittedItems,
    centre_of,
    directions,
    fit_items,
    sampling_edge,
    scale_activity,
)
from shared.methods_synthetic_fitting import expected, planted, stated_of


def misfit(items, factors, activity, result):
    """What the fit makes small, as slowly as can be."""
    item_embeddings, popularity = expected(items, factors, activity, result)
    off = item_embeddings.T @ item_embeddings - result.moments
    np.fill_diagonal(off, 0)
    cells = (off**2).sum() / 4 / result.moments_noise**2
    counts = ((popularity - result.popularity) ** 2).sum() / 2 / result.popularity_noise**2
    prior = (np.asarray(items.item_embeddings, float) ** 2).sum() / 2 / fitting._PRIOR_SPREAD**2
    return cells + counts + prior


class TestSlopes:
    @pytest.mark.parametrize("is_centred", [True, False])
    @pytest.mark.parametrize("n_items", [3, 8])
    def test_against_numeric_differences(self, n_items, is_centred):
        rng = np.random.default_rng(n_items)
        result = stated_of(n_items, n_users=60.0, is_centred=is_centred)
        factors = rng.normal(size=(20, 3))
        activity = rng.uniform(1, n_items - 1, 20)
        items = FittedItems(rng.normal(size=n_items), 0.5 * rng.normal(size=(n_items, 3)))
        small = [part.astype(np.float32) for part in (activity, factors)]
        fit = fitting._Fit(result, *small, rng)
        found = fit.slopes(FittedItems(*(part.astype(np.float32) for part in items)))
        for which, slopes in enumerate(found):
            numeric = np.empty(slopes.shape)
            for place in np.ndindex(slopes.shape):
                sides = []
                for step in (1e-4, -1e-4):
                    moved = [part.copy() for part in items]
                    moved[which][place] += step
                    sides.append(misfit(FittedItems(*moved), factors, activity, result))
                numeric[place] = (sides[0] - sides[1]) / 2e-4
            assert slopes == pytest.approx(numeric, rel=5e-3, abs=5e-3 * np.abs(numeric).max())

    @pytest.mark.parametrize("n_items", [9, 12])
    def test_some_columns_at_a_time_are_all_in_turn(self, n_items, monkeypatch):
        """Of many items: the mean of one round of guesses is what all cells say."""
        monkeypatch.setattr(fitting, "_AT_A_TIME", 3)
        result = stated_of(n_items)
        item_embeddings = np.random.default_rng(1).normal(size=(30, n_items)).astype(np.float32)
        off = fitting._off_some(result, np.random.default_rng(2))
        for _ in range(2):
            turns = [off(item_embeddings) for _ in range(n_items // 3)]
            every = fitting._off_all(result)(item_embeddings)
            assert np.mean(turns, axis=0) == pytest.approx(every, rel=1e-3, abs=1e-2)
            assert np.abs(turns[0] - every).max() > 1


class TestPlanted:
    def test_directions(self):
        """Two that were planted; a third is what products of chances bend."""
        squares = directions(planted(noise=1.0)[1]).squares
        assert 2 <= squares.size <= 3
        assert squares[-2] > 5 * squares[:-2].max(initial=0)

    def test_directions_of_many_items_are_computed_iteratively(self, monkeypatch):
        targets = planted(noise=1.0)[1]
        all_at_once = directions(targets)
        monkeypatch.setattr(fitting, "_DIRECTIONS_AT_ONCE", 10)
        monkeypatch.setattr(fitting, "_LITTLE", 0)
        found = directions(targets)
        assert found.squares == pytest.approx(all_at_once.squares, rel=1e-4)
        alike = np.abs((found.vectors * all_at_once.vectors).sum(axis=0))
        assert alike == pytest.approx(1, abs=1e-4)

    def test_noise_alone_has_no_direction(self):
        result = planted(noise=1.0)[1]
        next_to = np.triu(np.random.default_rng(8).normal(size=(40, 40)), 1)
        nothing = result.n_users * np.outer(result.usual, result.usual)
        found = directions(result._replace(moments=nothing + next_to + next_to.T))
        assert found.squares.size <= 1

    @pytest.mark.parametrize("n_users", [1_000, 8_000])
    def test_users_without_embeddings_have_hardly_a_direction(self, n_users):
        rng = np.random.default_rng(n_users)
        chances = np.linspace(0.5, 0.05, 120) ** 2
        rated = (rng.random((n_users, chances.size)) < chances).astype(float)
        rated = rated[rated.any(axis=1)]
        units = rated / np.linalg.norm(rated, axis=1, keepdims=True)
        popularity = units.sum(axis=0)
        along = units @ direction_of(popularity)
        centred = units - np.outer(along, direction_of(popularity))
        centred /= centred_length(along)[0][:, None]
        targets = FitTargets(
            moments=centred.T @ centred,
            moments_noise=0.0,
            popularity=popularity,
            popularity_noise=0.0,
            weights=np.ones((chances.size, 2)),
            activity=rated.sum(axis=1),
            share=1.0,
            n_users=float(len(rated)),
        )
        assert directions(targets).squares.size <= 4  # of at most 22 and 64
        values = np.linalg.eigvalsh(fitting._without_popularity(targets, np.float64))
        assert values[-4] == pytest.approx(sampling_edge(targets), rel=0.4)

    @pytest.mark.parametrize("is_centred", [True, False])
    def test_offsets_and_embeddings_are_found_again(self, is_centred):
        items, result = planted(noise=1.0, is_centred=is_centred)
        found = fit_items(result, np.random.default_rng(1))
        assert np.corrcoef(found.offsets, items.offsets)[0, 1] > 0.97
        # Embeddings are identified up to a rotation, which leaves their products.
        products = [
            of.item_embeddings[:, 1:] @ of.item_embeddings[:, 1:].T for of in (found, items)
        ]
        next_to = np.triu_indices(40, 1)
        assert np.corrcoef(*(of[next_to] for of in products))[0, 1] > 0.9

    @pytest.mark.parametrize("is_centred", [True, False])
    def test_the_users_have_the_moments_that_were_given(self, is_centred):
        _, result = planted(noise=1.0, is_centred=is_centred)
        found = fit_items(result, np.random.default_rng(1))
        activity, factors = fitting._simulate(
            result, found.item_embeddings.shape[1] - 1, np.random.default_rng(1)
        )
        rows, popularity = expected(found, factors.astype(float), activity.astype(float), result)
        assert popularity == pytest.approx(result.popularity, rel=0.05, abs=3)
        next_to = np.triu_indices(40, 1)
        off = (rows.T @ rows - result.moments)[next_to]
        usual = result.moments[next_to] - result.moments[next_to].mean()
        assert np.sqrt((off**2).mean()) < 0.1 * np.sqrt((usual**2).mean()) + 1.2

    def test_the_same_seed_the_same_items(self):
        _, result = planted(noise=1.0)
        found = [fit_items(result, np.random.default_rng(2)) for _ in range(2)]
        assert all((one == other).all() for one, other in zip(*found, strict=True))


class TestFew:
    @pytest.mark.parametrize("n_items", [2, 3])
    @pytest.mark.parametrize("n_users", [1.0, 10.0, 5_000.0])
    def test_two_items(self, n_items, n_users):
        result = stated_of(n_items, n_users=n_users, activity=np.array([1.0, 2.0]))
        found = fit_items(result, np.random.default_rng(1))
        assert found.offsets.shape == (n_items,)
        assert all(np.isfinite(part).all() for part in found)

    def test_no_direction_of_few_users(self):
        result = stated_of(20, n_users=30.0)
        found = fit_items(result, np.random.default_rng(1))
        assert found.item_embeddings.shape == (20, 1)

    def test_popular_items_have_higher_offsets(self):
        usual = np.linspace(10, 400, 20)
        result = stated_of(20, popularity=usual, n_users=2_000.0)
        result = result._replace(
            moments=2_000 * np.outer(result.usual, result.usual), moments_noise=3.0
        )
        found = fit_items(result, np.random.default_rng(1))
        assert (np.diff(found.offsets) > 0).all()


class TestSimulatedUsers:
    def test_exactly_spread(self):
        result = stated_of(20, activity=np.arange(2.0, 12.0), share=0.5)
        activity, factors = fitting._simulate(result, 3, np.random.default_rng(4))
        with_one = np.column_stack([np.ones(len(factors)), factors])
        others = with_one.T @ with_one / len(factors)
        assert others[2:] == pytest.approx(np.eye(5)[2:], abs=1e-5)
        assert others[1, 0] == pytest.approx(0, abs=0.1)
        assert activity.mean() == pytest.approx(0.5 * result.activity.mean(), rel=0.02)
        assert np.corrcoef(np.log(activity), factors[:, 0])[0, 1] > 0.98

    def test_on_some_items_at_least_one_and_not_nearly_all(self):
        assert scale_activity(np.array([1.0, 10.0, 1_000.0]), 0.5, 100).tolist() == [1, 5, 70]

    def test_all_users_rate_as_much(self):
        assert centre_of(np.array([4.0, 4.0])) == (np.log(4), 1)
