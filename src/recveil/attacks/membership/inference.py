"""Membership inference from one release."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression

from recveil.attacks.adversary import Adversary
from recveil.attacks.candidates import Candidates
from recveil.attacks.knowledge import Knowledge, draw_knowledge, know_everything
from recveil.attacks.membership.held_out import PartialRelease, hold_out
from recveil.attacks.membership.scores import (
    score_by_counts,
    score_by_presence,
    score_by_values,
)
from recveil.attacks.reidentification.likelihood import likelihoods_for_means
from recveil.attacks.reidentification.on_release import without_unpublished
from recveil.attacks.reidentification.residual_attack import score_by_residuals
from recveil.attacks.reidentification.scoreboard import ScoreboardRH
from recveil.attacks.statistics import FEWEST, Interval, area_under_curve, wilson_interval
from recveil.ratings import Ratings, RatingScale
from recveil.release.sides import Anonymizer
from recveil.runtime.linear_algebra import one_thread
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief

# These scores use one release; an adversary with shadow releases usually infers more.
SHADOWS = "“recveil audit FILE --release OUT --shadows 32”"
SHADOWS_OF_ALL = "“recveil compare FILE --shadows 32”"
MEMBERSHIP = (
    "This area is a lower bound: it is that of the best of the scores that are tried here, all of "
    "which look at one release only. Whoever makes such releases of people whom they know, and "
    "learns from them what membership looks like, usually tells more: "
    f"{SHADOWS} measures that, and {SHADOWS_OF_ALL} for each setting."
)


# Share of non-members taken for members, where members are counted.
_FALSE_POSITIVES = 0.05

# Adversaries by number of exact ratings known; None knows all.
KNOWN: dict[str, Adversary | None] = {
    "8": Adversary(known=8),
    "16": Adversary(known=16),
    "all": None,
}

# Joint scores, which a logistic fit on other users combines, and the `SCORERS` that each combines;
# None for all.
JOINT: dict[str, tuple[str, ...] | None] = {
    "counts and values": ("counts", "values"),
    "all scores": None,
}
# Inverse regularization of the fit, and number of folds among the users who select the score.
_BELIEVED = 0.1
_PARTS = 4

# Scores every known target, shape (n_targets,) per variant; higher fits better. No variants if it
# does not apply to the release.
Scorer: TypeAlias = Callable[
    [Candidates, Adversary, Knowledge, RatingScale], Sequence[NDArray[np.float64]]
]


@brief
class _Scores(NamedTuple):
    """One score of the users inside and outside, and its name in `SCORERS` or `JOINT`."""

    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    scorer: str


class Membership(NamedTuple):
    """How well an adversary infers who is in a release.

    Attributes
    ----------
    auc : Interval
        How often a member scores above a non-member. At 0.5 this score reveals nothing, which is no
        evidence that no other does.
    members, outsiders : int
        Number of members and non-members on whom the AUC was measured.
    skipped : int
        Requested users of whom the adversary cannot know enough.
    scorer : str
        The best of `SCORERS` or `JOINT`; "" if no user could be scored.
    tpr_at_5 : Interval
        True positive rate at 5 % false positives; random guessing has 0.05.
    null_auc : Interval
        The control: AUC of the same attack where membership is assigned at random, among the same
        users with the same scores.
    """

    auc: Interval
    members: int
    outsiders: int
    skipped: int
    scorer: str = ""
    tpr_at_5: Interval = wilson_interval(0, 0)
    null_auc: Interval = area_under_curve([], [])

    @property
    def is_told(self) -> bool:
        """Whether both sides have enough users to report a result."""
        return min(self.members, self.outsiders) >= FEWEST


def infer_membership(
    ratings: Ratings,
    anonymizer: Anonymizer,
    adversary: Adversary,
    holdout: float = 0.2,
    seed: int = 0,
) -> Membership:
    """Anonymize some of the users and measure membership inference.

    Every user is scored by each of `SCORERS`; members should score higher. `JOINT` adds scores
    combined by a logistic fit on one half of the users, whose membership the adversary knows. The
    same half selects the best score, with joint scores from fits without the scored user; the AUC
    is measured on the other half.

    Parameters
    ----------
    ratings : Ratings
    anonymizer : Anonymizer
        Any object with ``anonymize(ratings) -> Release``. If it has a `k`, the release must claim
        it.
    adversary : Adversary
        Dates and number of ratings are ignored, as in `attack_release`.
    holdout : float
        Share of the users who are left out of the release, between 0 and 1.
    seed : int
        Fixes who is left out and what is known; the anonymizer keeps its own.

    Raises
    ------
    RecveilError
        If no user would be inside, or none outside, or the release claims another k.

    Notes
    -----
    At most 1,000 users inside and 1,000 outside are scored. If the interval includes 0.5, these
    scores reveal nothing; others may.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> anonymizer = PredictiveAnonymizer(k=5, seed=1)
    >>> result = infer_membership(ratings, anonymizer, Adversary(known=4), holdout=0.25)
    >>> result.members, result.outsiders, result.skipped  # three have too few ratings
    (21, 7, 3)
    """
    held_out = hold_out(ratings, anonymizer, holdout, seed)
    return infer_memberships(ratings, held_out, {"": adversary}, seed)[""]


def infer_memberships(
    ratings: Ratings,
    held_out: PartialRelease,
    adversaries: Mapping[str, Adversary | None] = KNOWN,
    seed: int = 0,
) -> dict[str, Membership]:
    """Measure membership inference by several adversaries on the same release.

    Parameters
    ----------
    ratings : Ratings
    held_out : PartialRelease
        From `hold_out`.
    adversaries : dict of str to Adversary or None
        By any name; None knows all ratings exactly. Default: 8, 16 and all exact ratings.
    seed : int
        Fixes what is known.

    Returns
    -------
    dict of str to Membership
        In the order of `adversaries`.

    Examples
    --------
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> found = infer_memberships(ratings, hold_out(ratings, PredictiveAnonymizer(k=5, seed=1)))
    >>> [(known, told.members) for known, told in found.items()]
    [('8', 18), ('16', 9), ('all', 24)]
    """
    return {
        name: _infer_membership(ratings, held_out, adversary, seed)
        for name, adversary in track(adversaries.items(), "Adversaries", share=0.9)
    }


def _infer_membership(
    ratings: Ratings, held_out: PartialRelease, adversary: Adversary | None, seed: int
) -> Membership:
    """Measure membership inference by one adversary."""
    blunted = without_unpublished(ratings, adversary or Adversary())
    known = [
        know_everything(ratings, users)
        if adversary is None
        else draw_knowledge(ratings, blunted, users, seed)
        for users in (held_out.inside, held_out.outside)
    ]
    skipped = sum(about.skipped for about in known)
    if not all(about.targets.size for about in known):
        return Membership(area_under_curve([], []), 0, 0, skipped)
    scores = _all_scores(held_out.table.candidates, blunted, known, ratings.scale)
    lot = _by_lot(scores, seed)
    scores, lot = scores + _join_scores(scores), lot + _join_scores(lot)
    of_members, of_outsiders = _choose(scores)
    return Membership(
        auc=area_under_curve(of_members, of_outsiders),
        members=of_members.size,
        outsiders=of_outsiders.size,
        skipped=skipped,
        scorer=scores[_most_informative(scores)].scorer,
        tpr_at_5=_count_members(of_members, of_outsiders),
        null_auc=area_under_curve(*_choose(lot)),
    )


def _count_members(members: NDArray[np.float64], outsiders: NDArray[np.float64]) -> Interval:
    """Return the share of the members above all but 5 % of the non-members.

    Examples
    --------
    >>> _count_members(np.array([1.0, 30.0]), np.arange(20.0)).rate  # one of 20 is above 18
    0.5
    """
    if not outsiders.size:
        return wilson_interval(0, 0)
    below = np.sort(outsiders)[-1 - math.floor(_FALSE_POSITIVES * outsiders.size)]
    return wilson_interval(int((members > below).sum()), members.size)


def _by_lot(scores: list[_Scores], seed: int) -> list[_Scores]:
    """Assign membership at random, the same for every score.

    The selecting and the measured half are shuffled separately: together, more true members in one
    half would mean fewer in the other, and a fit on one would be biased on the other.
    """
    n_inside = scores[0].inside.size
    place = np.concatenate([np.arange(n_inside), np.arange(scores[0].outside.size)])
    lot, rng = np.arange(place.size), np.random.default_rng([seed, 1])
    for half in range(2):
        lot[place % 2 == half] = rng.permutation(lot[place % 2 == half])
    drawn = []
    for inside, outside, scorer in scores:
        pooled = np.concatenate([inside, outside])[lot]
        drawn.append(_Scores(pooled[:n_inside], pooled[n_inside:], scorer))
    return drawn


def _join_scores(scores: list[_Scores]) -> list[_Scores]:
    """Combine scores by logistic fits on every other user, who also select the best score.

    A selecting user is scored by a fit without them, a measured user by a fit on all selecting
    ones.
    """
    n_inside, n_outside = scores[0].inside.size, scores[0].outside.size
    joint = []
    for name, scorers in JOINT.items():
        joined = [each for each in scores if scorers is None or each.scorer in scorers]
        lacks = not {each.scorer for each in joined}.issuperset(scorers or ())
        if min(n_inside, n_outside) < 2 * FEWEST or len(joined) < 2 or lacks:
            continue
        columns = [np.concatenate([inside, outside]) for inside, outside, _ in joined]
        # By rank, since scores differ in unit and tails.
        ranks = stats.rankdata(np.stack(columns, axis=1), axis=0)
        features = stats.norm.ppf((ranks - 0.5) / len(ranks))
        place = np.concatenate([np.arange(n_inside), np.arange(n_outside)])
        part = np.where(place % 2 == 0, place // 2 % _PARTS, _PARTS)
        members, odds = np.arange(part.size) < n_inside, np.empty(part.size)
        for fold in range(_PARTS + 1):
            known, judged = (part != fold) & (part < _PARTS), part == fold
            rule = LogisticRegression(C=_BELIEVED, max_iter=1_000)
            with one_thread():
                rule.fit(features[known], members[known])
                odds[judged] = rule.decision_function(features[judged])
        joint.append(_Scores(odds[:n_inside], odds[n_inside:], name))
    return joint


def describe_outside_knowledge(scorer: str, *, is_unary: bool = False) -> str:
    """Describe the auxiliary information that a score needs beyond the release and the target."""
    if scorer not in ("presence", "counts", "values", *JOINT):
        return ""
    chose = "have" if is_unary else "rated"
    counts = f"how many of all other users, in the release or not, {chose} each item"
    if scorer in ("presence", "counts"):
        return counts
    means = counts if is_unary else f"{counts}, and their mean rating"
    if scorer == "values":
        return means
    return f"{means}; and of half of the users who are scored whether they are in the release"


def describe_membership(auc: Interval, who: str = "They", shadows: Interval | None = None) -> str:
    """Describe membership inference in words graded by the AUC.

    A low AUC is no evidence of safety: the sentence adds the result of the strongest other test.
    """
    # The AUC is the share of correct decisions about pairs of a member and a non-member.
    grades = (
        (0.6, "can tell better than a coin"),
        (0.75, "can sometimes tell"),
        (0.95, "can often tell"),
        (math.inf, "can nearly always tell"),
    )
    claim = (
        f"By scores that look at one release only, it is not shown that {who[0].lower()}{who[1:]} "
        f"can tell"
    )
    if auc.low > 0.5:
        claim = f"{who} {next(words for edge, words in grades if auc.rate < edge)}"
    sentence = (
        f"{claim} who was in the data at all (AUC {auc.rate:.2f}, {auc.low:.2f} to "
        f"{auc.high:.2f}; 0.5 is a coin, 1 is certainty)."
    )
    is_certain = auc.low > 0.5 and auc.rate >= grades[-2][0]
    if is_certain:
        return sentence
    if shadows is None:
        return f"{sentence} {MEMBERSHIP}"
    return (
        f"{sentence} That is by scores that look at one release only; with releases made for "
        f"comparison, of halves of the people, AUC {shadows.rate:.2f} ({shadows.low:.2f} to "
        f"{shadows.high:.2f}) was reached. Better attacks may tell more."
    )


def _choose(scores: list[_Scores]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the best score, selected on every other user, for the remaining users.

    Selecting and measuring on the same users would be biased upwards.
    """
    inside, outside, *_ = scores[_most_informative(scores)]
    return inside[1::2], outside[1::2]


def _most_informative(scores: list[_Scores]) -> int:
    """Return the index of the score with the highest AUC on every other user."""
    areas = [area_under_curve(inside[::2], outside[::2]).rate for inside, outside, *_ in scores]
    return int(np.argmax(areas))


def _all_scores(
    candidates: Candidates, adversary: Adversary, known: list[Knowledge], scale: RatingScale
) -> list[_Scores]:
    """Score members and non-members in all ways."""
    found = []
    for name, scorer in SCORERS.items():
        inside, outside = (scorer(candidates, adversary, about, scale) for about in known)
        pairs = zip(inside, outside, strict=True)
        found += [_Scores(of_members, of_outsiders, name) for of_members, of_outsiders in pairs]
    # A constant score has an AUC of one half with a zero-width interval, which would look like
    # evidence that nothing leaks.
    return [scores for scores in found if _differs(scores)] or found[:1]


def _differs(scores: _Scores) -> bool:
    pooled = np.concatenate([scores.inside, scores.outside])
    return bool((pooled != pooled[0]).any())


def score_by_scoreboard_rh(
    candidates: Candidates, _adversary: Adversary, known: Knowledge, _scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return the highest score of a record, as a share of the largest possible score."""
    support = np.maximum(candidates.support, 1)
    most = _sum_by_target(known, 1 / np.log(np.maximum(support, 2)))
    return [ScoreboardRH().attack(candidates, known, _no_records(known)).score / most]


def score_by_likelihood(
    candidates: Candidates, adversary: Adversary, known: Knowledge, scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return the target's likelihood under the best record, for several spreads of values.

    The second half of the list adds the rarity of the known items: with rare items, a high score is
    less likely by chance.
    """
    odds = [
        attack.attack(candidates, known, _no_records(known)).score
        for attack in likelihoods_for_means(adversary, scale.range)
    ]
    rarity = np.log(candidates.n_people / np.maximum(candidates.support, 1))
    rare = _sum_by_target(known, rarity)
    return [*odds, *(odd + rare for odd in odds)]


def score_by_narrowest(
    candidates: Candidates, _adversary: Adversary, known: Knowledge, scale: RatingScale
) -> list[NDArray[np.float64]]:
    """Return how narrow the narrowest row with the known items is, for implicit feedback.

    In padded releases a member's items are all in the row of their group, which is little wider; a
    non-member's are only in wide rows, or in none. A missing item makes a row wider by the number
    of items. The scores are the negative width per known item, and as it is.
    """
    if not scale.unary:
        return []
    widths = np.bincount(candidates.records, minlength=candidates.n_records)
    narrowest, n_known = np.empty(known.targets.size), np.diff(known.indptr)
    for target in range(known.targets.size):
        items = known.items[known.indptr[target] : known.indptr[target + 1]]
        spans = zip(candidates.indptr[items], candidates.indptr[items + 1], strict=True)
        records = np.concatenate([candidates.records[start:end] for start, end in spans])
        missing = items.size - np.bincount(records, minlength=candidates.n_records)
        narrowest[target] = (widths + candidates.indptr.size * missing).min()
    return [-narrowest / n_known, -narrowest]


# Scores by name; entries may be added.
SCORERS: dict[str, Scorer] = {
    "scoreboard-rh": score_by_scoreboard_rh,
    "likelihood": score_by_likelihood,
    "residual": score_by_residuals,
    "narrowest": score_by_narrowest,
    "presence": score_by_presence,
    "counts": score_by_counts,
    "values": score_by_values,
}


def _no_records(known: Knowledge) -> NDArray[np.int64]:
    """Return -1 for every user: the score must not depend on true records."""
    return np.full(int(known.targets.max(initial=0)) + 1, -1)


def _sum_by_target(known: Knowledge, of_item: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.add.reduceat(of_item[known.items], known.indptr[:-1])
