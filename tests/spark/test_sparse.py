"""Sparse rows by Spark: the promise, the words and the shape of those of the local engine."""

import contextlib
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.methods import SparseRows
from recveil.methods.registry import summarize
from recveil.methods.sparse import item_choice
from recveil.publish import Release
from recveil.ratings import Ratings, RatingScale
from recveil.release.coverage import CoverageWarning
from recveil.report.release import describe_summary
from recveil.spark import (
    anonymize,
    clusters,
    embeddings,
    sparse,
    verify,
)
from recveil.verification import verify as verify_here

STARS = RatingScale(1, 5, 1)
SPARSE = {"method": "sparse", "k": 5, "scale": STARS, "seed": 3}


@pytest.fixture(scope="module", autouse=True)
def small():
    """Several bins and parts, of four hundred users; what is learned in turns is so in few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "_A_PART", 150)
        patch.setattr(sparse, "_RATINGS_OF_A_PARTITION", 4_000)
        patch.setattr(embeddings, "_A_BIN", 120)
        patch.setattr(embeddings, "_GROUPS_OF_A_BIN", 4)
        patch.setattr(embeddings, "ROUNDS", 2)
        patch.setattr(embeddings, "RANK", 4)
        patch.setattr(embeddings, "REFINED", 1)
        patch.setattr(sparse, "_ROUNDS", 1)
        patch.setattr(item_choice, "_STEPS", 3)
        patch.setattr(sparse, "SWEEPS", 3)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("my releases é[1]")  # names that Spark would read otherwise


@pytest.fixture(scope="module")
def result():
    return []


@pytest.fixture(scope="module")
def made(frame, folder, result):
    return anonymize(frame, folder / "out", on_estimate=result.append, **SPARSE)


@pytest.fixture(scope="module")
def local(ratings, folder):
    release = SparseRows(5, seed=3).anonymize(ratings)
    release.write(folder / "local")
    return release


def read(folder, name):
    return json.loads((folder / name).read_text())


def test_both_checkers_say_the_same(made, folder):
    here = verify_here(folder / "out", private=folder / "out.private")
    assert here.holds
    assert here.private_found == []
    assert 5 <= here.k_achieved < 10
    there = verify(folder / "out")
    assert there.holds
    assert there.k_achieved == here.k_achieved == made.verification.k_achieved


def test_all_that_is_said_of_it_is_what_is_said_here(made, local, folder, ratings):
    names = [folder / name for name in ("local", "out")]
    here, there = (read(name, "release.json") for name in names)
    for name in ("claim", "settings", "scale", "layout"):
        assert here.get(name) == there.get(name), name
    assert here["counts"].keys() == there["counts"].keys()
    for name in ("users", "items"):
        assert here["counts"][name] == there["counts"][name], name
    here, there = (read(name.with_name(f"{name.name}.private"), "private.json") for name in names)
    assert here.get("settings") == there.get("settings")
    result = describe_summary(summarize(local, ratings))
    assert [s.partition(". Item")[0] for s in describe_summary(made.summary)[2:]] == [
        s.partition(". Item")[0] for s in result[2:]
    ]
    here, there = summarize(local, ratings).coverage, made.summary.coverage
    assert there._replace(n_short_users=0) == here._replace(n_short_users=0)


def test_rows_are_as_many_as_users_and_items_as_frequent_as_here(made, folder, ratings, result):
    rows = Release.read(folder / "out").to_arrow()
    assert abs(rows.num_rows / result[0].n_values - 1) < 0.05
    assert abs(rows.num_rows / ratings.n_ratings - 1) < 0.05
    found = rows["item_id"].to_pylist()
    counts = {item: found.count(item) for item in set(found)}
    item_counts = np.array([counts.get(item, 0) for item in ratings.items.tolist()])
    off = np.abs(item_counts - ratings.support)
    # In each of some four bins less than a row of at most nine users more or less.
    assert off.max() < 4 * 9
    assert (
        f"by {off.mean():.1f} users on average, and {off.max()} at"
        in describe_summary(made.summary)[1]
    )
    labels = rows["rating"].to_numpy()
    assert np.allclose(labels * 10, np.rint(labels * 10), atol=1e-4)
    assert len(list((folder / "out").glob("ratings-*.parquet"))) > 1


def test_all_users_are_in_one_record(made, folder, ratings):
    parts = sorted((folder / "out.private").glob("assignment-*.parquet"))
    twin = pa.concat_tables([pq.read_table(part) for part in parts])
    assert sorted(twin["user_id"].to_pylist()) == sorted(ratings.users.astype(str))
    assert len(set(twin["published_id"].to_pylist())) == ratings.n_users


@pytest.fixture(scope="module")
def likes(frame, folder):
    """Those that the command line makes of a folder of parts, and what it says."""
    frame.select("user_id", "item_id").write.parquet(str(folder / "liked"))
    options = ["--method", "sparse", "--k", "5", "--cluster-size", "30", "--seed", "3", "--likes"]
    options += ["--layout", "groups", "--engine", "spark"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as ended:
        main(["anonymize", str(folder / "liked"), "-o", str(folder / "likes"), *options])
    assert not ended.value.code
    return said.getvalue()


def test_likes_become_sets_of_items(likes, folder, ratings):
    here = verify_here(folder / "likes", private=folder / "likes.private")
    assert here.holds
    assert here.k_achieved >= 5
    assert verify(folder / "likes").holds
    settings = read(folder / "likes", "release.json")["settings"]
    assert (settings["feedback"], settings["cluster_size"]) == ("implicit", 30)
    assert "No user's likes are copied" in likes
    assert "it maps rows to users" in likes
    liked = Ratings.from_columns(
        ratings.users[ratings.user_positions()], ratings.items[ratings.indices]
    )
    local = SparseRows(5, cluster_size=30, seed=3).anonymize(liked)
    assert settings == local.published.settings


def test_partitions_change_no_byte(likes, spark, ratings, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sparse, "_RATINGS_OF_A_PARTITION", 100_000)
    again = spark.createDataFrame(ratings.to_arrow().select(["user_id", "item_id"])).repartition(7)
    options = {**SPARSE, "scale": None, "cluster_size": 30, "layout": "groups"}
    anonymize(again, tmp_path / "likes", likes=True, **options)
    for file in sorted((folder / "likes").iterdir()):
        assert file.read_bytes() == (tmp_path / "likes" / file.name).read_bytes(), file.name
    for part in sorted((folder / "likes.private").glob("assignment-*.parquet")):
        assert part.read_bytes() == (tmp_path / "likes.private" / part.name).read_bytes()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"cluster_size": 19}, "option.value"),
        ({"cluster_size": 257}, "option.value"),
        ({"homogenize": "simple"}, "option.unsupported"),
        ({"k": 1}, "option.value"),
        ({"k": 401}, "table.too-few-users"),
        ({"scale": None}, "scale.inferred"),
        ({"seed": -1}, "option.value"),
    ],
)
def test_what_makes_no_sense_is_refused(frame, tmp_path, options, code):
    with raises(code):
        anonymize(frame, tmp_path / "out", **{**SPARSE, **options})
    assert not any(tmp_path.iterdir())


def test_too_few_users_for_a_cluster_or_an_item_are_refused_as_here(spark, tmp_path):
    rows = [(f"u{user}", user % 10, 1.0 + user % 5) for user in range(30)]
    few = spark.createDataFrame(rows, ["user", "item", "rating"])
    with raises("table.too-few-ratings"):
        anonymize(few, tmp_path / "out", **SPARSE)
    with raises("table.too-few-users"):
        anonymize(few, tmp_path / "out", cluster_size=31, **SPARSE)
    assert not any(tmp_path.iterdir())


def test_a_nearly_empty_release_is_rejected_before_it_is_in_place(frame, folder, ratings):
    """Five items have at least k raters."""
    options = SPARSE | {"k": int(np.sort(ratings.support)[-5])}
    with raises("release.nearly-empty"):
        anonymize(frame, folder / "empty", **options)
    assert not (folder / "empty").exists()
    with pytest.warns(CoverageWarning):
        made = anonymize(frame, folder / "empty", allow_sparse_coverage=True, **options)
    assert made.summary.coverage.n_items_kept <= 5
