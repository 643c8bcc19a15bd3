"""Evaluation: what was found out about one release, and its JSON."""

from dataclasses import dataclass
from typing import Any

from recveil.audit.attacked import AttackedRelease
from recveil.brief import Grid, brief
from recveil.evaluate.as_json import (
    chosen_told,
    disclosure_told,
    fields_of,
    figure_told,
    lists_told,
    plain,
    share_told,
    taken_told,
    utility_told,
    whole_told,
)
from recveil.evaluate.bootstrap import Measured, is_share_told
from recveil.evaluate.carried import CarryOver
from recveil.evaluate.deviations import Deviation
from recveil.evaluate.gain import Kept
from recveil.evaluate.recipient import AVERAGES, POPULARITY, Served
from recveil.evaluate.similar_users import SelfRank
from recveil.evaluate.whole_table import Fidelity
from recveil.verify.link_posterior import LinkPosterior


@brief
@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one release is worth, and what it gives away.

    What only the owner can tell is None if nobody said who is where; `notes` says so.

    Parameters
    ----------
    target_deviation, similar_user_deviation : Deviation or None
        Of each person's own published row, and of the row most similar to them.
    self_rank : SelfRank or None
        How far down the list of similar published people each person's own row comes, an item
        that a row lacks being as opposite as can be.
    self_rank_common : SelfRank or None
        The same on common items alone; see `recveil.evaluate.find_similar_users`.
    raw, release : Served
        Every recommender, learning from the raw ratings and from the release. Both serve the same
        people, from their own training ratings.
    raw_gain, raw_lists : Measured
        What there is to keep: how far the raw ratings' RMSE lies below that of averages, and the
        nDCG of their best lists; see `recveil.evaluate.raw_gain`.
    release_gain : Measured
        The same of the release's RMSE, against the same averages: below 0 it is worse than these.
    kept : Kept
        The shares of both that the release keeps, by the recommenders that a recipient of either
        would choose; these are what headlines take.
    best_kept : Kept
        The same by the recommenders that turned out best, which nobody could know beforehand.
    carry_over : CarryOver
    fidelity : Fidelity
    disclosure : AttackedRelease or None
        What the adversaries of the audit achieve against the release.
    links : LinkPosterior or None
        How sure a row makes it that a member rated an item, given the real shares of raters. Also
        None if all rows hold the same items: then only their labels tell who rated what.
    raw_absent, release_absent : Served or None
        The same as `raw` and `release`, for those people alone who are not in the release; None if
        there are none.
    n_people : int
        People in the training ratings.
    n_served : int
        Those with held-out cells.
    n_absent : int or None
        Those with held-out cells who are not in the release.
    n_cells : int
        Held-out cells.
    filled_share : float or None
        Share of the held-out cells of people in the release that their published rows label all
        the same: filled in, or with what others said. They never count as truth.
    notes : tuple of str
        What could not be said, and why.
    """

    target_deviation: Deviation | None
    similar_user_deviation: Deviation | None
    self_rank: SelfRank | None
    self_rank_common: SelfRank | None
    raw: Served
    release: Served
    raw_gain: Measured
    raw_lists: Measured
    release_gain: Measured
    kept: Kept
    best_kept: Kept
    carry_over: CarryOver
    fidelity: Fidelity
    disclosure: AttackedRelease | None
    links: LinkPosterior | None
    raw_absent: Served | None
    release_absent: Served | None
    n_people: int
    n_served: int
    n_absent: int | None
    n_cells: int
    filled_share: float | None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain data for JSON, with None for every nan.

        Returns
        -------
        dict
            ``target_deviation`` and ``similar_user_deviation`` (``rmse``, ``mae``, ``null_rule``,
            ``null_share``, ``n_cells``, ``n_absent``, ``rmse_present``, ``mae_present``; or None),
            ``self_rank_first`` and ``self_rank_common_first`` (shares, or None), ``self_rank`` and
            ``self_rank_common``; ``recipient``: ``raw``, ``release`` (of the recommender that a
            recipient would choose by RMSE) and ``averages`` (of the raw ratings), each with
            ``recommender``, ``rmse``, ``mae``, ``ndcg@10``, ``recall@10``, ``coverage@10``,
            ``setting``, ``inner_rmse`` and ``inner_ndcg``; ``lists`` (``raw`` and ``release``: of
            the recommenders that would be chosen to make lists; ``best_raw``: of the one whose
            lists turned out best on the raw ratings); ``chosen`` and ``best``, each with
            ``raw`` and ``release`` (``recommender`` and its ``rmse``, ``ranker`` and its
            ``ndcg@10``), ``best`` being the best of those run, on the test ratings, which nobody
            could know beforehand; ``raw_gain`` and ``raw_lists`` (``value``, ``low``, ``high``,
            ``n_judged`` or ``n_ranked`` people, ``is_told``: whether a share of it means
            anything, and ``why_not_told``); ``release_gain``, the same of the release; ``kept``
            with ``chosen`` and ``best``, each with ``ratings``, ``lists`` and ``lists_gain``
            (``value``, ``low``, ``high``, ``n_judged`` or ``n_ranked``, ``is_told``; 1 is as good
            as raw: for lists, as the best on raw; 0 of ``lists_gain`` is ``popularity``, whose
            figures on the raw ratings stand beside ``averages``);
            ``gain_kept`` with its interval ``gain_low`` and
            ``gain_high`` (``ratings`` of ``chosen`` again); ``recommenders`` (for each, ``raw``
            and ``release``); ``absent`` (``raw`` and ``release``; or None); ``carry_over``;
            ``fidelity``; ``disclosure`` (or None); ``people``, ``served``, ``absent``,
            ``test_cells``, ``filled_share`` and ``notes``.
        """
        told: dict[str, Any] = plain(
            {
                "target_deviation": fields_of(self.target_deviation),
                "similar_user_deviation": fields_of(self.similar_user_deviation),
                "self_rank_first": self.self_rank and self.self_rank.first_share,
                "self_rank_common_first": self.self_rank_common
                and self.self_rank_common.first_share,
                "self_rank": fields_of(self.self_rank),
                "self_rank_common": fields_of(self.self_rank_common),
                "recipient": self._recipient(),
                "carry_over": fields_of(self.carry_over),
                "fidelity": fields_of(self.fidelity),
                "disclosure": disclosure_told(self.disclosure, self.links),
                "people": self.n_people,
                "served": self.n_served,
                "absent": self.n_absent,
                "test_cells": self.n_cells,
                "filled_share": self.filled_share,
                "notes": self.notes,
            }
        )
        return told

    def _recipient(self) -> dict[str, Any]:
        absent = None
        if self.raw_absent is not None and self.release_absent is not None:
            absent = {
                "raw": chosen_told(self.raw_absent),
                "release": chosen_told(self.release_absent),
            }
        return {
            "raw": chosen_told(self.raw),
            "release": chosen_told(self.release),
            "averages": utility_told(AVERAGES, self.raw.of_averages),
            "popularity": utility_told(POPULARITY, self.raw.utilities[POPULARITY]),
            "lists": {
                "raw": lists_told(self.raw),
                "release": lists_told(self.release),
                "best_raw": utility_told(
                    self.raw.best_ranker, self.raw.utilities[self.raw.best_ranker]
                ),
            },
            "chosen": self._taken(best=False),
            "best": self._taken(best=True),
            "raw_gain": whole_told(self.raw_gain, "n_judged"),
            "raw_lists": whole_told(self.raw_lists, "n_ranked"),
            "release_gain": figure_told(self.release_gain, "n_judged"),
            "kept": {
                "chosen": self._parts(self.kept),
                "best": self._parts(self.best_kept),
            },
            "gain_kept": self.kept.ratings.value,
            "gain_low": self.kept.ratings.low,
            "gain_high": self.kept.ratings.high,
            "recommenders": {
                name: {
                    "raw": utility_told(name, self.raw.utilities[name]),
                    "release": utility_told(name, self.release.utilities[name]),
                }
                for name in self.raw.utilities
            },
            "absent": absent,
        }

    def _parts(self, kept: Kept) -> dict[str, Any]:
        parts = {
            "ratings": (kept.ratings, self.raw_gain, "n_judged"),
            "lists": (kept.lists, self.raw_lists, "n_ranked"),
            "lists_gain": (kept.lists_gain, self.raw_lists, "n_ranked"),
        }
        return {name: share_told(*part) for name, part in parts.items()}

    def _taken(self, *, best: bool) -> dict[str, Any]:
        return {
            "raw": taken_told(self.raw, best=best),
            "release": taken_told(self.release, best=best),
        }

    def _facts(self) -> dict[str, object]:
        return {
            "people": self.n_people,
            "served": self.n_served,
            "lists kept": _told(self.kept.lists, self.raw_lists),
            "ratings kept": _told(self.kept.ratings, self.raw_gain),
            "RMSE": self.release.utilities[self.release.chosen].rmse,
            "RMSE of raw": self.raw.utilities[self.raw.chosen].rmse,
        }

    def _tables(self) -> list[Grid]:
        """Tell what each recommender makes of either side, for a notebook."""
        header = ("recommender", "RMSE raw", "release", "nDCG raw", "release")
        rows = [
            (
                name,
                *(
                    "–" if told is None else f"{told:.3f}"
                    for measure in ("rmse", "ndcg@10")
                    for told in (side["raw"][measure], side["release"][measure])
                ),
            )
            for name, side in self._recipient()["recommenders"].items()
        ]
        return [Grid("learnt from the raw ratings, and from the release", header, rows)]


def _told(share: Measured, whole: Measured) -> str:
    """Say what is kept, in few words.

    Examples
    --------
    >>> whole = Measured(0.04, 0.03, 0.05, 99)
    >>> _told(Measured(0.5, 0.4, 1.2), whole), _told(Measured(1.3, 0.9, 1.7), whole)
    ('50.0% (40.0% to 100.0%)', 'as good as raw (90.0% at least)')
    >>> _told(Measured(0.5, 0.4, 0.6), Measured(0.01, -0.01, 0.03))
    'not told'
    """
    if not whole.is_told or not is_share_told(share.value, share.low, share.high):
        return "not told"
    if share.value >= 1:
        return f"as good as raw ({min(1, share.low):.1%} at least)"
    return f"{share.value:.1%} ({share.low:.1%} to {min(1, share.high):.1%})"
