"""Pages of data whose every label is hostile: nothing runs, and nothing is loaded."""

import pytest

from recveil.cli import main
from recveil.datasets import make_ratings
from shared.report_hostile_labels import EVIL, Page

# A file's name holds no slash.
FILE = "\"'><img src=x onerror=alert(1)>{{7*7}}.csv"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = make_ratings(n_users=60, n_items=20, n_ratings=500, seed=3).to_arrow()
    users, items, values = (frame[name].to_pylist() for name in ("user_id", "item_id", "rating"))
    header = f'user_id,item_id,rating,"{EVIL.replace(chr(34), chr(34) * 2)}"'
    quoted = EVIL.replace('"', '""')
    rows = [
        f'"{quoted}{user}","{quoted}{item}",{value:g},"{quoted}"'
        for user, item, value in zip(users, items, values, strict=True)
    ]
    (tmp_path / FILE).write_text("\n".join([header, *rows, ""]))

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        assert not stop.value.code, capsys.readouterr().err

    return run


def check(file):
    text = file.read_text(encoding="utf-8")
    page = Page(text)
    assert page.problems == []
    assert "default-src 'none'" in text
    assert "49" not in [word.strip() for word in page.texts], "no label is a template"
    return page


def test_the_page_of_an_audit(run, tmp_path):
    run(
        *("anonymize", FILE, "-o", "<b>out", "--k", 3, "--method=predictive"),
        *("--predictor", "item-mean"),
    )
    run("audit", FILE, "--targets", 9, "--release", "<b>out", "--html", "page.html")
    page = check(tmp_path / "page.html")
    assert "<b>out" in " ".join(page.texts), "told as it is called"


def test_the_page_of_a_comparison(run, tmp_path):
    options = ("--methods", "simple,raw", "--k", "3", "--targets", 9, "-o", "out")
    run("compare", FILE, *options)
    page = check(tmp_path / "out" / "index.html")
    assert "{{7*7}}" in " ".join(page.texts), "the file is named as it is called"
