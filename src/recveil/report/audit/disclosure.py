"""Sentences and rows of figures about what a release discloses beyond re-identification."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from recveil.attacks import Interval, Mean, Membership, ReleaseAttack
from recveil.attacks.inference.attributes import Attributes
from recveil.attacks.inference.companions import Companions, PossibleRatings
from recveil.attacks.inference.fills import InferredFills
from recveil.attacks.inference.rated_cells import InferredCells
from recveil.attacks.membership.inference import JOINT
from recveil.attacks.reidentification.hidden_items import KNOWN_ITEMS, HiddenItems
from recveil.attacks.reidentification.residuals import Unfitted
from recveil.attacks.statistics import FEWEST, wilson_interval
from recveil.auditing.release_attacks import AttackedRelease, Content, Linkage
from recveil.auditing.shadow_releases import ShadowMembership
from recveil.ratings.ratings import in_likes
from recveil.release.exact_ratings import ExactRatings
from recveil.report.audit.groups import describe_exposed
from recveil.runtime.errors import describe_count
from recveil.runtime.number_format import estimate, format_bounds, percent

# Where membership is measured without shadow releases, with known nonmembers
MADE_ALIKE = "in a release made alike without a fifth of the users"
NO_EVIDENCE = "which is no evidence that the release reveals nothing"
# The same in a cell
NO_SAFETY = "no evidence of safety"
NO_ATTACK = "no attack applied"
_ALL_COUNTED = "All were counted."
_EXACT_ON_SCALE = "exact values on the scale"
SHADOWS_OF_ALL = "“recveil compare FILE --shadows 32”"
_BOUND = "This AUC is a lower bound: shadow releases ({}) usually infer more."
MEMBERSHIP = _BOUND.format("“recveil audit FILE --release OUT --shadows 32”")
MEMBERSHIP_OF_ALL = _BOUND.format(SHADOWS_OF_ALL)
# What an AUC permits, up to each edge.
_GRADES = (
    (0.6, "infers slightly better than a random guess"),
    (0.75, "sometimes infers"),
    (0.95, "often infers"),
    (math.inf, "nearly always infers"),
)


class FigureRow(NamedTuple):
    """A row of a table of figures."""

    # What was measured, in a few words
    figure: str
    # The value, with its interval unless it is an exact count
    value: str
    # The baseline or control to compare it with. Empty if there is none.
    baseline: str = ""


class Statement(NamedTuple):
    """A sentence, and the rows that replace it where figures are in tables."""

    sentence: str
    # Its figures, except those in the table of adversaries
    rows: tuple[FigureRow, ...] = ()
    # What the rows leave out, which may be empty. None for the whole sentence.
    remark: str | None = None


def remarks_of(statements: Iterable[Statement]) -> list[str]:
    """Return the text next to tables: what rows leave out, and statements without rows.

    >>> rows = (FigureRow("re-identified", "9.0%"),)
    >>> remarks_of([Statement("None."), Statement("9.0% are re-identified.", rows, "")])
    ['None.']
    """
    remarks = (each.sentence if each.remark is None else each.remark for each in statements)
    return [remark for remark in remarks if remark]


def no_better(
    measured: Interval | Mean, baseline: float, source: str, about: str = "the release"
) -> str:
    """Describe an attack as no better than its baseline, unless its interval is above it.

    A rate of 10% is high where no baseline reaches it, and reveals nothing where popularity alone
    reaches 66%.
    """
    if not measured.trials or not measured.low <= baseline:  # a nan baseline is none
        return ""
    how = "less" if measured.high < baseline else "not clearly more"
    nothing_new = f", so that it reveals nothing new about {about}" if about else ""
    return f", which is {how} than {source} ({percent(baseline)}){nothing_new}"


def cell_statements(release: AttackedRelease, attack: ReleaseAttack) -> list[Statement]:
    """Return what the cells of a release reveal about ratings."""
    statements, exact, content = [], release.exact_ratings, release.content
    # Where values are rounded off ratings, a low exact rate would be falsely reassuring.
    if attack.exact.rate > 0 and not (exact and exact.is_rounded_off):
        statements.append(_of_unknown_ratings(release, attack))
    if exact is not None:
        possible = None if content is None else content.possible
        statements += describe_exact_ratings(exact, release.lone_share, possible)
    return statements if content is None else statements + statements_of_content(content)


def _of_unknown_ratings(release: AttackedRelease, attack: ReleaseAttack) -> Statement:
    """Describe how many unknown ratings the adversary infers exactly."""
    target, row = "equivalence class", "the row of the class"
    if release.manifest.claim.about.one_person_each:
        target, row = "record", "it"
    method, is_unary = release.manifest.known_method, release.manifest.scale.unary
    more = "" if method is None or is_unary else method.about_exact
    sentence = (
        f"Of the unknown {'likes' if is_unary else 'ratings'} of targets whose {target} was "
        f"inferred, {estimate(attack.exact)} are in {row}{'' if is_unary else ' exactly'}.{more}"
    )
    rows = (FigureRow(in_likes("unknown ratings in the row", is_unary), estimate(attack.exact)),)
    return Statement(sentence, rows, more.strip())


def describe_exact_ratings(
    exact: ExactRatings, lone_share: float | None, possible: PossibleRatings | None = None
) -> list[Statement]:
    """Describe how many ratings the release shows, and how certainly a value is a rating."""
    if not exact.near_share:
        return []
    why = ""
    if lone_share:
        why = (
            f" ({percent(lone_share)} because no other user of the class rated the item, the "
            f"others because all raters in the class agree, or their rounded mean is the rating)"
        )
    whose = "of all users of the class who rated the item"
    if exact.is_rounded_off:
        sentence = (
            f"Of all ratings, {percent(exact.near_share)} are in the release to within the "
            f"rounding ({exact.within:g}), {percent(exact.exact_share)} exactly{why}. Of its "
            f"values, {percent(exact.near_label_share)} are within that of the rating {whose}. "
            f"{_ALL_COUNTED}"
        )
        return [Statement(sentence)]
    sentence = (
        f"Of all ratings, {percent(exact.exact_share)} are in the release exactly{why}. "
        f"{_ALL_COUNTED}"
    )
    rows = [FigureRow("ratings published exactly", f"{percent(exact.exact_share)} (all counted)")]
    if lone_share:
        rows.append(FigureRow("- by a single rater", f"{percent(lone_share)} (all counted)"))
    if possible is not None and possible.whole_exact.trials:
        right, commonest = possible.whole_exact, possible.whole_by_commonest
        sentence += (
            f" Of the values on the scale, {estimate(right)} are the exact rating {whose}; the "
            f"item's most frequent rating is right for {estimate(commonest)}."
        )
        baseline = f"mode {estimate(commonest)}"
        rows.append(FigureRow(_EXACT_ON_SCALE, estimate(right), baseline))
        return [Statement(sentence, tuple(rows), "")]
    share = exact.near_label_share if exact.label_share is None else exact.label_share
    if share is not None:
        which, name = "values on the scale", _EXACT_ON_SCALE
        if exact.label_share is None:
            which, name = "values", "values that are exact ratings"
        sentence += f" Of the {which}, {percent(share)} are the exact rating {whose}."
        rows.append(FigureRow(name, f"{percent(share)} (all counted)"))
    return [Statement(sentence, tuple(rows), "")]


def statements_of_content(content: Content) -> list[Statement]:
    """Return what fills, companions and possible ratings reveal."""
    # Report only the adversaries who know least and most.
    ends = dict.fromkeys((0, len(content.fills) - 1)) if content.fills else {}
    statements = [_of_fills(content.fills[end]) for end in ends]
    if content.companions is not None and content.companions.inferred.trials:
        statements.append(_of_companions(content.companions))
    if content.possible is not None and content.possible.one_rating.trials:
        statements.append(_of_possible_ratings(content.possible))
    return statements


def content_warnings(content: Content) -> list[str]:
    """Return what was not measured."""
    if content.is_too_fine:
        return [
            "How many different ratings a value may come from was not measured, because on a "
            "continuous scale, or one of very many steps, hardly two ratings are the same."
        ]
    if not content.unmeasured:
        return []
    by = " by an adversary who knows no user" if content.fills else ""
    return [
        f"Whether fills can be distinguished from ratings{by} was not measured: "
        f"{content.unmeasured}."
    ]


def _of_fills(fills: InferredFills) -> Statement:
    rate, by_items, marked = (
        fills.reidentified,
        fills.reidentified_by_items,
        fills.precision.get(0.5),
    )
    who = (
        f"An adversary who knows {fills.users_known:,} of the users ({percent(fills.known_share)})"
    )
    if not fills.users_known:
        who = "An adversary who knows no user, and makes such a release of the published values,"
    if marked is None or not rate.trials:
        return Statement(f"{who} could not be tried: no values are left to score.")
    alone = f"; by the items alone, {percent(by_items.rate)}"
    baseline = percent(fills.base_rate)
    precision = (
        f"half of the other users' ratings are marked with {percent(marked.rate)} of the marks "
        f"right ({format_bounds(*marked[1:3])}; a random guess: {baseline})"
    )
    if marked.low <= fills.base_rate:
        precision = (
            f"this attack does not distinguish ratings from fills ({percent(marked.rate)} of the "
            f"marks right, a random guess {baseline}); better ones may"
        )
    sentence = (
        f"{who} learns to recognize fills: {precision}. By eight items without ratings, the "
        f"adversary re-identifies {estimate(rate)} of the other users"
        f"{no_better(rate, by_items.rate, 'the items alone give') or alone}."
    )
    known = f"{fills.users_known:,} known users" if fills.users_known else "a shadow release"
    rows = (
        FigureRow(f"ratings among fills, by {known}", estimate(marked), f"random guess {baseline}"),
        FigureRow(
            "- users by eight items", estimate(rate), f"items alone {percent(by_items.rate)}"
        ),
    )
    return Statement(sentence, rows, "")


def _of_companions(companions: Companions) -> Statement:
    inferred, right, control = companions.inferred, companions.correct, companions.control
    near = f" to within {companions.within:g}" if companions.within else ""
    correct = f", and {estimate(right)} of these are right" if right.trials else ""
    chance = ""
    if control.trials:
        chance = f", and {estimate(control)} of another user's ratings follow by chance"
    sentence = (
        f"An adversary who knows the ratings of all other users of a class infers "
        f"{estimate(inferred)} of the target's ratings with certainty{near}{correct}"
        f"{no_better(inferred, control.rate, 'follows for another user')}; to take the row's "
        f"values for the ratings is right for {estimate(companions.by_row)}{chance}."
    )
    baseline = f"control {estimate(control)}" if control.trials else ""
    rows = [FigureRow(f"ratings inferred by others{near}", estimate(inferred), baseline)]
    rows += [FigureRow("- correct ones of these", estimate(right))] if right.trials else []
    rows.append(FigureRow("- correct by the values", estimate(companions.by_row)))
    return Statement(sentence, tuple(rows), "")


def _of_possible_ratings(possible: PossibleRatings) -> Statement:
    one, distinct = possible.one_rating, possible.distinct
    can, could = "", ""
    if possible.possible is not None:
        can = f"; by the value alone, {possible.possible.mean:.1f} are possible"
        could = f"possible {possible.possible.mean:.1f}"
    sample = ""
    if possible.records < possible.of_records:
        sample = (
            f"a random sample of {possible.records:,} of "
            f"{describe_count(possible.of_records, 'record')}."
        )
    sentence = (
        f"A value comes from the ratings of the users of the class who rated the item: on average "
        f"{distinct.mean:.1f} different ones ({format_bounds(*distinct[1:3], 1)}), and only "
        f"one for {estimate(one)} of the values{can}.{sample and f' This was measured on {sample}'}"
    )
    rows = (
        FigureRow("different ratings of a value", estimate(distinct, 1), could),
        FigureRow("- values of one rating", estimate(one)),
    )
    return Statement(sentence, rows, sample and f"Ratings of values were measured on {sample}")


def known_attacks(release: AttackedRelease) -> list[Statement]:
    """Return known attacks on the method: as measured here, or as reported elsewhere."""
    method, settings = release.manifest.known_method, release.manifest.settings
    undone = () if method is None else method.undone_by(settings)
    if release.residual is not None:  # a measurement here replaces those made elsewhere
        return [of_fit(release.residual), *map(Statement, membership_attacks(undone))]
    # Results from elsewhere apply only where the same attack is possible.
    unfitted = undone and release.unfitted
    return [Statement(_of_unfitted(unfitted))] if unfitted else list(map(Statement, undone))


def _of_unfitted(unfitted: Unfitted) -> str:
    why = {
        "few-rows": f"{describe_count(unfitted.n_rows, 'row')} for "
        f"{describe_count(unfitted.n_users, 'user')} are too few",
        "rows-of-one-user": "each row is of one user",
        "one-level": "there is one rating only",
    }[unfitted.reason]
    return f"A smooth fit of all rows, which may reveal who rated what, was not tried: {why}."


def membership_attacks(undone: Iterable[str]) -> list[str]:
    """Return the sentences on shadow releases among a method's known attacks.

    >>> from recveil.release.registry import undone_of
    >>> membership_attacks(undone_of("padded")), len(membership_attacks(undone_of("sparse")))
    ([], 1)
    """
    return [words for words in undone if "AUC" in words]


def of_fit(cells: InferredCells) -> Statement:
    """Return what a fit of all rows reveals; a sentence without rows if that is nothing new."""
    sentence, lone = _describe_cells(cells), cells.lone_exact
    popular = cells.popularity_recall_at_95
    if not cells.recall_at_95.trials or no_better(cells.recall_at_95, popular, ""):
        return Statement(sentence)
    rows = [
        FigureRow(
            "inferred rated cells",
            estimate(cells.recall_at_95),
            f"popularity {percent(popular)}",
        )
    ]
    if lone.trials:
        baseline = f"popularity {percent(cells.popularity_lone_exact)}"
        rows.append(FigureRow("- inferred lone ratings", estimate(lone), baseline))
        rows.append(FigureRow("- if known to be lone", percent(cells.lone_known.rate)))
    remark = (
        f"A smooth fit of all rows reveals who rated what.{_sample_of(cells)} Better fits may "
        f"reveal more."
    )
    return Statement(sentence, tuple(rows), remark)


def _describe_cells(cells: InferredCells) -> str:
    """Describe how well rated cells are inferred, and the popularity baseline."""
    recall, lone = cells.recall_at_95, cells.lone_exact
    if not recall.trials:
        return "No user of the fitted records rated an item."
    # A better ranking than by popularity reveals something, whatever the marks show.
    is_informative = bool(cells.auc.trials) and cells.auc.low > cells.popularity_auc
    about = "" if is_informative else "the release"
    chance = no_better(recall, cells.popularity_recall_at_95, "popularity alone gives", about)
    alone = f" (popularity alone: {percent(cells.popularity_recall_at_95)})"
    sentence = (
        f"Who rated what is not hidden: the residuals of a smooth fit of all rows and the items' "
        f"popularity, which is public, mark {estimate(recall)} of the pairs of record and item "
        f"that a user of the class rated, with 95% of the marks right{chance or alone}"
    )
    if chance and is_informative:
        sentence += (
            f"; still, they rank a rated pair above an unrated one in {estimate(cells.auc)} of the "
            f"cases, popularity alone in {percent(cells.popularity_auc)}"
        )
    if lone.trials:
        usual = "popularity and the most frequent rating give"
        sentence += (
            f"{';' if chance else ', and'} they recover exactly {estimate(lone)} of the ratings "
            f"that only one user of the class gave"
            f"{no_better(lone, cells.popularity_lone_exact, usual, about)}"
        )
        if cells.lone_known.trials:
            known = percent(cells.lone_known.rate)
            sentence += f"; {known} where it is known that only one did"
    return f"{sentence}.{_sample_of(cells)} Better fits may reveal more."


def _sample_of(cells: InferredCells) -> str:
    if cells.records == cells.of_records:
        return ""
    return (
        f" It used a random sample of {cells.records:,} of "
        f"{describe_count(cells.of_records, 'record')}, so its figures and the number of users "
        f"that it re-identifies are lower bounds."
    )


def best_membership(
    strongest: Membership, by_known: dict[str, Membership]
) -> tuple[str | None, Membership]:
    """Return the best membership inference: by a number of exact ratings, or by the strongest."""
    every: list[tuple[str | None, Membership]] = [*by_known.items(), (None, strongest)]
    measured = [each for each in every if each[1].is_measured] or every[-1:]
    return max(measured, key=lambda each: each[1].auc.rate)


def describe_shortage(membership: Membership, *, is_unary: bool = False) -> str:
    """Describe why too few users could be attacked to measure anything."""
    numbers = {"members": membership.members, "nonmembers": membership.nonmembers}
    few = [who for who, n in numbers.items() if n < FEWEST]
    enough = f" with enough {'likes' if is_unary else 'ratings'}" if membership.skipped else ""
    return f"too few {few[0] if len(few) == 1 else 'users'}{enough}"


def membership_statements(release: AttackedRelease) -> list[Statement]:
    """Describe membership inference for each amount of knowledge."""
    is_unary = release.manifest.scale.unary
    shadows, strongest = [], None
    if release.shadows is not None:
        sentences = describe_shadows(release.shadows, is_unary=is_unary)
        shadows, strongest = list(map(Statement, sentences)), release.shadows.strongest
    if release.membership is None:
        return shadows
    return [
        *describe_members(
            *(release.membership, release.by_known, release.attributes),
            is_unary=is_unary,
            shadows=strongest,
        ),
        *shadows,
    ]


def describe_auxiliary(scorer: str, *, is_unary: bool = False) -> str:
    """Describe the auxiliary information that a score needs beyond the release and the target."""
    if scorer not in ("presence", "counts", "values", *JOINT):
        return ""
    chose = "have" if is_unary else "rated"
    counts = f"how many other users {chose} each item, in the release or not"
    if scorer in ("presence", "counts"):
        return counts
    means = counts if is_unary else f"{counts}, and their mean rating"
    if scorer == "values":
        return means
    return f"{means}; and, for half of the scored users, whether they are in the release"


def describe_membership(
    auc: Interval, who: str = "They", shadows: Interval | None = None, bound: str = MEMBERSHIP
) -> str:
    """Describe membership inference in words graded by the AUC; `bound` says what measures more.

    A low AUC is no evidence of safety: the sentence adds the result of the strongest other test.
    """
    claim = (
        f"By scores that use one release only, it is not shown that {who[0].lower()}{who[1:]} "
        f"infers"
    )
    if auc.low > 0.5:
        claim = f"{who} {next(words for edge, words in _GRADES if auc.rate < edge)}"
    area = estimate(auc, 2)
    sentence = (
        f"{claim} who is in the data, with AUC {area}; 0.5 is a random guess, 1 is certainty."
    )
    if auc.low > 0.5 and auc.rate >= _GRADES[-2][0]:
        return sentence
    if shadows is None:
        return f"{sentence} {bound}"
    return (
        f"{sentence} With shadow releases, each of half of the users, AUC "
        f"{estimate(shadows, 2)} was reached. Better attacks may infer more."
    )


def _bound_by(auc: Interval, shadows: Interval | None) -> str:
    """Return what the lead and the table do not say of membership inference."""
    if auc.low <= 0.5:
        return (
            "Scores of one release do not show that membership can be inferred, which is no "
            "evidence that it cannot; shadow releases usually infer more."
        )
    if auc.rate >= _GRADES[-2][0] or shadows is not None:
        return ""
    return MEMBERSHIP


def describe_members(
    strongest: Membership,
    by_known: dict[str, Membership],
    attributes: Attributes | None,
    *,
    is_unary: bool = False,
    shadows: Interval | None = None,
) -> list[Statement]:
    """Describe membership inference, by how much is known of each user."""
    known, best = best_membership(strongest, by_known)
    what, whose = ("likes", "likes") if is_unary else ("ratings", "exact ratings")
    who = "An adversary" if known is None else f"An adversary who knows {known} {whose} of a user"
    members = describe_count(best.members, "member")
    nonmembers = describe_count(best.nonmembers, "nonmember")
    row, *rest = _rows_of(f"membership, {best.members:,} + {best.nonmembers:,}", best)
    if best.is_measured:
        control = (
            f"This was measured {MADE_ALIKE}, on {members} and {nonmembers}; the control, with "
            f"members drawn at random among them, has AUC {estimate(best.null_auc, 2)}."
        )
        statements = [
            Statement(
                describe_membership(best.auc, who, shadows), (), _bound_by(best.auc, shadows)
            ),
            Statement(control, (row,) if known is None else (row, *rest), ""),
        ]
        if knows := describe_auxiliary(best.scorer, is_unary=is_unary):
            sentence = f"That adversary also knows {knows} (score “{best.scorer}”)."
            # The lead has it, if the AUC is above 0.5.
            statements.append(Statement(sentence, (), "" if best.auc.low > 0.5 else sentence))
    else:
        few = (
            f"Membership inference was not measured: {describe_shortage(best, is_unary=is_unary)} "
            f"({members} and {nonmembers}; it takes {FEWEST} of each), {NO_EVIDENCE}."
        )
        statements = [Statement(few, (row,), few)]
    measured = "; by ".join(f"{n} {what} {_area(each)}" for n, each in by_known.items())
    if measured:
        sentence = (
            f"The same by adversaries who know {whose}, by scores of one release, too: by "
            f"{measured}."
        )
        # The best one is already in the table; where it is not measured, none is.
        others = {n: each for n, each in by_known.items() if best.is_measured and n != known}
        rows = [
            _row_of_auc(f"- by {n} {what}{_users_of(each, best)}", each)
            for n, each in others.items()
        ]
        statements.append(Statement(sentence, tuple(rows), ""))
    if attributes is not None:
        statements.append(
            _of_attributes(attributes, describe_shortage(strongest, is_unary=is_unary))
        )
    return statements


def _users_of(membership: Membership, best: Membership) -> str:
    """Return the numbers of members and nonmembers, if they are not those of the row above."""
    numbers = membership.members, membership.nonmembers
    if numbers == (best.members, best.nonmembers):
        return ""
    return f", {numbers[0]:,} + {numbers[1]:,}"


def _row_of_auc(name: str, membership: Membership) -> FigureRow:
    if not membership.is_measured:
        return FigureRow(name, "not measured")
    auc, control = (estimate(each, 2) for each in (membership.auc, membership.null_auc))
    return FigureRow(name, f"AUC {auc}", f"control {control}")


def _rows_of(name: str, membership: Membership) -> list[FigureRow]:
    """Return the AUC and the TPR of one amount of knowledge."""
    auc = _row_of_auc(name, membership)
    if not membership.is_measured:
        return [auc]
    return [
        auc,
        FigureRow("- TPR at 5% FPR", estimate(membership.tpr_at_5), "random guess 5%"),
    ]


def _area(membership: Membership) -> str:
    """Describe the AUC, with the control and 0.5, and the TPR."""
    members = describe_count(membership.members, "member")
    nonmembers = describe_count(membership.nonmembers, "nonmember")
    if not membership.is_measured:
        return f"not measured ({members}, {nonmembers})"
    auc, tpr = membership.auc, membership.tpr_at_5
    # Stated once: an AUC not above 0.5 implies that few users are recognized, too.
    coin = "" if auc.low > 0.5 else ", which these scores do not show to be above 0.5"
    return (
        f"AUC {estimate(auc, 2)}{coin}, control {estimate(membership.null_auc, 2)}, with "
        f"{estimate(tpr)} of {members} recognized at a false positive rate of 5% among "
        f"{nonmembers}{'' if coin else no_better(tpr, 0.05, 'a random guess gives', '')}"
    )


def format_points(excess: Mean) -> str:
    """Format a difference of two shares, with its interval.

    >>> format_points(Mean(0.031, -0.01, 0.072, 90))
    '3.1 points (-1 to 7.2)'
    """
    return estimate(excess).replace("%", " points")


def _of_attributes(attributes: Attributes, shortage: str) -> Statement:
    """Describe attribute inference about members; without rows if users are too few."""
    members, control, excess = attributes.members, attributes.nonmembers, attributes.excess
    of_members = describe_count(members.trials, "member")
    of_control = describe_count(control.trials, "nonmember")
    if min(members.trials, control.trials) < FEWEST:
        return Statement(
            f"Attribute inference was not measured: {shortage} ({of_members} and {of_control}; it "
            f"takes {FEWEST} of each), {NO_EVIDENCE}."
        )
    name = f"attributes, {members.trials:,} + {control.trials:,}"
    question = "Whether a user liked another item more than most did"
    if not attributes.has_guessed:
        sentence = (
            f"{question}: {NO_ATTACK}, as no record revealed it for {of_members} or {of_control}, "
            f"{NO_EVIDENCE}."
        )
        return Statement(sentence, (FigureRow(name, NO_ATTACK),), sentence)
    sentence = (
        f"{question} is inferred correctly in {percent(members.mean)} of cases for {of_members}, "
        f"and in {percent(control.mean)} for {of_control}: being in the data adds "
        f"{format_points(excess)}{'' if excess.low > 0 else f', {NO_EVIDENCE}'}."
    )
    evidence = "" if excess.low > 0 else NO_SAFETY
    rows = (
        FigureRow(name, percent(members.mean), f"nonmembers {percent(control.mean)}"),
        FigureRow("- points by membership", format_points(excess), evidence),
    )
    return Statement(sentence, rows, "")


def membership_in_short(
    strongest: Membership,
    by_known: dict[str, Membership],
    known_of_strongest: str,
    *,
    is_unary: bool = False,
    shadows: Interval | None = None,
) -> str:
    """Describe the best membership inference in one sentence; empty if it is not above chance."""
    known, best = best_membership(strongest, by_known)
    auc, knows = best.auc, known_of_strongest
    if known is not None:
        knows = f"{known} {'likes' if is_unary else 'exact ratings'}"
    who = f"who knows {knows} of a user{also_known(best.scorer, is_unary=is_unary)}"
    if shadows is not None and shadows.rate > (auc.rate if best.is_measured else 0):
        auc, who = shadows, "with shadow releases"
    elif not best.is_measured:
        return ""
    if auc.low <= 0.5:
        return ""
    where = (
        "Membership" if auc is shadows else f"{MADE_ALIKE[0].upper()}{MADE_ALIKE[1:]}, membership"
    )
    return (
        f"{where} is inferred with AUC {auc.rate:.2f} ({format_bounds(*auc[1:3], 2)}; 0.5 is "
        f"a random guess) by an adversary {who}."
    )


def also_known(scorer: str, *, is_unary: bool = False) -> str:
    """Return what a score needs beyond the release and the target, to end a list of knowledge.

    >>> also_known("counts"), also_known("likelihood")
    (' and item counts of all other users', '')
    """
    if not describe_auxiliary(scorer):
        return ""
    has_means = not is_unary and scorer not in ("presence", "counts")
    outside = f"item counts{' and mean ratings' * has_means} of all other users"
    if scorer in JOINT:
        return f", {outside}, and the membership of half of the scored users"
    return f" and {outside}"


# The end of an interval that more shadows should reach, where members are all separated.
_NEAR_END = 0.9


def of_pairs(auc: Interval, n_shadows: int) -> str:
    """Explain an interval that follows from the number of pairs of shadows alone.

    >>> of_pairs(Interval(1.0, 0.676, 1.0, 300), 16)[-82:]
    ' interval follows from their number alone; 70 shadows would raise its end to 0.90.'
    >>> of_pairs(Interval(0.99, 0.98, 1.0, 300), 16), of_pairs(Interval(1.0, 0.95, 1.0, 300), 160)
    ('', '')
    """
    n_pairs = n_shadows // 2
    if auc.rate != 1 or wilson_interval(n_pairs, n_pairs).low >= _NEAR_END:
        return ""
    enough = next(n for n in range(n_pairs, 1_000) if wilson_interval(n, n).low >= _NEAR_END)
    return (
        f"Where the AUC is 1.00, every member ranks above every nonmember in all {n_pairs} pairs "
        f"of shadows, and the interval follows from their number alone; {2 * enough} shadows would "
        f"raise its end to {_NEAR_END:.2f}."
    )


def describe_shadows(shadows: ShadowMembership, *, is_unary: bool = False) -> list[str]:
    """Describe membership inference with shadow releases."""
    what, chose = ("likes", "liked") if is_unary else ("exact ratings", "rated")
    rated = what.removeprefix("exact ")
    sentences = [
        f"From shadow releases, an adversary who knows the {rated} of all other users learns how "
        f"one user changes a release. This was measured with {shadows.n} releases, each of one "
        f"half of the {describe_count(shadows.users, 'user')}; a release of all of them hides a "
        f"user among twice as many."
    ]
    if shadows.has_answers:
        sentences.append(
            "The published answers are attacked, too: their noise is known, so the likelihood of "
            "each with and without a user is, too. On one half of the users the stronger attack is "
            "chosen, on the other it is measured."
        )
    if shadows.has_attributes:
        sentences.append("The adversaries know the attributes of all users, too.")
    for known, measured in shadows.by_known.items():
        auc = measured.inferred.auc
        coin = "" if auc.low > 0.5 else f", {NO_EVIDENCE}"
        sentences.append(
            f"An adversary who knows {known} {what} of a user infers membership in such a release "
            f"with AUC {auc.rate:.2f} ({format_bounds(*auc[1:3], 2)}; 0.5 is a random "
            f"guess){coin}, and recognizes {percent(measured.inferred.tpr_at_1.rate)} of the "
            f"members at a false positive rate of 1%, {percent(measured.inferred.tpr_at_5.rate)} "
            f"at 5%. Exact "
            f"counts of who {chose} each item, if nothing else were published, would reach AUC "
            f"{measured.counts_auc.rate:.2f}; the control, with members drawn at random, reaches "
            f"{measured.null_auc.rate:.2f}."
        )
    areas = [each.inferred.auc for each in shadows.by_known.values()]
    sentences += list(dict.fromkeys(filter(None, (of_pairs(each, shadows.n) for each in areas))))
    best = max(shadows.by_known.values(), key=lambda each: each.inferred.auc.rate, default=None)
    if best is not None and (exposed := describe_exposed(best)):
        sentences.append(in_likes(exposed, is_unary))
    return sentences


def describe_hidden_items(found: HiddenItems) -> list[str]:
    """Describe how many hidden items and, through them, users are re-identified."""
    source = f"with {found.catalogue.name} as the public table"
    if found.catalogue.is_half_of_users:
        source = (
            "with half of the release's own users as the public table (a table of other users was "
            "not tried: give one as item_catalog, --item-catalog)"
        )
    top, all_, by_rank = found.named["100"], found.named["all"], found.by_rank["100"]
    alone = f" (by rank of popularity alone {percent(by_rank.rate)})"
    sentences = [
        f"The rates above are those of an adversary who knows which item is which. Hidden items "
        f"are re-identified, {source}: {estimate(top)} of the {top.trials} that most users rated"
        f"{no_better(top, by_rank.rate, 'their rank alone gives') or alone}, and {estimate(all_)} "
        f"of all {found.items:,}; {estimate(found.with_known['all'])} if {KNOWN_ITEMS} are known."
    ]
    if found.left_out:
        sentences.append(
            f"{found.left_out:,} hidden items with the fewest values were not attacked, and count "
            f"as not re-identified."
        )
    sentences += [
        f"Of the {table}'s {describe_count(of_rows, 'row')}, a random sample of {rows:,} was used "
        f"to re-identify the items; an adversary who uses all of them may re-identify more."
        for table, (rows, of_rows) in found.sampled.items()
        if rows < of_rows
    ]
    if not found.attacks:
        return sentences
    worst = max(found.attacks, key=lambda one: one.reidentified.ranked)
    rate, control = worst.reidentified, worst.control.rate
    if not rate.trials:
        return [
            *sentences,
            "Through these items no user could be attacked, which is no evidence of safety.",
        ]
    return [
        *sentences,
        f"Through these items “{worst.adversary}” re-identifies {estimate(rate)} of "
        f"{describe_count(rate.trials, 'user')}"
        f"{no_better(rate, control, 'the same guesses shuffled over the items give')}; "
        f"{percent(control)} if the guesses are shuffled over the items, and "
        f"{percent(worst.names_known.rate)} if items were not hidden. Better matchings may "
        f"re-identify more: do not count on hidden items.",
    ]


def warnings_of_linkage(linkage: Linkage) -> list[str]:
    """Warn if the guarantee of each release does not hold for both together."""
    shared = linkage.shared
    if not linkage.is_exceeding:
        return []
    return [
        f"With “{linkage.name}”, too, the guarantee of either release is exceeded: of "
        f"{describe_count(shared.n_users, 'user')} in both releases, {estimate(shared.unique)} are "
        f"the only one in both their classes, and {estimate(shared.below_k)} share both with fewer "
        f"than k = {linkage.k} ({shared.mean_users.mean:.1f} users on average). Publish one of "
        f"the two."
    ]


def limited_to_one(release: AttackedRelease) -> str:
    """Return the words that limit a guarantee to this release, if another one breaks it."""
    linkage = release.linkage
    return "" if linkage is None or not linkage.is_exceeding else " for this release alone"


def headline_of_linkage(linkage: Linkage) -> str:
    """Return a sentence for the headline; empty if both releases re-identify no more users."""
    name, both = linkage.strongest
    if both.reidentified_by_both.ranked <= both.reidentified_by_one.ranked:
        return ""
    return (
        f"By both this release and “{linkage.name}”, {percent(both.reidentified_by_both.rate)} are "
        f"re-identified (by “{name}”): the guarantee holds for one release alone."
    )


def verdict_of_linkage(linkage: Linkage) -> list[str]:
    """Describe what two releases reveal in practice; warnings are separate."""
    sentences, shared = [], linkage.shared
    if not linkage.is_exceeding:
        sentences.append(
            f"Of {describe_count(shared.n_users, 'user')} who are also in “{linkage.name}”, none "
            f"shares both classes with fewer than k = {linkage.k} ({shared.mean_users.mean:.1f} "
            f"on average). This is about classes alone; other values of the same class may reveal "
            f"more."
        )
    if linkage.hides_items:
        which = " and ".join(f"“{name}”" for name in linkage.hides_items)
        sentences.append(
            f"Items have pseudonyms in {which}. The following holds for an adversary who knows "
            f"which item is which: two releases of the same users help to re-identify the items."
        )
    return [*sentences, _of_both_rows(linkage), _of_links(linkage)]


def _of_both_rows(linkage: Linkage) -> str:
    name, both = linkage.strongest
    if both.skipped == both.requested:
        return "No user could be attacked in both releases, which shows nothing."
    single = both.reidentified_by_one.rate
    nothing_new = no_better(
        both.reidentified_by_both, single, "one release alone gives", "the other one"
    )
    return (
        f"To use both releases, an adversary must infer a user’s row in each: of "
        f"{describe_count(both.requested, 'user')}, “{name}” infers {estimate(both.both)} in both "
        f"({percent(both.first.rate)} in this one, {percent(both.second.rate)} in "
        f"“{linkage.name}”). If the adversary learns who shares each row, a random pick among the "
        f"users of both rows is right for {estimate(both.reidentified_by_both)}{nothing_new}; by "
        f"one release alone for {percent(single)}, and with another user's row in the other one "
        f"for {percent(both.control.rate)}. An attack on both at once may re-identify more."
    )


def _of_links(linkage: Linkage) -> str:
    links = linkage.links
    if links is None:
        return "The rows are too large to measure which items two of them reveal."
    if not links.both.trials:
        return "No items are distinctive in both rows of any user; better attacks may reveal some."
    one = f"{percent(links.one.mean)} of those" if links.one.trials else "none"
    control = percent(links.control.mean) if links.control.trials else "none"
    popular = "as many of the most rated items give"
    nothing_new = no_better(links.both, links.popularity.mean, popular) or no_better(
        links.both, links.control.mean, "another user’s second row gives"
    )
    sentence = (
        f"Of the items that are distinctive in both rows of a user, the user rated (the mean of "
        f"{describe_count(links.both.trials, 'user')}) {percent(links.both.mean)} "
        f"({format_bounds(*links.both[1:3])}){nothing_new}; {one} that are "
        f"distinctive in one row, {control} with another user’s second row, and "
        f"{percent(links.popularity.mean)} of as many of the most rated items. Better attacks "
        f"reveal more."
    )
    return in_likes(sentence, linkage.is_unary)
