"""Ids of users inside the ids of items that they rated, and numbers that are there by chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, Synthesizer
from recveil.methods.base import anonymize_hidden
from recveil.publish import Release
from recveil.ratings import Ratings
from recveil.verification.rater_ids import describe_handles, search_ratings

MADE = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=4)
USERS, ITEMS = MADE.user_positions(), MADE.indices


def table(user_id, item_id):
    """Ratings whose item ids are made of the number of the user, of the item, and the rating."""
    values = MADE.values.astype(int)
    items = [item_id(*cell) for cell in zip(USERS.tolist(), ITEMS.tolist(), values, strict=True)]
    users = [user_id(user) for user in USERS.tolist()]
    return Ratings.from_columns(users, items, MADE.values, scale=MADE.scale)


def with_lists(user_id, owner, name="Playlist by {}", n_lists=15):
    """Ratings of films, and of lists that are each named after a user and rated by `owner`."""
    films = [f"film {item}" for item in ITEMS.tolist()]
    users = [user_id(user) for user in USERS.tolist()]
    users += [user_id(owner(number)) for number in range(n_lists)]
    items = films + [name.format(user_id(number)) for number in range(n_lists)]
    values = [*MADE.values, *[5] * n_lists]
    return Ratings.from_columns(users, items, values, scale=MADE.scale)


REVIEWS = {
    "words": (lambda user: user + 1, lambda u, i, r: f"user_{u + 1}_item_{i}_rating_{r}"),
    "commas": (lambda user: 1000 + user, lambda u, i, r: f"{1000 + u},i{i},{r}"),
    "bars": (lambda user: 1000 + user, lambda u, i, r: f"{1000 + u}|i{i}|{r}"),
    "hyphen": (lambda user: 1000 + user, lambda u, i, r: f"{1000 + u}-{i}"),
    "letter in front": (lambda user: 1000 + user, lambda u, i, r: f"u{1000 + u}/i{i}/r{r}"),
    "another letter": (lambda user: f"u{1000 + user}", lambda u, i, r: f"R{1000 + u}-{i}-{r}"),
    "every 42nd": (lambda user: 7310042 + 42 * user, lambda u, i, r: f"{7310042 + 42 * u} {i}"),
    "zeros in front": (lambda user: user + 1, lambda u, i, r: f"r{u + 1:06}-{i:06}"),
    "joined": (
        lambda user: f"{100 + user}-{50_000 + user}",
        lambda u, i, r: f"{100 + u}{50_000 + u}/{i}",
    ),
    "apart": (
        lambda user: 10_050_000 + 100_001 * user,
        lambda u, i, r: f"{100 + u}-{50_000 + u}/{i}",
    ),
    "titles": (lambda user: user + 1, lambda u, i, r: f"{chr(97 + i)} by {u + 1}"),
}


@pytest.mark.parametrize("way", REVIEWS)
def test_keys_of_reviews_contain_their_users(way):
    ratings = table(*REVIEWS[way])
    problem = search_ratings(ratings, ratings.items)
    assert problem.startswith("item ids contain the ids of 40 users who rated these items; ")


@pytest.mark.parametrize("user_id", [int, "ann{}".format, "b_{}".format], ids=["1", "ann1", "b_1"])
def test_lists_of_a_few_users_contain_their_owners(user_id):
    ratings = with_lists(user_id, owner=lambda number: number)
    problem = search_ratings(ratings, ratings.items)
    assert problem.startswith("item ids contain the ids of 15 users"), "and the films none"
    published = [item for item in ratings.items.tolist() if not item.startswith("Playlist")]
    assert not search_ratings(ratings, published), "what is not published leaks nothing"


def test_lists_that_others_rated_may_be_named_so_by_chance():
    ratings = with_lists(int, owner=lambda number: (7 * number + 3) % 40)
    assert not search_ratings(ratings, ratings.items)


@pytest.mark.parametrize("user_id", ["ann{}".format, "b_{}".format], ids=["ann1", "b_1"])
def test_lists_named_after_users_who_did_not_rate_them_are_noted(user_id):
    ratings = with_lists(user_id, owner=lambda number: (7 * number + 3) % 40)
    assert not search_ratings(ratings, ratings.items)
    said = describe_handles(ratings.users.tolist(), ratings.items.tolist())
    assert said.startswith("The ids of 15 items differ only in a user id. ")
    assert "--hide-items" in said
    few = with_lists(user_id, owner=lambda number: (7 * number + 3) % 40, n_lists=9)
    assert not describe_handles(few.users.tolist(), few.items.tolist())


CATALOGUES = {
    "numbers": lambda item: item,
    "numbered": lambda item: f"movie_{item}",
    "years": lambda item: f"Part {item} ({1950 + item})",
    "episodes": lambda item: f"S{1 + item // 12:02d}E{1 + item % 12:02d}",
}


@pytest.mark.parametrize("user_id", [int, "u{}".format], ids=["1", "u1"])
@pytest.mark.parametrize("catalogue", CATALOGUES)
@given(seed=st.integers(0, 2**32), n_users=st.sampled_from([4, 12, 60]), by_time=st.booleans())
def test_numbered_items_contain_numbers_of_users_by_chance(
    catalogue, user_id, seed, n_users, by_time
):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 31)
    users = rng.integers(0, n_users, 4 * n_users)
    items = rng.choice(30, users.size, p=weights / weights.sum())
    if by_time:  # both are numbered as they occur
        users = np.sort(users)
        _, first, items = np.unique(items, return_index=True, return_inverse=True)
        items = np.argsort(np.argsort(first))[items]
    cells = np.unique(np.column_stack([users, items]), axis=0) + 1
    ratings = Ratings.from_columns(
        [user_id(user) for user in cells[:, 0].tolist()],
        [CATALOGUES[catalogue](item) for item in cells[:, 1].tolist()],
        [3.0] * len(cells),
    )
    assert not search_ratings(ratings, ratings.items)


@pytest.mark.parametrize("step", [1, 3])
def test_a_band_of_ratings_is_no_leak(step):
    """User 7 rates item 7, but users 6 and 8 rate it just as well."""
    cells = {(user, (user + step * each) % 40) for user in range(40) for each in range(5)}
    users, items = zip(*sorted(cells), strict=True)
    ratings = Ratings.from_columns(users, [f"i{item}" for item in items], [3.0] * len(cells))
    assert not search_ratings(ratings, ratings.items)


@pytest.mark.parametrize("anonymizer", [PredictiveAnonymizer(2, seed=1), KCoRater(2, seed=1)])
def test_such_a_release_is_not_written_unless_its_items_are_hidden(anonymizer, tmp_path):
    ratings = table(*REVIEWS["words"])
    with raises("release.refused") as error:
        anonymizer.anonymize(ratings).write(tmp_path / "out")
    assert "item_id: item ids contain the ids of 40 users" in str(error.value)
    assert "--hide-items" in str(error.value)
    assert list(tmp_path.iterdir()) == []
    hidden = anonymize_hidden(ratings, anonymizer, 1)
    assert Release(hidden.published, hidden.private).write(tmp_path / "out").holds


def test_such_a_catalogue_costs_no_budget(monkeypatch):
    ratings = table(*REVIEWS["words"])
    synthesizer = Synthesizer(20.0, item_catalog="as-rated")
    monkeypatch.setattr(synthesizer, "learn", lambda *_: pytest.fail("queries were answered"))
    with raises("id.personal"):
        synthesizer.anonymize(ratings)
