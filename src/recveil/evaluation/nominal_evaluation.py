"""Evaluation of releases of nominal labels on the same held-out words."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from recveil.attacks import PRESETS, Anonymizer
from recveil.auditing import work_estimates
from recveil.auditing.release_attacks import AttackedRelease
from recveil.evaluation.bootstrap import Measured
from recveil.evaluation.disclosure import (
    Opened,
    Released,
    anonymizer_of,
    disclose_links,
    disclose_words,
)
from recveil.evaluation.gain import Kept, kept, raw_lists
from recveil.evaluation.nominal import (
    COMMONEST,
    LabelAccuracy,
    WordsServed,
    score_labels,
    serve_liked,
    serve_words,
    words_gain,
    words_kept,
)
from recveil.evaluation.recipient import POPULARITY, Served
from recveil.evaluation.results import (
    best_as_json,
    disclosure_as_json,
    fidelity_as_json,
    figure_as_json,
    lists_as_json,
    plain,
    share_as_json,
    utility_as_json,
)
from recveil.evaluation.split import Split, TrainingTable, UserRows
from recveil.runtime.errors import RecveilError
from recveil.runtime.progress import parts
from recveil.runtime.safe_repr import Grid, brief
from recveil.verification.link_posterior import LinkPosterior

UNNAMED = "nobody said which words count as liked (--liked)"
# Metrics of lists that were not evaluated.
_NO_NOMINAL_LISTS = {"recommender": None, "ndcg@10": None, "recall@10": None, "coverage@10": None}
_OF_PAIRS = (
    "These are nominal labels: the adversaries know items with their exact labels, which are equal "
    "or not. Where likes are mentioned, an item with its label is meant; a wrong entry is an item "
    "with a label that the target never gave it. No adversary used items alone; leave out the "
    "column of labels to measure that."
)
_NO_SHARE = {"value": None, "low": None, "high": None, "n_ranked": 0, "is_told": False}


@brief
@dataclass(frozen=True, eq=False)
class Lists:
    """What becomes of lists of liked items."""

    liked: tuple[str, ...]
    raw: Served
    release: Served
    whole: Measured
    kept: Kept
    best_kept: Kept

    def _facts(self) -> dict[str, object]:
        return {"nDCG": self.release.of_ranker.ndcg, "of raw": self.raw.of_ranker.ndcg}


@brief
@dataclass(frozen=True, eq=False)
class WordsEvaluation:
    """Utility and disclosure of one release of nominal labels."""

    told: LabelAccuracy | None
    raw: WordsServed
    release: WordsServed
    raw_gain: Measured
    release_gain: Measured
    kept: Measured
    best_kept: Measured
    lists: Lists | None
    disclosure: AttackedRelease | None
    links: LinkPosterior | None
    n_people: int
    n_cells: int
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON, with None for every nan."""
        found: dict[str, Any] = plain(
            {
                "words_told": None if self.told is None else self.told.to_json(),
                "target_deviation": None,
                "recipient": self._recipient(),
                "liked": None if self.lists is None else self.lists.liked,
                "carry_over": None,
                "fidelity": None,
                "disclosure": disclosure_as_json(self.disclosure, self.links),
                "people": self.n_people,
                "served": self.raw.of_chosen().size,
                "test_cells": self.n_cells,
                "notes": self.notes,
            }
        )
        return found

    def _recipient(self) -> dict[str, Any]:
        return {
            "raw": _teller(self.raw, self.raw.chosen),
            "release": _teller(self.release, self.release.chosen),
            "averages": _teller(self.raw, COMMONEST),
            "popularity": self._popularity(),
            "lists": self._lists(),
            "chosen": self._taken(best=False),
            "best": self._taken(best=True),
            "raw_gain": fidelity_as_json(self.raw_gain, "n_judged"),
            "raw_lists": self._whole_lists(),
            "release_gain": figure_as_json(self.release_gain, "n_judged"),
            "kept": {
                "chosen": self._kept(best=False),
                "best": self._kept(best=True),
            },
            "tellers": {
                name: {"raw": _teller(self.raw, name), "release": _teller(self.release, name)}
                for name in self.raw.right
            },
        }

    def _popularity(self) -> dict[str, Any]:
        if self.lists is None:
            return dict(_NO_NOMINAL_LISTS)
        return utility_as_json(POPULARITY, self.lists.raw.utilities[POPULARITY])

    def _lists(self) -> dict[str, Any]:
        lists = self.lists
        if lists is None:
            return dict.fromkeys(("raw", "release", "best_raw"), _NO_NOMINAL_LISTS)
        best = lists.raw.best_ranker
        return {
            "raw": lists_as_json(lists.raw),
            "release": lists_as_json(lists.release),
            "best_raw": utility_as_json(best, lists.raw.utilities[best]),
        }

    def _whole_lists(self) -> dict[str, Any]:
        if self.lists is None:
            return {**_NO_SHARE, "why_not_told": UNNAMED}
        return fidelity_as_json(self.lists.whole, "n_ranked")

    def _kept(self, *, best: bool) -> dict[str, Any]:
        of_words = self.best_kept if best else self.kept
        told = {"ratings": share_as_json(of_words, self.raw_gain, "n_judged")}
        if self.lists is None:
            return {**told, "lists": _NO_SHARE, "lists_gain": _NO_SHARE}
        kept, whole = self.lists.best_kept if best else self.lists.kept, self.lists.whole
        return {
            **told,
            "lists": share_as_json(kept.lists, whole, "n_ranked"),
            "lists_gain": share_as_json(kept.lists_gain, whole, "n_ranked"),
        }

    def _taken(self, *, best: bool) -> dict[str, Any]:
        lists = {"ranker": None, "ndcg@10": None}
        sides = {"raw": (self.raw, lists), "release": (self.release, lists)}
        if self.lists is not None:
            sides = {
                "raw": (self.raw, best_as_json(self.lists.raw, best=best)),
                "release": (self.release, best_as_json(self.lists.release, best=best)),
            }
        return {
            name: {**listed, **_teller(words, words.best if best else words.chosen)}
            for name, (words, listed) in sides.items()
        }

    def _facts(self) -> dict[str, object]:
        return {
            "people": self.n_people,
            "told rightly": f"{self.release.mean(self.release.chosen).mean:.1%}",
            "by commonest words": f"{self.raw.mean(COMMONEST).mean:.1%}",
        }

    def _tables(self) -> list[Grid]:
        """Return a notebook's table of each predictor on either side."""
        rows: list[tuple[str, ...]] = [
            (name, f"{self.raw.mean(name).mean:.1%}", f"{self.release.mean(name).mean:.1%}")
            for name in self.raw.right
        ]
        header = ("words told rightly by", "raw", "release")
        return [Grid("learnt from the raw words, and from the release", header, rows)]


def _teller(served: WordsServed, name: str) -> dict[str, Any]:
    """Return the accuracy of a word predictor; words have no error."""
    right = served.mean(name)
    figures = {"right": right.mean, "low": right.low, "high": right.high}
    return {"recommender": name, "rmse": None, "mae": None, **figures}


_TELL, _LIST, _ATTACK = "Telling words", "Making lists", "Attacking it"
# What they take, in microseconds for a rating and a label; about.
_TELLING, _LISTING = 10.0, 130.0

_NO_ERROR = (
    "Words without an order are right or wrong; no error is told, and no distance. A cell of which "
    "somebody's row has no word counts as wrong."
)
_NO_LISTS = (
    f"Lists are not judged: {UNNAMED}. Nor are lists of whatever somebody gives a word: all rows "
    f"of shared words hold the same items, so that there is nothing to learn such lists from. That "
    f"is no promise that nobody can tell who chose what."
)
_UNKNOWN = (
    "Nobody knows whose rows these are ({why}), so that what stands in people's own rows, attacks "
    "and links cannot be told."
)
_NO_MEMBERSHIP = (
    "Whether an adversary can tell who was in the data was not measured: the release does not say "
    "how to make another such one."
)


class WordsEvaluator:
    """Judges releases of words that were made from the training part of a split."""

    def __init__(
        self,
        split: Split,
        n_targets: int = 1_000,
        seed: int = 0,
        *,
        with_membership: bool = True,
        liked: tuple[str, ...] = (),
    ) -> None:
        if n_targets < 1:
            raise RecveilError(
                f"n_targets is {n_targets}; expected at least 1", code="option.value"
            )
        self.split = split
        self.n_targets = n_targets
        self.seed = seed
        self.with_membership = with_membership
        self.liked = liked

    @cached_property
    def raw(self) -> WordsServed:
        """Accuracy of the word predictors trained on the raw training table."""
        return self._serve(self._raw_table)

    @cached_property
    def raw_lists(self) -> Served:
        """How good lists are that were learnt from it."""
        return self._list(self._raw_table)

    @cached_property
    def _raw_table(self) -> TrainingTable:
        return TrainingTable.from_ratings(self.split.train)

    @cached_property
    def _people(self) -> UserRows:
        return UserRows.from_ratings(self.split.train)

    def _serve(self, table: TrainingTable) -> WordsServed:
        return serve_words(table, self._people, self.split.test, self.seed)

    def _list(self, table: TrainingTable) -> Served:
        return serve_liked(table, self._people, self.split.test, self.liked, self.seed)

    def evaluate(
        self, release: Released, *, anonymizer: Anonymizer | None = None
    ) -> WordsEvaluation:
        """Evaluate one release; the parameters are those of `Evaluator.evaluate`."""
        train, test = self.split
        opened = Opened.open(release, train)
        with parts("Judging the release", self._costs(opened)) as begin:
            begin(_TELL)
            served = self._serve(opened.table)
            begin(_LIST)
            lists = self._lists_of(opened) if self.liked else None
            begin(_ATTACK)
            chosen = anonymizer if self.with_membership else None
            if self.with_membership and chosen is None:
                chosen = anonymizer_of(opened, self.seed)
            attacked = disclose_words(train, opened, self.n_targets, self.seed, chosen)
        notes = [_NO_ERROR, *([] if self.liked else [_NO_LISTS])]
        notes += [] if attacked is None else [_OF_PAIRS]
        if opened.released is None:
            notes.append(_UNKNOWN.format(why=opened.unknown))
        elif self.with_membership and chosen is None:
            notes.append(_NO_MEMBERSHIP)
        notes += [] if attacked is None else attacked.to_dict()["warnings"]
        return WordsEvaluation(
            told=None if opened.released is None else score_labels(self.split, opened.released),
            raw=self.raw,
            release=served,
            raw_gain=words_gain(self.raw, self.raw, self.seed),
            release_gain=words_gain(self.raw, served, self.seed),
            kept=words_kept(self.raw, served, seed=self.seed),
            best_kept=words_kept(self.raw, served, best=True, seed=self.seed),
            lists=lists,
            disclosure=attacked,
            links=disclose_links(train, opened),
            n_people=train.n_users,
            n_cells=test.users.size,
            notes=tuple(notes),
        )

    def _lists_of(self, opened: Opened) -> Lists:
        raw, release = self.raw_lists, self._list(opened.table)
        return Lists(
            liked=self.liked,
            raw=raw,
            release=release,
            whole=raw_lists(raw, seed=self.seed),
            kept=kept(raw, release, seed=self.seed),
            best_kept=kept(raw, release, best=True, seed=self.seed),
        )

    def _costs(self, opened: Opened) -> dict[str, float]:
        """Return what the parts take, about."""
        train, table = self.split.train, opened.released
        labels = train.n_ratings + opened.table.rows.indices.size
        attack = (
            {}
            if table is None
            else work_estimates.of_attack(
                train, table, opened.manifest, len(PRESETS), has_content=False
            )
        )
        return {
            _TELL: _TELLING * labels,
            _LIST: _LISTING * labels if self.liked else 0.0,
            _ATTACK: sum(attack.values()),
        }
