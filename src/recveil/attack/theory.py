"""Theory: how many attributes of a person are enough, whatever the database."""

import math

from recveil.errors import RecveilError


def items_needed(n_records: int, epsilon: float, delta: float) -> int:
    """Return how many known attributes m leave no false match, with probability 1 - epsilon.

    A false match is a record that agrees with less than a share 1 - delta of the target's
    attributes. It agrees with m random ones of them with probability below (1 - delta)^m, so

        ``m >= (log N - log epsilon) / -log(1 - delta)``

    makes the expected number of false matches in the lineup of `Scoreboard` at most epsilon.

    Parameters
    ----------
    n_records : int
        N, the number of records.
    epsilon : float
        The chance of failure, and how far (1 - similarity) a known attribute may be off.
    delta : float
        The share of a target's attributes in which a record has to disagree to count as false.

    Returns
    -------
    int
        m, rounded up: entries known correctly (within the errors), drawn at random from those of
        the target. The target needs to have so many.

    Raises
    ------
    RecveilError
        If `n_records` is below 1, or `epsilon` or `delta` are not between 0 and 1.

    Notes
    -----
    Source: Narayanan & Shmatikov, section 4. What it guarantees:

    - Theorem 1, for any database: it can be (1 - epsilon - delta, 1 - epsilon)-deanonymized. With
      probability 1 - epsilon, every record of the lineup is at least 1 - epsilon - delta similar
      to the target's. There may be many; they tell the same.
    - Theorem 2, only if the database is (1 - epsilon - delta, epsilon)-sparse (at most a share
      epsilon of its records have another one more similar than 1 - epsilon - delta): it can be
      (1, 1 - epsilon)-deanonymized; the lineup is the target's record alone. The proof uses
      epsilon twice, for targets with a similar neighbour and for false matches, so that what it
      shows is 1 - 2 epsilon.

    Both rest on Lemma 1, whose proof counts agreement as a share of the *target's* attributes.
    The similarity of Definition 1 divides by the union of both supports instead. A record that
    holds all of the target's attributes and many more is dissimilar by that measure, and still
    matches for every m: sparsity as `nearest_similarity` measures it does not rule it out.

    Examples
    --------
    >>> items_needed(480_189, epsilon=0.05, delta=0.5)
    24
    >>> items_needed(480_189, epsilon=0.05, delta=0.85)
    9
    """
    if not n_records >= 1:
        raise RecveilError(
            f"n_records is {n_records}; expected at least 1 record", code="argument.value"
        )
    _check_share("epsilon", epsilon)
    return _round_up((math.log(n_records) - math.log(epsilon)) / _information(delta))


def items_needed_for_lineup(n_records: int, delta: float, k: int) -> int:
    """Return how many known attributes m leave a lineup of k records, in expectation.

        ``m = log(N / (k - 1)) / log(1 / (1 - delta))``

    makes the expected number of false matches at most k - 1. It does not depend on epsilon.

    Parameters
    ----------
    n_records : int
        N, the number of records.
    delta : float
        The share of a target's attributes in which a record has to disagree to count as false.
    k : int
        Size of the lineup, the target included; at least 2.

    Returns
    -------
    int
        m, rounded up; 0 if all records together are no more than k - 1.

    Raises
    ------
    RecveilError
        If `n_records` is below 1, `delta` is not between 0 and 1, or `k` is below 2.

    Notes
    -----
    Source: Narayanan & Shmatikov, Theorem 3. Only if the database is
    (1 - epsilon - delta, epsilon)-sparse, it can be (1, 1/k)-deanonymized (a random pick from the
    lineup is the target with probability at least 1/k) and (1, log2 k)-deanonymized entropically
    (the expected entropy of the lineup is at most log2 k bits). Both are means over targets
    without a neighbour more similar than 1 - epsilon - delta; sparsity lets a share epsilon of
    targets have one. The limits of `items_needed` hold here, too.

    Examples
    --------
    >>> items_needed_for_lineup(480_189, delta=0.5, k=10)
    16
    """
    if not n_records >= 1:
        raise RecveilError(
            f"n_records is {n_records}; expected at least 1 record", code="argument.value"
        )
    if not k >= 2:
        raise RecveilError(
            f"k is {k}; expected at least 2; for a lineup of 1 use items_needed",
            code="argument.value",
        )
    return max(0, _round_up(math.log(n_records / (k - 1)) / _information(delta)))


def _information(delta: float) -> float:
    """Return what one known attribute tells, in nats: log(1 / (1 - delta))."""
    _check_share("delta", delta)
    return -math.log1p(-delta)


def _check_share(name: str, share: float) -> None:
    if not 0 < share < 1:
        raise RecveilError(
            f"{name} is {share}; expected a number between 0 and 1, ends excluded",
            code="argument.value",
        )


def _round_up(number: float) -> int:
    """Round up to whole items; the rounding error of a whole number costs no further item."""
    return math.ceil(number - 1e-9)
