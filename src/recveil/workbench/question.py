"""Question: what somebody asks of a comparison: which risk, what for, and where the limits are."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from recveil.compare.risk_axes import AXES, PERSON, Axis, axis_named
from recveil.compare.worth import Worth, check_worth
from recveil.errors import RecveilError, quoted

_WHATEVER = 100
_MOST_K = 1_000_000


class Question(NamedTuple):
    """What is asked of the settings that were compared.

    Attributes
    ----------
    risk : str
        Which adversary: the name of an axis of risk.
    worth : {"both", "ratings", "lists"}
        What a setting is chosen for.
    limit : int
        The risk that one can answer for, in percent; 100 is whatever it be.
    min_k : int or None
        So many people at least must share each row.
    setting : str or None
        The title of the one that is looked at; None for the answer.
    """

    risk: str = PERSON.name
    worth: Worth = "both"
    limit: int = _WHATEVER
    min_k: int | None = None
    setting: str | None = None

    @classmethod
    def read(cls, form: Mapping[str, str], usual: "Question") -> Self:
        """Read a question from a form; what does not stand in it is as usual.

        Raises
        ------
        RecveilError
            If a value makes no sense.

        Examples
        --------
        >>> Question.read({"limit": "20", "min_k": "5"}, Question())
        Question(risk='person', worth='both', limit=20, min_k=5, setting=None)
        """
        risk = form.get("risk", usual.risk)
        axis_named(risk)
        worth: Any = form.get("worth", usual.worth)
        check_worth(worth)
        limit = _whole("the risk that you can answer for", form.get("limit"), 1, _WHATEVER)
        min_k = _whole("the least k", form.get("min_k"), 2, _MOST_K)
        return cls(
            risk=risk,
            worth=worth,
            limit=usual.limit if limit is None else limit,
            min_k=min_k if "min_k" in form else usual.min_k,
            setting=(form["setting"] or None) if "setting" in form else usual.setting,
        )

    @property
    def axis(self) -> Axis:
        """The risk that is meant."""
        return AXES[self.risk]

    @property
    def max_risk(self) -> float | None:
        """The highest risk as a share; None if it may be any."""
        return None if self.limit >= _WHATEVER else self.limit / 100

    def address(self, **changes: Any) -> str:
        """Return the address of the page that answers it, or a similar one.

        Examples
        --------
        >>> Question(limit=20).address(setting="sparse, k = 5")
        '/choose?risk=person&worth=both&limit=20&min_k=&setting=sparse%2C+k+%3D+5'
        """
        told = self._replace(**changes)._asdict()
        shown = {name: "" if value is None else value for name, value in told.items()}
        return f"/choose?{urlencode(shown)}"


def _whole(what: str, text: str | None, least: int, most: int) -> int | None:
    """Read a whole number; None if there is none."""
    if text is None or not text.strip():
        return None
    plain = text.strip()
    number = int(plain) if plain.isdecimal() and len(plain) < 10 else -1
    if not least <= number <= most:
        raise RecveilError(
            f"{what} is {quoted(text, 20)}; expected a whole number from {least} to {most:,}",
            code="option.value",
        )
    return number
