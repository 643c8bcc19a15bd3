"""DuckDB files: many types, and no way out of the file."""

import subprocess
import sys

import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.io.databases.duckdb import opened_duckdb

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def path(tmp_path):
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TYPE mood AS ENUM ('low', 'high');"
            "CREATE TABLE ratings AS SELECT range::HUGEINT AS user_id, "
            "CASE WHEN range % 2 = 0 THEN 'low' ELSE 'high' END::mood AS mood, "
            "md5(range::VARCHAR)::UUID AS item_id, (range % 5)::DECIMAL(5, 2) + 0.5 AS rating, "
            "TIMESTAMPTZ '2020-01-15 23:30:00+00' + INTERVAL 1 DAY * (range % 3) AS rated_at, "
            "[1, 2] AS tags, {'a': 1} AS detail FROM range(20)"
        )
    return tmp_path / "shop.duckdb"


def test_types_are_read_as_their_text(path, tmp_path):
    with duckdb.connect(str(path), read_only=True) as connection:
        columns = "user_id, mood, item_id, rating, rated_at"
        connection.execute(f"COPY (SELECT {columns} FROM ratings) TO '{tmp_path}/plain.csv'")
    found, expected = (read_ratings(path, table="ratings"), read_ratings(tmp_path / "plain.csv"))
    assert found == expected
    assert found.users.dtype == "int64"
    assert read_ratings(path, table="ratings", item="mood", duplicates="error") == read_ratings(
        tmp_path / "plain.csv", item="mood"
    )


@pytest.mark.parametrize(("column", "kind"), [("tags", r"INTEGER\[\]"), ("detail", "STRUCT")])
def test_several_values_a_row_are_refused_by_name_and_type(path, column, kind):
    with raises("column.type") as error:
        understand(path, table="ratings", item=column)
    assert f"'{column}'" in str(error.value)


def test_nothing_outside_the_file_is_read(path, tmp_path):
    (tmp_path / "other.csv").write_text("user,item,rating\n1,2,3\n")
    for query in (
        f"SELECT * FROM '{tmp_path}/other.csv'",
        f"SELECT * FROM read_csv('{tmp_path}/other.csv')",
        "SELECT * FROM 'https://example.org/ratings.parquet'",
    ):
        with raises("database.query"):
            understand(path, query=query)


def test_a_view_that_reads_elsewhere_is_refused(path, tmp_path):
    (tmp_path / "other.csv").write_text("user,item,rating\n1,2,3\n")
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE VIEW other AS SELECT * FROM '{tmp_path}/other.csv'")
    with raises("database.query"):
        understand(path, table="other")


def test_a_schema_is_separated_by_a_point(path):
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA old; CREATE TABLE old.ratings AS FROM ratings LIMIT 3")
    assert read_ratings(path, table="old.ratings").n_ratings == 3


@pytest.mark.parametrize("keep", [20, 5_000, 20_000])
def test_a_damaged_database_ends_in_one_line(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    with raises("database.connection") as refused:
        read_ratings(path, table="ratings")
    assert "\n" not in str(refused.value)


def test_one_that_is_being_written_is_refused(path):
    program = (
        "import duckdb, sys\nwith duckdb.connect(sys.argv[1]):\n"
        "    print('locked', flush=True)\n    sys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program, str(path)], **pipes) as writer:
        assert writer.stdout.readline() == b"locked\n"
        with raises("database.connection"):
            understand(path, table="ratings")
        writer.stdin.close()


def test_no_progress_bar_is_printed_into_the_answer_of_the_child(path):
    """DuckDB prints one after two seconds, so a large table ended in a standstill."""
    with opened_duckdb(path, 10**9) as database:
        query = (
            "SELECT current_setting('enable_progress_bar') AS bar, "
            "current_setting('lock_configuration') AS locked"
        )
        _, batches = database.batches(query)
        assert next(iter(batches)).to_pylist() == [{"bar": False, "locked": True}]
