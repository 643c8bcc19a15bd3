"""Writers of ratings by renaming a temporary file, and the escape of spreadsheets' formulas."""

import gzip
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from recveil.io.item_features import ItemTable, split_genres
from recveil.io.pipes import is_standard, temporary_folder, write_to_standard_output
from recveil.io.table_split import TableSplit
from recveil.ratings import Ratings
from recveil.ratings.rating_scale import published_values
from recveil.runtime.atomic_writes import (
    make_folder,
    placing,
    reject_in_release,
    sweep,
    sweep_temporary,
    temporary_folder_near,
    write_atomically,
)
from recveil.runtime.devices import reject_traps
from recveil.runtime.errors import RecveilError, describe_count, quoted

RECBOLE_TYPES = {
    "user_id": "user_id:token",
    "item_id": "item_id:token",
    "rating": "rating:float",
    "timestamp": "timestamp:float",
}
_BATCH_ROWS = 1 << 16


def written_table(ratings: Ratings) -> pa.Table:
    """Return the columns to be written; likes have no ratings.

    >>> written_table(Ratings.from_columns([1, 2], [7, 7])).column_names
    ['user_id', 'item_id']
    """
    table = ratings.to_arrow()
    return table.drop_columns("rating") if ratings.is_unary else table


def write_csv(ratings: Ratings, temporary: Path, target: Path) -> None:
    """Write a CSV file with a header and a rating per line."""
    table = written_table(ratings)
    _write_text(table, ",".join(table.column_names), ",", temporary, target)


def write_inter(ratings: Ratings, temporary: Path, target: Path) -> None:
    """Write an atomic file of RecBole."""
    _reject_texts(
        (*ratings.users, *ratings.items, *ratings.scale.labels),
        r"[\t\r\n]",
        f"{target.name}: %s holds a tab or a line break, which .inter does not support",
    )
    table = written_table(ratings)
    types = RECBOLE_TYPES | ({"rating": "rating:token"} if ratings.scale.labels else {})
    header = "\t".join(types[name] for name in table.column_names)
    _write_text(table, header, "\t", temporary, target)


def _reject_texts(texts: Iterable[object], pattern: str, problem: str) -> None:
    """Raise a RecveilError for the first text that matches a pattern."""
    for text in texts:
        if isinstance(text, str) and re.search(pattern, text):
            raise RecveilError(
                f"{problem.replace('%s', quoted(text))}; write Parquet or CSV", code="id.line-break"
            )


def write_plain(ratings: Ratings, temporary: Path, target: Path) -> None:
    """Write tab-separated ratings without a header, as surprise and Elliot read them."""
    _reject_texts(
        (*ratings.users, *ratings.items),
        r"[\t\r\n]|^\s|\s$",
        f"{target.name}: %s holds a tab, a line break, or a space at an end, which this layout "
        f"does not support",
    )
    if ratings.scale.labels:
        raise RecveilError(
            f"{target.name}: this layout holds numbers, but these ratings are labels "
            f"({ratings.scale}); write CSV or Parquet",
            code="table.kind",
        )
    table = ratings.to_arrow()
    with temporary.open("wb") as file, _zipped(file, target) as stream:
        if not any(_needs_quotes(column, "\t") for column in table.columns):
            arrow_csv.write_csv(table, stream, _options("\t", "none"))
            return
        for batch in table.to_batches(_BATCH_ROWS):  # quotes would be part of the ids
            columns = [column.cast(pa.string()) for column in batch.columns]
            lines = pc.binary_join_element_wise(*columns, "\t")
            stream.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())


def _write_text(
    table: pa.Table, header: str, delimiter: str, temporary: Path, target: Path
) -> None:
    # pyarrow quotes all text or none; most ids need no quotes.
    quotes = any(_needs_quotes(column, delimiter) for column in table.columns)
    with temporary.open("wb") as file, _zipped(file, target) as stream:
        stream.write(f"{header}\n".encode())
        arrow_csv.write_csv(table, stream, _options(delimiter, "needed" if quotes else "none"))


def _options(delimiter: str, quoting: str) -> Any:
    return arrow_csv.WriteOptions(
        include_header=False, batch_size=_BATCH_ROWS, delimiter=delimiter, quoting_style=quoting
    )


def _zipped(file: IO[bytes], target: Path) -> Any:
    if not target.name.lower().endswith(".gz"):
        return nullcontext(file)
    # No name and no time in the gzip header: equal ratings give equal bytes.
    return gzip.GzipFile("", "wb", 6, file, mtime=0)


def _needs_quotes(column: pa.ChunkedArray, delimiter: str) -> bool:
    if not pa.types.is_string(column.type):
        return False
    return bool(pc.any(pc.match_substring_regex(column, f'["\r\n{delimiter}]')).as_py())


_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
# The version of LensKit's data model whose interactions are sorted by user and item.
_LENSKIT_SCHEMA = "2025.3"
# RecBole replaces any data set of this name with a small table of its own.
_RECBOLES_OWN = "ml-100k"


def write_lenskit(
    ratings: Ratings,
    folder: Path,
    target: Path,
    item_table: ItemTable | None,
    user_table: ItemTable | None = None,
    split: TableSplit | None = None,
    _times: str | None = None,
) -> None:
    """Write a folder that ``lenskit.data.Dataset.load`` reads, and test ratings if split."""
    if split is not None:
        pq.write_table(written_table(split.test), folder / "test.parquet", compression="zstd")
        ratings = split.train
    entities = {"user": ratings.users, "item": ratings.items}
    known_of = {
        name: {} if table is None else table.rows_of(entities[name])
        for name, table in (("user", user_table), ("item", item_table))
    }
    for name, ids in entities.items():
        table = pa.table({f"{name}_id": pa.array(ids), **known_of[name]})
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    columns = {
        "user_num": pa.array(ratings.user_positions()),
        "item_num": pa.array(ratings.indices),
        "rating": published_values(ratings.values.astype(np.float64), ratings.scale),
    }
    if ratings.days is not None:
        seconds = pa.array(ratings.days.astype(np.int64) * 86_400)
        columns["timestamp"] = seconds.cast(pa.timestamp("s")).cast(pa.timestamp("us"))
    pq.write_table(pa.table(columns), folder / "rating.parquet", compression="zstd")
    attributes = {name: {"layout": "scalar"} for name in columns if not name.endswith("_num")}
    schema: dict[str, object] = {
        "version": _LENSKIT_SCHEMA,
        "name": target.name,
        "default_interaction": "rating",
        "entities": {
            name: {
                "id_type": "str" if ids.dtype == object else "int",
                "attributes": {column: {"layout": "scalar"} for column in known_of[name]},
            }
            for name, ids in entities.items()
        },
        "relationships": {
            "rating": {
                "entities": {"user": None, "item": None},
                "interaction": True,
                "repeats": "forbidden",
                "attributes": attributes,
            }
        },
    }
    _write(folder / "schema.json", json.dumps(schema, indent=2, ensure_ascii=False))


def write_recbole(
    ratings: Ratings,
    folder: Path,
    target: Path,
    item_table: ItemTable | None,
    user_table: ItemTable | None = None,
    split: TableSplit | None = None,
    times: str | None = None,
) -> None:
    """Write atomic files of RecBole, and the ``.yaml`` that describes their columns."""
    name = target.name
    if name == _RECBOLES_OWN:
        raise RecveilError(
            f"{name}: RecBole replaces any data set of this name with a table of its own; choose "
            f"another name",
            code="option.value",
        )
    files = {"": ratings}
    if split is not None and split.valid is not None:
        files = {".train": split.train, ".valid": split.valid, ".test": split.test}
    for part, content in files.items():
        inter = folder / f"{name}{part}.inter"
        write_inter(content, inter, inter)
    columns = ", ".join(written_table(ratings).column_names)
    lines = [
        "# RecBole: run it in the folder that holds this one, with this file in config_file_list.",
        "data_path: .",
        f"dataset: {json.dumps(name, ensure_ascii=False)}",
        *([] if split is None else [f"# test: {split.rule}; valid: the same of the others"]),
        *([] if split is None else ["benchmark_filename: [train, valid, test]"]),
        *([] if times is None else [f"# timestamp: {times}"]),
        'field_separator: "\\t"',
        "USER_ID_FIELD: user_id",
        "ITEM_ID_FIELD: item_id",
        *([] if ratings.is_unary else ["RATING_FIELD: rating"]),
        *(["TIME_FIELD: timestamp"] if ratings.days is not None else []),
        "load_col:",
        f"  inter: [{columns}]",
    ]
    for kind, side, ids in (
        ("user", user_table, ratings.users),
        ("item", item_table, ratings.items),
    ):
        if side is not None:
            known = side.rows_of(ids)
            _write_side_file(kind, ids, known, folder / f"{name}.{kind}")
            lines.append(f"  {kind}: {json.dumps([f'{kind}_id', *known], ensure_ascii=False)}")
    if item_table is not None:
        lines.append('seq_separator: "|"')
    _write(folder / f"{name}.yaml", "\n".join(lines))


def _write_side_file(kind: str, ids: NDArray[Any], known: dict[str, list[str]], path: Path) -> None:
    """Write the items or users of RecBole; genres are sequences."""
    texts = (*known, *itertools.chain(*known.values()))
    _reject_texts(texts, rf"[\t\r\n]|^{kind}_id$", f"{path.name}: %s cannot be in an atomic file")
    named = f"{path.name}: %s cannot name a column, whose type follows a colon"
    _reject_texts(known, ":", named)
    types = {name: _recbole_type(name, column) for name, column in known.items()}
    header = "\t".join([f"{kind}_id:token", *(f"{name}:{types[name]}" for name in known)])
    table = pa.table({f"{kind}_id": pa.array(ids), **known})
    _write_text(table, header, "\t", path, path)


def _recbole_type(name: str, column: list[str]) -> str:
    if name == "genres":
        return "token_seq"
    return "float" if all(map(_DECIMAL.fullmatch, column)) else "token"


# Names of MovieLens's columns.
_MOVIELENS = {"user_id": "userId", "item_id": "movieId"}


def write_movielens(
    ratings: Ratings,
    folder: Path,
    target: Path,
    item_table: ItemTable | None,
    user_table: ItemTable | None = None,
    split: TableSplit | None = None,
    times: str | None = None,
) -> None:
    """Write ``ratings.csv``, ``movies.csv`` and ``users.csv`` if known, and a ``README.txt``."""
    files = {"ratings.csv": ratings}
    if split is not None:
        files = {"train.csv": split.train, "test.csv": split.test}
    for file_name, part in files.items():
        table = written_table(part)
        table = table.rename_columns([_MOVIELENS.get(name, name) for name in table.column_names])
        file = folder / file_name
        _write_text(table, ",".join(table.column_names), ",", file, file)
    lines = [
        f"{target.name}: {describe_count(ratings.n_ratings, 'row')} of "
        f"{describe_count(ratings.n_users, 'user')} and {describe_count(ratings.n_items, 'item')}",
        "",
        "Written by recveil convert. It anonymizes nothing; the source states what is protected.",
        f"{' and '.join(files)}: {', '.join(table.column_names)}; scale {ratings.scale}",
        *([] if split is None else [f"test.csv: {split.rule}"]),
    ]
    if ratings.days is not None:
        lines.append(f"timestamp: {times or 'seconds since 1970 (UTC) at the start of the day'}")
    if item_table is not None:
        known = item_table.rows_of(ratings.items)
        first = [name for name in ("title", "genres") if name in known]
        order = [*first, *(name for name in known if name not in first)]
        columns = {name: pa.array(known[name]) for name in order}
        movies = pa.table({"movieId": pa.array(ratings.items), **columns})
        lines.append(_write_side_table(movies, folder / "movies.csv"))
    if user_table is not None:
        known = user_table.rows_of(ratings.users)
        users = pa.table({"userId": pa.array(ratings.users), **known})
        lines.append(_write_side_table(users, folder / "users.csv"))
    _write(folder / "README.txt", "\n".join(lines))


def _write_side_table(table: pa.Table, file: Path) -> str:
    """Write a table of items or users; return its line in the README."""
    _write_text(table, ",".join(map(_quoted_name, table.column_names)), ",", file, file)
    return f"{file.name}: {', '.join(table.column_names)}"


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if re.search('[",\r\n]', name) else name


# The ids of items that Elliot knows by numbers.
_ITEM_IDS = "item_ids.tsv"


def write_elliot(
    ratings: Ratings,
    folder: Path,
    target: Path,
    item_table: ItemTable | None,
    _user_table: ItemTable | None = None,
    split: TableSplit | None = None,
    times: str | None = None,
) -> None:
    """Write ``dataset.tsv``, and a configuration of Elliot; text ids with genres get numbers."""
    files, strategy = {"dataset": ratings}, "dataset"
    if split is not None:
        files, strategy = {"train": split.train, "test": split.test}, "fixed"
    genres = None if item_table is None else item_table.rows_of(ratings.items).get("genres")
    has_numbers = genres is not None and ratings.items.dtype == object
    items = np.arange(ratings.n_items) if has_numbers else ratings.items
    for name, part in files.items():
        rows = part.users, items, part.indptr, part.indices, part.values, part.days, part.scale
        write_plain(Ratings(*rows), folder / f"{name}.tsv", target)
    lines = [
        "experiment:",
        f"  dataset: {json.dumps(target.name, ensure_ascii=False)}",
        "  data_config:",
        f"    strategy: {strategy}",
        *(f"    {name}_path: ./{name}.tsv" for name in files),
    ]
    if has_numbers:  # Elliot reads attributes of items whose ids are whole numbers
        _reject_texts(ratings.items, r"[\t\r\n]", f"{_ITEM_IDS}: %s holds a tab or a line break")
        _write(folder / _ITEM_IDS, _numbered(ratings.items))
        lines.insert(0, f"# The items are numbered; {_ITEM_IDS} has their ids.")
    if times is not None:
        lines.insert(0, f"# timestamp: {times}")
    if genres is not None:
        _write_genres(items, genres, folder)
        lines += [
            "    side_information:",
            "      - dataloader: ItemAttributes",
            "        attribute_file: ./item_attributes.tsv",
        ]
    if split is None:
        lines += [
            "  splitting:",
            "    test_splitting:",
            "      strategy: random_subsampling",
            "      test_ratio: 0.2",
        ]
    lines += [
        "  top_k: 10",
        "  evaluation:",
        "    simple_metrics: [nDCG]",
        "  models:",
        "    MostPop:",
        "      meta:",
        "        save_recs: false",
    ]
    _write(folder / "config.yml", "\n".join(lines))


def _write_genres(items: NDArray[Any], genres: list[str], folder: Path) -> None:
    """Write the numbers of each item's genres, and the names of the numbers."""
    of_items = [split_genres(text) for text in genres]
    names = sorted(set(itertools.chain(*of_items)))
    number = {name: str(at) for at, name in enumerate(names)}
    rows = zip(items.tolist(), of_items, strict=True)
    # An item without genres stays, as Elliot drops the ratings of items that are not in the file.
    lines = ["\t".join([str(item), *(number[name] for name in of)]) for item, of in rows]
    _write(folder / "item_attributes.tsv", "\n".join(lines))
    _write(folder / "features.tsv", _numbered(names))


def _numbered(names: Iterable[str]) -> str:
    return "\n".join(f"{at}\t{name}" for at, name in enumerate(names))


def how_to_load(
    format: str, target: Path, ratings: Ratings, *, is_split: bool = False
) -> str | None:
    r"""Return the code that loads a file in its target library; None for a plain file."""
    place = quoted(str(target), 120)
    if format == "lenskit":
        test = quoted(str(target / "test.parquet"), 120)
        lists = f"lenskit.data.ItemListCollection.load_parquet({test}, 'user_id', layout='flat')"
        return f"lenskit.data.Dataset.load({place})" + f", {lists}" * is_split
    if format == "recbole":
        file = quoted(f"{target.name}/{target.name}.yaml", 120)
        return f"run_recbole(model='BPR', config_file_list=[{file}])"
    if format == "elliot":
        items = f"; {_ITEM_IDS} has the ids of its items" * (target / _ITEM_IDS).exists()
        return f"elliot.run.run_experiment({quoted(str(target / 'config.yml'), 120)}){items}"
    if format == "movielens":
        name = "train.csv" if is_split else "ratings.csv"
        return f"pandas.read_csv({quoted(str(target / name), 120)})"
    if format == "surprise":
        times = "" if ratings.days is None else " timestamp"
        scale = ratings.scale
        return (
            f"surprise.Dataset.load_from_file({place}, surprise.Reader(line_format='user item "
            f"rating{times}', sep='\\t', rating_scale=({scale.low:g}, {scale.high:g})))"
        )
    return None


def _write(file: Path, text: str) -> None:
    file.write_text(f"{text}\n", "utf-8")


# Takes the ratings, the path to write to, and the final path.
_Writer: TypeAlias = Callable[[Ratings, Path, Path], Any]
# Takes the folder to write to, and public columns of the items, too.
_FolderWriter: TypeAlias = Callable[..., Any]


def write_ratings(
    ratings: Ratings,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    item_table: ItemTable | None = None,
    user_table: ItemTable | None = None,
    split: TableSplit | None = None,
    times: str | None = None,
) -> None:
    """Write ratings to a file; on failure, an existing file stays unchanged.

    Only the current user can read the file, as it contains users' ratings.

    The columns are `user_id`, `item_id`, `rating` (except for likes) and, if known, `timestamp`:
    Unix seconds at the start of the day.

    Parameters
    ----------
    ratings : Ratings
    path : str or path
        The file to write, or "-" for standard output. A text file whose name ends in ``.gz`` is
        gzipped.
    format : str, optional
        One of parquet, csv, inter and surprise (tab-separated text without a header), or of the
        folders recbole, lenskit, movielens and elliot, which must not exist. By the suffix of
        `path` if not given; CSV for standard output.
    item_table, user_table : ItemTable, optional
        Public columns of the items, and of the users, for a folder; Elliot reads none of users.
    split : TableSplit, optional
        The same ratings, split, for a folder.
    times : str, optional
        What the times of a release are, for a folder's description.

    Raises
    ------
    RecveilError
        For an unknown format or suffix, Parquet for a terminal, a folder for standard output, a
        path that cannot be written or is in a release, or an id that the format does not support.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with temporary_folder() as folder:
    ...     path = Path(folder, "ratings.inter")
    ...     write_ratings(Ratings.from_columns(["ann", "ben"], [7, 9], [4.5, 3]), path)
    ...     print(path.read_text().expandtabs(16))
    user_id:token   item_id:token   rating:float
    ann             7               4.5
    ben             9               3
    """
    chosen = resolve_target(path, format)
    if item_table is not None and chosen not in FOLDERS:
        raise RecveilError(
            f"item_table (--item-table): expected a folder's format ({', '.join(FOLDERS)}), got "
            f"{chosen}; name one as target_format (--target-format)",
            code="option.unsupported",
        )
    if split is not None and chosen not in FOLDERS:
        raise RecveilError(
            f"split (--split): expected a folder's format ({', '.join(FOLDERS)}), got {chosen}; "
            f"name one as target_format (--target-format), or leave split out",
            code="option.unsupported",
        )
    if is_standard(path):
        _write_to_standard_output(ratings, chosen)
        return
    reject_traps(path)
    target = Path(path).resolve()  # a link stays a link, and its target is replaced
    if chosen in FOLDERS:
        reject_in_release(target)
        _write_folder(FOLDERS[chosen], target, ratings, item_table, user_table, split, times)
        return
    if target.exists() and not target.is_file():
        raise RecveilError(
            f"{target}: expected a plain file to replace; choose another place",
            code="output.not-writable",
        )
    write = _WRITERS[chosen]
    write_atomically(target, lambda temporary: write(ratings, temporary, target))


def _write_to_standard_output(ratings: Ratings, format: str) -> None:
    if format == "parquet" and sys.stdout.isatty():
        raise RecveilError(
            "Parquet is no text for a terminal; redirect it to a file or a program, or name a file",
            code="output.not-writable",
        )
    # A file first, so that no program reads the start of an output that fails later.
    with temporary_folder() as folder:
        file = Path(folder, "standard output")
        _WRITERS[format](ratings, file, file)
        write_to_standard_output(file)


def reject_replacing(path: str | PathLike[str], *, force: bool) -> None:
    """Raise a RecveilError if `path` exists, unless `force` is set and it is a file.

    Also removes temporary files that killed runs left for it, and rejects a path in a release.
    """
    if is_standard(path):
        return
    reject_traps(path)
    target = Path(path)
    sweep_temporary(target.resolve())
    reject_in_release(target)
    if target.is_dir() or (target.exists() and not force):
        remedy = "name another target" if target.is_dir() else "replace it with force (--force)"
        raise RecveilError(f"{target} exists; {remedy}", code="output.exists")


def resolve_target(path: str | PathLike[str], format: str | None = None) -> str:
    """Return the named format of an output, or the one of its suffix.

    >>> resolve_target("ratings.csv.gz")
    'csv'
    """
    name = Path(path).name
    ending = ".csv" if is_standard(path) else Path(name.lower().removesuffix(".gz")).suffix
    chosen = ending.removeprefix(".") if format is None else format
    known = (*_WRITERS, *FOLDERS)
    if chosen not in (known if format else _BY_ENDING):
        what = f"format {quoted(format)}" if format else f"{name}: ending {quoted(ending)}"
        raise RecveilError(
            f"{what}: expected one of {', '.join(known)}; end the name in .parquet, .csv, "
            f".inter, .csv.gz or .inter.gz, or name it: format (--format), target_format "
            f"(--target-format)",
            code="option.value" if format else "output.extension",
        )
    if chosen in FOLDERS and (is_standard(path) or name.lower().endswith(".gz")):
        raise RecveilError(
            f"{name}: {chosen} is a folder; name one that does not exist yet",
            code="output.extension",
        )
    if chosen == "parquet" and name.lower().endswith(".gz"):
        raise RecveilError(
            f"{name}: Parquet is compressed within; leave out .gz", code="output.extension"
        )
    return chosen


def _write_parquet(ratings: Ratings, temporary: Path, _target: Path) -> None:
    pq.write_table(written_table(ratings), str(temporary), compression="zstd")


def _write_folder(write: _FolderWriter, target: Path, ratings: Ratings, *more: Any) -> None:
    """Write a temporary folder, and rename it to its target once it is complete."""
    if target.exists():
        raise RecveilError(
            f"{target} exists; name another target for a folder", code="output.exists"
        )
    prefix = f".{target.name}.layout-"
    try:
        sweep(target.parent, rf"{re.escape(prefix)}[0-9a-f]{{8}}")
        with temporary_folder_near(target.parent, prefix) as staging:
            new = staging / "new"
            make_folder(new)
            write(ratings, new, target, *more)
            for file in new.iterdir():
                file.chmod(0o600)
            with placing(target, new):
                new.rename(target)
    except OSError as error:
        raise RecveilError(
            f"{target}: cannot be written ({error.strerror or error}); choose another target",
            code="output.not-writable",
        ) from error


_WRITERS: dict[str, _Writer] = {
    "parquet": _write_parquet,
    "csv": write_csv,
    "inter": write_inter,
    "surprise": write_plain,
}
# Formats identified by a suffix.
_BY_ENDING = ("parquet", "csv", "inter")
# Formats that are folders, without a suffix.
FOLDERS: dict[str, _FolderWriter] = {
    "lenskit": write_lenskit,
    "recbole": write_recbole,
    "movielens": write_movielens,
    "elliot": write_elliot,
}
# Those that hold attributes of users.
WITH_USERS = ("lenskit", "recbole", "movielens")


# A spreadsheet runs a cell that begins with one of these characters as a formula, which may send
# neighbouring cells to a third party. A leading apostrophe makes the cell text. A text that begins
# with apostrophes and such a character gets one more, so that removing one restores the original.
# Some spreadsheets also split a line at other characters than the comma, so the escape is repeated
# after each of these. Numbers are not escaped, but the text -5 becomes '-5 and is restored as text.
# Spreadsheets of some languages accept the full-width forms.
_STARTS = "=+\\-@\t\r\n＝＋－＠"  # noqa: RUF001
_RISKY = re.compile(f"'*[{_STARTS}]")
# Characters at which a line may be split into cells; a comma within a cell is quoted.
_SPLITS = ";|\t\r\n"
_BEGINS = f"(^|[{_SPLITS}])"
_PLAIN = re.compile(f"{_BEGINS}(?='*[{_STARTS}])")
_MADE = re.compile(f"{_BEGINS}'(?='*[{_STARTS}])")
_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")


def is_formula(value: object) -> bool:
    r"""Return whether a spreadsheet may run a value as a formula."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return False
    return _RISKY.match(value) is not None and value[0] != "'"


def as_cell(value: Any) -> Any:
    """Return a value as written to a file, with formulas escaped."""
    return _PLAIN.sub(r"\1'", value) if isinstance(value, str) else value


def from_cell(cell: str) -> str:
    """Return the value of a cell that `as_cell` made."""
    return _MADE.sub(r"\1", cell)
