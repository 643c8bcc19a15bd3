"""A release that was tampered with, and given new checksums, does not hold, or says so.

A publisher may want to carry something in a place that is not read. Each way below is tried
on every form of a release that has the place.
"""

import hashlib
import itertools
import json
import re
import shutil
import struct
from importlib.resources import files
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recveil.release.earlier_formats import class_list_header, with_names_of
from recveil.verification import verify
from shared.verification_tampering import (  # noqa: F401 (fixtures)
    IN_MANIFEST,
    METHODS,
    _manifest,
    _refused,
    _set,
    _sign,
    _sign_with_new_card,
    copy_of,
    made,
)

FORMS = ["-".join(form) for form in itertools.product(METHODS, ("users", "groups"))]

FORMS += ["synthetic-users"]

pytestmark = pytest.mark.usefixtures("synthetic")  # its releases are refused where it is unknown


@pytest.mark.parametrize("form", FORMS)
def test_what_stays_the_publishers_word_is_named(copy_of, form):
    ways = {
        "duplicates_dropped": (_set("counts", "duplicates_dropped", value=54), "54 rows"),
        "predictor": (_set("settings", "predictor", value="MyModel"), "'MyModel'"),
        "fill": (_set("settings", "fill", value="MyFill"), "'MyFill'"),
    }
    for name, (change, result) in ways.items():
        folder = copy_of(f"{form}-parquet")
        manifest = _manifest(folder)
        if name in manifest["settings"] or name in manifest["counts"]:
            change(manifest)
            _sign_with_new_card(folder, manifest)
            verdict = verify(folder)
            assert verdict.holds
            assert any(result in sentence for sentence in verdict.to_dict()["not_covered"])
        shutil.rmtree(folder)


def _in_text(pattern: str, replacement: str):
    def change(text: str) -> str:
        changed = re.sub(pattern, replacement, text, count=1)
        assert changed != text
        return changed

    return change


AS_TEXT = {
    "a key twice": _in_text(r'"k": (\d+),', r'"k": "p1 is alice",\n  "k": \1,'),
    "a key of settings twice": _in_text(r'"method":', '"method": "p1 is alice",\n    "method":'),
    "a key twice, both right": _in_text(r'"k": (\d+),', r'"k": \1,\n  "k": \1,'),
    "spaces": lambda text: text.replace(": {", ":  {"),
    "a space at the end": lambda text: text + " ",
    "no last line end": lambda text: text.rstrip("\n"),
    "another line end": lambda text: text.replace("\n", "\r\n"),
    "all on one line": lambda text: json.dumps(json.loads(text)),
    "an escape": _in_text('"method"', '"m\\\\u0065thod"'),
    "a number in another way": _in_text(r'"low": 1.0', '"low": 1e0'),
    "a number with more digits": _in_text(r'"low": 1.0', '"low": 1.0000'),
    "an exponent": _in_text(r'"low": 1.0', '"low": 10.0e-1'),
    "not a number": _in_text(r'"value_step": [^,}\n]+|"round_fills": true', r'"value_step": NaN'),
    "infinity": _in_text(r'"high": [\d.]+', '"high": Infinity'),
    "beyond infinity": _in_text(r'"high": [\d.]+', '"high": 1e999'),
    "half a character": _in_text(r'"recveil": "', r'"recveil": "\\\\ud800'),
    "a byte order mark": lambda text: "\ufeff" + text,
    "deep nesting": lambda text: text.rstrip()[:-1] + ', "x": ' + "[" * 10**5 + "]" * 10**5 + "}",
    "a number without end": _in_text(r'"values": \d+', '"values": ' + "9" * 5000),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", AS_TEXT)
def test_release_json_is_written_in_one_way(copy_of, form, way):
    folder = copy_of(f"{form}-csv")
    file = folder / "release.json"
    file.write_bytes(AS_TEXT[way](file.read_text()).encode())
    assert _refused(folder)


OTHER_FILES = {
    "a sentence in the card": ("README.md", lambda text: text + "p1 is alice\n"),
    "a word less in the card": ("README.md", lambda text: text.replace("publisher", "", 1)[1:]),
    "another number in the card": ("README.md", lambda text: text.replace("users", "cats", 1)),
    "other line ends in the card": ("README.md", lambda text: text.replace("\n", "\r\n")),
    "an empty card": ("README.md", lambda text: ""),
    "a foreign class": ("classes.csv", lambda text: text + "f" * 32 + ",5\n"),
    "a class of words": ("classes.csv", lambda text: text + "p1 is alice,5\n"),
    "a class less": ("classes.csv", lambda text: "".join(text.splitlines(True)[:-1])),
    "a class twice": ("classes.csv", lambda text: text + text.splitlines(True)[-1]),
    "classes in another order": (
        "classes.csv",
        lambda text: "".join([text.splitlines(True)[0], *text.splitlines(True)[:0:-1]]),
    ),
    "another header": ("classes.csv", lambda text: text.replace("digest,users", "alice,p1")),
    "a class in capitals": (
        "classes.csv",
        lambda text: text[:14] + text[14:].upper(),
    ),
    "a number with a plus": (
        "classes.csv",
        lambda text: text.replace(",", ",+").replace("+", "", 1),
    ),
    "an empty line": ("classes.csv", lambda text: text + "\n"),
    "a comment": ("classes.csv", lambda text: text + "# p1 is alice\n"),
    "other line ends": ("classes.csv", lambda text: text.replace("\n", "\r\n")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", OTHER_FILES)
def test_other_files_are_what_recveil_writes(copy_of, form, way):
    folder = copy_of(f"{form}-csv")
    name, change = OTHER_FILES[way]
    if form.startswith("synthetic") and name == "classes.csv":
        (folder / name).write_text("digest,users\n")  # drawn records have no classes
        assert _refused(folder)
        return
    text = (folder / name).read_text()
    (folder / name).write_bytes(change(text).encode())
    _sign(folder)
    assert _refused(folder)
    (folder / name).unlink()
    assert _refused(folder)


IN_CSV = {
    "no quotes": lambda text: text.replace('"', ""),
    "no quotes in one line": lambda text: re.sub(r'\n"([^"]+)"', r"\n\1", text, count=1),
    "no quotes in the header": lambda text: text.replace('"rating"', "rating", 1),
    "quoted numbers in one line": lambda text: re.sub(r",([\d.]+)\n", r',"\1"\n', text, count=1),
    "an empty line": lambda text: text.replace("\n", "\n\n", 1),
    "an empty line at the end": lambda text: text + "\n",
    "another line end": lambda text: text.replace("\n", "\r\n"),
    "another line end once": lambda text: text[::-1].replace("\n", "\n\r", 1)[::-1],
    "no last line end": lambda text: text.rstrip("\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "a space": lambda text: re.sub(r",([\d.]+)\n", r", \1\n", text, count=1),
    "a plus": lambda text: re.sub(r",([\d.]+)\n", r",+\1\n", text, count=1),
    "a zero": lambda text: re.sub(r",([1-5])(,\d+)?\n", r",\1.0\2\n", text, count=1),
    "an exponent": lambda text: re.sub(r",([1-5])(,\d+)?\n", r",\1e0\2\n", text, count=1),
    "a column more": lambda text: text.replace("\n", ",1\n").replace(",1\n", ',"town"\n', 1),
    "columns in another order": lambda text: "".join(
        ",".join([fields[1], fields[0], *fields[2:]]) + "\n"
        for fields in (line.split(",") for line in text.splitlines())
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", IN_CSV)
def test_a_csv_file_is_written_in_one_way(copy_of, form, way):
    folder = copy_of(f"{form}-csv")
    file = folder / "ratings.csv"
    text = file.read_text()
    changed = IN_CSV[way](text)
    assert changed != text
    file.write_bytes(changed.encode())
    _sign(folder)
    assert _refused(folder)


def _rename(names: dict[str, str]):
    def change(table):
        users = [names.get(user, user) for user in table["user_id"].to_pylist()]
        return table.set_column(0, "user_id", pa.array(users))

    return change


def _user_ids(form):
    def change(table):
        users = list(dict.fromkeys(table["user_id"].to_pylist()))
        return _rename({user: form(n, user) for n, user in enumerate(users)})(table)

    return change


def _backwards(table):
    users = table["user_id"].to_pylist()
    starts = [n for n, user in enumerate(users) if n == 0 or users[n - 1] != user]
    runs = [list(range(*ends)) for ends in itertools.pairwise([*starts, len(users)])]
    return table.take(list(itertools.chain.from_iterable(runs[::-1])))


WHO = {
    "real names": _user_ids(lambda n, user: f"alice{n}"),
    "one real name": _user_ids(lambda n, user: "alice" if n == 2 else user),
    "another prefix for one": _user_ids(lambda n, user: f"pffff{user[5:]}" if n == 2 else user),
    "another form of prefix": _user_ids(lambda n, user: f"pz{user[2:]}"),
    "numbers with more digits": _user_ids(lambda n, user: f"{user[:6]}0{user[6:]}"),
    "numbers with fewer digits": _user_ids(lambda n, user: f"{user[:6]}{int(user[6:])}"),
    "numbers from 1 on": _user_ids(lambda n, user: f"{user[:6]}{n + 1:02d}"),
    "numbers with a gap": _user_ids(lambda n, user: f"{user[:6]}{n + (n > 3):02d}"),
    "other digits": _user_ids(lambda n, user: user.replace("1", "\N{ARABIC-INDIC DIGIT ONE}")),
    "numbers the other way round": _backwards,
    "spaces behind": _user_ids(lambda n, user: user + " " * (n % 2)),
}


def _write(table: pa.Table, file: Path, **options) -> None:
    """Write as recveil does."""
    if file.suffix == ".csv":
        from pyarrow import csv

        csv.write_csv(table, file)
        return
    integers = pa.types.is_integer(table.schema.field("item_id").type)
    usual = {
        "compression": "zstd",
        "store_schema": False,
        "use_dictionary": [name for name in table.column_names if name != "item_id"],
        "column_encoding": {"item_id": "DELTA_BINARY_PACKED"} if integers else None,
    }
    pq.write_table(table, file, **(usual | options))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", WHO)
def test_user_ids_are_pseudonyms(copy_of, form, way):
    folder = copy_of(f"{form}-parquet")
    file = folder / "ratings.parquet"
    table = pq.read_table(file)
    changed = WHO[way](table)
    if changed.equals(table):
        return
    _write(changed, file)
    _sign(folder)
    verdict = verify(folder)
    assert not verdict.holds
    assert any("pseudonym" in violation.problem for violation in verdict.violations)


def test_a_record_that_is_gone_is_named_once(copy_of):
    folder = copy_of("simple-users-parquet")
    file = folder / "ratings.parquet"
    table = pq.read_table(file)
    gone = table["user_id"][0].as_py()
    _write(table.filter(pa.array([user != gone for user in table["user_id"].to_pylist()])), file)
    _sign(folder)
    problems = [violation.problem for violation in verify(folder).violations]
    assert sum("pseudonym" in problem for problem in problems) == 1


def _write_with_metadata(table: pa.Table, file: Path, metadata: dict[str, str]) -> None:
    with pq.ParquetWriter(file, table.schema, compression="zstd", store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)


STORED = {
    "metadata": lambda table, file: _write_with_metadata(table, file, {"who": "p1"}),
    "a stored schema": lambda table, file: _write(table, file, store_schema=True),
    "other row groups": lambda table, file: _write(table, file, row_group_size=100),
    "an odd row group": None,
    "another compression": lambda table, file: _write(table, file, compression="snappy"),
    "no compression": lambda table, file: _write(table, file, compression="none"),
    "another page version": lambda table, file: _write(table, file, data_page_version="2.0"),
    "another version": lambda table, file: _write(table, file, version="1.0"),
    "checksums of pages": lambda table, file: _write(table, file, write_page_checksum=True),
    "an index of pages": lambda table, file: _write(table, file, write_page_index=True),
    "an order that it claims": lambda table, file: _write(
        table, file, sorting_columns=[pq.SortingColumn(0)]
    ),
    "columns in another order": lambda table, file: _write(
        table.select(table.column_names[::-1]), file
    ),
    "columns that cannot be missing": lambda table, file: _write(
        table.cast(pa.schema([field.with_nullable(False) for field in table.schema])), file
    ),
    "a number for a column": lambda table, file: _write(
        table.cast(
            pa.schema([field.with_metadata({"PARQUET:field_id": "7"}) for field in table.schema])
        ),
        file,
    ),
    "times as timestamps": lambda table, file: _write(
        table.set_column(1, "item_id", table["item_id"].cast(pa.int32())), file
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", STORED)
def test_a_parquet_file_is_stored_in_one_way(copy_of, form, way):
    folder = copy_of(f"{form}-parquet")
    file = folder / "ratings.parquet"
    table = pq.read_table(file)
    if STORED[way] is None:
        with pq.ParquetWriter(file, table.schema, compression="zstd", store_schema=False) as writer:
            for piece in (table.slice(0, 50), table.slice(50, 9), table.slice(59)):
                writer.write_table(piece)
    else:
        STORED[way](table, file)
    if way == "other row groups":  # of one length: that is one number, and no place for more
        return
    _sign(folder)
    assert _refused(folder)


def _footer(content: bytes) -> tuple[int, bytes]:
    (length,) = struct.unpack("<I", content[-8:-4])
    start = len(content) - 8 - length
    return start, content[start:-8]


def _with_footer(body: bytes, footer: bytes) -> bytes:
    return body + footer + struct.pack("<I", len(footer)) + b"PAR1"


def _before_footer(content: bytes) -> bytes:
    start, footer = _footer(content)
    return _with_footer(content[:start] + b"p1 is alice", footer)


def _behind_footer(content: bytes) -> bytes:
    start, footer = _footer(content)
    return _with_footer(content[:start], footer + b"p1 is alice")


def _in_footer(field: bytes):
    def change(content: bytes) -> bytes:
        start, footer = _footer(content)
        assert footer.endswith(b"\x00")
        return _with_footer(content[:start], footer[:-1] + field + b"\x00")

    return change


def _replace(old: bytes, new: bytes):
    def change(content: bytes) -> bytes:
        assert old in content
        assert len(old) == len(new)
        return content.replace(old, new)

    return change


def _replace_last(old: bytes, new: bytes):
    def change(content: bytes) -> bytes:
        at = content.rindex(old)
        return content[:at] + new + content[at + len(old) :]

    return change


BYTES = {
    "bytes before the footer": _before_footer,
    "bytes behind the footer": _behind_footer,
    "an unknown field of the footer": _in_footer(b"\x78\x0bp1 is alice"),
    "another writer": _replace(b"parquet-cpp-arrow version", b"p1 is alice, p2 is robert"),
    "another root": _replace(b"schema", b"alices"),
    "another format of the root's name": _replace_last(b"parquet-cpp", b"parquet_cpp"),
    "another lowest id": lambda content: _replace_last(_first_id(content), b"pffff-00")(content),
}


def _first_id(content: bytes) -> bytes:
    return re.search(rb"p[0-9a-f]{4}-00", content).group()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", BYTES)
def test_every_byte_of_a_parquet_file_is_accounted_for(copy_of, form, way):
    folder = copy_of(f"{form}-parquet")
    file = folder / "ratings.parquet"
    content = file.read_bytes()
    changed = BYTES[way](content)
    assert changed != content
    file.write_bytes(changed)
    _sign(folder)
    assert _refused(folder)


def test_an_entry_of_a_dictionary_that_no_user_has_is_found(copy_of):
    folder = copy_of("simple-users-parquet")
    file = folder / "ratings.parquet"
    table = pq.read_table(file)
    users = table["user_id"].combine_chunks().dictionary_encode()
    more = pa.concat_arrays([users.dictionary, pa.array(["p1 is alice"])])
    _write(
        table.set_column(0, "user_id", pa.DictionaryArray.from_arrays(users.indices, more)), file
    )
    assert pq.read_table(file).equals(table)
    _sign(folder)
    problems = [violation.problem for violation in verify(folder).violations]
    assert any("dictionary of 'user_id'" in problem for problem in problems)


OF_EACH_METHOD = ["predictive-padded", "predictive-simple-csv", "k-corating"]


@pytest.mark.parametrize("name", OF_EACH_METHOD)
@pytest.mark.parametrize("form", ["format_1", "format_2", "format_3", "format_4"])
def test_releases_of_every_format_hold_for_ever(form, name):
    verdict = verify(Path(__file__).parent / form / name)
    assert verdict.holds, verdict.violations
    has_old_words = "old-card" in {limit.code for limit in verdict.not_covered}
    assert has_old_words == (form in ("format_1", "format_2"))


def test_sparse_rows_of_the_fourth_format_hold_for_ever():
    assert verify(Path(__file__).parent / "format_4" / "sparse").holds


@pytest.mark.parametrize("name", ["users", "chosen", "model", "exact"])
@pytest.mark.parametrize("form", ["format_3", "format_4"])
def test_drawn_users_of_older_formats_hold_for_ever(form, name):
    verdict = verify(Path(__file__).parent / form / f"synthetic-{name}")
    assert verdict.holds, verdict.violations
    is_too_low = "old-synthetic-card" in {limit.code for limit in verdict.not_covered}
    assert is_too_low == (form == "format_3")


@pytest.mark.parametrize("before", ["recveil-release-1", "recveil-release-2"])
def test_a_card_of_another_format_does_not_hold(copy_of, before):
    """Who gives a release an older number must give it the words of that time, too."""
    folder = copy_of("padded-groups-csv")
    manifest = _manifest(folder) | {"format": before}
    if before == "recveil-release-1":
        del manifest["counts"]["duplicates_dropped"]
    number = int(before[-1])
    classes = (folder / "classes.csv").read_bytes()
    todays, old = class_list_header(9), class_list_header(number)
    (folder / "classes.csv").write_bytes(classes.replace(todays, old))
    _sign(folder, with_names_of(number, manifest))
    assert [violation.where for violation in verify(folder).violations] == ["README.md"]


@pytest.mark.parametrize("name", OF_EACH_METHOD)
def test_the_third_format_changed_words_alone(name):
    """The same users, the same seed: no published byte of them has changed."""
    older, newer = (Path(__file__).parent / form / name for form in ("format_2", "format_3"))
    for file in (older / "classes.csv", *older.glob("ratings.*")):
        assert file.read_bytes() == (newer / file.name).read_bytes()
    before, after = _manifest(older), _manifest(newer)
    for manifest in (before, after):
        del manifest["format"], manifest["files"]["README.md"]
    assert before == after


# What cards of older formats said must not change, or what was published then fails.
FROZEN_CARDS = {
    "aggregates": "474af9366d5e61f3bad5755033250d1d7e565fc40796336d5a0a0e02d3f45287",
    "aggregates_3": "f4b48e85fe76ea8d9d44bdbb5d461d2fae0467ff80bf2c5e578ebe665c5049f5",
    "card": "cb49b8b2e505753413d37a09092fbe855f0bfed24d051e530afd24474860c04f",
    "card_1": "5a25806400272693dcaa6cf0ab9943026027ad9d8296240875fea42a28a1f62d",
    "card_2": "aac4b75980986e9948f00ba81727ee4b2b2bb7aa43452e0350dff570dde320bb",
    "co_rated": "41859c4a4ce7baf8b8d9e6e37756abf8ef04b77f34b5018fb34bd7d821d70dbf",
    "differentially_private": "e5c4ae709eb989b64eb235e091e801eee58b6ed65ba7a763e204a174115429f2",
    "drawn": "9b24fd9a9bcf6a9666dc76132fb2757e5cc42b0abbba0f16cc3977d1b68f646f",
    "drawn_3": "125ed3ea5dde8c8d0d516345ff99d4e7e440f0be42facc6eeb9b332fb9a17ec2",
    "identical_rows": "61bbc1fbc5d08d44e7f94761af9285c52eaa23ae4fe5b665d03003c2b1dbb82d",
    "k_corating": "1aa4d9e0a4fd18e1c1da23459694330a519f74f870424a8a631299a4f14e678f",
    "k_corating_likes": "6ded08febe31d6bba8dc6fed18375c792ef81d05417f7328cdd7ea9d04224f7e",
    "likes": "2e86b4015c325842633eebdac1d99e9d3d36a4c5b2b8b877e34d343a5e51a2e1",
    "predictive": "afaaedde9c219fd2d2f068c2995589100a55c8d4f6d73a34ae5e84ca1cc9f379",
    "private_3": "47c64e6a0fb9305dbb5cbc909468496709d4711f26b960bdda33230d2ac4dc74",
    "private_7": "2d91d91030719a89117012d54aca1936b495c800fe791f648c8a5eb0e101cd2e",
    "sparse": "6d821ebecbc4407dbf533717492b46d9c40494813dff440a4c14834bbe5e0fcf",
    "sparse_likes": "7d4ed59034f0556f2a3ac6a8c93a31a66d92fef6aa174f4e26aa785ac7612d29",
    "synthetic": "cf438c3b571e4ce0fb8694d8dd9f711237aafab9c9ae6c732b083dd3fb8814a7",
    "synthetic_3": "16d4862ba3d8ca7112d64766419e36ab4f568cdd4d570a4b74dca4a6ea593cb7",
    "synthetic_4": "5a85a019e36f87070d217afb2dc41e52052a56092aa1f2484cfbd782e5397f73",
    "synthetic_likes": "e72129e41112ac434122a9c36d99ea515e3f110a55eac78a125dde098444675a",
    "words": "07ece507800747fd7b912ae903b5f041da329479d1317bf7a6635b7f252230f0",
}


def test_the_words_of_older_formats_stay():
    folder = files("recveil.release").joinpath("cards", "until_8")
    found = {
        file.name.removesuffix(".md.jinja"): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
    }
    assert found == FROZEN_CARDS


class TestFormat1:
    """Releases that an older recveil wrote."""

    FOLDER = Path(__file__).parent / "format_1"

    @pytest.fixture(params=OF_EACH_METHOD)
    def old(self, request, tmp_path) -> Path:
        return Path(shutil.copytree(self.FOLDER / request.param, tmp_path / "old"))

    def test_an_older_arrow_numbers_its_row_groups(self):
        assert verify(self.FOLDER.parent / "arrow_18").holds

    def test_they_still_hold(self, old):
        verdict = verify(old)
        assert verdict.holds, verdict.violations

    @pytest.mark.parametrize("way", ["a note", "a seed in settings", "a wrong count of labels"])
    def test_they_are_checked_as_strictly(self, old, way):
        manifest = _manifest(old)
        change = IN_MANIFEST.get(way, _set("counts", "labels", value=1))
        change(manifest)
        _sign(old, manifest)
        assert _refused(old)

    def test_their_card_has_the_words_of_its_time(self, old):
        (old / "README.md").write_text((old / "README.md").read_text() + "p1 is alice\n")
        _sign(old)
        assert [violation.where for violation in verify(old).violations] == ["README.md"]

    def test_they_have_no_count_of_a_later_format(self, old):
        manifest = _manifest(old)
        manifest["counts"]["duplicates_dropped"] = 0
        _sign(old, manifest)
        assert _refused(old)
