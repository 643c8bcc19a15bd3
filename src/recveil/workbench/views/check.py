"""The page Check, which verifies a published release and attacks it."""

import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recveil.release.claim import claim_kind, published_claims
from recveil.report.verification import describe_verdict
from recveil.runtime.errors import RecveilError, quoted
from recveil.workbench.project import CHECKED, Job, Result, Settings, Uploaded
from recveil.workbench.table_source import place_of
from recveil.workbench.tasks import AUDIT_PAGE, UNPACKED
from recveil.workbench.workspace import (
    Workspace,
    form_of,
    format_command,
    receive_upload,
    redirect,
    workspace_of,
)

# The release to check is saved in the project under this key.
_KEY, _FIELDS = "checked", ("name", "place", "dropped")
_COLUMNS = ("user", "item", "rating")
_MOST_K = 10**9


def _page(request: Request) -> Response:
    workspace = workspace_of(request)
    project = workspace.project
    release = project.load(_KEY, fields=_FIELDS)
    job = project.last_job("check")
    if job is None or release is None or job.settings["place"] != release["place"]:
        job = None
    result = project.result(job)
    return workspace.render_page(
        request,
        "check.html.jinja",
        release=release,
        job=job,
        running=workspace.find_running(job),
        result=result,
        verdict=describe_verdict(result["verification"]) if result else "",
        options={} if job is None else job.settings["options"],
        lacks_private=release is not None and _lacks_private(release, result),
        with_table=job is not None and bool(job.settings["source"]),
        is_drawn=job is not None and (project.job_folder(job.id) / AUDIT_PAGE).is_file(),
        claims=published_claims(),
        columns=_COLUMNS,
        commands=_format_commands(job, result) if job and result else [],
    )


def _lacks_private(release: Mapping[str, Any], result: Result | None) -> bool:
    """Return whether an attack would need a private folder, which no zip has."""
    if result is None or not (release["dropped"] and result["is_release"]):
        return False
    return claim_kind(result["verification"]["claim"]).contains_users


async def _upload(request: Request) -> Response:
    """Store an uploaded zip of a release, or a table, and check it."""
    workspace = workspace_of(request)

    def start(upload: Uploaded) -> None:
        release = {"name": upload.name, "place": str(upload.path), "dropped": True}
        workspace.project.save(_KEY, release)
        workspace.project.note(
            f"uploaded {_in_quotes(upload.name)} to be checked, SHA-256 {upload.digest}"
        )
        _start(workspace, {}, with_table=False)

    return await receive_upload(request, CHECKED, start, "/check")


def _name(request: Request) -> Response:
    """Check a release by its path; it is read in place."""
    workspace = workspace_of(request)
    place = place_of(form_of(request).get("place", ""), is_release=True)
    workspace.project.save(_KEY, {"name": place.name, "place": place.path, "dropped": False})
    workspace.project.note(f"named {place.path} to be checked")
    _start(workspace, {}, with_table=False)
    return redirect("/check")


def _check_again(request: Request) -> Response:
    """Check the same release with other options."""
    workspace, form = workspace_of(request), form_of(request)
    if workspace.project.load(_KEY, fields=_FIELDS) is None:
        raise RecveilError(
            "there is nothing to check yet; upload or name a release", code="workbench.not-ready"
        )
    _start(workspace, _parse_options(form), with_table=bool(form.get("with_table")))
    return redirect("/check")


async def _forget(request: Request) -> Response:
    """Remove all uploads of this page, with all results about them."""
    workspace = workspace_of(request)
    await run_in_threadpool(workspace.jobs.end_room, "check")
    await run_in_threadpool(_remove, workspace)
    workspace.project.note("removed what was checked from the project")
    return redirect("/check")


def _remove(workspace: Workspace) -> None:
    """Remove files, results and names; the log still states that and when a check ran."""
    project = workspace.project
    release = project.load(_KEY, fields=_FIELDS)
    releases = [release] if release else []
    releases += [job.settings for job in project.jobs() if job.room == "check"]
    for name in {each["name"] for each in releases if each["dropped"]}:
        project.strike(_in_quotes(name), "a removed file")
    project.forget_room("check", _KEY)
    # Links are not followed: their targets stay.
    shutil.rmtree(project.folder / CHECKED, ignore_errors=True)


def _in_quotes(name: str) -> str:
    return f"“{name}”"


def _parse_options(form: Mapping[str, str]) -> Mapping[str, str | int]:
    """Return form fields as keywords for `recveil.verification.verify`."""
    options: dict[str, str | int] = {
        name: form[name].strip() for name in _COLUMNS if form.get(name, "").strip()
    }
    k, claim = form.get("k", "").strip(), form.get("claim", "")
    if k and not (k.isascii() and k.isdecimal() and 0 < int(k[:12]) <= _MOST_K):
        raise RecveilError(
            f"k is {quoted(k)}; expected the least number of users per row, such as 5",
            code="option.value",
        )
    if claim and claim not in published_claims():
        raise RecveilError(
            f"claim {quoted(claim)}: expected one of {', '.join(published_claims())}",
            code="claim.unknown",
        )
    return options | ({"k": int(k)} if k else {}) | ({"claim": claim} if claim else {})


def _start(workspace: Workspace, options: Mapping[str, str | int], *, with_table: bool) -> Job:
    project = workspace.project
    release = project.load(_KEY, fields=_FIELDS)
    table = project.chosen_input() if with_table else None
    for job in project.jobs():  # earlier uploads stay, their unpacked files do not
        if job.room == "check":
            shutil.rmtree(project.job_folder(job.id) / UNPACKED, ignore_errors=True)
    project.note(f"started checking {_in_quotes(release['name'])}")

    def log_result(job: Job) -> None:
        result = project.result(project.job(job.id))
        if result is not None:
            verdict = _log_verdict(result["verification"])
            lines = "\n".join(_format_commands(job, result))
            project.note(f"verified {_in_quotes(job.settings['name'])}: {verdict}", lines)

    settings: Settings = {
        "name": release["name"],
        "place": release["place"],
        "dropped": release["dropped"],
        "options": options,
        "source": table.place if table else "",
        "reading": table.reading if table else {},
    }
    number = table.id if table else None
    return workspace.jobs.start("check", "check", settings, input=number, then=log_result)


def _log_verdict(verification: Mapping[str, Any]) -> str:
    if verification["holds"]:
        return "it holds"
    if verification.get("k_claimed") is not None:
        return "it keeps its claim, but not the stricter requirement"
    return "it does not hold"


def _format_commands(job: Job, result: Result) -> list[str]:
    """Return the commands that repeat a check from a copy of the release."""
    settings, unpacked = job.settings, result.get("unpacked")
    place, commands = settings["place"], []
    if unpacked is not None:
        # The unpacked folder is removed at the next check, so the commands unpack the zip anew.
        name = settings["name"]
        source = f"./{name}" if name.startswith("-") else name
        folder = Path(place).stem
        commands.append(shlex.join(["python", "-m", "zipfile", "-e", source, folder]))
        place = str(PurePosixPath(folder, unpacked["within"]))
    commands.append(format_command("verify", place, options=settings["options"]))
    if settings["source"] and result["is_release"]:
        options = {**settings["reading"], "release": place, "no_curves": True}
        commands.append(format_command("audit", settings["source"], options=options))
    return commands


ROUTES = [
    Route("/check", _page),
    Route("/check/upload", _upload, methods=["PUT", "POST"]),
    Route("/check/name", _name, methods=["POST"]),
    Route("/check/again", _check_again, methods=["POST"]),
    Route("/check/forget", _forget, methods=["POST"]),
]
