"""Settings files: options of verbs that are not typed."""

import difflib
import inspect
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import typer
from typer.models import OptionInfo

from recveil.cli.options import RENAMED, rename_values
from recveil.report.terminal import echo
from recveil.runtime.atomic_writes import reject_in_release, write_atomically
from recveil.runtime.devices import (
    IsTooLargeError,
    is_anothers,
    is_device,
    is_written_by_others,
    owner_name,
    read_whole,
)
from recveil.runtime.errors import RecveilError, listed, printable, quoted, shortened
from recveil.runtime.safe_repr import brief

# Secrets of the publisher, which no settings file may contain.
_SECRETS = {("anonymize", "seed"), ("forget", "user")}
# Options of how ratings and times are written, for verbs that read a table, and options that change
# no number, as (verb, parameter). These alone count in a file that was not named, which may come
# with the folder. All others change what is read, replaced, claimed, attacked or evaluated:
# exchanged columns, for example, would publish user ids as items.
_NOTATION = {"scale", "time_format", "decimal", "order"}
_READING = {
    *("inspect", "audit", "audit-lists", "anonymize", "evaluate", "compare", "selftest"),
    *("convert", "budget", "forget", "report"),
}
_HARMLESS = {
    *(("inspect", "rows"), ("audit", "curves"), ("verify", "links")),
    *(("anonymize", "file_format"), ("sample", "file_format"), ("convert", "target_format")),
    ("convert", "times"),
}
_WORDS = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "a text"}


class KnownOption(NamedTuple):
    """An option of a verb."""

    # The option without the two hyphens
    name: str
    # The parameter of the verb
    parameter: str
    # Of bool, int, float and str; paths are str
    kind: str
    # All choices, separated by commas; empty if unknown
    choices: str
    # Whether it may be repeated
    several: bool
    # The default as TOML; empty for none
    default: str
    # Limits of a number
    least: float | None
    most: float | None
    help: str
    metavar: str
    # Whether no file may contain it
    is_secret: bool
    # Whether it counts in a file that was not named
    counts_unnamed: bool

    @property
    def expected(self) -> str:
        """A description of its values.

        >>> from recveil.cli.entry import known_options
        >>> [(option.name, option.expected) for option in known_options()["convert"]][1:3]
        [('item-table', 'a text'), ('split', 'a number')]
        """
        if self.choices:
            return f"one of {self.choices}"
        word = _WORDS[self.kind]
        ends = "" if self.least is None else f" of at least {self.least:g}"
        ends += "" if self.most is None else f"{' and' if ends else ' of'} at most {self.most:g}"
        return f"{word}{ends}" if not self.several else f"a list, each of it {word}"


def options_of(verb: str, signature: inspect.Signature) -> Iterator[KnownOption]:
    """Yield the options of a verb, in the order of its help."""
    for parameter in signature.parameters.values():
        if get_origin(parameter.annotation) is not Annotated:
            continue
        annotation, *metadata = get_args(parameter.annotation)
        for info in (each for each in metadata if isinstance(each, OptionInfo)):
            kind, choices, several = _kind(annotation)
            yield KnownOption(
                name=_name(parameter.name, _declared(info)),
                parameter=parameter.name,
                kind=kind,
                choices=", ".join(choices),
                several=several,
                default=as_toml(parameter.default),
                least=info.min,
                most=info.max,
                help=" ".join((info.help or "").split()),
                metavar=info.metavar or "",
                is_secret=(verb, parameter.name) in _SECRETS,
                counts_unnamed=_counts_unnamed(verb, parameter.name),
            )


def _counts_unnamed(verb: str, parameter: str) -> bool:
    return (verb in _READING and parameter in _NOTATION) or (verb, parameter) in _HARMLESS


def _declared(info: OptionInfo) -> list[str]:
    first = [info.default] if isinstance(info.default, str) else []
    return [name for name in (*first, *(info.param_decls or ())) if name.startswith("-")]


def _name(parameter: str, declared: Iterable[str]) -> str:
    """Return the long name of an option; for a switch, the one that turns it on."""
    long = [name for name in declared if name.startswith("--")]
    return long[0].partition("/")[0][2:] if long else parameter.replace("_", "-")


def _kind(annotation: Any) -> tuple[str, tuple[str, ...], bool]:
    """Return the kind of an option's values, those that are allowed, and whether it is a list."""
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = [each for each in get_args(annotation) if each is not type(None)]
    if get_origin(annotation) is list:
        kind, choices, _ = _kind(get_args(annotation)[0])
        return kind, choices, True
    if get_origin(annotation) is Literal:
        return "str", tuple(map(str, get_args(annotation))), False
    return {bool: "bool", int: "int", float: "float", Path: "str"}.get(annotation, "str"), (), False


def as_toml(value: Any) -> str:
    """Format a value as TOML; None becomes an empty text.

    >>> as_toml(True), as_toml(0.2), as_toml(Path("out")), as_toml(None)
    ('true', '0.2', '"out"', '')
    """
    if value is None or value is inspect.Parameter.empty:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else _text(str(value))


def _text(text: str) -> str:
    r"""Format a text as TOML.

    >>> print(_text('a "b" \\ \x1b'))
    "a \"b\" \\ \u001b"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    plain = (each if each.isprintable() else f"\\u{ord(each):04x}" for each in escaped)
    return f'"{"".join(plain)}"'


_HEAD = """\
# Options of recveil's verbs. Typed options take precedence.
# recveil reads this file if it is named recveil.toml and is in the current
# folder, or is named with --config; each run reports which options it used.
# Options marked "With --config alone" are rejected in a file that was not
# named.
# Remove the # from what you need. An option of several verbs is described
# below the first of them, and listed below the others: copy its line to each
# verb that needs it.
# Do not put secrets here.
"""
_WIDTH = 80

Known = Mapping[str, Iterable[KnownOption]]


def settings_text(known: Known) -> str:
    """Return the content of a settings file with all options as comments."""
    parts: list[str] = [_HEAD]
    first: dict[str, str] = {}  # the verb below which an option is described
    for verb, options in known.items():
        own, shared = [], dict[str, list[str]]()
        for option in (each for each in options if not each.is_secret):
            text = _described(option)
            if first.setdefault(text, verb) == verb:
                own.append(text)
            else:
                shared.setdefault(first[text], []).append(option.name)
        own += [_commented(f"As in [{one}]: {', '.join(names)}.") for one, names in shared.items()]
        parts.append(f"[{verb}]\n" + "\n\n".join(own) + "\n")
    return "\n".join(parts)


def _commented(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH - len("# "), break_on_hyphens=False)
    return "\n".join(f"# {line}" for line in lines)


def _described(option: KnownOption) -> str:
    """Return an option's help and its line, commented out."""
    alone = "" if option.counts_unnamed else " With --config alone."
    if option.default:
        line = f"# {option.name} = {option.default}"
        line += f"  # {option.expected}" if option.choices else ""
    else:
        about = f"{option.expected}: {option.metavar}" if option.metavar else option.expected
        # Words to choose from need no more.
        about = option.metavar if "|" in (option.metavar or "") else about
        line = f"# {option.name} = ...  # {about}"
    return f"{_commented(option.help + alone)}\n{line}"


FILE = "recveil.toml"
_MOST_BYTES = 1 << 16
# Dots in one line: memory grows with the square of a key's parts.
_MOST_POINTS = 100
_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]*@")
_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str, int, float),
}


def read_settings(path: Path, known: Known) -> dict[str, dict[str, object]]:
    r"""Read the options of a file; raise for anything else."""
    found = {}
    for verb, options in _parsed(path).items():
        if not isinstance(options, dict):
            raise RecveilError(
                f"{path.name}: {quoted(verb, 40)} is above all verbs; expected options of a verb "
                f"below a line with its name, such as [anonymize]",
                code="settings.file",
            )
        if verb not in known:
            raise RecveilError(
                f"{path.name}: [{verb}] is no verb of recveil; the nearest is "
                f"[{_nearest(verb, known)}]; correct that line",
                code="settings.file",
            )
        found[verb] = _of_verb(verb, f"{path.name}: [{verb}]", options, known[verb])
    return found


def _of_verb(
    verb: str, where: str, options: Mapping[str, Any], known: Iterable[KnownOption]
) -> dict[str, object]:
    """Return the values of a verb's options; each may be given once."""
    names = {option.name: option for option in known}
    found: dict[str, object] = {}
    for name, raw in options.items():
        parameter, value = _checked(verb, where, name, raw, names)
        if parameter in found:
            raise RecveilError(
                f"{where} {quoted(name, 40)} is given twice, by two spellings; remove one of them",
                code="option.conflict",
            )
        found[parameter] = value
    return found


def reject_options_of_others(path: Path) -> None:
    """Reject a settings file that was not named and that another user could have written."""
    for found in (path.lstat(), path.stat()):
        if is_anothers(found):
            why = f"belongs to the user {owner_name(found)}"
        elif is_written_by_others(found):
            why = f"belongs to {owner_name(found)}, but others can write to it"
        else:
            continue
        raise RecveilError(
            f"{path} in this folder {why}; check it, and name it with --config {path} to use it, "
            f"or run in another folder",
            code="settings.untrusted",
        )


def reject_unnamed(
    path: Path, verb: str, given: Iterable[str], options: Iterable[KnownOption]
) -> None:
    r"""Reject options that count only in a named file.

    A settings file may come with a folder that was unpacked or cloned. So a file that was not named
    may only define how ratings and times are written.
    """
    given = set(given)
    rejected = [
        each.name for each in options if each.parameter in given and not each.counts_unnamed
    ]
    if rejected:
        count = "counts" if len(rejected) == 1 else "count"
        raise RecveilError(
            f"{path}, found in this folder: [{verb}] {listed(rejected, 100)} {count} only in a "
            f"file that you name; check it, and type --config {path} if it is yours, or remove "
            f"that",
            code="settings.untrusted",
        )


def _content(path: Path) -> bytes:
    """Return the content of a settings file, which cannot be a pipe or a device."""
    if str(path) == os.devnull:
        return b""
    if is_device(path):
        raise RecveilError(
            f"{path.name}: expected a settings file, got a pipe or a device; name a file",
            code="settings.file",
        )
    try:
        content = read_whole(path, _MOST_BYTES)
    except IsTooLargeError:
        raise RecveilError(
            f"{path.name}: expected a settings file of at most {_MOST_BYTES:,} bytes; remove what "
            f"is no option",
            code="settings.file",
        ) from None
    if any(line.count(b".") > _MOST_POINTS for line in content.splitlines()):
        raise RecveilError(
            f"{path.name}: a line with more than {_MOST_POINTS} dots; expected each option in its "
            f"own line, such as k = 5",
            code="settings.file",
        )
    return content


def _parsed(path: Path) -> dict[str, object]:
    from recveil.io.files import naming  # imports pyarrow, which takes a moment

    with naming(path):
        content = _content(path)
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise RecveilError(
            f"{path.name}: expected UTF-8 text; save it as UTF-8", code="settings.file"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise RecveilError(
            f"{path.name}: invalid TOML: {error}; expected lines such as k = 5 below a line "
            f"[anonymize] (recveil config writes such a file)",
            code="settings.file",
        ) from None
    except RecursionError:
        raise RecveilError(
            f"{path.name}: lists are nested too deeply; expected options such as k = 5",
            code="settings.file",
        ) from None


def _checked(
    verb: str, where: str, name: str, value: Any, known: Mapping[str, KnownOption]
) -> tuple[str, Any]:
    """Return the parameter of an option, and its value."""
    option = known.get(name) or known.get(name.replace("_", "-"))
    if option is None and (new := RENAMED.get(verb, {}).get(name.replace("_", "-"))):
        option = known[new]
        echo(f"{where} {name} is now {new}", err=True)
    if option is None:
        raise RecveilError(
            f"{where} {quoted(name, 40)} is not an option of it; the nearest is "
            f"{_nearest(name, known)}; correct that line, or remove it",
            code="option.unknown",
        )
    if isinstance(value, str):
        value = rename_values(verb, option.name, value)
    if option.is_secret:
        raise RecveilError(
            f"{where} {option.name} is a secret of the publisher, which no file may contain; "
            f"remove that line, and type --{option.name} if needed",
            code="settings.secret",
        )
    values = value if option.several and isinstance(value, list) else [value]
    if option.several != isinstance(value, list) or not all(_fits(each, option) for each in values):
        raise RecveilError(
            f"{where} {option.name} is {quoted(value, 40)}; expected {option.expected}; correct "
            f"that line",
            code="option.value",
        )
    if any(isinstance(each, str) and _PASSWORD.search(each) for each in values):
        raise RecveilError(
            f"{where} {option.name} contains a password, which no settings file may; keep it in "
            f"the environment, or in the service's own file",
            code="settings.secret",
        )
    return option.parameter, [
        _plain(each, option) for each in values
    ] if option.several else _plain(value, option)


def _fits(value: Any, option: KnownOption) -> bool:
    """Return whether an option accepts a value; text options accept numbers, too."""
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
    return max(names, key=lambda each: difflib.SequenceMatcher(None, name, each).ratio())


def config(output: str | PathLike[str], known: Known, *, force: bool = False) -> list[str]:
    """Write a settings file with all options and their help, commented out."""
    path = Path(output)
    if path.exists() and not force:
        raise RecveilError(
            f"{path} exists; choose another output, or replace it with force (--force)",
            code="output.exists",
        )
    if path.is_file():
        _require_settings(path, known)
    if not path.parent.is_dir() or path.is_dir():
        raise RecveilError(
            f"{path} cannot be written; expected a file in a folder", code="output.not-writable"
        )
    reject_in_release(path)
    text = settings_text(known)
    write_atomically(path, lambda staged: staged.write_text(text, "utf-8"))
    return list(known)


def _require_settings(path: Path, known: Known) -> None:
    """Reject replacing what is not a settings file: it may be the table itself."""
    try:
        is_settings = all(verb in known for verb in _parsed(path))
    except RecveilError:
        is_settings = False
    if not is_settings:
        raise RecveilError(
            f"{path} is not a settings file, and is not replaced by one; choose another output",
            code="output.exists",
        )


def describe_used(path: Path, taken: Mapping[str, Any]) -> str:
    """Describe which options came from a file.

    >>> describe_used(Path("recveil.toml"), {"k": 5, "layout": "users"})
    'recveil.toml sets k = 5, layout = "users"; typed options take precedence'
    """
    used = ", ".join(f"{name} = {_shown(value)}" for name, value in taken.items())
    return f"{path} sets {used}; typed options take precedence"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return shortened(as_toml(value))


# Mutually exclusive options; the typed one wins.
_ONE_OF = (("scale", "order", "words", "likes", "counts"), ("query", "table"))


@brief
class Settings(NamedTuple):
    """The options of a verb in a settings file."""

    path: Path
    # By parameter name
    values: dict[str, object]
    # Option name by parameter name
    names: dict[str, str]
    # Knows which options were typed
    context: typer.Context

    def report(self) -> None:
        """Report on standard error which options of this run came from the file."""
        taken = {
            self.names[parameter]: value
            for parameter, value in self.values.items()
            if _came_from_file(self.context, parameter) and parameter not in self.beaten()
        }
        if taken:
            echo(printable(f"{describe_used(self.path, taken)}."), err=True)

    def beaten(self) -> set[str]:
        """Return parameters that do not count, since an exclusive one was typed."""
        return {
            parameter
            for kind in _ONE_OF
            if any(_source(self.context, each) == "COMMANDLINE" for each in kind)
            for parameter in kind
            if _came_from_file(self.context, parameter)
        }


def _came_from_file(context: typer.Context, parameter: str) -> bool:
    return _source(context, parameter) == "DEFAULT_MAP"


def _source(context: typer.Context, parameter: str) -> str:
    """Return the name of the source of a parameter's value; empty if it has none."""
    source: Any = context.get_parameter_source(parameter)
    return "" if source is None else str(source.name)


def config_option(verb: str, known: Callable[[], Known]) -> Any:
    """Return the annotation of --config, which reads options that are not typed from a file."""

    def read(context: typer.Context, named: str | None) -> Settings | None:
        """Set the file's values as defaults; this runs before other options are read."""
        if context.resilient_parsing:  # for shell completion
            return None
        path = Path(FILE if named is None else named)
        if named is None:
            if not path.is_file():
                return None
            reject_options_of_others(path)
        options = known()
        values = read_settings(path, options).get(verb, {})
        if named is None:
            reject_unnamed(path, verb, values, options[verb])
        context.default_map = {**values}
        names = {option.parameter: option.name for option in options[verb]}
        return Settings(path, values, names, context)

    option = typer.Option(
        "--config",
        metavar="FILE",
        is_eager=True,
        callback=read,
        help=f"A settings file with values for options that are not typed (recveil config writes "
        f"one). By default, {FILE} in the current folder is read for the scale, decimal mark and "
        f"time format alone.",
    )
    # Text, though it names a file: typer would make a path of what the callback returns, too.
    return Annotated[str | None, option]
