"""Membership inference with shadow releases.

The evidence is the difference between releases with and without a user. One release reveals little,
as a user with popular preferences fits every release.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, stats
from sklearn.linear_model import LogisticRegression

from recveil.attacks.adversary import Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.knowledge import Knowledge
from recveil.attacks.membership.profiles import score_by_attributes, score_by_periods
from recveil.attacks.membership.scores import OF_DATES, SCORERS
from recveil.attacks.reidentification.on_release import with_dates
from recveil.attacks.statistics import (
    Interval,
    area_under_curve,
    true_positive_rate,
    wide_at_ends,
    wilson_interval,
)
from recveil.ratings import RatingScale
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

# A user with this AUC is recognized in nearly every pair of releases.
EXPOSED = 0.9
# With fewer shadow releases, the spread of a score cannot be estimated.
FEWEST = 8
# Weight of a user's own variance against that of all users, which has more data.
_PAIR_SPREAD_SHARE = 0.8
# Deviations are clipped at this many standard deviations.
_FARTHEST = 6.0
# Bound on the separation of a score that varies with membership only.
_SURE = 1e3
# Inverse regularization of the fit over many scores.
_BELIEVED = 0.01
# Minimum of 1 - p (1 - p) x' S^-1 x, against division by 0.
_LEAST_LEFT = 1e-6
# Number of folds of releases: each is judged by what was learned in the others.
_PARTS = 4
# A score with a smaller relative spread over releases is constant.
_ROUNDING = 1e-9


class InferredMembers(NamedTuple):
    """How well members of a release are distinguished from nonmembers."""

    # How often a member scores above a nonmember; 0.5 is chance. Clustered by user and by release.
    auc: Interval
    # True positive rate at 1% and 5% false positives
    tpr_at_1: Interval
    tpr_at_5: Interval


@brief
class Ratios(NamedTuple):
    """Evidence of each score for each user's membership of each release.

    The last axis of `values` has, per score, the deviation from the midpoint of releases with and
    without the user, in standard deviations, and the log-likelihood ratio. Constant scores are left
    out.
    """

    names: tuple[str, ...]
    values: Numbers


def check_shadows(n: int) -> None:
    """Require an even number of at least 8 shadow releases."""
    if n < FEWEST or n % 2:
        raise RecveilError(
            f"shadows (--shadows) is {n}; expected an even number of at least {FEWEST}, such as "
            f"32: releases of random halves of the users",
            code="option.value",
        )


def likelihood_ratios(scores: Mapping[str, Numbers], inside: Flags) -> Ratios:
    """Compare every score with the same user's scores in all other releases (n_users, n_releases).

    Releases 2 j and 2 j + 1 are complementary halves, never compared with each other. Scores with
    and without the user are taken to be normal with equal variance (Carlini et al. 2022, section
    V); the difference of their means is shrunk to the mean over users, by its uncertainty.
    """
    check_shadows(inside.shape[1])
    names: list[str] = []
    values: list[Numbers] = []
    for name, score in scores.items():
        deviation = np.sqrt(score.var(axis=1).mean())
        if deviation > _ROUNDING * np.sqrt((score**2).mean()):
            names.append(name)
            values += _of_score(score, inside)
    if not names:
        return Ratios((), np.zeros((*inside.shape, 1)))
    return Ratios(tuple(names), np.stack(values, axis=-1))


def _of_score(score: Numbers, inside: Flags) -> tuple[Numbers, Numbers]:
    """Return the deviation of one score from the midpoint, and the log-likelihood ratio."""
    off, ratio = np.zeros(score.shape), np.zeros(score.shape)
    for first in range(0, score.shape[1], 2):
        pair = np.arange(first, first + 2)
        others, is_in = np.delete(score, pair, axis=1), np.delete(inside, pair, axis=1)
        off[:, pair], ratio[:, pair] = _compare(score[:, pair], others, is_in)
    return off, ratio


def _compare(score: Numbers, others: Numbers, is_in: Flags) -> tuple[Numbers, Numbers]:
    """Compare scores with those of other releases, with and without each user."""
    with_them = (others * is_in).sum(axis=1) / np.maximum(is_in.sum(axis=1), 1)
    without = (others * ~is_in).sum(axis=1) / np.maximum((~is_in).sum(axis=1), 1)
    expected = np.where(is_in, with_them[:, None], without[:, None])
    variance = ((others - expected) ** 2).sum(axis=1) / (others.shape[1] - 2)
    variance = _PAIR_SPREAD_SHARE * variance + (1 - _PAIR_SPREAD_SHARE) * np.median(variance)
    spread = np.sqrt(variance + 1e-300)
    middle = (with_them + without) / 2
    apart = np.clip((with_them - without) / spread, -_SURE, _SURE)
    apart = _pulled(apart, 4 / others.shape[1])
    moved = (score - middle[:, None]) / spread[:, None]
    moved = np.clip(moved, -_FARTHEST, _FARTHEST)
    # A shift of all users' scores is no evidence for one of them.
    off = moved - moved.mean(axis=0)
    return off, off * apart[:, None]


def observed_ratios(
    scores: Mapping[str, Numbers], shadows: Mapping[str, Numbers], inside: Flags
) -> Ratios:
    """Compare scores of one more release, shape (n_users,), with those of all shadows."""
    names = likelihood_ratios(shadows, inside).names
    values = [
        part
        for name in names
        for part in _compare(np.asarray(scores[name])[:, None], shadows[name], inside)
    ]
    return Ratios(names, np.stack(values, axis=-1) if values else np.zeros((len(inside), 1, 1)))


def _pulled(apart: Numbers, doubt: float) -> Numbers:
    """Shrink numbers to their mean by the share of their variance that is noise."""
    real = max(float(apart.var()) - doubt, 1e-3)
    mean: float = float(apart.mean())
    return mean + (apart - mean) * real / (real + doubt)


def infer_members(ratios: Ratios, inside: Flags) -> InferredMembers:
    """Infer the membership of every user in each release from all scores together."""
    return judge_members(decide_members(ratios, inside), inside)


def decide_members(ratios: Ratios, inside: Flags, log_odds: Numbers | None = None) -> Numbers:
    """Return the log-odds of every user's membership of each release, shape as `inside`.

    A logistic regression learns the weight of each score on one half of the users; it is measured
    on the other half, in other releases, and then the other way round.
    """
    # With log-odds by known noise, the first half also chooses between them alone and all scores,
    # by the AUC in releases that neither has learned from.
    combined = np.zeros(inside.shape)
    half, part = np.arange(len(inside)) % 2, np.arange(inside.shape[1]) // 2 % _PARTS
    evidence = [ratios.values]
    if log_odds is not None:
        evidence = [np.concatenate([ratios.values, log_odds[..., None]], axis=-1)]
        evidence.append(log_odds[..., None])
    for users, releases in product(range(2), range(_PARTS)):
        # Members of one half reveal those of the other, so train and test releases differ.
        is_taught, others = half != users, part != releases
        taught, judged = np.ix_(is_taught, others), np.ix_(~is_taught, ~others)
        best = evidence[0]
        if len(evidence) > 1:
            tried = part == (releases + 1) % _PARTS
            cells = np.ix_(is_taught, others & ~tried), np.ix_(is_taught, tried)
            best = max(evidence, key=partial(_area_elsewhere, inside, *cells))
        combined[judged] = _decisions(best[taught], inside[taught], best[judged])
    return combined


def _area_elsewhere(inside: Flags, taught: Any, tried: Any, evidence: Numbers) -> float:
    found = _decisions(evidence[taught], inside[taught], evidence[tried])
    return area_under_curve(found[inside[tried]], found[~inside[tried]]).rate


def judge_members(combined: Numbers, inside: Flags, n_choices: int = 1) -> InferredMembers:
    """Measure how well log-odds distinguish members from nonmembers.

    With so many choices, or their reverses, all intervals together have 95% confidence. One column
    is one recommender.
    """
    sure = 1 - 0.05 / n_choices
    area = (
        area_over_clusters(combined, inside, sure)
        if inside.shape[1] > 1
        else area_under_curve(combined[inside], combined[~inside], sure)
    )
    # A score and its reverse have the same interval of the AUC, but not of the TPR.
    sure = 1 - 0.05 / (2 * n_choices) if n_choices > 1 else sure
    return InferredMembers(
        auc=area,
        tpr_at_1=true_positive_rate(combined, inside, 0.01, sure),
        tpr_at_5=true_positive_rate(combined, inside, 0.05, sure),
    )


def decide_observed(ratios: Numbers, inside: Flags, observed: Numbers) -> Numbers:
    """Return log-odds of membership of one more release, shape (n_users, n_features)."""
    return _decisions(ratios, inside, observed[:, None])[:, 0]


@brief
class OfUsers(NamedTuple):
    """Each scored user's AUC and its control, with intervals."""

    users: tuple[int, ...]
    auc: tuple[Interval, ...]
    control: tuple[Interval, ...]

    @property
    def exposed(self) -> tuple[Interval, Interval]:
        """Share of users with an AUC of at least `EXPOSED`, and the same by chance."""
        parts = ([each.rate >= EXPOSED for each in part] for part in self[1:])
        found, control = (wilson_interval(sum(part), len(part)) for part in parts)
        return found, control


def areas_of_users(combined: Numbers, inside: Flags) -> tuple[Interval, ...]:
    """Return how often a user's log-odds are higher in a release with them than in one without.

    >>> inside = np.array([[True, False, True, False]])
    >>> areas_of_users(np.array([[3.0, 1.0, 1.0, 0.0]]), inside)[0].rate
    0.875
    """
    pairs = zip(combined, inside, strict=True)
    return tuple(area_under_curve(scores[is_in], scores[~is_in]) for scores, is_in in pairs)


def _decisions(known: Numbers, answers: Flags, queries: Numbers) -> Numbers:
    """Fit a logistic regression on the last axis, and return the log-odds of other cells."""
    n_features = known.shape[-1]
    rule = LogisticRegression(C=_BELIEVED, max_iter=1_000)
    rule.fit(known.reshape(-1, n_features), answers.ravel())
    found: Numbers = rule.decision_function(queries.reshape(-1, n_features))
    return found.reshape(queries.shape[:2])


def shuffle_membership(inside: Flags, seed: int) -> Flags:
    """Assign each user at random to one release of each pair: the control."""
    swapped = np.random.default_rng([seed, 3]).random((len(inside), inside.shape[1] // 2)) < 0.5
    return np.where(np.repeat(swapped, 2, axis=1), ~inside, inside)


def area_over_clusters(scores: Numbers, inside: Flags, confidence: float = 0.95) -> Interval:
    """Return the AUC with an interval clustered by user and by pair of releases."""
    # DeLong's variance with its terms summed by user and by pair of releases (two-way clusters: the
    # sum of both minus that of single scores, and at least each of them), and Student's
    # distribution, as there are few pairs. `trials` counts users.
    members, others = np.sort(scores[inside]), np.sort(scores[~inside])
    if not (members.size and others.size):
        return wilson_interval(0, 0)
    parts = np.empty(scores.shape)
    beats = _below(others, scores[inside]) / others.size
    area = float(beats.mean())
    parts[inside] = (beats - area) / members.size
    parts[~inside] = (1 - _below(members, scores[~inside]) / members.size - area) / others.size
    by_user, by_pair = parts.sum(axis=1), parts.reshape(len(parts), -1, 2).sum(axis=(0, 2))
    each = [float((part**2).sum()) for part in (by_user, by_pair, parts)]
    variance = max(each[0] + each[1] - each[2], each[0], each[1])
    n_pairs = by_pair.size
    far = stats.t.ppf((1 + confidence) / 2, max(n_pairs - 1, 1))
    half = float(far) * math.sqrt(variance)
    return wide_at_ends(area, half, len(scores), min(n_pairs, len(scores)))


def _below(order: Numbers, scores: Numbers) -> Numbers:
    """Return how many ordered numbers are below each score, ties counting half."""
    return (np.searchsorted(order, scores, "left") + np.searchsorted(order, scores, "right")) / 2


Rows = sparse.csr_array

# Products of items are computed for this many of the most popular items.
_MOST_ITEMS = 2_000
# Prior variances of an item's share.
_DOUBT = (0.0003, 0.003, 0.03)
# Dampings of the covariance, as multiples of its mean variance.
_DAMPING = (0.3, 3.0, 30.0, 300.0)
# The damping with which rows are compared one by one.
_OF_ROWS = 3.0
# Weight of an item rated below the mean; others weigh 1.
_RATED = 0.4
# The probability that a user is in a release, and the variance of membership.
_P_MEMBER, MEMBER_VARIANCE = 0.5, 0.25
# Noise variances of an item's count, for the joint test: in exact counts, and in released rows.
_EXACT_NOISES, _ROW_NOISES = (0.3,), (2.0, 8.0)
# Bound on how much better than usual a row fits.
_STEEPEST = 30.0


@brief
class Population(NamedTuple):
    """Statistics of all users' ratings, from two releases of complementary halves.

    Every user is in one of the two, so that they reveal nothing about membership of a third.
    """

    # Share of the users whose row has a value for the item
    shares: Numbers
    # Mean value; that of all items where there is none
    means: Numbers
    # Mean of all values
    mean: float
    # The most popular items, whose products are computed
    chosen: NDArray[np.int64]
    # For each of `KINDS`, the mean over users of the products of any two items
    products: dict[str, Numbers]


def learn_population(pair: Sequence[AttackTarget]) -> Population:
    """Compute the statistics of all users from releases that together contain them."""
    n_users = float(sum(table.candidates.sizes.sum() for table in pair))
    carried, total = np.sum([table.item_sums() for table in pair], axis=0)
    mean = float(total.sum() / max(carried.sum(), 1.0))
    means = np.divide(total, carried, out=np.full(len(carried), mean), where=carried > 0)
    able = np.flatnonzero(carried)
    chosen = np.sort(able[np.argsort(-carried[able], kind="stable")[:_MOST_ITEMS]])
    blank = Population(carried / n_users, means, mean, chosen, {})
    products = {}
    for kind, make in KINDS.items():
        products[kind] = np.zeros((chosen.size, chosen.size))
        for table in pair:
            rows = make(_rows(table), blank)
            weighted = sparse.csr_array(rows.multiply(table.candidates.sizes[:, None]))
            products[kind] += (rows.T @ weighted).toarray() / n_users
    return blank._replace(products=products)


class JointCounts:
    """Scores targets by all item counts together, given the rows of all users."""

    # If each user is a member with probability p = 1/2, the counts have the covariance
    # S = p (1 - p) A'A + s I, for the matrix A of all rows. The evidence for known items x is
    # x' S^-1 (c - p A'1), S and the expected counts without the target's row: the linear test for
    # one more row (Fisher 1936). It uses that counts of items with the same raters are correlated.

    def __init__(self, rows: Rows, known: Rows, targets: NDArray[np.int64]) -> None:
        rows = Rows((np.ones(rows.nnz), rows.indices, rows.indptr), shape=rows.shape)
        support = np.asarray(rows.sum(axis=0)).ravel()
        self._chosen = np.sort(np.argsort(-support, kind="stable")[:_MOST_ITEMS])
        self._support = support[self._chosen]
        chosen = Rows(rows[:, self._chosen])
        self._n_users = rows.shape[0]
        self._products = (chosen.T @ chosen).toarray()
        self._targets = chosen[targets].toarray()
        self._known = known[:, self._chosen].toarray()

    def score(
        self, counts: Numbers, n_rows: int, noises: Sequence[float] = _ROW_NOISES
    ) -> dict[str, Numbers]:
        """Score all targets by the counts of a release of half of the users, in so many rows."""
        counts = counts[self._chosen] * (_P_MEMBER * self._n_users / n_rows)
        published = counts > 0  # rare items are omitted from some releases
        off = counts[published] - _P_MEMBER * self._support[published]
        rows, known = self._targets[:, published], self._known[:, published]
        products = MEMBER_VARIANCE * self._products[np.ix_(published, published)]
        return {
            f"joint counts, noise {noise:g}": _without_target(
                products + noise * np.eye(len(products)), off, rows, known
            )
            for noise in noises
        }


def _without_target(covariance: Numbers, off: Numbers, rows: Numbers, known: Numbers) -> Numbers:
    """Return each target's test, with the target's row removed from covariance and expectation."""
    solved = linalg.cho_solve(linalg.cho_factor(covariance), np.column_stack([off, rows.T]))
    of_off, of_rows = solved[:, 0], solved[:, 1:]
    square, cross = (rows * of_rows.T).sum(axis=1), (known * of_rows.T).sum(axis=1)
    return leave_targets_out(known @ of_off, rows @ of_off, cross, square)


def leave_targets_out(
    known_fit: Numbers,
    row_fit: Numbers,
    cross: Numbers,
    square: Numbers,
    p_member: float = _P_MEMBER,
) -> Numbers:
    """Return ``x' S^-1 (y + p r)``, S without what a target's row r adds."""
    # Given x' S^-1 y, r' S^-1 y, x' S^-1 r and r' S^-1 r (Sherman and Morrison).
    left = np.maximum(1 - MEMBER_VARIANCE * square, _LEAST_LEFT)
    again = MEMBER_VARIANCE * cross * (row_fit + p_member * square) / left
    return np.asarray(known_fit + p_member * cross + again)


class ShadowScorer:
    """Scores how well targets fit releases, given the ratings of all users.

    `rows` are these ratings, and `attributes` those of the targets, if they are known.
    """

    def __init__(
        self,
        population: Population,
        known: Knowledge,
        adversary: Adversary,
        scale: RatingScale,
        rows: Rows | None = None,
        attributes: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._population, self._known = population, known
        self._attributes = attributes or {}
        self._adversary, self._scale = adversary, scale
        shape = (known.targets.size, population.shares.size)
        values = population.means[known.items] if known.values is None else known.values
        self._known_rows = Rows(
            (np.asarray(values, np.float64), known.items, known.indptr), shape=shape
        )
        self._has = Rows((np.ones(known.items.size), known.items, known.indptr), shape=shape)
        self._tests = dict(self._make_tests())
        self._joint = None if rows is None else JointCounts(rows, self._has, known.targets)

    def score(self, table: AttackTarget) -> dict[str, Numbers]:
        """Score all targets by one release, in all ways; higher is a better fit."""
        scores = self._by_sums(table) | score_by_periods(table, self._known)
        scores |= score_by_attributes(table, self._has, self._attributes)
        rows = {kind: make(_rows(table), self._population) for kind, make in KINDS.items()}
        for (kind, damping), test in self._tests.items():
            scores |= _fit_rows(f"{kind}, damped by {damping:g}", rows[kind], table, test)
            if damping == _OF_ROWS:
                scores |= _nearest(kind, rows[kind], test)
        ways = with_dates(table.candidates, self._adversary, self._known)
        for way, (compared, adversary, known) in enumerate(ways):
            for name, scorer in SCORERS.items():
                if compared and name not in OF_DATES:
                    continue
                variants = scorer(table.candidates, adversary, known, self._scale)
                kind = f"{name}{compared} {way}" if compared else name
                scores |= {f"{kind} {place}": found for place, found in enumerate(variants)}
        return scores

    def by_counts(
        self,
        counts: Numbers,
        shares: Numbers,
        n_users: int,
        noises: Sequence[float] = _EXACT_NOISES,
    ) -> dict[str, Numbers]:
        """Score all targets by the item counts of `n_users`, one half of all users.

        `shares` are the items' shares among all users, `noises` variances of a count for the joint
        test.
        """
        n_known = np.maximum(np.diff(self._known_rows.indptr), 1)
        scores = {
            f"counts, doubt {doubt:g}": self._has
            @ (counts / n_users / (shares * (1 - shares) + doubt))
            / n_known
            for doubt in _DOUBT
        }
        return (
            scores if self._joint is None else scores | self._joint.score(counts, n_users, noises)
        )

    def _by_sums(self, table: AttackTarget) -> dict[str, Numbers]:
        """Score by each item's count and sum of values, weighted by its rarity."""
        population, n = self._population, int(table.candidates.sizes.sum())
        counts, totals = table.item_sums()
        scores = self.by_counts(counts, population.shares, n, _ROW_NOISES)
        off = self._known_rows.copy()
        off.data = off.data - population.means[off.indices]
        root = np.sqrt(np.maximum(np.diff(off.indptr), 1))
        for doubt in _DOUBT:
            weights = (totals - counts * population.means) / n / (population.shares + doubt)
            scores[f"sums of values, doubt {doubt:g}"] = off @ weights / root
        return scores

    def _make_tests(self) -> "list[tuple[tuple[str, float], Numbers]]":
        """Return, per kind and damping, each target's vector times the inverse of the products."""
        tests = []
        for kind, make in KINDS.items():
            products = self._population.products[kind]
            is_in = make(self._known_rows, self._population).toarray()
            mean = float(np.trace(products)) / max(len(products), 1)
            for damping in _DAMPING:
                damped = products + (damping * mean + 1e-12) * np.eye(len(products))
                test = linalg.solve(damped, is_in.T, assume_a="pos").T
                tests.append(((kind, damping), np.ascontiguousarray(test)))
        return tests


def _fit_rows(name: str, rows: Rows, table: AttackTarget, test: Numbers) -> dict[str, Numbers]:
    """Score by the sum over all rows, and by the sum of squares."""
    weights = table.candidates.sizes / table.candidates.sizes.sum()
    fits = np.asarray(rows @ test.T)
    return {f"{name}, sums": weights @ fits, f"{name}, products": weights @ fits**2}


def _nearest(kind: str, rows: Rows, test: Numbers) -> dict[str, Numbers]:
    """Score by the best-fitting row, and by how many fit well."""
    fits = np.asarray(rows @ test.T)
    usual = np.sqrt((fits**2).mean(axis=0)) + 1e-300
    many = np.log(np.exp(np.minimum(fits / usual, _STEEPEST)).mean(axis=0))
    return {f"{kind}, nearest": fits.max(axis=0), f"{kind}, near": many}


def _rows(table: AttackTarget) -> Rows:
    shape = (table.indptr.size - 1, table.n_items)
    return Rows((table.values, table.indices, table.indptr), shape=shape)


def _as_vectors(rows: Rows, population: Population, kind: str) -> Rows:
    """Convert rows of all items to unit vectors of the chosen ones."""
    vectors = Rows(rows[:, population.chosen])
    data = vectors.data
    if kind == "liked":
        data = np.where(data >= population.mean, 1.0, _RATED)
    elif kind == "items":
        data = np.ones(data.size)
    else:
        # Centred by user, so that a generous user is no evidence.
        data = data - population.means[population.chosen][vectors.indices]
        row_of = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
        n_rows = vectors.shape[0]
        lengths = np.maximum(np.diff(vectors.indptr), 1)
        data = data - (np.bincount(row_of, data, minlength=n_rows) / lengths)[row_of]
    squares = np.add.reduceat(np.append(data**2, 0.0), vectors.indptr[:-1])
    squares[np.diff(vectors.indptr) == 0] = 0.0
    data = data / np.repeat(np.sqrt(np.maximum(squares, 1e-12)), np.diff(vectors.indptr))
    return Rows((data, vectors.indices, vectors.indptr), shape=vectors.shape)


# Vectors of a user's ratings: what they liked, what they rated, and how.
KINDS = {kind: partial(_as_vectors, kind=kind) for kind in ("liked", "items", "ratings")}
