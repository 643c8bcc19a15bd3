"""The command line in a pipeline: nothing but the result goes to standard output."""

import json
import os
import subprocess
import sys

import pytest

from recveil.datasets import make_ratings
from recveil.io import read_ratings, write_ratings

SMALL = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=3)
# Longer than what is looked into before it is read.
LONG = make_ratings(n_users=400, n_items=200, n_ratings=20_000, seed=4)


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_ratings(SMALL, "small.csv")
    write_ratings(LONG, "long.csv")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    yield (tmp_path / "long.csv").read_bytes()
    assert list((tmp_path / "tmp").iterdir()) == []


def recveil(*arguments, stdin=b"", **options):
    command = [sys.executable, "-m", "recveil", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, **options)


@pytest.mark.parametrize("source", ["-", "/dev/stdin"])
def test_convert_in_the_middle_of_a_pipeline(data, tmp_path, source):
    done = recveil("convert", source, "-", "--target-format", "inter", stdin=data)
    assert done.returncode == 0
    (tmp_path / "out.inter").write_bytes(done.stdout)
    assert read_ratings("out.inter", scale=LONG.scale) == LONG
    assert b"20,000 ratings" in done.stderr
    assert b"Wrote to standard output." in done.stderr


def test_what_a_shell_makes_of_a_command(data):
    reading, writing = os.pipe()
    os.write(writing, (b"user_id,k\n1,3\n"))
    os.close(writing)
    try:
        options = ("-o", "out", "--k", "5", "--seed", "1", "--json", "-", "--method", "predictive")
        levels = ("--privacy-levels", f"/dev/fd/{reading}")
        done = recveil("anonymize", "small.csv", *options, *levels, pass_fds=[reading])
    finally:
        os.close(reading)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verification"]["holds"]


def test_generate_into_verify(data):
    made = recveil("generate", "-", "--users", 50, "--items", 20, "--ratings", 300)
    assert made.stdout.startswith(b"user_id,item_id,rating")
    assert b"300 generated ratings" in made.stderr
    assert recveil("verify", "-", "--k", 2, stdin=made.stdout).returncode == 1


def test_the_page_of_an_audit_and_nothing_else(data):
    options = ("--targets", 9, "--no-curves", "--html", "-")
    done = recveil("audit", "-", *options, stdin=data)
    assert done.returncode == 0
    assert done.stdout.startswith(b"<!DOCTYPE html>")
    assert done.stdout.rstrip().endswith(b"</html>")


def test_everybodys_risk_and_nothing_else(data):
    done = recveil("audit", "small.csv", "--targets", 9, "--risk", "-")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "user_id,found,adversary,found_low,found_high"
    assert len(lines) == 1 + SMALL.n_users


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "small.csv", "-", "--json", "-"),
        ("generate", "-", "--json", "-"),
        ("audit", "small.csv", "--html", "-", "--risk", "-"),
    ],
)
def test_two_results_do_not_share_standard_output(data, arguments):
    done = recveil(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"would both go to" in b" ".join(done.stderr.replace("│".encode(), b" ").split())


def test_a_reader_who_goes_away_changes_no_code(data):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "recveil", "convert", "long.csv", "-"]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert done.returncode == 0
    assert b"error" not in done.stderr.lower()
