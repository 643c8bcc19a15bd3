"""Declared attributes of users, inferred from ratings and from what a release adds to some."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.extmath import randomized_svd

from recveil.attacks import (
    Adversary,
    AttackTarget,
    Interval,
    Knowledge,
    Mean,
    MembershipTargets,
    hold_out,
    wilson_interval,
)
from recveil.attacks.reidentification.on_release import best_guesses
from recveil.attacks.statistics import FEWEST, difference_of_means, wide_at_ends
from recveil.auditing.opened_release import OpenedRelease
from recveil.methods.registry import same_again
from recveil.ratings import Ratings
from recveil.release.records import hides_items
from recveil.runtime.compiled import usual_threads
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.progress import track
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread, pool

# Categories of fewer users are pooled; no figure is about fewer.
FEWEST_OF_CLASS = 5
# A numeric attribute with more values is cut at its quartiles; of more classes, the rest is pooled.
_MOST_VALUES = 10
# An attribute with more values, as a share of its users, is an identifier.
_OF_AN_ID = 0.8
# Users whose attributes are predicted; in a release, targets and users who train the last step.
_MOST_USERS, _MOST_TARGETS, _MOST_TRAINING = 10_000, 1_000, 2_000
_FOLDS, _INNER_FOLDS = 5, 3
# Nadeau & Bengio's factor of a half-width: models of different folds share users.
_WIDER = float(np.sqrt(1 + _FOLDS / (_FOLDS - 1)))
# Inverse strengths of the logistic regression, of which inner folds choose.
_STRENGTHS = (0.1, 1.0, 10.0)
_FACTORS = 32
# The adversary of a release knows eight exact ratings of a target.
_KNOWS = Adversary(known=8, name="adversary with 8 exact ratings")
# Records as long as the inferred one, of which the control picks one.
_NEARLY_AS_LONG = 50
LOGISTIC, BOOSTING = "logistic regression", "gradient boosting"
_LEARNERS = 2  # of which the better one is reported
OTHER = "other"
# What several values in one cell are separated by; most cells of a column of lists have one.
_SEPARATORS = "|;,"

_Numbers = NDArray[np.float64]
_Codes = NDArray[np.int64]


@brief
@dataclass(frozen=True)
class AttributePrediction(Reportable):
    """How well users' attributes are predicted from all of their ratings.

    Parameters
    ----------
    learner : str
    auc : Interval
        Each class against the rest, weighted by its users, with DeLong's interval, 1.5 times as
        wide, since folds share users (Nadeau & Bengio 2003), and for both learners together.
    control : Interval
        The same after the attributes were permuted among the users.
    accuracy : Interval
        Share of users whose class is predicted.
    """

    learner: str
    auc: Interval
    control: Interval
    accuracy: Interval


@brief
@dataclass(frozen=True)
class AttributeInRelease(Reportable):
    """What the row of a release adds to some known ratings of a target.

    Parameters
    ----------
    name : str
        The release.
    known : int
        Number of known ratings.
    n_targets, n_skipped : int
        Users whose attribute is predicted, and those with too few ratings.
    by_known, by_row : Interval
        AUC from the known ratings alone, and with the row that fits them best.
    adds : Mean
        Their difference, with a paired interval.
    control : Mean
        The same with a random row of nearly as many items.
    members, nonmembers, excess : Mean or None
        What a release that was made in the same way without a fifth of the users adds for members
        and for nonmembers, and the difference; None if none can be made, or too few users remain.
    """

    name: str
    known: int
    n_targets: int
    n_skipped: int
    by_known: Interval
    by_row: Interval
    adds: Mean
    control: Mean
    members: Mean | None = None
    nonmembers: Mean | None = None
    excess: Mean | None = None
    # Other published attributes of a target, which the adversary knows, too
    known_attributes: tuple[str, ...] = ()


@brief
@dataclass(frozen=True)
class AttributeInference(Reportable):
    """How well an adversary infers one declared attribute of users.

    Parameters
    ----------
    attribute : str
    classes : dict of str to int
        Number of users of each predicted class, at least 5.
    is_cut : bool
        Whether a numeric attribute was cut at its quartiles.
    n_pooled : int
        Number of categories pooled as "other".
    n_users, n_missing : int
        Users whose attribute is predicted, and those left out: without a value, of a pool of fewer
        than 5, or beyond the first 10,000 of a random order.
    majority : float
        Accuracy of a constant guess.
    predictions : tuple of AttributePrediction
    in_release : AttributeInRelease or None
    unmeasured : str
        Why the release was not attacked.
    """

    attribute: str
    classes: dict[str, int]
    is_cut: bool
    n_pooled: int
    n_users: int
    n_missing: int
    majority: float
    predictions: tuple[AttributePrediction, ...]
    in_release: AttributeInRelease | None = None
    unmeasured: str = ""

    @property
    def strongest(self) -> AttributePrediction:
        """The prediction with the highest AUC."""
        return max(self.predictions, key=lambda each: each.auc.rate)


@brief
class Classes(NamedTuple):
    """The classes of an attribute, and that of each user; -1 for none."""

    names: tuple[str, ...]
    codes: _Codes
    is_cut: bool
    n_pooled: int


def is_identifier(texts: Sequence[str | None]) -> bool:
    """Return whether nearly every user has a value of their own, so that none can be inferred."""
    values = [text for text in texts if text is not None]
    return len(set(values)) > max(_OF_AN_ID * len(values), 1)


def classify(name: str, texts: Sequence[str | None]) -> Classes:
    """Return the classes of an attribute: cut at quartiles, small ones pooled.

    >>> found = classify("plan", ["a"] * 10 + ["b"] * 9 + ["c"] * 4 + ["d"] * 2 + [None])
    >>> found.names, np.bincount(found.codes + 1), found.n_pooled
    (('a', 'b', 'other'), array([ 1, 10,  9,  6]), 2)
    """
    values = [text for text in texts if text is not None]
    n_values = len(set(values))
    what = f"attribute (--attribute) {quoted(name, 40)}"
    if len(values) < FEWEST:
        raise RecveilError(
            f"{what}: {len(values)} users have a value; expected {FEWEST} or more; leave it out",
            code="attribute.values",
        )
    if n_values < 2 or is_identifier(texts):
        raise RecveilError(
            f"{what}: {len(values)} users have {n_values} different values; expected 2 or more, "
            f"and far fewer than users; leave it out, or put values together",
            code="attribute.values",
        )
    is_cut = n_values > _MOST_VALUES and _are_numbers(values)
    binned, order = _cut(texts, values) if is_cut else (list(texts), sorted(set(values)))
    names, n_pooled = _pool(Counter(name for name in binned if name is not None), order)
    if n_pooled and (separator := _separator_of(values)):
        raise RecveilError(
            f"{what}: most values are lists with {separator!r} ({quoted(values[0], 40)}), whose "
            f"rare combinations would be put together; give each element a column of its own",
            code="attribute.values",
        )
    if len(names) < 2:
        raise RecveilError(
            f"{what}: fewer than two values have {FEWEST_OF_CLASS} users; leave it out, or put "
            f"values together",
            code="attribute.values",
        )
    code_of = {name: code for code, name in enumerate(names)}
    rest = code_of.get(OTHER, -1)
    codes = [-1 if name is None else code_of.get(name, rest) for name in binned]
    return Classes(names, np.array(codes, np.int64), is_cut, n_pooled)


def _separator_of(values: Sequence[str]) -> str:
    """Return what separates the elements of most values; nothing if they have one each."""
    return next(
        (each for each in _SEPARATORS if 2 * sum(each in text for text in values) > len(values)), ""
    )


def _are_numbers(values: Sequence[str]) -> bool:
    try:
        return bool(np.isfinite(np.array(values, np.float64)).all())
    except ValueError:
        return False


def _cut(texts: Sequence[str | None], values: Sequence[str]) -> tuple[list[str | None], list[str]]:
    """Return the interval of each number, between quartiles, and the intervals in order."""
    cuts = np.unique(np.quantile(np.array(values, np.float64), (0.25, 0.5, 0.75))).tolist()
    middle = [f"{low:g} to below {high:g}" for low, high in pairwise(cuts)]
    names = [f"below {cuts[0]:g}", *middle, f"{cuts[-1]:g} or more"]
    binned = [
        None if text is None else names[int(np.searchsorted(cuts, float(text), "right"))]
        for text in texts
    ]
    return binned, names


def _pool(counts: Counter[str], order: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Return the names of the classes, and how many were pooled; a pool of few users is none."""
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    kept = [name for name in ranked if counts[name] >= FEWEST_OF_CLASS and name != OTHER]
    if len(kept) > _MOST_VALUES:
        kept = kept[: _MOST_VALUES - 1]
    pooled = [name for name in ranked if name not in kept]
    has_pool = sum(counts[name] for name in pooled) >= FEWEST_OF_CLASS
    return (*(name for name in order if name in kept), *([OTHER] if has_pool else [])), len(pooled)


def infer_user_attributes(
    ratings: Ratings,
    attributes: dict[str, list[str | None]],
    opened: OpenedRelease | None = None,
    seed: int = 0,
) -> list[AttributeInference]:
    """Predict attributes of users from their ratings, and from rows of a release.

    Weinsberg et al. 2012 (BlurMe) predict gender so; a release's control follows Giomi et al. 2023.
    """
    classified = {name: classify(name, texts) for name, texts in attributes.items()}
    smaller = None if opened is None else _make_smaller(ratings, opened, seed)
    return [
        _infer(ratings, name, classes, *_knowing_others(opened, smaller, name), [seed, 23, number])
        for number, (name, classes) in enumerate(track(classified.items(), "Attributes", share=1))
    ]


def _knowing_others(
    opened: OpenedRelease | None, smaller: MembershipTargets | None, inferred: str
) -> tuple[OpenedRelease | None, MembershipTargets | None]:
    """Return releases of which adversaries know the published attributes but the inferred ones."""
    if opened is None or opened.table is None:
        return opened, smaller
    about = opened.manifest.user_columns
    shared = {*(about.shared if about else ())} - {inferred}
    known = {n: texts for n, texts in opened.table.known_attributes.items() if n in shared}
    opened = opened._replace(table=replace(opened.table, known_attributes=known))
    if smaller is not None:
        smaller = smaller._replace(table=replace(smaller.table, known_attributes=known))
    return opened, smaller


def infer_added(
    ratings: Ratings,
    attributes: Mapping[str, Sequence[str | None]],
    table: AttackTarget,
    name: str,
    seed: int = 0,
) -> dict[str, AttributeInRelease]:
    """Measure what a release adds to the inference of each attribute; none of too few users."""
    space, found = _Space.of(ratings), {}
    with one_thread():
        for number, (attribute, texts) in enumerate(attributes.items()):
            rng = np.random.default_rng([seed, 24, number])
            codes = classify(attribute, texts).codes
            measured = _attack_table(ratings, name, table, None, space, codes, rng)
            if measured is not None:
                found[attribute] = measured
    return found


def _make_smaller(ratings: Ratings, opened: OpenedRelease, seed: int) -> MembershipTargets | None:
    """Make such a release without a fifth of the users, the nonmembers; None if it cannot be."""
    if opened.table is None or opened.words is not None or hides_items(opened.manifest.settings):
        return None
    try:
        anonymizer = same_again(opened.manifest, seed, opened.attributes)
        return None if anonymizer is None else hold_out(ratings, anonymizer, seed=seed)
    except RecveilError:  # of the other users, too few may remain
        return None


def _infer(
    ratings: Ratings,
    name: str,
    classes: Classes,
    opened: OpenedRelease | None,
    smaller: MembershipTargets | None,
    seed: list[int],
) -> AttributeInference:
    rng = np.random.default_rng(seed)
    users = np.sort(rng.permutation(np.flatnonzero(classes.codes >= 0))[:_MOST_USERS])
    codes, n_classes = classes.codes[users], len(classes.names)
    folds = _stratified(rng, codes, _FOLDS)
    permuted = codes.copy()
    for fold in range(_FOLDS):  # within folds, so that these remain stratified
        permuted[folds == fold] = rng.permutation(codes[folds == fold])
    space = _Space.of(ratings)
    rows = space.rows_of_users(ratings, users)
    counts = np.bincount(codes, minlength=n_classes)
    with one_thread():
        learners = {
            LOGISTIC: partial(_predict_linear, rows),
            BOOSTING: partial(_predict_boosted, _factors(rows, seed)),
        }
        predictions = tuple(
            _judge(learner, *(_cross_validate(predict, each, folds) for each in (codes, permuted)))
            for learner, predict in learners.items()
        )
        in_release, unmeasured = None, ""
        if opened is not None:
            in_release, unmeasured = _attack_release(
                *(ratings, opened, smaller, space, classes.codes, rng)
            )
    return AttributeInference(
        attribute=name,
        classes=dict(zip(classes.names, counts.tolist(), strict=True)),
        is_cut=classes.is_cut,
        n_pooled=classes.n_pooled,
        n_users=users.size,
        n_missing=classes.codes.size - users.size,
        majority=float(counts.max() / users.size),
        predictions=predictions,
        in_release=in_release,
        unmeasured=unmeasured,
    )


@brief
class _Predicted(NamedTuple):
    """The classes of users, and their predicted probabilities."""

    codes: _Codes
    chances: _Numbers  # shape (n_users, n_classes)
    folds: _Codes


_Predict = Callable[[_Codes, NDArray[np.bool_], NDArray[np.bool_]], _Numbers]


def _cross_validate(predict: _Predict, codes: _Codes, folds: _Codes) -> _Predicted:
    """Predict each fold from the others, a thread per fold."""
    chances = np.empty((codes.size, int(codes.max()) + 1))
    with pool(min(_FOLDS, usual_threads())) as workers:
        parts = [folds == fold for fold in range(_FOLDS)]
        found = workers.map(lambda part: predict(codes, ~part, part), parts)
        for part, of_part in zip(parts, found, strict=True):
            chances[part] = of_part
    return _Predicted(codes, chances, folds)


def _judge(learner: str, found: _Predicted, control: _Predicted) -> AttributePrediction:
    right = int((found.chances.argmax(axis=1) == found.codes).sum())
    auc, null = (_Area.of(each.codes, _ranked(each)) for each in (found, control))
    return AttributePrediction(
        *(learner, auc.interval(_WIDER, _LEARNERS), null.interval(_WIDER, _LEARNERS)),
        wilson_interval(right, found.codes.size),
    )


def _ranked(found: _Predicted) -> _Numbers:
    """Return ranks within each fold, since the scores of different models are not comparable."""
    ranks = np.empty_like(found.chances)
    for fold in range(_FOLDS):
        part = found.folds == fold
        ranks[part] = stats.rankdata(found.chances[part], axis=0) / max(int(part.sum()), 1)
    return ranks


@brief
class _Area(NamedTuple):
    """An AUC, and what each user contributes to it; a difference is paired by these."""

    area: float
    influence: _Numbers  # shape (n_users,)
    fewest: int  # users of the smallest class
    by_chance: float  # standard deviation of the area if scores are random
    n_deciding: float  # users of the smaller side, a weighted mean over the classes

    @classmethod
    def of(cls, codes: _Codes, scores: _Numbers) -> "_Area":
        """Measure each class against the rest, weighted by its users (DeLong et al. 1988)."""
        n, n_classes = scores.shape
        area, influence, by_chance, n_deciding = 0.0, np.zeros(n), 0.0, 0.0
        counts = np.bincount(codes, minlength=n_classes)
        # Of two classes, one is measured: the other one's scores are its complement.
        for code in range(n_classes) if n_classes > 2 else (1,):
            inside = codes == code
            n_in, weight = int(counts[code]), counts[code] / n if n_classes > 2 else 1.0
            if not 0 < n_in < n:
                continue
            ranks = stats.rankdata(scores[:, code])
            beats = (ranks[inside] - stats.rankdata(scores[inside, code])) / (n - n_in)
            beaten = 1 - (ranks[~inside] - stats.rankdata(scores[~inside, code])) / n_in
            of_class = float(beats.mean())
            area += float(weight * of_class)
            by_chance += weight**2 * (n + 1) / (12 * n_in * (n - n_in))
            n_deciding += weight * min(n_in, n - n_in)
            influence[inside] += weight * (beats - of_class) * n / n_in
            influence[~inside] += weight * (beaten - of_class) * n / (n - n_in)
        return cls(area, influence, int(counts.min()), float(np.sqrt(by_chance)), n_deciding)

    def interval(self, wider: float = 1.0, n_choices: int = 1) -> Interval:
        """Return an interval for so many choices; it has 0.5 unless a rank test excludes that."""
        far = wider * float(stats.t.ppf(1 - 0.025 / n_choices, max(self.n_deciding - 1, 1.0)))
        half = far * float(self.influence.std(ddof=1) / np.sqrt(self.influence.size))
        if (apart := abs(self.area - 0.5)) <= far * self.by_chance:
            half = max(half, apart + 1e-9)
        return wide_at_ends(self.area, half, self.influence.size, self.fewest)

    def beyond(self, other: "_Area") -> Mean:
        """Return the difference of two areas of the same users, with a paired interval."""
        apart, half = self.area - other.area, _half_width(self.influence - other.influence)
        return Mean(apart, apart - half, apart + half, self.influence.size)


def _half_width(influence: _Numbers) -> float:
    return float(stats.norm.ppf(0.975) * influence.std(ddof=1) / np.sqrt(influence.size))


def _stratified(rng: np.random.Generator, codes: _Codes, n_folds: int) -> _Codes:
    """Return a random fold of each user, of equal sizes in all and nearly so in each class."""
    folds = np.empty(codes.size, np.int64)
    order = np.lexsort((rng.random(codes.size), codes))
    folds[order] = np.arange(codes.size) % n_folds
    return folds


@brief
class _Space(NamedTuple):
    """Vectors of rows: items, and deviations from the items' means if there are ratings."""

    n_items: int
    means: _Numbers
    spread: float
    is_unary: bool

    @classmethod
    def of(cls, ratings: Ratings) -> "_Space":
        values = ratings.values.astype(np.float64)
        totals = np.bincount(ratings.indices, values, ratings.n_items)
        means = totals / np.maximum(ratings.support, 1)
        spread = float((values - means[ratings.indices]).std()) or 1.0
        return cls(ratings.n_items, means, spread, bool(np.ptp(values) == 0))

    def vectors(
        self,
        indptr: NDArray[np.int64],
        items: NDArray[np.int32],
        values: NDArray[np.floating] | None,
    ) -> sparse.csr_array:
        """Return rows whose squares of either part sum to about 1, however long they are."""
        lengths = np.diff(indptr)
        scale = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)
        shape = (lengths.size, self.n_items)
        rated = sparse.csr_array((scale, items, indptr), shape=shape)
        if self.is_unary or values is None:
            return rated
        apart = np.nan_to_num((values - self.means[items]) / self.spread) * scale
        return sparse.hstack(
            [rated, sparse.csr_array((apart, items, indptr), shape=shape)], format="csr"
        )

    def rows_of_users(self, ratings: Ratings, users: NDArray[np.int64]) -> sparse.csr_array:
        """Return the vectors of users, with their number of ratings and its mean deviation."""
        vectors = self.vectors(ratings.indptr, ratings.indices, ratings.values)[users]
        lengths = ratings.activity[users].astype(np.float64)
        activity = np.log1p(lengths)
        totals = [(activity - activity.mean()) / (float(activity.std()) or 1.0)]
        if not self.is_unary:
            leaning = vectors[:, self.n_items :].sum(axis=1) / np.sqrt(np.maximum(lengths, 1))
            totals.append(np.asarray(leaning).ravel())
        return sparse.hstack([vectors, sparse.csr_array(np.column_stack(totals))], format="csr")


def _logistic(rows: Any, codes: _Codes, strength: float) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=200, tol=1e-3).fit(rows, codes)


def _choose_strength(rows: Any, codes: _Codes) -> float:
    """Return the strength with the best likelihood in inner folds."""
    folds = _stratified(np.random.default_rng(0), codes, _INNER_FOLDS)

    def loss(strength: float) -> float:
        total = 0.0
        for fold in range(_INNER_FOLDS):
            part = folds == fold
            chances = _logistic(rows[~part], codes[~part], strength).predict_proba(rows[part])
            total -= np.log(chances[np.arange(len(chances)), codes[part]] + 1e-12).sum()
        return float(total)

    return min(_STRENGTHS, key=loss)


def _predict_linear(
    rows: Any, codes: _Codes, train: NDArray[np.bool_], test: NDArray[np.bool_]
) -> _Numbers:
    of_train, codes = rows[train], codes[train]
    model = _logistic(of_train, codes, _choose_strength(of_train, codes))
    return np.asarray(model.predict_proba(rows[test]), np.float64)


def _predict_boosted(
    factors: _Numbers, codes: _Codes, train: NDArray[np.bool_], test: NDArray[np.bool_]
) -> _Numbers:
    model = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, l2_regularization=1.0, early_stopping=False, random_state=0
    )
    # The limit of OpenMP is of this thread alone.
    with _openmp().limit(limits=1):
        model.fit(factors[train], codes[train])
        return np.asarray(model.predict_proba(factors[test]), np.float64)


@cache
def _openmp() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")


def _factors(rows: sparse.csr_array, seed: list[int]) -> _Numbers:
    """Return truncated SVD factors of the rows, and their last column, the activity."""
    n_factors = min(_FACTORS, min(rows.shape) - 1)
    state = int(np.random.default_rng(seed).integers(2**31))
    left, strengths, _ = randomized_svd(rows, n_factors, random_state=state)
    totals = rows[:, -2:].toarray()
    return np.column_stack([left * strengths, totals])


def _attack_release(
    ratings: Ratings,
    opened: OpenedRelease,
    smaller: MembershipTargets | None,
    space: _Space,
    codes: _Codes,
    rng: np.random.Generator,
) -> tuple[AttributeInRelease | None, str]:
    """Predict the attributes of half of the users with a release and the others' attributes."""
    table = opened.table
    if table is None:
        return None, "a model has no rows"
    if hides_items(opened.manifest.settings):
        return None, "its items are hidden"
    found = _attack_table(ratings, opened.name, table, smaller, space, codes, rng)
    if found is None:
        return None, f"too few users have {_KNOWS.known} ratings and a value"
    return found, ""


def _attack_table(
    ratings: Ratings,
    name: str,
    table: AttackTarget,
    smaller: MembershipTargets | None,
    space: _Space,
    codes: _Codes,
    rng: np.random.Generator,
) -> AttributeInRelease | None:
    """Attack the rows of a release; None if too few users remain."""
    is_inside = codes >= 0
    if table.contains_users:
        is_inside &= table.record_of >= 0
    targets, others = _halves(rng, np.flatnonzero(is_inside))
    targets = targets[:_MOST_TARGETS]
    found = _measure(ratings, table, space, codes, others, [targets], rng)
    if found is None:
        return None
    by_known, by_row, by_random = found[0]
    n_targets = by_known.influence.size
    in_release = AttributeInRelease(
        name=name,
        known=_KNOWS.known,
        n_targets=n_targets,
        n_skipped=targets.size - n_targets,
        by_known=by_known.interval(),
        by_row=by_row.interval(),
        adds=by_row.beyond(by_known),
        control=by_random.beyond(by_known),
        known_attributes=tuple(table.known_attributes),
    )
    if smaller is None:
        return in_release
    inside, nonmembers = (each[codes[each] >= 0] for each in (smaller.members, smaller.nonmembers))
    members, others = _halves(rng, inside)
    groups = [members, nonmembers]
    both = _measure(ratings, smaller.table, space, codes, others, groups, rng)
    if both is None:
        return in_release
    inner, outer = (with_row.beyond(alone) for alone, with_row, _ in both)
    excess = difference_of_means(inner, outer)
    return replace(in_release, members=inner, nonmembers=outer, excess=excess)


def _halves(
    rng: np.random.Generator, users: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a random half of the users, and the others."""
    order = rng.permutation(users)
    return order[: users.size // 2], order[users.size // 2 :]


def _measure(
    ratings: Ratings,
    table: AttackTarget,
    space: _Space,
    codes: _Codes,
    others: NDArray[np.int64],
    groups: list[NDArray[np.int64]],
    rng: np.random.Generator,
) -> "list[tuple[_Area, _Area, _Area]] | None":
    """Measure groups of targets by known ratings, with their rows, and with random rows."""
    others = others[:_MOST_USERS]
    users = np.sort(np.concatenate([others[:_MOST_TRAINING], *groups]))
    known, guesses = best_guesses(ratings, table, _KNOWS, users, int(rng.integers(2**31)))
    is_known = np.isin(known.targets, others)
    of_groups = [np.isin(known.targets, group) for group in groups]
    truth, n_classes = codes[known.targets], int(codes.max()) + 1
    fewest = min(
        np.bincount(truth[part], minlength=n_classes).min() for part in (is_known, *of_groups)
    )
    if fewest < FEWEST_OF_CLASS:
        return None
    scores = _score(ratings, table, space, codes, known, np.sort(others), rng)
    published, of_target = _published_shares(table), _known_texts(table, known.targets)
    areas = []
    for rows in (None, guesses.best, _random_rows(table, guesses.best, rng)):
        features = [scores.by_known, of_target]
        if rows is not None:
            features += [scores.of_rows(rows), _shares(rows, truth, is_known, table)]
            features.append(np.where((rows >= 0)[:, None], published[rows], 0.0))
        chances = _predict_groups(np.column_stack(features), truth, is_known)
        areas.append([_Area.of(truth[part], chances[part]) for part in of_groups])
    return [(alone, with_row, at_random) for alone, with_row, at_random in zip(*areas, strict=True)]


@brief
class _Scores(NamedTuple):
    """Scores of what is known of each user, and of each record by the model for that user."""

    by_known: _Numbers  # shape (n_users, n_scores)
    by_record: _Numbers  # shape (n_models, n_records, n_scores)
    model_of: _Codes

    def of_rows(self, rows: _Codes) -> _Numbers:
        """Return the scores of the users' rows, 0 for no row."""
        return np.where((rows >= 0)[:, None], self.by_record[self.model_of, rows], 0.0)


def _score(
    ratings: Ratings,
    table: AttackTarget,
    space: _Space,
    codes: _Codes,
    known: Knowledge,
    others: NDArray[np.int64],
    rng: np.random.Generator,
) -> _Scores:
    """Score by models of the other users' ratings; each of them by a model without them."""
    vectors = space.vectors(ratings.indptr, ratings.indices, ratings.values)[others]
    folds = _stratified(rng, codes[others], _FOLDS)
    strength = _choose_strength(vectors, codes[others])
    fold_of = np.full(ratings.n_users, _FOLDS)
    fold_of[others] = folds
    model_of = fold_of[known.targets]
    of_known = space.vectors(known.indptr, known.items, known.values)
    of_records = space.vectors(table.indptr, table.indices, table.values)
    n_scores = int(codes.max()) + 1 if codes.max() > 1 else 1
    by_known = np.zeros((model_of.size, n_scores))
    by_record = []
    for model_number in range(_FOLDS + 1):
        kept = folds != model_number  # the last one is of all
        model = _logistic(vectors[kept], codes[others[kept]], strength)
        is_of = model_of == model_number
        by_known[is_of] = _decisions(model, of_known)[is_of]
        by_record.append(_decisions(model, of_records))
    return _Scores(by_known, np.stack(by_record), model_of)


def _decisions(model: LogisticRegression, rows: sparse.csr_array) -> _Numbers:
    decisions = np.asarray(model.decision_function(rows), np.float64)
    return decisions if decisions.ndim == 2 else decisions[:, None]


def _random_rows(table: AttackTarget, best: _Codes, rng: np.random.Generator) -> _Codes:
    """Return another record of nearly as many items for each; -1 for none."""
    lengths = np.diff(table.indptr)
    order = np.argsort(lengths, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    most = min(_NEARLY_AS_LONG, max(order.size - 1, 1))
    shift = rng.integers(1, most + 1, best.size) * rng.choice([-1, 1], best.size)
    other = order[(rank[best] + shift) % order.size]
    return np.where(best >= 0, other, -1)


def _shares(
    rows: _Codes, codes: _Codes, is_known: NDArray[np.bool_], table: AttackTarget
) -> _Numbers:
    """Return the shares of classes among the other users of known attribute with the same row."""
    n_classes = int(codes.max()) + 1
    one_hot = np.eye(n_classes)[codes] * is_known[:, None]
    prior = one_hot.sum(axis=0) / one_hot.sum()
    has_row = rows >= 0
    totals = np.zeros((table.candidates.n_records, n_classes))
    np.add.at(totals, rows[has_row], one_hot[has_row])
    in_row = np.where(has_row[:, None], totals[rows] - one_hot, 0.0)
    return (in_row + 2 * prior) / (in_row.sum(axis=1, keepdims=True) + 2) - prior


def _published_shares(table: AttackTarget) -> _Numbers:
    """Return the share of each published text of all attributes in each class."""
    shares = [np.zeros((table.candidates.n_records, 0))]
    for counts in table.attributes.values():
        texts = sorted(set().union(*counts))
        found = np.array([[each[text] for text in texts] for each in counts], np.float64)
        shares.append(found / found.sum(axis=1, keepdims=True))
    return np.column_stack(shares)


def _known_texts(table: AttackTarget, users: NDArray[np.int64]) -> _Numbers:
    """Return an indicator of each text of the attributes that adversaries know of users."""
    parts = [np.zeros((users.size, 0))]
    for texts in table.known_attributes.values():
        _, codes = np.unique([str(texts[user]) for user in users.tolist()], return_inverse=True)
        parts.append(np.eye(int(codes.max(initial=-1)) + 1)[codes])
    return np.column_stack(parts)


def _predict_groups(features: _Numbers, codes: _Codes, is_known: NDArray[np.bool_]) -> _Numbers:
    """Return the probabilities of all users' classes, by a fit of scores to the known ones."""
    spread = features[is_known].std(axis=0)
    scaled = (features - features[is_known].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    model = _logistic(scaled[is_known], codes[is_known], 1.0)
    return np.asarray(model.predict_proba(scaled), np.float64)
