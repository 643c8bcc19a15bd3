import json
import re

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import AttackTarget
from recveil.datasets import make_ratings
from recveil.evaluation import (
    Evaluator,
    HeldOut,
    Note,
    Recommender,
    TrainingTable,
    UserRows,
    evaluator,
    fit_all,
    serve,
    split_ratings,
)
from recveil.methods import KCoRater, PredictiveAnonymizer, Release, SparseRows
from recveil.ratings import Ratings
from shared.evaluation_evaluator import judge, padded, released_of, split, stars  # noqa: F401 (fixtures)

pytestmark = pytest.mark.usefixtures("few_recommenders")


def raw_release(train, values=None) -> AttackTarget:
    """The raw ratings, or other labels in their cells, as a release of one row a user."""
    order = np.random.default_rng(0).permutation(train.n_users)  # as a release has it
    rows = UserRows.from_ratings(train)
    rows = (rows if values is None else rows._replace(values=values)).take(order)
    return released_of(rows, np.ones(order.size), np.argsort(order), train)


class TestInvariants:
    def test_raw_ratings_have_the_raw_utility_exactly(self, split, judge, monkeypatch):
        # Learned anew, as of any other release
        monkeypatch.setattr(TrainingTable, "has_rows_of", lambda *_: False)
        found = judge.evaluate(raw_release(split.train)).to_dict()
        result = found["recipient"]
        assert result["release"] == result["raw"]
        assert all(sides["raw"] == sides["release"] for sides in result["recommenders"].values())
        for order in ("tau_rmse", "tau_ndcg"):
            assert found["carry_over"][order] == pytest.approx(1, abs=1e-12)
        # Of few recommenders: those that predict ratings, and those whose lists are distinguished.
        assert len(found["carry_over"]["by_rmse"]) == 4
        assert len(found["carry_over"]["by_ndcg"]) == 7
        for name in ("rated_share_error", "rating_distance", "activity_distance", "item_mean_rmse"):
            assert found["fidelity"][name] == 0
        # No user's own row holds what was held out of it, and no user's is nearer than their own.
        assert found["target_deviation"]["null_share"] == 1
        assert (found["filled_share"], found["self_rank_first"]) == (0, 1)
        assert found["target_deviation"]["rmse"] == pytest.approx(
            np.sqrt(np.mean(split.test.values**2)), abs=1e-9
        )
        # A user alone in a row rated what is in it.
        assert found["disclosure"]["links"]["mean"] == 1

    def test_raw_ratings_are_learned_from_once(self, split, monkeypatch):
        tables = []

        def fit(table, **options):
            tables.append(table)
            return fit_all(table, **options)

        monkeypatch.setattr(evaluator, "fit_all", fit)
        judge = Evaluator(split, n_targets=5, with_membership=False)
        found = judge.evaluate(raw_release(split.train)).to_dict()["recipient"]
        assert found["release"] == found["raw"]
        assert len(tables) == 1
        judge.evaluate(SparseRows(k=5, seed=1).anonymize(split.train))
        assert len(tables) == 2

    def test_the_chosen_and_the_best_stand_side_by_side(self, judge, padded):
        result = judge.evaluate(padded).to_dict()["recipient"]
        for side in ("raw", "release"):
            run = {name: sides[side] for name, sides in result["recommenders"].items()}
            errors = [one["rmse"] for one in run.values() if one["rmse"] is not None]
            gains = [one["ndcg@10"] for one in run.values() if one["ndcg@10"] is not None]
            best, chosen = result["best"][side], result["chosen"][side]
            assert best["rmse"] == min(errors) == run[best["recommender"]]["rmse"]
            assert best["ndcg@10"] == max(gains) == run[best["ranker"]]["ndcg@10"]
            assert chosen["rmse"] == result[side]["rmse"] >= best["rmse"]
            assert chosen["ndcg@10"] == result["lists"][side]["ndcg@10"] <= best["ndcg@10"]
        averages = result["averages"]["rmse"]
        for who in ("chosen", "best"):
            raw, release = (result[who][side] for side in ("raw", "release"))
            share = (averages - release["rmse"]) / (averages - raw["rmse"])
            kept = result["utility_retained"][who]
            assert kept["ratings"]["value"] == pytest.approx(share, abs=1e-12)
            # Lists are compared with the best of the raw data, whichever is chosen on the release.
            whole, popular = result["best"]["raw"]["ndcg@10"], result["popularity"]["ndcg@10"]
            lists, gain = release["ndcg@10"] / whole, release["ndcg@10"] - popular
            assert kept["lists"]["value"] == pytest.approx(lists, abs=1e-12)
            of_gain = pytest.approx(gain / (whole - popular), abs=1e-12)
            assert kept["lists_gain"]["value"] == of_gain
        gain = result["raw_gain"]
        assert gain["value"] == pytest.approx(averages - result["raw"]["rmse"], abs=1e-12)
        assert gain["low"] <= gain["value"] <= gain["high"]

    @pytest.mark.parametrize("seed", range(2))
    def test_random_labels_fall_to_the_item_mean_or_worse(self, split, judge, seed):
        rng = np.random.default_rng(seed)
        noise = rng.integers(1, 6, split.train.n_ratings).astype(float)
        result = judge.evaluate(raw_release(split.train, noise)).to_dict()["recipient"]
        assert result["release"]["rmse"] >= result["averages"]["rmse"]
        assert result["utility_retained"]["chosen"]["ratings"]["value"] <= 0

    def test_one_group_of_all_users_is_the_release_of_item_means(self, split, judge):
        train, test = split
        one = PredictiveAnonymizer(
            k=train.n_users, homogenize="simple", round_values="none", seed=1
        ).anonymize(train)
        rated = np.flatnonzero(train.support).astype(np.int32)
        means = TrainingTable.from_ratings(train).item_means()
        row = UserRows(np.array([0, rated.size]), rated, means[rated])
        k = train.n_users
        other = released_of(row, [k], np.zeros(k), train, k)
        found, expected = (judge.evaluate(given).to_dict() for given in (one, other))
        for part in ("target_deviation", "similar_user_deviation", "fidelity"):
            assert found[part] == pytest.approx(expected[part], abs=1e-9)
        for name, sides in found["recipient"]["recommenders"].items():
            wanted = expected["recipient"]["recommenders"][name]["release"]
            for measure in ("rmse", "mae", "ndcg@10", "recall@10"):
                assert sides["release"][measure] == pytest.approx(wanted[measure], abs=1e-9)
        own_errors = means[test.items] - test.values
        assert found["target_deviation"]["rmse"] == pytest.approx(
            np.sqrt(np.mean(own_errors**2)), abs=1e-9
        )
        # All users have the same row, so no user is found but by a random guess.
        assert found["disclosure"]["worst"]["reidentified"]["rate"] <= 1 / k + 1e-12


class TestForms:
    def test_other_peoples_releases_are_refused(self, judge):
        others = make_ratings(n_users=50, n_items=20, n_ratings=400, seed=1)
        foreign = PredictiveAnonymizer(k=5, seed=1).anonymize(others)
        with raises("release.mismatch") as caught:
            judge.evaluate(AttackTarget.from_release(foreign, others))
        assert "200 and 60" in str(caught.value)
        with raises("argument.shape") as caught:
            judge.evaluate(TrainingTable.from_ratings(others))
        assert "20 items" in str(caught.value)

    @pytest.mark.parametrize(
        "anonymizer", [PredictiveAnonymizer(5, "simple", seed=1), KCoRater(5, seed=1)]
    )
    def test_a_release_that_has_seen_the_test_ratings_is_refused(self, split, judge, anonymizer):
        train, test = split
        users = np.concatenate([train.user_positions(), test.users])
        items = np.concatenate([train.indices, test.items])
        values = np.concatenate([train.values, test.values])
        whole = Ratings.from_columns(
            train.users[users], train.items[items], values, scale=train.scale
        )
        with raises("release.mismatch"):
            judge.evaluate(anonymizer.anonymize(whole))
        assert judge.evaluate(anonymizer.anonymize(train)).filled_share < 1


class TestMeasures:
    @pytest.mark.parametrize(
        ("n", "ndcg", "recall"),
        [(2, 0.46228426907818054, 0.38888888888888884), (3, 0.5404973900819733, 0.611111111111111)],
    )
    def test_against_frozen_values_of_scikit_learn(self, n, ndcg, recall):
        # mean_squared_error, mean_absolute_error, ndcg_score(k=n) and recall_score(average=
        # "samples") of the lists, by scikit-learn 1.9.1; what was rated in training is last.
        scores = np.array(
            [
                [4.2, 3.1, 2.5, 4.9, 1.3, 3.7],
                [2.2, 4.4, 3.3, 1.1, 4.8, 2.9],
                [3.6, 2.4, 4.1, 3.0, 2.0, 4.5],
            ]
        )

        class Fixed(Recommender):
            name = "fixed"

            def _learn(self, *_):
                return None

            def _serve(self, *_):
                return scores

        all_users = UserRows(np.arange(4), np.array([0, 4, 5], np.int32), np.array([3.0, 3, 3]))
        fitted = Fixed()
        fitted.scale_, fitted.n_items_, fitted._learnt, fitted._serving = stars, 6, None, ()
        fitted.setting_, fitted.inner_rmse_ = (), 1.0
        test = HeldOut(
            np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]),
            np.array([1, 2, 3, 5, 0, 1, 2, 0, 2, 3, 4]),
            np.array([5.0, 4, 2, 4, 4, 3, 5, 2, 5, 4, 4]),
        )
        found = serve([fitted], all_users, test, n=n).of_chosen
        assert found.rmse == pytest.approx(1.6738632506325548, abs=1e-9)
        assert found.mae == pytest.approx(1.5454545454545454, abs=1e-9)
        assert found.ndcg == pytest.approx(ndcg, abs=1e-9)
        assert found.recall == pytest.approx(recall, abs=1e-9)

    def test_equal_scores_are_not_ranked_by_the_ids_of_items(self):
        # Ten users carry all of 200 items, and all users like the ten with the lowest ids.
        everything = UserRows(np.array([0, 200]), np.arange(200, dtype=np.int32), np.full(200, 3.0))
        fitted = fit_all(TrainingTable.from_rows(everything, np.array([10]), 200, stars))
        nothing = UserRows(np.zeros(6, np.int64), np.empty(0, np.int32), np.empty(0))
        test = HeldOut(np.repeat(np.arange(5), 10), np.tile(np.arange(10), 5), np.full(50, 5.0))
        served = serve(fitted, nothing, test).utilities
        assert np.isnan(served["global mean + user bias"].ndcg)
        assert served["popularity"].ndcg < 0.5
        assert served["item mean"].ndcg == served["popularity"].ndcg

    def test_users_who_are_not_in_the_release_are_served_too(self, split, judge):
        train, test = split
        inside = np.arange(train.n_users) < 150
        rows = UserRows.from_ratings(train).take(np.flatnonzero(inside))
        record_of = np.where(inside, np.arange(train.n_users), -1)
        found = judge.evaluate(released_of(rows, np.ones(150), record_of, train)).to_dict()
        assert found["absent"] == np.unique(test.users[test.users >= 150]).size
        assert found["served"] == np.unique(test.users).size
        absent = found["recipient"]["absent"]
        # They do not differ from the others, and are served from their own ratings, too.
        assert absent["release"]["rmse"] < found["recipient"]["averages"]["rmse"]
        assert absent["raw"]["rmse"] != found["recipient"]["raw"]["rmse"]
        assert found["target_deviation"]["n_absent"] == (test.users >= 150).sum()
        assert found["disclosure"]["worst"]["targets_requested"] == 60

    @pytest.mark.parametrize("method", [KCoRater(k=8, seed=1), SparseRows(k=8, seed=1)])
    def test_no_link_is_reported_where_an_item_may_have_no_rater(self, split, judge, method):
        result = judge.evaluate(method.anonymize(split.train)).to_dict()
        assert result["disclosure"]["links"] is None
        assert any("is not computed" in note for note in result["notes"])

    def test_padded_rows_reveal_nothing_about_links(self, judge, padded):
        found = judge.evaluate(padded)
        assert found.links is None
        assert found.notes == (Note("no-links"),)


class TestEvaluator:
    def test_json_holds_no_nan_and_what_was_promised(self, judge, padded):
        assert isinstance(padded, Release)
        found = judge.evaluate(padded).to_dict()
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        for name in ("target_deviation", "similar_user_deviation"):
            assert {"rmse", "mae", "null_rule", "null_share"} <= set(found[name])
        for side in ("raw", "release"):
            assert {"rmse", "mae", "ndcg@10", "recall@10"} <= set(found["recipient"][side])
        # nan: popularity predicts no ratings, and in full rows all items are equally popular.
        assert found["recipient"]["recommenders"]["popularity"]["raw"]["rmse"] is None
        assert found["fidelity"]["popularity_correlation"] is None

    def test_senseless_settings_are_refused(self, split):
        with raises("option.value") as caught:
            Evaluator(split, "none")
        assert "'none'" in str(caught.value)
        with raises("option.value") as caught:
            Evaluator(split, n_targets=0)
        assert "n_targets" in str(caught.value)
        for tables in ((split.train,), (split.train.to_pandas(),) * 2):
            with raises("argument.type", type(tables[0]).__name__):
                Evaluator(*tables)


def test_judging_without_a_terminal_says_how_far_it_is(split, padded, monkeypatch, capsys):
    monkeypatch.setattr("recveil.runtime.progress._SECONDS_BETWEEN_LINES", 0.05)
    Evaluator(split, n_targets=20, with_membership=False).evaluate(padded)
    result = capsys.readouterr().err.splitlines()
    assert result
    assert all(line.startswith("Evaluating the release") for line in result)
    assert re.search(r" \d+% in ", result[-1])


def test_of_many_users_some_are_judged_by_the_seed(invented, monkeypatch):
    """Both sides by the same users, and the result says of how many."""
    split = split_ratings(invented, 0.2, seed=1)
    monkeypatch.setattr(evaluator, "MOST_JUDGED", 60)
    results = []
    for seed in (0, 0, 1):
        found = Evaluator(split, seed=seed, n_targets=20, with_membership=False)
        results.append(found.evaluate(TrainingTable.from_ratings(split.train)))
    n_users = np.unique(split.test.users).size
    first, again, other = results
    assert (first.n_served, first.raw.per_user.cells.size) == (60, 60)
    assert first.n_cells == first.raw.per_user.cells.sum() < split.test.users.size
    assert Note("judged", f"60 of {n_users}") in first.notes
    assert first.raw == again.raw
    assert first.release.per_user == first.raw.per_user
    assert not np.array_equal(first.raw.per_user.cells, other.raw.per_user.cells)


def test_of_many_users_the_rows_of_some_are_compared(split, padded, monkeypatch):
    whole = Evaluator(split, n_targets=20, with_membership=False).evaluate(padded)
    monkeypatch.setattr(evaluator, "MOST_JUDGED", 30)
    some = Evaluator(split, n_targets=20, with_membership=False).evaluate(padded)
    assert some.target_deviation == whole.target_deviation
    for name in ("self_rank", "self_rank_common"):
        assert 0 < getattr(some, name).n_users <= 30 < getattr(whole, name).n_users
    compared = some.similar_user_deviation
    assert compared.n_cells + compared.n_absent == some.n_cells
