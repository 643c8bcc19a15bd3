"""Membership inference from what a recommender publishes: lists of items, or its model.

The adversary knows a target's ratings and trains shadow recommenders with and without the target.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from recveil.attacks.membership.shadow_models import (
    Flags,
    InferredMembers,
    Numbers,
    OfUsers,
    Ratios,
    Rows,
    areas_of_users,
    decide_members,
    decide_observed,
    judge_members,
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
# Damping of a matrix that is inverted, as a share of its norm.
_LEAST_DAMPING = 1e-6
# The attack that compares what is published with shadows.
SHADOWS = "shadow recommenders"
CENTROIDS = "differences of centroids"


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

    def unrated(self, n: int) -> Rows:
        """Mark the n most popular items that each target did not rate."""
        n_first = n + int(np.diff(self.histories.indptr).max(initial=0))
        order = np.argsort(-self.support, kind="stable")[:n_first]
        is_unrated = self.histories[:, order].toarray() == 0
        row, column = np.nonzero(is_unrated & (is_unrated.cumsum(axis=1) <= n))
        cells = np.ones(row.size), (row, order[column])
        return Rows(sparse.coo_array(cells, shape=self.histories.shape))


class RecommenderInference(NamedTuple):
    """How well members of a recommender's training table are distinguished from nonmembers."""

    # Each target's AUC over the shadows: of those with the target against those without; None if
    # another recommender was attacked, of which shadows can be unlike
    of_users: OfUsers | None
    # Each figure is that of the attack that is strongest by it; its interval, which has no less
    # than 95% confidence for all attacks together, allows for the choice
    inferred: InferredMembers
    # The same attacks and choice when membership is assigned at random
    control: InferredMembers
    # Differences of centroids alone (Zhang et al. 2021); None for a model
    centroids: InferredMembers | None
    # The attacks on a recommender that shows all users the same popular items; None for a model
    popular: InferredMembers | None
    # The attack with the largest AUC, and that with the largest TPR at 1% FPR; "(low)" if members
    # have the lower scores
    attack: str
    attack_at_1: str


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
    popularity = np.asarray(listed @ np.log1p(targets.support)) / lengths
    histories = targets.histories
    rated = np.asarray(histories @ np.log1p(targets.support)) / np.maximum(
        np.diff(histories.indptr), 1
    )

    def share(marked: Rows) -> Numbers:
        return np.asarray(listed.multiply(marked).sum(axis=1)).ravel() / lengths

    return {
        "cosine of centroids": products / np.maximum(norms, 1e-12),
        "product of centroids": products,
        "distance of centroids": np.linalg.norm(known - centroids, axis=1),
        "popularity of listed items": popularity,
        "popularity of listed less own items": popularity - rated,
        "share of popular items": np.asarray(listed[:, popular].sum(axis=1)).ravel() / lengths,
        "share of popular unrated items": share(targets.unrated(lists.shape[1])),
        "share of rated items": share(histories),
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
    """Features of each target and shadow, and of the observed recommender; its direct scores."""

    shadows: Numbers
    observed: Numbers | None
    direct: Mapping[str, Numbers] = {}


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
    sizes = np.diff(targets.histories.indptr)
    direct = {name: score[:, n:] for name, score in scores.items() if observed is not None}
    return (
        _divided(everything, n)._replace(direct=_without_ties(direct, sizes)),
        _divided(_standardized(differences, n), n),
    )


def _standardized(values: Numbers, n: int) -> Numbers:
    """Scale each feature by its mean and deviation over the shadows."""
    of_shadows = values[:, :n]
    spread = of_shadows.std(axis=(0, 1))
    scaled: Numbers = (values - of_shadows.mean(axis=(0, 1))) / np.where(spread > 1e-9, spread, 1.0)
    return np.where(spread > 1e-9, scaled, 0.0)


def _divided(values: Numbers, n: int) -> _Evidence:
    return _Evidence(values[:, :n], values[:, n] if values.shape[1] > n else None)


def _without_ties(scores: Mapping[str, Numbers], sizes: NDArray[Any]) -> dict[str, Numbers]:
    """Rank users of equal scores by their numbers of items, in both ways; not if all are equal.

    >>> ranked = _without_ties({"share": np.array([[0.5], [1.0], [1.0]])}, np.array([9, 2, 3]))
    >>> {name: score.ravel().tolist() for name, score in ranked.items()}
    {'share': [0.0, 1.0, 2.0], 'share, few items': [0.0, 2.0, 1.0]}
    """
    ranked = {}
    for name, score in scores.items():
        n_distinct = np.unique(score).size
        orders = {name: sizes, f"{name}, few items": -sizes}
        if n_distinct in (1, score.size):
            orders = {name: np.zeros_like(sizes)}
        for each, order in orders.items():
            cells = np.column_stack([score.ravel(), order])
            places = np.unique(cells, axis=0, return_inverse=True)[1]
            ranked[each] = places.reshape(score.shape).astype(np.float64)
    return ranked


def _of_users(evidence: _Evidence, inside: Flags, control: Flags) -> OfUsers:
    """Attack each shadow with the others, and return how well each target is recognized."""
    ratios = Ratios((), evidence.shadows)
    areas = [areas_of_users(decide_members(ratios, each), each) for each in (inside, control)]
    return OfUsers(tuple(range(len(inside))), areas[0], areas[1])


def _decide(evidence: _Evidence, inside: Flags, members: Flags | None) -> tuple[Numbers, Flags]:
    """Return log-odds from shadows, and memberships: of the observed recommender, or of each."""
    if evidence.observed is None or members is None:
        return decide_members(Ratios((), evidence.shadows), inside), inside
    found = decide_observed(evidence.shadows, inside, evidence.observed)
    return found[:, None], members[:, None]


def _infer(
    parts: Mapping[str, _Evidence], inside: Flags, members: Flags | None, n_games: int = 1
) -> tuple[InferredMembers, str, str]:
    """Infer membership by all attacks, and return the largest figures."""
    # In each of the games, other shadows are attacked with the same direct scores.
    scores, judged = {}, inside
    for name, evidence in parts.items():
        scores[name], judged = _decide(evidence, inside, members)
    n_choices = n_games * len(scores)
    for evidence in parts.values():
        scores |= evidence.direct
        n_choices += len(evidence.direct)
    return _strongest(scores, judged, n_choices)


def _strongest(
    scores: Mapping[str, Numbers], inside: Flags, n_choices: int
) -> tuple[InferredMembers, str, str]:
    """Return the largest figures of any score or its reverse, and the names of two attacks."""
    # Simultaneous intervals (Bonferroni), as the largest of many figures is large by chance.
    judged = {}
    for name, score in scores.items():
        judged[name] = judge_members(score, inside, n_choices)
        judged[f"{name} (low)"] = judge_members(-score, inside, n_choices)
    names = [
        max(judged, key=lambda each: judged[each][place].ranked)  # the first of equal ones
        for place in range(len(InferredMembers._fields))
    ]
    figures = [judged[name][place] for place, name in enumerate(names)]
    return InferredMembers(*figures), names[0], names[1]


def infer_from_lists(
    games: Mapping[str, Lists],
    inside: Flags,
    targets: Targets,
    popular: Lists,
    control: tuple[Flags, Flags | None],
    observed: tuple[Lists, Flags] | None = None,
) -> dict[str, RecommenderInference]:
    """Infer which targets' ratings a recommender learned from, given the list of each.

    `games` has, by what nonmembers get, each shadow's list for each target, shape (n_shadows,
    n_targets, n); shadows 2 j and 2 j + 1 learned from complementary halves of the users.
    `popular` has the most popular items of each half, shape (n_shadows, n), and `control` random
    membership of the shadows and of the observed recommender. `observed` has the lists of another
    recommender, and its members; without it, each shadow is attacked with the others.
    """
    lists, members = (None, None) if observed is None else observed
    n_games = 1 if observed is None else len(games)
    same = np.broadcast_to(popular[:, None, :], next(iter(games.values())).shape)
    constant, _ = _evidence(same, inside, targets, None if lists is None else same[0])
    baseline = _infer({SHADOWS: constant}, inside, members, n_games)[0]
    found = {}
    for name, shadows in games.items():
        everything, published = _evidence(shadows, inside, targets, lists)
        parts = {SHADOWS: everything, CENTROIDS: published}
        inferred, *attacks = _infer(parts, inside, members, n_games)
        found[name] = RecommenderInference(
            _of_users(everything, inside, control[0]) if observed is None else None,
            inferred,
            _infer(parts, *control, n_games)[0],
            _infer({CENTROIDS: published}, inside, members)[0],
            baseline,
            *attacks,
        )
    return found


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
    basis, scores = _basis(factors), {}
    for name, rows in histories.items():
        squares = np.maximum(np.asarray(rows.multiply(rows).sum(axis=1)).ravel(), 1e-12)
        scores[f"{name}, projection"] = (np.asarray(rows @ basis) ** 2).sum(axis=1) / squares
        scores[f"{name}, energy"] = (np.asarray(rows @ factors) ** 2).sum(axis=1) / squares
    return scores


def score_pairs(weights: Numbers, rated: Rows) -> dict[str, Numbers]:
    """Score the similarities of each user's pairs of items; a model has seen its users' pairs.

    The Mahalanobis distance x' W^-1 x of a user's row x is low if the row was added to W.

    >>> weights = np.array([[0.0, 0.9, 0.0], [0.9, 0.0, 0.1], [0.0, 0.1, 0.0]])
    >>> rows = Rows(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> score_pairs(weights, rows)["share of pairs with a similarity above 0"]
    array([1., 0.])
    """
    found = np.full((rated.shape[0], 3), np.nan)
    for row in range(rated.shape[0]):
        items = rated.indices[rated.indptr[row] : rated.indptr[row + 1]]
        if items.size > 1:
            pairs = weights[np.ix_(items, items)][~np.eye(items.size, dtype=np.bool_)]
            found[row] = (pairs > 0).mean(), pairs.mean(), pairs.min()
    # Users without a pair are no evidence: they have the median score.
    able = ~np.isnan(found[:, 0])
    found[~able] = np.median(found[able], axis=0) if able.any() else 0.0
    names = "share of pairs with a similarity above 0", "mean similarity", "minimum similarity"
    return dict(zip(names, found.T, strict=True)) | {
        "Mahalanobis distance": _distances(_solver(weights), rated)
    }


def _solver(weights: Numbers) -> Any:
    """Return a Cholesky factor of W, with a diagonal that makes it positive definite."""
    symmetric = (weights + weights.T) / 2
    lowest = linalg.eigvalsh(symmetric, subset_by_index=[0, 0])[0]
    added = max(-lowest, 0.0) + _LEAST_DAMPING * max(np.abs(symmetric).sum(axis=1).max(), 1e-30)
    return linalg.cho_factor(symmetric + added * np.eye(len(symmetric)))


def _distances(factor: Any, rows: Rows) -> Numbers:
    """Return x' W^-1 x of each row x."""
    known = rows.toarray()
    return np.asarray((known * linalg.cho_solve(factor, known.T).T).sum(axis=1))


def score_span(factors: Numbers, histories: Mapping[str, Rows]) -> dict[str, Numbers]:
    """Score how well the factors' span, their products, and a single factor fit each history.

    >>> rows = Rows(np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]))
    >>> scores = score_span(np.array([[1.0], [1.0], [0.0]]), {"rated": rows})
    >>> scores["rated, residual of the projection"].round(2)
    array([0.  , 0.75])
    """
    basis, factor = _basis(factors), _solver(factors @ factors.T)
    lengths = np.linalg.norm(factors, axis=0)
    unit = factors / np.where(lengths > 0, lengths, 1.0)
    scores = {}
    for name, rows in histories.items():
        squares = np.maximum(np.asarray(rows.multiply(rows).sum(axis=1)).ravel(), 1e-12)
        inside = (np.asarray(rows @ basis) ** 2).sum(axis=1) / squares
        # Residuals below rounding are equal.
        scores[f"{name}, residual of the projection"] = np.maximum(1 - inside, 0.0).round(9)
        scores[f"{name}, Mahalanobis distance"] = _distances(factor, rows)
        scores[f"{name}, nearest factor"] = np.abs(rows @ unit).max(axis=1) / np.sqrt(squares)
    return scores


def _basis(factors: Numbers) -> Numbers:
    """Return an orthonormal basis of the space of item factors."""
    basis, sizes, _ = np.linalg.svd(factors, full_matrices=False)
    return basis[:, sizes > 1e-9 * max(float(sizes.max(initial=0.0)), 1e-300)]


def infer_from_model(
    shadows: Mapping[str, Numbers],
    inside: Flags,
    control: tuple[Flags, Flags],
    observed: tuple[Mapping[str, Numbers], Flags],
    direct: Mapping[str, Numbers],
    sizes: NDArray[Any],
) -> RecommenderInference:
    """Infer which targets' ratings a model learned from, given its scores of each target.

    Scores have shape (n_targets, n_shadows), and (n_targets,) of the observed model. Direct scores
    need no shadows; `sizes` are the targets' numbers of items.
    """
    scores, members = observed
    last = observed_ratios(scores, shadows, inside).values
    ratios = np.concatenate([likelihood_ratios(shadows, inside).values, last], axis=1)
    n = inside.shape[1]
    untied = _without_ties({name: score[:, None] for name, score in direct.items()}, sizes)
    parts = {SHADOWS: _divided(_standardized(ratios, n), n)._replace(direct=untied)}
    inferred, *attacks = _infer(parts, inside, members)
    null = _infer(parts, *control)[0]
    return RecommenderInference(None, inferred, null, None, None, *attacks)
