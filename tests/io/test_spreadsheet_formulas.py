"""Text that a spreadsheet would run is harmless in files for users, and comes back as it was."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recveil.io.write import as_cell, from_cell, is_formula

RISKY = st.text(alphabet="=+-@\t\r\n'＝＋－＠ab1 ;|")  # noqa: RUF001


@given(RISKY | st.text())
def test_every_text_comes_back_as_it_was(text):
    assert from_cell(as_cell(text)) == text


@given(RISKY | st.text())
def test_no_cell_begins_as_a_formula_does(text):
    assert not is_formula(as_cell(text))
    assert as_cell(text)[:1] not in tuple("=+-@\t\r\n")


@given(RISKY | st.text())
def test_nor_does_one_where_a_line_is_split_at_another_character(text):
    for separator in ";|\t\r\n":
        assert not any(map(is_formula, as_cell(text).split(separator)))
    assert not any(map(is_formula, re.split("[;|\t\r\n]", as_cell(text))))


@pytest.mark.parametrize(
    ("label", "cell"),
    [
        ("ann;=1+1", "ann;'=1+1"),
        ("ann\t@b|-c", "ann\t'@b|'-c"),
        ("ann;'=1", "ann;''=1"),
        ("a\n=1", "a\n'=1"),
        ("a; -b", "a; -b"),
        ("a|b;c", "a|b;c"),
    ],
)
def test_formulas_behind_separators(label, cell):
    assert as_cell(label) == cell
    assert from_cell(cell) == label


@given(RISKY, RISKY)
def test_two_labels_never_share_a_cell(one, other):
    assert (as_cell(one) == as_cell(other)) == (one == other)


@pytest.mark.parametrize("label", ["", "ann", "'tis", "a=b", " =1", 7, -5, 0.5])
def test_what_is_harmless_stays(label):
    assert as_cell(label) == label
    assert not is_formula(label)


@pytest.mark.parametrize(("label", "cell"), [("-5", "'-5"), ("+1.5", "'+1.5"), ("'-5", "''-5")])
def test_a_number_that_is_text_stays_text(label, cell):
    assert as_cell(label) == cell
    assert from_cell(cell) == label
    assert as_cell(-5) == -5
