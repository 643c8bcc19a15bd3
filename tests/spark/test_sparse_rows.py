"""Rows of classes are as long, and items as frequent, as they shall be, with predicted labels."""

import numpy as np
import pytest
from clusters_here import SECRET, ClustersHere
from users_here import UsersHere

from recveil.datasets import make_ratings
from recveil.ratings import RatingScale
from recveil.spark.embeddings import ItemFactors
from recveil.spark.sparse import learn_preferences, learn_rule, rows_of_bin

STARS = RatingScale(1, 5, 1)
RATINGS = make_ratings(260, 60, 5_000, seed=3, scale=STARS)
# Ten items of the tail are dealt by their counts, and two are left out.
_BY_SUPPORT = np.argsort(-RATINGS.support, kind="stable").astype(np.int32)
KEPT = np.sort(_BY_SUPPORT[:48]), np.sort(_BY_SUPPORT[48:58])


@pytest.fixture(scope="module", params=["ratings", "likes"])
def made(request):
    users, known = UsersHere(RATINGS), None
    if request.param == "ratings":
        rng = np.random.default_rng(0)
        offset = rng.uniform(2, 4, 60).astype(np.float32)
        known = ItemFactors.of(offset, 0.3 * rng.normal(size=(60, 4)), STARS)
    chosen = learn_preferences(users, RATINGS.support, np.random.default_rng(0))
    clusters = ClustersHere(RATINGS, chosen, known, KEPT)
    return clusters, learn_rule(users, clusters, chosen, known, KEPT[0], SECRET)


def rows_of(clusters, rule):
    """Key, users, items and labels of each class of each bin."""
    return [
        [
            row
            for batch in rows_of_bin(found, rule, KEPT, RATINGS.support, STARS, 0.1, 4)
            for row in batch.to_pylist()
        ]
        for found in clusters.bins
    ]


def test_each_class_has_one_row(made):
    clusters, rule = made
    for found, rows in zip(clusters.bins, rows_of(clusters, rule), strict=True):
        assert [row["key"] for row in rows] == found.keys.tolist()
        assert [row["users"] for row in rows] == found.class_sizes.tolist()
        for row in rows:
            assert row["items"] == sorted(set(row["items"]))
            assert len(row["items"]) == len(row["values"]) > 0


def test_items_stand_in_as_many_rows_as_they_shall(made):
    clusters, rule = made
    for found, rows in zip(clusters.bins, rows_of(clusters, rule), strict=True):
        counts = np.bincount([item for row in rows for item in row["items"]], minlength=60)
        expected = rule.choices(found).likely(slice(None)).sum(axis=0)
        assert (np.abs(counts[KEPT[0]] - expected) < 1.01).all()
        of_rare = found.lengths[:, 1]
        share = of_rare @ found.class_sizes / RATINGS.support[KEPT[1]].sum()
        rare = RATINGS.support[KEPT[1]] * share * of_rare.sum() / (of_rare @ found.class_sizes)
        assert (np.abs(counts[KEPT[1]] - rare) < 1.01).all()
        assert not counts[_BY_SUPPORT[58:]].any()


def test_labels_are_those_of_the_cluster(made):
    clusters, rule = made
    found, rows = clusters.bins[0], rows_of(clusters, rule)[0]
    labels = rule.values(found, 60)
    for row, cluster in zip(rows, found.cluster_of, strict=True):
        exact = labels.offset + labels.of_clusters[cluster] @ labels.of_items.T.astype(float)
        expected = STARS.round(exact[row["items"]], 0.1)
        assert np.allclose(row["values"], expected, atol=0.1001)  # a hair decides how to round
        assert np.mean(np.isclose(row["values"], expected)) > 0.9


def test_a_bin_whose_users_rated_nothing_rare_has_none(made):
    clusters, rule = made
    found = clusters.bins[0]
    without = found._replace(
        lengths=np.column_stack([found.lengths[:, 0], 0 * found.lengths[:, 1]])
    )
    batches = rows_of_bin(without, rule, KEPT, RATINGS.support, STARS, 0.1, 4)
    items = {item for batch in batches for row in batch["items"].to_pylist() for item in row}
    assert items
    assert not items & set(KEPT[1].tolist())
