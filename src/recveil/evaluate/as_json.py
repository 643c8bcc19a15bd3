"""As JSON: figures of evaluations as plain data, whatever was evaluated."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from recveil.audit.attacked import AttackedRelease
from recveil.evaluate.bootstrap import Measured, is_share_told
from recveil.evaluate.recipient import Served, Utility
from recveil.verify.link_posterior import LinkPosterior


def disclosure_told(
    disclosure: AttackedRelease | None, links: LinkPosterior | None
) -> dict[str, Any] | None:
    """Return what a release gives away, who is worst, and what its links tell."""
    if disclosure is None:
        return None
    if not disclosure.attacks:  # no record is anybody's, so that nobody was looked for
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
            "person_found": worst.person_found._asdict(),
            "group_found": worst.group_found._asdict(),
            "bound": worst.bound,
            "targets_requested": worst.requested,
            "targets_attacked": worst.requested - worst.skipped,
        },
        "links": of_links,
    }


def chosen_told(served: Served) -> dict[str, Any]:
    """Return what is told of who would be taken to predict ratings."""
    return utility_told(served.chosen, served.of_chosen)


def lists_told(served: Served) -> dict[str, Any]:
    """Return what is told of who would be taken to make lists."""
    return utility_told(served.ranker or served.chosen, served.of_ranker)


def taken_told(served: Served, *, best: bool) -> dict[str, Any]:
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


def figure_told(told: Measured, people: str) -> dict[str, Any]:
    """Return a figure with its interval, and how many people it is of, under a name of theirs."""
    return {"value": told.value, "low": told.low, "high": told.high, people: told.n_people}


def whole_told(told: Measured, people: str) -> dict[str, Any]:
    """Return a figure, and whether a share of it means anything, or why not."""
    why = told.why_not_told
    return {**figure_told(told, people), "is_told": not why, "why_not_told": why or None}


def share_told(share: Measured, whole: Measured, people: str) -> dict[str, Any]:
    """Return a share of a figure, and whether it is told: the whole must be, and so must it."""
    is_told = whole.is_told and is_share_told(share.value, share.low, share.high)
    return {**figure_told(share, people), "is_told": is_told}


def utility_told(name: str, utility: Utility) -> dict[str, Any]:
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
