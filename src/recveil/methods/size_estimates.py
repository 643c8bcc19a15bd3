"""Estimate a release's size, memory and time before any work."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from recveil.methods.predictive.anonymizer import value_step
from recveil.methods.synthetic.options import AS_RATED, on_catalog, parse_item_catalog
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.publish.size_estimate import (
    Expected,
    Kind,
    expect,
    expect_padded,
    expect_sparse,
    expect_synthetic,
)
from recveil.ratings import Ratings
from recveil.release.coverage import FEWEST_RATINGS, Coverage
from recveil.release.synthetic_form import step_of_drawn
from recveil.runtime.errors import RecveilError

Options = Mapping[str, Any]
# Bytes of Python and its libraries, per rating and per value; only a few blocks of values are in
# memory at a time. Fitted to MovieLens 100K and 1M, and to synthetic tables of up to 100 million
# ratings (docs/appendix/results.md).
_LIBRARIES = 0.38e9
_A_RATING = {"predictive": 25, "k-corating": 28, "sparse": 42, "synthetic": 50}
_BY_NEIGHBOURS = ("similarity", "trust")
_A_RATING_OF_NEIGHBOURS = 62
_PER_VALUE, _MOST_OF_VALUES = 60, 0.4e9
# Seconds to compute a fill from the neighbours of a user; and to fit a model with many factors,
# which little noise leaves, whatever the size of the table.
_A_FILL = 6e-6
_MANY_FACTORS, _MUCH_NOISE = 15.0, 5.0
# What an estimate is based on; `recveil.report.release` describes each.
Basis = Literal[
    "groups-of-k",
    "groups-of-levels",
    "padded-rows",
    "random-groups",
    "without-diversity",
    "frequent-items",
    "n-users-given",
    "n-users-noisy",
    "mean-ratings",
    "rare-items-omitted",
    "many-factors",
]


class Foreseen(NamedTuple):
    """The estimate of a release."""

    # Upper bound; None if rows belong to no real user
    groups: int | None
    # Number of users that the rows represent, or of synthetic users
    n_users: int
    # Estimated size and time; None for small releases
    expected: Expected | None
    # Approximate peak memory in bytes
    memory: int
    basis: tuple[Basis, ...]
    # None if nearly all is covered, or `rejection` is why a run would fail
    coverage: Coverage | None = None
    # By the noisy answers of the run, which then decide
    noisy_coverage: Coverage | None = None
    rejection: str = ""


def foresee_predictive(
    ratings: Ratings, k: int | None, options: Options, layout: str, file_format: str
) -> Foreseen:
    """Estimate a release of predictive anonymization."""
    least = int(k or 1)
    levels = options.get("privacy_levels")
    step = value_step(options.get("round_values", "usual"), ratings.scale)
    groups = _most_groups(ratings, least, levels)
    basis: list[Basis] = ["groups-of-k" if levels is None else "groups-of-levels"]
    if options.get("homogenize", "padded") == "padded" and options.get("padding") != 0:
        expected = expect_padded(ratings, least, levels, layout, file_format, step)
        basis.append("padded-rows")
    else:
        expected = _expect_at_random(ratings, "simple", groups, layout, file_format, step)
        basis.append("random-groups")
        if options.get("l", 1) > 1:
            basis.append("without-diversity")
    foreseen = _with_memory(ratings, groups, expected, _A_RATING["predictive"], basis)
    return foreseen._replace(coverage=_empty_coverage(ratings))


def _empty_coverage(ratings: Ratings) -> Coverage | None:
    """Return the coverage of rows with imputed values if few users have ratings of their own."""
    n_items = int(np.count_nonzero(ratings.support))
    n_short = int(np.count_nonzero(ratings.activity < FEWEST_RATINGS))
    coverage = Coverage(n_items, n_items, 1.0, ratings.n_users, n_short, n_short)
    return coverage if coverage.is_nearly_empty else None


def foresee_nominal(
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
        fills = max(0, expected.n_values - ratings.n_ratings)
        expected = expected._replace(seconds=expected.seconds + _A_FILL * fills)
    foreseen = _with_memory(ratings, groups, expected, a_rating, ["groups-of-k", "random-groups"])
    return foreseen._replace(coverage=_empty_coverage(ratings))


def foresee_sparse(
    ratings: Ratings, k: int | None, options: Options, layout: str, file_format: str
) -> Foreseen:
    """Estimate a release of sparse rows."""
    least = int(k or 1)
    groups = _most_groups(ratings, least, None)
    step = value_step("usual", ratings.scale)
    has_dates = options.get("dates") is not None
    expected = expect_sparse(ratings, least, layout, file_format, step, has_dates=has_dates)
    basis: list[Basis] = ["groups-of-k", "frequent-items"]
    foreseen = _with_memory(ratings, groups, expected, _A_RATING["sparse"], basis)
    return foreseen._replace(
        coverage=Coverage.at_most(
            ratings.support, least, ratings.n_users, int((ratings.activity < FEWEST_RATINGS).sum())
        )
    )


def foresee_synthetic(
    ratings: Ratings, _k: int | None, options: Options, layout: str, file_format: str
) -> Foreseen:
    """Estimate a release of synthetic users from the table, for the publisher, without a query."""
    n_requested = options.get("n_users")
    n_users = ratings.n_users if n_requested is None else int(n_requested)
    items = _items_drawn(ratings, options)
    each = ratings.n_ratings / max(1, ratings.n_users)
    coverage, by_answers, rejection = None, None, ""
    try:
        coverage, by_answers, each = Synthesizer(**options).expect_coverage(ratings)
    except RecveilError as error:
        rejection = str(error)
    basis: list[Basis] = ["n-users-noisy" if n_requested is None else "n-users-given"]
    basis.append("mean-ratings")
    if "item_catalog" not in options:
        basis.append("rare-items-omitted")
    expected = None
    if layout != "model" and not rejection:
        grid = step_of_drawn(ratings.scale, whole=options.get("rating_grid") == "whole")
        n_ratings = float(ratings.n_ratings)
        expected = expect_synthetic(
            items, ratings.scale, n_users, each, n_ratings, file_format, grid
        )
        epsilon = options.get("epsilon")
        if epsilon is None or epsilon > _MUCH_NOISE:
            expected = expected._replace(seconds=expected.seconds + _MANY_FACTORS)
            basis.append("many-factors")
    memory = _memory(ratings, expected, _A_RATING["synthetic"])
    return Foreseen(
        *(None, n_users, expected, memory, tuple(basis), coverage, by_answers, rejection)
    )


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


def _expect_at_random(
    ratings: Ratings, kind: Kind, groups: int, layout: str, file_format: str, step: float | None
) -> Expected:
    size = ratings.n_users / groups
    widths = np.full(groups, union_width(ratings.support, ratings.n_users, round(size)))
    return expect(ratings, kind, widths, np.full(groups, size), layout, file_format, step)


def union_width(support: NDArray[np.int64], n_users: int, size: int) -> float:
    """Return the expected number of items that a random group has rated together."""
    others = n_users - support[support > 0].astype(float)
    no_raters = np.zeros(others.size)
    enough = others >= size
    ways = gammaln(others[enough] + 1) - gammaln(others[enough] - size + 1)
    no_raters[enough] = np.exp(ways - gammaln(n_users + 1) + gammaln(n_users - size + 1))
    return float((1 - no_raters).sum())


def _with_memory(
    ratings: Ratings, groups: int, expected: Expected, a_rating: int, basis: list[Basis]
) -> Foreseen:
    memory = _memory(ratings, expected, a_rating)
    return Foreseen(groups, ratings.n_users, expected, memory, tuple(basis))


def _memory(ratings: Ratings, expected: Expected | None, a_rating: int) -> int:
    """Return the approximate peak memory in bytes."""
    of_values = 0 if expected is None else min(_PER_VALUE * expected.n_values, _MOST_OF_VALUES)
    return round(_LIBRARIES + a_rating * ratings.n_ratings + of_values)
