"""The room Choose: settings are compared, asked about, and one of them is taken."""

import pytest

from recveil.comparison.settings import default_methods, list_settings
from recveil.workbench.jobs import Running
from recveil.workbench.project import Job
from recveil.workbench.views.choose import parse_attributes

pytestmark = pytest.mark.usefixtures("few_recommenders")

ASKED = {"method-raw": "on", "method-sparse": "on", "ks": "3, 6"}


def test_without_a_table_it_says_where_to_bring_one(browser):
    assert '<a href="/data">Add one</a>' in browser.get("/choose").text


def test_what_can_be_compared_is_offered_first(browser, quick, small_table):
    browser.drop("shop.csv", small_table)
    browser.wait("data")
    page = browser.get("/choose").text
    assert 'name="method-raw" checked' in page
    assert 'name="method-synthetic-10" checked' in page
    assert 'name="method-padded-mdav">' in page
    assert 'name="method-rotation">' in page  # not of the default settings


@pytest.mark.parametrize("form", [{"ks": "3"}, ASKED | {"ks": "3;6"}, ASKED | {"ks": "three"}])
def test_what_cannot_be_compared_is_refused(browser, quick, small_table, form):
    browser.drop("shop.csv", small_table)
    browser.wait("data")
    assert browser.send("/choose/start", **form).status_code == 400
    assert browser.bench.project.last_job("choose") is None


def test_declared_attributes_are_an_axis_of_risk(browser, quick, small_table, tmp_path):
    browser.drop("shop.csv", small_table)
    browser.wait("data")
    assert 'value="attribute"' not in browser.get("/choose").text
    ids = sorted({line.split(",")[0] for line in small_table.decode().splitlines()[1:]})
    lines = [f"{user},{'abc'[n % 3]},{n % 2}" for n, user in enumerate(ids)]
    users = tmp_path / "users.csv"
    users.write_text("user,city,sex\n" + "\n".join(lines))
    attributes = {"users": str(users), "attribute": "city, sex"}
    assert browser.send("/choose/start", **ASKED, users=str(users)).status_code == 400
    browser.send("/choose/start", **ASKED, **attributes)
    (job,) = browser.wait("choose")
    assert (job.state, job.error) == ("done", "")
    assert f"--users {users} --attribute city --attribute sex" in job.command
    page = browser.get("/choose?risk=attribute").text
    assert '<option value="attribute" selected>the AUC added to attribute inference' in page
    assert f'value="{users}"' in page
    assert "share of AUC" not in page
    assert 'data-label="proven bound">at most' not in page
    assert 'data-label="proven bound">at most' in browser.get("/choose?risk=reidentification").text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("city, sex", ["city", "sex"]),
        ("city; sex;", ["city", "sex"]),
        ("sex=F,M", ["sex=F,M"]),
        ("sex=F, M; city=a,b", ["sex=F, M", "city=a,b"]),
    ],
)
def test_attributes_are_split_at_commas_or_semicolons(tmp_path, text, expected):
    users = str(tmp_path)
    assert parse_attributes({"users": users, "attribute": text}) == (users, expected)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"ks": ""}, (None, None)),
        ({"ks": "3"}, (None, [3])),
        ({"ks": "", "method-padded": "on"}, (["raw", "sparse", "simple", "padded"], None)),
    ],
)
def test_the_default_settings_are_those_of_compare(
    browser, quick, small_table, monkeypatch, form, expected
):
    browser.drop("shop.csv", small_table)
    browser.wait("data")
    started = []
    monkeypatch.setattr(browser.bench.jobs, "start", lambda *_, **__: started.append(_))
    marked = {f"method-{name}": "on" for name in default_methods()}
    assert browser.send("/choose/start", **marked, **form).status_code == 200
    (_, _, settings) = started[0]
    methods = settings["methods"]
    assert settings["ks"] == expected[1]
    if expected[0] is None:
        assert methods is None
    else:
        assert set(methods) == {*expected[0], *default_methods()}


def test_the_time_is_estimated_before_the_start(browser, small_table, quick):
    browser.drop("ratings.csv", small_table)
    (job,) = browser.wait("data")
    seconds = browser.bench.project.result(job)["seconds"]
    # 80 users, 40 items, 900 ratings: nearly all of it is what a setting takes whatever its size.
    assert 1 < seconds["setting"] < 2
    n_settings = len(list_settings())
    assert seconds["compared"] == pytest.approx(n_settings * seconds["setting"])
    assert seconds["shadowed"] > 3 * seconds["compared"]
    for place in ("/choose", "/release"):
        assert "two idle cores" in browser.get(place).text, place


def test_the_estimate_of_the_library_is_shown_while_it_works(browser):
    running = Running(Job(1, "choose", "compare", {}, "", None, "running", "", "", ""))
    running.reports.append(("estimate", "About 2 min on two idle cores."))
    text = browser.bench.render_fragment(
        "progress.html.jinja", number=1, running=running, n_reports=1
    )
    assert "About 2 min on two idle cores." in text
