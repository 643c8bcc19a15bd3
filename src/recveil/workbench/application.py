"""Application: the pages of all rooms, behind the guard."""

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from recveil.errors import RecveilError
from recveil.workbench import (
    check_room,
    choose_room,
    data_room,
    log_room,
    release_room,
    risk_room,
)
from recveil.workbench.bench import Bench, bench_of, go_to
from recveil.workbench.guard import FAULT, Guard

if TYPE_CHECKING:
    from starlette.requests import Request

# Seconds between two looks at a job that runs.
_SOON = 0.2


def make_application(bench: Bench, port: int) -> Guard:
    """Build the application of a workbench that listens at a port.

    Parameters
    ----------
    bench : Bench
    port : int
    """
    with as_file(files("recveil.workbench") / "static") as folder:
        static = StaticFiles(directory=folder)
    application = Starlette(
        routes=[
            Route("/", _home),
            *data_room.ROUTES,
            *risk_room.ROUTES,
            *choose_room.ROUTES,
            *release_room.ROUTES,
            *check_room.ROUTES,
            *log_room.ROUTES,
            Route("/static/look.css", _look),
            Route("/jobs/{number:int}/events", _events),
            Route("/jobs/{number:int}/cancel", _cancel, methods=["POST"]),
            Mount("/static", static),
        ],
        exception_handlers={
            RecveilError: _tell_error,
            HTTPException: _tell_missing,
            Exception: _tell_fault,
        },
    )
    application.state.bench = bench
    return Guard(application, bench.keys, port)


async def _home(_: "Request") -> Response:
    return go_to("/data")


async def _look(_: "Request") -> Response:
    """Give the look that the workbench shares with the reports."""
    look = files("recveil.report").joinpath("look.css").read_text(encoding="utf-8")
    return Response(look, media_type="text/css")


async def _cancel(request: "Request") -> Response:
    bench = bench_of(request)
    job = bench.project.job(request.path_params["number"])
    bench.jobs.cancel(job.id)
    bench.project.note(f"cancelled: {job.task}")
    return go_to(f"/{job.room}")


async def _events(request: "Request") -> Response:
    """Tell how far a job is, until it ends, as server-sent events."""
    bench = bench_of(request)
    number = bench.project.job(request.path_params["number"]).id
    return StreamingResponse(_news(bench, number), media_type="text/event-stream")


async def _news(bench: Bench, number: int) -> AsyncIterator[str]:
    last, n_told = "", 0
    while (running := bench.jobs.running(number)) is not None:
        told = bench.fragment("progress.html.jinja", running=running)
        if told != last:
            yield _event("progress", told)
            last = told
        if len(running.told) > n_told:
            n_told = len(running.told)
            yield _event("told", str(n_told))
        await asyncio.sleep(_SOON)
    yield _event("ended", bench.project.job(number).state)


def _event(name: str, text: str) -> str:
    data = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{data}\n"


async def _tell_error(request: "Request", error: Exception) -> Response:
    return bench_of(request).page(request, "error.html.jinja", 400, error=str(error))


async def _tell_missing(request: "Request", error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    told = "There is no such page." if status == 404 else "This page cannot be asked for so."
    return bench_of(request).page(request, "error.html.jinja", status, error=told)


async def _tell_fault(request: "Request", _: Exception) -> Response:
    """Say that it is our fault; the guard hears the error next, and shows it to whoever asked."""
    return bench_of(request).page(request, "error.html.jinja", 500, error=FAULT)
