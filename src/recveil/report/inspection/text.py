"""JSON documents and sentences of inspections."""

from recveil.inspection.column_roles import Identifier, Sign
from recveil.inspection.results import FEW, Inspection
from recveil.inspection.statistics import Distribution
from recveil.report import data_to_dict
from recveil.report.document import parts_of
from recveil.runtime.number_format import percent

# What the values of each kind of identifier look like.
KINDS = {
    "email": "e-mail addresses",
    "ip-address": "network (IP) addresses",
    "phone": "telephone numbers",
    "uuid": "UUIDs",
    "hash": "hashes",
    "iban": "bank account numbers (IBAN)",
    "url": "web addresses",
    "integer-ids": "whole numbers",
    "text-ids": "ids as text",
    "user-ids": "ids that are also ids of users",
    "name": "the name of a column of personal data",
    "free-text": "free text, which may name users",
    "unique-values": "another value in each row, such as the id of a review",
    "one-per-user": "the same value in all rows of a user",
}
# What recveil does with the column, by its role.
ADVICE = {
    "user": "recveil publishes pseudonyms in their place; keep OUTPUT.private secret",
    "item": "ids of items are published unchanged: rename the items first, or publish pseudonyms "
    "(hide_items, --hide-items)",
    "": "recveil does not read this column and publishes none of it; do not join it to a release",
}


@parts_of.register
def _(result: Inspection) -> dict[str, object]:
    reading, scale = result.reading, result.ratings.scale
    low, high = result.ends
    labels = {"ordered": scale.ordered, "labels": [each._asdict() for each in result.labels]}
    return {
        "input": reading.name,
        "format": reading.format,
        "data": data_to_dict(result.ratings, reading),
        "scale": {
            "low": scale.low,
            "high": scale.high,
            "step": scale.step,
            "inferred": not reading.scale_given,
            "low_end": low._asdict(),
            "high_end": high._asdict(),
            "levels": [{"value": value, "ratings": n} for value, n in result.levels],
            "doubts": [doubt.describe(FEW) for doubt in result.doubts],
            **(labels if scale.labels else {}),
        },
        "dates": result.dates and result.dates._asdict(),
        "dropped": result.dropped,
        "duplicates_chosen": result.duplicates_chosen,
        "user_counts": _distribution(result.user_counts),
        "item_counts": _distribution(result.item_counts),
        "column_order": {
            "looks_swapped": result.column_order.looks_swapped,
            "signs": describe_signs(result),
        },
        "identifiers": [_identifier(each) for each in result.identifiers],
    }


def _distribution(counts: Distribution) -> dict[str, object]:
    return {**counts._asdict(), "bins": [each._asdict() for each in counts.bins]}


def _identifier(identifier: Identifier) -> dict[str, object]:
    return {
        **identifier._asdict(),
        "description": KINDS[identifier.kind],
        "advice": ADVICE[identifier.role],
    }


def facts(result: Inspection) -> dict[str, object]:
    """Return the facts that represent an inspection in a line."""
    ratings = result.ratings
    return {"users": ratings.n_users, "items": ratings.n_items, "ratings": ratings.n_ratings}


def describe_signs(result: Inspection) -> list[str]:
    """Describe the evidence for or against swapped columns, one sentence each."""
    return [_describe_sign(sign, result) for sign in result.column_order.signs]


def _describe_sign(sign: Sign, result: Inspection) -> str:
    what, rate = ("likes", "like") if result.ratings.is_unary else ("ratings", "rate")
    if sign.code == "too-few":
        return "There are too few users or items to decide."
    if sign.code == "ids":
        column, n = ("users", sign.of_users) if sign.of_users else ("items", sign.of_items)
        ids = f"id of {column} looks" if n == 1 else f"ids of {column} look"
        return f"{n:,} {ids} like {sign.kind}."
    if sign.code == "days":
        return (
            f"Ten {what} of a user are from {10 * sign.of_users:.1f} different days, and ten of an "
            f"item from {10 * sign.of_items:.1f} (medians); users {rate} several items a day."
        )
    return (
        f"A tenth of the users gave {percent(result.user_counts.top_tenth_share)} of the {what}, "
        f"and a tenth of the items got {percent(result.item_counts.top_tenth_share)} (Gini "
        f"{sign.of_users:.2f} and {sign.of_items:.2f}; 0 is even); usually, {what} concentrate on "
        f"items more."
    )
