"""Data: a table comes in, is understood, corrected, and audited next."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("quick")


class TestATableThatIsDropped:
    def test_is_understood_and_audited(self, browser, small_table):
        answer = browser.drop("my ratings.csv", small_table)
        assert answer.json() == {"next": "/data"}
        (inspected,) = browser.wait("data")
        assert (inspected.state, inspected.error) == ("done", "")
        page = browser.get("/data").text
        assert "my ratings.csv" in page
        assert "<dd>80</dd>" in page
        assert "<option selected>item</option>" in page
        assert "recveil inspect" in page
        (audited,) = browser.wait("risk")
        assert (audited.state, audited.error) == ("done", "")
        found = browser.bench.project.result(audited)
        page = browser.get("/risk").text
        assert f"<h1>{found['verdict'][0]}</h1>" in page
        assert f"<strong>{found['verdict'][0]}</strong>" in browser.get("/data").text
        assert "--no-curves" in page

    def test_of_hostile_names_is_shown_harmlessly(self, browser):
        evil = "<script>alert(1)</script>{{7*7}}\u202e"
        rows = [f'"{evil}{at}","{evil}film{at % 7}",{1 + at % 5}' for at in range(60)]
        header = f'user,item,rating,"{evil}"'
        content = "\n".join([header, *(f"{row},x" for row in rows), ""]).encode()
        name = "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E.csv"
        browser.drop(name, content)
        browser.wait("data", "risk")
        for place in ("/data", "/risk"):
            page = browser.get(place).text
            assert "<script>alert" not in page
            assert "<img" not in page
            assert "\u202e" not in page
        assert "&lt;script&gt;" in browser.get("/data").text
        assert "\\u202e" in browser.get("/data").text
        assert "&lt;img src=x" in browser.get("/data").text


class TestACorrection:
    def test_makes_the_old_verdict_void(self, browser, small_table):
        browser.drop("ratings.csv", small_table)
        browser.wait("data")
        browser.wait("risk")
        browser.send("/data/reading", user="nowhere")
        (job,) = browser.wait("data")
        assert job.state == "failed"
        page = browser.get("/risk").text
        assert "are found again" not in page
        assert 'href="/data"' in page


def test_two_tables_are_chosen_between(browser, small_table):
    browser.drop("first.csv", small_table)
    browser.drop("second.csv", small_table.replace(b"user,", b"user_id,"))
    first, second = reversed(browser.bench.project.inputs())
    assert browser.bench.project.chosen_input() == second
    browser.send("/data/choose", input=str(first.id))
    assert browser.bench.project.chosen_input() == first


def test_a_table_that_is_removed_is_gone(browser, small_table, tmp_path):
    browser.drop("first.csv", small_table)
    browser.wait("data", "risk")
    (first,) = browser.bench.project.inputs()
    (tmp_path / "named.csv").write_bytes(small_table)
    browser.send("/data/name", place=str(tmp_path / "named.csv"))
    browser.wait("data", "risk")
    named = browser.bench.project.chosen_input()
    browser.send("/data/forget", input=str(first.id))
    assert browser.bench.project.inputs() == [named]
    assert list((browser.bench.project.folder / "inputs").iterdir()) == []
    assert {job.input for job in browser.bench.project.jobs()} <= {named.id, None}
    browser.send("/data/forget", input=str(named.id))
    assert browser.bench.project.chosen_input() is None
    assert (tmp_path / "named.csv").read_bytes() == small_table, "it is nobody's but its owner's"
    left = [each for each in browser.bench.project.folder.rglob("*") if each.is_file()]
    one_user = small_table.split(b"\n")[1].split(b",")[0]
    assert not [each for each in left if each.name in ("result.json", "audit.html")], one_user
    page = browser.get("/data").text
    assert "What is in this table?" not in page
    assert browser.get("/risk").status_code == 200
    assert "removed first.csv" in [each["what"] for each in browser.bench.project.log()][1]
    assert browser.send("/data/forget", input="99").status_code == 400


def triples(rating):
    return "".join(
        f"ann{who},film{at},{rating(who + at)}\n" for who in range(30) for at in range(6)
    )


WORDS = ("hate", "like", "love")

KINDS = {
    "likes": ("user,item\n" + triples(lambda _: "").replace(",\n", "\n"), {}),
    "words": (
        "user,item,rating\n" + triples(lambda n: WORDS[n % 3]),
        {"order": "hate,like,love"},
    ),
    "words without an order": (
        "user,item,rating\n" + triples(lambda n: WORDS[n % 3]),
        {"words": "all"},
    ),
    "counts": ("user,item,plays\n" + triples(lambda n: 1 + n**3), {"counts": "log"}),
    "a matrix": (
        "user,a,b,c\n" + "".join(f"ann{who},{1 + who % 5},{who % 3},99\n" for who in range(30)),
        {"wide": "on", "null": "99"},
    ),
    "JSON": (
        "\n".join(
            json.dumps({"user": f"ann{at % 9}", "item": at // 9, "rating": 1 + at % 5})
            for at in range(90)
        ),
        {},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_is_understood_and_audited(browser, kind):
    content, said = KINDS[kind]
    browser.drop("table.txt", content.encode())
    browser.wait("data")
    browser.send("/data/reading", **said)
    (job,) = browser.wait("data")
    assert (job.state, job.error) == ("done", "")
    (audited,) = browser.wait("risk")
    assert (audited.state, audited.error) == ("done", "")
    for place in ("/data", "/risk"):
        assert browser.get(place).status_code == 200
    assert "What is in this table?" in browser.get("/data").text


def test_a_table_with_several_ratings_of_a_pair_says_what_to_choose(browser):
    browser.drop("ratings.csv", ("user,item,rating\n" + 2 * triples(lambda n: 1 + n % 5)).encode())
    browser.wait("data", "risk")
    assert "If a user rates an item more than once" in browser.get("/data").text
    assert 'data-state="failed"' in browser.get("/risk").text
    browser.send("/data/reading", user="user", item="item", rating="rating", duplicates="last")
    (job,) = browser.wait("data")
    (audited,) = browser.wait("risk")
    assert (job.state, audited.state) == ("done", "done")


def test_a_project_whose_choices_were_spoiled_can_be_worked_on(browser):
    """Each page once answered 500 forever, also the page that reports errors."""
    project = browser.bench.project
    for key in ("input", "checked", "card"):
        for value in ("nonsense", '"text"', "9", "null", '{"name": "x"}'):
            with project._store.changing() as run:
                run("INSERT OR REPLACE INTO kept (key, value) VALUES (?, ?)", (key, value))
            for room in ("data", "risk", "choose", "release", "check", "log"):
                assert browser.get(f"/{room}").status_code == 200, (key, value, room)


def test_where_a_result_is_lost_the_page_is_there_to_run_it_again(browser, quick, small_table):
    """It once was an error page that said so, on the only address with a button for it."""
    browser.drop("shop.csv", small_table)
    browser.wait("data", "risk")
    project = browser.bench.project
    job = project.begin_job("release", "release", {"output": "", "state": ""}, "", 1)
    project.end_job(job.id, "done")
    for each in project.jobs():
        (project.job_folder(each.id) / "result.json").unlink(missing_ok=True)
    for room in ("data", "risk", "release"):
        answer = browser.get(f"/{room}")
        assert answer.status_code == 200, room
        assert "cannot be read any more" in answer.text, room
        assert 'method="post"' in answer.text
    assert browser.get("/choose").status_code == 200
    browser.send("/data/reading")
    browser.wait("data", "risk")
    assert "cannot be read" not in browser.get("/data").text + browser.get("/risk").text
