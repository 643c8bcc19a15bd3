"""The field's vocabulary in names and texts, and no sentence that an attack has refuted.

The terms are those of recommender systems, disclosure control and differential privacy. The
counts in `vocabulary.json` are what is left of words that have a better one. They may only fall:
a test fails if a count grows, and asks for the new number if it falls.
`python tests/form/test_vocabulary.py` writes them.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from repository import DOCS, MODULES, PAGES, ROOT, SOURCE, name_of, nodes_of, text_of

LEFT = Path(__file__).with_name("vocabulary.json")

IN_NAMES = {
    "told": "reported, published, inferred",
    "tell tells telling": "report, reveal, infer, distinguish",
    "say says said": "format, describe",
    "seen asked given held meant": "a noun",
    "theirs own": "a noun",
    "ahead beside behind hand": "a noun",
    "standing stands stood": "a noun",
    "people person somebody nobody everybody": "user",
    "crowd crowds": "cluster, users",
    "taste tastes": "embedding",
    "liking likings lesson lessons foretold": "attribute, predicted",
    "worth": "utility",
    "refuse refuses refused": "check, validate, require",
    "labels label": "id, rating or value",
    "strange stranger strangers": "adversary",
}
IN_TEXT = {
    "tell tells told telling": "report, reveal, disclose, infer, distinguish, state",
    "somebody nobody everybody anybody whoever": "the user, the adversary, no user",
    "stand stands standing stood": "is, are",
    "lie lies lay lying": "is, are",
    "beside besides": "next to, and",
    "people person persons": "user",
    "crowd crowds": "cluster, users",
    "taste tastes": "embedding",
    "likings lesson lessons foretold": "attribute, predicted value",
    "strangers": "adversary",
    "owner owners officer officers": "publisher, reviewer",
}
PLAIN = {
    r"(?i)\b(he|him|his|himself|she|her|hers|herself)\b": "they, them, their",
    r"\bfor ever\b": "forever",
    r"\b(resp\.|w\.r\.t\.|i\.e\.|e\.g\.)": "words",
    r"\b(utili[sz]e|leverage|seamless(ly)?|cutting-edge)\b": "a plain verb or adjective",
    r"\bin order to\b": "to",
    r"\b(blacklist|whitelist)(ed)?\b": "refused, allowed",
    r"\b(actually|basically|obviously|of course|simply)\b": "nothing: leave it out",
}


def _names(file: Path) -> Iterator[str]:
    """Yield what the file names itself: not what it uses of others."""
    for node in nodes_of(file):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def _words_of(name: str) -> list[str]:
    """Split a name at underscores and capitals.

    Examples
    --------
    >>> _words_of("told_claim"), _words_of("ToldCell")
    (['told', 'claim'], ['told', 'cell'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def _count() -> dict[str, dict[str, int]]:
    names: Counter[str] = Counter()
    for file in MODULES:
        for name in [file.stem, *_names(file)]:
            names.update(_words_of(name))
    text: Counter[str] = Counter()
    for kind in ("*.py", "*.html", "*.jinja", "*.js"):
        for file in SOURCE.rglob(kind):
            text.update(re.findall(r"\b[a-z]+\b", text_of(file).lower()))
    return {
        "names": {word: names[word] for line in IN_NAMES for word in line.split()},
        "text": {word: text[word] for line in IN_TEXT for word in line.split()},
    }


def test_words_with_a_better_one_only_disappear():
    left, found = json.loads(LEFT.read_text()), _count()
    assert {kind: set(of) for kind, of in left.items()} == {
        kind: set(of) for kind, of in found.items()
    }, "python tests/form/test_vocabulary.py writes the numbers"
    better = {
        word: term
        for of in (IN_NAMES, IN_TEXT)
        for line, term in of.items()
        for word in line.split()
    }
    wrong = [
        f"{word!r} in {kind}: {n} times, allowed {left[kind].get(word, 0)}"
        + (f"; use: {better[word]}" if n > left[kind].get(word, 0) else "; lower the number")
        for kind, of_kind in found.items()
        for word, n in of_kind.items()
        if n != left[kind].get(word, 0)
    ]
    assert not wrong, "\n".join([*wrong, "python tests/form/test_vocabulary.py writes the numbers"])


def test_words_are_plain():
    found = [
        f"{name_of(path)}, line {number}: {match.group()!r}; write {instead}"
        for path in (*PAGES, *MODULES, *SOURCE.rglob("*.html"))
        for number, line in enumerate(text_of(path).splitlines(), 1)
        for pattern, instead in PLAIN.items()
        for match in re.finditer(pattern, line)
    ]
    assert not found, "\n".join(found)


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
# Said to be not promised, or reported as what a measurement refutes.
DENIED = re.compile(r"not promised|\bThat it is hidden\b|were said to|not hide|no evidence|refute")


def _strings_of(file: Path) -> str:
    """Return all strings of a module, docstrings among them, as users read them."""
    found = [
        node.value
        for node in nodes_of(file)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return "\n\n".join(found)


def _sentences_of(file: Path) -> list[str]:
    text = _strings_of(file) if file.suffix == ".py" else text_of(file)
    paragraphs = re.split(r"\n\s*\n|\n\s*[-|]", text)
    return [
        " ".join(sentence.split())
        for paragraph in paragraphs
        for sentence in re.split(r"(?<=[.:;!?])\s+", paragraph)
    ]


def _refuted_in(sentences: list[str]) -> list[str]:
    return [
        f"{sentence!r}: {why}"
        for sentence in sentences
        for pattern, why in REFUTED.items()
        if re.search(pattern, sentence, re.IGNORECASE) and not DENIED.search(sentence)
    ]


# What the first version said.
CAUGHT = [
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
]
NO_PROMISE = (
    "That it is hidden who rated what: a fit tells it. Padded rows do not hide who rated what."
)
# The list of what we got wrong says what we said. The cards of older formats stay as they were
# written, to be compared with what was published.
FROZEN = re.compile(r"(format|card|release)[_.-]?\d|reliability\.md")


def test_nothing_refuted_is_said():
    assert [sentence for sentence in CAUGHT if not _refuted_in([sentence])] == []
    assert _refuted_in([NO_PROMISE]) == []
    written = [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *SOURCE.rglob("*.jinja")]
    found = [
        f"{name_of(page)}: {sentence}"
        for page in (*written, *MODULES, *(ROOT / "experiments").glob("*.py"))
        if not FROZEN.search(name_of(page))
        for sentence in _refuted_in(_sentences_of(page))
    ]
    assert found == []


if __name__ == "__main__":
    LEFT.write_text(json.dumps(_count(), indent=1) + "\n")
