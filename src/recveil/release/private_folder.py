"""Reader of the private folder of a release."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from recveil.io.worker import decoded_table
from recveil.ratings import Ratings
from recveil.ratings.arrow_columns import plain_column, python_values
from recveil.release.manifest import (
    ASSIGNMENT,
    HIDDEN_ITEMS_FILE,
    MANIFEST,
    PRIVATE_MANIFEST,
    FileEntry,
    part_name,
    private_folder,
)
from recveil.runtime.devices import read_whole, reject_devices
from recveil.runtime.errors import RecveilError

# The key of their number in private.json.
PARTS = "assignment_parts"
# The column of the assignment that states whether the table had the user, in a release that follows
# another one; a row is kept for each of the others.
IN_TABLE = "in_table"


def assignment_files(content: Mapping[str, Any]) -> list[str]:
    """Return the names of the files that map records to users, from private.json."""
    parts = content.get(PARTS)
    if parts is None:
        return [ASSIGNMENT]
    return [part_name(number, "assignment") for number in range(int(parts))]


def read_assignment(
    private: Path, files: Iterable[str], columns: Sequence[str] = ("user_id", "published_id")
) -> pa.Table:
    """Return the user of each record."""
    tables = []
    for name in files:
        reject_devices(private / name)
        tables.append(decoded_table(private / name, columns=list(columns)))
    return pa.concat_tables(tables)


def reject_missing(private: Path, names: Iterable[str], folder: Path) -> None:
    """Raise a RecveilError if the private folder of a release lacks a file."""
    for name in names:
        if not (private / name).is_file():
            raise RecveilError(
                f"{private / name} is missing; without it, guesses cannot be checked; put the "
                f"private folder next to {folder.name}",
                code="private.not-found",
            )


# Users whose ratings are copied at a time
_USERS_AT_A_TIME = 10_000


def digest_of(ratings: Ratings) -> str:
    """Return a SHA-256 of the ratings that ignores the order of rows and the type of ids.

    Dates and the scale are ignored: a table may be read with or without them.
    """
    sha = hashlib.sha256()
    orders = []
    for ids in (ratings.users, ratings.items):
        texts = [str(label) for label in ids.tolist()]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        orders.append(None if order == list(range(len(texts))) else np.array(order))
        sha.update(repr([texts[at] for at in order]).encode())
    of_users, of_items = orders  # None if they are sorted
    lengths = ratings.activity if of_users is None else ratings.activity[of_users]
    sha.update(np.concatenate([[0], np.cumsum(lengths)]).astype("<i8").data)
    table, values = ratings.csr, []
    for start in range(0, ratings.n_users, _USERS_AT_A_TIME):
        block = slice(start, start + _USERS_AT_A_TIME)
        rows = table[block if of_users is None else of_users[block]]
        if of_items is not None:
            rows = rows[:, of_items]
            rows.sort_indices()
        sha.update(np.ascontiguousarray(rows.indices, dtype="<i4").data)
        values.append(np.ascontiguousarray(rows.data, dtype="<f4"))
    for of_block in values:
        sha.update(of_block.data)
    return sha.hexdigest()


def is_made_of(folder: Path, ratings: Ratings, private: Path | None = None) -> bool | None:
    """Return whether a release was made from these ratings; None if that is unknown."""
    published = folder.resolve()
    private = private or private_folder(published)
    try:
        content = json.loads(read_whole(private / PRIVATE_MANIFEST).decode())
        if content["release"]["sha256"] != FileEntry.of(published / MANIFEST).sha256:
            return None
        digest = content.get("ratings_sha256")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # callers that need the folder get the error elsewhere
    if digest is None or digest == digest_of(ratings):
        return None if digest is None else True
    hidden = private / HIDDEN_ITEMS_FILE
    return _is_made_of_renamed(hidden, digest, ratings) if hidden.is_file() else False


def _is_made_of_renamed(hidden: Path, digest: str, ratings: Ratings) -> bool | None:
    """Return whether the digest is that of the ratings under the pseudonyms of their items."""
    # Releases with hidden items stored this digest until 1.0.0. It cannot be repeated if some items
    # of the ratings are not published.
    try:
        names = decoded_table(hidden, columns=["item_id", "published_id"])
    except (pa.ArrowException, OSError, ValueError, RecveilError):
        return None
    items, pseudonyms = (python_values(plain_column(names[name])) for name in names.column_names)
    name_of = dict(zip(map(str, items), pseudonyms, strict=True))
    is_rated = ratings.support > 0
    rated = [str(item) for item in ratings.items[is_rated].tolist()]
    if not name_of.keys() <= set(rated):
        return False
    if len(name_of) < len(rated):
        return None
    places = np.cumsum(is_rated) - 1
    renamed = Ratings(
        users=ratings.users,
        items=np.array([name_of[item] for item in rated], dtype=object),
        indptr=ratings.indptr,
        indices=places[ratings.indices],
        values=ratings.values,
        days=None,
        scale=ratings.scale,
    )
    return bool(digest == digest_of(renamed))
