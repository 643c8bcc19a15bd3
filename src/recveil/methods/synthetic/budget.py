"""Privacy budget of a synthetic release, and the cost of runs that fail under noise.

Whether a run fails depends on noisy answers alone, so a failure discloses no more than these. But
their budget is spent: the next run queries the same users again.

*At most n runs, fixed in advance.* Let a be the privacy loss of the answers that decide whether a
run fails, and mu that of all answers of a run. Make the former queries n times, and the others
once, in the first run that does not fail. This costs ``sqrt(mu ** 2 + (n - 1) * a ** 2)``, and
everything the n runs disclose follows from it: their number, their answers before failure, and the
release. If partition selection uses a threshold, it costs its part of delta n times.

*As many runs as needed, if no failure is published.* Let the deciding answers have a guarantee of
(epsilon', delta'), and let a run pass with probability p, and q without one user, both far above
delta'. The release has the distribution of one run, given that it passes. By the guarantee of one
run, and as ``q <= exp(epsilon') * p + delta'``, for all sets S of releases::

    P(S) / p <= (exp(epsilon) * Q(S) + delta) / p
             <= exp(epsilon + epsilon') * Q(S) / q * q / (q - delta') + delta / p

So the guarantee is about epsilon + epsilon', with delta / p. Since epsilon' is at most epsilon,
that is at most twice epsilon, as for any private selection among runs (Liu & Talwar 2019).
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from recveil.methods.synthetic.gaussian_mechanism import Mechanism
from recveil.release.ledger import cost_of_rerun, delta_left, epsilon_of
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import brief

# A larger epsilon guarantees nothing, and a smaller one leaves only noise.
_LEAST_EPSILON, _MOST_EPSILON = 1e-4, 1_000.0
# Part of epsilon that is not spent, so that rounding never exceeds the budget.
_KEPT_BACK, _KEPT_BACK_AT_LEAST = 1e-9, 1e-11


@brief
@dataclass(frozen=True)
class Budget:
    """The privacy budget of all queries of a release."""

    epsilon: float
    delta: float
    threshold_delta: float
    mu: float

    @classmethod
    def of(cls, epsilon: float, delta: float, *, threshold_delta: float = 0.0) -> Self:
        """Return the largest budget that meets a guarantee.

        Examples
        --------
        >>> budget = Budget.of(1.0, 1e-6)
        >>> round(budget.mu, 4)
        0.2367
        """
        if type(epsilon) not in (float, int) or not _LEAST_EPSILON <= epsilon <= _MOST_EPSILON:
            raise RecveilError(
                f"epsilon is {quoted(epsilon)}, but a promise needs a number from "
                f"{_LEAST_EPSILON:g} to {_MOST_EPSILON:,g}; 1 is strong, and 10 weak",
                code="option.value",
            )
        left = delta_left(delta, threshold_delta)
        most = epsilon * (1 - _KEPT_BACK) - _KEPT_BACK_AT_LEAST
        low, high = 0.0, 1.0
        while epsilon_of(high, left) <= most:
            low, high = high, 2 * high
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (middle, high) if epsilon_of(middle, left) <= most else (low, middle)
        return cls(float(epsilon), delta, threshold_delta, low)

    def sigmas(self, shares: Mapping[str, float]) -> dict[str, float]:
        """Return the noise of each query, for a contribution bound of 1.

        Examples
        --------
        >>> sigmas = Budget.of(1.0, 1e-6).sigmas({"item sums": 1, "moments": 3})
        >>> {name: round(sigma, 2) for name, sigma in sigmas.items()}
        {'item sums': 8.45, 'moments': 4.88}
        """
        for name, share in shares.items():
            if type(share) not in (float, int) or not 0 < share < math.inf:
                raise RecveilError(
                    f"query {quoted(name)}: its share is {quoted(share)}, expected a positive "
                    f"number; leave the query out if it is not to be asked",
                    code="argument.value",
                )
        whole = math.fsum(shares.values())
        if not shares or not 0 < whole < math.inf:
            raise RecveilError(
                f"shares: {len(shares)} of them sum to {whole:g}, but a budget is split between "
                f"queries; give each a share such as 0.5",
                code="argument.value",
            )
        return {name: math.sqrt(whole / share) / self.mu for name, share in shares.items()}

    def _facts(self) -> dict[str, object]:
        return {"epsilon": self.epsilon, "delta": self.delta, "mu": self.mu}


def spent_so_far(mechanism: Mechanism, budget: Budget) -> str:
    """Describe what answered queries spent, alone and with another run; "" before the first."""
    if not mechanism.has_queried:
        return ""
    return cost_of_rerun(mechanism.ledger(), budget.delta, budget.mu, budget.threshold_delta)


@contextmanager
def failed_attempt_cost(mechanism: Mechanism, budget: Budget) -> Iterator[None]:
    """Add the budget spent so far to an error's message, also if noise follows from a seed."""
    try:
        yield
    except BaseException as error:
        cost = spent_so_far(mechanism, budget)
        if not (cost and isinstance(error, RecveilError)):
            raise
        raise RecveilError(f"{error}; {cost}", code=error.code) from None
