"""Rows of a comparison's table, one per setting, and the utility that a setting retains."""

from collections.abc import Collection
from typing import Any, Literal, NamedTuple, NoReturn, Self, get_args

import numpy as np

from recveil.comparison.cells import Cell, Setting
from recveil.comparison.measures import MEASURES, SETTING_FIELDS, Value, measure_named
from recveil.evaluation.recipient import POPULARITY
from recveil.evaluation.retained import is_share_reliable
from recveil.release.registry import variant_of
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief

Purpose = Literal["both", "ratings", "lists"]
Utility = Literal["lists", "ratings"]


class _Fields:
    """Names of all fields of a row, including those registered later."""

    def __get__(self, row: object, owner: type) -> tuple[str, ...]:
        return (*SETTING_FIELDS, *MEASURES)


@brief
class Row:
    """Results of one setting, immutable.

    Each measure of `recveil.comparison.MEASURES` is an attribute. None means that it could not be
    measured. `_fields` has all names.

    Parameters
    ----------
    method : str
    k : int or None
        None for a baseline.
    promise : str
        The method's guarantee; see `recveil.release.claim.ClaimKind`.
    problem : str or None
        Why there is no result; then nothing was measured.
    **measured
        Values of measures, by their names.

    Raises
    ------
    RecveilError
        If there is no such measure, or a value is not of its kind.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, risk=0.1)
    >>> row.title, row.risk, row.rmse, row._replace(rmse=0.9).rmse
    ('padded, k = 5', 0.1, None, 0.9)
    >>> row.risk = 0
    Traceback (most recent call last):
        ...
    AttributeError: rows do not change; take row._replace(risk=...)
    """

    method: str
    k: int | None
    promise: str
    problem: str | None

    _fields = _Fields()

    def __getattr__(self, name: str) -> Any:
        """Return None for a measure registered after the row was made."""
        if name in MEASURES:
            return None
        raise AttributeError(f"a row has no measure {name!r}")

    def __init__(
        self,
        method: str,
        k: int | None,
        promise: str,
        problem: str | None,
        **measured: Value | None,
    ) -> None:
        for name, value in measured.items():
            measure_named(name).check(value)
        setting = dict(zip(SETTING_FIELDS, (method, k, promise, problem), strict=True))
        vars(self).update(setting | {name: measured.get(name) for name in MEASURES})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"rows do not change; take row._replace({name}=...)")

    def __eq__(self, other: object) -> bool:
        """Return whether all values are equal."""
        return isinstance(other, Row) and self._asdict() == other._asdict()

    def __hash__(self) -> int:
        return hash(tuple(self._asdict().values()))

    @property
    def title(self) -> str:
        """The setting's display name."""
        return Setting(self.method, self.k).title

    @property
    def is_nominal(self) -> bool:
        """Whether nominal labels are predicted, not ratings."""
        return self.nominal_accuracy is not None

    @property
    def has_lists(self) -> bool:
        """Whether lists were evaluated; nominal labels need liked ones."""
        return not self.is_nominal or self.ndcg is not None

    @property
    def has_ratings(self) -> bool:
        """Whether ratings or labels were predicted; implicit feedback has none."""
        figures = (self.gain_retained, self.rmse, self.nominal_accuracy)
        return self.ndcg is None or any(figure is not None for figure in figures)

    @property
    def is_all_popular(self) -> bool:
        """Whether the best lists of the raw data are those of popular items alone."""
        return self.lists_gain_retained is None and self.raw_ranker == POPULARITY

    def is_unbeaten(self, utility: Utility) -> bool:
        """Return whether the raw data do not beat a baseline by more than their 95% interval.

        The baseline is popularity for lists, and averages for ratings. The retained share of the
        gain above popularity has no interval where the gain itself may be 0.

        Examples
        --------
        >>> row = Row("padded", 5, "k-anonymity", None, raw_gain=0.01, raw_gain_low=-0.02)
        >>> row.is_unbeaten("ratings"), row.is_unbeaten("lists")
        (True, False)
        >>> row._replace(raw_ranker="popularity").is_unbeaten("lists")
        True
        """
        if utility == "ratings":
            return self.raw_gain_low is not None and self.raw_gain_low <= 0
        if self.lists_gain_retained is None:
            return self.is_all_popular
        return self.lists_gain_retained_low is None and self.ndcg_retained_low is not None

    def is_above_baseline(self, utility: Utility) -> bool:
        """Return whether the release beats popularity in lists, or averages in predicted ratings.

        As measured, whatever its interval; also where either was not measured.

        Examples
        --------
        >>> row = Row("padded", 5, "k-anonymity", None, ndcg=0.3, popularity_ndcg=0.4, rmse=0.9)
        >>> row.is_above_baseline("lists"), row.is_above_baseline("ratings")
        (False, True)
        """
        better, worse = self.rmse, self.averages_rmse
        if utility == "lists":
            better, worse = self.popularity_ndcg, self.ndcg
        elif self.is_nominal:
            better, worse = self.baseline_nominal_accuracy, self.nominal_accuracy
        return None in (better, worse) or bool(better < worse)

    def is_clearly_above_baseline(self, utility: Utility) -> bool:
        """Return whether the release beats the baseline by more than its 95% interval.

        Examples
        --------
        >>> row = Row("sparse", 20, "k-anonymity", None, ndcg=0.3, popularity_ndcg=0.2,
        ...           lists_gain_retained_low=-0.1)
        >>> row.is_above_baseline("lists"), row.is_clearly_above_baseline("lists")
        (True, False)
        """
        low = self.lists_gain_retained_low if utility == "lists" else self.gain_retained_low
        return self.is_above_baseline(utility) and (low is None or low > 0)

    def _asdict(self) -> dict[str, Value | None]:
        """Return all values by name; None for a measure registered after the row was made."""
        return {name: vars(self).get(name) for name in self._fields}

    def _replace(self, **changes: Any) -> Self:
        return type(self)(**(self._asdict() | changes))

    def _facts(self) -> dict[str, object]:
        verdict = "no result" if self.problem else self.promise
        figures = {"k": self.k, "risk": self.risk, "gain retained": self.gain_retained}
        return {"": f"{self.method}: {verdict}", **figures, "nDCG retained": self.ndcg_retained}


def to_row(cell: Cell) -> Row:
    """Take the measures out of a cell."""
    method, k = cell.setting
    measured = {}
    if cell.problem is None:
        measured = {name: measure.of(cell) for name, measure in MEASURES.items()}
    return Row(method, k, variant_of(method).about_claim.promise, cell.problem, **measured)


class Share(NamedTuple):
    """A retained share, at most 1: larger values count as being as good as raw.

    Attributes
    ----------
    value : float
        If its interval is too wide to report it, it is never as good as raw: a value measured above
        raw is replaced by the lower end of its interval.
    low, high : float or None
        Its 95% interval over the evaluated users; None if there is none.
    is_reliable : bool
        Whether its interval, before it is cut off at raw, is narrow enough to report it; see
        `recveil.evaluation.is_share_reliable`.
    """

    value: float
    low: float | None
    high: float | None
    is_reliable: bool = True

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is retained."""
        return self.value <= 0 and (self.high is None or self.high <= 0)

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval is below the baseline."""
        return self.high is not None and self.high < 0


class Shares(NamedTuple):
    """Retained shares of ratings and of lists; None where a share is meaningless."""

    ratings: Share | None
    lists: Share | None


def shares_of(row: Row) -> Shares:
    """Return a setting's retained shares, where a share of the raw gain (or nDCG) is meaningful.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, gain_retained=1.33, gain_retained_low=0.9,
    ...           gain_retained_high=1.5, is_gain_reliable=True, ndcg_retained=0.18,
    ...           is_ndcg_reliable=True)
    >>> shares_of(row).ratings, shares_of(row).lists.value
    (Share(value=1, low=0.9, high=1, is_reliable=True), 0.18)
    >>> shares_of(row._replace(gain_retained_low=0.02, gain_retained_high=2.66)).ratings
    Share(value=0.02, low=0.02, high=1, is_reliable=False)
    >>> shares_of(row._replace(is_gain_reliable=False)).ratings
    """
    return Shares(
        _share(row, "gain_retained") if row.is_gain_reliable else None,
        _share(row, "ndcg_retained") if row.is_ndcg_reliable else None,
    )


def _share(row: Row, name: str) -> Share | None:
    value, low, high = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    if value is None:
        return None
    is_reliable = is_share_reliable(value, low, high)
    if not is_reliable and value >= 1 and low is not None:
        value = low
    low, high = (None if end is None else min(end, 1) for end in (low, high))
    return Share(min(value, 1), low, high, is_reliable)


def utility_of(row: Row, purpose: Purpose = "both") -> Share | None:
    """Return a setting's utility: with "both", the smaller of its two shares.

    None if a share is meaningless. `deciding` selects the shares that count among several settings.
    Lists that are no better than popular items alone retain nothing, however close they come to the
    raw data's, since popularity needs no release. There the share of the gain, which is 0 or less,
    replaces the share of the nDCG.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, gain_retained=1.33, is_gain_reliable=True,
    ...           ndcg_retained=0.18, is_ndcg_reliable=True)
    >>> utility_of(row).value, utility_of(row, "ratings").value
    (0.18, 1)
    >>> utility_of(row._replace(lists_gain_retained=-0.3)).value
    -0.3
    """
    counted = [share for share in counted_shares(row, purpose) if share is not None]
    if not counted:
        return None
    lows = [share.value if share.low is None else share.low for share in counted]
    highs = [share.value if share.high is None else share.high for share in counted]
    is_known = all(share.low is not None for share in counted)
    low, high = (min(lows), min(highs)) if is_known else (None, None)
    is_reliable = all(share.is_reliable for share in counted)
    return Share(min(share.value for share in counted), low, high, is_reliable)


def counted_shares(row: Row, purpose: Purpose) -> tuple[Share | None, ...]:
    """Return the shares that count for a purpose; see `utility_of`."""
    shares = shares_of(row)
    lists, gain = shares.lists, row.lists_gain_retained
    if lists is not None and gain is not None and gain <= 0:
        low, high = row.lists_gain_retained_low, row.lists_gain_retained_high
        shares = shares._replace(lists=Share(gain, low, high, lists.is_reliable))
    return shares if purpose == "both" else (getattr(shares, purpose),)


def utilities_in(purpose: Purpose | None) -> tuple[Utility, ...]:
    """Return the utilities that count for a purpose.

    >>> utilities_in("both"), utilities_in("lists"), utilities_in(None)
    (('lists', 'ratings'), ('lists',), ())
    """
    return tuple(name for name in get_args(Utility) if purpose in ("both", name))


def deciding(rows: Collection[Row], purpose: Purpose) -> Purpose | None:
    """Return which shares decide between settings: those that some setting reports.

    A share that no setting reports decides nothing, whatever was measured; nor does a share of
    what the raw data retain above no baseline.
    """
    names = utilities_in(purpose)
    reported = [
        name
        for name in names
        if any(
            (share := getattr(shares_of(row), name)) and share.is_reliable
            for row in rows
            if not row.is_unbeaten(name)
        )
    ]
    return "both" if len(reported) > 1 else reported[0] if reported else None


def order_of(row: Row, decided: Purpose | None, high: float) -> tuple[float, ...]:
    """Return a sort key, best first: deciding shares, then lists and ratings, then risk.

    If nothing decides, the risk comes first. No setting comes before another one that is as safe,
    and better in one measured share without being worse in the other.
    """
    shares = shares_of(row)
    lists, ratings = (0.0 if s is None else -s.value for s in (shares.lists, shares.ratings))
    last = high, float(-(row.k or 0))
    if decided is None:
        return (0.0, high, lists, ratings, *last)
    share = utility_of(row, decided)
    return (np.inf if share is None else -share.value, lists, ratings, *last)


def check_purpose(purpose: str) -> None:
    """Reject any value that is not a `Purpose`."""
    if purpose not in get_args(Purpose):
        raise RecveilError(
            f"utility (--utility) is {purpose!r}; expected both, ratings or lists",
            code="option.value",
        )
