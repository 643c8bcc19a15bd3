"""Results of attacks on a release, with sentences for users."""

from dataclasses import dataclass
from typing import Any

from recveil.attacks import Adversary
from recveil.attacks.statistics import Interval
from recveil.auditing.findings import Content, FoundInRelease
from recveil.auditing.outcome import plain_attack, plain_membership
from recveil.auditing.release_verdict import describe_findings, headline
from recveil.auditing.statements import (
    Statement,
    also_known,
    describe_members,
    remarks_of,
    rows_of,
    sentences_of,
)
from recveil.auditing.verdict import COVERAGE, Uncovered, not_covered
from recveil.methods.registry import same_again
from recveil.ratings.ratings import in_likes
from recveil.release.claim import Claim
from recveil.release.manifest import Manifest
from recveil.release.private_folder import OTHER_RATINGS
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True)
class AttackedRelease(FoundInRelease):
    """Results of attacks on a release, with warnings and a verdict.

    The parameters are those of `FoundInRelease`.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for JSON and the HTML page."""
        return {
            "name": self.name,
            "claim": self.manifest.claim.kind,
            "k": self.manifest.claim.k,
            "levels": self.manifest.claim.levels,
            "layout": self.manifest.layout,
            "settings": dict(self.manifest.settings),
            "sha256": self.manifest.sha256,
            "same_ratings": self.same_ratings,
            "unprotected": self.unprotected,
            "lowest_level": self.lowest_level,
            "columns": columns_of(self.manifest.claim),
            "attacks": [plain_attack(adversary, attack) for adversary, attack in self.attacks],
            "membership": self.membership
            and plain_membership(self.membership, self.by_known, likes=self.manifest.scale.unary),
            "attributes": self.attributes and self.attributes.to_dict(),
            "all_known": self.all_known
            and plain_attack(Adversary(known=1, name="all ratings"), self.all_known),
            "clusters": self.clusters and self.clusters.to_dict(),
            "residual": self.residual and self.residual.to_dict(),
            "ratings_as_they_are": self.lone_share,
            "ratings_exact": self.as_given and self.as_given.exact_share,
            "labels_exact": self.as_given and self.as_given.label_share,
            "rounding": self.as_given and self.as_given.within,
            "ratings_near": self.as_given and self.as_given.near_share,
            "labels_near": self.as_given and self.as_given.near_label_share,
            **(Content([], None, None) if self.content is None else self.content).to_dict(),
            "against": self.against and self.against.to_dict(),
            "hidden_items": self.hidden_items and self.hidden_items.to_dict(),
            "shadows": self.shadows and self.shadows.to_dict(),
            "headline": self.headline(),
            "verdict": self.verdict(),
            "rows": [row._asdict() for row in rows_of(self.told())],
            "remarks": remarks_of(self.told()),
            "warnings": self.warnings(),
        }

    def warnings(self) -> list[str]:
        """Return what was not measured, or measured on too few users."""
        rare = [
            Uncovered(adversary.name, attack.skipped, attack.requested, attack.person_found.rate)
            for adversary, attack in self.attacks
            if attack.requested - attack.skipped < COVERAGE * attack.requested
        ]
        is_unary = self.manifest.scale.unary
        warnings = [in_likes(each, is_unary) for each in not_covered(rare, "In the release, ")]
        if self.untried:
            warnings.append(
                f"The release has too many labels to strike out {self.untried}; who takes the time "
                f"may find more people."
            )
        if self.same_ratings is False:
            warnings.append(OTHER_RATINGS)
        warnings += [] if self.content is None else self.content.warnings()
        warnings += self.against.warnings() if self.against else []
        why = self.unmeasured and (
            f"because no such release can be made of four fifths of the people: {self.unmeasured}"
        )
        why = why or (_cannot_be_repeated(self.manifest) if self.membership is None else "")
        if why:
            warnings.append(
                f"Whether an adversary can tell who was in the data was not measured, {why}."
            )
        return warnings

    def verdict(self) -> list[str]:
        """Return the findings and their meaning as sentences."""
        return sentences_of(self.told())

    def told(self) -> list[Statement]:
        """Return the findings as sentences and as table rows."""
        return describe_findings(self, self.warnings(), self.about_membership())

    def headline(self) -> str:
        """Return the re-identification rate and the guarantee in one sentence."""
        return headline(self)

    def about_membership(self) -> list[Statement]:
        """Describe membership inference for each amount of knowledge."""
        likes = self.manifest.scale.unary
        shadows: list[Statement] = []
        if self.shadows is None:
            strongest = None
        else:
            shadows = [Statement(each) for each in self.shadows.sentences(likes=likes)]
            strongest = self.shadows.strongest
        if self.membership is None:
            return shadows
        told = describe_members(
            *(self.membership, self.by_known, self.attributes), likes=likes, shadows=strongest
        )
        return told + shadows

    @property
    def best_membership(self) -> tuple[str, Interval] | None:
        """Return the best membership adversary and its AUC; None if too few users were measured."""
        is_unary = self.manifest.scale.unary
        told = {
            f"who knows {known} {'likes' if is_unary else 'ratings'} of a user"
            f"{also_known(found.scorer, is_unary=is_unary)}": found.auc
            for known, found in self.by_known.items()
            if found.is_told
        }
        return max(told.items(), key=lambda each: each[1].rate) if told else None


def _cannot_be_repeated(manifest: Manifest) -> str:
    """Return why such a release cannot be made of other users; empty if it can or is not needed."""
    if manifest.claim.levels:
        return (
            "because it needs a release without some of the people, and with privacy levels they "
            "would take theirs along"
        )
    method = manifest.known_method
    if method is None:
        return "because nobody said how it was made"
    return "" if same_again(manifest, 0) is not None else f"because {method.why_not_again}"


def columns_of(claim: Claim) -> dict[str, str]:
    """Return the column titles of the rates; where real ratings stay, a record is one user's.

    Examples
    --------
    >>> columns_of(Claim("co-rated", 5))["group_found"]
    'the very record alone on top'
    """
    names = {"group_found": "group found", "person_found": "person found", "bound": "bound"}
    if claim.about.one_person_each:
        names["group_found"] = "the very record alone on top"
        names["person_found"] = "person found, ties shared"
    if claim.levels:
        names["bound"] = "mean of 1/k"
    return names
