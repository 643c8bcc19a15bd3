"""Files of outside knowledge, however they are written."""

import gzip
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_assertions import raises
from recveil.attacks import Adversary, Candidates
from recveil.auditing import AlteredItem, audit, look_for
from recveil.auditing.auxiliary_file import read_knowledge, reading_of
from recveil.datasets import make_ratings
from recveil.io import write_ratings
from recveil.ratings import Ratings, RatingScale
from recveil.report.audit.text import describe_alteration


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(n_users=60, n_items=40, n_ratings=900, seed=4)


@pytest.fixture(scope="module")
def rows(ratings):
    """What an adversary knows about alice, who is user 7."""
    items, values = ratings.row(7)
    labels = ratings.items[items[:5]].tolist()
    return [("alice", item, float(value)) for item, value in zip(labels, values[:5], strict=True)]


def as_text(rows, header, delimiter=","):
    return "\n".join([header, *(delimiter.join(map(str, row)) for row in rows)]) + "\n"


def as_table(rows, names=("target", "item", "rating")):
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def arrow_stream(rows, path):
    with pa.OSFile(str(path), "wb") as file:
        table = as_table(rows)
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)


def arrow_file(rows, path):
    with pa.OSFile(str(path), "wb") as file:
        table = as_table(rows)
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


WRITERS = {
    "plain.csv": lambda rows, path: path.write_text(as_text(rows, "target,item,rating")),
    "quoted.csv": lambda rows, path: path.write_text(as_text(rows, '"target","item","rating"')),
    "capital.csv": lambda rows, path: path.write_text(as_text(rows, "Target,Item,Rating")),
    "marked.csv": lambda rows, path: path.write_text(
        as_text(rows, '"target","item","rating"'), encoding="utf-8-sig"
    ),
    "late.csv": lambda rows, path: path.write_text("\n" + as_text(rows, "target,item,rating")),
    "windows.csv": lambda rows, path: path.write_bytes(
        as_text(rows, "target,item,rating").replace("\n", "\r\n").encode()
    ),
    # The target goes before what else may be called a user.
    "two.csv": lambda rows, path: path.write_text(
        as_text([("carol", *row) for row in rows], "user,target,item,rating")
    ),
    "packed.csv.gz": lambda rows, path: path.write_bytes(
        gzip.compress(as_text(rows, "target,item,rating").encode())
    ),
    "quoted.csv.gz": lambda rows, path: path.write_bytes(
        gzip.compress(as_text(rows, '"target","item","rating"').encode())
    ),
    "tabs.tsv": lambda rows, path: path.write_text(as_text(rows, "target\titem\trating", "\t")),
    "recbole.inter": lambda rows, path: path.write_text(
        as_text(rows, "target:token\titem:token\trating:float", "\t")
    ),
    "table.parquet": lambda rows, path: pq.write_table(as_table(rows), path),
    "file.arrow": arrow_file,
    "stream.arrow": arrow_stream,
    # Other names are found as usual, and without a header the order decides.
    "usual.csv": lambda rows, path: path.write_text(as_text(rows, "user_id,item_id,rating")),
    "bare.csv": lambda rows, path: path.write_text(as_text(rows[1:], ",".join(map(str, rows[0])))),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_way_to_write_it_finds_the_same(ratings, rows, tmp_path, name):
    WRITERS["plain.csv"](rows, tmp_path / "expected.csv")
    WRITERS[name](rows, tmp_path / name)
    candidates = Candidates.from_ratings(ratings)
    (expected,) = look_for(ratings, candidates, tmp_path / "expected.csv")
    (found,) = look_for(ratings, candidates, tmp_path / name)
    assert found == expected
    assert (found.target, found.known, found.matched) == ("alice", 5, 5)


@pytest.fixture
def table(ratings, tmp_path):
    """The same ratings under column names that cannot be guessed."""
    write_ratings(ratings, tmp_path / "usual.csv")
    lines = (tmp_path / "usual.csv").read_text().splitlines()
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["who,what,how,when", *lines[1:]]))
    return path


COLUMNS = {"user": "who", "item": "what", "rating": "how", "time": "when"}


@pytest.mark.parametrize("header", ["who,what,how", "target,what,how", "target,item,rating"])
def test_the_columns_of_the_table_or_the_usual_ones(table, rows, tmp_path, header):
    (tmp_path / "aux.csv").write_text(as_text(rows, header))
    found = audit(table, targets=5, curves=False, auxiliary=tmp_path / "aux.csv", **COLUMNS)
    (alice,) = found.suspects
    assert (alice.target, alice.matched) == ("alice", 5)
    assert alice.users[0] == str(found.ratings.users[7])


def test_reading_of(tmp_path):
    (tmp_path / "aux.csv").write_text("who,what,rating\na,b,3\n")
    reading = {**COLUMNS, "duplicates": "mean", "scale": None, "format": "csv-plain"}
    expected = {"duplicates": "mean", "user": "who", "item": "what"}
    assert reading_of(tmp_path / "aux.csv", reading) == expected
    (tmp_path / "bare.csv").write_text("a,b,3\n")
    assert reading_of(tmp_path / "bare.csv", COLUMNS) == {}


def test_duplicates_count_as_in_the_table(ratings, rows, tmp_path):
    write_ratings(ratings, tmp_path / "ratings.csv")
    (tmp_path / "aux.csv").write_text(as_text([*rows, rows[0]], "target,item,rating"))
    options = {"targets": 5, "curves": False, "auxiliary": tmp_path / "aux.csv"}
    with raises("rating.duplicate", "aux.csv line 7"):
        audit(tmp_path / "ratings.csv", **options)
    (alice,) = audit(tmp_path / "ratings.csv", duplicates="last", **options).suspects
    assert alice.known == 5


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "input.empty"),
        (b"target,item\na,b\n", "id.unknown"),
        (b'"target,item,rating\na,1,3\n', "input.quotes"),
        (gzip.compress(b"target,item,rating\na,1,3\n")[:-12], "input.damaged"),
        (b"\xff\xfe\x00", "input.damaged"),
    ],
    ids=["empty", "no rating", "open quote", "cut short", "no text"],
)
def test_a_file_that_cannot_be_read_is_named(ratings, tmp_path, content, code):
    (tmp_path / "aux.csv").write_bytes(content)
    with raises(code, "aux.csv"):
        look_for(ratings, Candidates.from_ratings(ratings), tmp_path / "aux.csv")


def test_bad_files_are_refused_before_the_work(ratings, tmp_path, monkeypatch):
    def attack(*_, **__):
        raise AssertionError("the attacks began")

    # The function hides its module from a dotted name.
    monkeypatch.setattr(sys.modules["recveil.auditing._audit"], "attack_table", attack)
    write_ratings(ratings, tmp_path / "ratings.csv")
    for wrong, code in (("auxiliary", "input.not-found"), ("release", "release.not-found")):
        with raises(code, "nowhere"):
            audit(tmp_path / "ratings.csv", **{wrong: tmp_path / "nowhere"})


def test_ids_are_compared_as_they_are_written(tmp_path):
    # One item that is no number makes all of the file's ids text; the table's are numbers.
    ratings = make_ratings(n_users=20, n_items=10, n_ratings=90, seed=5)
    assert ratings.items.dtype == np.int64
    item = ratings.items[ratings.row(2)[0][0]]
    (tmp_path / "aux.csv").write_text(f"target,item,rating\na,{item},3\na,Heat,3\n")
    (found,) = look_for(ratings, Candidates.from_ratings(ratings), tmp_path / "aux.csv")
    assert (found.known, found.matched) == (2, 1)


def test_rows_of_auxiliary_information_that_are_left_out_are_reported(tmp_path):
    table = make_ratings(n_users=40, n_items=20, n_ratings=300, seed=1)
    aux = tmp_path / "aux.csv"
    item = table.items[table.indices[0]]
    aux.write_text(f"target,item,rating\nalice,{item},5\nalice,{item},4\n")
    found = audit(table, auxiliary=aux, targets=5, curves=False, duplicates="last")
    (warning,) = [text for text in found.to_dict()["warnings"] if text.startswith("aux.csv: ")]
    assert "1 row was dropped" in warning


class TestLikes:
    """Who knows fives knows fives, and who knows likes knows no ratings."""

    RATINGS = Ratings.from_columns(
        [1, 1, 2, 2, 3, 3], ["a", "b", "a", "b", "a", "c"], [5, 5, 1, 1, 3, 3]
    )

    def suspects(self, tmp_path, text, ratings=RATINGS):
        (tmp_path / "aux.csv").write_text(text)
        candidates = Candidates.from_ratings(ratings)
        (found,) = look_for(ratings, candidates, tmp_path / "aux.csv")
        return found

    def test_what_is_known_may_be_all_fives(self, tmp_path):
        found = self.suspects(tmp_path, "target,item,rating\nann,a,5\nann,b,5\n")
        assert found.users[0] == "1"
        assert found.scores[0] > found.scores[1]

    def test_without_ratings_items_alone_identify(self, tmp_path):
        found = self.suspects(tmp_path, "user,item\nann,a\nann,b\n")
        assert set(found.users[:2]) == {"1", "2"}
        assert found.scores[0] == found.scores[1] > found.scores[2]

    def test_ratings_add_nothing_to_likes(self, tmp_path):
        text, likes = "target,item,rating\nann,a,5\nann,b,2\n", self.RATINGS.as_likes()
        found = self.suspects(tmp_path, text, likes)
        assert found.scores == self.suspects(tmp_path, "user,item\nann,a\nann,b\n", likes).scores


class TestItemsAlone:
    """A file of target and item, without ratings, however few lines it has."""

    @pytest.mark.parametrize(
        "text",
        [
            "target,item\nann,{}\n",
            "target;item\nann;{}\n",
            "target|item\nann|{}\n",
            "target item\nann {}\n",
            "target\titem\nann\t{}\n",
            "target:token\titem:token\nann\t{}\n",
            "item,target\n{},ann\n",
            "target,item,date\nann,{},2020-01-31\n",
            '{{"target": "ann", "item": {}}}\n',
            "ann,{}\nann,999999\n",
        ],
    )
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    @pytest.mark.parametrize("likes", [False, True])
    def test_is_read_for_ratings_and_for_likes(self, ratings, tmp_path, text, pack, likes):
        item = ratings.items[ratings.row(7)[0][0]]
        (tmp_path / "aux.csv").write_bytes(pack(text.format(item).encode()))
        table = ratings.as_likes() if likes else ratings
        result = audit(table, auxiliary=tmp_path / "aux.csv", targets=5, curves=False)
        (ann,) = result.suspects
        assert (ann.target, ann.matched) == ("ann", 1)
        assert ann.scores[0] == ann.scores[1] > 0  # how they rated it is not known
        assert result.knowledge is not None
        assert result.knowledge.ratings.is_unary

    @pytest.mark.parametrize(
        ("text", "code", "name"),
        [
            ("target,item\nann,7,3\n", "input.line", "line 2"),
            ("target,item\nann,\n", "id.missing", "line 2"),
            ("target,item\n", "table.no-ratings", ""),
            ("target,item,note\nann,7,x\n", "column.ambiguous", "'note'"),
            ("target,item,plays\nann,7,3\n", "column.ambiguous", "'plays'"),
        ],
    )
    def test_what_is_wrong_is_said_in_one_line(self, ratings, tmp_path, text, code, name):
        (tmp_path / "aux.csv").write_text(text)
        with raises(code, "aux.csv", name) as refused:
            audit(ratings, auxiliary=tmp_path / "aux.csv", targets=5, curves=False)
        assert len(str(refused.value)) < 300
        assert "\n" not in str(refused.value)

    def test_what_was_said_of_words_is_not_asked_of_items(self, tmp_path):
        scale = RatingScale.of_labels("no,so so,yes")
        for text in ("who,what\na,b\n", "target,what\na,b\n", "a,7\nc,8\n"):
            (tmp_path / "aux.csv").write_text(text)
            assert "scale" not in reading_of(tmp_path / "aux.csv", {**COLUMNS, "scale": scale})
        for text in ("who,what,rating\na,b,yes\n", "a,7,yes\nc,8,no\n"):
            (tmp_path / "aux.csv").write_text(text)
            assert reading_of(tmp_path / "aux.csv", {**COLUMNS, "scale": scale})["scale"] is scale

    @pytest.mark.parametrize("column", ["rating", "plays"])
    def test_counts_are_levels_as_in_the_table(self, tmp_path, column):
        (tmp_path / "aux.csv").write_text(f"target,item,{column}\nann,7,30\nann,8,1000\n")
        reading = reading_of(tmp_path / "aux.csv", {"counts": "log"})
        result = read_knowledge(tmp_path / "aux.csv", **reading)
        assert result.ratings.values.tolist() == [4, 7]

    def test_who_said_likes_needs_no_other_column(self, tmp_path):
        (tmp_path / "aux.csv").write_text("target,item,note\nann,7,x\n")
        reading = reading_of(tmp_path / "aux.csv", {"likes": True})
        assert read_knowledge(tmp_path / "aux.csv", **reading).ratings.is_unary


def test_what_a_found_record_differs_in_by_hand():
    # ann's record against her own ratings: c lacks, d is new, a is 2 points off, b a day late.
    published = Ratings.from_columns(
        ["x", "x", "x", "y", "y", "z"],
        list("abdabd"),
        [3, 4, 1, 1, 1, 5],
        [14_000, 14_011, 14_020, 14_080, 14_080, 14_080],
        scale=RatingScale(1, 5, 1),
    )
    own = pa.table(
        {
            "target": ["ann"] * 3,
            "item": list("abc"),
            "rating": [5.0, 4.0, 2.0],
            "date": ["2008-05-01", "2008-05-11", "2008-05-21"],
        }
    )
    (found,) = look_for(published, Candidates.from_ratings(published), own, eccentricity=0.5)
    altered = found.alteration
    assert (found.users[0], altered.is_match) == ("x", True)
    assert (altered.ratings, altered.missing, altered.added) == (3, 1, 1)
    assert (altered.changed, altered.mean_change, altered.largest_change) == (1, 2, 2)
    assert (altered.shifted, altered.mean_shift, altered.largest_shift) == (1, 1, 1)
    assert altered.most == (
        AlteredItem("a", None, 5.0, 3.0, 0),
        AlteredItem("b", None, 4.0, 4.0, 1),
    )
    assert (altered.missing_items, altered.added_items) == (("c",), ("d",))
    described = describe_alteration(altered)
    assert described.startswith("Of 3 known items, the record lacks 1 (c); ")
    assert described.endswith("; it has 1 item more (d); most altered: a (5 → 3), b (+1 day).")


def test_the_most_altered_items_are_the_first_five_by_ratings_then_dates():
    days = [14_000, 14_000, 14_003, 14_000, 14_020, 14_000, 14_000]
    published = Ratings.from_columns(
        [*["x"] * 7, "y"],
        [*"abcdefg", "a"],
        [5, 1, 3, 2, 3, 3, 4, 1],
        [*days, 15_000],
        scale=RatingScale(1, 5, 1),
    )
    own = pa.table(
        {
            "target": ["ann"] * 7,
            "item": list("abcdefg"),
            "rating": [1.0, 3, 3, 3, 3, 3, 3],
            "date": ["2008-05-01"] * 7,
        }
    )
    (found,) = look_for(published, Candidates.from_ratings(published), own)
    most = found.alteration.most
    assert [one.item for one in most] == list("abdge")
    assert (most[0].known, most[0].published, most[4].shift) == (1, 5, 20)
    assert (found.alteration.changed, found.alteration.shifted) == (4, 2)


def test_no_record_is_compared_where_two_fit_equally_well():
    twins = Ratings.from_columns(["x", "y", "z"], list("aab"), [3, 3, 1])
    own = pa.table({"target": ["ann"], "item": ["a"], "rating": [3.0]})
    (found,) = look_for(twins, Candidates.from_ratings(twins), own)
    assert found.alteration is None


def test_the_first_adversary_decides_what_is_a_match(ratings):
    items, values = ratings.row(7)
    own = pa.table(
        {"target": ["me"] * items.size, "item": ratings.items[items], "rating": values - 0.5}
    )
    settings = {"auxiliary": own, "targets": 5, "curves": False}
    lenient, strict = (
        audit(ratings, adversaries=[adversary], **settings).suspects[0]
        for adversary in (
            Adversary(eccentricity=0.1),
            Adversary(eccentricity=1e6, rating_width=0.2),
        )
    )
    assert (lenient.alteration.is_match, strict.alteration.is_match) == (True, False)
    assert strict.scores[0] < lenient.scores[0]
    assert lenient.alteration.changed == items.size
    assert lenient.alteration.mean_change == 0.5
