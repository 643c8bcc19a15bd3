"""The field's vocabulary in names, docstrings, help, messages, comments and pages.

The terms are those of recommender systems, disclosure control and differential privacy. The
counts in `vocabulary.json` are what is left of words that have a better one. They may only fall:
a test fails if a count grows, and asks for the new number if it falls.
`python tests/test_vocabulary.py` writes them.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "recveil"
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


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield what the file names itself: not what it uses of others."""
    for node in ast.walk(tree):
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
    for file in SOURCE.rglob("*.py"):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for name in [parts[-1], *_names(tree)]:
            names.update(_words_of(name))
    text: Counter[str] = Counter()
    for kind in ("*.py", "*.html", "*.jinja", "*.js"):
        for file in SOURCE.rglob(kind):
            text.update(re.findall(r"\b[a-z]+\b", file.read_text(encoding="utf-8").lower()))
    return {
        "names": {word: names[word] for line in IN_NAMES for word in line.split()},
        "text": {word: text[word] for line in IN_TEXT for word in line.split()},
    }


def test_words_with_a_better_one_only_disappear():
    left, found = json.loads(LEFT.read_text()), _count()
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
    assert not wrong, "\n".join([*wrong, "python tests/test_vocabulary.py writes the numbers"])


def test_numbers_are_of_known_words():
    assert {kind: set(of) for kind, of in json.loads(LEFT.read_text()).items()} == {
        kind: {word for line in of for word in line.split()}
        for kind, of in (("names", IN_NAMES), ("text", IN_TEXT))
    }


def test_words_are_plain():
    pages = (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(path for kind in ("*.py", "*.html") for path in (ROOT / "src").rglob(kind)),
    )
    found = [
        f"{path.relative_to(ROOT)}, line {number}: {match.group()!r}; write {instead}"
        for path in pages
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for pattern, instead in PLAIN.items()
        for match in re.finditer(pattern, line)
    ]
    assert not found, "\n".join(found)


if __name__ == "__main__":
    LEFT.write_text(json.dumps(_count(), indent=1) + "\n")
