"""A table in parts is read as the one file that they make."""

import os
import re
import shlex
import socket

import pytest

from error_assertions import raises
from recveil.io import read_ratings, read_table, understand
from shared.io_part_files import (
    NAMES,
    ROWS,
    lines_of,
    whole,  # noqa: F401 (fixtures)
    write,
)


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
class TestParts:
    @pytest.fixture
    def folder(self, tmp_path, ending):
        folder = tmp_path / "ratings"
        for at in range(3):
            write(folder / f"part-{at:05}.{ending}", ROWS[at * 20 : (at + 1) * 20])
        (folder / "_SUCCESS").touch()
        (folder / ".part-00000.crc").write_text("x")
        (folder / f"part-00003.{ending}").touch()
        return folder

    def test_a_folder_equals_one_file(self, folder, whole, ending):
        reading = understand(folder)
        assert reading.ratings == whole
        assert reading.layout[0] == "3 parts"
        assert read_ratings(folder, times=False) == read_ratings(
            folder.parent / "plain.csv", times=False
        )

    def test_a_pattern_equals_one_file(self, folder, whole, ending):
        assert read_ratings(folder / f"part-*.{ending}") == whole
        assert read_ratings(f"{folder.parent}/*/*.{ending}") == whole

    def test_a_part_is_named_in_errors(self, folder, ending):
        write(folder / f"part-00002.{ending}", [("u1", 900, 4, "2020-01-01"), ("u2", 7, 3, "no")])
        with raises("time.unreadable") as caught:
            read_ratings(folder, time="date")
        place = rf"ratings/part-00002\.{ending} (line 3|row 2): "
        assert re.match(place, str(caught.value))
        write(folder / f"part-00001.{ending}", [(1, 2, 3)], ("user", "item", "stars"))
        with raises("input.parts") as caught:
            read_ratings(folder)
        assert str(caught.value).startswith(f"ratings/part-00001.{ending}: ")
        assert len(str(caught.value)) < 300

    def test_they_are_not_verified(self, folder, ending):
        with raises("input.folder"):
            read_table(folder)


def test_partitions_without_dates_are_no_times(tmp_path):
    folder = tmp_path / "ratings"
    for day in range(1, 4):
        write(folder / "year=2020" / f"day={day}" / "0.csv", [(day, day, 3)], NAMES[:3])
    ratings = read_ratings(folder)
    assert (ratings.n_ratings, ratings.days) == (3, None)


def test_a_part_is_named_with_its_partition(tmp_path):
    folder = tmp_path / "ratings"
    for year, rating in ((2020, 4), (2021, "good")):
        write(folder / f"year={year}" / "0.csv", [(1, 2, rating)], NAMES[:3])
    with raises("rating.not-a-number") as error:
        read_ratings(folder)
    assert "ratings/year=2021/0.csv line 2" in str(error.value)
    assert "'good'" in str(error.value)
    (folder / "year=2020" / "0.csv").write_text("user\n1\n")
    with raises("input.unknown-format") as error:
        read_ratings(folder)
    assert "ratings/year=2020/0.csv" in str(error.value)


def test_a_pair_in_two_parts_is_found(tmp_path):
    for at in (1, 2):
        write(tmp_path / "ratings" / f"{at}.csv", [("ann", 2, at)], NAMES[:3])
    with raises("rating.duplicate") as error:
        read_ratings(tmp_path / "ratings")
    assert "ratings/1.csv line 2" in str(error.value)
    assert "ratings/2" in str(error.value)
    found = understand(tmp_path / "ratings", duplicates="last")
    assert found.ratings.values.tolist() == [2]


def test_only_the_first_part_has_a_header(tmp_path):
    text = lines_of(ROWS).splitlines(keepends=True)
    folder = tmp_path / "ratings"
    folder.mkdir()
    (folder / "xaa").write_text("".join(text[:30]))
    (folder / "xab").write_text("".join(text[30:]))
    with raises("input.parts") as error:
        read_ratings(folder)
    assert "ratings/xab" in str(error.value)


def test_whole_numbers_of_any_width_are_one_column(tmp_path):
    folder = tmp_path / "ratings"
    write(folder / "1.parquet", [(1, 2, 3)], NAMES[:3])
    write(folder / "2.parquet", [(10**12, 2, 3.5)], NAMES[:3])
    assert read_ratings(folder).users.tolist() == [1, 10**12]
    write(folder / "3.parquet", [("ann", 2, 3)], NAMES[:3])
    with raises("input.parts") as error:
        read_ratings(folder)
    assert "ratings/3.parquet" in str(error.value)
    assert "ratings/1" in str(error.value)


@pytest.mark.parametrize(
    ("files", "asked", "code", "said"),
    [
        (["1.csv", "README"], "ratings", "input.unknown-format", "ratings/README"),
        (["1.csv", "train/2.csv"], "ratings", "input.parts", "'train'"),
        (["1.csv"], "ratings/*.parquet", "input.not-found", ""),
        ([], "ratings/*", "input.not-found", ""),
        (["1.csv"], "ratings/**x", "input.not-found", ""),
    ],
)
def test_what_is_no_table_in_parts(tmp_path, files, asked, code, said):
    for name in files:
        write(tmp_path / "ratings" / name, ROWS)
        if name == "README":
            (tmp_path / "ratings" / name).write_text("x")
    with raises(code) as caught:
        read_ratings(tmp_path / asked)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("named", [".", "../my ratings", "{0}/my ratings", "my ratings"])
def test_the_pattern_that_is_advised_reads_the_parts(tmp_path, monkeypatch, named):
    """Within the folder, '/*' was advised, and elsewhere a pattern without its place."""
    folder = tmp_path / "my ratings"
    for name in ("1.csv", "train/2.csv"):
        write(folder / name, ROWS)
    monkeypatch.chdir(tmp_path if named == "my ratings" else folder)
    with raises("input.parts") as caught:
        read_ratings(named.format(tmp_path))
    (pattern,) = shlex.split(str(caught.value).partition("name a pattern: ")[2])
    assert read_ratings(pattern).values.size == len(ROWS)


class TestWhatIsNoPart:
    @pytest.fixture
    def folder(self, tmp_path):
        write(tmp_path / "ratings" / "date=2020-01-01" / "p.csv", ROWS)
        return tmp_path / "ratings"

    def refused(self, asked, said, code="input.parts"):
        with raises(code) as caught:
            read_ratings(asked)
        assert re.match(said, str(caught.value))
        assert len(str(caught.value)) < 300

    @pytest.mark.parametrize("links", [1, 2])
    def test_a_folder_is_not_followed_through_a_link(self, folder, links):
        for at in range(links):
            (folder / "date=2020-01-01" / f"date=2020-02-0{at + 1}").symlink_to("..")
        self.refused(folder, "date=2020-02-01: ")

    def test_nor_does_a_pattern_follow_one(self, folder):
        (folder / "again").symlink_to("date=2020-01-01")
        self.refused(folder / "*" / "p.csv", "again: ")
        self.refused(folder / "*" / "*.csv", "again: ")

    def test_a_link_on_the_way_to_the_table_is_followed(self, folder):
        (folder.parent / "link").symlink_to("ratings")
        assert read_ratings(folder.parent / "link") == read_ratings(folder)
        assert read_ratings(folder.parent / "link" / "*" / "*.csv") == read_ratings(folder)

    @pytest.mark.parametrize("asked", ["", "*", "**/*.csv", "p[1]/q.csv"])
    def test_a_link_that_leads_nowhere_is_named(self, tmp_path, asked):
        folder = tmp_path / "ratings"
        for name in ("p0.csv", "p1/q.csv") if "/" in asked else ("p0.csv",):
            write(folder / name, ROWS)
        for name in ("p9.csv", *(["p1/q.csv"] if "/" in asked else [])):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to("/nowhere/p.csv")
        self.refused(folder / asked, r"p[19].*csv: ")

    def test_a_link_to_itself_is_named(self, tmp_path):
        write(tmp_path / "ratings" / "p0.csv", ROWS)
        (tmp_path / "ratings" / "p1.csv").symlink_to("p1.csv")
        self.refused(tmp_path / "ratings", r"p1\.csv: ")

    @pytest.mark.parametrize("asked", ["", "*.csv"])
    def test_a_pipe_and_a_socket_are_named(self, tmp_path, asked):
        write(tmp_path / "ratings" / "p0.csv", ROWS)
        os.mkfifo(tmp_path / "ratings" / "p1.csv")
        self.refused(tmp_path / "ratings" / asked, r"p1\.csv: ")
        (tmp_path / "ratings" / "p1.csv").unlink()
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.fspath(tmp_path / "ratings" / "p1.csv"))
        self.refused(tmp_path / "ratings" / asked, r"p1\.csv: ")

    @pytest.mark.parametrize("asked", ["", "*.csv"])
    def test_a_file_that_is_two_parts_is_named(self, tmp_path, asked):
        write(tmp_path / "ratings" / "p0.csv", ROWS)
        (tmp_path / "ratings" / "p1.csv").symlink_to("p0.csv")
        self.refused(tmp_path / "ratings" / asked, r"p1\.csv and p0\.csv: ")

    def test_what_lies_below_a_name_that_is_passed_over_is_no_data(self, folder, whole):
        for name in ("_temporary=1/p.csv", ".staging/date=1/p.csv", "_temporary/0/p.csv", ".p.csv"):
            write(folder / name, [("eve", 7, 3, "2020-01-01")])
        for asked in ("", "*/*.csv", "**/*.csv", "*/*/*.csv"):
            if asked == "*/*/*.csv":
                self.refused(folder / asked, "", "input.not-found")
            else:
                assert read_ratings(folder / asked) == whole


def test_folders_in_each_other_have_an_end(tmp_path):
    """Some thousand of them take more calls within calls than Python allows."""
    for deep, is_read in ((60, True), (70, False)):
        part = tmp_path.joinpath(str(deep), *(f"k{at}=1" for at in range(deep)), "part.csv")
        part.parent.mkdir(parents=True)
        part.write_text("user,item,rating\n1,7,4\n2,7,3\n")
        if is_read:
            assert read_ratings(tmp_path / str(deep)).n_users == 2
            continue
        with raises("input.parts") as error:
            read_ratings(tmp_path / str(deep))
        assert "64" in str(error.value)


def test_fields_that_span_lines_are_counted_over_all_parts(tmp_path):
    """One review of several lines was refused, if the others are in other parts."""
    rows = [(f"u{n}", f"i{n % 3}", n % 5 + 1, "fine") for n in range(9)]
    for at, spanning in enumerate([1, 1, 0]):
        part = [
            (*row[:3], '"good\nold, so"') if n < spanning else row for n, row in enumerate(rows)
        ]
        users = [(f"{row[0]}{at}", *row[1:]) for row in part]
        write(tmp_path / "r" / f"{at}.csv", users, ("user", "item", "rating", "review"))
    reading = understand(tmp_path / "r")
    assert reading.ratings.n_ratings == 27
    assert reading.notes[0] == (
        "r: 27 rows and 3 headers take 32 lines, blank lines between rows not counted, because 2 "
        "quoted fields of other columns contain line breaks."
    )
    (tmp_path / "r" / "0.csv").unlink()
    with raises("input.quote-spans-lines") as error:
        understand(tmp_path / "r")
    assert "r/1.csv line 2" in str(error.value)
    assert "to line 3" in str(error.value)


@pytest.mark.parametrize("n_parts", [2, 3, 5])
def test_rows_that_a_stray_pair_of_quotes_swallows_are_refused_in_parts(tmp_path, n_parts):
    rows = [(f"u{n}", f"i{n % 3}", n % 5 + 1, "fine") for n in range(30)]
    for at in (7, 22):
        rows[at], rows[at + 1] = (*rows[at][:3], '"so'), (*rows[at + 1][:3], 'meh"')
    for at in range(n_parts):
        part = rows[at * 30 // n_parts : (at + 1) * 30 // n_parts]
        write(tmp_path / "r" / f"{at}.csv", part, ("user", "item", "rating", "review"))
    with raises("input.quote-spans-lines"):
        understand(tmp_path / "r")


LOGS = ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/v1.metadata.json"]


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("pattern", ["", "year=1", "*/*.parquet", "year=1/*", "../ratings/*/*"])
def test_a_folder_with_older_versions_of_a_table_is_refused(tmp_path, log, pattern):
    """Rows that a user had asked to delete were read again."""
    folder = tmp_path / "ratings"
    for at in range(2):
        write(folder / "year=1" / f"part-{at}.parquet", ROWS[at * 20 : at * 20 + 20])
    assert read_ratings(folder / pattern).n_ratings == 40
    (folder / log).parent.mkdir()
    (folder / log).touch()
    with raises("input.versioned-table", "ratings"):
        read_ratings(folder / pattern)
