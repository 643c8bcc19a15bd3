"""Report what releases contain about a user who asks for erasure, and record it in a log.

A row that at least k users share stays published, also in every later release of its series:
without it, the class would be smaller, which reveals that one of its users was erased; see
`recveil.methods.previous_release`. So the id stays in the private folders, too: a user who comes
back gets the same class, as two rows in different classes would single them out.
"""

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recveil.io import read
from recveil.io.columns.build import lacks_id
from recveil.io.columns.columns import run_end_decoded
from recveil.io.columns.ids import normal_ids
from recveil.io.ingestion import observe_raw_columns, reject_unknown_keywords
from recveil.io.options import OtherReadingOptions, ReadingOptions, option_words
from recveil.io.pipes import is_standard, require_path
from recveil.io.write import reject_replacing, resolve_target, write_ratings
from recveil.methods.earlier_releases import Earlier, find_earlier, followers, history_of, without
from recveil.methods.previous_release import PreviousRelease, read_classes, salted_digest
from recveil.methods.riskiest_users import ratings_left
from recveil.publish._convert import reject_input
from recveil.publish.history import Promised
from recveil.publish.privacy_ledger import (
    PrivacyLedger,
    PrivacyTotal,
    ledger_path,
    total_without,
)
from recveil.publish.release import ReleaseFolder
from recveil.publish.staging import alone, prefix
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import missing_rows
from recveil.release.claim import bounds_of, of_large_epsilon
from recveil.release.coverage import Coverage
from recveil.release.exact_ratings import ExactRatingCounts
from recveil.release.manifest import (
    ERASURES,
    MANIFEST,
    PRIVATE_MANIFEST,
    FileEntry,
    Manifest,
    private_folder,
)
from recveil.release.manifest_reader import known_manifest
from recveil.release.method import SAMPLED_FROM
from recveil.release.private_folder import is_made_of
from recveil.release.reader import (
    find_private,
    names_in_release,
    read_blocks,
    read_private_folder,
    read_protected,
)
from recveil.release.records import Groups, Records
from recveil.release.sides import Unpicklable
from recveil.release.user_table import SUPPRESSED
from recveil.runtime.atomic_writes import reject_in_release, write_atomically
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError, listed, reason_of
from recveil.runtime.reportable import Described
from recveil.runtime.safe_repr import brief
from recveil.verification import verify

Status = Literal["in-table", "row-kept", "absent"]
Decision = Literal["row-kept", "nothing-to-withdraw", "replace", "not-published"]
# The key and the number of the format of each line of a log.
_FORMAT, _NUMBER = "recveil_erasure", 1
_SALT_BYTES = 16
# How errors of reading name the option of the column of users.
_USER_COLUMN = re.compile(r"\buser( and item)? \(-{2}user\b")


@brief
@dataclass(frozen=True, kw_only=True)
class ErasureRequest:
    """What `forget` is asked to do; see there for the fields."""

    release: str | PathLike[str]
    user: str | int
    private: str | PathLike[str] | None = None
    ratings: Any = None
    output: str | PathLike[str] | None = None
    log: str | PathLike[str] | None = None
    ledger: str | PathLike[str] | None = None
    force: bool = False
    user_column: str | int | None = None
    reading: OtherReadingOptions = field(default_factory=OtherReadingOptions)

    @property
    def folder(self) -> Path:
        """The published folder."""
        return Path(self.release).resolve()

    @property
    def private_path(self) -> Path:
        """The private folder."""
        return Path(self.private).resolve() if self.private else private_folder(self.origin)

    @cached_property
    def origin(self) -> Path:
        """The release of the private folder: of a sample, its model."""
        sampled_from = known_manifest(self.folder).settings.get(SAMPLED_FROM)
        if sampled_from is None:
            return self.folder
        near = self.folder.parent
        private = self.private_path if self.private else find_private(near, str(sampled_from))
        if private is None:
            raise RecveilError(
                f"{self.folder.name} was sampled from a model whose private folder is not next to "
                f"it; run forget on the model's release, or name its private folder (--private)",
                code="private.not-found",
            )
        return private.with_name(private.name.removesuffix(".private"))

    @property
    def log_path(self) -> Path:
        """The log."""
        return self.private_path / ERASURES if self.log is None else Path(self.log).absolute()

    def _facts(self) -> dict[str, object]:
        return {"": self.folder.name}

    def check(self) -> None:
        """Raise a RecveilError for paths that cannot be read or must not be written."""
        require_path("a release folder", release=self.release)
        if self.private is not None:
            require_path("the private folder of a release", private=self.private)
        if self.output is not None and self.ratings is None:
            raise RecveilError(
                "output (--output): the table without the user's rows is made of today's; name it "
                "with ratings (--ratings)",
                code="option.required",
            )
        given = {**self.reading, "user_column": self.user_column}
        if self.ratings is None and (words := option_words(given)):
            raise RecveilError(
                f"{words[0]}: given without the table; name it with ratings (--ratings), or leave "
                f"that out",
                code="option.required",
            )
        if self.log is not None:
            require_path("a log", log=self.log)
            self._reject_place("log", Path(self.log))
        elif self.log_path.is_symlink():
            raise RecveilError(
                f"{self.log_path} is a link, and was not named as an output; remove it, or name a "
                f"log (--log FILE)",
                code="output.not-writable",
            )
        _lines_of(self.log_path)
        if self.output is not None:
            require_path("a table", output=self.output)
            output = Path(self.output)
            self._reject_place("output", output)
            resolve_target(output)
            reject_replacing(output, force=self.force)
            reject_input(output, self.ratings)

    def _reject_place(self, name: str, path: Path) -> None:
        """Reject a file in a release or a private folder, and standard output."""
        reject_in_release(path)
        parents = path.resolve().parents
        is_private = any((folder / PRIVATE_MANIFEST).is_file() for folder in parents)
        is_log = name == "output" and path.resolve() == self.log_path.resolve()
        if is_private or is_log or is_standard(path):
            raise RecveilError(
                f"{name} (--{name}): {path.name} is standard output, another output, or in a "
                f"private folder; name a file in another folder",
                code="output.place",
            )
        if not path.resolve().parent.is_dir():
            raise RecveilError(
                f"{name} (--{name}): {path.name} is in a folder that does not exist; create it",
                code="output.not-writable",
            )


@brief
class ExactCount(NamedTuple):
    """How many of a user's ratings are in their published row, with the same value."""

    n_ratings: int
    n_exact: int
    # Within half the rounding step of published values
    n_near: int
    # Whether the release was made from these ratings; None if unknown
    same_ratings: bool | None


@brief
@dataclass(frozen=True, eq=False)
class Trace(Unpicklable):
    """What one release has of a user."""

    folder: Path
    manifest: Manifest
    # Whether its table had the user, or it only keeps their row, or neither
    status: Status
    # Of the rows that are theirs; empty for synthetic users
    record_ids: tuple[str, ...] = ()
    # The users of their class, and how many others of them the table had; None for synthetic users
    class_size: int | None = None
    n_others: int | None = None
    exact: ExactCount | None = None
    # The attributes that their class has in common, and the one of which it shows each user's value
    attributes: Mapping[str, str] = field(default_factory=dict)
    shows: str = ""

    @property
    def finding(self) -> dict[str, object]:
        """All that is known, without ids."""
        claim = self.manifest.claim
        return {
            "release": self.folder.name,
            "sha256": self.manifest.sha256,
            "claim": claim.kind,
            "k": claim.k if self.manifest.contains_users else None,
            "epsilon": claim.epsilon,
            "delta": claim.delta,
            "auc_bound": bounds_of(claim).get("most_auc"),
            "status": self.status,
            "class_size": self.class_size,
            "others_in_table": self.n_others,
            "exact": self.exact and self.exact._asdict(),
            **({"attributes": dict(self.attributes)} if self.manifest.user_columns else {}),
            **({"sensitive_attribute": self.shows} if self.shows else {}),
        }

    def _facts(self) -> dict[str, object]:
        return {"": self.folder.name, "claim": self.manifest.claim.kind}


@brief
@dataclass(frozen=True, eq=False)
class Erasure(Described, Unpicklable):
    """What releases have of a user, and what was decided.

    Attributes
    ----------
    private : Path
        The private folder of the newest release.
    traces : tuple of Trace
        Of each release of the series, the newest last.
    decision : {"row-kept", "nothing-to-withdraw", "replace", "not-published"}
        What follows for the newest release: its row stays, as at least k users share it; no record
        belongs to a user, and a bound is proven; it has values of single users, or nothing is
        proven of it, so that it has to be replaced; or it has nothing of the user.
    n_candidates : int or None
        The users whose rows are equal to theirs in each release of the series.
    n_missing : int
        Earlier releases of the series that are not next to it, with their private folders.
    others : tuple of Path
        Further releases next to it with this user.
    n_unknown : int
        Further releases next to it, or replaced at their places, whose users cannot be read.
    cleaned : Path or None
        The table without the user's rows.
    log : Path
    is_known : bool
        Whether a release or the table has the id; it is logged in any case.
    n_unread : int
        Rows of the user in the table that were not read, as options of reading drop them.
    unread_reasons : tuple of str
        Why they were not read: keys of `recveil.io.ingestion.REASONS`.
    total : PrivacyTotal or None
        What all releases with an epsilon spent on the user.
    """

    private: Path
    traces: tuple[Trace, ...]
    decision: Decision
    n_candidates: int | None
    n_missing: int
    others: tuple[Path, ...]
    n_unknown: int
    cleaned: Path | None
    log: Path
    is_known: bool = True
    n_unread: int = 0
    unread_reasons: tuple[str, ...] = ()
    total: PrivacyTotal | None = None

    @property
    def newest(self) -> Trace:
        """The release that was named."""
        return self.traces[-1]

    @property
    def is_sparse(self) -> bool:
        """Whether the newest release is nearly empty, and so the next one may be."""
        content = json.loads(read_whole(self.private / PRIVATE_MANIFEST).decode())
        figures = content.get("coverage")
        return bool(figures) and Coverage(**figures).is_nearly_empty

    @property
    def bounds(self) -> Mapping[str, float]:
        """The bounds that follow from a differentially private claim."""
        return bounds_of(self.newest.manifest.claim)

    def _facts(self) -> dict[str, object]:
        return {"": self.decision, "releases": len(self.traces)}


def forget(
    release: str | PathLike[str],
    *,
    user: str | int,
    private: str | PathLike[str] | None = None,
    ratings: Any = None,
    output: str | PathLike[str] | None = None,
    log: str | PathLike[str] | None = None,
    ledger: str | PathLike[str] | None = None,
    force: bool = False,
    user_column: str | int | None = None,
    **reading: Unpack[OtherReadingOptions],
) -> Erasure:
    r"""Report what a release has of a user who asks for erasure, and record it in a log.

    If the release follows others, these are examined, too. No release is changed.

    Parameters
    ----------
    release : path
        The published folder of the newest release of a series, or of a single one.
    user : str or int
        The id, as in the table.
    private : path, optional
        Its private folder; next to it by default. Those of the releases that it follows, and these
        releases, are next to it.
    ratings : path, Ratings or data frame, optional
        The table of today, which is not changed. Counts the user's ratings that are in their rows.
    output : path, optional
        With `ratings`: where to write them without the user's rows, for the next release. It has
        the columns that are read alone, and whole days.
    log : path, optional
        The log, to which a line of JSON is appended; `erasures.jsonl` in the private folder by
        default. It has a salted digest of the id, not the id.
    ledger : path, optional
        The privacy ledger of releases with an epsilon, as for `budget`.
    force : bool
        Replace an existing `output`.
    user_column : str or int, optional
        The column of users in `ratings`, by name or position.
    **reading
        How `ratings` are read, as for `recveil.read`; by default on the scale of the release.

    Returns
    -------
    Erasure

    Raises
    ------
    RecveilError
        If the id is known in another notation alone (`id.unknown`); if a release or a private
        folder cannot be read, or does not keep its claim; if another release follows this one; or
        if an output exists or cannot be written. Nothing is written then.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.datasets import make_ratings
    >>> from recveil.methods import anonymize
    >>> ratings = make_ratings(40, 20, 400, seed=2)
    >>> with TemporaryDirectory() as folder:
    ...     _ = anonymize(ratings, Path(folder, "out"), k=5, seed=1)
    ...     found = forget(Path(folder, "out"), user=ratings.users[0])
    >>> found.decision, found.n_candidates >= 5
    ('row-kept', True)
    """
    request = ErasureRequest(
        release=release,
        user=user,
        private=private,
        ratings=ratings,
        output=output,
        log=log,
        ledger=ledger,
        force=force,
        user_column=user_column,
        reading=reading,
    )
    reject_unknown_keywords(forget, reading, "k", "user_files", "times")
    request.check()
    result, cleaned = _examine(request)
    if output is not None and cleaned is not None:
        write_ratings(cleaned, output)
    try:
        _append(request, result)
    except RecveilError:
        if output is not None:
            Path(output).unlink(missing_ok=True)  # no table without an entry in the log
        raise
    return result


def _examine(request: ErasureRequest) -> tuple[Erasure, Ratings | None]:
    """Return what the releases have of the user, and the table without them."""
    folder, user = request.folder, str(request.user)
    manifest = known_manifest(folder)
    raw = _RowsOfUser(user)
    with observe_raw_columns(raw.look):
        table = None if request.ratings is None else _read_table(request, manifest)
    place = -1 if table is None else _place_of(user, table.users)
    n_read = 0 if table is None or place < 0 else int(table.activity[place])
    unread_reasons = raw.why_unread(n_read, request.reading)
    releases, n_missing = _series_of(folder, manifest, request.private_path)
    if releases:
        traces = [_trace_of(each, user) for each in releases]
        if table is not None and place >= 0:
            traces = [
                *(
                    _with_exact(each, table, place, private_folder(each.folder))
                    for each in traces[:-1]
                ),
                _with_exact(traces[-1], table, place, request.private_path),
            ]
        series, published = releases[-1].releases, [each.users.tolist() for each in releases]
    else:
        origin = _origin_sha256(manifest)
        users = read_private_folder(folder, request.private_path, origin).users
        _check_claim(folder)
        is_there = _place_of(user, users) >= 0
        traces = [Trace(folder, manifest, "in-table" if is_there else "absent")]
        series, published = (origin,), [users.to_pylist()]
    is_known = any(trace.status != "absent" for trace in traces)
    if not is_known:
        protected = read_protected(folder, request.private_path)
        removed = set() if protected is None else protected[0]
        is_known = place >= 0 or raw.n_rows > 0 or user in removed
        today = [] if table is None else table.users.tolist()
        _reject_other_notation(user, {*removed}.union(*published), today)
    found = find_earlier(np.array([user], object), folder)
    earlier = without(found, series)
    others = tuple(each.folder for each in earlier if each.is_current)
    n_candidates = _count_candidates(releases, traces, user)
    result = Erasure(
        private=request.private_path,
        traces=tuple(traces),
        decision=_decide(traces, n_candidates),
        n_candidates=n_candidates,
        n_missing=n_missing,
        others=others,
        n_unknown=sum(bool(each.problem) for each in earlier)
        + sum(len(each.history) - each.is_current for each in earlier),
        cleaned=None if request.output is None else Path(request.output),
        log=request.log_path,
        is_known=is_known or bool(others),
        n_unread=max(raw.n_rows - n_read, 0),
        unread_reasons=unread_reasons,
        total=None if traces[-1].status == "absent" else _total_of(request, manifest, found),
    )
    return result, None if table is None else _without_user(table, place)


def _total_of(
    request: ErasureRequest, manifest: Manifest, found: list[Earlier]
) -> PrivacyTotal | None:
    """Return what all releases spent on the user of a release; None without an epsilon."""
    if manifest.claim.ledger is None:
        return None
    sha256, path = _origin_sha256(manifest), ledger_path(request.ledger)
    users = np.array([str(request.user)], object)
    history = [Promised.of(sha256, manifest.claim), *history_of(found)]
    if path is None:
        return total_without(users, None, history)
    ratings = [each.ratings_sha256 or "" for each in found if each.sha256 == sha256]
    return PrivacyLedger(path).total(users, *ratings[:1], history=history)


def _decide(traces: list[Trace], n_candidates: int | None) -> Decision:
    if all(trace.status == "absent" for trace in traces):
        return "not-published"
    claim, method = traces[-1].manifest.claim, traces[-1].manifest.known_method
    if claim.about.is_differential:
        is_weak = claim.epsilon is not None and of_large_epsilon(claim.epsilon)
        return "replace" if is_weak else "nothing-to-withdraw"
    # Values that every method of a series publishes are predicted from many users.
    is_continued = method is not None and method.takes_previous and claim.bound is not None
    is_shared = n_candidates is not None and n_candidates >= claim.k
    return "row-kept" if is_continued and is_shared else "replace"


def _read_table(request: ErasureRequest, manifest: Manifest) -> Ratings:
    """Read the table, on the scale of the release unless another one is requested."""
    reading: ReadingOptions = {**request.reading, "user": request.user_column}
    is_specified = any(reading.get(each) for each in ("scale", "order", "words", "counts"))
    if not (is_specified or isinstance(request.ratings, Ratings)):
        if manifest.scale.unary:
            reading["likes"] = True
        else:
            reading["scale"] = manifest.scale
    try:
        return read(request.ratings, **reading)
    except RecveilError as error:
        # Here, user is whose data is erased.
        text = _USER_COLUMN.sub(r"user_column\1 (--user-column", str(error))
        if text == str(error):
            raise
        raise RecveilError(text, code=error.code) from None


class _RowsOfUser:
    """The rows of a user in a table before any are dropped."""

    def __init__(self, user: str) -> None:
        self._user = user
        self.n_rows = self._n_without_item = self._n_unrated = 0

    def look(self, columns: Mapping[str, pa.ChunkedArray]) -> None:
        users = run_end_decoded(columns["user"]).cast(pa.large_string())
        is_theirs = pc.equal(pc.utf8_trim_whitespace(users), self._user.strip()).fill_null(False)
        rows = {name: column.filter(is_theirs) for name, column in columns.items()}
        lacks_item = lacks_id(rows["item"])
        self.n_rows, self._n_without_item = lacks_item.size, int(lacks_item.sum())
        if "rating" in rows:
            lacks_rating = np.asarray(missing_rows(rows["rating"]).to_numpy(), bool)
            self._n_unrated = int((lacks_rating & ~lacks_item).sum())

    def why_unread(self, n_read: int, reading: OtherReadingOptions) -> tuple[str, ...]:
        """Return why rows of the user were not read."""
        n_others = self.n_rows - n_read - self._n_without_item - self._n_unrated
        is_dropped = bool(reading.get("drop_off_scale"))
        is_settled = not is_dropped or reading.get("duplicates", "error") != "error"
        reasons = {
            "no id": self._n_without_item > 0,
            "no rating": self._n_unrated > 0,
            "off scale": n_others > 0 and is_dropped,
            "duplicate": n_others > 0 and n_read > 0 and is_settled,
        }
        return tuple(why for why, is_one in reasons.items() if is_one and self.n_rows > n_read)


def _series_of(
    folder: Path, manifest: Manifest, private: Path
) -> tuple[list[PreviousRelease], int]:
    """Read a release and those that it follows, the oldest first; count the missing ones."""
    if not manifest.contains_users:
        return [], 0
    newest = read_classes(folder, private)
    if follower := next(followers(folder, newest.releases[-1]), None):
        raise RecveilError(
            f"{folder.name}: {follower.name} follows it, and has a row of each of its users, too; "
            f"name the newest release of the series",
            code="release.followed",
        )
    folders = {}
    for file in sorted(folder.parent.glob(f"*/{MANIFEST}")) if manifest.previous else ():
        with suppress(OSError):  # of another user
            folders[FileEntry.of(file).sha256] = file.parent
    found = [newest]
    for sha256 in newest.releases[-2::-1]:
        try:
            if sha256 in folders:
                found.append(read_classes(folders[sha256], private_folder(folders[sha256])))
        except RecveilError as error:
            if error.code != "private.not-found":
                raise
    for release in found:
        _check_claim(release.folder, folders.get(release.manifest.previous))
    return found[::-1], len(newest.releases) - len(found)


def _check_claim(folder: Path, previous: Path | None = None) -> None:
    """Raise a RecveilError unless a release keeps its claim, also against the one it follows."""
    verification = verify(folder, against=previous)
    if not verification.holds:
        raise RecveilError(
            f"{folder.name}: its claim does not hold ({verification.violations[0].problem}); run "
            f"recveil verify, and withdraw it",
            code="claim.false",
        )


def _origin_sha256(manifest: Manifest) -> str:
    """Return the SHA-256 of the release that was made of ratings: of a sample, its model."""
    return str(manifest.settings.get(SAMPLED_FROM, manifest.sha256))


def _trace_of(release: PreviousRelease, user: str) -> Trace:
    place = int(release.places_of(np.array([user], object))[0])
    if place < 0:
        return Trace(release.folder, release.manifest, "absent")
    is_in_class, attributes, shows = _class_at(release, place)
    is_there = bool(release.in_table[place])
    return Trace(
        release.folder,
        release.manifest,
        "in-table" if is_there else "row-kept",
        record_ids=(release.record_ids[place],),
        class_size=int(is_in_class.sum()),
        n_others=int((is_in_class & release.in_table).sum()) - is_there,
        attributes=attributes,
        shows=shows,
    )


def _class_at(
    release: PreviousRelease, place: int
) -> tuple[NDArray[np.bool_], dict[str, str], str]:
    """Return a mask of a user's class, its shared attributes, and the sensitive column shown."""
    is_in_class = release.class_of == release.class_of[place]
    about = release.manifest.user_columns
    if about is None:
        return is_in_class, {}, ""
    rows, n_shared = release.attributes, len(about.shared)
    own = rows[place][:n_shared]
    is_in_class &= [row[:n_shared] == own for row in rows]
    members = np.flatnonzero(is_in_class).tolist()
    is_shown = about.sensitive and any(rows[each][-1] != SUPPRESSED for each in members)
    attributes = dict(zip(about.shared, own, strict=True))
    return is_in_class, attributes, about.sensitive if is_shown else ""


def _reject_other_notation(user: str, published: Iterable[object], today: list[object]) -> None:
    """Raise for a user without a release, of whom a release or the table has another notation."""
    texts, now = {*map(str, published)}, {*map(str, today)}
    # Ids that one table distinguishes are different users.
    texts = texts - now if user in now else texts | now
    ids = sorted(texts - {user})
    (normal,) = normal_ids([user])
    if near := [each for each, other in zip(ids, normal_ids(ids), strict=True) if other == normal]:
        raise RecveilError(
            f"user (--user): no release has a user with this id, but in another notation there is "
            f"{listed(near, 40)}; give the id as it is written there",
            code="id.unknown",
        )


def _place_of(user: str, users: Any) -> int:
    """Return the position of a user; -1 for an unknown one."""
    texts = (users if isinstance(users, pa.ChunkedArray) else pa.array(users)).cast(pa.string())
    return int(pc.index(texts, user).as_py())


def _count_candidates(
    releases: list[PreviousRelease], traces: list[Trace], user: str
) -> int | None:
    """Return the users whose rows are equal to those of the user in each release."""
    candidates: set[str] | None = None
    newcomer_to = set[str]()
    for release, trace in zip(releases, traces, strict=False):
        if trace.status == "absent":
            newcomer_to |= set(map(str, release.users.tolist()))
            continue
        place = release.places_of(np.array([user], object))[0]
        members = release.users[_class_at(release, int(place))[0]].tolist()
        there = set(map(str, members))
        candidates = there if candidates is None else candidates & there
    return None if candidates is None else len(candidates - newcomer_to)


def _with_exact(trace: Trace, table: Ratings, place: int, private: Path) -> Trace:
    """Add how many of the user's ratings their published row has."""
    if not trace.record_ids:
        return trace
    manifest, folder = trace.manifest, trace.folder
    indices, values = table.row(place)
    names = pa.array(names_in_release(folder, manifest, table.items, private)[indices]).cast(
        pa.string()
    )
    items, row = _row_of(folder, manifest, trace.record_ids[0])
    at = pc.index_in(names, value_set=pa.array(items).cast(pa.string())).fill_null(-1)
    is_published = np.asarray(at) >= 0
    where = np.asarray(at)[is_published]
    order = np.argsort(where)
    ratings = Ratings(
        users=table.users[[place]],
        items=items,
        indptr=np.array([0, where.size]),
        indices=where[order].astype(np.int32),
        values=values[is_published][order],
        days=None,
        scale=manifest.scale,
    )
    groups = Groups(np.array([0]), np.array([0, 1]))
    counts = ExactRatingCounts.of(ratings, groups, [row], manifest.value_grid).numbers
    same = is_made_of(folder, ratings_left(table, folder, private), private)
    return replace(trace, exact=ExactCount(indices.size, int(counts[1]), int(counts[2]), same))


def _row_of(folder: Path, manifest: Manifest, record_id: str) -> tuple[NDArray[Any], Records]:
    """Return the items of a release, and one of its rows."""
    items = ReleaseFolder(folder).items
    for ids, records in read_blocks(folder, manifest, items):
        if record_id in ids:
            row = ids.index(record_id)
            cells = slice(*records.indptr[row : row + 2])
            ends = np.array([0, cells.stop - cells.start])
            sizes, indices, values = records.sizes, records.indices[cells], records.values[cells]
            return items, Records(sizes[[row]], ends, indices, values)
    raise AssertionError(record_id)  # it was read before


def _without_user(table: Ratings, place: int) -> Ratings:
    """Return a table without the ratings of a user; the same without such a user."""
    if place < 0:
        return table
    is_kept = table.user_positions() != place
    return Ratings(
        users=np.delete(table.users, place),
        items=table.items,
        indptr=np.concatenate([[0], np.cumsum(np.delete(table.activity, place))]),
        indices=table.indices[is_kept],
        values=table.values[is_kept],
        days=None if table.days is None else table.days[is_kept],
        scale=table.scale,
    )


def _lines_of(log: Path) -> bytes:
    """Return the lines of a log; none if there is no file."""
    if not log.exists():
        return b""
    try:
        content = read_whole(log)
        lines = content.decode().split("\n")[:-1]
        if any(json.loads(line)[_FORMAT] != _NUMBER for line in lines):
            raise ValueError("another format")
        if content and not content.endswith(b"\n"):
            raise ValueError("its last line is incomplete")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecveilError(
            f"log (--log): {log.name} exists, but cannot be read as a log of erasures "
            f"({reason_of(error)}); name another file",
            code="output.exists",
        ) from error
    return content


def _append(request: ErasureRequest, result: Erasure) -> None:
    """Append an entry to the log; two runs do so one after the other."""
    log = request.log_path
    # The lock of the release, for a log that a replaced release takes along.
    target = request.origin if log.parent == request.private_path else log
    line = json.dumps(_entry_of(result, str(request.user))).encode()
    try:
        with alone(target.with_name(f"{prefix(target)}lock"), target):
            lines = _lines_of(log)
            write_atomically(log, lambda staged: staged.write_bytes(lines + line + b"\n"))
    except OSError as error:
        raise RecveilError(
            f"log (--log): {log.name} cannot be written ({error.strerror or error}); name another "
            f"file",
            code="output.not-writable",
        ) from error


def _entry_of(result: Erasure, user: str) -> dict[str, object]:
    """Return a line of the log, without ids of the user or their rows."""
    salt = secrets.token_hex(_SALT_BYTES)
    return {
        _FORMAT: _NUMBER,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": version("recveil"),
        "salt": salt,
        "user_sha256": salted_digest(salt, user),
        "normal_sha256": salted_digest(salt, *normal_ids([user])),
        "releases": [trace.finding for trace in result.traces],
        "candidates": result.n_candidates,
        "missing_releases": result.n_missing,
        "other_releases": [each.name for each in result.others],
        "unknown_releases": result.n_unknown,
        "decision": result.decision,
        "rows_removed_from_table": result.cleaned is not None,
    }
