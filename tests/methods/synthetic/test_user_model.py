"""Users are drawn as the rule says: items in expectation exactly, activity, labels on the grid."""

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from recveil.methods.synthetic import user_model
from recveil.methods.synthetic.user_model import UserModel, draw_users
from recveil.ratings import RatingScale
from recveil.release.synthetic_form import rating_levels, tenths_of

STARS = RatingScale(1, 5, 1)


def rule(n_items=30, n_directions=2, seed=1, scale=STARS, **changed) -> UserModel:
    rng = np.random.default_rng(seed)
    return UserModel(
        offsets=rng.normal(size=n_items).astype(np.float32),
        item_embeddings=(0.6 * rng.normal(size=(n_items, 1 + n_directions))).astype(np.float32),
        activity=np.array([2.0, 3.5, 6.0, 11.0]),
        rating_means=rng.normal(size=n_items),
        cuts=np.linspace(-1.5, 1, rating_levels(scale).size - 1),
        strictness=0.4,
        chance=0.8,
        slopes=np.full(n_directions, 0.3),
        slope_spreads=np.full(n_directions, 0.2),
        scale=scale,
    )._replace(**changed)


def drawn(model, n_users, seed=7, **options):
    """All users in one block: indptr, items and labels."""
    blocks = list(model.draw(n_users, np.random.default_rng(seed), **options))
    counts = np.concatenate([np.diff(block.indptr) for block in blocks])
    items = np.concatenate([block.indices for block in blocks])
    return counts, items, np.concatenate([block.values for block in blocks])


class TestItems:
    def pick(self, odds, activity, n_users, order=None):
        """All users alike, with some log-odds, their sampling started at evenly spread places."""
        n_items = len(odds)
        rows = np.tile(np.exp(np.asarray(odds, np.float32)), (n_users, 1))
        orders = np.arange(n_items)[None] if order is None else np.array([order])
        starts = (np.arange(n_users) + 0.5) / n_users
        picked = np.zeros(rows.shape, bool)
        place = np.zeros(n_users, np.int64)
        user_model._pick(rows, np.full(n_users, activity), orders, place, starts, picked)
        return rows[0], picked

    @pytest.mark.parametrize("activity", [1.0, 2.5, 7.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_each_item_as_often_as_its_chance(self, activity, seed):
        """Over all starts at once: the share of users who have an item is its chance."""
        rng = np.random.default_rng(seed)
        chances, picked = self.pick(rng.normal(size=12), activity, 4_000, rng.permutation(12))
        assert chances.sum() == pytest.approx(activity, abs=1e-3)
        assert picked.mean(axis=0) == pytest.approx(chances, abs=2e-3)
        counts = picked.sum(axis=1)
        assert set(counts) <= {int(np.floor(activity)), int(np.ceil(activity)), int(activity) - 1}
        assert np.isin(counts, [int(activity), int(np.ceil(activity))]).mean() > 0.998

    def test_by_hand(self):
        """Chances of a half each, two of four: every second item, from the first or the second."""
        _, picked = self.pick(np.zeros(4), 2.0, 4)
        assert picked.tolist() == [[True, False] * 2] * 2 + [[False, True] * 2] * 2

    def test_a_user_who_would_have_none_has_the_likeliest(self):
        _, picked = self.pick([-1.0, 2.0, 0.0], 0.01, 1_000)
        assert (picked.sum(axis=1) == 1).all()
        assert picked[:, 1].mean() > 0.98

    def test_counts_of_drawn_users(self):
        model, n = rule(), 20_000
        counts, items, _ = drawn(model, n)
        found = np.bincount(items, minlength=30)
        activity, own = draw_users(
            model.activity, model.item_embeddings, n, np.random.default_rng(7)
        )
        odds = own @ model.item_embeddings.T + model.offsets
        low, high = np.full(n, -30.0), np.full(n, 30.0)
        for _ in range(60):
            middle = (low + high) / 2
            fewer = (1 / (1 + np.exp(-odds - middle[:, None]))).sum(axis=1) < activity
            low, high = np.where(fewer, middle, low), np.where(fewer, high, middle)
        chances = 1 / (1 + np.exp(-odds - low[:, None]))
        spread = np.sqrt((chances * (1 - chances)).sum(axis=0))
        assert (np.abs(found - chances.sum(axis=0)) < 5 * spread).all()
        assert counts.sum() == items.size

    def test_more_than_there_are(self):
        counts, _, _ = drawn(rule(n_items=5, activity=np.array([40.0])), 50)
        assert counts.max() <= 5
        assert counts.min() >= 4


class TestUsers:
    def test_activity_is_kept(self):
        model = rule()
        counts, _, _ = drawn(model, 4_000)
        wanted = np.quantile(model.activity, (np.arange(4_000) + 0.5) / 4_000)
        assert np.sort(counts) == pytest.approx(np.sort(wanted), abs=1.001)
        assert counts.mean() == pytest.approx(wanted.mean(), rel=0.01)

    @pytest.mark.parametrize("n_users", [1, 2, 3, 17])
    def test_no_user_without_a_rating(self, n_users):
        counts, _, _ = drawn(rule(activity=np.array([1.0])), n_users)
        assert counts.size == n_users
        assert counts.min() >= 1

    def test_embeddings_are_exactly_spread(self):
        _, own = draw_users(rule().activity, rule().item_embeddings, 500, np.random.default_rng(2))
        others = own[:, 1:]
        assert others.mean(axis=0) == pytest.approx(0, abs=1e-6)
        assert others.T @ others / 500 == pytest.approx(np.eye(2), abs=1e-5)

    def test_users_with_one_embedding_have_the_same_items_more_often(self):
        item_embeddings = np.zeros((30, 2), np.float32)
        item_embeddings[:15, 1], item_embeddings[15:, 1] = 2, -2
        counts, items, _ = drawn(rule(item_embeddings=item_embeddings, n_directions=1), 2_000)
        first = np.bincount(np.repeat(np.arange(2_000), counts), items < 15) / counts
        assert np.abs(first - 0.5).mean() > 0.3

    def test_one_item_and_no_direction(self):
        model = rule(n_items=1, n_directions=0, activity=np.array([1.0]))
        counts, items, labels = drawn(model, 40)
        assert (counts == 1).all()
        assert not items.any()
        assert np.isfinite(labels).all()

    def test_blocks_make_no_gap(self, monkeypatch):
        monkeypatch.setattr(user_model, "_CELLS", 30 * 7)
        blocks = list(rule().draw(50, np.random.default_rng(1)))
        assert [len(block) for block in blocks] == [7] * 7 + [1]
        assert all((block.sizes == 1).all() for block in blocks)
        for block in blocks:
            for start, end in zip(block.indptr[:-1], block.indptr[1:], strict=True):
                assert (np.diff(block.indices[start:end]) > 0).all()


class TestLabels:
    SCALES = (STARS, RatingScale(0, 1, 1), RatingScale(0.5, 5, 0.5), RatingScale(0, 100, 1))

    @pytest.mark.parametrize("scale", SCALES, ids=str)
    @pytest.mark.parametrize("whole", [True, False])
    def test_on_the_grid_and_on_the_scale(self, scale, whole):
        _, _, labels = drawn(rule(scale=scale), 300, whole=whole)
        grid = scale.step if whole else tenths_of(scale)
        steps = (labels - scale.low) / grid
        assert np.abs(steps - np.rint(steps)).max() < 1e-6
        assert labels.min() >= scale.low
        assert labels.max() <= scale.high

    def test_a_scale_without_steps(self):
        scale = RatingScale(-10, 10)
        _, _, labels = drawn(rule(scale=scale), 300)
        steps = (labels + 10) / 0.1
        assert np.abs(steps - np.rint(steps)).max() < 1e-6

    def test_whole_labels_are_as_often_as_the_cuts_say(self):
        """Without item means, slopes and embeddings: the normal distribution between the cuts."""
        model = rule(
            n_directions=0,
            rating_means=np.zeros(30),
            strictness=0.6,
            cuts=np.array([-1, 0, 0.5, 1]),
        )
        _, _, labels = drawn(model, 20_000, whole=True)
        found = np.bincount(labels.astype(int), minlength=6)[1:] / labels.size
        assert found == pytest.approx([0.1587, 0.3413, 0.1915, 0.1499, 0.1587], abs=0.015)

    @pytest.mark.parametrize(("tilt", "liking"), [(0.4, 0.2), (0.2, 0.2), (-0.3, 0.0), (0.0, 0.4)])
    def test_embeddings_take_their_part_of_the_spread_from_chance(self, tilt, liking):
        """With strong embeddings, too, labels are as often as the cuts say."""
        item_embeddings = np.random.default_rng(4).normal(size=(30, 3)).astype(np.float32)
        item_embeddings[:, 0] = 0
        model = rule(
            item_embeddings=item_embeddings,
            rating_means=np.zeros(30),
            strictness=0.6,
            cuts=np.array([-1, 0, 0.5, 1]),
            slopes=np.full(2, tilt),
            slope_spreads=np.full(2, liking),
        )
        _, _, labels = drawn(model, 20_000, whole=True)
        found = np.bincount(labels.astype(int), minlength=6)[1:] / labels.size
        assert found == pytest.approx([0.1587, 0.3413, 0.1915, 0.1499, 0.1587], abs=0.03)
        assert model._probability_without_embedding(np.arange(30)[None]) < 0.9 * model.chance

    def test_chance_is_never_gone(self):
        item_embeddings = np.full((30, 2), 9, np.float32)
        left = rule(item_embeddings=item_embeddings, n_directions=1)._probability_without_embedding(
            np.arange(30)[None]
        )
        assert left == pytest.approx(0.8 * np.sqrt(0.2))

    def test_ratings_follow_embeddings_as_far_as_they_are_set_to(self):
        item_embeddings = np.zeros((30, 2), np.float32)
        item_embeddings[:15, 1], item_embeddings[15:, 1] = 1, -1
        gaps = []
        for tilt in (0.4, 0.2, -0.2):
            model = rule(
                item_embeddings=item_embeddings,
                n_directions=1,
                rating_means=np.zeros(30),
                slopes=np.array([tilt]),
            )
            counts, items, labels = drawn(model, 4_000)
            users = np.repeat(np.arange(4_000), counts)
            first = np.bincount(users, items < 15) / counts
            # A user who rates more of one half than usual likes its items better.
            leaning = (first - first.mean())[users] * np.where(items < 15, 1, -1)
            gaps.append(np.corrcoef(leaning, labels)[0, 1])
        assert gaps[0] > gaps[1] + 0.03 > 0.1
        assert gaps[2] < -0.05

    def test_users_who_like_an_item_like_its_neighbours(self):
        """Liking alone: who chooses what is not changed, but labels of a user go together."""
        item_embeddings = np.zeros((30, 2), np.float32)
        item_embeddings[:15, 1], item_embeddings[15:, 1] = 1, -1
        together = []
        for liking in (0.0, 0.5):
            model = rule(
                item_embeddings=item_embeddings,
                n_directions=1,
                rating_means=np.zeros(30),
                slopes=np.zeros(1),
            )
            model = model._replace(slope_spreads=np.array([liking]), strictness=1e-3)
            counts, items, labels = drawn(model, 4_000)
            users = np.repeat(np.arange(4_000), counts)
            off = (labels - labels.mean()) * np.where(items < 15, 1, -1)
            together.append(np.var(np.bincount(users, off) / np.sqrt(counts)) / np.var(labels))
        assert together[0] == pytest.approx(1, abs=0.1)
        assert together[1] > 1.5

    def test_tenths_have_the_same_mean_and_likes(self):
        model = rule()
        whole = drawn(model, 20_000, whole=True)[2]
        tenths = drawn(model, 20_000)[2]
        assert tenths.mean() == pytest.approx(whole.mean(), abs=0.02)
        assert (tenths >= 4).mean() == pytest.approx((whole >= 4).mean(), abs=0.02)

    def test_better_items_have_better_labels(self):
        model = rule(rating_means=np.linspace(-2, 2, 30))
        _, items, labels = drawn(model, 5_000)
        means = np.bincount(items, labels) / np.bincount(items)
        assert np.corrcoef(means, model.rating_means)[0, 1] > 0.95


class TestRepeatable:
    def test_the_same_draw_the_same_users(self):
        first, second = drawn(rule(), 500), drawn(rule(), 500)
        assert all((one == other).all() for one, other in zip(first, second, strict=True))
        assert not np.array_equal(first[1], drawn(rule(), 500, seed=8)[1])

    def test_the_threads_have_no_say(self):
        model = rule(n_items=200, n_directions=5)
        before = drawn(model, 3_000)
        try:
            for threads in range(1, numba.config.NUMBA_NUM_THREADS + 1):
                numba.set_num_threads(threads)
                with threadpool_limits(threads):
                    found = drawn(model, 3_000)
                assert all((one == other).all() for one, other in zip(before, found, strict=True))
        finally:
            numba.set_num_threads(1)
