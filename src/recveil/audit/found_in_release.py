"""FoundInRelease: all that an audit measured of a release."""

from dataclasses import dataclass, field

from recveil.attack import Adversary, Membership, ReleaseAttack
from recveil.attack.attributes import Attributes
from recveil.attack.clusters import ClusterAttack
from recveil.attack.hidden_items import HiddenItems
from recveil.attack.told_cells import ToldCells
from recveil.audit.against import Against
from recveil.audit.content import Content
from recveil.audit.shadowing import ShadowMembership
from recveil.brief import brief
from recveil.release.as_given import AsGiven
from recveil.release.manifest import Manifest


@brief
@dataclass(frozen=True)
class FoundInRelease:
    """What the adversaries achieve against a release, in figures.

    Parameters
    ----------
    name : str
        The release's folder.
    manifest : Manifest
        What it says of itself.
    attacks : list of (Adversary, ReleaseAttack)
    membership : Membership or None
        Whether the adversary can tell who was in the data, measured on a release that was made in
        the same way without a fifth of the people.
    lone_share : float or None
        With simple homogenizing, the share of the ratings that are published as they are because
        nobody else in the group rated the item.
    unmeasured : str
        Why membership could not be measured, if it was tried.
    unprotected : int or None
        With privacy levels, the people whose records promise nothing, because their level is 1
        and they share them with nobody of a higher one.
    lowest_level : int or None
        With privacy levels, the smallest k above 1 that a record promises; None if none does.
    untried : str
        Which labels of a co-rated release were not struck out, because to find them takes too long.
    as_given : AsGiven or None
        How many of all ratings stand in the release exactly, and how many labels are ratings.
    by_known : dict of str to Membership
        As `membership`, by who knows "8", "16" and "all" ratings, exactly.
    residual : ToldCells or None
        What a smooth fit of all rows tells of who rated what; None if rows do not hold all items.
    unfitted : str
        Why there is no such fit, if rows do hold all items.
    attributes : Attributes or None
        What the strongest adversary learns of members that is not told of strangers, by the release
        that membership was measured on.
    content : Content or None
        What its cells tell: fills, companions, and ratings behind labels.
    against : Against or None
        What it tells together with another release of the same people.
    hidden_items : HiddenItems or None
        Where the release hides its items, how many can be named again, and what follows.
    shadows : ShadowMembership or None
        Who is in such a release, told by many others like it; None if nobody asked.
    same_ratings : bool or None
        Whether the release was made from the ratings by which it is judged; None if nothing tells.
    all_known : ReleaseAttack or None
        What an adversary achieves who knows all ratings of a target exactly; None where rows hold
        most items, and nobody is looked for so.
    clusters : ClusterAttack or None
        How often that adversary infers the cluster of a target, and the equivalence class, by
        a fit on other targets; where no records share their values, each is its own cluster.
    uncompared : bool
        Whether records are too many to look for clusters.
    """

    name: str
    manifest: Manifest
    attacks: list[tuple[Adversary, ReleaseAttack]]
    membership: Membership | None
    lone_share: float | None
    unmeasured: str = ""
    unprotected: int | None = None
    lowest_level: int | None = None
    untried: str = ""
    as_given: AsGiven | None = None
    by_known: dict[str, Membership] = field(default_factory=dict)
    residual: ToldCells | None = None
    attributes: Attributes | None = None
    content: Content | None = None
    against: Against | None = None
    hidden_items: HiddenItems | None = None
    shadows: ShadowMembership | None = None
    unfitted: str = ""
    same_ratings: bool | None = None
    all_known: ReleaseAttack | None = None
    clusters: ClusterAttack | None = None
    uncompared: bool = False

    def _facts(self) -> dict[str, object]:
        attacks = [*(attack for _, attack in self.attacks), self.all_known, self.clusters]
        found = max((each.person_found.rate for each in attacks if each), default=None)
        return {
            "claim": self.manifest.claim.kind,
            "k": self.manifest.claim.k,
            "adversaries": len(self.attacks),
            "found by the strongest": None if found is None else f"{found:.1%}",
        }
