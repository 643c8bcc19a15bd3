"""Known options: all that each verb takes, as its signature declares them."""

import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from typer.models import OptionInfo

from recveil.cli.declare import Verb

# What whoever publishes keeps to themselves: it stands in no file that is passed on.
_SECRETS = {("anonymize", "seed")}
# Options that say how ratings and times are written, for verbs that read a table, and others that
# change no number, as (verb, parameter). These alone count in a file that nobody named: whoever
# made the folder may have put it there. The rest says what is read and replaced, promised, attacked
# or judged, or leads to who is who: a table read across hides its items, and publishes its people.
_OF_WRITING = {"scale", "time_format", "decimal", "order"}
_READING = {"inspect", "audit", "anonymize", "evaluate", "compare", "selftest", "convert"}
_HARMLESS = {
    *(("inspect", "rows"), ("audit", "curves"), ("verify", "links")),
    *(("anonymize", "file_format"), ("sample", "file_format"), ("convert", "target_format")),
    ("convert", "times"),
}
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


class KnownOption(NamedTuple):
    """An option of a verb.

    Attributes
    ----------
    name : str
        How it is typed, without the two hyphens.
    parameter : str
        What the verb calls it.
    kind : {"bool", "int", "float", "str"}
        Paths are texts.
    choices : str
        All that it can be, with commas between, if that is known; else empty.
    several : bool
        Whether it can be given more than once.
    default : str
        What it is if nobody says, as it stands in a file of settings; empty if that is nothing.
    least, most : float or None
        Of a number.
    help, metavar : str
    is_secret : bool
        Whether no file may hold it.
    counts_found : bool
        Whether it counts in a file that stands in the folder, and that nobody named.
    """

    name: str
    parameter: str
    kind: str
    choices: str
    several: bool
    default: str
    least: float | None
    most: float | None
    help: str
    metavar: str
    is_secret: bool
    counts_found: bool

    @property
    def expected(self) -> str:
        """What it takes, in words.

        Examples
        --------
        >>> from recveil.cli.convert import convert
        >>> [(option.name, option.expected) for option in options_of(convert)][:2]
        [('target-format', 'a text'), ('times', 'true or false')]
        """
        if self.choices:
            return f"one of {self.choices}"
        word = _WORDS[{"bool": bool, "int": int, "float": float}.get(self.kind, str)]
        ends = "" if self.least is None else f" of at least {self.least:g}"
        ends += "" if self.most is None else f"{' and' if ends else ' of'} at most {self.most:g}"
        return f"{word}{ends}" if not self.several else f"a list, each of it {word}"


def options_of(verb: Verb) -> list[KnownOption]:
    """Return the options of a verb, in the order of its help."""
    return list(_options(verb))


def options_by_verb(verbs: Iterable[Verb]) -> dict[str, list[KnownOption]]:
    """Return the options of some verbs, by the verbs' names."""
    return {verb.__name__: options_of(verb) for verb in verbs}


def _options(verb: Verb) -> Iterator[KnownOption]:
    for parameter in inspect.signature(verb).parameters.values():
        if get_origin(parameter.annotation) is not Annotated:
            continue
        annotation, *told = get_args(parameter.annotation)
        for info in (each for each in told if isinstance(each, OptionInfo)):
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
                is_secret=(verb.__name__, parameter.name) in _SECRETS,
                counts_found=_counts_found(verb.__name__, parameter.name),
            )


def _counts_found(verb: str, parameter: str) -> bool:
    says_how = verb in _READING and parameter in _OF_WRITING
    return says_how or (verb, parameter) in _HARMLESS


def _declared(info: OptionInfo) -> list[str]:
    """Return how an option is typed, as its declaration says; the first stands for its default."""
    first = [info.default] if isinstance(info.default, str) else []
    return [name for name in (*first, *(info.param_decls or ())) if name.startswith("-")]


def _name(parameter: str, declared: Iterable[str]) -> str:
    """Return the long name of an option; of a switch, the one that turns it on."""
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
    """Write a value as TOML; nothing for none.

    Examples
    --------
    >>> as_toml(True), as_toml(0.2), as_toml(Path("out")), as_toml(None)
    ('true', '0.2', '"out"', '')
    """
    if value is None or value is inspect.Parameter.empty:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else _text(str(value))


def _text(text: str) -> str:
    r"""Write a text as TOML.

    Examples
    --------
    >>> print(_text('a "b" \\ \x1b'))
    "a \"b\" \\ \u001b"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    plain = (each if each.isprintable() else f"\\u{ord(each):04x}" for each in escaped)
    return f'"{"".join(plain)}"'
