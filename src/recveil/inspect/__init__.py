"""Look first: what a table holds, before anything is done with it."""

from recveil.inspect.inspecting import inspect
from recveil.inspect.inspection import Inspection

__all__ = ["Inspection", "inspect"]
