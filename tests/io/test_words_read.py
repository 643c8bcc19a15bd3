"""Words as strangers write them, with an order and without."""

import pyarrow as pa
import pytest

from error_assertions import raises
from recveil.cli import main
from recveil.io import understand
from recveil.publish import convert
from recveil.ratings import Ratings, RatingScale

WORDS = ("hate", "dislike", "like", "love")
ORDER = ",".join(WORDS)
SCALE = RatingScale.of_labels(WORDS)


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return ended.value.code or 0


class TestReading:
    """With an order."""

    def read(self, folder, text, name="words.csv", **options):
        (folder / name).write_text(text)
        return understand(folder / name, **{"scale": SCALE, **options})

    def test_words_between_quotes_and_with_commas(self, tmp_path):
        scale = RatingScale.of_labels(["no, really", 'so "so"', "yes"])
        found = self.read(
            *(tmp_path, 'user,item,rating\n1,7,"no, really"\n2,7,"so ""so"""\n3,7,yes\n'),
            scale=scale,
        )
        assert found.ratings.values.tolist() == [1, 2, 3]
        convert(found.ratings, tmp_path / "again.csv")
        assert understand(tmp_path / "again.csv", scale=scale).ratings == found.ratings

    @pytest.mark.parametrize("word", ["NA", "null", "nan", "None", "3,5", "2020-01-01", "1e3"])
    def test_words_that_look_like_something_else(self, tmp_path, word):
        scale = RatingScale.of_labels([word, "love"])
        quoted = f'"{word}"'
        found = self.read(tmp_path, f"user,item,rating\n1,7,{quoted}\n2,7,love\n", scale=scale)
        assert found.ratings.values.tolist() == [1, 2]

    @pytest.mark.parametrize(
        ("lines", "code", "said"),
        [
            ("1,7,like\n2,7,Like\n", "rating.off-scale", "words.csv line 3"),
            ("1,7,like\n2,7,\n", "rating.missing", "words.csv line 3"),
            ('1,7,like\n2,7,""\n', "rating.off-scale", "words.csv line 3"),
            ("1,7,like\n2,7,=1+1\n", "rating.off-scale", "words.csv line 3"),
            ("1,7,like\n2,7,4\n", "rating.off-scale", "words.csv line 3"),
        ],
    )
    def test_what_is_no_word_is_named_by_its_line(self, tmp_path, lines, code, said):
        with raises(code) as error:
            self.read(tmp_path, f"user,item,rating\n{lines}")
        assert said in str(error.value)

    def test_a_first_row_of_words_is_not_lost(self, tmp_path):
        text = "ann7,heat,like\nben,heat,love\n"
        options = {"user": 1, "item": 2, "rating": 3}
        with raises("input.header") as error:
            self.read(tmp_path, text, **options)
        assert "'like'" in str(error.value)
        found = self.read(tmp_path, text, format="csv-plain", **options)
        assert found.ratings.n_ratings == 2

    def test_a_matrix_holds_numbers(self, tmp_path):
        with raises("option.conflict"):
            self.read(tmp_path, "user,heat\nann,like\n", wide=True)

    def test_json_and_frames(self, tmp_path):
        lines = (
            '{"user": 1, "item": 7, "rating": "like"}\n{"user": 2, "item": 7, "rating": "hate"}\n'
        )
        found = self.read(tmp_path, lines, "words.jsonl").ratings
        frame = pa.table({"user": [1, 2], "item": [7, 7], "rating": ["like", "hate"]})
        assert found == Ratings.from_frame(frame, scale=SCALE)

    def test_it_can_be_said_in_three_ways(self, tmp_path):
        text = "user,item,rating\n1,7,like\n2,7,hate\n"
        found = [
            self.read(tmp_path, text, **{"scale": None, **said}).ratings
            for said in ({"scale": SCALE}, {"order": ORDER}, {"order": list(WORDS)})
        ]
        assert found[0] == found[1] == found[2]

    @pytest.mark.parametrize("said", [{"likes": True}, {"counts": "log"}], ids=str)
    def test_they_are_one_thing(self, tmp_path, said):
        with raises("option.conflict"):
            self.read(tmp_path, "user,item,rating\n1,7,like\n", **said)

    def test_words_that_look_like_one_are_reported(self, tmp_path):
        scale = RatingScale.of_labels("like,Like,love")
        found = self.read(tmp_path, "user,item,rating\n1,7,like\n2,7,Like\n", scale=scale)
        assert any(
            "differ only in capital letters, spaces or the code" in note for note in found.notes
        )
        assert found.ratings.values.tolist() == [1, 2]


class TestWithoutAnOrder:
    """Named, or as many as the table has."""

    UNORDERED = RatingScale.of_labels(WORDS, ordered=False)

    @pytest.mark.parametrize("named", ["all", "hate,dislike,like,love"])
    def test_they_are_read_inspected_and_converted(self, words_file, tmp_path, named, capsys):
        found = understand(words_file, words=named)
        assert not found.ratings.scale.ordered
        assert found.ratings.scale.labels == (tuple(sorted(WORDS)) if named == "all" else WORDS)
        assert found.scale_given == (named != "all")
        assert run("convert", words_file, tmp_path / "out.csv", "--words", named) == 0
        assert "labels without an order" in capsys.readouterr().out
        assert (tmp_path / "out.csv").read_text() == words_file.read_text()

    def test_a_word_is_a_like_if_likes_are_declared(self, words_file):
        assert understand(words_file, likes=True).ratings.is_unary

    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            ([f"w{at}" for at in range(101)], "rating.words", "101 different"),
            (["up"], "rating.words", "'up'"),
            (["up", "=1+1"], "rating.words", "row 1"),
            (["up", ""], "rating.words", "row 1"),
            (["up", None], "rating.missing", "row 1"),
            (["up", "x" * 41], "rating.words", ""),
        ],
        ids=["comments", "one", "formula", "empty", "missing", "long"],
    )
    def test_what_cannot_be_words(self, words, code, said):
        frame = pa.table({"user": range(len(words)), "item": range(len(words)), "rating": words})
        with raises(code) as error:
            understand(frame, words="all")
        assert said in str(error.value)

    @pytest.mark.parametrize("bad", ["=cmd", "down ", "x" * 41])
    def test_the_line_of_what_cannot_be_a_word_is_named(self, tmp_path, bad):
        path = tmp_path / "words.csv"
        path.write_text(f"user,item,rating\nann,7,up\nben,7,{bad}\nzoe,7,{bad}\n")
        with raises("rating.words") as error:
            understand(path, words="all")
        assert "words.csv line 3" in str(error.value)
