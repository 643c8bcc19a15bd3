"""Judge: what stands after a try, and whether it is what was promised.

A place holds nothing, the old result as it was, or a whole new one; inputs are as they were; nobody
else can read or change what is private; nothing goes on running; and in the end nothing else is
there.
"""

import errno
import gzip
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from torture.jobs import AT, IN, SECRET, TMP, Job, Target
from torture.processes import left_behind

NOTHING, OLD, WHOLE = "nothing", "old", "whole"
# What a killed run may leave for the next one.
_LEFT = r"\.{}\.(partial-([0-9a-f]{{8}}|lock)|[0-9a-f]{{8}}\.tmp)"
# What is said of a fault of the machine; no finished setting may report it as its result.
_OF_THE_MACHINE = (
    *("make room", "are free", "not enough memory", "memoryerror", "too few files may be open"),
    *(
        os.strerror(number).lower()
        for number in (
            *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ENOENT),
            *(errno.EACCES, errno.EPERM, errno.ENOMEM, errno.EMFILE, errno.ENFILE),
        )
    ),
)
_MANIFEST = "release.json"
# What ends with a run may take so many seconds for it, on a busy machine.
_A_MOMENT = 3.0


class Expected(NamedTuple):
    """With what the state after a try is compared.

    Attributes
    ----------
    inputs : Path
        The inputs as they were.
    old : Path or None
        The older results as they were.
    reference : Path
        What the job leaves if nothing disturbs it.
    """

    inputs: Path
    old: Path | None
    reference: Path


def tree(path: Path) -> dict[str, tuple[int, str]]:
    """Return permissions and digests of a file, or of all that is in a folder."""
    found = [path, *sorted(path.rglob("*"))] if path.exists() else []
    return {
        str(each.relative_to(path)): (
            stat.S_IMODE(each.stat().st_mode),
            "" if each.is_dir() else hashlib.sha256(each.read_bytes()).hexdigest(),
        )
        for each in found
    }


def problems(folder: Path, job: Job, expected: Expected, *, may_leave: bool) -> list[str]:
    """Return what is wrong in the folder of a try; nothing, if it survived.

    Parameters
    ----------
    folder : Path
    job : Job
    expected : Expected
    may_leave : bool
        Whether something may be left for the next run, as the last one was killed.
    """
    found = list(_processes(folder))
    found += [] if tree(folder / IN) == tree(expected.inputs) else ["an input was changed"]
    for target in job.targets:
        state = state_of(folder / AT, target, expected, may_leave=may_leave)
        if state not in (NOTHING, OLD, WHOLE):
            found.append(f"{target.name}: {state}")
        if state == NOTHING and expected.old is not None:
            # The next run brings back what was moved out of the way, after a kill alone.
            kept = (folder / AT).glob(f".{target.name}.partial-*/old-published")
            if not (may_leave and any(kept)):
                found.append(f"{target.name}: the old one is gone, and there is no new one")
    found += _orphans(folder, job, may_leave=may_leave)
    found += list(_open_to_others(folder, job))
    return found


def _processes(folder: Path) -> Iterator[str]:
    """List what still runs a moment after a run has ended, however it did."""
    end = time.monotonic() + _A_MOMENT
    while (left := left_behind(folder.resolve())) and time.monotonic() < end:
        time.sleep(0.02)
    for command in left.values():
        yield f"a process goes on: {command}"


def _orphans(folder: Path, job: Job, *, may_leave: bool) -> Iterator[str]:
    """List what is there that should not be."""
    usual = {name for target in job.targets for name in target.names}
    left = "|".join(_LEFT.format(re.escape(target.name)) for target in job.targets)
    for path in (folder / AT).iterdir():
        if path.name not in usual and not (may_leave and re.fullmatch(left, path.name)):
            yield f"orphan {path.name}"
    for path in (folder / TMP).iterdir():
        if _is_probe(path):
            continue
        if not may_leave or not path.name.startswith("recveil"):
            yield f"orphan {TMP}/{path.name}"
    for target in job.targets:
        if target.kind == "comparison" and not may_leave:
            for path in (folder / AT / target.name).rglob(".*"):
                yield f"orphan {target.name}/{path.name}"


def _is_probe(path: Path) -> bool:
    """Say whether Python wrote a file to see whether it can: it, too, may be killed meanwhile."""
    return path.is_file() and len(path.name) == 8 and path.read_bytes() in (b"", b"blat")


def state_of(at: Path, target: Target, expected: Expected, *, may_leave: bool) -> str:
    """Say what stands at a place: nothing, the old, the new one, or what is wrong with it."""
    if expected.old is not None and _same_as_old(at, target, expected.old):
        return OLD
    path = at / target.name
    twin = at / f"{target.name}.private"
    if not path.exists():
        if target.kind == "release" and twin.exists() and not may_leave:
            return "the private twin of nothing"
        return NOTHING
    if target.kind == "file":
        return _state_of_file(path, expected.reference / target.name)
    if target.kind == "comparison":
        return _state_of_comparison(path)
    return _state_of_release(path, twin if target.kind == "release" else None)


def _same_as_old(at: Path, target: Target, old: Path) -> bool:
    return all(
        (at / name).exists() and tree(at / name) == tree(old / name) for name in target.names
    )


def _state_of_file(file: Path, reference: Path) -> str:
    if file.suffix == ".json":
        return WHOLE if _is_json(file) else "half a JSON file"
    if file.suffix == ".html":
        is_whole = file.read_text(encoding="utf-8").rstrip().endswith("</html>")
        return WHOLE if is_whole else "half a page"
    if file.suffix == ".jsonl":
        with suppress(ValueError):
            return WHOLE if list(map(json.loads, file.read_text().splitlines())) else "empty"
        return "half a line"
    is_whole = _unpacked(file) == _unpacked(reference)
    return WHOLE if is_whole else "neither the old nor the new file"


def _is_json(file: Path) -> bool:
    with suppress(ValueError):
        json.loads(file.read_bytes())
        return True
    return False


def _unpacked(file: Path) -> bytes:
    content = file.read_bytes()
    with suppress(OSError, EOFError):
        return gzip.decompress(content)
    return content


def _state_of_comparison(folder: Path) -> str:
    for file in folder.rglob("[!.]*.json"):
        if not _is_json(file) and not _is_within_work(file, folder):
            return f"half a cell, {file.name}"
        if _is_json(file) and (words := _machine_in(file)):
            return f"a fault of the machine is kept as a result ({words}), {file.name}"
    page, table = folder / "index.html", folder / "comparison.parquet"
    if page.exists() and _state_of_file(page, page) != WHOLE:
        return "half a page"
    if table.exists() and not table.read_bytes().endswith(b"PAR1"):
        return "half a table"
    return WHOLE


def _machine_in(file: Path) -> str:
    """Return which words of a fault of the machine a result reports; nothing if none."""
    result = file.read_text(encoding="utf-8").lower()
    return next((words for words in _OF_THE_MACHINE if words in result), "")


def _is_within_work(file: Path, folder: Path) -> bool:
    return file.relative_to(folder).parts[0].startswith(".work-")


def _state_of_release(folder: Path, twin: Path | None) -> str:
    """Say whether a release is whole, and its twin its own, by the digests in both."""
    manifest = folder / _MANIFEST
    if not manifest.is_file() or not _is_json(manifest):
        return "half a release"
    listed = json.loads(manifest.read_bytes())["files"]
    if {path.name for path in folder.iterdir()} != {*listed, _MANIFEST}:
        return "a release that lacks files, or has more"
    for name, about in listed.items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != about["sha256"]:
            return f"a release with another {name}"
    if twin is None:
        return WHOLE
    result = twin / "private.json"
    if not result.is_file() or not _is_json(result):
        return "a release without its private twin"
    belongs_to = json.loads(result.read_bytes())["release"]["sha256"]
    if belongs_to != hashlib.sha256(manifest.read_bytes()).hexdigest():
        return "a release with another's private twin"
    return WHOLE


def _open_to_others(folder: Path, job: Job) -> Iterator[str]:
    """List what others can read that is private, and what they can write."""
    published = [folder / AT / each.name for each in job.targets if each.kind != "file"]
    for part in (AT, TMP):
        for path in _reachable(folder / part):
            mode = stat.S_IMODE(path.lstat().st_mode)
            if mode & 0o022:
                yield f"{path.name} can be written by others ({mode:o})"
            if path.is_dir() or not mode & 0o044:
                continue
            is_published = any(each in path.parents for each in published)
            if _states_of_users(path, is_published=is_published):
                yield f"{path.name} can be read by others ({mode:o}), and tells of people"


def _reachable(folder: Path) -> Iterator[Path]:
    """Yield what others can get at, as permissions of the folders above let them."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink() and path.stat().st_mode & 0o011:
            yield from _reachable(path)


def _states_of_users(file: Path, *, is_published: bool) -> bool:
    """Say whether a file has an original id in it; if it is packed, whether it may have."""
    if file.suffix == ".parquet" or ".parquet." in file.name:
        return not is_published  # of what is published, verify looks into it
    return SECRET.encode() in _unpacked(file)
