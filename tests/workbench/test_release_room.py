"""The room Release: a release is made, checked, described and taken away; its twin is not."""

import html
import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from recveil.comparison.rows import Row
from recveil.workbench.frontier import Question
from recveil.workbench.table_source import source_settings
from recveil.workbench.views.evidence import sort_statements


@pytest.fixture
def dropped(browser, quick, small_table):
    browser.drop("shop.csv", small_table)
    browser.wait("data", "risk")
    return browser


def release(browser):
    return next(job for job in browser.bench.project.jobs() if job.task == "release")


def test_without_a_table_it_says_where_to_bring_one(browser):
    assert '<a href="/data">Add one</a>' in browser.get("/release").text


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "../out"},
        {"name": "/etc"},
        {"name": "a.private"},
        {"name": ""},
        {"k": "1"},
        {"k": "five"},
        {"method": "raw"},
        {"method": "gold"},
        {"file_format": "exe"},
        {"item_table": "/nowhere.csv"},
        {"epsilon": "3"},
        {"method": "synthetic-exact", "epsilon": "3"},
        {"method": "synthetic-10", "epsilon": "none"},
        {"method": "synthetic-10", "epsilon": "much"},
        {"method": "synthetic-10", "releases": "1"},
        {"previous": "1"},
    ],
)
def test_what_cannot_be_made_is_refused(dropped, wrong):
    form = {"method": "padded", "k": "4", "name": "first", "file_format": "csv"} | wrong
    answer = dropped.send("/release/make", **form, cohort="2031")
    assert answer.status_code == 400
    assert "Traceback" not in answer.text
    # The sentence is on the page, with the form as it was entered.
    assert 'href="#form-make"' in answer.text
    assert 'name="cohort" value="2031"' in answer.text
    assert not (dropped.bench.project.folder / "releases" / "first").exists()


def test_what_guarantees_nothing_is_offered_last(dropped):
    page = dropped.get("/release").text
    main, _, more = page.partition("<summary>More methods</summary>")
    offered = re.findall(r'id="method-([^"]+)"', main)
    assert offered[:4] == ["sparse", "synthetic-1", "synthetic-3", "synthetic-10"]
    assert 'id="method-synthetic-exact"' in more
    assert "guarantees nothing" in more.partition('id="method-synthetic-exact"')[2][:300]


def test_k_corating_is_among_more_methods_with_its_sentence(dropped):
    main, _, more = dropped.get("/release").text.partition("<summary>More methods</summary>")
    assert 'id="method-k-corating' not in main
    offered = more.partition('id="method-k-corating-item-mean"')[2][:700]
    assert "an adversary who knows some ratings of a user may re-identify the user" in offered
    assert "do not hide who is in the data" in main.partition('id="method-sparse"')[2][:400]


@pytest.mark.parametrize("public", [{}, {"public_items": "on"}])
def test_items_are_taken_for_public_only_where_that_is_said(dropped, monkeypatch, public):
    page = dropped.get("/release").text
    assert 'id="public_items" name="public_items">' in page
    assert "holds only if the list is public" in page
    started = []
    jobs = dropped.bench.jobs
    start = jobs.start
    monkeypatch.setattr(jobs, "start", lambda *a, **b: started.append((a, b)) or start(*a, **b))
    form = {"method": "synthetic-10", "name": "drawn", "file_format": "csv"}
    dropped.send("/release/make", **form, **public)
    (_, _, settings), named = started[0]
    assert ("item_catalog" in settings["options"]) is bool(public)
    assert ("--item-catalog as-rated" in named["command"]) is bool(public)


def test_noise_needs_a_named_scale(dropped):
    dropped.send("/release/make", method="synthetic-10", name="drawn", file_format="csv")
    dropped.wait("release")
    assert "name the scale" in dropped.get("/release").text


def thin_table():
    """Sixty users with a rating each of one of many items, of which few are shared."""
    rows = [f"reader-{user},film-{500 + user if user % 3 else 500},4" for user in range(60)]
    return "\n".join(["user,item,rating", *rows, ""]).encode()


def test_a_refused_release_is_logged_as_refused_and_is_not_in_another_dossier(dropped, small_table):
    form = {"method": "sparse", "k": "4", "name": "same", "file_format": "csv"}
    dropped.drop("thin.csv", thin_table())
    dropped.wait("data", "risk")
    dropped.send("/release/make", **form)
    (refused,) = dropped.wait("release")
    assert refused.state == "failed", refused.error
    page = dropped.get("/release").text
    assert "“Allow sparse coverage”" in page
    assert 'name="allow_sparse_coverage"' in page
    project = dropped.bench.project
    assert project.log()[0]["what"] == "failed in making the release same of thin.csv"
    dropped.drop("shop.csv", small_table)
    dropped.wait("data", "risk")
    dropped.send("/release/make", **form)
    (job,) = dropped.wait("release")
    assert (job.state, job.error) == ("done", "")
    lines = [line["what"] for line in project.log_of(job)]
    assert "finished making the release same of shop.csv" in lines
    assert not [line for line in lines if "thin.csv" in line]
    page = dropped.get(f"/release/{job.id}/dossier").text
    assert "finished making the release same of shop.csv" in page
    assert "thin.csv" not in page.partition("<h2>Log</h2>")[2]
    page = dropped.get("/release").text
    assert page.count("an adversary who matches it") == len(
        set(re.findall("The same row for [0-9]+ users", page))
    )


def test_a_nearly_empty_release_is_made_where_it_is_allowed(browser, quick):
    browser.drop("thin.csv", thin_table())
    browser.wait("data", "risk")
    form = {"method": "sparse", "k": "4", "name": "thin", "file_format": "csv"}
    browser.send("/release/make", **form, allow_sparse_coverage="on")
    (job,) = browser.wait("release")
    assert (job.state, job.error) == ("done", "")
    assert "--allow-sparse-coverage" in job.command


def test_the_form_of_a_failed_release_keeps_what_was_entered(dropped):
    page = dropped.get("/release").text
    previous = '<select id="previous" name="previous" aria-describedby="previous-hint"'
    assert f"{previous} disabled>" in page
    assert "no release of the method sparse" in page
    form = {"method": "simple", "k": "7", "name": "mine", "file_format": "csv", "hide_items": "on"}
    dropped.send("/release/make", **form, dates="week", date_range="2024:2025")
    (failed,) = dropped.wait("release")
    assert failed.state == "failed"
    page = dropped.get("/release").text
    for field in (
        'value="simple" required checked>',
        'name="k" type="number" min="2" step="1" value="7"',
        'name="name" value="mine"',
        "<option selected>csv</option>",
        "<option selected>week</option>",
        "<option>order</option>",
        'name="date_range" value="2024:2025"',
        'name="hide_items" checked>',
        'name="public_items">',
    ):
        assert field in page
    dropped.send("/release/make", method="sparse", k="4", name="mine", file_format="csv")
    dropped.wait("release")
    page = dropped.get("/release").text
    assert 'name="k" type="number" min="2" step="1" value="5"' in page
    assert f'{previous}><option value="">none' in page


def test_a_release_says_that_dates_are_left_out_and_which_field_publishes_them(
    browser, quick, small_table
):
    head, *rows = small_table.decode().splitlines()
    lines = [f"{head},time", *(f"{row},2024-01-{1 + at % 28:02}" for at, row in enumerate(rows))]
    browser.drop("dated.csv", "\n".join([*lines, ""]).encode())
    browser.wait("data", "risk")
    browser.send("/release/make", method="sparse", k="4", name="a", file_format="csv")
    (job,) = browser.wait("release")
    assert (job.state, job.error) == ("done", "")
    said = "no dates: 'time' is left out; to publish them by period, set “Dates of ratings”."
    assert said in html.unescape(browser.get("/release").text)


def test_items_with_personal_ids_are_refused_or_hidden_where_that_is_wanted(browser, quick):
    rows = [
        f"{user},{item}@example.org,{1 + (user + item) % 5}"
        for user in range(40)
        for item in range(4)
    ]
    browser.drop("mail.csv", "\n".join(["user,item,rating", *rows, ""]).encode())
    browser.wait("data", "risk")
    form = {"method": "sparse", "k": "4", "name": "mail", "file_format": "csv"}
    browser.send("/release/make", **form)
    (refused,) = browser.wait("release")
    assert refused.state == "failed"
    page = browser.get("/release").text
    assert "“Hide item ids”" in page
    assert 'name="hide_items"' in page
    browser.send("/release/make", **form, hide_items="on")
    (job,) = browser.wait("release")
    assert (job.state, job.error) == ("done", "")
    assert "--hide-items" in job.command


def test_the_dossier_states_the_accepted_limit_and_what_was_compared(dropped):
    dropped.send("/release/make", method="sparse", k="4", name="first", file_format="csv")
    (made,) = dropped.wait("release")
    project = dropped.bench.project
    table = project.chosen_input()
    page = dropped.get(f"/release/{made.id}/dossier").text
    assert "No settings were compared" in page
    shares = {"items_kept": 0.3, "ratings_kept": 0.81, "short_users": 77}
    row = Row("sparse", 4, "k-anonymity", None, risk=0.05, risk_low=0.04, risk_high=0.06, **shares)
    comparison = {
        "rows": [row._asdict() | {"title": row.title}],
        "settings": {"risk": "reidentification", "utility": "both"},
        "data": {"notes": []},
        "warnings": ["The sample is small."],
        "unfinished": 0,
    }
    job = project.begin_job("choose", "compare", source_settings(table), "", table.id)
    file = project.job_folder(job.id) / "result.json"
    file.write_text(json.dumps({"comparison": comparison, "unfinished": 0}))
    project.end_job(job.id, "done")
    project.save_for(table, "question", Question(limit=17)._asdict())
    chosen = {"method": "sparse", "k": 4, "title": row.title, "why": ["It keeps most."]}
    project.save_for(table, "setting", chosen)
    page = dropped.get(f"/release/{made.id}/dossier").text
    choice = page.partition("<h2>Choice</h2>")[2].partition("<h2>Release</h2>")[0]
    for stated in (
        "17%",
        row.title,
        "The sample is small.",
        "It keeps most.",
        "four fifths",
        "proven bound",
        "30% !",
        "81%",
        "77",
    ):
        assert stated in choice
    assert "(this release)" in choice
    # A release of another setting is none of those that were compared.
    dropped.send("/release/make", method="sparse", k="5", name="second", file_format="csv")
    other, *_ = dropped.wait("release")
    page = dropped.get(f"/release/{other.id}/dossier").text
    choice = page.partition("<h2>Choice</h2>")[2].partition("<h2>Release</h2>")[0]
    assert "The setting of this release was not compared." in choice
    assert "It keeps most." not in choice
    assert row.title in choice


def test_a_signed_dossier_keeps_the_data_that_its_release_was_made_from(dropped):
    project, table = dropped.bench.project, dropped.bench.project.chosen_input()
    dropped.send("/release/make", method="sparse", k="4", name="first", file_format="csv")
    (made,) = dropped.wait("release")
    decision = {"decided_by": "Ann", "because": "It is low.", "date": "2026-01-31"}
    assert dropped.send(f"/release/{made.id}/sign", **decision).is_success
    before = dropped.get(f"/release/{made.id}/dossier").text
    assert "The table was not audited" not in before
    digests = {
        project.result(project.last_job(room, table.id))["ratings_sha256"]
        for room in ("data", "risk", "release")
    }
    assert len(digests) == 1
    dropped.send("/data/reading", scale="1:4:1", drop_off_scale="on")
    dropped.wait("data", "risk")
    read_again = project.result(project.last_job("data", table.id))
    assert read_again["data"]["ratings"] < 900
    for signed in (True, False):
        if not signed:
            project.save(f"decision {project.result(made)['sha256']}", None)
        page = dropped.get(f"/release/{made.id}/dossier").text
        data = page.partition("<h2>Data</h2>")[2].partition("<h2>Choice</h2>")[0]
        assert data == before.partition("<h2>Data</h2>")[2].partition("<h2>Choice</h2>")[0]
        assert "its reading has changed" in page


def test_the_dossier_names_columns_by_place_as_columns(dropped):
    dropped.send("/data/reading", user="1", item="2", rating="3")
    dropped.wait("data", "risk")
    dropped.send("/release/make", method="sparse", k="4", name="first", file_format="csv")
    (made,) = dropped.wait("release")
    page = dropped.get(f"/release/{made.id}/dossier").text
    for role, place in (("user", 1), ("item", 2), ("rating", 3)):
        assert f'<th scope="row">{role}</th><td>column {place}</td>' in page


def test_a_decision_has_no_future_date_and_keeps_the_earlier_ones(dropped):
    dropped.send("/release/make", method="sparse", k="4", name="first", file_format="csv")
    (made,) = dropped.wait("release")
    sign = f"/release/{made.id}/sign"
    first = {"decided_by": "Ann", "because": "It is low.", "date": "2026-01-31"}
    later = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    answer = dropped.send(sign, **first | {"date": later})
    assert (answer.status_code, "is in the future" in answer.text) == (400, True)
    for each in (first, first | {"decided_by": "Bob"}, first | {"decided_by": "Cleo"}):
        assert dropped.send(sign, **each).is_success
    for place in ("/release", f"/release/{made.id}/dossier"):
        page = dropped.get(place).text
        earlier = page.partition("Earlier decisions")[2].partition("</ul>")[0]
        assert re.findall("Decided by ([A-Z][a-z]+)", earlier) == ["Bob", "Ann"]
        assert re.search("(?i)recorded at.{0,30}20[0-9-]{8} [0-9:]{8} UTC", page)


def test_each_dossier_lists_all_releases_of_its_table(dropped):
    form = {"method": "sparse", "k": "4", "file_format": "csv"}
    numbers = {}
    for name in ("first", "second"):
        dropped.send("/release/make", name=name, **form)
        numbers[name] = dropped.wait("release")[0].id
    for name in numbers:
        page = dropped.get(f"/release/{numbers[name]}/dossier").text
        listed = page.partition("All releases of this table")[2].partition("</table>")[0]
        assert re.findall('scope="row">([a-z]+)', listed) == ["second", "first"]
        assert f"{name} (this release)" in listed
        assert "the claim of none covers that" in page


def test_a_dossier_lists_releases_of_the_same_users_from_other_files(dropped, small_table):
    form = {"method": "sparse", "k": "4", "file_format": "csv"}
    dropped.send("/release/make", name="first", **form)
    (first,) = dropped.wait("release")
    dropped.drop("other.csv", small_table.replace(b",5.0", b",4.0"))
    dropped.wait("data", "risk")
    dropped.send("/release/make", name="second", **form)
    (second,) = dropped.wait("release")
    for job, table in ((first, "other.csv"), (second, "shop.csv")):
        page = dropped.get(f"/release/{job.id}/dossier").text
        listed = page.partition("All releases of this table")[2].partition("</table>")[0]
        assert re.findall('scope="row">([a-z]+)', listed) == ["second", "first"]
        assert f"from {table}<" in listed


def test_the_page_says_if_the_files_have_changed(dropped):
    dropped.send("/release/make", method="sparse", k="4", name="first", file_format="csv")
    (made,) = dropped.wait("release")
    card = dropped.bench.project.folder / "releases" / "first" / "README.md"
    address = f"/release?release={made.id}"
    page = dropped.get(address).text
    assert "✓ holds" in page
    assert 'id="download"' in page
    card.write_text(f"{card.read_text()}x")
    page = dropped.get(address).text
    assert "✓ holds" not in page
    assert "✗ changed since it was verified" in page
    assert 'id="download"' not in page
    assert ">Sign off<" not in page


def test_what_a_release_lacks_is_a_notice_and_danger_is_red():
    sentences = ["warning: The release keeps 4 of 9 items.", "warning: fills.", "All is well."]
    found = sort_statements(sentences)
    assert found == (["Fills."], ["The release keeps 4 of 9 items."], ["All is well."])


def test_the_dossier_says_if_the_files_have_changed(dropped):
    dropped.send("/release/make", method="sparse", k="4", name="first", file_format="csv")
    (made,) = dropped.wait("release")
    decision = {"decided_by": "Ann", "because": "It is low.", "date": "2026-01-31"}
    assert dropped.send(f"/release/{made.id}/sign", **decision).is_success
    address = f"/release/{made.id}/dossier"
    assert "✓ holds" in dropped.get(address).text
    folder = dropped.bench.project.folder / "releases" / "first"
    card = folder / "README.md"
    text = card.read_text()
    card.write_text(f"{text}x")
    page = dropped.get(address).text
    assert "✓ holds" not in page
    assert "✗ changed since the decision" in page
    assert dropped.send(f"/release/{made.id}/sign", **decision).status_code == 400
    card.write_text(text)
    folder.rename(folder.with_name("elsewhere"))
    page = dropped.get(address).text
    assert "✓ holds" not in page
    assert "✗ missing" in page


def test_a_signed_dossier_says_if_its_evidence_has_changed_and_what_was_measured_later(dropped):
    project = dropped.bench.project
    dropped.send("/release/make", method="sparse", k="4", name="first", file_format="csv")
    (made,) = dropped.wait("release")
    decision = {"decided_by": "Ann", "because": "It is low.", "date": "2026-01-31"}
    assert dropped.send(f"/release/{made.id}/sign", **decision).is_success
    address = f"/release/{made.id}/dossier"
    assert "evidence changed" not in dropped.get(address).text
    assert dropped.send(f"/release/{made.id}/attack").is_success
    dropped.wait("release attack")
    page = dropped.get(address).text
    assert "Measured after the decision" in page
    assert "evidence changed" not in page
    assert dropped.send(f"/release/{made.id}/sign", **decision).is_success
    assert "Measured after the decision" not in dropped.get(address).text
    file = project.job_folder(made.id) / "evidence.json"
    file.write_text(file.read_text().replace('"users": ', '"users": 9'))
    assert "✗ evidence changed" in dropped.get(address).text


@pytest.fixture
def made(dropped):
    dropped.send("/release/make", method="sparse", k="4", name="first", file_format="csv")
    dropped.wait("release")
    return dropped


@pytest.mark.parametrize(
    ("action", "form", "kept"),
    [
        ("forget", {"user": " "}, 'id="user"'),
        ("forget", {"user": "7" * 3_000}, f'value="{"7" * 3_000}"'),
        ("convert", {"target_format": "gold", "split": "0.25"}, 'value="0.25"'),
        ("convert", {"target_format": "elliot", "split": "2"}, 'value="2"'),
        ("convert", {"target_format": "elliot", "split_by": "x"}, '"elliot" selected'),
        ("sign", {"decided_by": "Ann", "because": "", "date": "2026-01-31"}, 'value="Ann"'),
        ("describe", {"publisher": "a\u202eb", "title": "Kept"}, 'value="Kept"'),
    ],
)
def test_a_wrong_field_is_named_on_the_page_which_keeps_the_others(made, action, form, kept):
    before = made.bench.project.jobs()
    answer = made.send(f"/release/{release(made).id}/{action}", **form)
    assert answer.status_code == 400
    assert f'href="#form-{action}"' in answer.text
    assert kept in answer.text.partition(f'id="form-{action}"')[2]
    assert made.bench.project.jobs() == before
    assert made.send(f"/release/99/{action}", **form).status_code == 400


def test_a_user_in_another_notation_stays_in_the_field(made):
    made.send(f"/release/{release(made).id}/forget", user="007")
    (job,) = made.wait("release forget")
    assert job.state == "failed"
    assert 'value="007"' in made.get("/release").text
