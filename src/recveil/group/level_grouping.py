"""What groupings share that take a level for each row: how many it wants its group to be."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.errors import RecveilError, describe_count
from recveil.group.clusterer import Grouping


class LevelGrouping(Grouping):
    """A clusterer in which every row sits in a group at least as large as its own level.

    Source: Chen 2012 (thesis), section 5.1, Definition 1. Subclasses say how: they store their
    parameters and implement `_group_by_levels`.

    Attributes
    ----------
    labels_ : ndarray of int64, shape (n_samples,)
        The group of each row. Groups are numbered 0, 1, ... in order of their lowest member.
    n_groups_ : int
        How many groups there are.
    """

    def fit(self, X: ArrayLike, y: object = None, levels: ArrayLike | None = None) -> Self:
        """Group the rows of X.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            One row a user. Distances between rows are Euclidean, so columns should share a unit.
        y : None
            Ignored; here because scikit-learn's pipelines pass it.
        levels : array-like of int, shape (n_samples,), optional
            The least size of the group of each row, 1 to n_samples; `min_size` for all if not
            given.

        Returns
        -------
        self
            With `labels_` and `n_groups_`.

        Raises
        ------
        RecveilError
            If a parameter makes no sense, or a level is not a whole number from 1 to n_samples.
        ValueError
            If X is not a finite matrix of numbers.
        """
        if levels is None:
            return super().fit(X, y)
        rows = self._checked_rows(X)
        own_levels = checked_levels(levels, len(rows))
        return self._fit_rows(
            rows, lambda fitting, rng: self._group_by_levels(fitting, own_levels, rng)
        )

    def _group(self, X: NDArray[np.float32], rng: np.random.Generator) -> NDArray[Any]:
        return self._group_by_levels(X, np.full(len(X), self.min_size, dtype=np.int64), rng)

    @abstractmethod
    def _group_by_levels(
        self, X: NDArray[np.float32], levels: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[Any]:
        """Return any distinct numbers for the groups, each as large as its highest level."""


def checked_levels(levels: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Return levels as int64, shape (n_rows,), or raise a RecveilError that names the first bad.

    Examples
    --------
    >>> checked_levels([1, 3, 2], 3)
    array([1, 3, 2])
    >>> checked_levels([1, 4, 2], 3)
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: levels: row 1 asks for a group of 4, but there are 3 rows; ...
    """
    given = np.asarray(levels)
    if given.shape != (n_rows,):
        raise RecveilError(
            f"levels: expected one for each of "
            f"{describe_count(n_rows, 'row')}, got shape {given.shape}",
            code="argument.shape",
        )
    if given.dtype.kind not in "iu":
        raise RecveilError(
            f"levels: expected whole numbers, got {given.dtype}; round or convert",
            code="argument.type",
        )
    for bad, wish in ((given < 1, "1 or more"), (given > n_rows, "")):
        if bad.any():
            row = int(np.argmax(bad))
            if wish:
                raise RecveilError(
                    f"levels: row {row} has {given[row]}; expected {wish}", code="level.value"
                )
            raise RecveilError(
                f"levels: row {row} asks for a group of {given[row]}, but there are {n_rows} "
                f"rows; lower it, or add users",
                code="level.value",
            )
    return given.astype(np.int64)
