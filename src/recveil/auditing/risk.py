"""Re-identification risk per user, as a CSV file."""

import csv
import io
import math
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recveil.attacks import Candidates, draw_knowledge
from recveil.attacks.membership.shadow_models import OfUsers
from recveil.attacks.registry import attacks_on_table
from recveil.attacks.statistics import wilson_interval
from recveil.auditing.shadow_releases import ShadowMembership
from recveil.auditing.table_attacks import Outcome
from recveil.io.write import as_cell
from recveil.methods.riskiest_users import COLUMNS, COLUMNS_WITH_SHADOWS, read_user_risks
from recveil.ratings import Ratings
from recveil.runtime.atomic_writes import write_atomically
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief

# Total number of attacks; each user is attacked at least once and at most ten times.
_ATTACKS = 500_000


@brief
@dataclass(frozen=True, eq=False)
class Risk(Reportable):
    """Re-identification rate of each user.

    Attributes
    ----------
    rates : ndarray of float64, shape (n_users,)
        Share of the draws of knowledge that re-identify the user; nan (which is no low risk) for
        users with too few ratings for every adversary.
    adversary : ndarray of object, shape (n_users,)
        The name of the adversary used; None if no adversary applied.
    draws : int
        Number of draws of knowledge per user.
    membership, control : ndarray of float64, shape (n_users,), or None
        AUC of the strongest adversary with shadow releases, for each user: releases with the user
        against those without; and with random membership. nan for users who were not scored.
    shadows : str
        The number of shadow releases and their method.
    ends : ndarray of float64, shape (2, n_users), or None
        The 95% interval of `membership`.
    """

    rates: NDArray[np.float64]
    adversary: NDArray[Any]
    draws: int
    membership: NDArray[np.float64] | None = None
    control: NDArray[np.float64] | None = None
    shadows: str = ""
    ends: NDArray[np.float64] | None = None

    def with_membership(self, shadows: ShadowMembership, method: str) -> "Risk":
        """Add each user's risk by the strongest adversary with shadow releases."""
        measured = shadows.by_known.values()
        best = max(measured, key=lambda each: each.inferred.auc.rate, default=None)
        if best is None or best.of_users is None:
            return self
        return self.with_areas(best.of_users, f"{shadows.n} of {method}")

    def with_areas(self, found: OfUsers, shadows: str) -> "Risk":
        """Add each user's AUC by shadows of some name."""
        columns = np.full((4, self.rates.size), np.nan)
        columns[:3, list(found.users)] = np.array(found.auc, np.float64)[:, :3].T
        columns[3, list(found.users)] = [each.rate for each in found.control]
        return replace(
            self, membership=columns[0], ends=columns[1:3], control=columns[3], shadows=shadows
        )


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
    >>> from recveil.auditing.table_attacks import run_attack
    >>> ratings = Ratings.from_columns([1, 1, 2, 3], ["a", "b", "b", "b"], [5, 1, 2, 2])
    >>> candidates, users = Candidates.from_ratings(ratings), np.arange(3)
    >>> outcomes = [
    ...     run_attack(ratings, candidates, Adversary(known=n, name=str(n)), users)
    ...     for n in (1, 2)
    ... ]
    >>> risk = measure_risk(ratings, candidates, outcomes, seed=0)
    >>> risk.rates[1:], risk.adversary.tolist()
    (array([0.5, 0.5]), ['1', '1', '1'])
    """
    n = ratings.n_users
    draws = max(1, min(10, _ATTACKS // n))
    risk = Risk(np.full(n, np.nan), np.full(n, None, dtype=object), draws)
    for outcome in sorted(outcomes, key=lambda outcome: -outcome.reidentified.ranked):
        left = np.flatnonzero(np.isnan(risk.rates))
        attacked, hits = _attack(ratings, candidates, outcome, left, draws, seed)
        risk.rates[attacked] = hits / draws
        risk.adversary[attacked] = outcome.adversary.name
    return risk


def _attack(
    ratings: Ratings,
    candidates: Candidates,
    outcome: Outcome,
    users: NDArray[np.int64],
    draws: int,
    seed: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the users who could be attacked, and the number of draws that re-identify each."""
    attack = attacks_on_table(outcome.adversary, ratings.scale)[outcome.strongest]
    hits = np.zeros(0)
    for draw in range(draws):
        knowledge = draw_knowledge(ratings, outcome.adversary, users, seed + 1 + draw)
        guesses = attack.attack(candidates, knowledge, np.arange(ratings.n_users))
        hits = guesses.chance + (hits if draw else 0)
    return knowledge.targets, hits


def risk_table(users: NDArray[Any], risk: Risk) -> str:
    """Return each user's risk, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text)
    has_shadows = risk.membership is not None
    writer.writerow(COLUMNS_WITH_SHADOWS if has_shadows else COLUMNS)
    for place, (user, adversary) in enumerate(zip(users, risk.adversary, strict=True)):
        rate = float(risk.rates[place])
        ends = (rate, rate) if math.isnan(rate) else _ends(rate, risk.draws)
        row = [as_cell(user), _cell(rate), "" if adversary is None else as_cell(adversary)]
        if has_shadows:
            row += [_cell_of(risk.membership, place), _cell_of(risk.control, place)]
            row.append(as_cell(risk.shadows))
        row += map(_cell, ends)
        if has_shadows:
            low, high = (None, None) if risk.ends is None else risk.ends
            row += [_cell_of(low, place), _cell_of(high, place)]
        writer.writerow(row)
    return text.getvalue()


def _ends(rate: float, draws: int) -> tuple[float, float]:
    return wilson_interval(rate * draws, draws)[1:3]


def _cell(number: float) -> str | float:
    return "" if math.isnan(number) else float(number)


def _cell_of(part: NDArray[np.float64] | None, place: int) -> str | float:
    return "" if part is None else _cell(part[place])


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
    write_atomically(path, lambda temporary: temporary.write_bytes(content))


def read_risk(
    path: str | PathLike[str], column: Literal["found", "membership", "control"] = "found"
) -> dict[str, float]:
    """Read each user's risk, as `write_risk` wrote it.

    Parameters
    ----------
    path : str or path
    column : {"found", "membership", "control"}
        The last two are in a file of an audit with shadow releases.

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
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> risk = Risk(np.array([0.5]), np.array(["likes"], dtype=object), draws=2)
    >>> with TemporaryDirectory() as folder:
    ...     write_risk(np.array(["=1+1"], dtype=object), risk, Path(folder, "risk.csv"))
    ...     read_risk(Path(folder, "risk.csv"))
    {'=1+1': 0.5}
    """
    return read_user_risks(path, column)
