"""In every bin, clusters have twenty users and classes k; no statistic is of one user."""

import numpy as np
import pyarrow as pa
from clusters_here import SECRET, ClustersHere, bin_of
from hypothesis import given, settings
from hypothesis import strategies as st
from users_here import UsersHere

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods.rare_items import activity_on
from recveil.ratings import RatingScale
from recveil.spark.sparse import ClusterTable, _gathered, learn_preferences

STARS = RatingScale(1, 5, 1)
RATINGS = make_ratings(260, 50, 4_000, seed=3, scale=STARS)
KEPT = np.arange(45, dtype=np.int32), np.arange(45, 50, dtype=np.int32)
CHOSEN = learn_preferences(UsersHere(RATINGS), RATINGS.support, np.random.default_rng(0))


def gathered(first, last, k=5, least=20, number=3, secret=SECRET):
    table = bin_of(RATINGS, number, first, last)
    return _gathered(table, STARS, CHOSEN, None, KEPT, k, least, secret, 4)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(60, 260), k=st.integers(2, 60), cluster=st.integers(20, 60))
def test_every_class_has_k_and_every_cluster_twenty(n, k, cluster):
    found = gathered(0, n, k, max(k, cluster))
    members, clusters = found.slice(0, n), ClusterTable.unpacked(found["clusters"][n].as_py())
    assert members["clusters"].null_count == n
    keys, sizes = np.unique(members["key"].to_numpy(), return_counts=True)
    assert sizes.min() >= k
    assert clusters.sizes.min() >= max(k, cluster)
    assert clusters.sizes.sum() == clusters.class_sizes.sum() == n
    order = np.argsort(clusters.keys)
    assert np.array_equal(clusters.keys[order], keys)
    assert np.array_equal(clusters.class_sizes[order], sizes)
    assert sorted(members["number"].to_pylist()) == list(range(n))
    parts = members["part"].to_numpy()
    assert (np.diff(parts[np.argsort(members["key"].to_numpy())]) >= 0).all()


def test_statistics_of_clusters_add_up():
    clusters = ClusterTable.unpacked(gathered(0, 260)["clusters"][-1].as_py())
    counts = clusters.counted(45).toarray()
    assert np.array_equal(counts.sum(axis=0), RATINGS.support[:45])
    places = CHOSEN.embed(RATINGS)
    assert np.allclose(clusters.sizes @ clusters.places, places.sum(axis=0), atol=1e-3)
    activity = activity_on(RATINGS, KEPT)
    assert np.allclose(clusters.class_sizes @ clusters.lengths, activity.sum(axis=0))
    logs = np.log(np.maximum(activity[:, 0], 1)).sum()
    assert np.isclose(clusters.sizes @ np.log(clusters.usual), logs)
    assert clusters.factors.shape == (clusters.sizes.size, 0)


def test_the_order_of_rows_changes_nothing_and_the_secret_does():
    table = bin_of(RATINGS, 3, 0, 120)
    turned = table.take(pa.array(np.arange(120)[::-1]))
    one, again, other = (
        _gathered(each, STARS, CHOSEN, None, KEPT, 5, 20, secret, 4)
        for each, secret in ((table, SECRET), (turned, SECRET), (table, (1, 3)))
    )
    assert one.slice(0, 120).equals(again.slice(0, 120))
    result = [ClusterTable.unpacked(each["clusters"][-1].as_py()) for each in (one, again)]
    for here, there in zip(*result, strict=True):
        assert np.array_equal(here, there)
    assert not one["key"].equals(other["key"])


def test_sums_are_those_of_all_bins():
    bins = ClustersHere(RATINGS, CHOSEN, None, KEPT, cuts=(0, 80, 170))
    assert bins.add_up(lambda clusters: clusters.sizes.sum()) == 260
    assert [int(clusters.number) for clusters in bins.bins] == [0, 1, 2]


def test_too_few_users_for_a_cluster_are_an_error():
    with raises("internal.fault") as caught:
        gathered(0, 19)
    assert "19 users" in str(caught.value)
