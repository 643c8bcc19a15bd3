"""What supports a release, and the decision to publish it, as its dossier shows them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recveil.comparison import Setting
from recveil.release.manifest import FileEntry
from recveil.release.method import Method, Variant
from recveil.release.registry import all_variants
from recveil.report.release import is_danger
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.errors import WARNING, RecveilError
from recveil.runtime.safe_repr import brief
from recveil.workbench.frontier import SettingLine
from recveil.workbench.project import Job, Project, Result, Settings
from recveil.workbench.tasks import published_files
from recveil.workbench.views.choose import comparison_so_far, load_question
from recveil.workbench.workspace import Workspace

# What a dossier shows besides the release, by name, with the slot of the jobs that find it out.
_EVIDENCE = {"inspected": "data", "audited": "risk", "compared": "choose"}
# The file in the folder of a release's job that holds it.
_EVIDENCE_FILE = "evidence.json"
# What is recorded when a release is signed off.
DECISION = ("decided_by", "because", "date")
SETTING_FIELDS = ("method", "k", "title", "why")


class Statements(NamedTuple):
    """The sentences about a release: of danger to users, of what it lacks, and others."""

    dangers: list[str]
    cautions: list[str]
    others: list[str]


def sort_statements(sentences: Sequence[str]) -> Statements:
    """Sort the sentences about a release by what they warn of."""
    found = Statements([], [], [])
    for each in sentences:
        text = each.removeprefix(WARNING)
        if text == each:
            found.others.append(each)
            continue
        kind = found.dangers if is_danger(each) else found.cautions
        kind.append(f"{text[:1].upper()}{text[1:]}")
    return found


def find_problem_of_files(project: Project, job: Job | None, result: Result | None) -> str:
    """Return what is wrong with the files of the shown release, if there is one."""
    if job is None or result is None:
        return ""
    is_signed = load_decision(project, result) is not None
    return problem_of_files(Path(job.settings["output"]), result, is_signed)


def problem_of_files(folder: Path, result: Result, is_signed: bool) -> str:
    """Return what is wrong with the files of a release now; empty if they are the verified ones."""
    try:
        published_files(folder, result["sha256"])
    except RecveilError as error:
        is_missing = error.code == "input.unreadable" or not folder.is_dir()
        since = "the decision" if is_signed else "it was verified"
        return "missing" if is_missing else f"changed since {since}"
    return ""


def find_evidence(workspace: Workspace, release: Job, result: Result | None) -> dict[str, Any]:
    """Return the newest results about the ratings of a release, and what was chosen for it."""
    project, reading = workspace.project, release.settings.get("reading")
    jobs, found = project.jobs(), dict[str, Any]()
    for name, room in _EVIDENCE.items():
        for job in jobs:
            if (job.room, job.input, job.settings.get("reading")) != (room, release.input, reading):
                continue
            each = comparison_so_far(project, job) if room == "choose" else project.result(job)
            is_same = None if each is None else is_of_same_ratings(each, result)
            if is_same is None:  # they were not compared
                is_same = job.settings.get("state") == release.settings.get("state")
            if each is not None and is_same:
                found[name] = each
                break
    table = project.input(release.input or 0)
    setting = project.load_for(table, "setting", SETTING_FIELDS)
    if "compared" in found and table.reading == reading:
        found["question"] = load_question(workspace, table)
        if setting is not None and setting.get("reading", reading) == reading:
            found["setting"] = setting
    return found


def is_of_same_ratings(found: Result, release: Result | None) -> bool | None:
    """Return whether a result is about the ratings of a release; None if that is unknown."""
    digests = [None if each is None else each.get("ratings_sha256") for each in (found, release)]
    return digests[0] == digests[1] if all(digests) else None


def keep_evidence(workspace: Workspace, release: Job, result: Result | None) -> None:
    """Store what a dossier shows, as later results may be about another reading of the table."""
    kept = load_evidence(workspace.project, release)
    text = json.dumps(kept | find_evidence(workspace, release, result))
    file = workspace.project.job_folder(release.id) / _EVIDENCE_FILE
    write_atomically(file, lambda staged: staged.write_text(text, encoding="utf-8"))


def digest_evidence(project: Project, release: Job) -> str | None:
    """Return the SHA-256 of what was stored for the dossier of a release; None if it is gone."""
    file = project.job_folder(release.id) / _EVIDENCE_FILE
    return FileEntry.of(file).sha256 if file.is_file() else None


def load_evidence(project: Project, release: Job) -> dict[str, Any]:
    """Return what was stored for the dossier of a release; nothing if it cannot be read."""
    try:
        file = project.job_folder(release.id) / _EVIDENCE_FILE
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def attacks_on(project: Project, release: Job, result: Result) -> Iterator[tuple[Job, Result]]:
    """Yield the attacks on a release with the ratings that it was made from, the newest first."""
    identity = identify(release, result).items()
    for job in project.jobs():
        if job.task == "attack" and identity <= job.settings.items():
            found = project.result(job)
            if found is not None and is_of_same_ratings(found, result) is not False:
                yield job, found


def load_decision(project: Project, result: Result) -> Mapping[str, Any] | None:
    """Return who decided to publish a release, why, and when; None if it is not signed off."""
    decision: Mapping[str, Any] | None = project.load(key_of_decision(result), fields=DECISION)
    return decision


@brief
class ReleaseLine(NamedTuple):
    """A release of a table or its users, as the dossiers of all its releases list it."""

    name: str
    # The name of another table
    table: str
    made: str
    method: str
    sha256: str
    # Whether the dossier is about it, and the date of its sign-off
    is_this: bool
    signed: str
    # What is wrong with its files
    problem: str


def list_releases(project: Project, shown: Job) -> list[ReleaseLine]:
    """Return all releases of the table of a release, or linked to it, the newest first."""
    lines, this = [], project.result(shown) or Result()
    for job in project.jobs():
        result = project.result(job) if job.task == "release" else None
        if result is None:
            continue
        is_linked = result["sha256"] in this.get("linked", ())
        is_linked |= this.get("sha256") in result.get("linked", ())
        if job.input != shown.input and not is_linked:
            continue
        options, k = job.settings["options"], job.settings["k"]
        parts = [options["method"], *([] if k is None else [f"k = {k}"])]
        parts += [f"epsilon {options['epsilon']}"] if "epsilon" in options else []
        signed = load_decision(project, result)
        lines.append(
            ReleaseLine(
                name=result["name"],
                table="" if job.input == shown.input else project.input(job.input or 0).name,
                made=job.ended,
                method=", ".join(parts),
                sha256=result["sha256"],
                is_this=job.id == shown.id,
                signed="" if signed is None else signed["date"],
                problem=problem_of_files(Path(job.settings["output"]), result, signed is not None),
            )
        )
    return lines


def find_compared(release: Job, lines: Sequence[SettingLine]) -> str | None:
    """Return the title of the compared setting that a release was made with; None if none was."""
    ignored = ("file_format", "allow_sparse_coverage")
    options = {
        name: value for name, value in release.settings["options"].items() if name not in ignored
    }
    for name, (method, variant) in all_variants().items():
        if options == options_of(method, variant):
            title = Setting(name, release.settings["k"]).title
            return title if any(line.title == title for line in lines) else None
    return None


def options_of(method: Method, variant: Variant) -> dict[str, object]:
    """Return the options of a compared setting, as a release's job has them."""
    options = {key: "none" if value is None else value for key, value in variant.options.items()}
    return {"method": method.name, **options}


def key_of_decision(result: Result) -> str:
    """Return the name under which a project stores the decision about a release."""
    return f"decision {result['sha256']}"


def require_kept_claim(result: Result, action: str) -> None:
    """Raise a RecveilError for a release that does not keep its claim."""
    if not result["verification"]["holds"]:
        raise RecveilError(
            f"{result['name']}: does not keep its claim, and cannot be {action}",
            code="claim.false",
        )


def identify(job: Job, result: Result) -> Settings:
    """Return the folder of a release with its digest, as a later one may reuse the folder."""
    return {"release": job.settings["output"], "sha256": result["sha256"]}
