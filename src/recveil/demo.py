"""demo: the main job on invented people, from one command."""

from collections import Counter
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize import PredictiveAnonymizer
from recveil.attack import Matches, match_known_ratings
from recveil.brief import brief
from recveil.datasets import make_ratings
from recveil.publish.folder import check_target
from recveil.ratings import Ratings
from recveil.verify import Verification

KNOWN = 8


@brief
class Demo(NamedTuple):
    """What the demo did.

    Attributes
    ----------
    ratings : Ratings
        2,000 invented users.
    before : Matches
        How many users agree with `KNOWN` ratings of each user in the raw data.
    row_sizes : ndarray of int64, shape (n_rows,)
        How many users share each different row of the raw data.
    verification : Verification
        What the checker says of the release.
    """

    ratings: Ratings
    before: Matches
    row_sizes: NDArray[np.int64]
    verification: Verification

    def _facts(self) -> dict[str, object]:
        return self.verification._facts()


def demo(
    output: str | PathLike[str] = "recveil-demo", *, k: int = 5, seed: int = 0, force: bool = False
) -> Demo:
    """Invent 2,000 users, count those whom eight known ratings give away, and hide them.

    Parameters
    ----------
    output : path
        Where the release goes; its private twin stands beside it.
    k : int
        Smallest group.
    seed : int
        Fixes the invented data and the release.
    force : bool
        Replace an older release at the same place.

    Raises
    ------
    RecveilError
        If k makes no sense or the output cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     shown = demo(Path(folder, "release"))
    >>> shown.before.unique_share > 0.9, shown.verification.k_achieved
    (True, 5)
    """
    check_target(output, force=force)
    ratings = make_ratings(n_users=2_000, n_items=1_000, n_ratings=100_000, seed=seed)
    before = match_known_ratings(ratings, KNOWN, seed=seed)
    release = PredictiveAnonymizer(k, seed=seed).anonymize(ratings)
    return Demo(ratings, before, _row_sizes(ratings), release.write(output, force=force))


def _row_sizes(ratings: Ratings) -> NDArray[np.int64]:
    """Count the users of each different row of (item, rating)."""
    rows = (bytes(items) + bytes(values) for items, values in map(ratings.row, range(2_000)))
    return np.array(list(Counter(rows).values()))
