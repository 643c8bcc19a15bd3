"""Parquet and Arrow files from any source: what is wrong ends in an error, not a crash."""

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.io import read_ratings, understand
from recveil.io.worker import decoded_table, decoder, decoding
from recveil.io.worker.messages import Request
from recveil.runtime.errors import MachineError
from recveil.runtime.memory import MemoryLimitError, memory_limited
from recveil.verification import verify
from shared.io_worker_decoder import (
    TABLE,
    afresh,  # noqa: F401 (fixtures)
    write,
)

COLUMNS = TABLE.column_names


@pytest.mark.parametrize("gzipped", [False, True])
@pytest.mark.parametrize("format", ["parquet", "file", "stream"])
def test_values_come_as_they_are(tmp_path, format, gzipped):
    path = tmp_path / "ratings"
    write(path, format)
    if gzipped:
        path.write_bytes(gzip.compress(path.read_bytes()))
    kind = "parquet" if format == "parquet" else "arrow"
    with decoding(path, kind) as found:
        assert found.schema.names == COLUMNS
        assert found.groups == ([3] if format == "parquet" else [])
    table = decoded_table(path, kind, columns=COLUMNS, dictionary=["user"])
    assert table.to_pydict() == TABLE.to_pydict()
    first = decoded_table(path, kind, wanted="first", rows=2)
    assert first.to_pydict() == TABLE.slice(0, 2).to_pydict()


def test_batches_keep_to_row_groups(tmp_path):
    path = tmp_path / "ratings.parquet"
    pq.write_table(TABLE, path, row_group_size=2)
    with decoding(path, wanted="batches", columns=["item"], rows=10) as found:
        assert found.groups == [2, 1]
        assert [(batch["item"].to_pylist(), group) for batch, group in found.batches] == [
            ([7, 7], 0),
            ([9], 1),
        ]


def test_an_index_beyond_its_dictionary_is_refused(tmp_path):
    """A compiled kernel would look it up wherever that is in memory."""
    beyond = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 1_000_000_000], pa.int32()), pa.array(["ann", "ben"]), safe=False
    )
    path = tmp_path / "ratings.arrow"
    write(path, "file", TABLE.set_column(0, "user", beyond))
    for read in (read_ratings, lambda path: verify(path, k=2)):
        with raises("input.damaged"):
            read(path)


def test_who_kills_the_decoder_says_nothing_of_the_data(tmp_path, afresh):
    """As the system does where memory is short: what is kept by its results is not kept then."""
    path = tmp_path / "ratings.parquet"
    write(path, "parquet")
    for way in ("os.kill(os.getpid(), 9)", "os._exit(3)"):
        with afresh.context() as patch:
            patch.setattr(
                decoder,
                "_START",
                "import sys; sys.path[:] = sys.argv[1:]; from recveil.io.worker import child; "
                f"import os; child.answer = lambda *_: {way}; child.serve()",
            )
            with pytest.raises(MachineError):
                read_ratings(path)


def test_nothing_goes_on_decoding_once_it_is_ended(tmp_path, afresh):
    """The copy that does the work, too: here it waits for a pipe that nothing writes to."""
    path = tmp_path / "ratings.parquet"
    os.mkfifo(path)
    child = decoder._Child.take()
    request = Request(str(path), False, "parquet", "schema", [], [], False, 0, 1 << 30, {})
    child.requests.write(json.dumps(request._asdict()).encode() + b"\n")
    child.requests.flush()
    time.sleep(0.5)
    group = child.process.pid
    assert os.getpgid(group) == group
    child.end()
    assert ends(group)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the death of a parent")
def test_nothing_goes_on_decoding_once_who_asked_is_killed(tmp_path):
    """Here it waits for a pipe that nothing writes to."""
    path = tmp_path / "ratings.parquet"
    os.mkfifo(path)
    program = (
        "import json, sys, time; from recveil.io.worker.decoder import Request, _Child;"
        "child = _Child();"
        "request = Request(sys.argv[1], 0, 'parquet', 'schema', [], [], 0, 0, 1 << 30, {});"
        "line = json.dumps(request._asdict()).encode() + bytes([10]);"
        "child.requests.write(line); child.requests.flush();"
        "print(child.process.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
        group = int(asking.stdout.readline())
        time.sleep(0.7)
        os.killpg(group, 0)
        asking.kill()
    assert ends(group)


def ends(group: int) -> bool:
    """Say whether all processes of a group end within five seconds."""
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="an environment is seen in /proc")
def test_the_decoder_learns_nothing_of_what_surrounds_it(tmp_path, afresh):
    """Credentials above all stand in the environment; what it needs is handed on."""
    path = tmp_path / "ratings.parquet"
    write(path, "parquet")
    secrets = {
        "AWS_SECRET_ACCESS_KEY": "s3cret", "GITHUB_TOKEN": "t", "SSH_AUTH_SOCK": "s",
        "HOME": "/home/ann", "USER": "ann", "DATABASE_URL": "postgres://ann:pw@host",
        "LD_PRELOAD": "", "PYTHONSTARTUP": "", "PATH_OF_SECRETS": "p",
    }  # fmt: skip
    needed = {"LC_ALL": "C.UTF-8", "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    with afresh.context() as patch:
        for name, value in (secrets | needed).items():
            patch.setenv(name, value)
        assert read_ratings(path).n_ratings == 3
        (child,) = decoder._Child._idle
        content = Path(f"/proc/{child.process.pid}/environ").read_bytes().split(b"\0")
    result = dict(each.decode().split("=", 1) for each in content if each)
    assert not set(result) & set(secrets)
    assert needed.items() <= result.items()


def test_a_process_that_died_while_it_waited_is_replaced(tmp_path, afresh):
    path = tmp_path / "ratings.parquet"
    write(path, "parquet")
    assert read_ratings(path).n_ratings == 3
    (waiting,) = decoder._Child._idle
    waiting.process.kill()
    waiting.process.wait()
    assert read_ratings(path).n_ratings == 3


def test_a_read_that_ends_early_does_no_harm(tmp_path):
    path = tmp_path / "ratings.parquet"
    pq.write_table(TABLE, path, row_group_size=1)
    with decoding(path, wanted="batches", columns=["item"], rows=1) as found:
        next(found.batches)
    assert decoded_table(path, columns=["item"])["item"].to_pylist() == [7, 7, 9]


class TestMemory:
    def test_too_many_rows_by_the_metadata_are_refused_before_they_are_read(self, tmp_path):
        path = tmp_path / "equal.parquet"
        n = 2_000_000
        table = pa.table({"user": np.zeros(n, int), "item": np.zeros(n, int), "rating": np.ones(n)})
        pq.write_table(table, path)
        assert path.stat().st_size < 100_000
        with memory_limited("50MB"), pytest.raises(MemoryLimitError) as refused:
            read_ratings(path, duplicates="last")
        for number in ("2,000,000 rows", "64 MB", "50 MB"):
            assert number in str(refused.value)
        assert "--max-memory 1GB" in str(refused.value)
        with memory_limited("100MB"):
            assert understand(path, duplicates="last").ratings.n_ratings == 1

    def test_values_are_refused_while_they_are_read(self, tmp_path):
        path = tmp_path / "long.parquet"
        table = pa.table(
            {"user": ["u"] * 50, "item": [1] * 50, "rating": [1.0] * 50, "x": ["x" * 10**6] * 50}
        )
        pq.write_table(table, path)
        assert path.stat().st_size < 100_000
        with memory_limited("20MB"), pytest.raises(MemoryLimitError) as error:
            verify(path, k=2)
        assert error.value.code == "machine.memory"

    def test_rows_without_values_are_counted(self, tmp_path):
        """A column of nothing takes no bytes, however many rows it has."""
        path = tmp_path / "nothing.arrow"
        n = 10**7
        nothing = pa.nulls(n)
        write(path, "file", pa.table([nothing] * 3, COLUMNS))
        with (
            memory_limited("50MB"),
            pytest.raises(MemoryLimitError) as error,
        ):
            read_ratings(path)
        assert error.value.code == "machine.memory"

    def test_gzip_data_are_unpacked_so_far_only(self, tmp_path):
        path = tmp_path / "ratings.parquet.gz"
        write(tmp_path / "ratings.parquet", "parquet")
        content = (tmp_path / "ratings.parquet").read_bytes()
        path.write_bytes(gzip.compress(content[:4] + bytes(30_000_000) + content[4:], 1))
        with (
            memory_limited("20MB"),
            pytest.raises(MemoryLimitError) as error,
        ):
            read_ratings(path, format="parquet")
        assert error.value.code == "machine.memory"


@pytest.mark.parametrize("format", ["file", "stream", "parquet"])
@pytest.mark.parametrize("place", ["name", "nested", "zone"])
def test_a_name_that_is_no_text_is_refused(tmp_path, format, place):
    """Arrow asks for UTF-8 and does not look; pyarrow then ends in a UnicodeDecodeError."""
    columns = {
        "name": pa.field("colour", pa.int64()),
        "nested": pa.field("x", pa.struct([pa.field("colour", pa.int64())])),
        "zone": pa.field("x", pa.timestamp("s", "colour")),
    }
    table = TABLE.append_column(columns[place], pa.nulls(3, columns[place].type))
    path = tmp_path / "ratings"
    write(path, format, table)
    path.write_bytes(path.read_bytes().replace(b"colour", b"col\xffur"))
    for read in (understand, lambda path: verify(path, k=2)):
        if place == "zone" and format == "parquet":  # a part of the schema that Arrow adds there
            continue
        with raises("input.damaged"):
            read(path)


def test_metadata_of_a_file_is_text(tmp_path):
    path = tmp_path / "ratings"
    for format in ("parquet", "file"):
        write(path, format, TABLE.replace_schema_metadata({b"who\xff": b"ann\xfe"}))
        with decoding(path, "parquet" if format == "parquet" else "arrow") as found:
            assert found.metadata["who\ufffd"] == "ann\ufffd"
    path.write_bytes(gzip.compress(path.read_bytes()))
    limits = {limit.code: limit.values for limit in verify(path, k=1).not_covered}
    assert limits["file-metadata"][0].startswith("who")


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode there")
@pytest.mark.parametrize("format", ["parquet", "csv", "csv.gz"])
def test_a_name_may_be_no_unicode(tmp_path, format):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff." + format.encode()))
    if format == "parquet":
        write(tmp_path / "plain", "parquet")
        content = (tmp_path / "plain").read_bytes()
    else:
        content = b"user,item,rating\nann,7,4\nben,7,3.5\nann,9,1\n"
    path.write_bytes(gzip.compress(content) if format == "csv.gz" else content)
    assert read_ratings(path).n_ratings == 3
