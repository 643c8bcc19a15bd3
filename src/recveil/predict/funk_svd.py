"""Matrix factorization by stochastic gradient descent, with or without biases."""

from concurrent.futures import Executor
from typing import Any, NamedTuple, Self

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from recveil.predict.padding import LatentPredictor, Padding
from recveil.ratings import Ratings
from recveil.runtime.compiled import compiled
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import pool

# From so many ratings on, a pass is shared out; before, sharing would cost more than it saves.
_MIN_SHARED_RATINGS = 1 << 19
_PARTS = 4


class FunkSVD(LatentPredictor):
    """Predict ``mean + user bias + item bias + user factors · item factors``.

    Without biases, predict ``user factors · item factors`` alone.

    Learning happens on ratings shifted and scaled to the width of a 1-to-5 scale, so that the
    same settings serve every scale.

    Parameters
    ----------
    rank : int
        Number of factors.
    n_epochs : int
        Passes over the ratings (for each factor, if `sequential`).
    learning_rate : float
        Step size of the first pass; each later pass takes `decay` times the one before.
    decay : float
        In (0, 1].
    regularization, bias_regularization : float
        Pull of factors and biases towards zero.
    sequential : bool
        Train one factor at a time, as Funk and the papers did, instead of all together.
    biases : bool
        Whether to learn the mean and the biases. Without them, the prediction is that of Chang et
        al., section 4.1, ``r = u · o``; the factors start so that it is the mean rating, and users
        and items without ratings get the mean factors of the others.
    seed : int
        Fixes the starting factors and the order of the users; the result does not depend on the
        number of threads.

    Notes
    -----
    Source: Simon Funk 2006, as used by Chang et al., section 4.1, and the thesis, section 3.1.
    Each pass visits the users in a new random order, and a user's ratings in order of items.
    Beyond half a million ratings a pass is made in four rounds: users and items are cut into four
    parts each, and in a round every part of the users learns from its own part of the items. No two
    threads ever touch the same factors, so that the result is that of one thread after another.
    (Gemulla et al. 2011 do this on a cluster.)

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2, 2], ["a", "b", "a", "b"], [5, 3, 3, 1])
    >>> predictor = FunkSVD(rank=1).fit(ratings)
    >>> predictor.predict([0, 1], [0, 1]).round()
    array([4., 2.], dtype=float32)
    """

    def __init__(
        self,
        rank: int = 50,
        n_epochs: int = 30,
        learning_rate: float = 0.03,
        decay: float = 0.93,
        regularization: float = 0.08,
        bias_regularization: float = 0.02,
        *,
        sequential: bool = False,
        biases: bool = True,
        seed: int = 0,
    ) -> None:
        self.rank = rank
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.decay = decay
        self.regularization = regularization
        self.bias_regularization = bias_regularization
        self.sequential = sequential
        self.biases = biases
        self.seed = seed

    def fit(self, ratings: Ratings) -> Self:
        """Learn biases and factors.

        Raises
        ------
        RecveilError
            If there are no ratings, or learning diverges.
        """
        if ratings.n_ratings == 0:
            raise RecveilError(
                "there are no ratings to learn from; expected at least one",
                code="table.no-ratings",
            )
        rng = np.random.default_rng(self.seed)
        # Small numbers of either sign: zeros would never move, large ones would drown the data.
        spread = np.float32(0.3 / np.sqrt(max(1, self.rank)))
        sizes = ratings.n_users, ratings.n_items
        users, items = (
            spread * rng.standard_normal((n, self.rank), dtype=np.float32) for n in sizes
        )
        model = _Model(
            user_bias=np.zeros(ratings.n_users, np.float32),
            item_bias=np.zeros(ratings.n_items, np.float32),
            user_factors=users,
            item_factors=items,
        )
        mean = float(ratings.values.mean(dtype=np.float64))
        unit = ratings.scale.range / 4 or 1.0
        if not self.biases:
            start = np.float32(np.sqrt(abs(mean) / unit / max(1, self.rank)))
            users += start
            items += start if mean > 0 else -start
            mean = 0.0
        idle_users, idle_items = ratings.activity == 0, ratings.support == 0
        # Factors of users without ratings would stay random; zero predicts the biases alone.
        users[idle_users], items[idle_items] = 0, 0
        values = (ratings.values - np.float32(mean)) / np.float32(unit)
        table = _Table(ratings.indptr, ratings.indices, values)
        if self.sequential:
            self._fit_sequentially(table, model, rng)
        else:
            self._fit_together(table, model, rng, "Learning factors")
        if not all(np.isfinite(array).all() for array in model):
            raise RecveilError(
                f"FunkSVD: learning diverged at learning_rate={self.learning_rate:g}; lower it",
                code="argument.value",
            )
        if not self.biases:
            for factors, idle in ((users, idle_users), (items, idle_items)):
                factors[idle] = factors[~idle].mean(axis=0)
        # The user bias is one more factor, with weight 1 for every item.
        ones = np.ones((ratings.n_items, 1), np.float32)
        self.padding_ = Padding(
            user_factors=np.hstack([model.user_factors, model.user_bias[:, None]]),
            item_factors=np.hstack([model.item_factors, ones]) * np.float32(unit),
            item_offset=(mean + unit * model.item_bias).astype(np.float32),
            scale=ratings.scale,
        )
        return self

    def _fit_together(
        self, table: "_Table", model: "_Model", rng: np.random.Generator, title: str
    ) -> None:
        n_parts = 1 if table.indices.size < _MIN_SHARED_RATINGS else _PARTS
        bounds = _part_bounds(table.indptr, table.indices, model.item_bias.size, n_parts)
        with pool(min(n_parts, get_num_threads())) as workers:
            for epoch in track(range(self.n_epochs), title, share=0.25):
                crews = np.array_split(rng.permutation(table.indptr.size - 1), n_parts)
                _pass_once(workers, crews, bounds, table, model, self._steps(epoch))

    def _fit_sequentially(self, table: "_Table", model: "_Model", rng: np.random.Generator) -> None:
        indptr, indices, values = table
        user_bias, item_bias, user_factors, item_factors = model
        biases = _Model(user_bias, item_bias, user_factors[:, :0], item_factors[:, :0])
        if self.biases:
            self._fit_together(table, biases, rng, "Learning biases")
        users = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
        left = values - user_bias[users] - item_bias[indices]
        for factor in track(range(self.rank), "Learning factors one by one", share=0.4):
            of_users = np.ascontiguousarray(user_factors[:, factor])
            of_items = np.ascontiguousarray(item_factors[:, factor])
            for epoch in range(self.n_epochs):
                order = rng.permutation(indptr.size - 1)
                steps = self._steps(epoch)
                rate, pull = steps.rate, steps.pull
                _learn_one(order, indptr, indices, left, of_users, of_items, rate, pull)
            left -= of_users[users] * of_items[indices]
            user_factors[:, factor], item_factors[:, factor] = of_users, of_items

    def _steps(self, epoch: int) -> "_Steps":
        rate = np.float32(self.learning_rate * self.decay**epoch)
        return _Steps(
            rate,
            rate if self.biases else np.float32(0),
            np.float32(self.regularization),
            np.float32(self.bias_regularization),
        )


@brief
class _Table(NamedTuple):
    """The ratings, shifted and scaled."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]


@brief
class _Model(NamedTuple):
    """The parameters, which the kernels change in place."""

    user_bias: NDArray[np.float32]
    item_bias: NDArray[np.float32]
    user_factors: NDArray[np.float32]
    item_factors: NDArray[np.float32]


@brief
class _Steps(NamedTuple):
    """Step sizes of a pass; float32, so that the kernels compute in it."""

    rate: np.float32
    bias_rate: np.float32
    pull: np.float32
    bias_pull: np.float32


def _pass_once(
    workers: Executor,
    crews: list[NDArray[Any]],
    bounds: NDArray[Any],
    table: _Table,
    model: _Model,
    steps: _Steps,
) -> None:
    """Let every crew of users learn from every part of the items, no two at once from the same."""

    def learn(crew: NDArray[Any], part: int) -> None:
        begins, ends = bounds[part], bounds[part + 1]
        _learn_together(crew, begins, ends, table.indices, table.values, *model, *steps)

    parts = list(range(len(crews)))
    for shift in parts:
        list(workers.map(learn, crews, parts[shift:] + parts[:shift]))


def _part_bounds(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], n_items: int, n_parts: int
) -> NDArray[np.int64]:
    """Split the items into parts with about equal numbers of ratings, shape (n_parts + 1, n_users).

    A user's ratings of part p are those from ``[p, user]`` to ``[p + 1, user]``.
    """
    up_to = np.cumsum(np.bincount(indices, minlength=n_items))
    cuts = np.searchsorted(up_to, np.arange(1, n_parts) * indices.size / n_parts) + 1
    bounds = np.empty((n_parts + 1, indptr.size - 1), np.int64)
    bounds[0], bounds[-1] = indptr[:-1], indptr[1:]
    _find_bounds(indptr, indices, cuts, bounds)
    return bounds


@compiled()
def _find_bounds(
    indptr: NDArray[Any], indices: NDArray[Any], cuts: NDArray[Any], bounds: NDArray[Any]
) -> None:
    """Find for each user where each part begins: at the first item that is not below its cut."""
    for user in range(indptr.size - 1):
        at = indptr[user]
        for part in range(cuts.size):
            while at < indptr[user + 1] and indices[at] < cuts[part]:
                at += 1
            bounds[part + 1, user] = at


@compiled(fastmath=True)
def _learn_together(
    order: NDArray[Any],
    begins: NDArray[Any],
    ends: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    user_bias: NDArray[Any],
    item_bias: NDArray[Any],
    user_factors: NDArray[Any],
    item_factors: NDArray[Any],
    rate: np.float32,
    bias_rate: np.float32,
    pull: np.float32,
    bias_pull: np.float32,
) -> None:
    """Pass once over the users' ratings and move biases and factors against the error."""
    rank = user_factors.shape[1]
    for user in order:
        for at in range(begins[user], ends[user]):
            item = indices[at]
            predicted = user_bias[user] + item_bias[item]
            for f in range(rank):
                predicted += user_factors[user, f] * item_factors[item, f]
            error = values[at] - predicted
            user_bias[user] += bias_rate * (error - bias_pull * user_bias[user])
            item_bias[item] += bias_rate * (error - bias_pull * item_bias[item])
            for f in range(rank):
                of_user, of_item = user_factors[user, f], item_factors[item, f]
                user_factors[user, f] += rate * (error * of_item - pull * of_user)
                item_factors[item, f] += rate * (error * of_user - pull * of_item)


@compiled(fastmath=True)
def _learn_one(
    order: NDArray[Any],
    indptr: NDArray[Any],
    indices: NDArray[Any],
    left: NDArray[Any],
    user_factor: NDArray[Any],
    item_factor: NDArray[Any],
    rate: np.float32,
    pull: np.float32,
) -> None:
    """Pass once over what the earlier factors left unexplained and move one factor."""
    for user in order:
        for at in range(indptr[user], indptr[user + 1]):
            item = indices[at]
            of_user, of_item = user_factor[user], item_factor[item]
            error = left[at] - of_user * of_item
            user_factor[user] += rate * (error * of_item - pull * of_user)
            item_factor[item] += rate * (error * of_user - pull * of_item)
