"""Meanings: what the words of a result stand for, a sentence each, which --explain shows.

docs/reference/glossary.md has the same sentences; a test compares them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console
from rich.markup import escape

from recveil.runtime.errors import RecveilError

MEANINGS = {
    # Who is found.
    "found": "the share of the people asked for whose record is the best guess of the attack that "
    "finds most; of s equally good guesses, or s people behind one record, one is picked by lot",
    "stands out": "the share whose record Scoreboard-RH names rightly: its best guess leads by 1.5 "
    "standard deviations, so that the adversary may believe it",
    "wrong match": "the share of whom Scoreboard-RH names somebody else's record",
    "bits": "what the adversary would still have to learn to name the target: 0 if they are sure, "
    "1 if two records are equally likely, 10 if about a thousand are",
    "control": "the same measurement where there is nothing to be found, such as with the person's "
    "record taken out: what is found there is chance, and where that is often, a match is no proof",
    "blind guess": "a pick by lot among all people: what is found without any attack",
    "eccentricity": "how far the best guess leads: its score less that of the second best, in "
    "standard deviations of all scores",
    "looked for": "the people of whom enough ratings are known, of those asked for",
    "group found": "the share of the people whose group's row alone is the best guess of the "
    "attack that finds most people",
    "person found": "the share who are found by a pick by lot among the people behind the best "
    "guess",
    "the very record alone on top": "the share of the people whose own record is the best guess, "
    "with no other as good",
    "person found, ties shared": "the share whose own record is the best guess, where equally good "
    "ones share one success",
    "bound": "the most that is proven of any attack on a release that keeps its claim: 1/k",
    "mean of 1/k": "the bound where each person has a k of their own",
    "both rows found": "the share of the people whose row is the best guess in both releases",
    "person by one": "the share who are found by a pick by lot among the people behind the best "
    "guess, in the release where that finds more",
    "person by both": "the share who are found by a pick by lot among the people behind both rows, "
    "where both are found",
    "AUC": "how well a score tells people who were in the data from others: 0.5 is a blind guess, "
    "1 is always right; that one score does not tell is no evidence that none does",
    # What else a release tells.
    "class by all": "the share of the targets whose equivalence class, the users of one published "
    "row, is inferred by an adversary who knows all of their ratings exactly; fitted, if the "
    "adversary knows the rows of other targets, too, and fits weights on them",
    "cluster by all": "the share of the targets whose cluster, rows that share their values, is "
    "inferred by an adversary who knows all of their ratings exactly, and the rows of other "
    "targets",
    "read off rows of who is found": "of the ratings that the adversary did not know, of people "
    "whose group is found: the share that stands in the row exactly",
    "ratings published as given": "the share of all ratings that the release shows exactly; where "
    "nobody else in the group rated the item, its label is the one rating",
    "labels that are exact ratings": "the share of the labels that are the rating of everybody "
    "behind them who rated the item",
    "usual": "the baseline: how often an item's commonest rating is right, whoever rated it",
    "told for sure by the others": "the share of a person's ratings that the others in the group, "
    "who know their own, work out from the row",
    "right if labels are believed": "the share of a person's ratings that are the row's labels",
    "different ones behind a label": "how many different ratings were given by those behind a "
    "label, on average",
    "labels with one behind them": "the share of the labels behind which everybody who rated the "
    "item gave the same rating",
    "as it tells": "how many ratings could stand behind a label, as far as it tells",
    "pairs of row and item told": "the share of the pairs of a row and an item that somebody "
    "behind the row rated, which a fit of all rows marks, with 95 % of its marks right",
    "lone ratings worked out": "of the ratings that one person alone in a group gave, the share "
    "that is marked so and worked out exactly",
    "popularity": "the baseline: what is told by how many people rated each item, and nothing else",
    "who is in the data": "how well people whose ratings were used are told from others, so many + "
    "so many, by scores that look at one release: by the strongest adversary, and by whoever knows "
    "8, 16 or all of somebody's ratings exactly",
    "with 5 % mistaken": "the share of the people in the data who are recognized while 5 % of the "
    "others are taken for such",
    "by lot": "the control: the same if it is drawn by lot who counts as being in the data",
    "likings guessed": "how often it is guessed rightly whether somebody liked an item more than "
    "most do, of so many people in the data + so many who are not",
    "points by being in the data": "how many more of the likings of people in the data are guessed "
    "rightly than of strangers', in points of a hundred",
    "strangers": "the control: the same of people who are not in the data, or not in the group",
    # What is promised.
    "published rows": "what is published: a row of one person, or of a group",
    "different rows": "how many rows there are if identical ones count once",
    "fewest people on a row": "how many people share the row that fewest people share",
    "different sets of items": "how many sets of items there are if identical ones count once",
    "fewest people on a set": "how many people share the set of items that fewest people share",
    "compared": "the columns in which the rows were compared",
    "diversity": "every set of b items that stands in a row stands in at least l different rows",
    "layout": "what a line of a release is about: a person, a group with its size, or the model",
    "drawn people": "people who do not exist, drawn by lot from noisy sums over real ones",
    "epsilon": "how much what is published may depend on any one person; less is safer",
    "delta": "the small rest that an epsilon leaves over",
    "ledger": "the list of all that was asked of people for drawn ones, with the noise of each "
    "answer; epsilon follows from it",
    # What is kept.
    "RMSE": "root of the mean squared error of predicted ratings, in points; lower is better",
    "MAE": "mean absolute error of predicted ratings, in points; lower is better",
    "nDCG": "of lists of ten recommended items: how high the items rank that the user rated well "
    "in held-out ratings; higher is better",
    "recall": "the share of the items that a user rated well in held-out ratings that are in a "
    "list of ten",
    "Kendall's tau": "how alike two orders are: 1 for the same one, 0 for unrelated ones, -1 for "
    "the opposite",
    "label": "a published rating: a mean, a prediction, or sampled",
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
    "of the gain from the raw ratings: 100 % is as good as raw, 0 % as averages",
    "labels retained": "the gain over most frequent labels in predicted labels from the release, "
    "as a share of the gain from the raw labels",
    "★": "no other setting with a guarantee is both safer and better",
}


def explain(words: Iterable[str]) -> None:
    """Print what words of a result mean, each once."""
    told = list(dict.fromkeys(words))
    if not told:
        return
    for word in told:
        if word not in MEANINGS:
            raise RecveilError(
                f"nothing says what {word!r} means; expected a word of recveil.cli.explanations, "
                f"such as 'found'; write it down there and in the glossary",
                code="internal.fault",
            )
    console = Console(highlight=False)
    console.print("\n[bold]What the words mean[/]")
    for word in told:
        console.print(f"[bold]{escape(word)}[/]: {escape(MEANINGS[word])}.")


# Of figures beside whom adversaries find; what they are called may go on with how many people.
_OF_ROWS = (
    *("class by all", "cluster by all"),
    *("read off rows of who is found", "ratings published as given"),
    *("labels that are exact ratings", "usual", "told for sure by the others"),
    *("right if labels are believed", "different ones behind a label"),
    *("labels with one behind them", "as it tells"),
    *("pairs of row and item told", "lone ratings worked out", "popularity", "who is in the data"),
    *("with 5 % mistaken", "by lot", "likings guessed", "points by being in the data"),
    "strangers",
)


def words_of_release(told: dict[str, Any]) -> Iterator[str]:
    """Yield the words of what was found in a release, as an audit and an evaluation tell it.

    Examples
    --------
    >>> told = {"attacks": [], "headline": "AUC 0.97 (0.96 to 0.99)", "remarks": []}
    >>> list(words_of_release({**told, "rows": [{"what": "likings guessed, 90 + 90"}]}))
    ['AUC', 'likings guessed']
    """
    if told["attacks"]:
        yield from ("looked for", *told["columns"].values())
    cells = [cell for row in told["rows"] for cell in row.values()]
    if any("AUC" in text for text in (told["headline"], *told["remarks"], *cells)):
        yield "AUC"
    yield from (word for word in _OF_ROWS if any(word in cell for cell in cells))
