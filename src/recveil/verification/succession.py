"""Check a release against the one that it follows, from two published folders."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from recveil.release.manifest import (
    CLASSES,
    MANIFEST,
    SUCCESSOR_HEADER,
    FileEntry,
    successor_class_list,
)
from recveil.release.manifest_reader import read_manifest
from recveil.runtime.errors import describe_count
from recveil.runtime.safe_repr import brief
from recveil.verification.equivalence_classes import Classes
from recveil.verification.private_data import PrivateSide, PublishedNames
from recveil.verification.results import Violation

_LINES = re.compile(rb"(?:[0-9a-f]{32},[1-9][0-9]{0,14},(?:[0-9a-f]{32})?\n)+")
_LONGEST_LINE = 100


@brief
class ClassPart(NamedTuple):
    """A line of classes.csv: the users of a class who had one class in the previous release."""

    digest: bytes
    n_users: int
    # Empty for newcomers
    previous: bytes

    def _facts(self) -> dict[str, object]:
        return {"users": self.n_users}


def read_class_parts(folder: Path, most_lines: int | None = None) -> list[ClassPart] | None:
    """Return the lines of classes.csv of a release that follows another one; None if malformed."""
    file = folder / CLASSES
    if most_lines is not None and file.stat().st_size > _LONGEST_LINE * (most_lines + 1):
        return None
    content = file.read_bytes()
    lines = content.removeprefix(SUCCESSOR_HEADER)
    if lines is content or not _LINES.fullmatch(lines):
        return None
    fields = (line.split(",") for line in lines.decode("ascii").splitlines())
    parts = [
        ClassPart(bytes.fromhex(digest), int(n_users), bytes.fromhex(previous))
        for digest, n_users, previous in fields
    ]
    counts = {(part.digest, part.previous): part.n_users for part in parts}
    return parts if successor_class_list(counts) == content else None


def wrong_class_parts(folder: Path, k: int, classes: Classes) -> Iterator[Violation]:
    """Compare classes.csv of a release that follows another one with the classes of the ratings.

    Each class of the previous release is part of one class, and each part has at least k users.
    """
    parts = read_class_parts(folder, classes.users)
    counts: Counter[bytes] = Counter()
    for part in parts or ():
        counts[part.digest] += part.n_users
    if parts is None or counts != classes.user_counts:
        problem = "not the list of the classes of these ratings, line for line"
        yield Violation.of_file(CLASSES, problem)
        return
    n_small = sum(part.n_users < k for part in parts)
    if n_small:
        yield Violation.of_file(
            CLASSES,
            f"{describe_count(n_small, 'line has', 'lines have')} fewer than {k} users: users who "
            f"are distinguishable by what they were in the previous release",
        )
    named = Counter(part.previous for part in parts if part.previous)
    if n_split := sum(n > 1 for n in named.values()):
        yield Violation.of_file(
            CLASSES, f"{describe_count(n_split, 'class', 'classes')} of the previous release split"
        )


def problems_against(folder: Path, previous: Path) -> Iterator[str]:
    """Report why a release does not continue the classes of another one, which keeps its claim."""
    manifest, _ = read_manifest(folder / MANIFEST)
    old, _ = read_manifest(previous / MANIFEST)
    if not manifest.previous:
        yield "it states no previous release, so its classes are others"
        return
    if manifest.previous != FileEntry.of(previous / MANIFEST).sha256:
        yield "it follows another release (SHA-256 of release.json)"
        return
    if (manifest.claim.kind, manifest.claim.k) != (old.claim.kind, old.claim.k):
        yield (
            f"it claims {manifest.claim.kind} with k = {manifest.claim.k}, but the previous "
            f"release {old.claim.kind} with k = {old.claim.k}"
        )
    parts = read_class_parts(folder) or []  # otherwise its own violation
    classes: Counter[str] = Counter()
    for line in (previous / CLASSES).read_text("ascii").splitlines()[1:]:
        digest, n_users, *_ = line.split(",")
        classes[digest] += int(n_users)
    counts = {part.previous.hex(): part.n_users for part in parts if part.previous}
    if n_lost := len(classes.keys() - counts.keys()):
        yield f"it lacks {describe_count(n_lost, 'class', 'classes')} of the previous release"
    if n_unknown := len(counts.keys() - classes.keys()):
        of = describe_count(n_unknown, "class", "classes")
        yield f"it names {of} that the previous release does not have"
    both = counts.keys() & classes.keys()
    if n_other := sum(counts[digest] != classes[digest] for digest in both):
        yield (
            f"{describe_count(n_other, 'class has', 'classes have')} another number of rows than "
            f"in the previous release"
        )


def classes_of_users(side: PrivateSide, names: PublishedNames) -> dict[str, bytes | None]:
    """Return the digest of the class of each user; None for one without a record."""
    class_of = dict(zip(names.user_ids, names.shared, strict=True))
    pairs = zip(side.users, side.records, strict=True)
    return {str(user): class_of.get(record or "") for user, record in pairs}


def count_moved(
    folder: Path, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> int:
    """Count the users of the previous release who are not in the class that continues theirs."""
    parts = read_class_parts(folder) or []
    next_of = {part.previous: part.digest for part in parts if part.previous}
    return sum(
        digest is None or after.get(user) is None or after[user] != next_of.get(digest)
        for user, digest in before.items()
    )
