"""Bench: what all rooms share: the project, its jobs, and how pages are written."""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from recveil.errors import RecveilError, printable
from recveil.report.page_of_audit import as_count, as_percent
from recveil.workbench.entries import Input, Job
from recveil.workbench.guard import FORM, Keys
from recveil.workbench.jobs import Jobs
from recveil.workbench.project import Project
from recveil.workbench.seen import has_changed, is_of_it
from recveil.workbench.uploads import MOST_BYTES

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

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
    """The workbench as its rooms see it.

    Parameters
    ----------
    project : Project
    most_bytes : int
        The most that an upload may hold.
    has_spare : bool
        As for `Jobs`.
    """

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
        """Write a page.

        Parameters
        ----------
        request : Request
        name : str
            Of its template.
        status : int
        **told
            What the template tells, by name.
        """
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
