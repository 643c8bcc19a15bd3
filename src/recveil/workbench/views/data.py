"""The page Data, which loads a table and corrects how its columns are read."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recveil.runtime.errors import RecveilError
from recveil.workbench.project import INPUT_FOLDER, Input, Job, Uploaded
from recveil.workbench.table_source import place_of, source_settings, state_of
from recveil.workbench.tasks import COLUMNS, reading_options
from recveil.workbench.views.risk import start_auditing
from recveil.workbench.workspace import (
    Workspace,
    form_of,
    format_command,
    receive_upload,
    redirect,
    workspace_of,
)


def _page(request: Request) -> Response:
    workspace = workspace_of(request)
    project = workspace.project
    table = project.chosen_input()
    job = None if table is None else project.last_job("data", table.id)
    audit_job = workspace.newest_job("risk", table)
    audited = project.result(audit_job)
    return workspace.render_page(
        request,
        "data.html.jinja",
        job=job,
        running=workspace.find_running(job),
        result=project.result(job),
        verdict=audited["verdict"][0] if audited else "",
        running_audit=workspace.find_running(audit_job),
        reading={} if table is None else table.reading,
        inputs=project.inputs(),
        columns=COLUMNS,
        most_bytes=workspace.most_bytes,
    )


async def _upload(request: Request) -> Response:
    workspace = workspace_of(request)

    def start(upload: Uploaded) -> None:
        table = workspace.project.add_input(upload.name, str(upload.path), upload.digest)
        workspace.project.note(f"uploaded {upload.name}, SHA-256 {upload.digest}")
        _start_inspecting(workspace, table)

    return await receive_upload(request, INPUT_FOLDER, start, "/data")


def _name(request: Request) -> Response:
    """Add a table by path or address; it is read in place."""
    workspace, form = workspace_of(request), form_of(request)
    place = place_of(form.get("place", ""))
    state_of(place.path)  # raises before anything is recorded
    table = workspace.project.add_input(place.name, place.path)
    workspace.project.set_reading(table.id, reading_options(form))
    workspace.project.note(f"named {place.path}")
    _start_inspecting(workspace, workspace.project.input(table.id))
    return redirect("/data")


def _set_reading(request: Request) -> Response:
    """Store reading options, and inspect the table again."""
    workspace = workspace_of(request)
    table = workspace.require_table()
    workspace.project.set_reading(table.id, reading_options(form_of(request)))
    workspace.project.note(f"changed how {table.name} is read")
    _start_inspecting(workspace, workspace.project.input(table.id))
    return redirect("/data")


def _inspect_again(request: Request) -> Response:
    workspace = workspace_of(request)
    _start_inspecting(workspace, workspace.require_table())
    return redirect("/data")


def _choose(request: Request) -> Response:
    workspace_of(request).project.choose_input(_input_number(request))
    return redirect("/data")


async def _forget(request: Request) -> Response:
    """Remove a table from the project, with all results about it."""
    workspace = workspace_of(request)
    table = workspace.project.input(_input_number(request))
    await run_in_threadpool(workspace.jobs.end_all_of, table.id)
    await run_in_threadpool(workspace.project.forget_input, table.id)
    workspace.project.note(f"removed {table.name} from the project")
    return redirect("/data")


def _input_number(request: Request) -> int:
    """Parse the number of the table that a form names."""
    number = form_of(request).get("input", "")
    if not (number.isascii() and number.isdecimal()) or len(number) > 9:
        raise RecveilError(
            "expected the number of a table; choose one of the list", code="option.value"
        )
    return int(number)


def _start_inspecting(workspace: Workspace, table: Input) -> Job:
    """Start an inspection of a table, and an audit after it."""
    workspace.jobs.cancel_room("risk")
    command = format_command("inspect", table.place, options=table.reading)
    workspace.project.note(f"inspected {table.name}", command)

    def audit_next(_: Job) -> None:
        if workspace.project.chosen_input() == table:  # unless the user changed it meanwhile
            start_auditing(workspace, table, curves=False)

    return workspace.jobs.start(
        "data", "inspect", source_settings(table), command=command, input=table.id, then=audit_next
    )


ROUTES = [
    Route("/data", _page),
    Route("/data/upload", _upload, methods=["PUT", "POST"]),
    Route("/data/name", _name, methods=["POST"]),
    Route("/data/reading", _set_reading, methods=["POST"]),
    Route("/data/again", _inspect_again, methods=["POST"]),
    Route("/data/choose", _choose, methods=["POST"]),
    Route("/data/forget", _forget, methods=["POST"]),
]
