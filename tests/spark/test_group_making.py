"""Rows that groups of users share, by Spark: at least k each, as verified by either engine."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.methods.predictive.homogenize import homogenize_simple
from recveil.publish import Release
from recveil.ratings import RatingScale
from recveil.release.exact_ratings import count_exact_ratings
from recveil.release.records import Groups
from recveil.report.release import describe_summary
from recveil.spark import (
    anonymize,
    clusters,
    embeddings,
    verify,
)
from recveil.verification import verify as verify_here

STARS = RatingScale(1, 5, 1)
SIMPLE = {"k": 5, "method": "predictive", "homogenize": "simple", "scale": STARS}


@pytest.fixture(scope="module", autouse=True)
def small():
    """Many bins, some of them split, and several parts, of four hundred users."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "_A_PART", 150)
        patch.setattr(embeddings, "_A_BIN", 60)
        patch.setattr(embeddings, "_GROUPS_OF_A_BIN", 2)
        patch.setattr(embeddings, "_SKEWED", 1)
        patch.setattr(embeddings, "ROUNDS", 2)
        patch.setattr(embeddings, "RANK", 4)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("my releases é[1]")  # names that Spark would read otherwise


@pytest.fixture(scope="module")
def simple(frame, folder):
    return anonymize(frame, folder / "simple", seed=3, **SIMPLE)


@pytest.fixture(scope="module")
def padded(frame, folder):
    result = []
    made = anonymize(
        frame,
        folder / "padded",
        k=7,
        method="predictive",
        seed=3,
        scale=STARS,
        on_estimate=result.append,
    )
    assert [expected.n_values for expected in result] == [57 * 60]
    return made


def twin_of(folder):
    """Who is who, of all parts."""
    return pa.concat_tables(
        [pq.read_table(part) for part in sorted(folder.glob("assignment-*.parquet"))]
    )


def agree(here, there):
    """Say whether two verdicts are one, but for what was looked for in pieces."""
    result = [{**found.to_dict(), "not_covered": []} for found in (here, there)]
    return result[0] == result[1]


def test_both_checkers_say_the_same(simple, padded, folder):
    for made, name in ((simple, "simple"), (padded, "padded")):
        here = verify_here(folder / name, private=folder / f"{name}.private")
        assert here.holds
        assert here.private_found == []
        assert agree(here, made.verification)
        assert verify(folder / name).holds


def test_all_users_are_in_one_record_of_one_part(simple, folder, ratings):
    assert len(list((folder / "simple").glob("ratings-*.parquet"))) > 1
    twin = twin_of(folder / "simple.private")
    assert sorted(twin["user_id"].to_pylist()) == sorted(ratings.users.astype(str))
    assert len(set(twin["published_id"].to_pylist())) == ratings.n_users
    assert simple.verification.k_achieved >= 5


def groups_of(twin, folder, ratings):
    """The groups, as the users' shared rows show them, in published order."""
    row_of = {}
    table = Release.read(folder).to_arrow()
    rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    for user, item, label, *_ in rows:
        row_of.setdefault(user, []).append((item, label))
    place = {user: at for at, user in enumerate(ratings.users.astype(str).tolist())}
    all_users = sorted(twin.to_pylist(), key=lambda who: who["published_id"])
    kinds, labels = {}, np.zeros(ratings.n_users, np.int64)
    for who in all_users:
        row = tuple(row_of[who["published_id"]])
        labels[place[who["user_id"]]] = kinds.setdefault(row, len(kinds))
    return Groups.from_labels(labels), list(kinds)


def test_the_row_of_a_group_is_the_mean_of_its_users(simple, folder, ratings):
    groups, rows = groups_of(twin_of(folder / "simple.private"), folder / "simple", ratings)
    blocks = list(homogenize_simple(ratings, groups))
    at = 0
    for block in blocks:
        for record in range(len(block)):
            own = slice(block.indptr[record], block.indptr[record + 1])
            labels = STARS.round(block.values[own], 0.1)
            expected = list(zip(ratings.items[block.indices[own]].tolist(), labels, strict=True))
            assert rows[at] == tuple(expected)
            at += 1


def test_the_owner_gets_the_figures_of_rows(simple, folder, ratings):
    groups, _ = groups_of(twin_of(folder / "simple.private"), folder / "simple", ratings)

    def blocks():
        for block in homogenize_simple(ratings, groups):
            block.values[:] = STARS.round(block.values, 0.1)
            yield block

    here = count_exact_ratings(ratings, groups, blocks(), 0.1)
    result = json.loads((folder / "simple.private" / "private.json").read_text())
    assert result["lone_ratings"] == here._asdict()
    assert any(
        f"{here.rating_share:.1%}" in sentence for sentence in describe_summary(simple.summary)
    )


def test_padded_rows_hold_all_items_and_real_ratings(padded, folder, ratings):
    rows = Release.read(folder / "padded").to_arrow()
    assert padded.release.published.settings["predictor"] == "ALS"
    assert rows.num_rows == padded.verification.records * ratings.n_items
    assert rows["rating"].to_numpy().min() >= 1
    assert padded.verification.k_achieved >= 7
    assert any(
        "do not hide who rated what" in sentence for sentence in describe_summary(padded.summary)
    )


def test_the_same_seed_makes_the_same_bytes(simple, spark, ratings, folder, tmp_path):
    table = ratings.to_arrow().select(["user_id", "item_id", "rating"])
    again = spark.createDataFrame(table).repartition(7)
    anonymize(again, tmp_path / "again", seed=3, **SIMPLE)
    published = sorted((folder / "simple").iterdir())
    for file in published:
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()
    for part in sorted((folder / "simple.private").glob("assignment-*.parquet")):
        assert part.read_bytes() == (tmp_path / "again.private" / part.name).read_bytes()


def test_seven_users_and_one_item_are_one_group(spark, tmp_path):
    rows = [(f"u{number}", 4, 1.0 + number % 5) for number in range(7)]
    few = spark.createDataFrame(rows, ["user", "item", "rating"])
    made = anonymize(few, tmp_path / "out", layout="groups", **SIMPLE)
    assert made.verification.k_achieved == 7
    assert made.verification.records == 1
    assert verify_here(tmp_path / "out", private=tmp_path / "out.private").holds
    with raises("table.too-few-users"):
        anonymize(few, tmp_path / "more", **{**SIMPLE, "k": 8})
    assert not (tmp_path / "more").exists()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"predictor": "item-mean"}, "option.unsupported"),
        ({"grouping": "mdav"}, "option.unsupported"),
        ({"privacy_levels": "activity<50:10,else:5"}, "option.unsupported"),
        ({"l": 2}, "option.unsupported"),
        ({"b": 2, "l": 2}, "option.unsupported"),
        ({"diversity": 2, "homogenize": "simple"}, "option.unsupported"),
        ({"closeness": 0.2, "homogenize": "simple"}, "option.unsupported"),
        ({"padding": 0.5}, "option.unsupported"),
        ({"distance": "weighted-squared"}, "option.unsupported"),
        ({"values": "predicted"}, "option.unsupported"),
        ({"k": 1}, "option.value"),
        ({"homogenize": "no"}, "option.value"),
        ({"round_values": "no"}, "option.value"),
        ({"scale": None}, "scale.inferred"),
        ({"seed": -1}, "option.value"),
    ],
)
def test_what_is_not_offered_is_refused_by_name(frame, tmp_path, options, code):
    with raises(code):
        anonymize(frame, tmp_path / "out", **{**SIMPLE, **options})
    assert not any(tmp_path.iterdir())


def test_likes_are_refused(frame, tmp_path):
    likes = frame.select("user_id", "item_id")
    with raises("table.kind"):
        anonymize(
            likes, tmp_path / "out", k=5, method="predictive", homogenize="simple", likes=True
        )


def test_ratings_that_are_all_equal_are_refused(frame, tmp_path):
    equal = frame.where("rating = 4")
    with raises("table.kind"):
        anonymize(equal, tmp_path / "out", **SIMPLE)


def test_the_command_line_makes_groups(spark, frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame.write.parquet(str(tmp_path / "ratings"))
    options = ["--k", "20", "--method", "predictive", "--layout", "groups"]
    options += ["--scale", "1:5:1", "--engine", "spark"]
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", "ratings", "-o", "out", *options])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "it maps rows to users" in said
    assert "do not hide who rated what" in said
    assert verify_here(tmp_path / "out", private=tmp_path / "out.private").holds
