"""Sparse rows: what is drawn, what is promised, and what they do not reveal."""

import itertools

import numba
import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import Adversary
from recveil.attacks.attack_target import AttackTarget
from recveil.attacks.reidentification.on_release import attack_release
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer, SparseRows
from recveil.methods.rare_items import pooled_items
from recveil.methods.registry import same_again, summarize
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest import Manifest
from recveil.report.release import describe_summary
from recveil.verification import verify


def rows_of(release):
    """Items and labels of each published row, in order."""
    return [
        (block.indices[start:end], block.values[start:end])
        for block in release.published.blocks()
        for start, end in itertools.pairwise(block.indptr)
    ]


def users_of(release, n_items):
    all_users = np.zeros(n_items)
    for block in release.published.blocks():
        behind = np.repeat(block.sizes, np.diff(block.indptr))
        all_users += np.bincount(block.indices, weights=behind, minlength=n_items)
    return all_users


@pytest.fixture(scope="module")
def fans():
    """Eighty users: half of them rate items 0 to 29 with 5, the others 30 to 59 with 1."""
    rng = np.random.default_rng(3)
    users, items, values = [], [], []
    for user in range(80):
        block = user % 2
        chosen = 30 * block + rng.choice(30, 12, replace=False)
        users += [user] * 12
        items += chosen.tolist()
        values += [1 if block else 5] * 12
    return Ratings.from_columns(users, items, values, scale=RatingScale(1, 5, 1))


class TestRows:
    def test_items_are_counted_nearly_as_often_as_rated(self, invented):
        release = SparseRows(5, seed=1).anonymize(invented)
        off = np.abs(users_of(release, invented.n_items) - invented.support)
        assert off.mean() < 2.5
        assert off.max() <= 2 * release.private.groups.sizes.max()

    def test_rows_are_as_long_as_users_are_active(self, invented):
        release = SparseRows(5, seed=1).anonymize(invented)
        lengths = np.array([items.size for items, _ in rows_of(release)])
        quantiles = np.linspace(0.1, 0.9, 9)
        drawn, real = np.quantile(lengths, quantiles), np.quantile(invented.activity, quantiles)
        assert np.abs(drawn - real).max() < 0.35 * invented.activity.mean()

    @pytest.mark.parametrize("seed", range(4))
    def test_what_is_left_out_makes_no_row_longer(self, seed):
        """All users rated fifteen items that many know; twenty rated a thousand of their own."""
        rng = np.random.default_rng(0)
        items = [rng.choice(60, 15, replace=False).tolist() for _ in range(400)]
        for heavy in range(20):
            items[heavy] += range(1000 * (heavy + 1), 1000 * (heavy + 2))
        users = np.repeat(np.arange(400), [len(own) for own in items])
        values = rng.integers(1, 6, users.size)
        scale = RatingScale(1, 5, 1)
        ratings = Ratings.from_columns(users, np.concatenate(items), values, scale=scale)
        lengths = np.array(
            [items.size for items, _ in rows_of(SparseRows(5, seed=seed).anonymize(ratings))]
        )
        assert abs(lengths.mean() - 15) < 0.5
        assert lengths.min() >= 5
        assert lengths.max() <= 27  # four standard deviations of what is drawn

    def test_users_without_kept_ratings_do_not_count_for_lengths(self):
        """Half of the users rated but items of their own: rows hold what the others rated."""
        rng = np.random.default_rng(0)
        items = [rng.choice(40, 10, replace=False) for _ in range(60)]
        items += [np.arange(5) + 100 * one_user for one_user in range(1, 61)]
        users = np.repeat(np.arange(120), [own.size for own in items])
        values = rng.integers(1, 6, users.size)
        scale = RatingScale(1, 5, 1)
        ratings = Ratings.from_columns(users, np.concatenate(items), values, scale=scale)
        release = SparseRows(5, seed=1).anonymize(ratings)
        lengths = np.array([items.size for items, _ in rows_of(release)])
        assert lengths.min() == 1
        assert abs(release.private.groups.sizes @ lengths - 600) < 60

    def test_no_row_is_empty_where_all_users_rated_one_item_of_many(self):
        ratings = Ratings.from_columns(
            range(100), np.arange(100) % 50, np.arange(100) % 5 + 1, scale=RatingScale(1, 5, 1)
        )
        rows = rows_of(SparseRows(2, seed=1).anonymize(ratings))
        assert len(rows) == 50
        assert min(items.size for items, _ in rows) == 1

    def test_planted_embeddings_are_kept_apart(self, fans):
        """If two clusters share no item, neither do their rows, and labels are their cluster's."""
        release = SparseRows(5, seed=1).anonymize(fans)
        groups = release.private.groups
        kept = []
        for place, (items, labels) in enumerate(rows_of(release)):
            members = groups.members[groups.starts[place] : groups.starts[place + 1]]
            block = members % 2
            assert np.unique(block).size == 1
            own = (items >= 30) == (block[0] == 1)
            kept.append(own.mean())
            assert np.abs(labels[own] - (1 if block[0] else 5)).max() < 1.5
        assert np.mean(kept) > 0.85
        assert min(kept) > 0.6

    def test_one_item_and_one_class(self):
        ratings = Ratings.from_columns(
            range(25), [7] * 25, np.arange(25) % 5 + 1, scale=RatingScale(1, 5, 1)
        )
        ((items, labels),) = rows_of(SparseRows(25, seed=1).anonymize(ratings))
        assert items.tolist() == [0]
        assert 1 <= labels[0] <= 5

    def test_blocks_change_nothing(self, invented, monkeypatch):
        release = SparseRows(5, seed=1).anonymize(invented)
        whole = rows_of(release)
        monkeypatch.setattr("recveil.methods.sparse.anonymizer._BLOCK_LABELS", 30)
        cut = rows_of(release)
        assert len(list(release.published.blocks())) > 10
        assert [items.tolist() for items, _ in whole] == [items.tolist() for items, _ in cut]
        assert [labels.tolist() for _, labels in whole] == [labels.tolist() for _, labels in cut]

    def test_a_continuous_scale(self):
        rng = np.random.default_rng(1)
        cells = rng.choice(40 * 10, 200, replace=False)
        users, items = np.divmod(np.concatenate([np.arange(40) * 10, cells]), 10)
        kept = np.unique(users * 10 + items, return_index=True)[1]
        ratings = Ratings.from_columns(
            users[kept], items[kept], rng.random(kept.size), scale=RatingScale(0, 1, None)
        )
        release = SparseRows(4, seed=1).anonymize(ratings)
        assert release.published.settings["value_step"] == 0.01
        for _, labels in rows_of(release):
            assert ((labels >= 0) & (labels <= 1)).all()

    def test_the_number_of_threads_changes_nothing(self, invented):
        threads = numba.get_num_threads()
        drawn = []
        try:
            for number in (1, threads):
                numba.set_num_threads(number)
                drawn.append(rows_of(SparseRows(5, seed=1).anonymize(invented)))
        finally:
            numba.set_num_threads(threads)
        for first, second in zip(*drawn, strict=True):
            assert np.array_equal(first[0], second[0])
            assert np.array_equal(first[1], second[1])


class TestPromise:
    def test_it_is_verified_from_the_files_alone(self, invented, tmp_path):
        for layout in ("users", "groups"):
            out = tmp_path / layout
            SparseRows(5, seed=1).anonymize(invented).write(out, layout=layout)
            verdict = verify(out)
            assert verdict.holds
            assert verdict.k_achieved >= 5
            card = (out / "README.md").read_text()
            assert "no differential privacy" in " ".join(card.split())
            assert "method" in {limit.code for limit in verdict.not_covered}

    def test_a_null_release_reveals_nothing(self):
        """Where all are one cluster, no class is found more often than by a random guess."""
        ratings = make_ratings(n_users=300, n_items=120, n_ratings=6_000, seed=5)
        release = SparseRows(5, cluster_size=256, seed=1).anonymize(ratings)
        table = AttackTarget.from_release(release, ratings)
        found = attack_release(ratings, table, Adversary(known=8), np.arange(300))
        assert release.private.groups.sizes.size == 60
        assert found.class_reidentified.low < 1 / 60

    def test_planted_clusters_are_found(self, fans):
        """Eight ratings lead to the right cluster of two, whose four classes share the hits."""
        release = SparseRows(10, seed=1).anonymize(fans)
        table = AttackTarget.from_release(release, fans)
        found = attack_release(fans, table, Adversary(known=8), np.arange(80))
        assert found.class_reidentified.high > 1 / 4

    def test_no_rating_stands_in_it_by_more_than_chance(self, invented):
        """Labels do not change when ratings of a class's items do, but through the cluster."""
        result = describe_summary(summarize(SparseRows(5, seed=1).anonymize(invented), invented))
        assert result[1].startswith("No rating is copied")
        assert "do not hide who is in the data" in " ".join(result)

    def test_what_fewer_than_k_rated_is_left_out(self):
        """A published item would reveal that a user rated it."""
        ratings = make_ratings(n_users=200, n_items=300, n_ratings=2_500, seed=3)
        release = SparseRows(6, seed=1).anonymize(ratings)
        items = np.concatenate([block.indices for block in release.published.blocks()])
        assert (ratings.support < 6).sum() > 50
        assert ratings.support[items].min() >= 6
        figures = summarize(release, ratings).figures
        assert figures.n_omitted == ((ratings.support > 0) & (ratings.support < 6)).sum()

    def test_tables_in_which_that_is_everything_are_refused(self):
        ratings = Ratings.from_columns(range(40), range(40), [1, 5] * 20)
        with raises("table.too-few-ratings") as caught:
            SparseRows(5).anonymize(ratings)
        assert "5 raters" in str(caught.value)

    def test_it_is_made_again_from_its_settings(self, invented):
        release = SparseRows(5, cluster_size=31, seed=1).anonymize(invented)
        again = same_again(Manifest.of(release.published), seed=1)
        assert (again.k, again.cluster_size) == (5, 31)
        for first, second in zip(rows_of(release), rows_of(again.anonymize(invented)), strict=True):
            assert np.array_equal(first[1], second[1])

    @pytest.mark.parametrize("cluster", [19, 257, 20.0, True, None])
    def test_a_cluster_that_is_too_small_is_refused(self, cluster, invented):
        with raises("option.value") as caught:
            SparseRows(5, cluster_size=cluster).anonymize(invented)
        assert "cluster_size" in str(caught.value)

    def test_too_few_users_for_a_cluster(self):
        ratings = make_ratings(n_users=19, n_items=20, n_ratings=150, seed=1)
        with raises("table.too-few-users") as caught:
            SparseRows(5).anonymize(ratings)
        assert "19 users" in str(caught.value)

    def test_clusters_have_at_least_k(self, invented):
        release = SparseRows(70, seed=1).anonymize(invented)
        assert release.private.groups.sizes.min() >= 70


class TestPaddedOfPredictions:
    """The papers' padded rows, with predictions alone."""

    def test_what_few_rated_is_predicted_together(self, invented):
        """Who alone rated an item would else read their rating in its column."""
        pool = pooled_items(invented, 5)
        assert pool.size > 1
        release = PredictiveAnonymizer(5, values="predicted", round_values="none", seed=1)
        labels = np.array([row for _, row in rows_of(release.anonymize(invented))])
        columns = labels[:, np.searchsorted(np.flatnonzero(invented.support), pool)]
        assert (columns == columns[:, :1]).all()
        assert np.ptp(columns[:, 0]) > 0  # groups still differ

    @pytest.mark.parametrize(("predictor", "most"), [("item-mean", 4 / 6), ("funk-svd", 4 / 6)])
    def test_no_user_is_more_than_one_of_the_pool(self, predictor, most):
        """A user alone rated a hundred items; five others rated the one that is pooled with them.

        Whether that user gave 1 or 5 to all of them moves what is published by a sixth, or less.
        """
        rng = np.random.default_rng(0)
        users = [*np.repeat(np.arange(60), 10), *range(5), *[60] * 100]
        items = [*range(10)] * 60 + [10] * 5 + [*range(11, 111)]
        of_others = rng.integers(1, 6, 600).tolist() + [3] * 5
        labels = []
        for hostile in (1, 5):
            ratings = Ratings.from_columns(
                users, items, of_others + [hostile] * 100, scale=RatingScale(1, 5, 1)
            )
            assert pooled_items(ratings, 5).tolist() == list(range(10, 111))
            made = PredictiveAnonymizer(
                5, predictor=predictor, values="predicted", round_values="none", seed=1
            )
            of_pool = np.array([row[10:] for _, row in rows_of(made.anonymize(ratings))])
            labels.append(of_pool.mean())
        assert abs(labels[1] - labels[0]) <= most + 1e-6
        assert labels[1] != labels[0]

    def test_it_is_stated_in_settings_and_made_again(self, invented, tmp_path):
        release = PredictiveAnonymizer(5, values="predicted", seed=1).anonymize(invented)
        assert release.published.settings["values"] == "predicted"
        release.write(tmp_path / "out")
        assert verify(tmp_path / "out").holds
        assert same_again(Manifest.of(release.published), seed=2).values == "predicted"
        usual = PredictiveAnonymizer(5, seed=1).anonymize(invented)
        assert "values" not in usual.published.settings

    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ({"values": "real"}, "option.value"),
            ({"values": "predicted", "homogenize": "simple"}, "option.conflict"),
            ({"values": "predicted", "privacy_levels": "3"}, "option.conflict"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, options, code, invented):
        with raises(code):
            PredictiveAnonymizer(5, **options).anonymize(invented)
