"""The routes of all pages, behind the guard."""

from importlib.resources import as_file, files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from recveil.runtime.errors import RecveilError
from recveil.workbench.guard import FAULT, Application, Guard, Receive, RefusedError, Scope, Send
from recveil.workbench.views import check, choose, data, release, risk
from recveil.workbench.workspace import NUMBER, Workspace, redirect, workspace_of

_NO_PAGE = "There is no such page."


def make_application(workspace: Workspace, port: int) -> Guard:
    """Build the application of a workbench that listens at a port."""
    application = Starlette(
        routes=[
            Route("/", _home),
            *data.ROUTES,
            *risk.ROUTES,
            *choose.ROUTES,
            *release.ROUTES,
            *check.ROUTES,
            Route("/log", _log),
            Route(f"/jobs/{NUMBER}/progress", _progress),
            Route(f"/jobs/{NUMBER}/cancel", _cancel, methods=["POST"]),
        ],
        exception_handlers={
            RecveilError: _handle_error,
            HTTPException: _handle_http_error,
            Exception: _handle_fault,
        },
    )
    application.state.workspace = workspace
    return Guard(application, _serve_static(), workspace.keys, port)


def _serve_static() -> Application:
    """Build the application that serves static files to any client; it has no project."""
    with as_file(files("recveil.workbench") / "static") as folder:
        static = StaticFiles(directory=folder)
    router = Router([Route("/static/look.css", _style), Mount("/static", static)])

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await router(scope, receive, send)
        except HTTPException:
            raise RefusedError(404, _NO_PAGE) from None

    return answer


async def _home(_: Request) -> Response:
    return redirect("/data")


async def _style(_: Request) -> Response:
    """Return the style sheet that the workbench shares with the reports."""
    style = files("recveil.report").joinpath("look.css").read_text(encoding="utf-8")
    return Response(style, media_type="text/css")


def _log(request: Request) -> Response:
    workspace = workspace_of(request)
    return workspace.render_page(
        request,
        "log.html.jinja",
        log=workspace.project.log(),
        jobs=workspace.project.jobs(),
        inputs={each.id: each.name for each in workspace.project.inputs()},
    )


async def _cancel(request: Request) -> Response:
    workspace = workspace_of(request)
    job = workspace.project.job(request.path_params["number"])
    workspace.jobs.cancel(job.id)
    workspace.project.note(f"cancelled: {job.task}")
    return redirect(f"/{job.room.partition(' ')[0]}")  # "release attack" is on the page release


async def _progress(request: Request) -> Response:
    """Report the progress of a job; pages poll, as browsers keep few streams open.

    The event that a job has ended is sent at every poll, so that a page which missed it gets it
    a second later.
    """
    workspace, number = workspace_of(request), request.path_params["number"]
    running = workspace.jobs.running(number)
    n_reports = 0 if running is None else len(running.reports)
    text = workspace.render_fragment(
        "progress.html.jinja", number=number, running=running, n_reports=n_reports
    )
    if running is None:
        return HTMLResponse(text, headers={"hx-trigger": f"ended-{number}"})
    is_known = request.query_params.get("n_reports", "") == str(n_reports)
    return HTMLResponse(text, headers={} if is_known else {"hx-trigger": f"reported-{number}"})


async def _handle_error(request: Request, error: Exception) -> Response:
    return workspace_of(request).render_error(request, 400, str(error))


async def _handle_http_error(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    text = _NO_PAGE if status == 404 else "This page does not accept such a request."
    return workspace_of(request).render_error(request, status, text)


async def _handle_fault(request: Request, _: Exception) -> Response:
    """Report a fault of recveil; the guard gets the error next, and may print it."""
    return workspace_of(request).render_error(request, 500, FAULT)
