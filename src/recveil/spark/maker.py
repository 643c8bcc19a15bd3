"""The interface between `recveil.spark.anonymize` and its methods."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from recveil.methods.release_summary import ReleaseSummary
from recveil.publish.folder import Writing
from recveil.release.sides import Sides
from recveil.runtime.safe_repr import brief
from recveil.spark.input import Lake
from recveil.spark.users import DistributedUsers


@brief
class PlannedRelease(NamedTuple):
    """A release that executors are to write."""

    # The private side has no ids, which are in its parts alone
    release: Sides
    # Writes and verifies it
    by: Writing
    # Returns the figures for the publisher, once it is written
    summary: Callable[[], ReleaseSummary]

    def _facts(self) -> dict[str, object]:
        return self.release._facts()


class Making(Protocol):
    """A method with its options, which are checked before the table is read."""

    def gather(self, lake: Lake) -> tuple[DistributedUsers, Callable[[], PlannedRelease]]:
        """Reject unsuitable tables; gather the users, and return what plans their release."""
