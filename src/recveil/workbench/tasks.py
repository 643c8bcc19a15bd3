"""Tasks: what a worker can be asked to do, each by the library function of a verb."""

import io
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from recveil.comparison import Comparison
from recveil.comparison._compare import Feedback, usual_methods, variants_of
from recveil.ratings import RatingScale
from recveil.release.manifest import MANIFEST, FileEntry
from recveil.release.manifest_reader import known_manifest
from recveil.release.registry import variant_of
from recveil.runtime.atomic_writes import make_folder, write_atomically
from recveil.runtime.devices import reject_devices
from recveil.runtime.errors import RecveilError, printable, quoted, reason_of, shortened
from recveil.runtime.locks import FOR_OWNER, NOT_FOLLOWED
from recveil.runtime.memory import in_words
from recveil.runtime.safe_repr import brief


@brief
class Assignment(NamedTuple):
    """What a worker is to do."""

    # What was chosen; plain data
    settings: dict[str, Any]
    # Of the job, for its owner alone: for files beside the result
    folder: Path
    # Tells one thing on the way: what it is, and plain data
    tell: Callable[[str, Any], object]


COLUMNS = ("user", "item", "rating", "time")
_TEXTS = (
    *COLUMNS,
    *("scale", "format", "time_format", "delimiter", "decimal", "null", "query", "table", "sheet"),
    *("order", "words"),
)
_MARKS = ("drop_off_scale", "wide", "likes")
# Words of which one is said, and the one that is meant if none is.
_CHOICES = {"duplicates": ("error", "last", "mean"), "counts": ("", "log", "likes")}
_MOST_CHARACTERS = 4_000


def said_in(form: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form says, by the names of options; what is usual is left out.

    Examples
    --------
    >>> said_in({"user": "2", "item": "", "likes": "on", "duplicates": "error"})
    {'user': '2', 'likes': True}
    """
    said: dict[str, Any] = {}
    for name in _TEXTS:
        text = form.get(name, "").strip()
        if len(text) > _MOST_CHARACTERS:
            raise RecveilError(
                f"{name}: is longer than {_MOST_CHARACTERS:,} characters; shorten it",
                code="option.value",
            )
        if text:
            said[name] = text
    said |= {name: True for name in _MARKS if form.get(name)}
    for name, choices in _CHOICES.items():
        chosen = form.get(name, choices[0])
        if chosen not in choices:
            raise RecveilError(
                f"{name}: {quoted(chosen)} is not among {', '.join(choices)}", code="option.value"
            )
        if chosen != choices[0]:
            said[name] = chosen
    return said


def keywords_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same as keywords for `recveil.io.understand`, and for every verb.

    Examples
    --------
    >>> keywords_of({"user": "2", "scale": "1:5:1"})["scale"].step
    1.0
    """
    if "scale" not in said:
        return dict(said)
    return {**said, "scale": RatingScale.parse(said["scale"])}


AUDIT_PAGE = "audit.html"
# Rows that the page shows, and of a value so many characters.
_ROWS, _CHARACTERS = 10, 80


def inspect_input(asked: Assignment) -> dict[str, Any]:
    """Look at a table: `recveil.inspection.inspect`, and its first rows for its owner's eyes."""
    from recveil.inspection import inspect

    found = inspect(asked.settings["source"], **keywords_of(asked.settings["reading"]))
    seen = found.rows
    return {
        **found.to_dict(),
        "rows": {
            "names": [str(name) for name in seen.names],
            "has_header": not any(isinstance(name, int) for name in seen.names),
            "roles": list(seen.roles),
            "rows": [
                [shortened(printable(cell), _CHARACTERS) for cell in row]
                for row in seen.rows[:_ROWS]
            ],
        },
    }


def audit_input(asked: Assignment) -> dict[str, Any]:
    """Audit a table: `recveil.auditing.audit`, and everybody's risk."""
    from recveil.auditing import audit, write_risk

    found = audit(
        asked.settings["source"],
        curves=asked.settings["curves"],
        **keywords_of(asked.settings["reading"]),
    )
    if found.risk is not None:
        write_risk(found.ratings.users, found.risk, asked.folder / "risk.csv")
    return found.to_dict()


def draw_audit(asked: Assignment) -> dict[str, Any]:
    """Draw the page of an audit that is done: `recveil.report.write_audit_page`."""
    from recveil.report import write_audit_page

    place = Path(asked.settings["folder"])
    found = json.loads((place / asked.settings["result"]).read_text(encoding="utf-8"))
    write_audit_page(found, place / AUDIT_PAGE)
    return {}


def warm_up(_: Assignment) -> dict[str, Any]:
    """Audit a few invented people, so that what audits need is compiled before one begins."""
    from recveil.auditing import audit
    from recveil.datasets import make_ratings

    audit(make_ratings(n_users=120, n_items=60, n_ratings=2_000, seed=1), targets=30)
    return {}


# Lies in the zip beside the folder of the release: it describes that for data portals.
DESCRIPTION = "croissant.json"
_ZIPPED_AT_ONCE = 1 << 18
# A zip can tell when files were written, by whom and where; a release tells nothing of that.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_READABLE = 0o100644 << 16
_PACKED_ALREADY = (".parquet",)


@brief
class Zipped(NamedTuple):
    """A file that is to be sent."""

    # What it is called in the zip
    name: str
    path: Path


def published_files(folder: Path, sha256: str) -> list[Zipped]:
    """Return the files of a release as they were verified, and nothing that lies beside them."""
    changed = RecveilError(
        f"{folder.name}: was changed after it was verified; make it again, or check it on the page "
        f"Check",
        code="release.changed",
    )
    try:
        if FileEntry.of(folder / MANIFEST).sha256 != sha256:
            raise changed
        told = known_manifest(folder).files
        for name, entry in told.items():
            reject_devices(folder / name)
            if (folder / name).is_symlink() or FileEntry.of(folder / name).sha256 != entry.sha256:
                raise changed
    except OSError as error:
        raise RecveilError(
            f"{folder.name}: cannot be read ({reason_of(error)}); make it again",
            code="input.unreadable",
        ) from error
    return [Zipped(f"{folder.name}/{name}", folder / name) for name in (*told, MANIFEST)]


def zipped(files: Iterable[Zipped]) -> Iterator[bytes]:
    """Yield a zip piece by piece; it is never whole, in memory or on the disk."""
    sent = _Sent()
    with ZipFile(sent, "w") as archive:
        for name, path in files:
            info = ZipInfo(name, _NO_TIME)
            info.create_system, info.external_attr = 3, _READABLE
            info.compress_type = ZIP_STORED if name.endswith(_PACKED_ALREADY) else ZIP_DEFLATED
            with path.open("rb") as source:
                info.file_size = path.stat().st_size  # beyond 4 GB the format differs
                with archive.open(info, "w") as target:
                    while piece := source.read(_ZIPPED_AT_ONCE):
                        target.write(piece)
                        yield sent.taken()
    yield sent.taken()


class _Sent(io.RawIOBase):
    """A stream that keeps what is written until it is taken, and cannot go back."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        content = bytes(piece)  # type: ignore[call-overload]
        self._kept += content
        return len(content)

    def taken(self) -> bytes:
        content = bytes(self._kept)
        self._kept.clear()
        return content


# A release has a handful of files; an index of millions takes memory before anything is unpacked.
_MOST_FILES = 1_000
# Rows that people share are packed small, but not beyond all measure: what grows more is a bomb.
_GROWTH, _ALWAYS = 200, 100 * 10**6
_AT_ONCE = 1 << 20
# Other ways make gigabytes of one small piece, before anybody can count them.
_WAYS = (ZIP_STORED, ZIP_DEFLATED)
_REMEDY = "unpack it yourself, look at it, and name the folder"


def holds_release(path: Path) -> bool:
    """Say whether a file is a zip with a release in it.

    Examples
    --------
    >>> holds_release(Path("nowhere.zip"))
    False
    """
    try:
        with ZipFile(path) as archive:
            return any(PurePosixPath(name).name == MANIFEST for name in archive.namelist())
    except (OSError, BadZipFile, ValueError, NotImplementedError):
        return False


@brief
class Unpacked(NamedTuple):
    """What a zip was found to hold."""

    # The folder in the zip that holds the files of the release; empty if there is none
    within: str
    # The description that lies beside that folder, which is no part of the release; empty if there
    # is none
    beside: str


def unpack_release(path: Path, folder: Path) -> Unpacked:
    """Unpack the files of a release into a folder of their own, or nothing."""
    for each in (folder.parent, folder):
        make_folder(each, exist_ok=each is not folder)
    try:
        with ZipFile(path) as archive:
            entries, found = _entries(path, archive.infolist())
            room = min(_ALWAYS + _GROWTH * path.stat().st_size, _free(folder))
            for name, entry in entries.items():
                with archive.open(entry) as packed:
                    room -= _write(packed, folder / name, room, path.name)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        # What the library raises of a damaged or strange archive is of many kinds.
        if isinstance(error, RecveilError) or not isinstance(error, Exception):
            raise
        raise RecveilError(
            f"{path.name}: cannot be unpacked ({reason_of(error)}); pack it again",
            code="release.archive",
        ) from None
    return found


def _entries(path: Path, infos: list[ZipInfo]) -> tuple[dict[str, ZipInfo], Unpacked]:
    """Return the files by the names that they get, and the one folder that holds them."""
    if len(infos) > _MOST_FILES:
        raise RecveilError(
            f"{path.name}: holds more than {_MOST_FILES:,} files; {_REMEDY}",
            code="release.too-large",
        )
    files = [info for info in infos if not info.is_dir()]
    for info in files:
        _reject_unexpected(path, info)
    # The workbench's own zips bring the description of a release beside it.
    described = [info for info in files if info.filename == DESCRIPTION]
    if any(PurePosixPath(info.filename).parts[1:] for info in files):
        files = [info for info in files if info not in described]
    else:
        described = []
    folders = {PurePosixPath(info.filename).parent for info in files}
    if len(folders) != 1 or len(next(iter(folders)).parts) > 1:
        raise RecveilError(
            f"{path.name}: holds {len(folders)} folders; expected the files of one release, or one "
            f"folder with them; {_REMEDY}",
            code="release.archive",
        )
    named = {PurePosixPath(info.filename).name: info for info in files}
    # Where the file system takes upper for lower case, one would replace the other.
    if len({name.casefold() for name in named}) != len(files):
        raise RecveilError(
            f"{path.name}: a file stands in it twice; pack it again", code="release.archive"
        )
    (folder,) = folders
    beside = DESCRIPTION if described else ""
    return named, Unpacked("/".join(folder.parts), beside)


def _reject_unexpected(path: Path, info: ZipInfo) -> None:
    """Refuse what leads out of the folder, or is no plain file."""
    name, mode = info.filename, info.external_attr >> 16
    parts = PurePosixPath(name).parts
    leads_out = name.startswith("/") or ".." in parts or any(mark in name for mark in "\\:\0")
    if leads_out or not parts or not name.isprintable():
        raise RecveilError(
            f"{path.name}: {quoted(name)} would lead out of its folder; it is not unpacked",
            code="release.archive",
        )
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise RecveilError(
            f"{path.name}: {quoted(name)} is a link or device, and no file; it is not unpacked",
            code="release.archive",
        )
    if info.compress_type not in _WAYS:
        raise RecveilError(
            f"{path.name}: {quoted(name)} is packed in way {info.compress_type}; expected stored "
            f"or deflated, as usual in a zip; {_REMEDY}",
            code="release.archive",
        )
    if info.flag_bits & 1:
        raise RecveilError(
            f"{path.name}: {quoted(name)} is locked by a password; {_REMEDY}",
            code="release.archive",
        )


def _write(packed: IO[bytes], place: Path, room: int, name: str) -> int:
    """Write one file, and count what really comes; return how much it was."""
    size = 0
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | NOT_FOLLOWED
    with os.fdopen(os.open(place, flags, FOR_OWNER), "wb") as file:
        while piece := packed.read(_AT_ONCE):
            size += len(piece)
            if size > room:
                raise RecveilError(
                    f"{name}: becomes more than {in_words(max(room, 0))} when it is unpacked, and "
                    f"may be a bomb; {_REMEDY}",
                    code="release.too-large",
                )
            file.write(piece)
    return size


def _free(folder: Path) -> int:
    """Return how much of the disk may be filled."""
    return max(0, shutil.disk_usage(folder).free - 10**9)


# The folder of a job into which a zip is unpacked.
UNPACKED = "unpacked"
_VERIFYING, _ATTACKING = "Verifying", "Attacking"


def check_published(asked: Assignment) -> dict[str, Any]:
    """Check what anybody published: `verify`, and, with the table behind it, `audit --release`."""
    from recveil.release.claim import claim_kind
    from recveil.release.manifest import MANIFEST
    from recveil.runtime.progress import parts
    from recveil.verification import verify

    settings = asked.settings
    place = Path(settings["place"])
    unpacked = None
    if settings["dropped"] and holds_release(place):
        folder = asked.folder / UNPACKED / place.stem
        unpacked = unpack_release(place, folder)
        place = folder
    is_release = (place / MANIFEST).is_file()
    with parts("Checking", {_VERIFYING: 1, _ATTACKING: 9 if settings["source"] else 0}) as begin:
        begin(_VERIFYING)
        found = verify(place, **settings["options"])
        begin(_ATTACKING)
        attacked = _attack(asked, place) if settings["source"] and is_release else {}
    why_not = attacked.get("error", "")
    if unpacked is not None:  # a folder of ours, which is gone at the next check
        why_not = why_not.replace(f"{place.parent}{os.sep}", "")
    return {
        "is_release": is_release,
        "place": str(place),
        "unpacked": None if unpacked is None else unpacked._asdict(),
        "verification": found.to_dict(),
        "caution": claim_kind(found.claim).caution,
        "release": attacked.get("release"),
        "warnings": attacked.get("warnings", []),
        "not_attacked": why_not,
    }


def _attack(asked: Assignment, release: Path) -> dict[str, Any]:
    """Attack a release with what the table tells; the checker's verdict stands in any case."""
    from recveil.auditing import audit
    from recveil.report import write_audit_page

    settings = asked.settings
    try:
        found = audit(
            settings["source"],
            release=release,
            curves=False,
            **keywords_of(settings["reading"]),
        )
    except RecveilError as error:
        return {"error": str(error)}
    plain = found.to_dict()
    write_audit_page(plain, asked.folder / AUDIT_PAGE)
    return plain


# What is finished of a comparison that still runs, or was stopped.
SO_FAR, PAGE = "so_far.json", "comparison.html"
# The kinds of methods by what a setting takes, about: those of few labels come first. Measured on
# MovieLens 100K, a setting of the first takes 6 seconds, of the last 25.
_QUICK = ("sparse", "synthetic", "simple", "k-corating, averaged", "k-corating, likes", "padded")


def kind_of_table(found: dict[str, Any] | None) -> Feedback:
    """Return what a table was found to hold, as `inspect` told it; ratings if nothing is known."""
    if found is None:
        return "ratings"
    if found["data"]["scale"] == "likes":
        return "likes"
    return "ratings" if (found["scale"] or {}).get("ordered", True) else "words"


def methods_to_choose(*, of: Feedback) -> dict[str, bool]:
    """Return the names of the methods that can be compared, and whether each is usual.

    Examples
    --------
    >>> list(methods_to_choose(of="likes"))[:3]
    ['raw', 'sparse', 'synthetic-exact']
    """
    usual = [
        name
        for name in usual_methods(of=of)
        if variant_of(name).is_control or variant_of(name).about_claim.is_published
    ]
    names = variants_of(of)
    return {name: name in usual for name in sorted(names, key=_order)}


def _order(name: str) -> tuple[bool, int]:
    """Put the control first, without which no risk says anything, and then what is quick."""
    variant = variant_of(name)
    place = _QUICK.index(variant.kind) if variant.kind in _QUICK else len(_QUICK)
    return not variant.is_control, place


def compare_input(assignment: Assignment) -> dict[str, Any]:
    """Compare settings on a table, and show each as soon as it is finished."""
    from recveil.comparison import compare

    asked, folder = assignment.settings, assignment.folder

    def show(comparison: Comparison) -> None:
        text = json.dumps(_told(comparison))
        write_atomically(folder / SO_FAR, lambda beside: beside.write_text(text, encoding="utf-8"))
        assignment.tell("settings", len(comparison.rows))

    found = compare(
        asked["source"],
        Path(asked["out"]),
        methods=asked["methods"],
        ks=asked["ks"],
        shadows=asked["shadows"],
        so_far=show,
        **keywords_of(asked["reading"]),
    )
    found.write_html(folder / PAGE)
    return _told(found)


def _told(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data; that some is still to come is no warning here."""
    return {
        "comparison": replace(comparison, unfinished=0).to_dict(),
        "unfinished": comparison.unfinished,
    }


ATTACKED = "audit.html"


def make_release(asked: Assignment) -> dict[str, Any]:
    """Make a release, and have the checker look at what was written: `anonymize`, then `verify`."""
    from recveil.methods import anonymize
    from recveil.methods.registry import describe_to_publisher
    from recveil.release.claim import claim_kind
    from recveil.release.manifest import CARD, MANIFEST, FileEntry, private_twin
    from recveil.verification import verify
    from recveil.verification.other_files import describe_formulas
    from recveil.workbench.preview import preview

    settings = asked.settings
    output = Path(settings["output"])
    made = anonymize(
        settings["source"],
        output,
        k=settings["k"],
        **settings["options"],
        **keywords_of(settings["reading"]),
    )
    found = verify(output)
    released = made.release
    return {
        "name": output.name,
        "private": str(private_twin(output)),
        "verification": found.to_dict(),
        "caution": claim_kind(found.claim).caution,
        "sha256": FileEntry.of(output / MANIFEST).sha256,
        "card": (output / CARD).read_text(encoding="utf-8"),
        "preview": [row._asdict() for row in preview(output)],
        "told": [
            *describe_to_publisher(released, made.ratings),
            *describe_formulas(released.published.items),
        ],
        "earlier": list(dict.fromkeys(made.warnings(output))),
    }


def attack_release(asked: Assignment) -> dict[str, Any]:
    """Attack a release with what the table of its people tells: `recveil.auditing.audit`.

    Parameters
    ----------
    asked : Assignment
        Its settings are the `source`, the `reading`, the `release`, and the `sha256` of its
        release.json when it was verified.
    """
    from recveil.auditing import audit
    from recveil.report import write_audit_page

    settings = asked.settings
    _reject_another(settings)
    found = audit(
        settings["source"],
        release=settings["release"],
        curves=False,
        **keywords_of(settings["reading"]),
    )
    _reject_another(settings)
    plain = found.to_dict()
    write_audit_page(plain, asked.folder / ATTACKED)
    return {"release": plain["release"], "warnings": plain["warnings"]}


def describe_release(asked: Assignment) -> dict[str, Any]:
    """Describe a release for data portals with the publisher's words."""
    from recveil.publish import describe
    from recveil.release.manifest import FileEntry

    settings = asked.settings
    output = Path(settings["output"])
    _reject_another(settings)
    describe(settings["release"], output, card=settings["card"], force=True)
    _reject_another(settings)
    return {
        "text": output.read_text(encoding="utf-8"),
        "sha256": FileEntry.of(output).sha256,
    }


def _reject_another(settings: dict[str, Any]) -> None:
    """Refuse a release that took the place of the one that was verified."""
    from recveil.release.manifest import MANIFEST, FileEntry

    release = Path(settings["release"])
    if FileEntry.of(release / MANIFEST).sha256 != settings["sha256"]:
        raise RecveilError(
            f"{release.name}: is another release than the one that was verified here; make it "
            f"again",
            code="release.changed",
        )


# Returns plain data: what it found.
Task = Callable[[Assignment], dict[str, Any]]

_TASKS: dict[str, Task] = {
    "attack": attack_release,
    "audit": audit_input,
    "check": check_published,
    "compare": compare_input,
    "describe": describe_release,
    "draw audit": draw_audit,
    "inspect": inspect_input,
    "release": make_release,
    "warm up": warm_up,
}


def find_task(name: str) -> Task:
    """Return a task by its name.

    Examples
    --------
    >>> find_task("inspect").__name__
    'inspect_input'
    """
    if name not in _TASKS:
        raise RecveilError(
            f"{quoted(name)}: no such task; expected one of {', '.join(_TASKS)}",
            code="argument.value",
        )
    return _TASKS[name]
