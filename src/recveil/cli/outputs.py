"""Outputs: checks of their paths before the work begins, and JSON."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import typer

from recveil.cli.settings_file import Settings
from recveil.runtime.devices import is_device, reject_traps
from recveil.runtime.errors import shortened, without_secrets
from recveil.runtime.safe_repr import brief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recveil.auditing import Risk


# Outputs of each verb in addition to --json: files, and folders that are replaced as a whole.
FILES = {
    "audit": ("html", "risk", "matches_output"),
    "audit-lists": ("html", "risk"),
    "config": ("output",),
    "convert": ("target",),
    "describe": ("output",),
    "forget": ("output", "log"),
    "generate": ("output",),
    "report": ("output",),
}
FOLDERS = {
    "anonymize": ("output",),
    "sample": ("output",),
    "demo": ("output",),
    "compare": ("output",),
}
# The main inputs; all others are secondary.
_MAIN = ("source", "path", "train", "test")
# Options that take a path or an address, or possibly other text.
_TABLES = (
    *(
        "source",
        "path",
        "train",
        "test",
        "auxiliary",
        "item_catalog",
        "item_features",
        "privacy_levels",
        "trust",
    ),
    *("lists", "nonmembers", "similar_before", "similar_after"),
    *("sensitive", "users", "item_titles", "auxiliary_titles", "item_matches", "ledger"),
    "ratings",
)
_RELEASES = ("release", "second_release", "earlier_release", "previous", "against", "path")
# Further positional arguments.
_ARGUMENTS = (
    *(("convert", "target"), ("describe", "output"), ("generate", "output")),
    *(("sample", "release"), ("describe", "release"), ("config", "output")),
    *(("forget", "release"), ("report", "release"), ("report", "output")),
)
# Files of a private folder, which cannot be recreated.
_PRIVATE_FILES = (
    *("private.json", "assignment.parquet", "assignment-*.parquet", "items.parquet"),
    *("protected.parquet", "erasures.jsonl"),
)


@brief
class NamedPath(NamedTuple):
    """An input or output with the name of its option."""

    name: str
    path: Path
    is_whole: bool = True  # whether a folder is replaced as a whole

    @property
    def label(self) -> str:
        """The option and the path, without passwords."""
        return without_secrets(f"{self.name} {self.path}")

    @property
    def real(self) -> Path:
        """The path with all links resolved."""
        return Path(os.path.realpath(self.path))

    def is_same(self, other: "NamedPath") -> bool:
        """Return whether both are the same file or folder."""
        if self.real == other.real:
            return True
        return self.path.exists() and other.path.exists() and self.path.samefile(other.path)

    def is_within(self, folder: "NamedPath") -> bool:
        """Return whether it is inside a folder, at any depth."""
        return folder.real in self.real.parents


def check_outputs(verb: str, given: Mapping[str, Any]) -> None:
    """Raise an error if an output cannot be written, or would destroy something."""
    names = ("json", *FILES.get(verb, ()))
    files = [_place(verb, name, given[name]) for name in names if given.get(name) is not None]
    folders = list(_folders(verb, given))
    reject_two_standard_outputs(files)
    files = [each for each in files if not is_stdout(each.path) and each.path != Path(os.devnull)]
    inputs = list(_inputs(verb, given, {*names, *FOLDERS.get(verb, ())}))
    _reject_each_other(files, folders)
    # Other files are replaced only with --force, whose error comes first.
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
    label = f"--{name.replace('_', '-')}"
    return NamedPath(name.upper() if is_argument else label, Path(path))


def _folders(verb: str, given: Mapping[str, Any]) -> Iterator[NamedPath]:
    """Yield the folders that a verb writes, and those next to them."""
    for name in FOLDERS.get(verb, ()):
        if given.get(name) is None:
            continue
        folder = _place(verb, name, given[name])._replace(is_whole=verb != "compare")
        yield folder
        whole = folder.real
        if not whole.name:  # the root directory
            raise typer.BadParameter(
                f"{folder.label} has no name; expected a folder in another one"
            )
        siblings = {
            "anonymize": [".private"],
            "demo": [".private", "-synthetic", "-synthetic.private"],
        }
        for suffix in siblings.get(verb, []):
            yield NamedPath(
                f"{folder.name}, which also writes", whole.with_name(whole.name + suffix)
            )


def _inputs(verb: str, given: Mapping[str, Any], outputs: set[str]) -> Iterator[NamedPath]:
    from recveil.io.inputs import standard_input_file

    each_of = ((name, value if type(value) is list else [value]) for name, value in given.items())
    for name, value in ((name, value) for name, values in each_of for value in values):
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
    if isinstance(source, str) and "://" in source:
        from recveil.io import file_at

        return file_at(source)
    return Path(source) if isinstance(source, str) else None


def _reject_each_other(files: list[NamedPath], folders: list[NamedPath]) -> None:
    """Reject outputs at the same path, and outputs inside another output."""
    outputs = [*folders, *files]
    for at, one in enumerate(outputs):
        for other in outputs[:at]:
            if one.is_same(other):
                raise typer.BadParameter(
                    f"{one.label} and {other.label} are the same path; name two different ones"
                )
    for each in files:
        for folder in folders:
            if each.is_within(folder):
                raise typer.BadParameter(
                    f"{each.label} would be inside {folder.label}, which is replaced as a whole; "
                    f"name a file elsewhere"
                )


def _reject_inputs(
    files: list[NamedPath], folders: list[NamedPath], inputs: list[NamedPath]
) -> None:
    """Reject an output that is an input, is inside one, or contains one."""
    from recveil.io.inputs import files_at, identity

    for given in inputs if files or folders else []:
        option = given.name.removeprefix("--").lower()
        what = "the input" if option in _MAIN else "an input"
        files_of_input = files_at(given.path)
        known = {identity(file): file for file in files_of_input}
        for each in [*files, *folders]:
            file = known.get(own) if (own := identity(each.path)) else None
            if file == given.path:
                raise typer.BadParameter(f"{each.label} is {what} itself; name another path")
            if file is not None:
                raise typer.BadParameter(
                    f"{each.label} is a file of {what} {shortened(str(given.path), 80)}; name "
                    f"another path"
                )
        for each in files:
            if given.path.is_dir() and each.is_within(given):
                within = "the release" if option in _RELEASES else what
                raise typer.BadParameter(
                    f"{each.label} would be inside {within} {given.path}; name another path"
                )
        for folder in folders:
            parts = (NamedPath(given.name, file) for file in [given.path, *files_of_input])
            if folder.is_whole and any(part.is_within(folder) for part in parts):
                raise typer.BadParameter(
                    f"{given.label} is inside the output {folder.path}; name another output"
                )


def _reject_among(outputs: list[NamedPath], inputs: list[NamedPath]) -> None:
    """Reject what the next run would read with an input: a part of it, or a database's log."""
    from recveil.io.inputs import is_log_of, would_be_read

    for given in inputs:
        for each in outputs:
            if is_log_of(each.path, given.path):
                raise typer.BadParameter(
                    f"{each.label} is a file that a database keeps next to {given.label}, or has "
                    f"the name of one; name another path"
                )
            if would_be_read(each.path, given.path):
                raise typer.BadParameter(
                    f"{each.label} would be among the files of {given.label}, which the next run "
                    f"reads; name another path"
                )


def _reject_unwritable(output: NamedPath) -> None:
    """Reject what cannot or must not be written, before the work begins."""
    from recveil.runtime.atomic_writes import reject_in_release

    path = output.path
    is_free = path.is_file() or not path.exists()
    is_writable = is_free and path.parent.is_dir() and os.access(path.parent, os.W_OK)
    is_circular = output.real.is_symlink()  # a link to itself
    if is_circular or (output.name.startswith("--") and not is_writable):
        raise typer.BadParameter(f"{output.label} cannot be written; expected a file in a folder")
    reject_in_release(path)
    whole = output.real
    is_private = any(fnmatch(whole.name, name) for name in _PRIVATE_FILES)
    if is_private and (whole.parent / _PRIVATE_FILES[0]).exists():
        raise typer.BadParameter(
            f"{output.label} would replace a private file of a release; name another file"
        )


def is_stdout(path: object) -> bool:
    """Return whether an output goes to standard output."""
    return str(path) == "-"


def reject_two_standard_outputs(outputs: list[NamedPath]) -> None:
    """Reject two outputs on standard output."""
    on_stdout = [each.name for each in outputs if is_stdout(each.path)]
    if len(on_stdout) > 1:
        raise typer.BadParameter(
            f"{' and '.join(on_stdout)} would both go to standard output (-); name a file for one"
        )


def write_risk_file(users: "NDArray[Any]", risk: "Risk", path: Path) -> None:
    """Write the risk of each user to a file with owner-only access, or to standard output."""
    from recveil.auditing.risk import risk_table, write_risk

    if is_stdout(path):
        sys.stdout.write(risk_table(users, risk))
    else:
        write_risk(users, risk, path)


# Of all JSON results; it changes when a key changes its name or meaning.
SCHEMA_VERSION = 2


def write_json(result: Mapping[str, object], target: Path | None) -> bool:
    """Write JSON, readable for its creator alone, or to "-"; return whether text may follow."""
    if target is None:
        return True
    from recveil.runtime.atomic_writes import write_atomically
    from recveil.runtime.devices import write_to_device

    # Bytes that are not Unicode become \udcff, as in the name of a file that is not UTF-8.
    is_ascii = is_stdout(target) and not _takes_unicode(sys.stdout)
    document = {"schema_version": SCHEMA_VERSION, **result}
    text = json.dumps(document, indent=2, ensure_ascii=is_ascii)
    text = text.encode("utf-8", "backslashreplace").decode() + "\n"
    if is_stdout(target):
        from recveil.io.pipes import reject_closed

        reject_closed("stdout")
        print(text, end="")
        return False
    if is_device(target):
        write_to_device(target, text)
    else:  # a full disk leaves the old file
        write_atomically(target, lambda staged: staged.write_text(text, "utf-8", "replace"))
    return True


def _takes_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
