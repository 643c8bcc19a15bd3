"""What the checker says: one verdict, and each published row that speaks against it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from recveil.runtime.safe_repr import brief
from recveil.verification.diversity import Diversity
from recveil.verification.link_posterior import LinkPosterior

# Nobody reads more, and each takes some hundred bytes: a file of few bytes may hold millions.
MOST_KEPT = 10_000
_TOLD_OF_LINKS = ("mean", "highest", "uncovered_share")


@brief
class Violation(NamedTuple):
    """One published row (or file) that breaks the promise.

    It shows nothing of itself: a file that is checked before it is published may name real people.

    Attributes
    ----------
    where : str
        The place in the file, such as ``ratings.csv line 812``.
    row : int or None
        The first of the record's rows, counted from 1 without the header; None for a whole file.
    user_id : str or None
        The published user id.
    problem : str
        What is wrong, in words.
    """

    where: str
    row: int | None
    user_id: str | None
    problem: str

    def _facts(self) -> dict[str, object]:
        return {"": "one row" if self.row is not None else "a whole file"}


class Found(list[Violation]):
    """Violations as they are found: of many the first are kept, and the others counted.

    Examples
    --------
    >>> found = Found()
    >>> found += [Violation("ratings.csv", row, "ann", "stands twice") for row in range(20_000)]
    >>> len(found), found.left_out, found.told()[-1].problem
    (10000, 10000, 'and 10,000 more violations, which are not listed')
    """

    left_out = 0

    def append(self, violation: Violation) -> None:
        """Add one."""
        self.extend([violation])

    def extend(self, violations: Iterable[Violation]) -> None:
        """Add several, one after the other, as they come."""
        for violation in violations:
            if len(self) < MOST_KEPT:
                super().append(violation)
            else:
                self.left_out += 1

    def __iadd__(self, violations: Iterable[Violation]) -> Self:  # type: ignore[override,misc]
        self.extend(violations)
        return self

    @property
    def room(self) -> int:
        """How many more are kept."""
        return MOST_KEPT - len(self)

    def told(self) -> list[Violation]:
        """Return those that were kept, and one that says how many others there are."""
        if not self.left_out:
            return list(self)
        problem = f"and {self.left_out:,} more violations, which are not listed"
        return [*self, Violation("elsewhere", None, None, problem)]


@brief
@dataclass(frozen=True)
class Verification:
    """The verdict over a published file.

    Parameters
    ----------
    claim : str
        What was checked.
    k_required, k_achieved : int
        People that must share each row, and the fewest that do.
    users, records, classes : int
        People, published records, and classes of identical records.
    layout : {"users", "groups", "model"}
        Whether a record stands for one person or says for how many; or whether people are still to
        be drawn.
    compared : sequence of str
        The columns in which records must agree.
    violations : sequence of Violation
        What was found: of more than 10,000 the first, and one that counts the others.
    checksums : dict of str to bool
        For each file of a release, whether it is the one that was written.
    alone : int
        People who share their row with nobody.
    has_levels : bool
        Whether each record says for itself how many people must share it.
    diversity : Diversity or None
        In how many different rows the sets of items stand, if that was asked.
    links : LinkPosterior or None
        How sure the rows make it that a member rated an item of them, if that was asked and they
        do not all hold the same items.
    no_links : str
        Why `links` is None though it was asked for, where the reason is another one.
    not_covered : sequence of str
        What the verdict says nothing of, in sentences: it is the publisher's word, or was not
        compared.
    contains_users : bool
        Whether records are of people in the data. If not, nobody shares a row with anybody, and
        numbers of people who do mean nothing.
    epsilon, delta : float or None
        Of differential privacy, as it is claimed; None if it is not.
    ledger_epsilon : float or None
        What the ledger of the release adds up to, with that delta.
    private_found : sequence of str or None
        What of the private side stands in the release, in sentences that repeat no value; each is
        a violation, too. None if nobody asked.
    """

    claim: str
    k_required: int
    k_achieved: int
    users: int
    records: int
    classes: int
    layout: str
    compared: Sequence[str]
    violations: Sequence[Violation]
    checksums: dict[str, bool] = field(default_factory=dict)
    alone: int = 0
    has_levels: bool = False
    diversity: Diversity | None = None
    links: LinkPosterior | None = None
    no_links: str = ""
    not_covered: Sequence[str] = ()
    contains_users: bool = True
    epsilon: float | None = None
    delta: float | None = None
    ledger_epsilon: float | None = None
    private_found: Sequence[str] | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing at all speaks against the claim."""
        return not self.violations and self.k_achieved >= self.k_required

    def with_private(self, found: Sequence[Violation], not_looked_for: Sequence[str]) -> Self:
        """Return the verdict with what of the private side was found in the release."""
        return replace(
            self,
            violations=[*self.violations, *found],
            private_found=[f"{violation.where}: {violation.problem}" for violation in found],
            not_covered=[*self.not_covered, *not_looked_for],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data, for JSON."""
        return {
            "holds": self.holds,
            "claim": self.claim,
            "k_required": self.k_required if self.contains_users else None,
            "k_achieved": self.k_achieved if self.contains_users else None,
            "users": self.users,
            "records": self.records,
            "classes": self.classes if self.contains_users else None,
            "layout": self.layout,
            "alone": self.alone if self.contains_users else None,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "ledger_epsilon": self.ledger_epsilon,
            "levels": self.has_levels,
            "diversity": self.diversity and self.diversity._asdict(),
            "links": self.links and {name: getattr(self.links, name) for name in _TOLD_OF_LINKS},
            "no_links": self.no_links or None,
            "compared": list(self.compared),
            "not_covered": list(self.not_covered),
            "checksums": self.checksums,
            "private_found": None if self.private_found is None else list(self.private_found),
            "violations": [violation._asdict() for violation in self.violations],
        }

    def _facts(self) -> dict[str, object]:
        verdict = "holds" if self.holds else "does not hold"
        if not self.contains_users:
            told = {"epsilon": self.epsilon, "by its ledger": self.ledger_epsilon}
            about = {"": f"{self.claim} {verdict}", **told, "drawn people": self.users}
            return {**about, "violations": len(self.violations) or None}
        return {
            "": f"{self.claim} {verdict}",
            "k": f"{self.k_achieved:,} ({self.k_required:,} required)",
            "people": self.users,
            "rows": self.records,
            "different": self.classes,
            "violations": len(self.violations) or None,
        }
