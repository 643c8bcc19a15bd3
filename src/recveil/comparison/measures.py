"""Measured: the registry of all that is measured of a setting, in order.

Rows, their JSON, the table in Parquet and the panels of the page follow from it, and from nothing
else: a new measure is one entry.
"""

from recveil.comparison.measure import Measure
from recveil.comparison.privacy_measures import PRIVACY_MEASURES, RISK_MEASURES
from recveil.comparison.utility_measures import UTILITY_MEASURES
from recveil.runtime.errors import RecveilError

# What a row says of its setting, beside what is measured of it.
SETTING_FIELDS = ("method", "k", "promise", "problem")
# What rows have in JSON beside both.
_FURTHER = ("title", "kept")

MEASURES: dict[str, Measure] = {
    measure.name: measure for measure in (*PRIVACY_MEASURES, *RISK_MEASURES, *UTILITY_MEASURES)
}


def register_measure(measure: Measure) -> None:
    """Let comparisons measure one thing more, after all the others.

    Cells that are finished already are asked for it, too: it is taken from what they hold.

    Parameters
    ----------
    measure : Measure

    Raises
    ------
    RecveilError
        If its name is taken.

    Examples
    --------
    >>> register_measure(Measure("risk", "Another one", float, lambda cell: None))
    Traceback (most recent call last):
        ...
    recveil.RecveilError: measure 'risk': the name is taken; choose another one
    """
    if measure.name in (*SETTING_FIELDS, *_FURTHER, *MEASURES):
        raise RecveilError(
            f"measure {measure.name!r}: the name is taken; choose another one",
            code="argument.value",
        )
    MEASURES[measure.name] = measure


def measure_named(name: str) -> Measure:
    """Return a measure.

    Raises
    ------
    RecveilError
        If there is none of this name.

    Examples
    --------
    >>> measure_named("rmse").better
    'down'
    """
    if name not in MEASURES:
        raise RecveilError(
            f"measure {name!r} is unknown; expected a name from recveil.comparison.MEASURES, or "
            f"register it first (register_measure)",
            code="argument.value",
        )
    return MEASURES[name]
