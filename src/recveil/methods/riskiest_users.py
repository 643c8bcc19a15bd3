"""Removal of the users whom an earlier release exposes most, before the next one is made."""

import csv
import math
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.io import Reading
from recveil.io.write import from_cell
from recveil.ratings import Ratings
from recveil.runtime.errors import RecveilError, describe_count, option_named
from recveil.runtime.number_format import percent

# Columns of the risk of each user; the last two need shadow releases.
RISK_COLUMNS = ("user_id", "found", "adversary", "membership", "control")
# A larger share would replace the table, not protect a few.
_MOST = 0.5


def read_user_risks(path: str | PathLike[str], column: str = "found") -> dict[str, float]:
    """Read a column of each user's risk, nan where it was not measured."""
    name = Path(path).name
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        if tuple(header) not in (RISK_COLUMNS[:3], RISK_COLUMNS):
            raise ValueError("other columns")
        if any(len(row) != len(header) for row in rows):
            raise ValueError("rows of other lengths")
        if column not in header:
            return dict.fromkeys((from_cell(row[0]) for row in rows), math.nan)
        place = header.index(column)
        return {from_cell(row[0]): float(row[place] or "nan") for row in rows}
    except OSError as error:
        raise RecveilError(
            f"{name}: cannot be read ({error.strerror}); name the file that recveil audit --risk "
            f"wrote",
            code="input.unreadable",
        ) from None
    except (ValueError, csv.Error):
        raise RecveilError(
            f"{name}: expected the risk of each user, with the columns "
            f"{', '.join(RISK_COLUMNS[:3])}, as recveil audit --risk writes it; write it again",
            code="input.damaged",
        ) from None


def check_protection(
    share: float | None,
    risk: str | PathLike[str] | None,
    *,
    has_budget: bool,
    conflicts: Mapping[str, object],
) -> None:
    """Validate `protect_riskiest` and `risk`, which need each other, before any work."""
    if share is None and risk is None:
        return
    names = option_named("protect_riskiest"), option_named("risk")
    if share is None or risk is None:
        given, other = names if risk is None else names[::-1]
        raise RecveilError(
            f"{given}: also needs {other}; name both, or neither", code="option.required"
        )
    if has_budget:
        raise RecveilError(
            f"{names[0]}: not with epsilon (--epsilon), which does not cover a removal that "
            f"depends on the ratings of others: one user would change who is removed; leave it "
            f"out, or lower epsilon",
            code="option.conflict",
        )
    if not 0 < share <= _MOST:
        raise RecveilError(
            f"{names[0]} is {share}; expected a share above 0 and at most {_MOST}",
            code="option.value",
        )
    for name, value in conflicts.items():
        if value is not None:
            raise RecveilError(
                f"{names[0]}: not with {option_named(name)}, which names users who may be removed; "
                f"drop one of the two",
                code="option.conflict",
            )


def without_riskiest(reading: Reading, share: float, risk: str | PathLike[str]) -> Reading:
    """Remove the users with the highest measured membership risk, and state the cost in a note."""
    ratings = reading.ratings
    risk_of = read_user_risks(risk, "membership")
    if risk_of.keys() != {str(user) for user in ratings.users.tolist()}:
        raise RecveilError(
            f"{option_named('risk')}: {Path(risk).name} has other users than the table, so it was "
            f"measured on another one; measure it on this table (recveil audit FILE --release DIR "
            f"--shadows 32)",
            code="release.mismatch",
        )
    risks = np.array([risk_of.get(str(user), np.nan) for user in ratings.users.tolist()])
    n_unmeasured = int(np.isnan(risks).sum())
    if n_unmeasured == risks.size:
        raise RecveilError(
            f"{option_named('risk')}: no user of the table has a membership risk there; measure it "
            f"on a release of this table (recveil audit FILE --release DIR --shadows 32)",
            code="column.missing",
        )
    n_removed = max(1, round(share * risks.size))
    order = np.argsort(np.where(np.isnan(risks), np.inf, -risks), kind="stable")
    removed = order[: min(n_removed, risks.size - n_unmeasured)]
    kept = np.setdiff1d(np.arange(risks.size), removed)
    left = _only(ratings, kept)
    n_users, n_ratings = removed.size, ratings.n_ratings - left.n_ratings
    controls = np.array([*read_user_risks(risk, "control").values()])
    n_chance = int(np.count_nonzero(controls >= risks[removed].min()))
    note = (
        f"Removed the {describe_count(n_users, 'user')} with the highest membership risk "
        f"({percent(n_users / ratings.n_users)} of {ratings.n_users:,}), with {n_ratings:,} of "
        f"{ratings.n_ratings:,} ratings; {describe_count(ratings.n_items - left.n_items, 'item')} "
        f"had no other ratings. By chance alone, {describe_count(n_chance, 'user')} would have "
        f"risks as high: the fewer shadow releases, the less certain the order. Other users may "
        f"now be the most exposed: audit the release with a table without the removed users."
    )
    if n_unmeasured:
        note += f" {describe_count(n_unmeasured, 'user')} without a measured risk stayed."
    return replace(reading, ratings=left, notes=(*reading.notes, note))


def _only(ratings: Ratings, users: NDArray[np.int64]) -> Ratings:
    """Return the ratings of some users, and the items that these rated."""
    lengths: NDArray[Any] = ratings.activity[users]
    rows = np.isin(ratings.user_positions(), users)
    items, indices = np.unique(ratings.indices[rows], return_inverse=True)
    return Ratings(
        users=ratings.users[users],
        items=ratings.items[items],
        indptr=np.concatenate([[0], np.cumsum(lengths)]),
        indices=indices.astype(ratings.indices.dtype),
        values=ratings.values[rows],
        days=None if ratings.days is None else ratings.days[rows],
        scale=ratings.scale,
    )
