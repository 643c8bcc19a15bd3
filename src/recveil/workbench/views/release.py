"""The page Release, which makes, attacks, describes and downloads releases, and erases users."""

import json
import math
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from recveil.io.side_tables import check_attributes
from recveil.io.write import FOLDERS
from recveil.methods.published_users import public_columns
from recveil.methods.registry import has_k
from recveil.methods.synthetic.options import parse_epsilon
from recveil.publish.publisher_card import PublisherCard
from recveil.release.claim import claim_kind
from recveil.release.dates import DATES
from recveil.release.manifest import FileEntry, private_folder, private_name
from recveil.release.method import Variant
from recveil.release.registry import all_variants, undone_of, variant_of
from recveil.release.specs.sparse import SPARSE
from recveil.release.specs.synthetic import SYNTHETIC
from recveil.report.assessment import Signature, render_assessment
from recveil.report.verification import describe_verdict
from recveil.runtime.devices import reject_devices
from recveil.runtime.errors import RecveilError, first_sentence_of, quoted
from recveil.runtime.locks import FOR_OWNER
from recveil.runtime.safe_repr import brief
from recveil.workbench.project import (
    INPUT_FOLDER,
    Input,
    Job,
    Project,
    Reading,
    Result,
    Settings,
    receive,
)
from recveil.workbench.table_source import is_current, place_of, reject_changed, source_settings
from recveil.workbench.tasks import (
    AUDIT_PAGE,
    CLEANED,
    DESCRIPTION,
    ZipEntry,
    converted_files,
    feedback_of,
    list_methods,
    published_files,
    stream_zip,
)
from recveil.workbench.views.choose import (
    describe_compared,
    parse_attributes,
)
from recveil.workbench.views.data import start_inspecting
from recveil.workbench.views.evidence import (
    DECISION,
    SETTING_FIELDS,
    attacks_on,
    digest_evidence,
    find_compared,
    find_evidence,
    find_problem_of_files,
    identify,
    keep_evidence,
    key_of_decision,
    list_releases,
    load_decision,
    load_evidence,
    options_of,
    problem_of_files,
    require_kept_claim,
    sort_statements,
)
from recveil.workbench.wording import FIELD_TITLES
from recveil.workbench.workspace import (
    NUMBER,
    Workspace,
    form_of,
    format_command,
    redirect,
    send_report,
    serve_report,
    workspace_of,
)

# Labels of the fields of a `PublisherCard`; data portals require the first ones.
_LABELS = {
    "title": "Title",
    "publisher": "Publisher",
    "contact": "Contact: an address for questions",
    "licence": "License, best by its address",
    "date": "Date of publication, as 2026-01-31",
    "description": "Description",
    "collection": "How the ratings were collected",
    "citation": "How to cite it",
    "version": "Version",
    "url": "Where the folder will be published, if known",
    "keywords": "Keywords, separated by commas",
}
_LONG_FIELDS = ("description", "collection", "citation")
_RELEASES = "releases"
# Each action on a release runs in a slot of its own, so that none cancels another.
_ATTACKS, _DESCRIPTIONS = "release attack", "release describe"
_ERASURES, _LAYOUTS = "release forget", "release convert"
# The fields of the form that makes a release.
_MARKS = ("public_items", "allow_sparse_coverage", "hide_items")
_FIELDS = (
    *("method", "k", "name", "file_format", "dates", "date_range", "previous", "users"),
    *("attribute", "sensitive_attribute", "item_table", "epsilon", "releases", "cohort", *_MARKS),
)
# How values are written, which a table without an erased user has in common with its original.
_OF_VALUES = ("order", "words")
_SPLITS = ("user", "time")
_LAYOUT_TITLES = {
    "elliot": "Elliot",
    "lenskit": "LensKit",
    "movielens": "as MovieLens",
    "recbole": "RecBole",
}
# The decisions about a user, as the page shows them.
_DECISIONS = {
    "row-kept": "✓ the row stays, as others share it",
    "nothing-to-withdraw": "✓ nothing has to be withdrawn",
    "replace": "✗ the release has to be replaced",
    "not-published": "✓ no row of this user is published",
}
_MOST_CHARACTERS = 2_000
_AT_ONCE = 1 << 18
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")
_FORMATS = ("parquet", "csv")
# The option of synthetic methods that takes the list of rated items for public.
_CATALOG = "item_catalog"
_MOST_K = 1_000_000


def _page(request: Request) -> Response:
    return _render(request, None)


def _keeping(action: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Let an action show its error on the page, with the fields as they were entered."""

    def act(request: Request) -> Response:
        try:
            return action(request)
        except RecveilError as error:
            return _render(request, error)

    return act


def _render(request: Request, problem: RecveilError | None) -> Response:
    workspace = workspace_of(request)
    project = workspace.project
    table = project.chosen_input()
    releases = [
        job
        for job in project.jobs()
        if table is not None and job.task == "release" and job.input == table.id
    ]
    number = str(request.path_params.get("number", request.query_params.get("release", "")))
    job = next((job for job in releases if str(job.id) == number), None)
    if problem is not None and (table is None or (job is None and "number" in request.path_params)):
        raise problem  # no form is there to show it
    job = job or (releases[0] if releases else None)
    result = project.result(job)
    attack = _job_about(workspace, "attack", job, result)
    description = _job_about(workspace, "describe", job, result)
    erasure = _job_about(workspace, "forget", job, result)
    layout = _job_about(workspace, "convert", job, result)
    setting = None if table is None else project.load_for(table, "setting", SETTING_FIELDS)
    prepared = None if table is None else project.load_for(table, "prepared", _FIELDS)
    action = "" if problem is None else request.url.path.rpartition("/")[2]
    form = _fill_form(job, setting, prepared, _free_name(workspace, table))
    if action == "make":
        form = dict.fromkeys(_FIELDS, "") | form_of(request)
    return workspace.render_page(
        request,
        "release.html.jinja",
        status=200 if problem is None else 400,
        problem="" if problem is None else str(problem),
        action=action,
        entered={action: form_of(request)},
        job=job,
        result=result,
        contains_users=result is None or claim_kind(result["verification"]["claim"]).contains_users,
        is_current=table is None or job is None or _is_current(project, table, job),
        statements=sort_statements([] if result is None else result["statements"]),
        verdict=None if result is None else describe_verdict(result["verification"]),
        files_problem=find_problem_of_files(project, job, result),
        running=workspace.jobs.running_in("release"),
        releases=[each for each in releases if each.state == "done"],
        attack=attack,
        running_attack=workspace.find_running(attack),
        attack_result=project.result(attack),
        description=description,
        running_description=workspace.find_running(description),
        description_result=project.result(description),
        erasure=erasure,
        running_erasure=workspace.find_running(erasure),
        erasure_result=project.result(erasure),
        layout=layout,
        running_layout=workspace.find_running(layout),
        layout_result=project.result(layout),
        layouts=sorted(FOLDERS),
        layout_titles=_LAYOUT_TITLES,
        decisions=_DECISIONS,
        commands="\n".join(
            each.command
            for each in (job, description, layout, erasure)
            if each is not None and each.state == "done"
        ),
        card=project.load("card", {}),
        signed=None if result is None else load_decision(project, result),
        today=_today().isoformat(),
        labels=_LABELS,
        long_fields=_LONG_FIELDS,
        setting=setting,
        prepared=None if job is not None else prepared,
        is_compared=project.result(workspace.newest_job("choose", table)) is not None,
        methods=[] if table is None else _list_publishable(workspace, table),
        field_titles=FIELD_TITLES,
        seconds=workspace.estimates(table),
        formats=_FORMATS,
        periods=DATES.allowed,
        continuable=_list_continuable(project),
        form=form,
    )


def _fill_form(
    job: Job | None,
    setting: Mapping[str, Any] | None,
    prepared: Mapping[str, Any] | None,
    free_name: str,
) -> Mapping[str, object]:
    # What was entered for a job that made no release stays
    empty: dict[str, object] = dict.fromkeys(_FIELDS, "")
    if job is not None and job.state != "done":
        return {**empty, **job.settings.get("entered", {})}
    if job is None and prepared is not None:
        return {**prepared, "name": free_name}
    method, k = ("", 5) if setting is None else (setting["method"], setting["k"] or "")
    return empty | {"name": free_name, "method": method, "k": k}


def _make(request: Request) -> Response:
    workspace, form = workspace_of(request), form_of(request)
    project = workspace.project
    table = workspace.require_table()
    reject_changed(project, table)
    name, variant_name, k = form.get("name", "").strip(), form.get("method", ""), None
    if not _NAME.fullmatch(name):
        raise RecveilError(
            f"name {quoted(name, 40)}: expected up to 60 letters, digits, - and _, as in release-1",
            code="option.value",
        )
    if variant_name not in {each.name for each in _list_publishable(workspace, table)}:
        raise RecveilError(
            f"method {quoted(variant_name, 40)}: not one of those that can be published",
            code="method.unsupported",
        )
    if has_k(variant_name):
        k = _parse_whole("k", form.get("k", ""))
    file_format = form.get("file_format", _FORMATS[0])
    if file_format not in _FORMATS:
        raise RecveilError(
            f"format {quoted(file_format, 40)}: expected {' or '.join(_FORMATS)}",
            code="option.value",
        )
    output = str(project.folder_for(_RELEASES) / name)
    method, variant = all_variants()[variant_name]
    options = {**options_of(method, variant), "file_format": file_format}
    if not form.get("public_items"):
        options.pop(_CATALOG, None)
    options |= {name: True for name in ("allow_sparse_coverage", "hide_items") if form.get(name)}
    options |= _further_options(project, form, options)
    command = format_command(
        "anonymize", table.place, options={**table.reading, "output": output, "k": k, **options}
    )
    entered = {field: form.get(field, "") for field in _FIELDS}
    settings: Settings = {
        **source_settings(table),
        **{"output": output, "k": k, "options": options, "entered": entered},
    }
    with workspace.start_lock:
        if workspace.jobs.running_in("release") is not None:
            raise RecveilError(
                "a release is being made; wait until it is finished, or cancel it first",
                code="workbench.busy",
            )
        job = workspace.jobs.start(
            "release",
            "release",
            settings,
            command=command,
            input=table.id,
            doing=f"making the release {name} of {table.name}",
        )
        keep_evidence(workspace, job, None)
    return redirect("/release")


def _further_options(
    project: Project, form: Mapping[str, str], made: Mapping[str, object]
) -> dict[str, object]:
    """Parse dates, tables of items and users, and what a release has in common with others."""
    options: dict[str, object] = {}
    for name in ("dates", "date_range", "cohort"):
        if text := form.get(name, "").strip():
            options[name] = text
    if text := form.get("epsilon", "").strip():
        options["epsilon"] = _parse_epsilon(text, made)
    if text := form.get("releases", "").strip():
        options["releases"] = _parse_whole("releases (--releases)", text)
    if number := form.get("previous"):
        earlier = [each for each in _list_continuable(project) if str(each.id) == number]
        if not earlier or earlier[0].settings["options"]["method"] != made["method"]:
            raise RecveilError(
                f"previous (--previous) {quoted(number, 20)}: expected a release of this project, "
                f"of the method sparse, or for planned releases of the method synthetic; choose "
                f"one of the same method",
                code="option.value",
            )
        name = "reuse" if made["method"] == SYNTHETIC.name else "previous"
        options[name] = str(private_folder(Path(earlier[0].settings["output"])))
    if text := form.get("item_table", "").strip():
        options["item_table"] = place_of(text).path
    users, attributes = parse_attributes(form)
    sensitive = form.get("sensitive_attribute", "").strip() or None
    check_attributes(users, [*(attributes or ()), *([sensitive] if sensitive else [])] or None)
    named = {"users": users, "attribute": attributes, "sensitive_attribute": sensitive}
    return options | {name: each for name, each in named.items() if each is not None}


def _parse_epsilon(text: str, made: Mapping[str, object]) -> float:
    """Parse an epsilon that replaces the method's own."""
    epsilon = parse_epsilon(text)
    if epsilon is None or not isinstance(made.get("epsilon"), float):
        raise RecveilError(
            f"epsilon (--epsilon) {quoted(text, 20)}: expected a number, with a method of "
            f"differential privacy; leave it empty, or choose such a method",
            code="option.unsupported",
        )
    return epsilon


def _list_continuable(project: Project) -> list[Job]:
    """Return the finished releases, of any table, that others can follow; the newest first."""
    made = [job for job in project.jobs() if (job.task, job.state) == ("release", "done")]
    options = [job.settings.get("options", {}) for job in made]
    return [
        job
        for job, each in zip(made, options, strict=True)
        if each.get("method") == SPARSE.name or "releases" in each
    ]


def _attack(request: Request) -> Response:
    workspace = workspace_of(request)
    job, result = _require_release(request)
    release, source = job.settings["output"], job.settings["source"]
    reading = job.settings["reading"]
    if load_decision(workspace.project, result) is None:
        keep_evidence(workspace, job, result)
    made = job.settings["options"]
    sensitive = made.get("sensitive_attribute")
    columns = made.get("attribute", ())
    if columns and "epsilon" in made:  # each with its public values
        columns = public_columns(columns).names
    attributes = [*columns, *([sensitive] if sensitive else [])]
    known = {"users": made["users"], "attribute": attributes} if attributes else {}
    options = {**reading, "release": release, "no_curves": True, **known}
    command = format_command("audit", source, options=options)
    settings: Settings = {"source": source, "reading": reading, **identify(job, result)}
    if attributes:
        settings |= {"users": made["users"], "attribute": attributes}
    workspace.jobs.start(
        _ATTACKS,
        "attack",
        settings,
        command=command,
        input=job.input,
        doing=f"attacking the release {Path(release).name}",
        release=job.id,
    )
    return redirect(f"/release?release={job.id}")


def _erase(request: Request) -> Response:
    """Report what a release has of a user, and make the table without them."""
    workspace, user = workspace_of(request), form_of(request).get("user", "").strip()
    job, result = _require_release(request)
    table = workspace.project.input(job.input or 0)
    if not 0 < len(user) <= _MOST_CHARACTERS:
        raise RecveilError(
            "the user’s id is missing or too long; enter it as the table writes it",
            code="option.required",
        )
    column = {"user_column": table.reading["user"]} if "user" in table.reading else {}
    reading = {name: each for name, each in table.reading.items() if name != "user"} | column
    name, release = result["name"], job.settings["output"]
    # The log must not name who was erased.
    options = {"user": "ID", "ratings": table.place, "output": CLEANED, **reading}

    def log_decision(ended: Job) -> None:
        found = workspace.project.result(workspace.project.job(ended.id))
        if found is not None:
            workspace.project.note(
                f"recorded the erasure of a user from the release {name}: {found['decision']}",
                input=job.input,
                release=job.id,
            )

    workspace.jobs.start(
        _ERASURES,
        "forget",
        {**source_settings(table), **identify(job, result), "user": user},
        command=format_command("forget", release, options=options),
        input=job.input,
        then=log_decision,
        doing=f"erasing a user from the release {name}",
        release=job.id,
    )
    return redirect(f"/release?release={job.id}#form-forget")


async def _prepare(request: Request) -> Response:
    """Load the table without an erased user, with the form for the release that comes next."""
    workspace = workspace_of(request)
    project = workspace.project
    job, result = _require_release(request)
    erasure = _job_about(workspace, "forget", job, result)
    found = project.result(erasure)
    if erasure is None or found is None:
        raise RecveilError(
            f"{result['name']}: no user was erased from it; enter the id of one first",
            code="workbench.not-found",
        )
    table, made = project.input(job.input or 0), job.settings["options"]
    copy = await receive(
        _pieces_of(project.job_folder(erasure.id) / CLEANED),
        f"{Path(table.name).stem}-{CLEANED}",
        project.folder_for(INPUT_FOLDER),
        most=workspace.most_bytes,
    )
    cleaned = project.add_input(copy.name, str(copy.path), copy.digest)
    values: Reading = {name: table.reading[name] for name in _OF_VALUES if name in table.reading}
    project.set_reading(cleaned.id, values | found["reading"])
    form = dict.fromkeys(_FIELDS, "") | dict(job.settings.get("entered", {}))
    is_followed = found["decision"] != "replace" and made["method"] == SPARSE.name
    is_followed |= "releases" in made
    form |= {"previous": str(job.id) if is_followed else "", **dict.fromkeys(found["lost"], "")}
    project.save_for(cleaned, "prepared", form)
    project.note(f"loaded {copy.name}: {table.name} without an erased user", input=cleaned.id)
    await run_in_threadpool(start_inspecting, workspace, project.input(cleaned.id))
    return redirect("/release#form-make")


async def _pieces_of(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as stream:
        while piece := await run_in_threadpool(stream.read, _AT_ONCE):
            yield piece


def _convert(request: Request) -> Response:
    """Write the published rows in a layout that recipients load."""
    workspace, form = workspace_of(request), form_of(request)
    job, result = _require_release(request)
    require_kept_claim(result, "converted")
    layout, share = form.get("target_format", ""), form.get("split", "").strip()
    split_by = form.get("split_by", _SPLITS[0])
    for name, value, allowed in (
        ("target_format (--target-format)", layout, sorted(FOLDERS)),
        ("split_by (--split-by)", split_by, _SPLITS),
    ):
        if value not in allowed:
            raise RecveilError(
                f"{name} {quoted(value, 20)}: expected one of {', '.join(allowed)}",
                code="option.value",
            )
    options: dict[str, Any] = {"target_format": layout}
    if share:
        options |= {"split": _parse_share(share), "split_by": split_by}
    name, release = f"{result['name']}-{layout}", job.settings["output"]
    workspace.jobs.start(
        _LAYOUTS,
        "convert",
        {**identify(job, result), "name": name, "options": options},
        command=format_command("convert", release, name, options=options),
        input=job.input,
        doing=f"converting the release {result['name']} to {layout}",
        release=job.id,
    )
    return redirect(f"/release?release={job.id}#form-convert")


def _parse_share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise RecveilError(
            f"split (--split) {quoted(text, 20)}: expected a share between 0 and 1, such as 0.2",
            code="option.value",
        )
    return share


def _describe(request: Request) -> Response:
    """Save the publisher's card, and describe the release for data portals."""
    workspace, form = workspace_of(request), form_of(request)
    job, result = _require_release(request)
    fields = {name: form.get(name, "").replace("\r\n", "\n").strip() for name in _LABELS}
    fields = {name: text for name, text in fields.items() if text}
    card = workspace.project.folder_for(_RELEASES) / f"{result['name']}.card.toml"
    _write_card(fields, card)
    workspace.project.save("card", fields)
    output = str(_description_file(workspace, result))
    settings: Settings = {**identify(job, result), "output": output, "card": str(card)}
    command = format_command(
        "describe", settings["release"], output, options={"card": card, "force": True}
    )
    workspace.jobs.start(
        _DESCRIPTIONS,
        "describe",
        settings,
        command=command,
        input=job.input,
        doing=f"describing the release {result['name']}",
        release=job.id,
    )
    return redirect(f"/release?release={job.id}")


def _write_card(fields: Mapping[str, str], file: Path) -> None:
    """Write a publisher's card as TOML, and raise if `PublisherCard` cannot read it."""
    lines = []
    for name, text in fields.items():
        keywords = [word.strip() for word in text.split(",") if word.strip()]
        value = json.dumps(keywords if name == "keywords" else text, ensure_ascii=False)
        lines.append(f"{name} = {value}\n")  # JSON's strings are TOML's
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FOR_OWNER)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as stream:
        stream.write("".join(lines))
    try:
        PublisherCard.read(file)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _sign(request: Request) -> Response:
    """Record in the log who decided to publish a release, why, and when."""
    workspace, form = workspace_of(request), form_of(request)
    project = workspace.project
    job, result = _require_release(request)
    require_kept_claim(result, "signed off")
    decision = {name: " ".join(form.get(name, "").split()) for name in DECISION}
    for name, text in decision.items():
        if not 0 < len(text) <= _MOST_CHARACTERS:
            raise RecveilError(
                f"{name.replace('_', ' ')}: expected 1 to {_MOST_CHARACTERS:,} characters, got "
                f"{len(text):,}",
                code="option.required",
            )
    _reject_wrong_date(decision["date"])
    published_files(Path(job.settings["output"]), result["sha256"])  # raises if one has changed
    keep_evidence(workspace, job, result)
    earlier = load_decision(project, result)
    bound = {
        "evidence": digest_evidence(project, job),
        "last_job": project.jobs()[0].id,
        "recorded_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "earlier": [] if earlier is None else list(_all_decisions(earlier)),
    }
    project.save(key_of_decision(result), decision | bound)
    project.note(
        f"signed off the release {result['name']} (SHA-256 {result['sha256']}): decided by "
        f"{decision['decided_by']} on {decision['date']}, because: {decision['because']}",
        input=job.input,
        release=job.id,
    )
    return redirect(f"/release?release={job.id}")


def _reject_wrong_date(text: str) -> None:
    """Raise for a decision on a day that has not begun here, or anywhere if the clock is UTC's."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise RecveilError(
            f"date {quoted(text, 20)}: expected a date such as 2026-01-31", code="option.value"
        ) from None
    if day > _today():
        raise RecveilError(
            f"date {text}: is in the future; a decision is recorded on its day or later, so "
            f"expected at most {_today()}",
            code="option.value",
        )


def _today() -> date:
    """Return the date here, or that of the log (UTC) if it is later."""
    now = datetime.now(UTC)
    return max(now.date(), now.astimezone().date())


def _all_decisions(signed: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a decision, and those that it replaced, the newest first."""
    yield {name: each for name, each in signed.items() if name != "earlier"}
    yield from signed.get("earlier", ())


def _dossier(request: Request) -> Response:
    """Render everything about a release on one page for print, from its data to its sign-off."""
    workspace = workspace_of(request)
    project = workspace.project
    job, result = _require_release(request)
    table = project.input(job.input or 0)
    signed = load_decision(project, result)
    kept = load_evidence(project, job)
    if signed is None or not kept:
        kept |= find_evidence(workspace, job, result)
    compared = describe_compared(kept.get("compared"), kept.get("question"))
    attack_job, attack = next(attacks_on(project, job, result), (None, None))
    # Decisions of earlier versions have no digest.
    bound = {} if signed is None else signed
    is_altered = "evidence" in bound and bound["evidence"] != digest_evidence(project, job)
    return workspace.render_page(
        request,
        "dossier.html.jinja",
        input=table,
        has_changed=False,
        is_current=_is_current(project, table, job),
        job=job,
        result=result,
        table=table,
        inspected=kept.get("inspected"),
        audited=kept.get("audited"),
        setting=kept.get("setting"),
        compared=compared,
        made=None if compared is None else find_compared(job, compared["lines"]),
        verdict=describe_verdict(result["verification"]),
        files_problem=problem_of_files(Path(job.settings["output"]), result, signed is not None),
        statements=sort_statements(result["statements"]),
        attack_result=attack,
        is_later=attack_job is not None and attack_job.id > bound.get("last_job", attack_job.id),
        is_altered=is_altered,
        signed=signed,
        field_titles=FIELD_TITLES,
        releases=list_releases(project, job),
        log=project.log_of(job),
    )


def _assessment(request: Request) -> Response:
    """Return the report for an impact assessment, as `recveil report` writes it."""
    project = workspace_of(request).project
    job, result = _require_release(request)
    attack_job, attack = next(attacks_on(project, job, result), (None, None))
    if attack_job is None or attack is None or not {"risks", "options"} <= attack.keys():
        raise RecveilError(
            f"{result['name']}: was not attacked, but the report needs its three risks; attack it "
            f"first",
            code="workbench.not-found",
        )
    folder = Path(job.settings["output"])
    published_files(folder, result["sha256"])  # raises if one has changed
    signed, signature = load_decision(project, result), Signature()
    # A decision was made on what was measured before it.
    if signed is not None and attack_job.id <= signed.get("last_job", attack_job.id):
        signature = Signature(signed["decided_by"], "", signed["date"])
    page = render_assessment(folder, result["verification"], attack, signature)
    return send_report(page)


def _is_current(project: Project, table: Input, release: Job) -> bool:
    """Check whether a release was made from its table in the state and the reading of now."""
    return release.settings.get("reading", table.reading) == table.reading and is_current(
        project, table, release
    )


async def _download(request: Request) -> Response:
    """Send the published folder as a zip; the private folder is never read."""
    workspace = workspace_of(request)
    job, result = _require_release(request)
    require_kept_claim(result, "downloaded")
    folder = Path(job.settings["output"])
    files = await run_in_threadpool(published_files, folder, result["sha256"])
    description = workspace.project.result(_job_about(workspace, "describe", job, result))
    if description is not None:
        file = _description_file(workspace, result)
        await run_in_threadpool(_check_description, file, description["sha256"])
        files.append(ZipEntry(DESCRIPTION, file))
    workspace.project.note(
        f"downloaded the release {result['name']}", input=job.input, release=job.id
    )
    headers = {"content-disposition": f'attachment; filename="{result["name"]}.zip"'}
    return StreamingResponse(stream_zip(files), media_type="application/zip", headers=headers)


async def _download_layout(request: Request) -> Response:
    """Send a release in a layout for recipients as a zip, if its files are those that it wrote."""
    workspace = workspace_of(request)
    job, result = _require_release(request)
    layout = _job_about(workspace, "convert", job, result)
    found = workspace.project.result(layout)
    if layout is None or found is None:
        raise RecveilError(
            f"{result['name']}: is in no other layout yet; choose one", code="workbench.not-found"
        )
    name = layout.settings["name"]
    folder = workspace.project.job_folder(layout.id) / name
    files = await run_in_threadpool(converted_files, folder, found["files"])
    workspace.project.note(f"downloaded {name}", input=job.input, release=job.id)
    headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return StreamingResponse(stream_zip(files), media_type="application/zip", headers=headers)


def _check_description(file: Path, sha256: str) -> None:
    """Require the description of a release to be the one that the page showed."""
    reject_devices(file)
    if file.is_symlink() or not file.is_file() or FileEntry.of(file).sha256 != sha256:
        raise RecveilError(
            f"{file.name}: is not the description that was made of this release here; describe it "
            f"again",
            code="release.changed",
        )


def _report(request: Request) -> Response:
    missing = "page of an audit; attack the release again"
    return serve_report(request, ("attack",), AUDIT_PAGE, missing)


def _require_release(request: Request) -> tuple[Job, Result]:
    """Return the job that made a release, and its result."""
    project = workspace_of(request).project
    job = project.job(request.path_params["number"])
    result = project.result(job) if job.task == "release" else None
    if result is None:
        raise RecveilError(
            f"job {job.id} has made no release; choose one on the page Release",
            code="workbench.not-found",
        )
    name = str(result["name"])
    output = str(project.folder / _RELEASES / name)
    if not _NAME.fullmatch(name) or job.settings["output"] != output:
        raise RecveilError(
            f"job {job.id}: its release is outside the project; make it again",
            code="workbench.not-found",
        )
    return job, result


def _job_about(
    workspace: Workspace, task: str, release: Job | None, result: Result | None
) -> Job | None:
    """Return the newest job of a task about a release; None if there is none."""
    if release is None or result is None:
        return None
    identity = identify(release, result).items()
    for job in workspace.project.jobs():
        if job.task == task and identity <= job.settings.items():
            return job
    return None


def _description_file(workspace: Workspace, result: Result) -> Path:
    return workspace.project.folder / _RELEASES / f"{result['name']}.{DESCRIPTION}"


@brief
class Publishable(NamedTuple):
    """A method whose releases can be published, as far as the page shows it."""

    name: str
    description: str
    # What its claim states, in a few words
    promise: str
    # Whether it is compared by default or represents its kind; the others are shown on request
    is_main: bool
    # Whether it can take the list of rated items for public
    has_catalog: bool
    # What it does not protect from; may be empty
    caution: str


def _list_publishable(workspace: Workspace, table: Input) -> list[Publishable]:
    """Return the methods whose releases can be published, the default and small epsilons first."""
    inspected = workspace.project.result(workspace.project.last_job("data", table.id))
    usual = list_methods(of=feedback_of(inspected))
    variants = [variant_of(name) for name in usual if variant_of(name).about_claim.is_published]
    kinds = [each.kind for each in variants]
    variants.sort(
        key=lambda each: (kinds.index(each.kind), each.options.get("epsilon") or math.inf)
    )
    first = {each.kind: each.name for each in reversed(variants)}
    first |= {each.kind: each.name for each in variants if usual[each.name]}
    main = {*first.values(), *(each.name for each in variants if usual[each.name])}
    # Fills hide users only from adversaries who know neither ratings nor fills.
    main -= {each.name for each in variants if each.kind.startswith("k-corating")}
    return [
        Publishable(
            each.name,
            each.description,
            _promise_of(each),
            each.name in main,
            _CATALOG in each.options,
            _caution_of(each),
        )
        for each in variants
    ]


def _caution_of(variant: Variant) -> str:
    """Return the first sentence on what undoes a method's protection; empty if none is known."""
    about = variant.about_claim
    # Without rows of users, the promise states it.
    cautions = [about.caution, *undone_of(variant.name)] if about.contains_users else []
    return next((first_sentence_of(each) for each in cautions if each), "")


def _promise_of(variant: Variant) -> str:
    about = variant.about_claim
    if about.is_differential:
        return f"differential privacy, epsilon {variant.options['epsilon']:g}"
    if not about.contains_users:
        return "guarantees nothing: exact sums reveal who is in the data"
    return f"each {about.shared} is shared by at least k users"


def _free_name(workspace: Workspace, table: Input | None) -> str:
    """Return a name that no release has."""
    if table is None:
        return "release"
    folder = workspace.project.folder / _RELEASES
    number = 1
    while any(
        (folder / name).exists()
        for name in (f"release-{number}", private_name(f"release-{number}"))
    ):
        number += 1
    return f"release-{number}"


def _parse_whole(name: str, text: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdecimal()) or len(text) > 7 or not 2 <= int(text) <= _MOST_K:
        raise RecveilError(
            f"{name}: {quoted(text, 20)}; expected a whole number of at least 2",
            code="option.value",
        )
    return int(text)


ROUTES = [
    Route("/release", _page),
    Route("/release/make", _keeping(_make), methods=["POST"]),
    Route(f"/release/{NUMBER}/attack", _attack, methods=["POST"]),
    Route(f"/release/{NUMBER}/convert", _keeping(_convert), methods=["POST"]),
    Route(f"/release/{NUMBER}/forget", _keeping(_erase), methods=["POST"]),
    Route(f"/release/{NUMBER}/prepare", _prepare, methods=["POST"]),
    Route(f"/release/{NUMBER}/describe", _keeping(_describe), methods=["POST"]),
    Route(f"/release/{NUMBER}/sign", _keeping(_sign), methods=["POST"]),
    Route(f"/release/{NUMBER}/dossier", _dossier),
    Route(f"/release/{NUMBER}/assessment.html", _assessment),
    Route(f"/release/{NUMBER}/download", _download),
    Route(f"/release/{NUMBER}/layout", _download_layout),
    Route(f"/release/{NUMBER}/audit.html", _report),
]
