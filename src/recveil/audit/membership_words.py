"""Membership words: how well somebody tells who was in the data, in plain words."""

from collections.abc import Iterable

from recveil.attack import Membership
from recveil.attack.attributes import Attributes, describe_attributes
from recveil.attack.members import JOINT, describe_membership, describe_outside_knowledge
from recveil.attack.statistics import FEWEST, NO_ATTACK, Interval, no_better
from recveil.audit.outcome import best_member
from recveil.audit.statement import FigureRow, Statement, in_short
from recveil.errors import describe_count

# By this, a method's words say how well members were told from others.
_AREA = "area under the curve"
_NO_EVIDENCE = (
    "That likings are hardly guessed better of who is in the data is no evidence that nothing is "
    "told."
)


def describe_members(
    strongest: Membership,
    by_known: dict[str, Membership],
    attributes: Attributes | None,
    *,
    likes: bool = False,
    shadows: Interval | None = None,
) -> list[Statement]:
    """Say how well members are told from strangers, by how much is known of them.

    Parameters
    ----------
    strongest : Membership
        Of the strongest adversary of an audit. Whoever tells more by knowing other ratings is
        told of first in their stead.
    by_known : dict of str to Membership
        By who knows "8", "16" and "all" ratings, exactly.
    attributes : Attributes or None
    likes : bool
        Whether there are no ratings.
    shadows : Interval, optional
        The largest area by releases made for comparison, if there are some.

    Examples
    --------
    >>> few = Membership(Interval(0.28, 0.0, 0.68, 11), members=9, outsiders=2, skipped=6)
    >>> for told in describe_members(few, {"8": few}, None):
    ...     print(told.sentence)
    Whether they can tell who was in the data at all is not told: too few people to tell (9 \
members and 2 strangers; it takes 20 of each), which reassures nobody.
    The same by who knows exact ratings, by scores of one release, too: by 8 ratings not told (9 \
members, 2 strangers).
    """
    known_best, strongest = best_member(strongest, by_known)
    what, whose = ("likes", "likes") if likes else ("ratings", "exact ratings")
    who = "They" if known_best is None else f"Whoever knows {known_best} {whose} of somebody"
    of_strongest = _row("who is in the data", strongest)
    if strongest.is_told:
        control = (
            f"That is of {describe_count(strongest.members, 'member')} "
            f"and {describe_count(strongest.outsiders, 'stranger')}; with "
            f"members drawn by lot among them, the control, AUC {_ends(strongest.null_auc)}."
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
            f"Whether they can tell who was in the data at all is not told: too few people to tell "
            f"({describe_count(strongest.members, 'member')} "
            f"and {describe_count(strongest.outsiders, 'stranger')}; it takes "
            f"{FEWEST} of each), which reassures nobody."
        )
        told = [Statement(few, (of_strongest,), few)]
    measured = "; by ".join(f"{known} {what} {_area(found)}" for known, found in by_known.items())
    if measured:
        sentence = f"The same by who knows {whose}, by scores of one release, too: by {measured}."
        rows = [row for known, found in by_known.items() for row in _rows(f"{known} {what}", found)]
        told.append(Statement(sentence, tuple(rows), ""))
    if attributes is not None:
        told.append(_of_attributes(attributes))
    return told


def _row(what: str, found: Membership) -> FigureRow:
    """Return the area, beside the control, and of how many people it is."""
    what = f"{what}, {found.members:,} + {found.outsiders:,}"
    if not found.is_told:
        return FigureRow(what, "not told")
    area, lot = (f"AUC {in_short(each, 2, 1)}" for each in (found.auc, found.null_auc))
    return FigureRow(what, area, f"by lot {lot.removeprefix('AUC ')}")


def _rows(known: str, found: Membership) -> list[FigureRow]:
    """Return the area, and how many are recognized, for who knows so much of everybody."""
    area = _row(f"- by {known}", found)
    if not found.is_told:
        return [area]
    recognized = in_short(found.tpr_at_5, 0)
    return [area, FigureRow("- found, with 5 % mistaken", recognized, "blind guess 5%")]


def _of_attributes(told: Attributes) -> Statement:
    """Say what is told of members' likings; of too few people, in a sentence alone."""
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
    """Say in one sentence how well membership is inferred, and what that adversary knows.

    Parameters
    ----------
    strongest, by_known
        As in `describe_members`.
    known_of_strongest : str
        What the strongest adversary of an audit knows of a user.
    is_unary : bool
        Whether there are no ratings.
    shadows : Interval, optional
        The largest area by shadow releases, if there are some.

    Returns
    -------
    str
        Empty where no area is shown to be above 0.5.

    Examples
    --------
    >>> some = Membership(Interval(0.8, 0.7, 0.9, 90), 45, 45, 0, scorer="counts and values")
    >>> print(membership_in_short(some, {"all": some}, "4 ratings"))
    Membership is inferred with AUC 0.80 (0.70 to 0.90; 0.5 is a coin) by an adversary who knows \
4 ratings of a user, item counts and mean ratings of all other users, and which of half of the \
scored users are members.
    """
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
        return f", {outside}, and which of half of the scored users are members"
    return f" and {outside}"


def members_told(undone: Iterable[str]) -> list[str]:
    """Choose, of what attacks undo of a method's releases, what tells who is in the data.

    It was measured with releases made for comparison, so that it stands beside what the scores of
    one release reach here; of the rest, the audit says what it found itself.

    Examples
    --------
    >>> from recveil.release.registry import undone_of
    >>> members_told(undone_of("padded")), members_told(undone_of("sparse"))[0][:27]
    ([], 'Sparse rows carry no noise ')
    """
    return [words for words in undone if _AREA in words]


def _area(found: Membership) -> str:
    """Say how well members are told from strangers, beside a coin, a lot and a blind guess."""
    if not found.is_told:
        members = describe_count(found.members, "member")
        return f"not told ({members}, {describe_count(found.outsiders, 'stranger')})"
    auc, told = found.auc, found.tpr_at_5
    # Said once: where the area is not above a coin's, hardly anybody is recognized, either.
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
