"""Workers: processes that do the tries, each a copy of this one, which has loaded recveil."""

import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torture.jobs import job_called
from torture.plan import Try, kind_called, rng_of
from torture.processes import end_left_behind
from torture.world import World


class Result(NamedTuple):
    """What became of a try: what was wrong, and where its folder still stands, if anything was."""

    problems: list[str]
    seconds: float


def do(world: World, each: Try, seed: int) -> Result:
    """Do one try. Its folder is removed if it survived."""
    job, begun = job_called(each.job), time.perf_counter()
    name = f"try-{os.getpid()}-{each.kind}-{each.number}-{time.monotonic_ns()}"
    with world.ground(job, name) as folder:
        try:
            rng = rng_of(each, seed)
            found = kind_called(each.kind).torture(world, job, folder, each.number, rng)
        except Exception as error:
            found = [f"the try itself failed: {type(error).__name__}: {error}"]
        end_left_behind(folder)
        if found and world.keeps:
            folder.rename(folder.with_name(f"failed-{name}"))
    return Result(found, time.perf_counter() - begun)


class _Worker:
    """A copy of this process that does the tries whose places it receives."""

    def __init__(self, serve: Callable[[int], Result]) -> None:
        asked, self.asks = os.pipe()
        self.stated, states = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.asks)
                os.close(self.stated)
                _answer(asked, states, serve)
            finally:
                os._exit(0)
        os.close(asked)
        os.close(states)
        self.answers = os.fdopen(self.stated, encoding="utf-8")

    def ask(self, place: int) -> None:
        os.write(self.asks, f"{place}\n".encode())


def _answer(asked: int, states: int, serve: Callable[[int], Result]) -> None:
    with os.fdopen(asked, encoding="utf-8") as lines:
        for line in iter(lines.readline, ""):
            result = serve(int(line))
            os.write(states, (json.dumps([int(line), *result]) + "\n").encode())


def results(
    world: World, tries: list[Try], seed: int, n_workers: int, end: float
) -> Iterator[tuple[Try, Result]]:
    """Do all tries, as many at a time as there are workers; begin none after a time is over.

    Parameters
    ----------
    world : World
    tries : list of Try
    seed : int
    n_workers : int
    end : float
        By `time.monotonic`.
    """
    workers = [_Worker(lambda place: do(world, tries[place], seed)) for _ in range(n_workers)]
    by_file = {worker.stated: worker for worker in workers}
    left, busy = iter(range(len(tries))), set()

    def ask(worker: _Worker) -> None:
        place = next(left, None) if time.monotonic() < end else None
        if place is None:
            os.close(worker.asks)
            busy.discard(worker.stated)
        else:
            worker.ask(place)
            busy.add(worker.stated)

    for worker in workers:
        ask(worker)
    while busy:
        ready, _, _ = select.select(list(busy), [], [])
        for file in ready:
            place, found, seconds = json.loads(by_file[file].answers.readline())
            yield tries[place], Result(found, seconds)
            ask(by_file[file])
    for worker in workers:
        os.waitpid(worker.pid, 0)
