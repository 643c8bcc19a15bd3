"""Findings: what an audit and an evaluation found of a release, for whoever describes it.

Their JSON is the publisher's own, and bears the SHA-256 of the release.json that was attacked, or
judged: figures of another release are refused, however alike its settings are.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recveil.devices import read_whole
from recveil.errors import RecveilError, quoted, reason_of
from recveil.publish.publisher_card import refuse_unseen
from recveil.release.manifest import Manifest

_LONGEST = 5_000
_ROLES = ("user", "item", "rating", "time")
_COMMANDS = {
    "an audit": "recveil audit RATINGS --release {name} --json FILE",
    "an evaluation": "recveil evaluate --train FILE --test FILE --release {name} --json FILE",
}
_MADE_ANEW = (
    "Judged by another release: {share:.0%} of everybody's {what} were held out, and it was made "
    "of the rest in the same way."
)
# The ledger says that nothing else was asked of the data: of the release that is true.
_UNPAID = (
    "The figures that follow were worked out from the real people, without noise. No epsilon was "
    "paid for them: the promise of differential privacy is about the files of the release, and "
    "does not cover what stands here, which can depend on whether one person is in the data."
)
_JUDGED = "Judged by {cells:,} {what} that were held out of what it was made from."


@dataclass(frozen=True)
class Findings:
    """What was measured, and what it was measured on, a sentence each.

    Parameters
    ----------
    risk, utility : tuple of str
        What adversaries found in the release, and what it is still worth. Where the release is
        differentially private, it is said first that these figures are not.
    origin : tuple of str
        Which columns of the owner's table were read, and what was left out of it; where the release
        is differentially private, the former alone.
    """

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
    """Read what was measured of a release.

    Parameters
    ----------
    manifest : Manifest
    name : str
        What the folder is called, for errors.
    audit, evaluation : Path or None
        What ``recveil audit --release --json`` and ``recveil evaluate --release --json`` wrote.
    column_names : bool
        Whether to tell what the owner's table calls its columns, too.

    Raises
    ------
    RecveilError
        If a file is none of these, or of another release; or if an audit tells of a second one.
    """
    is_differential = manifest.claim.about.is_differential
    unpaid = [_UNPAID] if is_differential else []
    risk, origin, utility = [], [], []
    if audit is not None:
        told = _read(audit, "an audit", name)
        with _meaning(audit, "an audit", name):
            release = told["release"]
            sha256 = release["sha256"]
            risk = [release["headline"], *release["verdict"], *release["warnings"]]
            risk = list(dict.fromkeys(unpaid + risk))  # warnings may be a part of the verdict
            origin = _origin(told["data"], column_names=column_names)
            origin += [] if is_differential else _left_out(told["data"])
        _refuse_another(audit, "audit", sha256, manifest, name)
        if release.get("same_ratings") is False:
            raise RecveilError(
                f"{audit.name}: {name} was not made from the ratings of this audit, so that its "
                f"figures say nothing of it; make an audit of the ratings that it was made from",
                code="release.mismatch",
            )
        if release.get("against") is not None:
            raise RecveilError(
                f"{audit.name}: the audit holds {name} against another release (--against), and "
                f"would tell the world its name and that there is one; make an audit of this "
                f"release alone",
                code="release.refused",
            )
    if evaluation is not None:
        told = _read(evaluation, "an evaluation", name)
        with _meaning(evaluation, "an evaluation", name):
            sha256 = told["release_sha256"]
            of_risk = (told.get("disclosure") or {}).get("verdict", [])
            notes = [note for note in told["notes"] if note not in of_risk]
            utility = [*unpaid, _ground(told, manifest), told["headline"], *notes]
        _refuse_another(evaluation, "evaluation", sha256, manifest, name)
    for file, sentences in ((audit, (*risk, *origin)), (evaluation, utility)):
        for sentence in sentences:
            refuse_unseen(
                file.name if file else "", sentence, most=_LONGEST, code="input.not-a-result"
            )
    return Findings(tuple(risk), tuple(utility), tuple(origin))


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


def _read(file: Path, what: str, name: str) -> dict[str, Any]:
    with _meaning(file, what, name):
        told = json.loads(read_whole(file))
        if not isinstance(told, dict):
            raise TypeError("no JSON object")
    return told


def _refuse_another(file: Path, what: str, sha256: Any, manifest: Manifest, name: str) -> None:
    if sha256 is None or sha256 != manifest.sha256:
        raise RecveilError(
            f"{file.name}: the {what} is of another release than {name}, by the SHA-256 of its "
            f"release.json; make one of this",
            code="release.mismatch",
        )


def _ground(told: dict[str, Any], manifest: Manifest) -> str:
    """Say by what a release was judged."""
    what = "likes" if manifest.scale.unary else "ratings"
    if told["made_anew"]:
        return _MADE_ANEW.format(share=told["split"], what=what)
    return _JUDGED.format(cells=told["test_cells"], what=what)


def _left_out(data: dict[str, Any]) -> list[str]:
    """Say how many rows were left out; older audits count none without a rating."""
    counts = {
        "they were off the scale": int(data["off_scale_dropped"]),
        "they held no rating": int(data.get("unrated_dropped", 0)),
    }
    return [f"Rows left out, as {why}: {dropped:,}." for why, dropped in counts.items() if dropped]


def _origin(data: dict[str, Any], *, column_names: bool) -> list[str]:
    """Say which columns were read; their names may be private."""
    columns = data["columns"]
    roles = [role for role in _ROLES if role in columns]
    sentences = []
    if roles:
        times = "; the times are not published" if "time" in roles else ""
        named = f"{', '.join(roles[:-1])} and {roles[-1]}"
        sentences.append(f"Read from a table with columns for {named}{times}.")
    if column_names and roles:
        called = (f"{role}: {quoted(columns[role], 100)}" for role in roles)
        sentences.append(f"Its columns: {'; '.join(called)}.")
    return sentences
