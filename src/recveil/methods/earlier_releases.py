"""Find earlier releases of the same users."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.publish.history import Promised, describe_history
from recveil.release.manifest import MANIFEST, PRIVATE_MANIFEST, FileEntry, private_folder
from recveil.release.private_folder import assignment_files, read_assignment
from recveil.release.sides import Sides
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError, quoted, reason_of
from recveil.runtime.reportable import reporter_of
from recveil.runtime.safe_repr import brief


@brief
class Earlier(NamedTuple):
    """An earlier release, read from its private folder."""

    # The published folder, which need not exist; its private folder does
    folder: Path
    # Number of the users to anonymize that this release also contains
    n_users: int
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
    def has_ledgers(self) -> bool:
        """Whether all releases of the history have a ledger, so that they compose."""
        return bool(self.history) and all(promised.mu is not None for promised in self.history)

    @property
    def is_current(self) -> bool:
        """Whether the release itself has some of the users, not only those that it replaced."""
        return bool(self.history) and self.history[0].sha256 == self.sha256

    def _facts(self) -> dict[str, object]:
        return {"": self.folder.name, "users": self.n_users}


# Counts the sought users in the given files of a private folder.
Count = Callable[[Path, list[str]], int]


def count_here(users: NDArray[Any]) -> Count:
    """Return a function that counts users in a private folder, in this process."""
    wanted = pa.array(users).cast(pa.string())

    def count(private: Path, files: list[str]) -> int:
        there = read_assignment(private, files, ["user_id"])["user_id"].unique()
        return pc.sum(pc.is_in(wanted, value_set=there.cast(pa.string()))).as_py() or 0

    return count


def find_earlier(
    users: NDArray[Any] | Count, output: Path, named: str | PathLike[str] | None = None
) -> list[Earlier]:
    """Return earlier releases of some users next to an output, and at a given path.

    All private folders next to the output are searched, including that of an older release at the
    same path, and the private folder of `named`, or `named` itself. Unreadable ones are returned.
    """
    private = None if named is None else _private_of(Path(named))
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


def _private_of(named: Path) -> Path:
    return named.resolve() if (named / PRIVATE_MANIFEST).is_file() else private_folder(named)


def find_linkage(release: Sides, output: Path) -> Callable[[], list[str]]:
    """Raise for a branch of a series; return a function that warns once the release is written."""
    private, claim = release.private, release.published.claim
    series, releases = private.continuation, tuple[str, ...]()
    if series is not None:
        releases = series.releases
        reject_branch(series.folder, releases[-1], output)
    earlier = without(find_earlier(private.users, output), releases)

    if private.record_output is not None:  # the ledger's warning has what these spent
        earlier = [each for each in earlier if not each.has_ledgers]

    def describe() -> list[str]:
        reporter, left = reporter_of(release), others(earlier, output)
        found = reporter.linkage_warnings(left, output, claim, private.ratings_sha256)
        return list(reporter.first_of(found))

    return describe


def reject_branch(previous: Path, sha256: str, output: Path) -> None:
    """Raise a RecveilError if a release next to the previous one or the output follows it, too."""
    for folder in followers(previous, sha256, output.resolve().parent):
        if folder != output.resolve():
            raise RecveilError(
                f"previous (--previous): {folder.name} follows {quoted(previous.name)} already, "
                f"and two releases that follow the same one may leave users alone; give --previous "
                f"{folder.name}.private, or delete it if it was never published",
                code="release.followed",
            )


def followers(release: Path, sha256: str, *others: Path) -> Iterator[Path]:
    """Yield the releases that follow one, next to it and in other folders."""
    folders = {release.resolve().parent, *others}
    for file in sorted(file for folder in folders for file in folder.glob(f"*/{MANIFEST}")):
        with suppress(OSError, ValueError, AttributeError):
            if json.loads(read_whole(file).decode()).get("previous") == sha256:
                yield file.parent


def history_of(earlier: Iterable[Earlier]) -> list[Promised]:
    """Return the claims of all releases."""
    return [promised for release in earlier for promised in release.history]


def others(earlier: list[Earlier], output: Path) -> list[Earlier]:
    """Remove the release that was just written."""
    return without(earlier, [FileEntry.of(output / MANIFEST).sha256])


def without(earlier: list[Earlier], digests: Collection[str]) -> list[Earlier]:
    """Remove the releases with these digests of release.json."""
    found = []
    for release in earlier:
        left = tuple(each for each in release.history if each.sha256 not in digests)
        if left or release.problem:
            found.append(release._replace(history=left))
    return found


def _read(private: Path, count: Count) -> Earlier:
    """Count the sought users in a release."""
    folder = private.with_name(private.name.removesuffix(".private"))
    try:
        manifest = json.loads(read_whole(private / PRIVATE_MANIFEST).decode())
        n_users = count(private, assignment_files(manifest))
        sha256 = manifest["release"]["sha256"]
        history = describe_history(manifest, folder)
        if not n_users:
            history = tuple(each for each in history if each.sha256 != sha256)
        return Earlier(folder, n_users, sha256, "", history, manifest.get("ratings_sha256"))
    except (
        pa.ArrowException,
        AttributeError,
        KeyError,
        OSError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        return Earlier(folder, 0, "", reason_of(error))
