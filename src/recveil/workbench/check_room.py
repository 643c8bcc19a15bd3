"""The room Check: does what somebody published keep its promise, and whom does it give away?"""

import shlex
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recveil.release.claim import published_claims
from recveil.runtime.errors import RecveilError, quoted
from recveil.workbench.bench import Bench, bench_of, command_of, form_of, go_to, take_dropped
from recveil.workbench.project import CHECKED, Job, Uploaded
from recveil.workbench.table_source import place_of
from recveil.workbench.tasks import AUDIT_PAGE, UNPACKED
from recveil.workbench.verdict import describe_verdict

_ROOM, _TASK = "check", "check"
# What is checked now, among what the project keeps.
_KEPT, _FIELDS = "checked", ("name", "place", "dropped")
_COLUMNS = ("user", "item", "rating")
_MOST_K = 10**9


def _page(request: Request) -> Response:
    bench = bench_of(request)
    checked = bench.project.kept(_KEPT, fields=_FIELDS)
    job = _job_of(bench, checked)
    found = bench.project.result(job)
    return bench.page(
        request,
        "check.html.jinja",
        checked=checked,
        job=job,
        running=None if job is None else bench.jobs.running(job.id),
        found=found,
        verdict=describe_verdict(found["verification"]) if found else "",
        said={} if job is None else job.settings["options"],
        with_table=job is None or bool(job.settings["source"]),
        is_drawn=job is not None and (bench.project.job_folder(job.id) / AUDIT_PAGE).is_file(),
        claims=published_claims(),
        columns=_COLUMNS,
        commands=_commands(job, found) if job and found else [],
    )


async def _upload(request: Request) -> Response:
    """Take a release as a zip, or a table."""
    bench = bench_of(request)

    def begin(came: Uploaded) -> None:
        bench.project.keep(_KEPT, {"name": came.name, "place": str(came.path), "dropped": True})
        bench.project.note(f"dropped {_quoted(came.name)} to be checked, SHA-256 {came.digest}")
        _start(bench, {}, with_table=True)

    return await take_dropped(request, CHECKED, begin, "/check")


def _name(request: Request) -> Response:
    """Take what somebody names: it is read where it lies."""
    bench = bench_of(request)
    place = place_of(form_of(request).get("place", ""), is_release=True)
    bench.project.keep(_KEPT, {"name": place.name, "place": place.path, "dropped": False})
    bench.project.note(f"named {place.path} to be checked")
    _start(bench, {}, with_table=True)
    return go_to("/check")


def _again(request: Request) -> Response:
    """Check the same with what somebody says of it."""
    bench, form = bench_of(request), form_of(request)
    if bench.project.kept(_KEPT, fields=_FIELDS) is None:
        raise RecveilError(
            "there is nothing to check yet; drop or name a release", code="workbench.not-ready"
        )
    _start(bench, _options(form), with_table=bool(form.get("with_table")))
    return go_to("/check")


async def _forget(request: Request) -> Response:
    """Remove all that was dropped here, and all that was found of it."""
    bench = bench_of(request)
    await run_in_threadpool(bench.jobs.end_room, _ROOM)
    await run_in_threadpool(_remove, bench)
    bench.project.note("removed what was checked from the project")
    return go_to("/check")


def _remove(bench: Bench) -> None:
    """Remove files, results and names; that something was checked, and when, stays in the log."""
    project = bench.project
    kept = project.kept(_KEPT, fields=_FIELDS)
    checked = [kept] if kept else []
    checked += [job.settings for job in project.jobs() if job.room == _ROOM]
    for name in {each["name"] for each in checked if each["dropped"]}:
        project.strike(_quoted(name), "what was removed since")
    project.forget_room(_ROOM, _KEPT)
    # A link is not followed: what lies elsewhere stays.
    shutil.rmtree(project.folder / CHECKED, ignore_errors=True)


def _quoted(name: str) -> str:
    return f"“{name}”"


def _options(form: dict[str, str]) -> dict[str, Any]:
    """Return what a form says, as keywords for `recveil.verification.verify`."""
    options: dict[str, Any] = {
        name: form[name].strip() for name in _COLUMNS if form.get(name, "").strip()
    }
    k, claim = form.get("k", "").strip(), form.get("claim", "")
    if k and not (k.isascii() and k.isdecimal() and 0 < int(k[:12]) <= _MOST_K):
        raise RecveilError(
            f"k is {quoted(k)}; expected how many people must share a row, such as 5",
            code="option.value",
        )
    if claim and claim not in published_claims():
        raise RecveilError(
            f"claim {quoted(claim)}: expected one of {', '.join(published_claims())}",
            code="claim.unknown",
        )
    return options | ({"k": int(k)} if k else {}) | ({"claim": claim} if claim else {})


def _start(bench: Bench, options: dict[str, Any], *, with_table: bool) -> Job:
    checked = bench.project.kept(_KEPT, fields=_FIELDS)
    table = bench.project.chosen_input() if with_table else None
    _forget_unpacked(bench)
    bench.project.note(f"checked {_quoted(checked['name'])}")

    def tell(job: Job) -> None:
        found = bench.project.result(bench.project.job(job.id))
        if found is None:
            return
        how = "it holds" if found["verification"]["holds"] else "it does not hold"
        lines = "\n".join(_commands(job, found))
        bench.project.note(f"verified {_quoted(job.settings['name'])}: {how}", lines)

    return bench.jobs.start(
        _ROOM,
        _TASK,
        {
            **checked,
            "options": options,
            "source": table.place if table else "",
            "reading": table.reading if table else {},
        },
        input=table.id if table else None,
        then=tell,
    )


def _forget_unpacked(bench: Bench) -> None:
    """Remove what earlier checks unpacked; what was dropped stays."""
    for job in bench.project.jobs():
        if job.room == _ROOM:
            shutil.rmtree(bench.project.job_folder(job.id) / UNPACKED, ignore_errors=True)


def _job_of(bench: Bench, checked: dict[str, Any] | None) -> Job | None:
    """Return the newest check, if it is of what is checked now."""
    job = bench.project.last_job(_ROOM)
    is_of_it = job is not None and checked is not None and job.settings["place"] == checked["place"]
    return job if is_of_it else None


def _commands(job: Job, found: dict[str, Any]) -> list[str]:
    """Return the commands that do the same as a check, for whoever has what was checked."""
    settings, unpacked = job.settings, found.get("unpacked")
    place, commands = settings["place"], []
    if unpacked is not None:
        # What is unpacked here is gone at the next check; they can do it as we did.
        name = settings["name"]
        source = f"./{name}" if name.startswith("-") else name
        folder = Path(place).stem
        commands.append(shlex.join(["python", "-m", "zipfile", "-e", source, folder]))
        place = str(PurePosixPath(folder, unpacked["within"]))
    commands.append(command_of("verify", place, options=settings["options"]))
    if settings["source"] and found["is_release"]:
        options = {**settings["reading"], "release": place, "no_curves": True}
        commands.append(command_of("audit", settings["source"], options=options))
    return commands


ROUTES = [
    Route("/check", _page),
    Route("/check/upload", _upload, methods=["PUT", "POST"]),
    Route("/check/name", _name, methods=["POST"]),
    Route("/check/again", _again, methods=["POST"]),
    Route("/check/forget", _forget, methods=["POST"]),
]
