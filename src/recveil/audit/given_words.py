"""Given words: how many ratings a release shows as they were given, in plain words."""

from recveil.attack.behind_labels import BehindLabels
from recveil.attack.statistics import percent
from recveil.audit.statement import FigureRow, Statement, in_short
from recveil.release.as_given import AsGiven

# Shares of everything have no interval.
_COUNTED = "All were counted."


def describe_as_given(
    given: AsGiven, lone_share: float | None, behind: BehindLabels | None = None
) -> list[Statement]:
    """Say how many of all ratings the release shows, and how surely a label is one of them.

    Parameters
    ----------
    given : AsGiven
        Counted over all ratings, so that its shares are no estimates.
    lone_share : float or None
        With simple homogenizing, the share of the ratings that nobody else in the group gave.
    behind : BehindLabels, optional
        What tells how sure a label is, with its interval and its baseline.

    Examples
    --------
    >>> given = AsGiven(0.6, 0.97, 0.0, None, 0.1, 0.63, 0.9)  # on a continuous scale
    >>> for sentence in describe_as_given(given, 0.6)[0].sentence.split(". "):
    ...     print(sentence)
    Of all ratings, 63.0% stand in the release to within the rounding (0.1), \
0.0% exactly (60.0% because nobody else in the group rated the item, the others because all who \
rated it agree, or their rounded mean is the rating)
    Of its labels, 90.0% are to within that the rating of everybody behind them who rated the item
    All were counted.
    """
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
