"""The fill classifier: learns from a few known people which labels of a release are fills."""

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from recveil.attack.cell_features import Cells, Numbers, describe_cells
from recveil.errors import RecveilError

# The first look describes labels as they stand, each further one what is likely of the others.
_LOOKS = 2
# Parts of the known people: each part's labels are judged by what the others taught.
_PARTS = 4
# Tables of records times items are built; beyond so many cells they take too much memory.
MOST_CELLS = 1 << 25
# Labels that are judged at a time.
_BLOCK = 1 << 17


def too_large(cells: Cells) -> bool:
    """Tell whether the tables that the classifier builds would take too much memory."""
    return cells.candidates.n_records * cells.n_items > MOST_CELLS


def tell_fills(cells: Cells, records: NDArray[np.int64], is_real: NDArray[np.bool_]) -> Numbers:
    """Return how probably each label is a real rating, shape (n_labels,).

    Parameters
    ----------
    cells : Cells
        The published labels.
    records : ndarray of int64
        The records of the people whom the adversary knows, at least two different ones.
    is_real : ndarray of bool, shape (n_labels,)
        Which labels are real. Only those in `records` are looked at.

    Raises
    ------
    RecveilError
        If fewer than two people are known, or all that is known of them is real, or nothing is.

    Notes
    -----
    Gradient boosting on `describe_cells`, with trees of scikit-learn's, in two looks: the second
    one sees what the first found likely of the rest of the row, the item and the group. What is
    known of a person is never used to judge this very person's labels in between, so that the
    second look learns from figures that are as uncertain as everybody else's.

    Examples
    --------
    Item 0 and item 1 are rated 5 or 1; whoever did not rate one of them got a 3.

    >>> from recveil.attack.candidates import Candidates
    >>> from recveil.ratings import Ratings, RatingScale
    >>> rated = np.arange(200) % 4 == 0
    >>> values = np.where(rated, np.arange(200) // 4 % 2 * 4 + 1, 3)
    >>> table = Ratings.from_columns(np.arange(200) // 2, np.arange(200) % 2, values)
    >>> cells = Cells.of(Candidates.from_ratings(table), RatingScale(1, 5, 1))
    >>> is_real = cells.labels != 3
    >>> likely = tell_fills(cells, np.arange(50), is_real)
    >>> bool(likely[is_real].min() > likely[~is_real].max())
    True
    """
    people = np.unique(records)
    known = np.isin(cells.records, people)
    n_real = int(is_real[known].sum())
    if people.size < 2 or not 0 < n_real < known.sum():
        raise RecveilError(
            f"{people.size} known people have {n_real} real ones of {int(known.sum())} labels; "
            f"expected at least 2 people, with real labels and others",
            code="table.too-few-users",
        )
    seen = cells.first_look
    likely = _learn(seen, cells.records, people, is_real)
    for _ in range(1, _LOOKS):
        seen = np.column_stack([seen, describe_cells(cells, likely)])
        likely = _learn(seen, cells.records, people, is_real)
    return likely


def _learn(
    features: NDArray[np.float32],
    records: NDArray[np.int32],
    people: NDArray[np.int64],
    is_real: NDArray[np.bool_],
) -> Numbers:
    """Judge everybody by all known people, and each known person by the others."""
    known = np.isin(records, people)
    likely = judge(features[known], is_real[known], features)
    mixed = np.random.default_rng(0).permutation(people)
    for part in np.array_split(mixed, min(_PARTS, people.size)):
        own = np.isin(records, part)
        others = known & ~own
        likely[own] = judge(features[others], is_real[others], features[own])
    return likely


def judge(
    taught: NDArray[np.float32], is_real: NDArray[np.bool_], asked: NDArray[np.float32]
) -> Numbers:
    """Learn from some labels which are real, and say of others how probably they are.

    Parameters
    ----------
    taught : ndarray of float32, shape (n_taught, n_features)
    is_real : ndarray of bool, shape (n_taught,)
        If all are the same, so is every answer.
    asked : ndarray of float32, shape (n_asked, n_features)

    Examples
    --------
    >>> taught = np.repeat(np.array([[0.0], [1.0]], np.float32), 50, axis=0)
    >>> judge(taught, taught[:, 0] > 0, np.array([[0.0], [1.0]], np.float32)).round()
    array([0., 1.])
    """
    if is_real.all() or not is_real.any() or not len(asked):
        return np.full(len(asked), float(is_real.any()))
    trees = HistGradientBoostingClassifier(
        max_iter=50,
        learning_rate=0.2,
        max_leaf_nodes=15,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    # So little is learned at a time that threads would mostly wait for each other.
    with threadpool_limits(1, "openmp"):
        trees.fit(taught, is_real)
        # scikit-learn makes a copy of what is asked, of twice the size.
        blocks = (asked[start : start + _BLOCK] for start in range(0, len(asked), _BLOCK))
        return np.concatenate([trees.predict_proba(block)[:, 1] for block in blocks])
