"""Releases of cohorts share no user, and releases of a plan share one budget."""

import itertools
import json
import math
from functools import partial

import forging
import independent
import independent_form
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil import anonymize, audit, budget, evaluate
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.methods import Synthesizer, dry_run, sample
from recveil.methods.synthetic.options import of_cohort
from recveil.methods.synthetic.synthesizer import Budget
from recveil.publish import Release, convert
from recveil.publish.privacy_ledger import (
    Loss,
    Plan,
    PrivacyLedger,
    Recording,
    ledger_path,
    most_exposed,
)
from recveil.ratings import Ratings, RatingScale
from recveil.release.dates import Cohort, is_cohort
from recveil.release.ledger import compose_losses, epsilon_of
from recveil.verification import verify
from shared.cli_endings import ended

pytestmark = pytest.mark.usefixtures("rough_fit")

SCALE = RatingScale(1, 5, 1)
JANUARY, FEBRUARY = Cohort.of("2026-01"), Cohort.of("2026-02")
DAY = JANUARY.first
OPTIONS = {"epsilon": 300.0, "item_catalog": "as-rated"}


def joined(ratings, first_days):
    """Return the ratings with dates: each user's first is on one of some days."""
    rank = np.arange(ratings.n_ratings) - ratings.indptr[ratings.user_positions()]
    days = np.asarray(first_days)[ratings.user_positions()] + 20 * rank
    return replace_days(ratings, days)


def replace_days(ratings, days):
    parts = [getattr(ratings, name) for name in ("users", "items", "indptr", "indices", "values")]
    return Ratings(*parts, days, ratings.scale)


def first_days(table):
    return np.minimum.reduceat(table.days, table.indptr[:-1])


PLAIN = replace_days(make_ratings(120, 40, 1_800, seed=1, scale=SCALE), None)
# Every other user joined in February.
RATINGS = joined(PLAIN, DAY + 31 * (np.arange(120) % 2) + np.arange(120) % 20)


class TestPeriods:
    @pytest.mark.parametrize(
        ("text", "days"),
        [
            ("2026", "2026-01-01:2026-12-31"),
            ("2024-02", "2024-02-01:2024-02-29"),
            ("2026-01-05", "2026-01-05:2026-01-05"),
            ("2025-12:2026-02", "2025-12-01:2026-02-28"),
            (":2025", ":2025-12-31"),
        ],
    )
    def test_they_are_stated_as_days(self, text, days):
        assert str(Cohort.of(text)) == days
        assert str(Cohort.of(days)) == days
        assert (is_cohort(days), is_cohort(text)) == (True, False)
        assert [independent_form.is_cohort(each, None) for each in (days, text)] == [True, False]

    @pytest.mark.parametrize(
        "text",
        [
            *("", ":", "2026-13", "2026-02-30", "2026-01:", "2026-02:2026-01", "26-01", "2026-1"),
            *("0000-01", "2026-01:2026-02:2026-03", "January", "2026-01-01T00:00", "٢٠٢٦-01"),
            2026.5,
        ],
    )
    def test_others_are_rejected(self, text):
        with raises("option.value", "cohort"):
            Cohort.of(text)
        with raises("option.value", "cohort"):
            Synthesizer(3.0, cohort=text)
        assert not is_cohort(text)
        assert not independent_form.is_cohort(text, None)


class TestUsersOfACohort:
    def test_the_first_rating_decides_and_all_ratings_count(self):
        days = [DAY + 40, DAY + 3, DAY + 50, DAY + 28, DAY + 31]
        table = Ratings.from_columns(
            *(["a", "a", "b", "c", "c"], [1, 2, 1, 2, 3], [4, 2, 5, 1, 3]), days=days, scale=SCALE
        )
        january, february = of_cohort(table, JANUARY), of_cohort(table, FEBRUARY)
        assert (january.users.tolist(), january.n_ratings) == (["a", "c"], 4)
        assert (february.users.tolist(), february.items.tolist()) == (["b"], [1])
        assert of_cohort(table, JANUARY) == of_cohort(january, JANUARY)

    def test_the_type_of_item_ids_follows_from_its_users_alone(self):
        table = Ratings.from_columns(
            ["a", "a", "a", "b"], ["9", "10", "8", "x"], [4, 2, 3, 5], days=[DAY] * 3 + [DAY + 31]
        )
        found = of_cohort(table, JANUARY)
        assert found.items.tolist() == [8, 9, 10]
        assert found.values.tolist() == [3, 4, 2]
        assert found.items.dtype == np.int64
        assert of_cohort(table, JANUARY, keeps_items=True).items.tolist() == table.items.tolist()

    @given(st.data())
    @settings(max_examples=60)
    def test_each_user_is_in_one_of_disjoint_cohorts(self, data):
        n = data.draw(st.integers(1, 12))
        rows = data.draw(
            st.lists(
                st.tuples(st.integers(0, n), st.integers(0, 9), st.integers(0, 89)),
                min_size=1,
                unique_by=lambda row: row[:2],
            )
        )
        users, items, days = zip(*rows, strict=True)
        table = Ratings.from_columns(
            users, items, [1 + day % 5 for day in days], days=[DAY + day for day in days]
        )
        cuts = sorted(data.draw(st.sets(st.integers(1, 88), max_size=5)))
        ends = [0, *cuts, 90]
        cohorts = [Cohort(DAY + a, DAY + b - 1) for a, b in itertools.pairwise(ends)]
        cohorts = [each for each in cohorts if each.contains(first_days(table)).any()]
        parts = [of_cohort(table, each) for each in cohorts]
        found = [user for part in parts for user in part.users.tolist()]
        assert sorted(found) == table.users.tolist()
        assert sum(part.n_ratings for part in parts) == table.n_ratings
        for part, cohort in zip(parts, cohorts, strict=True):
            # Whatever others did, the part is the same.
            others = ~np.isin(table.users, part.users)
            kept = others & (np.arange(table.n_users) % 2 == 0) | ~others
            cells = kept[table.user_positions()]
            columns = table.to_arrow()
            less = Ratings.from_columns(
                *(columns[name].to_numpy()[cells] for name in ("user_id", "item_id", "rating")),
                days=table.days[cells],
                scale=table.scale,
            )
            assert of_cohort(less, cohort) == part

    def test_a_table_needs_dates_and_users(self, tmp_path):
        with raises("time.missing", "cohort"):
            Synthesizer(**OPTIONS, cohort="2026-01").anonymize(PLAIN)
        with raises("time.missing", "cohort"):
            anonymize(PLAIN, tmp_path / "out", **OPTIONS, cohort="2026-01")
        with raises("table.no-ratings", "cohort"):
            anonymize(RATINGS, tmp_path / "out", **OPTIONS, cohort="2027")
        with raises("option.conflict", "cohort"):
            Synthesizer(None, cohort="2026-01")

    def test_later_ratings_of_a_pair_must_not_change_when_its_user_joined(self, tmp_path):
        file = tmp_path / "ratings.csv"
        file.write_text(
            "user_id,item_id,rating,timestamp\n1,7,4,2026-01-05\n1,7,5,2026-02-05\n2,7,5,2026-01-09\n"
        )
        with raises("option.conflict", "duplicates"):
            anonymize(file, scale="1:5:1", duplicates="last", cohort="2026-01", **OPTIONS)
        with raises("rating.duplicate", "the first one") as error:
            anonymize(file, scale="1:5:1", cohort="2026-01", **OPTIONS)
        assert "--duplicates" not in str(error.value)

    @pytest.mark.parametrize(
        ("rows", "options"),
        [
            # The first like of a pair is merged with its last.
            ("1,7,1,2026-01-05\n1,7,1,2026-02-05\n2,8,1,2026-02-09\n", {"likes": True}),
            # The first row of user 1 has no rating on the scale, or no item.
            (
                "1,7,9,2026-01-05\n1,8,4,2026-02-05\n2,7,5,2026-02-09\n",
                {"scale": "1:5:1", "drop_off_scale": True},
            ),
            (
                "1,7,,2026-01-05\n1,8,4,2026-02-05\n2,7,5,2026-02-09\n",
                {"scale": "1:5:1", "drop_off_scale": True},
            ),
            (
                "1,7,0,2026-01-05\n1,8,1,2026-02-05\n2,7,1,2026-02-09\n",
                {"likes": True, "drop_off_scale": True},
            ),
            (
                "1,7,0,2026-01-05\n1,8,4,2026-02-05\n2,7,5,2026-02-09\n",
                {"counts": "log", "rating": "rating", "drop_off_scale": True},
            ),
            (
                "1,,4,2026-01-05\n1,8,4,2026-02-05\n2,7,5,2026-02-09\n",
                {"scale": "1:5:1", "drop_missing_ids": True},
            ),
        ],
    )
    def test_no_row_that_may_have_the_first_date_is_left_out(self, tmp_path, rows, options):
        file = tmp_path / "ratings.csv"
        file.write_text("user_id,item_id,rating,timestamp\n" + rows)
        assert dry_run(file, tmp_path / "out", **OPTIONS, **options).reading.dropped
        with raises("time.incomplete", "cohort"):
            anonymize(file, **OPTIONS, **options, cohort="2026-02")

    def test_a_data_frame_with_repeated_likes_is_rejected_by_the_class_too(self):
        days = pd.to_datetime(["2026-01-05", "2026-02-05", "2026-02-09"])
        frame = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 7, 7], "timestamp": days})
        with raises("time.incomplete", "cohort"):
            Synthesizer(**OPTIONS, cohort="2026-02").anonymize(frame)

    def test_a_missing_time_has_a_remedy_that_keeps_the_cohort(self, tmp_path):
        file = tmp_path / "ratings.csv"
        file.write_text("user_id,item_id,rating,timestamp\n1,7,4,2026-01-05\n2,7,5,\n")
        with raises("time.unreadable", "cohort") as error:
            anonymize(file, scale="1:5:1", cohort="2026-01", **OPTIONS)
        assert "convert" not in str(error.value)


def bytes_of(release):
    return release.to_arrow(), release.manifest.settings, release.claim


def test_a_release_is_the_same_with_and_without_a_user_of_another_cohort():
    whole = Synthesizer(**OPTIONS, cohort="2026-02", seed=5).anonymize(RATINGS)
    assert whole.manifest.settings["cohort"] == "2026-02-01:2026-02-28"
    february = of_cohort(RATINGS, FEBRUARY)
    for gone in (0, 2, 118):
        keep = np.arange(120) != gone
        cells = keep[RATINGS.user_positions()]
        indptr = np.concatenate([[0], np.cumsum(RATINGS.activity[keep])])
        without = Ratings(
            *(RATINGS.users[keep], RATINGS.items, indptr, RATINGS.indices[cells]),
            *(RATINGS.values[cells], RATINGS.days[cells], RATINGS.scale),
        )
        other = Synthesizer(**OPTIONS, cohort="2026-02", seed=5).anonymize(without)
        assert bytes_of(other) == bytes_of(whole)
    # An extreme user of another cohort with items of their own
    table = RATINGS.to_arrow().to_pandas()
    items, days = [f"x{item}" for item in range(40)], [DAY] * 40
    more = Ratings.from_columns(
        *([*table.user_id, *[999] * 40], [*map(str, table.item_id), *items]),
        [*table.rating, *[5.0] * 40],
        days=[*RATINGS.days, *days],
        scale=SCALE,
    )
    assert bytes_of(Synthesizer(**OPTIONS, cohort="2026-02", seed=5).anonymize(more)) == bytes_of(
        whole
    )
    assert bytes_of(Synthesizer(**OPTIONS, cohort="2026-02", seed=5).anonymize(february)) == (
        bytes_of(whole)
    )
    # The control: with one user fewer of its own cohort, it is another one.
    keep = february.users != february.users[0]
    cells = keep[february.user_positions()]
    fewer = Ratings(
        *(february.users[keep], february.items),
        np.concatenate([[0], np.cumsum(february.activity[keep])]),
        *(february.indices[cells], february.values[cells], february.days[cells], SCALE),
    )
    assert bytes_of(Synthesizer(**OPTIONS, cohort="2026-02", seed=5).anonymize(fewer)) != (
        bytes_of(whole)
    )


class TestTotals:
    def test_disjoint_cohorts_do_not_add_up_and_others_do(self, tmp_path):
        made = {
            name: anonymize(RATINGS, tmp_path / name, **OPTIONS, cohort=days)
            for name, days in {"one": "2026-01", "two": "2026-02"}.items()
        }
        assert all(each.verification.holds for each in made.values())
        assert made["two"].total.epsilon == 0
        assert budget(RATINGS).epsilon == pytest.approx(300, rel=1e-6)
        assert {run.cohort for run in budget().runs} == {str(JANUARY), str(FEBRUARY)}
        folders = [tmp_path / "one", tmp_path / "two"]
        total = budget(folders)
        assert (len(total.runs), total.ledger) == (2, None)
        assert total.epsilon == pytest.approx(300, rel=1e-6)
        anonymize(RATINGS, tmp_path / "all", **OPTIONS, cohort=":2026-01-31")
        mu = made["one"].release.claim.ledger.mu
        both = pytest.approx(epsilon_of(mu * math.sqrt(2), 1e-6), rel=1e-6)
        assert budget(RATINGS).epsilon == both
        assert budget(folders).delta == 1e-6
        again = [*folders, tmp_path / "all", tmp_path / "all"]
        assert budget(again).delta == 2e-6
        assert budget(again, delta=1e-6).epsilon == both
        assert budget([folders[1], tmp_path / "all"]).epsilon == pytest.approx(300, rel=1e-6)
        anonymize(RATINGS, tmp_path / "everyone", **OPTIONS)
        three = pytest.approx(epsilon_of(mu * math.sqrt(3), 1e-6), rel=1e-6)
        every = [*folders, tmp_path / "all", tmp_path / "everyone"]
        assert budget(every, delta=1e-6).epsilon == three
        assert budget(RATINGS).epsilon == three

    def test_an_edited_cohort_states_no_budget(self, tmp_path):
        anonymize(RATINGS, tmp_path / "one", **OPTIONS, cohort="2026-01")
        file = tmp_path / "one" / "release.json"
        text = file.read_text().replace(str(JANUARY), str(FEBRUARY))
        assert text != file.read_text()
        file.write_text(text)
        with raises("release.damaged", "one"):
            budget([tmp_path / "one"])

    @pytest.mark.parametrize("is_first", [True, False])
    def test_a_sample_of_another_model_adds_up(self, tmp_path, is_first):
        """It says to be of the same model, but has the noisy answers of its own."""
        sources = []
        for name in "ab":
            anonymize(RATINGS, tmp_path / name, **OPTIONS, layout="model")
            sample(tmp_path / name, tmp_path / f"of-{name}", n_users=20)
            file = tmp_path / f"of-{name}" / "release.json"
            sources.append(json.loads(file.read_text())["settings"]["sampled_from"])
        folders = [tmp_path / "of-a", tmp_path / "of-b"]
        both = budget(folders).epsilon
        assert both > budget(folders[:1]).epsilon == budget([tmp_path / "a", folders[0]]).epsilon
        forging.forge(folders[1], lambda result: result["settings"].update(sampled_from=sources[0]))
        assert verify(folders[1]).holds
        assert budget(folders if is_first else folders[::-1]).epsilon == both

    def test_the_total_of_folders_needs_an_epsilon_of_each(self, tmp_path):
        anonymize(PLAIN, tmp_path / "k", k=5)
        with raises("release.mismatch", "k"):
            budget(tmp_path / "k")
        with raises("option.conflict", "ledger"):
            budget([tmp_path / "k"], ledger=tmp_path / "ledger")

    @given(st.data())
    @settings(max_examples=40)
    def test_no_user_has_spent_more_than_is_stated(self, data):
        """Random joining days, random cohorts: by hashes, and by the stated days alone."""
        first = data.draw(st.lists(st.integers(0, 30), min_size=1, max_size=20))
        runs = data.draw(
            st.lists(
                st.tuples(st.integers(0, 30), st.integers(0, 30), st.floats(0.01, 3)), max_size=6
            )
        )
        path = ledger_path()
        path.unlink(missing_ok=True)
        ledger = PrivacyLedger(path)
        spent = np.zeros(len(first))
        for a, b, mu in runs:
            cohort = Cohort(DAY + min(a, b), DAY + max(a, b))
            of_it = cohort.contains(DAY + np.array(first))
            if not of_it.any():
                continue
            spent[of_it] += mu**2
            users = np.flatnonzero(of_it)
            token = ledger.begin(users, "", Loss(mu, 1e-6), str(cohort))
            ledger.settle(token, "spent", Loss(mu, 1e-6))
        total = ledger.total(np.arange(len(first)))
        highest = epsilon_of(math.sqrt(spent.max()), 1e-6) if spent.any() else 0.0
        assert highest <= total.epsilon * (1 + 1e-12)
        assert total.epsilon == pytest.approx(highest, rel=1e-6)

    @given(
        st.lists(
            st.tuples(
                st.floats(0.01, 3), st.one_of(st.none(), st.integers(0, 30)), st.integers(0, 30)
            ),
            max_size=8,
        )
    )
    def test_the_most_exposed_day_counts(self, runs):
        cohorts = [
            (Loss(mu, 1e-6, mu / 1e9), Cohort(None if a is None else min(a, b), b))
            for mu, a, b in runs
        ]
        of_day = [
            [loss for loss, cohort in cohorts if cohort.contains(np.array([day]))[0]]
            for day in range(-1, 32)
        ]
        square, threshold, delta = most_exposed(cohorts)
        assert delta == max(math.fsum(x.delta for x in each) for each in of_day)
        assert square == max(math.fsum(loss.mu**2 for loss in each) for each in of_day)
        assert threshold == max(math.fsum(x.threshold_delta for x in each) for each in of_day)

    def test_a_killed_run_keeps_its_cohort_and_a_removed_one_does_not(self):
        ledger = PrivacyLedger(ledger_path())
        ledger.begin(np.arange(3), "", Loss(1.0, 1e-6), "2026-01-01:2026-01-31")
        token = ledger.begin(np.arange(3), "", Loss(1.0, 1e-6), ":2025-12-31")
        ledger.settle(token, "aborted", None)
        token = ledger.begin(np.arange(3), "", Loss(1.0, 1e-6))
        assert [run.cohort for run in ledger.total().runs] == ["2026-01-01:2026-01-31", ""]


class TestContradictions:
    """The ledger has users of a cohort in a disjoint one: their first date changed."""

    def moved(self):
        """Return the table without the first ratings of a user who joined in January."""
        keep = np.ones(RATINGS.n_ratings, bool)
        of_user = slice(*RATINGS.indptr[:2])
        keep[of_user] = RATINGS.days[of_user] > JANUARY.last
        columns = RATINGS.to_arrow().to_pandas()[keep]
        return Ratings.from_columns(
            *(columns.user_id, columns.item_id, columns.rating),
            days=RATINGS.days[keep],
            scale=SCALE,
        )

    def test_a_user_in_two_disjoint_cohorts_is_refused_before_any_query(self, tmp_path):
        moved = self.moved()
        assert RATINGS.users[0] in of_cohort(moved, FEBRUARY).users
        anonymize(RATINGS, tmp_path / "one", **OPTIONS, cohort="2026-01")
        before = budget()
        for run in (
            lambda: anonymize(moved, tmp_path / "two", **OPTIONS, cohort="2026-02"),
            lambda: dry_run(moved, tmp_path / "two", **OPTIONS, cohort="2026-02"),
            lambda: Synthesizer(**OPTIONS, cohort="2026-02").anonymize(moved),
        ):
            with raises("budget.cohorts", "cohort"):
                run()
        assert budget() == before
        # Other users may have the same ids; cohorts that overlap add up.
        other = tmp_path / "ledger"
        anonymize(moved, tmp_path / "two", **OPTIONS, cohort="2026-02", ledger=other)
        anonymize(moved, tmp_path / "three", **OPTIONS, cohort="2026-01:2026-02")
        assert budget(RATINGS).epsilon > 400

    def test_of_two_runs_at_once_each_sees_the_other(self):
        ledger = PrivacyLedger(ledger_path())
        recording = Recording(ledger, np.arange(3), cohort=str(FEBRUARY))
        assert recording.total(Loss(1.0, 1e-6)).runs == ()
        ledger.begin(np.arange(2, 9), "", Loss(1.0, 1e-6), str(JANUARY))
        with raises("budget.cohorts", "cohort"), recording.run(Loss(1.0, 1e-6), lambda: None):
            raise AssertionError("no query may be answered")
        assert [run.cohort for run in ledger.total().runs] == [str(JANUARY)]

    @pytest.mark.parametrize(
        ("one", "other", "is_disjoint"),
        [
            ("2026-01", "2026-02", True),
            (":2025", "2026", True),
            (":2026-01-01", "2026", False),
            ("2026-01:2026-03", "2026-02", False),
            (":2025", ":2024", False),
        ],
    )
    def test_periods_are_disjoint_if_no_day_is_in_both(self, one, other, is_disjoint):
        first, second = Cohort.of(one), Cohort.of(other)
        assert first.is_disjoint(second) == second.is_disjoint(first) == is_disjoint


class TestJoinedTables:
    @pytest.fixture
    def folders(self, tmp_path):
        (tmp_path / "items.csv").write_text("item_id,title\n7,Heat\n")
        for name, month in (("january", JANUARY), ("february", FEBRUARY)):
            options = {"cohort": str(month), "file_format": "csv", "ledger": "none", **OPTIONS}
            table = tmp_path / "items.csv" if name == "january" else None
            anonymize(RATINGS, tmp_path / name, item_table=table, **options)
        return tmp_path / "january", tmp_path / "february"

    def test_the_table_has_the_users_of_both_and_the_largest_epsilon(self, folders, tmp_path):
        one, other = (Release.read(folder).to_arrow() for folder in folders)
        found = convert(folders, tmp_path / "all.csv")
        rows = pd.read_csv(tmp_path / "all.csv")
        assert len(rows) == found.ratings.n_ratings == one.num_rows + other.num_rows
        ids = {*one["user_id"].to_pylist(), *other["user_id"].to_pylist()}
        assert {*rows["user_id"]} == ids
        assert "The most exposed user spent epsilon 300 (delta 1e-06)" in found.notes[0]

    def test_that_cohorts_are_disjoint_is_the_publishers_word(self, folders):
        for folder in folders:
            texts = [str(limit.values) for limit in verify(folder).not_covered]
            assert any("no user is in the release of a disjoint cohort" in text for text in texts)

    def test_items_of_any_release_keep_their_titles(self, folders, tmp_path):
        convert(folders, tmp_path / "shop", target_format="movielens")
        movies = pd.read_csv(tmp_path / "shop" / "movies.csv")
        assert movies.set_index("movieId")["title"].dropna().to_dict() == {7: "Heat"}
        assert set(movies["movieId"]) == set(pd.read_csv(tmp_path / "shop" / "ratings.csv").movieId)

    def test_ids_stay_different_if_two_releases_chose_the_same_prefix(self, folders, tmp_path):
        one, other = folders
        prefix = (one / "ratings.csv").read_text().splitlines()[1][1:7]
        text = (other / "ratings.csv").read_text()
        (other / "ratings.csv").write_text(text.replace(text.splitlines()[1][1:7], prefix))
        forging.sign(other)
        n_users = [len(set(Release.read(folder).ids())) for folder in folders]
        found = convert(folders, tmp_path / "all.csv")
        assert found.ratings.n_users == sum(n_users)
        assert {user.partition("-")[2][0] for user in found.ratings.users} >= {"0", "1"}
        assert sum(user.startswith(f"{prefix}1-") for user in found.ratings.users) == n_users[1]

    def test_what_may_have_the_same_users_is_not_joined(self, folders, tmp_path):
        one, other = folders
        anonymize(RATINGS, tmp_path / "all", ledger="none", **OPTIONS)
        anonymize(RATINGS, tmp_path / "k", k=5)
        for more in (one, tmp_path / "all"):
            with raises("release.mismatch"):
                convert([one, more], tmp_path / "joined.csv")
        for pair in ([one, tmp_path / "k"], [tmp_path / "k", one]):
            with raises("release.mismatch", "joined", "epsilon"):
                convert(pair, tmp_path / "joined.csv")
        dated = {"cohort": str(FEBRUARY), "dates": "month", "date_range": "2026", **OPTIONS}
        anonymize(RATINGS, tmp_path / "dated", ledger="none", **dated)
        with raises("release.mismatch", "dates"):
            convert([one, tmp_path / "dated"], tmp_path / "joined.csv")
        forging.forge(other, lambda result: result["settings"].update(cohort="2026-02"))
        with raises("release.damaged"):
            convert([one, other], tmp_path / "joined.csv")
        assert not (tmp_path / "joined.csv").exists()

    def test_the_command(self, folders, tmp_path, capsys):
        code, output, _ = ended(capsys, "convert", *folders, tmp_path / "joined.csv")
        assert code == 0
        assert "2 releases of disjoint cohorts" in " ".join(output.split())


class TestPlans:
    @given(
        st.floats(0.05, 20),
        st.sampled_from([1e-8, 1e-6, 1e-5]),
        st.integers(1, 100),
        st.sampled_from([0.0, 0.1]),
    )
    def test_all_releases_of_a_plan_compose_to_its_total(self, epsilon, delta, n, share):
        each = Budget.of_plan(Plan(epsilon, delta, n), share)
        mus, thresholds = [each.mu] * n, [each.threshold_delta] * n
        total, at = compose_losses(mus, thresholds, delta)
        assert at == delta
        assert total <= epsilon
        assert total == pytest.approx(epsilon, rel=2e-3)
        whole = Budget.of(epsilon, delta, threshold_delta=share * delta)
        assert each.mu == pytest.approx(whole.mu / math.sqrt(n), rel=2e-3)
        again, _ = compose_losses([*mus, each.mu], [*thresholds, each.threshold_delta], delta)
        assert again > epsilon

    def test_one_release_is_nearly_the_usual_one_and_is_allowed_once(self, tmp_path):
        one, usual = Budget.of_plan(Plan(3.0, 1e-6, 1), 0.1), Budget.of(3.0, 1e-6)
        assert usual.mu * 0.99 < one.mu < usual.mu
        options = {**OPTIONS, "releases": 1}
        assert anonymize(RATINGS, tmp_path / "one", **options).verification.holds
        with raises("budget.exceeded", "releases"):
            anonymize(RATINGS, tmp_path / "two", **options)

    @pytest.mark.parametrize("catalog", ["as-rated", None])
    def test_a_run_beyond_the_total_is_refused_before_any_query(self, tmp_path, catalog):
        options = {"epsilon": 400.0, "releases": 2, "item_catalog": catalog}
        for name in ("one", "two"):
            made = anonymize(RATINGS, tmp_path / name, **options)
            assert made.verification.holds
            assert made.total.delta == 1e-6
        claim = made.release.claim
        assert claim.delta == 5e-7
        assert claim.epsilon < 400 / math.sqrt(2)
        before = budget(RATINGS, delta=1e-6)
        assert before.epsilon <= 400
        total = budget([tmp_path / "one", tmp_path / "two"])
        assert total.delta == pytest.approx(1e-6)
        assert total.epsilon == pytest.approx(before.epsilon, rel=1e-6)
        assert total.epsilon <= 400
        for run in (
            lambda: anonymize(RATINGS, tmp_path / "three", **options),
            lambda: dry_run(RATINGS, tmp_path / "three", **options),
            lambda: Synthesizer(**options).anonymize(RATINGS),
        ):
            with raises("budget.exceeded", "releases"):
                run()
        assert budget(RATINGS, delta=1e-6) == before
        # A run without a plan is recorded, and its total shown, but not refused.
        unplanned = Synthesizer(1.0, item_catalog=catalog)
        assert unplanned.privacy_total(RATINGS.users).epsilon_with_run > before.epsilon
        # Users who joined later have spent nothing.
        newcomers = Ratings.from_columns(
            [1_000 + user for user in PLAIN.to_arrow()["user_id"].to_pylist()],
            PLAIN.to_arrow()["item_id"].to_pylist(),
            PLAIN.values,
            scale=SCALE,
        )
        assert anonymize(newcomers, tmp_path / "new", **options).verification.holds

    def test_only_the_ledger_shows_what_is_left(self, tmp_path, monkeypatch):
        for options in ({"ledger": "none"}, {}):
            if not options:
                monkeypatch.setenv("RECVEIL_LEDGER", "none")
            with raises("option.conflict", "releases"):
                anonymize(RATINGS, tmp_path / "out", **OPTIONS, releases=2, **options)
            with raises("option.conflict", "releases"):
                Synthesizer(**OPTIONS, releases=2, **options).anonymize(RATINGS)
        with raises("option.conflict", "releases"):
            Synthesizer(None, releases=2)

    @pytest.mark.parametrize("releases", [0, -1, 2.0, True, 10_001, "2"])
    def test_the_number_of_releases_is_a_whole_one(self, releases):
        with raises("option.value", "releases"):
            Synthesizer(3.0, releases=releases)


def test_an_item_id_with_the_id_of_any_user_is_rejected(tmp_path):
    """Users of other cohorts are not in the release, and nor may their ids be."""
    names = ("anna_karenina", "emma_bovary", "carmen_mendes", "dulcinea_t")
    users = [user for user in names for _ in range(3)]
    items = ["heat", "alien", "amelie"] * 3 + ["diary of anna_karenina", "alien", "amelie"]
    table = Ratings.from_columns(
        users, items, [1, 3, 5] * 4, days=[DAY] * 9 + [DAY + 31] * 3, scale=SCALE
    )
    with raises("id.personal"):
        Synthesizer(**OPTIONS, cohort="2026-02").anonymize(table)
    with raises("id.personal"):
        anonymize(table, tmp_path / "out", **OPTIONS, cohort="2026-02")


def test_another_release_of_the_same_users_is_evaluated(tmp_path):
    anonymize(RATINGS, tmp_path / "out", **OPTIONS, cohort="2026-02")
    made = evaluate(tmp_path / "out", RATINGS, split=0.2, targets=20)
    assert made.train.n_users == 60
    with raises("time.missing"):
        evaluate(tmp_path / "out", PLAIN, split=0.2, targets=20)


def test_the_command_line_makes_cohorts_and_adds_them_up(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = partial(ended, capsys)
    write_ratings(RATINGS, tmp_path / "ratings.csv")
    options = ("--epsilon", "300", "--item-catalog", "as-rated", "--scale", "1:5:1")
    for name, days in {"one": "2026-01", "two": "2026-02", "all": ":2026"}.items():
        made = ("anonymize", "ratings.csv", "-o", name, *options, "--cohort", days)
        assert run(*made)[0] == 0
    totals = [
        json.loads(run("budget", *folders, "--json", "-")[1])["epsilon"]
        for folders in (["one", "two"], ["one", "two", "all"], ["ratings.csv"])
    ]
    assert totals[0] == pytest.approx(300, rel=1e-6)
    assert 400 < totals[1] <= totals[2]
    code, out, _ = run("budget", "one", "two")
    assert (code, str(JANUARY) in out) == (0, True)
    code, _, err = run("anonymize", "ratings.csv", "-o", "three", *options, "--releases", "2")
    assert (code, "releases" in err) == (2, True)
    assert not (tmp_path / "three").exists()


def test_a_cohort_is_audited_as_the_table_that_it_was_made_from(tmp_path):
    anonymize(RATINGS, tmp_path / "out", **OPTIONS, cohort="2026-02")
    found = audit(RATINGS, release=tmp_path / "out", targets=20).published
    assert found.same_ratings is True
    with raises("release.mismatch"):
        audit(PLAIN, release=tmp_path / "out", targets=20)


def test_the_publisher_of_a_model_is_told_of_no_short_users(tmp_path):
    few = make_ratings(200, 40, 700, seed=1, scale=SCALE)
    made = {
        layout: anonymize(few, tmp_path / layout, layout=layout, **OPTIONS).summary.coverage
        for layout in ("users", "model")
    }
    assert made["users"].n_short_users > 0 == made["model"].n_short_users
    assert made["users"].n_items_kept > 0 < made["model"].n_items_kept


def test_a_cohort_may_have_dates(tmp_path):
    dates = {"cohort": "2026-01", "dates": "quarter", "date_range": "2026:2029"}
    anonymize(RATINGS, tmp_path / "out", **OPTIONS, **dates)
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert release["settings"]["cohort"] == "2026-01-01:2026-01-31"
    assert release["settings"]["dates"] == "quarter"
    assert verify(tmp_path / "out").holds
    assert list(independent.problems(tmp_path / "out")) == []
