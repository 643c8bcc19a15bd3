"""Removal or truncation of the users whom an earlier release exposes most."""

import csv
import math
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recveil.io import Reading
from recveil.io.write import from_cell
from recveil.ratings import Ratings
from recveil.release.method import MOST_KEPT
from recveil.release.reader import read_protected
from recveil.release.sides import Protection
from recveil.runtime.errors import RecveilError, describe_count, option_named, quoted
from recveil.runtime.number_format import percent

# Columns of the risk of each user, with 95% intervals; `shadows` names the shadow releases.
_RATE, _AREA = ("user_id", "found", "adversary"), ("membership", "control", "shadows")
_ENDS = ("found_low", "found_high")
COLUMNS = (*_RATE, *_ENDS)
COLUMNS_WITH_SHADOWS = (*_RATE, *_AREA, *_ENDS, "membership_low", "membership_high")
# Those of earlier versions had no intervals, and the first no names of shadow releases.
_EARLIER = (_RATE, (*_RATE, *_AREA[:2]), (*_RATE, *_AREA))
# In the name of the shadows of an audit of a recommender, not of a release
OF_RECOMMENDER = " of the recommender "
# A larger share would replace the table, not protect a few.
_MOST = 0.5


def read_user_risks(path: str | PathLike[str], column: str = "found") -> dict[str, float]:
    """Read a column of each user's risk, nan where it was not measured."""
    return _read_user_risks(path, column)[0]


def _read_user_risks(path: str | PathLike[str], column: str) -> tuple[dict[str, float], str]:
    """Read a column of each user's risk, and which shadow releases it was measured on."""
    name = Path(path).name
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        if tuple(header) not in (COLUMNS, COLUMNS_WITH_SHADOWS, *_EARLIER):
            raise ValueError("other columns")
        if any(len(row) != len(header) for row in rows):
            raise ValueError("rows of other lengths")
        if len({row[0] for row in rows}) < len(rows):
            raise ValueError("repeated users")
        shadows = rows[0][header.index("shadows")] if rows and "shadows" in header else ""
        if column not in header:
            return dict.fromkeys((from_cell(row[0]) for row in rows), math.nan), shadows
        place = header.index(column)
        return {from_cell(row[0]): float(row[place] or "nan") for row in rows}, shadows
    except OSError as error:
        raise RecveilError(
            f"{name}: cannot be read ({error.strerror}); name the file that recveil audit --risk "
            f"wrote",
            code="input.unreadable",
        ) from None
    except (ValueError, csv.Error):
        raise RecveilError(
            f"{name}: expected the risk of each user, with the columns "
            f"{', '.join(_RATE)}, as recveil audit --risk writes it; write it again",
            code="input.damaged",
        ) from None


def check_protection(
    share: float | None,
    risk: str | PathLike[str] | None,
    truncate_to: int | None,
    *,
    has_budget: bool,
    conflicts: Mapping[str, object],
) -> None:
    """Validate `protect_riskiest`, `risk` and `truncate_to` before any work."""
    if share is None and risk is None and truncate_to is None:
        return
    names = option_named("protect_riskiest"), option_named("risk")
    if share is None or risk is None:
        missing = names[0] if share is None else names[1]
        given = {names[0]: share, names[1]: risk, option_named("truncate_to"): truncate_to}
        first = next(name for name, value in given.items() if value is not None)
        raise RecveilError(
            f"{first}: also needs {missing}; name both, or neither", code="option.required"
        )
    if has_budget:
        raise RecveilError(
            f"{names[0]}: not with epsilon (--epsilon), which does not cover a choice that "
            f"depends on the ratings of others: one user would change who is chosen; leave it "
            f"out, or lower epsilon",
            code="option.conflict",
        )
    if not 0 < share <= _MOST:
        raise RecveilError(
            f"{names[0]} is {share}; expected a share above 0 and at most {_MOST}",
            code="option.value",
        )
    if truncate_to is not None and not 1 <= truncate_to <= MOST_KEPT:
        raise RecveilError(
            f"{option_named('truncate_to')} is {truncate_to:,}; expected at least 1 rating of each "
            f"user, and at most {MOST_KEPT:,}",
            code="option.value",
        )
    for name, value in conflicts.items():
        if value is not None:
            raise RecveilError(
                f"{names[0]}: not with {option_named(name)}, which names users who may be removed; "
                f"drop one of the two",
                code="option.conflict",
            )


def protect_riskiest_users(
    reading: Reading,
    share: float,
    risk: str | PathLike[str],
    truncate_to: int | None,
    seed: int,
) -> tuple[Reading, Protection]:
    """Remove or truncate the users with the highest membership risk; a note has the cost."""
    ratings = reading.ratings
    risk_of, shadows = _read_user_risks(risk, "membership")
    if risk_of.keys() != {str(user) for user in ratings.users.tolist()}:
        raise RecveilError(
            f"{option_named('risk')}: {Path(risk).name} has other users than the table, so it was "
            f"measured on another one; measure it on this table (recveil audit FILE --release DIR "
            f"--shadows 32)",
            code="release.mismatch",
        )
    risks = np.array([risk_of.get(str(user), np.nan) for user in ratings.users.tolist()])
    if OF_RECOMMENDER in shadows:
        raise RecveilError(
            f"{option_named('risk')}: {Path(risk).name} was measured on a recommender "
            f"({quoted(shadows, 60)}), not on a release, which exposes other users; measure it on "
            f"one (recveil audit FILE --release DIR --shadows 32)",
            code="release.mismatch",
        )
    n_unmeasured = int(np.isnan(risks).sum())
    if n_unmeasured == risks.size:
        raise RecveilError(
            f"{option_named('risk')}: no user of the table has a membership risk there; measure it "
            f"on a release of this table (recveil audit FILE --release DIR --shadows 32)",
            code="column.missing",
        )
    n_chosen = max(1, round(share * risks.size))
    # Of equal risks, users with more ratings first: these are easier to recognize.
    random = np.random.default_rng(seed).random(risks.size)
    order = np.lexsort((random, -ratings.activity, np.where(np.isnan(risks), np.inf, -risks)))
    chosen = np.sort(order[: min(n_chosen, risks.size - n_unmeasured)])
    left = _left_of(ratings, chosen, truncate_to, seed)
    before = ratings.activity[chosen]
    n_left_out = before if truncate_to is None else np.maximum(before - truncate_to, 0)
    n_lost = ratings.n_items - left.n_items
    done = Protection(share, truncate_to, ratings.users[chosen], n_left_out, n_lost)
    controls = np.array([*read_user_risks(risk, "control").values()])
    least = risks[chosen].min()
    n_equal = int(np.count_nonzero(risks == least) - np.count_nonzero(risks[chosen] == least))
    note = _describe(done, ratings, int(np.count_nonzero(controls >= least)))
    if n_equal:
        note += (
            f" {describe_count(n_equal, 'other user has', 'other users have')} the same risk as "
            f"the last of these, {least:.2f}, and stayed as before, since "
            f"{'that user has' if n_equal == 1 else 'they have'} no more ratings: raise "
            f"{option_named('protect_riskiest')}, or measure with more shadow releases."
        )
    if shadows:
        note += f" Measured on shadow releases: {shadows}."
    if n_unmeasured:
        note += f" {describe_count(n_unmeasured, 'user')} without a measured risk stayed."
    return replace(reading, ratings=left, notes=(*reading.notes, note)), done


def _describe(done: Protection, ratings: Ratings, n_chance: int) -> str:
    n_users = done.users.size
    who = (
        f"the {describe_count(n_users, 'user')} with the highest membership risk "
        f"({percent(n_users / ratings.n_users)} of {ratings.n_users:,})"
    )
    cost = f"{int(done.n_left_out.sum()):,} of {ratings.n_ratings:,} ratings"
    note = f"Removed {who}, with {cost}"
    if done.truncate_to is not None:
        note = f"Kept at most {done.truncate_to:,} random ratings of {who}, and left out {cost}"
    note += (
        f"; {describe_count(done.n_items, 'item')} had no other ratings. By chance alone, "
        f"{describe_count(n_chance, 'user')} would have risks as high (with fewer shadow "
        f"releases, more). Other users may now be the most exposed: audit the release, "
        f"for which recveil audit leaves out the same ratings."
    )
    if n_whole := int(np.count_nonzero(done.n_left_out == 0)):
        note += (
            f" {describe_count(n_whole, 'user')} had no more ratings than that, and "
            f"{'is' if n_whole == 1 else 'are'} not protected: only leaving out "
            f"{'that user' if n_whole == 1 else 'these users'} would."
        )
    return note


def without_left_out(reading: Reading, release: str | PathLike[str]) -> Reading:
    """Leave out what a release leaves out to protect users, and say so in a note."""
    ratings = reading.ratings
    left = ratings_left(ratings, Path(release).resolve())
    if left.n_ratings == ratings.n_ratings:
        return reading
    note = (
        f"Left out {ratings.n_ratings - left.n_ratings:,} of {ratings.n_ratings:,} ratings, as the "
        f"release does, to protect users of high risk. No figure covers these."
    )
    return replace(reading, ratings=left, notes=(*reading.notes, note))


def ratings_left(ratings: Ratings, release: Path, private: Path | None = None) -> Ratings:
    """Return the ratings without those that the private folder of a release states as left out."""
    protected = read_protected(release, private)
    if protected is None:
        return ratings
    users, truncate_to, seed = protected
    chosen = np.flatnonzero([str(user) in users for user in ratings.users.tolist()])
    return _left_of(ratings, chosen, truncate_to, seed)


def _left_of(
    ratings: Ratings, chosen: NDArray[np.int64], truncate_to: int | None, seed: int
) -> Ratings:
    """Return the ratings without those of some users, or with so many random ones of each."""
    rng, is_left = np.random.default_rng([seed, 2]), np.ones(ratings.n_ratings, dtype=bool)
    for user in chosen.tolist():
        start, end = ratings.indptr[user], ratings.indptr[user + 1]
        if truncate_to is None or end - start > truncate_to:
            is_left[start:end] = False
        if truncate_to is not None and end - start > truncate_to:
            is_left[start + rng.choice(end - start, truncate_to, replace=False)] = True
    lengths = np.bincount(ratings.user_positions()[is_left], minlength=ratings.n_users)
    items, indices = np.unique(ratings.indices[is_left], return_inverse=True)
    return Ratings(
        users=ratings.users[lengths > 0],
        items=ratings.items[items],
        indptr=np.concatenate([[0], np.cumsum(lengths[lengths > 0])]),
        indices=indices.astype(ratings.indices.dtype),
        values=ratings.values[is_left],
        days=None if ratings.days is None else ratings.days[is_left],
        scale=ratings.scale,
    )
