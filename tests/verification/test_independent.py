"""The second checker, on releases that were made by hand, good ones and bad ones."""

import hashlib
import io
import json

import forging
import independent
import independent_text
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv


def blake(content):
    return hashlib.blake2b(content, digest_size=16).digest()


PREDICTIVE = {
    "method": "predictive anonymization",
    "homogenize": "simple",
    "predictor": "FunkSVD",
    "grouping": "LevelGather",
    "label_step": None,
}

K_CORATING = {
    "method": "k-coRating",
    "fill": "item-mean",
    "grouping": "gecom",
    "round_fills": False,
    "protect": "none",
}


def make(folder, *rows, k=2, claim="identical-rows", layout="users", **more):
    """Write a release of such rows; the list of classes and the counts are what they should be."""
    result = {
        "format": "recveil-release-3",
        "recveil": "0.1.0",
        "claim": claim,
        "k": k,
        "levels": False,
        "diversity": {"b": 1, "l": 1},
        "layout": layout,
        "item_type": "integer",
        "scale": {"low": 1.0, "high": 5.0, "step": 1.0},
        "settings": K_CORATING if claim == "co-rated" else PREDICTIVE,
    } | more
    names = list(independent_text.columns_of(result))
    lines = [",".join(f'"{name}"' for name in names)]
    for row in rows:
        user, item, rest = row.split(",", 2)
        item = f'"{item}"' if result["item_type"] == "text" else item
        lines.append(f'"{user}",{item},{rest}')
    (folder / "ratings.csv").write_text("\n".join([*lines, ""]))
    (folder / "README.md").write_text("a card")
    records = independent.records_of(
        independent.rows_of(folder / "ratings.csv"), result["item_type"] == "text"
    )
    classes, counts = independent.described(records, result)
    (folder / "classes.csv").write_text(classes)
    result |= {"counts": {**counts, "duplicates_dropped": 0}}
    names = ("ratings.csv", "classes.csv", "README.md")
    result |= {"files": {name: {"sha256": "", "bytes": 0} for name in names}}
    forging.write(folder, result)
    forging.sign(folder)
    return list(independent.problems(folder))


LIKES = {"method": "k-coRating", "grouping": "gecom", "ratings": "likes"}

OF_LIKES = {
    "format": "recveil-release-6",
    "scale": {"low": 1.0, "high": 1.0, "step": 1.0},
    "settings": LIKES,
}

NO_CARD = "the card belongs to another release.json"  # as that is none

ONES = ("p00aa-0,7,1", "p00aa-0,9,1", "p00aa-1,7,1", "p00aa-1,9,1")

TWENTY = tuple(f"p00aa-{one_user:02},7,1" for one_user in range(20))

PAIR = ("p00aa-0,7,4", "p00aa-0,9,1.5", "p00aa-1,7,4", "p00aa-1,9,1.5")


class TestGood:
    def test_two_users_with_one_row(self, tmp_path):
        assert make(tmp_path, *PAIR) == []

    def test_a_group_that_says_how_many_it_is(self, tmp_path):
        assert make(tmp_path, "p00aa-0,7,4,2", layout="groups") == []

    def test_co_rated_rows_may_differ_in_labels(self, tmp_path):
        assert make(tmp_path, "p00aa-0,7,4", "p00aa-1,7,1", claim="co-rated") == []

    def test_levels(self, tmp_path):
        rows = ("p00aa-0,7,4,3,3", "p00aa-1,7,4,1,1")
        assert make(tmp_path, *rows, k=1, layout="groups", levels=True) == []

    def test_hidden_items(self, tmp_path):
        rows = ("p00aa-0,i12ab-0,4", "p00aa-0,i12ab-1,4", "p00aa-1,i12ab-0,4", "p00aa-1,i12ab-1,4")
        hidden = {"item_type": "text", "settings": PREDICTIVE | {"items": "pseudonyms"}}
        assert make(tmp_path, *rows, **hidden) == []

    @pytest.mark.parametrize("settings", [LIKES, {"method": "sparse rows", "crowd": 20}])
    def test_likes(self, tmp_path, settings):
        settings = settings | {"ratings": "likes"}
        assert make(tmp_path, *TWENTY, **OF_LIKES | {"settings": settings}) == [NO_CARD]

    def test_a_cluster_of_more_users_than_there_are(self, tmp_path):
        settings = {"method": "sparse rows", "crowd": 21, "ratings": "likes"}
        found = make(tmp_path, *TWENTY, **OF_LIKES | {"settings": settings})
        assert found == ["settings: crowd has no such value"]

    def test_every_item_in_two_rows(self, tmp_path):
        rows = ("p00aa-0,7,4,2", "p00aa-1,7,3,2")
        assert make(tmp_path, *rows, layout="groups", diversity={"b": 1, "l": 2}) == []


class TestBad:
    @pytest.mark.parametrize(
        ("rows", "problem"),
        [
            ((*PAIR[:3], "p00aa-1,9,2"), "1 people share what 2 should"),
            (PAIR[:3], "1 people share what 2 should"),
            (("p00aa-0,7,4", "p00aa-2,7,4"), "users are no pseudonyms from 0 on"),
            (("p00aa-0,7,4", "ann,7,4"), "users are no pseudonyms from 0 on"),
            (("p00aa-0,7,4", "p00ab-1,7,4"), "pseudonyms of several releases"),
            (("p00aa-0,7,6", "p00aa-1,7,6"), "p00aa-0: a label is off the scale"),
            (("p00aa-0,7,nan", "p00aa-1,7,nan"), "p00aa-0: a label is off the scale"),
            (
                ("p00aa-0,9,4", "p00aa-0,7,4", "p00aa-1,9,4", "p00aa-1,7,4"),
                "p00aa-0: items do not ascend, or what stands beside them changes",
            ),
            ((), "there are no records"),
        ],
    )
    def test_rows(self, tmp_path, rows, problem):
        assert make(tmp_path, *rows)[0] == problem

    @pytest.mark.parametrize(
        ("changed", "problem"),
        [
            ({"format": "recveil-release-5"}, "the settings are no method's"),
            ({"settings": K_CORATING}, "the settings are no method's"),
            ({"settings": LIKES | {"ratings": "stars"}}, "settings: ratings has no such value"),
            ({"settings": PREDICTIVE | {"ratings": "likes"}}, "the settings are no method's"),
            ({"scale": {"low": 1.0, "high": 5.0, "step": 1.0}}, "likes are 1"),
            ({"claim": "co-rated"}, "the settings lead to another claim"),
        ],
    )
    def test_likes_that_are_none(self, tmp_path, changed, problem):
        assert problem in make(tmp_path, *ONES, **OF_LIKES | changed)

    def test_a_label_next_to_1(self, tmp_path):
        rows = (*ONES[:3], "p00aa-1,9,1.0005")
        assert "p00aa-1: a label is off the scale" in make(tmp_path, *rows, **OF_LIKES)

    def test_too_few_users(self, tmp_path):
        assert make(tmp_path, *PAIR, k=3)[0] == "2 people share what 3 should"

    def test_no_user(self, tmp_path):
        rows = ("p00aa-0,7,4,-1", "p00aa-1,7,4,3")
        assert make(tmp_path, *rows, layout="groups") == ["nobody stands behind a record"]

    def test_a_group_where_each_record_is_one_users(self, tmp_path):
        problems = make(tmp_path, "p00aa-0,7,4,2", layout="groups", claim="co-rated")
        assert problems == ["several people stand behind a record that is one person's"]

    def test_co_rated_rows_with_other_items(self, tmp_path):
        rows = ("p00aa-0,7,4", "p00aa-1,8,4")
        assert make(tmp_path, *rows, claim="co-rated")[0] == "1 people share what 2 should"

    def test_a_level_that_is_not_kept(self, tmp_path):
        rows = ("p00aa-0,7,4,3,4", "p00aa-1,7,3,1,1")
        problems = make(tmp_path, *rows, k=1, layout="groups", levels=True)
        assert problems == ["3 people share what 4 should"]

    @pytest.mark.parametrize("names", [("Heat", "i12ab-1"), ("i12ab-0", "i12ab-2")])
    def test_items_that_are_not_hidden(self, tmp_path, names):
        rows = [f"p00aa-{user},{item},4" for user in "01" for item in sorted(names)]
        hidden = {"item_type": "text", "settings": PREDICTIVE | {"items": "pseudonyms"}}
        assert make(tmp_path, *rows, **hidden) == ["items are no pseudonyms from 0 on"]

    def test_an_item_in_one_row(self, tmp_path):
        rows = ("p00aa-0,7,4,2", "p00aa-0,8,4,2", "p00aa-1,7,4,2")
        problems = make(tmp_path, *rows, layout="groups", diversity={"b": 1, "l": 2})
        assert problems == ["a set of items stands in too few different rows"]

    @pytest.mark.parametrize("name", ["ratings.csv", "classes.csv", "README.md"])
    def test_a_file_that_was_changed(self, tmp_path, name):
        make(tmp_path, *PAIR)
        with (tmp_path / name).open("a") as file:
            file.write("\n")
        assert f"{name} was changed" in list(independent.problems(tmp_path))

    def test_a_file_more(self, tmp_path):
        make(tmp_path, *PAIR)
        (tmp_path / "names.txt").write_text("p00aa-0 is ann")
        assert list(independent.problems(tmp_path)) == ["files"]

    def test_other_counts_and_classes(self, tmp_path):
        make(tmp_path, *PAIR)
        result = json.loads((tmp_path / "release.json").read_text())
        result["counts"]["users"] = 3
        listed = (tmp_path / "classes.csv").read_text().replace(",2", ",3")
        (tmp_path / "classes.csv").write_text(listed)
        content = listed.encode()
        result["files"]["classes.csv"]["sha256"] = hashlib.sha256(content).hexdigest()
        forging.write(tmp_path, result)
        assert list(independent.problems(tmp_path)) == [
            "classes.csv does not list these classes",
            "counts",
        ]


def test_a_digest_worked_out_by_hand(tmp_path):
    """As docs/reference/release-format.md says: of the items' digests, and of 4.0 in 8 bytes."""
    make(tmp_path, "p00aa-0,7,4", "p00aa-1,7,4")
    of_items = blake(blake(b"7"))
    digest = blake(of_items + bytes.fromhex("0000000000001040")).hex()
    assert (tmp_path / "classes.csv").read_text() == f"digest,people\n{digest},2\n"
    make(tmp_path, "p00aa-0,7,4", "p00aa-1,7,4", claim="co-rated")
    assert (tmp_path / "classes.csv").read_text() == f"digest,people\n{blake(of_items).hex()},2\n"


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            *((4.0, "4"), (4.5, "4.5"), (-0.0, "-0"), (0.000001, "0.000001"), (1e-7, "1e-7")),
            *((9.99e-7, "9.99e-7"), (1234567890.0, "1234567890"), (1e10, "1e+10")),
            *((1.25e300, "1.25e+300"), (-5e-324, "-5e-324"), (float("nan"), "nan")),
        ],
    )
    def test_by_hand(self, value, text):
        assert independent_text.number(value) == text

    @given(st.floats() | st.floats(0, 6).map(lambda value: round(value, 3)))
    def test_as_arrow_writes_them(self, value):
        sink = io.BytesIO()
        csv.write_csv(pa.table({"a": [value]}), sink)
        assert sink.getvalue() == f'"a"\n{independent_text.number(value)}\n'.encode()
