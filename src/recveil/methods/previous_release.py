"""Read the classes of the release that a new one follows.

A class is an equivalence class of published rows. It lives on: users who stay keep it, and the row
of a user who left is kept, so that a class has the same number of rows in every release. Newcomers
form classes of their own.

Notes
-----
Let N be the users whose first row is in the same release and equal there, with its attributes (but
for the sensitive one), as rows of newcomers.

- Postcondition of each release: N has at least k users (`deal_strata`; in the first release, by
  its claim), and none of them has a row in a release before.
- Each release is followed by one other at most: a series does not branch (`reject_branch`).
- Equal rows are one class of the next release, whose rows, items, values and dates, are equal
  again. Each row keeps its attributes, and a class its list of sensitive values; no row is dropped.
  So by induction all users of N have equal rows in each release from the first on.

Hence in every set of releases, no function of the published files distinguishes the users of N, at
least k users are consistent with all rows of any user, and the sensitive values of N are those of
its first release, l-diverse. Source of the idea: m-invariance (Xiao and Tao 2007), with kept rows
as counterfeits.
"""

import json
import warnings
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io.columns.ids import normal_ids
from recveil.io.pipes import require_path
from recveil.publish.release import ReleaseFolder
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import plain_column
from recveil.release.dates import period_of
from recveil.release.manifest import ERASURES, PRIVATE_MANIFEST, Manifest
from recveil.release.method import Method
from recveil.release.private_folder import IN_TABLE, assignment_files, read_assignment
from recveil.release.reader import (
    find_private,
    read_attributes,
    read_blocks,
    read_private_folder,
)
from recveil.release.records import item_keys
from recveil.release.sides import Unpicklable
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import (
    RecveilError,
    add_note,
    describe_count,
    listed,
    quoted,
    reason_of,
    shortened,
)
from recveil.runtime.safe_repr import brief

_SUFFIX = ".private"
# The share of the users that may be lost from one table to the next.
_MOST_LOST = 0.5


@brief
@dataclass(frozen=True, eq=False)
class PreviousRelease(Unpicklable):
    """The users of a release, and the class of each."""

    # The published folder
    folder: Path
    manifest: Manifest
    # The SHA-256 of the release.json of each release of the series, with its own as the last
    releases: tuple[str, ...]
    # Original ids, also of users who left before
    users: NDArray[Any]
    # The published id of the row of each
    record_ids: tuple[str, ...]
    class_of: NDArray[np.int64]
    # Whether its table had the user
    in_table: NDArray[np.bool_]
    # The digest of each class, as in classes.csv
    digests: tuple[bytes, ...]
    # The published attributes of each row; sensitive values are in random order within a class
    attributes: tuple[tuple[str, ...], ...]

    def __deepcopy__(self, _memo: object) -> Self:
        """Return itself, for clones of an anonymizer."""
        return self

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of each class."""
        return np.bincount(self.class_of, minlength=len(self.digests))

    def places_of(self, users: NDArray[Any]) -> NDArray[np.int64]:
        """Return the position of each user among those of the release; -1 for newcomers."""
        known = pa.array(self.users).cast(pa.string())
        found = pc.index_in(pa.array(users).cast(pa.string()), value_set=known)
        return np.asarray(found.fill_null(-1).to_numpy(), np.int64)

    def check_claim(self, method: Method, k: int, dates: str | None) -> None:
        """Raise a RecveilError unless it was made by this method, with this k and these dates."""
        made_by, old_k = self.manifest.method, self.manifest.claim.k
        if made_by is not method:
            same = f"choose that method (--method {made_by.name}), or "
            raise RecveilError(
                f"previous (--previous): {self.name} was made by the method {made_by.name}, but "
                f"this is {method.name}; classes live on within one method; "
                f"{same if made_by.takes_previous else ''}begin a series without previous",
                code="release.mismatch",
            )
        if old_k != k:
            raise RecveilError(
                f"previous (--previous): {self.name} has k = {old_k}, but k (--k) is {k}; all "
                f"releases of a series have one k; give --k {old_k}",
                code="release.mismatch",
            )
        period = period_of(self.manifest.settings)
        if dates not in (None, period):
            raise RecveilError(
                f"dates (--dates) is {dates}, but the previous release {self.name} has "
                f"{period or 'no dates'}; dates of a series have one unit; "
                f"{f'give --dates {period}' * (period is not None) or 'drop dates'}",
                code="release.mismatch",
            )

    def reject_erased(self, users: NDArray[Any]) -> None:
        """Raise a RecveilError for a table with users who were erased from a release of the series.

        Their logs are next to it, in the private folders.
        """
        near = self.folder.parent
        folders = [each for each in (find_private(near, one) for one in self.releases) if each]
        if n_missing := len(self.releases) - len(folders):
            warnings.warn(
                f"{describe_count(n_missing, 'private folder')} of the series of {self.name} "
                f"{'is' if n_missing == 1 else 'are'} not next to it, so erasures logged there "
                f"are not noticed; put them back",
                stacklevel=2,
            )
        logs = sorted(folder / ERASURES for folder in folders)
        entries = [entry for log in logs if log.exists() for entry in _erased_in(log)]
        ids = users.tolist() if entries else []
        erased, places = list[str](), dict[str, None]()
        for user, normal in zip(map(str, ids), normal_ids(ids), strict=True):
            of_user = [each.place for each in entries if each.is_of(user, normal)]
            erased += [user] if of_user else []
            places |= dict.fromkeys(of_user)
        if erased:
            first, *more = places
            error = RecveilError(
                f"the table has {describe_count(len(erased), 'user')} whose erasure is logged in "
                f"the series of {self.name} ({first}{f' and {len(more):,} more' * bool(more)}), in "
                f"this or another notation; remove their rows, or, if it is another user or "
                f"agrees, move the lines to another log",
                code="id.erased",
            )
            # Logs of errors must not keep an erased id.
            add_note(error, f"erased: {listed(erased, 40)}")
            raise error

    def check(self, ratings: Ratings) -> NDArray[np.int64]:
        """Return `places_of` the users of a table; raise a RecveilError for one of other users."""
        places = self.places_of(ratings.users)
        self._reject_other_notation(ratings.users, places)
        n_known = int((places >= 0).sum())
        if not n_known:
            raise RecveilError(
                f"none of the {self.users.size:,} users of the previous release {self.name} is in "
                f"the table; expected the same users, with ids written alike",
                code="release.mismatch",
            )
        n_before = int(self.in_table.sum())
        n_lost = n_before - int(self.in_table[places[places >= 0]].sum())
        if n_lost > _MOST_LOST * n_before:
            raise RecveilError(
                f"the table lacks {n_lost:,} of {describe_count(n_before, 'user')} of the previous "
                f"release {self.name}; expected the ratings of all users until today, not those of "
                f"a period alone",
                code="release.mismatch",
            )
        return places

    def _reject_other_notation(self, users: NDArray[Any], places: NDArray[np.int64]) -> None:
        """Raise a RecveilError if a newcomer's id equals that of a user who left, but for notation.

        Such a user would get a second row. Ids that are both in the table count as different users.
        """
        has_left = np.ones(self.users.size, np.bool_)
        has_left[places[places >= 0]] = False
        left = self.users[has_left].tolist()
        former = dict(zip(normal_ids(left), left, strict=True))
        new = users[places < 0].tolist()
        pairs = zip(new, normal_ids(new), strict=True)
        if alike := [(user, former[normal]) for user, normal in pairs if normal in former]:
            error = RecveilError(
                f"{describe_count(len(alike), 'new id')} may match an id of {self.name} in another "
                f"notation, which would give its user a second row; write ids as in that release, "
                f"or rename new users",
                code="id.other-notation",
            )
            add_note(
                error, f"new ids: {listed([f'{new} (before: {old})' for new, old in alike], 60)}"
            )
            raise error

    def count_rows(self, ratings: Ratings, k: int) -> tuple[int, int]:
        """Return the most classes and the rows that a release of this table has."""
        n_new = int((self.check(ratings) < 0).sum())
        n_new *= n_new >= k
        return len(self.digests) + n_new // k, self.users.size + n_new

    @property
    def name(self) -> str:
        """The folder's name for messages."""
        return quoted(self.folder.name)

    def _facts(self) -> dict[str, object]:
        return {"": self.folder.name, "users": self.users.size, "classes": len(self.digests)}


def read_previous(path: str | PathLike[str]) -> PreviousRelease:
    """Read the private folder at `path`, and the published one next to it.

    A RecveilError is raised if one of the two is missing or damaged, they belong to different
    releases, or the users of the private folder are not one for each published row.
    """
    require_path("the private folder of a release", previous=path)
    private = Path(path).resolve()
    if not private.name.endswith(_SUFFIX) or not (private / PRIVATE_MANIFEST).is_file():
        raise RecveilError(
            f"previous (--previous) is {quoted(str(path))}; expected the private folder of a "
            f"release, NAME{_SUFFIX}, with its published folder NAME next to it",
            code="private.not-found",
        )
    folder = private.with_name(private.name.removesuffix(_SUFFIX))
    if not ReleaseFolder(folder).manifest.contains_users:
        raise RecveilError(
            f"previous (--previous) is {quoted(str(path))}: no record of it belongs to a user who "
            f"could keep a class; leave it out",
            code="option.unsupported",
        )
    return read_classes(folder, private)


def read_classes(folder: Path, private: Path) -> PreviousRelease:
    """Read the class of each user of a release whose records belong to users."""
    release = ReleaseFolder(folder)
    manifest = release.manifest
    opened = read_private_folder(folder, private)
    class_of_digest, class_of_id, sizes = dict[bytes, int](), dict[str, int](), dict[str, int]()
    items = release.items
    keys = item_keys(items)
    for ids, records in read_blocks(folder, manifest, items):
        digests = manifest.claim.about.digests(records, keys)
        for digest, published_id in zip(digests, ids, strict=True):
            class_of_id[published_id] = class_of_digest.setdefault(digest, len(class_of_digest))
        sizes.update(zip(ids, records.sizes.tolist(), strict=True))
    users = np.asarray(plain_column(opened.users).to_numpy())
    if Counter(opened.ids) != sizes or len(set(users.tolist())) != users.size:
        raise RecveilError(
            f"{private.name}: its {users.size:,} users are not one for each of the "
            f"{sum(sizes.values()):,} published rows; put the private folder there that was "
            f"written with {folder.name}",
            code="private.damaged",
        )
    attributes = read_attributes(folder, manifest)
    before, in_table = list[str](), np.ones(users.size, np.bool_)
    if manifest.previous:
        before, in_table = _read_continuation(private)
    return PreviousRelease(
        folder=folder,
        manifest=manifest,
        releases=(*before, str(manifest.sha256)),
        users=users,
        record_ids=tuple(opened.ids),
        class_of=np.array([class_of_id[each] for each in opened.ids], np.int64),
        in_table=in_table,
        digests=tuple(class_of_digest),
        attributes=tuple(attributes[each] for each in opened.ids) if attributes else (),
    )


class _Erased(NamedTuple):
    """A line of a log of erasures."""

    place: str
    salt: str
    # Of the id as it was given, and in its normal form, which earlier logs lack
    digests: frozenset[str]

    def is_of(self, user: str, normal: str) -> bool:
        return any(salted_digest(self.salt, text) in self.digests for text in {user, normal})


def salted_digest(salt: str, text: str) -> str:
    """Return the digest of an id in a log of erasures."""
    return sha256(f"{salt}{text}".encode()).hexdigest()


def _erased_in(log: Path) -> list[_Erased]:
    """Return the entries of a log."""
    try:
        return [
            _Erased(
                f"line {line} of {shortened(log.parent.name, 40)}/{log.name}",
                str(entry["salt"]),
                frozenset({str(entry["user_sha256"]), str(entry.get("normal_sha256"))}),
            )
            for line, entry in enumerate(map(json.loads, read_whole(log).decode().splitlines()), 1)
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecveilError(
            f"{log.parent.name}: {log.name} cannot be read as a log of erasures "
            f"({reason_of(error)}), so erased users might be published again; restore it",
            code="private.damaged",
        ) from error


def _read_continuation(private: Path) -> tuple[list[str], NDArray[np.bool_]]:
    """Return the releases before this one, and which users its table had."""
    try:
        content = json.loads(read_whole(private / PRIVATE_MANIFEST).decode())
        column = read_assignment(private, assignment_files(content), [IN_TABLE])[IN_TABLE]
        return list(map(str, content["previous"]["releases"])), np.array(column.to_pylist(), bool)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
        raise RecveilError(
            f"{private.name}: cannot be read as the private folder of a release that follows "
            f"another one ({reason_of(error)}); restore it as it was written",
            code="private.damaged",
        ) from error
