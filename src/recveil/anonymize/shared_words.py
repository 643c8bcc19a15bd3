"""Shared words: at least k people share one row of words that have no order."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recveil.anonymize.base import (
    assemble,
    check_k,
    check_people,
    check_seed,
    drawn_seed,
    secret_rng,
)
from recveil.anonymize.parts import GROUPINGS, make_grouping, told
from recveil.anonymize.word_shares import (
    WordShares,
    commonest,
    drawn,
    group_shares,
    learn_shares,
    place_by_words,
)
from recveil.errors import RecveilError
from recveil.publish.expected import Expected, expect, expect_padded
from recveil.publish.release import Release
from recveil.ratings import Ratings
from recveil.release.claim import Claim
from recveil.release.groups import Groups
from recveil.release.records import Records
from recveil.release.words_words import WORDS

ByWord = Literal["commonest", "shares"]
# Shares of words in a block of groups: small enough to forget.
_BLOCK_CELLS = 1 << 22


class SharedWords:
    """Give groups of at least k people one row of words.

    Cells that nobody filled are padded with probabilities of words, people with similar padded rows
    form a group, and each item gets one word for the whole group.

    Parameters
    ----------
    k : int
        Smallest group, at least 2.
    homogenize : {"commonest", "shares"}
        "commonest" writes the word with the largest share in the group's padded rows; of equal
        ones, the first of the scale. "shares" draws a word by these shares, once for each group and
        item, so that rows stay identical within a group, and over all groups words are about as
        frequent as they are expected to be.
    grouping : str, optional
        One of `GROUPINGS`; the first if not given.
    seed : int, optional
        Fixes everything random. Drawn from the system if not given.

    Notes
    -----
    Guarantee: every published record stands for at least k people with identical rows, so that
    nobody is found with probability above 1/k from the records alone. Precondition: groups of at
    least k, which is checked here and, from the written files, by `recveil.verify`. It does not say
    that a person's words stay hidden, nor who is in the data.

    Examples
    --------
    >>> from recveil.datasets import make_ratings
    >>> from recveil.ratings import RatingScale
    >>> scale = RatingScale.of_words("up,down,sideways", ordered=False)
    >>> ratings = make_ratings(50, 30, 400, seed=1, scale=RatingScale(1, 3, 1)).with_scale(scale)
    >>> release = SharedWords(5, seed=1).anonymize(ratings)
    >>> int(release.private.groups.sizes.min()) >= 5
    True
    """

    def __init__(
        self,
        k: int,
        homogenize: ByWord | None = None,
        grouping: str | None = None,
        *,
        seed: int | None = None,
    ) -> None:
        self.k = k
        self.homogenize: ByWord = "commonest" if homogenize is None else homogenize
        self.grouping = grouping
        self.seed = seed

    def anonymize(self, ratings: Ratings) -> Release:
        """Turn ratings into a release; `ratings` stay as they are.

        Raises
        ------
        RecveilError
            If ratings are no words without an order, k is below 2 or above the number of users,
            somebody has no rating, nobody named the words and fewer than k people used one, a
            setting is unknown, or the grouping returns a group below k.
        """
        self.check(ratings)
        seed = drawn_seed(self.seed)
        of_places, of_groups = np.random.default_rng(seed).integers(2**32, size=2).tolist()
        shares = learn_shares(ratings, int(self.k))
        grouping = make_grouping(self.grouping, int(self.k), None, of_groups)
        labels = grouping.fit(place_by_words(ratings, shares, of_places)).labels_
        rng = secret_rng(seed, ratings)
        groups = Groups.from_labels(labels, rng.permutation(int(labels.max()) + 1))
        if groups.sizes.min() < self.k:
            raise RecveilError(
                f"{type(grouping).__name__} returned a group of {groups.sizes.min()} people; "
                f"expected at least k = {self.k}; take another grouping (--grouping)",
                code="argument.result",
            )
        drawing = int(rng.integers(2**62))
        widths = np.full(groups.sizes.size, (ratings.support > 0).sum())
        return assemble(
            ratings,
            rng,
            claim=Claim(WORDS.claim_of({}), int(self.k)),
            settings={
                "method": WORDS.title,
                "homogenize": self.homogenize,
                "grouping": told(grouping),
            },
            groups=groups,
            blocks=lambda: self._blocks(ratings, shares, groups, drawing),
            default_layout="groups",
            seed=seed,
            expect=partial(expect, ratings, "padded", widths, groups.sizes, step=1.0),
            used={"grouping": grouping.get_params()},
        )

    def check(self, ratings: Ratings) -> None:
        """Raise what `anonymize` would raise before any work."""
        check_seed(self.seed)
        check_k(self.k)
        if self.homogenize not in get_args(ByWord):
            raise RecveilError(
                f"homogenize (--homogenize) is {self.homogenize!r}; of words without an order, "
                f"expected commonest or shares",
                code="option.value",
            )
        if self.grouping is not None and self.grouping not in GROUPINGS:
            raise RecveilError(
                f"grouping (--grouping) is {self.grouping!r}; expected one of "
                f"{', '.join(GROUPINGS)}",
                code="option.value",
            )
        if ratings.scale.ordered:
            raise RecveilError(
                "method (--method) is words, which is for words without an order (--words); of "
                "others take predictive",
                code="table.kind",
            )
        check_people(ratings, self.k, takes_unordered=True)

    def _blocks(
        self, ratings: Ratings, shares: WordShares, groups: Groups, drawing: int
    ) -> Iterator[Records]:
        """Yield the rows of the groups; every item that anybody rated has a word."""
        items = np.flatnonzero(ratings.support).astype(np.int32)
        cells = ratings.n_items * len(ratings.scale.words)
        step = max(1, _BLOCK_CELLS // cells)
        for first in range(0, groups.sizes.size, step):
            last = min(first + step, groups.sizes.size)
            found = group_shares(ratings, shares, groups, first, last)[:, items]
            words: NDArray[np.int64]
            if self.homogenize == "commonest":
                words = commonest(found)
            else:
                words = drawn(found, np.random.default_rng([drawing, first]))
            indptr = np.arange(last - first + 1, dtype=np.int64) * items.size
            values: NDArray[Any] = words.ravel() + 1.0
            yield Records(groups.sizes[first:last], indptr, np.tile(items, last - first), values)


def expect_words(
    ratings: Ratings, k: int, _options: Mapping[str, Any], layout: str, file_format: str
) -> Expected | None:
    """Say what a release will take before any work; None if there can be none."""
    if not 1 <= k <= ratings.n_users:
        return None
    return expect_padded(ratings, k, None, layout, file_format, 1.0)
