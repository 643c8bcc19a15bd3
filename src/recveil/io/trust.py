"""Trust from a file: whom each user says they trust."""

import io
import math
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.brief import brief
from recveil.errors import RecveilError, quoted
from recveil.io.at_hand import beside_table
from recveil.io.files import naming
from recveil.io.formats import columnar_format
from recveil.io.kinds import is_json
from recveil.io.lines import Place
from recveil.io.named_columns import dialect_of, finds_all, head_of, read_named
from recveil.io.recognizing import split_line
from recveil.io.watched import watched_text
from recveil.ratings.labels import encode_labels
from recveil.ratings.plain_types import python_values

if TYPE_CHECKING:
    from scipy import sparse

# A pair and its value, as Python keeps them.
_A_ROW = 250
_NAMES = {
    "truster": ("truster", "trustor", "userid", "user"),
    "trustee": ("trustee", "trusted", "friendid", "friend"),
    "value": ("value", "trust", "trustvalue", "weight"),
}
_EXPECTED = "expected the names truster, trustee and value"

# Who trusts, and whom.
Pair = tuple[str, str]


@brief
class StatedTrust(NamedTuple):
    """What a trust file says about the users of some ratings.

    Attributes
    ----------
    links : scipy.sparse.csr_array of float64, shape (n_users, n_users)
        How much the user of the row trusts the one of the column; nothing where nothing was said.
    n_ignored : int
        Lines about users who are not among the ratings.
    n_unknown : int
        How many such users there are.
    """

    links: "sparse.csr_array"
    n_ignored: int
    n_unknown: int


def read_trust(source: str | PathLike[str], users: NDArray[Any]) -> StatedTrust:
    r"""Read who trusts whom: lines of truster, trustee and value, or columns with these names.

    Parameters
    ----------
    source : str or path
        Text without a header, such as FilmTrust's ``trust.txt``; or columns called truster,
        trustee and value, as CSV, JSON Lines, Parquet or Arrow; packed or not. A pipe, "-" for
        standard input, or an address such as s3://.
    users : ndarray of int64 or of str objects, shape (n_users,)
        The users' labels, as in `Ratings.users`. Ids are compared as they are written: "007" is
        not 7.

    Returns
    -------
    StatedTrust
        For `TrustKNN`. Lines about users without ratings are passed over and counted, since
        nothing can be predicted by them. Of lines about the same pair the last one counts.

    Raises
    ------
    RecveilError
        For a file that cannot be read or has no lines, and for the first line that does not have
        three columns or whose value is not a finite number.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "trust.txt")
    ...     _ = path.write_text("ann ben 1\nben eve 1\n")
    ...     stated = read_trust(path, np.array(["ann", "ben"], dtype=object))
    >>> stated.links.toarray(), stated.n_ignored, stated.n_unknown
    (array([[0., 1.], [0., 0.]]), 1, 1)
    """
    with beside_table("trust", source) as path:
        return _read_trust(path, users)


def _read_trust(path: Path, users: NDArray[Any]) -> StatedTrust:
    position = {str(label): at for at, label in enumerate(users.tolist())}
    values: dict[tuple[int, int], float] = {}
    unknown: set[str] = set()
    n_ignored = 0
    for pair, value in _stated(path):
        strangers = {name for name in pair if name not in position}
        if strangers:
            unknown |= strangers
            n_ignored += 1
        else:
            values[position[pair[0]], position[pair[1]]] = value
    if not values and not n_ignored:
        raise RecveilError(
            f"{path.name}: the file is empty; expected lines such as 'ann ben 1'",
            code="input.empty",
        )
    from scipy import sparse

    pairs = np.array(list(values), dtype=np.int64).reshape(-1, 2)
    trust = np.array(list(values.values()), dtype=np.float64)
    shape = (len(position), len(position))
    return StatedTrust(sparse.csr_array((trust, pairs.T), shape=shape), n_ignored, len(unknown))


def _stated(path: Path) -> Iterator[tuple[Pair, float]]:
    """Yield who trusts whom, and how much, from a file of any kind."""
    with naming(path):
        named = _has_names(head_of(path))
    return _of_columns(path) if named else _of_lines(path)


def _has_names(head: bytes) -> bool:
    """Say whether columns have names, as all but plain lines have."""
    text = head.decode("utf-8-sig", errors="replace")
    if columnar_format(head) is not None or is_json(text):
        return True
    first = next((line for line in text.splitlines() if line.strip()), "")
    return finds_all(split_line(first, dialect_of(text).delimiter), _NAMES)


def _of_columns(path: Path) -> Iterator[tuple[Pair, float]]:
    found = read_named(path, _NAMES, _EXPECTED)
    with naming(path):
        ends = [encode_labels(found[role], role, found.locate) for role in ("truster", "trustee")]
    names = [[str(label) for label in labels.tolist()] for labels, _ in ends]
    stated = python_values(found["value"])
    for row, value in enumerate(stated):
        truster, trustee = (named[of[row]] for named, (_, of) in zip(names, ends, strict=True))
        yield (truster, trustee), _number(value, found.locate(row))


def _of_lines(path: Path) -> Iterator[tuple[Pair, float]]:
    # What is not UTF-8 equals no label of a user, and so counts as unknown.
    with (
        naming(path),
        watched_text(path, keeps_text=True, a_row=_A_ROW) as raw,
        io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape") as text,
    ):
        for line, each in enumerate(text, start=1):
            if fields := each.split():
                place = str(Place(path.name, line))
                if len(fields) != 3:
                    raise RecveilError(
                        f"{place}: expected three columns (truster, trustee, value), got "
                        f"{len(fields)}; mend or drop the line",
                        code="input.line",
                    )
                yield (fields[0], fields[1]), _number(fields[2], place)


def _number(value: Any, place: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        got = "missing" if value is None else quoted(value)
        raise RecveilError(
            f"{place}: trust is {got}; expected a finite number; mend or drop the line",
            code="input.line",
        )
    return number


def users_in_trust(source: str | PathLike[str]) -> set[str]:
    """Return everybody who stands in a trust file, whoever has ratings.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "trust.txt")
    ...     _ = path.write_text("ann ben 1")
    ...     sorted(users_in_trust(path))
    ['ann', 'ben']
    """
    with beside_table("trust", source) as path:
        return {name for pair, _ in _stated(path) for name in pair}
