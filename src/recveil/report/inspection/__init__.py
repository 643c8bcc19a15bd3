"""Documents, sentences and bars of inspections."""

from recveil.report.inspection.text import facts

__all__ = ["facts"]
