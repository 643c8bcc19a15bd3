"""Liked lists: of words without an order, whether liked items stand at the top of people's lists.

Nobody but the owner can say which words mean that somebody liked an item. Whoever does gets a table
of two levels: rated, and liked. On it lists are made and judged as on ratings.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recveil.errors import RecveilError, listed
from recveil.evaluate.recipient import Served, default_recommenders, fit_all, serve
from recveil.evaluate.split import HeldOut
from recveil.evaluate.training import TrainingTable, UserRows
from recveil.ratings import RatingScale
from recveil.ratings.vocabulary import words_in

# 1 is rated, 2 is liked; from three quarters up the scale, an item is relevant.
RATED_OR_LIKED = RatingScale(1, 2, 1)


def liked_words(liked: str | Sequence[str] | None, scale: RatingScale) -> tuple[str, ...]:
    """Return the words that count as liked, in the order of the scale; none if nobody named any.

    Parameters
    ----------
    liked : str or sequence of str, or None
        A text has commas between the words.
    scale : RatingScale

    Raises
    ------
    RecveilError
        If the ratings are no words without an order, a word is none of theirs, or all are named.

    Examples
    --------
    >>> liked_words("up", RatingScale.of_words("down,meh,up", ordered=False))
    ('up',)
    """
    if liked is None:
        return ()
    if scale.ordered:
        raise RecveilError(
            f"liked (--liked) is of words without an order (--words), but the ratings are "
            f"{'likes' if scale.unary else f'on the scale {scale}'}, which says itself what is "
            f"liked; leave it out",
            code="option.unsupported",
        )
    named = words_in(liked) if isinstance(liked, str) else tuple(liked)
    unknown = [word for word in named if word not in scale.words]
    if unknown or not named:
        raise RecveilError(
            f"liked (--liked) names {listed(unknown or ['nothing'], 60)}; expected some of the "
            f"words {listed(scale.words, 120)}",
            code="option.value",
        )
    if len(set(named)) == len(scale.words):
        raise RecveilError(
            "liked (--liked) names all words, so that lists would be of whatever was rated, and "
            "all rows of shared words hold the same items; name some of the words, or leave it out",
            code="option.value",
        )
    return tuple(word for word in scale.words if word in named)


def serve_liked(
    table: TrainingTable, people: UserRows, test: HeldOut, liked: Sequence[str], seed: int = 0
) -> Served:
    """Make lists for people from a table of words, and judge them by held-out liked items.

    Recommenders that predict ratings are left out: a step from rated to liked is no distance.

    Parameters
    ----------
    table : TrainingTable
        Raw words without an order, or a release of such.
    people : UserRows
        The training words of everybody.
    test : HeldOut
    liked : sequence of str
        From `liked_words`.
    seed : int
        Draws the inner hold-outs.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.evaluate.split import split_ratings
    >>> words = make_ratings(60, 40, 900, seed=1).with_scale(
    ...     RatingScale.of_words("worst,bad,so,good,best", ordered=False))
    >>> train, test = split_ratings(words)
    >>> table, people = TrainingTable.from_ratings(train), UserRows.from_ratings(train)
    >>> served = serve_liked(table, people, test, ["good", "best"])
    >>> 0 < served.of_ranker.ndcg < 1
    True
    """
    levels = np.ones(len(table.scale.words))
    levels[[table.scale.words.index(word) for word in liked]] = 2

    def leveled(rows: UserRows) -> UserRows:
        return rows._replace(values=_at(levels, rows.values))

    two_levels = TrainingTable.from_rows(
        leveled(table.rows), table.sizes, table.n_items, RATED_OR_LIKED
    )
    makers = [maker for maker in default_recommenders() if not maker.rates]
    fitted = fit_all(two_levels, makers, seed)
    return serve(fitted, leveled(people), test._replace(values=_at(levels, test.values)))


def _at(levels: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(levels[np.rint(values).astype(np.int64) - 1])
