"""Membership scores by dates and attributes, by hand, and where these alone reveal members."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.knowledge import know_everything
from recveil.attacks.membership.profiles import score_by_attributes, score_by_periods
from recveil.auditing.shadow_releases import attack_by_shadows
from recveil.methods.published_users import DeclaredAttributes, public_columns
from recveil.publish.release import Release
from recveil.ratings import Ratings, RatingScale
from recveil.release.claim import Claim
from recveil.release.records import Groups, Records
from recveil.release.sides import Private, Published
from recveil.release.user_table import UserTable

SCALE, ABOUT = RatingScale(1, 5, 1), public_columns(["group=a,b"])
N_USERS, N_ITEMS, PERIOD = 80, 40, 31


def released(ratings, chosen, *, days=None, texts=None):
    """Return a release of rows of equal values, a row a user."""
    counts = chosen.sum(axis=1)
    rows = Records(
        np.ones(len(chosen), np.int64),
        np.concatenate([[0], np.cumsum(counts)]),
        np.nonzero(chosen)[1].astype(np.int32),
        np.full(counts.sum(), 3.0),
        days=days,
    )
    settings = {"method": "sparse rows", "cluster_size": 20, "value_step": 0.1}
    sizes = np.ones(len(chosen), np.int64)
    published = Published(
        claim=Claim("identical-rows", 1),
        items=ratings.items,
        scale=ratings.scale,
        settings=settings | ({} if days is None else {"dates": "month"}),
        n_users=len(chosen),
        prefix="p0000-",
        blocks=lambda: iter([rows]),
        default_layout="users",
        user_table=None if texts is None else UserTable(ABOUT, {"group": texts}, sizes),
    )
    groups = Groups.from_labels(np.arange(len(chosen)))
    return Release(published, Private(users=ratings.users, groups=groups, seed=0))


def target_of(ratings, **next_to):
    return AttackTarget.from_release(
        released(ratings, np.ones((ratings.n_users, ratings.n_items), bool), **next_to), ratings
    )


def test_periods_by_hand():
    """Of three users, two rate the item in the first month, and one in the third."""
    ratings = Ratings.from_columns([1, 2, 3], [7, 7, 7], [3, 3, 3], [9, 70, 20], scale=SCALE)
    firsts = np.array([0, 0, 59], np.int32)
    table = target_of(ratings, days=firsts)
    scores = score_by_periods(table, know_everything(ratings, np.arange(3), has_dates=True))
    early, late = np.log((2 + 2 / 3) / 4), np.log((1 + 1 / 3) / 4)
    assert scores["periods, fit"] == pytest.approx([early, late, early])
    assert scores["periods, excess"] == pytest.approx([2 / 4 - 2 / 3, 1 / 4 - 1 / 3, 2 / 4 - 2 / 3])
    early, late = np.log(3 / 5), np.log(2 / 5)
    assert scores["periods, first"] == pytest.approx([early, late, early])
    assert scores["periods, last"] == pytest.approx([early, late, early])
    assert not score_by_periods(
        replace(table, days=None), know_everything(ratings, np.arange(3), has_dates=True)
    )


def test_attributes_by_hand():
    """Both released users of group a have the item, and so has the one of group b."""
    ratings = Ratings.from_columns([1, 2, 3], [7, 7, 7], [3, 3, 3], scale=SCALE)
    table = target_of(ratings, texts=["a", "a", "b"])
    has = sparse.csr_array(np.ones((3, 1)))
    scores = score_by_attributes(table, has, {"group": ["a", "b", "c"]})
    assert scores["group, share"] == pytest.approx(np.log([3 / 6, 2 / 6, 1 / 6]))
    fits = np.log([3, 2, 1]) + np.log([3 / 3, 2 / 2, 1 / 1])  # values a, b and *
    assert scores["group, fit"] == pytest.approx(fits - np.log(6), abs=1e-6)
    assert scores["group, doubt 0.03"] == pytest.approx([0, 0, 0])
    assert not score_by_attributes(table, has, {"region": ["a", "b", "c"]})


class PermutedDates:
    """Publishes the months of each item in random order, so that no row has a user's."""

    dates = "month"

    def __init__(self, seed, *, of_others):
        self.seed, self.of_others = seed, of_others

    def anonymize(self, ratings):
        rng, shape = np.random.default_rng(self.seed), (ratings.n_users, N_ITEMS)
        days = ratings.days.reshape(shape) // PERIOD
        days = rng.integers(0, 6, shape) if self.of_others else rng.permuted(days, axis=0)
        days = (days * PERIOD).astype(np.int32).ravel()
        return released(ratings, np.ones(shape, bool), days=days)


@pytest.mark.parametrize("of_others", [False, True])
def test_dates_alone_reveal_members(of_others):
    """All users rate all items alike, at random times."""
    users, items = np.divmod(np.arange(N_USERS * N_ITEMS), N_ITEMS)
    days = np.random.default_rng(1).integers(0, 6, users.size) * PERIOD + 15
    threes = np.full(users.size, 3)
    ratings = Ratings.from_columns(users, items, threes, days, scale=SCALE)
    found = attack_by_shadows(ratings, lambda seed: PermutedDates(seed, of_others=of_others), 8)
    for known, least in (("8", 0.75), ("all", 0.9)):
        auc = found.by_known[known].inferred.auc
        assert auc.low < 0.5 < auc.high if of_others else auc.low > least
        assert found.by_known[known].null_auc.low < 0.5 < found.by_known[known].null_auc.high


class Associated:
    """Publishes the same rows each time, with groups that are associated with items as members'."""

    def __init__(self, seed, attributes, *, of_others):
        self.seed, self.attributes, self.of_others = seed, attributes, of_others

    def anonymize(self, ratings):
        is_a = np.array(self.attributes.of(ratings.users).columns["group"]) == "a"
        is_a = np.random.default_rng(self.seed).permutation(is_a) if self.of_others else is_a
        chosen = np.random.default_rng(5).random((ratings.n_users, N_ITEMS)) < 0.4
        leaning = ((ratings.csr.toarray() > 0) - 0.4).T @ (2.0 * is_a - 1)
        texts = np.where((chosen - 0.4) @ leaning > 0, "a", "b").tolist()
        return released(ratings, chosen, texts=texts)


@pytest.mark.parametrize("of_others", [False, True])
def test_attributes_alone_reveal_members(of_others):
    rng = np.random.default_rng(1)
    users, items = np.nonzero(rng.random((N_USERS, N_ITEMS)) < 0.4)
    ratings = Ratings.from_columns(users, items, np.full(users.size, 3), scale=SCALE)
    texts = {"group": rng.choice(["a", "b"], N_USERS).tolist()}
    attributes = DeclaredAttributes(ratings.users, texts, ABOUT, 1)

    def attack(known):
        found = attack_by_shadows(
            *(ratings, lambda seed: Associated(seed, attributes, of_others=of_others), 16),
            attributes=known,
        )
        assert found.has_attributes == (known is not None)
        return found.by_known["all"]

    found = attack(attributes)
    auc, null = found.inferred.auc, found.null_auc
    assert auc.low < 0.5 < auc.high if of_others else auc.low > 0.6
    assert null.low < 0.5 < null.high
    assert attack(None).inferred.auc.rate == 0.5
