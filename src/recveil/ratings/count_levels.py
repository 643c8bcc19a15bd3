"""Count levels: what counts of plays, views or minutes become, whatever the table."""

from recveil.ratings.scale import RatingScale

# Read off a table, the bins would tell of its people.
COUNT_BINS = (1, 3, 10, 30, 100, 300, 1000)
COUNT_SCALE = RatingScale(1, len(COUNT_BINS), 1)


def count_levels() -> str:
    """Say from which count on each level is.

    Examples
    --------
    >>> count_levels()
    '1 from 1, 2 from 3, 3 from 10, 4 from 30, 5 from 100, 6 from 300, 7 from 1,000'
    """
    return ", ".join(f"{level} from {least:,}" for level, least in enumerate(COUNT_BINS, 1))
