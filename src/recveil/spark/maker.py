"""Making: what each method does for a release by Spark, from the table to what is to be written."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from recveil.publish.folder import Writing
from recveil.release.sides import Sides
from recveil.runtime.safe_repr import brief
from recveil.spark.input import Lake
from recveil.spark.users import DistributedUsers


@brief
class Made(NamedTuple):
    """A release that executors are to write."""

    # The private side names nobody, as all names stand in its parts alone
    release: Sides
    # Who writes and checks it
    by: Writing
    # Returns what the owner is told of it, once it is written
    told: Callable[[], list[str]]

    def _facts(self) -> dict[str, object]:
        return self.release._facts()


@brief
class Ready(NamedTuple):
    """People who stand ready, and what makes a release of them."""

    people: DistributedUsers
    # Returns a `Made`
    make: Callable[[], Made]

    def _facts(self) -> dict[str, object]:
        return {"people": self.people.n_people}


class Making(Protocol):
    """A method, with the options that were given: they are checked before the table is read."""

    def gather(self, lake: Lake) -> Ready:
        """Refuse a table that no release can be made of, and gather its people."""
