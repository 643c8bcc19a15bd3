"""Floor 2: what an adversary can do with a table."""

from recveil.attack.adversary import PRESETS, Adversary
from recveil.attack.candidates import Candidates
from recveil.attack.knowledge import Knowledge, choose_targets, draw_knowledge
from recveil.attack.label_based import Matches, match_known_ratings
from recveil.attack.scoreboard_rh import Guesses, ScoreboardRH
from recveil.attack.statistics import (
    Interval,
    Mean,
    area_under_curve,
    mean_interval,
    wilson_interval,
)

__all__ = [
    "PRESETS",
    "Adversary",
    "Candidates",
    "Guesses",
    "Interval",
    "Knowledge",
    "Matches",
    "Mean",
    "ScoreboardRH",
    "area_under_curve",
    "choose_targets",
    "draw_knowledge",
    "match_known_ratings",
    "mean_interval",
    "wilson_interval",
]
