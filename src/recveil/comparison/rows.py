"""Rows of a comparison's table: one per cell, with its measures."""

from typing import Any, NoReturn, Self

from recveil.comparison.cells import Cell, Setting
from recveil.comparison.measure import Value
from recveil.comparison.measures import MEASURES, SETTING_FIELDS, measure_named
from recveil.release.registry import variant_of
from recveil.runtime.safe_repr import brief


class _Fields:
    """Names of all fields of a row, including those registered later."""

    def __get__(self, row: object, owner: type) -> tuple[str, ...]:
        return (*SETTING_FIELDS, *MEASURES)


@brief
class Row:
    """Results of one setting, immutable.

    Each measure of `recveil.comparison.MEASURES` is an attribute, described by its ``words``. None
    means that it could not be measured. Only the attributes that recveil itself reads are declared
    below; `_fields` has all of them.

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
    bound: float | None
    adversary: str | None
    risk: float | None
    risk_low: float | None
    risk_high: float | None
    looked_for: int | None
    most_attacked: int | None
    lone_share: float | None
    published_share: float | None
    group_risk: float | None
    members_told: float | None
    links_told: float | None
    shadows_told: float | None
    shadows_auc: float | None
    shadows_auc_low: float | None
    shadows_auc_high: float | None
    membership: float | None
    membership_low: float | None
    membership_high: float | None
    gain_kept: float | None
    gain_low: float | None
    gain_high: float | None
    is_gain_told: bool | None
    gain_not_told: str | None
    is_below_averages: bool | None
    raw_gain: float | None
    raw_gain_low: float | None
    raw_gain_high: float | None
    raw_rmse: float | None
    averages_rmse: float | None
    words_right: float | None
    raw_words_right: float | None
    commonest_right: float | None
    recommender: str | None
    rmse: float | None
    best_gain_kept: float | None
    ranker: str | None
    ndcg: float | None
    ndcg_kept: float | None
    ndcg_low: float | None
    ndcg_high: float | None
    lists_gain_kept: float | None
    lists_gain_low: float | None
    lists_gain_high: float | None
    popularity_ndcg: float | None
    is_ndcg_told: bool | None
    ndcg_not_told: str | None
    raw_ranker: str | None
    best_ndcg_kept: float | None

    _fields = _Fields()

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

    def _asdict(self) -> dict[str, Any]:
        """Return all values by name; None for a measure registered after the row was made."""
        return {name: vars(self).get(name) for name in self._fields}

    def _replace(self, **changes: Any) -> Self:
        """Return a row with other values."""
        return type(self)(**(self._asdict() | changes))

    def _facts(self) -> dict[str, object]:
        verdict = "no result" if self.problem else self.promise
        told = {"k": self.k, "risk": self.risk, "gain kept": self.gain_kept}
        return {"": f"{self.method}: {verdict}", **told, "nDCG kept": self.ndcg_kept}


def to_row(cell: Cell) -> Row:
    """Take the measures out of a cell.

    Examples
    --------
    >>> to_row(Cell("key", Setting("padded", 9), problem="8 users")).problem
    '8 users'
    """
    method, k = cell.setting
    measured = {}
    if cell.problem is None:
        measured = {name: measure.of(cell) for name, measure in MEASURES.items()}
    return Row(method, k, variant_of(method).about_claim.promise, cell.problem, **measured)
