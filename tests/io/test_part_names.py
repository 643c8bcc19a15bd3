"""Files that are called as what was not liked do not become likes without a word."""

import re

import pytest

from error_assertions import raises
from recveil.io import understand


def write(folder, *names):
    for at, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"user,item\nann,{at}\nben,{at}\n")
    return folder


@pytest.mark.parametrize(
    "names",
    [("dislikes.csv", "likes.csv"), ("likes.csv", "thumbs_down.csv"), ("skips-2020.csv", "a.csv")],
)
def test_what_was_not_liked_is_refused_by_name(tmp_path, names):
    folder = write(tmp_path / "h", *names)
    with raises("column.missing") as error:
        understand(folder)
    assert re.search(r"part 'h/(dislikes|thumbs_down|skips-2020)\.csv'", str(error.value))
    assert understand(folder, likes=True).ratings.n_ratings == 4


def test_a_folder_in_a_pattern_is_a_name_too(tmp_path):
    write(tmp_path / "h", "likes/0.csv", "dislikes/0.csv")
    with raises("column.missing") as error:
        understand(f"{tmp_path}/h/*/0.csv")
    assert "'dislikes/0.csv'" in str(error.value)


def test_other_names_that_differ_are_reported(tmp_path):
    notes = understand(write(tmp_path / "h", "likes.csv", "clicks.csv")).notes
    assert notes[0].startswith("Parts have different names ('h/clicks.csv', 'h/likes.csv')")


@pytest.mark.parametrize(
    "names",
    [("part-00000-1b2c-ab.csv", "part-00001-dead-beef.csv"), ("likes1.csv", "likes2.csv")],
)
def test_what_a_run_counts_means_nothing(tmp_path, names):
    notes = understand(write(tmp_path / "h", *names)).notes
    assert not any("Parts" in note for note in notes)
