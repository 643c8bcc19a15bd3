"""Membership: can an adversary tell who was in the data at all?"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recveil.attack.adversary import Adversary
from recveil.attack.candidates import Candidates
from recveil.attack.knowledge import Knowledge, draw_knowledge
from recveil.attack.likelihood import likelihoods_for_means
from recveil.attack.on_release import without_unpublished
from recveil.attack.released import ReleasedTable
from recveil.attack.scoreboard_rh import ScoreboardRH
from recveil.attack.statistics import Interval, area_under_curve
from recveil.attack.stronger import MEMBERSHIP
from recveil.brief import brief
from recveil.errors import RecveilError
from recveil.ratings import Ratings
from recveil.release.anonymizer import Anonymizer

# At most so many people inside, and so many outside, are scored.
_MOST_SCORED = 1000

# Scores everybody that something is known about, in some variants, shape (n_targets,) each; higher
# for those who fit better. The last argument is the range of the scale, in rating points.
Scorer: TypeAlias = Callable[
    [Candidates, Adversary, Knowledge, float], Sequence[NDArray[np.float64]]
]


@brief
class _Scores(NamedTuple):
    """One score of the people inside and of those outside; which of `SCORERS` gave it."""

    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    scorer: str


class Membership(NamedTuple):
    """Whether an adversary can tell who is in a release.

    Attributes
    ----------
    auc : Interval
        How often somebody inside scores above somebody outside; at 0.5 this score tells nothing,
        which is no evidence that no other does.
    members, outsiders : int
        How many people inside and outside the area was measured on.
    skipped : int
        People who were asked for, but of whom the adversary cannot know enough.
    scorer : str
        Which of `SCORERS` told best; "" if nobody could be scored.
    """

    auc: Interval
    members: int
    outsiders: int
    skipped: int
    scorer: str = ""


def membership(
    ratings: Ratings,
    anonymizer: Anonymizer,
    adversary: Adversary,
    holdout: float = 0.2,
    seed: int = 0,
) -> Membership:
    """Anonymize some of the people, and see whether an adversary can tell them from the others.

    Everybody is scored in each of the ways of `SCORERS`; members should reach more. Half of the
    people decide which score tells best; the area is measured on the other half.

    Parameters
    ----------
    ratings : Ratings
    anonymizer : Anonymizer
        Anything with ``anonymize(ratings) -> Release``. If it has a `k`, the release must claim it.
    adversary : Adversary
        Dates and number of ratings are left out, as in `attack_release`.
    holdout : float
        Share of the users who are left out of the release, between 0 and 1.
    seed : int
        Fixes who is left out and what is known; the anonymizer keeps its own.

    Raises
    ------
    RecveilError
        If nobody would be inside, or nobody outside, or the release claims another k.

    Notes
    -----
    At most 1,000 people inside and 1,000 outside are scored. An area within its interval of 0.5
    says that this score does not tell. Others do: on padded rows of MovieLens 100K with k = 5,
    where the area is 0.57, an attack on the residuals of all rows (`experiments/residual.py`)
    comes to 0.90 with 16 known ratings, and to 0.99 with all.

    Examples
    --------
    >>> from recveil.anonymize import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    >>> anonymizer = PredictiveAnonymizer(k=5, seed=1)
    >>> result = membership(ratings, anonymizer, Adversary(known=4), holdout=0.25)
    >>> result.members, result.outsiders, result.skipped  # three have too few ratings
    (21, 7, 3)
    """
    n_outside = round(holdout * ratings.n_users) if 0 < holdout < 1 else 0
    if not 0 < n_outside < ratings.n_users:
        raise RecveilError(
            f"holdout is {holdout} of {ratings.n_users} users; expected a share between 0 and 1 "
            f"that leaves somebody inside and somebody outside"
        )
    order = np.random.default_rng(seed).permutation(ratings.n_users)
    outside, inside = order[:n_outside], order[n_outside:]
    release = anonymizer.anonymize(_only(ratings, np.sort(inside)))
    claimed = release.published.claim.k
    if getattr(anonymizer, "k", claimed) != claimed:
        raise RecveilError(
            f"the anonymizer's k is {getattr(anonymizer, 'k', None)}, "
            f"but its release claims k = {claimed}; a release must claim the k that was asked for"
        )
    candidates = ReleasedTable.from_release(release, ratings).candidates
    asked = np.sort(inside[:_MOST_SCORED]), np.sort(outside[:_MOST_SCORED])
    blunted = without_unpublished(ratings, adversary)
    known = [draw_knowledge(ratings, blunted, users, seed) for users in asked]
    if not all(about.targets.size for about in known):
        none = area_under_curve([], [])
        return Membership(none, 0, 0, sum(about.skipped for about in known))
    scores = _all_scores(candidates, blunted, known, ratings.scale.range)
    of_members, of_outsiders = _choose(scores)
    return Membership(
        auc=area_under_curve(of_members, of_outsiders),
        members=of_members.size,
        outsiders=of_outsiders.size,
        skipped=sum(about.skipped for about in known),
        scorer=scores[_most_telling(scores)].scorer,
    )


def describe_membership(auc: Interval, who: str = "They") -> str:
    """Say how well somebody can tell who was in the data, graded by the area.

    An area that is not high reassures nobody: this test is weaker than others that are known.

    Parameters
    ----------
    auc : Interval
        From `membership`.
    who : str
        The sentence's first words.

    Examples
    --------
    >>> for sentence in describe_membership(Interval(0.57, 0.49, 0.64, 200)).split(". "):
    ...     print(sentence[:76])
    By this test, they did not tell who was in the data at all (AUC 0.57, 0.49 t
    This test is a weak one, and its area a lower bound: on padded rows of Movie
    >>> describe_membership(Interval(0.98, 0.97, 0.99, 200), "An adversary")
    'An adversary can nearly always tell who was in the data at all (AUC 0.98, 0.97 to 0.99; 0.5 \
is a coin, 1 is certainty).'
    """
    # An area is how often they are right about a pair of people, one inside and one outside.
    grades = (
        (0.6, "can tell little better than a coin"),
        (0.75, "can sometimes tell"),
        (0.95, "can often tell"),
        (math.inf, "can nearly always tell"),
    )
    told = f"By this test, {who[0].lower()}{who[1:]} did not tell"
    if auc.low > 0.5:
        told = f"{who} {next(words for edge, words in grades if auc.rate < edge)}"
    sentence = (
        f"{told} who was in the data at all (AUC {auc.rate:.2f}, {auc.low:.2f} to "
        f"{auc.high:.2f}; 0.5 is a coin, 1 is certainty)."
    )
    is_certain = auc.low > 0.5 and auc.rate >= grades[-2][0]
    return sentence if is_certain else f"{sentence} {MEMBERSHIP}"


def _only(ratings: Ratings, users: NDArray[np.int64]) -> Ratings:
    """Return the ratings of some users; all items stay.

    Examples
    --------
    >>> ratings = Ratings.from_columns([1, 2, 2], ["a", "a", "b"], [5, 1, 2])
    >>> _only(ratings, np.array([0])).items
    array(['a', 'b'], dtype=object)
    """
    lengths = ratings.activity[users]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(ratings.indptr[users] - indptr[:-1], lengths) + np.arange(indptr[-1])
    days = None if ratings.days is None else ratings.days[places]
    return Ratings(
        users=ratings.users[users],
        items=ratings.items,
        indptr=indptr,
        indices=ratings.indices[places],
        values=ratings.values[places],
        days=days,
        scale=ratings.scale,
    )


def _choose(scores: list[_Scores]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores that tell best, judged on every other person; keep the rest to report on.

    Who picks the best of several scores and measures it on the same people sees more than is there.
    """
    inside, outside, *_ = scores[_most_telling(scores)]
    return inside[1::2], outside[1::2]


def _most_telling(scores: list[_Scores]) -> int:
    """Return which score tells members from outsiders best, judged on every other person."""
    areas = [area_under_curve(inside[::2], outside[::2]).rate for inside, outside, *_ in scores]
    return int(np.argmax(areas))


def _all_scores(
    candidates: Candidates, adversary: Adversary, known: list[Knowledge], scale_range: float
) -> list[_Scores]:
    """Score members and outsiders in all ways."""
    found = []
    for name, scorer in SCORERS.items():
        inside, outside = (scorer(candidates, adversary, about, scale_range) for about in known)
        pairs = zip(inside, outside, strict=True)
        found += [_Scores(of_members, of_outsiders, name) for of_members, of_outsiders in pairs]
    return found


def score_by_scoreboard_rh(
    candidates: Candidates, _adversary: Adversary, known: Knowledge, _scale_range: float
) -> list[NDArray[np.float64]]:
    """Return the highest score that a record reaches, as a share of the most it could be."""
    support = np.maximum(candidates.support, 1)
    most = _sum_by_target(known, 1 / np.log(np.maximum(support, 2)))
    return [ScoreboardRH().attack(candidates, known, _nobodys(known)).score / most]


def score_by_likelihood(
    candidates: Candidates, adversary: Adversary, known: Knowledge, scale_range: float
) -> list[NDArray[np.float64]]:
    """Return how likely the likeliest record makes what is known, by several spreads of labels.

    Then the same once more with regard to how rare the known items are: much of a score cannot be
    chance if they are.
    """
    odds = [
        attack.attack(candidates, known, _nobodys(known)).score
        for attack in likelihoods_for_means(adversary, scale_range)
    ]
    rarity = np.log(candidates.n_people / np.maximum(candidates.support, 1))
    rare = _sum_by_target(known, rarity)
    return [*odds, *(odd + rare for odd in odds)]


# By these names; another one is another entry.
SCORERS: dict[str, Scorer] = {
    "scoreboard-rh": score_by_scoreboard_rh,
    "likelihood": score_by_likelihood,
}


def _nobodys(known: Knowledge) -> NDArray[np.int64]:
    """Say of everybody that no record is theirs: the score must not depend on it."""
    return np.full(int(known.targets.max(initial=0)) + 1, -1)


def _sum_by_target(known: Knowledge, of_item: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.add.reduceat(of_item[known.items], known.indptr[:-1])
