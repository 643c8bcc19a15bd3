"""Membership inference from what a recommender publishes: lists of items, or its model.

The adversary knows a target's ratings and trains shadow recommenders with and without the target.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.attacks.membership.shadow_models import (
    Flags,
    InferredMembers,
    Numbers,
    Ratios,
    Rows,
    infer_members,
    infer_observed,
    likelihood_ratios,
    observed_ratios,
)
from recveil.runtime.safe_repr import brief

# Positions of items, the first first, shape (n_targets, n); -1 where a list is shorter.
Lists = NDArray[np.int64]

# Prior count of shadow lists with, and without, an item.
_PRIOR = 0.5
# Share of a list that is its top.
_TOP = 1 / 3


@brief
class Targets(NamedTuple):
    """The histories that the adversary knows, and public facts about the items."""

    # 1 for each item that a target rated, shape (n_targets, n_items)
    histories: Rows
    # Vectors of the items, from a factorization of public ratings
    embedding: Numbers
    # Item counts
    support: Numbers

    @property
    def centroids(self) -> Numbers:
        """The mean vector of each target's items."""
        lengths = np.maximum(np.diff(self.histories.indptr), 1)
        return np.asarray(self.histories @ self.embedding) / lengths[:, None]


class RecommenderInference(NamedTuple):
    """How well members of a recommender's training table are distinguished from nonmembers."""

    inferred: InferredMembers
    # The same attack when membership is assigned at random
    control: InferredMembers
    # Differences of centroids alone (Zhang et al. 2021); None for a model
    centroids: InferredMembers | None
    # The attack on a recommender that shows all users the same popular items; None for a model
    popular: InferredMembers | None


def _membership(lists: Lists, n_items: int) -> Rows:
    """Return 1 for each item of each list, shape (n_targets, n_items)."""
    row, column = np.nonzero(lists >= 0)
    shape = (len(lists), n_items)
    return Rows(sparse.coo_array((np.ones(row.size), (row, lists[row, column])), shape=shape))


def centroid_differences(lists: Lists, targets: Targets) -> Numbers:
    """Return the mean vector of each target's items minus that of the listed ones.

    Source: Zhang et al., "Membership inference attacks against recommender systems", CCS 2021.
    """
    listed = _membership(lists, targets.embedding.shape[0])
    lengths = np.maximum(np.diff(listed.indptr), 1)[:, None]
    return targets.centroids - np.asarray(listed @ targets.embedding) / lengths


def score_lists(lists: Lists, targets: Targets) -> dict[str, Numbers]:
    """Score how well each list fits its target's history, and how unlike popular items it is."""
    n_items = targets.embedding.shape[0]
    listed = _membership(lists, n_items)
    lengths = np.maximum(np.diff(listed.indptr), 1)
    centroids = np.asarray(listed @ targets.embedding) / lengths[:, None]
    known = targets.centroids
    products = (known * centroids).sum(axis=1)
    norms = np.linalg.norm(known, axis=1) * np.linalg.norm(centroids, axis=1)
    popular = np.argsort(-targets.support, kind="stable")[: lists.shape[1]]
    return {
        "cosine of centroids": products / np.maximum(norms, 1e-12),
        "product of centroids": products,
        "distance of centroids": -np.linalg.norm(known - centroids, axis=1),
        "popularity": -np.asarray(listed @ np.log1p(targets.support)) / lengths,
        "popular items": -np.asarray(listed[:, popular].sum(axis=1)).ravel() / lengths,
        "rated items": -np.asarray(listed.multiply(targets.histories).sum(axis=1)).ravel()
        / lengths,
    }


def compare_lists(lists: Lists, others: Lists, inside: Flags, n_items: int) -> Numbers:
    """Return log-likelihood ratios of lists: all items, and those at the top; the last axis.

    `others` has shape (n_shadows, n_targets, n), and `inside` (n_targets, n_shadows): the items of
    shadow lists with and without each target.
    """
    with_them, without = (Rows((len(lists), n_items)) for _ in range(2))
    for shadow, is_in in zip(others, inside.T, strict=True):
        items = _membership(shadow, n_items)
        with_them = with_them + items.multiply(is_in[:, None])
        without = without + items.multiply(~is_in[:, None])
    row, column = np.nonzero(lists >= 0)
    cells = row, lists[row, column]
    ratio = np.zeros(lists.shape)
    for sign, counts, n in (
        (1, with_them, inside.sum(axis=1)),
        (-1, without, (~inside).sum(axis=1)),
    ):
        found = np.asarray(Rows(counts)[cells]).ravel()
        shares = (found + _PRIOR) / (n[row] + 2 * _PRIOR)
        ratio[row, column] += sign * np.log(shares)
    top = max(1, round(_TOP * lists.shape[1]))
    return np.stack([ratio.mean(axis=1), ratio[:, :top].mean(axis=1)], axis=-1)


@brief
class _Evidence(NamedTuple):
    """Features of each target and shadow, and of the observed recommender."""

    shadows: Numbers
    observed: Numbers | None


def _evidence(
    shadows: Lists, inside: Flags, targets: Targets, observed: Lists | None
) -> tuple[_Evidence, _Evidence]:
    """Return all features, and those of the published attack alone."""
    columns = [*shadows] + ([] if observed is None else [observed])
    n, n_items = len(shadows), targets.embedding.shape[0]
    by_column = [score_lists(lists, targets) for lists in columns]
    scores = {name: np.stack([one[name] for one in by_column], axis=1) for name in by_column[0]}
    plain = np.stack([*scores.values()], axis=-1)
    differences = np.stack([centroid_differences(lists, targets) for lists in columns], axis=1)
    compared = np.zeros((*plain.shape[:2], 2))
    for first in range(0, n, 2):
        others = np.delete(np.arange(n), (first, first + 1))
        for place in (first, first + 1):
            compared[:, place] = compare_lists(
                shadows[place], shadows[others], inside[:, others], n_items
            )
    of_shadows = {name: score[:, :n] for name, score in scores.items()}
    ratios = likelihood_ratios(of_shadows, inside).values
    if observed is not None:
        compared[:, n] = compare_lists(observed, shadows, inside, n_items)
        last = {name: score[:, n] for name, score in scores.items()}
        ratios = np.concatenate([ratios, observed_ratios(last, of_shadows, inside).values], axis=1)
    everything = _standardized(np.concatenate([ratios, plain, compared, differences], axis=-1), n)
    return _divided(everything, n), _divided(_standardized(differences, n), n)


def _standardized(values: Numbers, n: int) -> Numbers:
    """Scale each feature by its mean and deviation over the shadows."""
    of_shadows = values[:, :n]
    spread = of_shadows.std(axis=(0, 1))
    scaled: Numbers = (values - of_shadows.mean(axis=(0, 1))) / np.where(spread > 1e-9, spread, 1.0)
    return np.where(spread > 1e-9, scaled, 0.0)


def _divided(values: Numbers, n: int) -> _Evidence:
    return _Evidence(values[:, :n], values[:, n] if values.shape[1] > n else None)


def _infer(evidence: _Evidence, inside: Flags, members: Flags | None) -> InferredMembers:
    """Infer membership of each shadow from the others, or of the observed recommender."""
    ratios = Ratios((), evidence.shadows)
    if evidence.observed is None or members is None:
        return infer_members(ratios, inside)
    return infer_observed(ratios, inside, evidence.observed, members)


def infer_from_lists(
    shadows: Lists,
    inside: Flags,
    targets: Targets,
    popular: Lists,
    control: tuple[Flags, Flags | None],
    observed: tuple[Lists, Flags] | None = None,
) -> RecommenderInference:
    """Infer which targets' ratings a recommender learned from, given the list of each.

    Parameters
    ----------
    shadows : ndarray of int64, shape (n_shadows, n_targets, n)
        Each shadow recommender's list for each target; shadows 2 j and 2 j + 1 learned from
        complementary halves of the users.
    inside : ndarray of bool, shape (n_targets, n_shadows)
    targets : Targets
    popular : ndarray of int64, shape (n_shadows, n)
        The most popular items of each half.
    control : tuple of ndarray of bool
        Random membership of the shadows, and of the observed recommender.
    observed : tuple, optional
        The lists of another recommender, and its members. Without it, each shadow is attacked with
        the others.
    """
    lists, members = (None, None) if observed is None else observed
    everything, published = _evidence(shadows, inside, targets, lists)
    same = np.broadcast_to(popular[:, None, :], shadows.shape)
    constant, _ = _evidence(same, inside, targets, None if lists is None else same[0])
    return RecommenderInference(
        _infer(everything, inside, members),
        _infer(everything, control[0], control[1]),
        _infer(published, inside, members),
        _infer(constant, inside, members),
    )


def score_similarities(weights: Numbers, histories: Mapping[str, Rows]) -> dict[str, Numbers]:
    """Score how well an item-item matrix reconstructs each history, in each form of its values.

    >>> rows = Rows(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> weights = np.array([[0.0, 0.9, 0.1], [0.9, 0.0, 0.1], [0.1, 0.1, 0.0]])
    >>> score_similarities(weights, {"rated": rows})["rated, fit"].round(2)
    array([0.9, 0.1])
    """
    scores = {}
    for name, rows in histories.items():
        rebuilt, history = np.asarray(rows @ weights), rows.toarray()
        squares = np.maximum((history**2).sum(axis=1), 1e-12)
        scores[f"{name}, fit"] = (history * rebuilt).sum(axis=1) / squares
        scores[f"{name}, error"] = -((history - rebuilt) ** 2).sum(axis=1) / squares
        scores[f"{name}, energy"] = -(rebuilt**2).sum(axis=1) / squares
    return scores


def score_factors(factors: Numbers, histories: Mapping[str, Rows]) -> dict[str, Numbers]:
    """Score the share of each history within the space of the item factors.

    >>> rows = Rows(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> score_factors(np.array([[1.0], [1.0], [0.0]]), {"rated": rows})["rated, projection"]
    array([1.  , 0.25])
    """
    basis, sizes, _ = np.linalg.svd(factors, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]
    scores = {}
    for name, rows in histories.items():
        squares = np.maximum(np.asarray(rows.multiply(rows).sum(axis=1)).ravel(), 1e-12)
        scores[f"{name}, projection"] = (np.asarray(rows @ basis) ** 2).sum(axis=1) / squares
        scores[f"{name}, energy"] = (np.asarray(rows @ factors) ** 2).sum(axis=1) / squares
    return scores


def infer_from_model(
    shadows: Mapping[str, Numbers],
    inside: Flags,
    control: tuple[Flags, Flags | None],
    observed: tuple[Mapping[str, Numbers], Flags] | None = None,
) -> RecommenderInference:
    """Infer which targets' ratings a model learned from, given scores of each target by each model.

    The parameters are those of `infer_from_lists`, with scores, shape (n_targets, n_shadows), and
    (n_targets,) of the observed model, for lists.
    """
    ratios, members = likelihood_ratios(shadows, inside).values, None
    if observed is not None:
        scores, members = observed
        last = observed_ratios(scores, shadows, inside).values
        ratios = np.concatenate([ratios, last], axis=1)
    n = inside.shape[1]
    evidence = _divided(_standardized(ratios, n), n)
    return RecommenderInference(
        _infer(evidence, inside, members), _infer(evidence, *control), None, None
    )
