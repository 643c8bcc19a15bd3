"""The text of a settings file: all options of all verbs, with their help, none in force."""

import textwrap
from collections.abc import Iterable, Mapping

from recveil.cli.known_options import KnownOption

_HEAD = """\
# Options of recveil's verbs, in place of typing them. What is typed wins.
# recveil takes this file where it is called recveil.toml and stands in the
# folder in which a verb runs, or is named with --config; each run says which
# options it took from here. Options marked "With --config alone" are refused
# in a file that nobody named.
# Take the # away before what you need. What several verbs take alike is told
# below the first of them, and named below the others: copy its line to each
# verb that is to take it.
# No secret belongs in here.
"""
_WIDTH = 80

Known = Mapping[str, Iterable[KnownOption]]


def settings_text(known: Known) -> str:
    """Return such a file as text.

    Examples
    --------
    >>> from recveil.cli.convert import convert
    >>> from recveil.cli.known_options import options_by_verb
    >>> print(settings_text(options_by_verb([convert])).splitlines()[10])
    [convert]
    """
    parts: list[str] = [_HEAD]
    first: dict[str, str] = {}  # the verb below which something is told
    for verb, options in known.items():
        own, alike = [], dict[str, list[str]]()
        for option in (each for each in options if not each.is_secret):
            told = _told(option)
            if first.setdefault(told, verb) == verb:
                own.append(told)
            else:
                alike.setdefault(first[told], []).append(option.name)
        own += [_commented(f"As in [{one}]: {', '.join(names)}.") for one, names in alike.items()]
        parts.append(f"[{verb}]\n" + "\n\n".join(own) + "\n")
    return "\n".join(parts)


def _commented(text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH - len("# "), break_on_hyphens=False)
    return "\n".join(f"# {line}" for line in lines)


def _told(option: KnownOption) -> str:
    """Return an option's help and its line, which is not in force."""
    alone = "" if option.counts_found else " With --config alone."
    if option.default:
        line = f"# {option.name} = {option.default}"
        line += f"  # {option.expected}" if option.choices else ""
    else:
        about = f": {option.metavar}" if option.metavar else ""
        line = f"# {option.name} = ...  # {option.expected}{about}"
    return f"{_commented(option.help + alone)}\n{line}"
