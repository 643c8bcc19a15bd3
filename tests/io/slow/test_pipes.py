"""Standard input and pipes are read as files are; standard output is written as files are."""

import signal
import subprocess
import sys
import tempfile

from recveil.auditing import audit
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import evaluate
from recveil.io import (
    spooled,
    write_ratings,
)
from recveil.methods import anonymize
from recveil.publish import convert
from shared.io_pipes import standard_input, temporary  # noqa: F401 (fixtures)


def test_every_verb_reads_standard_input(standard_input, tmp_path, temporary):
    small = make_ratings(n_users=60, n_items=40, n_ratings=900, seed=1)
    write_ratings(small, tmp_path / "small.csv")
    data = (tmp_path / "small.csv").read_bytes()
    release = tmp_path / "release"
    assert anonymize(
        standard_input(data), release, k=5, method="predictive", seed=1
    ).verification.holds
    assert audit(standard_input(data), targets=5, curves=False).reading.name == "standard input"
    out = tmp_path / "comparison"
    compared = compare(standard_input(data), out, methods=["raw"], targets=9)
    assert compared.reading.name == "standard input"
    found = evaluate(release, standard_input(data), split=0.2, targets=5, with_membership=False)
    assert found.train.n_users == 60
    assert convert(standard_input(data), tmp_path / "again.csv").ratings == small


def test_what_a_killed_run_left_is_removed_by_the_next(standard_input, tmp_path, monkeypatch):
    """And what another process still works on stays."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    killed = (
        f"import os, signal, tempfile; tempfile.tempdir = {str(folder)!r}\n"
        "from recveil.io import spooled\n"
        "with spooled('-') as copy:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = subprocess.run([sys.executable, "-c", killed], input=b"ann 7 4\n", check=False)
    assert run.returncode == -signal.SIGKILL
    (left,) = folder.iterdir()
    assert [path.read_bytes() for path in left.rglob("standard input")] == [b"ann 7 4\n"]
    standard_input(b"ben 7 4\n")
    with spooled("-") as mine:
        assert not left.exists()
        standard_input(b"eve 7 4\n")
        with spooled("-") as others:
            assert mine.read_bytes() == b"ben 7 4\n"
            assert others.read_bytes() == b"eve 7 4\n"
    assert list(folder.iterdir()) == []
