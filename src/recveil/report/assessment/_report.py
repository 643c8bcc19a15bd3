"""The report of a release for a data protection impact assessment, in at most four pages."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from pyarrow import ArrowException

from recveil.auditing import audit as audit_table
from recveil.auditing.three_risks import NO_RECORD
from recveil.io.ingestion import REASONS
from recveil.io.inputs import file_next_to_table
from recveil.io.options import ReadingOptions
from recveil.io.pipes import is_standard, require_path
from recveil.io.write import reject_replacing
from recveil.methods.earlier_releases import Earlier, find_earlier, history_of, others
from recveil.publish.croissant import THREE_RISKS, sections_of_card
from recveil.publish.history import Promised
from recveil.publish.publisher_card import read_audit, reject_other_ratings
from recveil.release.claim import Claim
from recveil.release.data_card import data_card
from recveil.release.manifest import (
    MANIFEST,
    PRIVATE_MANIFEST,
    FileEntry,
    Manifest,
    private_folder,
)
from recveil.release.manifest_reader import known_manifest
from recveil.release.private_folder import assignment_files, read_assignment
from recveil.report.assessment._checks import RISKS, check_risks, rejecting_changes
from recveil.report.assessment._lines import (
    MOST_FIGURES,
    WORDS,
    describe_adversary,
    is_area,
    reference_in,
    value_of,
)
from recveil.report.assessment._recommender import read_recommender, render_recommender
from recveil.report.audit.groups import MOST_EXPOSED
from recveil.report.audit.page import page_environment
from recveil.report.audit.risks import describe_absence, reword
from recveil.report.document import parts_of
from recveil.report.release import describe_loss, describe_runs
from recveil.report.verification import describe_verdict
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.devices import read_whole
from recveil.runtime.errors import RecveilError, describe_count, first_sentence_of, listed, quoted
from recveil.runtime.number_format import percent
from recveil.runtime.safe_repr import brief
from recveil.verification import verify

_MOST_REMAINING = 9
_MOST_NAMED = 3
_MOST_LETTERS = 200
# The definition in cards of differential privacy; what follows from it is said in plain words.
_DEFINITION = re.compile(r"Any outcome has at most e\^epsilon = .* So these files raise")
# What cards of differential privacy state is true of releases with an epsilon alone.
_OF_SEVERAL = {
    "What several releases of the same users reveal adds up, and so do their epsilons.": (
        "What several releases of the same users reveal adds up: epsilons do, and next to a "
        "release without one, such as with k, no guarantee covers both."
    )
}


class Signature(NamedTuple):
    """Who signs a report; an empty field is a line to be filled in by hand."""

    name: str = ""
    role: str = ""
    date: str = ""


UNSIGNED = Signature()


@brief
@dataclass(frozen=True)
class Assessment:
    """A report for a data protection impact assessment.

    Parameters
    ----------
    output : path
    verification : dict
        The verdict over the release, as in the JSON of `verify`.
    audit : dict
        The attacks on the release, as in the JSON of `audit`.
    headline : str
        Which risk is the highest.
    """

    output: str | PathLike[str]
    verification: Mapping[str, Any] = field(repr=False)
    audit: Mapping[str, Any] = field(repr=False)
    headline: str = ""


@parts_of.register
def _(found: Assessment) -> Mapping[str, object]:
    names = ("risks", "risks_before")
    return {
        "output": str(found.output),
        **{name: found.audit[name] for name in names if name in found.audit},
        "verification": found.verification,
    }


def report(
    release: str | PathLike[str],
    output: str | PathLike[str],
    *,
    ratings: str | PathLike[str] | Any | None = None,
    audit: str | PathLike[str] | None = None,
    users: str | PathLike[str] | None = None,
    name: str = "",
    role: str = "",
    date: str = "",
    force: bool = False,
    **reading: Unpack[ReadingOptions],
) -> Assessment:
    """Write the report of a release for a data protection impact assessment.

    Parameters
    ----------
    release : path
        The published folder; its private folder is the ground truth of the attacks. Or the JSON of
        `audit_lists`, for lists or a model.
    output : path
        The HTML file to write, of at most four printed pages. It is private.
    ratings : path or data frame, optional
        The table behind the release, which is audited.
    audit : path, optional
        In place of `ratings`: the result of ``recveil audit --release --json``.
    users : path, optional
        With `ratings`, of a release with attributes: the file of users that it was made with.
    name, role, date : str
        Who signs; what is left out is a line to fill in by hand.
    force : bool
        Replace an existing `output`.
    **reading
        Passed to `audit` with `ratings`.

    Raises
    ------
    RecveilError
        If the release does not keep its claim, neither or both of `ratings` and `audit` are given,
        or the audit or the ratings are of another release.
    """
    require_path("a release folder", release=release)
    require_path("a file", output=output)
    is_recommender = Path(release).is_file()
    if is_recommender and any(value is not None for value in (ratings, audit, users)):
        raise RecveilError(
            f"{quoted(Path(release).name, 60)} is a file: the JSON of recveil audit-lists has all "
            f"figures; leave out ratings (--ratings), audit (--audit) and users (--users)",
            code="option.conflict",
        )
    if not is_recommender and not Path(release).is_dir():
        raise RecveilError(
            f"{quoted(str(release), 100)}: not found; name a release folder, with ratings "
            f"(--ratings) or audit (--audit), or the JSON of recveil audit-lists",
            code="input.not-found",
        )
    if not is_recommender and (ratings is None) == (audit is None):
        raise RecveilError(
            f"{quoted(Path(release).name, 60)}: expected one of ratings (--ratings), the table "
            f"behind the release, and audit (--audit), the JSON that recveil audit --release "
            f"--json wrote; got {'neither' if audit is None else 'both'}",
            code="option.required",
        )
    signature = Signature(name, role, date)
    for what, text in signature._asdict().items():
        if len(text) > _MOST_LETTERS:
            raise RecveilError(
                f"{what} (--{what}): expected at most {_MOST_LETTERS} characters, got "
                f"{len(text):,}",
                code="option.value",
            )
    if not is_standard(output):
        if Path(output).suffix.lower() not in (".html", ".htm"):
            raise RecveilError(
                f"output: {quoted(Path(output).name, 80)}: expected a name that ends in .html; to "
                f"make a PDF, open the page in a browser and print it",
                code="output.place",
            )
        reject_replacing(output, force=force)
    if is_recommender:
        measured = read_recommender(Path(release))
        page, headline = render_recommender(measured, Path(release), signature._asdict())
        write_atomically(output, lambda staged: staged.write_text(page, "utf-8", "replace"))
        return Assessment(output, {}, measured, headline)
    return _report_release(
        Path(release).resolve(), output, ratings, audit, users, signature, reading
    )


def _report_release(
    folder: Path,
    output: str | PathLike[str],
    ratings: Any,
    audit: str | PathLike[str] | None,
    users: str | PathLike[str] | None,
    signature: Signature,
    reading: ReadingOptions,
) -> Assessment:
    manifest = known_manifest(folder)
    names = _attributes_of(manifest, folder.name, ratings, users)
    verdict = verify(folder)
    if not verdict.holds:
        raise RecveilError(
            f"{folder.name}: does not keep its claim ({verdict.violations[0].problem}), and is not "
            f"reported; ask recveil verify",
            code="claim.false",
        )
    of_file = ""
    if audit is not None:
        with file_next_to_table("audit", audit) as file:
            found = read_audit(Path(file), manifest, folder.name)
            of_file = FileEntry.of(Path(file)).sha256
        _require_risks(found, str(audit))
    else:
        found = audit_table(
            ratings, release=folder, users=users, attribute=names, **reading
        ).to_dict()
        reject_other_ratings(found, "ratings (--ratings)", folder.name)
    document = verdict.to_dict()
    if not of_file:
        page = render_assessment(folder, document, found, signature)
    else:
        with rejecting_changes(f"audit (--audit): {quoted(str(audit), 60)}", "the release"):
            scale = {"is_unary": manifest.scale.unary, "is_nominal": not manifest.scale.ordered}
            risks = check_risks(found["risks"], manifest.claim, **scale)
            before = check_risks(found["risks_before"], None, **scale)
            found = {**found, "risks": risks, "risks_before": before}
            page = render_assessment(folder, document, found, signature, of_file)
    write_atomically(output, lambda temporary: temporary.write_text(page, "utf-8", "replace"))
    return Assessment(output, document, found, found["risks"]["headline"])


def _attributes_of(
    manifest: Manifest, name: str, ratings: object, users: object
) -> tuple[str, ...] | None:
    """Return the attributes that the audit needs; raise if their file is missing, or idle."""
    about = manifest.user_columns
    if users is not None and (ratings is None or about is None):
        raise RecveilError(
            f"users (--users): only with ratings (--ratings), of a release with attributes of "
            f"users, and {name} has {'some' if about else 'none'}; drop it",
            code="option.unsupported",
        )
    if about is not None and not about.values and ratings is not None and users is None:
        raise RecveilError(
            f"users (--users): {name} publishes attributes of users, which adversaries know; give "
            f"the file that it was made with",
            code="option.required",
        )
    return None if about is None or users is None else about.names


def _require_risks(audit: Mapping[str, Any], name: str) -> None:
    """Raise for the JSON of an audit by an earlier version."""
    if any(part not in audit for part in ("risks", "risks_before", "data", "options")):
        raise RecveilError(
            f"audit (--audit): {quoted(name, 60)} has no risks, since it was written by an "
            f"earlier version of recveil; audit the release again",
            code="input.not-a-result",
        )


def render_assessment(
    folder: Path,
    verification: Mapping[str, Any],
    audit: Mapping[str, Any],
    signature: Signature = UNSIGNED,
    audit_sha256: str = "",
) -> str:
    """Return the page, from the published folder and the JSON of its verdict and its audit."""
    private, missing = _private_of(folder)
    manifest = known_manifest(folder)
    together = [*_together(folder, private, manifest.claim)] if private else []
    card = sections_of_card(data_card(manifest, manifest.ratings_file or ""))
    promised, unpromised = (card.get(title, []) for title in _TITLES)
    promised = [*promised, *card.get(THREE_RISKS, [])[1:]]
    kind = "" if manifest.claim.about.contains_users else "synthetic "
    counts = {
        ("" if what == "items" else kind) + what: number
        for what, number in manifest.counts.items()
        if number and what in ("users", "records", "values", "items", "classes")
    }
    settings = {
        what.replace("_", " "): value
        for what, value in manifest.settings.items()
        if isinstance(value, str | int | float)  # not the parts of a model
    }
    template = page_environment().get_template("assessment/page.html.jinja")
    return template.render(
        name=folder.name,
        manifest=manifest,
        files={**manifest.files, MANIFEST: FileEntry.of(folder / MANIFEST)},
        counts=counts,
        left_out=dict(_left_out(private, manifest, audit["data"])),
        settings=settings,
        verdict=describe_verdict(verification),
        status=_status(verification),
        holds=verification["holds"],
        exceeded=_exceeded(audit),
        promised=[
            _DEFINITION.sub("These files raise", each)
            .replace("*", "")
            .replace("This checks", "Verification checks")
            .replace("the ledger below", "the ledger in release.json")
            for each in promised
            if not each.startswith("To verify")
        ],
        lines=[_line(audit, risk, manifest) for risk in RISKS],
        headline=audit["risks"]["headline"],
        remaining=[*missing, *together, *_remaining(audit, unpromised)],
        affected=list(_affected(private, manifest, audit)),
        command=_command_of(audit, folder.name),
        audit_sha256=audit_sha256,
        attributes_sha256=audit["options"].get("attributes_sha256", ""),
        ratings_sha256=private.get("ratings_sha256", ""),
        unchecked=verification["not_covered"],
        signature=signature._asdict(),
        version=version("recveil"),
    )


_DROPPED = {
    "duplicates_dropped": "duplicate",
    "off_scale_dropped": "off scale",
    "unrated_dropped": "no rating",
    "missing_ids_dropped": "no id",
}


def _private_of(folder: Path) -> tuple[Mapping[str, Any], list[str]]:
    where = private_folder(folder)
    try:
        private = json.loads(read_whole(where / PRIVATE_MANIFEST))
        if private["release"]["sha256"] == FileEntry.of(folder / MANIFEST).sha256:
            return private, []
        problem = "is of another release"
    except OSError:
        problem = "was not found"
    except (ValueError, TypeError, KeyError):
        problem = "cannot be read"
    return {}, [
        f"The private folder “{where.name}” {problem}. So this report lacks the SHA-256 of the "
        f"ratings, the share that was kept, who was left out, and other releases of these users."
    ]


def _together(folder: Path, private: Mapping[str, Any], claim: Claim) -> Iterator[str]:
    where = private_folder(folder)
    try:
        table = read_assignment(where, assignment_files(private), ["user_id"])
        users = table["user_id"].unique().to_numpy(zero_copy_only=False)
        found = [
            each
            for each in others(find_earlier(users, folder), folder)
            if each.problem or not _are_of_a_series(private, each)
        ]
    except (ArrowException, OSError, AttributeError, ValueError, KeyError, TypeError, RecveilError):
        yield (
            f"The users in “{where.name}” cannot be read, so other releases of them were not "
            f"searched."
        )
        return
    if not found:
        return
    names = [_other(each, folder) for each in found[:_MOST_NAMED]]
    names += [f"{len(found) - _MOST_NAMED:,} more"] * (len(found) > _MOST_NAMED)
    composed = claim.ledger is not None and all(each.has_ledgers for each in found)
    present = Promised.of(private["release"]["sha256"], claim)
    loss = (
        describe_runs([present, *history_of(found)])
        if composed
        else describe_loss(history_of(found), claim)
    )
    yield (
        f"Other releases in the same folder have the same users, or users with the same ids: "
        f"{', '.join(names)}. {loss.rstrip('.')}."
    )


def _are_of_a_series(private: Mapping[str, Any], other: Earlier) -> bool:
    """Return whether one of the two follows the other, so that classes of k live on in both."""
    other_private = json.loads(read_whole(private_folder(other.folder) / PRIVATE_MANIFEST))
    own, other_sha256 = private["release"]["sha256"], other_private["release"]["sha256"]
    before, other_before = (
        (each.get("previous") or {}).get("releases", ()) for each in (private, other_private)
    )
    return other.is_current and (other_sha256 in before or own in other_before)


def _other(each: Earlier, folder: Path) -> str:
    if each.problem:
        return f"“{each.folder.name}” (cannot be read)"
    if not each.is_current or each.folder.resolve() == folder.resolve():
        return f"what “{each.folder.name}” replaced"
    return f"“{each.folder.name}” ({each.n_users:,} of them)"


# As `verify` words it: files cannot prove that noise was added
def _status(verification: Mapping[str, Any]) -> str:
    if not verification["holds"]:
        return "✗ does not hold"
    return "✓ consistent with its claim" if verification["k_required"] is None else "✓ holds"


def _command_of(audit: Mapping[str, Any], name: str) -> str:
    """Return the command that repeats the audit, with a word for each file."""
    options = audit["options"]
    targets = "all" if options["targets"] is None else options["targets"]
    words = ["recveil", "audit", "RATINGS", "--release", name]
    words += ["--seed", options["seed"], "--targets", targets]
    if options["shadows"] is not None:
        words += ["--shadows", options["shadows"]]
    attributes = options.get("attributes", [])
    words += ["--users", "USERS"] * bool(attributes)
    for each in attributes:
        words += ["--attribute", each]
    return shlex.join(map(str, words))


def _left_out(
    private: Mapping[str, Any], manifest: Manifest, data: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    n_items = manifest.counts.get("items", 0)
    if n_items <= data.get("items", 0):
        yield "items kept", f"{n_items:,} of {data['items']:,}"
    if coverage := private.get("coverage"):
        yield "ratings of kept items", percent(coverage["rating_share"])
    if rows := [f"{data[why]:,} {REASONS[of]}" for why, of in _DROPPED.items() if data.get(why)]:
        yield "rows dropped before", "; ".join(rows)
    if alike := data.get("alike_users"):
        yield "user ids in several notations", " ".join(alike)
    if data.get("times") and "dates" not in manifest.settings:
        yield "dates", "not published"
    if data.get("not_read"):
        yield "columns not read", listed(data["not_read"])


_TITLES = ("What is guaranteed", "What is not guaranteed")


def _exceeded(audit: Mapping[str, Any]) -> str:
    """Return the other release with which the guarantee of this one does not hold; or nothing."""
    linkage = audit["release"].get("linkage")
    return str(linkage["name"]) if linkage and linkage["below_k"] else ""


# Figures of the same measure, before and after: a figure of another is compared with none.
_MEASURES = (
    {
        *("user re-identified", "only match", "random match", "user re-identified without fills"),
        *("user re-identified by matched items", "user re-identified by both releases"),
        "alone in both releases",
    },
    {"record matched", "class inferred", "only matching class"},
    {"attribute", "attribute by row"},
)


def _before(line: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    if not before or not before["rate"]:
        return "not measured"
    names = {line["name"], before["name"]} - {None}
    is_same = len(names) == 1 or any(names <= measure for measure in _MEASURES)
    return value_of(before) if is_same else "not measured"


def _largest(risks: Mapping[str, Any]) -> str | None:
    measured = [risk for risk in RISKS if risks[risk]["rate"] is not None]
    return max(measured, key=lambda risk: risks[risk]["excess"], default=None)


def _line(audit: Mapping[str, Any], risk: str, manifest: Manifest) -> dict[str, Any]:
    scale = manifest.scale
    line, before = audit["risks"][risk], audit.get("risks_before", {}).get(risk)
    title, question = WORDS[risk]
    sentence = line["sentence"].split(": ", 1)[1]
    figures = [] if line["rate"] is None else line["figures"]
    names = list(dict.fromkeys(each["name"] for each in figures))
    first = {n: next(each for each in figures if each["name"] == n) for n in names}
    return {
        "title": title,
        "question": question,
        "sentence": sentence[:1].upper() + sentence[1:],
        "is_highest": audit["risks"]["highest"] == title.lower(),
        "is_largest": audit["risks"]["highest"] is None and _largest(audit["risks"]) == risk,
        "before": _before(line, before),
        "now": value_of(line)
        if line["rate"]
        else describe_absence(is_applicable=line["unmeasured"] != NO_RECORD),
        "reference": reference_in(line) if line["rate"] else "–",
        "bound": _bound(line, manifest.claim),
        "evidence": [
            (
                *(
                    reword(text, is_unary=scale.unary, is_nominal=not scale.ordered)
                    for text in (name, describe_adversary(each["adversary"]))
                ),
                *(value_of(each), f"{each['rate']['trials']:,}", reference_in(each)),
            )
            for name, each in list(first.items())[:MOST_FIGURES]
        ],
    }


def _bound(figure: Mapping[str, Any], claim: Claim) -> str:
    if figure["bound"] is None:
        is_differential = claim.about.is_differential
        return "see the promise below" if is_differential else "no guarantee"
    if figure["rate"] is None:
        return f"{percent(figure['bound'])}, where a random guess has 50%"  # of two users
    return f"AUC {figure['bound']:.2f}" if is_area(figure) else percent(figure["bound"])


def _remaining(audit: Mapping[str, Any], unpromised: list[str]) -> Iterator[str]:
    release = audit["release"]
    found = [*audit.get("dangers", []), *release["warnings"]]
    # What was measured on another release is measured here.
    first = (text.partition(": in a release of ")[0] for text in map(first_sentence_of, unpromised))
    found += [_OF_SEVERAL.get(text, text) for text in (f"{each.rstrip('.')}." for each in first)]
    yield from list(dict.fromkeys(found))[:_MOST_REMAINING]


def _about(rate: Mapping[str, Any], n_users: int) -> str:
    number, low, high = (round(rate[end] * n_users) for end in ("rate", "low", "high"))
    return f"{number:,} ({low:,} to {high:,})"


def _members(audit: Mapping[str, Any]) -> Iterator[str]:
    release = audit["release"]
    if not (shadows := release.get("shadows")):
        return
    yield (
        f"Membership was measured on {shadows['n']} shadow releases, each of one half of the "
        f"{shadows['users']:,} users; a release of all of them hides a user among twice as many."
    )
    yield from (each for each in release["verdict"] if each.startswith(MOST_EXPOSED))


def _affected(
    private: Mapping[str, Any], manifest: Manifest, audit: Mapping[str, Any]
) -> Iterator[str]:
    n_users = audit["data"]["users"]
    protected = private.get("protected")
    is_truncated = manifest.settings.get("truncate_to") is not None
    n_removed = protected["users"] if protected and not is_truncated else 0
    users = describe_count(n_users + n_removed, "user")
    is_real = manifest.claim.about.contains_users
    inside = manifest.counts.get("users", n_users) if is_real else n_users
    yield f"The table has {users}; all are data subjects, even without a row."
    if protected:
        of = describe_count(protected["users"], "user")
        done = "have fewer ratings in it" if is_truncated else "are not in it"
        yield (
            f"{of} with the highest membership risk {done} ({protected['ratings']:,} ratings were "
            f"left out). No figure here covers what was left out."
        )
    left = (private.get("previous") or {}).get("left", 0)
    if is_real and inside - left < n_users:
        yield f"The release represents {inside - left:,} of them; the others were left out."
    if left:
        yield (
            f"The release has {inside:,} users, with {left:,} of earlier releases whom the table "
            f"lacks."
        )
    line, before = (audit[part]["singling_out"]["rate"] for part in ("risks", "risks_before"))
    if line is None:
        yield "No row belongs to a user; what many users share is revealed about all of them."
    else:
        raw = f"; {_about(before, n_users)} if only names were removed" if before else ""
        yield (
            f"{round(line['rate'] * line['trials']):,} of the {line['trials']:,} users in both "
            f"releases are alone in both their classes: who knows these singles them out{raw}."
            if audit["risks"]["singling_out"]["name"] == "alone in both releases"
            else f"If the strongest adversary attacked each of {inside:,} users, about "
            f"{round(line['rate'] * inside):,} would be re-identified{raw}."
        )
    yield from _members(audit)
    if unprotected := audit["release"].get("unprotected"):
        yield f"{describe_count(unprotected, 'user')} in classes of one: without any guarantee."
    if is_real and (short := manifest.counts.get("short_users")):
        yield f"{describe_count(short, 'user')} with so few values that recommenders ignore them."
    found = audit["release"]
    leading = max(
        found["attacks"],
        key=lambda each: (each["reidentified"]["rate"] or 0.0, -each["targets_skipped"]),
        default=None,
    )
    if leading is not None and leading["targets_skipped"]:
        by_all = found["all_known"] or found["clusters"]
        shown = "the adversaries who know all ratings need no minimum" if by_all else ""
        yield (
            f"{describe_count(leading['targets_skipped'], 'target')} had too few ratings that the "
            f"adversary “{leading['name']}” may know, and count as not re-identified by it: "
            f"{shown or 'their risk is not known to be low'}."
        )
    bins = (audit.get("risk") or {}).get("bins", [])
    if bins and bins[-1]["users"]:
        yield (
            f"If only names were removed, an adversary with some ratings would re-identify "
            f"{describe_count(bins[-1]['users'], 'user')} with at least 90% probability."
        )
