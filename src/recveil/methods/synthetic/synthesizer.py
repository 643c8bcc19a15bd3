"""Synthesizer: releases of people who never were, drawn from noisy sums over people who are."""

import secrets
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

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
from recveil.ratings.ids import reject_people
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


class Synthesizer(BriefParameters, BaseEstimator):
    """Draw people from noisy sums over real ones: differential privacy for whole people.

    Parameters
    ----------
    epsilon : float or None
        What is promised: by at most about ``exp(epsilon)`` anybody's being in the data, with all
        their ratings, changes how likely any release is. None draws from exact sums, and promises
        nothing.
    delta : float
        The probability that this leaves out.
    people : int, optional
        How many to draw; if not given, as many as there are, as counted with noise.
    catalogue : array-like, path or "as-rated", optional
        The public list of items, or a text file with an id a line. "as-rated" if everybody may
        know which items were rated at all. If not given, items are chosen by their noisy sums, and
        those that few people rated are left out.
    rating_grid : {"tenths", "whole"}, optional
        Labels are tenths of the scale's step (if not given), or levels of the scale, with all their
        spread. Not of likes, which have no labels; words are always whole.
    seed : int, optional
        Makes the release repeatable, for experiments: then it is not written, as whoever knows the
        seed takes the noise off.

    Notes
    -----
    Every number that is asked of people passes `Mechanism`, once; all else is done to these noisy
    numbers. docs/explanation/differential-privacy.md has the proofs. Of likes, nothing is asked
    about ratings, and what is asked has the whole budget.

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
        """Ask the people a few noisy questions, learn from the answers, and draw others.

        Parameters
        ----------
        ratings : Ratings
            Their scale must be public: read off the ratings, its ends may be one person's.

        Returns
        -------
        Release

        Raises
        ------
        RecveilError
            If a parameter makes no sense, an item is not in the catalogue, or the noise hides
            nearly everything: that counts, as people were asked.
        """
        self.check(ratings)
        public, asked = self._public(ratings)
        learnt = self.learn(asked, public, asked.items, ratings.n_users)
        private = Private(
            *(ratings.users, Groups.of_nobody(), self.seed, self.used(learnt)),
            ratings_sha256=digest_of(ratings),
        )
        return Release(self.published(learnt, self.drawn(learnt)), private)

    def check(self, ratings: Ratings) -> None:
        """Raise what `anonymize` would raise before any work."""
        self.check_options()
        check_every_user_rated(ratings)
        if self.epsilon is None and not ratings.is_unary:
            reject_likes(ratings, PUBLISHED)
        self.check_scale(ratings.scale)
        if self.epsilon is None:  # with noise, that a release is made must not tell of anybody
            reject_few(ratings.n_users)
        else:
            self.check_items(ratings.items, ratings.users)

    def check_options(self) -> None:
        """Raise a RecveilError for options that make no sense, whatever the ratings."""
        check_seed(self.seed)
        epsilon = NO_NOISE if self.epsilon is None else self.epsilon
        delta = None if self.epsilon is None else self.delta
        check_drawing({"epsilon": epsilon, "delta": delta, "people": self.people})

    def check_scale(self, scale: RatingScale) -> None:
        """Raise a RecveilError if no people can be drawn who rate on such a scale."""
        if scale.unary:
            self._check_likes(scale)
        else:
            self._check_ratings(scale)

    def check_items(self, items: NDArray[Any], users: NDArray[Any] | None = None) -> None:
        """Raise a RecveilError if public ids of items look like, or hold, those of users.

        Where noise chooses the items, no id is public yet: `learn` checks the chosen ones.

        Parameters
        ----------
        items : ndarray, shape (n_items,)
            The ids of all items that were rated.
        users : ndarray, shape (n_users,), optional
            The ids of users, which are looked for in those of the items.
        """
        if self.catalogue is None and self.epsilon is not None:
            return
        given = AS_RATED if self.catalogue is None else parse_catalogue(self.catalogue)
        public = items if isinstance(given, str) else given
        reject_people(public, can_hide=False)
        held = [] if users is None else users.tolist()
        if problem := ids_in_items(held, public.tolist(), can_hide=False).problem:
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
        """Return what is public, and the ratings on the items of the catalogue."""
        if self.catalogue is None:
            share = 0.0 if self.epsilon is None else THRESHOLD_SHARE * self.delta
            return Public(False, MOST_ITEMS, share), in_public_order(ratings, MOST_ITEMS)
        items = parse_catalogue(self.catalogue)
        if isinstance(items, str):  # as rated
            return Public(True, ratings.n_items), ratings
        return Public(True, items.size), on_catalogue(ratings, items)

    def public_items(self, items: NDArray[Any]) -> tuple[Public, NDArray[Any], NDArray[np.int64]]:
        """Return what is public, the items that are asked about, and which of them each one is.

        Parameters
        ----------
        items : ndarray, shape (n_items,)
            The ids of all items that were rated, ascending.
        """
        if self.catalogue is None:
            share = 0.0 if self.epsilon is None else THRESHOLD_SHARE * self.delta
            return Public(False, MOST_ITEMS, share), *places_in_public_order(items)
        given = parse_catalogue(self.catalogue)
        if isinstance(given, str):  # as rated
            return Public(True, items.size), items, np.arange(items.size)
        return Public(True, given.size), given, places_on_catalogue(items, given)

    def learn(self, people: People, public: Public, items: NDArray[Any], n_people: int) -> "Learnt":
        """Ask people, and learn from the answers by which rule to draw others.

        Parameters
        ----------
        people : Ratings, or whoever is spread
            On the items that are asked about.
        public : Public
        items : ndarray, shape (n_items,)
            The ids of these items.
        n_people : int
            How many there are; told of exact sums alone.
        """
        source = NoiseSource.secret() if self.seed is None else NoiseSource.repeatable(self.seed)
        # What is drawn after the noise asks nothing of anybody; it need not be secret.
        rng = np.random.default_rng(self.seed)
        measured, model, claim = self._ask(people, public, items, source, rng, n_people)
        told = items[measured.told]
        if not public.is_catalogue:
            told, order = published_order(told)
            model = model.of_items(order)
        return Learnt(told, measured, model, claim, people.scale, rng)

    def _ask(
        self,
        people: People,
        public: Public,
        items: NDArray[Any],
        source: NoiseSource,
        rng: np.random.Generator,
        n_people: int,
    ) -> tuple[NoisySums | ChoiceSums, UserModel | LikesModel, Claim]:
        """Ask the people; return the answers, the rule learnt from them, and what is promised."""
        shares = SHARES_OF_LIKES if people.scale.unary else SHARES
        if self.epsilon is None:
            sums, sigmas = WithoutNoise(), dict.fromkeys(shares, 0.0)
            return *_asked(people, sums, public, sigmas, rng), Claim("aggregates", n_people)
        epsilon = float(self.epsilon)
        budget = Budget.of(epsilon, self.delta, threshold_delta=public.threshold_delta)
        sigmas = budget.sigmas(shares)
        mechanism = Mechanism(source, sigmas)
        with failed_attempt_cost(mechanism, budget):
            measured, model = _asked(people, mechanism, public, sigmas, rng)
            if not public.is_catalogue:
                reject_people(items[measured.told], can_hide=False)
        ledger = mechanism.ledger()
        return (
            measured,
            model,
            Claim("differentially-private", 1, epsilon=epsilon, delta=self.delta, ledger=ledger),
        )

    def drawn(self, learnt: "Learnt") -> SampledUsers:
        """Return the people who are drawn by the rule, before `published` is asked for."""
        n_people = max(1, round(learnt.measured.n_people)) if self.people is None else self.people
        seeded = self.seed is not None
        drawing = int(learnt.rng.integers(1 << 62)) if seeded else secrets.randbits(64)
        return SampledUsers(learnt.model, n_people, drawing, self.rating_grid == "whole")

    def published(self, learnt: "Learnt", drawn: SampledUsers | SampledBatches) -> Published:
        """Return what is published: people drawn by a rule, and how it came about."""
        items, measured, model, claim, scale, rng = learnt
        n_people, grid = drawn.n_people, step_of_drawn(scale, whole=drawn.whole)

        def table() -> pa.Table:
            return model_table(items, model)

        def expect(layout: str, file_format: str) -> Expected | None:
            if layout == "model":
                return None
            # What is said of real people is as noisy as all else.
            told = measured.n_people * float(measured.activity.mean())
            each = float(model.activity.mean())
            return expect_drawn(items, scale, n_people, each, told, file_format, grid)

        settings = {
            "method": SYNTHETIC.title,
            "noise": "none" if self.epsilon is None else "gaussian",
            "catalogue": _catalogue_word(self.catalogue),
            "people": "counted" if self.people is None else "asked for",
            **({} if scale.unary else {"label_step": grid}),
            "pooled_share": round(1 - measured.share_as_json, 4),
            **model_settings(model),
        }
        return Published(
            claim=claim,
            items=items,
            scale=scale,
            settings=settings,
            n_users=n_people,
            # Chosen without a look at real ids: that no number is one of them would tell of them.
            prefix=fresh_prefix(np.empty(0), rng),
            blocks=drawn.blocks,
            default_layout="users",
            model=table,
            expect=expect,
        )

    def used(self, learnt: "Learnt") -> dict[str, Any]:
        """Return the full settings, for the owner alone."""
        # The first column of tastes is how much somebody rates.
        n_tastes = int(learnt.model.tastes[:, 1:].any(axis=0).sum())
        return {"epsilon": self.epsilon, "delta": self.delta, "tastes": n_tastes}


@brief
class Learnt(NamedTuple):
    """What was learnt from people, through noise: all else follows from it.

    Attributes
    ----------
    items : ndarray, shape (n_told,)
        The ids of the items that are told, as they are published.
    measured : NoisySums or ChoiceSums
        The answers.
    model : UserModel or LikesModel
        The rule by which people are drawn.
    claim : Claim
        What is promised.
    scale : RatingScale
    rng : Generator
        Draws all that is not noise.
    """

    items: NDArray[Any]
    measured: NoisySums | ChoiceSums
    model: UserModel | LikesModel
    claim: Claim
    scale: RatingScale
    rng: np.random.Generator


def _asked(
    ratings: People,
    mechanism: QueriedItems,
    public: Public,
    sigmas: Mapping[str, float],
    rng: np.random.Generator,
) -> tuple[NoisySums | ChoiceSums, UserModel | LikesModel]:
    """Ask all queries; the last one of ratings is about tastes that were learnt from the others."""
    if ratings.scale.unary:
        choices = measure_likes(ratings, mechanism, public, sigmas)
        return choices, learn_likes(choices, rng)
    measured = measure(ratings, mechanism, public, sigmas)
    model = learn_users(measured, ratings.scale, rng)
    sigma = sigmas[QUERY]
    return measured, follow_embeddings(ratings, mechanism, measured, model, sigma, rng)


def reject_few(n_people: int) -> None:
    """Refuse exact sums of so few people that they show each of them."""
    if n_people < FEWEST_SUMMED:
        raise RecveilError(
            f"epsilon (--epsilon) is none, but sums without noise of so few people (here "
            f"{n_people}) nearly show each of them; expected at least {FEWEST_SUMMED} people: add "
            f"some, or give an epsilon such as 3",
            code="table.too-few-users",
        )


def _catalogue_word(catalogue: Any) -> str:
    if catalogue is None:
        return "chosen"
    return "as rated" if isinstance(catalogue, str) and catalogue == AS_RATED else "given"
