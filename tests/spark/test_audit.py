"""An audit by Spark has the figures of one machine, to the last digit."""

import json

import numpy as np
import pytest

from error_assertions import raises
from recveil.attacks import PRESETS, Adversary, Knowledge
from recveil.attacks.knowledge import Query
from recveil.auditing import _selftest
from recveil.auditing import audit as audit_here
from recveil.cli import main
from recveil.ratings import RatingScale
from recveil.spark import (
    _audit,
    audit,
    search,
)
from recveil.spark.search import cut_by_entries

STARS = RatingScale(1, 5, 1)
# Knows a bit of everything, and errs in all of it.
A_USER = Adversary(
    known=6,
    right=4,
    wrong_kind="item",
    rating_error=1,
    date_error=14,
    outside_top=5,
    activity_error=0.5,
    name="somebody",
)
GIVEN = {"targets": 40, "curves": False, "scale": STARS, "adversaries": [A_USER]}


@pytest.fixture(autouse=True, scope="module")
def fewer_are_looked_for():
    """By the checks of the attack."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_selftest, "_TARGETS", 50)
        yield


@pytest.fixture(scope="module")
def table(ratings):
    return ratings.to_arrow()


@pytest.fixture(scope="module")
def dated(spark, table):
    """The ratings with their dates, in an order of their own."""
    return spark.createDataFrame(table).repartition(3)


@pytest.fixture(scope="module")
def wanted(table):
    return audit_here(table, **GIVEN).to_dict()


@pytest.fixture
def no_room(monkeypatch):
    """No ratings fit here; and partitions and tasks are small."""
    monkeypatch.setattr(_audit, "_BYTES_OF_A_RATING", 1 << 40)
    monkeypatch.setattr(search, "_RATINGS_OF_A_PARTITION", 5_000)
    monkeypatch.setattr(search, "_TARGETS_OF_A_TASK", 30)


def test_an_index_that_is_sent_to_all_finds_the_same(dated, wanted):
    assert audit(dated, **GIVEN).to_dict() == wanted


def test_an_index_by_item_finds_the_same(dated, wanted, no_room):
    assert audit(dated, **GIVEN).to_dict() == wanted


def test_identical_users_are_one_profile_by_item_too(spark, no_room):
    """Ids in text, likes, and no dates."""
    rows = [(f"u{user:02d}", item) for user in range(30) for item in range(user % 3, 9 + user % 3)]
    likes = spark.createDataFrame(rows, ["user", "item"])
    given = {"targets": 20, "curves": False, "adversaries": [PRESETS["bystander"]]}
    found = audit(likes, **given).to_dict()
    wanted = audit_here(likes.toArrow(), **given).to_dict()
    for name in ("attacks", "checks", "graph_attacks", "deanonymized"):
        assert found[name] == wanted[name]
    assert [each["unique"]["rate"] for each in found["graph_attacks"]][2] > 0


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"release": "out"}, "option.unsupported"),
        ({"shadows": 32}, "option.unsupported"),
        ({"auxiliary": "known.csv"}, "option.unsupported"),
        ({"targets": 0}, "option.value"),
        ({"master": "local[1]"}, "option.conflict"),
    ],
)
def test_what_is_not_offered_is_refused_by_name(dated, options, code):
    with raises(code):
        audit(dated, **options)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"curves": True}, "table.too-large"),
        ({"targets": None}, "table.too-large"),
        ({"duplicates": "mean"}, "option.unsupported"),
        ({"scale": None}, "scale.inferred"),
    ],
)
def test_what_needs_all_ratings_is_refused_where_they_do_not_fit(dated, no_room, options, code):
    with raises(code):
        audit(dated, **{**GIVEN, **options})


def test_dates_that_were_not_named_are_not_left_out_in_silence(dated, no_room):
    """Without dates users look harder to find."""
    renamed = dated.withColumnRenamed("timestamp", "x")
    with raises("column.ambiguous"):
        audit(renamed, **GIVEN)
    with raises("column.type"):
        audit(renamed.selectExpr("* except (x)", "string(x) x"), time="x", **GIVEN)


def test_tasks_are_cut_by_the_lists_that_they_need():
    """Items that are known of several count once."""
    items = np.array([0, 1, 0, 1, 2, 3, 3], np.int32)
    knowledge = Knowledge(np.arange(4), np.array([0, 2, 4, 6, 7]), items, None, None, None, 0)
    sought, support = Query(knowledge, np.arange(4)), np.array([30, 30, 30, 20])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_ENTRIES_OF_A_TASK", 60)
        assert cut_by_entries(sought, support) == [(0, 2), (2, 4)]
        patch.setattr(search, "_TARGETS_OF_A_TASK", 1)
        assert cut_by_entries(sought, support) == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_what_is_no_table_is_refused(spark):
    with raises("argument.type"):
        audit(7)


def test_the_command_line_audits(spark, dated, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    dated.write.parquet(str(tmp_path / "ratings"))
    options = ["--no-curves", "--targets", "20", "--preset", "paper", "--scale", "1:5:1"]
    with pytest.raises(SystemExit) as ended:
        main(["audit", "ratings", *options, "--engine", "spark", "--json", "-"])
    assert not ended.value.code
    found = json.loads(capsys.readouterr().out)
    wanted = audit_here(
        dated.toArrow(), adversaries=[PRESETS["paper"]], targets=20, curves=False, scale=STARS
    )
    assert found["attacks"] == wanted.to_dict()["attacks"]
    assert found["data"]["source"] == "ratings"
    for refused in (["--release", "out"], ["--item-catalog", "x.csv"]):
        with pytest.raises(SystemExit) as ended:
            main(["audit", "ratings", *refused, "--engine", "spark"])
        assert ended.value.code == 2
