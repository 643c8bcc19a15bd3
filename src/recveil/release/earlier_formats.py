"""Names and cards of the formats 1 to 8 of a release; all other code uses today's names."""

from collections.abc import Callable, Mapping
from typing import Any

# The first format with today's names.
RENAMED_SINCE = 9

_Names = Mapping[str, str]
_SETTINGS: _Names = {
    "crowd": "cluster_size",
    "rare_items": "items_below_k",
    "label_step": "value_step",
    "labels": "values",
    "rare_labels": "values_below_k",
    "ratings": "feedback",
    "catalogue": "item_catalog",
    "people": "n_users",
    "pooled_share": "omitted_share",
    "activity": "user_counts",
    "cuts": "cutpoints",
    "tilts": "slopes",
    "likings": "slope_spreads",
    "directions": "factors",
}
# Renamed values, by today's name of their setting.
_VALUES: Mapping[str, _Names] = {
    "method": {
        "synthetic people": "synthetic users",
        "words by shares": "nominal labels",
    },
    "items_below_k": {"left out": "omitted"},
    "values": {"model": "predicted"},
    "feedback": {"likes": "implicit"},
    "item_catalog": {"as rated": "rated items", "chosen": "selected"},
    "n_users": {"asked for": "requested"},
    "trust": {"worked out": "inferred"},
}
_SCALE: _Names = {"words": "labels"}
_COUNTS: _Names = {"labels": "values", "alone": "singletons"}
_CLAIM: Mapping[str, _Names] = {
    "unit": {"person": "user"},
    "neighbours": {"add or remove one person": "add or remove one user"},
}
_QUERIES: _Names = {
    "people by activity": "users by user count",
    "labels": "rating levels",
    "means of people": "user means",
    "kinds of items": "item kinds",
    "ratings by taste": "ratings by factor",
}
# What the queries sum up.
_SUMS: _Names = {
    "how many people have how many ratings": "the number of users by number of ratings",
    "how many people have how many likes": "the number of users by number of interactions",
    "people's shares of ratings at each label": "users' shares of ratings at each level",
    "people's mean ratings, and the squares of these": "users' mean ratings and their squares",
    "for each item, how much it was rated, and how its ratings differ from the mean": (
        "for each item, its ratings and their deviations from the mean"
    ),
    "for each item, how much it was liked": "for each item, its interactions",
    "people's shares of ratings on items with tastes, other told ones, and the rest": (
        "users' shares of ratings on items with factors, on other published items, and on the rest"
    ),
    "people's shares of likes on items with tastes, other told ones, and the rest": (
        "users' shares of interactions on items with factors, on other published items, and on "
        "the rest"
    ),
    "for each two items, how much people who like the one like the other": (
        "for each pair of items, the weighted number of users with both"
    ),
    "for each direction of taste, whether people rate higher what they lean to, and whether "
    "half of their ratings agrees with the other half": (
        "for each factor, the slope of ratings along it, and the agreement of both halves of a "
        "user's ratings"
    ),
}

# The cards of formats 1 to 8: of all methods and claims that they knew, and of their frames.
_CARDS: _Names = {
    "rows": "card",
    "synthetic-users": "drawn",
    "sparse": "sparse",
    "predictive": "predictive",
    "k-corating": "k_corating",
    "synthetic": "synthetic",
    "nominal": "words",
    "identical-rows": "identical_rows",
    "co-rated": "co_rated",
    "differentially-private": "differentially_private",
    "aggregates": "aggregates",
}
_LIKES_CARDS: _Names = {
    "rows": "likes",
    "sparse": "sparse_likes",
    "k-corating": "k_corating_likes",
    "synthetic": "synthetic_likes",
}
# Each template of these has the text of the methods that the first format knew; the other methods
# bring theirs.
_FIRST_CARDS = {1: "card_1", 2: "card_2"}
# The wording of synthetic releases changed more often. Formats 4 to 7 state the bound for one given
# user as if it were for two.
_SYNTHETIC_CARDS: Mapping[int, _Names] = {
    3: {
        "synthetic-users": "drawn_3",
        "synthetic": "synthetic_3",
        "differentially-private": "private_3",
        "aggregates": "aggregates_3",
    },
    4: {
        "synthetic": "synthetic_4",
        "differentially-private": "private_7",
    },
    **{number: {"differentially-private": "private_7"} for number in (5, 6, 7)},
}


def class_list_header(number: int) -> bytes:
    """Return the first line of classes.csv in a format."""
    return b"digest,people\n" if number < RENAMED_SINCE else b"digest,users\n"


def model_column(name: str, number: int) -> str:
    """Return the name of a column of model.parquet in a format.

    >>> model_column("rating_mean", 9), model_column("factor_3", 8)
    ('rating_mean', 'taste_3')
    """
    if number >= RENAMED_SINCE:
        return name
    return "worth" if name == "rating_mean" else name.replace("factor_", "taste_")


def earlier_card(name: str, number: int, *, likes: bool, contains_users: bool) -> str | None:
    """Return the name of a template of an earlier format; None if the format had none.

    `name` is that of a method or of a kind of claim, "rows" or "synthetic-users".

    >>> earlier_card("sparse", 6, likes=True, contains_users=True)
    'until_8/sparse_likes'
    """
    if contains_users and name == "rows" and number in _FIRST_CARDS:
        return f"until_8/{_FIRST_CARDS[number]}"
    cards = {
        **_CARDS,
        **(_LIKES_CARDS if likes else {}),
        **({} if contains_users else _SYNTHETIC_CARDS.get(number, {})),
    }
    return f"until_8/{cards[name]}" if name in cards else None


def with_todays_names(content: dict[str, object], number: int) -> dict[str, object]:
    """Return the content of a release.json of a format with today's names and values."""
    return content if number >= RENAMED_SINCE else _renamed(content, dict)


def with_names_of(number: int, content: dict[str, object]) -> dict[str, object]:
    """Return the content of a release.json with the names and values of a format."""
    return content if number >= RENAMED_SINCE else _renamed(content, _inverse)


def _inverse(names: _Names) -> dict[str, str]:
    return {today: before for before, today in names.items()}


def _renamed(content: dict[str, object], turned: Callable[[_Names], _Names]) -> dict[str, object]:
    """Rename what is where recveil writes it, and leave everything else for the checks."""
    settings, values = turned(_SETTINGS), {n: turned(v) for n, v in _VALUES.items()}
    values |= {before: values[today] for before, today in _SETTINGS.items() if today in values}
    changed = {
        "settings": {
            settings.get(name, name): _replaced(value, values.get(name, {}))
            for name, value in _items(content.get("settings"))
        },
        **{
            part: {
                turned(names).get(name, name): value for name, value in _items(content.get(part))
            }
            for part, names in (("scale", _SCALE), ("counts", _COUNTS))
        },
        "claim": {
            name: _ledger(value, turned)
            if name == "ledger"
            else _replaced(value, turned(_CLAIM.get(name, {})))
            for name, value in _items(content.get("claim"))
        },
    }
    return {
        name: changed[name] if name in changed and isinstance(part, dict) else part
        for name, part in content.items()
    }


def _ledger(ledger: Any, turned: Callable[[_Names], _Names]) -> Any:
    if not isinstance(ledger, dict) or not isinstance(ledger.get("queries"), list):
        return ledger
    names = {"name": turned(_QUERIES), "what": turned(_SUMS)}
    queries = [
        {name: _replaced(value, names.get(name, {})) for name, value in query.items()}
        if isinstance(query, dict)
        else query
        for query in ledger["queries"]
    ]
    return {**ledger, "queries": queries}


def _replaced(value: Any, names: _Names) -> Any:
    return names.get(value, value) if isinstance(value, str) else value


def _items(part: Any) -> list[tuple[str, Any]]:
    return list(part.items()) if isinstance(part, dict) else []
