"""Whether a release was made from some ratings: shown by a digest that the owner alone keeps."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recveil.datasets import make_ratings
from recveil.methods import KCoRater, PredictiveAnonymizer, SparseRows, Synthesizer
from recveil.methods.base import anonymize_hidden
from recveil.methods.nominal import NominalAnonymizer
from recveil.ratings import Ratings, RatingScale
from recveil.release.private_folder import digest_of, is_made_of

SCALE = RatingScale(1, 5, 1)

MADE = make_ratings(60, 20, 500, seed=2, scale=SCALE)

OTHER = make_ratings(60, 20, 500, seed=3, scale=SCALE)

WORDS = MADE.with_scale(RatingScale.of_labels("a,b,c,d,e", ordered=False))

WAYS = {
    "padded": PredictiveAnonymizer(4, seed=1),
    "model": PredictiveAnonymizer(4, values="predicted", seed=1),
    "k-corated": KCoRater(4, seed=1),
    "sparse": SparseRows(4, seed=1),
    "drawn": Synthesizer(20.0, item_catalog="as-rated"),
    "words": NominalAnonymizer(4, seed=1),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_private_folder_reveals_it_and_the_published_one_does_not(way, tmp_path):
    ratings = WORDS if way == "words" else MADE
    WAYS[way].anonymize(ratings).write(tmp_path / "out")
    assert is_made_of(tmp_path / "out", ratings) is True
    assert is_made_of(tmp_path / "out", OTHER) is False
    for file in (tmp_path / "out").iterdir():
        assert digest_of(ratings).encode() not in file.read_bytes()


def test_hidden_items_are_those_of_the_ratings(tmp_path):
    anonymize_hidden(MADE, WAYS["padded"], seed=1).write(tmp_path / "out")
    content = json.loads((tmp_path / "out.private" / "private.json").read_text())
    assert content["ratings_sha256"] == digest_of(MADE)
    assert is_made_of(tmp_path / "out", MADE) is True
    assert is_made_of(tmp_path / "out", OTHER) is False


def with_older_digest(folder, ratings):
    """Store the digest of the ratings with pseudonyms, as 1.0.0 did, and return their mapping."""
    file = folder.with_name("out.private") / "items.parquet"
    name_of = dict(zip(*pq.read_table(file).to_pydict().values(), strict=True))
    renamed = Ratings.from_columns(
        ratings.users[ratings.user_positions()],
        [name_of[item] for item in ratings.items[ratings.indices].tolist()],
        ratings.values,
        scale=SCALE,
    )
    private = file.with_name("private.json")
    content = json.loads(private.read_text()) | {"ratings_sha256": digest_of(renamed)}
    private.write_text(json.dumps(content))
    return name_of


def test_an_older_release_with_hidden_items_is_not_accused(tmp_path):
    anonymize_hidden(MADE, WAYS["padded"], seed=1).write(tmp_path / "out")
    name_of = with_older_digest(tmp_path / "out", MADE)
    assert is_made_of(tmp_path / "out", MADE) is True
    assert is_made_of(tmp_path / "out", OTHER) is False
    file = tmp_path / "out.private" / "items.parquet"
    fewer = pq.read_table(file).slice(1)
    pq.write_table(fewer, file)
    assert is_made_of(tmp_path / "out", MADE) is None, "of which the digest cannot be repeated"
    unknown = pa.table({"item_id": [9_999], "published_id": [name_of.popitem()[1]]})
    pq.write_table(pa.concat_tables([fewer, unknown]), file)
    assert is_made_of(tmp_path / "out", MADE) is False


@pytest.mark.parametrize("order", [1, -1])
def test_types_of_ids_and_order_do_not_matter(order):
    users, items = MADE.user_positions(), MADE.indices
    texts = [f"{user}" for user in users[::order]], [f"{item}" for item in items[::order]]
    result = Ratings.from_columns(*texts, MADE.values[::order], scale=SCALE)
    assert digest_of(result) == digest_of(
        Ratings.from_columns(users, items, MADE.values, days=np.arange(users.size), scale=SCALE)
    )


def test_one_rating_matters():
    values = MADE.values.copy()
    values[7] = 6 - values[7] if values[7] != 3 else 1
    result = Ratings.from_columns(MADE.user_positions(), MADE.indices, values, scale=SCALE)
    same = Ratings.from_columns(MADE.user_positions(), MADE.indices, MADE.values, scale=SCALE)
    assert digest_of(result) != digest_of(same)


def test_without_a_private_folder_or_a_digest_nothing_is_said(tmp_path):
    WAYS["padded"].anonymize(MADE).write(tmp_path / "out")
    file = tmp_path / "out.private" / "private.json"
    result = json.loads(file.read_text())
    del result["ratings_sha256"]
    file.write_text(json.dumps(result))
    assert is_made_of(tmp_path / "out", MADE) is None
    file.unlink()
    assert is_made_of(tmp_path / "out", MADE) is None
