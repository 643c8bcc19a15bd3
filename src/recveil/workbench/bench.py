"""Dropping: a file that somebody drops or chooses on a page, taken into the project."""

import os
import shlex
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from recveil.report.audit.page import as_count, as_percent
from recveil.runtime.errors import RecveilError, printable
from recveil.workbench.guard import FILE_NAME, FORM, Keys
from recveil.workbench.jobs import Jobs
from recveil.workbench.project import (
    LONGEST_NAME,
    MOST_BYTES,
    Input,
    Job,
    Project,
    Uploaded,
    receive,
)
from recveil.workbench.table_source import has_changed, is_of_it

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


class _Number(IntegerConvertor):
    """A number that a database can hold; there is no page of any other."""

    regex = "[0-9]{1,18}"


register_url_convertor("number", _Number())
NUMBER = "{number:number}"


# The settings file that the command line takes options from, where the folder has one.
SETTINGS_FILE = "recveil.toml"


def command_of(verb: str, *arguments: str, options: Mapping[str, Any] | None = None) -> str:
    """Write a command as somebody would type it in a shell.

    The pages take no options from the settings file of the folder in which the workbench was begun.
    Where there is one, the command says that it does not count either.

    Examples
    --------
    >>> print(command_of("inspect", "/Ann's.csv", options={"likes": True, "scale": "1:5:1"}))
    recveil inspect '/Ann'"'"'s.csv' --likes --scale 1:5:1
    """
    words = ["recveil", verb, *arguments]
    for name, value in (options or {}).items():
        if value is None or value is False or value == "":
            continue
        words.append("--" + name.replace("_", "-"))
        words += [] if value is True else [str(value)]
    if Path(SETTINGS_FILE).is_file():
        words += ["--config", os.devnull]
    return shlex.join(words)


# The rooms, in the order in which somebody goes through them.
ROOMS = {
    "data": "Data",
    "risk": "Risk",
    "choose": "Choose",
    "release": "Release",
    "check": "Check",
    "log": "Log",
}


class Bench:
    """The workbench as its rooms see it."""

    def __init__(
        self, project: Project, *, most_bytes: int = MOST_BYTES, has_spare: bool = False
    ) -> None:
        self.project = project
        self.jobs = Jobs(project, has_spare=has_spare)
        self.keys = Keys()
        self.most_bytes = most_bytes
        # Rooms answer in several threads, so that a slow disk freezes one page alone.
        self.beginning = threading.Lock()
        # Names and labels come from users' data: everything is escaped, and what would turn or
        # hide text is written out.
        self._pages = Environment(
            loader=ChoiceLoader(
                [PackageLoader("recveil.workbench"), PackageLoader("recveil.report", "")]
            ),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_shown,
        )
        self._pages.filters |= {"percent": as_percent, "count": as_count}

    def page(self, request: "Request", name: str, status: int = 200, **told: Any) -> "Response":
        """Write a page."""
        chosen = self.project.chosen_input()
        told = {"unnoted": self.project.lost | self.jobs.unnoted(), **told}
        return self._write(request, name, status, chosen, has_changed(self.project, chosen), told)

    def error_page(self, request: "Request", status: int, why: str) -> "Response":
        """Say what did not work; nothing is looked up for it that could fail, too."""
        return self._write(request, "error.html.jinja", status, None, False, {"error": why})

    def _write(
        self,
        request: "Request",
        name: str,
        status: int,
        chosen: Input | None,
        is_changed: bool,
        told: Mapping[str, Any],
    ) -> "Response":
        from starlette.responses import HTMLResponse

        shared = {
            "rooms": ROOMS,
            "here": request.url.path.strip("/").partition("/")[0],
            "change": self.keys.change,
            "project": str(self.project.folder),
            "input": chosen,
            "has_changed": is_changed,
        }
        text = self._pages.get_template(name).render(**shared, **told)
        # Names that are no Unicode cannot be sent.
        return HTMLResponse(text.encode("utf-8", "replace"), status)

    def fragment(self, name: str, **told: Any) -> str:
        """Write a part of a page."""
        return self._pages.get_template(name).render(**told)


def bench_of(request: "Request") -> Bench:
    """Return the workbench that a request is for."""
    return request.app.state.bench


def needed_table(bench: Bench) -> Input:
    """Return the table that is worked on, or say that there is none yet."""
    chosen = bench.project.chosen_input()
    if chosen is None:
        raise RecveilError(
            "there is no table yet; drop or name one on the page Data", code="workbench.not-ready"
        )
    return chosen


def is_inspected(bench: Bench, table: Input | None) -> bool:
    """Say whether it is understood what is in a table."""
    last = None if table is None else bench.project.last_job("data", table.id)
    return bench.project.result(last) is not None


def newest_of(bench: Bench, room: str, table: Input) -> Job | None:
    """Return the newest job of a room on a table, read as it is read now; None if there is none."""
    job = bench.project.last_job(room, table.id)
    if job is None or job.settings["reading"] != table.reading:
        return None
    return job if is_of_it(bench.project, table, job) else None


def form_of(request: "Request") -> dict[str, str]:
    """Return the form that came with a request, which the guard has read and checked."""
    return request.scope.get(FORM, {})


def go_to(place: str) -> "Response":
    """Answer that a page is to be read next."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(place, status_code=303)


def _shown(value: Any) -> Any:
    """Write out control and direction marks of whatever is shown; our own markup has none."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return "\n".join(map(printable, value.split("\n")))
    return value


async def take_dropped(
    request: Request, folder: str, begin: Callable[[Uploaded], object], go_on: str
) -> Response:
    """Take a file, begin something with it, and say where that is shown.

    The script of our pages sends a file alone and hears JSON; a form, where no script has run, is
    led on to the page, or to one that says what is wrong.
    """
    bench = bench_of(request)
    is_form = FILE_NAME in request.scope
    name = request.scope[FILE_NAME] if is_form else unquote(request.headers.get("x-file-name", ""))
    try:
        if is_form and not name:
            raise RecveilError(
                "no file was chosen; choose one, and send it again", code="option.required"
            )
        came = await receive(
            request.stream(),
            name[:LONGEST_NAME] or "table",
            bench.project.folder_for(folder),
            most=bench.most_bytes,
        )
        await run_in_threadpool(begin, came)
    except RecveilError as error:
        if is_form:
            raise
        return JSONResponse({"error": str(error), "code": error.code}, 400)
    return go_to(go_on) if is_form else JSONResponse({"next": go_on})
