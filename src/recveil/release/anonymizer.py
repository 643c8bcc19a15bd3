"""Anonymizer: whatever makes a release of ratings."""

from typing import Protocol

from recveil.ratings import Ratings
from recveil.release.sides import Sides


class Anonymizer(Protocol):
    """Whatever makes a release of ratings."""

    def anonymize(self, ratings: Ratings) -> Sides:
        """Turn ratings into a release."""
