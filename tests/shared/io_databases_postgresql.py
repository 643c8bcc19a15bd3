"""What the fast and the slow tests of `test_postgresql.py` share."""

import pytest

from recveil.datasets import make_ratings

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")

MADE = make_ratings(n_users=80, n_items=40, n_ratings=1_500, seed=8)

PASSWORD = "geheim:§7@x"

QUOTED = "geheim%3A%C2%A77%40x"


@pytest.fixture(scope="module")
def server(postgresql_server):
    rows = zip(*[column.to_pylist() for column in MADE.to_arrow().columns], strict=True)
    values = ", ".join(f"({u}, {i}, {r}, to_timestamp({t}))" for u, i, r, t in rows)
    run(
        postgresql_server,
        "CREATE TABLE votes (userid int, itemid bigint, rating numeric(2,1), time timestamptz)",
        f"INSERT INTO votes SELECT * FROM (VALUES {values}) AS v ORDER BY random()",
        "CREATE SEQUENCE counter",
        # All databases of the server share their roles.
        f"DO $$ BEGIN CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'; "
        "EXCEPTION WHEN duplicate_object THEN NULL; END $$",
        "GRANT SELECT ON votes TO guarded",
    )
    return postgresql_server


def run(server, *statements):
    with dbapi.connect(server) as connection:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.commit()


def guarded(server, password=None):
    who = "guarded" if password is None else f"guarded:{password}"
    return server.replace("//shop@", f"//{who}@")


def fetched(server, query):
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table().to_pylist()
