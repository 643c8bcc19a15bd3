"""The same ground for all, nothing twice, nothing lost."""

import json
import os
import stat
import warnings
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.comparison import Row, _compare, choose_methods, compare, list_settings, usual_methods
from recveil.comparison.cells import Ground, Setting, open_folder
from recveil.comparison.settings import _DEFAULTS
from recveil.datasets import make_ratings
from recveil.methods import PredictiveAnonymizer
from recveil.methods.registry import Maker, forget, has_k, make_variant, register
from recveil.ratings import Ratings
from recveil.release.registry import all_variants, variant_of
from recveil.release.specs.predictive import PREDICTIVE
from recveil.report.comparison.text import headline_choice, headline_of, warnings_of
from shared.comparison_compare import (
    files,
    run,  # noqa: F401 (fixtures)
)

pytestmark = pytest.mark.usefixtures("rough_fit", "few_recommenders")


@contextmanager
def made_by(name, make):
    """A method of that name, as long as it is needed, which promises k-anonymity."""
    variant = replace(variant_of("simple"), name=name, options={})
    method = replace(PREDICTIVE, name=name, title=name, variants=(variant,))
    maker = Maker(method, make)
    register(maker)
    try:
        yield
    finally:
        forget(maker)


class TestResuming:
    def test_a_second_run_computes_nothing(self, run, evaluator):
        first = run()
        assert len(evaluator.judged) == 5
        second = run()
        assert len(evaluator.judged) == 5
        assert (first.computed, second.computed) == (5, 0)
        assert first.rows == second.rows
        assert first.to_pandas()["method"].tolist() == [row.method for row in first.rows]

    def test_the_answer_comes_first_in_the_summary(self, run):
        found = run()
        first = found.summary().splitlines()[0]
        assert first == headline_of(headline_choice(found))

    def test_more_settings_add_to_the_others(self, run):
        run()
        assert run(k=[3, 5, 7]).computed == 2  # k = 7 of two methods
        assert run(methods=["raw"]).computed == 0

    def test_another_question_computes_nothing(self, run):
        run()
        assert run(max_risk=0.5, utility="ratings").computed == 0
        assert run(max_risk=0.5, utility="lists").to_dict()["answer"]["utility"] == "lists"

    def test_other_data_are_computed_anew(self, run, tmp_path):
        run()
        other = make_ratings(n_users=300, n_items=120, n_ratings=6_000, seed=6)
        settings = {"methods": ["raw"], "k": [3], "targets": 50}
        assert compare(other, tmp_path / "out", **settings).computed == 1

    @pytest.mark.parametrize("method", ["simple", "raw"])
    def test_a_cell_of_another_setting_is_computed_anew(self, run, tmp_path, method):
        run()
        file = tmp_path / "out" / "cells" / "padded-k3.json"
        result = json.loads(file.read_text())
        file.write_text(json.dumps(result | {"method": method}))
        assert run().computed == 1

    def test_a_killed_run_keeps_what_was_finished(self, run, evaluator, tmp_path):
        evaluator.failing = [(5, KeyboardInterrupt())]
        lost = "and “simple, k = 5” begins anew"
        with pytest.raises(KeyboardInterrupt, match=f"^1 of 5 settings kept, {lost}; run again"):
            run()
        assert files(tmp_path / "out") == ["cells/simple-k3.json"]
        evaluator.failing = []
        assert run().computed == 4

    def test_who_watches_is_given_what_is_finished_after_each_setting(self, run):
        seen = []
        run(k=[3], on_progress=seen.append)
        assert [(len(each.rows), each.unfinished) for each in seen] == [(1, 2), (2, 1), (3, 0)]
        seen.clear()
        run(on_progress=seen.append)  # two of the five are new
        assert [(len(each.rows), each.unfinished) for each in seen] == [(3, 2), (4, 1), (5, 0)]

    def test_an_anonymizer_that_is_killed_leaves_no_release(self, run, tmp_path):
        class Killed:
            def anonymize(self, _):
                raise KeyboardInterrupt

        with made_by("killed", lambda *_, **__: Killed()), pytest.raises(KeyboardInterrupt):
            run(methods=["simple", "killed"])
        assert files(tmp_path / "out") == ["cells/simple-k3.json", "cells/simple-k5.json"]

    def test_what_a_killed_run_left_is_removed(self, run, tmp_path):
        left = tmp_path / "out" / ".work-1234abcd" / "release.private"
        left.mkdir(parents=True)
        (left.parent / "lock").write_text("locked\n")
        (tmp_path / "out" / "cells").mkdir()
        (tmp_path / "out" / "cells" / ".raw.json.1234abcd.tmp").write_text("{")
        run()
        assert not list((tmp_path / "out").rglob(".*"))

    def test_a_damaged_cell_is_computed_again(self, run, tmp_path):
        run()
        (tmp_path / "out" / "cells" / "raw.json").write_text('{"key": ')
        assert run().computed == 1


class TestFailures:
    def test_a_k_above_the_number_of_users_stops_nothing(self, run):
        found = run(methods=["simple"], k=[301, 3])
        assert "300 users cannot form a group of k = 301" in found.rows[0].problem
        assert found.rows[0].risk is None
        assert found.rows[1].risk == pytest.approx(0.3)
        assert run(methods=["simple"], k=[301, 3]).computed == 0  # it would fail again

    def test_a_fault_stops_nothing_and_is_tried_again(self, run, evaluator):
        evaluator.failing = [(5, ZeroDivisionError("oh"))]
        found = run(methods=["simple"])
        assert [row.problem for row in found.rows] == [None, "ZeroDivisionError: oh"]
        evaluator.failing = []
        again = run(methods=["simple"])
        assert (again.computed, again.rows[1].problem) == (1, None)

    def test_a_release_that_breaks_its_claim_is_no_result(self, run):
        def broken(k, seed):
            anonymizer = PredictiveAnonymizer(k, "simple", seed=seed)

            class Liar:
                def anonymize(self, ratings):
                    release = anonymizer.anonymize(ratings)
                    object.__setattr__(release.published.claim, "k", 200)
                    return release

            return Liar()

        with made_by("liar", broken):
            (row,) = run(methods=["liar"], k=[3]).rows
        assert "does not keep its own claim" in row.problem
        assert row.risk is None


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"methods": ["magic"]}, "method.unknown"),
        ({"methods": []}, "option.required"),
        ({"k": [1]}, "option.value"),
        ({"k": [], "methods": ["simple"]}, "option.required"),
        ({"targets": 0}, "option.value"),
        ({"seed": -1}, "option.value"),
        ({"split": 1.0}, "option.value"),
        ({"max_risk": 2}, "option.value"),
        ({"utility": "fun"}, "option.value"),
    ],
)
def test_settings_that_make_no_sense(run, tmp_path, changes, code):
    with raises(code):
        run(**changes)
    assert not (tmp_path / "out").exists()


class TestFolder:
    def test_it_is_the_owners_alone(self, run, tmp_path):
        (tmp_path / "out").mkdir(mode=0o755)
        run()
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700

    @pytest.mark.parametrize("name", ["index.html", "cells/raw.json", "cells"])
    def test_no_link_in_it_is_followed_that_was_not_named(self, tmp_path, name):
        """An archive may bring a folder of a comparison, in which a name leads out of it."""
        link = tmp_path / "out" / name
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "out" if name == "cells" else tmp_path / "out" / "cells").mkdir(parents=True)
        link.symlink_to(tmp_path / "elsewhere")
        with raises("output.exists"):
            open_folder(tmp_path / "out")

    @pytest.mark.parametrize("name", ["diary.txt", "index.html", "cells/photo.png"])
    def test_anything_else_in_it_is_not_touched(self, run, tmp_path, name):
        (tmp_path / "out" / name).parent.mkdir(parents=True)
        (tmp_path / "out" / name).write_text("mine")
        with raises("output.exists"):
            run()
        assert files(tmp_path / "out") == [name]

    @pytest.mark.parametrize("name", ["", "cells", "cells/raw.json"])
    def test_no_other_user_can_have_put_results_there(self, run, tmp_path, name, monkeypatch):
        """An adversary who knows the ratings can write a cell that says that a setting is safe."""
        run(methods=["raw"])
        path = tmp_path / "out" / name
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IWOTH)
        with raises("output.untrusted"):
            open_folder(tmp_path / "out")
        path.chmod(mode)
        open_folder(tmp_path / "out")
        if os.geteuid() == 0:
            os.chown(path, 12_345, -1)
        else:
            real = os.geteuid()
            monkeypatch.setattr(os, "geteuid", lambda: real + 1)
        with raises("output.untrusted"):
            open_folder(tmp_path / "out")

    def test_an_empty_folder_that_others_can_write_to_becomes_the_owners_alone(self, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out").chmod(0o777)
        open_folder(tmp_path / "out")
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700

    def test_a_file_is_no_folder(self, run, tmp_path):
        (tmp_path / "out").write_text("mine")
        with raises("output.exists"):
            run()

    def test_it_does_not_stand_in_a_release(self, run, tmp_path):
        (tmp_path / "release.json").write_text("{}")
        with raises("output.place", tmp_path.name):
            run()

    def test_the_parent_must_exist(self, invented, tmp_path):
        with raises("output.not-writable"):
            compare(invented, tmp_path / "nowhere" / "out", methods=["raw"])

    @pytest.mark.usefixtures("evaluator")
    def test_no_label_of_a_user_is_in_it(self, tmp_path):

        plain = make_ratings(n_users=60, n_items=30, n_ratings=900, seed=1)
        named = Ratings.from_columns(
            [f"person-{user}" for user in plain.user_positions()],
            [f"film-{item}" for item in plain.indices],
            plain.values,
            scale=plain.scale,
        )
        compare(named, tmp_path / "out", methods=["simple", "raw"], k=[5], targets=20)
        for path in (tmp_path / "out").rglob("*.*"):
            assert b"person-" not in path.read_bytes()


class TestResult:
    def test_cells_state_what_was_verified(self, run, tmp_path):
        run()
        cell = json.loads((tmp_path / "out" / "cells" / "simple-k5.json").read_text())
        assert cell["verified"] == {"claim": "identical-rows", "k_required": 5, "k_achieved": 5}
        assert (cell["method"], cell["k"], cell["problem"]) == ("simple", 5, None)
        assert 0 < cell["lone_share"] < 1
        raw = json.loads((tmp_path / "out" / "cells" / "raw.json").read_text())
        assert raw["verified"] is None

    def test_rows_come_as_they_were_asked_for(self, run):
        titles = [row.title for row in run(k=[5, 3, 5]).rows]
        assert titles == ["simple, k = 5", "simple, k = 3", "padded, k = 5", "padded, k = 3", "raw"]

    def test_the_strongest_attack_is_the_risk(self, run):
        """The quick evaluator's: 0.9 / k, from half to one and a half of it, which is above 1 / k.

        No interval reaches above what is proven. The lists are those of the best rankers.
        """
        row = run().rows[1]
        assert (row.risk_by, row.bound) == ("paper", 0.2)
        assert (row.risk, row.risk_low, row.risk_high) == pytest.approx((0.18, 0.09, 0.2))
        # An adversary who knows all ratings infers membership best.
        assert (row.membership_auc, row.order_tau, row.ndcg) == (0.71, 0.9, 0.3)
        assert (row.ranker, row.raw_ranker) == ("kNN", "popularity")
        assert row.ndcg_retained == pytest.approx(0.75)  # 0.3 / 0.4
        assert (
            row.gain_retained,
            row.gain_retained_low,
            row.gain_retained_high,
            row.is_gain_reliable,
        ) == (
            0.5,
            0.4,
            0.6,
            True,
        )
        assert (row.best_rmse, row.best_ndcg) == (pytest.approx(row.rmse - 0.001), 0.32)
        assert (row.target_rmse_present, row.target_absent) == (0.8, 0.54)
        raw = run().rows[-1]
        assert raw.bound is None
        assert raw.risk_high == pytest.approx(1.35)

    def test_where_attacks_undo_nothing_no_risk_is_shown(self, run):
        (row,) = run(methods=["rotation"]).rows
        assert row.problem is None
        assert row.rmse is not None
        assert (row.risk, row.risk_high, row.class_reidentified, row.membership_auc) == (None,) * 4

    def test_json_and_parquet_agree(self, run, tmp_path):
        plain = json.loads(json.dumps(run(k=[3, 301], max_risk=0.5).to_dict()))
        table = pq.read_table(tmp_path / "out" / "comparison.parquet")
        assert table.column_names == list(Row._fields)
        rows = [{name: row[name] for name in Row._fields} for row in plain["rows"]]
        assert plain["rows"][0]["utility_retained"]["ratings"] == {
            **{"value": 0.5, "low": 0.4, "high": 0.6, "is_reliable": True}
        }
        assert plain["rows"][0]["utility_retained"]["lists"]["value"] == 0.75
        assert table.to_pylist() == rows
        assert plain["answer"]["row"] == "simple, k = 3"
        assert set(plain["methods"]) == {"simple", "padded", "raw"}
        assert plain["reference"]["raw"]["rmse"] == 0.9

    def test_what_is_not_finished_is_not_recommended(self, run):
        parts = []
        run(max_risk=1.0, on_progress=lambda part: parts.append(part.to_dict()))
        *partial, whole = parts
        for plain in partial:
            assert plain["unfinished"] > 0
            assert plain["rows"]
            assert (plain["answer"]["row"], plain["answer"]["reason"]) == (None, "unfinished")
        assert (whole["unfinished"], whole["answer"]["reason"]) == (0, None)
        assert whole["answer"]["row"]

    def test_without_a_question_the_answer_is_that_of_the_default_limit(self, run):
        plain = run().to_dict()
        assert plain["answer"] == plain["ladder"][2]
        assert [choice["max_risk"] for choice in plain["ladder"]] == [
            0.5,
            0.2,
            0.1,
            0.05,
            0.02,
            0.01,
        ]


class TestLargeTables:
    def test_some_users_are_compared_by_the_seed(self, run, invented, monkeypatch):
        monkeypatch.setattr(_compare, "MOST_JUDGED", 40)
        monkeypatch.setattr(_compare, "_MOST_PAIRS", 100)
        note = f"compared on 40 of {invented.n_users:,} users"
        first, again, other = (run(seed=seed) for seed in (0, 0, 1))
        assert (first.ratings.n_users, first.ratings.n_items) == (40, invented.n_items)
        assert [note in text for text in first.reading.notes].count(True) == 1
        assert note in " ".join(warnings_of(first))
        assert np.isin(first.ratings.users, invented.users).all()
        assert (again.computed, other.computed) == (0, 5)
        assert not np.array_equal(first.ratings.users, other.ratings.users)

    @pytest.mark.parametrize(("most_users", "most_pairs"), [(40, 10**9), (10**6, 100)])
    def test_others_are_compared_whole(self, run, invented, monkeypatch, most_users, most_pairs):
        """Few pairs of a user and an item are quick; few users would give wide intervals."""
        monkeypatch.setattr(_compare, "MOST_JUDGED", most_users)
        monkeypatch.setattr(_compare, "_MOST_PAIRS", most_pairs)
        found = run(methods=["raw"])
        assert found.ratings.digest() == invented.digest()
        assert not any("drawn at random" in text for text in found.reading.notes)


class TestMethods:
    @pytest.mark.parametrize(
        "name", [name for name, (_, variant) in all_variants().items() if variant.of != "nominal"]
    )
    def test_each_makes_what_it_promises(self, name, invented):
        # Of few users, noise hides nearly everything: then no release is made at all.
        drawn = not variant_of(name).about_claim.contains_users
        users = make_ratings(4_000, 60, 120_000, seed=1) if drawn else invented
        users = users.as_likes() if variant_of(name).of == "likes" else users
        release = make_variant(name, 5, 1).anonymize(users)
        claims = {
            "k-anonymity": "identical-rows",
            "co-rated": "co-rated",
            "differential privacy": "differentially-private",
            "aggregates": "aggregates",
            "nothing": "nothing",
        }
        assert release.published.claim.kind == claims[variant_of(name).about_claim.promise]
        k = users.n_users if name == "synthetic-exact" else 5 if has_k(name) else 1
        assert release.published.claim.k == k

    def test_all_of_likes_is_what_takes_them(self):
        assert choose_methods(["all"], of="likes") == [
            *("k-corating-likes", "sparse", "synthetic-10", "synthetic-3", "synthetic-1", "raw")
        ]
        assert choose_methods(["synthetic-20"], of="likes") == ["synthetic-20"]
        with raises("method.unsupported") as caught:
            choose_methods(["simple"], of="likes")
        assert "'simple'" in str(caught.value)
        with raises("method.unsupported") as caught:
            choose_methods(["k-corating-likes"])
        assert "'k-corating-likes'" in str(caught.value)

    def test_all_stands_for_every_kind(self):
        chosen = choose_methods(["all"])
        assert chosen == usual_methods()
        promises = {variant_of(name).about_claim.promise for name in chosen}
        assert promises == {"k-anonymity", "co-rated", "differential privacy", "nothing"}
        assert choose_methods(["raw", "all"])[0] == "raw"

    def test_the_default_is_a_few_settings_of_each_kind(self):
        titles = [setting.title for setting in list_settings()]
        assert titles == [
            *("raw", "sparse, k = 5", "sparse, k = 20", "simple, k = 5"),
            *("synthetic-1", "synthetic-3", "synthetic-10"),
        ]
        likes = [setting.title for setting in list_settings(of="likes")]
        assert likes == [title for title in titles if title != "simple, k = 5"]
        nominal = [setting.title for setting in list_settings(of="nominal")]
        assert nominal == ["raw", "nominal, k = 5", "nominal, k = 20"]

    @pytest.mark.parametrize("of", ["ratings", "likes", "nominal"])
    def test_today_adds_the_practices_to_the_default_settings(self, of):
        practices = ["user-sample", "netflix-perturbation", "k-core", "date-shift"]
        usual = [setting.title for setting in list_settings(of=of)]
        found = [setting.title for setting in list_settings(["today"], of=of)]
        assert found == ["raw", *practices, *usual[1:]]
        of_nine = [setting.k for setting in list_settings(["today"], [9], of=of)]
        assert set(of_nine) == {None, 9}

    def test_dates_are_shifted_where_the_table_has_some(self, evaluator, invented, monkeypatch):
        monkeypatch.setitem(_DEFAULTS, "ratings", {"raw": ()})
        names = "users", "items", "indptr", "indices", "values"
        kept = {name: getattr(invented, name) for name in names}
        undated = Ratings(**kept, days=None, scale=invented.scale)
        for table, has_dates in ((invented, True), (undated, False)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                methods = [row.method for row in compare(table, methods=["today"]).rows]
            assert ("date-shift" in methods) == has_dates
            assert any("date-shift" in str(each.message) for each in caught) != has_dates
        (row,) = compare(undated, methods=["date-shift"]).rows
        assert "--time" in row.problem

    @pytest.mark.parametrize(
        ("methods", "ks", "expected"),
        [
            (["simple", "raw"], None, [(k, "simple") for k in (2, 3, 5, 10, 20, 50)]),
            (["sparse"], [7, 7], [(7, "sparse")]),
            (None, [7], [(7, "sparse"), (7, "simple")]),
        ],
    )
    def test_named_methods_and_ks_replace_the_default(self, methods, ks, expected):
        settings = list_settings(methods, ks)
        assert [(each.k, each.method) for each in settings if each.k] == expected
        assert any(each.method == "synthetic-3" for each in settings) == (methods is None)

    def test_the_estimate_comes_before_the_work(self, run, evaluator):
        estimates = []

        def note(estimate):
            estimates.append((estimate, len(evaluator.judged)))

        run(on_estimate=note)
        run(k=[3, 5, 7], on_estimate=note)
        (first, judged), (second, judged_later) = estimates
        assert (first.n_settings, first.n_finished, judged) == (5, 0, 0)
        assert (second.n_settings, second.n_finished, judged_later) == (7, 5, 5)
        assert first.total_seconds > second.total_seconds > 0
        titles = ["simple, k = 7", "padded, k = 7"]
        assert list(second.seconds) == titles
        assert all(title in second.sentence() for title in titles)

    def test_keys_distinguish_settings(self):
        grounds = [Ground("a", 0.2, 0, 9), Ground("b", 0.2, 0, 9), Ground("a", 0.2, 9, 0)]
        settings = [Setting("padded", 2), Setting("padded", 3), Setting("simple", 2)]
        keys = {ground.key(setting) for ground in grounds for setting in settings}
        assert len(keys) == 9
