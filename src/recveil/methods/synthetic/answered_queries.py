"""The queries behind published answers: what each user adds to them, for attacks."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks.membership.inference import only
from recveil.methods.synthetic.bounded_sums import centred_vectors, moments
from recveil.methods.synthetic.periods import ask_dates
from recveil.methods.synthetic.sum_queries import Public, ask_activity, measure, measure_likes
from recveil.ratings import Ratings, RatingScale
from recveil.release.noisy_answers import ITEMS, array_name
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]


@brief
class AnsweredQuery(NamedTuple):
    """A query with its published answer; each user adds one vector."""

    sums: Callable[..., NDArray[np.int64]]
    # Its arguments after the ratings, which follow from earlier answers
    known: tuple[Any, ...]
    # The noisy answer, and the exact sum over all users
    answer: Numbers
    total: Numbers
    grid: float
    sigma: float
    # The rows of the sum that are published
    rows: NDArray[np.int64] | slice = slice(None)

    @property
    def is_symmetric(self) -> bool:
        """Whether each user adds the outer product of their vector."""
        return self.sums is moments

    @property
    def off(self) -> Numbers:
        """The answer less half of all users, in standard deviations of the noise."""
        return np.asarray((self.answer - self.total / 2) / self.sigma)

    def vectors(self, ratings: Ratings) -> Any:
        """Return each user's vector, in standard deviations of the noise."""
        if self.is_symmetric:
            return centred_vectors(ratings, *self.known) / np.sqrt(self.sigma)
        each = [
            sparse.csr_array(self.sums(only(ratings, user), *self.known)[self.rows].reshape(1, -1))
            for user in np.arange(ratings.n_users)[:, None]
        ]
        return sparse.vstack(each, format="csr") * (self.grid / self.sigma)


class _Table:
    def __init__(self, ratings: Ratings) -> None:
        self._ratings = ratings
        self.question: tuple[Any, ...] = ()

    @property
    def scale(self) -> RatingScale:
        return self._ratings.scale

    @property
    def n_items(self) -> int:
        return self._ratings.n_items

    def add_up(self, sums: Callable[..., NDArray[np.int64]], *known: Any) -> NDArray[np.int64]:
        self.question = sums, known
        return sums(self._ratings, *known)


class _Published:
    def __init__(
        self,
        table: _Table,
        answers: Mapping[str, NDArray[Any]],
        sigmas: Mapping[str, float],
        rows: NDArray[np.int64],
    ) -> None:
        self._table, self._answers, self.sigmas = table, answers, sigmas
        self._rows = rows
        self.queries: list[AnsweredQuery] = []

    def measure(self, name: str, what: str, exact: NDArray[np.int64], grid: float) -> Numbers:
        del what
        answer = self._answers[array_name(name)]
        self._keep(name, answer, np.float64(grid) * exact, grid)
        return answer.copy()

    def measure_items(
        self, name: str, what: str, exact: NDArray[np.int64], grid: float, **_: Any
    ) -> tuple[NDArray[np.intp], Numbers]:
        del what
        order = np.argsort(self._rows)
        answer, rows = self._answers[array_name(name)][order], self._rows[order]
        self._keep(name, answer, np.float64(grid) * exact[rows], grid, rows)
        return rows, answer.copy()

    def measure_symmetric(
        self, name: str, what: str, exact: NDArray[np.int64], grid: float
    ) -> Numbers:
        del what
        above = np.zeros(exact.shape, np.float64)
        above[np.triu_indices(len(exact))] = self._answers[array_name(name)]
        answer, total = _mirrored(above), _mirrored(np.float64(grid) * exact)
        self._keep(name, answer, total, grid)
        return answer.copy()

    def _keep(
        self,
        name: str,
        answer: Numbers,
        total: Numbers,
        grid: float,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        sums, known = self._table.question
        sigma, places = self.sigmas[name], slice(None) if rows is None else rows
        self.queries.append(AnsweredQuery(sums, known, answer, total, grid, sigma, places))


def _mirrored(above: Numbers) -> Numbers:
    return np.asarray(np.triu(above) + np.triu(above, 1).T, np.float64)


def answered_queries(
    ratings: Ratings,
    answers: Mapping[str, NDArray[Any]],
    public: Public,
    sigmas: Mapping[str, float],
    settle: Callable[[float], tuple[Public, Mapping[str, float]]],
) -> list[AnsweredQuery]:
    """Return the queries of a release but `ratings by factor`, which has 1% of the budget."""
    place = {item: at for at, item in enumerate(ratings.items.astype(str).tolist())}
    rows = np.array([place[item] for item in answers[ITEMS].astype(str).tolist()])
    table = _Table(ratings)
    published = _Published(table, answers, sigmas, rows)
    users = ask_activity(table, published, public, sigmas)
    public, published.sigmas = settle(users[0])
    if ratings.scale.unary:
        choices = measure_likes(table, published, public, published.sigmas, users)
    else:
        choices = measure(table, published, public, published.sigmas, users).choices
    ask_dates(table, published, choices, public, published.sigmas)
    return published.queries
