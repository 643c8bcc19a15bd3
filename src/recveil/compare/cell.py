"""Cell: what became of one setting of a comparison, before it is put into a row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from recveil.attack.members import KNOWN
from recveil.brief import brief
from recveil.release.claim import claim_kind
from recveil.release.registry import variant_of


class Setting(NamedTuple):
    """A method with its k; None for a method that takes none.

    Examples
    --------
    >>> Setting("padded", 5).title, Setting("padded", 5).file, Setting("raw", None).title
    ('padded, k = 5', 'padded-k5.json', 'raw')
    """

    method: str
    k: int | None

    @property
    def title(self) -> str:
        """The setting, for people."""
        return self.method if self.k is None else f"{self.method}, k = {self.k}"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.method}.json" if self.k is None else f"{self.method}-k{self.k}.json"


class Counted(NamedTuple):
    """What the checker counted in the written files of a setting's release.

    Attributes
    ----------
    claim : str
        The claim that was checked.
    k_required, k_achieved : int
        How many people must share each row (or set of items), and how many do.
    """

    claim: str
    k_required: int
    k_achieved: int


@brief
@dataclass(frozen=True)
class Cell:
    """What became of one setting: made, verified, attacked and judged.

    Parameters
    ----------
    key : str
        What it was computed from; see `recveil.compare.cells.Ground`.
    setting : Setting
    problem : str or None
        Why there is no result; then there is no evaluation.
    is_fault : bool
        Whether the problem is a fault of ours, so that trying again makes sense.
    verified : Counted or None
        None for a baseline, which claims nothing.
    evaluation : mapping or None
        What `recveil.evaluate.Evaluation.to_json` gives: what a file can hold of it.
    lone_share : float or None
        With simple homogenizing, the share of the ratings that are published as they are.
    seconds : mapping of str to float
        What each step took.
    shadows : mapping or None
        What `recveil.audit.shadowing.ShadowMembership.to_dict` gives; or why there is none, as
        ``problem``. None if nobody asked.

    Examples
    --------
    >>> cell = Cell("4f", Setting("raw", None), evaluation={"recipient": {"rmse": 0.9}})
    >>> cell.told("recipient", "rmse"), Cell.from_json(cell.to_json()) == cell
    (0.9, True)
    """

    key: str
    setting: Setting
    problem: str | None = None
    is_fault: bool = False
    verified: Counted | None = None
    evaluation: Mapping[str, Any] | None = None
    lone_share: float | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    shadows: Mapping[str, Any] | None = None

    @property
    def counted_k(self) -> int | None:
        """How many people share each row (or set of items), as counted in the written files.

        None where nothing was written, and where no row is anybody's.
        """
        if self.verified is None or not claim_kind(self.verified.claim).holds_people:
            return None
        return self.verified.k_achieved

    @property
    def bound(self) -> float | None:
        """The highest share that the checked claim allows; a claim about items allows all."""
        if self.verified is None:
            return None
        return claim_kind(self.verified.claim).bound(self.verified.k_required)

    @property
    def attacks(self) -> list[dict[str, Any]]:
        """What each adversary achieved."""
        return self.told("disclosure", "attacks") or []

    @property
    def strongest(self) -> dict[str, Any] | None:
        """What the adversary achieved who finds most people; None if no attack undoes the method.

        Where the attacks do not know what to undo, that they find few would say nothing.
        """
        if not variant_of(self.setting.method).is_attacked or not self.attacks:
            return None
        return max(self.attacks, key=lambda attack: attack["person_found"]["rate"] or 0.0)

    @property
    def membership(self) -> dict[str, Any] | None:
        """How well one can tell who was in the data at all; None as for `strongest`.

        Of several adversaries, it is the one who tells best; of too few people, nobody does.
        """
        if not variant_of(self.setting.method).is_attacked:
            return None
        told: dict[str, Any] = self.told("disclosure", "membership") or {}
        ways = [told] if told else []
        ways += [told[known] for known in KNOWN if known in told]
        measured = [way["auc"] for way in ways if way["is_told"]]
        return max(measured, key=lambda area: area["rate"]) if measured else None

    def told(self, *path: str) -> Any:
        """Return what stands in the evaluation under these keys, one inside the other.

        None if it, or something on the way to it, could not be measured.

        Raises
        ------
        KeyError
            If an evaluation has no such key.
        """
        return dig(self.evaluation, *path)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave.

        Raises
        ------
        KeyError, TypeError
            If it is something else.
        """
        verified = plain["verified"]
        return cls(
            key=plain["key"],
            setting=Setting(plain["method"], plain["k"]),
            problem=plain["problem"],
            is_fault=plain["is_fault"],
            verified=None if verified is None else Counted(**verified),
            evaluation=plain["evaluation"],
            lone_share=plain["lone_share"],
            seconds=plain["seconds"],
            shadows=plain.get("shadows"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data for its file."""
        return {
            "key": self.key,
            "method": self.setting.method,
            "k": self.setting.k,
            "problem": self.problem,
            "is_fault": self.is_fault,
            "seconds": dict(self.seconds),
            "verified": None if self.verified is None else self.verified._asdict(),
            "evaluation": self.evaluation,
            "shadows": self.shadows,
            "lone_share": self.lone_share,
        }

    def _facts(self) -> dict[str, object]:
        verdict = "no result" if self.problem else "judged"
        return {"": f"{self.setting.title}: {verdict}", "k as counted": self.counted_k}


def dig(plain: Any, *path: str) -> Any:
    """Return what stands under keys one inside the other; None if None stands on the way.

    Examples
    --------
    >>> dig({"auc": {"rate": 0.6}}, "auc", "rate"), dig({"auc": None}, "auc", "rate")
    (0.6, None)
    """
    for key in path:
        if plain is None:
            return None
        plain = plain[key]
    return plain
