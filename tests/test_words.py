"""Ratings that are words with an order, through all verbs: as good as their ranks."""

import csv
import json
import re
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recveil.anonymize import Groups, anonymize, homogenize_simple, sample
from recveil.anonymize.methods import make_variant
from recveil.anonymize.predictive import label_step
from recveil.attack.adversary import PRESETS
from recveil.audit import audit
from recveil.cli import main
from recveil.compare import compare
from recveil.datasets import make_ratings
from recveil.errors import RecveilError
from recveil.evaluate import evaluate
from recveil.inspect import inspect
from recveil.io import understand
from recveil.publish import convert
from recveil.publish.written_release import WrittenRelease
from recveil.ratings import Ratings, RatingScale
from recveil.ratings.worded import labels_of
from recveil.report import audit_page
from recveil.verify import verify

WORDS = ("hate", "dislike", "like", "love")
ORDER = ",".join(WORDS)
SCALE = RatingScale.of_words(WORDS)
NUMBERS = RatingScale(1, 4, 1)


@pytest.fixture(scope="module")
def numbers():
    return make_ratings(n_users=120, n_items=40, n_ratings=2_400, seed=5, scale=NUMBERS)


@pytest.fixture(scope="module")
def words(numbers):
    return numbers.with_scale(SCALE)


@pytest.fixture(scope="module")
def table(tmp_path_factory, words):
    file = tmp_path_factory.mktemp("tables") / "words.csv"
    convert(words, file)
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("made")
    for name, options in {
        "padded": {},
        "simple": {"homogenize": "simple"},
        "sparse": {"method": "sparse"},
    }.items():
        anonymize(table, folder / name, k=5, seed=1, scale=SCALE, **options)
    return folder


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(each) for each in arguments])
    return ended.value.code or 0


def rows_of(folder):
    """The rows of a release, each as often as it stands, without its pseudonym."""
    rows = {}
    for row in pq.read_table(folder / "ratings.parquet").to_pylist():
        rows.setdefault(row["user_id"], []).append((row["item_id"], row["rating"]))
    return Counter(tuple(row) for row in rows.values())


@pytest.mark.parametrize("options", [{}, {"homogenize": "simple"}], ids=["padded", "simple"])
def test_the_rows_are_those_of_the_ranks(numbers, words, options, tmp_path):
    """Grouped and averaged as numbers on the scale are, and written as words."""
    anonymize(words, tmp_path / "words", k=5, seed=1, **options)
    anonymize(numbers, tmp_path / "numbers", k=5, seed=1, round_labels="scale", **options)
    of_words = {
        tuple((item, WORDS.index(word) + 1) for item, word in row): times
        for row, times in rows_of(tmp_path / "words").items()
    }
    assert of_words == rows_of(tmp_path / "numbers")


def test_means_of_ranks_by_hand():
    """The example of docs/methods.md."""
    ratings = Ratings.from_columns(
        ["ann", "ann", "ben", "ben", "cy", "cy", "dee"],
        ["a", "b", "a", "b", "a", "c", "a"],
        ["hate", "love", "like", "love", "hate", "dislike", "dislike"],
        scale=SCALE,
    )
    (block,) = homogenize_simple(ratings, Groups.from_labels([0, 0, 1, 1]))
    assert block.values.tolist() == [2.0, 4.0, 1.5, 2.0]
    labels = labels_of(SCALE.round(block.values, label_step("usual", SCALE)), SCALE)
    assert labels.to_pylist() == ["dislike", "love", "hate", "dislike"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"homogenize": "simple"},
        {"homogenize": "simple", "l": 2},
        {"labels": "model"},
        {"privacy_levels": "activity<10:7,else:5"},
        {"hide_items": True},
        *({"method": "k-corating", "protect": how} for how in ("none", "mean", "shuffle")),
        {"method": "k-corating", "fill": "random"},
        {"method": "sparse"},
    ],
    ids=str,
)
def test_every_method_takes_them(table, tmp_path, options):
    folder = tmp_path / "out"
    anonymize(table, folder, k=5, seed=1, scale=SCALE, file_format="csv", **options)
    assert verify(folder, private=f"{folder}.private").holds
    with (folder / "ratings.csv").open(newline="") as file:
        assert {row["rating"] for row in csv.DictReader(file)} <= set(WORDS)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"round_labels": "tenth"}, r"round_labels \(--round\) is 'tenth', but ratings are words"),
        ({"round_labels": 0.5}, "nothing lies between two words"),
        ({"round_labels": "none"}, "nothing lies between two words"),
        (
            {"method": "k-corating", "round_fills": False},
            "round_fills is off, but",
        ),
    ],
    ids=str,
)
def test_nothing_lies_between_two_words(table, tmp_path, options, problem):
    with pytest.raises(RecveilError, match=problem):
        anonymize(table, tmp_path / "out", k=5, scale=SCALE, **options)
    assert not (tmp_path / "out").exists()


class TestDrawn:
    def test_people_are_drawn_with_words(self, table, tmp_path):
        anonymize(table, tmp_path / "out", method="synthetic", epsilon=50, scale=SCALE, people=200)
        assert verify(tmp_path / "out").holds
        labels = WrittenRelease(tmp_path / "out").to_arrow()["rating"].to_pylist()
        assert set(labels) <= set(WORDS)

    def test_tenths_are_refused_by_name(self, table, tmp_path):
        with pytest.raises(RecveilError, match=r"\(--ratings\), is tenths, but ratings are words"):
            anonymize(
                *(table, tmp_path / "out"),
                method="synthetic",
                epsilon=50,
                scale=SCALE,
                rating_grid="tenths",
            )

    def test_a_model_draws_words_also_by_hand(self, table, tmp_path, monkeypatch):
        anonymize(
            *(table, tmp_path / "out"),
            method="synthetic",
            epsilon="none",
            scale=SCALE,
            layout="model",
        )
        sample(tmp_path / "out", tmp_path / "drawn", people=50, seed=1)
        labels = WrittenRelease(tmp_path / "drawn").to_arrow()["rating"].to_pylist()
        assert set(labels) <= set(WORDS)
        card = (tmp_path / "out" / "README.md").read_text()
        lines = card.partition("    import json")[2].partition("\n\n")[0]
        monkeypatch.chdir(tmp_path / "out")
        found = {}
        exec(re.sub(r"(?m)^    ", "", f"    import json{lines}"), found)
        assert found["person"]
        assert set(found["person"].values()) <= set(WORDS)


class TestAudit:
    @pytest.mark.parametrize("name", ["padded", "simple", "sparse"])
    def test_the_promise_holds(self, table, made, name):
        told = audit(table, release=made / name, targets=60, curves=False, scale=SCALE).to_dict()
        assert told["data"]["words"] == list(WORDS)
        assert told["data"]["ordered"] is True
        for attack in told["release"]["attacks"]:
            assert attack["person_found"]["low"] <= attack["bound"] == 0.2

    def test_without_a_release_people_are_found_as_by_numbers(self, words, numbers):
        found = [audit(each, targets=120, curves=False, seed=1) for each in (words, numbers)]
        rates = [[one.found.rate for one in each.attacks] for each in found]
        assert rates[0] == rates[1]
        assert max(rates[0]) > 0.5  # planted people are found

    def test_nobody_is_found_where_everybody_has_one_row(self, words, tmp_path):
        anonymize(words, tmp_path / "out", k=words.n_users, seed=1)
        told = audit(words, release=tmp_path / "out", targets=120, curves=False).to_dict()
        for attack in told["release"]["attacks"]:
            assert attack["person_found"]["rate"] <= 1 / words.n_users + 1e-9

    @pytest.mark.parametrize("scale", [RatingScale.of_words(WORDS[::-1]), NUMBERS], ids=str)
    def test_another_order_would_reassure_for_nothing(self, numbers, made, scale):
        with pytest.raises(RecveilError, match=r"holds ratings on the scale .*order \(--order\)"):
            audit(numbers.with_scale(scale), release=made / "simple", targets=9, curves=False)

    def test_what_somebody_knows_has_the_same_words(self, table, words, tmp_path):
        user = words.users[int(words.activity.argmax())]
        rows = [row for row in words.to_arrow().to_pylist() if row["user_id"] == user][:12]
        lines = [f"eve,{row['item_id']},{row['rating']}" for row in rows]
        (tmp_path / "aux.csv").write_text("\n".join(["target,item,rating", *lines, ""]))
        found = audit(table, aux=tmp_path / "aux.csv", targets=9, curves=False, scale=SCALE)
        assert found.suspects[0].users[0] == str(rows[0]["user_id"])
        likes = "\n".join(["user,item", *(f"eve,{row['item_id']}" for row in rows), ""])
        (tmp_path / "likes.csv").write_text(likes)
        found = audit(table, aux=tmp_path / "likes.csv", targets=9, curves=False, scale=SCALE)
        assert found.suspects[0].known == 12


class TestEvaluateAndCompare:
    def test_the_scale_is_the_release_s_own(self, table, made):
        found = evaluate(made / "simple", table, split=0.2, targets=20, with_membership=False)
        assert found.to_json()["recipient"]["release"]["rmse"] > 0

    def test_another_order_is_refused(self, table, made):
        other = RatingScale.of_words(WORDS[::-1])
        with pytest.raises(RecveilError, match="name the same words in the same order"):
            evaluate(made / "simple", table, split=0.2, targets=9, scale=other)

    def test_settings_are_compared_as_those_of_numbers(self, words, tmp_path):
        names = ["padded", "simple", "k-corating-mean", "sparse", "raw", "item-means"]
        found = compare(words, tmp_path / "out", methods=names, ks=[5], targets=20)
        assert not [row.problem for row in found.rows if row.problem]
        assert json.loads(json.dumps(found.to_dict()))["data"]["words"] == list(WORDS)


class TestReadingBack:
    def test_rows_hold_words_and_matrices_their_places(self, made):
        release = WrittenRelease(made / "simple")
        table = release.to_arrow(people=True)
        assert table.schema.field("rating").type == pa.string()
        matrix = release.to_csr(people=True)
        assert [WORDS[int(at) - 1] for at in matrix.data] == table["rating"].to_pylist()

    @pytest.mark.parametrize("target", ["out.csv", "out.parquet", "out.inter", "out.csv.gz"])
    def test_what_is_converted_comes_back(self, made, words, tmp_path, target):
        convert(made / "simple", tmp_path / target)
        found = understand(tmp_path / target, scale=SCALE).ratings
        assert found.n_ratings == WrittenRelease(made / "simple").to_csr(people=True).nnz
        convert(words, tmp_path / f"raw-{target}")
        assert understand(tmp_path / f"raw-{target}", scale=SCALE).ratings == words

    def test_folders_of_other_libraries(self, words, tmp_path):
        convert(words, tmp_path / "lk", target_format="lenskit")
        assert set(pq.read_table(tmp_path / "lk" / "rating.parquet")["rating"].to_pylist()) <= set(
            WORDS
        )
        convert(words, tmp_path / "rb", target_format="recbole")
        header = (tmp_path / "rb" / "rb.inter").read_text().splitlines()[0]
        assert header.split("\t")[:3] == ["user_id:token", "item_id:token", "rating:token"]
        with pytest.raises(RecveilError, match="surprise reads numbers, and these ratings are"):
            convert(words, tmp_path / "out.txt", target_format="surprise")


class TestReading:
    """Words as strangers write them."""

    def read(self, folder, text, name="words.csv", **options):
        (folder / name).write_text(text)
        return understand(folder / name, **{"scale": SCALE, **options})

    def test_words_between_quotes_and_with_commas(self, tmp_path):
        scale = RatingScale.of_words(["no, really", 'so "so"', "yes"])
        found = self.read(
            *(tmp_path, 'user,item,rating\n1,7,"no, really"\n2,7,"so ""so"""\n3,7,yes\n'),
            scale=scale,
        )
        assert found.ratings.values.tolist() == [1, 2, 3]
        convert(found.ratings, tmp_path / "again.csv")
        assert understand(tmp_path / "again.csv", scale=scale).ratings == found.ratings

    @pytest.mark.parametrize("word", ["NA", "null", "nan", "None", "3,5", "2020-01-01", "1e3"])
    def test_words_that_look_like_something_else(self, tmp_path, word):
        scale = RatingScale.of_words([word, "love"])
        quoted = f'"{word}"'
        found = self.read(tmp_path, f"user,item,rating\n1,7,{quoted}\n2,7,love\n", scale=scale)
        assert found.ratings.values.tolist() == [1, 2]

    @pytest.mark.parametrize(
        ("lines", "problem"),
        [
            ("1,7,like\n2,7,Like\n", r"words.csv line 3: rating 'Like' is none .*but 'like' is"),
            ("1,7,like\n2,7,\n", r"words.csv line 3: the rating is missing"),
            ('1,7,like\n2,7,""\n', r"words.csv line 3: rating '' is none"),
            ("1,7,like\n2,7,=1+1\n", r"words.csv line 3: rating '=1\+1' is none"),
            ("1,7,like\n2,7,4\n", r"words.csv line 3: rating '4' is none"),
        ],
    )
    def test_what_is_no_word_is_named_by_its_line(self, tmp_path, lines, problem):
        with pytest.raises(RecveilError, match=problem):
            self.read(tmp_path, f"user,item,rating\n{lines}")

    def test_a_first_row_of_words_is_not_lost(self, tmp_path):
        text = "ann,heat,like\nben,heat,love\n"
        options = {"user": 1, "item": 2, "rating": 3}
        with pytest.raises(RecveilError, match=r"its first line, with 'like' in it"):
            self.read(tmp_path, text, **options)
        found = self.read(tmp_path, text, format="csv-plain", **options)
        assert found.ratings.n_ratings == 2

    def test_a_matrix_holds_numbers(self, tmp_path):
        with pytest.raises(RecveilError, match=r"wide \(--wide\) is given, but the cells"):
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
        with pytest.raises(RecveilError, match=r"^order \(--order\) is hate < dislike"):
            self.read(tmp_path, "user,item,rating\n1,7,like\n", **said)

    def test_words_that_look_like_one_are_told(self, tmp_path):
        scale = RatingScale.of_words("like,Like,love")
        found = self.read(tmp_path, "user,item,rating\n1,7,like\n2,7,Like\n", scale=scale)
        assert any("differ in capital letters or spaces alone" in note for note in found.notes)
        assert found.ratings.values.tolist() == [1, 2]


class TestInspect:
    def test_each_word_and_how_many_used_it(self, tmp_path):
        text = "user,item,rating\n1,7,like\n1,8,like\n2,7,hate\n"
        (tmp_path / "words.csv").write_text(text)
        found = inspect(tmp_path / "words.csv", scale=SCALE)
        assert [tuple(word) for word in found.words] == [
            ("hate", 1, 1),
            ("dislike", 0, 0),
            ("like", 2, 1),
            ("love", 0, 0),
        ]
        assert found.to_dict()["scale"]["words"][2] == {"word": "like", "ratings": 2, "people": 1}

    def test_words_are_no_markup_of_the_terminal(self, tmp_path, capsys):
        text = "user,item,rating\n1,7,[bold]\n2,7,[/bold]\n"
        (tmp_path / "words.csv").write_text(text)
        assert run("inspect", tmp_path / "words.csv", "--order", "[bold],[/bold]") == 0
        assert "[bold] < [/bold]" in capsys.readouterr().out


class TestCommandLine:
    def test_every_verb_takes_the_order(self, table, made, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for arguments in (
            ("audit", table, "--release", made / "simple", "--targets", "9", "--no-curves"),
            ("selftest", table),
            ("inspect", table),
            ("anonymize", table, "-o", "out", "--k", "5"),
            ("anonymize", table, "-o", "dry", "--k", "5", "--dry-run"),
            ("evaluate", table, "--release", "out", "--split", "0.2", "--no-membership"),
            ("compare", table, "-o", "found", "--k", "5", "--targets", "9", "--methods", "simple"),
            ("convert", table, "again.csv"),
        ):
            assert run(*arguments, "--order", ORDER) == 0, arguments
            out = " ".join(capsys.readouterr().out.split())
            assert "words hate < dislike < like < love (given;" in out, arguments

    @pytest.mark.parametrize(
        "more", [("--scale", "1:4:1"), ("--words", "all"), ("--words", "a,b")], ids=str
    )
    def test_one_of_scale_order_and_words(self, table, capsys, more):
        assert run("inspect", table, "--order", ORDER, *more) == 2
        assert "are both given, and each says what the ratings are" in capsys.readouterr().err

    def test_without_it_both_remedies_are_named(self, table, capsys):
        assert run("inspect", table) == 2
        told = capsys.readouterr().err
        assert "order (--order hate,like,love)" in told
        assert "words (--words all)" in told


class TestWithoutAnOrder:
    """They are read, and nothing is done with them that takes their numbers for more than names."""

    UNORDERED = RatingScale.of_words(WORDS, ordered=False)

    @pytest.mark.parametrize("named", ["all", "hate,dislike,like,love"])
    def test_they_are_read_inspected_and_converted(self, table, tmp_path, named, capsys):
        found = understand(table, words=named)
        assert not found.ratings.scale.ordered
        assert found.ratings.scale.words == (tuple(sorted(WORDS)) if named == "all" else WORDS)
        assert found.scale_given == (named != "all")
        assert run("convert", table, tmp_path / "out.csv", "--words", named) == 0
        assert "words without an order" in capsys.readouterr().out
        assert (tmp_path / "out.csv").read_text() == table.read_text()

    def test_all_that_do_more_refuse_them_by_name(self, table, made, tmp_path, capsys):
        for arguments in (
            ("anonymize", table, "-o", tmp_path / "out", "--k", "5"),
            ("anonymize", table, "-o", tmp_path / "out", "--k", "5", "--dry-run"),
            ("anonymize", table, "-o", tmp_path / "out", "--k", "5", "--method", "sparse"),
            ("anonymize", table, "-o", tmp_path / "out", "--k", "5", "--method", "k-corating"),
            ("anonymize", table, "-o", tmp_path / "out", "--epsilon", "20"),
            ("evaluate", table, "--release", made / "simple", "--split", "0.2"),
            ("compare", table, "-o", tmp_path / "found"),
        ):
            assert run(*arguments, "--words", ORDER) == 2, arguments
            told = capsys.readouterr().err
            assert "order (--order)" in told, arguments
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("homogenize", ["commonest", "shares"])
    def test_a_release_that_all_share(self, table, tmp_path, homogenize):
        folder = tmp_path / "out"
        options = {"k": 5, "method": "words", "seed": 1, "homogenize": homogenize}
        anonymize(table, folder, words=ORDER, **options)
        found = verify(folder, private=f"{folder}.private")
        assert found.holds
        assert found.k_achieved >= 5
        told = json.loads((folder / "release.json").read_text())
        assert told["format"] == "recveil-release-7"
        assert told["scale"]["ordered"] is False
        assert "which have no order" in (folder / "README.md").read_text()
        told = audit(table, release=folder, targets=60, curves=False, words=ORDER).to_dict()
        for attack in told["release"]["attacks"]:
            assert attack["person_found"]["low"] <= attack["bound"] == 0.2
        assert any("words without an order" in warning for warning in told["warnings"])
        names = [attack["name"] for attack in told["attacks"]]
        assert "public-profile" in names
        assert not {"bystander", "likes", "likes-16"} & {*names}

    def test_planted_people_are_found_and_nobody_in_one_row(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        anonymize(unordered, tmp_path / "out", k=words.n_users, method="words", seed=1)
        told = audit(unordered, release=tmp_path / "out", targets=120, curves=False).to_dict()
        for attack in told["release"]["attacks"]:
            assert attack["person_found"]["rate"] <= 1 / words.n_users + 1e-9
        assert max(attack["found"]["rate"] for attack in told["attacks"]) > 0.5

    def test_other_words_would_reassure_for_nothing(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        anonymize(unordered, tmp_path / "out", k=5, method="words", seed=1)
        for other in (words, words.with_scale(RatingScale.of_words(WORDS[::-1], ordered=False))):
            with pytest.raises(RecveilError, match=r"name the same words .*words \(--words\)"):
                audit(other, release=tmp_path / "out", targets=9, curves=False)

    def test_words_that_few_people_gave_are_not_published_unnamed(self, tmp_path):
        frame = pa.table(
            {"user": range(12), "item": [7] * 12, "rating": ["up"] * 6 + ["down"] * 5 + ["odd"]}
        )
        assert any(
            "word 'odd' was given by 1 person" in n for n in understand(frame, words="all").notes
        )
        with pytest.raises(
            RecveilError, match="its word 'odd' was given by 1 person, fewer than 5"
        ):
            anonymize(frame, tmp_path / "out", k=5, method="words", words="all")
        options = {"words": "up,down", "drop_off_scale": True}
        anonymize(frame, tmp_path / "out", k=5, method="words", seed=1, **options)
        assert verify(tmp_path / "out").holds

    def test_a_word_is_no_like(self, table):
        with pytest.raises(RecveilError, match="is not a number; if ratings are words"):
            understand(table, likes=True)

    @pytest.mark.parametrize(
        "options", [{"order": "up,down"}, {"words": "up,down", "method": "words"}], ids=str
    )
    def test_one_word_alone_is_no_more_than_likes(self, tmp_path, options):
        frame = pa.table({"user": [1, 2, 3], "item": [7, 7, 7], "rating": ["up"] * 3})
        with pytest.raises(RecveilError, match="all 3 ratings are 'up': likes"):
            anonymize(frame, tmp_path / "out", k=2, **options)

    def test_what_an_audit_of_them_does_not_do(self, words, tmp_path):
        unordered = words.with_scale(self.UNORDERED)
        with pytest.raises(RecveilError, match=r"aux \(--aux\): not of words without an order yet"):
            audit(unordered, aux=tmp_path / "aux.csv", targets=9)
        with pytest.raises(RecveilError, match="they know items alone, or what was liked"):
            audit(unordered, adversaries=[PRESETS["bystander"]], targets=9)
        with pytest.raises(RecveilError, match=r"hide_items \(--hide-items\): not with the method"):
            anonymize(unordered, tmp_path / "out", k=5, method="words", hide_items=True)

    def test_it_has_a_page(self, words):
        found = audit(words.with_scale(self.UNORDERED), targets=20)
        page = audit_page(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
        assert "dislike, hate, like, love" in page or "hate, dislike, like, love" in page

    def test_a_self_test_holds(self, table):
        assert run("selftest", table, "--words", ORDER) == 0

    @pytest.mark.parametrize("variant", ["padded", "simple", "k-corating-mean", "sparse", "raw"])
    def test_anonymizers_refuse_them_in_memory_too(self, words, variant):
        unordered = words.with_scale(self.UNORDERED)
        with pytest.raises(RecveilError, match=r"words \(--words\) without an order"):
            make_variant(variant, None if variant == "raw" else 5, 1).anonymize(unordered)

    @pytest.mark.parametrize(
        ("words", "problem"),
        [
            ([f"w{at}" for at in range(101)], "101 different words.*is this a column of comments"),
            (["up"], "all ratings are 'up'.*leave that column out"),
            (["up", "=1+1"], "row 1: rating '=1.1': a spreadsheet would run it"),
            (["up", ""], "row 1: rating '': it is empty"),
            (["up", None], "row 1: the rating is missing"),
            (["up", "x" * 41], "has 41 characters, more than 40; is this a column of comments"),
        ],
        ids=["comments", "one", "formula", "empty", "missing", "long"],
    )
    def test_what_cannot_be_words(self, words, problem):
        frame = pa.table({"user": range(len(words)), "item": range(len(words)), "rating": words})
        with pytest.raises(RecveilError, match=problem):
            understand(frame, words="all")
