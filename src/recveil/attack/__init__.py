"""What an adversary can do with a table."""

from recveil.attack.adversary import PRESETS, Adversary
from recveil.attack.attacks import ATTACKS, AttackEntry, find_attack, register_attack
from recveil.attack.attributes import Attributes, tell_attributes
from recveil.attack.candidates import Candidates
from recveil.attack.closest import Nearest, find_nearest
from recveil.attack.graph import (
    Matches,
    Profiles,
    homogeneity,
    label_based,
    match_known_ratings,
    structure_based,
)
from recveil.attack.guesses import Guesses
from recveil.attack.held_out import PartialRelease, hold_out
from recveil.attack.intersection import Intersection, intersect
from recveil.attack.joint_finding import JointFinding, find_in_both
from recveil.attack.knowledge import Knowledge, choose_targets, draw_knowledge
from recveil.attack.lessons import RatingErrors
from recveil.attack.likelihood import Likelihood
from recveil.attack.links_of_two import LinksOfTwo, tell_links
from recveil.attack.members import Membership, membership, memberships
from recveil.attack.on_release import ReleaseAttack, attack_release
from recveil.attack.protocol import Attack
from recveil.attack.released import ReleasedTable
from recveil.attack.residual_attack import ResidualAttack
from recveil.attack.residuals import Residuals, find_residuals
from recveil.attack.scoreboard import Lineups, Scoreboard
from recveil.attack.scoreboard_rh import ScoreboardRH
from recveil.attack.sparsity import (
    ItemInformation,
    information_by_rank,
    nearest_similarity,
    share_at_least,
)
from recveil.attack.statistics import (
    Interval,
    Mean,
    area_under_curve,
    mean_interval,
    wilson_interval,
)
from recveil.attack.theory import items_needed, items_needed_for_lineup
from recveil.attack.told_cells import ToldCells, tell_cells
from recveil.release.anonymizer import Anonymizer

__all__ = [
    "ATTACKS",
    "PRESETS",
    "Adversary",
    "Anonymizer",
    "Attack",
    "AttackEntry",
    "Attributes",
    "Candidates",
    "Guesses",
    "Intersection",
    "Interval",
    "ItemInformation",
    "JointFinding",
    "Knowledge",
    "Likelihood",
    "Lineups",
    "LinksOfTwo",
    "Matches",
    "Mean",
    "Membership",
    "Nearest",
    "PartialRelease",
    "Profiles",
    "RatingErrors",
    "ReleaseAttack",
    "ReleasedTable",
    "ResidualAttack",
    "Residuals",
    "Scoreboard",
    "ScoreboardRH",
    "ToldCells",
    "area_under_curve",
    "attack_release",
    "choose_targets",
    "draw_knowledge",
    "find_attack",
    "find_in_both",
    "find_nearest",
    "find_residuals",
    "hold_out",
    "homogeneity",
    "information_by_rank",
    "intersect",
    "items_needed",
    "items_needed_for_lineup",
    "label_based",
    "match_known_ratings",
    "mean_interval",
    "membership",
    "memberships",
    "nearest_similarity",
    "register_attack",
    "share_at_least",
    "structure_based",
    "tell_attributes",
    "tell_cells",
    "tell_links",
    "wilson_interval",
]
