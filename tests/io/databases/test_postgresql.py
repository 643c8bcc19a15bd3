"""PostgreSQL: who may ask, what is said of it, and the same release as from the CSV."""

import re
import traceback
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.io import read_ratings, understand, write_ratings
from recveil.methods import anonymize
from recveil.ratings import RatingScale
from recveil.runtime.errors import chain_of
from shared.io_databases_postgresql import (
    MADE,
    PASSWORD,
    QUOTED,
    fetched,
    guarded,
    run,
    server,  # noqa: F401 (fixtures)
)

STARS = RatingScale(0.5, 5, 0.5)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "ratings.csv"
    write_ratings(MADE, path)
    return path


def files_of(folder):
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


class TestTheSameRelease:
    """A release from the database is that of the exported CSV, to the byte."""

    @pytest.mark.parametrize("options", [{}, {"layout": "users"}, {"hide_items": True}])
    def test_published(self, server, exported, tmp_path, options):
        for name, source, given in (
            ("a", exported, {}),
            ("b", server, {"table": "votes"}),
            ("c", server, {"query": "SELECT * FROM votes ORDER BY rating, userid"}),
        ):
            anonymize(source, tmp_path / name, k=5, seed=11, scale=STARS, **given, **options)
        first = files_of(tmp_path / "a")
        assert "release.json" in first
        assert first == files_of(tmp_path / "b") == files_of(tmp_path / "c")


class TestWhoAsks:
    def test_a_password_in_the_address(self, server):
        assert read_ratings(guarded(server, QUOTED), table="votes") == read_ratings(
            server, table="votes"
        )

    def test_a_password_in_the_environment(self, server, monkeypatch):
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        assert read_ratings(guarded(server), table="votes").n_ratings == MADE.n_ratings

    def test_a_password_file_and_a_service_file(self, server, monkeypatch, tmp_path):
        place = server.partition("host=")[2]
        name = server.partition("@/")[2].partition("?")[0]
        (tmp_path / "pass").write_text("*:*:*:guarded:" + PASSWORD.replace(":", "\\:") + "\n")
        (tmp_path / "pass").chmod(0o600)
        service = f"[shop]\nhost={place}\nuser=guarded\ndbname={name}\n"
        (tmp_path / "service").write_text(service)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
        monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "service"))
        source = "postgresql:///?service=shop"
        assert read_ratings(source, table="votes").n_ratings == MADE.n_ratings


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:geheim@127.0.0.1:1/shop",
        "postgresql://ann:geheim@no-such-host.invalid/shop",
        "postgresql://ann:geheim@/shop?host=/nowhere",
        "postgresql://ann:ge heim@/shop?host=/nowhere",
        "postgresql://ann:geheim@/shop?colour=geheim",
        "postgresql://ann:geheim@h:geheim/shop",
        "postgresql:///?service=geheim",
    ],
)
def test_what_cannot_be_reached_ends_in_one_line_without_secrets(address):
    with raises("database.connection") as refused:
        understand(address, table="votes")
    chain = " ".join(f"{each} {each.args}" for each in chain_of(refused.value))
    text = str(refused.value) + chain
    for secret in ("ann", "heim", "127.0.0.1", "invalid", "nowhere", "colour"):
        assert secret not in text.replace("channel", "")
    assert "\n" not in str(refused.value)


def test_the_error_for_a_rejected_login_names_the_remedy(server, monkeypatch):
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    for source, what in (
        (guarded(server), "PGPASSWORD"),
        (guarded(server, "wrong"), "password"),
        (re.sub(r"/\w+\?", "/geheim?", server), "database"),
        (server.replace("//shop@", "//geheim@"), "user"),
    ):
        with raises("database.connection", what) as refused:
            understand(source, table="votes")
        shown = "".join(traceback.format_exception(refused.value))
        assert "guarded" not in str(refused.value)
        assert "geheim" not in str(refused.value)
        assert "FATAL" not in shown


def test_a_table_that_one_may_not_read(server):
    run(server, "CREATE TABLE closed (a int)")
    with raises("database.query") as error:
        understand(guarded(server, QUOTED), query="SELECT * FROM closed")
    assert "permission denied" in str(error.value)  # the server's words


def test_a_function_that_writes_is_refused(server):
    query = "SELECT nextval('counter') AS \"user\", 1 AS item, 2 AS rating"
    with raises("database.query") as error:
        understand(server, query=query)
    assert "read-only transaction" in str(error.value)  # the server's words


def test_types_are_read_as_their_text(server, tmp_path):
    run(
        server,
        "CREATE TYPE mood AS ENUM ('low', 'high')",
        "CREATE TABLE kinds AS SELECT md5(g::text)::uuid AS user_id, "
        "(g % 2 + 1)::numeric(30, 0) AS item_id, (g % 5)::float4 + 0.5 AS rating, "
        "timestamptz '2020-01-15 23:30:00+00' + g * interval '1 hour' AS time, "
        "(ARRAY['low', 'high'])[g % 2 + 1]::mood AS mood, g % 2 = 0 AS flag, ARRAY[g] AS tags, "
        "'{}'::jsonb AS detail, g::money AS paid FROM generate_series(1, 40) AS g",
    )
    rows = "\n".join(
        f"{row['user_id']},{row['item_id']},{row['rating']},{row['time'].isoformat()},{row['mood']}"
        for row in fetched(
            server, "SELECT user_id::text, item_id::text, rating, time, mood FROM kinds"
        )
    )
    plain = tmp_path / "plain.csv"
    plain.write_text(f"user_id,item_id,rating,time,mood\n{rows}\n")
    assert read_ratings(server, table="kinds") == read_ratings(plain)
    by_mood = read_ratings(server, table="kinds", item="mood")
    assert by_mood == read_ratings(plain, item="mood")
    for column, kind in (("tags", "_int4"), ("detail", "jsonb")):
        with raises("column.type") as error:
            understand(server, table="kinds", item=column)
        assert f"column '{column}' holds {kind}" in str(error.value)
    with raises("column.type"):
        understand(server, table="kinds", rating="flag")
    with raises("rating.not-a-number") as error:
        understand(server, table="kinds", rating="paid")
    assert "PostgreSQL row 1: rating '$1.00'" in str(error.value)


def test_a_schema_is_separated_by_a_point(server):
    run(server, "CREATE SCHEMA old", "CREATE TABLE old.votes AS SELECT * FROM votes LIMIT 3")
    assert read_ratings(server, table="old.votes").n_ratings == 3
    with raises("database.query"):
        understand(server, table="old.nope")


def test_views_are_tables_too(server):
    run(
        server,
        "CREATE VIEW few AS SELECT * FROM votes WHERE userid < 5",
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM few",
    )
    assert read_ratings(server, table="few") == read_ratings(server, table="kept")


def test_times_that_are_beyond_all(server):
    query = "SELECT 1 AS userid, 2 AS itemid, 3 AS rating, timestamptz 'infinity' AS time"
    reading = understand(server, query=query)
    assert reading.ratings.days is None
    assert "after 4999" in reading.notes[0]


def test_every_verb_takes_an_address(server, tmp_path):
    given = {"table": "votes", "scale": STARS}
    anonymize(server, tmp_path / "out", k=4, **given)
    found = audit(server, release=tmp_path / "out", targets=5, curves=False, **given)
    assert found.ratings.n_users == MADE.n_users


def test_the_driver_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("recveil.io.databases.connection.find_spec", lambda name: None)
    with raises("dependency.missing"):
        understand("postgresql://ann@host/shop", table="votes")


def test_the_files_of_a_release_are_all_compared():
    assert files_of(Path(__file__).parent)
