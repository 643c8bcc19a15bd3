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
from recveil.release.reader import read_attributes
from recveil.release.user_table import SUPPRESSED
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


def changed_attributes(
    folder: Path, previous: Path, names: PublishedNames, before: PublishedNames
) -> Iterator[str]:
    """Report classes whose attributes are not those in the previous release, and of newcomers."""
    manifest, _ = read_manifest(folder / MANIFEST)
    about, old = manifest.user_columns, read_manifest(previous / MANIFEST)[0].user_columns
    if about is None:
        return
    if about != old:
        yield "the previous release has other attributes of users, or none"
        return
    expected = dict[bytes, Counter[tuple[str, ...]]]()
    counts = _count_attributes(previous, before)
    for part in read_class_parts(folder) or []:
        if part.previous:
            expected.setdefault(part.digest, Counter()).update(counts[part.previous])
    n_changed = n_new = 0
    for digest, found in _count_attributes(folder, names).items():
        kept = expected.get(digest, Counter())
        n_changed += not kept <= found
        n_users, known = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
        most = Counter[tuple[str, ...]]()
        for texts, n in (found - kept).items():
            shared = texts[: len(about.shared)]
            n_users[shared] += n
            if about.sensitive and texts[-1] != SUPPRESSED:
                known[shared] += n
                most[shared] = max(most[shared], n)
        is_few = any(n < manifest.claim.k for n in n_users.values())
        n_new += is_few or any(most[each] * about.l > known[each] for each in most)
    if n_changed:
        yield (
            f"{describe_count(n_changed, 'class has', 'classes have')} other attributes than in "
            f"the previous release"
        )
    if n_new:
        yield (
            f"newcomers of {describe_count(n_new, 'class', 'classes')} have attributes of fewer "
            f"than {manifest.claim.k} of them"
            f"{f', or a sensitive value above 1/{about.l}' * bool(about.sensitive)}"
        )


def _count_attributes(folder: Path, names: PublishedNames) -> dict[bytes, Counter[tuple[str, ...]]]:
    """Count the users of each class by their attributes."""
    rows = read_attributes(folder, read_manifest(folder / MANIFEST)[0])
    counts = dict[bytes, Counter[tuple[str, ...]]]()
    for record, digest, n in zip(names.user_ids, names.shared, names.sizes, strict=True):
        counts.setdefault(digest, Counter())[rows[record]] += n
    return counts


# The digest of a user's class, None without a record, and the shared attributes
ClassOfUser = tuple[bytes | None, tuple[str, ...]]


def classes_of_users(
    folder: Path, side: PrivateSide, names: PublishedNames
) -> dict[str, ClassOfUser]:
    """Return the class of each user."""
    manifest, _ = read_manifest(folder / MANIFEST)
    n_shared = len(manifest.user_columns.shared) if manifest.user_columns else 0
    rows = read_attributes(folder, manifest)
    class_of = dict(zip(names.user_ids, names.shared, strict=True))
    pairs = zip(side.users, side.records, strict=True)
    return {
        str(user): (class_of.get(record or ""), rows.get(record or "", ())[:n_shared])
        for user, record in pairs
    }


def count_moved(
    folder: Path, before: Mapping[str, ClassOfUser], after: Mapping[str, ClassOfUser]
) -> int:
    """Count the users of the previous release who are not in the class that continues theirs."""
    parts = read_class_parts(folder) or []
    next_of = {part.previous: part.digest for part in parts if part.previous}
    has_attributes = read_manifest(folder / MANIFEST)[0].user_columns is not None

    def is_kept(user: str, digest: bytes | None, shared: tuple[str, ...]) -> bool:
        found, attributes = after.get(user, (None, ()))
        is_same = attributes == shared or not has_attributes
        return digest is not None and found is not None and found == next_of.get(digest) and is_same

    return sum(not is_kept(user, *each) for user, each in before.items())
