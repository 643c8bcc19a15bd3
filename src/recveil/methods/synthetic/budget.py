"""Refused try: what it costs that the noise hid nearly everything, and nothing was written.

That a try is refused follows from noisy answers alone, so that it tells no more than these, which
were paid. But they were paid: whoever tries again asks the same people again.

*Tries, at most n of them as was settled beforehand.* Let a be the price of the answers that decide
whether a try is refused, and mu that of all answers of one. Ask for the former n times, and for the
others once, of the first try that is not refused. That costs ``sqrt(mu ** 2 + (n - 1) * a ** 2)``,
and whatever n tries tell follows from it: their number, what each was told before it was refused,
and the release. Where items are named by a threshold, it takes its part of delta n times.

*As many as it takes, when nobody hears of the others.* Let the answers that decide keep (epsilon',
delta') of their own, and let a try pass with probability p, and q without one person, both far
above delta'. What is published has the distribution of one try, given that it passes. By what one
try keeps, and as ``q <= exp(epsilon') * p + delta'``, for all sets S of releases::

    P(S) / p <= (exp(epsilon) * Q(S) + delta) / p
             <= exp(epsilon + epsilon') * Q(S) / q * q / (q - delta') + delta / p

So it keeps about epsilon + epsilon', with delta / p. Since epsilon' is at most epsilon, that is no
more than twice epsilon, as of any private choice among tries (Liu & Talwar 2019).
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from recveil.methods.synthetic.mechanism import Mechanism
from recveil.release.ledger import cost_of_rerun, delta_left, epsilon_of
from recveil.runtime.errors import RecveilError, quoted
from recveil.runtime.safe_repr import brief

# Beyond that a promise promises nothing, and below it noise is all there is.
_LEAST_EPSILON, _MOST_EPSILON = 1e-4, 1_000.0
# So much of epsilon is not spent, that no rounding of noises and prices ever exceeds it.
_KEPT_BACK, _KEPT_BACK_AT_LEAST = 1e-9, 1e-11


@brief
@dataclass(frozen=True)
class Budget:
    """What all queries of a release may cost together.

    Parameters
    ----------
    epsilon, delta : float
        What is to be promised.
    threshold_delta : float
        The part of delta that choosing the items by noisy counts takes.
    mu : float
        What that leaves to be spent on noisy sums: their prices, as squares, add up to its square.
    """

    epsilon: float
    delta: float
    threshold_delta: float
    mu: float

    @classmethod
    def of(cls, epsilon: float, delta: float, *, threshold_delta: float = 0.0) -> Self:
        """Return the largest budget that keeps a promise.

        Parameters
        ----------
        epsilon : float
            From 0.0001 to 1,000.
        delta : float
            Between `threshold_delta` and 0.5.
        threshold_delta : float
            Of delta, what the items' threshold takes; 0 where the catalogue is public.

        Raises
        ------
        RecveilError
            If these are no such numbers.

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
        """Return the noise of each query for one that a person changes by a length of 1 at most.

        Parameters
        ----------
        shares : mapping of str to float
            For each query its share of the squared price. They are taken relative to their sum, so
            that all is spent.

        Returns
        -------
        dict of str to float
            Standard deviations, such that a ledger of these queries never tells a larger epsilon
            than the promised one.

        Raises
        ------
        RecveilError
            If there is none, or a share is no positive number.

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


@contextmanager
def failed_attempt_cost(mechanism: Mechanism, budget: Budget) -> Iterator[None]:
    """Let an error say what was spent before it came, if anything was.

    Parameters
    ----------
    mechanism : Mechanism
        Which is asked in the block.
    budget : Budget
        What a whole try costs.

    Raises
    ------
    RecveilError
        What the block raises. If queries were answered before, it names their epsilon, and the
        epsilon of these and another run together.

    Examples
    --------
    >>> import numpy as np
    >>> from recveil.methods.synthetic.gaussian_noise import NoiseSource
    >>> budget = Budget.of(3.0, 1e-6)
    >>> mechanism = Mechanism(NoiseSource.repeatable(7), {"people by activity": 15.0})
    >>> with failed_attempt_cost(mechanism, budget):
    ...     _ = mechanism.measure("people by activity", "how many", np.array([3]), 1.0)
    ...     raise RecveilError("noise hides them; give a larger epsilon")
    Traceback (most recent call last):
    ...
    recveil.RecveilError: noise hides them; give a larger epsilon; this run spent \
epsilon 0.257, because its queries were answered; this run and the next one together spend epsilon \
3.02
    """
    try:
        yield
    except RecveilError as error:
        if not mechanism.has_queried:
            raise
        cost = cost_of_rerun(mechanism.ledger(), budget.delta, budget.mu, budget.threshold_delta)
        raise RecveilError(f"{error}; {cost}", code=error.code) from None
