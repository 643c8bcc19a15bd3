"""Documents, sentences and bars of inspections."""

from recveil.report.inspection.text import facts, tables, to_dict

__all__ = ["facts", "tables", "to_dict"]
