"""Settling: what a run that was cut short had begun to rename is finished or undone.

Then the old release or the new one is there whole, with the private twin that belongs to it. What
is nobody's only copy is removed. Where something else stands at the target, nothing is guessed:
what a run had moved away stays where it is, and every run says so until its owner has chosen.
"""

import filecmp
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from recveil.beside import Settle, sweep
from recveil.devices import read_whole
from recveil.errors import RecveilError, listed
from recveil.locks import LOCK, abandoned
from recveil.release.manifest import (
    ASSIGNMENT,
    CARD,
    CLASSES,
    HIDDEN_ITEMS_FILE,
    MANIFEST,
    MODEL,
    PRIVATE_MANIFEST,
    RATINGS,
    RISK,
    FileEntry,
    is_part,
)

# All that stands in a release and in its private twin.
_OWN_FILES = {MANIFEST, CLASSES, CARD, *RATINGS, MODEL, PRIVATE_MANIFEST, ASSIGNMENT, RISK}
_OWN_FILES |= {HIDDEN_ITEMS_FILE}

# Within the staging folder. What is drawn has no twin, and another name.
NEW, NEW_PRIVATE, DRAWN = "published", "private", "drawn"
OLD, OLD_PRIVATE = "old-published", "old-private"
# Beside them stand the lock, and the sign of below.
_FOLDERS = {NEW, NEW_PRIVATE, DRAWN, OLD, OLD_PRIVATE}
# Stands there from before the first renaming, when all is whole and verified, until the last one is
# done or undone. Without it, nothing in the folder is anything but what is to be removed.
RENAMING = "renaming"


def settle_leftovers(folder: Path, private: Path, *, but: Path | None = None) -> None:
    """Finish the renaming that a killed run had begun, or undo it; remove all else that it left.

    Nobody else may rename to the target meanwhile.

    Parameters
    ----------
    folder, private : Path
        The target, and its private twin.
    but : Path, optional
        The staging folder of this run, which stays.

    Raises
    ------
    RecveilError
        If what a run had moved away can be put back no more, as something else stands there; if
        two runs had moved something away; or if what a run left holds something else, too.
    """
    _refuse_two(folder)

    def settle(staging: Path) -> bool:
        if staging == but or not staging.is_dir():
            return False
        is_twin = partial(_is_twin, private, staging / NEW)
        if not (_finish(staging, folder, private) or undoing(folder, private, is_twin)(staging)):
            raise RecveilError(
                f"{folder}: {staging.name} holds what a run was replacing that was cut short, and "
                f"what stands there now is something else; move {folder.name} and {private.name} "
                f"away to get it back, or remove {staging.name}",
                code="output.leftovers",
            )
        if others := others_in(staging):
            raise RecveilError(
                f"{staging.name} is what a run left that was cut short, but for "
                f"{listed(others, 60)}, which would be removed with it; move that away, or rename "
                f"{staging.name}",
                code="output.leftovers",
            )
        return True

    sweep(folder.parent, _names(folder), settle)


def leftovers(folder: Path) -> list[str]:
    """Return the names of what killed runs left at a target, and touch nothing of it.

    Examples
    --------
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
    """Return what stands in a staging folder that no run has put there.

    What a run moved away as the old release may have got more since it was looked at.
    """
    found = _names_in(staging) - {LOCK, RENAMING, *_FOLDERS}
    for old in (OLD, OLD_PRIVATE):
        if os.path.lexists(staging / old):
            found |= {f"{old}/{name}" for name in foreign_to_a_release(staging / old)}
    return sorted(found)


def foreign_to_a_release(folder: Path) -> list[str]:
    """Return the names of what neither a release nor a private twin holds; its own, if it is none.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("release.json", "notes.txt"):
    ...         Path(folder, name).touch()
    ...     foreign_to_a_release(Path(folder))
    ['notes.txt']
    """
    if folder.is_symlink() or not folder.is_dir():
        return [folder.name]
    return sorted(
        path.name
        for path in folder.iterdir()
        if not _is_own(path.name) or (path.is_dir() and not path.is_symlink())
    )


def _is_own(name: str) -> bool:
    """Say whether a release or a private twin may hold a file of that name."""
    return name in _OWN_FILES or is_part(name) or is_part(name, "assignment")


def _finish(staging: Path, folder: Path, private: Path) -> bool:
    """Do the last renaming, if the new twin stands there alone; say whether the new pair is whole.

    Without the twin that belongs to it, a new release does not come.
    """
    new = staging / NEW
    is_last = (staging / RENAMING).exists() and not (staging / NEW_PRIVATE).exists()
    if not (is_last and new.exists() and _is_twin(private, new)):
        return False
    if not os.path.lexists(folder):
        new.rename(folder)
    elif not _is_copy(folder, new):  # which its owner may have put there by hand
        return False
    (staging / RENAMING).unlink()
    return True


def undoing(folder: Path, private: Path, is_our_twin: Callable[[], bool]) -> Settle:
    """Return what undoes the renaming of a run that was cut short; False where it cannot.

    The new private folder goes before the old one comes back, and that before the old published
    one: whoever is killed here leaves what the next run settles.

    Parameters
    ----------
    folder, private : Path
        The target, and its private twin.
    is_our_twin : callable
        Says whether what stands at `private` was put there by that run.
    """

    def undo(staging: Path) -> bool:
        if not (staging / RENAMING).exists():
            return True
        new, new_private = staging / NEW, staging / NEW_PRIVATE
        if new.exists() and not new_private.exists() and is_our_twin():
            if _is_twin(private, folder):
                return False
            private.rename(new_private)
        if new.exists() or (staging / DRAWN).exists():
            olds = [(staging / OLD_PRIVATE, private), (staging / OLD, folder)]
            olds = [(old, target) for old, target in olds if old.exists()]
            if _has_anothers_twin(staging, private) or not all(_can_come_back(*o) for o in olds):
                return False
            for old, target in olds:
                if not target.exists():
                    old.rename(target)
        (staging / RENAMING).unlink()
        return True

    return undo


def prefix(folder: Path) -> str:
    """Return how the names of staging folders for a target begin.

    Examples
    --------
    >>> prefix(Path("out"))
    '.out.partial-'
    """
    return f".{folder.name}.partial-"


def _names(folder: Path) -> str:
    return rf"{re.escape(prefix(folder))}[0-9a-f]{{8}}"


def _refuse_two(folder: Path) -> None:
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
    """Say whether an old folder can go to its place, or a copy of it stands there already."""
    return not os.path.lexists(target) or _is_copy(target, old)


def _is_copy(folder: Path, of: Path) -> bool:
    """Say whether two folders of files have the same names and bytes; a digest may be half of it.

    A release is put back from a backup file by file, and its release.json may be the first one.
    """
    with suppress(OSError):
        names = _names_in(of)
        return _names_in(folder) == names and all(
            filecmp.cmp(folder / name, of / name, shallow=False) for name in names
        )
    return False


def _has_anothers_twin(staging: Path, private: Path) -> bool:
    """Say whether the twin that stands there tells that it is not that of the old release."""
    if not (staging / OLD).exists() or (staging / OLD_PRIVATE).exists():
        return False
    told = _digest_told(private)
    return told is not None and told != _digest(staging / OLD)


def _is_twin(private: Path, of: Path) -> bool:
    told = _digest_told(private)
    return told is not None and told == _digest(of)


def _digest(published: Path) -> str | None:
    with suppress(OSError):
        return FileEntry.of(published / MANIFEST).sha256
    return None


def _digest_told(private: Path) -> str | None:
    """Return the SHA-256 of the release.json to which a private folder says that it belongs."""
    file = private / PRIVATE_MANIFEST
    # What cannot be read is a RecveilError, and so a ValueError.
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        return str(json.loads(read_whole(file).decode())["release"]["sha256"])
    return None
