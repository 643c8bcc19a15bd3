"""Attack: whoever looks for people by what is known about them, in whatever way."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from recveil.attack.candidates import Candidates
from recveil.attack.guesses import Guesses
from recveil.attack.knowledge import Knowledge


class Attack(Protocol):
    """Has a name, and guesses which record is whose."""

    @property
    def name(self) -> str:
        """As it stands in JSON and on the page."""

    def attack(
        self, candidates: Candidates, knowledge: Knowledge, record_of: NDArray[np.int64]
    ) -> Guesses:
        """Look for every target among the candidates.

        Parameters
        ----------
        candidates : Candidates
        knowledge : Knowledge
            Its items are positions in the candidates' list of items.
        record_of : ndarray of int64, shape (n_users,)
            The record of each user, which tells whether a guess is right; -1 if they have none.
            It must not decide what is guessed.
        """
