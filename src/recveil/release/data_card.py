"""The data card of a release."""

import json
import re
from functools import lru_cache

from jinja2 import DictLoader, Environment, StrictUndefined

from recveil.io.columns.feedback import count_levels
from recveil.release.claim import bounds_of, card_text, claim_of_json
from recveil.release.earlier_formats import RENAMED_SINCE, earlier_card
from recveil.release.manifest import ALL_PARTS, Manifest
from recveil.release.method import has_answers, publishes_likes
from recveil.release.synthetic_form import errors_of_noise
from recveil.release.user_table import SUPPRESSED
from recveil.runtime.errors import describe_count

# Characters that could end the quotes around an example or be taken for markup.
_NOT_SHOWN = re.compile(r"[`<>&\x7f]")
_NOT_IN_CELLS = re.compile(r"[`<>&|\x7f]")
# The first format whose cards repeat a digest of release.json.
_DIGEST_SINCE = 4


def has_old_words(manifest: Manifest) -> bool:
    """Return whether a release's card understates the attacks that are known today."""
    return manifest.number < (3 if manifest.claim.about.contains_users else 4)


def data_cards(manifest: Manifest, ratings_file: str) -> list[str]:
    """Return all valid cards of such a release, with those of earlier versions."""
    cards = [data_card(manifest, ratings_file)]
    if manifest.claim.about.contains_users:
        cards.append(data_card(manifest, ratings_file, of_1_0=True))
    if _has_rated_items(manifest):
        cards.append(data_card(manifest, ratings_file, states_catalog=False))
    return cards


def _has_rated_items(manifest: Manifest) -> bool:
    """Return whether the guarantee depends on a list of items that was taken from the data."""
    is_stated = manifest.number >= RENAMED_SINCE and not manifest.claim.about.contains_users
    return is_stated and manifest.settings.get("item_catalog") == "rated items"


def data_card(
    manifest: Manifest, ratings_file: str, *, of_1_0: bool = False, states_catalog: bool = True
) -> str:
    """Return the README.md of a published folder."""
    method, settings, about = manifest.method, manifest.settings, manifest.claim.about
    likes = publishes_likes(settings)
    frame = "rows" if about.contains_users else "synthetic-users"
    cards = {
        **{"card": card_text(frame), "claim": about.card, "method": method.card},
        "risks": about.card_of_risks,
    }
    if manifest.number < RENAMED_SINCE:
        for part, name in (("card", frame), ("claim", about.name), ("method", method.name)):
            earlier = earlier_card(
                name, manifest.number, likes=likes, contains_users=about.contains_users
            )
            if earlier is not None:  # another method brings its own text
                cards[part] = card_text(earlier)
    content = manifest.to_json()  # in the names of its format
    holds_all = manifest.number < 3 and method.first_format == 1
    text = (
        _environment(**cards)
        .get_template("card" if holds_all else "method")
        .render(
            **content | {"item_table": _of_items(manifest), "user_table": _of_users(manifest)},
            promise=claim_of_json(content),
            of_1_0=of_1_0,
            states_catalog=states_catalog and _has_rated_items(manifest),
            of_likes=likes,
            of_answers=_of_answers(manifest),
            **bounds_of(manifest.claim),
            **errors_of_noise(content),
            ratings_file=ratings_file,
            follows=manifest.previous,
            is_parts=ratings_file == ALL_PARTS,
            class_of=about.class_of,
            has_risks=bool(about.card_of_risks),
            one_person_each=method.one_person_each,
            beside_real_ratings=method.other_items_clause(settings),
            n_formulas=manifest.formulas.items if manifest.formulas else 0,
            words=[shown_word(word) for word in manifest.scale.labels],
            count_levels=count_levels(),
            example=in_quotes(manifest.formulas.example) if manifest.formulas else "",
        )
    )
    if manifest.number < _DIGEST_SINCE:
        return f"{text}\n"
    # It binds the card to every number of release.json, including those it does not show.
    return f"{text}\n\nSHA-256 of `release.json` without its list of files: `{manifest.digest}`.\n"


def _of_items(manifest: Manifest) -> str:
    if not manifest.item_table:
        return ""
    names = ", ".join(f"`{shown_word(name)}`" for name in manifest.item_table)
    return (
        f"`items.csv` has a row for each item of this release, and no others: `item_id`, and as "
        f"text {names}.\nThe publisher states that these columns are public, and copied them: no "
        f"guarantee covers what they say.\nImport it as text in a spreadsheet, which may run a "
        f"cell that begins like a formula."
    )


def _of_answers(manifest: Manifest) -> str:
    if not has_answers(manifest.settings):
        return ""
    (cost,) = manifest.method.undone_by(manifest.settings)
    return (
        f"`answers.npz` has the noisy answer to each query of the ledger, under its name with `_`. "
        f"`item_sums` is by `items`,\nand `moments` the upper triangle, row by row, by "
        f"`moment_items`. `offset`, `rating_mean` and `factors` are each\nitem's model. All of it "
        f"follows from the noisy answers, so the guarantee covers it.\n\n{cost}"
    )


def _of_users(manifest: Manifest) -> str:
    about = manifest.user_columns
    if about is None:
        return ""
    names = [f"`{shown_word(name)}`" for name in about.names]
    record = "group" if manifest.layout == "groups" else "user"
    parts = [
        f"`users.csv` has a row for each {record}, in the order of the records: `user_id`, and as "
        f"text {', '.join(names)}."
    ]
    parts[0] += f"\n`{SUPPRESSED}` stands for a value that is unknown or not published."
    if about.values:
        lists = (", ".join(f"`{shown_word(text)}`" for text in each) for each in about.values)
        listed = "; ".join(f"{name}: {each}" for name, each in zip(names, lists, strict=True))
        parts[0] = parts[0].replace("unknown or not published", "missing or not listed")
        parts.append(
            f"The publisher states that these lists of values are public: {listed}. The query "
            f"`attributes` measured\nhow many users have each value, and their number of ratings, "
            f"mean rating and preferences. Synthetic users got values by\ntheir own ratings, so "
            f"groups differ in these, less what noise hides. Values of several columns are "
            f"independent\ngiven the ratings, and what groups prefer beyond the model's factors is "
            f"not kept: do not conclude from small\ndifferences."
        )
    if about.shared:
        parts.append(
            f"At least {manifest.claim.k} users share each record and "
            f"{', '.join(names[: len(about.shared)])}. All users of a class have these values: "
            f"knowing\na user's class reveals them, and knowing them makes re-identification "
            f"easier."
        )
    if manifest.previous:
        parts.append(
            "Attributes are those of the first release with a user: a row keeps them, whatever "
            "changed since."
        )
    if about.sensitive:
        parts.append(
            f"In a class, values of {names[-1]} are in random order, and none has more than "
            f"1/{about.l} of the\nusers with a value: an adversary who knows the class, and "
            f"nothing else of its users, infers a value with probability\nat most 1/{about.l}. "
            f"Other knowledge, skewed shares, and that a class shows no value can reveal more."
        )
    parts.append(
        "Import it as text in a spreadsheet, which may run a cell that begins like a formula."
    )
    return "\n\n".join(parts)


def in_quotes(text: str) -> str:
    r"""Return untrusted text escaped for use between backticks.

    The escapes are JSON's, for non-ASCII characters and for those special in HTML and Markdown.
    """
    return _NOT_SHOWN.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text))


def shown_word(word: str) -> str:
    r"""Return a label escaped for a table cell between backticks.

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
    environment = Environment(  # noqa: S701
        loader=DictLoader(cards),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["counted"] = describe_count
    return environment
