"""A settings file: options of verbs, in place of typing them; read, checked, and written."""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from recveil.beside import refuse_in_release, write_beside
from recveil.cli.known_options import KnownOption, as_toml
from recveil.cli.settings_text import Known, settings_text
from recveil.devices import (
    IsTooLargeError,
    is_anothers,
    is_device,
    is_written_by_others,
    owner_name,
    read_whole,
)
from recveil.errors import RecveilError, listed, quoted, shortened

FILE = "recveil.toml"
_MOST_BYTES = 1 << 16
# Points in one line: a key of many parts takes memory by their square.
_MOST_POINTS = 100
_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]*@")
_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str, int, float),
}


def read_settings(path: Path, known: Known) -> dict[str, dict[str, Any]]:
    r"""Read the options that a file holds, and refuse all that is none.

    Parameters
    ----------
    path : Path
    known : mapping of str to iterable of KnownOption
        The options of each verb.

    Returns
    -------
    dict of str to dict
        For each verb in the file the values, by what the verb calls its parameters.

    Raises
    ------
    RecveilError
        For what is no TOML, a verb or option that there is not, a value that it cannot have, and a
        secret; the nearest name is told.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from recveil.cli.convert import convert
    >>> from recveil.cli.known_options import options_by_verb
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "recveil.toml")
    ...     _ = path.write_text('[convert]\ntarget-format = "csv"\ntimes = false\n')
    ...     read_settings(path, options_by_verb([convert]))
    {'convert': {'target_format': 'csv', 'times': False}}
    """
    found = {}
    for verb, options in _parsed(path).items():
        if not isinstance(options, dict):
            raise RecveilError(
                f"{path.name}: {quoted(verb, 40)} stands above all verbs; expected options of a "
                f"verb below a line with its name, such as [anonymize]",
                code="settings.file",
            )
        if verb not in known:
            raise RecveilError(
                f"{path.name}: [{verb}] is no verb of recveil; the nearest is "
                f"[{_nearest(verb, known)}]; mend that line",
                code="settings.file",
            )
        found[verb] = _of_verb(f"{path.name}: [{verb}]", options, known[verb])
    return found


def _of_verb(
    where: str, options: Mapping[str, Any], known: Iterable[KnownOption]
) -> dict[str, Any]:
    """Return the values of a verb's options; none stands twice, as in all of TOML."""
    names = {option.name: option for option in known}
    found: dict[str, Any] = {}
    for name, given in options.items():
        parameter, value = _checked(where, name, given, names)
        if parameter in found:
            raise RecveilError(
                f"{where} {quoted(name, 40)} stands there twice, with a hyphen and with an "
                f"underscore; take one of them out",
                code="option.conflict",
            )
        found[parameter] = value
    return found


def refuse_of_others(path: Path) -> None:
    """Refuse a settings file that nobody named and that somebody else could have written.

    It says how ratings are written, and whoever left one in a folder for several people is not who
    runs a verb there.

    Parameters
    ----------
    path : Path
        A file in the folder in which a verb runs.

    Raises
    ------
    RecveilError
        If it, or the link that leads to it, belongs to a user who is neither this one nor the
        administrator (root), or if others can write to it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "recveil.toml")
    ...     path.touch(mode=0o600)
    ...     refuse_of_others(path)
    """
    for found in (path.lstat(), path.stat()):
        if is_anothers(found):
            why = f"belongs to the user {owner_name(found)}"
        elif is_written_by_others(found):
            why = f"belongs to {owner_name(found)}, but others can write to it"
        else:
            continue
        raise RecveilError(
            f"{path} in this folder {why}; look into it, and name it with --config {path} if it is "
            f"to count, or run in another folder",
            code="settings.untrusted",
        )


def refuse_unnamed(
    path: Path, verb: str, given: Iterable[str], options: Iterable[KnownOption]
) -> None:
    r"""Refuse options that count only in a file that somebody named.

    Whoever made a folder may have put a settings file into it, and what one unpacks or clones
    belongs to oneself. So a file that is merely found says how ratings and times are written. Which
    column is what, so that nobody is published in place of items, and what is read besides, written
    or replaced, promised, attacked and judged comes from whoever types.

    Parameters
    ----------
    path : Path
        The file, which nobody named.
    verb : str
        The verb that runs.
    given : iterable of str
        What it calls the parameters that the file gives it.
    options : iterable of KnownOption
        All that it has.

    Raises
    ------
    RecveilError
        For the first options that do not count.

    Examples
    --------
    >>> from recveil.cli.known_options import options_of
    >>> from recveil.cli.verify import verify
    >>> refuse_unnamed(Path("recveil.toml"), "verify", ["links"], options_of(verify))
    >>> try:
    ...     refuse_unnamed(Path("recveil.toml"), "verify", ["claim"], options_of(verify))
    ... except RecveilError as error:
    ...     print(str(error).partition(";")[0])
    recveil.toml, found in this folder: [verify] 'claim' counts only in a file that you name
    """
    given = set(given)
    refused = [each.name for each in options if each.parameter in given and not each.counts_found]
    if refused:
        count = "counts" if len(refused) == 1 else "count"
        raise RecveilError(
            f"{path}, found in this folder: [{verb}] {listed(refused, 100)} {count} only in a file "
            f"that you name; look into it, and type --config {path} if it is yours, or take that "
            f"out of it",
            code="settings.untrusted",
        )


def _content(path: Path) -> bytes:
    """Return what a settings file holds; nothing that could be waited for is one."""
    if str(path) == os.devnull:
        return b""
    if is_device(path):
        raise RecveilError(
            f"{path.name}: a pipe or a device, where a file of options was expected",
            code="settings.file",
        )
    try:
        content = read_whole(path, _MOST_BYTES)
    except IsTooLargeError:
        raise RecveilError(
            f"{path.name}: more than {_MOST_BYTES:,} bytes, where options were expected; take out "
            f"what is none",
            code="settings.file",
        ) from None
    if any(line.count(b".") > _MOST_POINTS for line in content.splitlines()):
        raise RecveilError(
            f"{path.name}: a line of more than {_MOST_POINTS} points, where options were expected; "
            f"write each option in a line of its own, such as k = 5",
            code="settings.file",
        )
    return content


def _parsed(path: Path) -> dict[str, Any]:
    from recveil.io.files import naming  # with it comes pyarrow, which takes a moment

    with naming(path):
        content = _content(path)
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise RecveilError(
            f"{path.name}: no UTF-8 text; save it as UTF-8", code="settings.file"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise RecveilError(
            f"{path.name}: no TOML: {error}; expected lines such as k = 5 below a line "
            f"[anonymize] (recveil config writes such a file)",
            code="settings.file",
        ) from None
    except RecursionError:
        raise RecveilError(
            f"{path.name}: no options: lists stand in lists too deep", code="settings.file"
        ) from None


def _checked(
    where: str, name: str, value: Any, known: Mapping[str, KnownOption]
) -> tuple[str, Any]:
    """Return what the verb calls an option, and its value."""
    option = known.get(name) or known.get(name.replace("_", "-"))
    if option is None:
        raise RecveilError(
            f"{where} {quoted(name, 40)} is no option of it; the nearest is "
            f"{_nearest(name, known)}; mend that line, or take it out",
            code="option.unknown",
        )
    if option.is_secret:
        raise RecveilError(
            f"{where} {option.name}: a secret of whoever publishes, which no file may hold; take "
            f"that line out, and type --{option.name} if you must",
            code="settings.secret",
        )
    values = value if option.several and isinstance(value, list) else [value]
    if option.several != isinstance(value, list) or not all(_fits(each, option) for each in values):
        raise RecveilError(
            f"{where} {option.name} is {quoted(value, 40)}; expected {option.expected}; mend that "
            f"line",
            code="option.value",
        )
    if any(isinstance(each, str) and _PASSWORD.search(each) for each in values):
        raise RecveilError(
            f"{where} {option.name} holds a password, which no file of options may; keep it in the "
            f"environment, or in the service's own file",
            code="settings.secret",
        )
    return option.parameter, [
        _plain(each, option) for each in values
    ] if option.several else _plain(value, option)


def _fits(value: Any, option: KnownOption) -> bool:
    """Say whether an option can have a value; where text is typed, a number may stand, too."""
    kinds = _KINDS[option.kind]
    if not isinstance(value, kinds) or (isinstance(value, bool) and option.kind != "bool"):
        return False
    if option.choices:
        return str(value) in option.choices.split(", ")
    if isinstance(value, int | float) and not isinstance(value, bool):
        low = option.least is None or value >= option.least
        return low and (option.most is None or value <= option.most)
    return True


def _plain(value: Any, option: KnownOption) -> Any:
    return str(value) if option.kind == "str" else value


def _nearest(name: str, names: Iterable[str]) -> str:
    """Return the name that is most like another one."""
    return max(names, key=lambda each: difflib.SequenceMatcher(None, name, each).ratio())


def config(output: str | PathLike[str], known: Known, *, force: bool = False) -> list[str]:
    """Write a file of all options, with what each does; none of them is in force.

    Parameters
    ----------
    output : path
    known : mapping of str to iterable of KnownOption
        The options of each verb.
    force : bool
        Replace what stands there.

    Returns
    -------
    list of str
        The verbs in it.

    Raises
    ------
    RecveilError
        If something stands there, or it cannot be written.
    """
    path = Path(output)
    if path.exists() and not force:
        raise RecveilError(
            f"{path} exists; choose another output, or replace it with force (--force)",
            code="output.exists",
        )
    if path.is_file():
        _refuse_no_settings(path, known)
    if not path.parent.is_dir() or path.is_dir():
        raise RecveilError(
            f"{path} cannot be written; expected a file in a folder", code="output.not-writable"
        )
    refuse_in_release(path)
    text = settings_text(known)
    write_beside(path, lambda beside: beside.write_text(text, "utf-8"))
    return list(known)


def _refuse_no_settings(path: Path, known: Known) -> None:
    """Refuse to replace what is no file of options: it may be the table itself."""
    try:
        is_one = all(verb in known for verb in _parsed(path))
    except RecveilError:
        is_one = False
    if not is_one:
        raise RecveilError(
            f"{path} is no file of options, which alone is replaced by one; choose another output",
            code="output.exists",
        )


def taken_in_words(path: Path, taken: Mapping[str, Any]) -> str:
    """Say which options came from a file.

    Examples
    --------
    >>> taken_in_words(Path("recveil.toml"), {"k": 5, "layout": "users"})
    'recveil.toml gives k = 5, layout = "users"; what is typed wins'
    """
    told = ", ".join(f"{name} = {_shown(value)}" for name, value in taken.items())
    return f"{path} gives {told}; what is typed wins"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return shortened(as_toml(value))
