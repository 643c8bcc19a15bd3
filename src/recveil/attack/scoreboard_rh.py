"""Scoreboard-RH: the robust attack, which forgives wrong entries and favours rare items."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.guesses import ScoredGuesses
from recveil.attack.knowledge import Knowledge
from recveil.attack.search import (
    DECAY,
    Points,
    longest_span,
    own_records,
    search,
    search_without,
)


@dataclass(frozen=True)
class ScoreboardRH:
    """Scores each record by how well it fits what is known, rare items counting more.

    The score of a record is the sum over the known items that it carries of
    ``wt(i) * (exp(-|rating difference| / rating_width) + exp(-|day difference| / day_width))``
    with ``wt(i) = 1 / log(support)``. What the adversary does not know (ratings or dates) is left
    out of the sum; if they know neither, an item counts its weight.

    Parameters
    ----------
    rating_width : float
        ρ0, in rating points.
    day_width : float
        d0, in days.
    threads : int
        The result does not depend on it.

    Notes
    -----
    Source: Narayanan & Shmatikov, sections 4 and 5. Readings: supports below 2 count as 2, σ is
    the population standard deviation over the records of all people, those with score 0
    included, and a record of s people counts s times in it. Identical records score bit-equal.
    """

    name: ClassVar[str] = "scoreboard-rh"

    rating_width: float = 1.5
    day_width: float = 30.0
    threads: int = 2

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> ScoredGuesses:
        """Look for every target among the candidates.

        Parameters
        ----------
        candidates : Candidates
        knowledge : Knowledge
            Its items are positions in the candidates' list of items.
        record_of : ndarray of int64, shape (n_users,)
            The record of each user, which tells whether a guess is right; -1 if they have none.

        Raises
        ------
        RecveilError
            If the knowledge names an item, or `record_of` a record, that cannot be there.

        Examples
        --------
        >>> from recveil.attack import Adversary, choose_targets, draw_knowledge
        >>> from recveil.datasets import make_ratings
        >>> ratings = make_ratings(n_users=50, n_items=30, n_ratings=400, seed=1)
        >>> known = draw_knowledge(ratings, Adversary(known=4), choose_targets(50, 5, seed=0))
        >>> guesses = ScoreboardRH().attack(
        ...     Candidates.from_ratings(ratings), known, np.arange(50)
        ... )
        >>> guesses.best == known.targets  # one of the five has too few ratings
        array([ True,  True,  True,  True])
        """
        own_records(candidates, knowledge, record_of)  # refuses what is not there
        support = candidates.support[knowledge.items]
        points = self._points(candidates, knowledge, support)
        return search(candidates, knowledge, record_of, points, self.threads)

    def control(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Look for every target in a table from which their own record was taken out.

        Whoever leads there is somebody else. The supports, and so the weights of the items, are
        those of the table without the record.

        Parameters
        ----------
        candidates, knowledge, record_of
            As in `attack`. Nothing is taken out for a target without a record.

        Returns
        -------
        ndarray of float64, shape (n_targets,)
            The eccentricity of the best guess.

        Examples
        --------
        >>> from recveil.attack import Adversary, draw_knowledge
        >>> from recveil.ratings import Ratings
        >>> ratings = Ratings.from_columns([1, 1, 2, 3], list("abab"), [5, 3, 5, 3])
        >>> known = draw_knowledge(ratings, Adversary(known=2), np.array([0]))
        >>> ScoreboardRH().control(Candidates.from_ratings(ratings), known, np.arange(3))
        array([0.])
        """
        own = own_records(candidates, knowledge, record_of)
        of_entry = np.repeat(own, np.diff(knowledge.indptr))
        leaving = candidates.sizes[of_entry] * candidates.carries(knowledge.items, of_entry)
        support = candidates.support[knowledge.items] - leaving
        points = self._points(candidates, knowledge, support)
        return search_without(candidates, knowledge, record_of, points, self.threads)

    def _points(
        self, candidates: Candidates, knowledge: Knowledge, support: NDArray[np.int64]
    ) -> Points:
        """Return what is given for each known item; `support` is that of each entry."""
        return Points(
            rule=DECAY,
            weights=(1 / np.log(np.maximum(support, 2))).astype(np.float32),
            width=float(self.rating_width),
            agree=0.0,
            floor=0.0,
            days=self._day_points(longest_span(candidates, knowledge)),
            bonus=np.empty(0, np.float32),
            sigma=0.0,
        )

    def _day_points(self, span: int) -> NDArray[np.float32]:
        """Tabulate exp(-days / d0) for all differences there can be."""
        return np.exp(-np.arange(span + 1) / self.day_width).astype(np.float32)
