"""Look first: what a table holds, before anything is done with it."""

from recveil.inspection._inspect import inspect
from recveil.inspection.results import Inspection

__all__ = ["Inspection", "inspect"]
