"""A release by Spark is the release of one machine, in many parts."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil import anonymize as anonymize_here
from recveil import budget
from recveil.cli import main
from recveil.methods import Synthesizer
from recveil.publish import Release
from recveil.ratings import RatingScale
from recveil.release import synthetic_form
from recveil.spark import anonymize, verify
from recveil.verification import verify as verify_here

STARS = RatingScale(1, 5, 1)
EXACT = {"epsilon": "none", "item_catalog": "as-rated", "scale": STARS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("releases")


@pytest.fixture(scope="module")
def small_clusters():
    """Clusters of a hundred users, and so several parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic_form, "_BATCH", 100)
        yield


@pytest.fixture(scope="module")
def made(frame, folder, small_clusters):
    return anonymize(frame, folder / "out", seed=3, **EXACT)


@pytest.fixture
def copied(made, folder, tmp_path):
    """A copy of the release, to be changed."""
    shutil.copytree(folder / "out", tmp_path / "out")
    return tmp_path / "out"


def run(*arguments: str) -> int:
    """Run the command line, and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def test_the_rule_is_the_one_that_one_machine_learns(made, ratings):
    here = Synthesizer(None, item_catalog="as-rated", seed=3).anonymize(ratings).published
    assert made.release.published.settings == here.settings
    assert made.release.published.claim == here.claim
    assert made.release.published.model().equals(here.model())


def test_both_checkers_say_the_same_of_it(made, folder):
    here = verify_here(folder / "out", private=folder / "out.private")
    assert here.holds
    assert here.to_dict() == made.verification.to_dict()
    there = verify(folder / "out", private=folder / "out.private")
    assert there.to_dict() == here.to_dict()


def test_the_folder_holds_parts_and_the_twin_all_users(made, ratings, folder):
    names = sorted(path.name for path in (folder / "out").iterdir())
    parts = [f"ratings-0000{number}.parquet" for number in range(4)]
    assert names == ["README.md", *parts, "release.json"]
    twins = sorted((folder / "out.private").glob("assignment-*.parquet"))
    users = [user for twin in twins for user in pq.read_table(twin)["user_id"].to_pylist()]
    assert sorted(users) == sorted(ratings.users.astype(str))
    result = json.loads((folder / "out.private" / "private.json").read_text())
    assert result["assignment_parts"] == len(twins)


def test_the_same_seed_draws_the_same_users(made, spark, ratings, folder, tmp_path):
    table = ratings.to_arrow().select(["user_id", "item_id", "rating"])
    again = spark.createDataFrame(table).repartition(7)
    anonymize(again, tmp_path / "again", seed=3, **EXACT)
    for part in sorted((folder / "out").glob("*.parquet")):
        assert part.read_bytes() == (tmp_path / "again" / part.name).read_bytes()


def test_readers_of_releases_read_parts(made, folder):
    read = Release.read(folder / "out")
    rows = np.concatenate([block.values for block in made.release.published.blocks()])
    assert np.array_equal(np.sort(read.to_arrow()["rating"].to_numpy()), np.sort(rows))
    assert len(read.ids()) == 400


def test_with_noise_nothing_follows_from_a_seed(frame, tmp_path):
    given = {"epsilon": 20.0, "item_catalog": "as-rated", "scale": STARS}
    made = anonymize(frame, tmp_path / "out", n_users=50, **given)
    assert made.verification.epsilon == 20.0
    assert verify_here(tmp_path / "out").holds
    with raises("option.conflict"):
        anonymize(frame, tmp_path / "seeded", seed=1, **given)
    assert not (tmp_path / "seeded").exists()


def test_likes_are_drawn_too(frame, tmp_path):
    likes = frame.select("user_id", "item_id")
    made = anonymize(likes, tmp_path / "out", epsilon=20.0, item_catalog="as-rated", likes=True)
    assert made.scale.unary
    assert verify_here(tmp_path / "out").holds


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"k": 5, "method": "nominal"}, "method.unsupported"),
        ({"epsilon": 3.0, "file_format": "csv"}, "option.unsupported"),
        ({"epsilon": 3.0, "hide_items": True}, "option.unsupported"),
        ({"k": 5, "dates": "week"}, "option.unsupported"),
        ({"epsilon": 3.0, "cohort": "2026"}, "option.unsupported"),
        ({"epsilon": 3.0, "time": "when"}, "option.unsupported"),
        ({"epsilon": 3.0, "null": 0}, "option.unsupported"),
        ({"epsilon": 3.0, "duplicates": "mean"}, "option.unsupported"),
        ({"epsilon": 3.0}, "scale.inferred"),
        ({"epsilon": 3.0, "master": "local[1]"}, "option.conflict"),
        ({"epsilon": "none", "delta": 1e-6}, "option.conflict"),
    ],
)
def test_what_is_not_offered_is_refused_by_name(frame, tmp_path, options, code):
    with raises(code):
        anonymize(frame, tmp_path / "out", **options)
    assert not any(tmp_path.iterdir())


def test_earlier_releases_of_the_same_users_are_reported(made, frame, folder):
    again = anonymize(frame, folder / "april", seed=4, **EXACT)
    assert [(each.folder.name, each.n_users) for each in again.earlier] == [("out", 400)]


def test_the_ledger_is_that_of_one_machine(frame, ratings, tmp_path):
    options = {"epsilon": 20.0, "item_catalog": "as-rated"}
    here = anonymize_here(ratings, tmp_path / "here", **options)
    totals = []
    (tmp_path / "else").mkdir()
    there = anonymize(
        frame, tmp_path / "else" / "out", scale=STARS, on_total=totals.append, **options
    )
    (total,) = totals
    assert total == there.total
    assert total.n_shared == total.n_users == ratings.n_users
    assert (len(total.runs), total.n_unrecorded) == (1, 0)
    assert total.epsilon_with_run > here.total.epsilon_with_run == pytest.approx(20)
    after = budget(ratings)
    assert [len(run.outputs) for run in after.runs] == [1, 1]
    assert after.epsilon == pytest.approx(total.epsilon_with_run, rel=1e-6)


class TestVerifying:
    def test_changed_parts_are_found(self, copied):
        out = copied
        first, second = out / "ratings-00000.parquet", out / "ratings-00001.parquet"
        one, other = first.read_bytes(), second.read_bytes()
        first.write_bytes(other)
        second.write_bytes(one)
        found = verify(out)
        here = verify_here(out)
        assert not found.holds
        assert not here.holds
        assert found.checksums == here.checksums
        assert any("do not continue" in violation.problem for violation in found.violations)

    def test_what_cannot_be_read_is_reported(self, copied):
        (copied / "ratings-00002.parquet").write_bytes(b"broken")
        found = verify(copied)
        assert any("changed, and" in each.problem for each in found.violations)

    def test_a_strange_file_is_found(self, copied):
        (copied / "ratings-00009.parquet").write_bytes(b"")
        assert not verify(copied).holds
        assert not verify_here(copied).holds

    def test_one_file_is_checked_as_parts_are(self, spark, tmp_path, ratings):
        Synthesizer(20.0, item_catalog="as-rated").anonymize(ratings).write(tmp_path / "out")
        assert verify(tmp_path / "out").to_dict() == verify_here(tmp_path / "out").to_dict()

    def test_a_model_is_refused(self, tmp_path, ratings):
        release = Synthesizer(20.0, item_catalog="as-rated").anonymize(ratings)
        release.write(tmp_path / "out", layout="model")
        with raises("option.unsupported"):
            verify(tmp_path / "out")


def test_the_command_line_makes_and_checks_releases(spark, frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame.write.parquet(str(tmp_path / "ratings"))
    options = ["--epsilon", "20", "--scale", "1:5:1", "--engine", "spark"]
    assert run("anonymize", "ratings", "-o", "out", *options) == 0
    assert "by Spark." in capsys.readouterr().out
    assert run("verify", "out", "--engine", "spark", "--private", "out.private") == 0
    assert run("verify", "out", "--json", "-") == 0
    assert run("anonymize", "ratings", "-o", "more", *options[:4], "--master", "x") == 2
    assert run("verify", "out", "--engine", "spark", "--k", "5") == 2
    assert not (tmp_path / "more").exists()
