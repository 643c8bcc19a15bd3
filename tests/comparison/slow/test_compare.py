"""The same ground for all, nothing twice, nothing lost."""

import json

import numpy as np
import pytest

from recveil.comparison import compare
from recveil.ratings import Ratings, RatingScale
from shared.comparison_compare import (
    files,
    run,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")


class TestResuming:
    @pytest.mark.parametrize(
        "change",
        [{"seed": 1}, {"split": 0.3}, {"targets": 51}],
        ids=lambda change: next(iter(change)),
    )
    def test_another_ground_is_computed_anew(self, run, change):
        run()
        assert run(**change).computed == 5
        assert run(**change).computed == 0

    def test_cells_of_an_older_form_are_computed_anew(self, run, monkeypatch):
        from recveil.comparison import cells

        monkeypatch.setattr(cells, "_FORMAT", "recveil-cell-2")  # without the best recommenders
        run()
        monkeypatch.undo()
        assert cells._FORMAT != "recveil-cell-2"
        estimates = []
        assert run(on_estimate=estimates.append).computed > 0
        assert estimates[0].n_outdated == len(estimates[0].seconds)
        assert "another version" in estimates[0].sentence()
        run(on_estimate=estimates.append)
        assert estimates[1].n_outdated == 0

    def test_a_killed_run_hands_over_what_was_finished(self, run, evaluator, tmp_path):
        evaluator.failing = [(5, KeyboardInterrupt())]
        handed = []
        with pytest.raises(KeyboardInterrupt):
            run(on_interrupt=handed.append)
        (so_far,) = handed
        assert (len(so_far.rows), so_far.unfinished) == (1, 4)
        assert "was stopped: 4 of its settings" in so_far.to_dict()["warnings"][0]
        assert "comparison.parquet" in files(tmp_path / "out")
        evaluator.failing = []
        assert "was stopped" not in " ".join(run().to_dict()["warnings"])


def test_the_real_evaluator_judges(invented, tmp_path):
    found = compare(
        invented, tmp_path / "out", methods=["simple", "raw"], k=[5], targets=40, max_risk=0.9
    )
    simple, raw = found.rows
    assert raw.risk > 0.7
    assert raw.gain_retained in (None, pytest.approx(1))
    assert 0 <= simple.risk_low <= simple.risk <= simple.bound == 0.2
    assert simple.targets == 40
    assert simple.verified_k == 5
    assert all(row.order_tau is not None and row.ndcg is not None for row in found.rows)
    assert raw.ndcg_retained == pytest.approx(raw.ndcg / raw.best_ndcg)  # of the best on raw
    assert raw.lists_gain_retained <= 1
    assert raw.raw_ranker == raw.best_ranker
    assert raw.ndcg_retained > 0.9  # who would be chosen is nearly as good as who turned out best
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_is_too_large_says_what_to_type_and_can_be_asked_for(tmp_path):
    # All users rated two of ten items, and three that no other user rated: full rows explode.
    rng = np.random.default_rng(1)
    n = 400
    popular = np.concatenate([rng.choice(10, 2, replace=False) for _ in range(n)])
    users = np.concatenate([np.repeat(np.arange(n), 2), np.repeat(np.arange(n), 3)])
    items = np.concatenate([popular, 10 + np.arange(3 * n)])
    ratings = Ratings.from_columns(
        users, items, rng.integers(1, 6, users.size), scale=RatingScale(1, 5, 1)
    )
    options = {"methods": ["padded"], "k": [2], "targets": 5}
    (refused,) = compare(ratings, tmp_path / "out", **options).rows
    assert "allow_large (--allow-large)" in refused.problem
    allowed = compare(ratings, tmp_path / "out", allow_large=True, **options)
    assert (allowed.computed, allowed.rows[0].problem) == (1, None)
