"""Membership inference from sums of one vector per user, with normal noise of known deviation."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from recveil.attacks.membership.shadow_models import MEMBER_VARIANCE, leave_targets_out
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]


@brief
class SumProducts(NamedTuple):
    """Products of users' vectors with each other and a noisy sum, in variances of its noise."""

    # Those of several sums with independent noise add up.
    # Of any two users, shape (n_users, n_users)
    users: Numbers
    # Of each user and the sum less its expectation
    sums: Numbers
    # The same of what is known of each target, shapes (n_targets, n_users) and (n_targets,)
    known: Numbers
    known_sums: Numbers
    # Of what is known of a target with itself
    squares: Numbers

    @classmethod
    def of(cls, users: Any, known: Any, off: Numbers, *, is_symmetric: bool) -> "SumProducts":
        """Return the products; with `is_symmetric`, each user adds ``v v'`` for their vector v."""
        squares = np.asarray((known * known).sum(axis=1)).ravel()
        if is_symmetric:
            sums, known_sums = (((rows @ off) * rows).sum(axis=1) for rows in (users, known))
            return cls((users @ users.T) ** 2, sums, (known @ users.T) ** 2, known_sums, squares**2)
        off = off.ravel()
        return cls(_dense(users, users), users @ off, _dense(known, users), known @ off, squares)


def _dense(rows: Any, others: Any) -> Numbers:
    products: Any = rows @ others.T
    return products if isinstance(products, np.ndarray) else np.asarray(products.toarray())


def log_odds_by_sums(
    parts: Sequence[SumProducts], targets: NDArray[np.int64], n_all: int
) -> Numbers:
    """Return the log-odds that each target is in a release of a random half of `n_all` users."""
    # The best test of two normal distributions (Neyman & Pearson 1933). The sums y, less their
    # expectation, have the covariance S = p (1 - p) A'A + I for the vectors A of all users, each a
    # member with p = 1/2. A target with vector x adds x: the log-odds are x' S^-1 (y - x / 2), with
    # S and y without the target. Products of users are enough (Woodbury). If `parts` have some of
    # the users, A'A is scaled. `targets` are their positions in `parts`.
    users, fits, known, known_fits, squares = (sum(part) for part in zip(*parts, strict=True))
    weight = MEMBER_VARIANCE * n_all / len(users)
    rows, place = users[targets], np.arange(targets.size)
    factor = linalg.cho_factor(weight * users + np.eye(len(users)))
    of_fits, of_rows, of_known = np.split(
        linalg.cho_solve(factor, np.vstack([fits, rows, known]).T).T, [1, 1 + targets.size]
    )
    fit, row_fit = (
        known_fits - weight * known @ of_fits[0],
        fits[targets] - weight * rows @ of_fits[0],
    )
    square = rows[place, targets] - weight * (rows * of_rows).sum(axis=1)
    cross = known[place, targets] - weight * (known * of_rows).sum(axis=1)
    length = squares - weight * (known * of_known).sum(axis=1)
    evidence = leave_targets_out(fit, row_fit, cross, square)
    # What is left of the length if the target's row is left out, too
    return np.asarray(evidence - leave_targets_out(length, cross, cross, square, 0.0) / 2)
