"""Likelihood ratio: who is in a release, by how releases with and without them differ.

Whoever can make releases of people whom they know makes many, each of one half of them: shadow
releases. Of each person they then know how any score is spread over releases that hold the person,
and over those that do not, and hold the score of the release that they are asked about against
both (Carlini et al. 2022).
"""

import math
from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression

from recveil.attack.statistics import Interval, ratio_interval
from recveil.brief import brief
from recveil.errors import RecveilError

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

# With fewer shadow releases there is no telling how a score is spread over them.
FEWEST = 8
# A person's own spread counts so much beside that of people as a whole, who have more releases.
_OWN_SPREAD = 0.8
# Further from the middle than so many spreads nothing is believed.
_FARTHEST = 6.0
# A score that never moves by chance, and moves with the person, tells as much as one so far apart.
_SURE = 1e3
# How much is believed of what many scores say together.
_BELIEVED = 0.01
# Releases are judged by what was learned in others: in so many parts.
_PARTS = 4
# A score that differs less between releases than this, in its own size, is the same in all.
_ROUNDING = 1e-9


class MembersTold(NamedTuple):
    """How well members of a release are told from others.

    Attributes
    ----------
    auc : Interval
        How often a member scores above somebody who is not in the release; 0.5 is a coin. People
        and releases count as clusters.
    tpr_at_1, tpr_at_5 : Interval
        The share of members who are recognized if 1 %, or 5 %, of the others are taken for members.
    """

    auc: Interval
    tpr_at_1: Interval
    tpr_at_5: Interval


@brief
class Ratios(NamedTuple):
    """What each score says of each person being in each release.

    Attributes
    ----------
    names : tuple of str
        Of the scores that differ between releases.
    values : ndarray of float64, shape (n_people, n_releases, 2 n_scores)
        Of each score how far it lies from the middle between releases with and without the person,
        in spreads; and the logarithm of the likelihood ratio.
    """

    names: tuple[str, ...]
    values: Numbers


def check_shadows(n: int) -> None:
    """Refuse a number of shadow releases that is odd, or too small.

    Examples
    --------
    >>> check_shadows(32)
    """
    if n < FEWEST or n % 2:
        raise RecveilError(
            f"shadows (--shadows) is {n}; expected an even number of at least {FEWEST}, such as "
            f"32: releases of one half of the people, and of the other half, again and again",
            code="option.value",
        )


def likelihood_ratios(scores: Mapping[str, Numbers], inside: Flags) -> Ratios:
    """Hold every score against the same person's scores in all other releases.

    Parameters
    ----------
    scores : mapping of str to ndarray of float64, shape (n_people, n_releases)
        Releases stand in pairs, of one half of the people and of the other half: 2 j and 2 j + 1.
    inside : ndarray of bool, shape (n_people, n_releases)
        Who is in which.

    Raises
    ------
    RecveilError
        If there are fewer than 8 releases, or an odd number.

    Notes
    -----
    Scores with and without the person are taken to be normal, with one spread (Carlini et al.
    2022, section V, with both kinds of shadows). How far their means lie apart is pulled towards
    the mean over people, by how unsure it is with so few releases. A pair is never held against
    itself: who is in the one is not in the other.
    """
    check_shadows(inside.shape[1])
    names: list[str] = []
    values: list[Numbers] = []
    for name, score in scores.items():
        spread = np.sqrt(score.var(axis=1).mean())
        if spread > _ROUNDING * np.sqrt((score**2).mean()):
            names.append(name)
            values += _of_score(score, inside)
    if not names:
        return Ratios((), np.zeros((*inside.shape, 1)))
    return Ratios(tuple(names), np.stack(values, axis=-1))


def _of_score(score: Numbers, inside: Flags) -> tuple[Numbers, Numbers]:
    """Return how far one score lies from the middle, and the likelihood ratio."""
    off, ratio = np.zeros(score.shape), np.zeros(score.shape)
    for first in range(0, score.shape[1], 2):
        pair = np.arange(first, first + 2)
        others, own = np.delete(score, pair, axis=1), np.delete(inside, pair, axis=1)
        with_them = (others * own).sum(axis=1) / np.maximum(own.sum(axis=1), 1)
        without = (others * ~own).sum(axis=1) / np.maximum((~own).sum(axis=1), 1)
        expected = np.where(own, with_them[:, None], without[:, None])
        variance = ((others - expected) ** 2).sum(axis=1) / (others.shape[1] - 2)
        variance = _OWN_SPREAD * variance + (1 - _OWN_SPREAD) * np.median(variance)
        spread = np.sqrt(variance + 1e-300)
        middle = (with_them + without) / 2
        apart = np.clip((with_them - without) / spread, -_SURE, _SURE)
        apart = _pulled(apart, 4 / others.shape[1])
        moved = (score[:, pair] - middle[:, None]) / spread[:, None]
        moved = np.clip(moved, -_FARTHEST, _FARTHEST)
        # What a release does to everybody's score says nothing of one of them.
        off[:, pair] = moved - moved.mean(axis=0)
        ratio[:, pair] = off[:, pair] * apart[:, None]
    return off, ratio


def _pulled(apart: Numbers, doubt: float) -> Numbers:
    """Pull numbers towards their mean, as far as their differences may be chance."""
    real = max(float(apart.var()) - doubt, 1e-3)
    mean: float = float(apart.mean())
    return mean + (apart - mean) * real / (real + doubt)


def tell_members(ratios: Ratios, inside: Flags) -> MembersTold:
    """Say of everybody in each release whether they are in it, by all scores together.

    How much each score counts is learned from one half of the people (a logistic regression), and
    measured on the other half, in other releases; then the other way round.

    Parameters
    ----------
    ratios : Ratios
    inside : ndarray of bool, shape (n_people, n_releases)

    Examples
    --------
    A score that is one higher for members, with noise of half of that:

    >>> rng = np.random.default_rng(1)
    >>> first = rng.random((60, 8)) < 0.5
    >>> inside = np.stack([first, ~first], axis=-1).reshape(60, 16)
    >>> scores = {"plain": inside + rng.normal(0, 0.5, inside.shape)}
    >>> told = tell_members(likelihood_ratios(scores, inside), inside)
    >>> round(told.auc.rate, 1), told.auc.trials
    (0.9, 60)
    """
    combined = np.zeros(inside.shape)
    half, part = np.arange(len(inside)) % 2, np.arange(inside.shape[1]) // 2 % _PARTS
    for people, releases in product(range(2), range(_PARTS)):
        # Knowing who is in a half tells who is not: so nobody is judged by what was learned there.
        taught = np.ix_(half != people, part != releases)
        judged = np.ix_(half == people, part == releases)
        combined[judged] = _learned(ratios.values[taught], inside[taught], ratios.values[judged])
    return MembersTold(
        auc=area_over_clusters(combined, inside),
        tpr_at_1=_recognized(combined, inside, 0.01),
        tpr_at_5=_recognized(combined, inside, 0.05),
    )


def _learned(known: Numbers, answers: Flags, asked: Numbers) -> Numbers:
    """Learn how much each feature (the last axis) counts, and return the log-odds of others."""
    n_features = known.shape[-1]
    rule = LogisticRegression(C=_BELIEVED, max_iter=1_000)
    rule.fit(known.reshape(-1, n_features), answers.ravel())
    found: Numbers = rule.decision_function(asked.reshape(-1, n_features))
    return found.reshape(asked.shape[:2])


def by_lot(inside: Flags, seed: int) -> Flags:
    """Draw by lot in which release of each pair everybody counts as a member: the control."""
    swapped = np.random.default_rng([seed, 3]).random((len(inside), inside.shape[1] // 2)) < 0.5
    return np.where(np.repeat(swapped, 2, axis=1), ~inside, inside)


def area_over_clusters(scores: Numbers, inside: Flags, confidence: float = 0.95) -> Interval:
    """Return how often members score above others, where people and releases come again and again.

    Parameters
    ----------
    scores : ndarray of float64, shape (n_people, n_releases)
    inside : ndarray of bool, of the same shape
    confidence : float

    Returns
    -------
    Interval
        `trials` counts people.

    Notes
    -----
    DeLong's variance with its parts added up by person and by pair of releases (two-way clusters:
    the sum of both less that of single scores, and at least each of them), and Student's
    distribution, as pairs are few.
    """
    members, others = np.sort(scores[inside]), np.sort(scores[~inside])
    if not (members.size and others.size):
        return Interval(math.nan, 0.0, 1.0, 0)
    parts = np.empty(scores.shape)
    beats = _below(others, scores[inside]) / others.size
    area = float(beats.mean())
    parts[inside] = (beats - area) / members.size
    parts[~inside] = (1 - _below(members, scores[~inside]) / members.size - area) / others.size
    by_person, by_pair = parts.sum(axis=1), parts.reshape(len(parts), -1, 2).sum(axis=(0, 2))
    each = [float((part**2).sum()) for part in (by_person, by_pair, parts)]
    variance = max(each[0] + each[1] - each[2], each[0], each[1])
    n_pairs = by_pair.size
    far = stats.t.ppf((1 + confidence) / 2, max(n_pairs - 1, 1))
    half = float(far) * math.sqrt(variance)
    return Interval(area, max(0.0, area - half), min(1.0, area + half), len(scores))


def _below(order: Numbers, scores: Numbers) -> Numbers:
    """Return how many of some ordered numbers lie below each score, equal ones counting half."""
    return (np.searchsorted(order, scores, "left") + np.searchsorted(order, scores, "right")) / 2


def _recognized(scores: Numbers, inside: Flags, mistaken: float) -> Interval:
    """Return the share of members above all but so large a share of the others."""
    others = np.sort(scores[~inside])
    if not others.size:
        return ratio_interval([], [])
    highest = others[-1 - int(mistaken * others.size)]
    able = inside.sum(axis=1) > 0
    return ratio_interval(((scores > highest) & inside).sum(axis=1)[able], inside.sum(axis=1)[able])
