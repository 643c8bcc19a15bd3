"""Attributes of synthetic users: a query of preferences by group, and what is sampled from it."""

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.synthetic.bounded_sums import SURELY_BOUNDED, moved, sum_grid
from recveil.methods.synthetic.learning import EmbeddingMap, item_means
from recveil.methods.synthetic.periods import sure_shares
from recveil.methods.synthetic.sum_queries import (
    ChoiceSums,
    NoisySums,
    QueriedItems,
    UserRatings,
    added_up,
)
from recveil.methods.synthetic.user_model import LikesModel, UserModel
from recveil.ratings import Ratings, RatingScale
from recveil.release.method import MOST_DIRECTIONS
from recveil.release.records import Records
from recveil.release.synthetic_form import N_FEATURES, QUERY_OF_ATTRIBUTES
from recveil.release.user_table import UserColumns, UserTable
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]

# The parts of a user's vector, as shares of its squared length: the user itself, their number of
# ratings and mean rating, and the directions of their choices and of their ratings.
COUNT_PART, ACTIVITY_PART, MEAN_PART, CHOICE_PART, RATING_PART = 0.3, 0.1, 0.1, 0.3, 0.2
# Numbers and means beyond so many standard deviations count as these.
_CLIPPED = 2.0
_LEAST_SPREAD = 0.05
# Shorter vectors, and features of less variance, count as none.
_NOTHING = 1e-12
# Users whose vectors are computed at a time.
_AT_ONCE = 1 << 14
# Size of the simulated sample, its minimum, and its maximum number of cells.
_SAMPLE_SIZE, _FEWEST, _CELLS = 5_000, 300, 40_000_000
# Rounds of the estimate of how far groups differ, and of the fit.
_ROUNDS, _FIT_ROUNDS, _RIDGE = 20, 500, 1e-3


@brief
class Coded(NamedTuple):
    """The attributes of users as positions in the joined lists of public values. Private."""

    about: UserColumns
    codes: Whole  # shape (n_users, n_attributes)

    @classmethod
    def of(cls, attributes: DeclaredAttributes | UserColumns, users: NDArray[Any]) -> Self:
        """Code the attributes of users; columns alone are for unknown values of all users."""
        about = attributes if isinstance(attributes, UserColumns) else attributes.about
        codes, first = np.empty((users.size, len(about.names)), np.int64), 0
        declared = None if isinstance(attributes, UserColumns) else attributes.of(users)
        for at, values in enumerate(about.all_values):
            place = {text: first + number for number, text in enumerate(values)}
            first += len(values)
            texts = () if declared is None else declared.columns[about.names[at]]
            codes[:, at] = [place.get(text, first - 1) for text in texts] or first - 1
        return cls(about, codes)

    def _facts(self) -> dict[str, object]:
        return {"": ", ".join(self.about.names)}


@brief
class PreferenceMap(NamedTuple):
    """What turns a user's ratings into a bounded vector; derived from noisy sums."""

    items: EmbeddingMap
    # Usual logarithm of user counts, and its standard deviation
    log_count: tuple[float, float]
    # Standard deviation of users' mean ratings
    strictness: float
    # None for implicit feedback
    scale: RatingScale | None

    @classmethod
    def of(cls, measured: NoisySums | ChoiceSums, model: UserModel | LikesModel) -> Self:
        """Take the items of a model, in the order of the noisy sums."""
        directions, logs = model.item_embeddings[:, 1:], np.log(model.activity)
        usual = float(logs.mean()), max(float(logs.std()), _LEAST_SPREAD)
        if isinstance(measured, ChoiceSums) or isinstance(model, LikesModel):
            popularity = np.maximum(measured.choices.popularity[measured.released], 0)
            items = EmbeddingMap.of(directions, popularity, np.zeros(popularity.size))
            return cls(items, usual, 1.0, None)
        popularity = np.maximum(measured.items.popularity[measured.released], 0)
        items = EmbeddingMap.of(directions, popularity, item_means(measured))
        strictness = max(math.sqrt(measured.spread_of_users), _LEAST_SPREAD)
        return cls(items, usual, strictness, model.scale)

    def of_items(self, order: Whole) -> Self:
        """Return the same with items in another order."""
        directions, damping, means, half = self.items
        items = EmbeddingMap(directions[order], damping, means[order], half[order])
        return self._replace(items=items)

    def vectors(self, indptr: Whole, places: Whole, values: NDArray[np.floating]) -> Numbers:
        """Return a vector per user, of length at most 1 but for rounding; see `attribute_sums`."""
        directions, damping, means, half = self.items
        shape, n_directions = (indptr.size - 1, means.size), damping.size
        at, is_known = np.maximum(places, 0), (places >= 0).astype(np.float64)
        rated = sparse.csr_array((is_known, at, indptr), shape=shape)
        count, chosen = np.asarray(rated.sum(axis=1)), np.asarray(rated @ directions)
        with_embedding = rated @ (half >= 0).astype(np.float64)
        found = np.zeros((shape[0], N_FEATURES))
        found[:, 0] = math.sqrt(COUNT_PART)
        usual, spread = self.log_count
        off = (np.log(np.maximum(count, 1)) - usual) / (_CLIPPED * spread)
        found[:, 1] = math.sqrt(ACTIVITY_PART) * np.clip(off, -1, 1)
        leans = chosen / (1 + with_embedding[:, None] * damping)
        if self.scale is None:
            found[:, 3 : 3 + n_directions] = _with_length(leans, CHOICE_PART + RATING_PART)
            return found
        apart = (moved(values, self.scale) - means[at]) * is_known
        rating = sparse.csr_array((apart, at, indptr), shape=shape)
        mean = np.asarray(rating.sum(axis=1)) / np.maximum(count, 1)
        likes = np.asarray(rating @ directions) - mean[:, None] * chosen
        mean = np.clip(mean / (_CLIPPED * self.strictness), -1, 1)
        found[:, 2] = math.sqrt(MEAN_PART) * mean
        found[:, 3 : 3 + n_directions] = _with_length(leans, CHOICE_PART)
        second = 3 + MOST_DIRECTIONS
        found[:, second : second + n_directions] = _with_length(likes, RATING_PART)
        return found


def _with_length(vectors: Numbers, square: float) -> Numbers:
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    is_vector = (lengths > _NOTHING) & (lengths < np.inf)
    return np.where(is_vector, vectors, 0.0) / np.where(is_vector, lengths, 1.0) * math.sqrt(square)


def attribute_sums(
    ratings: Ratings, coded: Coded, released: Whole, mapping: PreferenceMap, grid: float
) -> Whole:
    """Sum users' vectors by value of each attribute, in steps of a grid, shape (n_values, n)."""
    # A user has one vector of length at most 1, and contributes it, over the root of the number of
    # attributes, to one value of each: the squares sum to at most 1. Its parts have at most the
    # squared lengths `COUNT_PART` and so on, as they are numbers from -1 to 1, unit vectors or 0.
    place_of = np.full(ratings.n_items, -1, np.int64)
    place_of[released] = np.arange(released.size)
    n_values = sum(map(len, coded.about.all_values))
    sums = np.zeros((n_values, N_FEATURES), np.int64)
    scale = SURELY_BOUNDED / math.sqrt(len(coded.about.names)) / grid
    for start in range(0, ratings.n_users, _AT_ONCE):
        indptr = ratings.indptr[start : start + _AT_ONCE + 1]
        cells = slice(indptr[0], indptr[-1])
        places, values = place_of[ratings.indices[cells]], ratings.values[cells]
        found = mapping.vectors(indptr - indptr[0], places, values)
        steps = np.trunc(np.nan_to_num(found, posinf=0, neginf=0) * scale).astype(np.int64)
        for codes in coded.codes[start : start + _AT_ONCE].T:
            np.add.at(sums, codes, steps)
    return sums


@brief
class _Groups(NamedTuple):
    """The groups of an attribute, and a logistic model of who is in which."""

    # Position of each group among the values of the attribute
    places: Whole
    # Mean of users' features, and a basis in which they are uncorrelated, of variance 1
    usual: Numbers
    basis: Numbers
    # The constant, and the weight of each of these features, by group
    weights: Numbers

    @classmethod
    def of(cls, noisy: Numbers, noise: float, sample: Numbers) -> Self:
        """Fit to noisy sums of vectors, and to those of a simulated sample of users."""
        counts = noisy[:, 0] / math.sqrt(COUNT_PART)
        shares = sure_shares(counts, noise / math.sqrt(COUNT_PART))
        places = np.flatnonzero(shares)
        shares, counts = shares[places], np.maximum(counts[places], noise)
        features = sample[:, 1:]
        with one_thread():
            usual = features.mean(axis=0)
            variances, basis = np.linalg.eigh(np.cov(features, rowvar=False, bias=True))
            basis = basis[:, variances > _NOTHING] / np.sqrt(variances[variances > _NOTHING])
            means = noisy[places, 1:] / counts[:, None] @ basis
            unsure = noise / counts[:, None] * np.sqrt((basis**2).sum(axis=0))
            unsure = unsure**2 + (noise / counts[:, None] * means) ** 2 / COUNT_PART
            unsure = (1 - shares[:, None]) * (unsure + 1 / counts[:, None])
            gaps = _believed(means - shares @ means, unsure)
            gaps -= shares @ gaps
            weights = _fit_weights((features - usual) @ basis, shares, gaps)
        return cls(places, usual, basis, weights)

    def draw(self, vectors: Numbers, rng: np.random.Generator) -> Whole:
        """Return the position of a value for each vector."""
        with one_thread():
            odds = (vectors[:, 1:] - self.usual) @ self.basis @ self.weights[:, 1:].T
        reached = np.cumsum(softmax(odds + self.weights[:, 0], axis=1), axis=1)
        drawn = rng.random(len(vectors))[:, None] * reached[:, -1:]
        return self.places[(reached <= drawn).sum(axis=1)]


def _believed(gaps: Numbers, unsure: Numbers) -> Numbers:
    between = 0.1
    for _ in range(_ROUNDS):
        weights = (unsure + between + _NOTHING) ** -2
        if not weights.any():  # nothing is known of any group
            return np.zeros_like(gaps)
        between = max(float((weights * (gaps**2 - unsure)).sum() / weights.sum()), 0.0)
    return gaps * (between / (between + unsure + _NOTHING))


def _fit_weights(features: Numbers, shares: Numbers, gaps: Numbers) -> Numbers:
    # The logistic model in which groups have given shares and mean features
    rows = np.column_stack([np.ones(len(features)), features])
    wanted = shares[:, None] * np.column_stack([np.ones(shares.size), gaps])

    def loss(flat: Numbers) -> tuple[float, Numbers]:
        weights = flat.reshape(wanted.shape)
        odds = rows @ weights.T
        slope = softmax(odds, axis=1).T @ rows / len(rows) - wanted + _RIDGE * weights
        lost = logsumexp(odds, axis=1).mean() - (weights * wanted).sum()
        return float(lost + _RIDGE / 2 * (weights**2).sum()), slope.ravel()

    start = np.zeros(wanted.shape)
    start[:, 0] = np.log(shares)
    found = minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _FIT_ROUNDS}
    )
    return np.asarray(found.x.reshape(wanted.shape))


@brief
class AttributeModel(NamedTuple):
    """Which attributes synthetic users have, given their ratings; derived from noisy sums."""

    about: UserColumns
    mapping: PreferenceMap
    groups: tuple[_Groups, ...]

    @classmethod
    def of(
        cls,
        about: UserColumns,
        mapping: PreferenceMap,
        noisy: Numbers,
        sigma: float,
        sample: Numbers,
    ) -> Self:
        """Learn from the noisy answer to `attribute_sums`."""
        root = math.sqrt(len(about.names))
        ends = np.cumsum([len(values) for values in about.all_values])[:-1]
        parts = np.split(noisy * root, ends)
        return cls(about, mapping, tuple(_Groups.of(part, sigma * root, sample) for part in parts))

    def of_items(self, order: Whole) -> Self:
        """Return the same with items in another order."""
        return self._replace(mapping=self.mapping.of_items(order))

    def draw(self, blocks: Iterable[Records], rng: np.random.Generator) -> UserTable:
        """Draw the attributes of synthetic users, each by their own ratings alone."""
        columns: dict[str, list[str]] = {name: [] for name in self.about.names}
        for vectors in vectors_of(blocks, self.mapping):
            for name, values, groups in zip(
                self.about.names, self.about.all_values, self.groups, strict=True
            ):
                columns[name] += [values[at] for at in groups.draw(vectors, rng).tolist()]
        n_users = len(columns[self.about.names[0]])
        return UserTable(self.about, columns, np.ones(n_users, np.int64))


def vectors_of(blocks: Iterable[Records], mapping: PreferenceMap) -> Iterator[Numbers]:
    """Yield the vectors of synthetic users, as of users."""
    for block in blocks:
        yield mapping.vectors(block.indptr, block.indices.astype(np.int64), block.values)


def ask_attributes(
    ratings: UserRatings,
    mechanism: QueriedItems,
    coded: Coded,
    measured: NoisySums | ChoiceSums,
    model: UserModel | LikesModel,
    sigma: float,
    rng: np.random.Generator,
) -> AttributeModel:
    """Query preferences by group, and learn which synthetic users are in which."""
    mapping, grid = PreferenceMap.of(measured, model), sum_grid(sigma)
    name, what = QUERY_OF_ATTRIBUTES.name, QUERY_OF_ATTRIBUTES.what
    exact = added_up(ratings, attribute_sums, coded, measured.released, mapping, grid)
    noisy = mechanism.measure(name, what, exact, grid)
    n = int(np.clip(_CELLS // max(1, len(model.offsets)), _FEWEST, _SAMPLE_SIZE))
    sample = np.concatenate([*vectors_of(model.draw(n, rng), mapping)])
    return AttributeModel.of(coded.about, mapping, noisy, sigma, sample)
