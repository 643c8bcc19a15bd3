"""Release synthetic users, sampled from a model that is fitted to noisy sums."""

import math
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr

from recveil.io import Reading
from recveil.io.columns.ids import reject_personal_ids
from recveil.io.item_features import ItemFeatures
from recveil.methods.base import (
    BaseAnonymizer,
    check_every_user_rated,
    check_seed,
    measure_coverage,
)
from recveil.methods.earlier_releases import find_linkage
from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.synthetic.answered_queries import AnsweredQuery, answered_queries
from recveil.methods.synthetic.attributes import AttributeModel, Coded, ask_attributes
from recveil.methods.synthetic.bounded_sums import FINE, like_sums
from recveil.methods.synthetic.earlier_sums import EarlierSums, require_users
from recveil.methods.synthetic.fitting import scale_activity
from recveil.methods.synthetic.gaussian_mechanism import Mechanism, WithoutNoise, threshold
from recveil.methods.synthetic.gaussian_sampler import NoiseSource
from recveil.methods.synthetic.learning import QUERY, follow_embeddings, learn_likes, learn_users
from recveil.methods.synthetic.options import (
    AS_RATED,
    NO_NOISE,
    check_synthetic_options,
    in_public_order,
    of_cohort,
    on_catalog,
    parse_item_catalog,
    parse_item_features,
    places_in_public_order,
    places_on_catalog,
    published_order,
    reject_dropped_rows,
    with_most,
)
from recveil.methods.synthetic.periods import ask_dates
from recveil.methods.synthetic.sum_queries import (
    SHARES,
    SHARES_OF_LIKES,
    ChoiceSums,
    NoisySums,
    Public,
    QueriedItems,
    UserRatings,
    ask_activity,
    measure,
    measure_likes,
    reject_few_items,
    reject_hopeless,
    weight_of_counts,
)
from recveil.methods.synthetic.user_model import (
    LikesModel,
    SampledBatches,
    SampledUsers,
    UserModel,
    fit_dates,
    model_settings,
    model_table,
)
from recveil.publish import Release
from recveil.publish.folder import naming_spending, record_spending
from recveil.publish.history import Promised
from recveil.publish.privacy_ledger import (
    Loss,
    Plan,
    PrivacyLedger,
    PrivacyTotal,
    Recording,
    Users,
    ledger_path,
    total_without,
    warn_of_total,
)
from recveil.publish.size_estimate import Expected, expect_synthetic
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import ScaleLike, scale_of
from recveil.ratings.ratings import PUBLISHED, reject_likes
from recveil.release.claim import Claim
from recveil.release.coverage import FEWEST_RATINGS, Coverage
from recveil.release.dates import COHORT, DATE_RANGE, DATES, Cohort, periods_within
from recveil.release.ledger import Ledger, cost_of_rerun, delta_left, epsilon_of
from recveil.release.method import MOST_ITEMS, PLANNED_RELEASES, RELEASE_NUMBER
from recveil.release.noisy_answers import (
    FACTORS,
    ITEMS,
    MOMENT_ITEMS,
    OFFSETS,
    RATING_MEANS,
    array_name,
)
from recveil.release.private_folder import digest_of
from recveil.release.records import Groups, fresh_prefix
from recveil.release.sides import Private, Published
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.release.synthetic_form import (
    DEFAULT_DELTA,
    FEWEST_CHOSEN,
    FEWEST_SUMMED,
    QUERY_OF_ATTRIBUTES,
    QUERY_OF_DATES,
    THRESHOLD_SHARE,
    default_delta,
    step_of_drawn,
)
from recveil.release.user_table import UserColumns, problem_of_columns
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.runtime.safe_repr import brief
from recveil.verification.ids_in_items import ids_in_items
from recveil.verification.rater_ids import search_ratings

# A larger epsilon guarantees nothing, and a smaller one leaves only noise.
_LEAST_EPSILON, _MOST_EPSILON = 1e-4, 1_000.0
# Part of epsilon that is not spent, so that rounding never exceeds the budget.
_KEPT_BACK, _KEPT_BACK_AT_LEAST = 1e-9, 1e-11
# The same of a plan, whose sum the ledger rounds up.
_KEPT_OF_PLAN = 1e-6


@brief
@dataclass(frozen=True)
class Budget:
    """The privacy budget of all queries of a release."""

    epsilon: float
    delta: float
    threshold_delta: float
    mu: float

    @classmethod
    def of_plan(cls, plan: Plan, threshold_share: float) -> Self:
        """Return the budget of one of several releases, which compose to the plan's guarantee."""
        # Their losses add up in squares, and their parts of delta for thresholds add up.
        part = threshold_share * plan.delta
        whole = cls.of(plan.epsilon, plan.delta, threshold_delta=part)
        delta = _round_down(plan.delta / plan.releases)
        part = threshold_share * delta
        mu = whole.mu * (1 - _KEPT_OF_PLAN) / math.sqrt(plan.releases)
        return cls.of(
            _round_down(epsilon_of(mu, delta_left(delta, part))), delta, threshold_delta=part
        )

    @classmethod
    def of(cls, epsilon: float, delta: float, *, threshold_delta: float = 0.0) -> Self:
        """Return the largest budget that meets a guarantee."""
        if type(epsilon) not in (float, int) or not _LEAST_EPSILON <= epsilon <= _MOST_EPSILON:
            raise RecveilError(
                f"epsilon is {quoted(epsilon)}, but a promise needs a number from "
                f"{_LEAST_EPSILON:g} to {_MOST_EPSILON:,g}; 1 is strong, and 10 weak",
                code="option.value",
            )
        left = delta_left(delta, threshold_delta)
        most = epsilon * (1 - _KEPT_BACK) - _KEPT_BACK_AT_LEAST
        low, high = 0.0, 1.0
        while epsilon_of(high, left) <= most:
            low, high = high, 2 * high
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (middle, high) if epsilon_of(middle, left) <= most else (low, middle)
        return cls(float(epsilon), delta, threshold_delta, low)

    def sigmas(self, shares: Mapping[str, float]) -> dict[str, float]:
        """Return the noise of each query, for a contribution bound of 1."""
        for name, share in shares.items():
            if type(share) not in (float, int) or not 0 < share < math.inf:
                raise RecveilError(
                    f"query {quoted(name)}: its share is {quoted(share)}, expected a positive "
                    f"number; leave the query out if it is not to be asked",
                    code="argument.value",
                )
        whole = math.fsum(shares.values())
        if not shares or not 0 < whole < math.inf:
            raise RecveilError(
                f"shares: {len(shares)} of them sum to {whole:g}, but a budget is split between "
                f"queries; give each a share such as 0.5",
                code="argument.value",
            )
        return {name: math.sqrt(whole / share) / self.mu for name, share in shares.items()}

    def _facts(self) -> dict[str, object]:
        return {"epsilon": self.epsilon, "delta": self.delta, "mu": self.mu}


def _round_down(number: float) -> float:
    """Return a number with four significant digits."""
    step = 10.0 ** (3 - math.floor(math.log10(number)))
    return float(f"{math.floor(number * step) / step:.4g}")


def spent_so_far(mechanism: Mechanism, budget: Budget) -> str:
    """Describe what answered queries spent, alone and with another run; "" before the first."""
    if not mechanism.has_queried:
        return ""
    return cost_of_rerun(mechanism.ledger(), budget.delta, budget.mu, budget.threshold_delta)


@contextmanager
def failed_attempt_cost(mechanism: Mechanism, budget: Budget) -> Iterator[None]:
    """Add the budget spent so far to an error's message, unless noise follows from a seed."""
    try:
        yield
    except BaseException as error:
        cost = spent_so_far(mechanism, budget) if mechanism.is_secret else ""
        if not (cost and isinstance(error, RecveilError)):
            raise
        raise RecveilError(f"{error}; {cost}", code=error.code) from None


# The answers, and what was fitted to them.
_Fitted = tuple[NoisySums | ChoiceSums, UserModel | LikesModel, AttributeModel | None]


class Synthesizer(BaseAnonymizer):
    """Sample synthetic users from noisy sums, with user-level differential privacy.

    Parameters
    ----------
    epsilon : float or None
        Privacy budget: adding or removing one user, with all their ratings, changes the probability
        of any release by a factor of at most about ``exp(epsilon)``. None samples from exact sums,
        without a guarantee.
    delta : float, optional
        The probability that the guarantee leaves out. By default 1e-6, or at most one over ten
        times the noisy number of users.
    n_users : int, optional
        Number of synthetic users; by default the noisy number of users.
    item_catalog : array-like, path or "as-rated", optional
        The public list of items, or a table or file with a column item_id, or a file with one id
        per line. "as-rated" if the list of rated items is public. By default items are selected by
        their noisy sums, and rare items are dropped.
    max_ratings : int, optional
        The ratings of a user that count at most, evenly spread over their items: a public number,
        not one read off the table. By default all, and 100,000 without an item_catalog.
    item_features : ItemFeatures or path, optional
        Public features of items, such as genres, which do not depend on the ratings; see
        `recveil.io.item_features.read_item_features`. They lower the noise in embeddings and item
        means.
    rating_grid : {"tenths", "whole"}, optional
        Values are tenths of the scale's step (default), or levels of the scale with their full
        spread. Not for implicit feedback; ordinal labels are always whole.
    scale : RatingScale, str or tuple, optional
        The public scale of the ratings, such as "1:5:1", of a table that states none.
    dates : {"year", "quarter", "month", "week"}, optional
        Date each synthetic rating by the first day of its period, by one more noisy query.
    date_range : str, optional
        The public range of `dates`, such as "2025-01:2026-06"; other ratings count as those of its
        first or last period.
    attributes : DeclaredAttributes, optional
        Draw attributes of synthetic users, of public values, by one more noisy query; see
        `recveil.methods.published_users`.
    cohort : str, optional
        Use only users whose first rating is in a period, such as "2026-01" or "2026-01:2026-03",
        with all their ratings. Each user is in one of several releases of disjoint periods, so that
        their epsilons do not add up.
    releases : int, optional
        Plan so many releases of these users: `epsilon` and `delta` are the total of all, of which
        each spends an equal part. A run with `releases` beyond its total is refused, others not.
    reuse : path, optional
        The private folder of the release before of the plan: its noisy sums are averaged with
        those of this release, whose claim then covers all releases until now.
    publish_answers : bool
        Whether a release has the noisy answers and the model, too. Attacks then come nearer to the
        bound of the guarantee, which stays the same.
    ledger : path or "none", optional
        The file that records what all runs spent; see `recveil.budget`. "none" records nothing.
    seed : int, optional
        Makes the release repeatable, for experiments. Such a release is not written: the seed would
        let an adversary remove the noise. So its queries are not recorded, either.

    Notes
    -----
    Every query on users passes `Mechanism` once; everything else postprocesses its
    noisy answers. docs/explanation/differential-privacy.md has the proofs. Implicit feedback has no
    queries on rating values, so the other queries get the whole budget.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(400, 60, 8_000, seed=1)
    >>> release = Synthesizer(20.0, item_catalog="as-rated", seed=1).anonymize(ratings)
    >>> release.published.claim.epsilon, release.published.claim.kind
    (20.0, 'differentially-private')
    >>> Synthesizer(3, seed=7)
    Synthesizer(epsilon=3, seed=7)
    """

    def __init__(
        self,
        epsilon: float | None,
        delta: float | None = None,
        *,
        n_users: int | None = None,
        item_catalog: Any = None,
        max_ratings: int | None = None,
        item_features: ItemFeatures | str | PathLike[str] | None = None,
        rating_grid: Literal["tenths", "whole"] | None = None,
        scale: ScaleLike | None = None,
        dates: str | None = None,
        date_range: str | None = None,
        attributes: DeclaredAttributes | UserColumns | None = None,
        cohort: str | None = None,
        releases: int | None = None,
        reuse: EarlierSums | str | PathLike[str] | None = None,
        publish_answers: bool = False,
        ledger: str | PathLike[str] | None = None,
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.n_users = n_users
        self.item_catalog = item_catalog
        self.max_ratings = max_ratings
        self.item_features = item_features
        self.rating_grid = rating_grid
        self.scale = scale
        self.dates = dates
        self.date_range = date_range
        self.attributes = attributes
        self.cohort = cohort
        self.releases = releases
        self.reuse = reuse
        self.publish_answers = publish_answers
        self.ledger = ledger
        self.seed = seed
        self.check_options()

    def _check_reading(self, reading: Reading) -> None:
        if self.cohort is not None:
            reject_dropped_rows(reading)

    def anonymize(self, ratings: Ratings | Any) -> Release:
        """Query noisy sums, fit a model to them and sample synthetic users.

        Parameters
        ----------
        ratings : path, data frame, matrix or Ratings
            Any table that `recveil.read` reads. The scale must be public: the ends of an inferred
            scale may be one user's ratings.

        Raises
        ------
        RecveilError
            If a parameter is invalid, an item is not in the catalogue, or noise dominates the sums.
            The last case costs budget, since the queries were made. And if the ledger cannot
            be written, before the first query.

        Warns
        -----
        PrivacyLossWarning
            What earlier runs spent on these users, before the first query.
        """
        whole = self._read(ratings, self.scale)
        ratings = self.select(whole)
        with naming_spending():
            self.check(ratings)
            if whole.n_users > ratings.n_users:
                self.check_items(ratings.items, whole.users)
            public, likes_or_table = self._public(ratings)
            digest = digest_of(ratings)
            recording = self.recording(ratings.users, digest)
            if recording is not None:
                warn_of_total(recording.total(self.planned()))
            learnt = self.learn(
                *(likes_or_table, public, likes_or_table.items, ratings.n_users, recording),
                None if self.attributes is None else Coded.of(self.attributes, ratings.users),
            )
            private = Private(
                *(ratings.users, Groups.empty(), self.seed, self.used(learnt)),
                ratings_sha256=digest,
                measure_coverage=partial(measure_coverage, ratings),
                noisy_sums=self._kept(learnt),
                find_linkage=find_linkage,
                record_output=None if recording is None else recording.place,
                # Under noise the ratings must not decide whether the chosen items are published.
                search_items=partial(search_ratings, ratings, can_hide=False)
                if self.epsilon is None
                else None,
            )
            return Release(self.published(learnt, self.drawn(learnt)), private)

    def select(self, ratings: Ratings) -> Ratings:
        """Return the ratings of the cohort's users, or all."""
        return ratings if self.cohort is None else of_cohort(ratings, Cohort.of(self.cohort))

    @property
    def _seed_is_private(self) -> bool:  # type: ignore[override]
        return self.epsilon is None

    def check(self, ratings: Ratings) -> None:
        """Raise the errors of `anonymize` before any work."""
        self.check_options()
        check_every_user_rated(ratings)
        if self.dates is not None and ratings.days is None:
            raise RecveilError(
                "dates (--dates): the ratings have no times; name their column (--time), or drop "
                "dates",
                code="time.missing",
            )
        if self.epsilon is None and not ratings.is_unary:
            reject_likes(ratings, PUBLISHED)
        self.check_scale(ratings.scale)
        if self._sums is not None:
            self._sums.require_items(ratings.items)
            if not isinstance(self.reuse, EarlierSums):
                require_users(self.reuse or "", ratings.users)
        if self.epsilon is None:  # under noise, a refusal must not reveal a user
            reject_few(ratings.n_users)
        else:
            self.check_items(ratings.items, ratings.users)
            if self.item_catalog is not None:
                self._check_raters(ratings)

    def check_options(self) -> None:
        """Raise a RecveilError for options that are invalid for any ratings."""
        self._sums: EarlierSums | None = None
        check_seed(self.seed)
        scale_of(self.scale)
        if isinstance(self.epsilon, str):  # the command line parses its own
            raise RecveilError(
                f"epsilon is {quoted(self.epsilon)}; expected a number above 0, or None",
                code="option.value",
            )
        epsilon = NO_NOISE if self.epsilon is None else self.epsilon
        _check_attributes(self.attributes, is_exact=self.epsilon is None)
        check_synthetic_options(
            {
                "epsilon": epsilon,
                "delta": self.delta,
                "n_users": self.n_users,
                "max_ratings": self.max_ratings,
                "item_features": self.item_features,
                "dates": self.dates,
                "date_range": self.date_range,
                "cohort": self.cohort,
                "releases": self.releases,
                "reuse": self.reuse,
                "publish_answers": self.publish_answers,
                "item_catalog": self.item_catalog,
                "ledger": None if self.epsilon is None else self.ledger,
            }
        )

    def _earlier(self, scale: RatingScale) -> EarlierSums | None:
        """Return the noisy sums of the release before."""
        if self.reuse is None:
            return None
        if isinstance(self.reuse, EarlierSums):
            self._sums = self.reuse
        elif self._sums is None:  # read once, before the first query
            self._sums = EarlierSums.read(self.reuse)
        self._sums.require(self._plan(), str(scale))
        return self._sums

    def _kept(self, learnt: "Learnt") -> EarlierSums | None:
        """Return the noisy sums that the next release of the plan may reuse."""
        if learnt.measured.means is None:
            return None
        earlier, scale = self._earlier(learnt.scale), str(learnt.scale)
        return EarlierSums.of(earlier, self._plan(), scale, learnt.items, learnt.measured.means)

    def check_scale(self, scale: RatingScale) -> None:
        """Raise a RecveilError if the scale does not support synthetic users."""
        self._earlier(scale)
        if scale.unary:
            self._check_likes(scale)
        else:
            self._check_ratings(scale)

    def check_items(self, items: NDArray[Any], users: NDArray[Any] | None = None) -> None:
        """Raise a RecveilError if public item ids look like user ids or contain them.

        If noise selects the items, no id is public yet: `learn` checks the selected ones.

        Parameters
        ----------
        items : ndarray, shape (n_items,)
            The ids of all rated items.
        users : ndarray, shape (n_users,), optional
            The ids of users, to search for in those of the items.
        """
        if self.item_catalog is None and self.epsilon is not None:
            return
        catalog = AS_RATED if self.item_catalog is None else parse_item_catalog(self.item_catalog)
        public = items if isinstance(catalog, str) else catalog
        if self.item_catalog is not None and public.size < FEWEST_CHOSEN:
            raise RecveilError(
                f"item_catalog (--item-catalog) has {describe_count(public.size, 'item')}; "
                f"expected at least {FEWEST_CHOSEN}: synthetic users are sampled from how items "
                f"go together; list more items",
                code="budget.too-small",
            )
        reject_personal_ids(public, can_hide=False)
        user_ids = [] if users is None else users.tolist()
        if problem := ids_in_items(user_ids, public.tolist(), can_hide=False).problem:
            raise RecveilError(f"item ids: {problem}", code="id.personal")

    def _check_raters(self, ratings: Ratings) -> None:
        if problem := search_ratings(ratings, ratings.items, can_hide=False):
            raise RecveilError(f"item ids: {problem}", code="id.personal")

    def _check_likes(self, scale: RatingScale) -> None:
        if self.rating_grid is not None:
            raise RecveilError(
                f"rating_grid (--ratings) is {quoted(self.rating_grid)}, but implicit feedback has "
                f"no ratings; drop it",
                code="option.unsupported",
            )
        if self.epsilon is not None and scale.inferred:
            raise RecveilError(
                "likes (--likes): all ratings are equal and were read as implicit feedback; one "
                "user could change that; give likes (--likes), or name the scale (--scale)",
                code="scale.inferred",
            )

    def _check_ratings(self, scale: RatingScale) -> None:
        if self.rating_grid not in (None, "tenths", "whole"):
            raise RecveilError(
                f"rating_grid (--ratings) is {quoted(self.rating_grid)}; expected tenths or whole "
                f"ratings",
                code="option.value",
            )
        if self.rating_grid == "tenths" and scale.labels:
            raise RecveilError(
                "rating_grid (--ratings) is tenths, but the ratings are ordinal labels, with no "
                "values between them; drop it",
                code="option.unsupported",
            )
        if self.rating_grid == "whole" and scale.step is None:
            raise RecveilError(
                f"rating_grid (--ratings) is whole, but the scale of ratings, {scale}, has no "
                f"step; name one (--scale LOW:HIGH:STEP), or choose tenths",
                code="option.unsupported",
            )
        if not scale.range:
            raise RecveilError(
                f"scale (--scale): {scale} has one value, so no rating shows whether an item was "
                f"liked; name the whole scale, such as --scale 0:1:1, or read the ratings as "
                f"likes (--likes)",
                code="scale.invalid",
            )
        if self.epsilon is not None and scale.inferred:
            raise RecveilError(
                f"scale (--scale): {scale} was inferred from the ratings, and its ends may be one "
                f"user's ratings; name the scale, such as scale='{scale}' (--scale)",
                code="scale.inferred",
            )

    def _public(self, ratings: Ratings) -> tuple[Public, Ratings]:
        """Return the public facts, and the ratings on the items of the catalogue."""
        if self.item_catalog is None:
            queried = in_public_order(ratings, self._most_items)
            return self._facts_of(queried.items, ratings.scale), queried
        items = parse_item_catalog(self.item_catalog)
        # Text: the list of rated items
        queried = ratings if isinstance(items, str) else on_catalog(ratings, items)
        queried = with_most(queried, self._most_items)
        return self._facts_of(queried.items, ratings.scale), queried

    @property
    def _most_items(self) -> int:
        return MOST_ITEMS if self.max_ratings is None else self.max_ratings

    def _facts_of(self, items: NDArray[Any], scale: RatingScale | None = None) -> Public:
        """Return the public facts on the queried items."""
        features = self.item_features
        of_items = None if features is None else parse_item_features(features).rows_of(items)
        if self.item_catalog is not None:
            if of_items is not None and not of_items.any():
                raise RecveilError(
                    "item_features (--item-features): no item of the catalog has a feature; use "
                    "the same item ids",
                    code="id.unknown",
                )
            found = None if scale is None else self._earlier(scale)
            earlier = None if found is None else found.on(items)
            is_planned = self.releases is not None
            most = items.size if self.max_ratings is None else min(items.size, self.max_ratings)
            public = Public(True, most, 0.0, of_items, earlier, is_planned)
            return public._replace(firsts=self._firsts())
        share = 0.0 if self.epsilon is None else self._budget().threshold_delta
        return Public(False, self._most_items, share, of_items, firsts=self._firsts())

    def _firsts(self) -> NDArray[np.int32] | None:
        return None if self.dates is None else periods_within(self.dates, self.date_range)

    def public_items(self, items: NDArray[Any]) -> tuple[Public, NDArray[Any], NDArray[np.int64]]:
        """Return the public facts, the queried items, and the position of each rated item.

        Parameters
        ----------
        items : ndarray, shape (n_items,)
            The ids of all rated items, ascending.
        """
        if self.item_catalog is None:
            queried, places = places_in_public_order(items)
            return self._facts_of(queried), queried, places
        catalog = parse_item_catalog(self.item_catalog)
        if isinstance(catalog, str):  # as rated
            return self._facts_of(items), items, np.arange(items.size)
        return self._facts_of(catalog), catalog, places_on_catalog(items, catalog)

    def planned(self) -> Loss:
        """Return the privacy loss of all queries; the noise follows from it."""
        budget = self._budget()
        return Loss(budget.mu, budget.delta, budget.threshold_delta)

    def _budget(self) -> Budget:
        share = THRESHOLD_SHARE if self.item_catalog is None else 0.0
        plan = self._plan()
        if self.releases is None:
            return Budget.of(plan.epsilon, plan.delta, threshold_delta=share * plan.delta)
        return Budget.of_plan(plan, share)

    def _plan(self) -> Plan:
        delta = DEFAULT_DELTA if self.delta is None else self.delta
        return Plan(float(self.epsilon or 0.0), delta, self.releases or 1)

    def _settle(
        self, public: Public, sigmas: Mapping[str, float], n_users: float
    ) -> tuple[Budget, Public, dict[str, float]]:
        """Return the budget for so many users, after the query of their number."""
        budget, delta = self._budget(), default_delta(n_users)
        if self.delta is not None or delta == DEFAULT_DELTA:
            return budget, public, dict(sigmas)
        if self.releases is not None:
            raise RecveilError(
                f"delta (--delta): releases (--releases) of about {n_users:,.0f} users need one of "
                f"at most {delta:g}, since the default of {DEFAULT_DELTA:g} is more than one over "
                f"ten times their number; name it",
                code="option.value",
            )
        # Consider the program that stops after the first query unless its answer leads to this
        # delta. Together, its queries have at most the mu of this budget, whatever the answer, so
        # it has this epsilon and delta (adaptive composition). All releases that state this delta
        # have the same probability as here.
        part = THRESHOLD_SHARE * delta if public.threshold_delta else 0.0
        budget = Budget.of(budget.epsilon, delta, threshold_delta=part)
        first, *others = sigmas
        left = math.sqrt(budget.mu**2 - sigmas[first] ** -2)
        later = replace(budget, mu=left).sigmas({name: sigmas[name] ** -2 for name in others})
        return budget, public._replace(threshold_delta=part), {first: sigmas[first], **later}

    def recording(self, users: Users, ratings_sha256: str = "") -> Recording | None:
        """Return the entry of this run in the ledger; None if it is not to be recorded."""
        if self.epsilon is None or self.seed is not None:
            return None
        path = ledger_path(self.ledger)
        if path is None and self.releases is not None:
            raise RecveilError(
                "releases (--releases): no ledger (--ledger) is kept, but only it shows what is "
                "left of the total; name its file, or drop releases",
                code="option.conflict",
            )
        if path is None:
            return None
        return Recording(
            PrivacyLedger(path),
            users,
            ratings_sha256,
            cohort="" if self.cohort is None else str(Cohort.of(self.cohort)),
            plan=None if self.releases is None else self._plan(),
        )

    def queried(self, ratings: Ratings) -> Ratings:
        """Return the ratings that count, on the queried items."""
        return self._public(ratings)[1]

    def answered_queries(
        self, ratings: Ratings, answers: Mapping[str, NDArray[Any]]
    ) -> list[AnsweredQuery]:
        """Return the queries behind published answers, with exact sums over `ratings`."""
        public, queried = self._public(ratings)
        shares = _shares(queried.scale, public, has_attributes=self.attributes is not None)
        sigmas = self._budget().sigmas(shares)
        settle = partial(self._settle, public, sigmas)
        return answered_queries(queried, answers, public, sigmas, lambda n: settle(n)[1:])

    def privacy_total(
        self, users: Users, ratings_sha256: str = "", history: Iterable[Promised] = ()
    ) -> PrivacyTotal | None:
        """Return what all runs on these users spend together with this one; None without noise."""
        if self.epsilon is None or self.seed is not None:
            return None
        recording = self.recording(users, ratings_sha256)
        if recording is None:
            return total_without(users, self.planned(), history)
        return recording.total(self.planned(), history)

    def learn(
        self,
        ratings: UserRatings,
        public: Public,
        items: NDArray[Any],
        n_users: int,
        recording: Recording | None = None,
        attributes: Coded | None = None,
    ) -> "Learnt":
        """Query the table and fit a user model to the answers.

        Parameters
        ----------
        ratings : Ratings or SpreadOut
            On the queried items.
        public : Public
        items : ndarray, shape (n_items,)
            The ids of these items.
        n_users : int
            Number of users; disclosed only with exact sums.
        recording : Recording, optional
            The entry of this run in the ledger.
        attributes : Coded, optional
            The attributes of the users of `ratings`, in their order.
        """
        source = NoiseSource.secret() if self.seed is None else NoiseSource.repeatable(self.seed)
        # Sampling after the noise is postprocessing; its seed need not be secret.
        rng = np.random.default_rng(self.seed)
        measured, model, drawing, claim, mechanism = self._ask(
            ratings, public, items, source, rng, n_users, recording, attributes
        )
        released, order = items[measured.released], np.arange(measured.released.size)
        if not public.is_catalogue:
            released, order = published_order(released)
            model = model.of_items(order)
            drawing = None if drawing is None else drawing.of_items(order)
        learnt = Learnt(released, measured, model, claim, ratings.scale, rng, attributes=drawing)
        if mechanism is None or not self.publish_answers:
            return learnt
        rows = measured.released[order]
        return learnt._replace(answers=_answers(mechanism, rows, items[measured.chosen], learnt))

    def _ask(
        self,
        ratings: UserRatings,
        public: Public,
        items: NDArray[Any],
        source: NoiseSource,
        rng: np.random.Generator,
        n_users: int,
        recording: Recording | None,
        attributes: Coded | None,
    ) -> tuple[*_Fitted, Claim, Mechanism | None]:
        shares = _shares(ratings.scale, public, has_attributes=attributes is not None)
        if self.epsilon is None:
            sums, sigmas = WithoutNoise(), dict.fromkeys(shares, 0.0)
            users = ask_activity(ratings, sums, public, sigmas)
            fitted = _fit(ratings, sums, public, sigmas, users, rng, attributes)
            return *fitted, Claim("aggregates", n_users), None
        budget = self._budget()
        sigmas = budget.sigmas(shares)
        mechanism = Mechanism(source, sigmas, keeps_answers=self.publish_answers)
        if mechanism.is_secret:  # noise that follows from a seed cannot be published
            record_spending(partial(spent_so_far, mechanism, budget))

        def spent() -> Loss | None:
            return Loss.of(mechanism.ledger(), budget.delta) if mechanism.has_queried else None

        with (
            failed_attempt_cost(mechanism, budget),
            nullcontext() if recording is None else recording.run(self.planned(), spent),
        ):
            users = ask_activity(ratings, mechanism, public, sigmas)
            budget, public, sigmas = self._settle(public, sigmas, users[0])
            mechanism.raise_noise({name: sigmas[name] for name in [*sigmas][1:]})
            fitted = _fit(ratings, mechanism, public, sigmas, users, rng, attributes)
            if not public.is_catalogue:
                reject_personal_ids(items[fitted[0].released], can_hide=False)
        return *fitted, self._claim(budget, mechanism.ledger(), ratings.scale), mechanism

    def _claim(self, budget: Budget, ledger: Ledger, scale: RatingScale) -> Claim:
        """Return the claim of this release, and of those whose noisy sums it reuses."""
        epsilon, delta, earlier = budget.epsilon, budget.delta, self._earlier(scale)
        if earlier is not None:
            ledger = replace(ledger, earlier=earlier.releases)
            delta *= 1 + len(earlier.releases)
            epsilon = ledger.epsilon(delta)
        kind = "differentially-private"
        return Claim(kind, 1, epsilon=epsilon, delta=delta, ledger=ledger)

    def drawn(self, learnt: "Learnt") -> SampledUsers:
        """Return the synthetic users of the model; call this before `published`."""
        n_users = max(1, round(learnt.measured.n_users)) if self.n_users is None else self.n_users
        seeded = self.seed is not None
        drawing = int(learnt.rng.integers(1 << 62)) if seeded else secrets.randbits(64)
        return SampledUsers(learnt.model, n_users, drawing, self.rating_grid == "whole")

    def published(self, learnt: "Learnt", drawn: SampledUsers | SampledBatches) -> Published:
        """Return the published synthetic users and their provenance."""
        items, measured, model, claim, scale, rng, answers, drawing = learnt
        n_users, grid = drawn.n_users, step_of_drawn(scale, whole=drawn.whole)

        def table() -> pa.Table:
            return model_table(items, model)

        def expect(layout: str, file_format: str) -> Expected | None:
            if layout == "model":
                return None
            # Statistics of real users are as noisy as everything else.
            n_ratings = measured.n_users * float(measured.activity.mean())
            each = float(model.activity.mean())
            return expect_synthetic(items, scale, n_users, each, n_ratings, file_format, grid)

        settings = {
            "method": SYNTHETIC.title,
            "noise": "none" if self.epsilon is None else "gaussian",
            "item_catalog": _catalog_setting(self.item_catalog),
            **({} if self.max_ratings is None else {"max_ratings": self.max_ratings}),
            **({} if self.item_features is None else {"item_features": "given"}),
            **({} if self.cohort is None else {COHORT: str(Cohort.of(self.cohort))}),
            **self._date_settings(),
            **self._place_in_plan(claim),
            **({} if answers is None else {"answers": "published"}),
            "n_users": "counted" if self.n_users is None else "requested",
            **({} if scale.unary else {"value_step": grid}),
            "omitted_share": round(1 - measured.share_as_json, 4),
            **model_settings(model),
        }
        return Published(
            claim=claim,
            items=items,
            scale=scale,
            settings=settings,
            n_users=n_users,
            # Chosen without reading real ids: a prefix that avoids them would reveal something
            # about them.
            prefix=fresh_prefix(np.empty(0), rng),
            blocks=drawn.blocks,
            default_layout="users",
            model=None if self.dates is not None or drawing is not None else table,
            user_table=None if drawing is None else drawing.draw(drawn.blocks(), rng),
            expect=expect,
            answers=answers,
            noisy_coverage=self._coverage_of(learnt, n_users),
        )

    def _coverage_of(self, learnt: "Learnt", n_users: int) -> Coverage | None:
        """Return the coverage by the answers; None if they are exact, as the table's then is."""
        ledger = learnt.claim.ledger
        if ledger is None:
            return None
        sums = learnt.measured.choices
        height = self._height(sums.popularity_noise, ledger.threshold_delta)
        kept = learnt.items.size, sums.share_as_json, height
        return _coverage_by_answers(*kept, sums.n_users, sums.activity, n_users)

    def _height(self, noise: float, threshold_delta: float) -> float:
        """Return the popularity from which items are released; 0 for a public catalogue."""
        if not threshold_delta:
            return 0.0
        return threshold(float(noise), threshold_delta, self._most_items)

    def expect_coverage(self, ratings: Ratings) -> tuple[Coverage, Coverage | None, float]:
        """Estimate the coverage of a release, that by its answers, and the ratings of a user."""
        # For the publisher alone: the sums are exact, and no query is made.
        public, queried = self._public(ratings)
        chances, n_users, noise, height = np.ones(queried.n_items), float(ratings.n_users), 0.0, 0.0
        activity = queried.activity.astype(np.float64)
        if self.epsilon is not None:
            sigmas = self._budget().sigmas(
                _shares(queried.scale, public, has_attributes=self.attributes is not None)
            )
            n_users, activity = ask_activity(queried, WithoutNoise(), public, sigmas)
            _, public, sigmas = self._settle(public, sigmas, n_users)
            weight = weight_of_counts(queried.scale, public, n_users, sigmas)
            reject_hopeless(n_users, public, sigmas["item sums"], weight)
            noise = sigmas["item sums"] / weight
            height = self._height(noise, public.threshold_delta)
            popularity = like_sums(queried) * FINE
            above = ndtr((popularity[:, 0] - max(height, noise)) / noise)
            reject_few_items(round(above.sum()), n_users, is_catalogue=public.is_catalogue)
            chances = chances if public.is_catalogue else above
        kept = chances[queried.indices]
        n_kept_of = np.bincount(queried.user_positions(), kept, minlength=queried.n_users)
        share = float((n_kept_of / np.maximum(queried.activity, 1)).mean())
        n_kept = round(chances[queried.support > 0].sum())
        n_drawn = round(n_users) if self.n_users is None else self.n_users
        by_answers = _coverage_by_answers(n_kept, share, height, n_users, activity, n_drawn)
        coverage = by_answers._replace(
            n_items=int(np.count_nonzero(ratings.support)),
            rating_share=float(kept.mean()),
            n_short_raw_users=int(np.count_nonzero(ratings.activity < FEWEST_RATINGS)),
        )
        each = float(scale_activity(activity, share, n_kept).mean())
        return coverage, None if self.epsilon is None else by_answers, each

    def _date_settings(self) -> dict[str, object]:
        if self.dates is None:
            return {}
        return {DATES.name: self.dates, DATE_RANGE: str(Cohort.of(self.date_range, DATE_RANGE))}

    def _place_in_plan(self, claim: Claim) -> dict[str, object]:
        earlier = () if claim.ledger is None else claim.ledger.earlier
        if not earlier:
            return {}
        return {PLANNED_RELEASES: self._plan().releases, RELEASE_NUMBER: 1 + len(earlier)}

    def used(self, learnt: "Learnt") -> dict[str, object]:
        """Return the full settings, for the private folder."""
        # The first column of embeddings is multiplied by activity.
        n_factors = int(learnt.model.item_embeddings[:, 1:].any(axis=0).sum())
        delta, stated = self._plan().delta, learnt.claim.delta
        delta = delta if stated is None or self.releases is not None else stated
        return {"epsilon": self.epsilon, "delta": delta, "n_factors": n_factors}


@brief
class Learnt(NamedTuple):
    """A fitted user model with the noisy sums behind it."""

    # The ids of the released items, as published
    items: NDArray[Any]
    # The noisy answers
    measured: NoisySums | ChoiceSums
    # The fitted user model
    model: UserModel | LikesModel
    # The guarantee
    claim: Claim
    scale: RatingScale
    # Draws everything but noise
    rng: np.random.Generator
    # What `answers.npz` has, if it is published
    answers: Mapping[str, NDArray[Any]] | None = None
    # Draws the attributes of synthetic users, if they have some
    attributes: AttributeModel | None = None


def _shares(scale: RatingScale, public: Public, *, has_attributes: bool) -> dict[str, float]:
    shares = SHARES_OF_LIKES if scale.unary else SHARES
    asked = {QUERY_OF_DATES: public.firsts is not None, QUERY_OF_ATTRIBUTES: has_attributes}
    return shares | {query.name: query.share for query, is_asked in asked.items() if is_asked}


def _coverage_by_answers(
    n_kept: int,
    share: float,
    height: float,
    n_real: float,
    activity: NDArray[np.float64],
    n_users: int,
) -> Coverage:
    """Return the coverage that follows from noisy answers, with as few items as they allow."""
    # The other items have together, of a user with n ratings, sqrt(n) times their share as
    # popularity, and each less than `height`. Synthetic users' activity is rounded at random.
    rest = (1 - share) * n_real * float(np.sqrt(activity).mean())
    n_omitted = math.floor(rest / height) if height else 0
    short = np.clip(FEWEST_RATINGS - scale_activity(activity, share, n_kept), 0, 1).mean()
    return Coverage(n_kept + n_omitted, n_kept, share, n_users, round(float(short) * n_users))


def _answers(
    mechanism: Mechanism, rows: NDArray[np.int64], moment_items: NDArray[Any], learnt: Learnt
) -> dict[str, NDArray[Any]]:
    # All of it postprocesses noisy answers, of items only those released, so it costs no privacy.
    answers, model = mechanism.answers, learnt.model
    if mechanism.named is not None:
        rows = np.searchsorted(mechanism.named, rows)
    means = {}
    if isinstance(model, UserModel):
        means[RATING_MEANS] = model.rating_means.astype(np.float32)
    return {
        **{array_name(query): answers[query] for query in answers},
        array_name("item sums"): answers["item sums"][rows],
        ITEMS: learnt.items,
        MOMENT_ITEMS: moment_items,
        OFFSETS: model.offsets.astype(np.float32),
        **means,
        FACTORS: model.item_embeddings.astype(np.float32),
    }


def _fit(
    ratings: UserRatings,
    mechanism: QueriedItems,
    public: Public,
    sigmas: Mapping[str, float],
    users: tuple[float, NDArray[np.float64]],
    rng: np.random.Generator,
    attributes: Coded | None,
) -> _Fitted:
    """Make all other queries; the last ones use embeddings that were fitted to the others."""
    measured: NoisySums | ChoiceSums
    model: UserModel | LikesModel
    if ratings.scale.unary:
        measured = measure_likes(ratings, mechanism, public, sigmas, users)
        dates = ask_dates(ratings, mechanism, measured, public, sigmas)
        model = learn_likes(measured, rng)
    else:
        measured = measure(ratings, mechanism, public, sigmas, users)
        fitted = learn_users(measured, ratings.scale, rng)
        sigma = sigmas[QUERY]
        model = follow_embeddings(ratings, mechanism, measured, fitted, sigma, rng)
        dates = ask_dates(ratings, mechanism, measured.choices, public, sigmas)
    dated = model if dates is None else fit_dates(model, dates, rng)
    if attributes is None:
        return measured, dated, None
    sigma = sigmas[QUERY_OF_ATTRIBUTES.name]
    drawing = ask_attributes(ratings, mechanism, attributes, measured, model, sigma, rng)
    return measured, dated, drawing


def _check_attributes(
    attributes: DeclaredAttributes | UserColumns | None, *, is_exact: bool
) -> None:
    if attributes is None:
        return
    about = attributes if isinstance(attributes, UserColumns) else attributes.about
    if is_exact:
        raise RecveilError(
            "attributes: epsilon is none, and exact sums by attribute would reveal users; give an "
            "epsilon such as 3, or drop attributes",
            code="option.conflict",
        )
    if not about.values or problem_of_columns(about.to_json()):
        raise RecveilError(
            "attributes: expected columns of users, each with its public values, since those of "
            "the table may reveal a user; parse them with published_users.public_columns",
            code="option.required",
        )


def reject_few(n_users: int) -> None:
    """Raise a RecveilError for exact sums of too few users, which would disclose each of them."""
    if n_users < FEWEST_SUMMED:
        raise RecveilError(
            f"epsilon (--epsilon) is none, but exact sums over only {n_users} users nearly reveal "
            f"each of them; expected at least {FEWEST_SUMMED}: add users, or give an epsilon such "
            f"as 3",
            code="table.too-few-users",
        )


def _catalog_setting(item_catalog: Any) -> str:
    if item_catalog is None:
        return "selected"
    return "rated items" if isinstance(item_catalog, str) and item_catalog == AS_RATED else "given"
