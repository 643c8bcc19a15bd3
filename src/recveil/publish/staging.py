"""Staging: a release is written out of sight, and renamed to its place once it is whole.

What a killed run had begun, the next one to the same place finishes or undoes (`settling`). One run
at a time looks at a place and renames to it (`alone`).
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from os import PathLike
from pathlib import Path

from recveil.beside import Settle, folder_beside, placing, refuse_in_release
from recveil.devices import refuse_traps
from recveil.errors import RecveilError, listed
from recveil.folders import Parent, make_folder
from recveil.publish.alone import alone
from recveil.publish.history import keep_history
from recveil.publish.settling import (
    DRAWN,
    NEW,
    NEW_PRIVATE,
    OLD,
    OLD_PRIVATE,
    RENAMING,
    foreign_to_a_release,
    leftovers,
    others_in,
    prefix,
    settle_leftovers,
    undoing,
)
from recveil.release.manifest import MANIFEST, PRIVATE_MANIFEST, twin_name

# Leaves room for ".private" and for what the staging folder adds.
_LONGEST_NAME = 200


@contextmanager
def staged_pair(folder: Path, *, force: bool) -> Iterator[tuple[Path, Path]]:
    """Give two folders to write to; rename them into place if all went well.

    An old release goes before its twin and a new one comes after, so that at any moment there is
    either no release, or a release with the twin that belongs to it. Of two runs that write to one
    place, one renames after the other, and what has come meanwhile is replaced only by force. What
    is replaced is remembered in the new twin.

    Parameters
    ----------
    folder : Path
        The folder to be published.
    force : bool
        Replace an older release at the same place.

    Raises
    ------
    RecveilError
        As `check_target`; or if something cannot be written. Nothing is left behind then, unless
        it says so.
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
    _refuse_twin(private)
    with _staged(folder, undoing(folder, private, lambda: False)) as (staging, alone_there):
        make_folder(staging / DRAWN, 0o755)
        yield staging / DRAWN
        _set_modes(staging / DRAWN)
        away = [(folder, staging / OLD)] if force else []
        alone_there()
        _check_again(folder, private, staging, force=force)
        _refuse_twin(private)
        with placing(folder, staging / DRAWN):
            _put_into_place(staging, away, [(staging / DRAWN, folder)])


@contextmanager
def _staged(folder: Path, undo: Settle) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Give a staging folder, and what keeps other runs from the target until all is settled."""
    staging: Path | None = None
    try:
        with ExitStack() as stack:
            parent = stack.enter_context(_unless_it_goes(folder))

            def settle(staging: Path) -> bool:
                return not parent.has_gone() and undo(staging) and not others_in(staging)

            staging = stack.enter_context(folder_beside(folder.parent, prefix(folder), settle))
            yield staging, lambda: stack.enter_context(_alone_at(folder))
    except OSError as error:
        why = error.strerror or error
        if staging is None:
            raise RecveilError(
                f"{folder.parent}: cannot write here ({why}); choose another output",
                code="output.not-writable",
            ) from error
        if staging.exists():
            left = f"what is left is in {staging.name}, and the next run puts it in order"
        else:
            left = "nothing was left behind, choose another output"
        raise RecveilError(
            f"{folder}: writing failed ({why}); {left}",
            code="machine.disk" if error.errno == errno.ENOSPC else "output.not-writable",
        ) from error
    if staging.exists() and (others := others_in(staging)):
        raise RecveilError(
            f"{folder} was written, but somebody put {listed(others, 60)} into what it replaces; "
            f"it is in {staging.name}, move it away before the next run",
            code="output.changed",
        )


@contextmanager
def _unless_it_goes(folder: Path) -> Iterator[Parent]:
    """Give the folder above a target; if it is moved away meanwhile, say what may be left there.

    Nothing is undone there by guessing: the next run to that place looks at all that it finds.
    """
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
        f"{folder}: the folder above it was moved or removed meanwhile; where it stands now, look "
        f"for {folder.name} and {prefix(folder)}*, which hold private things, and run again to "
        f"that place, which puts them in order",
        code="output.changed",
    )


def _alone_at(folder: Path) -> AbstractContextManager[None]:
    return alone(folder.with_name(f"{prefix(folder)}lock"), folder)


def _is_there(private: Path, made: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(private.lstat(), made)
    return False


def _refuse_twin(private: Path) -> None:
    if os.path.lexists(private):
        raise RecveilError(
            f"{private} exists, and would seem to belong to what is drawn; choose another output",
            code="output.exists",
        )


def _set_modes(folder: Path) -> None:
    """Let all files in a folder be read by whoever may read it, and be written by their owner."""
    mode = folder.stat().st_mode & 0o644
    for file in folder.iterdir():
        file.chmod(mode)


_Renames = list[tuple[Path, Path]]


def _put_into_place(staging: Path, away: _Renames, into_place: _Renames) -> None:
    """Rename one after the other what is there; if a step fails, `undoing` undoes the others.

    Old ones are moved out of the way only by force: without it, renaming onto a folder that came
    meanwhile fails. They are looked at once more where nobody finds them any more: what came
    between the last look and the renaming would be removed with them.
    """
    (staging / RENAMING).touch()
    for source, target in away:
        if source.exists():
            source.rename(target)
    for source, target in away:
        if others := _foreign(target):
            raise RecveilError(
                f"{source}: {listed(others, 60)} was put there by somebody meanwhile, so that "
                f"nothing was replaced; move that away, or choose another output",
                code="output.changed",
            )
    for source, target in into_place:
        if source.exists():
            source.rename(target)


def _foreign(moved: Path) -> list[str]:
    """Return what in a folder that was moved away is not a release's, or all, if it is none."""
    if not os.path.lexists(moved):
        return []
    sign = MANIFEST if moved.name == OLD else PRIVATE_MANIFEST
    if moved.is_dir() and not moved.is_symlink() and not (moved / sign).is_file():
        return sorted(path.name for path in moved.iterdir())
    return foreign_to_a_release(moved)


def check_target(folder: str | PathLike[str], *, force: bool, is_dry: bool = False) -> None:
    """Raise a RecveilError unless a release could be written to `folder`.

    Asked before the long work begins, and again before writing. What killed runs left behind is
    put in order first, but for a dry run, which looks and touches nothing.
    """
    refuse_traps(folder)
    published, private = _targets(folder)
    if not published.parent.is_dir():
        raise RecveilError(
            f"{folder}: {published.parent} is not a folder; create it first",
            code="output.not-writable",
        )
    refuse_in_release(published)
    if is_dry:
        if not os.access(published.parent, os.W_OK | os.X_OK):
            raise RecveilError(
                f"{published.parent}: cannot write here; choose another output",
                code="output.not-writable",
            )
        try:
            _refuse_standing(published, private, force=force)
        except RecveilError:
            _refuse_leftovers(published)
            raise
        return
    try:
        with _alone_at(published):
            settle_leftovers(published, private)
            _refuse_standing(published, private, force=force)
    except OSError as error:
        raise RecveilError(
            f"{published.parent}: cannot write here ({error.strerror or error}); choose another "
            f"output",
            code="output.not-writable",
        ) from error


def _refuse_leftovers(published: Path) -> None:
    """Say that a killed run may be why something stands at the target, or does not."""
    if left := leftovers(published):
        raise RecveilError(
            f"{published}: a run that was cut short left {listed(left, 80)} beside it, so that "
            f"what stands there may be half of a release; a dry run touches nothing: run it "
            f"without dry_run (--dry-run), which finishes or undoes that first",
            code="output.leftovers",
        )


def _check_again(folder: Path, private: Path, staging: Path, *, force: bool) -> None:
    """Put in order what other runs left meanwhile, and refuse what they put there."""
    settle_leftovers(folder, private, but=staging)
    came = [target for target in (folder, private) if os.path.lexists(target)]
    if came and not force:
        raise RecveilError(
            f"{came[0]} was put there by somebody meanwhile, so that writing failed; choose "
            f"another output, or replace the release with force (--force)",
            code="output.exists",
        )
    _refuse_standing(folder, private, force=force)


def _refuse_standing(published: Path, private: Path, *, force: bool) -> None:
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
                f"{target} is a link, and force (--force) replaces folders only; name the folder "
                f"that it leads to, or choose another output",
                code="output.exists",
            )
        if not (target / sign).is_file():
            raise RecveilError(
                f"{target} exists and is not a release of recveil's (no {sign}); "
                f"force (--force) replaces releases only; choose another output",
                code="output.exists",
            )
        if others := foreign_to_a_release(target):
            raise RecveilError(
                f"{target} holds more than a release ({', '.join(others[:3])}); "
                f"move that away, or choose another output",
                code="output.exists",
            )


def _targets(folder: str | PathLike[str]) -> tuple[Path, Path]:
    published = Path(folder).absolute()
    if not 0 < len(os.fsencode(published.name)) <= _LONGEST_NAME:
        raise RecveilError(
            f"{folder}: expected a folder's name of at most {_LONGEST_NAME} bytes; choose another",
            code="output.place",
        )
    return published, published.with_name(twin_name(published.name))
