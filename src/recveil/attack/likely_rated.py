"""LikelyRated: the record in which the known items are most likely real ratings."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.guesses import Guesses
from recveil.attack.knowledge import Knowledge
from recveil.brief import brief
from recveil.errors import RecveilError

# How likely it is that an item which cannot be real in a record was rated all the same.
_SURPRISE = 1e-3


@brief
@dataclass(frozen=True, eq=False)
class LikelyRated:
    """Scores each record by how probably its owner rated the known items; ratings do not count.

    If a record is the target's, each known item is one of those that are real in it. So an item
    counts ``log(likely + 0.001) - log(n)``, with n the number of labels that are expected to be
    real in the record: likely fills count against it, and of two records that agree as well the
    one with fewer real ratings leads.

    Parameters
    ----------
    likely : ndarray of float64, shape (n_labels,)
        How probably each of the candidates' labels is a real rating. If all are equal, items alone
        decide.

    Examples
    --------
    Both records carry both items, but in the first one they are fills.

    >>> from recveil.ratings import Ratings
    >>> table = Candidates.from_ratings(
    ...     Ratings.from_columns([1, 1, 2, 2], [7, 8, 7, 8], [5, 1, 3, 2])
    ... )
    >>> known = Knowledge(np.array([1]), np.array([0, 2]), np.array([0, 1]), None, None, None, 0)
    >>> LikelyRated(np.array([0.1, 0.9, 0.2, 0.8])).attack(table, known, np.arange(2)).best
    array([1])
    """

    name: ClassVar[str] = "likely-rated"

    likely: NDArray[np.float64]

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Look for every target among the candidates; see `ScoreboardRH.attack`.

        Raises
        ------
        RecveilError
            If there is not one probability for each label.
        """
        if self.likely.shape != candidates.records.shape:
            raise RecveilError(
                f"likely has shape {self.likely.shape}; expected one probability for each of "
                f"{candidates.records.size} labels",
                code="argument.shape",
            )
        n_targets = knowledge.targets.size
        best, tied = np.full(n_targets, -1), np.zeros(n_targets, np.int64)
        own_is_top = np.zeros(n_targets, bool)
        expected = np.bincount(candidates.records, self.likely, minlength=candidates.n_records)
        room = np.log(np.maximum(expected, 1.0))
        gains = np.log(self.likely + _SURPRISE) - np.log(_SURPRISE)
        for target in range(n_targets):
            named = knowledge.items[knowledge.indptr[target] : knowledge.indptr[target + 1]]
            score = -named.size * room
            for item in named:
                carrying = slice(candidates.indptr[item], candidates.indptr[item + 1])
                score[candidates.records[carrying]] += gains[carrying]
            # Equal up to rounding is equal: the order of additions must not single anybody out.
            top = np.flatnonzero(score >= score.max() - 1e-9)
            own = record_of[knowledge.targets[target]]
            best[target] = top[0] if top.size == 1 else -1
            tied[target] = candidates.sizes[top].sum()
            own_is_top[target] = own >= 0 and bool(np.isin(own, top))
        return Guesses(best=best, tied_people=tied, own_is_top=own_is_top)
