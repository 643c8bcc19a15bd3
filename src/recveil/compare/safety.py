"""Safety: which settings anybody may take at all, whatever they are worth."""

from recveil.audit.verdict import COVERAGE
from recveil.compare.risk_axes import PERSON, Axis
from recveil.compare.rows import Row
from recveil.release.claim import is_promise


def is_safe(row: Row, max_risk: float | None, min_k: int | None, axis: Axis = PERSON) -> bool:
    """Tell whether a setting may be taken: what is measured or proven of it keeps the limits.

    Parameters
    ----------
    row : Row
    max_risk : float or None
        The upper end of the measured interval must not be above it, unless it is proven that the
        risk is not. Without a proof, some adversary must have looked for nearly everybody.
    min_k : int or None
        At least so many people must share each row.
    axis : Axis
        What the risk is.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, bound=0.2, risk_high=0.12, rmse=0.9)
    >>> is_safe(row, 0.2, None), is_safe(row, 0.15, None), is_safe(row, None, 6)
    (True, False, False)
    """
    if not is_candidate(row, axis):
        return False
    if min_k is not None and (row.bound is None or (row.k or 0) < min_k):
        return False
    if max_risk is None:
        return min_k is not None or was_looked_for(row, axis)
    bound = axis.bound_of(row)
    is_proven = bound is not None and bound <= max_risk
    return is_proven or (axis.highest(row) <= max_risk and was_looked_for(row, axis))


def is_passed_over(
    row: Row, max_risk: float | None, min_k: int | None, axis: Axis = PERSON
) -> bool:
    """Tell whether a setting is not safe for one reason: many people could not be looked for.

    Examples
    --------
    >>> row = Row("padded", 5, "k-anonymity", None, bound=0.2, risk_high=0.05, rmse=0.9,
    ...           looked_for=900, most_attacked=700)
    >>> is_passed_over(row, 0.1, None), is_passed_over(row, 0.01, None)
    (True, False)
    """
    everybody = row._replace(most_attacked=row.looked_for)
    return not is_safe(row, max_risk, min_k, axis) and is_safe(everybody, max_risk, min_k, axis)


def is_candidate(row: Row, axis: Axis = PERSON) -> bool:
    """Tell whether a row has a result, with this risk measured, and promises something."""
    utilities = (row.rmse, row.ndcg, row.words_right)  # of likes there is no error, nor of words
    is_judged = getattr(row, axis.high) is not None and any(u is not None for u in utilities)
    return row.problem is None and is_promise(row.promise) and is_judged


def was_looked_for(row: Row, axis: Axis = PERSON) -> bool:
    """Tell whether some adversary could look for nearly everybody whom they were asked for.

    Where a risk needs no search, it was measured on those whom its interval counts.
    """
    if not axis.is_search:
        return axis.of(row) is not None
    return (row.most_attacked or 0) >= COVERAGE * (row.looked_for or 1)
