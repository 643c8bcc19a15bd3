"""Cost: what diversity took from the release."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.diversifying import AddedEdges, Coverage
from recveil.ratings import Ratings


class DiversityCost(NamedTuple):
    """What was added for the sake of diversity, and how far it moved the items' means.

    Attributes
    ----------
    labels : int
        Labels of groups before anything was added.
    added : int
        Labels that were added.
    harm : float
        Mean distance of an added label from its item's mean, in rating points; nan without any.
    pruned : bool
        False if the table was too large to take back what is not necessary.
    rmse_before, rmse_after : float
        Root mean squared error of the items' mean labels, each group counting once, against the
        real ratings.
    """

    labels: int
    added: int
    harm: float
    pruned: bool
    rmse_before: float
    rmse_after: float

    @classmethod
    def of(cls, ratings: Ratings, coverage: Coverage, edges: AddedEdges) -> Self:
        """Compare the items' means before and after.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> ratings = Ratings.from_columns([1, 2], ["a", "a"], [2, 4])
        >>> coverage = Coverage(csr_array([[1], [0]]), np.array([3.0]))
        >>> added = AddedEdges(csr_array([[0.0], [5.0]]), 2.0, 1, True)
        >>> cost = DiversityCost.of(ratings, coverage, added)
        >>> cost.added, cost.rmse_before, round(cost.rmse_after**2, 6)  # the mean is 4 then
        (1, 1.0, 2.0)
        """
        held = np.bincount(coverage.support.indices, minlength=ratings.n_items)
        new, items = edges.edges, edges.edges.indices
        means = np.nan_to_num(coverage.item_means)
        sums = means * held + np.bincount(items, weights=new.data, minlength=ratings.n_items)
        after = sums / np.maximum(held + np.bincount(items, minlength=ratings.n_items), 1)
        return cls(
            labels=int(coverage.support.nnz),
            added=int(new.nnz),
            harm=edges.harm,
            pruned=edges.pruned,
            rmse_before=_rmse(ratings, means),
            rmse_after=_rmse(ratings, after),
        )


def _rmse(ratings: Ratings, means: NDArray[np.float64]) -> float:
    off = means[ratings.indices] - ratings.values
    return float(np.sqrt(np.mean(off**2)))
