"""Synthetic queries: what a release of drawn people asked of real ones, and at which share."""

from typing import NamedTuple


class LedgerQuery(NamedTuple):
    """A query that every ledger of such releases holds.

    Attributes
    ----------
    name, what : str
    share : float
        What it has of the budget; all of them add up to 1.
    first_format : int
        The oldest format whose releases asked it.
    shares_before : tuple of pairs
        What it had in releases up to some format: the format, and the share; the oldest first.
    """

    name: str
    what: str
    share: float
    first_format: int = 3
    shares_before: tuple[tuple[int, float], ...] = ()

    def share_of(self, number: int) -> float:
        """Return its share in releases of some format."""
        before = [share for last, share in self.shares_before if number <= last]
        return before[0] if before else self.share


# In the order in which they are asked. The sensitivity of each is 1.
QUERIES = (
    LedgerQuery("people by activity", "how many people have how many ratings", 0.01),
    LedgerQuery("labels", "people's shares of ratings at each label", 0.004),
    LedgerQuery("means of people", "people's mean ratings, and the squares of these", 0.004),
    LedgerQuery(
        "item sums",
        "for each item, how much it was rated, and how its ratings differ from the mean",
        0.232,
    ),
    LedgerQuery(
        "kinds of items",
        "people's shares of ratings on items with tastes, other told ones, and the rest",
        0.004,
        first_format=4,
    ),
    LedgerQuery(
        "moments",
        "for each two items, how much people who like the one like the other",
        0.736,
        shares_before=((3, 0.75), (4, 0.746)),
    ),
    LedgerQuery(
        "ratings by taste",
        "for each direction of taste, whether people rate higher what they lean to, and whether "
        "half of their ratings agrees with the other half",
        0.01,
        first_format=5,
    ),
)

# The same of likes, which have no ratings to be asked for: what is left has the whole budget.
QUERIES_OF_LIKES = (
    LedgerQuery("people by activity", "how many people have how many likes", 0.01, 6),
    LedgerQuery("item sums", "for each item, how much it was liked", 0.06, 6),
    LedgerQuery(
        "kinds of items",
        "people's shares of likes on items with tastes, other told ones, and the rest",
        0.004,
        6,
    ),
    LedgerQuery(
        "moments", "for each two items, how much people who like the one like the other", 0.926, 6
    ),
)


def queries_of(number: int, *, likes: bool) -> list[LedgerQuery]:
    """Return what releases of some format asked, in order.

    Parameters
    ----------
    number : int
        That of the format.
    likes : bool

    Examples
    --------
    >>> [query.name for query in queries_of(6, likes=True)]
    ['people by activity', 'item sums', 'kinds of items', 'moments']
    """
    asked = QUERIES_OF_LIKES if likes else QUERIES
    return [query for query in asked if query.first_format <= number]


def sums_of_item(*, likes: bool) -> int:
    """Return how many numbers are told of an item in the item sums: how much, and how rated."""
    return 1 if likes else 2
