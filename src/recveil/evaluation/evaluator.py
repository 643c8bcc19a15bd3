"""Evaluation of many releases of the same training ratings under fixed conditions.

Split, targets, knowledge and seeds are fixed once: two figures differ by the releases alone.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil
from typing import TypedDict

import numpy as np

from recveil.attacks import PRESETS, Anonymizer
from recveil.auditing import work_estimates
from recveil.evaluation.disclosure import (
    Opened,
    Released,
    anonymizer_of,
    disclose,
    disclose_links,
    disclose_nominal,
)
from recveil.evaluation.fidelity_metrics import (
    Deviation,
    NullRule,
    SelfRank,
    check_null_rule,
    fidelity,
    find_similar_users,
    self_rank,
    similar_user_deviation,
    target_deviation,
)
from recveil.evaluation.groups import Division, divide
from recveil.evaluation.next_items import NextItems, judge_next_items
from recveil.evaluation.nominal import (
    NominalServed,
    nominal_gain,
    nominal_gain_retained,
    row_accuracy,
    serve_liked,
    serve_nominal,
)
from recveil.evaluation.rating_predictors import Recommender
from recveil.evaluation.recipient import Served, carry_over, effort_of_fits, fit_all, serve
from recveil.evaluation.results import Evaluation, NominalEvaluation, NominalLists, Note
from recveil.evaluation.retained import (
    Measured,
    raw_gain,
    raw_lists,
    release_gain,
    utility_retained,
)
from recveil.evaluation.split import HeldOut, Split, TrainingTable, UserRows
from recveil.ratings.sorted_rows import sorted_unique
from recveil.release.coverage import Coverage
from recveil.release.dates import reject_order
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import parts

# Steps of an evaluation.
_LEARN, _ROWS, _ATTACK = "Learning from it", "Comparing rows", "Attacking it"
_RAW, _COMPARE = "Learning from the raw ratings", "Comparing both"
_NEXT = "Listing next items"
_PREDICT, _LIST = "Predicting labels", "Making lists"
# Their cost in microseconds: for an operation of learning, a score, and a value of a release; and
# for a nominal label, to predict it, and to make lists.
_OPERATION, _SCORE, _VALUE = 1.5e-4, 0.35, 1.0
_PREDICTION, _LISTING = 10.0, 130.0
# Users on whose held-out ratings recommenders are judged, at most: as many as make the 95% interval
# of an nDCG this wide, with the usual standard deviation of users' nDCG.
WIDTH, _DEVIATION = 0.01, 0.25
MOST_JUDGED = ceil((2 * 1.96 * _DEVIATION / WIDTH) ** 2)


class _SplitEvaluator:
    """What evaluations of ratings and of nominal labels share."""

    def __init__(
        self,
        split: Split,
        n_targets: int,
        seed: int,
        *,
        with_membership: bool,
        attributes: Mapping[str, Sequence[str | None]] | None,
    ) -> None:
        if not isinstance(split, Split):
            raise RecveilError(
                f"split is a {type(split).__name__}; expected a Split, such as "
                f"split_ratings(ratings); recveil.evaluate takes tables (train=, test=)",
                code="argument.type",
            )
        if n_targets < 1:
            raise RecveilError(
                f"n_targets is {n_targets}; expected at least 1", code="option.value"
            )
        self.split = split
        self.n_targets = n_targets
        self.seed = seed
        self.with_membership = with_membership
        self.attributes = attributes

    @cached_property
    def _raw_table(self) -> TrainingTable:
        return TrainingTable.from_ratings(self.split.train)

    def _coverage_of(self, opened: Opened) -> Coverage:
        contains_users = opened.manifest.claim.about.contains_users
        return self._raw_table.coverage_of(opened.table, contains_users=contains_users)

    @property
    def _user_rows(self) -> UserRows:  # not kept while recommenders learn
        return UserRows.from_ratings(self.split.train)

    @property
    def _judged(self) -> HeldOut:
        return self.split.test

    def _divide(self, raw: Served, served: Served) -> tuple[Division, ...]:
        users = sorted_unique(self._judged.users)
        return divide(self.split.train, users, raw, served, self.attributes, self.seed)

    def _attack_cost(self, opened: Opened) -> float:
        table = opened.synthetic if opened.released is None else opened.released
        if table is None:
            return 0.0
        costs = work_estimates.of_attack(
            *(self.split.train, table, opened.manifest, len(PRESETS), self.n_targets),
            has_content=False,
        )
        return sum(costs.values())

    def _anonymizer(self, opened: Opened, anonymizer: Anonymizer | None) -> Anonymizer | None:
        """Return what makes such releases for membership inference; None if it is not measured."""
        if not self.with_membership:
            return None
        return anonymizer_of(opened, self.seed) if anonymizer is None else anonymizer

    def _membership_notes(self, anonymizer: Anonymizer | None) -> tuple[Note, ...]:
        is_missing = self.with_membership and anonymizer is None
        return (Note("no-membership"),) if is_missing else ()


class _UserRowResults(TypedDict):
    target_deviation: Deviation | None
    similar_user_deviation: Deviation | None
    self_rank: SelfRank | None
    self_rank_common: SelfRank | None


class _AbsentResults(TypedDict):
    raw_absent: Served | None
    release_absent: Served | None
    n_absent: int | None


class Evaluator(_SplitEvaluator):
    """Evaluates releases that were made from the training part of a split.

    Parameters
    ----------
    split : Split
        Releases are made from ``split.train`` alone, and evaluated on ``split.test``.
    null_rule : {"zero", "lowest", "skip", "item_mean"}
        The value of a held-out cell that a published row lacks; see `target_deviation`.
    n_targets : int
        Number of targets per adversary; all users if there are fewer.
    seed : int
        Draws the targets, the adversaries' knowledge, the inner hold-outs and the compared pairs.
    with_membership : bool
        Whether to measure membership inference. This needs another release, made in the same way
        without a fifth of the users, so it is possible only for methods of recveil, and takes as
        long as making one.
    next_cells : HeldOut, optional
        Of a split by time, to evaluate lists of next items; see `TimeSplit`.
    attributes : dict of str to sequence of str or None, optional
        Declared attributes, a value per user of ``split.train``, for utility by group.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluation.split import split_ratings
    >>> split = split_ratings(make_ratings(n_users=80, n_items=40, n_ratings=1200, seed=1))
    >>> evaluator = Evaluator(split, with_membership=False)
    >>> result = evaluator.evaluate(PredictiveAnonymizer(k=5, seed=1).anonymize(split.train))
    >>> result.target_deviation.null_rule, result.disclosure.attacks[0][1].requested
    ('zero', 80)
    """

    def __init__(
        self,
        split: Split,
        null_rule: NullRule = "zero",
        n_targets: int = 1000,
        seed: int = 0,
        *,
        with_membership: bool = True,
        next_cells: HeldOut | None = None,
        attributes: Mapping[str, Sequence[str | None]] | None = None,
    ) -> None:
        super().__init__(
            split, n_targets, seed, with_membership=with_membership, attributes=attributes
        )
        check_null_rule(null_rule)
        self.next_cells = next_cells
        self.null_rule: NullRule = null_rule

    @cached_property
    def _judged(self) -> HeldOut:
        """The held-out cells of all users, or of `MOST_JUDGED` of them, drawn at random."""
        users = sorted_unique(self.split.test.users)
        if users.size <= MOST_JUDGED:
            return self.split.test
        drawn = np.random.default_rng(self.seed).choice(users, MOST_JUDGED, replace=False)
        is_judged = np.zeros(self.split.train.n_users, np.bool_)
        is_judged[drawn] = True
        return self.split.test.of_users(is_judged)

    @cached_property
    def raw(self) -> Served:
        """Utility of recommenders trained on the raw training ratings."""
        return self._serve(self._raw_recommenders, self._judged)

    @cached_property
    def _raw_gain(self) -> Measured:
        return raw_gain(self.raw, seed=self.seed)

    @cached_property
    def _raw_lists(self) -> Measured:
        return raw_lists(self.raw, seed=self.seed)

    def evaluate(self, release: Released, *, anonymizer: Anonymizer | None = None) -> Evaluation:
        """Evaluate one release.

        Parameters
        ----------
        release : Release, AttackTarget, TrainingTable or path
            A release in memory; or in the form that attacks take; or a release folder, with its
            private folder next to it. A folder without a private one, or a plain table of values on
            the catalogue of ``split.train``, does not map users to rows: then the measures that
            need this (`target_deviation`, `similar_user_deviation`, `self_rank`, `disclosure`,
            `links`) are None, and `notes` gives the reason.
        anonymizer : Anonymizer, optional
            Makes such releases for membership inference. By default, one is made from the public
            settings of the release, if they name a method of `PredictiveAnonymizer` or `KCoRater`.

        Raises
        ------
        RecveilError
            If the release does not belong to the users and items of ``split.train``, cannot be
            read, or holds what it cannot have from ``split.train``.
        """
        train, judged = self.split.train, self._judged
        opened = Opened.open(release, train).knowing(self.attributes or {})
        if self.next_cells is not None:
            reject_order(opened.manifest.settings)
        is_raw = opened.table.has_rows_of(self._raw_table)
        with parts("Evaluating the release", self._costs(opened, is_raw=is_raw)) as begin:
            begin(_LEARN)
            fitted = self._raw_recommenders if is_raw else fit_all(opened.table, seed=self.seed)
            served = self.raw if is_raw else self._serve(fitted, judged)
            begin(_ROWS)
            rows = self._rows_of_users(opened)
            begin(_ATTACK)
            chosen = self._anonymizer(opened, anonymizer)
            disclosure = disclose(train, opened, self.n_targets, self.seed, chosen)
            links = disclose_links(train, opened)
            begin(_RAW)
            raw = self.raw
            absent = self._absent(opened, fitted)
            begin(_NEXT)
            next_items = self._next_items(opened, fitted, served.ranker or served.chosen)
            begin(_COMPARE)
            return Evaluation(
                **rows,
                **absent,
                raw=raw,
                release=served,
                raw_gain=self._raw_gain,
                raw_lists=self._raw_lists,
                release_gain=release_gain(raw, served, seed=self.seed),
                retained=utility_retained(raw, served, seed=self.seed),
                best_retained=utility_retained(raw, served, best=True, seed=self.seed),
                carry_over=carry_over(raw.utilities, served.utilities),
                fidelity=fidelity(self._raw_table, opened.table, seed=self.seed),
                coverage=self._coverage_of(opened),
                disclosure=disclosure,
                links=links,
                n_users=train.n_users,
                n_served=sorted_unique(judged.users).size,
                n_cells=judged.users.size,
                notes=self._notes(opened, chosen, has_links=links is not None),
                next_items=next_items,
                divisions=self._divide(raw, served),
            )

    def _costs(self, opened: Opened, *, is_raw: bool) -> dict[str, float]:
        """Return the approximate cost of each step, in microseconds on one core."""
        train = self.split.train
        serving = _SCORE * sorted_unique(self._judged.users).size * train.n_items
        raw = _OPERATION * effort_of_fits(self._raw_table) + serving
        return {
            _LEARN: _OPERATION * effort_of_fits(opened.table) + serving,
            _ROWS: _VALUE * opened.table.rows.indices.size,
            _ATTACK: self._attack_cost(opened),
            _RAW: 0.0 if is_raw or "raw" in self.__dict__ else raw,  # computed once
            _NEXT: 0.0 if self.next_cells is None else serving,
            _COMPARE: _VALUE * train.n_ratings,
        }

    @cached_property
    def _raw_recommenders(self) -> tuple[Recommender, ...]:
        return fit_all(self._raw_table, seed=self.seed)

    def _serve(self, fitted: Sequence[Recommender], test: HeldOut) -> Served:
        return serve(fitted, self._user_rows, test)

    def _rows_of_users(self, opened: Opened) -> _UserRowResults:
        """Compare rows with the ratings of their users; None if the map is unknown."""
        released, (train, test) = opened.released, self.split
        if released is None or train.is_unary:
            return {
                "target_deviation": None,
                "similar_user_deviation": None,
                "self_rank": None,
                "self_rank_common": None,
            }
        judged = self._judged
        users = None if judged is test else sorted_unique(judged.users)
        similar = find_similar_users(released, train, users)
        common = find_similar_users(released, train, users, missing="skip")
        return {
            "target_deviation": target_deviation(released, test, train.scale, self.null_rule),
            "similar_user_deviation": similar_user_deviation(
                released, similar, judged, train.scale, self.null_rule
            ),
            "self_rank": self_rank(similar),
            "self_rank_common": self_rank(common),
        }

    def _notes(
        self, opened: Opened, anonymizer: Anonymizer | None, *, has_links: bool
    ) -> tuple[Note, ...]:
        notes: tuple[Note, ...] = (Note("implicit"),) if self.split.train.is_unary else ()
        n_users = sorted_unique(self.split.test.users).size
        if n_users > MOST_JUDGED:
            notes += (Note("judged", f"{MOST_JUDGED:,} of {n_users:,}"),)
        if opened.synthetic is not None:
            return (*notes, Note("synthetic"))
        if opened.released is None:
            return (*notes, Note("unknown-rows", opened.unknown))
        notes += self._membership_notes(anonymizer)
        if not has_links:
            method = opened.manifest.known_method
            notes += (Note("no-links", method.no_links if method else ""),)
        return notes

    def _next_items(
        self, opened: Opened, fitted: Sequence[Recommender], chosen: str
    ) -> NextItems | None:
        train, cells, raw = self.split.train, self.next_cells, self._raw_recommenders
        if cells is None:
            return None
        table = opened.dated or opened.table
        return judge_next_items(train, cells, raw, fitted, table, chosen, seed=self.seed)

    def _absent(self, opened: Opened, fitted: Sequence[Recommender]) -> _AbsentResults:
        """Serve the users who are not in the release; None if it has all."""
        if opened.released is None:
            return {"raw_absent": None, "release_absent": None, "n_absent": None}
        absent = self._judged.of_users(opened.released.record_of < 0)
        if not absent.users.size:
            return {"raw_absent": None, "release_absent": None, "n_absent": 0}
        return {
            "raw_absent": self._serve(self._raw_recommenders, absent),
            "release_absent": self._serve(fitted, absent),
            "n_absent": sorted_unique(absent.users).size,
        }


class NominalEvaluator(_SplitEvaluator):
    """Evaluates releases of nominal labels; the parameters are those of `Evaluator`.

    `liked` has the labels that count as liked. Without any, neither lists nor groups are evaluated.
    """

    def __init__(
        self,
        split: Split,
        n_targets: int = 1_000,
        seed: int = 0,
        *,
        with_membership: bool = True,
        liked: tuple[str, ...] = (),
        attributes: Mapping[str, Sequence[str | None]] | None = None,
    ) -> None:
        super().__init__(
            split, n_targets, seed, with_membership=with_membership, attributes=attributes
        )
        self.liked = liked

    @cached_property
    def raw(self) -> NominalServed:
        """Accuracy of the predictors trained on the raw training table."""
        return self._serve(self._raw_table)

    @cached_property
    def raw_lists(self) -> Served:
        """Utility of rankers trained on the raw training table."""
        return self._rank(self._raw_table)

    def _serve(self, table: TrainingTable) -> NominalServed:
        return serve_nominal(table, self._user_rows, self.split.test, self.seed)

    def _rank(self, table: TrainingTable) -> Served:
        return serve_liked(table, self._user_rows, self.split.test, self.liked, self.seed)

    def evaluate(
        self, release: Released, *, anonymizer: Anonymizer | None = None
    ) -> NominalEvaluation:
        """Evaluate one release; the parameters are those of `Evaluator.evaluate`."""
        train, test = self.split
        opened = Opened.open(release, train)
        n_values = train.n_ratings + opened.table.rows.indices.size
        costs = {
            _PREDICT: _PREDICTION * n_values,
            _LIST: _LISTING * n_values if self.liked else 0.0,
            _ATTACK: self._attack_cost(opened),
        }
        with parts("Evaluating the release", costs) as begin:
            begin(_PREDICT)
            served = self._serve(opened.table)
            begin(_LIST)
            lists = self._lists(opened) if self.liked else None
            begin(_ATTACK)
            chosen = self._anonymizer(opened, anonymizer)
            disclosure = disclose_nominal(train, opened, self.n_targets, self.seed, chosen)
        notes = [Note("nominal"), *([] if self.liked else [Note("no-lists")])]
        notes += [] if disclosure is None else [Note("pairs")]
        if opened.released is None:
            notes.append(Note("unknown-rows", opened.unknown))
        else:
            notes += self._membership_notes(chosen)
        return NominalEvaluation(
            row_accuracy=None
            if opened.released is None
            else row_accuracy(self.split, opened.released),
            raw=self.raw,
            release=served,
            raw_gain=nominal_gain(self.raw, self.raw, self.seed),
            release_gain=nominal_gain(self.raw, served, self.seed),
            retained=nominal_gain_retained(self.raw, served, seed=self.seed),
            best_retained=nominal_gain_retained(self.raw, served, best=True, seed=self.seed),
            lists=lists,
            coverage=self._coverage_of(opened),
            disclosure=disclosure,
            links=disclose_links(train, opened),
            n_users=train.n_users,
            n_served=self.raw.of_chosen().size,
            n_cells=test.users.size,
            notes=tuple(notes),
            divisions=() if lists is None else self._divide(lists.raw, lists.release),
        )

    def _lists(self, opened: Opened) -> NominalLists:
        raw, release = self.raw_lists, self._rank(opened.table)
        return NominalLists(
            liked=self.liked,
            raw=raw,
            release=release,
            raw_lists=raw_lists(raw, seed=self.seed),
            retained=utility_retained(raw, release, seed=self.seed),
            best_retained=utility_retained(raw, release, best=True, seed=self.seed),
        )
