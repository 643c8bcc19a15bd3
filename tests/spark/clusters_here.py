"""Clusters of one process, in the stand of those among executors."""

import numpy as np
import pyarrow as pa

from recveil.spark.sparse import ClusterTable, _gathered

SECRET = (1, 2)


def bin_of(ratings, number, first, last):
    """Some users as they come into a bin, in no order."""
    offsets = pa.array(ratings.indptr.astype(np.int32))
    lists = {
        "items": pa.ListArray.from_arrays(offsets, pa.array(ratings.indices, pa.int32())),
        "ratings": pa.ListArray.from_arrays(offsets, pa.array(ratings.values, pa.float32())),
    }
    numbers = pa.array(np.arange(ratings.n_users))
    whole = pa.table({"bin": pa.array([number] * ratings.n_users), "number": numbers, **lists})
    order = np.random.default_rng(number).permutation(np.arange(first, last))
    return whole.take(pa.array(order))


class ClustersHere:
    """What is asked of `DistributedClusters`: sums over bins; and who is in which class of
    which."""

    def __init__(self, ratings, chosen, known, kept, k=5, least=20, cuts=(0, 100)):
        self.bins, self.members = [], []
        for number, (first, last) in enumerate(
            zip(cuts, [*cuts[1:], ratings.n_users], strict=True)
        ):
            given = bin_of(ratings, number, first, last)
            found = _gathered(given, ratings.scale, chosen, known, kept, k, least, SECRET, 4)
            self.members.append(found.slice(0, found.num_rows - 1))
            self.bins.append(ClusterTable.unpacked(found["clusters"][-1].as_py()))

    def add_up(self, sums, *known):
        return sum(sums(clusters, *known) for clusters in self.bins)
