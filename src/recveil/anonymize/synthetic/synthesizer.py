"""Synthesizer: releases of people who never were, drawn from noisy sums over people who are."""

import secrets
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from recveil.anonymize.base import check_everybody_rated, check_seed
from recveil.anonymize.drawing_options import AS_RATED, NO_NOISE, catalogue_given, check_drawing
from recveil.anonymize.synthetic.budget import Budget
from recveil.anonymize.synthetic.choice_sums import (
    SHARES_OF_LIKES,
    Asked,
    ChoiceSums,
    Public,
    measure_likes,
)
from recveil.anonymize.synthetic.following_tastes import QUERY, follow_tastes
from recveil.anonymize.synthetic.gaussian import NoiseSource
from recveil.anonymize.synthetic.learning_people import learn_likes, learn_people
from recveil.anonymize.synthetic.likes_model import LikesModel
from recveil.anonymize.synthetic.mechanism import Mechanism, WithoutNoise
from recveil.anonymize.synthetic.model_table import model_settings, model_table
from recveil.anonymize.synthetic.noisy_sums import SHARES, NoisySums, measure
from recveil.anonymize.synthetic.people_model import PeopleModel
from recveil.anonymize.synthetic.public_items import (
    in_public_order,
    on_catalogue,
    published_order,
)
from recveil.anonymize.synthetic.refused_try import refused_try
from recveil.brief import BriefParameters
from recveil.errors import RecveilError, quoted
from recveil.publish import Release
from recveil.publish.expected import Expected, expect_drawn
from recveil.ratings import Ratings
from recveil.ratings.likes import PUBLISHED, refuse_likes
from recveil.release.claim import Claim
from recveil.release.groups import Groups
from recveil.release.made_of import digest_of
from recveil.release.pseudonyms import fresh_prefix
from recveil.release.records import Records
from recveil.release.sides import Private, Published
from recveil.release.synthetic_form import FEWEST_SUMMED, MOST_ITEMS, THRESHOLD_SHARE, step_of_drawn
from recveil.release.synthetic_words import SYNTHETIC


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
    numbers. docs/differential-privacy.md has the proofs. Of likes, nothing is asked about ratings,
    and what is asked has the whole budget.

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
        source = NoiseSource.secret() if self.seed is None else NoiseSource.repeatable(self.seed)
        # What is drawn after the noise asks nothing of anybody; it need not be secret.
        rng = np.random.default_rng(self.seed)
        measured, model, claim = self._learn(asked, public, source, rng)
        items = asked.items[measured.told]
        if not public.is_catalogue:
            items, order = published_order(items)
            model = model.of_items(order)
        return self._release(ratings, items, model, measured, claim, rng)

    def check(self, ratings: Ratings) -> None:
        """Raise what `anonymize` would raise before any work."""
        check_seed(self.seed)
        epsilon = NO_NOISE if self.epsilon is None else self.epsilon
        delta = None if self.epsilon is None else self.delta
        check_drawing({"epsilon": epsilon, "delta": delta, "people": self.people})
        check_everybody_rated(ratings)
        if ratings.is_unary:
            self._check_likes(ratings)
        else:
            self._check_ratings(ratings)
        if self.epsilon is None:  # with noise, that a release is made must not tell of anybody
            _refuse_few(ratings.n_users)

    def _check_likes(self, likes: Ratings) -> None:
        if self.rating_grid is not None:
            raise RecveilError(
                f"rating_grid, of drawn ratings (--ratings), is {quoted(self.rating_grid)}, but "
                f"likes have no ratings, and each label is 1; leave it out"
            )
        if self.epsilon is not None and likes.scale.inferred:
            raise RecveilError(
                "likes (--likes): nobody said that these are likes, but all ratings are equal, and "
                "one person could change that; say so (--likes), or name the scale (--scale)"
            )

    def _check_ratings(self, ratings: Ratings) -> None:
        if self.epsilon is None:
            refuse_likes(ratings, PUBLISHED)
        if self.rating_grid not in (None, "tenths", "whole"):
            raise RecveilError(
                f"rating_grid, of drawn ratings (--ratings), is {quoted(self.rating_grid)}; "
                f"expected tenths or whole"
            )
        if self.rating_grid == "tenths" and ratings.scale.words:
            raise RecveilError(
                "rating_grid, of drawn ratings (--ratings), is tenths, but ratings are words, and "
                "nothing lies between two words; leave it out"
            )
        if self.rating_grid == "whole" and ratings.scale.step is None:
            raise RecveilError(
                f"rating_grid, of drawn ratings (--ratings): the scale {ratings.scale} has no "
                f"steps, so that no rating is whole; name a step (--scale LOW:HIGH:STEP), or take "
                f"tenths"
            )
        if not ratings.scale.range:
            raise RecveilError(
                f"scale (--scale): {ratings.scale} has one value, so that no rating says whether "
                f"an item was liked; name the whole scale, such as --scale 0:1:1, or read them as "
                f"likes (--likes)"
            )
        if self.epsilon is not None and ratings.scale.inferred:
            raise RecveilError(
                f"scale (--scale): {ratings.scale} was read off the ratings, and its ends may be "
                f"one person's; name it, such as --scale {ratings.scale}"
            )

    def _public(self, ratings: Ratings) -> tuple[Public, Ratings]:
        """Return what is public, and the ratings on the items of the catalogue."""
        if self.catalogue is None:
            share = 0.0 if self.epsilon is None else THRESHOLD_SHARE * self.delta
            return Public(False, MOST_ITEMS, share), in_public_order(ratings, MOST_ITEMS)
        items = catalogue_given(self.catalogue)
        if isinstance(items, str):  # as rated
            return Public(True, ratings.n_items), ratings
        return Public(True, items.size), on_catalogue(ratings, items)

    def _learn(
        self, ratings: Ratings, public: Public, source: NoiseSource, rng: np.random.Generator
    ) -> tuple[NoisySums | ChoiceSums, PeopleModel | LikesModel, Claim]:
        """Ask the people; return the answers, the rule learnt from them, and what is promised."""
        shares = SHARES_OF_LIKES if ratings.is_unary else SHARES
        if self.epsilon is None:
            sums, sigmas = WithoutNoise(), dict.fromkeys(shares, 0.0)
            return *_asked(ratings, sums, public, sigmas, rng), Claim("aggregates", ratings.n_users)
        epsilon = float(self.epsilon)
        budget = Budget.of(epsilon, self.delta, threshold_delta=public.threshold_delta)
        sigmas = budget.sigmas(shares)
        mechanism = Mechanism(source, sigmas)
        with refused_try(mechanism, budget):
            measured, model = _asked(ratings, mechanism, public, sigmas, rng)
        ledger = mechanism.ledger()
        return (
            measured,
            model,
            Claim("differentially-private", 1, epsilon=epsilon, delta=self.delta, ledger=ledger),
        )

    def _release(
        self,
        ratings: Ratings,
        items: NDArray[Any],
        model: PeopleModel | LikesModel,
        measured: NoisySums | ChoiceSums,
        claim: Claim,
        rng: np.random.Generator,
    ) -> Release:
        n_people = max(1, round(measured.n_people)) if self.people is None else self.people
        whole = self.rating_grid == "whole"
        grid = step_of_drawn(ratings.scale, whole=whole)
        drawing = secrets.randbits(64) if self.seed is None else int(rng.integers(1 << 62))

        def blocks() -> Iterator[Records]:
            by = np.random.default_rng(drawing)
            if isinstance(model, LikesModel):
                return model.draw(n_people, by)
            return model.draw(n_people, by, whole=whole)

        def table() -> pa.Table:
            return model_table(items, model)

        def expect(layout: str, file_format: str) -> Expected | None:
            if layout == "model":
                return None
            # What is said of real people is as noisy as all else.
            told = measured.n_people * float(measured.activity.mean())
            each = float(model.activity.mean())
            return expect_drawn(items, ratings.scale, n_people, each, told, file_format, grid)

        settings = {
            "method": SYNTHETIC.title,
            "noise": "none" if self.epsilon is None else "gaussian",
            "catalogue": _catalogue_word(self.catalogue),
            "people": "counted" if self.people is None else "asked for",
            **({} if ratings.is_unary else {"label_step": grid}),
            "pooled_share": round(1 - measured.share_told, 4),
            **model_settings(model),
        }
        published = Published(
            claim=claim,
            items=items,
            scale=ratings.scale,
            settings=settings,
            n_users=n_people,
            # Chosen without a look at real ids: that no number is one of them would tell of them.
            prefix=fresh_prefix(np.empty(0), rng),
            blocks=blocks,
            default_layout="users",
            model=table,
            expect=expect,
        )
        # The first column of tastes is how much somebody rates.
        n_tastes = int(model.tastes[:, 1:].any(axis=0).sum())
        used = {"epsilon": self.epsilon, "delta": self.delta, "tastes": n_tastes}
        private = Private(
            *(ratings.users, Groups.of_nobody(), self.seed, used),
            ratings_sha256=digest_of(ratings),
        )
        return Release(published, private)


def _asked(
    ratings: Ratings,
    mechanism: Asked,
    public: Public,
    sigmas: Mapping[str, float],
    rng: np.random.Generator,
) -> tuple[NoisySums | ChoiceSums, PeopleModel | LikesModel]:
    """Ask all queries; the last one of ratings is about tastes that were learnt from the others."""
    if ratings.is_unary:
        choices = measure_likes(ratings, mechanism, public, sigmas)
        return choices, learn_likes(choices, rng)
    measured = measure(ratings, mechanism, public, sigmas)
    model = learn_people(measured, ratings.scale, rng)
    sigma = sigmas[QUERY]
    return measured, follow_tastes(ratings, mechanism, measured, model, sigma, rng)


def _refuse_few(n_people: int) -> None:
    """Refuse exact sums of so few people that they show each of them."""
    if n_people < FEWEST_SUMMED:
        raise RecveilError(
            f"epsilon (--epsilon) is none, but sums without noise of so few people (here "
            f"{n_people}) nearly show each of them; expected at least {FEWEST_SUMMED} people: add "
            f"some, or give an epsilon such as 3"
        )


def _catalogue_word(catalogue: Any) -> str:
    if catalogue is None:
        return "chosen"
    return "as rated" if isinstance(catalogue, str) and catalogue == AS_RATED else "given"
