"""Releases of likes: what their files say, and that nothing else may stand there."""

import hashlib
import json
import shutil
from pathlib import Path

import independent
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forging import sign

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import KCoRater
from recveil.methods.sparse.anonymizer import SparseRows
from recveil.ratings import Ratings
from recveil.release.data_card import data_card
from recveil.release.manifest import Manifest, to_bytes
from recveil.verification import verify

MAKERS = {"k-corating": KCoRater, "sparse": SparseRows}
FORMS = [("users", "parquet"), ("users", "csv"), ("groups", "csv"), ("groups", "parquet")]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("likes")
    likes = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=3).as_likes()
    for name, make in MAKERS.items():
        release = make(5, seed=1).anonymize(likes)
        for layout, form in FORMS:
            release.write(folder / f"{name}-{layout}-{form}", layout=layout, file_format=form)
    return folder


@pytest.fixture
def forged(made, tmp_path):
    """Change a release, renew all checksums, and return both verdicts."""

    def forged(name, change, *, ratings=lambda text: text, card=True):
        folder = Path(shutil.copytree(made / name, tmp_path / name))
        manifest = json.loads((folder / "release.json").read_text())
        change(manifest)
        file = folder / "ratings.csv"
        file.write_text(ratings(file.read_text()))
        if card:
            (folder / "README.md").write_text(data_card(Manifest.from_json(manifest), file.name))
        for entry, result in manifest["files"].items():
            content = (folder / entry).read_bytes()
            result |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        (folder / "release.json").write_bytes(to_bytes(manifest))
        return [each.problem for each in verify(folder).violations], [*independent.problems(folder)]

    return forged


@pytest.mark.parametrize("form", FORMS, ids="-".join)
@pytest.mark.parametrize("name", MAKERS)
def test_both_checkers_confirm_it_from_the_files(made, name, form):
    folder = made / "-".join((name, *form))
    found = verify(folder)
    assert found.holds
    assert found.claim == "identical-rows"
    assert found.k_achieved >= 5
    assert not list(independent.problems(folder))


@pytest.mark.parametrize("name", MAKERS)
def test_what_the_files_say(made, name):
    folder = made / f"{name}-users-parquet"
    result = json.loads((folder / "release.json").read_text())
    assert result["format"] == "recveil-release-9"
    assert result["scale"] == {"low": 1.0, "high": 1.0, "step": 1.0}
    assert result["settings"]["feedback"] == "implicit"
    table = pq.read_table(folder / "ratings.parquet")
    assert table.column_names == ["user_id", "item_id", "rating"]
    assert set(table["rating"].to_pylist()) == {1.0}


@pytest.mark.parametrize("name", MAKERS)
def test_the_card_says_nothing_of_values(made, name):
    card = (made / f"{name}-users-parquet" / "README.md").read_text()
    assert card.startswith("# Anonymized interactions\n")
    assert "always 1, for programs that need a rating: the feedback is implicit" in card
    for word in ("rounded", "predicted", "fill", "item means", "scale", "exact ratings"):
        assert word not in card, word


def test_a_signed_copy_is_as_good(forged):
    assert forged("sparse-users-csv", lambda _: None) == ([], [])


def other_label(text):
    lines = text.splitlines()
    return "\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",2", ""])


@pytest.mark.parametrize("name", ["k-corating-users-csv", "sparse-users-csv"])
@pytest.mark.parametrize(
    ("change", "ratings"),
    [
        (lambda _: None, other_label),
        (lambda result: result.update(format="recveil-release-5"), str),
        (lambda result: result["scale"].update(high=5.0), str),
        (lambda result: result["settings"].update(feedback="stars"), str),
        (lambda result: result["settings"].update(value_step=0.1), str),
        (lambda result: result.update(claim="co-rated"), str),
        (lambda result: result["settings"].pop("feedback"), str),
    ],
    ids=["label", "format", "scale", "setting", "step", "claim", "no setting"],
)
def test_whatever_is_changed_is_found_by_both(forged, name, change, ratings):
    ours, theirs = forged(name, change, ratings=ratings, card=False)
    assert ours
    assert theirs


@pytest.mark.parametrize("cluster", [61, 256])
def test_a_cluster_of_more_users_than_there_are_is_found_by_both(forged, cluster):
    def change(result):
        result["settings"]["cluster_size"] = cluster

    ours, theirs = forged("sparse-users-csv", change)
    assert any(f"cluster_size is {cluster}" in problem for problem in ours)
    assert theirs


def test_ratings_cannot_pass_for_likes(tmp_path):
    """A release with ratings that calls itself one of likes, and the reverse."""
    ratings = make_ratings(n_users=60, n_items=30, n_ratings=600, seed=3)
    SparseRows(5, seed=1).anonymize(ratings).write(tmp_path / "r", file_format="csv")
    result = json.loads((tmp_path / "r" / "release.json").read_text())
    result |= {"format": "recveil-release-9", "scale": {"low": 1.0, "high": 1.0, "step": 1.0}}
    result["settings"] = {"method": "sparse rows", "cluster_size": 20, "feedback": "implicit"}
    (tmp_path / "r" / "release.json").write_bytes(to_bytes(result))
    sign(tmp_path / "r")
    assert not verify(tmp_path / "r").holds
    assert list(independent.problems(tmp_path / "r"))


class TestPlainFiles:
    """Tables of users and items alone, from other programs."""

    @pytest.fixture
    def check(self, tmp_path):
        def check(text, **options):
            (tmp_path / "likes.csv").write_text(text)
            return verify(tmp_path / "likes.csv", k=2, **options)

        return check

    def test_who_has_the_same_items_is_one_class(self, check):
        found = check("user,item\n1,7\n1,8\n2,8\n2,7\n")
        assert (found.holds, found.k_achieved, found.compared) == (True, 2, ["item"])

    def test_who_has_another_item_is_alone(self, check):
        assert not check("user,item\n1,7\n1,8\n2,7\n2,9\n").holds

    def test_times_are_compared(self, check):
        assert not check("user,item,date\n1,7,2020-01-01\n2,7,2020-01-02\n").holds

    def test_any_other_column_may_be_a_rating(self, check):
        with raises("column.missing") as error:
            check("user,item,note\n1,7,x\n2,7,x\n")
        assert "'note'" in str(error.value)

    def test_who_is_who_is_not_guessed(self, check):
        with raises("column.order") as error:
            check("1,7\n2,7\n")
        assert "--user 1 --item 2" in str(error.value)

    def test_frames(self):
        assert verify(pa.table({"user": [1, 2], "item": [7, 7]}), k=2).holds
        assert verify(Ratings.from_columns([1, 2], [7, 7]), k=2).holds
