"""Utility by group of users or items, and the largest gap between the groups of a division."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recveil.attacks.statistics import quarters
from recveil.auditing.attribute_inference import classify
from recveil.evaluation.recipient import PerUserUtility, Served
from recveil.evaluation.retained import Measured, resample, share_interval, with_interval
from recveil.ratings import Ratings
from recveil.runtime.reportable import Reportable
from recveil.runtime.safe_repr import brief

# Fewest judged users of a group with figures.
MIN_JUDGED = 30
ACTIVITY, TASTE, POPULARITY = "user count", "taste", "item count"
_THIRDS = ("rare items", "middle third", "popular items")
_DRAWS = 1_000

_Numbers = NDArray[np.float64]
_Codes = NDArray[np.int64]


@brief
class GroupUtility(NamedTuple):
    """Utility for one group; figures of fewer than 30 judged users are nan.

    Attributes
    ----------
    name : str
    highest : float or None
        Of quarters and thirds, the highest number of ratings (of a user), mean number of raters (of
        the items that a user rated) or number of raters (of an item) in the group; None for the
        last one, and for attributes.
    n_users : int
        Users with held-out ratings; of a third of the items, in that third.
    raw_lists, lists : Measured
        nDCG@10 of the raw table's best lists, and of those that a recipient of the release would
        make. Of items: the gain (1 / log2(place + 1)) per relevant held-out rating.
    retained : Measured
        Their quotient.
    raw_rmse, rmse : Measured
        Of the recommenders that would be chosen; nan for likes.
    """

    name: str
    highest: float | None
    n_users: int
    raw_lists: Measured
    lists: Measured
    retained: Measured
    raw_rmse: Measured
    rmse: Measured


@brief
class Gap(NamedTuple):
    """The largest gap between two groups of a division.

    Attributes
    ----------
    worst, best : str
        The worst-served and the best-served group of the release.
    release : Measured
        The share by which the worst group's nDCG is below that of the best, or its RMSE above.
    raw : Measured
        The control: the largest gap from the raw ratings.
    adds : Measured
        The difference of both, with a paired interval.
    """

    worst: str
    best: str
    release: Measured
    raw: Measured
    adds: Measured


@brief
@dataclass(frozen=True)
class Division(Reportable):
    """Utility by the groups of one division.

    Parameters
    ----------
    name : str
        "user count", "taste", "item count" or the name of an attribute.
    groups : tuple of GroupUtility
    lists, ratings : Gap or None
        None if fewer than two groups have 30 judged users, or likes have no RMSE.
    """

    name: str
    groups: tuple[GroupUtility, ...]
    lists: Gap | None
    ratings: Gap | None

    @property
    def too_few(self) -> tuple[str, ...]:
        """The groups without figures of lists, as fewer than 30 users could be judged."""
        return tuple(one.name for one in self.groups if one.lists.n_users < MIN_JUDGED)


def read_divisions(plain: Sequence[Mapping[str, Any]]) -> tuple[Division, ...]:
    """Read divisions from the JSON of an evaluation."""
    return tuple(
        Division(
            each["name"],
            tuple(_read(GroupUtility, group) for group in each["groups"]),
            *(each[kind] and _read(Gap, each[kind]) for kind in ("lists", "ratings")),
        )
        for each in plain
    )


def _read(kind: type[Any], plain: Mapping[str, Any]) -> Any:
    figures = {
        name: Measured._make(np.nan if part is None else part for part in value.values())
        for name, value in plain.items()
        if isinstance(value, Mapping)
    }
    return kind(**{**plain, **figures})


Kind = Literal["lists", "ratings"]


def widest(divisions: Sequence[Division], kind: Kind = "lists") -> tuple[Division, Gap] | None:
    """Return the gap to which the release adds most; None without any.

    Where it adds to none by more than the interval, return the gap with the highest lower end.
    """
    gaps = [(one, gap) for one in divisions if (gap := getattr(one, kind)) is not None]

    def order(pair: tuple[Division, Gap]) -> tuple[bool, float]:
        gap = pair[1]
        is_wider = gap.adds.low > 0
        return is_wider, float(np.nan_to_num(gap.adds.low if is_wider else gap.release.low))

    return max(gaps, key=order, default=None)


@brief
class _Sums(NamedTuple):
    """Sums by user and group, shape (n_served, n_groups)."""

    names: tuple[str, ...]
    highest: tuple[float | None, ...]
    cells: _Numbers
    relevant: _Numbers  # what gains are averaged over
    gains: tuple[_Numbers, _Numbers]  # raw and release
    squares: tuple[_Numbers, _Numbers] | None


def divide(
    train: Ratings,
    users: _Codes,
    raw: Served,
    release: Served,
    attributes: Mapping[str, Sequence[str | None]] | None = None,
    seed: int = 0,
) -> tuple[Division, ...]:
    """Measure utility by groups of the served users, and of the items.

    Users are divided at the quartiles, in the training table, of their number of ratings and of the
    mean item count of what they rated; and by declared attributes, as
    `recveil.auditing.attribute_inference.classify` forms their classes.
    """
    one, other = raw.per_user, release.per_user
    if one is None or other is None or raw.best_ranker not in one.ndcg:
        return ()
    rated = np.add.reduceat(np.append(train.support[train.indices], 0.0), train.indptr[:-1])
    tastes = np.where(train.activity > 0, rated, 0) / np.maximum(train.activity, 1)
    sides = (one, raw.chosen, raw.best_ranker), (other, release.chosen, _ranker(release))
    sums = [
        _of_users(found.codes[users], found.highest, found.names, sides)
        for found in (
            quarters(train.activity.astype(np.float64)),
            quarters(tastes, "niche tastes", "mainstream tastes"),
        )
    ]
    names = [ACTIVITY, TASTE]
    if (of_items := _of_items(sides)) is not None:
        sums.append(of_items)
        names.append(POPULARITY)
    for name, texts in (attributes or {}).items():
        found = classify(name, texts)
        none = [None] * len(found.names)
        sums.append(_of_users(found.codes[users], none, found.names, sides))
        names.append(name)
    return tuple(_measure(name, each, seed) for name, each in zip(names, sums, strict=True))


def _ranker(served: Served) -> str:
    return served.ranker or served.chosen


_Side = tuple[PerUserUtility, str, str]


def _of_users(
    codes: _Codes, highest: Sequence[float | None], names: Sequence[str], sides: tuple[_Side, _Side]
) -> _Sums:
    """Put users into groups; those with the code -1 are in none."""
    inside = (codes[:, None] == np.arange(len(names))).astype(np.float64)
    one, _, ranker = sides[0]
    judged = ~np.isnan(one.ndcg[ranker])
    gains, squares = [], []
    for side, rates, ranks in sides:
        gains.append(inside * np.nan_to_num(side.ndcg.get(ranks, np.zeros(codes.size)))[:, None])
        if rates in side.squares:
            squares.append(inside * side.squares[rates][:, None])
    return _Sums(
        *(tuple(names), tuple(highest), inside * one.cells[:, None], inside * judged[:, None]),
        (gains[0], gains[1]),
        (squares[0], squares[1]) if len(squares) == 2 else None,
    )


def _of_items(sides: tuple[_Side, _Side]) -> _Sums | None:
    """Divide each user's held-out ratings by the number of the item's raters."""
    of_raw, gains, squares = sides[0][0].by_popularity, [], []
    for side, rates, ranks in sides:
        found = side.by_popularity
        if of_raw is None or found is None or ranks not in found.gains:
            return None
        gains.append(found.gains[ranks])
        if rates in found.squares:
            squares.append(found.squares[rates])
    if of_raw is None:
        return None
    return _Sums(
        *(_THIRDS, (*of_raw.cuts, None)),
        *(of_raw.cells.astype(np.float64), of_raw.relevant.astype(np.float64)),
        (gains[0], gains[1]),
        (squares[0], squares[1]) if len(squares) == 2 else None,
    )


@brief
class _Figure(NamedTuple):
    """A figure of each group, and in each draw of users, shape (n_draws, n_groups)."""

    values: _Numbers
    drawn: _Numbers

    def of(self, group: int, n_users: int) -> Measured:
        value = float(self.values[group])
        if n_users < MIN_JUDGED or np.isnan(value):
            return Measured(np.nan, np.nan, np.nan, n_users)
        drawn = self.drawn[:, group]
        if np.isnan(drawn).any():
            return Measured(value, np.nan, np.nan, n_users)
        return with_interval(value, drawn, n_users)


def _measure(name: str, sums: _Sums, seed: int) -> Division:
    kinds = [sums.cells, sums.relevant, *sums.gains, *(sums.squares or ())]
    n_groups = len(sums.names)
    drawn = np.split(resample(np.hstack(kinds), seed, _DRAWS), len(kinds), axis=1)
    whole = [kind.sum(axis=0) for kind in kinds]
    lists = [_Figure(*_quotients(whole, drawn, place, 1)) for place in (2, 3)]
    roots = []
    if sums.squares is not None:
        squares = [_quotients(whole, drawn, place, 0) for place in (4, 5)]
        roots = [_Figure(np.sqrt(value), np.sqrt(in_draws)) for value, in_draws in squares]
    judged, served = ((kind > 0).sum(axis=0).tolist() for kind in (sums.relevant, sums.cells))
    errors = roots or [_Figure(np.full(n_groups, np.nan), np.empty((0, n_groups)))] * 2
    groups = tuple(
        GroupUtility(
            *(sums.names[group], sums.highest[group], served[group]),
            *(lists[0].of(group, judged[group]), lists[1].of(group, judged[group])),
            _share(lists, group, judged[group]),
            *(errors[0].of(group, served[group]), errors[1].of(group, served[group])),
        )
        for group in range(n_groups)
    )
    return Division(
        name,
        groups,
        _largest_gap(sums.names, lists, judged, is_error=False),
        _largest_gap(sums.names, roots, served, is_error=True) if roots else None,
    )


def _quotients(
    whole: Sequence[_Numbers], drawn: Sequence[_Numbers], part: int, of: int
) -> tuple[_Numbers, _Numbers]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return whole[part] / whole[of], drawn[part] / drawn[of]


def _share(lists: Sequence[_Figure], group: int, n_users: int) -> Measured:
    """Return the share of the raw lists' quality that a group retains."""
    raw, release = (figure.of(group, n_users) for figure in lists)
    if not raw.value > 0:
        return Measured(np.nan, np.nan, np.nan, n_users)
    value = release.value / raw.value
    of_raw, of_release = (figure.drawn[:, group] for figure in lists)
    return Measured(value, *share_interval(value, of_release, of_raw), n_users)


def _largest_gap(
    names: Sequence[str], sides: Sequence[_Figure], n_users: Sequence[int], *, is_error: bool
) -> Gap | None:
    """Compare the groups that are served worst and best, on each side."""
    able = np.flatnonzero(np.array(n_users) >= MIN_JUDGED)
    if able.size < 2:
        return None
    gaps, pairs = [], []
    for figure in sides:
        values = figure.values[able]
        low, high = able[values.argmin()], able[values.argmax()]
        worst, best = (high, low) if is_error else (low, high)
        if not figure.values[best] > 0:
            return None
        pairs.append((worst, best))
        with np.errstate(divide="ignore", invalid="ignore"):
            quotients = np.append(
                figure.values[worst] / figure.values[best],
                figure.drawn[:, worst] / figure.drawn[:, best],
            )
        gaps.append(quotients - 1 if is_error else 1 - quotients)
    n_judged = [n_users[worst] + n_users[best] for worst, best in pairs]
    worst, best = pairs[1]
    return Gap(
        *(names[worst], names[best]),
        _with_interval(gaps[1], n_judged[1]),
        _with_interval(gaps[0], n_judged[0]),
        _with_interval(np.round(gaps[1] - gaps[0], 12), n_judged[1]),
    )


def _with_interval(figures: _Numbers, n_users: int) -> Measured:
    value = float(figures[0])
    if not np.isfinite(figures).all():
        return Measured(value, np.nan, np.nan, n_users)
    return with_interval(value, figures[1:], n_users)
