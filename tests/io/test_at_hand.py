"""What a source names, and that no output destroys it under another name."""

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.inspection import inspect
from recveil.io import file_at
from recveil.io.inputs import open_input
from recveil.methods import anonymize
from recveil.publish import convert


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("shop.db", "shop.db"),
        (Path("shop.db"), "shop.db"),
        ("sqlite:///shop.db", "shop.db"),
        ("duckdb:////data/shop%20one.duckdb", "/data/shop one.duckdb"),
        ("file:///data/r.csv", "/data/r.csv"),
        ("postgresql://ann@host/shop", None),
        ("s3://bucket/r.csv", None),
        ("sqlite://shop.db", None),
        ("mysql://host/shop", None),
        ("-", None),
        (7, None),
    ],
)
def test_the_file_that_a_source_is(source, path):
    assert file_at(source) == (None if path is None else Path(path))


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    connection = sqlite3.connect("shop.db")
    connection.execute('CREATE TABLE ratings ("user", item, rating)')
    connection.commit()
    connection.close()
    return (tmp_path / "shop.db").read_bytes()


@pytest.mark.parametrize("scheme", ["sqlite:///", "file:///{}/"])
class TestNothingDestroysTheSource:
    @pytest.fixture
    def source(self, scheme, shop, tmp_path):
        yield scheme.format(str(tmp_path).strip("/")) + "shop.db"
        assert (tmp_path / "shop.db").read_bytes() == shop

    @pytest.mark.parametrize(
        "words",
        [
            "convert {} shop.db --table ratings --force",
            "convert {} out.csv --table ratings --json shop.db",
            "audit {} --table ratings --html shop.db",
            "audit {} --table ratings --risk ./shop.db",
            "selftest {} --table ratings --json shop.db",
            "evaluate --train {} --test x.csv --release out --json shop.db",
        ],
    )
    def test_on_the_command_line(self, source, words, capsys):
        with pytest.raises(SystemExit) as ended:
            main(words.format(source).split())
        assert ended.value.code == 2
        assert "is the input itself" in capsys.readouterr().err

    def test_from_python(self, source, tmp_path):
        with raises("output.is-input"):
            convert(source, "shop.db", table="ratings", target_format="csv", force=True)
        inner = tmp_path / "out"
        inner.mkdir()
        (inner / "release.json").write_text("{}")
        (inner / "shop.db").write_bytes((tmp_path / "shop.db").read_bytes())
        source = source.replace("shop.db", "out/shop.db")
        with raises("output.exists") as error:
            anonymize(source, inner, table="ratings", k=2, force=True)
        assert "shop.db" in str(error.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_pipe_in_the_place_of_a_database_is_not_waited_for(tmp_path, scheme):
    os.mkfifo(tmp_path / "shop.db")
    with raises("input.pipe"):
        inspect(f"{scheme}:///{tmp_path}/shop.db")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with a name")
def test_a_pipe_by_the_address_of_a_file_is_copied(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    writer = threading.Thread(target=(tmp_path / "pipe.csv").write_text, args=("ann,film,1",))
    writer.start()
    with open_input(f"file://{tmp_path}/pipe.csv") as path:
        assert path.is_file()
        assert path.read_text() == path.read_text() == "ann,film,1"
    writer.join()
