"""Plain words: what docs, help, errors, cards and comments say is plain English.

A prose linter (`make check`) knows the words that nobody should use; these are our own habits.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
READ = (
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(path for kind in ("*.py", "*.html") for path in (ROOT / "src").rglob(kind)),
)
INSTEAD = {
    r"(?i)\b(he|him|his|himself|she|her|hers|herself)\b": "they, them, their",
    r"\bfor ever\b": "forever",
    r"\bin its stand\b": "instead",
    r"\b(resp\.|w\.r\.t\.|i\.e\.|e\.g\.)": "words",
    r"\b(utili[sz]e|leverage|seamless(ly)?|cutting-edge)\b": "a plain verb or adjective",
    r"\bin order to\b": "to",
    r"\b(blacklist|whitelist)(ed)?\b": "refused, allowed",
    r"\b(actually|basically|obviously|of course|simply)\b": "nothing: leave it out",
}


def test_words_are_plain():
    told = [
        f"{path.relative_to(ROOT)}, line {number}: {found.group()!r}; say {instead}"
        for path in READ
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for pattern, instead in INSTEAD.items()
        for found in re.finditer(pattern, line)
    ]
    assert not told, "\n".join(told)
