"""Sentences and table rows about the attacks on a release."""

from typing import NamedTuple

from recveil.attacks import Adversary, Interval, ReleaseAttack
from recveil.attacks.inference.rated_cells import InferredCells, describe_cells
from recveil.attacks.reidentification.clusters import ClusterAttack
from recveil.attacks.reidentification.hidden_items import describe_hidden_items
from recveil.attacks.statistics import format_share, no_better, percent
from recveil.auditing.findings import FoundInRelease
from recveil.auditing.statements import (
    FigureRow,
    Statement,
    describe_exact_ratings,
    in_short,
    members_told,
    membership_in_short,
)
from recveil.auditing.verdict import COVERAGE
from recveil.runtime.errors import describe_count


class Finding(NamedTuple):
    """Number of users that an adversary finds, and who it is."""

    found: Interval
    who: str


def find_by_all_ratings(published: FoundInRelease) -> Finding | None:
    """Return the most users found by all ratings of each target; None if not attacked."""
    what = "likes" if published.manifest.scale.unary else "ratings"
    who = f"an adversary who knows all {what} of a target exactly"
    findings, direct, fitted = [], published.all_known, published.clusters
    if direct is not None and direct.skipped < direct.requested:
        findings.append(Finding(direct.person_found, who))
    if fitted is not None and fitted.person_found.trials:
        findings.append(Finding(fitted.person_found, f"{who}, and the rows of other targets"))
    return max(findings, key=lambda each: each.found.rate, default=None)


def describe_knowledge(adversary: Adversary, *, is_unary: bool = False) -> str:
    """Describe what an adversary knows of each target."""
    if is_unary or adversary.likes_only:
        what, within = "like", ""
    elif adversary.rating_error is None:
        what, within = "rated item", ""
    else:
        what, within = "rating", f" to within {adversary.rating_error:g}"
    several = "s" * (adversary.known != 1)
    dates = adversary.date_error
    wrong = adversary.known - adversary.n_right
    return (
        f"{adversary.known} {what}{several}{within * bool(adversary.rating_error)}"
        + ("" if dates is None else f" and their dates to within {dates} days")
        + (f", {wrong} of them wrong" if wrong else "")
    )


def headline(published: FoundInRelease) -> str:
    """Return how many users the strongest adversary finds, what they know, and the guarantee."""
    worst, attack = _strongest(published)
    if attack.skipped == attack.requested:
        return "No user could be attacked in the release, which shows nothing."
    is_unary = published.manifest.scale.unary
    person, among = attack.person_found, _among_attacked(published, attack)
    who = f"“{worst.name}”, who knows {describe_knowledge(worst, is_unary=is_unary)}"
    if (by_all := find_by_all_ratings(published)) and by_all.found.rate > person.rate:
        person, who, among = by_all.found, by_all.who, ""
    promise = f"the promise is at most {attack.bound:.1%}"
    about = published.manifest.claim.about
    if not about.is_bound:
        promise = about.unpromised
    elif published.unprotected:
        promise = _alone(published.unprotected)
    together = published.against.headline() if published.against else ""
    still = _groups_found(published)
    blind = f", no more than by a blind guess{still}" if person.rate <= attack.baseline else ""
    ends = f"{person.low:.1%} to {_high(published, person, attack.bound):.1%}"
    sentences = (
        f"In the release, {person.rate:.1%} of the users are found ({ends}{among}) by {who}"
        f"{blind}; {promise}.",
        ""
        if published.membership is None
        else membership_in_short(
            published.membership,
            published.by_known,
            describe_knowledge(worst, is_unary=is_unary),
            is_unary=is_unary,
            shadows=None if published.shadows is None else published.shadows.strongest,
        ),
        together,
    )
    return " ".join(filter(None, sentences))


def describe_findings(
    published: FoundInRelease, warnings: list[str], of_members: list[Statement]
) -> list[Statement]:
    """Return the findings about a release, and what they mean."""
    worst, attack = _strongest(published)
    told = []
    if attack.skipped < attack.requested:
        told.append(_found(published, worst, attack))
    told += [Statement(warning) for warning in warnings]
    told += _by_all_ratings(published)
    told += _of_cells(published, attack)
    if published.hidden_items is not None:
        told += [Statement(each) for each in describe_hidden_items(published.hidden_items)]
    told += _undone(published)
    told += of_members
    if published.against is not None:
        told += [Statement(each) for each in published.against.verdict()]
    return told


def _by_all_ratings(published: FoundInRelease) -> list[Statement]:
    """Describe how often equivalence classes and clusters are inferred by all ratings."""
    told, found, clusters = [], published.all_known, published.clusters
    what = "likes" if published.manifest.scale.unary else "ratings"
    if found is not None and found.requested > found.skipped:
        blind = found.group_baseline
        sentence = (
            f"An adversary who knows all {what} of a target exactly infers the target’s "
            f"equivalence class for {percent(found.group_found)} of {found.requested:,} targets, "
            f"by the attack “{found.attack}”; a guess that always names the largest class, for "
            f"{blind:.1%}."
        )
        row = FigureRow(f"class by all {what}", in_short(found.group_found), f"largest {blind:.1%}")
        told.append(Statement(sentence, (row,), ""))
    if clusters is not None and clusters.cluster_found.trials:
        told.append(_by_joined_scores(clusters, what))
    if published.uncompared:
        told.append(
            Statement(
                "Whether rows share their values, so that clusters can be inferred, was not "
                "measured: there are too many distinct rows to compare."
            )
        )
    return told


def _by_joined_scores(clusters: ClusterAttack, what: str) -> Statement:
    """Describe how often a fit on half of the targets infers class and cluster of the rest."""
    found = percent(clusters.class_found)
    blind = f"always naming the largest: {clusters.class_baseline:.1%}"
    row = FigureRow(
        f"class by all {what}, fitted",
        in_short(clusters.class_found),
        f"largest {clusters.class_baseline:.1%}",
    )
    n_targets = f"{clusters.cluster_found.trials:,}"
    if clusters.n_clusters == clusters.n_records:
        sentence = (
            f"No two of {clusters.n_records:,} distinct rows show that they share their values. An "
            f"adversary who knows the rows of other targets, and fits weights of items, values "
            f"and lengths on them, infers the equivalence class, by all {what} of a target, for "
            f"{found} of {n_targets} targets ({blind})."
        )
        return Statement(sentence, (row,), "")
    sentence = (
        f"Rows of one cluster share their values: the file alone shows {clusters.n_clusters:,} "
        f"clusters of {clusters.n_records:,} distinct rows. An adversary who knows the rows of "
        f"other targets, and fits weights of items, values and lengths on them, infers the "
        f"cluster, by all {what} of a target, for "
        f"{percent(clusters.cluster_found)} of {n_targets} targets (always naming the largest: "
        f"{clusters.cluster_baseline:.1%}), and the equivalence class for {found} ({blind})."
    )
    of_cluster = FigureRow(
        f"cluster by all {what}",
        in_short(clusters.cluster_found),
        f"largest {clusters.cluster_baseline:.1%}",
    )
    return Statement(sentence, (of_cluster, row), "Rows of one cluster share their values.")


def _of_cells(published: FoundInRelease, attack: ReleaseAttack) -> list[Statement]:
    """Return what the cells of a release reveal about ratings."""
    told, given, content = [], published.as_given, published.content
    # Where values are rounded off ratings, a low exact rate would be falsely reassuring.
    if attack.exact.rate > 0 and not (given and given.is_rounded_off):
        told.append(_exact(published, attack))
    if given is not None:
        behind = None if content is None else content.behind
        told += describe_exact_ratings(given, published.lone_share, behind)
    return told if content is None else told + content.told()


def _undone(published: FoundInRelease) -> list[Statement]:
    """Return known attacks on the method: as measured here, or as reported elsewhere."""
    method, settings = published.manifest.known_method, published.manifest.settings
    undone = () if method is None else method.undone_by(settings)
    if published.residual is not None:  # a measurement here replaces those made elsewhere
        return [_of_fit(published.residual), *map(Statement, members_told(undone))]
    # Results from elsewhere apply only where the same attack is possible.
    unfitted = [published.unfitted] if undone and published.unfitted else undone
    return [Statement(each) for each in unfitted]


def _of_fit(told: InferredCells) -> Statement:
    """Return what a fit of all rows reveals; a sentence without rows if that is nothing new."""
    sentence, lone = describe_cells(told), told.lone_exact
    popular = told.popularity_recall_at_95
    if not told.recall_at_95.trials or no_better(told.recall_at_95, popular, ""):
        return Statement(sentence)
    rows = [
        FigureRow("pairs of row and item told", in_short(told.recall_at_95), _popularity(popular))
    ]
    if lone.trials:
        beside = _popularity(told.popularity_lone_exact)
        rows.append(FigureRow("- lone ratings worked out", in_short(lone), beside))
        rows.append(FigureRow("- if known to be lone", f"{told.lone_known.rate:.1%}"))
    looked = ""
    if told.records < told.of_records:
        looked = (
            f" It used a random sample of {told.records:,} of "
            f"{describe_count(told.of_records, 'record')}, so its figures and the number of users "
            f"that it finds are lower bounds."
        )
    remark = f"Who rated what is not hidden: a smooth fit of all rows tells it.{looked}"
    return Statement(sentence, tuple(rows), f"{remark} Better fits may tell more.")


def _popularity(share: float) -> str:
    return f"popularity {share:.1%}"


def _strongest(published: FoundInRelease) -> tuple[Adversary, ReleaseAttack]:
    return max(published.attacks, key=lambda pair: pair[1].person_found.rate)


def _high(published: FoundInRelease, person: Interval, bound: float) -> float:
    """Return the interval's upper end, at most the proven bound."""
    if published.manifest.claim.about.is_bound:
        return max(person.rate, min(person.high, bound))
    return person.high


def _found(published: FoundInRelease, worst: Adversary, attack: ReleaseAttack) -> Statement:
    """Return the strongest adversary's rate and the guarantee."""
    remark = None
    person, group = attack.person_found, attack.group_found
    claim = published.manifest.claim
    if claim.about.one_person_each:
        found = f"of {describe_count(attack.requested, 'user')} the very record of"
        if struck := attack.attack.partition(", without ")[2]:
            found = f"{found.removesuffix(' of')}, with {struck} struck out, of"
    else:
        found = (
            f"the right group of {group.rate:.1%} of {describe_count(attack.requested, 'user')} "
            f"and the user in it, by a blind pick among the group, of"
        )
    if not claim.about.is_bound:
        promise = _no_promise(published)
    elif published.unprotected is not None:
        promise = _promise_of_levels(published)
    else:
        promise = (
            f"the promise is at most {attack.bound:.1%}. Better attacks may find more, up to that."
        )
        # The other figures are in the headline and in the table of adversaries.
        remark = (
            None
            if _blindly(published, attack)
            else f"Better attacks may find more, up to the promised {attack.bound:.1%}."
        )
    ends = f"{person.low:.1%} to {_high(published, person, attack.bound):.1%}"
    sentence = (
        f"In the release, “{worst.name}” finds {found} {person.rate:.1%} ({ends}"
        f"{_among_attacked(published, attack)}){_blindly(published, attack)}; {promise}"
    )
    return Statement(sentence, (), remark)


def _among_attacked(published: FoundInRelease, attack: ReleaseAttack) -> str:
    """Return the rate among the attacked targets, where many could not be attacked."""
    attacked = attack.requested - attack.skipped
    if attacked >= COVERAGE * attack.requested:
        return ""
    rate = attack.person_found.rate * attack.requested / attacked
    what = "likes" if published.manifest.scale.unary else "ratings"
    return f"; {rate:.1%} of the {attacked:,} with enough {what}"


def _blindly(published: FoundInRelease, attack: ReleaseAttack) -> str:
    """Return a note if a random guess among all users finds as many.

    Within a group of k users, few are found by chance alone. An adversary who finds the group still
    learns its row.
    """
    still = _groups_found(published)
    about = "" if still else "the release"
    found = no_better(attack.person_found, attack.baseline, "a blind guess finds", about)
    return found and found + still


def _groups_found(published: FoundInRelease) -> str:
    """Describe the groups found, if more than by always guessing the largest; else nothing."""
    attacks = [attack for _, attack in published.attacks]
    best = max(attacks, key=lambda attack: attack.group_found.low - attack.group_baseline)
    if best.group_found.low <= best.group_baseline:
        return ""
    return (
        f"; still, the group of {best.group_found.rate:.1%} is found, by always naming the largest "
        f"{format_share(best.group_baseline)}, which does tell what its row says"
    )


def _alone(unprotected: int | None) -> str:
    if unprotected == 1:
        return "1 person stands alone and is not protected"
    return f"{unprotected:,} people stand alone and are not protected"


def _promise_of_levels(published: FoundInRelease) -> str:
    """Describe whom privacy levels protect: an average over users guarantees nothing to a user."""
    alone, lowest = _alone(published.unprotected), published.lowest_level
    if lowest is None:
        return f"{alone}, and nobody is promised more."
    return (
        f"{alone}; whoever looks for one of the others finds them with at most 1/{lowest} = "
        f"{1 / lowest:.1%}. Better attacks may find more, up to all of those who stand alone."
    )


def _exact(published: FoundInRelease, attack: ReleaseAttack) -> Statement:
    """Describe how many unknown ratings the adversary infers exactly."""
    group, row = "group", "the group's row"
    if published.manifest.claim.about.one_person_each:
        group, row = "record", "it"
    method = published.manifest.known_method
    rows = (FigureRow("read off rows of who is found", in_short(attack.exact)),)
    if published.manifest.scale.unary:
        likes = (
            f"Of the unknown likes of those whose {group} was found, {percent(attack.exact)} "
            f"stand in {row}."
        )
        return Statement(likes, rows, "")
    more = "" if method is None else method.about_exact
    sentence = (
        f"Of the unknown ratings of those whose {group} was found, {percent(attack.exact)} stand "
        f"in {row} exactly as they were given.{more}"
    )
    return Statement(sentence, () if more else rows, None if more else "")


def _no_promise(published: FoundInRelease) -> str:
    """Describe the missing guarantee of a release whose claim bounds no rate."""
    manifest, method = published.manifest, published.manifest.known_method
    if method is None:
        return f"{manifest.claim.about.unpromised}. Better attacks may find more."
    return method.after_rates(manifest.settings, manifest.claim)
