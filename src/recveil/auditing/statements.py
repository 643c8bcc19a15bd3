"""Sentences and table rows about membership inference and exact ratings."""

from collections.abc import Iterable
from typing import NamedTuple

from recveil.attacks import Mean, Membership
from recveil.attacks.inference.attributes import Attributes, describe_attributes
from recveil.attacks.inference.companions import PossibleRatings
from recveil.attacks.membership.inference import (
    JOINT,
    describe_membership,
    describe_outside_knowledge,
)
from recveil.attacks.statistics import FEWEST, NO_ATTACK, Interval, no_better, percent
from recveil.auditing.outcome import best_member
from recveil.release.exact_ratings import ExactRatings
from recveil.runtime.errors import describe_count


class FigureRow(NamedTuple):
    """A row of a table of figures."""

    # What was measured, in a few words
    what: str
    # The figure, with its interval unless it is an exact count
    found: str
    # The baseline or control to compare it with. Empty if there is none.
    beside: str = ""


class Statement(NamedTuple):
    """A sentence, and the rows that replace it where figures are in tables."""

    sentence: str
    # Its figures, except those in the table of adversaries
    rows: tuple[FigureRow, ...] = ()
    # What the rows leave out, which may be empty. None for the whole sentence.
    remark: str | None = None


def sentences_of(told: Iterable[Statement]) -> list[str]:
    """Return all statements as complete sentences.

    Examples
    --------
    >>> rows = (FigureRow("found", "9.0%"),)
    >>> sentences_of([Statement("9.0% are found.", rows, "Better attacks find more.")])
    ['9.0% are found.']
    """
    return [each.sentence for each in told]


def rows_of(told: Iterable[Statement]) -> list[FigureRow]:
    """Return the rows of all statements.

    Examples
    --------
    >>> rows = (FigureRow("found", "9.0%"),)
    >>> rows_of([Statement("Nobody."), Statement("9.0% are found.", rows, "")])
    [FigureRow(what='found', found='9.0%', beside='')]
    """
    return [row for each in told for row in each.rows]


def remarks_of(told: Iterable[Statement]) -> list[str]:
    """Return the text next to tables: what rows leave out, and statements without rows.

    Examples
    --------
    >>> rows = (FigureRow("found", "9.0%"),)
    >>> remarks_of([Statement("Nobody."), Statement("9.0% are found.", rows, "")])
    ['Nobody.']
    """
    remarks = (each.sentence if each.remark is None else each.remark for each in told)
    return [remark for remark in remarks if remark]


def in_short(found: Interval | Mean, digits: int = 1, scale: float = 100) -> str:
    """Format a figure with its interval compactly.

    Examples
    --------
    >>> in_short(Interval(0.546, 0.471, 0.619, 900)), in_short(Mean(1.3, 1.2, 1.4, 90), scale=1)
    ('54.6% (47.1–61.9)', '1.3 (1.2–1.4)')
    """
    rate = found.rate if isinstance(found, Interval) else found.mean
    sign = "%" if scale == 100 else ""
    low, high = (f"{scale * end:.{digits}f}" for end in (found.low, found.high))
    return f"{scale * rate:.{digits}f}{sign} ({low}–{high})"


# Exact shares have no interval.
_COUNTED = "All were counted."


def describe_exact_ratings(
    given: ExactRatings, lone_share: float | None, behind: PossibleRatings | None = None
) -> list[Statement]:
    """Describe how many ratings the release shows, and how certainly a value is a rating."""
    if not given.near_share:
        return []
    why = ""
    if lone_share:
        why = (
            f" ({lone_share:.1%} because nobody else in the group rated the item, the others "
            f"because all who rated it agree, or their rounded mean is the rating)"
        )
    who = "of everybody behind them who rated the item"
    if given.is_rounded_off:
        sentence = (
            f"Of all ratings, {given.near_share:.1%} stand in the release to "
            f"within the rounding ({given.within:g}), {given.exact_share:.1%} exactly{why}. Of its "
            f"labels, {given.near_label_share:.1%} are to within that the rating {who}. {_COUNTED}"
        )
        return [Statement(sentence)]
    sentence = (
        f"Of all ratings, {given.exact_share:.1%} stand in the release as they "
        f"were given{why}. {_COUNTED}"
    )
    rows = [FigureRow("ratings published as given", f"{given.exact_share:.1%} (all counted)")]
    if lone_share:
        rows.append(FigureRow("- nobody else rated the item", f"{lone_share:.1%} (all counted)"))
    if behind is not None and behind.whole_exact.trials:
        exact, commonest = behind.whole_exact, behind.whole_by_commonest
        sentence += (
            f" Of the labels that are values of the scale, {percent(exact)} "
            f"are the exact rating {who}; the item's commonest rating is for "
            f"{percent(commonest)}."
        )
        beside = f"usual {in_short(commonest)}"
        rows.append(FigureRow("labels that are exact ratings", in_short(exact), beside))
        return [Statement(sentence, tuple(rows), "")]
    share = given.near_label_share if given.label_share is None else given.label_share
    if share is not None:
        which = "labels" if given.label_share is None else "labels that are values of the scale"
        sentence += f" Of the {which}, {share:.1%} are the exact rating {who}."
        rows.append(FigureRow("labels that are exact ratings", f"{share:.1%} (all counted)"))
    return [Statement(sentence, tuple(rows), "")]


# A method's sentences on membership inference contain this phrase.
_AREA = "area under the curve"
_NO_EVIDENCE = (
    "That likings are inferred hardly better for members is no evidence that the release reveals "
    "nothing."
)


def describe_members(
    strongest: Membership,
    by_known: dict[str, Membership],
    attributes: Attributes | None,
    *,
    likes: bool = False,
    shadows: Interval | None = None,
) -> list[Statement]:
    """Describe how well membership is inferred, by how much is known of each user."""
    known_best, strongest = best_member(strongest, by_known)
    what, whose = ("likes", "likes") if likes else ("ratings", "exact ratings")
    who = "They" if known_best is None else f"Whoever knows {known_best} {whose} of somebody"
    of_strongest = _row("who is in the data", strongest)
    if strongest.is_told:
        control = (
            f"This was measured on {describe_count(strongest.members, 'member')} "
            f"and {describe_count(strongest.outsiders, 'stranger')}; the control, with members "
            f"drawn at random among them, has AUC {_ends(strongest.null_auc)}."
        )
        told = [
            Statement(describe_membership(strongest.auc, who, shadows)),
            Statement(control, (of_strongest,), ""),
        ]
        if knows := describe_outside_knowledge(strongest.scorer, is_unary=likes):
            told.append(
                Statement(
                    f"The adversary of that figure, by the score “{strongest.scorer}”, also knows "
                    f"{knows}."
                )
            )
    else:
        few = (
            f"Membership inference was not measured: too few users "
            f"({describe_count(strongest.members, 'member')} "
            f"and {describe_count(strongest.outsiders, 'stranger')}; it takes {FEWEST} of each), "
            f"which is no evidence that the release reveals nothing."
        )
        told = [Statement(few, (of_strongest,), few)]
    measured = "; by ".join(f"{known} {what} {_area(found)}" for known, found in by_known.items())
    if measured:
        sentence = (
            f"The same by adversaries who know {whose}, by scores of one release, too: by "
            f"{measured}."
        )
        rows = [row for known, found in by_known.items() for row in _rows(f"{known} {what}", found)]
        told.append(Statement(sentence, tuple(rows), ""))
    if attributes is not None:
        told.append(_of_attributes(attributes))
    return told


def _row(what: str, found: Membership) -> FigureRow:
    """Return the AUC, the control, and the number of users."""
    what = f"{what}, {found.members:,} + {found.outsiders:,}"
    if not found.is_told:
        return FigureRow(what, "not measured")
    area, lot = (f"AUC {in_short(each, 2, 1)}" for each in (found.auc, found.null_auc))
    return FigureRow(what, area, f"by lot {lot.removeprefix('AUC ')}")


def _rows(known: str, found: Membership) -> list[FigureRow]:
    """Return the AUC and the TPR for each amount of knowledge."""
    area = _row(f"- by {known}", found)
    if not found.is_told:
        return [area]
    recognized = in_short(found.tpr_at_5, 0)
    return [area, FigureRow("- found, with 5 % mistaken", recognized, "blind guess 5%")]


def _of_attributes(told: Attributes) -> Statement:
    """Describe attribute inference about members; without rows if users are too few."""
    sentence = describe_attributes(told)
    members, strangers, excess = told.members, told.strangers, told.excess
    if min(members.trials, strangers.trials) < FEWEST:
        return Statement(sentence)
    what = f"likings guessed, {members.trials:,} + {strangers.trials:,}"
    if not told.has_guessed:
        return Statement(sentence, (FigureRow(what, NO_ATTACK),), sentence)
    guessed = FigureRow(
        what,
        f"{members.mean:.1%}",
        f"strangers {strangers.mean:.1%}",
    )
    by_it = FigureRow("- points by being in the data", in_short(excess).replace("%", ""))
    remark = "" if excess.low > 0 else _NO_EVIDENCE
    return Statement(sentence, (guessed, by_it), remark)


def membership_in_short(
    strongest: Membership,
    by_known: dict[str, Membership],
    known_of_strongest: str,
    *,
    is_unary: bool = False,
    shadows: Interval | None = None,
) -> str:
    """Describe in one sentence how well membership is inferred, and by whom."""
    known, best = best_member(strongest, by_known)
    auc = best.auc
    knows = known_of_strongest
    if known is not None:
        knows = f"{known} {'likes' if is_unary else 'exact ratings'}"
    who = f"who knows {knows} of a user{also_known(best.scorer, is_unary=is_unary)}"
    if shadows is not None and shadows.rate > (auc.rate if best.is_told else 0):
        auc, who = shadows, "with shadow releases"
    elif not best.is_told:
        return ""
    if auc.low <= 0.5:
        return ""
    return (
        f"Membership is inferred with AUC {auc.rate:.2f} ({auc.low:.2f} to {auc.high:.2f}; 0.5 is "
        f"a coin) by an adversary {who}."
    )


def also_known(scorer: str, *, is_unary: bool = False) -> str:
    """Return what a score needs beyond the release and the target, to end a list of knowledge.

    Examples
    --------
    >>> also_known("counts"), also_known("likelihood")
    (' and item counts of all other users', '')
    """
    if not describe_outside_knowledge(scorer):
        return ""
    has_means = not is_unary and scorer not in ("presence", "counts")
    outside = f"item counts{' and mean ratings' * has_means} of all other users"
    if scorer in JOINT:
        return f", {outside}, and the membership of half of the scored users"
    return f" and {outside}"


def members_told(undone: Iterable[str]) -> list[str]:
    """Return the sentences on membership inference among a method's known attacks.

    Those figures come from shadow releases, so that they complement the scores of one release here;
    everything else the audit measures itself.

    Examples
    --------
    >>> from recveil.release.registry import undone_of
    >>> members_told(undone_of("padded")), members_told(undone_of("sparse"))[0][:27]
    ([], 'Sparse rows carry no noise ')
    """
    return [words for words in undone if _AREA in words]


def _area(found: Membership) -> str:
    """Describe how well membership is inferred, with the control and 0.5."""
    if not found.is_told:
        members = describe_count(found.members, "member")
        return f"not measured ({members}, {describe_count(found.outsiders, 'stranger')})"
    auc, told = found.auc, found.tpr_at_5
    # Said once: an AUC not above 0.5 implies that few users are recognized, too.
    coin = "" if auc.low > 0.5 else ", which these scores do not show to be above 0.5"
    return (
        f"AUC {_ends(auc)}{coin} (by lot {_ends(found.null_auc)}), with {told.rate:.0%} "
        f"({told.low:.0%} to {told.high:.0%}) of "
        f"{describe_count(found.members, 'member')} found while 5 % of "
        f"{describe_count(found.outsiders, 'stranger')} are taken for members"
        f"{'' if coin else no_better(told, 0.05, 'a blind guess finds', '')}"
    )


def _ends(auc: Interval) -> str:
    return f"{auc.rate:.2f} ({auc.low:.2f} to {auc.high:.2f})"
