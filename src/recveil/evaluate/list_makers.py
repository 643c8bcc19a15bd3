"""List makers: recommenders that order a person's items, and predict no rating."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from recveil.evaluate.neighbours import MOST_COMPARED, keep_highest, most_carried
from recveil.evaluate.recommender import CHOOSING, Recommender, Setting, most_listed
from recveil.evaluate.spectrum import Numbers, Spectrum, liked, spectrum_of, valued
from recveil.evaluate.training import InnerSplit, TrainingTable, UserRows
from recveil.progress import track

# Lists nearer to each other than this are equally good.
_NEAR = 1e-9
# Operations of a list for each row and item, and of an eigendecomposition for each side³.
_LIST, _APART = 500.0, 10.0
# Similarities are told apart by so many digits.
_DIGITS = 9


class ListMaker(Recommender):
    """A recommender whose serving setting is the one with the best lists on inner hold-outs.

    It learns from the table once; all settings serve from that. Of a table that is full (see
    `TrainingTable.is_full`), no hold-out tells which lists are good: nearly everything that is
    held out is right. There `of_full` is taken.

    Attributes
    ----------
    of_full : tuple of float
        The serving setting of a full table, which is the same whatever the table.

    Notes
    -----
    `of_full` was chosen beforehand, by the nDCG@10 of held-out ratings: padded releases with k = 5
    and k = 50 of the five folds of MovieLens 100K and of two splits of ml-latest-small, each
    release's best setting of any maker counted as 1, on average over the fourteen releases. EASE
    on labels has .945 with a strength of 5 and .935 with 20; PureSVD .913 with 10 directions, .900
    with 20 and .881 with 5; EASE on liked .555 with 500; item cosine .421. So averaged labels have
    little noise to be held down by strength, and what is liked of them says less than how much.
    """

    rates: ClassVar[bool] = False
    # How many tables it takes apart that the makers before it have not; see `spectrum_of`.
    decompositions: ClassVar[int] = 0
    of_full: Setting = ()

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: to take tables apart, mostly."""
        side = min(table.rows.n_users, table.n_items)
        listed = min(table.rows.n_users, n_inner * most_listed(table.n_items))
        lists = len(self.serving_settings) * _LIST * listed * table.n_items
        apart = self.decompositions * (_APART * side**3 + 2.0 * side**2 * table.n_items)
        return super().effort(table, n_inner) + lists + (1.0 + n_inner) * apart

    def _choose(
        self, inner: Sequence[InnerSplit], share: float = CHOOSING
    ) -> tuple[Setting, Setting, float]:
        """Return the settings with the highest nDCG@10 on all hold-outs together."""
        (learning,) = self.learning_settings
        if self.is_full_ or any(part.table.is_full for part in inner):
            return learning, self.of_full, np.nan
        if not inner or len(self.serving_settings) == 1:
            return learning, self.serving_settings[0], np.nan
        lists: list[list[NDArray[np.float64]]] = [[] for _ in self.serving_settings]
        for part in track(inner, self.name, share=share):
            learnt = self._learn(part.table, learning)
            for place, serving in enumerate(self.serving_settings):
                lists[place].append(self._rank_part(part, learnt, serving))
        gained = [_mean(np.concatenate(parts)) for parts in lists]
        first = next(p for p, gain in enumerate(gained) if gain > max(gained) - _NEAR)
        return learning, self.serving_settings[first], np.nan


class Ease(ListMaker):
    """What the items that a person rated, all together, tell of another item.

    Each item's numbers are predicted from those of all others by one ridge regression, whose
    solution is closed: with P the inverse of ``XᵀX + strength``, item i counts
    ``-P[i, j] / P[j, j]`` for item j.

    Parameters
    ----------
    form : {"liked", "labels"}
        What the numbers are: 1 where the label says that the item was liked, or the label as a
        share of the highest.

    Notes
    -----
    Source: Steck, "Embarrassingly shallow autoencoders for sparse data", WWW 2019. A row counts
    for as many people as stand behind it. Identical rows tell of an item by itself, however
    little it has to do with the others; so the grid of strengths reaches far above what raw
    ratings need.
    """

    decompositions: ClassVar[int] = 1
    serving_settings: ClassVar[tuple[Setting, ...]] = tuple(
        (strength,) for strength in (20.0, 80.0, 200.0, 500.0, 2_000.0, 8_000.0)
    )

    def __init__(self, form: Literal["liked", "labels"] = "liked") -> None:
        self.form = form
        self.of_full = (500.0,) if form == "liked" else (5.0,)
        self._numbers = liked if form == "liked" else valued
        self.name = f"EASE on {form}"

    def _learn(self, table: TrainingTable, _setting: Setting) -> Spectrum:
        return spectrum_of(table, self._numbers)

    def _serve(self, learnt: Any, people: UserRows, setting: Setting) -> Numbers:
        return serve_ease(learnt, people, setting[0])


class EaseOnBoth(ListMaker):
    """EASE on liked and EASE on labels, added up: each person's scores of both spread alike.

    Which of the two serves better depends on the table: how high somebody rated says more where
    people use the whole scale, and that they liked it where fills blur the rest. A recipient sees
    no difference that the hold-outs of a small table would prove, and need not choose.

    Notes
    -----
    Both have the same strength, but of a full table, where each has its own. As a mean of scores
    whose errors differ it is seldom far below the better one, and can be above it: nDCG@10 of
    k-coRating with k = 5 is .501, .483 and .508 on three splits of FilmTrust, where EASE on liked
    has .487, .466 and .482, and EASE on labels .466, .456 and .483 (all strengths chosen on inner
    hold-outs).
    """

    name = "EASE on both"
    serving_settings = Ease.serving_settings
    of_full = (500.0, 5.0)

    def _learn(self, table: TrainingTable, _setting: Setting) -> tuple[Spectrum, Spectrum]:
        return spectrum_of(table, liked), spectrum_of(table, valued)

    def _serve(self, learnt: Any, people: UserRows, setting: Setting) -> Numbers:
        on_liked, on_labels = learnt
        scores = _spread_alike(serve_ease(on_liked, people, setting[0]))
        scores += _spread_alike(serve_ease(on_labels, people, setting[-1]))
        return scores


class PureSVD(ListMaker):
    """The person's labels, as the longest directions of the table see them.

    A label counts as a share of the highest, and what is not there as 0.

    Notes
    -----
    Source: Cremonesi, Koren and Turrin, "Performance of recommender algorithms on top-N
    recommendation tasks", RecSys 2010.
    """

    name = "PureSVD"
    serving_settings: ClassVar[tuple[Setting, ...]] = ((5.0,), (10.0,), (20.0,), (50.0,))
    of_full = (10.0,)

    def _learn(self, table: TrainingTable, _setting: Setting) -> Spectrum:
        return spectrum_of(table, valued)

    def _serve(self, learnt: Any, people: UserRows, setting: Setting) -> Numbers:
        longest = learnt.vectors[:, : int(setting[0])]
        own = learnt.of_people(people)
        return np.asarray(learnt.spread((own @ longest) @ longest.T), np.float64)


class ItemCosine(ListMaker):
    """How much the items that a person liked go with another one: cosines, the nearest alone.

    Two items are similar by the cosine of their columns of "liked". Of each item's similar ones
    the `kept` most similar count, and add up. Of more than 5,000 items, the 5,000 that most people
    liked are compared, and the others have no similar ones.

    Parameters
    ----------
    kept : int

    Notes
    -----
    Source: Deshpande and Karypis, "Item-based top-N recommendation algorithms", ACM TOIS 2004.
    """

    def __init__(self, kept: int = 100) -> None:
        self.kept = kept
        self.name = f"item cosine, {kept} neighbours"

    def effort(self, table: TrainingTable, n_inner: int) -> float:
        """Return about how many operations a fit takes: to compare items, mostly."""
        squares = float(min(table.n_items, MOST_COMPARED)) ** 2
        side = min(table.rows.n_users, table.n_items)
        return super().effort(table, n_inner) + (1.0 + n_inner) * squares * (0.6 * side + 500.0)

    def _learn(
        self, table: TrainingTable, _setting: Setting
    ) -> tuple[Spectrum, NDArray[np.int64], Numbers]:
        spectrum = spectrum_of(table, liked)
        scaled = spectrum.vectors * np.sqrt(spectrum.squares)
        lengths = np.sqrt((scaled**2).sum(axis=1))
        # What nobody likes is only nearly 0 after all the arithmetic.
        by_some = np.flatnonzero(lengths > 0.5)
        by_some = by_some[most_carried(np.round(lengths[by_some], 6), MOST_COMPARED)]
        scaled = scaled[by_some] / lengths[by_some, None]
        similar = np.round(scaled @ scaled.T, _DIGITS)
        np.fill_diagonal(similar, 0)
        keep_highest(similar, self.kept)
        return spectrum, by_some, similar

    def _serve(self, learnt: Any, people: UserRows, _setting: Setting) -> Numbers:
        spectrum, by_some, similar = learnt
        own = spectrum.of_people(people)
        scores = np.zeros_like(own)
        scores[:, by_some] = own[:, by_some] @ similar
        return np.asarray(spectrum.spread(scores), np.float64)


def serve_ease(learnt: Spectrum, people: UserRows, strength: float) -> Numbers:
    """Score every item for each person by EASE with a strength; see `Ease`."""
    vectors, squares = learnt.vectors, learnt.squares
    own = learnt.of_people(people)
    # strength · P = 1 - V diag(weight) Vᵀ
    weight = squares / (squares + strength)
    diagonal = 1 - (vectors**2) @ weight
    left = own - ((own @ vectors) * weight) @ vectors.T
    return np.asarray(learnt.spread(own - left / diagonal), np.float64)


def _spread_alike(scores: Numbers) -> Numbers:
    """Return each person's scores with a standard deviation of 1; 0 if only rounding differs.

    Examples
    --------
    >>> _spread_alike(np.array([[3.0, 5.0], [0.5, 0.5 + 1e-15]]))
    array([[3., 5.],
           [0., 0.]])
    """
    spread = scores.std(axis=1, keepdims=True)
    return np.divide(scores, spread, out=np.zeros_like(scores), where=spread > _NEAR)


def _mean(lists: NDArray[np.float64]) -> float:
    """Return the mean of what could be judged; 0 if nothing could."""
    judged = lists[~np.isnan(lists)]
    return float(judged.mean()) if judged.size else 0.0
