"""Executors and workers are killed, disks are full: a release is whole, or there is none."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cluster import cluster_in

from recveil.errors import RecveilError
from recveil.ratings import RatingScale
from recveil.spark import anonymize
from recveil.verify import verify

STARS = RatingScale(1, 5, 1)
# More people than a crowd has, so that there are parts that are written while others are not yet.
OPTIONS = ("--epsilon", "none", "--catalogue", "as-rated", "--scale", "1:5:1", "--seed", "3")
OPTIONS += ("--people", "80000", "--engine", "spark")
_PATIENCE = 400


@pytest.fixture
def little_disk(tmp_path):
    """A disk of 300 kilobytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_nothing_behind(frame, little_disk):
    given = {"epsilon": "none", "catalogue": "as-rated", "scale": STARS, "people": 20_000}
    with pytest.raises(RecveilError, match="No space left"):
        anonymize(frame, little_disk / "out", seed=3, **given)
    assert not any(little_disk.iterdir())


def test_a_worker_that_is_killed_changes_nothing(spark, frame, tmp_path):
    """On a standalone cluster of two workers, one of which is killed while people are written."""
    frame.write.parquet(str(tmp_path / "ratings"))
    given = {"epsilon": "none", "catalogue": "as-rated", "scale": STARS, "people": 80_000}
    anonymize(frame, tmp_path / "here", seed=3, **given)
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
    assert len(parts) == 5
    for part in parts:
        assert (tmp_path / "out" / part.name).read_bytes() == part.read_bytes()


def wait_for_a_part(folder: Path, job: subprocess.Popen[str]) -> None:
    """Wait until a part is written, and others are not."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and job.poll() is None:
        if any(folder.glob(".out.partial-*/published/ratings-*.parquet")):
            return
        time.sleep(0.05)
    raise AssertionError(f"no part was written: {job.communicate()[0]}")
