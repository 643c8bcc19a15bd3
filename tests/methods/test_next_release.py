"""A release that follows another one: users keep their classes, and no set of releases singles out.

The oracle of the histories is in tests/shared.
"""

import hashlib
import itertools
import json
import pickle
import shutil
import warnings
from collections import Counter
from pathlib import Path

import forging
import independent
import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from error_assertions import raises
from recveil.attacks import AttackTarget
from recveil.attacks.membership.inference import only
from recveil.auditing.shadow_releases import shadow_maker
from recveil.methods import SparseRows, anonymize, dry_run
from recveil.methods.previous_release import read_previous
from recveil.methods.registry import same_again
from recveil.methods.sparse.classes import deal_lengths
from recveil.methods.sparse.next_classes import cluster_classes
from recveil.ratings import Ratings
from recveil.release.manifest_reader import known_manifest
from recveil.runtime.errors import LinkageWarning, RecveilError
from recveil.verification import verify
from shared.methods_next_release import (
    DECLARED,
    MANY,
    RATINGS,
    assert_diverse,
    attributes_of,
    declare,
    fewest_candidates,
    figures_of,
    publish,
    published_rows,
    records_of,
    rows_of,
)

# Users 1 to 44; then eight leave and ten join; then three leave, three join, and one comes back.
MONTHS = [
    np.arange(44),
    np.concatenate([np.arange(8, 44), np.arange(50, 60)]),
    np.concatenate([[0], np.arange(11, 44), np.arange(50, 63)]),
]


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    return publish(MONTHS, tmp_path_factory.mktemp("series"), 5)


@pytest.fixture
def copied(series, tmp_path):
    """Return copies of the first two releases, which a test may change."""
    for release in series[:2]:
        shutil.copytree(release, tmp_path / release.name)
        shutil.copytree(f"{release}.private", tmp_path / f"{release.name}.private")
    return [tmp_path / release.name for release in series[:2]]


@pytest.fixture
def alone(series, tmp_path):
    """Return a function that copies one release of the series to where none follows it."""

    def copy(number):
        shutil.copytree(f"{series[number]}.private", tmp_path / f"month-{number}.private")
        return Path(shutil.copytree(series[number], tmp_path / f"month-{number}"))

    return copy


def test_who_stays_leaves_joins_and_waits_is_counted(series):
    first, second = figures_of(series[1]), figures_of(series[2])
    counts = ["stayed", "new", "waiting", "left"]
    assert [first[name] for name in counts] == [36, 10, 0, 8]
    assert [second[name] for name in counts] == [44, 0, 3, 10]
    digests = [hashlib.sha256((each / "release.json").read_bytes()).hexdigest() for each in series]
    assert second["releases"] == digests[:2]


def test_no_set_of_releases_leaves_a_user_fewer_than_k_candidates(series):
    assert fewest_candidates(series) >= 5


def test_clustering_afresh_leaves_users_alone(tmp_path):
    """The control: the oracle sees what the series prevents."""
    outputs = [tmp_path / str(seed) for seed in range(2)]
    for seed, output in enumerate(outputs):
        anonymize(only(RATINGS, MONTHS[0]), output, k=5, seed=seed)
    assert fewest_candidates(outputs) == 1


def test_classes_never_split_and_rows_are_never_dropped(series):
    rows = [rows_of(release) for release in series]
    for before, after in itertools.pairwise(rows):
        assert before.keys() <= after.keys()
        successors = {}
        for user, row in before.items():
            assert successors.setdefault(row, after[user]) == after[user]


def test_those_who_wait_are_in_no_file_of_the_release(series):
    waiting = set(RATINGS.users[60:63].tolist())
    assert not waiting & rows_of(series[2]).keys()


def test_the_place_in_a_class_is_not_that_of_the_release_before(series):
    """Otherwise pseudonyms would link the rows of one user, although all rows are equal."""
    order = []
    for release in series[:2]:
        assignment = pq.read_table(f"{release}.private/assignment.parquet").to_pylist()
        order.append({each["user_id"]: each["published_id"] for each in assignment})
    rows = rows_of(series[0])
    agree = [
        (order[0][one] < order[0][other]) == (order[1][one] < order[1][other])
        for one in rows
        for other in rows
        if one < other and rows[one] == rows[other]
    ]
    assert 0.2 < np.mean(agree) < 0.8


def test_a_class_lists_what_it_was(series):
    lines = (series[1] / "classes.csv").read_text().splitlines()
    assert lines[0] == "digest,users,previous"
    before = dict(
        line.split(",") for line in (series[0] / "classes.csv").read_text().splitlines()[1:]
    )
    parts = [line.split(",") for line in lines[1:]]
    assert {previous: n for _, n, previous in parts if previous} == before
    assert sum(int(n) for _, n, previous in parts if not previous) == 10


def test_the_next_release_verifies_against_the_one_before_alone(series):
    result = verify(series[1], against=series[0], private=f"{series[1]}.private")
    assert result.holds
    assert result.n_continued == verify(series[0]).classes
    assert "previous-release" not in [limit.code for limit in result.not_covered]
    assert "kept-classes" not in [limit.code for limit in result.not_covered]
    assert "kept-rows" in [limit.code for limit in result.not_covered]
    alone = verify(series[1], against=series[0])
    assert alone.holds
    assert "kept-classes" in [limit.code for limit in alone.not_covered]
    assert "previous-release" in [limit.code for limit in verify(series[1]).not_covered]
    assert not verify(series[2], against=series[0]).holds
    assert not verify(series[0], against=series[1]).holds
    assert not verify(series[1], against=series[1]).holds


def test_its_release_json_has_the_shape_that_the_page_states(series):
    page = Path(__file__).parents[2] / "docs" / "reference" / "release.schema.json"
    content = json.loads((series[1] / "release.json").read_text())
    jsonschema.validate(content, json.loads(page.read_text()))
    for value in ("", "0" * 63, 7, None):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(content | {"previous": value}, json.loads(page.read_text()))


def change_classes(release: Path, change) -> None:
    """Change the lines of classes.csv, and make the digests fit."""
    file, manifest = release / "classes.csv", release / "release.json"
    header, *lines = file.read_text().splitlines()
    lines = change([line.split(",") for line in lines])
    file.write_text("\n".join([header, *sorted(map(",".join, lines)), ""]))
    content = json.loads(manifest.read_text())
    entry = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "bytes": file.stat().st_size}
    content["files"]["classes.csv"] = entry
    manifest.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def swap_first_two(lines):
    """Name a class with another size in the release before."""
    old = [line for line in lines if line[2]]
    one = old[0]
    other = next(line for line in old if line[1] != one[1])
    one[2], other[2] = other[2], one[2]
    return lines


def name_newcomers(lines):
    next(line for line in lines if not line[2])[2] = "0" * 32
    return lines


def forget_one(lines):
    next(line for line in lines if line[2])[2] = ""
    return lines


def split_one(lines):
    line = next(line for line in lines if line[2])
    return [
        *(each for each in lines if each is not line),
        [line[0], "3", line[2]],
        [line[0], "2", ""],
    ]


@pytest.mark.parametrize("change", [swap_first_two, name_newcomers, forget_one, split_one])
def test_other_classes_do_not_verify(copied, change):
    change_classes(copied[1], change)
    assert not verify(copied[1], against=copied[0]).holds


def test_lines_in_another_notation_do_not_verify(copied):
    change_classes(copied[1], lambda lines: [[a, f"0{n}", b] for a, n, b in lines])
    assert not verify(copied[1]).holds


def exchange_two(table):
    """Exchange two users of different classes."""
    users = table["user_id"].to_pylist()
    users[0], users[-1] = users[-1], users[0]
    return table.set_column(0, "user_id", pa.array(users))


def test_users_who_are_in_another_class_are_reported_with_the_private_folders(copied):
    options = {"against": copied[0], "private": f"{copied[1]}.private"}
    assert verify(copied[1], **options).holds
    change_assignment(copied[1], exchange_two)
    assert not verify(copied[1], **options).holds


def test_a_damaged_previous_release_does_not_verify(copied):
    with (copied[0] / "README.md").open("a") as card:
        card.write("more")
    assert not verify(copied[1], against=copied[0]).holds


def test_against_needs_releases(series, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("user,item,rating\n1,1,1\n2,1,1\n")
    with raises("option.unsupported", "against"):
        verify(table, k=2, against=series[0])
    anonymize(RATINGS, tmp_path / "drawn", epsilon="none", item_catalog="as-rated")
    with raises("release.kind", "drawn"):
        verify(series[1], against=tmp_path / "drawn")


def test_attacks_know_that_some_rows_are_of_users_who_left(series):
    table = AttackTarget.from_folder(series[1], RATINGS)
    assert table.candidates.sizes.sum() == 54
    assert (table.record_of >= 0).sum() == 54
    present = AttackTarget.from_folder(series[1], only(RATINGS, MONTHS[1]))
    assert (present.record_of >= 0).sum() == 46


def test_ids_may_be_text_in_one_table_and_numbers_in_the_other(alone, tmp_path):
    table = RATINGS.to_arrow()
    table = table.set_column(0, "user_id", table["user_id"].cast(pa.string()))
    made = anonymize(table, tmp_path / "next", k=5, previous=f"{alone(0)}.private", seed=3)
    assert made.release.private.continuation.n_stayed == 44


def test_only_releases_outside_the_series_are_warned_of(alone, tmp_path):
    march, april = alone(0), alone(1)
    ratings = only(RATINGS, MONTHS[2])
    anonymize(ratings, tmp_path / "other", k=5, seed=8)
    options = {"k": 5, "seed": 9, "previous": f"{april}.private"}
    assert march.exists()
    (other,) = anonymize(ratings, tmp_path / "june", **options).earlier
    assert other.folder.name == "other"
    for attempt in anonymize, dry_run:  # two that follow the same one leave users alone
        with raises("release.followed", "june"):
            attempt(ratings, tmp_path / "july", **options)
    anonymize(ratings, tmp_path / "june", force=True, **options)


def test_of_two_followers_in_memory_one_is_written(alone, tmp_path):
    march, ratings = alone(0), only(RATINGS, MONTHS[1])
    options = {"k": 5, "previous": f"{march}.private"}
    april, copy = (anonymize(ratings, **options, seed=seed) for seed in (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", LinkageWarning)
        april.write(tmp_path / "april")
    with raises("release.followed", "april"):
        copy.write(tmp_path / "copy")


def in_notations(users, usual, other):
    """Return the ratings of some users, every third with an id in the other notation."""
    table = only(RATINGS, users)
    ids = [(usual if user % 3 else other).format(user) for user in table.users.tolist()]
    rows = table.user_positions()
    return Ratings.from_columns([ids[row] for row in rows], table.indices, table.values)


@pytest.mark.parametrize(
    ("usual", "other"), [("{}", "{:04d}"), ("{}", "{}.0"), ("u{}", "U{}"), ("u{}", " u{}")]
)
def test_users_in_another_notation_are_no_newcomers(usual, other, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    anonymize(in_notations(MONTHS[0], usual, usual), first, k=5, seed=1)
    options = {"k": 5, "seed": 1, "previous": f"{first}.private"}
    with raises("id.other-notation"):
        anonymize(in_notations(MONTHS[1], usual, other), second, **options)
    assert not second.exists()
    anonymize(in_notations(MONTHS[1], usual, usual), second, **options)


def test_notations_of_one_table_are_users_of_their_own(tmp_path):
    table = in_notations(MONTHS[0], "u{}", "u{}")
    both = [*table.users, "U1"]
    rows = [*table.user_positions().tolist(), *[len(both) - 1] * 20]
    items = [*table.indices.tolist(), *range(20)]
    alike = Ratings.from_columns([both[row] for row in rows], items, [3.0] * len(items))
    anonymize(table, tmp_path / "first", k=5, seed=1)
    options = {"k": 5, "seed": 1, "previous": f"{tmp_path / 'first'}.private"}
    anonymize(alike, tmp_path / "second", **options)  # U1 waits for other newcomers
    assert "U1" not in records_of(tmp_path / "second")


def test_settings_that_fit_no_series_are_rejected(series, tmp_path):
    previous = f"{series[0]}.private"

    def following(**options):
        return anonymize(
            options.pop("ratings", RATINGS), tmp_path / "out", **{"previous": previous} | options
        )

    with raises("release.mismatch", "--k 5"):
        following(k=4)
    with raises("option.unsupported", "previous", "--method sparse"):
        following(k=5, method="predictive")
    with raises("option.unsupported", "previous"):
        following(epsilon=3, scale="1:5:1", item_catalog="as-rated")
    with raises("private.not-found", "private"):
        following(k=5, previous=series[0])
    with raises("private.not-found"):
        following(k=5, previous=tmp_path / "none.private")
    with raises("release.mismatch", "44"):
        following(k=5, ratings=only(RATINGS, np.arange(45, 70)))
    with raises("release.mismatch", "30", "44"):
        following(k=5, ratings=only(RATINGS, np.arange(30, 70)))
    with raises("table.too-few-users"):
        following(k=5, ratings=only(RATINGS, MONTHS[0]), cluster_size=60)
    anonymize(RATINGS, tmp_path / "other", k=5, method="predictive", homogenize="simple")
    with raises("release.mismatch", "predictive"):
        following(k=5, previous=tmp_path / "other.private")
    assert not (tmp_path / "out").exists()


def change_assignment(release: Path, change) -> None:
    file = Path(f"{release}.private", "assignment.parquet")
    pq.write_table(change(pq.read_table(file)), file)


def test_a_release_that_no_other_may_follow_is_followed_by_none(tmp_path):
    anonymize(RATINGS, tmp_path / "old", k=5, method="k-corating", seed=1)
    old = tmp_path / "old.private"
    for method in ("k-corating", "sparse"):
        with pytest.raises(RecveilError) as caught:
            anonymize(RATINGS, tmp_path / "new", k=5, method=method, previous=old)
        assert "--method k-corating" not in str(caught.value)
        assert "begin a series" in str(caught.value)
    anonymize(RATINGS, tmp_path / "new", k=5, method="sparse")


def test_a_private_folder_that_was_changed_is_rejected(copied):
    for change in (
        lambda table: table.slice(1),
        lambda table: pa.concat_tables([table.slice(1), table.slice(1, 1)]),
        lambda table: table.set_column(1, "published_id", pa.array(["p0000-0"] * table.num_rows)),
    ):
        before = pq.read_table(f"{copied[0]}.private/assignment.parquet")
        change_assignment(copied[0], change)
        with raises("private.damaged", copied[0].name):
            read_previous(f"{copied[0]}.private")
        change_assignment(copied[0], lambda _, before=before: before)
    change_assignment(copied[1], lambda table: table.drop_columns(["in_table"]))
    with raises("private.damaged", copied[1].name):
        read_previous(f"{copied[1]}.private")
    shutil.rmtree(copied[1])
    copied[0].rename(copied[1])
    with raises("private.mismatch"):
        read_previous(f"{copied[1]}.private")


def test_the_first_release_has_nothing_of_a_series(series):
    assert "previous" not in json.loads((series[0] / "release.json").read_text())
    assert "previous" not in json.loads(Path(f"{series[0]}.private/private.json").read_text())
    assignment = pq.read_table(f"{series[0]}.private/assignment.parquet")
    assert assignment.column_names == ["user_id", "published_id"]


def test_hidden_items_may_follow_each_other(tmp_path):
    options = {"k": 5, "seed": 1, "hide_items": True}
    anonymize(only(RATINGS, MONTHS[0]), tmp_path / "a", **options)
    anonymize(
        *(only(RATINGS, MONTHS[1]), tmp_path / "b"), previous=tmp_path / "a.private", **options
    )
    assert verify(tmp_path / "b", against=tmp_path / "a").holds


def test_classes_are_clustered_whole_by_users_who_are_there():
    rng = np.random.default_rng(1)
    class_of = np.repeat([0, 1, 2, 3], [5, 1, 5, 6])  # no user is left of class 4
    places = np.array([0.0, 0.0, 9.0, 9.0])[class_of][:, None].astype(np.float32)
    found = cluster_classes(places, class_of, 5, 6, 1, rng)
    assert found[0] == found[1] != found[2] == found[3]
    assert found[4] in found[:4]
    assert len(set(cluster_classes(places, class_of, 5, 17, 1, rng))) == 1


def test_lengths_are_those_of_users_who_are_there():
    lengths = deal_lengths(
        np.array([1, 0, 0, 1]), np.array([0, 1, 1, 1]), np.array([[4, 0], [1, 1], [3, 1], [6, 2]])
    )
    assert lengths.tolist() == [[2.0, 1.0], [4.0, 0.0], [4.0, 0.0], [6.0, 2.0]]


def test_classes_with_equal_rows_are_one_class_from_then_on(tmp_path):
    """All users like the same two items, so that all rows are equal."""
    months = [30, 40, 52]
    outputs = [tmp_path / str(month) for month in months]
    for n_users, output, before in zip(months, outputs, [None, *outputs], strict=False):
        users = np.repeat(np.arange(n_users), 2)
        likes = Ratings.from_columns(users, np.tile([1, 2], n_users), np.ones(2 * n_users))
        previous = before and f"{before}.private"
        options = {"allow_sparse_coverage": True, "previous": previous, "seed": 1}
        anonymize(likes.as_likes(), output, k=5, **options)
    found = [(output / "classes.csv").read_text().splitlines()[1:] for output in outputs]
    digest = found[0][0].partition(",")[0]
    assert found[1:] == [
        [f"{digest},10,", f"{digest},30,{digest}"],
        [f"{digest},12,", f"{digest},40,{digest}"],
    ]
    assert verify(outputs[2], against=outputs[1]).holds


def test_the_publisher_learns_how_users_were_assigned(alone, tmp_path):
    options = {"k": 5, "seed": 1, "previous": f"{alone(1)}.private"}
    ratings = only(RATINGS, MONTHS[2])
    estimate = dry_run(ratings, tmp_path / "out", **options)
    made = anonymize(ratings, tmp_path / "out", **options)
    stated = " ".join(made.sentences())
    assert all(str(number) in stated for number in (44, 10, 3))
    assert made.to_dict()["previous"]["waiting"] == 3
    assert estimate.foreseen.n_users == made.verification.users == 54
    assert estimate.foreseen.groups == made.verification.classes


def test_no_release_of_other_users_is_like_one_that_follows_another(series):
    """A first release would retain more, and an adversary with shadows of it would infer less."""
    assert same_again(known_manifest(series[0]), 0) is not None
    assert same_again(known_manifest(series[1]), 0) is None
    with raises("release.unsupported", "shadows"):
        shadow_maker(known_manifest(series[1]), 50)


def test_spark_does_not_make_or_verify_a_series(series, tmp_path):
    spark = pytest.importorskip("recveil.spark")
    pytest.importorskip("pyspark")
    with raises("option.unsupported", "previous"):
        spark.anonymize("ratings.parquet", tmp_path / "out", k=5, previous=f"{series[0]}.private")
    with raises("option.unsupported"):
        spark.verify(series[1])


def test_an_anonymizer_that_knows_who_is_where_is_not_pickled(series):
    anonymizer = SparseRows(5, previous=read_previous(f"{series[0]}.private"))
    assert clone(anonymizer).previous is anonymizer.previous
    with pytest.raises(TypeError, match="PreviousRelease"):
        pickle.dumps(anonymizer)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attributes")
    return publish(TestAttributes.MONTHS, folder, 5, MANY, dates="month")


@pytest.mark.filterwarnings("ignore::recveil.release.coverage.CoverageWarning")
class TestAttributes:
    """Series with dates and attributes; a tenth of the users declares others each month."""

    MONTHS = (np.arange(90), np.r_[8:90, 100:130], np.r_[0:4, 12:90, 100:142])

    def test_nobody_is_distinguished_and_values_stay_diverse(self, written):
        assert len(written) == 3
        assert fewest_candidates(written) >= 5
        assert_diverse(written)
        kept = [{user: row[-1] for user, row in rows_of(each).items()} for each in written]
        for before, after in itertools.pairwise(kept):
            assert before.items() <= after.items()
            assert {*after.values()} - {("*", "*")}
        for before, after in itertools.pairwise(written):
            assert verify(after, against=before, private=f"{after}.private").holds
            assert list(independent.problems(after)) == []
            assert list(independent.problems_against(after, before)) == []

    def test_its_release_json_has_the_shape_that_the_page_states(self, written):
        page = Path(__file__).parents[2] / "docs" / "reference" / "release.schema.json"
        content = json.loads((written[1] / "release.json").read_text())
        assert {"previous", "user_attributes"} < {*content}
        jsonschema.validate(content, json.loads(page.read_text()))

    @pytest.mark.parametrize("is_sensitive", [False, True])
    def test_both_checkers_find_other_attributes_of_a_class(self, written, tmp_path, is_sensitive):
        """The release alone keeps its claim."""
        before, folder = written[1], Path(shutil.copytree(written[2], tmp_path / "third"))
        records, rows = records_of(written[2]), published_rows(folder)
        plans = {each: row["plan"] for each, row in attributes_of(folder).items()}
        for user in rows_of(before):
            group = [each for each, row in rows.items() if row == rows[records[user]]]
            counts = Counter(plans[each] for each in group).most_common()
            if counts[0][1] > counts[-1][1] if is_sensitive else rows[group[0]][-1][0] == "F":
                break
        other = {"F": "M"}
        if is_sensitive:
            other = {counts[0][0]: counts[-1][0], counts[-1][0]: counts[0][0]}
        lines = (folder / "users.csv").read_text().splitlines()
        for at, line in enumerate(lines):
            fields = line.replace('"', "").split(",")
            if fields[0] in group:
                fields = [other.get(each, each) for each in fields]
                lines[at] = ",".join(f'"{each}"' for each in fields)
        (folder / "users.csv").write_text("\n".join([*lines, ""]))
        forging.sign(folder)
        assert verify(folder).holds
        assert list(independent.problems(folder)) == []
        assert not verify(folder, against=before).holds
        assert list(independent.problems_against(folder, before))

    def test_attributes_may_be_dropped_but_not_added(self, written, tmp_path):
        table = only(MANY, self.MONTHS[2])
        options = {"k": 5, "seed": 1, "allow_sparse_coverage": True}
        out, previous = tmp_path / "out", f"{written[2]}.private"
        anonymize(table, out, previous=previous, **options)
        assert verify(out, against=written[2], private=f"{out}.private").holds
        assert list(independent.problems_against(out, written[2])) == []
        options |= DECLARED | {"users": declare(table.users, 1, tmp_path / "users.csv")}
        with raises("release.mismatch", "users"):
            dry_run(table, tmp_path / "next", previous=f"{out}.private", **options)

    def test_values_that_the_series_lacks_are_suppressed(self, written, tmp_path):
        users = declare(MANY.users, 1, tmp_path / "users.csv")
        known, newcomers = users.read_text(), [*range(91, 101), *range(143, 151)]
        options = {"k": 5, "seed": 1, "users": users, "previous": f"{written[2]}.private"}
        lines = known.splitlines()
        for user in newcomers:
            lines[user] = f"{user},F,ancient,pro"
        users.write_text("\n".join([*lines, ""]))
        anonymize(MANY, tmp_path / "out", **options, **DECLARED)
        attributes, records = attributes_of(tmp_path / "out"), records_of(tmp_path / "out")
        new = [[*attributes[records[user]].values()][1:] for user in newcomers]
        assert new == [["F", "*", "*"]] * 18  # one plan alone is not diverse
        users.write_text(known.replace("young", "0-40").replace("old", "over 40"))
        with raises("release.mismatch", "'age'", "young"):
            dry_run(MANY, tmp_path / "next", **options, **DECLARED)

    @pytest.mark.parametrize("layout", ["users", "groups"])
    def test_equal_rows_of_several_attributes_keep_them(self, tmp_path, layout):
        """All users like the same two items, so that all rows are equal."""
        before = None
        for n_users in (50, 64):
            columns = np.repeat(np.arange(n_users), 2), np.tile([1, 2], n_users)
            likes = Ratings.from_columns(*columns, np.ones(2 * n_users)).as_likes()
            lines = [f"{user},{'FM'[user % 2]}" for user in range(n_users)]
            (tmp_path / "users.csv").write_text("\n".join(["user_id,gender", *lines, ""]))
            options = {"users": tmp_path / "users.csv", "attribute": "gender", "layout": layout}
            options |= {"previous": before and f"{before}.private", "allow_sparse_coverage": True}
            previous, before = before, tmp_path / str(n_users)
            anonymize(likes, before, k=5, seed=1, **options)
        lines = (before / "classes.csv").read_text().splitlines()[1:]
        assert [line.split(",")[1] for line in lines] == ["14", "50"]
        attributes = attributes_of(before)
        found = {user: attributes[at]["gender"] for user, at in records_of(before).items()}
        assert found == {user: "FM"[user % 2] for user in range(64)}
        assert list(independent.problems(before)) == []
        assert list(independent.problems_against(before, previous)) == []
        options = {"against": previous, "private": f"{before}.private"}
        assert verify(before, **options).holds

        def exchange(table):
            users = table["user_id"].to_pylist()
            one, other = users.index(0), users.index(1)
            users[one], users[other] = 1, 0
            return table.set_column(0, "user_id", pa.array(users))

        change_assignment(before, exchange)
        assert not verify(before, **options).holds
