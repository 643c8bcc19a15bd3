"""Verdicts, their violations and their limits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief
from recveil.verification.diversity import Diversity
from recveil.verification.link_posterior import LinkPosterior

# Limit of listed violations: each takes some hundred bytes, and a small file may hold millions.
MOST_KEPT = 10_000


@brief
class Violation(NamedTuple):
    """A published row or file that violates the claim.

    It repeats no content, since a file that is checked before publication may contain real names.

    Attributes
    ----------
    where : str
        The location in the file, such as ``ratings.csv line 812``.
    row : int or None
        The first of the record's rows, counted from 1 without the header; None for a whole file.
    user_id : str or None
        The published user id.
    problem : str
        The problem, in words.
    """

    where: str
    row: int | None
    user_id: str | None
    problem: str

    @classmethod
    def of_file(cls, name: str, problem: str) -> Self:
        """Return the violation of a whole file."""
        return cls(name, None, None, problem)

    def _facts(self) -> dict[str, object]:
        return {"": "one row" if self.row is not None else "a whole file"}


@brief
class Limit(NamedTuple):
    """What a verdict does not cover: what the publisher states, or what was not compared.

    Attributes
    ----------
    code : str
        Such as "group-sizes" or "parquet-encoding".
    values : tuple
        Counts and names of the sentence that `recveil.report` makes of it. Of "method", the
        sentence of the method itself.
    """

    code: str
    values: tuple[object, ...] = ()

    def _facts(self) -> dict[str, object]:
        return {"": self.code}


class Violations(list[Violation]):
    """A list of violations that keeps the first ones and counts the rest."""

    left_out = 0

    def append(self, violation: Violation) -> None:
        """Add one violation."""
        self.extend([violation])

    def extend(self, violations: Iterable[Violation]) -> None:
        """Add violations from an iterable."""
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
        """Return how many more violations are kept."""
        return MOST_KEPT - len(self)

    def to_list(self) -> list[Violation]:
        """Return the kept violations, followed by one that counts the rest."""
        if not self.left_out:
            return list(self)
        problem = f"{self.left_out:,} more violations, which are not listed"
        return [*self, Violation.of_file("elsewhere", problem)]


@brief
@dataclass(frozen=True)
class Verification(Reportable):
    """The verdict over a published file.

    Parameters
    ----------
    claim : str
        The checked claim.
    k_required, k_achieved : int
        The required and the actual minimum number of users per row.
    users, records, classes : int
        Numbers of users, published records, and equivalence classes.
    layout : {"users", "groups", "model"}
        Whether a record is one user or a group with its size, or the release is a model.
    compared : sequence of str
        The columns in which records must agree.
    violations : sequence of Violation
        Of more than 10,000, the first ones and one that counts the rest.
    checksums : dict of str to bool
        For each file of a release, whether its checksum matches.
    singletons : int
        Number of equivalence classes of a single user.
    has_levels : bool
        Whether each record states how many users must share it.
    diversity : Diversity or None
        In how many different rows the sets of items occur, if requested.
    value_limits : str or None
        The limits of diversity and closeness that the release states, if values, or the ratings
        behind means, were counted.
    links : LinkPosterior or None
        Probability that a member rated an item of the row, if requested and the rows do not all
        hold the same items.
    no_links : Limit or None
        Why `links` is None though requested, where there is another reason.
    not_covered : sequence of Limit
        What the verdict does not cover.
    contains_users : bool
        Whether records belong to users in the data. If not, no user shares a row.
    epsilon, delta : float or None
        The claimed differential privacy; None if not claimed.
    ledger_epsilon : float or None
        The sum of the release's ledger at that delta.
    n_continued : int or None
        The number of classes of the previous release, if it was compared.
    attributes : dict of str to int, or None
        For how many users each attribute is published, if any is.
    attribute_l : int
        No sensitive value has more than 1 / attribute_l of a class; 1 without one.
    k_claimed : int or None
        The k that a release claims and keeps, if only a stricter requirement fails.
    private_found : sequence of str or None
        The violations about private data, in sentences without values; None if not requested.
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
    singletons: int = 0
    has_levels: bool = False
    diversity: Diversity | None = None
    links: LinkPosterior | None = None
    no_links: Limit | None = None
    not_covered: Sequence[Limit] = ()
    contains_users: bool = True
    epsilon: float | None = None
    delta: float | None = None
    ledger_epsilon: float | None = None
    private_found: Sequence[str] | None = None
    value_limits: str | None = None
    n_continued: int | None = None
    attributes: dict[str, int] | None = None
    attribute_l: int = 1
    k_claimed: int | None = None

    @property
    def holds(self) -> bool:
        """Whether what is required holds: no row or file violates it."""
        return not self.violations and self.k_achieved >= self.k_required

    @property
    def k(self) -> int:
        """The smallest number of users who share a row, `k_achieved`; 0 for synthetic users."""
        return self.k_achieved

    def __bool__(self) -> bool:
        """Return whether the claim holds."""
        return self.holds

    def with_private(self, found: Sequence[Violation], limits: Sequence[Limit]) -> Self:
        """Return the verdict with the result of the search for private data."""
        return replace(
            self,
            violations=[*self.violations, *found],
            private_found=[f"{violation.where}: {violation.problem}" for violation in found],
            not_covered=[*self.not_covered, *limits],
        )
