"""Risk by group of users, as a table and a sentence."""

from recveil.attacks.membership.shadow_models import EXPOSED
from recveil.attacks.statistics import GroupRate
from recveil.auditing.release_attacks import AttackedRelease
from recveil.auditing.shadow_releases import ByShadows
from recveil.ratings.ratings import in_likes
from recveil.runtime.number_format import estimate, percent
from recveil.runtime.safe_repr import Grid

# How the sentence on the users who are recognized best begins
MOST_EXPOSED = "Most exposed by number of ratings:"
_RISKS = {
    "reidentification": "re-identified",
    "membership": "membership (AUC)",
    "shadows": "membership with shadow releases (AUC)",
}


def group_table(release: AttackedRelease | None) -> Grid | None:
    """Return the risks of each group of users; None if nothing was measured by group."""
    if release is None:
        return None
    rows = [
        (_RISKS[risk], *_cells(release, group, None if risk == "reidentification" else 2))
        for risk, groups in release.by_user_count.items()
        for group in groups
    ]
    header = ("risk", "users", "figure", "control or random guess", "targets")
    likes = [tuple(in_likes(cell, release.manifest.scale.unary) for cell in row) for row in rows]
    title = in_likes("Risk by number of ratings", release.manifest.scale.unary)
    return Grid(title, header, likes) if rows else None


def _cells(release: AttackedRelease, group: GroupRate, digits: int | None) -> tuple[str, ...]:
    guess = percent(release.strongest[1].baseline) if digits is None else "0.50"
    control = guess if group.control is None else estimate(group.control, digits)
    return _title(group), estimate(group.figure, digits), control, f"{group.figure.trials:,}"


def describe_exposed(found: ByShadows) -> str:
    """Describe the users who are recognized best, and each user's own AUC; empty if too few."""
    group, of_users = found.most_exposed, found.of_users
    if group is None or group.control is None or of_users is None:
        return ""
    exposed, by_chance = map(estimate, of_users.exposed)
    everyone = found.inferred.auc
    more = "clearly more" if group.figure.low > everyone.high else "the intervals overlap"
    return (
        f"{MOST_EXPOSED} {_title(group)}, with AUC {estimate(group.figure, 2)} "
        f"against {estimate(everyone, 2)} for all ({more}; control {estimate(group.control, 2)}). "
        f"Of the individual users, {exposed} have an AUC of at least {EXPOSED}; in the control "
        f"{by_chance}."
    )


def _title(group: GroupRate) -> str:
    return (
        group.name if group.highest is None else f"{group.name}, up to {group.highest:,.0f} ratings"
    )
