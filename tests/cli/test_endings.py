"""Runs that are cut short: by Ctrl-C, by a signal, or by a reader who has seen enough."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from recveil.cli.interruptions import Terminated, code_of, orderly_signals
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import PredictiveAnonymizer
from shared.cli_endings import (
    ended,
    hear_signals,
    interrupt,
    ratings,  # noqa: F401 (fixtures)
)


class TestInterrupted:
    def test_other_verbs_say_that_nothing_is_left_unfinished(
        self, ratings, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setattr("recveil.auditing.audit", interrupt)
        code, out, err = ended(capsys, "audit", "ratings.csv", "--html", "page.html")
        assert (code, out) == (130, "")
        assert err == "Interrupted; unfinished output was not written.\n"
        assert [path.name for path in tmp_path.iterdir()] == ["ratings.csv"]

    def test_before_a_verb_begins_the_code_is_no_verdict(self, capsys, monkeypatch):
        monkeypatch.setattr("typer.core.TyperGroup.parse_args", interrupt)
        assert ended(capsys, "verify", "out")[0] == 130

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
    def test_before_a_verb_begins_the_code_is_the_signal_s(self, capsys, monkeypatch, number):
        def terminate(*_, **__):
            raise Terminated(number)

        monkeypatch.setattr("typer.core.TyperGroup.parse_args", terminate)
        assert ended(capsys, "verify", "out")[0] == 128 + number


class TestTerminated:
    """Real processes, which a signal asks to end."""

    def begin(self, *arguments):
        command = [sys.executable, "-m", "recveil", *map(str, arguments)]
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hear_signals,
        )

    def wait_for(self, process, folder, pattern):
        """Wait until the process has begun to write, or has ended."""
        while process.poll() is None and not any(folder.glob(pattern)):
            time.sleep(0.002)

    def end(self, process, number):
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        return process.returncode, err

    @pytest.fixture(scope="class")
    @staticmethod
    def large_file(tmp_path_factory):
        """What takes about a second to anonymize and to write."""
        file = tmp_path_factory.mktemp("large") / "large.parquet"
        write_ratings(make_ratings(n_users=3_000, n_items=1_500, n_ratings=400_000), file)
        return file

    @pytest.fixture
    def large(self, large_file, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        shutil.copy(large_file, tmp_path)
        return tmp_path

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    def test_one_that_comes_while_something_is_thrown_away_ends_the_run_too(self, number, capfd):
        """Python ignores what `__del__` raises, and shows a traceback instead."""

        class Thrown:
            def __del__(self):
                signal.raise_signal(number)

        def work():
            with orderly_signals():
                Thrown()
                time.sleep(20)

        # A shell that runs recveil in the background, or nohup, ignores them.
        usual = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
        before = {each: signal.signal(each, handler) for each, handler in usual.items()}
        hook = sys.unraisablehook
        try:
            with pytest.raises(KeyboardInterrupt) as stop:
                work()
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
        assert code_of(stop.value) == 128 + number
        assert capfd.readouterr().err == ""
        assert sys.unraisablehook == hook

    def test_one_that_comes_as_the_last_thing_is_thrown_away_is_too_late(self):
        class Thrown:
            def __del__(self):
                signal.raise_signal(signal.SIGTERM)

        with orderly_signals():
            Thrown()
        time.sleep(0.2)

    def test_what_the_caller_ignores_stays_ignored(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with orderly_signals():
                os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        finally:
            signal.signal(signal.SIGHUP, before)


def test_the_result_of_verify_is_not_written_into_the_release(
    ratings, tmp_path, capsys, monkeypatch
):
    PredictiveAnonymizer(k=5, seed=1).anonymize(ratings).write("out")
    code, out, err = ended(capsys, "verify", "out", "--json", "out/found.json")
    assert (code, out) == (2, "")
    assert "would be inside the release" in " ".join(err.replace("│", " ").split())
    monkeypatch.chdir(tmp_path / "out")
    assert ended(capsys, "verify", ".", "--json", "-")[0] == 0


_READS_ON = """
import atexit, io, sys, threading, time
from pyarrow import csv

class Slow(io.RawIOBase):
    n = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        self.n += 1
        if self.n > 1:
            time.sleep(0.3)
        lines = (b"a,b\\n" + b"1,2\\n" * 500)[: len(buffer)] if self.n < 9 else b""
        buffer[: len(lines)] = lines
        return len(lines)

def read():
    for _ in csv.open_csv(Slow(), csv.ReadOptions(block_size=1000)):
        time.sleep(9)

atexit.register(print, "cleaned up")
threading.Thread(target=read, daemon=True).start()
time.sleep(0.5)
from recveil.cli import main
main()
"""


@pytest.mark.parametrize(("option", "code"), [("--version", 0), ("--no-such-option", 2)])
def test_a_thread_of_arrow_that_still_reads_aborts_no_verb_at_its_end(option, code):
    command = [sys.executable, "-c", _READS_ON, option]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    assert done.stdout.endswith("cleaned up\n")
