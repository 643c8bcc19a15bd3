"""The page Data, which loads a table and corrects how its columns are read."""

import io
import json
import shlex
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recveil.io.detect.dialect import PLAIN_AND_NAMED
from recveil.io.files import naming, opened_text
from recveil.io.ingestion import REASONS
from recveil.io.inputs import file_at
from recveil.io.options import layout_of
from recveil.io.raw_rows import ENCODINGS, UTF_8
from recveil.io.worker import packing_of
from recveil.runtime.errors import RecveilError, quoted
from recveil.workbench.project import (
    INPUT_FOLDER,
    Input,
    Job,
    Project,
    Reading,
    Result,
    Uploaded,
    receive,
)
from recveil.workbench.table_source import place_of, source_settings, state_of
from recveil.workbench.tasks import COLUMNS, FIRST_ROWS, reading_options
from recveil.workbench.views.risk import start_auditing
from recveil.workbench.wording import FIELD_TITLES
from recveil.workbench.workspace import (
    Workspace,
    form_of,
    format_command,
    receive_upload,
    redirect,
    workspace_of,
)

# Columns with a menu; others are named by a field.
_MOST_MENUS = 40
_AT_ONCE = 1 << 18
# Kinds of a text's first line, of which the first is the default.
_FIRST_LINES = {"": "as detected", "names": "names of columns", "data": "data (no header)"}


def _page(request: Request) -> Response:
    workspace = workspace_of(request)
    project = workspace.project
    table = project.chosen_input()
    job = None if table is None else project.last_job("data", table.id)
    audit_job = workspace.newest_job("risk", table)
    audited = project.result(audit_job)
    reading = {} if table is None else table.reading
    result = project.result(job)
    return workspace.render_page(
        request,
        "data.html.jinja",
        job=job,
        running=workspace.find_running(job),
        result=result,
        sample=_first_rows(project, job, result),
        verdict=audited["verdict"][0] if audited else "",
        running_audit=workspace.find_running(audit_job),
        reading=reading,
        first_line_is=_first_line_of(reading),
        first_lines=_FIRST_LINES,
        has_lines=bool(_raw_rows(project, job).get("separator")),
        inputs=project.inputs(),
        columns=COLUMNS,
        field_titles=FIELD_TITLES,
        flagged={
            str(each["column"]): each["description"]
            for each in (result["identifiers"] if result else ())
            if not each["role"]
        },
        reasons=REASONS,
        encodings=list(ENCODINGS),
        most_menus=_MOST_MENUS,
        most_bytes=workspace.most_bytes,
    )


def _first_rows(project: Project, job: Job | None, result: Result | None) -> Mapping[str, Any]:
    """Return the first rows of a table as it is read; as its file has them, if reading fails."""
    if result is not None and result["rows"]["names"]:
        return {**result["rows"], "problems": result.get("problems", [])}
    none: dict[str, Any] = {"names": [], "keys": [], "roles": [], "rows": [], "problems": []}
    return _raw_rows(project, job) or none


def _raw_rows(project: Project, job: Job | None) -> dict[str, Any]:
    """Return the first rows as the file of a table has them; empty if there are none."""
    if job is None:
        return {}
    try:
        text = (project.job_folder(job.id) / FIRST_ROWS).read_text(encoding="utf-8")
        raw: dict[str, Any] = json.loads(text)
        return raw
    except (OSError, ValueError):
        return {}


def _reading_of(form: Mapping[str, str], separator: str) -> Reading:
    """Return the reading options of a form, of which each menu gives a role to its column."""
    chosen: dict[str, str] = {}
    kind = form.get("first_line_is", "")
    for name, role in form.items():
        if not name.startswith("column-") or role not in COLUMNS:
            continue
        if role in chosen:
            raise RecveilError(
                f"two columns are chosen as the {role}; choose one, and leave the other out",
                code="option.conflict",
            )
        number = name.removeprefix("column-")
        # Without a header, columns have numbers alone.
        chosen[role] = number if kind == "data" else form.get(f"key-{number}", "")
    if form.get("recognized") == "rating" and "rating" not in chosen:
        chosen["likes"] = "on"  # the ratings are left out
    return _with_first_line(reading_options({**form, **chosen}), kind, separator)


def _with_first_line(options: Reading, kind: str, separator: str) -> Reading:
    if kind not in _FIRST_LINES:
        raise RecveilError(
            f"{FIELD_TITLES['first_line_is']}: {quoted(kind, 20)} is not among "
            f"{', '.join(filter(None, _FIRST_LINES))}",
            code="option.value",
        )
    if not kind:
        return options
    word = str(options.get("delimiter", separator or ","))
    mark = layout_of(word).delimiter or word
    plain, named = PLAIN_AND_NAMED.get(mark, PLAIN_AND_NAMED[","])
    delimiter = {} if mark in PLAIN_AND_NAMED else {"delimiter": word}
    return {**options, "format": named if kind == "names" else plain, **delimiter}


def _first_line_of(reading: Reading) -> str:
    for plain, named in PLAIN_AND_NAMED.values():
        if reading.get("format") in (plain, named):
            return "data" if reading["format"] == plain else "names"
    return ""


async def _upload(request: Request) -> Response:
    workspace = workspace_of(request)

    def start(upload: Uploaded) -> None:
        table = workspace.project.add_input(upload.name, str(upload.path), upload.digest)
        workspace.project.note(f"uploaded {upload.name}, SHA-256 {upload.digest}", input=table.id)
        start_inspecting(workspace, table)

    return await receive_upload(request, INPUT_FOLDER, start, "/data")


def _name(request: Request) -> Response:
    """Add a table by path or address; it is read in place."""
    workspace, form = workspace_of(request), form_of(request)
    place = place_of(form.get("place", ""))
    state_of(place.path)  # raises before anything is recorded
    table = workspace.project.add_input(place.name, place.path)
    workspace.project.set_reading(table.id, reading_options(form))
    workspace.project.note(f"named {place.path}", input=table.id)
    start_inspecting(workspace, workspace.project.input(table.id))
    return redirect("/data")


def _set_reading(request: Request) -> Response:
    """Store reading options, and inspect the table again."""
    workspace = workspace_of(request)
    table = workspace.require_table()
    last = workspace.project.last_job("data", table.id)
    separator = _raw_rows(workspace.project, last).get("separator") or ""
    workspace.project.set_reading(table.id, _reading_of(form_of(request), separator))
    workspace.project.note(f"changed how {table.name} is read", input=table.id)
    start_inspecting(workspace, workspace.project.input(table.id))
    return redirect("/data")


async def _convert(request: Request) -> Response:
    """Make a copy of a text in UTF-8, without the lines above its table, and inspect the copy."""
    workspace, form = workspace_of(request), form_of(request)
    project, table = workspace.project, workspace.require_table()
    encoding, line = form.get("encoding", ""), form.get("first_line", "1").strip()
    if encoding not in ENCODINGS:
        raise RecveilError(
            f"encoding {quoted(encoding, 40)}: expected one of {', '.join(ENCODINGS)}",
            code="option.value",
        )
    if not (line.isascii() and line.isdecimal()) or len(line) > 6 or int(line) < 1:
        raise RecveilError(
            f"first line {quoted(line, 20)}: expected a number from 1 on", code="option.value"
        )
    path = file_at(table.place)
    if path is None or not path.is_file():
        raise RecveilError(
            f"{table.name}: is no single file, and cannot be copied; convert its files",
            code="input.folder",
        )
    copy = await receive(
        _converted(path, encoding, int(line)),
        f"corrected-{table.name}",
        project.folder_for(INPUT_FOLDER),
        most=workspace.most_bytes,
    )
    copied = project.add_input(copy.name, str(copy.path), copy.digest)
    project.set_reading(copied.id, table.reading)
    project.note(
        f"copied {table.name} from {encoding} to UTF-8, from line {line} on",
        _copying_command(path, encoding, line, copy.path.name),
        input=copied.id,
    )
    await run_in_threadpool(start_inspecting, workspace, project.input(copied.id))
    return redirect("/data")


def _copying_command(path: Path, encoding: str, first_line: str, copy: str) -> str:
    """Return the command of a shell that makes the same copy."""
    packing = packing_of(path)
    unpack = {None: ["cat"], "zip": ["unzip", "-p"]}.get(packing) or [str(packing), "-dc"]
    name = encoding.replace(", little-endian", "LE").replace(", big-endian", "BE").replace(" ", "-")
    return (
        f"{shlex.join([*unpack, str(path)])} | iconv -f {name} -t {UTF_8} | "
        f"tail -n +{int(first_line)} > {shlex.quote(copy)}"
    )


async def _converted(path: Path, encoding: str, first_line: int) -> AsyncIterator[bytes]:
    """Yield a text in UTF-8, from a line on."""
    try:
        with naming(path), opened_text(path) as file:
            text = io.TextIOWrapper(file, ENCODINGS[encoding], newline="")
            for _ in range(first_line - 1):
                await run_in_threadpool(text.readline, _AT_ONCE)
            while piece := await run_in_threadpool(text.read, _AT_ONCE):
                yield piece.encode()
    except UnicodeDecodeError as error:
        raise RecveilError(
            f"{path.name}: is not {encoding} text ({error.reason}); choose another encoding",
            code="input.encoding",
        ) from None


def _inspect_again(request: Request) -> Response:
    workspace = workspace_of(request)
    start_inspecting(workspace, workspace.require_table())
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


def start_inspecting(workspace: Workspace, table: Input) -> Job:
    """Start an inspection of a table, and an audit after it."""
    workspace.jobs.cancel_room("risk")
    command = format_command("inspect", table.place, options=table.reading)

    def audit_next(_: Job) -> None:
        if workspace.project.chosen_input() == table:  # unless the user changed it meanwhile
            start_auditing(workspace, table, curves=False)

    return workspace.jobs.start(
        "data",
        "inspect",
        source_settings(table),
        command=command,
        input=table.id,
        then=audit_next,
        doing=f"inspecting {table.name}",
    )


ROUTES = [
    Route("/data", _page),
    Route("/data/upload", _upload, methods=["PUT", "POST"]),
    Route("/data/name", _name, methods=["POST"]),
    Route("/data/reading", _set_reading, methods=["POST"]),
    Route("/data/convert", _convert, methods=["POST"]),
    Route("/data/again", _inspect_again, methods=["POST"]),
    Route("/data/choose", _choose, methods=["POST"]),
    Route("/data/forget", _forget, methods=["POST"]),
]
