"""Re-identification risk per user, as a CSV file."""

import csv
import io
import math
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Candidates, draw_knowledge
from recveil.attacks.registry import attacks_on_table
from recveil.auditing.outcome import Outcome
from recveil.io.spreadsheet_formulas import as_cell, from_cell
from recveil.ratings import Ratings
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

# Total number of attacks; each user is attacked at least once and at most ten times.
_ATTACKS = 500_000


@brief
class Risk(NamedTuple):
    """Re-identification rate of each user.

    Attributes
    ----------
    found : ndarray of float64, shape (n_users,)
        Share of the draws of knowledge with which the user is found; nan (which is no low risk) for
        users with too few ratings for every adversary.
    adversary : ndarray of object, shape (n_users,)
        The name of the adversary used; None if no adversary applied.
    draws : int
        Number of draws of knowledge per user.
    """

    found: NDArray[np.float64]
    adversary: NDArray[Any]
    draws: int

    def to_dict(self) -> dict[str, Any]:
        """Count the users by tenths of risk and by adversary, for JSON and the HTML page."""
        known = self.found[~np.isnan(self.found)]
        tenths = np.minimum(np.floor(known * 10 + 1e-9), 9).astype(int)
        people = np.bincount(tenths, minlength=10)
        looked = [name for name in self.adversary.tolist() if name is not None]
        return {
            "draws": self.draws,
            "bins": [
                {"low": tenth / 10, "high": (tenth + 1) / 10, "people": int(people[tenth])}
                for tenth in range(10)
            ],
            "people_by_adversary": {name: looked.count(name) for name in dict.fromkeys(looked)},
            "nobody_looked_for": len(self.found) - len(looked),
        }

    def _facts(self) -> dict[str, object]:
        return {"people": self.found.size, "draws": self.draws}


def measure_risk(
    ratings: Ratings, candidates: Candidates, outcomes: list[Outcome], seed: int
) -> Risk:
    """Attack each user with the strongest adversary for whom they have enough ratings.

    Parameters
    ----------
    ratings : Ratings
    candidates : Candidates
        The same ratings, indexed by item.
    outcomes : list of Outcome
        Determine the strongest adversaries and their attacks.
    seed : int

    Examples
    --------
    >>> from recveil.attacks import Adversary
    >>> from recveil.auditing.outcome import run_attack
    >>> ratings = Ratings.from_columns([1, 1, 2, 3], ["a", "b", "b", "b"], [5, 1, 2, 2])
    >>> candidates, everybody = Candidates.from_ratings(ratings), np.arange(3)
    >>> outcomes = [
    ...     run_attack(ratings, candidates, Adversary(known=n, name=str(n)), everybody)
    ...     for n in (1, 2)
    ... ]
    >>> risk = measure_risk(ratings, candidates, outcomes, seed=0)
    >>> risk.found[1:], risk.adversary.tolist()
    (array([0.5, 0.5]), ['1', '1', '1'])
    """
    n = ratings.n_users
    draws = max(1, min(10, _ATTACKS // n))
    risk = Risk(np.full(n, np.nan), np.full(n, None, dtype=object), draws)
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.found.rate):
        left = np.flatnonzero(np.isnan(risk.found))
        attacked, found = _look_for(ratings, candidates, outcome, left, draws, seed)
        risk.found[attacked] = found / draws
        risk.adversary[attacked] = outcome.adversary.name
    return risk


def _look_for(
    ratings: Ratings,
    candidates: Candidates,
    outcome: Outcome,
    users: NDArray[np.int64],
    draws: int,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the users who could be attacked, and the number of draws in which each was found."""
    attack = attacks_on_table(outcome.adversary, ratings.scale)[outcome.strongest]
    found = np.zeros(0)
    for draw in range(draws):
        knowledge = draw_knowledge(ratings, outcome.adversary, users, seed + 1 + draw)
        guesses = attack.attack(candidates, knowledge, np.arange(ratings.n_users))
        found = guesses.chance + (found if draw else 0)
    return knowledge.targets, found


_COLUMNS = ["user_id", "found", "adversary"]


def risk_table(users: NDArray[Any], risk: Risk) -> str:
    """Return each user's risk, as CSV.

    Parameters
    ----------
    users : ndarray, shape (n_users,)
        User ids. Text that a spreadsheet would read as a formula gets a leading apostrophe.
    risk : Risk
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for user, found, adversary in zip(users, risk.found.tolist(), risk.adversary, strict=True):
        shown = "" if math.isnan(found) else found
        writer.writerow([as_cell(user), shown, "" if adversary is None else as_cell(adversary)])
    return text.getvalue()


def write_risk(users: NDArray[Any], risk: Risk, path: str | PathLike[str]) -> None:
    """Write each user's risk to a file that only its creator can read.

    Parameters
    ----------
    users : ndarray, shape (n_users,)
        User ids.
    risk : Risk
    path : str or path
        An existing file is replaced.

    Raises
    ------
    RecveilError
        If the file cannot be written, or would be inside a release.
    """
    content = risk_table(users, risk).encode()
    write_atomically(path, lambda beside: beside.write_bytes(content))


def read_risk(path: str | PathLike[str]) -> dict[str, float]:
    """Read each user's risk, as `write_risk` wrote it.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict of str to float
        By user id, without the leading apostrophe; nan for users whom no adversary could attack.

    Raises
    ------
    RecveilError
        If it is not a risk file.

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
