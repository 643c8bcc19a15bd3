"""The result of an audit of what a recommender publishes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.inference.similar_items import InferredItems
from recveil.attacks.membership.recommenders import RecommenderInference
from recveil.attacks.membership.shadow_models import OfUsers
from recveil.attacks.statistics import Interval
from recveil.auditing import Risk, Risks
from recveil.auditing.three_risks import risks_of_recommender
from recveil.methods.riskiest_users import OF_RECOMMENDER
from recveil.release.manifest import FileEntry
from recveil.runtime.reportable import WithPage
from recveil.runtime.safe_repr import brief

# Who attacks, by what shadows give users whom they did not learn from.
GAMES = {
    "popular": "nonmembers get popular items",
    "unrated": "nonmembers get popular items that they did not rate",
    "history": "nonmembers get their own lists",
}


@brief
@dataclass(frozen=True, eq=False)
class AuditedRecommender(WithPage):
    """What an adversary infers from what a recommender publishes.

    Attributes
    ----------
    published : {"lists", "model", "similar items"}
    recommender : str
        The audited recommender, or the shadow recommender that is most like what was published.
    is_observed : bool
        Whether what was published was attacked, or each shadow of the recommender with the others.
    n_users, n_items, n_targets, n_members : int
        Of all tables, scored, and scored members; 0 if targets are members of half of the shadows.
    length : int
        Most items of a list; 0 for a model.
    shadows : int
    by_newcomers : dict
        Membership inference, by what shadows give users whom they did not learn from: popular items
        ("popular"), those that the user did not rate ("unrated"), or a list for the user's history
        ("history"); with `recommender`, the first two are hypothetical. For a model: "history".
    new_items : InferredItems or None
        What similar items of two days reveal.
    n_unlisted : int
        Users of the tables without a list.
    n_unknown : int
        Items of the lists or the model that are in no table; they are left out.
    order : {"rank", "score", ""}
        Whether the lists were read by rank, 1 first, or by score, the highest first.
    seed : int
    users, targets : ndarray
        Ids of the table's users, and positions of the scored ones: the table's, then nonmembers.
    source, digests, options : str, dict and dict
        The table's name, SHA-256 of all files and tables, and options that repeat the audit.
    """

    published: Literal["lists", "model", "similar items"]
    recommender: str
    is_observed: bool
    n_users: int
    n_items: int
    n_targets: int
    n_members: int
    length: int
    shadows: int
    by_newcomers: dict[str, RecommenderInference]
    new_items: InferredItems | None
    n_unlisted: int
    n_unknown: int
    order: Literal["rank", "score", ""]
    seed: int
    users: NDArray[Any] = field(default_factory=lambda: np.zeros(0, object))
    targets: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    source: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def risks(self) -> Risks:
        """What was inferred, as singling out, linkability and inference."""
        what = "the list" if self.length else "the model"
        games = {
            f"{what} and all ratings of a user{self._setting(name)}": one
            for name, one in self._real.items()
        }
        return risks_of_recommender(self.published, games, self.new_items)

    def _setting(self, name: str) -> str:
        if not self.length:
            return ""
        return f" ({'shadows: ' * self.is_observed}{GAMES[name]})"

    @property
    def _real(self) -> dict[str, RecommenderInference]:
        is_real = {"history", *(self.by_newcomers if self.is_observed else ())}
        return {name: one for name, one in self.by_newcomers.items() if name in is_real}

    @property
    def main(self) -> str | None:
        """The game with the largest AUC that is not hypothetical; None for similar items."""
        areas = {name: one.inferred.auc.ranked for name, one in self._real.items()}
        return max(areas, key=lambda name: areas[name], default=None)

    @property
    def of_users(self) -> OfUsers | None:
        """The AUC of each scored user over the shadows of `main`; None without `recommender`."""
        found = None if self.main is None else self.by_newcomers[self.main].of_users
        return None if found is None else found._replace(users=tuple(self.targets.tolist()))

    @property
    def risk(self) -> Risk | None:
        """The membership risk of each user; None without `recommender`."""
        if (found := self.of_users) is None:
            return None
        nothing = np.full(self.users.size, np.nan), np.full(self.users.size, None, dtype=object)
        return Risk(*nothing, draws=0).with_areas(
            found, f"{self.shadows}{OF_RECOMMENDER}{self.recommender}"
        )

    @property
    def strongest(self) -> Interval | None:
        """The AUC of `main`; None without membership inference."""
        return None if self.main is None else self.by_newcomers[self.main].inferred.auc


def digests_of(request: Any) -> dict[str, str]:
    """Return the SHA-256 of each published file."""
    names = ("lists", "model", "similar_before", "similar_after")
    files = {name: getattr(request, name) for name in names}
    return {
        name: FileEntry.of(Path(file)).sha256
        for name, file in files.items()
        if isinstance(file, str | PathLike) and Path(file).is_file()
    }


def options_of(request: Any, recommender: str) -> dict[str, Any]:
    """Return the options that repeat the audit, without files."""
    if request.similar_before is not None:
        return {"since": str(request.since), "known": request.known, "seed": request.seed}
    options = {"shadows": request.shadows, "seed": request.seed}
    if request.recommender is None:
        return options
    is_name = isinstance(request.recommender, str)
    name = request.recommender if is_name else f"MODULE:{recommender}"
    return {"recommender": name, "length": request.length, **options}
