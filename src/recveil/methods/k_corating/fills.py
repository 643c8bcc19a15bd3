"""Fills: what is written into the cells that k-coRating adds."""

import copy
from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recveil.io import StatedTrust
from recveil.methods.components import nearest_of_all_users
from recveil.predict import FunkSVD, ItemMean, TrustKNN, UserKNN
from recveil.predict.knn import DirectWeights
from recveil.ratings import Ratings
from recveil.release.specs.k_corating import GROUPINGS_OF_LIKES
from recveil.runtime.errors import RecveilError, describe_count, option_named

# SplitMix64: what a number is moved by, and the factors that mix its bits.
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


class Learned(Protocol):
    """Predicts values for the added cells of some groups, for several threads at once."""

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return labels for pairs of user and item positions, shape (n,)."""


class Fill(Learned, Protocol):
    """Learns from the original ratings what to write there."""

    def fit(self, ratings: Ratings) -> Self:
        """Learn from all of `ratings`."""


class RandomFill:
    """Writes values of the scale, each equally likely: the paper's worst fill."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, ratings: Ratings) -> Self:
        """Learn the scale."""
        self.scale_ = ratings.scale
        return self

    def predict(self, users: ArrayLike, items: ArrayLike) -> NDArray[np.float32]:
        """Return a random value for each cell."""
        # A mixture of the cell's number: no cell needs to know which were drawn before it.
        rows, columns = (np.atleast_1d(np.asarray(axis, np.uint64)) for axis in (users, items))
        cells = rows << np.uint64(32) | columns
        first, second = np.random.default_rng(self.seed).integers(2**64, size=2, dtype=np.uint64)
        share = _mixed(_mixed(cells + first) ^ second).astype(np.float64) / 2**64
        scale = self.scale_
        step = scale.step or scale.range / 1000 or 1.0
        n_levels = round(scale.range / step) + 1
        level = np.minimum(np.floor(share * n_levels), n_levels - 1)
        return np.asarray(scale.low + step * level, dtype=np.float32)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Turn each number into one that looks random (SplitMix64)."""
    x = numbers * _STRIDE
    for shift, factor in zip(_SHIFTS[:2], _FACTORS, strict=True):
        x = (x ^ (x >> shift)) * factor
    return x ^ (x >> _SHIFTS[2])


# How to make each from a seed, which not all of them need.
FILLS: dict[str, Callable[[int], Fill]] = {
    "item-mean": lambda _: ItemMean(),
    "random": RandomFill,
    "funk-svd": lambda seed: FunkSVD(seed=seed),
    "similarity": lambda _: UserKNN(),
    "trust": lambda _: TrustKNN(),
}
NEIGHBOUR_FILLS = ("similarity", "trust")


def make_fill(
    choice: str | Fill,
    seed: int,
    trust: StatedTrust | None = None,
    direct_weights: DirectWeights = "trust",
    trust_steps: int = 1,
    neighbours: int | None = None,
) -> Fill:
    """Return the fill of a name, or a copy of the one that was given."""
    nearest = nearest_of_all_users(neighbours, "fill", choice, NEIGHBOUR_FILLS)
    about_trust = {
        "trust": trust is not None,
        "direct_weights": direct_weights != "trust",
        "trust_steps": trust_steps != 1,
    }
    for name, is_set in about_trust.items():
        if is_set and choice != "trust":
            raise RecveilError(
                f"{option_named(name)} was given, but fill (--fill) is {choice!r}; "
                f"choose the fill trust, or drop {name}",
                code="option.conflict",
            )
    if not isinstance(choice, str):
        return copy.copy(choice)
    if choice not in FILLS:
        raise RecveilError(
            f"fill (--fill) is {choice!r}; expected one of {', '.join(FILLS)}", code="option.value"
        )
    if choice == "similarity":
        return UserKNN(**nearest)
    if choice != "trust":
        return FILLS[choice](seed)
    if trust is None:
        return TrustKNN(direct_weights=direct_weights, steps=trust_steps, **nearest)
    if not isinstance(trust, StatedTrust):
        raise RecveilError(
            f"trust: expected what recveil.io.read_trust returns, got {type(trust).__name__}",
            code="argument.type",
        )
    if not count_statements(trust):
        raise RecveilError(
            f"trust: no user trusts another one "
            f"({describe_count(trust.n_ignored, 'line names', 'lines name')} "
            f"{describe_count(trust.n_unknown, 'user')} without ratings); expected user ids as in "
            f"the ratings, and values above 0",
            code="id.unknown",
        )
    return TrustKNN(direct_weights=direct_weights, steps=trust_steps, links=trust.links, **nearest)


def count_statements(trust: StatedTrust) -> int:
    """Count the pairs of whom one says that they trust the other.

    >>> from scipy import sparse
    >>> count_statements(StatedTrust(sparse.csr_array([[1, 0], [-1, 0]]), 0, 0))
    0
    """
    links = trust.links.tocoo()
    return int(((links.row != links.col) & (links.data > 0)).sum())


def count_trust(trust: StatedTrust | None) -> dict[str, object]:
    """Return the counts of trust statements for the publisher; none without any."""
    if trust is None:
        return {}
    counts = (count_statements(trust), trust.n_ignored, trust.n_unknown)
    names = ("statements", "ignored_lines", "unknown_users")
    return {"trust": dict(zip(names, counts, strict=True))}


def reject_fill_options(
    fill: str | Fill, grouping: str, trust: StatedTrust | None, round_fills: bool, protect: str
) -> None:
    """Raise a RecveilError for options about rating values if there is only implicit feedback."""
    options = {
        "fill": fill != "item-mean",
        "trust": trust is not None,
        "round_fills": not round_fills,
        "protect": protect != "none",
        "grouping": grouping not in GROUPINGS_OF_LIKES,
    }
    for name, is_set in options.items():
        if is_set:
            raise RecveilError(
                f"{option_named(name)}: not for implicit feedback, where every "
                f"added cell is a like; drop it",
                code="option.unsupported",
            )


def reject_between_words(*, round_fills: bool) -> None:
    """Raise a RecveilError for unrounded fills of ordinal labels.

    >>> reject_between_words(round_fills=True)
    """
    if not round_fills:
        raise RecveilError(
            "round_fills is off, but the ratings are ordinal labels, with no values between them; "
            "drop it",
            code="option.unsupported",
        )


def learn(fill: Fill, ratings: Ratings, threads: int) -> Fill:
    """Fit a fill with all threads; later calls use one each, as groups are filled in parallel."""
    if not isinstance(fill, UserKNN):
        fitted = fill.fit(ratings)
        # The `fit` of a custom fill may return nothing.
        return fill if fitted is None else fitted
    fill.threads = threads
    fill.fit(ratings)
    fill.threads = 1
    return fill
