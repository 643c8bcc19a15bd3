"""What an adversary can do with a table."""

from recveil.attacks.adversary import PRESETS, Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.candidates import Candidates
from recveil.attacks.guesses import Guesses
from recveil.attacks.inference.attributes import Attributes, infer_attributes
from recveil.attacks.inference.rated_cells import InferredCells, infer_cells
from recveil.attacks.inference.rotation import (
    match_by_length,
    recover_by_components,
    recover_by_known_rows,
)
from recveil.attacks.knowledge import Knowledge, choose_targets, draw_knowledge
from recveil.attacks.linkage import (
    InferredLinks,
    Intersection,
    JointReidentification,
    infer_links,
    intersect,
    reidentify_in_both,
)
from recveil.attacks.membership.inference import (
    Membership,
    MembershipTargets,
    hold_out,
    infer_membership,
    infer_memberships,
)
from recveil.attacks.registry import ATTACKS, Attack, AttackEntry, find_attack, register_attack
from recveil.attacks.reidentification.clusters import ClusterLikelihood
from recveil.attacks.reidentification.likelihood import Likelihood, Nearest, find_nearest
from recveil.attacks.reidentification.on_release import RatingErrors, ReleaseAttack, attack_release
from recveil.attacks.reidentification.residuals import ResidualAttack, Residuals, find_residuals
from recveil.attacks.reidentification.review_graph import (
    Matches,
    Profiles,
    homogeneity,
    label_based,
    match_known_ratings,
    structure_based,
)
from recveil.attacks.reidentification.scoreboard import CandidateSets, Scoreboard, ScoreboardRH
from recveil.attacks.reidentification.sparsity import (
    ItemInformation,
    SampleItems,
    SampleSparsity,
    information_by_rank,
    items_needed,
    items_needed_for_candidate_set,
    items_needed_in_sample,
    nearest_similarity,
    share_at_least,
    sparsity_of_sample,
)
from recveil.attacks.statistics import (
    Interval,
    Mean,
    area_under_curve,
    mean_interval,
    wilson_interval,
)
from recveil.release.sides import Anonymizer

__all__ = [
    "ATTACKS",
    "PRESETS",
    "Adversary",
    "Anonymizer",
    "Attack",
    "AttackEntry",
    "AttackTarget",
    "Attributes",
    "CandidateSets",
    "Candidates",
    "ClusterLikelihood",
    "Guesses",
    "InferredCells",
    "InferredLinks",
    "Intersection",
    "Interval",
    "ItemInformation",
    "JointReidentification",
    "Knowledge",
    "Likelihood",
    "Matches",
    "Mean",
    "Membership",
    "MembershipTargets",
    "Nearest",
    "Profiles",
    "RatingErrors",
    "ReleaseAttack",
    "ResidualAttack",
    "Residuals",
    "SampleItems",
    "SampleSparsity",
    "Scoreboard",
    "ScoreboardRH",
    "area_under_curve",
    "attack_release",
    "choose_targets",
    "draw_knowledge",
    "find_attack",
    "find_nearest",
    "find_residuals",
    "hold_out",
    "homogeneity",
    "infer_attributes",
    "infer_cells",
    "infer_links",
    "infer_membership",
    "infer_memberships",
    "information_by_rank",
    "intersect",
    "items_needed",
    "items_needed_for_candidate_set",
    "items_needed_in_sample",
    "label_based",
    "match_by_length",
    "match_known_ratings",
    "mean_interval",
    "nearest_similarity",
    "recover_by_components",
    "recover_by_known_rows",
    "register_attack",
    "reidentify_in_both",
    "share_at_least",
    "sparsity_of_sample",
    "structure_based",
    "wilson_interval",
]
