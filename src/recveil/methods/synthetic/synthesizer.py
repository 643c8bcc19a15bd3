"""Release synthetic users, sampled from a model that is fitted to noisy sums."""

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from recveil.io.columns.ids import reject_people
from recveil.methods.base import check_every_user_rated, check_seed
from recveil.methods.synthetic.budget import Budget, failed_attempt_cost
from recveil.methods.synthetic.gaussian_noise import NoiseSource
from recveil.methods.synthetic.learning import QUERY, follow_embeddings, learn_likes, learn_users
from recveil.methods.synthetic.mechanism import Mechanism, WithoutNoise
from recveil.methods.synthetic.model_file import model_settings, model_table
from recveil.methods.synthetic.noisy_sums import (
    SHARES,
    SHARES_OF_LIKES,
    ChoiceSums,
    NoisySums,
    People,
    Public,
    QueriedItems,
    measure,
    measure_likes,
)
from recveil.methods.synthetic.options import (
    AS_RATED,
    NO_NOISE,
    check_drawing,
    in_public_order,
    on_catalogue,
    parse_catalogue,
    places_in_public_order,
    places_on_catalogue,
    published_order,
)
from recveil.methods.synthetic.user_model import LikesModel, SampledBatches, SampledUsers, UserModel
from recveil.publish import Release
from recveil.publish.size_estimate import Expected, expect_drawn
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.ratings import PUBLISHED, reject_likes
from recveil.release.claim import Claim
from recveil.release.private_folder import digest_of
from recveil.release.pseudonyms import fresh_prefix
from recveil.release.records import Groups
from recveil.release.sides import Private, Published
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.release.synthetic_form import (
    FEWEST_SUMMED,
    MOST_ITEMS,
    THRESHOLD_SHARE,
    step_of_drawn,
)
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import BriefParameters, brief
from recveil.verification.ids_in_items import ids_in_items
from recveil.verification.rater_ids import search_ratings


class Synthesizer(BriefParameters, BaseEstimator):
    """Sample synthetic users from noisy sums, with user-level differential privacy.

    Parameters
    ----------
    epsilon : float or None
        Privacy budget: adding or removing one user, with all their ratings, changes the probability
        of any release by a factor of at most about ``exp(epsilon)``. None samples from exact sums,
        without a guarantee.
    delta : float
        The probability that the guarantee leaves out.
    people : int, optional
        Number of synthetic users; by default the noisy number of users.
    catalogue : array-like, path or "as-rated", optional
        The public list of items, or a text file with one id per line. "as-rated" if the list of
        rated items is public. By default items are selected by their noisy sums, and rare items are
        dropped.
    rating_grid : {"tenths", "whole"}, optional
        Values are tenths of the scale's step (default), or levels of the scale with their full
        spread. Not for implicit feedback; ordinal labels are always whole.
    seed : int, optional
        Makes the release repeatable, for experiments. Such a release is not written: the seed would
        let an adversary remove the noise.

    Notes
    -----
    Every query on users passes `Mechanism` once; everything else postprocesses its
    noisy answers. docs/explanation/differential-privacy.md has the proofs. Implicit feedback has no
    queries on rating values, so the other queries get the whole budget.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(400, 60, 8_000, seed=1)
    >>> release = Synthesizer(20.0, catalogue="as-rated", seed=1).anonymize(ratings)
    >>> release.published.claim.epsilon, release.published.claim.kind
    (20.0, 'differentially-private')
    """

    def __init__(
        self,
        epsilon: float | None,
        delta: float = 1e-6,
        *,
        people: int | None = None,
        catalogue: Any = None,
        rating_grid: Literal["tenths", "whole"] | None = None,
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.people = people
        self.catalogue = catalogue
        self.rating_grid = rating_grid
        self.seed = seed

    def anonymize(self, ratings: Ratings) -> Release:
        """Query noisy sums, fit a model to them and sample synthetic users.

        Parameters
        ----------
        ratings : Ratings
            Their scale must be public: the ends of an inferred scale may be one user's ratings.

        Returns
        -------
        Release

        Raises
        ------
        RecveilError
            If a parameter is invalid, an item is not in the catalogue, or noise dominates the sums.
            The last case costs budget, since the queries were made.
        """
        self.check(ratings)
        public, likes_or_table = self._public(ratings)
        learnt = self.learn(likes_or_table, public, likes_or_table.items, ratings.n_users)
        private = Private(
            *(ratings.users, Groups.empty(), self.seed, self.used(learnt)),
            ratings_sha256=digest_of(ratings),
            # Under noise the ratings must not decide whether the chosen items are published.
            search_items=partial(search_ratings, ratings, can_hide=False)
            if self.epsilon is None
            else None,
        )
        return Release(self.published(learnt, self.drawn(learnt)), private)

    def check(self, ratings: Ratings) -> None:
        """Raise the errors of `anonymize` before any work."""
        self.check_options()
        check_every_user_rated(ratings)
        if self.epsilon is None and not ratings.is_unary:
            reject_likes(ratings, PUBLISHED)
        self.check_scale(ratings.scale)
        if self.epsilon is None:  # under noise, a refusal must not reveal a user
            reject_few(ratings.n_users)
        else:
            self.check_items(ratings.items, ratings.users)
            if self.catalogue is not None:
                self._check_raters(ratings)

    def check_options(self) -> None:
        """Raise a RecveilError for options that are invalid for any ratings."""
        check_seed(self.seed)
        epsilon = NO_NOISE if self.epsilon is None else self.epsilon
        delta = None if self.epsilon is None else self.delta
        check_drawing({"epsilon": epsilon, "delta": delta, "people": self.people})

    def check_scale(self, scale: RatingScale) -> None:
        """Raise a RecveilError if the scale does not support synthetic users."""
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
        if self.catalogue is None and self.epsilon is not None:
            return
        catalogue = AS_RATED if self.catalogue is None else parse_catalogue(self.catalogue)
        public = items if isinstance(catalogue, str) else catalogue
        reject_people(public, can_hide=False)
        user_ids = [] if users is None else users.tolist()
        if problem := ids_in_items(user_ids, public.tolist(), can_hide=False).problem:
            raise RecveilError(f"item ids: {problem}", code="id.personal")

    def _check_raters(self, ratings: Ratings) -> None:
        if problem := search_ratings(ratings, ratings.items, can_hide=False):
            raise RecveilError(f"item ids: {problem}", code="id.personal")

    def _check_likes(self, scale: RatingScale) -> None:
        if self.rating_grid is not None:
            raise RecveilError(
                f"rating_grid, of drawn ratings (--ratings), is {quoted(self.rating_grid)}, but "
                f"likes have no ratings, and each label is 1; leave it out",
                code="option.unsupported",
            )
        if self.epsilon is not None and scale.inferred:
            raise RecveilError(
                "likes (--likes): nobody said that these are likes, but all ratings are equal, and "
                "one person could change that; say so (--likes), or name the scale (--scale)",
                code="scale.inferred",
            )

    def _check_ratings(self, scale: RatingScale) -> None:
        if self.rating_grid not in (None, "tenths", "whole"):
            raise RecveilError(
                f"rating_grid, of drawn ratings (--ratings), is {quoted(self.rating_grid)}; "
                f"expected tenths or whole",
                code="option.value",
            )
        if self.rating_grid == "tenths" and scale.words:
            raise RecveilError(
                "rating_grid, of drawn ratings (--ratings), is tenths, but ratings are words, and "
                "nothing lies between two words; leave it out",
                code="option.unsupported",
            )
        if self.rating_grid == "whole" and scale.step is None:
            raise RecveilError(
                f"rating_grid, of drawn ratings (--ratings): the scale {scale} has no "
                f"steps, so that no rating is whole; name a step (--scale LOW:HIGH:STEP), or take "
                f"tenths",
                code="option.unsupported",
            )
        if not scale.range:
            raise RecveilError(
                f"scale (--scale): {scale} has one value, so that no rating says whether "
                f"an item was liked; name the whole scale, such as --scale 0:1:1, or read them as "
                f"likes (--likes)",
                code="scale.invalid",
            )
        if self.epsilon is not None and scale.inferred:
            raise RecveilError(
                f"scale (--scale): {scale} was read off the ratings, and its ends may be "
                f"one person's; name it, such as --scale {scale}",
                code="scale.inferred",
            )

    def _public(self, ratings: Ratings) -> tuple[Public, Ratings]:
        """Return the public facts, and the ratings on the items of the catalogue."""
        if self.catalogue is None:
            share = 0.0 if self.epsilon is None else THRESHOLD_SHARE * self.delta
            return Public(False, MOST_ITEMS, share), in_public_order(ratings, MOST_ITEMS)
        items = parse_catalogue(self.catalogue)
        if isinstance(items, str):  # as rated
            return Public(True, ratings.n_items), ratings
        return Public(True, items.size), on_catalogue(ratings, items)

    def public_items(self, items: NDArray[Any]) -> tuple[Public, NDArray[Any], NDArray[np.int64]]:
        """Return the public facts, the queried items, and the position of each rated item.

        Parameters
        ----------
        items : ndarray, shape (n_items,)
            The ids of all rated items, ascending.
        """
        if self.catalogue is None:
            share = 0.0 if self.epsilon is None else THRESHOLD_SHARE * self.delta
            return Public(False, MOST_ITEMS, share), *places_in_public_order(items)
        catalogue = parse_catalogue(self.catalogue)
        if isinstance(catalogue, str):  # as rated
            return Public(True, items.size), items, np.arange(items.size)
        return Public(True, catalogue.size), catalogue, places_on_catalogue(items, catalogue)

    def learn(self, people: People, public: Public, items: NDArray[Any], n_people: int) -> "Learnt":
        """Query the table and fit a user model to the answers.

        Parameters
        ----------
        people : Ratings or SpreadOut
            On the queried items.
        public : Public
        items : ndarray, shape (n_items,)
            The ids of these items.
        n_people : int
            Number of users; disclosed only with exact sums.
        """
        source = NoiseSource.secret() if self.seed is None else NoiseSource.repeatable(self.seed)
        # Sampling after the noise is postprocessing; its seed need not be secret.
        rng = np.random.default_rng(self.seed)
        measured, model, claim = self._ask(people, public, items, source, rng, n_people)
        released = items[measured.told]
        if not public.is_catalogue:
            released, order = published_order(released)
            model = model.of_items(order)
        return Learnt(released, measured, model, claim, people.scale, rng)

    def _ask(
        self,
        people: People,
        public: Public,
        items: NDArray[Any],
        source: NoiseSource,
        rng: np.random.Generator,
        n_people: int,
    ) -> tuple[NoisySums | ChoiceSums, UserModel | LikesModel, Claim]:
        """Return the noisy answers, the model fitted to them, and the claim."""
        shares = SHARES_OF_LIKES if people.scale.unary else SHARES
        if self.epsilon is None:
            sums, sigmas = WithoutNoise(), dict.fromkeys(shares, 0.0)
            return *_fit(people, sums, public, sigmas, rng), Claim("aggregates", n_people)
        epsilon = float(self.epsilon)
        budget = Budget.of(epsilon, self.delta, threshold_delta=public.threshold_delta)
        sigmas = budget.sigmas(shares)
        mechanism = Mechanism(source, sigmas)
        with failed_attempt_cost(mechanism, budget):
            measured, model = _fit(people, mechanism, public, sigmas, rng)
            if not public.is_catalogue:
                reject_people(items[measured.told], can_hide=False)
        ledger = mechanism.ledger()
        return (
            measured,
            model,
            Claim("differentially-private", 1, epsilon=epsilon, delta=self.delta, ledger=ledger),
        )

    def drawn(self, learnt: "Learnt") -> SampledUsers:
        """Return the synthetic users of the model; call this before `published`."""
        n_people = max(1, round(learnt.measured.n_people)) if self.people is None else self.people
        seeded = self.seed is not None
        drawing = int(learnt.rng.integers(1 << 62)) if seeded else secrets.randbits(64)
        return SampledUsers(learnt.model, n_people, drawing, self.rating_grid == "whole")

    def published(self, learnt: "Learnt", drawn: SampledUsers | SampledBatches) -> Published:
        """Return the published synthetic users and their provenance."""
        items, measured, model, claim, scale, rng = learnt
        n_people, grid = drawn.n_people, step_of_drawn(scale, whole=drawn.whole)

        def table() -> pa.Table:
            return model_table(items, model)

        def expect(layout: str, file_format: str) -> Expected | None:
            if layout == "model":
                return None
            # Statistics of real users are as noisy as everything else.
            n_ratings = measured.n_people * float(measured.activity.mean())
            each = float(model.activity.mean())
            return expect_drawn(items, scale, n_people, each, n_ratings, file_format, grid)

        settings = {
            "method": SYNTHETIC.title,
            "noise": "none" if self.epsilon is None else "gaussian",
            "item_catalog": _catalogue_word(self.catalogue),
            "n_users": "counted" if self.people is None else "requested",
            **({} if scale.unary else {"value_step": grid}),
            "omitted_share": round(1 - measured.share_as_json, 4),
            **model_settings(model),
        }
        return Published(
            claim=claim,
            items=items,
            scale=scale,
            settings=settings,
            n_users=n_people,
            # Chosen without reading real ids: a prefix that avoids them would reveal something
            # about them.
            prefix=fresh_prefix(np.empty(0), rng),
            blocks=drawn.blocks,
            default_layout="users",
            model=table,
            expect=expect,
        )

    def used(self, learnt: "Learnt") -> dict[str, Any]:
        """Return the full settings, for the private folder."""
        # The first column of embeddings is multiplied by activity.
        n_factors = int(learnt.model.tastes[:, 1:].any(axis=0).sum())
        return {"epsilon": self.epsilon, "delta": self.delta, "tastes": n_factors}


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


def _fit(
    ratings: People,
    mechanism: QueriedItems,
    public: Public,
    sigmas: Mapping[str, float],
    rng: np.random.Generator,
) -> tuple[NoisySums | ChoiceSums, UserModel | LikesModel]:
    """Make all queries; the last one on ratings uses embeddings that were fitted to the others."""
    if ratings.scale.unary:
        choices = measure_likes(ratings, mechanism, public, sigmas)
        return choices, learn_likes(choices, rng)
    measured = measure(ratings, mechanism, public, sigmas)
    model = learn_users(measured, ratings.scale, rng)
    sigma = sigmas[QUERY]
    return measured, follow_embeddings(ratings, mechanism, measured, model, sigma, rng)


def reject_few(n_people: int) -> None:
    """Raise a RecveilError for exact sums of too few users, which would disclose each of them."""
    if n_people < FEWEST_SUMMED:
        raise RecveilError(
            f"epsilon (--epsilon) is none, but sums without noise of so few people (here "
            f"{n_people}) nearly show each of them; expected at least {FEWEST_SUMMED} people: add "
            f"some, or give an epsilon such as 3",
            code="table.too-few-users",
        )


def _catalogue_word(catalogue: Any) -> str:
    if catalogue is None:
        return "selected"
    return "rated items" if isinstance(catalogue, str) and catalogue == AS_RATED else "given"
