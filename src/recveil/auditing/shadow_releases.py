"""Membership inference with shadow releases of halves of the users."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Adversary, Anonymizer, AttackTarget, choose_targets, draw_knowledge
from recveil.attacks.attack_target import PairAnonymizer, pairs_of
from recveil.attacks.knowledge import Knowledge, know_everything
from recveil.attacks.membership.inference import only
from recveil.attacks.membership.noisy_sums import SumProducts, log_odds_by_sums
from recveil.attacks.membership.shadow_models import (
    Flags,
    InferredMembers,
    Numbers,
    OfUsers,
    ShadowScorer,
    area_over_clusters,
    areas_of_users,
    check_shadows,
    decide_members,
    infer_members,
    judge_members,
    learn_population,
    likelihood_ratios,
    shuffle_membership,
)
from recveil.attacks.reidentification.on_release import without_unpublished
from recveil.attacks.statistics import FEWEST, GroupRate, Interval, quarters
from recveil.methods.published_users import DeclaredAttributes
from recveil.methods.registry import same_again
from recveil.methods.synthetic.synthesizer import Synthesizer
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.noisy_answers import Arrays as Answers
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.progress import track
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief

# Maximum number of scored users, in a comparison and in an audit.
MAX_SCORED, MAX_SCORED_IN_AUDIT = 400, 2_000
# The least active users, who differ most from synthetic users, are a further group.
_LEAST_ACTIVE = 0.05
# Adversaries: number of exact ratings known of each user; None for all.
KNOWN_RATINGS: dict[str, int | None] = {"8": 8, "all": None}
# A model can be sampled without limit; sample this many synthetic users per user.
USERS_PER_USER = 5
# With fewer users, nothing is learned that could be measured on others.
_MIN_USERS = 4


class ByShadows(NamedTuple):
    """Membership inference of one adversary with shadow releases."""

    # Number of scored users: half of them train the attack and the other half test it, and vice
    # versa
    n_users: int
    # Users of whom the adversary cannot know enough
    skipped: int
    inferred: InferredMembers
    # The control: the AUC of the same attack when membership is assigned at random within each pair
    # of releases
    null_auc: Interval
    # The baseline: the AUC if only the exact item counts were published instead
    counts_auc: Interval
    # AUC and control by the number of ratings of a user
    by_user_count: tuple[GroupRate, ...] = ()
    of_users: OfUsers | None = None

    @property
    def most_exposed(self) -> GroupRate | None:
        """The group whose members are recognized best; None if no group was measured."""
        return max(self.by_user_count, key=lambda group: group.figure.rate, default=None)


@brief
@dataclass(frozen=True)
class ShadowMembership(Reportable):
    """Membership inference on releases of half of the users, by releases of other halves."""

    # Number of shadow releases
    n: int
    # Number of users; each release holds one half of them
    users: int
    # By number of exact ratings known of each user: "8" and "all". Users with fewer are left out.
    by_known: dict[str, ByShadows]
    # Whether the releases have noisy answers, which were attacked, too
    has_answers: bool = False
    # Whether the adversaries compared attributes of users
    has_attributes: bool = False

    @property
    def strongest(self) -> Interval | None:
        """The largest AUC; None if no user could be scored."""
        areas = [found.inferred.auc for found in self.by_known.values()]
        return max(areas, key=lambda auc: auc.rate, default=None)


def shadow_published(
    ratings: Ratings,
    folder: str | PathLike[str],
    n: int = 32,
    seed: int = 0,
    attributes: DeclaredAttributes | None = None,
) -> ShadowMembership:
    """Attack a published release with shadow releases; see `attack_by_shadows`."""
    manifest = known_manifest(Path(folder).resolve())  # its name is needed, and . has none
    make = shadow_maker(manifest, ratings.n_users, attributes)
    return attack_by_shadows(
        *(ratings, make, n, seed), n_scored=MAX_SCORED_IN_AUDIT, attributes=attributes
    )


def shadow_maker(
    manifest: Manifest, n_users: int, attributes: DeclaredAttributes | None = None
) -> Callable[[int], Anonymizer]:
    """Return a factory of anonymizers for halves, from a seed and a release's public settings."""
    manifest = _of_half(manifest, n_users)

    def make(seed: int) -> Anonymizer:
        anonymizer = same_again(manifest, seed, attributes)
        if anonymizer is None:
            method = manifest.known_method
            why = "its method is unknown" if method is None else method.why_not_again
            why = why or "each user has a privacy level"
            why = "it follows another release" if manifest.previous else why
            raise RecveilError(
                f"shadows (--shadows): no release like this one can be made, because {why}; leave "
                f"them out",
                code="release.unsupported",
            )
        return anonymizer

    make(0)  # fails here if it cannot be made
    return make


def _of_half(manifest: Manifest, n_users: int) -> Manifest:
    half = n_users // 2
    if manifest.layout == "model":
        return of_model(manifest, half)
    if manifest.settings.get("n_users") == "requested" and "users" in manifest.counts:
        drawn = max(1, round(manifest.counts["users"] / n_users * half))
        return _asking_for(manifest, drawn)
    return manifest


def of_model(manifest: Manifest, n_users: int) -> Manifest:
    """Return the manifest of synthetic users sampled from a model for an attack."""
    return _asking_for(manifest, USERS_PER_USER * n_users)


def _asking_for(manifest: Manifest, drawn: int) -> Manifest:
    settings = {**manifest.settings, "n_users": "requested"}
    return replace(manifest, settings=settings, counts={**manifest.counts, "users": drawn})


def attack_by_shadows(
    ratings: Ratings,
    make: Callable[[int], Anonymizer],
    n: int = 32,
    seed: int = 0,
    *,
    n_scored: int = MAX_SCORED,
    attributes: DeclaredAttributes | None = None,
) -> ShadowMembership:
    """Infer membership in releases of halves of the users from other such releases."""
    # Adversaries know the attributes of all users, if they are given.
    # Source: Carlini et al. 2022. At most `n_scored` users are scored. The population's model is
    # learned from the first two releases, which together hold all users.
    check_shadows(n)
    if not ratings.scale.ordered:  # nominal labels are attacked as pairs
        words, make_of_words = ratings, make
        ratings = pairs_of(words)

        def make(seed: int) -> Anonymizer:
            return PairAnonymizer(make_of_words(seed), words)

    if ratings.n_users < 2 * _MIN_USERS:
        raise RecveilError(
            f"shadows (--shadows): got {describe_count(ratings.n_users, 'user')}, expected at "
            f"least {2 * _MIN_USERS}; leave shadows out",
            code="table.too-few-users",
        )
    has_dates = ratings.days is not None and getattr(make(0), "dates", None) is not None
    known = _all_known(ratings, seed, n_scored, has_dates=has_dates)
    rng = np.random.default_rng([seed, 4])
    scorers: dict[str, ShadowScorer] = {}
    collected, of_answers = _Scores(), _AnswerScorer(ratings, known, seed)
    for pair in track(range(n // 2), "Making shadow releases", share=1):
        order = rng.permutation(ratings.n_users)
        middle = ratings.n_users // 2
        halves = [np.sort(half) for half in (order[:middle], order[middle:])]
        makers = [make(2 * pair + place + 1 + seed * (n + 1)) for place in range(2)]
        releases = [
            _release(ratings, half, maker) for half, maker in zip(halves, makers, strict=True)
        ]
        tables = [table for table, _ in releases]
        if not scorers:
            population = learn_population(tables)
            scorers = {
                name: ShadowScorer(
                    *(population, about, adversary, ratings.scale, ratings.csr),
                    attributes and attributes.of(ratings.users[about.targets]).columns,
                )
                for name, (about, adversary) in known.items()
            }
        for half, maker, (table, answers) in zip(halves, makers, releases, strict=True):
            log_odds = of_answers.log_odds(maker, answers)
            collected.add(ratings, half, table, scorers, log_odds)
    activity = ratings.activity
    by_known = {
        name: collected.judge(name, about, activity, seed) for name, (about, _) in known.items()
    }
    has = collected.has_answers, attributes is not None
    return ShadowMembership(n, ratings.n_users, by_known, *has)


def _all_known(
    ratings: Ratings, seed: int, n_scored: int, *, has_dates: bool
) -> dict[str, tuple[Knowledge, Adversary]]:
    """Return the knowledge of each adversary, with exact days if the releases have dates."""
    targets = choose_targets(ratings.n_users, n_scored, seed)
    known = {}
    for name, number in KNOWN_RATINGS.items():
        adversary = without_unpublished(ratings, Adversary(known=number or 8))
        if has_dates:
            adversary = replace(adversary, date_error=0)
        about = (
            know_everything(ratings, targets, has_dates=has_dates)
            if number is None
            else draw_knowledge(ratings, adversary, targets, seed)
        )
        if about.targets.size >= _MIN_USERS:
            known[name] = about, adversary
    return known


def _release(
    ratings: Ratings, half: NDArray[np.int64], maker: Anonymizer
) -> tuple[AttackTarget, Answers | None]:
    try:
        release = maker.anonymize(only(ratings, half))
        table = AttackTarget.from_release(release, ratings)
        n_absent = int((table.record_of[half] < 0).sum()) if table.contains_users else 0
        if n_absent:  # they would count as members who are hard to recognize
            raise RecveilError(
                f"the method leaves {n_absent:,} of {describe_count(half.size, 'user')} out; "
                f"infer membership without shadows",
                code="release.unsupported",
            )
        return table, release.published.answers
    except RecveilError as error:
        raise RecveilError(
            f"shadows (--shadows): no such release can be made of one half of the users: {error}",
            code=error.code,
        ) from error


class _AnswerScorer:
    """Tests membership by published noisy answers, given the ratings of all users."""

    def __init__(
        self, ratings: Ratings, known: dict[str, tuple[Knowledge, Adversary]], seed: int
    ) -> None:
        self._ratings = ratings
        self._known = {name: about for name, (about, _) in known.items()}
        each = [about.targets for about in self._known.values()]
        targets = np.unique(np.concatenate([np.empty(0, np.int64), *each]))
        others = np.setdiff1d(np.arange(ratings.n_users), targets)
        np.random.default_rng([seed, 5]).shuffle(others)
        n_others = max(0, MAX_SCORED_IN_AUDIT - targets.size)
        self._users = np.sort(np.concatenate([targets, others[:n_others]]))

    def log_odds(self, maker: Anonymizer, answers: Answers | None) -> dict[str, Numbers]:
        if answers is None or not isinstance(maker, Synthesizer):
            return {}
        users = maker.queried(only(self._ratings, self._users))
        tables = {
            name: maker.queried(self._table(about))
            for name, about in self._known.items()
            if KNOWN_RATINGS[name] is not None
        }
        places = {
            name: np.searchsorted(self._users, about.targets) for name, about in self._known.items()
        }
        parts: dict[str, list[SumProducts]] = {name: [] for name in places}
        for query in maker.answered_queries(self._ratings, answers):
            vectors = query.vectors(users)
            for name, place in places.items():
                known = query.vectors(tables[name]) if name in tables else vectors[place]
                part = SumProducts.of(vectors, known, query.off, is_symmetric=query.is_symmetric)
                parts[name].append(part)
        n_all = self._ratings.n_users
        return {name: log_odds_by_sums(of, places[name], n_all) for name, of in parts.items()}

    def _table(self, about: Knowledge) -> Ratings:
        values = np.ones(about.items.size, np.float32) if about.values is None else about.values
        order = np.lexsort(
            (about.items, np.repeat(np.arange(about.targets.size), np.diff(about.indptr)))
        )
        return Ratings(
            self._ratings.users[about.targets],
            self._ratings.items,
            about.indptr,
            about.items[order],
            values[order],
            None if about.days is None else about.days[order],
            self._ratings.scale,
        )


class _Scores:
    """Scores of the releases, collected one by one."""

    def __init__(self) -> None:
        self._log_odds: dict[str, list[Numbers]] = {name: [] for name in KNOWN_RATINGS}
        self._halves: list[NDArray[np.int64]] = []
        self._by_release: dict[str, list[dict[str, Numbers]]] = {name: [] for name in KNOWN_RATINGS}
        self._by_counts: dict[str, list[dict[str, Numbers]]] = {name: [] for name in KNOWN_RATINGS}

    def add(
        self,
        ratings: Ratings,
        half: NDArray[np.int64],
        table: AttackTarget,
        scorers: dict[str, ShadowScorer],
        log_odds: dict[str, Numbers],
    ) -> None:
        """Score all users by one release and its answers, and by exact counts of its users."""
        self._halves.append(half)
        counts = only(ratings, half).support.astype(np.float64)
        shares = ratings.support / ratings.n_users
        for name, scorer in scorers.items():
            self._by_release[name].append(scorer.score(table))
            self._by_counts[name].append(scorer.by_counts(counts, shares, half.size))
        for name, found in log_odds.items():
            self._log_odds[name].append(found)

    @property
    def has_answers(self) -> bool:
        return any(len(found) == len(self._halves) for found in self._log_odds.values())

    def judge(
        self, name: str, about: Knowledge, activity: NDArray[np.int64], seed: int
    ) -> ByShadows:
        """Attack each release with all others as shadow releases."""
        inside = np.stack([np.isin(about.targets, half) for half in self._halves], axis=1)
        scores = _stack(self._by_release[name])
        log_odds = None
        if self.has_answers:
            log_odds = np.stack(self._log_odds[name], axis=1)
            scores["answers"] = log_odds
        control = shuffle_membership(inside, seed)
        found, null = (
            decide_members(likelihood_ratios(scores, each), each, log_odds)
            for each in (inside, control)
        )
        counts = likelihood_ratios(_stack(self._by_counts[name]), inside)
        return ByShadows(
            n_users=about.targets.size,
            skipped=about.skipped,
            inferred=judge_members(found, inside),
            null_auc=judge_members(null, control).auc,
            counts_auc=infer_members(counts, inside).auc,
            by_user_count=_by_user_count(found, null, inside, control, activity, about.targets),
            of_users=OfUsers(
                tuple(about.targets.tolist()),
                areas_of_users(found, inside),
                areas_of_users(null, control),
            ),
        )


def _by_user_count(
    found: Numbers,
    null: Numbers,
    inside: Flags,
    control: Flags,
    activity: NDArray[np.int64],
    targets: NDArray[np.int64],
) -> tuple[GroupRate, ...]:
    """Return the AUC of the least active users, and of each quarter with at least 20 users."""
    found_quarters = quarters(activity.astype(np.float64))
    fewest = float(np.quantile(activity, _LEAST_ACTIVE, method="lower"))
    groups: list[tuple[str, float | None, Flags]]
    groups = [(f"least active {_LEAST_ACTIVE:.0%}", fewest, activity[targets] <= fewest)]
    groups += [
        (name, highest, found_quarters.codes[targets] == group)
        for group, (name, highest) in enumerate(
            zip(found_quarters.names, found_quarters.highest, strict=True)
        )
    ]
    return tuple(
        GroupRate(
            *(name, highest, area_over_clusters(found[chosen], inside[chosen])),
            area_over_clusters(null[chosen], control[chosen]),
        )
        for name, highest, chosen in groups
        if chosen.sum() >= FEWEST
    )


def _stack(scores: list[dict[str, Numbers]]) -> dict[str, Numbers]:
    """Stack the scores by release; a score missing from one release carries no information."""
    names = [name for name in scores[0] if all(name in one for one in scores)]
    return {name: np.stack([one[name] for one in scores], axis=1) for name in names}
