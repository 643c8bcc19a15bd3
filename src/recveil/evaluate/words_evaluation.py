"""Words evaluation: what one release of words without an order is worth, and gives away."""

from dataclasses import dataclass
from typing import Any

from recveil.audit.attacked import AttackedRelease
from recveil.brief import Grid, brief
from recveil.evaluate.as_json import (
    disclosure_told,
    figure_told,
    lists_told,
    plain,
    share_told,
    taken_told,
    utility_told,
    whole_told,
)
from recveil.evaluate.bootstrap import Measured
from recveil.evaluate.gain import Kept
from recveil.evaluate.recipient import POPULARITY, Served
from recveil.evaluate.words_served import COMMONEST, WordsServed
from recveil.evaluate.words_told import WordsTold
from recveil.verify.link_posterior import LinkPosterior

UNNAMED = "nobody said which words count as liked (--liked)"
# What is told of lists that were not judged.
_NO_LISTS = {"recommender": None, "ndcg@10": None, "recall@10": None, "coverage@10": None}
_NO_SHARE = {"value": None, "low": None, "high": None, "n_ranked": 0, "is_told": False}


@brief
@dataclass(frozen=True, eq=False)
class Lists:
    """What becomes of lists of liked items.

    Parameters
    ----------
    liked : tuple of str
        The words that count as liked.
    raw, release : Served
        Every list maker, learning from the raw words and from the release.
    whole : Measured
        The nDCG of the best lists of the raw words.
    kept, best_kept : Kept
        The shares of it that the release keeps; only what they say of lists is meant.
    """

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
    """What one release of words is worth, and what it gives away.

    Parameters
    ----------
    told : WordsTold or None
        How many held-out words stand in people's own rows; None if nobody said who is where.
    raw, release : WordsServed
        Every teller, learning from the raw words and from the release. Both serve the same people,
        from their own training words.
    raw_gain, release_gain : Measured
        How much more either tells rightly than each item's commonest word in the raw table.
    kept, best_kept : Measured
        The share of the raw gain that the release keeps: by the tellers that a recipient would
        choose, and by those that turned out best.
    lists : Lists or None
        None if nobody said which words count as liked.
    disclosure : AttackedRelease or None
        The audit's attacks, by equality; None if nobody said who is where.
    links : LinkPosterior or None
        See `recveil.evaluate.Evaluation`.
    n_people, n_cells : int
        People in the training table, and held-out words.
    notes : tuple of str
        What could not be said, and why.
    """

    told: WordsTold | None
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
        """Return plain data for JSON, with None for every nan.

        Returns
        -------
        dict
            ``words_told`` (of people's own rows: ``cells``, ``right``, ``commonest``, ``gain``; or
            None); ``recipient``, with the keys of `recveil.evaluate.Evaluation.to_json`, where
            what concerns ratings is of words: ``right`` is the share told rightly, with ``low`` and
            ``high``, and ``rmse`` is None; ``tellers`` (for each, ``raw`` and ``release``);
            ``liked``; ``disclosure`` (or None); ``people``, ``served``, ``test_cells``, ``notes``.
        """
        found: dict[str, Any] = plain(
            {
                "words_told": None if self.told is None else self.told.to_json(),
                "target_deviation": None,
                "recipient": self._recipient(),
                "liked": None if self.lists is None else self.lists.liked,
                "carry_over": None,
                "fidelity": None,
                "disclosure": disclosure_told(self.disclosure, self.links),
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
            "raw_gain": whole_told(self.raw_gain, "n_judged"),
            "raw_lists": self._whole_lists(),
            "release_gain": figure_told(self.release_gain, "n_judged"),
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
            return dict(_NO_LISTS)
        return utility_told(POPULARITY, self.lists.raw.utilities[POPULARITY])

    def _lists(self) -> dict[str, Any]:
        lists = self.lists
        if lists is None:
            return dict.fromkeys(("raw", "release", "best_raw"), _NO_LISTS)
        best = lists.raw.best_ranker
        return {
            "raw": lists_told(lists.raw),
            "release": lists_told(lists.release),
            "best_raw": utility_told(best, lists.raw.utilities[best]),
        }

    def _whole_lists(self) -> dict[str, Any]:
        if self.lists is None:
            return {**_NO_SHARE, "why_not_told": UNNAMED}
        return whole_told(self.lists.whole, "n_ranked")

    def _kept(self, *, best: bool) -> dict[str, Any]:
        of_words = self.best_kept if best else self.kept
        told = {"ratings": share_told(of_words, self.raw_gain, "n_judged")}
        if self.lists is None:
            return {**told, "lists": _NO_SHARE, "lists_gain": _NO_SHARE}
        kept, whole = self.lists.best_kept if best else self.lists.kept, self.lists.whole
        return {
            **told,
            "lists": share_told(kept.lists, whole, "n_ranked"),
            "lists_gain": share_told(kept.lists_gain, whole, "n_ranked"),
        }

    def _taken(self, *, best: bool) -> dict[str, Any]:
        lists = {"ranker": None, "ndcg@10": None}
        sides = {"raw": (self.raw, lists), "release": (self.release, lists)}
        if self.lists is not None:
            sides = {
                "raw": (self.raw, taken_told(self.lists.raw, best=best)),
                "release": (self.release, taken_told(self.lists.release, best=best)),
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
        """Tell what each teller makes of either side, for a notebook."""
        rows: list[tuple[str, ...]] = [
            (name, f"{self.raw.mean(name).mean:.1%}", f"{self.release.mean(name).mean:.1%}")
            for name in self.raw.right
        ]
        header = ("words told rightly by", "raw", "release")
        return [Grid("learnt from the raw words, and from the release", header, rows)]


def _teller(served: WordsServed, name: str) -> dict[str, Any]:
    """Return how well a teller tells words; there is no error of a word."""
    right = served.mean(name)
    figures = {"right": right.mean, "low": right.low, "high": right.high}
    return {"recommender": name, "rmse": None, "mae": None, **figures}
