"""Lessons: what the found rows of a release tell of people, beside what was known of them."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attack.knowledge import Knowledge
from recveil.attack.released import ReleasedTable
from recveil.attack.statistics import Mean, mean_interval
from recveil.brief import brief
from recveil.ratings import Ratings, RatingScale


class RatingErrors(NamedTuple):
    """How far a found row is off the ratings that the adversary did not know, in rating points.

    Attributes
    ----------
    rmse, mae : float
        Of the row's labels, those beyond the scale moved to its ends, over all ratings that have
        one; nan if none has.
    item_mean_rmse, item_mean_mae : float
        Of the released table's item means, over the same ratings.
    gain : Mean
        By how much the row is nearer than the item mean in absolute error: each target's mean,
        averaged over targets. Only if it is above 0, the row tells something personal.
    ratings : int
        The found targets' ratings that the adversary did not know.
    labelled : int
        How many of them the row has a label for.
    """

    rmse: float
    mae: float
    item_mean_rmse: float
    item_mean_mae: float
    gain: Mean
    ratings: int
    labelled: int


@brief
class Lesson(NamedTuple):
    """What the row of one found target tells, beside what the adversary knew."""

    truth: NDArray[np.float32]  # the target's ratings that the row has a label for
    labels: NDArray[np.float64]
    means: NDArray[np.float64]  # the released item means of the same items
    links: int  # items of the row
    popularity: float  # the mean share of users who rated them
    n_unknown: int  # the target's ratings

    @property
    def n_exact(self) -> int:
        """How many labels are the rating itself; ratings are held in single precision."""
        apart = np.abs(self.labels - self.truth)
        return int((apart <= 1e-9 + np.spacing(np.abs(self.truth))).sum())


def learn_rows(
    ratings: Ratings, table: ReleasedTable, known: Knowledge, found: NDArray[np.int64]
) -> list[Lesson]:
    """Compare the rows of found targets (positions in the knowledge) with their ratings."""
    means, popularity = table.item_means(), ratings.support / ratings.n_users
    lessons = []
    for place in found.tolist():
        target = known.targets[place]
        named = known.items[known.indptr[place] : known.indptr[place + 1]]
        items, labels = _without(named, table.row(table.record_of[target]))
        rated, truth = _without(named, ratings.row(target))
        common, in_row, in_truth = np.intersect1d(
            items, rated, assume_unique=True, return_indices=True
        )
        lessons.append(
            Lesson(
                truth=truth[in_truth],
                labels=labels[in_row],
                means=means[common],
                links=items.size,
                popularity=float(popularity[items].mean()) if items.size else math.nan,
                n_unknown=rated.size,
            )
        )
    return lessons


def _without(
    named: NDArray[np.int32], row: tuple[NDArray[np.int32], NDArray[Any]]
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Leave out of a row's items and values those that the adversary named."""
    items, values = row
    kept = ~np.isin(items, named)
    return items[kept], values[kept]


def sum_up_errors(lessons: list[Lesson], scale: RatingScale) -> RatingErrors:
    """Compare the labels of found rows, and the items' means, with the ratings they stand for.

    Likes have no ratings that a label could be off.
    """
    told = [lesson for lesson in lessons if lesson.truth.size and not scale.unary]
    off = [np.abs(clip_labels(lesson.labels, scale) - lesson.truth) for lesson in told]
    mean_off = [np.abs(clip_labels(lesson.means, scale) - lesson.truth) for lesson in told]
    gains = [float((far - near).mean()) for near, far in zip(off, mean_off, strict=True)]
    return RatingErrors(
        rmse=_rmse(off),
        mae=_mae(off),
        item_mean_rmse=_rmse(mean_off),
        item_mean_mae=_mae(mean_off),
        gain=mean_interval(gains),
        ratings=sum(lesson.n_unknown for lesson in lessons),
        labelled=sum(lesson.truth.size for lesson in told),
    )


def clip_labels(labels: NDArray[np.float64], scale: RatingScale) -> NDArray[np.float64]:
    """Move labels beyond the scale to its ends, as everybody would who knows the scale."""
    return np.clip(labels, scale.low, scale.high)


def _rmse(errors: list[NDArray[np.float64]]) -> float:
    return math.sqrt(float((np.concatenate(errors) ** 2).mean())) if errors else math.nan


def _mae(errors: list[NDArray[np.float64]]) -> float:
    return float(np.concatenate(errors).mean()) if errors else math.nan
