"""What a release tells is printed in tables: short, and without leaving a figure out."""

import contextlib

import pytest

from recveil.auditing import audit
from recveil.cli.show_audit import show_audit
from recveil.datasets import generate
from recveil.methods import anonymize
from recveil.ratings import RatingScale

MADE = {
    "simple": {"k": 4, "homogenize": "simple", "seed": 1},
    "padded": {"k": 4, "seed": 1},
    "sparse": {"k": 4, "method": "sparse", "seed": 1},
    "k-corating": {"k": 4, "method": "k-corating", "seed": 1},
    "drawn": {"epsilon": 100, "scale": RatingScale(1, 5, 1), "catalogue": "as-rated"},
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found")
    with contextlib.chdir(folder):
        generate("ratings.csv", users=100, items=50, ratings=2_000)
        for name, settings in MADE.items():
            anonymize("ratings.csv", name, **settings)
        return {
            name: audit("ratings.csv", release=name, targets=60, curves=False).to_dict()
            for name in MADE
        }


@pytest.fixture
def printed(capsys, monkeypatch):
    def run(found, columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        show_audit(found)
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", MADE)
def test_no_line_is_wider_than_the_terminal(name, columns, audited, printed):
    lines = printed(audited[name], columns).splitlines()
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("name", ["simple", "padded", "sparse"])
def test_an_audit_of_a_release_is_read_without_scrolling_far(name, audited, printed):
    found = audited[name]
    found["release"]["remarks"] = [
        remark
        for remark in found["release"]["remarks"]
        if remark not in found["release"]["warnings"]
    ]
    found["warnings"] = []  # how many there are is the table's doing
    assert len(printed(found, 120).splitlines()) <= 50


@pytest.mark.parametrize("name", ["simple", "padded", "sparse"])
def test_every_row_of_figures_stands_in_one_line_of_eighty_columns(name, audited, printed):
    lines = printed(audited[name], 80).splitlines()
    for row in audited[name]["release"]["rows"]:
        cells = [cell for cell in row.values() if cell]
        assert any(all(cell in line for cell in cells) for line in lines), row
