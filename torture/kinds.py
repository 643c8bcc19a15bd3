"""Kinds: what can happen to a run, one function each, which reports what did not survive it."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from torture.jobs import AT, TMP, Job
from torture.judge import OLD, WHOLE, problems, state_of
from torture.processes import LOST, Fork, Outcome, Started, limited
from torture.world import World, last_line

Torture = Callable[[World, Job, Path, int, np.random.Generator], list[str]]
_PLENTY = 64 * 10**9
_FAULTS = "Traceback", "this is a fault", "torture:"


def strike(number: int) -> Callable[[], None]:
    """Return what sends a signal to the process that calls it."""
    return lambda: os.kill(os.getpid(), number)


def after_kill(world: World, job: Job, folder: Path) -> list[str]:
    """Look at what a killed run left; then run again, and look once more."""
    found = problems(folder, job, world.expected(job), may_leave=True)
    return found or world.again(folder, job)


def after_end(
    world: World, job: Job, folder: Path, outcome: Outcome, codes: tuple[int, ...] = (0, 2)
) -> list[str]:
    """Look at what a run left that came to an end by itself, whatever it met; nothing is left."""
    found = wrong_words(outcome, codes)
    found += problems(folder, job, world.expected(job), may_leave=False)
    if outcome.code == 0 and not found:
        found += world.in_the_end(folder, job)
    return found


def _is_fault(line: str) -> bool:
    return any(fault in line for fault in _FAULTS)


def wrong_words(outcome: Outcome, codes: tuple[int, ...]) -> list[str]:
    """List what is wrong with an exit code, and with what was said."""
    if outcome.code == LOST:
        return [f"hung for {outcome.seconds:.0f} seconds"]
    if outcome.code not in codes or any(fault in outcome.said for fault in _FAULTS):
        said = next((line for line in outcome.said.splitlines() if _is_fault(line)), "")
        return [f"ended with {outcome.code}: {said} {last_line(outcome.said)}"]
    if outcome.code == 2 and "error:" not in outcome.said and "Error" not in outcome.said:
        return ["ended with 2, and did not say why"]
    return []


def run(job: Job, folder: Path, strikes: dict[int, Callable[[], object]] | None = None) -> Fork:
    """Begin a job, over an older result where it has one."""
    return Fork(job.command(force=job.replaces), folder, strikes, stdin=job.stdin)


def killed_between(
    world: World, job: Job, folder: Path, number: int, _rng: np.random.Generator
) -> list[str]:
    """SIGKILL before an operation on files; `number` says which."""
    at = 1 + number % world.measured[job.name].operations
    outcome = run(job, folder, {at: strike(signal.SIGKILL)}).ended()
    if outcome.code == 0:  # it did fewer operations this time
        return world.in_the_end(folder, job)
    if outcome.code != -signal.SIGKILL:
        return [f"before operation {at}: ended with {outcome.code}: {last_line(outcome.said)}"]
    return [f"before operation {at}: {each}" for each in after_kill(world, job, folder)]


def killed_again(
    world: World, job: Job, folder: Path, number: int, rng: np.random.Generator
) -> list[str]:
    """SIGKILL before an operation, and the next run, which clears up, is killed as well."""
    n = world.measured[job.name].operations
    at = 1 + number % n
    run(job, folder, {at: strike(signal.SIGKILL)}).ended()
    second = int(rng.integers(1, n + 1))
    command = world.next_command(folder, job)
    Fork(command, folder, {second: strike(signal.SIGKILL)}, stdin=job.stdin).ended()
    found = after_kill(world, job, folder)
    return [f"before operations {at} and then {second}: {each}" for each in found]


def killed_any_time(
    world: World, job: Job, folder: Path, number: int, rng: np.random.Generator
) -> list[str]:
    """SIGKILL at a random moment; every fourth of a process that is started from the beginning.

    Half of these have a limit of memory, however high, so that one process watches over another.
    """
    seconds = world.measured[job.name].seconds
    if number % 4:
        process: Fork | Started = run(job, folder)
    else:
        limit = limited(AS=_PLENTY) if number % 8 else None
        process = Started(job.command(force=job.replaces), folder, first=limit, stdin=job.stdin)
        seconds += 1.5
    moment = float(rng.uniform(0, 1.05 * seconds))
    outcome = process.wait(moment)
    if outcome is None:
        process.kill()
        process.wait()
    elif outcome.code != 0:
        return [f"ended with {outcome.code}: {last_line(outcome.said)}"]
    return [f"after {moment:.3f} s: {each}" for each in after_kill(world, job, folder)]


def signalled(
    world: World, job: Job, folder: Path, number: int, rng: np.random.Generator
) -> list[str]:
    """SIGTERM, SIGINT or SIGHUP between two operations, or at a random moment."""
    asked = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[number % 3]
    seconds, operations = world.measured[job.name]
    if number % 2:
        at = int(rng.integers(1, operations + 1))
        outcome = run(job, folder, {at: strike(asked)}).ended()
        when = f"before operation {at}"
    else:
        process = Started(job.command(force=job.replaces), folder, stdin=job.stdin)
        moment = float(rng.uniform(0, seconds + 1.5))
        waited = process.wait(moment)
        when = f"after {moment:.3f} s"
        if waited is None:
            process.kill(asked)
        outcome = waited or process.ended()
    return [
        f"{asked.name} {when}: {each}" for each in _after_signal(world, job, folder, outcome, asked)
    ]


def _after_signal(
    world: World, job: Job, folder: Path, outcome: Outcome, asked: signal.Signals
) -> list[str]:
    # Before Python itself has begun, the system ends a process, and Ctrl-C shows where it was.
    early = outcome.code == -asked or (outcome.code == 1 and "recveil" not in outcome.said[-400:])
    if early and not any((folder / TMP).iterdir()):
        outcome = outcome._replace(code=128 + asked, said="")
    found = after_end(world, job, folder, outcome, (0, 128 + asked))
    return found or world.again(folder, job)


def interrupted_twice(
    world: World, job: Job, folder: Path, _number: int, rng: np.random.Generator
) -> list[str]:
    """Ctrl-C, and again while the first one is cleaned up."""
    operations = world.measured[job.name].operations
    first = int(rng.integers(1, operations + 1))
    then = first + int(rng.integers(1, 6))
    strikes = {at: strike(signal.SIGINT) for at in (first, then)}
    outcome = run(job, folder, strikes).ended()
    found = wrong_words(outcome, (0, 130))
    found += problems(folder, job, world.expected(job), may_leave=True)
    found = found or world.again(folder, job)
    return [f"before operations {first} and {then}: {each}" for each in found]


def little_memory(
    world: World, job: Job, folder: Path, _number: int, rng: np.random.Generator
) -> list[str]:
    """``ulimit -v``: it fails within seconds, or memory is enough."""
    megabytes = int(rng.choice((250, 780, 850, 1_000, 1_200, 1_600)) + rng.integers(0, 50))
    addresses = megabytes * 10**6
    command = job.command(force=job.replaces)
    process = Started(command, folder, first=limited(AS=addresses), stdin=job.stdin)
    outcome = process.wait(patience=60.0)
    assert outcome is not None
    found = []
    if outcome.code != 2 or "error: not enough memory" not in outcome.said:
        found = wrong_words(outcome, (0,))
    # Next to it, Python may complain of errors for which it has no memory either.
    found += problems(folder, job, world.expected(job), may_leave=True)
    return [f"ulimit -v of {megabytes} MB: {each}" for each in found or world.again(folder, job)]


def small_files(
    world: World, job: Job, folder: Path, _number: int, rng: np.random.Generator
) -> list[str]:
    """RLIMIT_FSIZE: no file can be larger than so many bytes."""
    most = int(2 ** rng.uniform(3, 16))
    process = Fork(
        job.command(force=job.replaces), folder, first=limited(FSIZE=most), stdin=job.stdin
    )
    outcome = process.ended()
    found = after_end(world, job, folder, outcome)
    return [f"files of {most:,} bytes: {each}" for each in found or world.again(folder, job)]


def several_at_once(
    world: World, job: Job, folder: Path, number: int, rng: np.random.Generator
) -> list[str]:
    """Two runs, or five, at one target, begun at about the same time."""
    n = (2, 5)[number % 2]
    runs = []
    for _ in range(n):
        runs.append(run(job, folder))
        time.sleep(float(rng.uniform(0, 0.2 * world.measured[job.name].seconds)))
    outcomes = [each.ended() for each in runs]
    found = [wrong for each in outcomes for wrong in wrong_words(each, (0, 2))]
    if not any(each.code == 0 for each in outcomes):
        found.append(f"none of {n} came to its end: {last_line(outcomes[0].said)}")
    expected = world.expected(job)
    found += problems(folder, job, expected, may_leave=False)
    for target in job.targets:
        state = state_of(folder / AT, target, expected, may_leave=False)
        if state not in (WHOLE, OLD):
            found.append(f"{target.name}: {state}")
    return [f"{n} runs: {each}" for each in found or world.again(folder, job)]


def input_changes(
    world: World, job: Job, folder: Path, _number: int, rng: np.random.Generator
) -> list[str]:
    """Cut, replace, add to, overwrite or remove the input before it is opened the n-th time."""
    name = _file_of(folder, job.inputs[0])
    file, change, at = folder / name, _CHANGES[rng.integers(len(_CHANGES))], int(rng.integers(1, 4))
    done = partial(_change_at, file, change, at, int(rng.integers(1 << 30)))
    process = Fork(
        job.command(force=job.replaces), folder, reads=(file.name, done), stdin=job.stdin
    )
    outcome = process.ended()
    found = wrong_words(outcome, (0, 1, 2))
    remade = folder / name
    remade.unlink(missing_ok=True)
    remade.write_bytes((world.inputs.parent / name).read_bytes())
    remade.chmod((world.inputs.parent / name).stat().st_mode)
    # What is written of a changed table differs from the reference, and may.
    found += [
        each
        for each in problems(folder, job, world.expected(job), may_leave=False)
        if not each.endswith("neither the old nor the new file")
    ]
    found = found or world.again(folder, job)
    return [f"{change.__name__} before reading {at}: {each}" for each in found]


def _file_of(folder: Path, name: str) -> str:
    """Return the file of an input: itself, the first that fits a pattern, or the release.json."""
    fitting = sorted(each for each in folder.glob(name) if each.is_file())
    return str(fitting[0].relative_to(folder)) if fitting else f"{name}/release.json"


def _change_at(
    file: Path, change: Callable[[Path, int], None], at: int, seed: int, n_read: int
) -> None:
    if n_read == at:
        change(file, seed)


def _cut(file: Path, seed: int) -> None:
    os.truncate(file, seed % (file.stat().st_size + 1))


def _replaced(file: Path, _seed: int) -> None:
    other = file.with_name("other")
    other.write_bytes(file.read_bytes()[: file.stat().st_size // 2] * 2)
    other.replace(file)


def _added_to(file: Path, _seed: int) -> None:
    with file.open("ab") as stream:
        stream.write(b"owner-9999,700,5\n" * 100)


def _overwritten(file: Path, seed: int) -> None:
    noise = np.random.default_rng(seed).bytes(file.stat().st_size)
    with file.open("r+b") as stream:
        stream.write(noise)


def _gone(file: Path, _seed: int) -> None:
    with suppress(FileNotFoundError):
        file.unlink()


_CHANGES = (_cut, _replaced, _added_to, _overwritten, _gone)


def clock_jumps(
    world: World, job: Job, folder: Path, number: int, rng: np.random.Generator
) -> list[str]:
    """Let the clock jump by years at each look, kill the run, and date what it left to the future.

    Every third run is not killed.
    """
    at = 1 + int(rng.integers(world.measured[job.name].operations))
    strikes: dict[int, Callable[[], object]] = {at: strike(signal.SIGKILL)} if number % 3 else {}
    seed = int(rng.integers(1 << 30))
    process = Fork(
        job.command(force=job.replaces), folder, strikes,
        first=partial(_let_clock_jump, seed), stdin=job.stdin,
    )  # fmt: skip
    outcome = process.ended()
    if outcome.code not in (0, -signal.SIGKILL):
        return [f"ended with {outcome.code}: {last_line(outcome.said)}"]
    future = time.time() + 10 * 365 * 86_400.0
    for path in (folder / AT).rglob("*"):
        os.utime(path, (future, future), follow_symlinks=False)
    return [f"killed before operation {at}: {each}" for each in after_kill(world, job, folder)]


def _let_clock_jump(seed: int) -> None:
    describe, rng = time.time, np.random.default_rng(seed)
    time.time = lambda: describe() + float(rng.uniform(-1, 1)) * 3e8
