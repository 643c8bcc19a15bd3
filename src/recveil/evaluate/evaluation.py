"""Evaluation: what was found out about one release, and its JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recveil.audit.published import Published
from recveil.brief import brief
from recveil.evaluate.carry_over import CarryOver
from recveil.evaluate.deviations import Deviation, SelfRank
from recveil.evaluate.fidelity import Fidelity
from recveil.evaluate.recipient import AVERAGES, Served, Utility
from recveil.verify.links import LinkPosterior


@brief
@dataclass(frozen=True, eq=False)
class Evaluation:
    """What one release is worth, and what it gives away.

    What only the owner can tell is None if nobody said who is where; `notes` says so.

    Parameters
    ----------
    target_deviation, similar_user_deviation : Deviation or None
        Of each person's own published row, and of the row most similar to him.
    self_rank : SelfRank or None
        How far down the list of similar published people each person's own row comes.
    raw, release : Served
        Every recommender, learning from the raw ratings and from the release. Both serve the same
        people, from their own training ratings.
    gain_kept : float
        The share of the collaborative gain kept; nan if the raw ratings give none.
    gain_interval : tuple of float
        Its 95 % interval over the people judged; see `recveil.evaluate.gain_interval`.
    carry_over : CarryOver
    fidelity : Fidelity
    disclosure : Published or None
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
    raw: Served
    release: Served
    gain_kept: float
    gain_interval: tuple[float, float]
    carry_over: CarryOver
    fidelity: Fidelity
    disclosure: Published | None
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
            ``null_share``, ``n_cells``, ``n_absent``; or None), ``self_rank_first`` (a share, or
            None), ``self_rank``; ``recipient``: ``raw``, ``release`` and ``averages`` (of the raw
            ratings), each with ``recommender``, ``rmse``, ``mae``, ``ndcg@10``, ``recall@10``,
            ``coverage@10``, ``setting``, ``inner_rmse`` and ``inner_ndcg``; ``gain_kept`` with its
            interval ``gain_low`` and ``gain_high``; ``lists`` (``raw`` and ``release``: of the
            recommenders that would make lists); ``recommenders`` (for each, ``raw`` and
            ``release``); ``absent`` (``raw`` and ``release``; or None);
            ``carry_over``; ``fidelity``; ``disclosure`` (or None); ``people``, ``served``,
            ``absent``, ``test_cells``, ``filled_share`` and ``notes``.
        """
        plain: dict[str, Any] = _plain(
            {
                "target_deviation": _of(self.target_deviation),
                "similar_user_deviation": _of(self.similar_user_deviation),
                "self_rank_first": self.self_rank and self.self_rank.first_share,
                "self_rank": _of(self.self_rank),
                "recipient": self._recipient(),
                "carry_over": _of(self.carry_over),
                "fidelity": _of(self.fidelity),
                "disclosure": self._disclosure(),
                "people": self.n_people,
                "served": self.n_served,
                "absent": self.n_absent,
                "test_cells": self.n_cells,
                "filled_share": self.filled_share,
                "notes": self.notes,
            }
        )
        return plain

    def _recipient(self) -> dict[str, Any]:
        absent = None
        if self.raw_absent is not None and self.release_absent is not None:
            absent = {"raw": _best(self.raw_absent), "release": _best(self.release_absent)}
        return {
            "raw": _best(self.raw),
            "release": _best(self.release),
            "averages": _utility(AVERAGES, self.raw.utilities[AVERAGES]),
            "gain_kept": self.gain_kept,
            "gain_low": self.gain_interval[0],
            "gain_high": self.gain_interval[1],
            "lists": {"raw": _lists(self.raw), "release": _lists(self.release)},
            "recommenders": {
                name: {
                    "raw": _utility(name, self.raw.utilities[name]),
                    "release": _utility(name, self.release.utilities[name]),
                }
                for name in self.raw.utilities
            },
            "absent": absent,
        }

    def _disclosure(self) -> dict[str, Any] | None:
        if self.disclosure is None:
            return None
        adversary, worst = max(self.disclosure.attacks, key=lambda pair: pair[1].person_found.rate)
        links = self.links and {
            "mean": self.links.mean,
            "highest": self.links.highest,
            "uncovered_share": self.links.uncovered_share,
        }
        return {
            **self.disclosure.to_dict(),
            "worst": {
                "adversary": adversary.name,
                "attack": worst.attack,
                "person_found": worst.person_found._asdict(),
                "group_found": worst.group_found._asdict(),
                "bound": worst.bound,
                "targets_requested": worst.requested,
                "targets_attacked": worst.requested - worst.skipped,
            },
            "links": links,
        }

    def _facts(self) -> dict[str, object]:
        low, high = self.gain_interval
        return {
            "people": self.n_people,
            "served": self.n_served,
            "gain kept": f"{self.gain_kept:.1%} ({low:.1%} to {high:.1%})",
            "RMSE": self.release.utilities[self.release.chosen].rmse,
            "RMSE of raw": self.raw.utilities[self.raw.chosen].rmse,
        }


def _best(served: Served) -> dict[str, Any]:
    return _utility(served.chosen, served.best)


def _lists(served: Served) -> dict[str, Any]:
    return _utility(served.ranker or served.chosen, served.best_lists)


def _utility(name: str, utility: Utility) -> dict[str, Any]:
    n = utility.n
    return {
        "recommender": name,
        "rmse": utility.rmse,
        "mae": utility.mae,
        f"ndcg@{n}": utility.ndcg,
        f"recall@{n}": utility.recall,
        f"coverage@{n}": utility.coverage,
        "setting": utility.setting,
        "inner_rmse": utility.inner_rmse,
        "inner_ndcg": utility.inner_ndcg,
    }


def _of(found: Any) -> dict[str, Any] | None:
    """Return a NamedTuple's fields, if there is one."""
    return None if found is None else dict(found._asdict())


def _plain(value: Any) -> Any:
    """Turn arrays and tuples into lists, numpy's numbers into Python's, and nan into None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
