"""How far a work is: one bar on a terminal, a line a minute elsewhere, or whoever listens."""

from recveil.progress.showing import listening
from recveil.progress.spans import THE_REST, busy, parts, track
from recveil.progress.whole import Cancelled, HowFar

__all__ = ["THE_REST", "Cancelled", "HowFar", "busy", "listening", "parts", "track"]
