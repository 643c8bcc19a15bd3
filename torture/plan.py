"""Plan: which tries there are, in which order, each repeatable by its name."""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from torture import disks, kinds
from torture.jobs import Job
from torture.kinds import Torture
from torture.world import World


class Kind(NamedTuple):
    """What can happen to a run.

    Attributes
    ----------
    name : str
    title : str
        What stands in the table.
    torture : callable
    tries : int
        How many there are of it, for all jobs together.
    needs : str
        "mount" or "process 1", if the system must allow that.
    """

    name: str
    title: str
    torture: Torture
    tries: int
    needs: str = ""


KINDS = (
    Kind("between", "killed between two operations on files", kinds.killed_between, 340),
    Kind("again", "killed, and killed again while the next run clears up", kinds.killed_again, 60),
    Kind("anytime", "killed at a random moment, start-up included", kinds.killed_any_time, 100),
    Kind("first", "killed as process 1", disks.killed_as_process_1, 24, needs="process 1"),
    Kind("signals", "SIGTERM, SIGINT, SIGHUP", kinds.signalled, 100),
    Kind("twice", "Ctrl-C, and again while that is cleaned up", kinds.interrupted_twice, 40),
    Kind("full", "a disk without room for bytes or files", disks.full_disk, 80, needs="mount"),
    Kind("sizes", "a limit of the size of a file (RLIMIT_FSIZE)", kinds.small_files, 40),
    Kind("memory", "a limit of memory (ulimit -v, RLIMIT_AS)", kinds.little_memory, 57),
    Kind("readonly", "a target that cannot be written", disks.read_only, 19, needs="mount"),
    Kind("several", "two and five runs at one target at once", kinds.several_at_once, 32),
    Kind("inputs", "an input that changes while it is read", kinds.input_changes, 60),
    Kind("clock", "a clock that jumps by years", kinds.clock_jumps, 40),
)  # fmt: skip


class Try(NamedTuple):
    """One try; with the seed of the run, its name says all that happens in it."""

    kind: str
    job: str
    number: int

    @property
    def name(self) -> str:
        """What repeats it, as ``--only``."""
        return f"{self.kind}:{self.job}:{self.number}"


def kind_called(name: str) -> Kind:
    """Return the kind of a name."""
    return next(kind for kind in KINDS if kind.name == name)


def impossible(kind: Kind) -> str:
    """Say why a kind cannot be tried here; "" if it can."""
    if kind.needs == "mount" and not disks.may_mount():
        return "this user may not mount a file system here"
    if kind.needs == "process 1" and not disks.may_be_process_1():
        return "this user may not make a process 1 here"
    return ""


def planned(
    world: World, jobs: tuple[Job, ...], chosen: list[Kind], times: float, seed: int = 0
) -> list[Try]:
    """Return all tries: of each kind, shared out among the jobs by their weight.

    Their order is drawn, so that whatever fails shows early, and none comes last.

    Parameters
    ----------
    world : World
        Knows how many operations a job does.
    jobs : tuple of Job
    chosen : list of Kind
    times : float
        How many times the usual number of tries.
    seed : int
        Fixes their order.
    """
    tries = [each for kind in chosen for each in _of_kind(world, jobs, kind, times)]
    return [tries[at] for at in np.random.default_rng(seed).permutation(len(tries))]


def _of_kind(world: World, jobs: tuple[Job, ...], kind: Kind, times: float) -> Iterator[Try]:
    weights = np.array([_weight(world, job, kind) for job in jobs])
    wanted = kind.tries * times * weights / weights.sum()
    # The parts behind the point count together, so that the sum is as asked for.
    ends = np.round(np.cumsum(wanted)).astype(int)
    for job, n in zip(jobs, np.diff(ends, prepend=0), strict=True):
        operations = world.measured[job.name].operations
        step = max(1.0, operations / max(n, 1)) if kind.name == "between" else 1.0
        for at in range(int(n)):
            yield Try(kind.name, job.name, int(at * step))


def _weight(world: World, job: Job, kind: Kind) -> float:
    """Return the share of a job in the tries of a kind; kills go by the operations there are."""
    if kind.name == "inputs" and not job.inputs:
        return 0.0
    if kind.name in ("memory", "readonly"):
        return 1.0  # most of these end soon
    if kind.name == "between":
        return job.weight * world.measured[job.name].operations ** 0.5
    return job.weight


def rng_of(each: Try, seed: int) -> np.random.Generator:
    """Return what everything random in a try is drawn from."""
    return np.random.default_rng([seed, zlib.crc32(each.name.encode())])
