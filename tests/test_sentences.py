"""What users read never promises again what an attack has refuted."""

import ast
import re
from pathlib import Path

import pytest

from recveil.attack import Interval
from recveil.attack.members import describe_membership
from recveil.attack.stronger import MEMBERSHIP
from recveil.release.predictive_words import PADDED_UNDONE
from recveil.release.words_words import UNDONE as WORDS_UNDONE

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "recveil"
RESIDUALS = "the residuals of all rows tell it: experiments/residual.py"
FILLS = (
    "learned fills lead 81 % to be found by items alone, at k = 9: docs/explanation/k-corating.md"
)
# What must not be said, and what is known against it.
REFUTED = {
    r"tells? (them |it )?nothing of (who|this)": RESIDUALS,
    r"(padded|padding)\b[^.|]{0,60}\b(avoids|prevents|hides)\b": RESIDUALS,
    r"avoids? (that|lone|publishing)": RESIDUALS,
    r"label (does|do) not (show|tell|say) who": RESIDUALS,
    r"(cannot|can not|can't) be shown to tell": "an area near 0.5 is no evidence that nobody can",
    r"row alone does not tell": "94 % of whole-number labels are exact ratings in simple rows",
    r"says nothing (about|of) (a |any )?(member|person|rater)": RESIDUALS,
    r"item in a row (says|tells) nothing": RESIDUALS,
    r"(which|all of which|these) then tell nothing": RESIDUALS,
    r"a sharp adversary may": "no sharp one is needed: 63 % of the rated cells are marked",
    r"stays? (hidden|open|secret) who (rated|was|is in)": RESIDUALS,
    r"(nobody|no (one|adversary|attack)) (can|could) (tell|see|say) who (rated|was)": RESIDUALS,
    r"identity only hidden without known ratings": FILLS,
    r"who knows no ratings is stopped": FILLS,
    r"48 % of the ratings": "64 % stand in the rows exactly; lone ratings are 48 %",
}
# Said to be not promised, or told as what a measurement refutes.
DENIED = re.compile(r"not promised|\bThat it is hidden\b|were said to|not hide|no evidence|refute")


def strings_of(file: Path) -> str:
    """Return all strings of a module, docstrings among them, as people read them."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return "\n\n".join(found)


def pages() -> list[Path]:
    written = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *SOURCE.rglob("*.jinja")]
    return [*written, *SOURCE.rglob("*.py"), *(ROOT / "experiments").glob("*.py")]


def sentences_of(file: Path) -> list[str]:
    text = strings_of(file) if file.suffix == ".py" else file.read_text(encoding="utf-8")
    paragraphs = re.split(r"\n\s*\n|\n\s*[-|]", text)
    return [
        " ".join(sentence.split())
        for paragraph in paragraphs
        for sentence in re.split(r"(?<=[.:;!?])\s+", paragraph)
    ]


def refuted_in(sentences: list[str]) -> list[str]:
    return [
        f"{sentence!r}: {why}"
        for sentence in sentences
        for pattern, why in REFUTED.items()
        if re.search(pattern, sentence, re.IGNORECASE) and not DENIED.search(sentence)
    ]


# The list of what we got wrong says what we said. The cards of older formats stay as they were
# written, to be compared with what was published.
FROZEN = re.compile(r"(format|card|release)[_.-]?\d|reliability\.md")
PAGES = [page for page in pages() if not FROZEN.search(str(page.relative_to(ROOT)))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_nothing_refuted_is_said(page):
    assert refuted_in(sentences_of(page)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "every published row is full, and a label does not show who rated.",
        "Padded homogenizing, or a larger k, avoids that.",
        "`padded` avoids that, diversity does not",
        "Which labels these are, the row alone does not tell.",
        "He cannot be shown to tell who was in the data at all (AUC 0.57, 0.49 to 0.64).",
        "Padded rows all hold the same items and tell nothing of this kind.",
        "All rows hold the same items, so that an item in a row says nothing about a member.",
        "All rows hold the same items, so that an item in a row tells nothing.",
        "None if all rows hold the same items, which then tell nothing.",
        "from a label that is unusual for its group, a sharp adversary may see that somebody rated",
        "co-rated: identity only hidden without known ratings",
        "at k = 5, with the default grouping, that is 48 % of the ratings of MovieLens 100K.",
    ],
)
def test_what_the_first_version_said_is_caught(sentence):
    assert refuted_in([sentence])


def test_what_limits_a_promise_is_no_promise():
    said = (
        "That it is hidden who rated what: a fit tells it. Padded rows do not hide who rated what."
    )
    assert refuted_in([said]) == []


@pytest.mark.parametrize("area", [0.3, 0.5, 0.57, 0.65, 0.8, 0.94])
@pytest.mark.parametrize("width", [0.01, 0.2])
def test_an_area_comes_with_what_a_stronger_test_found(area, width):
    told = describe_membership(Interval(area, area - width, area + width, 300))
    assert told.endswith(MEMBERSHIP)


FIGURES_OF_CARDS = {
    "predictive.md.jinja": (
        *("63 %", "52 %", "93 %", "24 %", "79 %", "97 %", "0.98", "0.998", "0.69"),
        *("94 % of them", "74 % with k = 50", "84 % of the ratings", "60 %", "94 % by eight"),
    ),
    "k_corating_likes.md.jinja": ("1.00", "0.92", "0.77"),
    "k_corating.md.jinja": ("81 %", "68 %", "36 %", "7 %", "71 %", "99 %"),
    "card.md.jinja": ("34 %", "95 %"),
}
# Behind each figure of a card, the row of docs/explanation/reproduction.md that it rounds.
MEASURED = {
    "cells really rated, 95 % right | 62.6%": "63 %",
    "lone ratings found and exact | 51.7%": "52 %",
    "lone ratings exact, cell known | 92.7%": "93 %",
    "k-corating, k = 5: members, all known (AUC) | 1.00": "1.00",
    "k-corating, k = 5: members, 16 known (AUC) | 0.92": "0.92",
    "k-corating, k = 5: members, 8 known (AUC) | 0.77": "0.77",
    "padded, k = 5: membership, 16 ratings | 0.982": "0.98",
    "padded, k = 5: membership, all ratings | 0.998": "0.998",
    "padded, k = 50: membership, all ratings | 0.689": "0.69",
    "group found by bystander | 24.4%": "24 %",
    "group found by paper | 52.4%": "52 %",
    "group found by public-profile | 78.5%": "79 %",
    "group found by insider | 97.0%": "97 %",
    "item-mean: found by eight items, 5 % of the people known | 81.2%": "81 %",
    "similarity: found by eight items, 5 % of the people known | 67.6%": "68 %",
    "random: found by eight items, 5 % of the people known | 35.5%": "36 %",
    "whole labels that are every rater's exact rating | 94.3%": "94 %",
    "told for sure to who knows the others of the group | 84.0%": "84 %",
    "twice: alone in both groups | 34.0%": "34 %",
    "twice: fewer than k in both groups | 95.2%": "95 %",
}


def test_the_figures_of_cards_are_those_of_the_experiments():
    measured = (ROOT / "docs" / "explanation" / "reproduction.md").read_text(encoding="utf-8")
    said = {figure for figures in FIGURES_OF_CARDS.values() for figure in figures}
    for row, figure in MEASURED.items():
        assert row in measured
        assert any(words.startswith(figure) for words in said)


def test_the_figures_of_words_are_those_of_the_experiments():
    """What the card of a release of words and the methods say was measured, and is not of old."""
    measured = (ROOT / "docs" / "explanation" / "reproduction.md").read_text(encoding="utf-8")
    methods = (ROOT / "docs" / "explanation" / "methods.md").read_text(encoding="utf-8")
    settings = ("words, k = 5", "words, k = 20", "words-shares, k = 5", "words-shares, k = 20")
    one, other, *drawn = (
        re.findall(rf"\| compared, {of}: shadows \(AUC\) \| (0\.\d\d)", measured)[0]
        for of in settings
    )
    (counts,) = re.findall(r"counts of items with words .*\(AUC\) \| (0\.\d\d)", measured)
    assert (
        f"{one} with commonest words and k = 5, {other} with k = 20, and with drawn words "
        f"{drawn[0]} and {drawn[1]}, where exact counts of each item with each word tell {counts}"
    ) in WORDS_UNDONE
    assert (
        f"an AUC of {one} (k = 5, commonest words; {other} with k = 20; drawn words {drawn[0]} and "
        f"{drawn[1]}; exact counts of each item with each word {counts})"
    ) in methods


def test_the_figures_are_those_of_the_documents():
    """One experiment, one set of figures: the sentences, the threats, the card and the README."""
    threats = (ROOT / "docs" / "explanation" / "threats.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"## What padded rows tell\n(.*?)\n## ", threats, re.DOTALL)
    for figure in ("62.6%", "51.7%", "24.4%", "92.7%", "0.98", "1.00"):
        assert figure in section
    for figure in ("63 %", "52 %", "24 %", "95 %"):
        assert figure in PADDED_UNDONE
    assert "lower bound" in MEMBERSHIP
    for name, figures in FIGURES_OF_CARDS.items():
        (card,) = (page for page in PAGES if page.name == name)
        for figure in figures:
            assert figure in " ".join(card.read_text(encoding="utf-8").split())
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for figure in ("64 % of the ratings", "94 % of cases", "95 % of the marks right", "AUC 0.98"):
        assert figure in readme
