"""Shadow scores: how well somebody fits a release, in many ways, to be held against other releases.

A score by itself says little: whoever likes what most people like fits every release. What tells is
how it differs between releases that somebody is in and releases that they are not in; see
`recveil.attack.likelihood_ratio`. So each score here may be anything, if being in a release moves
it.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from recveil.attack.adversary import Adversary
from recveil.attack.knowledge import Knowledge
from recveil.attack.members import SCORERS
from recveil.attack.released import ReleasedTable
from recveil.brief import brief
from recveil.ratings import RatingScale

Numbers = NDArray[np.float64]
Rows = sparse.csr_array

# Products of items are looked at for the most popular ones: so many.
_MOST_ITEMS = 2_000
# What is believed of popularity before any release is seen, as a variance.
_DOUBT = (0.0003, 0.003, 0.03)
# How much is added to the variance of each direction of taste, in their mean variance.
_DAMPING = (0.3, 3.0, 30.0, 300.0)
# By this one of them rows are compared one by one.
_OF_ROWS = 3.0
# What an item that was rated and not liked counts beside one that was liked.
_RATED = 0.4
# Of a row that fits so much better than is usual, more is not counted.
_STEEPEST = 30.0


@brief
class Population(NamedTuple):
    """What everybody's ratings are like, as two releases of one half of the people each tell.

    Everybody is in one of the two, so that it says of nobody whether they are in a third.

    Attributes
    ----------
    shares : ndarray of float64, shape (n_items,)
        The share of the people whose row has a label of the item.
    means : ndarray of float64, shape (n_items,)
        The mean label; that of all items where there is none.
    mean : float
        Of all labels.
    chosen : ndarray of int64, shape (n_chosen,)
        The items whose products are looked at: the most popular ones.
    products : dict of str to ndarray of float64, shape (n_chosen, n_chosen)
        For each of `KINDS`, the mean over people of the products of any two items.
    """

    shares: Numbers
    means: Numbers
    mean: float
    chosen: NDArray[np.int64]
    products: dict[str, Numbers]


def learn_population(pair: Sequence[ReleasedTable]) -> Population:
    """Learn what people are like from releases that hold everybody together.

    Parameters
    ----------
    pair : sequence of ReleasedTable
        Each person is in as many of them as any other.

    Examples
    --------
    >>> from recveil.anonymize import RawRelease
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> table = ReleasedTable.from_release(RawRelease().anonymize(ratings), ratings)
    >>> people = learn_population([table])
    >>> bool(np.allclose(people.shares, ratings.support / 50))
    True
    """
    n_people = float(sum(table.candidates.sizes.sum() for table in pair))
    carried = np.sum([_sums(table, labels=False) for table in pair], axis=0)
    total = np.sum([_sums(table, labels=True) for table in pair], axis=0)
    mean = float(total.sum() / max(carried.sum(), 1.0))
    means = np.divide(total, carried, out=np.full(len(carried), mean), where=carried > 0)
    able = np.flatnonzero(carried)
    chosen = np.sort(able[np.argsort(-carried[able], kind="stable")[:_MOST_ITEMS]])
    blank = Population(carried / n_people, means, mean, chosen, {})
    products = {}
    for kind, make in KINDS.items():
        products[kind] = np.zeros((chosen.size, chosen.size))
        for table in pair:
            rows = make(_rows(table), blank)
            weighted = sparse.csr_array(rows.multiply(table.candidates.sizes[:, None]))
            products[kind] += (rows.T @ weighted).toarray() / n_people
    return blank._replace(products=products)


class ShadowScorer:
    """Scores people, of whom something is known, by how well they fit releases.

    Parameters
    ----------
    population : Population
    known : Knowledge
        With ratings.
    adversary : Adversary
        Who knows that.
    scale : RatingScale

    Examples
    --------
    >>> from recveil.anonymize import RawRelease
    >>> from recveil.attack.knowledge import know_everything
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> table = ReleasedTable.from_release(RawRelease().anonymize(ratings), ratings)
    >>> known = know_everything(ratings, np.arange(20))
    >>> scorer = ShadowScorer(learn_population([table]), known, Adversary(), ratings.scale)
    >>> {scores.shape for scores in scorer.score(table).values()}
    {(20,)}
    """

    def __init__(
        self,
        population: Population,
        known: Knowledge,
        adversary: Adversary,
        scale: RatingScale,
    ) -> None:
        self._population, self._known = population, known
        self._adversary, self._scale = adversary, scale
        shape = (known.targets.size, population.shares.size)
        values = population.means[known.items] if known.values is None else known.values
        self._own = Rows((np.asarray(values, np.float64), known.items, known.indptr), shape=shape)
        self._has = Rows((np.ones(known.items.size), known.items, known.indptr), shape=shape)
        self._tests = dict(self._make_tests())

    def score(self, table: ReleasedTable) -> dict[str, Numbers]:
        """Score everybody by one release, in all ways; higher is a better fit.

        Returns
        -------
        dict of str to ndarray of float64, shape (n_targets,)
        """
        scores = self._by_sums(table)
        rows = {kind: make(_rows(table), self._population) for kind, make in KINDS.items()}
        for (kind, damping), test in self._tests.items():
            scores |= _fit_rows(f"{kind}, damped by {damping:g}", rows[kind], table, test)
            if damping == _OF_ROWS:
                scores |= _nearest(kind, rows[kind], test)
        for name, scorer in SCORERS.items():
            told = scorer(table.candidates, self._adversary, self._known, self._scale)
            scores |= {f"{name} {place}": found for place, found in enumerate(told)}
        return scores

    def by_counts(self, counts: Numbers, shares: Numbers, n_people: int) -> dict[str, Numbers]:
        """Score everybody by how many people rated each item, and nothing else.

        Parameters
        ----------
        counts : ndarray of float64, shape (n_items,)
        shares : ndarray of float64, shape (n_items,)
            What share of all people rated it.
        n_people : int
            Behind the counts.
        """
        n_known = np.maximum(np.diff(self._own.indptr), 1)
        return {
            f"counts, doubt {doubt:g}": self._has
            @ (counts / n_people / (shares * (1 - shares) + doubt))
            / n_known
            for doubt in _DOUBT
        }

    def _by_sums(self, table: ReleasedTable) -> dict[str, Numbers]:
        """Score by each item's number and sum of labels, weighted by how rare it is."""
        people, n = self._population, int(table.candidates.sizes.sum())
        counts, totals = _sums(table, labels=False), _sums(table, labels=True)
        scores = self.by_counts(counts, people.shares, n)
        off = self._own.copy()
        off.data = off.data - people.means[off.indices]
        root = np.sqrt(np.maximum(np.diff(off.indptr), 1))
        for doubt in _DOUBT:
            weights = (totals - counts * people.means) / n / (people.shares + doubt)
            scores[f"sums of labels, doubt {doubt:g}"] = off @ weights / root
        return scores

    def _make_tests(self) -> "list[tuple[tuple[str, float], Numbers]]":
        """Return for each kind and damping what rows are multiplied with, for each target.

        That is the target's own vector times the inverse of the products: where all people differ,
        it counts little.
        """
        tests = []
        for kind, make in KINDS.items():
            products = self._population.products[kind]
            own = make(self._own, self._population).toarray()
            mean = float(np.trace(products)) / max(len(products), 1)
            for damping in _DAMPING:
                damped = products + (damping * mean + 1e-12) * np.eye(len(products))
                test = linalg.solve(damped, own.T, assume_a="pos").T
                tests.append(((kind, damping), np.ascontiguousarray(test)))
        return tests


def _fit_rows(name: str, rows: Rows, table: ReleasedTable, test: Numbers) -> dict[str, Numbers]:
    """Score by the sum of all rows, and by the sum of their products of items."""
    weights = table.candidates.sizes / table.candidates.sizes.sum()
    fits = np.asarray(rows @ test.T)
    return {f"{name}, sums": weights @ fits, f"{name}, products": weights @ fits**2}


def _nearest(kind: str, rows: Rows, test: Numbers) -> dict[str, Numbers]:
    """Score by the row that fits best, and by how many fit well."""
    fits = np.asarray(rows @ test.T)
    usual = np.sqrt((fits**2).mean(axis=0)) + 1e-300
    many = np.log(np.exp(np.minimum(fits / usual, _STEEPEST)).mean(axis=0))
    return {f"{kind}, nearest": fits.max(axis=0), f"{kind}, near": many}


def _sums(table: ReleasedTable, *, labels: bool) -> Numbers:
    """Add up people, or their labels, by item."""
    weights = np.repeat(table.candidates.sizes, np.diff(table.indptr)).astype(np.float64)
    if labels:
        weights *= table.values
    n_items = table.candidates.indptr.size - 1
    return np.bincount(table.indices, weights=weights, minlength=n_items).astype(np.float64)


def _rows(table: ReleasedTable) -> Rows:
    shape = (table.indptr.size - 1, table.candidates.indptr.size - 1)
    return Rows((table.values, table.indices, table.indptr), shape=shape)


def _as_vectors(rows: Rows, people: Population, kind: str) -> Rows:
    """Turn rows of labels on all items into vectors of length 1 on the chosen ones."""
    vectors = Rows(rows[:, people.chosen])
    data = vectors.data
    if kind == "tastes":
        data = np.where(data >= people.mean, 1.0, _RATED)
    elif kind == "items":
        data = np.ones(data.size)
    else:
        # About the person's own mean, so that who likes everything says nothing by it.
        data = data - people.means[people.chosen][vectors.indices]
        row_of = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
        n_rows = vectors.shape[0]
        lengths = np.maximum(np.diff(vectors.indptr), 1)
        data = data - (np.bincount(row_of, data, minlength=n_rows) / lengths)[row_of]
    squares = np.add.reduceat(np.append(data**2, 0.0), vectors.indptr[:-1])
    squares[np.diff(vectors.indptr) == 0] = 0.0
    data = data / np.repeat(np.sqrt(np.maximum(squares, 1e-12)), np.diff(vectors.indptr))
    return Rows((data, vectors.indices, vectors.indptr), shape=vectors.shape)


# How somebody's ratings become a vector of length 1: what they liked, what they rated, and how.
KINDS = {kind: partial(_as_vectors, kind=kind) for kind in ("tastes", "items", "ratings")}
