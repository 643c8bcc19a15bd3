"""Data: a table comes in, is understood, corrected, and audited next."""

import gzip
import hashlib
import html
import json
import re
import stat
import subprocess
from pathlib import Path

import pytest

from recveil.io import raw_rows
from recveil.workbench.project import Project

pytestmark = pytest.mark.usefixtures("quick")


class TestATableThatIsDropped:
    def test_lies_in_the_project_for_its_owner_alone(self, browser, small_table):
        browser.drop("../../evil/../ratings.csv", small_table)
        project = browser.bench.project
        (given,) = project.inputs()
        path = project.folder / "inputs" / given.digest[:24] / "ratings.csv"
        assert given.place == str(path)
        assert path.read_bytes() == small_table
        for each in (path, *path.relative_to(project.folder).parents):
            mode = stat.S_IMODE((project.folder / each).stat().st_mode)
            assert mode & 0o077 == 0, each

    def test_that_is_too_large_leaves_nothing(self, browser):
        answer = browser.drop("ratings.csv", b"x" * 1_000_001)
        assert answer.status_code == 400
        assert answer.json()["code"] == "input.too-large"
        assert list((browser.bench.project.folder / "inputs").iterdir()) == []
        assert browser.bench.project.inputs() == []

    def test_that_comes_twice_is_one(self, browser, small_table):
        browser.drop("ratings.csv", small_table)
        browser.drop("ratings.csv", small_table)
        assert len(browser.bench.project.inputs()) == 1

    @pytest.mark.parametrize("content", [b"", b"%PDF-1.7 no table", b"\x00" * 4_000, b"a,b\n1,2\n"])
    def test_that_is_no_table_is_reported(self, browser, content):
        browser.drop("ratings.csv", content)
        (job,) = browser.wait("data")
        assert job.state == "failed"
        assert 0 < len(job.error) < 300
        page = browser.get("/data").text
        assert 'data-state="failed"' in page
        assert "Traceback" not in page
        assert browser.bench.project.last_job("risk") is None, "nothing is audited"


class TestATableThatIsNamed:
    def test_is_read_where_it_lies(self, browser, small_table, tmp_path):
        file = tmp_path / "named.csv"
        file.write_bytes(small_table)
        assert browser.send("/data/name", place=f" {file} ").status_code == 200
        (job,) = browser.wait("data")
        assert job.state == "done"
        assert file.read_bytes() == small_table
        assert str(file) in job.command

    @pytest.mark.parametrize(
        "place",
        ["", "-", "/nowhere/at/all.csv", "/dev/zero", "x" * 5_000, "a\0b", "~nobody-here/x.csv"],
    )
    def test_is_refused_with_a_remedy(self, browser, place):
        answer = browser.send("/data/name", place=place)
        assert answer.status_code == 400
        assert browser.bench.project.inputs() == []

    @pytest.mark.parametrize(
        "place",
        [
            "postgresql://ann:geheim@host/shop",
            "postgresql://ann:ge/geheim@host/shop",
            "postgresql://ann:ge?geheim@host/shop",
            "postgresql://ann%3Ageheim@host/shop",
            "postgresql://host/shop?password=geheim",
            "postgresql://host/shop?sslpassword=geheim",
            "postgresql://host/shop?user=ann&%70assword=geheim",
            "s3://key:ge/geheim@bucket/ratings.csv",
            "s3://bucket/ratings.csv?X-Amz-Signature=geheim",
            "https://ann:geheim*@host/ratings.csv",
        ],
    )
    def test_with_a_password_is_not_kept(self, browser, place):
        answer = browser.send("/data/name", place=place)
        assert answer.status_code == 400
        assert "PGPASSWORD" in answer.text
        browser.bench.project.close()
        kept = (browser.bench.project.folder / "project.sqlite").read_bytes()
        assert b"geheim" not in kept + answer.content

    def test_of_a_database_is_asked_for_a_table(self, browser, tmp_path):
        sqlite = pytest.importorskip("adbc_driver_sqlite.dbapi")
        with sqlite.connect(str(tmp_path / "shop.db")) as shop:
            with shop.cursor() as cursor:
                cursor.execute("CREATE TABLE rated (who TEXT, what TEXT, stars INTEGER)")
                cursor.execute("CREATE TABLE other (x TEXT)")
                for at in range(30):
                    row = f"('ann{at % 6}', 'film{at // 6}', {1 + at % 5})"
                    cursor.execute(f"INSERT INTO rated VALUES {row}")
            shop.commit()
        place = f"sqlite:///{tmp_path / 'shop.db'}"
        columns = {"user": "who", "item": "what", "rating": "stars"}
        browser.send("/data/name", place=place, query="SELECT * FROM rated", **columns)
        (job,) = browser.wait("data")
        assert (job.state, job.error) == ("done", "")
        assert "--query 'SELECT * FROM rated'" in job.command


class TestACorrection:
    def test_is_read_anew_and_kept(self, browser):
        rows = "\n".join(f"{film},{who},{1 + who % 5}" for who in range(40) for film in range(9))
        browser.drop("ratings.csv", f"what,who,stars\n{rows}\n".encode())
        browser.wait("data")
        browser.send("/data/reading", user="who", item="what", rating="stars", scale="1:5:1")
        (job,) = browser.wait("data")
        assert job.state == "done", job.error
        found = browser.bench.project.result(job)
        assert found["data"]["users"] == 40
        assert found["data"]["scale_given"]
        assert "--scale 1:5:1" in job.command
        assert browser.bench.project.chosen_input().reading["user"] == "who"

    @pytest.mark.parametrize("said", [{"duplicates": "sum"}, {"scale": "5:1:1"}, {"counts": "x"}])
    def test_that_makes_no_sense_is_reported(self, browser, small_table, said):
        browser.drop("ratings.csv", small_table)
        browser.wait("data")
        browser.send("/data/reading", **said)
        (job,) = browser.wait("data")
        assert job.state == "failed" or job.settings["reading"] == {}

    def test_needs_a_table(self, browser):
        assert browser.send("/data/reading", user="1").status_code == 400
        assert browser.send("/risk/start").status_code == 400
        assert browser.send("/data/choose", input="7").status_code == 400
        assert browser.send("/data/choose", input="x").status_code == 400


def test_the_command_does_the_same(browser, small_table, tmp_path, capsys):
    import shlex

    from recveil.cli import main

    browser.drop("Ann's ratings; rm -rf.csv", small_table)
    browser.send("/data/reading", user="user", item="item", rating="rating", scale="1:5:0.5")
    (job,) = browser.wait("data")
    words = shlex.split(job.command)
    assert words[:2] == ["recveil", "inspect"]
    with pytest.raises(SystemExit) as stop:
        main([*words[1:], "--json", str(tmp_path / "found.json")])
    assert not stop.value.code, capsys.readouterr().err
    stated = json.loads((tmp_path / "found.json").read_text())
    assert stated.pop("schema_version") == 2
    found = browser.bench.project.result(job)
    assert {key: found[key] for key in stated if key != "config"} | {} == {
        key: stated[key] for key in stated if key != "config"
    }


def test_a_table_can_be_removed_while_it_is_worked_on(browser, small_table):
    browser.drop("first.csv", small_table)
    (first,) = browser.bench.project.inputs()
    browser.send("/data/forget", input=str(first.id))
    browser.wait("data", "risk")
    assert browser.bench.project.inputs() == []
    assert browser.get("/data").status_code == 200
    assert browser.get("/log").status_code == 200


def test_what_came_half_is_forgotten(tmp_path):
    from recveil.workbench.project import remove_unfinished

    project = Project(tmp_path / "project")
    folder = project.folder_for("inputs")
    (folder / "abc.part").write_text("half")
    remove_unfinished(folder)
    assert list(folder.iterdir()) == []
    project.close()


def test_a_dropped_database_is_asked_for_its_table(browser, tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "shop.db") as shop:
        for name in ("rated", "other"):
            shop.execute(f"CREATE TABLE {name} (user TEXT, item TEXT, rating INTEGER)")
        rows = [(f"ann{at % 6}", f"film{at // 6}", 1 + at % 5) for at in range(30)]
        shop.executemany("INSERT INTO rated VALUES (?, ?, ?)", rows)
    shop.close()
    pytest.importorskip("adbc_driver_sqlite")
    browser.drop("shop.db", (tmp_path / "shop.db").read_bytes())
    (job,) = browser.wait("data")
    assert job.state == "failed"
    assert "--table" in job.error
    assert 'name="table"' in browser.get("/data").text
    browser.send("/data/reading", table="rated")
    (job,) = browser.wait("data")
    assert (job.state, job.error) == ("done", "")
    assert "--table rated" in job.command


def test_each_kind_of_dropped_row_has_its_own_reason(browser, small_table):
    first, *rows = small_table.decode().splitlines()[1:]
    strange = [first, "7777,1,", "7777,2,", "7777,3,99", ",1,4"]
    browser.drop("r.csv", "\n".join(["user,item,rating", first, *rows, *strange, ""]).encode())
    said = {"user": "user", "item": "item", "rating": "rating", "scale": "1:5:1"}
    said |= {"duplicates": "last", "drop_off_scale": "1"}
    browser.send("/data/reading", **said)
    (job,) = browser.wait("data")
    assert job.state == "failed"
    page = browser.get("/data").text
    assert "“Drop rows without ids”" in page
    assert 'name="drop_missing_ids"' in page.partition("<details open>")[2]
    browser.send("/data/reading", **said, drop_missing_ids="on")
    browser.wait("data")
    page = browser.get("/data").text
    assert 'data-dropped="no id: 1"' in page
    assert 'data-dropped="no rating: 2"' in page
    assert 'data-dropped="off scale: 1"' in page
    assert 'data-dropped="duplicate: 1"' in page


def test_most_rows_without_ids_are_not_offered_to_be_dropped(browser, quick):
    rows = [f",i{at % 7},{1 + at % 5}" for at in range(60)]
    rows += [f"u{at},i{at % 7},{1 + at % 5}" for at in range(40)]
    browser.drop("most.csv", "\n".join(["user,item,rating", *rows, ""]).encode())
    browser.wait("data")
    page = browser.get("/data").text.partition("<details open>")[0]
    assert "60 of the first 100 rows have no user or item id; check the menus" in page
    assert "“Drop rows without ids”" not in page


def test_a_header_that_is_wrong_leads_to_the_columns(browser):
    """What is called a rating is the user; nearly all rows repeat."""
    rows = [f"{u},{i},{(i * 7 + u) % 5 + 1}" for u in range(1, 61) for i in range(1, 21)]
    browser.drop("wrong.csv", "\n".join(["rating,user,item", *rows, ""]).encode())
    browser.wait("data", "risk")
    page = browser.get("/risk").text
    assert "--user" not in page.partition("<pre")[0]
    assert 'data-duplicates="1100"' in page
    assert "now the user is “user”, the item “item”" in page


FRENCH = "N° client;Livre;Étoiles;Date d'achat\n" + "".join(
    f"CL-{user};L{item};{-1 if user == item else f'{1 + (user + item) % 5},5'};{1 + item}/1/2024\n"
    for user in range(30)
    for item in range(20)
)
CHOSEN = {"column-1": "user", "column-2": "item", "column-3": "rating", "column-4": "time"}


class TestADifficultFile:
    def problems(self, browser):
        (job,) = browser.wait("data")
        file = browser.bench.project.job_folder(job.id) / "first_rows.json"
        return job, json.loads(file.read_text())["problems"]

    @pytest.mark.parametrize(
        ("encoding", "title", "n_problems"),
        [("utf-8", "", 3), ("cp1252", "", 4), ("utf-8", "Librairie\n\n", 4), ("utf-16-le", "", 4)],
    )
    def test_shows_its_rows_and_all_problems(self, browser, encoding, title, n_problems):
        browser.drop("export.csv", (title + FRENCH).encode(encoding))
        job, problems = self.problems(browser)
        assert (job.state, len(problems)) == ("failed", n_problems)
        page = browser.get("/data").text
        assert "Étoiles" in page
        assert "CL-0" in page
        assert page.count("<select name=") >= 4
        assert 'data-state="failed"' in page
        assert not re.search(r"[\s(“]--[a-z]", page.partition("<pre")[0])  # a token may have --

    def test_has_a_late_line_in_another_encoding(self, browser, monkeypatch):
        monkeypatch.setattr(raw_rows, "_HEAD_BYTES", 100)
        browser.drop("x.csv", b"user,item,rating\n" + b"ann,b,4\n" * 40 + b"\xe9,b,4\n")
        job, problems = self.problems(browser)
        assert job.state == "failed"
        assert "iconv" not in "".join(problems)

    @pytest.mark.parametrize(
        ("last", "said"),
        [
            ("Total;;180;", "The last line has no item id (“Total 180”)"),
            ("(180 rows affected)", "The last line has 1 column instead of 4"),
        ],
    )
    @pytest.mark.parametrize("head", [400, 1 << 20])
    def test_ends_with_a_line_that_is_no_rating(self, browser, monkeypatch, head, last, said):
        monkeypatch.setattr(raw_rows, "_HEAD_BYTES", head)
        rows = "".join(f"u{at % 20};i{at // 20};4;n\n" for at in range(180))
        browser.drop(
            "shop.csv", f"Export of May\n\nuser;item;Étoiles;name\n{rows}{last}\n".encode()
        )
        problems = "".join(self.problems(browser)[1])
        assert "The table begins in line 3" in problems, "together, before a copy is made"
        assert (said if head == 400 else "1 of the first 181 rows has") in problems

    @pytest.mark.parametrize("text", ['u7,3,"', 'u7,"3,'])
    def test_with_a_stray_quote_is_not_advised_to_drop_ratings(self, browser, text):
        rows = "".join(f"u{u},{i},{1 + (u + i) % 5}\n" for u in range(40) for i in range(9))
        for stray in (text, text + '1"\n'):
            broken = rows.replace("u7,3,", stray, 1)
            browser.drop("quote.csv", f"user,item,rating\n{broken}".encode())
            job, problems = self.problems(browser)
            assert job.state == "failed"
            assert "drop_off_scale" not in "".join(problems)

    def test_is_read_as_its_menus_say(self, browser):
        browser.drop("export.csv", FRENCH.encode())
        browser.wait("data")
        page = browser.get("/data").text
        keys = dict(re.findall(r'name="(key-\d+)" value="([^"]*)"', html.unescape(page)))
        browser.send("/data/reading", **CHOSEN, **keys)
        job, problems = self.problems(browser)
        assert (job.state, len(problems)) == ("failed", 2), "the sentinel, and the dates"
        said = {"scale": "1.5:5.5:1", "drop_off_scale": "on", "time_format": "%d/%m/%Y"}
        browser.send("/data/reading", **CHOSEN, **keys, **said)
        (job,) = browser.wait("data")
        assert (job.state, job.error) == ("done", "")
        assert browser.bench.project.result(job)["data"]["users"] == 30
        assert 'value="%d/%m/%Y"' in browser.get("/data").text

    @pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
    def test_is_copied_into_utf_8(self, browser, tmp_path, pack):
        original = pack(("Librairie été\n\n" + FRENCH).encode("cp1252"))
        browser.drop("export.csv", original)
        browser.wait("data")
        assert browser.send("/data/convert", encoding="Windows-1252", first_line="3").is_success
        browser.wait("data")
        copy, first = browser.bench.project.inputs()
        assert Path(copy.place).read_text() == FRENCH
        assert Path(first.place).read_bytes() == original
        (command,) = [
            line["command"]
            for line in browser.bench.project.log()
            if line["what"].startswith("copied export.csv from Windows-1252 to UTF-8")
        ]
        made = tmp_path / "by-command"
        made.mkdir()
        subprocess.run(["/bin/sh", "-c", command], check=True, cwd=made)
        assert (made / "corrected-export.csv").read_bytes() == Path(copy.place).read_bytes()
        for wrong in ({"encoding": "x"}, {"encoding": "UTF-8", "first_line": "0"}):
            assert browser.send("/data/convert", **wrong).status_code == 400
        browser.send("/data/choose", input=str(first.id))
        assert browser.send("/data/convert", encoding="UTF-8").status_code == 400

    def test_has_one_column_of_each_role(self, browser, small_table):
        browser.drop("ratings.csv", small_table)
        twice = {"column-1": "user", "key-1": "user", "column-2": "user", "key-2": "item"}
        assert browser.send("/data/reading", **twice).status_code == 400

    def test_without_its_ratings_holds_likes(self, browser, small_table):
        browser.drop("ratings.csv", small_table)
        browser.wait("data")
        columns = {"column-1": "user", "key-1": "user", "column-2": "item", "key-2": "item"}
        browser.send("/data/reading", **columns, recognized="rating")
        assert browser.bench.project.chosen_input().reading["likes"]

    def test_that_is_no_text_shows_no_rows(self, browser):
        browser.drop("x.bin", bytes(range(256)) * 20)
        (job,) = browser.wait("data")
        assert job.state == "failed"
        assert "<table" not in browser.get("/data").text


def test_nothing_is_put_where_a_link_leads(browser, small_table, tmp_path):
    (tmp_path / "victim").mkdir()
    place = hashlib.sha256(small_table).hexdigest()[:24]
    (browser.bench.project.folder_for("inputs") / place).symlink_to(tmp_path / "victim")
    answer = browser.drop("ratings.csv", small_table)
    assert answer.status_code == 400
    assert answer.json()["code"] == "workbench.folder"
    assert not list((tmp_path / "victim").iterdir())


class TestAFormWithoutAScript:
    """The page works before the script has run, and where none runs at all."""

    def send(self, browser, name, content, change=None, place="/data/upload"):
        return browser.client.post(
            place,
            data={"change": change or browser.bench.keys.change},
            files={"file": (name, content, "text/csv")},
            headers={"origin": browser.address},
            follow_redirects=False,
        )

    def test_brings_a_table(self, browser, small_table):
        answer = self.send(browser, 'my "own" é.csv', small_table)
        assert (answer.status_code, answer.headers["location"]) == (303, "/data")
        (job,) = browser.wait("data")
        assert (job.state, job.error) == ("done", "")
        table = browser.bench.project.chosen_input()
        assert table.name == 'my "own" é.csv'
        assert Path(table.place).read_bytes() == small_table

    def test_brings_what_is_to_be_checked(self, browser, small_table):
        answer = self.send(browser, "shared.csv", small_table, place="/check/upload")
        assert (answer.status_code, answer.headers["location"]) == (303, "/check")

    def test_is_of_our_own_pages_alone(self, browser, small_table):
        assert self.send(browser, "ratings.csv", small_table, change="wrong").status_code == 403
        assert browser.bench.project.inputs() == []

    def test_without_a_file_says_so(self, browser):
        browser_sends = self.send(browser, "ratings.csv", b"")
        assert browser_sends.status_code == 303  # an empty file is reported as one
        body = (
            f'--X\r\nContent-Disposition: form-data; name="change"\r\n\r\n'
            f"{browser.bench.keys.change}\r\n"
            f'--X\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n\r\n--X--\r\n'
        )
        headers = {"origin": browser.address, "content-type": "multipart/form-data; boundary=X"}
        answer = browser.client.post("/data/upload", content=body, headers=headers)
        assert answer.status_code == 400
        assert "no file was chosen" in answer.text

    def test_is_refused_when_it_is_too_large(self, browser):
        answer = self.send(browser, "ratings.csv", b"1,2,3\n" * 200_000)
        assert answer.status_code == 400
        assert "larger than" in answer.text
        assert not list(browser.bench.project.folder.rglob("*.part"))


def test_damage_is_reported_on_a_page(browser):
    table = browser.bench.project.add_input("shop.csv", "/data/shop.csv")
    with browser.bench.project._store.changing() as run:
        run("UPDATE inputs SET reading = 'nonsense' WHERE id = ?", (table.id,))
    answer = browser.get("/data")
    assert answer.status_code == 400
    assert "was damaged" in answer.text


def test_a_problem_names_no_field_that_the_page_lacks(browser, quick):
    browser.drop("twice.csv", b"user_id,item_id,rating,rating\n1001,i1,2,2\n1001,i2,3,3\n")
    browser.wait("data", "risk")
    page = browser.get("/data").text
    assert "give column 3 the role “rating”" in page
    assert 'name="column-3"' in page
    assert "“Rating”" not in page


def test_an_adversary_who_attacks_nobody_is_no_danger(browser, quick, small_table):
    browser.drop("shop.csv", small_table)
    browser.wait("data", "risk")
    page = browser.get("/risk").text
    assert "No user was attacked" in page
    assert '<section class="warnings">' not in page


_ROLES = {"column-1": "user", "column-2": "item", "column-3": "rating"}


class TestTheFirstLine:
    """Six rows with a label each; nothing in the first line differs from those below."""

    LINES = ("ann,film,good", "bob,filmx,bad", "ann,filmy,bad", "bob,filmz,good", "eve,filmx,bad")

    def _dropped(self, browser, mark, first=LINES[0]):
        lines = (first, *self.LINES[1:], "")
        browser.drop("r.csv", "\n".join(lines).replace(",", mark).encode())
        (job,) = browser.wait("data")
        assert job.state == "failed"
        return browser.get("/data").text

    @pytest.mark.parametrize("mark", [",", ";", "\t", "::"])
    def test_is_data_if_the_user_says_so(self, browser, mark):
        page = self._dropped(browser, mark)
        assert "filmx" in page
        assert "The first line is" in page
        roles = _ROLES | {"key-1": "ann", "key-2": "film", "key-3": "good"}
        browser.send("/data/reading", first_line_is="data", order="bad,good", **roles)
        (job,) = browser.wait("data")
        assert (job.state, job.error) == ("done", "")
        assert browser.bench.project.result(job)["data"]["ratings"] == 5
        assert "--user 1" in job.command
        page = browser.get("/data").text
        assert '<option value="data" selected>' in page
        assert 'id="format" name="format" value=""' in page

    def test_holds_names_if_the_user_says_so(self, browser):
        assert "choose names or data under" in self._dropped(browser, ",", "who,what,how")
        roles = _ROLES | {"key-1": "who", "key-2": "what", "key-3": "how"}
        browser.send("/data/reading", first_line_is="names", order="bad,good", **roles)
        (job,) = browser.wait("data")
        assert (job.state, job.error) == ("done", "")
        assert browser.bench.project.result(job)["data"]["ratings"] == 4

    def test_of_another_kind_is_refused(self, browser, small_table):
        browser.drop("ratings.csv", small_table)
        assert browser.send("/data/reading", first_line_is="poetry").status_code == 400


def test_columns_that_identify_users_and_are_not_read_are_marked(browser, small_table):
    review = "I read this one in a single night, on the train to my aunt, %d times"
    header, *rows = small_table.decode().splitlines()
    notes = ['"Good\nThanks"', "Bad", "Fine"]
    lines = [f"{row},c{at}@example.org,{at % 3},{notes[at % 3]}," for at, row in enumerate(rows)]
    # One review in four is long, the others are a word.
    lines = [f'{line}"{review % at if at % 4 == 0 else "Good"}"' for at, line in enumerate(lines)]
    browser.drop("shop.csv", "\n".join([f"{header},mail,shelf,note,review", *lines, ""]).encode())
    browser.wait("data")
    page = browser.get("/data").text
    marks = re.findall(r'<small class="flag">⚠ ([^<]*)</small>', page)
    free = "free text, which may name users"  # lines of a note, and long reviews
    assert marks == ["e-mail addresses", free, free]


def test_users_in_two_notations_are_a_warning(browser, small_table):
    header, *rows = small_table.decode().splitlines()
    name = "Zo\u00eb Meyer"
    others = [row.replace(row.partition(",")[0], f"Ann {row.partition(',')[0]}", 1) for row in rows]
    spelled = [f"{name},7,3", f"{name.upper()},9,4"]
    browser.drop("r.csv", "\n".join([header, *others, *spelled, ""]).encode())
    browser.wait("data")
    page = browser.get("/data").text
    notice = page.partition('<section class="notice">')[2].partition("</section>")[0]
    assert "capital" in notice
