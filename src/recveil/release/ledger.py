"""Ledger: every question that a differentially private release asked its people, and the price.

Each query is a sum over people of one vector each, to which normal noise was added once. What one
person can change of the sum is its *sensitivity*: the most by which it moves, as a length, if a
person with all their ratings comes or goes. Sensitivity over noise is the query's price, `mu`.

Many such queries, asked one after the other, together tell as much as a single one of price
``sqrt(sum of mu ** 2)`` (Dong, Roth & Su 2022, Corollary 3.3), and what that one promises is
known exactly (Balle & Wang 2018, Theorem 8). So nothing is lost in the sum, and nothing guessed.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from recveil.runtime.errors import RecveilError, listed, named_twice, quoted
from recveil.runtime.normal_distribution import point_at, share_below, tail_over_density
from recveil.runtime.safe_repr import brief

_NAME = re.compile(r"[a-z][a-z -]{0,39}")
_WHAT = re.compile(r"[ -~]{1,200}")
# More queries or values than that are nobody's, but a place to write something down.
_MOST_QUERIES, _MOST_VALUES = 100, 10**15
# The formulas are right to twelve digits or more; whoever rounds up by more cannot be below.
_ROUNDED_UP, _ABOVE = 1 + 1e-9, 1e-12


@brief
@dataclass(frozen=True)
class Query:
    """One question to all people, answered once with normal noise.

    Parameters
    ----------
    name : str
        Lower-case letters, spaces and hyphens, 40 at most; one of its own in a ledger.
    what : str
        What was asked, in plain words; printable ASCII, 200 characters at most.
    sensitivity : float
        The most by which one person changes the exact answer: the length (root of the sum of
        squares) of what comes or goes with them.
    sigma : float
        The standard deviation of the noise of each value, in the same unit.
    values : int
        How many noisy values were told.

    Raises
    ------
    RecveilError
        If a name or a number is none of these.

    Examples
    --------
    >>> Query("people by activity", "how many people have how many ratings", 1.0, 4.0, 12).mu
    0.25
    """

    name: str
    what: str
    sensitivity: float
    sigma: float
    values: int

    def __post_init__(self) -> None:
        _check_words("name", self.name, _NAME, "lower-case letters, spaces and hyphens")
        _check_words("what", self.what, _WHAT, "at most 200 printable ASCII characters")
        _check_positive(self.name, "sensitivity", self.sensitivity)
        _check_positive(self.name, "sigma", self.sigma)
        if type(self.values) is not int or not 1 <= self.values <= _MOST_VALUES:
            raise RecveilError(
                f"query {self.name!r}: values is {quoted(self.values)}, but it counts the noisy "
                f"values that were told; give a whole number of at least 1",
                code="argument.value",
            )
        if not 0 < self.mu < math.inf:
            raise RecveilError(
                f"query {self.name!r}: sensitivity {self.sensitivity:g} over sigma {self.sigma:g} "
                f"is beyond what numbers hold; give both in the unit of the data",
                code="argument.value",
            )

    @property
    def mu(self) -> float:
        """What the query costs: sensitivity over noise."""
        return self.sensitivity / self.sigma

    def _facts(self) -> dict[str, object]:
        return {"": self.name, "mu": self.mu}


@brief
@dataclass(frozen=True)
class Ledger:
    """All queries of a release, and what they promise together.

    Parameters
    ----------
    queries : tuple of Query
        At least one; each name once.
    threshold_delta : float
        The probability with which the names of chosen items give away somebody who alone rated
        one of them; 0 where the catalogue is public. It is a part of delta.

    Raises
    ------
    RecveilError
        If there is no query, a name stands twice, or the probability is none.

    Examples
    --------
    >>> ledger = Ledger((
    ...     Query("item sums", "how many people rated each item", 1.0, 5.0, 1_682),
    ...     Query("moments", "which items are rated together", 1.0, 3.0, 1_415_403),
    ... ))
    >>> round(ledger.mu, 3), round(ledger.epsilon(1e-6), 3)
    (0.389, 1.711)
    """

    queries: tuple[Query, ...]
    threshold_delta: float = 0.0

    def __post_init__(self) -> None:
        names = [query.name for query in self.queries]
        twice = sorted(named_twice(names))
        if not 1 <= len(names) <= _MOST_QUERIES or twice:
            what = f"{listed(twice)} twice" if twice else f"{len(names):,} queries"
            raise RecveilError(
                f"ledger: it holds {what}; expected 1 to {_MOST_QUERIES} queries, each under a "
                f"name of its own, as each was asked once",
                code="argument.value",
            )
        is_number = type(self.threshold_delta) is float
        if not (is_number and 0 <= self.threshold_delta < 0.5):
            raise RecveilError(
                f"ledger: threshold_delta is {quoted(self.threshold_delta)}, but it is a "
                f"probability; give 0.0, or a number far below 0.5 such as 1e-7",
                code="argument.value",
            )

    @classmethod
    def from_json(cls, content: object) -> Self:
        """Read what `to_json` returned, or what stands so in release.json.

        Raises
        ------
        RecveilError
            If anything is missing, is there too much, or is of another kind: what does not stand
            in the exact form could carry anything.

        Examples
        --------
        >>> Ledger.from_json({"queries": [], "delta": 0})
        Traceback (most recent call last):
        ...
        recveil.RecveilError: ledger: it has 'queries', 'delta', expected 'queries', \
'threshold_delta'; fetch or write the release again
        """
        entry = _exactly(content, [field.name for field in fields(cls)], "ledger")
        if type(entry["queries"]) is not list:
            raise RecveilError(
                f"ledger: queries is {quoted(entry['queries'])}, expected a list of them; fetch or "
                f"write the release again",
                code="release.damaged",
            )
        names = [field.name for field in fields(Query)]
        queries = tuple(
            Query(**_exactly(query, names, f"ledger, query {place}"))
            for place, query in enumerate(entry["queries"], start=1)
        )
        return cls(queries, entry["threshold_delta"])

    def to_json(self) -> dict[str, Any]:
        """Return what stands in release.json.

        Examples
        --------
        >>> Ledger((Query("people", "how many there are", 1.0, 4.0, 1),)).to_json()
        {'queries': [{'name': 'people', 'what': 'how many there are', 'sensitivity': 1.0, \
'sigma': 4.0, 'values': 1}], 'threshold_delta': 0.0}
        """
        return {
            "queries": [asdict(query) for query in self.queries],
            "threshold_delta": self.threshold_delta,
        }

    @property
    def mu(self) -> float:
        """What all queries cost together, rounded up."""
        return total_mu(query.mu for query in self.queries)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon that these queries keep for a delta, rounded up.

        Parameters
        ----------
        delta : float
            The probability that is left over, between the threshold's part and 0.5.

        Raises
        ------
        RecveilError
            If nothing of it is left for the noise once the threshold has its part.
        """
        return epsilon_of(self.mu, delta_left(delta, self.threshold_delta))

    def _facts(self) -> dict[str, object]:
        return {"queries": len(self.queries), "mu": self.mu}


def total_mu(mus: Iterable[float]) -> float:
    """Return the price of one query that tells as much as several do together, rounded up.

    Examples
    --------
    >>> round(total_mu([3.0, 4.0]), 12)
    5.0
    """
    return math.hypot(*mus) * (1 + 1e-15)


def delta_left(delta: float, threshold_delta: float) -> float:
    """Return the part of delta that is left for the noise, rounded down.

    Raises
    ------
    RecveilError
        If delta is no small probability, or nothing is left.

    Examples
    --------
    >>> round(delta_left(1e-6, 4e-7), 12)
    6e-07
    """
    if not (isinstance(delta, float) and 0 < delta < 0.5):
        raise RecveilError(
            f"delta is {quoted(delta)}, but it is the probability with which nothing is promised; "
            f"give a number far below one over the number of people, such as 1e-6",
            code="option.value",
        )
    if not threshold_delta < delta:
        raise RecveilError(
            f"delta is {delta:g}, but choosing the items by their noisy counts takes "
            f"{threshold_delta:g} of it; give a larger delta, or name the catalogue",
            code="budget.too-small",
        )
    return math.nextafter(delta - threshold_delta, 0) if threshold_delta else delta


def cost_of_rerun(spent: Ledger, delta: float, whole: float, threshold_delta: float) -> str:
    """Describe what answered queries cost, and what they cost with those of another run.

    Parameters
    ----------
    spent : Ledger
        The queries that were answered before a run was refused.
    delta : float
    whole : float
        The mu of all queries of a run.
    threshold_delta : float
        The part of delta that choosing the items takes in a run.

    Examples
    --------
    >>> cost_of_rerun(Ledger((Query("people", "how many", 1.0, 2.0, 1),)), 1e-6, 0.5, 0.0)
    'this run spent epsilon 2.25, because its queries were answered; this run and the next one \
together spend epsilon 3.31'
    """
    one = spent.epsilon(delta)
    left = delta_left(delta, threshold_delta + spent.threshold_delta)
    both = epsilon_of(total_mu((whole, spent.mu)), left)
    return (
        f"this run spent epsilon {one:.3g}, because its queries were answered; this run and the "
        f"next one together spend epsilon {both:.3g}"
    )


def delta_of(mu: float, epsilon: float) -> float:
    """Return the delta that a query of some price keeps for an epsilon.

    By Balle & Wang (2018), Theorem 8, it is ``below(-t) - exp(epsilon) below(-t - mu)`` with
    ``t = epsilon / mu - mu / 2``, where ``below`` is the share of the normal distribution below a
    point. As ``exp(epsilon)`` is beyond all numbers where epsilon is large, it is written as the
    normal density at t times a difference of two ratios, each the upper tail over the density: no
    number in it is large.

    Parameters
    ----------
    mu : float
        Above 0.
    epsilon : float
        0 or more.

    Examples
    --------
    >>> f"{delta_of(1.0, 0.0):.6f}"
    '0.382925'
    >>> f"{delta_of(40.0, 1_000.0):.3e}"
    '2.536e-07'
    """
    t = epsilon / mu - mu / 2
    density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    if t <= 0:
        return share_below(-t) - density * tail_over_density(t + mu)
    return density * (tail_over_density(t) - tail_over_density(t + mu))


def epsilon_of(mu: float, delta: float) -> float:
    """Return the smallest epsilon that a query of some price keeps for a delta, rounded up.

    It is never below the true one, and above it by at most two parts in a thousand million.

    Parameters
    ----------
    mu : float
        Above 0.
    delta : float
        Between 0 and 0.5.

    Examples
    --------
    >>> round(epsilon_of(1.0, 1e-5), 3)
    4.377
    """
    low, high = 0.0, max(0.0, mu * mu / 2 - mu * point_at(delta)) * _ROUNDED_UP + _ABOVE
    if delta_of(mu, 0.0) * _ROUNDED_UP <= delta:
        return 0.0
    while (middle := (low + high) / 2) not in (low, high):  # delta falls as epsilon rises
        low, high = (low, middle) if delta_of(mu, middle) <= delta else (middle, high)
    return high * _ROUNDED_UP + _ABOVE


def _exactly(content: object, names: list[str], where: str) -> Mapping[str, Any]:
    """Return an object of JSON that has exactly these keys, in this order."""
    if type(content) is not dict or list(content) != names:
        came = listed(content) if type(content) is dict else quoted(content)
        raise RecveilError(
            f"{where}: it has {came}, expected {listed(names)}; fetch or write the release again",
            code="release.damaged",
        )
    return content


def _check_words(field: str, text: object, form: re.Pattern[str], expected: str) -> None:
    if not isinstance(text, str) or not form.fullmatch(text):
        raise RecveilError(
            f"query: {field} is {quoted(text)}, expected {expected}; say it so",
            code="argument.value",
        )


def _check_positive(query: str, field: str, number: object) -> None:
    if type(number) is not float or not 0 < number < math.inf:
        raise RecveilError(
            f"query {query!r}: {field} is {quoted(number)}, expected a float above 0 and finite; "
            f"without noise, or without a bound on what one person changes, nothing is promised",
            code="argument.value",
        )
