"""The room Data: a table is dropped or named, and what was understood of it is corrected."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recveil.runtime.errors import RecveilError
from recveil.workbench.bench import (
    Bench,
    bench_of,
    command_of,
    form_of,
    go_to,
    needed_table,
    take_dropped,
)
from recveil.workbench.project import INPUT_FOLDER, Input, Job, Uploaded
from recveil.workbench.risk_room import job_of_risk, start_auditing
from recveil.workbench.table_source import place_of, state_of, state_of_table
from recveil.workbench.tasks import COLUMNS, said_in

_ROOM = "data"


def _page(request: Request) -> Response:
    bench = bench_of(request)
    project = bench.project
    chosen = project.chosen_input()
    job = None if chosen is None else project.last_job(_ROOM, chosen.id)
    audited = None if chosen is None else job_of_risk(bench, chosen)
    verdict = (project.result(audited) or {}).get("verdict")
    return bench.page(
        request,
        "data.html.jinja",
        job=job,
        running=None if job is None else bench.jobs.running(job.id),
        found=project.result(job),
        verdict=verdict[0] if verdict else "",
        auditing=None if audited is None else bench.jobs.running(audited.id),
        said={} if chosen is None else chosen.reading,
        inputs=project.inputs(),
        columns=COLUMNS,
        most_bytes=bench.most_bytes,
    )


async def _upload(request: Request) -> Response:
    bench = bench_of(request)

    def begin(came: Uploaded) -> None:
        added = bench.project.add_input(came.name, str(came.path), came.digest)
        bench.project.note(f"dropped {came.name}, SHA-256 {came.digest}")
        start_inspecting(bench, added)

    return await take_dropped(request, INPUT_FOLDER, begin, "/data")


def _name(request: Request) -> Response:
    """Take what somebody names: it is read where it lies."""
    bench, form = bench_of(request), form_of(request)
    place = place_of(form.get("place", ""))
    state_of(place.path)  # what is refused is not noted
    added = bench.project.add_input(place.name, place.path)
    bench.project.set_reading(added.id, said_in(form))
    bench.project.note(f"named {place.path}")
    start_inspecting(bench, bench.project.input(added.id))
    return go_to("/data")


def _read_so(request: Request) -> Response:
    """Take what somebody says of how the table is to be read."""
    bench = bench_of(request)
    chosen = needed_table(bench)
    bench.project.set_reading(chosen.id, said_in(form_of(request)))
    bench.project.note(f"said how {chosen.name} is to be read")
    start_inspecting(bench, bench.project.input(chosen.id))
    return go_to("/data")


def _again(request: Request) -> Response:
    """Look again at a table that has changed."""
    bench = bench_of(request)
    chosen = needed_table(bench)
    start_inspecting(bench, chosen)
    return go_to("/data")


def _choose(request: Request) -> Response:
    bench_of(request).project.choose_input(_number_in(request))
    return go_to("/data")


async def _forget(request: Request) -> Response:
    """Remove a table from the project, and all that was found of it."""
    bench = bench_of(request)
    table = bench.project.input(_number_in(request))
    await run_in_threadpool(bench.jobs.end_all_of, table.id)
    await run_in_threadpool(bench.project.forget_input, table.id)
    bench.project.note(f"removed {table.name} from the project")
    return go_to("/data")


def _number_in(request: Request) -> int:
    """Return the number of the table that a form names."""
    number = form_of(request).get("input", "")
    if not (number.isascii() and number.isdecimal()) or len(number) > 9:
        raise RecveilError(
            "expected the number of a table; choose one of the list", code="option.value"
        )
    return int(number)


def start_inspecting(bench: Bench, table: Input) -> Job:
    """Look at a table, and audit it next, so that the verdict is there when somebody asks."""
    bench.jobs.cancel_room("risk")
    command = command_of("inspect", table.place, options=table.reading)
    bench.project.note(f"looked at {table.name}", command)

    def audit_next(_: Job) -> None:
        now: Any = bench.project.chosen_input()
        if now == table:  # nobody has said anything else meanwhile
            start_auditing(bench, table, curves=False)

    return bench.jobs.start(
        _ROOM,
        "inspect",
        {"source": table.place, "reading": table.reading, "seen": state_of_table(table)},
        command=command,
        input=table.id,
        then=audit_next,
    )


ROUTES = [
    Route("/data", _page),
    Route("/data/upload", _upload, methods=["PUT", "POST"]),
    Route("/data/name", _name, methods=["POST"]),
    Route("/data/reading", _read_so, methods=["POST"]),
    Route("/data/again", _again, methods=["POST"]),
    Route("/data/choose", _choose, methods=["POST"]),
    Route("/data/forget", _forget, methods=["POST"]),
]
