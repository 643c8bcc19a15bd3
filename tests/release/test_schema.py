"""docs/reference/release.schema.json: every release has this shape, and nothing else has."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest

from recveil.datasets import make_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import FORMATS
from recveil.release.registry import all_methods

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "release.schema.json"
SCHEMA = json.loads(PAGE.read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

EPSILON = {"epsilon": 20.0, "item_catalog": "as-rated"}
# Each kind of release, by what distinguishes it from the others: what is rated, and the options.
RELEASES = {
    "padded": ("ratings", {"k": 3, "method": "predictive"}),
    "predictions alone": ("ratings", {"k": 3, "method": "predictive", "values": "predicted"}),
    "partly padded": ("ratings", {"k": 3, "method": "predictive", "padding": 0.5}),
    "steps of a grouping": (
        "ratings",
        {
            **{"k": 3, "method": "predictive", "grouping": "predictive"},
            **{"distance": "weighted-squared", "centers": "users", "assignment": "pairwise"},
        },
    ),
    "csv of everybody": (
        "ratings",
        {"k": 3, "method": "predictive", "layout": "users", "file_format": "csv"},
    ),
    "simple and diverse": (
        "ratings",
        {"k": 3, "method": "predictive", "homogenize": "simple", "b": 1, "l": 2},
    ),
    "levels": (
        "ratings",
        {"k": 3, "method": "predictive", "privacy_levels": "activity<12:5,else:3"},
    ),
    "hidden items": ("ratings", {"k": 3, "method": "predictive", "hide_items": True}),
    "k-coRating": ("ratings", {"k": 3, "method": "k-corating"}),
    "protected": ("ratings", {"k": 3, "method": "k-corating", "protect": "mean"}),
    "trust": ("ratings", {"k": 3, "method": "k-corating", "fill": "trust"}),
    "limits of values": (
        "ratings",
        {"k": 3, "method": "k-corating", "grouping": "pagecom", "diversity": 2, "closeness": 0.5},
    ),
    "limits of means": (
        "ratings",
        {"k": 3, "method": "predictive", "homogenize": "simple", "diversity": 2, "closeness": 0.5},
    ),
    "trust in two steps": (
        "ratings",
        {
            **{"k": 3, "method": "k-corating", "fill": "trust"},
            **{"direct_weights": "similarity", "trust_steps": 2, "neighbours": 9, "l": 2},
        },
    ),
    "sparse": ("ratings", {"k": 3, "method": "sparse"}),
    "riskiest left out": ("ratings", {"k": 3, "method": "sparse", "protect_riskiest": 0.1}),
    "riskiest truncated": (
        "likes",
        {"k": 3, "method": "k-corating", "protect_riskiest": 0.1, "truncate_to": 5},
    ),
    "dates": ("ratings", {"k": 3, "method": "sparse", "dates": "week"}),
    "likes, dates": ("likes", {"k": 3, "method": "sparse", "dates": "year"}),
    "an order": ("ratings", {"k": 3, "method": "sparse", "dates": "order"}),
    "attributes of users": (
        "ratings",
        {"k": 3, "attribute": ["gender"], "sensitive_attribute": "plan", "attribute_l": 2},
    ),
    "dates and attributes": ("ratings", {"k": 3, "dates": "week", "attribute": "gender"}),
    "a continuous scale": ("continuous", {"k": 3, "method": "predictive"}),
    "formulas": ("formulas", {"k": 3, "method": "predictive"}),
    "drawn": ("ratings", EPSILON),
    "a model": ("ratings", EPSILON | {"layout": "model"}),
    "noisy answers": ("ratings", EPSILON | {"publish_answers": True, "max_ratings": 9}),
    "a cohort": ("ratings", EPSILON | {"cohort": ":2100"}),
    "likes of a cohort": ("likes", EPSILON | {"cohort": "1970:2100"}),
    "synthetic users with dates": (
        "ratings",
        EPSILON | {"dates": "quarter", "date_range": "1999:2003", "ledger": "none"},
    ),
    "synthetic users with attributes": (
        "ratings",
        EPSILON
        | {"attribute": ["gender=F,M", "plan=plan 0,plan 1,plan 2,plan 3"], "ledger": "none"},
    ),
    "likes with dates and attributes": (
        "likes",
        EPSILON
        | {"attribute": "gender=F,M", "dates": "year", "date_range": "1999:2003"}
        | {"ledger": "none"},
    ),
    "exact sums": ("ratings", {"epsilon": "none", "item_catalog": "as-rated"}),
    "likes, k-coRating": ("likes", {"k": 3, "method": "k-corating"}),
    "likes, sparse": ("likes", {"k": 3, "method": "sparse"}),
    "likes, drawn": ("likes", EPSILON),
    "words with an order": ("ordered", {"k": 3, "method": "predictive"}),
    "words": ("words", {"k": 3, "method": "nominal"}),
    "riskiest of words": ("words", {"k": 3, "method": "nominal", "protect_riskiest": 0.1}),
}


# A release without one of these is one of another kind.
OPTIONAL = ("value_step", "diversity", "protect_riskiest", "truncate_to")


def tables() -> dict[str, Ratings]:
    made = make_ratings(60, 24, 700, seed=2)
    four = make_ratings(60, 24, 700, seed=2, scale=RatingScale(1, 4, 1))
    users = made.user_positions()
    named = [f"=item({item})" for item in made.indices]
    return {
        "ratings": made,
        "continuous": Ratings.from_columns(
            users, made.indices, made.values, scale=RatingScale(1, 5, None)
        ),
        "formulas": Ratings.from_columns(users, named, made.values, scale=made.scale),
        "likes": made.as_likes(),
        "ordered": four.with_scale(RatingScale.of_labels("no,well,yes,oh")),
        "words": four.with_scale(RatingScale.of_labels("a,b,c,d", ordered=False)),
    }


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """What release.json says, of each kind of release."""
    folder, rated = tmp_path_factory.mktemp("schema"), tables()
    risk = folder / "risk.csv"
    risk.write_text(
        "user_id,found,adversary,membership,control\n"
        + "".join(f"{user},1,likes,0.6,0.5\n" for user in rated["ratings"].users)
    )
    attributes = folder / "users.csv"
    attributes.write_text(
        "user_id,gender,plan\n"
        + "".join(
            f"{user},{'FM'[user % 2]},plan {user // 2 % 4}\n" for user in rated["ratings"].users
        )
    )
    for number, (table, options) in enumerate(RELEASES.values()):
        given = {"risk": risk} if "protect_riskiest" in options else {}
        given |= {"users": attributes} if "attribute" in options else {}
        anonymize(rated[table], folder / str(number), **options, **given)
    return {
        name: json.loads((folder / str(number) / "release.json").read_text("utf-8"))
        for number, name in enumerate(RELEASES)
    }


def objects(value, path=()):
    """Yield where objects stand in what a release says."""
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            yield from objects(inner, (*path, key))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from objects(inner, (*path, number))


def at(value, path):
    for step in path:
        value = value[step]
    return value


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", RELEASES)
def test_every_release_has_this_shape(result, name):
    VALIDATOR.validate(result[name])


@pytest.mark.parametrize("name", RELEASES)
def test_nothing_can_be_added_anywhere(result, name):
    """An added key could reveal who a user is."""
    for path in objects(result[name]):
        changed = copy.deepcopy(result[name])
        at(changed, path)["added"] = 1
        assert not VALIDATOR.is_valid(changed), path


@pytest.mark.parametrize("name", RELEASES)
def test_nothing_can_be_left_out(result, name):
    optional = {"formulas", "items_below_k", "values_below_k", "values", "items", "trust"}
    optional |= {"workloads", "direct_weights", "trust_steps", "closeness", "padding"}
    optional |= {"neighbours", "distance", "centers", "assignment", "short_users", "cohort"}
    optional |= {"answers", "answers.npz", "max_ratings"}
    if result[name]["format"] == "recveil-release-11":
        optional |= {"dates"}  # that of format 10 has some
    for path in objects(result[name]):
        for key in set(at(result[name], path)) - optional - {"ratings.parquet", "ratings.csv"}:
            changed = copy.deepcopy(result[name])
            del at(changed, path)[key]
            is_optional = path == ("settings",) and key in OPTIONAL
            assert is_optional or not VALIDATOR.is_valid(changed), (path, key)


@pytest.mark.parametrize("name", RELEASES)
def test_no_value_can_be_of_another_kind(result, name):
    for path in objects(result[name]):
        for key in at(result[name], path):
            changed = copy.deepcopy(result[name])
            at(changed, path)[key] = [[["other"]]]
            assert not VALIDATOR.is_valid(changed), (path, key)


def test_every_method_and_every_format_that_is_written_is_described(result):
    titles = {
        part["properties"]["method"]["const"]
        for part in SCHEMA["$defs"].values()
        if "method" in part.get("properties", {})
    }
    # Without a card there is nothing to publish: baselines are compared with, and never written.
    assert titles == {method.title for method in all_methods() if method.card}
    assert {one["settings"]["method"] for one in result.values()} == titles
    written = {one["format"] for one in result.values()}
    assert written == {*SCHEMA["properties"]["format"]["enum"]} == {*FORMATS[-3:]}


def test_the_page_of_the_format_names_the_schema():
    page = (PAGE.parent / "release-format.md").read_text("utf-8")
    assert f"]({PAGE.name})" in page
    assert SCHEMA["$id"] in page
