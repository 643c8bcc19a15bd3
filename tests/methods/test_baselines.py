import itertools
import json

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import (
    BASELINES,
    AdditiveNoise,
    Claim,
    GlobalItemMeans,
    LabelNoise,
    PredictiveAnonymizer,
    Pseudonymizer,
    RandomValues,
)
from recveil.methods.baselines import perturbation
from recveil.ratings import Ratings, RatingScale
from recveil.release.registry import variant_of
from recveil.verification import verify


def rows_of(release):
    """The published rows by user position: arrays of items and labels."""
    rows, record = {}, 0
    groups = release.private.groups
    for block in release.published.blocks():
        for start, end in itertools.pairwise(block.indptr):
            for user in groups.members[groups.starts[record] : groups.starts[record + 1]]:
                rows[int(user)] = (block.indices[start:end], block.values[start:end])
            record += 1
    return rows


@pytest.fixture
def small():
    return make_ratings(n_users=40, n_items=15, n_ratings=200, seed=1)


@pytest.mark.parametrize("name", BASELINES)
class TestEveryBaseline:
    def test_promises_nothing(self, name, small):
        release = BASELINES[name](1).anonymize(small)
        assert release.published.claim == Claim("nothing", k=1)
        assert variant_of(name).claim == "nothing"

    def test_is_not_written_and_leaves_nothing_behind(self, name, small, tmp_path):
        release = BASELINES[name](1).anonymize(small)
        for force in (False, True):
            with raises("method.unsupported"):
                release.write(tmp_path / "out", force=force)
        assert list(tmp_path.iterdir()) == []

    def test_all_users_have_exactly_one_record(self, name, small):
        release = BASELINES[name](1).anonymize(small)
        n_users = release.published.n_users
        assert np.array_equal(np.sort(release.private.groups.members), np.arange(n_users))
        # A tenth of 40, and those with five ratings of items that have five.
        left = {"user-sample": 4, "k-core": 19}
        assert n_users == left.get(name, small.n_users)
        sizes = np.concatenate([block.sizes for block in release.published.blocks()])
        assert np.array_equal(sizes, release.private.groups.sizes)

    def test_rows_are_in_order_of_items_and_have_no_negative_zero(self, name, small):
        for block in BASELINES[name](1).anonymize(small).published.blocks():
            for start, end in itertools.pairwise(block.indptr):
                assert (np.diff(block.indices[start:end]) > 0).all()
            assert not (np.signbit(block.values) & (block.values == 0)).any()

    def test_what_is_published_does_not_reveal_the_seed(self, name, small):
        settings = BASELINES[name](123456789).anonymize(small).published.settings
        assert "123456789" not in json.dumps(settings)

    def test_a_bad_seed_or_an_empty_table_is_refused(self, name, small):
        for seed in (-1, 0.5):
            with raises("option.value") as caught:
                BASELINES[name](seed).anonymize(small)
            assert "seed" in str(caught.value)
        no_user = Ratings([], [1], [0], [], [], None, RatingScale(1, 5, 1))
        with raises("table.too-few-users"):
            BASELINES[name](1).anonymize(no_user)

    def test_scales_of_one_rating_and_without_steps(self, name):
        users, items = np.divmod(np.arange(30), 5)
        for values in (np.full(30, 3.0), np.linspace(-9.87654, 9.12345, 30) ** 3):
            ratings = Ratings.from_columns(users, items, values, np.arange(30))
            labels = np.concatenate(
                [row[1] for row in rows_of(BASELINES[name](1).anonymize(ratings)).values()]
            )
            assert np.isfinite(labels).all()


def test_no_folder_with_such_a_claim_verifies(small, tmp_path):
    PredictiveAnonymizer(k=5, seed=1).anonymize(small).write(tmp_path / "out")
    file = tmp_path / "out" / "release.json"
    manifest = json.loads(file.read_text()) | {"claim": "nothing", "k": 1}
    file.write_text(json.dumps(manifest))
    with raises("claim.unknown", "nothing"):
        verify(tmp_path / "out")


class TestRawRelease:
    def test_publishes_all_users_as_they_are(self, small):
        rows = rows_of(Pseudonymizer(seed=1).anonymize(small))
        for user in range(small.n_users):
            items, values = small.row(user)
            assert np.array_equal(rows[user][0], items)
            assert np.array_equal(rows[user][1], values)

    def test_the_order_of_the_users_is_gone(self, small):
        members = Pseudonymizer(seed=1).anonymize(small).private.groups.members
        assert not np.array_equal(members, np.arange(small.n_users))

    def test_a_tenth_is_published_as_a_tenth(self):
        ratings = Ratings.from_columns([1, 2], [1, 1], [0.1, 0.3], scale=RatingScale(0, 1, 0.1))
        (block,) = Pseudonymizer(seed=1).anonymize(ratings).published.blocks()
        assert sorted(block.values.tolist()) == [0.1, 0.3]


class TestBlocks:
    @pytest.mark.parametrize("most", [1, 7, 50, 10**6])
    def test_rows_do_not_depend_on_the_size_of_blocks(self, small, most, monkeypatch):
        whole = rows_of(Pseudonymizer(seed=1).anonymize(small))
        monkeypatch.setattr(perturbation, "_BLOCK_RATINGS", most)
        release = Pseudonymizer(seed=1).anonymize(small)
        rows = rows_of(release)
        assert sorted(rows) == sorted(whole)
        for user, (items, labels) in whole.items():
            assert np.array_equal(rows[user][0], items)
            assert np.array_equal(rows[user][1], labels)
        n_blocks = len(list(release.published.blocks()))
        assert n_blocks == 1 if most > small.n_ratings else n_blocks > 1

    def test_no_two_blocks_have_the_same_noise(self, small, monkeypatch):
        monkeypatch.setattr(perturbation, "_BLOCK_RATINGS", 20)
        rows = rows_of(AdditiveNoise(seed=1).anonymize(small))
        noise = np.concatenate([rows[user][1] - small.row(user)[1] for user in rows])
        assert np.unique(noise.round(9)).size == small.n_ratings


class TestGlobalItemMeans:
    def test_by_hand(self):
        # a: (5 + 2) / 2 = 3.5; b: (1 + 2 + 2) / 3 = 1.67, rounded to a tenth 1.7.
        ratings = Ratings.from_columns(
            [1, 1, 2, 3, 3], list("abbab"), [5, 1, 2, 2, 2], scale=RatingScale(1, 5, 1)
        )
        (block,) = GlobalItemMeans(seed=1).anonymize(ratings).published.blocks()
        assert block.sizes.tolist() == [3]
        assert block.values.tolist() == [3.5, 1.7]
        (block,) = GlobalItemMeans("none", seed=1).anonymize(ratings).published.blocks()
        assert block.values.tolist() == [3.5, 5 / 3]

    @pytest.mark.parametrize("rounding", ["tenth", "scale", "none", 0.25])
    def test_one_group_of_all_users_equals_it(self, invented, rounding):
        k = invented.n_users
        one_group = PredictiveAnonymizer(k, "simple", seed=4, round_values=rounding)
        (expected,) = one_group.anonymize(invented).published.blocks()
        (found,) = GlobalItemMeans(rounding, seed=9).anonymize(invented).published.blocks()
        assert np.array_equal(found.sizes, expected.sizes)
        assert np.array_equal(found.indices, expected.indices)
        assert np.array_equal(found.values, expected.values)


class TestRandomValues:
    def test_keeps_the_cells_and_forgets_the_ratings(self, invented):
        rows = rows_of(RandomValues(seed=1).anonymize(invented))
        drawn, raw = [], []
        for user in range(invented.n_users):
            items, values = invented.row(user)
            assert np.array_equal(rows[user][0], items)
            drawn.append(rows[user][1])
            raw.append(values)
        drawn, raw = np.concatenate(drawn), np.concatenate(raw)
        shares = np.bincount(drawn.astype(int), minlength=6)[1:] / drawn.size
        # 6000 draws: the standard deviation of a share of 0.2 is 0.005, and of a correlation 0.013.
        assert np.abs(shares - 0.2).max() < 5 * 0.0052
        assert abs(np.corrcoef(drawn, raw)[0, 1]) < 5 * 0.013

    def test_a_continuous_scale(self):
        ratings = Ratings.from_columns(
            np.arange(500), np.zeros(500), np.full(500, 2.0), scale=RatingScale(-10, 10)
        )
        (block,) = RandomValues(seed=1).anonymize(ratings).published.blocks()
        assert -10 <= block.values.min() < -9
        assert 9 < block.values.max() <= 10


class TestAdditiveNoise:
    @pytest.mark.parametrize("kind", ["gaussian", "uniform"])
    def test_noise_has_the_stated_variance_and_no_mean(self, kind):
        drawn = LabelNoise(kind, 0.7).draw(100_000, np.random.default_rng(1))
        # Standard errors: 0.7 / √100,000 = 0.0022 of the mean, at most 0.0022 of the variance.
        assert abs(drawn.mean()) < 5 * 0.0023
        assert abs(drawn.var() - 0.49) < 5 * 0.0023

    @pytest.mark.parametrize("kind", ["gaussian", "uniform"])
    def test_the_density_is_that_of_what_is_drawn(self, kind):
        noise = LabelNoise(kind, 0.7)
        drawn = noise.draw(100_000, np.random.default_rng(1))
        points = np.linspace(-4, 4, 8001)
        density = noise.density(points)
        assert density.sum() * 0.001 == pytest.approx(1, abs=1e-3)
        for low, high in ((-2, -0.5), (-0.5, 0.1), (0.1, 1.3)):
            inside = (points >= low) & (points < high)
            share = np.mean((drawn >= low) & (drawn < high))
            assert density[inside].sum() * 0.001 == pytest.approx(share, abs=0.01)

    def test_labels_are_the_ratings_plus_noise_and_are_not_clipped(self, invented):
        release = AdditiveNoise("uniform", scale=1.0, seed=1).anonymize(invented)
        rows = rows_of(release)
        noise = np.concatenate([rows[user][1] - invented.row(user)[1] for user in rows])
        assert np.abs(noise).max() <= 3**0.5
        assert abs(noise.var() - 1) < 0.06  # 6000 draws: standard error 0.0115
        assert max(row[1].max() for row in rows.values()) > invented.scale.high
        assert release.published.settings == {
            "method": "additive noise",
            "kind": "uniform",
            "scale": 1.0,
        }

    def test_a_quarter_of_the_range_by_default(self):
        assert AdditiveNoise().noise(RatingScale(-10, 10)) == LabelNoise("gaussian", 5.0)

    @pytest.mark.parametrize(
        ("kind", "scale", "code"),
        [
            ("laplace", 1.0, "argument.value"),
            ("gaussian", 0, "argument.value"),
            ("uniform", -1.0, "argument.value"),
            ("uniform", float("nan"), "argument.value"),
            ("uniform", "much", "argument.value"),
        ],
    )
    def test_bad_settings(self, small, kind, scale, code):
        with raises(code):
            AdditiveNoise(kind, scale).anonymize(small)
