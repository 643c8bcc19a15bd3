"""The second checker, of releases in which no record is any user's: what they promise and hold.

Like the rest of it, it shares nothing with recveil. Epsilon is worked out from the ledger by
Theorem 8 of Balle & Wang (2018): a sum that one user moves by at most s, with Gaussian noise
of the standard deviation sigma, keeps epsilon with exactly

    delta = Phi(mu / 2 - epsilon / mu) - exp(epsilon) Phi(-mu / 2 - epsilon / mu),  mu = s / sigma,

and many such sums are as one whose mu is the root of the sum of their squares.
"""

import math
import re

from independent_form import short
from scipy.stats import norm

NOISY, EXACT = "differentially-private", "aggregates"
RELATION = "add or remove one person"
# recveil rounds up by two parts in a thousand million, and spends what it promises to a millionth.
ROUNDED, SPENT = 1e-8, 2e-6


def kind_of(claim):
    """What a claim is called; None for one that no release makes in this form."""
    if isinstance(claim, dict):
        return NOISY if claim.get("kind") == NOISY else None
    return claim if claim in ("identical-rows", "co-rated", EXACT) else None


def problems_of_promise(result):
    """The promise follows from the settings, and nothing is promised that concerns users' rows."""
    if (
        result["levels"]
        or result["diversity"] != {"b": 1, "l": 1}
        or "classes.csv" in result["files"]
    ):
        yield "rows, levels or diversity of people who are nobody"
    if result["settings"].get("items") == "pseudonyms":
        yield "items are hidden"
    noisy = kind_of(result["claim"]) == NOISY
    if (result["settings"].get("noise") == "gaussian") != noisy:
        yield "the settings name other noise than the claim"
    if not noisy:
        if result["k"] < 20:
            yield "sums of too few people"
        return
    if result["k"] != 1 or result["claim"].get("unit") != "person":
        yield "the claim has another form"
    if (result["format"].rpartition("-")[2] in ("8", "9", "10", "11")) != (
        "neighbours" in result["claim"]
    ):
        yield "the neighbouring relation is of another format"
    if result["claim"].get("neighbours", RELATION) != RELATION:
        yield "another neighbouring relation"
    yield from problems_of_ledger(result["claim"], result["settings"])


def problems_of_ledger(claim, settings):
    """Epsilon is the one of the ledger, and the names of items have their part of delta."""
    epsilon, delta, ledger = claim["epsilon"], claim["delta"], claim["ledger"]
    queries, names = ledger["queries"], [query["name"] for query in ledger["queries"]]
    part = 0.1 * delta if settings.get("catalogue") == "chosen" else 0.0
    if not (0 < delta <= 0.01 and math.isclose(ledger["threshold_delta"], part, rel_tol=1e-6)):
        yield "delta, or the part of it that names of items have"
        return
    if not queries or len(set(names)) < len(names):
        yield "no queries, or one twice"
        return
    if not all(query["sensitivity"] == 1.0 and query["sigma"] > 0 for query in queries):
        yield "a query without noise, or of more than people can change"
        return
    earlier = ledger.get("earlier", [])
    if not is_place_in_plan(earlier, settings):
        yield "another number of earlier releases than the plan has"
        return
    if "earlier" in ledger and not is_list_of_releases(earlier, settings):
        yield "earlier releases that none has"
        return
    mu = math.sqrt(sum((query["sensitivity"] / query["sigma"]) ** 2 for query in queries))
    mu *= math.sqrt(1 + len(earlier))  # each of them asked as much
    least = epsilon_of(mu, delta - ledger["threshold_delta"])
    if epsilon < least * (1 - ROUNDED):
        yield "epsilon is lower than what was asked leads to"
    if epsilon > least * (1 + SPENT) + SPENT:
        yield "epsilon is higher than what was asked leads to"


def is_place_in_plan(earlier, settings):
    """A release that names others is the next one of a plan, and no other release is."""
    number, planned = settings.get("release_number"), settings.get("planned_releases")
    if not isinstance(earlier, list) or not earlier:
        return (number, planned) == (None, None)
    return number == len(earlier) + 1 and isinstance(planned, int) and number <= planned


def is_list_of_releases(earlier, settings):
    """Noisy sums of all people, on a list of items that is public, can be asked again."""
    if not (isinstance(earlier, list) and earlier and len(set(earlier)) == len(earlier)):
        return False
    if "cohort" in settings or settings.get("catalogue") == "chosen":
        return False
    return all(re.fullmatch("[0-9a-f]{64}", each) for each in earlier)


def delta_of(mu, epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))


def epsilon_of(mu, delta):
    """The smallest epsilon, by halving what it lies between: delta falls as epsilon rises."""
    low, high = 0.0, 1.0
    while delta_of(mu, high) > delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(mu, middle) <= delta else (middle, high)
    return high


def count_at(result, share):
    """The user count below which a share of the users lies, between two stated ones."""
    stated = result["settings"]["activity"]
    place = share * (len(stated) - 1)
    before = min(int(place), len(stated) - 2)
    return stated[before] + (place - before) * (stated[before + 1] - stated[before])


def problems_of_users(records, result):
    """Drawn users rate each item once, on the grid; they are as many as is said."""
    found = {
        "users": len(records),
        "labels": sum(len(items) for _, items, *_ in records),
        "items": len({item for _, items, *_ in records for item in items}),
        **short(records, result),
    }
    if result["counts"] != found:
        yield "counts"
    is_counted = result["claim"] == EXACT and result["settings"]["people"] == "counted"
    if is_counted and len(records) != result["k"]:
        yield "as many people were counted as there are, but others were drawn"
    yield from problems_of_items(found["items"], result)
    lengths = sorted(len(items) for _, items, *_ in records)
    for rank, length in enumerate(lengths):
        # Few users are one batch: ranks are right to half of one.
        low, high = (count_at(result, (rank + part) / len(lengths)) for part in (0, 1))
        if length > high + 1.01 or length < min(low, 0.95 * found["items"]) - 1.01:
            yield "longer or shorter records than people were asked for"
            break
    if not result["settings"].get("label_step") and not are_likes(result):
        yield "no grid of labels"


def problems_of_model(rows, result):
    """A model has one row an item, in order, and numbers next to the items' ids."""
    items = [row["item_id"] for row in rows]
    if not items or items != sorted(set(items)) or result["counts"] != {"items": len(items)}:
        yield "items or counts of the model"
    yield from problems_of_items(len(items), result)
    kind = str if result["item_type"] == "text" else int
    if not all(type(item) is kind for item in items):
        yield "items of another type"
    if are_likes(result):
        name = "factor" if result["format"][-1] == "9" else "taste"
        embeddings = [f"{name}_{place}" for place in range(result["settings"]["directions"] + 1)]
        if any(list(row) != ["item_id", "offset", *embeddings] for row in rows):
            yield "the model of likes has other columns"
    numbers = [number for row in rows for name, number in row.items() if name != "item_id"]
    if not all(type(number) is float and abs(number) <= 1e12 for number in numbers):
        yield "a number of the model is none"


def problems_of_items(n_items, result):
    """No more items are named than were queried: two numbers of each; of likes, one."""
    if kind_of(result["claim"]) == NOISY:
        queries = result["claim"]["ledger"]["queries"]
        asked = sum(query["values"] for query in queries if query["name"] == "item sums")
        if n_items > asked // (1 if are_likes(result) else 2):
            yield "more items than were asked of"


def are_likes(result):
    return result["settings"].get("ratings") == "likes"
