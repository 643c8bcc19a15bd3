"""Releases of ratings that are words: as good as their ranks, or shared without an order."""

import csv
import json
import re
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.auditing import audit
from recveil.io import understand
from recveil.methods import Groups, anonymize, homogenize_simple, sample
from recveil.methods.predictive.anonymizer import value_step
from recveil.methods.registry import make_variant
from recveil.publish.release import ReleaseFolder
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.rating_scale import published_values
from recveil.verification import verify

pytestmark = pytest.mark.usefixtures("rough_fit")

WORDS = ("hate", "dislike", "like", "love")
ORDER = ",".join(WORDS)
SCALE = RatingScale.of_labels(WORDS)


def rows_of(folder):
    """The rows of a release, each as often as it stands, without its pseudonym."""
    rows = {}
    for row in pq.read_table(folder / "ratings.parquet").to_pylist():
        rows.setdefault(row["user_id"], []).append((row["item_id"], row["rating"]))
    return Counter(tuple(row) for row in rows.values())


@pytest.mark.parametrize("options", [{}, {"homogenize": "simple"}], ids=["padded", "simple"])
def test_the_rows_are_those_of_the_ranks(word_numbers, words, options, tmp_path):
    """Grouped and averaged as numbers on the scale are, and written as words."""
    options = {"k": 5, "method": "predictive", "seed": 1, **options}
    anonymize(words, tmp_path / "words", **options)
    anonymize(word_numbers, tmp_path / "numbers", round_values="scale", **options)
    of_labels = {
        tuple((item, WORDS.index(word) + 1) for item, word in row): times
        for row, times in rows_of(tmp_path / "words").items()
    }
    assert of_labels == rows_of(tmp_path / "numbers")


def test_means_of_ranks_by_hand():
    """Two groups of two users, worked by hand."""
    ratings = Ratings.from_columns(
        ["ann", "ann", "ben", "ben", "cy", "cy", "dee"],
        ["a", "b", "a", "b", "a", "c", "a"],
        ["hate", "love", "like", "love", "hate", "dislike", "dislike"],
        scale=SCALE,
    )
    (block,) = homogenize_simple(ratings, Groups.from_labels([0, 0, 1, 1]))
    assert block.values.tolist() == [2.0, 4.0, 1.5, 2.0]
    labels = published_values(SCALE.round(block.values, value_step("usual", SCALE)), SCALE)
    assert labels.to_pylist() == ["dislike", "love", "hate", "dislike"]


@pytest.mark.parametrize(
    "options",
    [
        *(
            {"method": "predictive", **options}
            for options in (
                {},
                {"homogenize": "simple"},
                {"homogenize": "simple", "l": 2},
                {"values": "predicted"},
                {"privacy_levels": "activity<10:7,else:5"},
                {"hide_items": True},
            )
        ),
        *({"method": "k-corating", "protect": how} for how in ("none", "mean", "shuffle")),
        {"method": "k-corating", "fill": "random"},
        {"method": "sparse"},
    ],
    ids=str,
)
def test_every_method_takes_them(words_file, tmp_path, options):
    folder = tmp_path / "out"
    anonymize(words_file, folder, k=5, seed=1, scale=SCALE, file_format="csv", **options)
    assert verify(folder, private=f"{folder}.private").holds
    with (folder / "ratings.csv").open(newline="") as file:
        assert {row["rating"] for row in csv.DictReader(file)} <= set(WORDS)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"method": "predictive", "round_values": "tenth"}, "option.unsupported"),
        ({"method": "predictive", "round_values": 0.5}, "option.unsupported"),
        ({"method": "predictive", "round_values": "none"}, "option.unsupported"),
        (
            {"method": "k-corating", "round_fills": False},
            "option.unsupported",
        ),
    ],
    ids=str,
)
def test_nothing_lies_between_two_words(words_file, tmp_path, options, code):
    with raises(code):
        anonymize(words_file, tmp_path / "out", k=5, scale=SCALE, **options)
    assert not (tmp_path / "out").exists()


class TestDrawn:
    def test_users_are_drawn_with_words(self, words_file, tmp_path):
        anonymize(
            words_file, tmp_path / "out", method="synthetic", epsilon=50, scale=SCALE, n_users=200
        )
        assert verify(tmp_path / "out").holds
        labels = ReleaseFolder(tmp_path / "out").to_arrow()["rating"].to_pylist()
        assert set(labels) <= set(WORDS)

    def test_tenths_are_refused_by_name(self, words_file, tmp_path):
        with raises("option.unsupported"):
            anonymize(
                *(words_file, tmp_path / "out"),
                method="synthetic",
                epsilon=50,
                scale=SCALE,
                rating_grid="tenths",
            )

    def test_a_model_draws_words_also_by_hand(self, words_file, tmp_path, monkeypatch):
        anonymize(
            *(words_file, tmp_path / "out"),
            method="synthetic",
            epsilon="none",
            scale=SCALE,
            layout="model",
        )
        sample(tmp_path / "out", tmp_path / "drawn", n_users=50, seed=1)
        labels = ReleaseFolder(tmp_path / "drawn").to_arrow()["rating"].to_pylist()
        assert set(labels) <= set(WORDS)
        card = (tmp_path / "out" / "README.md").read_text()
        lines = card.partition("    import json")[2].partition("\n\n")[0]
        monkeypatch.chdir(tmp_path / "out")
        found = {}
        exec(re.sub(r"(?m)^    ", "", f"    import json{lines}"), found)
        assert found["user"]
        assert set(found["user"].values()) <= set(WORDS)


class TestWithoutAnOrder:
    """Groups share them, and no method takes their numbers for more than names."""

    UNORDERED = RatingScale.of_labels(WORDS, ordered=False)

    @pytest.mark.parametrize("homogenize", ["commonest", "shares"])
    def test_a_release_that_all_share(self, words_file, tmp_path, homogenize):
        folder = tmp_path / "out"
        options = {"k": 5, "method": "nominal", "seed": 1, "homogenize": homogenize}
        anonymize(words_file, folder, words=ORDER, **options)
        found = verify(folder, private=f"{folder}.private")
        assert found.holds
        assert found.k_achieved >= 5
        result = json.loads((folder / "release.json").read_text())
        assert result["format"] == "recveil-release-9"
        assert result["scale"]["ordered"] is False
        assert "without an order" in (folder / "README.md").read_text()
        result = audit(words_file, release=folder, targets=60, curves=False, words=ORDER).to_dict()
        for attack in result["release"]["attacks"]:
            assert attack["reidentified"]["low"] <= attack["bound"] == 0.2
        assert any("labels without an order" in warning for warning in result["warnings"])
        names = [attack["name"] for attack in result["attacks"]]
        assert "public-profile" in names
        assert not {"bystander", "likes", "likes-16"} & {*names}

    def test_words_that_few_users_gave_are_not_published_unnamed(self, tmp_path):
        frame = pa.table(
            {"user": range(12), "item": [7] * 12, "rating": ["up"] * 6 + ["down"] * 5 + ["odd"]}
        )
        assert any("'odd'" in n and "1 user" in n for n in understand(frame, words="all").notes)
        with raises("scale.inferred", "'odd'", 1, 5):
            anonymize(frame, tmp_path / "out", k=5, method="nominal", words="all")
        options = {"words": "up,down", "drop_off_scale": True}
        anonymize(frame, tmp_path / "out", k=5, method="nominal", seed=1, **options)
        assert verify(tmp_path / "out").holds

    @pytest.mark.parametrize(
        "options", [{"order": "up,down"}, {"words": "up,down", "method": "nominal"}], ids=str
    )
    def test_one_word_alone_is_no_more_than_likes(self, tmp_path, options):
        frame = pa.table({"user": [1, 2, 3], "item": [7, 7, 7], "rating": ["up"] * 3})
        with raises("table.kind", "'up'"):
            anonymize(frame, tmp_path / "out", k=2, **options)

    @pytest.mark.parametrize(
        "variant", ["padded", "simple", "k-corating-mean", "sparse", "item-means"]
    )
    def test_anonymizers_refuse_them_in_memory_too(self, words, variant):
        unordered = words.with_scale(self.UNORDERED)
        with raises("table.kind", "--words"):
            make_variant(variant, None if variant == "item-means" else 5, 1).anonymize(unordered)

    def test_the_raw_release_of_a_comparison_holds_them_as_they_are(self, words):
        unordered = words.with_scale(self.UNORDERED)
        release = make_variant("raw", None, 1).anonymize(unordered)
        given = Counter(unordered.values.tolist())
        shown = Counter(at for block in release.published.blocks() for at in block.values.tolist())
        assert shown == given
