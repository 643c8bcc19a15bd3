"""The claim as release.json tells it: a name, or for differential privacy what it follows from."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from recveil.normal import point_at, share_below
from recveil.release.claim import Claim, claim_kind
from recveil.release.ledger import Ledger, delta_of, epsilon_of

UNIT = "person"
_LARGEST_EXPONENT = 700.0  # beyond it, no number of a computer is as large
# From here on, what delta leaves out is said aloud.
LOUD_DELTA = 1e-4
# From where epsilon promises little, and from where nothing that deserves the word.
_WEAK, _NO_PROMISE = 10.0, 20.0
_KEYS = ("kind", "epsilon", "delta", "unit", "ledger")


def kind_told(told: Any) -> Any:
    """Return the name of the kind of a claim, as release.json tells it.

    Examples
    --------
    >>> kind_told("co-rated"), kind_told({"kind": "differentially-private", "epsilon": 3.0})
    ('co-rated', 'differentially-private')
    """
    return told.get("kind") if isinstance(told, Mapping) else told


def claim_of_json(content: Mapping[str, Any]) -> Claim:
    """Read the claim out of the content of release.json.

    Raises
    ------
    RecveilError, KeyError, TypeError
        If a part is missing or makes no sense.
    """
    told, diversity = content["claim"], content["diversity"]
    shared = {"k": content["k"], "levels": content["levels"], **_sets(diversity)}
    if not isinstance(told, Mapping):
        return Claim(kind=told, **shared)
    ledger = Ledger.from_json(told["ledger"])
    epsilon, delta = told["epsilon"], told["delta"]
    if not (_is_between(epsilon, 0, math.inf) and _is_between(delta, 0, 1)):
        raise TypeError(epsilon, delta)
    return Claim(kind=told["kind"], epsilon=epsilon, delta=delta, ledger=ledger, **shared)


def claim_to_json(claim: Claim) -> str | dict[str, Any]:
    """Return what release.json tells as its claim."""
    if claim.ledger is None:
        return claim.kind
    return {
        "kind": claim.kind,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "unit": UNIT,
        "ledger": claim.ledger.to_json(),
    }


def bounds_of(claim: Claim) -> dict[str, float]:
    """Return what a differentially private claim bounds, in figures that people can weigh.

    Parameters
    ----------
    claim : Claim

    Returns
    -------
    dict of str to float
        ``odds_factor``: by how much the odds change at most that somebody is in the data, but for a
        probability of ``odds_exceeded``. ``epsilon_of_two`` and ``delta_of_two``: what is promised
        to two people together.
        ``most_auc``: the largest area under the curve of a test whether a given user was in the
        data. ``most_recognized``: the largest probability with which such a test detects the user,
        at a false-alarm rate of 5 %. ``most_accuracy_of_two``: the largest probability of naming
        which of two given users was in the data. Empty for other claims.

    Notes
    -----
    Source: Dong, Roth & Su 2019: answers about neighbouring tables, of which one has one user more,
    are as hard to distinguish as two Gaussians at a distance of mu. The tables of two users, of
    which either one or the other is in the data, differ by two such steps: a distance of 2 mu, at
    which the best test is right with a probability of Phi(mu). What a threshold on names adds
    happens with a probability of at most its part of delta.

    Examples
    --------
    >>> from recveil.release.ledger import Query
    >>> ledger = Ledger((Query("sums", "of items", 1.0, 1.0, 9),))
    >>> told = bounds_of(Claim("differentially-private", 1, False, 1, 1, 5.0, 1e-6, ledger))
    >>> {name: round(value, 2) for name, value in told.items()}
    {'odds_factor': 148.41, 'odds_exceeded': 0.0, 'epsilon_of_two': 11.0, 'delta_of_two': 0.0, \
'most_auc': 0.76, 'most_recognized': 0.26, 'most_accuracy_of_two': 0.84}
    """
    if claim.ledger is None or claim.epsilon is None:
        return {}
    mu, more = claim.ledger.mu, claim.ledger.threshold_delta
    delta = claim.delta or 0.0
    # Of two people the names of items are counted as for any two; the noise alone is known exactly.
    exactly = more == 0
    return {
        "odds_factor": math.exp(min(claim.epsilon, _LARGEST_EXPONENT)),
        "odds_exceeded": _odds_exceeded(mu, more, claim.epsilon),
        "epsilon_of_two": epsilon_of(2 * mu, delta) if exactly else 2 * claim.epsilon,
        "delta_of_two": delta
        if exactly
        else min(1.0, delta * (1 + math.exp(min(claim.epsilon, _LARGEST_EXPONENT)))),
        "most_auc": min(1.0, share_below(mu / math.sqrt(2)) + more),
        "most_recognized": min(1.0, share_below(point_at(0.05) + mu) + more),
        "most_accuracy_of_two": min(1.0, share_below(mu) + more),
    }


def _odds_exceeded(mu: float, threshold_delta: float, epsilon: float) -> float:
    """Return how likely it is, at most, that odds rise by more than ``exp(epsilon)``.

    More likely than delta: for each smaller epsilon' with its delta', what raises them so has a
    probability p with p <= exp(epsilon') q + delta' and q <= exp(-epsilon) p, where q is its
    probability without the person; so p <= delta' / (1 - exp(epsilon' - epsilon)).
    """
    smaller = epsilon * np.linspace(0, 1, 200, endpoint=False)
    bounds = [
        (delta_of(mu, less) + threshold_delta) / -math.expm1(less - epsilon) for less in smaller
    ]
    return min(1.0, *bounds)


def of_large_delta(delta: float) -> str:
    """Say what a delta means that is larger than any should be.

    Examples
    --------
    >>> of_large_delta(0.002)[:71]
    'delta is 0.002: in one of 500 releases, nothing at all may be promised '
    """
    return (
        f"delta is {delta:g}: in one of {1 / delta:,.0f} releases, nothing at all may be promised "
        f"to anybody. A delta far below one over the number of people, such as 1e-6, promises what "
        f"its epsilon says."
    )


def of_large_epsilon(epsilon: float) -> str:
    """Say what an epsilon promises that is larger than any should be; "" of others.

    Examples
    --------
    >>> of_large_epsilon(3.0)
    ''
    >>> of_large_epsilon(10.0)[:37]
    'An epsilon of 10 is a weak promise: 1'
    >>> of_large_epsilon(20.0)[:66]
    'An epsilon of 20 promises nothing that deserves the word: 1 is str'
    """
    if epsilon < _WEAK:
        return ""
    what = "is a weak promise"
    if epsilon >= _NO_PROMISE:
        what = "promises nothing that deserves the word"
    return (
        f"An epsilon of {epsilon:.4g} {what}: 1 is strong, and 10 weak. Only what is measured of "
        f"attacks can speak for it, and that is what somebody tried."
    )


def problems_of_claim(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Say in what the claim is not as recveil writes it; it can be read."""
    told, kind = manifest["claim"], claim_kind(kind_told(manifest["claim"]))
    if isinstance(told, Mapping):
        if tuple(told) != _KEYS:
            yield f"claim: expected the keys {', '.join(_KEYS)}, in this order and no others"
        if told.get("unit") != UNIT:
            yield f"claim: the unit is not {UNIT!r}"
    if kind.is_differential and manifest["k"] != 1:
        yield "k is not 1, though nothing is shared by people"
    if not kind.holds_people:
        if manifest["levels"]:
            yield "levels are no part of a release in which no record is anybody's"
        if manifest["diversity"] != {"b": 1, "l": 1}:
            yield "diversity is no part of a release in which no record is anybody's"


def _sets(diversity: Mapping[str, Any]) -> dict[str, Any]:
    return {"b": diversity["b"], "l": diversity["l"]}


def _is_between(number: Any, low: float, high: float) -> bool:
    return type(number) is float and low < number < high
