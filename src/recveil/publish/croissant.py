"""Croissant descriptions of releases, for data portals and loaders."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from recveil.io.columns.feedback import count_levels
from recveil.publish.publisher_card import Findings, PublisherCard
from recveil.ratings.ratings import in_likes
from recveil.release.data_card import data_card, in_quotes
from recveil.release.dates import DATE
from recveil.release.earlier_formats import RENAMED_SINCE
from recveil.release.manifest import ALL_PARTS, ITEM_TABLE, USER_TABLE, FileEntry, Manifest
from recveil.release.records import hides_items
from recveil.release.settings import publishes_counts
from recveil.release.user_table import SUPPRESSED
from recveil.runtime.errors import quoted

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


# Statements of a release's own card that do not hold next to measurements
_UNMEASURED = r"For this card, nothing was measured on this release: .*?\smeasure all [^.]*\."
_UNCOUNTED = r"\s+Neither\s+their\s+number\s+nor\s+their\s+share\s[^.]*\."


def card_page(
    manifest: Manifest, sha256: str, name: str, card: PublisherCard, found: Findings
) -> str:
    """Return the description of a release as Markdown: always the same for the same parts."""
    readme = data_card(manifest, manifest.ratings_file or "")
    if found.risk:
        readme = re.sub(_UNMEASURED, "This card ends with what was measured.", readme)
    if found.utility:
        readme = re.sub(_UNCOUNTED, "", readme)
    title, _, rest = readme.partition("\n")
    words = {heading: getattr(card, word) for word, heading in _NAMED.items()}
    words["Keywords"] = ", ".join(card.keywords)
    facts = [f"- {heading}: {_plain(word)}" for heading, word in words.items() if word]
    parts = [
        f"# {_plain(card.title)}" if card.title else title,
        _plain(card.description),
        "\n".join(facts),
        rest.strip("\n"),
        _section("How the release was made", [card.collection, *found.origin, left_out(manifest)]),
        _section("Measured risk, as stated by the publisher", found.risk),
        _section("Retained utility, as stated by the publisher", found.utility),
        f"This describes the release whose `release.json` has the SHA-256 `{sha256}`. Its "
        f"`README.md` has the same statements on guarantees, files and settings. Run the commands "
        f"in its folder, `{in_quotes(name)}`.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def left_out(manifest: Manifest) -> str:
    """Describe how many rows of the original table are not published."""
    dropped = manifest.counts.get("duplicates_dropped", 0)
    if not dropped:
        return ""
    rated = "liked" if manifest.scale.unary else "rated"
    return (
        f"Rows omitted because the user had {rated} the item more than once: {dropped:,}. Rows "
        f"omitted for other reasons are not in this count."
    )


def _section(title: str, sentences: Iterable[str]) -> str:
    """Return a heading with a list below it, or nothing for an empty list."""
    content = "\n".join(f"- {_plain(sentence)}" for sentence in sentences if sentence)
    return f"## {title}\n\n{content}" if content else ""


def _plain(text: str) -> str:
    r"""Return untrusted text in one line, escaped for Markdown.

    >>> print(_plain("# a <b>\n[c](d)"))
    \# a \<b\> \[c\](d)
    """
    return _SIGNS.sub(lambda sign: f"\\{sign.group()}", " ".join(text.split()))


VERSION = "http://mlcommons.org/croissant/1.1"
_RAI_VERSION = "http://mlcommons.org/croissant/RAI/1.0"
# As the standard gives it, so that short names mean the same everywhere.
_CONTEXT_NAMES = (
    *("@language", "@vocab", "arrayShape", "citeAs", "column", "conformsTo", "containedIn"),
    *("cr", "rai", "data", "dataType", "dct", "description", "equivalentProperty"),
    *("examples", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "name"),
    *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace"),
    *("samplingRate", "sc", "separator", "source", "subField", "transform"),
)
_CONTEXT_VALUES: dict[str, object] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "sc": "https://schema.org/",
}
_CONTEXT = {name: _CONTEXT_VALUES.get(name, f"cr:{name}") for name in _CONTEXT_NAMES}
_ENCODINGS = {
    ".parquet": "application/x-parquet",
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".json": "application/json",
    ".npz": "application/zip",
}
_MEANINGS = {
    "user_id": "a pseudonym, chosen at random for this release",
    "item_id": "the id of the item",
    "rating": "the published value",
    DATE: "the first day of the period of a median day on which at least k users rated the item, "
    "or the position of that day in the record, counted from 1970-01-01",
    "group_size": "the number of users who share the record",
    "k": "the minimum number of users who share the record",
}


_HIDDEN_ITEM = "a pseudonym of the item, chosen at random for this release"
_ALWAYS_1 = "always 1, for programs that need a rating: the feedback is implicit"
_MEASURED = "Measured by the publisher: "
_PERSONAL = "rai:personalSensitiveInformation"
# Statements and measurements of the publisher, which follow from no file.
_UNCHECKED = {
    *("name", "description", "license", "datePublished", "url", "version", "citeAs", "keywords"),
    *("creator", "publisher", "sc:contactPoint", "rai:dataCollection", "rai:dataUseCases"),
    *("rai:dataPreprocessingProtocol", _PERSONAL),
}
THREE_RISKS = "The three risks"
_LIMITS = "README.md lists what is not guaranteed."
_LIMITS_TO_8 = "What is not promised"


def croissant(
    manifest: Manifest,
    files: dict[str, FileEntry],
    name: str,
    base: str,
    card: PublisherCard,
    found: Findings,
) -> str:
    """Return the deterministic JSON description of a release.

    Its statements on privacy, including what is not guaranteed, are those of the release's card.
    """
    content_name = manifest.ratings_file or ""
    sections = sections_of_card(data_card(manifest, content_name))
    risks: list[str] = []
    if manifest.number < RENAMED_SINCE:
        promised = " ".join(sections["What is promised"])
        limits = [f"Not promised: {text[:1].lower()}{text[1:]}" for text in sections[_LIMITS_TO_8]]
    else:
        promised = " ".join(sections["What is guaranteed"])
        limits = [f"Not guaranteed. {text}" for text in sections["What is not guaranteed"]]
        risks = sections.get(THREE_RISKS, [])[1:]
    made = f"Made with recveil {manifest.recveil}: " + "; ".join(
        f"{key}: {value}" for key, value in manifest.settings.items()
    )
    all_parts = {
        "@type": "cr:FileSet",
        "@id": ALL_PARTS,
        "name": ALL_PARTS,
        "containedIn": [{"@id": each} for each in manifest.ratings_files],
        "encodingFormat": _ENCODINGS[".parquet"],
        "includes": ALL_PARTS,
    }
    what = "interactions" if manifest.scale.unary else "ratings"
    about: dict[str, object] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": card.title or name,
        "description": card.description or f"Anonymized {what}. {promised} {_LIMITS}",
        "conformsTo": [VERSION, _RAI_VERSION],
        "isLiveDataset": False,
        **_words_of(card),
        _PERSONAL: [
            promised,
            *risks,
            *limits,
            *_of_attributes(manifest),
            *_by_publisher(found.risk),
        ],
        "rai:dataLimitations": limits,
        "rai:dataManipulationProtocol": made,
        **({"rai:dataUseCases": _by_publisher(found.utility)} if found.utility else {}),
        **({"rai:dataCollection": card.collection} if card.collection else {}),
        "distribution": [
            *[_file(each, entry, base) for each, entry in files.items()],
            *([all_parts] if content_name == ALL_PARTS else []),
        ],
    }
    if before := [*found.origin, *filter(None, [left_out(manifest)])]:
        about["rai:dataPreprocessingProtocol"] = before
    record_sets = [] if manifest.layout == "model" else [_records(manifest, content_name)]
    if manifest.item_table:
        record_sets.append(_item_records(manifest))
    if manifest.user_columns is not None:
        record_sets.append(_user_records(manifest))
    if record_sets:
        about["recordSet"] = record_sets
    text = json.dumps(about, indent=2, ensure_ascii=False)
    # Portals embed it in pages, where it must not end the enclosing script.
    return re.sub(r"[<>&]", lambda sign: f"\\u{ord(sign.group()):04x}", text) + "\n"


def problems_of_croissant(
    content: Any, manifest: Manifest, files: dict[str, FileEntry]
) -> Iterator[str]:
    """Report statements that contradict the release or cannot be checked.

    The publisher's statements about themselves and their measurements are not checked against
    files.
    """
    if not isinstance(content, dict):
        yield "it is not a JSON object, as a Croissant description is; run recveil describe again"
        return
    right = _without_card(manifest, files)
    for name, value in right.items():
        if name not in _UNCHECKED and _without_base(name, content.get(name)) != value:
            yield f"{name} does not follow from the release; run recveil describe again"
    personal, of_release = _as_list(content, _PERSONAL), right[_PERSONAL]
    if personal[: len(of_release)] != of_release:
        yield f"{_PERSONAL} does not begin with the guarantees of the release and their limits"
    measured = [*personal[len(of_release) :], *_as_list(content, "rai:dataUseCases")]
    if not all(str(each).startswith(_MEASURED) for each in measured):
        yield f"a sentence on privacy or use does not state that it was {_MEASURED[:-2].lower()}"
    for name in sorted(set(map(str, content)) - set(right) - _UNCHECKED):
        yield f"{quoted(name)} is not a part of a description by recveil"


def texts_of_publisher(content: Any, manifest: Manifest, files: dict[str, FileEntry]) -> list[str]:
    """Return the texts of a description that no file can confirm."""
    if not isinstance(content, dict):
        return []
    usual = _without_card(manifest, files)
    names = [name for name in content if name in _UNCHECKED - {_PERSONAL}]
    return [name for name in names if content[name] != usual.get(name)]


def _without_card(manifest: Manifest, files: dict[str, FileEntry]) -> Mapping[str, Any]:
    """Return the description without a publisher's card, measurements or address."""
    text = croissant(manifest, files, manifest.recveil, "", PublisherCard(), Findings())
    return dict(json.loads(text))


def _as_list(content: Mapping[str, object], name: str) -> list[Any]:
    value = content.get(name, [])
    return value if isinstance(value, list) else [value]


def _without_base(name: str, value: Any) -> Any:
    """Return the files of a description with their address prefix removed."""
    if name != "distribution" or not isinstance(value, list):
        return value
    return [
        {**each, "contentUrl": f"/{str(each['contentUrl']).rpartition('/')[2]}"}
        if isinstance(each, dict) and "contentUrl" in each
        else each
        for each in value
    ]


def _by_publisher(sentences: tuple[str, ...]) -> list[str]:
    return [f"{_MEASURED}{sentence}" for sentence in sentences]


def _words_of(card: PublisherCard) -> dict[str, object]:
    words: dict[str, object] = {
        "license": card.licence,
        "datePublished": card.date,
        "url": card.url,
        "version": card.version,
        "citeAs": card.citation,
        "keywords": list(card.keywords),
    }
    if card.publisher:
        publisher = {"@type": "sc:Organization", "name": card.publisher}
        words["creator"] = words["publisher"] = publisher
    if card.contact:
        point = {"@type": "sc:ContactPoint", "description": card.contact}
        words["sc:contactPoint"] = point
    return {name: value for name, value in words.items() if value}


def _file(name: str, entry: FileEntry, base: str) -> dict[str, object]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        # A folder may have a name that in an address means something else.
        "contentUrl": f"{base if '://' in base else quote(base)}/{name}",
        "contentSize": f"{entry.bytes} B",
        "encodingFormat": _ENCODINGS[name[name.rindex(".") :]],
        "sha256": entry.sha256,
    }


def _records(manifest: Manifest, file: str) -> dict[str, object]:
    where = "fileSet" if file == ALL_PARTS else "fileObject"
    labels = manifest.scale.labels
    order = "from the lowest to the highest" if manifest.scale.ordered else "without an order"
    rating = f"{_MEANINGS['rating']}: one of these labels, {order}: {', '.join(labels)}"
    meanings = _MEANINGS | ({"rating": rating} if labels else {})
    if manifest.scale.unary:
        meanings |= {"rating": _ALWAYS_1, DATE: in_likes(meanings[DATE])}
    meanings |= {"item_id": _HIDDEN_ITEM} if hides_items(manifest.settings) else {}
    line = "interaction" if manifest.scale.unary else "value"
    if publishes_counts(manifest.settings):
        meanings["rating"] += f": a level of a count ({count_levels()})"
    description = f"The published records, one {line} per line."
    source = {where: {"@id": file}}
    return _record_set("ratings", description, source, manifest.columns, meanings)


def _item_records(manifest: Manifest) -> dict[str, object]:
    meanings = dict.fromkeys(manifest.item_table, "a column that the publisher states is public")
    meanings["item_id"] = _MEANINGS["item_id"]
    description, source = (
        "The items of the release, one per line.",
        {"fileObject": {"@id": ITEM_TABLE}},
    )
    return _record_set("items", description, source, manifest.item_columns, meanings)


def _of_attributes(manifest: Manifest) -> Iterator[str]:
    """Name the personal attributes of users, and the sensitive one."""
    about = manifest.user_columns
    if about is not None and about.values:
        yield f"{USER_TABLE} has attributes of synthetic users: {', '.join(about.names)}."
    elif about is not None and about.shared:
        yield f"{USER_TABLE} has attributes of users: {', '.join(about.shared)}."
    if about is not None and about.sensitive:
        yield (
            f"{USER_TABLE} has a sensitive attribute, {about.sensitive}: within an equivalence "
            f"class, no value has more than 1/{about.l} of the values."
        )


def _user_records(manifest: Manifest) -> dict[str, object]:
    names = manifest.user_columns.names if manifest.user_columns else ()
    is_synthetic = manifest.user_columns is not None and bool(manifest.user_columns.values)
    lacking = "missing or not listed" if is_synthetic else "unknown or not published"
    meanings = dict.fromkeys(names, f"an attribute; {SUPPRESSED} if it is {lacking}")
    if manifest.user_columns and manifest.user_columns.sensitive:
        name = manifest.user_columns.sensitive
        meanings[name] = f"a sensitive {meanings[name].removeprefix('an ')}"
    meanings["user_id"] = _MEANINGS["user_id"]
    users = "the synthetic" if is_synthetic else "their"
    description = f"The records of the release with attributes of {users} users, one per line."
    source = {"fileObject": {"@id": USER_TABLE}}
    return _record_set("users", description, source, manifest.user_table_columns, meanings)


def _record_set(
    name: str,
    description: str,
    source: Mapping[str, object],
    columns: pa.Schema,
    meanings: Mapping[str, str],
) -> dict[str, object]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{column.name}",
                "name": column.name,
                "description": meanings[column.name],
                "dataType": _type_of(column.type),
                "source": {**source, "extract": {"column": column.name}},
            }
            for column in columns
        ],
    }


def _type_of(kind: pa.DataType) -> str:
    if pa.types.is_floating(kind):
        return "sc:Float"
    if pa.types.is_date(kind):
        return "sc:Date"
    return "sc:Integer" if pa.types.is_integer(kind) else "sc:Text"


def sections_of_card(card: str) -> dict[str, list[str]]:
    """Return the paragraphs and list entries below each heading of a card, each in one line."""
    found: dict[str, list[str]] = {}
    for part in card.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        pieces = re.split(r"\n\s*\n|\n(?=- )", text)
        # Commands are set apart, below an introductory line.
        texts = [piece for piece in pieces if not piece.lstrip("\n").startswith("    ")]
        texts = [" ".join(piece.strip().removeprefix("- ").split()) for piece in texts]
        plain = [piece.replace("**", "").replace("`", "") for piece in texts]
        found[title.strip()] = [piece for piece in plain if piece and not piece.endswith(":")]
    return found
