"""JSON Lines and arrays of objects are read as their CSV is, and named by line if they are none."""

import gzip
import json
import shlex
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil import RatingScale
from recveil.io import read_ratings, understand
from recveil.io.formats import json_objects

# As a shop of books writes its reviews, with what is no rating.
REVIEWS = [
    {
        "reviewerID": f"A{n % 7}",
        "asin": f"B{n:04}",
        "overall": n % 5 + 1.0,
        "reviewText": 'It said "hello",\nand más',
        "helpful": [n, n + 1],
        "unixReviewTime": 1_300_000_000 + n * 86_400,
    }
    for n in range(60)
]

WRITTEN = {
    "lines": "\n".join(map(json.dumps, REVIEWS)),
    "lines that end": "\r\n".join(map(json.dumps, REVIEWS)) + "\r\n\r\n",
    "array": json.dumps(REVIEWS),
    "array over lines": json.dumps(REVIEWS, indent=2),
    "array of lines": "\n\n [\n" + ",\n".join(map(json.dumps, REVIEWS)) + "\n]\n",
    "with a mark": "\ufeff" + json.dumps(REVIEWS, ensure_ascii=False),
}


@pytest.fixture
def as_csv(tmp_path):
    path = tmp_path / "plain.csv"
    names = ["reviewerID", "asin", "overall", "unixReviewTime"]
    lines = [",".join(str(each[name]) for name in names) for each in REVIEWS]
    path.write_text("\n".join([",".join(names), *lines]))
    return read_ratings(path)


@pytest.mark.parametrize("way", WRITTEN)
@pytest.mark.parametrize("pieces", [1, 1 << 18])
def test_equals_its_csv(tmp_path, monkeypatch, way, pieces, as_csv):
    monkeypatch.setattr(json_objects, "_PIECE", pieces)
    path = tmp_path / "reviews"
    path.write_text(WRITTEN[way], newline="")
    reading = understand(path)
    assert reading.ratings == as_csv
    assert reading.order == "named"
    assert reading.layout == ("JSON",)
    assert read_ratings(path, format="json", time="unixReviewTime") == as_csv


def test_numbers_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"user": 12345678901234567890, "item": "007", "rating": 3.50}\n')
    ratings = read_ratings(path)
    assert str(ratings.users[0]) == "12345678901234567890"
    assert ratings.values.tolist() == [3.5]


def test_names_may_be_missing_where_they_are_not_needed(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(
        '{"user": 1, "item": 2, "rating": 3}\n'
        '{"user": 2, "item": 2, "rating": 4, "vote": {"up": 3}, "note": null}\n'
    )
    assert read_ratings(path).n_ratings == 2


GOOD = '{"user": 1, "item": 2, "rating": 3}'


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (f'{GOOD}\n{{"user": 1, "item": 3}}\n', "rating.missing", "r.json line 2"),
        (f'{GOOD}\n{{"user": null, "item": 3, "rating": 4}}\n', "id.missing", "r.json line 2"),
        (
            f'{GOOD}\n{{"user": {{"$oid": "5f"}}, "item": 3, "rating": 4}}\n',
            "column.type",
            "'user'",
        ),
        (f'{GOOD}\n{{"user": [1, 2], "item": 3, "rating": 4}}\n', "column.type", "line 2"),
        (f"{GOOD}\n{GOOD[:20]}\n{GOOD}", "input.json", "r.json line 2"),
        (f"{GOOD}\n[1, 2, 3]\n", "input.json", "r.json line 2"),
        (
            f"[{GOOD},\n{GOOD}",
            "input.json",
            "r.json line 2",
        ),
        (f"[{GOOD},\n\n{GOOD} {GOOD}]", "input.json", "r.json line 3"),
        (f"[\n{GOOD},\n{GOOD[:20]}", "input.json", "r.json line 3"),
        (f"[\n{GOOD},\n]", "input.json", "r.json line 3"),
        (f"[{GOOD}]\n[{GOOD}]", "input.json", "r.json line 2"),
        ("[[1, 2, 3]]", "input.json", "line 1"),
        ("[]", "table.no-ratings", ""),
        ("{}", "table.no-ratings", ""),
        (json.dumps({"ratings": REVIEWS}), "input.json", "the rows in 'ratings'"),
        ('{"user": 1, "user": 2, "item": 2, "rating": 3}', "input.json", "line 1"),
        ('{"user": "\\ud800", "item": 2, "rating": 3}', "input.encoding", "line 1"),
        ('{"user": 1, "item": 2, "rating": true}', "rating.words", "line 1"),
        ('{"user": 1, "item": 2, "rating": NaN}', "rating.not-a-number", "line 1"),
        ("[" * 100_000, "input.json", "line 1"),
        ('{"user": ' + "[" * 100_000, "input.json", "line 1"),
    ],
)
def test_what_is_wrong_is_said_by_line(tmp_path, text, code, said):
    path = tmp_path / "r.json"
    path.write_text(text)
    with raises(code) as caught:
        read_ratings(path, format="json")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


HOLDS = '{{"user": 1, "item": 2, "rating": {}}}'


@pytest.mark.parametrize("is_array", [False, True])
@pytest.mark.parametrize(
    ("second", "code", "said"),
    [
        ('{"user": 1, "user": 2, "item": 2, "rating": 3}', "input.json", "'user'"),
        ('{"user": 1, "item": 2, "rating": 3, "x": [{"a": 1, "a": 2}]}', "input.json", "'a'"),
        (r'{"\ud800": 1, "\ud800": 2, "user": 1}', "input.json", ""),
        (r'{"user": "\ud800", "item": 2, "rating": 3}', "input.encoding", "'user'"),
        ('{"user": ' + "[" * 100_000, "input.json", ""),
        (HOLDS.format("9" * 5_000), "rating.not-a-number", ""),
        (HOLDS.format("-Infinity"), "rating.not-a-number", ""),
        (HOLDS.format("NaN"), "rating.not-a-number", ""),
        ("9" * 5_000, "input.json", ""),
        ("NaN", "input.json", ""),
        ('{"user": 1,, "item": 2}', "input.json", ""),
    ],
    ids=lambda value: str(value)[:24],
)
def test_each_fault_is_said_alike_of_lines_and_of_an_array(tmp_path, is_array, second, code, said):
    path = tmp_path / "r.json"
    path.write_text(f"[{GOOD},\n{second}]" if is_array else f"{GOOD}\n{second}\n")
    with raises(code) as caught:
        read_ratings(path, user="user", item="item", rating="rating", format="json")
    assert "r.json line 2" in str(caught.value)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


def test_bytes_that_are_no_text_are_said_by_line(tmp_path):
    path = tmp_path / "r.json"
    path.write_bytes(f"{GOOD}\n".encode() + b'{"user": "caf\xe9", "item": 2, "rating": 3}\n')
    with raises("input.encoding") as error:
        read_ratings(path)
    assert "r.json line 2" in str(error.value)
    assert "'user'" in str(error.value)


def test_an_array_may_be_one_long_line(tmp_path):
    path = tmp_path / "r.json"
    objects = [{"user": n % 7, "item": n, "rating": 3, "review": "x" * 50_000} for n in range(500)]
    path.write_text(json.dumps(objects))
    assert path.stat().st_size > 1 << 24
    assert read_ratings(path).n_ratings == 500


rows = st.fixed_dictionaries(
    {
        "user": st.text(
            st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]),
            min_size=1,
        ),
        "item": st.integers(0, 99),
        "rating": st.sampled_from([1, 2.5, 5]),
        "more": st.recursive(st.none() | st.text(), lambda inner: st.lists(inner), max_leaves=4),
    }
)


@given(st.lists(rows, min_size=1, max_size=9), st.sampled_from([None, 1]), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_any_objects_come_as_they_are(tmp_path_factory, objects, indent, piece):
    path = tmp_path_factory.mktemp("json") / "r.json"
    path.write_text(json.dumps(objects, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_objects, "_PIECE", piece)
        found = [each for _, each in json_objects.read_objects(path)]
    assert found == [
        json.loads(json.dumps(each), parse_int=str, parse_float=str) for each in objects
    ]


@pytest.mark.parametrize("field", ["user", "item", "rating", "time"])
@pytest.mark.parametrize("end", ["", "\n]"])
def test_an_escaped_nul_is_refused_by_its_line(tmp_path, field, end):
    """As the byte is, in every format."""
    good = {"user": "ann", "item": "Heat", "rating": "3", "time": "2020-01-01"}
    lines = [json.dumps(good), json.dumps({**good, "user": "ben", field: good[field] + "\0x"})]
    assert r"\u0000" in lines[1]
    path = tmp_path / "r.json"
    path.write_text("[\n" + ",\n".join(lines) + end if end else "\n".join(lines))
    at = 3 if end else 2
    with raises("input.json") as caught:
        understand(path)
    assert f"r.json line {at}" in str(caught.value)
    assert f"'{field}'" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", ["None", "True", "False"])
def test_constants_of_python_are_named(tmp_path, value):
    path = tmp_path / "ratings.jsonl"
    path.write_text(f'{{"user": "a", "item": "b", "rating": 3, "liked": {value}}}\n')
    with raises("input.json") as error:
        read_ratings(path)
    assert "line 1" in str(error.value)


TRIPLES = [(f"u{n % 7}", f"i{n}", n % 5 + 1) for n in range(60)]
OBJECTS = [dict(zip(("user", "item", "rating"), each, strict=True)) for each in TRIPLES]
COLUMNS = {name: [each[name] for each in OBJECTS] for name in OBJECTS[0]}
WHOLE = {
    "with the rows in 'ratings'": {"ratings": OBJECTS},
    "with the rows in 'results'": {"count": 60, "next": None, "results": OBJECTS},
    "with the rows in 'data'": {"ok": True, "data": [[*COLUMNS], *TRIPLES]},
    "with an object for each user": {
        f"u{n}": {item: rating for user, item, rating in TRIPLES if user == f"u{n}"}
        for n in range(7)
    },
    "of columns and data": {"columns": [*COLUMNS], "index": [*range(60)], "data": TRIPLES},
    "with an object for each column": {
        name: {str(n): value for n, value in enumerate(values)} for name, values in COLUMNS.items()
    },
    "with a list for each column": COLUMNS,
}


@pytest.mark.parametrize("shape", WHOLE)
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("packed", [False, True])
def test_one_object_with_all_rows_is_named_with_a_command_that_works(
    tmp_path, shape, indent, packed
):
    content = json.dumps(WHOLE[shape], indent=indent).encode()
    (tmp_path / "r.json").write_bytes(gzip.compress(content) if packed else content)
    with raises("input.json", f"one JSON object {shape}; convert") as caught:
        read_ratings(tmp_path / "r.json")
    assert len(str(caught.value)) < 300
    command = str(caught.value).partition("convert it: ")[2]
    made = command.rpartition(" > ")[2]
    command = command.replace("FILE", "r.json").replace("python", shlex.quote(sys.executable))
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    ratings = read_ratings(tmp_path / made)
    assert (ratings.n_users, ratings.n_items, ratings.n_ratings) == (7, 60, 60)


@pytest.mark.parametrize(
    "more",
    [
        {"tags": ["a", "b"]},
        {"tags": [{"a": 1}]},
        {"tags": [{"a": 1}], "more": {"b": 2}},
    ],
)
def test_one_rating_with_further_values_is_no_whole_table(tmp_path, more):
    (tmp_path / "r.jsonl").write_text(json.dumps({"user": 1, "item": 2, "rating": 3} | more))
    assert read_ratings(tmp_path / "r.jsonl", scale=RatingScale(1, 5, 1)).n_ratings == 1


def test_many_objects_with_lists_are_no_whole_table(tmp_path):
    lines = [json.dumps({"name": f"u{n}", "ratings": OBJECTS}) for n in range(2)]
    (tmp_path / "r.jsonl").write_text("\n".join(lines))
    with raises("column.missing"):
        read_ratings(tmp_path / "r.jsonl")
