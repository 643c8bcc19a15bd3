"""Linkage of two releases of the same users."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Adversary, Interval, Mean, ReleasedTable
from recveil.attacks.linkage import (
    Intersection,
    JointFinding,
    LinksOfTwo,
    find_in_both,
    groups_of,
    infer_links,
    intersect,
)
from recveil.attacks.reidentification.nominal_pairs import pairs_of, released_pairs
from recveil.attacks.statistics import no_better
from recveil.ratings import Ratings
from recveil.ratings.ratings import in_likes
from recveil.release.manifest import Manifest
from recveil.release.manifest_reader import known_manifest
from recveil.release.pseudonyms import hides_items
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True)
class Against:
    """What two releases of the same users reveal together."""

    name: str
    k: int
    found: Intersection
    finding: list[tuple[str, JointFinding]]
    links: LinksOfTwo | None
    hiding: tuple[str, ...] = ()
    likes: bool = False

    @property
    def strongest(self) -> tuple[str, JointFinding]:
        """The adversary who re-identifies most users with both releases."""
        return max(self.finding, key=lambda pair: pair[1].person_in_both.rate)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for JSON and the HTML page."""
        found = self.found
        return {
            "name": self.name,
            "k": self.k,
            "people": found.people,
            "alone": found.alone.rate,
            "alone_interval": found.alone._asdict(),
            "alone_in_one": found.alone_in_one,
            "below_k": found.below_k.rate,
            "below_k_interval": found.below_k._asdict(),
            "mean_people": found.mean_people.mean,
            "mean_people_interval": _of_mean(found.mean_people),
            "finding": [_of_finding(name, finding) for name, finding in self.finding],
            "hiding": list(self.hiding),
            "links": self.links
            and {
                "one": _of_mean(self.links.one),
                "both": _of_mean(self.links.both),
                "stranger": _of_mean(self.links.stranger),
                "popularity": _of_mean(self.links.popularity),
            },
            "verdict": self.verdict(),
            "warnings": self.warnings(),
        }

    def warnings(self) -> list[str]:
        """Warn if the guarantee of each release does not hold for both together."""
        found = self.found
        if not found.below_k.rate:
            return []
        return [
            f"With “{self.name}”, too, an adversary has more than either release promises: of "
            f"{describe_count(found.people, 'user')} in both releases, {_percent(found.alone)} are "
            f"the only one in both their groups, and {_percent(found.below_k)} share both with "
            f"fewer than k = {self.k} ({found.mean_people.mean:.1f} users on average). Publish one "
            f"of the two."
        ]

    def verdict(self) -> list[str]:
        """Describe what two releases reveal in practice; warnings are separate."""
        sentences = [] if self.found.below_k.rate else [self._no_user_below()]
        return [
            *sentences,
            *self._describe_hidden(),
            self._describe_found(),
            self._describe_links(),
        ]

    def headline(self) -> str:
        """Return a sentence for the headline; empty if both releases reveal no more users."""
        name, finding = self.strongest
        if finding.person_in_both.rate <= finding.person_in_one.rate:
            return ""
        return (
            f"By both this release and “{self.name}”, {finding.person_in_both.rate:.1%} are found "
            f"(by “{name}”): what is promised holds for one release alone."
        )

    def _no_user_below(self) -> str:
        return (
            f"Of {describe_count(self.found.people, 'user')} who are also in “{self.name}”, none "
            f"shares both groups with fewer than k = {self.k} ({self.found.mean_people.mean:.1f} "
            f"on average). This is about groups alone; other labels of the same group may "
            f"reveal more."
        )

    def _describe_hidden(self) -> list[str]:
        """State that the results do not assume hidden items to be unknown."""
        if not self.hiding:
            return []
        which = " and ".join(f"“{name}”" for name in self.hiding)
        return [
            f"Items stand under pseudonyms in {which}. What follows is what somebody finds who "
            f"knows which item is which: two releases of the same people help to name them."
        ]

    def _describe_found(self) -> str:
        name, finding = self.strongest
        if finding.skipped == finding.requested:
            return "No user could be attacked in both releases, which shows nothing."
        alone = finding.person_in_one.rate
        nothing_new = no_better(
            finding.person_in_both, alone, "one release alone gives", "the other one"
        )
        return (
            f"To use both, an adversary must find a person’s row in each: of "
            f"{describe_count(finding.requested, 'user')}, "
            f"“{name}” finds {_percent(finding.both)} in both "
            f"({finding.first.rate:.1%} in this one, {finding.second.rate:.1%} in "
            f"“{self.name}”). If the adversary learns who shares each row, a blind pick among the "
            f"users of both rows is right for {_percent(finding.person_in_both)}{nothing_new}; "
            f"by one release alone for {alone:.1%}, and with another user's row in the other "
            f"one for {finding.stranger.rate:.1%}. An attack on both at once may find more."
        )

    def _describe_links(self) -> str:
        links = self.links
        if links is None:
            return "The rows are too large to measure which items two of them reveal."
        if not links.both.trials:
            return "No items stand out in both rows of any user; better attacks may reveal some."
        one = f"{links.one.mean:.1%} of those" if links.one.trials else "none"
        strange = f"{links.stranger.mean:.1%}" if links.stranger.trials else "none"
        popular = "as many of the most rated items give"
        nothing_new = no_better(links.both, links.popularity.mean, popular) or no_better(
            links.both, links.stranger.mean, "another user’s second row gives"
        )
        told = (
            f"Of the items that stand out in both rows of a user, the user rated (the mean of "
            f"{describe_count(links.both.trials, 'user')}) "
            f"{links.both.mean:.1%} ({links.both.low:.1%} to {links.both.high:.1%})"
            f"{nothing_new}; {one} that "
            f"stand out in one row, {strange} with another user’s second row, and "
            f"{links.popularity.mean:.1%} of as many of the most rated items. Better attacks "
            f"reveal more."
        )
        return in_likes(told, self.likes)

    def _facts(self) -> dict[str, object]:
        return {
            "": self.name,
            "people": self.found.people,
            "alone": f"{self.found.alone.rate:.1%}",
            "below k": f"{self.found.below_k.rate:.1%}",
        }


@brief
class OtherRelease(NamedTuple):
    """Another release of the same users."""

    name: str
    table: ReleasedTable
    manifest: Manifest
    # Positions of the users who are in both releases
    common: NDArray[np.int64]


def read_other(ratings: Ratings, table: ReleasedTable, other: str | PathLike[str]) -> OtherRelease:
    """Read another release of the same users."""
    folder = Path(other).resolve()
    manifest = known_manifest(folder)
    if not manifest.contains_users:
        raise RecveilError(
            f"against (--against) is {quoted(folder.name)}: no record of it is anybody's, so that "
            f"there is nobody to be found in both; what the two tell adds up. Leave it out",
            code="option.unsupported",
        )
    second = ReleasedTable.from_folder(folder, ratings)
    common = np.flatnonzero((groups_of(table) >= 0) & (groups_of(second) >= 0))
    if common.size < 2:
        raise RecveilError(
            f"against (--against) is {quoted(folder.name)}: {common.size} of its people stand in "
            f"the audited release, too; expected another release of the same people",
            code="release.mismatch",
        )
    return OtherRelease(folder.name, second, manifest, common)


def hold_against(
    ratings: Ratings,
    table: ReleasedTable,
    manifest: Manifest,
    other: OtherRelease,
    adversaries: list[Adversary],
    targets: NDArray[np.int64],
    seed: int = 0,
    *,
    own_name: str = "this release",
) -> Against:
    """Attack two releases of the same users together; both private folders are the ground truth."""
    name, second, again, common = other
    hiding = [
        called
        for called, told in ((own_name, manifest), (name, again))
        if hides_items(told.settings)
    ]
    attacked = _attacked(ratings, table, second)
    promised = np.minimum(_promised(table, manifest), _promised(second, again))
    inside = targets[np.isin(targets, common)]
    if inside.size < 2:
        inside = common
    return Against(
        name=name,
        k=int(promised[common].min()),
        found=intersect(table, second, promised),
        finding=[
            (
                adversary.name,
                find_in_both(*attacked, adversary, inside, seed),
            )
            for adversary in adversaries
        ],
        links=infer_links(ratings, table, second, inside, seed),
        hiding=tuple(hiding),
        likes=ratings.is_unary,
    )


def _attacked(
    ratings: Ratings, first: ReleasedTable, second: ReleasedTable
) -> tuple[Ratings, ReleasedTable, ReleasedTable]:
    """Return the tables to attack; nominal labels become pairs of item and word."""
    if ratings.scale.ordered:
        return ratings, first, second
    return pairs_of(ratings), released_pairs(first, ratings), released_pairs(second, ratings)


def _promised(table: ReleasedTable, manifest: Manifest) -> NDArray[np.int64]:
    """Return the guaranteed minimum group size of each user."""
    promised = np.full(table.record_of.size, manifest.claim.k, np.int64)
    if manifest.claim.levels:
        inside = table.record_of >= 0
        promised[inside] = table.promised[table.record_of[inside]]
    return promised


def _of_finding(name: str, finding: JointFinding) -> dict[str, Any]:
    rates = ("first", "second", "both", "person_in_one", "person_in_both", "stranger")
    return {
        "name": name,
        "targets_requested": finding.requested,
        "targets_skipped": finding.skipped,
        **{rate: getattr(finding, rate)._asdict() for rate in rates},
    }


def _of_mean(mean: Mean) -> dict[str, Any]:
    """Return a mean as plain data; None for what JSON cannot hold."""
    return {key: value if np.isfinite(value) else None for key, value in mean._asdict().items()}


def _percent(interval: Interval) -> str:
    return f"{interval.rate:.1%} ({interval.low:.1%} to {interval.high:.1%})"
