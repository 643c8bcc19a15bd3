"""Earlier: releases of the same people that exist already, and what another one adds to them."""

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

# So many places are named one by one; and from that delta on, nothing is promised.
_MOST_NAMED, _NO_DELTA = 3, 0.5


@brief
class Earlier(NamedTuple):
    """A release that was made before, as its private twin tells.

    Attributes
    ----------
    folder : Path
        The published folder, which may be gone; its private twin is there.
    people : int
        How many of the people who are anonymized now are in it, too.
    sha256 : str
        Of its release.json.
    problem : str
        Why its people could not be read; "" if they could.
    history : tuple of Promised
        What it promises, and those that stood at its place before; who was in these, no file tells
        any more. Without itself, if nobody of these people is in it.
    ratings_sha256 : str or None
        Of what it was made from, if that is told. Of other ratings, equal ids may be of others.
    """

    folder: Path
    people: int
    sha256: str
    problem: str = ""
    history: tuple[Promised, ...] = ()
    ratings_sha256: str | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether all that stood there has a ledger, so that it can be added up."""
        return bool(self.history) and all(promised.mu is not None for promised in self.history)

    @property
    def counts(self) -> bool:
        """Whether the release itself tells something more, and not those alone that it replaced."""
        return bool(self.history) and self.history[0].sha256 == self.sha256

    def _facts(self) -> dict[str, object]:
        return {"": self.folder.name, "people": self.people}


# Counts how many of the wanted people are in the private twin whose files are given.
Count = Callable[[Path, list[str]], int]


def count_here(users: NDArray[Any]) -> Count:
    """Return what counts how many of some people are in a private twin, in this process."""
    wanted = pa.array(users).cast(pa.string())

    def count(twin: Path, files: list[str]) -> int:
        there = read_assignment(twin, files, ["user_id"])["user_id"].unique()
        return pc.sum(pc.is_in(wanted, value_set=there.cast(pa.string()))).as_py() or 0

    return count


def warnings_of(
    earlier: Sequence[Earlier], output: Path, claim: Claim, ratings_sha256: str | None = None
) -> list[str]:
    """Say what a new release tells together with each earlier one, and how to measure it.

    Parameters
    ----------
    earlier : sequence of Earlier
        As `others` returns them.
    output : Path
        The published folder that was written.
    claim : Claim
        What that one promises.
    ratings_sha256 : str, optional
        Of what it was made from. Where an earlier one was made from the same ratings, its people
        are the same; else only their ids are known to be.

    Returns
    -------
    list of str
        One for each. Releases with a ledger share one, as what they tell adds up: those made from
        the same ratings, and all, in case that the ids of the others are the same people.

    Examples
    --------
    >>> from recveil.release.ledger import Ledger, Query
    >>> ledger = Ledger((Query("sums", "of items", 1.0, 2.0, 9),))
    >>> claim = Claim("differentially-private", 1, False, 1, 1, 2.27, 1e-6, ledger)
    >>> promised = Promised.of("9c1f", claim)
    >>> march = Earlier(Path("march"), 12, "9c1f", "", (promised,), "77d0")
    >>> warnings_of([march], Path("april"), claim, "77d0")[0][:61]
    "12 of these people are in an earlier release, 'march', too. W"
    >>> warnings_of([march], Path("april"), claim, "03ff")[0][:61]
    "12 ids of these people stand in an earlier release, 'march', "
    """
    new = _New(output, claim, ratings_sha256)
    drawn = [each for each in earlier if each.is_drawn] if claim.ledger else []
    same = [each for each in drawn if new.is_of_same(each)]
    told = {id(each): _add_up(drawn, new) for each in drawn if each not in same}
    told |= {id(each): _add_up(same, new) for each in same}
    return [told.get(id(each)) or _warn(each, new) for each in earlier]


@brief
class _New(NamedTuple):
    """What is said of the release that was written."""

    output: Path
    claim: Claim
    ratings_sha256: str | None

    def is_of_same(self, earlier: Earlier) -> bool:
        """Whether the people are known to be the same, as the ratings are; ids may be anybody's."""
        return self.ratings_sha256 is not None and earlier.ratings_sha256 == self.ratings_sha256

    def _facts(self) -> dict[str, object]:
        return {"": self.output.name, "claim": self.claim.kind}


def _warn(earlier: Earlier, new: _New) -> str:
    """Say what a release and another one tell whose promises do not add up."""
    if earlier.problem:
        return (
            f"beside the output lies the private twin of an earlier release, "
            f"{quoted(earlier.folder.name)}, that cannot be read ({earlier.problem}); if it is of "
            f"the same people, publish one of the two only"
        )
    in_rows = claim_kind(new.claim.kind).contains_users
    stands = earlier.counts and not _is_at(earlier, new.output)
    measure = ""
    if stands and earlier.history[0].contains_users and in_rows:
        measure = (
            f"; recveil audit --release {new.output.name} --against {earlier.folder} measures it"
        )
    return _said([earlier], new, f"{_all_tell(earlier.history, new.claim)}{measure}.")


def _all_tell(history: Sequence[Promised], claim: Claim) -> str:
    """Say what is left of promises that do not add up, once all releases are known."""
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
    """Say what all drawn releases promise together: whoever has all of them has all their noise."""
    before = each_once(promised for release in earlier for promised in release.history)
    epsilon, delta = _together([Promised.of("", new.claim), *before])
    large = of_large_epsilon(epsilon)
    return _said(
        earlier,
        new,
        f"What releases of drawn people tell of whoever is in all of them adds up: all "
        f"{1 + len(before):,} together keep epsilon {epsilon:.3g} with delta {delta:g}. "
        f"{large}{' ' * bool(large)}Publish one of them, or answer for the sum.",
    )


def _together(history: list[Promised]) -> tuple[float, float]:
    """Return epsilon and delta of all queries of some releases, as if they were one.

    The names of items are given away in any of them with the sum of their probabilities: delta is
    doubled until that is less. Where nothing is left to be promised, epsilon is infinite.
    """
    delta = max(promised.delta or 0.0 for promised in history)
    threshold = math.fsum(promised.threshold_delta or 0.0 for promised in history)
    while threshold >= delta:
        delta *= 2
    if delta >= _NO_DELTA:
        return math.inf, delta
    mu = total_mu(promised.mu or 0.0 for promised in history)
    return epsilon_of(mu, delta_left(delta, threshold)), delta


def _said(earlier: list[Earlier], new: _New, told: str) -> str:
    """Say who is in which releases (of many, in the first few), and then what they tell."""
    are_same = all(map(new.is_of_same, earlier))
    first, *more = [
        (f"{each.people:,}" if each.counts else "perhaps some", _place(each, new.output))
        for each in earlier
    ]
    stand = "of these people are" if are_same else "ids of these people stand"
    named = [f"{first[0].capitalize()} {stand} in {first[1]}"]
    named += [f"{people} in {place}" for people, place in more[: _MOST_NAMED - 1]]
    if left := len(earlier) - len(named):
        named.append(f"some in {left:,} more")
    if not are_same:
        told = f"If they are the same people, {told[0].lower()}{told[1:]}"
    return f"{'; '.join(named)}, too. {told}"


def _place(earlier: Earlier, output: Path) -> str:
    """Name a release, and say how many others stood at its place before."""
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
    users: NDArray[Any] | Count, output: Path, against: str | PathLike[str] | None = None
) -> list[Earlier]:
    """Look for earlier releases of some people: beside an output, and where somebody says.

    Parameters
    ----------
    users : ndarray, shape (n_users,), or callable
        The ids of the people who are to be anonymized, or what counts them in a private twin.
    output : Path
        The folder to be written; all private twins in the same folder are looked at, that of an
        older release at its place, too.
    against : path, optional
        The published folder of an earlier release elsewhere.

    Returns
    -------
    list of Earlier
        Those that hold somebody of these people, and those that cannot be read; by name.

    Raises
    ------
    RecveilError
        If `against` has no private twin that can be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.methods import PredictiveAnonymizer
    >>> from recveil.datasets import make_ratings
    >>> ratings = make_ratings(n_users=20, n_items=30, n_ratings=200, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     release = PredictiveAnonymizer(k=5, seed=1).anonymize(ratings)
    ...     _ = release.write(Path(folder, "march"))
    ...     found = find_earlier(ratings.users[:12], Path(folder, "april"))
    >>> [(earlier.folder.name, earlier.people) for earlier in found]
    [('march', 12)]
    """
    named = None if against is None else private_twin(Path(against))
    twins = {
        file.parent.resolve() for file in output.resolve().parent.glob(f"*/{PRIVATE_MANIFEST}")
    }
    count = users if callable(users) else count_here(users)
    found = []
    for twin in sorted(twins | ({named} if named else set())):
        earlier = _read(twin, count)
        if twin == named and earlier.problem:
            raise RecveilError(
                f"against (--against) is {quoted(str(against))}: its private twin {twin.name} "
                f"cannot be read ({earlier.problem}); it tells whether the people are the same",
                code="private.damaged",
            )
        if earlier.history or earlier.problem:
            found.append(earlier)
    return found


def others(earlier: list[Earlier], output: Path) -> list[Earlier]:
    """Leave out the very release that was written: once more, it tells nothing more."""
    own = FileEntry.of(output / MANIFEST).sha256
    found = []
    for release in earlier:
        left = tuple(each for each in release.history if each.sha256 != own)
        if left or release.problem:
            found.append(release._replace(history=left))
    return found


def _read(twin: Path, count: Count) -> Earlier:
    """Count the wanted people in a release."""
    folder = twin.with_name(twin.name.removesuffix(".private"))
    try:
        told = json.loads(read_whole(twin / PRIVATE_MANIFEST).decode())
        people = count(twin, assignment_files(told))
        sha256 = told["release"]["sha256"]
        history = describe_history(told, folder)
        if not people:
            history = tuple(each for each in history if each.sha256 != sha256)
        return Earlier(folder, people, sha256, "", history, told.get("ratings_sha256"))
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        return Earlier(folder, 0, "", reason_of(error))
