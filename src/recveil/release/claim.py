"""Claims of a release as release.json states them."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from recveil.release.ledger import Ledger, delta_of, epsilon_of, point_at, share_below
from recveil.runtime.errors import RecveilError
from recveil.runtime.safe_repr import brief


@brief
@dataclass(frozen=True)
class ClaimKind:
    """A kind of claim: what is shared by how many users, its consequences, and its wording."""

    name: str
    promise: str
    label: str
    meaning: str
    shared: str
    shared_parts: str = "nothing"
    class_of: str = "records"
    compared: tuple[str, ...] = ("item", "rating")
    shared_short: tuple[str, str] = ("row", "rows")
    digests: Callable[[Any, Any], list[bytes]] = lambda records, keys: records.digests(keys)
    is_bound: bool = False
    one_person_each: bool = False
    holds_fills: bool = False
    left_open: str = ""
    unpromised: str = ""
    caution: str = ""
    card: str = ""
    card_of_risks: str = ""
    contains_users: bool = True
    is_differential: bool = False
    is_published: bool = True

    def bound(self, k: int) -> float | None:
        """Return the highest re-identification probability of any user; None if none is proven.

        Examples
        --------
        >>> claim_kind("identical-rows").bound(5), claim_kind("co-rated").bound(5)
        (0.2, None)
        """
        return 1 / k if self.is_bound else None

    @property
    def is_of_items(self) -> bool:
        """Whether only the items are shared, whatever the ratings."""
        return self.compared == ("item",)

    def columns(self, *, likes: bool) -> tuple[str, ...]:
        """Return the columns in which records must agree; likes have no rating."""
        return tuple(each for each in self.compared if each != "rating" or not likes)

    def on_page(self) -> str:
        """Return the text of a page on a claim without a bound."""
        return self.left_open or f"At least k users share each {self.shared}; {self.unpromised}."

    def _facts(self) -> dict[str, object]:
        return {"": self.name}


@cache
def card_text(name: str) -> str:
    """Return a template from the package folder `cards`."""
    file = files("recveil.release").joinpath("cards", f"{name}.md.jinja")
    return file.read_text(encoding="utf-8")


_KINDS: dict[str, ClaimKind] = {
    kind.name: kind
    for kind in (
        ClaimKind(
            name="identical-rows",
            promise="k-anonymity",
            label="k-anonymity",
            meaning="proven and verified: at least k users share each published row, so the "
            "release alone re-identifies no user with a probability above 1/k",
            shared="row",
            shared_parts="values",
            class_of="identical records",
            is_bound=True,
            card=card_text("identical_rows"),
            card_of_risks=card_text("identical_rows_risks"),
        ),
        ClaimKind(
            name="co-rated",
            promise="co-rated",
            label="co-rated: hides users only from adversaries who know neither ratings nor fills",
            meaning="proven and verified: at least k users share each set of rated items; the rows "
            "contain the real ratings, so they hide no user from an adversary who knows some",
            shared="set of rated items",
            shared_short=("set", "sets of items"),
            shared_parts="items",
            class_of="records with the same items",
            compared=("item",),
            digests=lambda records, keys: records.digests(keys, items_only=True),
            one_person_each=True,
            holds_fills=True,
            left_open="This concerns the items of a row, and holds only while imputed values "
            "cannot be distinguished from real ratings; it does not protect against adversaries "
            "who know some ratings.",
            unpromised="there is no guarantee against adversaries who know ratings",
            caution="The ratings are not compared: an adversary who knows some ratings of a user "
            "may re-identify the user. recveil audit --release measures how often.",
            card=card_text("co_rated"),
            card_of_risks=card_text("co_rated_risks"),
        ),
        ClaimKind(
            name="differentially-private",
            promise="differential privacy",
            label="differential privacy: synthetic rows, with a bounded effect of each user",
            meaning="no user's row is published: synthetic users are sampled from noisy sums, so "
            "one user changes the probability of any release by a stated factor at most; that the "
            "noise was added is stated by the publisher",
            shared="nothing: no row belongs to a user",
            class_of="synthetic records",
            compared=(),
            left_open="No row belongs to a user. The guarantee concerns membership in the data: "
            "epsilon bounds how well any adversary infers it.",
            unpromised="no record belongs to a user, so no record re-identifies one; the guarantee "
            "concerns membership in the data",
            caution="That the noise was added as the ledger states cannot be verified from files: "
            "the publisher states it.",
            card=card_text("differentially_private"),
            card_of_risks=card_text("differentially_private_risks"),
            contains_users=False,
            is_differential=True,
        ),
        ClaimKind(
            name="aggregates",
            promise="aggregates",
            label="aggregates: synthetic rows, without a guarantee for membership",
            meaning="no user's row is published: synthetic users are sampled from exact sums over "
            "at least k users, which does not protect membership; attacks infer it",
            shared="nothing: no row belongs to a user",
            class_of="synthetic records",
            compared=(),
            left_open="No row belongs to a user, but membership in the data is not protected: "
            "exact sums reveal it.",
            unpromised="no record belongs to a user, so no record re-identifies one; membership "
            "in the data is not protected, and exact sums reveal it",
            caution="Exact sums reveal who is in the data; recveil audit --release measures how "
            "well.",
            card=card_text("aggregates"),
            card_of_risks=card_text("aggregates_risks"),
            contains_users=False,
        ),
        ClaimKind(
            name="nothing",
            promise="nothing",
            label="promises nothing",
            meaning="promises nothing: there to be compared with, not to be published",
            shared="nothing",
            unpromised="nothing is promised",
            is_published=False,
        ),
        ClaimKind(
            name="unknown",
            promise="unknown",
            label="unknown",
            meaning="a table of values without a stated claim",
            shared="nothing that is known",
            shared_parts="values",
            unpromised="what is promised is not known",
            is_published=False,
        ),
    )
}


def claim_kind(name: object) -> ClaimKind:
    """Return a kind of claim by its name."""
    if not isinstance(name, str) or name not in _KINDS:
        raise RecveilError(
            f"claim {name!r:.60}: unknown to this recveil; expected one of {', '.join(_KINDS)}",
            code="claim.unknown",
        )
    return _KINDS[name]


def all_claims() -> tuple[ClaimKind, ...]:
    """Return all registered kinds of claims."""
    return tuple(_KINDS.values())


def published_claims() -> tuple[str, ...]:
    """Return the names of the claims that a release can make.

    >>> published_claims()
    ('identical-rows', 'co-rated', 'differentially-private', 'aggregates')
    """
    return tuple(name for name, kind in _KINDS.items() if kind.is_published)


def is_promise(promise: str) -> bool:
    """Return whether this is the `promise` of a claim that a release can make.

    >>> is_promise("k-anonymity"), is_promise("nothing")
    (True, False)
    """
    return any(kind.promise == promise and kind.is_published for kind in _KINDS.values())


def register_claim(kind: ClaimKind) -> None:
    """Register a kind of claim for making, checking and attacking releases."""
    for other in _KINDS.values():
        if kind.name == other.name or kind.promise == other.promise:
            raise RecveilError(
                f"claim {kind.name!r} ({kind.promise!r}): there is one of that name, or that is "
                f"called so; choose another",
                code="argument.value",
            )
    _KINDS[kind.name] = kind


def forget_claim(name: str) -> None:
    """Undo `register_claim`."""
    del _KINDS[claim_kind(name).name]


@dataclass(frozen=True, repr=False)
class Claim:
    """What a release promises about its published rows, or about the users it was learned from.

    Parameters
    ----------
    kind : str
        "identical-rows": at least `k` users share each record, with all items and ratings.
        "co-rated": at least `k` users have the same items in their records, whatever the ratings.
        "differentially-private": no record belongs to a user, and `epsilon` and `delta` bound the
        effect of each user. "aggregates": no record belongs to a user, and the sums behind the
        records are over at least `k` users. "nothing": a baseline; `k` is 1, and it is never
        written. Or another registered kind.
    k : int
        The lowest privacy level if users have their own; 1 if nothing is shared.
    levels : bool
        Whether each record states its minimum number of users: their highest level.
    b, l : int
        Each set of b items of a record occurs in at least l different records; 1 and 1 require
        nothing.
    epsilon, delta : float or None
        Differential privacy of one user with all their ratings; None for other kinds.
    ledger : Ledger or None
        All queries that were answered with noise, from which epsilon and delta follow.

    Raises
    ------
    RecveilError
        If there is no such kind, or unless epsilon, delta and ledger are given exactly for the
        kind that needs them.
    """

    kind: str
    k: int
    levels: bool = False
    b: int = 1
    l: int = 1  # noqa: E741
    epsilon: float | None = None
    delta: float | None = None
    ledger: Ledger | None = None

    def __post_init__(self) -> None:
        has_part = [part is not None for part in (self.epsilon, self.delta, self.ledger)]
        if has_part != [claim_kind(self.kind).is_differential] * 3:
            raise RecveilError(
                f"claim {self.kind!r}: epsilon, delta and a ledger belong to a differentially "
                f"private release, all three; give all to that kind, and none to others",
                code="argument.value",
            )

    def __repr__(self) -> str:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        stated = (f"{name}={value!r}" for name, value in values.items() if value is not None)
        return f"Claim({', '.join(stated)})"

    @property
    def about(self) -> ClaimKind:
        """The kind of this claim."""
        return claim_kind(self.kind)

    @property
    def bound(self) -> float | None:
        """The highest re-identification probability of any user; None if none is proven."""
        return self.about.bound(self.k)


UNIT = "user"
_LARGEST_EXPONENT = 700.0  # beyond it, exp() overflows
# From this probability on, the part of delta is stated.
LOUD_DELTA = 1e-4
# Above the first, epsilon promises little; above the second, almost nothing.
_WEAK, _NO_PROMISE = 10.0, 20.0
# Neighbouring tables: add or remove one user with all their ratings. The first format of
# differentially private releases that states the relation.
NEIGHBOURS, NEIGHBOURS_SINCE = "add or remove one user", 8


def stated_kind(stated: Any) -> Any:
    """Return the name of a claim's kind from release.json.

    >>> stated_kind("co-rated"), stated_kind({"kind": "differentially-private", "epsilon": 3.0})
    ('co-rated', 'differentially-private')
    """
    return stated.get("kind") if isinstance(stated, Mapping) else stated


def claim_of_json(content: Mapping[str, Any]) -> Claim:
    """Read the claim from the content of release.json."""
    stated, diversity = content["claim"], content["diversity"]
    sets = {"b": diversity["b"], "l": diversity["l"]}
    shared = {"k": content["k"], "levels": content["levels"], **sets}
    if not isinstance(stated, Mapping):
        return Claim(kind=stated, **shared)
    ledger = Ledger.from_json(stated["ledger"])
    epsilon, delta = stated["epsilon"], stated["delta"]
    if not (_is_between(epsilon, 0, math.inf) and _is_between(delta, 0, 1)):
        raise TypeError(epsilon, delta)
    return Claim(kind=stated["kind"], epsilon=epsilon, delta=delta, ledger=ledger, **shared)


def claim_to_json(claim: Claim, format_number: int) -> str | dict[str, object]:
    """Return the claim as release.json states it in the format of this number."""
    if claim.ledger is None:
        return claim.kind
    neighbours = {"neighbours": NEIGHBOURS} if format_number >= NEIGHBOURS_SINCE else {}
    return {
        "kind": claim.kind,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "unit": UNIT,
        **neighbours,
        "ledger": claim.ledger.to_json(),
    }


def bounds_of(claim: Claim) -> dict[str, float]:
    """Return interpretable bounds that follow from a differentially private claim."""
    if claim.ledger is None or claim.epsilon is None:
        return {}
    mu, more = claim.ledger.mu, claim.ledger.threshold_delta
    delta = claim.delta or 0.0
    # For two users the threshold counts twice as for any pair; only the noise is known exactly.
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
    """Return the largest probability that odds rise by more than ``exp(epsilon)``."""
    # It exceeds delta: for each smaller epsilon' with its delta', such an event has p <=
    # exp(epsilon') q + delta' and q <= exp(-epsilon) p, so p <= delta' / (1 - exp(epsilon' -
    # epsilon)).
    smaller = [epsilon * (step * 0.005) for step in range(200)]
    bounds = [
        (delta_of(mu, less) + threshold_delta) / -math.expm1(less - epsilon) for less in smaller
    ]
    return min(1.0, *bounds)


def of_large_delta(delta: float) -> str:
    """Describe what a too large delta means.

    >>> of_large_delta(0.002)[:65]
    'delta is 0.002: in one of 500 releases, there may be no guarantee'
    """
    return (
        f"delta is {delta:g}: in one of {1 / delta:,.0f} releases, there may be no guarantee at "
        f"all. Choose a delta far below one over the number of users, such as 1e-6."
    )


def of_large_epsilon(epsilon: float) -> str:
    """Describe what a too large epsilon promises; "" for smaller ones."""
    if epsilon < _WEAK:
        return ""
    what = "gives a weak guarantee"
    if epsilon >= _NO_PROMISE:
        what = "gives no meaningful guarantee"
    return (
        f"An epsilon of {epsilon:.4g} {what}: 1 is strong, and 10 weak. Only "
        f"measured attacks support it, and they are those that were tried."
    )


def problems_of_claim(manifest: Mapping[str, Any], format_number: int) -> Iterator[str]:
    """Describe how a readable claim differs from the form that recveil writes."""
    stated, kind = manifest["claim"], claim_kind(stated_kind(manifest["claim"]))
    if isinstance(stated, Mapping):
        keys = tuple(claim_to_json(claim_of_json(manifest), format_number))
        if tuple(stated) != keys:
            yield f"claim: expected the keys {', '.join(keys)}, in this order and no others"
        if stated.get("neighbours", NEIGHBOURS) != NEIGHBOURS:
            yield f"claim: the neighbouring relation is not {NEIGHBOURS!r}"
        if stated.get("unit") != UNIT:
            yield f"claim: the unit is not {UNIT!r}"
    if format_number == NEIGHBOURS_SINCE and not kind.is_differential:
        yield f"claim: format {format_number} is of differentially private releases alone"
    if kind.is_differential and manifest["k"] != 1:
        yield "k is not 1, although no users share a record"
    if not kind.contains_users:
        if manifest["levels"]:
            yield "a synthetic release has no privacy levels"
        if manifest["diversity"] != {"b": 1, "l": 1}:
            yield "a synthetic release has no diversity"


def _is_between(number: Any, low: float, high: float) -> bool:
    return type(number) is float and low < number < high
