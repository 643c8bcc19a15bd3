"""FillsTold: how well real ratings of a co-rated release are told from fills, and what follows."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.adversary import PRESETS
from recveil.attack.cell_features import Cells, Numbers
from recveil.attack.fill_classifier import tell_fills, too_large
from recveil.attack.knowledge import Knowledge, draw_knowledge
from recveil.attack.likely_rated import LikelyRated
from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import Interval, ratio_interval, wilson_interval
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.ratings import Ratings

# Of the people, so many are known to the adversary, each with all of their ratings.
KNOWN_SHARES = (0.01, 0.05)
# Of the real ratings, so many are marked.
RECALLS = (0.1, 0.25, 0.5)


@brief
class FillsTold(NamedTuple):
    """How well somebody who knows a few people tells real ratings from fills.

    Attributes
    ----------
    known_share : float
        Share of the people whom the adversary knows with all of their ratings; they are not
        counted below. 0 for somebody who learned from a release of their own.
    people_known : int
    base_rate : float
        Share of the others' labels that are real: what a blind guess marks rightly.
    precision : dict of float to Interval
        For each share of the real ratings, how many of the marked labels are real if the likeliest
        ones are marked until so many are found. Its trials are people, whose labels go together.
    by_popularity : dict of float to Interval
        The same, if the labels of the most rated items are marked.
    found : Interval
        The bystander's rate of people found, who knows eight items and no ratings, with likely
        fills counting against a record; of the people whom the adversary does not know.
    by_items : Interval
        The same people by the same items, if all labels count alike.
    """

    known_share: float
    people_known: int
    base_rate: float
    precision: dict[float, Interval]
    by_popularity: dict[float, Interval]
    found: Interval
    by_items: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, for JSON and for the page."""
        return {
            "known_share": self.known_share,
            "people_known": self.people_known,
            "base_rate": self.base_rate,
            "precision": {f"{at:g}": told._asdict() for at, told in self.precision.items()},
            "popularity_precision": {
                f"{at:g}": told._asdict() for at, told in self.by_popularity.items()
            },
            # JSON knows no nan: of nobody there is no rate.
            "bystander": self.found._asdict() if self.found.trials else None,
            "bystander_by_items_alone": self.by_items._asdict() if self.found.trials else None,
        }

    def _facts(self) -> dict[str, object]:
        return {"people known": self.people_known, "found": f"{self.found.rate:.1%}"}


def measure_fills(
    ratings: Ratings,
    table: ReleasedTable,
    targets: NDArray[np.int64],
    known_share: float = 0.05,
    seed: int = 0,
    *,
    cells: Cells | None = None,
) -> FillsTold:
    """Let an adversary learn from some people what fills look like, and judge everybody else.

    Parameters
    ----------
    ratings : Ratings
        The truth.
    table : ReleasedTable
    targets : ndarray of int64
        User positions; those who are known to the adversary are not looked for.
    known_share : float
        Share of the released people whom the adversary knows, at least two people.
    seed : int
        Fixes who is known, and what the bystander knows.
    cells : Cells, optional
        Those of the table, for whoever measures several times; taken from it, if not given.

    Raises
    ------
    RecveilError
        If nobody has a record, the table is too large for the classifier, or the known people
        have no fills (or nothing but fills).

    Examples
    --------
    >>> from recveil.anonymize import KCoRater
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=120, n_items=40, n_ratings=1500, seed=1)
    >>> table = ReleasedTable.from_release(KCoRater(k=5, seed=1).anonymize(ratings), ratings)
    >>> told = measure_fills(ratings, table, np.arange(120), known_share=0.1)
    >>> told.people_known, told.precision[0.5].rate > told.base_rate
    (12, True)
    """
    cells = Cells.of(table.candidates, ratings.scale) if cells is None else cells
    if too_large(cells):
        raise RecveilError(
            f"{cells.candidates.n_records:,} records of {cells.n_items:,} items are too many to "
            f"tell fills from ratings; expected a smaller table, or a part of the people",
            code="table.too-large",
        )
    released = np.flatnonzero(table.record_of >= 0)
    if not released.size:
        raise RecveilError(
            "nobody has a record in the release; expected people to judge by", code="argument.value"
        )
    n_known = min(released.size, max(2, round(known_share * released.size)))
    known = np.random.default_rng([seed, 5]).choice(released, n_known, replace=False)
    records = table.record_of[known]
    likely = tell_fills(cells, records, mark_real(ratings, table))
    return judge_fills(ratings, table, targets, cells, likely, records, seed)


def judge_fills(
    ratings: Ratings,
    table: ReleasedTable,
    targets: NDArray[np.int64],
    cells: Cells,
    likely: Numbers,
    records: NDArray[np.int64],
    seed: int = 0,
) -> FillsTold:
    """Judge what somebody makes of the labels, by everybody whom they do not know.

    Parameters
    ----------
    ratings, table, targets, seed
        As in `measure_fills`.
    cells : Cells
        Those of the table.
    likely : ndarray of float64, shape (n_labels,)
        How probably each label is a real rating.
    records : ndarray of int64
        The records of the people whom the adversary knows; none, if nobody.
    """
    is_real = mark_real(ratings, table)
    others = ~np.isin(cells.records, records)
    judged = _Judged(is_real[others], cells.records[others])
    left = targets[~np.isin(table.record_of[targets], records)]
    by_items = draw_knowledge(ratings, PRESETS["bystander"], left, seed)
    support = table.candidates.support[cells.items].astype(np.float64)
    n_released = int((table.record_of >= 0).sum())
    return FillsTold(
        known_share=records.size / max(n_released, 1),
        people_known=records.size,
        base_rate=float(judged.is_real.mean()) if judged.is_real.size else 0.0,
        precision=_precision(judged, likely[others]),
        by_popularity=_precision(judged, support[others]),
        found=_find(table, by_items, likely),
        by_items=_find(table, by_items, np.ones(likely.size)),
    )


def mark_real(ratings: Ratings, table: ReleasedTable) -> NDArray[np.bool_]:
    """Mark the labels of items that somebody behind the record rated, shape (n_labels,).

    Examples
    --------
    >>> from recveil.anonymize import KCoRater
    >>> from recveil.ratings import RatingScale
    >>> stars = RatingScale(1, 5, 1)
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], [5, 1, 2], scale=stars)
    >>> table = ReleasedTable.from_release(KCoRater(k=2, seed=1).anonymize(ratings), ratings)
    >>> int(mark_real(ratings, table).sum()), table.values.size
    (3, 4)
    """
    record_of = np.repeat(table.record_of, ratings.activity)
    inside = record_of >= 0
    n_records = table.candidates.n_records
    # The candidates are listed by item, records ascending.
    real = np.unique(ratings.indices[inside].astype(np.int64) * n_records + record_of[inside])
    items = np.repeat(np.arange(ratings.n_items), np.diff(table.candidates.indptr))
    return np.isin(items * n_records + table.candidates.records, real)


@brief
class _Judged(NamedTuple):
    """The labels that precision is measured on."""

    is_real: NDArray[np.bool_]
    records: NDArray[np.int32]


def _precision(judged: _Judged, score: Numbers) -> dict[float, Interval]:
    """Mark the highest scores until each share of the real ratings is found.

    Equal scores are marked together, so that nothing hangs on their order.
    """
    order = np.argsort(-score, kind="stable")
    found = np.cumsum(judged.is_real[order])
    precision = {}
    for recall in RECALLS if found.size and found[-1] else ():
        last = order[np.searchsorted(found, recall * found[-1])]
        marked = score >= score[last]
        n_marked = np.bincount(judged.records[marked])
        n_right = np.bincount(judged.records[marked], judged.is_real[marked])
        precision[recall] = ratio_interval(n_right[n_marked > 0], n_marked[n_marked > 0])
    return precision


def _find(table: ReleasedTable, known: Knowledge, likely: Numbers) -> Interval:
    guesses = LikelyRated(likely).attack(table.candidates, known, table.record_of)
    return wilson_interval(float(guesses.chance.sum()), known.requested)
