"""Disks that are full or cannot be written, and runs that are process 1: in a namespace of our own.

A user who may make namespaces can mount a small file system in memory, seen by no other user.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from torture.jobs import AT, Job, lay_old
from torture.judge import problems
from torture.kinds import after_end, after_kill, wrong_words
from torture.processes import Fork, Outcome, Started
from torture.world import World, last_line

_INSIDE = "RECVEIL_TORTURE_INSIDE"
_PAGE = 4096
_FULL = "No space left on device", "are free; make room"


def enter_namespace(arguments: list[str]) -> None:
    """Begin this program anew where it may mount; go on as we are where that is impossible."""
    if _INSIDE in os.environ or shutil.which("unshare") is None:
        return
    try:
        probe = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/tmp"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            os.environ[_INSIDE] = "1"
            os.execvp("unshare", ["unshare", "-rm", sys.executable, *arguments])
    except OSError:
        return


def may_mount() -> bool:
    """Say whether this process may mount file systems."""
    return _INSIDE in os.environ


def may_be_process_1() -> bool:
    """Say whether a process can be started here that is number 1 of its own."""
    command = ["unshare", "-pf", "--kill-child", "true"]
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _mount(folder: Path, options: str, *, again: bool = False) -> None:
    mode = f"remount,{options}" if again else options
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", mode, "none", str(folder)], check=True, capture_output=True
    )


@contextmanager
def _disk(folder: Path, world: World, job: Job) -> Iterator[Path]:
    """Put a file system of its own where the job writes, with the older results in it."""
    at = folder / AT
    _mount(at, "size=64m,mode=755")
    try:
        for path in at.iterdir():
            path.unlink()
        lay_old(folder, world.expected(job).old)
        yield at
    finally:
        subprocess.run(["umount", str(at)], check=True, capture_output=True)


def full_disk(
    world: World, job: Job, folder: Path, number: int, rng: np.random.Generator
) -> list[str]:
    """Give the disk room for some of the bytes, or of the files; later there is room again."""
    with _disk(folder, world, job) as at:
        kind = ("bytes", "files")[number % 2]
        taken = os.statvfs(at)
        needed = _room_of(world.expected(job).reference)
        if kind == "bytes":
            used = (taken.f_blocks - taken.f_bfree) * taken.f_bsize
            more = int(rng.integers(0, needed[0] // _PAGE + 2)) * _PAGE
            _mount(at, f"size={used + more + (_PAGE if used + more == 0 else 0)}", again=True)
        else:
            more = int(rng.integers(0, needed[1] + 4))
            _mount(at, f"nr_inodes={taken.f_files - taken.f_ffree + more}", again=True)
        outcome = Fork(job.command(force=job.replaces), folder, stdin=job.stdin).ended()
        found = after_end(world, job, folder, outcome)
        if outcome.code == 2 and not any(words in outcome.said for words in _FULL):
            found.append(f"blames something else: {last_line(outcome.said)}")
        _mount(at, "size=64m,nr_inodes=10000", again=True)
        found = found or world.again(folder, job)
    return [f"room for {more:,} {kind} more: {each}" for each in found]


def _room_of(folder: Path) -> tuple[int, int]:
    """Return how many bytes in whole pages, and how many files and folders, a result takes."""
    paths = list(folder.rglob("*"))
    files = [path for path in paths if path.is_file()]
    return sum(-(-file.stat().st_size // _PAGE) * _PAGE for file in files), len(paths)


def read_only(
    world: World, job: Job, folder: Path, _number: int, _rng: np.random.Generator
) -> list[str]:
    """Where the job writes, nothing can be written."""
    with _disk(folder, world, job) as at:
        _mount(at, "ro", again=True)
        outcome = Fork(job.command(force=job.replaces), folder, stdin=job.stdin).ended()
        found = after_end(world, job, folder, outcome, (2,))
        _mount(at, "rw,size=64m", again=True)
        return found or world.again(folder, job)


def killed_as_process_1(
    world: World, job: Job, folder: Path, number: int, rng: np.random.Generator
) -> list[str]:
    """Kill a run that is process 1 before an operation; the next one is process 1, too."""
    at = 1 + int(rng.integers(world.measured[job.name].operations))
    outcome = _as_process_1(job.command(force=job.replaces), job, folder, at)
    if outcome.code not in (0, -signal.SIGKILL):
        return [f"ended with {outcome.code}: {last_line(outcome.said)}"]
    found = problems(folder, job, world.expected(job), may_leave=True)
    if not found and number % 2:
        world.age(folder)
        command = world.next_command(folder, job)
        found += wrong_words(_as_process_1(command, job, folder, 0), (0,))
        found += world.in_the_end(folder, job)
    return [f"before operation {at}: {each}" for each in found or after_kill(world, job, folder)]


def _as_process_1(command: list[str], job: Job, folder: Path, at: int) -> Outcome:
    """Run a job as process 1 of its own; before operation `at`, 1 or more, it is killed.

    A process 1 cannot kill itself. So it says that it is there, and waits for its end.
    """
    result, states = os.pipe()
    waits, waited = os.pipe()
    process = Started(
        command,
        folder,
        before=["unshare", "-pf", "--kill-child"],
        program=["-m", "torture.stopping", str(at), str(states), str(waits), str(folder), "--"],
        stdin=job.stdin,
        passed=(states, waits),
    )
    for end in (states, waits):
        os.close(end)
    is_there = bool(os.read(result, 1))
    if is_there:
        process.kill()  # and with it goes process 1
    outcome = process.ended()
    while os.read(result, 1):  # until no process has the other end open: process 1 is gone
        pass
    os.close(result)
    os.close(waited)
    return outcome
