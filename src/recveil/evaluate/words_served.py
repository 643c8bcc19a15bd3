"""Words served: how many held-out words are told rightly by somebody who learns from a table."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.statistics import Mean, mean_interval
from recveil.brief import brief
from recveil.evaluate.bootstrap import Measured, measured_by, resample, share_interval
from recveil.evaluate.split import HeldOut
from recveil.evaluate.training import TrainingTable, UserRows
from recveil.evaluate.word_tellers import CommonestWord, choose_teller, default_tellers

# What takes no release worth the name: the gain of everything else is counted from here.
COMMONEST = CommonestWord.name


@brief
class WordsServed(NamedTuple):
    """How well all tellers that learnt from one table tell words.

    Attributes
    ----------
    right : dict of str to ndarray of float64, shape (n_people,)
        The share of each person's held-out words that each teller told rightly.
    chosen : str
        The one that a recipient would choose; see `choose_teller`.
    """

    right: Mapping[str, NDArray[np.float64]]
    chosen: str

    @property
    def best(self) -> str:
        """The one that turned out best, which no recipient can know."""
        return max(self.right, key=lambda name: round(float(self.right[name].mean()), 9))

    def mean(self, name: str) -> Mean:
        """Return the mean over people, with its interval."""
        return mean_interval(self.right[name])

    def of_chosen(self, *, best: bool = False) -> NDArray[np.float64]:
        """Return what is right of each person, by the chosen teller, or by the best."""
        return self.right[self.best if best else self.chosen]


def serve_words(
    table: TrainingTable, people: UserRows, test: HeldOut, seed: int = 0
) -> WordsServed:
    """Let tellers learn from a table, and tell held-out words of people by their own others.

    Parameters
    ----------
    table : TrainingTable
        Raw words without an order, or a release of such.
    people : UserRows
        The training words of everybody, also of people who are not in the table.
    test : HeldOut
    seed : int
        Draws the rows that a recipient holds out to choose by.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluate.split import split_ratings
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("worst,bad,so,good,best", ordered=False)
    >>> train, test = split_ratings(make_ratings(60, 40, 900, seed=1).with_scale(scale))
    >>> served = serve_words(TrainingTable.from_ratings(train), UserRows.from_ratings(train), test)
    >>> 0 < served.mean(COMMONEST).mean < 1
    True
    """
    tellers = default_tellers()
    chosen = choose_teller(table, tellers, seed)
    users, row_of = np.unique(test.users, return_inverse=True)
    own, truth = people.take(users), np.rint(test.values)
    counts = np.bincount(row_of)
    right = {}
    for teller in tellers:
        told = teller.fit(table).tell(own, row_of, test.items)
        right[teller.name] = np.bincount(row_of, weights=told == truth) / counts
    return WordsServed(right, chosen)


def words_gain(raw: WordsServed, served: WordsServed, seed: int = 0) -> Measured:
    """Return how much more is told rightly than the commonest words of the raw table are.

    Parameters
    ----------
    raw, served : WordsServed
        Of the same people; of the raw table twice, it is the whole gain that there is.
    seed : int
        Draws the people for the interval.
    """
    gained = served.of_chosen() - raw.right[COMMONEST]
    sums = resample(np.column_stack([np.ones(gained.size), gained]), seed, 1_000)
    return measured_by(float(gained.mean()), sums[:, 1] / sums[:, 0], gained.size)


def words_kept(
    raw: WordsServed, served: WordsServed, *, best: bool = False, seed: int = 0
) -> Measured:
    """Return which share of the gain is left: 1 is as good as raw, 0 as the commonest words.

    Parameters
    ----------
    raw, served : WordsServed
        Of the same people.
    best : bool
        Take the tellers that turned out best, which nobody could know beforehand.
    seed : int
        Draws the people; with the same seed they are the same for every release.
    """
    floor = raw.right[COMMONEST]
    whole, part = raw.of_chosen(best=best) - floor, served.of_chosen(best=best) - floor
    if whole.sum() <= 0:
        return Measured(np.nan, np.nan, np.nan, whole.size)
    sums = resample(np.column_stack([part, whole]), seed, 1_000)
    value = float(part.sum() / whole.sum())
    return Measured(value, *share_interval(value, sums[:, 0], sums[:, 1]), whole.size)
