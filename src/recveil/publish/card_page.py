"""Card page: a release described for people, in Markdown, as portals show it.

It repeats the card of the release word for word, below what the publisher says of themselves, and
above what they measured.
"""

import re
from collections.abc import Iterable

from recveil.publish.findings import Findings
from recveil.publish.publisher_card import PublisherCard
from recveil.release.data_card import data_card, in_quotes
from recveil.release.manifest import Manifest

# What Markdown or a page would take for more than text.
_SIGNS = re.compile(r"[\\`*\[\]<>&#|]")
_NAMED = {
    "publisher": "Publisher",
    "contact": "Contact",
    "licence": "Licence",
    "date": "Published",
    "version": "Version",
    "url": "Address",
    "citation": "Citation",
}


def card_page(
    manifest: Manifest, sha256: str, name: str, card: PublisherCard, found: Findings
) -> str:
    """Return the description of a release as Markdown: always the same for the same parts.

    Parameters
    ----------
    manifest : Manifest
    sha256 : str
        Of its release.json.
    name : str
        What the folder is called.
    card : PublisherCard
    found : Findings
        What the publisher measured.
    """
    own = data_card(manifest, manifest.ratings_file or "")
    title, _, rest = own.partition("\n")
    words = {said: getattr(card, word) for word, said in _NAMED.items()}
    words["Keywords"] = ", ".join(card.keywords)
    facts = [f"- {said}: {_plain(word)}" for said, word in words.items() if word]
    parts = [
        f"# {_plain(card.title)}" if card.title else title,
        _plain(card.description),
        "\n".join(facts),
        rest.strip("\n"),
        _section("How it came about", [card.collection, *found.origin, left_out(manifest)]),
        _section("What adversaries found, as measured by the publisher", found.risk),
        _section("What it is still worth, as measured by the publisher", found.utility),
        f"This describes the release whose `release.json` has the SHA-256 `{sha256}`. What is said "
        f"of promises, files and settings stands in its `README.md`, too; commands are meant to be "
        f"run in its folder, `{in_quotes(name)}`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def left_out(manifest: Manifest) -> str:
    """Say how many rows of the owner's table are not published, as the release tells it."""
    dropped = manifest.counts.get("duplicates_dropped", 0)
    if not dropped:
        return ""
    rated = "liked" if manifest.scale.unary else "rated"
    return f"Rows left out, as their people had {rated} the item more than once: {dropped:,}."


def _section(title: str, sentences: Iterable[str]) -> str:
    """Return a heading with a list below it; nothing if there is nothing to be listed."""
    told = "\n".join(f"- {_plain(sentence)}" for sentence in sentences if sentence)
    return f"## {title}\n\n{told}" if told else ""


def _plain(text: str) -> str:
    r"""Return somebody's text in one line, of which Markdown makes nothing but text.

    Examples
    --------
    >>> print(_plain("# a <b>\n[c](d)"))
    \# a \<b\> \[c\](d)
    """
    return _SIGNS.sub(lambda sign: f"\\{sign.group()}", " ".join(text.split()))
