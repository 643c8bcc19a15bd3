"""Recipients learn from drawn users as from any table; what needs one's own row does not apply."""

import json

import numpy as np
import pytest

from recveil.cli import main
from recveil.comparison import compare
from recveil.datasets import make_ratings
from recveil.evaluation import Evaluator, evaluate, split_ratings
from recveil.io import write_ratings
from recveil.methods import anonymize
from recveil.ratings import Ratings, RatingScale

pytestmark = pytest.mark.usefixtures("synthetic", "few_recommenders")


@pytest.fixture(scope="module")
def ratings():
    made = make_ratings(n_users=260, n_items=50, n_ratings=5_200, seed=3)
    columns = np.repeat(made.users, made.activity), made.items[made.indices], made.values
    return Ratings.from_columns(*columns, scale=RatingScale(1, 5, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory, synthetic, ratings):
    folder = tmp_path_factory.mktemp("drawn")
    anonymize(ratings, folder / "noisy", epsilon=20.0)
    return folder


@pytest.mark.parametrize("with_membership", [True, False])
def test_users_are_served_and_no_user_has_a_row(folder, ratings, with_membership):
    found = evaluate(
        folder / "noisy", ratings, split=0.2, targets=20, with_membership=with_membership
    )
    plain = found.to_dict()
    json.dumps(plain, allow_nan=False)
    assert plain["recipient"]["release"]["rmse"] > 0
    for name in ("target_deviation", "similar_user_deviation", "self_rank", "filled_share"):
        assert plain[name] is None
    assert "need a user's own row, so they do not apply" in plain["notes"][0]
    assert plain["disclosure"]["worst"] is None
    assert plain["disclosure"]["attacks"] == []
    assert (plain["disclosure"]["membership"] is not None) == with_membership


def test_a_folder_that_was_made_from_the_training_ratings(folder, ratings, tmp_path):
    parts = split_ratings(ratings, 0.2, 0)
    anonymize(parts.train, tmp_path / "out", epsilon=20.0)
    for twin in (True, False):
        if not twin:  # no record is a user's, so that nothing is missing without it
            for file in (tmp_path / "out.private").iterdir():
                file.unlink()
            (tmp_path / "out.private").rmdir()
        found = Evaluator(parts, n_targets=20).evaluate(tmp_path / "out")
        assert found.to_dict()["disclosure"]["does_not_apply"]


def test_the_command_line_prints_it(folder, ratings, tmp_path, capsys):
    write_ratings(ratings, tmp_path / "r.csv")
    release = ("--release", str(folder / "noisy"))
    with pytest.raises(SystemExit):
        main(["evaluate", str(tmp_path / "r.csv"), "--split", "0.2", "--targets", "20", *release])
    result = " ".join(capsys.readouterr().out.split())
    assert "do not apply: no record of this release belongs to a user" in result
    assert "need a user's own row, so they do not apply" in result


def test_settings_are_compared_by_what_all_share(ratings, tmp_path):
    methods = ["synthetic-20", "synthetic-exact", "simple", "raw"]
    found = compare(ratings, tmp_path / "c", methods=methods, k=[5], targets=260, risk="membership")
    rows = {row.method: row for row in found.rows}
    for name in methods[:2]:
        row = rows[name]
        assert row.problem is None
        assert (row.k, row.verified_k, row.bound, row.risk, row.class_risk) == (None,) * 5
        assert row.membership_auc is not None
        assert row.membership_tpr is not None
        assert row.ndcg is not None
    assert rows["synthetic-20"].promise == "differential privacy"
    plain = found.to_dict()
    json.dumps(plain, allow_nan=False)
    page = found.to_html()
    assert "Synthetic users, sampled from sums with noise for epsilon 20" in page


def test_a_risk_that_does_not_apply_is_no_low_risk(ratings, tmp_path):
    found = compare(
        ratings, tmp_path / "c", methods=["synthetic-20", "simple", "raw"], k=[5], targets=30
    )
    page = found.to_html()
    assert "synthetic-20" in page
    assert any(
        "no record of theirs belongs to a user" in said for said in found.to_dict()["warnings"]
    )
