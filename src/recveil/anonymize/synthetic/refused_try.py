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

from collections.abc import Iterator
from contextlib import contextmanager

from recveil.anonymize.synthetic.budget import Budget
from recveil.anonymize.synthetic.mechanism import Mechanism
from recveil.errors import RecveilError
from recveil.release.ledger import cost_of_rerun


@contextmanager
def refused_try(mechanism: Mechanism, budget: Budget) -> Iterator[None]:
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
    >>> from recveil.anonymize.synthetic.gaussian import NoiseSource
    >>> budget = Budget.of(3.0, 1e-6)
    >>> mechanism = Mechanism(NoiseSource.repeatable(7), {"people by activity": 15.0})
    >>> with refused_try(mechanism, budget):
    ...     _ = mechanism.measure("people by activity", "how many", np.array([3]), 1.0)
    ...     raise RecveilError("noise hides them; give a larger epsilon")
    Traceback (most recent call last):
    ...
    recveil.errors.RecveilError: noise hides them; give a larger epsilon; this run spent \
epsilon 0.257, because its queries were answered; this run and the next one together spend epsilon \
3.02
    """
    try:
        yield
    except RecveilError as error:
        if not mechanism.has_asked:
            raise
        cost = cost_of_rerun(mechanism.ledger(), budget.delta, budget.mu, budget.threshold_delta)
        raise RecveilError(f"{error}; {cost}", code=error.code) from None
