"""Measures of the utility of a release for a recipient."""

from collections.abc import Callable
from typing import Any

from recveil.comparison.cells import Cell
from recveil.comparison.measure import Line, Measure, Panel


def _recipient(*path: str) -> Callable[[Cell], Any]:
    """Return a getter for a recipient's result under nested keys of the evaluation."""
    return lambda cell: cell.told("recipient", *path)


def _kept(whose: str, what: str, key: str) -> Callable[[Cell], Any]:
    """Return a getter for a retained share, or an end of its interval."""
    return _recipient("kept", whose, what, key)


def _fidelity(key: str) -> Callable[[Cell], Any]:
    return lambda cell: cell.told("fidelity", key)


def _words(side: str, key: str) -> Callable[[Cell], Any]:
    """Return a getter for the accuracy of predicted nominal labels; None for other tables."""
    return lambda cell: (cell.told("recipient", side) or {}).get(key)


def _in_row(what: str, key: str) -> Callable[[Cell], Any]:
    """Return a getter for held-out words in users' own rows; None for other tables."""

    def take(cell: Cell) -> Any:
        told = (cell.evaluation or {}).get("words_told")
        return None if told is None else told[what][key]

    return take


def _is_below_averages(cell: Cell) -> bool | None:
    high = cell.told("recipient", "release_gain", "high")
    return None if high is None else high < 0


_OF_RAW = Line("raw data", ("raw", "rmse")), Line("averages", ("averages", "rmse"))

_OF_LISTS_RAW = (
    Line("raw data", ("raw", "ndcg@10")),
    Line("popularity", ("popularity", "ndcg@10")),
)

_OF_WORDS_RAW = (
    Line("raw data", ("raw", "right")),
    Line("each item’s commonest word", ("averages", "right")),
)

_OF_WORDS = (
    Measure(
        "words_right",
        "Of words without an order: the share of people's held-out words that a recipient of the "
        "release tells rightly, from their own other words",
        float,
        _words("release", "right"),
        "%",
        "up",
        Panel("Words told rightly", ".0%", _OF_WORDS_RAW),
    ),
    Measure(
        "words_right_low",
        "The lower end of its 95 % interval over the people judged",
        float,
        _words("release", "low"),
        "%",
        "up",
    ),
    Measure("words_right_high", "The upper end", float, _words("release", "high"), "%"),
    Measure(
        "raw_words_right", "The same from the raw data", float, _words("raw", "right"), "%", "up"
    ),
    Measure(
        "commonest_right",
        "The same by each item's commonest word, which takes no release",
        float,
        _words("averages", "right"),
        "%",
        "up",
    ),
    Measure(
        "words_in_row",
        "The share of people's held-out words that stand in their own row, a cell without any "
        "word counted as wrong",
        float,
        _in_row("right", "mean"),
        "%",
        "up",
    ),
    Measure(
        "words_in_row_gain",
        "How much more that is than each item's commonest word tells",
        float,
        _in_row("gain", "mean"),
        "%",
        "up",
    ),
    Measure(
        "words_in_row_gain_low",
        "The lower end of its 95 % interval",
        float,
        _in_row("gain", "low"),
        "%",
        "up",
    ),
    Measure("words_in_row_gain_high", "The upper end", float, _in_row("gain", "high"), "%"),
)
_OF_RATINGS = (
    Measure(
        "gain_kept",
        "The share of the collaborative gain that is left, as measured: 1 is as good as the raw "
        "data, 0 is no better than averages, less is worse. Above 1, as good as raw is what can "
        "be said",
        float,
        _kept("chosen", "ratings", "value"),
        "%",
        "up",
    ),
    Measure(
        "gain_low",
        "The lower end of its 95 % interval over the people judged",
        float,
        _kept("chosen", "ratings", "low"),
        "%",
        "up",
    ),
    Measure("gain_high", "The upper end", float, _kept("chosen", "ratings", "high"), "%"),
    Measure(
        "is_gain_told",
        "Whether the gain of the raw data themselves is large enough for shares of it to mean "
        "anything",
        bool,
        _recipient("raw_gain", "is_told"),
    ),
    Measure("gain_not_told", "Why it is not", str, _recipient("raw_gain", "why_not_told")),
    Measure(
        "n_judged",
        "How many people's ratings were predicted",
        int,
        _recipient("raw_gain", "n_judged"),
    ),
    Measure(
        "is_below_averages",
        "Whether the release's RMSE is above that of averages of the raw data, whoever is judged",
        bool,
        _is_below_averages,
    ),
    Measure(
        "raw_gain",
        "The gain of the raw data, in RMSE: how far theirs lies below that of averages",
        float,
        _recipient("raw_gain", "value"),
        ".4f",
    ),
    Measure(
        "raw_gain_low",
        "The lower end of its 95 % interval",
        float,
        _recipient("raw_gain", "low"),
        ".4f",
    ),
    Measure("raw_gain_high", "The upper end", float, _recipient("raw_gain", "high"), ".4f"),
    Measure("raw_rmse", "The RMSE of the raw data", float, _recipient("raw", "rmse"), ".4f"),
    Measure("averages_rmse", "That of averages", float, _recipient("averages", "rmse"), ".4f"),
    Measure(
        "recommender",
        "The one that a recipient of the release would choose to predict ratings",
        str,
        _recipient("release", "recommender"),
    ),
    Measure(
        "rmse",
        "Its error on held-out original ratings, large errors counting more",
        float,
        _recipient("release", "rmse"),
        ".4f",
        "down",
        Panel("RMSE", ".3f", _OF_RAW),
    ),
    Measure("mae", "Its mean error on them", float, _recipient("release", "mae"), ".4f", "down"),
    Measure(
        "best_recommender",
        "The one that turned out best on these ratings, which nobody could know beforehand",
        str,
        _recipient("best", "release", "recommender"),
    ),
    Measure("best_rmse", "Its error", float, _recipient("best", "release", "rmse"), ".4f", "down"),
    Measure(
        "best_gain_kept",
        "The share it keeps of the gain of the raw data's own best",
        float,
        _kept("best", "ratings", "value"),
        "%",
        "up",
    ),
)
_OF_LISTS = (
    Measure(
        "ranker",
        "The recommender that a recipient would choose to make lists",
        str,
        _recipient("lists", "release", "recommender"),
    ),
    Measure(
        "ndcg",
        "How good its lists of ten are: 1 is the best order there can be",
        float,
        _recipient("lists", "release", "ndcg@10"),
        ".3f",
        "up",
        Panel("nDCG@10", ".3f", _OF_LISTS_RAW),
    ),
    Measure(
        "recall",
        "The share of what is relevant that stands in its lists of ten",
        float,
        _recipient("lists", "release", "recall@10"),
        ".3f",
        "up",
        Panel("Recall@10", ".3f", (Line("raw data", ("raw", "recall@10")),)),
    ),
    Measure(
        "ndcg_kept",
        "The share of the nDCG of the best lists that the raw data give, by the recommender that "
        "would be chosen on the release. Rankings can lose much where RMSE loses nothing",
        float,
        _kept("chosen", "lists", "value"),
        "%",
        "up",
    ),
    Measure(
        "ndcg_low",
        "The lower end of its 95 % interval over the people judged",
        float,
        _kept("chosen", "lists", "low"),
        "%",
        "up",
    ),
    Measure("ndcg_high", "The upper end", float, _kept("chosen", "lists", "high"), "%"),
    Measure(
        "lists_gain_kept",
        "The same from popularity on: 1 is as good as the best lists of the raw data, 0 is what "
        "the same popular items for everybody get, less is worse",
        float,
        _kept("chosen", "lists_gain", "value"),
        "%",
        "up",
    ),
    Measure(
        "lists_gain_low",
        "The lower end of its 95 % interval",
        float,
        _kept("chosen", "lists_gain", "low"),
        "%",
        "up",
    ),
    Measure("lists_gain_high", "The upper end", float, _kept("chosen", "lists_gain", "high"), "%"),
    Measure(
        "popularity_ndcg",
        "The nDCG of lists of popular items, learnt from the raw data",
        float,
        _recipient("popularity", "ndcg@10"),
        ".3f",
    ),
    Measure(
        "is_ndcg_told",
        "Whether the lists of the raw data are good enough for shares of their nDCG to mean "
        "anything",
        bool,
        _recipient("raw_lists", "is_told"),
    ),
    Measure("ndcg_not_told", "Why they are not", str, _recipient("raw_lists", "why_not_told")),
    Measure(
        "n_ranked",
        "How many people's lists were judged: those with something relevant held out",
        int,
        _recipient("raw_lists", "n_ranked"),
    ),
    Measure(
        "raw_ranker",
        "The recommender whose lists turned out best on the raw data; shares are of these",
        str,
        _recipient("lists", "best_raw", "recommender"),
    ),
    Measure(
        "best_ranker",
        "The one whose lists turned out best, which nobody could know beforehand",
        str,
        _recipient("best", "release", "ranker"),
    ),
    Measure(
        "best_ndcg",
        "How good its lists are",
        float,
        _recipient("best", "release", "ndcg@10"),
        ".3f",
        "up",
    ),
    Measure(
        "best_ndcg_kept",
        "The share it keeps of the nDCG of the raw data's own best",
        float,
        _kept("best", "lists", "value"),
        "%",
        "up",
    ),
)
_OF_THE_TABLE = (
    Measure(
        "order_kept",
        "Whether recommenders come in the same order by RMSE on the release as on the raw data "
        "(Kendall's tau): 1 is the same order",
        float,
        lambda cell: cell.told("carry_over", "tau_rmse"),
        ".2f",
        "up",
        Panel("Order of recommenders kept (τ)", ".1f"),
    ),
    Measure(
        "popularity_correlation",
        "Whether items come in the same order of popularity (Spearman's rank correlation)",
        float,
        _fidelity("popularity_correlation"),
        ".2f",
        "up",
        Panel("Popularity of items kept (ρ)", ".2f"),
    ),
    Measure(
        "rated_share_error",
        "How far the share of people who rated an item is off, on average over items",
        float,
        _fidelity("rated_share_error"),
        "%",
        "down",
    ),
    Measure(
        "item_mean_rmse",
        "How far the items' mean ratings are off, in rating points",
        float,
        _fidelity("item_mean_rmse"),
        ".2f",
        "down",
        Panel("Item means off by", ".2f"),
    ),
    Measure(
        "similarity_correlation",
        "Whether the same items are similar (correlation of similarities over pairs of items)",
        float,
        _fidelity("similarity_correlation"),
        ".2f",
        "up",
    ),
    Measure(
        "seconds",
        "What making the release took, in seconds",
        float,
        lambda cell: cell.seconds.get("anonymize"),
        ".2f",
        "down",
    ),
)
UTILITY_MEASURES = _OF_RATINGS + _OF_WORDS + _OF_LISTS + _OF_THE_TABLE
