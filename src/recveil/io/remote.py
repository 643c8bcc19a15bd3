"""Remote files, read with pyarrow's file systems.

The services' clients read their own credentials, from environment variables and files. Errors
contain neither these nor the services' messages, which may quote them.
"""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.fs

from recveil.io.databases.address import unquoted
from recveil.io.part_files import is_ignored
from recveil.io.pipes import temporary_folder
from recveil.runtime.errors import MachineError, RecveilError, shortened
from recveil.runtime.number_format import format_bytes

SERVICES = {"s3": "S3", "gs": "Google Cloud Storage"}
_PIECE = 1 << 20
_DENIED = (
    r"(ACCESS|PERMISSION)_DENIED|UNAUTH|INVALID_(ACCESS|SIG)|UNRECOGNIZED|[Cc]redential|"
    r"\b40[13]\b|[Ff]orbid"
)
_PROBLEMS = {
    _DENIED: (
        "you may not read it; give credentials in the service's own way (AWS_PROFILE, "
        "AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS)"
    ),
    r"NO_SUCH|NOT_FOUND|\b404\b|[Nn]ot found|does not exist|No such": (
        "there is no such bucket or file; check the address"
    ),
    r"Cannot parse|[Ii]nvalid URI|Unexpected query|[Ii]nvalid.*option": (
        "its address is not understood; expected one such as s3://bucket/folder/ratings.csv"
    ),
}


def local_path(address: str) -> Path:
    """Return the path named by an address of a local file."""
    host, slash, path = address.partition("://")[2].partition("/")
    if host not in ("", "localhost") or not path.strip("/"):
        raise RecveilError(
            "file://: expected the path of a file behind three slashes, such as "
            "file:///data/ratings.csv",
            code="input.address",
        )
    return Path(slash + unquoted(path))


@contextmanager
def fetched(address: str) -> Iterator[Path]:
    """Copy remote files to a temporary folder, which is removed at the end.

    Only the current user can read the copy. It takes disk space, in the folder named by ``TMPDIR``,
    and no memory.
    """
    base, pattern = _split(address)
    name = PurePosixPath(unquoted(base.partition("?")[0].rstrip("/"))).name or "bucket"
    with temporary_folder() as folder:
        target = folder / _safe(name, name)
        with _reporting(name, address):
            system, path = pa.fs.FileSystem.from_uri(base)
            files = _files(system, path, pattern)
            if not files:
                raise RecveilError(
                    f"{name}: there is nothing at this address; check it, or list what is there",
                    code="input.not-found",
                )
            _require_room(name, [info.size for info, _ in files], folder)
            for info, inner in files:
                _copy(system, info.path, target / inner if inner else target)
        yield target / pattern if pattern else target


def _split(address: str) -> tuple[str, str]:
    """Split an address into the part before any star, and the pattern."""
    main, mark, options = address.partition("?")
    head, slashes, rest = main.partition("://")
    parts = rest.split("/")
    at = next((at for at, part in enumerate(parts) if "*" in part), len(parts))
    base = "/".join(parts[:at])
    pattern = unquoted("/".join(parts[at:]))
    return f"{head.lower()}{slashes}{base}{mark}{options}", pattern


def _files(system: Any, path: str, pattern: str) -> list[tuple[Any, str]]:
    """List files, each with its path within the folder, which is empty for a file named itself."""
    info = system.get_file_info(path)
    if info.type == pa.fs.FileType.File:
        return [] if pattern else [(info, "")]
    if info.type == pa.fs.FileType.NotFound:
        return []
    found = system.get_file_info(pa.fs.FileSelector(path, recursive=True))
    start = path.rstrip("/") + "/"
    pairs = [(each, each.path.removeprefix(start)) for each in found if each.is_file and each.size]
    kept = [(each, _safe(inner, path)) for each, inner in pairs if _is_part(inner, pattern)]
    return sorted(kept, key=lambda pair: pair[1])


def _is_part(inner: str, pattern: str) -> bool:
    """Return whether a file matches the pattern, part by part, and is not ignored."""
    names = inner.split("/")
    if any(is_ignored(name) and name != "." for name in names):
        return False
    wanted = pattern.split("/")
    return not pattern or (len(names) == len(wanted) and all(map(fnmatchcase, names, wanted)))


def _safe(inner: str, name: str) -> str:
    """Reject a name that leads out of the folder, since a service's names may hold anything."""
    if any(part in ("", ".", "..") or "\0" in part for part in inner.split("/")):
        raise RecveilError(
            f"{PurePosixPath(name).name}: a file there has a name that no folder can hold; name "
            f"one file, or a pattern that leaves it out",
            code="input.remote",
        )
    return inner


def _require_room(name: str, sizes: list[int], folder: Path) -> None:
    room = shutil.disk_usage(folder).free
    if sum(sizes) > room:
        raise MachineError(
            f"{name}: its {format_bytes(sum(sizes))} are copied while they are read, but "
            f"{shortened(str(folder.parent.parent), 60)} has room for {format_bytes(room)}; make "
            f"room, or name another folder with TMPDIR",
            code="machine.disk",
        )


def _copy(system: Any, path: str, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with (
        os.fdopen(descriptor, "wb") as copy,
        system.open_input_stream(path, compression=None) as stream,
    ):
        while piece := stream.read(_PIECE):
            copy.write(piece)


@contextmanager
def _reporting(name: str, address: str) -> Iterator[None]:
    """Convert pyarrow's errors to one line, without the service's message."""
    service = SERVICES[address.partition("://")[0].lower()]
    try:
        yield
    except RecveilError:
        raise
    except (pa.ArrowNotImplementedError, AttributeError):
        problem = (
            f"the installed pyarrow was built without {service}; install its own wheel (pip "
            f"install pyarrow), or copy the file"
        )
    except (OSError, pa.ArrowException, ValueError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise MachineError(
                f"{name}: cannot be copied ({error.strerror}); make room, or name another folder "
                f"with TMPDIR",
                code="machine.disk",
            ) from None
        problem = _why(str(error), service)
    else:
        return
    raise RecveilError(f"{name}: {problem}", code="input.remote") from None


def _why(message: str, service: str) -> str:
    # The text before this contains names chosen by the user.
    message = message.rpartition("AWS Error ")[2]
    unreachable = (
        f"{service} cannot be reached or does not answer; check the address and the network"
    )
    known = (problem for pattern, problem in _PROBLEMS.items() if re.search(pattern, message))
    return next(known, unreachable)
