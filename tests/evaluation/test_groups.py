"""Utility by group: values by hand, a null and a planted gap."""

from dataclasses import replace

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.evaluation import Evaluator, evaluate, split_ratings
from recveil.evaluation.groups import MIN_JUDGED, Division, divide, read_divisions, widest
from recveil.evaluation.recipient import ByPopularity, PerUserUtility, Served, Utility
from recveil.evaluation.retained import Measured
from recveil.methods import PredictiveAnonymizer
from recveil.ratings import Ratings
from recveil.report.document import plain
from recveil.report.evaluation.groups import describe_widest, group_grids

ONE = "kNN"


def served(ndcg, squares, cells=None, by_popularity=None):
    ndcg, squares = np.asarray(ndcg, float), np.asarray(squares, float)
    cells = np.ones(ndcg.size, int) if cells is None else cells
    mean = float(np.nanmean(ndcg))
    utility = Utility(1.0, 1.0, mean, 0.0, 0.0, 10, 1, 1, 0, (), 1.0)
    per_user = PerUserUtility(cells, {ONE: squares}, {ONE: ndcg}, by_popularity)
    return Served({ONE: utility}, ONE, ONE, per_user)


def table(n):
    """Half of the users rate one item, which all rate; the others two."""
    users = np.concatenate([np.arange(n), np.arange(n // 2, n)])
    items = np.concatenate([np.zeros(n, int), np.ones(n - n // 2, int)])
    values = np.tile([5, 4], users.size)[: users.size]
    return Ratings.from_columns(users, items, values, scale="1:5:1")


def by_name(divisions):
    return {one.name: one for one in divisions}


def test_figures_and_gaps_by_hand():
    n = 80
    low = np.arange(n) < 40
    raw = served(np.where(low, 0.4, 0.5), np.where(low, 1.21, 1.0))
    release = served(np.where(low, 0.1, 0.25), np.where(low, 2.25, 1.44))
    attributes = {"plan": ["a" if is_low else "b" for is_low in low]}
    found = by_name(divide(table(n), np.arange(n), raw, release, attributes))
    a, b = found["plan"].groups
    assert (a.name, a.n_users, b.n_users) == ("a", 40, 40)
    assert (a.retained.value, b.retained.value) == pytest.approx((0.25, 0.5))
    assert (a.raw_rmse.value, a.rmse.value, b.rmse.value) == pytest.approx((1.1, 1.5, 1.2))
    lists, ratings = found["plan"].lists, found["plan"].ratings
    assert (lists.worst, lists.best, ratings.worst, ratings.best) == ("a", "b", "a", "b")
    assert (lists.release.value, lists.raw.value) == pytest.approx((0.6, 0.2))
    assert lists.adds.value == pytest.approx(0.4)
    assert (ratings.release.value, ratings.raw.value) == pytest.approx((0.25, 0.1))
    # All users of a group are alike, so that their choice changes nothing.
    assert lists.adds.low == lists.adds.value == lists.adds.high
    # The same users by number of ratings: the first and the last quarter.
    groups = found["user count"].groups
    assert [(group.name, group.n_users) for group in groups] == [
        ("newcomers", 40),
        ("heavy users", 40),
    ]
    assert groups[0].highest == 1
    assert found["user count"].lists.worst == "newcomers"
    assert found["user count"].too_few == ()
    assert [group.name for group in found["taste"].groups] == ["niche tastes", "mainstream tastes"]
    assert "item count" not in found
    assert widest(found.values())[1].adds.value == pytest.approx(0.4)
    # What is added by chance alone, however much, does not hide what is added.
    division = found["user count"]
    gap = division.lists
    by_chance = gap._replace(adds=Measured(0.9, -0.1, 1.9), release=Measured(0.95, 0.9, 1.0))
    other = replace(division, name="coin", lists=by_chance)
    assert widest([other, division])[0] is division
    unclear = replace(division, lists=gap._replace(adds=Measured(0.01, -0.1, 0.1)))
    assert widest([unclear, other])[0] is other


def test_items_by_hand():
    n = 40
    cells = np.tile([2, 2, 2], (n, 1))
    sides = [
        ByPopularity(
            *((3.0, 9.0), cells, np.tile([1, 1, 2], (n, 1))),
            *({ONE: np.tile(squares, (n, 1))}, {ONE: np.tile(gains, (n, 1))}),
        )
        for squares, gains in (
            ([2.0, 2.0, 2.0], [0.2, 0.5, 1.0]),
            ([8.0, 2.0, 2.0], [0.0, 0.25, 1.0]),
        )
    ]
    raw, release = (served(np.full(n, 0.5), np.ones(n), cells.sum(axis=1), side) for side in sides)
    items = by_name(divide(table(n), np.arange(n), raw, release))["item count"]
    assert [group.raw_lists.value for group in items.groups] == pytest.approx([0.2, 0.5, 0.5])
    assert [group.retained.value for group in items.groups] == pytest.approx([0, 0.5, 1])
    assert (items.lists.worst, items.lists.best) == ("rare items", "popular items")
    assert (items.lists.release.value, items.lists.raw.value) == pytest.approx((1, 0.6))
    assert (items.ratings.worst, items.ratings.release.value) == ("rare items", pytest.approx(1))


def test_few_users_have_no_figure():
    n = 2 * MIN_JUDGED
    raw = served(np.full(n, 0.5), np.ones(n))
    codes = ["a"] * (MIN_JUDGED - 1) + ["b"] * (MIN_JUDGED + 1)
    plan = by_name(divide(table(n), np.arange(n), raw, raw, {"plan": codes}))["plan"]
    assert plan.lists is None
    assert plan.too_few == ("a",)
    assert np.isnan(plan.groups[0].retained.value)
    assert plan.groups[1].retained.value == 1
    assert "No gap" in describe_widest([plan])


def draws(seed, n=400):
    rng = np.random.default_rng(seed)
    raw = np.clip(rng.normal(0.4, 0.2, n), 0, 1)
    release = np.clip(raw * rng.uniform(0.4, 1.0, n) + rng.normal(0, 0.02, n), 0, 1)
    return rng, raw, release


def test_random_groups_have_the_gap_of_the_control():
    inside, zero = [], []
    for seed in range(40):
        rng, raw, release = draws(seed)
        codes = rng.choice(["a", "b", "c"], raw.size).tolist()
        sides = served(raw, 1 + raw), served(release, 1 + release)
        gap = by_name(divide(table(400), np.arange(400), *sides, {"plan": codes}))["plan"].lists
        inside.append(gap.release.low <= gap.raw.value <= gap.release.high)
        zero.append(gap.adds.low <= 0 <= gap.adds.high)
    assert np.mean(inside) >= 0.9
    assert np.mean(zero) >= 0.9


def test_a_planted_harm_is_found():
    for seed in range(10):
        rng, raw, release = draws(seed)
        harmed = rng.random(raw.size) < 0.3
        release = np.where(harmed, release / 2, release)
        codes = np.where(harmed, "harmed", "others").tolist()
        sides = served(raw, 1 + raw), served(release, 1 + release)
        gap = by_name(divide(table(400), np.arange(400), *sides, {"plan": codes}))["plan"].lists
        assert gap.worst == "harmed"
        assert gap.adds.low > 0.2


@pytest.mark.usefixtures("few_recommenders")
class TestReleases:
    def test_the_parts_sum_to_the_whole_and_survive_json(self):
        split = split_ratings(make_ratings(n_users=160, n_items=50, n_ratings=3_000, seed=1))
        release = PredictiveAnonymizer(k=5, seed=1).anonymize(split.train)
        plans = ["a" if user % 2 else "b" for user in range(160)]
        judge = Evaluator(split, with_membership=False, n_targets=20, attributes={"plan": plans})
        result = judge.evaluate(release)
        per_user = result.release.per_user
        thirds, chosen = per_user.by_popularity, result.release.chosen
        assert thirds.cells.sum() == split.test.users.size
        np.testing.assert_allclose(
            thirds.squares[chosen].sum(axis=1), per_user.squares[chosen], atol=1e-12
        )
        assert list(by_name(result.divisions)) == ["user count", "taste", "item count", "plan"]
        assert sum(group.n_users for group in result.divisions[0].groups) == result.n_served
        again = read_divisions(result.to_dict()["divisions"])
        assert plain(again) == plain(result.divisions)

    def test_raw_adds_nothing(self):
        split = split_ratings(make_ratings(n_users=160, n_items=50, n_ratings=3_000, seed=1))
        judge = Evaluator(split, with_membership=False, n_targets=20)
        raw = judge.raw
        alike = raw._replace(ranker=raw.best_ranker)
        for one in divide(split.train, np.unique(split.test.users), raw, alike):
            assert one.lists.adds[:3] == (0, 0, 0)
            assert one.ratings.adds[:3] == (0, 0, 0)


def test_users_need_an_attribute():
    with raises("option.required"):
        evaluate("ratings.csv", "out", split=0.2, users="users.csv")


def test_no_table_is_made_of_divisions_without_groups():
    assert group_grids([]) == group_grids([Division("user count", (), None, None)]) == []
