"""Every command of docs/how-to/inputs.md runs, and reads the same ratings."""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import re
import shlex
import sqlite3
import zipfile
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from recveil.cli import main
from recveil.io import read_ratings
from recveil.ratings import Ratings, RatingScale

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "inputs.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"`(recveil convert [^`]*)`", PAGE)
NEXT_TO = re.findall(r"`(recveil (?:audit|anonymize) [^`]*)`", PAGE)
# Ids are numbers and ratings whole or half, so that every kind can hold them.
ROWS = [(n % 7 + 1, n % 20 + 1, (n % 9 + 1) / 2, f"2020-01-{n % 28 + 1:02}") for n in range(60)]
NAMES = ("user", "item", "rating", "date")
OBJECTS = [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def text(mark=",", decimal=".", header=True):
    lines = [[str(user), str(item), f"{rating:g}", date] for user, item, rating, date in ROWS]
    lines = [[a, b, c.replace(".", decimal), d] for a, b, c, d in lines]
    return "".join(f"{mark.join(line)}\n" for line in ([list(NAMES)] if header else []) + lines)


def make_texts(folder):
    for name, content in {
        "ratings.csv": text(),
        "plain.csv": text(header=False),
        "ratings.tsv": text("\t"),
        "european.csv": text(";", ","),
        "bars.txt": text("|"),
        "ratings.dat": text("::", header=False),
        "spaces.txt": text("   ", header=False),
        "carets.txt": text("^", ","),
        "ratings.jsonl": "\n".join(map(json.dumps, OBJECTS)),
        "ratings.json": json.dumps(OBJECTS, indent=1),
        "ratings.inter": text("\t").replace(
            "user\titem\trating\tdate", "user_id:token\titem_id:token\trating:float\tdate:token"
        ),
    }.items():
        (folder / name).write_text(content)
    (folder / "unicode.txt").write_text(text("\t"), encoding="utf-16")
    (folder / "netflix").mkdir()
    for item in range(1, 21):
        lines = [f"{u},{r:g},{d}" for u, i, r, d in ROWS if i == item]
        (folder / "netflix" / f"mv_{item:07}.txt").write_text("\n".join([f"{item}:", *lines, ""]))


def make_likes(folder):
    pairs = [(user, item, date) for user, item, _, date in ROWS]
    likes = "".join(f"{user},{item},{date}\n" for user, item, date in pairs)
    (folder / "likes.csv").write_text("user,item,date\n" + likes)
    (folder / "pairs.csv").write_text("".join(f"{user},{item}\n" for user, item, _ in pairs))
    ones = "".join(f"{user},{item},1\n" for user, item, _ in pairs)
    (folder / "ones.csv").write_text("user,item,rating\n" + ones)
    plays = "".join(f"{user},{item},{user**4}\n" for user, item, _ in pairs)
    (folder / "plays.csv").write_text("user,item,plays\n" + plays)


WORDS = ("hate", "dislike", "like", "love")


def make_words(folder):
    names = {"words.csv": WORDS, "thumbs.csv": ("up", "down")}
    names |= {"commas.csv": ('"no, really"', "so so", "yes"), "plainwords.csv": WORDS}
    for name, known in names.items():
        lines = [f"{u},{i},{known[int(2 * r) % len(known)]},{date}\n" for u, i, r, date in ROWS]
        head = [] if name.startswith("plain") else [",".join(NAMES) + "\n"]
        (folder / name).write_text("".join([*head, *lines]))


def make_others(folder):
    columns = {name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)}
    table = pa.table(columns)
    pq.write_table(table, folder / "ratings.parquet")
    with pa.ipc.new_file(folder / "ratings.arrow", table.schema) as writer:
        writer.write_table(table)
    plain = text().encode()
    (folder / "ratings.csv.gz").write_bytes(gzip.compress(plain))
    (folder / "ratings.csv.bz2").write_bytes(bz2.compress(plain))
    (folder / "ratings.csv.xz").write_bytes(lzma.compress(plain))
    with pa.CompressedOutputStream(str(folder / "ratings.csv.zst"), "zstd") as packed:
        packed.write(plain)
    with zipfile.ZipFile(folder / "ratings.zip", "w") as archive:
        archive.writestr("ratings.csv", plain)
        archive.writestr("LICENSE", "All rights reserved.")
    head, *lines = text().splitlines(keepends=True)
    (folder / "parts").mkdir()
    for at in range(3):
        part = folder / "parts" / f"part-{at}.csv"
        part.write_text("".join([head, *lines[at * 20 : at * 20 + 20]]))
    for date in sorted({row[3] for row in ROWS}):
        inner = folder / "partitions" / f"date={date}"
        inner.mkdir(parents=True)
        here = table.filter(pa.compute.equal(table["date"], date)).drop(["date"])
        pq.write_table(here, inner / "part-0.parquet")


def make_matrices(folder):
    cells = {(user, item): f"{rating:g}" for user, item, rating, _ in ROWS}
    users, items = range(1, 8), range(1, 21)
    lines = [",".join(["user", *map(str, items)])]
    lines += [",".join([str(u), *(cells.get((u, i), "") for i in items)]) for u in users]
    (folder / "matrix.csv").write_text("\n".join(lines))
    of = {u: [cells.get((u, i), "99") for i in items] for u in users}
    rows = [",".join([str(sum(c != "99" for c in of[u])), *of[u]]) for u in users]
    (folder / "jester.csv").write_text("\n".join(rows))


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    make_texts(folder)
    make_likes(folder)
    make_words(folder)
    make_others(folder)
    make_matrices(folder)
    make_of_several(folder)
    make_next_to(folder)
    return folder


def make_next_to(folder):
    known = [("ann", item, f"{rating:g}", date) for user, item, rating, date in ROWS if user == 3]
    (folder / "known.csv").write_text(
        "target,item,rating,date\n" + "".join(",".join(map(str, row)) + "\n" for row in known)
    )
    seen = "target,item\n" + "".join(f"ann,{item}\n" for _, item, *_ in known)
    (folder / "seen.csv.gz").write_bytes(gzip.compress(seen.encode()))
    (folder / "levels.csv").write_text("user_id,k\n7,3\n")
    (folder / "levels.jsonl").write_text('{"user_id": 7, "k": 3}\n')
    (folder / "trust.txt").write_text("7 2 1\n2 3 0.5\n")
    with pa.CompressedOutputStream(str(folder / "trust.csv.zst"), "zstd") as packed:
        packed.write(b"truster,trustee,value\n7,2,1\n2,3,0.5\n")


def make_of_several(folder):
    """Write what may hold several tables, as far as its writers are installed."""
    with contextlib.closing(sqlite3.connect(folder / "shop.db")) as made:
        made.execute('CREATE TABLE ratings ("user" integer, item integer, rating real, date text)')
        made.executemany("INSERT INTO ratings VALUES (?, ?, ?, ?)", ROWS)
        made.execute("CREATE TABLE people (name text)")
        made.commit()
    if find_spec("duckdb"):
        import duckdb

        with duckdb.connect(str(folder / "shop.duckdb")) as made:
            made.execute(f"CREATE TABLE ratings AS FROM '{folder}/ratings.parquet'")
    if find_spec("openpyxl"):
        import openpyxl

        book = openpyxl.Workbook()
        for row in (NAMES, *ROWS):
            book.active.append(row)
        book.save(folder / "shop.xlsx")
        book.create_sheet("2020")
        for row in (NAMES, *ROWS):
            book["2020"].append(row)
        book.save(folder / "sheets.xlsx")


def serve(server):
    """Put the table into a database of a server, to which the environment will lead."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = 'shop'")
        if cursor.fetchone():
            return
        cursor.execute("CREATE DATABASE shop")
    with dbapi.connect(re.sub(r"/\w+\?", "/shop?", server)) as connection:
        with connection.cursor() as cursor:
            cursor.execute('CREATE TABLE ratings ("user" int, item int, rating real, date text)')
            cursor.executemany("INSERT INTO ratings VALUES ($1, $2, $3, $4)", ROWS)
        connection.commit()


# What a command needs that is not always there.
NEEDED = {
    r"shop\.db": "adbc_driver_sqlite",
    "duckdb": "duckdb",
    "postgresql": "adbc_driver_postgresql",
    "xlsx": "python_calamine",
}


@pytest.fixture
def ready(command, tables, request, monkeypatch):
    """All that the command needs; skipped where it cannot be had."""
    for sign, package in NEEDED.items():
        if re.search(sign, command):
            pytest.importorskip(package)
    if "xlsx" in command:
        pytest.importorskip("openpyxl")
    if "postgresql" in command:
        server = request.getfixturevalue("postgresql_server")
        serve(server)
        monkeypatch.setenv("PGHOST", server.partition("host=")[2])
        monkeypatch.setenv("PGUSER", "shop")
    if "s3://" in command:
        own = pa.fs.SubTreeFileSystem(str(tables), pa.fs.LocalFileSystem())
        chosen = SimpleNamespace(from_uri=lambda uri: (own, uri.removeprefix("s3://bucket/")))
        monkeypatch.setattr(pa.fs, "FileSystem", chosen)


def words_of(command, tables):
    """Split a command as a shell does."""
    at_home = command.replace("\\|", "|").replace("file:///data/", f"file://{tables}/")
    return shlex.split(at_home)[1:]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_reads_the_same(
    command, tables, ready, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tables)
    words = words_of(command, tables)
    if "<" in words:
        words, (source,) = words[: words.index("<")], words[words.index("<") + 1 :]
        content = io.TextIOWrapper(io.BytesIO(Path(source).read_bytes()))
        monkeypatch.setattr("sys.stdin", content)
    words[words.index("out.csv")] = str(tmp_path / "out.csv")
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code, capsys.readouterr().err
    capsys.readouterr()
    source = words[1]
    times = "--wide" not in words and source not in ("pairs.csv", "ones.csv", "plays.csv")
    expected = read_ratings(tables / "ratings.csv", times=times)
    if said := {
        name: words[words.index(f"--{name}") + 1]
        for name in ("order", "words")
        if f"--{name}" in words
    }:
        found = read_ratings(tmp_path / "out.csv", **said)
        assert (found.n_ratings, found.n_users) == (expected.n_ratings, expected.n_users)
        places = np.rint(2 * expected.values).astype(int) % len(found.scale.labels)
        known = {"commas.csv": ("no, really", "so so", "yes"), "thumbs.csv": ("up", "down")}
        named = known.get(source, WORDS)
        assert found.to_arrow()["rating"].to_pylist() == [named[at] for at in places]
        return
    likes = "likes" in " ".join(words[1:]) or source in ("pairs.csv", "ones.csv")
    if "log" in words:
        levels = np.searchsorted([1, 3, 10, 30, 100, 300, 1000], expected.users**4, side="right")
        users, scale = expected.user_positions(), RatingScale(1, 7, 1)
        expected = Ratings.from_columns(
            expected.users[users], expected.items[expected.indices], levels[users], scale=scale
        )
        assert read_ratings(tmp_path / "out.csv", scale=scale) == expected
    elif likes:
        assert read_ratings(tmp_path / "out.csv", likes=True) == expected.as_likes()
    else:
        assert read_ratings(tmp_path / "out.csv") == expected


@pytest.mark.parametrize("command", NEXT_TO)
def test_a_command_with_what_stands_next_to_a_table(command, tables, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tables)
    words = words_of(command, tables)
    if "out" in words:
        words[words.index("out")] = str(tmp_path / "out")
    else:
        words += ["--json", str(tmp_path / "out.json"), "--targets", "5", "--no-curves"]
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code, capsys.readouterr().err
    capsys.readouterr()
    if "audit" in words:
        (ann,) = json.loads((tmp_path / "out.json").read_text())["suspects"]
        assert (ann["target"], ann["matched"]) == (
            "ann",
            len({row[1] for row in ROWS if row[0] == 3}),
        )
        assert "3" in ann["users"][:3]
        return
    made = json.loads((tmp_path / "out" / "release.json").read_text())
    assert bool(made["levels"]) == ("--privacy-levels" in words)
    assert made["settings"].get("fill") == ("trust" if "--trust" in words else None)


def test_the_page_names_all_that_stands_next_to_a_table():
    assert {"--auxiliary", "--privacy-levels", "--trust"} <= set(" ".join(NEXT_TO).split())


def test_the_page_has_a_command_for_each_format():
    assert len(COMMANDS) == len(set(COMMANDS)) > 20
