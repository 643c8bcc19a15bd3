"""A measure is one entry: rows, JSON, table and page have it from there."""

import pytest

from recveil.comparison import MEASURES, Measure, Panel, Row, compare, register_measure

RISE = Measure(
    *("rise", "How far the RMSE lies above that of the raw data", float),
    lambda cell: (
        cell.figure("recipient", "release", "rmse") - cell.figure("recipient", "raw", "rmse")
    ),
    *(".4f", "down", Panel("RMSE above raw", ".3f")),
)


@pytest.fixture
def clean():
    """Whatever a test registers is gone after it."""
    known = dict(MEASURES)
    yield
    MEASURES.clear()
    MEASURES.update(known)


@pytest.mark.usefixtures("clean", "evaluator")
def test_finished_cells_have_a_new_measure(invented, tmp_path):
    """The quick evaluator's RMSE is 0.9 + k / 1000, that of the raw data 0.9."""
    question = {"methods": ["simple"], "k": [3, 5, 999], "targets": 50}
    before = compare(invented, tmp_path / "out", **question)
    register_measure(RISE)
    assert Row._fields[-1] == RISE.name
    assert before.rows[0]._asdict()[RISE.name] is None
    assert RISE.panel.title not in before.to_html()
    found = compare(invented, tmp_path / "out", **question)
    assert found.computed == 0
    expected = [pytest.approx(0.003), pytest.approx(0.005), None]
    assert [row._asdict()[RISE.name] for row in found.rows] == expected
    assert RISE.panel.title in found.to_html()
