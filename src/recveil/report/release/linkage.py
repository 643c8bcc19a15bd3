"""Warnings about a new release and earlier ones of the same users."""

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from recveil.methods.earlier_releases import Earlier, compose_guarantees
from recveil.publish.history import Promised, each_once
from recveil.release.claim import Claim, claim_kind, of_large_epsilon
from recveil.runtime.errors import quoted
from recveil.runtime.safe_repr import brief

# Number of releases named in full.
_MOST_NAMED = 3


@brief
class _New(NamedTuple):
    """The release that was written."""

    output: Path
    claim: Claim
    ratings_sha256: str | None

    def is_of_same(self, earlier: Earlier) -> bool:
        """Whether the users are known to be the same, since the ratings are."""
        return self.ratings_sha256 is not None and earlier.ratings_sha256 == self.ratings_sha256

    def _facts(self) -> dict[str, object]:
        return {"": self.output.name, "claim": self.claim.kind}


def linkage_warnings(
    earlier: Sequence[Earlier], output: Path, claim: Claim, ratings_sha256: str | None = None
) -> list[str]:
    """Return a warning about a new release and each earlier one.

    Parameters
    ----------
    earlier : sequence of Earlier
        From `find_earlier`.
    output : Path
        The folder of the new release.
    claim : Claim
        The claim of the new release.
    ratings_sha256 : str, optional
        The digest of its ratings.
    """
    new = _New(output, claim, ratings_sha256)
    composed = [each for each in earlier if each.has_ledgers] if claim.ledger else []
    same = [each for each in composed if new.is_of_same(each)]
    warned = {id(each): _describe_sum(composed, new) for each in composed if each not in same}
    warned |= {id(each): _describe_sum(same, new) for each in same}
    return [warned.get(id(each)) or _describe_pair(each, new) for each in earlier]


def _describe_pair(earlier: Earlier, new: _New) -> str:
    """Return the warning for two releases whose guarantees do not compose."""
    if earlier.problem:
        return (
            f"the private folder of an earlier release, {quoted(earlier.folder.name)}, cannot be "
            f"read ({earlier.problem}); if it is of the same users, publish one of the two only"
        )
    in_rows = claim_kind(new.claim.kind).contains_users
    is_in_place = earlier.is_current and not _is_at(earlier, new.output)
    measure = ""
    if is_in_place and earlier.history[0].contains_users and in_rows:
        command = (
            f"recveil audit RATINGS --release {quote(str(new.output))} --second-release "
            f"{quote(str(earlier.folder))}"
        )
        measure = f"; {command} measures it"
    return _describe([earlier], new, f"{_describe_loss(earlier.history, new.claim)}{measure}.")


def _describe_loss(history: Sequence[Promised], claim: Claim) -> str:
    """Return what remains of guarantees that do not compose."""
    if claim_kind(claim.kind).contains_users and any(old.contains_users for old in history):
        return (
            "An adversary with more than one can intersect their equivalence classes, and no claim "
            "holds: publish one of them"
        )
    if claim.ledger or any(old.mu is not None for old in history):
        return (
            "An epsilon covers its own release only, so no epsilon holds for all together: publish "
            "one of them"
        )
    return "No claim covers what the others reveal: publish one of them"


def _describe_sum(earlier: list[Earlier], new: _New) -> str:
    """Return the composed guarantee of synthetic releases."""
    before = each_once(promised for release in earlier for promised in release.history)
    epsilon, delta = compose_guarantees([Promised.of("", new.claim), *before])
    large = of_large_epsilon(epsilon)
    return _describe(
        earlier,
        new,
        f"Privacy losses add up: all {1 + len(before):,} releases of synthetic users together keep "
        f"epsilon {epsilon:.3g} with delta {delta:g}. {large}{' ' * bool(large)}Publish one of "
        f"them, or account for the sum.",
    )


def _describe(earlier: list[Earlier], new: _New, warning: str) -> str:
    """Format which releases contain the users (the first few by name), followed by the warning."""
    are_same = all(map(new.is_of_same, earlier))
    first, *more = [
        (f"{each.n_users:,}" if each.is_current else "perhaps some", _place(each, new.output))
        for each in earlier
    ]
    verb = "users are also" if are_same else "user ids also occur"
    named = [f"{first[0].capitalize()} of these {verb} in {first[1]}"]
    named += [f"{n_users} in {place}" for n_users, place in more[: _MOST_NAMED - 1]]
    if left := len(earlier) - len(named):
        named.append(f"some in {left:,} more")
    if not are_same:
        warning = f"If they are the same users, {warning[0].lower()}{warning[1:]}"
    return f"{'; '.join(named)}. {warning}"


def _place(earlier: Earlier, output: Path) -> str:
    """Format a release's name and the number of releases it replaced."""
    name, n = quoted(earlier.folder.name), len(earlier.history)
    if not earlier.is_current:
        return f"{f'{n:,} releases' if n > 1 else 'the release'} that {name} replaced"
    more = f", and perhaps in {n - 1:,} more that it replaced" if n > 1 else ""
    if _is_at(earlier, output):
        return f"the previous release at {name}{more}"
    return f"an earlier release, {name}{more}"


def _is_at(earlier: Earlier, output: Path) -> bool:
    return earlier.folder.resolve() == output.resolve()
