"""Evaluation of many releases of the same training ratings under fixed conditions.

The split, the targets, the adversaries' knowledge and every seed are fixed once, and results on the
raw ratings are computed once, so that differences between two figures come from the releases.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recveil.attacks import PRESETS, Anonymizer
from recveil.auditing import work_estimates
from recveil.auditing.release_attacks import AttackedRelease
from recveil.evaluation.bootstrap import Measured
from recveil.evaluation.disclosure import (
    Opened,
    Released,
    anonymizer_of,
    disclose,
    disclose_links,
)
from recveil.evaluation.gain import kept, raw_gain, raw_lists, release_gain
from recveil.evaluation.rating_predictors import Recommender
from recveil.evaluation.recipient import Served, carry_over, effort_of_fits, fit_all, serve
from recveil.evaluation.results import Evaluation
from recveil.evaluation.similar_users import (
    Deviation,
    NullRule,
    SelfRank,
    check_null_rule,
    find_similar_users,
    self_rank,
    similar_user_deviation,
    target_deviation,
)
from recveil.evaluation.split import HeldOut, Split, TrainingTable, UserRows
from recveil.evaluation.table_fidelity import fidelity
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import parts
from recveil.verification.link_posterior import LinkPosterior

# The parts of judging a release.
_LEARN, _ROWS, _ATTACK = "Learning from it", "Comparing rows", "Attacking it"
_RAW, _COMPARE = "Learning from the raw ratings", "Comparing both"
# What they take: for an operation of learning, for a score, and for a label of a release.
_OPERATION, _SCORE, _ROW = 1.5e-4, 1.0, 1.0


class Evaluator:
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

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluation.split import split_ratings
    >>> split = split_ratings(make_ratings(n_users=80, n_items=40, n_ratings=1200, seed=1))
    >>> evaluator = Evaluator(split, with_membership=False)
    >>> found = evaluator.evaluate(PredictiveAnonymizer(k=5, seed=1).anonymize(split.train))
    >>> found.target_deviation.null_rule, found.disclosure.attacks[0][1].requested
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
    ) -> None:
        check_null_rule(null_rule)
        if n_targets < 1:
            raise RecveilError(
                f"n_targets is {n_targets}; expected at least 1", code="option.value"
            )
        self.split = split
        self.null_rule: NullRule = null_rule
        self.n_targets = n_targets
        self.seed = seed
        self.with_membership = with_membership

    @cached_property
    def raw(self) -> Served:
        """How well recommenders serve that learnt from the raw training ratings."""
        return self._serve(self._raw_recommenders, self.split.test)

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
        release : Release, ReleasedTable, TrainingTable or path
            A release in memory; or as an adversary searches it; or a release folder, with its
            private folder next to it. A folder without a private one, or a plain table of values on
            the catalogue of ``split.train``, does not map users to rows: then the measures that
            need this (`target_deviation`, `similar_user_deviation`, `self_rank`, `disclosure`,
            `links`) are None, and `notes` says why.
        anonymizer : Anonymizer, optional
            Makes such releases for membership inference. By default, one is made from the public
            settings of the release, if they name a method of `PredictiveAnonymizer` or `KCoRater`.

        Returns
        -------
        Evaluation

        Raises
        ------
        RecveilError
            If the release does not belong to the users and items of ``split.train``, cannot be
            read, or holds what it cannot have from ``split.train``.
        """
        train, test = self.split
        opened = Opened.open(release, train)
        with parts("Judging the release", self._costs(opened)) as begin:
            begin(_LEARN)
            fitted = fit_all(opened.table, seed=self.seed)
            served = self._serve(fitted, test)
            begin(_ROWS)
            own = self._rows_of_users(opened)
            begin(_ATTACK)
            disclosed = self._disclosure(opened, anonymizer)
            begin(_RAW)
            raw = self.raw
            absent = self._absent(opened, fitted)
            begin(_COMPARE)
            return Evaluation(
                target_deviation=own.target_deviation,
                similar_user_deviation=own.similar_user_deviation,
                self_rank=own.self_rank,
                self_rank_common=own.self_rank_common,
                raw=raw,
                release=served,
                raw_gain=self._raw_gain,
                raw_lists=self._raw_lists,
                release_gain=release_gain(raw, served, seed=self.seed),
                kept=kept(raw, served, seed=self.seed),
                best_kept=kept(raw, served, best=True, seed=self.seed),
                carry_over=carry_over(raw.utilities, served.utilities),
                fidelity=fidelity(self._raw_table, opened.table, seed=self.seed),
                disclosure=disclosed.attacked,
                links=disclosed.links,
                raw_absent=absent.raw,
                release_absent=absent.release,
                n_people=train.n_users,
                n_served=np.unique(test.users).size,
                n_absent=absent.n_people,
                n_cells=test.users.size,
                filled_share=own.filled_share,
                notes=disclosed.notes,
            )

    def _costs(self, opened: Opened) -> dict[str, float]:
        """Return what the parts take, in microseconds on one core, as measured; about."""
        train, labels = self.split.train, opened.table.rows.indices.size
        table = opened.drawn if opened.released is None else opened.released
        attack = work_estimates.of_attack(
            train, table, opened.manifest, len(PRESETS), has_content=False
        )
        is_known = "raw" in self.__dict__  # computed once
        serving = _SCORE * np.unique(self.split.test.users).size * train.n_items
        return {
            _LEARN: _OPERATION * effort_of_fits(opened.table) + serving,
            _ROWS: _ROW * labels,
            _ATTACK: 0.0 if table is None else sum(attack.values()),
            _RAW: 0.0 if is_known else _OPERATION * effort_of_fits(self._raw_table) + serving,
            _COMPARE: _ROW * train.n_ratings,
        }

    @cached_property
    def _raw_table(self) -> TrainingTable:
        return TrainingTable.from_ratings(self.split.train)

    @cached_property
    def _raw_recommenders(self) -> tuple[Recommender, ...]:
        return fit_all(self._raw_table, seed=self.seed)

    @cached_property
    def _people(self) -> UserRows:
        return UserRows.from_ratings(self.split.train)

    def _serve(self, fitted: Sequence[Recommender], test: HeldOut) -> Served:
        return serve(fitted, self._people, test)

    def _rows_of_users(self, opened: Opened) -> "_OwnRows":
        released, (train, test) = opened.released, self.split
        if released is None or train.is_unary:
            return _OwnRows()
        similar = find_similar_users(released, train)
        return _OwnRows(
            target_deviation=target_deviation(released, test, train.scale, self.null_rule),
            similar_user_deviation=similar_user_deviation(
                released, similar, test, train.scale, self.null_rule
            ),
            self_rank=self_rank(similar),
            self_rank_common=self_rank(find_similar_users(released, train, missing="skip")),
        )

    def _disclosure(self, opened: Opened, anonymizer: Anonymizer | None) -> "_Disclosed":
        """Attack the release, and say what could not be attacked."""
        train = self.split.train
        chosen = anonymizer if self.with_membership else None
        if self.with_membership and chosen is None:
            chosen = anonymizer_of(opened, self.seed)
        links = disclose_links(train, opened)
        of_likes = (_OF_LIKES,) if train.is_unary else ()
        attacked = disclose(train, opened, self.n_targets, self.seed, chosen)
        if opened.drawn is not None:
            warned = () if attacked is None else attacked.to_dict()["warnings"]
            return _Disclosed(attacked, links, (*of_likes, _DRAWN, *warned))
        if opened.released is None:
            return _Disclosed(attacked, links, (*of_likes, _unknown_rows(opened)))
        notes = [_NO_MEMBERSHIP] if self.with_membership and chosen is None else []
        if links is None:
            method = opened.manifest.known_method
            notes.append((method and method.no_links) or _NO_LINKS)
        notes += [] if attacked is None else attacked.to_dict()["warnings"]
        return _Disclosed(attacked, links, (*of_likes, *notes))

    def _absent(self, opened: Opened, fitted: Sequence[Recommender]) -> "_Absent":
        """Serve those alone who are not in the release."""
        if opened.released is None:
            return _Absent()
        of_absent = self.split.test.of_users(opened.released.record_of < 0)
        if not of_absent.users.size:
            return _Absent(n_people=0)
        return _Absent(
            raw=self._serve(self._raw_recommenders, of_absent),
            release=self._serve(fitted, of_absent),
            n_people=np.unique(of_absent.users).size,
        )


class _OwnRows(NamedTuple):
    """Distance of rows from the ratings of their users; None if the map is unknown."""

    target_deviation: Deviation | None = None
    similar_user_deviation: Deviation | None = None
    self_rank: SelfRank | None = None
    self_rank_common: SelfRank | None = None

    @property
    def filled_share(self) -> float | None:
        """The share of held-out cells that have a value (not the user's own) in the user's row."""
        return None if self.target_deviation is None else 1 - self.target_deviation.null_share


class _Disclosed(NamedTuple):
    """What the release gives away, and what could not be said."""

    attacked: AttackedRelease | None
    links: LinkPosterior | None
    notes: tuple[str, ...]


class _Absent(NamedTuple):
    """How well those are served who are not in the release; None if there are none."""

    raw: Served | None = None
    release: Served | None = None
    n_people: int | None = None


_NO_MEMBERSHIP = (
    "Whether an adversary can tell who was in the data was not measured: the release does not say "
    "how to make another such one."
)
_DRAWN = (
    "No record of this release is anybody's, so that what needs a person's own row does not apply: "
    "deviations, self-ranks, filled cells, who is found, and links."
)
_OF_LIKES = (
    "These are likes: there are no ratings to be predicted or compared, so that lists alone are "
    "judged, and no error or deviation is told. Every held-out like is relevant."
)
_NO_LINKS = (
    "All rows hold the same items, so that no probability follows from an item's standing in a "
    "row. Their labels tell more of who rated what."
)


def _unknown_rows(opened: Opened) -> str:
    return (
        f"Nobody knows whose rows these are ({opened.unknown}), so that deviations, self-ranks, "
        f"filled cells, attacks and links cannot be told."
    )
