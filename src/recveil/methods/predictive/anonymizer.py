"""PredictiveAnonymizer, which pads, groups and homogenizes (Chang et al., sections 4 and 5.2)."""

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numba import get_num_threads
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from recveil.clustering.bounded_k_means import Assignment, Centers, Distance
from recveil.clustering.level_gather import checked_levels
from recveil.methods.base import (
    FINEST_STEP,
    BaseAnonymizer,
    assemble,
    check_k,
    check_limits,
    check_limits_of,
    check_seed,
    check_users,
    published_limits,
    rounded,
    secret_rng,
    seed_or_random,
    with_private,
)
from recveil.methods.components import (
    component_name,
    grouping_name,
    make_grouping,
    make_predictor,
    settings_of,
)
from recveil.methods.k_corating.fills import learn
from recveil.methods.predictive.diversity import (
    AddedEdges,
    DiversityCost,
    add_edges,
    diversify,
    gather_coverage,
    padded_labels,
)
from recveil.methods.predictive.homogenize import (
    count_items,
    homogenize_padded,
    homogenize_simple,
    keep_within,
)
from recveil.methods.rare_items import labelled_as, merge_items
from recveil.methods.release_summary import Suppressed, no_values_within
from recveil.predict import Padded, Predictor, padded_by
from recveil.publish.release import Release
from recveil.publish.size_estimate import expect
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.ratings import levels_by_rule
from recveil.release.claim import Claim
from recveil.release.exact_ratings import count_exact_ratings
from recveil.release.method import usual_step
from recveil.release.records import Groups, Records
from recveil.release.specs.predictive import GROUPINGS_WITH_STEPS, PREDICTIVE, STEPS
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.runtime.threads import one_thread
from recveil.verification.diversity import check_parameters
from recveil.verification.value_limits import ValueLimits

# Padded rows that are compared are kept: 4 GiB at most.
_MOST_PADDED_CELLS = 1 << 30

# Parameters of bounded t-means, with the usual value first.
_STEPS = {
    "distance": get_args(Distance),
    "centers": get_args(Centers),
    "assignment": get_args(Assignment),
}

Homogenize = Literal["padded", "simple"]
PaddedValues = Literal["rated", "predicted"]


class PredictiveAnonymizer(BaseAnonymizer):
    """Publish equivalence classes of at least k users who share one row.

    A predictor fills the empty cells, so that users who rated different items can be compared; a
    grouping forms groups of at least k similar users; homogenizing gives each group one row.

    Parameters
    ----------
    k : int
        Smallest group, at least 2.
    homogenize : {"padded", "simple"}
        "padded" averages the padded rows, so every published row is full. That does not hide who
        rated what: see docs/explanation/threats.md, "What padded rows reveal". "simple" averages
        the raters' ratings: rows stay sparse, and an item with one rater in the group, or whose
        raters agree, is published with the exact rating.
    predictor : str or Predictor
        "funk-svd", "item-mean", or an object with `fit` and `predict`, such as `UserKNN`. One that
        also has `padding` is much faster: others are called twice per cell, from several threads.
    grouping : str or scikit-learn clusterer, optional
        One of `GROUPINGS`, by default the first, or a clusterer with `min_size`. With privacy
        levels, one of `LEVEL_GROUPINGS`, or a clusterer whose `fit` takes `levels`.
    round_values : {"usual", "tenth", "scale", "none"} or float
        Grid of the published values: a tenth of the scale's step (the default; for ordinal labels
        the nearest label), the scale itself, none, or a step in rating points. An exact mean such
        as 3.667 reveals how many users were averaged; a grid reveals less. The claim does not
        depend on it.
    privacy_levels : str or array-like of int, shape (n_users,), optional
        Smallest group of each user, instead of k for all: one number per user in the order of
        `Ratings.users`, or a rule for `levels_by_rule`. A user of level 1 may have an own row, and
        is then published unchanged.
    b, l : int
        Diversity: every set of b items of a published row must occur in at least l different rows.
        Missing items are added. For b > 3 this needs short rows, whose sets can be counted.
    diversity, closeness : int, float, optional
        For simple rows: the ratings behind each mean have at least so many distinct values, and are
        at most so far from all ratings of the item (`recveil.verification.value_limits`). Other
        values are suppressed; a group without any value joins the one with the nearest mean.
    values : {"rated", "predicted"}
        What padded rows average: "rated", each member's own ratings, and predictions elsewhere;
        "predicted", predictions alone, so that no rating is recognizable.
    padding : float, optional
        Degree of padding, from 0, simple rows, to 1, padded rows (the default). Between them, rows
        have the items that a member rated and those that a member most likely rated: see
        `choose_items`. Their values are those of padded rows.
    neighbours : int, optional
        For the predictors "user-knn" and "trust-knn": as in `KCoRater`.
    distance : {"euclidean", "weighted-squared"}
        Distance that the groupings "predictive" and "bounded-t-means" use: between the users'
        embeddings, or the similarity of Chang et al., section 4.2, between their padded rows.
    centers : {"virtual", "users"}
        Centres of their clusters: means, or real users (ibid., Figure 3).
    assignment : {"rounds", "pairwise"}
        How they assign users to centres: see `recveil.clustering.BoundedTMeans`.
    seed : int, optional
        Fixes every random choice, except in predictors and groupings passed as objects, which have
        their own. Drawn from the system by default, and kept in the private folder.

    Notes
    -----
    Guarantee: every published record represents at least k users with identical rows
    (Chang et al., Definition 3.3; with privacy levels, Chen 2012, Definition 1: at least as many as
    each of them requested), so the records alone re-identify no user with probability above 1/k
    (Theorem 6.1). Precondition: the grouping returns groups of at least k, which is checked here
    and, from the written files, by `recveil.verification`. It does not guarantee that a user's
    ratings stay hidden: an adversary who knows the group learns its row.

    The order of the records depends on the seed and a digest of the private ratings, so the seed
    alone does not undo it.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    >>> release.published.claim
    Claim(kind='identical-rows', k=5, levels=False, b=1, l=1)
    >>> int(release.private.groups.sizes.min()) >= 5
    True
    """

    def __init__(
        self,
        k: int,
        homogenize: Homogenize = "padded",
        predictor: str | Predictor = "funk-svd",
        grouping: Any = None,
        *,
        round_values: str | float = "usual",
        privacy_levels: str | ArrayLike | None = None,
        b: int = 1,
        l: int = 1,  # noqa: E741
        values: PaddedValues = "rated",
        diversity: int | None = None,
        closeness: float | None = None,
        padding: float | None = None,
        neighbours: int | None = None,
        distance: Distance = "euclidean",
        centers: Centers = "virtual",
        assignment: Assignment = "rounds",
        seed: int | None = None,
    ) -> None:
        self.k = k
        self.homogenize = homogenize
        self.predictor = predictor
        self.grouping = grouping
        self.round_values = round_values
        self.privacy_levels = privacy_levels
        self.b = b
        self.l = l
        self.values = values
        self.diversity = diversity
        self.closeness = closeness
        self.padding = padding
        self.neighbours = neighbours
        self.distance = distance
        self.centers = centers
        self.assignment = assignment
        self.seed = seed
        self.check_options()

    def anonymize(self, ratings: Ratings | Any) -> Release:
        """Return a release of the ratings, which are not modified.

        Parameters
        ----------
        ratings : path, data frame, matrix or Ratings
            Any table that `recveil.read` reads.

        Raises
        ------
        RecveilError
            If k is below 2 or above the number of users, a user has no rating, all ratings are
            equal, the scale is inferred and fewer than k users used one of its ends, an option is
            invalid, the grouping returns a group below k or a user's level, or there are fewer than
            l groups.
        """
        ratings = self._read(ratings)
        self.check(ratings)
        levels = self._levels(ratings)
        step = value_step(self.round_values, ratings.scale)
        seed = seed_or_random(self.seed)
        predictor_seed, grouping_seed = (
            int(number) for number in np.random.default_rng(seed).integers(2**32, size=2)
        )
        predictor = make_predictor(self.predictor, predictor_seed, self.neighbours)
        grouping = make_grouping(self.grouping, self.k, levels, grouping_seed)
        published_grouping, steps = component_name(grouping), self._set_steps(grouping)
        if levels is not None and self.grouping == "one-k-gather":
            _check_one_k(levels, ratings, int(self.k))
        known = self._known(ratings)
        padding = padded_by(learn(predictor, known, get_num_threads()), known, grouping_seed)
        options = {} if levels is None else {"levels": levels}
        coordinates = padding.coordinates()
        rows = coordinates
        if getattr(grouping, "distance", "euclidean") == "weighted-squared":
            rows = self._padded_rows(ratings, padding)
            if grouping.value_range is None:
                grouping.set_params(value_range=ratings.scale.range)
        labels = grouping.fit(rows, **options).labels_
        limits = ValueLimits.of(published_limits(self.diversity, self.closeness))
        n_made = int(labels.max()) + 1
        if limits is not None:
            labels = _merge_beyond(ratings, labels, coordinates, limits)
        n_groups = int(labels.max()) + 1
        rng = secret_rng(seed, ratings)
        groups = Groups.from_labels(labels, rng.permutation(n_groups))
        kept, suppressed = None, {}
        if limits is not None:
            kept = keep_within(ratings, groups, limits)
            lost = Suppressed.of_means(ratings, groups, kept, n_made - n_groups)
            suppressed = {"suppressed": lost._asdict()}
        promised = _promises(groups, levels, int(self.k), type(grouping).__name__)
        added, cost = self._diversify(ratings, padding, groups)
        chosen = (
            choose_items(ratings, coordinates, groups, float(self.padding))
            if self.padding is not None and 0 < self.padding < 1
            else None
        )
        release = assemble(
            ratings,
            rng,
            claim=Claim(
                kind=PREDICTIVE.claim_of({}),
                k=int(self.k if levels is None else levels.min()),
                levels=levels is not None,
                b=int(self.b),
                l=int(self.l),
            ),
            settings={
                "method": PREDICTIVE.title,
                "homogenize": self._rows,
                "predictor": component_name(predictor)
                if self.neighbours is None
                else type(predictor).__name__,
                "grouping": published_grouping,
                "value_step": step,
            }
            | (
                {"values": "predicted", "values_below_k": "pooled"}
                if self.values == "predicted"
                else {}
            )
            | published_limits(self.diversity, self.closeness)
            | ({} if chosen is None else {"padding": float(self.padding or 0)})
            | ({} if self.neighbours is None else {"neighbours": int(self.neighbours)})
            | (steps if published_grouping in GROUPINGS_WITH_STEPS else {}),
            groups=groups,
            blocks=lambda: self._blocks(
                ratings, padding, groups, step, added, promised, kept, chosen
            ),
            default_layout="groups" if self._rows == "padded" else "users",
            seed=seed,
            expect=lambda layout, file_format: expect(
                ratings,
                self._rows,
                widths=_widths(ratings, groups, self._rows, added, kept)
                if chosen is None
                else np.diff(chosen.indptr),
                sizes=groups.sizes,
                layout=layout,
                file_format=file_format,
                step=step,
            ),
            used=settings_of(predictor, grouping) | suppressed,
            levels=levels,
        )
        lone = None
        if self._rows == "simple":  # to count in padded rows would be to make them twice
            lone = count_exact_ratings(ratings, groups, release.published.blocks(), step)
        return with_private(release, lone_ratings=lone, diversity_cost=cost)

    def check(self, ratings: Ratings) -> None:
        """Raise the errors of `anonymize` before any work."""
        self.check_options()
        check_users(ratings, self.k)
        check_limits_of(ratings.scale, self.diversity, self.closeness)

    def check_options(self) -> None:
        """Raise the errors that do not depend on the ratings."""
        check_seed(self.seed)
        check_k(self.k, least=2 if self.privacy_levels is None else 1)
        check_parameters(self.b, self.l)
        if self.homogenize not in get_args(Homogenize):
            raise RecveilError(
                f"homogenize (--homogenize) is {self.homogenize!r}; expected 'padded' or 'simple'",
                code="option.value",
            )
        for name, allowed in _STEPS.items():
            if getattr(self, name) not in allowed:
                raise RecveilError(
                    f"{name} (--{name}) is {getattr(self, name)!r}; expected {allowed[0]!r} or "
                    f"{allowed[1]!r}",
                    code="option.value",
                )
        self._check_values()
        check_limits(self.diversity, self.closeness)
        make_predictor(self.predictor, 0, self.neighbours)
        levels = None if self.privacy_levels is None else np.array([self.k])
        make_grouping(self.grouping, self.k, levels, 0)
        others = {
            "the predictions of homogenize (--homogenize) padded or of padding (--padding)": (
                self.homogenize != "simple"
            ),
            "privacy_levels (--privacy-levels)": self.privacy_levels is not None,
            "l (--l)": self.l != 1,
        }
        for other, is_set in others.items():
            if is_set and published_limits(self.diversity, self.closeness):
                raise RecveilError(
                    f"diversity and closeness (--diversity, --closeness): not with {other}; drop "
                    f"one of the two",
                    code="option.conflict",
                )
        self._check_padding()

    @property
    def _rows(self) -> Homogenize:
        return "simple" if self.padding == 0 else self.homogenize

    def _check_padding(self) -> None:
        if self.padding is None:
            return
        is_number = isinstance(self.padding, Real) and not isinstance(self.padding, bool)
        if not is_number or not 0 <= self.padding <= 1:
            raise RecveilError(
                f"padding (--padding) is {quoted(self.padding, 20)}; expected a number from 0 to 1",
                code="option.value",
            )
        for name, value, usual in (
            ("homogenize", self.homogenize, "padded"),
            ("values", self.values, "rated"),
            ("l", self.l, 1),
        ):
            if value != usual:
                raise RecveilError(
                    f"padding (--padding) was given, but {name} (--{name}) is {value!r}; drop one "
                    f"of them",
                    code="option.conflict",
                )

    def _check_values(self) -> None:
        if self.values not in get_args(PaddedValues):
            raise RecveilError(
                f"values (--values) is {self.values!r}; expected 'rated' or 'predicted'",
                code="option.value",
            )
        if self.values == "rated":
            return
        if self.homogenize != "padded":
            raise RecveilError(
                f"values (--values) is 'predicted', but homogenize (--homogenize) is "
                f"{self.homogenize!r}, which averages ratings; choose homogenize padded, or the "
                f"method sparse (--method sparse)",
                code="option.conflict",
            )
        if self.privacy_levels is not None:
            raise RecveilError(
                "values (--values) is 'predicted', which publishes no rating, but a user of "
                "privacy level 1 requests exact ones; drop privacy_levels (--privacy-levels)",
                code="option.conflict",
            )

    def _set_steps(self, grouping: Any) -> dict[str, str]:
        """Give the grouping the steps that are not the usual ones, and return them."""
        steps = {name: getattr(self, name) for name in STEPS}
        steps = {name: value for name, value in steps.items() if value != _STEPS[name][0]}
        for name, value in steps.items():
            if name not in grouping.get_params():
                chosen = grouping_name(type(grouping))
                raise RecveilError(
                    f"{name} (--{name}) is {value!r}, which the grouping {chosen} does not have; "
                    f"choose grouping (--grouping) predictive or bounded-t-means",
                    code="option.conflict",
                )
            grouping.set_params(**{name: value})
        return steps

    def _padded_rows(self, ratings: Ratings, padding: Padded) -> NDArray[np.float32]:
        """Return the users' padded rows, over the items that anyone rated."""
        n_cells = ratings.n_users * ratings.n_items
        if n_cells > _MOST_PADDED_CELLS:
            raise RecveilError(
                f"distance (--distance) is 'weighted-squared', which compares padded rows of "
                f"{n_cells:,} cells, more than {_MOST_PADDED_CELLS:,}; choose 'euclidean'",
                code="table.too-large",
            )
        rows = padding.rows(slice(None))
        if self.values == "rated":
            rows[ratings.user_positions(), ratings.indices] = ratings.values
        return rows[:, ratings.support > 0]

    def _known(self, ratings: Ratings) -> Ratings:
        """Return the ratings from which predictions are learned."""
        if self.values == "rated":
            return ratings
        return merge_items(ratings, labelled_as(ratings, int(self.k)))

    def _levels(self, ratings: Ratings) -> NDArray[np.int64] | None:
        if self.privacy_levels is None:
            return None
        if isinstance(self.privacy_levels, str):
            return levels_by_rule(ratings, self.privacy_levels)
        return checked_levels(self.privacy_levels, ratings.n_users)

    def _diversify(
        self, ratings: Ratings, padding: Padded, groups: Groups
    ) -> tuple[AddedEdges | None, DiversityCost | None]:
        """Choose the items to add, and measure their cost."""
        if self.l == 1:
            return None, None
        if groups.sizes.size < self.l:
            raise RecveilError(
                f"{groups.sizes.size} groups cannot have {self.l} different rows (--l); "
                f"lower l or k",
                code="table.too-few-users",
            )
        if self.homogenize == "padded":
            return None, None  # every row holds every item: nothing is missing
        coverage = gather_coverage(homogenize_simple(ratings, groups), ratings.n_items)
        added = diversify(
            coverage,
            self.b,
            self.l,
            lambda rows, items: padded_labels(padding, groups, rows, items),
        )
        return added, DiversityCost.of(ratings, coverage, added)

    def _blocks(
        self,
        ratings: Ratings,
        padding: Padded,
        groups: Groups,
        step: float | None,
        added: AddedEdges | None,
        promised: NDArray[np.int64] | None,
        kept: NDArray[np.bool_] | None,
        chosen: Any,
    ) -> Iterator[Records]:
        if self._rows == "padded":
            is_predicted = self.values == "predicted"
            predicted_as = labelled_as(ratings, int(self.k)) if is_predicted else None
            homogenized = homogenize_padded(ratings, padding, groups, predicted_as=predicted_as)
        else:
            homogenized = homogenize_simple(ratings, groups)
        if chosen is not None:
            homogenized = keep_items(homogenized, chosen)
        if added is not None:
            homogenized = add_edges(homogenized, added.edges)
        first = n_values = 0
        for block in homogenized:
            if kept is not None:
                is_kept = kept[n_values : n_values + block.values.size]
                n_values += block.values.size
                block = block.only(is_kept)
            labels = rounded(block.values, ratings.scale, step)
            promises = None if promised is None else promised[first : first + len(block)]
            yield Records(block.sizes, block.indptr, block.indices, labels, promises)
            first += len(block)


def _widths(
    ratings: Ratings,
    groups: Groups,
    homogenize: Homogenize,
    added: AddedEdges | None,
    kept: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    """Return the number of values in each group's row, shape (n_groups,)."""
    if homogenize == "padded":
        return np.full(groups.sizes.size, (ratings.support > 0).sum())
    more = 0 if added is None else np.diff(added.edges.indptr)
    widths = np.asarray(count_items(ratings, groups) + more)
    if kept is None:
        return widths
    return np.bincount(np.repeat(np.arange(widths.size), widths)[kept], minlength=widths.size)


def _merge_beyond(
    ratings: Ratings, labels: NDArray[Any], places: NDArray[Any], limits: ValueLimits
) -> NDArray[np.int64]:
    """Merge each group without a value within the limits with the one of the nearest mean."""
    while True:
        labels = np.unique(labels, return_inverse=True)[1]
        groups = Groups.from_labels(labels)
        widths = _widths(ratings, groups, "simple", None, keep_within(ratings, groups, limits))
        empty = np.flatnonzero(widths == 0)
        if not empty.size:
            return labels
        if widths.size == 1:
            raise no_values_within(limits)
        means = np.add.reduceat(places[groups.members], groups.starts[:-1])
        means = means / groups.sizes[:, None]
        apart = ((means - means[empty[0]]) ** 2).sum(axis=1)
        apart[empty[0]] = np.inf
        labels = np.where(labels == empty[0], np.argmin(apart), labels)


def _promises(
    groups: Groups, levels: NDArray[np.int64] | None, k: int, grouping: str
) -> NDArray[np.int64] | None:
    """Return the highest level in each group, or None without levels; check that all are kept."""
    least = groups.sizes.min()
    if levels is None:
        if least < k:
            raise RecveilError(
                f"{grouping} returned a group of {describe_count(least, 'user')}; expected at "
                f"least k = {k}; set its min_size to k",
                code="argument.result",
            )
        return None
    promised = np.maximum.reduceat(levels[groups.members], groups.starts[:-1])
    broken = np.flatnonzero(groups.sizes < promised)
    if broken.size:
        raise RecveilError(
            f"{grouping} returned a group of "
            f"{describe_count(groups.sizes[broken[0]], 'user')}, one of whom has the level "
            f"{promised[broken[0]]}; expected a grouping that takes levels",
            code="argument.result",
        )
    return promised


def value_step(round_values: str | float, scale: RatingScale) -> float | None:
    """Turn the setting `round_values` into a step in rating points, or None for no rounding."""
    if scale.labels:
        if round_values not in ("usual", "scale", scale.step):
            raise RecveilError(
                f"round_values (--round) is {quoted(round_values, 20)}, but the ratings are "
                f"ordinal labels, with no values between them; drop it: values are the nearest "
                f"label",
                code="option.unsupported",
            )
        return scale.step
    if round_values == "none":
        return None
    if round_values in ("usual", "tenth"):
        return usual_step(scale.to_json())
    if round_values == "scale":
        if scale.step is None:
            raise RecveilError(
                f"scale {scale} has no step to round to; give a number or 'tenth'",
                code="option.unsupported",
            )
        return scale.step
    try:
        step = float(round_values)
    except (TypeError, ValueError):
        step = math.nan
    if not 0 < step <= (scale.range or math.inf):
        raise RecveilError(
            f"round_values (--round) is {round_values!r}; expected 'tenth', 'scale', 'none', or a "
            f"step above 0 and not above the scale's range of {scale.range:g}",
            code="option.value",
        )
    if step < FINEST_STEP:
        raise RecveilError(
            f"round_values (--round) is {round_values!r}, but published values have ten decimals; "
            f"expected a step of {FINEST_STEP:g} or more, or 'none'",
            code="option.value",
        )
    return step


def _check_one_k(levels: NDArray[np.int64], ratings: Ratings, k: int) -> None:
    """Raise a RecveilError for levels between 1 and the highest, naming such a user."""
    highest = levels.max()
    between = np.flatnonzero((levels != 1) & (levels != highest))
    if between.size:
        first = between[0]
        raise RecveilError(
            f"privacy_levels (--privacy-levels): user {ratings.users.tolist()[first]!r} has the "
            f"level {levels[first]}, the highest level is {highest}, and k is {k}; the grouping "
            f"'one-k-gather' supports 1 and the highest level only; change the levels or k, or "
            f"choose the grouping level-gather (--grouping)",
            code="level.value",
        )


# Groups whose rates estimate those of a group, and cells that are estimated at a time.
_N_SIMILAR = 20
_CELLS = 1 << 22


def choose_items(
    ratings: Ratings, coordinates: NDArray[np.float32], groups: Groups, degree: float
) -> Any:
    """Choose the items of each group's row: those that a member rated, and some of the others.

    An item that a user of s of the G groups rated is added to ``floor(degree * (G - s))`` other
    groups, those with the most likely raters (of equally likely ones the first, which is random):
    future work of Chang et al., section 7. The share of raters is estimated from the 20 groups with
    the nearest mean `coordinates` and, with the weight of an average group, from all users.
    """
    n_groups, sizes = groups.sizes.size, groups.sizes
    member = sparse.csr_array(
        (np.ones(groups.members.size), groups.members, groups.starts),
        shape=(n_groups, ratings.n_users),
    )
    rated = sparse.csr_array(
        (np.ones(ratings.n_ratings), ratings.indices, ratings.indptr),
        shape=(ratings.n_users, ratings.n_items),
    )
    raters = (member @ rated).tocsc()
    sums: NDArray[np.float64] = np.asarray(member @ coordinates)
    similar = _similar_groups(sums / sizes[:, np.newaxis])
    n_similar, weight = similar @ sizes, sizes.mean()
    columns = []
    step = max(1, _CELLS // n_groups)
    for first in range(0, ratings.n_items, step):
        items = slice(first, first + step)
        counts = raters[:, items].toarray()
        popularity = ratings.support[items] / ratings.n_users
        share = (similar @ counts + weight * popularity) / (n_similar + weight)[:, np.newaxis]
        likelihood = 1 - (1 - share) ** sizes[:, np.newaxis]
        chosen = counts > 0
        n_added = np.floor(degree * (n_groups - chosen.sum(axis=0))) * (popularity > 0)
        likelihood[chosen] = -1
        rank = np.argsort(np.argsort(-likelihood, axis=0, kind="stable"), axis=0)
        columns.append(sparse.csc_array(chosen | (rank < n_added)))
    return sparse.csr_array(sparse.hstack(columns))


def _similar_groups(centres: NDArray[Any]) -> Any:
    """Return the nearest other groups of each group, as a csr_array of ones."""
    n_similar = min(_N_SIMILAR, len(centres) - 1)
    if n_similar == 0:
        return sparse.csr_array((1, 1))
    with one_thread():
        nearest = NearestNeighbors(n_neighbors=n_similar, algorithm="brute").fit(centres)
        return sparse.csr_array(nearest.kneighbors_graph())


def keep_items(blocks: Iterator[Records], chosen: Any) -> Iterator[Records]:
    """Yield full rows with the chosen items alone."""
    first = 0
    for block in blocks:
        n_items = block.indices.size // len(block)
        items = block.indices[:n_items]
        kept = chosen[first : first + len(block)].toarray()[:, items]
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        flat = kept.ravel()
        yield Records(block.sizes, indptr, block.indices[flat], block.values[flat])
        first += len(block)
