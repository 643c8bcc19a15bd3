"""The noisy answers of a release, and the model that was fitted to them: `answers.npz`."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from recveil.runtime.errors import RecveilError, reason_of

Arrays = Mapping[str, NDArray[Any]]
# The arrays after those of the queries: ids of items, those of the moments, and the model.
ITEMS, MOMENT_ITEMS, OFFSETS, FACTORS = "items", "moment_items", "offset", "factors"
RATING_MEANS = "rating_mean"  # not of likes


def array_name(query: str) -> str:
    """Return the name of the array with a query's answer."""
    return query.replace(" ", "_")


def answers_to_bytes(answers: Arrays) -> bytes:
    """Return the content of the file, which is the same for equal arrays."""
    written = io.BytesIO()
    arrays: dict[str, Any] = {name: _plain(array) for name, array in answers.items()}
    np.savez(written, **arrays)
    return written.getvalue()


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(str) if array.dtype == object else array


def read_answers(file: Path) -> dict[str, NDArray[Any]]:
    """Read the arrays; raise a RecveilError unless each byte is as recveil writes it."""
    try:
        content = file.read_bytes()
        with np.load(io.BytesIO(content), allow_pickle=False) as found:
            answers = {name: found[name] for name in found.files}
        if answers_to_bytes(answers) != content:
            raise ValueError("its bytes are not those that recveil writes")
    except (OSError, ValueError, LookupError, TypeError, EOFError, BadZipFile) as error:
        raise RecveilError(
            f"{file.name}: cannot be read as noisy answers ({reason_of(error)}); fetch the release "
            f"again",
            code="release.damaged",
        ) from error
    return answers
