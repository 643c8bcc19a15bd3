"""One of each: a table with one user, item or rating is reported in the singular."""

import re

import pytest

from recveil.cli import main

MANY = [f"u{n % 9},i{n // 9},{n % 5 + 1}" for n in range(54)]

TABLES = {
    "one rating": ["u1,i1,4"],
    "one user": [f"u1,i{n},{n % 5 + 1}" for n in range(6)],
    "one item": [f"u{n},i1,{n % 5 + 1}" for n in range(6)],
    "two users": ["u1,i1,4", "u2,i1,5"],
    "off the scale": [*MANY, "u1,i9,99"],
    "missing": [*MANY, "new,i9,"],
    "twice": [*MANY, "u0,i0,3"],
    "of one user": [*MANY, "u1,i9,9"],
}


@pytest.fixture
def said(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        with pytest.raises(SystemExit):
            main([*map(str, words)])
        told = capsys.readouterr()
        return " ".join(re.sub(r"[│┃]", ";", told.out + told.err).split())

    return run


def test_how_many_used_each_end_is_said_of_each(tmp_path, said):
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["user,item,rating", *TABLES["one user"], ""]))
    assert "1 user used its low end, 1 its high end)" in said("inspect", path)


def test_a_scale_for_likes_is_refused_with_what_works(tmp_path, said):
    path = tmp_path / "likes.csv"
    path.write_text("user,item\nu1,i1\nu2,i1\n")
    named = said("inspect", path, "--drop-off-scale", "--scale", "1:5:1")
    assert "error: likes.csv: scale (--scale) is 1:5:1, but there are no ratings; leave" in named
    bare = said("inspect", path, "--drop-off-scale")
    assert "drop_off_scale (--drop-off-scale) is given, but there are no ratings; leave" in bare
