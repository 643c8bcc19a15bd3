"""Messages on pages have no words of the command line, and no folders of the project."""

import bz2
import re
from pathlib import Path

import pytest
from typer.main import get_command

from recveil import read
from recveil.cli import app
from recveil.io.detect import file_kinds
from recveil.runtime.errors import RecveilError
from recveil.workbench.wording import _PAGES, _WITHOUT_PAGE, page_words
from recveil.workbench.worker import _name_uploads


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "a.csv line 2: not UTF-8 text; save the file as UTF-8. If it is from Windows: iconv -f "
            "CP1252 -t UTF-8 'a b.csv' > utf8.csv (unpack it first if it is packed)",
            "a.csv line 2: not UTF-8 text; save the file as UTF-8",
        ),
        (
            "only if it is public, as set with item_catalog (--item-catalog as-rated); without it",
            "only if it is public, as set with “The list of items is public”; without it",
        ),
        (
            "a.csv: the table is in line 3; write the table alone: tail -n +3 a.csv > table.csv",
            "a.csv: the table is in line 3; write the table alone",
        ),
        (
            "write its entries alone: cat FILE | grep -vE '^(%|[[:space:]]*$)' | tail -n +2 > "
            "ratings.txt; or in Python, give what scipy.io.mmread returns",
            "write its entries alone",
        ),
        (
            "Privacy ledger l: 2 runs; where other users have the same ids, name another ledger "
            "(--ledger); the ledger is new.",
            "Privacy ledger l: 2 runs; the ledger is new.",
        ),
        (
            "give a table with all their ratings, or name another ledger (--ledger) if equal "
            "ids are other users",
            "give a table with all their ratings",
        ),
        (
            "if these are parts of a table, write them to a file, and verify that: recveil convert "
            "PARTS TABLE.parquet",
            "if these are parts of a table, write them to a file, and verify that",
        ),
        (
            "the rows miss times; fix or drop them (recveil convert --no-times); it is empty",
            "the rows miss times; fix or drop them; it is empty",
        ),
        (
            "it may reveal users. recveil audit --release measures how often.",
            "it may reveal users. The page Check measures how often.",
        ),
        (
            "no release; ask recveil verify what is wrong",
            "no release; ask the page Check what is wrong",
        ),
        ("run recveil verify to see why", "use the page Check to see why"),
        ("as recveil audit --risk writes it; no", "as the page Risk writes it; no"),
        ("run recveil describe again", "use the page Release again"),
        (
            "the JSON of recveil audit-lists; name one",
            "the JSON of recveil audit-lists; name one",
        ),
        (
            "name another format (--format), or leave it out",
            "name another “File format”, or leave it out",
        ),
        (
            "expected day, month and year as in Python's strptime, such as %d/%m/%Y",
            "expected day, month and year, such as %d/%m/%Y",
        ),
        (
            "if so, write numbers without it; if not, name it in a file with decimal (--decimal .)",
            "if so, write numbers without it; if not, name it with “Decimal separator” (.)",
        ),
        (
            "a larger epsilon retain more; “recveil evaluate” measures it.",
            "a larger epsilon retain more; the page Choose measures it.",
        ),
    ],
)
def test_a_message_names_what_pages_have(message, expected):
    assert page_words(message) == expected


def test_no_error_shows_a_command_that_a_page_replaces_or_lacks():
    text = (Path(__file__).parents[1] / "form" / "error_messages.txt").read_text()
    assert {*_WITHOUT_PAGE.split("|"), *_PAGES, "workbench"} == {*get_command(app).commands}
    commands = re.compile(rf"recveil (?:{_WITHOUT_PAGE}|{'|'.join(_PAGES)})(?![\w-])|\s--[a-z]")
    assert commands.search(text)
    messages = [line for line in text.splitlines() if "audit-lists" not in line]
    assert [found for found in map(page_words, messages) if commands.search(found)] == []


def test_no_kind_of_file_needs_a_program_that_pages_lack():
    kinds = [*file_kinds._BINARY.values(), *file_kinds._STARTS.values(), file_kinds._QUOTED]
    remedies = [page_words(f"ratings: {kind.what}; {kind.remedy}") for kind in kinds]
    assert all(each.count("; ") for each in remedies)
    programs = re.compile(
        r"[Pp]ython\.|in Python|pandas|numpy\.|scipy|git |FILE | FILE\)|> \w+\.|“csv”"
    )
    assert [each for each in remedies if programs.search(each)] == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("literals", b"[('ann', 'Heat', 4), ('bob', 'Heat', 5)]\n" * 9),
        ("matrix", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 4\n"),
        ("packed", b"\xfd7zXZ\0" + bytes(99)),
    ],
)
def test_a_packed_file_needs_no_program_either(tmp_path, name, content):
    (tmp_path / name).write_bytes(bz2.compress(content))
    with pytest.raises(RecveilError) as error:
        read(tmp_path / name)
    message = page_words(str(error.value))
    assert "; " in message
    assert "bunzip2" in str(error.value)
    assert "bunzip2" not in message


def test_an_upload_is_named_as_it_was_uploaded():
    job, digest = Path("/tmp/a b/project/jobs/7"), "f70a" * 6
    for folder in (f"checked/{digest}", f"inputs/{digest}", "jobs/7/unpacked"):
        message = f"{job.parents[1]}/{folder}/ratings.csv: a file states no claim"
        assert _name_uploads(message, job) == "ratings.csv: a file states no claim"
    named = "/data/checked/ratings.csv: no such file or folder"
    assert _name_uploads(named, job) == named
