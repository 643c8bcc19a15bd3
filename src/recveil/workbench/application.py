"""Application: the pages of all rooms, behind the guard."""

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from recveil.runtime.errors import RecveilError
from recveil.workbench import (
    check_room,
    choose_room,
    data_room,
    log_room,
    release_room,
    risk_room,
)
from recveil.workbench.bench import NUMBER, Bench, bench_of, go_to
from recveil.workbench.guard import FAULT, Application, Guard, Receive, RefusedError, Scope, Send

if TYPE_CHECKING:
    from starlette.requests import Request

NO_PAGE = "There is no such page."


def make_application(bench: Bench, port: int) -> Guard:
    """Build the application of a workbench that listens at a port."""
    application = Starlette(
        routes=[
            Route("/", _home),
            *data_room.ROUTES,
            *risk_room.ROUTES,
            *choose_room.ROUTES,
            *release_room.ROUTES,
            *check_room.ROUTES,
            *log_room.ROUTES,
            Route(f"/jobs/{NUMBER}/progress", _progress),
            Route(f"/jobs/{NUMBER}/cancel", _cancel, methods=["POST"]),
        ],
        exception_handlers={
            RecveilError: _tell_error,
            HTTPException: _tell_missing,
            Exception: _tell_fault,
        },
    )
    application.state.bench = bench
    return Guard(application, _make_public(), bench.keys, port)


def _make_public() -> Application:
    """Build what gives our own files to everybody: it knows no project that it could tell of."""
    with as_file(files("recveil.workbench") / "static") as folder:
        static = StaticFiles(directory=folder)
    router = Router([Route("/static/look.css", _look), Mount("/static", static)])

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await router(scope, receive, send)
        except HTTPException:
            raise RefusedError(404, NO_PAGE) from None

    return answer


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
    return go_to(f"/{job.room.partition(' ')[0]}")  # "release attack" is on the page release


async def _progress(request: "Request") -> Response:
    """Tell how far a job is; a page asks again and again, as no browser keeps many streams open.

    That a job has ended, or was removed, is said as often as somebody asks: a page that missed it
    once, or could not be read then, hears it again a second later.
    """
    bench, number = bench_of(request), request.path_params["number"]
    running = bench.jobs.running(number)
    n_told = 0 if running is None else len(running.told)
    text = bench.fragment("progress.html.jinja", number=number, running=running, n_told=n_told)
    # What is of it now is read by whatever on the page waits for this.
    if running is None:
        return HTMLResponse(text, headers={"hx-trigger": f"ended-{number}"})
    known = request.query_params.get("told", "")
    headers = {} if known == str(n_told) else {"hx-trigger": f"told-{number}"}
    return HTMLResponse(text, headers=headers)


async def _tell_error(request: "Request", error: Exception) -> Response:
    return bench_of(request).error_page(request, 400, str(error))


async def _tell_missing(request: "Request", error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    told = NO_PAGE if status == 404 else "This page cannot be asked for so."
    return bench_of(request).error_page(request, status, told)


async def _tell_fault(request: "Request", _: Exception) -> Response:
    """Say that it is our fault; the guard hears the error next, and shows it to whoever asked."""
    return bench_of(request).error_page(request, 500, FAULT)
