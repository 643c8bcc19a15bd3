"""Torture recveil: kill it, fill its disk, take its memory, and look at what it leaves behind.

    make torture                                  everything, at most 20 minutes on two cores
    python -m torture --long                      five times as many tries
    python -m torture --kinds full,memory         some kinds of tries only
    python -m torture --jobs sample,compare       some commands only
    python -m torture --seed 7 --only between:sample:12 --keep      one try again

Ends with 0 if every try survived, and with 1 if one did not; each of these is named with what
repeats it. Linux only.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

# Before any library is loaded: a copy of a process with threads would lack them.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["RECVEIL_LEDGER"] = "none"  # not the ledger of the user who runs it

from torture import disks, jobs, plan, workers  # noqa: E402
from torture.jobs import remove  # noqa: E402
from torture.table import Row, has_marks, table, write_between_marks  # noqa: E402
from torture.world import World, now  # noqa: E402

_TIMES_LONG = 5.0
_A_LINE_EVERY = 60.0


def main() -> int:
    """Run what the command line asks for, and return the exit code."""
    asked = _options()
    disks.enter_namespace(["-m", "torture", *sys.argv[1:]])
    begun = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=asked.folder))
    folder.chmod(0o755)
    _load()
    chosen_jobs = _chosen_jobs(asked)
    chosen = [each for each in plan.KINDS if asked.kinds is None or each.name in asked.kinds]
    notes = {kind.name: plan.impossible(kind) for kind in chosen}
    world = World(folder, keeps=asked.keep)
    world.prepare(chosen_jobs)
    print(f"{now()} everything runs undisturbed; work in {folder}", flush=True)
    possible = [kind for kind in chosen if not notes[kind.name]]
    tries = plan.planned(world, chosen_jobs, possible, asked.times, asked.seed)
    if asked.only:
        kind, job, number = asked.only.split(":")
        tries = [plan.Try(kind, job, int(number))]
    end = begun + 60 * asked.minutes
    done, failed = _do(world, tries, asked.seed, asked.workers, end)
    rows = [_row(kind, tries, done, failed, notes[kind.name]) for kind in chosen]
    _state(asked, rows, failed, time.monotonic() - begun)
    if not (asked.keep and failed):
        remove(folder)
    unfinished = len(tries) - sum(done.values())
    return 1 if failed or unfinished else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m torture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seed", type=int, default=1, help="fixes everything random; 1")
    parser.add_argument("--minutes", type=float, help="begin no try after; 18, or 90 with --long")
    parser.add_argument("--times", type=float, help="so many times the usual tries; 1")
    parser.add_argument("--long", action="store_true", help="five times as many tries")
    parser.add_argument("--workers", type=int, default=2, help="tries at a time; 2")
    parser.add_argument("--kinds", type=_names, help=", ".join(kind.name for kind in plan.KINDS))
    parser.add_argument("--jobs", type=_names, help="; ".join(job.name for job in jobs.JOBS))
    parser.add_argument("--only", metavar="KIND:JOB:NUMBER", help="this one try")
    parser.add_argument("--keep", action="store_true", help="keep the folders of what failed")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table on this page")
    asked = parser.parse_args()
    _refuse_mistyped(parser, asked)
    asked.times = asked.times or (_TIMES_LONG if asked.long else 1.0)
    asked.minutes = asked.minutes or (90.0 if asked.long else 18.0)
    return asked


def _refuse_mistyped(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    """End with what is wrong, before the minutes of work."""
    known_jobs, known_kinds = [job.name for job in jobs.JOBS], [kind.name for kind in plan.KINDS]
    if asked.folder is not None and not asked.folder.is_dir():
        parser.error(f"--folder {asked.folder}: expected a folder that is there; make it first")
    if asked.write is not None and not has_marks(asked.write):
        parser.error(f"--write {asked.write}: expected a page with the marks of the table")
    if asked.workers < 1:
        parser.error(f"--workers {asked.workers}: expected at least 1")
    kinds, chosen = asked.kinds or [], asked.jobs or []
    if asked.only is not None:
        kind, job, number = (*asked.only.split(":"), "", "")[:3]
        if not (number.isdigit() and asked.only.count(":") == 2):
            parser.error(f"--only {asked.only}: expected KIND:JOB:NUMBER, as a failure names it")
        kinds, chosen = [*kinds, kind], [*chosen, job]
    for option, names, known in (("kinds", kinds, known_kinds), ("jobs", chosen, known_jobs)):
        for name in names:
            if name not in known:
                parser.error(f"--{option}: {name!r} is none of {', '.join(known)}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _chosen_jobs(asked: argparse.Namespace) -> tuple[jobs.Job, ...]:
    names = [asked.only.split(":")[1]] if asked.only else asked.jobs
    known = {job.name: job for job in jobs.JOBS}
    return jobs.JOBS if names is None else tuple(known[name] for name in names)


def _load() -> None:
    """Load all that the verbs load later, so that no copy has to."""
    import importlib
    import pkgutil

    import recveil

    for module in pkgutil.walk_packages(recveil.__path__, "recveil."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _do(
    world: World, tries: list[plan.Try], seed: int, n_workers: int, end: float
) -> tuple[Counter[str], dict[plan.Try, list[str]]]:
    """Do the tries, and say once a minute how far they are; what fails is said at once."""
    done: Counter[str] = Counter()
    failed: dict[plan.Try, list[str]] = {}
    begun = said = time.monotonic()
    for each, result in workers.results(world, tries, seed, n_workers, end):
        done[each.kind] += 1
        if result.problems:
            failed[each] = result.problems
            print(f"{now()} {each.name!r}: {'; '.join(result.problems)}", flush=True)
        if time.monotonic() > said + _A_LINE_EVERY:
            said = time.monotonic()
            n = sum(done.values())
            left = (said - begun) / n * (len(tries) - n)
            print(
                f"{now()} {n:,} of {len(tries):,} tries, {len(failed):,} not survived; about "
                f"{left / 60:.0f} minutes left",
                flush=True,
            )
    return done, failed


def _row(
    kind: plan.Kind,
    tries: list[plan.Try],
    done: Counter[str],
    failed: dict[plan.Try, list[str]],
    note: str,
) -> Row:
    planned, n = sum(each.kind == kind.name for each in tries), done[kind.name]
    if n < planned:
        note = f"{planned:,} planned, but the time was over"
    return Row(kind.title, n, n - sum(each.kind == kind.name for each in failed), note)


def _state(
    asked: argparse.Namespace,
    rows: list[Row],
    failed: dict[plan.Try, list[str]],
    seconds: float,
) -> None:
    text = table(rows)
    print(f"\n{text}\n\n{seconds / 60:.1f} minutes, seed {asked.seed}")
    for each in failed:
        print(f"again: python -m torture --seed {asked.seed} --only '{each.name}' --keep")
    if asked.write is not None:
        how = f"Seed {asked.seed}, {seconds / 60:.0f} minutes, {asked.workers} tries at a time."
        write_between_marks(asked.write, f"{text}\n\n{how}")


if __name__ == "__main__":
    sys.exit(main())
