"""Pages say where to click, and name no option of the command line."""

import html
import random
import re

import pytest
from typer.main import get_command

from recveil.cli import app
from recveil.workbench.wording import FIELD_TITLES

pytestmark = pytest.mark.usefixtures("quick", "few_recommenders")

ROLES = {"column-1": "user", "column-3": "item", "column-4": "rating", "column-6": "time"}
NAMES = ("N° client", "E-mail", "Livre", "Étoiles", "Avis", "Date d'achat")
KEYS = {f"key-{at}": name for at, name in enumerate(NAMES, 1)}
READING = {"duplicates": "last", "drop_off_scale": "on", "scale": "1:5:1"}


VERBS = get_command(app).commands
# Commands of a shell and of recveil; the head of a report names the verb that made it
COMMANDS = rf"(?:\b(?:tail|iconv|cat|awk|grep) -|\brecveil (?:{'|'.join(VERBS)})\b(?!:))"
# Options that no field of a page sets
UNNAMED = "|".join(
    option.lstrip("-").replace("-", " ")
    for command in VERBS.values()
    for parameter in command.params
    for option in parameter.opts
    if option.startswith("--") and option.lstrip("-").replace("-", "_") not in FIELD_TITLES
)


def difficult_table():
    """Return a shop's export: semicolons, decimal commas, dates of France, sentinels, repeats."""
    drawn = random.Random(5)
    lines = [";".join(NAMES)]
    for at in range(900):
        user, item, stars = drawn.randrange(60), drawn.randrange(40), drawn.choice("1234")
        stars = "-1" if at % 90 == 7 else "" if at % 90 == 8 else f"{stars},0"
        day = f"{1 + at % 28:02}/{1 + at % 12:02}/2024"
        lines.append(f"CL-{user};c{user}@exemple.fr;978-{item};{stars};Bon;{day}")
    return "\n".join([*lines, ""])


def words_of(page):
    """Return the text of a page, without the commands and the card that it quotes."""
    page = re.sub(r"<(script|style|pre)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


def check(browser, *places):
    for place in places:
        answer = browser.get(place)
        assert answer.status_code == 200, place
        words = words_of(answer.text)
        assert re.findall(r".{60}(?<![\w-])--[a-z].{20}", words, re.DOTALL) == [], place
        assert re.findall(rf".{{40}}{COMMANDS}.{{20}}", words, re.DOTALL) == [], place
        assert re.findall(f"“(?:{UNNAMED})”", words) == [], place


def test_no_page_on_a_difficult_file_names_an_option(browser):
    table = difficult_table()
    for name, content in {
        "titled.csv": f"Librairie\r\n\r\n{table}".encode(),
        "windows.csv": table.encode("cp1252"),
        "export.csv": table.encode(),
    }.items():
        browser.drop(name, content)
        browser.wait("data")
        check(browser, "/data", "/log")
    browser.send("/data/reading", **ROLES, **KEYS)
    browser.wait("data")
    check(browser, "/data")
    browser.send("/data/reading", **ROLES, **KEYS, **READING, time_format="%d/%m/%Y")
    job, audit = browser.wait("data", "risk")
    assert (job.state, job.error) == ("done", "")
    check(browser, "/data", "/risk", f"/risk/{audit.id}/audit.html", "/choose", "/release")
    started = {"method-raw": "on", "method-sparse": "on", "ks": "3"}
    assert browser.send("/choose/start", **started).status_code == 200
    (job,) = browser.wait("choose")
    assert (job.state, job.error) == ("done", "")
    page = browser.get(f"/choose/{job.id}/comparison.html").text
    assert "on the page Choose" in page
    check(browser, "/choose", "/choose?limit=1", f"/choose/{job.id}/comparison.html")
    made = {"method": "sparse", "k": "3", "name": "out", "file_format": "csv"}
    browser.send("/release/make", **made, allow_sparse_coverage="on")
    (job,) = browser.wait("release")
    assert (job.state, job.error) == ("done", "")
    check(browser, "/release", f"/release/{job.id}/dossier")
    browser.send(f"/release/{job.id}/attack")
    (attack,) = browser.wait("release attack")
    assert (attack.state, attack.error) == ("done", "")
    check(browser, "/release", f"/release/{attack.id}/audit.html", "/check", "/log")
    browser.send(f"/release/{job.id}/forget", user="CL-7")
    browser.send(f"/release/{job.id}/convert", target_format="recbole", split="0.2")
    steps = browser.wait("release forget", "release convert")
    assert [(step.state, step.error) for step in steps] == [("done", "")] * 2
    check(browser, "/release", "/log")
    wrong = {"epsilon": "3", "releases": "x", "previous": "9", "split": "2", "target_format": "x"}
    for name, value in wrong.items():
        action = f"{job.id}/convert" if name in ("split", "target_format") else "make"
        sent = {**made, "target_format": "elliot", name: value}
        answer = browser.send(f"/release/{action}", **sent)
        assert answer.status_code == 400, name
        assert re.findall(r"(?<![\w-])--[a-z].{20}", words_of(answer.text)) == [], name
