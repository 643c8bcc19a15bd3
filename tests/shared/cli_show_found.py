"""What the fast and the slow tests of `test_show_found.py` share."""

import contextlib

import pytest

from recveil.auditing import audit
from recveil.datasets import generate
from recveil.methods import anonymize
from recveil.ratings import RatingScale
from recveil.report.audit.terminal import show_audit

MADE = {
    "simple": {"k": 4, "method": "predictive", "homogenize": "simple", "seed": 1},
    "padded": {"k": 4, "method": "predictive", "seed": 1},
    "sparse": {"k": 4, "method": "sparse", "seed": 1},
    "k-corating": {"k": 4, "method": "k-corating", "seed": 1},
    "drawn": {"epsilon": 100, "scale": RatingScale(1, 5, 1), "item_catalog": "as-rated"},
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found")
    with contextlib.chdir(folder):
        generate("ratings.csv", users=100, items=50, ratings=2_000)
        for name, settings in MADE.items():
            anonymize("ratings.csv", name, **settings)
        return {name: audit("ratings.csv", release=name, targets=60, curves=False) for name in MADE}


@pytest.fixture
def printed(capsys, monkeypatch):
    def run(found, columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        capsys.readouterr()
        show_audit(found)
        return capsys.readouterr().out

    return run
