"""Anyone can draw users from a published model, any number of times."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.datasets import make_ratings
from recveil.methods import anonymize, sample
from recveil.publish import budget
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("synthetic")


@pytest.fixture(scope="module")
def model(tmp_path_factory, synthetic):
    folder = tmp_path_factory.mktemp("model")
    ratings = make_ratings(n_users=60, n_items=25, n_ratings=500, seed=4)
    synthetic(20.0).anonymize(ratings).write(folder / "model", layout="model")
    shutil.rmtree(folder / "model.private")  # other users do not have it
    return folder / "model"


def test_what_is_drawn_keeps_the_promise_and_repeats_it(model, tmp_path):
    found = sample(model, tmp_path / "drawn", n_users=35, seed=1)
    assert (found.holds, found.users, found.epsilon) == (True, 35, 20.0)
    assert verify(tmp_path / "drawn").holds
    before, after = (
        json.loads((folder / "release.json").read_text()) for folder in (model, tmp_path / "drawn")
    )
    assert after["claim"] == before["claim"]
    assert (after["layout"], after["settings"]["n_users"]) == ("users", "requested")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drawn"]  # no private twin


def test_samples_of_one_model_spend_its_budget_once(model, synthetic, tmp_path):
    for name in "ab":
        sample(model, tmp_path / name, n_users=20)
    alone = budget([model])
    for folders in ([model, tmp_path / "a"], [tmp_path / "a", tmp_path / "b", tmp_path / "b"]):
        total = budget(folders)
        assert (total.epsilon, total.delta, len(total.runs)) == (alone.epsilon, alone.delta, 1)
        assert "2 releases (1 of them" in total.sentences()[0]
    ratings = make_ratings(n_users=60, n_items=25, n_ratings=500, seed=4)
    synthetic(20.0).anonymize(ratings).write(tmp_path / "other", layout="model")
    sample(tmp_path / "other", tmp_path / "c", n_users=20)
    both = budget([tmp_path / "a", tmp_path / "c"])
    assert (len(both.runs), both.epsilon > alone.epsilon) == (2, True)


def test_a_seed_draws_the_same_users(model, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        sample(model, tmp_path / name, n_users=20, seed=seed)
    a, b, c = (pq.read_table(tmp_path / name / "ratings.parquet") for name in "abc")
    assert a.equals(b)
    assert not a.equals(c)


def test_it_is_drawn_again_only_by_force(model, tmp_path):
    sample(model, tmp_path / "drawn", n_users=5)
    with raises("output.exists", "drawn"):
        sample(model, tmp_path / "drawn", n_users=6)
    assert sample(model, tmp_path / "drawn", n_users=6, file_format="csv", force=True).users == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["drawn"]


def test_a_private_twin_is_not_left_next_to_what_is_drawn(model, tmp_path):
    ratings = make_ratings(n_users=60, n_items=25, n_ratings=500, seed=4)
    anonymize(ratings, tmp_path / "out", k=5, method="predictive", seed=1)
    with raises("output.exists", "out.private"):
        sample(model, tmp_path / "out", n_users=5, force=True)
    assert verify(tmp_path / "out").holds


@pytest.mark.parametrize("n_users", [0, -1, True, 2.0, "9"])
def test_users_are_a_number(model, tmp_path, n_users):
    with raises("option.value") as caught:
        sample(model, tmp_path / "drawn", n_users=n_users)
    assert "--n-users" in str(caught.value)


def test_there_must_be_a_model(model, tmp_path):
    sample(model, tmp_path / "drawn", n_users=5)
    with raises("release.unsupported"):
        sample(tmp_path / "drawn", tmp_path / "again", n_users=5)


def test_a_model_that_was_changed_is_not_drawn_from(model, tmp_path):
    changed = shutil.copytree(model, tmp_path / "changed")
    (changed / "README.md").write_text("p1 is alice")
    with raises("claim.false"):
        sample(changed, tmp_path / "drawn", n_users=5)
    assert not (tmp_path / "drawn").exists()


def test_the_command_line_draws(model, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["sample", str(model), "--n-users", "12", "-o", str(tmp_path / "drawn")])
    result = " ".join(capsys.readouterr().out.split())
    assert stop.value.code in (0, None)
    assert "epsilon 20" in result


def test_a_folder_that_is_not_there_is_called_that(tmp_path):
    with raises("release.not-found", "nowhere"):
        sample(tmp_path / "nowhere", tmp_path / "out", n_users=5)
    (tmp_path / "model").touch()
    with raises("release.not-found", "model"):
        sample(tmp_path / "model", tmp_path / "out", n_users=5)
