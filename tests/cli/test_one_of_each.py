"""One of each: a table with one user, item or rating is reported in the singular."""

from shared.cli_one_of_each import (
    TABLES,
    said,  # noqa: F401 (fixtures)
)


def test_how_many_used_each_end_is_said_of_each(tmp_path, said):
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["user,item,rating", *TABLES["one user"], ""]))
    assert "1 user used its low end, 1 its high end)" in said("inspect", path)


def test_a_scale_for_likes_is_refused_with_what_works(tmp_path, said):
    path = tmp_path / "likes.csv"
    path.write_text("user,item\nu1,i1\nu2,i1\n")
    named = said("inspect", path, "--drop-off-scale", "--scale", "1:5:1")
    assert (
        "error: likes.csv: scale (--scale) 1:5:1: given, but there are no ratings; leave" in named
    )
    bare = said("inspect", path, "--drop-off-scale")
    assert "drop_off_scale (--drop-off-scale) is given, but no ratings are; leave" in bare
