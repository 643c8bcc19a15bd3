"""No user's ids decide how items are ordered or typed, nor whether there is a release at all."""

import json

import numpy as np
import pytest

from error_assertions import raises
from recveil.datasets import make_ratings
from recveil.methods import Synthesizer, anonymize
from recveil.methods.synthetic.options import (
    as_ids,
    in_public_order,
    on_catalog,
    published_order,
)
from recveil.ratings import Ratings, RatingScale

pytestmark = pytest.mark.usefixtures("rough_fit")

STARS = RatingScale(1, 5, 1)


def lines(tmp_path, name, extra=()):
    """Write ratings of 300 users, and further rows."""
    ratings = make_ratings(300, 40, 5_000, seed=3, scale=STARS)
    rows = ["user,item,rating"]
    for user in range(300):
        items, values = ratings.row(user)
        rows += [f"u{user},{i},{v:g}" for i, v in zip(items, values, strict=True)]
    (tmp_path / name).write_text("\n".join([*rows, *extra]))
    return tmp_path / name


def manifest(folder):
    return json.loads((folder / "release.json").read_text())


@pytest.mark.parametrize("odd", ["oddity", "0005", "12345678901234567890"])
def test_one_odd_id_is_not_revealed(tmp_path, odd):
    """Without a catalogue the type and the order of items follow from the published ones alone."""
    for name, extra in (("without", ()), ("with", (f"somebody,{odd},5",))):
        source = lines(tmp_path, f"{name}.csv", extra)
        anonymize(source, tmp_path / name, epsilon=20.0, scale=STARS)
    result = [manifest(tmp_path / name) for name in ("without", "with")]
    assert [of["item_type"] for of in result] == ["integer", "integer"]


def test_order_is_that_of_whole_numbers_first():
    plain = Ratings.from_columns([1, 1, 2, 2], [10, 9, 9, 200], [4, 2, 5, 1])
    mixed = Ratings.from_columns([1, 1, 2, 2, 3], ["10", "9", "9", "200", "x"], [4, 2, 5, 1, 5])
    ordered = in_public_order(mixed, 100)
    assert ordered.items.tolist() == ["9", "10", "200", "x"]
    for user in (0, 1):
        for part, other in zip(plain.row(user), ordered.row(user), strict=True):
            assert part.tolist() == other.tolist()


def test_who_rated_too_much_counts_with_some_of_their_items():
    ratings = Ratings.from_columns([1, 1, 1, 2], [10, 9, 30, 30], [4, 2, 5, 1])
    cut = in_public_order(ratings, 2)
    assert cut.activity.tolist() == [2, 1]
    assert cut.items[cut.row(0)[0]].tolist() == [10, 30]


def test_published_ids_alone_decide_their_type():
    ids, order = published_order(np.array(["9", "10", "b"], object))
    assert (ids.tolist(), order.tolist()) == (["10", "9", "b"], [1, 0, 2])


class TestCatalogue:
    def test_its_type_is_its_own(self, tmp_path):
        """One user who rates the only item that is no number changes nothing."""
        (tmp_path / "items.txt").write_text("\n".join([*map(str, range(45)), "extra"]))
        for name, extra in (("without", ()), ("with", ("somebody,extra,5",))):
            source = lines(tmp_path, f"{name}.csv", extra)
            given = {"item_catalog": tmp_path / "items.txt", "scale": STARS}
            anonymize(source, tmp_path / name, epsilon=20.0, **given)
            assert manifest(tmp_path / name)["item_type"] == "text"

    def test_an_item_that_is_not_in_it(self):
        ratings = Ratings.from_columns([1, 1], [7, 8], [4, 2])
        with raises("id.unknown") as caught:
            on_catalog(ratings, as_ids(["7", "9"]))
        assert "1 item" in str(caught.value)
        assert "'8'" in str(caught.value)


def test_likes_are_no_reason_to_refuse():
    """One 4 among fives must not decide whether there is a release."""
    ratings = make_ratings(300, 40, 5_000, seed=3, scale=STARS)
    for value in (5.0, 4.0):
        values = np.full(ratings.n_ratings, 5.0)
        values[0] = value
        changed = Ratings(
            *(ratings.users, ratings.items, ratings.indptr, ratings.indices), values, None, STARS
        )
        release = Synthesizer(20.0, item_catalog="as-rated", seed=1).anonymize(changed)
        assert release.published.claim.epsilon == 20
    likes = Ratings.from_columns([1, 1, 2], [7, 8, 7], [5, 5, 5], scale=STARS)
    with raises("table.kind"):
        Synthesizer(None).anonymize(likes)
