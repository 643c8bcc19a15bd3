"""The three risks of the Article 29 Working Party as sentences, and their JSON."""

from recveil.attacks import Interval
from recveil.auditing import RiskFigure, RiskLine, Risks
from recveil.auditing.release_attacks import COVERAGE
from recveil.auditing.three_risks import (
    AND_ATTRIBUTES,
    BY_ALL,
    BY_ALL_AND_ROWS,
    FEW_RATINGS,
    NO_ATTACK,
    NO_FIGURE,
    NO_RECORD,
    NOT_REPEATED,
)
from recveil.ratings.ratings import in_likes
from recveil.report.audit.disclosure import NO_SAFETY
from recveil.runtime.number_format import estimate, percent

_GUESS = "a random guess: {}"
_CONSTANT = "a constant guess: {}"
_POPULAR = "popularity: {}"
_NONMEMBERS = "nonmembers: {}"
_RANDOM_MEMBERS = "random members: {}"
_PERMUTED = "permuted: {}"
_NOT_INSIDE = "users who are not in the table: {} linked"
_RISING = "items that rise most, or another user’s new ones: {}"
# References that name a control alone, and no baseline
_CONTROLS = (_RANDOM_MEMBERS, _PERMUTED, _NOT_INSIDE)
# The finding of each figure, and its reference: see `reference_of`.
# {by} is the adversary, {what} the same without quotes.
_PHRASES = {
    "user re-identified": ("{rate} of the users are re-identified by {by}", _GUESS),
    "only match": ("{rate} of the users are the only match ({what})", _GUESS),
    "random match": ("{rate} of the users are a random pick of the matches ({what})", _GUESS),
    "user re-identified without fills": (
        "{rate} of the users are re-identified by items, by an adversary who knows {what}",
        _GUESS,
    ),
    "user re-identified by matched items": (
        "{rate} of the users are re-identified by {by}, who matches the hidden items",
        _GUESS,
    ),
    "record matched": (
        "{rate} of the users with enough ratings are linked with their record by {by}",
        _NOT_INSIDE,
    ),
    "class inferred": ("the row of {rate} of the users is inferred by {by}", _CONSTANT),
    "only matching class": ("the row of {rate} of the users is the only match ({what})", _CONSTANT),
    "cluster inferred": ("the cluster of {rate} of the users is inferred by {by}", _CONSTANT),
    "membership": (
        "an adversary who knows {what} infers membership with AUC {rate}, in a release made alike "
        "without a fifth of the users",
        _RANDOM_MEMBERS,
    ),
    "membership by shadow releases": (
        "an adversary with shadow releases who knows {what} infers membership with AUC {rate}",
        _RANDOM_MEMBERS,
    ),
    "alone in both releases": (
        "{rate} of the users are alone in the intersection with {what}",
        "in one release: {}",
    ),
    "fewer than k in both releases": (
        "fewer than k users share the rows of {rate} of the users here and in {what}",
        "in one release: {}",
    ),
    "user re-identified by both releases": (
        "{rate} of the users are re-identified by {by} with both releases",
        "with one, or another user’s row: {}",
    ),
    "profile": ("all ratings of {rate} of the users follow ({what})", _GUESS),
    "whole row": ("the row of {rate} of the users is that of all matches ({what})", _GUESS),
    "attribute": ("{what} is inferred from all ratings with AUC {rate}", _PERMUTED),
    "attribute by row": (
        "{what} is inferred from eight ratings and their likeliest row with AUC {rate}",
        "without the row, or with a random one: {}",
    ),
    "items by both releases": (
        "{rate} of the items that are distinctive here and in {what} were rated",
        "popular items, or another user’s row: {}",
    ),
    "items in the row": ("{rate} of the items of the row that {by} infers were rated", _POPULAR),
    "values that are ratings": (
        "{rate} of the values on the scale are the exact rating of all raters",
        "the most frequent rating: {}",
    ),
    "ratings by companions": (
        "{rate} of a user’s ratings follow for {what}",
        "another user’s: {}",
    ),
    "ratings among fills": (
        "{rate} of the values that an adversary who knows {what} marks as ratings are ratings",
        _POPULAR,
    ),
    "rated cells": ("{rate} of the rated cells are marked, with 95% of the marks right", _POPULAR),
    "lone ratings": ("{rate} of the ratings of a single rater are recovered exactly", _POPULAR),
    "preferences": ("{rate} of unknown preferences are inferred", _NONMEMBERS),
    "items of the nearest record": ("{rate} of the best match’s items were rated", _NONMEMBERS),
    "learned preferences": ("{rate} of unknown preferences are inferred", _NONMEMBERS),
    "membership of training": (
        "an adversary who knows {what} infers with AUC {rate} whether the recommender learned from "
        "that user",
        _RANDOM_MEMBERS,
    ),
    "recognized members": (
        "an adversary who knows {what} recognizes {rate} of the members, while 1% of the others "
        "are taken for members",
        _RANDOM_MEMBERS,
    ),
    "items newly rated": (
        "{rate} of the items inferred by an adversary who knows {what} were newly rated",
        _RISING,
    ),
    "strongest guess of a new item": (
        "an adversary who knows {what} infers a newly rated item of {rate} of the users",
        _RISING,
    ),
    "sensitive item": ("{by} learns a sensitive item of {rate} of the users", "random records: {}"),
}
# Names of all figures
FIGURES = tuple(_PHRASES)
_REASONS = {
    FEW_RATINGS: "too few ratings of each user are known",
    NO_RECORD: "no record belongs to a user",
    NOT_REPEATED: "no such release could be made without some of the users",
    NO_FIGURE: "too few users remain for the attacks that apply",
    NO_ATTACK: "recveil has no attack for it on what a recommender publishes",
}
_NAMES = {
    BY_ALL: "an adversary who knows all ratings",
    BY_ALL_AND_ROWS: "an adversary who knows all ratings, and the rows of others",
    AND_ATTRIBUTES[BY_ALL]: "an adversary who knows all ratings and published attributes",
    AND_ATTRIBUTES[BY_ALL_AND_ROWS]: "an adversary who knows all ratings, published attributes, "
    "and the rows of others",
}


def describe_absence(*, is_applicable: bool) -> str:
    """Describe a missing figure, which another run might measure or which has no meaning."""
    return "not measured" if is_applicable else "does not apply"


def describe_line(line: RiskLine, *, is_unary: bool = False, is_nominal: bool = False) -> str:
    """Return the sentence of one risk: what was measured, its reference and its guarantee.

    >>> from recveil.attacks import Interval
    >>> figure = RiskFigure("class inferred", Interval(0.4, 0.3, 0.5, 90), 0.05, None, "insider")
    >>> describe_line(RiskLine("linkability", (figure,)))[:77]
    'Linkability: the row of 40% (30–50) of the users is inferred by “insider”; a '
    """
    found = line.strongest
    sentence = f"{line.risk.capitalize()}: "
    if found is not None:
        sentence += describe_finding(found)
    else:
        absence = describe_absence(is_applicable=line.unmeasured != NO_RECORD)
        sentence += f"{absence}, as {_REASONS[line.unmeasured]}, {NO_SAFETY}"
        if line.bound is not None:
            sentence += (
                f"; guaranteed: of two users, the one in the data is identified with a "
                f"probability of at most {line.bound:.2f}"
            )
    return reword(f"{sentence}.", is_unary=is_unary, is_nominal=is_nominal)


def reword(text: str, *, is_unary: bool, is_nominal: bool) -> str:
    """Reword a text about ratings for likes, or for labels without an order.

    >>> reword("8 ratings: 5% of the items were rated", is_unary=False, is_nominal=True)
    '8 labels: 5% of the items were labelled so'
    """
    if not is_nominal:
        return in_likes(text, is_unary)
    for of_ratings, of_labels in _OF_LABELS.items():
        text = text.replace(of_ratings, of_labels)
    return text


_OF_LABELS = {"were rated": "were labelled so", "rated": "labelled", "rating": "label"}


def reference_of(
    name: str, baseline: float, control: Interval | None, *, digits: int | None = None
) -> tuple[str, str]:
    """Return what a figure is compared with, and the form of its words.

    A measured control is given where the words name it alone; else the control or the baseline,
    whichever is higher.
    """
    words = _PHRASES[name][1] if name in _PHRASES else "{}"
    least = 0.0 if words in _CONTROLS else baseline
    if control is not None and control.ranked >= least:
        return estimate(control, digits), words
    words = _GUESS if words in _CONTROLS else words
    return (percent(baseline) if digits is None else f"{baseline:.{digits}f}"), words


def describe_finding(found: RiskFigure) -> str:
    """Return the rate, its reference and its bound."""
    phrase = _PHRASES[found.name][0]
    digits = 2 if found.is_area else None
    by = _NAMES.get(found.adversary, f"“{found.adversary}”")
    rate = estimate(found.rate, digits, counts_few=True)
    finding = phrase.format(rate=rate, by=by, what=found.adversary)
    if found.attacked is not None and found.attacked < COVERAGE * found.rate.trials:
        among = found.rate.rate * found.rate.trials / found.attacked
        finding += f" ({percent(among)} of those with enough ratings)"
    compared, words = reference_of(found.name, found.baseline, found.control, digits=digits)
    parts = [finding, words.format(compared)]
    if found.bound is not None:
        most = f"{found.bound:.2f}" if found.is_area else percent(found.bound)
        parts.append(f"guaranteed: at most {most}")
    if not found.is_shown:
        parts.append(f"not clearly more than that, which is {NO_SAFETY}")
    return "; ".join(parts)


def lines_of(risks: Risks) -> list[str]:
    """Return the sentences of the three risks."""
    is_unary, is_nominal = risks.is_unary, risks.is_nominal
    return [describe_line(each, is_unary=is_unary, is_nominal=is_nominal) for each in risks.lines]


def describe_highest(risks: Risks) -> str:
    """Return which risk is the highest, as the title of a page."""
    if (only := risks.only) is not None:
        if risks.highest is not None:
            return f"{only.risk.capitalize()} is shown; the other two risks were not measured"
        finding = f"not clearly above its control, which is {NO_SAFETY}"
        return f"One of three risks was measured: {only.risk}; {finding}"
    if risks.highest is None:
        none = "No risk was measured above its control, which is no evidence of safety"
        return none if risks.largest is None else f"{none}; the largest is {risks.largest.risk}"
    return f"The highest of three risks: {risks.highest.risk}"
