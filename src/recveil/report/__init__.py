"""Everything that users read of results: JSON documents, sentences, tables, charts and pages.

Each subpackage describes the results of one package. It is imported when it is needed.
"""

from typing import TYPE_CHECKING, Any

from recveil.runtime.reportable import reporter_of

if TYPE_CHECKING:
    from recveil.io import Reading
    from recveil.ratings import Ratings

__all__ = ["data_to_dict", "to_dict"]


def data_to_dict(ratings: "Ratings", reading: "Reading | None" = None) -> dict[str, Any]:
    """Return the size of a table, and how it was read, as plain data for JSON."""
    return {
        **({} if reading is None else reading.to_dict() | {"not_read": reading.unread}),
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": ratings.n_ratings,
        "density": ratings.density,
        "scale": str(ratings.scale),
        **ratings.scale.labels_to_json(),
    }


def to_dict(result: object) -> dict[str, Any]:
    """Return a result as plain data for JSON."""
    from recveil.report.document import plain

    reporter_of(result)  # it registers its documents
    return dict(plain(result))
