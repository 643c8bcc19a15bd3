"""Outside knowledge: an adversary's own file of what he knows about his targets."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recveil.attack import Candidates
from recveil.errors import RecveilError
from recveil.io import read_ratings
from recveil.ratings import Ratings

_SHOWN = 5


@dataclass(frozen=True)
class Suspects:
    """The best candidates for one target.

    Parameters
    ----------
    target : str
        As the file calls him.
    known, matched : int
        Entries about him, and those among them whose item stands in the table.
    users : list of str
        The candidates with the highest scores, best first; ties by position.
    scores : list of float
    eccentricity : float
        (highest - second highest score) / σ; at least 1.5 stands out.
    bits : float
        Entropy of the adversary's distribution over all people: what he still does not know.
    """

    target: str
    known: int
    matched: int
    users: list[str]
    scores: list[float]
    eccentricity: float
    bits: float

    def to_dict(self) -> dict[str, Any]:
        """Return the suspects as plain data, for JSON."""
        return dict(vars(self))


def look_for(
    ratings: Ratings,
    candidates: Candidates,
    path: str | PathLike[str],
    *,
    rating_width: float = 1.5,
    day_width: float = 30.0,
    **reading: Any,
) -> list[Suspects]:
    """Attack with real outside knowledge, by Scoreboard-RH.

    Parameters
    ----------
    ratings : Ratings
        The table in which the targets are looked for.
    candidates : Candidates
        The same ratings, listed by item.
    path : path
        A file of (target, item, rating[, date]) in any format that `read_ratings` reads; the items
        carry the table's own ids.
    rating_width, day_width : float
        See `ScoreboardRH`.
    **reading
        Passed to `read_ratings`, such as `user` for the name of the target column.

    Raises
    ------
    RecveilError
        If the file cannot be read, or none of its items stands in the table.
    """
    known = read_ratings(path, **({"user": _target_column(path)} | reading))
    place = {str(label): position for position, label in enumerate(ratings.items)}
    item_of = np.array([place.get(str(label), -1) for label in known.items], np.int64)
    if (item_of < 0).all():
        raise RecveilError(
            f"{path}: none of its {known.n_items} items stands in the table; "
            f"it must use the table's own item ids, such as {ratings.items[0]}"
        )
    weights = 1 / np.log(np.maximum(candidates.support, 2))
    found = []
    for target in range(known.n_users):
        own = slice(known.indptr[target], known.indptr[target + 1])
        items = item_of[known.indices[own]]
        days = None if known.days is None else known.days[own]
        entries = [
            (item, known.values[own][entry], None if days is None else days[entry])
            for entry, item in enumerate(items.tolist())
            if item >= 0
        ]
        scores = _scores(candidates, entries, weights, rating_width, day_width)
        found.append(_suspects(str(known.users[target]), items.size, len(entries), scores, ratings))
    return found


def _target_column(path: str | PathLike[str]) -> str | None:
    """Return "target" if the file's header has it; other names are found as usual."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            names = file.readline().strip().replace("\t", ",").split(",")
    except (OSError, UnicodeDecodeError):
        return None  # the reader will say what is wrong
    return "target" if "target" in names else None


def _scores(
    candidates: Candidates,
    entries: list[tuple[int, float, int | None]],
    weights: NDArray[np.float64],
    rating_width: float,
    day_width: float,
) -> NDArray[np.float64]:
    """Score every record, plainly: there are few targets, and all scores are wanted."""
    scores = np.zeros(candidates.n_records)
    for item, rating, day in entries:
        carrying = slice(candidates.indptr[item], candidates.indptr[item + 1])
        labels = candidates.levels[candidates.codes[carrying]]
        points = np.exp(-np.abs(labels - rating) / rating_width)
        if day is not None and candidates.days is not None:
            points = points + np.exp(-np.abs(candidates.days[carrying] - day) / day_width)
        scores[candidates.records[carrying]] += weights[item] * points
    return scores


def _suspects(
    name: str, known: int, matched: int, scores: NDArray[np.float64], ratings: Ratings
) -> Suspects:
    order = np.argsort(-scores, kind="stable")[: max(2, _SHOWN)]
    sigma = float(scores.std())
    shares = np.exp((scores - scores.max()) / sigma) if sigma > 0 else np.ones_like(scores)
    shares /= shares.sum()
    top = scores[order]
    stands_out = sigma > 0 and order.size > 1
    return Suspects(
        target=name,
        known=known,
        matched=matched,
        users=[str(ratings.users[user]) for user in order[:_SHOWN]],
        scores=top[:_SHOWN].tolist(),
        eccentricity=float((top[0] - top[1]) / sigma) if stands_out else 0.0,
        bits=float(-(shares * np.log2(np.maximum(shares, 1e-300))).sum()),
    )
