from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, Candidates, Knowledge, Scoreboard, draw_knowledge
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records


def know(entries, days=None):
    """What is known about users 0, 1, ...: a list of (item, value) for each."""
    items = [item for about in entries for item, _ in about]
    values = [value for about in entries for _, value in about]
    return Knowledge(
        targets=np.arange(len(entries)),
        indptr=np.cumsum([0] + [len(about) for about in entries]),
        items=np.array(items, np.int32),
        values=np.array(values, np.float32),
        days=None if days is None else np.array(days, np.int32),
        activity=None,
        skipped=0,
    )


def table(*rows):
    """Ratings from rows like "a5 b3"."""
    labels = [(user, label[0], int(label[1])) for user, row in enumerate(rows) for label in row]
    users, items, values = zip(*labels, strict=True)
    return Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))


@pytest.fixture
def four_users():
    return table(["a5", "b3"], ["a5", "b4"], ["a4", "b3", "c1"], ["c2"])


def test_by_hand(four_users):
    knowledge = know([[(0, 5)], [(1, 3)], [(0, 4), (2, 1)], [(0, 5), (2, 2)]])
    lineups = Scoreboard().attack(Candidates.from_ratings(four_users), knowledge, np.arange(4))
    assert lineups.tied_users.tolist() == [2, 2, 1, 0]
    assert lineups.target_is_top.tolist() == [True, False, True, False]
    assert lineups.chance.tolist() == [0.5, 0, 1, 0]
    assert lineups.bits.tolist() == [1, 2, 0, 2]  # log2 of all four users where they are lost


def test_without_knowledge_all_users_match(four_users):
    lineups = Scoreboard().attack(
        Candidates.from_ratings(four_users), know([[], [(0, 5)]]), np.arange(4)
    )
    assert lineups.tied_users.tolist() == [4, 2]
    assert lineups.bits.tolist() == [2, 1]


def test_an_item_that_no_user_has_leaves_no_user():
    records = Records(
        sizes=np.array([3]),
        indptr=np.array([0, 1]),
        indices=np.array([0], np.int32),
        values=np.array([4.0]),
    )
    found = Candidates.from_records([records], n_items=2, scale=RatingScale(1, 5, 1))
    lineups = Scoreboard().attack(found, know([[(0, 4), (1, 4)]]), np.array([0]))
    assert (lineups.tied_users[0], lineups.records[0], lineups.chance[0]) == (0, 0, 0)


def test_a_group_of_s_is_found_with_one_in_s():
    records = Records(
        sizes=np.array([5, 3]),
        indptr=np.array([0, 2, 4]),
        indices=np.array([0, 1, 0, 1], np.int32),
        values=np.array([4.0, 10 / 3, 4.0, 2.0]),
    )
    found = Candidates.from_records([records], n_items=2, scale=RatingScale(1, 5, 1))
    record_of = np.repeat([0, 1], [5, 3])
    lineups = Scoreboard().attack(found, know([[(1, 10 / 3)], [(0, 4)]]), record_of)
    assert lineups.tied_users.tolist() == [5, 8]
    assert lineups.records.tolist() == [1, 2]
    assert lineups.chance.tolist() == [1 / 5, 1 / 8]


def test_dates_that_one_side_lacks_are_not_compared(four_users):
    found, knowledge = Candidates.from_ratings(four_users), know([[(0, 5)]], days=[11_000])
    assert Scoreboard(0, 3).attack(found, knowledge, np.arange(4)).tied_users.tolist() == [2]
    dated = replace(found, days=np.full(found.records.size, 11_004, np.int32))
    assert Scoreboard(0, 3).attack(dated, knowledge, np.arange(4)).tied_users.tolist() == [0]
    assert Scoreboard(0, 4).attack(dated, knowledge, np.arange(4)).tied_users.tolist() == [2]
    assert Scoreboard(0).attack(dated, knowledge, np.arange(4)).tied_users.tolist() == [2]


def test_a_rating_error_reaches_exactly_so_far():
    ratings = Ratings.from_columns([1, 2, 3], [7, 7, 7], [3.1, 3.2, 3.3])
    found, knowledge = Candidates.from_ratings(ratings), know([[(0, 3.1)]])
    for error, all_users in [(0, 1), (0.1, 2), (0.2, 3)]:
        assert Scoreboard(error).attack(found, knowledge, np.arange(3)).tied_users[0] == all_users


def test_the_number_of_threads_does_not_matter():
    ratings = make_ratings(n_users=700, n_items=50, n_ratings=8_000, seed=1)
    found, everyone = Candidates.from_ratings(ratings), np.arange(700)
    knowledge = draw_knowledge(ratings, Adversary(known=3), everyone)
    assert knowledge.targets.size > 600
    one, four = (Scoreboard(threads=n).attack(found, knowledge, everyone) for n in (1, 4))
    assert all((a == b).all() for a, b in zip(one, four, strict=True))


def test_bad_settings(four_users):
    with raises("argument.value") as caught:
        Scoreboard(-1)
    assert "rating_error" in str(caught.value)
    with raises("argument.value") as caught:
        Scoreboard(0, float("nan"))
    assert "date_error" in str(caught.value)
    found = Candidates.from_ratings(four_users)
    for item in (3, -1):
        with raises("argument.value") as caught:
            Scoreboard().attack(found, know([[(item, 4)]]), np.arange(4))
        assert f"position {item}" in str(caught.value)
