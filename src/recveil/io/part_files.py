"""Tables in several part files, and columns in the names of their folders, such as rating=5."""

import errno
import os
import re
import shlex
import stat
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from recveil.io.columns.columns import LIKED, USUAL_NAMES, plain_name
from recveil.io.detect.known_formats import netflix_files
from recveil.io.files import naming
from recveil.io.source import Selection, Source
from recveil.runtime.errors import RecveilError, first_line_of, listed, quoted, shortened
from recveil.runtime.memory import (
    MemoryLimitError,
    memory_limit,
    memory_limited,
    reject_beyond_limit,
    reject_for_memory,
)
from recveil.runtime.safe_repr import brief


def is_ignored(name: str) -> bool:
    """Return whether a name marks a file that is no part, such as a log of the writer.

    >>> is_ignored("_temporary")
    True
    """
    return name.startswith((".", "_")) and name != ".."


def is_part(file: Path, base: Path) -> bool:
    """Return whether a path is a part; raise a RecveilError for anything but a file or folder.

    >>> is_part(Path("parts", "_temporary", "0.csv"), Path("parts"))
    False
    """
    if any(map(is_ignored, file.relative_to(base).parts)):
        return False
    try:
        found = file.stat()
    except (FileNotFoundError, RuntimeError):
        raise _no_part(file, base, "a broken link") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _no_part(file, base, "a link to itself") from None
    if stat.S_ISDIR(found.st_mode):
        return False
    if not stat.S_ISREG(found.st_mode):
        raise _no_part(file, base, "a pipe, socket or device")
    return found.st_size > 0


def require_files(files: list[Path], base: Path) -> None:
    """Raise a RecveilError for pipes, and for two names of one file.

    >>> require_files([], Path("netflix"))
    """
    for file in files:
        is_part(file, base)
    reject_same(files)


def _no_part(file: Path, base: Path, what: str) -> RecveilError:
    return RecveilError(
        f"{shortened(file.relative_to(base).as_posix(), 100)}: {what}, where a part of a table was "
        f"expected; remove it, or name a pattern that excludes it",
        code="input.parts",
    )


def reject_folder_links(file: Path, base: Path) -> None:
    """Raise a RecveilError for a file in a linked folder, whose rows may be read twice.

    >>> reject_folder_links(Path("parts", "0.csv"), Path("parts"))
    """
    for folder in file.relative_to(base).parents:
        if (base / folder).is_symlink() and folder.parts:
            raise RecveilError(
                f"{shortened(folder.as_posix(), 100)}: a link to a folder among the parts, which "
                f"may be read twice; move the folder itself there, or remove the link",
                code="input.parts",
            )


def reject_same(files: list[Path]) -> list[Path]:
    """Raise a RecveilError for two parts that are links to one file.

    >>> reject_same([])
    []
    """
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        found = file.stat()
        other = seen.setdefault((found.st_dev, found.st_ino), file)
        if other is not file:
            raise RecveilError(
                f"{shortened(file.name, 80)} and {shortened(other.name, 80)}: two parts are links "
                f"to one file, whose rows would be read twice; remove one",
                code="input.parts",
            )
    return files


_PATTERN = re.compile(r"[*?\[]")
_PARTITION = re.compile(r"([^=/]+)=(.*)")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Maximum depth of folders; no table is partitioned by so many keys.
_MOST_DEEP = 64
# Bytes of a row in addition to its values while rows are sorted, and the least that reading needs.
_A_ROW, _LEAST = 16, 10**7


@brief
class Part(NamedTuple):
    """One of the files of a table."""

    path: Path
    # Its path within the folder, for messages
    label: str
    # Values in the names of its folders, such as year=2020 in Hive's layout
    keys: dict[str, str | None]


def parts_of(path: Path) -> list[Part] | None:
    """List the files of a table, by name; None for a file, and for other folders."""
    with naming(path):  # a name may be too long for the system
        if path.is_dir():
            if netflix_files(path) or (path / "release.json").exists():
                return None
            _reject_versions(path)
            files = reject_same(sorted(_files_in(path)))
            return _labelled(path, files, f"{path.resolve().name}/") or None
        if path.exists() or not is_pattern(path):
            return None
        return _fitting(path)


# Formats of tables whose folders keep deleted rows, and the files that list these.
_VERSIONED = {
    "Delta Lake": "_delta_log/*.json",
    "Hudi": ".hoodie",
    "Iceberg": "metadata/*.metadata.json",
}


def _reject_versions(folder: Path) -> None:
    """Raise a RecveilError for a folder whose files hold rows of older versions of a table."""
    folder = folder.resolve()
    tables = [folder]
    while _PARTITION.fullmatch(tables[-1].name) or tables[-1].name == "data":
        tables.append(tables[-1].parent)
    for table in tables:
        for kind, log in _VERSIONED.items():
            if any(table.glob(log)):
                raise RecveilError(
                    f"{shortened(table.name, 60)}: a {kind} table, whose files also hold deleted "
                    f"rows; read it with Spark, or export the current version as Parquet",
                    code="input.versioned-table",
                )


def is_pattern(path: Path) -> bool:
    """Return whether a path has wildcards.

    >>> is_pattern(Path("parts/*.csv"))
    True
    """
    return _PATTERN.search(str(path)) is not None


def _fitting(path: Path) -> list[Part]:
    """List the files that match a pattern."""
    at = next(at for at, name in enumerate(path.parts) if _PATTERN.search(name))
    base = Path(*path.parts[:at])
    try:
        fitting = set(_globbed(base, path.parts[at:])) if base.is_dir() else set()
    except ValueError:
        fitting = set()  # such as a**b
    except RecursionError:
        raise _too_deep(base) from None
    files = [file for file in sorted(fitting) if is_part(file, base)]
    for folder in {parent for file in files for parent in file.parents}:
        if folder == base or base in folder.parents:
            _reject_versions(folder)
    for file in files:
        reject_folder_links(file, base)
    found = _labelled(base, reject_same(files))
    if not found:
        raise RecveilError(
            f"{path.name}: no file matches this pattern in {shortened(str(path.parent))}; expected "
            f"one such as 'ratings/*.parquet' (in quotes, so that the shell keeps it)",
            code="input.not-found",
        )
    return found


def _globbed(base: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield all paths that match a pattern, including broken links."""
    *above, last = names
    if _PATTERN.search(last):
        yield from base.glob("/".join(names))
        return
    for folder in base.glob("/".join(above)):
        if os.path.lexists(folder / last):
            yield folder / last


def _files_in(folder: Path, depth: int = 0) -> Iterator[Path]:
    """Yield the parts in a folder and its partitions."""
    if depth > _MOST_DEEP:
        raise _too_deep(folder)
    others = []
    found = False
    for each in sorted(folder.iterdir()):
        if is_ignored(each.name):
            continue
        if each.is_dir():
            if _PARTITION.fullmatch(each.name):
                _reject_versions(each)
                reject_folder_links(each / "*", folder)
                yield from _files_in(each, depth + 1)
            else:
                others.append(each.name)
        elif is_part(each, folder):
            found = True
            yield each
    if found and others:
        raise RecveilError(
            f"{folder.resolve().name}: holds files and the folder {quoted(min(others), 40)}, and "
            f"either may be the table; name a pattern: {shlex.quote(str(folder / '*'))}",
            code="input.parts",
        )


def _too_deep(folder: Path) -> RecveilError:
    return RecveilError(
        f"{shortened(folder.name, 60)}: folders are nested more than {_MOST_DEEP} deep; name the "
        f"one that holds the table",
        code="input.parts",
    )


def _labelled(base: Path, files: Sequence[Path], within: str = "") -> list[Part]:
    parts = []
    for file in files:
        inner = file.relative_to(base) if file.is_relative_to(base) else file
        pairs = [found for name in inner.parts[:-1] if (found := _PARTITION.fullmatch(name))]
        keys = {
            _unquoted(key): None if value in ("", _NO_VALUE) else _unquoted(value)
            for key, value in (pair.groups() for pair in pairs)
        }
        parts.append(Part(file, within + inner.as_posix(), keys))
    return parts


def _unquoted(text: str) -> str:
    """Decode the escapes in the name of a partition's folder."""
    return _PERCENT.sub(lambda found: chr(int(found[1], 16)), text)


def read_parts(
    name: str,
    parts: Sequence[Part],
    read: Callable[[Path], Source],
    keys: Mapping[str, str],
    time: str | None = None,
) -> Source:
    """Read all parts as one table."""
    sources: list[Source] = []
    held = 0
    for part in parts:
        left = max(memory_limit() - held, _LEAST)
        with naming_part(part, name, held), memory_limited(left):
            source = _with_keys(read(part.path), part, keys, time)
        if sources:
            _reject_other_columns(part, source, parts[0], sources[0])
        sources.append(source)
        held += source.table.nbytes + _A_ROW * source.table.num_rows
    starts = [0, *accumulate(source.table.num_rows for source in sources)]

    places = [source.locate for source in sources]  # and not their tables

    def locate(row: int) -> str:
        at = bisect_right(starts, row) - 1
        return _relabelled(places[at](int(row) - starts[at]), parts[at])

    table = _joined(parts, sources)
    first = sources[0]
    spans = [
        each.spans._replace(first=each.spans.first and _relabelled(each.spans.first, part))
        for part, each in zip(parts, sources, strict=True)
        if each.spans is not None
    ]
    layout = (f"{len(parts):,} part{'s' * (len(parts) > 1)}", *first.layout)
    summed = sum(spans[1:], spans[0]) if spans else None
    return first._replace(table=table, locate=locate, layout=layout, spans=summed)


@contextmanager
def naming_part(part: Part, name: str = "", held: int = 0) -> Iterator[None]:
    """Name a part by its path within the folder in the errors of a block."""
    try:
        yield
    except MemoryLimitError as error:
        if not held:
            raise MemoryLimitError(_relabelled(str(error), part), code=error.code) from None
        reject_for_memory(f"{name}: its parts up to {part.label}", memory_limit(), at_least=True)
    except RecveilError as error:
        raise RecveilError(_relabelled(str(error), part), code=error.code) from None


def _relabelled(message: str, part: Part) -> str:
    own = part.path.name
    label = shortened(part.label, 120)
    return label + message[len(own) :] if message.startswith(own) else f"{label}: {message}"


def _with_keys(source: Source, part: Part, keys: Mapping[str, str], time: str | None) -> Source:
    """Add the columns in the names of a part's folders."""
    if time is not None and "time" not in source.table.column_names:
        keys = {"time": time, **keys}
    for role, key in keys.items():
        column = _constant(part.keys[key], source.table.num_rows, f"{part.path.name}: its {role}s")
        table = source.table
        if role in table.column_names:
            table = table.drop_columns(role)
        table = table.append_column(role, column)
        source = source._replace(table=table, names={**source.names, role: key})
    return source


def _constant(value: str | None, n_rows: int, what: str) -> pa.Array:
    reject_beyond_limit(what, (len((value or "").encode()) + _A_ROW) * n_rows)
    return pa.repeat(pa.scalar(value, pa.string()), n_rows)


def _reject_other_columns(part: Part, source: Source, first: Part, expected: Source) -> None:
    same = (source.format, dict(source.names), source.n_columns)
    if same == (expected.format, dict(expected.names), expected.n_columns):
        return
    raise RecveilError(
        f"{shortened(part.label, 60)}: expected the format and columns of "
        f"{shortened(first.label, 40)} ({expected.format}: {listed(expected.names.values(), 60)}), "
        f"got {source.format}: {listed(source.names.values(), 60)}; name only parts of one table",
        code="input.parts",
    )


def _joined(parts: Sequence[Part], sources: list[Source]) -> pa.Table:
    """Concatenate the tables; whole numbers of any width are one type."""
    columns = {}
    for name in sources[0].table.column_names:
        kinds = [source.table.schema.field(name).type for source in sources]
        common = kinds[0]
        for part, kind in zip(parts, kinds, strict=True):
            if (both := _common(common, kind, is_rating=name == "rating")) is None:
                raise RecveilError(
                    f"{shortened(part.label, 60)}: its {name}s are {shortened(str(kind), 40)}, "
                    f"but {shortened(str(kinds[0]), 40)} in {shortened(parts[0].label, 40)}; write "
                    f"all parts with the same types",
                    code="input.parts",
                )
            common = both
        chunks: list[pa.Array] = []
        for part, source in zip(parts, sources, strict=True):
            try:
                chunks += source.table[name].cast(common).chunks
            except pa.ArrowInvalid as error:  # whole numbers that floats do not keep
                raise RecveilError(
                    f"{shortened(part.label, 60)}: its {name}s are whole numbers that the floats "
                    f"of another part cannot hold ({first_line_of(error)}); write all parts with "
                    f"the same types",
                    code="input.parts",
                ) from None
        columns[name] = pa.chunked_array(chunks, common)
    return pa.table(columns)


def _common(one: pa.DataType, other: pa.DataType, *, is_rating: bool) -> pa.DataType | None:
    """Return the type that holds the values of both types, or None."""
    if one == other:
        return one
    are_whole = [pa.types.is_integer(kind) for kind in (one, other)]
    if all(are_whole) and pa.uint64() not in (one, other):
        return pa.int64()
    are_numbers = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (one, other)]
    return pa.float64() if is_rating and all(are_numbers) else None


_BETWEEN = re.compile(r"[^a-z0-9]+|(?<=[a-z])(?=[0-9])")
_OF_RUN = re.compile(r"[0-9a-f]+")
# Names of files with items that users disliked or ignored.
_NOT_LIKED = frozenset(
    (
        *("dislike", "dislikes", "disliked", "unlike", "unlikes", "unliked", "skip", "skips"),
        *("skipped", "down", "downs", "downvote", "downvotes", "downvoted", "thumbsdown", "hate"),
        *("hates", "hated", "negative", "negatives", "bans", "banned", "blocked", "reject"),
        *("rejects", "rejected", "dismiss", "dismissed", "ignored", "unseen"),
    )
)


def reject_disliked_parts(parts: Sequence[Part], where: str) -> None:
    """Raise a RecveilError if the name of a part suggests disliked items instead of likes."""
    for part in parts:
        if _NOT_LIKED & set(_words_in(part)):
            raise RecveilError(
                f"{shortened(where, 60)}: no rating column, and its part {quoted(part.label, 60)} "
                f"may hold disliked items; put ratings into a column, name a pattern that excludes "
                f"it, or declare each row a like with likes (--likes)",
                code="column.missing",
            )


def describe_names(parts: Sequence[Part]) -> list[str]:
    """Report the names of parts without ratings if they differ, as they may have a meaning."""
    names = {_words_in(part): part for part in reversed(parts)}
    if len(names) < 2:
        return []
    different = listed(sorted(part.label for part in names.values()), 120)
    return [f"Parts have different names ({different}), and all their rows were read as likes."]


def _words_in(part: Part) -> tuple[str, ...]:
    """Return the words in the names of a part and its folders, without numbers and run ids."""
    names = [name for name in part.label.lower().split("/") if "=" not in name]
    words = [word for name in names for word in _BETWEEN.split(name)]
    return tuple(word for word in words if word and not _OF_RUN.fullmatch(word))


_DATE = re.compile(r"\d{4}-\d\d-\d\d.*")
# Keys of times, in addition to `USUAL_NAMES`, whose values are digits and separators.
_FIGURES = re.compile(r"[\d.:_/TZ+-]+")
_OF_TIME = frozenset(
    (
        *("year", "yyyy", "y", "quarter", "month", "mm", "m", "week", "dd", "d", "hour", "hh"),
        *("h", "minute", "yearmonth", "yyyymm", "yyyymmdd", "dt", "ds"),
    )
)
# Keys that only distribute rows over files, and names of other columns.
_OF_SPREADING = frozenset(
    (
        *("part", "partition", "shard", "bucket", "chunk", "batch", "file", "fold", "split"),
        *("userbucket", "itembucket"),
    )
)
_OF_NO_RATING = _OF_SPREADING.union(*(USUAL_NAMES[role] for role in ("user", "item", "time")))
# Further keys of days, which are no usual names of columns.
_OF_DAYS = ("dt", "ds")


@brief
class PartitionKeys(NamedTuple):
    """The roles of partition keys, and the columns to read from the files."""

    # Columns to read from the files
    selection: Selection
    # The keys that hold users, items, ratings or times
    roles: dict[str, str]
    # Other keys, which are not read, although one may hold the times of files without any
    left: tuple[str, ...]

    def describe(self, names: Collection[str | int]) -> tuple[str, ...]:
        """Report which keys are read, given the names of the table's columns."""
        read = [f"{role} from its folders' names" for role in self.roles if role != "time"]
        left = [key for key in self.left if key not in names]
        unread = f"not read: {listed(left, 60)} in its folders' names"
        return (*read, unread) if left else tuple(read)


def time_key(parts: Sequence[Part]) -> str | None:
    """Return the key that holds the date of each part, if there is one.

    >>> time_key([Part(Path("0.csv"), "date=2020-01-15/0.csv", {"date": "2020-01-15"})])
    'date'
    """
    for key in parts[0].keys:
        if plain_name(key) in (*USUAL_NAMES["time"], *_OF_DAYS) and all(
            _DATE.fullmatch(part.keys.get(key) or "") for part in parts
        ):
            return key
    return None


def assign_keys(
    parts: Sequence[Part], names: Sequence[str], selection: Selection, where: str, format: str
) -> PartitionKeys:
    """Assign roles to partition keys, by the rules for the columns of a file."""
    keys = [key for key in keys_of(parts) if key not in names]
    given = {role: name for role, name in selection.given.items() if name is not None}
    roles = {role: name for role, name in given.items() if name in keys}
    roles |= _ids_in_keys(keys, names, given)
    folders = {role: key for role, key in roles.items() if role in ("user", "item")}
    if folders and format not in ("parquet", "arrow"):
        role, key = next(iter(folders.items()))
        raise RecveilError(
            f"{shortened(where, 60)}: the {role} column {quoted(key, 40)} is in its folders' names "
            f"alone, where it is read for Parquet and Arrow only; write it into the files",
            code="column.missing",
        )
    doubtful = [key for key in keys if key not in given.values() and not _is_no_rating(key, parts)]
    if doubtful and "rating" not in given:
        where = f"{shortened(where, 60)} (with {listed(doubtful, 60)} in its folders' names)"
        left = {role: name for role, name in given.items() if role not in roles}
        with_keys = replace(selection, given=left, folders=folders)
        found = with_keys.choose([*names, *doubtful], where).get("rating")
        if found in doubtful:
            roles["rating"] = found
    for role, key in roles.items():
        _reject_partly(parts, role, key)
    selection = replace(
        selection,
        given={role: name for role, name in given.items() if role not in roles},
        feedback=LIKED if "rating" in roles else selection.feedback,
        times=selection.times and "time" not in roles,
        folders=folders,
    )
    unread = [key for key in keys if plain_name(key) not in _OF_SPREADING]
    return PartitionKeys(
        selection, roles, tuple(key for key in unread if key not in roles.values())
    )


def _ids_in_keys(
    keys: Sequence[str], names: Sequence[str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return the keys of users or items that neither the caller nor a file has a column for."""
    found = {}
    plain = {plain_name(name) for name in names if name not in given.values()}
    for role in ("user", "item"):
        usual = USUAL_NAMES[role]
        fitting = [key for key in keys if plain_name(key) in usual]
        if role not in given and fitting and plain.isdisjoint(usual):
            found[role] = min(fitting, key=lambda key: usual.index(plain_name(key)))
    return found


def keys_of(parts: Sequence[Part]) -> list[str]:
    """List the keys in the names of folders, in order.

    >>> keys_of([Part(Path("0.csv"), "stars=5/0.csv", {"stars": "5"})])
    ['stars']
    """
    return list(dict.fromkeys(key for part in parts for key in part.keys))


def _is_no_rating(key: str, parts: Sequence[Part]) -> bool:
    """Return whether a key holds a time or the number of a part, and certainly no rating."""
    figures = all(_FIGURES.fullmatch(part.keys.get(key) or "0") for part in parts)
    return plain_name(key) in (_OF_NO_RATING | _OF_TIME if figures else _OF_NO_RATING)


def _reject_partly(parts: Sequence[Part], role: str, key: str) -> None:
    """Raise a RecveilError for a key that is missing in the names of some folders."""
    for part in parts:
        if key not in part.keys:
            raise RecveilError(
                f"{shortened(part.label, 80)}: no folder's name has {quoted(key, 40)}, as those of "
                f"other parts; expected a {role} for each row; move the part into such a folder, "
                f"or name a pattern that excludes it",
                code="input.parts",
            )
