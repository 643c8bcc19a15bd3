"""Releases that version 1.0 wrote hold in every later version, and are checked as strictly."""

import json
import shutil
from pathlib import Path

import pytest

from recveil.methods import sample
from recveil.verification import verify

HERE = Path(__file__).parent
STORED = sorted(HERE.glob("format_[5678]/*"))


def name_of(folder: Path) -> str:
    return str(folder.relative_to(HERE))


def test_there_is_one_of_each_format_and_kind():
    result = [json.loads((folder / "release.json").read_text("utf-8")) for folder in STORED]
    assert {each["format"] for each in result} == {f"recveil-release-{n}" for n in (5, 6, 7, 8)}
    assert {each["settings"]["method"] for each in result} == {
        *("predictive anonymization", "k-coRating", "sparse rows", "synthetic people"),
        "words by shares",
    }
    assert {each["layout"] for each in result} == {"users", "groups", "model"}
    assert {each["recveil"] for each in result} == {"1.0.0"}


@pytest.mark.parametrize("folder", STORED, ids=name_of)
def test_it_holds_for_ever(folder):
    verdict = verify(folder)
    assert verdict.holds, verdict.violations


@pytest.mark.parametrize("folder", STORED, ids=name_of)
def test_a_word_more_does_not_hold(folder, tmp_path):
    changed = Path(shutil.copytree(folder, tmp_path / "changed"))
    (changed / "README.md").write_text((changed / "README.md").read_text("utf-8") + "p1 is alice\n")
    assert {violation.where for violation in verify(changed).violations} == {"README.md"}


def test_users_are_drawn_from_the_model(tmp_path):
    drawn = sample(HERE / "format_5" / "synthetic-model", tmp_path / "drawn", n_users=35, seed=1)
    assert (drawn.holds, drawn.users) == (True, 35)


@pytest.mark.parametrize("name", ["format_5/synthetic-users", "format_6/synthetic-users"])
def test_the_bound_of_two_users_is_said_where_the_card_has_that_of_one(name):
    assert "old-bound" in {limit.code for limit in verify(HERE / name).not_covered}
    assert "Which of two users" in (HERE / "format_8" / "likes" / "README.md").read_text("utf-8")
    limits = verify(HERE / "format_8" / "likes").not_covered
    assert "old-bound" not in {limit.code for limit in limits}
