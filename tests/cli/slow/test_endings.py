"""Runs that are cut short: by Ctrl-C, by a signal, or by a reader who has seen enough."""

import importlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import PredictiveAnonymizer
from shared.cli_endings import (
    ended,
    hear_signals,
    interrupt,
    ratings,  # noqa: F401 (fixtures)
)

COMPARE = importlib.import_module("recveil.comparison._compare")


class TestInterrupted:
    def test_compare_says_what_it_kept(self, ratings, capsys, monkeypatch):
        run_cell, runs = COMPARE.run_cell, []

        def second_is_interrupted(*arguments):
            runs.append(arguments)
            return run_cell(*arguments) if len(runs) == 1 else interrupt()

        monkeypatch.setattr(COMPARE, "run_cell", second_is_interrupted)
        options = ("--methods", "simple,raw", "--k", "3,5", "--targets", 9, "-o", "out")
        code, out, err = ended(capsys, "compare", "ratings.csv", *options)
        assert (code, out) == (130, "")
        assert "out/index.html shows the finished settings." in err
        assert "Interrupted; 1 of 3 settings kept, and “simple, k = 5” begins anew; run" in err


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

    # Writing, to the layout that takes longest, is what lasts.
    QUICK = ("large.parquet", "--k", 3, "--method", "predictive", "--predictor", "item-mean")
    WRITING = ("--grouping", "bisecting", "--layout", "users", "--file-format", "csv", "-o", "out")

    @pytest.mark.parametrize(
        ("number", "pattern"),
        [
            (signal.SIGTERM, ".out.partial-*"),
            (signal.SIGTERM, ".out.partial-*/published/ratings.csv"),
            (signal.SIGHUP, ".out.partial-*/published/ratings.csv"),
            (signal.SIGINT, ".out.partial-*/published/ratings.csv"),
        ],
    )
    def test_nothing_is_left_of_a_release(self, large, number, pattern):
        process = self.begin("anonymize", *self.QUICK, *self.WRITING)
        self.wait_for(process, large, pattern)
        code, err = self.end(process, number)
        assert code == 128 + number
        how = "Interrupted" if number == signal.SIGINT else "Terminated"
        assert err.endswith(f"{how}; unfinished output was not written.\n")
        assert [path.name for path in large.iterdir()] == ["large.parquet"]

    @pytest.mark.parametrize(
        ("verb", "pattern"),
        [
            (("convert", "large.parquet", "made.csv.gz"), ".made.csv.gz.*.tmp"),
            (
                ("generate", "made.csv.gz", "--users", 9_000, "--ratings", 900_000),
                ".made.csv.gz.*.tmp",
            ),
            (("compare", "large.parquet", "-o", "out", "--methods", "padded"), "out/.work-*"),
        ],
    )
    def test_nothing_is_left_of_other_work(self, large, verb, pattern):
        process = self.begin(*verb)
        self.wait_for(process, large, pattern)
        code, err = self.end(process, signal.SIGTERM)
        assert (code, "Terminated; " in err) == (143, True)
        kept = "begins anew; run again to go on" if verb[0] == "compare" else "was not written"
        assert kept in err
        left = {path.name for path in large.rglob("*")} - {"large.parquet", "out", "cells"}
        assert not left

    def test_the_next_run_removes_what_a_killed_one_left(self, large):
        options = (*self.QUICK, *self.WRITING)
        process = self.begin("anonymize", *options)
        self.wait_for(process, large, ".out.partial-*/published/ratings.csv")
        assert self.end(process, signal.SIGKILL)[0] == -signal.SIGKILL
        (left,) = large.glob(".out.partial-*")
        assert (left / "published" / "ratings.csv").exists()
        again = self.begin("anonymize", *options)
        assert again.wait(timeout=60) == 0
        again.stderr.close()
        names = sorted(path.name for path in large.iterdir())
        assert names == ["large.parquet", "out", "out.private"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
class TestReaderGone:
    """The reading end is closed before the verb writes, so that the first write fails."""

    def run(self, *arguments, errors=subprocess.PIPE):
        command = [sys.executable, "-m", "recveil", *arguments]
        reading, writing = os.pipe()
        os.close(reading)
        try:
            done = subprocess.run(
                command,
                stdout=writing,
                stderr=writing if errors is None else errors,
                text=True,
                check=False,
            )
        finally:
            os.close(writing)
        return done.returncode, done.stderr

    @pytest.mark.parametrize("options", [(), ("--json", "-")])
    def test_the_code_stays_that_of_the_verdict(self, ratings, options):
        PredictiveAnonymizer(k=5, seed=1).anonymize(ratings).write("out")
        assert self.run("verify", "out", *options) == (0, "")
        assert self.run("verify", "ratings.csv", "--k", "5", *options) == (1, "")

    def test_files_are_written_all_the_same(self, ratings, tmp_path):
        options = ("--no-curves", "--targets", "9", "--json", "found.json")
        assert self.run("audit", "ratings.csv", *options) == (0, "")
        assert (tmp_path / "found.json").stat().st_size > 0

    def test_bad_input_still_ends_with_2(self, ratings):
        assert self.run("verify", "nowhere", errors=None) == (2, None)


class TestNowhereToWrite:
    """Real processes whose standard output is closed, or leads to a full disk."""

    VERIFY = ("verify", "ratings.csv", "--k", 2)

    def end(self, arguments, redirection):
        words = [sys.executable, "-m", "recveil", *map(str, arguments)]
        run = subprocess.run(
            f"{shlex.join(words)} {redirection}", shell=True, capture_output=True, text=True
        )
        return run.returncode, run.stdout, run.stderr

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (VERIFY, 1),
            (("verify", "absent.csv", "--k", 2), 2),
            (("convert", "ratings.csv", "made.csv"), 0),
            (("--help",), 0),
            (("--version",), 0),
        ],
    )
    def test_the_code_is_the_verdict_where_it_is_closed(self, ratings, arguments, code):
        found, _, err = self.end(arguments, ">&-")
        assert found == code
        assert err.count("\n") == 0 or code == 2
        assert "Traceback" not in err
        assert "NoneType" not in err

    @pytest.mark.parametrize(
        "arguments", [("convert", "ratings.csv", "-"), (*VERIFY, "--json", "-")]
    )
    def test_what_was_to_stand_there_is_missed(self, ratings, arguments):
        expected = "error: - means stdout, which is closed here; name a file\n"
        assert self.end(arguments, ">&-") == (2, "", expected)

    def test_closed_standard_input_and_error(self, ratings):
        expected = "error: - means stdin, which is closed here; name a file\n"
        assert self.end(("verify", "-", "--k", 2), "<&-") == (2, "", expected)
        assert self.end(self.VERIFY, "2>&- >/dev/null") == (1, "", "")
        assert self.end(("verify", "absent.csv", "--k", 2), "2>&-") == (2, "", "")

    @pytest.mark.parametrize(
        "arguments",
        [VERIFY, ("convert", "ratings.csv", "-"), ("--help",), (*VERIFY, "--json", "-")],
    )
    def test_a_full_disk_is_named_with_a_remedy(self, ratings, arguments):
        code, _, err = self.end(arguments, ">/dev/full")
        assert code == 2
        assert err == (
            "error: standard output: cannot be written (No space left on device); free space at "
            "its target, or redirect it\n"
        )

    @pytest.mark.parametrize("json", [(), ("--json", "-"), ("--json", "/dev/full")])
    @pytest.mark.parametrize(
        "options", [("--epsilon", 300, "--item-catalog", "as-rated"), ("--k", 5)]
    )
    def test_a_release_before_a_full_disk_is_named_with_its_epsilon(self, ratings, options, json):
        arguments = ("anonymize", "ratings.csv", "-o", "out", "--scale", "1:5:1", *options, *json)
        code, _, err = self.end(arguments, ">/dev/full")
        assert code == 2
        assert Path("out", "release.json").exists()
        first, second = err.splitlines()[-2:]
        assert "cannot be written (No space left on device)" in first
        assert ("this run spent epsilon 300" in first) == ("--epsilon" in options)
        assert second.startswith("out was written and is complete")

    def test_a_full_disk_that_takes_no_errors_changes_no_code(self, ratings):
        assert self.end(("verify", "absent.csv", "--k", 2), "2>/dev/full") == (2, "", "")
