"""People who are drawn in crowds are the same, whoever draws which."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import Synthesizer
from recveil.methods.synthetic.user_model import (
    LikesModel,
    SampledBatches,
    SampledUsers,
    UserModel,
    model_settings,
    model_table,
    read_model,
    sample_users,
)
from recveil.ratings import RatingScale
from recveil.release.claim import Claim
from recveil.release.manifest import Manifest
from recveil.release.synthetic_form import rating_levels, tenths_of

RULE = LikesModel(np.zeros(9, np.float32), np.zeros((9, 2), np.float32), np.full(4, 3.0))
PEOPLE = SampledUsers(RULE, 250, 7, whole=False)


def rows(blocks):
    return [
        block.indices[first:last].tolist()
        for block in blocks
        for first, last in zip(block.indptr, block.indptr[1:], strict=False)
    ]


def test_crowds_in_any_order_are_all_people():
    crowds = SampledBatches(PEOPLE, 100)
    drawn = {number: rows(crowds.block(number)) for number in (2, 0, 1)}
    assert [len(drawn[number]) for number in range(3)] == [100, 100, 50]
    assert drawn[0] + drawn[1] + drawn[2] == rows(crowds.blocks())
    assert [crowds.first_of(number) for number in range(4)] == [0, 100, 200, 250]


def test_no_two_crowds_are_alike():
    crowds = SampledBatches(PEOPLE, 100)
    assert rows(crowds.block(0)) != rows(crowds.block(1))


@pytest.mark.parametrize(("n_users", "n_crowds"), [(1, 1), (16_384, 1), (10**9, 4_096)])
def test_there_are_never_too_many_crowds(n_users, n_crowds):
    crowds = SampledBatches.of(PEOPLE._replace(n_users=n_users))
    assert crowds.n_blocks == n_crowds
    assert crowds.first_of(crowds.n_blocks) == n_users


def test_a_release_in_crowds_is_of_the_same_rule():
    ratings = make_ratings(200, 30, 2_000, seed=2)
    maker = Synthesizer(None, item_catalog="as-rated", seed=3)
    public, items, _ = maker.public_items(ratings.items)
    learnt = maker.learn(ratings, public, items, ratings.n_users)
    published = maker.published(learnt, SampledBatches(maker.drawn(learnt), 64))
    here = maker.anonymize(ratings).published
    assert published.settings == here.settings
    assert published.model().equals(here.model())
    assert len(rows(published.blocks())) == len(rows(here.blocks())) == 200


SCALES = [RatingScale(1, 5, 1), RatingScale(0.5, 5, 0.5), RatingScale(-10, 10)]


def rule(scale=SCALES[0], n_items=50, n_directions=3) -> UserModel:
    rng = np.random.default_rng(2)
    return UserModel(
        offsets=rng.normal(size=n_items).astype(np.float32),
        item_embeddings=(0.5 * rng.normal(size=(n_items, 1 + n_directions))).astype(np.float32),
        activity=np.sort(rng.uniform(1, 20, 128)),
        worth=rng.normal(size=n_items),
        cuts=np.sort(rng.normal(size=rating_levels(scale).size - 1)),
        strictness=1 / 3,
        chance=0.7654321987,
        tilts=rng.uniform(-0.5, 1, n_directions),
        likings=rng.uniform(0, 0.5, n_directions),
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
    assert (back.worth == model.worth.astype(np.float32)).all()
    for name in ("activity", "cuts", "strictness", "chance", "tilts", "likings"):
        assert getattr(back, name) == pytest.approx(getattr(model, name), abs=5.1e-7)
    assert back.scale == scale


def test_read_twice_is_read_once():
    once = read_back(rule())
    twice = read_back(once)
    assert all(np.array_equal(*parts) for parts in zip(once[:-1], twice[:-1], strict=True))


@pytest.mark.parametrize("whole", [True, False])
def test_the_same_people_are_drawn_but_for_the_last_digits(whole):
    cells = []
    for model in (rule(), read_back(rule())):
        blocks = list(model.draw(2_000, np.random.default_rng(5), whole=whole))
        counts = np.concatenate([np.diff(block.indptr) for block in blocks])
        people = np.repeat(np.arange(2_000), counts)
        items = np.concatenate([block.indices for block in blocks])
        labels = np.concatenate([block.values for block in blocks])
        cells.append(dict(zip(zip(people, items, strict=True), labels, strict=True)))
    first, second = cells
    both = first.keys() & second.keys()
    assert len(both) > 0.999 * max(len(first), len(second))
    assert np.mean([first[cell] == second[cell] for cell in both]) > 0.999


def test_without_directions_one_column_of_tastes():
    model = rule(n_directions=0)
    assert read_back(model).item_embeddings.shape == (50, 1)


@pytest.mark.parametrize(("noise", "tilt"), [("none", 0.4), ("gaussian", 0.2)])
def test_models_of_older_formats_follow_tastes_as_they_did(noise, tilt):
    model = rule()
    older = model_settings(model) | {"noise": noise}
    del older["slopes"], older["slope_spreads"]
    back = read_model(model_table(np.arange(50), model), older, model.scale)
    assert back.tilts.tolist() == [tilt] * 3
    assert back.likings.tolist() == [0.2] * 3


def test_other_directions_than_the_settings_tell_of_are_refused():
    model = rule()
    settings = model_settings(model._replace(tilts=np.ones(2), likings=np.ones(2)))
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
