"""Risk table: everybody's risk as a file that people open in a spreadsheet."""

import csv
import io
import math
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from recveil.audit.risk import Risk
from recveil.beside import write_beside
from recveil.errors import RecveilError
from recveil.io.formulas import as_cell, from_cell

_COLUMNS = ["user_id", "found", "adversary"]


def risk_table(users: NDArray[Any], risk: Risk) -> str:
    """Return who is found how often, as CSV.

    Parameters
    ----------
    users : ndarray, shape (n_users,)
        Their ids. Text that a spreadsheet takes for a formula gets an apostrophe in front.
    risk : Risk

    Examples
    --------
    >>> import numpy as np
    >>> risk = Risk(np.array([0.5]), np.array(["likes"], dtype=object), draws=2)
    >>> risk_table(np.array(["=1+1"], dtype=object), risk).splitlines()
    ['user_id,found,adversary', "'=1+1,0.5,likes"]
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for user, found, adversary in zip(users, risk.found.tolist(), risk.adversary, strict=True):
        shown = "" if math.isnan(found) else found
        writer.writerow([as_cell(user), shown, "" if adversary is None else as_cell(adversary)])
    return text.getvalue()


def write_risk(users: NDArray[Any], risk: Risk, path: str | PathLike[str]) -> None:
    """Write who is found how often, readable by the owner alone.

    Parameters
    ----------
    users : ndarray, shape (n_users,)
        Their ids.
    risk : Risk
    path : str or path
        What stands there is replaced.

    Raises
    ------
    RecveilError
        If it cannot be written there, or would stand in a release.
    """
    content = risk_table(users, risk).encode()
    write_beside(path, lambda beside: beside.write_bytes(content))


def read_risk(path: str | PathLike[str]) -> dict[str, float]:
    """Read how often everybody is found, as `write_risk` wrote it.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict of str to float
        By the users' ids, as they were before anything was put in front; nan for those whom nobody
        could look for.

    Raises
    ------
    RecveilError
        If it is no such file.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> risk = Risk(np.array([0.5]), np.array(["likes"], dtype=object), draws=2)
    >>> with TemporaryDirectory() as folder:
    ...     write_risk(np.array(["=1+1"], dtype=object), risk, Path(folder, "risk.csv"))
    ...     read_risk(Path(folder, "risk.csv"))
    {'=1+1': 0.5}
    """
    name = Path(path).name
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        if header != _COLUMNS:
            raise ValueError("its columns are others")
        return {from_cell(user): float(found or "nan") for user, found, _ in rows}
    except (OSError, ValueError, csv.Error) as error:
        raise RecveilError(
            f"{name}: expected everybody's risk, with the columns {', '.join(_COLUMNS)}, as "
            f"recveil audit --risk writes it; write it again",
            code="input.unreadable" if isinstance(error, OSError) else "input.damaged",
        ) from None
