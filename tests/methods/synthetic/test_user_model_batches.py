"""Users sampled in batches are the same, whichever batches are drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import Synthesizer
from recveil.methods.synthetic.bounded_sums import moved
from recveil.methods.synthetic.user_model import (
    Labels,
    LabelSides,
    LikesModel,
    SampledBatches,
    SampledUsers,
    UserModel,
    expected_labels,
    learn_labels,
    model_settings,
    model_table,
    read_model,
    sample_users,
)
from recveil.ratings import RatingScale
from recveil.release.claim import Claim
from recveil.release.manifest import Manifest
from recveil.release.synthetic_form import MOST_LEVELS, rating_levels, tenths_of

STARS = RatingScale(1, 5, 1)
SCALES = [STARS, RatingScale(0, 1, 1), RatingScale(0.5, 5, 0.5), RatingScale(0, 100, 1)]
SCALES += [RatingScale(-10, 10)]


def learnt(shares, means, scale=STARS, spread=0.05) -> Labels:
    shares, means = np.array(shares, float), np.array(means, float)
    return learn_labels(shares, rating_levels(scale), scale, means, np.ones(means.size), spread)


class TestCuts:
    def test_by_hand(self):
        """An eighth, a quarter, a quarter, a quarter, an eighth: at the normal quantiles."""
        found = learnt([1, 2, 2, 2, 1], [0.0, 0.1]).cuts
        assert ndtr(found) == pytest.approx([1 / 8, 3 / 8, 5 / 8, 7 / 8])

    @pytest.mark.parametrize("factor", [0.1, 1, 300])
    def test_shares_need_not_add_up_to_one(self, factor):
        shares = np.array([1.0, 2, 4, 8, 2])
        assert learnt(factor * shares, [0.0, 0.3]).cuts == pytest.approx(
            learnt(shares, [0.0, 0.3]).cuts
        )

    @pytest.mark.parametrize("shares", [[0, 0, 0, 0, 1], [-3, 5, -1, 9, 2], [-1, -2, -3, -4, -5]])
    def test_noise_below_nothing_leaves_finite_cuts_in_order(self, shares):
        found = learnt(shares, [0.0, 0.3])
        assert np.isfinite(found.cuts).all()
        assert (np.diff(found.cuts) > 0).all()
        assert np.isfinite(found.rating_means).all()


class TestWorth:
    @given(
        st.lists(st.floats(0.02, 1), min_size=5, max_size=5),
        st.lists(st.floats(-0.9, 0.9), min_size=2, max_size=6),
        st.floats(0, 0.3),
    )
    def test_an_item_is_expected_to_have_its_mean(self, shares, means, spread):
        """Worth inverts `expected_labels`, where labels are not all at the scale's ends."""
        found = learnt(shares, means, spread=spread)
        at = moved(STARS.levels, STARS)
        result = expected_labels(
            at, found.cuts, np.hypot(found.strictness, found.chance), found.rating_means
        )
        inside = np.abs(found.rating_means) < 7.9
        assert result[inside] == pytest.approx(np.array(means)[inside], abs=2e-3)

    def test_expected_labels_against_draws(self):
        rng = np.random.default_rng(1)
        cuts, rating_means = np.array([-1.0, 0.2]), np.array([-0.5, 0.7])
        hidden = rating_means[:, None] + 0.8 * rng.normal(size=(2, 200_000))
        drawn = np.array([1.0, 2, 5])[np.searchsorted(cuts, hidden)].mean(axis=1)
        result = expected_labels(np.array([1.0, 2, 5]), cuts, 0.8, rating_means)
        assert result == pytest.approx(drawn, abs=0.02)


class TestSpreads:
    def test_all_parts_make_one(self):
        found = learnt([1, 2, 2, 2, 1], [-0.2, 0.2], spread=0.06)
        of_items = 0.2**2 / np.average(np.array([1, 0.5, 0, 0.5, 1]) ** 2, weights=[1, 2, 2, 2, 1])
        assert 1 - found.strictness**2 - found.chance**2 == pytest.approx(of_items)

    @pytest.mark.parametrize("spread", [-1.0, 0.0, 0.1, 5.0])
    def test_no_part_is_nothing_or_everything(self, spread):
        found = learnt([1, 2, 2, 2, 1], [-1.0, 1.0], spread=max(spread, 0.0))
        assert 0.1 < found.strictness < 0.6
        assert 0.3 < found.chance < 1


@pytest.mark.parametrize("scale", SCALES, ids=str)
class TestScales:
    def test_levels_from_end_to_end(self, scale):
        levels = rating_levels(scale)
        assert (levels[0], levels[-1]) == (scale.low, scale.high)
        assert levels.size <= MOST_LEVELS

    def test_liked_are_the_high_ones_and_some_are_not(self, scale):
        levels = rating_levels(scale)
        assert levels[0] < scale.liked_from <= levels[-1]

    def test_shares_of_likes(self, scale):
        levels = rating_levels(scale)
        found = learnt(np.ones(levels.size), [-0.8, 0.0, 0.8], scale)
        shares = found.liked_share(levels, scale)
        assert (np.diff(shares) > 0).all()
        assert (shares > 0).all()
        assert (shares < 1).all()

    def test_both_sides_together_are_the_mean(self, scale):
        levels = rating_levels(scale)
        found = learnt(np.arange(1.0, levels.size + 1), [-0.2, 0.3], scale)
        sides = LabelSides.of(found.cuts, found.chance, levels, scale)
        result = sides.liked * sides.if_liked + (1 - sides.liked) * sides.if_not
        mean = expected_labels(levels, found.cuts, found.chance, sides.places)
        assert result == pytest.approx(mean, abs=1e-6 * scale.range)

    def test_who_liked_it_is_on_the_liked_side(self, scale):
        levels = rating_levels(scale)
        found = learnt(np.ones(levels.size), [-0.2, 0.3], scale)
        sides = LabelSides.of(found.cuts, found.chance, levels, scale)
        slack = 1e-9 * scale.range
        assert sides.if_liked.min() >= levels[levels >= scale.liked_from][0] - slack
        assert sides.if_not.max() <= levels[levels < scale.liked_from][-1] + slack


RULE = LikesModel(np.zeros(9, np.float32), np.zeros((9, 2), np.float32), np.full(4, 3.0))
USERS = SampledUsers(RULE, 250, 7, whole=False)


def rows(blocks):
    return [
        block.indices[first:last].tolist()
        for block in blocks
        for first, last in zip(block.indptr, block.indptr[1:], strict=False)
    ]


def test_batches_in_any_order_are_all_users():
    batches = SampledBatches(USERS, 100)
    drawn = {number: rows(batches.block(number)) for number in (2, 0, 1)}
    assert [len(drawn[number]) for number in range(3)] == [100, 100, 50]
    assert drawn[0] + drawn[1] + drawn[2] == rows(batches.blocks())
    assert [batches.first_of(number) for number in range(4)] == [0, 100, 200, 250]


def test_no_two_batches_are_alike():
    batches = SampledBatches(USERS, 100)
    assert rows(batches.block(0)) != rows(batches.block(1))


@pytest.mark.parametrize(("n_users", "n_batches"), [(1, 1), (16_384, 1), (10**9, 4_096)])
def test_there_are_never_too_many_batches(n_users, n_batches):
    batches = SampledBatches.of(USERS._replace(n_users=n_users))
    assert batches.n_blocks == n_batches
    assert batches.first_of(batches.n_blocks) == n_users


def test_a_release_in_batches_is_of_the_same_rule():
    ratings = make_ratings(200, 30, 2_000, seed=2)
    maker = Synthesizer(None, item_catalog="as-rated", seed=3)
    public, items, _ = maker.public_items(ratings.items)
    learnt = maker.learn(ratings, public, items, ratings.n_users)
    published = maker.published(learnt, SampledBatches(maker.drawn(learnt), 64))
    here = maker.anonymize(ratings).published
    assert published.settings == here.settings
    assert published.model().equals(here.model())
    assert len(rows(published.blocks())) == len(rows(here.blocks())) == 200


def rule(scale=STARS, n_items=50, n_directions=3) -> UserModel:
    rng = np.random.default_rng(2)
    return UserModel(
        offsets=rng.normal(size=n_items).astype(np.float32),
        item_embeddings=(0.5 * rng.normal(size=(n_items, 1 + n_directions))).astype(np.float32),
        activity=np.sort(rng.uniform(1, 20, 128)),
        rating_means=rng.normal(size=n_items),
        cuts=np.sort(rng.normal(size=rating_levels(scale).size - 1)),
        strictness=1 / 3,
        chance=0.7654321987,
        slopes=rng.uniform(-0.5, 1, n_directions),
        slope_spreads=rng.uniform(0, 0.5, n_directions),
        scale=scale,
    )


def read_back(model) -> UserModel:
    items = np.array([f"film {place}" for place in range(len(model.offsets))], object)
    return read_model(model_table(items, model), model_settings(model), model.scale)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_same_arrays_within_what_is_written(scale):
    model = rule(scale)
    back = read_back(model)
    assert (back.offsets == model.offsets).all()
    assert (back.item_embeddings == model.item_embeddings).all()
    assert (back.rating_means == model.rating_means.astype(np.float32)).all()
    for name in ("activity", "cuts", "strictness", "chance", "slopes", "slope_spreads"):
        assert getattr(back, name) == pytest.approx(getattr(model, name), abs=5.1e-7)
    assert back.scale == scale


def test_read_twice_is_read_once():
    once = read_back(rule())
    twice = read_back(once)
    assert all(np.array_equal(*parts) for parts in zip(once[:-1], twice[:-1], strict=True))


@pytest.mark.parametrize("whole", [True, False])
def test_the_same_users_are_drawn_but_for_the_last_digits(whole):
    cells = []
    for model in (rule(), read_back(rule())):
        blocks = list(model.draw(2_000, np.random.default_rng(5), whole=whole))
        counts = np.concatenate([np.diff(block.indptr) for block in blocks])
        users = np.repeat(np.arange(2_000), counts)
        items = np.concatenate([block.indices for block in blocks])
        labels = np.concatenate([block.values for block in blocks])
        cells.append(dict(zip(zip(users, items, strict=True), labels, strict=True)))
    first, second = cells
    both = first.keys() & second.keys()
    assert len(both) > 0.999 * max(len(first), len(second))
    assert np.mean([first[cell] == second[cell] for cell in both]) > 0.999


def test_without_directions_one_column_of_embeddings():
    model = rule(n_directions=0)
    assert read_back(model).item_embeddings.shape == (50, 1)


@pytest.mark.parametrize(("noise", "tilt"), [("none", 0.4), ("gaussian", 0.2)])
def test_models_of_older_formats_follow_embeddings_as_they_did(noise, tilt):
    model = rule()
    older = model_settings(model) | {"noise": noise}
    del older["slopes"], older["slope_spreads"]
    back = read_model(model_table(np.arange(50), model), older, model.scale)
    assert back.slopes.tolist() == [tilt] * 3
    assert back.slope_spreads.tolist() == [0.2] * 3


def test_other_directions_than_in_the_settings_are_refused():
    model = rule()
    settings = model_settings(model._replace(slopes=np.ones(2), slope_spreads=np.ones(2)))
    with raises("release.damaged") as caught:
        read_model(model_table(np.arange(50), model), settings, model.scale)
    assert "3 factors" in str(caught.value)
    assert "states 2" in str(caught.value)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_labels_are_on_the_grid_that_the_manifest_names(scale):
    model = rule(scale)
    for grid in {tenths_of(scale), scale.step} - {None}:
        settings = {"value_step": grid, **model_settings(model)}
        manifest = Manifest(Claim("aggregates", 30), "model", settings, scale)
        table = model_table(np.arange(50), model)
        for block in sample_users(manifest, table, 60, np.random.default_rng(1)):
            steps = (block.values - scale.low) / grid
            assert np.abs(steps - np.rint(steps)).max() < 1e-6
