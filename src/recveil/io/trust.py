"""Trust from a file: whom each user says he trusts."""

import io
import math
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from recveil.brief import brief
from recveil.errors import RecveilError, quoted
from recveil.io.at_hand import beside_table
from recveil.io.files import naming
from recveil.io.kinds import refuse_other_kinds
from recveil.io.lines import Place
from recveil.io.watched import watched_text

# A pair and its value, as Python keeps them.
_A_ROW = 250


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

    links: sparse.csr_array
    n_ignored: int
    n_unknown: int


def read_trust(source: str | PathLike[str], users: NDArray[Any]) -> StatedTrust:
    r"""Read who trusts whom from lines of truster, trustee and value, white space between them.

    Parameters
    ----------
    source : str or path
        Text without a header, gzipped or not, such as FilmTrust's ``trust.txt``; a pipe, "-" for
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
    for line, text in enumerate(_lines(path), start=1):
        if fields := text.split():
            value = _value(fields, Place(path.name, line))
            strangers = {name for name in fields[:2] if name not in position}
            if strangers:
                unknown |= strangers
                n_ignored += 1
            else:
                values[position[fields[0]], position[fields[1]]] = value
    if not values and not n_ignored:
        raise RecveilError(f"{path.name}: the file is empty; expected lines such as 'ann ben 1'")
    pairs = np.array(list(values), dtype=np.int64).reshape(-1, 2)
    trust = np.array(list(values.values()), dtype=np.float64)
    shape = (len(position), len(position))
    return StatedTrust(sparse.csr_array((trust, pairs.T), shape=shape), n_ignored, len(unknown))


def _lines(path: Path) -> Iterator[str]:
    with naming(path):
        refuse_other_kinds(path, columnar=())
    # What is not UTF-8 equals no label of a user, and so counts as unknown.
    with (
        naming(path),
        watched_text(path, keeps_text=True, a_row=_A_ROW) as raw,
        io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape") as text,
    ):
        yield from text


def _value(fields: list[str], place: Place) -> float:
    if len(fields) != 3:
        raise RecveilError(
            f"{place}: expected three columns (truster, trustee, value), got {len(fields)}; "
            f"mend or drop the line"
        )
    try:
        value = float(fields[2])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise RecveilError(
            f"{place}: trust is {quoted(fields[2])}; expected a finite number; "
            f"mend or drop the line"
        )
    return value


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
        return {name for text in _lines(path) for name in text.split()[:2]}
