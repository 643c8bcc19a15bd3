"""l-diversity and t-closeness of values: worked by hand, a plain oracle, and tampering."""

import csv
import hashlib
import itertools
import json
from collections import defaultdict
from pathlib import Path

import independent
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.io import read_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer
from recveil.methods.registry import same_again, summarize
from recveil.ratings import Ratings, RatingScale
from recveil.release.manifest_reader import known_manifest
from recveil.report.release import describe_summary
from recveil.verification import verify
from recveil.verification.value_limits import ValueLimits, count_levels, distances
from shared.methods_k_corating import rows_of
from shared.verification_tampering import _manifest, _sign_with_new_card

SDCMICRO = Path(__file__).parent.parent / "shared" / "sdcmicro" / "classes.csv"
RATINGS = make_ratings(n_users=60, n_items=30, n_ratings=700, seed=1)


def test_the_example_of_li_et_al():
    # Section 5: salaries of 3k to 11k in the table; 3k, 4k, 5k are 0.375 away, 6k, 8k, 11k 0.167.
    table = np.ones((1, 9), int)
    low, spread = np.zeros((2, 1, 9), int)
    low[0, [0, 1, 2]] = spread[0, [3, 5, 8]] = 1
    assert distances(low, table)[0] == pytest.approx(0.375)
    assert distances(spread, table)[0] == pytest.approx(1 / 6)


_LEVELS = st.lists(st.integers(1, 5), min_size=1, max_size=8)


@given(_LEVELS, _LEVELS)
def test_distances_against_scipy(one, other):
    counts = [
        count_levels(np.zeros(len(row), int), np.array(row), RatingScale(1, 5, 1), 1)
        for row in (one, other)
    ]
    assert distances(*counts)[0] == pytest.approx(wasserstein_distance(one, other) / 4)


def test_classes_and_distinct_values_are_those_of_sdcmicro():
    table = np.loadtxt(SDCMICRO, delimiter=",", skiprows=1, dtype=int)
    rows, fk, distinct = table[:, :4], table[:, 4], table[:, 5]
    users, items = np.nonzero(rows)
    ratings = Ratings.from_columns(users, items, rows[users, items], scale=RatingScale(1, 5, 1))
    verdict = verify(ratings, k=2)
    assert (verdict.k_achieved, verdict.classes) == (fk.min(), round((1 / fk).sum()))
    assert verdict.singletons == (fk == 1).sum() > 0
    _, cells = np.unique(rows[:, 1:], axis=0, return_inverse=True)
    counts = count_levels(cells.ravel(), rows[:, 0], RatingScale(1, 5, 1), cells.max() + 1)
    broken = ValueLimits(3, None).broken(counts, np.zeros(len(counts), int), counts)
    assert ((counts > 0).sum(axis=1)[cells.ravel()] == distinct).all()
    assert (broken[cells.ravel()] == (distinct < 3)).all()
    assert 0 < broken.sum() < broken.size


def test_cells_are_suppressed_until_the_others_are_close():
    # Item 0 has 4 of 5, 1 of 1 and 1 of 1: far from half of each is the first, then nothing is.
    counts = np.array([[0, 4], [1, 0], [1, 0], [1, 1]])
    items = np.array([0, 0, 0, 1])
    assert ValueLimits(None, 0.5).keep(counts, items).tolist() == [True, False, False, True]
    assert ValueLimits(None, 0.5).keep(counts[1:], items[1:]).tolist() == [True] * 3
    assert ValueLimits(2, None).keep(counts, items).tolist() == [False, False, False, True]


def _cells(rows: dict) -> dict:
    """The values of each item in each class of records with the same items."""
    cells = defaultdict(list)
    for row in rows.values():
        for item, value in row.items():
            cells[frozenset(row), item].append(value)
    return cells


@pytest.mark.parametrize(
    "options",
    [
        {"diversity": 2},
        {"diversity": 4},
        {"closeness": 0.15},
        {"diversity": 3, "closeness": 0.2, "fill": "random", "protect": "shuffle"},
    ],
)
def test_co_rated_rows_are_within_the_limits(options, tmp_path):
    rater = KCoRater(4, seed=1, **options)
    release = rater.anonymize(RATINGS)
    rows = rows_of(release)
    cells, of_item = _cells(rows), defaultdict(list)
    for (_, item), values in cells.items():
        of_item[item] += values
    for (_, item), values in cells.items():
        assert len(set(values)) >= options.get("diversity", 1)
        apart = wasserstein_distance(values, of_item[item]) / 4
        assert apart <= options.get("closeness", 1) + 1e-9
    n_real = sum(
        rows[user].get(item) is not None
        for user, at in zip(RATINGS.users.tolist(), range(60), strict=True)
        for item in RATINGS.items[RATINGS.row(at)[0]].tolist()
    )
    cost = release.private.settings["suppressed"]
    result = " ".join(describe_summary(summarize(release, RATINGS)))
    assert f"{cost['cells']:,} values" in result
    assert f"{n_real:,} real ratings" in result
    assert cost["ratings"] == RATINGS.n_ratings - n_real > 0
    assert release.private.settings["filled_cells"] == sum(map(len, rows.values())) - n_real
    verdict = release.write(tmp_path / "out")
    assert verdict.holds
    assert all(
        f"{name} {limit}" in verdict.value_limits
        for name, limit in options.items()
        if name in ("diversity", "closeness")
    )
    assert not list(independent.problems(tmp_path / "out"))
    assert same_again(known_manifest(tmp_path / "out"), seed=1).get_params() == rater.get_params()


@pytest.mark.parametrize("options", [{"diversity": 3}, {"closeness": 0.15}])
def test_ratings_behind_simple_rows_are_within_the_limits(options, tmp_path):
    rater = PredictiveAnonymizer(4, "simple", seed=1, **options)
    release = rater.anonymize(RATINGS)
    groups, dense = release.private.groups, RATINGS.csr.toarray()
    records = [
        block.indices[start:end].tolist()
        for block in release.published.blocks()
        for start, end in itertools.pairwise(block.indptr)
    ]
    assert all(records)
    n_suppressed = 0
    for members, items in zip(np.split(groups.members, groups.starts[1:-1]), records, strict=True):
        for item in range(RATINGS.n_items):
            values, table = dense[members, item], dense[:, item]
            if not values.any():
                continue
            values, table = values[values > 0], table[table > 0]
            apart = wasserstein_distance(values, table) / 4
            is_diverse = len(set(values)) >= options.get("diversity", 1)
            assert (item in items) == (is_diverse and apart <= options.get("closeness", 1) + 1e-9)
            n_suppressed += item not in items
    assert release.private.settings["suppressed"]["cells"] == n_suppressed
    verdict = release.write(tmp_path / "out")
    assert verdict.holds
    assert verdict.value_limits is None  # means can only contradict limits
    assert not list(independent.problems(tmp_path / "out"))
    again = same_again(known_manifest(tmp_path / "out"), seed=1)
    assert (again.diversity, again.closeness) == (rater.diversity, rater.closeness)


class TestRatingsBehindMeans:
    @pytest.fixture
    def folder(self, tmp_path):
        return _written(tmp_path, PredictiveAnonymizer(4, "simple", diversity=2, seed=1))

    @pytest.mark.parametrize(
        "options",
        [{"diversity": 3}, {"closeness": 0.15}, {"diversity": 2, "closeness": 0.4}],
    )
    @pytest.mark.parametrize("layout", ["users", "groups"])
    def test_they_are_counted(self, options, layout, tmp_path):
        folder = _written(tmp_path, PredictiveAnonymizer(4, "simple", seed=1, **options), layout)
        private = folder.with_suffix(".private")
        verdict = verify(folder, private=private, ratings=RATINGS)
        limits = ValueLimits.of(options)
        assert verdict.holds
        assert verdict.value_limits == limits.describe()
        more = verify(folder, private=private)
        assert more.value_limits is None
        assert len(more.not_covered) == len(verdict.not_covered) + 1

    def test_a_file_is_read_on_the_scale_of_the_release(self, folder, tmp_path):
        RATINGS.to_pandas().to_csv(tmp_path / "table.csv", index=False)
        private = folder.with_suffix(".private")
        verdict = verify(folder, private=private, ratings=tmp_path / "table.csv")
        assert (verdict.holds, verdict.value_limits) == (True, "diversity 2")

    def test_columns_of_a_file_are_named(self, folder, tmp_path):
        frame = RATINGS.to_pandas().iloc[:, :3].set_axis(["kunde", "titel", "note"], axis=1)
        frame.to_csv(tmp_path / "table.csv", index=False, sep=";")
        columns = {"user": "kunde", "item": "titel", "rating": "note", "delimiter": ";"}
        table = {"private": folder.with_suffix(".private"), "ratings": tmp_path / "table.csv"}
        assert verify(folder, **table, **columns).value_limits == "diversity 2"
        with raises("option.unsupported"):
            verify(folder, private=table["private"], **columns)

    @pytest.mark.parametrize("damage", ["empty", "unknown", "twice"])
    def test_an_assignment_without_each_record_once(self, folder, damage):
        private = folder.with_suffix(".private")
        table = pq.read_table(private / "assignment.parquet")
        ids = table["published_id"].to_pylist()
        ids = {"empty": [], "unknown": ["zz", *ids[1:]], "twice": [ids[1], *ids[1:]]}[damage]
        changed = table.slice(0, len(ids)).set_column(
            table.column_names.index("published_id"), "published_id", pa.array(ids, pa.string())
        )
        pq.write_table(changed, private / "assignment.parquet")
        with raises("private.damaged"):
            verify(folder, private=private, ratings=RATINGS)

    @pytest.mark.filterwarnings("ignore:1 row was dropped")
    def test_ratings_off_the_scale_are_left_out_as_in_the_release(self, folder, tmp_path):
        frame = RATINGS.to_pandas()
        private = folder.with_suffix(".private")
        for rating, is_same in (-1, True), (1, False):
            more = frame.head(1).assign(item_id=frame["item_id"].max() + 1, rating=rating)
            pd.concat([frame, more]).to_csv(tmp_path / "table.csv", index=False)
            if is_same:
                assert verify(folder, private=private, ratings=tmp_path / "table.csv").holds
            else:
                with raises("release.mismatch"):
                    verify(folder, private=private, ratings=tmp_path / "table.csv")

    @pytest.mark.filterwarnings("ignore:5 rows were dropped")
    def test_the_last_of_several_ratings_counts(self, tmp_path):
        frame = RATINGS.to_pandas()
        frame = pd.concat([frame, frame.head(5).assign(rating=1)])
        frame.to_csv(tmp_path / "table.csv", index=False)
        last = {"ratings": tmp_path / "table.csv", "duplicates": "last"}
        read = read_ratings(tmp_path / "table.csv", scale=RatingScale(1, 5, 1), duplicates="last")
        release = PredictiveAnonymizer(4, "simple", diversity=2, seed=1).anonymize(read)
        release.write(tmp_path / "out")
        assert verify(tmp_path / "out", private=tmp_path / "out.private", **last).holds
        with raises("option.unsupported"):
            verify(tmp_path / "out", duplicates="last")

    @pytest.mark.parametrize("closeness", [0.05, 0.2])
    def test_a_limit_that_they_do_not_have(self, folder, closeness):
        manifest = _manifest(folder)
        manifest["settings"]["closeness"] = closeness
        _sign_with_new_card(folder, manifest)
        private = _signed_private(folder)
        assert verify(folder, private=private).holds  # means cannot contradict it
        (problem,) = [
            violation.problem
            for violation in verify(folder, private=private, ratings=RATINGS).violations
        ]
        limits = ValueLimits.of(manifest["settings"])
        broken = _broken_by_hand(folder, limits)
        assert problem.startswith(f"{broken:,} of ")
        assert problem.endswith(limits.describe())
        assert broken > 0

    def test_means_of_other_users(self, folder):
        private = folder.with_suffix(".private")
        table = pq.read_table(private / "assignment.parquet")
        ids = table["published_id"].to_pylist()
        at = table.column_names.index("published_id")
        changed = table.set_column(at, table.schema.field(at), pa.array(ids[1:] + ids[:1]))
        pq.write_table(changed, private / "assignment.parquet")
        verdict = verify(folder, private=private, ratings=RATINGS)
        assert not verdict.holds
        assert any("means are not those" in each.problem for each in verdict.violations)

    def test_what_is_rejected(self, folder, tmp_path):
        private = folder.with_suffix(".private")
        with raises("option.required"):
            verify(folder, ratings=RATINGS)
        with raises("release.mismatch"):
            verify(folder, private=private, ratings=make_ratings(60, 30, 700, seed=2))
        plain = _written(tmp_path / "plain", PredictiveAnonymizer(4, "simple", seed=1))
        for release in (plain, _written(tmp_path / "co", KCoRater(4, diversity=2, seed=1))):
            with raises("option.unsupported"):
                verify(release, private=release.with_suffix(".private"), ratings=RATINGS)


def _written(folder, anonymizer, layout="auto") -> Path:
    folder.mkdir(exist_ok=True)
    anonymizer.anonymize(RATINGS).write(folder / "out", layout=layout)
    return folder / "out"


def _signed_private(folder) -> Path:
    """Let the private folder name a changed manifest."""
    private = folder.with_suffix(".private")
    content = json.loads((private / "private.json").read_text())
    digest = hashlib.sha256((folder / "release.json").read_bytes()).hexdigest()
    content["release"]["sha256"] = digest
    (private / "private.json").write_text(json.dumps(content))
    return private


def _broken_by_hand(folder, limits) -> int:
    """Count the published means of classes whose ratings are outside the limits."""
    table = pq.read_table(folder / "ratings.parquet").to_pylist()
    assignment = pq.read_table(folder.with_suffix(".private") / "assignment.parquet").to_pylist()
    rows = defaultdict(dict)
    for line in table:
        rows[line["user_id"]][line["item_id"]] = line["rating"]
    members = defaultdict(list)
    for line in assignment:
        members[frozenset(rows[line["published_id"]].items())].append(line["user_id"])
    dense, n_broken = RATINGS.csr.toarray(), 0
    for row, users in members.items():
        places = np.searchsorted(RATINGS.users, users)
        for item, _ in row:
            column = dense[:, np.searchsorted(RATINGS.items, item)]
            values = column[places][column[places] > 0]
            apart = wasserstein_distance(values, column[column > 0]) / 4
            n_broken += len(set(values)) < (limits.diversity or 1) or (
                limits.closeness is not None and apart > limits.closeness + 1e-9
            )
    return n_broken


def test_classes_without_a_value_are_merged(tmp_path):
    # Classes {0, 1} and {2, 3} agree on all items: only together they have two values of a.
    ratings = Ratings.from_columns(
        *([0, 1, 2, 3, 2, 3], ["a", "a", "a", "a", "b", "b"], [1, 1, 5, 5, 3, 3]),
        scale=RatingScale(1, 5, 1),
    )
    release = KCoRater(2, diversity=2, seed=1).anonymize(ratings)
    assert rows_of(release) == {0: {"a": 1}, 1: {"a": 1}, 2: {"a": 5}, 3: {"a": 5}}
    cost = {"cells": 4, "ratings": 2, "merged": 1, "items": 1, "outside": 0}
    assert release.private.settings["suppressed"] == cost
    with raises("option.value"):
        KCoRater(2, diversity=3, seed=1).anonymize(ratings)


def test_imputed_values_count_and_what_ratings_alone_lack_is_reported():
    release = KCoRater(4, diversity=2, seed=1).anonymize(RATINGS)
    rows = rows_of(release)
    real, cells = defaultdict(set), _cells(rows)
    for user, item, value in zip(
        RATINGS.users[RATINGS.user_positions()].tolist(),
        RATINGS.items[RATINGS.indices].tolist(),
        RATINGS.values.tolist(),
        strict=True,
    ):
        real[frozenset(rows[user]), item].add(value)
    assert all(len(set(values)) >= 2 for values in cells.values())
    n_outside = sum(len(real[cell]) < 2 for cell in cells)
    cost = release.private.settings["suppressed"]
    assert (cost["items"], cost["outside"]) == (len(cells), n_outside)
    assert 0 < n_outside < len(cells)
    described = " ".join(describe_summary(summarize(release, RATINGS)))
    assert f"{n_outside} of the {len(cells)} published items" in described


class TestTampering:
    @pytest.fixture
    def folder(self, tmp_path):
        release = KCoRater(4, diversity=2, closeness=0.4, seed=1).anonymize(RATINGS)
        release.write(tmp_path / "out", file_format="csv")
        return tmp_path / "out"

    def test_values_made_equal(self, folder):
        with (folder / "ratings.csv").open() as file:
            header, *lines = csv.reader(file)
        first = lines[0][1]
        changed = [[user, item, 3.0 if item == first else float(v)] for user, item, v in lines]
        text = "".join(f'"{user}",{item},{value:g}\n' for user, item, value in changed)
        (folder / "ratings.csv").write_text(",".join(f'"{name}"' for name in header) + "\n" + text)
        _sign_with_new_card(folder, _manifest(folder))
        assert _problems(folder) == ["outside diversity 2"]

    @pytest.mark.parametrize(
        ("name", "value"), [("diversity", 5), ("closeness", 0.01), ("diversity", 4)]
    )
    def test_a_stricter_limit(self, folder, name, value):
        manifest = _manifest(folder)
        manifest["settings"][name] = value
        _sign_with_new_card(folder, manifest)
        assert _problems(folder) == [
            f"outside {ValueLimits.of(manifest['settings']).describe()}"[:19]
        ]

    @pytest.mark.parametrize("value", [1, 2.0, "2", None, True, 101, -1])
    def test_a_limit_that_no_release_has(self, folder, value):
        manifest = _manifest(folder)
        manifest["settings"]["diversity"] = value
        _sign_with_new_card(folder, manifest)
        assert not verify(folder).holds
        assert list(independent.problems(folder))

    def test_means_at_the_ends_of_the_scale_have_no_diverse_ratings(self, tmp_path):
        PredictiveAnonymizer(4, "simple", diversity=2, seed=1).anonymize(RATINGS).write(
            tmp_path / "out", file_format="csv"
        )
        manifest = _manifest(tmp_path / "out")
        manifest["settings"]["diversity"] = 5
        _sign_with_new_card(tmp_path / "out", manifest)
        assert _problems(tmp_path / "out") == ["outside diversity 5"]


def _problems(folder) -> list[str]:
    assert list(independent.problems(folder))
    problems = [violation.problem for violation in verify(folder).violations]
    return [
        problem[problem.index("outside") :][:19] for problem in problems if "outside" in problem
    ]


@pytest.mark.parametrize(
    ("make", "options", "code"),
    [
        (KCoRater, {"diversity": 1}, "option.value"),
        (KCoRater, {"diversity": True}, "option.value"),
        (KCoRater, {"closeness": 1.5}, "option.value"),
        (KCoRater, {"diversity": 2, "protect": "mean"}, "option.conflict"),
        (KCoRater, {"closeness": 0.1, "round_fills": False}, "option.conflict"),
        (PredictiveAnonymizer, {"diversity": 2}, "option.conflict"),
        (PredictiveAnonymizer, {"diversity": 2, "homogenize": "simple", "l": 2}, "option.conflict"),
        (
            PredictiveAnonymizer,
            {"closeness": 0.1, "homogenize": "simple", "privacy_levels": "5"},
            "option.conflict",
        ),
    ],
)
def test_options_that_exclude_each_other(make, options, code):
    with raises(code):
        make(4, **options)


def test_scales_without_steps_have_no_levels():
    scale = RatingScale(0, 1)
    ratings = Ratings.from_columns(range(9), [0] * 9, np.arange(9) / 9, scale=scale)
    with raises("option.unsupported"):
        KCoRater(4, diversity=2).anonymize(ratings)
