"""The page Risk, which reports how easily users are re-identified."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recveil.workbench.project import Input, Job, Result, Settings
from recveil.workbench.table_source import reject_changed, source_settings
from recveil.workbench.tasks import AUDIT_PAGE
from recveil.workbench.workspace import (
    NUMBER,
    Workspace,
    form_of,
    format_command,
    redirect,
    serve_report,
    workspace_of,
)


def _page(request: Request) -> Response:
    workspace = workspace_of(request)
    project = workspace.project
    table = project.chosen_input()
    job = workspace.newest_job("risk", table)
    result = project.result(job)
    folder = None if job is None else project.job_folder(job.id)
    return workspace.render_page(
        request,
        "risk.html.jinja",
        job=job,
        running=workspace.find_running(job),
        **_describe_duplicates(workspace, table, job),
        is_inspected=workspace.is_inspected(table),
        result=result,
        is_drawn=folder is not None and (folder / AUDIT_PAGE).is_file(),
        risk_file=str(folder / "risk.csv") if folder and result and result.get("risk") else None,
    )


def _start(request: Request) -> Response:
    workspace = workspace_of(request)
    table = workspace.require_table()
    reject_changed(workspace.project, table)
    start_auditing(workspace, table, curves=bool(form_of(request).get("curves")))
    return redirect("/risk")


def _report(request: Request) -> Response:
    missing = "page of an audit; run the audit again"
    return serve_report(request, ("audit", "check"), AUDIT_PAGE, missing)


def start_auditing(workspace: Workspace, table: Input, *, curves: bool) -> Job:
    """Start an audit of a table, which also writes its report."""
    options = {**table.reading, "no_curves": not curves}
    command = format_command("audit", table.place, options=options)
    doing = f"auditing {table.name}{' with all curves' if curves else ''}"
    settings: Settings = {**source_settings(table), "curves": curves}
    return workspace.jobs.start(
        "risk", "audit", settings, command=command, input=table.id, doing=doing
    )


def _describe_duplicates(
    workspace: Workspace, table: Input | None, job: Job | None
) -> Mapping[str, Any]:
    """Return how many duplicate rows a failed audit met, and which columns were read."""
    if table is None or job is None or job.state != "failed":
        return {"duplicates": 0, "roles": {}}
    inspected: Result = workspace.project.result(workspace.project.last_job("data", table.id)) or {}
    rows = inspected.get("rows", {"roles": [], "names": []})
    return {
        "duplicates": inspected.get("dropped", {}).get("duplicate", 0),
        "roles": {"user": "?", "item": "?"} | dict(zip(rows["roles"], rows["names"], strict=False)),
    }


ROUTES = [
    Route("/risk", _page),
    Route("/risk/start", _start, methods=["POST"]),
    Route(f"/risk/{NUMBER}/audit.html", _report),
]
