"""Items of two catalogues matched by title, and what a found record's score comes from."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from error_assertions import raises
from recveil.attacks import Adversary, Candidates
from recveil.auditing import ItemMatch, ItemMatches, audit, look_for, match_titles
from recveil.datasets import make_ratings
from recveil.io.side_tables import read_titles
from recveil.ratings import Ratings

TITLES = {
    "1": "Shining, The (1980)",
    "2": "City of Lost Children, The (Cité des enfants perdus, La) (1995)",
    "3": "Rocky II (1979)",
    "4": "Emma (1996)",
    "5": "Emma (1996)",
    "6": "Dolores Claiborne (1994)",
    "7": "Harry Potter and the Deathly Hallows: Part 1 (2010)",
}
OTHERS = {
    "a": "The Shining (1980)",
    "b": "La cité des enfants perdus (1995)",
    "c": "ROCKY 2 (1979)",
    "d": "Emma (1996)",
    "e": "Dolores Claiborne (1995)",
    "f": "Harry Potter and the Deathly Hallows: Part 2 (2011)",
    "g": "The Shining (2017)",
}


def test_by_hand():
    """Articles, accents, numerals and other titles are alike; a sequel and another year are not."""
    found = {each.auxiliary_item: each for each in match_titles(TITLES, OTHERS)}
    used = {other: each.item for other, each in found.items() if each.is_used}
    assert used == {"a": "1", "c": "3", "e": "6", "b": "2"}
    assert [found[each].certainty for each in "abc"] == [1, 1, 1]
    assert found["e"].certainty == pytest.approx(0.95)
    assert found["d"].is_ambiguous
    assert found["d"].runner_up == 1
    # One letter of 44 differs, a number; the years are one apart.
    assert found["f"].certainty == pytest.approx(0.8 * 0.95 * 43 / 44, abs=0.01)
    assert found["g"].certainty < 0.9


WORDS = st.lists(
    st.sampled_from(["red", "blue", "night", "2", "iii", "(an", "other)", "é"]), min_size=1
)
CATALOGUES = st.dictionaries(
    st.integers(0, 99).map(str),
    st.tuples(WORDS, st.sampled_from(("", " (1990)", " (1991)", " (2001)"))).map(
        lambda parts: " ".join(parts[0]) + parts[1]
    ),
    max_size=9,
)


@given(CATALOGUES, CATALOGUES, st.floats(0.3, 1))
@settings(max_examples=60, deadline=None)
def test_no_item_is_used_twice_and_no_doubtful_one(mine, others, least):
    found = match_titles(mine, others, least)
    assert [each.auxiliary_item for each in found] == list(others)
    used = [each for each in found if each.is_used]
    assert len({each.item for each in used}) == len(used)
    for each in found:
        assert 0 <= each.runner_up <= 1 >= each.certainty >= 0
        assert each.is_used == (
            each.certainty >= least - 1e-6 and not each.is_ambiguous and each.item != ""
        )
    # The other way round, the same pairs are used.
    back = match_titles(others, mine, least)
    pairs = {(each.item, each.auxiliary_item) for each in used}
    assert {(each.auxiliary_item, each.item) for each in back if each.is_used} == pairs
    # What is added to a catalogue only adds rivals.
    more = match_titles({**mine, "x": "red (2001)"}, others, least)
    for before, after in zip(found, more, strict=True):
        assert after.certainty >= before.certainty
        assert after.item in (before.item, "x")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A table, auxiliary information under other ids, and the titles of both."""
    folder = tmp_path_factory.mktemp("world")
    ratings = make_ratings(n_users=80, n_items=40, n_ratings=1_200, seed=3)
    titles = {item: f"film {chr(97 + at % 26) * 3}{chr(97 + at // 26) * 4} ({1950 + at})"
              for at, item in enumerate(ratings.items.tolist())}  # fmt: skip
    lines = [f"{item},{title}\n" for item, title in titles.items()]
    (folder / "titles.csv").write_text("item_id,title\n" + "".join(lines))
    others = [f"tt{item},THE {title[:-7]},{title[-5:-1]}\n" for item, title in titles.items()]
    (folder / "others.csv").write_text("movieId,title,year\n" + "".join(others))
    items, values = ratings.row(17)
    rows = [
        f"me,tt{ratings.items[item]},{value:g}\n" for item, value in zip(items, values, strict=True)
    ]
    (folder / "known.csv").write_text("target,item,rating\n" + "".join(rows) + "me,tt999,3\n")
    return ratings, folder


def attack(world, **options):
    ratings, folder = world
    settings = {
        "targets": 5,
        "curves": False,
        "adversaries": [Adversary(eccentricity=0.1, name="a")],
    }
    return audit(ratings, auxiliary=folder / "known.csv", **settings, **options)


def test_the_user_is_found_across_catalogues(world):
    ratings, folder = world
    with raises("id.unknown"):
        attack(world)
    titles = {"item_titles": folder / "titles.csv", "auxiliary_titles": folder / "others.csv"}
    found = attack(world, **titles)
    (me,) = found.suspects
    n = ratings.row(17)[0].size
    assert (me.users[0], me.known, me.matched) == (str(ratings.users[17]), n + 1, n)
    matches = found.item_matches
    assert (len(matches.used), matches.n_ambiguous, matches.n_uncertain) == (n, 0, 0)
    stated = json.loads(json.dumps(found.to_dict()))["item_matches"]
    assert (stated["used"], stated["certainty"], len(stated["matches"])) == (n, 0.9, n)
    most = me.explanation.most
    assert [each.score for each in most] == sorted((each.score for each in most), reverse=True)
    assert me.explanation.score == pytest.approx(me.scores[0])
    page = found.to_html()
    assert most[0].title in page
    assert str(ratings.users[17]) in page


def test_matches_are_edited_and_given_back(world, tmp_path):
    _, folder = world
    titles = {"item_titles": folder / "titles.csv", "auxiliary_titles": folder / "others.csv"}
    found = attack(world, **titles)
    found.item_matches.write(tmp_path / "matches.csv")
    again = attack(world, item_matches=tmp_path / "matches.csv")
    assert again.item_matches.used.keys() == found.item_matches.used.keys()
    assert again.suspects == found.suspects
    lines = (tmp_path / "matches.csv").read_text().splitlines()
    lines[1] = lines[1].removesuffix("yes") + "no"
    (tmp_path / "edited.csv").write_text("\n".join(lines))
    (me,) = attack(world, item_matches=tmp_path / "edited.csv").suspects
    assert me.matched == found.suspects[0].matched - 1
    twice = [*lines[:3], lines[2]]
    for content, code in (
        ("\n".join(twice), "id.duplicate"),
        ("auxiliary_item,item,use\ntt1,1,perhaps\n", "input.line"),
        ("other,item\ntt1,1\n", "column.missing"),
        ("auxiliary_item,item\ntt1,nowhere\n", "id.unknown"),
    ):
        (tmp_path / "wrong.csv").write_text(content)
        with raises(code):
            attack(world, item_matches=tmp_path / "wrong.csv")


def test_formulas_are_escaped_and_come_back(tmp_path):
    match = ItemMatch("=1", "+a", "-2", "@b", 1.0, math.nan, True)
    ItemMatches(0.9, [match]).write(tmp_path / "m.csv")
    assert "'=1" in (tmp_path / "m.csv").read_text()
    (again,) = ItemMatches.read(tmp_path / "m.csv").matches
    assert vars(again) | {"runner_up": 0} == vars(match) | {"runner_up": 0}


def test_options_without_effect_are_rejected(world, tmp_path):
    ratings, folder = world
    titles = folder / "titles.csv"
    with raises("option.required", "item_titles"):
        audit(ratings, item_titles=titles)
    with raises("option.required", "match_certainty"):
        attack(world, match_certainty=0.5)
    with raises("option.conflict"):
        attack(world, item_titles=titles, item_matches=titles)
    with raises("option.value"):
        attack(world, item_titles=titles, match_certainty=2)
    with raises("id.unknown", "auxiliary_titles"):
        attack(world, item_titles=titles, auxiliary_titles=titles)


def test_the_parts_of_a_score_by_hand():
    # Item a is rated 5, 3, 5 and b 4, 2: weights 1 / ln 3 and 1 / ln 2, similarity e^(-d / 1.5).
    # The adversary knows a = 5, b = 4 of ann, whose record scores 1 for each; the average rater of
    # a scores (1 + e^(-2 / 1.5) + 1) / 3, of b (1 + e^(-2 / 1.5)) / 2.
    ratings = Ratings.from_columns(
        ["ann", "ben", "eve", "ann", "ben"], list("aaabb"), [5, 3, 5, 4, 2]
    )
    import pyarrow as pa

    known = pa.table({"target": ["x", "x"], "item": ["a", "b"], "rating": [5.0, 4.0]})
    (found,) = look_for(ratings, Candidates.from_ratings(ratings), known)
    far, of_a, of_b = math.exp(-2 / 1.5), 1 / math.log(3), 1 / math.log(2)
    by_items = of_a * (2 + far) / 3 + of_b * (1 + far) / 2
    explained = found.explanation
    assert explained.score == pytest.approx(of_a + of_b)
    assert explained.from_items == pytest.approx(by_items)
    assert explained.from_ratings == pytest.approx(of_a + of_b - by_items)
    assert explained.from_dates is None
    assert [each.item for each in explained.most] == ["b", "a"]
    assert explained.most[0].score == pytest.approx(of_b)


def test_parts_add_up_with_and_without_ratings_and_dates():
    ratings = make_ratings(n_users=40, n_items=300, n_ratings=1_200, seed=8)
    candidates = Candidates.from_ratings(ratings)
    table = ratings.to_arrow().to_pandas()
    own = table[table["user_id"] == table["user_id"].mode()[0]].rename(
        columns={"user_id": "target"}
    )
    for columns in (["rating", "timestamp"], ["rating"], ["timestamp"], []):
        known = own[["target", "item_id", *columns]]
        (found,) = look_for(ratings, candidates, known)
        explained = found.explanation
        parts = (explained.from_items, explained.from_ratings, explained.from_dates)
        assert sum(part for part in parts if part is not None) == pytest.approx(found.scores[0])
        assert explained.score == pytest.approx(found.scores[0])
        assert (explained.from_ratings is None) == ("rating" not in columns)
        assert (explained.from_dates is None) == ("timestamp" not in columns)
        for each in explained.most:
            whole = each.from_item + (each.from_rating or 0) + (each.from_date or 0)
            assert whole == pytest.approx(each.score)


def test_a_row_of_the_release_is_explained_too(world, tmp_path):
    from recveil.methods import PredictiveAnonymizer

    ratings, folder = world
    PredictiveAnonymizer(k=2, homogenize="simple", seed=1).anonymize(ratings).write(
        tmp_path / "out"
    )
    titles = {"item_titles": folder / "titles.csv", "auxiliary_titles": folder / "others.csv"}
    found = attack(world, release=tmp_path / "out", **titles)
    (row,) = found.suspects_in_release
    if row.explanation is not None:
        assert row.explanation.score == pytest.approx(row.scores[0])
    assert row.matched == found.suspects[0].matched
    # What names users and items stays out of what is published.
    published = "".join(path.read_text("utf-8", "replace") for path in (tmp_path / "out").iterdir())
    assert "explanation" not in published


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("u.item", b"1|Heat (1995)|01-Jan-1995||x|0\n2|Caf\xe9 (1990)|x||\n"),
        ("movies.dat", b"1::Heat (1995)::Action\n2::Caf\xe9 (1990)::Drama\n"),
        ("movie_titles.csv", b"1,1995,Heat\n2,1990,Caf\xe9\n"),
        ("a.csv", "movieId,title\n1,Heat (1995)\n2,Café (1990)\n".encode()),
        ("b.csv", "item,title,year\n1,Heat,1995\n2,Café (1990),1990\n".encode()),
    ],
)
def test_titles_are_read_from_usual_files(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert read_titles("item_titles", tmp_path / name) == {"1": "Heat (1995)", "2": "Café (1990)"}


def test_titles_that_cannot_be_read(tmp_path):
    for content, code in (
        ("item,title\n1,a\n1,b\n", "id.duplicate"),
        ("item,rating\n1,3\n", "column.missing"),
        ("1|Heat (1995)|\nno title\n", "input.line"),
        ("", "input.empty"),
    ):
        (tmp_path / "t.csv").write_text(content)
        with raises(code):
            read_titles("item_titles", tmp_path / "t.csv")


def test_every_preset_reports_the_entropy_of_its_candidates(world):
    ratings, _ = world
    found = audit(ratings, targets=40, curves=False)
    page = found.to_html()
    for outcome, stated in zip(found.attacks, found.to_dict()["attacks"], strict=True):
        if outcome.attacked > 1:
            assert stated["entropy_bits"] == outcome.entropy_bits.mean
            assert 0 <= stated["entropy_bits_interval"]["low"] <= np.log2(80)
    assert page.count('data-label="entropy"') == len(found.attacks)
