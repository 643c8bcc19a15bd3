"""Typed content of release.json, and the names of folders and files."""

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
    Claim,
    ClaimKind,
    claim_of_json,
    claim_to_json,
)
from recveil.release.dates import DATE, DATED_FORMAT, period_of
from recveil.release.earlier_formats import class_list_header, with_names_of
from recveil.release.method import Method, has_answers, publishes_likes
from recveil.release.registry import find_method, method_of
from recveil.release.settings import NEWEST, value_grid
from recveil.release.sides import Published
from recveil.release.user_table import ATTRIBUTE_FORMAT, UserColumns
from recveil.runtime.safe_repr import brief


def class_list(user_counts: Mapping[bytes, int], number: int = NEWEST) -> bytes:
    r"""Return the content of classes.csv in the format of this number.

    >>> class_list({b"\xb0": 5, b"\x0a": 7})
    b'digest,users\n0a,7\nb0,5\n'
    """
    lines = [f"{digest.hex()},{n_users}\n" for digest, n_users in sorted(user_counts.items())]
    return class_list_header(number) + "".join(lines).encode()


def successor_class_list(user_counts: Mapping[tuple[bytes, bytes], int]) -> bytes:
    r"""Return classes.csv of a release that follows another, with a line per class there.

    >>> successor_class_list({(b"\xb0", b"\x0a"): 5, (b"\xb0", b""): 7})
    b'digest,users,previous\nb0,7,\nb0,5,0a\n'
    """
    lines = [
        f"{digest.hex()},{n_users},{previous.hex()}\n"
        for (digest, previous), n_users in sorted(user_counts.items())
    ]
    return SUCCESSOR_HEADER + "".join(lines).encode()


# The first line of classes.csv in a release that follows another one.
SUCCESSOR_HEADER = b"digest,users,previous\n"
# File names in the folder; docs/reference/release-format.md describes each.
MANIFEST, CLASSES, CARD = "release.json", "classes.csv", "README.md"
RATINGS = ("ratings.parquet", "ratings.csv")
# Public columns of the items of the release, if the publisher gives them.
ITEM_TABLE = "items.csv"
# Declared attributes of the users of the release, if the publisher gives them.
USER_TABLE = "users.csv"
MODEL = "model.parquet"  # in place of the ratings, for synthetic users that are not sampled yet
# Ratings in many parts, and the name that the card uses for all of them.
ALL_PARTS = "ratings-*.parquet"
_PART = re.compile(r"(ratings|assignment)-[0-9]{5,7}\.parquet")
# File names in the private folder; the last two are of an audit and of erasures.
PRIVATE_MANIFEST, ASSIGNMENT, RISK = "private.json", "assignment.parquet", "risk.csv"
ERASURES = "erasures.jsonl"
HIDDEN_ITEMS_FILE = "items.parquet"  # only if items have pseudonyms
PROTECTED = "protected.parquet"  # only if the riskiest users were removed or truncated
ANSWERS = "answers.npz"  # only of a release that publishes its noisy answers
NOISY_SUMS = "sums.npz"  # only of a plan of releases with a public list of items

FORMAT = f"recveil-release-{NEWEST}"
FORMATS = tuple(f"recveil-release-{number}" for number in range(1, ATTRIBUTE_FORMAT + 1))

_COUNTS = ("users", "records", "values", "items", "classes", "singletons")
COUNTS = dict.fromkeys(FORMATS, (*_COUNTS, "duplicates_dropped")) | {"recveil-release-1": _COUNTS}
# The first format that reports ids that a spreadsheet runs as formulas.
FORMULAS_SINCE = 5
# Published users with fewer than `FEWEST_RATINGS` values, stated where there are any.
SHORT_USERS = "short_users"
# If no record belongs to a user, only synthetic users are counted.
_SYNTHETIC = {"users": ("users", "values", "items"), "model": ("items",)}


def counts_of(format: str, about: ClaimKind, layout: str) -> tuple[str, ...]:
    """Return the names of a release's counts, by its format, kind of claim and layout."""
    return COUNTS[format] if about.contains_users else _SYNTHETIC[layout]


def files_next_to_ratings(
    about: ClaimKind,
    *,
    has_item_table: bool = False,
    has_user_table: bool = False,
    has_answers: bool = False,
) -> tuple[str, ...]:
    """Return the files that a release lists after the ratings, in order."""
    has = {
        **{CLASSES: about.contains_users, ITEM_TABLE: has_item_table},
        **{USER_TABLE: has_user_table, ANSWERS: has_answers},
    }
    return (*(name for name, is_there in has.items() if is_there), CARD)


def part_name(number: int, what: str = "ratings") -> str:
    """Return the file name of a part of the ratings, or of the assignment of users."""
    return f"{what}-{number:05d}.parquet"


def is_part(name: str, what: str = "ratings") -> bool:
    """Return whether a file name is that of a part of the ratings, or of the assignment.

    >>> is_part("ratings-00007.parquet"), is_part("ratings-7.parquet")
    (True, False)
    """
    found = _PART.fullmatch(name)
    return found is not None and found.group(1) == what


def content_files(names: Iterable[str], layout: str) -> tuple[str, ...]:
    """Return the files among others that hold the ratings, or the model, in their order."""
    there, usual = list(names), (MODEL,) if layout == "model" else RATINGS
    whole = [name for name in there if name in usual]
    parts = [] if layout == "model" else [name for name in there if is_part(name)]
    return tuple(whole[:1] or parts)


def private_name(name: str) -> str:
    """Return the name of the private folder of a folder."""
    return f"{name}.private"


def private_folder(folder: Path) -> Path:
    """Return the private folder of a published one, whose path may be a link."""
    published = folder.resolve()  # its name is needed, and "." has none
    return published.with_name(private_name(published.name))


@dataclass(frozen=True)
class FileEntry:
    """Entry of a file in release.json."""

    sha256: str
    bytes: int

    @classmethod
    def of(cls, file: Path) -> Self:
        """Return the entry of a file."""
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return cls(digest, file.stat().st_size)

    def is_right(self, file: Path) -> bool:
        """Return whether a file has this SHA-256."""
        return file.is_file() and self.of(file).sha256 == self.sha256


@brief
class ItemFormulas(NamedTuple):
    """Item ids that a spreadsheet may run as formulas, as release.json reports them."""

    # Their number; 1 or more
    items: int
    # The first of them in the order of text, or its beginning
    example: str

    def _facts(self) -> dict[str, object]:
        return {"items": self.items}


@brief
@dataclass(frozen=True)
class Manifest:
    """Description of a release in release.json."""

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
    # The SHA-256 of the release.json of the release that it follows; empty if it follows none
    previous: str = ""
    # The columns of the item table after the ids; empty if there is none
    item_table: tuple[str, ...] = ()
    # The attributes of users; None if there are none
    user_columns: UserColumns | None = None
    sha256_read: str = field(default="", compare=False)

    @classmethod
    def of(cls, published: Published, layout: str | None = None) -> Self:
        """Describe a release that is still in memory."""
        newest = NEWEST if period_of(published.settings) is None else DATED_FORMAT
        if published.user_table is not None:
            newest = ATTRIBUTE_FORMAT
        return cls(
            format=FORMATS[(published.format_number or newest) - 1],
            claim=published.claim,
            layout=published.default_layout if layout is None else layout,
            settings=published.settings,
            scale=published.scale,
            item_type="text" if published.items.dtype == object else "integer",
            previous=published.predecessor.sha256 if published.predecessor else "",
            item_table=tuple(published.item_table.columns) if published.item_table else (),
            user_columns=published.user_table.about if published.user_table else None,
        )

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """Read the content of release.json, in today's names; `read_manifest` reports errors."""
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
            previous=content.get("previous", ""),
            item_table=tuple(content.get("item_table", ())),
            user_columns=UserColumns.from_json(content.get("user_attributes")),
        )

    def to_json(self) -> dict[str, object]:
        """Return the content of release.json, in the names of its format."""
        content: dict[str, object] = {
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
            **({"previous": self.previous} if self.previous else {}),
            **({"item_table": list(self.item_table)} if self.item_table else {}),
            **({"user_attributes": self.user_columns.to_json()} if self.user_columns else {}),
            "files": {
                name: {"sha256": entry.sha256, "bytes": entry.bytes}
                for name, entry in self.files.items()
            },
        }
        return with_names_of(self.number, content)

    @property
    def digest(self) -> str:
        """The SHA-256 of its content without `files`, in 64 hexadecimal digits.

        The card shows it, and `files` has the card's digest: so neither can change alone.
        """
        content = {name: part for name, part in self.to_json().items() if name != "files"}
        return hashlib.sha256(to_bytes(content)).hexdigest()

    @property
    def sha256(self) -> str | None:
        """The SHA-256 of its release.json; None if it was not written.

        It remains that of the file if the release is attacked in another form, such as pairs of
        items and words.
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
        """Whether each record states its number of users."""
        return self.layout == "groups"

    @property
    def columns(self) -> pa.Schema:
        """The columns of the published ratings, in their order."""
        text, number = pa.string(), pa.int64()
        types = {
            "user_id": text,
            "item_id": text if self.item_type == "text" else number,
            "rating": text if self.scale.labels else pa.float64(),
        }
        if period_of(self.settings) is not None:
            types[DATE] = pa.date32()
        if self.in_groups:
            types["group_size"] = number
        if self.claim.levels:
            types["k"] = number
        return pa.schema(types)

    @property
    def item_columns(self) -> pa.Schema:
        """The columns of the item table, in their order."""
        types = {"item_id": self.columns.field("item_id").type}
        return pa.schema(types | dict.fromkeys(self.item_table, pa.string()))

    @property
    def user_table_columns(self) -> pa.Schema:
        """The columns of the table of users, in their order."""
        names = self.user_columns.names if self.user_columns else ()
        return pa.schema(dict.fromkeys(("user_id", *names), pa.string()))

    @property
    def files_next_to_ratings(self) -> tuple[str, ...]:
        """The files that it lists after the ratings, in order."""
        return files_next_to_ratings(
            self.claim.about,
            has_item_table=bool(self.item_table),
            has_user_table=self.user_columns is not None,
            has_answers=has_answers(self.settings),
        )

    @property
    def value_grid(self) -> float | None:
        """The step of the grid of all values; None without a grid."""
        return value_grid(self.settings, self.scale.step)

    @property
    def ratings_files(self) -> tuple[str, ...]:
        """The names of the files that hold the ratings, or of that of the model."""
        return content_files(self.files, self.layout)

    @property
    def ratings_file(self) -> str | None:
        """Name of the ratings file, or of all parts as one; None if there is none."""
        names = self.ratings_files
        return (names[0] if names[0] in (*RATINGS, MODEL) else ALL_PARTS) if names else None

    @property
    def contains_users(self) -> bool:
        """Whether each record belongs to a user in the data."""
        return self.claim.about.contains_users

    @property
    def is_one_user_each(self) -> bool:
        """Whether each record belongs to one user, in any layout; False if unknown."""
        method = self.known_method
        return method is not None and method.one_person_each

    def _facts(self) -> dict[str, object]:
        return {"claim": self.claim.kind, "k": self.claim.k, "layout": self.layout}


def to_bytes(manifest: Mapping[str, Any]) -> bytes:
    r"""Return the canonical bytes of release.json."""
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
