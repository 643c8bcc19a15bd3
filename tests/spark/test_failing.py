"""Executors and workers are killed, disks are full: a release is whole, or there is none."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from standalone_cluster import cluster_in

from recveil.errors import RecveilError
from recveil.ratings import RatingScale
from recveil.spark import anonymize
from recveil.spark.part_writing import ByExecutors
from recveil.verify import verify

STARS = RatingScale(1, 5, 1)
# More people than a crowd has, so that there are parts that are written while others are not yet.
OPTIONS = ("--epsilon", "none", "--catalogue", "as-rated", "--scale", "1:5:1", "--seed", "3")
OPTIONS += ("--people", "80000", "--allow-large", "--engine", "spark")
_PATIENCE = 400
N_PARTS = 5


@pytest.fixture
def little_disk(tmp_path):
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_meanwhile_leaves_nothing_behind(frame, little_disk, monkeypatch):
    write, filler = ByExecutors.write_ratings, little_disk / "filler"

    def fill_and_write(*given, **named):
        filler.write_bytes(bytes(4_000_000))
        return write(*given, **named)

    monkeypatch.setattr(ByExecutors, "write_ratings", fill_and_write)
    given = {"epsilon": "none", "catalogue": "as-rated", "scale": STARS, "people": 20_000}
    with pytest.raises(RecveilError, match=r"an executor cannot write here .*; make room"):
        anonymize(frame, little_disk / "out", seed=3, allow_large=True, **given)
    assert [path.name for path in little_disk.iterdir()] == ["filler"]


@pytest.mark.skipif(
    not os.environ.get("RECVEIL_TORTURE"), reason="a cluster takes minutes: make torture runs it"
)
def test_a_worker_that_is_killed_changes_nothing(spark, frame, tmp_path):
    """On a standalone cluster of two workers, one of which is killed while people are written."""
    frame.write.parquet(str(tmp_path / "ratings"))
    given = {"epsilon": "none", "catalogue": "as-rated", "scale": STARS, "people": 80_000}
    anonymize(frame, tmp_path / "here", seed=3, allow_large=True, **given)
    with cluster_in(tmp_path / "cluster") as cluster:
        job = cluster.recveil(
            "anonymize", str(tmp_path / "ratings"), "-o", str(tmp_path / "out"), *OPTIONS
        )
        try:
            wait_for_a_part(tmp_path, job)
            cluster.kill_worker(1)
            said, _ = job.communicate(timeout=_PATIENCE)
        finally:
            job.kill()
    assert job.returncode == 0, said
    verdict = verify(tmp_path / "out", private=tmp_path / "out.private")
    assert verdict.holds
    parts = sorted((tmp_path / "here").glob("*.parquet"))
    assert len(parts) == N_PARTS
    for part in parts:
        assert (tmp_path / "out" / part.name).read_bytes() == part.read_bytes()


def wait_for_a_part(folder: Path, job: subprocess.Popen[str]) -> None:
    """Wait until a part is written, and others are not."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and job.poll() is None:
        if found := list(folder.glob(".out.partial-*/published/ratings-*.parquet")):
            assert len(found) < N_PARTS
            return
        time.sleep(0.05)
    raise AssertionError(f"no part was written: {job.communicate()[0]}")
