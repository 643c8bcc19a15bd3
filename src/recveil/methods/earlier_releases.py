"""Find earlier releases of the same users, and warn of what they disclose together."""

import json
import math
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.publish.history import Promised, describe_history, each_once
from recveil.release.claim import Claim, claim_kind, of_large_epsilon
from recveil.release.ledger import delta_left, epsilon_of, total_mu
from recveil.release.manifest import MANIFEST, PRIVATE_MANIFEST, FileEntry, private_twin
from recveil.release.private_folder import assignment_files, read_assignment
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError, quoted, reason_of
from recveil.runtime.safe_repr import brief

# Number of releases named in full; delta from which nothing is guaranteed.
_MOST_NAMED, _NO_DELTA = 3, 0.5


@brief
class Earlier(NamedTuple):
    """An earlier release, read from its private folder."""

    # The published folder, which need not exist; its private folder does
    folder: Path
    # Number of the users to anonymize that this release also contains
    people: int
    # Digest of its release.json
    sha256: str
    # Why its users could not be read; "" if they could
    problem: str = ""
    # Its claim, and those of the releases it replaced, whose users are no longer recorded. Without
    # its own claim if it contains none of these users.
    history: tuple[Promised, ...] = ()
    # Digest of its ratings, if recorded. In releases of other ratings, equal ids may be other
    # users.
    ratings_sha256: str | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether all releases of the history have a ledger, so that they compose."""
        return bool(self.history) and all(promised.mu is not None for promised in self.history)

    @property
    def counts(self) -> bool:
        """Whether the release itself discloses more, not only those that it replaced."""
        return bool(self.history) and self.history[0].sha256 == self.sha256

    def _facts(self) -> dict[str, object]:
        return {"": self.folder.name, "people": self.people}


# Counts the sought users in the given files of a private folder.
Count = Callable[[Path, list[str]], int]


def count_here(users: NDArray[Any]) -> Count:
    """Return a function that counts users in a private folder, in this process."""
    wanted = pa.array(users).cast(pa.string())

    def count(twin: Path, files: list[str]) -> int:
        there = read_assignment(twin, files, ["user_id"])["user_id"].unique()
        return pc.sum(pc.is_in(wanted, value_set=there.cast(pa.string()))).as_py() or 0

    return count


def warnings_of(
    earlier: Sequence[Earlier], output: Path, claim: Claim, ratings_sha256: str | None = None
) -> list[str]:
    """Return warnings about a new release and each earlier one, with how to measure the linkage."""
    new = _New(output, claim, ratings_sha256)
    drawn = [each for each in earlier if each.is_drawn] if claim.ledger else []
    same = [each for each in drawn if new.is_of_same(each)]
    warned = {id(each): _add_up(drawn, new) for each in drawn if each not in same}
    warned |= {id(each): _add_up(same, new) for each in same}
    return [warned.get(id(each)) or _warn(each, new) for each in earlier]


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


def _warn(earlier: Earlier, new: _New) -> str:
    """Return the warning for two releases whose guarantees do not compose."""
    if earlier.problem:
        return (
            f"beside the output lies the private twin of an earlier release, "
            f"{quoted(earlier.folder.name)}, that cannot be read ({earlier.problem}); if it is of "
            f"the same people, publish one of the two only"
        )
    in_rows = claim_kind(new.claim.kind).contains_users
    is_in_place = earlier.counts and not _is_at(earlier, new.output)
    measure = ""
    if is_in_place and earlier.history[0].contains_users and in_rows:
        command = f"recveil audit --release {new.output.name} --second-release {earlier.folder}"
        measure = f"; {command} measures it"
    return _warning([earlier], new, f"{_joint_loss(earlier.history, new.claim)}{measure}.")


def _joint_loss(history: Sequence[Promised], claim: Claim) -> str:
    """Return what remains of guarantees that do not compose, if the adversary has all releases."""
    if claim_kind(claim.kind).contains_users and any(old.contains_users for old in history):
        return (
            "Whoever has more than one can intersect their groups, and what each promises holds "
            "no more: publish one of them"
        )
    if claim.ledger or any(old.mu is not None for old in history):
        return (
            "An epsilon counts what its own release tells, and nothing of what another does, so "
            "that for all together no epsilon holds: publish one of them"
        )
    return "None counts what another tells of them: publish one of them"


def _add_up(earlier: list[Earlier], new: _New) -> str:
    """Return the composed guarantee of synthetic releases."""
    before = each_once(promised for release in earlier for promised in release.history)
    epsilon, delta = _together([Promised.of("", new.claim), *before])
    large = of_large_epsilon(epsilon)
    return _warning(
        earlier,
        new,
        f"What releases of drawn people tell of whoever is in all of them adds up: all "
        f"{1 + len(before):,} together keep epsilon {epsilon:.3g} with delta {delta:g}. "
        f"{large}{' ' * bool(large)}Publish one of them, or answer for the sum.",
    )


def _together(history: list[Promised]) -> tuple[float, float]:
    """Return epsilon and delta of all queries of some releases, as if they were one.

    The probabilities that thresholds fail add up: delta is doubled until it exceeds their sum.
    Epsilon is infinite if no guarantee remains.
    """
    delta = max(promised.delta or 0.0 for promised in history)
    threshold = math.fsum(promised.threshold_delta or 0.0 for promised in history)
    while threshold >= delta:
        delta *= 2
    if delta >= _NO_DELTA:
        return math.inf, delta
    mu = total_mu(promised.mu or 0.0 for promised in history)
    return epsilon_of(mu, delta_left(delta, threshold)), delta


def _warning(earlier: list[Earlier], new: _New, warning: str) -> str:
    """Format which releases contain the users (the first few by name), followed by the warning."""
    are_same = all(map(new.is_of_same, earlier))
    first, *more = [
        (f"{each.people:,}" if each.counts else "perhaps some", _place(each, new.output))
        for each in earlier
    ]
    verb = "of these people are" if are_same else "ids of these people stand"
    named = [f"{first[0].capitalize()} {verb} in {first[1]}"]
    named += [f"{n_users} in {place}" for n_users, place in more[: _MOST_NAMED - 1]]
    if left := len(earlier) - len(named):
        named.append(f"some in {left:,} more")
    if not are_same:
        warning = f"If they are the same people, {warning[0].lower()}{warning[1:]}"
    return f"{'; '.join(named)}, too. {warning}"


def _place(earlier: Earlier, output: Path) -> str:
    """Format a release's name and the number of releases it replaced."""
    name, n = quoted(earlier.folder.name), len(earlier.history)
    if not earlier.counts:
        return f"{f'{n:,} releases' if n > 1 else 'the release'} that stood at {name} before"
    more = f", and perhaps in {n - 1:,} more that stood there" if n > 1 else ""
    if _is_at(earlier, output):
        return f"the release that stood at {name} before{more}"
    return f"an earlier release, {name}{more}"


def _is_at(earlier: Earlier, output: Path) -> bool:
    return earlier.folder.resolve() == output.resolve()


def find_earlier(
    users: NDArray[Any] | Count, output: Path, named: str | PathLike[str] | None = None
) -> list[Earlier]:
    """Return earlier releases of some users next to an output, and at a given path.

    Parameters
    ----------
    users : ndarray, shape (n_users,), or callable
        The ids of the users to anonymize, or a function that counts them in a private folder.
    output : Path
        The folder to write. All private folders of its parent are searched, including that of an
        older release at the same path.
    named : path, optional
        The published folder of an earlier release elsewhere.

    Returns
    -------
    list of Earlier
        Releases with some of these users, and unreadable ones; by name.
    """
    private = None if named is None else private_twin(Path(named))
    folders = {
        file.parent.resolve() for file in output.resolve().parent.glob(f"*/{PRIVATE_MANIFEST}")
    }
    count = users if callable(users) else count_here(users)
    found = []
    for folder in sorted(folders | ({private} if private else set())):
        earlier = _read(folder, count)
        if folder == private and earlier.problem:
            raise RecveilError(
                f"earlier_release (--earlier-release) is {quoted(str(named))}: its private folder "
                f"{folder.name} cannot be read ({earlier.problem}); it has the ids of its users",
                code="private.damaged",
            )
        if earlier.history or earlier.problem:
            found.append(earlier)
    return found


def others(earlier: list[Earlier], output: Path) -> list[Earlier]:
    """Remove the release that was just written."""
    current = FileEntry.of(output / MANIFEST).sha256
    found = []
    for release in earlier:
        left = tuple(each for each in release.history if each.sha256 != current)
        if left or release.problem:
            found.append(release._replace(history=left))
    return found


def _read(twin: Path, count: Count) -> Earlier:
    """Count the sought users in a release."""
    folder = twin.with_name(twin.name.removesuffix(".private"))
    try:
        manifest = json.loads(read_whole(twin / PRIVATE_MANIFEST).decode())
        n_users = count(twin, assignment_files(manifest))
        sha256 = manifest["release"]["sha256"]
        history = describe_history(manifest, folder)
        if not n_users:
            history = tuple(each for each in history if each.sha256 != sha256)
        return Earlier(folder, n_users, sha256, "", history, manifest.get("ratings_sha256"))
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        return Earlier(folder, 0, "", reason_of(error))
