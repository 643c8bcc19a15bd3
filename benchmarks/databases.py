"""How long it takes to read a table of ratings from each database, next to pandas.read_sql.

python benchmarks/databases.py                               SQLite and DuckDB, a million ratings
python benchmarks/databases.py --postgresql postgresql://ann@/bench?host=/tmp/socket    and a server

Each contender runs in a process of its own, one after the other: five times, of which the best and
the worst are told, after a first one that loads libraries. The peak is that of the process and of
what decodes for it, together. The table "recveil_benchmark" is made anew in the server's database,
and dropped at the end. pandas ends with a data frame; recveil with ratings that are checked, sorted
and without duplicates. pandas reads PostgreSQL through SQLAlchemy and psycopg (pip install
"recveil[bench]").
"""

import argparse
import json
import os
import platform
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recveil.datasets import make_ratings
from recveil.io import read_ratings, write_ratings
from recveil.io.worker.decoder import _Child
from recveil.ratings import RatingScale

TABLE = "recveil_benchmark"
QUERY = f"SELECT * FROM {TABLE}"  # noqa: S608  # the table is the benchmark's own
SCALE = RatingScale(1, 5, 1)
_TIMES = 5
_MOST_SECONDS = 1_800
ROW = "{:<14}{:<34}{:>9}{:>11}{:>10}"


def main() -> None:
    """Read the options; measure, or let children measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--postgresql", metavar="ADDRESS", help="of a database to make a table in")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # what a child is asked
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.folder, options.postgresql)
        return
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as temporary:
        make_tables(Path(temporary), options.ratings, options.postgresql)
        report(Path(temporary), options.postgresql)
    if options.postgresql:
        in_postgresql(options.postgresql, f"DROP TABLE {TABLE}")


def make_tables(folder: Path, n_ratings: int, server: str | None) -> None:
    """Write the same ratings to a CSV file and to each database."""
    import duckdb
    import pandas as pd

    ratings = make_ratings(n_users=6_000, n_items=4_000, n_ratings=n_ratings, seed=0)
    write_ratings(ratings, folder / "shop.csv")
    write_ratings(ratings, folder / "shop.parquet")
    frame = pd.read_csv(folder / "shop.csv")
    frame.columns = ["user_id", "item_id", "rating", "timestamp"]
    with sqlite3.connect(folder / "shop.db") as connection:
        frame.to_sql(TABLE, connection, index=False)
    connection.close()
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE {TABLE} AS FROM frame")
    if server:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(server) as connection:
            frame.to_sql(TABLE, connection, index=False, if_exists="replace")
            connection.commit()


def in_postgresql(server: str, statement: str) -> None:
    """Run a statement."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection:
        with connection.cursor() as cursor:
            cursor.execute(statement)
        connection.commit()


def report(folder: Path, server: str | None) -> None:
    """Measure all contenders, a line each as soon as it is known."""
    print(ROW.format("source", "contender", "seconds", "at most", "peak GB"))
    for name in CONTENDERS:
        if name.startswith("PostgreSQL") and not server:
            continue
        given = ["--folder", str(folder), *(["--postgresql", server] if server else [])]
        source, _, contender = name.partition(": ")
        try:
            done = subprocess.run(  # noqa: S603  # this file, and no shell
                [sys.executable, __file__, "--measure", name, *given],
                capture_output=True,
                text=True,
                timeout=_MOST_SECONDS,
            )
        except subprocess.TimeoutExpired:
            print(ROW.format(source, contender, "-", "-", "-"), f"not within {_MOST_SECONDS} s")
            continue
        if done.returncode:
            print(ROW.format(source, contender, "-", "-", "-"), done.stderr.strip()[-200:])
            continue
        print(ROW.format(source, contender, *json.loads(done.stdout)))


def measure(name: str, folder: Path, server: str | None) -> None:
    """Run one contender some times, the first to load what it needs; print what the best took."""
    contender = CONTENDERS[name]
    contender(folder, server)
    times = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        contender(folder, server)
        times.append(time.perf_counter() - start)
    _Child.end_all()  # whose memory is known when it is over
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = sum(resource.getrusage(kind).ru_maxrss for kind in kinds) * 1024 / 1e9
    print(json.dumps([f"{min(times):.2f}", f"{max(times):.2f}", f"{peak:.2f}"]))


def pandas_sqlite(folder: Path, _: str | None) -> int:
    """Pandas by way of Python's own driver, row by row."""
    import pandas as pd

    connection = sqlite3.connect(folder / "shop.db")
    try:
        return len(pd.read_sql(QUERY, connection))
    finally:
        connection.close()


def pandas_postgresql(_: Path, server: str | None) -> int:
    """Pandas by way of SQLAlchemy and psycopg, row by row."""
    import pandas as pd
    import sqlalchemy

    engine = sqlalchemy.create_engine(str(server).replace("postgresql:", "postgresql+psycopg:"))
    return len(pd.read_sql(QUERY, engine))


def pandas_adbc(_: Path, server: str | None) -> int:
    """Pandas by way of the Arrow driver that recveil takes, too."""
    import pandas as pd
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(str(server)) as connection:
        return len(pd.read_sql(QUERY, connection))


CONTENDERS = {
    "CSV: recveil": lambda folder, _: read_ratings(folder / "shop.csv", scale=SCALE).n_ratings,
    "Parquet: recveil": lambda folder, _: (
        read_ratings(folder / "shop.parquet", scale=SCALE).n_ratings
    ),
    "SQLite: recveil": lambda folder, _: (
        read_ratings(folder / "shop.db", table=TABLE, scale=SCALE).n_ratings
    ),
    "SQLite: pandas.read_sql (sqlite3)": pandas_sqlite,
    "DuckDB: recveil": lambda folder, _: (
        read_ratings(folder / "shop.duckdb", table=TABLE, scale=SCALE).n_ratings
    ),
    "PostgreSQL: recveil": lambda _, server: (
        read_ratings(server, table=TABLE, scale=SCALE).n_ratings
    ),
    "PostgreSQL: pandas.read_sql (psycopg)": pandas_postgresql,
    "PostgreSQL: pandas.read_sql (ADBC)": pandas_adbc,
}


if __name__ == "__main__":
    main()
