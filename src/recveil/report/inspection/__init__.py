"""Documents, sentences and bars of inspections."""

from recveil.report.inspection.text import facts, to_dict

__all__ = ["facts", "to_dict"]
