"""The report of lists or a model for a data protection impact assessment."""

import json
import shlex
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recveil.attacks import Interval
from recveil.attacks.membership.shadow_models import EXPOSED
from recveil.auditing import RiskLine
from recveil.evaluation.audited_recommender import AuditedRecommender
from recveil.release.manifest import FileEntry
from recveil.report.assessment._checks import RISKS, check_recommender, rejecting_changes
from recveil.report.assessment._lines import MOST_FIGURES, WORDS, reference_in, value_of
from recveil.report.audit.page import page_environment
from recveil.report.audit.risks import describe_line
from recveil.report.document import plain
from recveil.report.evaluation.recommender import (
    PUBLISHED,
    describe_hypothetical,
    hypothetical_line,
    notes_without_tables,
)
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError, describe_count, quoted
from recveil.runtime.number_format import estimate

_FILES = {
    "lists": ("lists", "nonmembers"),
    "model": ("model", "nonmembers"),
    "similar items": ("similar_before", "similar_after"),
}
_PARTS = {"risks", "published", "digests", "options", "notes", "n_table", "headline", "is_observed"}


def read_recommender(file: Path) -> Mapping[str, Any]:
    """Read the JSON of an audit of lists or a model."""
    try:
        found = json.loads(read_whole(file))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not found.keys() >= _PARTS:
        raise RecveilError(
            f"{quoted(file.name, 60)}: expected a release folder, or the JSON of recveil "
            f"audit-lists; name one of them",
            code="input.not-a-result",
        )
    return found


def render_recommender(
    audit: Mapping[str, Any], file: Path, signature: Mapping[str, str]
) -> tuple[str, str]:
    """Return the page and its headline; a JSON that was changed by hand is rejected."""
    template = page_environment().get_template("assessment/recommender.html.jinja")
    with rejecting_changes(quoted(file.name, 60), "the lists or the model"):
        audited = check_recommender(audit)
        lines = [_line(audit, risk) for risk in RISKS]
        if other := hypothetical_line(audited):
            lines.insert(1, _line_of(other))
        headline = audit["headline"]
        if hypothetical := describe_hypothetical(audited):
            headline = (
                f"{hypothetical} If they got their own lists: {headline[:1].lower()}{headline[1:]}"
            )
        page = template.render(
            audit=audit,
            what=PUBLISHED[audited.published],
            headline=headline,
            lines=lines,
            remaining=list(_remaining(audited, audit)),
            affected=list(_affected(audited, audit)),
            command=_command_of(audit),
            json_sha256=FileEntry.of(file).sha256,
            signature=signature,
            version=version("recveil"),
        )
        return page, headline


def _line_of(other: RiskLine) -> dict[str, Any]:
    figure, sentence = plain(other.figures[0]), describe_line(other).split(": ", 1)[1]
    value, reference = value_of(figure), reference_in(figure)
    return {
        "title": f"Linkability, {other.risk[:1].lower()}{other.risk[1:]}",
        "question": "The publisher must find out which lists nonmembers get.",
        "sentence": f"{sentence[:1].upper()}{sentence[1:]}",
        "badge": "higher, if so" * other.figures[0].is_shown,
        "now": value,
        "reference": reference,
        "evidence": [(figure["name"], figure["adversary"], value, reference)],
    }


def _line(audit: Mapping[str, Any], risk: str) -> dict[str, Any]:
    line, (title, question) = audit["risks"][risk], WORDS[risk]
    sentence = line["sentence"].split(": ", 1)[1]
    figures = [] if line["rate"] is None else line["figures"]
    return {
        "title": title,
        "question": question,
        "sentence": sentence[:1].upper() + sentence[1:],
        "badge": "highest measured" * (audit["risks"]["highest"] == title.lower()),
        "now": value_of(line) if line["rate"] else "not measured",
        "reference": reference_in(line) if line["rate"] else "–",
        "evidence": [
            (each["name"], each["adversary"], value_of(each), reference_in(each))
            for each in figures[:MOST_FIGURES]
        ],
    }


def _remaining(audited: AuditedRecommender, audit: Mapping[str, Any]) -> Iterator[str]:
    unmeasured = [WORDS[risk][0] for risk in RISKS if audit["risks"][risk]["rate"] is None]
    if unmeasured:
        names = " and ".join(unmeasured).capitalize()
        yield f"{names}: not measured, which is no evidence of safety."
    if not audited.is_observed:
        yield (
            "No published list was attacked: the figures are of the same recommender, trained on "
            "half of the users, not on all of them."
        )
    yield from notes_without_tables(audited)
    yield "For a guarantee, train on a release with an epsilon."


def _affected(audited: AuditedRecommender, audit: Mapping[str, Any]) -> Iterator[str]:
    n_table = audited.users.size
    yield f"The table has {describe_count(n_table, 'user')}; all of them are data subjects."
    if (exposed := audit["exposed"]) is None:
        n_attacked = audited.n_members or audited.n_targets
        yield f"{n_attacked:,} of them could be attacked."
        return
    share, control = (Interval(**exposed[name]) for name in ("share", "control"))
    low, high = (round(end * n_table) for end in (share.low, share.high))
    yield (
        f"{describe_count(exposed['users'], 'user')} of the table were scored: {estimate(share)} "
        f"(by chance: {estimate(control)}) are recognized in nearly every pair of shadows (AUC of "
        f"at least {EXPOSED}): {low:,} to {high:,} of all users of the table."
    )
    if describe_hypothetical(audited):
        yield "This holds if nonmembers get their own lists; otherwise, more are recognized."


def _command_of(audit: Mapping[str, Any]) -> str:
    """Return the command that repeats the audit, with a word for each file."""
    words = ["recveil", "audit-lists", "RATINGS"]
    if "recommender" not in audit["options"]:
        for name in _FILES[audit["published"]]:
            words += [f"--{name.replace('_', '-')}", name.upper()]
    for name, value in audit["options"].items():
        words += [f"--{name}", str(value)]
    return shlex.join(words)
