"""Words told: how many held-out words, which have no order, a release tells rightly.

A word is right, or it is not; there is no error of any size. What a release is worth is measured
against the commonest word of each item, which takes no release.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attack import ReleasedTable
from recveil.attack.statistics import Mean, mean_interval
from recveil.brief import brief
from recveil.evaluate.split import Split
from recveil.ratings import Ratings
from recveil.release.sides import Sides

_NOTES = (
    "Words without an order are right or wrong; no error is told, and no distance. A cell of which "
    "somebody's row has no word counts as wrong.",
    "Lists are not judged: rows of shared words hold every item, so that they say nothing of who "
    "chose what. What they give away is measured by an audit of the release.",
)


@brief
class WordsTold(NamedTuple):
    """How many held-out words are told rightly, as means over people.

    Attributes
    ----------
    cells : int
        Held-out words of people who are in the release.
    right : Mean
        Share of a person's held-out words that stand in their row.
    commonest : Mean
        Share that the item's commonest word in the training table is.
    gain : Mean
        How much more the first is.
    """

    cells: int
    right: Mean
    commonest: Mean
    gain: Mean

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        told = {name: getattr(self, name)._asdict() for name in ("right", "commonest", "gain")}
        return {"words_told": {"cells": self.cells, **told}, "notes": list(_NOTES)}

    def _facts(self) -> dict[str, object]:
        return {"right": f"{self.right.mean:.1%}", "commonest": f"{self.commonest.mean:.1%}"}


def tell_words(parts: Split, release: Sides | Path) -> WordsTold:
    """Compare held-out words with those in people's rows.

    Parameters
    ----------
    parts : Split
        The table that the release was made from, and words that were held out of it.
    release : Sides or Path
        In memory, or its folder.

    Examples
    --------
    >>> from recveil.anonymize.shared_words import SharedWords
    >>> from recveil.evaluate.split import HeldOut
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("up,down", ordered=False)
    >>> train = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], ["up", "up", "down"], scale=scale)
    >>> test = HeldOut(np.array([1]), np.array([1]), np.array([1.0]))  # of b, the second says up
    >>> found = tell_words(Split(train, test), SharedWords(2, seed=1).anonymize(train))
    >>> found.right.mean, found.commonest.mean
    (1.0, 1.0)
    """
    train, test = parts
    if isinstance(release, Path):
        table = ReleasedTable.from_folder(release, train)
    else:
        table = ReleasedTable.from_release(release, train)
    records = table.record_of[test.users]
    known = records >= 0
    users, items = test.users[known], test.items[known]
    truth = np.rint(test.values[known])
    shape = (table.indptr.size - 1, train.n_items)
    rows = sparse.csr_array((table.values, table.indices, table.indptr), shape=shape)
    labels = np.asarray(rows[records[known], items]).ravel()  # 0 where there is none
    right = _by_person(users, labels == truth)
    usual = _by_person(users, commonest_words(train)[items] == truth)
    gain = mean_interval(right - usual)
    return WordsTold(int(known.sum()), mean_interval(right), mean_interval(usual), gain)


def commonest_words(train: Ratings) -> NDArray[np.float64]:
    """Return each item's commonest word, by its number; of equal ones, the first of the scale.

    Examples
    --------
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("up,down", ordered=False)
    >>> said = ["up", "down", "down"]
    >>> commonest_words(Ratings.from_columns([1, 2, 2], ["a", "a", "b"], said, scale=scale))
    array([1., 2.])
    """
    n_words = len(train.scale.words)
    at = train.indices.astype(np.int64) * n_words + np.rint(train.values).astype(np.int64) - 1
    counts = np.bincount(at, minlength=train.n_items * n_words).reshape(-1, n_words)
    # Of an item that nobody rated, what is commonest of all is as good a guess as any.
    counts[counts.sum(axis=1) == 0] = counts.sum(axis=0)
    return np.asarray(counts.argmax(axis=1) + 1.0)


def told_headline(plain: Mapping[str, Any]) -> str:
    """Sum up in words what `WordsTold.to_json` says.

    Examples
    --------
    >>> right = {"mean": 0.6, "low": 0.55, "high": 0.65, "trials": 90}
    >>> gain = {"mean": 0.1, "low": 0.05, "high": 0.15, "trials": 90}
    >>> told = {"cells": 400, "right": right, "commonest": right | {"mean": 0.5}, "gain": gain}
    >>> told_headline({"words_told": told}).split("; ")[0]
    "People's rows tell 60.0% of their held-out words rightly (55.0% to 65.0%)"
    """
    told = plain["words_told"]
    right, usual, gain = (told[name] for name in ("right", "commonest", "gain"))
    return (
        f"People's rows tell {right['mean']:.1%} of their held-out words rightly "
        f"({right['low']:.1%} to {right['high']:.1%}); each item's commonest word, which takes no "
        f"release, tells {usual['mean']:.1%}; the difference is {gain['mean']:.1%} "
        f"({gain['low']:.1%} to {gain['high']:.1%})."
    )


def _by_person(users: NDArray[np.int64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of what is right of each person who has something."""
    people, of = np.unique(users, return_inverse=True)
    counts = np.bincount(of, minlength=people.size)
    return np.asarray(np.bincount(of, weights=right, minlength=people.size) / counts)
