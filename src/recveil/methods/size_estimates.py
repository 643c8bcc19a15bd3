"""Estimate a release's size, memory and time before any work."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from recveil.methods.predictive.anonymizer import value_step
from recveil.methods.synthetic.options import AS_RATED, on_catalog, parse_item_catalog
from recveil.publish.size_estimate import (
    Expected,
    Kind,
    expect,
    expect_drawn,
    expect_padded,
    expect_sparse,
)
from recveil.ratings import Ratings
from recveil.release.synthetic_form import step_of_drawn

Options = Mapping[str, Any]
# Bytes of Python and its libraries, per rating and per value; only a few blocks of values are in
# memory at a time. Fitted to MovieLens 100K and 1M, and to synthetic tables of up to 100 million
# ratings (docs/explanation/results.md).
_LIBRARIES = 0.38e9
_A_RATING = {"predictive": 25, "k-corating": 28, "sparse": 42, "synthetic": 50}
_BY_NEIGHBOURS = ("similarity", "trust")
_A_RATING_OF_NEIGHBOURS = 62
_PER_VALUE, _MOST_OF_VALUES = 60, 0.4e9
# Seconds to ask the neighbours of a person for a fill; and to learn tastes that stand out of little
# noise, of which there may be many, whatever the size of the table.
_A_FILL = 6e-6
_MANY_FACTORS, _MUCH_NOISE = 15.0, 5.0
_GROUPS_AT_RANDOM = (
    "labels and bytes as if groups were drawn at random: people of one group share more items than "
    "that, so that it will mostly be less"
)


class Foreseen(NamedTuple):
    """The estimate of a release."""

    # Upper bound; None if rows belong to no real user
    groups: int | None
    # Number of users that the rows represent, or of synthetic users
    people: int
    # Estimated size and time; None for small releases
    expected: Expected | None
    # Approximate peak memory in bytes
    memory: int
    # The basis of the estimates, one clause each
    basis: tuple[str, ...]


def foresee_predictive(
    ratings: Ratings, k: int | None, options: Options, layout: str, file_format: str
) -> Foreseen:
    """Estimate a release of predictive anonymization."""
    least = int(k or 1)
    levels = options.get("privacy_levels")
    step = value_step(options.get("round_values", "usual"), ratings.scale)
    groups = _most_groups(ratings, least, levels)
    basis = [_groups_basis(least, has_levels=levels is not None)]
    if options.get("homogenize", "padded") == "padded":
        expected = expect_padded(ratings, least, levels, layout, file_format, step)
        basis.append("labels exactly, if there are so many groups; bytes by what such columns took")
    else:
        expected = _expect_at_random(ratings, "simple", groups, layout, file_format, step)
        basis.append(_GROUPS_AT_RANDOM)
        if options.get("l", 1) > 1:
            basis.append("without what diversity adds (l, --l), which only the groups tell")
    return _with_memory(ratings, groups, expected, _A_RATING["predictive"], basis)


def foresee_words(
    ratings: Ratings, k: int | None, _options: Options, layout: str, file_format: str
) -> Foreseen:
    """Estimate a release of nominal labels, whose rows are padded."""
    return foresee_predictive(ratings, k, {}, layout, file_format)


def foresee_k_corating(
    ratings: Ratings, k: int | None, options: Options, layout: str, file_format: str
) -> Foreseen:
    """Estimate a release of k-coRating."""
    least = int(k or 1)
    averages = options.get("protect", "none") == "mean"
    step = value_step("usual", ratings.scale) if averages else ratings.scale.step
    groups = _most_groups(ratings, least, None)
    expected = _expect_at_random(ratings, "co-rated", groups, layout, file_format, step)
    a_rating = _A_RATING["k-corating"]
    if options.get("fill") in _BY_NEIGHBOURS:
        a_rating = _A_RATING_OF_NEIGHBOURS
        fills = max(0, expected.labels - ratings.n_ratings)
        expected = expected._replace(seconds=expected.seconds + _A_FILL * fills)
    basis = [_groups_basis(least, has_levels=False), _GROUPS_AT_RANDOM]
    return _with_memory(ratings, groups, expected, a_rating, basis)


def foresee_sparse(
    ratings: Ratings, k: int | None, _options: Options, layout: str, file_format: str
) -> Foreseen:
    """Estimate a release of sparse rows."""
    least = int(k or 1)
    groups = _most_groups(ratings, least, None)
    step = value_step("usual", ratings.scale)
    expected = expect_sparse(ratings, least, layout, file_format, step)
    basis = [
        _groups_basis(least, has_levels=False),
        f"labels from the number of {'likes' if ratings.is_unary else 'ratings'} of items that "
        f"{least} people rated, which rows are drawn to have on average",
    ]
    return _with_memory(ratings, groups, expected, _A_RATING["sparse"], basis)


def foresee_synthetic(
    ratings: Ratings, _k: int | None, options: Options, layout: str, file_format: str
) -> Foreseen:
    """Estimate a release of synthetic users, without spending any privacy budget.

    It looks at nothing but the numbers of users, items and ratings, which every verb says first.
    """
    n_requested = options.get("n_users")
    people = ratings.n_users if n_requested is None else int(n_requested)
    items = _items_drawn(ratings, options)
    each = ratings.n_ratings / max(1, ratings.n_users)
    what = "likes" if ratings.is_unary else "ratings"
    basis = [
        "people as asked for"
        if n_requested is not None
        else "people as there are; the run counts them with noise, if epsilon is a number",
        f"labels from the mean number of {what}, to which the run adds noise"
        + (
            "" if "item_catalog" in options else ", and without items that few people know, so less"
        ),
    ]
    expected = None
    if layout != "model":
        grid = step_of_drawn(ratings.scale, whole=options.get("rating_grid") == "whole")
        n_ratings = float(ratings.n_ratings)
        expected = expect_drawn(items, ratings.scale, people, each, n_ratings, file_format, grid)
        epsilon = options.get("epsilon")
        if epsilon is None or epsilon > _MUCH_NOISE:
            expected = expected._replace(seconds=expected.seconds + _MANY_FACTORS)
            basis.append("time as if many tastes stood out of the noise")
    memory = _memory(ratings, expected, _A_RATING["synthetic"])
    return Foreseen(None, people, expected, memory, tuple(basis))


def _items_drawn(ratings: Ratings, options: Options) -> NDArray[Any]:
    """Return an upper bound of the items; raise a RecveilError for an incomplete catalog."""
    catalog = options.get("item_catalog")
    if catalog is None or (isinstance(catalog, str) and catalog == AS_RATED):
        return ratings.items
    listed = parse_item_catalog(catalog)
    if isinstance(listed, str):
        return ratings.items
    return on_catalog(ratings, listed).items


def _most_groups(ratings: Ratings, k: int, levels: Any) -> int:
    """Return the largest possible number of groups, given privacy levels."""
    shares = 1 / k if levels is None else 1 / np.asarray(levels)
    return max(1, int(float(np.broadcast_to(shares, ratings.n_users).sum()) + 1e-6))


def _groups_basis(k: int, *, has_levels: bool) -> str:
    if has_levels:
        return (
            "groups from the number of people and their levels, if none is larger than it must be"
        )
    return f"groups from the number of people, if each has {k} and none more"


def _expect_at_random(
    ratings: Ratings, kind: Kind, groups: int, layout: str, file_format: str, step: float | None
) -> Expected:
    size = ratings.n_users / groups
    widths = np.full(groups, union_width(ratings.support, ratings.n_users, round(size)))
    return expect(ratings, kind, widths, np.full(groups, size), layout, file_format, step)


def union_width(support: NDArray[np.int64], n_users: int, size: int) -> float:
    """Return the expected number of items that a random group has rated together.

    Parameters
    ----------
    support : ndarray of int64, shape (n_items,)
        Item counts.
    n_users : int
    size : int
        Users per group, at most `n_users`.

    Examples
    --------
    >>> round(union_width(np.array([4, 1]), 4, 2), 12)  # one item of everybody, one of one person
    1.5
    """
    others = n_users - support[support > 0].astype(float)
    no_raters = np.zeros(others.size)
    enough = others >= size
    ways = gammaln(others[enough] + 1) - gammaln(others[enough] - size + 1)
    no_raters[enough] = np.exp(ways - gammaln(n_users + 1) + gammaln(n_users - size + 1))
    return float((1 - no_raters).sum())


def _with_memory(
    ratings: Ratings, groups: int, expected: Expected, a_rating: int, basis: list[str]
) -> Foreseen:
    memory = _memory(ratings, expected, a_rating)
    return Foreseen(groups, ratings.n_users, expected, memory, tuple(basis))


def _memory(ratings: Ratings, expected: Expected | None, a_rating: int) -> int:
    """Return the approximate peak memory in bytes."""
    labels = 0 if expected is None else min(_PER_VALUE * expected.labels, _MOST_OF_VALUES)
    return round(_LIBRARIES + a_rating * ratings.n_ratings + labels)
