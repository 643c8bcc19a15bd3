"""Staging of releases: each is written to a hidden folder, and renamed when it is complete.

The next run to a place completes or undoes what a killed run began (`settling`). One run at a time
inspects a place and renames to it (`alone`).
"""

import errno
import filecmp
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from recveil.publish.history import keep_history
from recveil.release.manifest import (
    ANSWERS,
    ASSIGNMENT,
    CARD,
    CLASSES,
    ERASURES,
    HIDDEN_ITEMS_FILE,
    ITEM_TABLE,
    MANIFEST,
    MODEL,
    NOISY_SUMS,
    PRIVATE_MANIFEST,
    PROTECTED,
    RATINGS,
    RISK,
    USER_TABLE,
    FileEntry,
    is_part,
    private_name,
)
from recveil.runtime.atomic_writes import (
    Parent,
    Settle,
    in_spite_of_signals,
    make_folder,
    placing,
    reject_in_release,
    sweep,
    temporary_folder_near,
)
from recveil.runtime.devices import read_whole, reject_traps
from recveil.runtime.errors import RecveilError, listed
from recveil.runtime.locks import FOR_OWNER, LOCK, NOT_FOLLOWED, abandoned, is_ours, lock

# So many seconds does a run wait for another one, which renames four folders; it looks so often.
_PATIENCE, _OFTEN = 10.0, 0.02


@contextmanager
def alone(file: Path, target: Path) -> Iterator[None]:
    """Hold the lock of a target, where there are locks; another run waits, and then fails."""
    if sys.platform == "win32":  # no such locks
        yield
        return
    stack = ExitStack()

    def release() -> None:
        stack.close()
        _remove_unless_locked(file)

    try:
        _take(file, target, stack)
        yield
    finally:
        in_spite_of_signals(release)


def _take(file: Path, target: Path, stack: ExitStack) -> None:
    """Lock the file at a path; its former holder may have removed it."""
    end = time.monotonic() + _PATIENCE
    while True:
        # Recorded before it is locked, so that it is closed whenever an interrupt comes.
        opened = stack.enter_context(_opened(file, target))
        if lock(opened.fileno(), wait=False) is not False and _is_placed_at(opened, file):
            return
        stack.close()
        if time.monotonic() > end:
            raise RecveilError(
                f"{target}: another run is writing there; wait until it has ended, or choose "
                f"another output",
                code="output.locked",
            )
        time.sleep(_OFTEN)


def _opened(file: Path, target: Path) -> BinaryIO:
    """Open or create the file; raise if it is not ours."""
    try:
        _make_legible(file)
        opened = _open(file, os.O_CREAT)
    except PermissionError as error:
        if not os.path.lexists(file):
            raise
        raise RecveilError(
            f"{target}: another user's run writes there, or left {file.name}; once it has ended, "
            f"let them remove that file, or choose another output",
            code="output.locked",
        ) from error
    except OSError:
        if _is_plain(file):
            raise
        raise _taken_by_others(file, target) from None
    if _is_empty_file(opened):
        return opened
    opened.close()
    raise _taken_by_others(file, target)


def _taken_by_others(file: Path, target: Path) -> RecveilError:
    return RecveilError(
        f"{target}: a run needs the name {file.name} for its lock file, but something else has it; "
        f"move that away",
        code="output.exists",
    )


def _make_legible(file: Path) -> None:
    """Let the file's creator open it, whatever the umask."""
    with suppress(FileNotFoundError):
        found = file.lstat()
        is_our_lock = stat.S_ISREG(found.st_mode) and not found.st_size and is_ours(found)
        if is_our_lock and stat.S_IMODE(found.st_mode) & FOR_OWNER != FOR_OWNER:
            file.chmod(FOR_OWNER)


def _is_plain(file: Path) -> bool:
    """Return whether there is a file or nothing; a folder, a link or a socket is neither."""
    with suppress(OSError):
        return stat.S_ISREG(file.lstat().st_mode)
    return True


def _open(file: Path, how: int) -> BinaryIO:
    # A pipe of that name is not waited for.
    flags = os.O_RDWR | os.O_NONBLOCK | NOT_FOLLOWED | how
    opened = os.fdopen(os.open(file, flags, FOR_OWNER), "r+b", buffering=0)
    if _is_empty_file(opened) and is_ours(os.fstat(opened.fileno())):
        os.fchmod(opened.fileno(), FOR_OWNER)  # whatever the umask
    return opened


def _is_empty_file(opened: BinaryIO) -> bool:
    found = os.fstat(opened.fileno())
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def _is_placed_at(opened: BinaryIO, file: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(opened.fileno()), file.lstat())
    return False


def _remove_unless_locked(file: Path) -> None:
    """Remove the file while it is locked, so that a waiting run sees it is gone."""
    with suppress(OSError), _open(file, 0) as opened:
        is_free = lock(opened.fileno(), wait=False) is not False
        if is_free and _is_empty_file(opened) and _is_placed_at(opened, file):
            file.unlink()


# All files of a release and of its private folder.
_OWN_FILES = {MANIFEST, CLASSES, CARD, *RATINGS, MODEL, PRIVATE_MANIFEST, ASSIGNMENT, RISK}
_OWN_FILES |= {HIDDEN_ITEMS_FILE, PROTECTED, ERASURES, ITEM_TABLE, USER_TABLE, NOISY_SUMS, ANSWERS}

# Within the staging folder. Synthetic users have no private folder, and another name.
NEW, NEW_PRIVATE, DRAWN = "published", "private", "drawn"
OLD, OLD_PRIVATE = "old-published", "old-private"
# The lock file and the marker below are next to them.
_FOLDERS = {NEW, NEW_PRIVATE, DRAWN, OLD, OLD_PRIVATE}
# Marker that exists from before the first renaming, when all is complete and verified, until the
# last one is done or undone. Without it, the whole folder is to be removed.
RENAMING = "renaming"


def settle_leftovers(folder: Path, private: Path, *, but: Path | None = None) -> None:
    """Complete or undo a killed run's renaming, and remove leftovers; the caller holds the lock."""
    _reject_two(folder)

    def settle(staging: Path) -> bool:
        if staging == but or not staging.is_dir():
            return False
        is_ours = partial(_is_private_folder_of, private, staging / NEW)
        if not (_finish(staging, folder, private) or undoing(folder, private, is_ours)(staging)):
            raise RecveilError(
                f"{folder}: {staging.name} has the release that an interrupted run was replacing, "
                f"but {folder.name} is another one; move {folder.name} and {private.name} away to "
                f"restore it, or remove {staging.name}",
                code="output.leftovers",
            )
        if others := others_in(staging):
            raise RecveilError(
                f"{staging.name} was left by an interrupted run, but {listed(others, 60)} was not, "
                f"and would be removed with it; move that away, or rename {staging.name}",
                code="output.leftovers",
            )
        return True

    sweep(folder.parent, _names(folder), settle)


def leftovers(folder: Path) -> list[str]:
    """Return the names of what killed runs left at a target, without changing it.

    >>> leftovers(Path("out"))
    []
    """
    found = []
    with suppress(OSError):
        for path in sorted(folder.absolute().parent.iterdir()):
            if re.fullmatch(_names(folder), path.name) and not path.is_symlink():
                with abandoned(path) as is_abandoned:
                    found += [path.name] * is_abandoned
    return found


def others_in(staging: Path) -> list[str]:
    """Return the files in a staging folder that no run created.

    A release that a run moved away may have gained files since it was checked.
    """
    found = _names_in(staging) - {LOCK, RENAMING, *_FOLDERS}
    for old in (OLD, OLD_PRIVATE):
        if os.path.lexists(staging / old):
            found |= {f"{old}/{name}" for name in foreign_to_a_release(staging / old)}
    return sorted(found)


def foreign_to_a_release(folder: Path) -> list[str]:
    """Return files foreign to a release or private folder; the folder's own if it is neither."""
    if folder.is_symlink() or not folder.is_dir():
        return [folder.name]
    return sorted(
        path.name
        for path in folder.iterdir()
        if not _is_created_here(path.name) or (path.is_dir() and not path.is_symlink())
    )


def _is_created_here(name: str) -> bool:
    """Return whether a release or a private folder may have a file of that name."""
    return name in _OWN_FILES or is_part(name) or is_part(name, "assignment")


def _finish(staging: Path, folder: Path, private: Path) -> bool:
    """Complete the last renaming if only the new private folder is in place."""
    # Return whether both folders are in place. A new release never appears without its private
    # folder.
    new = staging / NEW
    is_last = (staging / RENAMING).exists() and not (staging / NEW_PRIVATE).exists()
    if not (is_last and new.exists() and _is_private_folder_of(private, new)):
        return False
    if not os.path.lexists(folder):
        new.rename(folder)
    elif not _is_copy(folder, new):  # which the publisher may have copied there by hand
        return False
    (staging / RENAMING).unlink()
    return True


def undoing(folder: Path, private: Path, is_ours: Callable[[], bool]) -> Settle:
    """Return the steps that undo an interrupted renaming; False if it cannot be undone.

    The new private folder is removed first, then the old one is restored, then the old published
    folder, so the next run can settle an interruption.
    """

    def undo(staging: Path) -> bool:
        if not (staging / RENAMING).exists():
            return True
        new, new_private = staging / NEW, staging / NEW_PRIVATE
        if new.exists() and not new_private.exists() and is_ours():
            if _is_private_folder_of(private, folder):
                return False
            private.rename(new_private)
        if new.exists() or (staging / DRAWN).exists():
            olds = [(staging / OLD_PRIVATE, private), (staging / OLD, folder)]
            olds = [(old, target) for old, target in olds if old.exists()]
            if _belongs_to_another(staging, private) or not all(_can_come_back(*o) for o in olds):
                return False
            for old, target in olds:
                if not target.exists():
                    old.rename(target)
        (staging / RENAMING).unlink()
        return True

    return undo


def prefix(folder: Path) -> str:
    """Return how the names of staging folders for a target begin.

    >>> prefix(Path("out"))
    '.out.partial-'
    """
    return f".{folder.name}.partial-"


def _names(folder: Path) -> str:
    return rf"{re.escape(prefix(folder))}[0-9a-f]{{8}}"


def _reject_two(folder: Path) -> None:
    """Refuse to choose between two releases that runs had moved away: one of them is older."""
    holding = sorted(_holding_an_old_one(folder))
    if len(holding) > 1 and not folder.exists():
        raise RecveilError(
            f"{folder}: {holding[0]} and {holding[1]} each hold what a run was replacing that was "
            f"cut short, and only you know which is the newer; remove the other one",
            code="output.leftovers",
        )


def _holding_an_old_one(folder: Path) -> Iterator[str]:
    for path in folder.parent.iterdir():
        if not re.fullmatch(_names(folder), path.name):
            continue
        with suppress(OSError):  # another user's
            has = _names_in(path)
            if RENAMING in has and has & {NEW, DRAWN} and has & {OLD, OLD_PRIVATE}:
                yield path.name


def _names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _can_come_back(old: Path, target: Path) -> bool:
    """Return whether an old folder can be restored, or a copy of it is already in place."""
    return not os.path.lexists(target) or _is_copy(target, old)


def _is_copy(folder: Path, of: Path) -> bool:
    """Return whether two folders of files have the same names and bytes."""
    with suppress(OSError):
        names = _names_in(of)
        return _names_in(folder) == names and all(
            filecmp.cmp(folder / name, of / name, shallow=False) for name in names
        )
    return False


def _belongs_to_another(staging: Path, private: Path) -> bool:
    if not (staging / OLD).exists() or (staging / OLD_PRIVATE).exists():
        return False
    digest = _stated_digest(private)
    return digest is not None and digest != _digest(staging / OLD)


def _is_private_folder_of(private: Path, of: Path) -> bool:
    digest = _stated_digest(private)
    return digest is not None and digest == _digest(of)


def _digest(published: Path) -> str | None:
    with suppress(OSError):
        return FileEntry.of(published / MANIFEST).sha256
    return None


def _stated_digest(private: Path) -> str | None:
    """Return the SHA-256 of the release.json to which a private folder says that it belongs."""
    file = private / PRIVATE_MANIFEST
    # What cannot be read is a RecveilError, and so a ValueError.
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        return str(json.loads(read_whole(file).decode())["release"]["sha256"])
    return None


# Leaves room for ".private" and the suffix of the staging folder.
_LONGEST_NAME = 200


@contextmanager
def staged_pair(folder: Path, *, force: bool) -> Iterator[tuple[Path, Path]]:
    """Yield two folders to write to, and rename them into place on success.

    At any moment there is either no release or one with its own private folder. Of two runs to one
    place, the second replaces the first only by force.
    """
    folder, private = _targets(folder)
    check_target(folder, force=force)
    made: list[os.stat_result] = []
    undo = undoing(folder, private, lambda: any(_is_there(private, each) for each in made))
    with _staged(folder, undo) as (staging, alone_there):
        make_folder(staging / NEW_PRIVATE)
        make_folder(staging / NEW, 0o755)
        made.append((staging / NEW_PRIVATE).stat())
        yield staging / NEW, staging / NEW_PRIVATE
        _set_modes(staging / NEW)
        _set_modes(staging / NEW_PRIVATE)
        away = [(folder, staging / OLD), (private, staging / OLD_PRIVATE)]
        into_place = [(staging / NEW_PRIVATE, private), (staging / NEW, folder)]
        alone_there()
        _check_again(folder, private, staging, force=force)
        keep_history(folder, private, staging / NEW, staging / NEW_PRIVATE)
        with placing(folder, staging / NEW):
            _put_into_place(staging, away if force else [], into_place)


@contextmanager
def staged_drawn(folder: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder for synthetic users without a private folder, and rename it into place."""
    folder, private = _targets(folder)
    check_target(folder, force=force)
    _reject_private_folder(private)
    with _staged(folder, undoing(folder, private, lambda: False)) as (staging, alone_there):
        make_folder(staging / DRAWN, 0o755)
        yield staging / DRAWN
        _set_modes(staging / DRAWN)
        away = [(folder, staging / OLD)] if force else []
        alone_there()
        _check_again(folder, private, staging, force=force)
        _reject_private_folder(private)
        with placing(folder, staging / DRAWN):
            _put_into_place(staging, away, [(staging / DRAWN, folder)])


@contextmanager
def _staged(folder: Path, undo: Settle) -> Iterator[tuple[Path, Callable[[], None]]]:
    staging: Path | None = None
    try:
        with ExitStack() as stack:
            parent = stack.enter_context(_unless_it_goes(folder))

            def settle(staging: Path) -> bool:
                return not parent.has_gone() and undo(staging) and not others_in(staging)

            staging = stack.enter_context(
                temporary_folder_near(folder.parent, prefix(folder), settle)
            )
            yield staging, lambda: stack.enter_context(_alone_at(folder))
    except OSError as error:
        why = error.strerror or error
        if staging is None:
            raise RecveilError(
                f"{folder.parent}: cannot write here ({why}); choose another output",
                code="output.not-writable",
            ) from error
        if staging.exists():
            left = f"the rest is in {staging.name}, which the next run cleans up"
        else:
            left = "nothing was left; choose another output"
        raise RecveilError(
            f"{folder}: writing failed ({why}); {left}",
            code="machine.disk" if error.errno == errno.ENOSPC else "output.not-writable",
        ) from error
    if staging.exists() and (others := others_in(staging)):
        raise RecveilError(
            f"{folder} was written, but the release that it replaces had other files: "
            f"{listed(others, 60)}; they are in {staging.name}; move them away before the next run",
            code="output.changed",
        )


@contextmanager
def _unless_it_goes(folder: Path) -> Iterator[Parent]:
    """Yield the parent of a target; if it is moved meanwhile, report what may be left there."""
    with Parent(folder.parent) as parent:
        try:
            yield parent
        except Exception as error:
            if parent.has_gone():
                raise _gone(folder) from error
            raise
        if parent.has_gone():
            raise _gone(folder)


def _gone(folder: Path) -> RecveilError:
    return RecveilError(
        f"{folder}: its parent folder was moved or removed meanwhile; {folder.name} and "
        f"{prefix(folder)}* in it have private data; run again with the new path, which cleans "
        f"them up",
        code="output.changed",
    )


def _alone_at(folder: Path) -> AbstractContextManager[None]:
    return alone(folder.with_name(f"{prefix(folder)}lock"), folder)


def _is_there(private: Path, made: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(private.lstat(), made)
    return False


def _reject_private_folder(private: Path) -> None:
    if os.path.lexists(private):
        raise RecveilError(
            f"{private} exists, but synthetic users have no private folder; choose another output",
            code="output.exists",
        )


def _set_modes(folder: Path) -> None:
    """Give all files the folder's mode, without execute bits and write access for others."""
    mode = folder.stat().st_mode & 0o644
    for file in folder.iterdir():
        file.chmod(mode)


_Renames = list[tuple[Path, Path]]


def _put_into_place(staging: Path, away: _Renames, into_place: _Renames) -> None:
    """Rename all folders in turn; if a step fails, `undoing` reverts the others."""
    # Without force, renaming onto a folder created meanwhile fails. Old folders are checked again
    # after the move, as removing them would remove files added since the last check.
    (staging / RENAMING).touch()
    for source, target in away:
        if source.exists():
            source.rename(target)
    for source, target in away:
        if others := _foreign(target):
            raise RecveilError(
                f"{source}: {listed(others, 60)} was added meanwhile, so nothing was replaced; "
                f"move that away, or choose another output",
                code="output.changed",
            )
    for source, target in into_place:
        if source.exists():
            source.rename(target)


def _foreign(moved: Path) -> list[str]:
    """Return the foreign files in a moved folder; all of them if it is not a release."""
    if not os.path.lexists(moved):
        return []
    sign = MANIFEST if moved.name == OLD else PRIVATE_MANIFEST
    if moved.is_dir() and not moved.is_symlink() and not (moved / sign).is_file():
        return sorted(path.name for path in moved.iterdir())
    return foreign_to_a_release(moved)


def check_target(folder: str | PathLike[str], *, force: bool, is_dry: bool = False) -> None:
    """Raise a RecveilError unless a release could be written to `folder`.

    Called before the long computation and again before writing. Leftovers of killed runs are
    settled first, except in a dry run, which changes nothing.
    """
    reject_traps(folder)
    published, private = _targets(folder)
    if not published.parent.is_dir():
        raise RecveilError(
            f"{folder}: {published.parent} is not a folder; create it first",
            code="output.not-writable",
        )
    reject_in_release(published)
    if is_dry:
        if not os.access(published.parent, os.W_OK | os.X_OK):
            raise RecveilError(
                f"{published.parent}: cannot write here; choose another output",
                code="output.not-writable",
            )
        try:
            _reject_existing(published, private, force=force)
        except RecveilError:
            _reject_leftovers(published)
            raise
        return
    try:
        with _alone_at(published):
            settle_leftovers(published, private)
            _reject_existing(published, private, force=force)
    except OSError as error:
        raise RecveilError(
            f"{published.parent}: cannot write here ({error.strerror or error}); choose another "
            f"output",
            code="output.not-writable",
        ) from error


def _reject_leftovers(published: Path) -> None:
    """Raise if a killed run left files at the target, as a dry run does not settle them."""
    if left := leftovers(published):
        raise RecveilError(
            f"{published}: an interrupted run left {listed(left, 80)}, so the release may be "
            f"incomplete; run without dry_run (--dry-run), which first completes or reverts that",
            code="output.leftovers",
        )


def _check_again(folder: Path, private: Path, staging: Path, *, force: bool) -> None:
    """Settle what other runs left meanwhile, and raise for what they put in place."""
    settle_leftovers(folder, private, but=staging)
    came = [target for target in (folder, private) if os.path.lexists(target)]
    if came and not force:
        raise RecveilError(
            f"{came[0]} was created meanwhile; choose another output, or replace the release with "
            f"force (--force)",
            code="output.exists",
        )
    _reject_existing(folder, private, force=force)


def _reject_existing(published: Path, private: Path, *, force: bool) -> None:
    for target, sign in ((published, MANIFEST), (private, PRIVATE_MANIFEST)):
        if not target.exists() and not target.is_symlink():
            continue
        if not force:
            raise RecveilError(
                f"{target} exists; choose another output, or replace the release with force "
                f"(--force)",
                code="output.exists",
            )
        if target.is_symlink():
            raise RecveilError(
                f"{target} is a link, and force (--force) replaces folders only; name its target, "
                f"or choose another output",
                code="output.exists",
            )
        if not (target / sign).is_file():
            raise RecveilError(
                f"{target} exists and is not a release (no {sign}); force (--force) replaces "
                f"releases only; choose another output",
                code="output.exists",
            )
        if others := foreign_to_a_release(target):
            raise RecveilError(
                f"{target} has files that are not of a release ({', '.join(others[:3])}); move "
                f"them away, or choose another output",
                code="output.exists",
            )


def _targets(folder: str | PathLike[str]) -> tuple[Path, Path]:
    published = Path(folder).absolute()
    if not 0 < len(os.fsencode(published.name)) <= _LONGEST_NAME:
        raise RecveilError(
            f"{folder}: expected a folder's name of at most {_LONGEST_NAME} bytes; choose another",
            code="output.place",
        )
    return published, published.with_name(private_name(published.name))
