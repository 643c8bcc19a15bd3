from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import (
    Adversary,
    Candidates,
    Knowledge,
    draw_knowledge,
    homogeneity,
    label_based,
    match_known_ratings,
    structure_based,
)
from recveil.datasets import make_ratings
from recveil.ratings import Ratings, RatingScale
from recveil.release.records import Records, item_keys

ITEMS = ["English Patient", "Godfather", "Pretty in Pink", "Star Wars"]
ENGLISH_PATIENT, GODFATHER, PRETTY_IN_PINK, STAR_WARS = range(4)
_, BEN, TIM, ALICE = range(4)


@pytest.fixture
def figure_1():
    """Chang et al., Figure 1 (a), put together from what the text says about it."""
    rows = [
        ("0001", "Star Wars", 4),
        ("0001", "Godfather", 5),
        ("0002", "Godfather", 4),
        ("0002", "English Patient", 5),
        ("0003", "English Patient", 1),
        ("0004", "Pretty in Pink", 3),
        ("0004", "Star Wars", 5),
    ]
    ratings = Ratings.from_columns(*zip(*rows, strict=True), scale=RatingScale(1, 5, 1))
    assert ratings.items.tolist() == ITEMS
    return Candidates.from_ratings(ratings)


@pytest.fixture
def figure_1b():
    """Chang et al., Figure 1 (b): 0001 and 0002 share one row, 0003 and 0004 the other."""
    records = Records(
        sizes=np.array([2, 2]),
        indptr=np.array([0, 3, 6]),
        indices=np.array(
            [ENGLISH_PATIENT, GODFATHER, STAR_WARS, ENGLISH_PATIENT, PRETTY_IN_PINK, STAR_WARS],
            np.int32,
        ),
        values=np.array([5, 4.5, 4, 1, 3, 5]),
    )
    return Candidates.from_records([records], n_items=4, scale=RatingScale(1, 5, 1))


def know(target, **labels):
    """What is known about one target: items with their labels."""
    return Knowledge(
        targets=np.array([target]),
        indptr=np.array([0, len(labels)]),
        items=np.array([globals()[name.upper()] for name in labels], np.int32),
        values=np.array(list(labels.values()), np.float32),
        days=None,
        activity=None,
        skipped=0,
    )


def test_ben_is_found_by_the_structure(figure_1):
    about_ben = know(BEN, godfather=1, english_patient=1)  # labels are not compared
    matches = structure_based(figure_1, about_ben, np.arange(4))
    assert matches.n_users.tolist() == [1]
    assert matches.probability.tolist() == [1]
    assert label_based(figure_1, about_ben, np.arange(4)).n_users.tolist() == [0]


def test_tim_is_found_by_the_label(figure_1):
    about_tim = know(TIM, english_patient=1)
    assert structure_based(figure_1, about_tim, np.arange(4)).probability.tolist() == [0.5]
    assert label_based(figure_1, about_tim, np.arange(4)).probability.tolist() == [1]


def test_alice_is_found_by_one_rare_film(figure_1):
    about_alice = know(ALICE, pretty_in_pink=3)
    assert structure_based(figure_1, about_alice, np.arange(4)).unique_share == 1


def test_the_anonymized_graph_hides_them_in_two_but_reveals_the_profile(figure_1b):
    record_of = np.array([0, 0, 1, 1])
    for knowledge in (
        know(BEN, godfather=4, english_patient=5),
        know(TIM, english_patient=1, pretty_in_pink=3),
        know(ALICE, pretty_in_pink=3),
    ):
        matches = structure_based(figure_1b, knowledge, record_of)
        assert (matches.n_users.tolist(), matches.probability.tolist()) == ([2], [0.5])
        assert matches.unique_share == 0
        structure = replace(knowledge, values=None)
        assert homogeneity(figure_1b, structure, record_of).found.tolist() == [True]


@pytest.fixture
def six_users():
    """Three with the same row, two who differ from them in b, one with a c more."""
    rows = ["a5 b3", "a5 b3", "a5 b4", "a5 b4", "a5 b3", "a5 b3 c1"]
    labels = [
        (user, label[0], int(label[1])) for user, row in enumerate(rows) for label in row.split()
    ]
    return Ratings.from_columns(*zip(*labels, strict=True))


def about(target, *entries):
    return replace(
        know(target),
        indptr=np.array([0, len(entries)]),
        items=np.array([item for item, _ in entries], np.int32),
        values=np.array([value for _, value in entries], np.float32),
    )


@pytest.mark.parametrize(
    ("target", "entries", "profiles", "users", "found"),
    [
        (0, [(0, 5)], 3, 6, False),
        (2, [(0, 5), (1, 4)], 1, 2, True),
        (0, [(1, 3)], 2, 4, False),  # a5 b3 and a5 b3 c1
        (5, [(2, 1)], 1, 1, True),
        (0, [(2, 1)], 1, 1, False),  # all identical, but not theirs
        (0, [(2, 5)], 0, 0, False),
    ],
)
def test_homogeneity_by_hand(six_users, target, entries, profiles, users, found):
    attacked = homogeneity(
        Candidates.from_ratings(six_users), about(target, *entries), np.arange(6)
    )
    assert attacked.profiles.tolist() == [profiles]
    assert attacked.n_users.tolist() == [users]
    assert attacked.found.tolist() == [found]
    assert attacked.found_share == found


@settings(deadline=None)  # the first call compiles
@given(known=st.integers(1, 3), seed=st.integers(0, 1_000))
def test_homogeneity_is_the_same_as_comparing_the_compatible_rows(known, seed):
    ratings = make_ratings(n_users=30, n_items=5, n_ratings=60, seed=seed)
    rows = [set(zip(*map(np.ndarray.tolist, ratings.row(u)), strict=True)) for u in range(30)]
    record_of = np.where(np.random.default_rng(seed).random(30) < 0.2, -1, np.arange(30))
    knowledge = draw_knowledge(ratings, Adversary(known=known), np.arange(30), seed)
    attacked = homogeneity(Candidates.from_ratings(ratings), knowledge, record_of)
    for t, target in enumerate(knowledge.targets):
        entries = slice(knowledge.indptr[t], knowledge.indptr[t + 1])
        subgraph = set(
            zip(knowledge.items[entries].tolist(), knowledge.values[entries].tolist(), strict=True)
        )
        compatible = [user for user, row in enumerate(rows) if subgraph <= row]
        profiles = {frozenset(rows[user]) for user in compatible}
        assert attacked.n_users[t] == len(compatible)
        assert attacked.profiles[t] == len(profiles)
        assert attacked.found[t] == (len(profiles) == 1 and record_of[target] in compatible)


def test_digests_of_records_serve_as_classes(six_users):
    block = Records(
        np.ones(6, np.int64), six_users.indptr, six_users.indices, six_users.values.astype(float)
    )
    digests = np.array(block.digests(item_keys(six_users.items)))
    class_of = np.unique(digests, return_inverse=True)[1]
    found = Candidates.from_ratings(six_users)
    knowledge = draw_knowledge(six_users, Adversary(known=2), np.arange(6))
    given_classes = homogeneity(found, knowledge, np.arange(6), class_of)
    own_classes = homogeneity(found, knowledge, np.arange(6))
    assert all(map(np.array_equal, given_classes, own_classes))
    with raises("argument.shape") as caught:
        homogeneity(found, knowledge, np.arange(6), class_of[:5])
    assert "(5,)" in str(caught.value)


def test_the_label_based_attack_needs_labels(six_users):
    knowledge = draw_knowledge(six_users, Adversary(2, rating_error=None), np.arange(6))
    found = Candidates.from_ratings(six_users)
    with raises("argument.value"):
        label_based(found, knowledge, np.arange(6))
    assert structure_based(found, knowledge, np.arange(6)).n_users.max() == 6


def test_skipped_targets_count_as_not_found(six_users):
    found = Candidates.from_ratings(six_users)
    knowledge = draw_knowledge(six_users, Adversary(known=3), np.arange(6))
    matches = label_based(found, knowledge, np.arange(6))
    assert (matches.requested, matches.skipped, matches.unique_share) == (6, 5, 1 / 6)
    attacked = homogeneity(found, knowledge, np.arange(6))
    assert (attacked.requested, attacked.skipped, attacked.found_share) == (6, 5, 1 / 6)
    no_user = draw_knowledge(six_users, Adversary(known=3), np.arange(0))
    assert label_based(found, no_user, np.arange(6)).unique_share == 0
    assert homogeneity(found, no_user, np.arange(6)).found_share == 0


def test_labels_never_help_less_than_the_structure(invented):
    found, everyone = Candidates.from_ratings(invented), np.arange(invented.n_users)
    knowledge = draw_knowledge(invented, Adversary(known=4), everyone)
    by_structure = structure_based(found, knowledge, everyone)
    by_value = label_based(found, knowledge, everyone)
    assert (by_value.n_users <= by_structure.n_users).all()
    assert (by_value.n_users >= 1).all()
    assert (homogeneity(found, knowledge, everyone).profiles <= by_value.records).all()


def test_match_known_ratings_by_hand(six_users):
    matches = match_known_ratings(six_users, known=2)
    # Of the last one, a5 b3, a5 c1 or b3 c1 may be known.
    assert matches.n_users[:5].tolist() == [4, 4, 2, 2, 4]
    assert matches.n_users[5] in (1, 4)
    with raises("option.value") as caught:
        match_known_ratings(six_users, known=0)
    assert "known" in str(caught.value)


def test_full_exact_knowledge_finds_everyone_who_is_unique():
    ratings = make_ratings(n_users=60, n_items=20, n_ratings=240, seed=2)
    rows = [set(zip(*ratings.row(user), strict=True)) for user in range(60)]
    for length in np.unique(ratings.activity):
        matches = match_known_ratings(ratings, int(length))
        targets = np.flatnonzero(ratings.activity >= length)
        for users, user in zip(matches.n_users, targets, strict=True):
            if ratings.activity[user] == length:
                assert users == sum(rows[user] <= row for row in rows)
