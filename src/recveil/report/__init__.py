"""Everything that users read of results: JSON documents, sentences, tables, charts and pages.

Each subpackage describes the results of one package. It is imported when it is needed.
"""

from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recveil.io import Reading
    from recveil.ratings import Ratings

__all__ = [
    "chart",
    "data_to_dict",
    "facts",
    "sentences",
    "tables",
    "to_dict",
    "to_html",
    "warnings",
    "write_html",
]

_SUBPACKAGES = {"auditing": "audit", "methods": "release"}


def _subpackage_of(result: object) -> ModuleType:
    package = type(result).__module__.split(".")[1]
    return import_module(f"recveil.report.{_SUBPACKAGES.get(package, package)}")


def data_to_dict(ratings: "Ratings", reading: "Reading | None" = None) -> dict[str, Any]:
    """Return the size of a table, and how it was read, as plain data for JSON."""
    return {
        **({} if reading is None else reading.to_dict()),
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

    _subpackage_of(result)  # it registers its documents
    return dict(plain(result))


def sentences(result: object) -> list[str]:
    """Return a release or an estimate in sentences for its publisher."""
    return list(_subpackage_of(result).sentences(result))


def warnings(result: object) -> list[str]:
    """Return warnings about a release or an estimate."""
    return list(_subpackage_of(result).warnings(result))


def chart(result: object, name: str | None = None) -> Any:
    """Return an Altair chart of a result, with its key; the first one by default."""
    return _subpackage_of(result).chart(result, name)


def to_html(result: object) -> str:
    """Return the page of a result: self-contained, without script, font or network."""
    return str(_subpackage_of(result).to_html(result))


def write_html(result: object, path: str | PathLike[str]) -> None:
    """Write the page of a result atomically, readable by its creator alone."""
    from recveil.runtime.atomic_writes import write_atomically

    page = to_html(result)
    # A page names no user, but describes how to re-identify them, so it is private.
    write_atomically(path, lambda temporary: temporary.write_text(page, "utf-8", "replace"))


def facts(result: object) -> dict[str, object]:
    """Return the facts that represent a result in a line."""
    return dict(_subpackage_of(result).facts(result))


def tables(result: object) -> list[Any]:
    """Return the grids that a notebook shows of a result; none for results without tables."""
    subpackage = _subpackage_of(result)
    return list(subpackage.tables(result)) if hasattr(subpackage, "tables") else []
