"""Every database gives the same ratings as a CSV of its table, and stays as it is."""

import hashlib
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io import read_ratings, understand, write_ratings
from recveil.ratings import RatingScale
from recveil.runtime.errors import RecveilError
from recveil.runtime.memory import MemoryLimitError, memory_limited

STARS = RatingScale(0.5, 5, 0.5)
MADE = make_ratings(n_users=50, n_items=30, n_ratings=600, seed=3)
KINDS = ("sqlite", "duckdb", "postgresql")
# Names that an adversary may choose to do harm.
ODD_NAME = "rat\"ings'); DROP TABLE ratings; --"


class Shop:
    """A database with tables in it, and the way to put more in."""

    def __init__(self, kind, folder, server):
        self.kind, self.folder, self.server = kind, folder, server
        self.path = folder / f"shop.{kind}"
        self.source = server if kind == "postgresql" else str(self.path)
        self.name = "PostgreSQL" if kind == "postgresql" else self.path.name

    def run(self, *statements, rows=()):
        """Run statements; the last of them once for each row."""
        if self.kind == "sqlite":
            import sqlite3

            with sqlite3.connect(self.path) as connection:
                self._run(connection, statements, rows)
            connection.close()
        elif self.kind == "duckdb":
            with self._connect_duckdb() as connection:
                self._run(connection, statements, rows)
        else:
            from adbc_driver_postgresql import dbapi

            statements = [each.replace("?", "${}").format(*range(1, 9)) for each in statements]
            with dbapi.connect(self.server) as connection:
                with connection.cursor() as cursor:
                    self._run(cursor, statements, rows)
                connection.commit()

    def _connect_duckdb(self):
        """Wait for the lock of a reader that has just ended."""
        import duckdb

        for _ in range(100):
            try:
                return duckdb.connect(str(self.path))
            except duckdb.IOException:
                time.sleep(0.05)
        return duckdb.connect(str(self.path))

    def _run(self, cursor, statements, rows):
        for statement in statements[: -1 if rows else None]:
            cursor.execute(statement)
        if rows:
            cursor.executemany(statements[-1], rows)

    def make(self, table, columns, rows):
        """Make a table."""
        marks = ", ".join("?" * len(rows[0]))
        name = '"' + table.replace('"', '""') + '"'
        drop = f"DROP TABLE IF EXISTS {name}"
        self.run(
            drop,
            f"CREATE TABLE {name} ({columns})",
            f"INSERT INTO {name} VALUES ({marks})",
            rows=rows,
        )

    def state(self):
        """Return what changes if anything was written."""
        if self.kind != "postgresql":
            assert {each.name for each in self.folder.iterdir()} == {self.path.name}
            return hashlib.sha256(self.path.read_bytes()).hexdigest()
        return read_ratings(self.server, table="ratings", scale=STARS)


def rows_of(ratings):
    table = ratings.to_arrow()
    return [tuple(row.values()) for row in table.to_pylist()]


def tuples():
    table = MADE.to_arrow()
    columns = [table.column(at).to_pylist() for at in range(4)]
    return [
        (user, item, float(rating), datetime.fromtimestamp(time, UTC).date().isoformat())
        for user, item, rating, time in zip(*columns, strict=True)
    ]


@pytest.fixture(scope="module", params=KINDS)
def shop(request, tmp_path_factory):
    server = request.getfixturevalue("postgresql_server") if request.param == "postgresql" else None
    if request.param == "sqlite":
        pytest.importorskip("adbc_driver_sqlite")
    pytest.importorskip("duckdb")
    found = Shop(request.param, tmp_path_factory.mktemp("shop"), server)
    columns = "user_id integer, item_id integer, rating decimal(2,1), rated_at date"
    rows = tuples()
    if found.kind == "postgresql":  # its driver binds what it is given, and no text as a date
        columns = columns.replace("decimal(2,1)", "float8").replace("date", "text")
    found.make("ratings", columns, rows)
    if found.kind == "postgresql":
        found.run(
            "ALTER TABLE ratings ALTER rating TYPE numeric(2,1), "
            "ALTER rated_at TYPE date USING rated_at::date"
        )
    return found


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "ratings.csv"
    write_ratings(MADE, path)
    return path


def test_a_table_is_the_same_as_its_csv(shop, exported):
    expected = read_ratings(exported, scale=STARS)
    reading = understand(shop.source, table="ratings", scale=STARS)
    assert reading.ratings == expected
    assert reading.name == shop.name
    assert [column.name for column in reading.columns] == [
        "user_id",
        "item_id",
        "rating",
        "rated_at",
    ]


def test_a_query_may_choose_and_rename(shop, exported):
    query = "SELECT rating AS x, user_id AS a, item_id AS b FROM ratings WHERE user_id < 10 -- few;"
    found = read_ratings(shop.source, query=query, user="2", item="b", rating="x", scale=STARS)
    expected = read_ratings(exported, scale=STARS, times=False)
    few = [row for row in rows_of(expected) if row[0] < 10]
    assert rows_of(found) == few


def test_a_semicolon_at_the_end_is_nothing(shop):
    found = read_ratings(shop.source, query="SELECT * FROM ratings ; \n", scale=STARS)
    assert found.n_ratings == MADE.n_ratings


def test_an_address_leads_to_the_same(shop):
    source = shop.source if shop.server else f"{shop.kind}:///{shop.path}"
    assert read_ratings(source, table="ratings", scale=STARS).n_ratings == MADE.n_ratings


def test_a_name_is_quoted_and_never_pasted(shop):
    shop.make(ODD_NAME, "user_id integer, item_id integer, rating integer", [(1, 2, 3), (2, 2, 4)])
    found = read_ratings(shop.source, table=ODD_NAME)
    assert rows_of(found) == [(1, 2, 3.0), (2, 2, 4.0)]
    shop.run('DROP TABLE "' + ODD_NAME.replace('"', '""') + '"')
    with raises("database.table"):
        read_ratings(shop.source, table=ODD_NAME)
    assert read_ratings(shop.source, table="ratings", scale=STARS).n_ratings == MADE.n_ratings


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM ratings",
        "DELETE FROM ratings RETURNING user_id, item_id, rating",
        "WITH gone AS (DELETE FROM ratings RETURNING *) SELECT * FROM gone",
        "DROP TABLE ratings",
        "SELECT * FROM ratings; DROP TABLE ratings",
        "SELECT * FROM ratings) AS a; DROP TABLE ratings; SELECT * FROM (SELECT * FROM ratings",
        "CREATE TABLE more AS SELECT * FROM ratings",
        "INSERT INTO ratings SELECT * FROM ratings",
        "ATTACH 'made.db' AS made",
        "COPY ratings TO 'made.csv'",
        "SET TRANSACTION READ WRITE",
        "COMMIT",
        "VACUUM INTO 'made.db'",
        " ;",
        "no sql at all",
    ],
)
def test_nothing_but_one_select_is_run(shop, query, monkeypatch):
    monkeypatch.chdir(shop.folder)
    before = shop.state()
    if shop.kind == "sqlite" and query.startswith("SELECT * FROM ratings)"):
        # It reads the first of several statements, and no other.
        assert read_ratings(shop.source, query=query, scale=STARS).n_ratings == MADE.n_ratings
    else:
        with pytest.raises(RecveilError) as refused:
            read_ratings(shop.source, query=query, scale=STARS)
        assert str(refused.value).startswith(f"{shop.name}: ")
        assert "\n" not in str(refused.value)
    assert shop.state() == before


def test_which_table_is_asked_for(shop):
    shop.make("others", "user_id integer, item_id integer, rating integer", [(1, 2, 3)])
    for given in ({}, {"table": "nope"}):
        with raises("database.table") as refused:
            understand(shop.source, **given)
        assert "'ratings'" in str(refused.value)
        assert str(refused.value).startswith(f"{shop.name}: ")
    with raises("option.conflict"):
        understand(shop.source, query="SELECT 1", table="ratings")


@pytest.mark.parametrize(
    "given", [{"sheet": "x"}, {"delimiter": ";"}, {"format": "csv"}, {"wide": True}]
)
def test_what_means_nothing_is_refused(shop, given):
    (name,) = given
    with raises("option.unsupported") as error:
        understand(shop.source, table="ratings", **given)
    assert f"--{name}" in str(error.value)


def test_a_column_that_is_not_there(shop):
    with raises("column.missing") as error:
        understand(shop.source, table="ratings", user="person")
    assert "'person'" in str(error.value)
    assert "'user_id'" in str(error.value)


def test_text_ids_stay_what_they_are(shop, tmp_path):
    rows = [("007", "Amélie", 4), ("7", 'it\'s; "x"', 5), ("007", 'it\'s; "x"', 1)]
    shop.make("named", '"user" varchar(9), item text, rating integer', rows)
    reading = understand(shop.source, table="named")
    assert any("2 users may be 1" in note for note in reading.notes)
    found = reading.ratings
    assert found.users.tolist() == ["007", "7"]
    assert found.items.tolist() == ["Amélie", 'it\'s; "x"']
    shop.run("DROP TABLE named")


def test_missing_values_are_reported_by_their_row(shop):
    shop.make("gaps", '"user" integer, item integer, rating integer', [(1, 1, 4), (None, 2, 5)])
    with raises("id.missing") as error:
        understand(shop.source, table="gaps")
    assert f"{shop.name} row 2: the user" in str(error.value)
    with raises("rating.missing"):
        understand(shop.source, query='SELECT 1 AS "user", 2 AS item, NULL AS rating')
    shop.run("DROP TABLE gaps")


def test_no_rows(shop):
    with raises("table.no-ratings"):
        understand(shop.source, query="SELECT * FROM ratings WHERE user_id < 0")


def test_bytes_are_refused_by_name_and_type_where_they_are_needed(shop):
    made = {"postgresql": "'ab'::bytea"}.get(shop.kind, "CAST('ab' AS blob)")
    query = f'SELECT 1 AS "user", 2 AS item, 3 AS rating, {made} AS photo'
    assert read_ratings(shop.source, query=query).n_ratings == 1
    with raises("column.type") as error:
        understand(shop.source, query=query, item="photo")
    assert "'photo'" in str(error.value)


def test_no_more_memory_than_allowed(shop):
    numbers = {
        "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900000)"
        " SELECT i FROM n",
        "duckdb": "SELECT range AS i FROM range(900000)",
        "postgresql": "SELECT i FROM generate_series(1, 900000) AS g(i)",
    }[shop.kind]
    query = f'SELECT i AS "user", i AS item, 3 AS rating FROM ({numbers}) AS numbers'
    with memory_limited("20MB"), pytest.raises(MemoryLimitError) as error:
        understand(shop.source, query=query)
    assert error.value.code == "machine.memory"


def test_the_last_of_several_is_that_of_the_last_row(shop):
    query = (
        'SELECT 1 AS "user", 2 AS item, 3 AS rating UNION ALL SELECT 1, 2, 5 UNION ALL '
        "SELECT 1, 2, 4"
    )
    found = understand(shop.source, query=query, duplicates="last").ratings
    assert rows_of(found) == [(1, 2, 4.0)]


def test_the_file_is_as_it_was(shop):
    if shop.kind != "postgresql":
        before = shop.state()
        understand(shop.source, table="ratings", scale=STARS)
        assert shop.state() == before


def test_a_missing_file_is_never_made(tmp_path):
    for kind in ("sqlite", "duckdb"):
        path = tmp_path / f"missing.{kind}"
        with raises("input.not-found"):
            understand(f"{kind}:///{path}", table="ratings")
        assert list(tmp_path.iterdir()) == []


def test_another_file_is_no_database(tmp_path):
    path = Path(tmp_path, "shop.db")
    path.write_text("user,item,rating\n1,2,3\n")
    with raises("input.unknown-format"):
        understand(f"sqlite:///{path}", table="ratings")
    with raises("option.unsupported"):
        understand(path, table="ratings")
