"""Inspection of a table: contents, dates and identifying columns."""

from recveil.inspection._inspect import inspect
from recveil.inspection.results import Inspection

__all__ = ["Inspection", "inspect"]
