"""The page Choose, which compares settings on the frontier of risk and utility."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from recveil.comparison.choice import ATTRIBUTE, AXES, SHADOWS, usual_axis
from recveil.comparison.rows import Purpose, Row
from recveil.comparison.settings import KS, Feedback, default_ks, default_methods
from recveil.io.side_tables import check_attributes
from recveil.release.claim import all_claims
from recveil.release.registry import variant_of
from recveil.report.comparison.charts import utilities_of
from recveil.report.comparison.marks import describe_revealing, legend_of_lists
from recveil.report.comparison.text import (
    FEW_RATINGS,
    PUBLIC_ITEMS,
    format_kept,
    publishes_most,
)
from recveil.runtime.errors import RecveilError, quoted
from recveil.workbench.frontier import (
    Question,
    answer,
    describe_catalog,
    draw,
    rows_of,
    tabulate,
    warnings_for,
)
from recveil.workbench.project import Input, Job, Project, Result, Settings
from recveil.workbench.table_source import is_current, place_of, reject_changed, source_settings
from recveil.workbench.tasks import (
    COMPARISON_PAGE,
    N_SHADOWS,
    PARTIAL_RESULT,
    feedback_of,
    list_methods,
)
from recveil.workbench.workspace import (
    NUMBER,
    Workspace,
    form_of,
    format_command,
    redirect,
    serve_report,
    workspace_of,
)

_MOST_KS = 12
_UTILITIES = {
    "both": "lists and ratings: the smaller share",
    "lists": "ranked lists of recommended items",
    "ratings": "predicted ratings",
}


def _page(request: Request) -> Response:
    workspace = workspace_of(request)
    table = workspace.project.chosen_input()
    job = workspace.newest_job("choose", table)
    state = _comparison_state(workspace, table)
    saved = None if table is None else load_question(workspace, table)
    parts = _answer_values(state, dict(request.query_params), saved)
    if request.headers.get("hx-target") == "answer":
        parts = {**parts, "change": workspace.keys.change, "is_part": True}
        text = workspace.render_fragment("answer.html.jinja", **parts)
        return HTMLResponse(text.encode("utf-8", "replace"))
    feedback = _feedback_of(workspace, table)
    return workspace.render_page(
        request,
        "choose.html.jinja",
        job=job,
        running=workspace.find_running(job),
        methods=_list_comparable(feedback),
        default_ks=default_ks(of=feedback),
        other_ks=KS,
        settings=_form_values(job),
        n_shadows=N_SHADOWS,
        seconds=workspace.estimates(table),
        is_inspected=workspace.is_inspected(table),
        has_page=job is not None
        and (workspace.project.job_folder(job.id) / COMPARISON_PAGE).is_file(),
        feedback=feedback,
        is_part=False,
        **parts,
    )


class Comparable(NamedTuple):
    """A method that can be compared, as the form shows it."""

    name: str
    description: str
    promise: str
    is_usual: bool


def _list_comparable(feedback: Feedback) -> list[Comparable]:
    promises = {kind.promise: kind.label.partition(":")[0] for kind in all_claims()}
    usual = list_methods(of=feedback)
    variants = map(variant_of, usual)
    return [
        Comparable(
            each.name, each.description, promises[each.about_claim.promise], usual[each.name]
        )
        for each in variants
    ]


def _answer_values(
    state: Result | None, query: Mapping[str, str], saved: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """Return what the answer to a question shows of the finished settings."""
    comparison = None if state is None else state["comparison"]
    rows = rows_of(comparison["rows"]) if comparison else []
    question = Question.read(query, _default_question(saved, comparison))
    n_unfinished = state["unfinished"] if state else 0
    answered = answer(rows, question, n_unfinished)
    shown = [row.title for row in (answered.row, answered.choice.row) if row is not None]
    drawings = [
        draw(rows, utility, question.axis, answered.best, question.max_risk, shown)
        for utility in utilities_of(rows)
        if question.utility in ("both", utility.name)
    ]
    return {
        "question": question,
        "answer": answered,
        "drawings": [drawing for drawing in drawings if drawing.dots],
        "lines": tabulate(rows, question),
        "warnings": warnings_for(comparison, answered) if comparison else [],
        "risks": {
            name: axis
            for name, axis in AXES.items()
            if axis != ATTRIBUTE or axis == question.axis or _has_attributes(rows)
        },
        "utilities": _UTILITIES,
        "shadows": SHADOWS.name,
        "has_rows": bool(rows),
        "few_ratings": _describe_marks(rows),
        "public_items": PUBLIC_ITEMS,
    }


def _describe_marks(rows: Sequence[Row]) -> str:
    exact = "! after ratings published exactly: most of them." * any(map(publishes_most, rows))
    legends = [FEW_RATINGS, legend_of_lists(rows), describe_revealing(rows), exact]
    return " ".join(filter(None, legends))


def _has_attributes(rows: Sequence[Row]) -> bool:
    return any(row.attribute_added is not None for row in rows)


def describe_compared(
    state: Result | None, saved: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """Return a comparison with the answer to the saved question; None if there is none."""
    if state is None or not state["comparison"]:
        return None
    return _answer_values(state, {"setting": ""}, saved)


def load_question(workspace: Workspace, table: Input) -> Mapping[str, Any] | None:
    """Return the saved question about a table; None if there is none."""
    saved: Mapping[str, Any] | None = workspace.project.load_for(
        table, "question", Question._fields
    )
    return saved


def _default_question(
    saved: Mapping[str, Any] | None, comparison: Mapping[str, Any] | None
) -> Question:
    """Return the saved question, or the usual one."""
    if saved and saved["risk"] in AXES:
        titles = [] if comparison is None else [row["title"] for row in comparison["rows"]]
        setting = saved["setting"] if saved["setting"] in titles else None
        return Question(**{name: saved[name] for name in Question._fields})._replace(
            setting=setting
        )
    if comparison is None:
        return Question()
    axis = usual_axis(rows_of(comparison["rows"]))
    purpose: Purpose = "lists" if comparison["settings"]["utility"] == "lists" else "both"
    return Question(risk=axis.name, utility=purpose, limit=round(100 * axis.usual))


def _start(request: Request) -> Response:
    workspace, form = workspace_of(request), form_of(request)
    table = workspace.require_table()
    reject_changed(workspace.project, table)
    feedback = _feedback_of(workspace, table)
    marked = [name for name in list_methods(of=feedback) if form.get(f"method-{name}")]
    if not marked:
        raise RecveilError(
            "no method is marked; mark at least one to be compared", code="option.required"
        )
    methods = None if set(marked) == set(default_methods(of=feedback)) else marked
    ks = _parse_ks(form.get("ks", ""))
    shadows = N_SHADOWS if form.get("shadows") else None
    users, attributes = parse_attributes(form)
    out = str(workspace.project.folder_for("comparisons") / str(table.id))
    settings: Settings = {
        **source_settings(table),
        "out": out,
        "methods": methods,
        "ks": ks,
        "shadows": shadows,
        "users": users,
        "attribute": attributes,
    }
    options = {
        **table.reading,
        "methods": methods and ",".join(methods),
        "k": ks and ",".join(map(str, ks)),
        "shadows": shadows,
        "users": users,
        "attribute": attributes,
        "output": out,
    }
    command = format_command("compare", table.place, options=options)
    workspace.jobs.start(
        "choose",
        "compare",
        settings,
        command=command,
        input=table.id,
        doing=f"comparing settings on {table.name}",
    )
    return redirect("/choose")


def _take(request: Request) -> Response:
    """Select a setting for the release, and log the question and the answer."""
    workspace = workspace_of(request)
    project = workspace.project
    table = workspace.require_table()
    state = _comparison_state(workspace, table)
    if state is None:
        raise RecveilError(
            "nothing is compared yet; start it on the page Choose", code="workbench.not-ready"
        )
    question = Question.read(form_of(request), Question())
    answered = answer(rows_of(state["comparison"]["rows"]), question, state["unfinished"])
    row = answered.row
    if row is None or not answered.is_publishable:
        raise RecveilError(
            "this setting cannot be published; choose one that makes a claim",
            code="release.refused",
        )
    project.save_for(table, "question", question._asdict())
    kept = format_kept(row)
    kept = f"{kept[:1].upper()}{kept[1:]}." if kept else ""
    why = [*answered.why, *filter(None, (kept, describe_catalog(row)))]
    setting = {"method": row.method, "k": row.k, "title": row.title, "why": why}
    project.save_for(table, "setting", {**setting, "reading": table.reading})
    project.note(f"chose “{row.title}” for {table.name}: {' '.join(why)}", input=table.id)
    return redirect("/release")


def _report(request: Request) -> Response:
    missing = "page of a comparison; run it to its end"
    return serve_report(request, ("compare",), COMPARISON_PAGE, missing)


def _comparison_state(workspace: Workspace, table: Input | None) -> Result | None:
    """Return the finished part of a table's comparison, running, ended or stopped."""
    if table is None:
        return None
    project = workspace.project
    for job in project.jobs():
        key = job.room, job.input, job.settings.get("reading")
        if key != ("choose", table.id, table.reading) or not is_current(project, table, job):
            continue
        if (state := comparison_so_far(project, job)) is not None:
            return state
    return None


def comparison_so_far(project: Project, job: Job) -> Result | None:
    """Return the finished part of a comparison; None if there is none."""
    state = project.result(job)
    file = project.job_folder(job.id) / PARTIAL_RESULT
    if state is None and file.is_file():
        state = json.loads(file.read_text(encoding="utf-8"))
    return state


def _form_values(job: Job | None) -> Mapping[str, object]:
    """Return the settings of the last comparison, for the form."""
    settings: Settings = {} if job is None else job.settings
    ks = settings.get("ks")
    return {
        "methods": settings.get("methods"),
        "ks": ",".join(map(str, ks or ())),
        "shadows": bool(settings.get("shadows")),
        "users": settings.get("users") or "",
        "attribute": ", ".join(settings.get("attribute") or ()),
    }


def _feedback_of(workspace: Workspace, table: Input | None) -> Feedback:
    job = None if table is None else workspace.project.last_job("data", table.id)
    return feedback_of(workspace.project.result(job))


def parse_attributes(form: Mapping[str, str]) -> tuple[str | None, list[str] | None]:
    """Parse the file of declared attributes, and its columns, maybe with their public values."""
    text = form.get("attribute", "")
    mark = ";" if {";", "="} & {*text} else ","
    names = [part.strip() for part in text.split(mark) if part.strip()]
    users = place_of(form["users"]).path if form.get("users", "").strip() else None
    check_attributes(users, names or None)
    return users, names or None


def _parse_ks(text: str) -> list[int] | None:
    """Parse several k, as in "5, 20"; None for the default ones."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        return None
    if len(parts) > _MOST_KS or not all(p.isdecimal() and len(p) < 8 for p in parts):
        raise RecveilError(
            f"k: {quoted(text, 40)}; expected up to {_MOST_KS} whole numbers, as in 5,20",
            code="option.value",
        )
    return [int(part) for part in parts]


ROUTES = [
    Route("/choose", _page),
    Route("/choose/start", _start, methods=["POST"]),
    Route("/choose/take", _take, methods=["POST"]),
    Route(f"/choose/{NUMBER}/comparison.html", _report),
]
