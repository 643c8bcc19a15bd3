"""What a release reveals is printed in tables: short, and without leaving a figure out."""

import pytest

from recveil.auditing import audit
from recveil.datasets import make_ratings
from recveil.report.audit import terminal
from recveil.report.audit.text import statements_of, warnings_of_release
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


def test_columns_that_do_not_fit_follow_in_a_second_table(printed):
    found = audit(make_ratings(80, 50, 2_000, seed=1), targets=40, curves=False)
    heads = ("eccentricity ≥ 1.5", "wrong match", "bits", "entropy")
    narrow, wide = (printed(found, columns).splitlines() for columns in (80, 200))
    (second,) = [line for line in narrow if heads[0] in line]
    assert all(head in second for head in heads)
    assert sum(line.startswith("insider ") for line in narrow) == 2
    assert sum(line.startswith("insider ") for line in wide) == 1
