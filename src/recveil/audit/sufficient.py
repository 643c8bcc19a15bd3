"""Sufficient: how many known ratings are enough to find many of the people."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.attack import Adversary, Candidates, items_needed
from recveil.audit.outcome import run_attack
from recveil.ratings import Ratings

_SHARES = (0.5, 0.9)
_MOST_KNOWN = 16


@dataclass(frozen=True)
class Sufficient:
    """The smallest number of known ratings, all right, that finds a share of the people.

    Parameters
    ----------
    adversary : str
        Their name.
    share : float
    known : int or None
        None if sixteen are not enough.
    """

    adversary: str
    share: float
    known: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return the number as plain data, for JSON and for the page."""
        return asdict(self)


@dataclass(frozen=True)
class Guarantee:
    """What Narayanan & Shmatikov's Theorem 1 says of a number of known ratings.

    Parameters
    ----------
    epsilon, delta : float
        See `items_needed`.
    items : int
    """

    epsilon: float
    delta: float
    items: int

    def to_dict(self) -> dict[str, Any]:
        """Return the number with its meaning, for JSON and for the page."""
        return asdict(self) | {
            "text": f"so many random entries of a record, each known closely, find a record that "
            f"agrees with the target on {1 - self.delta:.0%} of its entries, with probability "
            f"{1 - self.epsilon:.0%} (Narayanan & Shmatikov, Theorem 1)"
        }


def find_sufficient(
    ratings: Ratings,
    candidates: Candidates,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int,
) -> list[Sufficient]:
    """Find the smallest number of ratings, all right, with which enough people are found.

    Parameters
    ----------
    ratings : Ratings
    candidates : Candidates
        The same ratings, listed by item.
    adversaries : list of Adversary
    targets : ndarray of int64
        User positions.
    seed : int

    Returns
    -------
    list of Sufficient
        For half of the people, and for nine tenths, by each adversary.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2], ["a", "b"], [5, 5])
    >>> candidates, both = Candidates.from_ratings(ratings), np.arange(2)
    >>> find_sufficient(ratings, candidates, [Adversary(name="x")], both, seed=0)[0]
    Sufficient(adversary='x', share=0.5, known=1)
    """
    found = []
    for adversary in adversaries:
        rates = {}
        for known in range(1, _MOST_KNOWN + 1):
            more = replace(adversary, known=known, right=known)
            rates[known] = run_attack(ratings, candidates, more, targets, seed=seed).found.rate
            if rates[known] >= max(_SHARES):
                break
        for share in _SHARES:
            enough = [known for known, rate in rates.items() if rate >= share]
            found.append(Sufficient(adversary.name, share, min(enough, default=None)))
    return found


def guarantees(n_users: int) -> list[Guarantee]:
    """Return Theorem 1's number of items for some errors.

    Examples
    --------
    >>> guarantees(480_189)[0]
    Guarantee(epsilon=0.05, delta=0.5, items=24)
    """
    return [
        Guarantee(epsilon, delta, items_needed(n_users, epsilon, delta))
        for epsilon, delta in ((0.05, 0.5), (0.01, 0.5), (0.01, 0.1))
    ]
