"""The verdict on a release: what was found, what is promised, and what that does not show."""

from typing import TYPE_CHECKING, Any

from recveil.attack import Adversary, ReleaseAttack
from recveil.attack.membership import describe_membership
from recveil.attack.stronger import PADDED

if TYPE_CHECKING:
    from recveil.audit.published import Published


def columns_of(manifest: dict[str, Any]) -> dict[str, str]:
    """Name the rates: records of a co-rated release stand for one person each.

    Examples
    --------
    >>> columns_of({"claim": "co-rated"})["group_found"]
    'the very record alone on top'
    """
    names = {"group_found": "group found", "person_found": "person found", "bound": "bound"}
    if manifest["claim"] == "co-rated":
        names["group_found"] = "the very record alone on top"
        names["person_found"] = "person found, ties shared"
    if manifest.get("levels"):
        names["bound"] = "mean of 1/k"
    return names


def headline(published: "Published") -> str:
    """Say in one sentence how many are found in a release, and what is promised."""
    worst, attack = _strongest(published)
    if attack.skipped == attack.requested:
        return "Nobody could be looked for in the release, which shows nothing."
    person = attack.person_found
    promise = f"the promise is at most {attack.bound:.1%}"
    if published.manifest["claim"] != "identical-rows":
        promise = "nothing is promised against those who know ratings"
    elif published.unprotected:
        promise = _alone(published.unprotected)
    return (
        f"In the release, {person.rate:.1%} of the people are found ({person.low:.1%} to "
        f"{_high(published, attack):.1%}) by “{worst.name}”; {promise}."
    )


def write_release_verdict(published: "Published") -> list[str]:
    """Say in plain words what was found in a release, and what it means."""
    worst, attack = _strongest(published)
    sentences = []
    if attack.skipped < attack.requested:
        sentences.append(_found(published, worst, attack))
    sentences += published.warnings()
    if attack.exact.rate > 0:
        sentences.append(_exact(published, attack))
    sentences += _as_given(published)
    if published.manifest["settings"].get("homogenize") == "padded":
        sentences.append(PADDED)
    if published.membership is not None:
        sentences.append(describe_membership(published.membership.auc))
    return sentences


def _strongest(published: "Published") -> tuple[Adversary, ReleaseAttack]:
    return max(published.attacks, key=lambda pair: pair[1].person_found.rate)


def _high(published: "Published", attack: ReleaseAttack) -> float:
    """Return the interval's upper end; it does not reach above what is proven."""
    person = attack.person_found
    if published.manifest["claim"] == "identical-rows":
        return max(person.rate, min(person.high, attack.bound))
    return person.high


def _found(published: "Published", worst: Adversary, attack: ReleaseAttack) -> str:
    """Say how many people the strongest adversary finds, and what is promised."""
    person, group = attack.person_found, attack.group_found
    if published.manifest["claim"] == "co-rated":
        found = f"of {attack.requested:,} people the very record of"
        promise = _no_promise(published)
        if struck := attack.attack.partition(", without ")[2]:
            found = f"{found.removesuffix(' of')}, with {struck} struck out, of"
    else:
        found = (
            f"the right group of {group.rate:.1%} of {attack.requested:,} people and the "
            f"person in it, by a blind pick among the group, of"
        )
        promise = f"the promise is at most {attack.bound:.1%}. Better attacks may find more, up to "
        promise += "that."
        if published.unprotected is not None:
            promise = _promise_of_levels(published)
    return (
        f"In the release, “{worst.name}” finds {found} {person.rate:.1%} ({person.low:.1%} to "
        f"{_high(published, attack):.1%}); {promise}"
    )


def _alone(unprotected: int | None) -> str:
    if unprotected == 1:
        return "1 person stands alone and is not protected"
    return f"{unprotected:,} people stand alone and are not protected"


def _promise_of_levels(published: "Published") -> str:
    """Say whom privacy levels protect: an average over people is promised to nobody."""
    alone, lowest = _alone(published.unprotected), published.lowest_level
    if lowest is None:
        return f"{alone}, and nobody is promised more."
    return (
        f"{alone}; whoever looks for one of the others finds them with at most 1/{lowest} = "
        f"{1 / lowest:.1%}. Better attacks may find more, up to all of those who stand alone."
    )


def _exact(published: "Published", attack: ReleaseAttack) -> str:
    """Say how many ratings that were not known the adversary reads off."""
    group, row = "group", "the group's row"
    if published.manifest["claim"] == "co-rated":
        group, row = "record", "it"
    more = ""
    if published.manifest["settings"]["method"] == "k-coRating":
        more = " Of the others many are invented; who works the fill out again sees which."
    return (
        f"Of the unknown ratings of those whose {group} was found, {attack.exact.rate:.1%} stand "
        f"in {row} exactly as they were given.{more}"
    )


def _as_given(published: "Published") -> list[str]:
    """Say how many of all ratings the release shows, and how surely a label is one of them."""
    given = published.as_given
    if given is None or not given.exact_share:
        return []
    why = ""
    if published.lone_share:
        why = (
            f" ({published.lone_share:.1%} because nobody else in the group rated the item, the "
            f"others because all who rated it agree, or their rounded mean is the rating)"
        )
    sentence = f"Of all ratings, {given.exact_share:.1%} stand in the release as they were given"
    if given.label_share is None:
        return [f"{sentence}{why}. How well they can be told from means was not measured."]
    return [
        f"{sentence}{why}. Of the labels that are values of the scale, {given.label_share:.1%} are "
        f"the exact rating of everybody behind them who rated the item."
    ]


def _no_promise(published: "Published") -> str:
    """Say what a release does not promise whose records share their items and not their labels."""
    words = (
        f"nothing is promised against those who know ratings: only the items of a record are "
        f"shared by {published.manifest['k']} people, which hides nobody from those who can tell "
        f"invented labels from real ones, and "
    )
    if published.manifest["settings"].get("protect") == "shuffle":
        return words + (
            "the real ratings of a group stand in its records, dealt among them. These attacks "
            "look at single records: whoever takes those with the same items together finds the "
            "right ones more often than that."
        )
    return words + "the real ratings stand in it as they were given. Better attacks may find more."
