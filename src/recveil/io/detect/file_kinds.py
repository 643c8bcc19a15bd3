"""Detection of unsupported kinds of files by content, with a remedy for each."""

import codecs
import pickletools
import re
import shlex
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from recveil.io.databases.address import NAMES
from recveil.io.databases.connection import kind_of_head
from recveil.io.files import is_gzipped, open_bytes
from recveil.io.worker import opened_archive, packing_of, tables_in
from recveil.runtime.errors import RecveilError, listed, quoted, shortened

HEAD_BYTES = 1 << 16


# Supported binary formats.
COLUMNAR = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


class Kind(NamedTuple):
    """The name of a kind of file, with an article, how to convert it, and its code."""

    what: str
    remedy: str
    code: str = "input.not-a-table"


_SHEET = "save the sheet as CSV (UTF-8), and name that file"
_FRAME = "write its table as Parquet or CSV, and name that file"
_UNPACK = "unpack it, and name the file in it"
_UTF_8 = "save it as UTF-8 text"
_ASK = "ask for the table itself, as CSV or Parquet"
_TRUSTED = "if you trust it, load it with pandas.read_pickle; "
# The input of a command, replaced for a packed file.
_CAT = "cat FILE"
_UNPACKING = {
    "gzip": "gunzip < FILE",
    "bzip2": "bunzip2 < FILE",
    "xz": "unxz < FILE",
    "zstd": "unzstd < FILE",
    "zip": "unzip -p FILE",
}

_SPSS = Kind("an SPSS file", "read it with pandas.read_spss; " + _FRAME)
_PICKLE = Kind("a Python pickle", _TRUSTED + _FRAME)
_STATA = Kind("a Stata file", "read it with pandas.read_stata; " + _FRAME)
_RDATA = Kind(
    "an R data file", "in R: load('FILE'); write.csv(TABLE, 'ratings.csv', row.names = FALSE)"
)
_RDS = Kind("an R data file", "in R: write.csv(readRDS('FILE'), 'ratings.csv', row.names = FALSE)")
_IMAGE, _MEDIA, _PROGRAM = (
    Kind(what, _ASK) for what in ("an image", "a sound or video file", "a program")
)

# Word files begin in the same way; opening them raises an error.
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLD_WORKBOOK = "an old Excel workbook"

_BINARY = {
    _OLD_OFFICE: Kind(f"{_OLD_WORKBOOK}, or another file of Office", _SHEET),
    b"\x89HDF\r\n\x1a\n": Kind("an HDF5 file", "read it with pandas.read_hdf or h5py; " + _FRAME),
    b"\x93NUMPY": Kind("a numpy array", "read it with numpy.load; " + _FRAME),
    **dict.fromkeys((b"\x80\x02", b"\x80\x03", b"\x80\x04\x95", b"\x80\x05\x95"), _PICKLE),
    b"ORC": Kind("an ORC file", "read it with pandas.read_orc; " + _FRAME),
    b"Obj\x01": Kind("an Avro file", _FRAME),
    b"FEA1": Kind("an old Feather file (version 1)", "read it with pandas.read_feather; " + _FRAME),
    b"RDX": _RDATA,
    b"X\n\0\0\0": _RDS,
    b"$FL2": _SPSS,
    b"$FL3": _SPSS,
    b"MATLAB 5.0": Kind("a MATLAB file", "read it with scipy.io.loadmat; " + _FRAME),
    b"BZh": Kind("bzip2 data", "unpack it (bunzip2 FILE), and name what comes out"),
    b"\xfd7zXZ\0": Kind("xz data", "unpack it (unxz FILE), and name what comes out"),
    b"\x28\xb5\x2f\xfd": Kind("zstd data", "unpack it (unzstd FILE), and name what comes out"),
    b"\x04\x22\x4d\x18": Kind("lz4 data", "unpack it (unlz4 FILE), and name what comes out"),
    b"7z\xbc\xaf\x27\x1c": Kind("a 7z archive", _UNPACK),
    b"Rar!": Kind("a rar archive", _UNPACK),
    b"\x1f\x8b": Kind("gzip data within packed data", "unpack it once (gunzip FILE)"),
    b"\xff\xfe\0\0": Kind("UTF-32 text", _UTF_8, "input.encoding"),
    b"\xff\xfe": Kind("UTF-16 text", _UTF_8, "input.encoding"),
    b"\xfe\xff": Kind("UTF-16 text", _UTF_8, "input.encoding"),
}
# A line of Python's tuples or lists.
_LITERAL = rb"""(?:[uU]?'[^'\n]*'|[uU]?"[^"\n]*"|[-\d][-+\d.eE]*|None|True|False)"""
_TUPLE = rb"\(\s*" + _LITERAL + rb"(?:\s*,\s*" + _LITERAL + rb")+\s*,?\s*\)"
_TUPLE += rb"(?=\s*(?:\]|,\s*\(|,?\s*(?:[\r\n]|$)))"
_LIST = rb"\[\s*[uU]?'[^'\n]*'\s*,"
_AS_TEXT = "Python literals"
_LINES = "for line in sys.stdin if line.strip()"
_OF_LINE = "ast.literal_eval(line.strip().rstrip(','))"
_OF_ALL = "ast.literal_eval(ast.parse(sys.stdin.read()).body[0].value)"
_TO_CSV = 'write them as CSV: cat FILE | python -c "import ast, csv, sys; csv.writer(sys.stdout)'
# No table of ratings begins with these, whatever the given format.
_STARTS = {
    rb"%PDF-": Kind("a PDF document", _ASK),
    rb"(?i:<!doctype\s+html|<(?:html|head|title|body|meta|script|style)[\s>])": Kind(
        "an HTML page", "perhaps one that reports an error; fetch or save the table itself as CSV"
    ),
    rb"\x89PNG\r?\n|\xff\xd8\xff|GIF8[79]a|BM[\s\S]{4}\0{4}|II\*\0|MM\0\*": _IMAGE,
    rb"\0\0\x01\0[\x01-\x40]\0|RIFF[\s\S]{4}WEBP": _IMAGE,
    rb"RIFF[\s\S]{4}(WAVE|AVI )|\0\0[\s\S]{2}ftyp|ID3[\x02-\x04]\0|OggS\0|fLaC\0": _MEDIA,
    rb"\x7fELF|MZ[\s\S]{0,9}\0|\xca\xfe\xba\xbe|\xcf\xfa\xed\xfe": _PROGRAM,
    rb"%!PS|\{\\rtf": Kind("a document for print or Office", _ASK),
    rb"<stata_dta>|[\x66-\x73][\x01\x02]\x01[\0\x01]": _STATA,
    rb"A\r?\n[23]\r?\n\d+\r?\n\d+\r?\n": _RDS,
    rb"RDA[23]\r?\n": _RDATA,
    rb"(?:\w+\s*(?:<-|=)\s*)?structure\(list\(": Kind(
        "an R object as text", "in R: write.csv(dget('FILE'), 'ratings.csv', row.names = FALSE)"
    ),
    rb"(?i:(?:%[^\n]*\n\s*)*@relation\s)": Kind(
        "a Weka ARFF file",
        "write its rows alone: cat FILE | awk 'd && NF && !/^%/; tolower($1) ~ /^@data/ {d = 1}' > "
        "ratings.csv",
    ),
    rb"version https://git-lfs\.github\.com/": Kind(
        "a Git LFS pointer, not the file itself", "fetch that with git lfs pull, and name it again"
    ),
    rb"(?i:%%MatrixMarket\s+matrix\s+coordinate\s+(integer|real)\s+general)": Kind(
        "a MatrixMarket matrix",
        "write its entries alone: cat FILE | grep -vE '^(%|[[:space:]]*$)' | tail -n +2 > "
        "ratings.txt; or in Python, give what scipy.io.mmread returns",
    ),
    rb"(?i:%%MatrixMarket)": Kind(
        "a MatrixMarket matrix", "in Python, give what scipy.io.mmread returns; or write it as CSV"
    ),
    rb"\0{12}\xc2\xea\x81\x60\xb3\x14\x11\xcf": Kind(
        "a SAS file (sas7bdat)", "read it with pandas.read_sas; " + _FRAME
    ),
    rb"HEADER RECORD\*{7}LIB": Kind(
        "a SAS transport file (XPT)",
        "read it with pandas.read_sas(FILE, format='xport'); " + _FRAME,
    ),
    rb"\*\*COMPRESSED\*\*": Kind("a SAS transport file (CPORT)", "in SAS, " + _FRAME),
    rb"\$FL[23]@\(#\)": _SPSS,
    rb"[\s\S]{0,200}ASCII SPSS PORT FILE": Kind("an SPSS portable file", "in SPSS, " + _FRAME),
    # MySQL, and Spark's show; MySQL with \G; DuckDB; psql, SQLite and Markdown.
    rb"\+(?:[-=]+\+)+\s*\n|\*{9,} 1\. row \*{9,}|\xe2(?:\x94\x8c|\x95[\x94\xad])"
    rb"|[^\n]*\n[ |]{0,2}:?-{2,}:?[+| ][-+|: ]*\r?\n": Kind(
        "a table as terminals show it, with lines around its cells",
        "write it without them: mysql --batch > ratings.tsv, psql --csv > ratings.csv (sqlite3 and "
        "duckdb: -csv); or ask for the table itself, as CSV or Parquet",
    ),
    rb"PGDMP": Kind("a PostgreSQL dump", "restore it (pg_restore), and name the database"),
    rb"(?:\w+\s*=\s*)?[\[(]\s*\{\s*[uU]?'": Kind(
        f"{_AS_TEXT}, not JSON",
        'write them as JSON: cat FILE | python -c "import ast, json, sys; print(json.dumps('
        f'{_OF_ALL}))" > ratings.json',
    ),
    rb"\{\s*([uU]?'|\d+\s*:\s*[\[{(])": Kind(
        f"{_AS_TEXT}, not JSON",
        'write each line as JSON: cat FILE | python -c "import ast, json, sys; [print(json.dumps('
        f'{_OF_LINE})) {_LINES}]" > ratings.jsonl',
    ),
    rb"(?:\w+\s*=\s*)?[\[(]\s*(?:" + _TUPLE + rb"|" + _LIST + rb")": Kind(
        _AS_TEXT, f'{_TO_CSV}.writerows({_OF_ALL})" > ratings.csv'
    ),
    _TUPLE + rb"|" + _LIST: Kind(
        _AS_TEXT, f'{_TO_CSV}.writerows({_OF_LINE} {_LINES})" > ratings.csv'
    ),
}
# A named tuple, or a row of Spark.
_OBJECT = re.compile(r"[A-Za-z]\w*\(\w+=[^=]*,.*\)")
_SQL_START = re.compile(
    rb"--|/\*|#|(SET|CREATE|DROP|INSERT|BEGIN|START|PRAGMA|USE|COPY|LOCK|ALTER|\\connect)\b",
    re.IGNORECASE,
)
_SQL = re.compile(
    rb"^\s*(CREATE (TEMP\w* )?TABLE|INSERT INTO|DROP TABLE|COPY \S+.* FROM stdin|LOCK TABLES)\s"
    rb"|^(--|#) .*\b(MySQL|MariaDB|PostgreSQL|phpMyAdmin)\b.*\bdump",
    re.IGNORECASE | re.MULTILINE,
)
_DUMP = Kind(
    "an SQL dump", "load it into its database and name that, or write the table of ratings as CSV"
)
# The first byte of dBASE and FoxPro files, and the sizes in bytes of the parts of their header.
_DBASE, _DBASE_HEAD, _DBASE_FIELD, _FOXPRO_LINK = (
    b"\x02\x03\x30\x31\x32\x43\x83\x8b\xcb\xf5",
    32,
    32,
    263,
)
# A zip archive, and an empty one.
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_TAR_MAGIC, _TAR_AT = b"ustar", 257
# Kinds of zip archives, by the names in them.
_ZIPPED = {
    r"xl/workbook\.bin$": Kind("a binary Excel workbook (.xlsb)", _SHEET),
    r"xl/": Kind("an Excel workbook", _SHEET),
    r"content\.xml$": Kind("an OpenDocument spreadsheet", _SHEET),
    r".*\.npy$": Kind("numpy arrays (.npz)", "read it with numpy.load; " + _FRAME),
}
_OF_EXCEL, _OF_BINARY_EXCEL = "xl/workbook.xml", "xl/workbook.bin"
_OF_OPEN_DOCUMENT = "content.xml"
_SHEETS = b"application/vnd.oasis.opendocument.spreadsheet"
_JSON = re.compile(r'\[\s*([\[{"]|-?\d|\]|$)|\{\s*("|\}|$)')
# This line names the delimiter for Excel.
_SEP_LINE = re.compile(r'"?sep=(.?)"?', re.IGNORECASE)
_QUOTED_LINE = re.compile(r'"(?:[^",;\t|]|"")*+[,;\t|](?:[^"]|"")*+"')
_QUOTED = Kind(
    "each line is in quotes, so that it is one field",
    'remove the quotes around lines: cat FILE | sed \'s/^[^"]*"//; s/"[^"]*$//; s/""/"/g\' > '
    "ratings.csv",
    "input.quotes",
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_MARKUP = re.compile(r"<(\?xml|!doctype|!--|[a-z])", re.IGNORECASE)
# Instructions of a pickle before it memoizes its first object: a list, dict, tuple, or class.
_PICKLE_STARTS = {"MARK", "LIST", "DICT", "EMPTY_LIST", "EMPTY_DICT", "GLOBAL", "PUT", "BINPUT"}
_PICKLE_LOOK = 3


def reject_unreadable(path: Path, head: bytes, *, binary_only: bool = False) -> None:
    """Raise a RecveilError for an unsupported kind of file, given its first bytes."""
    if head.startswith(_ZIP):
        again = Kind("a zip archive within packed data", "unpack it once, and name what comes out")
        kind: Kind | None = _archive(path) if is_gzipped(path) else again
    else:
        kind = _binary(head)
    if kind is None and not binary_only:
        kind = _no_table(_first_lines(head.decode("utf-8-sig", errors="replace")))
    _reject_kind(path, kind)


def reject_quoted_lines(path: Path, head: bytes) -> None:
    """Raise a RecveilError for a text each of whose lines is one quoted field, as Excel exports."""
    lines = _first_lines(head.decode("utf-8-sig", errors="replace"))
    # The last line may be cut.
    if len(lines) > 1 and all(map(_QUOTED_LINE.fullmatch, lines[: max(2, len(lines) - 1)])):
        _reject_kind(path, _QUOTED)


def _reject_kind(path: Path, kind: Kind | None) -> None:
    """Raise the RecveilError for a kind of file, with a command that also unpacks it if needed."""
    if kind is None:
        return
    remedy, packing = kind.remedy, packing_of(path)
    if packing is None or (packing == "zip" and kind in _ZIPPED.values()):
        pass
    elif remedy.startswith("unpack it ("):
        remedy = f"unpack it once ({_unpacking(path, packing)} > NEW), and name what comes out"
    elif _CAT in remedy:
        remedy = unpacked_command(remedy.partition("; or in Python")[0], path)
    elif "in R:" in remedy and packing not in ("zip", "zstd"):
        pass  # R reads its own files packed
    elif re.search(r"pandas\.|numpy\.|scipy\.|in R:", remedy):
        remedy = f"unpack it; {remedy}"
    raise RecveilError(f"{path.name}: {kind.what}; {remedy}", code=kind.code)


def unpacked_command(remedy: str, path: Path) -> str:
    r"""Adapt a command that reads "cat FILE" to a packed file."""
    packing = packing_of(path)
    return remedy if packing is None else remedy.replace(_CAT, _unpacking(path, packing))


def _unpacking(path: Path, packing: str) -> str:
    """Return the command that unpacks a file, or the one table of an archive."""
    if packing != "zip":
        return _UNPACKING[packing]
    with suppress(zipfile.BadZipFile), path.open("rb") as file, opened_archive(file) as archive:
        names = archive.namelist()
        tables = tables_in(names)
        if len(names) > 1 and len(tables) == 1 and len(tables[0]) < 60 and tables[0].isprintable():
            return f"{_UNPACKING[packing]} {shlex.quote(tables[0])}"
    return _UNPACKING[packing]


def is_zip(path: Path) -> bool:
    """Return whether a file is a zip archive, possibly empty."""
    with path.open("rb") as file:
        return file.read(len(_ZIP[0])) in _ZIP


def reject_archive(path: Path) -> None:
    """Raise a RecveilError for a zip archive that does not hold exactly one table."""
    try:
        with path.open("rb") as file, opened_archive(file) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        names = []
    kind = next(
        (kind for pattern, kind in _ZIPPED.items() if any(re.match(pattern, n) for n in names)),
        None,
    )
    tables = tables_in(names)
    if kind is None and not tables:
        kind = _archive(path)
    elif kind is None and len(tables) > 1:
        of = f"a zip archive of {len(tables):,} files, of which any may be the table"
        kind = Kind(f"{of} ({listed(tables, 60)})", "unpack it, and name the one with the ratings")
    if kind is not None:
        raise RecveilError(f"{path.name}: {kind.what}; {kind.remedy}", code=kind.code)


def _binary(head: bytes) -> Kind | None:
    if head.startswith((*COLUMNAR,)):
        return None
    if kind := _begun(head):
        return kind
    if _CONTROL.search(head) and (database := kind_of_head(head)):  # within packed data
        return Kind(f"a {NAMES[database]} database", _UNPACK)
    for magic, kind in _BINARY.items():
        # An id may start with "ORC", but a table of text has no control characters.
        if head.startswith(magic) and _CONTROL.search(head):
            return kind
    if _is_old_pickle(head):
        return _PICKLE
    if head[_TAR_AT:].startswith(_TAR_MAGIC):
        return Kind("a tar archive", _UNPACK)
    if b"\0" not in head:
        return None
    # In UTF-16, half of the bytes of Latin letters and digits are zero, and no others.
    zeros = sorted((head[0::2].count(0), head[1::2].count(0)))
    if zeros[1] > 0.4 * len(head) and zeros[0] < 0.05 * len(head):
        return Kind("UTF-16 text", _UTF_8, "input.encoding")
    return Kind(f"neither text nor Parquet nor Arrow (it starts {quoted(head[:12])})", _FRAME)


def _begun(head: bytes) -> Kind | None:
    """Return the kind of a file by first bytes that no table of ratings has."""
    text = _without_comments(head.removeprefix(codecs.BOM_UTF8).lstrip())
    for start, kind in _STARTS.items():
        if re.match(start, head) or re.match(start, text):
            return kind
    if _SQL_START.match(text) and _SQL.search(text):
        return _DUMP
    if _is_dbase(head):
        return Kind("a dBASE file (.dbf)", "open it in a spreadsheet program, and " + _SHEET)
    return None


def _without_comments(text: bytes) -> bytes:
    """Remove comments and the XML declaration at the start of HTML."""
    for opening, closing in ((b"<?xml", b"?>"), (b"<!--", b"-->")):
        while text.startswith(opening) and closing in text:
            text = text.partition(closing)[2].lstrip()
    return text


def _is_dbase(head: bytes) -> bool:
    r"""Return whether a file is a dBASE or FoxPro table, whose header states its own size.

    >>> header = b"\x03\x7d\x01\x1f" + bytes(4) + b"\x41\0\x0b\0" + bytes(20)
    >>> _is_dbase(header + b"USER".ljust(32, b"\0") + b"\r"), _is_dbase(header + bytes(300))
    (True, False)
    >>> _is_dbase(header + b"USER".ljust(32, b"\0") + b"\r" + bytes(300))
    True
    """
    if len(head) <= _DBASE_HEAD or head[0] not in _DBASE:
        return False
    size = int.from_bytes(head[8:10], "little")
    fields = size - _DBASE_HEAD - 1
    is_whole = fields > 0 and fields % _DBASE_FIELD in (0, _FOXPRO_LINK % _DBASE_FIELD)
    return (
        is_whole
        and 1 <= head[2] <= 12
        and 1 <= head[3] <= 31
        and b"\r" in head[max(0, size - 1 - _FOXPRO_LINK) : size]
    )


def _is_old_pickle(head: bytes) -> bool:
    """Return whether a file is a pickle of protocol 0 or 1, which states no version."""
    # Such a pickle begins by creating an object and memoizing it as number 0. The check loads
    # nothing.
    try:
        for place, (code, argument, _) in enumerate(pickletools.genops(head)):
            if code.name in ("PUT", "BINPUT") and argument == 0:
                return True
            if place == _PICKLE_LOOK or code.name not in _PICKLE_STARTS:
                return False
    except Exception:  # any error: not a pickle; in text, any word may be an instruction
        return False
    return False


def workbook_in(path: Path) -> str | None:
    """Return the kind of an Excel (.xlsx, .xlsb, .xls) or OpenDocument (.ods) workbook, or None."""
    with path.open("rb") as file:
        if file.read(len(_OLD_OFFICE)) == _OLD_OFFICE:
            return _OLD_WORKBOOK
    if not is_zip(path):
        return None
    try:
        with path.open("rb") as file, opened_archive(file) as archive:
            names = set(archive.namelist())
            if _OF_EXCEL in names:
                return "an Excel workbook"
            if _OF_BINARY_EXCEL in names:
                return "a binary Excel workbook"
            is_one = _OF_OPEN_DOCUMENT in names and _SHEETS in archive.open("mimetype").read(80)
            return "an OpenDocument spreadsheet" if is_one else None
    except (zipfile.BadZipFile, NotImplementedError, KeyError, zlib.error, RuntimeError):
        return None  # reported when it is unpacked


def _archive(path: Path) -> Kind:
    try:
        with open_bytes(path) as file, opened_archive(file) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
    except zipfile.BadZipFile:
        return Kind("a damaged zip archive", "fetch it again, and " + _UNPACK, "input.damaged")
    if not names:
        return Kind("an empty zip archive", "fetch it again, and " + _UNPACK, "input.empty")
    for pattern, kind in _ZIPPED.items():
        if any(re.match(pattern, name) for name in names):
            return kind
    of = f" of {len(names):,} files" if len(names) != 1 else f" of {shortened(names[0])}"
    return Kind(f"a zip archive{of}", _UNPACK)


def is_json(text: str) -> bool:
    """Return whether a text begins like JSON, and not like a table with unusual names.

    >>> is_json('{"user": 7}'), is_json("[user],item,rating")
    (True, False)
    """
    first = text.lstrip().partition("\n")[0].strip()
    return bool(_JSON.match(first))


def _first_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()][:20]


def _no_table(lines: list[str]) -> Kind | None:
    if not lines:
        return None
    if _MARKUP.match(lines[0]):
        html = any("<html" in line.lower() for line in lines)
        what = "XML" if lines[0].lower().startswith("<?xml") else "HTML or XML"
        return Kind("an HTML page" if html else what, "fetch or save the table itself as CSV")
    if _OBJECT.match(lines[0]):
        return Kind("Python objects as text", "write their fields as CSV where they come from")
    if _SEP_LINE.fullmatch(lines[0]):
        what = f"text whose first line names the delimiter for Excel ({lines[0]!r})"
        plain = "delete that line, which is all for ratings; save other files with commas"
        return Kind(what, f"{plain} between columns", "input.unknown-format")
    return None
