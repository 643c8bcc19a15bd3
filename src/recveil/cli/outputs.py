"""Where everybody's risk goes, which is for its owner alone."""

import os
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from recveil.cli.settings_file import Settings
from recveil.runtime.devices import is_device, reject_traps
from recveil.runtime.errors import RecveilError, shortened, without_secrets
from recveil.runtime.safe_repr import brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recveil.auditing import Risk


# What a verb writes beside --json: files, and folders that are put into place whole.
FILES = {
    "audit": ("html", "risk"),
    "config": ("output",),
    "convert": ("target",),
    "describe": ("output",),
    "generate": ("output",),
}
FOLDERS = {
    "anonymize": ("output",),
    "sample": ("output",),
    "demo": ("output",),
    "compare": ("out",),
}
# What a verb is about; all other inputs stand beside it.
_MAIN = ("source", "path", "train", "test")
# Options that take a path or an address, or perhaps words instead.
_TABLES = ("source", "path", "train", "test", "aux", "privacy_levels", "catalogue", "trust")
_RELEASES = ("release", "against", "earlier_release", "path")
# What is typed without the name of an option, beside these.
_ARGUMENTS = (
    *(("convert", "target"), ("describe", "output"), ("generate", "output")),
    *(("sample", "release"), ("describe", "release"), ("config", "output")),
)
# What stands in a private folder, and can be made anew by nobody.
_WHO_IS_WHO = ("private.json", "assignment.parquet", "assignment-*.parquet", "items.parquet")


@brief
class NamedPath(NamedTuple):
    """Something that is read or written: what it is called, and where it is."""

    name: str
    path: Path
    is_whole: bool = True  # a folder that is replaced as a whole

    @property
    def told(self) -> str:
        """What to call it, for its owner."""
        return without_secrets(f"{self.name} {self.path}")

    @property
    def real(self) -> Path:
        """Where it is, or would be, behind all links."""
        return Path(os.path.realpath(self.path))

    def is_same(self, other: "NamedPath") -> bool:
        """Say whether both are one file or folder, by whatever links and dots."""
        if self.real == other.real:
            return True
        return self.path.exists() and other.path.exists() and self.path.samefile(other.path)

    def is_within(self, folder: "NamedPath") -> bool:
        """Say whether it stands in a folder, however deep."""
        return folder.real in self.real.parents


def check_outputs(verb: str, given: Mapping[str, Any]) -> None:
    """Raise an error if an output cannot be written, or would destroy something."""
    names = ("json", *FILES.get(verb, ()))
    files = [_place(verb, name, given[name]) for name in names if given.get(name) is not None]
    folders = list(_folders(verb, given))
    reject_two_standard_outputs(files)
    files = [each for each in files if not is_stdout(each.path) and each.path != Path(os.devnull)]
    inputs = list(_inputs(verb, given, {*names, *FOLDERS.get(verb, ())}))
    _reject_each_other([*files, *_unasked(verb, given)], folders)
    # Other files are replaced by force alone, so that this is what is to be said first.
    replaced = [each for each in files if each.name.startswith("--") or given.get("force")]
    _reject_inputs(replaced, folders, inputs)
    _reject_among([*files, *folders], inputs)
    for each in [*files, *folders]:
        reject_traps(each.path)
    for each in files:
        if not is_device(each.path):
            _reject_unwritable(each)


def _place(verb: str, name: str, path: Any) -> NamedPath:
    is_argument = name in ("source", "path") or (verb, name) in _ARGUMENTS
    label = "--output" if name == "out" else f"--{name.replace('_', '-')}"
    return NamedPath(name.upper() if is_argument else label, Path(path))


def _folders(verb: str, given: Mapping[str, Any]) -> Iterator[NamedPath]:
    """Yield the folders that a verb writes, and what it puts beside them."""
    for name in FOLDERS.get(verb, ()):
        if given.get(name) is None:
            continue
        folder = _place(verb, name, given[name])._replace(is_whole=verb != "compare")
        yield folder
        whole = folder.real
        if not whole.name:  # the root of all folders
            raise typer.BadParameter(f"{folder.told} has no name; expected a folder in another one")
        beside = {"anonymize": [".private"], "demo": [".private", "-drawn", "-drawn.private"]}
        for ending in beside.get(verb, []):
            yield NamedPath(
                f"{folder.name}, which also writes", whole.with_name(whole.name + ending)
            )


def _unasked(verb: str, given: Mapping[str, Any]) -> Iterator[NamedPath]:
    """Yield what an audit writes where nobody said so."""
    if verb == "audit" and given.get("release") is not None and given.get("risk") is None:
        from recveil.release.manifest import RISK, private_twin

        yield NamedPath("everybody's risk in", private_twin(given["release"]) / RISK)


def _inputs(verb: str, given: Mapping[str, Any], outputs: set[str]) -> Iterator[NamedPath]:
    from recveil.io.inputs import standard_input_file

    for name, value in given.items():
        if name in outputs:
            continue
        if is_stdout(value):
            if (isinstance(value, Path) or name in _TABLES) and (file := standard_input_file()):
                yield _place(verb, name, file)
            continue
        if isinstance(value, Settings):
            yield _place(verb, name, value.path)
        elif isinstance(value, Path):
            yield _place(verb, name, value)
        elif name in _TABLES and (file := _file_at(value)) is not None:
            yield _place(verb, name, file)


def _file_at(source: object) -> Path | None:
    """Return the file that a path or an address leads to, if it lies here."""
    if isinstance(source, str) and "://" in source:
        from recveil.io import file_at

        return file_at(source)
    return Path(source) if isinstance(source, str) else None


def _reject_each_other(files: list[NamedPath], folders: list[NamedPath]) -> None:
    """Refuse outputs at one place, and one in a folder that another one is."""
    outputs = [*folders, *files]
    for at, one in enumerate(outputs):
        for other in outputs[:at]:
            if one.is_same(other):
                raise typer.BadParameter(
                    f"{one.told} and {other.told} are one place, where each would replace the "
                    f"other; name two"
                )
    for each in files:
        for folder in folders:
            if each.is_within(folder):
                raise typer.BadParameter(
                    f"{each.told} would stand in {folder.told}, which is written by itself; name "
                    f"a file elsewhere"
                )


def _reject_inputs(
    files: list[NamedPath], folders: list[NamedPath], inputs: list[NamedPath]
) -> None:
    """Refuse an output that is an input, stands in one, or is a folder in which one stands."""
    from recveil.io.inputs import files_at, identity

    for given in inputs if files or folders else []:
        option = given.name.removeprefix("--").lower()
        what = "the input" if option in _MAIN else "an input"
        behind = files_at(given.path)
        held = {identity(file): file for file in behind}
        for each in [*files, *folders]:
            file = held.get(own) if (own := identity(each.path)) else None
            if file == given.path:
                raise typer.BadParameter(f"{each.told} is {what} itself; name another place")
            if file is not None:
                raise typer.BadParameter(
                    f"{each.told} is a file of {what} {shortened(str(given.path), 80)}; name "
                    f"another place"
                )
        for each in files:
            if given.path.is_dir() and each.is_within(given):
                within = "the release" if option in _RELEASES else what
                raise typer.BadParameter(
                    f"{each.told} would stand in {within} {given.path}; name another place"
                )
        for folder in folders:
            parts = (NamedPath(given.name, file) for file in [given.path, *behind])
            if folder.is_whole and any(part.is_within(folder) for part in parts):
                raise typer.BadParameter(
                    f"{given.told} stands in the output {folder.path}; name others"
                )


def _reject_among(outputs: list[NamedPath], inputs: list[NamedPath]) -> None:
    """Refuse what the next run would read with an input: a part of it, or a database's log."""
    from recveil.io.inputs import is_log_of, would_be_read

    for given in inputs:
        for each in outputs:
            if is_log_of(each.path, given.path):
                raise typer.BadParameter(
                    f"{each.told} is a file that a database keeps beside {given.told}, or would be "
                    f"taken for one; name another place"
                )
            if would_be_read(each.path, given.path):
                raise typer.BadParameter(
                    f"{each.told} would stand among the files of {given.told}, which the next run "
                    f"reads; name another place"
                )


def _reject_unwritable(output: NamedPath) -> None:
    """Refuse what cannot be written or must not, before the work begins and not after it."""
    from recveil.runtime.atomic_writes import reject_in_release

    path = output.path
    is_free = path.is_file() or not path.exists()
    can_be = is_free and path.parent.is_dir() and os.access(path.parent, os.W_OK)
    leads_nowhere = output.real.is_symlink()  # a link to itself
    if leads_nowhere or (output.name.startswith("--") and not can_be):
        raise typer.BadParameter(f"{output.told} cannot be written; expected a file in a folder")
    reject_in_release(path)
    whole = output.real
    is_own = any(fnmatch(whole.name, name) for name in _WHO_IS_WHO)
    if is_own and (whole.parent / _WHO_IS_WHO[0]).exists():
        raise typer.BadParameter(
            f"{output.told} would replace what tells who is who in a release; name another file"
        )


def is_stdout(path: object) -> bool:
    """Say whether an output is to go to standard output."""
    return str(path) == "-"


def reject_two_standard_outputs(outputs: list[NamedPath]) -> None:
    """Refuse to mix two outputs on standard output."""
    both = [each.name for each in outputs if is_stdout(each.path)]
    if len(both) > 1:
        raise typer.BadParameter(
            f"{' and '.join(both)} would both go to standard output (-); name a file for one"
        )


def place_of_risk(risk: Path | None, release: Path | None) -> Path | None:
    """Return where the risk goes: where somebody said, or into the private twin of a release.

    Nowhere, if nobody said, and there is no such twin, as of people drawn from a model.
    """
    if risk is not None or release is None:
        return risk
    from recveil.release.manifest import RISK, private_twin

    twin = private_twin(release)
    if (twin / RISK).is_symlink():
        raise RecveilError(
            f"{twin / RISK} is a link, and nobody named it as an output; remove it, or name a file "
            f"for everybody's risk (--risk FILE)",
            code="output.not-writable",
        )
    return twin / RISK if twin.is_dir() and os.access(twin, os.W_OK) else None


def write_risk_file(users: "NDArray[Any]", risk: "Risk", path: Path) -> None:
    """Write who is found how often to a file of its owner alone, or to standard output."""
    from recveil.auditing.risk import risk_table, write_risk

    if is_stdout(path):
        sys.stdout.write(risk_table(users, risk))
    else:
        write_risk(users, risk, path)
