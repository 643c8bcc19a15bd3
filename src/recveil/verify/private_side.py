"""The private side of a release, as its owner's folder tells it: what must not be published."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from recveil.brief import brief
from recveil.decoding import decoded_table
from recveil.devices import read_whole
from recveil.errors import RecveilError, reason_of
from recveil.ratings.plain_types import plain_column, python_values
from recveil.release.manifest import (
    HIDDEN_ITEMS_FILE,
    MANIFEST,
    PRIVATE_MANIFEST,
    FileEntry,
)
from recveil.release.who_is_who import assignment_files, read_assignment


@brief
class PrivateSide(NamedTuple):
    """What only the owner of a release may see.

    Attributes
    ----------
    users : list of str or int
        The original ids of the people.
    records : list of str or None
        The published id of each; None where no record is anybody's.
    items : list of str or int
        Where the published items bear pseudonyms: the original ids.
    pseudonyms : list of str
        The pseudonym of each of these.
    seed : int or None
    """

    users: list[Any]
    records: list[str | None]
    items: list[Any]
    pseudonyms: list[str]
    seed: int | None

    def _facts(self) -> dict[str, object]:
        return {"": "for its owner alone", "people": len(self.users)}


def read_private_side(folder: Path, private: Path) -> PrivateSide:
    """Read the private folder that belongs to a release.

    Parameters
    ----------
    folder : Path
        The published folder.
    private : Path
        The private one, wherever it stands.

    Raises
    ------
    RecveilError
        If it cannot be read, or belongs to another release.
    """
    try:
        told = json.loads(read_whole(private / PRIVATE_MANIFEST).decode())
        digest, seed = told["release"]["sha256"], told["seed"]
        people = read_assignment(private, assignment_files(told))
        hidden, names = private / HIDDEN_ITEMS_FILE, ["item_id", "published_id"]
        named = decoded_table(hidden, columns=names) if hidden.is_file() else None
        side = PrivateSide(
            users=_values(people["user_id"]),
            records=_values(people["published_id"]),
            items=[] if named is None else _values(named["item_id"]),
            pseudonyms=[] if named is None else _values(named["published_id"]),
            seed=seed if type(seed) is int else None,
        )
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecveilError(
            f"{private}: cannot be read as the private folder of a release ({reason_of(error)}); "
            f"expected {folder.name}.private, as recveil wrote it",
            code="private.not-found" if isinstance(error, FileNotFoundError) else "private.damaged",
        ) from None
    if digest != FileEntry.of(folder / MANIFEST).sha256:
        raise RecveilError(
            f"{private}: the private folder belongs to another release (SHA-256 of {MANIFEST}); "
            f"name the one that was written with {folder.name}",
            code="private.mismatch",
        )
    return side


def _values(column: pa.ChunkedArray) -> list[Any]:
    return python_values(plain_column(column))
