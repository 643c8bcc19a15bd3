"""What a release tells is printed in tables: short, and without leaving a figure out."""

import contextlib
import re

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
# Shares, areas and counts with a point: k and how much is known are none of what was measured.
FIGURE = re.compile(r"(?<![\w.])\d+\.\d+")


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


@pytest.mark.parametrize("name", MADE)
def test_no_figure_of_the_verdict_is_left_out(name, audited, printed):
    """Nor an interval, a baseline or a control, nor a sentence that warns."""
    found, text = audited[name], printed(audited[name], 250)
    told = [found["release"]["headline"], *found["release"]["verdict"], found["verdict"][0]]
    shown = set(FIGURE.findall(text))
    for sentence in told:
        for figure in FIGURE.findall(sentence):
            assert figure in shown, sentence
    words = " ".join(text.split())
    for warning in (*found["release"]["warnings"], *found["warnings"]):
        assert warning in words
