"""Options of reading, which every verb that reads a table takes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from recveil.io.columns.feedback import Counts
    from recveil.ratings import RatingScale
    from recveil.ratings.sorted_rows import Duplicates


class ReadingOptions(TypedDict, total=False):
    """Keywords of `read_ratings`; see there."""

    format: str | None
    scale: "RatingScale | None"
    duplicates: "Duplicates"
    drop_off_scale: bool
    time_format: str | None
    user: str | int | None
    item: str | int | None
    rating: str | int | None
    time: str | int | None
    delimiter: str | None
    decimal: str | None
    wide: bool
    null: str | float | None
    query: str | None
    table: str | None
    sheet: str | None
    likes: bool
    counts: "Counts | None"
    order: str | Iterable[str] | None
    words: str | Iterable[str] | None
