"""State and helpers that all pages share."""

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from recveil.io.options import format_command as format_any_command
from recveil.report.audit.disclosure import MADE_ALIKE
from recveil.report.document import same_figures
from recveil.report.glossary import SHORT_MEANINGS
from recveil.runtime.errors import RecveilError, printable_lines
from recveil.runtime.number_format import format_bounds, format_duration, format_number, percent
from recveil.workbench.guard import FILE_NAME, FORM, Keys
from recveil.workbench.jobs import Jobs, Running
from recveil.workbench.project import (
    LONGEST_NAME,
    MOST_BYTES,
    Input,
    Job,
    Project,
    Uploaded,
    receive,
)
from recveil.workbench.table_source import has_changed, is_current
from recveil.workbench.wording import page_words


class _Number(IntegerConvertor):
    """A number that fits into a database column."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", _Number())
NUMBER = "{number:number}"
# The settings file that the command line takes options from, if the folder has one.
SETTINGS_FILE = "recveil.toml"
# Titles in the navigation, in the order in which a publisher visits the pages.
PAGES = {
    "data": "Data",
    "risk": "Risk",
    "choose": "Choose",
    "release": "Release",
    "check": "Check",
    "log": "Log",
}
# A report brings inline style; it can load, run and send nothing.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"


class Workspace:
    """The project, its running jobs and the secrets of one workbench."""

    def __init__(
        self, project: Project, *, most_bytes: int = MOST_BYTES, has_spare: bool = False
    ) -> None:
        self.project = project
        self.jobs = Jobs(project, has_spare=has_spare)
        self.keys = Keys()
        self.most_bytes = most_bytes
        # Pages are rendered in several threads; two tabs may start a release at once.
        self.start_lock = threading.Lock()
        # Names and ids come from users' data: all text is escaped, and characters that hide or
        # reverse text are written as escapes.
        self._templates = Environment(
            loader=ChoiceLoader(
                [PackageLoader("recveil.workbench"), PackageLoader("recveil.report", "")]
            ),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=printable_lines,
        )
        self._templates.filters |= {
            "percent": percent,
            "bounds": format_bounds,
            "count": format_number,
            "duration": format_duration,
            "page_words": page_words,
            "same_figures": same_figures,
        }
        self._templates.globals |= {"meanings": SHORT_MEANINGS, "made_alike": MADE_ALIKE}

    def render_page(
        self, request: Request, name: str, *, status: int = 200, **values: Any
    ) -> Response:
        """Render a page on the current table."""
        table = self.project.chosen_input()
        shared = {
            "unnoted": self.project.lost | self.jobs.unnoted(),
            "input": table,
            "has_changed": has_changed(self.project, table),
        }
        return self._render(request, name, status, shared | values)

    def render_error(self, request: Request, status: int, error: str) -> Response:
        """Render an error page without reading the project, which could fail as well."""
        values = {"input": None, "has_changed": False, "error": error}
        return self._render(request, "error.html.jinja", status, values)

    def _render(
        self, request: Request, name: str, status: int, values: Mapping[str, Any]
    ) -> Response:
        page = request.url.path.strip("/").partition("/")[0]
        text = self.render_fragment(
            name,
            pages=PAGES,
            current_page=page,
            # What a page loads again; a form that was sent cannot be.
            address="" if request.method == "GET" else f"/{page}",
            change=self.keys.change,
            project=str(self.project.folder),
            **values,
        )
        # Names that are not Unicode cannot be sent.
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def render_fragment(self, name: str, **values: Any) -> str:
        """Render a part of a page."""
        return self._templates.get_template(name).render(**values)

    def find_running(self, job: Job | None) -> Running | None:
        """Return the running state of a job; None if it is not running."""
        return None if job is None else self.jobs.running(job.id)

    def require_table(self) -> Input:
        """Return the current table; raise if there is none."""
        table = self.project.chosen_input()
        if table is None:
            raise RecveilError(
                "there is no table yet; upload or name one on the page Data",
                code="workbench.not-ready",
            )
        return table

    def is_inspected(self, table: Input | None) -> bool:
        """Check whether the inspection of a table has a result."""
        job = None if table is None else self.project.last_job("data", table.id)
        return self.project.result(job) is not None

    def estimates(self, table: Input | None) -> dict[str, float]:
        """Return the seconds that the next steps take, by the table's last inspection."""
        job = None if table is None else self.project.last_job("data", table.id)
        result = self.project.result(job)
        return result.get("seconds", {}) if result else {}

    def newest_job(self, room: str, table: Input | None) -> Job | None:
        """Return the newest job of a page on a table as it is read now; None if there is none."""
        job = None if table is None else self.project.last_job(room, table.id)
        if table is None or job is None or job.settings["reading"] != table.reading:
            return None
        return job if is_current(self.project, table, job) else None


def format_command(verb: str, *arguments: str, options: Mapping[str, Any] | None = None) -> str:
    """Return a command line that can be pasted into a shell.

    The pages ignore the settings file of the folder in which the workbench was started. If there
    is one, the command ignores it as well.
    """
    ignored = {"config": os.devnull} if Path(SETTINGS_FILE).is_file() else {}
    return format_any_command(verb, *arguments, options={**(options or {}), **ignored})


def workspace_of(request: Request) -> Workspace:
    """Return the workspace that serves a request."""
    return request.app.state.workspace


def form_of(request: Request) -> dict[str, str]:
    """Return the form fields of a request, which the guard has checked."""
    return request.scope.get(FORM, {})


def redirect(path: str) -> Response:
    """Redirect to a page after a change."""
    return RedirectResponse(path, status_code=303)


def serve_report(request: Request, tasks: tuple[str, ...], name: str, missing: str) -> Response:
    """Return the HTML report that a job of one of these tasks wrote, or raise `missing`."""
    project = workspace_of(request).project
    job = project.job(request.path_params["number"])
    file = project.job_folder(job.id) / name
    if job.task not in tasks or not file.is_file():
        raise RecveilError(f"job {job.id} has no {missing}", code="workbench.not-found")
    return send_report(file.read_bytes())


def send_report(page: str | bytes) -> Response:
    """Return a self-contained report; it may load nothing."""
    return HTMLResponse(page, headers={"content-security-policy": _REPORT_POLICY})


async def receive_upload(
    request: Request, folder: str, start: Callable[[Uploaded], object], path: str
) -> Response:
    """Store an uploaded file, start a job on it, and return the path of the page to show next.

    Our script sends the file alone and reads JSON. A form, sent where no script runs, gets a
    redirect or an error page.
    """
    workspace = workspace_of(request)
    is_form = FILE_NAME in request.scope
    name = request.scope[FILE_NAME] if is_form else unquote(request.headers.get("x-file-name", ""))
    try:
        if is_form and not name:
            raise RecveilError(
                "no file was chosen; choose one, and send it again", code="option.required"
            )
        upload = await receive(
            request.stream(),
            name[:LONGEST_NAME] or "table",
            workspace.project.folder_for(folder),
            most=workspace.most_bytes,
        )
        await run_in_threadpool(start, upload)
    except RecveilError as error:
        if is_form:
            raise
        return JSONResponse({"error": page_words(str(error)), "code": error.code}, 400)
    return redirect(path) if is_form else JSONResponse({"next": path})
