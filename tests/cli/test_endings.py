"""Runs that are cut short: by Ctrl-C, or by a reader who has seen enough."""

import importlib
import os
import subprocess
import sys

import pytest

from recveil.anonymize import PredictiveAnonymizer
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.io import write_ratings

COMPARE = importlib.import_module("recveil.compare.compare")


@pytest.fixture
def ratings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=3)
    write_ratings(ratings, "ratings.csv")
    return ratings


def ended(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    streams = capsys.readouterr()
    return stop.value.code, streams.out, streams.err


def interrupt(*_, **__):
    raise KeyboardInterrupt


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
        assert err == "Interrupted; 1 of 3 settings kept; run again to go on.\n"

    def test_other_verbs_say_that_nothing_is_left_unfinished(
        self, ratings, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setattr("recveil.audit.audit", interrupt)
        code, out, err = ended(capsys, "audit", "ratings.csv", "--html", "page.html")
        assert (code, out) == (130, "")
        assert err == "Interrupted; what was not finished was not written.\n"
        assert [path.name for path in tmp_path.iterdir()] == ["ratings.csv"]


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


def test_the_result_of_verify_is_not_written_into_the_release(
    ratings, tmp_path, capsys, monkeypatch
):
    PredictiveAnonymizer(k=5, seed=1).anonymize(ratings).write("out")
    code, out, err = ended(capsys, "verify", "out", "--json", "out/found.json")
    assert (code, out) == (2, "")
    assert "would stand in the release" in " ".join(err.replace("│", " ").split())
    monkeypatch.chdir(tmp_path / "out")
    assert ended(capsys, "verify", ".", "--json", "-")[0] == 0
