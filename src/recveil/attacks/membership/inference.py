"""Membership inference from one release, made without some of the users."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression

from recveil.attacks.adversary import Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.candidates import Candidates
from recveil.attacks.knowledge import Knowledge, draw_knowledge, know_everything, target_rows
from recveil.attacks.membership.scores import OF_DATES, SCORERS
from recveil.attacks.reidentification.on_release import with_dates, without_unpublished
from recveil.attacks.statistics import (
    FEWEST,
    GroupRate,
    Interval,
    area_under_curve,
    quarters,
    true_positive_rate,
    wilson_interval,
)
from recveil.ratings import Ratings, RatingScale
from recveil.release.sides import Anonymizer
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief
from recveil.runtime.threads import one_thread

# Default share of the users who are left out.
HOLDOUT = 0.2
# Most members, and most nonmembers, to score.
MOST_SCORED = 1000


@brief
class MembershipTargets(NamedTuple):
    """A release without some of the users, and the targets of membership inference.

    Attributes
    ----------
    table : AttackTarget
    members, nonmembers : ndarray of int64
        Positions of at most 1,000 users in the release, and of as many outside. Users whom the
        method itself left out are neither.
    """

    table: AttackTarget
    members: NDArray[np.int64]
    nonmembers: NDArray[np.int64]


def hold_out(
    ratings: Ratings, anonymizer: Anonymizer, holdout: float = HOLDOUT, seed: int = 0
) -> MembershipTargets:
    """Anonymize a random part of the users.

    Parameters
    ----------
    ratings : Ratings
    anonymizer : Anonymizer
        Any object with ``anonymize(ratings) -> Release``. If it has a `k`, the release must claim
        it.
    holdout : float
        Share of the users who are left out of the release, between 0 and 1.
    seed : int
        Fixes who is left out; the anonymizer keeps its own.

    Raises
    ------
    RecveilError
        If no user would be inside, or none outside, or the release claims another k.
    """
    n_outside = round(holdout * ratings.n_users) if 0 < holdout < 1 else 0
    if not 0 < n_outside < ratings.n_users:
        raise RecveilError(
            f"holdout is {holdout} of {describe_count(ratings.n_users, 'user')}; expected a share "
            f"between 0 and 1 that leaves at least one user inside and one outside",
            code="argument.value",
        )
    order = np.random.default_rng(seed).permutation(ratings.n_users)
    outside, inside = order[:n_outside], order[n_outside:]
    release = anonymizer.anonymize(only(ratings, np.sort(inside)))
    claimed = release.published.claim.k
    if getattr(anonymizer, "k", claimed) != claimed:
        raise RecveilError(
            f"the anonymizer's k is {getattr(anonymizer, 'k', None)}, "
            f"but its release claims k = {claimed}; a release must claim the requested k",
            code="argument.result",
        )
    table = AttackTarget.from_release(release, ratings)
    if table.contains_users:  # a method may leave users out, such as a sample
        inside = inside[table.record_of[inside] >= 0]
    return MembershipTargets(table, np.sort(inside[:MOST_SCORED]), np.sort(outside[:MOST_SCORED]))


def only(ratings: Ratings, users: NDArray[np.int64]) -> Ratings:
    """Return the ratings of some users, with all items."""
    rows = target_rows(ratings, users)
    return Ratings(
        users=ratings.users[users],
        items=ratings.items,
        indptr=rows.indptr,
        indices=rows.items,
        values=ratings.values[rows.places],
        days=None if ratings.days is None else ratings.days[rows.places],
        scale=ratings.scale,
    )


# Share of nonmembers taken for members, where members are counted.
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
        How often a member scores above a nonmember. At 0.5 this score reveals nothing, which is no
        evidence that no other does.
    members, nonmembers : int
        Number of members and nonmembers on whom the AUC was measured.
    skipped : int
        Requested users of whom the adversary cannot know enough.
    scorer : str
        The best of `SCORERS`, with or without dates, or `JOINT`; "" if no user could be scored.
    tpr_at_5 : Interval
        True positive rate at 5% false positives; random guessing has 0.05.
    null_auc : Interval
        The control: AUC of the same attack where membership is assigned at random, among the same
        users with the same scores.
    by_user_count : tuple of GroupRate
        `auc` by quarter of the table's users, by their number of ratings, of those with at least 20
        members and nonmembers.
    """

    auc: Interval
    members: int
    nonmembers: int
    skipped: int
    scorer: str = ""
    tpr_at_5: Interval = wilson_interval(0, 0)
    null_auc: Interval = area_under_curve([], [])
    by_user_count: tuple[GroupRate, ...] = ()

    @property
    def is_measured(self) -> bool:
        """Whether both sides have enough users to report a result."""
        return min(self.members, self.nonmembers) >= FEWEST


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
        The number of ratings is ignored, and so are dates unless the release has some, as in
        `attack_release`.
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
    >>> result.members, result.nonmembers, result.skipped  # three have too few ratings
    (21, 7, 3)
    """
    held_out = hold_out(ratings, anonymizer, holdout, seed)
    return infer_memberships(ratings, held_out, {"": adversary}, seed)[""]


def infer_memberships(
    ratings: Ratings,
    held_out: MembershipTargets,
    adversaries: Mapping[str, Adversary | None] = KNOWN,
    seed: int = 0,
) -> dict[str, Membership]:
    """Measure membership inference by several adversaries on the same release.

    Parameters
    ----------
    ratings : Ratings
    held_out : MembershipTargets
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
    >>> [(known, membership.members) for known, membership in found.items()]
    [('8', 18), ('16', 9), ('all', 24)]
    """
    return {
        name: _infer_membership(ratings, held_out, adversary, seed)
        for name, adversary in track(adversaries.items(), "Adversaries", share=0.9)
    }


def _infer_membership(
    ratings: Ratings, held_out: MembershipTargets, adversary: Adversary | None, seed: int
) -> Membership:
    table = held_out.table
    has_dates = table.days is not None and ratings.days is not None
    exact = Adversary(date_error=0) if has_dates else Adversary()
    blunted = without_unpublished(ratings, adversary or exact, table)
    if has_dates and blunted.rating_error == 0 and blunted.n_right == blunted.known:
        blunted = replace(blunted, date_error=blunted.date_error or 0)
    known = [
        know_everything(ratings, users, has_dates=has_dates)
        if adversary is None
        else draw_knowledge(ratings, blunted, users, seed)
        for users in (held_out.members, held_out.nonmembers)
    ]
    skipped = sum(about.skipped for about in known)
    if not all(about.targets.size for about in known):
        members, nonmembers = (about.targets[1::2].size for about in known)
        return Membership(area_under_curve([], []), members, nonmembers, skipped)
    scores = _all_scores(table.candidates, blunted, known, ratings.scale)
    shuffled = _shuffle_membership(scores, seed)
    scores, shuffled = scores + _join_scores(scores), shuffled + _join_scores(shuffled)
    of_members, of_nonmembers = _choose(scores)
    both = np.concatenate([of_members, of_nonmembers])[:, None]
    is_member = np.arange(both.size)[:, None] < of_members.size
    return Membership(
        auc=area_under_curve(of_members, of_nonmembers),
        members=of_members.size,
        nonmembers=of_nonmembers.size,
        skipped=skipped,
        scorer=scores[_most_informative(scores)].scorer,
        tpr_at_5=true_positive_rate(both, is_member, _FALSE_POSITIVES),
        null_auc=area_under_curve(*_choose(shuffled)),
        by_user_count=_by_user_count(ratings, [about.targets[1::2] for about in known], scores),
    )


def _by_user_count(
    ratings: Ratings, users: Sequence[NDArray[np.int64]], scores: list[_Scores]
) -> tuple[GroupRate, ...]:
    """Return the AUC of the measured users of each quarter."""
    found = quarters(ratings.activity.astype(np.float64))
    rates = []
    for group, (name, highest) in enumerate(zip(found.names, found.highest, strict=True)):
        sides = [
            side[found.codes[of_side] == group]
            for side, of_side in zip(_choose(scores), users, strict=True)
        ]
        if min(side.size for side in sides) >= FEWEST:
            rates.append(GroupRate(name, highest, area_under_curve(*sides)))
    return tuple(rates)


def _shuffle_membership(scores: list[_Scores], seed: int) -> list[_Scores]:
    """Assign membership at random, the same for every score.

    The selecting and the measured half are shuffled separately: together, more true members in one
    half would mean fewer in the other, and a fit on one would be biased on the other.
    """
    n_inside = scores[0].inside.size
    place = np.concatenate([np.arange(n_inside), np.arange(scores[0].outside.size)])
    order, rng = np.arange(place.size), np.random.default_rng([seed, 1])
    for half in range(2):
        order[place % 2 == half] = rng.permutation(order[place % 2 == half])
    drawn = []
    for inside, outside, scorer in scores:
        pooled = np.concatenate([inside, outside])[order]
        drawn.append(_Scores(pooled[:n_inside], pooled[n_inside:], scorer))
    return drawn


def _join_scores(scores: list[_Scores]) -> list[_Scores]:
    """Combine scores by logistic fits on other selecting users, who also select the best score."""
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


def _choose(scores: list[_Scores]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the best score, selected without bias on every other user, for the remaining users."""
    inside, outside, *_ = scores[_most_informative(scores)]
    return inside[1::2], outside[1::2]


def _most_informative(scores: list[_Scores]) -> int:
    """Return the index of the score with the highest AUC on every other user."""
    areas = [area_under_curve(inside[::2], outside[::2]).rate for inside, outside, *_ in scores]
    return int(np.argmax(areas))


def _all_scores(
    candidates: Candidates, adversary: Adversary, known: list[Knowledge], scale: RatingScale
) -> list[_Scores]:
    """Score members and nonmembers in all ways, without dates and with them."""
    found = []
    for ways in zip(*(with_dates(candidates, adversary, about) for about in known), strict=True):
        compared = ways[0][0]
        for name, scorer in SCORERS.items():
            if compared and name not in OF_DATES:
                continue
            sides = (scorer(candidates, fitted, about, scale) for _, fitted, about in ways)
            pairs = zip(*sides, strict=True)
            found += [_Scores(inside, outside, name + compared) for inside, outside in pairs]
    # A constant score has an AUC of one half with a zero-width interval, which would look like
    # evidence that nothing leaks.
    return [scores for scores in found if _differs(scores)] or found[:1]


def _differs(scores: _Scores) -> bool:
    pooled = np.concatenate([scores.inside, scores.outside])
    return bool((pooled != pooled[0]).any())
