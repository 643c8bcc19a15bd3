"""Standard input and pipes are read as files are; standard output is written as files are."""

import contextlib
import gzip
import io
import os
import re
import stat
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.comparison import compare
from recveil.datasets import generate, make_ratings
from recveil.evaluation import evaluate
from recveil.io import (
    pipes,
    read_levels,
    read_ratings,
    read_table,
    read_trust,
    spooled,
    write_ratings,
)
from recveil.methods import anonymize
from recveil.publish import convert
from recveil.runtime.errors import MachineError, RecveilError
from recveil.verification import verify
from shared.io_pipes import standard_input, temporary  # noqa: F401 (fixtures)

# Longer than what is looked into to find the format, and than what a pipe holds at once.
LONG = make_ratings(n_users=400, n_items=200, n_ratings=20_000, seed=4)


@pytest.fixture
def content(tmp_path):
    write_ratings(LONG, tmp_path / "long.csv")
    return (tmp_path / "long.csv").read_bytes()


@pytest.fixture
def fifo(tmp_path):
    """Make a named pipe that hands out some bytes once."""
    made = []

    def make(data, name="pipe.csv"):
        path = tmp_path / name
        os.mkfifo(path)

        def feed():
            with path.open("wb") as pipe, contextlib.suppress(BrokenPipeError):
                pipe.write(data)

        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        made.append(thread)
        return path

    yield make
    for thread in made:
        thread.join(timeout=20)
        assert not thread.is_alive()


@pytest.fixture(params=["fifo", "standard input"])
def once(request, fifo, standard_input):
    """Something that can be read once."""
    return fifo if request.param == "fifo" else standard_input


@pytest.mark.parametrize("zipped", [False, True])
def test_ratings(once, content, temporary, zipped):
    assert read_ratings(once(gzip.compress(content) if zipped else content)) == LONG


def test_parquet(once, tmp_path, temporary):
    write_ratings(LONG, tmp_path / "r.parquet")
    assert read_ratings(once((tmp_path / "r.parquet").read_bytes())) == LONG


def test_an_error_names_the_line_and_the_pipe(standard_input, fifo, content, temporary):
    broken = content + b"1,2,3,4,5,6\n"
    with raises("input.line") as error:
        read_ratings(standard_input(broken))
    assert "input line 20002" in str(error.value)
    assert "4 columns" in str(error.value)
    with raises("input.line") as error:
        read_ratings(fifo(broken))
    assert "pipe.csv line 20002" in str(error.value)
    assert "4 columns" in str(error.value)


def test_what_is_no_rating_is_named(once, temporary):
    with raises("input.not-a-table"):
        read_ratings(once(b"<?xml version='1.0'?><ratings/>"))


def test_what_is_empty(once, temporary):
    with raises("input.empty"):
        read_ratings(once(b""))


def test_verify(once, content, temporary):
    found = verify(once(content), k=2)
    assert (found.users, found.holds) == (LONG.n_users, False)
    assert found.violations[0].where.endswith(" line 2")


def test_levels_and_trust(once, temporary):
    users = np.array(["ann", "ben"], dtype=object)
    levels = "user_id,k\n" + "ann,2\n"
    assert read_levels(once(levels.encode()), users, 1).tolist() == [2, 1]


def test_trust(once, temporary):
    users = np.array(["ann", "ben"], dtype=object)
    assert read_trust(once(b"ann ben 1\n"), users).links.sum() == 1


def test_outside_knowledge(once, tmp_path, content, temporary):
    known = "target,item,rating\nx," + content.decode().splitlines()[1].split(",", 1)[1]
    known = ",".join(known.split(",")[:5]) + "\n"
    found = audit(tmp_path / "long.csv", auxiliary=once(known.encode()), targets=5, curves=False)
    assert found.suspects[0].matched == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda folder: audit("-", auxiliary="-"),
        lambda folder: anonymize("-", folder / "out", k=2, method="predictive", privacy_levels="-"),
        lambda folder: anonymize("-", folder / "out", k=2, method="k-corating", trust="-"),
        lambda folder: evaluate(folder, train="-", test="/dev/stdin"),
    ],
)
def test_standard_input_is_for_one_input(call, tmp_path):
    with raises("option.conflict"):
        call(tmp_path)


def test_the_copy_is_private_and_goes_away(standard_input, temporary):
    def look(end):
        with spooled(standard_input(b"1 2 3\n")) as path:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            raise end

    for end in (RecveilError("bad"), KeyboardInterrupt()):
        with pytest.raises(type(end)):
            look(end)
        assert list(temporary.iterdir()) == []


def test_ctrl_c_while_it_is_copied(temporary, monkeypatch):
    class Slow(io.RawIOBase):
        def readinto(self, buffer):
            raise KeyboardInterrupt

        def readable(self):
            return True

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Slow())))
    with pytest.raises(KeyboardInterrupt):
        read_ratings("-")


def test_no_room_for_the_copy(standard_input, temporary, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pipes.shutil, "copyfileobj", full)
    with raises("machine.disk"):
        read_ratings(standard_input(b"1 2 3\n"))


def test_no_standard_input(monkeypatch, temporary):
    monkeypatch.setattr(sys, "stdin", None)
    with raises("input.unreadable"):
        read_ratings("-")


def test_a_file_called_minus_is_read_by_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("1 2 3\n")
    assert read_ratings("./-", user="1", item="2").n_ratings == 1


def test_a_table_is_not_read_from_what_is_gone_afterwards(once):
    source = once(b"")
    with raises("input.pipe"):
        read_table(source)
    if source != "-":
        source.open("rb").close()  # lets the writer go


@pytest.mark.parametrize("format", [None, "csv", "inter", "parquet"])
def test_standard_output(capfdbinary, tmp_path, temporary, format):
    write_ratings(LONG, "-", format=format)
    written = tmp_path / f"written.{format or 'csv'}"
    written.write_bytes(capfdbinary.readouterr().out)
    write_ratings(LONG, tmp_path / f"same.{format or 'csv'}")
    assert written.read_bytes() == (tmp_path / f"same.{format or 'csv'}").read_bytes()


def test_generate_and_convert_write_to_standard_output(capfdbinary, standard_input, temporary):
    generate("-", users=10, items=10, ratings=30, seed=1)
    out = capfdbinary.readouterr().out
    assert out.startswith(b"user_id,item_id,rating")
    convert(standard_input(out), "-", target_format="parquet")
    assert pq.read_table(io.BytesIO(capfdbinary.readouterr().out)).num_rows == 30


def test_no_parquet_for_a_terminal(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with raises("output.not-writable"):
        write_ratings(LONG, "-", format="parquet")


class TestNoPath:
    """What is no path where one is needed is refused by the parameter's name."""

    TABLE = make_ratings(n_users=30, n_items=20, n_ratings=300, seed=1)

    @pytest.mark.parametrize(
        ("call", "code", "name"),
        [
            (lambda t, d: anonymize(t, "-", k=3), "option.value", "output"),
            (lambda t, d: anonymize(t, 3, k=3), "argument.type", "output"),
            (lambda t, d: compare(t, "-"), "option.value", "output"),
            (lambda t, d: verify(None, k=2), "argument.type", "path"),
            (lambda t, d: verify(object()), "argument.type", "path"),
            (lambda t, d: audit(t, release=object()), "argument.type", "release"),
            (lambda t, d: audit(t, auxiliary=t), "argument.type", "auxiliary"),
            (lambda t, d: evaluate(object(), t, split=0.2), "argument.type", "release"),
            (
                lambda t, d: anonymize(t, d / "out", k=3, method="k-corating", trust=t),
                "argument.type",
                "trust",
            ),
        ],
    )
    def test_is_refused_by_name(self, call, code, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with raises(code) as caught:
            call(self.TABLE, tmp_path)
        assert re.match(r"\w+", str(caught.value)).group() == name
        assert list(tmp_path.iterdir()) == []


class TestTemporaryFolder:
    @pytest.fixture(autouse=True)
    def unknown(self, tmp_path, monkeypatch):
        """Python has not looked for the folder yet."""
        monkeypatch.setattr(tempfile, "tempdir", None)
        for name in ("TMPDIR", "TEMP", "TMP"):
            monkeypatch.delenv(name, raising=False)

    @pytest.mark.parametrize("name", ["TMPDIR", "TEMP", "TMP"])
    def test_it_stands_where_it_is_named(self, tmp_path, monkeypatch, name):
        monkeypatch.setenv(name, str(tmp_path))
        with pipes.temporary_folder() as folder:
            assert folder.parent.parent == tmp_path

    def test_none_named_is_the_systems(self):
        with pipes.temporary_folder() as folder:
            assert folder.parent.parent == Path(tempfile.gettempdir())

    @pytest.mark.parametrize("within", ["", "deep/er"])
    def test_none_stands_in_a_release(self, tmp_path, monkeypatch, standard_input, within):
        (tmp_path / "release.json").write_text('{"format": "recveil-release-5"}')
        inner = tmp_path / within
        inner.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("TMPDIR", str(inner))
        with raises("output.place"):
            read_ratings(standard_input(b"1 2 3\n"))

    @pytest.mark.parametrize("name", ["TMPDIR", "TEMP", "TMP"])
    def test_a_folder_that_is_not_there_is_not_replaced(self, tmp_path, monkeypatch, name):
        monkeypatch.setenv(name, str(tmp_path / "none"))
        for _ in range(2):  # Python remembers what it took instead
            with pytest.raises(MachineError) as error:
                pipes.temporary_folder().__enter__()
            assert error.value.code == "machine.disk"

    def test_nor_is_a_full_or_a_forbidden_one(self, tmp_path, monkeypatch, standard_input):
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        opened = os.open

        def refuse(path, *rest, **named):
            if str(path).startswith(str(tmp_path)):
                raise OSError(28, "No space left on device")
            return opened(path, *rest, **named)

        monkeypatch.setattr(os, "open", refuse)
        with pytest.raises(MachineError) as error:
            read_ratings(standard_input(b"1 2 3\n"))
        assert error.value.code == "machine.disk"

    def test_what_python_took_before_it_was_named_is_not_kept(self, tmp_path, monkeypatch):
        tempfile.gettempdir()
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        with pipes.temporary_folder() as folder:
            assert folder.parent.parent == tmp_path

    def test_a_missing_pipe_of_the_system_is_reported(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
        with pytest.raises(MachineError) as error:
            pipes.temporary_folder().__enter__()
        assert error.value.code == "machine.disk"
