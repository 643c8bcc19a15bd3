"""No message names an option that its verb does not have."""

import bz2
import json
import re
import sqlite3
import warnings
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

from recveil.cli import app
from recveil.io import understand
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

READING = ("inspect", "audit", "anonymize", "evaluate", "compare", "selftest", "convert")
COMMANDS = typer.main.get_command(app).commands
# A command of another verb may name that verb's options.
_OPTION, _COMMAND = re.compile(r"(?<![\w-])--[a-z][a-z-]*"), re.compile(r"recveil [a-z]+ [^;,.]*")
HEADER = "user,item,rating,date\n"
OBJECT = {"user": 1, "item": 2, "rating": 3}
WORDS = "".join(f"u{n},i{n},{'good' if n % 2 else 'bad'},2020-01-0{n}\n" for n in range(1, 9))
TEXTS = {
    "empty": "",
    "header only": HEADER,
    "two columns": "7,8\n9,1\n",
    "one column": "ann\nben\n",
    "no header": "7,12,4,978300760\n8,12,3,978300761\n",
    "no rating column": "user,item,title\n1,2,x\n",
    "no rating column, a count": "user,item,plays\n1,2,5\n",
    "no user column": "item,rating,when\n1,2,3\n",
    "two ratings": "user,item,rating,rating\n1,2,3,4\n",
    "two times": "user,item,rating,time,timestamp\n1,2,3,4,5\n",
    "many columns": ",".join(f"c{n}" for n in range(40)) + "\n" + ",".join("4" * 40) + "\n",
    "doubtful header": "a1,b2,c3\nx9,y8,z7\n",
    "doubtful marks": "a;b;c,d,e\n1;2;3,4,5\n2;3;4,5,6\n",
    "a title above": "Export of May\n\nuser;item;rating\n1;2;3\n2;3;4\n1;3;4\n",
    "a short line": HEADER + "1,2\n",
    "a quote": HEADER + '1,"2,3,2020-01-01\n1,3,4,2020-01-01\n',
    "no number": HEADER + "1,2,x,2020-01-01\n1,3,4,2020-01-01\n",
    "words": HEADER + WORDS,
    "no rating": HEADER + "1,2,,2020-01-01\n1,3,4,2020-01-01\n",
    "no time": "user,item,rating,time\n1,2,3,x\n",
    "no user": HEADER + ",2,3,2020-01-01\n",
    "twice": HEADER + "1,2,3,2020-01-01\n1,2,4,2020-01-01\n",
    "decimal commas": "user;item;rating\n1;2;1,000\n2;2;3,500\n",
    "decimal points and commas": "user;item;rating\n1;2;1,5\n2;2;3.5\n",
    "Excel's first line": "sep=;\nuser;item;rating\n1;2;3\n",
    "a mark for no rating": HEADER + "1,2,99,2020-01-01\n1,3,4,2020-01-01\n2,3,4,2020-01-01\n",
    "a matrix": "user,7,8\na,4,x\n",
    "a matrix without users": "1,4,5\n2,3,3\n3,4,4\n",
    "JSON": json.dumps([OBJECT, OBJECT | {"rating": [1]}]),
    "JSON of other names": json.dumps([{"who": 1, "what": 2, "how": 3}]),
    "XML": "<?xml version='1.0'?>\n<ratings/>",
}
OPTIONS = (
    *({}, {"user": "9"}, {"item": "x"}, {"rating": "x"}, {"time": "x"}, {"user": 1, "item": 1}),
    *({"delimiter": ";"}, {"delimiter": "abc"}, {"null": "99"}, {"wide": True}),
    *({"format": name} for name in ("csv", "csv-plain", "json", "parquet", "odd")),
    *({"wide": True} | more for more in ({"null": "99"}, {"item": "2"}, {"user": "9"})),
)


def _put(folder, kind):
    """Write a file or folder of a kind; return its path."""
    path = folder / "table"
    if kind in TEXTS:
        path.write_text(TEXTS[kind])
    elif kind == "workbook":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
    elif kind == "archive":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.csv", "")
            archive.writestr("b.csv", "")
    elif kind == "database":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE a (x)")
            database.execute("CREATE TABLE b (y)")
        database.close()
    elif kind == "packed":
        path.write_bytes(bz2.compress(b"a;b\n"))
    elif kind == "parquet":
        pq.write_table(pa.table({"user": [[1]], "item": [2], "rating": [3]}), path)
    elif kind == "parts":
        path.mkdir()
        (path / "likes.csv").write_text("user,item\n1,2\n")
        (path / "dislikes.csv").write_text("user,item\n1,2\n")
    return path


KINDS = (*TEXTS, "workbook", "archive", "database", "packed", "parquet", "parts", "missing")


def options_named(text: str) -> set[str]:
    """Return the options in a message that are not part of a command of another verb."""
    return {*_OPTION.findall(_COMMAND.sub("", text))}


def options_of(verb: str) -> set[str]:
    return {name for option in COMMANDS[verb].params for name in option.opts}


def _messages(call, *given, **options):
    """Yield what a call raises or warns of."""
    try:
        with warnings.catch_warnings(record=True) as result:
            warnings.simplefilter("always")
            call(*given, **options)
    except RecveilError as error:
        yield str(error)
    yield from (str(each.message) for each in result)


@pytest.mark.parametrize("kind", KINDS)
def test_messages_name_options_of_the_verb(kind, tmp_path):
    """The remedy was an option such as --drop-off-scale, of which verify knew nothing."""
    path = _put(tmp_path, kind)
    known = set.intersection(*map(options_of, READING))
    for options in OPTIONS:
        for more in ({}, {"k": 3}):
            for message in _messages(understand, path, **more, **options):
                assert options_named(message) <= known, (options, message)
        for message in _messages(verify, path, k=3, **options):
            assert options_named(message) <= options_of("verify"), (options, message)


def test_the_test_sees_options():
    assert options_named("name it with user (--user 1 --item 2)") == {"--user", "--item"}
    assert options_named("hide the items (recveil anonymize --hide-items)") == set()
