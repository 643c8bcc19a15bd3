"""What a release reveals is printed in tables: short, and without leaving a figure out."""

import re

import pytest
from rich.console import Console

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.report.audit import terminal
from recveil.report.audit.terminal import NO_USER
from recveil.report.audit.text import statements_of, warnings_of_release
from recveil.report.terminal import show_left_out, table_of
from shared.cli_show_found import MADE, audited, printed  # noqa: F401 (fixtures)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", MADE)
def test_no_line_is_wider_than_the_terminal(name, columns, audited, printed):
    lines = printed(audited[name], columns).splitlines()
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("name", ["simple", "padded", "sparse"])
def test_an_audit_of_a_release_is_read_without_scrolling_far(name, audited, printed, monkeypatch):
    found = audited[name]
    warnings = warnings_of_release(found.published)
    # How many warnings there are is the table's doing.
    monkeypatch.setattr(terminal, "warnings_of", lambda *_, **__: [])
    without = [each for each in statements_of(found.published) if each.sentence not in warnings]
    monkeypatch.setattr(terminal, "statements_of", lambda _: without)
    assert len(printed(found, 120).splitlines()) <= 50


@pytest.mark.parametrize("name", ["simple", "padded", "sparse"])
def test_every_row_of_figures_stands_in_one_line_of_eighty_columns(name, audited, printed):
    lines = printed(audited[name], 80).splitlines()
    for row in audited[name].to_dict()["release"]["rows"]:
        cells = [cell for cell in row.values() if cell]
        assert any(all(cell in line for cell in cells) for line in lines), row


def test_columns_that_do_not_fit_are_named(printed):
    found = audit(make_ratings(80, 50, 2_000, seed=1), targets=40, curves=False)
    heads = ("eccentricity ≥ 1.5", "wrong match", "bits", "entropy")
    narrow, wide = (printed(found, columns).splitlines() for columns in (80, 200))
    assert f"{'; '.join(heads)}." in " ".join(" ".join(narrow).split())
    assert "Not shown" not in " ".join(wide)
    for lines in (narrow, wide):
        assert sum(line.startswith("insider ") for line in lines) == 1


def test_a_head_that_is_broken_is_not_left_out(capsys):
    whole = table_of("setting", "re-identified\nproven", "lists retained", "users")
    narrow = table_of("setting", "re-\nidentified\nproven", "lists\nretained")
    shown = show_left_out(Console(width=70), narrow, whole, "the page")
    assert shown == ["setting", "re-identified proven", "lists retained"]
    assert capsys.readouterr().out == "Not shown at this width (the page has it): users.\n"


@pytest.mark.parametrize("columns", [45, 60, 72, 80, 120])
def test_every_column_of_a_release_is_shown_or_named(columns, audited, printed):
    for name in ("simple", "sparse"):
        text = printed(audited[name], columns)
        head, *_ = text.partition("━╇━")
        names = [line for line in head.splitlines() if "┃" in line]
        left_out = re.search(r"has (it|them)\): attacked", " ".join(text.split())) is not None
        assert left_out is not any(line.split("┃")[1].strip() == "attacked" for line in names)
        assert text.count(NO_USER) >= 1  # whose rates would be 0


@pytest.mark.parametrize("columns", [45, 60, 80])
def test_no_figure_is_cut(columns, printed):
    found = audit(make_ratings(80, 50, 2_000, seed=1), targets=40, curves=False)
    lines = printed(found, columns).splitlines()
    rows = [line for line in lines if "│" in line and not line.startswith("adversary")]
    cells = [cell.strip() for line in rows for cell in line.split("│")[1:]]
    figure = re.compile(r"|[\d.]+%?|\([\d.]+–[\d.]+\)|[\d.]+%? \([\d.]+–[\d.]+\)|none attacked")
    assert [cell for cell in cells if not figure.fullmatch(cell)] == []
    assert all(len(line) <= columns for line in lines)
