"""Registry of the measures of a setting, in order.

Rows, their JSON, the Parquet table and the panels of the page follow from it alone: a new measure
is one entry.
"""

from recveil.comparison.measure import Measure
from recveil.comparison.privacy_measures import PRIVACY_MEASURES, RISK_MEASURES
from recveil.comparison.utility_measures import UTILITY_MEASURES
from recveil.runtime.errors import RecveilError

# Fields of a row that describe its setting.
SETTING_FIELDS = ("method", "k", "promise", "problem")
# Further keys of rows in JSON.
_FURTHER = ("title", "kept")

MEASURES: dict[str, Measure] = {
    measure.name: measure for measure in (*PRIVACY_MEASURES, *RISK_MEASURES, *UTILITY_MEASURES)
}


def register_measure(measure: Measure) -> None:
    """Add a measure to all comparisons, after the others.

    Finished cells get it, too, from the results that they hold.

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
