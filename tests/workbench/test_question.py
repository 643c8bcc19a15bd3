import pytest

from error_assertions import raises
from recveil.workbench.frontier import Question


def test_what_is_not_said_is_as_usual():
    usual = Question(risk="links", utility="lists", limit=30, min_k=5, setting="sparse, k = 5")
    assert Question.read({}, usual) == usual


def test_an_empty_field_takes_a_limit_away():
    asked = Question.read({"min_k": "", "setting": ""}, Question(min_k=5, setting="raw"))
    assert (asked.min_k, asked.setting) == (None, None)


def test_at_the_end_of_the_slider_any_risk_will_do():
    assert Question(limit=100).max_risk is None
    assert Question(limit=7).max_risk == 0.07


@pytest.mark.parametrize(
    "form",
    [
        {"limit": "0"},
        {"limit": "101"},
        {"limit": "ten"},
        {"limit": "-5"},
        {"min_k": "1"},
        {"min_k": "9" * 40},
        {"min_k": "\x1e1"},
        {"min_k": "²"},
        {"risk": "<script>"},
        {"utility": "gold"},
    ],
)
def test_nonsense_is_refused_in_one_line(form):
    with raises("option.value") as caught:
        Question.read(form, Question())
    assert len(str(caught.value)) < 300


def test_an_address_leads_back_to_the_question():
    from urllib.parse import parse_qsl

    asked = Question("links", "lists", 12, 3, "padded, k = 5")
    result = dict(parse_qsl(asked.address().partition("?")[2], keep_blank_values=True))
    assert Question.read(result, Question()) == asked
