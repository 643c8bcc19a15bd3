"""Membership inference with shadow releases of halves of the users."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Adversary, Anonymizer, ReleasedTable, choose_targets, draw_knowledge
from recveil.attacks.knowledge import Knowledge, know_everything
from recveil.attacks.membership.held_out import only
from recveil.attacks.membership.shadow_models import (
    Flags,
    InferredMembers,
    Numbers,
    ShadowScorer,
    by_lot,
    check_shadows,
    infer_members,
    learn_population,
    likelihood_ratios,
)
from recveil.attacks.reidentification.nominal_pairs import OfPairs, pairs_of
from recveil.attacks.reidentification.on_release import without_unpublished
from recveil.attacks.statistics import Interval
from recveil.methods.registry import same_again
from recveil.ratings import Ratings
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.runtime.errors import RecveilError, describe_count
from recveil.runtime.progress import track
from recveil.runtime.safe_repr import brief

# Maximum number of scored users; each needs all shadow releases.
MOST_JUDGED = 400
# Adversaries: number of exact ratings known of each user; None for all.
SHADOWERS: dict[str, int | None] = {"8": 8, "all": None}
# A model can be sampled without limit; sample this many synthetic users per user.
FROM_A_MODEL = 5
# With fewer users, nothing is learned that could be measured on others.
_FEWEST_PEOPLE = 4


class ByShadows(NamedTuple):
    """Membership inference of one adversary with shadow releases."""

    # Number of scored users: half of them train the attack and the other half test it, and vice
    # versa
    people: int
    # Users of whom the adversary cannot know enough
    skipped: int
    told: InferredMembers
    # The control: the AUC of the same attack when membership is assigned at random within each pair
    # of releases
    null_auc: Interval
    # The baseline: the AUC if only the exact item counts were published instead
    counts_auc: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        told = self.told._asdict() | {"null_auc": self.null_auc, "counts_auc": self.counts_auc}
        plain = {name: interval._asdict() for name, interval in told.items()}
        return {"people": self.people, "skipped": self.skipped, **plain}


@brief
class ShadowMembership(NamedTuple):
    """Membership inference on releases of half of the users, by releases of other halves."""

    # Number of shadow releases
    n: int
    # Number of users; each release holds one half of them
    people: int
    # By number of exact ratings known of each user: "8" and "all". Users with fewer are left out.
    by_known: dict[str, ByShadows]

    @property
    def strongest(self) -> Interval | None:
        """The largest AUC; None if no user could be scored."""
        areas = [found.told.auc for found in self.by_known.values()]
        return max(areas, key=lambda auc: auc.rate, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON and the HTML page."""
        by_known = {known: found.to_dict() for known, found in self.by_known.items()}
        return {"n": self.n, "people": self.people, **by_known}

    def sentences(self, *, likes: bool = False) -> list[str]:
        """Return the findings as sentences; likes have no ratings."""
        what = "likes" if likes else "exact ratings"
        told = [
            f"From shadow releases, an adversary learns how one user changes a release. This was "
            f"measured with {self.n} releases, each of one half of the "
            f"{describe_count(self.people, 'user')}; a release of all of them hides a user among "
            f"twice as many."
        ]
        return told + [_describe(known, found, what) for known, found in self.by_known.items()]


def _describe(known: str, found: ByShadows, what: str) -> str:
    """Describe one adversary's AUC, next to 0.5 and item counts."""
    auc, counts = found.told.auc, found.counts_auc
    chose = "liked" if what == "likes" else "rated"
    coin = "" if auc.low > 0.5 else ", which is no evidence that nothing is told"
    return (
        f"Who knows {known} {what} of somebody tells so, with AUC {auc.rate:.2f} "
        f"({auc.low:.2f} to {auc.high:.2f}; 0.5 is a coin){coin}, whether they are in such a "
        f"release of one half, and recognizes {found.told.tpr_at_1.rate:.1%} of the members with "
        f"1 % of the others taken for members, {found.told.tpr_at_5.rate:.1%} with 5 %. Exact "
        f"counts of who {chose} each item, if nothing else were published, would tell with AUC "
        f"{counts.rate:.2f}; the same attack reaches {found.null_auc.rate:.2f} where it is drawn "
        f"by lot who is a member."
    )


def shadow_published(
    ratings: Ratings, folder: str | PathLike[str], n: int = 32, seed: int = 0
) -> ShadowMembership:
    """Attack a published release with shadow releases; see `attack_by_shadows`."""
    manifest = known_manifest(Path(folder).resolve())  # its name is needed, and . has none
    return attack_by_shadows(ratings, shadow_maker(manifest, ratings.n_users), n, seed)


def shadow_maker(manifest: Manifest, n_users: int) -> Callable[[int], Anonymizer]:
    """Return a factory of anonymizers for halves, from a seed and a release's public settings."""
    manifest = _of_half(manifest, n_users)

    def make(seed: int) -> Anonymizer:
        anonymizer = same_again(manifest, seed)
        if anonymizer is None:
            method = manifest.known_method
            why = "nobody said how it was made" if method is None else method.why_not_again
            why = why or "privacy levels are people's own"
            raise RecveilError(
                f"shadows (--shadows): no release like this one can be made, because {why}; leave "
                f"them out",
                code="release.unsupported",
            )
        return anonymizer

    make(0)  # fails here if it cannot be made
    return make


def _of_half(manifest: Manifest, n_users: int) -> Manifest:
    """Keep the number of synthetic users per user."""
    half = n_users // 2
    if manifest.layout == "model":
        return of_model(manifest, half)
    if manifest.settings.get("people") == "asked for" and "users" in manifest.counts:
        drawn = max(1, round(manifest.counts["users"] / n_users * half))
        return _asking_for(manifest, drawn)
    return manifest


def of_model(manifest: Manifest, n_users: int) -> Manifest:
    """Return the manifest of synthetic users sampled from a model for an attack."""
    return _asking_for(manifest, FROM_A_MODEL * n_users)


def _asking_for(manifest: Manifest, drawn: int) -> Manifest:
    settings = {**manifest.settings, "people": "asked for"}
    return replace(manifest, settings=settings, counts={**manifest.counts, "users": drawn})


def attack_by_shadows(
    ratings: Ratings, make: Callable[[int], Anonymizer], n: int = 32, seed: int = 0
) -> ShadowMembership:
    """Infer membership in releases of halves of the users from other such releases.

    Notes
    -----
    Source: Carlini et al. 2022. At most 400 users are scored. The population's model is learned
    from the first two releases, which together hold all users.
    """
    check_shadows(n)
    if not ratings.scale.ordered:  # nominal labels are attacked as pairs
        words, make_of_words = ratings, make
        ratings = pairs_of(words)

        def make(seed: int) -> Anonymizer:
            return OfPairs(make_of_words(seed), words)

    if ratings.n_users < 2 * _FEWEST_PEOPLE:
        raise RecveilError(
            f"shadows (--shadows): got {describe_count(ratings.n_users, 'user')}, expected at "
            f"least {2 * _FEWEST_PEOPLE}; leave shadows out",
            code="table.too-few-users",
        )
    known = _all_known(ratings, seed)
    rng = np.random.default_rng([seed, 4])
    scorers: dict[str, ShadowScorer] = {}
    told = _Scores()
    for pair in track(range(n // 2), "Making shadow releases", share=1):
        order = rng.permutation(ratings.n_users)
        middle = ratings.n_users // 2
        halves = [np.sort(half) for half in (order[:middle], order[middle:])]
        tables = [
            _release(ratings, half, make, seed=2 * pair + place + 1 + seed * (n + 1))
            for place, half in enumerate(halves)
        ]
        if not scorers:
            people = learn_population(tables)
            scorers = {
                name: ShadowScorer(people, about, adversary, ratings.scale)
                for name, (about, adversary) in known.items()
            }
        for half, table in zip(halves, tables, strict=True):
            told.add(ratings, half, table, scorers)
    by_known = {name: told.judge(name, about, seed) for name, (about, _) in known.items()}
    return ShadowMembership(n, ratings.n_users, by_known)


def _all_known(ratings: Ratings, seed: int) -> dict[str, tuple[Knowledge, Adversary]]:
    """Return the knowledge of each adversary."""
    targets = choose_targets(ratings.n_users, MOST_JUDGED, seed)
    known = {}
    for name, number in SHADOWERS.items():
        adversary = without_unpublished(ratings, Adversary(known=number or 8))
        about = (
            know_everything(ratings, targets)
            if number is None
            else draw_knowledge(ratings, adversary, targets, seed)
        )
        if about.targets.size >= _FEWEST_PEOPLE:
            known[name] = about, adversary
    return known


def _release(
    ratings: Ratings, half: NDArray[np.int64], make: Callable[[int], Anonymizer], seed: int
) -> ReleasedTable:
    try:
        return ReleasedTable.from_release(make(seed).anonymize(only(ratings, half)), ratings)
    except RecveilError as error:
        raise RecveilError(
            f"shadows (--shadows): no such release can be made of one half of the people: {error}",
            code=error.code,
        ) from error


class _Scores:
    """Scores of the releases, collected one by one."""

    def __init__(self) -> None:
        self._halves: list[NDArray[np.int64]] = []
        self._by_release: dict[str, list[dict[str, Numbers]]] = {name: [] for name in SHADOWERS}
        self._by_counts: dict[str, list[dict[str, Numbers]]] = {name: [] for name in SHADOWERS}

    def add(
        self,
        ratings: Ratings,
        half: NDArray[np.int64],
        table: ReleasedTable,
        scorers: dict[str, ShadowScorer],
    ) -> None:
        """Score all users by one release, and by exact counts of its users."""
        self._halves.append(half)
        counts = only(ratings, half).support.astype(np.float64)
        shares = ratings.support / ratings.n_users
        for name, scorer in scorers.items():
            self._by_release[name].append(scorer.score(table))
            self._by_counts[name].append(scorer.by_counts(counts, shares, half.size))

    def judge(self, name: str, about: Knowledge, seed: int) -> ByShadows:
        """Attack each release with all others as shadow releases."""
        inside = np.stack([np.isin(about.targets, half) for half in self._halves], axis=1)
        scores = _side_by_side(self._by_release[name])
        lot = by_lot(inside, seed)
        return ByShadows(
            people=about.targets.size,
            skipped=about.skipped,
            told=_tell(scores, inside),
            null_auc=_tell(scores, lot).auc,
            counts_auc=_tell(_side_by_side(self._by_counts[name]), inside).auc,
        )


def _tell(scores: dict[str, Numbers], inside: Flags) -> InferredMembers:
    return infer_members(likelihood_ratios(scores, inside), inside)


def _side_by_side(scores: list[dict[str, Numbers]]) -> dict[str, Numbers]:
    """Stack the scores by release; a score missing from one release carries no information."""
    names = [name for name in scores[0] if all(name in one for one in scores)]
    return {name: np.stack([one[name] for one in scores], axis=1) for name in names}
