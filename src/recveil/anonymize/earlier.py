"""Earlier: releases of the same people that exist already, and what another one adds to them."""

import json
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.decoding import decoded_table
from recveil.devices import read_whole, refuse_devices
from recveil.errors import RecveilError, quoted, reason_of
from recveil.release.claim import Claim, claim_kind
from recveil.release.form import read_manifest
from recveil.release.ledger import Ledger, delta_left, epsilon_of, total_mu
from recveil.release.manifest import (
    ASSIGNMENT,
    MANIFEST,
    PRIVATE_MANIFEST,
    FileEntry,
    private_twin,
)


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
    claim : Claim, optional
        What it promises; None if the published folder is gone, or is none.
    """

    folder: Path
    people: int
    sha256: str
    problem: str = ""
    claim: Claim | None = None

    def warning(self, output: Path, claim: Claim) -> str:
        """Say what two releases tell, and how to measure it.

        Parameters
        ----------
        output : Path
            The published folder that was written.
        claim : Claim
            What that one promises.
        """
        name = quoted(self.folder.name)
        if self.problem:
            return (
                f"beside the output lies the private twin of an earlier release, {name}, that "
                f"cannot be read ({self.problem}); if it is of the same people, publish one of the "
                f"two only"
            )
        stood_here = self.folder.resolve() == output.resolve()
        which = (
            f"the release that stood at {name} before"
            if stood_here
            else f"an earlier release, {name}"
        )
        told = _both_tell(self.claim, claim)
        measure = ""
        if not stood_here and _in_rows(self.claim) and _in_rows(claim):
            measure = f"; recveil audit --release {output.name} --against {self.folder} measures it"
        return f"{self.people:,} of these people are in {which}, too. {told}{measure}."

    def _facts(self) -> dict[str, object]:
        return {"": self.folder.name, "people": self.people}


def find_earlier(
    users: NDArray[Any], output: Path, against: str | PathLike[str] | None = None
) -> list[Earlier]:
    """Look for earlier releases of some people: beside an output, and where somebody says.

    Parameters
    ----------
    users : ndarray, shape (n_users,)
        The ids of the people who are to be anonymized.
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
    >>> from recveil.anonymize import PredictiveAnonymizer
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
    wanted = pa.array(users).cast(pa.string())
    found = []
    for twin in sorted(twins | ({named} if named else set())):
        earlier = _read(twin, wanted)
        if twin == named and earlier.problem:
            raise RecveilError(
                f"against (--against) is {quoted(str(against))}: its private twin {twin.name} "
                f"cannot be read ({earlier.problem}); it tells whether the people are the same"
            )
        if earlier.people or earlier.problem:
            found.append(earlier)
    return found


def _in_rows(claim: Claim | None) -> bool:
    """Tell whether its records are of people, as is supposed where the release is gone."""
    return claim is None or claim_kind(claim.kind).holds_people


def _both_tell(old: Claim | None, new: Claim) -> str:
    """Say what is left of two promises once both releases are known."""
    ledgers = [claim.ledger for claim in (old, new) if claim is not None and claim.ledger]
    if len(ledgers) == 2:
        epsilon, delta = _together(ledgers, [claim.delta for claim in (old, new) if claim])
        return (
            f"What two such releases tell adds up: both together keep epsilon {epsilon:.3g} with "
            f"delta {delta:g}. Publish one of the two, or answer for the sum"
        )
    if _in_rows(old) and _in_rows(new):
        return (
            "Whoever has both can intersect their groups, and what either promises holds no more: "
            "publish one of the two"
        )
    if ledgers:
        return (
            "Its epsilon counts what the drawn release tells, and nothing of what the other does, "
            "so that for both together no epsilon holds: publish one of the two"
        )
    return "Neither counts what the other tells of them: publish one of the two"


def _together(ledgers: list[Ledger], deltas: list[float | None]) -> tuple[float, float]:
    """Return epsilon and delta of all queries of some releases, as if they were one."""
    delta = max(delta or 0.0 for delta in deltas)
    threshold = sum(ledger.threshold_delta for ledger in ledgers)
    delta = delta if threshold < delta else 2 * delta
    mu = total_mu(ledger.mu for ledger in ledgers)
    return epsilon_of(mu, delta_left(delta, threshold)), delta


def others(earlier: list[Earlier], output: Path) -> list[Earlier]:
    """Leave out those that are the very release that was written: they tell nothing more."""
    own = FileEntry.of(output / MANIFEST).sha256
    return [release for release in earlier if release.sha256 != own]


def _read(twin: Path, wanted: Any) -> Earlier:
    """Count the wanted people in a release."""
    folder = twin.with_name(twin.name.removesuffix(".private"))
    try:
        refuse_devices(twin / ASSIGNMENT)
        told = json.loads(read_whole(twin / PRIVATE_MANIFEST).decode())
        users = decoded_table(twin / ASSIGNMENT, columns=["user_id"])["user_id"].unique()
        people = pc.sum(pc.is_in(wanted, value_set=users.cast(pa.string())))
        sha256 = told["release"]["sha256"]
        return Earlier(folder, people.as_py() or 0, sha256, claim=_claim_of(folder, sha256))
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        return Earlier(folder, 0, "", reason_of(error))


def _claim_of(folder: Path, sha256: str) -> Claim | None:
    """Read what a published folder promises, if it is the one that its private twin is of."""
    try:
        if FileEntry.of(folder / MANIFEST).sha256 != sha256:
            return None
        return read_manifest(folder / MANIFEST)[0].claim
    except (OSError, RecveilError):
        return None
