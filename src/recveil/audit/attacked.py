"""AttackedRelease: the same adversaries against a release of the same people."""

from dataclasses import dataclass, field
from typing import Any

from recveil.anonymize.methods import same_again
from recveil.attack import Adversary, Membership, ReleaseAttack
from recveil.attack.attributes import Attributes
from recveil.attack.hidden_items import HiddenItems, describe_hidden_items
from recveil.attack.statistics import Interval, no_better, percent
from recveil.attack.told_cells import ToldCells, describe_cells
from recveil.audit.against import Against
from recveil.audit.content import Content
from recveil.audit.given_words import describe_as_given
from recveil.audit.membership_words import describe_members, members_told
from recveil.audit.outcome import plain_attack, plain_membership
from recveil.audit.shadowing import ShadowMembership
from recveil.audit.verdict import COVERAGE, Uncovered, not_covered
from recveil.brief import brief
from recveil.ratings.likes import in_likes
from recveil.release.as_given import AsGiven
from recveil.release.claim import Claim
from recveil.release.made_of import OTHER_RATINGS
from recveil.release.manifest import Manifest


@brief
@dataclass(frozen=True)
class AttackedRelease:
    """What the adversaries achieve against a release.

    Parameters
    ----------
    name : str
        The release's folder.
    manifest : Manifest
        What it says of itself.
    attacks : list of (Adversary, ReleaseAttack)
    membership : Membership or None
        Whether the adversary can tell who was in the data, measured on a release that was made in
        the same way without a fifth of the people.
    lone_share : float or None
        With simple homogenizing, the share of the ratings that are published as they are because
        nobody else in the group rated the item.
    unmeasured : str
        Why membership could not be measured, if it was tried.
    unprotected : int or None
        With privacy levels, the people whose records promise nothing, because their level is 1
        and they share them with nobody of a higher one.
    lowest_level : int or None
        With privacy levels, the smallest k above 1 that a record promises; None if none does.
    untried : str
        Which labels of a co-rated release were not struck out, because to find them takes too long.
    as_given : AsGiven or None
        How many of all ratings stand in the release exactly, and how many labels are ratings.
    by_known : dict of str to Membership
        As `membership`, by who knows "8", "16" and "all" ratings, exactly.
    residual : ToldCells or None
        What a smooth fit of all rows tells of who rated what; None if rows do not hold all items.
    unfitted : str
        Why there is no such fit, if rows do hold all items.
    attributes : Attributes or None
        What the strongest adversary learns of members that is not told of strangers, by the release
        that membership was measured on.
    content : Content or None
        What its cells tell: fills, companions, and ratings behind labels.
    against : Against or None
        What it tells together with another release of the same people.
    hidden_items : HiddenItems or None
        Where the release hides its items, how many can be named again, and what follows.
    shadows : ShadowMembership or None
        Who is in such a release, told by many others like it; None if nobody asked.
    same_ratings : bool or None
        Whether the release was made from the ratings by which it is judged; None if nothing tells.
    """

    name: str
    manifest: Manifest
    attacks: list[tuple[Adversary, ReleaseAttack]]
    membership: Membership | None
    lone_share: float | None
    unmeasured: str = ""
    unprotected: int | None = None
    lowest_level: int | None = None
    untried: str = ""
    as_given: AsGiven | None = None
    by_known: dict[str, Membership] = field(default_factory=dict)
    residual: ToldCells | None = None
    attributes: Attributes | None = None
    content: Content | None = None
    against: Against | None = None
    hidden_items: HiddenItems | None = None
    shadows: ShadowMembership | None = None
    unfitted: str = ""
    same_ratings: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data, for JSON and for the page."""
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
            "membership": self.membership and plain_membership(self.membership, self.by_known),
            "attributes": self.attributes and self.attributes.to_dict(),
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
            "warnings": self.warnings(),
        }

    def warnings(self) -> list[str]:
        """Say what was not measured, or on too few of the people to show anything."""
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
        """Say in plain words what was found, and what it means."""
        return write_release_verdict(self)

    def headline(self) -> str:
        """Say in one sentence how many are found, and what is promised."""
        return headline(self)

    def about_membership(self) -> list[str]:
        """Say how well somebody tells who was in the data at all, by how much they know."""
        likes = self.manifest.scale.unary
        if self.shadows is None:
            shadows, strongest = [], None
        else:
            shadows, strongest = self.shadows.sentences(likes=likes), self.shadows.strongest
        if self.membership is None:
            return shadows
        told = describe_members(
            *(self.membership, self.by_known, self.attributes), likes=likes, shadows=strongest
        )
        return told + shadows

    @property
    def best_membership(self) -> tuple[str, Interval] | None:
        """Who tells best who was in the data, and their area; None if too few were measured."""
        told = {
            f"who knows {known} {'likes' if self.manifest.scale.unary else 'ratings'}": found.auc
            for known, found in self.by_known.items()
            if found.is_told
        }
        return max(told.items(), key=lambda each: each[1].rate) if told else None

    def _facts(self) -> dict[str, object]:
        found = max((attack.person_found.rate for _, attack in self.attacks), default=None)
        return {
            "claim": self.manifest.claim.kind,
            "k": self.manifest.claim.k,
            "adversaries": len(self.attacks),
            "found by the strongest": None if found is None else f"{found:.1%}",
        }


def _cannot_be_repeated(manifest: Manifest) -> str:
    """Say why no such release can be made of other people; nothing, if one can or nobody asks."""
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
    """Name the rates: where real ratings stay, each record is one person's.

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


def headline(published: AttackedRelease) -> str:
    """Say in one sentence how many are found in a release, and what is promised."""
    worst, attack = _strongest(published)
    if attack.skipped == attack.requested:
        return "Nobody could be looked for in the release, which shows nothing."
    person = attack.person_found
    promise = f"the promise is at most {attack.bound:.1%}"
    about = published.manifest.claim.about
    if not about.is_bound:
        promise = about.unpromised
    elif published.unprotected:
        promise = _alone(published.unprotected)
    together = published.against.headline() if published.against else ""
    still = _groups_found(published)
    blind = f", no more than by a blind guess{still}" if person.rate <= attack.baseline else ""
    ends = f"{person.low:.1%} to {_high(published, attack):.1%}"
    sentence = (
        f"In the release, {person.rate:.1%} of the people are found ({ends}"
        f"{_among_attacked(published, attack)}) by “{worst.name}”{blind}; {promise}."
    )
    return f"{sentence} {together}".rstrip()


def write_release_verdict(published: AttackedRelease) -> list[str]:
    """Say in plain words what was found in a release, and what it means."""
    worst, attack = _strongest(published)
    sentences = []
    if attack.skipped < attack.requested:
        sentences.append(_found(published, worst, attack))
    sentences += published.warnings()
    given = published.as_given
    # Where labels are rounded off ratings, hardly one stands there exactly, and that reassures.
    if attack.exact.rate > 0 and not (given and given.is_rounded_off):
        sentences.append(_exact(published, attack))
    if given is not None:
        behind = None if published.content is None else published.content.behind
        sentences += describe_as_given(given, published.lone_share, behind)
    sentences += [] if published.content is None else published.content.sentences()
    if published.hidden_items is not None:
        sentences += describe_hidden_items(published.hidden_items)
    method, settings = published.manifest.known_method, published.manifest.settings
    if published.residual is not None:  # measured here, which says more than what others measured
        sentences.append(describe_cells(published.residual))
        sentences += [] if method is None else members_told(method.undone_by(settings))
    elif method is not None and (undone := method.undone_by(settings)):
        # What was measured elsewhere can hold only where the same can be tried.
        sentences += [published.unfitted] if published.unfitted else undone
    sentences += published.about_membership()
    return sentences + (published.against.verdict() if published.against else [])


def _strongest(published: AttackedRelease) -> tuple[Adversary, ReleaseAttack]:
    return max(published.attacks, key=lambda pair: pair[1].person_found.rate)


def _high(published: AttackedRelease, attack: ReleaseAttack) -> float:
    """Return the interval's upper end; it does not reach above what is proven."""
    person = attack.person_found
    if published.manifest.claim.about.is_bound:
        return max(person.rate, min(person.high, attack.bound))
    return person.high


def _found(published: AttackedRelease, worst: Adversary, attack: ReleaseAttack) -> str:
    """Say how many people the strongest adversary finds, and what is promised."""
    person, group = attack.person_found, attack.group_found
    claim = published.manifest.claim
    if claim.about.one_person_each:
        found = f"of {attack.requested:,} people the very record of"
        if struck := attack.attack.partition(", without ")[2]:
            found = f"{found.removesuffix(' of')}, with {struck} struck out, of"
    else:
        found = (
            f"the right group of {group.rate:.1%} of {attack.requested:,} people and the "
            f"person in it, by a blind pick among the group, of"
        )
    if not claim.about.is_bound:
        promise = _no_promise(published)
    elif published.unprotected is not None:
        promise = _promise_of_levels(published)
    else:
        promise = (
            f"the promise is at most {attack.bound:.1%}. Better attacks may find more, up to that."
        )
    ends = f"{person.low:.1%} to {_high(published, attack):.1%}"
    return (
        f"In the release, “{worst.name}” finds {found} {person.rate:.1%} ({ends}"
        f"{_among_attacked(published, attack)}){_blindly(published, attack)}; {promise}"
    )


def _among_attacked(published: AttackedRelease, attack: ReleaseAttack) -> str:
    """Say the rate of those who could be looked for, where many could not."""
    attacked = attack.requested - attack.skipped
    if attacked >= COVERAGE * attack.requested:
        return ""
    rate = attack.person_found.rate * attack.requested / attacked
    what = "likes" if published.manifest.scale.unary else "ratings"
    return f"; {rate:.1%} of the {attacked:,} with enough {what}"


def _blindly(published: AttackedRelease, attack: ReleaseAttack) -> str:
    """Say that no more are found than by a blind guess among all people, if so.

    Among the k people of a group anybody finds few. Whose group is found is told what its row says.
    """
    still = _groups_found(published)
    about = "" if still else "the release"
    found = no_better(attack.person_found, attack.baseline, "a blind guess finds", about)
    return found and found + still


def _groups_found(published: AttackedRelease) -> str:
    """Say how many groups are found, if more than by always naming the largest; else nothing."""
    attacks = [attack for _, attack in published.attacks]
    best = max(attacks, key=lambda attack: attack.group_found.low - attack.group_baseline)
    if best.group_found.low <= best.group_baseline:
        return ""
    return (
        f"; still, the group of {best.group_found.rate:.1%} is found, by always naming the largest "
        f"{best.group_baseline:.1%}, which does tell what its row says"
    )


def _alone(unprotected: int | None) -> str:
    if unprotected == 1:
        return "1 person stands alone and is not protected"
    return f"{unprotected:,} people stand alone and are not protected"


def _promise_of_levels(published: AttackedRelease) -> str:
    """Say whom privacy levels protect: an average over people is promised to nobody."""
    alone, lowest = _alone(published.unprotected), published.lowest_level
    if lowest is None:
        return f"{alone}, and nobody is promised more."
    return (
        f"{alone}; whoever looks for one of the others finds them with at most 1/{lowest} = "
        f"{1 / lowest:.1%}. Better attacks may find more, up to all of those who stand alone."
    )


def _exact(published: AttackedRelease, attack: ReleaseAttack) -> str:
    """Say how many ratings that were not known the adversary reads off."""
    group, row = "group", "the group's row"
    if published.manifest.claim.about.one_person_each:
        group, row = "record", "it"
    method = published.manifest.known_method
    if published.manifest.scale.unary:
        return (
            f"Of the unknown likes of those whose {group} was found, {percent(attack.exact)} "
            f"stand in {row}."
        )
    more = "" if method is None else method.about_exact
    return (
        f"Of the unknown ratings of those whose {group} was found, {percent(attack.exact)} stand "
        f"in {row} exactly as they were given.{more}"
    )


def _no_promise(published: AttackedRelease) -> str:
    """Say what a release does not promise whose claim bounds no rate."""
    manifest, method = published.manifest, published.manifest.known_method
    if method is None:
        return f"{manifest.claim.about.unpromised}. Better attacks may find more."
    return method.after_rates(manifest.settings, manifest.claim)
