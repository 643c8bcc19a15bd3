"""Carry-over: whether what is better on the release is better on the raw data, too."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from recveil.errors import RecveilError
from recveil.evaluate.recipient import Utility


class CarryOver(NamedTuple):
    """How alike the recommenders are ordered by what they learn from raw data and from a release.

    Attributes
    ----------
    by_rmse, by_ndcg : tuple of str
        Names of the recommenders that were ordered; by RMSE only those that predict ratings.
    tau_rmse, tau_ndcg : float
        Kendall's tau-b of the two orders: 1 for the same, -1 for the opposite; nan if all are
        equally good on one side.
    """

    by_rmse: tuple[str, ...]
    by_ndcg: tuple[str, ...]
    tau_rmse: float
    tau_ndcg: float


def carry_over(raw: Mapping[str, Utility], release: Mapping[str, Utility]) -> CarryOver:
    """Compare the order of recommenders, each learning from raw data and from a release.

    Parameters
    ----------
    raw, release : mapping of str to Utility
        The same recommenders' utilities on the same held-out ratings.

    Raises
    ------
    RecveilError
        If the recommenders are not the same.

    Examples
    --------
    >>> def utility(rmse, ndcg):
    ...     return Utility(rmse, rmse, ndcg, ndcg, 1.0, 10, 5, 5, 0, (), rmse)
    >>> raw = {"a": utility(0.9, 0.3), "b": utility(1.0, 0.2), "c": utility(1.1, 0.1)}
    >>> release = {"a": utility(0.9, 0.3), "b": utility(1.2, 0.2), "c": utility(1.1, 0.1)}
    >>> carry_over(raw, release).tau_ndcg
    1.0
    """
    if set(raw) != set(release):
        raise RecveilError(
            f"recommenders {sorted(raw)} on the raw data, but {sorted(release)} on the release; "
            f"expected the same ones",
            code="argument.value",
        )
    by_rmse = tuple(n for n in raw if not np.isnan([raw[n].rmse, release[n].rmse]).any())
    by_ndcg = tuple(n for n in raw if not np.isnan([raw[n].ndcg, release[n].ndcg]).any())
    errors = [[table[name].rmse for name in by_rmse] for table in (raw, release)]
    gains = [[table[name].ndcg for name in by_ndcg] for table in (raw, release)]
    return CarryOver(by_rmse, by_ndcg, kendall_tau(*errors), kendall_tau(*gains))


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float:
    """Return Kendall's tau-b of two lists of scores; nan if a list tells nothing apart.

    Scores that differ by less than 1e-9 are equal: rounding errors order nobody.

    Examples
    --------
    >>> kendall_tau([1, 2, 3], [1, 3, 2])  # two pairs agree, one does not
    0.33333333333333337
    """
    x, y = (_grid(scores) for scores in (first, second))
    if x.size < 2 or (x == x[0]).all() or (y == y[0]).all():
        return np.nan
    return float(stats.kendalltau(x, y).statistic)


def _grid(scores: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(np.round(np.asarray(scores, np.float64), 9), np.float64)
