"""Little memory, by ulimit -v: a sentence and code 2, in seconds, whatever a library does."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from shared.cli_starting import PLENTY, START, is_running, run, until, with_limits


@pytest.mark.parametrize(
    "death",
    [
        "os.abort()",
        "os.kill(os.getpid(), 11)",
        "os.kill(os.getpid(), 7)",
        "os._exit(1)",
        "os._exit(127)",
    ],
)
def test_a_library_that_ends_the_program_lacked_memory(death):
    """OpenBLAS ends it with 1, which would say that a claim does not hold."""
    found = run(["-c", f"import os; {START.format(death)}"], PLENTY)
    assert found.returncode == 2
    assert "error: not enough memory: this process may use 64 GB of addresses" in found.stderr


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_our_own_codes_stay(code):
    assert (
        run(["-c", f"import sys; {START.format(f'sys.exit({code})')}"], PLENTY).returncode == code
    )


def test_a_signal_reaches_the_verb():
    verb = "(os.kill(os.getppid(), 15), __import__('time').sleep(30))"
    found = run(["-c", f"import os; {START.format(verb)}"], PLENTY)
    assert found.returncode == 128 + 15


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_from_outside_of_a_container_reaches_the_verb(tmp_path, number):
    """Within the container, the sender has no process id."""
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if not shutil.which("unshare") or subprocess.run([*inside, "true"], check=False).returncode:
        pytest.skip("this user may make no namespaces")
    result = tmp_path / "ready"
    verb = f"(open({str(result)!r}, 'w').close(), __import__('time').sleep(60))"
    code = f"import os; {START.format(verb)}"
    command = ["sh", "-c", 'ulimit -v 64000000; exec "$@"', "sh", sys.executable, "-c", code]

    def hear():  # the tests may have been started by what does not, such as nohup
        signal.signal(number, signal.SIG_DFL)

    with subprocess.Popen([*inside, "--kill-child", *command], preexec_fn=hear) as outer:
        try:
            until(result.exists)
            watcher = int(children_of(outer.pid)[0])
            (verb,) = children_of(watcher)
            os.kill(watcher, number)
            until(lambda: not is_running(verb), 5)
        finally:
            outer.kill()


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.parametrize(
    ("form", "files"),
    [("csv", 5), ("csv", 6), ("parquet", 6), ("parquet", 7), ("parquet", 8), ("parquet", 10)],
)
def test_too_few_files_are_reported(tmp_path, form, files):
    """Before, the input was blamed."""
    path = tmp_path / f"r.{form}"
    table = pa.table({"user": [1, 2], "item": [1, 1], "rating": [4, 4]})
    (csv.write_csv if form == "csv" else pq.write_table)(table, path)
    found = with_limits(["verify", str(path), "--k", "2"], NOFILE=files)
    if found.returncode:
        assert found.returncode == 2
        line = f"error: too few files may be open at once ({files}, ulimit -n): raise that limit"
        assert found.stderr.splitlines()[-1].startswith(line)


class TestClosedStreams:
    """As some services start programs: the next file or pipe would get a stream's number."""

    @pytest.fixture
    def source(self, tmp_path):
        rows = {"user": [1, 1, 2, 2], "item": [7, 8, 7, 8], "rating": [1.0, 2.0, 3.0, 4.0]}
        pq.write_table(pa.table(rows), tmp_path / "r.parquet")
        return tmp_path / "r.parquet"

    def run(self, command, closed):
        def close():
            for number in closed:
                os.close(number)

        return subprocess.run(
            [sys.executable, *map(str, command)], preexec_fn=close, capture_output=True, timeout=90
        )

    @pytest.mark.parametrize("closed", [(0,), (1, 2), (0, 1, 2)])
    def test_what_another_process_decodes_is_decoded(self, source, closed):
        target = source.with_name("r.csv")
        found = self.run(["-m", "recveil", "convert", source, target], closed)
        assert (found.returncode, len(target.read_text().splitlines())) == (0, 5), found.stderr

    @pytest.mark.parametrize("closed", [(0,), (2,)])
    def test_from_python(self, source, closed):
        code = f"from recveil.io import read_ratings; read_ratings({str(source)!r})"
        found = self.run(["-c", code], closed)
        assert found.returncode == 0, found.stderr

    def test_nothing_is_written_without_a_reader(self, source):
        found = self.run(["-m", "recveil", "inspect", source, "--json", "/dev/stdout"], (0, 1))
        assert found.returncode == 2
        assert b"cannot be written" in found.stderr
