"""Floor 2: what an adversary can do with a table."""

from recveil.attack.label_based import Matches, match_known_ratings

__all__ = ["Matches", "match_known_ratings"]
