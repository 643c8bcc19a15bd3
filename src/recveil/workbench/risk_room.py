"""The room Risk: how easily the people of the table are found, the verdict first."""

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from recveil.runtime.errors import RecveilError
from recveil.workbench.bench import (
    NUMBER,
    Bench,
    bench_of,
    command_of,
    form_of,
    go_to,
    is_inspected,
    needed_table,
    newest_of,
)
from recveil.workbench.project import RESULT, Input, Job
from recveil.workbench.table_source import reject_changed, state_of_table
from recveil.workbench.tasks import AUDIT_PAGE

_ROOM, _DRAWING = "risk", "page of the audit"
# Tasks that have an audit's page drawn.
_WITH_PAGE = ("audit", "check")
# The page of an audit brings its own style; it can load, run and send nothing.
_OF_ITS_OWN = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"


def _page(request: Request) -> Response:
    bench = bench_of(request)
    chosen = bench.project.chosen_input()
    job = None if chosen is None else job_of_risk(bench, chosen)
    found = bench.project.result(job)
    return bench.page(
        request,
        "risk.html.jinja",
        job=job,
        running=None if job is None else bench.jobs.running(job.id),
        **_repeats(bench, chosen, job),
        is_inspected=is_inspected(bench, chosen),
        found=found,
        drawing=bench.jobs.running_in(_DRAWING),
        is_drawn=job is not None and (bench.project.job_folder(job.id) / AUDIT_PAGE).is_file(),
        risk_file=None
        if job is None or not (found or {}).get("risk")
        else str(bench.project.job_folder(job.id) / "risk.csv"),
    )


def _start(request: Request) -> Response:
    bench = bench_of(request)
    chosen = needed_table(bench)
    reject_changed(bench.project, chosen)
    start_auditing(bench, chosen, curves=bool(form_of(request).get("curves")))
    return go_to("/risk")


def _whole(request: Request) -> Response:
    """Show the page of the audit, which stands alone."""
    bench = bench_of(request)
    job = bench.project.job(request.path_params["number"])
    file = bench.project.job_folder(job.id) / AUDIT_PAGE
    if job.task not in _WITH_PAGE or not file.is_file():
        raise RecveilError(
            f"job {job.id} has no page of an audit; run the audit again", code="workbench.not-found"
        )
    text = file.read_bytes()
    return HTMLResponse(text, headers={"content-security-policy": _OF_ITS_OWN})


def job_of_risk(bench: Bench, table: Input) -> Job | None:
    """Return the newest audit of a table, read as it is read now; None if there is none."""
    return newest_of(bench, _ROOM, table)


def start_auditing(bench: Bench, table: Input, *, curves: bool) -> Job:
    """Ask how easily the people of a table are found."""

    def draw_next(job: Job) -> None:
        place = str(bench.project.job_folder(job.id))
        settings = {"folder": place, "result": RESULT}
        bench.jobs.start(_DRAWING, "draw audit", settings, input=table.id)

    command = command_of("audit", table.place, options={**table.reading, "no_curves": not curves})
    bench.project.note(f"audited {table.name}{' with all curves' if curves else ''}", command)
    return bench.jobs.start(
        _ROOM,
        "audit",
        {
            "source": table.place,
            "reading": table.reading,
            "curves": curves,
            "seen": state_of_table(table),
        },
        command=command,
        input=table.id,
        then=draw_next,
    )


def _repeats(bench: Bench, table: Input | None, job: Job | None) -> dict[str, Any]:
    """Return how many rows stood before, and what was read as what, where an audit failed."""
    if table is None or job is None or job.state != "failed":
        return {"repeats": 0, "roles": {}}
    seen = bench.project.result(bench.project.last_job("data", table.id)) or {}
    rows = seen.get("rows", {"roles": [], "names": []})
    return {
        "repeats": seen.get("dropped", {}).get("duplicate", 0),
        "roles": {"user": "?", "item": "?"} | dict(zip(rows["roles"], rows["names"], strict=False)),
    }


ROUTES = [
    Route("/risk", _page),
    Route("/risk/start", _start, methods=["POST"]),
    Route(f"/risk/{NUMBER}/audit.html", _whole),
]
