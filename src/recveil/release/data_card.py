"""The data card of a release."""

import json
import re
from functools import lru_cache

from jinja2 import DictLoader, Environment, StrictUndefined

from recveil.io.columns.feedback import count_levels
from recveil.release.claim import bounds_of, card_text
from recveil.release.manifest import ALL_PARTS, Manifest
from recveil.release.method import publishes_likes

# Older formats keep their wording, because their cards are rendered again for comparison. Each
# template has the text of the methods that the first format knew; the other methods bring theirs.
_OF_OLD_FORMATS = {
    "recveil-release-1": "card_1.md.jinja",
    "recveil-release-2": "card_2.md.jinja",
}
_WORDS_CHANGED = ("recveil-release-1", "recveil-release-2")
# Older formats used these templates for synthetic users, and today's for all else.
_DRAWN_BEFORE = {
    "recveil-release-3": {
        "card": "drawn_3.md.jinja",
        "method": "synthetic_3.md.jinja",
        "differentially-private": "private_3.md.jinja",
        "aggregates": "aggregates_3.md.jinja",
    },
    "recveil-release-4": {
        "method": "synthetic_4.md.jinja",
        "differentially-private": "private_7.md.jinja",
    },
    # These formats state the bound for one given user as if it were for two.
    "recveil-release-5": {"differentially-private": "private_7.md.jinja"},
    "recveil-release-6": {"differentially-private": "private_7.md.jinja"},
    "recveil-release-7": {"differentially-private": "private_7.md.jinja"},
}
# Up to the third format, the stated bounds of synthetic releases were too low.
_DRAWN_TOO_LOW = (*_WORDS_CHANGED, "recveil-release-3")

# Characters that could end the quotes around an example or be taken for markup.
_NOT_SHOWN = re.compile(r"[`<>&\x7f]")
_NOT_IN_CELLS = re.compile(r"[`<>&|\x7f]")
# Cards of these formats do not repeat a digest of release.json.
_WITHOUT_DIGEST = ("recveil-release-1", "recveil-release-2", "recveil-release-3")


def has_old_words(manifest: Manifest) -> bool:
    """Return whether a release's card has another wording than today's."""
    changed = _WORDS_CHANGED if manifest.claim.about.contains_users else _DRAWN_TOO_LOW
    return manifest.format in changed


def data_cards(manifest: Manifest, ratings_file: str) -> list[str]:
    """Return all valid cards of such a release: today's first, then that of version 1.0."""
    ways = (False, True) if manifest.claim.about.contains_users else (False,)
    return [data_card(manifest, ratings_file, of_1_0=of_1_0) for of_1_0 in ways]


def data_card(manifest: Manifest, ratings_file: str, *, of_1_0: bool = False) -> str:
    """Return the README.md of a published folder."""
    method, settings = manifest.method, manifest.settings
    old = _OF_OLD_FORMATS.get(manifest.format)
    cards = {
        "card": card_text(old or manifest.claim.about.frame),
        "claim": manifest.claim.about.card,
        "method": method.card,
    }
    if not manifest.claim.about.contains_users:
        before = _DRAWN_BEFORE.get(manifest.format, {})
        names = {"card": "card", "claim": manifest.claim.kind, "method": "method"}
        cards |= {part: card_text(before[name]) for part, name in names.items() if name in before}
    likes = publishes_likes(settings)
    if likes and manifest.claim.about.contains_users:
        cards["card"] = card_text("likes.md.jinja")
    if likes:
        cards["method"] = method.card_of_likes
    holds_all = old is not None and method.first_format == 1
    text = (
        _environment(**cards)
        .get_template("card" if holds_all else "method")
        .render(
            **manifest.to_json(),
            promise=manifest.claim,
            of_1_0=of_1_0,
            of_likes=likes,
            **bounds_of(manifest.claim),
            ratings_file=ratings_file,
            is_parts=ratings_file == ALL_PARTS,
            class_of=manifest.claim.about.class_of,
            one_person_each=method.one_person_each,
            beside_real_ratings=method.other_items_clause(settings),
            n_formulas=manifest.formulas.items if manifest.formulas else 0,
            words=[shown_word(word) for word in manifest.scale.words],
            count_levels=count_levels(),
            example=in_quotes(manifest.formulas.example) if manifest.formulas else "",
        )
    )
    # It binds the card to every number of release.json, including those it does not show.
    digest = f"\nSHA-256 of `release.json` without its list of files: `{manifest.digest}`.\n"
    return f"{text}\n{'' if manifest.format in _WITHOUT_DIGEST else digest}"


def in_quotes(text: str) -> str:
    r"""Return untrusted text escaped for use between backticks.

    The escapes are JSON's, for non-ASCII characters and for those special in HTML and Markdown.

    Examples
    --------
    >>> in_quotes('=A1&"`<b>é')
    '"=A1\\u0026\\"\\u0060\\u003cb\\u003e\\u00e9"'
    """
    return _NOT_SHOWN.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text))


def shown_word(word: str) -> str:
    r"""Return a word rating escaped for a table cell between backticks.

    Examples
    --------
    >>> print(shown_word("love|<b>"), shown_word("é"))
    "love\u007c\u003cb\u003e" "é"
    """
    return _NOT_IN_CELLS.sub(
        lambda found: f"\\u{ord(found.group()):04x}", json.dumps(word, ensure_ascii=False)
    )


@lru_cache(maxsize=32)
def _environment(**cards: str) -> Environment:
    """Return the environment of the templates, whose compilation is slow."""
    # The output is Markdown, not HTML: no escaping.
    return Environment(  # noqa: S701
        loader=DictLoader(cards),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
