"""Earlier: releases of the same people that exist already, and what another one adds to them."""

import json
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError, quoted, reason_of
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
    """

    folder: Path
    people: int
    sha256: str
    problem: str = ""

    def warning(self, output: Path) -> str:
        """Say what two releases tell, and how to measure it."""
        name = quoted(self.folder.name)
        if self.problem:
            return (
                f"beside the output lies the private twin of an earlier release, {name}, that "
                f"cannot be read ({self.problem}); if it is of the same people, publish one of the "
                f"two only"
            )
        if self.folder.resolve() == output.resolve():
            which, measure = f"the release that stood at {name} before", ""
        else:
            which = f"an earlier release, {name}"
            measure = f"; recveil audit --release {output.name} --against {self.folder} measures it"
        return (
            f"{self.people:,} of these people are in {which}, too. Whoever has both can intersect "
            f"their groups, and what either promises holds no more: publish one of the "
            f"two{measure}."
        )

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


def others(earlier: list[Earlier], output: Path) -> list[Earlier]:
    """Leave out those that are the very release that was written: they tell nothing more."""
    own = FileEntry.of(output / MANIFEST).sha256
    return [release for release in earlier if release.sha256 != own]


def _read(twin: Path, wanted: Any) -> Earlier:
    """Count the wanted people in a release."""
    folder = twin.with_name(twin.name.removesuffix(".private"))
    try:
        told = json.loads((twin / PRIVATE_MANIFEST).read_text(encoding="utf-8"))
        users = pq.read_table(twin / ASSIGNMENT, columns=["user_id"])["user_id"]
        people = pc.sum(pc.is_in(wanted, value_set=users.cast(pa.string()).combine_chunks()))
        return Earlier(folder, people.as_py() or 0, told["release"]["sha256"])
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        return Earlier(folder, 0, "", reason_of(error))
