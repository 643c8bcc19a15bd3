"""Results of an evaluation of one release, and their JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recveil.auditing.release_attacks import AttackedRelease
from recveil.evaluation.bootstrap import Measured, is_share_reported
from recveil.evaluation.gain import Kept
from recveil.evaluation.recipient import AVERAGES, POPULARITY, CarryOver, Served, Utility
from recveil.evaluation.similar_users import Deviation, SelfRank
from recveil.evaluation.table_fidelity import Fidelity
from recveil.runtime.safe_repr import Grid, brief
from recveil.verification.link_posterior import LinkPosterior


def disclosure_as_json(
    disclosure: AttackedRelease | None, links: LinkPosterior | None
) -> dict[str, Any] | None:
    """Return the disclosure, the strongest adversary and the link posterior of a release."""
    if disclosure is None:
        return None
    if not disclosure.attacks:  # no record belongs to a user, so that there were no targets
        return {**disclosure.to_dict(), "worst": None, "links": None}
    adversary, worst = max(disclosure.attacks, key=lambda pair: pair[1].person_found.rate)
    of_links = links and {
        "mean": links.mean,
        "highest": links.highest,
        "uncovered_share": links.uncovered_share,
    }
    return {
        **disclosure.to_dict(),
        "worst": {
            "adversary": adversary.name,
            "attack": worst.attack,
            "reidentified": worst.person_found._asdict(),
            "class_reidentified": worst.group_found._asdict(),
            "bound": worst.bound,
            "targets_requested": worst.requested,
            "targets_attacked": worst.requested - worst.skipped,
        },
        "links": of_links,
    }


def chosen_as_json(served: Served) -> dict[str, Any]:
    """Return the results of the recommender that would be chosen to predict ratings."""
    return utility_as_json(served.chosen, served.of_chosen)


def lists_as_json(served: Served) -> dict[str, Any]:
    """Return the results of the recommender that would be chosen to make lists."""
    return utility_as_json(served.ranker or served.chosen, served.of_ranker)


def best_as_json(served: Served, *, best: bool) -> dict[str, Any]:
    """Return who would predict ratings and who would make lists, and how well."""
    name = served.best if best else served.chosen
    ranker = served.best_ranker if best else served.ranker or served.chosen
    lists = served.utilities[ranker]
    return {
        "recommender": name,
        "rmse": served.utilities[name].rmse,
        "ranker": ranker,
        f"ndcg@{lists.n}": lists.ndcg,
    }


def figure_as_json(told: Measured, people: str) -> dict[str, Any]:
    """Return a figure with its interval, and the number of users under the given name."""
    return {"value": told.value, "low": told.low, "high": told.high, people: told.n_people}


def fidelity_as_json(told: Measured, people: str) -> dict[str, Any]:
    """Return a figure, and whether a share of it is meaningful, or why not."""
    why = told.why_not_told
    return {**figure_as_json(told, people), "is_told": not why, "why_not_told": why or None}


def share_as_json(share: Measured, whole: Measured, people: str) -> dict[str, Any]:
    """Return a share of a figure, and whether it is reported: both must be precise enough."""
    is_told = whole.is_told and is_share_reported(share.value, share.low, share.high)
    return {**figure_as_json(share, people), "is_told": is_told}


def utility_as_json(name: str, utility: Utility) -> dict[str, Any]:
    """Return how well a recommender serves."""
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


def fields_of(found: Any) -> dict[str, Any] | None:
    """Return a NamedTuple's fields, if there is one."""
    return None if found is None else dict(found._asdict())


def plain(value: Any) -> Any:
    """Turn arrays and tuples into lists, numpy's numbers into Python's, and nan into None."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


@brief
@dataclass(frozen=True, eq=False)
class Evaluation:
    """Utility and disclosure of one release.

    Results that need the private map of users to rows are None without it; `notes` says so.

    Parameters
    ----------
    target_deviation, similar_user_deviation : Deviation or None
        Of each user's own published row, and of the row most similar to them.
    self_rank : SelfRank or None
        The rank of each user's own row among similar published rows, where an item that a row lacks
        counts as maximally dissimilar.
    self_rank_common : SelfRank or None
        The same on common items alone; see `recveil.evaluation.find_similar_users`.
    raw, release : Served
        Every recommender, trained on the raw ratings and on the release. Both serve the same users,
        from their own training ratings.
    raw_gain, raw_lists : Measured
        The utility to retain: the RMSE of averages minus that of the raw ratings, and the nDCG of
        the best raw lists; see `recveil.evaluation.raw_gain`.
    release_gain : Measured
        The gain of the release over the same averages; negative if it is worse.
    kept : Kept
        The retained shares of both, by the recommenders that a recipient of either would choose;
        headlines use these.
    best_kept : Kept
        The same by the best recommenders, which a recipient cannot know in advance.
    carry_over : CarryOver
    fidelity : Fidelity
    disclosure : AttackedRelease or None
        The audit's attacks on the release.
    links : LinkPosterior or None
        How certainly a row reveals that a member rated an item, given the real shares of raters.
        Also None if all rows hold the same items: then only their values reveal who rated what.
    raw_absent, release_absent : Served or None
        As `raw` and `release`, for the users who are not in the release; None if there are none.
    n_people : int
        Users in the training ratings.
    n_served : int
        Users with held-out cells.
    n_absent : int or None
        Users with held-out cells who are not in the release.
    n_cells : int
        Held-out cells.
    filled_share : float or None
        Share of the held-out cells of users in the release that have a value in the user's row all
        the same: filled in, or from other users' ratings. They never count as truth.
    notes : tuple of str
        What could not be measured, and why.
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
                "disclosure": disclosure_as_json(self.disclosure, self.links),
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
                "raw": chosen_as_json(self.raw_absent),
                "release": chosen_as_json(self.release_absent),
            }
        return {
            "raw": chosen_as_json(self.raw),
            "release": chosen_as_json(self.release),
            "averages": utility_as_json(AVERAGES, self.raw.of_averages),
            "popularity": utility_as_json(POPULARITY, self.raw.utilities[POPULARITY]),
            "lists": {
                "raw": lists_as_json(self.raw),
                "release": lists_as_json(self.release),
                "best_raw": utility_as_json(
                    self.raw.best_ranker, self.raw.utilities[self.raw.best_ranker]
                ),
            },
            "chosen": self._taken(best=False),
            "best": self._taken(best=True),
            "raw_gain": fidelity_as_json(self.raw_gain, "n_judged"),
            "raw_lists": fidelity_as_json(self.raw_lists, "n_ranked"),
            "release_gain": figure_as_json(self.release_gain, "n_judged"),
            "kept": {
                "chosen": self._parts(self.kept),
                "best": self._parts(self.best_kept),
            },
            "gain_kept": self.kept.ratings.value,
            "gain_low": self.kept.ratings.low,
            "gain_high": self.kept.ratings.high,
            "recommenders": {
                name: {
                    "raw": utility_as_json(name, self.raw.utilities[name]),
                    "release": utility_as_json(name, self.release.utilities[name]),
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
        return {name: share_as_json(*part) for name, part in parts.items()}

    def _taken(self, *, best: bool) -> dict[str, Any]:
        return {
            "raw": best_as_json(self.raw, best=best),
            "release": best_as_json(self.release, best=best),
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
        """Return a notebook's table of each recommender on either side."""
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
    """Say what is kept, in few words."""
    if not whole.is_told or not is_share_reported(share.value, share.low, share.high):
        return "not told"
    if share.value >= 1:
        return f"as good as raw ({min(1, share.low):.1%} at least)"
    return f"{share.value:.1%} ({share.low:.1%} to {min(1, share.high):.1%})"
