"""The room Choose: the frontier fills with settings, and somebody takes one of them."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from recveil.comparison._compare import Feedback
from recveil.comparison.choice import AXES, SHADOWS, usual_axis
from recveil.comparison.rows import Purpose
from recveil.methods.registry import has_k
from recveil.report.comparison.charts import utilities_of
from recveil.runtime.errors import RecveilError, quoted
from recveil.workbench.bench import (
    NUMBER,
    Bench,
    bench_of,
    command_of,
    form_of,
    go_to,
    is_inspected,
    needed_table,
    newest_of,
)
from recveil.workbench.frontier import Question, answer, draw, rows_of, tabulate, warnings_for
from recveil.workbench.project import Input, Job
from recveil.workbench.table_source import is_of_it, reject_changed, state_of_table
from recveil.workbench.tasks import PAGE, SO_FAR, kind_of_table, methods_to_choose

_ROOM = "choose"
_KS, _MOST_KS = "5,20", 12
_N_SHADOWS = 32
# What of the raw table is worth something, as it is asked.
_WORTHS = {
    "both": "lists and ratings: the smaller of the two shares",
    "lists": "lists of what people may like",
    "ratings": "predicted ratings",
}
# The page of a comparison brings its own style; it can load, run and send nothing.
_OF_ITS_OWN = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"


def _page(request: Request) -> Response:
    bench = bench_of(request)
    chosen = bench.project.chosen_input()
    job = None if chosen is None else newest_of(bench, _ROOM, chosen)
    told = _so_far(bench, chosen)
    asked = dict(request.query_params)
    parts = _parts(bench, told, asked, chosen)
    if request.headers.get("hx-target") == "answer":
        parts |= {"change": bench.keys.change, "is_part": True}
        return HTMLResponse(bench.fragment("answer.html.jinja", **parts).encode("utf-8", "replace"))
    what = _kind_of(bench, chosen)
    return bench.page(
        request,
        "choose.html.jinja",
        job=job,
        running=None if job is None else bench.jobs.running(job.id),
        methods=methods_to_choose(of=what),
        takes_k={name: has_k(name) for name in methods_to_choose(of=what)},
        started=_started(job),
        n_shadows=_N_SHADOWS,
        is_inspected=is_inspected(bench, chosen),
        has_page=job is not None and (bench.project.job_folder(job.id) / PAGE).is_file(),
        what=what,
        is_part=False,
        **parts,
    )


def _parts(
    bench: Bench, told: dict[str, Any] | None, asked: Mapping[str, str], chosen: Input | None
) -> dict[str, Any]:
    """Return what the answer to a question shows, of what is finished."""
    comparison = (told or {}).get("comparison")
    rows = rows_of(comparison["rows"]) if comparison else []
    usual = _usual_question(bench, chosen, comparison)
    question = Question.read(asked, usual)
    answered = answer(rows, question)
    all_rows = comparison["rows"] if comparison else []
    drawings = [
        draw(all_rows, utility, question.axis, answered.best, question.max_risk)
        for utility in utilities_of(rows)
        if question.worth in ("both", utility.name)
    ]
    return {
        "question": question,
        "answered": answered,
        "drawings": [drawing for drawing in drawings if drawing.dots],
        "lines": tabulate(rows, question),
        "warnings": warnings_for(comparison, answered) if comparison else [],
        "unfinished": (told or {}).get("unfinished", 0),
        "risks": AXES,
        "worths": _WORTHS,
        "shadows": SHADOWS.name,
        "has_rows": bool(rows),
    }


def _usual_question(
    bench: Bench, chosen: Input | None, comparison: dict[str, Any] | None
) -> Question:
    """Return what is asked where nobody says anything: what was asked last, or the usual."""
    kept = None if chosen is None else bench.project.kept_of(chosen, "question", Question._fields)
    if kept is not None and kept["risk"] in AXES:
        titles = [] if comparison is None else [row["title"] for row in comparison["rows"]]
        return Question(
            **{name: kept[name] for name in Question._fields if name != "setting"},
            setting=kept["setting"] if kept["setting"] in titles else None,
        )
    if comparison is None:
        return Question()
    axis = usual_axis(rows_of(comparison["rows"]))
    worth: Purpose = "lists" if comparison["settings"]["utility"] == "lists" else "both"
    return Question(risk=axis.name, worth=worth, limit=round(100 * axis.usual))


def _start(request: Request) -> Response:
    bench, form = bench_of(request), form_of(request)
    chosen = needed_table(bench)
    reject_changed(bench.project, chosen)
    names = methods_to_choose(of=_kind_of(bench, chosen))
    methods = [name for name in names if form.get(f"method-{name}")]
    if not methods:
        raise RecveilError(
            "no method is marked; mark at least one to be compared", code="option.required"
        )
    ks = _read_ks(form.get("ks", ""))
    shadows = _N_SHADOWS if form.get("shadows") else None
    out = bench.project.folder_for("comparisons") / str(chosen.id)
    settings = {
        "source": chosen.place,
        "reading": chosen.reading,
        "out": str(out),
        "methods": methods,
        "ks": ks,
        "shadows": shadows,
        "seen": state_of_table(chosen),
    }
    told = {"methods": ",".join(methods), "k": ",".join(map(str, ks)), "shadows": shadows}
    command = command_of(
        "compare", chosen.place, options={**chosen.reading, **told, "output": str(out)}
    )
    bench.project.note(f"compared settings on {chosen.name}", command)
    bench.jobs.start(_ROOM, "compare", settings, command=command, input=chosen.id)
    return go_to("/choose")


def _take(request: Request) -> Response:
    """Take a setting; what was asked and answered is written into the log."""
    bench, form = bench_of(request), form_of(request)
    chosen = needed_table(bench)
    told = _so_far(bench, chosen)
    comparison = (told or {}).get("comparison")
    if comparison is None:
        raise RecveilError(
            "nothing is compared yet; begin it on the page Choose", code="workbench.not-ready"
        )
    question = Question.read(form, Question())
    answered = answer(rows_of(comparison["rows"]), question)
    row = answered.row
    if row is None or not answered.may_be_taken:
        raise RecveilError(
            "this setting cannot be published; choose one that promises something",
            code="release.refused",
        )
    bench.project.keep_of(chosen, "question", question._asdict())
    taken = {"method": row.method, "k": row.k, "title": row.title, "why": answered.why}
    bench.project.keep_of(chosen, "setting", taken)
    bench.project.note(f"chose “{row.title}” for {chosen.name}: {' '.join(answered.why)}")
    return go_to("/release")


def _whole(request: Request) -> Response:
    """Show the page of the comparison, which stands alone."""
    bench = bench_of(request)
    job = bench.project.job(request.path_params["number"])
    file = bench.project.job_folder(job.id) / PAGE
    if job.task != "compare" or not file.is_file():
        raise RecveilError(
            f"job {job.id} has no page of a comparison; run it to its end",
            code="workbench.not-found",
        )
    return HTMLResponse(file.read_bytes(), headers={"content-security-policy": _OF_ITS_OWN})


def _so_far(bench: Bench, table: Input | None) -> dict[str, Any] | None:
    """Return what is finished of a table's comparison, whether it runs, has ended or was stopped.

    A run that has just begun finds in a moment what earlier ones have finished.
    """
    if table is None:
        return None
    for job in bench.project.jobs():
        if (job.room, job.input, job.settings.get("reading")) != (_ROOM, table.id, table.reading):
            continue
        if not is_of_it(bench.project, table, job):
            continue
        found = bench.project.result(job)
        file = bench.project.job_folder(job.id) / SO_FAR
        if found is None and file.is_file():
            found = json.loads(file.read_text(encoding="utf-8"))
        if found is not None:
            return found
    return None


def _started(job: Job | None) -> dict[str, Any]:
    """Return what was asked for last, for the form."""
    settings = {} if job is None else job.settings
    ks = settings.get("ks")
    return {
        "methods": settings.get("methods"),
        "ks": _KS if ks is None else ",".join(map(str, ks)),
        "shadows": bool(settings.get("shadows")),
    }


def _kind_of(bench: Bench, table: Input | None) -> Feedback:
    """Tell what a table was found to hold."""
    last = None if table is None else bench.project.last_job("data", table.id)
    return kind_of_table(bench.project.result(last))


def _read_ks(text: str) -> list[int]:
    """Read several k, as in "5, 20"."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not 1 <= len(parts) <= _MOST_KS or not all(p.isdecimal() and len(p) < 8 for p in parts):
        raise RecveilError(
            f"k: {quoted(text, 40)}; expected up to {_MOST_KS} whole numbers, as in {_KS}",
            code="option.value",
        )
    return [int(part) for part in parts]


ROUTES = [
    Route("/choose", _page),
    Route("/choose/start", _start, methods=["POST"]),
    Route("/choose/take", _take, methods=["POST"]),
    Route(f"/choose/{NUMBER}/comparison.html", _whole),
]
