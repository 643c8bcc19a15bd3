"""Joint finding: how often an adversary finds both rows of somebody, who stands in two releases."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.adversary import Adversary
from recveil.attack.intersection import people_in_both
from recveil.attack.on_release import best_guesses
from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import Interval, wilson_interval
from recveil.errors import RecveilError
from recveil.ratings import Ratings


class JointFinding(NamedTuple):
    """How often an adversary finds somebody's row in two releases, and what it comes to.

    Attributes
    ----------
    requested, skipped : int
        Targets asked for, and those of them who have too few ratings; they count as not found.
    first, second : Interval
        Share of the targets whose row is found in the one release, and in the other.
    both : Interval
        Share of the targets whose row is found in both.
    person_in_one : Interval
        Expected share of the targets whom a blind pick among the people behind the found row hits,
        in the release where it hits more.
    person_in_both : Interval
        The same for a pick among those who stand behind both found rows.
    stranger : Interval
        The control: the same with the row that was found for somebody else in the second release.
    """

    requested: int
    skipped: int
    first: Interval
    second: Interval
    both: Interval
    person_in_one: Interval
    person_in_both: Interval
    stranger: Interval


def find_in_both(
    ratings: Ratings,
    first: ReleasedTable,
    second: ReleasedTable,
    adversary: Adversary,
    targets: NDArray[np.int64],
    seed: int = 0,
) -> JointFinding:
    """Look for the targets in both releases, each with the attack that finds most there.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    first, second : ReleasedTable
    adversary : Adversary
        They know the same of a target in both releases.
    targets : ndarray of int64
        User positions, all of them in both releases.
    seed : int
        Fixes what the adversary knows.

    Raises
    ------
    RecveilError
        If a target is missing in a release.

    Notes
    -----
    A row is found if it alone fits best. The rows themselves do not tell who stands behind both:
    the pick is what is left to an adversary who learns that, as one does who was told about
    companions. Whoever uses both releases at once to find a row may find more.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> tables = []
    >>> for grouping in ("mdav", "k-member"):
    ...     maker = PredictiveAnonymizer(5, "simple", grouping=grouping, seed=1)
    ...     tables.append(ReleasedTable.from_release(maker.anonymize(ratings), ratings))
    >>> found = find_in_both(ratings, *tables, Adversary(known=8), np.arange(60))
    >>> found.person_in_both.rate > found.person_in_one.rate
    True
    """
    missing = np.flatnonzero((first.record_of[targets] < 0) | (second.record_of[targets] < 0))
    if missing.size:
        raise RecveilError(
            f"{missing.size} of {targets.size} people looked for are missing in a release; "
            f"expected people of both",
            code="argument.value",
        )
    known, one = best_guesses(ratings, first, adversary, targets, seed)
    _, two = best_guesses(ratings, second, adversary, targets, seed)
    rows = first.record_of[known.targets], second.record_of[known.targets]
    in_first, in_second = one.best == rows[0], two.best == rows[1]
    people = np.maximum(people_in_both(first.record_of, second.record_of)[known.targets], 1)
    # Somebody else's row may be the target's own, too, where they share the group.
    strange = in_first & (np.roll(two.best, 1) == rows[1]) & (known.targets.size > 1)

    def rate(hits: NDArray[np.float64] | NDArray[np.bool_]) -> Interval:
        return wilson_interval(float(hits.sum()), known.requested)

    return JointFinding(
        requested=known.requested,
        skipped=known.skipped,
        first=rate(in_first),
        second=rate(in_second),
        both=rate(in_first & in_second),
        person_in_one=max(rate(one.chance), rate(two.chance)),
        person_in_both=rate((in_first & in_second) / people),
        stranger=rate(strange / people),
    )
