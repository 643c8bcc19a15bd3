"""Manifest: what release.json says, in types; and how the folders and files are called."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa

from recveil.ratings import RatingScale
from recveil.ratings.rating_scale import LIKES
from recveil.release.claim import (
    NEIGHBOURS_SINCE,
    Claim,
    ClaimKind,
    claim_of_json,
    claim_to_json,
)
from recveil.release.method import Method
from recveil.release.registry import find_method, method_of
from recveil.release.settings import NEWEST, OF_LIKES, OF_WORDS, label_grid, publishes_likes
from recveil.release.sides import Published
from recveil.runtime.safe_repr import brief


def class_list(people_of: Mapping[bytes, int]) -> bytes:
    r"""Return the content of classes.csv.

    Parameters
    ----------
    people_of : mapping of bytes to int
        The people of each class, by its digest.

    Examples
    --------
    >>> class_list({b"\xb0": 5, b"\x0a": 7})
    b'digest,people\n0a,7\nb0,5\n'
    """
    lines = [f"{digest.hex()},{people}\n" for digest, people in sorted(people_of.items())]
    return ("digest,people\n" + "".join(lines)).encode()


# What stands in the folder; docs/reference/release-format.md describes each file.
MANIFEST, CLASSES, CARD = "release.json", "classes.csv", "README.md"
RATINGS = ("ratings.parquet", "ratings.csv")
MODEL = "model.parquet"  # in the stand of the ratings, where people are still to be drawn
# Ratings that many machines wrote, a file each; and what the card calls all of these.
ALL_PARTS = "ratings-*.parquet"
_PART = re.compile(r"(ratings|assignment)-[0-9]{5,7}\.parquet")
# What stands in its private twin; the last is an audit's.
PRIVATE_MANIFEST, ASSIGNMENT, RISK = "private.json", "assignment.parquet", "risk.csv"
HIDDEN_ITEMS_FILE = "items.parquet"  # only where items bear pseudonyms

FORMAT = f"recveil-release-{NEWEST}"
FORMATS = tuple(f"recveil-release-{number}" for number in range(1, NEIGHBOURS_SINCE + 1))

_COUNTS = ("users", "records", "labels", "items", "classes", "alone")
COUNTS = dict.fromkeys(FORMATS, (*_COUNTS, "duplicates_dropped")) | {"recveil-release-1": _COUNTS}
# The first format whose releases tell of ids that a spreadsheet runs.
FORMULAS_SINCE = 5
# Of releases in which no record is anybody's: nothing is counted that was not drawn.
_DRAWN = {"users": ("users", "labels", "items"), "model": ("items",)}


def _format_for(scale: RatingScale, claim: Claim) -> int:
    """Return the number of the format in which labels on a scale are written with a claim."""
    if claim.about.is_differential:
        return NEIGHBOURS_SINCE
    if scale.words:
        return OF_WORDS
    return OF_LIKES if scale.unary else NEWEST


def counts_of(format: str, about: ClaimKind, layout: str) -> tuple[str, ...]:
    """Return what a release counts, by its format, kind of claim and layout.

    Examples
    --------
    >>> from recveil.release.claim import claim_kind
    >>> counts_of(FORMAT, claim_kind("aggregates"), "users")
    ('users', 'labels', 'items')
    """
    return COUNTS[format] if about.contains_users else _DRAWN[layout]


def file_next_to_ratings(about: ClaimKind) -> tuple[str, ...]:
    """Return the files beside the ratings that a release lists, in order.

    Records that are nobody's have no classes to be listed.

    Examples
    --------
    >>> from recveil.release.claim import claim_kind
    >>> file_next_to_ratings(claim_kind("co-rated"))
    ('classes.csv', 'README.md')
    """
    return (CLASSES, CARD) if about.contains_users else (CARD,)


def part_name(number: int, what: str = "ratings") -> str:
    """Return how a part of the ratings is called, or of what tells who is who.

    Examples
    --------
    >>> part_name(7), part_name(0, "assignment")
    ('ratings-00007.parquet', 'assignment-00000.parquet')
    """
    return f"{what}-{number:05d}.parquet"


def is_part(name: str, what: str = "ratings") -> bool:
    """Say whether a file is called as a part of the ratings, or of what tells who is who.

    Examples
    --------
    >>> is_part("ratings-00007.parquet"), is_part("ratings-7.parquet")
    (True, False)
    """
    found = _PART.fullmatch(name)
    return found is not None and found.group(1) == what


def content_files(names: Iterable[str], layout: str) -> tuple[str, ...]:
    """Return the files among others that hold the ratings, or the model, in their order.

    Examples
    --------
    >>> content_files(["README.md", "ratings.csv"], "users")
    ('ratings.csv',)
    >>> content_files(["ratings-00000.parquet", "ratings-00001.parquet", "README.md"], "users")
    ('ratings-00000.parquet', 'ratings-00001.parquet')
    """
    own = (MODEL,) if layout == "model" else RATINGS
    there = list(names)
    whole = [name for name in there if name in own]
    parts = [] if layout == "model" else [name for name in there if is_part(name)]
    return tuple(whole[:1] or parts)


def twin_name(name: str) -> str:
    """Return how the private twin of a folder of some name is called.

    Examples
    --------
    >>> twin_name("out")
    'out.private'
    """
    return f"{name}.private"


def private_twin(folder: Path) -> Path:
    """Return the private folder that belongs to a published one, which may be named by a link.

    Examples
    --------
    >>> private_twin(Path("/data/out")).name
    'out.private'
    """
    published = folder.resolve()  # its name is needed, and "." has none
    return published.with_name(twin_name(published.name))


@dataclass(frozen=True)
class FileEntry:
    """What release.json says of a file.

    Parameters
    ----------
    sha256 : str
        64 hexadecimal digits.
    bytes : int
        Its size; -1 if that is not said.
    """

    sha256: str
    bytes: int

    @classmethod
    def of(cls, file: Path) -> Self:
        """Return what is to be said of a file."""
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return cls(digest, file.stat().st_size)

    def is_right(self, file: Path) -> bool:
        """Say whether a file is the one that was written, by its SHA-256."""
        return file.is_file() and self.of(file).sha256 == self.sha256


@brief
class ItemFormulas(NamedTuple):
    """What release.json tells of ids of items that a spreadsheet takes for formulas.

    Attributes
    ----------
    items : int
        How many there are; 1 or more.
    example : str
        The first of them in the order of text, or its beginning.
    """

    items: int
    example: str

    def _facts(self) -> dict[str, object]:
        return {"items": self.items}


@brief
@dataclass(frozen=True)
class Manifest:
    """What a release says of itself.

    Parameters
    ----------
    claim : Claim
    layout : {"users", "groups", "model"}
        Whether a record stands for one person or says for how many; or whether people are still to
        be drawn from a model.
    settings : dict
        How it was made.
    scale : RatingScale
    item_type : {"integer", "text"}
    counts : dict of str to int
        Those of `counts_of`; empty for a release that was not written.
    files : dict of str to FileEntry
        Likewise.
    recveil : str
        The version that made it.
    format : str
        One of `FORMATS`.
    formulas : ItemFormulas or None
        What it tells of ids that a spreadsheet takes for formulas; None where it tells of none.
    sha256_read : str
        The SHA-256 of the release.json that it was read from; empty for what was not read.
    """

    claim: Claim
    layout: str
    settings: Mapping[str, Any]
    scale: RatingScale
    item_type: str = "integer"
    counts: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, FileEntry] = field(default_factory=dict)
    recveil: str = ""
    format: str = FORMAT
    formulas: ItemFormulas | None = None
    sha256_read: str = field(default="", compare=False)

    @classmethod
    def of(cls, published: Published, layout: str | None = None) -> Self:
        """Describe a release that is still in memory.

        Parameters
        ----------
        published : Published
        layout : {"users", "groups", "model"}, optional
            Its usual one if not given.
        """
        number = published.format_number
        if number is None:
            number = _format_for(published.scale, published.claim)
        return cls(
            format=FORMATS[number - 1],
            claim=published.claim,
            layout=published.default_layout if layout is None else layout,
            settings=published.settings,
            scale=published.scale,
            item_type="text" if published.items.dtype == object else "integer",
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read the content of release.json; what else is wrong with it `read_manifest` tells.

        Raises
        ------
        RecveilError, KeyError, TypeError, ValueError
            If a part is missing or makes no sense.
        """
        formulas = content.get("formulas")
        of_likes = publishes_likes(content["settings"])
        return cls(
            claim=claim_of_json(content),
            layout=content["layout"],
            settings=content["settings"],
            scale=LIKES if of_likes else RatingScale.from_json(content["scale"]),
            item_type=content["item_type"],
            counts=content["counts"],
            files={
                name: FileEntry(entry["sha256"], entry.get("bytes", -1))
                for name, entry in content["files"].items()
            },
            recveil=content.get("recveil", ""),
            format=content["format"],
            formulas=formulas and ItemFormulas(formulas["items"], formulas["example"]),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the content of release.json."""
        return {
            "format": self.format,
            "recveil": self.recveil,
            "claim": claim_to_json(self.claim, self.number),
            "k": self.claim.k,
            "levels": self.claim.levels,
            "diversity": {"b": self.claim.b, "l": self.claim.l},
            "layout": self.layout,
            "item_type": self.item_type,
            "scale": self.scale.to_json(),
            "settings": dict(self.settings),
            "counts": dict(self.counts),
            # Most have none, and are written as before.
            **({"formulas": self.formulas._asdict()} if self.formulas else {}),
            "files": {
                name: {"sha256": entry.sha256, "bytes": entry.bytes}
                for name, entry in self.files.items()
            },
        }

    @property
    def digest(self) -> str:
        """The SHA-256 of all that it says but for its files, in 64 hexadecimal digits.

        The card shows it, whose own digest stands among the files: so neither changes alone.
        """
        content = {name: part for name, part in self.to_json().items() if name != "files"}
        return hashlib.sha256(to_bytes(content)).hexdigest()

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of the release.json that says all this; None of what was not written.

        What is attacked as a release of something else, such as pairs of items and words, is still
        that of the file.
        """
        if self.sha256_read:
            return self.sha256_read
        return hashlib.sha256(to_bytes(self.to_json())).hexdigest() if self.files else None

    @property
    def number(self) -> int:
        """The number of its format."""
        return FORMATS.index(self.format) + 1

    @property
    def method(self) -> Method:
        """The method that it names; a RecveilError if that is unknown."""
        return method_of(self.settings)

    @property
    def known_method(self) -> Method | None:
        """The method that it names; None if that is unknown."""
        return find_method(self.settings)

    @property
    def in_groups(self) -> bool:
        """Whether each record says how many people stand behind it."""
        return self.layout == "groups"

    @property
    def columns(self) -> pa.Schema:
        """The columns of the published ratings, in their order."""
        text, number = pa.string(), pa.int64()
        types = {
            "user_id": text,
            "item_id": text if self.item_type == "text" else number,
            "rating": text if self.scale.words else pa.float64(),
        }
        if self.in_groups:
            types["group_size"] = number
        if self.claim.levels:
            types["k"] = number
        return pa.schema(types)

    @property
    def label_grid(self) -> float | None:
        """The step on which all labels lie; None if on none."""
        return label_grid(self.settings, self.scale.step)

    @property
    def ratings_files(self) -> tuple[str, ...]:
        """The names of the files that hold the ratings, or of that of the model."""
        return content_files(self.files, self.layout)

    @property
    def ratings_file(self) -> str | None:
        """How these are called: the name of one, or all parts as one; None if it names none."""
        names = self.ratings_files
        return (names[0] if names[0] in (*RATINGS, MODEL) else ALL_PARTS) if names else None

    @property
    def contains_users(self) -> bool:
        """Whether each record is of somebody in the data."""
        return self.claim.about.contains_users

    @property
    def is_one_user_each(self) -> bool:
        """Whether each record is one person's, in whatever layout; no, if nobody knows."""
        method = self.known_method
        return method is not None and method.one_person_each

    def _facts(self) -> dict[str, object]:
        return {"claim": self.claim.kind, "k": self.claim.k, "layout": self.layout}


def to_bytes(manifest: Mapping[str, Any]) -> bytes:
    r"""Return the one way in which the content of release.json is written.

    Examples
    --------
    >>> to_bytes({"k": 5})
    b'{\n  "k": 5\n}\n'
    """
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
