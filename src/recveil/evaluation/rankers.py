"""Rankers, which make lists of items from a table of ratings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks import Candidates, find_residuals
from recveil.attacks.reidentification.residuals import MOST_CELLS, STARS
from recveil.evaluation.ranking_metrics import list_items, ndcg, relevance_threshold
from recveil.evaluation.rating_predictors import (
    CHOOSING,
    MOST_COMPARED,
    Recommender,
    Setting,
    effort_of_products,
    keep_highest,
    most_carried,
    most_listed,
    multiply_columns,
    multiply_rows,
    rows_to_list,
)
from recveil.evaluation.split import InnerSplit, TrainingTable, UserRows, blocks_of
from recveil.ratings import RatingScale
from recveil.release.records import Records
from recveil.runtime.compiled import mirror
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import invert_upper, one_thread

# A table with more rows, and items, than this is taken apart on so many items alone.
MOST_MODELLED = 5_000
# Shares of the largest singular value that are no more than rounding.
_ROUNDING = 1e-9
# Rows that are filled further than this are multiplied as dense ones, a tile at a time (32 MiB).
_SPARSE, _TILE_CELLS = 0.1, 1 << 22
# Of fewer items, all directions are taken, which serve every strength and every rank.
_FEW = 1_000

Numbers: TypeAlias = NDArray[np.float64]
Form: TypeAlias = Callable[[UserRows, RatingScale], Numbers]


def liked(rows: UserRows, scale: RatingScale) -> Numbers:
    """Return 1 for each value that is liked, else 0, shape (n_values,)."""
    return (rows.values >= relevance_threshold(scale)).astype(np.float64)


def valued(rows: UserRows, scale: RatingScale) -> Numbers:
    """Return each value as a share of the highest; the lowest is a fifth, since who rated matters.

    >>> rows = UserRows(np.array([0, 2]), np.array([0, 1], np.int32), np.array([5.0, 1.0]))
    >>> valued(rows, RatingScale(1, 5, 1))
    array([1. , 0.2])
    """
    above = (rows.values - scale.low) / (scale.range or 1.0)
    return (above + 0.25) / 1.25


@brief
@dataclass(frozen=True, eq=False)
class Modelled:
    """The items of a table that are taken apart, and the form of its values."""

    # Positions of the modelled items: all of them in a table of up to `MOST_MODELLED` items or
    # rows, otherwise that many with the largest sums of values
    modelled: NDArray[np.int64]
    n_items: int
    # The scale of the table, and of the users to serve
    scale: RatingScale
    # `liked` or `valued`
    form: Form

    def of_users(self, user_rows: UserRows) -> sparse.csr_array:
        """Return users' rows on the modelled items, shape (n_users, n_modelled)."""
        rows = user_rows.matrix(self.n_items, self.form(user_rows, self.scale))
        return rows if self.modelled.size == self.n_items else rows[:, self.modelled]

    def spread(self, scores: Numbers) -> Numbers:
        """Return scores of all items, shape (n_users, n_items): the others come last."""
        if self.modelled.size == self.n_items:
            return scores
        lowest = scores.min(axis=1, keepdims=True) - 1
        everything = np.repeat(lowest, self.n_items, axis=1)
        everything[:, self.modelled] = scores
        return everything


@brief
@dataclass(frozen=True, eq=False)
class Spectrum(Modelled):
    """The principal directions of a table's rows."""

    # Orthonormal columns, the longest direction first
    vectors: Numbers
    # Squared singular values, descending, all above 0
    squares: Numbers

    @classmethod
    def of(cls, table: TrainingTable, form: Form) -> "Spectrum":
        """Decompose a table, with rows weighted by the number of their users."""
        modelled, chosen = _modelled_rows(table, form)
        return cls(modelled, table.n_items, table.scale, form, *_take_apart(chosen))

    @classmethod
    def of_matrix(cls, matrix: sparse.csr_array, scale: RatingScale, form: Form) -> "Spectrum":
        """Decompose a matrix derived from a table, shape (n_rows, n_items)."""
        modelled, chosen = _most_modelled(matrix)
        return cls(modelled, matrix.shape[1], scale, form, *_take_apart(chosen))


def _rooted(table: TrainingTable, form: Form) -> sparse.csr_array:
    rooted = form(table.rows, table.scale) * np.sqrt(table.weights)
    return table.rows.matrix(table.n_items, rooted)


def _modelled_rows(table: TrainingTable, form: Form) -> tuple[NDArray[np.int64], sparse.csr_array]:
    """Return the positions of the modelled items, and weighted rows on them, made in blocks."""
    n_rows, n_items = table.rows.n_users, table.n_items
    if min(n_rows, n_items) <= MOST_MODELLED:
        return np.arange(n_items), _rooted(table, form)
    mass = np.zeros(n_items)
    for block in _rooted_blocks(table, form):
        np.add.at(mass, block.indices, block.data**2)
    modelled = _heaviest(mass)
    chosen = [block[:, modelled] for block in _rooted_blocks(table, form)]
    return modelled, sparse.csr_array(sparse.vstack(chosen, "csr"))


def _rooted_blocks(table: TrainingTable, form: Form) -> Iterator[sparse.csr_array]:
    for start, end in blocks_of(table.rows.indptr):
        rows = table.rows.between(start, end)
        roots = np.sqrt(table.sizes[start:end].astype(np.float64))
        rooted = form(rows, table.scale) * np.repeat(roots, np.diff(rows.indptr))
        yield rows.matrix(table.n_items, rooted)


def _heaviest(mass: Numbers) -> NDArray[np.int64]:
    return np.sort(np.argsort(-mass, kind="stable")[:MOST_MODELLED])


def _most_modelled(matrix: sparse.csr_array) -> tuple[NDArray[np.int64], sparse.csr_array]:
    """Return the positions of the modelled items, and the matrix on them."""
    n_items = matrix.shape[1]
    if min(matrix.shape) <= MOST_MODELLED:
        return np.arange(n_items), matrix
    mass = np.bincount(matrix.indices, matrix.data**2, minlength=n_items)
    modelled = _heaviest(np.asarray(mass, np.float64))
    return modelled, matrix[:, modelled]


# A table's spectra live as long as the table.
_SPECTRUM_FOUND: WeakKeyDictionary[TrainingTable, dict[Form, Spectrum]] = WeakKeyDictionary()


def spectrum_of(table: TrainingTable, form: Form) -> Spectrum:
    """Return the spectrum of a table in a form, decomposed once."""
    result = _SPECTRUM_FOUND.setdefault(table, {})
    if form not in result:
        result[form] = Spectrum.of(table, form)
    return result[form]


@brief
@dataclass(frozen=True, eq=False)
class _Summed(Modelled):
    # The products of a table's columns
    products: Numbers

    def longest(self, wanted: int) -> Spectrum:
        # The longest directions alone, by Lanczos' method
        from scipy.sparse.linalg import eigsh  # slow to load

        start = np.random.default_rng(0).standard_normal(len(self.products))
        squares, vectors = eigsh(self.products, wanted, v0=start, ncv=2 * wanted + 20)
        squares, vectors = _descending(squares, vectors)
        return Spectrum(self.modelled, self.n_items, self.scale, self.form, vectors, squares)


# The products of small or wide tables are not kept: None.
_SUMMED_FOUND: WeakKeyDictionary[TrainingTable, dict[Form, _Summed | None]] = WeakKeyDictionary()


def _summed_of(table: TrainingTable, form: Form) -> _Summed | None:
    result = _SUMMED_FOUND.setdefault(table, {})
    if form not in result:
        result[form] = _sum_up(table, form)
    return result[form]


def _sum_up(table: TrainingTable, form: Form) -> _Summed | None:
    modelled, chosen = _modelled_rows(table, form)
    if not chosen.shape[0] >= chosen.shape[1] >= _FEW:
        return None
    return _Summed(modelled, table.n_items, table.scale, form, _products(chosen))


def _learn_all_strengths(table: TrainingTable, form: Form) -> "_Summed | Spectrum":
    # Inverting for each of six strengths takes less than all directions, and serves faster.
    return _summed_of(table, form) or spectrum_of(table, form)


def _take_apart(matrix: sparse.csr_array) -> tuple[Numbers, Numbers]:
    """Return a matrix's right singular vectors and squared singular values, by its smaller side."""
    n_rows, n = matrix.shape
    if n_rows < n:
        squares, left = _largest_first(_products(matrix.T.tocsr()))
        vectors = (matrix.T @ left) / np.sqrt(squares)
        return vectors, squares
    squares, vectors = _largest_first(_products(matrix))
    return vectors, squares


def _largest_first(products: Numbers) -> tuple[Numbers, Numbers]:
    # SciPy's would keep the interpreter's lock.
    return _descending(*np.linalg.eigh(products))


def _descending(squares: Numbers, vectors: Numbers) -> tuple[Numbers, Numbers]:
    real = squares > _ROUNDING * max(squares[-1], np.finfo(float).tiny)
    return squares[real][::-1].copy(), vectors[:, real][:, ::-1].copy()


def _products(matrix: sparse.csr_array) -> Numbers:
    n_rows, n = matrix.shape
    if matrix.nnz <= _SPARSE * n_rows * n:
        rated = _without_zeros(matrix)
        return multiply_columns(rated, n, [(rated.data, rated.data)], symmetric=True)[0]
    result, step = np.zeros((n, n)), max(1, _TILE_CELLS // n)
    for start in range(0, n_rows, step):
        tile = matrix[start : start + step].toarray()
        result += tile.T @ tile
    return result


def _without_zeros(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return a matrix without stored zeros, such as those of ratings that are not liked."""
    if matrix.data.all():
        return matrix
    result = matrix.copy()
    result.eliminate_zeros()
    return result


# Lists nearer to each other than this are equally good.
_NEAR = 1e-9
# Measured operations: of a list for each row and item, and per direction of the scores for it; and
# of an eigendecomposition for each side³.
_LIST, _A_DIRECTION, _APART = 35.0, 0.3, 0.75
# And of a product of columns, for two values in a row.
_A_PAIR = 5.6
# Products of the columns are inverted in single precision if their trace is below so many times the
# strength: the errors of the weights are then below one percent of them.
_WELL_CONDITIONED = 1e5
# Similarities are rounded to this many digits.
_DIGITS = 9


class Ranker(Recommender):
    """A recommender whose serving setting is the one with the best lists on inner hold-outs.

    It learns from the table once, and all settings serve from that. For a full table (see
    `TrainingTable.is_full`), no hold-out distinguishes good lists, since nearly every held-out item
    is relevant; `of_full` is used instead.

    Attributes
    ----------
    of_full : tuple of float
        The serving setting for any full table.

    Notes
    -----
    `of_full` was chosen in advance by the nDCG@10 of held-out ratings: padded releases with k = 5
    and k = 50 of the five folds of MovieLens 100K and of two splits of ml-latest-small, each
    release's best setting of any ranker counted as 1, averaged over the fourteen releases. EASE on
    labels has .945 with a strength of 5 and .935 with 20; PureSVD .913 with 10 directions, .900
    with 20 and .881 with 5; EASE on liked .555 with 500; item cosine .421. Averaged values thus
    need little regularization, and carry more information than whether they are liked.
    """

    rates: ClassVar[bool] = False
    # How many tables it takes apart that the makers before it have not; see `spectrum_of`.
    decompositions: ClassVar[int] = 0
    of_full: Setting = ()
    # The lists of the chosen setting, until they are returned
    _lists: NDArray[np.float64] | None = None

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: to take tables apart, mostly."""
        side = min(table.rows.n_users, table.n_items)
        n_items = table.n_items if side <= MOST_MODELLED else MOST_MODELLED
        side = min(side, MOST_MODELLED)
        listed = min(table.rows.n_users, n_inner * most_listed(table.n_items))
        a_list = _LIST + _A_DIRECTION * self.decompositions * side
        lists = len(self.serving_settings) * listed * n_items * a_list
        apart = self.decompositions * _APART * float(side) ** 3
        multiplying = self.decompositions * effort_of_products(table, n_inner, _A_PAIR)
        return super().effort(table, n_inner) + lists + (1.0 + n_inner) * apart + multiplying

    def _choose(
        self, inner: Sequence[InnerSplit], share: float = CHOOSING
    ) -> tuple[Setting, Setting, float]:
        """Return the settings with the highest nDCG@10 on all hold-outs together."""
        (learning,) = self.learning_settings
        if self.is_full_ or any(part.table.is_full for part in inner):
            return learning, self.of_full, np.nan
        if not inner or len(self.serving_settings) == 1:
            return learning, self.serving_settings[0], np.nan
        lists: list[list[NDArray[np.float64]]] = [[] for _ in self.serving_settings]
        for part in track(inner, self.name, share=share):
            learnt = self._learn(part.table, learning)
            tried = self._rank_each(part, learnt, self.serving_settings)
            for of_setting, ranked in zip(lists, tried, strict=True):
                of_setting.append(ranked)
        gained = [_mean(np.concatenate(parts)) for parts in lists]
        first = next(p for p, gain in enumerate(gained) if gain > max(gained) - _NEAR)
        self._lists = np.concatenate(lists[first])
        return learning, self.serving_settings[first], np.nan

    def _rank_each(
        self, part: InnerSplit, learnt: Any, settings: Sequence[Setting]
    ) -> Iterator[Numbers]:
        """Yield the nDCG@10 of the lists of a hold-out with each setting."""
        for serving in settings:
            yield self._rank_part(part, learnt, serving)

    def _rank(self, inner: Sequence[InnerSplit], learning: Setting) -> NDArray[np.float64]:
        lists, self._lists = self._lists, None
        return super()._rank(inner, learning) if lists is None else lists


class Ease(Ranker):
    """Linear item-item model: scores an item from all items that a user rated.

    One ridge regression in closed form predicts each item's column from all others: with P the
    inverse of ``XᵀX + strength``, item i has weight ``-P[i, j] / P[j, j]`` for item j.

    Parameters
    ----------
    form : {"liked", "values"}
        The matrix: 1 where the item was liked, or the value as a share of the highest.

    Notes
    -----
    Source: Steck, "Embarrassingly shallow autoencoders for sparse data", WWW 2019. Rows are
    weighted by the number of their users. Identical rows predict an item from itself, however
    unrelated the others are; so the grid of strengths reaches far above what raw ratings need.
    """

    serving_settings: ClassVar[tuple[Setting, ...]] = tuple(
        (strength,) for strength in (20.0, 80.0, 200.0, 500.0, 2_000.0, 8_000.0)
    )

    def __init__(self, form: Literal["liked", "values"] = "liked") -> None:
        self.form = form
        self.of_full = (500.0,) if form == "liked" else (5.0,)
        self._numbers = liked if form == "liked" else valued
        self.name = f"EASE on {form}"

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes after one of `EaseOnBoth`: few."""
        return Recommender.effort(self, table, n_inner)

    def _learn(self, table: TrainingTable, _setting: Setting) -> _Summed | Spectrum:
        return _learn_all_strengths(table, self._numbers)

    def _learn_all(self, table: TrainingTable, _setting: Setting) -> "_FixedEase":
        return _fixed_ease(table, self._numbers, self._serving[0])

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> Numbers:
        return serve_ease(learnt, user_rows, setting[0])

    def _rank_part(self, part: InnerSplit, learnt: Any, serving: Setting) -> NDArray[np.float64]:
        found = _EASE_LISTS.get(part.table, {}).get((self.form, serving[0]))
        return super()._rank_part(part, learnt, serving) if found is None else found


# The nDCG@10 of the lists of EASE on hold-outs, by form and strength, from `EaseOnBoth`.
_EASE_LISTS: WeakKeyDictionary[TrainingTable, dict[tuple[str, float], Numbers]] = (
    WeakKeyDictionary()
)


class EaseOnBoth(Ranker):
    """The sum of EASE on liked and EASE on values, with each user's scores standardized.

    Which of the two is better depends on the table: ratings carry more information where users use
    the whole scale, and likes where fills blur the ratings. The hold-outs of a small table could
    not prove the difference, and a recipient need not choose.

    Notes
    -----
    Both have the same strength, except for a full table, where each has its own. As a mean of
    scores with different errors it is seldom far below the better one, and can be above it: nDCG@10
    of k-coRating with k = 5 is .501, .483 and .508 on three splits of FilmTrust, where EASE on
    liked has .487, .466 and .482, and EASE on values .466, .456 and .483 (all strengths chosen on
    inner hold-outs).
    """

    name = "EASE on both"
    decompositions: ClassVar[int] = 2
    serving_settings = Ease.serving_settings
    of_full = (500.0, 5.0)

    def _learn(
        self, table: TrainingTable, _setting: Setting
    ) -> tuple[_Summed | Spectrum, _Summed | Spectrum]:
        return _learn_all_strengths(table, liked), _learn_all_strengths(table, valued)

    def _learn_all(
        self, table: TrainingTable, _setting: Setting
    ) -> tuple["_FixedEase", "_FixedEase"]:
        of_liked, of_values = self._serving[0], self._serving[-1]
        return _fixed_ease(table, liked, of_liked), _fixed_ease(table, valued, of_values)

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> Numbers:
        on_liked, on_values = learnt
        scores = _spread_alike(serve_ease(on_liked, user_rows, setting[0]))
        scores += _spread_alike(serve_ease(on_values, user_rows, setting[-1]))
        return scores

    def _rank_part(self, part: InnerSplit, learnt: Any, serving: Setting) -> NDArray[np.float64]:
        return next(self._rank_each(part, learnt, (serving,)))

    def _rank_each(
        self, part: InnerSplit, learnt: Any, settings: Sequence[Setting]
    ) -> Iterator[Numbers]:
        """Rank by both, and keep what `Ease` would rank by either."""
        rows, relevant = rows_to_list(part)
        of_forms = _EASE_LISTS.setdefault(part.table, {})
        names = "liked", "values"
        prepared = [_prepare(of_form, rows) for of_form in learnt]
        for serving in settings:
            scores = np.zeros(0)
            for name, each, strength in zip(
                names, prepared, (serving[0], serving[-1]), strict=True
            ):
                served = each.serve(strength)
                of_forms[name, strength] = ndcg(list_items(served, rows), relevant)
                alike = _spread_alike(served)
                scores = scores + alike if scores.size else alike
            yield ndcg(list_items(scores, rows), relevant)


class PureSVD(Ranker):
    """The user's values projected on the table's principal directions.

    A value counts as a share of the highest, and a missing one as 0.

    Notes
    -----
    Source: Cremonesi, Koren and Turrin, "Performance of recommender algorithms on top-N
    recommendation tasks", RecSys 2010.
    """

    name = "PureSVD"
    serving_settings: ClassVar[tuple[Setting, ...]] = ((5.0,), (10.0,), (20.0,), (50.0,))
    of_full = (10.0,)

    def _learn(self, table: TrainingTable, _setting: Setting) -> Spectrum:
        summed = _summed_of(table, valued)
        most = int(max(self.serving_settings)[0])
        return spectrum_of(table, valued) if summed is None else summed.longest(most)

    def _learn_all(self, table: TrainingTable, _setting: Setting) -> Spectrum:
        summed = _sum_up(table, valued)
        wanted = int(self._serving[0])
        return spectrum_of(table, valued) if summed is None else summed.longest(wanted)

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> Numbers:
        longest = learnt.vectors[:, : int(setting[0])]
        own = learnt.of_users(user_rows)
        return np.asarray(learnt.spread(multiply_rows(own, longest) @ longest.T), np.float64)


class ItemCosine(Ranker):
    """Cosine similarity to the items that a user liked, over the nearest items only.

    The similarity of two items is the cosine of their columns of "liked". The `kept` most similar
    items of each item are summed. If there are more than 5,000 items, the 5,000 liked by most users
    are compared, and the others have no similar items.

    Parameters
    ----------
    kept : int

    Notes
    -----
    Source: Deshpande and Karypis, "Item-based top-N recommendation algorithms", ACM TOIS 2004.
    """

    def __init__(self, kept: int = 100) -> None:
        self.kept = kept
        self.name = f"item cosine, {kept} neighbours"

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: to compare items, mostly."""
        comparing = 140.0 * (1.0 + n_inner) * min(table.n_items, MOST_COMPARED) ** 2
        return (
            super().effort(table, n_inner) + comparing + effort_of_products(table, n_inner, _A_PAIR)
        )

    def _learn(
        self, table: TrainingTable, _setting: Setting
    ) -> tuple[Modelled, NDArray[np.int64], sparse.csr_array]:
        modelled, matrix = _modelled_rows(table, liked)
        items = Modelled(modelled, table.n_items, table.scale, liked)
        masses = np.bincount(matrix.indices, matrix.data**2, minlength=modelled.size)
        lengths = np.asarray(np.sqrt(masses), np.float64)
        by_some = np.flatnonzero(lengths > 0.5)
        by_some = by_some[most_carried(np.round(lengths[by_some], 6), MOST_COMPARED)]
        if by_some.size < modelled.size:
            matrix = matrix[:, by_some]
        lengths = lengths[by_some]
        similar = np.round(_products(matrix) / lengths / lengths[:, None], _DIGITS)
        np.fill_diagonal(similar, 0)
        keep_highest(similar, self.kept)
        return items, by_some, sparse.csr_array(similar)

    def _serve(self, learnt: Any, user_rows: UserRows, _setting: Setting) -> Numbers:
        items, by_some, similar = learnt
        own = items.of_users(user_rows)
        scores = np.zeros(own.shape)
        scores[:, by_some] = multiply_rows(own[:, by_some], similar)
        return np.asarray(items.spread(scores), np.float64)


def serve_ease(
    learnt: "Spectrum | _Summed | _FixedEase", user_rows: UserRows, strength: float
) -> Numbers:
    """Score every item for each user by EASE with a strength; see `Ease`."""
    if isinstance(learnt, _FixedEase):
        return learnt.serve(user_rows)
    return _prepare(learnt, user_rows).serve(strength)


def _prepare(learnt: Spectrum | _Summed, user_rows: UserRows) -> "_Projected | _Weighed":
    if isinstance(learnt, Spectrum):
        return _Projected.of(learnt, user_rows)
    return _Weighed(learnt, learnt.of_users(user_rows))


@brief
@dataclass(frozen=True, eq=False)
class _Weighed:
    # Users' rows, which EASE of any strength scores by an inverse of its own
    summed: _Summed
    rows: sparse.csr_array

    def serve(self, strength: float) -> Numbers:
        # Half of the digits take half of the time; tables so large need them all.
        products = self.summed.products
        is_well_conditioned = np.trace(products) < _WELL_CONDITIONED * strength
        kind = np.float32 if is_well_conditioned else np.float64
        weights = _ease_weights(products.astype(kind), strength)
        return self.summed.spread(multiply_rows(self.rows, weights))


@brief
@dataclass(frozen=True, eq=False)
class _Projected:
    """Users' rows on the directions of a table, which EASE of any strength scores."""

    spectrum: Spectrum
    rows: sparse.csr_array
    on_directions: Numbers
    squared: Numbers

    @classmethod
    def of(cls, spectrum: Spectrum, user_rows: UserRows) -> Self:
        rows, vectors = spectrum.of_users(user_rows), spectrum.vectors
        return cls(spectrum, rows, multiply_rows(rows, vectors), vectors**2)

    def serve(self, strength: float) -> Numbers:
        squares = self.spectrum.squares
        # strength · P = 1 - V diag(weight) Vᵀ
        weight = squares / (squares + strength)
        left = self.rows.toarray()
        left -= (self.on_directions * weight) @ self.spectrum.vectors.T
        left /= -(1 - self.squared @ weight)
        return np.asarray(self.spectrum.spread(self.rows + left), np.float64)


class _FixedEase:
    """EASE of one strength, learnt from one table."""

    # The last scores are kept, since `Ease` and `EaseOnBoth` serve the same users in turn.
    def __init__(self, table: TrainingTable, form: Form, strength: float) -> None:
        modelled, chosen = _modelled_rows(table, form)
        self._items = Modelled(modelled, table.n_items, table.scale, form)
        self._strength = strength
        self._last: tuple[UserRows | None, Numbers] = None, np.zeros(0)
        self._learnt: Spectrum | Numbers
        if chosen.shape[0] < chosen.shape[1]:
            self._learnt = spectrum_of(table, form)
        else:
            self._learnt = _ease_weights(_products(chosen), strength)

    def serve(self, user_rows: UserRows) -> Numbers:
        last, scores = self._last
        if last is not user_rows:
            scores = self._compute(user_rows)
            self._last = user_rows, scores
        return scores.copy()

    def _compute(self, user_rows: UserRows) -> Numbers:
        if isinstance(self._learnt, Spectrum):
            return _Projected.of(self._learnt, user_rows).serve(self._strength)
        return self._items.spread(multiply_rows(self._items.of_users(user_rows), self._learnt))


def _ease_weights(products: Numbers, strength: float) -> Numbers:
    """Return the weights of each item (row) for each other, by a symmetric inverse in place."""
    products.flat[:: len(products) + 1] += strength
    invert_upper(products)
    weights = products.astype(np.float64, copy=False)
    mirror(weights)
    weights /= -np.diag(weights).copy()
    np.fill_diagonal(weights, 0)
    return weights


# EASE by table, form and strength, for as long as the table lives.
_EASE_FOUND: WeakKeyDictionary[TrainingTable, dict[tuple[Form, float], _FixedEase]] = (
    WeakKeyDictionary()
)


def _fixed_ease(table: TrainingTable, form: Form, strength: float) -> _FixedEase:
    found = _EASE_FOUND.setdefault(table, {})
    if (form, strength) not in found:
        found[form, strength] = _FixedEase(table, form, strength)
    return found[form, strength]


def _spread_alike(scores: Numbers) -> Numbers:
    """Scale each user's scores to a standard deviation of 1; 0 if they differ by rounding only.

    >>> _spread_alike(np.array([[3.0, 5.0], [0.5, 0.5 + 1e-15]]))
    array([[3., 5.],
           [0., 0.]])
    """
    spread = scores.std(axis=1, keepdims=True)
    return np.divide(scores, spread, out=np.zeros_like(scores), where=spread > _NEAR)


def _mean(lists: NDArray[np.float64]) -> float:
    """Return the mean of what could be judged; 0 if nothing could."""
    judged = lists[~np.isnan(lists)]
    return float(judged.mean()) if judged.size else 0.0


# Strength for rows of one user each; means over more users have less noise to regularize.
_STRENGTH = 5_000.0
# Weight of a value that is unlikely to be a rating, relative to a certain rating.
_UNRATED = 0.5
# Operations of the fit for each value.
_A_CELL = 50_000.0


class EaseOnLikely(Ranker):
    """EASE on padded rows, with values weighted by the probability that they are ratings.

    A padded row is full: cells without a rating hold predictions. Predictions are smooth over rows
    and items and ratings are not, so that a fit distinguishes them (see
    `recveil.attacks.find_residuals`) from the release alone. Each row is learned from twice: by its
    squared values times the root of the probability that a user of the group rated the item, and,
    with half the weight, by its squared values alone. Without such rows it makes no lists, and
    `ranks` is False.

    Notes
    -----
    The squares, the root, the halving, and the strength of 5,000 over the square of the number of
    users of a row were chosen in advance, since a full table does not distinguish good lists from
    bad ones (see `Ranker`): by the nDCG@10 of padded releases with k = 5, 10, 20 and 50 of folds
    u1, u2, u4 and u5 of MovieLens 100K, of ml-latest-small and of FilmTrust. On fold u3, which was
    held out, it keeps 75% of the best lists on the raw ratings with k = 5, EASE on values 51%;
    with k = 10, 20 and 50 it is 62, 50 and 39% against 50, 45 and 36%.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.attacks import AttackTarget
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    >>> released = AttackTarget.from_release(release, ratings)
    >>> maker = EaseOnLikely().fit(TrainingTable.from_released(released, ratings.scale))
    >>> maker.ranks, maker.setting_
    (True, (200.0,))
    >>> EaseOnLikely().fit(TrainingTable.from_ratings(ratings)).ranks
    False
    """

    name = "EASE on likely ratings"

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: of full rows, a fit of all of them."""
        fitted = min(table.rows.indices.size, MOST_CELLS) if table.is_full else 0
        return super().effort(table, n_inner) + _A_CELL * fitted

    def fit(self, table: TrainingTable, inner: Sequence[InnerSplit] | None = None) -> Self:
        """Learn from the whole table, if it is one of full rows."""
        self.ranks = _likely_spectrum(table) is not None
        user_rows = float(table.sizes.mean())
        self.of_full = (_STRENGTH / user_rows**2,) if self.ranks else ()
        return super().fit(table, inner)

    def _learn(self, table: TrainingTable, _setting: Setting) -> tuple[int, Spectrum | None]:
        return table.n_items, _likely_spectrum(table)

    def _serve(self, learnt: Any, user_rows: UserRows, setting: Setting) -> Numbers:
        n_items, spectrum = learnt
        if spectrum is None:
            return np.zeros((user_rows.n_users, n_items))
        return serve_ease(spectrum, user_rows, setting[0])

    def _rank(self, _inner: Sequence[InnerSplit], _learning: Setting) -> NDArray[np.float64]:
        """Make no inner lists: held-out parts of full rows are uninformative and costly."""
        return np.empty(0)


# A table's spectrum lives as long as the table.
_FOUND: WeakKeyDictionary[TrainingTable, Spectrum | None] = WeakKeyDictionary()


def _likely_spectrum(table: TrainingTable) -> Spectrum | None:
    """Return the spectrum of what is likely rated; None if rows are not full ones of groups."""
    if table not in _FOUND:
        # A product split over threads may round differently.
        with one_thread():
            rows = _likely_rows(table)
            modelled = None if rows is None else Spectrum.of_matrix(rows, table.scale, valued)
        _FOUND[table] = modelled
    return _FOUND[table]


def _likely_rows(table: TrainingTable) -> sparse.csr_array | None:
    rows = table.rows
    records = Records(table.sizes, rows.indptr, rows.indices, rows.values)
    candidates = Candidates.from_records([records], table.n_items, table.scale)
    result = find_residuals(candidates, table.scale)
    if result is None:
        return None
    shares = np.clip((result.cells.values - STARS.low) / STARS.range, 0, 1)
    squares = shares**2 * np.sqrt(result.cells.n_users)[:, None]
    likely = squares * np.sqrt(1 - result.found.unrated)
    both = sparse.csr_array(np.concatenate([likely, _UNRATED * squares]))
    indices = result.items[both.indices].astype(np.int32)
    shape = (both.shape[0], table.n_items)
    return sparse.csr_array((both.data, indices, both.indptr), shape=shape)
