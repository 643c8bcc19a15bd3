"""Sentences and rows of figures about audits."""

from collections.abc import Sequence
from typing import NamedTuple

from recveil.attacks import Adversary, Interval, ReleaseAttack
from recveil.attacks.inference.attributes import Attributes
from recveil.attacks.reidentification.clusters import ClusterAttack
from recveil.attacks.statistics import FEWEST
from recveil.auditing import Audit, Check, Outcome
from recveil.auditing.auxiliary_file import Alteration, AlteredItem, Explanation
from recveil.auditing.decision import Tuning
from recveil.auditing.release_attacks import COVERAGE, AttackedRelease, AttackedSynthetic
from recveil.auditing.shadow_releases import USERS_PER_USER
from recveil.io.columns.feedback import meaning_of_labels
from recveil.methods.registry import same_again
from recveil.ratings.ratings import in_likes
from recveil.release.claim import bounds_of
from recveil.release.manifest import Manifest
from recveil.report.audit.attributes import and_attributes
from recveil.report.audit.disclosure import (
    MADE_ALIKE,
    NO_ATTACK,
    NO_EVIDENCE,
    NO_SAFETY,
    FigureRow,
    Statement,
    also_known,
    cell_statements,
    content_warnings,
    describe_hidden_items,
    describe_shortage,
    format_points,
    headline_of_linkage,
    known_attacks,
    limited_to_one,
    membership_in_short,
    membership_statements,
    no_better,
    remarks_of,
    verdict_of_linkage,
    warnings_of_linkage,
)
from recveil.report.audit.risks import describe_finding
from recveil.report.release import MEASURED
from recveil.runtime.errors import describe_count, first_sentence_of
from recveil.runtime.number_format import estimate, format_bounds, percent

# A user re-identified in at most this share of the attempts is hard to re-identify.
_RARE = 0.05
_NEARLY_ALL = 0.95


def _quoted(name: str) -> str:
    return f"“{name}”" if name else "this adversary"


def verdict_of(audit: Audit) -> list[str]:
    """Describe how easily users are re-identified; the first sentence is the headline."""
    attacked = [outcome for outcome in audit.attacks if outcome.attacked]
    if not attacked:
        return [in_likes(_headline_without_targets(audit), audit.ratings.is_unary)]
    worst = max(attacked, key=lambda outcome: outcome.reidentified.ranked)
    is_reliable = not attack_warnings(audit.attacks, audit.checks)
    is_sample = worst.requested < audit.ratings.n_users
    sentences = [_headline_of_table(worst, is_sample=is_sample, may_reassure=is_reliable)]
    # The table of adversaries has the other rates.
    sentences += [describe_rate(outcome) for outcome in attacked if _chance_of(outcome)]
    half = [(s.known, s.adversary) for s in audit.sufficient if s.share == 0.5 and s.known]
    if half:
        fewest, adversary = min(half, key=lambda pair: pair[0])
        suffice = "1 known rating suffices" if fewest == 1 else f"{fewest} known ratings suffice"
        sentences.append(f"{suffice} to re-identify half of the users (“{adversary}”).")
    return [in_likes(sentence, audit.ratings.is_unary) for sentence in sentences]


def _headline_without_targets(audit: Audit) -> str:
    found = audit.risks_before.singling_out.strongest
    if found is None:
        return (
            "No user could be attacked, because too few ratings of each are known: the "
            "re-identification rate was not measured."
        )
    requested = max((each.requested for each in audit.attacks), default=0)
    return (
        f"Of this audit's adversaries who know some ratings, none could attack any of "
        f"{describe_count(requested, 'target')}, as too few ratings of each are known; "
        f"{describe_finding(found)}."
    )


def describe_rate(outcome: Outcome) -> str:
    """Describe the re-identification rate of an adversary who attacked."""
    return (
        f"{_quoted(outcome.adversary.name)} re-identifies {estimate(outcome.reidentified)} of "
        f"{describe_count(outcome.requested, 'user')}{_chance_of(outcome)}; the paper's attack "
        f"re-identifies {estimate(outcome.success)} with {_criterion(outcome.adversary)}."
    )


def _chance_of(outcome: Outcome) -> str:
    """Describe that a rate is not above a random guess; empty if it is."""
    return no_better(outcome.reidentified, outcome.baseline, "a random guess gives", "the table")


def _criterion(adversary: Adversary) -> str:
    if adversary.algorithm == "scoreboard":
        return f"a similarity of every known rating of at least {adversary.threshold:g}"
    return f"an eccentricity of at least {adversary.eccentricity:.3g}"


def match_of(attacks: list[Outcome]) -> str:
    """Return the name of a match, for the head of a column.

    >>> match_of([])
    'match'
    """
    adversaries = [outcome.adversary for outcome in attacks]
    levels = {
        f"similarity ≥ {each.threshold:g}"
        if each.algorithm == "scoreboard"
        else f"eccentricity ≥ {each.eccentricity:.3g}"
        for each in adversaries
    }
    return levels.pop() if len(levels) == 1 else "match"


def describe_decision(adversary: Adversary) -> str:
    """Describe the decision parameters that differ from the paper's; empty if none does.

    >>> describe_decision(Adversary(eccentricity=1.4, date_error=3, day_width=14))
    'eccentricity 1.4, day width 14 days'
    >>> describe_decision(Adversary(day_width=14))
    'day width 14 days (without effect, as none are known)'
    """
    parts = ["plain Scoreboard"] if adversary.algorithm == "scoreboard" else []
    default = Adversary()
    knows_ratings = adversary.rating_error is not None
    knows_days = adversary.date_error is not None
    for name, unit, has_effect in (
        ("eccentricity", "", True),
        ("threshold", "", knows_ratings or knows_days),
        ("rating_width", " points", knows_ratings),
        ("day_width", " days", knows_days or adversary.first_date_error is not None),
    ):
        value = getattr(adversary, name)
        if value != getattr(default, name):
            level = value if isinstance(value, str) else f"{value:.3g}"
            effect = "" if has_effect else " (without effect, as none are known)"
            parts.append(f"{name.replace('_', ' ')} {level}{unit}{effect}")
    return ", ".join(parts)


def describe_decisions(audit: Audit) -> list[str]:
    """Describe each adversary's decision parameters, and how the audit chose them."""
    sentences = [
        f"{_quoted(each.adversary.name)} decides with {decision}."
        for each in audit.attacks
        if (decision := describe_decision(each.adversary))
    ]
    for each in audit.attacks:
        if (found := each.calibration) is not None:
            chosen, default = found.chosen, found.default
            name = _quoted(each.adversary.name)
            if not chosen.false_accept.trials:
                sentences.append(
                    f"{name}: no target has enough ratings to choose an eccentricity, which stays "
                    f"{chosen.eccentricity:g}."
                )
                continue
            sentences.append(
                f"{name}: the eccentricity of equal error rates on half of "
                f"the targets is {chosen.eccentricity:.3g}. On the other half it accepts a record "
                f"for {estimate(chosen.false_accept)} of the users who are not in the table, and "
                f"misses {estimate(chosen.false_reject)} of those in it; an eccentricity of "
                f"{default.eccentricity:g} accepts {estimate(default.false_accept)} and misses "
                f"{estimate(default.false_reject)}."
            )
    return [*sentences, *map(describe_tuning, audit.tunings)]


def describe_tuning(found: Tuning) -> str:
    """Describe the widths that re-identify most targets of one half, or why there are none.

    >>> all_found = Interval(1.0, 0.96, 1.0, 90)
    >>> tuned = Tuning(
    ...     *("insider", 1.5, 30, *[all_found] * 2, False, *[all_found] * 4),
    ...     *("reidentified", *[all_found] * 2),
    ... )
    >>> describe_tuning(tuned)[:75]
    '“insider” keeps its widths: on half of the targets, they re-identify 100% ('
    """
    usual = estimate(found.first_before)
    verb = "match" if found.decided_by == "matched" else "re-identify"
    same = found.after == found.before and found.matched_after == found.matched_before
    if same and found.first_after == found.first_before:
        more = "; to tune, lower known (--known)" if found.first_before.rate == 1 else ""
        return (
            f"{_quoted(found.adversary)} keeps its widths: on half of the targets, they "
            f"{verb} {usual}, and no others {verb} more{more}."
        )
    kept = "" if found.is_used else ": no better, so the attacks keep the widths"
    decided = (
        "The matches decide, as the eccentricity is not the paper's"
        if found.decided_by == "matched"
        else "The re-identification rate decides"
    )
    return (
        f"{_quoted(found.adversary)}: on half of the targets, a rating width of "
        f"{found.rating_width:.3g} points and a day width of {found.day_width:.3g} days "
        f"{verb} most: {estimate(found.first_after)}, instead of {usual}. On the "
        f"other half {estimate(found.after)} are re-identified, instead of "
        f"{estimate(found.before)}, and {estimate(found.matched_after)} are matched, instead of "
        f"{estimate(found.matched_before)}, where a record is matched for "
        f"{estimate(found.accepted_after)} of the users who are not in the table, instead of "
        f"{estimate(found.accepted_before)}. {decided}{kept}."
    )


def describe_alteration(found: Alteration) -> str:
    """Describe how the record of a match differs from what is known of the target.

    >>> describe_alteration(Alteration(True, 306, 0, 2, 1, 1.0, 1.0, None, None, None))[:60]
    'Of 306 known items, the record lacks 0; 1 rating differs, by'
    """
    parts = [
        f"Of {describe_count(found.ratings, 'known item')}, the record lacks {found.missing}"
        f"{_describe_first(found.missing_items, found.missing)}"
    ]
    for what, unit, number, mean, most in (
        ("rating", "points", found.changed, found.mean_change, found.largest_change),
        ("date", "days", found.shifted, found.mean_shift, found.largest_shift),
    ):
        if number is not None:
            by = ""
            if mean is not None:
                unit = unit[:-1] if mean == 1 else unit
                by = f", by {mean:.3g} {unit} on average (at most {most:.3g})"
            parts.append(
                f"{describe_count(number, what)} {'differs' if number == 1 else 'differ'}{by}"
            )
    parts.append(
        f"it has {describe_count(found.added, 'item')} more"
        f"{_describe_first(found.added_items, found.added)}"
    )
    if found.most:
        parts.append(f"most altered: {', '.join(map(_describe_altered, found.most))}")
    return "; ".join(parts) + "."


def _describe_first(items: Sequence[str], total: int) -> str:
    """Name the first items of so many.

    >>> _describe_first(["Heat (1995)", "172"], 9)
    ' (Heat (1995), 172, …)'
    """
    more = ["…"] * (len(items) < total)
    return f" ({', '.join([*items, *more])})" if items else ""


def _describe_altered(found: AlteredItem) -> str:
    """Describe how one item differs.

    >>> _describe_altered(AlteredItem("172", "Heat (1995)", 4.0, 5.0, -12))
    'Heat (1995) (4 → 5, -12 days)'
    """
    changes = []
    if found.known is not None and found.published is not None:
        known, published = f"{found.known:.3g}", f"{found.published:.3g}"
        changes += [f"{known} → {published}"] * (known != published)
    if found.shift:
        changes.append(f"{found.shift:+d} {'day' if abs(found.shift) == 1 else 'days'}")
    return f"{found.title or found.item} ({', '.join(changes)})"


def describe_explanation(found: Explanation) -> str:
    """Describe where the score of a found record comes from.

    >>> from recveil.auditing import KnownItem
    >>> heat = KnownItem("172", "Heat (1995)", 1.5, 0.75, 0.5, 0.25)
    >>> describe_explanation(Explanation(1.5, 0.75, 0.5, 0.25, (heat,)))
    'Of the score 1.50, the items give 0.75, ratings +0.50, dates +0.25; most: Heat (1995) 1.50.'
    """
    parts = [f"the items give {found.from_items:.2f}"]
    for what, part in (("ratings", found.from_ratings), ("dates", found.from_dates)):
        if part is not None:
            parts.append(f"{what} {part:+.2f}")
    most = ", ".join(f"{each.title or each.item} {each.score:.2f}" for each in found.most)
    return f"Of the score {found.score:.2f}, {', '.join(parts)}; most: {most}."


def describe_matches(audit: Audit) -> str:
    """Describe the matches of items by title; empty without any."""
    found = audit.item_matches
    if found is None:
        return ""
    total = describe_count(len(found.matches), "item")
    if found.is_from_file:
        return f"Of {total} in the file of matches, {len(found.used):,} are used."
    return (
        f"By title and year, {len(found.used):,} of {total} of the auxiliary file are matched with "
        f"a certainty of at least {found.least:g} (the lowest: {found.lowest:.2f}); left out: "
        f"{found.n_ambiguous:,} ambiguous, {found.n_uncertain:,} less certain."
    )


def describe_sensitive(audit: Audit) -> list[str]:
    """Describe what found records reveal about sensitive items."""
    sentences = []
    for each in audit.sensitive:
        where = "In the table" if each.where == "table" else f"In the release {each.where}"
        first, *others = each.categories
        by_category = "".join(
            f"; {one.category}: {estimate(one.revealed)}, random records {estimate(one.control)}"
            for one in others
        )
        sentences.append(
            f"{where}, {_quoted(each.adversary)} re-identifies users, and their records reveal a "
            f"sensitive item about {estimate(first.revealed)} of the users; random records in "
            f"their place reveal one about {estimate(first.control)}{by_category}."
        )
    if audit.sensitive and (n_unknown := audit.sensitive[0].n_unknown):
        sentences.append(
            f"{describe_count(n_unknown, 'sensitive item')} of the file "
            f"{'is' if n_unknown == 1 else 'are'} not in the table."
        )
    return sentences


def _headline_of_table(worst: Outcome, *, is_sample: bool, may_reassure: bool) -> str:
    rate, who = worst.reidentified, _quoted(worst.adversary.name)
    among, known = worst.among_attacked, worst.adversary.known
    if worst.attacked >= FEWEST and among.rate >= 0.5:
        few = worst.skipped / worst.requested
        sampled = "sampled " * is_sample
        with_enough = f"with at least {describe_count(known, 'rating')}"
        whom = f"{estimate(among)} of the users {with_enough} are"
        if among.rate > 1 - 1e-9:
            whom = f"Every {sampled}user {with_enough} is"
        elif among.rate > _NEARLY_ALL:
            whom = f"Nearly every user {with_enough} is"
            who += f": {estimate(among)}"
        too_few = f"; {percent(few)} of the {sampled}users have too few" if worst.skipped else ""
        return f"{whom} re-identified by {who}{too_few}."
    if worst.attacked < FEWEST:
        return (
            f"Too few users could be attacked to measure the re-identification rate: "
            f"{worst.attacked:,} of {worst.requested:,}; {who} re-identifies {estimate(among)} of "
            f"these, {estimate(rate)} of all."
        )
    if rate.high > _RARE or not may_reassure:
        return f"Users of this table are re-identified: {estimate(rate)} by {who}."
    return (
        f"Few users are re-identified by these adversaries: at most {estimate(rate)}, by {who}. An "
        f"adversary with more auxiliary information, or a better attack, re-identifies more."
    )


def warnings_of(audit: Audit, *, has_table: bool = False) -> list[str]:
    """Return what limits the figures of an audit, except those of its release."""
    scale, knowledge = audit.ratings.scale, audit.knowledge
    warnings = [*audit.reading.notes, *meaning_of_labels(scale)]
    if knowledge is not None:
        warnings += [f"{knowledge.name}: {note}" for note in knowledge.notes]
    if audit.ratings.is_unary:
        warnings.append(
            "This is implicit feedback: the adversaries know items, and dates if there are any. A "
            "table with rating values re-identifies the same users more easily, and these rates "
            "do not cover that."
        )
    if not scale.ordered:
        warnings.append(
            "These are nominal labels: the adversaries know items with their exact labels, which "
            "are equal or not; a wrong entry is an item with a label that the target never gave "
            "it. No adversary used items alone; leave out the column of labels to measure that."
        )
    where = "" if audit.published is None else "In the raw table, "
    of_attacks = attack_warnings([] if has_table else audit.attacks, audit.checks, where)
    return warnings + [in_likes(each, audit.ratings.is_unary) for each in of_attacks]


def attack_warnings(attacks: list[Outcome], checks: list[Check], where: str = "") -> list[str]:
    """Return the reasons why the rates may be too low."""
    failed = [
        f"A check of the attack itself failed, so low rates mean nothing here: {name_check(check)} "
        f"({describe_check(check)})."
        for check in checks
        if not check.holds
    ]
    found = [
        Coverage(each.adversary, each.skipped, each.requested, each.reidentified.rate)
        for each in attacks
    ]
    return failed + describe_uncovered(found, where)


class Coverage(NamedTuple):
    """How many of the targets an adversary could attack."""

    adversary: Adversary
    # Number of targets with too few ratings that the adversary may know, who count as not
    # re-identified, and of all targets
    skipped: int
    requested: int
    # Share of all targets who were re-identified
    rate: float


def describe_lack(adversary: Adversary) -> str:
    """Return what a target lacks whom an adversary cannot attack."""
    top = adversary.outside_top
    return "too few ratings" + f" outside the {top:,} most rated items" * bool(top)


def describe_uncovered(
    found: list[Coverage], where: str = "", by_all: tuple[Interval, str] | None = None
) -> list[str]:
    """Describe that rates cover only some targets, and name the leading adversary."""
    without_targets = dict[str, list[Coverage]]()
    # Rate, number of attacked and of all targets, and the adversary
    led, freely = list[tuple[float, int, int, str]](), list[tuple[float, int, int, str]]()
    for one in found:
        n_attacked = one.requested - one.skipped
        if not n_attacked:
            without_targets.setdefault(describe_lack(one.adversary), []).append(one)
            continue
        line = (one.rate, n_attacked, one.requested, _quoted(one.adversary.name))
        (freely if n_attacked >= COVERAGE * one.requested else led).append(line)
    sentences = [
        f"{where}{', '.join(_quoted(one.adversary.name) for one in those)}: "
        f"{'the one target has' if n == 1 else f'all {n:,} targets have'} {shortage}. No user was "
        f"attacked, which shows nothing."
        for shortage, those in without_targets.items()
        for n in [those[0].requested]
    ]
    if led:
        rate, n_attacked, requested, who = max(led, key=lambda each: each[:2])
        if by_all is not None:
            freely.append((by_all[0].rate, by_all[0].trials, by_all[0].trials, by_all[1]))
        highest, trials, _, other = max(freely, default=(0.0, 0, 0, ""))
        more = f"; {percent(highest)} of {trials:,} are re-identified by {other}"
        sentences.append(
            f"{where}{'users' if where else 'Users'} with too few ratings for an adversary count "
            f"as not re-identified. {who} attacked {n_attacked:,} of {requested:,} and "
            f"re-identified {percent(rate * requested / n_attacked)} of these"
            f"{more * (highest > rate)}."
        )
    return sentences


def name_check(check: Check) -> str:
    """Return what a check requires."""
    if check.code == "groups":
        size = f"{check.figures['size']:g}"
        return f"a target among {size} identical records is re-identified with 1/{size}"
    return {
        "unique-users": "full exact knowledge re-identifies every unique user",
        "random-knowledge": "random knowledge falls to the baseline of a random guess",
        "denominator": "the denominator is the number of requested targets",
    }[check.code]


def describe_check(check: Check) -> str:
    """Describe what a check measured.

    >>> describe_check(Check("random-knowledge", True, {"rate": 0.01, "baseline": 0.0125}))
    'rate 1%; a random guess gives 1.2%'
    """
    shares = {
        name: percent(check.figures[name])
        for name in ("rate", "baseline", "single", "shared")
        if name in check.figures
    }
    form = {
        "unique-users": "{unique:,} of {targets:,} targets are unique; {missed:,} were missed",
        "random-knowledge": "rate {rate}; a random guess gives {baseline}",
        "denominator": "{targets:,} requested, {skipped:,} skipped, {denominator:,} in the "
        "denominator",
        "groups": "rate {single} of single records, {shared} in groups of {size:g}",
    }[check.code]
    return form.format(**check.figures | shares)


def headline_of(release: AttackedRelease) -> str:
    """Return the re-identification rate of the strongest adversary, and the guarantee."""
    if isinstance(release, AttackedSynthetic):
        return _headline_of_synthetic(release)
    worst, attack = release.strongest
    strongest, is_idle = strongest_by_all(release), attack.skipped == attack.requested
    if is_idle and strongest is None:
        return "No user could be attacked in the release, which shows nothing."
    is_unary = release.manifest.scale.unary
    knows = describe_knowledge(worst, is_unary=is_unary)
    rate, among = attack.reidentified, _among_attacked(release, attack)
    who = f"“{worst.name}”, who knows {knows}{and_attributes(release)}"
    if strongest is not None and (is_idle or strongest[0].rate > rate.rate):
        (rate, who), among = strongest, ""
    guarantee = f"the guarantee is at most {percent(attack.bound)}{limited_to_one(release)}"
    about = release.manifest.claim.about
    if not about.is_bound:
        guarantee = about.unpromised
    elif release.unprotected:
        guarantee = _describe_unprotected(release.unprotected)
    guess = percent(attack.baseline)
    chance = f"; a random guess gives {guess}"
    if rate.rate <= attack.baseline:
        chance = f", no more than by a random guess ({guess}){_inferred_classes(release)}"
    ends = format_bounds(rate.low, capped(release, rate, attack.bound).high)
    sentences = (
        f"{_in_release(release)}{percent(rate.rate)} of the users are re-identified "
        f"({ends}{among}) by {who}{chance}; {guarantee}.",
        ""
        if release.membership is None
        else membership_in_short(
            *(release.membership, release.by_known, knows),
            is_unary=is_unary,
            shadows=None if release.shadows is None else release.shadows.strongest,
        ),
        "" if release.linkage is None else headline_of_linkage(release.linkage),
    )
    return " ".join(filter(None, sentences))


def _in_release(release: AttackedRelease) -> str:
    return "In the other release, " if release.is_remade else "In the release, "


def strongest_by_all(release: AttackedRelease) -> tuple[Interval, str] | None:
    """Return the highest rate by all ratings of each target, and the adversary."""
    what = "likes" if release.manifest.scale.unary else "ratings"
    who = f"an adversary who knows all {what}{and_attributes(release)} of a target exactly"
    rates, direct, fitted = [], release.all_known, release.clusters
    if direct is not None and direct.skipped < direct.requested:
        rates.append((direct.reidentified, who))
    if fitted is not None and fitted.reidentified.trials:
        rates.append((fitted.reidentified, f"{who}, and the rows of other targets"))
    return max(rates, key=lambda each: each[0].rate, default=None)


def describe_knowledge(adversary: Adversary, *, is_unary: bool = False) -> str:
    """Describe what an adversary knows of each target."""
    if is_unary or adversary.likes_only:
        what, within = "like", ""
    elif adversary.rating_error is None:
        what, within = "rated item", ""
    else:
        what, within = "rating", f" to within {adversary.rating_error:g}"
    dates, first = adversary.date_error, adversary.first_date_error
    wrong = adversary.known - adversary.n_right
    return (
        f"{describe_count(adversary.known, what)}{within * bool(adversary.rating_error)}"
        + ("" if dates is None else f" and their dates to within {dates} days")
        + (f", {wrong} of them wrong" if wrong else "")
        + ("" if first is None else f", and the date of the first rating to within {first} days")
    )


def statements_of(release: AttackedRelease) -> list[Statement]:
    """Return all that was measured on a release, and what it means."""
    warnings, members = warnings_of_release(release), membership_statements(release)
    if isinstance(release, AttackedSynthetic):
        model = [
            f"The release is a model, from which a recipient can sample any number of users. All "
            f"figures below are measured on {USERS_PER_USER} synthetic users for each real one."
        ]
        first = [*inapplicable_to(release), *(model if release.manifest.layout == "model" else [])]
        return [
            *map(Statement, [*first, *warnings]),
            *members,
            *_of_synthetic_users(release),
        ]
    worst, attack = release.strongest
    statements = []
    if attack.skipped < attack.requested:
        statements.append(_of_strongest(release, worst, attack))
    statements += map(Statement, warnings)
    statements += _by_all_ratings(release)
    statements += cell_statements(release, attack)
    if release.hidden_items is not None:
        statements += map(Statement, describe_hidden_items(release.hidden_items))
    statements += known_attacks(release)
    statements += members
    if release.linkage is not None:
        statements += map(Statement, verdict_of_linkage(release.linkage))
    return statements


def remarks_in_short(release: AttackedRelease, statements: Sequence[Statement]) -> list[str]:
    """Return the text next to tables; of known attacks, README.md has the measurements."""
    method, settings = release.manifest.known_method, release.manifest.settings
    known = () if method is None else tuple(method.undone_by(settings))
    remarks, warnings = remarks_of(statements), warnings_of_release(release)
    found = [each for each in remarks if each not in warnings]
    short = [first_sentence_of(each) if each in known else each for each in found]
    if not set(known).isdisjoint(found):
        last = max(index for index, each in enumerate(found) if each in known)
        short[last] = f"{short[last]} {MEASURED}"
    return [*short, *(each for each in remarks if each in warnings)]


def uncovered_in(release: AttackedRelease) -> list[str]:
    """Describe the adversaries who could not attack most targets; the table shows it, too."""
    blind = [_quoted(adversary.name) for adversary, attack in release.attacks if attack.is_blind]
    found = [
        Coverage(adversary, attack.skipped, attack.requested, attack.reidentified.rate)
        for adversary, attack in release.attacks
        if not attack.is_blind
    ]
    is_unary, by_all = release.manifest.scale.unary, strongest_by_all(release)
    sentences = describe_uncovered(found, _in_release(release), by_all)
    if blind:
        sentences.append(f"{', '.join(blind)}: no attack applies, as all rows fit equally well.")
    return [in_likes(each, is_unary) for each in sentences]


_ATTRIBUTES_LEFT = (
    "Membership inference did not compare the attributes of synthetic users, and may be more "
    "accurate with users (--users) and shadows (--shadows); the bound of the guarantee covers them."
)


def warnings_of_release(release: AttackedRelease) -> list[str]:
    """Return what was not measured on a release, or on too few users."""
    manifest, warnings = release.manifest, uncovered_in(release)
    if release.untried:
        warnings.append(
            f"The release has too many values to strike out {release.untried}; an adversary with "
            f"more time may re-identify more users."
        )
    warnings += [] if release.content is None else content_warnings(release.content)
    warnings += [] if release.linkage is None else warnings_of_linkage(release.linkage)
    why = ""
    if release.unmeasured:
        why = f"no such release can be made of four fifths of the users: {release.unmeasured}"
    elif release.membership is None:
        why = _why_not_repeated(manifest)
    if why:
        warnings.append(f"Membership inference was not measured, because {why}.")
    has_compared = release.shadows is not None and release.shadows.has_attributes
    has_compared |= release.knows_attributes and bool(manifest.previous)  # which has no shadows
    if manifest.user_columns is not None and manifest.user_columns.values:
        warnings += [_ATTRIBUTES_LEFT] * (not has_compared)
    elif manifest.user_columns is not None and not has_compared:
        warnings.append(
            "Membership inference did not compare published attributes of users, and may be more "
            "accurate with shadows (--shadows)."
            if release.knows_attributes
            else "The adversaries did not use the published attributes of users, so that these "
            "rates are too low; give the file of users (--users)."
        )
    return warnings


def dangers_of(audit: Audit) -> list[str]:
    """Return the warnings that mean that users are less safe than the figures show."""
    dangers = attack_warnings([], audit.checks)
    release = audit.published
    if release is None:
        return dangers
    about = release.manifest.user_columns
    if about is not None and not about.values and not release.knows_attributes:
        dangers.append(warnings_of_release(release)[-1])
    return dangers + ([] if release.linkage is None else warnings_of_linkage(release.linkage))


def _why_not_repeated(manifest: Manifest) -> str:
    """Return why such a release cannot be made of other users; empty if it can."""
    method = manifest.known_method
    if manifest.claim.levels:
        return (
            "it needs a release without some of the users, whose privacy levels would be missing, "
            "too"
        )
    if manifest.previous:
        return "it follows another release, whose classes other users do not have"
    if method is None:
        return "the method is unknown"
    return "" if same_again(manifest, 0) is not None else method.why_not_again


def _of_strongest(release: AttackedRelease, worst: Adversary, attack: ReleaseAttack) -> Statement:
    """Describe the strongest adversary's rate and the guarantee."""
    rate, claim = attack.reidentified, release.manifest.claim
    users = describe_count(attack.requested, "user")
    if claim.about.one_person_each:
        struck = attack.attack.partition(", without ")[2]
        how = f", with {struck} struck out" if struck else ""
        finding = f"re-identifies, of {users}{how},"
    else:
        finding = (
            f"infers the equivalence class of {percent(attack.class_reidentified.rate)} of {users} "
            f"and, by a random pick in the class, re-identifies"
        )
    chance = no_better(
        rate,
        attack.baseline,
        "a random guess gives",
        "" if (classes := _inferred_classes(release)) else "the release",
    )
    chance += classes if chance else ""
    if not claim.about.is_bound:
        guarantee = _without_bound(release)
        remark = f"{guarantee[:1].upper()}{guarantee[1:]}"
    elif release.unprotected is not None:
        guarantee = _guarantee_of_levels(release)
        remark = guarantee
    else:
        bound = f"{percent(attack.bound)}{limited_to_one(release)}"
        more = f"Better attacks may re-identify more, up to the guaranteed {bound}."
        guarantee = f"the guarantee is at most {bound}. {more}"
        remark = more  # the other figures are in the headline and in the table of adversaries
    ends = format_bounds(rate.low, capped(release, rate, attack.bound).high)
    sentence = (
        f"{_in_release(release)}“{worst.name}” {finding} {percent(rate.rate)} ({ends}"
        f"{_among_attacked(release, attack)}){chance}; {guarantee}"
    )
    return Statement(sentence, (), remark)


class AdversaryRates(NamedTuple):
    """The rates of one adversary on a release."""

    name: str
    requested: int
    attacked: int
    class_reidentified: Interval
    # Share of the targets for whom naming always one class is right
    class_baseline: float
    reidentified: Interval
    bound: float


def rates_of(release: AttackedRelease) -> list[AdversaryRates]:
    """Return the rates of all adversaries, those who know all ratings of a target first."""
    if not release.attacks:
        return []
    what = "likes" if release.manifest.scale.unary else "ratings"
    bound = release.attacks[0][1].bound
    rates, direct, fitted = [], release.all_known, release.clusters
    if fitted is not None and (n_targets := fitted.reidentified.trials):
        rates.append(
            AdversaryRates(
                *(f"all {what}, rows of others", n_targets, n_targets),
                *(fitted.class_inferred, fitted.class_baseline),
                *(capped(release, fitted.reidentified, bound), bound),
            )
        )
    attacks = [(one.name, attack) for one, attack in release.attacks]
    if direct is not None and direct.attacked:
        attacks.insert(0, (f"all {what}", direct))
    return rates + [
        AdversaryRates(
            *(name, attack.requested, 0 if attack.is_blind else attack.attacked),
            attack.class_reidentified,
            *(attack.class_baseline, capped(release, attack.reidentified, attack.bound)),
            attack.bound,
        )
        for name, attack in attacks
    ]


def capped(release: AttackedRelease, rate: Interval, bound: float) -> Interval:
    """End the interval of a re-identification rate at the bound, if that is proven."""
    if not release.manifest.claim.about.is_bound:
        return rate
    return rate._replace(high=max(rate.rate, min(rate.high, bound)))


def among_attacked(attack: ReleaseAttack | AdversaryRates) -> float:
    """Return the re-identification rate among the targets with enough ratings."""
    return attack.reidentified.rate * attack.requested / attack.attacked


def _among_attacked(release: AttackedRelease, attack: ReleaseAttack) -> str:
    """Return the rate among the attacked targets, where many could not be attacked."""
    attacked = attack.requested - attack.skipped
    if not attacked or attacked >= COVERAGE * attack.requested:
        return ""
    rate = among_attacked(attack)
    what = "likes" if release.manifest.scale.unary else "ratings"
    return f"; {percent(rate)} of the {attacked:,} with enough {what}"


def _inferred_classes(release: AttackedRelease) -> str:
    """Describe the inferred classes, if more than by always guessing the largest; else nothing."""
    # Within a class of k users, few are re-identified by chance alone. An adversary who infers the
    # class still learns its row.
    attacks = [attack for _, attack in release.attacks]
    best = max(attacks, key=lambda attack: attack.class_reidentified.low - attack.class_baseline)
    if best.class_reidentified.low <= best.class_baseline:
        return ""
    return (
        f"; still, the equivalence class of {percent(best.class_reidentified.rate)} is inferred "
        f"({percent(best.class_baseline)} by always naming the largest), which reveals its row"
    )


def _describe_unprotected(n: int | None) -> str:
    if n == 1:
        return "1 user is in a class of one and is not protected"
    return f"{n:,} users are in classes of one and are not protected"


def _guarantee_of_levels(release: AttackedRelease) -> str:
    """Describe whom privacy levels protect: an average over users guarantees nothing to a user."""
    unprotected, lowest = _describe_unprotected(release.unprotected), release.lowest_level
    if lowest is None:
        return f"{unprotected}, and no other user has a guarantee."
    return (
        f"{unprotected}; each of the others is re-identified with a probability of at most "
        f"1/{lowest} = {percent(1 / lowest)}. Better attacks may re-identify more, up to all users "
        f"in classes of one."
    )


def _without_bound(release: AttackedRelease) -> str:
    """Describe the missing guarantee of a release whose claim bounds no rate."""
    manifest, method = release.manifest, release.manifest.known_method
    if method is None:
        return f"{manifest.claim.about.unpromised}. Better attacks may re-identify more."
    return method.after_rates(manifest.settings, manifest.claim)


def _by_all_ratings(release: AttackedRelease) -> list[Statement]:
    """Describe how often classes and clusters are inferred by all ratings."""
    statements, direct, clusters = [], release.all_known, release.clusters
    what = ("likes" if release.manifest.scale.unary else "ratings") + and_attributes(release)
    if direct is not None and direct.requested > direct.skipped:
        largest = percent(direct.class_baseline)
        sentence = (
            f"An adversary who knows all {what} of a target exactly infers the target’s "
            f"equivalence class for {estimate(direct.class_reidentified)} of {direct.requested:,} "
            f"targets, by the attack “{direct.attack}”; always naming the largest class is right "
            f"for {largest}."
        )
        statements.append(Statement(sentence, (), ""))
    if clusters is not None and clusters.cluster_inferred.trials:
        statements.append(_of_clusters(clusters, what))
    if release.uncompared:
        statements.append(
            Statement(
                "Whether rows share their values, so that clusters can be inferred, was not "
                "measured: there are too many distinct rows to compare."
            )
        )
    return statements


def _of_clusters(clusters: ClusterAttack, what: str) -> Statement:
    """Describe how often a fit on half of the targets infers class and cluster of the rest."""
    of_class, most = estimate(clusters.class_inferred), percent(clusters.class_baseline)
    how = (
        "An adversary who knows the rows of other targets, fits weights of items, values, lengths "
        "and known members on them, and assigns all remaining targets at once, infers the"
    )
    n_targets = f"by all {what} of a target, for"
    trials = (
        f"of {clusters.cluster_inferred.trials:,} targets (always naming the one with the most "
        f"users unknown to the adversary:"
    )
    if clusters.n_clusters == clusters.n_records:
        sentence = (
            f"No two of {clusters.n_records:,} distinct rows show that they share their values. "
            f"{how} equivalence class, {n_targets} {of_class} {trials} {most})."
        )
        return Statement(sentence, (), "")
    sentence = (
        f"Rows of one cluster share their values: the file alone shows {clusters.n_clusters:,} "
        f"clusters of {clusters.n_records:,} distinct rows. {how} cluster, {n_targets} "
        f"{estimate(clusters.cluster_inferred)} {trials} {percent(clusters.cluster_baseline)}), "
        f"and the equivalence class for {of_class} ({most})."
    )
    of_cluster = FigureRow(
        f"cluster by all {what}",
        estimate(clusters.cluster_inferred),
        f"most unknown users {percent(clusters.cluster_baseline)}",
    )
    return Statement(sentence, (of_cluster,), "")


def inapplicable_to(release: AttackedSynthetic) -> list[str]:
    """Return which measures of other releases do not apply to synthetic users."""
    other = "Attacks on equivalence classes of users do not apply either."
    if not release.manifest.scale.unary:
        other = (
            "Attacks on equivalence classes, on the ratings of published values and on imputed "
            "values do not apply either."
        )
    return [
        "Re-identification attacks do not apply: no record of this release belongs to a user. That "
        "no user is re-identified is not a measurement, and no figure reports it as one.",
        other,
    ]


def _headline_of_synthetic(release: AttackedSynthetic) -> str:
    inferred = "membership inference was not measured"
    is_unary = release.manifest.scale.unary
    measured = [pair for pair in release.by_known.items() if pair[1].is_measured]
    if release.membership is not None:
        inferred += f", as there are {describe_shortage(release.membership, is_unary=is_unary)}"
    if measured:
        known, best = max(measured, key=lambda pair: pair[1].auc.rate)
        auc = best.auc
        inferred = (
            f"membership is inferred with AUC {auc.rate:.2f} ({format_bounds(*auc[1:3], 2)}; 0.5 "
            f"is a random guess), {MADE_ALIKE}, by an adversary who knows {known} "
            f"{'likes' if is_unary else 'ratings'} of a user"
            f"{also_known(best.scorer, is_unary=is_unary)}"
        )
    claim = release.manifest.claim
    guarantee = "the release has no guarantee about membership"
    if claim.epsilon is not None and claim.delta is not None:
        guarantee = (
            f"the guarantee is epsilon {claim.epsilon:g} with delta {claim.delta:g}, where "
            f"neighbouring tables differ by one user, added or removed"
        )
    return f"No record of the release belongs to a user; {inferred}; {guarantee}."


def _of_synthetic_users(release: AttackedSynthetic) -> list[Statement]:
    """Describe what the guarantee allows, what synthetic users reveal, and known attacks."""
    statements = []
    if bounds := bounds_of(release.manifest.claim):
        sentence = (
            f"For every adversary, if the noise was drawn as the ledger states: a test whether a "
            f"given user was in the data has an AUC of at most {bounds['most_auc']:.3f} and "
            f"detects the user with at most {percent(bounds['most_recognized'])} at 5% false "
            f"positives; of two users, it names the one in the data with a probability of at most "
            f"{bounds['most_accuracy_of_two']:.3f}."
        )
        statements.append(Statement(sentence))
    if release.nearest is not None:
        sentence = describe_resemblance(
            release.nearest,
            "An adversary who takes the best matching synthetic record for the target's own",
            "is right about {members} of its other items for members, and {nonmembers}",
        )
        rows = rows_of_resemblance(release.nearest, "other items, by the best matching record")
        statements.append(Statement(sentence, rows, "" if rows else None))
    if release.inference is not None:
        sentence = describe_resemblance(
            release.inference,
            "An adversary who learns from the whole release which items go together",
            "infers whether a user liked another item more than most did, and is right in "
            "{members} of cases for members, and in {nonmembers}",
        )
        rows = rows_of_resemblance(release.inference, "liked items, by the whole release")
        statements.append(Statement(sentence, rows, "" if rows else None))
    method = release.manifest.known_method
    undone = () if method is None else method.undone_by(release.manifest.settings)
    return [*statements, *map(Statement, undone)]


def rows_of_resemblance(found: Attributes, name: str) -> tuple[FigureRow, ...]:
    """Return the figures of what synthetic records reveal; none without a guess."""
    if not found.has_guessed:
        return ()
    excess = found.excess
    evidence = "" if excess.low > 0 else NO_SAFETY
    nonmembers = f"nonmembers {percent(found.nonmembers.mean)}"
    return (
        FigureRow(name, percent(found.members.mean), nonmembers),
        FigureRow("- points by membership", format_points(excess), evidence),
    )


def describe_resemblance(resemblance: Attributes, who: str, form: str) -> str:
    """Describe what synthetic records reveal about members, and about nonmembers."""
    members, nonmembers = resemblance.members, resemblance.nonmembers
    if not resemblance.has_guessed:
        return (
            f"{who}: {NO_ATTACK}. It guessed nothing about "
            f"{describe_count(members.trials, 'member')} and "
            f"{describe_count(nonmembers.trials, 'nonmember')}, {NO_EVIDENCE}."
        )
    excess = resemblance.excess
    rates = form.format(members=percent(members.mean), nonmembers=percent(nonmembers.mean))
    return (
        f"{who} {rates} for nonmembers: membership adds {format_points(excess)}"
        f"{'' if excess.low > 0 else f', {NO_EVIDENCE}'}."
    )


def describe_theorem(epsilon: float, delta: float) -> str:
    """Describe Narayanan & Shmatikov's Theorem 1 for one pair of error rates."""
    return (
        f"this many random entries of a record, each known closely, identify a record that agrees "
        f"with the target on {percent(1 - delta)} of its entries, with probability "
        f"{percent(1 - epsilon)} (Narayanan & Shmatikov, Theorem 1)"
    )


def columns_of(release: AttackedRelease) -> dict[str, str]:
    """Return the column titles of the rates; where real ratings stay, a record is one user's."""
    claim = release.manifest.claim
    names = {
        "class_reidentified": "class re-identified",
        "reidentified": "user re-identified",
        "bound": "bound",
    }
    if claim.about.one_person_each:
        names["class_reidentified"] = "record alone on top"
        names["reidentified"] = "user re-identified, ties shared"
    if claim.levels:
        names["bound"] = "mean of 1/k"
    return names
