"""Crowd rule: by what the rows of classes are drawn, learned from sums over people and crowds.

It grows with items alone: what people of some tastes choose, how often each item stands in rows,
and which ratings they are predicted to give. `anonymize.support_tastes` and `support_drawing` learn
the same on one machine.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.rare_items import activity_on
from recveil.anonymize.sparse_rows import CrowdLabels, as_far_apart
from recveil.anonymize.support_drawing import NEAR, SWEEPS, Choices, fit_rows, newton_step
from recveil.anonymize.support_tastes import (
    GroupTastes,
    expected_raters,
    fit_by_newton,
    log_activity,
    root_of_covariance,
    square_of,
)
from recveil.blas import one_thread
from recveil.brief import brief
from recveil.compiled import compiled
from recveil.ratings import Ratings
from recveil.spark.chosen_tastes import ChosenTastes
from recveil.spark.spread_crowds import Crowds, SpreadCrowds
from recveil.spark.spread_people import SpreadPeople, Whole
from recveil.spark.taste_factors import TasteFactors

# Sums over people are of products of numbers of 1 at most: places are, and logarithms and factors
# become so. In whole steps of this size they fit into 64 bits for 2 * 10 ** 9 people.
_STEPS = float(1 << 32)
_LONGEST_LOG, _LARGEST_FACTOR = 16.0, 16.0
# Sums over crowds are of larger numbers, and few: a bin's are added up before they are rounded.
_STEPS_OF_BINS = float(1 << 20)
# Places that differ by less are equal, as sums are not finer.
_EQUAL = 2.0**-15
# Crowds' predictions are moved at most so many times as far from each other as they are: more than
# on one machine, as those of people, and so of crowds, are pulled together more here. With 2 fewer
# labels are high, and lists that are learned from these alone are worse.
_APART = 2.5
# What is drawn, by a stream of its own.
_TASTES = 51


@brief
class CrowdRule(NamedTuple):
    """What the rows of classes are drawn by.

    Attributes
    ----------
    centre, apart : ndarray of float64, shape (n_tastes,)
        The mean place of people, and how far they are from it.
    tastes : GroupTastes
        Of everybody; the places of crowds stand with them.
    of_items : ndarray of float64, shape (n_common,)
        Log odds that are added for each item, so that it stands in as many rows as it shall.
    middle : ndarray of float64, shape (rank,)
        The mean of what people's ratings are predicted from.
    stretched : ndarray of float64, shape (2,)
        Squared distances from there, of people and of crowds.
    known : TasteFactors or None
        None for likes.
    secret : tuple of int
        What all that is drawn follows from, together with the table.
    """

    centre: NDArray[np.float64]
    apart: NDArray[np.float64]
    tastes: GroupTastes
    of_items: NDArray[np.float64]
    middle: NDArray[np.float64]
    stretched: NDArray[np.float64]
    known: TasteFactors | None
    secret: tuple[int, ...]

    def tastes_of(self, crowds: Crowds) -> GroupTastes:
        """Return those of the crowds of a bin."""
        return self.tastes._replace(places=(crowds.places - self.centre) / self.apart)

    def choices(self, crowds: Crowds) -> Choices:
        """Return how likely the classes of a bin are to have each item, the same at each call."""
        rng = np.random.default_rng([*self.secret, _TASTES, int(crowds.number)])
        lengths = crowds.lengths[:, 0]
        rows = self.tastes_of(crowds).drawn(crowds.crowd_of, lengths, rng)
        choices = Choices.of(rows, self.tastes.slopes)
        choices.of_items[:] = self.of_items
        fit_rows(choices, lengths)
        return choices

    def labels(self, crowds: Crowds, n_items: int) -> CrowdLabels:
        """Return what people of the crowds of a bin are predicted to give."""
        if self.known is None:
            return CrowdLabels.of_likes(crowds.sizes.size, n_items)
        people, between = self.stretched.tolist()
        of_crowds = as_far_apart(crowds.factors, self.middle, people, between, _APART)
        return CrowdLabels(of_crowds, self.known.factors, self.known.offset)

    def _facts(self) -> dict[str, object]:
        return {"items": self.of_items.size}


def learn_rule(
    people: SpreadPeople,
    crowds: SpreadCrowds,
    chosen: ChosenTastes,
    known: TasteFactors | None,
    common: NDArray[np.int32],
    secret: tuple[int, ...],
) -> CrowdRule:
    """Learn it from all people and crowds.

    Parameters
    ----------
    people : SpreadPeople
    crowds : SpreadCrowds
        The same people.
    chosen : ChosenTastes
        By which crowds were gathered.
    known : TasteFactors or None
        What ratings are predicted from; None for likes.
    common : ndarray of int32
        The items that rows are drawn of by tastes.
    secret : tuple of int

    Notes
    -----
    As on one machine, but for one thing: there rows and items are fitted in turn, here rows are
    fitted to the end whenever items move, so that nothing of them need be kept. Both ends are the
    same.
    """
    rule, spread = _of_people(people, chosen, known, common, secret)
    rule, sums = _of_crowds(crowds, rule, spread, people.n_people)
    totals = chosen.support[common].astype(np.float64)
    n = sums.shape[1]

    def expected(weights: NDArray[np.float64], _: NDArray[np.int64]) -> Any:
        found = crowds.add_up(_expected, rule, weights) / _STEPS_OF_BINS
        return found[:, :n], square_of(found[:, n:], n)

    slopes = fit_by_newton(totals, sums, float(people.n_people), expected)
    rule = rule._replace(tastes=rule.tastes._replace(slopes=slopes))
    for _ in range(SWEEPS):
        held, vary = crowds.add_up(_held, rule) / _STEPS_OF_BINS
        moved = newton_step(totals - held, vary)
        rule = rule._replace(of_items=rule.of_items + moved)
        if np.abs(moved).max() < NEAR:
            break
    return rule


def _of_people(
    people: SpreadPeople,
    chosen: ChosenTastes,
    known: TasteFactors | None,
    common: NDArray[np.int32],
    secret: tuple[int, ...],
) -> tuple[CrowdRule, NDArray[np.float64]]:
    """Begin with where people are; return how they spread there, too."""
    n = chosen.directions.shape[1]
    rank = 0 if known is None else known.factors.shape[1]
    units = np.array([1.0] + [1.0] * n + [_LONGEST_LOG] + [_LARGEST_FACTOR] * rank)
    moments = people.add_up(_products, chosen, known, common) / _STEPS * np.outer(units, units)
    means = moments[0, 1:] / people.n_people
    spread = moments[1:, 1:] / people.n_people - np.outer(means, means)
    apart = np.sqrt(np.maximum(np.diag(spread), 0.0))
    centre, apart_of_places = means[:n], np.where(apart[:n] < _EQUAL, 1.0, apart[:n])
    tastes = GroupTastes(
        places=np.empty((0, n)),
        within=spread[:n, :n] / np.outer(apart_of_places, apart_of_places),
        activity_mean=float(means[n]),
        activity_spread=1.0 if apart[n] < _EQUAL * _LONGEST_LOG else float(apart[n]),
        items=common,
        slopes=np.empty(0),
    )
    of_people = 0.0 if known is None else _stretch(known, spread[n + 1 :, n + 1 :])
    rule = CrowdRule(
        centre=centre,
        apart=apart_of_places,
        tastes=tastes,
        of_items=np.zeros(common.size),
        middle=means[n + 1 :],
        stretched=np.array([of_people, 0.0]),
        known=known,
        secret=secret,
    )
    return rule, tastes.within


def _of_crowds(
    crowds: SpreadCrowds, rule: CrowdRule, spread: NDArray[np.float64], n_people: int
) -> tuple[CrowdRule, NDArray[np.float64]]:
    """Add how crowds spread; return what the regressors of each item's raters add up to, too.

    What people spread within crowds is what is left of how they spread.
    """
    n, n_common = rule.centre.size, rule.of_items.size
    found = crowds.add_up(_told, rule) / _STEPS_OF_BINS
    sums = found[: n_common * (n + 2)].reshape(n_common, n + 2)
    width = n + rule.middle.size
    between = found[n_common * (n + 2) :].reshape(width, width) / n_people
    with one_thread():
        within = root_of_covariance(spread - between[:n, :n])
    stretched = rule.stretched.copy()
    if rule.known is not None:
        stretched[1] = _stretch(rule.known, between[n:, n:])
    tastes = rule.tastes._replace(within=within)
    return rule._replace(tastes=tastes, stretched=stretched), sums


def _stretch(known: TasteFactors, spread: NDArray[np.float64]) -> float:
    """Return the mean squared distance between predicted rows and their mean.

    Examples
    --------
    >>> known = TasteFactors(np.zeros(1), np.ones((1, 2)), np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> _stretch(known, np.eye(2))
    5.0
    """
    with one_thread():
        return float(np.trace(known.triangular @ spread @ known.triangular.T))


def _products(
    ratings: Ratings,
    chosen: ChosenTastes,
    known: TasteFactors | None,
    common: NDArray[np.int32],
) -> Whole:
    """Return the products of all pairs of numbers of each person, added up; the first one is 1.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 1, 2], [7, 8, 8], [5, 5, 5])
    >>> chosen = ChosenTastes(np.array([1, 1]), np.array([[0.0], [1.0]]))
    >>> (_products(ratings, chosen, None, np.array([0, 1])) / 2**32).round(2)
    array([[2.  , 1.71, 0.04],
           [1.71, 1.5 , 0.03],
           [0.04, 0.03, 0.  ]])
    """
    logs = log_activity(activity_on(ratings, [common])[:, 0]) / _LONGEST_LOG
    columns: list[NDArray[Any]] = [np.ones((ratings.n_users, 1)), chosen.of_people(ratings)]
    columns.append(logs[:, None])
    if known is not None:
        columns.append(known.of_people(ratings) / _LARGEST_FACTOR)
    return np.asarray(_add_products(np.hstack(columns).astype(np.float64)))


@compiled()
def _add_products(rows: NDArray[Any]) -> NDArray[Any]:
    n = rows.shape[1]
    sums = np.zeros((n, n), np.int64)
    for person in range(len(rows)):
        for i in range(n):
            for j in range(n):
                sums[i, j] += np.int64(np.rint(rows[person, i] * rows[person, j] * _STEPS))
    return sums


def _told(crowds: Crowds, rule: CrowdRule) -> Whole:
    """Return what the regressors of each item's raters add up to, and how crowds spread."""
    tastes = rule.tastes_of(crowds)
    known = tastes.regressors(np.arange(crowds.sizes.size), crowds.usual)
    sums = crowds.counted(rule.of_items.size).T @ known
    means = np.hstack([tastes.places, crowds.factors - rule.middle])
    with one_thread():
        spread = (means * crowds.sizes[:, None]).T @ means
    return _whole(np.concatenate([sums.ravel(), spread.ravel()]))


def _expected(crowds: Crowds, rule: CrowdRule, weights: NDArray[np.float64]) -> Whole:
    """Return how many raters some weights expect of the crowds of a bin; see `expected_raters`."""
    known = rule.tastes_of(crowds).regressors(np.arange(crowds.sizes.size), crowds.usual)
    return _whole(expected_raters(known, crowds.sizes.astype(np.float64), weights))


def _held(crowds: Crowds, rule: CrowdRule) -> Whole:
    """Return how many people of a bin have each item, and how that varies."""
    choices, weights = rule.choices(crowds), crowds.class_sizes.astype(np.float32)
    sums = np.zeros((2, rule.of_items.size))
    with one_thread():
        for tile in choices.tiles():
            sums += choices.sums_of_items(tile, weights)
    return _whole(sums)


def _whole(sums: NDArray[np.float64]) -> Whole:
    return np.asarray(np.rint(sums * _STEPS_OF_BINS).astype(np.int64))
