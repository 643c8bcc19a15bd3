"""Staging: a release is written out of sight, and renamed to its place once it is whole.

What a killed run had begun, the next one to the same place finishes or undoes, so that either the
old release or the new one is there whole, with the private twin that belongs to it.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from recveil.beside import Settle, folder_beside, placing, refuse_in_release, sweep
from recveil.devices import refuse_traps
from recveil.errors import RecveilError
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
    twin_name,
)

_OWN_FILES = {MANIFEST, CLASSES, CARD, *RATINGS, MODEL, PRIVATE_MANIFEST, ASSIGNMENT, RISK}
_OWN_FILES |= {HIDDEN_ITEMS_FILE}

# Leaves room for ".private" and for what the staging folder adds.
_LONGEST_NAME = 200

# Within the staging folder. What is drawn has no twin, and another name.
_NEW, _NEW_PRIVATE, _DRAWN = "published", "private", "drawn"
_OLD, _OLD_PRIVATE = "old-published", "old-private"
# Stands there from before the first renaming, when all is whole and verified, until the last one is
# done or undone. Without it, nothing in the folder is anything but what is to be removed.
_RENAMING = "renaming"


@contextmanager
def staged_pair(folder: Path, *, force: bool) -> Iterator[tuple[Path, Path]]:
    """Give two folders to write to; rename them into place if all went well.

    An old release goes before its twin and a new one comes after, so that at any moment there is
    either no release, or a release with the twin that belongs to it.

    Parameters
    ----------
    folder : Path
        The folder to be published.
    force : bool
        Replace an older release at the same place.

    Raises
    ------
    RecveilError
        As `check_target`; or if something cannot be written. Nothing is left behind then.
    """
    folder, private = _targets(folder)
    check_target(folder, force=force)
    try:
        with folder_beside(folder.parent, _prefix(folder), _undoing(folder, private)) as staging:
            try:
                (staging / _NEW_PRIVATE).mkdir(mode=0o700)
                (staging / _NEW).mkdir(mode=0o755)
                yield staging / _NEW, staging / _NEW_PRIVATE
                _set_modes(staging / _NEW)
                _set_modes(staging / _NEW_PRIVATE)
                away = [(folder, staging / _OLD), (private, staging / _OLD_PRIVATE)]
                into_place = [(staging / _NEW_PRIVATE, private), (staging / _NEW, folder)]
                with placing(folder, staging / _NEW):
                    _put_into_place(staging, (away if force else []) + into_place)
            except OSError as error:
                raise RecveilError(
                    f"{folder}: writing failed ({error.strerror or error}); nothing was left behind"
                ) from error
    except OSError as error:
        raise RecveilError(
            f"{folder.parent}: cannot write here ({error.strerror}); choose another output"
        ) from error


@contextmanager
def staged_drawn(folder: Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to write drawn people to, who have no private twin; rename it into place.

    Parameters
    ----------
    folder : Path
        The folder to be published.
    force : bool
        Replace an older release at the same place.

    Raises
    ------
    RecveilError
        As `staged_pair`; or if a private twin stands at that place.
    """
    folder, private = _targets(folder)
    check_target(folder, force=force)
    if private.exists():
        raise RecveilError(
            f"{private} exists, and would seem to belong to what is drawn; choose another output"
        )
    try:
        with folder_beside(folder.parent, _prefix(folder), _undoing(folder, private)) as staging:
            (staging / _DRAWN).mkdir(mode=0o755)
            yield staging / _DRAWN
            _set_modes(staging / _DRAWN)
            away = [(folder, staging / _OLD)] if force else []
            with placing(folder, staging / _DRAWN):
                _put_into_place(staging, [*away, (staging / _DRAWN, folder)])
    except OSError as error:
        raise RecveilError(
            f"{folder}: cannot be written ({error.strerror or error}); nothing was left behind, "
            f"choose another output"
        ) from error


def _set_modes(folder: Path) -> None:
    """Let all files in a folder be read by whoever may read it, and be written by their owner."""
    mode = folder.stat().st_mode & 0o644
    for file in folder.iterdir():
        file.chmod(mode)


def _put_into_place(staging: Path, renames: list[tuple[Path, Path]]) -> None:
    """Rename one after the other what is there; if a step fails, `_undoing` undoes the others.

    Old ones are moved out of the way only by force: without it, renaming onto a folder that came
    meanwhile fails.
    """
    (staging / _RENAMING).touch()
    for source, target in renames:
        if source.exists():
            source.rename(target)


def _undoing(folder: Path, private: Path) -> Settle:
    """Return what undoes the renaming of a run that was interrupted, or failed, in its midst."""

    def undo(staging: Path) -> bool:
        if not (staging / _RENAMING).exists():
            return True
        new, new_private = staging / _NEW, staging / _NEW_PRIVATE
        if new.exists() and not new_private.exists():
            private.rename(new_private)
        if new.exists() or (staging / _DRAWN).exists():
            olds = ((staging / _OLD_PRIVATE, private), (staging / _OLD, folder))
            for old, target in olds if not folder.exists() else ():
                if old.exists():
                    old.rename(target)
            if any(old.exists() for old, _ in olds):
                return False  # somebody put another folder there meanwhile: the old one stays here
        (staging / _RENAMING).unlink()
        return True

    return undo


def check_target(folder: str | PathLike[str], *, force: bool) -> None:
    """Raise a RecveilError unless a release could be written to `folder`.

    Asked before the long work begins, and again before writing. What killed runs left behind is
    put in order first.
    """
    refuse_traps(folder)
    published, private = _targets(folder)
    if not published.parent.is_dir():
        raise RecveilError(f"{folder}: {published.parent} is not a folder; create it first")
    _settle_leftovers(published, private)
    refuse_in_release(published)
    for target, sign in ((published, MANIFEST), (private, PRIVATE_MANIFEST)):
        if not target.exists() and not target.is_symlink():
            continue
        if not force:
            raise RecveilError(
                f"{target} exists; choose another output, or replace the release with force "
                f"(--force)"
            )
        if target.is_symlink():
            raise RecveilError(
                f"{target} is a link, and force (--force) replaces folders only; name the folder "
                f"that it leads to, or choose another output"
            )
        if not (target / sign).is_file():
            raise RecveilError(
                f"{target} exists and is not a release of recveil's (no {sign}); "
                f"force (--force) replaces releases only; choose another output"
            )
        if others := sorted({file.name for file in target.iterdir()} - _OWN_FILES):
            raise RecveilError(
                f"{target} holds more than a release ({', '.join(others[:3])}); "
                f"move that away, or choose another output"
            )


def _targets(folder: str | PathLike[str]) -> tuple[Path, Path]:
    published = Path(folder).absolute()
    if not 0 < len(os.fsencode(published.name)) <= _LONGEST_NAME:
        raise RecveilError(
            f"{folder}: expected a folder's name of at most {_LONGEST_NAME} bytes; choose another"
        )
    return published, published.with_name(twin_name(published.name))


def _settle_leftovers(folder: Path, private: Path) -> None:
    """Finish the renaming that a killed run had begun, or undo it; remove all else that it left.

    The new private folder goes before the new published one, and back comes the old private one
    first, too: whoever is killed here leaves what the next run settles.
    """

    def settle(staging: Path) -> bool:
        new, new_private = staging / _NEW, staging / _NEW_PRIVATE
        is_renaming = (staging / _RENAMING).exists()
        if is_renaming and new.exists() and not new_private.exists() and not folder.exists():
            new.rename(folder)
        return undo(staging)

    undo = _undoing(folder, private)
    # Either as `folder_beside` names them, or as once: the number of a process, and letters.
    sweep(folder.parent, rf"{re.escape(_prefix(folder))}([0-9a-f]{{8}}|\d+-\w+)", settle)


def _prefix(folder: Path) -> str:
    return f".{folder.name}.partial-"
