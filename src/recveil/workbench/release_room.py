"""The room Release: a release is made, checked, looked at, described and taken away."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from recveil.methods.registry import has_k
from recveil.publish.publisher_card import PublisherCard
from recveil.release.manifest import FileEntry, twin_name
from recveil.release.registry import all_variants
from recveil.runtime.devices import reject_devices
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.locks import FOR_OWNER
from recveil.workbench.bench import (
    NUMBER,
    Bench,
    bench_of,
    command_of,
    form_of,
    go_to,
    needed_table,
)
from recveil.workbench.jobs import Running
from recveil.workbench.project import Input, Job
from recveil.workbench.table_source import is_of_it, reject_changed, state_of_table
from recveil.workbench.tasks import (
    ATTACKED,
    DESCRIPTION,
    Zipped,
    kind_of_table,
    methods_to_choose,
    published_files,
    zipped,
)
from recveil.workbench.verdict import describe_verdict

# What each word is, as the form asks for it; the first ones are what a portal needs.
LABELS = {
    "title": "Title",
    "publisher": "Publisher",
    "contact": "Contact: an address that people may write to",
    "licence": "Licence, best by its address",
    "date": "Date of publication, as 2026-01-31",
    "description": "Description",
    "collection": "How the ratings came about",
    "citation": "How to cite it",
    "version": "Version",
    "url": "Where the folder will be published, if that is known",
    "keywords": "Keywords, with commas between them",
}
LONG = ("description", "collection", "citation")


def words_in(form: Mapping[str, str]) -> dict[str, str]:
    """Return what a form says of a release; what was left empty is left out.

    Examples
    --------
    >>> words_in({"publisher": " Public Library ", "licence": "", "change": "x"})
    {'publisher': 'Public Library'}
    """
    told = {
        name: form.get(name, "").replace("\r\n", "\n").strip()
        for name in LABELS
        if name in {field.name for field in fields(PublisherCard)}
    }
    return {name: text for name, text in told.items() if text}


def write_card(words: Mapping[str, str], file: Path) -> PublisherCard:
    """Write a card, and read it as everybody does who checks one."""
    lines = [f"{name} = {_as_toml(name, text)}\n" for name, text in words.items()]
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FOR_OWNER)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as opened:
        opened.write("".join(lines))
    try:
        return PublisherCard.read(file)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _as_toml(name: str, text: str) -> str:
    """Write a text between quotes; TOML's are those of JSON, where all letters stay as they are."""
    if name != "keywords":
        return json.dumps(text, ensure_ascii=False)
    return json.dumps(
        [word.strip() for word in text.split(",") if word.strip()], ensure_ascii=False
    )


_ROOM, _RELEASES = "release", "releases"
# What is asked of a release has rooms of its own: nothing of it cancels the rest.
_ATTACKS, _DESCRIPTIONS = "release attack", "release describe"
_CARD = "card.toml"
# What of a setting that was taken is shown.
_TAKEN = ("method", "k", "title", "why")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")
_FORMATS = ("parquet", "csv")
_MOST_K = 1_000_000
# The page of an audit brings its own style; it can load, run and send nothing.
_OF_ITS_OWN = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"


def _page(request: Request) -> Response:
    bench = bench_of(request)
    chosen = bench.project.chosen_input()
    made = [] if chosen is None else _jobs(bench, "release", chosen)
    job = _shown(made, request.query_params.get("release", ""))
    found = bench.project.result(job)
    attack = _about(bench, "attack", job, found)
    description = _about(bench, "describe", job, found)
    words = bench.project.kept("card", {})
    return bench.page(
        request,
        "release.html.jinja",
        job=job,
        found=found,
        is_of_it=chosen is None or job is None or is_of_it(bench.project, chosen, job),
        verdict=None if found is None else describe_verdict(found["verification"]),
        running=bench.jobs.running_in(_ROOM),
        made=[each for each in made if each.state == "done"],
        attack=attack,
        attacking=_running(bench, attack),
        attacked=bench.project.result(attack),
        description=description,
        describing=_running(bench, description),
        described=bench.project.result(description),
        words=words,
        labels=LABELS,
        long=LONG,
        taken=None if chosen is None else bench.project.kept_of(chosen, "setting", _TAKEN),
        methods={} if chosen is None else _methods(bench, chosen),
        formats=_FORMATS,
        free_name=_free_name(bench, chosen),
    )


def _make(request: Request) -> Response:
    bench, form = bench_of(request), form_of(request)
    chosen = needed_table(bench)
    reject_changed(bench.project, chosen)
    name, method, k = _name(form), form.get("method", ""), None
    takes_k = _methods(bench, chosen)
    if method not in takes_k:
        raise RecveilError(
            f"method {quoted(method, 40)}: not one of those that can be published",
            code="method.unsupported",
        )
    if takes_k[method]:
        k = _read_k(form.get("k", ""))
    file_format = form.get("file_format", _FORMATS[0])
    if file_format not in _FORMATS:
        raise RecveilError(
            f"format {quoted(file_format, 40)}: expected {' or '.join(_FORMATS)}",
            code="option.value",
        )
    output = bench.project.folder_for(_RELEASES) / name
    options = {**_options_of(method), "file_format": file_format}
    command = command_of(
        "anonymize", chosen.place, options={**chosen.reading, "output": output, "k": k, **options}
    )
    settings = {
        "source": chosen.place,
        "reading": chosen.reading,
        "output": str(output),
        "k": k,
        "options": options,
        "seen": state_of_table(chosen),
    }
    with bench.beginning:  # two tabs may ask at once
        if bench.jobs.running_in(_ROOM) is not None:
            raise RecveilError(
                "a release is being made; wait until it is there, or cancel it first",
                code="workbench.busy",
            )
        bench.project.note(f"made the release {name} of {chosen.name}", command)
        bench.jobs.start(_ROOM, "release", settings, command=command, input=chosen.id)
    return go_to("/release")


def _attack(request: Request) -> Response:
    bench = bench_of(request)
    job, found = _release_of(request)
    release = job.settings["output"]
    settings = {
        **{name: job.settings[name] for name in ("source", "reading")},
        "release": release,
        "sha256": found["sha256"],
    }
    command = command_of(
        "audit",
        settings["source"],
        options={**settings["reading"], "release": release, "no_curves": True},
    )
    bench.project.note(f"attacked the release {Path(release).name}", command)
    bench.jobs.start(_ATTACKS, "attack", settings, command=command, input=job.input)
    return go_to(f"/release?release={job.id}")


def _describe(request: Request) -> Response:
    """Take the publisher's words, and describe the release for data portals."""
    bench = bench_of(request)
    job, found = _release_of(request)
    words = words_in(form_of(request))
    card = bench.project.folder_for(_RELEASES) / f"{found['name']}.{_CARD}"
    write_card(words, card)
    bench.project.keep("card", words)
    output = _description_of(bench, found)
    settings = {
        "release": job.settings["output"],
        "sha256": found["sha256"],
        "output": str(output),
        "card": str(card),
    }
    command = command_of(
        "describe", settings["release"], str(output), options={"card": card, "force": True}
    )
    bench.project.note(f"described the release {found['name']}", command)
    bench.jobs.start(_DESCRIPTIONS, "describe", settings, command=command, input=job.input)
    return go_to(f"/release?release={job.id}")


async def _download(request: Request) -> Response:
    """Send the published folder; the private one is never looked at."""
    bench = bench_of(request)
    job, found = _release_of(request)
    if not found["verification"]["holds"]:
        raise RecveilError(
            f"{found['name']}: does not keep its promise, and is not handed out", code="claim.false"
        )
    folder = Path(job.settings["output"])
    files = await run_in_threadpool(published_files, folder, found["sha256"])
    described = bench.project.result(_about(bench, "describe", job, found))
    if described is not None:
        files.append(await run_in_threadpool(_described, bench, found, described["sha256"]))
    bench.project.note(f"downloaded the release {found['name']}")
    named = {"content-disposition": f'attachment; filename="{found["name"]}.zip"'}
    return StreamingResponse(zipped(files), media_type="application/zip", headers=named)


def _whole(request: Request) -> Response:
    """Show the page of an attack on a release, which stands alone."""
    bench = bench_of(request)
    job = bench.project.job(request.path_params["number"])
    file = bench.project.job_folder(job.id) / ATTACKED
    if job.task != "attack" or not file.is_file():
        raise RecveilError(
            f"job {job.id} has no page of an audit; attack the release again",
            code="workbench.not-found",
        )
    return HTMLResponse(file.read_bytes(), headers={"content-security-policy": _OF_ITS_OWN})


def _release_of(request: Request) -> tuple[Job, dict[str, Any]]:
    """Return a release that was made, and what was found of it."""
    bench = bench_of(request)
    job = bench.project.job(request.path_params["number"])
    found = bench.project.result(job) if job.task == "release" else None
    if found is None:
        raise RecveilError(
            f"job {job.id} has made no release; choose one on the page Release",
            code="workbench.not-found",
        )
    output = bench.project.folder / _RELEASES / str(found["name"])
    if not _NAME.fullmatch(str(found["name"])) or job.settings["output"] != str(output):
        raise RecveilError(
            f"job {job.id}: its release lies in no folder of ours; make it again",
            code="workbench.not-found",
        )
    return job, found


def _shown(made: list[Job], asked: str) -> Job | None:
    """Return the release that is asked for, or else the newest."""
    for job in made:
        if str(job.id) == asked:
            return job
    return made[0] if made else None


def _jobs(bench: Bench, task: str, table: Input) -> list[Job]:
    return [job for job in bench.project.jobs() if job.task == task and job.input == table.id]


def _about(
    bench: Bench, task: str, release: Job | None, found: dict[str, Any] | None
) -> Job | None:
    """Return the newest job of a task that is about a release; None if there is none.

    Another release may have had the same name, and its folder: the digest tells them apart.
    """
    if release is None or found is None:
        return None
    about = {"release": release.settings["output"], "sha256": found["sha256"]}
    for job in bench.project.jobs():
        if job.task == task and about.items() <= job.settings.items():
            return job
    return None


def _running(bench: Bench, job: Job | None) -> Running | None:
    return None if job is None else bench.jobs.running(job.id)


def _described(bench: Bench, found: dict[str, Any], sha256: str) -> Zipped:
    """Return the description of a release, as it was shown."""
    file = _description_of(bench, found)
    reject_devices(file)
    if file.is_symlink() or not file.is_file() or FileEntry.of(file).sha256 != sha256:
        raise RecveilError(
            f"{file.name}: is not the description that was made of this release here; describe it "
            f"again",
            code="release.changed",
        )
    return Zipped(DESCRIPTION, file)


def _methods(bench: Bench, table: Input) -> dict[str, bool]:
    """Return the methods whose releases can be published, and whether each takes a k."""
    last = bench.project.last_job("data", table.id)
    what = kind_of_table(bench.project.result(last))
    return {
        name: has_k(name)
        for name in methods_to_choose(of=what)
        if all_variants()[name][1].about_claim.is_published
    }


def _options_of(name: str) -> dict[str, Any]:
    """Return a method with the options of a variant, as `anonymize` takes them."""
    method, variant = all_variants()[name]
    options = {each: "none" if value is None else value for each, value in variant.options.items()}
    return {"method": method.name, **options}


def _description_of(bench: Bench, found: dict[str, Any]) -> Path:
    return bench.project.folder / _RELEASES / f"{found['name']}.{DESCRIPTION}"


def _free_name(bench: Bench, table: Input | None) -> str:
    """Return a name that no release has yet."""
    folder = bench.project.folder / _RELEASES
    stem = "release"
    number = 1
    while (folder / f"{stem}-{number}").exists() or (
        folder / twin_name(f"{stem}-{number}")
    ).exists():
        number += 1
    return f"{stem}-{number}" if table is not None else stem


def _name(form: dict[str, str]) -> str:
    name = form.get("name", "").strip()
    if not _NAME.fullmatch(name):
        raise RecveilError(
            f"name {quoted(name, 40)}: expected up to 60 letters, digits, - and _, as in release-1",
            code="option.value",
        )
    return name


def _read_k(text: str) -> int:
    text = text.strip()
    if not text.isdecimal() or len(text) > 7 or not 2 <= int(text) <= _MOST_K:
        raise RecveilError(
            f"k: {quoted(text, 20)}; expected a whole number of at least 2", code="option.value"
        )
    return int(text)


ROUTES = [
    Route("/release", _page),
    Route("/release/make", _make, methods=["POST"]),
    Route(f"/release/{NUMBER}/attack", _attack, methods=["POST"]),
    Route(f"/release/{NUMBER}/describe", _describe, methods=["POST"]),
    Route(f"/release/{NUMBER}/download", _download),
    Route(f"/release/{NUMBER}/audit.html", _whole),
]
