"""All users are in a bin of at least k, and no bin is too large for one executor."""

import numpy as np
import pyarrow as pa
import pytest

from recveil.spark import embeddings
from recveil.spark.embeddings import EmbeddingBins, as_lists, as_matrix, find_bins, into_bins


@pytest.fixture
def small_bins(monkeypatch):
    monkeypatch.setattr(embeddings, "_A_BIN", 40)
    monkeypatch.setattr(embeddings, "_GROUPS_OF_A_BIN", 2)
    monkeypatch.setattr(embeddings, "_LEAST_OF_BIN", 4)


def placed(spark, places):
    places = np.asarray(places, np.float32)
    numbers = pa.array(np.arange(len(places)))
    return spark.createDataFrame(pa.table({"number": numbers, "place": as_lists(places)}))


def sizes_of(spark, places, k):
    frame = placed(spark, places).repartition(3)
    bins = find_bins(frame, len(places), k, np.random.default_rng(0))
    found = into_bins(frame, bins).toArrow()
    numbers = found["number"].to_numpy()
    assert sorted(numbers) == list(range(len(places)))
    assert np.allclose(as_matrix(found["place"]), np.asarray(places)[numbers])
    return bins, np.bincount(found["bin"].to_numpy())


def test_bins_of_fewer_than_k_are_dissolved(spark, small_bins):
    rng = np.random.default_rng(1)
    clusters = [rng.normal(size=(120, 2)), [[50.0, 50.0]] * 3, rng.normal(9, 1, size=(77, 2))]
    bins, sizes = sizes_of(spark, np.concatenate(clusters), k=5)
    assert len(bins.centres) > 1
    assert sizes.min() >= 5
    assert sizes.sum() == 200


def test_a_skewed_bin_is_split_even_of_users_who_are_equal(spark, small_bins):
    places = np.concatenate([np.zeros((900, 2)), np.random.default_rng(2).normal(5, 1, (60, 2))])
    bins, sizes = sizes_of(spark, places, k=5)
    assert bins.pieces.max() > 1
    assert sizes.max() < 160
    assert sizes[sizes > 0].min() >= 5


def test_few_users_are_one_bin(spark):
    bins, sizes = sizes_of(spark, np.random.default_rng(3).normal(size=(7, 2)), k=5)
    assert len(bins.centres) == 1
    assert sizes.tolist() == [7]


def test_pieces_are_of_users_not_of_an_order():
    bins = EmbeddingBins(np.zeros((1, 1), np.float32), np.array([5]), 123)
    for step in (1, 2, 5, 10, 64):
        numbers = np.arange(0, 4_000 * step, step)
        sizes = np.bincount(bins.of(numbers, np.zeros((4_000, 1), np.float32)), minlength=5)
        assert sizes.min() > 600
