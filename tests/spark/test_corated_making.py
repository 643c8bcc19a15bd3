"""k-coRating by Spark: user by user the rows of the local engine, in another order."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.io import read_trust
from recveil.methods import KCoRater
from recveil.ratings import Ratings, RatingScale
from recveil.report.release import describe_summary
from recveil.spark import (
    anonymize,
    clusters,
    verify,
)
from recveil.verification import verify as verify_here

STARS = RatingScale(1, 5, 1)
CO_RATED = {"method": "k-corating", "k": 6, "scale": STARS, "seed": 3}


@pytest.fixture(scope="module", autouse=True)
def small():
    """Several partitions, and several parts, of four hundred users."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clusters, "_A_PART", 150)
        patch.setattr(clusters, "_RATINGS_OF_A_PARTITION", 3_000)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("releases")


@pytest.fixture(scope="module")
def made(frame, folder):
    result = []
    made = anonymize(frame, folder / "out", on_estimate=result.append, **CO_RATED)
    labels = made.verification.to_dict() and rows_of(folder / "out").num_rows
    # A group that two partitions have a share of counts as two before it is written.
    assert 0.9 * labels < result[0].n_values <= labels
    return made


def rows_of(folder):
    return pa.concat_tables(
        [pq.read_table(part) for part in sorted(folder.glob("ratings*.parquet"))]
    )


def rows_by_user(folder):
    """Return what stands in the record of each user."""
    twin = pa.concat_tables(
        [
            pq.read_table(part, columns=["user_id", "published_id"])
            for part in sorted(folder.with_name(f"{folder.name}.private").glob("assignment*"))
        ]
    )
    row_of = {name: {} for name in twin["published_id"].to_pylist()}
    table = rows_of(folder)
    columns = (table[name].to_pylist() for name in ("user_id", "item_id", "rating"))
    for user, item, label in zip(*columns, strict=True):
        row_of[user][item] = label
    users = map(str, twin["user_id"].to_pylist())
    return dict(zip(users, map(row_of.get, twin["published_id"].to_pylist()), strict=True))


@pytest.fixture(scope="module")
def local(ratings, folder):
    KCoRater(6, seed=3).anonymize(ratings).write(folder / "local")
    return rows_by_user(folder / "local")


def test_every_row_is_that_of_the_local_engine(made, local, folder):
    assert rows_by_user(folder / "out") == local
    assert len(list((folder / "out").glob("ratings-*.parquet"))) > 1


def test_both_checkers_say_that_it_holds(made, folder):
    here = verify_here(folder / "out", private=folder / "out.private")
    assert here.holds
    assert here.private_found == []
    assert here.k_achieved >= 6
    there = verify(folder / "out")
    assert there.holds
    assert there.k_achieved == here.k_achieved == made.verification.k_achieved
    local, own = (
        json.loads((folder / name / "release.json").read_text()) for name in ("local", "out")
    )
    for name in ("claim", "settings", "counts", "layout"):
        assert local.get(name) == own.get(name), name
    listed = [(folder / name / "classes.csv").read_bytes() for name in ("local", "out")]
    assert listed[0] == listed[1]


def test_the_owner_gets_the_same_figures_as_here(made, local, folder):
    result = [
        json.loads((folder / f"{name}.private/private.json").read_text())
        for name in ("local", "out")
    ]
    assert result[0]["settings"] == result[1]["settings"]
    filled = result[0]["settings"]["filled_cells"]
    filled = f"Filled {filled:,} cells"
    assert any(each.startswith(filled) for each in describe_summary(made.summary))


def test_neither_the_order_of_users_nor_of_groups_shows(made, folder):
    rows = list(rows_by_user(folder / "out").items())  # as they are published
    members = [
        one < other
        for (one, row), (other, following) in itertools.pairwise(rows)
        if row.keys() == following.keys()
    ]
    assert 0.4 < sum(members) / len(members) < 0.6
    # Groups of users with few ratings stand anywhere.
    lengths = [len(row) for _, row in rows]
    assert lengths != sorted(lengths)
    assert max(lengths[: len(lengths) // 3]) > sorted(lengths)[len(lengths) // 2]


@pytest.mark.parametrize("cut", [500, 100_000])
def test_partitions_change_no_byte(made, spark, ratings, folder, tmp_path, monkeypatch, cut):
    monkeypatch.setattr(clusters, "_RATINGS_OF_A_PARTITION", cut)
    table = ratings.to_arrow().select(["user_id", "item_id", "rating"])
    again = spark.createDataFrame(table).repartition(7)
    anonymize(again, tmp_path / "out", **CO_RATED)
    for file in sorted((folder / "out").iterdir()):
        assert file.read_bytes() == (tmp_path / "out" / file.name).read_bytes(), file.name
    for part in sorted((folder / "out.private").glob("assignment-*.parquet")):
        assert part.read_bytes() == (tmp_path / "out.private" / part.name).read_bytes()


def test_means_of_groups_are_those_of_the_local_engine(frame, ratings, tmp_path):
    made = anonymize(frame, tmp_path / "out", protect="mean", **CO_RATED)
    assert made.release.published.claim.kind == "identical-rows"
    assert verify(tmp_path / "out").holds
    KCoRater(6, protect="mean", seed=3).anonymize(ratings).write(tmp_path / "local")
    assert rows_by_user(tmp_path / "out") == rows_by_user(tmp_path / "local")


def test_labels_are_dealt_anew_within_groups(frame, local, tmp_path):
    made = anonymize(frame, tmp_path / "out", protect="shuffle", layout="groups", **CO_RATED)
    assert made.verification.holds
    assert verify_here(tmp_path / "out", private=tmp_path / "out.private").holds
    dealt = rows_by_user(tmp_path / "out")
    changed = sum(dealt[user] != local[user] for user in local)
    assert changed > len(local) / 2

    def labels(rows):
        """All labels of an item among those who have the same items."""
        found = {}
        for row in rows.values():
            for item, label in row.items():
                found.setdefault((frozenset(row), item), []).append(label)
        return {place: sorted(given) for place, given in found.items()}

    assert labels(dealt) == labels(local)


def test_likes_become_the_rows_of_the_local_engine(frame, ratings, tmp_path):
    likes = frame.select("user_id", "item_id")
    options = {**CO_RATED, "scale": None}
    made = anonymize(likes, tmp_path / "out", likes=True, **options)
    assert made.release.published.claim.kind == "identical-rows"
    assert any(each.startswith("Added ") for each in describe_summary(made.summary))
    assert verify_here(tmp_path / "out", private=tmp_path / "out.private").holds
    liked = Ratings.from_columns(
        ratings.users[ratings.csr.nonzero()[0]], ratings.items[ratings.indices]
    )
    KCoRater(6, seed=3).anonymize(liked).write(tmp_path / "local")
    assert rows_by_user(tmp_path / "out") == rows_by_user(tmp_path / "local")


def test_fills_that_are_not_rounded_are_those_of_the_local_engine(frame, ratings, tmp_path):
    made = anonymize(frame, tmp_path / "out", round_fills=False, **CO_RATED)
    assert any("fills are not rounded" in sentence for sentence in describe_summary(made.summary))
    KCoRater(6, round_fills=False, seed=3).anonymize(ratings).write(tmp_path / "local")
    assert rows_by_user(tmp_path / "out") == rows_by_user(tmp_path / "local")


@pytest.mark.parametrize(
    "options",
    [
        {"fill": "similarity"},
        {"fill": "similarity", "neighbours": 400},
        {"fill": "trust", "direct_weights": "similarity", "trust_steps": 2},
    ],
)
def test_neighbours_are_those_of_the_local_engine(frame, ratings, tmp_path, options):
    exact = {**options, "round_fills": False}
    anonymize(frame, tmp_path / "out", **exact, **CO_RATED)
    KCoRater(6, seed=3, **exact).anonymize(ratings).write(tmp_path / "local")
    here, there = (rows_by_user(tmp_path / name) for name in ("out", "local"))
    assert here.keys() == there.keys()
    assert all(here[user].keys() == there[user].keys() for user in here)
    # Of equally near neighbours, the first is asked, and the order of users differs.
    same = [
        abs(there[user][item] - value) < 1e-4
        for user, row in here.items()
        for item, value in row.items()
    ]
    assert np.mean(same) > 0.99


def test_stated_trust_is_that_of_the_local_engine(frame, ratings, tmp_path):
    rng = np.random.default_rng(5)
    users = list(map(str, ratings.users.tolist()))
    pairs = {(a, b) for a, b in rng.choice(users, (900, 2)).tolist() if a != b}
    lines = [f"{a} {b} {1 + (int(a) % 2 if a.isdigit() else 0)}" for a, b in sorted(pairs)]
    (tmp_path / "trust.txt").write_text("\n".join([*lines, f"nobody {users[0]} 1"]) + "\n")
    exact = {"fill": "trust", "round_fills": False}
    made = anonymize(frame, tmp_path / "out", trust=tmp_path / "trust.txt", **exact, **CO_RATED)
    stated = read_trust(tmp_path / "trust.txt", ratings.users)
    KCoRater(6, seed=3, trust=stated, **exact).anonymize(ratings).write(tmp_path / "local")
    KCoRater(6, seed=3, **exact).anonymize(ratings).write(tmp_path / "inferred")
    here, there, inferred = (rows_by_user(tmp_path / name) for name in ("out", "local", "inferred"))
    shares = [
        np.mean(
            [abs(row[item] - of[user][item]) < 1e-4 for user, row in here.items() for item in row]
        )
        for of in (there, inferred)
    ]
    assert shares[0] > 0.99 > shares[1]
    assert made.release.published.settings["trust"] == "stated"
    assert made.summary.figures.trust == {
        "statements": len(pairs),
        "ignored_lines": 1,
        "unknown_users": 1,
    }


def test_trust_statements_between_no_users_of_the_table(frame, tmp_path):
    (tmp_path / "trust.txt").write_text("nobody neither 1\n")
    with raises("id.unknown"):
        anonymize(frame, tmp_path / "out", fill="trust", trust=tmp_path / "trust.txt", **CO_RATED)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("fill", ["random", "funk-svd"])
def test_other_fills(frame, ratings, tmp_path, fill):
    """Cells and real ratings are those of the local engine; its factors learn in another order."""
    made = anonymize(frame, tmp_path / "out", fill=fill, **CO_RATED)
    assert made.verification.holds
    assert made.release.published.settings["fill"] == fill
    KCoRater(6, seed=3, fill=fill).anonymize(ratings).write(tmp_path / "local")
    here, there = (rows_by_user(tmp_path / name) for name in ("out", "local"))
    cells = {user: row.keys() for user, row in here.items()}
    assert cells == {user: row.keys() for user, row in there.items()}
    fills = []
    for at, user in enumerate(map(str, ratings.users.tolist())):
        items, values = ratings.row(at)
        rated = dict(zip(ratings.items[items].tolist(), values.tolist(), strict=True))
        assert {item: here[user][item] for item in rated} == rated
        added = sorted(cells[user] - rated.keys())
        fills += [(here[user][item], there[user][item]) for item in added]
    ours, theirs = np.array(fills).T
    if fill == "random":
        assert np.unique(ours, return_counts=True)[1].min() > 0.18 * ours.size
    else:
        assert np.corrcoef(ours, theirs)[0, 1] > 0.9


def test_a_fill_that_is_learned_from_too_many_ratings(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("recveil.spark.group_making.MOST_LEARNED", 100)
    with raises("table.too-large"):
        anonymize(frame, tmp_path / "out", fill="trust", **CO_RATED)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"diversity": 2}, "option.unsupported"),
        ({"closeness": 0.2}, "option.unsupported"),
        ({"l": 2}, "option.unsupported"),
        ({"b": 2, "l": 2}, "option.unsupported"),
        ({"predictor": "item-mean"}, "option.unsupported"),
        ({"grouping": "pagecom"}, "option.unsupported"),
        ({"fill": "nothing"}, "option.value"),
        ({"grouping": "supports"}, "option.unsupported"),
        ({"fill": "trust", "trust": object()}, "argument.type"),
        ({"fill": "trust", "trust": "nowhere.txt"}, "input.not-found"),
        ({"trust": "trust.txt"}, "option.conflict"),
        ({"trust_steps": 2}, "option.conflict"),
        ({"protect": "no"}, "option.value"),
        ({"homogenize": "simple"}, "option.unsupported"),
        ({"k": 1}, "option.value"),
        ({"k": 401}, "table.too-few-users"),
        ({"scale": None}, "scale.inferred"),
        ({"seed": -1}, "option.value"),
    ],
)
def test_what_is_not_offered_is_refused_by_name(frame, tmp_path, options, code):
    with raises(code):
        anonymize(frame, tmp_path / "out", **{**CO_RATED, **options})
    assert not any(tmp_path.iterdir())


def test_settings_of_labels_are_refused_for_likes(frame, tmp_path):
    likes, options = frame.select("user_id", "item_id"), {**CO_RATED, "scale": None}
    with raises("option.unsupported"):
        anonymize(likes, tmp_path / "out", likes=True, protect="mean", **options)


def test_the_command_line_fills_rows(frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame.write.parquet(str(tmp_path / "ratings"))
    options = ["--method", "k-corating", "--k", "5", "--scale", "1:5:1", "--engine", "spark"]
    with pytest.raises(SystemExit) as ended:
        main(["anonymize", "ratings", "-o", "out", *options])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "Filled " in said
    assert "it maps rows to users" in said
    assert verify_here(tmp_path / "out", private=tmp_path / "out.private").holds
