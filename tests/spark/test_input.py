"""Each part of a table is read whole, or the table is not read."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.spark.input import is_for_spark, lake_of, read_frame
from recveil.spark.session import spark_errors_translated


def test_folders_of_parts_are_read_by_spark(spark, frame, ratings, tmp_path):
    frame.write.parquet(str(tmp_path / "parts"))
    frame.write.csv(str(tmp_path / "texts"), header=True)
    for name in ("parts", "texts"):
        assert is_for_spark(str(tmp_path / name))
        found = lake_of(read_frame(spark, str(tmp_path / name)), scale=ratings.scale)
        assert found.n_ratings == ratings.n_ratings
        assert np.array_equal(found.items, ratings.items)
    assert not is_for_spark(str(tmp_path / "ratings.csv"))


LINES = "".join(f"u{i},i{i % 3},{i % 5 + 1}\n" for i in range(9))
NAMED = f"user,item,rating\n{LINES}"


@pytest.mark.parametrize(
    ("parts", "code", "named"),
    [
        ([NAMED, "item,user,rating\ni1,v1,3\n"], "input.parts", "part-"),
        ([NAMED, LINES.replace("u", "v")], "input.parts", "part-"),
        ([f"{NAMED}x,i1,3,more\n"], "input.line", "part-0.csv: "),
        ([f"{NAMED}x,i1\n"], "input.line", "part-0.csv: "),
        ([f'{NAMED}"two\nlines",i1,3\n'], "input.line", "part-0.csv: "),
        ([f"{NAMED}Jo\x0bse,i1,3\n"], "id.line-break", "1 of 10 rows"),
        ([f"{NAMED}Jos\xe9,i1,3\nJos\xe8,i1,4\n"], "input.encoding", "2 of 11 rows"),
    ],
)
def test_text_is_read_as_it_stands_or_not_at_all(spark, tmp_path, parts, code, named):
    """By Spark's own settings users become items here, users are lost, and two become one."""
    for number, part in enumerate(parts):
        (tmp_path / f"part-{number}.csv").write_bytes(part.encode("latin-1"))
    with raises(code) as caught, spark_errors_translated():
        lake_of(read_frame(spark, str(tmp_path)))
    assert str(caught.value).startswith(named)
    assert "u3" not in str(caught.value)


def test_quotes_capitals_and_empty_parts_are_those_of_csv(spark, tmp_path):
    rows = '"say ""hi""",i1,3\n"a,b",i2,4\nback\\slash,i2,4\n'
    for number, part in enumerate((NAMED, f"USER,Item,rating\n{rows}", "")):
        (tmp_path / f"part-{number}.csv").write_text(part)
    found = lake_of(read_frame(spark, str(tmp_path)))
    users = {row["user"] for row in found.rows.collect()} - {f"u{i}" for i in range(9)}
    assert users == {'say "hi"', "a,b", "back\\slash"}


def _swallowing(stray: str) -> str:
    """A part whose column `stray` opens a quote in user 2's row, and closes it in user 4's."""
    lines = ["user,item,rating,review"]
    for user in range(1, 7):
        for item in ("i1", "i2", "i3"):
            row = {"user": f"u{user}", "item": item, "rating": "4", "review": "fine"}
            if item == "i2" and user in (2, 4):
                row[stray] = f'"{row[stray]}' if user == 2 else f'{row[stray]}"'
            lines.append(",".join(row.values()))
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize("stray", ["user", "item", "rating"])
def test_a_stray_pair_of_quotes_is_refused(spark, tmp_path, stray):
    (tmp_path / "part-0.csv").write_text(_swallowing(stray))
    with raises("input.line") as caught, spark_errors_translated():
        lake_of(read_frame(spark, str(tmp_path)))
    assert "u3" not in str(caught.value)


def test_a_stray_pair_of_quotes_in_the_last_column_swallows_no_rows(spark, tmp_path):
    """Spark ends each row with its line, so that the quote is part of the review."""
    (tmp_path / "part-0.csv").write_text(_swallowing("review"))
    found = lake_of(read_frame(spark, str(tmp_path)))
    assert (found.n_ratings, len(found.items)) == (18, 3)


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ("i4;31002;i1;41002;i2;51003;i1", "id.row-within"),
        ("i4|1900|i1|41900|i2|5", "id.row-within"),
        ("i4\t3\t1002", "id.row-within"),
    ],
)
def test_rows_within_an_item_are_refused(spark, tmp_path, item, code):
    users = [str(user) for user in range(1001, 1010) for _ in range(4)]
    items = [*["i1", "i2", "i3", "i4"] * 9, item]
    rows = pa.table({"user": [*users, "1001"], "item": items, "rating": [4.0] * 37})
    pq.write_table(rows, tmp_path / "part-0.parquet")
    with raises(code), spark_errors_translated():
        lake_of(read_frame(spark, str(tmp_path)))


def test_parts_of_different_types_are_refused(spark, tmp_path):
    for number, items in enumerate(([7, 8], ["7", "8"])):
        rows = pa.table({"user": [1, 2], "item": items, "rating": [3.0, 4.0]})
        pq.write_table(rows, tmp_path / f"part-{number}.parquet")
    with raises("input.parts"), spark_errors_translated():
        lake_of(read_frame(spark, str(tmp_path)))


@pytest.mark.parametrize(
    ("place", "name"), [("more/b", "b"), ("_b", "_b"), ("_temporary/0/b", "b"), (".b", ".b")]
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_no_part_is_left_out(spark, tmp_path, place, name, ending):
    """Spark reads such folders without a word, and leaves these users out."""
    for part in ("a", place):
        file = tmp_path / f"{part}.{ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        if ending == "csv":
            file.write_text(NAMED)
        else:
            pq.write_table(pa.table({"user": ["a"], "item": ["i"], "rating": [3.0]}), file)
    (tmp_path / "_SUCCESS").touch()
    assert is_for_spark(str(tmp_path))
    with raises("input.parts", f"'{name}.{ending}'"):
        read_frame(spark, str(tmp_path))


@pytest.mark.parametrize(
    "name", ["my ratings é", "a[bc]", "a{b,c}", "100%20", "what?*", "back\\up"]
)
def test_names_of_folders_mean_nothing_else(spark, tmp_path, name):
    """To Spark some are patterns, and others would be written with per cents."""
    for folder, user in ((name, "a"), ("ab", "other")):
        (tmp_path / folder).mkdir()
        rows = pa.table({"user": [user, user], "item": ["i", "j"], "rating": [3.0, 4.0]})
        pq.write_table(rows, tmp_path / folder / "part 1.parquet")
    for source in (tmp_path / name, tmp_path / name / "part 1.parquet"):
        assert {row["user"] for row in read_frame(spark, str(source)).collect()} == {"a"}


def test_parts_in_folders_alone_are_for_one_machine(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.csv").write_text(NAMED)
    assert not is_for_spark(str(tmp_path))


def test_columns_of_one_part_alone_are_gaps_in_the_others(spark, tmp_path):
    """By the columns of the first part all would be likes, and what the second rated is lost."""
    rows = {"user": ["a", "b"], "item": ["i", "j"]}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    pq.write_table(pa.table(rows | {"rating": [3.0, 4.0]}), tmp_path / "b.parquet")
    with raises("rating.missing") as caught:
        lake_of(read_frame(spark, str(tmp_path)))
    assert "2 of 4 rows" in str(caught.value)
    assert "a.parquet" in str(caught.value)


WHOLE = [2**53, 2**53 + 1]


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(21, 2), pa.string()])
def test_whole_numbers_that_a_double_does_not_distinguish_are_refused(spark, tmp_path, kind):
    values = pa.array([*map(str, WHOLE), "5"]).cast(kind)
    table = pa.table({"user": ["a", "b", "c"], "item": ["i"] * 3, "rating": values})
    pq.write_table(table, tmp_path / "all.parquet")
    pq.write_table(table.slice(0, 2), tmp_path / "equal.parquet")
    lake = lake_of(read_frame(spark, str(tmp_path / "all.parquet")))
    assert "9007199254740992 and 9007199254740993 became one" in lake.notes[-1]
    with raises("rating.merged", "from 9007199254740992 to 9007199254740993,"):
        lake_of(read_frame(spark, str(tmp_path / "equal.parquet")))


@pytest.mark.parametrize(
    ("values", "note"),
    [
        (np.array([2.0**53, 5]), "as large as 9007199254740992 are floats"),
        (np.array([2**24, 5], np.float32), "as large as 16777216 are floats"),
        (np.array([2.0**44, 2.0**44 + 1, 0]), "17592186044416 and 17592186044417 became one"),
        (np.array([2.0**24, 5]), ""),
    ],
)
def test_floats_without_all_whole_numbers_are_noted(spark, tmp_path, values, note):
    users = [f"u{user}" for user in range(values.size)]
    table = pa.table({"user": users, "item": ["i"] * values.size, "rating": values})
    pq.write_table(table, tmp_path / "a.parquet")
    notes = lake_of(read_frame(spark, str(tmp_path / "a.parquet"))).notes
    assert note in notes[-1]
    assert len(notes) == 1 + bool(note)


@pytest.mark.parametrize(("log", "kind"), [("_delta_log", "Delta"), (".hoodie", "Hudi")])
def test_tables_with_a_log_are_refused(spark, tmp_path, log, kind):
    """Users who were dropped from such a table still stand in its old parts."""
    pq.write_table(pa.table({"user": ["a"], "item": ["i"]}), tmp_path / "a.parquet")
    (tmp_path / log).mkdir()
    with raises("input.unknown-format") as caught:
        read_frame(spark, str(tmp_path))
    assert kind in str(caught.value)
