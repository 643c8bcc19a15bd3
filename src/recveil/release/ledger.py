"""Ledger of the queries of a differentially private release, and their privacy loss.

Each query is a sum over users of one vector each, answered once with Gaussian noise. Its
*sensitivity* is the largest change of the sum, in Euclidean length, when a user with all their
ratings is added or removed. The privacy loss `mu` of a query is sensitivity over noise.

Several queries, also adaptive ones, are together equivalent to a single query of privacy loss
``sqrt(sum of mu ** 2)`` (Dong, Roth & Su 2022, Corollary 3.3), whose guarantee is known exactly
(Balle & Wang 2018, Theorem 8). So the composition is tight.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from statistics import NormalDist
from typing import Any, Self

from recveil.runtime.errors import RecveilError, listed, named_twice, quoted
from recveil.runtime.safe_repr import brief

_STANDARD = NormalDist()
# From here on the series is exact to machine precision, while the function itself nears its
# minimum.
_FAR = 10.0
_TERMS = 15


def share_below(x: float) -> float:
    """Return the cumulative distribution function of the normal distribution at x."""
    return math.erfc(-x / math.sqrt(2)) / 2


def point_at(share: float) -> float:
    """Return the quantile of the normal distribution for a share."""
    return _STANDARD.inv_cdf(share)


def tail_over_density(x: float) -> float:
    """Return the upper tail at x divided by the density at x, which does not underflow."""
    scaled = x / math.sqrt(2)
    if scaled < _FAR:
        # The square is split in two parts, the first exact, since rounding it would cost digits.
        coarse = math.floor(scaled * 1024) / 1024
        rest = (scaled - coarse) * (scaled + coarse)
        whole = math.exp(coarse * coarse) * math.exp(rest) * math.erfc(scaled)
        return math.sqrt(math.pi / 2) * whole
    # Abramowitz & Stegun (1964), 7.1.23; the terms decrease until long after they are negligible.
    term = total = 1.0
    for n in range(1, _TERMS):
        term *= -(2 * n - 1) / (2 * scaled * scaled)
        total += term
    return total / x


_NAME = re.compile(r"[a-z][a-z -]{0,39}")
_WHAT = re.compile(r"[ -~]{1,200}")
# A ledger with more queries or values is invalid and could hide data.
_MOST_QUERIES, _MOST_VALUES = 100, 10**15
# Delta from which nothing is guaranteed.
_NO_DELTA = 0.5
# The formulas are correct to twelve digits; rounding up by more than that is safe.
_ROUNDED_UP, _ABOVE = 1 + 1e-9, 1e-12


@brief
@dataclass(frozen=True)
class Query:
    """A query to all users, answered once with Gaussian noise."""

    name: str
    what: str
    sensitivity: float
    sigma: float
    values: int

    def __post_init__(self) -> None:
        _check_labels("name", self.name, _NAME, "lower-case letters, spaces and hyphens")
        _check_labels("what", self.what, _WHAT, "at most 200 printable ASCII characters")
        _check_positive(self.name, "sensitivity", self.sensitivity)
        _check_positive(self.name, "sigma", self.sigma)
        if type(self.values) is not int or not 1 <= self.values <= _MOST_VALUES:
            raise RecveilError(
                f"query {self.name!r}: values is {quoted(self.values)}, but it counts the noisy "
                f"values that were published; give a whole number of at least 1",
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
        """The privacy loss of the query: sensitivity over noise."""
        return self.sensitivity / self.sigma

    def _facts(self) -> dict[str, object]:
        return {"": self.name, "mu": self.mu}


@brief
@dataclass(frozen=True)
class Ledger:
    """All queries of a release and their joint guarantee."""

    queries: tuple[Query, ...]
    threshold_delta: float = 0.0
    # The SHA-256 of the release.json of each earlier release of the plan whose noisy sums are
    # reused; each has spent as much
    earlier: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all(map(is_sha256, self.earlier)) or named_twice(self.earlier):
            raise RecveilError(
                f"ledger: earlier is {quoted(self.earlier)}; expected the SHA-256 of each earlier "
                f"release, once",
                code="argument.value",
            )
        names = [query.name for query in self.queries]
        twice = sorted(named_twice(names))
        if not 1 <= len(names) <= _MOST_QUERIES or twice:
            what = f"{listed(twice)} twice" if twice else f"{len(names):,} queries"
            raise RecveilError(
                f"ledger: it holds {what}; expected 1 to {_MOST_QUERIES} queries, each with "
                f"its own name",
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
        """Read the ledger from release.json or from the result of `to_json`."""
        is_first = not isinstance(content, dict) or "earlier" not in content
        entry = _exactly(content, [field.name for field in fields(cls)][: 3 - is_first], "ledger")
        earlier = [] if is_first else entry["earlier"]
        if type(earlier) is not list or (not earlier and not is_first):
            raise RecveilError(
                f"ledger: earlier is {quoted(earlier)}, expected a list of releases; fetch the "
                f"release again",
                code="release.damaged",
            )
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
        return cls(queries, entry["threshold_delta"], tuple(earlier))

    def to_json(self) -> dict[str, object]:
        """Return the ledger as plain data for release.json."""
        return {
            "queries": [asdict(query) for query in self.queries],
            "threshold_delta": self.threshold_delta,
            **({"earlier": list(self.earlier)} if self.earlier else {}),
        }

    @property
    def of_itself(self) -> Self:
        """The ledger of the queries of this release alone."""
        return replace(self, earlier=())

    @property
    def mu(self) -> float:
        """The privacy loss of all queries together, those of earlier releases too, rounded up."""
        each = total_mu(query.mu for query in self.queries)
        return total_mu([each] * (1 + len(self.earlier))) if self.earlier else each

    def epsilon(self, delta: float) -> float:
        """Return the epsilon of all queries at a delta, rounded up."""
        return epsilon_of(self.mu, delta_left(delta, self.threshold_delta))

    def _facts(self) -> dict[str, object]:
        return {"queries": len(self.queries), "mu": self.mu}


def is_sha256(text: object) -> bool:
    """Return whether this is a SHA-256 in hexadecimal digits."""
    return isinstance(text, str) and re.fullmatch("[0-9a-f]{64}", text) is not None


def total_mu(mus: Iterable[float]) -> float:
    """Return the joint privacy loss of several queries, rounded up."""
    return math.hypot(*mus) * (1 + 1e-15)


def delta_left(delta: float, threshold_delta: float) -> float:
    """Return the part of delta for the noise, rounded down."""
    if not (isinstance(delta, float) and 0 < delta < 0.5):
        raise RecveilError(
            f"delta is {quoted(delta)}, but it is the probability without a guarantee; "
            f"give a number far below one over the number of users, such as 1e-6",
            code="option.value",
        )
    if not threshold_delta < delta:
        raise RecveilError(
            f"delta is {delta:g}, but choosing the items by their noisy counts takes "
            f"{threshold_delta:g} of it; give a larger delta, or name the catalogue",
            code="budget.too-small",
        )
    return math.nextafter(delta - threshold_delta, 0) if threshold_delta else delta


def compose_losses(
    mus: Iterable[float], thresholds: Iterable[float], delta: float
) -> tuple[float, float]:
    """Return epsilon and delta of all queries of several releases.

    The probabilities that thresholds fail add up: delta is doubled until it exceeds their sum.
    Epsilon is infinite if no guarantee remains.

    >>> epsilon, delta = compose_losses([0.3, 0.4], [6e-7, 6e-7], 1e-6)
    >>> round(epsilon, 2), delta
    (2.28, 2e-06)
    """
    threshold = math.fsum(thresholds)
    while threshold >= delta:
        delta *= 2
    if delta >= _NO_DELTA:
        return math.inf, delta
    mu = total_mu(mus)
    return (epsilon_of(mu, delta_left(delta, threshold)) if mu else 0.0), delta


def cost_of_rerun(spent: Ledger, delta: float, whole: float, threshold_delta: float) -> str:
    """Describe the privacy loss of answered queries, alone and with those of another run.

    >>> cost_of_rerun(Ledger((Query("users", "how many", 1.0, 2.0, 1),)), 1e-6, 0.5, 0.0)
    'this run spent epsilon 2.25, as its queries were answered; a rerun raises that to \
    at least epsilon 3.31'
    """
    one = spent.epsilon(delta)
    left = delta_left(delta, threshold_delta + spent.threshold_delta)
    both = epsilon_of(total_mu((whole, spent.mu)), left)
    return (
        f"this run spent epsilon {one:.3g}, as its queries were answered; a rerun raises that "
        f"to at least epsilon {both:.3g}"
    )


def delta_of(mu: float, epsilon: float) -> float:
    """Return the delta at an epsilon of a query with privacy loss `mu`.

    By Balle & Wang (2018), Theorem 8, it is ``below(-t) - exp(epsilon) below(-t - mu)``, t being
    ``epsilon / mu - mu / 2``. As ``exp(epsilon)`` overflows, it is computed as the normal density
    at t times a difference of two ratios, each the upper tail over the density.
    """
    t = epsilon / mu - mu / 2
    density = math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    if t <= 0:
        return share_below(-t) - density * tail_over_density(t + mu)
    return density * (tail_over_density(t) - tail_over_density(t + mu))


def epsilon_of(mu: float, delta: float) -> float:
    """Return a query's smallest epsilon at a delta, rounded up by a share of at most 2e-9."""
    low, high = 0.0, max(0.0, mu * mu / 2 - mu * point_at(delta)) * _ROUNDED_UP + _ABOVE
    if delta_of(mu, 0.0) * _ROUNDED_UP <= delta:
        return 0.0
    while (middle := (low + high) / 2) not in (low, high):  # delta decreases with epsilon
        low, high = (low, middle) if delta_of(mu, middle) <= delta else (middle, high)
    return high * _ROUNDED_UP + _ABOVE


def _exactly(content: object, names: list[str], where: str) -> Mapping[str, Any]:
    """Return a JSON object that has exactly these keys, in this order."""
    if type(content) is not dict or list(content) != names:
        came = listed(content) if type(content) is dict else quoted(content)
        raise RecveilError(
            f"{where}: it has {came}, expected {listed(names)}; fetch or write the release again",
            code="release.damaged",
        )
    return content


def _check_labels(field: str, text: object, form: re.Pattern[str], expected: str) -> None:
    if not isinstance(text, str) or not form.fullmatch(text):
        raise RecveilError(
            f"query: {field} is {quoted(text)}, expected {expected}",
            code="argument.value",
        )


def _check_positive(query: str, field: str, number: object) -> None:
    if type(number) is not float or not 0 < number < math.inf:
        raise RecveilError(
            f"query {query!r}: {field} is {quoted(number)}, expected a float above 0 and finite; "
            f"without noise, or without a bound on one user's contribution, there is no guarantee",
            code="argument.value",
        )
