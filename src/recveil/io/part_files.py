"""Part files: a table that lies in several, in a folder, its partitions, or under a pattern."""

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from recveil.brief import brief
from recveil.errors import RecveilError, listed, quoted, shortened
from recveil.io.files import naming
from recveil.io.formats import netflix_files
from recveil.io.no_part import is_part, is_passed_over, refuse_folder_links, refuse_same
from recveil.io.source import Source
from recveil.memory import (
    MemoryLimitError,
    memory_limit,
    memory_limited,
    refuse_beyond_limit,
    refuse_for_memory,
)

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
    """One of the files that a table lies in.

    Attributes
    ----------
    path : Path
    label : str
        What to call it in an error: its path within the folder.
    keys : dict of str to (str or None)
        What the names of its folders say, such as year=2020, by Hive's custom.
    """

    path: Path
    label: str
    keys: dict[str, str | None]


def parts_of(path: Path) -> list[Part] | None:
    """List the files that a table lies in, by name; None for a file, and for other folders.

    Parameters
    ----------
    path : Path
        A folder, or a pattern such as ``ratings/*.parquet``. Files that are empty are no parts,
        nor is what has a name that starts with a point or an underscore, or lies below a folder
        that has one. A part may be a link to a file.

    Raises
    ------
    RecveilError
        If nothing fits a pattern, for a folder of which it is not clear what belongs to it, for
        a link to a folder, two parts that are one file, and a part that is no file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for year in 2020, 2021:
    ...         part = Path(folder, f"year={year}", "part-0.csv")
    ...         part.parent.mkdir()
    ...         _ = part.write_text("user,item,rating")
    ...     [(part.path.name, part.keys) for part in parts_of(Path(folder))]
    [('part-0.csv', {'year': '2020'}), ('part-0.csv', {'year': '2021'})]
    """
    with naming(path):  # asking for a file fails where its name is too long for the system
        if path.is_dir():
            if netflix_files(path) or (path / "release.json").exists():
                return None
            files = refuse_same(sorted(_files_in(path)))
            return _labelled(path, files, f"{path.resolve().name}/") or None
        if path.exists() or not is_pattern(path):
            return None
        return _fitting(path)


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
    for file in files:
        refuse_folder_links(file, base)
    found = _labelled(base, refuse_same(files))
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
                refuse_folder_links(each / "*", folder)
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
    """Read all parts as one table.

    Parameters
    ----------
    name : str
        What to call all of them in an error.
    parts : sequence of Part
    read : callable
        Reads one, in no more memory than may be taken then.
    keys : mapping of str to str
        For ratings or times the key that tells them, whatever the files hold.
    time : str or None
        The key whose values are the times, if no column holds them.

    Raises
    ------
    RecveilError
        For the first part that cannot be read, or whose columns are not those of the first.
    MemoryLimitError
        If all of them take more memory than may be taken.
    """
    sources: list[Source] = []
    held = 0
    for part in parts:
        with naming_part(part, name, held), memory_limited(_left(held)):
            source = _with_keys(read(part.path), part, keys, time)
        if sources:
            _refuse_other_columns(part, source, parts[0], sources[0])
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
    """Name a part by its path within the folder, in whatever is wrong with it.

    Parameters
    ----------
    part : Part
    name : str
        What to call all parts, of which so many bytes are `held` already.
    held : int
    """
    try:
        yield
    except MemoryLimitError as error:
        if not held:
            raise MemoryLimitError(_relabelled(str(error), part), code=error.code) from None
        refuse_for_memory(f"{name}: its parts up to {part.label}", memory_limit(), at_least=True)
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
    refuse_beyond_limit(what, (len((value or "").encode()) + _BESIDE_A_ROW) * n_rows)
    codes = pa.array([0], pa.int32()).take(pa.nulls(n_rows, pa.int32()).fill_null(0))
    values = pa.array([value], pa.string())
    return pa.DictionaryArray.from_arrays(codes, values).cast(pa.string())


def _refuse_other_columns(part: Part, source: Source, first: Part, expected: Source) -> None:
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
