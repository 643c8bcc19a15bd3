"""Executors and workers are killed, disks are full: a release is whole, or there is none."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from standalone_cluster import (
    Cluster,
    cluster_in,
    fetches_that_failed,
    recveil_on,
    settings_in,
)

from error_assertions import raises
from recveil.ratings import RatingScale
from recveil.spark import anonymize
from recveil.spark.synthetic import SyntheticWriter
from recveil.verification import verify

STARS = RatingScale(1, 5, 1)
# More users than a cluster has, so that there are parts that are written while others are not yet.
FEW = ("--epsilon", "none", "--item-catalog", "as-rated", "--scale", "1:5:1", "--seed", "3")
OPTIONS = (*FEW, "--n-users", "80000", "--allow-large")
_PATIENCE = 900
N_PARTS = 5
torture = pytest.mark.skipif(
    not os.environ.get("RECVEIL_TORTURE"), reason="a cluster takes minutes: make torture runs it"
)


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
    write, filler = SyntheticWriter.write_ratings, little_disk / "filler"

    def fill_and_write(*given, **named):
        filler.write_bytes(bytes(4_000_000))
        return write(*given, **named)

    monkeypatch.setattr(SyntheticWriter, "write_ratings", fill_and_write)
    given = {"epsilon": "none", "item_catalog": "as-rated", "scale": STARS, "n_users": 20_000}
    with raises("spark.task") as caught:
        anonymize(frame, little_disk / "out", seed=3, allow_large=True, **given)
    assert "an executor cannot write here" in str(caught.value)
    assert [path.name for path in little_disk.iterdir()] == ["filler"]


def said_by(job: subprocess.Popen[str]) -> str:
    """Return what a verb says until it ends; none outlives its test."""
    with job:
        try:
            return job.communicate(timeout=_PATIENCE)[0]
        finally:
            job.kill()


def test_a_full_disk_of_spark_is_reported_in_one_line(spark, frame, little_disk, tmp_path):
    """Where executors keep what does not stay in memory."""
    frame.write.parquet(str(tmp_path / "ratings"))
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(little_disk)}
    (little_disk / "filler").write_bytes(bytes(4_100_000))
    where = ("anonymize", str(tmp_path / "ratings"), "-o", str(tmp_path / "out"))
    job = recveil_on("local[2]", environment, *where, *FEW)
    said = said_by(job)
    assert job.returncode == 2, said
    assert "Traceback" not in said
    assert "No space left" in said
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
    assert [path.name for path in little_disk.iterdir()] == ["filler"]


def test_killed_java_is_reported_in_one_line_and_leaves_no_rows(spark, frame, tmp_path):
    """No other user could read users' rows on Spark's disk meanwhile."""
    disk = tmp_path / "disk"
    left = disk / "recveil-spark-left" / "blockmgr-1"
    left.mkdir(parents=True)
    (left.parent / "lock").write_text("locked\n")
    frame.write.parquet(str(tmp_path / "ratings"))
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(disk), "TMPDIR": str(tmp_path)}
    where = ("anonymize", str(tmp_path / "ratings"), "-o", str(tmp_path / "out"))
    job = recveil_on("local[2]", environment, *where, *FEW)
    rows = wait_for(lambda: found_in(disk, "recveil-spark-*/blockmgr-*/*/shuffle_*"), job)
    assert not left.exists()
    for row in rows:
        above = [path for path in row.parents if path.is_relative_to(disk) and path != disk]
        assert not stat.S_IMODE(above[-1].stat().st_mode) & 0o077
    for java in subprocess.check_output(["pgrep", "-P", str(job.pid), "java"]).split():
        os.kill(int(java), signal.SIGKILL)
    said = said_by(job)
    assert job.returncode == 2, said
    assert "Traceback" not in said
    assert "its Java process ended in the middle of the work" in said
    assert list(disk.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []


# Work that is done again is soon done.
SMALL = {"spark.sql.shuffle.partitions": "4"}
FILLED = ("--k", "5", "--method", "k-corating", "--scale", "1:5:1", "--seed", "3")


@torture
def test_files_of_shuffles_that_are_lost_are_made_again(spark, frame, tmp_path):
    """Executors pass them to each other: of each shuffle the first is taken away."""
    frame.write.parquet(str(tmp_path / "ratings"))
    anonymize(frame, tmp_path / "here", k=5, method="k-corating", seed=3, scale=STARS)
    job, disk = begun_on_a_disk(tmp_path, SMALL, *FILLED)
    take_files(disk, job, of_a_shuffle=1)
    said = said_by(job)
    assert job.returncode == 0, said
    assert fetches_that_failed(tmp_path / "spark")
    assert verify(tmp_path / "out", private=tmp_path / "out.private").holds
    parts_are_those_of(tmp_path / "out", tmp_path / "here")


def test_lost_files_of_shuffles_are_reported_in_one_line(spark, frame, tmp_path):
    frame.write.parquet(str(tmp_path / "ratings"))
    at_once = {"spark.stage.maxConsecutiveAttempts": "1"}
    job, disk = begun_on_a_disk(tmp_path, at_once, *FEW)
    take_files(disk, job, of_a_shuffle=10_000)
    said = said_by(job)
    assert job.returncode == 2, said
    assert "Traceback" not in said
    assert "was lost repeatedly" in said
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []
    assert list(disk.iterdir()) == []


@torture
def test_files_of_shuffles_that_a_worker_loses_are_made_again(spark, frame, tmp_path):
    """On a standalone cluster; no executor ends, and each reads what the other has."""
    frame.write.parquet(str(tmp_path / "ratings"))
    anonymize(frame, tmp_path / "here", k=5, method="k-corating", seed=3, scale=STARS)
    where = str(tmp_path / "ratings"), "-o", str(tmp_path / "out")
    with cluster_in(tmp_path / "cluster", **SMALL) as cluster:
        job = cluster.recveil("anonymize", *where, *FILLED)
        take_files(cluster.folder / "disk1", job, of_a_shuffle=1)
        said = said_by(job)
    assert job.returncode == 0, said
    assert fetches_that_failed(cluster.folder)
    assert verify(tmp_path / "out", private=tmp_path / "out.private").holds
    parts_are_those_of(tmp_path / "out", tmp_path / "here")


def begun_on_a_disk(
    folder: Path, settings: dict[str, str], *options: str
) -> tuple[subprocess.Popen[str], Path]:
    """Begin to anonymize a folder's ratings on this machine; return the disk that Spark has."""
    disk = folder / "disk"
    environment = {**os.environ, "SPARK_LOCAL_DIRS": str(disk)}
    environment |= settings_in(folder / "spark", settings)
    where = (str(folder / "ratings"), "-o", str(folder / "out"))
    return recveil_on("local[2]", environment, "anonymize", *where, *options), disk


def take_files(disk: Path, job: subprocess.Popen[str], *, of_a_shuffle: int) -> None:
    """Remove so many files of each shuffle as soon as they are there, until the job ends."""
    taken: Counter[str] = Counter()
    until = time.monotonic() + _PATIENCE
    while job.poll() is None and time.monotonic() < until:
        for file in found_in(disk, "**/shuffle_*.data"):
            number = file.name.split("_")[1]
            if taken[number] < of_a_shuffle:
                file.unlink(missing_ok=True)
                taken[number] += 1
        time.sleep(0.002)
    assert taken


def parts_are_those_of(folder: Path, other: Path) -> None:
    """Compare what was published, byte by byte."""
    parts = sorted(other.glob("*.parquet"))
    assert parts
    for part in parts:
        assert (folder / part.name).read_bytes() == part.read_bytes()


@torture
def test_a_worker_that_is_killed_changes_nothing(spark, frame, tmp_path):
    """On a standalone cluster of two workers, one of which is killed while users are written."""
    with_one_killed(frame, tmp_path, Cluster.kill_worker)


@torture
def test_an_executor_that_is_killed_changes_nothing(spark, frame, tmp_path):
    """The worker lives, and begins another one."""
    with_one_killed(frame, tmp_path, Cluster.kill_executor)


def with_one_killed(frame, tmp_path, kill):
    """Kill a process of the first worker while users are written; the release is the same."""
    frame.write.parquet(str(tmp_path / "ratings"))
    given = {"epsilon": "none", "item_catalog": "as-rated", "scale": STARS, "n_users": 80_000}
    anonymize(frame, tmp_path / "here", seed=3, allow_large=True, **given)
    with cluster_in(tmp_path / "cluster") as cluster:
        job = cluster.recveil(
            "anonymize", str(tmp_path / "ratings"), "-o", str(tmp_path / "out"), *OPTIONS
        )
        try:
            wait_for_a_part(tmp_path, job)
            kill(cluster, 1)
            said, _ = job.communicate(timeout=_PATIENCE)
        finally:
            job.kill()
    assert job.returncode == 0, said
    verdict = verify(tmp_path / "out", private=tmp_path / "out.private")
    assert verdict.holds
    assert len(list((tmp_path / "here").glob("*.parquet"))) == N_PARTS
    parts_are_those_of(tmp_path / "out", tmp_path / "here")


@torture
def test_all_verbs_work_on_a_standalone_cluster(spark, frame, ratings, tmp_path):
    with cluster_in(tmp_path / "cluster") as cluster:
        all_verbs(cluster.recveil, frame, tmp_path)


@torture
def test_all_verbs_work_on_a_local_cluster(spark, frame, ratings, tmp_path):
    home = home_of_spark(tmp_path / "home")

    def begin(*arguments):
        environment = {**os.environ, "SPARK_HOME": str(home)}
        return recveil_on("local-cluster[2,1,1024]", environment, *arguments)

    all_verbs(begin, frame, tmp_path)


def home_of_spark(folder):
    """Return where Spark is, but that executors of a local cluster log to a folder of this test."""
    import pyspark

    folder.mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        if path.name != "work":
            (folder / path.name).symlink_to(path)
    return folder


def all_verbs(begin, frame, tmp_path):
    """Make a release, check it, and audit the table, as one machine does."""
    frame.write.parquet(str(tmp_path / "ratings"))
    source, out = str(tmp_path / "ratings"), str(tmp_path / "out")
    of_audit = (source, "--targets", "40", "--preset", "paper", "--no-curves", "--json", "-")
    for arguments in (
        ("anonymize", source, "-o", out, *FEW),
        ("verify", out, "--private", f"{out}.private"),
        ("audit", *of_audit[:-1], str(tmp_path / "there.json")),
    ):
        job = begin(*arguments)
        said = said_by(job)
        assert job.returncode == 0, said
    assert verify(out, private=f"{out}.private").holds
    here = [sys.executable, "-m", "recveil", "audit", *of_audit]
    wanted = json.loads(subprocess.run(here, capture_output=True, check=True).stdout)
    found = json.loads((tmp_path / "there.json").read_text())
    for name in ("attacks", "checks", "graph_attacks", "deanonymized"):
        assert found[name] == wanted[name]


def wait_for_a_part(folder: Path, job: subprocess.Popen[str]) -> None:
    """Wait until a part is written, and others are not."""
    unfinished = ".out.partial-*/published/ratings-*.parquet"
    assert len(wait_for(lambda: found_in(folder, unfinished), job)) < N_PARTS


def found_in(folder: Path, pattern: str) -> list[Path]:
    """Return what is there now; nothing if a folder goes while it is looked through."""
    try:
        return list(folder.glob(pattern))
    except FileNotFoundError:
        return []


def wait_for(looked: Callable[[], list[Path]], job: subprocess.Popen[str]) -> list[Path]:
    """Wait until a job has written something, and return it."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and job.poll() is None:
        if found := looked():
            return found
        time.sleep(0.05)
    job.kill()
    raise AssertionError(f"nothing was written: {job.communicate()[0]}")
