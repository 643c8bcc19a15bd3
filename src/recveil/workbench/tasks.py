"""The tasks of a worker, each of which calls the library function of a verb."""

import io
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from recveil.comparison import Comparison
from recveil.comparison.settings import (
    Estimate,
    Feedback,
    default_methods,
    estimate_settings,
    kind_of,
    list_settings,
    variants_of,
)
from recveil.io.ingestion import NO_DATES
from recveil.io.options import OtherReadingOptions, ReadingOptions
from recveil.io.raw_rows import RawRows, find_problems, read_raw_rows
from recveil.publish.size_estimate import Expected, expect_sparse
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import claim_kind
from recveil.release.manifest import CARD, MANIFEST, FileEntry, private_folder
from recveil.release.manifest_reader import known_manifest
from recveil.release.private_folder import digest_of
from recveil.release.registry import variant_of
from recveil.runtime.atomic_writes import make_folder, write_atomically
from recveil.runtime.devices import reject_devices
from recveil.runtime.errors import RecveilError, printable, quoted, reason_of, shortened
from recveil.runtime.locks import FOR_OWNER, NOT_FOLLOWED
from recveil.runtime.number_format import format_bytes
from recveil.runtime.progress import parts
from recveil.runtime.safe_repr import brief
from recveil.workbench.project import Reading, Result, Settings
from recveil.workbench.wording import FIELD_TITLES, html_words


@brief
class Assignment(NamedTuple):
    """The job that a worker runs."""

    # Plain data
    settings: Settings
    # The job's private folder, for files next to the result
    folder: Path
    # Sends a name and plain data to the workbench
    report: Callable[[str, Any], object]


COLUMNS = ("user", "item", "rating", "time")
_TEXTS = (
    *COLUMNS,
    *("scale", "format", "time_format", "delimiter", "decimal", "null", "query", "table", "sheet"),
    *("order", "words"),
)
_MARKS = ("drop_off_scale", "drop_missing_ids", "wide", "likes")
# Options with choices, of which the first is the default.
_CHOICES = {"duplicates": ("error", "last", "mean"), "counts": ("", "log", "likes")}
_MOST_CHARACTERS = 4_000


def reading_options(form: Mapping[str, str]) -> Reading:
    """Return the reading options in a form, by name, without those at their default.

    >>> reading_options({"user": "2", "item": "", "likes": "on", "duplicates": "error"})
    {'user': '2', 'likes': True}
    """
    options: Reading = {}
    for name in _TEXTS:
        text = form.get(name, "").strip()
        if len(text) > _MOST_CHARACTERS:
            raise RecveilError(
                f"{FIELD_TITLES[name]}: is longer than {_MOST_CHARACTERS:,} characters; shorten it",
                code="option.value",
            )
        if text:
            options[name] = text
    options |= {name: True for name in _MARKS if form.get(name)}
    for name, choices in _CHOICES.items():
        value = form.get(name, choices[0])
        if value not in choices:
            raise RecveilError(
                f"{FIELD_TITLES[name]}: {quoted(value)} is not among {', '.join(choices)}",
                code="option.value",
            )
        if value != choices[0]:
            options[name] = value
    return options


def keywords_of(options: Reading) -> ReadingOptions:
    """Return reading options as keywords for `recveil.io.understand`, and for every verb.

    >>> keywords_of({"user": "2", "scale": "1:5:1"})["scale"].step
    1.0
    """
    keywords = cast(ReadingOptions, dict(options))
    if "scale" in options:
        keywords["scale"] = RatingScale.parse(str(options["scale"]))
    return keywords


AUDIT_PAGE = "audit.html"
# The file in the folder of an inspection with the first rows, which are there whatever fails.
FIRST_ROWS = "first_rows.json"
# Limits of the first rows that a page shows.
_ROWS, _CHARACTERS = 10, 80


def inspect_input(job: Assignment) -> Mapping[str, object]:
    """Inspect a table, after writing its first rows and the problems that they show."""
    from recveil.inspection import inspect

    source, reading = job.settings["source"], job.settings["reading"]
    raw = read_raw_rows(source, reading)
    if raw is not None:
        _write_first_rows(job, raw, [])
    try:
        result = inspect(source, **keywords_of(reading))
    except RecveilError as error:
        if raw is not None:
            problems = find_problems(raw, reading, error.code)
            is_covered = any(error.code in problem.codes for problem in problems)
            texts = [problem.text_of_page for problem in problems]
            _write_first_rows(job, raw, texts if is_covered else [str(error), *texts])
        raise
    sample = result.rows
    return {
        **result.to_dict(),
        "ratings_sha256": digest_of(result.ratings),
        "seconds": _estimate_seconds(result.ratings),
        "problems": [
            problem.text_of_page for problem in (find_problems(raw, reading, None) if raw else [])
        ],
        "rows": {
            "names": [str(name) for name in sample.names],
            "keys": [str(name) for name in sample.names],
            "has_header": not any(isinstance(name, int) for name in sample.names),
            "roles": list(sample.roles),
            "rows": _shown(sample.rows),
        },
    }


# Shadow releases of each setting, if membership inference is measured.
N_SHADOWS = 32
# The least k of the method that is chosen by default
_USUAL_K = 5


def _estimate_seconds(ratings: Ratings) -> Mapping[str, float]:
    settings = list_settings(of=kind_of(ratings))
    compared = estimate_settings(settings, len(settings), ratings, None)
    shadowed = estimate_settings(settings, len(settings), ratings, N_SHADOWS)
    release = expect_sparse(ratings, _USUAL_K, "auto", "parquet", None)
    return {
        "compared": compared.total_seconds,
        "setting": compared.seconds[settings[-1].title],
        "shadowed": shadowed.total_seconds,
        "release": release.seconds,
    }


def _shown(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the first rows as far as a page shows them."""
    return [[shortened(printable(cell), _CHARACTERS) for cell in row] for row in rows[:_ROWS]]


def _write_first_rows(job: Assignment, raw: RawRows, problems: list[str]) -> None:
    """Write the first rows for the page, which may show them while the table is read."""
    shown = {"names": [shortened(name) for name in raw.names], "rows": _shown(raw.rows)}
    plain = {**raw._asdict(), **shown, "last": [], "problems": problems}
    text = json.dumps(plain)
    write_atomically(job.folder / FIRST_ROWS, lambda file: file.write_text(text, encoding="utf-8"))
    job.report("rows", len(raw.rows))


def audit_input(job: Assignment) -> Mapping[str, object]:
    """Audit a table, and write its report and the risk of each user."""
    from recveil.auditing import audit, write_risk

    result = audit(
        job.settings["source"],
        curves=job.settings["curves"],
        **keywords_of(job.settings["reading"]),
    )
    if result.risk is not None:
        write_risk(result.ratings.users, result.risk, job.folder / "risk.csv")
    _write_page(result.to_html(), job.folder / AUDIT_PAGE)
    return {**result.to_dict(), "ratings_sha256": digest_of(result.ratings)}


def _write_page(html: str, path: Path) -> None:
    page = html_words(html)
    write_atomically(path, lambda file: file.write_text(page, "utf-8", "replace"))


def warm_up(_: Assignment) -> Mapping[str, object]:
    """Audit a small synthetic table, so that the code of audits is compiled."""
    from recveil.auditing import audit
    from recveil.datasets import make_ratings

    audit(make_ratings(n_users=120, n_items=60, n_ratings=2_000, seed=1), targets=30)
    return {}


# The description for data portals, next to the release folder in the zip.
DESCRIPTION = "croissant.json"
_ZIPPED_AT_ONCE = 1 << 18
# A zip can reveal when, by whom and where files were written; these constants replace that.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_READABLE = 0o100644 << 16
_PACKED_ALREADY = (".parquet",)


@brief
class ZipEntry(NamedTuple):
    """A file and its name in a zip."""

    # The name in the zip
    name: str
    path: Path


def published_files(folder: Path, sha256: str) -> list[ZipEntry]:
    """Return the verified files of a release, and no others; raise if one has changed."""
    changed = RecveilError(
        f"{folder.name}: was changed after it was verified; make it again, or check it on the page "
        f"Check",
        code="release.changed",
    )
    try:
        if FileEntry.of(folder / MANIFEST).sha256 != sha256:
            raise changed
        entries = known_manifest(folder).files
        _require_files(folder, {name: entry.sha256 for name, entry in entries.items()}, changed)
    except OSError as error:
        raise RecveilError(
            f"{folder.name}: cannot be read ({reason_of(error)}); make it again",
            code="input.unreadable",
        ) from error
    return [ZipEntry(f"{folder.name}/{name}", folder / name) for name in (*entries, MANIFEST)]


def converted_files(folder: Path, digests: Mapping[str, str]) -> list[ZipEntry]:
    """Return the files of a layout; raise if one is not as it was written."""
    changed = RecveilError(
        f"{folder.name}: was changed after it was written; write it again", code="release.changed"
    )
    try:
        _require_files(folder, digests, changed)
    except OSError:
        raise changed from None
    return [ZipEntry(f"{folder.name}/{name}", folder / name) for name in digests]


def _require_files(folder: Path, digests: Mapping[str, str | None], changed: RecveilError) -> None:
    for name, digest in digests.items():
        reject_devices(folder / name)
        if (folder / name).is_symlink() or FileEntry.of(folder / name).sha256 != digest:
            raise changed


def stream_zip(files: Iterable[ZipEntry]) -> Iterator[bytes]:
    """Yield a zip in pieces, without holding it in memory or on disk."""
    buffer = _ZipBuffer()
    with ZipFile(buffer, "w") as archive:
        for name, path in files:
            info = ZipInfo(name, _NO_TIME)
            info.create_system, info.external_attr = 3, _READABLE
            info.compress_type = ZIP_STORED if name.endswith(_PACKED_ALREADY) else ZIP_DEFLATED
            with path.open("rb") as source:
                info.file_size = path.stat().st_size  # beyond 4 GB the zip format differs
                with archive.open(info, "w") as target:
                    while piece := source.read(_ZIPPED_AT_ONCE):
                        target.write(piece)
                        yield buffer.take()
    yield buffer.take()


class _ZipBuffer(io.RawIOBase):
    """A stream that keeps what is written until it is taken, and cannot seek."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        content = bytes(piece)  # type: ignore[call-overload]
        self._buffer += content
        return len(content)

    def take(self) -> bytes:
        content = bytes(self._buffer)
        self._buffer.clear()
        return content


# A release has few files; an index of millions takes memory before anything is unpacked.
_MOST_FILES = 1_000
# Shared rows compress well, but a zip that grows more than this is a bomb.
_GROWTH, _ALWAYS = 200, 100 * 10**6
_AT_ONCE = 1 << 20
# Other compressions make gigabytes of one small piece, before they can be counted.
_COMPRESSIONS = (ZIP_STORED, ZIP_DEFLATED)
_REMEDY = "unpack it yourself, and name the folder"


def contains_release(path: Path) -> bool:
    """Check whether a file is a zip that contains a release.

    >>> contains_release(Path("nowhere.zip"))
    False
    """
    try:
        with ZipFile(path) as archive:
            return any(PurePosixPath(name).name == MANIFEST for name in archive.namelist())
    except (OSError, BadZipFile, ValueError, NotImplementedError):
        return False


@brief
class Unpacked(NamedTuple):
    """The content of a zip."""

    # The folder in the zip that contains the release; empty if there is none
    within: str
    # The description next to that folder, which is no part of the release; empty if none
    description: str


def unpack_release(path: Path, folder: Path) -> Unpacked:
    """Unpack the files of a release into a new folder; on errors, nothing stays."""
    for each in (folder.parent, folder):
        make_folder(each, exist_ok=each is not folder)
    try:
        with ZipFile(path) as archive:
            entries, unpacked = _entries(path, archive.infolist())
            room = min(_ALWAYS + _GROWTH * path.stat().st_size, _free(folder))
            for name, entry in entries.items():
                with archive.open(entry) as packed:
                    room -= _write(packed, folder / name, room, path.name)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        # zipfile raises many types of errors on damaged archives.
        if isinstance(error, RecveilError) or not isinstance(error, Exception):
            raise
        raise RecveilError(
            f"{path.name}: cannot be unpacked ({reason_of(error)}); pack it again",
            code="release.archive",
        ) from None
    return unpacked


def _entries(path: Path, infos: list[ZipInfo]) -> tuple[dict[str, ZipInfo], Unpacked]:
    """Return the files by name, and the one folder that contains them."""
    if len(infos) > _MOST_FILES:
        raise RecveilError(
            f"{path.name}: holds more than {_MOST_FILES:,} files; {_REMEDY}",
            code="release.too-large",
        )
    files = [info for info in infos if not info.is_dir()]
    for info in files:
        _reject_unexpected(path, info)
    # The workbench's zips contain the description of a release next to its folder.
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
    # On a file system that ignores case, one would replace the other.
    if len({name.casefold() for name in named}) != len(files):
        raise RecveilError(
            f"{path.name}: a file occurs twice in it; pack it again", code="release.archive"
        )
    (folder,) = folders
    description = DESCRIPTION if described else ""
    return named, Unpacked("/".join(folder.parts), description)


def _reject_unexpected(path: Path, info: ZipInfo) -> None:
    """Raise if an entry leads out of the folder, or is not a plain file."""
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
    if info.compress_type not in _COMPRESSIONS:
        raise RecveilError(
            f"{path.name}: {quoted(name)} has compression {info.compress_type}; expected stored "
            f"or deflated, as usual in a zip; {_REMEDY}",
            code="release.archive",
        )
    if info.flag_bits & 1:
        raise RecveilError(
            f"{path.name}: {quoted(name)} is locked by a password; {_REMEDY}",
            code="release.archive",
        )


def _write(packed: IO[bytes], place: Path, room: int, name: str) -> int:
    """Write one file, counting the real bytes against the limit; return its size."""
    size = 0
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | NOT_FOLLOWED
    with os.fdopen(os.open(place, flags, FOR_OWNER), "wb") as file:
        while piece := packed.read(_AT_ONCE):
            size += len(piece)
            if size > room:
                raise RecveilError(
                    f"{name}: becomes more than {format_bytes(max(room, 0))} when it is unpacked, "
                    f"and may be a bomb; {_REMEDY}",
                    code="release.too-large",
                )
            file.write(piece)
    return size


def _free(folder: Path) -> int:
    return max(0, shutil.disk_usage(folder).free - 10**9)


# The folder of a job into which a zip is unpacked.
UNPACKED = "unpacked"


def check_published(job: Assignment) -> Mapping[str, object]:
    """Verify a release, and audit it if its source table is given."""
    from recveil.verification import verify

    settings = job.settings
    place = Path(settings["place"])
    unpacked = None
    if settings["dropped"] and contains_release(place):
        folder = job.folder / UNPACKED / place.stem
        unpacked = unpack_release(place, folder)
        place = folder
    is_release = (place / MANIFEST).is_file()
    attack: Mapping[str, object] = {"release": None, "warnings": [], "dangers": []}
    why_not = ""
    costs = {"Verifying": 1, "Attacking": 9 if settings["source"] else 0}
    with parts("Checking", costs) as begin:
        begin("Verifying")
        result = verify(place, **settings["options"])
        begin("Attacking")
        if settings["source"] and is_release:
            try:
                attack = _audit_release(job, place)
            except RecveilError as error:  # the verdict stays
                why_not = str(error)
    if unpacked is not None:  # that folder is removed at the next check
        why_not = why_not.replace(f"{place.parent}{os.sep}", "")
    return {
        "is_release": is_release,
        "place": str(place),
        "unpacked": None if unpacked is None else unpacked._asdict(),
        "verification": result.to_dict(),
        "caution": claim_kind(result.claim).caution,
        **attack,
        "not_attacked": why_not,
    }


def _audit_release(job: Assignment, release: Path) -> Mapping[str, object]:
    """Attack a release with its source table, and write the report."""
    from recveil.auditing import audit

    reading = keywords_of(job.settings["reading"])
    result = audit(
        job.settings["source"],
        release=release,
        curves=False,
        users=job.settings.get("users"),
        attribute=job.settings.get("attribute"),
        **reading,
    )
    _write_page(result.to_html(), job.folder / AUDIT_PAGE)
    plain = result.to_dict()
    # Other pages show the notes on the table.
    warnings = [each for each in plain["warnings"] if each not in plain["data"]["notes"]]
    return {
        "release": plain["release"],
        **{name: plain[name] for name in ("risks", "risks_before", "data", "options", "risk")},
        "warnings": warnings,
        "dangers": plain["dangers"],
        "ratings_sha256": digest_of(result.ratings),
    }


# The finished part of a comparison that runs or was stopped, and the report.
PARTIAL_RESULT, COMPARISON_PAGE = "so_far.json", "comparison.html"
# Kinds of methods by time per setting, from 6 to 25 seconds on MovieLens 100K.
_QUICK = ("sparse", "synthetic", "simple", "k-corating, averaged", "k-corating, likes", "padded")


def feedback_of(inspected: Result | None) -> Feedback:
    """Return the kind of feedback that an inspection found; ratings if there is none."""
    if inspected is None:
        return "ratings"
    if inspected["data"]["scale"] == "likes":
        return "likes"
    return "ratings" if (inspected["scale"] or {}).get("ordered", True) else "nominal"


def list_methods(*, of: Feedback) -> dict[str, bool]:
    """Return the methods that can be compared, and whether each is compared by default.

    >>> list(list_methods(of="likes"))[:3]
    ['raw', 'sparse', 'synthetic-exact']
    """
    usual = default_methods(of=of)
    return {name: name in usual for name in sorted(variants_of(of), key=_order)}


def _order(name: str) -> tuple[bool, int]:
    """Sort the control first, as risks mean little without it, then the fastest methods."""
    variant = variant_of(name)
    place = _QUICK.index(variant.kind) if variant.kind in _QUICK else len(_QUICK)
    return not variant.is_control, place


def compare_input(job: Assignment) -> Mapping[str, object]:
    """Compare settings on a table, and write each result as soon as it is finished."""
    from recveil.comparison import compare
    from recveil.report.comparison.page import to_html

    settings, folder = job.settings, job.folder
    digest = ""

    def to_plain(comparison: Comparison) -> Mapping[str, object]:
        nonlocal digest
        digest = digest or digest_of(comparison.ratings)
        plain = {"comparison": comparison.to_dict(), "unfinished": comparison.unfinished}
        return {**plain, "ratings_sha256": digest}

    def show(comparison: Comparison) -> None:
        text = json.dumps(to_plain(comparison))
        write_atomically(
            folder / PARTIAL_RESULT, lambda file: file.write_text(text, encoding="utf-8")
        )
        job.report("settings", len(comparison.rows))

    def announce(estimate: Estimate) -> None:
        job.report("estimate", estimate.sentence())

    comparison = compare(
        settings["source"],
        Path(settings["out"]),
        methods=settings["methods"],
        k=settings["ks"],
        shadows=settings["shadows"],
        users=settings.get("users"),
        attribute=settings.get("attribute"),
        on_estimate=announce,
        on_progress=show,
        **keywords_of(settings["reading"]),
    )
    _write_page(to_html(comparison, on_page=True), folder / COMPARISON_PAGE)
    return to_plain(comparison)


def make_release(job: Assignment) -> Mapping[str, object]:
    """Make a release, and verify the files that were written."""
    from recveil.methods import anonymize
    from recveil.report.release import (
        describe_estimate,
        describe_series,
        describe_summary,
        linkage_warnings,
        total_warning,
    )
    from recveil.report.verification import describe_formulas
    from recveil.verification import verify
    from recveil.workbench.preview import preview

    settings = job.settings
    output = Path(settings["output"])

    def announce(expected: Expected) -> None:
        job.report("estimate", f"{describe_estimate(expected)}.")

    written = anonymize(
        settings["source"],
        output,
        on_estimate=announce,
        k=settings["k"],
        **settings["options"],
        **keywords_of(settings["reading"]),
    )
    result = verify(output)
    released = written.release
    return {
        "name": output.name,
        "private": str(private_folder(output)),
        "verification": result.to_dict(),
        "caution": claim_kind(result.claim).caution,
        "sha256": FileEntry.of(output / MANIFEST).sha256,
        "ratings_sha256": released.private.ratings_sha256,
        "linked": [each.sha256 for earlier in written.earlier for each in earlier.history],
        "card": (output / CARD).read_text(encoding="utf-8"),
        "preview": [row._asdict() for row in preview(output)],
        "statements": [
            *describe_summary(written.summary),
            *describe_formulas(released.published.items),
            *describe_series(written),
            *[note for note in written.reading.notes if note.startswith(NO_DATES)],
        ],
        "linkage_warnings": list(
            dict.fromkeys(
                [
                    *total_warning(written.total),
                    *linkage_warnings(
                        written.earlier,
                        output,
                        released.published.claim,
                        released.private.ratings_sha256,
                        written.total,
                    ),
                ]
            )
        ),
    }


def attack_release(job: Assignment) -> Mapping[str, object]:
    """Attack a release, which must be the one that was verified.

    Its settings are the `source`, the `reading`, the `release`, and the `sha256` of its
    release.json when it was verified.
    """
    _reject_another(job.settings)
    result = _audit_release(job, Path(job.settings["release"]))
    _reject_another(job.settings)
    return result


# The table without an erased user, in the folder of its job.
CLEANED = "cleaned.csv"
# Fields of a release that the next one of a series may lack, by the option that it then lacks.
_LOST = {
    "dates": ("dates", "date_range"),
    "users": ("users", "attribute", "sensitive_attribute"),
}


def erase_user(job: Assignment) -> Mapping[str, object]:
    """Report what a release has of a user, and write the table without them."""
    from recveil.methods import forget
    from recveil.report.erasure import next_command

    settings, output = job.settings, job.folder / CLEANED
    _reject_another(settings)
    options = keywords_of(settings["reading"])
    column = options.pop("user", None)  # here, user is whose rows are erased
    result = forget(
        settings["release"],
        user=settings["user"],
        ratings=settings["source"],
        output=output,
        user_column=column,
        **cast(OtherReadingOptions, options),
    )
    scale, command = result.newest.manifest.scale, next_command(result) or ""
    is_continued = result.decision == "row-kept"
    reading: Reading = {"likes": True} if scale.unary else {"scale": str(scale)}
    warned, n_cautions = result.warnings(), bool(result.others) + bool(result.n_unknown)
    return {
        "decision": result.decision,
        "sentences": [
            each.replace(str(output), CLEANED)
            for each in result.sentences()
            if not each.startswith(("Next: ", "USERS "))  # the page prepares that release
        ],
        "cautions": warned[:n_cautions],
        "dangers": warned[n_cautions:],
        "lost": [
            field
            for option, fields in _LOST.items()
            for field in fields
            if is_continued and f"--{option}" not in command
        ],
        "reading": {} if scale.labels else reading,
    }


def convert_release(job: Assignment) -> Mapping[str, object]:
    """Write a release in a layout for recipients."""
    from recveil.publish import convert

    settings, folder = job.settings, job.folder / job.settings["name"]
    _reject_another(settings)
    found = convert(settings["release"], folder, **settings["options"])
    _reject_another(settings)
    return {
        "notes": [each.replace(f"{job.folder}{os.sep}", "") for each in found.notes],
        "files": {each.name: FileEntry.of(each).sha256 for each in sorted(folder.iterdir())},
    }


def describe_release(job: Assignment) -> Mapping[str, object]:
    """Describe a release for data portals with the publisher's card."""
    from recveil.publish import describe

    settings = job.settings
    output = Path(settings["output"])
    _reject_another(settings)
    describe(settings["release"], output, card=settings["card"], force=True)
    _reject_another(settings)
    return {
        "text": output.read_text(encoding="utf-8"),
        "sha256": FileEntry.of(output).sha256,
    }


def _reject_another(settings: Settings) -> None:
    """Raise if a release is not the one that was verified."""
    release = Path(settings["release"])
    if FileEntry.of(release / MANIFEST).sha256 != settings["sha256"]:
        raise RecveilError(
            f"{release.name}: is not the release that was verified here; make it again",
            code="release.changed",
        )


# Returns its result as plain data.
Task = Callable[[Assignment], Mapping[str, object]]

_TASKS: dict[str, Task] = {
    "attack": attack_release,
    "audit": audit_input,
    "check": check_published,
    "compare": compare_input,
    "convert": convert_release,
    "describe": describe_release,
    "forget": erase_user,
    "inspect": inspect_input,
    "release": make_release,
    "warm up": warm_up,
}


def find_task(name: str) -> Task:
    """Return a task by its name.

    >>> find_task("inspect").__name__
    'inspect_input'
    """
    if name not in _TASKS:
        raise RecveilError(
            f"{quoted(name)}: no such task; expected one of {', '.join(_TASKS)}",
            code="argument.value",
        )
    return _TASKS[name]
