"""Who is who: the people behind records, in one file of the private twin or in several parts."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from recveil.decoding import decoded_table
from recveil.devices import refuse_devices
from recveil.errors import RecveilError
from recveil.release.manifest import ASSIGNMENT, part_name

# What private.json calls their number.
PARTS = "assignment_parts"


def assignment_files(told: Mapping[str, Any]) -> list[str]:
    """Return the names of the files that tell who is who, as private.json says.

    Parameters
    ----------
    told : dict
        The content of private.json.

    Examples
    --------
    >>> assignment_files({"seed": 1})
    ['assignment.parquet']
    >>> assignment_files({"assignment_parts": 2})
    ['assignment-00000.parquet', 'assignment-00001.parquet']
    """
    parts = told.get(PARTS)
    if parts is None:
        return [ASSIGNMENT]
    return [part_name(number, "assignment") for number in range(int(parts))]


def read_assignment(
    private: Path, files: Iterable[str], columns: Sequence[str] = ("user_id", "published_id")
) -> pa.Table:
    """Return who is behind which record.

    Parameters
    ----------
    private : Path
        The private folder.
    files : iterable of str
        All of `assignment_files`, or some.
    columns : sequence of str

    Raises
    ------
    RecveilError, OSError, ArrowException
        If a file is missing, or cannot be read.
    """
    tables = []
    for name in files:
        refuse_devices(private / name)
        tables.append(decoded_table(private / name, columns=list(columns)))
    return pa.concat_tables(tables)


def refuse_missing(private: Path, names: Iterable[str], folder: Path) -> None:
    """Raise a RecveilError if the private twin of a release lacks a file."""
    for name in names:
        if not (private / name).is_file():
            raise RecveilError(
                f"{private / name} is missing; without it nobody can tell whether a guess is "
                f"right; put the private twin beside {folder.name}",
                code="private.not-found",
            )
