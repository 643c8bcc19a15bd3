"""Files of other programs, checked as they are written."""

import bz2
import contextlib
import gzip
import re
import sqlite3
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io.formats.wide_matrix import OTHER_CELLS
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError
from recveil.verification import verify

COLUMNS = ("user", "item", "rating")
ALIKE = [(f"u{user}", item, 5 - (item == "b")) for user in range(4) for item in "ab"]


def parts_in(folder: Path) -> Path:
    (folder / "parts").mkdir()
    for part in range(2):
        rows = [",".join(map(str, row)) for row in ALIKE[part * 4 : part * 4 + 4]]
        (folder / "parts" / f"{part}.csv").write_text("\n".join([",".join(COLUMNS), *rows]))
    return folder / "parts"


def in_sqlite(folder: Path) -> Path:
    pytest.importorskip("adbc_driver_sqlite")
    with contextlib.closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.execute("create table ratings (user text, item text, rating integer)")
        database.executemany("insert into ratings values (?, ?, ?)", ALIKE)
    return folder / "shop.db"


def in_duckdb(folder: Path) -> Path:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(folder / "shop.duckdb") as database:
        database.execute('create table ratings ("user" text, item text, rating integer)')
        database.executemany("insert into ratings values (?, ?, ?)", ALIKE)
    return folder / "shop.duckdb"


def in_workbook(folder: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (COLUMNS, *ALIKE):
        book.active.append(row)
    book.save(folder / "shop.xlsx")
    return folder / "shop.xlsx"


SEVERAL = {
    "folder": parts_in,
    "pattern": lambda folder: parts_in(folder) / "*.csv",
    "sqlite": in_sqlite,
    "duckdb": in_duckdb,
    "workbook": in_workbook,
}


class TestAnyFile:
    """Files of other programs."""

    def _csv(self, folder: Path, rows: list[str], header: str = "user_id,item_id,rating") -> Path:
        file = folder / "some.csv"
        file.write_text("\n".join([header, *rows]) + "\n")
        return file

    def test_identical_rows_hold_in_any_order_of_lines(self, tmp_path):
        file = self._csv(tmp_path, ["b,2,4", "a,1,5", "a,2,4", "b,1,5"])
        result = verify(file, k=2)
        assert result.holds
        assert (result.users, result.classes, result.k_achieved) == (2, 1, 2)

    def test_every_violating_row_is_listed_with_its_line(self, tmp_path):
        file = self._csv(tmp_path, ["a,1,5", "b,1,5", "c,1,4", "d,2,5"])
        result = verify(file, k=2)
        found = [(v.where, v.row, v.user_id) for v in result.violations]
        assert found == [("some.csv line 4", 3, "c"), ("some.csv line 5", 4, "d")]

    def test_numbers_written_differently_distinguish_users(self, tmp_path):
        assert not verify(self._csv(tmp_path, ["a,1,4", "b,1,4.0"]), k=2).holds
        assert not verify(self._csv(tmp_path, ["a,1,4", "b,01,4"]), k=2).holds
        many_digits = ["a,1,3.123456789012345678", "b,1,3.123456789012345679"]
        assert not verify(self._csv(tmp_path, many_digits), k=2).holds

    def test_every_column_counts(self, tmp_path):
        header = "user_id,item_id,rating,timestamp,town"
        assert verify(self._csv(tmp_path, ["a,1,4,9,x", "b,1,4,9,x"], header), k=2).holds
        assert not verify(self._csv(tmp_path, ["a,1,4,9,x", "b,1,4,8,x"], header), k=2).holds
        assert not verify(self._csv(tmp_path, ["a,1,4,9,x", "b,1,4,9,y"], header), k=2).holds
        two_times = "user_id,item_id,rating,timestamp,time"
        assert not verify(self._csv(tmp_path, ["a,1,4,9,1", "b,1,4,9,2"], two_times), k=2).holds

    def test_repeated_pairs_count_as_often_as_they_stand(self, tmp_path):
        assert not verify(self._csv(tmp_path, ["a,1,4", "a,1,4", "b,1,4"]), k=2).holds
        assert verify(self._csv(tmp_path, ["a,1,4", "b,1,4", "a,1,4", "b,1,4"]), k=2).holds

    @pytest.mark.parametrize("names", [("x:a", "x:b"), ("t", "t:1")])
    def test_columns_with_one_stem_are_both_compared(self, tmp_path, names):
        header = ",".join(["user_id,item_id,rating", *names])
        for values in (("s,0", "t,0"), ("0,s", "0,t")):
            rows = [f"{user},7,4,{value}" for user, value in enumerate(values)]
            assert not verify(self._csv(tmp_path, rows, header), k=2).holds

    def test_a_user_counts_once_however_he_is_stored(self, tmp_path):
        doubled = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["u", "u", "u"]))
        for users in (doubled, pa.array([0.0, -0.0, 0.0])):
            table = pa.table({"user_id": users, "item_id": [1, 1, 1], "rating": [4, 4, 4]})
            with pa.ipc.new_file(str(tmp_path / "some.arrow"), table.schema) as file:
                file.write_table(table)
            assert verify(tmp_path / "some.arrow", k=1).users == 1

    def test_unused_and_doubled_entries_of_a_dictionary_do_no_harm(self, tmp_path):
        users = pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(["a", "z", "b"]))
        items = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["i", "i"]))
        table = pa.table({"user_id": users, "item_id": items, "rating": [4, 4]})
        with pa.ipc.new_file(str(tmp_path / "some.arrow"), table.schema) as file:
            file.write_table(table)
        assert verify(tmp_path / "some.arrow", k=2).holds

    def test_a_missing_user_is_no_user(self, tmp_path):
        for rows in (["1,7,4", ",7,4"], [",7,4", ",7,4"]):
            with raises("id.missing"):
                verify(self._csv(tmp_path, rows), k=2)

    def test_a_missing_rating_is_not_a_nan(self, tmp_path):
        ratings = pa.array([None, float("nan")])
        table = pa.table({"user_id": [1, 2], "item_id": [1, 1], "rating": ratings})
        pq.write_table(table, tmp_path / "some.parquet")
        assert not verify(tmp_path / "some.parquet", k=2).holds

    @pytest.mark.parametrize(
        ("sizes", "code"),
        [
            (pa.array([5, 6], pa.timestamp("s")), "column.type"),
            (pa.array([True, True]), "column.type"),
            (pa.array([2**63 - 1, 5]), "input.line"),
            (pa.array([None, 5]), "input.line"),
        ],
    )
    def test_group_sizes_that_count_no_user_are_bad_input(self, tmp_path, sizes, code):
        table = pa.table({"user_id": [1, 2], "item_id": 2 * [1], "rating": 2 * [1]})
        pq.write_table(table.append_column("group_size", sizes), tmp_path / "some.parquet")
        with raises(code) as error:
            verify(tmp_path / "some.parquet", k=2)
        assert "group_size" in str(error.value)

    @pytest.mark.parametrize("sign", ["\n", "\x85", "\u2028", "\v", "\x1e"], ids=ascii)
    def test_line_breaks_in_item_ids_are_named(self, tmp_path, sign):
        table = pa.table({"user_id": [1, 2], "item_id": [f"i{sign}2"] * 2, "rating": [4, 4]})
        pq.write_table(table, tmp_path / "some.parquet")
        result = verify(tmp_path / "some.parquet", k=2)
        assert not result.holds
        assert f"(U+{ord(sign):04X}); original rows may" in result.violations[0].problem

    def test_negative_zero_distinguishes_users(self, tmp_path):
        table = pa.table({"user_id": [1, 2], "item_id": [1, 1], "rating": [0.0, -0.0]})
        pq.write_table(table, tmp_path / "some.parquet")
        assert not verify(tmp_path / "some.parquet", k=2).holds

    def test_group_sizes_are_believed_but_must_not_change(self, tmp_path):
        header = "user_id,item_id,rating,group_size"
        assert verify(self._csv(tmp_path, ["g,1,4,3", "g,2,4,3"], header), k=3).holds
        result = verify(self._csv(tmp_path, ["g,1,4,3", "g,2,4,5"], header), k=3)
        assert not result.holds
        assert result.violations[0].where == "some.csv line 3"
        with raises("input.line") as error:
            verify(self._csv(tmp_path, ["g,1,4,0"], header), k=3)
        assert "line 2" in str(error.value)
        with raises("column.type") as error:
            verify(self._csv(tmp_path, ["g,1,4,many"], header), k=3)
        assert "group_size" in str(error.value)

    def test_the_raw_data_does_not_hold(self, tmp_path):
        pq.write_table(make_ratings(50, 30, 400, seed=1).to_arrow(), tmp_path / "raw.parquet")
        result = verify(tmp_path / "raw.parquet", k=2)
        assert not result.holds
        assert len(result.violations) == 50

    def test_k_must_be_given_and_sane(self, tmp_path):
        file = self._csv(tmp_path, ["a,1,5"])
        with raises("option.required"):
            verify(file)
        with raises("option.value") as error:
            verify(file, k=0)
        assert "k is 0" in str(error.value)
        assert verify(file, k=1).holds

    @pytest.mark.parametrize("kind", ["folder", "pattern", "sqlite", "duckdb", "workbook"])
    @pytest.mark.parametrize("by_address", [False, True])
    def test_what_is_not_verified_has_a_remedy_that_works(self, tmp_path, kind, by_address):
        source = SEVERAL[kind](tmp_path)
        if by_address:
            scheme = kind if kind in ("sqlite", "duckdb") else "file"
            source = f"{scheme}://{'/' * (scheme != 'file')}{source}"
        with pytest.raises(RecveilError) as refused:
            verify(source, k=4)
        command = re.search(
            "recveil (convert) (FILE|PARTS|ADDRESS) TABLE.parquet", str(refused.value)
        )
        with pytest.raises(SystemExit) as ended:
            main([command.group(1), str(source), str(tmp_path / "new.parquet")])
        assert ended.value.code == 0
        assert verify(tmp_path / "new.parquet", k=4).holds

    @pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
    def test_a_packed_database_is_unpacked_first(self, tmp_path, kind):
        packed = tmp_path / "shop.gz"
        packed.write_bytes(gzip.compress(SEVERAL[kind](tmp_path).read_bytes()))
        with raises("input.not-a-table", "database; unpack it"):
            verify(packed, k=4)

    def test_a_table_with_deleted_rows_is_not_converted(self, tmp_path):
        parts = parts_in(tmp_path)
        (parts / "_delta_log").mkdir()
        (parts / "_delta_log" / "0.json").write_text("{}")
        with raises("input.versioned-table"):
            verify(parts, k=4)

    def test_folders_and_missing_files(self, tmp_path):
        with raises("release.not-found"):
            verify(tmp_path, k=2)
        parts = parts_in(tmp_path)
        (parts / "more").mkdir()
        with raises("release.not-found", "recveil convert PARTS"):
            verify(parts, k=2)
        with raises("input.not-found") as error:
            verify(tmp_path / "nowhere.csv", k=2)
        assert "nowhere" in str(error.value)


class TestWhatIsNotCovered:
    """What is not compared in a file of another program is named; all else is compared."""

    ROWS = ("7,4", "8,5")

    def _limits(self, file: Path, k: int = 5, **options) -> dict[str, tuple]:
        verdict = verify(file, k=k, **options)
        assert verdict.holds, verdict.violations
        return {limit.code: limit.values for limit in verdict.not_covered}

    def _file(self, folder: Path, lines: list[str]) -> Path:
        file = folder / "some.csv"
        file.write_text("\n".join(["user_id,item_id,rating", *lines, ""]))
        return file

    def test_five_equal_rows_in_five_orders_of_lines(self, tmp_path):
        items = [f"{item},4" for item in range(5)]
        turned = [f"u{n},{item}" for n in range(5) for item in items[n:] + items[:n]]
        assert "line-order" in self._limits(self._file(tmp_path, turned))
        same = [f"u{n},{item}" for n in range(5) for item in items]
        limits = self._limits(self._file(tmp_path, same))
        assert "line-order" not in limits
        assert "user-order" in limits

    def test_lines_of_one_user_that_stand_apart(self, tmp_path):
        together = [f"u{n},{row}" for n in range(5) for row in self.ROWS]
        apart = [*together[1:], together[0]]
        assert "line-order" in self._limits(self._file(tmp_path, apart))

    @pytest.mark.parametrize(
        ("change", "stated"),
        [
            (lambda text: text.replace("u2", '"u2"'), "needless-quotes"),
            (lambda text: text.replace("u2,7,4\n", "u2,7,4\r\n"), "mixed-cr-lf"),
            (lambda text: text.replace("u2,7,4\n", "u2,7,4\n\n"), "empty-lines"),
        ],
    )
    def test_one_user_written_in_another_way(self, tmp_path, change, stated):
        file = self._file(tmp_path, [f"u{n},{row}" for n in range(5) for row in self.ROWS])
        assert "irregular-text" not in self._limits(file)
        file.write_bytes(change(file.read_text()).encode())
        assert stated in self._limits(file)["irregular-text"]

    def test_spaces_and_byte_order_marks_within_are_values(self, tmp_path):
        for spoilt in ("u2,7 ,4", "u2,7,4 ", "u2, 7,4", "u2,\ufeff7,4"):
            rows = [f"u{n},{row}" for n in range(5) for row in self.ROWS]
            rows[rows.index("u2,7,4")] = spoilt
            assert not verify(self._file(tmp_path, rows), k=5).holds

    def test_a_comment_is_no_line(self, tmp_path):
        rows = [f"u{n},{row}" for n in range(5) for row in self.ROWS]
        with raises("input.line", "line 4"):
            verify(self._file(tmp_path, [*rows[:2], "# u2 is alice", *rows[2:]]), k=5)

    def test_metadata_of_a_parquet_file(self, tmp_path):
        columns = {"user_id": list("abcde"), "item_id": [7] * 5, "rating": [4] * 5}
        for metadata, named in ((None, ()), ({"who is who": "a is alice"}, ("who is who",))):
            table = pa.table(columns).replace_schema_metadata(metadata)
            pq.write_table(table, tmp_path / "some.parquet")
            assert {*named} <= {*self._limits(tmp_path / "some.parquet")["file-metadata"]}

    def test_a_zipped_file(self, tmp_path):
        file = self._file(tmp_path, [f"u{n},7,4" for n in range(5)])
        zipped = tmp_path / "some.csv.gz"
        zipped.write_bytes(gzip.compress(file.read_bytes()))
        assert "gzip-header" in self._limits(zipped)

    def test_group_sizes_on_rows_that_are_listed_one_by_one(self, tmp_path):
        file = tmp_path / "some.csv"
        rows = [f"u{n},7,4,5" for n in range(5)]
        file.write_text("\n".join(["user_id,item_id,rating,group_size", *rows, ""]))
        verdict = verify(file, k=5)
        assert (verdict.holds, verdict.users, verdict.k_achieved) == (True, 5, 5)
        assert "repeated-sizes" in {limit.code for limit in verdict.not_covered}
        verdict = verify(file, k=6)
        assert not verdict.holds
        assert "equal rows with a group_size count once" in verdict.violations[0].problem
        # One row for a group is believed, as nothing else can be done, and that is said.
        file.write_text("user_id,item_id,rating,group_size\nu1,7,4,5\n")
        assert verify(file, k=5).users == 5
        assert "group-sizes" in self._limits(file)


class TestCoRated:
    """The ratings may differ, and nothing else."""

    HEADER = "user_id,item_id,rating"

    def _check(self, folder: Path, rows: list[str], more: str = "", k: int = 2) -> bool:
        (folder / "some.csv").write_text("\n".join([self.HEADER + more, *rows, ""]))
        return verify(folder / "some.csv", k=k, claim="co-rated").holds

    def test_ratings_may_differ(self, tmp_path):
        assert self._check(tmp_path, ["a,7,4", "b,7,5"])
        assert not self._check(tmp_path, ["a,7,4", "b,8,4"])

    @pytest.mark.parametrize("name", ["town", "timestamp", "rating2", "k", "time (extra)"])
    def test_every_other_column_counts(self, tmp_path, name):
        assert self._check(tmp_path, ["a,7,4,1", "b,7,5,1"], f",{name}")
        assert not self._check(tmp_path, ["a,7,4,1", "b,7,5,2"], f",{name}")

    def test_it_is_said_what_was_compared(self, tmp_path):
        self._check(tmp_path, ["a,7,4,1", "b,7,5,1"], ",town")
        assert verify(tmp_path / "some.csv", k=2, claim="co-rated").compared == ["item", "town"]


class TestWhoseRowsAreCompared:
    """A verdict that took items for users would hold for items, and say nothing of users."""

    ROWS = "7,ann,4\n7,ben,4\n8,ann,2\n8,ben,3\n"

    def test_a_file_without_a_header_must_be_named(self, tmp_path):
        path = tmp_path / "extract.csv"
        path.write_text(self.ROWS)
        with raises("column.order"):
            verify(path, k=2)
        assert not verify(path, k=2, user="2", item="1").holds
        path.write_text(self.ROWS.replace("3", "2"))
        assert verify(path, k=2, user="2", item="1").holds
        assert not verify(path, k=2, user="1", item="2").holds

    def test_formats_that_fix_the_order_need_nothing(self, tmp_path):
        path = tmp_path / "ratings.dat"
        path.write_text("1::7::4::978300760\n2::7::4::978300760\n")
        assert verify(path, k=2).holds

    def test_a_release_has_its_own_names(self, tmp_path):
        made = PredictiveAnonymizer(3, seed=1).anonymize(make_ratings(9, 6, 20, seed=1))
        made.write(tmp_path / "out")
        with raises("option.unsupported") as error:
            verify(tmp_path / "out", user="user_id")
        assert "user" in str(error.value)


class TestTablesInMemory:
    def test_a_frame_is_checked_as_its_file_would_be(self):
        frame = pd.DataFrame({"user": [1, 2, 3], "item": [7, 7, 7], "rating": [4, 4, 5]})
        assert verify(frame, k=1).holds
        found = verify(frame, k=2)
        assert (found.holds, found.k_achieved, found.users) == (False, 1, 3)
        assert verify(frame.assign(rating=4), k=3).holds
        assert not verify(frame.assign(rating=4, town=["a", "b", "c"]), k=2).holds

    def test_ratings_are(self):
        ratings = Ratings.from_columns([1, 2], [7, 7], [4, 4])
        assert verify(ratings, k=2).holds
        with raises("option.required"):
            verify(ratings)

    def test_no_column_is_passed_over(self):
        frame = pd.DataFrame({"user": [1, 2], "item": [7, 7], "rating": [4, 4]})
        with pytest.raises(RecveilError):
            verify(frame.assign(odd=[{"a"}, [1]]), k=2)


@pytest.mark.parametrize("name", ["release.zip", "out/release.json"])
def test_what_contains_a_release_or_is_in_one_is_distinguished_from_it(tmp_path, name):
    """A newcomer names the archive that they got, or the file that reveals most."""
    (tmp_path / "out").mkdir()
    (tmp_path / name).write_bytes(b"PK\x03\x04")
    with raises("option.required"):
        verify(tmp_path / name)


ROWS = [(user, item, rating) for user in "ab" for item, rating in ((7, "4"), (9, "3.5"))]

OBJECTS = [
    f'{{"user": "{user}", "item": {item}, "rating": {rating}}}' for user, item, rating in ROWS
]

JSON_LINES, JSON_ARRAY = "\n".join(OBJECTS), f"[{', '.join(OBJECTS)}]"

WIDE = "user,7,8,9\na,4,,3.5\nb,4,,3.5\n"


def _between(mark: str) -> str:
    return "".join(f"{mark.join(map(str, row))}\n" for row in [("user", "item", "rating"), *ROWS])


class TestOtherKinds:
    """What the other verbs read is checked as strictly as a CSV."""

    def _check(self, folder: Path, content: str | bytes, **options):
        data = content if isinstance(content, bytes) else content.encode()
        (folder / "table").write_bytes(data)
        return verify(folder / "table", k=2, **options)

    @pytest.mark.parametrize(
        ("content", "options"),
        [
            (JSON_LINES, {}),
            (JSON_ARRAY, {}),
            (_between(";").replace("3.5", "3,5"), {}),
            (_between("|"), {}),
            (_between("^"), {"delimiter": "^"}),
            (_between("\t").encode("utf-16"), {}),
            (bz2.compress(_between(",").encode()), {}),
            (WIDE, {"wide": True}),
            (WIDE.replace(",,", ",99,"), {"wide": True, "null": 99}),
            (WIDE.replace(",", "\t"), {"wide": True, "user": "user"}),
            (_between(",").partition("\n")[2], {"format": "csv-plain", "user": 1, "item": 2}),
        ],
    )
    def test_they_are_read_and_one_other_rating_is_found(self, tmp_path, content, options):
        verdict = self._check(tmp_path, content, **options)
        assert (verdict.holds, verdict.users, verdict.records, verdict.k_achieved) == (
            True,
            2,
            2,
            2,
        )
        if isinstance(content, str):
            start, _, end = content.rpartition("4")
            broken = self._check(tmp_path, f"{start}5{end}", **options)
            assert (broken.holds, broken.singletons) == (False, 2)

    @pytest.mark.parametrize(
        "last",
        [
            '{"user": "b", "item": 9, "rating": "3.5"}',
            '{"user": "b", "item": 9, "rating": 3.50}',
            '{"user": "b", "rating": 3.5, "item": 9}',
            '{"user": "b", "item": "9", "rating": 3.5}',
            '{"user": "b", "item": 9, "rating": 3.5, "town": null}',
            '{"user": "b", "item": 9, "rating": 3.5, "town": ""}',
            '{"user": "b", "item": 9, "rating": 3.5, "town": "Rome"}',
        ],
    )
    def test_json_that_says_the_same_in_another_way_is_found(self, tmp_path, last):
        verdict = self._check(tmp_path, "\n".join([*OBJECTS[:-1], last]))
        assert (verdict.holds, verdict.k_achieved) == (False, 1)

    def test_missing_null_and_empty_values_differ(self, tmp_path):
        with_town = [f'{line[:-1]}, "town": null}}' for line in OBJECTS]
        assert self._check(tmp_path, "\n".join(with_town)).holds
        for other in (OBJECTS[-1], with_town[-1].replace("null", '""')):
            assert not self._check(tmp_path, "\n".join([*with_town[:-1], other])).holds

    def test_a_name_that_only_late_objects_have_is_refused(self, tmp_path):
        late = '{"user": "c", "item": 9, "rating": 3.5, "town": "Rome"}'
        with raises("input.json", "line 1003", "'town'"):
            self._check(tmp_path, "\n".join([OBJECTS[0]] * 1002 + [late]))

    @pytest.mark.parametrize("cell", ["NA", "99", " ", "nan"])
    def test_what_is_written_for_no_rating_is_compared(self, tmp_path, cell):
        verdict = self._check(tmp_path, WIDE[:-5] + f"{cell},3.5\n", wide=True, null="99")
        assert (verdict.holds, verdict.compared) == (False, ["item", "rating", OTHER_CELLS])

    @pytest.mark.parametrize("last", ["b,4,, 3.5", "b,4,,3.50", "b,4,3.5,"])
    def test_cells_of_a_matrix_are_compared_as_they_are_written(self, tmp_path, last):
        verdict = self._check(tmp_path, f"user,7,8,9\na,4,,3.5\n{last}\n", wide=True)
        assert (verdict.holds, verdict.k_achieved) == (False, 1)

    def test_a_user_without_ratings_is_refused(self, tmp_path):
        with raises("rating.missing", "line 4"):
            self._check(tmp_path, WIDE + "c,,,\n", wide=True)

    def test_claims_compare_what_they_name(self, tmp_path):
        other = WIDE.replace("b,4", "b,5")
        assert self._check(tmp_path, other, wide=True, claim="co-rated").holds
        assert self._check(tmp_path, other.replace("b,5,,", "b,5,1,"), wide=True).singletons == 2

    @pytest.mark.parametrize("option", [{"wide": True}, {"format": "csv"}, {"delimiter": ";"}])
    def test_a_frame_has_no_delimiter(self, option):
        frame = pd.DataFrame({"user": [1, 2], "item": [7, 7], "rating": [4, 4]})
        with raises("option.unsupported", *option):
            verify(frame, k=2, **option)
