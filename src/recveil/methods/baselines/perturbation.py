"""Baselines without a guarantee, additive noise, and reconstruction of a distribution from it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.methods.base import (
    BaseAnonymizer,
    Blocks,
    assemble,
    check_every_user_rated,
    secret_rng,
    seed_or_random,
)
from recveil.methods.predictive.anonymizer import value_step
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.publish.release import Release
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.method import Settings
from recveil.release.records import Groups, Records
from recveil.release.specs.baselines import TRUTH_PROBABILITY
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

# Ratings of a block.
_BLOCK_RATINGS = 1 << 22


class Baseline(BaseAnonymizer, ABC):
    """A release without any guarantee, as a baseline for others.

    A subclass stores its parameters, `seed` among them, and defines what it publishes.
    """

    method: ClassVar[str]
    # Whether nominal labels can be published so, because no value is computed.
    takes_unordered: ClassVar[bool] = False
    seed: int | None

    def anonymize(self, ratings: Ratings | Any) -> Release:
        """Return a release of the ratings, without a guarantee; they are not modified.

        Raises
        ------
        RecveilError
            If there are no users, a user has no rating, or a setting is unknown.
        """
        ratings = self._read(ratings)
        self._check(ratings)
        seed = seed_or_random(self.seed)
        rng = secret_rng(seed, ratings)
        table = self._table(ratings, rng)
        groups, blocks = self._publish(table, rng)
        return assemble(
            ratings,
            rng,
            claim=Claim("nothing", k=1),
            settings={"method": self.method, **self._settings(ratings.scale)},
            groups=groups,
            blocks=blocks,
            default_layout="users",
            seed=seed,
            users=table.users,
        )

    def _table(self, ratings: Ratings, _rng: np.random.Generator) -> Ratings:
        """Return the users and ratings that the release is made from; by default all."""
        return ratings

    @abstractmethod
    def _publish(self, ratings: Ratings, rng: np.random.Generator) -> tuple[Groups, Blocks]:
        """Return the users and the contents of the records."""

    def _settings(self, _scale: RatingScale) -> Settings:
        return {name: value for name, value in vars(self).items() if name != "seed"}

    def _check(self, ratings: Ratings) -> None:
        self.check_options()
        if not ratings.n_users:
            raise RecveilError(
                "there are no users; expected at least one", code="table.too-few-users"
            )
        check_every_user_rated(ratings, takes_unordered=self.takes_unordered)


class GlobalItemMeans(Baseline):
    """Publish one row for all users, the mean rating of each item, without a guarantee.

    Users are indistinguishable, but the mean of an item with one rater is that user's rating. This
    is the least utility of a release: averages without any correlation. It equals
    `PredictiveAnonymizer` with simple homogenizing and one group.

    Parameters
    ----------
    round_values : {"usual", "tenth", "scale", "none"} or float
        As in `PredictiveAnonymizer`.
    seed : int, optional
        Fixes the order of the users in the private folder.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> (block,) = GlobalItemMeans(seed=1).anonymize(ratings).published.blocks()
    >>> block.sizes, block.values
    (array([2]), array([5. , 1.5]))
    """

    method = "global item means"

    def __init__(self, round_values: str | float = "usual", *, seed: int | None = None) -> None:
        self.round_values = round_values
        self.seed = seed
        self.check_options()

    def _publish(self, ratings: Ratings, _rng: np.random.Generator) -> tuple[Groups, Blocks]:
        step = value_step(self.round_values, ratings.scale)
        # In order of position: a sum in another order can differ in its last bit.
        groups = Groups.from_labels(np.zeros(ratings.n_users, np.int64))
        continuous = RatingScale(ratings.scale.low, ratings.scale.high)

        def blocks() -> Iterator[Records]:
            for block in homogenize_simple(ratings, groups):
                grid = continuous if step is None else ratings.scale
                labels = grid.round(block.values, step) + 0.0
                yield Records(block.sizes, block.indptr, block.indices, labels)

        return groups, blocks

    def _settings(self, scale: RatingScale) -> Settings:
        return {"value_step": value_step(self.round_values, scale)}


class SameCells(Baseline):
    """A baseline that keeps who rated what, and may change the ratings."""

    def _publish(self, ratings: Ratings, rng: np.random.Generator) -> tuple[Groups, Blocks]:
        groups = each_user_alone(ratings.n_users, rng)
        seed = int(rng.integers(2**62))
        return groups, lambda: self._blocks(ratings, groups, seed)

    def _blocks(self, ratings: Ratings, groups: Groups, seed: int) -> Iterator[Records]:
        users = groups.members
        ends = np.cumsum(ratings.activity[users])
        cuts = np.searchsorted(ends, np.arange(_BLOCK_RATINGS, ends[-1], _BLOCK_RATINGS)) + 1
        first = 0
        for some in np.split(users, np.unique(cuts[cuts < users.size])):
            indptr, at = places_of(ratings, some)
            # The stored ratings are float32, in which 0.1 is not the 0.1 of a label.
            raw = ratings.scale.round(ratings.values[at])
            # Each block has random numbers of its own, so that it can be made anew.
            labels = self._label(raw, ratings.scale, np.random.default_rng([seed, first]))
            # + 0.0 turns -0.0, which equals 0.0 but is written differently, into 0.0.
            yield Records(np.ones(some.size, np.int64), indptr, ratings.indices[at], labels + 0.0)
            first += some.size

    @abstractmethod
    def _label(
        self, raw: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return what is published in place of some ratings."""


class Pseudonymizer(SameCells):
    """Publish the ratings unchanged under pseudonyms, without a guarantee.

    Narayanan & Shmatikov attacked such a release. Dates are dropped, as in every release, so an
    audit of the raw table with its dates re-identifies more users than an attack on this. A hash of
    each id is a pseudonym too, and a weaker one: who hashes known ids finds their rows.

    Parameters
    ----------
    seed : int, optional
        Fixes the order of the records.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 5 (the Netflix Prize data).

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> release = Pseudonymizer(seed=1).anonymize(ratings)
    >>> (block,) = release.published.blocks()
    >>> np.sort(block.values), release.published.claim.kind
    (array([1., 2., 5.]), 'nothing')
    """

    method = "names removed"
    takes_unordered = True

    def __init__(self, *, seed: int | None = None) -> None:
        self.seed = seed
        self.check_options()

    def _label(
        self, raw: NDArray[np.float64], _scale: RatingScale, _rng: np.random.Generator
    ) -> NDArray[np.float64]:
        return raw


class RandomValues(SameCells):
    """Publish who rated what, with uniformly random ratings, without a guarantee.

    The set of rated items suffices to re-identify a user, if the items are few or rare.

    Parameters
    ----------
    seed : int, optional
        Fixes the order of the records and the ratings.

    Notes
    -----
    On a continuous scale, any number between its ends is equally likely.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> (block,) = RandomValues(seed=1).anonymize(ratings).published.blocks()
    >>> np.sort(block.indices), ratings.scale.contains(block.values)
    (array([0, 1, 1], dtype=int32), array([ True,  True,  True]))
    """

    method = "random values"

    def __init__(self, *, seed: int | None = None) -> None:
        self.seed = seed
        self.check_options()

    def _label(
        self, raw: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        if scale.step is None:
            return rng.uniform(scale.low, scale.high, raw.size)
        return rng.choice(scale.levels, raw.size)


class RandomizedResponse(SameCells):
    """Publish each rating with some probability, and else another level, without a guarantee.

    The other levels are equally likely. Who rated what is unchanged, which suffices to re-identify
    users, and a user with n ratings keeps that share of them. `estimate_shares` recovers how the
    ratings are distributed over the levels.

    Parameters
    ----------
    truth_probability : float
        With which probability a rating is published as it is; above 0 and below 1.
    seed : int, optional
        Fixes the order of the records and the ratings.

    Notes
    -----
    Source: Warner 1965, as described by Chen 2012, section 2.2, for answers of two kinds. On a
    scale of more levels it is their usual generalization. On a continuous scale, the other value is
    any number between its ends.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> release = RandomizedResponse(0.999999, seed=1).anonymize(ratings)
    >>> (block,) = release.published.blocks()
    >>> np.sort(block.values)
    array([1., 2., 5.])
    """

    method = "randomized response"

    def __init__(
        self, truth_probability: float = TRUTH_PROBABILITY, *, seed: int | None = None
    ) -> None:
        self.truth_probability = truth_probability
        self.seed = seed
        self.check_options()

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        check_probability("truth_probability", self.truth_probability)

    def _label(
        self, raw: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        return randomize(raw, scale, self.truth_probability, rng)


def randomize(
    raw: NDArray[np.float64],
    scale: RatingScale,
    truth_probability: float,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return each rating with this probability, and else another level of the scale."""
    if scale.step is None:
        others = rng.uniform(scale.low, scale.high, raw.size)
    else:
        n_levels = scale.levels.size
        steps = rng.integers(1, max(n_levels, 2), raw.size)
        places = np.rint((raw - scale.low) / scale.step).astype(np.int64)
        others = scale.levels[(places + steps) % n_levels]
    return np.where(rng.random(raw.size) < truth_probability, raw, others)


def estimate_shares(published: ArrayLike, truth_probability: float) -> NDArray[np.float64]:
    """Estimate the shares of the original levels from those after randomized response.

    Parameters
    ----------
    published : array-like of float, shape (n_levels,)
        The share of each level among the published values.
    truth_probability : float
        That of `RandomizedResponse`.

    Returns
    -------
    ndarray of float64, shape (n_levels,)
        Without bias; they sum to 1, but may be below 0.

    Raises
    ------
    RecveilError
        If there are fewer than two levels, or each published level is equally likely for every
        rating, so that nothing can be estimated.

    Notes
    -----
    Source: Warner 1965, for two levels: if each is published with the probability p, and the other
    one else, a share s becomes ``s p + (1 - s) (1 - p)``.

    Examples
    --------
    Of 0.7, three quarters stay, and of 0.3 a quarter joins: 0.525 + 0.075.

    >>> estimate_shares([0.6, 0.4], 0.75).round(9)
    array([0.7, 0.3])
    """
    shares = np.asarray(published, np.float64)
    if shares.ndim != 1 or shares.size < 2:
        raise RecveilError(
            f"published shares have the shape {shares.shape}; expected one for each of at least "
            f"two levels",
            code="argument.shape",
        )
    check_probability("truth_probability", truth_probability)
    other = (1 - truth_probability) / (shares.size - 1)
    if math.isclose(truth_probability, other):
        raise RecveilError(
            f"truth_probability is {truth_probability:g}, with which each of {shares.size} levels "
            f"is equally likely for every rating; the originals cannot be estimated",
            code="argument.value",
        )
    return np.asarray((shares - other) / (truth_probability - other))


def check_probability(name: str, value: object) -> None:
    """Raise a RecveilError unless a parameter is above 0 and below 1."""
    if not (isinstance(value, int | float) and 0 < value < 1):
        raise RecveilError(
            f"{name} is {value!r}; expected a number above 0 and below 1",
            code="argument.value",
        )


def each_user_alone(n_users: int, rng: np.random.Generator) -> Groups:
    """Give each user an own record, in random order.

    >>> each_user_alone(3, np.random.default_rng(0)).sizes
    array([1, 1, 1])
    """
    return Groups(rng.permutation(n_users), np.arange(n_users + 1, dtype=np.int64))


def places_of(
    ratings: Ratings, users: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each of some users' ratings start, and the positions of all of them.

    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> places_of(ratings, np.array([1, 0]))
    (array([0, 1, 3]), array([2, 0, 1]))
    """
    lengths = ratings.activity[users]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    at = np.repeat(ratings.indptr[users] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return indptr, at


NoiseKind = Literal["gaussian", "uniform"]


@dataclass(frozen=True)
class LabelNoise:
    """Random numbers around zero, all drawn from one distribution.

    Parameters
    ----------
    kind : {"gaussian", "uniform"}
    scale : float
        The standard deviation, in rating points, above 0. Uniform noise lies within ± √3 times
        it.

    Raises
    ------
    RecveilError
        If the kind is unknown or the scale not above 0.

    Examples
    --------
    >>> noise = LabelNoise("uniform", scale=1 / 3**0.5)  # from -1 to 1
    >>> noise.density([-1.5, 0.0, 0.5])
    array([0. , 0.5, 0.5])
    """

    kind: NoiseKind
    scale: float

    def __post_init__(self) -> None:
        if self.kind not in get_args(NoiseKind):
            raise RecveilError(
                f"noise {self.kind!r}: expected 'gaussian' or 'uniform'", code="argument.value"
            )
        if not (isinstance(self.scale, int | float) and 0 < self.scale < math.inf):
            raise RecveilError(
                f"scale of the noise is {self.scale!r}; expected a standard deviation above 0, "
                f"in rating points",
                code="argument.value",
            )

    @property
    def half_width(self) -> float:
        """How far uniform noise reaches, in rating points."""
        return self.scale * math.sqrt(3)

    @property
    def entropy(self) -> float:
        """The differential entropy, in bits."""
        if self.kind == "gaussian":
            return math.log2(self.scale * math.sqrt(2 * math.pi * math.e))
        return math.log2(2 * self.half_width)

    @property
    def privacy(self) -> float:
        """The privacy 2^h, in rating points: the width of the uniform noise of equal entropy h.

        Source: Agrawal & Aggarwal 2001, section 2, cited by Chen 2012, section 2.2.1.

        Examples
        --------
        >>> round(LabelNoise("uniform", scale=1 / 3**0.5).privacy, 9)  # from -1 to 1
        2.0
        >>> round(LabelNoise("gaussian", scale=1.0).privacy, 3)
        4.133
        """
        return 2**self.entropy

    def draw(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw independent numbers, shape (n,)."""
        if self.kind == "gaussian":
            return rng.normal(0.0, self.scale, n)
        return rng.uniform(-self.half_width, self.half_width, n)

    def density(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the probability density at each value."""
        numbers = np.asarray(values, np.float64)
        if self.kind == "gaussian":
            top = 1 / (self.scale * math.sqrt(2 * math.pi))
            return np.asarray(top * np.exp(-((numbers / self.scale) ** 2) / 2))
        # A little more than the width, because adding to a rating and subtracting it again rounds.
        inside = np.abs(numbers) <= self.half_width * (1 + 1e-9)
        return np.where(inside, 1 / (2 * self.half_width), 0.0)


class AdditiveNoise(SameCells):
    """Publish each rating plus independent noise, without a guarantee.

    Who rated what is unchanged, which suffices to re-identify users. Values beyond the ends of the
    scale are not clipped: the noise's distribution is public, and `reconstruct_distribution` can
    undo it only with unclipped values. An adversary who clips a value gets nearer to the rating.

    Parameters
    ----------
    kind : {"gaussian", "uniform"}
    scale : float, optional
        Standard deviation of the noise, in rating points; by default a quarter of the scale's range
        (1 point of 1 to 5).
    seed : int, optional
        Fixes the order of the records and the noise.

    Notes
    -----
    Source: Agrawal & Srikant 2000, as described by Chen 2012, section 2.2.1.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "b"], [5, 1, 2])
    >>> release = AdditiveNoise("uniform", scale=0.1, seed=1).anonymize(ratings)
    >>> (block,) = release.published.blocks()
    >>> np.sort(block.values).round(), release.published.settings["scale"]
    (array([1., 2., 5.]), 0.1)
    """

    method = "additive noise"

    def __init__(
        self,
        kind: NoiseKind = "gaussian",
        scale: float | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        self.kind = kind
        self.scale = scale
        self.seed = seed
        self.check_options()

    def noise(self, scale: RatingScale) -> LabelNoise:
        """Return the noise for ratings on some scale, to draw from or to undo.

        Examples
        --------
        >>> AdditiveNoise().noise(RatingScale(1, 5, 1))
        LabelNoise(kind='gaussian', scale=1.0)
        """
        return LabelNoise(self.kind, (scale.range / 4 or 1.0) if self.scale is None else self.scale)

    def _check(self, ratings: Ratings) -> None:
        super()._check(ratings)
        self.noise(ratings.scale)

    def _settings(self, scale: RatingScale) -> Settings:
        noise = self.noise(scale)
        return {"kind": noise.kind, "scale": noise.scale}

    def _label(
        self, raw: NDArray[np.float64], scale: RatingScale, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        return raw + self.noise(scale).draw(raw.size, rng)


def inherent_privacy(shares: ArrayLike, width: float = 1.0) -> float:
    """Return the privacy 2^h of a value that is uniform within each of some cells.

    Source: Agrawal & Aggarwal 2001, section 2.

    Parameters
    ----------
    shares : array-like of float, shape (m,)
        The probability of each cell; they sum to 1.
    width : float
        Of a cell. With 1 and the levels of a scale: how many equally likely levels there would be.

    Examples
    --------
    The paper's example: equally likely from 0 to 1 and from 4 to 5, which is as private as 0 to 2.

    >>> inherent_privacy([0.5, 0.5], width=1.0)
    2.0
    """
    probabilities = _checked_shares(shares)
    positive = probabilities[probabilities > 0]
    return float(width * 2 ** -(positive * np.log2(positive)).sum())


# Beyond the noise's standard deviation times this, a Gaussian has 1e-15 of its mass.
_REACH = 8
_POINTS = 4000


def privacy_loss(noise: LabelNoise, grid: ArrayLike, shares: ArrayLike) -> float:
    """Return which share of the privacy of a value is lost when it is published with noise.

    It is ``1 - 2^-I``, where I is the mutual information, in bits, of the value and the published
    value: what remains is ``1 - loss`` times the `inherent_privacy`.

    Parameters
    ----------
    noise : LabelNoise
    grid : array-like of float, shape (m,)
        The values; for continuous ones the middles of intervals that are narrow next to the noise.
    shares : array-like of float, shape (m,)
        The probability of each; they sum to 1.

    Raises
    ------
    RecveilError
        If the shares are no probabilities, or there is not one for each value.

    Notes
    -----
    Source: Agrawal & Aggarwal 2001, section 2, cited by Chen 2012, section 2.2.1. It is an average:
    a single value can be disclosed while others are not.

    Examples
    --------
    With noise from -1 to 1, half of the published values are below 0 or above 1, and distinguish 0
    from 1: half a bit.

    >>> noise = LabelNoise("uniform", scale=1 / 3**0.5)
    >>> round(privacy_loss(noise, [0, 1], [0.5, 0.5]), 3)  # 1 - 2^-0.5
    0.293
    """
    values, probabilities = np.asarray(grid, np.float64), _checked_shares(shares)
    if values.shape != probabilities.shape:
        raise RecveilError(
            f"{probabilities.size} shares for a grid of shape {values.shape}; expected one each",
            code="argument.shape",
        )
    reach = _REACH * noise.scale if noise.kind == "gaussian" else noise.half_width
    added = reach * (2 * (np.arange(_POINTS) + 0.5) / _POINTS - 1)
    density = noise.density(added)
    weights = density / density.sum()
    information = 0.0
    for value, share in zip(values, probabilities, strict=True):
        if share > 0:
            published = noise.density((value + added)[:, None] - values) @ probabilities
            information += float(share * (weights @ np.log2(density / published)))
    return 1 - 2 ** -max(information, 0.0)


def _checked_shares(shares: ArrayLike) -> NDArray[np.float64]:
    """Return the shares, if they are probabilities that sum to 1."""
    probabilities = np.asarray(shares, np.float64)
    if not (
        probabilities.ndim == 1
        and (probabilities >= 0).all()
        and math.isclose(probabilities.sum(), 1, rel_tol=1e-9)
    ):
        raise RecveilError(
            "shares: expected probabilities that sum to 1, in one dimension", code="argument.value"
        )
    return probabilities


# Beyond so many values, those that fall into one of so many narrow intervals count as equal.
_MOST_VALUES = 1 << 16
# The intervals between the lowest and the highest value.
_INTERVALS = 1 << 14


def reconstruct_distribution(
    noisy: ArrayLike,
    noise: LabelNoise,
    grid: ArrayLike,
    *,
    tolerance: float = 1e-7,
    max_iterations: int = 10_000,
) -> NDArray[np.float64]:
    """Estimate how the original values are distributed over a grid.

    Parameters
    ----------
    noisy : array-like of float, shape (n,)
        Original values plus independent noise, not clipped.
    noise : LabelNoise
        Anything with a `density`.
    grid : array-like of float, shape (m,)
        The values that an original can have, such as a scale's levels; for continuous originals
        the middles of small intervals.
    tolerance : float
        It ends when all shares together change by no more than this.
    max_iterations : int

    Returns
    -------
    ndarray of float64, shape (m,)
        The share of each grid value; they sum to 1.

    Raises
    ------
    RecveilError
        If there are no values, no grid, or a value that the noise cannot have made of any grid
        value.

    Notes
    -----
    Source: Agrawal & Srikant 2000, as described by Chen 2012, section 2.2.1. It begins with equal
    shares. Each round asks, by Bayes' rule, from which grid value each noisy value is likely to
    stem, and takes the mean of the answers as the next shares. Over a grid this is the EM
    algorithm: no round makes the noisy values less likely, and the shares tend to their maximum
    likelihood estimate. The paper ends after a test of goodness of fit; we go on to the end, which
    is stable for the few levels of a rating scale, and with a fine grid follows the noise.

    Of more than 65,536 values, those in one of 16,384 equal intervals count as their middle one.

    Examples
    --------
    Noise from -1 to 1: three values stem from 0, one from 1, and 0.5 can stem from either.

    >>> noise = LabelNoise("uniform", scale=1 / 3**0.5)
    >>> reconstruct_distribution([-0.5, -0.25, -0.1, 0.5, 1.5], noise, [0, 1]).round(6)
    array([0.75, 0.25])
    """
    values, grid_values = np.asarray(noisy, np.float64).ravel(), np.asarray(grid, np.float64)
    if not values.size or not grid_values.size or grid_values.ndim != 1:
        raise RecveilError(
            f"{values.size} noisy values and a grid of shape {grid_values.shape}; expected at "
            f"least one of each",
            code="argument.shape",
        )
    values, counts = _gather(values)
    likely = noise.density(values[:, None] - grid_values)
    unexplained = np.flatnonzero(~(likely.sum(axis=1) > 0))
    if unexplained.size:
        raise RecveilError(
            f"the noisy value {values[unexplained[0]]:g} cannot stem from any value of the grid "
            f"({grid_values.min():g} to {grid_values.max():g}) with noise of standard deviation "
            f"{noise.scale:g}; give the noise that was added, and values that were not clipped",
            code="argument.value",
        )
    shares = np.full(grid_values.size, 1 / grid_values.size)
    weights = counts / counts.sum()
    for _ in range(max_iterations):
        following = shares * (likely.T @ (weights / (likely @ shares)))
        following /= following.sum()
        change = np.abs(following - shares).sum()
        shares = following
        if change <= tolerance:
            break
    return shares


@brief
class HistogramRecovery(NamedTuple):
    """How much nearer a reconstruction comes to the original histogram than the noisy one.

    Attributes
    ----------
    original, noisy, reconstructed : ndarray of float64, shape (m,)
        Share of each grid value; originals and noisy values count at the nearest one.
    noisy_distance, reconstructed_distance : float
        Total variation distance to the original: the share that would have to be moved, 0 to 1.
    """

    original: NDArray[np.float64]
    noisy: NDArray[np.float64]
    reconstructed: NDArray[np.float64]
    noisy_distance: float
    reconstructed_distance: float


def histogram_recovery(
    original: ArrayLike, noisy: ArrayLike, noise: LabelNoise, grid: ArrayLike
) -> HistogramRecovery:
    """Report how far `reconstruct_distribution` recovers the histogram of the original values.

    Parameters
    ----------
    original : array-like of float, shape (n,)
        The private values.
    noisy : array-like of float, shape (n,)
        In any order.
    noise : LabelNoise
    grid : array-like of float, shape (m,)
        Ascending.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> original, noise = np.repeat([1, 2, 3], [6000, 1000, 3000]), LabelNoise("gaussian", 0.5)
    >>> found = histogram_recovery(original, original + noise.draw(10_000, rng), noise, [1, 2, 3])
    >>> found.noisy_distance > 5 * found.reconstructed_distance
    True
    """
    levels = np.asarray(grid, np.float64)
    shares = reconstruct_distribution(noisy, noise, levels)
    true, observed = _histogram(original, levels), _histogram(noisy, levels)
    return HistogramRecovery(
        true, observed, shares, _distance(observed, true), _distance(shares, true)
    )


def _gather(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distinct values with their counts, near ones as one if there are many."""
    if values.size <= _MOST_VALUES:
        return values, np.ones(values.size)
    values = np.sort(values)
    width = (values[-1] - values[0]) / _INTERVALS or 1.0
    _, first, counts = np.unique(
        np.floor((values - values[0]) / width), return_index=True, return_counts=True
    )
    # One of the values represents all: an interval's middle might be beyond the noise's reach.
    return values[first + counts // 2], counts.astype(np.float64)


def _histogram(values: ArrayLike, levels: NDArray[np.float64]) -> NDArray[np.float64]:
    bounds = (levels[1:] + levels[:-1]) / 2
    bars = np.searchsorted(bounds, np.asarray(values, np.float64).ravel(), side="right")
    return np.bincount(bars, minlength=levels.size) / bars.size


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(np.abs(first - second).sum() / 2)
