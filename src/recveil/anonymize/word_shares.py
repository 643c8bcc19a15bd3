"""Word shares: how likely each person is to give each word, and what a group of people gives.

For words without an order there is no mean and no distance: what stands in the place of a
prediction is a probability for each word, and in the place of a mean the share of each word.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD

from recveil.anonymize.rare_items import pooled_items
from recveil.blas import one_thread
from recveil.brief import brief
from recveil.ratings import Ratings
from recveil.release.groups import Groups

Numbers = NDArray[np.float64]

# So many directions tell people's own words apart, beside how often they give each word.
_DIRECTIONS = 50
# Shares that differ by less are equal: the last digits of a sum must not choose a word.
_DIGITS = 9


@brief
class WordShares(NamedTuple):
    """How often each word is given, smoothed: each counts once more than it was given.

    Attributes
    ----------
    of_items : ndarray of float64, shape (n_items, n_words)
    of_people : ndarray of float64, shape (n_users, n_words)
        Each row adds up to 1. Only words count that `many_gave` to the item: what somebody alone
        says is no habit that their group's row may show.
    many_gave : ndarray of bool, shape (n_items, n_words)
        Whether enough people gave a word to an item for it to count as theirs.
    """

    of_items: NDArray[np.float64]
    of_people: NDArray[np.float64]
    many_gave: NDArray[np.bool_]

    def at(self, users: NDArray[np.int64], items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return how likely each word is in some cells, shape (n_cells, n_words).

        It is the mean of the item's shares and the person's.
        """
        return (self.of_items[items] + self.of_people[users]) / 2


def learn_shares(ratings: Ratings, least: int = 1) -> WordShares:
    """Count words by item and by person, and smooth the shares (Laplace: one more of each word).

    Parameters
    ----------
    ratings : Ratings
        Words without an order.
    least : int
        Items that fewer people gave a word are counted as if they were one: the commonest word of
        one that a single person knows would be that person's. Each person counts once there, by
        the shares of their words: nobody is more than one in `least`, whatever they gave. And
        so many must have given a word to an item for it to count as theirs, by itself and among
        the words that they usually give: else the group of who alone gave it could be the only
        one that shows it. Words that fewer people gave to anything have no share.

    Examples
    --------
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("up,down", ordered=False)
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], ["up", "up", "down"],
    ...                                scale=scale)
    >>> shares = learn_shares(ratings)
    >>> shares.of_items.tolist()  # of a: one up, one down; of b: one up
    [[0.5, 0.5], [0.6666666666666666, 0.3333333333333333]]
    >>> shares.at(np.array([1]), np.array([1], np.int32)).round(3).tolist()
    [[0.5, 0.5]]
    """
    n_words, words = len(ratings.scale.words), word_positions(ratings)

    def counted(of: NDArray[np.int64], n: int, weights: NDArray[Any] | None = None) -> Numbers:
        counts = np.bincount(of * n_words + words, weights, n * n_words)
        return counts.reshape(n, n_words).astype(np.float64)

    def smoothed(counts: Numbers) -> Numbers:
        return (counts + possible) / (counts.sum(axis=1, keepdims=True) + possible.sum())

    users = ratings.user_positions().astype(np.int64)
    items = ratings.indices.astype(np.int64)
    many_gave = counted(items, ratings.n_items) >= least
    in_use = _givers(users, words, n_words) >= least
    # Where there is none at all, each is as likely as the others, which tells of nobody.
    possible = in_use if in_use.any() else np.ones(n_words, np.bool_)
    known = in_use[words]
    of_items, pool = counted(items, ratings.n_items, known), pooled_items(ratings, least)
    in_pool = np.isin(items, pool) & known
    each = np.maximum(np.bincount(users, in_pool, ratings.n_users), 1)  # words in the pool
    of_items[pool] = counted(items, ratings.n_items, in_pool / each[users])[pool].sum(axis=0)
    of_people = counted(users, ratings.n_users, many_gave[items, words])
    return WordShares(smoothed(of_items), smoothed(of_people), many_gave)


def _givers(users: NDArray[np.int64], words: NDArray[np.int64], n_words: int) -> NDArray[np.int64]:
    """Return how many people gave each word to anything, shape (n_words,)."""
    return np.bincount(np.unique(users * n_words + words) % n_words, minlength=n_words)


def word_positions(ratings: Ratings) -> NDArray[np.int64]:
    """Return the position of each rating's word among the words of the scale, from 0 on."""
    return np.rint(ratings.values).astype(np.int64) - 1


def group_shares(
    ratings: Ratings, shares: WordShares, groups: Groups, first: int, last: int
) -> NDArray[np.float64]:
    """Return the share of each word in the padded rows of some groups.

    A padded row holds 1 for the word that the member gave, and 0 for the others; where they gave
    none, or one that too few gave to the item, how likely each word is.

    Parameters
    ----------
    ratings : Ratings
    shares : WordShares
    groups : Groups
    first, last : int
        The groups, from the first to the one before the last.

    Returns
    -------
    ndarray of float64, shape (last - first, n_items, n_words)
        Rounded to nine digits; the words of each item add up to 1.

    Notes
    -----
    What all members are predicted to give is a sum of two terms, so that it is worked out for the
    group as a whole; what members gave themselves is then put in its place, rating by rating.

    Examples
    --------
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("up,down", ordered=False)
    >>> ratings = Ratings.from_columns([1, 1, 2], ["a", "b", "a"], ["up", "up", "down"],
    ...                                scale=scale)
    >>> group_shares(ratings, learn_shares(ratings), Groups.from_labels([0, 0]), 0, 1).tolist()
    [[[0.5, 0.5], [0.75, 0.25]]]
    """
    sizes = groups.sizes[first:last]
    members = groups.members[groups.starts[first] : groups.starts[last]]
    group_of = np.repeat(np.arange(last - first), sizes)
    n_words = shares.of_items.shape[1]
    people = np.zeros((last - first, n_words))
    np.add.at(people, group_of, shares.of_people[members])
    found = (shares.of_items[None] + (people / sizes[:, None])[:, None]) / 2
    lengths = ratings.activity[members]
    # Where the ratings of each member stand: a run of neighbours for each.
    at = np.repeat(ratings.indptr[members] - np.cumsum(lengths) + lengths, lengths)
    at += np.arange(lengths.sum())
    users, items = np.repeat(members, lengths), ratings.indices[at]
    words = word_positions(ratings)[at]
    counts = shares.many_gave[items, words]
    users, items, words = users[counts], items[counts], words[counts]
    own = -shares.at(users, items)
    own[np.arange(words.size), words] += 1
    groups_of_own = np.repeat(group_of, lengths)[counts]
    np.add.at(found, (groups_of_own, items), own / sizes[groups_of_own][:, None])
    return np.asarray(np.round(np.clip(found, 0, 1), _DIGITS), np.float64)


def place_by_words(ratings: Ratings, shares: WordShares, seed: int) -> NDArray[np.float32]:
    """Place each person so that near ones have nearly the same padded rows.

    Parameters
    ----------
    ratings : Ratings
    shares : WordShares
    seed : int
        Of the directions that stand for all items and words, where there are many.

    Returns
    -------
    ndarray of float32, shape (n_users, n_dimensions)
        How likely each word is for them, and in what their own words differ from that, where
        many gave these.
    """
    n_words, words = shares.of_items.shape[1], word_positions(ratings)
    users = ratings.user_positions().astype(np.int64)
    apart = -shares.at(users, ratings.indices)
    apart[np.arange(words.size), words] += 1
    apart[~shares.many_gave[ratings.indices, words]] = 0  # as in the rows
    columns = ratings.indices.astype(np.int64)[:, None] * n_words + np.arange(n_words)
    shape = (ratings.n_users, ratings.n_items * n_words)
    own = sparse.csr_array((apart.ravel(), columns.ravel(), ratings.indptr * n_words), shape=shape)
    likely = shares.of_people * (math.sqrt(ratings.n_items) / 2)
    n_directions = min(_DIRECTIONS, *(size - 1 for size in shape))
    if n_directions < 1:
        return np.hstack([likely, own.toarray()]).astype(np.float32)
    directions = TruncatedSVD(n_directions, random_state=seed % 2**32)
    # The last bit of a sum can change who is in which group; rows may be alike, without a spread.
    with one_thread(), np.errstate(invalid="ignore", divide="ignore"):
        return np.hstack([likely, directions.fit_transform(own)]).astype(np.float32)


def commonest(shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the position of the word with the largest share; of equal ones, the first.

    Examples
    --------
    >>> commonest(np.array([[0.2, 0.4, 0.4]]))
    array([1])
    """
    return np.asarray(shares.argmax(axis=-1))


def drawn(shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a word for each group and item, each as likely as its share.

    Examples
    --------
    >>> drawn(np.array([[1.0, 0.0], [0.0, 1.0]]), np.random.default_rng(1))
    array([0, 1])
    """
    reached = np.cumsum(shares, axis=-1)
    at = rng.random(shares.shape[:-1]) * reached[..., -1]
    return np.asarray((at[..., None] >= reached[..., :-1]).sum(axis=-1))
