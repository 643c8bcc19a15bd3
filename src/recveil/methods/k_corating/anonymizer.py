"""KCoRater, an anonymizer that fills rows until k users share their set of rated items."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD

from recveil.io import StatedTrust
from recveil.methods.base import (
    BaseAnonymizer,
    assemble,
    check_k,
    check_limits,
    check_limits_of,
    check_seed,
    check_users,
    published_limits,
    secret_rng,
    seed_or_random,
)
from recveil.methods.components import GROUPINGS, nearest_of_all_users, parameters_of
from recveil.methods.k_corating.fills import (
    NEIGHBOUR_FILLS,
    Fill,
    count_trust,
    learn,
    make_fill,
    reject_between_words,
    reject_fill_options,
)
from recveil.methods.k_corating.gecom import gecom
from recveil.methods.k_corating.rows import (
    CoRatedRows,
    Protect,
    diversify_items,
    merge_beyond,
    suppress_beyond,
)
from recveil.methods.predictive.anonymizer import value_step
from recveil.predict import FunkSVD
from recveil.predict.knn import DirectWeights
from recveil.publish.release import Release
from recveil.publish.size_estimate import expect
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.records import Groups, Records
from recveil.release.specs.k_corating import (
    CO_RATED_GROUPINGS,
    FILLS,
    K_CORATING,
    MAX_WORKLOADS,
)
from recveil.runtime.errors import RecveilError, describe_count, option_named
from recveil.runtime.threads import one_thread, pool
from recveil.verification.diversity import check_parameters
from recveil.verification.value_limits import ValueLimits

# Up to this many cells, item sets are compared directly; beyond, by their principal directions.
_DENSE_CELLS = 1 << 22
_DIRECTIONS = 50


class KCoRater(BaseAnonymizer):
    """Publish all real ratings, with fills until k users rated the same items.

    The claim `co-rated` concerns which items were rated, not the ratings, which stay unchanged. An
    adversary who knows some of a user's *ratings* re-identifies them nearly as easily as before;
    see docs/explanation/k-corating.md, and run `recveil audit`.

    Parameters
    ----------
    k : int
        Smallest group of users with the same rated items, at least 2.
    fill : str or Fill
        Values of the added cells: "item-mean", "random", "funk-svd", "similarity" (`UserKNN`),
        "trust" (`TrustKNN`), or an object with `fit` and `predict`.
    grouping : str
        "gecom", the paper's; "pagecom", its parallel version, which groups each of the workloads by
        itself; "supports", k-gather on the sets of rated items, which needs fewer fills; or a name
        of `GROUPINGS`, on the predicted embeddings.
    workloads : int
        For "pagecom": number of workloads, at most 256.
    trust : StatedTrust, optional
        For "trust": users' trust statements, from `recveil.io.read_trust`. By default trust is
        derived from the ratings.
    direct_weights : {"trust", "similarity"}
        For "trust": weights of users with co-rated items; others have propagated trust (eq. 6).
    trust_steps : {1, 2}
        For "trust": how many times trust is propagated.
    neighbours : int, optional
        For "similarity" and "trust": fill from so many nearest of all users, each weighted by eqs.
        1 to 6 as printed. By default from at most 60 raters of the item, and few common items
        weigh less.
    round_fills : bool
        Round the fills to the scale. Unrounded fills are distinguishable from ratings, as they
        always are on a continuous scale.
    protect : {"none", "mean", "shuffle"}
        Beyond the paper: protection of the values. "mean": each value is the group's
        mean for the item, on a grid of a tenth of the scale's step, and the claim becomes
        `identical-rows`. "shuffle": the values of each item are permuted within the group. See
        Notes for its guarantee.
    b, l : int
        Diversity (Chang et al., Definition 5.3): every set of b items (1 to 3) of a class occurs in
        at least l classes with different items, to which missing items are added.
    diversity, closeness : int, float, optional
        Beyond the paper, whose future work names both: the values of each item in a class, imputed
        ones included, have at least so many distinct ones, and are at most so far from all
        published values of the item (`recveil.verification.value_limits`). Other values are
        suppressed, ratings, too; a class without any value joins the next.
    threads : int
        Number of threads that fill groups; the result does not depend on it.
    seed : int, optional
        Fixes every random choice. Drawn from the system by default.

    Notes
    -----
    Source: k-coRating, Definition 3 and Algorithms 1 to 3 (GeCom, PaGeCom). Fills are learned from
    the original ratings, never from fills.

    An adversary who can recompute the fills distinguishes rounded ones too: where most values of an
    item are its mean, the others are real. "mean" does not hide a rating that only one user of the
    group gave, if the fills averaged with it can be recomputed; only the member stays hidden.

    "shuffle" permutes the values of each item in a group of s users independently of other items,
    with each of the s! permutations equally likely. So as far as the release reveals, a value in a
    record belongs to its user with probability 1/s. The files cannot prove that, so the claim stays
    `co-rated`. It hides whose a value is, not which values were given: if all members gave the same
    rating, it is known; and if fills can be recomputed, as item means can, any other value is the
    rating of the member who rated. At k = 9, with item means, an adversary who knows the group and
    who rated what learns 57% of the ratings of MovieLens 100K.

    With implicit feedback, users with the same items have the same row, so the claim is
    `identical-rows`.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
    >>> release = KCoRater(k=3, seed=1).anonymize(ratings)
    >>> release.published.claim
    Claim(kind='co-rated', k=3, levels=False, b=1, l=1)
    >>> release.private.settings["filled_cells"] > 0
    True
    """

    def __init__(
        self,
        k: int,
        fill: str | Fill = "item-mean",
        grouping: str = "gecom",
        *,
        workloads: int = 2,
        trust: StatedTrust | None = None,
        direct_weights: DirectWeights = "trust",
        trust_steps: int = 1,
        neighbours: int | None = None,
        round_fills: bool = True,
        protect: Protect = "none",
        b: int = 1,
        l: int = 1,  # noqa: E741
        diversity: int | None = None,
        closeness: float | None = None,
        threads: int = 2,
        seed: int | None = None,
    ) -> None:
        self.k = k
        self.fill = fill
        self.grouping = grouping
        self.workloads = workloads
        self.trust = trust
        self.direct_weights = direct_weights
        self.trust_steps = trust_steps
        self.neighbours = neighbours
        self.round_fills = round_fills
        self.protect = protect
        self.b = b
        self.l = l
        self.diversity = diversity
        self.closeness = closeness
        self.threads = threads
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
            equal and not implicit feedback, the scale is inferred and fewer than k users used one
            of its ends, an option is invalid or unsupported, or `trust` concerns other users or is
            not used.
        """
        ratings = self._read(ratings)
        self.check(ratings)
        seed = seed_or_random(self.seed)
        # Nothing random depends on the seed alone: an adversary who guesses it could recognize
        # fills.
        rng = secret_rng(seed, ratings)
        group_seed = int(rng.integers(2**32))
        fill_seed = int(rng.integers(2**63))
        fill = self.make_fill(fill_seed, self.trust)
        parameters = {"name": type(fill).__name__, **parameters_of(fill)}
        fill = learn(fill, ratings, self.threads)
        limits = ValueLimits.of(published_limits(self.diversity, self.closeness))
        groups = self._group(ratings, group_seed)
        n_groups = groups.sizes.size
        how: dict[str, Any] = {"round_fills": self.round_fills, "protect": self.protect}
        if limits is not None:
            groups = merge_beyond(CoRatedRows.of(ratings, fill, groups, **how, seed=0), limits)
        groups = _shuffled(groups, rng)
        rows = CoRatedRows.of(ratings, fill, groups, **how, seed=int(rng.integers(2**62)))
        if self.l > 1:
            rows = diversify_items(rows, int(self.b), int(self.l))
        suppressed: dict[str, int] = {}
        if limits is not None:
            rows, suppressed = suppress_beyond(rows, limits, n_groups)
        n_cells = int(rows.cells.sum())
        used: dict[str, object] = {
            "filled_cells": n_cells - ratings.n_ratings + suppressed.get("ratings", 0),
            "cells": n_cells,
            **({} if limits is None else {"suppressed": suppressed}),
            **({} if ratings.is_unary else {"fill": parameters}),
        }
        used |= count_trust(self.trust)
        public = self.public_settings(ratings.scale)
        return assemble(
            ratings,
            rng,
            claim=Claim(K_CORATING.claim_of(public), int(self.k), b=int(self.b), l=int(self.l)),
            settings=public,
            groups=Groups(groups.members, np.arange(groups.members.size + 1, dtype=np.int64)),
            blocks=lambda: self._blocks(rows),
            default_layout="users",
            seed=seed,
            expect=partial(
                expect,
                ratings,
                "co-rated",
                np.diff(rows.starts),
                groups.sizes,
                step=self.step(ratings.scale),
            ),
            used=used,
        )

    def make_fill(self, seed: int, trust: StatedTrust | None) -> Fill:
        """Return the fill, not yet learned, or raise the errors of its options."""
        ways = (self.direct_weights, self.trust_steps, self.neighbours)
        return make_fill(self.fill, seed, trust, *ways)

    def step(self, scale: RatingScale) -> float | None:
        """Return the step of all values, or None if fills are not rounded."""
        if self._averages:
            return value_step("usual", scale)
        return scale.step if self.round_fills else None

    @property
    def _averages(self) -> bool:
        return self.protect == "mean"

    def public_settings(self, scale: RatingScale) -> dict[str, object]:
        """Return the settings that are published."""
        workloads = {"workloads": self.workloads} if self.grouping == "pagecom" else {}
        grouping = {"grouping": self.grouping, **workloads}
        if scale.unary:
            return {"method": K_CORATING.title, **grouping, "feedback": "implicit"}
        settings: dict[str, object] = {
            "method": K_CORATING.title,
            "fill": self.fill if isinstance(self.fill, str) else type(self.fill).__name__,
            **grouping,
            # Nothing can be rounded to a continuous scale, unless it is a single number.
            "round_fills": bool(self.round_fills and (scale.step or not scale.range)),
            "protect": self.protect,
        }
        if self.fill == "trust":
            settings["trust"] = "inferred" if self.trust is None else "stated"
            if self.direct_weights != "trust":
                settings["direct_weights"] = self.direct_weights
            if self.trust_steps != 1:
                settings["trust_steps"] = self.trust_steps
        if self.neighbours is not None:
            settings["neighbours"] = int(self.neighbours)
        if self._averages:
            settings["value_step"] = value_step("usual", scale)
        return {**settings, **published_limits(self.diversity, self.closeness)}

    def check(self, ratings: Ratings) -> None:
        """Raise the errors of `anonymize` before any work."""
        self.check_options()
        check_users(ratings, self.k, takes_likes=True)
        self.check_labels(ratings.scale)

    def check_options(self) -> None:
        """Raise the errors that do not depend on the ratings."""
        check_seed(self.seed)
        check_k(self.k)
        choices = {
            "protect": get_args(Protect),
            "direct_weights": get_args(DirectWeights),
            "trust_steps": (1, 2),
        }
        if isinstance(self.fill, str):
            choices["fill"] = FILLS
        for name, allowed in choices.items():
            value = getattr(self, name)
            if isinstance(value, bool) or value not in allowed:
                raise RecveilError(
                    f"{option_named(name)} is {value!r}; expected one of "
                    f"{', '.join(map(str, allowed))}",
                    code="option.value",
                )
        for name, most in (("threads", None), ("workloads", MAX_WORKLOADS)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1 or value > (most or value):
                upto = f"from 1 to {most}" if most else "of 1 or more"
                raise RecveilError(
                    f"{option_named(name) if most else name} is {value!r}; expected a whole number "
                    f"{upto}",
                    code="option.value",
                )
        check_limits(self.diversity, self.closeness)
        check_parameters(self.b, self.l)
        if self.l != 1 and published_limits(self.diversity, self.closeness):
            raise RecveilError(
                "diversity and closeness (--diversity, --closeness): not with l (--l), which adds "
                "values that they would suppress; drop one of the two",
                code="option.conflict",
            )
        if published_limits(self.diversity, self.closeness) and (
            self._averages or not self.round_fills
        ):
            raise RecveilError(
                "diversity and closeness (--diversity, --closeness): not with protect mean, where "
                "the values of a class are equal, nor without rounded fills; drop one of the two",
                code="option.conflict",
            )
        nearest_of_all_users(self.neighbours, "fill", self.fill, NEIGHBOUR_FILLS)
        known = CO_RATED_GROUPINGS
        if self.grouping != "pagecom" and self.workloads != 2:
            raise RecveilError(
                f"workloads (--workloads) is {self.workloads}, but grouping (--grouping) is "
                f"{self.grouping!r}; choose the grouping pagecom, or drop workloads",
                code="option.conflict",
            )
        if self.grouping not in known:
            raise RecveilError(
                f"grouping (--grouping) is {self.grouping!r}; expected one of {', '.join(known)}",
                code="option.value",
            )

    def check_labels(self, scale: RatingScale) -> None:
        """Raise a RecveilError for options that the kind of rating does not support."""
        if scale.labels:
            reject_between_words(round_fills=self.round_fills)
        if scale.unary:
            reject_fill_options(
                self.fill, self.grouping, self.trust, self.round_fills, self.protect
            )
        check_limits_of(scale, self.diversity, self.closeness)

    def _group(self, ratings: Ratings, seed: int) -> Groups:
        if self.grouping == "gecom":
            return gecom(ratings, self.k)
        if self.grouping == "pagecom":
            most = max(ratings.n_users // self.k, 2)  # the default of 2 may be one of few users
            if self.workloads > most:
                raise RecveilError(
                    f"workloads (--workloads) is {self.workloads}, but "
                    f"{describe_count(ratings.n_users, 'user')} make at most {most} of k = "
                    f"{self.k}; lower workloads, or choose the grouping gecom",
                    code="option.value",
                )
            return gecom(ratings, self.k, self.workloads)
        if self.grouping == "supports":
            points, name = _support_points(ratings, seed), next(iter(GROUPINGS))
        else:
            points, name = FunkSVD(seed=seed).fit(ratings).padding().coordinates(), self.grouping
        grouping: Any = GROUPINGS[name](min_size=self.k, random_state=seed)
        return Groups.from_labels(grouping.fit(points).labels_)

    def _blocks(self, rows: CoRatedRows) -> Iterator[Records]:
        """Fill blocks of groups in parallel, and hand them out in their order."""
        waiting: deque[Future[Records]] = deque()
        with pool(self.threads) as workers:
            for first, last in rows.blocks():
                waiting.append(workers.submit(rows.rows, first, last))
                if len(waiting) > self.threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


def _shuffled(groups: Groups, rng: np.random.Generator) -> Groups:
    """Permute the groups and the members of each, since their order is informative."""
    group_of = np.repeat(rng.permutation(groups.sizes.size), groups.sizes)
    order = np.lexsort((rng.random(group_of.size), group_of))
    sizes = np.bincount(group_of)
    return Groups(groups.members[order], np.concatenate([[0], np.cumsum(sizes)]))


def _support_points(ratings: Ratings, seed: int) -> NDArray[Any]:
    """Place each user so that near ones rated nearly the same items."""
    rated = ratings.csr.copy()
    rated.data = np.ones_like(rated.data)
    if ratings.n_users * ratings.n_items <= _DENSE_CELLS:
        return np.asarray(rated.toarray(), dtype=np.float32)
    directions = TruncatedSVD(min(_DIRECTIONS, ratings.n_items - 1), random_state=seed % 2**32)
    with one_thread():  # the last bit of a sum can change who is in which group
        return np.asarray(directions.fit_transform(rated), dtype=np.float32)
