"""Given the same clusters, what rows are drawn by is what the local engine learns."""

import numpy as np
import pytest
from clusters_here import SECRET, ClustersHere
from users_here import UsersHere

from recveil.datasets import make_ratings
from recveil.methods.sparse.classes import fit_choices
from recveil.methods.sparse.item_choice import learn_embeddings
from recveil.ratings import Ratings, RatingScale
from recveil.spark.embeddings import ItemFactors
from recveil.spark.sparse import learn_preferences, learn_rule

STARS = RatingScale(1, 5, 1)
RATINGS = make_ratings(260, 50, 5_000, seed=3, scale=STARS)
KEPT = np.arange(50, dtype=np.int32), np.empty(0, np.int32)


@pytest.fixture(scope="module")
def chosen():
    return learn_preferences(UsersHere(RATINGS), RATINGS.support, np.random.default_rng(0))


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(0)
    offset = rng.uniform(2, 4, 50).astype(np.float32)
    return ItemFactors.of(offset, rng.normal(size=(50, 4)), STARS)


@pytest.fixture(scope="module")
def clusters(chosen, known):
    return ClustersHere(RATINGS, chosen, known, KEPT)


@pytest.fixture(scope="module")
def rule(clusters, chosen, known):
    return learn_rule(UsersHere(RATINGS), clusters, chosen, known, KEPT[0], SECRET)


@pytest.fixture(scope="module")
def own_cluster_of(clusters):
    """The cluster of each user, those of the second bin after those of the first."""
    labels, before = np.empty(RATINGS.n_users, np.int64), 0
    for found, members in zip(clusters.bins, clusters.members, strict=True):
        cluster_of_key = dict(zip(found.keys.tolist(), found.cluster_of.tolist(), strict=True))
        own = [before + cluster_of_key[key] for key in members["key"].to_pylist()]
        labels[members["number"].to_numpy()] = own
        before += found.sizes.size
    return labels


def test_embeddings_are_those_that_the_local_engine_learns(rule, clusters, chosen, own_cluster_of):
    places = chosen.embed(RATINGS)
    here = learn_embeddings(RATINGS, places, own_cluster_of, KEPT[0], RATINGS.activity)
    there = np.vstack([rule.embeddings_of(found).places for found in clusters.bins])
    assert np.allclose(there, here.places, atol=1e-4)
    assert np.allclose(rule.embeddings.within, here.within, atol=1e-4)
    assert np.isclose(rule.embeddings.activity_mean, here.activity_mean, atol=1e-4)
    assert np.isclose(rule.embeddings.activity_spread, here.activity_spread, atol=1e-4)
    assert np.allclose(rule.embeddings.slopes, here.slopes, atol=1e-3)


def test_choices_are_those_that_the_local_engine_fits(rule, clusters):
    found = [rule.choices(each) for each in clusters.bins]
    sizes = np.concatenate([each.class_sizes for each in clusters.bins])
    lengths = np.concatenate([each.lengths[:, 0] for each in clusters.bins])
    here = fit_choices(
        np.vstack([each.rows for each in found]),
        rule.embeddings.slopes,
        lengths,
        RATINGS.support.astype(float),
        sizes.astype(float),
    ).likely(slice(None))
    there = np.vstack([each.likely(slice(None)) for each in found])
    assert np.allclose(there, here, atol=2e-3)
    assert np.allclose(there.sum(axis=1), lengths, atol=0.01)
    assert np.allclose(sizes @ there, RATINGS.support, atol=0.05)
    assert np.array_equal(rule.choices(clusters.bins[0]).rows, found[0].rows)


def test_labels_are_as_far_apart_as_users(rule, clusters, known, own_cluster_of):
    """By the means of what `Padding` predicts, as the local engine has them."""
    factors = known.fit_users(RATINGS).astype(float)
    placed = known.padding(factors.astype(np.float32), STARS).coordinates().astype(float)
    sizes = np.bincount(own_cluster_of)
    sums = np.array([np.bincount(own_cluster_of, weights=one) for one in placed.T])
    apart = min(2.5, np.sqrt((placed**2).sum() / (sums**2 / sizes).sum()))
    means = (
        np.array([np.bincount(own_cluster_of, weights=one) for one in factors.T]).T / sizes[:, None]
    )
    middle = factors.mean(axis=0)
    there = np.vstack([rule.values(each, 50).of_clusters for each in clusters.bins])
    assert np.allclose(there, middle + apart * (means - middle), atol=1e-3)
    assert np.array_equal(rule.values(clusters.bins[0], 50).of_items, known.factors)


def test_tasks_change_no_bit(rule, clusters, chosen, known):
    class Turned:
        def add_up(self, sums, *known):
            return sum(sums(found, *known) for found in clusters.bins[::-1])

    all_users = UsersHere(RATINGS, cut=200)
    again = learn_rule(all_users, Turned(), chosen, known, KEPT[0], SECRET)
    assert np.array_equal(again.of_items, rule.of_items)
    assert np.array_equal(again.embeddings.slopes, rule.embeddings.slopes)
    assert np.array_equal(again.embeddings.within, rule.embeddings.within)
    assert np.array_equal(again.stretched, rule.stretched)


def test_users_who_all_chose_the_same_are_no_error():
    users, items = np.divmod(np.arange(360), 6)
    equal = Ratings.from_columns(users, items, 1.0 + (users + items) % 5, scale=STARS)
    kept = np.arange(6, dtype=np.int32), np.empty(0, np.int32)
    all_users = UsersHere(equal)
    found = learn_preferences(all_users, equal.support, np.random.default_rng(0))
    bins = ClustersHere(equal, found, None, kept, cuts=(0,))
    rule = learn_rule(all_users, bins, found, None, kept[0], SECRET)
    assert np.isfinite(rule.embeddings.slopes).all()
    assert rule.choices(bins.bins[0]).likely(slice(None)).min() > 0.9
    assert rule.values(bins.bins[0], 6).offset.tolist() == [1] * 6
