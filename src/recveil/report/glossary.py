"""The terms of results and their meanings, which --explain shows.

`make docs` lists them on the page docs/reference/glossary.md.
"""

import re
from collections.abc import Iterable

from rich.console import Console

from recveil.ratings.ratings import in_likes
from recveil.report.terminal import escape
from recveil.runtime.errors import RecveilError

MEANINGS = {
    # The three risks of the EU's Working Party 29, and re-identification.
    "singling out": "isolating the record of one user",
    "linkability": "linking what is known of a user with their row, another release, or the data",
    "inference": "deducing what is unknown of a user, beyond what holds for others",
    "re-identified": "the share of the targets whose record is the best guess of the strongest "
    "attack; among s equally good guesses, or s users of one record, one is picked at random",
    "eccentricity ≥ 1.5": "the share of the targets that Scoreboard-RH re-identifies with a best "
    "guess that leads by 1.5 standard deviations, so that the adversary may believe it",
    "wrong match": "the share of the targets for whom the attack of the column of matches "
    "(Scoreboard-RH with that eccentricity, or the plain Scoreboard with that similarity) names "
    "another user's record",
    "bits": "the adversary's remaining uncertainty about the target: 0 is certainty, 1 is two "
    "equally likely records, 10 is about a thousand",
    "entropy": "the uncertainty in bits that remains by the candidate set of Scoreboard-RH, whose "
    "line-up Narayanan & Shmatikov measure (section 5): 0 is certainty",
    "control": "the same measurement where there is nothing to infer, such as without the target's "
    "record: its successes are chance, and if they are frequent, a match is no proof",
    "random guess": "the baseline without any attack: a random pick among all users",
    "eccentricity": "how far the best guess leads: its score less that of the second best, in "
    "standard deviations of all scores",
    "attacked": "the number of targets with enough ratings for the adversary",
    "class re-identified": "the share of the targets whose equivalence class alone has the best "
    "row by the strongest attack",
    "user re-identified": "the share of the targets that are a random pick among the users of the "
    "best row, or of rows that fit as well",
    "record alone on top": "the share of the targets whose own record is the best guess, with no "
    "other as good",
    "user re-identified, ties shared": "the share of the targets whose own record is the best "
    "guess, where equally good ones share one success",
    "bound": "the most that is proven of any attack on a release that keeps its claim: 1/k",
    "mean of 1/k": "the bound where each user has a k of their own",
    "both classes": "the share of the targets whose row is the best guess in both releases",
    "user by one": "the share of the targets that are a random pick among the users of the best "
    "row, in the release with the higher rate",
    "user by both": "the share of the targets that are a random pick among the users of both rows, "
    "if both are inferred",
    "AUC": "how well a score distinguishes members, who are in the data, from nonmembers: 0.5 is a "
    "random guess, 1 is always right; a low AUC of one score is no evidence about others",
    # What else a release reveals.
    "class by all": "the share of the targets whose equivalence class, the users of one published "
    "row, is inferred by an adversary who knows all of their ratings exactly; fitted, if the "
    "adversary knows the rows of other targets, too, fits weights on them, and assigns all "
    "remaining targets at once; naming the class with the most users unknown to the adversary is "
    "the baseline",
    "cluster by all": "the share of the targets whose cluster, rows that share their values, is "
    "inferred by an adversary who knows all of their ratings exactly, and the rows of other "
    "targets",
    "unknown ratings in the row": "of the unknown ratings of targets whose class is "
    "inferred, the share that is in the row exactly",
    "ratings published exactly": "the share of all ratings that the release shows exactly; with a "
    "single rater in the class, the value is the rating",
    "exact values on the scale": "of the values that are levels of the scale, such as "
    "whole numbers, and not between them, the share that is the rating of every rater in the class",
    "values that are exact ratings": "the share of all values, of a continuous scale, that are the "
    "rating of every rater in the class",
    "mode": "the baseline: how often an item's most frequent rating is right",
    "ratings inferred by others": "the share of a target's ratings that follow with certainty "
    "from the row and the ratings of all other users of the class",
    "correct by the values": "the share of a target's ratings that are the row's values",
    "different ratings of a value": "the mean count of different ratings in the class that a "
    "value comes from",
    "values of one rating": "the share of the values whose raters in the class all gave "
    "the same rating",
    "possible": "how many ratings a value could come from, by the value alone",
    "inferred rated cells": "the share of the rated pairs of row and item that a fit of all rows "
    "marks, with 95% of its marks right",
    "inferred lone ratings": "of the ratings of a single rater in the class, the share that is "
    "marked as such and inferred exactly",
    "popularity": "the baseline: what the public item counts alone reveal",
    "membership": "membership inference about so many members + so many nonmembers, by scores of "
    "one release: by the strongest adversary, and by 8, 16 or all ratings of a user",
    "TPR at 5% FPR": "the share of the members that is recognized while 5% of the nonmembers are "
    "taken for members",
    "attributes": "how often an adversary is right about whether a user liked an item "
    "more than most did, of so many members + so many nonmembers",
    "points by membership": "by how many percentage points attribute inference is better for "
    "members than for nonmembers",
    "nonmembers": "the control: the same for users who are not in the data",
    # Verification.
    "published rows": "the rows of a release, each of one user, or of a group with its size",
    "equivalence classes": "the groups of users who share one published row, or one set of items "
    "where values are not compared",
    "smallest class": "the number of users of the smallest equivalence class: the k that is "
    "achieved",
    "compared": "the columns in which the rows were compared",
    "diversity": "every set of b items in a row occurs in at least l different rows",
    "layout": "what a row of a release represents: a user, a group with its size, or a part of "
    "the model",
    "synthetic users": "users who do not exist, sampled from noisy sums over real ones",
    "epsilon": "the privacy budget: how much a release may depend on any one user; less is safer",
    "delta": "the probability with which the bound by epsilon may fail",
    "ledger": "the list of all queries of the private ratings with the noise of each answer; "
    "epsilon follows from it",
    # Utility.
    "RMSE": "root of the mean squared error of predicted ratings, in points; lower is better",
    "MAE": "mean absolute error of predicted ratings, in points; lower is better",
    "nDCG": "of lists of ten recommended items: how high the items rank that the user rated well "
    "in held-out ratings; higher is better",
    "recall": "the share of the items that a user rated well in held-out ratings that are in a "
    "list of ten",
    "gap": "by which share the nDCG of the group that is served worst is below that of the group "
    "served best (or its RMSE above); groups are of users by number of ratings, by how popular the "
    "items are that they rated, or by an attribute, or of items by number of raters; the largest "
    "gap from the raw ratings is the control",
    "hit rate": "the share of users with at least one of their next items in a list of ten",
    "Kendall's tau": "how alike two orders are: 1 for the same one, 0 for unrelated ones, -1 for "
    "the opposite",
    "Jensen-Shannon": "how far two distributions are apart, in bits: 0 for the same ones, 1 for "
    "ones without anything in common",
    "total variation": "how far two histograms are apart: 0 for the same ones, 1 for ones without "
    "anything in common",
    "Kolmogorov-Smirnov": "how far two distributions are apart, where they differ most: 0 for the "
    "same ones, 1 for ones without anything in common",
    "density": "the share of all pairs of user and item that have a rating",
    "guarantee": "what holds for every adversary: a k, an epsilon, or nothing",
    "proven": "the highest rate of any attack on a release that keeps its claim, after a ≤",
    "gain": "how much better lists are than popular items alone, or predicted ratings than "
    "averages",
    "lists retained": "the nDCG of the release's lists as a share of the best that the raw "
    "ratings give",
    "ratings retained": "the gain over averages in predicted ratings from the release, as a share "
    "of the gain from the raw ratings: 100% is as good as raw, 0% as averages",
    "labels retained": "the gain over most frequent labels in predicted labels from the release, "
    "as a share of the gain from the raw labels",
    "★": "no other setting with a guarantee is both safer and better",
}
# What a reader needs who has never seen these; --explain has all.
SHORT_MEANINGS = {
    "class re-identified": "its row alone fits best",
    "user re-identified": "a random pick among the users of the best rows",
    "record alone on top": "the target's own record alone fits best",
    "user re-identified, ties shared": "equally good records share one success",
}


# Of matches with other decision parameters, by the beginning of the term.
_MATCHES = {
    "eccentricity ≥ ": "the share of the targets that Scoreboard-RH re-identifies with a best "
    "guess that leads by so many standard deviations",
    "similarity ≥ ": "the share of the targets that the plain Scoreboard re-identifies by a random "
    "pick among the records that are at least so similar in every known rating",
}


# What meanings say of values, which implicit feedback does not have
_OF_VALUES = re.compile(
    r" \(or its RMSE above\)|, or predicted ratings than averages|, or one set .* not compared"
)


def meaning_of(term: str, *, is_unary: bool = False) -> str | None:
    """Return the meaning of a term, for likes in their words; None if it has none.

    >>> meaning_of("similarity ≥ 0.5")[:66]
    'the share of the targets that the plain Scoreboard re-identifies b'
    """
    families = (meaning for start, meaning in _MATCHES.items() if term.startswith(start))
    meaning = MEANINGS.get(term) or next(families, None)
    return in_likes(_OF_VALUES.sub("", meaning)) if meaning and is_unary else meaning


def explain(terms: Iterable[str], *, is_unary: bool = False) -> None:
    """Print the meaning of each term of a result."""
    meanings = {term: meaning_of(term, is_unary=is_unary) for term in terms}
    if unknown := [term for term, meaning in meanings.items() if meaning is None]:
        raise RecveilError(
            f"{unknown[0]!r} has no meaning; expected a term of recveil.report.glossary, such as "
            f"'control'; add it there",
            code="internal.fault",
        )
    if meanings:
        console = Console(highlight=False)
        console.print("\n[bold]Terms[/]")
        for term, meaning in meanings.items():
            name = escape(in_likes(term, is_unary))
            console.print(f"[bold]{name}[/]: {escape(str(meaning))}.")
