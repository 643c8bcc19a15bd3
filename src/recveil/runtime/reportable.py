"""Results whose documents, sentences, tables, charts and pages `recveil.report` makes."""

from importlib import import_module
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.errors import no_attribute

# Packages whose results are described by a subpackage of another name.
_SUBPACKAGES = {"auditing": "audit", "methods": "release", "publish": "release"}


def reporter_of(result: object) -> ModuleType:
    """Import the subpackage of `recveil.report`, a higher layer, that describes a result."""
    package = type(result).__module__.split(".")[1]
    return import_module(f"recveil.report.{_SUBPACKAGES.get(package, package)}")


class Documented:
    """A mixin of results. It imports `recveil.report` when a method is called."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Name the right call for those of other libraries."""
            raise no_attribute(self, name)

        def __getitem__(self, _: object) -> Any:
            """Name the calls that return a table."""
            call = "to_pandas()" if hasattr(type(self), "to_pandas") else "to_dict()"
            raise TypeError(f"{type(self).__name__} is no table; call {call}")

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON, with None for every nan."""
        from recveil import report

        return report.to_dict(self)


class Described(Documented):
    """A mixin of results that are described by sentences."""

    def sentences(self) -> list[str]:
        """Return the result in sentences."""
        return list(reporter_of(self).sentences(self))

    def warnings(self) -> list[str]:
        """Return warnings about the result."""
        return list(reporter_of(self).warnings(self))


class Reportable(Documented):
    """A mixin of results with facts and tables."""

    def _facts(self) -> dict[str, object]:
        return dict(reporter_of(self).facts(self))

    def _tables(self) -> list[Any]:
        reporter = reporter_of(self)
        return list(reporter.tables(self)) if hasattr(reporter, "tables") else []


class WithPage(Reportable):
    """A mixin of results that have charts and a page, too."""

    def chart(self, name: str | None = None) -> Any:
        """Return an Altair chart of the result; the first one by default."""
        return reporter_of(self).chart(self, name)

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return the result as one self-contained HTML page, and write it if there is a path.

        It is written atomically, readable by its creator alone.
        """
        page = str(reporter_of(self).to_html(self))
        # A page describes how to re-identify users, and may name some, so it is private.
        if path is not None:
            write_atomically(path, lambda temporary: temporary.write_text(page, "utf-8", "replace"))
        return page
