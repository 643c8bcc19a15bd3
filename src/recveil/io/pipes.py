"""Standard input and output, and pipes, which can be read only once."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike
from pathlib import Path
from tempfile import gettempdir
from typing import IO, NoReturn, cast

from recveil.runtime.atomic_writes import (
    make_folder,
    reject_in_release,
    sweep,
    temporary_folder_near,
)
from recveil.runtime.errors import MachineError, RecveilError, first_line_of

STANDARD = "-"
_PIECE = 1 << 20
_PREFIX = "recveil-"
_TEMPORARY_NAMES = ("TMPDIR", "TEMP", "TMP")
_INPUT_NAMES = (STANDARD, "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def is_standard(path: str | PathLike[str] | None) -> bool:
    """Return whether a path means standard input or output.

    >>> is_standard("-"), is_standard("./-")
    (True, False)
    """
    return path is not None and os.fspath(path) == STANDARD


def name_of(source: str | PathLike[str]) -> str:
    """Return a file's name, or the kind of a pipe, for messages.

    >>> name_of("folder/ratings.csv"), name_of("-"), name_of("/dev/fd/63")
    ('ratings.csv', 'standard input', 'pipe 63')
    """
    text = os.fspath(source)
    if text in _INPUT_NAMES:
        return "standard input"
    path = Path(source)
    return f"pipe {path.name}" if str(path.parent) in ("/dev/fd", "/proc/self/fd") else path.name


@contextmanager
def spooled(source: str | PathLike[str]) -> Iterator[Path]:
    r"""Yield a path that can be opened repeatedly, copying a pipe to a temporary file.

    Readers inspect a file before they read it, and read it again to locate errors, but a pipe can
    be read only once. Only the current user can read the copy, which is removed at the end, also
    after errors and Ctrl-C. It takes disk space (in the folder named by ``TMPDIR``), but no memory.

    Parameters
    ----------
    source : str or path
        A file or folder, whose path is yielded unchanged; "-" for standard input; a pipe, such as
        ``/dev/stdin`` or a shell's ``<(...)``; or a terminal.

    Yields
    ------
    Path
        Errors call the copy by its last part: "standard input", "pipe 63".

    Raises
    ------
    RecveilError
        If there is no standard input, or no space for the copy.

    Examples
    --------
    >>> import io, sys
    >>> sys.stdin, before = io.TextIOWrapper(io.BytesIO(b"1 2 3\n")), sys.stdin
    >>> with spooled("-") as path:
    ...     path.name, path.read_text(), path.read_text()
    ('standard input', '1 2 3\n', '1 2 3\n')
    >>> sys.stdin = before
    >>> path.exists()
    False
    """
    if not is_pipe(source):
        yield Path(source)
        return
    with temporary_folder() as folder:
        copy = folder / name_of(source)
        _copy(source, copy)
        yield copy


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a folder for temporary files that other users cannot enter; it is removed at the end.

    Folders left by killed runs are removed first. It is created in the folder named by ``TMPDIR``,
    ``TEMP`` or ``TMP``, or in the system's default.
    """
    parent = _temporary_parent()
    with suppress(OSError):
        sweep(parent, rf"{_PREFIX}[0-9a-f]{{8}}")
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder_near(parent, _PREFIX))
            inner = folder / "files"  # separate from the lock, which may have the name of a pipe
            make_folder(inner)
        except OSError as error:
            _reject_temporary(parent, error)
        yield inner


def _temporary_parent() -> Path:
    """Return the configured folder for temporary files, without a fallback."""
    # Python silently falls back to other folders, which may be readable by others or never cleaned.
    named = next(filter(None, map(os.environ.get, _TEMPORARY_NAMES)), None)
    try:
        parent = Path(named or gettempdir())
    except OSError as error:  # no folder can be written
        _reject_temporary(Path("/tmp"), error)  # noqa: S108
    reject_in_release(parent / _PREFIX)
    return parent


def _reject_temporary(folder: Path, error: OSError) -> NoReturn:
    raise MachineError(
        f"{folder}: temporary files cannot be written there ({error.strerror or error}); make "
        f"room, or name another folder with TMPDIR",
        code="machine.disk",
    ) from None


def require_path(expected: str, *, is_output: bool = False, **given: object) -> None:
    """Raise a RecveilError for an argument that is not a path, and for an output folder "-"."""
    for name, path in given.items():
        if not isinstance(path, str | PathLike):
            raise RecveilError(
                f"{name}: expected the path of {expected}, got {type(path).__name__}; write it "
                f"first, and give its path",
                code="argument.type",
            )
        if is_output and is_standard(path):
            raise RecveilError(
                f"{name} is - (standard output), but {expected} is a folder; expected its name, "
                f"such as out",
                code="option.value",
            )


def is_pipe(source: str | PathLike[str]) -> bool:
    """Return whether a source can be read only once."""
    if is_standard(source):
        return True
    try:
        mode = Path(source).stat().st_mode
    except (OSError, ValueError):
        return False  # reported when it is opened
    if stat.S_ISCHR(mode) and os.fspath(source) in (*_INPUT_NAMES, "/dev/tty"):
        return sys.stdin is not None and sys.stdin.isatty()
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def reject_two_standard_inputs(**sources: object) -> None:
    """Raise a RecveilError if several inputs are "-": standard input can be read only once."""
    both = [name for name, source in sources.items() if source is not None and _is_input(source)]
    if len(both) > 1:
        raise RecveilError(
            f"{both[0]} and {both[1]} are both standard input (-), which can be read once only; "
            f"put one of them into a file",
            code="option.conflict",
        )


def _is_input(source: object) -> bool:
    return isinstance(source, str | PathLike) and os.fspath(source) in _INPUT_NAMES


def _copy(source: str | PathLike[str], copy: Path) -> None:
    try:
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as target:
            if is_standard(source):
                shutil.copyfileobj(_bytes_of("stdin"), target, _PIECE)
            else:
                with Path(source).open("rb") as pipe:
                    shutil.copyfileobj(pipe, target, _PIECE)
    except OSError as error:
        raise RecveilError(
            f"{copy.name}: cannot be copied to {copy.parent.parent.parent} "
            f"({error.strerror or error}); make room there, name another folder with TMPDIR, or "
            f"give a file",
            code="machine.disk",
        ) from None


def write_to_standard_output(file: Path) -> None:
    """Write the bytes of a finished file to standard output."""
    stream = _bytes_of("stdout")
    sys.stdout.flush()
    with file.open("rb") as content:
        shutil.copyfileobj(content, stream, _PIECE)
    stream.flush()


def reject_closed(name: str) -> None:
    """Raise a RecveilError if a standard stream was closed at the start, as by ``>&-``.

    >>> reject_closed("stdout")
    """
    stream = getattr(sys, name)
    if stream is None or getattr(stream, "is_closed_outside", False):
        raise _no_stream(name, "is closed here")


def _bytes_of(name: str) -> IO[bytes]:
    """Return the binary stream of a standard stream, if it has one."""
    reject_closed(name)
    try:
        return cast(IO[bytes], getattr(sys, name).buffer)
    except AttributeError as error:
        raise _no_stream(name, f"carries no bytes here ({first_line_of(error)})") from None


def _no_stream(name: str, problem: str) -> RecveilError:
    return RecveilError(
        f"- means {name}, which {problem}; name a file",
        code="input.unreadable" if name == "stdin" else "output.not-writable",
    )
