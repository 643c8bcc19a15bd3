"""Results whose documents, sentences, tables, charts and pages `recveil.report` makes."""

from os import PathLike
from typing import Any


class Documented:
    """A mixin of results. It imports `recveil.report`, a higher layer, when a method is called."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON, with None for every nan."""
        from recveil import report

        return report.to_dict(self)


class Described(Documented):
    """A mixin of results that are described by sentences."""

    def sentences(self) -> list[str]:
        """Return the result in sentences."""
        from recveil import report

        return report.sentences(self)

    def warnings(self) -> list[str]:
        """Return warnings about the result."""
        from recveil import report

        return report.warnings(self)


class Reportable(Documented):
    """A mixin of results with charts, tables and a page."""

    def chart(self, name: str | None = None) -> Any:
        """Return an Altair chart of the result; the first one by default.

        Raises
        ------
        RecveilError
            If there is no such chart, or it has no data.
        """
        from recveil import report

        return report.chart(self, name)

    def to_html(self) -> str:
        """Return the result as one self-contained HTML page."""
        from recveil import report

        return report.to_html(self)

    def write_html(self, path: str | PathLike[str]) -> None:
        """Write the result's page atomically, readable by its creator alone."""
        from recveil import report

        report.write_html(self, path)

    def _facts(self) -> dict[str, object]:
        from recveil import report

        return report.facts(self)

    def _tables(self) -> list[Any]:
        from recveil import report

        return report.tables(self)
