"""Checks, seeds and release assembly that all anonymizers share, and pseudonyms for items."""

import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from recveil.io import Reading, read, understand
from recveil.io.ingestion import how_to_date, warn_of_reading, without_dates
from recveil.methods.earlier_releases import find_linkage
from recveil.publish import Release
from recveil.publish.size_estimate import Expected
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import ScaleLike
from recveil.ratings.ratings import PUBLISHED, reject_doubts, reject_likes, reject_unordered
from recveil.release.claim import Claim
from recveil.release.coverage import Coverage, PublishedCounts
from recveil.release.method import HIDDEN_ITEMS, MOST_LEVELS, has_few_levels
from recveil.release.private_folder import digest_of
from recveil.release.records import Groups, Records, fresh_prefix, pseudonyms
from recveil.release.sides import (
    Anonymizer,
    Continuation,
    FileFormat,
    Layout,
    Predecessor,
    Private,
    Published,
    Sides,
)
from recveil.runtime.errors import (
    RecveilError,
    describe_count,
    no_attribute,
    shortened,
    unexpected_keyword,
)
from recveil.runtime.safe_repr import BriefParameters
from recveil.verification.rater_ids import search_ratings

# Published values have ten decimals.
FINEST_STEP, _LARGEST = 1e-9, 1e12

Blocks = Callable[[], Iterator[Records]]


class BaseAnonymizer(BriefParameters, BaseEstimator):
    """An estimator with checked parameters, whose `anonymize` takes any table.

    `repr` shows parameters that are not the default, but neither values per user nor a private
    seed.
    """

    # False where no release with a seed is written, so that it may be shown.
    _seed_is_private = True
    # True where all releases have dates.
    reads_times = False

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Name the right keyword for those of other libraries."""
        known = signature(cls.__init__).parameters
        for name in given.keys() - known.keys():
            raise unexpected_keyword(cls.__name__, name, known)
        return super().__new__(cls)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Name the right call for those of other libraries."""
            raise no_attribute(self, name)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, and check them."""
        super().set_params(**params)
        self.check_options()
        return self

    def check_options(self) -> None:
        """Raise a RecveilError for parameters that are invalid for any ratings."""
        check_seed(getattr(self, "seed", None))

    def _read(self, source: Any, scale: ScaleLike | None = None) -> Ratings:
        """Return ratings of any table for `anonymize`; unclear columns are rejected."""
        if isinstance(source, Ratings):
            return source if scale is None else read(source, scale=scale)
        k = int(getattr(self, "k", None) or 1)
        # Most releases have no dates, so that invalid times are no error.
        times = any(getattr(self, name, None) is not None for name in ("dates", "cohort"))
        reading = understand(source, times=times or self.reads_times, k=k, scale=scale)
        if getattr(self, "dates", None) is None and not self.reads_times:
            reading = without_dates(reading, None, how_to_date(self.get_params(deep=False)))
        warn_of_reading(reading)
        self._check_reading(reading)
        return reading.ratings

    def _check_reading(self, reading: Reading) -> None:
        """Raise a RecveilError for a table that was read, but cannot be used."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        private = "seed" if self._seed_is_private else ""
        shown = [
            f"{name}={'<private>' if name == private else _shown(value, name)}"
            for name, parameter in signature(type(self)).parameters.items()
            if not _is_same(value := getattr(self, name), parameter.default)
        ]
        return shortened(f"{type(self).__name__}({', '.join(shown)})", N_CHAR_MAX)


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _shown(value: Any, name: str) -> str:
    """Return a parameter as written, or the number of values of a table or a list."""
    is_ours = type(value).__module__.startswith("recveil.")
    is_data = hasattr(value, "__len__") and not isinstance(value, str)
    return f"<{len(value)} values>" if is_data and not is_ours and name != "scale" else repr(value)


def check_seed(seed: int | None) -> None:
    """Raise a RecveilError unless the seed is a whole number of at least 0, or not given."""
    if seed is not None and not (isinstance(seed, int) and seed >= 0):
        raise RecveilError(
            f"seed is {seed!r}; expected a whole number of at least 0", code="option.value"
        )


def check_k(k: Any, least: int = 2) -> None:
    """Raise a RecveilError unless k is a whole number of at least `least`."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < least:
        raise RecveilError(
            f"k is {k!r}; expected a whole number of at least {least}", code="option.value"
        )


def check_limits(diversity: Any, closeness: Any) -> None:
    """Raise a RecveilError for limits of values that no release can have."""
    is_whole = isinstance(diversity, int | np.integer) and not isinstance(diversity, bool)
    if diversity is not None and not (is_whole and 2 <= diversity <= MOST_LEVELS):
        raise RecveilError(
            f"diversity (--diversity) is {diversity!r}; expected a whole number from 2 to "
            f"{MOST_LEVELS}",
            code="option.value",
        )
    is_number = isinstance(closeness, float | int | np.number) and not isinstance(closeness, bool)
    if closeness is not None and not (is_number and 0 <= closeness <= 1):
        raise RecveilError(
            f"closeness (--closeness) is {closeness!r}; expected a number from 0 to 1",
            code="option.value",
        )


def check_limits_of(scale: RatingScale, diversity: Any, closeness: Any) -> None:
    """Raise a RecveilError for limits of values on a scale whose levels are not counted."""
    if (diversity, closeness) == (None, None):
        return
    if scale.unary or not has_few_levels(scale.to_json()):
        raise RecveilError(
            f"diversity and closeness (--diversity, --closeness): they need ratings with at most "
            f"{MOST_LEVELS} levels; drop them",
            code="option.unsupported",
        )


def published_limits(diversity: int | None, closeness: float | None) -> dict[str, int | float]:
    """Return the limits of values that are set, as they are published.

    >>> published_limits(2, None)
    {'diversity': 2}
    """
    limits = {
        "diversity": None if diversity is None else int(diversity),
        "closeness": None if closeness is None else float(closeness),
    }
    return {name: limit for name, limit in limits.items() if limit is not None}


def require_group(ratings: Ratings, k: int) -> None:
    """Raise a RecveilError if the users cannot form a group of k."""
    if ratings.n_users < k:
        raise RecveilError(
            f"{describe_count(ratings.n_users, 'user')} cannot form a group of k = {k}; lower k, "
            f"or add users",
            code="table.too-few-users",
        )


def check_users(
    ratings: Ratings, k: int, *, takes_likes: bool = False, takes_unordered: bool = False
) -> None:
    """Raise a RecveilError unless users with ratings can form groups of k.

    Also rejects implicit feedback that the method does not support, ratings that are all equal, and
    an inferred scale with an end that fewer than k users used, since the published scale would
    reveal them.
    """
    require_group(ratings, k)
    check_every_user_rated(ratings, takes_unordered=takes_unordered)
    if not (takes_likes and ratings.is_unary):
        reject_likes(ratings, PUBLISHED)
    reject_doubts(ratings, int(k))


def check_every_user_rated(ratings: Ratings, *, takes_unordered: bool = False) -> None:
    """Raise a RecveilError if a user has no rating, or for unsupported labels or scales."""
    check_scale(ratings.scale)
    if not takes_unordered:
        reject_unordered(ratings, "this method")
    if (ratings.activity == 0).any():
        raise RecveilError(
            f"user {ratings.users[np.argmin(ratings.activity)]} has no rating; expected at least "
            f"one per user; drop users without ratings",
            code="table.too-few-ratings",
        )


def check_scale(scale: RatingScale) -> None:
    """Raise a RecveilError for a scale that is too fine or too large for published values.

    Tenths of steps, and hundredths of a range without steps, must be distinct.
    """
    unit = scale.step if scale.step and not scale.is_fine else scale.range / 10
    is_too_small = scale.range > 0 and unit < 10 * FINEST_STEP
    if is_too_small or max(abs(scale.low), abs(scale.high)) > _LARGEST:
        raise RecveilError(
            f"scale {scale}: expected ratings up to {_LARGEST:g}, in steps of "
            f"{10 * FINEST_STEP:g} or more; give ratings in another unit",
            code="scale.invalid",
        )


def seed_or_random(seed: int | None) -> int:
    """Return the seed, or draw one from the system."""
    return secrets.randbits(64) if seed is None else seed


def rounded(values: Any, scale: RatingScale, step: float | None) -> Any:
    """Round values to multiples of a step, or only clip them to the scale.

    >>> rounded(np.array([3.666, 5.2]), RatingScale(1, 5, 1), 0.1)
    array([3.7, 5. ])
    """
    if step is not None:
        return scale.round(values, step)
    # + 0.0 turns -0.0, which equals 0.0 but is written differently, into 0.0.
    return np.clip(values, scale.low, scale.high) + 0.0


def secret_rng(seed: int, ratings: Ratings) -> np.random.Generator:
    """Return a generator that the seed alone does not repeat.

    It is seeded with the seed and a digest of the private ratings, so an adversary who guesses a
    seed such as 0 cannot undo its random choices.
    """
    return np.random.default_rng([seed, int.from_bytes(ratings.digest()[:16], "big")])


def assemble(
    ratings: Ratings,
    rng: np.random.Generator,
    *,
    claim: Claim,
    settings: Mapping[str, Any],
    groups: Groups,
    blocks: Blocks,
    default_layout: Literal["users", "groups"],
    seed: int,
    expect: Callable[[Layout, FileFormat], Expected] | None = None,
    used: Mapping[str, Any] | None = None,
    levels: NDArray[np.int64] | None = None,
    users: NDArray[Any] | None = None,
    predecessor: Predecessor | None = None,
    continuation: Continuation | None = None,
) -> Release:
    """Assemble the public and private parts of a release; `rng` draws the pseudonyms' prefix.

    `users` are those of the groups; by default those of the ratings.
    """
    users = ratings.users if users is None else users
    published = Published(
        claim=claim,
        items=ratings.items,
        scale=ratings.scale,
        settings=dict(settings),
        n_users=users.size,
        prefix=fresh_prefix(users, rng),
        blocks=blocks,
        default_layout=default_layout,
        expect=expect,
        predecessor=predecessor,
    )
    private = Private(
        users=users,
        groups=groups,
        seed=seed,
        settings=dict(used or {}),
        levels=levels,
        ratings_sha256=digest_of(ratings),
        measure_coverage=partial(measure_coverage, ratings),
        search_items=partial(search_ratings, ratings),
        find_linkage=find_linkage,
        continuation=continuation,
    )
    return Release(published, private)


def count_published(release: Sides, ratings: Ratings) -> PublishedCounts:
    """Count the items and values of a release of these ratings."""
    return PublishedCounts.of(release.published.blocks(), release.original_items, ratings)


def measure_coverage(ratings: Ratings, release: Sides) -> Coverage:
    """Return the coverage of a release of these ratings."""
    return compare_counts(count_published(release, ratings), ratings, release)


def compare_counts(counts: PublishedCounts, ratings: Ratings, release: Sides) -> Coverage:
    """Return the coverage of a release with these counts."""
    published = release.published
    contains = published.claim.about.contains_users
    return counts.coverage(ratings, published.n_users, published.claim.k, contains_users=contains)


def with_private(release: Release, **changes: Any) -> Release:
    """Return a release with changes to its private part."""
    return replace(release, private=replace(release.private, **changes))


def anonymize_hidden(ratings: Ratings, anonymizer: Anonymizer, seed: int) -> Release:
    """Anonymize ratings, and replace each item's id by a pseudonym, mapped in the private folder.

    Items are reordered at random first, so that no order within the release reveals the old one.
    """
    # A generator of its own, as secret as that of the anonymizer.
    digest = int.from_bytes(ratings.digest()[:16], "big")
    rng = np.random.default_rng([seed, digest, 1])
    order = rng.permutation(np.flatnonzero(ratings.support > 0))
    prefix = fresh_prefix(ratings.items, rng, "i")
    names = np.array(pseudonyms(prefix, order.size, 0, order.size), dtype=object)
    sides = anonymizer.anonymize(_renamed(ratings, order, names))
    published = sides.published
    kept = _published_items(published)
    if not kept.all():  # a method may publish fewer; names without gaps reveal only their number
        names = np.array(pseudonyms(prefix, int(kept.sum()), 0, int(kept.sum())), dtype=object)
        published = replace(published, items=names, blocks=partial(_blocks_on, published, kept))
        order = order[kept]
    published = replace(
        published,
        settings={**published.settings, HIDDEN_ITEMS.name: HIDDEN_ITEMS.allowed[0]},
    )
    return with_private(
        Release(published, sides.private),
        items=ratings.items[order],
        ratings_sha256=digest_of(ratings),
        measure_coverage=partial(measure_coverage, ratings),
        search_items=None,
    )


def _published_items(published: Published) -> NDArray[np.bool_]:
    """Return which items occur in a record; reading stops once all do."""
    found = np.zeros(published.items.size, np.bool_)
    for block in published.blocks():
        found[block.indices] = True
        if found.all():
            break
    return found


def _blocks_on(published: Published, kept: NDArray[np.bool_]) -> Iterator[Records]:
    """Yield the records, with positions among the published items."""
    place = (np.cumsum(kept) - 1).astype(np.int32)
    return (replace(block, indices=place[block.indices]) for block in published.blocks())


def _renamed(ratings: Ratings, order: np.ndarray, names: np.ndarray) -> Ratings:
    """Return the same ratings with the items in another order, under other names."""
    # The previous position of each rating, counted from 1, since a sparse table may drop zeros.
    places = np.arange(1, ratings.n_ratings + 1)
    shape = (ratings.n_users, ratings.n_items)
    table = sparse.csr_array((places, ratings.indices, ratings.indptr), shape=shape)
    moved = sparse.csr_array(table[:, order])
    moved.sort_indices()
    before = moved.data - 1
    return Ratings(
        users=ratings.users,
        items=names,
        indptr=moved.indptr,
        indices=moved.indices,
        values=ratings.values[before],
        days=None if ratings.days is None else ratings.days[before],
        scale=ratings.scale,
    )
