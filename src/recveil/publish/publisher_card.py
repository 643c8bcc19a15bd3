"""The publisher's card and the findings of audits and evaluations.

Their JSON states the SHA-256 of the release.json that was attacked or evaluated. Figures of any
other release are rejected, however similar its settings are.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import date
from os import PathLike
from pathlib import Path
from typing import Any, Self

from recveil.io.item_features import UNSHOWN
from recveil.io.source import ROLES
from recveil.release.manifest import Manifest
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import (
    RecveilError,
    first_line_of,
    listed,
    quoted,
    reason_of,
    suggest_name,
)
from recveil.runtime.number_format import percent

_MOST_BYTES = 1 << 16
_MOST_LETTERS = {"title": 200, "description": 5_000, "collection": 5_000}
_USUAL_MOST = 500
_MOST_KEYWORDS = 20
_UNSEEN = re.compile(rf"(?!\n){UNSHOWN.pattern}")
_ADDRESS = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")


@dataclass(frozen=True)
class PublisherCard:
    """Words of the publisher; each may be left out."""

    title: str = ""
    description: str = ""
    publisher: str = ""
    contact: str = ""
    licence: str = ""
    date: str = ""
    url: str = ""
    version: str = ""
    citation: str = ""
    collection: str = ""
    keywords: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        r"""Read a card."""
        file = Path(path)
        try:
            content = read_whole(file)
            if len(content) > _MOST_BYTES:
                raise RecveilError(
                    f"{file.name}: {len(content):,} bytes; expected a card of {_MOST_BYTES:,} at "
                    f"most",
                    code="settings.file",
                )
            content_of_card = tomllib.loads(content.decode())
        except (OSError, UnicodeDecodeError) as error:
            raise RecveilError(
                f"{file}: cannot be read ({reason_of(error)}); name a card, a file of TOML",
                code="settings.file",
            ) from error
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise RecveilError(
                f"{file.name}: no TOML ({first_line_of(error)}); expected lines such as "
                f'publisher = "Public Library"',
                code="settings.file",
            ) from error
        return cls(
            **{name: _checked(file.name, name, value) for name, value in content_of_card.items()}
        )


_NAMES = tuple(field.name for field in fields(PublisherCard))


def _checked(file: str, name: str, value: Any) -> Any:
    """Return one value of a card as text, or several; or raise a RecveilError."""
    where = f"{file}: {quoted(name)}"
    if name not in _NAMES:
        suggestion = suggest_name(name, _NAMES)
        raise RecveilError(
            f"{where} is not a key of a card{suggestion}; expected {listed(_NAMES, 150)}",
            code="settings.value",
        )
    if name == "keywords":
        if not isinstance(value, list) or len(value) > _MOST_KEYWORDS:
            raise RecveilError(
                f"{where}: expected a list of at most {_MOST_KEYWORDS} texts", code="settings.value"
            )
        return tuple(reject_unseen(where, each, 100) for each in value)
    if name == "date":
        return _date(where, value)
    text = reject_unseen(where, value, _MOST_LETTERS.get(name, _USUAL_MOST))
    if name == "url" and not _ADDRESS.fullmatch(text):
        raise RecveilError(
            f"{where} is {quoted(text)}; expected an address such as https://example.org/data, "
            f"without user, password or query",
            code="settings.value",
        )
    return text


def reject_unseen(where: str, value: Any, most: int, *, code: str = "settings.value") -> str:
    """Return a stripped text; raise if it is not a text or has invisible characters.

    >>> reject_unseen("card.toml", " Public Library", 500)
    'Public Library'
    """
    if not isinstance(value, str):
        raise RecveilError(
            f"{where}: expected text between quotes, got {quoted(value, 40)}", code=code
        )
    if len(value) > most:
        raise RecveilError(f"{where}: {len(value):,} letters; expected {most:,} at most", code=code)
    if found := _UNSEEN.search(value):
        raise RecveilError(
            f"{where}: holds U+{ord(found.group()):04X}, which is invisible; leave it out",
            code=code,
        )
    return value.strip()


def _date(where: str, value: Any) -> str:
    try:
        day = value if type(value) is date else date.fromisoformat(value)
    except (TypeError, ValueError):
        raise RecveilError(
            f"{where} is {quoted(value, 40)}; expected a day, as 2026-01-31", code="settings.value"
        ) from None
    return day.isoformat()


_LONGEST = 5_000
_COMMANDS = {
    "an audit": "recveil audit RATINGS --release {name} --json FILE",
    "an evaluation": "recveil evaluate --train FILE --test FILE --release {name} --json FILE",
}
_MADE_ANEW = (
    "Evaluated by another release: {share} of each user's {what} were held out, and it was "
    "made from the rest in the same way."
)
# The ledger lists all queries on the data, which is true of the release.
_UNPAID = (
    "The following figures were computed from the real users, without noise. They are not charged "
    "to the privacy budget: differential privacy covers the files of the release, but not these "
    "figures, which can depend on whether one user is in the data."
)
_JUDGED = "Evaluated by {cells:,} {what} that were held out of its input."


@dataclass(frozen=True)
class Findings:
    """Measurements and their input, one sentence each."""

    risk: tuple[str, ...] = ()
    utility: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()


def read_findings(
    manifest: Manifest,
    name: str,
    audit: Path | None,
    evaluation: Path | None,
    *,
    column_names: bool = False,
) -> Findings:
    """Read the measurements of a release."""
    is_differential = manifest.claim.about.is_differential
    unpaid = [_UNPAID] if is_differential else []
    risk, origin, utility = [], [], []
    if audit is not None:
        content = read_audit(audit, manifest, name)
        with _meaning(audit, "an audit", name):
            release = content["release"]
            linkage = release["linkage"]
            risk = [release["headline"], *release["verdict"], *release["warnings"]]
            risk = [*_of_three_risks(content, column_names=column_names), *risk]
            risk = list(dict.fromkeys(unpaid + risk))  # warnings may be a part of the verdict
            origin = _origin(content["data"], column_names=column_names)
            origin += [] if is_differential else _left_out(content["data"])
        if linkage is not None:
            raise RecveilError(
                f"{audit.name}: the audit has a second_release (--second-release), and would "
                f"disclose its name and that it exists; audit {name} alone",
                code="release.refused",
            )
    if evaluation is not None:
        content = _read(evaluation, "an evaluation", name)
        with _meaning(evaluation, "an evaluation", name):
            sha256 = content["release_sha256"]
            of_risk = (content.get("disclosure") or {}).get("verdict", [])
            notes = [note for note in content["notes"] if note not in of_risk]
            utility = [*unpaid, _ground(content, manifest), content["headline"], *notes]
        _reject_another(evaluation, "evaluation", sha256, manifest, name)
    for file, sentences in ((audit, (*risk, *origin)), (evaluation, utility)):
        for sentence in sentences:
            reject_unseen(
                file.name if file else "", sentence, most=_LONGEST, code="input.not-a-result"
            )
    return Findings(tuple(risk), tuple(utility), tuple(origin))


def read_audit(file: Path, manifest: Manifest, name: str) -> Mapping[str, Any]:
    """Read the JSON of an audit, which must be of this release and of the ratings behind it."""
    content = _read(file, "an audit", name)
    with _meaning(file, "an audit", name):
        sha256 = content["release"]["sha256"]
    _reject_another(file, "audit", sha256, manifest, name)
    reject_other_ratings(content, file.name, name)
    return content


def reject_other_ratings(audit: Mapping[str, Any], where: str, name: str) -> None:
    """Raise if the release that was attacked was not made from the ratings of the audit."""
    if audit["release"].get("same_ratings") is False:
        raise RecveilError(
            f"{where}: {name} was not made from the ratings of this audit, whose "
            f"figures do not describe it; audit the ratings that it was made from",
            code="release.mismatch",
        )


def _of_three_risks(audit: Mapping[str, Any], *, column_names: bool) -> Iterator[str]:
    """Yield the sentences of the three risks, without the names of attributes of users."""
    for risk in ("singling_out", "linkability", "inference") if "risks" in audit else ():
        line = audit["risks"][risk]
        sentence, title = line["sentence"], risk.replace("_", " ").capitalize()
        if line["name"] == "attribute by row" and not column_names:
            _, inferred, rest = sentence.rpartition(" is inferred with AUC")
            sentence = f"{title}: an attribute of users{inferred}{rest}"
        yield sentence


@contextmanager
def _meaning(file: Path, what: str, name: str) -> Iterator[None]:
    """Turn what is missing in a file, or makes no sense, into an error that names it."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecveilError(
            f"{file.name}: no result of {what} of a release ({reason_of(error)}); write one: "
            f"{_COMMANDS[what].format(name=name)}",
            code="input.unreadable" if isinstance(error, OSError) else "input.not-a-result",
        ) from error


def _read(file: Path, what: str, name: str) -> Mapping[str, Any]:
    with _meaning(file, what, name):
        content = json.loads(read_whole(file))
        if not isinstance(content, dict):
            raise TypeError("no JSON object")
    return content


def _reject_another(file: Path, what: str, sha256: Any, manifest: Manifest, name: str) -> None:
    if sha256 is None or sha256 != manifest.sha256:
        raise RecveilError(
            f"{file.name}: the {what} is of another release than {name}, by the SHA-256 of its "
            f"release.json; make one of this release",
            code="release.mismatch",
        )


def _ground(content: Mapping[str, Any], manifest: Manifest) -> str:
    """Describe the data that a release was evaluated with."""
    what = "likes" if manifest.scale.unary else "ratings"
    if content["is_remade"]:
        return _MADE_ANEW.format(share=percent(content["split"]), what=what)
    return _JUDGED.format(cells=content["test_cells"], what=what)


def _left_out(data: Mapping[str, Any]) -> list[str]:
    """Describe how many rows were left out; older audits count none without a rating."""
    counts = {
        "the rating was off the scale": int(data["off_scale_dropped"]),
        "they had no rating": int(data.get("unrated_dropped", 0)),
        "they had no user or item id": int(data.get("missing_ids_dropped", 0)),
    }
    return [
        f"Rows omitted because {why}: {dropped:,}." for why, dropped in counts.items() if dropped
    ]


def _origin(data: Mapping[str, Any], *, column_names: bool) -> list[str]:
    """Describe which columns were read; their names may be private."""
    columns = data["columns"]
    roles = [role for role in ROLES if role in columns]
    sentences = []
    if roles:
        times = "; the times are not published" if "time" in roles else ""
        named = f"{', '.join(roles[:-1])} and {roles[-1]}"
        sentences.append(f"Read from a table with columns for {named}{times}.")
    if column_names and roles:
        called = (f"{role}: {quoted(columns[role], 100)}" for role in roles)
        sentences.append(f"Its columns: {'; '.join(called)}.")
    return sentences
