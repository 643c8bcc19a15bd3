"""A measure is one entry: rows, JSON, table and page have it from there."""

import json
import re
from pathlib import Path
from typing import get_type_hints

import pyarrow.parquet as pq
import pytest

from recveil.compare import MEASURES, Cell, Measure, Panel, Row, compare, register_measure
from recveil.compare.cell import Setting
from recveil.compare.measured import SETTING_FIELDS
from recveil.compare.rows import to_row
from recveil.errors import RecveilError
from recveil.report.page_of_comparison import compare_page

DOCS = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture
def clean():
    """Whatever a test registers is gone after it."""
    known = dict(MEASURES)
    yield
    MEASURES.clear()
    MEASURES.update(known)


def register_the_example():
    # docs/extending.md, a measure: begin
    from recveil.compare import Line, Measure, Panel, register_measure

    def rise(cell):
        """Return how far the release's RMSE lies above that of the raw data."""
        release, raw = (cell.told("recipient", table, "rmse") for table in ("release", "raw"))
        return None if release is None or raw is None else release - raw

    register_measure(
        Measure(
            name="rmse_rise",
            words="How far the RMSE lies above that of the raw data",
            kind=float,
            take=rise,
            format=".4f",
            better="down",
            panel=Panel("RMSE above raw", ".3f", lines=(Line("raw data", 0.0),)),
        )
    )
    # docs/extending.md, a measure: end


def test_the_docs_show_this_measure():
    source = Path(__file__).read_text(encoding="utf-8")
    begin, end = (f"    # docs/extending.md, a measure: {word}\n" for word in ("begin", "end"))
    shown = source.partition(begin)[2].partition(end)[0]
    code = "\n".join(line.removeprefix("    ") for line in shown.splitlines())
    assert f"```python\n{code}\n```" in DOCS.read_text(encoding="utf-8")


@pytest.mark.usefixtures("clean", "evaluator")
def test_a_measure_that_is_registered_is_found_everywhere(invented, tmp_path):
    """The quick evaluator's RMSE is 0.9 + k / 1000, that of the raw data 0.9."""
    question = {"methods": ["simple", "raw"], "ks": [3, 5, 999], "targets": 50}
    before = compare(invented, tmp_path / "out", **question)
    assert "rmse_rise" not in before.rows[0]._asdict()
    register_the_example()
    found = compare(invented, tmp_path / "out", **question)
    assert found.computed == 0  # finished cells tell it, too
    expected = [pytest.approx(0.003), pytest.approx(0.005), None, pytest.approx(0.001)]
    assert [row._asdict()["rmse_rise"] for row in found.rows] == expected
    assert Row._fields[-1] == "rmse_rise"
    plain = json.loads(json.dumps(found.to_dict()))
    assert [row["rmse_rise"] for row in plain["rows"]] == expected
    table = pq.read_table(tmp_path / "out" / "comparison.parquet")
    assert table["rmse_rise"].to_pylist() == expected
    figure = r"<h3>RMSE above raw <small>(.*?)</small></h3>\s*<div[^>]*><svg"
    assert re.findall(figure, compare_page(plain)) == ["↓ better"]
    older = [{name: row[name] for name in row if name != "rmse_rise"} for row in plain["rows"]]
    assert "RMSE above raw" not in compare_page(plain | {"rows": older})


@pytest.mark.usefixtures("clean")
class TestRefused:
    @pytest.mark.parametrize("name", ["risk", "method", "title", "kept"])
    def test_a_name_that_is_taken(self, name):
        with pytest.raises(RecveilError, match=f"^measure '{name}': the name is taken"):
            register_measure(Measure(name, "", float, lambda _: None))

    @pytest.mark.parametrize("name", ["", "two words", "_asdict", "7up"])
    def test_a_name_that_is_none(self, name):
        with pytest.raises(RecveilError, match=r"expected a name of letters"):
            Measure(name, "", float, lambda _: None)

    def test_a_kind_that_is_none(self):
        with pytest.raises(RecveilError, match=r"^measure 'toy': kind is .*expected str, int"):
            Measure("toy", "", list, lambda _: None)

    @pytest.mark.parametrize(("kind", "better"), [(float, None), (str, "up"), (bool, "up")])
    def test_a_panel_that_cannot_be_drawn(self, kind, better):
        with pytest.raises(RecveilError, match=r"^measure 'toy': a panel needs numbers"):
            Measure("toy", "", kind, lambda _: None, "", better, Panel("Toy", ".2f"))

    def test_a_direction_that_is_none(self):
        with pytest.raises(RecveilError, match=r"^measure 'toy': better is 'left'; expected"):
            Measure("toy", "", float, lambda _: None, "", "left")

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            *((float, "1"), (float, float("nan")), (float, float("inf")), (float, True)),
            *((int, 1.0), (int, True), (bool, 1), (str, 5)),
        ],
    )
    def test_a_value_of_another_kind(self, kind, value):
        register_measure(Measure("toy", "", kind, lambda _: value))
        with pytest.raises(RecveilError, match=r"^measure 'toy': its value is"):
            to_row(Cell("key", Setting("raw", None)))
        with pytest.raises(RecveilError, match=r"^measure 'toy': its value is"):
            Row("raw", None, "nothing", None, toy=value)

    def test_a_measure_that_nobody_knows(self):
        with pytest.raises(RecveilError, match=r"^measure 'riks' is unknown; expected"):
            Row("raw", None, "nothing", None, riks=0.5)


class TestRow:
    def test_what_the_code_reads_are_measures_of_that_type(self):
        hints = get_type_hints(Row)
        assert set(hints) - set(MEASURES) == set(SETTING_FIELDS)
        for name in set(hints) - set(SETTING_FIELDS):
            assert hints[name] == MEASURES[name].kind | None, name

    def test_it_does_not_change(self, row):
        with pytest.raises(AttributeError, match=r"row\._replace\(risk=\.\.\.\)"):
            row.risk = 0.0
        assert row._replace(risk=0.0).risk == 0.0
        assert row.risk == 0.1

    def test_rows_are_equal_by_what_they_say(self, row):
        assert row == row._replace()
        assert hash(row) == hash(row._replace())
        assert row != row._replace(risk=0.0)
        assert row != tuple(row._asdict().values())


def test_all_measures_speak_to_people():
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert len(measure.words) > 5
        assert (measure.kind is float) == bool(measure.format), name


class TestCells:
    def test_a_file_holds_all_of_a_cell(self):
        cell = Cell(
            *("key", Setting("simple", 5)),
            evaluation={"recipient": None},
            lone_share=0.5,
            seconds={"anonymize": 1.5},
        )
        assert Cell.from_json(json.loads(json.dumps(cell.to_json()))) == cell

    def test_what_was_not_measured_is_none_and_what_is_unknown_is_refused(self):
        cell = Cell("key", Setting("simple", 5), evaluation={"recipient": None})
        assert cell.told("recipient", "raw", "rmse") is None
        with pytest.raises(KeyError, match="fidelity"):
            cell.told("fidelity", "item_mean_rmse")

    def test_it_shows_no_more_than_a_verdict(self):
        cell = Cell("key", Setting("simple", 5), evaluation={"recipient": 0.123})
        assert repr(cell) == "Cell(simple, k = 5: judged)"
