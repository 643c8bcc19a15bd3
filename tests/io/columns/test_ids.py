"""Ids of items that look like those of users: e-mail addresses are never published as items."""

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.inspection import inspect
from recveil.io import write_ratings
from recveil.io.columns.ids import describe_alike_ids, reject_personal_ids, user_ids_among
from recveil.methods import SparseRows, anonymize
from recveil.ratings import Ratings, RatingScale
from recveil.verification import verify


@pytest.mark.parametrize(
    ("items", "found"),
    [
        (["Heat", "ann.b+c@mail.example.org"], ("e-mail addresses", 1)),
        ([" ann@example.org "] * 3, ("e-mail addresses", 3)),
        (["Heat", "@ann", "a@b", "me @ home.de", "x@y.z"], None),
        (["+49 170 1234567", "+1-202-555-0199"], ("telephone numbers", 2)),
        (["+49 170 1234567", "Heat", "Alien"], None),
        (["0012345678905", "4006381333931"], None),  # articles are numbered so
        (["1.2.3.4", "10.0.0.1"], ("network (IP) addresses", 2)),
        (["1.2.3.4", "Heat", "Alien"], None),
        (np.array([7, 8]), None),
    ],
)
def test_what_looks_like_users(items, found):
    assert user_ids_among(items) == found
    if found is None:
        reject_personal_ids(items)
    else:
        with raises("id.personal") as caught:
            reject_personal_ids(items)
        assert f"{found[1]} id" in str(caught.value)
        assert len(str(caught.value)) < 300
        assert "example.org" not in str(caught.value)


def swapped() -> Ratings:
    """Users in the column of items, as a user mistypes --user and --item."""
    made = make_ratings(60, 40, 1_100, seed=1, scale=RatingScale(1, 5, 1))
    places = made.indices.astype(int)
    users = np.array([f"p{n}@example.org" for n in made.user_positions()], object)
    films = np.array([f"film {n}" for n in places], object)
    return Ratings.from_columns(films, users, made.values, scale=made.scale)


@pytest.mark.parametrize(
    "options",
    [{"k": 3}, {"k": 3, "method": "predictive"}, {"epsilon": 5.0, "item_catalog": "as-rated"}],
)
def test_users_are_not_published_as_items(tmp_path, options):
    with raises("id.personal") as error:
        anonymize(swapped(), tmp_path / "out", **options)
    assert "60 ids" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_the_library_writes_none_either(tmp_path):
    release = SparseRows(k=3, seed=1).anonymize(swapped())
    with raises("id.personal") as error:
        release.write(tmp_path / "out")
    assert "60 ids" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_pseudonyms_hide_them(tmp_path):
    anonymize(swapped(), tmp_path / "out", k=3, method="sparse", hide_items=True)
    result = verify(tmp_path / "out")
    assert result.holds
    assert "user-ids" not in {limit.code for limit in result.not_covered}


def test_the_checker_reports_them(tmp_path, monkeypatch):
    for where in ("recveil.methods._anonymize", "recveil.publish.release"):
        monkeypatch.setattr(f"{where}.reject_personal_ids", lambda *_, **__: None)
    anonymize(swapped(), tmp_path / "out", k=3, method="sparse")
    result = verify(tmp_path / "out")
    assert result.holds
    (limit,) = (each for each in result.not_covered if each.code == "user-ids")
    assert limit.values == ("e-mail addresses", 58)


@pytest.mark.parametrize("is_swapped", [False, True])
def test_inspect_believes_ids_before_all_else(tmp_path, is_swapped):
    ratings = swapped()
    frame = ratings.to_arrow().to_pandas()
    frame = frame.rename(columns={"user_id": "a", "item_id": "b"})
    user, item = ("a", "b") if is_swapped else ("b", "a")
    found = inspect(frame, user=user, item=item)
    assert found.column_order.looks_swapped is is_swapped
    assert found.column_order.signs[0].code == "ids"


def test_names_that_say_it_outweigh_where_ratings_gather(tmp_path):
    rng = np.random.default_rng(1)
    cells = np.unique(
        np.column_stack([rng.zipf(1.5, 9_000) % 200, rng.integers(0, 400, 9_000)]), axis=0
    )
    turned = Ratings.from_columns(*cells.T, np.arange(len(cells)) % 5 + 1)
    write_ratings(turned, tmp_path / "r.csv")
    assert inspect(tmp_path / "r.csv").column_order.looks_swapped is None
    text = (tmp_path / "r.csv").read_text().replace("user_id", "left").replace("item_id", "right")
    (tmp_path / "s.csv").write_text(text)
    assert inspect(tmp_path / "s.csv", user="left", item="right").column_order.looks_swapped is True


def test_a_phone_number_in_two_notations_is_one_user():
    phones = ["+49 30 1234567", "0049 (30) 123-4567", "+49 30 7654321", "030 1234567"]
    (note,) = describe_alike_ids(np.array(phones, dtype=object), "user")
    assert "4 users" in note
    assert "3" in note
    assert describe_alike_ids(np.array(phones[1:], dtype=object), "user") == []
