"""Partition keys: columns of a table that stand in the names of its folders, such as rating=5."""

import errno
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from recveil.io.columns.columns import LIKED, USUAL_NAMES, plain_name
from recveil.io.detect.known_formats import netflix_files
from recveil.io.files import naming
from recveil.io.source import Selection, Source
from recveil.runtime.errors import RecveilError, listed, quoted, shortened
from recveil.runtime.memory import (
    MemoryLimitError,
    memory_limit,
    memory_limited,
    reject_beyond_limit,
    reject_for_memory,
)
from recveil.runtime.safe_repr import brief


def is_passed_over(name: str) -> bool:
    """Say whether a name is of what writers of parts leave beside them, such as _temporary.

    Examples
    --------
    >>> is_passed_over("_temporary")
    True
    """
    return name.startswith((".", "_")) and name != ".."


def is_part(file: Path, base: Path) -> bool:
    """Say whether something is a part; what is neither that nor a folder is refused by name.

    Examples
    --------
    >>> is_part(Path("parts", "_temporary", "0.csv"), Path("parts"))
    False
    """
    if any(map(is_passed_over, file.relative_to(base).parts)):
        return False
    try:
        found = file.stat()
    except (FileNotFoundError, RuntimeError):
        raise _no_part(file, base, "a link that leads nowhere") from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _no_part(file, base, "a link that leads to itself") from None
    if stat.S_ISDIR(found.st_mode):
        return False
    if not stat.S_ISREG(found.st_mode):
        raise _no_part(file, base, "a pipe, socket or device")
    return found.st_size > 0


def require_files(files: list[Path], base: Path) -> None:
    """Refuse what would be waited for or read twice: pipes, and two names of one file.

    Examples
    --------
    >>> require_files([], Path("netflix"))
    """
    for file in files:
        is_part(file, base)
    reject_same(files)


def _no_part(file: Path, base: Path, what: str) -> RecveilError:
    return RecveilError(
        f"{shortened(file.relative_to(base).as_posix(), 100)}: {what}, where a part of a table was "
        f"expected; remove it, or name a pattern that leaves it out",
        code="input.parts",
    )


def reject_folder_links(file: Path, base: Path) -> None:
    """Refuse a file behind a link to a folder: its rows may stand elsewhere among the parts.

    Examples
    --------
    >>> reject_folder_links(Path("parts", "0.csv"), Path("parts"))
    """
    for folder in file.relative_to(base).parents:
        if (base / folder).is_symlink() and folder.parts:
            raise RecveilError(
                f"{shortened(folder.as_posix(), 100)}: a link to a folder among the parts, which "
                f"may be read twice; put the folder itself there, or remove the link",
                code="input.parts",
            )


def reject_same(files: list[Path]) -> list[Path]:
    """Refuse two parts that are one file by links: its rows would be read twice.

    Examples
    --------
    >>> reject_same([])
    []
    """
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        found = file.stat()
        other = seen.setdefault((found.st_dev, found.st_ino), file)
        if other is not file:
            raise RecveilError(
                f"{shortened(file.name, 80)} and {shortened(other.name, 80)}: two parts that are "
                f"one file by a link, whose rows would be read twice; remove the link",
                code="input.parts",
            )
    return files


_PATTERN = re.compile(r"[*?\[]")
_PARTITION = re.compile(r"([^=/]+)=(.*)")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Folders within folders; nobody partitions a table by so many keys.
_MOST_DEEP = 64
# What a row takes beside its values while it is put in order, and what reading needs at least.
_BESIDE_A_ROW, _LEAST = 16, 10**7


@brief
class Part(NamedTuple):
    """One of the files that a table lies in."""

    path: Path
    # What to call it in an error: its path within the folder
    label: str
    # What the names of its folders say, such as year=2020, by Hive's custom
    keys: dict[str, str | None]


def parts_of(path: Path) -> list[Part] | None:
    """List the files that a table lies in, by name; None for a file, and for other folders."""
    with naming(path):  # asking for a file fails where its name is too long for the system
        if path.is_dir():
            if netflix_files(path) or (path / "release.json").exists():
                return None
            _reject_versions(path)
            files = reject_same(sorted(_files_in(path)))
            return _labelled(path, files, f"{path.resolve().name}/") or None
        if path.exists() or not is_pattern(path):
            return None
        return _fitting(path)


# Tables whose folders keep rows that were deleted or changed, and where they say which.
_VERSIONED = {
    "Delta Lake": "_delta_log/*.json",
    "Hudi": ".hoodie",
    "Iceberg": "metadata/*.metadata.json",
}


def _reject_versions(folder: Path) -> None:
    """Raise for a folder whose files hold rows of older versions of a table, which were deleted."""
    folder = folder.resolve()
    tables = [folder]
    while _PARTITION.fullmatch(tables[-1].name) or tables[-1].name == "data":
        tables.append(tables[-1].parent)
    for table in tables:
        for kind, log in _VERSIONED.items():
            if any(table.glob(log)):
                raise RecveilError(
                    f"{shortened(table.name, 60)}: a table of {kind}, whose files hold rows of "
                    f"older versions, too, such as deleted ones; read it with Spark, or export the "
                    f"current version as Parquet",
                    code="input.versioned-table",
                )


def is_pattern(path: Path) -> bool:
    """Say whether a path has characters that stand for others.

    Examples
    --------
    >>> is_pattern(Path("parts/*.csv"))
    True
    """
    return _PATTERN.search(str(path)) is not None


def _fitting(path: Path) -> list[Part]:
    """List the files that fit a pattern."""
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
            f"{path.name}: no file fits this pattern in {shortened(str(path.parent))}; expected "
            f"one such as 'ratings/*.parquet' (between quotes, so that the shell keeps it)",
            code="input.not-found",
        )
    return found


def _globbed(base: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield what fits a pattern, links that lead nowhere, too."""
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
        if is_passed_over(each.name):
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
            f"{folder.resolve().name}: files lie beside the folder {quoted(min(others), 40)}, and "
            f"it is not clear what belongs to the table; name a pattern: '{folder.name}/*'",
            code="input.parts",
        )


def _too_deep(folder: Path) -> RecveilError:
    return RecveilError(
        f"{shortened(folder.name, 60)}: more than {_MOST_DEEP} folders lie in each other below "
        f"the one that was named; name the one that holds the table",
        code="input.parts",
    )


def _labelled(base: Path, files: Sequence[Path], within: str = "") -> list[Part]:
    parts = []
    for file in files:
        inner = file.relative_to(base) if file.is_relative_to(base) else file
        pairs = [found for name in inner.parts[:-1] if (found := _PARTITION.fullmatch(name))]
        keys = {_unquoted(each[1]): _value(each[2]) for each in pairs}
        parts.append(Part(file, within + inner.as_posix(), keys))
    return parts


def _value(text: str) -> str | None:
    return None if text in ("", _NO_VALUE) else _unquoted(text)


def _unquoted(text: str) -> str:
    """Return a name as it was before it became a folder's."""
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
        with naming_part(part, name, held), memory_limited(_left(held)):
            source = _with_keys(read(part.path), part, keys, time)
        if sources:
            _reject_other_columns(part, source, parts[0], sources[0])
        sources.append(source)
        held += source.table.nbytes + _BESIDE_A_ROW * source.table.num_rows
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
    told = f"{len(parts):,} part{'s' * (len(parts) > 1)}"
    more: dict[str, Any] = {"spans": sum(spans[1:], spans[0]) if spans else None}
    return first._replace(table=table, locate=locate, layout=(told, *first.layout), **more)


def _left(held: int) -> int:
    return max(memory_limit() - held, _LEAST)


@contextmanager
def naming_part(part: Part, name: str = "", held: int = 0) -> Iterator[None]:
    """Name a part by its path within the folder, in whatever is wrong with it."""
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
    """Add what the names of its folders tell."""
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
    """Return a column of text that is the same in each row."""
    reject_beyond_limit(what, (len((value or "").encode()) + _BESIDE_A_ROW) * n_rows)
    codes = pa.array([0], pa.int32()).take(pa.nulls(n_rows, pa.int32()).fill_null(0))
    values = pa.array([value], pa.string())
    return pa.DictionaryArray.from_arrays(codes, values).cast(pa.string())


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
    """Put the tables under each other; whole numbers of any width are one type."""
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
        columns[name] = pa.chunked_array(
            [chunk for source in sources for chunk in source.table[name].cast(common).chunks],
            common,
        )
    return pa.table(columns)


def _common(one: pa.DataType, other: pa.DataType, *, is_rating: bool) -> pa.DataType | None:
    """Return the type that holds all of two, if there is one."""
    kinds = (one, other)
    if one == other:
        return one
    if all(map(_whole, kinds)) and pa.uint64() not in kinds:
        return pa.int64()
    if is_rating and all(_whole(kind) or pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    return None


def _whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind))


_BETWEEN = re.compile(r"[^a-z0-9]+|(?<=[a-z])(?=[0-9])")
_OF_RUN = re.compile(r"[0-9a-f]+")
# What somebody calls a file of what people did not like, or passed over.
_NOT_LIKED = frozenset(
    (
        *("dislike", "dislikes", "disliked", "unlike", "unlikes", "unliked", "skip", "skips"),
        *("skipped", "down", "downs", "downvote", "downvotes", "downvoted", "thumbsdown", "hate"),
        *("hates", "hated", "negative", "negatives", "bans", "banned", "blocked", "reject"),
        *("rejects", "rejected", "dismiss", "dismissed", "ignored", "unseen"),
    )
)


def reject_disliked_parts(parts: Sequence[Part], where: str) -> None:
    """Refuse parts without ratings of which one is called as what people did not like."""
    for part in parts:
        if _NOT_LIKED & set(_words_in(part)):
            raise RecveilError(
                f"{shortened(where, 60)}: no rating column, and its part {quoted(part.label, 60)} "
                f"may hold what was not liked; put ratings into a column, name a pattern that "
                f"leaves it out, or say that each row is a like with likes (--likes)",
                code="column.missing",
            )


def describe_names(parts: Sequence[Part]) -> list[str]:
    """Report the names of parts without ratings if they differ: they may mean something."""
    names = {_words_in(part): part for part in reversed(parts)}
    if len(names) < 2:
        return []
    told = listed(sorted(part.label for part in names.values()), 120)
    return [f"Parts have different names ({told}), and all their rows were read as likes."]


def _words_in(part: Part) -> tuple[str, ...]:
    """Return the words in the names of a part and of its folders, but not what a run counts."""
    names = [name for name in part.label.lower().split("/") if "=" not in name]
    words = [word for name in names for word in _BETWEEN.split(name)]
    return tuple(word for word in words if word and not _OF_RUN.fullmatch(word))


_DATE = re.compile(r"\d{4}-\d\d-\d\d.*")
# Keys that say when rows came, in figures and marks between; those of `USUAL_NAMES` do anyway.
_FIGURES = re.compile(r"[\d.:_/TZ+-]+")
_OF_TIME = frozenset(
    (
        *("year", "yyyy", "y", "quarter", "month", "mm", "m", "week", "dd", "d", "hour", "hh"),
        *("h", "minute", "yearmonth", "yyyymm", "yyyymmdd", "dt", "ds"),
    )
)
# How writers call what only spreads the rows; and what is called as another column.
_OF_SPREADING = frozenset(
    (
        *("part", "partition", "shard", "bucket", "chunk", "batch", "file", "fold", "split"),
        *("userbucket", "itembucket"),
    )
)
_OF_NO_RATING = _OF_SPREADING.union(*(USUAL_NAMES[role] for role in ("user", "item", "time")))
# Names of the day of rows, which are no usual names of columns in files.
_OF_DAYS = ("dt", "ds")


@brief
class Keyed(NamedTuple):
    """What the names of folders tell of a table, and what is left to be read of its files."""

    # For the files, without what the folders tell
    selection: Selection
    # The keys that hold the ratings or the times
    # The keys that hold users, items, ratings or times
    roles: dict[str, str]
    # Other keys, which are not read
    # Other keys, which are not read, unless one tells the times of files without any
    left: tuple[str, ...]

    def describe(self, names: Collection[str | int]) -> tuple[str, ...]:
        """Describe what the folders tell of a table, given the names of its columns."""
        read = [f"{role} from its folders' names" for role in self.roles if role != "time"]
        left = [key for key in self.left if key not in names]
        unread = f"not read: {listed(left, 60)} in its folders' names"
        return (*read, unread) if left else tuple(read)


def time_key(parts: Sequence[Part]) -> str | None:
    """Return the key that tells the date of all rows of each part, if there is one.

    Examples
    --------
    >>> from pathlib import Path
    >>> time_key([Part(Path("0.csv"), "date=2020-01-15/0.csv", {"date": "2020-01-15"})])
    'date'
    """
    for key in parts[0].keys:
        if plain_name(key) in (*USUAL_NAMES["time"], *_OF_DAYS) and all(
            _DATE.fullmatch(part.keys.get(key) or "") for part in parts
        ):
            return key
    return None


def keyed(
    parts: Sequence[Part], names: Sequence[str], selection: Selection, where: str, format: str
) -> Keyed:
    """Say which columns the names of folders tell, by the rules for those of a file."""
    keys = [key for key in keys_of(parts) if key not in names]
    given = {role: name for role, name in selection.given.items() if name is not None}
    roles = {role: name for role, name in given.items() if name in keys}
    roles |= _ids_in_keys(keys, names, given)
    folders = {role: key for role, key in roles.items() if role in ("user", "item")}
    if folders and format not in ("parquet", "arrow"):
        role, key = next(iter(folders.items()))
        raise RecveilError(
            f"{shortened(where, 60)}: no {role} column in its files, and {quoted(key, 40)} in its "
            f"folders' names, where that is read for Parquet and Arrow alone; write that column "
            f"into the files",
            code="column.missing",
        )
    doubtful = [key for key in keys if key not in given.values() and not _is_no_rating(key, parts)]
    if doubtful and "rating" not in given:
        told = f"{shortened(where, 60)} (with {listed(doubtful, 60)} in its folders' names)"
        left = {role: name for role, name in given.items() if role not in roles}
        asked = replace(selection, given=left, folders=folders)
        found = asked.choose([*names, *doubtful], told).get("rating")
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
    return Keyed(selection, roles, tuple(key for key in unread if key not in roles.values()))


def _ids_in_keys(
    keys: Sequence[str], names: Sequence[str], given: Mapping[str, str]
) -> dict[str, str]:
    """Return the keys that hold users or items, if neither the caller nor a file has a column."""
    found = {}
    plain = {plain_name(name) for name in names if name not in given.values()}
    for role in ("user", "item"):
        usual = USUAL_NAMES[role]
        fitting = [key for key in keys if plain_name(key) in usual]
        if role not in given and fitting and plain.isdisjoint(usual):
            found[role] = min(fitting, key=lambda key: usual.index(plain_name(key)))
    return found


def keys_of(parts: Sequence[Part]) -> list[str]:
    """List the keys in the names of folders, in their order.

    Examples
    --------
    >>> from pathlib import Path
    >>> keys_of([Part(Path("0.csv"), "stars=5/0.csv", {"stars": "5"})])
    ['stars']
    """
    return list(dict.fromkeys(key for part in parts for key in part.keys))


def _is_no_rating(key: str, parts: Sequence[Part]) -> bool:
    """Say whether a key is known to say when a row came, or where it was put, and nothing else."""
    plain = plain_name(key)
    if plain in _OF_NO_RATING:
        return True
    return plain in _OF_TIME and all(
        _FIGURES.fullmatch(part.keys.get(key) or "0") for part in parts
    )


def _reject_partly(parts: Sequence[Part], role: str, key: str) -> None:
    """Refuse a key that the names of some folders lack."""
    for part in parts:
        if key not in part.keys:
            raise RecveilError(
                f"{shortened(part.label, 80)}: no folder's name tells {quoted(key, 40)}, as that "
                f"of other parts does; expected a {role} for each row; move it into such a folder, "
                f"or name a pattern that leaves it out",
                code="input.parts",
            )
