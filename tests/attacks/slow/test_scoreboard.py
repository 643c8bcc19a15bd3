from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recveil.attacks import Adversary, Candidates, Knowledge, Scoreboard, draw_knowledge
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale

ERRORS = st.sampled_from([(0, None), (None, None), (1, None), (0, 14), (1, 3), (None, 30)])


def slow_lineup(ratings, knowledge, target, rating_error, date_error):
    """The users whose rows agree with every entry about a target."""
    lineup = []
    for user in range(ratings.n_users):
        row = slice(ratings.indptr[user], ratings.indptr[user + 1])
        place_of = {item: at for at, item in enumerate(ratings.indices[row])}
        agree = True
        for entry in range(knowledge.indptr[target], knowledge.indptr[target + 1]):
            at = place_of.get(knowledge.items[entry])
            agree &= at is not None
            if at is not None and rating_error is not None and knowledge.values is not None:
                apart = abs(float(ratings.values[row][at]) - float(knowledge.values[entry]))
                agree &= apart <= rating_error + 1e-3
            if at is not None and date_error is not None and knowledge.days is not None:
                agree &= abs(ratings.days[row][at] - knowledge.days[entry]) <= date_error
        if knowledge.activity is not None:
            low, high = knowledge.activity[target]
            agree &= low <= len(place_of) <= high
        if agree:
            lineup.append(user)
    return lineup


@settings(deadline=None)  # the first call compiles
@given(
    errors=ERRORS,
    known=st.integers(1, 5),
    n_wrong=st.integers(0, 1),
    activity_error=st.sampled_from([None, 0.0, 0.5]),
    seed=st.integers(0, 1_000),
)
def test_the_same_as_looking_at_every_record(errors, known, n_wrong, activity_error, seed):
    ratings = make_ratings(n_users=20, n_items=12, n_ratings=90, seed=seed)
    adversary = Adversary(*(known, known - n_wrong, "item"), *errors, activity_error=activity_error)
    knowledge = draw_knowledge(ratings, adversary, np.arange(20), seed)
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 20)
    record_of = np.where(rng.random(20) < 0.2, -1, np.arange(20))
    found = replace(Candidates.from_ratings(ratings), sizes=sizes)
    lineups = Scoreboard(*errors).attack(found, knowledge, record_of)
    for t, target in enumerate(knowledge.targets):
        expected = slow_lineup(ratings, knowledge, t, *errors)
        users, own = sizes[expected].sum(), record_of[target] in expected
        assert lineups.records[t] == len(expected)
        assert lineups.tied_users[t] == users
        assert lineups.target_is_top[t] == own
        assert lineups.chance[t] == (1 / users if own else 0)
        assert lineups.bits[t] == np.log2(users if own else sizes.sum())


def test_rounding_very_many_labels_hides_no_user():
    rng = np.random.default_rng(0)
    values = np.sort(rng.uniform(-10, 10, 90_000)).astype(np.float32)
    scale = RatingScale(-10, 10)
    ratings = Ratings.from_columns(np.arange(90_000), np.zeros(90_000, int), values, scale=scale)
    knowledge = draw_knowledge(ratings, Adversary(known=1), np.arange(0, 90_000, 100))
    found = Candidates.from_ratings(ratings)
    assert found.levels.size < np.unique(values).size
    lineups = Scoreboard().attack(found, knowledge, np.arange(90_000))
    assert lineups.target_is_top.all()
    assert lineups.tied_users.max() < 20


def test_full_exact_knowledge_finds_all_users_unique(invented):
    found, everyone = Candidates.from_ratings(invented), np.arange(invented.n_users)
    knowledge = Knowledge(
        targets=everyone,
        indptr=invented.indptr,
        items=invented.indices,
        values=invented.values,
        days=invented.days,
        activity=None,
        skipped=0,
    )
    lineups = Scoreboard(0, 0).attack(found, knowledge, everyone)
    assert (lineups.chance == 1).all()
    assert (lineups.bits == 0).all()


@settings(deadline=None)  # the first call compiles
@given(seed=st.integers(0, 1_000))
def test_more_knowledge_never_enlarges_a_lineup(seed):
    ratings = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=seed)
    found, everyone = Candidates.from_ratings(ratings), np.arange(40)
    knowledge = draw_knowledge(ratings, Adversary(4, date_error=3), everyone, seed)
    first = knowledge.indptr[:-1, None] + np.arange(2)
    less = replace(
        knowledge,
        indptr=2 * np.arange(knowledge.targets.size + 1),
        items=knowledge.items[first].ravel(),
        values=knowledge.values[first].ravel(),
        days=knowledge.days[first].ravel(),
    )
    lineups = [
        Scoreboard(*errors).attack(found, known, everyone).tied_users
        for errors, known in [
            ((None, None), less),
            ((1, 30), less),
            ((0, 3), less),
            ((0, 3), knowledge),
        ]
    ]
    assert all((fewer <= more).all() for more, fewer in pairwise(lineups))
